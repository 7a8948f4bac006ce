"""A finished tree as arrays, and the ways of a sample through it.  Header only.

A sample takes one branch of a node, or shares itself out among several; `visit` lists all nodes that it reaches.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from fasttree._engine.types cimport NODE_CATEGORY, NODE_INTERVALS, NODE_KNOWN, NODE_THRESHOLD, TO_SHARES, TO_STOP
from fasttree._engine.walk.rows cimport NO_BRANCH, TO_BOTH, Rows, number


cdef struct Flat:                  # the arrays of a finished tree
    const int32_t* first_child
    const int32_t* n_branches
    const int32_t* feature
    const uint8_t* kind
    const double* threshold
    const int32_t* missing
    const int64_t* table_start
    const uint32_t* table_code
    const int32_t* table_branch
    const double* weight
    const int64_t* cut_start   # intervals; NULL: there are none
    const double* cut
    const double* lower        # soft thresholds; NULL: all are hard
    const double* upper
    const int64_t* surrogate_start     # tests used where the tested value is missing; NULL: there are none
    const int32_t* surrogate_feature
    const uint8_t* surrogate_kind
    const double* surrogate_threshold
    const int32_t* low_branch
    const int64_t* surrogate_table_start
    const uint32_t* surrogate_code
    const int32_t* surrogate_branch
    bint means                         # values are means, not class weights


cdef struct Way:               # where a sample goes from an inner node
    int32_t branch             # all of it; or TO_SHARES, TO_STOP, TO_BOTH
    double left                # TO_BOTH: the part of it that goes to branch 0
    double whole               # TO_SHARES: what the children weigh together


ctypedef fused sorted_t:
    uint32_t
    double


cdef inline int64_t first_from(const sorted_t* items, int64_t start, int64_t stop, sorted_t wanted) noexcept nogil:
    """Index of the first item of a part of an array, ascending, that is not smaller than `wanted`; `stop` if all are."""
    cdef int64_t middle
    while start < stop:
        middle = (start + stop) // 2
        if items[middle] < wanted:
            start = middle + 1
        else:
            stop = middle
    return start


cdef inline int32_t branch_in_table(
    const uint32_t* codes, const int32_t* branches, int64_t start, int64_t stop, uint32_t code,
) noexcept nogil:
    """Branch of a category in a part of a table that is sorted by code; NO_BRANCH if it is not there."""
    cdef int64_t at = first_from(codes, start, stop, code)
    return branches[at] if at < stop and codes[at] == code else NO_BRANCH


cdef inline int32_t cuts_below(const double* cuts, int64_t start, int64_t stop, double x) noexcept nogil:
    """How many of a part of an array, ascending, are smaller than x."""
    return <int32_t> (first_from(cuts, start, stop, x) - start)


cdef inline int32_t known_branch(const Flat* t, int32_t node, double x) noexcept nogil:
    """Branch of a value at an inner node; NO_BRANCH if it is missing or unknown there."""
    cdef uint8_t kind = t.kind[node]
    if kind == NODE_THRESHOLD:
        return NO_BRANCH if isnan(x) else x > t.threshold[node]
    if kind == NODE_KNOWN:
        return 1 if isnan(x) else 0
    if kind == NODE_INTERVALS:
        return NO_BRANCH if isnan(x) else cuts_below(t.cut, t.cut_start[node], t.cut_start[node + 1], x)
    if not x >= 1:
        return NO_BRANCH
    if kind == NODE_CATEGORY:
        return <int32_t> x - 1 if x <= t.n_branches[node] else NO_BRANCH
    return branch_in_table(t.table_code, t.table_branch, t.table_start[node], t.table_start[node + 1], <uint32_t> x)


cdef inline int32_t surrogate_says(const Flat* t, int64_t s, double x) noexcept nogil:
    """Branch of a value of a surrogate's feature; NO_BRANCH if it is missing or unknown there."""
    if t.surrogate_kind[s] == NODE_THRESHOLD:
        if isnan(x):
            return NO_BRANCH
        return t.low_branch[s] ^ (x > t.surrogate_threshold[s])
    if not x >= 1:
        return NO_BRANCH
    return branch_in_table(
        t.surrogate_code, t.surrogate_branch, t.surrogate_table_start[s], t.surrogate_table_start[s + 1], <uint32_t> x
    )


cdef inline int32_t branch_of(const Flat* t, int32_t node, const Rows* X, Py_ssize_t row) noexcept nogil:
    """Branch of a row at an inner node: as its value says, else its first surrogate that decides, else as `missing` says.

    SHARES and STOP are negative.
    """
    cdef int32_t branch = known_branch(t, node, number(X, row, t.feature[node]))
    cdef int64_t s
    if branch != NO_BRANCH:
        return branch
    if t.surrogate_start != NULL:
        for s in range(t.surrogate_start[node], t.surrogate_start[node + 1]):
            branch = surrogate_says(t, s, number(X, row, t.surrogate_feature[s]))
            if branch != NO_BRANCH:
                return branch
    return t.missing[node]


