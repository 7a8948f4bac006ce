"""Memory of the engine: growing buffers, lists that go back to the system, parts carved out of one buffer.  Header only.

No function here raises: each returns -1 or NULL when memory runs out, and an outer caller raises the error.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

from fasttree._engine.types cimport Active, Arena

cdef extern from *:
    """
    /* Pieces from here on are read at random: one large page takes the place of 512 translations of addresses.  Smaller ones
       would waste more than they save: a large page is there as a whole once a byte of it is touched.  Arenas take them, too:
       Linux lets pieces start with a large page that are a multiple of one. */
    #define FASTTREE_LARGE (32 << 20)
    #define FASTTREE_PAGE (2 << 20)
    /* Large pieces are mapped one by one: they go back to the system when they are freed.  From malloc's heap they would stay
       with the process while other large pieces are made beside them. */
    #if (defined(__unix__) || defined(__APPLE__)) && !defined(__SANITIZE_ADDRESS__) && !defined(FASTTREE_PLAIN_C)
    #if defined(__linux__) && !defined(_GNU_SOURCE)
    #define _GNU_SOURCE
    #endif
    #include <stdlib.h>
    #include <sys/mman.h>
    /* A few pieces below a large page wait for the next that asks, because fresh pages must be cleared first: a tree of a small
       table would spend a tenth of its time on that.  They are of three sizes, and at most 8 MB in a module, or in several that
       share them.  What waits says nothing and does not change a result; threads exchange it by atomic steps. */
    #define FASTTREE_WAITING 8           /* of each size */
    #define FASTTREE_MOST_WAITING (8 << 20)
    typedef struct {
        void *piece[3][FASTTREE_WAITING];
        size_t bytes;
    } fasttree_pieces;
    static fasttree_pieces fasttree_own_pieces;
    static fasttree_pieces *fasttree_waiting = &fasttree_own_pieces;
    #define fasttree_share_pieces(pieces) (fasttree_waiting = (fasttree_pieces *) (pieces))
    #define fasttree_all_pieces() ((void *) fasttree_waiting)
    static int fasttree_size_class(size_t size) {
        return (size > FASTTREE_PAGE / 4) + (size > FASTTREE_PAGE / 2);
    }
    static size_t fasttree_bytes_of(int which) {
        return (size_t) FASTTREE_PAGE >> (2 - which);
    }
    static void *fasttree_waiting_piece(int which) {
        int i;
        for (i = 0; i < FASTTREE_WAITING; i++) {
            void *place = __atomic_exchange_n(&fasttree_waiting->piece[which][i], NULL, __ATOMIC_ACQ_REL);
            if (place) {
                __atomic_sub_fetch(&fasttree_waiting->bytes, fasttree_bytes_of(which), __ATOMIC_RELAXED);
                return place;
            }
        }
        return NULL;
    }
    static void *fasttree_take(size_t size) {
        int which = fasttree_size_class(size);
        void *place = fasttree_waiting_piece(which);
        if (place) return place;
        place = mmap(NULL, fasttree_bytes_of(which), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        return place == MAP_FAILED ? NULL : place;
    }
    /* A piece takes the place of those of other sizes, which a table before may have needed. */
    static void fasttree_put(void *place, size_t size) {
        int which = fasttree_size_class(size), other, i;
        size_t bytes = fasttree_bytes_of(which);
        size_t all = __atomic_add_fetch(&fasttree_waiting->bytes, bytes, __ATOMIC_RELAXED);
        for (other = 0; other < 3; other++) {
            void *old;
            while (other != which && all > FASTTREE_MOST_WAITING && (old = fasttree_waiting_piece(other))) {
                munmap(old, fasttree_bytes_of(other));
                all = __atomic_load_n(&fasttree_waiting->bytes, __ATOMIC_RELAXED);
            }
        }
        for (i = 0; i < FASTTREE_WAITING && all <= FASTTREE_MOST_WAITING; i++) {
            void *none = NULL;
            if (__atomic_compare_exchange_n(
                    &fasttree_waiting->piece[which][i], &none, place, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
                return;
        }
        __atomic_sub_fetch(&fasttree_waiting->bytes, bytes, __ATOMIC_RELAXED);
        munmap(place, bytes);
    }
    static void *fasttree_map(size_t size, size_t limit) {
        void *place;
        if (size <= limit) return malloc(size);
        if (size < FASTTREE_PAGE) return fasttree_take(size);
        place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
        if (place == MAP_FAILED) return NULL;
    #ifdef MADV_HUGEPAGE
        if (size >= FASTTREE_LARGE || size % FASTTREE_PAGE == 0) madvise(place, size, MADV_HUGEPAGE);   /* only a wish */
    #endif
        return place;
    }
    static void fasttree_unmap(void *place, size_t size, size_t limit) {
        if (size <= limit) free(place);
        else if (place && size < FASTTREE_PAGE) fasttree_put(place, size);
        else if (place) munmap(place, size);
    }
    static void fasttree_unmap_list(void *place, size_t size, size_t limit) {
        if (size <= limit) free(place);
        else if (place) munmap(place, size);
    }
    #include <unistd.h>
    /* Lists are filled as a whole, so that they lie in large pages, side by side; each goes back by itself. */
    static void *fasttree_next_list(char **next, size_t *left, size_t size, size_t limit) {
        size_t page = (size_t) sysconf(_SC_PAGESIZE), all;
        if (size <= limit) return malloc(size);
        size = (size + page - 1) / page * page;
        if (*left < size) {
            if (*left) munmap(*next, *left);
            all = (size / FASTTREE_LARGE + 1) * FASTTREE_LARGE;     /* a multiple of large pages, so that it starts with one */
            *left = 0;
            *next = (char *) mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
            if ((void *) *next == MAP_FAILED) return NULL;
    #ifdef MADV_HUGEPAGE
            madvise(*next, all, MADV_HUGEPAGE);
    #endif
            *left = all;
        }
        *next += size;
        *left -= size;
        return *next - size;
    }
    static void fasttree_close_room(char *next, size_t left) {
        if (left) munmap(next, left);
    }
    static void *fasttree_shrink(void *place, size_t old, size_t size) {
        size_t page = (size_t) sysconf(_SC_PAGESIZE);
        size_t kept = (size + page - 1) / page * page;
        if (kept < old) munmap((char *) place + kept, old - kept);
        return place;
    }
    /* A mapped piece that becomes larger takes its pages along, where the system can do that. */
    static void *fasttree_remap(void *place, size_t old, size_t size, size_t limit) {
    #ifdef MREMAP_MAYMOVE
        if (old > limit && old < FASTTREE_PAGE)
            return size < FASTTREE_PAGE && fasttree_size_class(old) == fasttree_size_class(size) ? place : NULL;
        if (old >= FASTTREE_PAGE) {
            void *larger = mremap(place, old, size, MREMAP_MAYMOVE);
            return larger == MAP_FAILED ? NULL : larger;
        }
    #endif
        (void) place; (void) old; (void) size; (void) limit;
        return NULL;
    }
    #else
    #include <stdlib.h>
    #define fasttree_share_pieces(pieces) ((void) (pieces))
    #define fasttree_all_pieces() NULL
    #define fasttree_remap(place, old, size, limit) NULL
    static void *fasttree_shrink(void *place, size_t old, size_t size) {
        void *smaller = realloc(place, size);
        (void) old;
        return smaller ? smaller : place;
    }
    #define fasttree_map(size, limit) malloc(size)
    #define fasttree_next_list(next, left, size, limit) malloc(size)
    #define fasttree_close_room(next, left) ((void) 0)
    #define fasttree_unmap(place, size, limit) free(place)
    #define fasttree_unmap_list(place, size, limit) free(place)
    #endif

    /* Under AddressSanitizer, a gap that must not be touched follows every part of a buffer. */
    #if defined(__SANITIZE_ADDRESS__)
    #include <sanitizer/asan_interface.h>
    #define FASTTREE_GAP 64
    #define fasttree_forbid(place, size) ASAN_POISON_MEMORY_REGION((place), (size))
    #define fasttree_allow(place, size) ASAN_UNPOISON_MEMORY_REGION((place), (size))
    #else
    #define FASTTREE_GAP 0
    #define fasttree_forbid(place, size) ((void) 0)
    #define fasttree_allow(place, size) ((void) 0)
    #endif
    """
    void* map_memory "fasttree_map"(size_t size, size_t limit) noexcept nogil
    void* shrink_memory "fasttree_shrink"(void* place, size_t old, size_t size) noexcept nogil
    void* remap_memory "fasttree_remap"(void* place, size_t old, size_t size, size_t limit) noexcept nogil
    void* next_list "fasttree_next_list"(char** next, size_t* left, size_t size, size_t limit) noexcept nogil
    void close_lists "fasttree_close_room"(char* next, size_t left) noexcept nogil
    void unmap_memory "fasttree_unmap"(void* place, size_t size, size_t limit) noexcept nogil
    void unmap_list "fasttree_unmap_list"(void* place, size_t size, size_t limit) noexcept nogil
    void share_pieces "fasttree_share_pieces"(void* pieces) noexcept nogil     # of a module that is imported before
    void* all_pieces "fasttree_all_pieces"() noexcept nogil
    const size_t LARGE_PAGE "FASTTREE_PAGE"
    const size_t GAP "FASTTREE_GAP"
    void forbid "fasttree_forbid"(void* place, size_t size) noexcept nogil
    void allow "fasttree_allow"(void* place, size_t size) noexcept nogil


cdef enum:                     # bytes above which memory is mapped
    LIST_LIMIT = 131072
    ARENA_LIMIT = 300000       # smaller ones come from malloc's heap, which has them ready


cdef inline size_t pad(size_t size) noexcept nogil:
    return (size + 15) & ~(<size_t> 15)


cdef inline int enlarge(void** data, size_t old, size_t size) noexcept nogil:
    """Move `old` bytes to `size` bytes.  -1: no memory, and nothing has changed."""
    cdef void* larger = remap_memory(data[0], old, size, ARENA_LIMIT)
    if larger != NULL:
        data[0] = larger
        return 0
    larger = map_memory(size, ARENA_LIMIT)
    if larger == NULL:
        return -1
    if old:
        memcpy(larger, data[0], old)
    unmap_memory(data[0], old, ARENA_LIMIT)
    data[0] = larger
    return 0


cdef inline int reserve(Arena* arena, size_t size) noexcept nogil:
    """Make room for `size` bytes; what the arena holds may move."""
    cdef size_t capacity
    if size <= arena.size:
        return 0
    capacity = max(size, arena.size + arena.size // 2)
    if capacity > LARGE_PAGE:
        capacity = (capacity + LARGE_PAGE - 1) // LARGE_PAGE * LARGE_PAGE
    if enlarge(<void**> &arena.data, arena.size, capacity):
        return -1
    arena.size = capacity
    return 0


cdef inline void free_arena(Arena* arena) noexcept nogil:
    unmap_memory(arena.data, arena.size, ARENA_LIMIT)
    arena.data = NULL
    arena.size = 0


cdef inline int renew(Arena* arena, size_t size) noexcept nogil:
    """Make room for `size` bytes in an arena whose content is no longer needed."""
    if size <= arena.size:
        return 0
    free_arena(arena)
    return reserve(arena, size)


cdef inline int resize(void** data, size_t size) noexcept nogil:
    cdef void* larger = realloc(data[0], size)
    if larger == NULL:
        return -1
    data[0] = larger
    return 0


cdef struct Carver:            # hands out the parts of a buffer, or only measures them
    char* next
    bint measuring


cdef inline void* carve(Carver* carver, size_t size) noexcept nogil:
    """The next `size` bytes of a buffer."""
    cdef char* place = carver.next
    carver.next = place + pad(size) + GAP
    if not carver.measuring:
        forbid(place + pad(size), GAP)
    return place


cdef struct ListRoom:          # where the next lists go
    char* next
    size_t left


cdef inline void* new_list(ListRoom* room, size_t n, size_t entry_size) noexcept nogil:
    """Place for a list of n entries, and for the one that a partition writes past its end."""
    return next_list(&room.next, &room.left, (n + 1) * entry_size, LIST_LIMIT)


cdef inline void close_room(ListRoom* room) noexcept nogil:
    """Give back what no list has taken."""
    close_lists(room.next, room.left)
    room.left = 0


cdef inline void free_list(size_t place, size_t n, size_t entry_size) noexcept nogil:
    unmap_list(<void*> place, (n + 1) * entry_size, LIST_LIMIT)


cdef inline bint can_shrink(size_t n, size_t entry_size) noexcept nogil:
    """May a larger list become one of n entries in its place?"""
    return (n + 1) * entry_size > LIST_LIMIT


cdef inline size_t shrink_list(size_t place, size_t old_n, size_t n, size_t entry_size) noexcept nogil:
    """Give back what lies behind the first n entries; `can_shrink(n)` must hold.  Returns where the list is."""
    return <size_t> shrink_memory(<void*> place, (old_n + 1) * entry_size, (n + 1) * entry_size)


cdef inline size_t node_header(size_t n_features, size_t n_samples) noexcept nogil:
    """Bytes that a node's features and rows take before its lists."""
    return pad(n_features * sizeof(Active)) + pad(n_samples * sizeof(uint32_t))
