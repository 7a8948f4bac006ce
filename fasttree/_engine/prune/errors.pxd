"""Error-based pruning (Quinlan 1993, chapter 4) with the arithmetic of Release 8 or of C5.0.  Header only.

Every subtree is compared with a leaf and with its heaviest branch in its place, from the bottom up; the training samples pass
through the tree once more.  Depth is bounded by memory alone: the recursion of the book is a stack of frames.
"""

from cpython.pythread cimport PyThread_free_lock
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fasttree._engine.memory cimport resize
from fasttree._engine.prune.divide cimport divide_list, heaviest_branch
from fasttree._engine.prune.frames cimport (
    ADD, BELOW, COMPARED, EVALUATE, GROW_ANEW, OPEN, PRUNE, RAISED, UNKNOWN, ErrorPruning, Frame, Part, predicted_errors,
    whole_weight,
)
from fasttree._engine.prune.raised cimport (
    NULL_CASES, add_branch, branch_weight, held_part, is_grown_anew, raised_branch, share_before,
)
from fasttree._engine.risk.sums cimport spread_weight
from fasttree._engine.watch cimport interrupted, is_marked

cdef extern from *:
    """
    #define FASTTREE_MORE_ERRORS 0.1   /* a simpler tree may make so many more */
    #define FASTTREE_SURELY 1.01
    """
    const double MORE_ERRORS "FASTTREE_MORE_ERRORS"
    const double SURELY "FASTTREE_SURELY"

cdef enum:
    SMALL = 8              # lists of less than such a share of a large one are pruned with those above


cdef inline int64_t size_of(const Frame* f) noexcept nogil:
    return f.parts_stop - f.parts + f.rows_stop - f.rows


cdef inline int push_frame(ErrorPruning* p, int32_t node, int32_t mode, const Frame* bounds) noexcept nogil:
    """Process a node with the list that `bounds` delimits.  -1 if memory runs out."""
    cdef Frame* f
    if p.frames_n == p.frames_capacity:
        if resize(<void**> &p.frames, (2 * p.frames_capacity + 64) * sizeof(Frame)):
            return -1
        p.frames_capacity = 2 * p.frames_capacity + 64
        if p.c50 and resize(<void**> &p.pools, p.frames_capacity * p.n_classes * sizeof(int64_t)):
            return -1
    if p.c50:
        memset(&p.pools[p.frames_n * p.n_classes], 0, p.n_classes * sizeof(int64_t))
    f = &p.frames[p.frames_n]
    p.frames_n += 1
    f.node = node
    f.mode = mode
    f.phase = OPEN
    f.branch = 0
    f.heaviest = -1
    f.clean = True
    f.entered = False
    f.pooled = False
    f.counted = False
    f.settled = f > p.frames and ((f - 1).settled or (f - 1).phase == RAISED)
    f.errors = 0
    f.parts = bounds.parts
    f.parts_stop = bounds.parts_stop
    f.rows = bounds.rows
    f.rows_stop = bounds.rows_stop
    f.segments = p.segments_n
    f.parts_top = p.parts_n
    f.above = -1
    f.waits = 1
    return 0


cdef inline int reserve_parts(ErrorPruning* p, int64_t extra) noexcept nogil:
    cdef int64_t n = p.parts_n + extra
    if n <= p.parts_capacity:
        return 0
    n = max(n, 2 * p.parts_capacity)
    if resize(<void**> &p.parts, n * sizeof(Part)):
        return -1
    p.parts_capacity = n
    return 0


cdef inline void add_part(ErrorPruning* p, uint32_t row, int64_t weight, int64_t held) noexcept nogil:
    p.parts[p.parts_n].row = row
    p.parts[p.parts_n].weight = weight
    p.parts[p.parts_n].held = held
    p.parts_n += 1


