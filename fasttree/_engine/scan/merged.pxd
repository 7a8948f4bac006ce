"""Cuts with a branch per category, or per group of categories.  Header only.

C4.5 finds groups (Quinlan 1993, chapter 7) by greedy merging, by Release 8's steps or those of C5.0.

The search works on blocks: sets of the categories that occur in a node.  A category of hardly any weight is in none.  If a block
disappears, the last one takes its place: rounding and ties depend on the order of the blocks, which is part of the search.
"""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from fasttree._engine.risk.impurity cimport ENTROPY, POISSON, class_risk, risk_of, xlogx
from fasttree._engine.risk.medians cimport gain_of_parts
from fasttree._engine.risk.release8 cimport class_base, in_single, most_leaves, single_gain_of, single_information, xlgx
from fasttree._engine.scan.cut cimport Division, no_cut
from fasttree._engine.scan.divisions cimport gain_of_part
from fasttree._engine.scan.named cimport Named, divide_by_message
from fasttree._engine.types cimport (
    BRANCH_CUT, MDL_RATIO, MEDIANS, MERGE_CUT, RELEASE8_TOLERANCE, Cut, Problem, Scratch, Totals,
)
from fasttree._engine.watch cimport interrupted


cdef enum:
    LEAST_IN_SEARCH = 1    # weight of a reasonable block while the search goes on
    FEW_BLOCKS = 128       # of more, pairs are judged in double precision: the program's own sums would take the fourth power


cdef struct Merge:
    int64_t n              # blocks
    float base
    float gain             # of the present blocks
    float info
    float worth
    int64_t known          # weight
    int64_t weight


cdef struct Candidate:     # the blocks with two of them merged
    int64_t i
    int64_t j
    float gain
    float info
    float worth


cdef inline float cases(const Problem* p, int64_t weight) noexcept nogil:
    return <float> (<double> weight * p.unit)


cdef inline float worth_of_groups(const Problem* p, float gain, float info) noexcept nogil:
    """As features compete, with a least gain that single precision makes a hair more than the tolerance."""
    if p.rank:
        if gain >= <double> <float> RELEASE8_TOLERANCE - RELEASE8_TOLERANCE and info > RELEASE8_TOLERANCE:
            return gain / info
    elif info > 0 and gain > -RELEASE8_TOLERANCE:
        return gain
    return -RELEASE8_TOLERANCE


cdef inline void set_block(const Problem* p, Scratch* s, int64_t b) noexcept nogil:
    """Complete a block whose class weights and weight are known."""
    s.block_info[b] = single_information(p, &s.block_stat[b * p.width], NULL, p.n_classes)
    s.block_term[b] = xlgx(cases(p, s.block_weight[b]))


cdef struct Running:       # sums over blocks as Release 8 rounds them
    float info
    float terms
    float weight
    int64_t reasonable     # blocks of enough weight


cdef inline Running start_running(const Problem* p, const Merge* m) noexcept nogil:
    cdef Running sums
    sums.info = 0
    sums.weight = cases(p, m.weight - m.known)
    sums.terms = <float> xlgx(sums.weight)
    sums.reasonable = 0
    return sums


cdef inline void run_block(const Problem* p, const Scratch* s, int64_t b, double least, Running* sums) noexcept nogil:
    cdef float v = cases(p, s.block_weight[b])
    sums.info = sums.info + s.block_info[b]
    sums.terms = <float> (sums.terms + s.block_term[b])
    sums.weight = sums.weight + v
    sums.reasonable += v >= least


cdef inline void finish_running(const Problem* p, const Merge* m, const Running* sums, Candidate* out) noexcept nogil:
    out.gain = -RELEASE8_TOLERANCE
    if sums.reasonable >= 2:
        out.gain = single_gain_of(p, m.base, sums.info, m.known, m.weight, False)
    out.info = <float> (xlgx(sums.weight) - sums.terms) / cases(p, m.weight)
    out.worth = worth_of_groups(p, out.gain, out.info)


