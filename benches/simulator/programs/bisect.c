// cc: -O2 -g -static -fno-omit-frame-pointer
// args: 40000
// Binary search over an array that does not fit the first-level cache, a branch that nobody predicts, and a short fix-up.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1 << 17 };
static uint32_t keys[N];

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

__attribute__((noinline)) static int search(uint32_t key) {
    int low = 0, high = N - 1;
    while (low <= high) {
        int mid = (unsigned)(low + high) >> 1;
        if (keys[mid] == key) return mid;
        if (keys[mid] < key) { low = mid + 1; __asm__ volatile(""); } else { high = mid - 1; __asm__ volatile(""); }
    }
    return -low;
}

__attribute__((noinline)) static uint32_t settle(int at) {
    uint32_t best = at < 0 ? -at : at;
    for (int d = 1; d < 5; d++) if (best + d < N && keys[best + d] - keys[best] < 40000u) best++;
    return best;
}

int main(int argc, char **argv) {
    int lookups = argc > 1 ? atoi(argv[1]) : 1000;
    uint32_t s = 4711, sum = 0, at = 0;
    for (int i = 0; i < N; i++) keys[i] = at += 1 + (((uint32_t)i * 2654435761u) >> 17);
    for (int i = 0; i < lookups; i++) {
        uint32_t r = rnd(&s);
        int found = search(r % at);
        sum += i % 4 ? (uint32_t)found : settle(found);
    }
    printf("%u\n", sum);
    return 0;
}
