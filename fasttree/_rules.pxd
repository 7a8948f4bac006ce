"""Rules out of a tree: which conditions a rule keeps, which rules a class keeps (Quinlan 1993, chapter 5).  Header only.

Samples stand class by class, each class padded to whole words of 64, so that a set of samples is a row of bits and the part of it
in one class a range of words.  All counts are of whole samples.  Numbers that decide are rounded to single precision where
Release 8 stores them, so that its choices among near equals are repeated.
"""

from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._prune cimport extra_errors

cdef extern from *:
    """
    #include <stdint.h>

    /* Loops over words and bytes that the compiler makes vectors of; counting without an instruction for it, 24 words at a time:
       a byte then holds at most 192. */
    static int64_t fasttree_count_common(const uint64_t *a, const uint64_t *b, int64_t n) {
        const uint64_t fives = 0x5555555555555555u, threes = 0x3333333333333333u, nibbles = 0x0f0f0f0f0f0f0f0fu;
        const uint64_t bytes = 0x00ff00ff00ff00ffu;
        int64_t total = 0, start, i;
        for (start = 0; start < n; start += 24) {
            int64_t stop = start + 24 < n ? start + 24 : n;
            uint64_t sum = 0;
            for (i = start; i < stop; i++) {
                uint64_t x = a[i] & b[i];
                x -= x >> 1 & fives;
                x = (x & threes) + (x >> 2 & threes);
                sum += (x + (x >> 4)) & nibbles;
            }
            sum = (sum & bytes) + (sum >> 8 & bytes);
            total += (int64_t) (sum * 0x0001000100010001u >> 48);
        }
        return total;
    }

    /* One step of adding bits to (flip 0), or taking them from (flip ~0), binary numbers: a digit of each, what is left to do. */
    static void fasttree_carry(uint64_t *digit, uint64_t *carry, uint64_t flip, int64_t n) {
        int64_t i;
        for (i = 0; i < n; i++) {
            uint64_t old = digit[i];
            digit[i] = old ^ carry[i];
            carry[i] &= old ^ flip;
        }
    }

    static void fasttree_flip(uint64_t *bits, const uint64_t *where, int64_t n) {
        int64_t i;
        for (i = 0; i < n; i++) bits[i] ^= where[i];
    }

    static void fasttree_join(uint64_t *bits, const uint64_t *others, int64_t n) {
        int64_t i;
        for (i = 0; i < n; i++) bits[i] |= others[i];
    }

    /* Bit i of a word: is code i outside low, ..., low + span? */
    static uint64_t fasttree_outside(const uint32_t *codes, uint32_t low, uint32_t span) {
        uint8_t outside[64];
        uint64_t word = 0;
        int i, j;
        for (i = 0; i < 64; i++) outside[i] = codes[i] - low > span;
        for (i = 0; i < 8; i++) {
            uint64_t eight = 0;
            for (j = 7; j >= 0; j--) eight = eight << 8 | outside[8 * i + j];
            word |= (eight * 0x0102040810204080u >> 56) << 8 * i;
        }
        return word;
    }

    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
    #define fasttree_lowest_bit(word) __builtin_ctzll(word)
    #else
    static int fasttree_lowest_bit(uint64_t word) {
        int i = 0;
        while (!(word >> i & 1)) i++;
        return i;
    }
    #endif
    """
    int64_t count_common "fasttree_count_common"(const uint64_t* a, const uint64_t* b, int64_t n) noexcept nogil
    void carry_on "fasttree_carry"(uint64_t* digit, uint64_t* carry, uint64_t flip, int64_t n) noexcept nogil
    void flip_bits "fasttree_flip"(uint64_t* bits, const uint64_t* where, int64_t n) noexcept nogil
    void join_bits "fasttree_join"(uint64_t* bits, const uint64_t* others, int64_t n) noexcept nogil
    uint64_t outside "fasttree_outside"(const uint32_t* codes, uint32_t low, uint32_t span) noexcept nogil
    int lowest_bit "fasttree_lowest_bit"(uint64_t word) noexcept nogil


cdef enum:
    BATCH = 256                # words of a set that are looked at together
    FEW_RULES = 10             # up to so many rules of a class every selection is tried
    CLIMBS = 11
    WORDS_OF_RANDOM = 31
    PROPOSALS = 100            # of annealing, at one temperature

