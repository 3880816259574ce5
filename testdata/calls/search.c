/* FVSampler, section 7.1: a linear search for keys that move slowly, so that calls take longer and longer, over and over.
   Two call sites. Arguments: calls, and how long a step takes. */
#include <stdio.h>
#include <stdlib.h>
#include "log.h"
#define N 16384
static float x[N];
static volatile float scale = 1;
static int pace = 4;
__attribute__((noipa)) static long search(float key) {
    ENTER("search");
    long i = 0;
    for (; i < N; i++) {
        float at = x[i];
        for (int k = 0; k < pace; k++) at /= scale;
        if (at >= key) break;
    }
    LEAVE(i);
    return i;
}
__attribute__((noipa)) static long propagate(float key) { return search(key) + 1; }
int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 20000, sum = 0;
    if (argc > 2) pace = atoi(argv[2]);
    for (long i = 0; i < N; i++) x[i] = i;
    for (long i = 0; i < calls; i++) {
        /* 600 calls a tooth; groups of four nearly alike */
        float key = 1000 + (N - 1010.0f) * (i % 600 / 4 * 4) / 600;
        sum += i & 64 ? propagate(key) : search(key);
    }
    printf("%ld\n", sum);
    dump();
    return 0;
}
