"""Loops over the rows of a shard: keys, parts of cells, and branches.  Header only.

No loop has a branch by the sign of a value or by the side of a row, because such branches would often go wrong.
"""

from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.scan.tiles cimport AHEAD, LANES, histogram_of, read_cell
from fasttree._engine.types cimport CHUNK, MOMENTS, Problem, prefetch, real_t


cdef enum:
    HEAD = 2                   # numbers of a row of statistics before those of classes or targets


cdef struct Ends:              # of the branches of a threshold
    uint64_t last              # largest key of branch 0
    uint64_t low               # largest key in branch 0 that a row has
    uint64_t high              # smallest key in branch 1 that a row has


cdef struct TwoCounts:              # a part of a cell, where samples of two classes are counted; one read of memory serves it all
    uint64_t counts            # samples, and in the upper half those of class 1
    uint64_t least
    uint64_t most


cdef inline void clear_pairs(TwoCounts* pair, int64_t n_parts) noexcept nogil:
    cdef int64_t part
    for part in range(n_parts):
        pair[part].counts = 0
        pair[part].least = <uint64_t> -1
        pair[part].most = 0


cdef inline void add_pairs(
    const TwoCounts* pair, int64_t n_parts, int64_t* out, int32_t width, uint64_t* least, uint64_t* most,
) noexcept nogil:
    """Add parts to rows of statistics, `width` numbers each: samples, their weight, and the weight of each of two classes."""
    cdef int64_t part, n, of_second
    for part in range(n_parts):
        if pair[part].counts:
            n = <int64_t> (pair[part].counts & <uint64_t> 0xFFFFFFFF)
            of_second = <int64_t> (pair[part].counts >> 32)
            out[0] += n
            out[1] += n
            out[2] += n - of_second
            out[3] += of_second
            least[part] = min(least[part], pair[part].least)
            most[part] = max(most[part], pair[part].most)
        out += width


cdef inline int32_t cell_of_key(const uint64_t* low, int32_t a, int32_t b, uint64_t key) noexcept nogil:
    """Return the last cell from `a` to before `b` that starts below the key, or `a`."""
    cdef int32_t c
    while b - a > 1:
        c = (a + b) // 2
        if low[c] < key:
            a = c
        else:
            b = c
    return a


cdef inline int64_t rows_with_cells(
    const uint8_t* codes, const uint8_t* has_cells, const uint32_t* rows, int64_t start, int64_t stop, int64_t n, uint32_t* found,
) noexcept nogil:
    """Write the rows from `start` to before `stop` whose code has cells to `found`, and return their number."""
    cdef int64_t m = 0
    cdef int64_t i
    for i in range(start, stop):  # few rows are chosen, and a branch would often go wrong
        prefetch(codes + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        found[m] = rows[i]
        m += has_cells[codes[<size_t> rows[i] * LANES]]
    return m


cdef inline void add_cells(
    const Problem* p, const char* hist, int32_t f, int64_t* out, int32_t width, int64_t* found,
) noexcept nogil:
    """Add the histogram of a feature to rows of statistics, `width` numbers each; `found` has room for those of one cell."""
    cdef const char* cell = histogram_of(p, hist, f)
    cdef int64_t n, weight
    cdef uint32_t _code
    cdef int32_t k
    for _code in range(p.n_codes[f]):
        read_cell(p, cell, &n, &weight, found)
        if n:
            out[0] += n
            out[1] += weight
            for k in range(p.width):
                out[HEAD + k] += found[k]
            if p.histogram == MOMENTS:
                out[HEAD + 1] += (<const int64_t*> cell)[2]
                out[HEAD + 2] += (<const int64_t*> cell)[3]
        cell += p.cell_size
        out += width


cdef inline void add_number(int64_t* out, int64_t sum, int32_t coarse_shift) noexcept nogil:
    """Add a target that counts once to a row of statistics: its sum, and in coarse quanta its square and its sum."""
    cdef int64_t coarse = sum >> coarse_shift
    out[0] += sum
    out[1] += coarse * coarse
    out[2] += coarse


cdef inline void add_weighted(int64_t* out, int64_t sum, double weight, double y_unit, double square_unit) noexcept nogil:
    """Add a weighted target to a row of statistics: its sum, and its square times its weight, not rounded down."""
    cdef double amount = <double> sum * y_unit
    out[0] += sum
    out[1] += <int64_t> ceil(amount * (amount / weight) / square_unit)


cdef inline uint64_t key_of_value(real_t x) noexcept nogil:
    """`sortable` and `sortable_float` without branches."""
    cdef uint64_t bits = 0
    cdef uint32_t narrow = 0
    cdef uint64_t known = x == x
    x += <real_t> 0.0
    if real_t is float:
        memcpy(&narrow, &x, 4)
        narrow ^= -(narrow >> 31) | <uint32_t> 1 << 31
        return narrow & -known
    else:
        memcpy(&bits, &x, 8)
        bits ^= -(bits >> 63) | <uint64_t> 1 << 63
        return bits & -known


cdef inline void keys_of_rows(const real_t* values, const uint32_t* rows, int64_t n, uint64_t* keys) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        prefetch(values + rows[min(i + AHEAD, n - 1)])
        keys[i] = key_of_value(values[rows[i]])


cdef inline int64_t part_rows(
    const real_t* values, uint32_t* rows, int64_t n, uint8_t missing, Ends* next_to, uint32_t* others,
) noexcept nogil:
    """Keep the rows of branch 0 in `rows`, and write those of branch 1 to `others`; return the number of the former."""
    cdef uint64_t last = next_to.last
    cdef uint64_t low = next_to.low
    cdef uint64_t high = next_to.high
    cdef uint64_t key, above
    cdef int64_t n_low = 0
    cdef int64_t i
    cdef uint32_t row
    for i in range(n):
        prefetch(values + rows[min(i + AHEAD, n - 1)])
        row = rows[i]
        key = key_of_value(values[row])
        above = key > last
        low = max(low, key & (above - 1))
        high = min(high, key | (above - 1))
        above |= missing & <uint64_t> (key == 0)
        rows[n_low] = row
        others[i - n_low] = row
        n_low += 1 - <int64_t> above
    next_to.low = low
    next_to.high = high
    return n_low


cdef inline void lay_lanes(const uint8_t** lanes, int32_t n_lanes, int64_t n, uint8_t* tile) noexcept nogil:
    """Write the codes of up to LANES features side by side; a lane that is NULL stays as it is."""
    cdef int64_t start = 0
    cdef int64_t i
    cdef int32_t j
    while start < n:
        for j in range(n_lanes):
            if lanes[j] == NULL:
                continue
            for i in range(start, min(start + CHUNK, n)):  # a chunk of the tile stays in the first-level cache
                tile[i * LANES + j] = lanes[j][i]
        start += CHUNK
