// cc: -O2 -g -static
// args: 3
// A tokenizer and a recursive-descent evaluator over a made text.
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[40000];
static const char *p;
static long vars[26];
static long expr(void);

static void blank(void) {
    while (*p == ' ' || *p == '\n') p++;
}

static long atom(void) {
    blank();
    if (*p == '(') {
        p++;
        long v = expr();
        blank();
        if (*p == ')') p++;
        return v;
    }
    if (isdigit((unsigned char)*p)) {
        long v = 0;
        while (isdigit((unsigned char)*p)) v = v * 10 + *p++ - '0';
        return v;
    }
    if (isalpha((unsigned char)*p)) {
        long h = 0;
        while (isalnum((unsigned char)*p)) h = h * 31 + *p++;
        return vars[(unsigned long)h % 26];
    }
    if (*p == '-') {
        p++;
        return -atom();
    }
    p++;
    return 0;
}

static long term(void) {
    long v = atom();
    for (;;) {
        blank();
        if (*p == '*') {
            p++;
            v *= atom();
        } else if (*p == '/') {
            p++;
            long d = atom();
            v = d ? v / d : 0;
        } else return v;
    }
}

static long expr(void) {
    long v = term();
    for (;;) {
        blank();
        if (*p == '+') {
            p++;
            v += term();
        } else if (*p == '-') {
            p++;
            v -= term();
        } else return v;
    }
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    uint32_t s = 3;
    char *q = text;
    const char *names[] = {"alpha", "b", "count2", "zz", "value"};
    while (q < text + sizeof text - 64) {
        s = s * 1664525u + 1013904223u;
        int depth = (s >> 28) & 3;
        for (int i = 0; i < depth; i++) *q++ = '(';
        q += sprintf(q, "%u", (s >> 10) & 4095);
        for (int i = 0; i < depth; i++) {
            s = s * 1664525u + 1013904223u;
            *q++ = "+-*/"[s >> 30];
            if (s >> 20 & 1) q += sprintf(q, " %s", names[(s >> 8) % 5]);
            else q += sprintf(q, "%u", s >> 20 & 255);
            *q++ = ')';
        }
        *q++ = ';';
        *q++ = "\n "[s & 1];
    }
    *q = 0;
    for (int i = 0; i < 26; i++) vars[i] = i * 7 + 1;
    long t = 0;
    for (int i = 0; i < n; i++)
        for (p = text; *p;) {
            t += expr();
            blank();
            if (*p == ';') p++;
        }
    printf("%ld\n", t);
}
