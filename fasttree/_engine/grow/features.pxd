"""Lists, counts and histograms of the children of a node, feature by feature, and their search.  Header only.

Each feature of the node is passed on to the children once.  A child's list is searched as soon as it is written, while it is
still in the cache.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.bounds.refine cimport list_from_fine
from fasttree._engine.bounds.screen cimport count_on, expect, largest_along_list, largest_by_code
from fasttree._engine.grow.partition cimport (
    divide_rows, list_from_codes, mark_sides, partition_one, partition_two,
)
from fasttree._engine.grow.search cimport choose_cut, most_of_node, search_bounded, search_features
from fasttree._engine.grow.team cimport note_reach
from fasttree._engine.grow.work cimport (
    Child, NodeSplit, Work, count_node, free_lists, give_histogram, mark_wanted, share_weights, take_histogram,
)
from fasttree._engine.memory cimport can_shrink, free_list, new_list, shrink_list
from fasttree._engine.risk.impurity cimport tie_limit
from fasttree._engine.scan.counts cimport count_cells, size_of_cells, take_cells, take_rows
from fasttree._engine.scan.cut cimport form_of, no_cut, note_known
from fasttree._engine.scan.feature cimport scan_feature
from fasttree._engine.scan.tiles cimport subtract_histogram
from fasttree._engine.types cimport (
    NO_CUT, ORDERED, SPREAD, TO_HEAVIEST, Active, Block, Cut, Pending, Problem, Scratch, code_of, entry_t, row_of,
)
from fasttree._engine.watch cimport COUNT, enter, interrupted, note


cdef inline void put_row(Child* child, uint32_t row) noexcept nogil:
    (<uint32_t*> child.search.rows)[child.filled] = row
    child.filled += 1


cdef inline void put_entry(Child* child, entry_t entry, char* base) noexcept nogil:
    """An open child's list starts at its cursor."""
    if child.open:
        (<entry_t*> (base + child.cursor))[child.filled] = entry
        child.filled += 1


cdef inline void partition_rows(const Problem* p, Work* w, const Pending* node, const NodeSplit* split) noexcept nogil:
    """The rows of every open child, or of `all_rows`."""
    cdef Scratch* s = w.scratch
    cdef const uint32_t* rows = split.rows
    cdef uint32_t* right
    cdef int64_t i, b, c
    if node.rows != NULL or (split.two and split.all_rows):
        right = <uint32_t*> w.children[1].search.rows if node.rows == NULL else <uint32_t*> s.spare_records
        divide_rows(rows, node.n, s.side, False, <uint32_t*> w.children[0].search.rows, right)
        if node.rows != NULL:          # in their place
            memcpy(node.rows + w.children[0].totals.n, right, w.children[1].totals.n * sizeof(uint32_t))
        return
    if split.n_children == 2 and not split.two:
        mark_sides(rows, node.n, s.branch, s.side)
        if split.all_rows or (w.children[0].open and w.children[1].open):
            divide_rows(
                rows, node.n, s.side, True, <uint32_t*> w.children[0].search.rows, <uint32_t*> w.children[1].search.rows)
            return
    for b in range(split.n_children):
        w.children[b].filled = 0
    for i in range(node.n):
        b = s.side[rows[i]] if split.two else s.branch[rows[i]]
        if b < split.n_children:           # nearly all
            if w.children[b].open or split.all_rows:
                put_row(&w.children[b], rows[i])
        elif b == SPREAD:
            for c in range(split.n_children):
                if w.children[c].open or split.all_rows:
                    put_row(&w.children[c], rows[i])


cdef inline void partition_many(
    Work* w, const entry_t* entries, int64_t n, int64_t n_children, char* base,
) noexcept nogil:
    """Any number of children; a SPREAD sample is in each, one that may STAY in none.  An open list starts at its cursor."""
    cdef Scratch* s = w.scratch
    cdef const uint32_t* branch = s.branch
    cdef Child* children = w.children
    cdef int64_t i, b, c
    if n_children == 2:
        if w.children[0].open and w.children[1].open:
            partition_two(
                entries, n, s.side, True, <entry_t*> (base + w.children[0].cursor), <entry_t*> (base + w.children[1].cursor))
            return
        for b in range(2):
            if w.children[b].open:
                partition_one(entries, n, s.side, True, b, <entry_t*> (base + w.children[b].cursor))
        return
    for b in range(n_children):
        w.children[b].filled = 0
    for i in range(n):
        b = branch[row_of(entries[i])]
        if b < n_children:                 # nearly all
            put_entry(&children[b], entries[i], base)
        elif b == SPREAD:
            for c in range(n_children):
                put_entry(&children[c], entries[i], base)


