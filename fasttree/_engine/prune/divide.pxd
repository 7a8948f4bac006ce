"""The samples that pass a node are divided among its branches, for pruning.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from fasttree._engine.memory cimport resize
from fasttree._engine.prune.frames cimport ADD, PRUNE, UNKNOWN, ErrorPruning, Frame, Part, whole_weight
from fasttree._engine.prune.routes cimport find_branches, part_rows
from fasttree._engine.watch cimport set_mark


cdef inline void count_rows(ErrorPruning* p, Frame* f, int64_t n_rows, int32_t n_branches) noexcept nogil:
    """How many whole samples each branch has, and what they weigh; when the node is pruned, by class, as its children hold it.

    What the others weigh is added to the total.
    """
    cdef int64_t* of_rows = p.segments + f.segments + n_branches + 2
    cdef int64_t* weights = of_rows + n_branches + 2
    cdef bint by_class = f.mode == PRUNE
    cdef int64_t* held = &p.counts[<int64_t> p.tree.first_child[p.source[f.node]] * p.n_classes] if by_class else weights
    cdef const uint32_t* rows = p.rows + f.rows
    cdef const uint16_t* label = p.label
    cdef int64_t width = p.n_classes if by_class else 1
    cdef int32_t b
    cdef int64_t i
    if by_class:
        memset(held, 0, n_branches * width * sizeof(int64_t))
    for i in range(n_rows):
        b = p.branch[i]
        if b >= 0:
            held[b * width + (label[rows[i]] if by_class else 0)] += whole_weight(p, rows[i])
        else:
            if by_class:                   # else only to try a branch
                set_mark(&p.divided[rows[i]])
                set_mark(p.divides_rows)
            f.total += whole_weight(p, rows[i])
        of_rows[max(b, -1) + 1] += 1
    for i in range(n_branches * width if by_class else 0):
        weights[i // width] += held[i]


cdef inline void count_side(ErrorPruning* p, const Frame* f, int32_t b, int64_t start, int64_t stop) noexcept nogil:
    """What the whole samples of one of two branches weigh; when the node is pruned, by class, as its child holds it."""
    cdef int64_t* held = &p.counts[<int64_t> (p.tree.first_child[p.source[f.node]] + b) * p.n_classes]
    cdef const uint32_t* rows = p.rows
    cdef const uint16_t* label = p.label
    cdef const int64_t* weight = p.weight
    cdef int64_t one = 1 if weight == NULL else 0
    cdef int64_t total = 0
    cdef int64_t i
    cdef int32_t k
    if f.mode == PRUNE:
        memset(held, 0, p.n_classes * sizeof(int64_t))
        for i in range(start, stop):
            held[label[rows[i]]] += one if one else weight[rows[i]]
        for k in range(p.n_classes if one else 0):
            held[k] *= p.whole
        for k in range(p.n_classes):
            total += held[k]
    elif one:
        total = (stop - start) * p.whole
    else:
        for i in range(start, stop):
            total += weight[rows[i]]
    p.segments[f.segments + 2 * (2 + 2) + b] += total


cdef inline void sort_rows(ErrorPruning* p, const Frame* f, int64_t n_rows, int32_t n_branches, int64_t* sizes) noexcept nogil:
    """Sort the whole samples of the list by branch, unknown values first; `sizes` become ends."""
    cdef uint32_t* rows = p.rows + f.rows
    cdef int64_t i, at
    starts_of(sizes, n_branches + 1)
    for i in range(n_rows):
        at = max(p.branch[i], -1) + 1
        p.spare_rows[sizes[at]] = rows[i]
        sizes[at] += 1
    memcpy(rows, p.spare_rows, n_rows * sizeof(uint32_t))


cdef inline int64_t drop_unchanged(ErrorPruning* p, Frame* f, int32_t first_child) noexcept nogil:
    """Drop the samples of which a branch that divides none holds all already; returns how many others there are."""
    cdef Part* parts = p.parts + f.parts
    cdef int64_t kept = 0
    cdef int64_t i
    cdef int32_t b
    for i in range(f.parts_stop - f.parts):
        b = p.part_branch[i]
        if b < 0 or parts[i].weight != parts[i].held or not p.clean[first_child + b]:
            parts[kept] = parts[i]
            p.part_branch[kept] = b
            kept += 1
    f.parts_stop = f.parts + kept
    return kept


cdef inline int32_t heaviest_branch(const ErrorPruning* p, const Frame* f) noexcept nogil:
    """The last branch of the largest share of the known samples."""
    cdef int32_t n_branches = p.tree.n_branches[p.source[f.node]]
    cdef const int64_t* weights = p.segments + f.segments + 2 * (n_branches + 2)
    cdef int32_t best = 0
    cdef int32_t b
    for b in range(n_branches):
        if weights[b] >= weights[best]:
            best = b
    return best


cdef inline void keep_light_parts(ErrorPruning* p, Frame* f, int64_t n_parts, int64_t n_rows, int32_t n_branches) noexcept nogil:
    """Let parts of samples that are too light to be divided follow the heaviest branch."""
    cdef int64_t* of_parts = p.segments + f.segments
    cdef int64_t* of_rows = of_parts + n_branches + 2
    cdef int32_t heaviest = heaviest_branch(p, f)
    cdef int64_t i
    cdef uint32_t row
    for i in range(n_parts):
        if p.part_branch[i] < 0 and p.parts[f.parts + i].weight < p.min_part:
            p.part_branch[i] = heaviest
            of_parts[UNKNOWN] -= 1
            of_parts[heaviest + 1] += 1
    for i in range(n_rows):
        if p.branch[i] < 0 and whole_weight(p, p.rows[f.rows + i]) < p.min_part:
            p.branch[i] = heaviest
            of_rows[UNKNOWN] -= 1
            of_rows[heaviest + 1] += 1
            if f.mode == PRUNE:
                row = p.rows[f.rows + i]
                p.counts[<int64_t> (p.tree.first_child[p.source[f.node]] + heaviest) * p.n_classes + p.label[row]] += (
                    whole_weight(p, row))


cdef inline void starts_of(int64_t* sizes, int64_t n) noexcept nogil:
    cdef int64_t total = 0
    cdef int64_t i, size
    for i in range(n):
        size = sizes[i]
        sizes[i] = total
        total += size


cdef inline void bounds_of_segments(int64_t* ends, int64_t n, int64_t offset) noexcept nogil:
    """Ends of n segments become starts, followed by the end of the last."""
    cdef int64_t i
    for i in range(n, 0, -1):
        ends[i] = ends[i - 1] + offset
    ends[0] = offset


cdef inline int divide_list(ErrorPruning* p, Frame* f) noexcept nogil:
    """Sort the list by branch, unknown values first.  -1 if memory runs out.

    p.segments then holds, from f.segments on: where each segment of the parts starts and where the last ends, the same for the
    rows, and the known weight of each branch (with what the branches hold already, if that is to be added to).  f.total becomes
    what the list weighs, with what the node holds already if that is to be added to.
    """
    cdef int32_t node = p.source[f.node]
    cdef int32_t n_branches = p.tree.n_branches[node]
    cdef int64_t n_parts = f.parts_stop - f.parts
    cdef int64_t n_rows = f.rows_stop - f.rows
    cdef int64_t size = 3 * n_branches + 4
    cdef int64_t need = p.segments_n + size
    cdef int64_t* of_parts
    cdef int64_t* of_rows
    cdef int64_t* weights
    cdef int64_t i, at, low
    cdef int32_t b
    if need > p.segments_capacity:
        if resize(<void**> &p.segments, 2 * need * sizeof(int64_t)):
            return -1
        p.segments_capacity = 2 * need
    if n_parts > p.spare_capacity:
        if (resize(<void**> &p.spare_parts, 2 * n_parts * sizeof(Part))
                or resize(<void**> &p.part_branch, 2 * n_parts * sizeof(int32_t))):
            return -1
        p.spare_capacity = 2 * n_parts
    of_parts = p.segments + f.segments
    of_rows = of_parts + n_branches + 2
    weights = of_rows + n_branches + 2
    p.segments_n = need
    memset(of_parts, 0, size * sizeof(int64_t))
    f.total = p.total[f.node] if f.mode == ADD else 0
    if f.mode == ADD:
        for b in range(n_branches):
            weights[b] = p.arrived[p.tree.first_child[node] + b]
            f.total -= weights[b]
    # sizes, one place late; they become starts, and after the scattering ends
    if n_parts:
        find_branches(p, node, &p.parts[f.parts].row, sizeof(Part), n_parts, p.part_branch)
        if f.mode == ADD:
            n_parts = drop_unchanged(p, f, p.tree.first_child[node])
    low = part_rows(p, node, &p.rows[f.rows], n_rows)
    if low < 0 and n_rows:
        find_branches(p, node, &p.rows[f.rows], sizeof(uint32_t), n_rows, p.branch)
    for i in range(n_parts):
        b = p.part_branch[i]
        if b >= 0:
            weights[b] += p.parts[f.parts + i].weight - p.parts[f.parts + i].held
        else:
            if f.mode == PRUNE:
                set_mark(&p.divided[p.parts[f.parts + i].row])
            f.total += p.parts[f.parts + i].weight - p.parts[f.parts + i].held
        of_parts[max(b, -1) + 1] += 1
    if low < 0:
        count_rows(p, f, n_rows, n_branches)
    else:
        count_side(p, f, 0, f.rows, f.rows + low)
        count_side(p, f, 1, f.rows + low, f.rows_stop)
    if p.min_part and (of_parts[UNKNOWN] or of_rows[UNKNOWN]):
        f.clean = False
        keep_light_parts(p, f, n_parts, n_rows if low < 0 else 0, n_branches)
    starts_of(of_parts, n_branches + 1)
    for i in range(n_parts):
        at = max(p.part_branch[i], -1) + 1
        p.spare_parts[of_parts[at]] = p.parts[f.parts + i]
        of_parts[at] += 1
    memcpy(&p.parts[f.parts], p.spare_parts, n_parts * sizeof(Part))
    bounds_of_segments(of_parts, n_branches + 1, f.parts)
    if low < 0:
        sort_rows(p, f, n_rows, n_branches, of_rows)
        bounds_of_segments(of_rows, n_branches + 1, f.rows)
    else:
        of_rows[0] = of_rows[1] = f.rows
        of_rows[2] = f.rows + low
        of_rows[3] = f.rows_stop
    f.known = 0
    for b in range(n_branches):
        f.known += weights[b]
        if f.mode == PRUNE:
            p.arrived[p.tree.first_child[node] + b] = weights[b]
    f.total += f.known
    return 0
