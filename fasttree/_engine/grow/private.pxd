"""Private blocks: the rows and features of a small node, copied out of a large block.  Header only.

In a private block rows are numbered from 0 and codes are dense, so list entries take 4 bytes, and what is read stays in the
cache.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.bounds.refine cimport number_codes, sort_rows
from fasttree._engine.columns.keys cimport sort_records, sortable_float
from fasttree._engine.grow.work cimport SIDE_BY_SIDE, Private, Work, free_lists, rows_of
from fasttree._engine.memory cimport free_list, node_header, renew
from fasttree._engine.scan.tiles cimport AHEAD, LANES, lane_of
from fasttree._engine.types cimport (
    MEDIANS, Active, Arena, Block, Column, Pending, Problem, Scratch, code_of, entry_t, prefetch, row_of,
)
from fasttree._engine.watch cimport interrupted


cdef inline void bin_records(
    const uint64_t* records, int64_t n, int32_t most, uint16_t* fine, uint8_t* lane, uint8_t* single_valued,
) noexcept nogil:
    """Codes of a feature in a private block, out of its sorted records: ranks of values, and `most` bins about as full.

    A value with more samples than a bin should have gets one of its own.
    """
    cdef int64_t i = 0
    cdef int64_t stop, in_bin = 0
    cdef int64_t quota = 0
    cdef int32_t code = 0
    cdef uint64_t value
    cdef uint32_t row
    while i < n:
        value = records[i] >> 32
        stop = i + 1
        while stop < n and records[stop] >> 32 == value:
            stop += 1
        if value and (code == 0 or (in_bin + stop - i > quota and code < most)):
            code += 1
            in_bin = 0
            quota = (n - i + most - code) // (most - code + 1)
        single_valued[code] = in_bin == 0
        in_bin += stop - i
        while i < stop:
            row = <uint32_t> records[i]
            fine[row] = <uint16_t> value
            lane[<size_t> row * LANES] = <uint8_t> code
            i += 1


cdef inline void copy_tiles(const Problem* p, const Block* block, Block* small, const uint32_t* rows) noexcept nogil:
    """Copy the codes of a node into a private block: tiles, if it has them, and a column for each counted feature."""
    cdef uint8_t* columns[LANES]
    cdef int32_t lanes[LANES]
    cdef const uint8_t* tile
    cdef const uint8_t* codes
    cdef uint8_t* copy
    cdef int32_t start, f, j
    cdef int32_t n_columns
    cdef uint32_t i
    for start in range((p.n_features + LANES - 1) // LANES):
        tile = block.tiles + <size_t> start * LANES * block.n
        copy = <uint8_t*> small.tiles + <size_t> start * LANES * small.n
        n_columns = 0
        for f in range(start * LANES, min((start + 1) * LANES, p.n_features)):
            if p.counted[f]:
                columns[n_columns] = <uint8_t*> small.codes + <size_t> p.slot[f] * small.n
                lanes[n_columns] = f % LANES
                n_columns += 1
        if n_columns == 0 and small.tiles == NULL:
            continue
        for i in range(small.n):
            prefetch(tile + <size_t> rows[min(i + AHEAD, small.n - 1)] * LANES)
            codes = tile + <size_t> rows[i] * LANES
            if small.tiles != NULL:
                memcpy(copy + <size_t> i * LANES, codes, LANES)
            for j in range(n_columns):
                columns[j][i] = codes[lanes[j]]


cdef inline void copy_samples(const Problem* p, const Block* block, Block* copy, const uint32_t* rows, uint32_t n) noexcept nogil:
    """Copy the sample data of a block, but for the features, into a block that has room for it."""
    cdef uint32_t i, row
    cdef size_t here, there
    copy.n = n
    for i in range(n):
        row = rows[i]
        (<uint32_t*> copy.origin)[i] = row if block.origin == NULL else block.origin[row]
        here, there = <size_t> i * p.n_outputs, <size_t> row * p.n_outputs
        if p.n_classes:
            memcpy(<uint16_t*> copy.label + here, block.label + there, p.n_outputs * sizeof(uint16_t))
        else:
            memcpy(<double*> copy.y + here, block.y + there, p.n_outputs * sizeof(double))
            memcpy(<int64_t*> copy.ysum + here, block.ysum + there, p.n_outputs * sizeof(int64_t))
            if p.sweep == MEDIANS:
                memcpy(<uint32_t*> copy.target_rank + here, block.target_rank + there, p.n_outputs * sizeof(uint32_t))
        if block.weight != NULL:
            copy.weight[i] = block.weight[row]
        if block.case_weight != NULL:
            copy.case_weight[i] = block.case_weight[row]


cdef inline int32_t n_side_by_side(const Problem* p, int32_t f) noexcept nogil:
    """Features from f on, at most SIDE_BY_SIDE, whose values in single precision lie next to each other in each row."""
    cdef const Column* first = &p.column[f]
    cdef const Column* other = first + 1
    cdef int32_t n = 1
    if first.is_double:
        return 0
    while n < min(SIDE_BY_SIDE, p.n_features - f) and not other.is_double and other.stride == first.stride and (
            other.data == first.data + n * sizeof(float)):
        n += 1
        other += 1
    return n


cdef inline void gather_keys(const Column* first, int32_t width, const uint32_t* rows, int64_t n, uint32_t* keys) noexcept nogil:
    """Sortable bits of features that lie side by side: each line of memory is read once for all of them."""
    cdef const char* at
    cdef int64_t i
    cdef int32_t j
    for i in range(n):
        at = first.data + <Py_ssize_t> rows[min(i + AHEAD, n - 1)] * first.stride
        prefetch(at)
        prefetch(at + (width - 1) * sizeof(float))
        at = first.data + <Py_ssize_t> rows[i] * first.stride
        for j in range(width):
            keys[j * n + i] = sortable_float((<const float*> at)[j])


cdef inline void sort_values(const Problem* p, Scratch* s, int32_t f, const uint32_t* rows, int64_t n) noexcept nogil:
    """s.records = rank of the value << 32 | place in `rows`, ascending."""
    cdef int64_t i
    for i in range(n):
        s.records[i] = i
    sort_rows(&p.column[f], rows, s.records, s.spare_records, n)
    number_codes(s.records, n)


cdef inline void sort_once_gathered(const Problem* p, Private* small, int32_t f, const uint32_t* rows, int64_t n) noexcept nogil:
    """The same for a feature of a node whose features ascend: values that lie side by side are read for all of them at once."""
    cdef Scratch* s = small.work.scratch
    cdef const uint32_t* keys
    cdef uint64_t* ordered
    cdef int64_t i
    if not small.first_gathered <= f < small.first_gathered + small.n_gathered:
        small.first_gathered, small.n_gathered = f, n_side_by_side(p, f)
        if small.n_gathered:
            gather_keys(&p.column[f], small.n_gathered, rows, n, small.keys)
    if small.n_gathered == 0:
        sort_values(p, s, f, rows, n)
        return
    keys = small.keys + (f - small.first_gathered) * n
    for i in range(n):
        s.records[i] = <uint64_t> keys[i] << 32 | <uint64_t> i
    ordered = sort_records(s.records, s.spare_records, n)
    if ordered != s.records:
        memcpy(s.records, ordered, n * sizeof(uint64_t))
    number_codes(s.records, n)


cdef inline void narrow_list(const entry_t* entries, int64_t n, const uint32_t* place, uint32_t* out) noexcept nogil:
    """Copy a list of a wide block, with dense codes and the rows of a private block."""
    cdef uint32_t dense = 0
    cdef uint32_t code
    cdef int64_t i
    for i in range(n):
        code = code_of(entries[i])
        if code and (i == 0 or code != code_of(entries[i - 1])):
            dense += 1
        out[i] = (dense if code else 0) << 16 | place[row_of(entries[i])]


cdef inline void copy_column(const uint8_t* codes, const uint32_t* rows, int64_t n, uint8_t* out) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = codes[rows[i]]


cdef inline int open_private(
    const Problem* p, const Block* block, Private* small, Arena* arena, const uint32_t* rows,
) noexcept nogil:
    """Make room for a node's lists in `arena`, and copy the codes that tiles hold.  -1 if memory runs out."""
    cdef Block* copy = &small.block
    cdef Work* w = &small.work
    cdef size_t n = copy.n
    cdef size_t size
    cdef int32_t f
    cdef uint32_t i
    small.n_gathered = 0
    for i in range(copy.n if small.place != NULL else 0):
        small.place[rows[i]] = i
    for f in range(p.n_features):
        w.lists[f] = 0
        if p.counted[f] and not p.histogram:
            memset(<uint8_t*> copy.codes + p.slot[f] * n, 0, n)
    w.lists_end = node_header(p.n_features, n)
    copy.tiles = small.tiles if p.histogram and <int64_t> n >= p.bounded_from else NULL
    # all at once, with counted features' lists, and for larger nodes that follow: untouched memory costs nothing
    size = w.lists_end + (0 if copy.tiles != NULL else (n * p.n_features + 1) * sizeof(uint32_t))
    if size > arena.size and renew(arena, min(2 * size, max(size, size // n * w.narrow))):
        return -1
    if copy.tiles != NULL:
        memset(<uint8_t*> copy.single_valued, 1, <size_t> p.n_features * 256)
    if p.histogram:
        copy_tiles(p, block, copy, rows)
    return 0


cdef inline int shrink(
    const Problem* p, const Block* block, const Pending* node, const char* data, Private* small, entry_t width,
) noexcept nogil:
    """Copy a node of a wide block into a private block with 16-bit rows and codes.

    Frees the node's lists.  -1 if memory runs out.
    """
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef const uint32_t* rows = rows_of(node, data)
    cdef Work* w = &small.work
    cdef Scratch* s = w.scratch
    cdef Block* copy = &small.block
    cdef Arena* arena = &w.arenas[node.depth % 2]
    cdef size_t n = node.n
    cdef size_t i
    cdef int32_t a, f
    cdef uint32_t* out
    copy_samples(p, block, copy, rows, node.n)
    if open_private(p, block, small, arena, rows):
        free_lists(actives, node.n_active, n, sizeof(entry_t))
        return -1
    for a in range(node.n_active):
        f = actives[a].feature
        if interrupted(s.watch, n):
            if not p.histogram and not p.counted[f]:
                free_list(actives[a].at, n, sizeof(entry_t))
            continue                   # the node is given up
        if p.counted[f]:
            if not p.histogram:
                copy_column(block.codes + <size_t> p.slot[f] * block.n, rows, n, <uint8_t*> copy.codes + p.slot[f] * n)
            continue
        if p.histogram:
            sort_once_gathered(p, small, f, rows, n)
        if copy.tiles != NULL:
            bin_records(s.records, n, p.n_codes[f] - 1, <uint16_t*> copy.fine + f * n, <uint8_t*> lane_of(copy, f),
                        <uint8_t*> copy.single_valued + <size_t> f * 256)
            w.lists[f] = 1             # there is none, but the feature may vary
            continue
        out = <uint32_t*> (arena.data + w.lists_end)
        if p.histogram:
            for i in range(n):
                out[i] = <uint32_t> (s.records[i] >> 32) << 16 | <uint32_t> s.records[i]
        else:
            narrow_list(<const entry_t*> actives[a].at, n, small.place, out)
            free_list(actives[a].at, n, sizeof(entry_t))
        w.lists[f] = w.lists_end
        w.lists_end += n * sizeof(uint32_t)
    return 0
