/* Computes without calls, in user mode, in little memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t state = 88172645463325252u, sum = 0;
    for (long left = argc > 1 ? atol(argv[1]) : 1; left > 0; left--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        sum += state;
    }
    printf("%llu\n", (unsigned long long)sum);
}
