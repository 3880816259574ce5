/* FVSampler, section 7.1: a linear search for keys that move slowly, so that calls take longer and longer, over and over.
   Two call sites. Argument: calls. */
#include <stdio.h>
#include <stdlib.h>
#include "log.h"
#define N 32768
static double x[N];
static volatile double scale = 1;
__attribute__((noipa)) static long search(double key) {
    ENTER("search");
    long i = 0;
    while (i < N && x[i] / scale < key) i++;
    LEAVE(i);
    return i;
}
__attribute__((noipa)) static long propagate(double key) { return search(key) + 1; }
int main(int argc, char **argv) {
    long calls = argc > 1 ? atol(argv[1]) : 100000, sum = 0;
    for (long i = 0; i < N; i++) x[i] = i;
    for (long i = 0; i < calls; i++) {
        /* 600 calls a tooth; groups of four nearly alike */
        double key = 2000 + (N - 2100.0) * (i % 600 / 4 * 4) / 600;
        sum += i & 64 ? propagate(key) : search(key);
    }
    printf("%ld\n", sum);
    dump();
    return 0;
}
