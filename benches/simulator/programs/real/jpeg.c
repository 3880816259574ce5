// cc: -O2 -static
// libs: -ljpeg -lm
// needs: libjpeg-dev
// A made picture coded, progressively and not, and decoded again (libjpeg).
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#define W 160
#define H 120

static unsigned char picture[H][W * 3];

static unsigned long code(unsigned char **out, boolean progressive) {
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    unsigned long n = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, out, &n);
    c.image_width = W, c.image_height = H, c.input_components = 3, c.in_color_space = JCS_RGB;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 85, TRUE);
    if (progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < H) {
        JSAMPROW row = picture[c.next_scanline];
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return n;
}

static unsigned long decode(unsigned char *from, unsigned long n) {
    struct jpeg_decompress_struct d;
    struct jpeg_error_mgr errors;
    unsigned long sum = 0;
    d.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, from, n);
    jpeg_read_header(&d, TRUE);
    jpeg_start_decompress(&d);
    while (d.output_scanline < H) {
        static unsigned char line[W * 3];
        JSAMPROW row = line;
        jpeg_read_scanlines(&d, &row, 1);
        sum += line[d.output_scanline % W];
    }
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return sum;
}

int main(void) {
    unsigned seed = 9;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W * 3; x++) {
            seed = seed * 1664525 + 1013904223;
            picture[y][x] = (x * y >> 5) + (x / 3 ^ y) % 64 + (seed >> 28);
        }
    for (int progressive = 0; progressive < 2; progressive++) {
        unsigned char *out = NULL;
        unsigned long n = code(&out, progressive);
        printf("%lu %lu\n", n, decode(out, n));
        free(out);
    }
    return 0;
}
