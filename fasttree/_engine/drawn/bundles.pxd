"""Bundles of columns of two values, of which at most one has its rare value in a row: a code for all of them.  Header only.

Columns of indicators are such.  A node gathers, and in large nodes counts, the codes of a bundle once for all drawn members.
LightGBM bundles exclusive features, too (Ke et al. 2017, LightGBM, NIPS 30); here nothing is lost.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.drawn.gains cimport LeftSide, no_side
from fasttree._engine.drawn.lanes cimport match_member
from fasttree._engine.drawn.records cimport (
    MANY_CLASSES, MOST_RANKED, NARROW_BASE, NUMBERS, Drawn, DrawnBundle, DrawnColumn, Here,
)


cdef enum:
    CELLS_PER_ROW = 4              # of a bundle's counts at most; with more cells, they would cost more than a member's codes


cdef inline int16_t* bundle_codes(Here* h, int32_t bundle) noexcept nogil:
    """The codes of a bundle in the node."""
    cdef const int16_t* codes = h.plan.bundle[bundle].codes
    cdef int16_t* own = h.room.bundled + bundle * h.room.bundled_room
    cdef const uint32_t* rows = <const uint32_t*> &h.near[0] if h.few else h.rows
    cdef int64_t n = h.few if h.few else h.n
    cdef int64_t i
    if not h.gathered[bundle]:
        h.gathered[bundle] = True
        for i in range(n):
            own[i] = codes[rows[i]]
    return own


cdef inline int64_t gather_member(Here* h, const DrawnColumn* column, int16_t* out) noexcept nogil:
    """The codes of a member; returns how many rows have the rare value."""
    cdef const int16_t* own = bundle_codes(h, column.bundle - 1)
    cdef int16_t rare = <int16_t> (1 + column.rare_is_high + NARROW_BASE)
    cdef int16_t usual = <int16_t> (2 - column.rare_is_high + NARROW_BASE)
    return match_member(own, h.few if h.few else h.n, column.member, out, rare, usual)


cdef inline bint may_be_counted(const Here* h, const DrawnColumn* column) noexcept nogil:
    """Whether a member is searched by the counts of its bundle."""
    if column.bundle == 0 or h.n <= MOST_RANKED or h.rows_count:
        return False
    return <int64_t> h.plan.bundle[column.bundle - 1].n_codes * h.n_classes <= CELLS_PER_ROW * h.n


cdef inline void count_bundle(Here* h, int32_t bundle, void* cells) noexcept nogil:
    """What the rows of each code add; in cells of class counts, of pairs, or of weights and sums."""
    cdef const int16_t* codes = bundle_codes(h, bundle)
    cdef const uint16_t* labels = h.room.labels
    cdef const uint32_t* counts = h.room.counts
    cdef const uint64_t* pairs = h.room.pairs
    cdef const double* numbers = h.room.numbers
    cdef uint32_t* by_class = <uint32_t*> cells
    cdef uint64_t* by_pair = <uint64_t*> cells
    cdef double* by_number = <double*> cells
    cdef int64_t n = h.n
    cdef int64_t i
    cdef int32_t k = h.n_classes
    cdef int32_t n_codes = h.plan.bundle[bundle].n_codes
    if h.kind == MANY_CLASSES:
        memset(cells, 0, <size_t> n_codes * k * sizeof(uint32_t))
        for i in range(n):
            by_class[codes[i] * k + labels[i]] += counts[i]
    elif h.kind == NUMBERS:
        memset(cells, 0, n_codes * 2 * sizeof(double))
        for i in range(n):
            by_number[2 * codes[i]] += <double> <int32_t> counts[i]
            by_number[2 * codes[i] + 1] += numbers[i]
    elif h.compact:
        memset(cells, 0, n_codes * sizeof(uint32_t))
        for i in range(n):
            by_class[codes[i]] += counts[i]
    else:
        memset(cells, 0, n_codes * sizeof(uint64_t))
        for i in range(n):
            by_pair[codes[i]] += pairs[i]


cdef inline LeftSide classes_of_member(const Here* h, const DrawnColumn* column, const uint32_t* cell) noexcept nogil:
    """The rows of the lower value of a member, by class."""
    cdef LeftSide side = no_side(h)
    cdef int64_t weight = 0
    cdef int64_t sum = 0
    cdef int64_t right = 0
    cdef int64_t rare, usual
    cdef int32_t k
    for k in range(h.n_classes):
        rare = cell[k]
        usual = h.room.right[k] - rare
        weight += rare
        sum += rare * rare
        right += usual * usual
    side.weight = <double> (h.weight - weight if column.rare_is_high else weight)
    side.sum = <double> (right if column.rare_is_high else sum)
    side.right = <double> (sum if column.rare_is_high else right)
    return side


cdef inline LeftSide side_of_member(Here* h, const Drawn* drawn) noexcept nogil:
    """The rows of the lower value of a member; their weight is 0, or all, where the member is constant."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef int32_t bundle = column.bundle - 1
    cdef char* cells = h.room.bundle_cells + bundle * h.room.bundle_cells_room
    cdef int32_t member = column.member
    cdef LeftSide side
    cdef uint64_t pair
    if not h.counted[bundle]:
        h.counted[bundle] = True
        count_bundle(h, bundle, cells)
    if h.kind == MANY_CLASSES:
        return classes_of_member(h, column, <const uint32_t*> cells + member * h.n_classes)
    side = no_side(h)
    if h.kind == NUMBERS:
        side.weight = (<const double*> cells)[2 * member]
        side.sum = (<const double*> cells)[2 * member + 1]
    elif h.compact:
        side.weight = <double> ((<const uint32_t*> cells)[member] & 0xFFFF)
        side.sum = <double> ((<const uint32_t*> cells)[member] >> 16)
    else:
        pair = (<const uint64_t*> cells)[member]
        side.weight = <double> <uint32_t> pair
        side.sum = <double> (pair >> 32)
    if column.rare_is_high:
        side.weight = <double> h.weight - side.weight
        side.sum = h.total - side.sum
    return side
