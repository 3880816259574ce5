/* What makes pairing hard: deep recursion, recursion through different sites, functions that are called again from the same
   place after longjmp left them, threads. Argument: rounds. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include "log.h"
static volatile long sink;
static long rounds = 200;
__attribute__((noipa)) static void work(long n) {
    for (long i = 0; i < 6 * n; i++) sink += i;
}
__attribute__((noipa)) static long down(long depth) {
    ENTER("down");
    work(300);
    long sum = depth ? down(depth - 1) + 1 : 0;
    work(100);
    LEAVE(depth);
    return sum;
}
__attribute__((noipa)) static long odd(long n);
__attribute__((noipa)) static long even(long n) {
    ENTER("even");
    work(200);
    long sum = 0;
    if (n > 0) sum = n % 3 ? odd(n - 1) : odd(n - 2);
    if (n > 0 && n % 5 == 0) sum += even(n / 2);
    LEAVE(n);
    return sum + 1;
}
__attribute__((noipa)) static long odd(long n) {
    ENTER("odd");
    work(150);
    long sum = 0;
    if (n > 0) sum = n % 2 ? even(n - 1) : odd(n - 1);
    LEAVE(n);
    return sum + 1;
}
static __thread jmp_buf back;
__attribute__((noipa)) static void inner(long n) {
    ENTER("inner");
    work(200);
    if (n % 3 == 0) longjmp(back, 1);
    work(100);
    LEAVE(n);
}
__attribute__((noipa)) static void outer(long n) {
    ENTER("outer");
    work(100);
    inner(n);
    work(100);
    LEAVE(n);
}
__attribute__((noipa)) static void retry(volatile long n) {
    ENTER("retry");
    /* the second call of outer comes from the same place with the same stack pointer */
    if (setjmp(back)) n++;
    outer(n);
    LEAVE(n);
}
static void *run(void *unused) {
    (void)unused;
    for (long i = 0; i < rounds; i++) {
        down(40);
        even(30);
        for (long k = 0; k < 20; k++) retry(i + k);
    }
    dump();
    return 0;
}
int main(int argc, char **argv) {
    if (argc > 1) rounds = atol(argv[1]);
    pthread_t a, b;
    pthread_create(&a, 0, run, 0);
    pthread_create(&b, 0, run, 0);
    run(0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    printf("%ld\n", (long)(sink != 0));
    return 0;
}
