// cc: -O1 -g -static -fno-omit-frame-pointer
// args: 18
// Searching lines for words: a hand-written scan with early exits beside the C library's strlen, memchr and strstr.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 1 << 15 };
static char text[SIZE + 1];

static uint32_t rnd(uint32_t *s) { *s ^= *s << 13; *s ^= *s >> 17; *s ^= *s << 5; return *s; }

__attribute__((noinline)) static int matches(const char *p, const char *word) {
    while (*word && *p == *word) { p++; word++; }
    return *word == 0;
}

__attribute__((noinline)) static int count(const char *p, const char *end, const char *word) {
    int n = 0;
    for (; p < end; p++) if (*p == word[0] && matches(p, word)) n++;
    return n;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 2;
    uint32_t s = 5150;
    static const char *words[] = {"tea", "ant", "tent", "state", "nest"};
    for (int i = 0; i < SIZE; i++) { uint32_t r = rnd(&s) % 23; text[i] = r == 22 ? '\n' : "etanseatnshtesatet tea"[r]; }
    long total = 0;
    for (int r = 0; r < rounds; r++) {
        const char *word = words[r % 5], *line = text;
        while (line < text + SIZE) {
            const char *end = memchr(line, '\n', text + SIZE - line);
            if (!end) end = text + SIZE;
            if (end - line > 2) total += count(line, end, word);
            line = end + 1;
        }
        if (r % 4 == 0) total += strstr(text + r * 37, word) - text + (long)strlen(text + r * 11);
    }
    printf("%ld\n", total);
    return 0;
}
