"""A node and its cut become children: they are written, opened and given their rows and features.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.bounds.screen cimport start_screen
from fasttree._engine.grow.features cimport (
    count_histograms, count_in_children, partition_list, partition_rows, push_children, receive_feature,
)
from fasttree._engine.grow.nodes cimport NodeTable, add_cut, add_range, add_to_table, blank_node, is_leaf, reserve_nodes
from fasttree._engine.grow.sides cimport assign_branches
from fasttree._engine.grow.surrogates cimport Target, add_surrogates_of, heavier_branch
from fasttree._engine.grow.search cimport search_some
from fasttree._engine.grow.team cimport LEAST_SHARED, end_sharing, hold, is_beyond, offer_features, release
from fasttree._engine.grow.totals cimport count_children, heaviest_child
from fasttree._engine.grow.work cimport (
    LEAST_WIDE, Child, NodeSplit, SharedFeatures, Work, drop_node, free_lists, is_bounded, keeps_histograms, mark_allowed,
    next_feature, reserve_children, resize_stack, rows_of, stays_wide,
)
from fasttree._engine.memory cimport free_list, pad, reserve
from fasttree._engine.random cimport mix
from fasttree._engine.risk.medians cimport rank_targets
from fasttree._engine.scan.cut cimport bounds_of, form_of
from fasttree._engine.scan.order cimport mean_value
from fasttree._engine.types cimport (
    BRANCH_CUT, DECLARED, DIRECTION, FRACTIONAL, INTERVAL_CUT, KNOWN_CUT, MEDIANS, MERGE_CUT, NO_CUT, NODE_CATEGORY,
    NODE_INTERVALS, NODE_KNOWN, NODE_NOMINAL, NODE_THRESHOLD, OWN_BRANCH, REFUSE, SPREAD, STAY, SURROGATE, THRESHOLD_CUT,
    TO_SHARES, TO_STOP, Active, Arena, Block, Bounds, Cut, Pending, Problem, Scratch, Search, Totals, entry_t,
)
from fasttree._engine.watch cimport COUNT, PARTITION, SMALL_NODES, enter, interrupted, note, set_mark


cdef inline int write_test(
    const Problem* p, const Block* block, Work* w, int64_t parent, const Cut* cut, const NodeSplit* split,
) noexcept nogil:
    """Write the kind of an inner node, with its threshold, categories or intervals.  -1 if memory runs out."""
    cdef NodeTable* t = w.nodes
    cdef Scratch* s = w.scratch
    cdef const uint32_t* origin = block.origin
    cdef int64_t i
    cdef uint32_t code = 1
    cdef uint32_t low, high
    if cut.form == THRESHOLD_CUT:
        t.kind[parent] = NODE_THRESHOLD
        t.row_low[parent] = split.low if origin == NULL else origin[split.low]
        t.row_high[parent] = split.high if origin == NULL else origin[split.high]
        return 0
    if cut.form == KNOWN_CUT or split.declared:
        t.kind[parent] = NODE_KNOWN if cut.form == KNOWN_CUT else NODE_CATEGORY
        return 0
    t.kind[parent] = NODE_INTERVALS if cut.form == INTERVAL_CUT else NODE_NOMINAL
    if cut.form == INTERVAL_CUT:
        for i in range(1, split.n_groups):
            if s.branch_of_group[i] == s.branch_of_group[i - 1]:
                continue
            low, high = s.group_row[i - 1], s.group_row[i]
            if origin != NULL:
                low, high = origin[low], origin[high]
            if add_cut(t, parent, low, high):
                return -1
        return 0
    for i in range(split.n_groups):
        if cut.form == MERGE_CUT and add_range(t, parent, code, s.group_code[i], cut.n_branches):
            return -1
        if add_to_table(t, parent, s.group_code[i], <int32_t> s.branch_of_group[i]):
            return -1
        code = s.group_code[i] + 1
    if cut.form == MERGE_CUT and add_range(t, parent, code, p.n_codes[cut.feature], cut.n_branches):
        return -1
    return 0


cdef inline int add_split(
    const Problem* p, const Block* block, Work* w, int64_t parent, const Cut* cut, NodeSplit* split,
) noexcept nogil:
    """As `write_split`, with room for the children here."""
    cdef NodeTable* t = w.nodes
    cdef int64_t i
    if w.team == NULL and reserve_nodes(t, split.n_branches):
        return -1
    if w.team == NULL or block.tiles == NULL:          # else the node has two, see `queue`
        split.first = t.n
        t.n += split.n_branches
    t.first_child[parent] = <int32_t> split.first
    t.n_branches[parent] = <int32_t> split.n_branches
    t.feature[parent] = cut.feature
    for i in range(split.first, split.first + split.n_branches):
        blank_node(t, i, parent)
        if split.n_branches > split.n_children:
            # a category that does not occur: an empty leaf that predicts as its parent
            t.n_samples[i] = 0
            t.weight[i] = 0
            t.impurity[i] = t.impurity[parent]
            memcpy(&t.value[i * t.width], &t.value[parent * t.width], t.width * sizeof(double))
    for i in range(split.n_children):
        w.children[i].id = split.first + (w.scratch.group_code[i] - 1 if split.declared and i < split.n_groups else i)
    if split.own:
        w.children[split.n_children - 1].id = split.first + split.n_branches - 1
    return write_test(p, block, w, parent, cut, split)


cdef inline int write_split(
    const Problem* p, const Block* block, Work* w, int64_t parent, const Cut* cut, NodeSplit* split,
) noexcept nogil:
    """Turn a leaf into an inner node with children that are leaves, still without samples.  -1 if memory runs out."""
    cdef int status
    if reserve_children(p, w, 2 * split.n_children):
        return -1
    if w.team == NULL:
        return add_split(p, block, w, parent, cut, split)
    hold(w.team.lock)
    status = add_split(p, block, w, parent, cut, split)
    release(w.team.lock)
    return status


cdef inline int32_t branch_of_missing(const Problem* p, const Work* w, const Cut* cut, const NodeSplit* split) noexcept nogil:
    """Where a missing value goes at prediction.

    Where growth saw none, it goes to the heaviest child (learned directions: to that with most samples), the last on a tie.
    Samples that followed the heaviest child cannot have made it lighter.
    """
    cdef int64_t i
    cdef int64_t best = split.n_children - 1
    if p.missing == FRACTIONAL:
        return TO_SHARES
    if p.missing == REFUSE:
        return TO_STOP
    if cut.missing >= 0:
        best = cut.missing
    elif p.missing == DIRECTION:
        for i in range(split.n_children - 1):
            if w.children[i].totals.n > w.children[best].totals.n:
                best = i
    else:
        best = heaviest_child(w, split.n_children)
    return <int32_t> (w.children[best].id - split.first)


cdef inline void bound_children(
    const Problem* p, Work* w, const Pending* node, const Cut* cut, int64_t n_children,
) noexcept nogil:
    """Bounds of the children's values: the node's, and halfway between the two where the feature has an order."""
    cdef Totals* totals
    cdef double middle = 0
    cdef int64_t b, rising
    for b in range(n_children):
        w.children[b].totals.low = node.low
        w.children[b].totals.high = node.high
    if cut.form != THRESHOLD_CUT or p.monotone[cut.feature] == 0:
        return
    for b in range(2):
        totals = &w.children[b].totals
        middle += 0.5 * mean_value(p, totals.counts, totals.sum, totals.weight)
    rising = p.monotone[cut.feature] > 0
    w.children[1 - rising].totals.high = middle
    w.children[rising].totals.low = middle


cdef inline void describe_branches(const Problem* p, const Work* w, const Cut* cut, NodeSplit* split) noexcept nogil:
    """Count the branches of a cut, after `assign_branches`, and those that hold samples."""
    cdef int64_t n_codes = p.n_codes[cut.feature] - 1
    cdef int64_t i
    split.n_children = (split.n_groups if cut.form == BRANCH_CUT else 2) + split.own
    if cut.form == INTERVAL_CUT or cut.form == MERGE_CUT:
        split.n_children = cut.n_branches
    split.n_branches = n_codes + split.own if split.declared else split.n_children
    if cut.form != MERGE_CUT:
        return
    # categories in no group share the last branch; samples may reach it or not
    split.n_branches += split.n_groups < n_codes
    for i in range(split.n_groups):
        if w.scratch.branch_of_group[i] == <uint32_t> cut.n_branches:
            split.n_children = cut.n_branches + 1
            split.n_branches = split.n_children


cdef inline void open_child(
    const Problem* p, const Block* block, Work* w, const Pending* node, const NodeSplit* split, int64_t b, bint loose,
) noexcept nogil:
    """Decide whether and how child b is searched."""
    cdef Child* child = &w.children[b]
    cdef NodeTable* t = w.nodes
    child.open = not (
        is_leaf(p, &child.totals, t.impurity[child.id], node.depth + 1)
        or is_beyond(t.frontier, split.reach, t.impurity[child.id] * t.weight[child.id])
    )
    child.scans = not loose or stays_wide(p, block, w, child.totals.n, node.depth + 1, node.sorts)
    if loose and block.tiles != NULL and not keeps_histograms(p, w):
        child.scans = False            # counted when it comes first
    child.bounded = is_bounded(p, block, child.totals.n, node.sorts)
    child.done = False
    child.histogram = NULL
    child.screen.possible = False
    child.screen.least = 0
    child.n_cuts = 0
    child.key = mix(node.key + 1 + <uint64_t> (child.id - split.first))
    child.search.totals = &child.totals
    child.search.n_active = 0
    child.search.cuts = w.scratch.cuts if b == 0 else w.scratch.cuts_two
    child.search.at_least = -INFINITY
    child.search.known = -INFINITY
    child.search.sorts = node.sorts


cdef inline void screen_child(const Problem* p, const Block* block, const Scratch* s, Child* child, int64_t b) noexcept nogil:
    """Let features of child b be screened before they are searched."""
    cdef Bounds limits = bounds_of(p, child.totals.n, child.totals.weight, False)
    child.screen.share = s.shares + b * (block.n + 1)
    child.screen.step = s.steps + b * p.width
    child.screen.cross = s.crosses + b * p.width
    child.screen.total = s.class_totals + b * p.width
    start_screen(p, &child.totals, max(limits.n_min, limits.w_min), min(limits.n_max, limits.w_max), &child.screen)


cdef inline size_t lay_out_children(
    const Problem* p, const Block* block, Work* w, const Pending* node, NodeSplit* split, entry_t width,
) noexcept nogil:
    """Open the children, and give their features, rows and lists places in the other arena; returns where they end."""
    cdef Child* child
    cdef int64_t i, b
    cdef size_t top = node.below
    cdef bint loose = entry_t is uint64_t
    split.n_spread = 0
    if p.missing == FRACTIONAL and not split.two:
        for i in range(node.n):
            split.n_spread += w.scratch.branch[split.rows[i]] == SPREAD
    split.spread_at = top
    if split.n_spread:
        top += pad(split.n_spread * sizeof(uint32_t)) + pad(split.n_spread * sizeof(int64_t))
    # a closed child's rows are written, too, where its siblings' counts are the rest of the node's
    split.all_rows = (p.cells or node.histogram != NULL) and (split.two or (p.missing == FRACTIONAL and split.n_spread == 0))
    split.largest = 0
    for i in range(1, split.n_children):
        if w.children[i].totals.n > w.children[split.largest].totals.n:
            split.largest = i
    # of two children the smaller one is expanded first, being laid out last: so fewer nodes wait while the tree grows
    split.swapped = split.n_children == 2 and w.children[1].totals.n > w.children[0].totals.n
    for i in range(split.n_children):
        b = 1 - i if split.swapped else i
        child = &w.children[b]
        open_child(p, block, w, node, split, b, loose)
        if not child.open and not split.all_rows:
            continue
        child.region = top
        child.actives_at = top
        child.rows_at = top + pad(node.n_active * sizeof(Active))
        child.cursor = child.rows_at + (pad((child.totals.n + 1) * sizeof(uint32_t)) if node.rows == NULL else 0)
        top = child.cursor
        if not loose and child.open and not child.bounded:
            # a partition may write one entry past the end of a list
            top += pad((child.totals.n * node.n_active + 1) * sizeof(entry_t)) + p.cells
            if p.screens:
                screen_child(p, block, w.scratch, child, b)
    return top


cdef inline void save_spread(const Block* block, const Scratch* s, const NodeSplit* split) noexcept nogil:
    """Keep the rows and weights of the samples that go to every child."""
    cdef uint32_t* rows = <uint32_t*> (split.data + split.spread_at)
    cdef int64_t* weights = <int64_t*> (split.data + split.spread_at + pad(split.n_spread * sizeof(uint32_t)))
    cdef int64_t kept = 0
    cdef int64_t i
    for i in range(split.n):
        if s.branch[split.rows[i]] == SPREAD:
            rows[kept] = split.rows[i]
            weights[kept] = block.weight[split.rows[i]]
            kept += 1


cdef inline int open_children(
    const Problem* p, const Block* block, Work* w, const Pending* node, NodeSplit* split, entry_t width,
) noexcept nogil:
    """Decide which children may be split again, and give them their rows.  -1 if memory runs out."""
    cdef Arena* arena = &w.arenas[1 - node.depth % 2]
    cdef size_t top = lay_out_children(p, block, w, node, split, width)
    cdef Search* search
    cdef int64_t b
    # if more is needed, as much as the other arena has: untouched memory costs nothing, and nothing has to move again
    if top > arena.size and reserve(arena, max(top, w.arenas[node.depth % 2].size if node.rows == NULL else 0)):
        return -1
    split.data = arena.data
    for b in range(split.n_children):
        search = &w.children[b].search
        search.actives = <Active*> (arena.data + w.children[b].actives_at)
        search.rows = <const uint32_t*> (arena.data + w.children[b].rows_at)
        search.lists = NULL if entry_t is uint64_t else arena.data
        if node.rows != NULL:
            search.rows = node.rows + (w.children[0].totals.n if b else 0)
    partition_rows(p, w, node, split)
    if split.n_spread:
        save_spread(block, w.scratch, split)
    return 0


cdef inline void begin_split(
    const Problem* p, const Work* w, const Pending* node, NodeSplit* split, entry_t width,
) noexcept nogil:
    """Decide what the branches of a node's cut hold, before any of them is written."""
    cdef const Cut* cut = &node.cut
    cdef const char* data = w.arenas[node.depth % 2].data
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef int32_t i
    split.cut = cut
    split.lists = data
    if entry_t is uint64_t:
        split.lists = NULL             # they are by themselves
    split.rows = rows_of(node, data)
    split.n = node.n
    split.missing_branch = <uint32_t> cut.missing if cut.missing >= 0 else SPREAD
    if p.missing == SURROGATE:
        split.missing_branch = STAY
    for i in range(node.n_active):
        if actives[i].feature == cut.feature:
            split.active = &actives[i]
    split.own = p.missing == OWN_BRANCH and cut.missing >= 0 and cut.form != KNOWN_CUT
    if p.missing == FRACTIONAL:        # no sample is divided where all have a value
        split.two = cut.form == THRESHOLD_CUT and cut.whole
    else:
        split.two = cut.form != BRANCH_CUT and cut.form != INTERVAL_CUT and p.missing != SURROGATE and not split.own
    split.declared = cut.form == BRANCH_CUT and form_of(p, cut.feature) == DECLARED
    split.low = 0
    split.high = 0
    split.reach = node.reach
    split.first = node.children


