// cc: -O2 -static
// libs: -llzma -lpthread
// needs: liblzma-dev
// A made text packed and unpacked again (liblzma).
#include <lzma.h>
#include <stdio.h>

#define SIZE 30000
#include "text.h"

int main(void) {
    static unsigned char packed[SIZE * 2], back[SIZE];
    make();
    size_t n = 0, in = 0, m = 0;
    uint64_t limit = UINT64_MAX;
    if (lzma_easy_buffer_encode(4, LZMA_CHECK_CRC64, NULL, text, SIZE, packed, &n, sizeof packed)) return 1;
    if (lzma_stream_buffer_decode(&limit, 0, NULL, packed, &in, n, back, &m, sizeof back)) return 1;
    printf("%zu %zu\n", n, m);
    return 0;
}
