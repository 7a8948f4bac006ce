"""From samples to their leaves, many at a time.  Header only.

Most walks go by steps: an inner node as 24 bytes that say where values on either side of its threshold go, and where missing
ones do.  Samples walk in blocks, level by level, so that many of them wait for memory at once, and those that have arrived drop
out without a branch.  Surrogates and tests that are no threshold are looked up in the tree itself.

Most tables are of single precision, row after row, without missing values.  For them a step has 16 bytes, in which all places are
distances in bytes.
"""

from libc.math cimport INFINITY, isnan, nextafterf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

cimport fasttree._engine.types  # noqa: F401 has FASTTREE_WIDE
from fasttree._engine.types cimport NODE_THRESHOLD, TO_SHARES, prefetch, real_t
from fasttree._engine.walk.rows cimport ASK, BLOCK, FINITE, SEVERAL, Rows, State, cell_at, number, state_of, unknown_of_run
from fasttree._engine.walk.tree cimport Flat, branch_of, left_part

cdef extern from *:
    """
    #include <stdint.h>

    /* Is every number finite?  As `state_of_run` looks, in wide registers. */
    FASTTREE_WIDE static int fasttree_are_finite(const float *x, int64_t n);
    static int fasttree_are_finite(const float *x, int64_t n) {
        const int64_t quarter = n / 4;
        uint32_t unknown = 0;
        int64_t i, k;
        for (i = 0; i < quarter; i++)
            for (k = 0; k < 4; k++) {
                float zero = x[k * quarter + i] - x[k * quarter + i];
                unknown |= *(const uint32_t *) &zero;
            }
        for (i = 4 * quarter; i < n; i++) {
            float zero = x[i] - x[i];
            unknown |= *(const uint32_t *) &zero;
        }
        return unknown == 0;
    }
    """
    bint are_finite "fasttree_are_finite"(const float* x, int64_t n) noexcept nogil


cdef struct WalkStep:              # of a walk, at an inner node
    double threshold
    int32_t feature
    int32_t child[3]           # of x <= threshold, x > threshold, a missing x: a step, ~node where a sample ends, or ASK


cdef struct SingleStep:            # of numbers of single precision, none of them missing, that lie side by side in a row
    float threshold            # the largest number of this precision that is not above the step's
    int32_t feature            # how far into a row, in bytes
    int32_t child[2]           # how far behind the first step, in bytes, or ~node


cdef enum:
    MOST_SINGLE = 1 << 27       # nodes of a tree, whose steps are at distances of 31 bits
    MOST_BESIDE = 1 << 29      # features, whose numbers are
    SINGLE_BLOCK = 128          # samples that walk by them together: their rows stay in the fastest cache


cdef enum Knowledge:           # that steps need not check
    OF_KNOWN                   # no value is missing, and the values have a child
    OF_ALL                     # missing ones have, too
    OF_SOME


cdef struct Steps:             # of a finished tree
    const Flat* tree
    WalkStep* step
    SingleStep* single_step    # NULL: there are none
    int32_t* node              # of each step
    int32_t* place             # of each node: its step, or ~node of a leaf that has none
    int32_t n_inner            # steps of inner nodes; behind them are those of leaves, whose child is the leaf itself
    Knowledge of_finite        # of rows without missing values
    Knowledge of_any
    int32_t least_of_finite    # steps that each of them walks; a row that has arrived stays at the step of its leaf
    int32_t least_of_any


cdef inline void lay_out_step(Steps* s, int32_t i) noexcept nogil:
    cdef const Flat* t = s.tree
    cdef int32_t node = s.node[i]
    cdef int32_t first = t.first_child[node]
    cdef bint soft = t.lower != NULL and t.lower[node] < t.upper[node]
    cdef WalkStep* step = &s.step[i]
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


cdef inline void lay_out_leaf(Steps* s, int32_t i) noexcept nogil:
    cdef WalkStep* step = &s.step[i]
    step.feature = 0
    step.threshold = 0
    step.child[0] = step.child[1] = step.child[2] = i


