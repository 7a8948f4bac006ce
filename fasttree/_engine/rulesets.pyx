"""Rules of a tree: simplified, selected and dropped (Quinlan 1993, chapter 5), and those that fire on a sample.

Kernels trust their caller: every check is at the edge, in Python.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from fasttree._engine.arrays cimport copied, doubles_of, int32s_of, int64s_of, uint8s_of, uint32s_of
from fasttree._engine.memory cimport free_arena, reserve
from fasttree._engine.prune.bits cimport Failures, count_condition, list_samples
from fasttree._engine.prune.select cimport (
    FEW_RULES, WORDS_OF_RANDOM, RuleTests, Cover, Field, Ordered, Random, Record, Refinement, anneal, climb_from_all_sides,
    connect, divide, draw, holds, judge, lg, try_all,
)
from fasttree._engine.prune.simplify cimport (
    Confidence, Draft, Edges, RuleClass, SampleSet, Verdict, Without, digits_of, fill_failing, put_in_order, simplify,
)
from fasttree._engine.prune.vote cimport Ballots, RulesMessage, begin_with, climb, order_by_use, vote_of_all
from fasttree._engine.types cimport Arena, real_t
from fasttree._engine.watch cimport Watch, handles_signals, interrupted, raise_pending, start_watch


cdef int64_t measure_paths(const int32_t* parent, const int32_t[::1] leaves, int32_t* longest) noexcept nogil:
    """How many conditions lead to these leaves, in all and at most."""
    cdef int64_t total = 0
    cdef Py_ssize_t i
    cdef int32_t node, depth
    longest[0] = 0
    for i in range(leaves.shape[0]):
        depth = 0
        node = leaves[i]
        while parent[node] >= 0:
            depth += 1
            node = parent[node]
        total += depth
        longest[0] = max(longest[0], depth)
    return total


cdef class Simplification:
    """The rules of leaves, one after the other: room for the one at work, and arrays of those that are left."""

    cdef Edges edges
    cdef SampleSet samples
    cdef Draft rule
    cdef Failures failures         # of the path of the last leaf
    cdef Arena cover
    cdef int32_t longest           # path
    cdef int32_t* path
    cdef int32_t* ordered          # its conditions that are left, in Release 8's order
    cdef uint64_t* failing
    cdef int64_t n_rules
    cdef int64_t n_nodes
    cdef int64_t n_covered
    cdef int32_t[::1] node
    cdef int64_t[::1] start
    cdef int32_t[::1] label
    cdef int64_t[::1] errors
    cdef int64_t[::1] total
    cdef float[::1] estimate
    cdef int64_t[::1] cover_start
    cdef tuple kept                # arrays whose memory is in use

    def __cinit__(
        self, dict edges, codes, const uint64_t[::1] padding, const int64_t[::1] weight, const int32_t[::1] leaves,
    ):
        cdef Edges* e = &self.edges
        cdef const uint8_t[:, ::1] bytes_of_codes = codes.view(np.uint8)
        e.parent, e.slot, e.feature = int32s_of(edges["parent"]), int32s_of(edges["slot"]), int32s_of(edges["feature"])
        e.low, e.high, e.kind = uint32s_of(edges["low"]), uint32s_of(edges["high"]), uint8s_of(edges["kind"])
        e.group_start, e.group_code = int64s_of(edges["group_start"]), uint32s_of(edges["group_code"])
        e.threshold = doubles_of(edges["threshold"])
        self.samples.codes = &bytes_of_codes[0, 0] if bytes_of_codes.shape[0] else NULL
        self.samples.width = codes.itemsize
        self.samples.padding = &padding[0]
        self.samples.weight = &weight[0] if weight.shape[0] else NULL
        self.samples.n_words = padding.shape[0]
        n = leaves.shape[0]
        self.node = np.empty(measure_paths(e.parent, leaves, &self.longest), dtype=np.int32)
        self.start, self.cover_start = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
        self.label, self.errors = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int64)
        self.estimate, self.total = np.empty(n, dtype=np.float32), np.empty(n, dtype=np.int64)
        self.make_room()

    def __dealloc__(self):
        free_arena(&self.cover)

    cdef int make_room(self) except -1:
        cdef int64_t n_words = self.samples.n_words
        cdef int32_t n_digits = digits_of(self.longest)
        cdef uint64_t[:, ::1] digits = np.zeros((2, 2 * max(n_digits, 1) * n_words), dtype=np.uint64)
        cdef uint64_t[::1] failing = np.empty((max(self.longest, 1) + 2) * n_words + 2, dtype=np.uint64)
        cdef int64_t[:, ::1] alone = np.empty((2, self.longest + 1), dtype=np.int64)
        cdef uint8_t[::1] without = np.empty((self.longest + 1) * sizeof(Without), dtype=np.uint8)
        cdef int32_t[:, ::1] paths = np.empty((2, self.longest + 1), dtype=np.int32)
        cdef Failures* f = &self.failures
        self.kept = (digits.base, failing.base, alone.base, without.base, paths.base)
        self.path, self.ordered = &paths[0, 0], &paths[1, 0]
        self.failing = &failing[0]
        f.digits, f.failing, f.n_digits = &digits[0, 0], self.failing, n_digits
        f.padding, f.weight, f.n_words = self.samples.padding, self.samples.weight, n_words
        f.waiting = self.failing + max(self.longest, 1) * n_words
        self.rule.failures = self.failures
        self.rule.failures.digits = &digits[1, 0]
        self.rule.sides.alone = [&alone[0, 0], &alone[1, 0]]
        self.rule.without = <Without*> &without[0]
        return 0

    cdef int32_t follow_path(self, int32_t leaf, int32_t depth) noexcept nogil:
        """Go on from the last leaf's path, of `depth` conditions, to this one's; only what differs is evaluated."""
        cdef int32_t* path = self.path
        cdef int32_t* upward = self.ordered
        cdef int32_t n = 0
        cdef int32_t known = 0
        cdef int32_t node = leaf
        cdef int32_t i
        while self.edges.parent[node] >= 0:
            upward[n] = node
            n += 1
            node = self.edges.parent[node]
        while known < min(n, depth) and path[known] == upward[n - 1 - known]:
            known += 1
        for i in range(depth - 1, known - 1, -1):
            count_condition(&self.failures, i, digits_of(i + 1), ~<uint64_t> 0)
        for i in range(known, n):
            path[i] = upward[n - 1 - i]
            fill_failing(&self.edges, path[i], &self.samples, self.failing + i * self.samples.n_words)
            count_condition(&self.failures, i, digits_of(i + 1), 0)
        return n

    cdef int keep(self, int32_t label, const Verdict* verdict, int32_t depth) noexcept nogil:
        """Add the rule at work to those that are left.  -1 if memory runs out."""
        cdef Draft* rule = &self.rule
        cdef int64_t j
        cdef int64_t most = verdict.n if self.samples.weight == NULL else 64 * self.samples.n_words
        if reserve(&self.cover, (self.n_covered + most) * sizeof(uint32_t)):
            return -1
        self.n_covered += list_samples(&rule.failures, <uint32_t*> self.cover.data + self.n_covered)
        for j in range(depth):
            self.ordered[j] = -1 if rule.without[j].dropped else self.path[j]
        put_in_order(&self.edges, self.ordered, depth, rule.n_kept)
        for j in range(rule.n_kept):
            self.node[self.n_nodes + j] = self.ordered[j]
        self.n_nodes += rule.n_kept
        self.label[self.n_rules] = label
        self.errors[self.n_rules] = verdict.errors
        self.total[self.n_rules] = verdict.n
        self.estimate[self.n_rules] = <float> verdict.estimate
        self.n_rules += 1
        self.start[self.n_rules] = self.n_nodes
        self.cover_start[self.n_rules] = self.n_covered
        return 0

    cdef dict found(self):
        n = self.n_rules
        return {
            "label": self.label.base[:n],
            "start": self.start.base[:n + 1],
            "node": self.node.base[:self.n_nodes],
            "errors": self.errors.base[:n],
            "total": self.total.base[:n],
            "estimate": self.estimate.base[:n],
            "cover_start": self.cover_start.base[:n + 1],
            "cover": copied(self.cover.data, self.n_covered, sizeof(uint32_t), "u4"),
        }


def simplify_rules(
    dict edges, codes, tuple places, const int64_t[::1] class_start, int64_t n_samples,
    const float[::1] default_error, const int32_t[::1] leaves, const int32_t[::1] labels, class_count, tuple rates,
):
    """Return the rules of nodes without the conditions that they do not need, and leave out rules that have no use.

    `edges` holds the arrays of Edges; the samples of class k are in words class_start[k], ..., class_start[k + 1] - 1 of a
    row of bits.  `places` has the bits of padding, and the weight of each place, or none if all are 1; n_samples and
    class_count are sums of weights.  `rates` has the level and coefficient of Confidence and its significance (< 0 = no such
    test); None, or the bits of each condition for the rules of C5.0, which use none of the others; and the unit of weights, for
    C5.0 alone.  Of each rule that is left: its label, conditions (nodes, in the order of Release 8), errors, the total of its
    samples, estimate, and their places.
    """
    cdef Simplification x = Simplification(edges, codes, places[0], places[1], leaves)
    cdef RuleClass its
    cdef Confidence level
    cdef Verdict verdict
    cdef Watch watch
    cdef const int64_t* sizes = int64s_of(class_count)
    cdef int32_t depth = 0
    cdef Py_ssize_t i
    cdef int status = 0
    level.level, level.coefficient, level.significance, bits, level.unit = rates
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n_samples + 1 if level.significance >= 0 else 1)))])
    orders = np.concatenate([[0.0], np.cumsum(np.log2(np.arange(1, x.longest + 1)))])
    level.bits = NULL
    if bits is not None:
        level.bits = doubles_of(bits)
    level.bits_of_order = doubles_of(orders)
    x.samples.n_samples = n_samples
    level.log_factorial = doubles_of(log_factorial)
    start_watch(&watch, handles_signals(), NULL)
    with nogil:
        for i in range(leaves.shape[0]):
            if interrupted(&watch, x.samples.n_words * (depth + 1)):
                break
            its.start, its.stop = class_start[labels[i]], class_start[labels[i] + 1]
            its.default_error = default_error[labels[i]]
            its.n_samples = sizes[labels[i]]
            depth = x.follow_path(leaves[i], depth)
            verdict = simplify(&x.rule, &x.failures, x.path, depth, &x.samples, &its, &level)
            if verdict.is_of_use:
                status = x.keep(labels[i], &verdict, depth)
                if status:
                    break
    raise_pending()
    if status:
        raise MemoryError
    return x.found()


def seed_random():
    """Return the state of the C library's random() without a seed, for `select_rules`."""
    state = np.empty(WORDS_OF_RANDOM + 1, dtype=np.uint32)
    cdef uint32_t[::1] out = state
    cdef Random r
    cdef uint64_t word = 1
    cdef Py_ssize_t i, _i
    for i in range(WORDS_OF_RANDOM):
        r.word[i] = <uint32_t> word
        word = 16807 * word % 2147483647
    r.oldest = 3
    for _i in range(10 * WORDS_OF_RANDOM):
        draw(&r)
    for i in range(WORDS_OF_RANDOM):
        out[i] = r.word[i]
    out[WORDS_OF_RANDOM] = <uint32_t> r.oldest
    return state


