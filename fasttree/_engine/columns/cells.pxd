"""The columns of a table, read cell by cell in any order.  Header only."""

from libc.math cimport INFINITY, NAN, isfinite, nextafter, nextafterf
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

ctypedef fused cell_t:
    float
    double
    uint8_t
    uint16_t
    uint32_t

cdef enum CellType:
    FLOAT32
    FLOAT64
    CODE8
    CODE16
    CODE32
    CODED                          # numbers of which few are different: codes 1, 2, ... of their values, 0 = missing


cdef struct Cells:                 # one column
    const char* data
    Py_ssize_t stride
    int32_t type
    const double* values           # of CODED cells, ascending
    int64_t n_values


cdef inline double cell(const Cells* column, int64_t row) noexcept nogil:
    """A value, or a category code as a number; NaN where it is missing."""
    cdef const char* at = column.data + row * column.stride
    cdef uint32_t code
    if column.type == FLOAT64:
        return (<const double*> at)[0]
    if column.type == FLOAT32:
        return (<const float*> at)[0]
    if column.type == CODED:
        code = (<const uint8_t*> at)[0]
        return column.values[code - 1] if code else NAN
    if column.type == CODE8:
        code = (<const uint8_t*> at)[0]
    elif column.type == CODE16:
        code = (<const uint16_t*> at)[0]
    else:
        code = (<const uint32_t*> at)[0]
    return <double> code if code else NAN


cdef inline double midpoint(double low, double high) noexcept nogil:
    """A t with low <= t < high, halfway where there is one; never -0.0: which of two equal zeros comes first must not show."""
    cdef double middle = low + (high - low) / 2
    if not isfinite(middle):
        middle = low / 2 + high / 2
    return (middle if low <= middle < high else low) + 0.0


cdef inline double single_midpoint(double low, double high) noexcept nogil:
    """The largest double that in single precision, in which Release 8 compares, is not above the midpoint.

    It is `low` where the two values are one in single precision, or infinite there.
    """
    cdef float below = <float> low
    cdef float middle = (below + <float> high) / 2
    cdef double halfway
    if not (below <= middle < <float> high):
        return low
    halfway = (<double> middle + <double> nextafterf(middle, INFINITY)) / 2   # rounded to the even one of both
    return nextafter(halfway, -INFINITY) if <float> halfway > middle else halfway
