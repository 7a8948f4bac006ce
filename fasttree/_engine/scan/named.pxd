"""C5.0's groups of categories: greedy merging, where a division pays for naming it.  Header only.

The search starts from a branch per category that occurs.  Pairs of groups of the largest gain merge, down to two groups, and the
best of all divisions on the way is taken.  A group has the number of its first category; one that another has taken in is dead.
"""

from libc.math cimport INFINITY, fabs, isinf, log2
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcpy

from fasttree._engine.risk.impurity cimport ENTROPY, class_risk, xlogx
from fasttree._engine.types cimport Problem, Scratch, Totals
from fasttree._engine.watch cimport interrupted

cdef extern from *:
    """
    #define FASTTREE_NAMED_OCCURS 1e-4     /* weight above which a category is in a group */
    #define FASTTREE_NAMED_ALIKE 1e-3      /* by which the class shares of categories differ that merge at once */
    #define FASTTREE_NAMED_STEP 1e-4       /* by which the gain of a later pair must be larger */
    """
    const double OCCURS "FASTTREE_NAMED_OCCURS"
    const double ALIKE "FASTTREE_NAMED_ALIKE"
    const double STEP "FASTTREE_NAMED_STEP"

cdef enum:
    DEAD = -1


cdef struct Named:
    int64_t q              # categories that occur in the node
    int64_t n_first        # groups at the start
    int64_t n              # groups
    double base            # information of the classes, bits x weight
    double info            # of the classes within the groups
    double terms           # sum of weight x log2 weight over groups and missing values
    double known           # weight
    double cases
    double value           # of the best division
    double gain
    double split           # split information per case
    int64_t n_best


cdef inline double weight_of(const Problem* p, const Scratch* s, int64_t b) noexcept nogil:
    return <double> s.block_weight[b] * p.unit


cdef inline bint is_alive(const Scratch* s, int64_t b) noexcept nogil:
    return s.block_weight[b] != DEAD


cdef inline double* information_at(Scratch* s, int64_t i, int64_t j) noexcept nogil:
    """Information of two groups as one, i < j; of a group itself on the diagonal."""
    return &s.pair_info[i * s.most_blocks + j]


cdef inline double joined_information(const Problem* p, Scratch* s, int64_t i, int64_t j) noexcept nogil:
    cdef int32_t k
    for k in range(p.n_classes):
        s.left[k] = s.block_stat[i * p.width + k] + s.block_stat[j * p.width + k]
    return class_risk(ENTROPY, s.left, p.n_classes, p.unit)


cdef inline bint enough(const Problem* p, const Scratch* s, int64_t b) noexcept nogil:
    return is_alive(s, b) and weight_of(p, s, b) >= p.min_branch_weight * (1 - 1e-12)


cdef inline int64_t count_enough(const Problem* p, const Scratch* s, const Named* m) noexcept nogil:
    """Count the groups that weigh as much as a branch must."""
    cdef int64_t n = 0
    cdef int64_t b
    for b in range(m.q):
        n += enough(p, s, b)
    return n


cdef inline double gain_of_information(const Named* m, double info) noexcept nogil:
    """Gain per case, where missing values gain nothing."""
    return max((m.base - info) / m.cases, 0.0)


cdef inline double price(const Scratch* s, const Named* m) noexcept nogil:
    """Bits that name one of the ways to divide the first groups into as many as there are."""
    cdef double ways = s.group_key[m.n]
    return <double> (m.n_first - m.n + 1) * log2(<double> m.n) if isinf(ways) else log2(ways)


cdef inline void count_ways(Scratch* s, int64_t n) noexcept nogil:
    """Write Stirling's numbers of the second kind, the ways to divide n things into k parts, to group_key[k]."""
    cdef int64_t i, k
    for k in range(n + 1):
        s.group_key[k] = 0
    s.group_key[1] = 1
    for i in range(2, n + 1):
        for k in range(i, 1, -1):
            s.group_key[k] = s.group_key[k - 1] + <double> k * s.group_key[k]


cdef inline void keep(Scratch* s, Named* m, double value, double gain, double split) noexcept nogil:
    """Make the present groups the best division."""
    cdef int64_t n = 0
    cdef int64_t g
    for g in range(m.q):
        s.block_of[g] = -1
        if s.branch_of_group[g] == <uint32_t> g:
            s.block_of[g] = <int32_t> n
            n += 1
        elif s.branch_of_group[g] < <uint32_t> m.q:
            s.block_of[g] = s.block_of[s.branch_of_group[g]]
    m.n_best = n
    m.value = value
    m.gain = gain
    m.split = split


cdef inline void judge(Scratch* s, Named* m) noexcept nogil:
    """Keep the present groups if they are as good as the best division, after they have paid for their name."""
    cdef double gain = gain_of_information(m, m.info)
    cdef double split = (xlogx(m.cases) - m.terms) / m.cases
    cdef double bits = price(s, m)
    if split > 0 and (gain - bits / m.cases) / split >= m.value:
        keep(s, m, (gain - bits / m.cases) / split, gain - bits / m.known, split)


