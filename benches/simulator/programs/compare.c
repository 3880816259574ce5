// cc: -O2 -g -static -fno-omit-frame-pointer
// args: 1
// Shell sort through a comparator given as a function pointer; two comparators of different cost, plus the library's qsort.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct item { uint32_t key, rank; };
enum { N = 4000 };
static struct item items[N];

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

static int by_key(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int by_digits(const void *a, const void *b) {
    const struct item *x = a, *y = b;
    uint32_t p = x->key, q = y->key;
    int order = 0;
    while (p && q) { if (p % 10 != q % 10) { order = p % 10 < q % 10 ? -1 : 1; break; } p /= 10; q /= 10; }
    return order ? order : by_key(a, b);
}

__attribute__((noinline)) static void shell(struct item *v, int n, int (*less)(const void *, const void *)) {
    for (int gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int i = gap; i < n; i++) {
            struct item t = v[i];
            int j = i;
            for (; j >= gap && less(&v[j - gap], &t) > 0; j -= gap) v[j] = v[j - gap];
            v[j] = t;
        }
}

static void shuffle(uint32_t *s) { for (int i = 0; i < N; i++) { items[i].key = rnd(s) % 100000; items[i].rank = i; } }

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1;
    uint32_t s = 31337, sum = 0;
    for (int r = 0; r < rounds; r++) {
        shuffle(&s); shell(items, N, by_key); sum += items[N / 2].rank;
        shuffle(&s); shell(items, N, by_digits); sum += items[N / 3].rank;
        shuffle(&s); qsort(items, N, sizeof items[0], by_key); sum += items[N / 5].rank;
    }
    printf("%u\n", sum);
    return 0;
}