cdef inline void lay_out_single(Steps* s, int32_t n) noexcept nogil:
    """Write n steps once more, for rows of single precision."""
    cdef const WalkStep* step
    cdef SingleStep* into
    cdef int32_t i, b
    for i in range(n):
        step = &s.step[i]
        into = &s.single_step[i]
        into.feature = step.feature * <int32_t> sizeof(float)
        into.threshold = <float> step.threshold
        if into.threshold > step.threshold:
            into.threshold = nextafterf(into.threshold, -INFINITY)
        for b in range(2):
            into.child[b] = step.child[b] if step.child[b] < 0 else step.child[b] * <int32_t> sizeof(SingleStep)


cdef inline int32_t find_levels(Steps* s) noexcept nogil:
    """How many nodes are above those where the levels end that every row walks; sets `least_of_finite`.

    At least half of the samples pass these levels: to check which rows have arrived would take longer.
    """
    cdef const Flat* t = s.tree
    cdef int32_t first = 0
    cdef int32_t stop = 1              # of a level: nodes are breadth first, so the next level begins there
    cdef int32_t next_stop, i
    cdef double weight
    s.least_of_finite = 0
    while True:
        weight = 0
        next_stop = stop
        for i in range(first, stop):
            if t.first_child[i] >= 0:
                weight += t.weight[i]
                next_stop = t.first_child[i] + t.n_branches[i]
        if next_stop == stop or 2 * weight < t.weight[0]:
            return first
        first, stop = stop, next_stop
        s.least_of_finite += 1


cdef inline void lay_out_steps(Steps* s, int32_t n_nodes) noexcept nogil:
    """Fill the arrays of `s`, which have room for all nodes, from its tree; `single_step` only where steps decide alone."""
    cdef const Flat* t = s.tree
    cdef int32_t n_above = find_levels(s)
    cdef int32_t n = 0
    cdef int32_t i
    for i in range(n_nodes):
        s.place[i] = ~i
        if t.first_child[i] >= 0:
            s.place[i] = n
            s.node[n] = i
            n += 1
    s.n_inner = n
    for i in range(n_above):
        if t.first_child[i] < 0:
            s.place[i] = n
            s.node[n] = i
            lay_out_leaf(s, n)
            n += 1
    s.of_finite, s.of_any = OF_KNOWN, OF_ALL
    s.least_of_any = s.least_of_finite
    for i in range(s.n_inner):
        lay_out_step(s, i)
        if t.missing[s.node[i]] < 0:       # a sample may end there
            s.least_of_any = 0
    if s.single_step != NULL and s.of_finite == OF_KNOWN:
        lay_out_single(s, n)


cdef inline int32_t asked(const Steps* s, const Rows* X, Py_ssize_t row, int32_t at) noexcept nogil:
    """Where a sample goes from a step that needs the tree; ~SEVERAL if to several children."""
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


cdef inline int32_t next_place(
    const Steps* s, const Rows* X, const real_t* cells, Py_ssize_t row, Py_ssize_t column_stride, Knowledge knowledge, int32_t at,
) noexcept nogil:
    """Where a row, whose first cell is `cells`, goes from a step."""
    cdef const WalkStep* step = &s.step[at]
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
    cdef int32_t i, j, _level, n_walking
    cdef int32_t n_active = 0
    for i in range(n):
        at[i] = s.place[0]
    for _level in range(n_least):
        for i in range(n):
            at[i] = next_place(s, X, cell_at(first, i * X.row_stride), start + i, column_stride, knowledge, at[i])
    for i in range(n):
        active[n_active] = <uint8_t> i
        n_active += <uint32_t> at[i] < <uint32_t> s.n_inner
    while n_active:
        n_walking = n_active
        n_active = 0
        for j in range(n_walking):
            i = active[j]
            at[i] = next_place(s, X, cell_at(first, i * X.row_stride), start + i, column_stride, knowledge, at[i])
            active[n_active] = <uint8_t> i
            n_active += <uint32_t> at[i] < <uint32_t> s.n_inner
    for i in range(n):
        at[i] = s.node[at[i]] if at[i] >= 0 else ~at[i]


