"""Passes over a finished tree: pruning, costs of subtrees, thresholds, and sums over the samples that reach each node.

Kernels trust their caller: every check is at the edge, in Python.
"""

from libc.math cimport INFINITY, NAN, ceil, log, nextafter, sqrt
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.arrays cimport copied, doubles_of, int32s_of, int64s_of, memory_of, uint8s_of, uint32s_of
from fasttree._engine.columns.cells cimport (
    CODE8, CODE16, CODE32, CODED, FLOAT32, FLOAT64, Cells, cell, cell_t, midpoint, single_midpoint,
)
from fasttree._engine.columns.raising cimport CHUNK_ROWS, FEW_THRESHOLDS, raise_few, raise_many
from fasttree._engine.columns.spread cimport Spread, spread_out
from fasttree._engine.prune.anew cimport ALMOST, NewBranch, SampleList, fill_branches, list_of, open_branches
from fasttree._engine.prune.cheapest cimport Cheapest, cut_cheapest, mark_useless, meld
from fasttree._engine.prune.apart cimport prune_lists, start_apart
from fasttree._engine.prune.errors cimport add_part, free_pruning, make_room, prune_by_errors, reserve_parts
from fasttree._engine.prune.frames cimport GROW_ANEW, ErrorPruning, Frame, whole_weight
from fasttree._engine.prune.raised cimport go_on_anew, raised_node
from fasttree._engine.risk.impurity cimport deviation
from fasttree._engine.risk.sizes cimport DIGITS, FEW_TERMS, add_many_sizes, add_size
from fasttree._engine.risk.sums cimport exact_add, exact_value, exact_zero
from fasttree._engine.types cimport NODE_THRESHOLD, Exact
from fasttree._engine.walk.rows cimport Rows, number, rows_of
from fasttree._engine.walk.tree cimport Flat, arrays_of, branch_of, class_from, stops, visit
from fasttree._engine.watch cimport handles_signals, raise_pending, start_watch


cdef inline double mean_index(const double* value, Py_ssize_t n_classes) noexcept nogil:
    """`mean_value` of a finished node, from its class weights."""
    cdef double total = 0
    cdef double whole = 0
    cdef Py_ssize_t k
    for k in range(n_classes):
        total += k * value[k]
        whole += value[k]
    return total / whole


cdef inline void clip_classes(double* value, Py_ssize_t n_classes, double low, double high) noexcept nogil:
    """Move class weight to the last class, or to the first, until the mean index lies within bounds.

    The share that is then predicted for two classes is within them whatever the rounding.
    """
    cdef double mean = mean_index(value, n_classes)
    cdef double bound = low if mean < low else high
    cdef Py_ssize_t gains = n_classes - 1 if mean < low else 0
    cdef double whole = 0
    cdef double part
    cdef Py_ssize_t k
    if low <= mean <= high:
        return
    part = (bound - mean) / (gains - mean)
    for k in range(n_classes):
        whole += value[k]
        value[k] *= 1 - part
    value[gains] += part * whole
    while n_classes == 2 and (mean_index(value, 2) < low if gains else mean_index(value, 2) > high):
        value[gains] = nextafter(value[gains], INFINITY)


# ---------------------------------------------------------------------------------------------------------------------
# Soft thresholds
# ---------------------------------------------------------------------------------------------------------------------

