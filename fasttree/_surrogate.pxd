"""Surrogates: the tests of other features that send a node's samples most nearly as its own test does.  Header only.

Breiman et al. (1984), section 5.3; rules of detail as in Therneau and Atkinson, "An Introduction to Recursive Partitioning Using
the RPART Routines", section 5.  The target of the search is the branch of every sample whose tested value is known.  Agreements
are sums of weights in fixed point, so no order of samples shows.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from fasttree._count cimport category_of
from fasttree._memory cimport resize
from fasttree._scan cimport form_of
from fasttree._types cimport ORDERED, STAY, TO_STOP, Active, Block, Imitation, Problem, code_of, entry_t, row_of


cdef enum:
    LOST = 2                   # side of a sample whose tested value is missing
    LEAST_ON_A_SIDE = 2        # samples that a surrogate must send either way


cdef extern from *:
    """
    #define FASTTREE_LEAST_ADJUSTED 1e-10
    """
    const double LEAST_ADJUSTED "FASTTREE_LEAST_ADJUSTED"


cdef struct Target:            # what a surrogate imitates, or the part of it whose value of the surrogate's feature is known
    int64_t n                  # samples with a known branch
    int64_t n_lost
    int64_t weight[2]          # by branch, fixed point


cdef struct Kept:              # a surrogate of the tree under construction
    int64_t node
    double agreement
    double adjusted
    int64_t table_stop         # end of its categories in the tables
    int32_t feature
    int32_t low_branch
    uint32_t row_low           # samples whose values stand on both sides of the threshold
    uint32_t row_high


cdef struct Surrogates:        # those of all nodes, in order of creation
    Kept* kept
    int64_t n
    int64_t capacity
    uint32_t* table_code
    int32_t* table_branch
    int64_t table_n
    int64_t table_capacity


cdef struct Histogram:         # of a counted feature
    int64_t n[256]             # samples of any side
    int64_t n_known[256]       # with a known branch
    int64_t weight[2][256]     # of those, by branch


cdef inline void free_surrogates(Surrogates* all) noexcept nogil:
    free(all.kept)
    free(all.table_code)
    free(all.table_branch)
    memset(all, 0, sizeof(Surrogates))


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
        if side[rows[i]] == LOST:
            target.n_lost += 1
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
        if side[row] == LOST:
            known.n_lost -= 1
        else:
            known.n -= 1
            known.weight[side[row]] -= weight_of(block, row)
        i += 1
    first[0] = i
    return known


cdef inline Target target_of_codes(const Target* target, const Histogram* h) noexcept nogil:
    cdef Target known = target[0]
    known.n -= h.n_known[0]
    known.n_lost -= h.n[0] - h.n_known[0]
    known.weight[0] -= h.weight[0][0]
    known.weight[1] -= h.weight[1][0]
    return known


cdef inline void offer_threshold(
    const Target* known, int64_t difference, int64_t n_low, int64_t at, int64_t* agreeing, Imitation* best,
) noexcept nogil:
    """Let a threshold compete, both ways round; thresholds come ascending, and the first of equal ones wins.

    `difference`: weight of branch 0 less that of branch 1, up to the threshold.  Below the best stands more than half the weight,
    so the two ways never tie.
    """
    cdef int64_t straight = known.weight[1] + difference
    cdef int64_t reversed = known.weight[0] - difference
    if n_low < LEAST_ON_A_SIDE or known.n - n_low < LEAST_ON_A_SIDE or max(straight, reversed) <= agreeing[0]:
        return
    agreeing[0] = max(straight, reversed)
    best.at = at
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
        n_low += side[row] != LOST
        if code_of(entries[i]) != code_of(entries[i + 1]):
            offer_threshold(known, difference, n_low, i, &agreeing, best)
    return agreeing


cdef inline int64_t imitate_by_codes(uint32_t n_codes, const Target* known, const Histogram* h, Imitation* best) noexcept nogil:
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
    """Count the samples with the code that stands at `start`; returns where they end."""
    cdef int64_t i = start
    cdef uint32_t code = code_of(entries[start])
    cdef uint32_t row
    memset(run, 0, sizeof(Target))
    while i < n and code_of(entries[i]) == code:
        row = row_of(entries[i])
        if side[row] != LOST:
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


cdef inline int64_t imitate_counted_categories(uint32_t n_codes, const Target* known, const Histogram* h) noexcept nogil:
    cdef int64_t[2] sent = [0, 0]
    cdef int64_t agreeing = 0
    cdef uint32_t code
    for code in range(1, n_codes):
        sent[side_of_category(known, h.weight[0][code], h.weight[1][code])] += h.n_known[code]
        agreeing += max(h.weight[0][code], h.weight[1][code])
    return agreeing if min(sent[0], sent[1]) >= LEAST_ON_A_SIDE else 0


cdef inline void count_sides(
    const Block* block, const uint8_t* side, const uint8_t* codes, uint32_t n_codes, const uint32_t* rows, int64_t n,
    Histogram* h,
) noexcept nogil:
    cdef int64_t i
    cdef uint32_t row, code
    memset(h.n, 0, n_codes * sizeof(int64_t))
    memset(h.n_known, 0, n_codes * sizeof(int64_t))
    memset(h.weight[0], 0, n_codes * sizeof(int64_t))
    memset(h.weight[1], 0, n_codes * sizeof(int64_t))
    for i in range(n):
        row = rows[i]
        code = codes[row]
        h.n[code] += 1
        if side[row] != LOST:
            h.n_known[code] += 1
            h.weight[side[row]][code] += weight_of(block, row)


cdef inline bint judge_imitation(
    const Problem* p, const Target* target, const Target* known, int64_t agreeing, Imitation* found,
) noexcept nogil:
    """Write the agreement; is it better than sending every sample to the heavier branch?"""
    cdef const Target* whole = known if p.known_agreement else target
    cdef int64_t total = whole.weight[0] + whole.weight[1]
    cdef int64_t majority = max(whole.weight[0], whole.weight[1])
    if agreeing <= majority:
        return False
    found.agreement = <double> agreeing / <double> total
    found.adjusted = <double> (agreeing - majority) / <double> (total - majority)
    return found.adjusted > LEAST_ADJUSTED


cdef inline bint imitate(
    const Problem* p, const Block* block, const uint8_t* side, const Target* target, const Active* active, const char* base,
    const uint32_t* rows, int64_t n, entry_t typed, Imitation* found,
) noexcept nogil:
    """Find the test of a feature that agrees best with the target; False if none is worth keeping."""
    cdef int32_t f = active.feature
    cdef bint ordered = form_of(p, f) == ORDERED
    cdef const entry_t* entries
    cdef Histogram h
    cdef Target known
    cdef int64_t agreeing
    cdef int64_t first = 0
    found.at = -1
    found.low_branch = -1
    if active.listed:
        entries = <const entry_t*> (base + active.at)
        known = target_along_list(block, side, target, entries, n, &first)
        if ordered:
            agreeing = imitate_along_list(block, side, &known, entries, first, n, found)
        else:
            agreeing = imitate_categories(block, side, &known, entries, first, n)
    else:
        count_sides(block, side, block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, n, &h)
        known = target_of_codes(target, &h)
        if ordered:
            agreeing = imitate_by_codes(p.n_codes[f], &known, &h, found)
        else:
            agreeing = imitate_counted_categories(p.n_codes[f], &known, &h)
    return judge_imitation(p, target, &known, agreeing, found)


cdef inline int32_t find_imitations(
    const Problem* p, const Block* block, const uint8_t* side, const Target* target, int32_t tested, const Active* actives,
    int32_t n_active, const uint8_t* allowed, const char* base, const uint32_t* rows, int64_t n, entry_t typed, Imitation* best,
) noexcept nogil:
    """best = the surrogates worth keeping, the most agreeing first, on ties by feature; returns their number.

    `allowed`: by feature, whether it may stand on one path with the tested one; NULL: all may.
    """
    cdef int32_t n_best = 0
    cdef int32_t i, at
    cdef Imitation found
    for i in range(n_active if p.max_surrogates else 0):
        if actives[i].feature == tested or (allowed != NULL and not allowed[actives[i].feature]):
            continue
        if not imitate(p, block, side, target, &actives[i], base, rows, n, typed, &found):
            continue
        found.active = i
        at = n_best
        while at > 0 and best[at - 1].agreement < found.agreement:
            if at < p.max_surrogates:
                best[at] = best[at - 1]
            at -= 1
        if at < p.max_surrogates:
            best[at] = found
            n_best = min(n_best + 1, p.max_surrogates)
    return n_best


cdef inline int add_category(Surrogates* all, uint32_t code, int32_t branch) noexcept nogil:
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
    const Problem* p, const Block* block, const uint8_t* side, const Target* target, const Active* active, const char* base,
    const uint32_t* rows, int64_t n, entry_t typed, Surrogates* all,
) noexcept nogil:
    """Write the branch of every category that has samples of the target.  -1 if memory runs out."""
    cdef int32_t f = active.feature
    cdef const entry_t* entries
    cdef Histogram h
    cdef Target known, run
    cdef int64_t first = 0
    cdef int64_t i
    cdef uint32_t code, row
    cdef int32_t branch
    if not active.listed:
        count_sides(block, side, block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, n, &h)
        known = target_of_codes(target, &h)
        for code in range(1, p.n_codes[f]):
            if h.n_known[code]:
                if add_category(all, code, side_of_category(&known, h.weight[0][code], h.weight[1][code])):
                    return -1
        return 0
    entries = <const entry_t*> (base + active.at)
    known = target_along_list(block, side, target, entries, n, &first)
    i = first
    while i < n:
        code = code_of(entries[i])
        row = row_of(entries[i])
        i = run_of_list(block, side, entries, i, n, &run)
        if run.n:
            branch = side_of_category(&known, run.weight[0], run.weight[1])
            if add_category(all, category_of(p, block, f, code, row), branch):
                return -1
    return 0


cdef inline void neighbours(
    const Problem* p, const Block* block, const Active* active, const char* base, const uint32_t* rows, int64_t n, int64_t at,
    entry_t typed, uint32_t* low, uint32_t* high,
) noexcept nogil:
    """Samples of the table whose values stand on both sides of a threshold."""
    cdef const entry_t* entries = <const entry_t*> (base + active.at)
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[active.feature] * block.n
    cdef int64_t i
    cdef int32_t code
    cdef int32_t next_code = 256
    if active.listed:
        low[0] = row_of(entries[at])
        high[0] = row_of(entries[at + 1])
    else:
        for i in range(n):
            code = codes[rows[i]]
            if code == at:
                low[0] = rows[i]
            elif at < code < next_code:
                next_code = code
                high[0] = rows[i]
    if block.origin != NULL:
        low[0] = block.origin[low[0]]
        high[0] = block.origin[high[0]]


cdef inline int keep(
    const Problem* p, const Block* block, const uint8_t* side, const Target* target, int64_t node, const Imitation* found,
    const Active* active, const char* base, const uint32_t* rows, int64_t n, entry_t typed, Surrogates* all,
) noexcept nogil:
    """Add a surrogate to those of the tree.  -1 if memory runs out."""
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
        neighbours(p, block, active, base, rows, n, found.at, typed, &kept.row_low, &kept.row_high)
    elif keep_categories(p, block, side, target, active, base, rows, n, typed, all):
        return -1
    kept.table_stop = all.table_n
    all.n += 1
    return 0


cdef inline int64_t send_along_list(
    const Problem* p, const Block* block, const Imitation* found, const Active* active, const entry_t* entries, int64_t n,
    const Surrogates* all, int64_t table_start, uint32_t* branch,
) noexcept nogil:
    """Give samples that STAY the branch that a surrogate names; returns how many it could."""
    cdef int64_t sent = 0
    cdef int64_t entry = table_start
    cdef int64_t i
    cdef uint32_t row, code
    for i in range(n):
        row = row_of(entries[i])
        if branch[row] != STAY or code_of(entries[i]) == 0:
            continue
        if found.low_branch >= 0:
            branch[row] = <uint32_t> (found.low_branch ^ (i > found.at))
            sent += 1
            continue
        # both the list and the table ascend
        code = category_of(p, block, active.feature, code_of(entries[i]), row)
        while entry < all.table_n and all.table_code[entry] < code:
            entry += 1
        if entry < all.table_n and all.table_code[entry] == code:
            branch[row] = <uint32_t> all.table_branch[entry]
            sent += 1
    return sent


cdef inline int64_t send_by_codes(
    const Imitation* found, const uint8_t* codes, uint32_t n_codes, const uint32_t* rows, int64_t n, const Surrogates* all,
    int64_t table_start, uint32_t* branch,
) noexcept nogil:
    cdef uint32_t[256] branch_of_code
    cdef int64_t sent = 0
    cdef int64_t i
    cdef uint32_t code
    for code in range(n_codes):
        branch_of_code[code] = STAY
        if code and found.low_branch >= 0:
            branch_of_code[code] = <uint32_t> (found.low_branch ^ (code > found.at))
    for i in range(table_start, all.table_n):
        branch_of_code[all.table_code[i]] = <uint32_t> all.table_branch[i]
    for i in range(n):
        if branch[rows[i]] == STAY:
            branch[rows[i]] = branch_of_code[codes[rows[i]]]
            sent += branch[rows[i]] != STAY
    return sent


cdef inline int add_surrogates_of(
    const Problem* p, const Block* block, int64_t node, int32_t tested, const Active* actives, int32_t n_active,
    const uint8_t* allowed, const char* base, const uint32_t* rows, int64_t n, entry_t typed, uint8_t* side, uint32_t* branch,
    Target* target, Imitation* best, Surrogates* all,
) noexcept nogil:
    """Find a node's surrogates, and send the samples that STAY, in `branch`, by the first that knows their value.

    Those that none knows go to the heavier branch, if that is asked for and there is one.  `side`: space for as many.  -1 if
    memory runs out.
    """
    cdef const Active* active
    cdef int32_t n_best, j
    cdef int64_t table_start, i
    cdef int64_t lost
    for i in range(n):
        side[rows[i]] = <uint8_t> branch[rows[i]] if branch[rows[i]] != STAY else LOST
    target[0] = target_of(block, side, rows, n)
    lost = target.n_lost
    n_best = find_imitations(p, block, side, target, tested, actives, n_active, allowed, base, rows, n, typed, best)
    for j in range(n_best):
        active = &actives[best[j].active]
        table_start = all.table_n
        if keep(p, block, side, target, node, &best[j], active, base, rows, n, typed, all):
            return -1
        if lost == 0:
            continue
        if active.listed:
            lost -= send_along_list(
                p, block, &best[j], active, <const entry_t*> (base + active.at), n, all, table_start, branch
            )
        else:
            lost -= send_by_codes(
                &best[j], block.codes + <size_t> p.slot[active.feature] * block.n, p.n_codes[active.feature], rows, n, all,
                table_start, branch,
            )
    if lost and heavier_branch(p, target) >= 0:
        for i in range(n):
            if branch[rows[i]] == STAY:
                branch[rows[i]] = <uint32_t> heavier_branch(p, target)
    return 0