cdef inline double left_part(double lower, double threshold, double upper, double x) noexcept nogil:
    """Part of a sample that a soft threshold sends left (Quinlan 1993, chapter 8; the 0.001 is his program's).

    1 up to `lower`, 0 from `upper` on, linear between: a half at the threshold, and at most a half above it.
    """
    if x <= lower:
        return 1.0
    # halves: the length of an interval could overflow
    if x <= threshold:
        return 1.0 - 0.5 * (0.5 * x - 0.5 * lower) / (0.5 * threshold - 0.5 * lower + 0.0005)
    if x < upper:
        return 0.5 - 0.5 * (0.5 * x - 0.5 * threshold) / (0.5 * upper - 0.5 * threshold + 0.0005)
    return 0.0


cdef inline Way way_of(const Flat* t, int32_t node, const Rows* X, Py_ssize_t row) noexcept nogil:
    """Where a row goes from an inner node; `part_of` returns its parts by branch."""
    cdef Way way
    cdef double x
    cdef int32_t branch
    way.left = way.whole = 0
    if t.lower != NULL and t.kind[node] == NODE_THRESHOLD:
        x = number(X, row, t.feature[node])
        if not isnan(x):
            way.left = left_part(t.lower[node], t.threshold[node], t.upper[node], x)
            way.branch = TO_BOTH if 0 < way.left < 1 else way.left == 0
            return way
    way.branch = branch_of(t, node, X, row)
    if way.branch == TO_SHARES:            # not the node's weight: parts of samples are rounded
        for branch in range(t.n_branches[node]):
            way.whole += t.weight[t.first_child[node] + branch]
    return way


cdef inline double part_of(const Flat* t, int32_t node, const Way* way, int32_t branch) noexcept nogil:
    """The part of a row that goes along a branch of a node, or that stays there (TO_STOP); empty children get no shares."""
    if way.branch >= 0 or way.branch == TO_STOP:
        return branch == way.branch
    if branch == TO_STOP:
        return 0
    if way.branch == TO_SHARES:
        return t.weight[t.first_child[node] + branch] / way.whole
    return way.left if branch == 0 else 1 - way.left if branch == 1 else 0


cdef inline int64_t visit(
    const Flat* t, const Rows* X, Py_ssize_t row, int32_t start, int32_t* stack, double* parts,
    int32_t* nodes, double* weights,
) noexcept nogil:
    """Every node from `start` down that a row reaches, with the part of it that arrives there; parents first.

    A value that goes nowhere (SHARES) is divided in proportion to the children's weights; empty children get nothing.  A soft
    threshold divides the values near it.  Returns the number of nodes.
    """
    cdef int64_t n = 0
    cdef int64_t waiting = 1
    cdef int32_t node, branch
    cdef double part, here
    cdef Way way
    stack[0] = start
    parts[0] = 1.0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        here = parts[waiting]
        nodes[n] = node
        weights[n] = here
        n += 1
        if t.first_child[node] < 0:
            continue
        way = way_of(t, node, X, row)
        if way.branch >= 0:
            stack[waiting] = t.first_child[node] + way.branch
            parts[waiting] = here
            waiting += 1
        elif way.branch != TO_STOP:
            for branch in range(t.n_branches[node] - 1, -1, -1):
                part = part_of(t, node, &way, branch)
                if part > 0:
                    stack[waiting] = t.first_child[node] + branch
                    parts[waiting] = here * part
                    waiting += 1
    return n


cdef inline bint stops(const Flat* t, const Rows* X, Py_ssize_t row, int32_t node) noexcept nogil:
    """Does a row that reached this node end here?"""
    return t.first_child[node] < 0 or branch_of(t, node, X, row) == TO_STOP


cdef inline void add_shares(
    const Flat* t, const double[:, ::1] value, int32_t node, double part, double* shares,
) noexcept nogil:
    """Add the class shares of a node, or its mean, times `part`; `value` is `Tree.contribution`."""
    cdef Py_ssize_t k
    cdef double whole = t.weight[node] if t.weight[node] > 0 and not t.means else 1
    for k in range(value.shape[1]):
        shares[k] += part * value[node, k] / whole


cdef inline const Flat* arrays_of(object tree) except NULL:
    """The arrays of a `Tree`; they stay as long as the tree."""
    return <const Flat*> PyCapsule_GetPointer(tree.walker.arrays, b"fasttree.Flat")


cdef inline int32_t class_from(
    const Flat* t, const Rows* X, Py_ssize_t row, int32_t start, const double[:, ::1] value, const int32_t[::1] label,
    int32_t* stack, double* parts, int32_t* nodes, double* weights, double* shares,
) noexcept nogil:
    """Class of a row that starts at a node, the first on ties.  Scratch: as many entries as nodes, `shares` as classes."""
    cdef int32_t node = start
    cdef int32_t branch
    cdef int32_t best = 0
    cdef int64_t i, n
    cdef Py_ssize_t k
    while t.first_child[node] >= 0:
        branch = branch_of(t, node, X, row)
        if branch < 0:
            break
        node = t.first_child[node] + branch
    if stops(t, X, row, node):
        return label[node]
    n = visit(t, X, row, node, stack, parts, nodes, weights)
    for k in range(value.shape[1]):
        shares[k] = 0
    for i in range(n):
        if stops(t, X, row, nodes[i]):
            add_shares(t, value, nodes[i], weights[i], shares)
    for k in range(1, value.shape[1]):
        if shares[k] > shares[best]:
            best = <int32_t> k
    return best
