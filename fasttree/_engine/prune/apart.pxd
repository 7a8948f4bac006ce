"""Threads that prune one tree: large lists are divided first, and the subtrees below them pruned by themselves.  Header only.

A subtree has nodes of its own, and samples of its own but for those that were divided above it.  Of what another one writes it
reads only which samples were divided.  A sample that is taken for divided, and is not, goes down a branch that is tried in its
node's place with a change of weight 0, which changes no sum.  So the result depends neither on which lists are pruned by
themselves nor on the order.
"""

from cpython.pythread cimport PyThread_acquire_lock, PyThread_allocate_lock, PyThread_release_lock, WAIT_LOCK
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc
from libc.string cimport memcpy, memset

from fasttree._engine.memory cimport resize
from fasttree._engine.prune.errors cimport free_scratch, prune_by_errors, push_frame, reserve_parts
from fasttree._engine.prune.frames cimport BELOW, PRUNE, ErrorPruning, Frame, Part
from fasttree._engine.watch cimport is_marked, raise_pending, set_mark, start_watch

cdef enum:
    SHARES = 16            # lists of more than such a share of the samples are divided


cdef inline int start_apart(ErrorPruning* p, Py_ssize_t n_nodes) except -1:
    """Divide the large lists, for `prune_lists`."""
    cdef int status
    p.done = <uint8_t*> calloc(n_nodes, 1)
    p.lock = PyThread_allocate_lock()
    if p.done == NULL or p.lock == NULL:
        raise MemoryError
    p.large = max((p.n_rows + p.parts_n) // SHARES, 1)
    with nogil:
        status = prune_by_errors(p)
    p.large = 0
    raise_pending()
    if status:
        raise MemoryError
    return 0


cdef inline int prune_list(const ErrorPruning* p, Frame f, bint handles_signals) noexcept nogil:
    """Prune the subtree of one of these lists, whose branches are done.  -1 as in `prune_by_errors`."""
    cdef ErrorPruning own = p[0]
    cdef int64_t n_parts = f.parts_stop - f.parts
    cdef int32_t n_branches = p.tree.n_branches[f.node]
    cdef int64_t size = 3 * n_branches + 4
    cdef int64_t i
    cdef int status = -1
    memset(&own.here, 0, <char*> &own.watch - <char*> &own.here)
    start_watch(&own.watch, handles_signals, p.failed)
    own.n_rows += f.rows                       # where the samples of a branch that is tried go
    own.spare_rows += f.rows
    own.branch += f.rows
    if not (resize(<void**> &own.here, p.n_classes * sizeof(int64_t)) or reserve_parts(&own, n_parts)
            or resize(<void**> &own.segments, size * sizeof(int64_t)) or push_frame(&own, f.node, PRUNE, &f)):
        memcpy(own.parts, p.parts + f.parts, n_parts * sizeof(Part))
        own.parts_n = n_parts
        if f.phase == BELOW:
            memcpy(own.segments, p.segments + f.segments, size * sizeof(int64_t))
            own.segments_n = own.segments_capacity = size
            for i in range(n_branches + 2):
                own.segments[i] -= f.parts
        f.parts, f.parts_stop, f.parts_top, f.segments = 0, n_parts, n_parts, 0
        own.frames[0] = f
        status = prune_by_errors(&own)
        p.done[f.node] = status == 0
    free_scratch(&own)
    return status


cdef inline int prune_lists(ErrorPruning* p, int64_t i, bint handles_signals) noexcept nogil:
    """Prune one of these lists, and those above it as soon as they wait for no other one.

    -1 if memory runs out or the work is interrupted, in the first thread of which that is true.
    """
    cdef bint goes_on
    while i >= 0:
        PyThread_acquire_lock(p.lock, WAIT_LOCK)
        p.frames[i].waits -= 1
        goes_on = p.frames[i].waits == 0
        PyThread_release_lock(p.lock)
        if not goes_on:
            return 0
        if prune_list(p, p.frames[i], handles_signals):
            PyThread_acquire_lock(p.lock, WAIT_LOCK)
            goes_on = is_marked(p.failed)
            set_mark(p.failed)
            PyThread_release_lock(p.lock)
            return 0 if goes_on else -1
        i = p.frames[i].above
    return 0
