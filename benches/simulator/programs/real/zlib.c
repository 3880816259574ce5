// cc: -O2 -static
// libs: -lz
// needs: zlib1g-dev
// A made text deflated and inflated again (zlib).
#include <stdio.h>
#include <zlib.h>

#define SIZE 150000

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
    static unsigned char packed[SIZE * 2], back[SIZE];
    make();
    uLongf n = sizeof packed, m = sizeof back;
    if (compress2(packed, &n, text, SIZE, 6) || uncompress(back, &m, packed, n)) return 1;
    printf("%lu %lu %lx\n", n, m, crc32(0, back, m));
    return 0;
}
