// cc: -O2 -g -static -fno-omit-frame-pointer
// args: 26
// A tokenizer's state machine: arms of very different length and frequency, one of them with a divide.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum state { START, WORD, NUMBER, STRING, COMMENT };
static unsigned char text[1 << 14];
static uint32_t words, numbers, strings, checksum;

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

__attribute__((noinline)) static uint32_t close_number(uint32_t value) {
    uint32_t rest = value;
    while (rest > 9) rest = rest / (7 + (value & 3)) ;
    return rest;
}

__attribute__((noinline)) static void tokenize(const unsigned char *p, const unsigned char *end) {
    enum state s = START;
    uint32_t value = 0;
    for (; p < end; p++) {
        unsigned char c = *p;
        switch (s) {
        case START:
            if (c >= 'a') { s = WORD; value = c; }
            else if (c >= '0' && c <= '9') { s = NUMBER; value = c - '0'; }
            else if (c == '"') s = STRING;
            else if (c == '#') s = COMMENT;
            break;
        case WORD:
            if (c >= 'a') { value = value * 31 + c; value ^= value >> 7; }
            else { words++; checksum += value; s = START; }
            break;
        case NUMBER:
            if (c >= '0' && c <= '9') value = value * 10 + (c - '0');
            else { numbers++; checksum ^= close_number(value); s = START; }
            break;
        case STRING:
            if (c == '"') { strings++; s = START; }
            else checksum = (checksum << 1 | checksum >> 31) + c;
            break;
        case COMMENT:
            if (c == '\n') s = START;
            break;
        }
    }
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    uint32_t seed = 2463534242u;
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzabcdefgh0123456789  \"#\n\n";
    for (size_t i = 0; i < sizeof text; i++) text[i] = alphabet[rnd(&seed) % (sizeof alphabet - 1)];
    for (int r = 0; r < rounds; r++) tokenize(text, text + sizeof text);
    printf("%u %u %u %u\n", words, numbers, strings, checksum);
    return 0;
}