cdef inline int32_t next_single(const char* steps, const char* row, int32_t at) noexcept nogil:
    cdef const SingleStep* step = <const SingleStep*> (steps + at)
    return step.child[(<const float*> (row + step.feature))[0] > step.threshold]


cdef inline void walk_single(
    const Steps* s, const char* first, Py_ssize_t n, Py_ssize_t row_stride, bint more, int32_t* at,
) noexcept nogil:
    """As `walk_block`, by steps of single precision.  Meanwhile the rows of the next block arrive, where there are `more`."""
    cdef const char* steps = <const char*> s.single_step
    cdef const char* row
    cdef uint8_t[SINGLE_BLOCK] active
    cdef uint32_t n_inner = <uint32_t> s.n_inner * <uint32_t> sizeof(SingleStep)
    cdef Py_ssize_t n_active = 0
    cdef Py_ssize_t i, j, n_walking
    cdef int32_t _level
    cdef const char* ahead = first + n * row_stride if more else first
    cdef Py_ssize_t share = row_stride // max(s.least_of_finite, 1) if more else 0
    for i in range(n):
        at[i] = s.place[0]             # 0, or ~0 where the root is a leaf
    for _level in range(s.least_of_finite):
        row = first
        for i in range(n):
            prefetch(ahead)
            at[i] = next_single(steps, row, at[i])
            row += row_stride
            ahead += share
    for i in range(n):
        active[n_active] = <uint8_t> i
        n_active += <uint32_t> at[i] < n_inner
    while n_active:
        n_walking = n_active
        n_active = 0
        for j in range(n_walking):
            i = active[j]
            at[i] = next_single(steps, first + i * row_stride, at[i])
            active[n_active] = <uint8_t> i
            n_active += <uint32_t> at[i] < n_inner
    for i in range(n):
        at[i] = s.node[at[i] // <int32_t> sizeof(SingleStep)] if at[i] >= 0 else ~at[i]


cdef inline int64_t walk_typed(
    const Steps* s, const Rows* X, const real_t* first, State refused, int32_t* out,
) noexcept nogil:
    cdef Py_ssize_t i, n
    cdef Py_ssize_t start = 0
    cdef int64_t n_divided = 0
    cdef bint single = real_t is float and X.column_stride == sizeof(real_t) and s.single_step != NULL
    cdef State state
    cdef Knowledge knowledge
    while start < X.n:
        n = min(<Py_ssize_t> (SINGLE_BLOCK if single else BLOCK), X.n - start)
        if real_t is float and single and X.row_stride == X.n_features * <Py_ssize_t> sizeof(float):
            state = FINITE if are_finite(<const float*> first, n * X.n_features) else unknown_of_run(first, n * X.n_features)
        else:
            state = state_of(X, first, n)
        if state >= refused:
            return -1
        knowledge = s.of_finite if state == FINITE else s.of_any
        if knowledge == OF_KNOWN and real_t is float and single:
            walk_single(s, <const char*> first, n, X.row_stride, start + 2 * n <= X.n, out + start)
        elif knowledge == OF_KNOWN and X.column_stride == sizeof(real_t) and real_t is double:
            walk_block(s, X, first, start, <int32_t> n, sizeof(real_t), OF_KNOWN, s.least_of_finite, out + start)
        elif knowledge == OF_KNOWN:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, OF_KNOWN, s.least_of_finite, out + start)
        elif knowledge == OF_ALL:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, OF_ALL, s.least_of_any, out + start)
        else:
            walk_block(s, X, first, start, <int32_t> n, X.column_stride, OF_SOME, 0, out + start)
        for i in range(start, start + n):
            n_divided += out[i] == SEVERAL
        first = cell_at(first, n * X.row_stride)
        start += n
    return n_divided


cdef inline int64_t walk_rows(const Steps* s, const Rows* X, State refused, int32_t* out) noexcept nogil:
    """Where every row ends, or SEVERAL; how many are; -1 where a row is in a state that raises an error, or in a worse one."""
    if X.single:
        return walk_typed(s, X, <const float*> X.data, refused, out)
    return walk_typed(s, X, <const double*> X.data, refused, out)
