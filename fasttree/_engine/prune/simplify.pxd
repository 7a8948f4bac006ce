"""Removal of conditions that a rule of a tree does not need (Quinlan 1993, section 5.2; C5.0).  Header only.

Samples are class by class, each class padded to whole words of 64, so that a set of samples is a row of bits and the part of it
in one class a range of words.  Counts are of whole samples, or of weights in whole units.  Numbers that decide are rounded to
single precision where Release 8 stores them, so that its choices among near equals are repeated.
"""

from libc.math cimport exp, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.prune.bits cimport carry_on, count_common, flip_bits, join_bits, lowest_bit, outside, uncount
from fasttree._engine.prune.frames cimport extra_errors

cdef enum:
    BATCH = 256                # words of a set that are looked at together


cdef enum ConditionKind:            # in the order in which Release 8 lists conditions
    BY_CATEGORY = 1
    BY_THRESHOLD = 2
    BY_GROUP = 3


# ---------------------------------------------------------------------------------------------------------------------
# Conditions: the edges of the tree
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Edges:             # a condition is the edge that leads to a node and has its number
    const int32_t* parent
    const int32_t* slot        # row of the codes that it looks at
    const uint32_t* low        # satisfied by the codes low, ..., high
    const uint32_t* high
    const int64_t* group_start  # BY_GROUP: satisfied by group_code[group_start[i]:group_start[i + 1]], ascending
    const uint32_t* group_code
    const int32_t* feature
    const uint8_t* kind        # TestKind
    const double* threshold    # 0 unless BY_THRESHOLD


cdef struct SampleSet:
    const uint32_t* codes      # a row of n_words * 64 codes per slot; 0 = missing or padding, satisfies nothing
    const uint64_t* padding    # bits of no sample
    const int64_t* weight      # of each place, in units; NULL: every sample counts 1
    int64_t n_words
    int64_t n_samples          # their weight in units


