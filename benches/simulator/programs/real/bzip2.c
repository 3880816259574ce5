// cc: -O2 -static
// libs: -lbz2
// needs: libbz2-dev
// A made text sorted by blocks, packed and unpacked again (bzip2).
#include <bzlib.h>
#include <stdio.h>

#define SIZE 60000

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
    static char packed[SIZE * 2], back[SIZE];
    make();
    unsigned n = sizeof packed, m = sizeof back;
    if (BZ2_bzBuffToBuffCompress(packed, &n, (char *)text, SIZE, 9, 0, 30)) return 1;
    if (BZ2_bzBuffToBuffDecompress(back, &m, packed, n, 0, 0)) return 1;
    printf("%u %u\n", n, m);
    return 0;
}
