"""Codes of columns of few values.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.columns.integers cimport codes_of_integers
from fasttree._engine.columns.keys cimport sortable
from fasttree._engine.types cimport FEW, real_t


cdef inline int32_t encode_few(const real_t[:] column, uint8_t* codes, uint64_t* distinct) noexcept nogil:
    """Codes 1, 2, ... of a column with at most FEW distinct values, in ascending order; their number, or -1 if there are more."""
    cdef int32_t[256] integers
    cdef int32_t found = -1
    cdef int32_t j
    if column.shape[0] and column.strides[0] == sizeof(real_t):
        found = codes_of_integers(&column[0], column.shape[0], codes, integers)
    for j in range(found):
        distinct[j] = sortable(integers[j])
    return search_few(column, codes, distinct) if found < 0 else found


cdef inline int32_t search_few(const real_t[:] column, uint8_t* codes, uint64_t* distinct) noexcept nogil:
    """`encode_few` of any values."""
    cdef uint64_t[1024] keys
    cdef uint8_t[1024] code_of_slot    # in the order in which values are found
    cdef uint64_t[256] as_found
    cdef uint8_t[256] ordered
    cdef int64_t i
    cdef int64_t n = column.shape[0]
    cdef uint64_t key
    cdef uint64_t previous = 0
    cdef uint32_t slot
    cdef uint8_t code = 0
    cdef int32_t found = 0
    cdef bint in_order = True
    cdef int32_t j, other, rank
    memset(keys, 0, sizeof(keys))
    for i in range(n):
        key = sortable(column[i])
        if key != previous:                 # often it is the same, where one value prevails
            previous = key
            slot = <uint32_t> ((key * <uint64_t> 0x9E3779B97F4A7C15) >> 54)
            while key and keys[slot] != key:
                if keys[slot] == 0:
                    if found == FEW:
                        return -1
                    as_found[found] = keys[slot] = key
                    found += 1
                    code_of_slot[slot] = <uint8_t> found
                    break
                slot = slot + 1 & 1023
            code = code_of_slot[slot] if key else 0
        codes[i] = code
    ordered[0] = 0
    for j in range(found):
        rank = 0
        for other in range(found):         # without jumps: a sort would guess wrong at each value
            rank += as_found[other] < as_found[j]
        distinct[rank] = as_found[j]
        ordered[j + 1] = <uint8_t> (rank + 1)
        in_order = in_order and rank == j
    for i in range(0 if in_order else n):
        codes[i] = ordered[codes[i]]
    return found