cdef inline void count_list(ErrorPruning* p, Frame* f) noexcept nogil:
    """The node's errors as a leaf; when it is pruned, also what it holds."""
    cdef int64_t* counts = p.here
    cdef int64_t total = 0
    cdef int64_t i
    cdef int32_t k
    cdef uint32_t row
    if f.mode == ADD or f.counted:
        memcpy(counts, &p.counts[<int64_t> f.node * p.n_classes], p.n_classes * sizeof(int64_t))
    else:
        memset(counts, 0, p.n_classes * sizeof(int64_t))
    for i in range(f.parts, f.parts_stop):
        counts[p.label[p.parts[i].row]] += p.parts[i].weight - p.parts[i].held
    for i in range(f.rows, f.rows if f.counted else f.rows_stop):
        row = p.rows[i]
        counts[p.label[row]] += whole_weight(p, row)
    for k in range(p.n_classes):
        total += counts[k]
    f.total = total
    f.leaf_errors = predicted_errors(p, counts)
    if f.mode == PRUNE:
        memcpy(&p.counts[<int64_t> f.node * p.n_classes], counts, p.n_classes * sizeof(int64_t))
        p.total[f.node] = total
        p.n_samples[f.node] = f.parts_stop - f.parts + f.rows_stop - f.rows


cdef inline int enter_branch(ErrorPruning* p, Frame* f, int32_t b, int32_t n_branches) noexcept nogil:
    """Process a branch with its samples: its segment, and a share of each one whose value is unknown.  -1: no memory."""
    cdef const int64_t* of_parts = p.segments + f.segments
    cdef const int64_t* of_rows = of_parts + n_branches + 2
    cdef const int64_t* weights = of_rows + n_branches + 2
    cdef int64_t missing_parts = of_parts[1] - of_parts[0]
    cdef int64_t missing_rows = of_rows[1] - of_rows[0]
    cdef int64_t n_parts = of_parts[b + 2] - of_parts[b + 1]
    cdef int32_t child = p.tree.first_child[p.source[f.node]] + b
    cdef double share, before
    cdef int64_t i, weight, held
    cdef Frame bounds
    bounds.parts = of_parts[b + 1]
    bounds.parts_stop = of_parts[b + 2]
    bounds.rows = of_rows[b + 1]
    bounds.rows_stop = of_rows[b + 2]
    f.parts_top = p.parts_n
    if missing_parts + missing_rows:
        share = <double> weights[b] / <double> f.known
        before = share_before(p, f, b, n_branches)
        if reserve_parts(p, n_parts + missing_parts + missing_rows):
            return -1
        bounds.parts = p.parts_n
        memcpy(&p.parts[p.parts_n], &p.parts[of_parts[b + 1]], n_parts * sizeof(Part))
        p.parts_n += n_parts
        for i in range(of_parts[0], of_parts[1]):
            weight, held = spread_weight(p.parts[i].weight, share), held_part(&p.parts[i], before)
            if f.mode != ADD or weight != held or not p.clean[child]:
                add_part(p, p.parts[i].row, weight, held)
        for i in range(of_rows[0], of_rows[1]):
            add_part(p, p.rows[i], spread_weight(whole_weight(p, p.rows[i]), share), 0)
        bounds.parts_stop = p.parts_n
    f.entered = True
    if push_frame(p, child, f.mode, &bounds):
        return -1
    p.frames[p.frames_n - 1].counted = p.frames[p.frames_n - 1].mode == PRUNE
    return 0


cdef inline void start_trial(ErrorPruning* p, const Frame* f) noexcept nogil:
    """Say how many errors of a branch in its node's place decide: with more, it makes no difference how many.

    The sum of the leaves' errors is rounded at each node, so the limit is a hundredth larger.
    """
    cdef double in_leaf = f.leaf_errors
    cdef double in_place = f.errors
    p.tried = 0
    p.trial = p.frames_n
    p.enough = SURELY * (in_leaf - MORE_ERRORS if in_leaf <= in_place + MORE_ERRORS else in_place + MORE_ERRORS)


cdef inline bint ends_trial(ErrorPruning* p, const Frame* f, double errors) noexcept nogil:
    """Add errors below a branch that is tried in its node's place, and end the trial if they are enough."""
    if f.mode == PRUNE:
        return False
    p.tried += errors
    if p.tried <= p.enough:
        return False
    p.frames_n = p.trial
    return True


cdef inline void add_change(
    ErrorPruning* p, uint32_t row, int64_t weight, int64_t segment, int32_t b, double share,
) noexcept nogil:
    """Add a sample of a node to what changes in branch b if the branch takes the node's place, and what may be divided in it."""
    cdef int64_t held = 0
    if segment == UNKNOWN:
        held = spread_weight(weight, share)
    elif segment == b + 1:
        held = weight
    if held != weight or is_marked(&p.divided[row]):
        add_part(p, row, weight, held)


