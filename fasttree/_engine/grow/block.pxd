"""The node loop: everything below the first node of a block is grown.  Header only.

A run over a large block hands each small node to a run over a private block, or to other threads.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fasttree._engine.grow.nodes cimport NodeTable, blank_node, write_class_node
from fasttree._engine.grow.partition cimport list_from_codes
from fasttree._engine.grow.private cimport copy_samples, shrink, sort_values
from fasttree._engine.grow.search cimport search_bounded, search_features
from fasttree._engine.grow.split cimport expand
from fasttree._engine.grow.team cimport is_beyond, note_reach
from fasttree._engine.grow.twigs cimport grow_twig, is_twig
from fasttree._engine.grow.work cimport (
    MOST_WIDE_SORTS, Work, count_searched, drop_node, free_work, give_histogram, mark_allowed, move_node, resize_stack,
    rows_of, share_weights, share_work, stays_wide,
)
from fasttree._engine.memory cimport Carver, allow, carve, free_list, new_list, node_header, pad, reserve
from fasttree._engine.risk.impurity cimport add_output, deviation, risk_of, risk_of_outputs
from fasttree._engine.risk.medians cimport ascends, find_medians, keeps_order, median_of_part, rank_targets
from fasttree._engine.risk.sums cimport exact_add, exact_value
from fasttree._engine.scan.counts cimport add_sample
from fasttree._engine.scan.tiles cimport LANES, lane_of
from fasttree._engine.types cimport (
    MEDIANS, NO_CUT, NO_HISTOGRAM, TWIG, Active, Arena, Block, Exact, Pending, Problem, Search, Totals, entry_t,
)
from fasttree._engine.watch cimport COPY, SMALL_NODES, enter, interrupted


cdef enum:
    NODE_COST = 16             # cells that take about as long as the fixed cost of a node for each feature


cdef inline int open_root(const Problem* p, const Block* block, Work* w, Pending* root, entry_t width) noexcept nogil:
    """Lay out the first node of a run: its features, its rows, and lists for counted features of a small node.

    The other lists exist: in a narrow run they are in the node's arena.  -1 if memory runs out.
    """
    cdef size_t* lists = w.lists
    cdef size_t cursor = w.lists_end
    cdef bint loose = entry_t is uint64_t
    cdef Arena* arena = &w.arenas[root.depth % 2]
    cdef Active* active
    cdef uint32_t* rows
    cdef size_t size = cursor
    cdef bint bounded = block.tiles != NULL
    cdef int32_t f
    cdef uint32_t i
    if not loose:
        for f in range(p.n_features):
            if p.counted[f] and root.n < p.list_below[f] and not bounded:
                size += root.n * sizeof(entry_t)
        size += sizeof(entry_t)
    if reserve(arena, size):
        return -1
    root.region = 0
    root.below = 0
    root.actives_at = 0
    root.rows = NULL
    root.rows_at = pad(p.n_features * sizeof(Active))
    root.n_active = 0
    rows = <uint32_t*> (arena.data + root.rows_at)
    for i in range(root.n):
        rows[i] = i
    if p.sweep == MEDIANS and keeps_order(p) and not ascends(block):
        for i in range(root.n):        # that of the table, whose targets are ranked
            rows[i] = <uint32_t> p.medians[0].records[i]
    for f in range(p.n_features):
        if not p.counted[f] and lists[f] == 0:
            continue                   # constant
        active = <Active*> arena.data + root.n_active
        root.n_active += 1
        active.feature = f
        active.at = lists[f]
        active.listed = not bounded and (not p.counted[f] or (not loose and root.n < p.list_below[f]))
        if active.listed and p.counted[f]:
            active.at = cursor
            list_from_codes(block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, root.n,
                            <entry_t*> (arena.data + cursor), width)
            cursor += root.n * sizeof(entry_t)
        elif not active.listed:
            active.at = 0
        lists[f] = 0                   # the node's now
    return 0


cdef inline void totals_of(const Problem* p, const Block* block, Totals* totals) noexcept nogil:
    """Totals of all rows of a block, but for the risk."""
    cdef uint32_t i
    totals.n = 0
    totals.weight = 0
    totals.sum = 0
    memset(totals.counts, 0, p.width * sizeof(int64_t))
    for i in range(block.n):
        add_sample(p, block, totals, i, 1 if block.weight == NULL else block.weight[i])


cdef inline void write_root(Problem* p, const Block* block, NodeTable* t, Totals* totals) noexcept nogil:
    """Write the first node, which holds all rows."""
    cdef Exact sum
    cdef double risk = 0
    cdef double mean, weight, whole
    cdef size_t at
    cdef uint32_t i
    cdef int32_t o
    cdef bint varies
    t.n = max(t.n, <int64_t> 1)
    blank_node(t, t.root, 0 if t.root else -1)
    totals_of(p, block, totals)
    whole = <double> totals.weight * p.unit
    if p.n_classes:
        write_class_node(p, t, t.root, totals)
        return
    if p.sweep == MEDIANS:
        rank_targets(p, block, NULL, block.n)
        memset(p.parts.part_of, 0, block.n * sizeof(uint32_t))
    for o in range(p.n_outputs):
        sum = p.zero[o]
        varies = False
        for i in range(block.n):
            at = <size_t> i * p.n_outputs + o
            varies = varies or block.y[at] != block.y[o]
            exact_add(&sum, (p.unit if block.weight == NULL else block.weight[i] * p.unit) * block.y[at])
        mean = exact_value(&sum) / whole if varies else block.y[o]
        if p.sweep == MEDIANS:
            find_medians(p, o, block.n, 1, True)
            mean = median_of_part(p, o, 0)
        sum = p.zero_deviation[o]
        for i in range(block.n):
            weight = p.unit if block.weight == NULL else block.weight[i] * p.unit
            exact_add(&sum, weight * deviation(p.impurity, block.y[<size_t> i * p.n_outputs + o], mean))
        t.value[o] = mean
        risk = add_output(p, o, risk, max(exact_value(&sum), 0.0))
    risk = risk_of_outputs(p, risk, whole)
    t.n_samples[0] = block.n
    t.weight[0] = whole
    t.impurity[0] = risk / whole


cdef inline int search_root(
    const Problem* p, const Block* block, Work* w, Pending* node, char* data, entry_t width,
) noexcept nogil:
    """Find the cut of the first node of a block, which holds all its rows.  -1 if memory runs out."""
    cdef Totals totals
    cdef Search search
    totals.counts = w.root_counts
    totals_of(p, block, &totals)
    totals.risk = w.nodes.impurity[node.id] * w.nodes.weight[node.id]
    if p.n_classes:
        totals.risk = risk_of(p, totals.counts)
    totals.low = node.low
    totals.high = node.high
    search.totals = &totals
    search.rows = rows_of(node, data)
    search.lists = NULL if entry_t is uint64_t else data
    search.actives = <Active*> (data + node.actives_at)
    search.n_active = node.n_active
    search.cuts = w.scratch.cuts
    search.at_least = -INFINITY
    search.known = -INFINITY
    search.sorts = node.sorts
    if p.sets != NULL:
        mark_allowed(p.sets, p.n_features, w.nodes.parent, w.nodes.feature, w.nodes.parent[node.id], w.allowed)
    if block.tiles != NULL:
        if count_searched(p, block, w, node, &search):
            return -1
        node.cut = search_bounded(p, block, w, &search, node.histogram, NULL, width)
    else:
        node.cut = search_features(p, block, w, &search, node.key, width)
    node.n_active = search.n_active
    node.sorts = search.sorts
    return 0


cdef inline int grow_private(
    const Problem* p, const Block* block, Work* w, Pending* node, const char* data, entry_t width,
) noexcept nogil:
    """Grow what is below a small node of a wide block in a private block.  -1 if memory runs out."""
    cdef int phase, status
    w.small.work.noted = node.searched
    node.n_spread = 0
    node.searched = False
    node.sorts = 0
    give_histogram(w, node.histogram)
    node.histogram = NULL
    if move_node(w, node):
        drop_node(w, node, width)
        return -1
    phase = enter(COPY)
    if shrink(p, block, node, data, w.small, width):
        return -1
    enter(SMALL_NODES)
    status = grow_block[uint32_t](p, &w.small.block, &w.small.work, node, 0)
    enter(phase)
    return status


cdef inline int grow_node(const Problem* p, Block* block, Work* w, Pending* node, entry_t width) noexcept nogil:
    """Split a node, and push its children; or grow all that is below it.  -1 if memory runs out or growth is interrupted."""
    cdef char* data = w.arenas[node.depth % 2].data
    if entry_t is uint64_t:
        if not stays_wide(p, block, w, node.n, node.depth, node.sorts):
            return grow_private(p, block, w, node, data, width)
        if node.sorts >= MOST_WIDE_SORTS:
            give_histogram(w, node.histogram)
            return grow_by_lists(p, block, w, node, data)
    if not node.searched:
        if search_root(p, block, w, node, data, width):
            return -1
        if node.cut.form == NO_CUT:
            drop_node(w, node, width)
            return 0
        node.reach = min(node.reach, node.cut.first_gain)
        if not w.noted:
            note_reach(w.nodes.frontier, node.reach)
        w.noted = False
    if entry_t is uint32_t:
        if p.twigs and node.n <= TWIG and node.histogram == NULL and is_twig(p, node, data):
            return grow_twig(p, block, w, node, data)
    return expand(p, block, w, node, width)


cdef inline int grow_block(const Problem* p, Block* block, Work* w, Pending* root, entry_t width) noexcept nogil:
    """Grow everything below `root`, a written node whose rows are the whole block.

    -1 if memory runs out or growth is interrupted.
    """
    cdef Pending node
    if resize_stack(w, 1) or open_root(p, block, w, root, width):
        return -1
    w.stack[0] = root[0]
    w.stack_n = 1
    while w.stack_n:
        w.growing = 0
        node = w.stack[w.stack_n - 1]
        if interrupted(w.scratch.watch, (<int64_t> node.n + NODE_COST) * (node.n_active + 1)):
            return -1
        w.stack_n -= 1
        w.growing = node.n
        share_weights(p, block, w.arenas[node.depth % 2].data, node.spread_at, node.n_spread, node.share)
        if is_beyond(w.nodes.frontier, node.reach, w.nodes.impurity[node.id] * w.nodes.weight[node.id]):
            drop_node(w, &node, width)
        elif grow_node(p, block, w, &node, width):
            return -1
    w.growing = 0
    return -1 if w.scratch.watch.over else 0


cdef inline size_t carve_listed(
    Block* own, Work* run, const Problem* p, const Block* block, size_t n, char* start,
) noexcept nogil:
    """Hand out the parts of a buffer for a block of n samples with lists; if `start` is NULL only measure them."""
    cdef Carver carver
    cdef size_t n_columns = 0
    cdef int32_t f
    carver.next = start
    carver.measuring = start == NULL
    for f in range(p.n_features):
        if p.counted[f]:
            n_columns = max(n_columns, <size_t> p.slot[f] + 1)
    run.lists = <size_t*> carve(&carver, p.n_features * sizeof(size_t))
    own.origin = <uint32_t*> carve(&carver, n * 4)
    own.label = <uint16_t*> carve(&carver, n * 2 if p.n_classes else 0)
    own.y = <double*> carve(&carver, 0 if p.n_classes else n * 8)
    own.ysum = <int64_t*> carve(&carver, 0 if p.n_classes else n * 8)
    own.weight = <int64_t*> carve(&carver, 0 if block.weight == NULL else n * 8)
    own.codes = <uint8_t*> carve(&carver, n * n_columns)
    if block.weight == NULL:
        own.weight = NULL
    return carver.next - start


cdef inline int list_features(
    const Problem* p, const Block* block, Block* own, Work* run, const Pending* node, const char* data,
) noexcept nogil:
    """Copy the codes of counted features, and sort a list for each other one.  -1 if memory runs out."""
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef const uint32_t* rows = rows_of(node, data)
    cdef size_t n = node.n
    cdef const uint8_t* lane
    cdef uint8_t* codes
    cdef size_t i
    cdef int32_t a, f
    for f in range(p.n_features):
        lane = lane_of(block, f)
        codes = <uint8_t*> own.codes + p.slot[f] * n
        for i in range(n if p.counted[f] else 0):
            codes[i] = lane[<size_t> rows[i] * LANES]
    for a in range(node.n_active):
        f = actives[a].feature
        if p.counted[f]:
            continue
        run.lists[f] = <size_t> new_list(&run.room, n, sizeof(uint64_t))
        if run.lists[f] == 0:
            return -1
        sort_values(p, run.scratch, f, rows, n)
        memcpy(<void*> run.lists[f], run.scratch.records, n * sizeof(uint64_t))
    return 0


cdef inline int grow_by_lists(
    const Problem* p, const Block* block, Work* w, const Pending* given, const char* data,
) noexcept nogil:
    """Grow what is below a node of a wide bounded block by presorted lists, in a wide block of its own.

    In a chain of nodes whose bounds exclude nothing, every node would sort all its samples.  -1 if memory runs out.
    """
    cdef Problem listed = p[0]
    cdef Block own = block[0]
    cdef Pending node = given[0]
    cdef Work run
    cdef size_t n = node.n
    cdef size_t size
    cdef char* buffer
    cdef int32_t f
    cdef int status
    memset(&run, 0, sizeof(Work))
    size = carve_listed(&own, &run, p, block, n, NULL) + 16
    buffer = <char*> malloc(size)
    if buffer == NULL:
        return -1
    carve_listed(&own, &run, p, block, n, buffer)
    own.tiles = NULL
    listed.histogram = NO_HISTOGRAM
    listed.best_first = False
    copy_samples(p, block, &own, rows_of(&node, data), node.n)
    memset(run.lists, 0, p.n_features * sizeof(size_t))
    run.lists_end = node_header(p.n_features, n)
    share_work(&run, w)
    run.nodes = w.small.work.nodes
    run.narrow = w.narrow
    run.small = w.small
    run.noted = node.searched
    node.n_spread = 0
    node.searched = False
    node.sorts = 0
    node.histogram = NULL
    status = move_node(w, &node) or list_features(p, block, &own, &run, &node, data)
    if status == 0:
        status = grow_block[uint64_t](&listed, &own, &run, &node, 0)
    for f in range(p.n_features):
        if run.lists[f]:               # memory has run out before they were the root's
            free_list(run.lists[f], n, sizeof(uint64_t))
    free_work(&run, True)
    allow(buffer, size)
    free(buffer)
    return status
