"""Threads that grow one tree: what they share, how they rest, and a histogram that all count together.  Header only."""

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from fasttree._engine.grow.locks cimport Lock, free_lock, hold, let_go, new_lock, release, wait_for, wait_some
from fasttree._engine.scan.tiles cimport Count, count_tile, count_tiles, n_tiles_of
from fasttree._engine.types cimport Block, Problem
from fasttree._engine.watch cimport Watch, ask

cdef enum:
    LEAST_SHARED = 16384           # samples of a node whose histogram is counted by several threads
    MICROSECONDS = 50000           # between checks for signals of a thread that rests


cdef struct Team:
    Lock lock                      # of all that follows, and of room for nodes; NULL: there is one thread
    Lock histograms                # of histograms that are not used
    int32_t n                      # threads
    int32_t n_resting
    int32_t n_busy                 # threads with a node in hand
    int failed                     # every thread looks now and then
    bint over
    Lock* bell                     # of each thread: held until another one wakes it
    bint* rests
    int64_t held                   # samples of nodes that wait, or are in hand, but for those of the first thread
    const Count* count             # that all make, or NULL
    int32_t next_tile
    int32_t n_tiles
    int32_t n_counted


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
    team.failed = True
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
        team.n_counted += 1
        if team.n_counted == team.n_tiles:
            wake(team)


cdef inline void count_together(
    const Problem* p, const Block* block, Team* team, int32_t which, const Count* count, Watch* watch,
) noexcept nogil:
    """As `count_tiles`, with the help of threads that rest."""
    cdef bint alone = team == NULL or team.lock == NULL or count.n < LEAST_SHARED
    if not alone:
        hold(team.lock)
        alone = team.n_resting == 0 or team.count != NULL
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
    release(team.lock)