cdef inline void evaluate_blocks(const Problem* p, Scratch* s, const Merge* m, double least, Candidate* out) noexcept nogil:
    """Gain, split information and worth of the blocks as they are; not usable unless at least two blocks weigh `least`."""
    cdef Running sums = start_running(p, m)
    cdef int64_t b
    for b in range(m.n):
        run_block(p, s, b, least, &sums)
    finish_running(p, m, &sums, out)


cdef inline double information_of_pair(const Problem* p, Scratch* s, int64_t i, int64_t j, bint rounded) noexcept nogil:
    """Information of two blocks as one: as Release 8 rounds it, or in double and less that of the two."""
    cdef double joined, parts
    cdef int32_t k
    for k in range(p.n_classes):
        s.left[k] = s.block_stat[i * p.width + k] + s.block_stat[j * p.width + k]
    if rounded:
        return single_information(p, s.left, NULL, p.n_classes)
    joined = class_risk(ENTROPY, s.left, p.n_classes, p.unit)
    parts = class_risk(ENTROPY, &s.block_stat[i * p.width], p.n_classes, p.unit)
    return joined - parts - class_risk(ENTROPY, &s.block_stat[j * p.width], p.n_classes, p.unit)


cdef inline void pairs_with(const Problem* p, Scratch* s, const Merge* m, int64_t i, bint rounded) noexcept nogil:
    """Write down the information of block i with every other block."""
    cdef int64_t b
    for b in range(m.n):
        if b != i:
            s.pair_info[i * s.most_blocks + b] = information_of_pair(p, s, min(i, b), max(i, b), rounded)
            s.pair_info[b * s.most_blocks + i] = s.pair_info[i * s.most_blocks + b]


cdef inline void evaluate_pair(
    const Problem* p, const Scratch* s, const Merge* m, const Running* before, int64_t i, int64_t j, Candidate* out,
) noexcept nogil:
    """The blocks with i < j merged, in the order that they would have; `before` sums those before i."""
    cdef Running sums = before[0]
    cdef float v = cases(p, s.block_weight[i] + s.block_weight[j])
    cdef int64_t b
    sums.info = sums.info + <float> s.pair_info[i * s.most_blocks + j]
    sums.terms = <float> (sums.terms + xlgx(v))
    sums.weight = sums.weight + v
    sums.reasonable += v >= LEAST_IN_SEARCH
    for b in range(i + 1, m.n - 1):
        run_block(p, s, m.n - 1 if b == j else b, LEAST_IN_SEARCH, &sums)
    out.i = i
    out.j = j
    finish_running(p, m, &sums, out)


cdef inline void estimate_pair(
    const Problem* p, const Scratch* s, const Merge* m, double info, double terms, int64_t reasonable, int64_t i, int64_t j,
    Candidate* out,
) noexcept nogil:
    """`evaluate_pair` in double precision, from sums over all blocks: what many blocks allow."""
    cdef double weight = <double> m.weight * p.unit
    cdef double known = <double> m.known * p.unit
    cdef double a = <double> s.block_weight[i] * p.unit
    cdef double b = <double> s.block_weight[j] * p.unit
    cdef double gain = m.base - (info + s.pair_info[i * s.most_blocks + j]) / known
    out.i = i
    out.j = j
    out.gain = -RELEASE8_TOLERANCE
    if reasonable - (a >= LEAST_IN_SEARCH) - (b >= LEAST_IN_SEARCH) + (a + b >= LEAST_IN_SEARCH) >= 2:
        out.gain = <float> (known / weight * gain)
    out.info = <float> ((xlogx(weight) - terms - xlogx(a + b) + s.block_term[i] + s.block_term[j]) / weight)
    out.worth = worth_of_groups(p, out.gain, out.info)