cdef inline int try_branch(ErrorPruning* p, Frame* f, int32_t n_branches) noexcept nogil:
    """Process the heaviest branch with all samples of the node, to learn its errors.  -1 if memory runs out.

    It is enough to add what would come on top of what it holds, and to divide again what was divided below it, as shares change.
    Samples that go down a deep tree once for each branch that may be raised would take most of the time.  Where light parts of
    samples are not divided, what the nodes hold depends on more than shares, and all samples go down.
    """
    cdef const int64_t* of_parts = p.segments + f.segments
    cdef const int64_t* of_rows = of_parts + n_branches + 2
    cdef const int64_t* weights = of_rows + n_branches + 2
    cdef int32_t b = f.heaviest
    cdef int32_t child = p.tree.first_child[p.source[f.node]] + b
    cdef double share
    cdef bint clean = p.clean[child]
    cdef int64_t i, s, n_rows
    cdef Frame bounds = f[0]
    f.parts_top = p.parts_n
    if p.min_part and not clean:
        return push_frame(p, child, EVALUATE, &bounds)
    if reserve_parts(p, f.parts_stop - f.parts + f.rows_stop - f.rows):
        return -1
    share = <double> weights[b] / <double> f.known
    bounds.parts = p.parts_n
    bounds.rows = bounds.rows_stop = p.n_rows
    for s in range(n_branches + 1):
        if s == b + 1 and clean:
            continue
        for i in range(of_parts[s], of_parts[s + 1]):
            add_change(p, p.parts[i].row, p.parts[i].weight, s, b, share)
        if s != UNKNOWN and s != b + 1:
            n_rows = of_rows[s + 1] - of_rows[s]
            memcpy(&p.rows[bounds.rows_stop], &p.rows[of_rows[s]], n_rows * sizeof(uint32_t))
            bounds.rows_stop += n_rows
        elif s == UNKNOWN or is_marked(p.divides_rows):
            for i in range(of_rows[s], of_rows[s + 1]):
                add_change(p, p.rows[i], whole_weight(p, p.rows[i]), s, b, share)
    bounds.parts_stop = p.parts_n
    return push_frame(p, child, ADD, &bounds)


cdef inline void close_node(ErrorPruning* p, Frame* f, bint leaf, float errors) noexcept nogil:
    if leaf:
        end_rows(p, f.node, f.rows, f.rows_stop)
    p.leaf[f.node] = leaf
    p.clean[f.node] = leaf or f.clean
    p.errors[f.node] = errors


cdef inline void end_rows(ErrorPruning* p, int32_t leaf, int64_t start, int64_t stop) noexcept nogil:
    """Say that a part of the whole samples ends in a leaf."""
    cdef int64_t i
    for i in range(start, stop):
        p.ends[p.rows[i]] = leaf


