"""Columns of few integers that lie close together: their codes need no search for values.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from fasttree._engine.types cimport real_t


cdef extern from *:
    """
    #include <stdint.h>

    #define FASTTREE_FARTHEST 8388608   /* integers up to it, and their differences, are exact in single precision */
    #define FASTTREE_ABREAST 64         /* bytes in a row */
    #define FASTTREE_VECTOR 16

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

    /* The same for m columns side by side, at least FASTTREE_VECTOR, and FASTTREE_ABREAST bytes for each of n rows; `others` says
       which have other numbers.  The last columns of a row may be looked at twice, so that each turn is of as many. */
    static void fasttree_low_bytes_of_rows(
        const char *row, int64_t stride, int64_t n, int64_t m, uint8_t *bytes, float *low, float *high, int32_t *others)
    {
        int64_t i, j, k, first;
        for (i = 0; i < n; i++, row += stride, bytes += FASTTREE_ABREAST)
            for (k = 0; k < m; k += FASTTREE_VECTOR) {
                const float *x;
                first = k + FASTTREE_VECTOR <= m ? k : m - FASTTREE_VECTOR;
                x = (const float *) row + first;
                #pragma omp simd
                for (j = 0; j < FASTTREE_VECTOR; j++) {
                    float near = x[j] > -FASTTREE_FARTHEST ? x[j] : -FASTTREE_FARTHEST;
                    int32_t integer;
                    near = near < FASTTREE_FARTHEST ? near : FASTTREE_FARTHEST;
                    integer = (int32_t) near;
                    others[first + j] |= (float) integer != x[j];
                    low[first + j] = near < low[first + j] ? near : low[first + j];
                    high[first + j] = near > high[first + j] ? near : high[first + j];
                    bytes[first + j] = (uint8_t) integer;
                }
            }
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
    void low_bytes_of_rows "fasttree_low_bytes_of_rows"(
        const char* row, int64_t stride, int64_t n, int64_t m, uint8_t* bytes, float* low, float* high, int32_t* others
    ) noexcept nogil
    void add_to_bytes "fasttree_add_to_bytes"(uint8_t* bytes, int64_t n, int32_t more) noexcept nogil


cdef enum:
    ABREAST = 64                   # columns that are read together, as above
    WIDEST = 254                   # distance of the largest integer from the least one, so that a byte holds all codes
    ROWS_BETWEEN = 2048            # looks at whether a column may still be one of few integers


cdef inline int32_t codes_of_bytes(uint8_t* bytes, int64_t n, int32_t low, int32_t high, int32_t* integers) noexcept nogil:
    """Turn low bytes of integers from `low` to `high` into codes 1, 2, ... of those that occur, in place; their number."""
    cdef uint8_t[256] code
    cdef int32_t n_absent = high - low + 1
    cdef int32_t n_codes = 0
    cdef int32_t integer
    cdef int64_t i
    memset(code, 0, sizeof(code))
    for i in range(n):
        if not code[bytes[i]]:
            code[bytes[i]] = 1
            n_absent -= 1
            if n_absent == 0:
                break
    for integer in range(low, high + 1):
        if code[<uint8_t> integer]:
            integers[n_codes] = integer
            n_codes += 1
            code[<uint8_t> integer] = <uint8_t> n_codes
    if n_absent == 0:
        add_to_bytes(bytes, n, 1 - low)
    else:
        for i in range(n):
            bytes[i] = code[bytes[i]]
    return n_codes


cdef inline int32_t codes_of_integers(const real_t* column, int64_t n, uint8_t* codes, int32_t* integers) noexcept nogil:
    """Codes of a column in one piece, as `codes_of_bytes`; -1 if it is none of few integers close together."""
    cdef int32_t least = FARTHEST
    cdef int32_t most = -FARTHEST
    cdef int64_t start = 0
    cdef int64_t here = min(n, <int64_t> ABREAST)
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
    return codes_of_bytes(codes, n, least, most, integers)


cdef inline void codes_of_columns(
    const char* first, int64_t stride, int64_t n, int32_t m, uint8_t* codes, int32_t* n_codes,
) noexcept nogil:
    """The same of 16 to 64 columns of float32 side by side, n codes for each; where `n_codes` is 0 a column is passed over.

    The number of codes is 0 where a column is none of few integers close together.
    """
    cdef uint8_t[ABREAST * ABREAST] block
    cdef int32_t[256] integers
    cdef float[ABREAST] low
    cdef float[ABREAST] high
    cdef int32_t[ABREAST] others
    cdef int64_t start = 0
    cdef int64_t i, n_rows
    cdef int32_t j
    cdef int32_t n_left = 1
    for j in range(m):
        low[j], high[j], others[j] = FARTHEST, -FARTHEST, 0
    while start < n and n_left:
        n_rows = min(<int64_t> ABREAST, n - start)
        low_bytes_of_rows(first + start * stride, stride, n_rows, m, block, low, high, others)
        n_left = 0
        for j in range(m):
            if others[j] or high[j] - low[j] > WIDEST:
                n_codes[j] = 0
            if n_codes[j]:
                n_left += 1
                for i in range(n_rows):
                    codes[j * n + start + i] = block[i * ABREAST + j]
        start += n_rows
    for j in range(m):
        if n_codes[j]:
            n_codes[j] = codes_of_bytes(codes + j * n, n, <int32_t> low[j], <int32_t> high[j], integers)