cdef enum TestKind:            # in the order in which Release 8 lists conditions
    BY_CATEGORY = 1
    BY_THRESHOLD = 2
    BY_GROUP = 3


# ---------------------------------------------------------------------------------------------------------------------
# Conditions: the edges of the tree
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Edges:             # a condition is the edge that leads to a node and bears its number
    const int32_t* parent
    const int32_t* slot        # row of the codes that it looks at
    const uint32_t* low        # satisfied by the codes low, ..., high
    const uint32_t* high
    const int64_t* group_start  # BY_GROUP: satisfied by group_code[group_start[i]:group_start[i + 1]], ascending
    const uint32_t* group_code
    const int32_t* feature
    const uint8_t* kind        # TestKind
    const double* threshold    # 0 unless BY_THRESHOLD


cdef struct Samples:
    const uint32_t* codes      # a row of n_words * 64 codes per slot; 0 = missing or padding, satisfies nothing
    const uint64_t* padding    # bits that stand for no sample
    int64_t n_words
    int64_t n_samples


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


cdef inline void fill_failing(const Edges* edges, int32_t edge, const Samples* samples, uint64_t* failing) noexcept nogil:
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


cdef inline void put_in_order(const Edges* edges, int32_t* nodes, int32_t n) noexcept nogil:
    """Take, again and again, the condition that a walk along the others ends with, moving on to each that comes before."""
    cdef int32_t i, j, first, node
    for i in range(n):
        first = i
        for j in range(i + 1, n):
            if comes_before(edges, nodes[j], nodes[first]):
                first = j
        node = nodes[first]
        for j in range(first, i, -1):
            nodes[j] = nodes[j - 1]
        nodes[i] = node


# ---------------------------------------------------------------------------------------------------------------------
# Estimates
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Confidence:
    double level               # Quinlan's CF
    double coefficient         # squared normal quantile that his table gives for it


cdef inline float pessimistic_error(const Confidence* c, int64_t n, int64_t e, float of_none) noexcept nogil:
    """Upper limit of the error rate of a rule that fires on n samples and errs on e of them (section 5.2)."""
    if n == 0:
        return of_none
    return (<float> e + <float> extra_errors(c.level, c.coefficient, <double> n, <double> e)) / <float> n


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
# Conditions that a rule can do without (section 5.2)
# ---------------------------------------------------------------------------------------------------------------------

# Every sample bears two numbers, each digit a row of bits: how many conditions of a path it fails, and the numbers of those added
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
    float estimate
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
    float estimate             # pessimistic error rate


cdef inline void split_failures(Draft* rule, const Samples* samples, int64_t first, int64_t size) noexcept nogil:
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


cdef inline void note_alone(
    Draft* rule, const Samples* samples, const uint64_t* among, int64_t first, int64_t size, bint is_right,
) noexcept nogil:
    """Count the samples of some words, after `split_failures`, that fail one condition alone and are `among` (NULL = all)."""
    cdef const uint64_t* which = rule.failures.which + first
    cdef uint64_t bits
    cdef int64_t n, w
    cdef int32_t digit, number
    cdef int bit
    for w in range(size):
        rule.once[w] &= ~rule.twice[w] & ~samples.padding[first + w]
        if among != NULL:
            rule.once[w] &= among[first + w]
    if 2 * count_common(rule.once, rule.once, size) > rule.n_kept * size:  # so many that it is cheaper to ask the conditions
        for number in range(rule.depth):
            if not rule.without[number].dropped:
                n = count_common(rule.once, rule.failing + number * samples.n_words + first, size)
                if n:
                    add_alone(rule, number, n, is_right)
        return
    for w in range(size):
        bits = rule.once[w]
        while bits:
            bit = lowest_bit(bits)
            bits &= bits - 1
            number = 0
            for digit in range(rule.failures.n_digits):
                number |= <int32_t> (which[digit * samples.n_words + w] >> bit & 1) << digit
            add_alone(rule, number, 1, is_right)


cdef inline int64_t next_words(const Samples* samples, int64_t first, int64_t start, int64_t stop) noexcept nogil:
    """How many words to look at together from `first` on: all of them inside start, ..., stop - 1, or none."""
    cdef int64_t end = start if first < start else stop if first < stop else samples.n_words
    return min(BATCH, end - first)


