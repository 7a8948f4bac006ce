"""From a sample to its leaf, or to several with a part of it each.  Header only.

Most walks go by steps: an inner node as 24 bytes that tell where values on either side of its threshold go, and where missing
ones do.  Samples walk in blocks, level by level, so that many of them wait for memory at once, and those that have arrived drop
out without a branch.  What a step cannot tell, of surrogates and of tests that are no threshold, is asked of the tree itself.
"""

from cpython.buffer cimport PyBUF_RECORDS_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport strcmp

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
    TO_BOTH = -4               # a soft threshold sends a part of a sample left and the rest right
    SEVERAL = 0x7FFFFFFF       # no node: a sample that does not reach one leaf alone
    ASK = 0x7FFFFFFF           # no step: the tree knows the child
    BLOCK = 256                # samples that walk together; as many as a byte can number


cdef struct Way:               # where a sample goes from an inner node
    int32_t branch             # all of it; or TO_SHARES, TO_STOP, TO_BOTH
    double left                # TO_BOTH: the part of it that goes to branch 0
    double whole               # TO_SHARES: what the children weigh together


cdef enum State:               # of the numbers in some rows
    FINITE
    MISSING_VALUES
    INFINITE
    ANY_STATE                  # refused by nobody


cdef struct Step:              # of a walk, at an inner node
    double threshold
    int32_t feature
    int32_t child[3]           # of x <= threshold, x > threshold, a missing x: a step, ~node where a sample ends, or ASK


cdef enum Knowledge:           # that steps need not ask for
    OF_KNOWN                   # no value is missing, and the values have a child
    OF_ALL                     # missing ones have, too
    OF_SOME


cdef struct Steps:             # of a finished tree
    const Flat* tree
    Step* step
    int32_t* node              # of each step
    int32_t* place             # of each node: its step, or ~node of a leaf
    Knowledge of_finite        # of rows without missing values
    Knowledge of_any
    int32_t least_of_finite    # steps that each of them walks
    int32_t least_of_any


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


cdef inline bint fill_rows(Rows* rows, object X) except -1:
    """Describe a matrix of float32 or float64, in native byte order; False if X is none."""
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(X, &view, PyBUF_RECORDS_RO)
    except (BufferError, TypeError, ValueError):       # what has no buffer, such as an array of dates
        return False
    cdef bint fits = view.ndim == 2 and (strcmp(view.format, b"f") == 0 or strcmp(view.format, b"d") == 0)
    if fits:
        rows.data = <const char*> view.buf
        rows.n, rows.n_features = view.shape[0], view.shape[1]
        rows.row_stride, rows.column_stride = view.strides[0], view.strides[1]
        rows.single = view.format[0] == c"f"
    PyBuffer_Release(&view)
    return fits


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


cdef inline Way way_of(const Flat* t, int32_t node, const Rows* X, Py_ssize_t row) noexcept nogil:
    """Where a row goes from an inner node; its parts by branch are told by `part_of`."""
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


cdef inline void lay_out_step(Steps* s, int32_t i) noexcept nogil:
    cdef const Flat* t = s.tree
    cdef int32_t node = s.node[i]
    cdef int32_t first = t.first_child[node]
    cdef bint soft = t.lower != NULL and t.lower[node] < t.upper[node]
    cdef Step* step = &s.step[i]
    step.feature = t.feature[node]
    step.threshold = t.threshold[node]
    step.child[0] = s.place[first]
    step.child[1] = s.place[first + 1]
    if t.missing[node] >= 0:
        step.child[2] = s.place[first + t.missing[node]]
    else:
        step.child[2] = ~SEVERAL if t.missing[node] == TO_SHARES else ~node
    if t.kind[node] != NODE_THRESHOLD or soft:
        step.child[0] = step.child[1] = step.child[2] = ASK
        s.of_finite = s.of_any = OF_SOME
    elif t.surrogate_start != NULL and t.surrogate_start[node] < t.surrogate_start[node + 1]:
        step.child[2] = ASK
        s.of_any = OF_SOME


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
    s.of_finite, s.of_any = OF_KNOWN, OF_ALL
    for i in range(n):
        lay_out_step(s, i)
    first = 0
    while first < n_nodes and s.place[first] >= 0:
        first += 1
    # breadth first: the first leaf is one of the least deep, and the first node of each level above it is the first's child
    s.least_of_finite = 0
    i = 0
    while 0 <= t.first_child[i] <= first:
        i = t.first_child[i]
        s.least_of_finite += 1
    s.least_of_any = s.least_of_finite
    for i in range(n):
        if t.missing[s.node[i]] < 0:       # a sample may end there
            s.least_of_any = 0


cdef inline int32_t asked(const Steps* s, const Rows* X, Py_ssize_t row, int32_t at) noexcept nogil:
    """Where a sample goes from a step that asks; ~SEVERAL if to several children."""
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