cdef inline int send_unknown(
    const Problem* p, const Block* block, Work* w, const Pending* node, const NodeSplit* split, entry_t width,
) noexcept nogil:
    """Find a node's surrogates, and count the samples that they or the heavier branch take.  -1 if memory runs out."""
    cdef Target target
    if add_surrogates_of(p, block, w, node, split, &target, width):
        return -1
    w.nodes.missing[node.id] = heavier_branch(p, &target)
    if target.n_missing:
        count_children(p, block, w, split.rows, node.n, split.n_children, split.two)
    return 0


cdef inline int hand_down_feature(
    const Problem* p, const Block* block, Work* w, const Pending* node, const NodeSplit* split, const Active* active,
    entry_t width,
) noexcept nogil:
    """Pass on one feature of a node to its children.  -1 if memory runs out."""
    cdef const Cut* cut = split.cut
    cdef char* lists = split.data
    cdef bint loose = entry_t is uint64_t
    cdef bint large = node.n >= LEAST_WIDE
    cdef bint counted
    cdef int64_t b
    cdef int used_up
    if loose:
        lists = NULL
    if (
        (cut.form == BRANCH_CUT and active.feature == cut.feature)
        or (p.sets != NULL and not w.allowed[active.feature])
        or (large and interrupted(w.scratch.watch, node.n))
    ):
        # it leaves the path: every child holds one category, or the feature must not meet those above, or growth ends
        if loose and active.listed:
            free_list(active.at, node.n, sizeof(entry_t))
        return 0
    if active.listed:
        used_up = partition_list(w, split, <entry_t*> (split.lists + active.at), lists)
        if loose and used_up != 1:
            free_list(active.at, node.n, sizeof(entry_t))
        if used_up < 0:
            return -1
    counted = p.cells and split.all_rows and not loose and not active.listed and node.histogram == NULL
    if counted:
        for b in range(split.n_children):
            w.children[b].cursor = pad(w.children[b].cursor)
        count_in_children(p, block, w, split, active)
    for b in range(split.n_children):
        if w.children[b].open and not w.children[b].done:
            receive_feature(p, block, w, &w.children[b], active[0], counted, width)
    return 0


