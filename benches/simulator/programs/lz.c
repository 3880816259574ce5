// cc: -O2 -g -static
// args: 1
// A small compressor of the LZ77 kind and its decoder over a made text, then a checksum.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t in[60000], out[120000], back[60010];
static int head[4096];
static uint32_t table[256];

static uint32_t crc(const uint8_t *p, int n) {
    uint32_t c = ~0u;
    for (int i = 0; i < n; i++) c = table[(c ^ p[i]) & 255] ^ c >> 8;
    return ~c;
}

static int pack(int n) {
    int o = 0;
    memset(head, -1, sizeof head);
    for (int i = 0; i < n;) {
        int h = i + 3 < n ? (in[i] * 2654435761u ^ in[i + 1] * 40503u ^ in[i + 2] * 97u) & 4095 : 0, c = head[h],
            len = 0;
        head[h] = i;
        if (c >= 0 && i - c < 30000)
            while (i + len < n && len < 60 && in[c + len] == in[i + len]) len++;
        if (len >= 4) {
            out[o++] = 128 + len;
            out[o++] = (i - c) & 255;
            out[o++] = (i - c) >> 8;
            i += len;
        } else out[o++] = in[i++] & 127;
    }
    return o;
}

static int unpack(int o) {
    int n = 0;
    for (int i = 0; i < o;) {
        if (out[i] >= 128) {
            int len = out[i] - 128, d = out[i + 1] | out[i + 2] << 8;
            i += 3;
            for (int k = 0; k < len; k++, n++) back[n] = back[n - d];
        } else back[n++] = out[i++];
    }
    return n;
}

int main(int argc, char **argv) {
    int r = atoi(argv[1]);
    (void)argc;
    uint32_t s = 9;
    for (int i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
        table[i] = c;
    }
    const char *w[] = {"the ", "recording ", "of ", "a ", "sample ", "stands ", "late", ". ", "it ", "instruction "};
    int n = 0;
    while (n < 59900) {
        s = s * 1664525u + 1013904223u;
        if (s >> 29 == 0) in[n++] = 97 + (s >> 10) % 26;
        else {
            const char *t = w[(s >> 16) % 10];
            int l = strlen(t);
            memcpy(in + n, t, l);
            n += l;
        }
    }
    uint32_t c = 0;
    for (int i = 0; i < r; i++) {
        int o = pack(n);
        int m = unpack(o);
        c ^= crc(back, m);
    }
    printf("%u\n", c);
}