cdef inline int32_t next_place(
    const Steps* s, const Rows* X, const real_t* cells, Py_ssize_t row, Py_ssize_t column_stride, Knowledge knowledge, int32_t at,
) noexcept nogil:
    """Where a row, whose first cell is `cells`, goes from a step."""
    cdef const Step* step = &s.step[at]
    cdef real_t x = cell_at(cells, step.feature * column_stride)[0]
    cdef int32_t following
    if knowledge == OF_KNOWN:
        return step.child[x > step.threshold]
    following = step.child[(x > step.threshold) + 2 * (x != x)]
    if knowledge == OF_SOME and following == ASK:
        following = asked(s, X, row, at)
    return following


cdef inline void walk_block(
    const Steps* s, const Rows* X, const real_t* first, Py_ssize_t start, int32_t n, Py_ssize_t column_stride,
    Knowledge knowledge, int32_t n_least, int32_t* at,
) noexcept nogil:
    """Where `n` rows from `start` on end, whose first cell is `first`; each walks `n_least` steps or more."""
    cdef uint8_t[BLOCK] active
    cdef int32_t i, j, _level
    cdef int32_t n_active = 0
    for i in range(n):
        at[i] = s.place[0]
    for _level in range(n_least):
        for i in range(n):
            at[i] = next_place(s, X, cell_at(first, i * X.row_stride), start + i, column_stride, knowledge, at[i])
    for i in range(n):
        active[n_active] = <uint8_t> i
        n_active += at[i] >= 0
    while n_active:
        n = n_active
        n_active = 0
        for j in range(n):
            i = active[j]
            at[i] = next_place(s, X, cell_at(first, i * X.row_stride), start + i, column_stride, knowledge, at[i])
            active[n_active] = <uint8_t> i
            n_active += at[i] >= 0


cdef inline State state_of_run(const real_t* cells, Py_ssize_t n) noexcept nogil:
    """The worst of consecutive cells, by their bits without the sign, so that the first bit is free.

    One more in the exponent carries into it where the exponent is full, as in infinity and NaN.  Bits that differ from infinity's
    in nothing are zero, and zero alone borrows from it.
    """
    cdef uint32_t bits, unknown = 0, infinite = 0
    cdef uint64_t bits_long, unknown_long = 0, infinite_long = 0
    cdef uint64_t one = 1
    cdef Py_ssize_t i
    if real_t is float:
        for i in range(n):
            bits = (<const uint32_t*> cells)[i] & 0x7FFFFFFF
            unknown |= bits + 0x00800000
            infinite |= (bits ^ 0x7F800000) - 1
        return INFINITE if infinite >> 31 else MISSING_VALUES if unknown >> 31 else FINITE
    else:
        for i in range(n):
            bits_long = (<const uint64_t*> cells)[i] & (one << 63) - 1
            unknown_long |= bits_long + (one << 52)
            infinite_long |= (bits_long ^ (one << 63) - (one << 52)) - 1
        return INFINITE if infinite_long >> 63 else MISSING_VALUES if unknown_long >> 63 else FINITE


cdef inline State state_of(const Rows* X, const real_t* first, Py_ssize_t n) noexcept nogil:
    """The worst of `n` rows whose first cell is `first`."""
    cdef Py_ssize_t i, j
    cdef State state = FINITE
    if X.column_stride == sizeof(real_t) and X.row_stride == X.n_features * <Py_ssize_t> sizeof(real_t):
        return state_of_run(first, n * X.n_features)
    if X.row_stride == sizeof(real_t):
        for j in range(X.n_features):
            state = max(state, state_of_run(cell_at(first, j * X.column_stride), n))
        return state
    for i in range(n):
        if X.column_stride == sizeof(real_t):
            state = max(state, state_of_run(cell_at(first, i * X.row_stride), X.n_features))
            continue
        for j in range(X.n_features):
            state = max(state, state_of_run(cell_at(first, i * X.row_stride + j * X.column_stride), 1))
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
    cdef Knowledge knowledge
    while start < X.n:
        n = min(<Py_ssize_t> BLOCK, X.n - start)
        state = state_of(X, first, n)
        if state >= refused:
            return -1
        knowledge = s.of_finite if state == FINITE else s.of_any
        if knowledge == OF_KNOWN and X.column_stride == sizeof(real_t):
            walk_block(s, X, first, start, <int32_t> n, sizeof(real_t), OF_KNOWN, s.least_of_finite, out + start)
        elif knowledge == OF_KNOWN:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, OF_KNOWN, s.least_of_finite, out + start)
        elif knowledge == OF_ALL:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, OF_ALL, s.least_of_any, out + start)
        else:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, OF_SOME, 0, out + start)
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
    """Add the class shares of a node, or its mean, times `part`; `value` is `Tree.given`."""
    cdef Py_ssize_t k
    cdef double whole = t.weight[node] if t.weight[node] > 0 and not t.means else 1
    for k in range(value.shape[1]):
        shares[k] += part * value[node, k] / whole
