"""The draw of a feature, and its codes in a node.  Header only."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t

from fasttree._engine.drawn.lanes cimport gather_few_narrow, gather_few_wide, range_narrow, range_wide
from fasttree._engine.drawn.records cimport NARROW_BASE, DrawnColumn, Here, Room
from fasttree._engine.random cimport draw_next


cdef inline int32_t draw(Room* room, int32_t turn, int32_t n_features, uint64_t* state) noexcept nogil:
    """Another feature."""
    room.swapped[turn] = draw_next(room.features, turn, n_features, state)
    return room.features[turn]


cdef inline void undo_draws(Room* room, int32_t n_drawn) noexcept nogil:
    """Put the features back in the order that every node begins with."""
    cdef int32_t turn, feature
    for turn in range(n_drawn - 1, -1, -1):
        feature = room.features[turn]
        room.features[turn] = room.features[room.swapped[turn]]
        room.features[room.swapped[turn]] = feature


cdef inline void gather_all(const DrawnColumn* column, const uint32_t* rows, int64_t n, char* out) noexcept nogil:
    """The codes of some rows."""
    cdef const int32_t* wide = <const int32_t*> column.codes
    cdef const int16_t* narrow = <const int16_t*> column.codes
    cdef int64_t i
    if column.wide:
        for i in range(n):
            (<int32_t*> out)[i] = wide[rows[i]]
    else:
        for i in range(n):
            (<int16_t*> out)[i] = narrow[rows[i]]


cdef inline void gather(const Here* h, const DrawnColumn* column, char* out, int32_t* low, int32_t* high) noexcept nogil:
    """The codes of the node's rows, and their range less the base."""
    if column.wide:
        if h.few:
            gather_few_wide(<const int32_t*> column.codes, h.near, h.few, <int32_t*> out, low, high)
        else:
            gather_all(column, h.rows, h.n, out)
            range_wide(<const int32_t*> out, h.n, low, high)
        return
    if h.few:
        gather_few_narrow(<const int16_t*> column.codes, h.near, h.few, <int16_t*> out, low, high)
    else:
        gather_all(column, h.rows, h.n, out)
        range_narrow(<const int16_t*> out, h.n, low, high)
    low[0] -= NARROW_BASE
    high[0] -= NARROW_BASE


cdef inline int32_t code_at(const DrawnColumn* column, const char* codes, int64_t i) noexcept nogil:
    """A code less the base."""
    return (<const int32_t*> codes)[i] if column.wide else <int32_t> (<const int16_t*> codes)[i] - NARROW_BASE
