"""Where the time of growth goes, in builds with FASTTREE_PROFILE; in others every call here is nothing.  Header only.

Growth is in one phase at a time.  A clock runs for each, and a counter of what it reads.  For one thread.
"""

from libc.stdint cimport int64_t


cdef enum Phase:
    OTHER
    COPY                       # of small nodes into private blocks
    COUNT                      # histograms; cells that are added up
    BOUND                      # gains at the ends of bins, and bounds inside; bins
    REFINE                     # samples of bins that may hold the best cut are sorted and swept; rows looked at
    PARTITION                  # rows of nodes that are searched by histograms; rows
    SMALL_NODES                # lists: search and partition
    WRITE_OUT
    N_PHASES


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
    #define fasttree_seconds(phase) (fasttree_spent[phase])
    #define fasttree_amount_of(phase) (fasttree_amount[phase])
    #define fasttree_clear(phase) ((void) (fasttree_spent[phase] = 0, fasttree_amount[phase] = 0))
    #else
    #define FASTTREE_PROFILES 0
    #define fasttree_enter(phase) (0)
    #define fasttree_note(phase, n) ((void) 0)
    #define fasttree_seconds(phase) (0.0)
    #define fasttree_amount_of(phase) (0)
    #define fasttree_clear(phase) ((void) 0)
    #endif
    """
    const bint PROFILES "FASTTREE_PROFILES"
    int enter "fasttree_enter"(int phase) noexcept nogil           # the phase before, which the caller enters again
    void note "fasttree_note"(int phase, int64_t n) noexcept nogil
    double seconds_of "fasttree_seconds"(int phase) noexcept nogil
    int64_t amount_of "fasttree_amount_of"(int phase) noexcept nogil
    void clear "fasttree_clear"(int phase) noexcept nogil