cdef inline bint next_branch(ErrorPruning* p, Frame* f, float result, int* status) noexcept nogil:
    """Continue with the branches of a node.  True: one was entered; False: all are done, and f.errors is their sum."""
    cdef int32_t node = p.source[f.node]
    cdef int32_t n_branches = p.tree.n_branches[node]
    cdef const int64_t* of_parts = p.segments + f.segments
    cdef const int64_t* of_rows = of_parts + n_branches + 2
    cdef const int64_t* weights = of_rows + n_branches + 2
    cdef bint missing = of_parts[1] > of_parts[0] or of_rows[1] > of_rows[0]
    cdef bint missing_here = missing
    cdef bint comes, null
    cdef int32_t b, child, k
    cdef int64_t* pool
    while f.branch < n_branches:
        b = f.branch
        child = p.tree.first_child[node] + b
        if f.entered:
            p.parts_n = f.parts_top
            if not f.pooled:
                f.errors = f.errors + result if p.c50 else <float> (f.errors + result)
            f.pooled = False
            f.clean = f.clean and p.clean[child]
            f.entered = False
            f.branch += 1
            continue
        comes = of_parts[b + 2] > of_parts[b + 1] or of_rows[b + 2] > of_rows[b + 1]
        null = p.c50 and weights[b] > 0 and branch_weight(f, weights[b]) * p.unit < NULL_CASES
        if p.c50 and weights[b] > 0:
            if null:                       # it has no errors
                comes, missing_here = False, False
            else:
                missing_here = missing
                f.pooled = branch_weight(f, weights[b]) < p.minimum
            if f.pooled:
                pool = &p.pools[(f - p.frames) * p.n_classes]
                add_branch(p, f, b, n_branches, pool)
                if f.mode == ADD:
                    for k in range(p.n_classes):
                        pool[k] += p.counts[<int64_t> child * p.n_classes + k]
                if f.mode != PRUNE:
                    f.pooled = False
                    f.branch += 1
                    continue
        if weights[b] > 0 and (comes or missing_here):
            if p.done == NULL or not p.done[child]:
                status[0] = enter_branch(p, f, b, n_branches)
                return True
            p.done[child] = False          # what takes its place later is not
            result = p.errors[child]
            f.parts_top = p.parts_n
            f.entered = True
            continue
        if weights[b] > 0 and f.mode == ADD and not null:   # nothing changes in it
            f.errors = f.errors + p.errors[child] if p.c50 else <float> (f.errors + p.errors[child])
            p.tried += p.errors[child]
        elif f.mode == PRUNE:
            p.leaf[child] = True           # it holds nothing to decide by
            p.clean[child] = True
            p.total[child] = 0
            p.n_samples[child] = 0
            memset(&p.counts[<int64_t> child * p.n_classes], 0, p.n_classes * sizeof(int64_t))
            if weights[b] > 0:             # C5.0: a null leaf
                p.n_samples[child] = add_branch(p, f, b, n_branches, &p.counts[<int64_t> child * p.n_classes])
                for k in range(p.n_classes):
                    p.total[child] += p.counts[<int64_t> child * p.n_classes + k]
            p.errors[child] = 0
            end_rows(p, child, of_rows[b + 1], of_rows[b + 2])
        f.branch += 1
    if missing:
        f.clean = False
    if p.c50:
        f.errors = <float> (f.errors + predicted_errors(p, &p.pools[(f - p.frames) * p.n_classes]))
    return False


cdef inline int keep_list(ErrorPruning* p, int64_t above, Frame* whole, bint entered) noexcept nogil:
    """Keep the last frame for later; if it is small, the one above it, `whole` before its branches, enters it again.

    Returns how many lists are divided now: 1 if no branch was entered.
    """
    cdef Frame* f = &p.frames[p.frames_n - 1]
    if not entered:
        p.frames[above] = whole[0]
        return 1
    f.above = above
    if size_of(f) < p.large // SMALL:
        p.frames_n -= 1                    # the next branch takes the place of its parts
    else:
        whole.waits += 1
        p.frames[above].parts_top = p.parts_n
    return 0


