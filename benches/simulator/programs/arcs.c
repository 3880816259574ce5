// cc: -O2 -g -static -fno-omit-frame-pointer
// args: 4
// Network simplex pricing: strided reads of arcs, potentials somewhere else in memory, a small predicate called for each.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node { long potential; long pad[5]; };
struct arc { int tail, head; long cost; int state; int pad; long flow; };
enum { NODES = 9000, ARCS = 60000, GROUP = 13 };
static struct node nodes[NODES];
static struct arc arcs[ARCS];

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

__attribute__((noinline)) static int violates(const struct arc *a, long reduced) {
    return (reduced < 0 && a->state == 0) || (reduced > 0 && a->state == 2);
}

__attribute__((noinline)) static long price(int first, struct arc **best) {
    long worst = 0;
    for (int i = first; i < ARCS; i += GROUP) {
        struct arc *a = &arcs[i];
        if (a->state == 1) continue;
        long reduced = a->cost - nodes[a->tail].potential + nodes[a->head].potential;
        if (violates(a, reduced)) {
            long v = reduced < 0 ? -reduced : reduced;
            if (v > worst) { worst = v; *best = a; }
        }
    }
    return worst;
}

__attribute__((noinline)) static void pivot(struct arc *a, long by) {
    int n = a->head;
    for (int i = 0; i < 6; i++) { nodes[n].potential += by >> i; n = (n * 7 + 5) % NODES; }
    a->state = a->state == 0 ? 2 : 0;
    a->flow += by;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 5;
    uint32_t s = 88172645u;
    for (int i = 0; i < NODES; i++) nodes[i].potential = rnd(&s) % 1000;
    for (int i = 0; i < ARCS; i++) {
        arcs[i].tail = rnd(&s) % NODES; arcs[i].head = rnd(&s) % NODES;
        arcs[i].cost = (long)(rnd(&s) % 900) - 450; arcs[i].state = rnd(&s) % 8 == 0 ? 1 : rnd(&s) % 3 == 0 ? 2 : 0;
    }
    long total = 0;
    for (int r = 0; r < rounds * GROUP; r++) {
        struct arc *best = 0;
        long v = price(r % GROUP, &best);
        if (best) pivot(best, v / 2);
        total += v;
    }
    printf("%ld\n", total);
    return 0;
}
