"""Rules of the leaves of a tree, one after the other: conditions go while the samples that join gain.  Header only.

A set of rows is a row of bits.  How many conditions a row fails, and which if it is one, are numbers whose digits are rows of
bits, as in `_engine/prune/`, so that only rows that fail one condition alone are looked at, and those that pass all.
"""

from libc.math cimport HUGE_VAL, fabs, rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from fasttree._engine.lines.least_squares cimport LineSamples, ModelTerms, clamped, list_terms, value_of
from fasttree._engine.watch cimport Watch, interrupted

cdef extern from *:
    """
    #include <stdint.h>
    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
    #define fasttree_first_bit(word) __builtin_ctzll(word)
    #else
    static int fasttree_first_bit(uint64_t word) {
        int i = 0;
        while (!(word >> i & 1)) i++;
        return i;
    }
    #endif
    """
    int first_bit "fasttree_first_bit"(uint64_t word) noexcept nogil


cdef enum:
    IN_PAIRS = 128                    # numbers that are added up without a division in halves


cdef struct LineTests:
    const int32_t* feature            # nominal ones follow the continuous ones
    const uint8_t* above              # continuous values above `cut`, or up to it
    const double* cut
    const int64_t* start              # of the marks of a nominal feature's categories
    const uint8_t* passes             # by category
    const int32_t* codes              # of nominal features, n each


cdef struct RuleLeaves:
    const int32_t* rows
    const int64_t* first              # of the slice of `rows`
    const int64_t* stop
    const int64_t* size               # parameters of the model
    const int64_t* path               # n_leaves + 1: first condition of each
    int32_t* condition                # numbers of tests; those that stay come to the start of a path
    int64_t* n_kept
    double* model                     # d + 1 of each
    uint64_t* covered                 # n_words of each


cdef struct RuleFigures:              # of a rule; the cover of one that equals an earlier rule is 0
    double cover, mean, least, largest, lower, upper, estimate


cdef struct RuleChoices:
    double extrapolation, unit
    bint unbiased


cdef struct LineFailures:             # of the conditions that are left of a path
    uint64_t* times                   # n_digits rows of n_words: how many a row fails
    uint64_t* which                   # as many: their numbers, added without carry
    int32_t n_digits


cdef struct RuleScratch:
    Watch* watch
    Py_ssize_t n_words
    uint64_t* fails                   # n_words of each test
    LineFailures failures
    uint64_t* alone                   # n_words: rows that fail one condition alone, and have not been looked at
    uint64_t* initial                 # n_words: rows that pass all conditions of the path
    double* total                     # n: sum of the predictions of a row so far, and their number
    double* count
    double* error                     # n: absolute error of their mean
    double* value                     # n each, of the rows that a rule covers: predictions, targets, weights, what is added up
    double* y
    double* w
    double* summed
    double* gained                    # of each condition: what the rows gain that fail it alone, and their weight
    double* joined
    uint8_t* dropped
    int32_t* rows                     # n: those covered
    ModelTerms terms                  # of the model at work


cdef inline double sum_in_pairs(const double* a, Py_ssize_t n) noexcept nogil:
    """The sum by halves, in eight lanes each: its error grows with the logarithm of n.  NumPy adds in the same order."""
    cdef double[8] s
    cdef double total = 0
    cdef Py_ssize_t i, j, half
    if n > IN_PAIRS:
        half = n // 2 // 8 * 8
        return sum_in_pairs(a, half) + sum_in_pairs(a + half, n - half)
    j = n // 8 * 8
    if j:
        for i in range(8):
            s[i] = a[i]
        for i in range(8, j):
            s[i % 8] += a[i]
        total = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
    for i in range(j, n):
        total += a[i]
    return total


