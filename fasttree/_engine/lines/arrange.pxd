"""Nodes that were numbered breadth first get numbers in preorder, without divisions that have a small branch.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset


cdef struct GrownNodes:               # siblings are adjacent, the left one first
    Py_ssize_t n, d                   # nodes; continuous features
    const int32_t* parent
    const int32_t* feature            # -1 at a leaf; from d on, it is not continuous
    const int64_t* first              # of the slice of rows
    const int64_t* stop


cdef struct ArrangedNodes:
    int64_t* place                    # the number that a node had
    int64_t* children                 # two of each; -1 at a leaf
    int32_t* parent
    uint8_t* allowed                  # d of each: continuous features that are tested at the node, above it or below it


cdef inline void join_features(uint8_t* features, const uint8_t* others, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t j
    for j in range(d):
        features[j] |= others[j]


cdef inline Py_ssize_t arrange_nodes(const GrownNodes* g, int64_t least_cover, int64_t* size, ArrangedNodes* to) noexcept nogil:
    """Number the nodes that stay, and return how many there are.

    `size` has room for a number of each node: of nodes in its subtree, 0 if it goes, and then its new number.
    """
    cdef Py_ssize_t node, above, new
    for node in range(g.n):
        size[node] = 1
    for node in range(g.n - 1, 0, -1):                               # 0 for now: its branches go
        if g.stop[node] - g.first[node] < least_cover:
            size[g.parent[node]] = 0
    for node in range(1, g.n):                                       # -1 for now: it goes itself
        above = g.parent[node]
        if size[above] < 1:
            size[node] = -1
    for node in range(g.n):
        size[node] = 0 if size[node] < 0 else 1
    for node in range(g.n - 1, 0, -1):
        size[g.parent[node]] += size[node]
    new = size[0]
    to.parent[0], to.place[0], size[0] = -1, 0, 0
    for node in range(1, g.n, 2):
        above = size[g.parent[node]]
        if not size[node]:
            size[node] = size[node + 1] = -1
            continue
        size[node + 1] = above + 1 + size[node]
        size[node] = above + 1
    for node in range(g.n):
        above = size[node]
        if above < 0:
            continue
        to.place[above] = node
        to.children[2 * above] = to.children[2 * above + 1] = -1
        if node:
            to.parent[above] = <int32_t> size[g.parent[node]]
            to.children[2 * to.parent[above] + (node + 1) % 2] = above
    return new


cdef inline void allow_features(const GrownNodes* g, Py_ssize_t n, uint8_t* below, ArrangedNodes* to) noexcept nogil:
    """Find the features that the models of n arranged nodes may have; `below` has room for d of each grown node."""
    cdef Py_ssize_t node, above, d = g.d
    memset(below, 0, g.n * d)
    for node in range(g.n - 1, -1, -1):
        if 0 <= g.feature[node] < d:
            below[node * d + g.feature[node]] = 1
        if node:
            join_features(below + g.parent[node] * d, below + node * d, d)
    memset(to.allowed, 0, d)
    for node in range(1, n):                                         # those above
        above = to.parent[node]
        memcpy(to.allowed + node * d, to.allowed + above * d, d)
        if g.feature[to.place[above]] < d:
            to.allowed[node * d + g.feature[to.place[above]]] = 1
    for node in range(n):
        join_features(to.allowed + node * d, below + to.place[node] * d, d)
