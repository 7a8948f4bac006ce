"""Absolute deviations from medians, while samples move from one side of a cut to the other.  Header only.

The targets of a node are ranked by one sort.  Two trees of prefix sums over the ranks (Fenwick 1994), one per side, find the
weighted median of a side, and the sums on both sides of it, in logarithmic time; so does a move.  Targets are kept as differences
from the node's median, in fixed point of a quantum of the node's own: sums depend on no order, and are as fine as it needs.
"""

from libc.math cimport fabs, frexp, ldexp, llrint, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.columns.keys cimport sort_records
from fasttree._engine.types cimport Block, Medians, Parts, Problem, Scratch, Weighed, entry_t, row_of, weight_of


cdef extern from *:
    """
    #include <stdint.h>

    /* The part of a sample that is in none; as an enumerator it would not fit the int that enumerators are. */
    #define FASTTREE_NO_PART UINT32_MAX
    """
    const uint32_t NO_PART "FASTTREE_NO_PART"


cdef inline bint keeps_order(const Problem* p) noexcept nogil:
    """Are the rows of all nodes in the order of their targets, as those of the first node are, so that none is sorted again?"""
    return p.n_outputs == 1


cdef inline bint ascends(const Block* block) noexcept nogil:
    """Are the rows of a block in the order of their targets?"""
    cdef uint32_t i
    for i in range(1, block.n):
        if block.target_rank[i - 1] > block.target_rank[i]:
            return False
    return True


cdef inline void rank_targets(const Problem* p, const Block* block, const uint32_t* rows, int64_t n) noexcept nogil:
    """Make the samples of a node, whose rows these are (NULL: all), ready for all that follows here."""
    cdef Medians* m
    cdef const double* y
    cdef uint64_t* records
    cdef int64_t i, weight, total
    cdef uint32_t row
    cdef int32_t o
    cdef int exponent
    cdef double middle, largest, quantum
    p.parts.block = block
    p.parts.n = n
    for o in range(p.n_outputs):
        m = &p.medians[o]
        y = block.y + o
        total = n if block.weight == NULL else 0
        for i in range(n):
            row = <uint32_t> i if rows == NULL else rows[i]
            m.records[i] = <uint64_t> block.target_rank[<size_t> row * p.n_outputs + o] << 32 | row
            if block.weight != NULL:
                total += block.weight[row]
        if rows == NULL or not keeps_order(p):
            records = sort_records(m.records, p.parts.spare, n)
            if records != m.records:
                memcpy(m.records, records, n * sizeof(uint64_t))
        records = m.records
        i = (n - 1) // 2
        if block.weight != NULL:
            i = 0
            weight = block.weight[<uint32_t> records[0]]
            while 2 * weight < total:
                i += 1
                weight += block.weight[<uint32_t> records[i]]
        middle = y[<size_t> (<uint32_t> records[i]) * p.n_outputs]
        largest = max(fabs(y[<size_t> (<uint32_t> records[0]) * p.n_outputs] - middle),
                      fabs(y[<size_t> (<uint32_t> records[n - 1]) * p.n_outputs] - middle))
        # all samples at the largest distance stay below 2^60 quanta
        frexp(largest * <double> total, &exponent)
        quantum = ldexp(1.0, exponent - 60) if largest > 0 else 1.0
        m.unit = quantum * p.unit
        m.n_ranks = 0
        m.top = 0
        for i in range(n):
            row = <uint32_t> records[i]
            if i == 0 or records[i] >> 32 != records[i - 1] >> 32:
                m.n_ranks += 1
                m.value[m.n_ranks] = (y[<size_t> row * p.n_outputs] - middle) / quantum
                if p.unit == 1:
                    m.value[m.n_ranks] = rint(m.value[m.n_ranks])
            m.rank[row] = <uint32_t> m.n_ranks
            m.part[row] = llrint(<double> weight_of(block, row) * m.value[m.n_ranks])


cdef inline void sum_ranks(const Problem* p, Medians* m) noexcept nogil:
    """Make the trees of the samples of a node, after `rank_targets`, if that has not been done."""
    cdef int64_t i
    cdef uint32_t row
    if m.top:
        return
    memset(m.whole, 0, (m.n_ranks + 1) * sizeof(Weighed))
    for i in range(p.parts.n):
        row = <uint32_t> m.records[i]
        m.whole[m.rank[row]].weight += weight_of(p.parts.block, row)
        m.whole[m.rank[row]].sum += m.part[row]
    m.top = 1
    while 2 * m.top <= m.n_ranks:
        m.top *= 2
    for i in range(1, m.n_ranks + 1):
        if i + (i & -i) <= m.n_ranks:
            m.whole[i + (i & -i)].weight += m.whole[i].weight
            m.whole[i + (i & -i)].sum += m.whole[i].sum


