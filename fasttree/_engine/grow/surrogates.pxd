"""Surrogates: the tests of other features that divide a node's samples most nearly as its own test does.  Header only.

Breiman et al. (1984), section 5.3; rules of detail as in Therneau and Atkinson, "An Introduction to Recursive Partitioning Using
the RPART Routines", section 5.  The target of the search is the branch of every sample whose tested value is known.  Agreements
are sums of weights in fixed point, so they do not depend on the order of samples.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from fasttree._engine.grow.nodes cimport Kept, SurrogateTable
from fasttree._engine.grow.work cimport NodeSplit, Work
from fasttree._engine.memory cimport resize
from fasttree._engine.scan.counts cimport category_of
from fasttree._engine.scan.cut cimport form_of
from fasttree._engine.types cimport (
    ORDERED, STAY, TO_STOP, Active, Block, Imitation, Pending, Problem, Scratch, code_of, entry_t, row_of,
)
from fasttree._engine.watch cimport Watch, interrupted


cdef enum:
    NO_SIDE = 2                   # side of a sample whose tested value is missing
    LEAST_ON_A_SIDE = 2        # samples that a surrogate must send either way


cdef extern from *:
    """
    #define FASTTREE_LEAST_ADJUSTED 1e-10
    """
    const double LEAST_ADJUSTED "FASTTREE_LEAST_ADJUSTED"


cdef struct Target:            # what a surrogate imitates, or the part of it whose value of the surrogate's feature is known
    int64_t n                  # samples with a known branch
    int64_t n_missing
    int64_t weight[2]          # by branch, fixed point


cdef struct SideCounts:         # of a counted feature
    int64_t n[256]             # samples of any side
    int64_t n_known[256]       # with a known branch
    int64_t weight[2][256]     # of those, by branch


cdef struct SurrogateSearch:   # for the surrogates of one node
    const Problem* p
    const Block* block
    const NodeSplit* split             # the node's own test, its rows and its lists
    const Active* actives
    int32_t n_active
    const uint8_t* allowed         # by feature, whether it may be on one path with the tested one; NULL: all may
    uint8_t* side                  # by row: branch, or NO_SIDE
    Target target
    Imitation* best                # the most agreeing first, on ties by feature
    int32_t n_best
    Watch* watch


cdef inline int32_t heavier_branch(const Problem* p, const Target* target) noexcept nogil:
    """Where samples go on which no surrogate decides; TO_STOP: they stay."""
    if not p.to_heavier or target.weight[0] == target.weight[1]:
        return TO_STOP
    return target.weight[0] < target.weight[1]


cdef inline int64_t weight_of(const Block* block, uint32_t row) noexcept nogil:
    return 1 if block.case_weight == NULL else block.case_weight[row]


cdef inline Target target_of(const Block* block, const uint8_t* side, const uint32_t* rows, int64_t n) noexcept nogil:
    cdef Target target
    cdef int64_t i
    memset(&target, 0, sizeof(Target))
    for i in range(n):
        if side[rows[i]] == NO_SIDE:
            target.n_missing += 1
        else:
            target.n += 1
            target.weight[side[rows[i]]] += weight_of(block, rows[i])
    return target


cdef inline Target target_along_list(
    const Block* block, const uint8_t* side, const Target* target, const entry_t* entries, int64_t n, int64_t* first,
) noexcept nogil:
    """The part of the target whose value is known here; the list has it from `first` on."""
    cdef Target known = target[0]
    cdef int64_t i = 0
    cdef uint32_t row
    while i < n and code_of(entries[i]) == 0:
        row = row_of(entries[i])
        if side[row] == NO_SIDE:
            known.n_missing -= 1
        else:
            known.n -= 1
            known.weight[side[row]] -= weight_of(block, row)
        i += 1
    first[0] = i
    return known


cdef inline Target target_of_codes(const Target* target, const SideCounts* h) noexcept nogil:
    cdef Target known = target[0]
    known.n -= h.n_known[0]
    known.n_missing -= h.n[0] - h.n_known[0]
    known.weight[0] -= h.weight[0][0]
    known.weight[1] -= h.weight[1][0]
    return known


cdef inline void offer_threshold(
    const Target* known, int64_t difference, int64_t n_low, int64_t at, int64_t* agreeing, Imitation* best,
) noexcept nogil:
    """Let a threshold compete in both directions; thresholds are ascending, and the first of equal ones wins.

    `difference`: weight of branch 0 less that of branch 1, up to the threshold.  More than half the weight is below the best,
    so the two ways never tie.
    """
    cdef int64_t straight = known.weight[1] + difference
    cdef int64_t reversed = known.weight[0] - difference
    if n_low < LEAST_ON_A_SIDE or known.n - n_low < LEAST_ON_A_SIDE or max(straight, reversed) <= agreeing[0]:
        return
    agreeing[0] = max(straight, reversed)
    best.position = at
    best.low_branch = straight < reversed


cdef inline int64_t imitate_along_list(
    const Block* block, const uint8_t* side, const Target* known, const entry_t* entries, int64_t first, int64_t n,
    Imitation* best,
) noexcept nogil:
    """The threshold between two values of a sorted list that agrees best; returns the agreeing weight, 0 if there is none."""
    cdef const int64_t* weight = block.case_weight
    cdef int64_t[3] step = [1, -1, 0]
    cdef int64_t agreeing = 0
    cdef int64_t difference = 0
    cdef int64_t n_low = 0
    cdef int64_t i
    cdef uint32_t row
    for i in range(first, n - 1):
        row = row_of(entries[i])
        difference += step[side[row]] if weight == NULL else step[side[row]] * weight[row]
        n_low += side[row] != NO_SIDE
        if code_of(entries[i]) != code_of(entries[i + 1]):
            offer_threshold(known, difference, n_low, i, &agreeing, best)
    return agreeing


cdef inline int64_t imitate_by_codes(uint32_t n_codes, const Target* known, const SideCounts* h, Imitation* best) noexcept nogil:
    """The same between codes that occur."""
    cdef int64_t agreeing = 0
    cdef int64_t difference = 0
    cdef int64_t n_low = 0
    cdef uint32_t last = n_codes - 1
    cdef uint32_t code
    while h.n[last] == 0:
        last -= 1
    for code in range(1, last):
        difference += h.weight[0][code] - h.weight[1][code]
        n_low += h.n_known[code]
        if h.n[code]:
            offer_threshold(known, difference, n_low, code, &agreeing, best)
    return agreeing


cdef inline int32_t side_of_category(const Target* known, int64_t zero, int64_t one) noexcept nogil:
    """Branch of a category's greater weight; on a tie of all the weight, branch 1 if that ties too."""
    if zero != one:
        return zero < one
    return known.weight[0] <= known.weight[1]


