// cc: -O0 -g -static
// args: 60
// Five leaf functions that count in memory, with 5, 4, 3, 2 and 1 fifteenths of the work.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define LEAF(n)                                                    \
    __attribute__((noinline)) static void function##n(void) {      \
        volatile int x = 0;                                        \
        for (volatile int i = 0; i < 60 * (6 - n); i++) x = x + n; \
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
    printf("%d\n", n);
}
