// cc: -O2 -g -static
// args: 6
// A radix-2 transform in doubles, a Mandelbrot set and a histogram.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1024
static double re[N], im[N], c[N], s[N];
static int hist[64];

static void fft(void) {
    for (int i = 0, j = 0; i < N; i++) {
        if (i < j) {
            double t = re[i];
            re[i] = re[j];
            re[j] = t;
            t = im[i];
            im[i] = im[j];
            im[j] = t;
        }
        int m = N >> 1;
        while (m >= 1 && j & m) {
            j ^= m;
            m >>= 1;
        }
        j |= m;
    }
    for (int len = 2; len <= N; len <<= 1) {
        int st = N / len;
        for (int i = 0; i < N; i += len)
            for (int k = 0; k < len / 2; k++) {
                double a = c[k * st], b = s[k * st];
                int u = i + k, v = u + len / 2;
                double x = re[v] * a - im[v] * b, y = re[v] * b + im[v] * a;
                re[v] = re[u] - x;
                im[v] = im[u] - y;
                re[u] += x;
                im[u] += y;
            }
    }
}

static int mandel(double x, double y) {
    double a = 0, b = 0;
    int n = 0;
    while (n < 60 && a * a + b * b < 4) {
        double t = a * a - b * b + x;
        b = 2 * a * b + y;
        a = t;
        n++;
    }
    return n;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    for (int i = 0; i < N; i++) {
        c[i] = cos(2 * M_PI * i / N);
        s[i] = sin(2 * M_PI * i / N);
        re[i] = i % 17;
    }
    for (int i = 0; i < n; i++) {
        fft();
        for (int k = 0; k < N; k++) {
            re[k] *= 1e-3;
            hist[((int)fabs(re[k])) & 63]++;
        }
        for (int y = 0; y < 12; y++)
            for (int x = 0; x < 24; x++) hist[mandel(x / 10.0 - 1.8, y / 10.0 - .6)]++;
    }
    printf("%d %g\n", hist[3], re[5]);
}
