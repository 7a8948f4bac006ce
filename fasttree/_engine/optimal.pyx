"""Trees of a few levels that no other tree of as many levels beats: a kernel for two levels, branch and bound above it.

A *view* is an order of a feature's codes: its tests are the cuts of the order, or, if it is nominal, one code against the rest.
Where both branches are leaves, a nominal view also has tests of any two *groups* of its codes: each code goes to the leaf that
costs less, for any two predictions, or, of numbers, by its mean (Breiman et al. 1984, section 4.2).  If leaves must not be too
small, groups are the cuts of the codes in this order.
A feature with missing values has two views: missing values come first, or last; they are apart from the tested category, or with
it, and a category among groups.  So missing values need no code of their own here.

**Values.**  What a tree costs is the sum over its leaves of what each costs, and a penalty per leaf.  A leaf costs its `worth`,
which is a sum over rows, less its `gain`, a function of sums over rows.

    SIGNS     two classes      a = +-weight     worth |a| / 2       gain |sum a| / 2
    SCORES    classes          a per class      worth: largest a    gain: largest sum a
    SQUARES   numbers          a = weight y     worth weight y^2    gain (sum a)^2 / weight

All but SQUARES add whole numbers below 2^52, which is exact in doubles.

**Two levels.**  The cuts of a root f are taken in order, and for each second view g, the sums of the rows before the cut are kept
by the code of g.  A scan of the codes gives the best test by g of the rows before the cut and, by differences from the totals, of
those behind it.  Few cuts are scanned: let L(p) and R(p) be the costs of the best tests before and behind a cut p.  L grows and R
falls with p, and neither by more than the slack of the rows between two cuts (a row can cost no more; not for SQUARES).  So known
neighbours bound a cut, and cuts are scanned from coarse to fine (as the intervals of ConTree; Brita, van der Linden and Demirovic
2025).

For two classes, a tree of prefix sums over the codes could give both best tests after each row, in log steps.  It is not built:
bounds leave 7 to 18 cuts to a pair of views, and at so few a scan is slower for at most 3 % of the pairs (columns of numbers,
300 to 30,000 rows and 6 to 100 columns, noise among them), which would save at most 4 % of the time.

**More levels.**  The same bounds hold for the best trees before and behind a cut of the root.  `solve` takes an interval of cuts
between known neighbours, trims its ends by the bounds, searches both sides of its middle, the smaller one first, and goes on with
both halves.  One side that costs too much excludes a half; the other side is searched, too, as it often excludes the other half.
Results of sets of rows are kept under sums of random numbers per row, of 128 bits.  The sets searched last bound the roots of
those that lack few of their rows (`levels/similar.pxd`).

**Four levels.**  The roots that cost least in trees of two levels get, by their best cut there, two branches of which every
root is that of the best tree of two levels (lookahead).  These trees cost little to find, and the best of them is often near the
optimum.  Their roots are searched first, in the order of what they cost; then the others.  To ask for few errors first, and for
twice as many in each pass, was slower: a budget far below the optimum gives bounds that spare no neighbours.

**The root.**  The intervals of all roots of the whole tree wait in one heap, that of the least bound first: no tree costs
less than this bound, wherever the search ends.  A batch is divided among lanes, each with scratch and results of its own.
Batches and lanes do not depend on the number of threads, and so neither do the tree and the bounds.  Cuts of a batch behind
one with a tree that costs no more than the least bound are left out: none of them can have a better one.

Knows codes and rows; kernels trust their caller, which is `_learn/grow/optimal.py`.
"""

from libc.math cimport INFINITY, ceil
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.arrays cimport int32s_of
from fasttree._engine.levels.more cimport bound_cut, clear, look_ahead_at, solve, try_cut, try_groups
from fasttree._engine.levels.nodes cimport (
    add_row, count_cuts, gain_of, group_ranks, least_cost, may_group, sort_codes, sort_ranks, sum_ranks, sum_side,
)
from fasttree._engine.levels.records cimport (
    AHEAD, AT_ONCE, FIRST_RESULTS, LANES, MOST_LEVELS, MOST_TESTS, SIMILAR, CutRange, FoundTree, KeptResult, LevelNode, LevelTest,
    OpenCuts, RootCut, SearchedRoot, SideSums, SimilarRows, TreeSearch,
)
from fasttree._engine.levels.records cimport GROUPS as GROUPS_
from fasttree._engine.levels.records cimport SCORES as SCORES_
from fasttree._engine.levels.records cimport SIGNS as SIGNS_
from fasttree._engine.levels.records cimport SQUARES as SQUARES_
from fasttree._engine.levels.two cimport bound_side, describe_root, search_two

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

