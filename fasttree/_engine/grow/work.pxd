"""What one run of the node loop owns: its stack, the children of the node in hand, and histograms.  Header only.

It also has the questions that several steps ask about a node: whether it is searched by bounds, stays in the wide block, or
divides in two.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fasttree._engine.bounds.screen cimport Screen
from fasttree._engine.grow.nodes cimport NodeTable, SurrogateTable, blank_node, reserve_nodes
from fasttree._engine.grow.team cimport Lock, Team, count_together, hold, next_shared, release
from fasttree._engine.memory cimport ListRoom, close_room, free_arena, free_list, pad, resize
from fasttree._engine.risk.deviations cimport Binned
from fasttree._engine.risk.sums cimport set_part, spread_weight
from fasttree._engine.scan.tiles cimport Count
from fasttree._engine.types cimport (
    DECLARED, FRACTIONAL, INTERVALS, MEDIANS, OWN_BRANCH, PRESENT, SURROGATE, Active, Arena, Block, Cut, Exact, FeatureSets,
    Pending, Problem, Scratch, Search, Totals, entry_t,
)
from fasttree._engine.watch cimport COUNT, enter, note


cdef enum:
    LAST_LEVELS = 7            # above the largest depth that are searched without private blocks
    LEAST_WIDE = 512           # samples of a node that may be
    SIDE_BY_SIDE = 16          # features whose values are read at once: a line of memory
    MOST_SORTS = 1             # of all features on a path of a private block, which cost what lists do: lists from then on
    MOST_WIDE_SORTS = 16       # likewise of a wide block: only chains of nodes reach this, and lists take more memory
    MOST_HISTOGRAMS = 64       # MB, of nodes in a queue; those of others are counted once more


cdef struct Child:
    Totals totals
    Search search
    uint64_t key
    int64_t id
    int64_t filled                 # entries written so far: rows, then those of one list
    size_t region
    size_t cursor                  # where its next list goes
    size_t rows_at
    size_t actives_at
    int32_t n_cuts
    bint open                      # may still be split: its lists are made and scanned
    bint scans                     # scanned here; a child that a narrow block will take is not
    bint done                      # a perfect split is found
    Screen screen
    bint bounded                   # searched by a histogram, or handed to a private block: its features need no lists
    char* histogram
    double share                   # of the samples that go to every child


cdef struct Private


cdef struct Moved:                 # nodes below which a thread grows among nodes of its own
    int64_t* ids                   # pairs: node of the tree, node here that takes its place
    int64_t n
    int64_t capacity


cdef struct Work:                  # what one run of the node loop owns, besides the scratch and the nodes that runs share
    Scratch* scratch
    NodeTable* nodes
    size_t* lists                  # of the features, until the root takes them
    size_t lists_end               # of those in the root's arena
    uint32_t narrow                # most rows of a private block
    Private* small                 # of a wide run, for nodes that need no more; else NULL
    Arena arenas[2]
    ListRoom room                  # for lists of a wide run
    Pending* stack
    int64_t stack_n
    int64_t stack_capacity
    int64_t growing                # samples of the node in hand, which has left the stack
    Child* children
    int64_t* child_counts
    Exact* sums                    # per child and target: weight x target, then weight x deviation
    double* any_target             # per child and target: that of some sample
    uint8_t* varies                # per child and target: whether another sample has another
    int64_t children_capacity
    int64_t* root_counts
    int32_t* draws                 # features, and room for as many numbers
    uint8_t* drawn
    uint8_t* allowed               # features that constraints leave to the nodes in hand
    Team* team                     # of the threads that share the nodes of a queue; NULL: nodes are in the stack alone
    int32_t which                  # of these threads has this run
    bint noted                     # the frontier knows the first node, which was searched in the block that it comes from
    Work* lender                   # whose histograms it takes; NULL: its own
    SurrogateTable* surrogates     # where they go of nodes of a table that threads share; NULL: beside the nodes
    Moved* moved                   # nodes whose subtrees are in a table of this thread's own; NULL: the tree has all
    char** histograms              # unused ones
    char** made                    # all
    int64_t n_histograms
    int64_t histograms_made


cdef struct Private:               # a private block, which one small node after the other takes, and the run over it
    Block block
    Work work
    uint8_t* tiles                 # room for those of the block
    uint32_t* place                # by row of the wide block: its row here
    uint32_t* keys                 # those of values that lie side by side, feature by feature
    int32_t first_gathered, n_gathered       # features that `keys` has


cdef inline void share_work(Work* w, const Work* outer) noexcept nogil:
    """Let a run inside another one use its scratch, and add to its nodes."""
    w.scratch = outer.scratch
    w.nodes = outer.nodes
    w.root_counts = outer.root_counts
    w.draws = outer.draws
    w.drawn = outer.drawn
    w.allowed = outer.allowed


cdef inline const uint32_t* rows_of(const Pending* node, const char* data) noexcept nogil:
    """Rows of a node whose arena has `data`."""
    if node.rows != NULL:
        return node.rows
    return <const uint32_t*> (data + node.rows_at)


cdef inline bint is_bounded(const Problem* p, const Block* block, int64_t n, double sorts) noexcept nogil:
    """Is a node of n samples searched by a histogram?  In a wide block all are, or they go to private ones.

    In a private block none is whose parent's path has shown that bounds leave nothing out (`sorts`, as in Pending).
    """
    return block.tiles != NULL and (block.fine == NULL or (n >= p.bounded_from and sorts < MOST_SORTS))


cdef inline int64_t least_wide(const Problem* p) noexcept nogil:
    """Samples of a node that may stay wide near the largest depth.  Bounds of several classes pay in large nodes alone."""
    return p.bounded_from if p.n_classes > 2 and not p.weighted else min(p.bounded_from, LEAST_WIDE)


cdef inline bint stays_wide(
    const Problem* p, const Block* block, const Work* w, int64_t n, int64_t depth, double sorts,
) noexcept nogil:
    """Is a node of a wide block too large for a private one, or, in a bounded search, too large to sort all its features?"""
    if n > w.narrow:
        return True
    if block.tiles == NULL or n < least_wide(p):
        return False
    return p.few_leaves or 0 <= p.max_depth <= depth + LAST_LEVELS or (n > p.bounded_from and sorts < MOST_SORTS)


cdef inline int reserve_children(const Problem* p, Work* w, int64_t n) noexcept nogil:
    if n <= w.children_capacity:
        return 0
    n = max(n, 2 * w.children_capacity)
    if (resize(<void**> &w.children, n * sizeof(Child)) or resize(<void**> &w.child_counts, n * p.width * sizeof(int64_t))
            or resize(<void**> &w.sums, n * p.n_outputs * sizeof(Exact))
            or resize(<void**> &w.any_target, n * p.n_outputs * sizeof(double)) or resize(<void**> &w.varies, n * p.n_outputs)):
        return -1
    w.children_capacity = n
    return 0


cdef inline bint has_branches(const Problem* p) noexcept nogil:
    """Can a node have more branches than two, or a sample go to several?"""
    return (
        p.missing == FRACTIONAL or p.missing == OWN_BRANCH or p.missing == SURROGATE or p.nominal == DECLARED
        or p.nominal == PRESENT or p.ordinal == DECLARED or p.ordinal == PRESENT or p.continuous == INTERVALS
        or p.ordinal == INTERVALS
    )


cdef inline bint divides(const Problem* p) noexcept nogil:
    """Does growth divide samples, whose weights and sums it then overwrites?"""
    return p.weighted and p.missing == FRACTIONAL


cdef inline bint goes_two_ways(const Problem* p, bint two) noexcept nogil:
    """Are there two children, of samples that count 1 and have one target?"""
    return two and not p.weighted and p.n_outputs == 1


cdef inline int resize_stack(Work* w, int64_t extra) noexcept nogil:
    cdef int64_t n = w.stack_n + extra
    if n <= w.stack_capacity:
        return 0
    n = max(n, 2 * w.stack_capacity)
    if resize(<void**> &w.stack, n * sizeof(Pending)):
        return -1
    w.stack_capacity = n
    return 0


cdef inline int64_t n_waiting(const Work* w) noexcept nogil:
    """How many samples of the run have not reached a leaf?  Those of a divided node count as in hand until it is done."""
    cdef int64_t n = w.growing
    cdef int64_t i
    for i in range(w.stack_n):
        n += w.stack[i].n
    return n


cdef inline void free_lists(const Active* actives, int32_t n_active, size_t n, size_t entry_size) noexcept nogil:
    cdef int32_t i
    for i in range(n_active):
        if actives[i].listed:
            free_list(actives[i].at, n, entry_size)


cdef struct NodeSplit:             # of one node into its children
    const Cut* cut
    const Active* active           # the feature that is tested
    const char* lists              # where the node's own lists are, if not by themselves
    const uint32_t* rows
    int64_t n
    uint32_t missing_branch        # of samples whose value is missing
    int64_t n_groups               # of categories or values, in the scratch with the branch of each
    bint two                       # two branches, and no sample in both
    bint declared                  # a branch per declared category
    bint own                       # the last branch is that of the missing values
    int64_t n_children             # branches that hold samples
    int64_t n_branches
    int64_t n_spread               # samples that go to every child
    int64_t first                  # id of the first child
    bint swapped                   # the second of two children is the larger one
    int64_t largest                # child
    bint all_rows                  # each row is in one child, and closed children have theirs, too
    char* data                     # where the children's features and rows are, and the lists of a narrow block
    size_t spread_at               # where the rows and weights of samples in every child are kept
    uint32_t low                   # a threshold's samples on both sides
    uint32_t high
    double reach                   # of the split, see Frontier


cdef struct SharedFeatures:        # of a node with lists in a wide block, which threads share: to hand down, search, or bound
    const Problem* p
    const Block* block
    Work* owner
    const Pending* node            # NULL: to search, or to bound
    const Binned* binned           # targets, to bound by absolute error; else NULL
    const NodeSplit* split
    const Search* search
    bint shared                    # else their turn is here
    int32_t next
    int32_t n
    int status                     # mark: memory has run out


cdef inline int32_t next_feature(SharedFeatures* features, const Work* w) noexcept nogil:
    """The place of the feature whose turn is next, -1 if there is none."""
    if features.shared:
        return next_shared(w.team, features, w.which)
    features.next += 1
    return features.next - 1 if features.next <= features.n else -1


cdef inline char* new_histogram(const Problem* p, Work* w) noexcept nogil:
    """Room for one histogram more, which the run frees; NULL if memory runs out."""
    cdef char* taken
    if resize(<void**> &w.histograms, (w.histograms_made + 1) * sizeof(char*)):
        return NULL
    if resize(<void**> &w.made, (w.histograms_made + 1) * sizeof(char*)):
        return NULL
    taken = <char*> malloc(p.histogram_size)
    if taken != NULL:
        w.made[w.histograms_made] = taken
        w.histograms_made += 1
    return taken


cdef inline char* take_histogram(const Problem* p, Work* w) noexcept nogil:
    """Room for a histogram; NULL if memory runs out."""
    cdef Work* lender = w if w.lender == NULL else w.lender
    cdef Lock lock = NULL if w.team == NULL else w.team.histograms
    cdef char* taken
    hold(lock)
    if lender.n_histograms:
        lender.n_histograms -= 1
        taken = lender.histograms[lender.n_histograms]
    else:
        taken = new_histogram(p, lender)
    release(lock)
    return taken


cdef inline void give_histogram(Work* w, char* histogram) noexcept nogil:
    """Take back a histogram that is no longer needed, or NULL."""
    cdef Work* lender = w if w.lender == NULL else w.lender
    cdef Lock lock = NULL if w.team == NULL else w.team.histograms
    if histogram == NULL:
        return
    hold(lock)
    lender.histograms[lender.n_histograms] = histogram
    lender.n_histograms += 1
    release(lock)


cdef inline bint keeps_histograms(const Problem* p, const Work* w) noexcept nogil:
    """Is there room for histograms of nodes that wait in a queue?"""
    cdef const Work* lender = w if w.lender == NULL else w.lender
    cdef int64_t used
    if w.team == NULL:
        return True
    hold(w.team.histograms)
    used = lender.histograms_made - lender.n_histograms
    release(w.team.histograms)
    return used <= MOST_HISTOGRAMS * <int64_t> 1000000 // <int64_t> p.histogram_size


cdef inline void count_node(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, char* histogram,
) noexcept nogil:
    """Count the features that are marked in w.drawn in a histogram."""
    cdef Count count
    count.rows = rows
    count.n = n
    count.wanted = w.drawn
    count.histogram = histogram
    count_together(p, block, w.team, w.which, &count, w.scratch.watch)


cdef inline int move_node(Work* w, Pending* node) noexcept nogil:
    """Let what is below a node grow in this thread's own table, if it has one.  -1 if memory runs out."""
    cdef NodeTable* t = w.small.work.nodes
    cdef Moved* moved = w.moved
    if moved == NULL:
        return 0
    if reserve_nodes(t, 1):
        return -1
    if moved.n + 2 > moved.capacity:
        if resize(<void**> &moved.ids, (2 * moved.capacity + 64) * sizeof(int64_t)):
            return -1
        moved.capacity = 2 * moved.capacity + 64
    moved.ids[moved.n] = node.id
    moved.ids[moved.n + 1] = t.n
    moved.n += 2
    blank_node(t, t.n, -1)
    t.weight[t.n] = w.nodes.weight[node.id]
    t.impurity[t.n] = w.nodes.impurity[node.id]
    memcpy(&t.value[t.n * t.width], &w.nodes.value[node.id * t.width], t.width * sizeof(double))   # of branches without samples
    node.id = t.n
    t.n += 1
    return 0


