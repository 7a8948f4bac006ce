"""Growth below a node of a few samples, which reads the lists of that node alone.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.grow.nodes cimport is_leaf
from fasttree._engine.grow.search cimport accepted
from fasttree._engine.grow.split cimport branch_of_missing, write_split
from fasttree._engine.grow.totals cimport count_children
from fasttree._engine.grow.work cimport NodeSplit, Work
from fasttree._engine.scan.cut cimport bounds_of, no_cut
from fasttree._engine.scan.twig cimport Few, TwigNode, Twig, few_of, search_twig
from fasttree._engine.types cimport THRESHOLD_CUT, TWIG, Active, Block, Bounds, Cut, Pending, Problem, Scratch, Totals


cdef inline bint is_twig(const Problem* p, const Pending* node, const char* data) noexcept nogil:
    """Are all values of a small node known?"""
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef int32_t i
    for i in range(node.n_active):
        if not actives[i].listed or (<const uint32_t*> (data + actives[i].at))[0] >> 16 == 0:
            return False
    return True


cdef inline void read_twig(
    const Problem* p, const Block* block, Scratch* s, const Pending* node, const char* data, Twig* twig,
) noexcept nogil:
    """Number the samples of a small node, and write its lists in terms of these numbers."""
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef const uint32_t* rows = <const uint32_t*> (data + node.rows_at)
    cdef const uint32_t* entries
    cdef uint32_t* out = s.twig_entries
    cdef uint8_t* place = s.side
    cdef int32_t f
    cdef int64_t i
    twig.n = node.n
    twig.n_active = node.n_active
    twig.feature = s.twig_features
    twig.entries = s.twig_entries
    for i in range(twig.n):
        twig.row[i] = rows[i]
        twig.statistic[i] = block.label[rows[i]] if p.n_classes else block.ysum[rows[i]]
        place[rows[i]] = <uint8_t> i
    for f in range(node.n_active):
        twig.feature[f] = actives[f].feature
        entries = <const uint32_t*> (data + actives[f].at)
        for i in range(twig.n):
            out[i] = (entries[i] & <uint32_t> 0xFFFF0000) | place[entries[i] & 0xFFFF]
        out += TWIG


cdef inline TwigNode root_of_twig(const Twig* twig, const Pending* node) noexcept nogil:
    """The twig itself, whose threshold is known."""
    cdef TwigNode twig_node
    cdef const uint32_t* entries = twig.entries
    cdef int32_t f = 0
    cdef int64_t i
    while twig.feature[f] != node.cut.feature:
        f += 1
    entries += f * TWIG
    twig_node.members = ((<uint64_t> 1) << twig.n) - 1
    twig_node.left = 0
    for i in range(node.cut.position + 1):
        twig_node.left |= <uint64_t> 1 << (entries[i] & 0xFFFF)
    twig_node.low = twig.row[entries[node.cut.position] & 0xFFFF]
    twig_node.high = twig.row[entries[node.cut.position + 1] & 0xFFFF]
    twig_node.feature = node.cut.feature
    twig_node.id = node.id
    twig_node.depth = node.depth
    return twig_node


cdef inline int split_twig_node(
    const Problem* p, const Block* block, Work* w, const Twig* twig, const TwigNode* twig_node,
) noexcept nogil:
    """Write the children of a node of a twig.  -1 if memory runs out."""
    cdef uint32_t rows[TWIG]
    cdef Cut cut = no_cut(twig_node.feature)
    cdef NodeSplit split
    cdef int64_t n = 0
    cdef int64_t i
    cdef double gain
    for i in range(twig.n):
        if (twig_node.members >> i) & 1:
            rows[n] = twig.row[i]
            w.scratch.side[rows[n]] = 1 - <uint8_t> ((twig_node.left >> i) & 1)
            n += 1
    memset(&split, 0, sizeof(NodeSplit))
    split.two = True
    split.n_children = 2
    split.n_branches = 2
    split.low = twig_node.low
    split.high = twig_node.high
    cut.form = THRESHOLD_CUT
    if write_split(p, block, w, twig_node.id, &cut, &split):
        return -1
    gain = count_children(p, block, w, rows, n, 2, True)
    w.nodes.gain[twig_node.id] = gain / w.nodes.weight[twig_node.id]
    w.nodes.missing[twig_node.id] = branch_of_missing(p, w, &cut, &split)
    return 0


cdef inline int grow_twig(const Problem* p, const Block* block, Work* w, const Pending* node, const char* data) noexcept nogil:
    """Grow all that is below a small node, from its own lists.  -1 if memory runs out."""
    cdef TwigNode waiting[TWIG]
    cdef TwigNode twig_node
    cdef TwigNode* child
    cdef Twig twig
    cdef Few few
    cdef Bounds limits
    cdef Totals* totals
    cdef Cut cut = no_cut(-1)
    cdef int32_t n_waiting = 1
    cdef int64_t b
    read_twig(p, block, w.scratch, node, data, &twig)
    waiting[0] = root_of_twig(&twig, node)
    while n_waiting:
        n_waiting -= 1
        twig_node = waiting[n_waiting]
        if split_twig_node(p, block, w, &twig, &twig_node):
            return -1
        for b in range(2):
            totals = &w.children[b].totals
            if is_leaf(p, totals, w.nodes.impurity[w.children[b].id], twig_node.depth + 1):
                continue
            limits = bounds_of(p, totals.n, totals.weight, False)
            few = few_of(p, totals, max(limits.n_min, limits.w_min), min(limits.n_max, limits.w_max))
            child = &waiting[n_waiting]
            child.members = twig_node.members & ~twig_node.left if b else twig_node.left
            child.id = w.children[b].id
            child.depth = twig_node.depth + 1
            cut.first_gain = search_twig(p, &twig, &few, totals.risk, w.scratch.twig_gains, child)
            if cut.first_gain > -INFINITY and accepted(p, &cut, <double> totals.weight * p.unit, totals.risk):
                n_waiting += 1
    return 0
