// Five leaf functions with 5, 4, 3, 2 and 1 fifteenths of the work (NIST TN 1826, section 7). -DINNERLOOP=1 makes calls short
// and many where the default makes them long and few; -DREVERSE calls the functions in the opposite order.
//
//     leaves ROUNDS
//
// ROUNDS are those of the default INNERLOOP; with a smaller one there are as many more, so that the work stays the same.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef INNERLOOP
#define INNERLOOP 256
#endif

static volatile uint64_t sink;

#define LEAF(n)                                                                          \
    __attribute__((noinline)) static void function##n(void) {                            \
        uint64_t x = sink;                                                               \
        for (int i = 0; i < INNERLOOP * (6 - n); i++) x = x * 6364136223846793005u + n; \
        sink = x;                                                                        \
    }
LEAF(1) LEAF(2) LEAF(3) LEAF(4) LEAF(5)

int main(int argc, char **argv) {
    if (argc < 2) return fprintf(stderr, "usage: leaves ROUNDS\n"), 2;
    uint64_t rounds = strtoull(argv[1], 0, 10) * (256 / INNERLOOP);
    for (uint64_t n = 0; n < rounds; n++) {
#ifdef REVERSE
        function5(), function4(), function3(), function2(), function1();
#else
        function1(), function2(), function3(), function4(), function5();
#endif
    }
    return 0;
}
