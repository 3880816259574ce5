// cc: -O2 -g -static
// args: 30000
// Objects with functions of unlike cost, called in a random order through pointers, and a list walked in between.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct obj {
    uint32_t (*f)(struct obj *, uint32_t);
    struct obj *next;
    uint32_t v[6];
};

static uint32_t f0(struct obj *o, uint32_t x) { return o->v[0] + x; }

static uint32_t f1(struct obj *o, uint32_t x) {
    uint32_t s = 0;
    for (int i = 0; i < 6; i++) s += o->v[i] * x;
    return s;
}

static uint32_t f2(struct obj *o, uint32_t x) { return x / (o->v[1] | 1) + x % (o->v[2] | 3); }

static uint32_t f3(struct obj *o, uint32_t x) {
    if (x & 1) o->v[3] ^= x;
    else o->v[4] += x >> 3;
    return o->v[3] - o->v[4];
}

static uint32_t f4(struct obj *o, uint32_t x) {
    uint32_t n = 0;
    while (x) {
        x &= x - 1;
        n++;
    }
    return n + o->v[5];
}

static struct obj all[600];

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    uint32_t s = 5, t = 0;
    uint32_t (*fs[])(struct obj *, uint32_t) = {f0, f1, f2, f3, f4, f0, f3, f0};
    for (int i = 0; i < 600; i++) {
        s = s * 1664525u + 1013904223u;
        all[i].f = fs[s >> 29];
        all[i].next = &all[(i * 7 + 13) % 600];
        for (int k = 0; k < 6; k++) all[i].v[k] = s >> k;
    }
    struct obj *o = all;
    for (int i = 0; i < n; i++) {
        t += o->f(o, t ^ i);
        o = o->next;
        if ((t & 7) == 0)
            for (int k = 0; k < 5; k++) o = o->next;
    }
    printf("%u\n", t);
}