def select_rules(
    const int64_t[::1] cover_start, const int64_t[::1] cover_stop, const uint32_t[::1] cover, const int32_t[::1] label,
    const float[::1] bits, const int32_t[::1] truth, const int64_t[::1] class_count, uint32_t[::1] random_state, bint annealing,
):
    """Mark, class by class, the rules that make the shortest message of rules and exceptions; uint8 (n_rules,).

    Rule r fires on the samples at cover[cover_start[r]:cover_stop[r]]; truth = class of each place (padding: -1); class_count =
    samples of each class; random_state from `seed_random`, moved on.
    """
    cdef Py_ssize_t n_places = truth.shape[0]
    cdef Py_ssize_t n_rules = label.shape[0]
    marks = np.zeros(n_rules, dtype=np.uint8)
    cdef uint8_t[::1] out = marks
    cdef int32_t[:, ::1] room = np.empty((6, n_places + 3), dtype=np.int32)
    cdef int64_t[::1] rules, rule_start, group_start
    cdef int64_t[:, ::1] alone, subsets
    cdef int32_t[:, ::1] links, states
    cdef uint8_t[:, ::1] selections
    cdef float[::1] bits_of_class
    cdef float[::1] log_number = np.zeros(n_rules + 2, dtype=np.float32)
    cdef double[::1] log_factorial = np.zeros(n_rules + 2)
    cdef Refinement refinement
    cdef Cover covers
    cdef Field field
    cdef Record best
    cdef Random random
    cdef int64_t pairs, n_samples = 0
    cdef int32_t k
    cdef Py_ssize_t i
    if n_rules == 0:
        return marks
    for k in range(class_count.shape[0]):
        n_samples += class_count[k]
    for i in range(2, n_rules + 2):
        log_number[i] = <float> lg(<double> i)
        log_factorial[i] = log_factorial[i - 1] + log_number[i]
    for i in range(WORDS_OF_RANDOM):
        random.word[i] = random_state[i]
    random.oldest = <int32_t> random_state[WORDS_OF_RANDOM]
    covers.start, covers.stop = &cover_start[0], &cover_stop[0]
    covers.place = &cover[0] if cover.shape[0] else NULL
    refinement.group_of, refinement.size, refinement.target = &room[0, 0], &room[1, 0], &room[2, 0]
    refinement.seen, refinement.vacant = &room[3, 0], &room[4, 0]
    field.size = &room[5, 0]
    field.n_samples = n_samples
    field.lg_n = lg(<double> n_samples)
    field.log_number, field.log_factorial = &log_number[0], &log_factorial[0]
    start_watch(&field.watch, handles_signals(), NULL)
    for k in range(class_count.shape[0]):
        rules = np.flatnonzero(np.equal(label, k)).astype(np.int64, copy=False)
        if rules.shape[0] == 0:
            continue
        field.n_rules = <int32_t> rules.shape[0]
        field.n_class = class_count[k]
        with nogil:
            pairs = divide(&refinement, &covers, &rules[0], &truth[0], k, &field)
        rule_start, group_start = np.empty(field.n_rules + 1, dtype=np.int64), np.empty(field.n_groups + 1, dtype=np.int64)
        links = np.empty((2, max(pairs, 1)), dtype=np.int32)
        states = np.empty((2, field.n_groups + 1), dtype=np.int32)
        alone = np.empty((2, field.n_rules), dtype=np.int64)
        selections = np.zeros((2, field.n_rules), dtype=np.uint8)
        bits_of_class = np.take(bits, rules)
        subsets = np.zeros((2, 1 << field.n_rules if field.n_rules <= FEW_RULES else 1), dtype=np.int64)
        field.bits = &bits_of_class[0]
        field.rule_start, field.group_start = &rule_start[0], &group_start[0]
        field.rule_group, field.group_rule = &links[0, 0], &links[1, 0]
        field.times, field.whose = &states[0, 0], &states[1, 0]
        field.right, field.wrong = &alone[0, 0], &alone[1, 0]
        field.selected, best.selected = &selections[0, 0], &selections[1, 0]
        best.exists = False
        with nogil:
            connect(&refinement, &covers, &rules[0], &field)
            if field.n_rules <= FEW_RULES:
                try_all(&field, &subsets[0, 0], &subsets[1, 0], best.selected)
            elif annealing:
                anneal(&field, &random, &best)
            else:
                climb_from_all_sides(&field, &random, &best)
            for i in range(field.n_rules):
                out[rules[i]] = best.selected[i]
        raise_pending()
    for i in range(WORDS_OF_RANDOM):
        random_state[i] = random.word[i]
    random_state[WORDS_OF_RANDOM] = <uint32_t> random.oldest
    return marks


