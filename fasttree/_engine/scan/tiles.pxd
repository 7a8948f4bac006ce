"""Histograms of a node over the codes of all its features, for the bounded search.  Header only.

The codes of LANES features are side by side, row after row, so that one read of memory serves them all.  Every number in a
histogram is an integer: that of a child is exactly its parent's less its sibling's.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.types cimport CLASSES, PAIRS, WEIGHTS, Block, Problem, Scratch, Totals, prefetch
from fasttree._engine.watch cimport Watch, interrupted


cdef enum:
    LANES = 8                  # features whose codes are side by side
    AHEAD = 24                 # rows: how far ahead memory is prefetched


cdef inline const uint8_t* lane_of(const Block* block, int32_t f) noexcept nogil:
    """Codes of a feature, LANES bytes apart."""
    return block.tiles + <size_t> (f // LANES) * LANES * block.n + f % LANES


cdef inline const char* histogram_of(const Problem* p, const char* hist, int32_t f) noexcept nogil:
    return hist + p.first_cell[f] * p.cell_size


cdef inline void count_pairs(
    const Block* block, const uint8_t* tile, uint64_t** lanes, int32_t n_lanes, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """Two classes: samples, and in the upper half those of class 1."""
    cdef const uint16_t* label = block.label
    cdef uint64_t* h0 = lanes[0]
    cdef uint64_t* h1 = lanes[1]
    cdef uint64_t* h2 = lanes[2]
    cdef uint64_t* h3 = lanes[3]
    cdef uint64_t* h4 = lanes[4]
    cdef uint64_t* h5 = lanes[5]
    cdef uint64_t* h6 = lanes[6]
    cdef uint64_t* h7 = lanes[7]
    cdef const uint8_t* codes
    cdef int64_t i
    cdef int32_t j
    cdef uint64_t one
    if n_lanes < LANES:
        for i in range(n):
            prefetch(tile + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
            codes = tile + <size_t> rows[i] * LANES
            one = 1 | <uint64_t> label[rows[i]] << 32
            for j in range(n_lanes):
                lanes[j][codes[j]] += one
        return
    for i in range(n):
        prefetch(tile + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        codes = tile + <size_t> rows[i] * LANES
        one = 1 | <uint64_t> label[rows[i]] << 32
        h0[codes[0]] += one
        h1[codes[1]] += one
        h2[codes[2]] += one
        h3[codes[3]] += one
        h4[codes[4]] += one
        h5[codes[5]] += one
        h6[codes[6]] += one
        h7[codes[7]] += one


cdef inline void count_classes(
    const Problem* p, const Block* block, const uint8_t* tile, uint32_t** lanes, int32_t n_lanes, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """Samples of each class."""
    cdef const uint8_t* codes
    cdef uint32_t k_n = p.n_classes
    cdef uint32_t k
    cdef int64_t i
    cdef int32_t j
    for i in range(n):
        prefetch(tile + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        codes = tile + <size_t> rows[i] * LANES
        k = block.label[rows[i]]
        for j in range(n_lanes):
            lanes[j][codes[j] * k_n + k] += 1


cdef inline void count_weights(
    const Problem* p, const Block* block, const uint8_t* tile, int64_t** lanes, int32_t n_lanes, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """Samples, then the weight of each class."""
    cdef const uint8_t* codes
    cdef uint32_t width = p.n_classes + 1
    cdef uint32_t k
    cdef int64_t i, weight
    cdef int32_t j
    for i in range(n):
        prefetch(tile + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        codes = tile + <size_t> rows[i] * LANES
        k = block.label[rows[i]] + 1
        weight = block.weight[rows[i]]
        for j in range(n_lanes):
            lanes[j][codes[j] * width] += 1
            lanes[j][codes[j] * width + k] += weight


cdef inline void count_moments(
    const Problem* p, const Block* block, const uint8_t* tile, int64_t** lanes, int32_t n_lanes, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """Samples, the sum of their targets, and of the targets in coarse quanta that of their squares and their sum."""
    cdef const uint8_t* codes
    cdef int64_t* cell
    cdef int64_t i, y, coarse, square
    cdef int32_t j
    cdef int32_t shift = p.coarse_shift
    for i in range(n):
        prefetch(tile + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        prefetch(&block.ysum[rows[min(i + AHEAD, n - 1)]])
        codes = tile + <size_t> rows[i] * LANES
        y = block.ysum[rows[i]]
        coarse = y >> shift
        square = coarse * coarse
        for j in range(n_lanes):
            cell = lanes[j] + <size_t> codes[j] * 4
            cell[0] += 1
            cell[1] += y
            cell[2] += square
            cell[3] += coarse


cdef struct Count:                 # that is to be made
    const uint32_t* rows
    int64_t n
    const uint8_t* wanted          # by feature
    char* histogram


cdef inline int32_t n_tiles_of(const Problem* p) noexcept nogil:
    return (p.n_features + LANES - 1) // LANES


cdef inline void count_tile(
    const Problem* p, const Block* block, const Count* count, int32_t number, Watch* watch,
) noexcept nogil:
    """The part of a cleared histogram that belongs to the features of one tile, if any of them is wanted."""
    cdef const uint32_t* rows = count.rows
    cdef int64_t n = count.n
    cdef char* lanes[LANES]
    cdef int32_t start = number * LANES
    cdef int32_t n_lanes = min(LANES, p.n_features - start)
    cdef const uint8_t* tile = block.tiles + <size_t> start * block.n
    cdef bint any_wanted = False
    cdef int32_t j
    for j in range(LANES):
        lanes[j] = <char*> histogram_of(p, count.histogram, start + min(j, n_lanes - 1))
        any_wanted = any_wanted or (j < n_lanes and count.wanted[start + j])
    if not any_wanted or interrupted(watch, n * LANES):
        return
    if p.histogram == PAIRS:
        count_pairs(block, tile, <uint64_t**> lanes, n_lanes, rows, n)
    elif p.histogram == CLASSES:
        if n_lanes == LANES:
            count_classes(p, block, tile, <uint32_t**> lanes, LANES, rows, n)
        else:
            count_classes(p, block, tile, <uint32_t**> lanes, n_lanes, rows, n)
    elif p.histogram == WEIGHTS:
        count_weights(p, block, tile, <int64_t**> lanes, n_lanes, rows, n)
    elif n_lanes == LANES:
        count_moments(p, block, tile, <int64_t**> lanes, LANES, rows, n)
    else:
        count_moments(p, block, tile, <int64_t**> lanes, n_lanes, rows, n)


cdef inline void count_tiles(const Problem* p, const Block* block, const Count* count, Watch* watch) noexcept nogil:
    """The histogram of the wanted features, and perhaps of others beside them."""
    cdef int32_t number
    memset(count.histogram, 0, p.histogram_size)
    for number in range(n_tiles_of(p)):
        count_tile(p, block, count, number, watch)


cdef inline void subtract_histogram(const Problem* p, char* whole, const char* part) noexcept nogil:
    """Turn the histogram of a node into that of what `part` leaves; counts and sums are integers, so nothing is rounded."""
    cdef size_t i
    if p.histogram == CLASSES:
        for i in range(p.histogram_size // 4):
            (<uint32_t*> whole)[i] -= (<const uint32_t*> part)[i]
        return
    for i in range(p.histogram_size // 8):
        (<uint64_t*> whole)[i] -= (<const uint64_t*> part)[i]


cdef inline void read_cell(
    const Problem* p, const char* cell, int64_t* n, int64_t* weight, int64_t* statistics,
) noexcept nogil:
    """Samples, weight and statistics (class weights, or the sum of the targets) of one code."""
    cdef const int64_t* numbers = <const int64_t*> cell
    cdef uint64_t pair
    cdef int32_t k
    if p.histogram == PAIRS:
        pair = (<const uint64_t*> cell)[0]
        n[0] = <int64_t> (pair & <uint64_t> 0xFFFFFFFF)
        statistics[1] = <int64_t> (pair >> 32)
        statistics[0] = n[0] - statistics[1]
        weight[0] = n[0]
    elif p.histogram == CLASSES:
        n[0] = 0
        for k in range(p.n_classes):
            statistics[k] = (<const uint32_t*> cell)[k]
            n[0] += statistics[k]
        weight[0] = n[0]
    elif p.histogram == WEIGHTS:
        n[0] = numbers[0]
        weight[0] = 0
        for k in range(p.n_classes):
            statistics[k] = numbers[k + 1]
            weight[0] += statistics[k]
    else:
        n[0] = numbers[0]
        weight[0] = n[0]
        statistics[0] = numbers[1]


cdef inline int64_t groups_from_histogram(const Problem* p, Scratch* s, int32_t f, Totals* missing) noexcept nogil:
    """`groups_from_counts` for a feature of the node's histogram."""
    cdef const char* cells = histogram_of(p, s.node_histogram, f)
    cdef int64_t q = 0
    cdef uint32_t code
    read_cell(p, cells, &missing.n, &missing.weight, missing.counts if p.n_counts else &missing.sum)
    for code in range(1, p.n_codes[f]):
        read_cell(p, cells + code * p.cell_size, &s.group_n[q], &s.group_w[q], &s.group_stat[q * p.width])
        s.group_code[q] = code
        q += s.group_n[q] > 0
    return q
