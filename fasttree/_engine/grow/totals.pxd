"""Samples and weights of the children of a node, by class or as sums of targets.  Header only.

One pass over the rows of the node adds every sample to its child.
"""

from libc.math cimport llrint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from fasttree._engine.grow.predictions cimport describe_children, store_medians
from fasttree._engine.grow.nodes cimport NodeTable, write_class_node
from fasttree._engine.grow.work cimport Child, Work, goes_two_ways
from fasttree._engine.risk.impurity cimport risk_of
from fasttree._engine.risk.medians cimport gain_of_parts
from fasttree._engine.risk.sums cimport exact_add, set_part, spread_weight
from fasttree._engine.scan.counts cimport add_sample
from fasttree._engine.scan.divisions cimport gain_of_part
from fasttree._engine.types cimport (
    FRACTIONAL, MEDIANS, SPREAD, STAY, UNDECIDED, Block, Exact, Problem, Scratch, Totals,
)


cdef inline double gain_of_children(const Problem* p, Work* w, int64_t n_children) noexcept nogil:
    """Return the gain of the division into the children, in risk units.

    It is computed from exact sums, so it does not depend on the search that found the cut, whose last bit may differ.
    """
    cdef Totals whole
    cdef Totals* totals
    cdef double gain = 0
    cdef int64_t b
    cdef int32_t k
    whole.counts = w.scratch.left
    whole.weight = 0
    whole.sum = 0
    memset(whole.counts, 0, p.n_counts * sizeof(int64_t))
    for b in range(n_children):
        totals = &w.children[b].totals
        whole.weight += totals.weight
        whole.sum += totals.sum
        for k in range(p.n_counts):
            whole.counts[k] += totals.counts[k]
    for b in range(n_children):
        totals = &w.children[b].totals
        if p.n_classes:
            gain -= risk_of(p, totals.counts)
        else:
            gain += gain_of_part(p, &whole, totals.counts if p.n_counts else &totals.sum, totals.weight)
    return max(gain + risk_of(p, whole.counts) if p.n_classes else gain, 0.0)