cdef inline void fill_fails(const LineSamples* s, const LineTests* tests, Py_ssize_t test, uint64_t* fails) noexcept nogil:
    """The rows that fail a test."""
    cdef Py_ssize_t i, feature = tests.feature[test]
    cdef const double* x = s.x + feature * s.n
    cdef const int32_t* codes = tests.codes + (feature - s.d) * s.n
    cdef const uint8_t* passes = tests.passes + tests.start[test]
    cdef double cut = tests.cut[test]
    cdef uint64_t above = tests.above[test]
    for i in range(s.n):
        if feature < s.d:
            fails[i // 64] |= (above ^ <uint64_t> (x[i] > cut)) << (i & 63)
        else:
            fails[i // 64] |= <uint64_t> (1 - passes[codes[i]]) << (i & 63)


cdef inline double between(double value, double lower, double upper) noexcept nogil:
    return lower if value < lower else upper if value > upper else value


cdef inline void note_alone(const LineSamples* s, RuleScratch* t, const double* model) noexcept nogil:
    """Add up, by condition, the gains of rows that fail it alone."""
    cdef Py_ssize_t w, row
    cdef int32_t number, digit
    cdef uint64_t bits
    cdef int bit
    cdef double after
    for w in range(t.n_words):
        bits = t.alone[w]
        while bits:
            bit = first_bit(bits)
            bits &= bits - 1
            row = 64 * w + bit
            number = 0
            for digit in range(t.failures.n_digits):
                number |= <int32_t> (t.failures.which[digit * t.n_words + w] >> bit & 1) << digit
            after = (t.total[row] + clamped(s, value_of(s, &t.terms, model, row))) / (t.count[row] + 1)
            t.gained[number] += s.w[row] * (t.error[row] - fabs(s.y[row] - after))
            t.joined[number] += s.w[row]


cdef inline int32_t digits_of(Py_ssize_t n) noexcept nogil:
    cdef int32_t digits = 0
    while n >> digits:
        digits += 1
    return digits


cdef inline void count_condition(RuleScratch* t, const uint64_t* fails, int32_t number) noexcept nogil:
    cdef Py_ssize_t w
    cdef int32_t digit
    cdef uint64_t carry, old
    for w in range(t.n_words):
        carry, digit = fails[w], 0
        while carry:
            old = t.failures.times[digit * t.n_words + w]
            t.failures.times[digit * t.n_words + w] = old ^ carry
            carry &= old
            digit += 1
        for digit in range(t.failures.n_digits):
            if number >> digit & 1:
                t.failures.which[digit * t.n_words + w] ^= fails[w]


cdef inline void uncount_condition(RuleScratch* t, const uint64_t* fails, int32_t number) noexcept nogil:
    """Take a condition away, and note the rows that fail one other alone from now on."""
    cdef Py_ssize_t w
    cdef int32_t digit
    cdef uint64_t borrow, old, alone
    for w in range(t.n_words):
        borrow = alone = fails[w]
        for digit in range(t.failures.n_digits if borrow else 0):
            old = t.failures.times[digit * t.n_words + w]
            t.failures.times[digit * t.n_words + w] = old ^ borrow
            alone &= ~(old ^ borrow) if digit else old ^ borrow
            borrow &= ~old
            if number >> digit & 1:
                t.failures.which[digit * t.n_words + w] ^= fails[w]
        t.alone[w] = alone


cdef inline void take_path(RuleScratch* t, const int32_t* path, Py_ssize_t depth, Py_ssize_t n) noexcept nogil:
    """Begin with all conditions of a path."""
    cdef Py_ssize_t d, w
    cdef int32_t digit
    cdef uint64_t more
    t.failures.n_digits = digits_of(depth)
    memset(t.failures.times, 0, t.failures.n_digits * t.n_words * sizeof(uint64_t))
    memset(t.failures.which, 0, t.failures.n_digits * t.n_words * sizeof(uint64_t))
    for d in range(depth):
        t.gained[d], t.joined[d], t.dropped[d] = 0, 0, False
        if interrupted(t.watch, n):
            return
        count_condition(t, t.fails + path[d] * t.n_words, <int32_t> d)
    for w in range(t.n_words):
        more = 0
        for digit in range(1, t.failures.n_digits):
            more |= t.failures.times[digit * t.n_words + w]
        t.alone[w] = t.failures.times[w] & ~more if depth else 0
        t.initial[w] = ~(t.failures.times[w] | more) if depth else ~<uint64_t> 0


cdef inline Py_ssize_t keep_conditions(const LineSamples* s, RuleScratch* t, int32_t* path, Py_ssize_t depth,
                                       const double* model) noexcept nogil:
    """Drop conditions while the rows that fail one alone gain by joining; one stays.  Returns how many stay.

    They come to the start of the path, those first whose absence would add most samples.
    """
    cdef Py_ssize_t d, best, left = depth, kept = 0, place
    cdef int32_t condition
    cdef double joined
    take_path(t, path, depth, s.n)
    note_alone(s, t, model)
    while left > 1 and not interrupted(t.watch, depth + s.n):
        best = -1
        for d in range(depth):
            if not t.dropped[d] and t.gained[d] >= 0 and (best < 0 or t.gained[d] > t.gained[best]):
                best = d
        if best < 0:
            break
        t.dropped[best] = True
        left -= 1
        uncount_condition(t, t.fails + path[best] * t.n_words, <int32_t> best)
        note_alone(s, t, model)
    for d in range(depth):
        if t.dropped[d]:
            continue
        condition, joined, place = path[d], t.joined[d], kept
        while place and t.joined[place - 1] < joined:
            path[place], t.joined[place] = path[place - 1], t.joined[place - 1]
            place -= 1
        path[place], t.joined[place] = condition, joined
        kept += 1
    return kept


cdef inline Py_ssize_t list_covered(const LineSamples* s, RuleScratch* t, Py_ssize_t depth, const double* model,
                                    uint64_t* covered) noexcept nogil:
    """List the rows that pass the conditions that stay, with predictions, targets and weights; returns their number."""
    cdef Py_ssize_t w, n = 0, row
    cdef int32_t digit
    cdef uint64_t bits
    for w in range(t.n_words):
        bits = 0
        for digit in range(t.failures.n_digits if depth else 0):
            bits |= t.failures.times[digit * t.n_words + w]
        bits = ~bits
        if s.n - 64 * w < 64:
            bits &= (<uint64_t> 1 << (s.n - 64 * w)) - 1
        covered[w] = bits
        while bits:
            row = 64 * w + first_bit(bits)
            bits &= bits - 1
            t.rows[n], t.value[n], t.y[n], t.w[n] = <int32_t> row, value_of(s, &t.terms, model, row), s.y[row], s.w[row]
            n += 1
    return n


cdef inline double mean_distance(RuleScratch* t, double lower, double upper, Py_ssize_t n) noexcept nogil:
    """The mean absolute error of the covered rows within bounds."""
    cdef Py_ssize_t i
    for i in range(n):
        t.summed[i] = t.w[i] * fabs(t.y[i] - between(t.value[i], lower, upper))
    return sum_in_pairs(t.summed, n) / sum_in_pairs(t.w, n)


cdef inline double mean_bias(RuleScratch* t, const RuleFigures* f, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        t.summed[i] = t.w[i] * (between(t.value[i], f.lower, f.upper) - t.y[i])
    return sum_in_pairs(t.summed, n) / sum_in_pairs(t.w, n)


cdef inline double estimated(double error, double n, double parameters) noexcept nogil:
    cdef double counted = min(parameters, n - 1)
    return error * (n + counted) / (n - counted)


cdef inline void describe(const LineSamples* s, RuleScratch* t, Py_ssize_t n, int64_t size, double extrapolation,
                          RuleFigures* to) noexcept nogil:
    """Describe a rule by the rows that it covers.  A bound does not pass 0 if no target does."""
    cdef Py_ssize_t i
    cdef double margin
    to.cover, to.least, to.largest = n, HUGE_VAL, -HUGE_VAL
    for i in range(n):
        t.summed[i] = t.w[i] * t.y[i]
        to.least, to.largest = min(to.least, t.y[i]), max(to.largest, t.y[i])
    to.mean = sum_in_pairs(t.summed, n) / sum_in_pairs(t.w, n)
    margin = extrapolation * (to.largest - to.least)
    to.lower, to.upper = to.least - margin, to.largest + margin
    if to.lower < 0 <= to.least:
        to.lower = 0
    if to.upper > 0 >= to.largest:
        to.upper = 0
    to.estimate = estimated(mean_distance(t, s.floor, s.ceiling, n), n, size)


cdef inline void join(RuleScratch* t, const LineSamples* s, const RuleFigures* f, Py_ssize_t n) noexcept nogil:
    """Let a rule join the predictions of the rows that it covers, except those of its leaf."""
    cdef Py_ssize_t i, row
    for i in range(n):
        row = t.rows[i]
        if t.initial[row // 64] >> (row & 63) & 1:
            continue
        t.total[row] += between(t.value[i], f.least, f.largest)
        t.count[row] += 1
        t.error[row] = fabs(s.y[row] - t.total[row] / t.count[row])


cdef inline void take_bias_off(RuleScratch* t, RuleFigures* f, Py_ssize_t n, int64_t size, double unit,
                               double* model) noexcept nogil:
    """Move the intercept until the mean residual is below half a unit, or does not fall."""
    cdef double bias = mean_bias(t, f, n), before = HUGE_VAL
    cdef Py_ssize_t i
    cdef bint moved = False
    while fabs(bias) >= 0.5 * unit and fabs(bias) < before and not interrupted(t.watch, 4 * n):
        model[0] -= bias
        for i in range(n):
            t.value[i] -= bias
        before, bias, moved = fabs(bias), mean_bias(t, f, n), True
    if moved:
        model[0] = rint(model[0] / unit) * unit
        f.estimate = estimated(mean_distance(t, f.lower, f.upper, n), n, size)


cdef inline Py_ssize_t earlier(const RuleLeaves* leaves, Py_ssize_t leaf) noexcept nogil:
    """The first leaf whose rule has the conditions of this one, in the same order: this one or an earlier one."""
    cdef Py_ssize_t other
    cdef const int32_t* its = leaves.condition + leaves.path[leaf]
    for other in range(leaf):
        if leaves.n_kept[other] == leaves.n_kept[leaf] and memcmp(
                leaves.condition + leaves.path[other], its, leaves.n_kept[leaf] * sizeof(int32_t)) == 0:
            return other
    return leaf


cdef inline void make_rule(const LineSamples* s, RuleScratch* t, const RuleLeaves* leaves, Py_ssize_t leaf,
                           const RuleChoices* choices, RuleFigures* figures) noexcept nogil:
    """Make the rule of a leaf; of equal ones, the first has the model of the least estimated error."""
    cdef RuleFigures* f = figures + leaf
    cdef double* model = leaves.model + leaf * (s.d + 1)
    cdef Py_ssize_t depth = leaves.path[leaf + 1] - leaves.path[leaf], n, other
    list_terms(s, model, &t.terms)
    leaves.n_kept[leaf] = keep_conditions(s, t, leaves.condition + leaves.path[leaf], depth, model)
    if t.watch.over:
        return
    n = list_covered(s, t, depth, model, leaves.covered + leaf * t.n_words)
    describe(s, t, n, leaves.size[leaf], choices.extrapolation, f)
    other = earlier(leaves, leaf)
    if other < leaf:
        f.cover = 0
        if f.estimate < figures[other].estimate:
            figures[other].estimate = f.estimate
            memcpy(leaves.model + other * (s.d + 1), model, (s.d + 1) * sizeof(double))
        return
    join(t, s, f, n)
    if choices.unbiased:
        take_bias_off(t, f, n, leaves.size[leaf], choices.unit, model)


cdef inline void predict_leaves(const LineSamples* s, RuleScratch* t, const RuleLeaves* leaves,
                                Py_ssize_t n_leaves) noexcept nogil:
    """The first prediction of each row is that of its leaf."""
    cdef Py_ssize_t leaf, row
    cdef int64_t i
    cdef const double* model
    for leaf in range(n_leaves):
        model = leaves.model + leaf * (s.d + 1)
        list_terms(s, model, &t.terms)
        for i in range(leaves.first[leaf], leaves.stop[leaf]):
            row = leaves.rows[i]
            t.total[row], t.count[row] = clamped(s, value_of(s, &t.terms, model, row)), 1
            t.error[row] = fabs(s.y[row] - t.total[row])