cdef inline int64_t run_of_list(
    const Block* block, const uint8_t* side, const entry_t* entries, int64_t start, int64_t n, Target* run,
) noexcept nogil:
    """Count the samples with the code at `start`; returns where they end."""
    cdef int64_t i = start
    cdef uint32_t code = code_of(entries[start])
    cdef uint32_t row
    memset(run, 0, sizeof(Target))
    while i < n and code_of(entries[i]) == code:
        row = row_of(entries[i])
        if side[row] != NO_SIDE:
            run.n += 1
            run.weight[side[row]] += weight_of(block, row)
        i += 1
    return i


cdef inline int64_t imitate_categories(
    const Block* block, const uint8_t* side, const Target* known, const entry_t* entries, int64_t first, int64_t n,
) noexcept nogil:
    """Each category to its majority's branch; returns the agreeing weight, 0 if too few samples go either way."""
    cdef int64_t[2] sent = [0, 0]
    cdef int64_t agreeing = 0
    cdef int64_t i = first
    cdef Target run
    while i < n:
        i = run_of_list(block, side, entries, i, n, &run)
        sent[side_of_category(known, run.weight[0], run.weight[1])] += run.n
        agreeing += max(run.weight[0], run.weight[1])
    return agreeing if min(sent[0], sent[1]) >= LEAST_ON_A_SIDE else 0