cdef inline void add_to_side(
    Weighed* tree, int64_t* total, int64_t n_ranks, int64_t rank, int64_t weight, int64_t part,
) noexcept nogil:
    total[0] += weight
    while rank <= n_ranks:
        tree[rank].weight += weight
        tree[rank].sum += part
        rank += rank & -rank


cdef inline double risk_of_side(const Medians* m, const Weighed* tree, int64_t total) noexcept nogil:
    """Sum of absolute deviations from the median of a side of this weight, less the sum of its targets, in quanta.

    Gains do without that sum: those of two sides are together that of both.
    """
    cdef int64_t at = 0
    cdef int64_t step = m.top
    cdef int64_t weight = 0
    cdef int64_t sum = 0
    if total <= 0:
        return 0
    while step:
        if at + step <= m.n_ranks and 2 * (weight + tree[at + step].weight) < total:
            at += step
            weight += tree[at].weight
            sum += tree[at].sum
        step //= 2
    # at + 1 is the rank of the median: below it is less than half of the weight
    return <double> (-2 * sum) - m.value[at + 1] * <double> (total - 2 * weight)


cdef inline void move_sample(const Problem* p, uint32_t row, int64_t sign) noexcept nogil:
    """Move a sample from the right to the left (sign 1), or back (-1)."""
    cdef Medians* m
    cdef int64_t weight = sign * weight_of(p.parts.block, row)
    cdef int32_t o
    for o in range(p.n_outputs):
        m = &p.medians[o]
        add_to_side(m.left, &m.left_weight, m.n_ranks, m.rank[row], weight, sign * m.part[row])
        add_to_side(m.right, &m.right_weight, m.n_ranks, m.rank[row], -weight, -sign * m.part[row])


cdef inline void start_sides(const Problem* p, bint missing_left) noexcept nogil:
    """All on the right; then the samples whose value is missing on the left, or nowhere if they are not divided."""
    cdef const Parts* parts = p.parts
    cdef Medians* m
    cdef int64_t i, last
    cdef uint32_t row
    cdef int32_t o
    for o in range(p.n_outputs):
        m = &p.medians[o]
        sum_ranks(p, m)
        memset(m.left, 0, (m.n_ranks + 1) * sizeof(Weighed))
        memcpy(m.right, m.whole, (m.n_ranks + 1) * sizeof(Weighed))
        m.left_weight = 0
        m.right_weight = 0
        last = m.n_ranks
        while last:
            m.right_weight += m.whole[last].weight
            last -= last & -last
        if not parts.with_missing:
            for i in range(parts.n_missing):
                row = parts.rows[i]
                add_to_side(m.right, &m.right_weight, m.n_ranks, m.rank[row], -weight_of(parts.block, row), -m.part[row])
        m.risk = risk_of_side(m, m.right, m.right_weight)
    if missing_left and parts.with_missing:
        for i in range(parts.n_missing):
            move_sample(p, parts.rows[i], 1)


cdef inline double gain_of_sides(const Problem* p) noexcept nogil:
    cdef const Medians* m
    cdef double gain = 0
    cdef int32_t o
    for o in range(p.n_outputs):
        m = &p.medians[o]
        gain += (m.risk - risk_of_side(m, m.left, m.left_weight) - risk_of_side(m, m.right, m.right_weight)) * m.unit
    return max(gain / p.n_outputs, 0.0)


cdef inline void move_group(const Problem* p, int64_t g, int64_t sign) noexcept nogil:
    cdef int64_t i
    for i in range(p.parts.start[g], p.parts.start[g + 1]):
        move_sample(p, p.parts.rows[i], sign)


cdef inline void lay_out_list(
    const Problem* p, const entry_t* entries, int64_t n, int64_t n_missing, int64_t q, const int64_t* group_n,
) noexcept nogil:
    """The samples group by group (q = 0: only those whose value is missing) along a sorted list of a feature."""
    cdef Parts* parts = p.parts
    cdef int64_t g, i
    parts.n_missing = n_missing
    for i in range(n_missing):
        parts.rows[i] = row_of(entries[i])
        parts.part_of[parts.rows[i]] = NO_PART
    parts.start[0] = n_missing
    for g in range(q):
        parts.start[g + 1] = parts.start[g] + group_n[g]
        for i in range(parts.start[g], parts.start[g + 1]):
            parts.rows[i] = row_of(entries[i])
            parts.part_of[parts.rows[i]] = <uint32_t> g


