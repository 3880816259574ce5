// cc: -O2 -static
// libs: -lz
// needs: zlib1g-dev
// A made text deflated and inflated again (zlib).
#include <stdio.h>
#include <zlib.h>

#define SIZE 150000
#include "text.h"

int main(void) {
    static unsigned char packed[SIZE * 2], back[SIZE];
    make();
    uLongf n = sizeof packed, m = sizeof back;
    if (compress2(packed, &n, text, SIZE, 6) || uncompress(back, &m, packed, n)) return 1;
    printf("%lu %lu %lx\n", n, m, crc32(0, back, m));
    return 0;
}