def threshold_tests(
    object tree, object X, const int32_t[::1] classes, int64_t[::1] starts, int32_t[::1] out, double[::1] part,
    uint8_t[:, ::1] wrong,
):
    """Threshold nodes that every row reaches with a known value: those before the first missing value, or, with `part`, all.

    With `out` None fill starts[1:] with their numbers; whether there is a `part` decides which count.  Else write the nodes at
    starts, the parts of the row that arrive there, and whether the row is given a wrong class in its own branch and in the other.
    """
    cdef const Flat* t = arrays_of(tree)
    cdef Rows rows = rows_of(X)
    cdef const double[:, ::1] value = tree.contribution
    cdef const int32_t[::1] label = np.ascontiguousarray(tree.predicted_class, dtype=np.int32)
    cdef Py_ssize_t row
    cdef Py_ssize_t n_nodes = tree.node_count
    scratch = np.empty(5 * n_nodes + value.shape[1])
    cdef double* arriving = <double*> memory_of(scratch)
    cdef double* parts = arriving + n_nodes
    cdef double* weights = arriving + 2 * n_nodes
    cdef double* shares = arriving + 3 * n_nodes
    cdef int32_t* reached = <int32_t*> (shares + value.shape[1])
    cdef int32_t* stack = reached + n_nodes
    cdef int32_t* nodes = reached + 2 * n_nodes
    cdef bint write = out is not None
    cdef bint whole = part is None
    cdef int64_t i, k, n
    cdef int32_t node, branch, side, start
    cdef int32_t given, own
    cdef double x
    with nogil:
        for row in range(rows.n):
            i = starts[row] if write else 0
            own = -1  # the class of the whole row: the same in its own branches of all nodes before it is divided
            n = visit(t, &rows, row, 0, stack, parts, reached, arriving)
            for k in range(n):
                node = reached[k]
                branch = -1 if t.first_child[node] < 0 else branch_of(t, node, &rows, row)
                if branch < 0:
                    if whole:
                        break
                    continue
                x = number(&rows, row, t.feature[node])
                if t.kind[node] != NODE_THRESHOLD or x != x:
                    continue
                if write:
                    out[i] = node
                    if not whole:
                        part[i] = arriving[k]
                    for side in range(2):
                        given = own
                        if side or own < 0 or arriving[k] < 1:
                            start = t.first_child[node] + (1 - branch if side else branch)
                            given = class_from(
                                t, &rows, row, start, value, label, stack, parts, nodes, weights, shares,
                            )
                        wrong[side, i] = given != classes[row]
                        if not side and arriving[k] == 1:
                            own = given
                i += 1
            if not write:
                starts[row + 1] = i


# ---------------------------------------------------------------------------------------------------------------------
# Error-based pruning: the samples go down a grown tree once more
# ---------------------------------------------------------------------------------------------------------------------

cdef class Columns:
    """The columns of a table as they are, to be read cell by cell; only those that were added may be read.

    Parameters
    ----------
    n_features : int
    """

    cdef Cells* cells
    cdef int32_t n_features
    cdef list kept

    def __cinit__(self, int32_t n_features):
        self.n_features = n_features
        self.kept = []
        self.cells = <Cells*> calloc(max(n_features, 1), sizeof(Cells))
        if self.cells == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.cells)

    def add(self, int32_t feature, const cell_t[:] column):
        """Values (NaN = missing) or category codes (0 = missing) of a feature.  They are not copied."""
        cdef Cells* cells = &self.cells[feature]
        self.kept.append(column)
        cells.data = <const char*> &column[0]
        cells.stride = column.strides[0]
        if cell_t is float:
            cells.type = FLOAT32
        elif cell_t is double:
            cells.type = FLOAT64
        elif cell_t is uint8_t:
            cells.type = CODE8
        elif cell_t is uint16_t:
            cells.type = CODE16
        else:
            cells.type = CODE32

    def add_coded(self, int32_t feature, codes, values):
        """Codes 1, 2, ... of values, ascending, one byte for each sample, 0 = missing.  They are not copied."""
        cdef Cells* cells = &self.cells[feature]
        self.kept.append((codes, values))
        cells.type, cells.stride, cells.n_values = CODED, 1, len(values)
        cells.data, cells.values = <const char*> uint8s_of(codes), doubles_of(values)

    def single_midpoints(self, feature, kind, low, high, rows, out, /):
        """out[i] = where a threshold parts the values of feature[i] in rows[low[i]] and rows[high[i]]; NaN for other tests."""
        cdef const int32_t* tested = <const int32_t*> memory_of(feature)
        cdef const uint8_t* kinds = <const uint8_t*> memory_of(kind)
        cdef const uint32_t* below = <const uint32_t*> memory_of(low)
        cdef const uint32_t* above = <const uint32_t*> memory_of(high)
        cdef const int64_t* row = <const int64_t*> memory_of(rows)
        cdef double* midpoints = <double*> memory_of(out)
        cdef const Cells* column
        cdef Py_ssize_t i
        for i in range(len(out)):
            midpoints[i] = NAN
            if kinds[i] == NODE_THRESHOLD:
                column = &self.cells[tested[i]]
                midpoints[i] = single_midpoint(cell(column, row[below[i]]), cell(column, row[above[i]]))


