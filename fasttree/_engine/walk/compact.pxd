"""A tree for servers: 16 bytes a node, one piece of memory that is checked once, and the walks over it.  Header only.

A node holds its threshold, or where its table lies; its first child; and in 32 bits its feature, the kind of its test and where
missing values go.  A leaf is its own first child, and its threshold is NaN with the number of its prediction in the last bits: no
value is above NaN, so a sample that has arrived stays where it is without a check.  What 16 bytes cannot hold of a node
(surrogates, soft thresholds, samples that stop, many branches) is in an extra record.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.types cimport TO_SHARES, TO_STOP, real_t
from fasttree._engine.walk.rows cimport BLOCK, FINITE, NO_BRANCH, TO_BOTH, Rows, State, cell_at, number, state_of
from fasttree._engine.walk.tree cimport Way, branch_in_table, cuts_below, left_part


cdef struct Place:             # of a part of a table
    uint32_t start
    uint32_t n


cdef union Operand:
    double threshold
    Place place
    uint64_t bits


cdef struct Node:
    Operand operand                  # threshold; place of table, list or cuts; branches of a category test; or its extra record
    uint32_t first_child       # of a leaf: itself
    uint32_t test              # feature, kind << 24, missing << 28


cdef struct Extra:             # what 16 bytes cannot hold of a node
    Operand operand
    double lower               # of a soft threshold; both the threshold itself if it is hard, 0 of other tests
    double upper
    uint32_t n_branches
    int32_t missing            # a branch, TO_SHARES or TO_STOP
    uint32_t end               # TO_STOP: the number of its prediction, else 0
    uint32_t first_surrogate
    uint32_t n_surrogates
    uint32_t spare             # 0


cdef enum TestKind:
    IS_LEAF
    BY_THRESHOLD               # x <= threshold to branch 0, else 1
    BY_KNOWN                   # known to branch 0, missing to 1
    BY_CATEGORY                # code - 1
    BY_TABLE                   # a byte per code from 1 on
    BY_LIST                    # codes that ascend, and their branches
    BY_INTERVALS               # how many cuts are below x
    WITH_EXTRA = 8             # beside one of these


cdef enum:
    MOST_FEATURES = 1 << 24
    MOST_IN_TABLE = 255        # branches that a byte can hold; 255 itself: the code is unknown there
    LAST_IN_NODE = 13          # branch that the four bits of `missing` can hold
    SHARED_OUT = 14            # in these bits: to every branch in proportion to the children's weights
    IN_EXTRA = 15              # in these bits: the extra record knows
    NO_END = 0x7FF80000        # first half of the threshold of a leaf: NaN
    WANTED = -5                # no branch: a cell must be read first
    UNDECIDED = -6             # no branch: the value alone does not decide
    NOWHERE = 0x7FFFFFFF       # no node: a sample that does not go along one branch everywhere


cdef struct Compact:
    const Node* node
    const double* value        # (n_ends, n_values): distinct predictions; where samples divide what `Tree.contribution` says
    const int32_t* answer      # (n_ends, n_outputs): classes
    const double* weight       # of each node; NULL: no sample divides
    const Extra* extra
    const Node* surrogate      # bit 28: branch of values up to a threshold
    const uint8_t* table
    const uint32_t* list_code
    const int32_t* list_branch
    const double* cut
    const double* loss         # (n_values, n_values), or NULL
    const int32_t* width       # of each target: its columns of `value`
    int64_t n_nodes
    int64_t n_ends
    int64_t n_extras
    int64_t n_surrogates
    int64_t n_cells            # of tables
    int64_t n_entries          # of lists
    int64_t n_cuts
    int32_t n_features
    int32_t n_values
    int32_t n_outputs
    bint means                 # values are means, not class weights
    bint by_thresholds         # found by `fault_of`: no test but plain thresholds, and no missing value divides or stops
    int32_t least              # steps that every sample walks
    int64_t most_waiting       # branches that wait for their turn when a sample divides


cdef struct Sample:            # a row of a matrix, or cells that are read when they are needed
    const Rows* X
    Py_ssize_t row
    double* cell               # where X is NULL
    uint8_t* known
    int32_t wanted             # the feature whose cell WANTED requests


cdef struct Visit:             # of the nodes that a sample reaches, with the part of it that arrives there
    uint32_t* stack
    double* part
    double* sums               # (n_values): what the ends give together
    int64_t waiting
    bint divided
    int64_t node               # where it ended, if it was never divided


# --- tests

cdef inline uint32_t kind_of(const Node* node) noexcept nogil:
    return node.test >> 24 & 15


cdef inline int32_t feature_of(const Node* node) noexcept nogil:
    return <int32_t> (node.test & 0xFFFFFF)


cdef inline int32_t branch_of_value(const Compact* t, uint32_t kind, const Operand* operand, double x) noexcept nogil:
    """Branch of a value by a test; NO_BRANCH if it is missing or unknown there."""
    cdef uint8_t branch
    if kind == BY_THRESHOLD:
        return NO_BRANCH if isnan(x) else x > operand.threshold
    if kind == BY_KNOWN:
        return isnan(x)
    if kind == BY_INTERVALS:
        return NO_BRANCH if isnan(x) else cuts_below(
            t.cut, operand.place.start, <int64_t> operand.place.start + operand.place.n, x
        )
    if not x >= 1:
        return NO_BRANCH
    if kind == BY_LIST:
        return branch_in_table(
            t.list_code, t.list_branch, operand.place.start, <int64_t> operand.place.start + operand.place.n, <uint32_t> x
        )
    if x > operand.place.n:
        return NO_BRANCH
    if kind == BY_CATEGORY:
        return <int32_t> x - 1
    branch = t.table[operand.place.start + <uint32_t> x - 1]
    return <int32_t> branch if branch < MOST_IN_TABLE else NO_BRANCH


cdef inline const Operand* told_of(const Compact* t, const Node* node) noexcept nogil:
    """The operand of its test, in the node or in its extra record."""
    return &t.extra[node.operand.place.start].operand if kind_of(node) & WITH_EXTRA else &node.operand


cdef inline int32_t branch_alone(const Compact* t, const Node* node, double x) noexcept nogil:
    """Branch at an inner node by the value of its feature alone, missing or not; UNDECIDED if that does not decide."""
    cdef uint32_t kind = kind_of(node)
    cdef int32_t branch
    cdef const Extra* extra
    if not kind & WITH_EXTRA:
        branch = branch_of_value(t, kind, &node.operand, x)
        if branch == NO_BRANCH:
            branch = <int32_t> (node.test >> 28)
            return branch if branch < SHARED_OUT else UNDECIDED
        return branch
    extra = &t.extra[node.operand.place.start]
    branch = branch_of_value(t, kind ^ WITH_EXTRA, &extra.operand, x)
    if branch == NO_BRANCH:
        return extra.missing if extra.missing >= 0 and not extra.n_surrogates else UNDECIDED
    return branch if extra.lower >= extra.upper else UNDECIDED


cdef inline bint read(Sample* sample, int32_t feature, double* x) noexcept nogil:
    """Read a cell; False if it must become known first."""
    if sample.X != NULL:
        x[0] = number(sample.X, sample.row, feature)
        return True
    x[0] = sample.cell[feature]
    if sample.known[feature]:
        return True
    sample.wanted = feature
    return False


cdef inline int32_t branch_by_surrogates(const Compact* t, const Extra* extra, Sample* sample) noexcept nogil:
    cdef const Node* stand_in = t.surrogate + extra.first_surrogate
    cdef uint32_t i
    cdef int32_t branch
    cdef double x
    for i in range(extra.n_surrogates):
        if not read(sample, feature_of(stand_in + i), &x):
            return WANTED
        branch = branch_of_value(t, kind_of(stand_in + i), &stand_in[i].operand, x)
        if branch != NO_BRANCH:
            return branch ^ <int32_t> (stand_in[i].test >> 28)
    return extra.missing


cdef inline uint32_t branches_of(const Compact* t, const Node* node) noexcept nogil:
    """How many branches an inner node has."""
    cdef uint32_t kind = kind_of(node)
    if kind & WITH_EXTRA:
        return t.extra[node.operand.place.start].n_branches
    if kind == BY_CATEGORY:
        return node.operand.place.n
    if kind == BY_INTERVALS:
        return node.operand.place.n + 1
    return 3 if node.test >> 28 == 2 else 2


cdef inline Way way_from(const Compact* t, const Node* node, Sample* sample) noexcept nogil:
    """Where a sample goes from an inner node: as `tree.way_of`; or WANTED."""
    cdef Way way
    cdef double x
    cdef uint32_t branch
    cdef const Extra* extra = NULL
    way.left = way.whole = 0
    if kind_of(node) & WITH_EXTRA:
        extra = &t.extra[node.operand.place.start]
    if not read(sample, feature_of(node), &x):
        way.branch = WANTED
        return way
    if extra != NULL and extra.lower < extra.upper and not isnan(x):
        way.left = left_part(extra.lower, extra.operand.threshold, extra.upper, x)
        way.branch = TO_BOTH if 0 < way.left < 1 else way.left == 0
        return way
    way.branch = branch_of_value(t, kind_of(node) & ~<uint32_t> WITH_EXTRA, told_of(t, node), x)
    if way.branch == NO_BRANCH:
        if extra != NULL:
            way.branch = branch_by_surrogates(t, extra, sample)
        else:
            way.branch = <int32_t> (node.test >> 28)
            if way.branch == SHARED_OUT:
                way.branch = TO_SHARES
    if way.branch == TO_SHARES:
        for branch in range(branches_of(t, node)):
            way.whole += t.weight[node.first_child + branch]
    return way


# --- ends

cdef inline int64_t end_of(const Compact* t, const Node* node) noexcept nogil:
    """The number of the prediction of a node where samples end."""
    return t.extra[node.operand.place.start].end if kind_of(node) else <uint32_t> node.operand.bits


cdef inline double whole_of(const Compact* t, int64_t node) noexcept nogil:
    """What the values of a node are divided by: they are class weights where samples divide."""
    return t.weight[node] if t.weight != NULL and not t.means and t.weight[node] > 0 else 1


cdef inline void add_end(const Compact* t, Visit* visit, uint32_t at, double part) noexcept nogil:
    cdef const double* value = t.value + end_of(t, &t.node[at]) * t.n_values
    cdef double whole = whole_of(t, at)
    cdef int32_t k
    visit.node = at
    for k in range(t.n_values):
        visit.sums[k] += part * value[k] / whole


cdef inline void enter(const Compact* t, Visit* visit, uint32_t at) noexcept nogil:
    """Begin with a whole sample at a node."""
    cdef int32_t k
    visit.stack[0], visit.part[0], visit.waiting = at, 1, 1
    visit.divided = False
    for k in range(t.n_values):
        visit.sums[k] = 0


cdef inline bint go_on(const Compact* t, Visit* visit, Sample* sample) noexcept nogil:
    """Visit what waits, in the order of `tree.visit`, first branches first; False if a cell must become known before that."""
    cdef uint32_t at
    cdef int64_t branch
    cdef double here, part
    cdef const Node* node
    cdef Way way
    while visit.waiting:
        at, here = visit.stack[visit.waiting - 1], visit.part[visit.waiting - 1]
        node = &t.node[at]
        way.branch = TO_STOP
        if kind_of(node):
            way = way_from(t, node, sample)
        if way.branch == WANTED:
            return False
        visit.waiting -= 1
        if way.branch == TO_STOP:
            add_end(t, visit, at, here)
        elif way.branch >= 0:
            visit.stack[visit.waiting] = node.first_child + way.branch
            visit.part[visit.waiting] = here
            visit.waiting += 1
        else:
            visit.divided = True
            for branch in range(<int64_t> branches_of(t, node) - 1, -1, -1):
                if way.branch == TO_SHARES:
                    part = t.weight[node.first_child + branch] / way.whole
                else:
                    part = way.left if branch == 0 else 1 - way.left if branch == 1 else 0
                if part > 0:
                    visit.stack[visit.waiting] = <uint32_t> (node.first_child + branch)
                    visit.part[visit.waiting] = here * part
                    visit.waiting += 1
    return True


cdef inline void copy_values(const Compact* t, int64_t at, double* out) noexcept nogil:
    """What a node predicts for samples that end there whole."""
    cdef const double* value = t.value + end_of(t, &t.node[at]) * t.n_values
    cdef double whole = whole_of(t, at)
    cdef int32_t k
    for k in range(t.n_values):
        out[k] = value[k] / whole


cdef inline int32_t best_of(const Compact* t, const double* sums) noexcept nogil:
    """Index of the class of the largest share, or of least expected loss: as `best_classes`; the first of equal ones."""
    cdef int32_t i, j
    cdef int32_t best = 0
    cdef double least = 0
    cdef double expected
    for i in range(t.n_values):
        if t.loss == NULL:
            if sums[i] > sums[best]:
                best = i
            continue
        expected = expected_loss(t, sums, i)
        if i == 0 or expected < least:
            least = expected
    if t.loss != NULL:
        for j in range(t.n_values):
            if expected_loss(t, sums, j) <= least * (1 + 1e-12):
                return j
    return best


cdef inline double expected_loss(const Compact* t, const double* sums, int32_t answer) noexcept nogil:
    cdef double expected = 0
    cdef int32_t i
    for i in range(t.n_values):
        expected += sums[i] * t.loss[i * t.n_values + answer]
    return expected


cdef inline void answer_by(const Compact* t, const double* sums, int32_t* out) noexcept nogil:
    """The class of each target by the shares of a divided sample."""
    cdef int32_t output, k, best
    cdef int32_t start = 0
    if t.n_outputs == 1:
        out[0] = best_of(t, sums)
        return
    for output in range(t.n_outputs):
        best = start
        for k in range(start, start + t.width[output]):
            if sums[k] > sums[best]:
                best = k
        out[output] = best - start
        start += t.width[output]


# --- many rows

cdef inline uint32_t next_node(
    const Compact* t, const real_t* cells, Py_ssize_t column_stride, bint thresholds, bint known, uint32_t at,
) noexcept nogil:
    """Where a row, whose first cell is `cells`, goes from a node; a leaf keeps it.  NOWHERE: its value alone does not decide.

    Compiled for tests that are plain `thresholds` and for values that are all `known`.
    """
    cdef const Node* node = &t.node[at]
    cdef double x = cell_at(cells, feature_of(node) * column_stride)[0]
    cdef int32_t branch
    if thresholds and known:
        return node.first_child + (x > node.operand.threshold)
    if thresholds:
        return node.first_child + (x > node.operand.threshold) + (node.test >> 28) * (x != x)
    if kind_of(node) <= BY_THRESHOLD and (known or x == x):
        return node.first_child + (x > node.operand.threshold)
    if kind_of(node) == IS_LEAF:
        return at
    branch = branch_alone(t, node, x)
    return node.first_child + branch if branch >= 0 else NOWHERE


cdef inline void walk_rows_of(
    const Compact* t, const Rows* X, const real_t* first, int32_t n, Py_ssize_t column_stride, bint thresholds, bint known,
    uint32_t* at,
) noexcept nogil:
    """Where `n` rows end, whose first cell is `first`, level by level; NOWHERE if their values alone do not decide somewhere."""
    cdef uint8_t[BLOCK] active
    cdef int32_t i, j, _level
    cdef int32_t n_active = n
    cdef uint32_t following
    for i in range(n):
        active[i] = <uint8_t> i
        at[i] = 0
    if thresholds:                     # elsewhere a row may drop out early
        for _level in range(t.least):
            for i in range(n):
                at[i] = next_node(t, cell_at(first, i * X.row_stride), column_stride, thresholds, known, at[i])
    while n_active:
        n = n_active
        n_active = 0
        for j in range(n):
            i = active[j]
            following = next_node(t, cell_at(first, i * X.row_stride), column_stride, thresholds, known, at[i])
            at[i] = following
            active[n_active] = <uint8_t> i
            if thresholds:
                n_active += t.node[following].test != 0        # no leaf; loaded now, it is there when its turn comes
            elif following != NOWHERE:
                n_active += t.node[following].test != 0


cdef inline void walk_block(
    const Compact* t, const Rows* X, const real_t* first, int32_t n, State state, uint32_t* at,
) noexcept nogil:
    """Find where some rows end, as `walk_rows_of`; `state` is that of the rows."""
    cdef Py_ssize_t apart = X.column_stride
    if t.by_thresholds and state == FINITE:
        if apart == sizeof(real_t):
            walk_rows_of(t, X, first, n, sizeof(real_t), True, True, at)
        else:
            walk_rows_of(t, X, first, n, apart, True, True, at)
    elif t.by_thresholds:
        walk_rows_of(t, X, first, n, apart, True, False, at)
    elif state == FINITE:
        walk_rows_of(t, X, first, n, apart, False, True, at)
    else:
        walk_rows_of(t, X, first, n, apart, False, False, at)


cdef inline State state_of_block(const Rows* X, Py_ssize_t start, int32_t n) noexcept nogil:
    """The state of some rows."""
    cdef const char* first = X.data + start * X.row_stride
    return state_of(X, <const float*> first, n) if X.single else state_of(X, <const double*> first, n)


cdef inline void predict_block(
    const Compact* t, const Rows* X, Py_ssize_t start, int32_t n, State state, Visit* visit, double* values, int32_t* answers,
) noexcept nogil:
    """Predict some rows of a known state into `values` (n, n_values) or, if NULL, `answers` (n, n_outputs)."""
    cdef uint32_t[BLOCK] at
    cdef Sample sample
    cdef int32_t i, output
    cdef int64_t node
    cdef const char* first = X.data + start * X.row_stride
    if X.single:
        walk_block(t, X, <const float*> first, n, state, at)
    else:
        walk_block(t, X, <const double*> first, n, state, at)
    sample.X = X
    for i in range(n):
        node = at[i]
        visit.divided = False
        if node == NOWHERE:
            sample.row = start + i
            enter(t, visit, 0)
            go_on(t, visit, &sample)
            node = visit.node
        if values != NULL and visit.divided:
            for output in range(t.n_values):
                values[i * t.n_values + output] = visit.sums[output]
        elif values != NULL:
            copy_values(t, node, values + i * t.n_values)
        elif visit.divided:
            answer_by(t, visit.sums, answers + i * t.n_outputs)
        else:
            for output in range(t.n_outputs):
                answers[i * t.n_outputs + output] = t.answer[end_of(t, &t.node[node]) * t.n_outputs + output]