cdef inline int partition_list(Work* w, const NodeSplit* split, entry_t* entries, char* lists) noexcept nogil:
    """Write the part of a sorted list that belongs to each open child at the child's cursor.

    In a wide block, the largest child takes over the list in its place, which spares fresh pages.  Returns whether the list is
    used up so, -1 if memory runs out.
    """
    cdef Scratch* s = w.scratch
    cdef int64_t n = split.n
    cdef Child* child
    cdef Child* heir = NULL
    cdef entry_t* outs[2]
    cdef bint wants[2]
    cdef int64_t b
    if entry_t is uint64_t:
        child = &w.children[split.largest]
        if child.open and not child.done and can_shrink(child.totals.n, sizeof(entry_t)):
            heir = child
            child.cursor = <size_t> entries
        for b in range(split.n_children):
            child = &w.children[b]
            if child.open and not child.done and child != heir:
                child.cursor = <size_t> new_list(&w.room, child.totals.n, sizeof(entry_t))
                if child.cursor == 0:
                    while b:
                        b -= 1
                        child = &w.children[b]
                        if child.open and not child.done and child != heir:
                            free_list(child.cursor, child.totals.n, sizeof(entry_t))
                    return -1
    # an heir is written behind where the list is read
    for b in range(2 if split.two else 0):
        wants[b] = w.children[b].open and not w.children[b].done
        outs[b] = <entry_t*> (lists + w.children[b].cursor)
    if not split.two:
        partition_many(w, entries, n, split.n_children, lists)
    elif wants[0] and wants[1]:
        partition_two(entries, n, s.side, False, outs[0], outs[1])
    elif wants[0]:
        partition_one(entries, n, s.side, False, 0, outs[0])
    elif wants[1]:
        partition_one(entries, n, s.side, False, 1, outs[1])
    if heir == NULL:
        return 0
    heir.cursor = shrink_list(heir.cursor, n, heir.totals.n, sizeof(entry_t))
    return 1


cdef inline bint wants_counts(const Problem* p, const Child* child, int32_t f) noexcept nogil:
    """Is a feature counted in a child?"""
    return child.open and not child.done and child.totals.n >= p.list_below[f]


cdef inline void count_in_children(
    const Problem* p, const Block* block, Work* w, const NodeSplit* split, const Active* active,
) noexcept nogil:
    """Count a feature's codes in the children where that is wanted, at their cursors.

    The counts of the largest child are the rest of the node's counts, if these were kept.
    """
    cdef int32_t f = active.feature
    cdef Child* child = &w.children[split.largest]
    cdef bint has_rest = active.at and wants_counts(p, child, f)
    cdef char* cells
    cdef char* rest = split.data + child.cursor
    cdef int64_t b
    if has_rest:
        memcpy(rest, split.lists + active.at, size_of_cells(p, f))
    for b in range(split.n_children):
        child = &w.children[b]
        cells = split.data + child.cursor
        if has_rest and b == split.largest:
            continue
        if wants_counts(p, child, f):
            count_cells(p, block, f, child.search.rows, child.totals.n, cells)
            if has_rest:
                take_cells(p, f, cells, rest)
        elif has_rest:
            take_rows(p, block, f, child.search.rows, child.totals.n, rest)


cdef inline void add_cut_of(const Problem* p, Child* child, const Cut* found) noexcept nogil:
    """Keep a feature's best cut, in the order of features; later cuts must gain as much."""
    cdef Cut* cuts = child.search.cuts
    cdef int32_t i = child.n_cuts
    while i > 0 and cuts[i - 1].feature > found.feature:
        cuts[i] = cuts[i - 1]
        i -= 1
    cuts[i] = found[0]
    child.n_cuts += 1
    note_known(p, &child.search, found)
    expect(&child.screen, tie_limit(found.gain, child.totals.risk))


cdef inline void search_promising(const Problem* p, const Block* block, Work* w, Child* child, entry_t width) noexcept nogil:
    """Search the features that wait and may still win."""
    cdef Active* actives = child.search.actives
    cdef Cut found
    cdef bint constant = False
    cdef int32_t i
    for i in range(child.search.n_active):
        if actives[i].quotient < 0 or actives[i].quotient < child.screen.least:
            continue
        if not interrupted(w.scratch.watch, child.totals.n):
            found = scan_feature(p, block, w.scratch, &child.search, &actives[i], width, &constant)
            if found.form != NO_CUT:
                add_cut_of(p, child, &found)