cdef inline void hand_down_some(SharedFeatures* features, Work* w, entry_t width) noexcept nogil:
    """Pass on features whose turn comes: each has its place among those of a child, and among their cuts."""
    cdef const Pending* node = features.node
    cdef const NodeSplit* split = features.split
    cdef const Active* actives = <const Active*> (features.owner.arenas[node.depth % 2].data + node.actives_at)
    cdef int32_t i = next_feature(features, w)
    cdef int64_t b
    while i >= 0:
        for b in range(split.n_children):
            w.children[b].search.n_active = i
            w.children[b].n_cuts = i
            if features.shared:        # a perfect split of a later feature does not make an earlier one needless
                w.children[b].done = False
        if hand_down_feature(features.p, features.block, w, node, split, &actives[i], width):
            set_mark(&features.status)
        i = next_feature(features, w)


cdef inline int hand_down_together(
    const Problem* p, Block* block, Work* w, const Pending* node, const NodeSplit* split, entry_t width,
) noexcept nogil:
    """Pass on the features of a node of a wide block, with the help of threads that rest.  -1 if memory runs out."""
    cdef SharedFeatures features
    cdef Search* search
    cdef int64_t b
    cdef int32_t i, n_active, n_cuts
    memset(&features, 0, sizeof(SharedFeatures))
    features.p = p
    features.block = block
    features.owner = w
    features.node = node
    features.split = split
    features.n = node.n_active
    for b in range(split.n_children):
        w.children[split.n_children + b] = w.children[b]           # others start with them
        search = &w.children[b].search
        for i in range(node.n_active if w.children[b].open else 0):
            search.actives[i].feature = -1
            if p.lazy:
                search.cuts[i].form = NO_CUT
    if node.n >= LEAST_SHARED and block.tiles == NULL:
        offer_features(w.team, &features, features.n, &features.shared)
    hand_down_some(&features, w, width)
    if features.shared:
        end_sharing(w.team, w.which, w.scratch.watch)
    for b in range(split.n_children):
        search = &w.children[b].search
        n_active = n_cuts = 0
        for i in range(node.n_active if w.children[b].open else 0):
            if search.actives[i].feature >= 0:
                search.actives[n_active] = search.actives[i]
                n_active += 1
            if p.lazy and search.cuts[i].form != NO_CUT:
                search.cuts[n_cuts] = search.cuts[i]
                n_cuts += 1
        search.n_active = n_active
        w.children[b].n_cuts = n_cuts
        if features.status:
            free_lists(search.actives, n_active, w.children[b].totals.n, sizeof(entry_t))
    return -(features.status != 0)


