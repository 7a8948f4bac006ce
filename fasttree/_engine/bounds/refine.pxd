"""The bounded search inside bins: if the bound of a bin is high enough, its samples are sorted and swept.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.bounds.bounds cimport add_to_before, bound_codes, start_before
from fasttree._engine.columns.keys cimport sort_records, sortable, sortable_float
from fasttree._engine.scan.cut cimport Division, bounds_of, no_cut, offer, within
from fasttree._engine.scan.divisions cimport group_gain
from fasttree._engine.scan.missing cimport merge_directions, with_known_cut
from fasttree._engine.scan.sweeps cimport gains_of_chunk, start_sweep, sweep
from fasttree._engine.scan.thresholds cimport offer_chunk
from fasttree._engine.scan.tiles cimport AHEAD, LANES, groups_from_histogram, lane_of
from fasttree._engine.types cimport (
    CHUNK, THRESHOLD_CUT, Block, Bounds, Chunk, Column, Cut, Left, Problem, Scratch, Search, Totals, entry_t, prefetch, row_of,
)


cdef inline uint64_t key_of(const Column* column, uint32_t row) noexcept nogil:
    """Sortable bits of a value; 0 if it is missing."""
    cdef const char* at = column.data + <Py_ssize_t> row * column.stride
    if column.is_double:
        return sortable((<const double*> at)[0])
    return sortable_float((<const float*> at)[0])


cdef inline uint64_t key_in(const Problem* p, const Block* block, int32_t f, uint32_t row) noexcept nogil:
    """Return the order of the values of a binned feature in a block."""
    if block.fine != NULL:
        return block.fine[<size_t> f * block.n + row]
    return key_of(&p.column[f], row)


cdef inline int64_t position_of_end(uint32_t code) noexcept nogil:
    """The place of a cut behind a bin among all cuts of the feature."""
    return <int64_t> code << 32 | <int64_t> 0xFFFFFFFF


cdef inline int64_t position_inside(uint32_t code, int64_t entry) noexcept nogil:
    return <int64_t> code << 32 | entry


cdef inline uint32_t row_at(const uint32_t* rows, uint64_t record) noexcept nogil:
    """The row of a record: its number, or the one at its place in `rows`."""
    return <uint32_t> record if rows == NULL else rows[record]


cdef inline void sort_rows(
    const Column* column, const uint32_t* rows, uint64_t* records, uint64_t* spare, int64_t n,
) noexcept nogil:
    """Put records (row numbers, or places in `rows`) in ascending order of their values, missing ones first.

    Afterwards the upper halves of records are equal where the values are.
    """
    cdef uint64_t lowest = <uint64_t> -1
    cdef uint64_t highest = 0
    cdef uint64_t key, upper
    cdef uint64_t* ordered
    cdef int64_t i, start, stop
    cdef int32_t shift = 0
    cdef uint32_t code
    if not column.is_double:
        for i in range(n):
            prefetch(column.data + <Py_ssize_t> row_at(rows, records[min(i + AHEAD, n - 1)]) * column.stride)
            records[i] |= key_of(column, row_at(rows, records[i])) << 32
        ordered = sort_records(records, spare, n)
        if ordered != records:
            memcpy(records, ordered, n * sizeof(uint64_t))
        return
    for i in range(n):
        key = key_of(column, row_at(rows, records[i]))
        if key:
            lowest = min(lowest, key)
            highest = max(highest, key)
    while highest > lowest and (highest - lowest) >> shift >= <uint64_t> 0xFFFFFFFF:
        shift += 1
    for i in range(n):
        key = key_of(column, row_at(rows, records[i]))
        records[i] |= (((key - lowest) >> shift) + 1 if key else 0) << 32
    ordered = sort_records(records, spare, n)
    if ordered != records:
        memcpy(records, ordered, n * sizeof(uint64_t))
    if shift == 0:
        return
    # values whose upper bits agree are put in order by themselves: their range takes at most 32 bits
    start = 0
    code = 0
    while start < n:
        upper = records[start] >> 32
        stop = start
        while stop < n and records[stop] >> 32 == upper:
            records[stop] &= <uint64_t> 0xFFFFFFFF
            stop += 1
        if upper and stop - start > 1:
            sort_rows(column, rows, records + start, spare, stop - start)
        for i in range(start, stop):
            key = records[i] >> 32
            code += upper != 0 and (i == start or key != highest)
            highest = key
            records[i] = <uint64_t> code << 32 | <uint32_t> records[i]
        start = stop


cdef inline void number_codes(uint64_t* records, int64_t n) noexcept nogil:
    """Upper halves of sorted records become codes 1, 2, ...; 0 stays."""
    cdef uint64_t previous = 0
    cdef uint64_t upper
    cdef uint64_t code = 0
    cdef int64_t i
    for i in range(n):
        upper = records[i] >> 32
        code += upper != previous
        previous = upper
        records[i] = (code if upper else 0) << 32 | <uint32_t> records[i]


cdef inline void sort_entries(uint32_t* entries, uint32_t* spare, int64_t n) noexcept nogil:
    """Put entries code << 16 | row, whose rows ascend, in the order of their codes."""
    cdef uint32_t counts[512]
    cdef uint32_t* source = entries
    cdef uint32_t* target = spare
    cdef uint32_t* count
    cdef uint32_t lowest = <uint32_t> -1
    cdef uint32_t highest = 0
    cdef uint32_t entry, total, following
    cdef int64_t i, j
    cdef int32_t digit, turn, turns, shift
    if n <= 40:
        for i in range(1, n):
            entry = entries[i]
            j = i
            while j > 0 and entries[j - 1] > entry:
                entries[j] = entries[j - 1]
                j -= 1
            entries[j] = entry
        return
    for i in range(n):
        lowest = min(lowest, entries[i])
        highest = max(highest, entries[i])
    lowest = lowest >> 16
    turns = 1 if (highest >> 16) - lowest < 256 else 2
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        entry = (entries[i] >> 16) - lowest
        counts[entry & 255] += 1
        counts[256 + (entry >> 8)] += 1
    for turn in range(turns):
        count = &counts[256 * turn]
        shift = 8 * turn
        total = 0
        for digit in range(256):
            following = total + count[digit]
            count[digit] = total
            total = following
        for i in range(n):
            entry = source[i]
            digit = (((entry >> 16) - lowest) >> shift) & 255
            target[count[digit]] = entry
            count[digit] += 1
        source, target = target, source
    if source != entries:
        memcpy(entries, source, n * sizeof(uint32_t))


cdef inline void list_from_fine(
    const Block* block, int32_t f, const uint32_t* rows, int64_t n, entry_t* out, uint32_t* spare,
) noexcept nogil:
    """A sorted list of a binned feature in a private block."""
    cdef const uint16_t* fine = block.fine + <size_t> f * block.n
    cdef int64_t i
    for i in range(n):
        out[i] = <entry_t> fine[rows[i]] << 16 | rows[i]
    if entry_t is uint32_t:
        sort_entries(out, spare, n)


cdef struct Bin:
    uint32_t code
    int64_t start                  # of its entries
    int64_t stop
    Totals before                  # what is on its left


cdef inline void sweep_bin(
    const Problem* p, const Block* block, Scratch* s, const Division* division, const Bin* bin, const entry_t* entries, Cut* cut,
) noexcept nogil:
    """Let the cuts between the entries of a bin compete."""
    cdef Left at = start_sweep(p, block, s, division.total, &bin.before, True)
    cdef Chunk chunk
    cdef int64_t held = cut.position
    cdef int64_t low, high, i, last
    cdef bint found = False
    at.first = bin.start
    at.next = bin.start
    at.before = bin.before.n
    # a cut at entry i puts before.n + i + 1 - start samples on the left
    low = max(at.limits.n_min - bin.before.n + bin.start - 1, bin.start)
    high = min(at.limits.n_max - bin.before.n + bin.start - 1, bin.stop - 2)
    if low > high:
        return
    i = bin.start
    while i < low:
        last = min(i + CHUNK, low)
        sweep(p, block, s, &at, entries, last)
        i = last
    cut.position = -1
    while i <= high and not found:
        chunk.start = i
        i = min(i + CHUNK, high + 1)
        chunk.n = sweep(p, block, s, &at, entries, i)
        if chunk.n:
            chunk.largest = gains_of_chunk(p, block, s, &at, entries, &chunk, -INFINITY)
            found = offer_chunk(cut, s, &chunk, division.total.risk, division.at_least)
    if cut.position < 0:
        cut.position = held
        return
    cut.key = key_in(p, block, cut.feature, row_of(entries[cut.position]))
    cut.position = position_inside(bin.code, cut.position)


cdef inline Cut sweep_bins(
    const Problem* p, const Block* block, Scratch* s, const Division* division, const entry_t* entries,
) noexcept nogil:
    """Best threshold among the ends of all bins and the cuts inside those that survive, whose samples `entries` holds."""
    cdef Cut cut = no_cut(division.feature)
    cdef const Totals* total = division.total
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef Bin bin
    cdef Totals* before = &bin.before
    cdef int64_t g
    cdef double gain
    bin.stop = 0
    start_before(p, s, division.missing, division.missing_left, before)
    for g in range(division.n_groups):
        bin.code = s.group_code[g]
        if s.survives[bin.code]:
            bin.start = bin.stop
            bin.stop += s.group_n[g]
            sweep_bin(p, block, s, division, &bin, entries, &cut)
            if division.at_least > -INFINITY and cut.position >= 0:
                break
        add_to_before(p, s, g, before)
        if g == division.n_groups - 1 or not within(&limits, before.n, before.weight):
            continue
        gain = group_gain(p, total, before.weight, before.sum, before.counts, s.right)
        if offer(&cut, gain, position_of_end(bin.code), total.risk, division.at_least):
            cut.key = <uint64_t> -1
            break
        if cut.position == position_of_end(bin.code):
            cut.key = <uint64_t> -1
    if cut.position >= 0:
        cut.form = THRESHOLD_CUT
    return cut


cdef inline int64_t collect_survivors(
    const Block* block, const Scratch* s, int32_t f, const uint32_t* rows, int64_t n, entry_t* entries,
) noexcept nogil:
    """The samples whose bin survives; their codes say how values are ordered in a private block, else nothing."""
    cdef const uint8_t* codes = lane_of(block, f)
    cdef const uint8_t* survives = s.survives
    cdef const uint16_t* fine = block.fine + <size_t> f * block.n
    cdef int64_t m = 0
    cdef int64_t i
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        if entry_t is uint64_t:        # a private block stays in the cache
            prefetch(codes + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        if entry_t is uint32_t:
            entries[m] = <uint32_t> fine[row] << 16 | row
        else:
            entries[m] = row
        m += survives[codes[<size_t> row * LANES]]
    return m


cdef inline Cut refine_feature(
    const Problem* p, const Block* block, Scratch* s, const Search* search, int32_t f, double limit, entry_t width,
) noexcept nogil:
    """Best cut of a binned feature, every cut with a gain of `limit` among its candidates."""
    cdef Totals missing
    cdef Division division
    cdef Cut cut, other
    cdef int64_t g, m
    cdef entry_t* entries = <entry_t*> s.records
    bound_codes(p, block, s, search.totals, f, limit)
    missing.counts = s.missing
    missing.sum = 0
    division.total = search.totals
    division.missing = &missing
    division.missing_left = False
    division.feature = f
    division.n_groups = groups_from_histogram(p, s, f, &missing)
    division.at_least = search.at_least
    memset(s.survives, 0, 256)
    for g in range(division.n_groups):
        s.survives[s.group_code[g]] = s.code_bound[s.group_code[g]] >= limit
    m = collect_survivors(block, s, f, search.rows, search.totals.n, entries)
    s.n_sorted += m
    if entry_t is uint32_t:
        sort_entries(entries, <uint32_t*> s.spare_records, m)
    else:
        sort_rows(&p.column[f], NULL, entries, s.spare_records, m)
        number_codes(entries, m)
    cut = sweep_bins(p, block, s, &division, entries)
    if missing.n:
        division.missing_left = True
        other = sweep_bins(p, block, s, &division, entries)
        cut.missing = 1
        other.missing = 0
        merge_directions(&cut, &other, search.totals.risk)
        cut = with_known_cut(p, s, search.totals, &missing, cut, search.at_least)
    return cut
