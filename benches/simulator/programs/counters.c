// cc: -O2 -g -static
// args: 3000
// Five leaf functions that count in memory, called often and short by a loop that does nothing else.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static volatile uint64_t counter;

#define LEAF(n)                                               \
    __attribute__((noinline)) static void function##n(void) { \
        for (int i = 0; i < 2 * (6 - n); i++) counter++;      \
    }
LEAF(1) LEAF(2) LEAF(3) LEAF(4) LEAF(5)

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    (void)argc;
    for (int i = 0; i < n; i++) {
        function1();
        function2();
        function3();
        function4();
        function5();
    }
    printf("%lu\n", counter);
}
