// cc: -O2 -g -static -fno-omit-frame-pointer -fno-tree-vectorize
// args: 44
// Image arithmetic with predictable branches and much independent work: three stages of different length per row.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 256, HEIGHT = 32 };
static uint8_t a[HEIGHT][WIDTH * 4], b[HEIGHT][WIDTH * 4], out[HEIGHT][WIDTH * 4];
static uint32_t histogram[64];

__attribute__((noinline)) static void mix_row(uint8_t *o, const uint8_t *p, const uint8_t *q) {
    for (int i = 0; i < WIDTH * 4; i += 4) {
        unsigned w = p[i + 3], v = 255 - w;
        o[i] = (p[i] * w + q[i] * v) >> 8;
        o[i + 1] = (p[i + 1] * w + q[i + 1] * v) >> 8;
        o[i + 2] = (p[i + 2] * w + q[i + 2] * v) >> 8;
        o[i + 3] = w > v ? w : v;
    }
}

__attribute__((noinline)) static uint32_t border(const uint8_t *p, int at) {
    uint32_t sum = p[at] + 2 * p[at + 4] + p[at + 8];
    return sum > 512 ? sum - 512 : sum;
}

__attribute__((noinline)) static uint32_t measure_row(const uint8_t *p, int y) {
    uint32_t light = 0, edge = 0;
    for (int x = 0; x < WIDTH - 3; x++) {
        light += p[4 * x] * 3 + p[4 * x + 1] * 6 + p[4 * x + 2];
        if ((x & 15) == 7) edge += border(p, 4 * x);
        else if ((x & 3) == (y & 3)) edge ^= light >> 5;
    }
    histogram[light >> 14 & 63]++;
    return light + edge;
}

int main(int argc, char **argv) {
    int frames = argc > 1 ? atoi(argv[1]) : 4;
    uint32_t s = 99, sum = 0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH * 4; x++) { s = s * 1664525u + 1013904223u; a[y][x] = s >> 24; b[y][x] = s >> 16; }
    for (int f = 0; f < frames; f++)
        for (int y = 0; y < HEIGHT; y++) {
            if ((f + y) % 5) mix_row(out[y], a[y], b[y]);
            sum += measure_row(out[y], y);
            if (y % 8 == 0) sum += measure_row(a[y], y + f);
        }
    printf("%u\n", sum);
    return 0;
}