cdef Flat tests_of(object nodes):
    """The arrays of the tests of `nodes`, which have neither intervals nor surrogates."""
    cdef Flat t
    memset(&t, 0, sizeof(Flat))
    t.first_child = int32s_of(nodes.first_child)
    t.n_branches = int32s_of(nodes.n_branches)
    t.feature = int32s_of(nodes.feature)
    t.kind = uint8s_of(nodes.kind)
    t.threshold = doubles_of(nodes.threshold)
    t.missing = int32s_of(nodes.missing)
    t.table_start = int64s_of(nodes.categories_start)
    t.table_code = uint32s_of(nodes.categories_code)
    t.table_branch = int32s_of(nodes.categories_branch)
    return t


cdef object samples_of(const ErrorPruning* p, int32_t node, int64_t n_rows):
    """The samples of the top frame by the branches of another node's test; `n_rows` are those of the table.

    Returns rows, weights (None: all 1) and classes, where those of each branch start and the last end, and the branches that are
    heavy enough to be divided, and have samples of several classes.
    """
    cdef const Frame* f = &p.frames[p.frames_n - 1]
    cdef int64_t n = f.parts_stop - f.parts + f.rows_stop - f.rows
    cdef int32_t n_branches = p.tree.n_branches[node]
    room = np.empty(2 * n + 3 * n_branches, "i8")
    cdef int64_t* scratch = <int64_t*> memory_of(room)
    cdef NewBranch* branches = <NewBranch*> (scratch + 2 * n)
    cdef SampleList samples
    cdef int64_t n_listed, known
    cdef bint are_ones
    cdef int32_t b
    with nogil:
        samples = list_of(p, node, n_rows, scratch)
        n_listed = open_branches(&samples, branches, n_branches, &known)
    rows, weights, labels = np.empty(n_listed, "i8"), np.empty(n_listed), np.empty(n_listed, "u2")
    cdef int64_t* row = <int64_t*> memory_of(rows)
    cdef double* weight = <double*> memory_of(weights)
    cdef uint16_t* label = <uint16_t*> memory_of(labels)
    with nogil:
        are_ones = fill_branches(&samples, branches, n_branches, known, row, weight, label)
    starts, inner = [0], []
    for b in range(n_branches):
        starts.append(branches[b].stop)
        if branches[b].lowest < branches[b].highest and (
                <double> branches[b].known / <double> known * <double> f.total >= ALMOST * 2 * <double> p.minimum):
            inner.append(b)
    return rows, None if are_ones else weights, labels, starts, inner


cdef object nodes_of(const ErrorPruning* p, Py_ssize_t n_nodes, object values):
    """What `error_based` returns; `values` are those of the nodes as they were grown."""
    cdef Py_ssize_t i
    cdef int32_t k
    weights = np.empty(n_nodes)
    cdef double* total = <double*> memory_of(weights)
    cdef double* value = <double*> memory_of(values)
    out = {
        "source": copied(p.source, n_nodes, sizeof(int32_t), "i4"),
        "leaf": copied(p.leaf, n_nodes, 1, "u1"),
        "n_samples": copied(p.n_samples, n_nodes, sizeof(int64_t), "i8"),
        "errors": copied(p.errors, n_nodes, sizeof(float), "f4"),
        "weight": weights,
        "value": values,                   # empty leaves keep theirs
    }
    with nogil:
        for i in range(n_nodes):
            total[i] = <double> p.total[i] * p.unit
            for k in range(p.n_classes if p.total[i] else 0):
                value[i * p.n_classes + k] = <double> p.counts[i * p.n_classes + k] * p.unit
    return out


