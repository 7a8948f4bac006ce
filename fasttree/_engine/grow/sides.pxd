"""The branch of every value of a cut that was found.  Header only.

A search keeps little of the cut that it returns.  The node that is split searches its feature once more, and notes the branch of
each category, code or position.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.bounds.refine cimport key_in
from fasttree._engine.grow.work cimport NodeSplit
from fasttree._engine.risk.medians cimport lay_out_codes, lay_out_list
from fasttree._engine.scan.counts cimport category_of, count_codes, groups_from_cells, groups_from_counts, groups_from_list
from fasttree._engine.scan.intervals cimport merge_intervals
from fasttree._engine.scan.merged cimport Merge, merge_groups
from fasttree._engine.scan.orders cimport order_groups
from fasttree._engine.scan.subsets cimport cut_side
from fasttree._engine.scan.tiles cimport AHEAD, LANES, lane_of
from fasttree._engine.types cimport (
    BY_PARTITION, GROUP_CUT, INTERVAL_CUT, KNOWN_CUT, MEDIANS, MERGE_CUT, THRESHOLD_CUT, Block, Cut, Problem, Scratch,
    Totals, code_of, entry_t, prefetch, row_of,
)


cdef inline void total_of_groups(const Problem* p, const Scratch* s, int64_t q, Totals* totals) noexcept nogil:
    """Return the totals of all groups of a node, but for the risk."""
    cdef int64_t g
    cdef int32_t k
    totals.n = 0
    totals.weight = 0
    memset(totals.counts, 0, p.n_classes * sizeof(int64_t))
    for g in range(q):
        totals.n += s.group_n[g]
        totals.weight += s.group_w[g]
        for k in range(p.n_classes):
            totals.counts[k] += s.group_stat[g * p.width + k]


cdef inline void send(Scratch* s, const NodeSplit* split, uint32_t row, uint32_t branch) noexcept nogil:
    if split.two:
        s.side[row] = <uint8_t> branch
    else:
        s.branch[row] = branch


cdef inline void side_by_list(Scratch* s, NodeSplit* split, const entry_t* entries) noexcept nogil:
    """Write the side of every row of a list that a threshold divides."""
    cdef uint8_t* side = s.side
    cdef uint8_t missing_side = <uint8_t> split.missing_branch
    cdef int64_t last = split.cut.position
    cdef int64_t i = 0
    split.low = row_of(entries[last])
    split.high = row_of(entries[last + 1])
    while code_of(entries[i]) == 0:
        side[row_of(entries[i])] = missing_side
        i += 1
    for i in range(i, last + 1):
        side[row_of(entries[i])] = 0
    for i in range(last + 1, split.n):
        side[row_of(entries[i])] = 1


cdef inline void side_by_code(Scratch* s, NodeSplit* split, const uint8_t* codes, size_t step) noexcept nogil:
    """Write the side of every row by its code; the codes are `step` bytes apart."""
    cdef const uint32_t* rows = split.rows
    cdef uint8_t* side = s.side
    cdef int64_t n = split.n
    cdef int64_t last = split.cut.position
    cdef uint8_t side_of[256]
    cdef uint8_t low_code = 0
    cdef uint8_t high_code = 255
    cdef uint8_t code, below
    cdef int64_t i
    memset(side_of, 0, last + 1)
    memset(side_of + last + 1, 1, 255 - last)
    side_of[0] = <uint8_t> split.missing_branch
    for i in range(n):
        prefetch(codes + rows[min(i + AHEAD, n - 1)] * step)
        code = codes[rows[i] * step]
        side[rows[i]] = side_of[code]
        below = 255 if code <= last else 0
        low_code = max(low_code, code & below)
        high_code = min(high_code, code | below)
    i = 0
    while codes[rows[i] * step] != low_code:
        i += 1
    split.low = rows[i]
    i = 0
    while codes[rows[i] * step] != high_code:
        i += 1
    split.high = rows[i]


cdef inline void side_by_bin(const Problem* p, const Block* block, Scratch* s, NodeSplit* split) noexcept nogil:
    """Write the side of every row of a binned feature, and find the samples next to the cut."""
    cdef const Cut* cut = split.cut
    cdef int32_t f = cut.feature
    cdef const uint8_t* codes = lane_of(block, f)
    cdef const uint32_t* rows = split.rows
    cdef int64_t n = split.n
    cdef uint8_t* side = s.side
    cdef int64_t last = cut.position >> 32 if cut.form == THRESHOLD_CUT else 255
    cdef bint inside = cut.key != <uint64_t> -1
    cdef int64_t high_code = last if inside else 256
    cdef uint64_t low_key = 0
    cdef uint64_t high_key = <uint64_t> -1
    cdef uint64_t key
    cdef int64_t i, code
    cdef uint32_t row
    cdef uint32_t low = 0
    cdef uint32_t high = 0
    for i in range(n):
        row = rows[i]
        prefetch(codes + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        code = codes[<size_t> row * LANES]
        side[row] = code > last
        if code == 0:
            side[row] = <uint8_t> split.missing_branch
        elif code == last and cut.form == THRESHOLD_CUT:
            key = key_in(p, block, f, row)
            side[row] = key > cut.key
            if side[row] and key < high_key:
                high_key = key
                high = row
            elif not side[row] and key > low_key:
                low_key = key
                low = row
        elif not inside and last < code <= high_code:
            key = key_in(p, block, f, row)
            if code < high_code or key < high_key:
                high_code = code
                high_key = key
                high = row
    split.low, split.high = low, high


cdef inline void branch_by_list(Scratch* s, NodeSplit* split, const entry_t* entries) noexcept nogil:
    """Write the branch of every row of a list that is divided by a threshold, or into known and missing."""
    cdef bint known = split.cut.form == KNOWN_CUT
    cdef int64_t last = split.cut.position
    cdef int64_t i
    if not known:
        split.low = row_of(entries[last])
        split.high = row_of(entries[last + 1])
    for i in range(split.n):
        send(s, split, row_of(entries[i]), (0 if known else i > last) if code_of(entries[i]) else split.missing_branch)


cdef inline void branch_by_code(Scratch* s, NodeSplit* split, const uint8_t* codes) noexcept nogil:
    """Do the same by code."""
    cdef bint known = split.cut.form == KNOWN_CUT
    cdef int64_t last = split.cut.position
    cdef int64_t low_code = 0
    cdef int64_t high_code = 256
    cdef int64_t i, code
    cdef uint32_t row
    for i in range(split.n):
        row = split.rows[i]
        code = codes[row]
        if low_code < code <= last:
            low_code = code
            split.low = row
        if last < code < high_code:
            high_code = code
            split.high = row
        send(s, split, row, (0 if known else code > last) if code else split.missing_branch)


cdef inline void order_again(
    const Problem* p, Scratch* s, const NodeSplit* split, const entry_t* entries, const uint8_t* codes, int64_t n_missing,
) noexcept nogil:
    """Order the groups as the search did that found two of them."""
    if p.sweep == MEDIANS:
        if split.active.listed:
            lay_out_list(p, entries, split.n, n_missing, split.n_groups, s.group_n)
        else:
            lay_out_codes(p, s, codes, split.rows, split.n, n_missing, split.n_groups)
    order_groups(p, s, split.n_groups, split.cut.order, split.n)


cdef inline void merge_again(const Problem* p, Scratch* s, const NodeSplit* split, int64_t missing_weight) noexcept nogil:
    """Merge categories as the search did; those in no group share the last branch."""
    cdef Totals known
    cdef Merge merged
    cdef int64_t g
    known.counts = s.totals
    total_of_groups(p, s, split.n_groups, &known)
    merge_groups(p, s, &known, split.n_groups, known.weight + missing_weight, &merged)
    for g in range(split.n_groups):
        s.branch_of_group[g] = <uint32_t> (s.block_of[g] if s.block_of[g] >= 0 else split.cut.n_branches)


cdef inline void branch_groups(
    const Problem* p, const Block* block, Scratch* s, NodeSplit* split, const entry_t* entries, const uint8_t* codes,
) noexcept nogil:
    """Group the node's categories or values once more, and write the branch of each group."""
    cdef int32_t f = split.cut.feature
    cdef Totals missing
    cdef int64_t g
    missing.counts = s.missing
    if split.active.listed:
        split.n_groups = groups_from_list(p, block, entries, split.n, s, &missing)
    elif split.active.at:
        split.n_groups = groups_from_cells(p, split.lists + split.active.at, p.n_codes[f], True, s, &missing)
    else:
        count_codes(p, block, codes, p.n_codes[f], split.rows, split.n, s)
        split.n_groups = groups_from_counts(p, p.n_codes[f], s, &missing)
    for g in range(split.n_groups):
        s.branch_of_group[g] = <uint32_t> g
    if split.cut.form == GROUP_CUT:
        if split.cut.order > BY_PARTITION:
            order_again(p, s, split, entries, codes, missing.n)
        cut_side(p, s, split.n_groups, split.cut, s.best_side)
        for g in range(split.n_groups):
            s.branch_of_group[g] = s.best_side[g]
    elif split.cut.form == MERGE_CUT:
        merge_again(p, s, split, missing.weight)
    elif split.cut.form == INTERVAL_CUT:
        merge_intervals(p, s, split.n_groups)


