/* Does little else than call: two functions of some nanoseconds, one inside the other. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static uint64_t inner(uint64_t state)
{
    for (int left = 8; left > 0; left--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    return state;
}

__attribute__((noinline)) static uint64_t outer(uint64_t state)
{
    return inner(state) + inner(state + 1) + 1;
}

int main(int argc, char **argv)
{
    uint64_t state = 88172645463325252u;
    for (long left = argc > 1 ? atol(argv[1]) : 1; left > 0; left--)
        state = outer(state);
    printf("%llu\n", (unsigned long long)state);
}
