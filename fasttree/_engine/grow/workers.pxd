"""What each of the threads owns that grow one tree, and how its nodes join the tree.  Header only.

They take nodes from a queue, see `queue`.  Nodes of the large block are in the tree; a subtree that a private block or lists take
is among the thread's own nodes, so that it grows without a look at the others.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fasttree._engine.grow.nodes cimport NodeTable, add_to_table, free_nodes, reserve_nodes
from fasttree._engine.grow.scratch cimport carve_private, carve_scratch
from fasttree._engine.grow.setup cimport Growth
from fasttree._engine.grow.work cimport Moved, Private, Work, free_work, share_work
from fasttree._engine.memory cimport Carver, allow, carve
from fasttree._engine.types cimport Scratch
from fasttree._engine.watch cimport Watch, start_watch


cdef struct Worker:                # what one thread owns; the first one has the runs of the growth
    Scratch scratch
    NodeTable nodes                # of its subtrees
    Moved moved                    # where they belong
    Work work
    Private small
    char* buffer
    size_t buffer_size
    Watch watch


cdef inline size_t carve_worker(Worker* worker, const Growth* g, char* start) noexcept nogil:
    """Hand out the parts of a worker's buffer; if `start` is NULL only measure them."""
    cdef Carver carver
    carver.next = start
    carver.measuring = start == NULL
    carve_scratch(&worker.scratch, &carver, &g.p, g.block.n, 0, False, g.axis)
    worker.small.place = <uint32_t*> carve(&carver, g.block.n * 4)
    carve_private(&worker.small, &carver, &g.p, &g.block, g.block_rows, g.n_counted)
    worker.work.root_counts = <int64_t*> carve(&carver, g.p.width * 8)
    worker.work.drawn = <uint8_t*> carve(&carver, max(g.p.n_features, 1))
    return carver.next - start


cdef inline void join_team(Growth* g, Worker* worker, int32_t which) noexcept nogil:
    """Set up a thread's runs: of the first one those of the growth, with subtrees elsewhere."""
    worker.nodes.width = g.p.width
    worker.nodes.frontier = &g.frontier
    if which == 0:
        g.work.moved = &worker.moved
        g.small.work.nodes = &worker.nodes
        return
    start_watch(&worker.watch, False, &g.queue.team.failed)
    worker.scratch.watch = &worker.watch
    worker.work.scratch = &worker.scratch
    worker.work.nodes = &g.nodes
    worker.work.narrow = g.block_rows
    worker.work.small = &worker.small
    worker.work.team = &g.queue.team
    worker.work.which = which
    worker.work.lender = &g.work
    worker.work.moved = &worker.moved
    share_work(&worker.small.work, &worker.work)
    worker.small.work.nodes = &worker.nodes


cdef inline void free_worker(Worker* worker) noexcept nogil:
    if worker.buffer != NULL:
        allow(worker.buffer, worker.buffer_size)
    free_work(&worker.work, True)
    free_work(&worker.small.work, False)
    free(worker.buffer)
    free(worker.moved.ids)
    free_nodes(&worker.nodes)


cdef inline int join(NodeTable* t, const Worker* worker) noexcept nogil:
    """Put a thread's nodes behind those of the tree, and each of its subtrees in its place.  -1 if memory runs out.

    The placeholder of the root of a subtree remains, but cannot be reached.
    """
    cdef const NodeTable* part = &worker.nodes
    cdef int32_t first = <int32_t> t.n
    cdef int64_t i, here, there
    cdef int32_t b
    if reserve_nodes(t, part.n):
        return -1
    memcpy(t.n_branches + first, part.n_branches, part.n * sizeof(int32_t))
    memcpy(t.feature + first, part.feature, part.n * sizeof(int32_t))
    memcpy(t.missing + first, part.missing, part.n * sizeof(int32_t))
    memcpy(t.row_low + first, part.row_low, part.n * sizeof(uint32_t))
    memcpy(t.row_high + first, part.row_high, part.n * sizeof(uint32_t))
    memcpy(t.kind + first, part.kind, part.n)
    memcpy(t.n_samples + first, part.n_samples, part.n * sizeof(int64_t))
    memcpy(t.weight + first, part.weight, part.n * sizeof(double))
    memcpy(t.impurity + first, part.impurity, part.n * sizeof(double))
    memcpy(t.gain + first, part.gain, part.n * sizeof(double))
    memcpy(t.value + <int64_t> first * t.width, part.value, part.n * t.width * sizeof(double))
    for i in range(part.n):
        t.first_child[first + i] = part.first_child[i] + first if part.first_child[i] >= 0 else -1
        t.parent[first + i] = part.parent[i] + first if part.parent[i] >= 0 else -1
    t.n += part.n
    for i in range(0, worker.moved.n, 2):
        here, there = worker.moved.ids[i], first + worker.moved.ids[i + 1]
        t.first_child[here] = t.first_child[there]
        t.n_branches[here] = t.n_branches[there]
        t.feature[here] = t.feature[there]
        t.missing[here] = t.missing[there]
        t.row_low[here] = t.row_low[there]
        t.row_high[here] = t.row_high[there]
        t.kind[here] = t.kind[there]
        t.gain[here] = t.gain[there]
        for b in range(t.n_branches[here]):
            t.parent[t.first_child[here] + b] = <int32_t> here
    for i in range(part.table_n):
        here = first + part.table_node[i]
        if part.parent[part.table_node[i]] < 0:        # a subtree's root: its children know the node of the tree
            here = t.parent[t.first_child[here]]
        if add_to_table(t, here, part.table_code[i], part.table_branch[i]):
            return -1
    return 0
