"""Columns of few integers that lie close together: their codes need no search for values.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from fasttree._engine.types cimport real_t


cdef extern from *:
    """
    #include <stdint.h>

    #define FASTTREE_FARTHEST 8388608   /* integers up to it, and their differences, are exact in single precision */

    /* Write the low bytes of integers, and extend their range; returns whether all numbers are such integers. */
    static int fasttree_low_bytes_of_float(const float *x, int64_t n, uint8_t *bytes, int32_t *least, int32_t *most)
    {
        int32_t low = *least, high = *most, others = 0;
        int64_t j;
        #pragma omp simd reduction(min:low) reduction(max:high) reduction(|:others)
        for (j = 0; j < n; j++) {
            float near = x[j] > -FASTTREE_FARTHEST ? x[j] : -FASTTREE_FARTHEST;
            int32_t integer;
            near = near < FASTTREE_FARTHEST ? near : FASTTREE_FARTHEST;
            integer = (int32_t) near;
            others |= (float) integer != x[j];
            low = integer < low ? integer : low;
            high = integer > high ? integer : high;
            bytes[j] = (uint8_t) integer;
        }
        *least = low;
        *most = high;
        return !others;
    }

    static int fasttree_low_bytes_of_double(const double *x, int64_t n, uint8_t *bytes, int32_t *least, int32_t *most)
    {
        int32_t low = *least, high = *most, others = 0;
        int64_t j;
        #pragma omp simd reduction(min:low) reduction(max:high) reduction(|:others)
        for (j = 0; j < n; j++) {
            double near = x[j] > -FASTTREE_FARTHEST ? x[j] : -FASTTREE_FARTHEST;
            int32_t integer;
            near = near < FASTTREE_FARTHEST ? near : FASTTREE_FARTHEST;
            integer = (int32_t) near;
            others |= (double) integer != x[j];
            low = integer < low ? integer : low;
            high = integer > high ? integer : high;
            bytes[j] = (uint8_t) integer;
        }
        *least = low;
        *most = high;
        return !others;
    }

    static void fasttree_add_to_bytes(uint8_t *bytes, int64_t n, int32_t more)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++)
            bytes[i] = (uint8_t) (bytes[i] + more);
    }
    """
    const int32_t FARTHEST "FASTTREE_FARTHEST"
    bint low_bytes_of_floats "fasttree_low_bytes_of_float"(
        const float* x, int64_t n, uint8_t* bytes, int32_t* least, int32_t* most) noexcept nogil
    bint low_bytes_of_doubles "fasttree_low_bytes_of_double"(
        const double* x, int64_t n, uint8_t* bytes, int32_t* least, int32_t* most) noexcept nogil
    void add_to_bytes "fasttree_add_to_bytes"(uint8_t* bytes, int64_t n, int32_t more) noexcept nogil


cdef enum:
    WIDEST = 254                   # distance of the largest integer from the least one, so that a byte holds all codes
    FIRST_ROWS = 64                # after which a column is seen not to be one of few integers, or
    ROWS_BETWEEN = 2048            # after each of which


cdef inline int32_t codes_of_bytes(
    uint8_t* bytes, int64_t n, int32_t step, int32_t base, int32_t low, int32_t high, int32_t* integers,
) noexcept nogil:
    """Turn low bytes of integers from `low` to `high`, less `base`, into codes 1, 2, ... of those that occur; their number.

    The bytes are `step` apart.  Where base = low - 1 and all integers between occur, they are the codes already.
    """
    cdef uint8_t[256] code
    cdef int32_t n_absent = high - low + 1
    cdef int32_t n_codes = 0
    cdef int32_t integer
    cdef int64_t i
    memset(code, 0, sizeof(code))
    for i in range(n):
        if not code[bytes[i * step]]:
            code[bytes[i * step]] = 1
            n_absent -= 1
            if n_absent == 0:
                break
    for integer in range(low, high + 1):
        if code[<uint8_t> (integer - base)]:
            integers[n_codes] = integer
            n_codes += 1
            code[<uint8_t> (integer - base)] = <uint8_t> n_codes
    if n_absent == 0 and base == low - 1:
        return n_codes
    if n_absent == 0 and step == 1:
        add_to_bytes(bytes, n, base + 1 - low)
    else:
        for i in range(n):
            bytes[i * step] = code[bytes[i * step]]
    return n_codes


cdef inline int32_t codes_of_integers(const real_t* column, int64_t n, uint8_t* codes, int32_t* integers) noexcept nogil:
    """Codes of a column in one piece, as `codes_of_bytes`; -1 if it is none of few integers close together."""
    cdef int32_t least = FARTHEST
    cdef int32_t most = -FARTHEST
    cdef int64_t start = 0
    cdef int64_t here = min(n, <int64_t> FIRST_ROWS)
    cdef bint fine
    while start < n:
        if real_t is float:
            fine = low_bytes_of_floats(column + start, here, codes + start, &least, &most)
        else:
            fine = low_bytes_of_doubles(column + start, here, codes + start, &least, &most)
        if not fine or most - least > WIDEST:
            return -1
        start += here
        here = min(n - start, <int64_t> ROWS_BETWEEN)
    return codes_of_bytes(codes, n, 1, 0, least, most, integers)


cdef inline int64_t span_of(const int64_t[:] values, int64_t widest, int64_t* low) noexcept nogil:
    """How many integers there are from the least value, `low`, to the largest; 0 if their distance exceeds `widest`."""
    cdef int64_t high = values[0]
    cdef Py_ssize_t i
    low[0] = high
    for i in range(values.shape[0]):
        low[0], high = min(low[0], values[i]), max(high, values[i])
    return 0 if <uint64_t> high - <uint64_t> low[0] > <uint64_t> widest else high - low[0] + 1


cdef inline int64_t mark_integers(const int64_t[:] values, int64_t low, Py_ssize_t* rank) noexcept nogil:
    """Make 0 at each integer that occurs 1; returns how many do."""
    cdef int64_t n_distinct = 0
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        n_distinct += 1 - rank[values[i] - low]
        rank[values[i] - low] = 1
    return n_distinct


cdef inline void rank_integers(
    const int64_t[:] values, int64_t low, int64_t size, Py_ssize_t* rank, int64_t* distinct, Py_ssize_t* places,
) noexcept nogil:
    """List the integers that are marked, in ascending order, and the place of each value among them."""
    cdef Py_ssize_t n_distinct = 0
    cdef Py_ssize_t i
    for i in range(size):
        if rank[i]:
            distinct[n_distinct] = low + i
            rank[i] = n_distinct
            n_distinct += 1
    for i in range(values.shape[0]):
        places[i] = rank[values[i] - low]
