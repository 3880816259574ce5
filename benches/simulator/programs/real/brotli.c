// cc: -O2 -static
// libs: -lbrotlienc -lbrotlidec -lbrotlicommon -lm
// needs: libbrotli-dev
// A made text packed and unpacked again (Brotli).
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <stdio.h>

#define SIZE 100000

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
    size_t n = sizeof packed, m = sizeof back;
    if (!BrotliEncoderCompress(5, 18, BROTLI_MODE_TEXT, SIZE, text, &n, packed)) return 1;
    if (BrotliDecoderDecompress(n, packed, &m, back) != BROTLI_DECODER_RESULT_SUCCESS) return 1;
    printf("%zu %zu\n", n, m);
    return 0;
}