cdef inline int64_t imitate_counted_categories(uint32_t n_codes, const Target* known, const SideCounts* h) noexcept nogil:
    cdef int64_t[2] sent = [0, 0]
    cdef int64_t agreeing = 0
    cdef uint32_t code
    for code in range(1, n_codes):
        sent[side_of_category(known, h.weight[0][code], h.weight[1][code])] += h.n_known[code]
        agreeing += max(h.weight[0][code], h.weight[1][code])
    return agreeing if min(sent[0], sent[1]) >= LEAST_ON_A_SIDE else 0


cdef inline void count_sides(const SurrogateSearch* x, int32_t f, SideCounts* h) noexcept nogil:
    cdef const uint8_t* side = x.side
    cdef const uint32_t* rows = x.split.rows
    cdef const uint8_t* codes = x.block.codes + <size_t> x.p.slot[f] * x.block.n
    cdef size_t n_codes = x.p.n_codes[f]
    cdef int64_t i
    cdef uint32_t row, code
    memset(h.n, 0, n_codes * sizeof(int64_t))
    memset(h.n_known, 0, n_codes * sizeof(int64_t))
    memset(h.weight[0], 0, n_codes * sizeof(int64_t))
    memset(h.weight[1], 0, n_codes * sizeof(int64_t))
    for i in range(x.split.n):
        row = rows[i]
        code = codes[row]
        h.n[code] += 1
        if side[row] != NO_SIDE:
            h.n_known[code] += 1
            h.weight[side[row]][code] += weight_of(x.block, row)


cdef inline bint judge_imitation(
    const SurrogateSearch* x, const Target* known, int64_t agreeing, Imitation* found,
) noexcept nogil:
    """Write the agreement; return whether it is better than sending every sample to the heavier branch."""
    cdef const Target* whole = known if x.p.known_agreement else &x.target
    cdef int64_t total = whole.weight[0] + whole.weight[1]
    cdef int64_t majority = max(whole.weight[0], whole.weight[1])
    if agreeing <= majority:
        return False
    found.agreement = <double> agreeing / <double> total
    found.adjusted = <double> (agreeing - majority) / <double> (total - majority)
    return found.adjusted > LEAST_ADJUSTED


cdef inline bint imitate(const SurrogateSearch* x, const Active* active, Imitation* found, entry_t width) noexcept nogil:
    """Find the test of a feature that agrees best with the target; False if none is good enough."""
    cdef const Problem* p = x.p
    cdef int32_t f = active.feature
    cdef bint ordered = form_of(p, f) == ORDERED
    cdef const entry_t* entries
    cdef SideCounts h
    cdef Target known
    cdef int64_t agreeing
    cdef int64_t first = 0
    found.position = -1
    found.low_branch = -1
    if active.listed:
        entries = <const entry_t*> (x.split.lists + active.at)
        known = target_along_list(x.block, x.side, &x.target, entries, x.split.n, &first)
        if ordered:
            agreeing = imitate_along_list(x.block, x.side, &known, entries, first, x.split.n, found)
        else:
            agreeing = imitate_categories(x.block, x.side, &known, entries, first, x.split.n)
    else:
        count_sides(x, f, &h)
        known = target_of_codes(&x.target, &h)
        if ordered:
            agreeing = imitate_by_codes(p.n_codes[f], &known, &h, found)
        else:
            agreeing = imitate_counted_categories(p.n_codes[f], &known, &h)
    return judge_imitation(x, &known, agreeing, found)


cdef inline void find_imitations(SurrogateSearch* x, entry_t width) noexcept nogil:
    """Find the surrogates to keep."""
    cdef Imitation* best = x.best
    cdef int32_t most = x.p.max_surrogates
    cdef int32_t i, at, f
    cdef Imitation found
    x.n_best = 0
    for i in range(x.n_active if most else 0):
        f = x.actives[i].feature
        if f == x.split.cut.feature or (x.allowed != NULL and not x.allowed[f]):
            continue
        if interrupted(x.watch, x.split.n):
            break
        if not imitate(x, &x.actives[i], &found, width):
            continue
        found.active = i
        at = x.n_best
        while at > 0 and best[at - 1].agreement < found.agreement:
            if at < most:
                best[at] = best[at - 1]
            at -= 1
        if at < most:
            best[at] = found
            x.n_best = min(x.n_best + 1, most)