cdef inline void help_with_features(SharedFeatures* features, Work* w) noexcept nogil:
    """Hand down or search features of a node that another thread has in hand."""
    cdef Scratch* s = w.scratch
    cdef const Scratch* given = features.owner.scratch
    cdef uint8_t* side = s.side
    cdef uint32_t* branch = s.branch
    cdef int64_t* signed_weight = s.signed_weight
    cdef int64_t n, b
    s.side, s.branch, s.signed_weight = given.side, given.branch, given.signed_weight
    if features.node == NULL:
        search_some(features, w, <uint64_t> 0)
    elif reserve_children(features.p, w, features.split.n_children) == 0:
        n = features.split.n_children
        for b in range(n):
            w.children[b] = features.owner.children[n + b]
            w.children[b].search.totals = &w.children[b].totals
        hand_down_some(features, w, <uint64_t> 0)
    s.side, s.branch, s.signed_weight = side, branch, signed_weight


cdef inline int hand_down(
    const Problem* p, Block* block, Work* w, const Pending* node, const NodeSplit* split, entry_t width,
) noexcept nogil:
    """Pass on each feature of a node to its children.  -1 if memory runs out."""
    cdef const Active* actives = <const Active*> (w.arenas[node.depth % 2].data + node.actives_at)
    cdef int32_t i
    if entry_t is uint64_t:
        return hand_down_together(p, block, w, node, split, width)
    else:
        for i in range(node.n_active):
            if hand_down_feature(p, block, w, node, split, &actives[i], width):
                return -1
        return 0


