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


# Counts of a feature that are kept for the children: samples of one target by code and class.  Where all samples count 1, 32 bits
# hold a count; else a code has its number of samples and then the weight of each class, of 64 bits.

cdef enum:
    FEW_CELLS = 64
    FEW_WEIGHTS = 384


cdef inline size_t size_of_cells(const Problem* p, int32_t f) noexcept nogil:
    """Return the bytes of the counts of a feature."""
    return p.n_codes[f] * ((p.width + 1) * sizeof(int64_t) if p.weighted else p.width * sizeof(uint32_t))


cdef inline void count_ones(
    const Block* block, uint32_t width, const uint8_t* codes, size_t size, const uint32_t* rows, int64_t n, uint32_t* cells,
) noexcept nogil:
    """`count_cells` of samples that count 1.

    Where the cells are few, neighbours are counted in two tables: so no count waits for the one before to be stored.
    """
    cdef const uint16_t* label = block.label
    cdef uint32_t spare[FEW_CELLS]
    cdef uint32_t* second = &spare[0] if size <= FEW_CELLS else cells
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


cdef inline void count_weighted(int64_t* cells, size_t code, size_t width, size_t label, int64_t weight) noexcept nogil:
    """Count a sample: cells have the number of samples of each code, and the weight of each of its classes."""
    cells[code * width] += 1
    cells[code * width + 1 + label] += weight


cdef inline void count_cells(
    const Problem* p, const Block* block, int32_t f, const uint32_t* rows, int64_t n, char* cells,
) noexcept nogil:
    """Count the samples `rows` by the codes of a feature."""
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[f] * block.n
    cdef const uint16_t* label = block.label
    cdef const int64_t* weight = block.weight
    cdef size_t width = p.width + 1
    cdef size_t size = p.n_codes[f] * width
    cdef int64_t spare[FEW_WEIGHTS]
    cdef int64_t* first = <int64_t*> cells
    cdef int64_t* second = first
    cdef int64_t i
    cdef size_t c
    if not p.weighted:
        count_ones(block, p.width, codes, <size_t> p.n_codes[f] * p.width, rows, n, <uint32_t*> cells)
        return
    memset(cells, 0, size * sizeof(int64_t))
    if size <= FEW_WEIGHTS and n > <int64_t> size:
        second = spare                     # as in `count_ones`
        memset(second, 0, size * sizeof(int64_t))
    for i in range(0, n - 1, 2):
        count_weighted(first, codes[rows[i]], width, label[rows[i]], weight[rows[i]])
        count_weighted(second, codes[rows[i + 1]], width, label[rows[i + 1]], weight[rows[i + 1]])
    if n % 2:
        count_weighted(first, codes[rows[n - 1]], width, label[rows[n - 1]], weight[rows[n - 1]])
    if second != first:
        for c in range(size):
            first[c] += second[c]


cdef inline void take_rows(
    const Problem* p, const Block* block, int32_t f, const uint32_t* rows, int64_t n, char* cells,
) noexcept nogil:
    """Take the samples `rows` out of the counts of a feature."""
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[f] * block.n
    cdef int64_t* at
    cdef int64_t i
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        if p.weighted:
            at = <int64_t*> cells + <size_t> codes[row] * (p.width + 1)
            at[0] -= 1
            at[1 + block.label[row]] -= block.weight[row]
        else:
            (<uint32_t*> cells)[codes[row] * p.width + block.label[row]] -= 1


cdef inline void take_cells(const Problem* p, int32_t f, const char* part, char* cells) noexcept nogil:
    """Take the counts of a child out of those of a feature."""
    cdef size_t size = size_of_cells(p, f)
    cdef size_t c
    if p.weighted:
        for c in range(size // sizeof(int64_t)):
            (<int64_t*> cells)[c] -= (<const int64_t*> part)[c]
    else:
        for c in range(size // sizeof(uint32_t)):
            (<uint32_t*> cells)[c] -= (<const uint32_t*> part)[c]


cdef inline int64_t read_ones(const uint32_t* ones, const int32_t* classes, int32_t n, int64_t* out) noexcept nogil:
    """Read the counts of a code, of these classes alone unless they are NULL; returns their sum."""
    cdef int64_t sum = 0
    cdef int32_t i
    if classes == NULL:
        for i in range(n):
            out[i] = ones[i]
            sum += ones[i]
    else:
        for i in range(n):
            out[i] = ones[classes[i]]
            sum += ones[classes[i]]
    return sum


cdef inline int64_t read_weights(const int64_t* weights, const int32_t* classes, int32_t n, int64_t* out) noexcept nogil:
    """Do the same of weights."""
    cdef int64_t sum = 0
    cdef int32_t i
    for i in range(n):
        out[i] = weights[i if classes == NULL else classes[i]]
        sum += out[i]
    return sum


cdef inline int64_t groups_from_cells(
    const Problem* p, const char* cells, uint32_t n_codes, bint kept, Scratch* s, Totals* missing,
) noexcept nogil:
    """`groups_from_counts` from the counts of `count_cells`; those that were `kept` are of all classes."""
    cdef const int32_t* classes = p.present if kept else NULL
    cdef size_t width = p.width if classes == NULL else p.all_classes
    cdef const uint32_t* ones = <const uint32_t*> cells
    cdef const int64_t* weights = <const int64_t*> cells
    cdef int64_t* stat = missing.counts
    cdef int64_t q = 0
    cdef int64_t n, weight
    cdef uint32_t code
    for code in range(n_codes):
        if p.weighted:
            n = weights[code * (width + 1)]
            weight = read_weights(weights + code * (width + 1) + 1, classes, p.width, stat) if n or code == 0 else 0
        else:
            n = read_ones(ones + code * width, classes, p.width, stat)
            weight = n
        if code == 0:
            missing.n = n
            missing.weight = weight
            stat = s.group_stat
        elif n:
            s.group_code[q] = code
            s.group_n[q] = n
            s.group_w[q] = weight
            q += 1
            stat += p.width
    return q


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
