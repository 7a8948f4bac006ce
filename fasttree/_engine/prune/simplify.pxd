"""Removal of conditions that a rule of a tree does not need (Quinlan 1993, section 5.2; C5.0).  Header only.

Samples are class by class, each class padded to whole words of 64, so that a set of samples is a row of bits and the part of it
in one class a range of words.  Counts are of whole samples, or of weights in whole units.  Numbers that decide are rounded to
single precision where Release 8 stores them, so that its choices among near equals are repeated.
"""

from libc.math cimport exp, log, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.prune.bits cimport Failures, Sides, begin, drop, keep_outside
from fasttree._engine.prune.frames cimport extra_errors


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
    const uint8_t* codes       # a row of n_words * 64 codes per slot; 0 = missing or padding, satisfies nothing
    int32_t width              # bytes of a code
    const uint64_t* padding    # bits of no sample
    const int64_t* weight      # of each place, in units; NULL: every sample counts 1
    int64_t n_words
    int64_t n_samples          # their weight in units


cdef inline void fill_failing(const Edges* edges, int32_t edge, const SampleSet* samples, uint64_t* failing) noexcept nogil:
    """The samples that do not satisfy a condition."""
    cdef const uint8_t* codes = samples.codes + <int64_t> edges.slot[edge] * samples.n_words * 64 * samples.width
    cdef const uint32_t* group = edges.group_code
    cdef int64_t i = edges.group_start[edge]
    cdef int64_t stop = edges.group_start[edge + 1]
    cdef uint32_t low
    cdef int64_t w
    for w in range(samples.n_words):
        failing[w] = ~samples.padding[w]
    if edges.kind[edge] != BY_GROUP:
        low = edges.low[edge]
        keep_outside(codes, samples.width, low, edges.high[edge] - low, samples.n_words, failing)
        return
    while i < stop:                # codes that follow one another at once
        low = group[i]
        i += 1
        while i < stop and group[i] == group[i - 1] + 1:
            i += 1
        keep_outside(codes, samples.width, low, group[i - 1] - low, samples.n_words, failing)


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
    return (<float> e + extra_errors(log(c.level), <float> c.coefficient, <float> n, <float> e)) / <float> n


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

cdef inline int32_t digits_of(int32_t n) noexcept nogil:
    cdef int32_t digits = 0
    while n >> digits:
        digits += 1
    return digits


cdef struct Without:           # a rule without one of its conditions
    int64_t n                  # samples that satisfy the others, when the estimate was made; -1 = never
    int64_t errors
    double estimate
    bint dropped


cdef struct Draft:             # a rule at work; the caller owns the room
    Failures failures          # of the conditions that are left
    Sides sides
    Without* without           # per condition of the path
    int32_t n_kept             # conditions that are left


cdef struct Verdict:
    int64_t n                  # samples that satisfy the rule
    int64_t errors             # those of another class
    double estimate            # pessimistic error rate; C5.0: Laplace's
    bint is_of_use


cdef inline Verdict take_path(Draft* rule, const Failures* path, int32_t depth, const RuleClass* its) noexcept nogil:
    """Begin with all conditions of the path; returns what satisfies them, before an estimate."""
    cdef int64_t passing[2]
    cdef Verdict v
    cdef int32_t number
    rule.n_kept = depth
    rule.failures.n_digits = digits_of(depth)
    rule.sides.start, rule.sides.stop = its.start, its.stop
    for number in range(depth):
        rule.sides.alone[0][number] = rule.sides.alone[1][number] = 0
        rule.without[number].n = -1
        rule.without[number].dropped = False
    passing[0] = passing[1] = 0
    begin(&rule.failures, path, &rule.sides, passing)
    v.n = passing[0] + passing[1]
    v.errors = passing[0]
    v.estimate = 0
    v.is_of_use = False
    return v


cdef inline void drop_condition(Draft* rule, int32_t number, Verdict* v) noexcept nogil:
    """Remove a condition: samples that failed only this one satisfy the rule, those that failed one more fail only that."""
    cdef int32_t n_digits = digits_of(rule.n_kept)
    v.n += rule.sides.alone[0][number] + rule.sides.alone[1][number]
    v.errors += rule.sides.alone[0][number]
    rule.without[number].dropped = True
    rule.n_kept -= 1
    drop(&rule.failures, number, n_digits, &rule.sides)


cdef inline bint pays_for(
    const Confidence* c, const Verdict* v, const RuleClass* its, int64_t n_samples, double bits,
) noexcept nogil:
    """Whether a rule of C5.0 saves more bits in naming the classes of all samples than it takes."""
    cdef int64_t others = n_samples - its.n_samples
    cdef int64_t right = v.n - v.errors
    return 0.23 * bits <= (
        side_bits(c.unit * its.n_samples, c.unit * others) - side_bits(c.unit * right, c.unit * v.errors)
        - side_bits(c.unit * (its.n_samples - right), c.unit * (others - v.errors))
    )


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
    cdef double bits = 0
    cdef double unit = confidence.unit
    cdef Verdict v = take_path(rule, path, depth, its)
    cdef const int64_t* wrong = rule.sides.alone[0]
    cdef const int64_t* right = rule.sides.alone[1]
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
        if by_bits and rule.n_kept == 1:
            break
        actual = actual_error(v.n, v.errors)
        while idle >= 0 and (rule.without[idle].dropped or right[idle] or wrong[idle]):
            idle -= 1
        superfluous = idle >= 0
        best = idle
        least = v.estimate
        for number in range(depth):
            without = &rule.without[number]
            if without.dropped or not (right[number] or wrong[number]):
                continue
            errors = v.errors + wrong[number]
            n = v.n + wrong[number] + right[number]
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
        if not superfluous and (
            not by_bits or pays_for(confidence, &v, its, samples.n_samples, bits - confidence.bits_of_order[rule.n_kept])
        ):
            break
        if by_bits:
            bits -= confidence.bits[nodes[best]]
        drop_condition(rule, best, &v)
    if by_bits:  # the share of the class must be at least 0.95 of that of all samples
        v.is_of_use = unit * v.n > 0.99 and (
            (unit * (v.n - v.errors) + 1.0) * samples.n_samples >= 0.95 * its.n_samples * (unit * v.n + 2.0)
        ) and pays_for(confidence, &v, its, samples.n_samples, bits - confidence.bits_of_order[rule.n_kept])
    else:
        v.is_of_use = rule.n_kept > 0 and v.n > 0 and v.estimate < its.default_error
    return v