cdef inline void merge_blocks(const Problem* p, Scratch* s, Merge* m, int64_t q, int64_t i, int64_t j) noexcept nogil:
    """Merge block j into i; the last block takes the place of j."""
    cdef int64_t g
    cdef int64_t last = m.n - 1
    cdef int32_t k
    for k in range(p.n_classes):
        s.block_stat[i * p.width + k] += s.block_stat[j * p.width + k]
    s.block_weight[i] += s.block_weight[j]
    set_block(p, s, i)
    if j != last:
        memcpy(&s.block_stat[j * p.width], &s.block_stat[last * p.width], p.n_classes * sizeof(int64_t))
        s.block_weight[j] = s.block_weight[last]
        s.block_info[j] = s.block_info[last]
        s.block_term[j] = s.block_term[last]
    for g in range(q):
        if s.block_of[g] == j:
            s.block_of[g] = <int32_t> i
        elif s.block_of[g] == last:
            s.block_of[g] = <int32_t> j
    m.n = last


cdef inline bint merge_pure(const Problem* p, Scratch* s, Merge* m, int64_t q) noexcept nogil:
    """Merge the blocks that hold (almost) one class alone, class by class; return whether there were any."""
    cdef bint merged = False
    cdef int64_t i = 0
    cdef int64_t j
    cdef int32_t k
    while i < m.n - 1:
        k = 0
        while k < p.n_classes - 1 and cases(p, s.block_stat[i * p.width + k]) < 0.1:
            k += 1
        if cases(p, s.block_stat[i * p.width + k]) >= cases(p, s.block_weight[i]) - 0.1:
            j = i + 1
            while j < m.n:
                if cases(p, s.block_stat[j * p.width + k]) >= cases(p, s.block_weight[j]) - 0.1:
                    merge_blocks(p, s, m, q, i, j)
                    merged = True
                else:
                    j += 1
        i += 1
    return merged


cdef inline bint better_pair(
    const Problem* p, const Candidate* best, const Candidate* pair, float least_gain, int64_t large,
) noexcept nogil:
    if pair.gain >= least_gain and best.gain < least_gain:
        return True
    if pair.worth >= best.worth:
        return True
    return best.i < 0 and (not p.rank or large < 2)


cdef inline Candidate best_pair(
    const Problem* p, const Scratch* s, const Merge* m, float least_gain, int64_t large, int64_t largest, bint rounded,
) noexcept nogil:
    """The pair of blocks to merge; i = -1: none."""
    cdef Candidate best, pair
    cdef Running before = start_running(p, m)
    cdef double info = 0
    cdef double terms = xlogx(<double> (m.weight - m.known) * p.unit)
    cdef int64_t reasonable = 0
    cdef int64_t i, j
    best.i = -1
    best.j = -1
    best.gain = -RELEASE8_TOLERANCE
    best.info = 0
    best.worth = 0
    for i in range(m.n):
        info += s.block_info[i]
        terms += s.block_term[i]
        reasonable += cases(p, s.block_weight[i]) >= LEAST_IN_SEARCH
    for i in range(m.n - 1):
        for j in range(i + 1, m.n):
            if large < 3 and (i == largest or j == largest):
                continue
            if rounded:
                evaluate_pair(p, s, m, &before, i, j, &pair)
            else:
                estimate_pair(p, s, m, info, terms, reasonable, i, j, &pair)
            if better_pair(p, &best, &pair, least_gain, large):
                best = pair
        run_block(p, s, i, LEAST_IN_SEARCH, &before)
    return best


cdef inline void climb(const Problem* p, Scratch* s, Merge* m, int64_t q) noexcept nogil:
    """Merge the best pair of blocks while that improves the split, down to two."""
    cdef float least_gain = m.gain / 2
    cdef int64_t b, large, largest, last
    cdef bint rounded = m.n <= FEW_BLOCKS
    cdef Candidate best
    for b in range(m.n):
        if interrupted(s.watch, m.n * p.n_classes):
            return
        pairs_with(p, s, m, b, rounded)
    while m.n > 2 and not interrupted(s.watch, m.n * m.n):
        large = 0
        largest = 0
        for b in range(m.n):
            large += cases(p, s.block_weight[b]) >= p.min_branch_weight
            if cases(p, s.block_weight[b]) > cases(p, s.block_weight[largest]):
                largest = b
        best = best_pair(p, s, m, least_gain, large, largest, rounded)
        if best.i < 0:
            return
        if p.rank and large >= 2:
            if best.worth < m.worth + 0.00001 or (best.worth == m.worth and best.gain < m.gain):
                return
        m.gain = best.gain
        m.info = best.info
        m.worth = best.worth
        last = m.n - 1
        merge_blocks(p, s, m, q, best.i, best.j)
        if not rounded and m.n <= FEW_BLOCKS:
            rounded = True
            for b in range(m.n):
                pairs_with(p, s, m, b, rounded)
            continue
        if best.j != last:
            for b in range(m.n):
                s.pair_info[best.j * s.most_blocks + b] = s.pair_info[last * s.most_blocks + b]
                s.pair_info[b * s.most_blocks + best.j] = s.pair_info[b * s.most_blocks + last]
        pairs_with(p, s, m, best.i, rounded)