cdef inline void send_groups_by_list(
    const Problem* p, const Block* block, Scratch* s, const NodeSplit* split, const entry_t* entries,
) noexcept nogil:
    """Write the branch of every row of a list by its group; s.group_code becomes the categories."""
    cdef int64_t g = -1
    cdef int64_t i
    cdef uint32_t code
    for i in range(split.n):
        code = code_of(entries[i])
        if code and (g < 0 or code != s.group_code[g]):
            g += 1
        send(s, split, row_of(entries[i]), s.branch_of_group[g] if code else split.missing_branch)
    for g in range(0 if split.cut.form == INTERVAL_CUT else split.n_groups):
        s.group_code[g] = category_of(p, block, split.cut.feature, s.group_code[g], s.group_row[g])


cdef inline void send_groups_by_code(Scratch* s, const NodeSplit* split, const uint8_t* codes) noexcept nogil:
    """Write the branch of every row by its code; of intervals s.group_row becomes a sample of each value."""
    cdef const uint32_t* rows = split.rows
    cdef int64_t g, i
    s.branch_of_code[0] = split.missing_branch
    for g in range(split.n_groups):
        s.branch_of_code[s.group_code[g]] = s.branch_of_group[g]
    for i in range(split.n):
        send(s, split, rows[i], s.branch_of_code[codes[rows[i]]])
    if split.cut.form == INTERVAL_CUT:
        for i in range(split.n):
            s.hist_n[codes[rows[i]]] = rows[i]
        for g in range(split.n_groups):
            s.group_row[g] = <uint32_t> s.hist_n[s.group_code[g]]


