"""A tree for servers: 16 bytes a node, one piece of memory that is checked once, and the walks over it.  Header only.

A node holds its threshold, or where its table lies; its first child; and in 32 bits its feature, the kind of its test and where
missing values go.  A leaf is its own first child, and its threshold is NaN with the number of its prediction in the last bits: no
value is above NaN, so a sample that has arrived stays where it is, and a walk need not ask.  What 16 bytes do not tell of a node
(surrogates, soft thresholds, samples that stop, many branches) stands in an extra record.
"""

from libc.math cimport isfinite, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._types cimport (
    NODE_CATEGORY, NODE_INTERVALS, NODE_KNOWN, NODE_THRESHOLD, TO_SHARES, TO_STOP, real_t,
)
from fasttree._walk cimport (
    BLOCK, FINITE, INFINITE, NO_BRANCH, TO_BOTH, Flat, Rows, State, Way, branch_in_table, cell_at, cuts_below, left_part, number,
    state_of,
)


cdef struct Place:             # of a part of a table
    uint32_t start
    uint32_t n


cdef union Told:
    double threshold
    Place place
    uint64_t bits


cdef struct Node:
    Told told                  # threshold; where table, list or cuts lie; of a category test the branches; or of its extra record
    uint32_t first_child       # of a leaf: itself
    uint32_t test              # feature, kind << 24, missing << 28


cdef struct Extra:             # what 16 bytes do not tell of a node
    Told told
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
    MOST_IN_TABLE = 255        # branches that a byte can tell; 255 itself: the code is unknown there
    LAST_IN_NODE = 13          # branch that the four bits of `missing` can tell
    SHARED_OUT = 14            # in these bits: to every branch in proportion to the children's weights
    IN_EXTRA = 15              # in these bits: the extra record knows
    NO_END = 0x7FF80000        # first half of the threshold of a leaf: NaN
    WANTED = -5                # no branch: a cell must be read first
    UNDECIDED = -6             # no branch: the value alone does not tell
    NOWHERE = 0x7FFFFFFF       # no node: a sample that does not go along one branch everywhere


cdef struct Compact:
    const Node* node
    const double* value        # (n_ends, n_values): distinct predictions; where samples divide what `Tree.given` says
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


cdef struct Sample:            # a row of a matrix, or cells that become known as they are asked for
    const Rows* X
    Py_ssize_t row
    double* cell               # where X is NULL
    uint8_t* known
    int32_t wanted             # the feature that WANTED asks for


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


cdef inline int32_t branch_of_value(const Compact* t, uint32_t kind, const Told* told, double x) noexcept nogil:
    """Branch of a value by a test; NO_BRANCH if it is missing or unknown there."""
    cdef uint8_t branch
    if kind == BY_THRESHOLD:
        return NO_BRANCH if isnan(x) else x > told.threshold
    if kind == BY_KNOWN:
        return isnan(x)
    if kind == BY_INTERVALS:
        return NO_BRANCH if isnan(x) else cuts_below(
            t.cut, told.place.start, <int64_t> told.place.start + told.place.n, x
        )
    if not x >= 1:
        return NO_BRANCH
    if kind == BY_LIST:
        return branch_in_table(
            t.list_code, t.list_branch, told.place.start, <int64_t> told.place.start + told.place.n, <uint32_t> x
        )
    if x > told.place.n:
        return NO_BRANCH
    if kind == BY_CATEGORY:
        return <int32_t> x - 1
    branch = t.table[told.place.start + <uint32_t> x - 1]
    return <int32_t> branch if branch < MOST_IN_TABLE else NO_BRANCH


cdef inline const Told* told_of(const Compact* t, const Node* node) noexcept nogil:
    """What its test goes by, wherever that stands."""
    return &t.extra[node.told.place.start].told if kind_of(node) & WITH_EXTRA else &node.told