def error_based(
    object tree, Columns columns, object part, const uint16_t[::1] label, object weight, int64_t whole, double unit, object rules,
    object grow_anew=None, object several=None,
):
    """Prune a tree by its predicted errors (Quinlan 1993, chapter 4).

    Parameters
    ----------
    tree : Tree; missing values go to a branch or are shared out
    columns : the columns that the tree tests
    part : (n,) whether each sample takes part, 1, or may also lack a value, 2
    label : (n,) class codes
    weight : (n,) in fixed point of quantum `unit`, or None where each is `whole`
    rules : ErrorRules
    grow_anew : called with a node and what `samples_of` says, where C5.0 grows a branch anew (None: it never does); adds nodes
        behind the others, the first of which has the test of the node, and returns the tests of all; its `value` has their values
    several : called with a number p and a number of lists of samples n (None: one thread prunes all); calls `prune_some(p, i)`
        once for each i < n, in threads, and returns when all are over

    Returns
    -------
    dict of arrays over the nodes of the tree, with those added: `source`, the node whose test and children are now here; `leaf`;
    what the training samples say there: `value`, `weight`, `n_samples`, `errors`.  Meaningful for the nodes that can still be
    reached.  `ends` has the leaf of each sample, -1 if the sample may be divided, 0 if it does not take part.
    """
    cdef ErrorPruning p
    cdef Py_ssize_t n_nodes = tree.node_count
    cdef Py_ssize_t n_before
    cdef Py_ssize_t n = len(part)
    cdef const uint8_t* parts = uint8s_of(part)
    cdef int32_t raised
    cdef int status
    ends = np.zeros(label.shape[0], dtype=np.int32)
    cdef int32_t* end = <int32_t*> memory_of(ends)
    cdef Py_ssize_t i
    memset(&p, 0, sizeof(ErrorPruning))
    p.tree = arrays_of(tree)[0]
    p.columns = columns.cells
    p.label = &label[0]
    p.ends = end
    p.weight = int64s_of(weight)
    p.whole = whole
    p.unit = unit
    p.n_classes = tree.value.shape[1]
    p.log_level = log(<double> rules.confidence)
    p.coefficient = rules.coefficient
    p.min_part = <int64_t> ceil(<double> rules.min_part_weight / unit)
    p.c50 = rules.minimum > 0
    p.grows_anew = p.c50 and grow_anew is not None
    p.class_weight[0], p.class_weight[1] = rules.class_weight
    p.minimum = <int64_t> ceil(<double> rules.minimum / unit * (1 - 1e-12))
    start_watch(&p.watch, handles_signals(), NULL)
    try:
        make_room(&p, 0, n_nodes)
        p.rows = <uint32_t*> malloc((2 * n + 1) * sizeof(uint32_t))
        p.spare_rows = <uint32_t*> malloc((n + 1) * sizeof(uint32_t))
        p.branch = <int32_t*> malloc((n + 1) * sizeof(int32_t))
        p.here = <int64_t*> malloc(p.n_classes * sizeof(int64_t))
        p.divided = <int*> calloc(label.shape[0] + 2, sizeof(int))
        if not (p.rows and p.spare_rows and p.branch and p.here and p.divided):
            raise MemoryError
        p.divides_rows = p.divided + label.shape[0]
        p.failed = p.divides_rows + 1
        for i in range(n):
            if parts[i] == 1:
                p.rows[p.n_rows] = <uint32_t> i
                p.n_rows += 1
            elif parts[i]:
                if reserve_parts(&p, 1):
                    raise MemoryError
                add_part(&p, <uint32_t> i, whole_weight(&p, <uint32_t> i), 0)
                end[i] = -1
        if several is not None:
            start_apart(&p, n_nodes)
            several(<size_t> &p, p.frames_n)
        while several is None:
            with nogil:
                status = prune_by_errors(&p)
            raise_pending()
            if status < 0:
                raise MemoryError
            if status != GROW_ANEW:
                break
            raised = raised_node(&p)
            nodes = grow_anew(raised, *samples_of(&p, raised, n))
            n_before, n_nodes = n_nodes, nodes.node_count
            p.tree = tests_of(nodes)
            make_room(&p, n_before, n_nodes)
            go_on_anew(&p, <int32_t> n_before)
        for i in range(label.shape[0] if p.divides_rows[0] else 0):
            if p.divided[i]:
                end[i] = -1
        return nodes_of(&p, n_nodes, np.array(tree.value) if grow_anew is None else grow_anew.value) | {"ends": ends}
    finally:
        free_pruning(&p)


def prune_some(size_t pruning, int64_t i):
    """Prune one of the lists that `several` was called for, and those that waited for it alone."""
    cdef ErrorPruning* p = <ErrorPruning*> pruning
    cdef bint signals = handles_signals()
    cdef int status
    with nogil:
        status = prune_lists(p, i, signals)
    raise_pending()
    if status:
        raise MemoryError


