// Two functions with the same work per call, called 2 : 8 in turn, so that fn2 has four times the time of fn1; how many
// calls the work is cut into is the level of self-time fragmentation (NIST TN 1826, section 5.3).
//
//     fragment CALLS WORK [long]
//
// WORK is the number of multiplications in all. With "long" both functions are called equally often, and a call of fn2 takes
// four times as long: the variant that the note's conclusion asks for.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile uint64_t sink;

__attribute__((noinline)) static void fn1(uint64_t work) {
    uint64_t x = sink;
    for (uint64_t i = 0; i < work; i++) x = x * 6364136223846793005u + 1442695040888963407u;
    sink = x;
}

// Not quite the same constant, lest the compiler makes one function of two.
__attribute__((noinline)) static void fn2(uint64_t work) {
    uint64_t x = sink;
    for (uint64_t i = 0; i < work; i++) x = x * 6364136223846793005u + 1442695040888963409u;
    sink = x;
}

int main(int argc, char **argv) {
    if (argc < 3) return fprintf(stderr, "usage: fragment CALLS WORK [long]\n"), 2;
    uint64_t calls = strtoull(argv[1], 0, 10), work = strtoull(argv[2], 0, 10);
    if (calls == 0) return 2;
    if (argc > 3 && !strcmp(argv[3], "long")) {
        uint64_t each = work * 2 / 5 / calls;
        for (uint64_t n = 0; n < calls / 2; n++) fn1(each), fn2(4 * each);
        return 0;
    }
    uint64_t each = work / calls;
    for (uint64_t n = 0; n < calls / 10; n++) {
        for (int i = 0; i < 2; i++) fn1(each);
        for (int i = 0; i < 8; i++) fn2(each);
    }
    return 0;
}
