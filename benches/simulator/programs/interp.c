// cc: -O2 -g -static
// args: 600
// A bytecode interpreter over a jump table; the bytecode is a small sieve-like program, so the handlers are unevenly hot.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum op { PUSH, LOAD, STORE, ADD, SUB, MUL, MOD, LESS, JZ, JMP, DUP, DROP, XOR, HALT };
static long vars[16], stack[64];

__attribute__((noinline)) static long run(const int *code) {
    long *sp = stack;
    for (const int *pc = code;;) {
        switch (*pc++) {
        case PUSH: *++sp = *pc++; break;
        case LOAD: *++sp = vars[*pc++]; break;
        case STORE: vars[*pc++] = *sp--; break;
        case ADD: sp[-1] += sp[0]; sp--; break;
        case SUB: sp[-1] -= sp[0]; sp--; break;
        case MUL: sp[-1] *= sp[0]; sp--; break;
        case MOD: sp[-1] %= sp[0] ? sp[0] : 1; sp--; break;
        case LESS: sp[-1] = sp[-1] < sp[0]; sp--; break;
        case XOR: sp[-1] ^= sp[0]; sp--; break;
        case JZ: pc += *sp-- ? 1 : 1 + *pc; break;
        case JMP: pc += 1 + *pc; break;
        case DUP: sp[1] = sp[0]; sp++; break;
        case DROP: sp--; break;
        case HALT: return vars[2];
        }
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    // v1 = 0; while (v1 < v0) { if (v1 % 3) v2 = v2 * 5 ^ v1; else v2 = v2 + v1 - 7; v1 = v1 + 1; }
    static const int code[] = {
        PUSH, 0, STORE, 1,
        LOAD, 1, LOAD, 0, LESS, JZ, 38,
        LOAD, 1, PUSH, 3, MOD, JZ, 12,
        LOAD, 2, PUSH, 5, MUL, LOAD, 1, XOR, STORE, 2, JMP, 10,
        LOAD, 2, LOAD, 1, ADD, PUSH, 7, SUB, STORE, 2,
        LOAD, 1, PUSH, 1, ADD, STORE, 1, JMP, -45,
        HALT,
    };
    long sum = 0;
    for (int r = 0; r < rounds; r++) { vars[0] = 40 + r % 17; sum += run(code); }
    printf("%ld\n", sum);
    return 0;
}
