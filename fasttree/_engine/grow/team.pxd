"""Threads that grow one tree: what they share, how they rest, and a histogram that all count together.  Header only.

Locks are those of Python, which threads may hold without the interpreter.  A growth of one thread has none: NULL.

The frontier says which nodes best-first growth can still reach, in whatever order they are grown.
Best-first growth always splits the leaf of the largest worth, weight x gain.  A node's reach is the smallest worth on its path,
its own included.  A split is made before those of smaller reach: when only they are left, none of the leaves that could lead to
it is worth less than them.  So k splits are the k of the largest reach, and once k are known, nothing below the least of these
has to be grown.  This holds for splits into two, each of which adds one leaf.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fasttree._engine.scan.tiles cimport Count, count_tile, count_tiles, n_tiles_of
from fasttree._engine.types cimport Block, Problem
from fasttree._engine.watch cimport Watch, ask, set_mark

cdef extern from "Python.h":
    ctypedef void* Lock "PyThread_type_lock"
    Lock new_lock "PyThread_allocate_lock"() noexcept
    void free_lock "PyThread_free_lock"(Lock lock) noexcept
    int wait_for "PyThread_acquire_lock"(Lock lock, int waits) noexcept nogil
    int wait_some "PyThread_acquire_lock_timed"(Lock lock, long long microseconds, int interruptible) noexcept nogil
    void let_go "PyThread_release_lock"(Lock lock) noexcept nogil

cdef extern from *:
    """
    /* A gain is at most the node's risk, and the gain that a search finds is that of the split, both but for rounding. */
    #define FASTTREE_ROUNDING 1e-9
    """
    const double ROUNDING "FASTTREE_ROUNDING"

cdef extern from *:
    """
    /* Builds with checks wait now and then between two holds of a lock, so that tests see what others do in between. */
    #ifdef FASTTREE_PAUSES
    #include <unistd.h>
    static unsigned fasttree_releases;
    #define fasttree_pause() \
        ((void) (__atomic_fetch_add(&fasttree_releases, 1, __ATOMIC_RELAXED) * 2654435761u >> 31 ? usleep(100) : 0))
    #else
    #define fasttree_pause() ((void) 0)
    #endif
    """
    void pause "fasttree_pause"() noexcept nogil


cdef enum:
    LEAST_SHARED = 16384           # samples of a node whose histogram is counted by several threads
    MICROSECONDS = 50000           # between checks for signals of a thread that rests


cdef struct Team:
    Lock lock                      # of all that follows, and of room for nodes; NULL: there is one thread
    Lock histograms                # of histograms that are not used
    int32_t n                      # threads
    int32_t n_resting
    int32_t n_busy                 # threads with a node in hand
    int failed                     # mark: every thread looks now and then
    bint over
    Lock* bell                     # of each thread: held until another one wakes it
    bint* rests
    int64_t held                   # samples of nodes that wait, or are in hand, but for those of the first thread
    const Count* count             # that all make, or NULL
    int32_t next_tile
    int32_t n_tiles
    int32_t n_counted
    const void* features           # a `SharedFeatures` whose features all share, or NULL
    int32_t next_feature
    int32_t n_features
    int32_t n_helping


cdef inline void hold(Lock lock) noexcept nogil:
    if lock != NULL:
        wait_for(lock, 1)


cdef inline void release(Lock lock) noexcept nogil:
    if lock != NULL:
        let_go(lock)
        pause()


cdef struct Frontier:
    double* reach                  # of the splits with the largest so far: a heap, the least first
    int64_t n
    int64_t most                   # splits that are made; 0: all, and nothing is kept
    Lock lock                      # of threads that share it; NULL: there is one


cdef inline double least_reach(const Frontier* frontier) noexcept nogil:
    """What a split must reach to be made: minus infinity while there are too few."""
    cdef double least = -INFINITY
    if frontier.most == 0:
        return least
    hold(frontier.lock)
    if frontier.n == frontier.most:
        least = frontier.reach[0]
    release(frontier.lock)
    return least


cdef inline bint is_beyond(const Frontier* frontier, double reach_above, double risk) noexcept nogil:
    """Is a node never split, because of those above it or because it cannot gain enough?"""
    return min(reach_above, risk) * (1 + ROUNDING) < least_reach(frontier)


cdef inline void note_reach(Frontier* frontier, double reach) noexcept nogil:
    """Count a split as soon as its gain is known, whether it is made or not."""
    cdef double* heap = frontier.reach
    cdef int64_t i, child
    if frontier.most == 0:
        return
    hold(frontier.lock)
    if frontier.n < frontier.most:
        i = frontier.n
        frontier.n += 1
        while i and heap[(i - 1) // 2] > reach:
            heap[i] = heap[(i - 1) // 2]
            i = (i - 1) // 2
        heap[i] = reach
    elif reach > heap[0]:
        i = 0
        while 2 * i + 1 < frontier.n:
            child = 2 * i + 1
            if child + 1 < frontier.n and heap[child + 1] < heap[child]:
                child += 1
            if heap[child] >= reach:
                break
            heap[i] = heap[child]
            i = child
        heap[i] = reach
    release(frontier.lock)


cdef inline int open_team(Team* team, int32_t n) except -1:
    """Make the locks of n threads, of which one is busy."""
    cdef int32_t i
    team.n = n
    team.n_busy = 1
    team.lock = new_lock()
    team.histograms = new_lock()
    team.bell = <Lock*> calloc(n, sizeof(Lock))
    team.rests = <bint*> calloc(n, sizeof(bint))
    if team.lock == NULL or team.histograms == NULL or team.bell == NULL or team.rests == NULL:
        raise MemoryError
    for i in range(n):
        team.bell[i] = new_lock()
        if team.bell[i] == NULL:
            raise MemoryError
        wait_for(team.bell[i], 1)
    return 0


cdef inline void close_team(Team* team) noexcept:
    cdef int32_t i
    for i in range(team.n if team.bell != NULL else 0):
        if team.bell[i] != NULL:
            let_go(team.bell[i])
            free_lock(team.bell[i])
    if team.lock != NULL:
        free_lock(team.lock)
    if team.histograms != NULL:
        free_lock(team.histograms)
    free(team.bell)
    free(team.rests)
    memset(team, 0, sizeof(Team))


cdef inline void wake(Team* team) noexcept nogil:
    """Wake all threads that rest.  The caller holds the lock."""
    cdef int32_t i
    if team.n_resting == 0:
        return
    for i in range(team.n):
        if team.rests[i]:
            team.rests[i] = False
            let_go(team.bell[i])
    team.n_resting = 0


cdef inline void give_up(Team* team) noexcept nogil:
    """End the work of all threads.  The caller holds the lock."""
    set_mark(&team.failed)
    wake(team)


cdef inline void rest(Team* team, int32_t which, Watch* watch) noexcept nogil:
    """Wait until another thread wakes this one, or a signal ends the work.  The caller holds the lock, and has it again."""
    cdef bint ends = False
    cdef bint woken = False
    team.rests[which] = True
    team.n_resting += 1
    release(team.lock)
    if watch.handles_signals or watch.report != NULL:
        while not ends and not woken:
            woken = wait_some(team.bell[which], MICROSECONDS, 0) != 0
            ends = not woken and ask(watch)
    else:
        woken = wait_for(team.bell[which], 1) != 0
    hold(team.lock)
    if not woken and team.rests[which]:
        team.rests[which] = False
        team.n_resting -= 1
    elif not woken:
        wait_for(team.bell[which], 1)          # another thread has just let it go
    if ends:
        give_up(team)


cdef inline void count_some_tiles(const Problem* p, const Block* block, Team* team, Watch* watch) noexcept nogil:
    """Count tiles of the histogram in hand until none is left.  The caller holds the lock, and has it again."""
    cdef int32_t tile
    while team.count != NULL and team.next_tile < team.n_tiles:
        tile = team.next_tile
        team.next_tile += 1
        release(team.lock)
        count_tile(p, block, team.count, tile, watch)
        hold(team.lock)
        if watch.over:                 # this tile, or a part of it, may lack samples: nothing may be searched by it
            give_up(team)
        team.n_counted += 1
        if team.n_counted == team.n_tiles:
            wake(team)


cdef inline void count_together(
    const Problem* p, const Block* block, Team* team, int32_t which, const Count* count, Watch* watch,
) noexcept nogil:
    """As `count_tiles`, with the help of threads that have nothing else in hand."""
    cdef bint alone = team == NULL or team.lock == NULL or count.n < LEAST_SHARED
    if not alone:
        hold(team.lock)
        alone = team.n_busy == team.n or team.count != NULL
        if alone:
            release(team.lock)
    if alone:
        count_tiles(p, block, count, watch)
        return
    memset(count.histogram, 0, p.histogram_size)
    team.count = count
    team.next_tile = 0
    team.n_counted = 0
    team.n_tiles = n_tiles_of(p)
    wake(team)
    count_some_tiles(p, block, team, watch)
    while team.n_counted < team.n_tiles:
        rest(team, which, watch)
    team.count = NULL
    if team.failed:
        ask(watch)                     # before the histogram is used
    release(team.lock)


cdef inline bint shares_features(const Team* team) noexcept nogil:
    return team.features != NULL and team.next_feature < team.n_features


cdef inline void offer_features(Team* team, const void* features, int32_t n, bint* shared) noexcept nogil:
    """Let threads that have nothing else to do share the features of a node, unless they have others.

    `shared` is true before another thread sees them.
    """
    if team == NULL or team.lock == NULL:
        return
    hold(team.lock)
    if team.features == NULL:
        shared[0] = True
        team.features = features
        team.next_feature = 0
        team.n_features = n
        wake(team)
    release(team.lock)


cdef inline void end_sharing(Team* team, int32_t which, Watch* watch) noexcept nogil:
    """Wait until no thread helps any more.  If one was interrupted, features may lack their cuts: growth is over here, too."""
    hold(team.lock)
    team.features = NULL
    while team.n_helping:
        rest(team, which, watch)
    if team.failed:
        ask(watch)
    release(team.lock)


cdef inline int32_t next_shared(Team* team, const void* features, int32_t which) noexcept nogil:
    """The next of these features that threads share, -1 if there is none.

    When the last one is taken, and before all are done, another node may offer its own.  Every other thread begins with the last
    feature: so it finds most lists that it reads in its own cache.
    """
    cdef int32_t i = -1
    hold(team.lock)
    if team.features == features and shares_features(team):
        if which % 2:
            team.n_features -= 1
            i = team.n_features
        else:
            i = team.next_feature
            team.next_feature += 1
    release(team.lock)
    return i