cdef inline int32_t branch_alone(const Compact* t, const Node* node, double x) noexcept nogil:
    """Branch at an inner node by the value of its feature alone, missing or not; UNDECIDED if that does not tell."""
    cdef uint32_t kind = kind_of(node)
    cdef int32_t branch
    cdef const Extra* extra
    if not kind & WITH_EXTRA:
        branch = branch_of_value(t, kind, &node.told, x)
        if branch == NO_BRANCH:
            branch = <int32_t> (node.test >> 28)
            return branch if branch < SHARED_OUT else UNDECIDED
        return branch
    extra = &t.extra[node.told.place.start]
    branch = branch_of_value(t, kind ^ WITH_EXTRA, &extra.told, x)
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
        branch = branch_of_value(t, kind_of(stand_in + i), &stand_in[i].told, x)
        if branch != NO_BRANCH:
            return branch ^ <int32_t> (stand_in[i].test >> 28)
    return extra.missing


cdef inline uint32_t branches_of(const Compact* t, const Node* node) noexcept nogil:
    """How many branches an inner node has."""
    cdef uint32_t kind = kind_of(node)
    if kind & WITH_EXTRA:
        return t.extra[node.told.place.start].n_branches
    if kind == BY_CATEGORY:
        return node.told.place.n
    if kind == BY_INTERVALS:
        return node.told.place.n + 1
    return 3 if node.test >> 28 == 2 else 2


cdef inline Way way_from(const Compact* t, const Node* node, Sample* sample) noexcept nogil:
    """Where a sample goes from an inner node: as `_walk.way_of`; or WANTED."""
    cdef Way way
    cdef double x
    cdef uint32_t branch
    cdef const Extra* extra = NULL
    way.left = way.whole = 0
    if kind_of(node) & WITH_EXTRA:
        extra = &t.extra[node.told.place.start]
    if not read(sample, feature_of(node), &x):
        way.branch = WANTED
        return way
    if extra != NULL and extra.lower < extra.upper and not isnan(x):
        way.left = left_part(extra.lower, extra.told.threshold, extra.upper, x)
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
    return t.extra[node.told.place.start].end if kind_of(node) else <uint32_t> node.told.bits


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
    """Visit what waits, in the order of `_walk.visit`, first branches first; False if a cell must become known before that."""
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
    """Index of the class of the largest share, or of least expected loss, as `_tree.best_classes`; the first of equal ones."""
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
    """Where a row, whose first cell is `cells`, goes from a node; a leaf keeps it.  NOWHERE: its value alone does not tell.

    Compiled for tests that are plain `thresholds` and for values that are all `known`.
    """
    cdef const Node* node = &t.node[at]
    cdef double x = cell_at(cells, feature_of(node) * column_stride)[0]
    cdef int32_t branch
    if thresholds and known:
        return node.first_child + (x > node.told.threshold)
    if thresholds:
        return node.first_child + (x > node.told.threshold) + (node.test >> 28) * (x != x)
    if kind_of(node) <= BY_THRESHOLD and (known or x == x):
        return node.first_child + (x > node.told.threshold)
    if kind_of(node) == IS_LEAF:
        return at
    branch = branch_alone(t, node, x)
    return node.first_child + branch if branch >= 0 else NOWHERE


cdef inline void walk_rows_of(
    const Compact* t, const Rows* X, const real_t* first, int32_t n, Py_ssize_t column_stride, bint thresholds, bint known,
    uint32_t* at,
) noexcept nogil:
    """Where `n` rows end, whose first cell is `first`, level by level; NOWHERE if their values alone do not tell somewhere."""
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


cdef inline State walk_block(
    const Compact* t, const Rows* X, const real_t* first, int32_t n, State refused, uint32_t* at,
) noexcept nogil:
    """Where some rows end, as in `walk_rows_of`; their state, and nothing else if that is refused."""
    cdef State state = state_of(X, first, n)
    cdef Py_ssize_t apart = X.column_stride
    if state >= refused:
        return state
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
    return state


cdef inline State predict_block(
    const Compact* t, const Rows* X, Py_ssize_t start, int32_t n, State refused, Visit* visit, double* values, int32_t* answers,
) noexcept nogil:
    """Predict some rows into `values` (n, n_values) or, if NULL, `answers` (n, n_outputs); their state if that is refused."""
    cdef uint32_t[BLOCK] at
    cdef Sample sample
    cdef State state
    cdef int32_t i, output
    cdef int64_t node
    cdef const char* first = X.data + start * X.row_stride
    if X.single:
        state = walk_block(t, X, <const float*> first, n, refused, at)
    else:
        state = walk_block(t, X, <const double*> first, n, refused, at)
    if state >= refused:
        return state
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
    return FINITE