cdef inline int prune_by_errors(ErrorPruning* p) noexcept nogil:
    """Prune the whole tree with the samples of p.parts and p.rows.  -1 if memory runs out or the work is interrupted.

    GROW_ANEW: the top frame needs a new subtree with the test of its heaviest branch; `go_on_anew` takes it, and another call
    goes on.

    With p.large, only divide the lists of more samples, from the root on; p.frames then has them and those below them.
    """
    cdef Frame bounds
    cdef int64_t divided = 0
    cdef Frame* f
    cdef float result = 0
    cdef double in_branch, in_leaf, in_place
    cdef int32_t n_branches, child
    cdef int status = 0
    cdef bint enters
    memset(&bounds, 0, sizeof(Frame))
    bounds.parts_stop = p.parts_n
    bounds.rows_stop = p.n_rows
    if p.frames_n == 0 and push_frame(p, 0, PRUNE, &bounds):
        return -1
    while divided < p.frames_n:
        f = &p.frames[divided if p.large else p.frames_n - 1]
        if interrupted(&p.watch, size_of(f) + 1):
            return -1
        if f.phase == OPEN:
            if p.large and (p.leaf[f.node] or size_of(f) <= p.large):
                divided += 1
                continue
            f.segments = p.segments_n
            if p.leaf[f.node] or f.mode == PRUNE:
                count_list(p, f)
            if p.leaf[f.node]:
                if f.mode == PRUNE:
                    close_node(p, f, True, f.leaf_errors)
                p.frames_n -= 1
                result = INFINITY if ends_trial(p, f, f.leaf_errors) else f.leaf_errors
                continue
            if divide_list(p, f):
                return -1
            f.phase = BELOW
            if p.large:
                bounds = f[0]
        n_branches = p.tree.n_branches[p.source[f.node]]
        if f.phase == BELOW:
            enters = next_branch(p, f, result, &status)
            if status:
                return -1
            if p.large:
                divided += keep_list(p, divided, &bounds, enters)
            if p.large or enters:
                continue
            result = <float> f.errors
            if f.mode == PRUNE:
                f.phase = COMPARED
                f.heaviest = raised_branch(p, f) if p.c50 else heaviest_branch(p, f)
                start_trial(p, f)
                if f.heaviest < 0 or p.enough < 0:
                    result = INFINITY
                elif try_branch(p, f, n_branches):
                    return -1
                continue
        elif f.phase == COMPARED:
            p.parts_n = f.parts_top
            in_branch, in_leaf, in_place = result, f.leaf_errors, f.errors
            if in_leaf <= in_branch + MORE_ERRORS and in_leaf <= in_place + MORE_ERRORS:
                close_node(p, f, True, f.leaf_errors)
                result = f.leaf_errors
            elif in_branch <= in_place + MORE_ERRORS:
                if is_grown_anew(p, f):
                    return GROW_ANEW
                f.phase = RAISED
                bounds = f[0]
                if push_frame(p, p.tree.first_child[p.source[f.node]] + f.heaviest, PRUNE, &bounds):
                    return -1
                continue
            else:
                close_node(p, f, False, <float> f.errors)
                result = <float> f.errors
        else:
            child = p.tree.first_child[p.source[f.node]] + f.heaviest
            p.source[f.node] = p.source[child]
            f.clean = p.clean[child]
            close_node(p, f, p.leaf[child], p.errors[child])
        p.segments_n = f.segments
        p.frames_n -= 1
    return 0


cdef inline int make_room(ErrorPruning* p, int64_t n_before, int64_t n_nodes) except -1:
    """Make room for what the nodes hold, those from `n_before` on for the first time."""
    cdef int64_t i
    if (resize(<void**> &p.source, n_nodes * sizeof(int32_t)) or resize(<void**> &p.leaf, n_nodes)
            or resize(<void**> &p.clean, n_nodes)
            or resize(<void**> &p.counts, n_nodes * p.n_classes * sizeof(int64_t))
            or resize(<void**> &p.total, n_nodes * sizeof(int64_t)) or resize(<void**> &p.arrived, n_nodes * sizeof(int64_t))
            or resize(<void**> &p.n_samples, n_nodes * sizeof(int64_t))
            or resize(<void**> &p.errors, n_nodes * sizeof(float))):
        raise MemoryError
    for i in range(n_before, n_nodes):
        p.source[i] = <int32_t> i
        p.leaf[i] = p.tree.first_child[i] < 0
        p.clean[i] = False
        p.total[i] = 0
        p.arrived[i] = 0
        p.n_samples[i] = 0
        p.errors[i] = 0
    memset(&p.counts[n_before * p.n_classes], 0, (n_nodes - n_before) * p.n_classes * sizeof(int64_t))
    return 0


cdef inline void free_scratch(ErrorPruning* p) noexcept nogil:
    """Free what each thread has of its own."""
    free(p.here)
    free(p.pools)
    free(p.parts)
    free(p.spare_parts)
    free(p.part_branch)
    free(p.frames)
    free(p.segments)


cdef inline void free_pruning(ErrorPruning* p) noexcept:
    free_scratch(p)
    if p.lock != NULL:
        PyThread_free_lock(p.lock)
    free(p.source)
    free(p.leaf)
    free(p.clean)
    free(p.counts)
    free(p.total)
    free(p.arrived)
    free(p.divided)
    free(p.n_samples)
    free(p.errors)
    free(p.rows)
    free(p.spare_rows)
    free(p.branch)
    free(p.done)
    memset(p, 0, sizeof(ErrorPruning))
