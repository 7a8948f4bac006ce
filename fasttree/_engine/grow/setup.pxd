"""One growth from its plan to its nodes.  Header only.

The first part chooses the search: how gains are computed, what nodes count, and which short cuts are exact.  The second part
lays out the memory that a growth owns, and starts its runs.
A growth reads an encoding, targets and a policy, which others may read at the same time.  All that it writes is its own.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.grow.nodes cimport NodeTable, is_leaf, reserve_nodes
from fasttree._engine.grow.block cimport grow_block, write_root
from fasttree._engine.grow.queue cimport Queue, free_queue, grow_queue, put_root
from fasttree._engine.grow.scratch cimport carve_divided, carve_medians, carve_private, carve_scratch, fill_table
from fasttree._engine.grow.team cimport Frontier, give_up, hold, release, wake
from fasttree._engine.grow.work cimport LEAST_WIDE, Private, Work, free_work, has_branches, n_waiting, share_work
from fasttree._engine.memory cimport Carver, carve, free_list, pad
from fasttree._engine.risk.chords cimport CHORDS, fill_chords
from fasttree._engine.risk.impurity cimport ABSOLUTE_ERROR, ENTROPY, GINI, POISSON
from fasttree._engine.risk.present cimport numbers_classes
from fasttree._engine.risk.release8 cimport fill_terms, terms_of
from fasttree._engine.risk.sums cimport exact_zero
from fasttree._engine.scan.counts cimport size_of_cells
from fasttree._engine.scan.cut cimport form_of
from fasttree._engine.scan.stretches cimport has_stretches
from fasttree._engine.types cimport (
    CLASSES, CONTINUOUS, DEVIANCE, GENERIC, INTERVALS, LINEAR, MEDIANS, MOMENTS, NOMINAL, ORDERED, OUTPUTS, PAIRS,
    SQUARES, SUBSET, TABLE, WEIGHTS, Arena, Block, Exact, FeatureSets, Pending, Problem, Scratch, Totals,
)
from fasttree._engine.watch cimport Watch, start_watch


cdef inline int set_policy(Problem* p, object policy) except -1:
    """Copy a `Policy` of `records`."""
    p.impurity = policy.impurity
    p.nominal = policy.nominal
    p.ordinal = policy.ordinal
    p.continuous = policy.continuous
    p.missing = policy.missing
    p.rank = policy.rank
    p.release8 = policy.release8
    p.random = policy.random_cuts
    p.known_agreement = policy.known_agreement
    p.to_heavier = policy.to_heavier
    return 0


cdef inline int set_limits(Problem* p, object limits) except -1:
    """Copy the `EngineLimits` of `records` that a problem has."""
    cdef double critical_value = limits.critical_value
    p.max_depth = limits.max_depth
    p.min_samples_split = limits.min_samples_split
    p.min_samples_leaf = limits.min_samples_leaf
    p.side_share = limits.side_share
    p.min_weight_leaf = limits.min_weight_leaf
    p.min_branch_weight = limits.min_branch_weight
    p.leaves_per_weight = limits.leaves_per_weight
    p.bound_share = limits.bound_share
    p.min_node_weight = limits.min_node_weight
    p.min_share = limits.min_part_share
    p.min_impurity_decrease = limits.min_impurity_decrease
    p.min_impurity = limits.min_impurity
    p.min_gain = limits.min_gain
    p.min_ratio = limits.min_ratio
    p.n_cases = limits.n_cases
    p.max_surrogates = limits.max_surrogates
    p.max_features = limits.max_features
    p.least_difference = <float> (1 + critical_value)
    p.max_intervals = limits.max_intervals
    p.bounded_from = limits.bounded_from
    return 0


cdef struct Growth:
    Problem p
    Block block                    # all samples
    FeatureSets sets
    int64_t n_sets
    bint wide                      # list entries take 8 bytes, and small nodes go to private blocks
    bint copies                    # samples are divided in copies of their weights and sums
    bint axis                      # categories are ordered along a principal axis
    int64_t n_groups
    int64_t n_counted              # columns of codes
    int64_t n_whole                # samples of the whole table, by whose number sums are scaled
    double reach                   # of the root, see Frontier
    uint32_t block_rows            # of a private block
    const double* y_bound          # as in Sums
    const double* deviation_bound
    int64_t* table                 # x log2 x
    double* chords                 # which are about x log2 x
    double* terms                  # of whole numbers, in single precision
    int64_t* list_below
    size_t* first_cell
    Exact* zeros
    NodeTable nodes
    Frontier frontier
    Queue queue                    # of best-first growth, or of several threads
    Watch watch
    Scratch scratch
    Work work
    Private small                  # of a wide run


cdef inline int32_t sweep_of(const Problem* p) noexcept nogil:
    """How the gain of a candidate is computed, a `Sweep`."""
    if p.impurity == ABSOLUTE_ERROR:
        return MEDIANS
    if p.n_outputs > 1:
        return OUTPUTS
    if p.impurity == POISSON:
        return DEVIANCE
    if p.n_classes == 0 or (p.n_classes == 2 and p.impurity == GINI):
        return LINEAR
    if not p.weighted and p.impurity == GINI:
        return SQUARES
    if not p.weighted and p.impurity == ENTROPY:
        return TABLE
    return GENERIC


cdef inline void plan_search(Problem* p) noexcept nogil:
    """Choose the sweep and the short cuts of a complete policy with its features and targets."""
    cdef int32_t f
    p.sweep = sweep_of(p)
    p.all_classes = p.n_classes
    p.lazy = not has_branches(p) and not p.draws and not p.random and not p.rank and not p.release8
    if p.sweep == MEDIANS:
        p.lazy = False                 # a node's targets are ranked once for all features
    p.screens = p.lazy and not p.weighted and p.monotone == NULL and (p.sweep == LINEAR or p.sweep == SQUARES)
    p.twigs = p.screens and p.sweep == LINEAR and p.sets == NULL
    for f in range(p.n_features):
        p.twigs = p.twigs and form_of(p, f) == ORDERED
        if p.n_classes and p.n_outputs == 1 and p.counted[f]:
            p.cells += pad(size_of_cells(p, f) + 15)


cdef inline void plan_histogram(Problem* p) noexcept nogil:
    """Choose what the histograms of a bounded search count."""
    if p.n_classes == 0:
        p.histogram, p.cell_size = MOMENTS, 4 * sizeof(int64_t)
    elif p.weighted:
        p.histogram, p.cell_size = WEIGHTS, (p.n_classes + 1) * sizeof(int64_t)
    elif p.n_classes == 2:
        p.histogram, p.cell_size = PAIRS, sizeof(uint64_t)
    else:
        p.histogram, p.cell_size = CLASSES, p.n_classes * sizeof(uint32_t)


cdef inline void lay_out_histogram(Problem* p, size_t* first_cell) noexcept nogil:
    """Set where the cells of each feature start in a histogram, and its size in bytes."""
    cdef int32_t f
    p.first_cell = first_cell
    for f in range(p.n_features if p.histogram else 0):
        first_cell[f] = p.histogram_size // p.cell_size
        p.histogram_size += p.n_codes[f] * p.cell_size
    p.histogram_size = pad(p.histogram_size)


cdef inline void set_list_limits(Problem* p, int64_t* list_below) noexcept nogil:
    """Set below how many samples sorting a list once is cheaper than clearing and reading counts at every node."""
    cdef int32_t classes = p.width // 2 if numbers_classes(p) else p.width
    cdef int32_t f
    p.list_below = list_below
    for f in range(p.n_features):
        list_below[f] = <int64_t> p.n_codes[f] * max(4, classes) // 2


cdef inline int64_t most_groups(const Problem* p, int64_t n) noexcept nogil:
    """Groups of samples of one value that a feature with a list can have, where they are searched as groups."""
    cdef int64_t n_groups = 0
    cdef int32_t f
    for f in range(p.n_features):
        if not p.counted[f] and p.kind[f] != CONTINUOUS:
            n_groups = max(n_groups, min(<int64_t> p.n_codes[f], n))
        elif not p.counted[f] and p.continuous == INTERVALS:
            n_groups = n
    return n_groups


cdef inline bint needs_axis(const Problem* p) noexcept nogil:
    """Are categories ordered along a principal axis?"""
    cdef int32_t f
    for f in range(p.n_features):
        if p.kind[f] == NOMINAL and p.nominal == SUBSET and (p.n_counts > 2 or p.n_outputs > 1):
            return True
    return False


cdef inline bint needs_chords(const Problem* p) noexcept nogil:
    """Are there gains of entropy that are known up to chords first?"""
    return p.impurity == ENTROPY and p.sweep == GENERIC


cdef inline double whole_weight(const Problem* p, const Block* block) noexcept nogil:
    cdef int64_t weight = block.n
    cdef uint32_t i
    if block.weight != NULL:
        weight = 0
        for i in range(block.n):
            weight += block.weight[i]
    return <double> weight * p.unit


cdef inline void plan_growth(Growth* g, int64_t most_splits) noexcept nogil:
    """Derive the search from the policy, the features and the targets."""
    cdef Problem* p = &g.p
    p.draws = p.max_features < p.n_features
    plan_search(p)
    p.stretches = has_stretches(p)
    p.several_lists = p.n_features - g.n_counted > 1
    if g.block.tiles != NULL:
        plan_histogram(p)
        p.best_first = most_splits > 0
        if p.best_first:
            g.work.team = &g.queue.team
            g.queue.team.n_busy = 1
        p.few_leaves = 0 < most_splits < <int64_t> g.block.n // LEAST_WIDE
    g.nodes.frontier = &g.frontier
    g.frontier.most = most_splits
    g.nodes.width = p.width
    g.n_groups = most_groups(p, g.block.n)
    g.axis = needs_axis(p)
    p.total_weight = whole_weight(p, &g.block)


cdef inline size_t carve_growth(Growth* g, char* start) noexcept nogil:
    """Hand out the parts of the buffer at `start`; if that is NULL only measure them.  Returns their bytes."""
    cdef Carver carver
    cdef Problem* p = &g.p
    cdef size_t n = g.block.n
    cdef size_t d = max(p.n_features, 1)
    cdef size_t rows = g.block_rows if g.wide else 0
    carver.next = start
    carver.measuring = start == NULL
    carve_scratch(&g.scratch, &carver, p, n, g.n_groups, has_branches(p), g.axis)
    g.list_below = <int64_t*> carve(&carver, d * 8)
    g.first_cell = <size_t*> carve(&carver, d * sizeof(size_t))
    g.work.lists = <size_t*> carve(&carver, d * sizeof(size_t))
    g.work.root_counts = <int64_t*> carve(&carver, p.width * 8)
    g.work.draws = <int32_t*> carve(&carver, 2 * d * 4 if p.draws else 0)
    g.work.drawn = <uint8_t*> carve(&carver, d)
    g.work.allowed = <uint8_t*> carve(&carver, d if p.sets != NULL else 0)
    g.sets.path = <int32_t*> carve(&carver, d * 4 if p.sets != NULL else 0)
    g.sets.hits = <int32_t*> carve(&carver, g.n_sets * 4)
    g.frontier.reach = <double*> carve(&carver, g.frontier.most * 8)
    g.table = <int64_t*> carve(&carver, (n + 1) * 8 if p.sweep == TABLE else 0)
    g.chords = <double*> carve(&carver, 2 * CHORDS * 8 if needs_chords(p) else 0)
    g.terms = <double*> carve(&carver, terms_of(p, n) * 8)
    g.small.place = <uint32_t*> carve(&carver, n * 4 if g.wide else 0)
    carve_private(&g.small, &carver, p, &g.block, rows, g.n_counted)
    g.zeros = <Exact*> carve(&carver, 0 if p.n_classes else 2 * p.n_outputs * sizeof(Exact))
    carve_medians(p, &carver, n)
    if g.copies:
        carve_divided(&carver, p, &g.block)
    return carver.next - start


cdef inline void fill_growth(Growth* g, bint asks) noexcept nogil:
    """Fill in the initial parts of a growth; `asks`: this thread handles signals."""
    cdef Problem* p = &g.p
    cdef int64_t n = g.block.n
    cdef int32_t o
    memset(g.work.lists, 0, p.n_features * sizeof(size_t))
    memset(g.small.work.lists, 0, p.n_features * sizeof(size_t))
    memset(g.sets.hits, 0, g.n_sets * sizeof(int32_t))
    set_list_limits(p, g.list_below)
    lay_out_histogram(p, g.first_cell)
    p.xlogx = g.table
    p.chords = g.chords
    if needs_chords(p):
        fill_chords(g.chords)
    if terms_of(p, n):
        fill_terms(g.terms, terms_of(p, n))
        p.terms = g.terms
    if p.sweep == TABLE:
        p.xlogx_unit = fill_table(g.table, n, g.n_whole)
    if p.n_classes == 0:
        for o in range(p.n_outputs):
            g.zeros[o] = exact_zero(g.y_bound[o], g.n_whole)
            g.zeros[p.n_outputs + o] = exact_zero(g.deviation_bound[o], g.n_whole)
        p.zero, p.zero_deviation = g.zeros, g.zeros + p.n_outputs
    start_watch(&g.watch, asks, NULL)
    g.scratch.watch = &g.watch
    g.work.scratch = &g.scratch
    g.work.nodes = &g.nodes
    share_work(&g.small.work, &g.work)
    g.work.narrow = g.block_rows
    g.work.small = &g.small if g.wide else NULL


cdef inline double share_done(const void* growth) noexcept nogil:
    """The share of the samples that have reached a leaf; divided samples may count more than once."""
    cdef const Growth* g = <const Growth*> growth
    cdef int64_t n = n_waiting(&g.work)
    cdef int64_t n_small = n_waiting(&g.small.work)
    hold(g.queue.team.lock)
    n += g.queue.team.held
    release(g.queue.team.lock)
    if n_small:                        # the node in hand is in a private block
        n += n_small - g.work.growing
    return max(0.0, 1.0 - <double> n / g.block.n)


cdef inline bint open_first(Growth* g, uint64_t key, Pending* root, int* status) noexcept nogil:
    """Write the first node, whose draws have a key; False if it is a leaf.  The status is -1 if memory runs out."""
    cdef Totals totals
    memset(root, 0, sizeof(Pending))
    memset(&totals, 0, sizeof(Totals))
    status[0] = reserve_nodes(&g.nodes, 1)
    if status[0]:
        return False
    totals.counts = g.work.root_counts
    write_root(&g.p, &g.block, &g.nodes, &totals)
    root.low = -INFINITY
    root.high = INFINITY
    root.key = key
    root.reach = g.reach
    root.n = g.block.n
    root.id = g.nodes.root
    return not is_leaf(&g.p, &totals, g.nodes.impurity[root.id], 0)


cdef inline int grow_nodes(Growth* g, uint64_t key) noexcept nogil:
    """Grow all nodes, with the threads that share a queue.  -1 if memory runs out or growth is interrupted."""
    cdef Pending root
    cdef int status = 0
    cdef bint opened = open_first(g, key, &root, &status)
    if g.work.team == NULL:
        if not opened:
            return status
        if g.wide:
            return grow_block[uint64_t](&g.p, &g.block, &g.work, &root, 0)
        return grow_block[uint32_t](&g.p, &g.block, &g.work, &root, 0)
    if opened:
        status = put_root(&g.p, &g.block, &g.work, &g.queue, &root)
    hold(g.queue.team.lock)
    g.queue.team.n_busy -= 1           # this thread was, until there was something to take: another one may have the root
    if status:
        give_up(&g.queue.team)
    wake(&g.queue.team)
    release(g.queue.team.lock)
    return grow_queue(&g.p, &g.block, &g.work, &g.queue)


cdef inline void free_runs(Growth* g, Arena* arenas) noexcept nogil:
    """Free what the runs own, except for the four arenas if there is a place that keeps them."""
    cdef int32_t f
    if g.wide and g.block.tiles == NULL:
        for f in range(g.p.n_features):                # which the root has not taken
            free_list(g.work.lists[f], g.block.n, sizeof(uint64_t))
            g.work.lists[f] = 0
    if arenas != NULL and g.work.stack_n == 0:         # else lists are found by what the arenas hold
        arenas[0], arenas[1] = g.work.arenas[0], g.work.arenas[1]
        arenas[2], arenas[3] = g.small.work.arenas[0], g.small.work.arenas[1]
        memset(g.work.arenas, 0, 2 * sizeof(Arena))
        memset(g.small.work.arenas, 0, 2 * sizeof(Arena))
    free_queue(&g.queue, g.wide and g.block.tiles == NULL)
    free_work(&g.work, g.wide)
    free_work(&g.small.work, False)
