// cc: -O2 -g -static -fno-omit-frame-pointer
// args: 120000
// Three tiny functions called from two places in different ratios (1:4, 3:2 and 2:2); their callers differ in speed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint32_t store[16];

__attribute__((noinline)) static uint32_t add3(uint32_t x) { return x + 3 + (x >> 9); }
__attribute__((noinline)) static uint32_t turn(uint32_t x) { return (x << 7 | x >> 25) ^ 0x55; }
__attribute__((noinline)) static uint32_t keep(uint32_t x) { store[x & 15] = x; return store[(x >> 4) & 15] + x; }

__attribute__((noinline)) static uint32_t quick(uint32_t x) {
    x = add3(x);
    x = turn(x); x = turn(x); x = turn(x);
    x = keep(x); x = keep(x);
    return x;
}

__attribute__((noinline)) static uint32_t slow(uint32_t x) {
    x = add3(x); x = add3(x); x = add3(x); x = add3(x);
    x = turn(x); x = turn(x);
    x = keep(x); x = keep(x);
    return 4000000000u / (x | 1) + x;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    uint32_t x = 1;
    for (int r = 0; r < rounds; r++) x = (r & 3) ? quick(x) : slow(x);
    printf("%u\n", x);
    return 0;
}
