// cc: -O2 -g -static
// args: 25
// Pattern matching by backtracking, edit distance, a trie and a search for a string.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[3000];
struct node {
    int kid[4];
    int n;
};
static struct node trie[5000];
static int used = 1;
static int star(int c, const char *r, const char *t);

static int here(const char *r, const char *t) {
    if (!*r) return 1;
    if (r[1] == '*') return star(*r, r + 2, t);
    if (*t && (*r == '.' || *r == *t)) return here(r + 1, t + 1);
    return 0;
}

static int star(int c, const char *r, const char *t) {
    do {
        if (here(r, t)) return 1;
    } while (*t && (*t++ == c || c == '.'));
    return 0;
}

static int edit(const char *a, int n, const char *b, int m) {
    static int row[64];
    for (int j = 0; j <= m; j++) row[j] = j;
    for (int i = 1; i <= n; i++) {
        int d = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int t = row[j], v = d + (a[i - 1] != b[j - 1]);
            if (t + 1 < v) v = t + 1;
            if (row[j - 1] + 1 < v) v = row[j - 1] + 1;
            row[j] = v;
            d = t;
        }
    }
    return row[m];
}

static void insert(const char *p, int n) {
    int at = 0;
    for (int i = 0; i < n; i++) {
        int k = p[i] - 'a';
        if (!trie[at].kid[k]) {
            if (used >= 4990) return;
            trie[at].kid[k] = used++;
        }
        at = trie[at].kid[k];
    }
    trie[at].n++;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    uint32_t s = 3;
    for (int i = 0; i < 2999; i++) {
        s = s * 1664525u + 1013904223u;
        text[i] = 'a' + (s >> 30);
    }
    long t = 0;
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < 300; i++) t += here("a*b.c*d", text + i + r);
        for (int i = 0; i < 6; i++) t += edit(text + i * 40, 30, text + r * 50, 30);
        for (int i = 0; i < 100; i++) insert(text + (i * 37 + r) % 2900, 8);
        const char *p = text;
        while ((p = strstr(p, "abca"))) t++, p++;
    }
    printf("%ld %d\n", t, used);
}
