"""The nodes of a tree under construction, in the order of their creation, and the arrays that they become.  Header only.

Each field is an array that grows; tables of categories, cuts between intervals and surrogates are beside them.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from fasttree._engine.arrays cimport filled, memory_of, pick
from fasttree._engine.grow.team cimport Frontier
from fasttree._engine.memory cimport free_arena, reserve, resize
from fasttree._engine.risk.impurity cimport plain_risk, risk_of
from fasttree._engine.risk.release8 cimport most_leaves
from fasttree._engine.scan.message cimport NEARLY
from fasttree._engine.types cimport MDL_RATIO, NODE_LEAF, TABLE, TO_STOP, Arena, Problem, Totals


cdef struct Kept:              # a surrogate of the tree under construction
    int64_t node
    double agreement
    double adjusted
    int64_t table_stop         # end of its categories in the tables
    int32_t feature
    int32_t low_branch
    uint32_t row_low           # samples whose values are on both sides of the threshold
    uint32_t row_high


cdef struct SurrogateTable:        # those of all nodes, in order of creation
    Kept* kept
    int64_t n
    int64_t capacity
    uint32_t* table_code
    int32_t* table_branch
    int64_t table_n
    int64_t table_capacity


cdef inline void free_surrogates(SurrogateTable* all) noexcept nogil:
    free(all.kept)
    free(all.table_code)
    free(all.table_branch)
    memset(all, 0, sizeof(SurrogateTable))


cdef enum:
    FIELDS = 13
    FIRST_NODES = 32               # room from the start is for twice as many
    MOST_NODES = 2147483646


cdef struct NodeTable:                 # the tree under construction, in order of creation
    int64_t n
    int64_t root                   # where the tree starts that grows next: 0, or a branch of node 0
    int32_t width
    Arena fields[FIELDS]           # where the arrays are, in this order
    int32_t* parent
    int32_t* first_child
    int32_t* n_branches
    int32_t* feature
    int32_t* missing
    uint32_t* row_low              # samples whose values are on both sides of a threshold
    uint32_t* row_high
    uint8_t* kind
    int64_t* n_samples
    double* weight
    double* impurity
    double* gain
    double* value                  # n x width
    int64_t table_n
    int64_t table_capacity
    int64_t* table_node
    uint32_t* table_code
    int32_t* table_branch
    int64_t cut_n
    int64_t cut_capacity
    int64_t* cut_node
    uint32_t* cut_low              # samples whose values are on both sides of a cut between two intervals
    uint32_t* cut_high
    SurrogateTable surrogates
    Frontier* frontier             # of the whole tree


cdef inline size_t size_of_field(const NodeTable* t, int32_t i) noexcept nogil:
    """Bytes of field i for each node."""
    cdef size_t[FIELDS] sizes = [4, 4, 4, 4, 4, 4, 4, 1, 8, 8, 8, 8, 8 * t.width]
    return sizes[i]


cdef inline void place_fields(NodeTable* t) noexcept nogil:
    """Let the arrays be where their memory is."""
    t.parent = <int32_t*> t.fields[0].data
    t.first_child = <int32_t*> t.fields[1].data
    t.n_branches = <int32_t*> t.fields[2].data
    t.feature = <int32_t*> t.fields[3].data
    t.missing = <int32_t*> t.fields[4].data
    t.row_low = <uint32_t*> t.fields[5].data
    t.row_high = <uint32_t*> t.fields[6].data
    t.kind = <uint8_t*> t.fields[7].data
    t.n_samples = <int64_t*> t.fields[8].data
    t.weight = <double*> t.fields[9].data
    t.impurity = <double*> t.fields[10].data
    t.gain = <double*> t.fields[11].data
    t.value = <double*> t.fields[12].data


cdef inline int reserve_nodes(NodeTable* t, int64_t extra) noexcept nogil:
    """Make room for some nodes more, and for as many again as there are then.  -1 if memory runs out."""
    cdef int64_t n = t.n + extra
    cdef int32_t i
    if n > MOST_NODES:
        return -1
    if n * 4 <= <int64_t> t.fields[0].size:
        return 0
    n = max(n, FIRST_NODES)
    for i in range(FIELDS):
        if reserve(&t.fields[i], 2 * n * size_of_field(t, i)):
            return -1
    place_fields(t)
    return 0


cdef inline int add_to_table(NodeTable* t, int64_t node, uint32_t code, int32_t branch) noexcept nogil:
    cdef int64_t c = t.table_capacity
    if t.table_n == c:
        c = 2 * c + 64
        if (resize(<void**> &t.table_node, c * 8) or resize(<void**> &t.table_code, c * 4)
                or resize(<void**> &t.table_branch, c * 4)):
            return -1
        t.table_capacity = c
    t.table_node[t.table_n] = node
    t.table_code[t.table_n] = code
    t.table_branch[t.table_n] = branch
    t.table_n += 1
    return 0


cdef inline int add_range(NodeTable* t, int64_t node, uint32_t start, uint32_t stop, int32_t branch) noexcept nogil:
    """Let the codes start, ..., stop - 1, which no sample of the node has, go to a branch."""
    cdef uint32_t code
    for code in range(start, stop):
        if add_to_table(t, node, code, branch):
            return -1
    return 0


cdef inline int add_cut(NodeTable* t, int64_t node, uint32_t low, uint32_t high) noexcept nogil:
    cdef int64_t c = t.cut_capacity
    if t.cut_n == c:
        c = 2 * c + 64
        if resize(<void**> &t.cut_node, c * 8) or resize(<void**> &t.cut_low, c * 4) or resize(<void**> &t.cut_high, c * 4):
            return -1
        t.cut_capacity = c
    t.cut_node[t.cut_n] = node
    t.cut_low[t.cut_n] = low
    t.cut_high[t.cut_n] = high
    t.cut_n += 1
    return 0


cdef inline void blank_node(NodeTable* t, int64_t i, int64_t parent) noexcept nogil:
    t.parent[i] = <int32_t> parent
    t.first_child[i] = -1
    t.n_branches[i] = 0
    t.feature[i] = -1
    t.kind[i] = NODE_LEAF
    t.row_low[i] = 0
    t.row_high[i] = 0
    t.missing[i] = TO_STOP
    t.gain[i] = 0


cdef inline int open_branches(NodeTable* t, int64_t n_branches) noexcept nogil:
    """Let an empty tree start with a node and its branches, which hold nothing.  -1 if memory runs out."""
    cdef int64_t i
    if reserve_nodes(t, n_branches + 1):
        return -1
    t.n = n_branches + 1
    for i in range(t.n):
        blank_node(t, i, 0 if i else -1)
        t.n_samples[i] = 0
        t.weight[i] = 0
        t.impurity[i] = 0
    memset(t.value, 0, t.n * t.width * sizeof(double))
    t.first_child[0] = 1
    t.n_branches[0] = <int32_t> n_branches
    return 0


cdef inline void number_rows(NodeTable* t, int64_t start, uint32_t first) noexcept nogil:
    """Number the rows of the tree that grew last, whose nodes but for its root begin at `start`, from `first` on."""
    cdef int64_t i
    t.row_low[t.root] += first
    t.row_high[t.root] += first
    for i in range(start, t.n):
        t.row_low[i] += first
        t.row_high[i] += first


cdef inline void write_class_node(const Problem* p, NodeTable* t, int64_t i, Totals* totals) noexcept nogil:
    """Store a node's class weights and impurity, and complete its totals with the risk."""
    cdef int32_t k
    cdef double weight = <double> totals.weight * p.unit
    cdef double risk
    totals.risk = risk_of(p, totals.counts)
    t.n_samples[i] = totals.n
    t.weight[i] = weight
    risk = plain_risk(p, totals.counts) if p.sweep == TABLE else totals.risk
    t.impurity[i] = risk / weight if weight > 0 else 0
    for k in range(p.n_classes):
        t.value[i * t.width + k] = <double> totals.counts[k] * p.unit


