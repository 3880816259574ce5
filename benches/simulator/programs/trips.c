// cc: -O1 -g -static -fno-omit-frame-pointer
// args: 32000
// Loops inside loops with trip counts of one to five: the loop body of one level is as hot as the header of the next.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint8_t trip[256];
static uint32_t grid[8][8][8];

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

__attribute__((noinline)) static uint32_t cell(uint32_t at, uint32_t salt) {
    uint32_t sum = 0, a = trip[at & 255], b = trip[salt & 255], c = trip[(at ^ salt) & 255];
    for (uint32_t i = 0; i < a; i++) {
        sum += i * 3;
        for (uint32_t j = 0; j < b; j++) {
            uint32_t *p = grid[i][j];
            for (uint32_t k = 0; k < c; k++) p[k] += sum ^ k;
            sum += p[0] >> 3;
        }
        if (sum & 1) sum = sum * 5 + 1;
    }
    return sum;
}

__attribute__((noinline)) static uint32_t fold(uint32_t v) {
    uint32_t n = 0;
    do { n += v & 7; v >>= 5; } while (v);
    return n;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    uint32_t s = 92311u, total = 0;
    for (int i = 0; i < 256; i++) trip[i] = 1 + (rnd(&s) % 3) + (rnd(&s) % 4 == 0 ? 2 : 0);
    for (int r = 0; r < rounds; r++) {
        uint32_t v = cell(rnd(&s), s >> 9);
        total += r % 3 ? v : fold(v);
    }
    printf("%u\n", total);
    return 0;
}
