"""Random numbers that depend on a key alone, and the selection of the smallest ones.  Header only.

A node's key follows from the seed and the node's path, so the features that are drawn do not depend on the order of growth.
"""

from libc.stdint cimport int32_t, uint64_t


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """A counter-based generator's output function (Steele, Lea, Flood 2014: SplitMix64)."""
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline uint64_t nth_smallest(uint64_t* keys, int32_t n, int32_t wanted) noexcept nogil:
    """The number that would be at `wanted` if the keys were sorted (Hoare 1961); reorders them."""
    cdef int32_t low = 0
    cdef int32_t high = n - 1
    cdef int32_t i, j
    cdef uint64_t pivot, swap
    while low < high:
        pivot = keys[wanted]
        i = low
        j = high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                swap = keys[i]
                keys[i] = keys[j]
                keys[j] = swap
                i += 1
                j -= 1
        if j < wanted:
            low = i
        if wanted < i:
            high = j
    return keys[wanted]