cdef inline void drop_node(Work* w, const Pending* node, entry_t width) noexcept nogil:
    """Free what a node owns that is not split: in a wide block its lists, and its histogram."""
    if entry_t is uint64_t:
        free_lists(<const Active*> (w.arenas[node.depth % 2].data + node.actives_at), node.n_active, node.n, sizeof(entry_t))
    give_histogram(w, node.histogram)


cdef inline void mark_wanted(const Problem* p, Work* w, const Active* actives, int32_t n_active) noexcept nogil:
    cdef int32_t i
    memset(w.drawn, 0, p.n_features)
    for i in range(n_active):
        w.drawn[actives[i].feature] = 1


cdef inline int count_searched(
    const Problem* p, const Block* block, Work* w, Pending* node, const Search* search,
) noexcept nogil:
    """Count the features of a node that is searched in a histogram of its own.  -1 if memory runs out."""
    cdef int phase
    node.histogram = take_histogram(p, w)
    if node.histogram == NULL:
        return -1
    mark_wanted(p, w, search.actives, search.n_active)
    phase = enter(COUNT)
    note(COUNT, node.n * <int64_t> search.n_active)
    count_node(p, block, w, search.rows, node.n, node.histogram)
    enter(phase)
    return 0


cdef inline void share_weights(
    const Problem* p, Block* block, const char* data, size_t spread_at, int64_t n_spread, double share,
) noexcept nogil:
    """Set the weights of the samples that went to every child of a node to their part in one of them.

    The weights saved at the node stay until its last child is done, so siblings may overwrite one another's.
    """
    cdef const uint32_t* rows = <const uint32_t*> (data + spread_at)
    cdef const int64_t* weights = <const int64_t*> (data + spread_at + pad(n_spread * sizeof(uint32_t)))
    cdef int64_t i
    for i in range(n_spread):
        set_part(p, block, rows[i], spread_weight(weights[i], share))


