/* Instrumentation: with -DLOG every call of a function with ENTER and LEAVE is written down, with the place of its return
   address and the clock that the recorder uses. A call that ends otherwise has no line for its end. */
#ifdef LOG
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
/* the name is empty where a call ends */
struct event { uint64_t time, slot, call, count; char name[16]; };
#ifndef EVENTS
#define EVENTS (1u << 21)
#endif
static __thread struct event *events;
static __thread uint64_t used, calls;
static inline uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static inline void event(const char *name, uint64_t slot, uint64_t call, uint64_t count) {
    if (!events) events = malloc(EVENTS * sizeof *events);
    if (used < EVENTS) {
        struct event *e = &events[used++];
        *e = (struct event){now(), slot, call, count, ""};
        for (int i = 0; name[i]; i++) e->name[i] = name[i];
    }
}
/* the return address lies above the frame pointer that was saved */
#define ENTER(name) uint64_t log_slot = (uint64_t)__builtin_frame_address(0) + 8, log_call = ++calls; event(name, log_slot, log_call, 0)
#define LEAVE(count) event("", log_slot, log_call, count)
static void dump(void) {
    char path[64];
    snprintf(path, sizeof path, "log.%ld", syscall(SYS_gettid));
    FILE *f = fopen(path, "w");
    fwrite(events, sizeof *events, used, f);
    fclose(f);
}
#else
#define ENTER(name)
#define LEAVE(count)
static void dump(void) {}
#endif
