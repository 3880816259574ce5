// cc: -O2 -static
// libs: -lzstd -lpthread
// needs: libzstd-dev
// A made text packed at two levels and unpacked again (Zstandard).
#include <stdio.h>
#include <zstd.h>

#define SIZE 120000

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
    for (int level = 3; level <= 9; level += 6) {
        size_t n = ZSTD_compress(packed, sizeof packed, text, SIZE, level);
        if (ZSTD_isError(n) || ZSTD_decompress(back, SIZE, packed, n) != SIZE) return 1;
        printf("%zu\n", n);
    }
    return 0;
}
