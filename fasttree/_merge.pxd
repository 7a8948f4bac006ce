"""C4.5's groups of categories (Quinlan 1993, chapter 7): greedy merging, by Release 8's steps.  Header only.

The search knows blocks: sets of the categories that occur in a node.  A category of hardly any weight is in none.  Where a block
disappears the last one takes its place: the order of the blocks, by which sums are rounded and ties fall, is part of the search.
"""

from libc.math cimport ceil
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from fasttree._impurity cimport class_base, single_gain_of, single_information, xlgx
from fasttree._types cimport RELEASE8_TOLERANCE, Problem, Scratch, Totals


cdef struct Merge:
    int64_t n              # blocks
    float base
    float gain             # of the present blocks
    float info
    float worth
    int64_t known          # weight
    int64_t weight


cdef struct Candidate:     # the blocks with two of them merged; i = j: as they are
    int64_t i
    int64_t j
    float gain
    float info
    float worth


cdef inline float cases(const Problem* p, int64_t weight) noexcept nogil:
    return <float> (<double> weight * p.unit)


cdef inline float worth_of_groups(const Problem* p, float gain, float info) noexcept nogil:
    """As features compete, with a least gain that single precision makes a hair more than the tolerance."""
    if p.ratio:
        if gain >= <double> <float> RELEASE8_TOLERANCE - RELEASE8_TOLERANCE and info > RELEASE8_TOLERANCE:
            return gain / info
    elif info > 0 and gain > -RELEASE8_TOLERANCE:
        return gain
    return -RELEASE8_TOLERANCE


cdef inline void evaluate_merge(
    const Problem* p, Scratch* s, const Merge* m, int64_t i, int64_t j, double least, Candidate* out,
) noexcept nogil:
    """Gain, split information and worth of the blocks with i < j merged, or (i = j) as they are.

    Not usable unless at least two blocks weigh `least`.
    """
    cdef int32_t k
    cdef int64_t b, at, weight
    cdef int64_t reasonable = 0
    cdef int64_t n = m.n if i == j else m.n - 1
    cdef float info = 0
    cdef float part_info, v
    cdef float t = cases(p, m.weight - m.known)
    cdef float u = <float> xlgx(t)
    for b in range(n):
        at = b
        if i != j and b == j:
            at = m.n - 1
        weight = s.block_weight[at]
        part_info = s.block_info[at]
        if i != j and b == i:
            weight += s.block_weight[j]
            for k in range(p.n_classes):
                s.left[k] = s.block_stat[i * p.width + k] + s.block_stat[j * p.width + k]
            part_info = single_information(s.left, NULL, p.n_classes, p.unit)
        v = cases(p, weight)
        info = info + part_info
        u = <float> (u + xlgx(v))
        t = t + v
        reasonable += v >= least
    out.i = i
    out.j = j
    out.gain = -RELEASE8_TOLERANCE
    if reasonable >= 2:
        out.gain = single_gain_of(p, m.base, info, m.known, m.weight, False)
    out.info = <float> (xlgx(t) - u) / cases(p, m.weight)
    out.worth = worth_of_groups(p, out.gain, out.info)


cdef inline void merge_blocks(const Problem* p, Scratch* s, Merge* m, int64_t q, int64_t i, int64_t j) noexcept nogil:
    """Merge block j into i; the last block takes the place of j."""
    cdef int64_t g
    cdef int64_t last = m.n - 1
    cdef int32_t k
    for k in range(p.n_classes):
        s.block_stat[i * p.width + k] += s.block_stat[j * p.width + k]
    s.block_weight[i] += s.block_weight[j]
    s.block_info[i] = single_information(&s.block_stat[i * p.width], NULL, p.n_classes, p.unit)
    if j != last:
        memcpy(&s.block_stat[j * p.width], &s.block_stat[last * p.width], p.n_classes * sizeof(int64_t))
        s.block_weight[j] = s.block_weight[last]
        s.block_info[j] = s.block_info[last]
    for g in range(q):
        if s.block_of[g] == j:
            s.block_of[g] = <int32_t> i
        elif s.block_of[g] == last:
            s.block_of[g] = <int32_t> j
    m.n = last


cdef inline bint merge_pure(const Problem* p, Scratch* s, Merge* m, int64_t q) noexcept nogil:
    """Merge the blocks that hold (almost) one class alone, class by class.  Were there any?"""
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
    return best.i < 0 and (not p.ratio or large < 2)


cdef inline void climb(const Problem* p, Scratch* s, Merge* m, int64_t q) noexcept nogil:
    """Merge the best pair of blocks as long as that pays, down to two."""
    cdef float least_gain = m.gain / 2
    cdef int64_t i, j, b, large, largest
    cdef Candidate best, pair
    while m.n > 2:
        large = 0
        largest = 0
        for b in range(m.n):
            large += cases(p, s.block_weight[b]) >= p.min_branch_weight
            if cases(p, s.block_weight[b]) > cases(p, s.block_weight[largest]):
                largest = b
        best.i = -1
        best.gain = -RELEASE8_TOLERANCE
        best.worth = 0
        for i in range(m.n - 1):
            for j in range(i + 1, m.n):
                if large < 3 and (i == largest or j == largest):
                    continue
                evaluate_merge(p, s, m, i, j, 1.0, &pair)
                if better_pair(p, &best, &pair, least_gain, large):
                    best = pair
        if best.i < 0:
            return
        if p.ratio and large >= 2:
            if best.worth < m.worth + 0.00001 or (best.worth == m.worth and best.gain < m.gain):
                return
        m.gain = best.gain
        m.info = best.info
        m.worth = best.worth
        merge_blocks(p, s, m, q, best.i, best.j)


cdef inline bint merge_groups(
    const Problem* p, Scratch* s, const Totals* known, int64_t q, int64_t node_weight, Merge* m,
) noexcept nogil:
    """Divide the q groups of a node into blocks: s.block_of, -1 for those that are in none.  False if no split is usable.

    m.gain and m.info are then what the split competes with.
    """
    cdef int64_t g
    cdef Candidate whole
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
        s.block_info[g] = single_information(&s.block_stat[g * p.width], NULL, p.n_classes, p.unit)
    evaluate_merge(p, s, m, 0, 0, 1.0, &whole)
    m.n = 0
    for g in range(q):
        s.block_of[g] = -1
        if cases(p, s.group_w[g]) > 0.5:
            s.block_of[g] = <int32_t> m.n
            memcpy(&s.block_stat[m.n * p.width], &s.group_stat[g * p.width], p.n_classes * sizeof(int64_t))
            s.block_weight[m.n] = s.group_w[g]
            s.block_info[m.n] = s.block_info[g]
            m.n += 1
    if merge_pure(p, s, m, q):
        evaluate_merge(p, s, m, 0, 0, 1.0, &whole)
    m.gain = whole.gain
    m.info = whole.info
    m.worth = whole.worth
    climb(p, s, m, q)
    if m.worth <= 0:
        return False
    evaluate_merge(p, s, m, 0, 0, p.min_branch_weight, &whole)
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
