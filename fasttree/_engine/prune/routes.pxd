"""Branches of many samples at a node, column by column type.  Header only."""

from libc.math cimport INFINITY, nextafter
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from fasttree._engine.columns.cells cimport CODE8, CODED, FLOAT32, FLOAT64, Cells, cell
from fasttree._engine.prune.frames cimport ErrorPruning
from fasttree._engine.types cimport NODE_THRESHOLD
from fasttree._engine.walk.rows cimport NO_BRANCH
from fasttree._engine.walk.tree cimport first_from, known_branch, surrogate_says

cdef enum:
    CODES8 = 256           # of a column of bytes
    UNSET = 0x80           # each byte of a branch that is not known yet

ctypedef fused number_t:
    float
    double
    uint8_t                # codes of values


cdef inline int32_t branch_of_cell(const ErrorPruning* p, int32_t node, double x, uint32_t row) noexcept nogil:
    """`branch_of` for a sample of the table, whose value of the node's feature is x."""
    cdef int32_t branch = known_branch(&p.tree, node, x)
    cdef int64_t s
    if branch != NO_BRANCH:
        return branch
    if p.tree.surrogate_start != NULL:
        for s in range(p.tree.surrogate_start[node], p.tree.surrogate_start[node + 1]):
            branch = surrogate_says(&p.tree, s, cell(&p.columns[p.tree.surrogate_feature[s]], row))
            if branch != NO_BRANCH:
                return branch
    return p.tree.missing[node]


cdef inline int64_t part_numbers(
    const ErrorPruning* p, int32_t node, number_t none, uint32_t* rows, int64_t n,
) noexcept nogil:
    """`part_rows` by a column of numbers; `none` only says of which type they are."""
    cdef const Cells* column = &p.columns[p.tree.feature[node]]
    cdef const char* data = column.data
    cdef Py_ssize_t stride = column.stride
    cdef number_t threshold_code = 0
    cdef double threshold = p.tree.threshold[node]
    cdef uint32_t* spare = p.spare_rows
    cdef int64_t low = 0
    cdef int64_t high = 0
    cdef int64_t i, above
    cdef uint32_t row
    if number_t is uint8_t:
        threshold_code = <uint8_t> first_from(column.values, 0, column.n_values, nextafter(threshold, INFINITY))
    for i in range(n):                     # no jump: on which side a sample is is random
        row = rows[i]
        if number_t is uint8_t:
            above = (<const uint8_t*> (data + <int64_t> row * stride))[0] > threshold_code
        else:
            above = (<const number_t*> (data + <int64_t> row * stride))[0] > threshold
        spare[high] = row
        rows[low] = row
        high += above
        low += 1 - above
    memcpy(rows + low, spare, high * sizeof(uint32_t))
    return low


cdef inline int64_t part_rows(const ErrorPruning* p, int32_t node, uint32_t* rows, int64_t n) noexcept nogil:
    """Put the whole samples below a threshold before those above, if the test is one of numbers; they lack none.

    Returns how many are below, -1 if the test is another one.
    """
    cdef int32_t type = p.columns[p.tree.feature[node]].type
    if p.tree.kind[node] != NODE_THRESHOLD or p.tree.n_branches[node] != 2:
        return -1
    if type == FLOAT64:
        return part_numbers(p, node, <double> 0, rows, n)
    if type == CODED:
        return part_numbers(p, node, <uint8_t> 0, rows, n)
    return part_numbers(p, node, <float> 0, rows, n) if type == FLOAT32 else -1


cdef inline void find_branches(
    const ErrorPruning* p, int32_t node, const uint32_t* first, int64_t step, int64_t n, int32_t* out,
) noexcept nogil:
    """Branches of n samples, whose rows are `step` bytes apart; negative where a value says none."""
    cdef const Cells* column = &p.columns[p.tree.feature[node]]
    cdef const char* rows = <const char*> first
    cdef bint alone = p.tree.surrogate_start == NULL
    cdef int32_t of_code[CODES8 + 1]       # branches by code, found when one is needed, and at the end one that is not known
    cdef uint8_t code
    cdef uint32_t row
    cdef int64_t i
    if alone and (column.type == CODE8 or column.type == CODED):
        memset(of_code, UNSET, sizeof(of_code))
        for i in range(n):
            row = (<const uint32_t*> (rows + i * step))[0]
            code = (<const uint8_t*> (column.data + row * column.stride))[0]
            if of_code[code] == of_code[CODES8]:
                of_code[code] = branch_of_cell(p, node, cell(column, row), row)
            out[i] = of_code[code]
    else:
        for i in range(n):
            row = (<const uint32_t*> (rows + i * step))[0]
            out[i] = branch_of_cell(p, node, cell(column, row), row)
