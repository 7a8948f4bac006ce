"""From a sample to its leaf, or to several with a part of it each.  Header only.

Most walks go by steps: an inner node as 24 bytes that tell where values on either side of its threshold go.  Samples walk in
blocks, level by level, so that many of them wait for memory at once, and those that have arrived drop out without a branch.
What a step cannot tell, because a value is missing or a test is not a threshold alone, is asked of the tree itself.
"""

from libc.math cimport NAN, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._types cimport (
    NODE_CATEGORY, NODE_INTERVALS, NODE_KNOWN, NODE_THRESHOLD, TO_SHARES, TO_STOP, real_t,
)


cdef struct Rows:              # samples as numbers: codes as floats, missing = NaN
    const char* data
    Py_ssize_t n
    Py_ssize_t n_features
    Py_ssize_t row_stride      # in bytes, as the next
    Py_ssize_t column_stride
    bint single                # float32, else float64


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
    const int64_t* surrogate_start     # tests to ask where the tested value is missing; NULL: there are none
    const int32_t* surrogate_feature
    const uint8_t* surrogate_kind
    const double* surrogate_threshold
    const int32_t* low_branch
    const int64_t* surrogate_table_start
    const uint32_t* surrogate_code
    const int32_t* surrogate_branch
    bint means                         # values are means, not class weights


cdef enum:
    NO_BRANCH = -3             # a test says nothing on this value
    SEVERAL = 0x7FFFFFFF       # no node: a sample that does not reach one leaf alone
    BLOCK = 256                # samples that walk together; as many as a byte can number


cdef enum State:               # of the numbers in some rows
    FINITE
    MISSING_VALUES
    INFINITE
    ANY_STATE                  # refused by nobody


cdef struct Step:              # of a walk, at an inner node
    double threshold           # NaN: the tree is to be asked
    int32_t feature
    int32_t child[2]           # the step, or ~node of a leaf, to which the value belongs: x <= threshold, x > threshold


cdef struct Steps:             # of a finished tree
    const Flat* tree
    Step* step
    int32_t* node              # of each step
    int32_t* place             # of each node: its step, or ~node of a leaf
    int32_t n_shallow          # steps that no sample with known values walks less than; thresholds alone
    bint plain                 # nothing but hard thresholds with two branches


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


cdef inline double number(const Rows* X, Py_ssize_t row, int32_t feature) noexcept nogil:
    cdef const char* at = X.data + row * X.row_stride + feature * X.column_stride
    return (<const float*> at)[0] if X.single else (<const double*> at)[0]


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


cdef inline void lay_out_steps(Steps* s, int32_t n_nodes) noexcept nogil:
    """Fill the arrays of `s`, which have room for all nodes, from its tree."""
    cdef const Flat* t = s.tree
    cdef int32_t i, first
    cdef int32_t n = 0
    for i in range(n_nodes):
        s.place[i] = ~i
        if t.first_child[i] >= 0:
            s.place[i] = n
            s.node[n] = i
            n += 1
    s.plain = t.lower == NULL
    for i in range(n):
        first = t.first_child[s.node[i]]
        s.step[i].feature = t.feature[s.node[i]]
        s.step[i].child[0] = s.place[first]
        s.step[i].child[1] = s.place[first + 1]
        s.step[i].threshold = t.threshold[s.node[i]]
        if t.kind[s.node[i]] != NODE_THRESHOLD or (t.lower != NULL and t.lower[s.node[i]] < t.upper[s.node[i]]):
            s.step[i].threshold = NAN
            s.plain = False
    first = 0
    while s.place[first] >= 0:
        first += 1
    # breadth first: the first leaf is one of the least deep, and the first node of each level above it is the first's child
    s.n_shallow = 0
    i = 0
    while 0 <= t.first_child[i] <= first:
        i = t.first_child[i]
        s.n_shallow += 1


