// cc: -O1 -g -static -fno-if-conversion -fno-if-conversion2
// args: 30 20
// A thousand small functions, ten to a module, of five shapes with constants of their own. The first argument is how many
// modules run, the second how often.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline)) static uint32_t

static uint32_t cell[1024];

// A loop with a branch that depends on the data.
#define BRANCH(k)                                                                    \
    KEEP f##k(uint32_t x) {                                                          \
        uint32_t sum = k;                                                            \
        for (uint32_t i = 0; i < 3 + (k % 7); i++) {                                 \
            x = x * 1664525u + 1013904223u + k;                                      \
            if (x & (1u << (k % 23 + 3))) sum += x >> 5; else sum ^= x + k;          \
        }                                                                            \
        return sum;                                                                  \
    }
// Loops in loops with short trips.
#define NEST(k)                                                                      \
    KEEP f##k(uint32_t x) {                                                          \
        uint32_t sum = 0;                                                            \
        for (uint32_t i = 0; i < 1 + (x & 3); i++) {                                 \
            for (uint32_t j = 0; j < 1 + (x >> 7 & 3); j++) sum += cell[(i * k + j) & 1023]; \
            cell[(k + i) & 1023] = sum;                                              \
        }                                                                            \
        return sum;                                                                  \
    }
// Arms in a row, each as likely as its constant says.
#define ARMS(k)                                                                      \
    KEEP f##k(uint32_t x) {                                                          \
        x ^= x >> 3;                                                                 \
        if ((x & 255) < k % 256) x += k; else x *= 5;                                \
        if (x & 64) x ^= cell[x & 1023];                                             \
        if ((x >> 9 & 7) == k % 8) return x * 3;                                     \
        cell[x & 1023] += k;                                                         \
        return x - k;                                                                \
    }
// A division that everything waits for.
#define DIVIDE(k)                                                                    \
    KEEP f##k(uint32_t x) {                                                          \
        uint32_t n = 0;                                                              \
        do { n += x % (k + 10u); x /= (x & 1) + 7u; } while (x > k);                 \
        return n;                                                                    \
    }
// A walk through memory until something is found.
#define WALK(k)                                                                      \
    KEEP f##k(uint32_t x) {                                                          \
        uint32_t at = x & 1023, steps = 0;                                           \
        while (steps < 12 && (cell[at] ^ x) % 5 != k % 5) { at = (at * 5 + k) & 1023; steps++; } \
        return at + steps;                                                           \
    }

#define MODULE(m)                                                                    \
    BRANCH(m##0) NEST(m##1) ARMS(m##2) DIVIDE(m##3) WALK(m##4)                       \
    BRANCH(m##5) NEST(m##6) ARMS(m##7) DIVIDE(m##8) WALK(m##9)                       \
    KEEP module##m(uint32_t x) {                                                     \
        x += f##m##0(x); x ^= f##m##1(x); x += f##m##2(x);                           \
        if (x & 4) x += f##m##3(x);                                                  \
        for (int i = 0; i < 2; i++) x += f##m##4(x + i);                             \
        x ^= f##m##5(x); x += f##m##6(x);                                            \
        if (x & 8) x += f##m##7(x); else x += f##m##8(x);                            \
        return x + f##m##9(x);                                                       \
    }
#define TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define ALL(X) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6) TEN(X, 7) TEN(X, 8) TEN(X, 9) TEN(X, 10)
ALL(MODULE)

#define NAME(m) module##m,
static uint32_t (*const modules[])(uint32_t) = {ALL(NAME)};

int main(int argc, char **argv) {
    int count = argc > 1 ? atoi(argv[1]) : 30, rounds = argc > 2 ? atoi(argv[2]) : 20;
    uint32_t x = 2463534242u;
    for (int i = 0; i < 1024; i++) cell[i] = x = x * 1664525u + 1013904223u;
    for (int r = 0; r < rounds; r++) {
        for (int m = 0; m < count; m++) x = modules[m](x) * 2654435761u + r;
    }
    printf("%u\n", x);
    return 0;
}