cdef inline void join(const Problem* p, Scratch* s, Named* m, int64_t i, int64_t j) noexcept nogil:
    """Merge group j into group i < j."""
    cdef int64_t g
    cdef int32_t k
    cdef double joined = joined_information(p, s, i, j)
    m.info += joined - information_at(s, i, i)[0] - information_at(s, j, j)[0]
    m.terms += xlogx(weight_of(p, s, i) + weight_of(p, s, j)) - xlogx(weight_of(p, s, i)) - xlogx(weight_of(p, s, j))
    for k in range(p.n_classes):
        s.block_stat[i * p.width + k] += s.block_stat[j * p.width + k]
    s.block_weight[i] += s.block_weight[j]
    s.block_weight[j] = DEAD
    information_at(s, i, i)[0] = joined
    for g in range(m.q):
        if s.branch_of_group[g] == <uint32_t> j:
            s.branch_of_group[g] = <uint32_t> i
    m.n -= 1


cdef inline bint alike(const Problem* p, const Scratch* s, int64_t i, int64_t j) noexcept nogil:
    """Have two groups the same class shares?"""
    cdef double one, other
    cdef int32_t k
    for k in range(p.n_classes):
        one = <double> s.block_stat[i * p.width + k] / <double> s.block_weight[i]
        other = <double> s.block_stat[j * p.width + k] / <double> s.block_weight[j]
        if fabs(one - other) >= ALIKE:
            return False
    return True


cdef inline void join_alike(const Problem* p, Scratch* s, Named* m) noexcept nogil:
    cdef int64_t i, j
    for i in range(m.q):
        for j in range(i + 1, m.q):
            if is_alive(s, i) and is_alive(s, j) and alike(p, s, i, j):
                join(p, s, m, i, j)


cdef inline bint join_best(const Problem* p, Scratch* s, Named* m) noexcept nogil:
    """Merge the first pair of largest gain, but not the only two groups that weigh enough; False if there is none."""
    cdef double most = -INFINITY
    cdef double gain
    cdef int64_t i, j
    cdef int64_t best = -1
    cdef int64_t with_it = -1
    cdef bint only_two = count_enough(p, s, m) == 2
    for i in range(m.q):
        if not is_alive(s, i):
            continue
        for j in range(i + 1, m.q):
            if not is_alive(s, j) or (only_two and enough(p, s, i) and enough(p, s, j)):
                continue
            gain = m.info + information_at(s, i, j)[0] - information_at(s, i, i)[0] - information_at(s, j, j)[0]
            gain = gain_of_information(m, gain)
            if best < 0 or gain > most + STEP:
                most = gain
                best = i
                with_it = j
    if best < 0:
        return False
    join(p, s, m, best, with_it)
    for j in range(m.q):
        if j != best and is_alive(s, j):
            information_at(s, min(best, j), max(best, j))[0] = joined_information(p, s, best, j)
    return True


cdef inline bint start(const Problem* p, Scratch* s, const Totals* known, int64_t q, int64_t weight, Named* m) noexcept nogil:
    """Set up a group per category; False if there is nothing to divide."""
    cdef int64_t g
    m.q = q
    m.n = 0
    m.known = <double> known.weight * p.unit
    m.cases = <double> weight * p.unit
    m.base = class_risk(ENTROPY, known.counts, p.n_classes, p.unit)
    m.info = 0
    m.terms = xlogx(m.cases - m.known)
    for g in range(q):
        memcpy(&s.block_stat[g * p.width], &s.group_stat[g * p.width], p.n_classes * sizeof(int64_t))
        s.block_weight[g] = s.group_w[g]
        s.branch_of_group[g] = <uint32_t> g
        if weight_of(p, s, g) > OCCURS:
            information_at(s, g, g)[0] = class_risk(ENTROPY, &s.block_stat[g * p.width], p.n_classes, p.unit)
            m.info += information_at(s, g, g)[0]
            m.terms += xlogx(weight_of(p, s, g))
            m.n += 1
        else:
            s.block_weight[g] = DEAD
            s.branch_of_group[g] = <uint32_t> q
    m.n_first = m.n
    return m.n >= 2 and count_enough(p, s, m) > 0


cdef inline bint divide_by_message(
    const Problem* p, Scratch* s, const Totals* known, int64_t q, int64_t weight, Named* m,
) noexcept nogil:
    """Divide the q categories of a node into groups: s.block_of, -1 for those that are in none.  False if none is usable."""
    cdef int64_t i, j
    if not start(p, s, known, q, weight, m):
        return False
    count_ways(s, m.n)
    m.split = (xlogx(m.cases) - m.terms) / m.cases
    m.gain = gain_of_information(m, m.info)
    keep(s, m, m.gain / m.split, m.gain, m.split)
    join_alike(p, s, m)
    if m.n < m.n_first and m.n >= 2 and count_enough(p, s, m) >= 2:
        judge(s, m)
    for i in range(q):
        for j in range(i + 1, q):
            if is_alive(s, i) and is_alive(s, j):
                information_at(s, i, j)[0] = joined_information(p, s, i, j)
        if interrupted(s.watch, q * p.n_classes):
            return False
    while m.n > 2 and not interrupted(s.watch, q * q) and join_best(p, s, m):
        judge(s, m)
    return True
