// cc: -O2 -static
// libs: -lexpat
// needs: libexpat1-dev
// A document of nested elements, attributes, entities and comments (Expat).
#include <expat.h>
#include <stdio.h>
#include <string.h>

static unsigned depth, deepest, letters;

static void enter(void *unused, const XML_Char *name, const XML_Char **attributes) {
    (void)unused, (void)name;
    for (; *attributes; attributes++) letters += strlen(*attributes);
    if (++depth > deepest) deepest = depth;
}

static void leave(void *unused, const XML_Char *name) {
    (void)unused, (void)name;
    depth--;
}

static void text(void *unused, const XML_Char *s, int n) {
    (void)unused;
    for (int i = 0; i < n; i++) letters += s[i] > ' ';
}

int main(void) {
    static char document[200000];
    unsigned seed = 7, n = sprintf(document, "<?xml version='1.0'?>\n<all>");
    while (n < sizeof document - 400) {
        seed = seed * 1664525 + 1013904223;
        n += sprintf(document + n, "<row id=\"%u\" kind='%s'>", seed >> 20, seed >> 31 ? "odd &amp; rare" : "even");
        for (unsigned i = 0; i < seed >> 29; i++) n += sprintf(document + n, "<cell>%x &lt; &#%u;</cell>\n", seed >> 9, 65 + i);
        n += sprintf(document + n, seed >> 28 == 3 ? "<!-- left out -->\n</row>" : "</row>\n");
    }
    n += sprintf(document + n, "</all>");
    XML_Parser parser = XML_ParserCreate(NULL);
    XML_SetElementHandler(parser, enter, leave);
    XML_SetCharacterDataHandler(parser, text);
    if (XML_Parse(parser, document, n, 1) != XML_STATUS_OK) return 1;
    printf("%u %u\n", deepest, letters);
    XML_ParserFree(parser);
    return 0;
}