cdef inline bint in_group(const Edges* edges, int32_t edge, uint32_t code) noexcept nogil:
    cdef int64_t low = edges.group_start[edge]
    cdef int64_t high = edges.group_start[edge + 1]
    cdef int64_t middle
    while low < high:
        middle = (low + high) // 2
        if edges.group_code[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low < edges.group_start[edge + 1] and edges.group_code[low] == code


cdef inline void fill_failing(const Edges* edges, int32_t edge, const SampleSet* samples, uint64_t* failing) noexcept nogil:
    """The samples that do not satisfy a condition, padding among them."""
    cdef const uint32_t* codes = samples.codes + <int64_t> edges.slot[edge] * samples.n_words * 64
    cdef uint32_t low = edges.low[edge]
    cdef uint32_t span = edges.high[edge] - low
    cdef uint64_t word
    cdef int64_t w
    cdef int i
    if edges.kind[edge] != BY_GROUP:
        for w in range(samples.n_words):
            failing[w] = outside(codes + w * 64, low, span)
        return
    for w in range(samples.n_words):
        word = 0
        for i in range(64):
            word |= <uint64_t> (not in_group(edges, edge, codes[w * 64 + i])) << i
        failing[w] = word


cdef inline bint comes_before(const Edges* edges, int32_t a, int32_t b) noexcept nogil:
    """Release 8's order of conditions.  It is not transitive: of two, each may come before the other."""
    return (
        edges.feature[a] < edges.feature[b]
        or edges.kind[a] < edges.kind[b]
        or (edges.feature[a] == edges.feature[b] and edges.threshold[a] < edges.threshold[b])
    )


cdef inline void put_in_order(const Edges* edges, int32_t* path, int32_t depth, int32_t n) noexcept nogil:
    """Bring the n conditions that are left of a path (dropped: -1) to its start, in Release 8's order.

    For each place, a walk along the rest moves on to each condition that comes before the last one; where it ends is swapped with
    what is in the place, dropped or not.  As the order is not transitive, the swaps show in the result.
    """
    cdef int32_t i, j, first, node
    for i in range(n):
        first = -1
        for j in range(i, depth):
            if path[j] >= 0 and (first < 0 or comes_before(edges, path[j], path[first])):
                first = j
        node = path[i]
        path[i] = path[first]
        path[first] = node


# ---------------------------------------------------------------------------------------------------------------------
# Estimates
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Confidence:
    double level               # Quinlan's CF
    double coefficient         # squared normal quantile that his table gives for it
    double significance        # of Fisher's exact test; < 0: there is none
    const double* log_factorial
    const double* bits         # C5.0: of each condition; NULL: the rules are Release 8's
    const double* bits_of_order  # C5.0: logarithms of factorials to base 2
    double unit                # C5.0: of the weights


cdef struct RuleClass:         # the class of a rule
    int64_t start              # its samples are in words start, ..., stop - 1
    int64_t stop
    float default_error
    int64_t n_samples


cdef inline float pessimistic_error(const Confidence* c, int64_t n, int64_t e, float of_none) noexcept nogil:
    """Upper limit of the error rate of a rule that fires on n samples and errs on e of them (section 5.2)."""
    if n == 0:
        return of_none
    return (<float> e + extra_errors(c.level, <float> c.coefficient, <float> n, <float> e)) / <float> n


cdef inline double estimated_error(const Confidence* c, int64_t n, int64_t e, float of_none) noexcept nogil:
    return (e * c.unit + 1.0) / (n * c.unit + 2.0) if c.bits != NULL else pessimistic_error(c, n, e, of_none)


cdef inline double side_bits(double a, double b) noexcept nogil:
    """Bits that name the side of each of a + b samples."""
    cdef double total = 0
    if a > 0:
        total += a * log2((a + b) / a)
    if b > 0:
        total += b * log2((a + b) / b)
    return total


cdef inline float actual_error(int64_t n, int64_t e) noexcept nogil:
    return <float> e / <float> n if n else 0


cdef inline double fisher_tail(const double* log_factorial, int64_t e0, int64_t r0, int64_t e1, int64_t r1) noexcept nogil:
    """Probability of no more than e0 errors among e0 + r0 samples, given the margins of the 2 x 2 table: Fisher's exact test."""
    cdef const double* lf = log_factorial
    cdef int64_t n0 = e0 + r0
    cdef int64_t n1 = e1 + r1
    cdef int64_t errors = e0 + e1
    cdef int64_t right = r0 + r1
    cdef double ways = lf[n0] + lf[n1] + lf[errors] + lf[right] - lf[n0 + n1]
    cdef double total = 0
    cdef int64_t e
    for e in range(max(0, errors - n1), e0 + 1):
        total += exp(ways - lf[e] - lf[n0 - e] - lf[errors - e] - lf[n1 - errors + e])
    return total


# ---------------------------------------------------------------------------------------------------------------------
# Conditions that a rule does not need (section 5.2)
# ---------------------------------------------------------------------------------------------------------------------

# Every sample has two numbers, each digit a row of bits: how many conditions of a path it fails, and the numbers of those added
# without carry, which is the number itself where it fails one.  A rule without one of its conditions gains the samples that fail
# this one alone.  A sample that fails one alone does so until that one is dropped, so a leaf costs a pass over the digits per
# condition, and one look at each sample at most.

cdef struct Failures:
    uint64_t* times            # n_digits rows of n_words: how many conditions a sample fails
    uint64_t* which            # as many: which one, if it is one
    int32_t n_digits


cdef inline int32_t digits_of(int32_t n) noexcept nogil:
    cdef int32_t digits = 0
    while n >> digits:
        digits += 1
    return digits


cdef inline void count_failing(
    const Failures* f, const uint64_t* failing, int32_t number, int32_t most, uint64_t flip, int64_t n_words, uint64_t* carry,
) noexcept nogil:
    """Add condition `number` (flip 0), or take it away (flip ~0); no sample fails more than `most`, before or after."""
    cdef int64_t first = 0
    cdef int64_t size
    cdef int32_t digit
    while first < n_words:
        size = min(BATCH, n_words - first)
        memcpy(carry, failing + first, size * sizeof(uint64_t))
        for digit in range(digits_of(most)):
            carry_on(f.times + digit * n_words + first, carry, flip, size)
        for digit in range(digits_of(number)):
            if number >> digit & 1:
                flip_bits(f.which + digit * n_words + first, failing + first, size)
        first += size


cdef struct Without:           # a rule without one of its conditions
    int64_t right              # samples of the rule's class that fail this condition alone
    int64_t wrong              # and those of other classes
    int64_t n                  # samples that satisfy the others, when the estimate was made; -1 = never
    int64_t errors
    double estimate
    bint dropped


cdef struct Draft:             # a rule at work; the caller owns the room
    const uint64_t* failing    # a row of n_words per condition of the path
    int32_t depth              # conditions of the path
    Failures failures          # of the conditions that are left
    Without* without           # per condition of the path
    int32_t* alone             # conditions that a sample fails alone, in any order
    int32_t n_alone
    int32_t* kept              # the conditions that are left in the end
    int32_t n_kept
    uint64_t* once             # BATCH words each
    uint64_t* twice


cdef struct Verdict:
    int64_t n                  # samples that satisfy the rule
    int64_t errors             # those of another class
    double estimate            # pessimistic error rate; C5.0: Laplace's
    bint is_of_use


cdef inline int64_t weigh(uint64_t bits, const int64_t* weight) noexcept nogil:
    """The weight of some samples of a word."""
    cdef int64_t total = 0
    while bits:
        total += weight[lowest_bit(bits)]
        bits &= bits - 1
    return total


cdef inline void split_failures(Draft* rule, const SampleSet* samples, int64_t first, int64_t size) noexcept nogil:
    """Mark, in some words, what fails a condition at least, or is no sample, and what fails two at least."""
    cdef const uint64_t* times = rule.failures.times + first
    cdef int32_t digit
    memset(rule.twice, 0, size * sizeof(uint64_t))
    for digit in range(1, rule.failures.n_digits):
        join_bits(rule.twice, times + digit * samples.n_words, size)
    memcpy(rule.once, samples.padding + first, size * sizeof(uint64_t))
    join_bits(rule.once, rule.twice, size)
    if rule.failures.n_digits:
        join_bits(rule.once, times, size)


cdef inline void add_alone(Draft* rule, int32_t number, int64_t n, bint is_right) noexcept nogil:
    cdef Without* without = &rule.without[number]
    if without.right == 0 and without.wrong == 0:
        rule.alone[rule.n_alone] = number
        rule.n_alone += 1
    if is_right:
        without.right += n
    else:
        without.wrong += n


cdef inline void note_alone(Draft* rule, const SampleSet* samples, int64_t first, int64_t size, bint is_right) noexcept nogil:
    """Count the samples of some words that fail one condition alone: those in rule.once.

    Where neighbours are alike, most of a word fail the same condition.
    """
    cdef const uint64_t* which = rule.failures.which + first
    cdef const uint64_t* failing = rule.failing + first
    cdef uint64_t bits, same
    cdef int64_t n, w
    cdef int32_t digit, number
    cdef int bit
    for w in range(size):
        bits = rule.once[w]
        while bits:
            bit = lowest_bit(bits)
            number = 0
            for digit in range(rule.failures.n_digits):
                number |= <int32_t> (which[digit * samples.n_words + w] >> bit & 1) << digit
            same = bits & failing[number * samples.n_words + w]
            bits ^= same
            n = count_common(&same, &same, 1) if samples.weight == NULL else weigh(same, samples.weight + (first + w) * 64)
            add_alone(rule, number, n, is_right)


cdef inline int64_t next_words(const SampleSet* samples, int64_t first, int64_t start, int64_t stop) noexcept nogil:
    """How many words to look at together from `first` on: all of them inside start, ..., stop - 1, or none."""
    cdef int64_t end = start if first < start else stop if first < stop else samples.n_words
    return min(BATCH, end - first)


cdef inline Verdict take_path(
    Draft* rule, const Failures* path, int32_t depth, const SampleSet* samples, int64_t start, int64_t stop,
) noexcept nogil:
    """Begin with all conditions of the path; returns what satisfies them, without the estimate."""
    cdef Verdict v
    cdef int64_t first = 0
    cdef int64_t size, n, w
    cdef int32_t number
    cdef bint is_right
    rule.depth = depth
    rule.n_kept = depth
    rule.n_alone = 0
    rule.failures.n_digits = digits_of(depth)
    memcpy(rule.failures.times, path.times, rule.failures.n_digits * samples.n_words * sizeof(uint64_t))
    memcpy(rule.failures.which, path.which, rule.failures.n_digits * samples.n_words * sizeof(uint64_t))
    for number in range(depth):
        rule.without[number].right = 0
        rule.without[number].wrong = 0
        rule.without[number].n = -1
        rule.without[number].dropped = False
    v.n = 0
    v.errors = 0
    v.estimate = 0
    while first < samples.n_words:
        is_right = start <= first < stop
        size = next_words(samples, first, start, stop)
        split_failures(rule, samples, first, size)
        if samples.weight == NULL:
            n = 64 * size - count_common(rule.once, rule.once, size)
        else:
            n = 0
            for w in range(size):
                n += weigh(~rule.once[w], samples.weight + (first + w) * 64)
        v.n += n
        v.errors += 0 if is_right else n
        for w in range(size):
            rule.once[w] &= ~rule.twice[w] & ~samples.padding[first + w]
        note_alone(rule, samples, first, size, is_right)
        first += size
    return v


cdef inline void drop_condition(
    Draft* rule, int32_t number, Verdict* v, const SampleSet* samples, int64_t start, int64_t stop,
) noexcept nogil:
    """Remove a condition: samples that failed only this one satisfy the rule, those that failed one more fail only that."""
    cdef const uint64_t* failing = rule.failing + number * samples.n_words
    cdef Without* without = &rule.without[number]
    cdef int32_t digits = digits_of(max(rule.n_kept, number))
    cdef int64_t first = 0
    cdef int64_t size
    cdef int32_t i
    v.n += without.right + without.wrong
    v.errors += without.wrong
    for i in range(rule.n_alone):
        if rule.alone[i] == number:
            rule.n_alone -= 1
            rule.alone[i] = rule.alone[rule.n_alone]
            break
    without.dropped = True
    rule.n_kept -= 1
    while first < samples.n_words:
        size = next_words(samples, first, start, stop)
        uncount(
            rule.failures.times + first, rule.failures.which + first, failing + first, samples.padding + first, rule.once, size,
            number, digits, samples.n_words,
        )
        note_alone(rule, samples, first, size, start <= first < stop)
        first += size


cdef inline Verdict simplify(
    Draft* rule, const Failures* path, const int32_t* nodes, int32_t depth, const SampleSet* samples, const RuleClass* its,
    const Confidence* confidence,
) noexcept nogil:
    """Drop conditions of a rule while one is not needed, or in C5.0 while the rule does not pay for the bits that name them.

    A condition is not needed if without it the pessimistic or the actual error is no larger, or (where significance >= 0) if
    the difference is not significant.  The condition that is then dropped is the one without which the pessimistic error is
    least, the last one on ties, even if this is not the one that was not needed.  In C5.0 one condition stays.
    """
    cdef bint by_bits = confidence.bits != NULL
    cdef bint pays = False
    cdef double bits = 0
    cdef int64_t others = samples.n_samples - its.n_samples
    cdef double unit = confidence.unit
    cdef Verdict v = take_path(rule, path, depth, samples, its.start, its.stop)
    cdef Without* without
    cdef double least
    cdef float actual
    cdef int64_t n, errors
    cdef int32_t i, number, best
    cdef int32_t idle = depth - 1  # the last condition that no sample fails alone: without it nothing changes
    cdef bint superfluous
    if by_bits:
        for i in range(depth):
            bits += confidence.bits[nodes[i]]
    while True:
        v.estimate = estimated_error(confidence, v.n, v.errors, its.default_error)
        if by_bits:
            n = v.n - v.errors
            pays = 0.23 * (bits - confidence.bits_of_order[rule.n_kept]) <= (
                side_bits(unit * its.n_samples, unit * others) - side_bits(unit * n, unit * v.errors)
                - side_bits(unit * (its.n_samples - n), unit * (others - v.errors))
            )
            if rule.n_kept == 1:
                break
        actual = actual_error(v.n, v.errors)
        while idle >= 0 and (rule.without[idle].dropped or rule.without[idle].right or rule.without[idle].wrong):
            idle -= 1
        superfluous = idle >= 0 or (by_bits and not pays)
        best = idle
        least = v.estimate
        for i in range(rule.n_alone):
            number = rule.alone[i]
            without = &rule.without[number]
            errors = v.errors + without.wrong
            n = v.n + without.wrong + without.right
            if n != without.n or errors != without.errors:
                without.n = n
                without.errors = errors
                without.estimate = estimated_error(confidence, n, errors, its.default_error)
            if best < 0 or without.estimate < least or (without.estimate == least and number > best):
                best = number
                least = without.estimate
            if not superfluous:
                superfluous = without.estimate <= v.estimate or (not by_bits and actual_error(n, errors) <= actual) or (
                    confidence.significance >= 0
                    and fisher_tail(
                        confidence.log_factorial, v.errors, v.n - v.errors, errors - v.errors, (n - v.n) - (errors - v.errors)
                    ) > confidence.significance
                )
        if not superfluous:
            break
        if by_bits:
            bits -= confidence.bits[nodes[best]]
        drop_condition(rule, best, &v, samples, its.start, its.stop)
    rule.n_kept = 0
    for number in range(depth):
        if not rule.without[number].dropped:
            rule.kept[rule.n_kept] = number
            rule.n_kept += 1
    if by_bits:  # the share of the class must be at least 0.95 of that of all samples
        v.is_of_use = pays and unit * v.n > 0.99 and (
            (unit * (v.n - v.errors) + 1.0) * samples.n_samples >= 0.95 * its.n_samples * (unit * v.n + 2.0)
        )
    else:
        v.is_of_use = rule.n_kept > 0 and v.n > 0 and v.estimate < its.default_error
    return v


cdef inline int64_t list_samples(Draft* rule, const SampleSet* samples, uint32_t* out) noexcept nogil:
    """Write the places of the samples that satisfy the kept conditions, ascending; returns their number."""
    cdef int64_t n = 0
    cdef int64_t w
    cdef int32_t j
    cdef uint64_t word
    for w in range(samples.n_words):
        word = samples.padding[w]
        for j in range(rule.n_kept):
            word |= rule.failing[rule.kept[j] * samples.n_words + w]
        word = ~word
        while word:
            out[n] = <uint32_t> (w * 64 + lowest_bit(word))
            n += 1
            word &= word - 1
    return n
