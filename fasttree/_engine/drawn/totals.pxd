"""Totals of a node of the drawn layout, what each of its rows adds to a sum, and leaves.  Header only."""

from libc.math cimport floor
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.drawn.lanes cimport fill_compact, fill_pairs, weigh_bags
from fasttree._engine.drawn.records cimport MANY_CLASSES, MOST_RANKED, NUMBERS, PAIR_OF_CLASSES, Here, Room, Waiting
from fasttree._engine.drawn.walk cimport PackedNode
from fasttree._engine.memory cimport enlarge


cdef inline int more(void** items, int64_t* capacity, int64_t wanted, size_t size) noexcept nogil:
    """Make room for `wanted` items; -1 if there is no memory."""
    if wanted <= capacity[0]:
        return 0
    wanted = max(wanted, 2 * capacity[0])
    if enlarge(items, capacity[0] * size, wanted * size):
        return -1
    capacity[0] = wanted
    return 0


cdef inline void total_classes(Here* h) noexcept nogil:
    """The classes that occur, with dense numbers in the order of their first rows."""
    cdef Room* room = h.room
    cdef const uint32_t* bags = h.bags
    cdef int64_t* class_counts = room.class_counts
    cdef int64_t i, before
    cdef int64_t weight = 0
    cdef int32_t n_classes = 0
    cdef uint32_t label = bags[0] >> 16
    cdef uint64_t sums
    if h.plan.n_classes <= 2:
        sums = weigh_bags(bags, h.n, label)
        weight = <int64_t> <uint32_t> sums
        h.weight = weight
        h.n_classes = 1 + (sums >> 32 != 0)
        room.present[0] = label
        class_counts[label] = weight - <int64_t> (sums >> 32)
        if sums >> 32:
            room.present[1] = 1 - label
            class_counts[1 - label] = <int64_t> (sums >> 32)
        return
    for i in range(h.n):
        label = bags[i] >> 16
        before = class_counts[label]
        class_counts[label] = before + (bags[i] & 0xFFFF)
        weight += bags[i] & 0xFFFF
        if before == 0:
            room.dense[label] = n_classes
            room.present[n_classes] = label
            n_classes += 1
    h.weight = weight
    h.n_classes = n_classes


cdef inline void take_classes(Here* h, const Waiting* waiting) noexcept nogil:
    """The same from the totals of a child whose parent had two classes."""
    cdef Room* room = h.room
    cdef int64_t second = <int64_t> waiting.sum
    cdef int64_t first = <int64_t> waiting.weight - second
    cdef bint swaps = <int32_t> (h.bags[0] >> 16) == waiting.second
    h.weight = first + second
    h.n_classes = 1 + (first != 0 and second != 0)
    room.present[0] = waiting.second if swaps else waiting.first
    room.present[1] = waiting.first if swaps else waiting.second
    room.class_counts[room.present[0]] = second if swaps else first
    room.class_counts[room.present[1]] = first if swaps else second


cdef inline void forget_classes(Here* h) noexcept nogil:
    """Set the counts to zero again, for the next node."""
    cdef int32_t k
    for k in range(h.n_classes):
        h.room.class_counts[h.room.present[k]] = 0


cdef inline void fill_classes(Here* h) noexcept nogil:
    """What each row adds, and totals for gains."""
    cdef Room* room = h.room
    cdef const uint32_t* bags = h.bags
    cdef const int32_t* dense = room.dense
    cdef uint32_t* counts = room.counts
    cdef uint16_t* labels = room.labels
    cdef double n = <double> h.weight
    cdef double squares = 0
    cdef int64_t i
    cdef uint32_t second, bag
    cdef int32_t k
    for k in range(h.n_classes):
        room.right[k] = room.class_counts[room.present[k]]
        squares += <double> (room.right[k] * room.right[k])
    h.risk = n - squares / n
    if h.n_classes == 2:
        h.kind = PAIR_OF_CLASSES
        h.total = <double> room.right[1]
        h.scale = 2 / n
        second = <uint32_t> room.present[1]
        h.compact = h.plan.random and h.plan.plain and h.weight <= 0xFFFF
        if h.compact:
            fill_compact(h.bags, h.n, second, room.counts)
        else:
            fill_pairs(h.bags, h.n, second, room.pairs)
        return
    h.kind = MANY_CLASSES
    h.total = squares
    for i in range(h.n):
        bag = bags[i]
        counts[i] = bag & 0xFFFF
        labels[i] = <uint16_t> dense[bag >> 16]


cdef inline double fill_deviations(const Here* h, double mean, bint random) noexcept nogil:
    """Times drawn x (target less the mean) of each row, and its square or, for random cuts, the same as a whole number.

    Returns the sum of the squares.
    """
    cdef Room* room = h.room
    cdef const uint32_t* rows = h.rows
    cdef const uint32_t* bags = h.bags
    cdef const double* target = h.plan.target
    cdef uint32_t* counts = room.counts
    cdef double* numbers = room.numbers
    cdef double* all_squares = room.squares
    cdef uint64_t* longs = room.pairs
    cdef double squares = 0
    cdef double value, product
    cdef int64_t i
    cdef uint32_t count
    for i in range(h.n):
        count = bags[i] & 0xFFFF
        value = target[rows[i]] - mean
        product = value * <double> <int32_t> count
        counts[i] = count
        numbers[i] = product
        value *= product
        squares += value
        if random:
            longs[i] = <uint64_t> <int64_t> product
        else:
            all_squares[i] = value
    return squares


