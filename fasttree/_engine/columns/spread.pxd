"""Where a number is among sorted ones: cells of equal width narrow the search.  Header only."""

cdef enum:
    CELLS = 2048                   # between the first number and the last


cdef struct Spread:
    double first
    double scale
    Py_ssize_t starts[CELLS + 1]   # how many numbers are in the cells before each


cdef inline Py_ssize_t cell_of(const Spread* s, double x) noexcept nogil:
    """Never less for a larger number; the last one for NaN."""
    cdef double place = (x - s.first) * s.scale
    if not place < CELLS:
        return CELLS - 1
    return <Py_ssize_t> place if place > 0 else 0


cdef inline void spread_out(Spread* s, const double* numbers, Py_ssize_t m) noexcept nogil:
    """Count m ascending numbers by cell."""
    cdef Py_ssize_t i
    cdef Py_ssize_t n = 0
    s.first = numbers[0]
    # equal numbers, and those too far from each other for a double, share a cell
    s.scale = min(CELLS / (numbers[m - 1] - s.first), 1e300) if numbers[m - 1] > s.first else 0.0
    for i in range(CELLS):
        while n < m and cell_of(s, numbers[n]) < i:
            n += 1
        s.starts[i] = n
    s.starts[CELLS] = m