cdef inline bint is_leaf(const Problem* p, const Totals* totals, double impurity, int64_t depth) noexcept nogil:
    """Is the node too deep, too small or too pure to be split?"""
    cdef int32_t k
    cdef int32_t n_pure = 0
    if p.max_depth >= 0 and depth >= p.max_depth:
        return True
    if totals.n < p.min_samples_split or totals.n < 2 * p.min_samples_leaf:
        return True
    if impurity <= p.min_impurity:
        return True
    if <double> totals.weight * p.unit < 2 * p.min_weight_leaf:
        return True
    if <double> totals.weight * p.unit < p.min_node_weight * (1 - 1e-9):
        return True
    if p.release8 and <double> totals.weight * p.unit < 2 * p.min_branch_weight * (1 - 1e-12):
        return True
    if p.leaves_per_weight and most_leaves(p, totals.weight) < 2:
        return True
    for k in range(p.n_classes):
        n_pure += totals.counts[k] == totals.weight
        if p.rank == MDL_RATIO and totals.counts[k] >= NEARLY * <double> totals.weight:
            return True
    return p.n_classes > 0 and n_pure == p.n_outputs


cdef inline void free_nodes(NodeTable* t) noexcept nogil:
    cdef int32_t i
    for i in range(FIELDS):
        free_arena(&t.fields[i])
    free(t.table_node)
    free(t.table_code)
    free(t.table_branch)
    free(t.cut_node)
    free(t.cut_low)
    free(t.cut_high)
    free_surrogates(&t.surrogates)