# --- laying a tree out


cdef struct Parts:             # what is written, and how much of each there is; where `node` is NULL it is counted alone
    Node* node
    Extra* extra
    Node* surrogate
    uint8_t* table
    uint32_t* list_code
    int32_t* list_branch
    double* cut
    int64_t n_ends
    int64_t n_extras
    int64_t n_surrogates
    int64_t n_cells
    int64_t n_entries
    int64_t n_cuts


cdef inline uint32_t lay_out_table(
    Parts* parts, const uint32_t* code, const int32_t* branch, int64_t n, int32_t n_branches, Told* told,
) noexcept nogil:
    """Write a table as bytes by code, or as a list where that is smaller or has branches that no byte tells; its kind."""
    cdef int64_t span = code[n - 1]
    cdef int64_t i
    if n_branches > MOST_IN_TABLE or span > 8 * n:
        told.place.start, told.place.n = <uint32_t> parts.n_entries, <uint32_t> n
        for i in range(n):
            if parts.node != NULL:
                parts.list_code[parts.n_entries + i] = code[i]
                parts.list_branch[parts.n_entries + i] = branch[i]
        parts.n_entries += n
        return BY_LIST
    told.place.start, told.place.n = <uint32_t> parts.n_cells, <uint32_t> span
    if parts.node != NULL:
        for i in range(span):
            parts.table[parts.n_cells + i] = MOST_IN_TABLE
        for i in range(n):
            parts.table[parts.n_cells + code[i] - 1] = <uint8_t> branch[i]
    parts.n_cells += span
    return BY_TABLE


cdef inline uint32_t lay_out_test(const Flat* t, int32_t i, Parts* parts, Told* told) noexcept nogil:
    """Write what the test of an inner node goes by; its kind."""
    cdef int64_t start, j
    told.bits = 0
    if t.kind[i] == NODE_THRESHOLD:
        told.threshold = t.threshold[i]
        return BY_THRESHOLD
    if t.kind[i] == NODE_KNOWN:
        return BY_KNOWN
    if t.kind[i] == NODE_CATEGORY:
        told.place.n = t.n_branches[i]
        return BY_CATEGORY
    if t.kind[i] == NODE_INTERVALS:
        start = t.cut_start[i]
        told.place.start, told.place.n = <uint32_t> parts.n_cuts, <uint32_t> (t.cut_start[i + 1] - start)
        if parts.node != NULL:
            for j in range(told.place.n):
                parts.cut[parts.n_cuts + j] = t.cut[start + j]
        parts.n_cuts += told.place.n
        return BY_INTERVALS
    start = t.table_start[i]
    return lay_out_table(
        parts, t.table_code + start, t.table_branch + start, t.table_start[i + 1] - start, t.n_branches[i], told
    )


cdef inline void lay_out_surrogates(const Flat* t, int32_t i, Parts* parts) noexcept nogil:
    cdef int64_t s, start
    cdef uint32_t kind
    cdef Node stand_in
    for s in range(t.surrogate_start[i], t.surrogate_start[i + 1]):
        stand_in.first_child = 0
        stand_in.test = <uint32_t> t.surrogate_feature[s]
        if t.surrogate_kind[s] == NODE_THRESHOLD:
            kind = BY_THRESHOLD
            stand_in.told.threshold = t.surrogate_threshold[s]
            stand_in.test |= <uint32_t> t.low_branch[s] << 28
        else:
            start = t.surrogate_table_start[s]
            kind = lay_out_table(
                parts, t.surrogate_code + start, t.surrogate_branch + start, t.surrogate_table_start[s + 1] - start, 2,
                &stand_in.told,
            )
        stand_in.test |= kind << 24
        if parts.node != NULL:
            parts.surrogate[parts.n_surrogates] = stand_in
        parts.n_surrogates += 1