cdef inline Verdict take_path(
    Draft* rule, const Failures* path, int32_t depth, const Samples* samples, int64_t start, int64_t stop,
) noexcept nogil:
    """Begin with all conditions of the path; returns what satisfies them, without the estimate."""
    cdef Verdict v
    cdef int64_t first = 0
    cdef int64_t size, n
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
        n = 64 * size - count_common(rule.once, rule.once, size)
        v.n += n
        v.errors += 0 if is_right else n
        note_alone(rule, samples, NULL, first, size, is_right)
        first += size
    return v


cdef inline void drop_condition(
    Draft* rule, int32_t number, Verdict* v, const Samples* samples, int64_t start, int64_t stop,
) noexcept nogil:
    """Go on without a condition: what failed it alone satisfies the rule, what failed it and one more fails one alone."""
    cdef const uint64_t* failing = rule.failing + number * samples.n_words
    cdef Without* without = &rule.without[number]
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
    count_failing(&rule.failures, failing, number, rule.n_kept, ~<uint64_t> 0, samples.n_words, rule.once)
    without.dropped = True
    rule.n_kept -= 1
    while first < samples.n_words:
        size = next_words(samples, first, start, stop)
        split_failures(rule, samples, first, size)
        note_alone(rule, samples, failing, first, size, start <= first < stop)
        first += size


cdef inline Verdict simplify(
    Draft* rule, const Failures* path, int32_t depth, const Samples* samples, int64_t start, int64_t stop,
    const Confidence* confidence, float default_error, double significance, const double* log_factorial,
) noexcept nogil:
    """Drop conditions of a rule for the class in words start, ..., stop - 1 while one can be missed.

    One can be missed if without it the pessimistic or the actual error is no larger, or (where significance >= 0) if the
    difference is not significant.  It is then the condition without which the pessimistic error is least that goes, the last
    one on ties, whether or not it was this one that could be missed.
    """
    cdef Verdict v = take_path(rule, path, depth, samples, start, stop)
    cdef Without* without
    cdef float least, actual
    cdef int64_t n, errors
    cdef int32_t i, number, best
    cdef int32_t idle = depth - 1  # the last condition that no sample fails alone: without it nothing changes
    cdef bint superfluous
    while True:
        v.estimate = pessimistic_error(confidence, v.n, v.errors, default_error)
        actual = actual_error(v.n, v.errors)
        while idle >= 0 and (rule.without[idle].dropped or rule.without[idle].right or rule.without[idle].wrong):
            idle -= 1
        superfluous = idle >= 0
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
                without.estimate = pessimistic_error(confidence, n, errors, default_error)
            if best < 0 or without.estimate < least or (without.estimate == least and number > best):
                best = number
                least = without.estimate
            if not superfluous:
                superfluous = without.estimate <= v.estimate or actual_error(n, errors) <= actual or (
                    significance >= 0
                    and fisher_tail(
                        log_factorial, v.errors, v.n - v.errors, errors - v.errors, (n - v.n) - (errors - v.errors)
                    ) > significance
                )
        if not superfluous:
            break
        drop_condition(rule, best, &v, samples, start, stop)
    rule.n_kept = 0
    for number in range(depth):
        if not rule.without[number].dropped:
            rule.kept[rule.n_kept] = number
            rule.n_kept += 1
    return v


cdef inline int64_t list_samples(Draft* rule, const Samples* samples, uint32_t* out) noexcept nogil:
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


# ---------------------------------------------------------------------------------------------------------------------
# Description lengths (section 5.3)
# ---------------------------------------------------------------------------------------------------------------------

cdef inline double lg(double x) noexcept nogil:
    return log(x) / 0.6931471805599453 if x > 0 else 0.0


cdef inline float biased(int64_t n, int64_t e, float expected) noexcept nogil:
    """Bits that tell which e of n samples are exceptions if `expected` of them were to be expected."""
    cdef float rate
    if expected <= 1e-6:
        return 0 if e == 0 else <float> 1e6
    if expected >= n - 1e-6:
        return 0 if e == n else <float> 1e6
    rate = expected / <float> n
    return <float> (-<double> e * lg(rate) - <double> (n - e) * lg(<float> (1 - rate)))