cdef inline int32_t aside(const Steps* s, const Rows* X, Py_ssize_t row, int32_t at) noexcept nogil:
    """Where a sample goes from a step that cannot tell; ~SEVERAL if to several children."""
    cdef const Flat* t = s.tree
    cdef int32_t node = s.node[at]
    cdef int32_t branch
    cdef double left
    cdef double x = number(X, row, t.feature[node])
    if t.lower != NULL and t.kind[node] == NODE_THRESHOLD and not isnan(x):
        left = left_part(t.lower[node], t.threshold[node], t.upper[node], x)
        if 0 < left < 1:
            return ~SEVERAL
        return s.place[t.first_child[node] + (left == 0)]
    branch = branch_of(t, node, X, row)
    if branch >= 0:
        return s.place[t.first_child[node] + branch]
    return ~SEVERAL if branch == TO_SHARES else ~node


cdef inline const real_t* cell_at(const real_t* first, Py_ssize_t distance) noexcept nogil:
    return <const real_t*> (<const char*> first + distance)


cdef inline void walk_block(
    const Steps* s, const Rows* X, const real_t* first, Py_ssize_t start, int32_t n, Py_ssize_t column_stride, bint plain,
    int32_t* at,
) noexcept nogil:
    """Where `n` rows from `start` on end, whose first cell is `first`; `plain`: every step can tell."""
    cdef uint8_t[BLOCK] active
    cdef int32_t i, j, _level, following
    cdef int32_t n_active = 0
    cdef const Step* step
    cdef real_t x
    for i in range(n):
        at[i] = s.place[0]
    for _level in range(s.n_shallow if plain else 0):
        for i in range(n):
            step = &s.step[at[i]]
            at[i] = step.child[cell_at(first, i * X.row_stride + step.feature * column_stride)[0] > step.threshold]
    for i in range(n):
        active[n_active] = <uint8_t> i
        n_active += at[i] >= 0
    while n_active:
        n = n_active
        n_active = 0
        for j in range(n):
            i = active[j]
            step = &s.step[at[i]]
            x = cell_at(first, i * X.row_stride + step.feature * column_stride)[0]
            following = step.child[x > step.threshold]
            if not plain and not x > step.threshold and not x <= step.threshold:
                following = aside(s, X, start + i, at[i])
            at[i] = following
            active[n_active] = <uint8_t> i
            n_active += following >= 0


cdef inline bint all_finite(const real_t* cells, Py_ssize_t n) noexcept nogil:
    """Whether neither NaN nor infinite are among consecutive cells: their exponents, plus one, must not overflow."""
    cdef uint32_t found = 0
    cdef uint64_t found_long = 0
    cdef uint64_t one = 1
    cdef Py_ssize_t i
    if real_t is float:
        for i in range(n):
            found |= ((<const uint32_t*> cells)[i] & (<uint32_t> one << 31) - 1) + (<uint32_t> one << 23)
        return not found >> 31
    else:
        for i in range(n):
            found_long |= ((<const uint64_t*> cells)[i] & (one << 63) - 1) + (one << 52)
        return not found_long >> 63


cdef inline State state_of(const Rows* X, const real_t* first, Py_ssize_t n) noexcept nogil:
    """The worst of `n` rows whose first cell is `first`."""
    cdef Py_ssize_t i, j
    cdef bint finite = True
    cdef State state = FINITE
    cdef real_t x
    if X.column_stride == sizeof(real_t) and X.row_stride == X.n_features * <Py_ssize_t> sizeof(real_t):
        finite = all_finite(first, n * X.n_features)
    elif X.row_stride == sizeof(real_t):
        for j in range(X.n_features):
            finite = finite and all_finite(cell_at(first, j * X.column_stride), n)
    elif X.column_stride == sizeof(real_t):
        for i in range(n):
            finite = finite and all_finite(cell_at(first, i * X.row_stride), X.n_features)
    else:
        finite = False
    if finite:
        return FINITE
    for i in range(n):
        for j in range(X.n_features):
            x = cell_at(first, i * X.row_stride + j * X.column_stride)[0]
            if x - x != 0:
                if x == x:
                    return INFINITE
                state = MISSING_VALUES
    return state


