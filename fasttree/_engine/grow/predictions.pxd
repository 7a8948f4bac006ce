"""Values and impurities of the children of a node: means, medians and deviations from them.  Header only."""

from libc.math cimport llrint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from fasttree._engine.grow.nodes cimport NodeTable
from fasttree._engine.grow.work cimport Child, Work, goes_two_ways
from fasttree._engine.risk.impurity cimport add_output, deviation, risk_of_outputs
from fasttree._engine.risk.medians cimport NO_PART, find_medians, median_of_part
from fasttree._engine.risk.sums cimport exact_add, exact_value, spread_weight
from fasttree._engine.types cimport MEDIANS, SPREAD, Block, Exact, Problem, Scratch, weight_of


cdef inline void store_medians(
    const Problem* p, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Find the children's medians and keep them as their values; `gain_of_parts` then knows what the children are."""
    cdef Scratch* s = w.scratch
    cdef int64_t i, b
    cdef uint32_t branch
    cdef int32_t o
    for i in range(n):
        branch = s.side[rows[i]] if two else s.branch[rows[i]]
        p.parts.part_of[rows[i]] = branch if branch < n_children else NO_PART
    for o in range(p.n_outputs):
        find_medians(p, o, n, n_children, False)
        for b in range(n_children):
            w.nodes.value[w.children[b].id * p.n_outputs + o] = median_of_part(p, o, b)


cdef inline void add_deviations(
    const Problem* p, const Block* block, Work* w, int64_t b, uint32_t row, int64_t weight,
) noexcept nogil:
    """Let the targets of a sample, or a part of it, count in the impurity of child b."""
    cdef const double* centre = &w.nodes.value[w.children[b].id * p.n_outputs]
    cdef size_t at = b * p.n_outputs
    cdef int32_t o
    cdef double y
    for o in range(p.n_outputs):
        y = block.y[<size_t> row * p.n_outputs + o]
        w.varies[at + o] |= y != w.any_target[at + o]
        exact_add(&w.sums[at + o], <double> weight * p.unit * deviation(p.impurity, y, centre[o]))


cdef inline void add_deviations_two_ways(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n,
) noexcept nogil:
    """`add_deviations` for the samples of two children."""
    cdef const uint8_t* side = w.scratch.side
    cdef const double* targets = block.y
    cdef Exact sums[2]
    cdef double some[2]
    cdef double centre[2]
    cdef int64_t i, b, whole, rest, right
    cdef int64_t varies = 0
    cdef double scaled, y
    sums[0] = p.zero_deviation[0]
    sums[1] = p.zero_deviation[0]
    for b in range(2):
        centre[b] = w.nodes.value[w.children[b].id]
        some[b] = w.any_target[b]
    for i in range(n):
        b = side[rows[i]]
        right = -b
        y = targets[rows[i]]
        varies |= <int64_t> (y != some[b]) << b
        scaled = p.unit * deviation(p.impurity, y, centre[b]) * sums[0].scale_high
        whole = llrint(scaled)
        rest = llrint((scaled - <double> whole) * sums[0].scale_low)
        sums[0].high += whole
        sums[0].low += rest
        sums[1].high += whole & right
        sums[1].low += rest & right
    sums[0].high -= sums[1].high
    sums[0].low -= sums[1].low
    for b in range(2):
        w.sums[b] = sums[b]
        w.varies[b] = (varies >> b) & 1


cdef inline void add_deviations_by_branch(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """`add_deviations` for the samples of any number of children."""
    cdef Scratch* s = w.scratch
    cdef int64_t i, b, c, weight
    for i in range(n):
        b = s.side[rows[i]] if two else s.branch[rows[i]]
        weight = weight_of(block, rows[i])
        if b < n_children:
            add_deviations(p, block, w, b, rows[i], weight)
        elif b == SPREAD:
            for c in range(n_children):
                add_deviations(p, block, w, c, rows[i], spread_weight(weight, w.children[c].share))


cdef inline void describe_children(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Store the means of numeric targets in the children (medians are there already), and the impurity around them.

    Exact sums: w.sums holds weight x target.  Where all targets are equal, the mean is exactly this target, without rounding.
    """
    cdef NodeTable* t = w.nodes
    cdef Child* child
    cdef int32_t n_outputs = p.n_outputs
    cdef int64_t b
    cdef int32_t o
    cdef double risk
    cdef size_t at
    for b in range(n_children):
        child = &w.children[b]
        for o in range(n_outputs):
            at = b * n_outputs + o
            if p.sweep != MEDIANS:
                t.value[child.id * n_outputs + o] = exact_value(&w.sums[at]) / (<double> child.totals.weight * p.unit)
            w.sums[at] = p.zero_deviation[o]
            w.varies[at] = False
    if not goes_two_ways(p, two):
        add_deviations_by_branch(p, block, w, rows, n, n_children, two)
    elif n > 2:
        add_deviations_two_ways(p, block, w, rows, n)
    for b in range(n_children):
        child = &w.children[b]
        risk = 0
        for o in range(n_outputs):
            at = b * n_outputs + o
            if w.varies[at]:
                risk = add_output(p, o, risk, max(exact_value(&w.sums[at]), 0.0))
            else:
                t.value[child.id * n_outputs + o] = w.any_target[at]
        t.n_samples[child.id] = child.totals.n
        t.weight[child.id] = <double> child.totals.weight * p.unit
        child.totals.risk = risk = risk_of_outputs(p, risk, t.weight[child.id])
        t.impurity[child.id] = risk / t.weight[child.id]
