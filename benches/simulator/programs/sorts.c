// cc: -O2 -g -static
// args: 6000
// Heap sort, insertion sort and the library's sort over the same keys.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int key[20000], w[20000];

static void sift(int *a, int i, int n) {
    for (;;) {
        int c = 2 * i + 1;
        if (c >= n) return;
        if (c + 1 < n && a[c + 1] > a[c]) c++;
        if (a[i] >= a[c]) return;
        int t = a[i];
        a[i] = a[c];
        a[c] = t;
        i = c;
    }
}

static void heap(int *a, int n) {
    for (int i = n / 2; i-- > 0;) sift(a, i, n);
    for (int m = n; --m > 0;) {
        int t = a[0];
        a[0] = a[m];
        a[m] = t;
        sift(a, 0, m);
    }
}

static void insertion(int *a, int n) {
    for (int i = 1; i < n; i++) {
        int v = a[i], j = i;
        while (j > 0 && a[j - 1] > v) {
            a[j] = a[j - 1];
            j--;
        }
        a[j] = v;
    }
}

static int cmp(const void *p, const void *q) {
    int a = *(const int *)p, b = *(const int *)q;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    uint32_t s = 7;
    for (int i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        key[i] = s >> 8;
    }
    memcpy(w, key, sizeof w);
    heap(w, n);
    memcpy(w, key, sizeof w);
    for (int i = 0; i + 40 <= n; i += 40) insertion(w + i, 40);
    memcpy(w, key, sizeof w);
    qsort(w, n, sizeof *w, cmp);
    printf("%d\n", w[n / 2]);
}