SIGNS, SCORES, SQUARES, GROUPS = SIGNS_, SCORES_, SQUARES_, GROUPS_


cdef bint watch_over(void* search) noexcept nogil:
    with gil:
        return (<Optimal> search).is_over()


cdef bint is_before(const OpenCuts* a, const OpenCuts* b) noexcept nogil:
    return a.bound < b.bound or (a.bound == b.bound and a.turn < b.turn)


cdef void push(OpenCuts* heap, int64_t n, const OpenCuts* cuts) noexcept nogil:
    """Add cuts to a heap of `n`."""
    cdef int64_t above
    while n > 0:
        above = (n - 1) >> 1
        if not is_before(cuts, &heap[above]):
            break
        heap[n] = heap[above]
        n = above
    heap[n] = cuts[0]


cdef OpenCuts pop(OpenCuts* heap, int64_t n) noexcept nogil:
    """Take the first cuts from a heap of `n`."""
    cdef OpenCuts first = heap[0]
    cdef OpenCuts last = heap[n - 1]
    cdef int64_t at = 0
    cdef int64_t below = 1
    while below < n - 1:
        if below + 1 < n - 1 and is_before(&heap[below + 1], &heap[below]):
            below += 1
        if not is_before(&heap[below], &last):
            break
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = last
    return first


