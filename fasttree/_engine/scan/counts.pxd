"""Histograms over codes, and groups of equal codes.  Header only.

The cost of a node depends on its number of samples: a feature with many categories is grouped along its sorted list.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from fasttree._engine.types cimport Block, Problem, Scratch, Totals, code_of, entry_t, row_of


cdef inline void add_outputs(
    const Problem* p, const Block* block, int64_t* counts, uint32_t row, int64_t weight,
) noexcept nogil:
    """Several targets: add a sample to the class weights, or its targets to the sums."""
    cdef size_t at = <size_t> row * p.n_outputs
    cdef int32_t o
    if p.n_classes:
        for o in range(p.n_outputs):
            counts[block.label[at + o]] += weight
    else:
        for o in range(p.n_outputs):
            counts[o] += block.ysum[at + o]


cdef inline void add_sample(const Problem* p, const Block* block, Totals* totals, uint32_t row, int64_t weight) noexcept nogil:
    """Add a sample to totals, but for the risk."""
    totals.n += 1
    totals.weight += weight
    if p.n_outputs > 1:
        add_outputs(p, block, totals.counts, row, weight)
    elif p.n_classes:
        totals.counts[block.label[row]] += weight
    else:
        totals.sum += block.ysum[row]


cdef inline uint32_t category_of(const Problem* p, const Block* block, int32_t f, uint32_t code, uint32_t row) noexcept nogil:
    """Category code of a nominal entry: a counted feature's own code, else the column's."""
    if p.counted[f]:
        return code
    return p.category[f][row if block.origin == NULL else block.origin[row]]


cdef inline void count_codes(
    const Problem* p, const Block* block, const uint8_t* codes, uint32_t n_codes,
    const uint32_t* rows, int64_t n, Scratch* s,
) noexcept nogil:
    """Fill hist (code x width), hist_n and hist_w for the samples `rows`."""
    cdef int32_t width = p.width
    cdef int64_t* hist = s.hist
    cdef int64_t i, weight
    cdef int32_t k
    cdef uint32_t row, code
    memset(hist, 0, <size_t> n_codes * width * sizeof(int64_t))
    memset(s.hist_n, 0, n_codes * sizeof(int64_t))
    if p.n_outputs > 1:
        memset(s.hist_w, 0, n_codes * sizeof(int64_t))
        for i in range(n):
            row = rows[i]
            code = codes[row]
            s.hist_n[code] += 1
            s.hist_w[code] += 1 if block.weight == NULL else block.weight[row]
            add_outputs(p, block, &hist[<size_t> code * width], row, 1 if block.weight == NULL else block.weight[row])
        return
    if p.n_classes == 0:
        memset(s.hist_w, 0, n_codes * sizeof(int64_t))
        for i in range(n):
            row = rows[i]
            code = codes[row]
            s.hist_n[code] += 1
            s.hist_w[code] += 1 if block.weight == NULL else block.weight[row]
            hist[code] += block.ysum[row]
        return
    if block.weight == NULL:
        for i in range(n):
            row = rows[i]
            hist[<size_t> codes[row] * width + block.label[row]] += 1
    else:
        for i in range(n):
            row = rows[i]
            code = codes[row]
            s.hist_n[code] += 1
            hist[<size_t> code * width + block.label[row]] += block.weight[row]
    for code in range(n_codes):
        weight = 0
        for k in range(width):
            weight += hist[<size_t> code * width + k]
        s.hist_w[code] = weight
        if block.weight == NULL:
            s.hist_n[code] = weight


cdef enum:
    FEW_CELLS = 64


cdef inline void count_cells(
    const Problem* p, const Block* block, const uint8_t* codes, uint32_t n_codes,
    const uint32_t* rows, int64_t n, uint32_t* cells, uint32_t* spare,
) noexcept nogil:
    """Count samples of one target that count 1 by code and class (code x class).

    Where the cells are few, neighbours are counted in two tables: so no count waits for the one before to be stored.
    """
    cdef const uint16_t* label = block.label
    cdef uint32_t width = <uint32_t> p.width
    cdef size_t size = <size_t> n_codes * width
    cdef uint32_t* second = spare if size <= FEW_CELLS else cells
    cdef size_t c
    cdef int64_t i
    memset(cells, 0, size * sizeof(uint32_t))
    memset(second, 0, size * sizeof(uint32_t))
    for i in range(0, n - 1, 2):
        cells[codes[rows[i]] * width + label[rows[i]]] += 1
        second[codes[rows[i + 1]] * width + label[rows[i + 1]]] += 1
    if n % 2:
        cells[codes[rows[n - 1]] * width + label[rows[n - 1]]] += 1
    if second != cells:
        for c in range(size):
            cells[c] += second[c]


cdef inline void other_cells(const uint32_t* all, const uint32_t* part, size_t size, uint32_t* rest) noexcept nogil:
    """Compute the counts of a node's other child."""
    cdef size_t c
    for c in range(size):
        rest[c] = all[c] - part[c]


