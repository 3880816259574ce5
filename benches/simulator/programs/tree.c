// cc: -O2 -g -static -fno-omit-frame-pointer -fno-optimize-sibling-calls
// args: 9
// A random binary tree in one pool: recursive insertion, a recursive fold, and a search that visits part of it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node { int key, weight; struct node *left, *right; };
enum { NODES = 12000 };
static struct node pool[NODES];
static int used;

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

__attribute__((noinline)) static struct node *insert(struct node *n, int key) {
    if (!n) { n = &pool[used++]; n->key = key; n->weight = key & 15; return n; }
    if (key < n->key) n->left = insert(n->left, key); else n->right = insert(n->right, key);
    return n;
}

__attribute__((noinline)) static long fold(const struct node *n) {
    if (!n) return 0;
    long below = fold(n->left) + fold(n->right);
    return n->weight > 11 ? below * 3 + n->key : below + n->weight;
}

__attribute__((noinline)) static int range(const struct node *n, int low, int high) {
    if (!n) return 0;
    int hits = n->key >= low && n->key < high;
    if (n->key > low) hits += range(n->left, low, high);
    if (n->key < high) hits += range(n->right, low, high);
    return hits;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    uint32_t s = 1234567u;
    struct node *root = 0;
    for (int i = 0; i < NODES; i++) root = insert(root, rnd(&s) >> 4);
    long sum = 0;
    for (int r = 0; r < rounds; r++) {
        sum += fold(root);
        for (int i = 0; i < 40; i++) { int low = rnd(&s) >> 4; sum += range(root, low, low + (1 << 21)); }
    }
    printf("%ld\n", sum);
    return 0;
}
