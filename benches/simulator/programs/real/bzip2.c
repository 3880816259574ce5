// cc: -O2 -static
// libs: -lbz2
// needs: libbz2-dev
// A made text sorted by blocks, packed and unpacked again (bzip2).
#include <bzlib.h>
#include <stdio.h>

#define SIZE 60000
#include "text.h"

int main(void) {
    static char packed[SIZE * 2], back[SIZE];
    make();
    unsigned n = sizeof packed, m = sizeof back;
    if (BZ2_bzBuffToBuffCompress(packed, &n, (char *)text, SIZE, 9, 0, 30)) return 1;
    if (BZ2_bzBuffToBuffDecompress(back, &m, packed, n, 0, 0)) return 1;
    printf("%u %u\n", n, m);
    return 0;
}