cdef inline float exception_bits(int64_t n, double lg_n, int64_t fired, int64_t fp, int64_t fn) noexcept nogil:
    """Bits that tell the false positives among the samples that fired, and the false negatives among the rest."""
    cdef float mean = <float> (0.5 * <double> (fp + fn))
    if fired > n - fired:
        return <float> (lg_n + biased(fired, fp, mean) + biased(n - fired, fn, <float> fn))
    return <float> (lg_n + biased(fired, fp, <float> fp) + biased(n - fired, fn, mean))


# Samples that the same rules of the class cover, and that are alike in being of the class, count as one group.  All that the
# search for a selection does costs what its groups cost, however many samples stand behind them.

cdef struct Cover:             # of all rules, in places of samples
    const int64_t* start
    const int64_t* stop
    const uint32_t* place


cdef struct Refinement:        # places in groups; the caller owns the room
    int32_t* group_of          # per place
    int32_t* size              # n + 3 entries in each of the rest, for n places
    int32_t* target            # the group that what leaves this one enters
    int32_t* seen              # last rule that split this group
    int32_t* vacant            # numbers of empty groups
    int32_t n_vacant
    int32_t n_groups


cdef inline void refine(Refinement* r, const Cover* cover, int64_t rule, int32_t turn) noexcept nogil:
    """Split every group into what this rule covers and what it does not.  `turn` differs from call to call."""
    cdef int64_t i
    cdef int32_t group, target
    cdef uint32_t place
    for i in range(cover.start[rule], cover.stop[rule]):
        place = cover.place[i]
        group = r.group_of[place]
        if r.seen[group] != turn:
            r.seen[group] = turn
            if r.n_vacant:
                r.n_vacant -= 1
                target = r.vacant[r.n_vacant]
            else:
                target = r.n_groups
                r.n_groups += 1
            r.size[target] = 0
            r.seen[target] = -1
            r.target[group] = target
        target = r.target[group]
        r.size[group] -= 1
        r.size[target] += 1
        r.group_of[place] = target
        if r.size[group] == 0:  # nothing of it is left, so this rule does not meet it again
            r.vacant[r.n_vacant] = group
            r.n_vacant += 1


cdef struct Field:             # rules of one class and the groups of samples that they cover
    int32_t n_rules
    int32_t n_groups
    int64_t n_samples
    int64_t n_class            # samples of the class, covered or not
    double lg_n
    const float* bits          # of each rule
    const float* log_factorial  # bits that the order of k rules is worth
    int64_t* rule_start        # rule -> groups
    int32_t* rule_group
    int64_t* group_start       # group -> rules
    int32_t* group_rule
    int32_t* size              # samples of a group; negative if they are not of the class
    # The selection at hand
    uint8_t* selected
    int32_t n_selected
    int32_t* times             # how many selected rules cover a group
    int32_t* whose             # their numbers, added without carry: the rule itself where it is one
    int64_t* right             # samples of the class, and others, that a rule covers and no other selected rule does
    int64_t* wrong
    int64_t fired              # samples that a selected rule covers
    int64_t fp                 # those that are not of the class


cdef inline int64_t divide(
    Refinement* r, const Cover* cover, const int64_t* rules, const int32_t* truth, int32_t label, Field* f,
) noexcept nogil:
    """Find the groups of the rules of one class and write their sizes; returns how many pairs of rule and group there are."""
    cdef int64_t pairs = 0
    cdef int64_t i
    cdef int32_t j, group
    for j in range(f.n_rules):
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            r.group_of[cover.place[i]] = -1
    r.n_groups = 2
    r.n_vacant = 0
    for group in range(2):
        r.size[group] = 0
        r.seen[group] = -1
    for j in range(f.n_rules):
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            if r.group_of[cover.place[i]] < 0:
                group = truth[cover.place[i]] == label
                r.group_of[cover.place[i]] = group
                r.size[group] += 1
    for j in range(f.n_rules):
        refine(r, cover, rules[j], j)
    for group in range(r.n_groups):
        r.seen[group] = -1
    f.n_groups = 0
    for j in range(f.n_rules):
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            group = r.group_of[cover.place[i]]
            if r.seen[group] < 0:
                r.target[group] = f.n_groups
                f.size[f.n_groups] = r.size[group] if truth[cover.place[i]] == label else -r.size[group]
                f.n_groups += 1
            if r.seen[group] != j:
                r.seen[group] = j
                pairs += 1
    return pairs


