// SIZE letters of a text, to be packed or searched.

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
