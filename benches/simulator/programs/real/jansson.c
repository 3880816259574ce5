// cc: -O2 -static
// libs: -ljansson
// needs: libjansson-dev
// A document parsed, changed and printed (Jansson).
#include <jansson.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    static char text[90000];
    unsigned seed = 5, n = sprintf(text, "[");
    while (n < sizeof text - 300) {
        seed = seed * 1664525 + 1013904223;
        n += sprintf(text + n, "{\"id\": %u, \"name\": \"n\\u00e4me %x\\n\", \"values\": [%u, -%u.5e-2, true, null]},\n", seed >> 12,
                     seed >> 7, seed >> 28, seed >> 18);
    }
    n += sprintf(text + n, "{}]");
    json_error_t error;
    json_t *all = json_loads(text, 0, &error), *one;
    if (!all) return fprintf(stderr, "%s\n", error.text), 1;
    size_t i;
    double sum = 0;
    json_array_foreach(all, i, one) {
        sum += json_number_value(json_array_get(json_object_get(one, "values"), 1));
        json_object_set_new(one, "index", json_integer(i));
        json_object_del(one, "name");
    }
    char *back = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
    printf("%g %zu\n", sum, strlen(back));
    json_decref(all);
    return 0;
}
