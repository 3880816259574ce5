// cc: -O2 -g -static -fno-omit-frame-pointer
// args: 22
// Sparse matrix times vector: rows of uneven length, indexed loads, a floating-point chain; then a dot product and a norm.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 2500, PER_ROW = 11 };
static int start[ROWS + 1], column[ROWS * PER_ROW * 2];
static double value[ROWS * PER_ROW * 2], x[ROWS], y[ROWS];

static uint32_t rnd(uint32_t *s) { *s = *s * 1664525u + 1013904223u; return *s >> 9; }

__attribute__((noinline)) static void multiply(void) {
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int k = start[r]; k < start[r + 1]; k++) sum += value[k] * x[column[k]];
        y[r] = sum;
    }
}

__attribute__((noinline)) static double dot(const double *a, const double *b) {
    double sum = 0;
    for (int i = 0; i < ROWS; i++) sum += a[i] * b[i];
    return sum;
}

__attribute__((noinline)) static void normalize(double by) {
    for (int i = 0; i < ROWS; i++) x[i] = y[i] / by;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    uint32_t s = 3;
    int n = 0;
    for (int r = 0; r < ROWS; r++) {
        start[r] = n;
        for (int k = 1 + rnd(&s) % (2 * PER_ROW - 1); k > 0; k--) { column[n] = rnd(&s) % ROWS; value[n++] = 1.0 + rnd(&s) % 100 / 50.0; }
        x[r] = 1.0;
    }
    start[ROWS] = n;
    double norm = 1;
    for (int i = 0; i < rounds; i++) { multiply(); norm = sqrt(dot(y, y)); normalize(norm); }
    printf("%.6f\n", norm);
    return 0;
}