cdef inline bint fill_numbers(Here* h, const Waiting* waiting) noexcept nogil:
    """What each row adds, and totals for gains; False if all targets are equal."""
    cdef const uint32_t* rows = h.rows
    cdef const uint32_t* bags = h.bags
    cdef const double* target = h.plan.target
    cdef double sum = waiting.sum
    cdef double n = waiting.weight
    cdef double squares
    cdef int64_t i
    h.kind = NUMBERS
    if n == 0:
        sum = 0
        for i in range(h.n):
            n += <double> (bags[i] & 0xFFFF)
            sum += target[rows[i]] * <double> (bags[i] & 0xFFFF)
    h.weight = <int64_t> n
    h.mean = floor(sum / n)
    squares = fill_deviations(h, h.mean, True) if h.plan.random else fill_deviations(h, h.mean, False)
    if squares == 0:               # the mean of equal whole numbers is exact
        return False
    h.total = sum - h.mean * n
    h.scale = 1 / n
    h.risk = squares - h.total * h.total / n
    return True


cdef inline void know_child(const Here* h, int32_t side, Waiting* child) noexcept nogil:
    """The totals of a side of the best cut, so that the child needs no pass over its rows for them."""
    cdef double weight = h.best.weight
    cdef double sum = h.best.sum
    if side:
        weight = <double> h.weight - weight
        sum = h.total - sum
    child.weight = 0 if h.kind == MANY_CLASSES else weight
    child.sum = sum + h.mean * weight if h.kind == NUMBERS else sum
    if h.kind == PAIR_OF_CLASSES:
        child.first = h.room.present[0]
        child.second = h.room.present[1]


cdef inline void fill_up(Here* h) noexcept nogil:
    """Add rows that count nothing, up to a multiple of 8; in a small node, find the rows whose codes are gathered."""
    cdef Room* room = h.room
    cdef int64_t n = h.n
    cdef int64_t full = (n + 7) // 8 * 8
    cdef int64_t i
    if h.kind != PAIR_OF_CLASSES or h.compact:
        for i in range(n, full):
            room.counts[i] = 0
    if h.kind == PAIR_OF_CLASSES or h.plan.random:
        for i in range(n, full):
            room.pairs[i] = 0
    h.few = 0
    if n <= MOST_RANKED:
        h.few = <int32_t> ((n + 3) // 4 * 4)
        for i in range(h.few):
            h.near[i] = h.rows[i if i < n else 0]


cdef inline int end_classes(Here* h, PackedNode* node) noexcept nogil:
    """Give a leaf its row of values: a class alone, or shares."""
    cdef Room* room = h.room
    cdef double* shares
    cdef int32_t k
    cdef int32_t n_classes = h.plan.n_classes
    node.operand.pair[1] = <uint32_t> h.weight
    if h.n_classes == 1:
        node.operand.pair[0] = <uint32_t> room.present[0]
        return 0
    if more(<void**> &room.values, &room.values_room, room.n_values + 1, n_classes * sizeof(double)):
        return -1
    shares = room.values + room.n_values * n_classes
    memset(shares, 0, n_classes * sizeof(double))
    for k in range(h.n_classes):
        shares[room.present[k]] = <double> room.class_counts[room.present[k]] / <double> h.weight
    node.operand.pair[0] = <uint32_t> (n_classes + room.n_values)
    room.n_values += 1
    return 0


cdef inline int end_numbers(Here* h, PackedNode* node) noexcept nogil:
    """Give a leaf its row of values: mean and variance of the targets as they were given."""
    cdef Room* room = h.room
    cdef const double* y = h.plan.y
    cdef double first = y[h.rows[0]]
    cdef double sum = 0
    cdef double squares = 0
    cdef double n = 0
    cdef double deviation, count
    cdef int64_t i
    node.operand.pair[1] = <uint32_t> h.weight
    if more(<void**> &room.values, &room.values_room, room.n_values + 1, 2 * sizeof(double)):
        return -1
    for i in range(h.n):
        count = <double> (h.bags[i] & 0xFFFF)
        deviation = y[h.rows[i]] - first
        sum += count * deviation
        squares += count * deviation * deviation
        n += count
    room.values[2 * room.n_values] = first + sum / n
    room.values[2 * room.n_values + 1] = max(squares / n - sum / n * (sum / n), 0.0)
    node.operand.pair[0] = <uint32_t> room.n_values
    room.n_values += 1
    return 0


cdef inline int end_single(Here* h, uint32_t place, uint32_t at) noexcept nogil:
    """Make a leaf of one row."""
    cdef Room* room = h.room
    cdef PackedNode* node = &room.grown[at]
    cdef uint32_t bag = room.bags[place]
    memset(node, 0, sizeof(PackedNode))
    node.operand.pair[1] = bag & 0xFFFF
    if h.plan.n_classes:
        node.operand.pair[0] = bag >> 16
        return 0
    if more(<void**> &room.values, &room.values_room, room.n_values + 1, 2 * sizeof(double)):
        return -1
    room.values[2 * room.n_values] = h.plan.y[room.rows[place]]
    room.values[2 * room.n_values + 1] = 0
    node.operand.pair[0] = <uint32_t> room.n_values
    room.n_values += 1
    return 0
