// cc: -O2 -g -static
// args: 50
// Two functions in soplex's proportions: a pricing loop that branches much, and a product over short index vectors it calls.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct vec { int size; int index[11]; double value[12]; };
enum { VECTORS = 3000, DIM = 2000 };
static struct vec vectors[VECTORS];
static double dense[DIM], test[VECTORS];
static int status[VECTORS];

static uint32_t rnd(uint32_t *s) { *s = *s * 1664525u + 1013904223u; return *s >> 8; }

__attribute__((noinline)) static double product(const struct vec *v, const double *with) {
    double sum = 0;
    for (int i = 0; i < v->size; i++) sum += v->value[i] * with[v->index[i]];
    return sum;
}

__attribute__((noinline)) static int enter(double tolerance) {
    int best = -1;
    double most = tolerance;
    for (int i = 0; i < VECTORS; i++) {
        switch (status[i]) {
        case 0: continue;
        case 1: test[i] = product(&vectors[i], dense) - 1.5; break;
        case 2: test[i] = 1.5 - product(&vectors[i], dense); break;
        default: test[i] *= 0.5; break;
        }
        if (test[i] > most) { most = test[i]; best = i; }
        else if (test[i] < -40) status[i] = 3;
    }
    return best;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    uint32_t s = 11;
    for (int i = 0; i < DIM; i++) dense[i] = rnd(&s) % 100 / 25.0 - 2;
    for (int i = 0; i < VECTORS; i++) {
        vectors[i].size = 1 + rnd(&s) % 9; status[i] = rnd(&s) % 5 < 3 ? 1 + rnd(&s) % 2 : rnd(&s) % 2 * 3;
        for (int k = 0; k < vectors[i].size; k++) { vectors[i].index[k] = rnd(&s) % DIM; vectors[i].value[k] = rnd(&s) % 9 - 4.0; }
    }
    long sum = 0;
    for (int r = 0; r < rounds; r++) {
        int best = enter(0.01);
        if (best >= 0) { status[best] = (status[best] + 1) & 3; dense[best % DIM] += 0.25; sum += best; }
    }
    printf("%ld\n", sum);
    return 0;
}