cdef inline State state_of_rows(const Rows* X) noexcept nogil:
    """The worst of all rows."""
    cdef State state = FINITE
    cdef State here
    cdef Py_ssize_t n
    cdef Py_ssize_t start = 0
    while start < X.n and state != INFINITE:
        n = min(<Py_ssize_t> BLOCK, X.n - start)
        if X.single:
            here = state_of(X, cell_at(<const float*> X.data, start * X.row_stride), n)
        else:
            here = state_of(X, cell_at(<const double*> X.data, start * X.row_stride), n)
        state = max(state, here)
        start += n
    return state


cdef inline int64_t walk_typed(
    const Steps* s, const Rows* X, const real_t* first, State refused, int32_t* out,
) noexcept nogil:
    cdef Py_ssize_t i, n
    cdef Py_ssize_t start = 0
    cdef int64_t n_divided = 0
    cdef State state
    while start < X.n:
        n = min(<Py_ssize_t> BLOCK, X.n - start)
        state = state_of(X, first, n)
        if state >= refused:
            return -1
        if s.plain and state == FINITE and X.column_stride == sizeof(real_t):
            walk_block(s, X, first, start, <int32_t> n, sizeof(real_t), True, out + start)
        elif s.plain and state == FINITE:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, True, out + start)
        else:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, False, out + start)
        for i in range(start, start + n):
            out[i] = ~out[i]
            n_divided += out[i] == SEVERAL
        first = cell_at(first, n * X.row_stride)
        start += n
    return n_divided


cdef inline int64_t walk_rows(const Steps* s, const Rows* X, State refused, int32_t* out) noexcept nogil:
    """Where every row ends, or SEVERAL; how many are; -1 where a row is in a refused state, or in a worse one."""
    if X.single:
        return walk_typed(s, X, <const float*> X.data, refused, out)
    return walk_typed(s, X, <const double*> X.data, refused, out)


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
    cdef int32_t node, branch, child
    cdef double part, left, whole, x
    stack[0] = start
    parts[0] = 1.0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        part = parts[waiting]
        nodes[n] = node
        weights[n] = part
        n += 1
        if t.first_child[node] < 0:
            continue
        x = number(X, row, t.feature[node])
        if t.lower != NULL and t.kind[node] == NODE_THRESHOLD and not isnan(x):
            left = left_part(t.lower[node], t.threshold[node], t.upper[node], x)
            if left < 1:
                stack[waiting] = t.first_child[node] + 1
                parts[waiting] = part * (1 - left)
                waiting += 1
            if left > 0:
                stack[waiting] = t.first_child[node]
                parts[waiting] = part * left
                waiting += 1
            continue
        branch = branch_of(t, node, X, row)
        if branch >= 0:
            stack[waiting] = t.first_child[node] + branch
            parts[waiting] = part
            waiting += 1
        elif branch == TO_SHARES:
            whole = 0                      # the node's weight, but for the rounding of parts of samples
            for branch in range(t.n_branches[node]):
                whole += t.weight[t.first_child[node] + branch]
            for branch in range(t.n_branches[node] - 1, -1, -1):
                child = t.first_child[node] + branch
                if t.weight[child] > 0:
                    stack[waiting] = child
                    parts[waiting] = part * (t.weight[child] / whole)
                    waiting += 1
    return n


cdef inline bint stops(const Flat* t, const Rows* X, Py_ssize_t row, int32_t node) noexcept nogil:
    """Does a row that reached this node end here?"""
    return t.first_child[node] < 0 or branch_of(t, node, X, row) == TO_STOP


cdef inline void add_shares(
    const Flat* t, const double[:, ::1] value, int32_t node, double part, double* shares,
) noexcept nogil:
    """Add the class shares of a node, or its mean, times `part`; all of an empty node's goes to its first largest class."""
    cdef Py_ssize_t k
    cdef Py_ssize_t best = 0
    if t.means:
        for k in range(value.shape[1]):
            shares[k] += part * value[node, k]
        return
    if t.weight[node] > 0:
        for k in range(value.shape[1]):
            shares[k] += part * value[node, k] / t.weight[node]
        return
    for k in range(1, value.shape[1]):
        if value[node, k] > value[node, best]:
            best = k
    shares[best] += part
