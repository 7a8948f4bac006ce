"""Division of a node of the drawn layout: its rows change places, and nothing else moves.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from fasttree._engine.columns.cells cimport midpoint
from fasttree._engine.drawn.block cimport row_of_table
from fasttree._engine.drawn.bundles cimport gather_member
from fasttree._engine.drawn.chance cimport value_in
from fasttree._engine.drawn.gather cimport gather_all
from fasttree._engine.drawn.lanes cimport beside_narrow, beside_wide, part_narrow, part_wide
from fasttree._engine.drawn.records cimport (
    BY_CODE, BY_GROUP, BY_KNOWN, NARROW_BASE, NARROW_LAST, WIDE_LAST, DrawnColumn, Here, Room,
)
from fasttree._engine.drawn.totals cimport more
from fasttree._engine.drawn.walk cimport PACKED_KNOWN, PACKED_SUBSET, PACKED_THRESHOLD, PackedNode


cdef inline bint goes_left(const Here* h, const DrawnColumn* column, int32_t code) noexcept nogil:
    if code == 0:
        return h.best.with_missing
    if h.best.form == BY_KNOWN:
        return True
    if h.best.form == BY_GROUP:
        return h.room.category_rows[code] != 0
    return code <= h.best.code


cdef inline int32_t column_code(const DrawnColumn* column, uint32_t row) noexcept nogil:
    return (<const int32_t*> column.codes)[row] if column.wide else <int32_t> (<const int16_t*> column.codes)[row] - NARROW_BASE


cdef inline double middle_of_cut(const Here* h, const DrawnColumn* column, const char* codes) noexcept nogil:
    """The threshold halfway between the values of the node on both sides of the best cut; none is missing."""
    cdef int32_t below, above
    cdef int64_t i
    cdef uint32_t low_row = 0
    cdef uint32_t high_row = 0
    if not column.wide:
        beside_narrow(
            <const int16_t*> codes, h.n, <int16_t> (h.best.code + NARROW_BASE), NARROW_BASE, NARROW_LAST, &below, &above
        )
        return midpoint(column.value[below - NARROW_BASE], column.value[above - NARROW_BASE])
    beside_wide(<const int32_t*> codes, h.n, h.best.code, 0, WIDE_LAST, &below, &above)
    if column.value == NULL:
        for i in range(h.n):
            if (<const int32_t*> codes)[i] == below:
                low_row = h.rows[i]
            elif (<const int32_t*> codes)[i] == above:
                high_row = h.rows[i]
    return midpoint(
        value_in(column, below, row_of_table(h, low_row)), value_in(column, above, row_of_table(h, high_row))
    )


cdef inline uint32_t divide_by_code(Here* h, uint32_t* rows, uint32_t* bags, PackedNode* node) noexcept nogil:
    """Put the rows of codes up to the best cut first; no value is missing.  Returns how many they are."""
    cdef const DrawnColumn* column = &h.plan.column[h.best.feature]
    cdef char* codes = h.best_codes
    if codes == NULL:
        codes = h.room.codes
        if column.bundle:
            gather_member(h, column, <int16_t*> codes)
        else:
            gather_all(column, rows, h.n, codes)
    node.operand.threshold = h.best.threshold if h.plan.random else middle_of_cut(h, column, codes)
    if column.wide:
        return part_wide(<const int32_t*> codes, rows, bags, h.room.items, h.n, h.best.code)
    return part_narrow(<const int16_t*> codes, rows, bags, h.room.items, h.n, <int16_t> (h.best.code + NARROW_BASE))


cdef inline uint32_t divide_by_form(Here* h, uint32_t* rows, uint32_t* bags, PackedNode* node) noexcept nogil:
    """The same where values are missing, and for categories."""
    cdef Room* room = h.room
    cdef const DrawnColumn* column = &h.plan.column[h.best.feature]
    cdef uint32_t* other_rows = <uint32_t*> room.items
    cdef uint32_t* other_bags = other_rows + h.n
    cdef uint32_t n_left = 0
    cdef uint32_t n_right = 0
    cdef uint32_t row, low_row = 0, high_row = 0
    cdef int32_t low = -1
    cdef int32_t high = WIDE_LAST
    cdef int32_t code
    cdef int64_t i
    cdef bint left
    for i in range(h.best.n_group if h.best.form == BY_GROUP else 0):
        room.category_rows[room.group[i]] = 1
    for i in range(h.n):
        row = rows[i]
        code = column_code(column, row)
        left = goes_left(h, column, code)
        if left:
            if code > low:
                low = code
                low_row = row
        elif code and code < high:
            high = code
            high_row = row
        other_rows[n_right] = row
        other_bags[n_right] = bags[i]
        rows[n_left] = row
        bags[n_left] = bags[i]
        n_left += left
        n_right += not left
    for i in range(h.best.n_group if h.best.form == BY_GROUP else 0):
        room.category_rows[room.group[i]] = 0
    memcpy(rows + n_left, other_rows, n_right * sizeof(uint32_t))
    memcpy(bags + n_left, other_bags, n_right * sizeof(uint32_t))
    if h.plan.random:
        node.operand.threshold = h.best.threshold
    elif h.best.form == BY_CODE:
        node.operand.threshold = midpoint(
            value_in(column, low, row_of_table(h, low_row)), value_in(column, high, row_of_table(h, high_row))
        )
    return n_left


cdef inline uint32_t divide(Here* h, uint32_t* rows, uint32_t* bags, PackedNode* node) noexcept nogil:
    """Put the rows of the left side first, in their order; returns how many, and finds the threshold."""
    cdef const DrawnColumn* column = &h.plan.column[h.best.feature]
    cdef uint32_t n_left
    if column.nominal and h.best.form == BY_CODE:      # there are two categories
        h.best.form = BY_GROUP
        h.best.n_group, h.best.n_categories = 1, 2
        h.room.group[0], h.room.group[1] = 1, 2
    if h.best.form == BY_CODE and not h.best.has_missing:
        n_left = divide_by_code(h, rows, bags, node)
    else:
        n_left = divide_by_form(h, rows, bags, node)
    node.feature = <uint16_t> h.best.feature
    node.kind = PACKED_THRESHOLD if h.best.form == BY_CODE else PACKED_SUBSET
    # a missing value that training did not have goes where more samples went
    node.missing = not h.best.with_missing if h.best.has_missing else 2 * h.best.weight <= <double> h.weight
    if h.best.form == BY_KNOWN:
        node.kind = PACKED_KNOWN
        node.missing = 1
        node.operand.threshold = INFINITY
    return n_left


cdef inline int write_group(Here* h, PackedNode* node) noexcept nogil:
    """The categories of the node, and those on the left, as bits by code."""
    cdef Room* room = h.room
    cdef int32_t n_words = <int32_t> ((h.plan.column[h.best.feature].n_codes + 31) // 32)
    cdef uint32_t* known
    cdef int32_t i
    cdef uint32_t code
    if more(<void**> &room.bits, &room.bits_room, room.n_bits + 2 * n_words, sizeof(uint32_t)):
        return -1
    known = room.bits + room.n_bits
    memset(known, 0, 2 * n_words * sizeof(uint32_t))
    for i in range(h.best.n_categories):
        code = room.group[i]
        known[code >> 5] |= <uint32_t> 1 << (code & 31)
        if i < h.best.n_group:
            known[n_words + (code >> 5)] |= <uint32_t> 1 << (code & 31)
    node.operand.pair[0] = <uint32_t> room.n_bits
    node.operand.pair[1] = <uint32_t> n_words
    room.n_bits += 2 * n_words
    return 0