cdef inline void assign_branches(
    const Problem* p, const Block* block, Scratch* s, NodeSplit* split, entry_t width,
) noexcept nogil:
    """Write the branch of every row, to s.side if there are `two`, else to s.branch.

    A threshold: `low` and `high` become samples on its two sides.  Categories: s.group_code holds the n_groups of the node, and
    s.branch_of_group the branch of each.  Intervals: the same of values, with a sample of each in s.group_row.
    """
    cdef const Cut* cut = split.cut
    cdef bint listed = split.active.listed
    cdef const entry_t* entries = <const entry_t*> (split.lists + split.active.at)
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[cut.feature] * block.n
    cdef const uint8_t* lane
    cdef int64_t i
    split.n_groups = 0
    if p.histogram and p.binned[cut.feature] and not listed:
        side_by_bin(p, block, s, split)
        return
    if block.tiles != NULL and block.fine == NULL:
        lane = lane_of(block, cut.feature)
        if cut.form == THRESHOLD_CUT and split.two and not listed:
            side_by_code(s, split, lane, LANES)
            return
        codes = s.codes_by_row
        for i in range(split.n):
            prefetch(lane + <size_t> split.rows[min(i + AHEAD, split.n - 1)] * LANES)
            s.codes_by_row[split.rows[i]] = lane[<size_t> split.rows[i] * LANES]
    if cut.form == THRESHOLD_CUT and split.two:
        if listed:
            side_by_list(s, split, entries)
        else:
            side_by_code(s, split, codes, 1)
    elif cut.form == THRESHOLD_CUT or cut.form == KNOWN_CUT:
        if listed:
            branch_by_list(s, split, entries)
        else:
            branch_by_code(s, split, codes)
    else:
        branch_groups(p, block, s, split, entries, codes)
        if listed:
            send_groups_by_list(p, block, s, split, entries)
        else:
            send_groups_by_code(s, split, codes)
