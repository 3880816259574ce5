// cc: -O2 -g -static-pie -fno-omit-frame-pointer
// args: 100000
// Lookups in a chained hash table larger than the second-level cache; one in four keys is absent.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct entry { uint64_t key; uint32_t value, next; };
enum { BUCKETS = 1 << 15, ENTRIES = 60000 };
static uint32_t bucket[BUCKETS];
static struct entry table[ENTRIES + 1];

static uint64_t rnd(uint64_t *s) { *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17; return *s; }

__attribute__((noinline)) static uint32_t mix(uint64_t k) {
    k ^= k >> 33; k *= 0xff51afd7ed558ccdULL; k ^= k >> 29;
    return (uint32_t)k & (BUCKETS - 1);
}

__attribute__((noinline)) static const struct entry *find(uint64_t key) {
    for (uint32_t i = bucket[mix(key)]; i; i = table[i].next)
        if (table[i].key == key) return &table[i];
    return 0;
}

__attribute__((noinline)) static uint32_t miss(uint64_t key) {
    uint32_t bits = 0;
    while (key) { bits += key & 1; key >>= 3; }
    return bits;
}

int main(int argc, char **argv) {
    long lookups = argc > 1 ? atol(argv[1]) : 1000;
    uint64_t s = 0x9e3779b97f4a7c15ULL, sum = 0;
    for (uint32_t i = 1; i <= ENTRIES; i++) {
        uint32_t b = mix(i * 2654435761ULL);
        table[i].key = i * 2654435761ULL; table[i].value = i ^ 77; table[i].next = bucket[b]; bucket[b] = i;
    }
    for (long n = 0; n < lookups; n++) {
        uint64_t key = (1 + rnd(&s) % (ENTRIES + ENTRIES / 3)) * 2654435761ULL;
        const struct entry *e = find(key);
        sum += e ? e->value : miss(key);
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