cdef inline int expand(const Problem* p, Block* block, Work* w, const Pending* node, entry_t width) noexcept nogil:
    """Split one node: write its children, give those that may grow on their rows and lists, find their cuts, push them.

    The lists of a narrow block are in two arenas that alternate with depth, each used as a stack.  Those of a wide block are
    allocated one by one and freed once they are partitioned, so that it holds each list once.  Returns -1 if memory runs out.
    """
    cdef NodeTable* t = w.nodes
    cdef NodeSplit split
    cdef double gain
    cdef int phase = enter(PARTITION if node.histogram != NULL else SMALL_NODES)
    note(PARTITION if node.histogram != NULL else SMALL_NODES, node.n)
    begin_split(p, w, node, &split, width)
    if p.sweep == MEDIANS:
        rank_targets(p, block, split.rows, node.n)
    assign_branches(p, block, w.scratch, &split, width)
    if w.scratch.watch.over:           # perhaps before the branches were those of the search
        drop_node(w, node, width)
        return -1
    describe_branches(p, w, &node.cut, &split)
    if resize_stack(w, split.n_children) or write_split(p, block, w, node.id, &node.cut, &split):
        drop_node(w, node, width)
        return -1
    gain = count_children(p, block, w, split.rows, node.n, split.n_children, split.two) - node.cut.penalty
    t.gain[node.id] = max(gain, 0.0) / t.weight[node.id]
    t.missing[node.id] = branch_of_missing(p, w, &node.cut, &split)
    if p.monotone != NULL:
        bound_children(p, w, node, &node.cut, split.n_children)
    if p.sets != NULL:
        mark_allowed(p.sets, p.n_features, t.parent, t.feature, node.id, w.allowed)
    if ((p.missing == SURROGATE and send_unknown(p, block, w, node, &split, width))
            or open_children(p, block, w, node, &split, width)):
        drop_node(w, node, width)
        return -1
    if entry_t is uint32_t:
        enter(SMALL_NODES)
    if hand_down(p, block, w, node, &split, width):
        return -1
    if block.tiles != NULL:
        enter(COUNT)
        if count_histograms(p, block, w, node, &split):
            return -1
    enter(phase)
    push_children(p, block, w, node, &split, width)
    return 0
