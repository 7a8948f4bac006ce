"""What each of the threads owns that grow one tree, and how its nodes join the tree.  Header only.

They take nodes from a queue, see `queue`.  Nodes of the large block are in the tree; a subtree that a private block or lists take
is among the thread's own nodes, so that it grows without a look at the others.  What a step overwrites belongs to its thread:
weights and sums of samples that are divided, and ranks of targets.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fasttree._engine.grow.nodes cimport (
    FIELDS, MOST_NODES, Kept, NodeTable, SurrogateTable, add_cut, add_to_table, free_nodes, free_surrogates, place_fields,
    size_of_field,
)
from fasttree._engine.grow.scratch cimport carve_divided, carve_medians, carve_private, carve_scratch
from fasttree._engine.grow.setup cimport Growth
from fasttree._engine.grow.work cimport Moved, Private, Work, free_work, has_branches, share_work
from fasttree._engine.memory cimport Carver, allow, carve, free_arena, reserve, resize
from fasttree._engine.types cimport Block, Problem, Scratch
from fasttree._engine.watch cimport Watch, start_watch


cdef struct Worker:                # what one thread owns; the first one has the runs of the growth
    Problem problem
    Block block
    Scratch scratch
    NodeTable nodes                # of its subtrees
    SurrogateTable surrogates      # of its nodes of the tree
    Moved moved                    # where they belong
    Work work
    Private small
    char* buffer
    size_t buffer_size
    Watch watch


cdef inline size_t carve_worker(Worker* worker, const Growth* g, char* start) noexcept nogil:
    """Hand out the parts of a worker's buffer; if `start` is NULL only measure them."""
    cdef Carver carver
    cdef Problem* p = &worker.problem
    cdef Block* block = &worker.block
    cdef size_t n = g.block.n
    cdef size_t d = max(g.p.n_features, 1)
    carver.next = start
    carver.measuring = start == NULL
    p[0] = g.p
    block[0] = g.block
    carve_scratch(&worker.scratch, &carver, p, n, g.n_groups, has_branches(p), g.axis)
    carve_medians(p, &carver, n)
    worker.small.place = <uint32_t*> carve(&carver, n * 4)
    carve_private(&worker.small, &carver, p, &g.block, g.block_rows, g.n_counted)
    worker.work.root_counts = <int64_t*> carve(&carver, p.width * 8)
    worker.work.draws = <int32_t*> carve(&carver, 2 * d * 4 if p.draws else 0)
    worker.work.drawn = <uint8_t*> carve(&carver, d)
    carve_divided(&carver, p, block)
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
    worker.work.surrogates = &worker.surrogates
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
    free_surrogates(&worker.surrogates)


cdef inline int64_t joined(const NodeTable* t, int64_t first, int64_t node) noexcept nogil:
    """Where a node of a thread is in the tree, whose other nodes start at `first`."""
    if t.parent[first + node] >= 0:
        return first + node
    return t.parent[t.first_child[first + node]]           # a subtree's root: its children know the node of the tree


cdef inline int join_surrogates(NodeTable* t, const SurrogateTable* more, int64_t first) noexcept nogil:
    """Put surrogates behind those of the tree, whose nodes they name, or (`first` >= 0) those of a thread.

    -1 if memory runs out.
    """
    cdef SurrogateTable* all = &t.surrogates
    cdef int64_t n = all.n + more.n
    cdef int64_t table_n = all.table_n + more.table_n
    cdef int64_t i
    if more.n == 0:
        return 0
    if resize(<void**> &all.kept, n * sizeof(Kept)):
        return -1
    all.capacity = n
    if table_n and (resize(<void**> &all.table_code, table_n * 4) or resize(<void**> &all.table_branch, table_n * 4)):
        return -1
    all.table_capacity = table_n
    memcpy(all.kept + all.n, more.kept, more.n * sizeof(Kept))
    if more.table_n:
        memcpy(all.table_code + all.table_n, more.table_code, more.table_n * 4)
        memcpy(all.table_branch + all.table_n, more.table_branch, more.table_n * 4)
    for i in range(all.n, n):
        all.kept[i].table_stop += all.table_n
        if first >= 0:
            all.kept[i].node = joined(t, first, all.kept[i].node)
    all.n = n
    all.table_n = table_n
    return 0


cdef inline int join_fields(NodeTable* t, Worker* workers, int32_t n_workers) noexcept nogil:
    """Put the nodes of all threads behind those of the tree, field by field.  -1 if memory runs out.

    A field of a thread is freed as soon as it is copied, and the next one takes its memory.
    """
    cdef NodeTable* part
    cdef int64_t n = t.n
    cdef int64_t at
    cdef size_t size
    cdef int32_t field, i
    for i in range(n_workers):
        n += workers[i].nodes.n
    if n > MOST_NODES:
        return -1
    for field in range(FIELDS):
        size = size_of_field(t, field)
        if reserve(&t.fields[field], n * size):
            return -1
        at = t.n
        for i in range(n_workers):
            part = &workers[i].nodes
            if part.n:
                memcpy(t.fields[field].data + at * size, part.fields[field].data, part.n * size)
                free_arena(&part.fields[field])
                at += part.n
    place_fields(t)
    return 0


cdef inline int join(NodeTable* t, const Worker* worker) noexcept nogil:
    """Number a thread's nodes, which are the next in the tree, and put each of its subtrees in its place.  -1 if memory runs out.

    The placeholder of the root of a subtree remains, but cannot be reached.
    """
    cdef const NodeTable* part = &worker.nodes
    cdef int32_t first = <int32_t> t.n
    cdef int64_t i, here, there
    cdef int32_t b
    t.n += part.n
    for i in range(first, t.n):
        t.first_child[i] += first if t.first_child[i] >= 0 else 0
        t.parent[i] += first if t.parent[i] >= 0 else 0
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
        here = joined(t, first, part.table_node[i])
        if add_to_table(t, here, part.table_code[i], part.table_branch[i]):
            return -1
    for i in range(part.cut_n):
        here = joined(t, first, part.cut_node[i])
        if add_cut(t, here, part.cut_low[i], part.cut_high[i]):
            return -1
    return join_surrogates(t, &part.surrogates, first) or join_surrogates(t, &worker.surrogates, -1)