cdef inline void lay_out_inner(const Flat* t, int32_t i, uint32_t end, Parts* parts) noexcept nogil:
    """Write an inner node, and its extra record if it needs one; `end` is the prediction of what stops there."""
    cdef Node node
    cdef Extra extra
    cdef uint32_t kind = lay_out_test(t, i, parts, &node.told)
    cdef bint is_table = kind == BY_TABLE or kind == BY_LIST
    cdef uint32_t usual = 3 if t.missing[i] == 2 else 2
    extra.told = node.told
    extra.lower = extra.upper = 0
    if kind == BY_THRESHOLD:
        extra.lower = t.threshold[i] if t.lower == NULL else t.lower[i]
        extra.upper = t.threshold[i] if t.upper == NULL else t.upper[i]
    extra.n_branches, extra.missing, extra.end = t.n_branches[i], t.missing[i], end
    extra.n_surrogates = extra.first_surrogate = extra.spare = 0
    if t.surrogate_start != NULL:
        extra.n_surrogates = <uint32_t> (t.surrogate_start[i + 1] - t.surrogate_start[i])
    if extra.n_surrogates:
        extra.first_surrogate = <uint32_t> parts.n_surrogates
        lay_out_surrogates(t, i, parts)
    node.first_child = t.first_child[i]
    if (
        extra.n_surrogates or extra.lower < extra.upper or extra.missing == TO_STOP or extra.missing > LAST_IN_NODE
        or (is_table and extra.n_branches != usual)
    ):
        if parts.node != NULL:
            parts.extra[parts.n_extras] = extra
        node.told.bits = 0
        node.told.place.start = <uint32_t> parts.n_extras
        node.test = (kind | WITH_EXTRA) << 24 | <uint32_t> IN_EXTRA << 28
        parts.n_extras += 1
    else:
        node.test = kind << 24 | <uint32_t> (SHARED_OUT if extra.missing == TO_SHARES else extra.missing) << 28
    node.test |= <uint32_t> t.feature[i]
    if parts.node != NULL:
        parts.node[i] = node


cdef inline void lay_out(const Flat* t, int64_t n_nodes, const uint32_t* end, Parts* parts) noexcept nogil:
    """Write a tree into parts that are large enough; `end` has the prediction of each node where samples end, in their order."""
    cdef int32_t i
    cdef uint32_t this_end
    for i in range(<int32_t> n_nodes):
        this_end = 0
        if t.missing[i] == TO_STOP:            # leaves, too
            this_end = end[parts.n_ends]
            parts.n_ends += 1
        if t.first_child[i] >= 0:
            lay_out_inner(t, i, this_end, parts)
        elif parts.node != NULL:
            parts.node[i].told.bits = <uint64_t> NO_END << 32 | this_end
            parts.node[i].first_child, parts.node[i].test = i, 0


# --- checking what a file says


cdef enum Fault:
    SOUND
    WRONG_KIND
    WRONG_FEATURE
    WRONG_LEAF
    WRONG_CHILDREN
    WRONG_THRESHOLD
    WRONG_MISSING
    WRONG_EXTRA
    WRONG_TABLE
    WRONG_CUTS
    WRONG_SURROGATE
    WRONG_WEIGHT
    WRONG_LENGTH


