// cc: -O2 -static
// libs: -lpcre2-8
// needs: libpcre2-dev
// Expressions matched all over a made text, interpreted (PCRE2).
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#define SIZE 30000

static unsigned char text[SIZE];

// Words of a made language, with repetitions.
static void make(void) {
    static const char *const words[] = {"the ", "cause ", "of ", "skid", " is", " late", ".\n", "interrupt ", "address "};
    unsigned seed = 1, n = 0;
    while (n < SIZE) {
        seed = seed * 1664525 + 1013904223;
        const char *w = words[(seed >> 24) % 9];
        while (*w && n < SIZE) text[n++] = *w++;
        if (seed >> 30 == 3 && n < SIZE) text[n++] = 33 + (seed >> 8) % 90;
    }
}

int main(void) {
    static const char *const patterns[] = {
        "(skid|late)\\s+(is|of)", "\\b[a-c]\\w*e\\b", "(?i)INTERRUPT.{0,9}address", "([a-z]+) \\1", "^.*cause.*$",
    };
    make();
    unsigned found = 0;
    for (unsigned i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        int error;
        PCRE2_SIZE at = 0, where;
        pcre2_code *code = pcre2_compile((PCRE2_SPTR)patterns[i], PCRE2_ZERO_TERMINATED, PCRE2_MULTILINE, &error, &where, NULL);
        if (!code) return 1;
        pcre2_match_data *match = pcre2_match_data_create_from_pattern(code, NULL);
        while (at < SIZE && pcre2_match(code, text, SIZE, at, 0, match, NULL) > 0) {
            PCRE2_SIZE *ends = pcre2_get_ovector_pointer(match);
            at = ends[1] > at ? ends[1] : at + 1;
            found++;
        }
        pcre2_match_data_free(match);
        pcre2_code_free(code);
    }
    printf("%u\n", found);
    return 0;
}