# ---------------------------------------------------------------------------------------------------------------------
# Costs, losses and thresholds of a finished tree
# ---------------------------------------------------------------------------------------------------------------------

def clip_values(
    const int32_t[::1] first_child, const int32_t[::1] n_branches, const int32_t[::1] feature, const uint8_t[::1] kind,
    const int8_t[::1] monotone, bint classes, double[:, ::1] value,
):
    """Move values of nodes that splits on other features have led out of their bounds to the bounds; numbered breadth first.

    The bounds are those of `bound_children`.  Afterwards no two predictions are out of order.
    """
    cdef Py_ssize_t n_nodes = value.shape[0]
    cdef Py_ssize_t width = value.shape[1]
    bounds = np.full(2 * n_nodes, INFINITY)
    cdef double* low = <double*> memory_of(bounds)
    cdef double* high = low + n_nodes
    cdef Py_ssize_t node
    cdef int32_t first, b
    cdef double middle
    with nogil:
        low[0] = -INFINITY
        for node in range(n_nodes):
            first = first_child[node]
            for b in range(n_branches[node]):
                low[first + b] = low[node]
                high[first + b] = high[node]
            if kind[node] == NODE_THRESHOLD and monotone[feature[node]] != 0:
                if classes:
                    middle = 0.5 * mean_index(&value[first, 0], width) + 0.5 * mean_index(&value[first + 1, 0], width)
                else:
                    middle = 0.5 * value[first, 0] + 0.5 * value[first + 1, 0]
                b = monotone[feature[node]] > 0
                high[first + 1 - b] = min(high[node], middle)
                low[first + b] = max(low[node], middle)
            if classes:
                clip_classes(&value[node, 0], width, low[node], high[node])
            else:
                value[node, 0] = min(max(value[node, 0], low[node]), high[node])


def useless_splits(parent, first_child, cost, tolerance, best, out):
    """Mark the nodes that cost, within their tolerance, no more than the cheapest subtree below them (bottom-up).

    `parent[i] < i`.  `best[i]` comes with what an inner node costs besides its children, and leaves with the cost of the cheapest
    subtree at i.  A marked node counts as a leaf for those above it.
    """
    cdef const int32_t* parents = int32s_of(parent)
    cdef const int32_t* first = int32s_of(first_child)
    cdef const double* costs = doubles_of(cost)
    cdef const double* least = doubles_of(tolerance)
    cdef double* cheapest = <double*> memory_of(best)
    cdef uint8_t* marks = <uint8_t*> memory_of(out)
    cdef Py_ssize_t n = len(parent)
    with nogil:
        mark_useless(parents, first, costs, least, cheapest, marks, n)


def collapse(parent, first_child, n_branches, weight, value, double share):
    """Make leaves of the splits, but for node 0, whose branches make no fewer training errors than `share` of the node's own."""
    cdef const int32_t* parents = int32s_of(parent)
    cdef int32_t* first = <int32_t*> memory_of(first_child)
    cdef int32_t* branches = <int32_t*> memory_of(n_branches)
    cdef const double* weights = doubles_of(weight)
    cdef const double* values = <const double*> memory_of(value)
    cdef Py_ssize_t n_classes = value.shape[1]
    cdef Py_ssize_t n = len(parent)
    scratch = np.zeros(4 * n)
    cdef double* errors = <double*> memory_of(scratch)
    cdef double* tolerance = errors + n
    cdef uint8_t* marks = <uint8_t*> (errors + 3 * n)
    cdef Py_ssize_t i, k
    with nogil:
        for i in range(n):
            for k in range(n_classes):
                errors[i] = max(errors[i], values[i * n_classes + k])
            errors[i] = weights[i] - errors[i] if weights[i] > 0 else 0
            tolerance[i] = (1 - share) * errors[i]
        errors[0] = INFINITY
        mark_useless(parents, first, errors, tolerance, errors + 2 * n, marks, n)
        for i in range(n):
            if marks[i]:
                first[i], branches[i] = -1, 0


