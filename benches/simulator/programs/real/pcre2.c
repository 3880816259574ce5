// cc: -O2 -static
// libs: -lpcre2-8
// needs: libpcre2-dev
// Expressions matched all over a made text, interpreted (PCRE2).
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#define SIZE 30000
#include "text.h"

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