cdef inline Fault fault_of_test(
    const Compact* t, uint32_t kind, const Told* told, const uint32_t* n_categories, int32_t feature, int64_t n_branches,
    Parts* seen,
) noexcept nogil:
    """What is wrong with what a test goes by, which must follow what tests before it go by; a test on codes needs categories."""
    cdef uint32_t n = told.place.n
    cdef uint32_t start = told.place.start
    cdef int64_t i
    if kind == BY_THRESHOLD:
        return SOUND if isfinite(told.threshold) else WRONG_THRESHOLD
    if kind == BY_KNOWN:
        return SOUND if told.bits == 0 and n_branches == 2 else WRONG_KIND
    if kind == BY_INTERVALS:
        if start != seen.n_cuts or n < 1 or n + <int64_t> 1 != n_branches or n > t.n_cuts - seen.n_cuts:
            return WRONG_CUTS
        for i in range(n):
            if not isfinite(t.cut[start + i]) or (i and not t.cut[start + i] > t.cut[start + i - 1]):
                return WRONG_CUTS
        seen.n_cuts += n
        return SOUND
    if n_categories[feature] == 0:
        return WRONG_FEATURE
    if kind == BY_CATEGORY:
        return SOUND if start == 0 and n == n_branches else WRONG_KIND
    if kind == BY_TABLE:
        if start != seen.n_cells or not 1 <= n <= n_categories[feature] or n > t.n_cells - seen.n_cells:
            return WRONG_TABLE
        for i in range(n):
            if t.table[start + i] >= n_branches and t.table[start + i] != MOST_IN_TABLE:
                return WRONG_TABLE
        seen.n_cells += n
        return SOUND
    if kind != BY_LIST:
        return WRONG_KIND
    if start != seen.n_entries or n < 1 or n > t.n_entries - seen.n_entries:
        return WRONG_TABLE
    for i in range(start, <int64_t> start + n):
        if not 1 <= t.list_code[i] <= n_categories[feature] or (i > start and t.list_code[i] <= t.list_code[i - 1]):
            return WRONG_TABLE
        if not 0 <= t.list_branch[i] < n_branches:
            return WRONG_TABLE
    seen.n_entries += n
    return SOUND


cdef inline Fault fault_of_surrogates(
    const Compact* t, const Extra* extra, const uint32_t* n_categories, Parts* seen,
) noexcept nogil:
    cdef const Node* stand_in
    cdef uint32_t i, low
    if extra.n_surrogates == 0:
        return SOUND if extra.first_surrogate == 0 else WRONG_SURROGATE
    if extra.first_surrogate != seen.n_surrogates or extra.n_surrogates > t.n_surrogates - seen.n_surrogates:
        return WRONG_SURROGATE
    if extra.n_branches != 2:
        return WRONG_SURROGATE
    for i in range(extra.n_surrogates):
        stand_in = t.surrogate + extra.first_surrogate + i
        low = stand_in.test >> 28
        if feature_of(stand_in) >= t.n_features or stand_in.first_child:
            return WRONG_SURROGATE
        if kind_of(stand_in) != BY_THRESHOLD and kind_of(stand_in) != BY_TABLE and kind_of(stand_in) != BY_LIST:
            return WRONG_SURROGATE
        if low > <uint32_t> (kind_of(stand_in) == BY_THRESHOLD):
            return WRONG_SURROGATE
        if fault_of_test(t, kind_of(stand_in), &stand_in.told, n_categories, feature_of(stand_in), 2, seen) != SOUND:
            return WRONG_SURROGATE
    seen.n_surrogates += extra.n_surrogates
    return SOUND


cdef inline Fault fault_of_inner(
    const Compact* t, int64_t i, const uint32_t* n_categories, Parts* seen, int64_t* n_branches, bint* shared_out,
) noexcept nogil:
    """What is wrong with an inner node but its children; tells how many they are and whether samples are shared out to them."""
    cdef const Node* node = &t.node[i]
    cdef const Extra* extra = NULL
    cdef uint32_t kind = kind_of(node) & ~<uint32_t> WITH_EXTRA
    cdef int64_t missing = node.test >> 28
    cdef Fault fault
    if feature_of(node) >= t.n_features:
        return WRONG_FEATURE
    if kind_of(node) & WITH_EXTRA:
        if node.told.place.start != seen.n_extras or node.told.place.n or seen.n_extras == t.n_extras or missing != IN_EXTRA:
            return WRONG_EXTRA
        extra = &t.extra[seen.n_extras]
        seen.n_extras += 1
        missing = extra.missing
        if extra.spare or extra.end >= t.n_ends or (extra.end and missing != TO_STOP):
            return WRONG_EXTRA
    elif missing == IN_EXTRA:
        return WRONG_MISSING
    elif missing == SHARED_OUT:
        missing = TO_SHARES
    shared_out[0] = missing == TO_SHARES
    n_branches[0] = branches_of(t, node)
    if not TO_STOP <= missing < n_branches[0] or n_branches[0] < 2:
        return WRONG_MISSING
    if kind == BY_KNOWN and missing != 1:
        return WRONG_MISSING
    if kind == BY_THRESHOLD and n_branches[0] != (3 if missing == 2 else 2):
        return WRONG_KIND
    if missing == TO_SHARES and t.weight == NULL:
        return WRONG_WEIGHT
    fault = fault_of_test(t, kind, told_of(t, node), n_categories, feature_of(node), n_branches[0], seen)
    if fault != SOUND or extra == NULL:
        return fault
    if kind != BY_THRESHOLD:
        if extra.lower != 0 or extra.upper != 0:
            return WRONG_EXTRA
    elif not (
        isfinite(extra.lower) and isfinite(extra.upper) and extra.lower <= extra.told.threshold
        and extra.told.threshold <= extra.upper
    ):
        return WRONG_THRESHOLD
    if extra.lower < extra.upper and t.weight == NULL:
        return WRONG_WEIGHT
    return fault_of_surrogates(t, extra, n_categories, seen)