cdef inline void connect(Refinement* r, const Cover* cover, const int64_t* rules, Field* f) noexcept nogil:
    """Write which groups a rule covers and which rules cover a group; `divide` has been here."""
    cdef int64_t n = 0
    cdef int64_t i
    cdef int32_t j, group
    for group in range(r.n_groups):
        r.seen[group] = -1
    memset(f.group_start, 0, (f.n_groups + 1) * sizeof(int64_t))
    for j in range(f.n_rules):
        f.rule_start[j] = n
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            group = r.group_of[cover.place[i]]
            if r.seen[group] != j:
                r.seen[group] = j
                f.rule_group[n] = r.target[group]
                f.group_start[r.target[group] + 1] += 1
                n += 1
    f.rule_start[f.n_rules] = n
    for group in range(f.n_groups):
        f.group_start[group + 1] += f.group_start[group]
    for j in range(f.n_rules - 1, -1, -1):   # fills each group's list from its end, which becomes its start
        for i in range(f.rule_start[j], f.rule_start[j + 1]):
            group = f.rule_group[i]
            f.group_start[group + 1] -= 1
            f.group_rule[f.group_start[group + 1]] = j
    # group_start[group + 1] has become the start of `group`
    for group in range(f.n_groups):
        f.group_start[group] = f.group_start[group + 1]
    f.group_start[f.n_groups] = n


cdef inline void credit(Field* f, int32_t rule, int32_t size, int32_t sign) noexcept nogil:
    if size > 0:
        f.right[rule] += sign * size
    else:
        f.wrong[rule] -= sign * size


cdef inline void count_fired(Field* f, int32_t size, int32_t sign) noexcept nogil:
    if size > 0:
        f.fired += sign * size
    else:
        f.fired -= sign * size
        f.fp -= sign * size


cdef inline void settle(Field* f) noexcept nogil:
    """Compute what is known of the selection from `selected`."""
    cdef int32_t rule, group
    cdef int64_t i
    memset(f.times, 0, f.n_groups * sizeof(int32_t))
    memset(f.whose, 0, f.n_groups * sizeof(int32_t))
    memset(f.right, 0, f.n_rules * sizeof(int64_t))
    memset(f.wrong, 0, f.n_rules * sizeof(int64_t))
    f.n_selected = 0
    f.fired = 0
    f.fp = 0
    for rule in range(f.n_rules):
        if f.selected[rule]:
            f.n_selected += 1
            for i in range(f.rule_start[rule], f.rule_start[rule + 1]):
                f.times[f.rule_group[i]] += 1
                f.whose[f.rule_group[i]] ^= rule
    for group in range(f.n_groups):
        if f.times[group] == 0:
            for i in range(f.group_start[group], f.group_start[group + 1]):
                credit(f, f.group_rule[i], f.size[group], 1)
            continue
        if f.times[group] == 1:
            credit(f, f.whose[group], f.size[group], 1)
        count_fired(f, f.size[group], 1)


cdef inline void toggle(Field* f, int32_t rule) noexcept nogil:
    """Select a rule or give it up; costs what the groups cost that it alone covers."""
    cdef int32_t sign = -1 if f.selected[rule] else 1
    cdef int32_t group, size
    cdef int64_t i, j
    f.selected[rule] = not f.selected[rule]
    f.n_selected += sign
    for i in range(f.rule_start[rule], f.rule_start[rule + 1]):
        group = f.rule_group[i]
        size = f.size[group]
        f.times[group] += sign
        if f.times[group] == (1 if sign > 0 else 0):   # no other selected rule is here
            count_fired(f, size, sign)
            for j in range(f.group_start[group], f.group_start[group + 1]):
                if f.group_rule[j] != rule:
                    credit(f, f.group_rule[j], size, -sign)
        elif f.times[group] == (2 if sign > 0 else 1):  # one other is here
            credit(f, f.whose[group] if sign > 0 else f.whose[group] ^ rule, size, -sign)
        f.whose[group] ^= rule