cdef inline int64_t number_breadth_first(NodeTable* t, int64_t* order, int32_t* place) noexcept nogil:
    """Renumber the nodes that are in the tree level by level, siblings in order, wherever one names another.

    order[i] = the row of node i in the fields, which stay as they are; place = its inverse.  Returns the number of nodes.
    """
    cdef int64_t n = 1
    cdef int64_t i = 0
    cdef int64_t at
    cdef int32_t b
    order[0] = 0
    while i < n:
        for b in range(t.n_branches[order[i]]):
            order[n] = t.first_child[order[i]] + b
            n += 1
        place[order[i]] = <int32_t> i
        i += 1
    for i in range(n):                 # others were in the place of roots of subtrees
        at = order[i]
        if t.first_child[at] >= 0:
            t.first_child[at] = place[t.first_child[at]]
        if t.parent[at] >= 0:
            t.parent[at] = place[t.parent[at]]
    for i in range(t.table_n):
        t.table_node[i] = place[t.table_node[i]]
    for i in range(t.cut_n):
        t.cut_node[i] = place[t.cut_node[i]]
    for i in range(t.surrogates.n):
        t.surrogates.kept[i].node = place[t.surrogates.kept[i].node]
    return n


cdef inline object take_field(NodeTable* t, int32_t field, int64_t n, size_t size, const int64_t* order, object array):
    """Fill an array, which has `size` bytes for each of n nodes, with a field, and free the field: a tree may be large."""
    pick(t.fields[field].data, order, n, size, memory_of(array))
    free_arena(&t.fields[field])
    return array


cdef inline dict take_nodes(NodeTable* t, bint with_surrogates):
    """The grown tree as arrays, numbered breadth first."""
    import numpy as np
    cdef int64_t n = t.n
    cdef int32_t field = 0
    cdef dict out = {}
    empty = np.empty
    orders_and_places = empty(n + (n + 1) // 2, "i8")
    cdef int64_t* order = <int64_t*> memory_of(orders_and_places)
    cdef int32_t* place = <int32_t*> (order + n)
    with nogil:
        n = number_breadth_first(t, order, place)
    for name, dtype, size in (
        ("parent", "i4", 4), ("first_child", "i4", 4), ("n_branches", "i4", 4), ("feature", "i4", 4), ("missing", "i4", 4),
        ("row_low", "u4", 4), ("row_high", "u4", 4), ("kind", "u1", 1), ("n_samples", "i8", 8), ("weight", "f8", 8),
        ("impurity", "f8", 8), ("gain", "f8", 8),
    ):
        out[name] = take_field(t, field, n, size, order, empty(n, dtype))
        field += 1
    out["value"] = take_field(t, field, n, 8 * t.width, order, empty((n, t.width)))
    out["categories_node"] = filled(empty(t.table_n, "i8"), t.table_node, t.table_n * 8)
    out["categories_code"] = filled(empty(t.table_n, "u4"), t.table_code, t.table_n * 4)
    out["categories_branch"] = filled(empty(t.table_n, "i4"), t.table_branch, t.table_n * 4)
    if t.cut_n:
        out["cut_node"] = filled(empty(t.cut_n, "i8"), t.cut_node, t.cut_n * 8)
        out["cut_low"] = filled(empty(t.cut_n, "u4"), t.cut_low, t.cut_n * 4)
        out["cut_high"] = filled(empty(t.cut_n, "u4"), t.cut_high, t.cut_n * 4)
    if with_surrogates:
        kept = np.dtype([("node", "i8"), ("agreement", "f8"), ("adjusted", "f8"), ("categories_stop", "i8"), ("feature", "i4"),
                         ("low_branch", "i4"), ("row_low", "u4"), ("row_high", "u4")])     # as Kept
        n = t.surrogates.n
        out["surrogates"] = filled(empty(n, kept), t.surrogates.kept, n * sizeof(Kept))
        n = t.surrogates.table_n
        out["surrogate_code"] = filled(empty(n, "u4"), t.surrogates.table_code, n * 4)
        out["surrogate_branch"] = filled(empty(n, "i4"), t.surrogates.table_branch, n * 4)
    return out
