// cc: -O1 -g -static -fno-omit-frame-pointer
// args: 4000
// A sled of nops between blocks, with an inner loop whose count is random.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t rnd(uint32_t *s) {
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    uint32_t s = 12345;
    uint64_t acc = 0;
    (void)argc;
    for (int i = 0; i < n; i++) {
        __asm__ volatile(".rept 120\n nop\n .endr");
        uint32_t k = rnd(&s) & 31;
        for (uint32_t j = 0; j < k; j++) {
            acc += j;
            __asm__ volatile("nop\n nop\n nop\n" : "+r"(acc));
        }
        __asm__ volatile(".rept 60\n nop\n .endr");
        if (s & 4) {
            acc ^= i;
            __asm__ volatile(".rept 25\n nop\n .endr" : "+r"(acc));
        }
    }
    printf("%lu\n", acc);
}