cdef inline float theory_bits(const Field* f, float sum_of_bits, int32_t n_selected) noexcept nogil:
    """Half of the rules' bits: as a theory they are redundant, and the order of the rules does not matter."""
    return <float> (0.5 * <float> (sum_of_bits - f.log_factorial[n_selected]))


cdef inline float sum_of_bits(const Field* f) noexcept nogil:
    cdef float total = 0
    cdef int32_t rule
    for rule in range(f.n_rules):
        if f.selected[rule]:
            total = total + f.bits[rule]
    return total


cdef inline float length_of(const Field* f, float bits, int32_t n_selected, int64_t fired, int64_t fp) noexcept nogil:
    """Bits of a selection: its rules and its exceptions."""
    return theory_bits(f, bits, n_selected) + exception_bits(f.n_samples, f.lg_n, fired, fp, f.n_class - (fired - fp))


cdef inline float length_after(const Field* f, int32_t rule, float bits) noexcept nogil:
    """Bits of the selection with this rule toggled; `bits` = the sum of the selected rules'."""
    if f.selected[rule]:
        return length_of(f, bits - f.bits[rule], f.n_selected - 1, f.fired - f.right[rule] - f.wrong[rule],
                         f.fp - f.wrong[rule])
    return length_of(f, bits + f.bits[rule], f.n_selected + 1, f.fired + f.right[rule] + f.wrong[rule],
                     f.fp + f.wrong[rule])


# ---------------------------------------------------------------------------------------------------------------------
# The search for the shortest selection
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Random:            # the C library's random(): additive feedback over 31 words
    uint32_t[31] word
    int32_t oldest


cdef inline double draw(Random* r) noexcept nogil:
    """A number in [0, 1)."""
    cdef int32_t i = r.oldest
    r.word[i] += r.word[i + 28 if i < 3 else i - 3]
    r.oldest = i + 1 if i < WORDS_OF_RANDOM - 1 else 0
    return <double> (r.word[i] >> 1) / 2147483648.0


cdef inline void try_all(
    Field* f, int64_t* right, int64_t* wrong, uint8_t* best,
) noexcept nogil:
    """Find the shortest of all selections, the first where several are: the first rule changes fastest.

    `right`, `wrong` (2 ** n_rules zeros each) become, for a set of rules, the samples that no rule outside it covers.
    """
    cdef int64_t n = <int64_t> 1 << f.n_rules
    cdef int64_t s, i, rest
    cdef int64_t n_right = 0
    cdef int64_t n_wrong = 0
    cdef int64_t shortest = 0
    cdef int32_t group, rule, n_selected
    cdef float sum_of_bits, length
    cdef float least = 0
    for group in range(f.n_groups):
        s = 0
        for i in range(f.group_start[group], f.group_start[group + 1]):
            s |= <int64_t> 1 << f.group_rule[i]
        if f.size[group] > 0:
            right[s] += f.size[group]
            n_right += f.size[group]
        else:
            wrong[s] -= f.size[group]
            n_wrong -= f.size[group]
    for rule in range(f.n_rules):
        for s in range(n):
            if s >> rule & 1:
                right[s] += right[s ^ <int64_t> 1 << rule]
                wrong[s] += wrong[s ^ <int64_t> 1 << rule]
    for s in range(n):
        sum_of_bits = 0
        n_selected = 0
        for rule in range(f.n_rules):
            if s >> rule & 1:
                sum_of_bits = sum_of_bits + f.bits[rule]
                n_selected += 1
        rest = n - 1 - s
        length = length_of(f, sum_of_bits, n_selected, n_right - right[rest] + n_wrong - wrong[rest], n_wrong - wrong[rest])
        if s == 0 or length < least:
            least = length
            shortest = s
    for rule in range(f.n_rules):
        best[rule] = shortest >> rule & 1


cdef struct Record:            # the shortest selection seen
    uint8_t* selected
    float length
    bint exists


cdef inline void keep_record(Record* best, const Field* f, float length) noexcept nogil:
    if not best.exists or length < best.length:
        best.exists = True
        best.length = length
        memcpy(best.selected, f.selected, f.n_rules)