def drop_rules(
    const int64_t[::1] cover_start, const int64_t[::1] cover_stop, const uint32_t[::1] cover, const int32_t[::1] label,
    const int32_t[::1] truth, int32_t default_label,
):
    """Mark the rules to keep of rules in order of use; uint8 (n_rules,).

    Where the first rule that fires and the next (or the default) disagree, a sample counts for the one that is right.  The first
    rule with more samples against it than for it is dropped, and all are judged again, until there is none.
    """
    cdef Py_ssize_t n_rules = label.shape[0]
    cdef Py_ssize_t n_places = truth.shape[0]
    marks = np.ones(n_rules, dtype=np.uint8)
    cdef uint8_t[::1] alive = marks
    cdef int64_t[::1] start = np.zeros(n_places + 2, dtype=np.int64)
    cdef int64_t[:, ::1] votes = np.zeros((2, n_rules + 1), dtype=np.int64)
    cdef int32_t[::1] firing
    cdef Ordered o
    cdef Watch watch
    cdef Py_ssize_t r, rule
    cdef int64_t i
    if n_rules == 0:
        return marks
    with nogil:
        for r in range(n_rules):
            for i in range(cover_start[r], cover_stop[r]):
                start[cover[i] + 2] += 1
        for i in range(2, n_places + 2):
            start[i] += start[i - 1]
    firing = np.empty(max(start[n_places + 1], 1), dtype=np.int32)
    o.start, o.rule, o.label, o.truth, o.alive = &start[0], &firing[0], &label[0], &truth[0], &alive[0]
    o.better, o.worse = &votes[0, 0], &votes[1, 0]
    o.default_label = default_label
    start_watch(&watch, handles_signals(), NULL)
    with nogil:
        for r in range(n_rules):
            for i in range(cover_start[r], cover_stop[r]):
                firing[start[cover[i] + 1]] = <int32_t> r
                start[cover[i] + 1] += 1
        for i in range(n_places):
            judge(&o, <uint32_t> i, 1)
        rule = 0
        while rule < n_rules and not interrupted(&watch, 1):
            if not alive[rule] or o.worse[rule] <= o.better[rule]:
                rule += 1
                continue
            for i in range(cover_start[rule], cover_stop[rule]):
                judge(&o, cover[i], -1)
            alive[rule] = False
            for i in range(cover_start[rule], cover_stop[rule]):
                judge(&o, cover[i], 1)
            watch.cells += cover_stop[rule] - cover_start[rule]
            rule = 0
    raise_pending()
    return marks


