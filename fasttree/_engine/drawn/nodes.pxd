"""The node loop of the drawn layout: draws and search of a node, and the nodes that wait.  Header only."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.drawn.block cimport begins_block, enter_block
from fasttree._engine.drawn.bundles cimport gather_member, may_be_counted, side_of_member
from fasttree._engine.drawn.chance cimport draw_groups, draw_threshold, keep_threshold, threshold_between
from fasttree._engine.drawn.couple cimport is_couple, split_couple
from fasttree._engine.drawn.divide cimport divide, write_group
from fasttree._engine.drawn.edges cimport find_edges_of
from fasttree._engine.drawn.gains cimport LeftSide, gain_of, is_better, is_perfect, keep_cut
from fasttree._engine.drawn.gather cimport draw, gather, undo_draws
from fasttree._engine.drawn.missing cimport search_groups, search_missing
from fasttree._engine.drawn.records cimport (
    BY_GROUP, MANY_CLASSES, MOST_CELLS, MOST_KEPT, MOST_WAITING, BinEdges, Drawn, DrawnColumn, DrawnPlan, Here, Open, Room,
    Waiting,
)
from fasttree._engine.drawn.refine cimport refine
from fasttree._engine.drawn.small cimport search_small
from fasttree._engine.drawn.totals cimport (
    end_classes, end_numbers, end_single, fill_classes, fill_numbers, fill_up, forget_classes, know_child, more, take_classes,
    total_classes,
)
from fasttree._engine.drawn.walk cimport PackedNode
from fasttree._engine.random cimport mix
from fasttree._engine.types cimport RELATIVE_TIE
from fasttree._engine.watch cimport interrupted


# ---------------------------------------------------------------------------------------------------------------------
# Search
# ---------------------------------------------------------------------------------------------------------------------

cdef inline BinEdges* edges_at(const Room* room, int32_t slot) noexcept nogil:
    """The edges of a drawn feature, with places for what they point to."""
    cdef char* at = room.edges + slot * room.edges_size
    cdef BinEdges* e = <BinEdges*> at
    at += sizeof(BinEdges)
    e.weight = <double*> at
    e.sum = e.weight + MOST_CELLS + 1
    e.bound = e.sum + MOST_CELLS + 1
    e.rows = <uint32_t*> (e.bound + MOST_CELLS + 1)
    e.cells = e.rows + MOST_CELLS
    return e


cdef inline bint has_plain_search(const Here* h, const Drawn* drawn) noexcept nogil:
    """Thresholds on known values, or two categories."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    return drawn.low > 0 and (not column.nominal or h.kind == MANY_CLASSES)


cdef inline void search_alone(Here* h, const Drawn* drawn, uint64_t* state) noexcept nogil:
    """The best cut of a feature, found without regard to the other ones."""
    if h.plan.random:
        if h.plan.column[drawn.feature].nominal:
            draw_groups(h, drawn, state)
        else:
            draw_threshold(h, drawn, state)
    elif has_plain_search(h, drawn):
        search_small(h, drawn)
    elif h.plan.column[drawn.feature].nominal and h.kind != MANY_CLASSES:
        search_groups(h, drawn)
    else:
        search_missing(h, drawn)


