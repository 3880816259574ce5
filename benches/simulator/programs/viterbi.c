// cc: -O2 -g -static
// args: 220
// One row of a Viterbi recursion: four maxima per cell, short dependency chains, hardly a branch taken.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N 1024
static int m[2][N + 1], ins[2][N + 1], del[N + 1], tmm[N], tim[N], tdm[N], emit[4][N];

static uint32_t rnd(uint32_t *s) { *s = *s * 1664525u + 1013904223u; return *s >> 8; }

__attribute__((noinline)) static int row(int now, const int *e) {
    int best = -1 << 28, before = 1 - now;
    for (int k = 1; k <= N; k++) {
        int score = m[before][k - 1] + tmm[k - 1], other;
        if ((other = ins[before][k - 1] + tim[k - 1]) > score) score = other;
        if ((other = del[k - 1] + tdm[k - 1]) > score) score = other;
        score += e[k - 1];
        m[now][k] = score;
        del[k] = del[k - 1] - 3;
        if (m[now][k - 1] - 11 > del[k]) del[k] = m[now][k - 1] - 11;
        ins[now][k] = m[before][k] - 9;
        if (ins[before][k] - 2 > ins[now][k]) ins[now][k] = ins[before][k] - 2;
        if (score > best) best = score;
    }
    return best;
}

__attribute__((noinline)) static void rescale(int now, int by) {
    for (int k = 0; k <= N; k += 4) m[now][k] -= by;
}

int main(int argc, char **argv) {
    int rows = argc > 1 ? atoi(argv[1]) : 50;
    uint32_t s = 7;
    for (int i = 0; i < N; i++) {
        tmm[i] = -(int)(rnd(&s) % 5); tim[i] = -(int)(rnd(&s) % 9); tdm[i] = -(int)(rnd(&s) % 13);
        for (int a = 0; a < 4; a++) emit[a][i] = (int)(rnd(&s) % 17) - 8;
    }
    int best = 0;
    for (int r = 0; r < rows; r++) {
        best = row(r & 1, emit[rnd(&s) & 3]);
        if (best > 40) rescale(r & 1, best);
    }
    printf("%d\n", best);
    return 0;
}