def subtrees_within_one_error(parents, values, leaves, is_hidden, is_leaf, double errors, double total):
    """Mark the nodes as leaves whose subtrees C5.0's global pruning removes, those of least additional errors per leaf first.

    `parents[i] < i`; the children of a node follow one another.  values[i] are the class weights of node i; `leaves` has 1 for
    a leaf that is not null, else 0.  What lies below a hidden node, and the node, is not removed by itself.  `errors` is what
    the tree misclassifies of a weight of `total`, negative: the errors of its leaves.  The additional errors stay within one
    standard error.
    """
    cdef Cheapest c
    cdef Py_ssize_t n = len(parents)
    cdef Py_ssize_t i
    scratch = np.zeros(7 * n)
    cdef double* real = <double*> memory_of(scratch)
    cdef int32_t* size = <int32_t*> (real + 2 * n)
    cdef int32_t* start = size + n
    cdef int32_t* following = size + 2 * n     # where the nodes below the next child begin
    cdef int32_t* order = size + 3 * n
    cdef const int32_t* parent = int32s_of(parents)
    cdef const int32_t* ones = int32s_of(leaves)
    cdef float* as_leaf = <float*> (size + 8 * n)
    flat = np.ascontiguousarray(values).reshape(-1)
    cdef const double* value = doubles_of(flat)
    cdef double most
    cdef Py_ssize_t k
    cdef Py_ssize_t width = values.shape[1]
    c.n, c.parent, c.order, c.start, c.least, c.total = n, parent, order, start, real, real + n
    c.count, c.found, c.leaves, c.errors = size + 4 * n, size + 5 * n, size + 6 * n, <float*> (size + 7 * n)
    c.as_leaf = as_leaf
    c.is_hidden, c.is_leaf = <uint8_t*> memory_of(is_hidden), <uint8_t*> memory_of(is_leaf)
    memcpy(c.leaves, ones, n * sizeof(int32_t))
    with nogil:
        for i in range(n):
            most = 0
            for k in range(i * width, (i + 1) * width):    # weights and errors are in single precision
                as_leaf[i] = <float> (as_leaf[i] + value[k])
                most = max(most, value[k])
            as_leaf[i] = as_leaf[i] - <float> most
        for i in range(n - 1, -1, -1):
            size[i] += 1
            if i:
                size[parent[i]] += size[i]
                c.leaves[parent[i]] += c.leaves[i]
        for i in range(n):
            if i:
                start[i] = following[parent[i]]
                following[parent[i]] += size[i]
                c.is_hidden[i] |= c.is_hidden[parent[i]]
            following[i] = start[i]
            order[start[i] + size[i] - 1] = <int32_t> i
        for i in range(n):                     # errors are added up in the order of the branches
            if c.is_leaf[order[i]]:
                c.errors[order[i]] = c.as_leaf[order[i]] if ones[order[i]] else 0
            if order[i]:
                c.errors[parent[order[i]]] += c.errors[order[i]]
        if errors < 0:
            errors = c.errors[0]
        cut_cheapest(&c, sqrt(max(errors * (1 - errors / total), 0.0)))


def weakest_links(
    const int32_t[::1] parent, const int32_t[::1] first_child, const int32_t[::1] n_branches, const double[::1] risk,
    double[::1] out,
):
    """What a leaf must cost for each node to be pruned, itself or by a node above it; minus infinity at a leaf.

    out[i] <= alpha for just those inner nodes that the smallest subtree of least risk + alpha x leaves does not have (Breiman et
    al. 1984, chapter 3).  From the bottom up: as alpha falls, the best subtree below a node grows by one link after the other,
    those with the largest alpha first, and the node's own link is where that subtree begins to pay.  A heap at each node holds
    the links below it; each is put in and taken out once.
    """
    cdef Py_ssize_t n = parent.shape[0]
    cdef Py_ssize_t i
    cdef int32_t link
    cdef int64_t leaves
    cdef double alpha, remaining
    scratch = np.zeros(5 * n)
    cdef double* below = <double*> memory_of(scratch)        # risk of the children
    cdef double* drop = below + n                 # by how much a link lowers the risk,
    cdef int64_t* extra = <int64_t*> (below + 2 * n)         # and the leaves it adds
    cdef int32_t* top = <int32_t*> (below + 3 * n)
    cdef int32_t* left = top + n
    cdef int32_t* right = top + 2 * n
    with nogil:
        for i in range(3 * n):
            top[i] = -1
        for i in range(n - 1, -1, -1):
            out[i] = -INFINITY
            if first_child[i] >= 0:
                leaves = n_branches[i]
                remaining = below[i]
                alpha = (risk[i] - remaining) / (leaves - 1)
                while top[i] >= 0 and out[top[i]] >= alpha:
                    link = top[i]
                    top[i] = meld(left[link], right[link], &out[0], left, right)
                    remaining -= drop[link]
                    leaves += extra[link]
                    alpha = (risk[i] - remaining) / (leaves - 1)
                out[i] = alpha
                drop[i] = risk[i] - remaining
                extra[i] = leaves - 1
                top[i] = meld(top[i], <int32_t> i, &out[0], left, right)
            if i:
                below[parent[i]] += risk[i]
                top[parent[i]] = meld(top[parent[i]], top[i], &out[0], left, right)
        for i in range(1, n):
            out[i] = min(out[i], out[parent[i]])