cdef inline void lay_out_codes(
    const Problem* p, Scratch* s, const uint8_t* codes, const uint32_t* rows, int64_t n, int64_t n_missing, int64_t q,
) noexcept nogil:
    """The same from the codes of a counted feature."""
    cdef Parts* parts = p.parts
    cdef uint32_t* group_of_code = s.branch_of_code
    cdef int64_t missing = 0
    cdef int64_t g, i
    cdef uint32_t row
    parts.n_missing = n_missing
    parts.start[0] = n_missing
    for g in range(q):
        group_of_code[s.group_code[g]] = <uint32_t> g
        parts.start[g + 1] = parts.start[g] + s.group_n[g]
        parts.passed[g] = parts.start[g]
    for i in range(n):
        row = rows[i]
        if codes[row] == 0:
            parts.part_of[row] = NO_PART
            parts.rows[missing] = row
            missing += 1
            continue
        g = group_of_code[codes[row]]
        parts.part_of[row] = <uint32_t> g
        parts.rows[parts.passed[g]] = row
        parts.passed[g] += 1


cdef inline void find_medians(const Problem* p, int32_t o, int64_t n, int64_t n_parts, bint together) noexcept nogil:
    """The samples of every part (of all of them `together`: part 0) whose targets are its lower and its upper median."""
    cdef Parts* parts = p.parts
    cdef const uint64_t* records = p.medians[o].records
    cdef int64_t i, before
    cdef uint32_t row, k
    for i in range(n_parts):
        parts.weight[i] = 0
        parts.passed[i] = 0
    for i in range(n):
        row = <uint32_t> records[i]
        if parts.part_of[row] != NO_PART:
            parts.weight[0 if together else parts.part_of[row]] += weight_of(parts.block, row)
    for i in range(n):
        row = <uint32_t> records[i]
        if parts.part_of[row] == NO_PART:
            continue
        k = 0 if together else parts.part_of[row]
        before = parts.passed[k]
        parts.passed[k] += weight_of(parts.block, row)
        if 2 * before < parts.weight[k] <= 2 * parts.passed[k]:
            parts.lower[k] = row
        if 2 * before <= parts.weight[k] < 2 * parts.passed[k]:
            parts.upper[k] = row


cdef inline double median_of_part(const Problem* p, int32_t o, int64_t k) noexcept nogil:
    """Halfway between its lower and its upper median."""
    cdef const double* y = p.parts.block.y + o
    cdef double low = y[<size_t> p.parts.lower[k] * p.n_outputs]
    cdef double high = y[<size_t> p.parts.upper[k] * p.n_outputs]
    return low if low == high else low / 2 + high / 2


cdef inline double risk_of_parts(const Problem* p, int32_t o, int64_t n, int64_t n_parts, bint together) noexcept nogil:
    """Sum of absolute deviations of one target from the medians of the parts, after `find_medians`."""
    cdef Parts* parts = p.parts
    cdef const Medians* m = &p.medians[o]
    cdef int64_t i, weight
    cdef uint32_t row, k, middle
    cdef double risk = 0
    for i in range(n_parts):
        parts.weight[i] = 0
        parts.passed[i] = 0
    for i in range(n):
        row = <uint32_t> m.records[i]
        if parts.part_of[row] == NO_PART:
            continue
        k = 0 if together else parts.part_of[row]
        middle = m.rank[parts.lower[k]]
        weight = weight_of(parts.block, row)
        if m.rank[row] > middle:
            parts.weight[k] += weight
            parts.passed[k] += m.part[row]
        elif m.rank[row] < middle:
            parts.weight[k] -= weight
            parts.passed[k] -= m.part[row]
    for i in range(n_parts):
        risk += <double> parts.passed[i] - m.value[m.rank[parts.lower[i]]] * <double> parts.weight[i]
    return risk * m.unit


cdef inline double gain_of_parts(const Problem* p, int64_t n, int64_t n_parts) noexcept nogil:
    """Gain of dividing the samples that are in a part into the parts; none of these is empty."""
    cdef double gain = 0
    cdef int32_t o
    for o in range(p.n_outputs):
        find_medians(p, o, n, 1, True)
        gain += risk_of_parts(p, o, n, 1, True)
        find_medians(p, o, n, n_parts, False)
        gain -= risk_of_parts(p, o, n, n_parts, False)
    return max(gain / p.n_outputs, 0.0)
