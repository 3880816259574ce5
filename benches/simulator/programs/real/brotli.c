// cc: -O2 -static
// libs: -lbrotlienc -lbrotlidec -lbrotlicommon -lm
// needs: libbrotli-dev
// A made text packed and unpacked again (Brotli).
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <stdio.h>

#define SIZE 100000
#include "text.h"

int main(void) {
    static unsigned char packed[SIZE * 2], back[SIZE];
    make();
    size_t n = sizeof packed, m = sizeof back;
    if (!BrotliEncoderCompress(5, 18, BROTLI_MODE_TEXT, SIZE, text, &n, packed)) return 1;
    if (BrotliDecoderDecompress(n, packed, &m, back) != BROTLI_DECODER_RESULT_SUCCESS) return 1;
    printf("%zu %zu\n", n, m);
    return 0;
}
