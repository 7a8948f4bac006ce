"""Stable partitions: rows stay in their order and lists stay sorted.  Header only."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from fasttree._engine.types cimport SPREAD, STAY, entry_t, row_of


cdef inline void partition_two(
    const entry_t* entries, int64_t n, const uint8_t* sides, bint in_bits, entry_t* left, entry_t* right,
) noexcept nogil:
    """Write both children at once, without a jump.  Writes one entry past the end of each side.

    `sides` has the child of each sample, or `in_bits` those of `mark_sides`.
    """
    cdef int64_t i
    cdef int64_t n_left = 0
    cdef int64_t n_right = 0
    cdef int64_t b
    cdef entry_t entry
    for i in range(n):
        entry = entries[i]
        b = sides[row_of(entry)]
        left[n_left] = entry
        right[n_right] = entry
        n_left += b & 1 if in_bits else b ^ 1
        n_right += b >> 1 if in_bits else b


cdef inline void divide_rows(
    const uint32_t* rows, int64_t n, const uint8_t* sides, bint in_bits, uint32_t* left, uint32_t* right,
) noexcept nogil:
    """The rows of two children, as `partition_two` has `sides`.  Writes one past the end of each side."""
    cdef int64_t i
    cdef int64_t n_left = 0
    cdef int64_t n_right = 0
    cdef int64_t b
    for i in range(n):
        b = sides[rows[i]]
        left[n_left] = rows[i]
        right[n_right] = rows[i]
        n_left += b & 1 if in_bits else b ^ 1
        n_right += b >> 1 if in_bits else b


cdef inline void mark_sides(const uint32_t* rows, int64_t n, const uint32_t* branch, uint8_t* sides) noexcept nogil:
    """Two children: bit b says whether a sample is in child b.  It may also be in both (SPREAD) or in neither (STAY)."""
    cdef int64_t i
    cdef uint32_t b
    for i in range(n):
        b = branch[rows[i]]
        sides[rows[i]] = <uint8_t> (3 if b == SPREAD else 0 if b == STAY else b + 1)


cdef inline void partition_one(
    const entry_t* entries, int64_t n, const uint8_t* sides, bint in_bits, int64_t wanted, entry_t* out,
) noexcept nogil:
    """The entries of one child only, as `partition_two` has `sides`; writes one entry past their end."""
    cdef int64_t i
    cdef int64_t kept = 0
    cdef int64_t b
    cdef entry_t entry
    for i in range(n):
        entry = entries[i]
        out[kept] = entry
        b = sides[row_of(entry)]
        kept += b >> wanted & 1 if in_bits else <int64_t> (b == wanted)


cdef inline void list_from_codes(
    const uint8_t* codes, uint32_t n_codes, const uint32_t* rows, int64_t n, entry_t* out, entry_t width,
) noexcept nogil:
    """A sorted list for a counted feature: counting sort, or insertion where the node is small."""
    cdef uint32_t starts[256]
    cdef int64_t i, j
    cdef uint32_t code, total, following
    cdef entry_t entry
    if n <= 24:
        for i in range(n):
            entry = codes[rows[i]]
            if entry_t is uint32_t:
                entry = entry << 16 | rows[i]
            else:
                entry = entry << 32 | rows[i]
            j = i
            while j > 0 and out[j - 1] > entry:
                out[j] = out[j - 1]
                j -= 1
            out[j] = entry
        return
    memset(starts, 0, n_codes * sizeof(uint32_t))
    for i in range(n):
        starts[codes[rows[i]]] += 1
    total = 0
    for code in range(n_codes):
        following = total + starts[code]
        starts[code] = total
        total = following
    for i in range(n):
        code = codes[rows[i]]
        entry = code
        if entry_t is uint32_t:
            entry = entry << 16 | rows[i]
        else:
            entry = entry << 32 | rows[i]
        out[starts[code]] = entry
        starts[code] += 1
