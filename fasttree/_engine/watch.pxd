"""Interruption of long work by signals, and clocks of its phases in profiling builds.  Header only.

Python runs signal handlers where the interpreter checks for signals, which compiled loops do not do.  So the thread that handles
signals checks for them now and then, and an exception of a handler ends the work.  Threads that work together share a mark
instead.  The thread that checks may also report the progress of the work.
"""

from libc.stdint cimport INT64_MAX, int64_t
from libc.time cimport CLOCKS_PER_SEC, clock, clock_t

cdef extern from "Python.h":
    # without `except`: what a handler raises stays where it is until `raise_pending`
    int PyErr_CheckSignals() noexcept
    void* PyErr_Occurred() noexcept
    void PyErr_SetObject(object kind, object error) noexcept


cdef extern from *:
    """
    /* A mark that one thread sets and others read without a lock, now and then.  Nothing else is read because of it. */
    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
    #define fasttree_is_marked(mark) __atomic_load_n(mark, __ATOMIC_RELAXED)
    #define fasttree_set_mark(mark) __atomic_store_n(mark, 1, __ATOMIC_RELAXED)
    #else
    #define fasttree_is_marked(mark) (*(const volatile int*) (mark))
    #define fasttree_set_mark(mark) ((void) (*(volatile int*) (mark) = 1))
    #endif
    """
    bint is_marked "fasttree_is_marked"(const int* mark) noexcept nogil
    void set_mark "fasttree_set_mark"(int* mark) noexcept nogil


cdef enum:
    CELLS_AT_ONCE = 1048576        # that are looked at before the clock is, in some milliseconds
    ASKS_PER_SECOND = 20           # checking for signals may have to wait for the interpreter


cdef struct Watch:                 # of a thread
    int64_t cells                  # looked at since the clock was
    clock_t asked                  # when the thread last checked for signals
    bint handles_signals           # it is the thread that does
    bint over                      # the work is to end
    const int* failed              # mark: another thread has failed; NULL: there is none
    void* report                   # a Python function that is called after each check with the share done, or NULL
    double (*share)(const void* work) noexcept nogil
    const void* work


cdef inline void start_watch(Watch* watch, bint handles_signals, const int* failed) noexcept nogil:
    watch.cells = 0
    watch.asked = 0                # not now: the clock of the process is a system call, and much work ends without it
    watch.handles_signals = handles_signals
    watch.over = False
    watch.failed = failed
    watch.report = NULL
    watch.share = NULL
    watch.work = NULL


cdef inline void report_to(
    Watch* watch, void* report, double (*share)(const void* work) noexcept nogil, const void* work,
) noexcept nogil:
    """Let a started watch report the share done of the work to a Python function, which must outlive the work."""
    watch.report = report
    watch.share = share
    watch.work = work


cdef inline void report_as(Watch* watch, const Watch* other) noexcept nogil:
    """Let a started watch report the same as another one."""
    report_to(watch, other.report, other.share, other.work)


cdef inline int send_report(const Watch* watch) noexcept with gil:
    """Report the share done.  -1 if that raises an exception, which is pending then."""
    cdef object error
    try:
        (<object> watch.report)(watch.share(watch.work))
        return 0
    except BaseException as raised:
        error = raised
    PyErr_SetObject(type(error), error)
    return -1


cdef inline bint ask(Watch* watch) noexcept nogil:
    """Is the work to end?  If a signal handler raised, the exception is pending: see `raise_pending`."""
    cdef clock_t now
    if watch.over:
        return True
    watch.cells = 0
    if watch.failed != NULL and is_marked(watch.failed):
        watch.over = True
    elif watch.handles_signals or watch.report != NULL:
        now = clock()              # of the process; -1 where there is none
        if now == <clock_t> -1 or now < watch.asked or now - watch.asked >= CLOCKS_PER_SEC // ASKS_PER_SECOND:
            watch.asked = now
            with gil:
                watch.over = PyErr_CheckSignals() != 0     # always 0 in another thread than that of signals
            if not watch.over and watch.report != NULL:
                watch.over = send_report(watch) != 0
    if watch.over:
        watch.cells = INT64_MAX // 2   # from here on, every call checks at once
    return watch.over


cdef inline bint interrupted(Watch* watch, int64_t cells) noexcept nogil:
    """Is the work to end?  Called before, or after, about so many cells are read.

    Results that are computed after that are not used, but all that is allocated must be freed.
    """
    watch.cells += cells
    return watch.cells >= CELLS_AT_ONCE and ask(watch)


cdef inline int raise_pending() except -1:
    """Raise what a signal handler raised while compiled work went on."""
    return -1 if PyErr_Occurred() != NULL else 0


cdef inline bint handles_signals():
    """Whether this thread is the one where handlers of signals run."""
    import threading
    return threading.get_ident() == threading.main_thread().ident


cdef enum Phase:               # of growth: one at a time, on one thread; without FASTTREE_PROFILE every call below is nothing
    OTHER
    COPY                       # of small nodes into private blocks
    COUNT                      # histograms; cells that are added up
    BOUND                      # gains at the ends of bins, and bounds inside; bins
    REFINE                     # samples of bins that may hold the best cut are sorted and swept; rows looked at
    PARTITION                  # rows of nodes that are searched by histograms; rows
    SMALL_NODES                # lists: search and partition
    WRITE_OUT


cdef extern from *:
    """
    #ifdef FASTTREE_PROFILE
    #include <stdint.h>
    #include <time.h>
    #define FASTTREE_PROFILES 1
    static double fasttree_spent[8], fasttree_since;
    static int64_t fasttree_amount[8];
    static int fasttree_phase;
    static int fasttree_enter(int phase)
    {
        struct timespec now;
        double seconds;
        int before = fasttree_phase;
        if (phase == before) return before;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        seconds = (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
        fasttree_spent[before] += seconds - fasttree_since;
        fasttree_since = seconds;
        fasttree_phase = phase;
        return before;
    }
    #define fasttree_note(phase, n) ((void) (fasttree_amount[phase] += (n)))
    static double fasttree_take_seconds(int phase)
    {
        double spent = fasttree_spent[phase];
        fasttree_spent[phase] = 0;
        return spent;
    }
    static int64_t fasttree_take_amount(int phase)
    {
        int64_t amount = fasttree_amount[phase];
        fasttree_amount[phase] = 0;
        return amount;
    }
    #else
    #define FASTTREE_PROFILES 0
    CYTHON_UNUSED static inline int fasttree_enter(int phase) { (void) phase; return 0; }
    CYTHON_UNUSED static inline void fasttree_note(int phase, int64_t n) { (void) phase; (void) n; }
    #define fasttree_take_seconds(phase) (0.0)
    #define fasttree_take_amount(phase) (0)
    #endif
    """
    const bint PROFILES "FASTTREE_PROFILES"
    int enter "fasttree_enter"(int phase) noexcept nogil           # the phase before, which the caller enters again
    void note "fasttree_note"(int phase, int64_t n) noexcept nogil
    double take_seconds "fasttree_take_seconds"(int phase) noexcept nogil
    int64_t take_amount "fasttree_take_amount"(int phase) noexcept nogil