cdef class Optimal:
    """A search for the best tree of a table.

    Parameters
    ----------
    views : tuple of arrays
        `codes`, int32 of shape (n_views, n_rows), not negative; `nominal`, uint8 of shape (n_views,): whether one code is tested
        against the rest, instead of cuts of the order; `missing`, int32 of shape (n_views,): the code of missing values in a
        second view of a feature, which is the largest one, or 0 if it is nominal; -1 in other views.
    rows : record
        `kind` and `lanes`; `label` (int32), `amount`, `weight` and `worth` (float64) of each row, as in the head of the module;
        `score`, the amounts of a class in all lanes, of shape (n_classes, lanes), or None.
    penalty : float
        Cost of a leaf.
    min_leaf : int
        Rows of a leaf.
    min_weight : float
        Their weight.
    tolerance : float
        A tree must cost less than another one by more; 0 if all costs are whole.
    memory : int
        Bytes of the results, and of the sets of rows with their bounds, that are kept.
    """

    cdef TreeSearch lanes[LANES]
    cdef list kept
    cdef object watch
    cdef readonly object failure
    cdef readonly bint is_near     # whether the search ended because its gap is allowed
    cdef int depth
    cdef int64_t memory            # bytes of a lane for results
    cdef int64_t n_codes           # of all views
    cdef FoundTree best
    cdef double low                # of all trees with a root that is not in the heap
    cdef bint over
    cdef OpenCuts* heap
    cdef int64_t n_open
    cdef int64_t n_turns
    cdef double* worth_before      # (codes of all views): of the cuts of all roots
    cdef RootCut batch[AT_ONCE]
    cdef int n_batch
    cdef int last                  # cut of the batch that is still to be searched
    cdef double floor              # no tree undercuts it, as was known before the batch
    cdef double budgets[LANES]     # cost of the best tree that a lane knows

    def __cinit__(self, views, rows, *, double penalty, int min_leaf, double min_weight, double tolerance, int64_t memory):
        cdef TreeSearch* s = &self.lanes[0]
        codes, nominal, missing = views
        cdef int32_t n_views = codes.shape[0]
        cdef int32_t n_rows = codes.shape[1]
        cdef int32_t most = max(n_rows, 1)
        cdef int32_t view
        self.kept = []
        self.failure = None
        memset(s, 0, sizeof(TreeSearch))
        s.n_rows, s.n_views, s.lanes, s.kind = n_rows, n_views, rows.lanes, rows.kind
        s.penalty, s.tolerance = penalty, tolerance
        s.min_leaf, s.min_weight = min_leaf, min_weight
        s.has_least = min_leaf > 1 or min_weight > 0
        s.unit = rows.worth.sum() / most
        s.same_worth = rows.worth.max(initial=0) if np.ptp(rows.worth) == 0 else 0
        s.slack = 0 if s.kind == SQUARES_ else 2 if s.kind == SIGNS_ else 1
        sizes = np.concatenate([[0], np.cumsum(codes.max(axis=1, initial=0) + 1)])
        self.n_codes = int(sizes[n_views])
        s.offset = <const int64_t*> self.hold(sizes.astype(np.int64))
        s.nominal = <const uint8_t*> self.hold(nominal)
        s.missing = <const int32_t*> self.hold(missing)
        s.label = <const int32_t*> self.hold(rows.label)
        s.amount = <const double*> self.hold(rows.amount)
        s.weight = <const double*> self.hold(rows.weight)
        s.worth = <const double*> self.hold(rows.worth)
        if rows.score is not None:
            s.score = <const double*> self.hold(rows.score)
        numbers = np.random.Generator(np.random.PCG64(0)).integers(0, 2**64, (most, 2), np.uint64)
        s.number = <const uint64_t*> self.hold(numbers)
        self.memory = max(memory, 0) // LANES
        s.watcher = <void*> self
        s.ask = watch_over
        self.make_node(s, MOST_LEVELS - 1)
        self.fill_root(codes)
        for view in range(n_views):
            s.has_groups |= may_group(s, &s.nodes[MOST_LEVELS - 1], view)

    def __dealloc__(self):
        cdef int i
        for i in range(LANES):
            free(self.lanes[i].results)

    cdef void* room(self, int64_t size):
        """Return zeroed memory that lives as long as the search."""
        return self.hold(np.zeros(size // 8 + 1))

    cdef void* hold(self, array):
        cdef const uint8_t[::1] view  # not of char, which some processors take as unsigned
        self.kept.append(array)
        view = np.ascontiguousarray(array).view(np.uint8).reshape(-1) if array.size else np.zeros(8, np.uint8)
        self.kept.append(view)
        return <void*> &view[0]

    cdef void make_node(self, TreeSearch* s, int level):
        cdef LevelNode* node = &s.nodes[level]
        cdef int64_t most = max(s.n_rows, 1)
        node.row = <int32_t*> self.room(most * 4)
        node.order = <int32_t*> self.room(s.n_views * most * 4)
        node.rank = <int32_t*> self.room(s.n_views * most * 4)
        node.code = <int32_t*> self.room(s.n_views * most * 4)
        node.n_ranks = <int32_t*> self.room(s.n_views * 4)
        node.active = <uint8_t*> self.room(s.n_views)
        node.sums = <double*> self.room(s.lanes * 8)

    cdef void make_lane(self, TreeSearch* s):
        """Make the scratch of a lane; nodes of one level, whose rows are those of a side, need none."""
        cdef int64_t most = max(s.n_rows, 1)
        cdef int64_t size
        cdef int level
        for level in range(1, self.depth - 1):
            self.make_node(s, level)
        s.local = <int32_t*> self.room(most * 4)
        s.side = <uint8_t*> self.room(most)
        s.label_along = <int32_t*> self.room(most * 4)
        s.amount_along = self.room(most * 8)
        s.weight_along = <double*> self.room(most * 8)
        s.cuts = <int32_t*> self.room(most * 4)
        s.ends = <int32_t*> self.room(most * 4)
        s.left = <double*> self.room((most + 1) * 8)
        s.right = <double*> self.room((most + 1) * 8)
        s.worth_before = <double*> self.room((most + 1) * 8)
        s.gain_left = <double*> self.room(most * 8)
        s.gain_right = <double*> self.room(most * 8)
        s.counts = self.room((most + 1) * s.lanes * 8)
        s.prefix = self.room((most + 1) * s.lanes * 8)
        s.totals = self.room(self.n_codes * s.lanes * 8)
        s.before = self.room(2 * most * s.lanes * 8)
        s.best_pairs = self.room(5 * (most + 1) * 8)
        s.sums = <double*> self.room((most + 1) * s.lanes * 8)
        s.sizes = <int32_t*> self.room((most + 1) * 4)
        s.masses = <double*> self.room((most + 1) * 8)
        s.share = <double*> self.room((most + 1) * 8)
        s.sorted = <int32_t*> self.room((most + 1) * 4)
        s.pairs = <double*> self.room(2 * (most + 1) * 8)
        s.profile = <double*> self.room(s.n_views * 8)
        s.profile_cut = <int32_t*> self.room(s.n_views * 4)
        s.saved_profile = <double*> self.room(MOST_LEVELS * s.n_views * 8)
        s.saved_cut = <int32_t*> self.room(MOST_LEVELS * s.n_views * 4)
        s.saved_worth = <double*> self.room(MOST_LEVELS * (most + 1) * 8)
        s.stack = <CutRange*> self.room(MOST_LEVELS * (most + 2) * sizeof(CutRange))
        s.n_words = (most + 63) // 64
        s.bits = <uint64_t*> self.room(MOST_LEVELS * s.n_words * 8)
        s.root_low = <double*> self.room(MOST_LEVELS * (s.n_views + 1) * 8)
        size = 2 * (<int64_t> sizeof(SimilarRows) + s.n_words * 8 + (s.n_views + 1) * 8)        # of the levels 2 and 3
        s.most_similar = min(<int64_t> SIMILAR, self.memory // (4 * size))
        s.similar = <SimilarRows*> self.room(2 * s.most_similar * sizeof(SimilarRows))
        s.similar_bits = <uint64_t*> self.room(2 * s.most_similar * s.n_words * 8)
        s.similar_low = <double*> self.room(2 * s.most_similar * (s.n_views + 1) * 8)
        memset(s.n_similar, 0, sizeof(s.n_similar))
        # a cache that grows has the old places, a quarter of the new ones, until it is filled
        s.most_results = (self.memory - s.most_similar * size) * 4 // (5 * <int64_t> sizeof(KeptResult))
        s.n_results = min(s.most_results, <uint64_t> FIRST_RESULTS)
        s.n_kept = 0
        s.results = <KeptResult*> calloc(s.n_results + 1, sizeof(KeptResult))
        if s.results == NULL:
            s.n_results = s.most_results = 0

    cdef void fill_root(self, codes):
        """Fill the first node, which has all rows."""
        cdef TreeSearch* s = &self.lanes[0]
        cdef LevelNode* node = &s.nodes[MOST_LEVELS - 1]
        cdef const int32_t* code = int32s_of(codes.reshape(-1))
        cdef int32_t most = int(codes.max(initial=0)) + 1
        cdef int32_t* numbers = <int32_t*> self.room(2 * <int64_t> most * 4)
        cdef int32_t view
        cdef int32_t row
        node.n = s.n_rows
        for view in range(s.n_views):
            sort_codes(s, node, view, code + <int64_t> view * node.n, most, numbers)
        for row in range(s.n_rows):
            node.row[row] = row
            node.worth += s.worth[row]
            node.key[0] += s.number[2 * row]
            node.key[1] += s.number[2 * row + 1]
            add_row(s, row, node.sums)

    cdef double bound(self) noexcept nogil:
        """Return what no tree costs less than."""
        cdef double low = min(self.low, self.best.value)
        cdef int i
        for i in range(self.n_batch):
            low = min(low, self.batch[i].of.bound)
        if self.n_open:
            low = min(low, self.heap[0].bound)
        return ceil(low - 1e-6) + 0.0 if self.lanes[0].tolerance == 0 else low       # all costs are whole

    cdef bint is_over(self) noexcept:
        """Whether the watch or a signal ends the search; what a handler of signals or the watch raises is kept."""
        if self.over:
            return True
        try:
            PyErr_CheckSignals()
            self.over = self.watch is not None and bool(self.watch(self.best.value, self.bound()))
        except BaseException as failure:
            self.stop(failure)
        return self.over

    def stop(self, failure):
        """End the search because of an exception, such as an interrupt."""
        self.failure = failure if self.failure is None else self.failure
        self.over = True

    cdef void open_root(self, int32_t view, int32_t start, double whole) noexcept nogil:
        """Put the cuts of a root into the heap."""
        cdef TreeSearch* s = &self.lanes[0]
        cdef LevelNode* node = &s.nodes[MOST_LEVELS - 1]
        cdef double* worth = self.worth_before + s.offset[view]
        cdef OpenCuts opened
        cdef CutRange* c = &opened.cuts
        cdef int32_t cut
        describe_root(s, node, view)
        memcpy(worth, s.worth_before, node.n_ranks[view] * sizeof(double))
        opened.view = view
        c.worth_low, c.worth_high = 0, node.worth
        if s.nominal[view]:
            opened.start = -1
            c.far_left = c.far_right = 0
            for cut in range(count_cuts(s, node, view)):
                c.low = c.high = cut
                c.near_left = bound_side(s, 0, whole, node.worth - worth[cut])
                c.near_right = bound_side(s, 0, whole, worth[cut])
                self.put(&opened)
            return
        opened.start = start
        c.low, c.high = 0, count_cuts(s, node, view) - 1
        c.near_left = c.near_right = 0
        c.far_left = c.far_right = whole
        self.put(&opened)

    cdef void put(self, OpenCuts* opened) noexcept nogil:
        """Put cuts into the heap.

        One side grows with the cut and the other falls, both by the slack of the rows between at most: the least sum is where
        the bounds by both neighbours meet on one side.
        """
        cdef const TreeSearch* s = &self.lanes[0]
        cdef const CutRange* c = &opened.cuts
        if c.low > c.high:
            return
        opened.bound = max(c.near_left, 0) + max(c.near_right, 0)
        if s.slack > 0:
            opened.bound = max(opened.bound, c.far_left + c.far_right - s.slack * (c.worth_high - c.worth_low))
        opened.turn = self.n_turns
        self.n_turns += 1
        push(self.heap, self.n_open, opened)
        self.n_open += 1

    cdef void begin(self) noexcept nogil:
        """Find the best tree of two levels, and open all roots: those that look ahead by their costs, then the others."""
        cdef TreeSearch* s = &self.lanes[0]
        cdef LevelNode* node = &s.nodes[MOST_LEVELS - 1]
        cdef FoundTree two
        cdef double whole, low
        cdef double budget = self.best.value
        cdef double* cost = s.saved_profile        # searches of the sides of the root leave these rows alone
        cdef int32_t* start = s.saved_cut
        cdef int32_t ahead[AHEAD]
        cdef int n_ahead, i
        cdef int32_t view
        low = try_groups(s, node, &self.best, &budget)
        two.value = INFINITY
        two.tests[0].view = -1
        search_two(s, node, self.best.value, NULL, &two)
        if s.over:
            return
        whole = min(two.low, low) if self.depth == 3 else 0
        if two.value < self.best.value:
            memcpy(self.best.tests, two.tests, 3 * sizeof(LevelTest))
            self.best.value = two.value
        memcpy(cost, s.profile, s.n_views * sizeof(double))
        memcpy(start, s.profile_cut, s.n_views * sizeof(int32_t))
        n_ahead = self.look_ahead(cost, start, ahead) if self.depth > 3 else 0
        if s.over:
            return
        self.low = low
        for i in range(n_ahead):
            self.open_root(ahead[i], start[ahead[i]], whole)
        while True:
            view = self.take_least(cost)
            if view < 0:
                break
            self.open_root(view, start[view], whole)

    cdef int32_t take_least(self, double* cost) noexcept nogil:
        """Return the first view of the least cost, and make this cost negative; -1 if no cost is left."""
        cdef const TreeSearch* s = &self.lanes[0]
        cdef int32_t view
        cdef int32_t least = -1
        for view in range(s.n_views):
            if cost[view] >= 0 and s.nodes[MOST_LEVELS - 1].active[view] and (least < 0 or cost[view] < cost[least]):
                least = view
        if least >= 0:
            cost[least] = -1
        return least

    cdef int look_ahead(self, double* cost, const int32_t* start, int32_t* ahead) noexcept nogil:
        """Let both sides of the first cuts of the cheapest roots look ahead; the best of these trees is kept.

        `ahead` becomes these roots, by what their trees cost, then by what those of two levels cost; returns their number.
        """
        cdef TreeSearch* s = &self.lanes[0]
        cdef FoundTree found
        cdef double costs[AHEAD]
        cdef int32_t view
        cdef int n, at
        for n in range(AHEAD):
            view = self.take_least(cost)
            if view < 0:
                return n
            look_ahead_at(s, &s.nodes[MOST_LEVELS - 1], view, start[view], self.depth, &found)
            if s.over:
                return n
            if found.value < self.best.value - s.tolerance:
                self.best = found
            at = n
            while at > 0 and costs[at - 1] > found.value:
                costs[at] = costs[at - 1]
                ahead[at] = ahead[at - 1]
                at -= 1
            costs[at] = found.value
            ahead[at] = view
        return AHEAD

    cdef void trim(self, OpenCuts* opened) noexcept nogil:
        """Leave out the first and the last cuts whose bounds are not below the best tree."""
        cdef const TreeSearch* s = &self.lanes[0]
        cdef CutRange* c = &opened.cuts
        cdef SearchedRoot root
        cdef double low[2]
        if s.nominal[opened.view]:
            return
        root.worth_before = self.worth_before + s.offset[opened.view]
        while c.low <= c.high and bound_cut(s, &root, c, c.low, low) >= self.best.value - s.tolerance:
            c.low += 1
        while c.low <= c.high and bound_cut(s, &root, c, c.high, low) >= self.best.value - s.tolerance:
            c.high -= 1

    cdef void choose(self) noexcept nogil:
        """Take the next cuts of the root from the heap."""
        cdef const TreeSearch* s = &self.lanes[0]
        cdef RootCut* task
        cdef SearchedRoot root
        cdef CutRange* c
        self.n_batch = 0
        while self.n_batch < AT_ONCE and self.n_open and self.heap[0].bound < self.best.value - s.tolerance:
            task = &self.batch[self.n_batch]
            task.of = pop(self.heap, self.n_open)
            self.n_open -= 1
            self.trim(&task.of)
            c = &task.of.cuts
            if c.low > c.high:
                continue
            task.cut = min(max(task.of.start, c.low), c.high) if task.of.start >= 0 else (c.low + c.high) // 2
            task.low[0], task.low[1] = c.near_left, c.near_right
            if not s.nominal[task.of.view]:
                root.worth_before = self.worth_before + s.offset[task.of.view]
                bound_cut(s, &root, c, task.cut, task.low)
            task.found.value = INFINITY
            self.n_batch += 1

    def search_lane(self, int lane):
        """Search the cuts of one lane."""
        cdef int i
        for i in range(lane, self.n_batch, LANES):
            self.search_cut(i)

    cdef void search_cut(self, int i):
        """Search a cut of the batch, unless one before it has a tree that no other tree undercuts."""
        cdef TreeSearch* s = &self.lanes[i % LANES]
        cdef RootCut* task = &self.batch[i]
        cdef SearchedRoot root
        if i > self.last:
            return
        root.depth = self.depth
        root.view = task.of.view
        root.cuts = NULL if s.nominal[root.view] else &task.of.cuts
        with nogil:
            try_cut(s, &s.nodes[MOST_LEVELS - 1], &root, task.cut, task.low, &task.found, &self.budgets[i % LANES])
        if task.found.value <= self.floor:
            self.last = min(self.last, i)

    cdef void settle(self) noexcept nogil:
        """Take the results of a batch, in its order, and put the rest of the cuts into the heap."""
        cdef const TreeSearch* s = &self.lanes[0]
        cdef OpenCuts part
        cdef RootCut* task
        cdef int i
        for i in range(self.n_batch):
            task = &self.batch[i]
            self.low = min(self.low, task.low[0] + task.low[1])
            if task.found.value < self.best.value - s.tolerance:
                self.best = task.found
            if s.nominal[task.of.view]:
                continue
            part = task.of
            part.start = -1
            part.cuts.high = task.cut - 1
            part.cuts.far_left, part.cuts.near_right = task.low[0], task.low[1]
            part.cuts.worth_high = self.worth_before[s.offset[part.view] + task.cut]
            self.put(&part)
            part.cuts = task.of.cuts
            part.cuts.low = task.cut + 1
            part.cuts.near_left, part.cuts.far_right = task.low[0], task.low[1]
            part.cuts.worth_low = self.worth_before[s.offset[part.view] + task.cut]
            self.put(&part)
        self.n_batch = 0

    cdef void search_roots(self, side_by_side, double max_gap):
        """Search trees of three or more levels."""
        cdef LevelNode* node = &self.lanes[0].nodes[MOST_LEVELS - 1]
        cdef int64_t n_cuts = 0
        cdef int32_t view
        cdef int i
        for view in range(self.lanes[0].n_views):
            n_cuts += node.n_ranks[view]
        self.heap = <OpenCuts*> self.room(n_cuts * sizeof(OpenCuts))
        self.worth_before = <double*> self.room(self.n_codes * 8)
        with nogil:
            self.begin()
        for i in range(1, LANES):
            self.lanes[i] = self.lanes[0]
            self.lanes[i].results = NULL
            self.make_lane(&self.lanes[i])
        while not self.is_over():
            self.is_near = max_gap > 0 and self.best.value - self.bound() <= max_gap
            if self.is_near:
                break
            self.choose()
            if not self.n_batch:
                break
            self.last = self.n_batch
            self.floor = self.bound()
            for i in range(LANES):
                self.budgets[i] = self.best.value
            if side_by_side is None or self.n_batch == 1:
                for i in range(self.n_batch):
                    self.search_cut(i)
            else:
                side_by_side(self.search_lane, LANES)
            self.settle()

    def first_group(self, int32_t view, rows):
        """Return the codes of the first branch of the best test of groups of a view.

        Parameters
        ----------
        view : int
        rows : intp array of shape (n,)
            Rows of a node, not all.

        Returns
        -------
        int32 array
        """
        cdef TreeSearch* s = &self.lanes[0]
        cdef LevelNode* node = &s.nodes[MOST_LEVELS - 1]
        cdef SideSums sums
        cdef int32_t chosen[3]
        cdef double low = INFINITY
        cdef Py_ssize_t row
        memset(s.side, 1, s.n_rows)
        for row in rows:
            s.side[row] = 0
        sum_side(s, node, 0, &sums)
        sum_ranks(s, node, 0, view)
        group_ranks(s, node.n_ranks[view], &sums, INFINITY, &low, chosen)
        sort_ranks(s, node.n_ranks[view], chosen[0], chosen[1])
        return np.array([node.code[<int64_t> view * node.n + s.sorted[at]] for at in range(chosen[2])], np.int32)

    def run(self, int depth, watch=None, side_by_side=None, double max_gap=0):
        """Search for the best tree of 1 to 4 levels.

        Parameters
        ----------
        depth : int
        watch : callable or None
            Called now and then, in any thread, with the cost of the best tree and a bound that no tree undercuts; the search
            ends if it returns true.  What it raises, and what a handler of signals raises, ends the search and becomes `failure`.
        side_by_side : callable or None
            Called with a function and a number n: calls the function with 0 to n - 1, in any threads.
        max_gap : float
            A search of three or four levels ends as soon as the cost of the best tree is above the bound by this at most, if it
            is positive.

        Returns
        -------
        value, low : float
            Cost of the best tree found, and a bound that no tree undercuts.
        tests : int32 array of shape (2**depth - 1, 2)
            View and code of each test, level by level, -1 at leaves.
        over : bool
            Whether the watch or a signal ended the search.
        """
        cdef TreeSearch* s = &self.lanes[0]
        cdef LevelNode* node = &s.nodes[MOST_LEVELS - 1]
        cdef double least
        cdef int i
        self.watch = watch
        self.depth = depth
        self.make_lane(s)
        clear(self.best.tests, MOST_TESTS)
        self.best.value = node.worth - gain_of(s, node.sums) + s.penalty
        self.low = least = min(least_cost(s, node, depth), self.best.value)
        if depth < 3:
            with nogil:
                solve(s, node, NULL, depth, INFINITY, &self.best)
            self.low = self.best.low
        elif node.n > 1 and least < self.best.value - s.tolerance:
            self.search_roots(side_by_side, max_gap)
        tests = np.array([[self.best.tests[i].view, self.best.tests[i].code] for i in range((1 << depth) - 1)], np.int32)
        return self.best.value, max(self.bound(), least), tests, bool(self.over)