cdef inline void stats_of_blocks(const Problem* p, Scratch* s, int64_t q, int64_t n_blocks) noexcept nogil:
    """Add up the class weights of the blocks of a division."""
    cdef int64_t g
    cdef int32_t k
    memset(s.block_stat, 0, n_blocks * p.width * sizeof(int64_t))
    for g in range(q):
        for k in range(p.n_classes if s.block_of[g] >= 0 else 0):
            s.block_stat[s.block_of[g] * p.width + k] += s.group_stat[g * p.width + k]


cdef inline bint merge_groups(
    const Problem* p, Scratch* s, const Totals* known, int64_t q, int64_t node_weight, Merge* m,
) noexcept nogil:
    """Divide the q groups of a node into blocks: s.block_of, -1 for those that are in none.  False if no split is usable.

    m.gain and m.info are then what the split competes with.
    """
    cdef int64_t g
    cdef Candidate whole
    cdef Named named
    if p.rank == MDL_RATIO:
        if not divide_by_message(p, s, known, q, node_weight, &named):
            return False
        m.n = named.n_best
        m.gain = <float> named.gain
        m.info = <float> named.split
        stats_of_blocks(p, s, q, m.n)
        return True
    if cases(p, known.weight) < RELEASE8_TOLERANCE:
        return False
    m.known = known.weight
    m.weight = node_weight
    m.base = class_base(p, known)
    # the worth of a branch per category, before any is put aside
    m.n = q
    for g in range(q):
        memcpy(&s.block_stat[g * p.width], &s.group_stat[g * p.width], p.n_classes * sizeof(int64_t))
        s.block_weight[g] = s.group_w[g]
        set_block(p, s, g)
    evaluate_blocks(p, s, m, LEAST_IN_SEARCH, &whole)
    m.n = 0
    for g in range(q):
        s.block_of[g] = -1
        if cases(p, s.group_w[g]) > 0.5:
            s.block_of[g] = <int32_t> m.n
            memcpy(&s.block_stat[m.n * p.width], &s.group_stat[g * p.width], p.n_classes * sizeof(int64_t))
            s.block_weight[m.n] = s.group_w[g]
            s.block_info[m.n] = s.block_info[g]
            s.block_term[m.n] = s.block_term[g]
            m.n += 1
    if merge_pure(p, s, m, q):
        evaluate_blocks(p, s, m, LEAST_IN_SEARCH, &whole)
    m.gain = whole.gain
    m.info = whole.info
    m.worth = whole.worth
    climb(p, s, m, q)
    if m.worth <= 0:
        return False
    evaluate_blocks(p, s, m, p.min_branch_weight, &whole)
    m.gain = whole.gain
    return whole.gain > -RELEASE8_TOLERANCE


cdef inline bint branches_admitted(const Problem* p, Scratch* s, int64_t q, int64_t n_blocks) noexcept nogil:
    """Does every branch that samples reach hold as many as it must?"""
    cdef int64_t least = <int64_t> ceil(p.min_weight_leaf / p.unit * (1 - 1e-12))
    cdef int64_t g, b
    cdef int64_t n, w
    if p.min_samples_leaf <= 1 and least <= 0:
        return True
    for b in range(-1, n_blocks):
        n = 0
        w = 0
        for g in range(q):
            if s.block_of[g] == b:
                n += s.group_n[g]
                w += s.group_w[g]
        if n and (n < p.min_samples_leaf or w < least):
            return False
    return True


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