def arrivals(
    object tree, object X, const double[::1] target, const double[::1] weight, const double[::1] answer, int impurity,
    const double[:, ::1] loss_matrix, const double[::1] bound, int64_t n_samples, int64_t[:, :, ::1] sums,
):
    """Add to sums[i] what arrives at node i: weight, loss by its prediction, squared loss; the losses again of what ends there.

    The loss of a numeric target is its part in an impurity around the answer.  A negative `impurity` means classes: the loss
    is loss_matrix[target, answer], and without a matrix 1 where they differ.  The last two columns are of inner nodes,
    where a sample may stop.  No term of column k is larger than bound[k], and no node gets more than `n_samples` of them;
    `sums_as_doubles` says what the sums are.
    """
    cdef const Flat* t = arrays_of(tree)
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t n_nodes = answer.shape[0]
    scratch = np.empty(3 * n_nodes)
    cdef double* parts = <double*> memory_of(scratch)
    cdef double* weights = parts + n_nodes
    cdef int32_t* stack = <int32_t*> (parts + 2 * n_nodes)
    cdef int32_t* nodes = stack + n_nodes
    cdef Exact scales[5]
    cdef Py_ssize_t row
    cdef int64_t i, n
    cdef int32_t node
    cdef int k
    cdef double part, loss
    cdef bint by_matrix = loss_matrix is not None
    for k in range(5):
        scales[k] = exact_zero(bound[k], n_samples)
    with nogil:
        for row in range(rows.n):
            if weight[row] == 0:
                continue
            n = visit(t, &rows, row, 0, stack, parts, nodes, weights)
            for i in range(n):
                node = nodes[i]
                part = weight[row] * weights[i]
                if impurity >= 0:
                    loss = deviation(impurity, target[row], answer[node])
                elif by_matrix:
                    loss = loss_matrix[<Py_ssize_t> target[row], <Py_ssize_t> answer[node]]
                else:
                    loss = target[row] != answer[node]
                add_to_sum(&scales[0], part, &sums[node, 0, 0])
                if loss == 0:
                    continue
                add_to_sum(&scales[1], part * loss, &sums[node, 1, 0])
                add_to_sum(&scales[2], part * loss * loss, &sums[node, 2, 0])
                if t.first_child[node] >= 0 and stops(t, &rows, row, node):
                    add_to_sum(&scales[3], part * loss, &sums[node, 3, 0])
                    add_to_sum(&scales[4], part * loss * loss, &sums[node, 4, 0])


cdef inline void add_to_sum(const Exact* scale, double x, int64_t* sum) noexcept nogil:
    """Add to the two halves of a sum that is kept without its scale."""
    cdef Exact whole = scale[0]
    whole.high = sum[0]
    whole.low = sum[1]
    exact_add(&whole, x)
    sum[0] = whole.high
    sum[1] = whole.low


def sums_as_doubles(const int64_t[:, :, ::1] sums, const double[::1] bound, int64_t n_samples, double[:, ::1] out):
    """out[i, k] = the sum that `arrivals` keeps in sums[i, k]."""
    cdef Py_ssize_t i, k
    cdef Exact whole
    for k in range(sums.shape[1]):
        whole = exact_zero(bound[k], n_samples)
        for i in range(sums.shape[0]):
            whole.high = sums[i, k, 0]
            whole.low = sums[i, k, 1]
            out[i, k] = exact_value(&whole)


