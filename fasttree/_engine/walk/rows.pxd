"""Samples as numbers: a matrix, its cells, and whether some are missing or infinite.  Header only."""

from cpython.buffer cimport PyBUF_RECORDS_RO, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport strcmp

from fasttree._engine.types cimport real_t


cdef struct Rows:              # samples as numbers: codes as floats, missing = NaN
    const char* data
    Py_ssize_t n
    Py_ssize_t n_features
    Py_ssize_t row_stride      # in bytes, as the next
    Py_ssize_t column_stride
    bint single                # float32, else float64


cdef enum:
    NO_BRANCH = -3             # a test says nothing on this value
    TO_BOTH = -4               # a soft threshold sends a part of a sample left and the rest right
    SEVERAL = 0x7FFFFFFF       # no node: a sample that does not reach one leaf alone
    ASK = 0x7FFFFFFF           # no step: the tree knows the child
    BLOCK = 256                # samples that walk together; as many as a byte can number


cdef enum State:               # of the numbers in some rows
    FINITE
    MISSING_VALUES
    INFINITE


cdef inline bint fill_rows(Rows* rows, object X) except -1:
    """Describe a matrix of float32 or float64, in native byte order; False if X is none."""
    cdef Py_buffer view
    try:
        PyObject_GetBuffer(X, &view, PyBUF_RECORDS_RO)
    except (BufferError, TypeError, ValueError):       # an array without a buffer, for example of dates
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


cdef inline const real_t* cell_at(const real_t* first, Py_ssize_t distance) noexcept nogil:
    return <const real_t*> (<const char*> first + distance)


cdef inline uint32_t unknown_float(float x) noexcept nogil:
    """No bit if x is finite: a finite number less itself is zero, whose bits are none."""
    x -= x
    return (<const uint32_t*> &x)[0]


cdef inline uint64_t unknown_double(double x) noexcept nogil:
    x -= x
    return (<const uint64_t*> &x)[0]


cdef inline State unknown_of_run(const real_t* cells, Py_ssize_t n) noexcept nogil:
    """The worst of consecutive cells of which some are not finite.

    The bits of infinity without the sign are looked for: what differs from them in nothing is zero, and zero alone borrows from
    the first bit.
    """
    cdef uint32_t bits = 0
    cdef uint64_t long_bits = 0
    cdef uint64_t one = 1
    cdef Py_ssize_t i
    if real_t is float:
        for i in range(n):
            bits |= ((<const uint32_t*> cells)[i] & 0x7FFFFFFF ^ 0x7F800000) - 1
        return INFINITE if bits >> 31 else MISSING_VALUES
    else:
        for i in range(n):
            long_bits |= ((<const uint64_t*> cells)[i] & (one << 63) - 1 ^ (one << 63) - (one << 52)) - 1
        return INFINITE if long_bits >> 63 else MISSING_VALUES


cdef inline State state_of_run(const real_t* cells, Py_ssize_t n) noexcept nogil:
    """The worst of consecutive cells, whose quarters are looked at together."""
    cdef uint32_t bits = 0
    cdef uint64_t long_bits = 0
    cdef Py_ssize_t n_quarter = n // 4
    cdef const real_t* second = cells + n_quarter
    cdef const real_t* third = second + n_quarter
    cdef const real_t* fourth = third + n_quarter      # and what is left
    cdef Py_ssize_t i
    if real_t is float:
        for i in range(n_quarter):
            bits |= unknown_float(cells[i]) | unknown_float(second[i])
            bits |= unknown_float(third[i]) | unknown_float(fourth[i])
        for i in range(4 * n_quarter, n):
            bits |= unknown_float(cells[i])
    else:
        for i in range(n_quarter):
            long_bits |= unknown_double(cells[i]) | unknown_double(second[i])
            long_bits |= unknown_double(third[i]) | unknown_double(fourth[i])
        for i in range(4 * n_quarter, n):
            long_bits |= unknown_double(cells[i])
    return unknown_of_run(cells, n) if bits or long_bits else FINITE


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


cdef inline Rows rows_of(object X) except *:
    """Samples that the caller keeps: a matrix of float32 or float64."""
    cdef Rows rows
    if not fill_rows(&rows, X):
        raise TypeError("X must be a matrix of float32 or float64")
    return rows