cdef inline void free_work(Work* w, bint loose) noexcept nogil:
    """Free a run's memory; of a run that has failed also what belongs to the nodes that wait."""
    cdef Pending* node
    cdef int64_t i
    for i in range(w.histograms_made):
        free(w.made[i])
    free(w.made)
    free(w.histograms)
    while w.stack_n:
        w.stack_n -= 1
        node = &w.stack[w.stack_n]
        if loose:
            free_lists(<const Active*> (w.arenas[node.depth % 2].data + node.actives_at), node.n_active, node.n, sizeof(uint64_t))
    free_arena(&w.arenas[0])
    free_arena(&w.arenas[1])
    close_room(&w.room)
    free(w.stack)
    free(w.children)
    free(w.child_counts)
    free(w.sums)
    free(w.any_target)
    free(w.varies)
    memset(w, 0, sizeof(Work))


cdef inline void mark_allowed(
    const FeatureSets* sets, int32_t n_features, const int32_t* parent, const int32_t* feature, int64_t node, uint8_t* allowed,
) noexcept nogil:
    """allowed[f]: does a set hold f and every feature that is tested at `node` and above it?  `node` -1: nothing is tested yet.

    Its cost depends on the path and on the sets that contain its features.
    """
    cdef int32_t* path = sets.path
    cdef int32_t* hits = sets.hits
    cdef int32_t n = 0
    cdef int32_t i
    cdef int64_t at, j
    cdef int32_t chosen
    memset(allowed, 0, n_features)
    while node >= 0:
        if not allowed[feature[node]]:
            allowed[feature[node]] = 1
            path[n] = feature[node]
            n += 1
        node = parent[node]
    if n == 0 or (sets.pairwise and n == 1):
        memset(allowed, 1, n_features)
        return
    if sets.pairwise:
        return
    for i in range(n):
        for at in range(sets.sets_start[path[i]], sets.sets_start[path[i] + 1]):
            chosen = sets.sets_of[at]
            hits[chosen] += 1
            if hits[chosen] == n:
                for j in range(sets.members_start[chosen], sets.members_start[chosen + 1]):
                    allowed[sets.members[j]] = 1
    for i in range(n):
        for at in range(sets.sets_start[path[i]], sets.sets_start[path[i] + 1]):
            hits[sets.sets_of[at]] = 0