cdef inline int add_category(SurrogateTable* all, uint32_t code, int32_t branch) noexcept nogil:
    cdef int64_t capacity = all.table_capacity
    if all.table_n == capacity:
        capacity = 2 * capacity + 64
        if resize(<void**> &all.table_code, capacity * 4) or resize(<void**> &all.table_branch, capacity * 4):
            return -1
        all.table_capacity = capacity
    all.table_code[all.table_n] = code
    all.table_branch[all.table_n] = branch
    all.table_n += 1
    return 0


cdef inline int keep_categories(
    const SurrogateSearch* x, const Active* active, SurrogateTable* all, entry_t width,
) noexcept nogil:
    """Write the branch of every category that has samples of the target.  -1 if memory runs out."""
    cdef int32_t f = active.feature
    cdef const entry_t* entries
    cdef SideCounts h
    cdef Target known, run
    cdef int64_t first = 0
    cdef int64_t i
    cdef uint32_t code, row
    cdef int32_t branch
    if not active.listed:
        count_sides(x, f, &h)
        known = target_of_codes(&x.target, &h)
        for code in range(1, x.p.n_codes[f]):
            if h.n_known[code]:
                if add_category(all, code, side_of_category(&known, h.weight[0][code], h.weight[1][code])):
                    return -1
        return 0
    entries = <const entry_t*> (x.split.lists + active.at)
    known = target_along_list(x.block, x.side, &x.target, entries, x.split.n, &first)
    i = first
    while i < x.split.n:
        code = code_of(entries[i])
        row = row_of(entries[i])
        i = run_of_list(x.block, x.side, entries, i, x.split.n, &run)
        if run.n:
            branch = side_of_category(&known, run.weight[0], run.weight[1])
            if add_category(all, category_of(x.p, x.block, f, code, row), branch):
                return -1
    return 0


cdef inline void neighbours(
    const SurrogateSearch* x, const Active* active, int64_t position, Kept* kept, entry_t width,
) noexcept nogil:
    """Write the samples of the table whose values are on both sides of a threshold."""
    cdef const entry_t* entries = <const entry_t*> (x.split.lists + active.at)
    cdef const uint8_t* codes = x.block.codes + <size_t> x.p.slot[active.feature] * x.block.n
    cdef const uint32_t* rows = x.split.rows
    cdef int64_t i
    cdef int32_t code
    cdef int32_t next_code = 256
    if active.listed:
        kept.row_low = row_of(entries[position])
        kept.row_high = row_of(entries[position + 1])
    else:
        for i in range(x.split.n):
            code = codes[rows[i]]
            if code == position:
                kept.row_low = rows[i]
            elif position < code < next_code:
                next_code = code
                kept.row_high = rows[i]
    if x.block.origin != NULL:
        kept.row_low = x.block.origin[kept.row_low]
        kept.row_high = x.block.origin[kept.row_high]


cdef inline int keep(
    const SurrogateSearch* x, int64_t node, const Imitation* found, SurrogateTable* all, entry_t width,
) noexcept nogil:
    """Add a surrogate to those of the tree.  -1 if memory runs out."""
    cdef const Active* active = &x.actives[found.active]
    cdef Kept* kept
    if all.n == all.capacity:
        if resize(<void**> &all.kept, (2 * all.capacity + 64) * sizeof(Kept)):
            return -1
        all.capacity = 2 * all.capacity + 64
    kept = &all.kept[all.n]
    kept.node = node
    kept.agreement = found.agreement
    kept.adjusted = found.adjusted
    kept.feature = active.feature
    kept.low_branch = found.low_branch
    kept.row_low = 0
    kept.row_high = 0
    if found.low_branch >= 0:
        neighbours(x, active, found.position, kept, width)
    elif keep_categories(x, active, all, width):
        return -1
    kept.table_stop = all.table_n
    all.n += 1
    return 0


