// cc: -O3 -g -static -march=x86-64-v2
// args: 10
// Rows of unlike length of a sparse matrix times a vector, and a dense product of floats beside.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static double val[60000], x[4096];
static int idx[60000], start[2001];
static float a[4096], b[4096];

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    uint32_t s = 7;
    int k = 0;
    for (int r = 0; r < 2000; r++) {
        start[r] = k;
        s = s * 1664525u + 1013904223u;
        int len = s >> 30 == 0 ? (s >> 20) & 63 : (s >> 20) & 7;
        for (int j = 0; j < len && k < 60000; j++) {
            s = s * 1664525u + 1013904223u;
            idx[k] = s >> 20;
            val[k++] = s * 1e-9;
        }
    }
    start[2000] = k;
    for (int i = 0; i < 4096; i++) x[i] = i, a[i] = i, b[i] = 1;
    double t = 0;
    float f = 0;
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < 2000; r++) {
            double sum = 0;
            for (int j = start[r]; j < start[r + 1]; j++) sum += val[j] * x[idx[j]];
            if (sum > 3) t += sum;
            else t -= 1;
        }
        for (int j = 0; j < 4096; j++) f += a[j] * b[j];
    }
    printf("%g %g\n", t, (double)f);
}