cdef inline Fault fault_of_weights(const Compact* t, int64_t first, int64_t n, bint shared_out) noexcept nogil:
    """Weights of children; if samples are shared out among them, they must weigh something together."""
    cdef double whole = 0
    cdef int64_t i
    for i in range(first, first + n):
        if not (isfinite(t.weight[i]) and t.weight[i] >= 0):
            return WRONG_WEIGHT
        whole += t.weight[i]
    return SOUND if not shared_out or (whole > 0 and isfinite(whole)) else WRONG_WEIGHT


cdef inline Fault fault_of(Compact* t, const uint32_t* n_categories, int64_t* where) noexcept nogil:
    """The first thing that is wrong with a tree, and its node; one pass, in which every part must be used up in order.

    Nodes are numbered breadth first, so each inner node's children begin where those before end: nothing leads back.
    Fills what walks want to know of the whole tree.
    """
    cdef Parts seen
    cdef const Node* node
    cdef int64_t i, n_branches
    cdef int64_t next_child = 1
    cdef int64_t level_stop = 1        # the first node below this level
    cdef int64_t depth = 0
    cdef int64_t most_branches = 1
    cdef bint shared_out
    cdef Fault fault
    seen.n_extras = seen.n_surrogates = seen.n_cells = seen.n_entries = seen.n_cuts = 0
    t.by_thresholds = True
    t.least = -1
    if t.weight != NULL and not (isfinite(t.weight[0]) and t.weight[0] >= 0):
        where[0] = 0
        return WRONG_WEIGHT
    for i in range(t.n_nodes):
        where[0] = i
        node = &t.node[i]
        if i == level_stop:
            level_stop = next_child
            depth += 1
        if i >= next_child:
            return WRONG_CHILDREN
        if kind_of(node) == IS_LEAF:
            if node.test or node.first_child != i or node.told.bits >> 32 != NO_END or end_of(t, node) >= t.n_ends:
                return WRONG_LEAF
            if t.least < 0:
                t.least = <int32_t> depth
            continue
        fault = fault_of_inner(t, i, n_categories, &seen, &n_branches, &shared_out)
        if fault != SOUND:
            return fault
        if node.first_child != next_child or n_branches > t.n_nodes - next_child:
            return WRONG_CHILDREN
        if t.weight != NULL and fault_of_weights(t, next_child, n_branches, shared_out) != SOUND:
            return WRONG_WEIGHT
        next_child += n_branches
        most_branches = max(most_branches, n_branches)
        t.by_thresholds &= kind_of(node) == BY_THRESHOLD and node.test >> 28 < SHARED_OUT
    t.most_waiting = min(t.n_nodes, 1 + (depth + 1) * (most_branches - 1))
    if (
        next_child != t.n_nodes or seen.n_extras != t.n_extras or seen.n_surrogates != t.n_surrogates
        or seen.n_cells != t.n_cells or seen.n_entries != t.n_entries or seen.n_cuts != t.n_cuts
    ):
        return WRONG_LENGTH
    return SOUND
