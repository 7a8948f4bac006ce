"""The passage of rows through packed trees, by short steps where there are rows enough to make them.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free, malloc

from fasttree._engine.drawn.short cimport (
    FEW_ROWS, MOST_STEPS, MOST_TESTED, MOST_VALUES, THRESHOLDS, WITH_MISSING, LongStep, ShortStep, Variety, make_steps,
    walk_variety,
)
from fasttree._engine.drawn.walk cimport PACKED_SUBSET, SIDE_BY_SIDE, PackedNode, PackedTrees, walk_several
from fasttree._engine.types cimport real_t
from fasttree._engine.walk.rows cimport MISSING_VALUES, Rows, state_of_rows


cdef struct Passage:
    PackedTrees trees
    Rows rows                  # as they were given
    Rows cells                 # the same row by row; in single precision if all cells allow it
    void* room                 # of cells that had to be copied
    void* steps
    uint32_t* sets
    bint has_missing
    bint has_few_values        # a step of 8 bytes holds the row of a leaf's value
    const PackedNode* tree
    bint by_steps
    Variety variety


cdef inline bint fits_single(const Rows* X, float* out) noexcept nogil:
    """Copy cells of double precision row by row; False if one is no float."""
    cdef Py_ssize_t i, j
    cdef const char* row
    cdef double x
    cdef float single
    cdef bint fits
    for i in range(X.n):
        row = X.data + i * X.row_stride
        fits = True
        for j in range(X.n_features):
            x = (<const double*> (row + j * X.column_stride))[0]
            single = <float> x
            out[i * X.n_features + j] = single
            fits &= (single == x) | (x != x)
        if not fits:
            return False
    return True


cdef inline void copy_cells(const Rows* X, real_t* out) noexcept nogil:
    """Copy cells row by row."""
    cdef Py_ssize_t i, j
    for i in range(X.n):
        for j in range(X.n_features):
            out[i * X.n_features + j] = (<const real_t*> (X.data + i * X.row_stride + j * X.column_stride))[0]


cdef inline int lay_out_cells(Passage* way) noexcept nogil:
    """Find cells row by row, or copy them; -1 if there is no memory."""
    cdef const Rows* X = &way.rows
    cdef Rows* cells = &way.cells
    cdef Py_ssize_t size = 4 if X.single else 8
    cells[0] = X[0]
    if X.single and X.column_stride == size:
        return 0
    way.room = malloc(X.n * X.n_features * size)
    if way.room == NULL:
        return -1
    if not X.single and fits_single(X, <float*> way.room):
        cells.single = True
        size = 4
    elif X.column_stride == size:
        return 0
    elif X.single:
        copy_cells(X, <float*> way.room)
    else:
        copy_cells(X, <double*> way.room)
    cells.data = <const char*> way.room
    cells.column_stride = size
    cells.row_stride = X.n_features * size
    return 0


cdef inline int64_t words_of(const PackedNode* nodes, int64_t n) noexcept nogil:
    """The most words that the sets of a tree take."""
    cdef int64_t words = 2
    cdef int64_t i
    for i in range(n):
        if nodes[i].kind == PACKED_SUBSET:
            words += 1 + nodes[i].operand.pair[1]
    return words


cdef inline bint is_short(const Passage* way, int64_t n_nodes, int64_t n_rows) noexcept nogil:
    """Whether steps can be made of a tree, and save time."""
    return n_nodes < MOST_STEPS and n_nodes <= n_rows * FEW_ROWS and way.rows.n_features <= MOST_TESTED


cdef inline int lay_out(Passage* way, int64_t first, int64_t last) noexcept nogil:
    """Make room for the steps of the trees first, ..., last - 1, and find the cells; -1 if there is no memory."""
    cdef const int64_t* start = way.trees.start
    cdef int64_t most = 0
    cdef int64_t most_words = 2
    cdef int64_t t, n
    for t in range(first, last):
        n = start[t + 1] - start[t]
        if is_short(way, n, way.rows.n):
            most = max(most, n)
            if way.trees.bits != NULL:
                most_words = max(most_words, words_of(way.trees.nodes + start[t], n))
    if most == 0:
        return 0
    way.has_missing = state_of_rows(&way.rows) >= MISSING_VALUES
    if lay_out_cells(way):
        return -1
    way.steps = malloc(most * (sizeof(ShortStep) if way.cells.single else sizeof(LongStep)))
    way.sets = <uint32_t*> malloc(most_words * sizeof(uint32_t))
    return 0 if way.steps != NULL and way.sets != NULL else -1


cdef inline void leave(Passage* way) noexcept nogil:
    """Free what was made room for."""
    free(way.room)
    free(way.steps)
    free(way.sets)
    way.room = way.steps = way.sets = NULL


cdef inline void enter(Passage* way, int64_t t, int64_t n_rows) noexcept nogil:
    """Go to the root of a tree, with a number of rows."""
    cdef int64_t n_nodes = way.trees.start[t + 1] - way.trees.start[t]
    way.tree = way.trees.nodes + way.trees.start[t]
    way.by_steps = way.steps != NULL and is_short(way, n_nodes, n_rows)
    if not way.by_steps:
        return
    if way.cells.single:
        way.variety = make_steps(way.tree, n_nodes, way.trees.bits, way.steps, way.sets, <float> 0)
    else:
        way.variety = make_steps(way.tree, n_nodes, way.trees.bits, way.steps, way.sets, <double> 0)
    if way.variety == THRESHOLDS and way.has_missing:
        way.variety = WITH_MISSING


cdef inline void arrive(const Passage* way, const uint32_t* some, int64_t first, int32_t n, uint32_t* at) noexcept nogil:
    """The leaves of up to SIDE_BY_SIDE rows: first, first + 1, ..., or some[first], some[first + 1], ..."""
    cdef const Rows* X = &way.cells if way.by_steps else &way.rows
    cdef const char* row[SIDE_BY_SIDE]
    cdef int64_t place
    cdef int32_t i
    for i in range(SIDE_BY_SIDE):
        place = first + min(i, n - 1)
        row[i] = X.data + (place if some == NULL else some[place]) * X.row_stride
    if way.by_steps and X.single:
        walk_variety(way.steps, way.sets, <const float**> row, at, way.variety)
    elif way.by_steps:
        walk_variety(way.steps, way.sets, <const double**> row, at, way.variety)
    elif X.single:
        walk_several(way.tree, way.trees.bits, row, X.column_stride, at, <float> 0)
    else:
        walk_several(way.tree, way.trees.bits, row, X.column_stride, at, <double> 0)


cdef inline uint32_t value_row(const Passage* way, uint32_t leaf) noexcept nogil:
    """The row of values of a leaf."""
    if way.by_steps and not way.cells.single:
        return <uint32_t> (<const LongStep*> way.steps)[leaf].operand.number
    if way.by_steps and way.has_few_values:
        return (<const ShortStep*> way.steps)[leaf].operand.number & (MOST_VALUES - 1)
    return way.tree[leaf].operand.pair[0]
