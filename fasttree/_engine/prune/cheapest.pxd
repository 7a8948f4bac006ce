"""Cheapest subtrees: useless splits, C5.0's global pruning, and the heaps of weakest links.  Header only.

In global pruning, errors and the least cost are in single precision, and a cost is compared in double precision, as in the
program: costs that single precision cannot hold never tie; the last of equal costs wins where they are rounded up, else the
first.
"""

from libc.stdint cimport int32_t, uint8_t


cdef struct Cheapest:
    Py_ssize_t n               # nodes
    const int32_t* parent
    const float* as_leaf       # errors of each node as a leaf
    float* errors              # and of the leaves below it
    int32_t* leaves            # of these leaves, those that are not null
    uint8_t* is_hidden         # nodes that are not looked at, with all below them
    uint8_t* is_leaf
    const int32_t* order       # nodes, children before their parents
    const int32_t* start       # where in `order` the nodes below each node begin
    double* least              # of each place in `order`: what had been found before it
    double* total
    int32_t* count
    int32_t* found             # subtrees of least cost


cdef inline int32_t find_cheapest(Cheapest* c, double budget, double* total) noexcept nogil:
    """Number of the outermost subtrees of least cost, of those within the budget, and their additional errors."""
    cdef float least = <float> 1e38
    cdef int32_t n = 0
    cdef int32_t node, first
    cdef Py_ssize_t at
    cdef double more, cost
    total[0] = 0
    for at in range(c.n):
        node = c.order[at]
        c.least[at], c.total[at], c.count[at] = least, total[0], n
        if c.is_leaf[node] or c.is_hidden[node]:
            continue
        first = c.start[node]
        more = c.as_leaf[node] - c.errors[node]
        cost = more / (c.leaves[node] - 1)
        if more > budget:
            continue
        if cost < least or (cost <= least and cost < c.least[first]):
            least, total[0], n = <float> cost, more, 1
            c.found[0] = node
        elif cost <= least:
            if n > c.count[first]:
                total[0], n = c.total[first], c.count[first]
            c.found[n] = node
            total[0] += more
            n += 1
    return n


cdef inline void cut_cheapest(Cheapest* c, double budget) noexcept nogil:
    """Turn subtrees into leaves, those of least cost first, while their additional errors are within the budget."""
    cdef int32_t n, i, node, fewer
    cdef Py_ssize_t at
    cdef double total, more
    while budget > 0:
        n = find_cheapest(c, budget, &total)
        if n == 0 or total > budget:
            return
        for i in range(n):
            node = c.found[i]
            c.is_leaf[node] = 1
            at = c.start[node]
            while c.order[at] != node:
                c.is_hidden[c.order[at]] = 1
                at += 1
            more = c.as_leaf[node] - c.errors[node]
            fewer = c.leaves[node] - 1
            budget -= more
            while node >= 0:
                c.errors[node] = <float> (c.errors[node] + more)
                c.leaves[node] -= fewer
                node = c.parent[node]


cdef inline void mark_useless(
    const int32_t* parent, const int32_t* first_child, const double* cost, const double* tolerance, double* best, uint8_t* marks,
    Py_ssize_t n,
) noexcept nogil:
    """Mark the nodes that cost, within their tolerance, no more than the cheapest subtree below them: see `useless_splits`."""
    cdef Py_ssize_t i
    for i in range(n - 1, -1, -1):
        marks[i] = first_child[i] >= 0 and best[i] >= cost[i] - tolerance[i]
        if first_child[i] < 0 or marks[i]:
            best[i] = cost[i]
        if i:
            best[parent[i]] += best[i]


cdef inline int32_t meld(int32_t a, int32_t b, const double* key, int32_t* left, int32_t* right) noexcept nogil:
    """Join two skew heaps, the largest key at the top (Sleator and Tarjan 1986); -1 is an empty heap."""
    cdef int32_t top = -1
    cdef int32_t last = -1
    cdef int32_t following
    while a >= 0 and b >= 0:
        if key[a] < key[b]:
            a, b = b, a
        if last < 0:
            top = a
        else:
            left[last] = a
        # what remains goes to the left, where the old right child was joined
        following = right[a]
        right[a] = left[a]
        last = a
        a = following
    if last < 0:
        return a if a >= 0 else b
    left[last] = a if a >= 0 else b
    return top