cdef inline void climb(Field* f, Record* best) noexcept nogil:
    """Toggle the rule that shortens the selection most, the first on ties, until none does."""
    cdef float bits, length, reduction, largest
    cdef int32_t rule, step
    while True:
        bits = sum_of_bits(f)
        length = length_of(f, bits, f.n_selected, f.fired, f.fp)
        keep_record(best, f, length)
        step = -1
        largest = 0
        for rule in range(f.n_rules):
            reduction = length - length_after(f, rule, bits)
            if reduction > largest:
                largest = reduction
                step = rule
        if step < 0:
            return
        toggle(f, step)


cdef inline void climb_from_all_sides(Field* f, Random* random, Record* best) noexcept nogil:
    cdef int32_t tenths, rule
    for tenths in range(CLIMBS):
        for rule in range(f.n_rules):
            f.selected[rule] = draw(random) < tenths / 10.0
        settle(f)
        climb(f, best)


cdef inline void anneal(Field* f, Random* random, Record* best) noexcept nogil:
    """Simulated annealing, from a selection drawn by tosses of a coin; then climb from the best selection it saw.

    A proposal toggles a rule drawn at random: it is taken if it shortens the selection, else with probability exp(reduction /
    temperature).  One is taken at each temperature, of at most PROPOSALS; where none is, the search is frozen.
    """
    cdef double temperature = 1000
    cdef float bits, length, reduction
    cdef int32_t rule, _proposal
    cdef bint moved = True
    for rule in range(f.n_rules):
        f.selected[rule] = draw(random) < 0.5
    settle(f)
    while moved and temperature > 0.001:
        bits = sum_of_bits(f)
        length = length_of(f, bits, f.n_selected, f.fired, f.fp)
        keep_record(best, f, length)
        moved = False
        for _proposal in range(PROPOSALS):
            rule = <int32_t> (draw(random) * f.n_rules)
            reduction = length - length_after(f, rule, bits)
            if reduction > 0 or draw(random) < exp(reduction / temperature):
                toggle(f, rule)
                moved = True
                break
        temperature *= 0.95
    memcpy(f.selected, best.selected, f.n_rules)
    settle(f)
    climb(f, best)


# ---------------------------------------------------------------------------------------------------------------------
# The order of use
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Ordered:           # samples and the rules that fire on them, in order of use
    const int64_t* start       # place -> rules
    const int32_t* rule
    const int32_t* label       # class of a rule
    const int32_t* truth       # class of a place
    uint8_t* alive             # rules that are still in use
    int64_t* better            # samples that a rule, where it comes first, gets right and the next gets wrong
    int64_t* worse             # and the other way round
    int32_t default_label


cdef inline void judge(Ordered* o, uint32_t place, int32_t sign) noexcept nogil:
    """Count a sample for or against the first rule that fires on it, compared with the next one or the default."""
    cdef int64_t i
    cdef int32_t first = -1
    cdef int32_t label = o.default_label
    for i in range(o.start[place], o.start[place + 1]):
        if o.alive[o.rule[i]]:
            if first >= 0:
                label = o.label[o.rule[i]]
                break
            first = o.rule[i]
    if first < 0 or o.label[first] == label:
        return
    if o.label[first] == o.truth[place]:
        o.better[first] += sign
    elif label == o.truth[place]:
        o.worse[first] += sign


# ---------------------------------------------------------------------------------------------------------------------
# Use
# ---------------------------------------------------------------------------------------------------------------------

cdef enum Operator:
    AT_MOST
    ABOVE
    ONE_OF


cdef struct Conditions:        # of all rules, rule by rule
    const int64_t* start       # rule -> conditions
    const int32_t* feature
    const uint8_t* operator
    const double* threshold
    const int64_t* code_start  # condition -> codes, ascending
    const uint32_t* code


cdef inline bint holds(const Conditions* c, int64_t i, double x) noexcept nogil:
    """Is a condition satisfied?  A missing value (NaN) satisfies none."""
    cdef int64_t j
    if c.operator[i] == AT_MOST:
        return x <= c.threshold[i]
    if c.operator[i] == ABOVE:
        return x > c.threshold[i]
    for j in range(c.code_start[i], c.code_start[i + 1]):
        if x == c.code[j]:
            return True
    return False