def select_voting(
    tuple covers, const int32_t[:, ::1] ballots, const int32_t[::1] order, const int32_t[::1] truth, const int64_t[::1] weight,
    tuple message, tuple least, bint by_use,
):
    """Return the rules whose message is short, together with the weight that their votes predict wrong, in their order; int32.

    `covers` has the start, stop and places of the covers.  `ballots` has the class and votes (at most 1,000) of each rule, and
    `order` the rules by class and descending votes, which is the order of the result unless it is `by_use`.  truth and weight
    are those of each place (padding: class 0, weight 0).  `message` has the bits of each rule, the logarithms of factorials, the
    share of the bits, the bits of a unit of errors and of hits, and the weight of all samples, also of those without a place.
    `least` has the number of classes, the least right weight of a rule at the start, and the margin by which its new right weight
    exceeds the wrong.
    """
    cdef Ballots b
    cdef RulesMessage m
    cdef Watch watch
    cdef Py_ssize_t n_places = truth.shape[0]
    cdef Py_ssize_t r, i, j, n = 0
    cdef uint32_t place
    cdef int64_t total = 0
    cdef int64_t least_right = least[1]
    cdef int64_t margin = least[2]
    b.n_rules, b.n_classes = ballots.shape[0], least[0]
    if b.n_rules == 0:
        return np.empty(0, dtype=np.int32)
    b.cover_start, b.cover_stop, b.cover = int64s_of(covers[0]), int64s_of(covers[1]), uint32s_of(covers[2])
    cdef int32_t[:, ::1] of_rules = np.array(np.transpose(ballots), order="C")
    cdef int64_t[::1] start = np.zeros(n_places + 2, dtype=np.int64)
    for r in range(b.n_rules):
        total += b.cover_stop[r] - b.cover_start[r]
    cdef int32_t[::1] pairs = np.empty(max(total, 1), dtype=np.int32)
    cdef int8_t[::1] turns = np.zeros(max(total, 1), dtype=np.int8)
    cdef int32_t[:, ::1] votes = np.zeros((n_places, b.n_classes), dtype=np.int32)
    cdef uint8_t[:, ::1] marks = np.zeros((2, n_places), dtype=np.uint8)
    cdef uint8_t[::1] selected = np.zeros(b.n_rules, dtype=np.uint8)
    cdef int64_t[::1] change = np.zeros(b.n_rules, dtype=np.int64)
    cdef int64_t[::1] sums = np.zeros(b.n_classes, dtype=np.int64)
    cdef int32_t[:, ::1] room = np.zeros((2, n_places), dtype=np.int32)
    chosen = np.empty(b.n_rules, dtype=np.int32)
    cdef int32_t[::1] out = chosen
    b.label, b.vote, b.truth, b.weight = &of_rules[0, 0], &of_rules[1, 0], &truth[0], &weight[0]
    b.start, b.rule, b.turn = &start[0], &pairs[0], &turns[0]
    b.votes, b.need, b.is_right, b.is_open = &votes[0, 0], &room[1, 0], &marks[0, 0], &marks[1, 0]
    b.selected, b.change = &selected[0], &change[0]
    m.bits, m.orders = doubles_of(message[0]), doubles_of(message[1])
    m.share, m.of_error, m.of_hit, m.total = message[2:]
    b.errors = 0
    start_watch(&watch, handles_signals(), NULL)
    with nogil:
        for r in range(b.n_rules):
            for i in range(b.cover_start[r], b.cover_stop[r]):
                start[b.cover[i] + 2] += 1
        for i in range(2, n_places + 2):
            start[i] += start[i - 1]
        for j in range(b.n_rules):             # by class: which rules turn a place is then foreseen
            r = order[j]
            for i in range(b.cover_start[r], b.cover_stop[r]):
                place = b.cover[i]
                pairs[start[place + 1]] = <int32_t> r
                start[place + 1] += 1
        for i in range(n_places):
            b.errors += weight[i]
            sums[truth[i]] += weight[i]
        begin_with(&b, &order[0], least_right, margin, &sums[0], &room[0, 0])
        vote_of_all(&b, n_places)
        climb(&b, &m, &watch)
        for r in range(b.n_rules):
            if selected[order[r]]:
                out[n] = order[r]
                n += 1
        if by_use:
            order_by_use(&b, &out[0], n, &watch)
    raise_pending()
    return chosen[:n]