cdef inline bint search_member(Here* h, Drawn* drawn, uint64_t* state) noexcept nogil:
    """The cut of a member of a bundle by the bundle's counts; False if the member is constant."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef LeftSide side = side_of_member(h, drawn)
    cdef double gain, threshold
    if side.weight == 0 or side.weight == <double> h.weight:
        return False
    drawn.low, drawn.high = 1, 2
    if h.plan.random:
        threshold = threshold_between(column.value[1], column.value[2], state)
        if keep_threshold(h, drawn, &side, 1, False, threshold):
            h.best_codes = NULL
        return True
    gain = gain_of(h, &side)
    if is_better(h, gain, drawn.order, 2):
        keep_cut(h, drawn, gain, 1, False, side.weight, side.sum)
    return True


cdef inline void gather_drawn(Here* h, Drawn* drawn) noexcept nogil:
    """The codes of a drawn feature in the node, and their range."""
    cdef const DrawnColumn* column = &h.plan.column[drawn.feature]
    cdef int64_t n_rare, n
    if not column.bundle:
        gather(h, column, <char*> drawn.codes, &drawn.low, &drawn.high)
        return
    n = h.few if h.few else h.n
    n_rare = gather_member(h, column, <int16_t*> drawn.codes)
    drawn.low = 1 + (n_rare == (n if column.rare_is_high else 0))
    drawn.high = 1 + (n_rare != (0 if column.rare_is_high else n))


cdef inline void refine_all(Here* h, int32_t n_slots) noexcept nogil:
    """Look into the bins of the features, those with the best edges first."""
    cdef Room* room = h.room
    cdef BinEdges* e
    cdef BinEdges* chosen
    cdef int32_t _turn, slot
    for _turn in range(n_slots):
        chosen = NULL
        for slot in range(n_slots):
            e = edges_at(room, slot)
            if e.shift and (chosen == NULL or e.at_ends > chosen.at_ends):
                chosen = e
        if chosen == NULL:
            return
        refine(h, chosen)
        chosen.shift = 0


cdef inline void search_drawn(Here* h, const Waiting* node, uint64_t* constants) noexcept nogil:
    """Draw features until enough were seen, one of them not constant, and find the best cut.

    A feature known to be constant counts as drawn, as in scikit-learn.
    """
    cdef Room* room = h.room
    cdef const DrawnPlan* plan = h.plan
    cdef uint64_t state = node.key
    cdef uint64_t chance = mix(node.key)
    cdef int32_t n_slots = 0
    cdef int32_t n_drawn = 0
    cdef int64_t used = 0
    cdef bint varies = False
    cdef bint alone = plan.random or h.n <= plan.most_ranked       # each feature is searched at once
    cdef char* other_codes = room.codes + 4 * (h.n + 8) if h.n <= MOST_KEPT else room.codes
    cdef Drawn drawn
    cdef BinEdges* e
    h.spare_codes = room.codes
    memset(h.gathered, 0, sizeof(h.gathered))
    memset(h.counted, 0, sizeof(h.counted))
    # no cut gains more than the risk, and of equal cuts the feature drawn first wins
    while n_drawn < plan.n_features and (n_drawn < plan.max_features or not varies) and not is_perfect(h):
        drawn.order = n_drawn
        drawn.feature = draw(room, n_drawn, plan.n_features, &state)
        n_drawn += 1
        if constants[drawn.feature >> 6] >> (drawn.feature & 63) & 1:
            continue
        if may_be_counted(h, &plan.column[drawn.feature]):
            if search_member(h, &drawn, &chance):
                varies = True
            else:
                constants[drawn.feature >> 6] |= <uint64_t> 1 << (drawn.feature & 63)
            continue
        if used + h.n + 8 > room.codes_room:
            refine_all(h, n_slots)
            n_slots = 0
            used = 0
        drawn.codes = h.spare_codes if alone else room.codes + 4 * used
        gather_drawn(h, &drawn)
        if drawn.low == drawn.high:
            constants[drawn.feature >> 6] |= <uint64_t> 1 << (drawn.feature & 63)
            continue
        varies = True
        if alone:
            search_alone(h, &drawn, &chance)
            if h.best.order == drawn.order:
                h.spare_codes = other_codes
                other_codes = <char*> drawn.codes
                h.best_codes = other_codes
            continue
        if not has_plain_search(h, &drawn):
            search_alone(h, &drawn, &chance)
            continue
        e = edges_at(room, n_slots)
        e.drawn = drawn
        find_edges_of(h, e)
        if e.shift:
            n_slots += 1
            used += h.n + 8
        if n_slots == room.n_slots:
            refine_all(h, n_slots)
            n_slots = 0
            used = 0
    refine_all(h, n_slots)
    undo_draws(room, n_drawn)
    if not alone or h.n > MOST_KEPT:
        h.best_codes = NULL


# ---------------------------------------------------------------------------------------------------------------------
# A tree
# ---------------------------------------------------------------------------------------------------------------------

cdef inline bint may_be_split(Here* h, const Waiting* waiting) noexcept nogil:
    """Find the totals of a node; False if it is a leaf by its limits or its targets."""
    cdef const DrawnPlan* plan = h.plan
    cdef bint varies
    if plan.n_classes:
        if waiting.weight:
            take_classes(h, waiting)
        else:
            total_classes(h)
        varies = h.n_classes > 1
    else:
        varies = fill_numbers(h, waiting)
    if not varies or waiting.depth >= plan.max_depth or h.n < plan.min_samples_split or h.n < 2 * plan.min_samples_leaf:
        return False
    if <double> h.weight < 2 * plan.min_weight_leaf:
        return False
    if plan.n_classes:
        fill_classes(h)
    fill_up(h)
    return True


cdef inline void search_node(Here* h, const Waiting* waiting, uint64_t* constants) noexcept nogil:
    h.best.order = -1
    h.best.gain = 0
    search_drawn(h, waiting, constants)
    if h.best.order >= 0 and h.best.gain < h.plan.min_gain * (1 - RELATIVE_TIE):
        h.best.order = -1


cdef inline size_t open_size(const Room* room) noexcept nogil:
    """Bytes of a node that is left open."""
    return sizeof(Open) + room.n_words * sizeof(uint64_t)


cdef inline void leave_open(Room* room, const Waiting* waiting, const uint64_t* constants) noexcept nogil:
    """Leave a node for whichever thread is free: `push_open`."""
    cdef Open* open = <Open*> (room.open + room.n_open * open_size(room))
    open.waiting = waiting[0]
    open.n_values = room.n_values
    open.n_bits = room.n_bits
    memcpy(open + 1, constants, room.n_words * sizeof(uint64_t))
    memset(&room.grown[waiting.node], 0, sizeof(PackedNode))
    room.n_open += 1


cdef inline int grow_node(Here* h, const Waiting* waiting, int32_t* n_waiting) noexcept nogil:
    """Split a node, or make it a leaf; -1 if there is no memory."""
    cdef Room* room = h.room
    cdef uint64_t* constants = room.constants + <int64_t> MOST_WAITING * room.n_words
    cdef uint32_t start = waiting.start
    cdef uint32_t child = <uint32_t> room.n_grown
    cdef uint32_t n_left, n_larger
    cdef PackedNode* node
    cdef Waiting* next
    cdef bint splits
    cdef int32_t side, turn, larger, status
    if is_couple(h, waiting):
        status = split_couple(h, waiting, room.constants + <int64_t> n_waiting[0] * room.n_words)
        if status:
            return min(status, 0)
    splits = may_be_split(h, waiting)
    if splits:
        memcpy(constants, room.constants + <int64_t> n_waiting[0] * room.n_words, room.n_words * sizeof(uint64_t))
        search_node(h, waiting, constants)
    if more(<void**> &room.grown, &room.grown_room, room.n_grown + 2, sizeof(PackedNode)):
        return -1
    node = &room.grown[waiting.node]
    memset(node, 0, sizeof(PackedNode))
    if not splits or h.best.order < 0:
        return end_classes(h, node) if h.plan.n_classes else end_numbers(h, node)
    n_left = divide(h, room.rows + start, room.bags + start, node)
    if h.best.form == BY_GROUP and write_group(h, node):
        return -1
    node.child = child
    room.n_grown += 2
    larger = 0 if 2 * <int64_t> n_left > h.n else 1
    n_larger = <uint32_t> h.n - n_left if larger else n_left
    if <uint32_t> h.n - n_larger == 1 and end_single(h, start if larger else start + n_left, child + 1 - larger):
        return -1
    if n_larger == 1 and end_single(h, start + n_left if larger else start, child + larger):
        return -1
    for turn in range(2):              # the smaller child comes last, and so first: few nodes wait
        side = 1 - larger if turn else larger
        if (<uint32_t> h.n - n_larger if turn else n_larger) == 1:
            continue
        memcpy(room.constants + <int64_t> n_waiting[0] * room.n_words, constants, room.n_words * sizeof(uint64_t))
        next = &room.stack[n_waiting[0]]
        next.start = start + n_left if side else start
        next.n = <uint32_t> h.n - n_left if side else n_left
        next.node = child + side
        next.depth = waiting.depth + 1
        next.key = mix(waiting.key + 1 + side)
        know_child(h, side, next)
        n_waiting[0] += 1
    return 0


cdef inline void start_tree(Room* room, int64_t n, uint64_t key) noexcept nogil:
    """Push a root of this key that holds the first `n` places of Room.rows and Room.bags."""
    room.n_grown = 0
    room.n_values = 0
    room.n_bits = 0
    memset(room.stack, 0, sizeof(Waiting))
    memset(room.constants, 0, room.n_words * sizeof(uint64_t))
    room.stack[0].n = <uint32_t> n
    room.stack[0].key = key


cdef inline void push_open(Room* room, const char* open) noexcept nogil:
    """Take a node that was left open as the first one of the stack."""
    memcpy(room.stack, open, sizeof(Waiting))
    memcpy(room.constants, open + sizeof(Open), room.n_words * sizeof(uint64_t))


cdef inline int grow_drawn(const DrawnPlan* plan, Room* room) noexcept nogil:
    """Grow the first node of the stack and all that is below it, but for nodes that are left open, as the next node of the room.

    Returns -1 if there is no memory, or the work is to end.
    """
    cdef uint32_t first = <uint32_t> room.n_grown
    cdef int32_t n_waiting = 1
    cdef int32_t block_from = 0        # nodes that wait above this number read the block
    cdef Waiting waiting
    cdef Here h
    cdef int status
    memset(&h, 0, sizeof(Here))
    h.plan = plan
    h.room = room
    h.n_min = max(plan.min_samples_leaf, 1)
    h.w_min = max(plan.min_weight_leaf, 1.0)
    h.rows_count = h.n_min > 1 or h.w_min > 1
    room.stack[0].node = first
    room.n_grown += 1
    while n_waiting:
        n_waiting -= 1
        waiting = room.stack[n_waiting]
        if n_waiting < block_from:
            h.plan = plan
        if waiting.n >= room.least_open and waiting.node != first and h.plan == plan:      # a block has rows of its own
            leave_open(room, &waiting, room.constants + <int64_t> n_waiting * room.n_words)
            continue
        if h.plan == plan and begins_block(&h, &waiting):
            block_from = n_waiting
            enter_block(&h, &waiting, room.constants + <int64_t> n_waiting * room.n_words)
        h.n = waiting.n
        h.rows = room.rows + waiting.start
        h.bags = room.bags + waiting.start
        status = grow_node(&h, &waiting, &n_waiting)
        if plan.n_classes:
            forget_classes(&h)
        if status or interrupted(&room.watch, h.n * plan.max_features):
            return -1
    return 0
