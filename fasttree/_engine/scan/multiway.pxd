"""Cuts with a branch per category, or per group of categories.  Header only."""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport int32_t, int64_t

from fasttree._engine.risk.impurity cimport POISSON, risk_of
from fasttree._engine.risk.medians cimport gain_of_parts
from fasttree._engine.risk.release8 cimport in_single, most_leaves
from fasttree._engine.scan.cut cimport Division, no_cut
from fasttree._engine.scan.divisions cimport gain_of_part
from fasttree._engine.scan.merged cimport Merge, branches_admitted, merge_groups
from fasttree._engine.types cimport BRANCH_CUT, MEDIANS, MERGE_CUT, Cut, Problem, Scratch, Totals

cdef inline Cut branch_per_group(const Problem* p, Scratch* s, const Division* division) noexcept nogil:
    """The split with a branch per category.

    Poisson: none where a branch would have no events, as with two branches.
    """
    cdef Cut cut = no_cut(division.feature)
    cdef const Totals* total = division.total
    cdef int64_t q = division.n_groups
    cdef int64_t g
    cdef int32_t k
    cdef int64_t reasonable = 0
    cdef int64_t n_heavy = 0
    cdef int64_t least = 0
    cdef double remaining = 0
    cdef double w
    if q < 2 or total.weight <= 0:
        return cut
    least = <int64_t> ceil(p.min_weight_leaf / p.unit * (1 - 1e-12))
    for g in range(q):
        if s.group_n[g] < p.min_samples_leaf or s.group_w[g] < least:
            return cut
        w = <double> s.group_w[g] * p.unit
        if w >= p.min_branch_weight * (1 - 1e-12):
            reasonable += 1
        n_heavy += w > 0.5  # C5.0 counts such a branch as a leaf
        for k in range(p.width if p.impurity == POISSON else 0):
            if s.group_stat[g * p.width + k] == 0:
                return cut
        if p.n_classes:
            if not in_single(p) or p.min_impurity_decrease > 0 or p.min_gain > -INFINITY:  # else the gain is not used
                remaining += risk_of(p, &s.group_stat[g * p.width])
        else:
            remaining -= gain_of_part(p, total, &s.group_stat[g * p.width], s.group_w[g])
    if p.release8 and reasonable < 2:
        return cut
    if p.leaves_per_weight and n_heavy > most_leaves(p, division.node.weight) + 1:
        return cut
    cut.gain = max(total.risk - remaining if p.n_classes else -remaining, 0.0)
    if p.sweep == MEDIANS:
        cut.gain = gain_of_parts(p, total.n if p.parts.with_missing else total.n + p.parts.n_missing, q)
    cut.first_gain = cut.gain
    cut.form = BRANCH_CUT
    cut.n_branches = <int32_t> q
    return cut


cdef inline Cut branch_per_block(const Problem* p, Scratch* s, const Division* division) noexcept nogil:
    """The split with a branch per group of categories, as C4.5 merges them."""
    cdef Cut cut = no_cut(division.feature)
    cdef const Totals* known = division.total
    cdef int64_t q = division.n_groups
    cdef Merge m
    cdef int64_t b
    if q < 2 or not merge_groups(p, s, known, q, division.node.weight, &m) or not branches_admitted(p, s, q, m.n):
        return cut
    cut.gain = known.risk
    for b in range(m.n):
        cut.gain -= risk_of(p, &s.block_stat[b * p.width])
    cut.gain = max(cut.gain, 0.0)
    cut.first_gain = cut.gain
    cut.single_gain = m.gain
    cut.single_info = m.info
    cut.form = MERGE_CUT
    cut.n_branches = <int32_t> m.n
    return cut