cdef inline void widen_cells(const Problem* p, const uint32_t* cells, uint32_t n_codes, Scratch* s) noexcept nogil:
    """`count_codes` from the counts of `count_cells`."""
    cdef uint32_t width = <uint32_t> p.width
    cdef uint32_t code, k
    cdef int64_t n
    for code in range(n_codes):
        n = 0
        for k in range(width):
            s.hist[code * width + k] = cells[code * width + k]
            n += cells[code * width + k]
        s.hist_n[code] = n
        s.hist_w[code] = n


cdef inline int64_t groups_from_counts(const Problem* p, uint32_t n_codes, Scratch* s, Totals* missing) noexcept nogil:
    """Pack the non-empty codes into the group arrays, ascending; missing values go to `missing`.  Returns their number."""
    cdef int32_t width = p.width
    cdef int64_t q = 0
    cdef uint32_t code
    missing.n = s.hist_n[0]
    missing.weight = s.hist_w[0]
    if p.n_counts:
        memcpy(missing.counts, s.hist, width * sizeof(int64_t))
    else:
        missing.sum = s.hist[0]
    for code in range(1, n_codes):
        if s.hist_n[code] == 0:
            continue
        s.group_code[q] = code
        s.group_n[q] = s.hist_n[code]
        s.group_w[q] = s.hist_w[code]
        memcpy(&s.group_stat[q * width], &s.hist[<size_t> code * width], width * sizeof(int64_t))
        q += 1
    return q


cdef inline int64_t groups_from_list(
    const Problem* p, const Block* block, const entry_t* entries, int64_t n, Scratch* s, Totals* missing,
) noexcept nogil:
    """The same from a sorted list: a group per run of equal codes, named by one of its rows."""
    cdef int32_t width = p.width
    cdef int64_t q = -1
    cdef int64_t i, w
    cdef uint32_t row
    cdef uint32_t code = 0
    missing.n = 0
    missing.weight = 0
    missing.sum = 0
    if p.n_counts:
        memset(missing.counts, 0, width * sizeof(int64_t))
    for i in range(n):
        row = row_of(entries[i])
        w = 1 if block.weight == NULL else block.weight[row]
        if code_of(entries[i]) == 0:
            add_sample(p, block, missing, row, w)
            continue
        if code_of(entries[i]) != code:
            code = code_of(entries[i])
            q += 1
            s.group_code[q] = code
            s.group_row[q] = row
            s.group_n[q] = 0
            s.group_w[q] = 0
            memset(&s.group_stat[q * width], 0, width * sizeof(int64_t))
        s.group_n[q] += 1
        s.group_w[q] += w
        if p.n_outputs > 1:
            add_outputs(p, block, &s.group_stat[q * width], row, w)
        elif p.n_classes:
            s.group_stat[q * width + block.label[row]] += w
        else:
            s.group_stat[q] += block.ysum[row]
    return q + 1
