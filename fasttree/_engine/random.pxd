"""Random numbers that depend on a key alone.  Header only.

A node's key follows from the seed and the node's path, so the features that are drawn do not depend on the order of growth.
"""

from libc.stdint cimport int32_t, uint32_t, uint64_t


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """A counter-based generator's output function (Steele, Lea, Flood 2014: SplitMix64)."""
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint32_t below(uint64_t* state, uint32_t n) noexcept nogil:
    """The next of the numbers 0, ..., n - 1 of a stream."""
    state[0] += 1
    return <uint32_t> (((mix(state[0]) >> 32) * n) >> 32)


cdef inline int32_t draw_next(int32_t* features, int32_t turn, int32_t n_features, uint64_t* state) noexcept nogil:
    """Put another feature at the place `turn`, drawn among those from there on (Fisher and Yates); returns where it was."""
    cdef int32_t place = turn + <int32_t> below(state, <uint32_t> (n_features - turn))
    cdef int32_t feature = features[place]
    features[place] = features[turn]
    features[turn] = feature
    return place
