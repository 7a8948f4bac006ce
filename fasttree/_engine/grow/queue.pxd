"""Nodes of a large block that wait in a queue, from which one thread or several take them.  Header only.

In best-first growth the node of largest worth is always next, and what cannot be split waits unsearched.  A node waits with a
bound of its reach (see `team`).  At first this is the largest gain that the bounds of its bins leave possible, or its risk.  When
it comes first, it is searched, and waits again with the reach of its cut.  When it comes first once more, it is split.  As soon
as the first node is worth less than a split must reach, nothing that waits has to be looked at.
Else the largest node is next, and is searched and split at once.
Nodes with lists were searched when their lists were written, and wait to be split.  The weights of divided samples differ from
node to node, so a node waits with the weights of its rows.

Which nodes are grown may depend on the threads, but not the best of them.  The rows of a node are divided where they are, so that
all remain where those of the root were.  Features of siblings are in an arena that they share.
A node that leaves the queue has two nodes of the tree for its children from then on, and a node with lists takes as many as it
has branches when it is split.  There is room for them before: the arrays of a table that threads share move only while no thread
has a node in hand.  Two nodes that are not needed stay, but cannot be reached.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from fasttree._engine.grow.block cimport grow_node, open_root
from fasttree._engine.grow.nodes cimport NodeTable, reserve_nodes
from fasttree._engine.grow.search cimport search_bounded
from fasttree._engine.grow.split cimport help_with_features
from fasttree._engine.grow.team cimport (
    Team, count_some_tiles, give_up, hold, is_beyond, note_reach, release, rest, shares_features, wake,
)
from fasttree._engine.grow.work cimport (
    SharedFeatures, Work, count_searched, divides, free_lists, give_histogram, has_branches, rows_of, share_weights, stays_wide,
)
from fasttree._engine.memory cimport free_arena, resize
from fasttree._engine.risk.impurity cimport risk_of
from fasttree._engine.risk.sums cimport set_part
from fasttree._engine.scan.tiles cimport histogram_of, read_cell
from fasttree._engine.types cimport INTERVALS, NO_CUT, Active, Arena, Block, Pending, Problem, Search, Totals
from fasttree._engine.watch cimport interrupted


cdef enum:
    FIRST_ROOM = 4096              # nodes: room that threads make while no other has a node in hand


cdef struct Family:                # of siblings that wait
    Arena arena                    # their features, and the rows of all nodes in that of the root
    int32_t n                      # of them


cdef struct Queued:
    double order                   # the largest comes first
    Pending node
    Family* family
    int64_t* weights               # of its rows, where samples are divided; else NULL


cdef struct Queue:                 # a heap
    Queued* at
    int64_t n
    int64_t capacity
    Family* first                  # the root's, which holds the rows that are divided where they are
    Team team                      # of the threads that take from it


cdef inline int put(Queue* queue, const Queued* waiting) noexcept nogil:
    """Let a node wait.  -1 if memory runs out.  The caller holds the lock."""
    cdef int64_t i = queue.n
    if i == queue.capacity:
        if resize(<void**> &queue.at, (2 * i + 64) * sizeof(Queued)):
            return -1
        queue.capacity = 2 * i + 64
    queue.n += 1
    while i and queue.at[(i - 1) // 2].order < waiting.order:
        queue.at[i] = queue.at[(i - 1) // 2]
        i = (i - 1) // 2
    queue.at[i] = waiting[0]
    return 0


cdef inline Queued take_first(Queue* queue) noexcept nogil:
    cdef Queued first = queue.at[0]
    cdef Queued last = queue.at[queue.n - 1]
    cdef int64_t i = 0
    cdef int64_t child
    queue.n -= 1
    while 2 * i + 1 < queue.n:
        child = 2 * i + 1
        if child + 1 < queue.n and queue.at[child + 1].order > queue.at[child].order:
            child += 1
        if queue.at[child].order <= last.order:
            break
        queue.at[i] = queue.at[child]
        i = child
    queue.at[i] = last
    return first


cdef inline void leave_family(Family* family) noexcept nogil:
    family.n -= 1
    if family.n == 0:
        free_arena(&family.arena)
        free(family)


cdef inline int64_t* weights_of_node(const Problem* p, Block* block, const Pending* node, const char* data) noexcept nogil:
    """The weights of the rows of a node, in their order; NULL if memory runs out."""
    cdef const uint32_t* rows = rows_of(node, data)
    cdef int64_t* weights = <int64_t*> malloc(node.n * sizeof(int64_t))
    cdef uint32_t i
    if weights != NULL:
        share_weights(p, block, data, node.spread_at, node.n_spread, node.share)
        for i in range(node.n):
            weights[i] = block.weight[rows[i]]
    return weights


cdef inline void set_weights(const Problem* p, Block* block, Queued* first) noexcept nogil:
    """Set the weights of the rows of a node that leaves the queue: other nodes may have left other parts of its samples."""
    cdef const uint32_t* rows = rows_of(&first.node, first.family.arena.data)
    cdef uint32_t i
    for i in range(first.node.n if first.weights != NULL else 0):
        if block.weight[rows[i]] != first.weights[i]:
            set_part(p, block, rows[i], first.weights[i])
    free(first.weights)
    first.weights = NULL


cdef inline void drop_queued(bint listed, Queued* dropped, const char* data) noexcept nogil:
    """Free what a node owns that is not grown, whose features are in `data`."""
    if listed:
        free_lists(<const Active*> (data + dropped.node.actives_at), dropped.node.n_active, dropped.node.n, sizeof(uint64_t))
    free(dropped.weights)


cdef inline void totals_of_histogram(
    const Problem* p, Work* w, int32_t feature, const char* histogram, Totals* totals,
) noexcept nogil:
    """Totals of a node from the cells of one of its features, but for the risk of targets that are numbers."""
    cdef const char* cells = histogram_of(p, histogram, feature)
    cdef int64_t* part = w.scratch.left
    cdef int64_t n, weight
    cdef uint32_t code
    cdef int32_t k
    totals.n = 0
    totals.weight = 0
    totals.sum = 0
    memset(totals.counts, 0, p.width * sizeof(int64_t))
    for code in range(p.n_codes[feature]):
        read_cell(p, cells + code * p.cell_size, &n, &weight, part)
        totals.n += n
        totals.weight += weight
        for k in range(p.n_classes):
            totals.counts[k] += part[k]
        if p.n_classes == 0:
            totals.sum += part[0]
    if p.n_classes:
        totals.risk = risk_of(p, totals.counts)


cdef inline int search_waiting(const Problem* p, const Block* block, Work* w, Pending* node) noexcept nogil:
    """Find the cut of a node.  -1 if memory runs out."""
    cdef char* data = w.arenas[node.depth % 2].data
    cdef bint bounded = p.best_first and node.histogram != NULL
    cdef Totals totals
    cdef Search search
    search.rows = rows_of(node, data)
    search.actives = <Active*> (data + node.actives_at)
    search.n_active = node.n_active
    node.cut.form = NO_CUT
    if node.n_active == 0:
        return 0
    if node.histogram == NULL and count_searched(p, block, w, node, &search):
        return -1
    totals.counts = w.root_counts
    totals.risk = node.risk
    totals_of_histogram(p, w, search.actives[0].feature, node.histogram, &totals)
    totals.low = node.low
    totals.high = node.high
    search.totals = &totals
    search.lists = NULL
    search.cuts = w.scratch.cuts
    search.at_least = -INFINITY
    search.known = -INFINITY
    search.sorts = node.sorts
    node.cut = search_bounded(p, block, w, &search, node.histogram, node if bounded else NULL, <uint64_t> 0)
    node.n_active = search.n_active
    node.sorts = search.sorts
    node.searched = True
    return 0


cdef inline int put_children(
    const Problem* p, Block* block, Work* w, Queue* queue, Arena* arena, int status,
) noexcept nogil:
    """Move the nodes of the stack, whose data are in an arena, to the queue; free them if growth has failed.  The status then."""
    cdef Queued waiting
    cdef Family* family
    cdef const char* data = arena.data
    cdef bint listed = block.tiles == NULL
    if w.stack_n == 0:
        return status
    family = <Family*> malloc(sizeof(Family))
    if family == NULL:
        status = -1
    else:
        family.arena = arena[0]
        family.n = <int32_t> w.stack_n
        memset(arena, 0, sizeof(Arena))
    waiting.family = family
    waiting.weights = NULL
    while w.stack_n:
        w.stack_n -= 1
        waiting.node = w.stack[w.stack_n]
        waiting.node.below = 0         # nothing else is in the arenas of its children
        waiting.node.children = 0
        waiting.order = waiting.node.reach if w.nodes.frontier.most else waiting.node.n
        if listed and divides(p) and status == 0:
            waiting.weights = weights_of_node(p, block, &waiting.node, data)
            waiting.node.n_spread = 0
            status = -(waiting.weights == NULL)
        hold(queue.team.lock)
        if status == 0:
            queue.team.held += waiting.node.n
            status = put(queue, &waiting)
        if status:
            drop_queued(listed, &waiting, data)
            if family != NULL:
                leave_family(family)
        release(queue.team.lock)
    hold(queue.team.lock)
    wake(&queue.team)
    release(queue.team.lock)
    return status


cdef inline int step(const Problem* p, Block* block, Work* w, Queue* queue, Queued* first) noexcept nogil:
    """Search or split the node that has left the queue.  -1 if memory runs out or growth is interrupted."""
    cdef Pending* node = &first.node
    cdef int64_t own = node.depth % 2
    cdef int status = 0
    cdef bint waits = False
    cdef bint ends = False
    if w.arenas[own].data != NULL:     # left by a node whose children do not wait; the other is empty then
        w.arenas[1 - own] = w.arenas[own]
    w.arenas[own] = first.family.arena
    set_weights(p, block, first)
    if block.tiles != NULL and not node.searched and stays_wide(p, block, w, node.n, node.depth, node.sorts):
        status = search_waiting(p, block, w, node)
        ends = status != 0 or node.cut.form == NO_CUT
        waits = p.best_first and not ends
        if ends:
            give_histogram(w, node.histogram)
        elif waits:
            node.reach = min(node.reach, node.cut.first_gain)
            first.order = node.reach
            note_reach(w.nodes.frontier, node.reach)
    if not ends and not waits:
        status = grow_node(p, block, w, node, <uint64_t> 0)
    memset(&w.arenas[own], 0, sizeof(Arena))       # the family has it
    status = put_children(p, block, w, queue, &w.arenas[1 - own], status)
    hold(queue.team.lock)
    if waits and status == 0:
        queue.team.held += node.n
        status = put(queue, first)
        waits = status == 0
    if not waits:
        leave_family(first.family)
    release(queue.team.lock)
    return status


cdef inline int put_root(const Problem* p, Block* block, Work* w, Queue* queue, const Pending* root) noexcept nogil:
    """Open the root of a large block, which is the first node of the queue.  -1 if memory runs out."""
    cdef Queued first
    cdef NodeTable* t = w.nodes
    cdef bint listed = block.tiles == NULL
    first.order = INFINITY
    first.weights = NULL
    first.node = root[0]
    first.node.risk = t.impurity[0] * t.weight[0]
    first.family = <Family*> malloc(sizeof(Family))
    if first.family == NULL:
        return -1
    if open_root(p, block, w, &first.node, <uint64_t> 0):
        free(first.family)
        return -1
    first.family.n = 2                 # until the queue is freed
    queue.first = first.family
    first.family.arena = w.arenas[root.depth % 2]
    if not listed:
        first.node.rows = <uint32_t*> (first.family.arena.data + first.node.rows_at)
    memset(&w.arenas[root.depth % 2], 0, sizeof(Arena))
    hold(queue.team.lock)
    queue.team.held += first.node.n
    if put(queue, &first):
        drop_queued(listed, &first, first.family.arena.data)
        leave_family(first.family)
        release(queue.team.lock)
        return -1
    release(queue.team.lock)
    return 0


cdef inline bint any_next(const Queue* queue, const NodeTable* t) noexcept nogil:
    return queue.n > 0 and not is_beyond(t.frontier, queue.at[0].node.reach, INFINITY)


cdef inline int64_t most_branches(const Problem* p) noexcept nogil:
    cdef int64_t most = 2
    cdef int32_t f
    if has_branches(p):
        for f in range(p.n_features):
            most = max(most, p.n_codes[f])
        if p.continuous == INTERVALS or p.ordinal == INTERVALS:
            most = max(most, p.max_intervals)
        most += 1                      # of missing values, or categories that no other branch has
    return most


cdef inline bint has_room(const Problem* p, const Block* block, NodeTable* t, Team* team) noexcept nogil:
    """Make sure that there is room for the children of a node more; others do not move while a step goes on.

    Notes if memory has run out.
    """
    cdef int64_t n = 2
    if block.tiles == NULL:            # nodes in hand have no children yet
        n = most_branches(p) * (team.n_busy + 1)
    if 4 * (t.n + n) <= <int64_t> t.fields[0].size:
        return True
    if team.n_busy:
        return False
    if reserve_nodes(t, max(n, max(t.n, FIRST_ROOM))):
        give_up(team)
    return not team.failed


cdef inline int take_and_grow(const Problem* p, Block* block, Work* w, Queue* queue) noexcept nogil:
    """Take the first node and search or split it.  -1 if that failed.  The caller holds the lock, and has it again."""
    cdef Queued first = take_first(queue)
    cdef NodeTable* t = w.nodes
    cdef Team* team = &queue.team
    cdef int status = -1
    if first.node.children == 0 and block.tiles != NULL:       # else it was searched, and has waited since
        first.node.children = t.n
        t.n += 2
    team.n_busy += 1
    if w.which == 0:
        team.held -= first.node.n
        w.growing = first.node.n
    release(team.lock)
    if interrupted(w.scratch.watch, <int64_t> first.node.n * (first.node.n_active + 1)):
        hold(team.lock)
        drop_queued(block.tiles == NULL, &first, first.family.arena.data)
        leave_family(first.family)
    else:
        status = step(p, block, w, queue, &first)
        hold(team.lock)
    if w.which:
        team.held -= first.node.n
    w.growing = 0
    team.n_busy -= 1
    return status


cdef inline int grow_queue(const Problem* p, Block* block, Work* w, Queue* queue) noexcept nogil:
    """Grow nodes of the queue until none can be split that is needed: what each thread does, the only one too.

    -1 if memory runs out or growth is interrupted.
    """
    cdef Team* team = &queue.team
    cdef SharedFeatures* features
    hold(team.lock)
    while not team.failed and not team.over:
        count_some_tiles(p, block, team, w.scratch.watch)
        if any_next(queue, w.nodes) and has_room(p, block, w.nodes, team):
            if take_and_grow(p, block, w, queue):
                give_up(team)
            else:
                wake(team)
        elif shares_features(team):
            team.n_helping += 1
            features = <SharedFeatures*> team.features
            release(team.lock)
            help_with_features(features, w)
            hold(team.lock)
            team.n_helping -= 1
            if w.scratch.watch.over:
                give_up(team)
            wake(team)
        elif team.n_busy == 0:
            team.over = True
            wake(team)
        else:
            rest(team, w.which, w.scratch.watch)
    release(team.lock)
    return -1 if team.failed or w.scratch.watch.over else 0


cdef inline void free_queue(Queue* queue, bint listed) noexcept nogil:
    while queue.n:
        queue.n -= 1
        drop_queued(listed, &queue.at[queue.n], queue.at[queue.n].family.arena.data)
        leave_family(queue.at[queue.n].family)
    if queue.first != NULL:
        leave_family(queue.first)
    queue.first = NULL
    free(queue.at)
    queue.at = NULL
    queue.capacity = 0
