// cc: -O2 -static
// libs: -lzstd -lpthread
// needs: libzstd-dev
// A made text packed at two levels and unpacked again (Zstandard).
#include <stdio.h>
#include <zstd.h>

#define SIZE 120000
#include "text.h"

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