cdef inline void list_feature(
    const Problem* p, const Block* block, Scratch* s, const Child* child, Active* made, entry_t width,
) noexcept nogil:
    """Sort a list for a child at its cursor, of a feature that has none, where that is cheaper than to count codes."""
    cdef int32_t f = made.feature
    cdef const uint32_t* rows = child.search.rows
    cdef entry_t* out = <entry_t*> (child.search.lists + child.cursor)
    cdef bint loose = entry_t is uint64_t
    if p.histogram and p.binned[f]:
        list_from_fine(block, f, rows, child.totals.n, out, <uint32_t*> s.spare_records)
    elif not loose and child.totals.n < p.list_below[f]:
        list_from_codes(block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, child.totals.n, out, width)
    else:
        return
    made.listed = True
    made.at = child.cursor


cdef inline float promise(
    const Problem* p, const Block* block, Scratch* s, Child* child, const Active* made, const uint32_t* entries,
) noexcept nogil:
    """What the screen expects of a feature whose search can wait; -1: it is searched at once.

    It has a list, or counts at the child's cursor.
    """
    cdef float quotient
    if not child.screen.possible or form_of(p, made.feature) != ORDERED or (made.listed and code_of(entries[0]) == 0):
        return -1
    if made.listed:
        quotient = largest_along_list(p, block, s, &child.screen, entries, child.totals.n)
    else:
        quotient = largest_by_code(
            p, s, &child.screen, <const uint32_t*> (child.search.lists + made.at), p.n_codes[made.feature], child.totals.n)
    if quotient < 0:
        return quotient
    count_on(&child.screen, quotient, child.totals.risk)
    # probably a perfect split: if it is one, the other features need no search
    return -1 if p.n_classes and quotient * child.screen.scale > (1 - 1e-5) * child.totals.risk else quotient


cdef inline void receive_feature(
    const Problem* p, const Block* block, Work* w, Child* child, Active made, bint counted, entry_t width,
) noexcept nogil:
    """Give a child a feature of its parent, unless it no longer varies; a lazy search scans it at once, while it is warm.

    Its list is at the child's cursor, or (`counted`) its counts.
    """
    cdef const entry_t* entries = <const entry_t*> (child.search.lists + child.cursor)
    cdef Cut found
    cdef bint constant = False
    cdef bint loose = entry_t is uint64_t
    made.at = child.cursor if made.listed or counted else 0
    if child.bounded:
        child.search.actives[child.search.n_active] = made
        child.search.n_active += 1
        return
    if not made.listed:
        list_feature(p, block, w.scratch, child, &made, width)
    if made.listed:
        constant = code_of(entries[0]) == code_of(entries[child.totals.n - 1])
    made.quotient = -1
    if entry_t is uint32_t:
        if not constant and (made.listed or counted):
            made.quotient = promise(p, block, w.scratch, child, &made, entries)
    if p.lazy and child.scans and not constant and made.quotient < 0:
        found = scan_feature(p, block, w.scratch, &child.search, &made, width, &constant)
        if found.form != NO_CUT:
            if loose:
                child.search.cuts[child.n_cuts] = found
                child.n_cuts += 1
                note_known(p, &child.search, &found)
            else:
                add_cut_of(p, child, &found)
            # pure on both sides: nothing can beat it, a later feature cannot win the tie, and its children need no lists
            # (if it is judged by all samples of the node)
            child.done = child.totals.n == 2 or (
                p.n_classes and not p.weighted and found.missing != TO_HEAVIEST
                and found.first_gain >= tie_limit(child.totals.risk, child.totals.risk)
            )
    if constant:
        if loose and made.listed:
            free_list(made.at, child.totals.n, sizeof(entry_t))
        return
    child.search.actives[child.search.n_active] = made
    child.search.n_active += 1
    if made.listed and not loose:
        child.cursor += child.totals.n * sizeof(entry_t)
    elif counted:
        child.cursor += size_of_cells(p, made.feature)


cdef inline bint needs_histogram(const Child* child) noexcept nogil:
    return child.open and child.scans and child.bounded


cdef inline int count_histogram(const Problem* p, const Block* block, Work* w, Child* child) noexcept nogil:
    """Give a child a histogram of the features that are marked in w.drawn.  -1 if memory runs out."""
    child.histogram = take_histogram(p, w)
    if child.histogram == NULL:
        return -1
    note(COUNT, child.totals.n * child.search.n_active)
    count_node(p, block, w, child.search.rows, child.totals.n, child.histogram)
    return 0


