"""Sums of the values of leaves, and the trees of a forest as judges of the rows that their bags lack.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from fasttree._engine.drawn.passage cimport Passage, arrive, enter, value_row
from fasttree._engine.drawn.walk cimport SIDE_BY_SIDE


cdef struct Values:            # of leaves
    const double* value
    int64_t n_columns
    bint one_hot               # the first rows are those of pure leaves
    double factor              # weight of the tree


cdef inline void add_value(const Values* values, uint32_t row, double* out) noexcept nogil:
    """Add a row of values, times the tree's weight, to a sum."""
    cdef const double* value = values.value + row * values.n_columns
    cdef int64_t k
    if values.n_columns == 1:
        out[0] += values.factor * value[0]
        return
    if values.one_hot and row < values.n_columns:
        out[row] += values.factor
        return
    for k in range(values.n_columns):
        out[k] += values.factor * value[k]


cdef inline Values values_of(const double[:, ::1] value) noexcept:
    cdef Values found
    cdef int64_t i, k
    found.value = &value[0, 0]
    found.n_columns = value.shape[1]
    found.factor = 1
    found.one_hot = value.shape[0] >= value.shape[1]
    for i in range(value.shape[1] if found.one_hot else 0):
        for k in range(value.shape[1]):
            if value[i, k] != (1.0 if i == k else 0.0):
                found.one_hot = False
    return found


cdef struct Judged:
    Values values
    const double* target
    bint by_class
    double* sums
    double* seen
    double* error
    uint32_t* some             # rows that a tree judges


cdef inline double error_of(const Judged* judged, uint32_t row) noexcept nogil:
    """The error of the mean prediction of a row; the first class of the largest share is predicted."""
    cdef const double* sums = judged.sums + row * judged.values.n_columns
    cdef double n = judged.seen[row]
    cdef double most = sums[0]
    cdef int64_t k
    if not judged.by_class:
        return (most / n - judged.target[row]) * (most / n - judged.target[row])
    for k in range(1, judged.values.n_columns):
        most = max(most, sums[k])
    for k in range(judged.values.n_columns):
        if sums[k] >= most * (1 - 1e-15) and sums[k] / n == most / n:
            return k != judged.target[row]
    return 1


cdef inline void judge_tree(Passage* way, Judged* judged, int64_t t, const uint8_t* lacking) noexcept nogil:
    """Add the predictions of a tree for the rows that its bag lacks."""
    cdef uint32_t at[SIDE_BY_SIDE]
    cdef int64_t n_rows = 0
    cdef int64_t first = 0
    cdef int64_t row
    cdef uint32_t found
    cdef int32_t i
    for row in range(way.rows.n):
        judged.some[n_rows] = <uint32_t> row
        n_rows += lacking[row >> 3] >> (7 - (row & 7)) & 1
    enter(way, t, n_rows)
    while first < n_rows:
        arrive(way, judged.some, first, <int32_t> min(<int64_t> SIDE_BY_SIDE, n_rows - first), at)
        for i in range(<int32_t> min(<int64_t> SIDE_BY_SIDE, n_rows - first)):
            found = judged.some[first + i]
            add_value(&judged.values, value_row(way, at[i]), judged.sums + found * judged.values.n_columns)
            judged.seen[found] += 1
            judged.error[found] = error_of(judged, found)
        first += SIDE_BY_SIDE


cdef inline void add_errors(const Judged* judged, const double* weight, int64_t n, double* total, double* counted) noexcept nogil:
    cdef int64_t row
    for row in range(n):
        total[0] += judged.error[row] * weight[row]
        counted[0] += weight[row] if judged.seen[row] else 0.0
