"""Codes of columns, as the drawn layout and its bundles have them.  Header only."""

from libc.math cimport isnan
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.columns.keys cimport sort_records, sortable_float
from fasttree._engine.drawn.chance cimport float_code
from fasttree._engine.drawn.records cimport NARROW_BASE, DrawnColumn
from fasttree._engine.types cimport real_t


cdef enum:
    ROWS_LOOKED_AT = 4096      # of a column, before it is known whether it fits into a bundle


cdef inline bint add_member(const DrawnColumn* column, int64_t n, int16_t* bundle) noexcept nogil:
    """Mark the rows where a member has its rare value; False if another one has it in one of them, and nothing is changed."""
    cdef const int16_t* codes = <const int16_t*> column.codes
    cdef int16_t rare = <int16_t> (1 + column.rare_is_high + NARROW_BASE)
    cdef int16_t member = column.member
    cdef int32_t shared = 0
    cdef int64_t start = 0
    cdef int64_t i
    while start < n:               # most columns that do not fit show it soon
        for i in range(start, min(n, start + ROWS_LOOKED_AT)):
            shared |= (codes[i] == rare) & (bundle[i] != 0)
        if shared:
            return False
        start += ROWS_LOOKED_AT
    for i in range(n):
        bundle[i] = member if codes[i] == rare else bundle[i]
    return True


cdef inline bint copy_few(const uint8_t* few, int64_t n, DrawnColumn* column) noexcept nogil:
    """Write the codes of few values, and find which of two is rare; whether a value is missing."""
    cdef int16_t* codes = <int16_t*> column.codes
    cdef bint has_missing = False
    cdef int64_t n_above = 0
    cdef int64_t i
    for i in range(n):
        codes[i] = <int16_t> (few[i] + NARROW_BASE)
        has_missing |= few[i] == 0
        n_above += few[i] > 1
    column.rare_is_high = 2 * n_above <= n
    return has_missing


cdef inline void copy_listed(
    const uint64_t* entries, const real_t[:] column, char* codes, bint wide, double[::1] value,
) noexcept nogil:
    """Write the codes of a sorted list by row, and their values if there is room for them."""
    cdef bint with_values = value.shape[0] > 0
    cdef int64_t i
    cdef uint32_t row, code
    for i in range(column.shape[0]):
        row = <uint32_t> entries[i]
        code = <uint32_t> (entries[i] >> 32)
        if wide:
            (<int32_t*> codes)[row] = <int32_t> code
        else:
            (<int16_t*> codes)[row] = <int16_t> (<int32_t> code + NARROW_BASE)
        if with_values:
            value[code] = column[row]


cdef inline uint64_t* list_floats(const real_t[:] column, uint64_t* records, uint64_t* spare) noexcept nogil:
    """The sorted list of a column of floats, code << 32 | row, in one of two places; NULL if a value needs more than a float."""
    cdef int64_t n = column.shape[0]
    cdef int64_t i
    cdef uint64_t code = 0
    cdef uint64_t previous = 0         # the key of missing values
    cdef uint64_t key
    for i in range(n):
        if real_t is double:
            if not (column[i] == <double> <float> column[i] or isnan(column[i])):
                return NULL
        records[i] = <uint64_t> sortable_float(<float> column[i]) << 32 | <uint64_t> i
    records = sort_records(records, spare, n)
    for i in range(n):
        key = records[i] >> 32
        code += key != previous
        previous = key
        records[i] = code << 32 | <uint32_t> records[i]
    return records


cdef inline bint copy_floats(const real_t[:] column, int32_t* codes) noexcept nogil:
    """Write the values as codes; False if some are missing, or need more than a float."""
    cdef int64_t i
    for i in range(column.shape[0]):
        if not <double> <float> column[i] == <double> column[i]:
            return False
        codes[i] = float_code(<float> column[i] + <float> 0.0)
    return True