def fire_rules(
    const real_t[:, :] X, tuple tests, const int32_t[:, ::1] ballots, int32_t[:, ::1] votes, int32_t[:, ::1] lowest,
):
    """Apply rules to the rows of X (codes as floats, missing = NaN).

    `tests` has the arrays of RuleTests; rule r has the conditions start[r], ..., start[r + 1] - 1.  `ballots` has the class,
    vote and rank of each rule.  The votes of the rules whose conditions all hold are added to votes[row, class], and
    lowest[row, class] becomes the least of their ranks.  Without `votes`, the first of them ends a row.
    """
    cdef RuleTests c
    cdef Watch watch
    cdef Py_ssize_t row, rule
    cdef Py_ssize_t n_rules = ballots.shape[0]
    cdef bint adds = votes.shape[0] > 0
    cdef int32_t label
    cdef int64_t i
    if n_rules == 0:
        return
    c.start, c.feature, c.operator = int64s_of(tests[0]), int32s_of(tests[1]), uint8s_of(tests[2])
    c.threshold, c.code_start, c.code = doubles_of(tests[3]), int64s_of(tests[4]), uint32s_of(tests[5])
    start_watch(&watch, handles_signals(), NULL)
    with nogil:
        for row in range(X.shape[0]):
            if interrupted(&watch, n_rules):
                break
            for rule in range(n_rules):
                i = c.start[rule]
                while i < c.start[rule + 1] and holds(&c, i, X[row, c.feature[i]]):
                    i += 1
                if i < c.start[rule + 1]:
                    continue
                label = ballots[rule, 0]
                lowest[row, label] = min(lowest[row, label], ballots[rule, 2])
                if not adds:
                    break
                votes[row, label] += ballots[rule, 1]
    raise_pending()