DIGITS_OF_SUM = DIGITS


def add_sizes(const double[:] values, const Py_ssize_t[:] group, int64_t[:, ::1] digits):
    """Add the sizes of finite values to exact sums: to digits[group[i]], and without groups to the first.

    Each sum starts from zeros and takes 2**31 terms; it is the digits times 2**(32 i - 1074), i being the place of the digit.
    """
    cdef Py_ssize_t i
    cdef Py_ssize_t n = values.shape[0]
    cdef bint by_group = group is not None
    with nogil:
        if n > FEW_TERMS and not by_group:
            add_many_sizes(&digits[0, 0], <const char*> &values[0], values.strides[0], n)
        else:
            for i in range(n):
                add_size(&digits[group[i] if by_group else 0, 0], values[i])


def midpoints(const double[:] low, const double[:] high, double[::1] out, bint single=False):
    """out[i] = a number between low[i] and high[i]; less than it unless the two are equal.  `single`: by `single_midpoint`."""
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = single_midpoint(low[i], high[i]) if single else midpoint(low[i], high[i])


def thresholds(
    object X, const Py_ssize_t[::1] at, const int32_t[:] feature, const uint32_t[:] row_low, const uint32_t[:] row_high,
    double[::1] out,
):
    """out[i] = the midpoint of the values of feature[i] in two rows, for the entries `at`."""
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t k
    cdef Py_ssize_t i
    with nogil:
        for k in range(at.shape[0]):
            i = at[k]
            out[i] = midpoint(number(&rows, row_low[i], feature[i]), number(&rows, row_high[i], feature[i]))


def raise_thresholds(object X, features, starts, thresholds, out):
    """out[i], at first -inf, becomes the largest value of its column that is <= thresholds[i].

    The thresholds of column features[k] are starts[k], ..., starts[k + 1] - 1, at least one, ascending.  All columns are read a
    few rows at a time, which the cache holds.
    """
    cdef Rows rows = rows_of(X)
    cdef const int64_t* feature = <const int64_t*> memory_of(features)
    cdef const int64_t* first = <const int64_t*> memory_of(starts)
    cdef const double* threshold = <const double*> memory_of(thresholds)
    cdef double* raised = <double*> memory_of(out)
    cdef Py_ssize_t n_columns = len(features)
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t i, k, n
    cdef int32_t f
    cdef float singles[CHUNK_ROWS]
    cdef double doubles[CHUNK_ROWS]
    room = np.empty(n_columns * sizeof(Spread), "u1")
    cdef Spread* spreads = <Spread*> memory_of(room)
    with nogil:
        for k in range(n_columns):
            spread_out(&spreads[k], threshold + first[k], first[k + 1] - first[k])
        while start < rows.n:
            n = min(rows.n - start, <Py_ssize_t> CHUNK_ROWS)
            for k in range(n_columns):
                f = <int32_t> feature[k]
                if rows.single and first[k + 1] - first[k] <= FEW_THRESHOLDS:
                    for i in range(CHUNK_ROWS):
                        singles[i] = <float> number(&rows, start + i, f) if i < n else <float> NAN
                    raise_few(singles, threshold + first[k], first[k + 1] - first[k], raised + first[k])
                else:
                    for i in range(n):
                        doubles[i] = number(&rows, start + i, f)
                    raise_many(doubles, n, &spreads[k], threshold + first[k], first[k + 1] - first[k], raised + first[k])
            start += n
        for k in range(n_columns):
            for i in range(first[k] + 1, first[k + 1]):
                raised[i] = max(raised[i], raised[i - 1])


def breadth_first(first_child, n_branches):
    """Ids of the nodes below node 0 and its own, level by level, siblings in order; int64."""
    cdef const int32_t* first = int32s_of(first_child)
    cdef const int32_t* branches = int32s_of(n_branches)
    order = np.empty(len(first_child), dtype=np.int64)
    cdef int64_t* out = <int64_t*> memory_of(order)
    cdef Py_ssize_t n = 1
    cdef Py_ssize_t i = 0
    cdef int32_t b
    out[0] = 0
    with nogil:
        while i < n:
            for b in range(branches[out[i]]):
                out[n] = first[out[i]] + b
                n += 1
            i += 1
    return order[:n]
