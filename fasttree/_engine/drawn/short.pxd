"""Walks over short steps, which are made from the nodes of a tree for many rows.  Header only.

A step has 8 bytes, or 16 for cells in double precision: the operand of its test, its feature, flags and first child.  A leaf
leads to itself: its operand is a NaN, which no cell is above, with the row of its value in the low bits.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from fasttree._engine.drawn.walk cimport PACKED_LEAF, PACKED_SUBSET, SIDE_BY_SIDE, PackedNode
from fasttree._engine.types cimport real_t


cdef enum:
    MOST_STEPS = 1 << 21       # nodes of a tree
    MOST_TESTED = 1 << 9       # features
    MOST_VALUES = 1 << 22
    SET_BIT = 22
    MISSING_BIT = 21
    FEATURE_BIT = 23
    FEW_ROWS = 16              # nodes for each row: with more it does not pay to make steps

cdef enum Variety:             # what a walk must look at
    THRESHOLDS
    WITH_MISSING               # some cells are missing
    WITH_SETS                  # some tests are on sets of categories, and cells may be missing

cdef union ShortOperand:
    float threshold
    uint32_t number

cdef struct ShortStep:
    ShortOperand operand
    uint32_t to                # feature, flags, first child

cdef union LongOperand:
    double threshold
    uint64_t number

cdef struct LongStep:
    LongOperand operand
    uint32_t to
    uint32_t spare


cdef inline float at_most(double threshold) noexcept nogil:
    """The largest float that is not above a threshold: floats are above both or neither."""
    cdef ShortOperand found
    found.threshold = <float> threshold
    if found.threshold > threshold:
        if found.threshold > 0:
            found.number -= 1
        elif found.threshold < 0:
            found.number += 1
        else:
            found.number = 0x80000001
    return found.threshold


cdef inline uint32_t spread_set(const PackedNode* node, const uint32_t* bits, uint32_t* table) noexcept nogil:
    """Write the codes that go to the second child as bits behind the number of codes; returns the words that were used."""
    cdef const uint32_t* known = bits + node.operand.pair[0]
    cdef uint32_t n_words = node.operand.pair[1]
    cdef uint32_t otherwise = 0xFFFFFFFF if node.missing else 0
    cdef uint32_t w
    table[0] = 32 * n_words
    for w in range(n_words):
        table[1 + w] = known[w] & ~known[n_words + w] | ~known[w] & otherwise
    return n_words + 1


cdef inline Variety make_steps(
    const PackedNode* nodes, int64_t n, const uint32_t* bits, void* steps, uint32_t* sets, real_t like,
) noexcept nogil:
    """Write the steps of a tree, for cells like `like`, and its sets."""
    cdef ShortStep* short_step = <ShortStep*> steps
    cdef LongStep* long_step = <LongStep*> steps
    cdef Variety variety = THRESHOLDS
    cdef const PackedNode* node
    cdef double threshold
    cdef uint32_t number, to
    cdef uint32_t end = 2
    cdef bint leaf
    cdef int64_t i
    sets[0], sets[1] = 1, 0    # what a threshold looks at in a walk with sets: one code, to the first child
    for i in range(n):
        node = nodes + i
        leaf = node.kind == PACKED_LEAF
        number = node.operand.pair[0]
        to = node.child | <uint32_t> node.feature << FEATURE_BIT | <uint32_t> node.missing << MISSING_BIT
        if bits != NULL and node.kind == PACKED_SUBSET:
            variety = WITH_SETS
            to |= 1 << SET_BIT
            number = end
            end += spread_set(node, bits, sets + end)
        threshold = node.operand.threshold if node.kind & 1 else 0.0  # other operands are no numbers
        if real_t is float:
            short_step[i].operand.threshold = at_most(threshold)
            if not node.kind & 1:
                short_step[i].operand.number = 0x7FC00000 | number if leaf else number
            short_step[i].to = to
        else:
            long_step[i].operand.threshold = threshold
            if not node.kind & 1:
                long_step[i].operand.number = (<uint64_t> 0x7FF80000 << 32) | number if leaf else number
            long_step[i].to = to
    return variety


cdef inline uint32_t follow(
    const void* steps, const uint32_t* sets, const real_t* cells, uint32_t at, Variety variety,
) noexcept nogil:
    """The next step of a row; a leaf leads to itself."""
    cdef const uint32_t* table
    cdef uint32_t to, number, second, is_set, code
    cdef real_t x
    if real_t is float:
        to = (<const ShortStep*> steps)[at].to
        x = cells[to >> FEATURE_BIT]
        second = x > (<const ShortStep*> steps)[at].operand.threshold
    else:
        to = (<const LongStep*> steps)[at].to
        x = cells[to >> FEATURE_BIT]
        second = x > (<const LongStep*> steps)[at].operand.threshold
    if variety != THRESHOLDS:
        second |= (x != x) & (to >> MISSING_BIT)
    if variety == WITH_SETS:
        if real_t is float:
            number = (<const ShortStep*> steps)[at].operand.number
        else:
            number = <uint32_t> (<const LongStep*> steps)[at].operand.number
        is_set = to >> SET_BIT & 1
        table = sets + (number & -is_set)
        x = x if x < table[0] else 0   # a missing one, too
        code = <uint32_t> <int32_t> (x if x > 0 else 0)
        second ^= (second ^ table[1 + (code >> 5)] >> (code & 31)) & is_set
    return (to & MOST_STEPS - 1) + (second & 1)


cdef inline void walk_steps(
    const void* steps, const uint32_t* sets, const real_t** row, uint32_t* at, Variety variety,
) noexcept nogil:
    """The leaves of SIDE_BY_SIDE rows, which walk side by side until none of them moves."""
    cdef uint32_t moved = 1
    cdef uint32_t to
    cdef int32_t i
    for i in range(SIDE_BY_SIDE):
        at[i] = 0
    while moved:
        moved = 0
        for i in range(SIDE_BY_SIDE):
            at[i] = follow(steps, sets, row[i], at[i], variety)
        for i in range(SIDE_BY_SIDE):
            to = follow(steps, sets, row[i], at[i], variety)
            moved |= to ^ at[i]
            at[i] = to


cdef inline void walk_variety(
    const void* steps, const uint32_t* sets, const real_t** row, uint32_t* at, Variety variety,
) noexcept nogil:
    if variety == THRESHOLDS:
        walk_steps(steps, sets, row, at, THRESHOLDS)
    elif variety == WITH_MISSING:
        walk_steps(steps, sets, row, at, WITH_MISSING)
    else:
        walk_steps(steps, sets, row, at, WITH_SETS)