cdef inline int64_t send_along_list(
    const SurrogateSearch* x, const Imitation* found, const SurrogateTable* all, int64_t table_start, uint32_t* branch,
    entry_t width,
) noexcept nogil:
    """Give samples that STAY the branch that a surrogate names; returns how many it could."""
    cdef const Active* active = &x.actives[found.active]
    cdef const entry_t* entries = <const entry_t*> (x.split.lists + active.at)
    cdef int64_t sent = 0
    cdef int64_t entry = table_start
    cdef int64_t i
    cdef uint32_t row, code
    for i in range(x.split.n):
        row = row_of(entries[i])
        if branch[row] != STAY or code_of(entries[i]) == 0:
            continue
        if found.low_branch >= 0:
            branch[row] = <uint32_t> (found.low_branch ^ (i > found.position))
            sent += 1
            continue
        # both the list and the table ascend
        code = category_of(x.p, x.block, active.feature, code_of(entries[i]), row)
        while entry < all.table_n and all.table_code[entry] < code:
            entry += 1
        if entry < all.table_n and all.table_code[entry] == code:
            branch[row] = <uint32_t> all.table_branch[entry]
            sent += 1
    return sent


cdef inline int64_t send_by_codes(
    const SurrogateSearch* x, const Imitation* found, const SurrogateTable* all, int64_t table_start, uint32_t* branch,
) noexcept nogil:
    cdef int32_t f = x.actives[found.active].feature
    cdef const uint8_t* codes = x.block.codes + <size_t> x.p.slot[f] * x.block.n
    cdef const uint32_t* rows = x.split.rows
    cdef uint32_t[256] branch_of_code
    cdef int64_t sent = 0
    cdef int64_t i
    cdef uint32_t code
    for code in range(x.p.n_codes[f]):
        branch_of_code[code] = STAY
        if code and found.low_branch >= 0:
            branch_of_code[code] = <uint32_t> (found.low_branch ^ (code > found.position))
    for i in range(table_start, all.table_n):
        branch_of_code[all.table_code[i]] = <uint32_t> all.table_branch[i]
    for i in range(x.split.n):
        if branch[rows[i]] == STAY:
            branch[rows[i]] = branch_of_code[codes[rows[i]]]
            sent += branch[rows[i]] != STAY
    return sent


cdef inline int send_by_surrogates(SurrogateSearch* x, Work* w, int64_t node, entry_t width) noexcept nogil:
    """Keep the surrogates that were found, and send the samples that STAY by the first that knows their value.

    If no surrogate knows the value, a sample follows the heavier branch, if the policy says so and there is one.  -1 if memory
    runs out.
    """
    cdef SurrogateTable* all = &w.nodes.surrogates if w.surrogates == NULL else w.surrogates
    cdef uint32_t* branch = w.scratch.branch
    cdef int64_t missing = x.target.n_missing
    cdef int64_t table_start, i
    cdef int32_t j
    for j in range(x.n_best):
        table_start = all.table_n
        if keep(x, node, &x.best[j], all, width):
            return -1
        if missing == 0:
            continue
        if x.actives[x.best[j].active].listed:
            missing -= send_along_list(x, &x.best[j], all, table_start, branch, width)
        else:
            missing -= send_by_codes(x, &x.best[j], all, table_start, branch)
    if missing and heavier_branch(x.p, &x.target) >= 0:
        for i in range(x.split.n):
            if branch[x.split.rows[i]] == STAY:
                branch[x.split.rows[i]] = <uint32_t> heavier_branch(x.p, &x.target)
    return 0


cdef inline int add_surrogates_of(
    const Problem* p, const Block* block, Work* w, const Pending* node, const NodeSplit* split, Target* target, entry_t width,
) noexcept nogil:
    """Find a node's surrogates, and send the samples whose own value is missing; s.side is used up.  -1 if memory runs out."""
    cdef SurrogateSearch x
    cdef Scratch* s = w.scratch
    cdef uint32_t branch
    cdef int64_t i
    x.p = p
    x.block = block
    x.split = split
    x.actives = <const Active*> (w.arenas[node.depth % 2].data + node.actives_at)
    x.n_active = node.n_active
    x.allowed = w.allowed if p.sets != NULL else NULL
    x.side = s.side
    x.best = s.imitations
    x.watch = s.watch
    for i in range(split.n):
        branch = s.branch[split.rows[i]]
        s.side[split.rows[i]] = <uint8_t> branch if branch != STAY else NO_SIDE
    x.target = target_of(block, s.side, split.rows, split.n)
    target[0] = x.target
    find_imitations(&x, width)
    return send_by_surrogates(&x, w, node.id, width)