cdef inline int64_t add_classes_two_ways(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """Count the classes of two children; returns how many samples have no side yet."""
    cdef const uint8_t* side = w.scratch.side
    cdef int64_t* counts = w.child_counts
    cdef int64_t in_side[2]
    cdef int64_t ones = 0
    cdef int64_t ones_right = 0
    cdef int64_t undecided = 0
    cdef int64_t i, b, label
    in_side[1] = 0
    if p.n_classes == 2:
        for i in range(n):
            b = side[rows[i]]
            label = block.label[rows[i]]
            undecided += b >> 1
            in_side[1] += b
            ones += label
            ones_right += label & b
        if undecided:
            return undecided
        in_side[0] = n - in_side[1]
        counts[0] = in_side[0] - ones + ones_right
        counts[1] = ones - ones_right
        counts[2] = in_side[1] - ones_right
        counts[3] = ones_right
    else:
        for i in range(n):
            undecided += side[rows[i]] >> 1
            in_side[1] += side[rows[i]]
        if undecided:
            return undecided
        in_side[0] = n - in_side[1]
        for i in range(n):
            counts[side[rows[i]] * p.width + block.label[rows[i]]] += 1
    for b in range(2):
        w.children[b].totals.n = in_side[b]
        w.children[b].totals.weight = in_side[b]
    return 0


cdef inline int64_t add_targets_two_ways(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """Sum the targets of two children; returns how many samples have no side yet."""
    cdef const uint8_t* side = w.scratch.side
    cdef const int64_t* ysum = block.ysum
    cdef const double* y = block.y
    cdef Exact sums[2]
    cdef double some[2]
    cdef int64_t of_ysum = 0
    cdef int64_t of_ysum_right = 0
    cdef int64_t n_right = 0
    cdef int64_t undecided = 0
    cdef int64_t i, b, whole, rest, right
    cdef double scaled
    sums[0] = p.zero[0]
    sums[1] = p.zero[0]
    for i in range(n):
        b = side[rows[i]]
        right = -b
        undecided += b >> 1
        n_right += b
        of_ysum += ysum[rows[i]]
        of_ysum_right += ysum[rows[i]] & right
        scaled = p.unit * y[rows[i]] * sums[0].scale_high
        whole = llrint(scaled)
        rest = llrint((scaled - <double> whole) * sums[0].scale_low)
        sums[0].high += whole
        sums[0].low += rest
        sums[1].high += whole & right
        sums[1].low += rest & right
        some[b & 1] = y[rows[i]]
    if undecided:
        return undecided
    sums[0].high -= sums[1].high
    sums[0].low -= sums[1].low
    for b in range(2):
        w.sums[b] = sums[b]
        w.any_target[b] = some[b]
        w.children[b].totals.n = n_right if b else n - n_right
        w.children[b].totals.weight = w.children[b].totals.n
        w.children[b].totals.sum = of_ysum_right if b else of_ysum - of_ysum_right
    return 0


cdef inline void add_to_child(
    const Problem* p, const Block* block, Work* w, int64_t b, uint32_t row, int64_t weight,
) noexcept nogil:
    cdef size_t at = b * p.n_outputs
    cdef int32_t o
    cdef double y
    add_sample(p, block, &w.children[b].totals, row, weight)
    for o in range(0 if p.n_classes else p.n_outputs):
        y = block.y[<size_t> row * p.n_outputs + o]
        w.any_target[at + o] = y
        exact_add(&w.sums[at + o], <double> weight * p.unit * y)


cdef inline int64_t heaviest_child(const Work* w, int64_t n_children) noexcept nogil:
    """The last of those with the largest weight."""
    cdef int64_t best = 0
    cdef int64_t b
    for b in range(1, n_children):
        if w.children[b].totals.weight >= w.children[best].totals.weight:
            best = b
    return best


cdef inline double whole_weight(const Problem* p, const Block* block, uint32_t row) noexcept nogil:
    """Weight of a sample before it was divided."""
    return 1 / p.unit if block.case_weight == NULL else <double> block.case_weight[row]


cdef inline void add_unknown(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Count the samples of SPREAD branch: in every child with a share of their weight, or whole in the heaviest child.

    The branch of the latter is written; all are of that kind if there are `two` branches for whole samples alone.
    """
    cdef Scratch* s = w.scratch
    cdef int64_t heaviest = heaviest_child(w, n_children)
    cdef int64_t i, b, weight
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        if (s.side[row] < UNDECIDED) if two else (s.branch[row] != SPREAD):
            continue
        weight = 1 if block.weight == NULL else block.weight[row]
        if p.missing != FRACTIONAL or weight < p.min_part or weight < p.min_share * whole_weight(p, block, row):
            if two:
                s.side[row] = <uint8_t> heaviest
            else:
                s.branch[row] = <uint32_t> heaviest
            add_to_child(p, block, w, heaviest, row, weight)
            continue
        for b in range(n_children):
            set_part(p, block, row, spread_weight(weight, w.children[b].share))
            add_to_child(p, block, w, b, row, block.weight[row])
        set_part(p, block, row, weight)


cdef inline int64_t add_two_ways(const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n) noexcept nogil:
    """Add the samples of two children to their totals, if all have a side; returns how many have none yet."""
    if p.n_classes:
        return add_classes_two_ways(p, block, w, rows, n)
    return add_targets_two_ways(p, block, w, rows, n)


cdef inline int64_t add_by_branch(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Add the samples of any number of children to their totals; returns how many are SPREAD."""
    cdef const uint8_t* side = w.scratch.side
    cdef const uint32_t* branch = w.scratch.branch
    cdef Child* children = w.children
    cdef const uint16_t* label = block.label
    cdef const int64_t* weight = block.weight
    cdef int64_t* counts = w.child_counts
    cdef int64_t width = p.width
    cdef bint classes = p.n_classes > 0 and p.n_outputs == 1
    cdef int64_t n_spread = 0
    cdef int64_t i, b, moved
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        b = side[row] if two else branch[row]
        moved = 1 if weight == NULL else weight[row]
        if b < n_children and classes:  # nearly all there is to do
            children[b].totals.n += 1
            counts[b * width + label[row]] += moved
        elif b < n_children:
            add_to_child(p, block, w, b, row, moved)
        else:
            n_spread += b != STAY
    for i in range(n_children * width if classes else 0):
        children[i // width].totals.weight += counts[i]
    return n_spread


cdef inline double count_children(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Totals of every child; samples whose branch is SPREAD count as `add_unknown` says, those that STAY nowhere.

    Returns the gain of the split, in which such samples do not count.
    """
    cdef NodeTable* t = w.nodes
    cdef Child* child
    cdef int64_t b
    cdef int64_t n_spread = 0
    cdef int64_t known = 0
    cdef int32_t n_outputs = p.n_outputs
    cdef int32_t o
    cdef double gain
    memset(w.child_counts, 0, n_children * p.width * sizeof(int64_t))
    for b in range(n_children):
        child = &w.children[b]
        child.totals.n = 0
        child.totals.weight = 0
        child.totals.sum = 0
        child.totals.counts = w.child_counts + b * p.width
        for o in range(0 if p.n_classes else n_outputs):
            w.sums[b * n_outputs + o] = p.zero[o]
    if goes_two_ways(p, two):
        n_spread = add_two_ways(p, block, w, rows, n)
    if n_spread or not goes_two_ways(p, two):
        n_spread = add_by_branch(p, block, w, rows, n, n_children, two)
    if p.sweep == MEDIANS:
        store_medians(p, w, rows, n, n_children, two)
        gain = gain_of_parts(p, n, n_children)
    else:
        gain = gain_of_children(p, w, n_children)
    for b in range(n_children):
        known += w.children[b].totals.weight
    for b in range(n_children):
        w.children[b].share = <double> w.children[b].totals.weight / <double> known
    if n_spread:
        add_unknown(p, block, w, rows, n, n_children, two)
        if p.sweep == MEDIANS:
            store_medians(p, w, rows, n, n_children, two)
    if p.n_classes:
        for b in range(n_children):
            write_class_node(p, t, w.children[b].id, &w.children[b].totals)
    else:
        describe_children(p, block, w, rows, n, n_children, two)
    return gain
