/* An allocator for tests, put before the C library's by LD_PRELOAD: requests of fasttree's compiled modules, and of no others, are
   counted, and the one whose number is `failing_memory_at` fails.  What they hold is counted too, so that nothing stays behind. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PUBLIC __attribute__((visibility("default")))
PUBLIC long failing_memory_at = 0;     /* 0: none fails */
PUBLIC long failing_memory_calls = 0;
PUBLIC long failing_memory_held = 0;   /* pieces that were given to fasttree and not given back */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

/* Modules lie in few ranges of addresses, so the last answers are kept. */
static __thread struct { char *base; int ours; } known[64];

static int ours(void *caller) {
    Dl_info found;
    size_t slot = ((size_t) caller >> 12) & 63;
    if (known[slot].base == (char *) ((size_t) caller >> 12)) return known[slot].ours;
    known[slot].base = (char *) ((size_t) caller >> 12);
    known[slot].ours = dladdr(caller, &found) && found.dli_fname && strstr(found.dli_fname, "/fasttree/") != NULL;
    return known[slot].ours;
}
static int fails(void) {
    long call = __atomic_add_fetch(&failing_memory_calls, 1, __ATOMIC_SEQ_CST);
    if (call != __atomic_load_n(&failing_memory_at, __ATOMIC_SEQ_CST)) return 0;
    errno = ENOMEM;
    return 1;
}
#define OURS ours(__builtin_return_address(0))

/* Where the pieces are that are held.  They are known by their addresses, because a jump to free hides who asks for it. */
#define SLOTS (1 << 18)
#define GONE ((void *) 1)
static void *held[SLOTS];
static char busy;

static void lock(void) { while (__atomic_test_and_set(&busy, __ATOMIC_ACQUIRE)) {} }
static void unlock(void) { __atomic_clear(&busy, __ATOMIC_RELEASE); }
static size_t start(void *place) { return (size_t) ((size_t) place * 0x9E3779B97F4A7C15u >> 46); }

static void hold(void *place) {
    size_t slot = start(place);
    lock();
    while (held[slot] != NULL && held[slot] != GONE) slot = (slot + 1) % SLOTS;
    held[slot] = place;
    failing_memory_held++;
    unlock();
}
static int release(void *place) {
    size_t slot = start(place);
    int found = 0;
    lock();
    for (; held[slot] != NULL; slot = (slot + 1) % SLOTS)
        if (held[slot] == place) {
            held[slot] = held[(slot + 1) % SLOTS] == NULL ? NULL : GONE;
            failing_memory_held--;
            found = 1;
            break;
        }
    unlock();
    return found;
}

PUBLIC void *malloc(size_t size) {
    void *place;
    if (!OURS) return __libc_malloc(size);
    if (fails()) return NULL;
    place = __libc_malloc(size);
    if (place) hold(place);
    return place;
}
PUBLIC void *calloc(size_t n, size_t size) {
    void *place;
    if (!OURS) return __libc_calloc(n, size);
    if (fails()) return NULL;
    place = __libc_calloc(n, size);
    if (place) hold(place);
    return place;
}
PUBLIC void *realloc(void *old, size_t size) {
    void *place;
    if (!OURS) {
        int was_held = old && release(old);
        place = __libc_realloc(old, size);
        if (was_held) hold(place ? place : old);
        return place;
    }
    if (fails()) return NULL;
    if (old) release(old);
    place = __libc_realloc(old, size);
    if (place || old) hold(place ? place : old);
    return place;
}
PUBLIC void free(void *place) {
    if (place) release(place);
    __libc_free(place);
}
PUBLIC void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
    static void *(*real)(void *, size_t, int, int, int, off_t);
    void *place;
    int is_ours = OURS;
    if (is_ours && fails()) return MAP_FAILED;
    if (!real) real = (void *(*)(void *, size_t, int, int, int, off_t)) dlsym(RTLD_NEXT, "mmap");
    place = real(at, size, protection, flags, file, offset);
    if (is_ours && place != MAP_FAILED) hold(place);
    return place;
}
PUBLIC int munmap(void *place, size_t size) { /* a piece that becomes shorter keeps its start */
    static int (*real)(void *, size_t);
    release(place);
    if (!real) real = (int (*)(void *, size_t)) dlsym(RTLD_NEXT, "munmap");
    return real(place, size);
}
PUBLIC void *mremap(void *place, size_t old, size_t size, int flags, ...) {
    static void *(*real)(void *, size_t, size_t, int, ...);
    void *larger;
    if (OURS && fails()) return MAP_FAILED;
    if (!real) real = (void *(*)(void *, size_t, size_t, int, ...)) dlsym(RTLD_NEXT, "mremap");
    larger = real(place, old, size, flags);
    if (larger != MAP_FAILED && release(place)) hold(larger);
    return larger;
}