cdef inline int count_histograms(
    const Problem* p, const Block* block, Work* w, const Pending* node, const NodeSplit* split,
) noexcept nogil:
    """Give every child that is searched its histogram; the larger one's is the node's less the smaller one's.

    The node's own histogram is used up.  -1 if memory runs out.
    """
    cdef Child* small = &w.children[0 if split.swapped else 1]
    cdef Child* large = &w.children[1 if split.swapped else 0]
    cdef Child* child
    cdef int64_t b
    if small.totals.n > large.totals.n:
        small, large = large, small
    if not needs_histogram(small) and not needs_histogram(large):
        give_histogram(w, node.histogram)
        return 0
    child = large if large.open else small
    mark_wanted(p, w, child.search.actives, child.search.n_active)
    if needs_histogram(large) and node.histogram != NULL:
        if count_histogram(p, block, w, small):
            return -1
        large.histogram = node.histogram
        subtract_histogram(p, large.histogram, small.histogram)
        if not needs_histogram(small):
            give_histogram(w, small.histogram)
            small.histogram = NULL
        return 0
    give_histogram(w, node.histogram)
    for b in range(2):
        if needs_histogram(&w.children[b]) and count_histogram(p, block, w, &w.children[b]):
            return -1
    return 0


cdef inline Cut search_child(
    const Problem* p, Block* block, Work* w, Child* child, const NodeSplit* split, entry_t width,
) noexcept nogil:
    """The cut of a child, of whose features a lazy search has scanned those that could not wait."""
    if child.bounded:
        return search_bounded(p, block, w, &child.search, child.histogram, NULL, width)
    if p.lazy:
        if child.screen.possible:
            search_promising(p, block, w, child, width)
        return choose_cut(p, block, w, &child.search, child.n_cuts, width)
    share_weights(p, block, split.data, split.spread_at, split.n_spread, child.share)
    return search_features(p, block, w, &child.search, child.key, width)


cdef inline void push_child(
    Work* w, const Pending* node, const NodeSplit* split, const Child* child, const Cut* cut,
) noexcept nogil:
    """Let a child wait to be split; the stack has room for it."""
    cdef Pending* pushed = &w.stack[w.stack_n]
    w.stack_n += 1
    pushed.cut = cut[0]
    pushed.histogram = child.histogram
    pushed.key = child.key
    pushed.id = child.id
    pushed.depth = node.depth + 1
    pushed.n = <uint32_t> child.totals.n
    pushed.rows_at = child.rows_at
    pushed.rows = NULL if node.rows == NULL else <uint32_t*> child.search.rows
    pushed.region = child.region
    pushed.below = node.region
    pushed.actives_at = child.actives_at
    pushed.n_active = child.search.n_active
    pushed.low = child.totals.low
    pushed.high = child.totals.high
    pushed.spread_at = split.spread_at
    pushed.n_spread = split.n_spread
    pushed.share = child.share
    pushed.sorts = child.search.sorts
    pushed.searched = child.scans
    pushed.reach = split.reach
    pushed.risk = child.totals.risk
    if child.scans:
        pushed.reach = min(split.reach, cut.first_gain)
        note_reach(w.nodes.frontier, pushed.reach)


cdef inline bint push_waiting(
    const Problem* p, const Block* block, Work* w, const Pending* node, const NodeSplit* split, Child* child,
) noexcept nogil:
    """Let a child wait for its search, in best-first growth with the most that it can gain; False if it cannot be split."""
    cdef Cut none = no_cut(-1)
    cdef double most = child.totals.risk
    cdef double known = -INFINITY
    if child.scans and p.best_first:
        most = min(most, most_of_node(p, block, w, &child.search, child.histogram, &known))
    child.scans = False
    if most == -INFINITY:
        return False
    push_child(w, node, split, child, &none)
    w.stack[w.stack_n - 1].reach = min(split.reach, most)
    w.stack[w.stack_n - 1].known = known
    return True


cdef inline void push_children(
    const Problem* p, Block* block, Work* w, const Pending* node, const NodeSplit* split, entry_t width,
) noexcept nogil:
    """Choose the cut of every open child and push those that have one, in the order of their layout; the stack has room."""
    cdef Child* child
    cdef Cut cut = no_cut(-1)
    cdef int64_t i
    for i in range(split.n_children):
        child = &w.children[1 - i if split.swapped else i]
        if not child.open:
            continue
        if entry_t is uint64_t and w.team != NULL and block.tiles != NULL:
            if not push_waiting(p, block, w, node, split, child):
                give_histogram(w, child.histogram)
            continue
        if child.scans:
            cut = search_child(p, block, w, child, split, width)
            if cut.form == NO_CUT:
                if entry_t is uint64_t:
                    free_lists(child.search.actives, child.search.n_active, child.totals.n, sizeof(entry_t))
                give_histogram(w, child.histogram)
                continue
        push_child(w, node, split, child, &cut)
