"""Subtrees that threads grow: what one thread owns, and how its nodes join the tree.  Header only.

The queue of the subtrees that wait is in `_core.pyx`.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fasttree._engine.grow.block cimport grow_block
from fasttree._engine.grow.nodes cimport NodeTable, add_to_table, blank_node, free_nodes, reserve_nodes
from fasttree._engine.grow.private cimport shrink
from fasttree._engine.grow.scratch cimport carve_private, carve_scratch
from fasttree._engine.grow.work cimport Private, free_work
from fasttree._engine.memory cimport Carver, allow, carve, resize
from fasttree._engine.types cimport Block, Pending, Problem, Scratch
from fasttree._engine.watch cimport Watch


cdef struct Worker:                # what one thread owns that grows subtrees
    Scratch scratch
    NodeTable nodes
    Private small
    int64_t* ids                   # pairs: node of the tree, node here that takes its place
    int64_t n_ids
    int64_t ids_capacity
    char* buffer
    size_t buffer_size
    bint busy                      # the thread grows a subtree now
    Watch watch


cdef inline size_t carve_worker(
    Worker* worker, const Problem* p, const Block* block, uint32_t narrow, int64_t n_counted, bint axis, char* start,
) noexcept nogil:
    """Hand out the parts of a worker's buffer; if `start` is NULL only measure them."""
    cdef Carver carver
    carver.next = start
    carver.measuring = start == NULL
    carve_scratch(&worker.scratch, &carver, p, narrow, 0, False, axis)
    carve_private(&worker.small, &carver, p, block, narrow, n_counted)
    worker.small.work.root_counts = <int64_t*> carve(&carver, p.width * 8)
    worker.small.work.drawn = <uint8_t*> carve(&carver, max(p.n_features, 1))
    return carver.next - start


cdef inline void free_worker(Worker* worker) noexcept nogil:
    if worker.buffer != NULL:
        allow(worker.buffer, worker.buffer_size)
    free(worker.buffer)
    free(worker.ids)
    free_work(&worker.small.work, False)
    free_nodes(&worker.nodes)


cdef inline int grow_subtree(
    const Problem* p, const Block* block, Worker* worker, const Pending* given, const char* data, double weight, double impurity,
) noexcept nogil:
    """Grow what is below a node of a wide block among a thread's own nodes.  -1 if memory runs out."""
    cdef NodeTable* t = &worker.nodes
    cdef Pending node = given[0]
    if reserve_nodes(t, 1):
        return -1
    if worker.n_ids + 2 > worker.ids_capacity:
        if resize(<void**> &worker.ids, (2 * worker.ids_capacity + 64) * sizeof(int64_t)):
            return -1
        worker.ids_capacity = 2 * worker.ids_capacity + 64
    worker.ids[worker.n_ids] = node.id
    worker.ids[worker.n_ids + 1] = t.n
    worker.n_ids += 2
    node.id = t.n
    t.n += 1
    blank_node(t, node.id, -1)
    t.weight[node.id] = weight
    t.impurity[node.id] = impurity
    if shrink(p, block, &node, data, &worker.small, <uint64_t> 0):
        return -1
    return grow_block[uint32_t](p, &worker.small.block, &worker.small.work, &node, 0)


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
    for i in range(0, worker.n_ids, 2):
        here, there = worker.ids[i], first + worker.ids[i + 1]
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
