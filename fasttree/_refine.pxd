"""The bounded search goes into bins: the samples of those whose bound asks for it, sorted and swept.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._bound cimport add_to_before, bound_codes, start_before
from fasttree._encode cimport sort_records, sortable, sortable_float
from fasttree._histogram cimport AHEAD, LANES, groups_from_histogram, lane_of, prefetch
from fasttree._impurity cimport tie_limit
from fasttree._scan cimport (
    Bounds, Left, bounds_of, gains_of_chunk, group_gain, merge_directions, no_cut, offer, offer_chunk, start_sweep, sweep,
    with_known_cut, within,
)
from fasttree._types cimport *


cdef inline uint64_t key_of(const Column* column, uint32_t row) noexcept nogil:
    """Sortable bits of a value; 0 if it is missing."""
    cdef const char* at = column.data + <Py_ssize_t> row * column.stride
    if column.is_double:
        return sortable((<const double*> at)[0])
    return sortable_float((<const float*> at)[0])


cdef inline uint64_t key_in(const Problem* p, const Block* block, int32_t f, uint32_t row) noexcept nogil:
    """What orders the values of a binned feature in a block."""
    if block.fine != NULL:
        return block.fine[<size_t> f * block.n + row]
    return key_of(&p.column[f], row)


cdef inline int64_t position_of_end(uint32_t code) noexcept nogil:
    """Where a cut behind a bin stands among all cuts of the feature."""
    return <int64_t> code << 32 | <int64_t> 0xFFFFFFFF


cdef inline int64_t position_inside(uint32_t code, int64_t entry) noexcept nogil:
    return <int64_t> code << 32 | entry


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
            records[i] |= key_of(column, <uint32_t> records[i] if rows == NULL else rows[records[i]]) << 32
        ordered = sort_records(records, spare, n)
        if ordered != records:
            memcpy(records, ordered, n * sizeof(uint64_t))
        return
    for i in range(n):
        key = key_of(column, <uint32_t> records[i] if rows == NULL else rows[records[i]])
        if key:
            lowest = min(lowest, key)
            highest = max(highest, key)
    while highest > lowest and (highest - lowest) >> shift >= <uint64_t> 0xFFFFFFFF:
        shift += 1
    for i in range(n):
        key = key_of(column, <uint32_t> records[i] if rows == NULL else rows[records[i]])
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


cdef inline void sweep_bin(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* before, uint32_t code,
    const entry_t* entries, int64_t start, int64_t stop, Cut* cut, double at_least,
) noexcept nogil:
    """Let the cuts inside a bin compete: those between the entries start, ..., stop - 1, with `before` on their left."""
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef Left at = start_sweep(p, block, s, total, before, True)
    cdef int64_t held = cut.at
    cdef int64_t low, high, i, m, last
    cdef double largest
    cdef bint found = False
    at.first = start
    at.before = before.n
    if block.weight == NULL:
        limits.n_min = max(limits.n_min, limits.w_min)
        limits.n_max = min(limits.n_max, limits.w_max)
    # a cut at entry i puts before.n + i + 1 - start samples on the left
    low = max(limits.n_min - before.n + start - 1, start)
    high = min(limits.n_max - before.n + start - 1, stop - 2)
    if low > high:
        return
    i = start
    while i < low:
        last = min(i + CHUNK, low)
        sweep(p, block, s, &at, &limits, total, entries, i, last)
        i = last
    cut.at = -1
    while i <= high and not found:
        last = min(i + CHUNK, high + 1)
        m = sweep(p, block, s, &at, &limits, total, entries, i, last)
        if m:
            largest = gains_of_chunk(p, block, s, &at, total, m)
            found = offer_chunk(cut, s, m, largest, total.risk, at_least)
        i = last
    if cut.at < 0:
        cut.at = held
        return
    cut.key = key_in(p, block, cut.feature, row_of(entries[cut.at]))
    cut.at = position_inside(code, cut.at)


cdef inline Cut sweep_bins(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* lost, bint lost_left, int64_t q,
    int32_t f, const entry_t* entries, double at_least,
) noexcept nogil:
    """Best threshold among the ends of all bins and the cuts inside those that survive, whose samples `entries` holds."""
    cdef Cut cut = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight, False)
    cdef Totals before
    cdef int64_t start = 0
    cdef int64_t g
    cdef double gain
    start_before(p, s, lost, lost_left, &before)
    for g in range(q):
        if s.survives[s.group_code[g]]:
            sweep_bin(p, block, s, total, &before, s.group_code[g], entries, start, start + s.group_n[g], &cut, at_least)
            start += s.group_n[g]
            if at_least > -INFINITY and cut.at >= 0:
                break
        add_to_before(p, s, g, &before)
        if g == q - 1 or not within(&limits, before.n, before.weight):
            continue
        gain = group_gain(p, total, before.weight, before.sum, before.counts, s.right)
        if offer(&cut, gain, position_of_end(s.group_code[g]), total.risk, at_least):
            cut.key = <uint64_t> -1
            break
        if cut.at == position_of_end(s.group_code[g]):
            cut.key = <uint64_t> -1
    if cut.at >= 0:
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
    const Problem* p, const Block* block, Scratch* s, const Totals* node, int32_t f, const uint32_t* rows, double limit,
    double at_least, entry_t typed,
) noexcept nogil:
    """Best cut of a binned feature, every cut with a gain of `limit` among its candidates.

    With `at_least` the first candidate, in tie order, whose gain reaches it.
    """
    cdef Totals lost
    cdef Cut cut, other
    cdef int64_t q, g, m
    cdef double largest
    cdef int32_t n_used
    cdef entry_t* entries = <entry_t*> s.records
    lost.counts = s.lost
    lost.sum = 0
    bound_codes(p, block, s, node, f, limit, &largest, &n_used)
    q = groups_from_histogram(p, s, f, &lost)
    memset(s.survives, 0, 256)
    for g in range(q):
        s.survives[s.group_code[g]] = s.code_bound[s.group_code[g]] >= limit
    m = collect_survivors(block, s, f, rows, node.n, entries)
    if entry_t is uint32_t:
        sort_entries(entries, <uint32_t*> s.spare_records, m)
    else:
        sort_rows(&p.column[f], NULL, entries, s.spare_records, m)
        number_codes(entries, m)
    cut = sweep_bins(p, block, s, node, &lost, False, q, f, entries, at_least)
    if lost.n:
        other = sweep_bins(p, block, s, node, &lost, True, q, f, entries, at_least)
        cut.missing = 1
        other.missing = 0
        merge_directions(&cut, &other, node.risk)
        cut = with_known_cut(p, s, node, &lost, cut, at_least)
    return cut
