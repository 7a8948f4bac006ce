"""The engine: rows, codes and weights in, a flat tree out.

Knows arrays of codes, labels and weights.  Does not know algorithms by name, tables, feature names or scikit-learn.
Kernels trust their caller: every check stands at the edge, in Python.

In the order of a tree's life: types, sums, impurity, encode, count, scan, choose, partition, grow, walk, doors.
"""

cimport cython
from libc.math cimport INFINITY, NAN, ceil, fabs, floor, isnan, llrint, log, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

import numpy as np

# ---------------------------------------------------------------------------------------------------------------------
# Types
# ---------------------------------------------------------------------------------------------------------------------

# A presorted list holds, for every sample of a node, code << half | row in ascending order of the feature's value:
# 16 + 16 bits inside a block of at most 65,535 rows, 32 + 32 bits above it.  Code 0 = missing, so missing values come first.
ctypedef fused entry_t:
    uint32_t
    uint64_t

ctypedef fused real_t:
    float
    double

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

cdef enum Kind:
    CONTINUOUS
    ORDINAL
    NOMINAL

cdef enum Impurity:
    GINI
    ENTROPY
    MISCLASSIFICATION
    SQUARED_ERROR

cdef enum NominalForm:
    DECLARED      # a branch per declared category
    PRESENT       # a branch per category that occurs in the node
    SUBSET        # two groups of categories
    ONE_VS_REST   # one category against the others
    ORDERED       # a threshold on the code (ordinal features)

cdef enum MissingPolicy:
    REFUSE
    FRACTIONAL
    DIRECTION

# How the gain of a candidate is computed while a list is swept.
cdef enum Sweep:
    LINEAR        # two classes and Gini, or squared error: the gain is a square of a linear form
    SQUARES       # Gini of many classes, unweighted: running sums of squares
    TABLE         # entropy, unweighted: running sums of a fixed-point table of x log2 x
    GENERIC       # from the class weights, at every candidate

cdef enum CutForm:
    NO_CUT
    THRESHOLD_CUT
    KNOWN_CUT
    GROUP_CUT      # two groups of categories
    BRANCH_CUT     # a branch per category

cdef enum NodeKind:
    NODE_LEAF
    NODE_THRESHOLD
    NODE_NOMINAL
    NODE_CATEGORY
    NODE_KNOWN

cdef enum:
    TO_SHARES = -1
    TO_STOP = -2
    CHUNK = 512            # candidates evaluated at a time: three arrays of doubles stay in the first-level cache
    FEW = 255              # a feature with at most this many categories or values is counted by code
    EXHAUSTIVE = 10        # categories up to which every partition of more than two classes is tried
    NARROW = 65535         # rows of a block with 16-bit entries
    SPREAD = 2147483647    # branch of a sample that goes to every child

cdef double RELATIVE_TIE = 1e-10
cdef double RISK_TIE = 1e-13
cdef double RELEASE8_TOLERANCE = 1e-3    # Quinlan's Epsilon
cdef double RELEASE8_GAP = 1e-5          # values closer than this, in single precision, are one value for C4.5


cdef struct Cut:
    double gain            # in risk units: what competes
    double first_gain      # gain of the candidate that `at` names
    double split_info      # bits x weight of the branches, missing one of them (gain ratio)
    float single_gain      # release8: gain per case, less the penalty of a threshold
    float single_info
    int64_t at             # last list position (listed), code (counted) or rank (groups) of branch 0
    uint64_t mask          # GROUP_CUT over an exhaustive search: groups of branch 0
    int32_t feature
    int32_t form
    int32_t order          # GROUP_CUT: how the groups were ordered
    int32_t missing        # branch of missing values; -1: none seen
    bint ambiguous         # an earlier candidate may lie inside the tie tolerance of the best


cdef struct Totals:
    int64_t n              # samples
    int64_t weight         # fixed point
    int64_t sum            # of the target, fixed point (regression)
    int64_t* counts        # weight per class, fixed point (classification)
    double risk


cdef struct Exact:                 # a sum of doubles bounded by `bound`, in two fixed-point halves
    int64_t high
    int64_t low
    double scale_high
    double scale_low


cdef struct Problem:
    int32_t n_features
    int32_t n_classes      # 0: regression
    int32_t width          # statistics per group: n_classes, or 1
    int32_t impurity
    int32_t sweep
    int32_t nominal
    int32_t ordinal
    int32_t missing
    bint ratio
    bint release8
    bint weighted
    bint lazy              # a child's search may stop at a perfect split
    bint draws             # max_features < n_features
    double unit            # weight of one fixed-point quantum
    double y_unit
    double total_weight
    int64_t n_total
    int64_t max_depth
    int64_t min_samples_split
    int64_t min_samples_leaf
    double min_weight_leaf
    double min_impurity_decrease
    double min_impurity
    double min_gain
    double min_branch_weight
    int32_t max_features
    const uint8_t* kind
    const uint8_t* counted
    const uint32_t* n_codes
    const int32_t* slot            # column of a counted feature in Block.codes
    const double** exact           # C4.5's gap rule: values by code (counted) or by row (listed); NULL where not needed
    const uint32_t** category      # listed nominal features: category code by row
    const int64_t* list_below      # nodes smaller than this get a list for a counted feature
    Exact zero                     # an empty sum of weight x target, scaled for the table
    Exact zero_square              # and of its squared deviations
    const int64_t* xlogx           # TABLE: x log2 x in fixed point
    double xlogx_unit


cdef struct Block:
    uint32_t n
    const uint16_t* label
    const double* y
    const int64_t* ysum            # weight x target, fixed point
    int64_t* weight                # NULL: every sample counts 1
    const uint32_t* origin         # sample of the table; NULL: the same
    const uint8_t* codes           # counted features, one column of n after the other


cdef struct Active:                # a feature that still varies in a node
    int32_t feature
    bint listed
    size_t at                      # offset of its list in the arena (an address in the wide phase)


cdef struct Pending:               # a node that waits to be expanded
    Cut cut
    uint64_t key                   # random stream: depends on the seed and the path only
    int64_t id
    int64_t depth
    uint32_t n
    size_t rows_at
    size_t region                  # where its lists start, in arena depth % 2
    size_t below                   # where its children's lists may start, in the other arena
    size_t actives_at
    int32_t n_active
    size_t spread_at               # fractional: saved samples of the parent that went to every child
    int64_t n_spread
    double share
    bint searched


cdef struct Scratch:
    double* a
    double* b
    double* gains
    int32_t* positions
    int64_t* left
    int64_t* right
    int64_t* mark                  # left class weights at the start of a chunk
    int64_t* totals                # class weights of the known samples
    int64_t* lost                  # class weights of the samples with a missing value
    int64_t* hist                  # counted features: code x width
    int64_t* hist_n
    int64_t* hist_w
    uint32_t* group_code
    uint32_t* group_row
    int64_t* group_n
    int64_t* group_w
    int64_t* group_stat            # group x width
    double* group_key
    int64_t* group_rank            # sorting records: (key, group)
    uint8_t* group_side
    uint8_t* best_side
    uint32_t* branch_of_code
    Cut* cuts
    Cut* cuts_two                  # the second child's, where both are searched at once
    uint8_t* side
    uint32_t* branch
    double* pca


# ---------------------------------------------------------------------------------------------------------------------
# Sums that do not depend on order
# ---------------------------------------------------------------------------------------------------------------------

cdef inline Exact exact_zero(double bound, int64_t n) noexcept nogil:
    """An empty sum that n numbers of at most `bound` in size cannot overflow."""
    cdef Exact s
    cdef double scale = 1.0
    cdef double limit = 1.1529215046068470e18          # 2^60
    cdef double largest = bound * <double> n
    s.high = 0
    s.low = 0
    if not (largest > 0):
        largest = 1.0
    while largest * scale > limit and scale > 1e-300:
        scale *= 0.5
    while largest * scale * 2.0 <= limit and scale < 1e300:
        scale *= 2.0
    s.scale_high = scale
    # a rest is at most half a quantum of the upper half; n of them must fit
    s.scale_low = 1.0
    while s.scale_low * <double> n < 5.764607523034235e17:
        s.scale_low *= 2.0
    return s


cdef inline void exact_add(Exact* s, double x) noexcept nogil:
    cdef double scaled = x * s.scale_high
    cdef int64_t whole = llrint(scaled)
    s.high += whole
    s.low += llrint((scaled - <double> whole) * s.scale_low)


cdef inline double exact_value(const Exact* s) noexcept nogil:
    return (<double> s.high + <double> s.low / s.scale_low) / s.scale_high


# ---------------------------------------------------------------------------------------------------------------------
# Impurity
# ---------------------------------------------------------------------------------------------------------------------

cdef inline double xlogx(double x) noexcept nogil:
    return x * log2(x) if x > 0 else 0.0


cdef double class_risk(
    int32_t impurity, const int64_t* counts, int32_t n_classes, double unit
) noexcept nogil:
    """weight x impurity of a node with these class weights; bits x weight for entropy, 0 if empty."""
    cdef double total = 0
    cdef double part = 0
    cdef double largest = 0
    cdef double c
    cdef int32_t k
    for k in range(n_classes):
        c = <double> counts[k] * unit
        total += c
        if impurity == GINI:
            part += c * c
        elif impurity == ENTROPY:
            part += xlogx(c)
        elif c > largest:
            largest = c
    if total <= 0:
        return 0
    if impurity == GINI:
        c = total - part / total
    elif impurity == ENTROPY:
        c = xlogx(total) - part
    else:
        c = total - largest
    return c if c > 0 else 0


cdef inline double table_risk(const Problem* p, const int64_t* counts) noexcept nogil:
    """Entropy risk of integer counts from the fixed-point table: exact sums, so equal whatever the order."""
    cdef int64_t total = 0
    cdef int64_t part = 0
    cdef int32_t k
    for k in range(p.n_classes):
        total += counts[k]
        part += p.xlogx[counts[k]]
    return <double> (p.xlogx[total] - part) * p.xlogx_unit


cdef inline double risk_of(const Problem* p, const int64_t* counts) noexcept nogil:
    if p.sweep == TABLE:
        return table_risk(p, counts)
    return class_risk(p.impurity, counts, p.n_classes, p.unit)


# Release 8 keeps gains in single precision, and many of its choices are ties that this rounding decides.  What follows repeats
# its steps, so that such choices fall as they did.  Counts are sums in fixed point, hence the result does not depend on order.

cdef inline double xlgx(float x) noexcept nogil:
    return x * (log(<double> x) / 0.6931471805599453) if x > 0 else 0.0


cdef float single_information(const int64_t* counts, const int64_t* rest_of, int32_t n_classes, double unit) noexcept nogil:
    """I(counts), or of rest_of - counts if that is given: bits x cases."""
    cdef float s = 0
    cdef float t = 0
    cdef float v
    cdef int32_t k
    for k in range(n_classes):
        v = <float> (<double> (counts[k] if rest_of == NULL else rest_of[k] - counts[k]) * unit)
        s = <float> (s + xlgx(v))
        t = t + v
    return <float> (xlgx(t) - s)


cdef inline float single_gain_of(const Problem* p, float base, float info, int64_t known, int64_t weight, bint continuous) noexcept nogil:
    cdef float cases = <float> (<double> weight * p.unit)
    cdef float items = <float> (<double> known * p.unit)
    cdef float unknown
    cdef float rest
    if continuous:
        unknown = <float> (1.0 - <double> items / cases)
    else:
        unknown = <float> (<double> <float> (<double> (weight - known) * p.unit) / cases)
    rest = base - <float> (info / items)
    return <float> (1.0 - unknown) * rest


cdef inline float threshold_base(const Problem* p, const Totals* known) noexcept nogil:
    return single_information(known.counts, NULL, p.n_classes, p.unit) / <float> (<double> known.weight * p.unit)


cdef inline float threshold_gain(const Problem* p, const Totals* known, float base, const int64_t* left, int64_t weight) noexcept nogil:
    """Gain per case of a threshold that puts `left` on the left; `weight` counts the missing values too."""
    cdef float info = single_information(left, NULL, p.n_classes, p.unit)
    info = info + single_information(left, known.counts, p.n_classes, p.unit)
    return single_gain_of(p, base, info, known.weight, weight, True)


cdef inline double single_slack(const Problem* p, const Totals* known) noexcept nogil:
    """More than the rounding above can change a gain, in bits x weight: K + 4 roundings of numbers up to W lg W."""
    cdef double weight = <double> known.weight * p.unit
    return 2.4e-7 * (p.n_classes + 4) * (xlogx(weight) + weight)


cdef float single_branches(const Problem* p, const Scratch* s, int64_t q, const Totals* known, int64_t weight, float* split) noexcept nogil:
    """Gain per case of a branch per group, and its split information with the missing values as one more branch."""
    cdef float info = 0
    cdef float items = <float> (<double> known.weight * p.unit)
    cdef float lost = <float> (<double> (weight - known.weight) * p.unit)
    cdef float part_s, part_t, v
    cdef double total = 0
    cdef int64_t g
    cdef int32_t k
    for k in range(p.n_classes):
        total += xlgx(<float> (<double> known.counts[k] * p.unit))
    part_s = <float> xlgx(lost)
    part_t = lost
    for g in range(q):
        info = info + single_information(&s.group_stat[g * p.width], NULL, p.n_classes, p.unit)
        v = <float> (<double> s.group_w[g] * p.unit)
        part_s = <float> (part_s + xlgx(v))
        part_t = part_t + v
    split[0] = <float> (xlgx(part_t) - part_s) / <float> (<double> weight * p.unit)
    return single_gain_of(p, <float> ((xlgx(items) - total) / items), info, known.weight, weight, False)


cdef inline double linear_gain(double n, double total, double n_left, double left, double scale) noexcept nogil:
    """Gain of a cut from one linear statistic: (n left - total n_left)^2 / (n_left n_right), times the node's scale.

    For squared error the scale is 1 / n; for the Gini index of two classes, where the statistic counts one of them, 2 / n.
    """
    cdef double d = n * left - total * n_left
    return d * d / (n_left * (n - n_left)) * scale


cdef extern from *:
    """
    /* The gain of every candidate of a chunk, and the largest: a loop that the compiler makes vectors of. */
    static double fasttree_linear_gains(
        const double *left, const double *weights, const int32_t *positions, double *gains, int64_t m,
        double offset, double n, double total, double scale)
    {
        double largest = -HUGE_VAL;
        int64_t j;
        if (weights) {
            #pragma omp simd reduction(max:largest)
            for (j = 0; j < m; j++) {
                double d = n * left[j] - total * weights[j];
                double gain = d * d / (weights[j] * (n - weights[j])) * scale;
                gains[j] = gain;
                largest = gain > largest ? gain : largest;
            }
        } else {
            #pragma omp simd reduction(max:largest)
            for (j = 0; j < m; j++) {
                double n_left = (double) positions[j] + offset;
                double d = n * left[j] - total * n_left;
                double gain = d * d / (n_left * (n - n_left)) * scale;
                gains[j] = gain;
                largest = gain > largest ? gain : largest;
            }
        }
        return largest;
    }
    """
    double fasttree_linear_gains(
        const double* left, const double* weights, const int32_t* positions, double* gains, int64_t m,
        double offset, double n, double total, double scale) noexcept nogil


cdef inline double tie_limit(double gain, double risk) noexcept nogil:
    """Gains from here up to `gain` count as equal."""
    return gain - (RELATIVE_TIE * gain + RISK_TIE * risk)


# ---------------------------------------------------------------------------------------------------------------------
# Entries
# ---------------------------------------------------------------------------------------------------------------------

cdef inline uint32_t row_of(entry_t entry) noexcept nogil:
    if entry_t is uint32_t:
        return entry & 0xFFFF
    else:
        return <uint32_t> entry


cdef inline uint32_t code_of(entry_t entry) noexcept nogil:
    if entry_t is uint32_t:
        return entry >> 16
    else:
        return <uint32_t> (entry >> 32)


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """A counter-based generator's output function (Steele, Lea, Flood 2014: SplitMix64)."""
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


# ---------------------------------------------------------------------------------------------------------------------
# Count: a histogram over codes, or groups of equal codes
# ---------------------------------------------------------------------------------------------------------------------

cdef void count_codes(
    const Problem* p, const Block* block, const uint8_t* codes, uint32_t n_codes,
    const uint32_t* rows, int64_t n, Scratch* s,
) noexcept nogil:
    """Fill hist (code x width), hist_n and hist_w for the samples `rows`."""
    cdef int32_t width = p.width
    cdef int64_t* hist = s.hist
    cdef int64_t i
    cdef uint32_t row, code
    memset(hist, 0, <size_t> n_codes * width * sizeof(int64_t))
    memset(s.hist_n, 0, n_codes * sizeof(int64_t))
    if block.weight == NULL:
        if p.n_classes:
            for i in range(n):
                row = rows[i]
                hist[<size_t> codes[row] * width + block.label[row]] += 1
            for code in range(n_codes):
                for i in range(width):
                    s.hist_n[code] += hist[<size_t> code * width + i]
        else:
            for i in range(n):
                row = rows[i]
                code = codes[row]
                hist[code] += block.ysum[row]
                s.hist_n[code] += 1
        memcpy(s.hist_w, s.hist_n, n_codes * sizeof(int64_t))
        return
    memset(s.hist_w, 0, n_codes * sizeof(int64_t))
    for i in range(n):
        row = rows[i]
        code = codes[row]
        s.hist_n[code] += 1
        s.hist_w[code] += block.weight[row]
        if p.n_classes:
            hist[<size_t> code * width + block.label[row]] += block.weight[row]
        else:
            hist[code] += block.ysum[row]


cdef int64_t groups_from_counts(const Problem* p, uint32_t n_codes, Scratch* s, Totals* lost) noexcept nogil:
    """Pack the non-empty codes into the group arrays, ascending; what is missing goes to `lost`.  Returns their number."""
    cdef int32_t width = p.width
    cdef int64_t q = 0
    cdef uint32_t code
    lost.n = s.hist_n[0]
    lost.weight = s.hist_w[0]
    if p.n_classes:
        memcpy(lost.counts, s.hist, width * sizeof(int64_t))
    else:
        lost.sum = s.hist[0]
    for code in range(1, n_codes):
        if s.hist_n[code] == 0:
            continue
        s.group_code[q] = code
        s.group_n[q] = s.hist_n[code]
        s.group_w[q] = s.hist_w[code]
        memcpy(&s.group_stat[q * width], &s.hist[<size_t> code * width], width * sizeof(int64_t))
        q += 1
    return q


cdef int64_t groups_from_list(
    const Problem* p, const Block* block, const entry_t* entries, int64_t n, Scratch* s, Totals* lost,
) noexcept nogil:
    """The same from a sorted list: a group per run of equal codes, named by one of its rows."""
    cdef int32_t width = p.width
    cdef int64_t q = -1
    cdef int64_t i, w
    cdef uint32_t row
    cdef uint32_t code = 0
    lost.n = 0
    lost.weight = 0
    lost.sum = 0
    if p.n_classes:
        memset(lost.counts, 0, width * sizeof(int64_t))
    for i in range(n):
        row = row_of(entries[i])
        w = 1 if block.weight == NULL else block.weight[row]
        if code_of(entries[i]) == 0:
            lost.n += 1
            lost.weight += w
            if p.n_classes:
                lost.counts[block.label[row]] += w
            else:
                lost.sum += block.ysum[row]
            continue
        if code_of(entries[i]) != code:
            code = code_of(entries[i])
            q += 1
            s.group_code[q] = code
            s.group_row[q] = row
            s.group_n[q] = 0
            s.group_w[q] = 0
            memset(&s.group_stat[q * width], 0, width * sizeof(int64_t))
        s.group_n[q] += 1
        s.group_w[q] += w
        if p.n_classes:
            s.group_stat[q * width + block.label[row]] += w
        else:
            s.group_stat[q] += block.ysum[row]
    return q + 1


# ---------------------------------------------------------------------------------------------------------------------
# Scan: the best cut of one feature in one node
# ---------------------------------------------------------------------------------------------------------------------

cdef inline Cut no_cut(int32_t feature) noexcept nogil:
    cdef Cut cut
    cut.gain = -INFINITY
    cut.first_gain = -INFINITY
    cut.split_info = 0
    cut.single_gain = -1
    cut.single_info = 0
    cut.at = -1
    cut.mask = 0
    cut.feature = feature
    cut.form = NO_CUT
    cut.order = 0
    cut.missing = -1
    cut.ambiguous = False
    return cut


cdef inline bint offer(Cut* cut, double gain, int64_t at, double risk, double at_least) noexcept nogil:
    """Let a candidate compete; candidates come in tie order.  True: an `at_least` search has found its candidate.

    `cut` keeps the largest gain and the first candidate inside its tie tolerance.  Where the largest gain creeps upward in
    steps below the tolerance the first may have been passed over: `ambiguous` asks for a second search with `at_least`.
    """
    cdef double limit
    if at_least > -INFINITY:
        if gain >= at_least:
            cut.gain = gain
            cut.first_gain = gain
            cut.at = at
            return True
        return False
    if gain > cut.gain:
        limit = tie_limit(gain, risk)
        if cut.first_gain < limit:
            if cut.gain >= limit:
                cut.ambiguous = True
            cut.first_gain = gain
            cut.at = at
        cut.gain = gain
    return False


cdef struct Bounds:            # which candidates are admissible
    int64_t n_min              # samples on the left: at least, at most
    int64_t n_max
    int64_t w_min              # weight on the left, fixed point
    int64_t w_max


cdef inline Bounds bounds_of(const Problem* p, int64_t n, int64_t weight) noexcept nogil:
    """Limits on the left side of a binary cut of n samples with this weight.

    C4.5: each side at least a tenth of the average class weight, but within [m, 25] (Quinlan 1996, Release 8).
    """
    cdef Bounds b
    cdef double least = p.min_weight_leaf
    cdef double total = <double> weight * p.unit
    cdef double side
    b.n_min = p.min_samples_leaf
    b.n_max = n - p.min_samples_leaf
    if p.release8:
        side = 0.1 * total / p.n_classes
        if side <= p.min_branch_weight:
            side = p.min_branch_weight
        elif side > 25.0:
            side = 25.0
        if side < p.min_branch_weight:
            side = p.min_branch_weight
        if side > least:
            least = side
    if least > 0:
        b.w_min = <int64_t> ceil(least / p.unit * (1 - 1e-12))
        b.w_max = <int64_t> floor((total - least) / p.unit * (1 + 1e-12))
    else:
        b.w_min = 0
        b.w_max = weight
    return b


cdef inline double exact_of(const Problem* p, const Block* block, int32_t f, uint32_t code, uint32_t row) noexcept nogil:
    if p.counted[f]:
        return p.exact[f][code]
    return p.exact[f][row if block.origin == NULL else block.origin[row]]


cdef Cut sweep_list(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* lost, bint lost_left,
    const entry_t* entries, int64_t n, int32_t f, double at_least, int64_t* tries, int64_t node_weight,
) noexcept nogil:
    """Best threshold along a sorted list; `total` is what the candidates divide, `lost` (counted in it) joins the left side
    if `lost_left`, else it is on the right or not part of `total` at all.

    `tries` counts the admissible candidates.
    """
    cdef Cut cut = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight)
    cdef int64_t first = lost.n                 # list position of the first known value
    cdef int64_t before = lost.n if lost_left else 0      # samples already on the left
    cdef int64_t low, high, i, j, m, stop, k
    cdef int64_t wl, l, sl, sr, tl, tr, step, mean
    cdef int64_t c
    cdef uint32_t row, code, following
    cdef double n_all = <double> total.weight
    cdef double stat_all, scale, gain, n_left, base, largest, difference
    cdef double limit
    cdef double slack = 0
    cdef float base_single = 0
    cdef float single
    cdef int64_t begin
    cdef const int64_t* weight = block.weight
    cdef const uint16_t* label = block.label
    cdef int64_t* left = s.left
    cdef int64_t* right = s.right
    cdef double* a = s.a
    cdef double* b = s.b
    cdef double* gains = s.gains
    cdef int32_t* positions = s.positions
    cdef const int64_t* ysum = block.ysum
    cdef const int64_t* tab = p.xlogx
    cdef bint two = p.sweep == LINEAR and p.n_classes > 0
    tries[0] = 0
    if weight == NULL:
        limits.n_min = max(limits.n_min, limits.w_min)
        limits.n_max = min(limits.n_max, limits.w_max)
    # position i puts the values up to entries[i] on the left: i + 1 - first + before samples
    low = max(limits.n_min + first - before - 1, first)
    high = min(limits.n_max + first - before - 1, n - 2)
    if low > high:
        return cut
    wl = lost.weight if lost_left else 0
    l = 0
    sl = 0
    sr = 0
    tl = 0
    tr = 0
    mean = 0
    stat_all = 0
    scale = 0
    base = 0
    if p.sweep == LINEAR:
        if two:
            stat_all = <double> total.counts[1]
            scale = 2.0 / n_all * p.unit
            if lost_left:
                l = lost.counts[1]
        else:
            if weight == NULL:
                # centred on the node, so that the products below stay small and exact to the last bits
                mean = total.sum // total.n
            stat_all = <double> (total.sum - mean * total.n)
            scale = p.y_unit * p.y_unit / n_all / p.unit
            if lost_left:
                l = lost.sum - mean * lost.n
    else:
        for k in range(p.n_classes):
            left[k] = lost.counts[k] if lost_left else 0
            right[k] = total.counts[k] - left[k]
            if p.sweep == SQUARES:
                sl += left[k] * left[k]
                sr += right[k] * right[k]
                base += <double> total.counts[k] * <double> total.counts[k]
            elif p.sweep == TABLE:
                tl += tab[left[k]]
                tr += tab[right[k]]
        if p.sweep == SQUARES:
            base /= n_all
    if p.release8:
        slack = single_slack(p, total)
        base_single = threshold_base(p, total)
    i = first
    while i <= high:
        begin = i
        if p.release8:
            memcpy(s.mark, left, p.n_classes * sizeof(int64_t))
        stop = min(i + CHUNK, high + 1)
        if i < low:
            stop = min(low, stop)
        m = 0
        if p.sweep == LINEAR:
            if weight == NULL:
                if two:
                    for j in range(i, stop):
                        l += label[row_of(entries[j])]
                        positions[m] = <int32_t> j
                        a[m] = <double> l
                        m += code_of(entries[j]) != code_of(entries[j + 1])
                else:
                    for j in range(i, stop):
                        l += ysum[row_of(entries[j])] - mean
                        positions[m] = <int32_t> j
                        a[m] = <double> l
                        m += code_of(entries[j]) != code_of(entries[j + 1])
            else:
                for j in range(i, stop):
                    row = row_of(entries[j])
                    wl += weight[row]
                    l += weight[row] * label[row] if two else ysum[row]
                    positions[m] = <int32_t> j
                    a[m] = <double> l
                    b[m] = <double> wl
                    m += (code_of(entries[j]) != code_of(entries[j + 1])) & (wl >= limits.w_min) & (wl <= limits.w_max)
        elif p.sweep == SQUARES:
            for j in range(i, stop):
                k = label[row_of(entries[j])]
                c = left[k]
                sl += 2 * c + 1
                left[k] = c + 1
                c = right[k]
                sr -= 2 * c - 1
                right[k] = c - 1
                positions[m] = <int32_t> j
                a[m] = <double> sl
                b[m] = <double> sr
                m += code_of(entries[j]) != code_of(entries[j + 1])
        elif p.sweep == TABLE:
            for j in range(i, stop):
                k = label[row_of(entries[j])]
                c = left[k]
                tl += tab[c + 1] - tab[c]
                left[k] = c + 1
                c = right[k]
                tr += tab[c - 1] - tab[c]
                right[k] = c - 1
                if code_of(entries[j]) != code_of(entries[j + 1]):
                    step = j + 1 - first + before
                    positions[m] = <int32_t> j
                    a[m] = <double> (tl + tr - tab[step] - tab[total.n - step])
                    m += 1
        else:
            for j in range(i, stop):
                row = row_of(entries[j])
                step = 1 if weight == NULL else weight[row]
                wl += step
                left[label[row]] += step
                right[label[row]] -= step
                if code_of(entries[j]) != code_of(entries[j + 1]) and (
                    weight == NULL or (wl >= limits.w_min and wl <= limits.w_max)
                ):
                    positions[m] = <int32_t> j
                    a[m] = risk_of(p, left) + risk_of(p, right)
                    m += 1
        if i < low:
            i = stop
            continue
        i = stop
        if m == 0:
            continue
        if p.exact != NULL and p.exact[f] != NULL:
            k = 0
            for j in range(m):
                row = row_of(entries[positions[j]])
                code = code_of(entries[positions[j]])
                following = row_of(entries[positions[j] + 1])
                difference = exact_of(p, block, f, code_of(entries[positions[j] + 1]), following)
                if exact_of(p, block, f, code, row) < difference - RELEASE8_GAP:
                    positions[k] = positions[j]
                    a[k] = a[j]
                    b[k] = b[j]
                    k += 1
            m = k
        tries[0] += m
        largest = -INFINITY
        if p.sweep == LINEAR:
            largest = fasttree_linear_gains(
                a, NULL if weight == NULL else b, positions, gains, m, <double> (1 - first + before), n_all, stat_all, scale,
            )
        elif p.sweep == SQUARES:
            for j in range(m):
                n_left = <double> (positions[j] + 1 - first + before)
                gain = a[j] / n_left + b[j] / (n_all - n_left) - base
                gains[j] = gain
                largest = gain if gain > largest else largest
        elif p.sweep == TABLE:
            for j in range(m):
                gain = total.risk + a[j] * p.xlogx_unit
                gains[j] = gain
                largest = gain if gain > largest else largest
        else:
            for j in range(m):
                gain = total.risk - a[j]
                gains[j] = gain
                largest = gain if gain > largest else largest
        if p.release8:
            if largest >= cut.gain - slack:
                cut.gain = max(cut.gain, largest)
                for j in range(m):
                    if gains[j] < cut.gain - slack:
                        continue
                    while begin <= positions[j]:
                        row = row_of(entries[begin])
                        s.mark[label[row]] += 1 if weight == NULL else weight[row]
                        begin += 1
                    single = threshold_gain(p, total, base_single, s.mark, node_weight)
                    if single > cut.single_gain:
                        cut.single_gain = single
                        cut.first_gain = gains[j]
                        cut.at = positions[j]
        elif largest > cut.gain or at_least > -INFINITY:
            limit = at_least
            if at_least == -INFINITY:
                limit = tie_limit(largest, total.risk)
                if cut.first_gain >= limit:
                    cut.gain = largest
                    continue
                cut.ambiguous = cut.gain >= limit
                cut.gain = largest
            for j in range(m):
                if gains[j] >= limit:
                    cut.first_gain = gains[j]
                    cut.at = positions[j]
                    if at_least > -INFINITY:
                        cut.gain = gains[j]
                        cut.form = THRESHOLD_CUT
                        return cut
                    break
    if cut.at >= 0:
        cut.form = THRESHOLD_CUT
    return cut


cdef double group_gain(const Problem* p, const Totals* total, int64_t w_left, int64_t s_left,
                       const int64_t* left, int64_t* right) noexcept nogil:
    """Gain of dividing `total` into `left` (class weights, or weight and sum) and the rest."""
    cdef int32_t k
    cdef int64_t mean = 0
    cdef double n_all = <double> total.weight
    if w_left <= 0 or w_left >= total.weight:
        return 0
    if p.sweep == LINEAR:
        if p.n_classes:
            return linear_gain(n_all, <double> total.counts[1], <double> w_left, <double> left[1], 2.0 / n_all * p.unit)
        if not p.weighted:
            mean = total.sum // total.weight
        return linear_gain(n_all, <double> (total.sum - mean * total.weight), <double> w_left,
                           <double> (s_left - mean * w_left), p.y_unit * p.y_unit / n_all / p.unit)
    for k in range(p.n_classes):
        right[k] = total.counts[k] - left[k]
    return total.risk - risk_of(p, left) - risk_of(p, right)


cdef inline void add_group(const Problem* p, const Scratch* s, int64_t g, int64_t sign,
                           int64_t* n_left, int64_t* w_left, int64_t* s_left) noexcept nogil:
    cdef int32_t k
    n_left[0] += sign * s.group_n[g]
    w_left[0] += sign * s.group_w[g]
    if p.n_classes:
        for k in range(p.n_classes):
            s.left[k] += sign * s.group_stat[g * p.width + k]
    else:
        s_left[0] += sign * s.group_stat[g]


cdef inline void start_left(const Problem* p, const Scratch* s, const Totals* lost, bint lost_left,
                            int64_t* n_left, int64_t* w_left, int64_t* s_left) noexcept nogil:
    n_left[0] = lost.n if lost_left else 0
    w_left[0] = lost.weight if lost_left else 0
    s_left[0] = lost.sum if lost_left else 0
    if p.n_classes:
        if lost_left:
            memcpy(s.left, lost.counts, p.n_classes * sizeof(int64_t))
        else:
            memset(s.left, 0, p.n_classes * sizeof(int64_t))


cdef inline bint within(const Bounds* limits, int64_t n_left, int64_t w_left) noexcept nogil:
    return limits.n_min <= n_left <= limits.n_max and limits.w_min <= w_left <= limits.w_max


cdef Cut sweep_groups(
    const Problem* p, const Block* block, Scratch* s, const Totals* total, const Totals* lost, bint lost_left,
    int64_t q, int32_t f, double at_least, int64_t* tries, int64_t node_weight,
) noexcept nogil:
    """Best threshold between ascending groups: `sweep_list` for a feature that is counted by code."""
    cdef Cut cut = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight)
    cdef int64_t g, n_left, w_left, s_left
    cdef double gain
    cdef float base_single = threshold_base(p, total) if p.release8 else 0
    cdef float single
    tries[0] = 0
    start_left(p, s, lost, lost_left, &n_left, &w_left, &s_left)
    for g in range(q - 1):
        add_group(p, s, g, 1, &n_left, &w_left, &s_left)
        if not within(&limits, n_left, w_left):
            continue
        if p.exact != NULL and p.exact[f] != NULL:
            if not p.exact[f][s.group_code[g]] < p.exact[f][s.group_code[g + 1]] - RELEASE8_GAP:
                continue
        tries[0] += 1
        if p.release8:
            single = threshold_gain(p, total, base_single, s.left, node_weight)
            if single > cut.single_gain:
                cut.single_gain = single
                cut.first_gain = group_gain(p, total, w_left, s_left, s.left, s.right)
                cut.gain = cut.first_gain
                cut.at = s.group_code[g]
            continue
        gain = group_gain(p, total, w_left, s_left, s.left, s.right)
        if offer(&cut, gain, s.group_code[g], total.risk, at_least):
            break
    if cut.at >= 0:
        cut.form = THRESHOLD_CUT
    return cut


cdef struct Ranked:
    double key
    int64_t group


cdef int compare_ranked(const void* a, const void* b) noexcept nogil:
    cdef const Ranked* x = <const Ranked*> a
    cdef const Ranked* y = <const Ranked*> b
    if x.key != y.key:
        return -1 if x.key < y.key else 1
    return -1 if x.group < y.group else 1


cdef void principal_scores(const Problem* p, Scratch* s, int64_t q) noexcept nogil:
    """group_key = p_i . v, v the first principal component of the class shares (Coppersmith, Hong, Hosking 1999).

    S = sum_i n_i (p_i - p)(p_i - p)^T; its leading eigenvector by repeated squaring of S, sign: largest |component| positive.
    """
    cdef int32_t k_n = p.n_classes
    cdef double* cov = s.pca
    cdef double* squared = s.pca + k_n * k_n
    cdef double* mean = s.pca + 2 * k_n * k_n
    cdef double* share = mean + k_n
    cdef double total = 0
    cdef double w, x, scale
    cdef int64_t g
    cdef int32_t i, j, k, best, step
    memset(cov, 0, k_n * k_n * sizeof(double))
    for k in range(k_n):
        mean[k] = 0
    for g in range(q):
        total += <double> s.group_w[g]
        for k in range(k_n):
            mean[k] += <double> s.group_stat[g * k_n + k]
    for k in range(k_n):
        mean[k] /= total
    for g in range(q):
        w = <double> s.group_w[g]
        for k in range(k_n):
            share[k] = <double> s.group_stat[g * k_n + k] / w - mean[k]
        for i in range(k_n):
            for j in range(k_n):
                cov[i * k_n + j] += w / total * share[i] * share[j]
    # squared 40 times, S^(2^40) decides any gap between eigenvalues that a double can hold
    for step in range(40 if k_n <= 64 else 12):
        scale = 0
        for i in range(k_n * k_n):
            scale = max(scale, fabs(cov[i]))
        if scale == 0:
            break
        for i in range(k_n * k_n):
            cov[i] /= scale
        for i in range(k_n):
            for j in range(k_n):
                x = 0
                for k in range(k_n):
                    x += cov[i * k_n + k] * cov[k * k_n + j]
                squared[i * k_n + j] = x
        memcpy(cov, squared, k_n * k_n * sizeof(double))
    best = 0
    for i in range(k_n):        # S^N is close to v v^T: its column of largest diagonal entry is v, scaled
        if cov[i * k_n + i] > cov[best * k_n + best]:
            best = i
    for k in range(k_n):
        mean[k] = cov[k * k_n + best]
    for g in range(q):
        w = <double> s.group_w[g]
        x = 0
        for k in range(k_n):
            x += mean[k] * (<double> s.group_stat[g * k_n + k] / w)
        s.group_key[g] = x


cdef void order_groups(const Problem* p, Scratch* s, int64_t q, int32_t order) noexcept nogil:
    """group_rank[0..q) = the groups in the order that `order` names: 0.. = share of that class, -1 = mean, -2 = principal."""
    cdef Ranked* ranked = <Ranked*> s.group_rank
    cdef int64_t g
    if order == -2:
        principal_scores(p, s, q)
    else:
        for g in range(q):
            s.group_key[g] = <double> s.group_stat[g * p.width + max(order, 0)] / <double> s.group_w[g]
    for g in range(q):
        ranked[g].key = s.group_key[g]
        ranked[g].group = g
    qsort(ranked, q, sizeof(Ranked), compare_ranked)


cdef inline bint earlier_set(const uint8_t* a, const uint8_t* b, int64_t q) noexcept nogil:
    """Is the ascending list of groups on side 0 in `a` lexicographically before that in `b`?"""
    cdef int64_t g
    cdef int64_t first = -1
    for g in range(q):
        if a[g] != b[g]:
            first = g
            break
    if first < 0:
        return False
    # the list that goes on without this group is first only if it ends here
    for g in range(first + 1, q):
        if a[first] == 0 and b[g] == 0:
            return True
        if b[first] == 0 and a[g] == 0:
            return False
    return a[first] != 0


cdef inline void canonical_side(uint8_t* side, int64_t q) noexcept nogil:
    """Side 0 is the one that contains the lowest code."""
    cdef int64_t g
    if side[0] == 0:
        return
    for g in range(q):
        side[g] = 1 - side[g]


cdef void cut_side(const Problem* p, Scratch* s, int64_t q, const Cut* cut, uint8_t* side) noexcept nogil:
    """Write the side of every group under a GROUP_CUT: `at` ranks of an order, one group, or a mask."""
    cdef Ranked* ranked = <Ranked*> s.group_rank
    cdef int64_t g
    if cut.order == -3:
        for g in range(q):
            side[g] = 0 if (cut.mask >> g) & 1 else 1
    elif cut.order == -4:
        for g in range(q):
            side[g] = 0 if g == cut.at else 1
    else:
        for g in range(q):
            side[ranked[g].group] = 0 if g <= cut.at else 1
    canonical_side(side, q)


cdef inline void offer_set(const Problem* p, Scratch* s, int64_t q, const Cut* candidate, Cut* best, double limit) noexcept nogil:
    """Second pass of a subset search: among candidates that reach `limit` the lexicographically first set wins."""
    if candidate.gain < limit:
        return
    cut_side(p, s, q, candidate, s.group_side)
    if best.form == NO_CUT or earlier_set(s.group_side, s.best_side, q):
        best[0] = candidate[0]
        best.form = GROUP_CUT
        memcpy(s.best_side, s.group_side, q * sizeof(uint8_t))


cdef Cut best_groups(
    const Problem* p, Scratch* s, const Totals* total, const Totals* lost, int64_t q, int32_t f, double at_least,
) noexcept nogil:
    """Best division of the categories into two groups.

    Two classes or regression: one of the q - 1 cuts of the order by class share or mean (Breiman et al. 1984, theorem 4.5).
    More classes: every partition up to ten categories, the principal and the class orders above.
    """
    cdef Cut cut = no_cut(f)
    cdef Cut candidate = no_cut(f)
    cdef Bounds limits = bounds_of(p, total.n, total.weight)
    cdef Ranked* ranked = <Ranked*> s.group_rank
    cdef int32_t n_orders, o
    cdef int64_t g, n_left, w_left, s_left
    cdef int32_t sides = 2 if lost.n > 0 and p.missing == DIRECTION else 1
    cdef int32_t lost_left, turn
    cdef uint64_t code, gray, previous, changed
    cdef bint exhaustive = p.n_classes > 2 and q <= EXHAUSTIVE
    cdef bint single = p.nominal == ONE_VS_REST
    cdef double largest = -INFINITY
    cdef double limit = at_least
    if q < 2:
        return cut
    candidate.form = GROUP_CUT
    n_orders = 1 if exhaustive or single or p.n_classes <= 2 else p.n_classes + 1
    for turn in range(2):                 # first the largest gain, then the first set that reaches it
        if turn == 0 and at_least > -INFINITY:
            continue
        if turn == 1:
            if at_least == -INFINITY:
                limit = tie_limit(largest, total.risk)
            if largest == -INFINITY and at_least == -INFINITY:
                return cut
        for o in range(n_orders):
            if single:
                candidate.order = -4
            elif exhaustive:
                candidate.order = -3
            elif p.n_classes == 2:
                candidate.order = 1
            elif p.n_classes == 0:
                candidate.order = -1
            else:
                candidate.order = o if o < p.n_classes else -2
            if candidate.order > -3:
                order_groups(p, s, q, candidate.order)
            for lost_left in range(sides):
                # the missing values join the first-ranked side here; canonical_side may exchange the two
                start_left(p, s, lost, lost_left, &n_left, &w_left, &s_left)
                if exhaustive and not single:
                    add_group(p, s, 0, 1, &n_left, &w_left, &s_left)
                    previous = 0
                    code = 0
                    while True:
                        gray = code ^ (code >> 1)
                        changed = gray ^ previous
                        if changed:
                            g = 0
                            while not (changed >> g) & 1:
                                g += 1
                            add_group(p, s, g + 1, 1 if (gray >> g) & 1 else -1, &n_left, &w_left, &s_left)
                        previous = gray
                        if gray != (<uint64_t> 1 << (q - 1)) - 1 and within(&limits, n_left, w_left):
                            candidate.gain = group_gain(p, total, w_left, s_left, s.left, s.right)
                            candidate.mask = (gray << 1) | 1
                            candidate.missing = 1 - lost_left
                            if turn == 0:
                                largest = max(largest, candidate.gain)
                            else:
                                offer_set(p, s, q, &candidate, &cut, limit)
                        code += 1
                        if code >> (q - 1):
                            break
                    continue
                for g in range(q if single else q - 1):
                    if single:
                        start_left(p, s, lost, lost_left, &n_left, &w_left, &s_left)
                    add_group(p, s, g if single else ranked[g].group, 1, &n_left, &w_left, &s_left)
                    if not within(&limits, n_left, w_left):
                        continue
                    candidate.gain = group_gain(p, total, w_left, s_left, s.left, s.right)
                    candidate.at = g
                    if turn == 0:
                        largest = max(largest, candidate.gain)
                        continue
                    candidate.missing = 1 - lost_left
                    if candidate.gain >= limit:
                        cut_side(p, s, q, &candidate, s.group_side)
                        # the side that the missing values joined may have become branch 1
                        if s.group_side[g if single else ranked[g].group] == 1:
                            candidate.missing = lost_left
                        if cut.form == NO_CUT or earlier_set(s.group_side, s.best_side, q) or (
                            candidate.missing > cut.missing and not earlier_set(s.best_side, s.group_side, q)
                        ):
                            cut = candidate
                            memcpy(s.best_side, s.group_side, q * sizeof(uint8_t))
    if cut.form != NO_CUT:
        cut.first_gain = cut.gain
        if at_least == -INFINITY:
            cut.gain = largest
        if lost.n == 0:
            cut.missing = -1
    return cut


cdef Cut branch_per_group(
    const Problem* p, Scratch* s, const Totals* total, int64_t q, int32_t f,
) noexcept nogil:
    """The split with a branch per category; `total` holds the samples whose value is known."""
    cdef Cut cut = no_cut(f)
    cdef int64_t g
    cdef int64_t reasonable = 0
    cdef int64_t least = 0
    cdef double remaining = 0
    cdef double w
    if q < 2 or total.weight <= 0:
        return cut
    least = <int64_t> ceil(p.min_weight_leaf / p.unit * (1 - 1e-12))
    for g in range(q):
        if s.group_n[g] < p.min_samples_leaf or s.group_w[g] < least:
            return cut
        w = <double> s.group_w[g] * p.unit
        if w >= p.min_branch_weight * (1 - 1e-12):
            reasonable += 1
        if p.n_classes:
            remaining += risk_of(p, &s.group_stat[g * p.width])
        else:
            # sum of squares around the means = -sum(s^2 / w), up to what the node's own term cancels
            remaining -= (<double> s.group_stat[g] * p.y_unit) * (<double> s.group_stat[g] * p.y_unit) / w
    if p.release8 and reasonable < 2:
        return cut
    if p.n_classes == 0:
        w = <double> total.weight * p.unit
        remaining += (<double> total.sum * p.y_unit) * (<double> total.sum * p.y_unit) / w
        cut.gain = -remaining
    else:
        cut.gain = total.risk - remaining
    cut.first_gain = cut.gain
    cut.form = BRANCH_CUT
    cut.at = q
    return cut


cdef void lost_of_list(
    const Problem* p, const Block* block, const entry_t* entries, int64_t n, Totals* lost,
) noexcept nogil:
    """Totals of the missing values, which lead the list."""
    cdef int64_t i = 0
    cdef int64_t w
    cdef uint32_t row
    lost.n = 0
    lost.weight = 0
    lost.sum = 0
    if code_of(entries[0]) != 0:
        return
    if p.n_classes:
        memset(lost.counts, 0, p.n_classes * sizeof(int64_t))
    while i < n and code_of(entries[i]) == 0:
        row = row_of(entries[i])
        w = 1 if block.weight == NULL else block.weight[row]
        lost.weight += w
        if p.n_classes:
            lost.counts[block.label[row]] += w
        else:
            lost.sum += block.ysum[row]
        i += 1
    lost.n = i


cdef void known_totals(const Problem* p, const Totals* node, const Totals* lost, Totals* known) noexcept nogil:
    """known = node - lost, with its own risk.  known.counts must not alias the others."""
    cdef int32_t k
    known.n = node.n - lost.n
    known.weight = node.weight - lost.weight
    known.sum = node.sum - lost.sum
    known.risk = node.risk
    if lost.n == 0:
        if p.n_classes:
            memcpy(known.counts, node.counts, p.n_classes * sizeof(int64_t))
        return
    if p.n_classes:
        for k in range(p.n_classes):
            known.counts[k] = node.counts[k] - lost.counts[k]
        known.risk = risk_of(p, known.counts)


cdef Cut scan_feature(
    const Problem* p, const Block* block, Scratch* s, const Totals* node, const Active* active, const char* base,
    const uint32_t* rows, entry_t typed, double at_least, bint* constant,
) noexcept nogil:
    """Best cut of one feature in one node.  `constant`: no cut of it can exist below this node either.

    `typed` only names the width of the list entries.  With `at_least` the search returns the first candidate, in tie order,
    whose gain reaches it.
    """
    cdef int32_t f = active.feature
    cdef int64_t n = node.n
    cdef int64_t q = 0
    cdef int64_t tries, tries_left, i
    cdef Totals lost
    cdef Totals known
    cdef const Totals* total = node
    cdef Cut cut, other
    cdef int32_t form = ORDERED
    cdef const entry_t* entries = NULL
    cdef float cases
    lost.counts = s.lost
    lost.sum = 0
    known.counts = s.totals
    if p.kind[f] == NOMINAL:
        form = p.nominal
    elif p.kind[f] == ORDINAL:
        form = p.ordinal
    cut = no_cut(f)
    if active.listed:
        entries = <const entry_t*> (base + active.at)
        if code_of(entries[0]) == code_of(entries[n - 1]):
            constant[0] = True
            return cut
        if form == ORDERED:
            lost_of_list(p, block, entries, n, &lost)
        else:
            q = groups_from_list(p, block, entries, n, s, &lost)
    else:
        count_codes(p, block, block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, n, s)
        q = groups_from_counts(p, p.n_codes[f], s, &lost)
        if q == 0 or (q == 1 and lost.n == 0):
            constant[0] = True
            return cut
    if p.missing == FRACTIONAL and (lost.n > 0 or p.release8):
        known_totals(p, node, &lost, &known)
        total = &known
        if known.weight <= 0:
            return cut
        if p.release8 and form == ORDERED and <double> known.weight * p.unit < 2 * p.min_branch_weight * (1 - 1e-12):
            return cut
    if form == DECLARED or form == PRESENT:
        cut = branch_per_group(p, s, total, q, f)
    elif form == SUBSET or form == ONE_VS_REST:
        cut = best_groups(p, s, total, &lost, q, f, at_least)
    elif p.missing == DIRECTION and lost.n > 0:
        if active.listed:
            cut = sweep_list(p, block, s, node, &lost, False, entries, n, f, at_least, &tries, node.weight)
            other = sweep_list(p, block, s, node, &lost, True, entries, n, f, at_least, &tries_left, node.weight)
        else:
            cut = sweep_groups(p, block, s, node, &lost, False, q, f, at_least, &tries, node.weight)
            other = sweep_groups(p, block, s, node, &lost, True, q, f, at_least, &tries_left, node.weight)
        cut.missing = 1
        other.missing = 0
        merge_directions(&cut, &other, node.risk)
    elif active.listed:
        cut = sweep_list(p, block, s, total, &lost, False, entries, n, f, at_least, &tries, node.weight)
    else:
        cut = sweep_groups(p, block, s, total, &lost, False, q, f, at_least, &tries, node.weight)
    if p.missing == DIRECTION and lost.n > 0 and cut_known_allowed(p, node, &lost):
        other = no_cut(f)
        other.form = KNOWN_CUT
        other.missing = 1
        start_left(p, s, &lost, True, &i, &tries, &tries_left)
        other.gain = group_gain(p, node, lost.weight, lost.sum, s.left, s.right)
        other.first_gain = other.gain
        if at_least > -INFINITY:
            if cut.form == NO_CUT and other.gain >= at_least:
                cut = other
        elif other.gain > cut.gain:
            if cut.form == NO_CUT or cut.first_gain < tie_limit(other.gain, node.risk):
                cut = other
            else:
                cut.gain = other.gain
    if p.ratio and not p.release8 and cut.form != NO_CUT:
        cut.first_gain = max(cut.first_gain, 0.0)
        cut.split_info = split_information(p, block, s, active, entries, q, &cut, &lost, total)
    if p.release8 and cut.form != NO_CUT:
        if cut.form == BRANCH_CUT:
            cut.single_gain = single_branches(p, s, q, total, node.weight, &cut.single_info)
        else:
            # the penalty of choosing among `tries` thresholds (Quinlan 1996)
            cases = <float> (<double> node.weight * p.unit)
            cut.single_gain = cut.single_gain - <float> (log2(<double> tries) / cases)
            cut.first_gain -= log2(<double> tries)
            if cut.single_gain <= 0:
                return no_cut(f)
            cut.single_info = threshold_information(p, block, s, active, entries, q, &cut, &lost, total) / cases
    return cut


cdef inline bint cut_known_allowed(const Problem* p, const Totals* node, const Totals* lost) noexcept nogil:
    cdef Bounds limits = bounds_of(p, node.n, node.weight)
    return lost.n < node.n and within(&limits, node.n - lost.n, node.weight - lost.weight)


cdef inline void merge_directions(Cut* right, const Cut* left, double risk) noexcept nogil:
    """The better of `missing right` and `missing left`: the lowest threshold inside the tie tolerance, right on a tie."""
    cdef double gain = max(right.gain, left.gain)
    cdef double limit = tie_limit(gain, risk)
    cdef bint ambiguous = (right.ambiguous and right.gain >= limit) or (left.ambiguous and left.gain >= limit)
    cdef bint right_fits = right.form != NO_CUT and right.first_gain >= limit
    cdef bint left_fits = left.form != NO_CUT and left.first_gain >= limit
    if left_fits and (not right_fits or left.at < right.at):
        right[0] = left[0]
    elif not right_fits and left.gain > right.gain:
        right[0] = left[0]
    right.gain = gain
    right.ambiguous = ambiguous


cdef int64_t weight_below(
    const Block* block, const Scratch* s, const Active* active, const entry_t* entries, int64_t q, const Cut* cut,
    const Totals* lost,
) noexcept nogil:
    """Weight of the known samples on the left of a threshold."""
    cdef int64_t below = 0
    cdef int64_t i
    if active.listed:
        if block.weight == NULL:
            return cut.at + 1 - lost.n
        for i in range(lost.n, cut.at + 1):
            below += block.weight[row_of(entries[i])]
    else:
        for i in range(q):
            if s.group_code[i] <= cut.at:
                below += s.group_w[i]
    return below


cdef float threshold_information(
    const Problem* p, const Block* block, const Scratch* s, const Active* active, const entry_t* entries, int64_t q,
    const Cut* cut, const Totals* lost, const Totals* known,
) noexcept nogil:
    """I(missing, left, right) of a chosen threshold as Release 8 rounds it, bits x cases."""
    cdef int64_t parts[3]
    parts[0] = lost.weight
    parts[1] = weight_below(block, s, active, entries, q, cut, lost)
    parts[2] = known.weight - parts[1]
    return single_information(parts, NULL, 3, p.unit)


cdef double split_information(
    const Problem* p, const Block* block, const Scratch* s, const Active* active, const entry_t* entries, int64_t q,
    const Cut* cut, const Totals* lost, const Totals* known,
) noexcept nogil:
    """Bits x weight of the branches of a cut; the missing values count as one more branch (Quinlan 1993, section 3.1)."""
    cdef int64_t below
    cdef int64_t i
    cdef int64_t apart = lost.weight if p.missing == FRACTIONAL else 0
    cdef double parts = xlogx(<double> apart * p.unit)
    if cut.form == BRANCH_CUT:
        for i in range(q):
            parts += xlogx(<double> s.group_w[i] * p.unit)
    else:
        below = weight_below(block, s, active, entries, q, cut, lost)
        parts += xlogx(<double> below * p.unit) + xlogx(<double> (known.weight - below) * p.unit)
    return xlogx(<double> (known.weight + apart) * p.unit) - parts


# ---------------------------------------------------------------------------------------------------------------------
# Choose: splits of different features compete
# ---------------------------------------------------------------------------------------------------------------------

cdef int32_t choose_gain(const Problem* p, Cut* cuts, int32_t n_cuts, double risk, double* limit) noexcept nogil:
    """Index of the winning cut, -1 if none: the lowest feature whose gain lies inside the tie tolerance of the largest."""
    cdef double largest = -INFINITY
    cdef int32_t i
    for i in range(n_cuts):
        if cuts[i].form != NO_CUT and cuts[i].gain > largest:
            largest = cuts[i].gain
    limit[0] = -INFINITY
    if largest == -INFINITY:
        return -1
    limit[0] = tie_limit(largest, risk)
    for i in range(n_cuts):
        if cuts[i].form != NO_CUT and cuts[i].gain >= limit[0]:
            return i
    return -1


cdef int32_t choose_ratio(const Problem* p, const Cut* cuts, int32_t n_cuts, double risk) noexcept nogil:
    """Index of the cut of largest gain ratio among those whose gain is not below the average (Quinlan 1986); -1 if none."""
    cdef double average = 0
    cdef double largest = -INFINITY
    cdef double limit
    cdef int32_t i
    if n_cuts == 0:
        return -1
    for i in range(n_cuts):
        average += cuts[i].first_gain
    average = average / n_cuts
    average = average - (RELATIVE_TIE * fabs(average) + RISK_TIE * risk)
    for i in range(n_cuts):
        if cuts[i].first_gain >= average and cuts[i].first_gain / cuts[i].split_info > largest:
            largest = cuts[i].first_gain / cuts[i].split_info
    limit = tie_limit(largest, risk)
    for i in range(n_cuts):
        if cuts[i].first_gain >= average and cuts[i].first_gain / cuts[i].split_info >= limit:
            return i
    return -1


cdef int32_t choose_release8(const Problem* p, Cut* cuts, int32_t n_cuts) noexcept nogil:
    """Index of the cut of largest worth; -1 if none.  The first of equal worths wins.

    Gain ratio among gains of at least average (Quinlan 1993, section 2.2), with Release 8's tolerance; features with very many
    values stay out of the average.  Or the gain alone.
    """
    cdef float total = 0
    cdef float average = 1e6
    cdef float worth
    cdef float largest = -RELEASE8_TOLERANCE
    cdef int64_t used = 0
    cdef int32_t i, f
    cdef int32_t best = -1
    cdef bint every = True
    for f in range(p.n_features):
        if p.kind[f] == CONTINUOUS or p.n_codes[f] - 1 < 0.3 * p.n_total:
            every = False
            break
    for i in range(n_cuts):
        f = cuts[i].feature
        if cuts[i].form == NO_CUT or not cuts[i].single_gain > -RELEASE8_TOLERANCE:
            continue
        if every or p.kind[f] == CONTINUOUS or p.n_codes[f] - 1 < 0.3 * p.n_total:
            total = total + cuts[i].single_gain
            used += 1
    if used:
        average = total / <float> used
    for i in range(n_cuts):
        if cuts[i].form == NO_CUT:
            continue
        worth = -RELEASE8_TOLERANCE
        if p.ratio:
            if cuts[i].single_gain >= average - RELEASE8_TOLERANCE and cuts[i].single_info > RELEASE8_TOLERANCE:
                worth = cuts[i].single_gain / cuts[i].single_info
        elif cuts[i].single_info > 0 and cuts[i].single_gain > -RELEASE8_TOLERANCE:
            worth = cuts[i].single_gain
        if worth > largest:
            largest = worth
            best = i
    return best


# ---------------------------------------------------------------------------------------------------------------------
# Partition: stable, so rows stay ascending and lists stay sorted
# ---------------------------------------------------------------------------------------------------------------------

cdef inline int64_t partition_two(
    const entry_t* entries, int64_t n, const uint8_t* side, entry_t* left, entry_t* right,
) noexcept nogil:
    """Both children at once, without a jump.  Writes one entry past the end of each side; returns the left count."""
    cdef int64_t i
    cdef int64_t n_left = 0
    cdef int64_t n_right = 0
    cdef int64_t b
    cdef entry_t entry
    for i in range(n):
        entry = entries[i]
        b = side[row_of(entry)]
        left[n_left] = entry
        right[n_right] = entry
        n_left += b ^ 1
        n_right += b
    return n_left


cdef inline int64_t partition_one(
    const entry_t* entries, int64_t n, const uint8_t* side, uint8_t wanted, entry_t* out,
) noexcept nogil:
    """The entries of one side only; writes one entry past their end."""
    cdef int64_t i
    cdef int64_t kept = 0
    cdef entry_t entry
    for i in range(n):
        entry = entries[i]
        out[kept] = entry
        kept += side[row_of(entry)] == wanted
    return kept


cdef inline void list_from_codes(
    const uint8_t* codes, uint32_t n_codes, const uint32_t* rows, int64_t n, entry_t* out, entry_t typed,
) noexcept nogil:
    """A sorted list for a counted feature: counting sort, or insertion where the node is small."""
    cdef uint32_t starts[256]
    cdef int64_t i, j
    cdef uint32_t code, total, following
    cdef entry_t entry
    if n <= 24:
        for i in range(n):
            entry = codes[rows[i]]
            if entry_t is uint32_t:
                entry = entry << 16 | rows[i]
            else:
                entry = entry << 32 | rows[i]
            j = i
            while j > 0 and out[j - 1] > entry:
                out[j] = out[j - 1]
                j -= 1
            out[j] = entry
        return
    memset(starts, 0, n_codes * sizeof(uint32_t))
    for i in range(n):
        starts[codes[rows[i]]] += 1
    total = 0
    for code in range(n_codes):
        following = total + starts[code]
        starts[code] = total
        total = following
    for i in range(n):
        code = codes[rows[i]]
        entry = code
        if entry_t is uint32_t:
            entry = entry << 16 | rows[i]
        else:
            entry = entry << 32 | rows[i]
        out[starts[code]] = entry
        starts[code] += 1


# ---------------------------------------------------------------------------------------------------------------------
# Grow: the nodes, and the loop that makes them
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Nodes:                 # the tree under construction, in order of creation
    int64_t n
    int64_t capacity
    int32_t width
    int32_t* parent
    int32_t* first_child
    int32_t* n_branches
    int32_t* feature
    uint8_t* kind
    uint32_t* row_low              # samples whose values stand on both sides of a threshold
    uint32_t* row_high
    int32_t* missing
    int64_t* n_samples
    double* weight
    double* impurity
    double* gain
    double* value                  # n x width
    int64_t table_n
    int64_t table_capacity
    int64_t* table_node
    uint32_t* table_code
    int32_t* table_branch


cdef struct Arena:
    char* data
    size_t size


cdef struct Child:
    Totals totals
    uint64_t key
    int64_t id
    int64_t filled                 # entries written so far: rows, then those of one list
    size_t region
    size_t cursor                  # where its next list goes
    size_t rows_at
    size_t actives_at
    int32_t n_active
    int32_t n_cuts
    bint open                      # may still be split: its lists are made and scanned
    bint scans                     # scanned here; a child that a narrow block will take is not
    bint done                      # a perfect split is found
    double share                   # of the samples that go to every child


cdef struct Work:                  # what one run of the node loop owns, besides the scratch and the nodes that runs share
    Scratch* scratch
    Nodes* nodes
    Arena arenas[2]
    Pending* stack
    int64_t stack_n
    int64_t stack_capacity
    Child* children
    int64_t* child_counts
    Exact* sums                    # per child: weight x target, then its squared deviations
    int64_t children_capacity
    int64_t* root_counts
    uint64_t* draw_keys
    uint8_t* drawn


cdef inline size_t pad(size_t size) noexcept nogil:
    return (size + 15) & ~(<size_t> 15)


cdef int reserve(Arena* arena, size_t size) noexcept nogil:
    cdef size_t capacity = arena.size
    cdef char* data
    if size <= arena.size:
        return 0
    capacity = max(size, capacity + capacity // 2)
    data = <char*> realloc(arena.data, capacity)
    if data == NULL:
        return -1
    arena.data = data
    arena.size = capacity
    return 0


cdef int resize(void** data, size_t size) noexcept nogil:
    cdef void* larger = realloc(data[0], size)
    if larger == NULL:
        return -1
    data[0] = larger
    return 0


cdef int reserve_nodes(Nodes* t, int64_t extra) noexcept nogil:
    cdef int64_t c = t.capacity
    if t.n + extra <= c:
        return 0
    if t.n + extra > 2147483646:
        return -1
    c = max(t.n + extra, c + c // 2 + 16)
    if (resize(<void**> &t.parent, c * 4) or resize(<void**> &t.first_child, c * 4) or resize(<void**> &t.n_branches, c * 4)
            or resize(<void**> &t.feature, c * 4) or resize(<void**> &t.kind, c) or resize(<void**> &t.row_low, c * 4)
            or resize(<void**> &t.row_high, c * 4) or resize(<void**> &t.missing, c * 4)
            or resize(<void**> &t.n_samples, c * 8) or resize(<void**> &t.weight, c * 8)
            or resize(<void**> &t.impurity, c * 8) or resize(<void**> &t.gain, c * 8)
            or resize(<void**> &t.value, c * 8 * t.width)):
        return -1
    t.capacity = c
    return 0


cdef int add_to_table(Nodes* t, int64_t node, uint32_t code, int32_t branch) noexcept nogil:
    cdef int64_t c = t.table_capacity
    if t.table_n == c:
        c = 2 * c + 64
        if (resize(<void**> &t.table_node, c * 8) or resize(<void**> &t.table_code, c * 4)
                or resize(<void**> &t.table_branch, c * 4)):
            return -1
        t.table_capacity = c
    t.table_node[t.table_n] = node
    t.table_code[t.table_n] = code
    t.table_branch[t.table_n] = branch
    t.table_n += 1
    return 0


cdef void blank_node(Nodes* t, int64_t i, int64_t parent) noexcept nogil:
    t.parent[i] = <int32_t> parent
    t.first_child[i] = -1
    t.n_branches[i] = 0
    t.feature[i] = -1
    t.kind[i] = NODE_LEAF
    t.row_low[i] = 0
    t.row_high[i] = 0
    t.missing[i] = TO_STOP
    t.gain[i] = 0


cdef void write_class_node(const Problem* p, Nodes* t, int64_t i, Totals* totals) noexcept nogil:
    """Store a node's class weights and impurity, and complete its totals with the risk."""
    cdef int32_t k
    cdef double weight = <double> totals.weight * p.unit
    totals.risk = risk_of(p, totals.counts)
    t.n_samples[i] = totals.n
    t.weight[i] = weight
    t.impurity[i] = class_risk(p.impurity, totals.counts, p.n_classes, p.unit) / weight if weight > 0 else 0
    for k in range(p.n_classes):
        t.value[i * t.width + k] = <double> totals.counts[k] * p.unit


cdef bint is_leaf(const Problem* p, const Totals* totals, double impurity, int64_t depth) noexcept nogil:
    """Is the node too deep, too small or too pure to be split?"""
    cdef int32_t k
    if p.max_depth >= 0 and depth >= p.max_depth:
        return True
    if totals.n < p.min_samples_split or totals.n < 2 * p.min_samples_leaf:
        return True
    if impurity <= p.min_impurity:
        return True
    if <double> totals.weight * p.unit < 2 * p.min_weight_leaf:
        return True
    if p.release8 and <double> totals.weight * p.unit < 2 * p.min_branch_weight * (1 - 1e-12):
        return True
    for k in range(p.n_classes):
        if totals.counts[k] == totals.weight:
            return True
    return False


cdef inline uint32_t category_of(const Problem* p, const Block* block, int32_t f, uint32_t code, uint32_t row) noexcept nogil:
    """Category code of a nominal entry: a counted feature's own code, else the column's."""
    if p.counted[f]:
        return code
    return p.category[f][row if block.origin == NULL else block.origin[row]]


cdef void mark_drawn(const Problem* p, Work* w, uint64_t key) noexcept nogil:
    """drawn[f] = 1 for the max_features features of smallest hash; draw_keys holds the hashes."""
    cdef int32_t f, i
    cdef uint64_t largest
    cdef int32_t worst
    for f in range(p.n_features):
        w.draw_keys[f] = mix(key ^ mix(<uint64_t> f + 1))
        w.drawn[f] = 1
    for i in range(p.n_features - p.max_features):
        worst = -1
        largest = 0
        for f in range(p.n_features):
            if w.drawn[f] and (worst < 0 or w.draw_keys[f] >= largest):
                worst = f
                largest = w.draw_keys[f]
        w.drawn[worst] = 0


cdef bint accepted(const Problem* p, const Cut* cut, double weight) noexcept nogil:
    return (
        cut.first_gain / weight > p.min_gain
        and max(cut.first_gain, 0.0) / p.total_weight + 2.220446049250313e-16 >= p.min_impurity_decrease
    )


cdef Cut settle(
    const Problem* p, const Block* block, Work* w, const Totals* totals, Cut* cuts, int32_t n_cuts,
    const Active* actives, int32_t n_active, const char* base, const uint32_t* rows, entry_t typed,
) noexcept nogil:
    """The node's cut, out of the best cuts of its features."""
    cdef double limit
    cdef int32_t winner, i
    cdef double weight = <double> totals.weight * p.unit
    cdef bint constant = False
    cdef Cut cut
    if p.release8:
        winner = choose_release8(p, cuts, n_cuts)
    elif p.ratio:
        # the tolerance is meant per unit weight, as the ratio is
        winner = choose_ratio(p, cuts, n_cuts, totals.risk / weight)
    else:
        winner = choose_gain(p, cuts, n_cuts, totals.risk, &limit)
    if winner < 0:
        return no_cut(-1)
    cut = cuts[winner]
    if not p.release8 and not p.ratio and (cut.ambiguous or cut.first_gain < limit):
        for i in range(n_active):
            if actives[i].feature == cut.feature:
                cut = scan_feature(p, block, w.scratch, totals, &actives[i], base, rows, typed, limit, &constant)
                break
        if cut.form == NO_CUT:
            cut = cuts[winner]
    if not accepted(p, &cut, weight):
        return no_cut(-1)
    return cut


cdef Cut search(
    const Problem* p, const Block* block, Work* w, const Totals* totals, uint64_t key,
    Active* actives, int32_t* n_active, const char* base, const uint32_t* rows, entry_t typed,
) noexcept nogil:
    """Scan every feature of a node (or those drawn) and settle on a cut; drops constant features from `actives`."""
    cdef Cut* cuts = w.scratch.cuts
    cdef int32_t n_cuts = 0
    cdef int32_t i, kept, best
    cdef bint constant
    cdef Cut cut
    cdef uint64_t least
    kept = 0
    if p.draws:
        mark_drawn(p, w, key)
    for i in range(n_active[0]):
        constant = False
        if not p.draws or w.drawn[actives[i].feature]:
            cut = scan_feature(p, block, w.scratch, totals, &actives[i], base, rows, typed, -INFINITY, &constant)
            if cut.form != NO_CUT:
                cuts[n_cuts] = cut
                n_cuts += 1
        if not constant:
            actives[kept] = actives[i]
            kept += 1
    n_active[0] = kept
    if p.draws and n_cuts == 0:
        # as in scikit-learn, the search goes on until one feature offers a cut; in the order of the draw
        while n_cuts == 0:
            best = -1
            least = 0
            for i in range(n_active[0]):
                if not w.drawn[actives[i].feature] and (best < 0 or w.draw_keys[actives[i].feature] < least):
                    best = i
                    least = w.draw_keys[actives[i].feature]
            if best < 0:
                break
            w.drawn[actives[best].feature] = 1
            constant = False
            cut = scan_feature(p, block, w.scratch, totals, &actives[best], base, rows, typed, -INFINITY, &constant)
            if cut.form != NO_CUT:
                cuts[n_cuts] = cut
                n_cuts += 1
    return settle(p, block, w, totals, cuts, n_cuts, actives, n_active[0], base, rows, typed)


cdef int64_t assign_branches(
    const Problem* p, const Block* block, Scratch* s, const Cut* cut, const Active* active,
    const char* base, const uint32_t* rows, int64_t n, uint32_t lost_branch, bint two, entry_t typed,
    uint32_t* low, uint32_t* high,
) noexcept nogil:
    """Write the branch of every row, to s.side if `two`, else to s.branch; a missing value gets `lost_branch`.

    A threshold: `low` and `high` become samples on its two sides.  Categories: s.group_code holds those of the node, whose
    number is returned, and s.best_side the side of each if there are two.
    """
    cdef int32_t f = cut.feature
    cdef const entry_t* entries = <const entry_t*> (base + active.at)
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[f] * block.n
    cdef int64_t i, g, q
    cdef uint32_t row, code, b
    cdef int64_t low_code = -1
    cdef int64_t high_code = 256
    cdef bint groups = cut.form == GROUP_CUT
    cdef Totals lost
    if cut.form == THRESHOLD_CUT or cut.form == KNOWN_CUT:
        if active.listed and cut.form == THRESHOLD_CUT:
            low[0] = row_of(entries[cut.at])
            high[0] = row_of(entries[cut.at + 1])
        for i in range(n):
            if active.listed:
                row = row_of(entries[i])
                code = code_of(entries[i])
                b = i > cut.at
            else:
                row = rows[i]
                code = codes[row]
                b = code > cut.at
                if b == 0 and <int64_t> code > low_code and code:
                    low_code = code
                    low[0] = row
                if b == 1 and <int64_t> code < high_code:
                    high_code = code
                    high[0] = row
            if cut.form == KNOWN_CUT:
                b = 0
            if code == 0:
                b = lost_branch
            if two:
                s.side[row] = <uint8_t> b
            else:
                s.branch[row] = b
        return 0
    lost.counts = s.lost
    if active.listed:
        q = groups_from_list(p, block, entries, n, s, &lost)
    else:
        count_codes(p, block, codes, p.n_codes[f], rows, n, s)
        q = groups_from_counts(p, p.n_codes[f], s, &lost)
    if groups:
        if cut.order > -3:
            order_groups(p, s, q, cut.order)
        cut_side(p, s, q, cut, s.best_side)
    if active.listed:
        g = -1
        for i in range(n):
            row = row_of(entries[i])
            code = code_of(entries[i])
            b = lost_branch
            if code:
                if g < 0 or code != s.group_code[g]:
                    g += 1
                b = s.best_side[g] if groups else <uint32_t> g
            if two:
                s.side[row] = <uint8_t> b
            else:
                s.branch[row] = b
        for g in range(q):
            s.group_code[g] = category_of(p, block, f, s.group_code[g], s.group_row[g])
    else:
        s.branch_of_code[0] = lost_branch
        for g in range(q):
            s.branch_of_code[s.group_code[g]] = s.best_side[g] if groups else <uint32_t> g
        for i in range(n):
            b = s.branch_of_code[codes[rows[i]]]
            if two:
                s.side[rows[i]] = <uint8_t> b
            else:
                s.branch[rows[i]] = b
    return q


cdef int reserve_children(const Problem* p, Work* w, int64_t n) noexcept nogil:
    if n <= w.children_capacity:
        return 0
    n = max(n, 2 * w.children_capacity)
    if (resize(<void**> &w.children, n * sizeof(Child)) or resize(<void**> &w.child_counts, n * p.width * sizeof(int64_t))
            or resize(<void**> &w.sums, n * sizeof(Exact))):
        return -1
    w.children_capacity = n
    return 0


cdef inline int64_t spread_weight(int64_t weight, double share) noexcept nogil:
    """A child's part of a sample that goes to every child; never nothing, so that no sample is lost."""
    return max(llrint(<double> weight * share), 1)


cdef void count_children(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Totals of every child; samples whose branch is SPREAD count in each, with a share of their weight."""
    cdef Scratch* s = w.scratch
    cdef Nodes* t = w.nodes
    cdef Child* child
    cdef int64_t i, b, weight
    cdef int64_t n_spread = 0
    cdef int64_t known = 0
    cdef uint32_t row
    cdef double mean
    memset(w.child_counts, 0, n_children * p.width * sizeof(int64_t))
    for b in range(n_children):
        child = &w.children[b]
        child.totals.n = 0
        child.totals.weight = 0
        child.totals.sum = 0
        child.totals.counts = w.child_counts + b * p.width
        w.sums[b] = p.zero
    for i in range(n):
        row = rows[i]
        b = s.side[row] if two else s.branch[row]
        if b == SPREAD:
            n_spread += 1
            continue
        child = &w.children[b]
        weight = 1 if block.weight == NULL else block.weight[row]
        child.totals.n += 1
        child.totals.weight += weight
        if p.n_classes:
            child.totals.counts[block.label[row]] += weight
        else:
            child.totals.sum += block.ysum[row]
            exact_add(&w.sums[b], <double> weight * p.unit * block.y[row])
    for b in range(n_children):
        known += w.children[b].totals.weight
    for b in range(n_children):
        w.children[b].share = <double> w.children[b].totals.weight / <double> known
    if n_spread:
        for i in range(n):
            row = rows[i]
            if s.branch[row] == SPREAD:
                for b in range(n_children):
                    child = &w.children[b]
                    weight = spread_weight(block.weight[row], child.share)
                    child.totals.n += 1
                    child.totals.weight += weight
                    child.totals.counts[block.label[row]] += weight
    if p.n_classes:
        for b in range(n_children):
            write_class_node(p, t, w.children[b].id, &w.children[b].totals)
        return
    for b in range(n_children):
        mean = exact_value(&w.sums[b]) / (<double> w.children[b].totals.weight * p.unit)
        t.value[w.children[b].id] = mean
        w.sums[b] = p.zero_square
    for i in range(n):
        row = rows[i]
        b = s.side[row] if two else s.branch[row]
        weight = 1 if block.weight == NULL else block.weight[row]
        mean = block.y[row] - t.value[w.children[b].id]
        exact_add(&w.sums[b], <double> weight * p.unit * mean * mean)
    for b in range(n_children):
        child = &w.children[b]
        child.totals.risk = max(exact_value(&w.sums[b]), 0.0)
        t.n_samples[child.id] = child.totals.n
        t.weight[child.id] = <double> child.totals.weight * p.unit
        t.impurity[child.id] = child.totals.risk / t.weight[child.id]


cdef void partition_rows(Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two, char* data) noexcept nogil:
    cdef Scratch* s = w.scratch
    cdef Child* child
    cdef int64_t i, b, c
    for b in range(n_children):
        w.children[b].filled = 0
    for i in range(n):
        b = s.side[rows[i]] if two else s.branch[rows[i]]
        for c in range(0 if b == SPREAD else b, n_children if b == SPREAD else b + 1):
            child = &w.children[c]
            if child.open:
                (<uint32_t*> (data + child.rows_at))[child.filled] = rows[i]
                child.filled += 1


cdef void partition_many(
    Work* w, const entry_t* entries, int64_t n, int64_t n_children, char* base,
) noexcept nogil:
    """Any number of children; a SPREAD sample stands in each.  Every open child's list starts at its cursor."""
    cdef Scratch* s = w.scratch
    cdef Child* child
    cdef int64_t i, b, c
    for b in range(n_children):
        w.children[b].filled = 0
    for i in range(n):
        b = s.branch[row_of(entries[i])]
        for c in range(0 if b == SPREAD else b, n_children if b == SPREAD else b + 1):
            child = &w.children[c]
            if child.open:
                (<entry_t*> (base + child.cursor))[child.filled] = entries[i]
                child.filled += 1


cdef int resize_stack(Work* w, int64_t extra) noexcept nogil:
    cdef int64_t n = w.stack_n + extra
    if n <= w.stack_capacity:
        return 0
    n = max(n, 2 * w.stack_capacity)
    if resize(<void**> &w.stack, n * sizeof(Pending)):
        return -1
    w.stack_capacity = n
    return 0


cdef void free_lists(const Active* actives, int32_t n_active) noexcept nogil:
    cdef int32_t i
    for i in range(n_active):
        if actives[i].listed:
            free(<void*> actives[i].at)


cdef int expand(
    const Problem* p, Block* block, Work* w, const Pending* node, uint32_t narrow, bint loose, entry_t typed,
) noexcept nogil:
    """Split one node: write its children, give those that may grow on their rows and lists, find their cuts, push them.

    The lists of a narrow block lie in two arenas that alternate with depth, each used as a stack.  Those of a wide (`loose`)
    block are allocated one by one and freed once they are partitioned, so that it holds each list once.  Returns -1 if memory
    runs out.
    """
    cdef Scratch* s = w.scratch
    cdef Nodes* t = w.nodes
    cdef int32_t parity = node.depth % 2
    cdef Arena* arena = &w.arenas[1 - parity]
    cdef const char* own = w.arenas[parity].data
    cdef const char* own_lists = NULL if loose else own
    cdef char* lists
    cdef const uint32_t* rows = <const uint32_t*> (own + node.rows_at)
    cdef const Active* actives = <const Active*> (own + node.actives_at)
    cdef const Active* active = NULL
    cdef Cut cut = node.cut
    cdef int32_t f = cut.feature
    cdef int64_t n = node.n
    cdef int64_t parent = node.id
    cdef int64_t depth = node.depth + 1
    cdef bint spreads = p.missing == FRACTIONAL
    cdef bint two = cut.form != BRANCH_CUT and not spreads
    cdef bint declared = cut.form == BRANCH_CUT and (p.ordinal if p.kind[f] == ORDINAL else p.nominal) == DECLARED
    cdef uint32_t lost_branch = SPREAD if spreads else (cut.missing if cut.missing >= 0 else 1)
    cdef int64_t n_groups, n_branches, n_children, i, b, first, n_spread, below
    cdef uint32_t low = 0
    cdef uint32_t high = 0
    cdef Child* child
    cdef Pending* pushed
    cdef size_t top, size
    cdef bint constant
    cdef Active made
    cdef const entry_t* entries
    cdef entry_t* outs[2]
    cdef Cut found = no_cut(-1)
    cdef Cut* cuts
    cdef uint32_t* spread_rows = NULL
    cdef int64_t* spread_weights = NULL
    cdef size_t spread_at = 0
    for i in range(node.n_active):
        if actives[i].feature == f:
            active = &actives[i]
    n_groups = assign_branches(p, block, s, &cut, active, own_lists, rows, n, lost_branch, two, typed, &low, &high)
    n_children = n_groups if cut.form == BRANCH_CUT else 2
    n_branches = p.n_codes[f] - 1 if declared else n_children
    if reserve_nodes(t, n_branches) or reserve_children(p, w, n_children):
        return -1

    # the node, and its children as leaves
    first = t.n
    t.n += n_branches
    t.first_child[parent] = <int32_t> first
    t.n_branches[parent] = <int32_t> n_branches
    t.feature[parent] = f
    t.gain[parent] = max(cut.first_gain, 0.0) / t.weight[parent]
    for i in range(first, first + n_branches):
        blank_node(t, i, parent)
        if n_branches > n_children:
            t.n_samples[i] = 0
            t.weight[i] = 0
            t.impurity[i] = t.impurity[parent]
            memcpy(&t.value[i * t.width], &t.value[parent * t.width], t.width * sizeof(double))
    if cut.form == THRESHOLD_CUT:
        t.kind[parent] = NODE_THRESHOLD
        t.row_low[parent] = low if block.origin == NULL else block.origin[low]
        t.row_high[parent] = high if block.origin == NULL else block.origin[high]
    elif cut.form == KNOWN_CUT:
        t.kind[parent] = NODE_KNOWN
    elif declared:
        t.kind[parent] = NODE_CATEGORY
    else:
        t.kind[parent] = NODE_NOMINAL
        for i in range(n_groups):
            if add_to_table(t, parent, s.group_code[i], <int32_t> i if cut.form == BRANCH_CUT else s.best_side[i]):
                return -1
    for b in range(n_children):
        w.children[b].id = first + (s.group_code[b] - 1 if declared else b)
    count_children(p, block, w, rows, n, n_children, two)
    if p.missing == FRACTIONAL:
        t.missing[parent] = TO_SHARES
    elif p.missing == DIRECTION:
        t.missing[parent] = cut.missing
        if cut.missing < 0:
            b = n_children - 1
            for i in range(n_children - 1):
                if w.children[i].totals.n > w.children[b].totals.n:
                    b = i
            t.missing[parent] = <int32_t> b
    n_spread = 0
    if spreads:
        for i in range(n):
            n_spread += s.branch[rows[i]] == SPREAD

    # room for the children that may be split again
    top = node.below
    if n_spread:
        spread_at = top
        top += pad(n_spread * 4) + pad(n_spread * 8)
    for b in range(n_children):
        child = &w.children[b]
        child.open = not is_leaf(p, &child.totals, t.impurity[child.id], depth)
        child.scans = not loose or child.totals.n > narrow
        child.done = False
        child.n_cuts = 0
        child.n_active = 0
        child.key = mix(node.key ^ mix(child.id - first + 1))
        if not child.open:
            continue
        child.region = top
        child.actives_at = top
        child.rows_at = top + pad(node.n_active * sizeof(Active))
        child.cursor = child.rows_at + pad(child.totals.n * 4)
        top = child.cursor
        if not loose:
            top += pad((child.totals.n * node.n_active + 1) * sizeof(entry_t))
    if reserve(arena, top):
        return -1
    lists = NULL if loose else arena.data
    partition_rows(w, rows, n, n_children, two, arena.data)
    if n_spread:
        spread_rows = <uint32_t*> (arena.data + spread_at)
        spread_weights = <int64_t*> (arena.data + spread_at + pad(n_spread * 4))
        below = 0
        for i in range(n):
            if s.branch[rows[i]] == SPREAD:
                spread_rows[below] = rows[i]
                spread_weights[below] = block.weight[rows[i]]
                below += 1

    # lists, feature by feature; a lazy search scans a child's list while it is warm and stops at a perfect split
    for i in range(node.n_active):
        made = actives[i]
        if cut.form == BRANCH_CUT and made.feature == f:
            if loose and made.listed:
                free(<void*> made.at)
            continue
        if made.listed:
            entries = <const entry_t*> (own_lists + made.at)
            for b in range(n_children):
                child = &w.children[b]
                if loose and child.open and not child.done:
                    child.cursor = <size_t> malloc((child.totals.n + 1) * sizeof(entry_t))
                    if child.cursor == 0:
                        return -1
            if two:
                outs[0] = <entry_t*> (lists + w.children[0].cursor)
                outs[1] = <entry_t*> (lists + w.children[1].cursor)
                if w.children[0].open and w.children[1].open and not w.children[0].done and not w.children[1].done:
                    partition_two(entries, n, s.side, outs[0], outs[1])
                elif w.children[0].open and not w.children[0].done:
                    partition_one(entries, n, s.side, 0, outs[0])
                elif w.children[1].open and not w.children[1].done:
                    partition_one(entries, n, s.side, 1, outs[1])
            else:
                partition_many(w, entries, n, n_children, lists)
            if loose:
                free(<void*> made.at)
        for b in range(n_children):
            child = &w.children[b]
            if not child.open or child.done:
                continue
            made.listed = actives[i].listed
            made.at = child.cursor
            if not made.listed and not loose and <int64_t> child.totals.n < p.list_below[made.feature]:
                made.listed = True
                list_from_codes(
                    block.codes + <size_t> p.slot[made.feature] * block.n, p.n_codes[made.feature],
                    <const uint32_t*> (arena.data + child.rows_at), child.totals.n, <entry_t*> (lists + child.cursor), typed,
                )
            constant = False
            if made.listed:
                entries = <const entry_t*> (lists + child.cursor)
                constant = code_of(entries[0]) == code_of(entries[child.totals.n - 1])
            if p.lazy and child.scans and not constant:
                cuts = s.cuts if b == 0 else s.cuts_two
                found = scan_feature(
                    p, block, s, &child.totals, &made, lists, <const uint32_t*> (arena.data + child.rows_at), typed,
                    -INFINITY, &constant,
                )
                if found.form != NO_CUT:
                    cuts[child.n_cuts] = found
                    child.n_cuts += 1
                    child.done = child.totals.n == 2 or (
                        p.n_classes and not p.weighted and found.first_gain >= tie_limit(child.totals.risk, child.totals.risk)
                    )
            if constant:
                if loose and made.listed:
                    free(<void*> made.at)
                continue
            (<Active*> (arena.data + child.actives_at))[child.n_active] = made
            child.n_active += 1
            if made.listed and not loose:
                child.cursor += child.totals.n * sizeof(entry_t)

    # the children's cuts
    if resize_stack(w, n_children):
        return -1
    for b in range(n_children):
        child = &w.children[b]
        if not child.open:
            continue
        if child.scans:
            if p.lazy:
                found = settle(
                    p, block, w, &child.totals, s.cuts if b == 0 else s.cuts_two, child.n_cuts,
                    <const Active*> (arena.data + child.actives_at), child.n_active, lists,
                    <const uint32_t*> (arena.data + child.rows_at), typed,
                )
            else:
                for i in range(n_spread):
                    block.weight[spread_rows[i]] = spread_weight(spread_weights[i], child.share)
                found = search(
                    p, block, w, &child.totals, child.key, <Active*> (arena.data + child.actives_at), &child.n_active, lists,
                    <const uint32_t*> (arena.data + child.rows_at), typed,
                )
            if found.form == NO_CUT:
                if loose:
                    free_lists(<const Active*> (arena.data + child.actives_at), child.n_active)
                continue
        pushed = &w.stack[w.stack_n]
        w.stack_n += 1
        pushed.cut = found
        pushed.key = child.key
        pushed.id = child.id
        pushed.depth = depth
        pushed.n = <uint32_t> child.totals.n
        pushed.rows_at = child.rows_at
        pushed.region = child.region
        pushed.below = node.region
        pushed.actives_at = child.actives_at
        pushed.n_active = child.n_active
        pushed.spread_at = spread_at
        pushed.n_spread = n_spread
        pushed.share = child.share
        pushed.searched = child.scans
    return 0


cdef int start(
    const Problem* p, const Block* block, Work* w, Pending* root, void** lists, bint loose, entry_t typed,
) noexcept nogil:
    """Lay out the first node of a run in arena 0: its features, its rows and (narrow) its lists, which are freed."""
    cdef size_t rows_at = pad(p.n_features * sizeof(Active))
    cdef size_t cursor = rows_at + pad(<size_t> root.n * 4)
    cdef size_t size = cursor
    cdef Active* active
    cdef uint32_t* rows
    cdef const entry_t* entries
    cdef int32_t f
    cdef uint32_t i
    root.region = 0
    root.below = 0
    root.actives_at = 0
    root.rows_at = rows_at
    root.n_active = 0
    if not loose:
        size += pad((<size_t> root.n * p.n_features + 1) * sizeof(entry_t))
    # depth alternates the arenas, so a run that starts at an odd depth starts in arena 1
    if reserve(&w.arenas[root.depth % 2], size):
        return -1
    cdef char* data = w.arenas[root.depth % 2].data
    rows = <uint32_t*> (data + rows_at)
    for i in range(root.n):
        rows[i] = i
    for f in range(p.n_features):
        active = <Active*> data + root.n_active
        active.feature = f
        if p.counted[f]:
            active.listed = not loose and <int64_t> root.n < p.list_below[f]
            active.at = cursor
            if active.listed:
                list_from_codes(block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, root.n,
                                <entry_t*> (data + cursor), typed)
                cursor += root.n * sizeof(entry_t)
            root.n_active += 1
            continue
        if lists[f] == NULL:                    # constant above: nothing to split
            continue
        entries = <const entry_t*> lists[f]
        if code_of(entries[0]) == code_of(entries[root.n - 1]):
            free(lists[f])
        else:
            active.listed = True
            root.n_active += 1
            if loose:
                active.at = <size_t> lists[f]
            else:
                active.at = cursor
                memcpy(data + cursor, lists[f], root.n * sizeof(entry_t))
                cursor += root.n * sizeof(entry_t)
                free(lists[f])
        lists[f] = NULL
    return 0


cdef void totals_of(const Problem* p, const Block* block, Totals* totals) noexcept nogil:
    """Totals of all rows of a block, but for the risk."""
    cdef uint32_t i
    cdef int64_t weight
    totals.n = block.n
    totals.weight = 0
    totals.sum = 0
    memset(totals.counts, 0, p.width * sizeof(int64_t))
    for i in range(block.n):
        weight = 1 if block.weight == NULL else block.weight[i]
        totals.weight += weight
        if p.n_classes:
            totals.counts[block.label[i]] += weight
        else:
            totals.sum += block.ysum[i]


cdef int run(
    const Problem* p, Block* block, Work* w, Pending* root, void** lists, uint32_t narrow, bint loose, entry_t typed,
    Work* inner, Block* small, uint32_t* place, void** small_lists, uint32_t small_typed,
) noexcept nogil:
    """Grow everything below `root`, a written node whose rows are the whole block.

    A wide run hands each node of at most `narrow` rows to a run over a private block; `inner`, `small`, `place` and
    `small_lists` are that run's space.
    """
    cdef Pending node
    cdef Totals totals
    cdef const Active* actives
    cdef const uint32_t* rows
    cdef const uint32_t* spread_rows
    cdef const int64_t* spread_weights
    cdef char* data
    cdef int64_t i
    totals.counts = w.root_counts
    if resize_stack(w, 1) or start(p, block, w, root, lists, loose, typed):
        return -1
    w.stack[0] = root[0]
    w.stack_n = 1
    while w.stack_n:
        w.stack_n -= 1
        node = w.stack[w.stack_n]
        data = w.arenas[node.depth % 2].data
        if node.n_spread:
            spread_rows = <const uint32_t*> (data + node.spread_at)
            spread_weights = <const int64_t*> (data + node.spread_at + pad(node.n_spread * 4))
            for i in range(node.n_spread):
                block.weight[spread_rows[i]] = spread_weight(spread_weights[i], node.share)
        if loose and node.n <= narrow:
            if shrink(p, block, &node, <const Active*> (data + node.actives_at), <const uint32_t*> (data + node.rows_at),
                      small, place, small_lists, typed):
                return -1
            node.n_spread = 0
            node.searched = False
            if run[uint32_t](p, small, inner, &node, small_lists, narrow, False, small_typed, NULL, NULL, NULL, NULL, 0):
                return -1
            continue
        if not node.searched:
            totals_of(p, block, &totals)
            totals.risk = w.nodes.impurity[node.id] * w.nodes.weight[node.id]
            if p.n_classes:
                totals.risk = risk_of(p, totals.counts)
            node.cut = search(
                p, block, w, &totals, node.key, <Active*> (data + node.actives_at), &node.n_active,
                NULL if loose else data, <const uint32_t*> (data + node.rows_at), typed,
            )
            if node.cut.form == NO_CUT:
                if loose:
                    free_lists(<const Active*> (data + node.actives_at), node.n_active)
                continue
        if expand(p, block, w, &node, narrow, loose, typed):
            return -1
    return 0


cdef int shrink(
    const Problem* p, const Block* block, const Pending* node, const Active* actives, const uint32_t* rows,
    Block* small, uint32_t* place, void** small_lists, entry_t typed,
) noexcept nogil:
    """Copy a node of a wide block into a private block with 16-bit rows and codes; frees the node's lists."""
    cdef uint32_t n = node.n
    cdef uint32_t i, row, code, dense
    cdef int32_t a, f
    cdef const entry_t* entries
    cdef uint32_t* out
    cdef uint8_t* codes
    cdef const uint8_t* wide_codes
    small.n = n
    for i in range(n):
        row = rows[i]
        place[row] = i
        (<uint32_t*> small.origin)[i] = row if block.origin == NULL else block.origin[row]
        if p.n_classes:
            (<uint16_t*> small.label)[i] = block.label[row]
        else:
            (<double*> small.y)[i] = block.y[row]
            (<int64_t*> small.ysum)[i] = block.ysum[row]
        if block.weight != NULL:
            small.weight[i] = block.weight[row]
    for f in range(p.n_features):
        small_lists[f] = NULL
        if p.counted[f]:
            codes = <uint8_t*> small.codes + <size_t> p.slot[f] * n
            memset(codes, 0, n)
    for a in range(node.n_active):
        f = actives[a].feature
        if p.counted[f]:
            codes = <uint8_t*> small.codes + <size_t> p.slot[f] * n
            wide_codes = block.codes + <size_t> p.slot[f] * block.n
            for i in range(n):
                codes[i] = wide_codes[rows[i]]
            continue
        entries = <const entry_t*> actives[a].at
        out = <uint32_t*> malloc((<size_t> n + 1) * sizeof(uint32_t))
        if out == NULL:
            return -1
        dense = 0
        for i in range(n):
            code = code_of(entries[i])
            if code and (i == 0 or code != code_of(entries[i - 1])):
                dense += 1
            out[i] = (dense if code else 0) << 16 | place[row_of(entries[i])]
        free(<void*> entries)
        small_lists[f] = out
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# Encode: a column becomes codes (few values) or a presorted list (many)
# ---------------------------------------------------------------------------------------------------------------------

cdef inline uint64_t sortable(double x) noexcept nogil:
    """Bits that compare like the number; 0 for NaN, and -0.0 as 0.0."""
    cdef uint64_t bits
    if isnan(x):
        return 0
    x += 0.0
    memcpy(&bits, &x, 8)
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef inline uint64_t sortable_float(float x) noexcept nogil:
    cdef uint32_t bits
    if isnan(x):
        return 0
    x += <float> 0.0
    memcpy(&bits, &x, 4)
    return ~bits if bits >> 31 else bits | (<uint32_t> 1 << 31)


cdef inline double value_of(uint64_t key) noexcept nogil:
    """Inverse of `sortable`."""
    cdef double x
    key = key ^ (<uint64_t> 1 << 63) if key >> 63 else ~key
    memcpy(&x, &key, 8)
    return x


cdef int compare_keys(const void* a, const void* b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t*> a)[0]
    cdef uint64_t y = (<const uint64_t*> b)[0]
    return (x > y) - (x < y)


cdef int32_t encode_few(const real_t[:] column, uint16_t* slots, uint8_t* codes, uint64_t* distinct) noexcept nogil:
    """Codes 1, 2, ... of a column with at most FEW distinct values, in ascending order; their number, or -1 if there are more."""
    cdef uint64_t keys[1024]
    cdef uint8_t code_of_slot[1024]
    cdef int32_t slot_of[256]
    cdef int64_t i
    cdef int64_t n = column.shape[0]
    cdef uint64_t key
    cdef uint32_t slot
    cdef int32_t found = 0
    cdef int32_t j, low, high
    memset(keys, 0, sizeof(keys))
    memset(code_of_slot, 0, sizeof(code_of_slot))
    for i in range(n):
        key = sortable(column[i])
        if key == 0:
            slots[i] = 1023
            continue
        slot = <uint32_t> ((key * <uint64_t> 0x9E3779B97F4A7C15) >> 54)
        if slot == 1023:                    # kept free: the slot of missing values
            slot = 0
        while keys[slot] != key:
            if keys[slot] == 0:
                if found == FEW:
                    return -1
                keys[slot] = key
                slot_of[found] = slot
                distinct[found] = key
                found += 1
                break
            slot = slot + 1 if slot < 1022 else 0
        slots[i] = slot
    qsort(distinct, found, sizeof(uint64_t), compare_keys)
    for j in range(found):
        key = keys[slot_of[j]]
        low = 0
        high = found
        while low < high:
            if distinct[(low + high) // 2] < key:
                low = (low + high) // 2 + 1
            else:
                high = (low + high) // 2
        code_of_slot[slot_of[j]] = low + 1
    for i in range(n):
        codes[i] = code_of_slot[slots[i]]
    return found


cdef uint64_t* radix_sort(uint64_t* records, uint64_t* spare, int64_t n) noexcept nogil:
    """Sort key << 32 | row records by key; stable, 3 passes of 11 bits, a pass with one bucket is skipped."""
    cdef uint32_t counts[3 * 2048]
    cdef uint64_t record
    cdef uint64_t* swap
    cdef int64_t i
    cdef int32_t turn, shift, digit
    cdef uint32_t total, following
    cdef uint32_t* count
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        record = records[i]
        counts[(record >> 32) & 2047] += 1
        counts[2048 + ((record >> 43) & 2047)] += 1
        counts[4096 + (record >> 54)] += 1
    for turn in range(3):
        shift = 32 + 11 * turn
        count = &counts[2048 * turn]
        if count[(records[0] >> shift) & 2047] == n:
            continue
        total = 0
        for digit in range(2048):
            following = total + count[digit]
            count[digit] = total
            total = following
        for i in range(n):
            record = records[i]
            digit = (record >> shift) & 2047
            spare[count[digit]] = record
            count[digit] += 1
        swap = records
        records = spare
        spare = swap
    return records


cdef void sort_small(uint64_t* records, int64_t n) noexcept nogil:
    cdef int64_t i, j
    cdef uint64_t record
    for i in range(1, n):
        record = records[i]
        j = i
        while j > 0 and records[j - 1] > record:
            records[j] = records[j - 1]
            j -= 1
        records[j] = record


cdef uint64_t* sort_records(uint64_t* records, uint64_t* spare, int64_t n) noexcept nogil:
    if n <= 48:
        sort_small(records, n)
        return records
    return radix_sort(records, spare, n)


cdef void order_ties(const real_t[:] column, uint64_t* records, uint64_t* spare, int64_t n) noexcept nogil:
    """Doubles sorted by the upper half of their bits: put runs of equal upper halves in order by the lower half."""
    cdef int64_t start = 0
    cdef int64_t stop, i
    cdef uint64_t upper
    cdef uint64_t* run
    cdef uint64_t* sorted_run
    while start < n:
        upper = records[start] >> 32
        stop = start + 1
        while stop < n and records[stop] >> 32 == upper:
            stop += 1
        if stop - start > 1 and upper:
            run = records + start
            for i in range(stop - start):
                run[i] = sortable(column[<uint32_t> run[i]]) << 32 | <uint32_t> run[i]
            sorted_run = sort_records(run, spare, stop - start)
            for i in range(stop - start):
                run[i] = upper << 32 | <uint32_t> sorted_run[i]
        start = stop


cdef bint list_column(
    const real_t[:] column, uint64_t* records, uint64_t* spare, void* out, bint wide, double gap,
) noexcept nogil:
    """Write the sorted list of a column with many values.  Returns whether two neighbouring values differ by at most `gap`."""
    cdef int64_t n = column.shape[0]
    cdef int64_t i
    cdef bint single = True
    cdef bint close = False
    cdef uint32_t dense = 0
    cdef uint32_t row
    cdef double x
    cdef double previous = NAN
    if real_t is double:
        for i in range(n):
            if not (column[i] == <double> <float> column[i] or isnan(column[i])):
                single = False
                break
    if single:
        for i in range(n):
            records[i] = sortable_float(<float> column[i]) << 32 | <uint64_t> i
    else:
        for i in range(n):
            records[i] = (sortable(column[i]) & <uint64_t> 0xFFFFFFFF00000000) | <uint64_t> i
    if sort_records(records, spare, n) == spare:
        records, spare = spare, records
    if not single:
        order_ties(column, records, spare, n)
    for i in range(n):
        row = <uint32_t> records[i]
        if records[i] >> 32:
            x = column[row]
            if not x == previous:
                dense += 1
                close = close or x - previous <= gap
                previous = x
        if wide:
            (<uint64_t*> out)[i] = (<uint64_t> dense if records[i] >> 32 else 0) << 32 | row
        else:
            (<uint32_t*> out)[i] = (dense if records[i] >> 32 else 0) << 16 | row
    return close


cdef class Encoding:
    """The features of a table as the engine wants them: a code column, or a presorted list with as many codes as values.

    Parameters
    ----------
    n_samples, n_features : int
    block_rows : int, at most 65,535
        Above this many samples the entries of a list take 8 bytes instead of 4.
    """

    cdef readonly uint32_t n_samples
    cdef readonly int32_t n_features
    cdef readonly uint32_t block_rows
    cdef bint wide
    cdef int32_t n_counted
    cdef void** lists
    cdef uint8_t* codes
    cdef uint8_t* kind
    cdef uint8_t* counted
    cdef uint32_t* n_codes
    cdef int32_t* slot
    cdef const double** exact
    cdef const uint32_t** category
    cdef uint64_t* records
    cdef uint64_t* spare
    cdef list kept

    def __cinit__(self, uint32_t n_samples, int32_t n_features, uint32_t block_rows=NARROW):
        cdef size_t d = max(n_features, 1)
        self.n_samples = n_samples
        self.n_features = n_features
        self.block_rows = block_rows
        self.wide = n_samples > block_rows
        self.kept = []
        self.lists = <void**> calloc(d, sizeof(void*))
        self.kind = <uint8_t*> calloc(d, 1)
        self.counted = <uint8_t*> calloc(d, 1)
        self.n_codes = <uint32_t*> calloc(d, sizeof(uint32_t))
        self.slot = <int32_t*> calloc(d, sizeof(int32_t))
        self.exact = <const double**> calloc(d, sizeof(void*))
        self.category = <const uint32_t**> calloc(d, sizeof(void*))
        # one row past the table: a counted feature that turns out not to be one has used its column
        self.codes = <uint8_t*> malloc(<size_t> n_samples + 1)
        self.records = <uint64_t*> malloc((<size_t> n_samples + 1) * sizeof(uint64_t))
        self.spare = <uint64_t*> malloc((<size_t> n_samples + 1) * sizeof(uint64_t))
        if not (self.lists and self.kind and self.counted and self.n_codes and self.slot and self.exact and self.category
                and self.codes and self.records and self.spare):
            raise MemoryError

    def __dealloc__(self):
        cdef int32_t f
        if self.lists:
            for f in range(self.n_features):
                free(self.lists[f])
        free(self.lists)
        free(self.kind)
        free(self.counted)
        free(self.n_codes)
        free(self.slot)
        free(self.exact)
        free(self.category)
        free(self.codes)
        free(self.records)
        free(self.spare)

    cdef void* new_list(self) except NULL:
        cdef void* entries = malloc((<size_t> self.n_samples + 1) * (8 if self.wide else 4))
        if entries == NULL:
            raise MemoryError
        return entries

    cdef uint8_t* next_column(self) except NULL:
        cdef void* larger = realloc(self.codes, (<size_t> self.n_counted + 1) * self.n_samples + 1)
        if larger == NULL:
            raise MemoryError
        self.codes = <uint8_t*> larger
        return self.codes + <size_t> self.n_counted * self.n_samples

    def add_continuous(self, int32_t feature, const real_t[:] column, double gap=-1.0):
        """Encode a continuous feature: float32 or float64 (n_samples,), NaN = missing, nothing infinite.

        `gap`: where two values are at most so far apart, the engine keeps all of them, in single precision, for C4.5's gap rule.
        """
        cdef uint64_t distinct[256]
        cdef uint8_t* codes = self.next_column()
        cdef int32_t found
        cdef int32_t i
        cdef bint close = False
        cdef const double[::1] values
        with nogil:
            found = encode_few(column, <uint16_t*> self.spare, codes, distinct)
        self.kind[feature] = CONTINUOUS
        if found >= 0:
            self.counted[feature] = True
            self.slot[feature] = self.n_counted
            self.n_counted += 1
            self.n_codes[feature] = found + 1
            for i in range(found - 1):
                close = close or value_of(distinct[i + 1]) - value_of(distinct[i]) <= gap
            if close:
                values = np.array([0.0] + [<float> value_of(distinct[i]) for i in range(found)])
        else:
            self.n_codes[feature] = 0
            self.lists[feature] = self.new_list()
            with nogil:
                close = list_column(column, self.records, self.spare, self.lists[feature], self.wide, gap)
            if close:
                values = np.asarray(column).astype(np.float32).astype(np.float64)
        if close:
            self.kept.append(values)
            self.exact[feature] = &values[0]

    def add_codes(self, int32_t feature, const code_t[:] codes, uint32_t n_categories, bint ordered):
        """Encode a nominal or (`ordered`) ordinal feature given as codes 0 (missing), 1, ..., n_categories."""
        cdef uint8_t* out
        cdef int64_t i
        cdef int64_t n = self.n_samples
        cdef uint64_t* records = self.records
        cdef uint32_t dense = 0
        cdef uint32_t code
        cdef const uint32_t[::1] by_row
        self.kind[feature] = ORDINAL if ordered else NOMINAL
        self.n_codes[feature] = n_categories + 1
        if n_categories <= FEW:
            out = self.next_column()
            self.counted[feature] = True
            self.slot[feature] = self.n_counted
            self.n_counted += 1
            for i in range(n):
                out[i] = <uint8_t> codes[i]
            return
        by_row = np.ascontiguousarray(codes, dtype=np.uint32)
        self.kept.append(by_row)
        self.category[feature] = &by_row[0]
        self.lists[feature] = self.new_list()
        for i in range(n):
            records[i] = <uint64_t> codes[i] << 32 | <uint64_t> i
        if n:
            records = sort_records(records, self.spare, n)
        for i in range(n):
            code = <uint32_t> (records[i] >> 32)
            if code and (i == 0 or code != <uint32_t> (records[i - 1] >> 32)):
                dense += 1
            if self.wide:
                (<uint64_t*> self.lists[feature])[i] = (<uint64_t> dense if code else 0) << 32 | <uint32_t> records[i]
            else:
                (<uint32_t*> self.lists[feature])[i] = (dense if code else 0) << 16 | <uint32_t> records[i]


# ---------------------------------------------------------------------------------------------------------------------
# The door to growth
# ---------------------------------------------------------------------------------------------------------------------

cdef extern from *:
    """
    /* Under AddressSanitizer a gap that must not be touched follows every part of a buffer; else nothing does. */
    #if defined(__SANITIZE_ADDRESS__)
    #include <sanitizer/asan_interface.h>
    #define FASTTREE_GAP 64
    #define fasttree_forbid(place, size) ASAN_POISON_MEMORY_REGION((place), (size))
    #define fasttree_allow(place, size) ASAN_UNPOISON_MEMORY_REGION((place), (size))
    #else
    #define FASTTREE_GAP 0
    #define fasttree_forbid(place, size) ((void) 0)
    #define fasttree_allow(place, size) ((void) 0)
    #endif
    """
    const size_t GAP "FASTTREE_GAP"
    void forbid "fasttree_forbid"(void* place, size_t size) noexcept nogil
    void allow "fasttree_allow"(void* place, size_t size) noexcept nogil


cdef inline void* carve(char** cursor, size_t size, bint measuring) noexcept nogil:
    """The next `size` bytes of a buffer, or only their measure."""
    cdef char* place = cursor[0]
    cursor[0] = place + pad(size) + GAP
    if not measuring:
        forbid(place + pad(size), GAP)
    return place


cdef void carve_scratch(
    Scratch* s, char** cursor, const Problem* p, int64_t n, int64_t n_groups, bint branches, bint principal,
    bint measuring,
) noexcept nogil:
    cdef size_t width = p.width
    cdef size_t d = max(p.n_features, 1)
    cdef size_t g = max(n_groups, 256)
    s.a = <double*> carve(cursor, CHUNK * 8, measuring)
    s.b = <double*> carve(cursor, CHUNK * 8, measuring)
    s.gains = <double*> carve(cursor, CHUNK * 8, measuring)
    s.positions = <int32_t*> carve(cursor, CHUNK * 4, measuring)
    s.left = <int64_t*> carve(cursor, width * 8, measuring)
    s.right = <int64_t*> carve(cursor, width * 8, measuring)
    s.mark = <int64_t*> carve(cursor, width * 8, measuring)
    s.totals = <int64_t*> carve(cursor, width * 8, measuring)
    s.lost = <int64_t*> carve(cursor, width * 8, measuring)
    s.hist = <int64_t*> carve(cursor, 256 * width * 8, measuring)
    s.hist_n = <int64_t*> carve(cursor, 256 * 8, measuring)
    s.hist_w = <int64_t*> carve(cursor, 256 * 8, measuring)
    s.group_code = <uint32_t*> carve(cursor, g * 4, measuring)
    s.group_row = <uint32_t*> carve(cursor, g * 4, measuring)
    s.group_n = <int64_t*> carve(cursor, g * 8, measuring)
    s.group_w = <int64_t*> carve(cursor, g * 8, measuring)
    s.group_stat = <int64_t*> carve(cursor, g * width * 8, measuring)
    s.group_key = <double*> carve(cursor, g * 8, measuring)
    s.group_rank = <int64_t*> carve(cursor, g * sizeof(Ranked), measuring)
    s.group_side = <uint8_t*> carve(cursor, g, measuring)
    s.best_side = <uint8_t*> carve(cursor, g, measuring)
    s.branch_of_code = <uint32_t*> carve(cursor, 256 * 4, measuring)
    s.cuts = <Cut*> carve(cursor, d * sizeof(Cut), measuring)
    s.cuts_two = <Cut*> carve(cursor, d * sizeof(Cut), measuring)
    s.side = <uint8_t*> carve(cursor, n, measuring)
    s.branch = <uint32_t*> carve(cursor, n * 4 if branches else 0, measuring)
    s.pca = <double*> carve(cursor, (2 * width * width + 2 * width) * 8 if principal else 0, measuring)


cdef void free_nodes(Nodes* t) noexcept nogil:
    free(t.parent)
    free(t.first_child)
    free(t.n_branches)
    free(t.feature)
    free(t.kind)
    free(t.row_low)
    free(t.row_high)
    free(t.missing)
    free(t.n_samples)
    free(t.weight)
    free(t.impurity)
    free(t.gain)
    free(t.value)
    free(t.table_node)
    free(t.table_code)
    free(t.table_branch)


cdef void free_work(Work* w) noexcept nogil:
    free(w.arenas[0].data)
    free(w.arenas[1].data)
    free(w.stack)
    free(w.children)
    free(w.child_counts)
    free(w.sums)


cdef object taken(void* data, int64_t n, str dtype):
    """A NumPy copy of n numbers."""
    out = np.empty(n, dtype=dtype)
    cdef uint8_t[::1] view
    if n:
        view = out.view(np.uint8)
        memcpy(&view[0], data, view.shape[0])
    return out


IMPURITY = {"gini": GINI, "entropy": ENTROPY, "misclassification": MISCLASSIFICATION, "squared_error": SQUARED_ERROR}
FORM = {"category": DECLARED, "present": PRESENT, "subset": SUBSET, "one_vs_rest": ONE_VS_REST, "threshold": ORDERED}
MISSING = {"error": REFUSE, "fractional": FRACTIONAL, "direction": DIRECTION}


def grow(
    Encoding encoding,
    const uint16_t[::1] label,
    const double[::1] y,
    const int64_t[::1] ysum,
    int64_t[::1] weight,
    *,
    int32_t n_classes,
    double unit,
    double y_unit,
    double y_bound,
    int32_t impurity,
    int32_t nominal,
    int32_t ordinal,
    int32_t missing,
    bint ratio,
    bint release8,
    int64_t max_depth,
    int64_t min_samples_split,
    int64_t min_samples_leaf,
    double min_weight_leaf,
    double min_impurity_decrease,
    double min_impurity,
    double min_gain,
    double min_branch_weight,
    int32_t max_features,
    uint64_t seed,
):
    """Grow a tree; uses up `encoding` and overwrites `weight`.

    Parameters
    ----------
    label : (n,) class codes, or None for regression
    y, ysum : (n,) targets, and weight x target in fixed point of quantum `y_unit`; None for classification
    weight : (n,) sample weights in fixed point of quantum `unit`, or None where each is 1
    y_bound : no |target| and no weight x |target| is larger

    Returns
    -------
    dict of arrays over nodes in order of creation (see `Nodes`).
    """
    cdef Problem p
    cdef Nodes nodes
    cdef Scratch scratch
    cdef Work work
    cdef Work inner
    cdef Block block
    cdef Block small
    cdef Pending root
    cdef Totals totals
    cdef Exact total
    cdef int64_t n = encoding.n_samples
    cdef int32_t d = encoding.n_features
    cdef int64_t i, n_groups
    cdef int32_t f
    cdef char* buffer = NULL
    cdef size_t buffer_size = 0
    cdef char* cursor
    cdef int64_t* table = NULL
    cdef int64_t* list_below
    cdef int64_t* root_counts
    cdef uint64_t* draw_keys
    cdef uint8_t* drawn
    cdef uint32_t* place
    cdef void** small_lists
    cdef int status = -1
    cdef double largest, scale, mean, deviation
    cdef bint wide = encoding.wide
    cdef bint branches, principal
    cdef size_t rows = encoding.block_rows if wide else 0
    memset(&nodes, 0, sizeof(Nodes))
    memset(&scratch, 0, sizeof(Scratch))
    memset(&work, 0, sizeof(Work))
    memset(&inner, 0, sizeof(Work))
    memset(&small, 0, sizeof(Block))
    memset(&root, 0, sizeof(Pending))
    memset(&p, 0, sizeof(Problem))
    memset(&block, 0, sizeof(Block))
    p.n_features = d
    p.n_classes = n_classes
    p.width = n_classes if n_classes else 1
    p.impurity = impurity
    p.nominal = nominal
    p.ordinal = ordinal
    p.missing = missing
    p.ratio = ratio
    p.release8 = release8
    p.weighted = weight is not None
    p.unit = unit
    p.y_unit = y_unit
    p.n_total = n
    p.max_depth = max_depth
    p.min_samples_split = min_samples_split
    p.min_samples_leaf = min_samples_leaf
    p.min_weight_leaf = min_weight_leaf
    p.min_impurity_decrease = min_impurity_decrease
    p.min_impurity = min_impurity
    p.min_gain = min_gain
    p.min_branch_weight = min_branch_weight
    p.max_features = max_features
    p.draws = max_features < d
    p.kind = encoding.kind
    p.counted = encoding.counted
    p.n_codes = encoding.n_codes
    p.slot = encoding.slot
    p.exact = encoding.exact
    p.category = encoding.category
    branches = missing == FRACTIONAL or nominal == DECLARED or nominal == PRESENT or ordinal == DECLARED or ordinal == PRESENT
    p.lazy = not branches and not p.draws and not ratio and not release8
    if n_classes == 0 or (n_classes == 2 and impurity == GINI):
        p.sweep = LINEAR
    elif weight is None and impurity == GINI:
        p.sweep = SQUARES
    elif weight is None and impurity == ENTROPY:
        p.sweep = TABLE
    else:
        p.sweep = GENERIC
    p.zero = exact_zero(y_bound, n)
    p.zero_square = exact_zero(4 * y_bound * y_bound, n)
    nodes.width = p.width

    block.n = <uint32_t> n
    if label is not None:
        block.label = &label[0]
    if y is not None:
        block.y = &y[0]
        block.ysum = &ysum[0]
    if weight is not None:
        block.weight = &weight[0]
    block.codes = encoding.codes

    n_groups = 0
    principal = False
    for f in range(d):
        if not encoding.counted[f] and encoding.kind[f] != CONTINUOUS:
            n_groups = max(n_groups, min(<int64_t> encoding.n_codes[f], n))
        principal = principal or (encoding.kind[f] == NOMINAL and nominal == SUBSET and n_classes > 2)

    try:
        # one buffer for everything whose size is known now: measured first, then carved
        for i in range(2):
            cursor = buffer
            carve_scratch(&scratch, &cursor, &p, n, n_groups, branches, principal, i == 0)
            list_below = <int64_t*> carve(&cursor, d * 8, i == 0)
            root_counts = <int64_t*> carve(&cursor, p.width * 8, i == 0)
            draw_keys = <uint64_t*> carve(&cursor, d * 8, i == 0)
            drawn = <uint8_t*> carve(&cursor, d, i == 0)
            table = <int64_t*> carve(&cursor, (n + 1) * 8 if p.sweep == TABLE else 0, i == 0)
            place = <uint32_t*> carve(&cursor, n * 4 if wide else 0, i == 0)
            small_lists = <void**> carve(&cursor, d * sizeof(void*), i == 0)
            small.origin = <uint32_t*> carve(&cursor, rows * 4, i == 0)
            small.label = <uint16_t*> carve(&cursor, rows * 2 if n_classes else 0, i == 0)
            small.y = <double*> carve(&cursor, 0 if n_classes else rows * 8, i == 0)
            small.ysum = <int64_t*> carve(&cursor, 0 if n_classes else rows * 8, i == 0)
            small.weight = <int64_t*> carve(&cursor, rows * 8 if p.weighted else 0, i == 0)
            small.codes = <uint8_t*> carve(&cursor, rows * encoding.n_counted, i == 0)
            if buffer == NULL:
                buffer_size = <size_t> cursor + 16
                buffer = <char*> malloc(buffer_size)
                if buffer == NULL:
                    raise MemoryError
        if not p.weighted:
            small.weight = NULL
        memset(small_lists, 0, d * sizeof(void*))
        p.list_below = list_below
        p.xlogx = table
        for f in range(d):
            # below this, sorting a list once is cheaper than clearing and reading a histogram at every node
            list_below[f] = <int64_t> encoding.n_codes[f] * max(4, p.width) // 2
        if p.sweep == TABLE:
            largest = max(xlogx(<double> n), 1.0)
            scale = 1.0
            while largest * scale < 5.764607523034235e17:      # 2^59: sums of several entries fit
                scale *= 2.0
            p.xlogx_unit = 1.0 / scale
            for i in range(n + 1):
                table[i] = llrint(xlogx(<double> i) * scale)
        work.scratch = &scratch
        work.nodes = &nodes
        work.root_counts = root_counts
        work.draw_keys = draw_keys
        work.drawn = drawn
        inner.scratch = &scratch
        inner.nodes = &nodes
        inner.root_counts = root_counts
        inner.draw_keys = draw_keys
        inner.drawn = drawn
        totals.counts = root_counts
        # release the columns' sorting space before the lists are copied
        free(encoding.records)
        encoding.records = NULL
        free(encoding.spare)
        encoding.spare = NULL
        with nogil:
            if reserve_nodes(&nodes, 1) == 0:
                nodes.n = 1
                blank_node(&nodes, 0, -1)
                totals_of(&p, &block, &totals)
                p.total_weight = <double> totals.weight * unit
                if n_classes:
                    write_class_node(&p, &nodes, 0, &totals)
                else:
                    total = p.zero
                    for i in range(n):
                        exact_add(&total, (unit if block.weight == NULL else block.weight[i] * unit) * block.y[i])
                    mean = exact_value(&total) / p.total_weight
                    total = p.zero_square
                    for i in range(n):
                        deviation = block.y[i] - mean
                        exact_add(&total, (unit if block.weight == NULL else block.weight[i] * unit) * deviation * deviation)
                    nodes.value[0] = mean
                    nodes.n_samples[0] = n
                    nodes.weight[0] = p.total_weight
                    nodes.impurity[0] = max(exact_value(&total), 0.0) / p.total_weight
                status = 0
                root.key = mix(seed)
                root.n = <uint32_t> n
                if not is_leaf(&p, &totals, nodes.impurity[0], 0):
                    if wide:
                        status = run[uint64_t](&p, &block, &work, &root, encoding.lists, encoding.block_rows, True, 0,
                                               &inner, &small, place, small_lists, 0)
                    else:
                        status = run[uint32_t](&p, &block, &work, &root, encoding.lists, encoding.block_rows, False, 0,
                                               NULL, NULL, NULL, NULL, 0)
        if status:
            raise MemoryError
        return {
            "parent": taken(nodes.parent, nodes.n, "int32"),
            "first_child": taken(nodes.first_child, nodes.n, "int32"),
            "n_branches": taken(nodes.n_branches, nodes.n, "int32"),
            "feature": taken(nodes.feature, nodes.n, "int32"),
            "kind": taken(nodes.kind, nodes.n, "uint8"),
            "row_low": taken(nodes.row_low, nodes.n, "uint32"),
            "row_high": taken(nodes.row_high, nodes.n, "uint32"),
            "missing": taken(nodes.missing, nodes.n, "int32"),
            "n_samples": taken(nodes.n_samples, nodes.n, "int64"),
            "weight": taken(nodes.weight, nodes.n, "float64"),
            "impurity": taken(nodes.impurity, nodes.n, "float64"),
            "gain": taken(nodes.gain, nodes.n, "float64"),
            "value": taken(nodes.value, nodes.n * nodes.width, "float64").reshape(nodes.n, nodes.width),
            "table_node": taken(nodes.table_node, nodes.table_n, "int64"),
            "table_code": taken(nodes.table_code, nodes.table_n, "uint32"),
            "table_branch": taken(nodes.table_branch, nodes.table_n, "int32"),
        }
    finally:
        if buffer != NULL:
            allow(buffer, buffer_size)
        free(buffer)
        free_work(&work)
        free_work(&inner)
        free_nodes(&nodes)


# ---------------------------------------------------------------------------------------------------------------------
# Walk: sample to leaf, or to weighted leaves
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Flat:                  # the arrays of a finished tree
    const int32_t* first_child
    const int32_t* n_branches
    const int32_t* feature
    const uint8_t* kind
    const double* threshold
    const int32_t* missing
    const int64_t* table_start
    const uint32_t* table_code
    const int32_t* table_branch
    const double* weight


cdef inline int32_t branch_of(const Flat* t, int32_t node, double x) noexcept nogil:
    """Branch of a value at an inner node; a missing or unknown one as `missing` says (SHARES and STOP are negative)."""
    cdef int64_t low, high, middle
    cdef uint32_t code
    cdef uint8_t kind = t.kind[node]
    if kind == NODE_THRESHOLD:
        if isnan(x):
            return t.missing[node]
        return x > t.threshold[node]
    if kind == NODE_KNOWN:
        return 1 if isnan(x) else 0
    if not x >= 1:
        return t.missing[node]
    if kind == NODE_CATEGORY:
        return <int32_t> x - 1 if x <= t.n_branches[node] else t.missing[node]
    code = <uint32_t> x
    low = t.table_start[node]
    high = t.table_start[node + 1]
    while low < high:
        middle = (low + high) // 2
        if t.table_code[middle] < code:
            low = middle + 1
        else:
            high = middle
    if low < t.table_start[node + 1] and t.table_code[low] == code:
        return t.table_branch[low]
    return t.missing[node]


cdef Flat flat_of(
    const int32_t[::1] first_child, const int32_t[::1] n_branches, const int32_t[::1] feature, const uint8_t[::1] kind,
    const double[::1] threshold, const int32_t[::1] missing, const int64_t[::1] table_start, const uint32_t[::1] table_code,
    const int32_t[::1] table_branch, const double[::1] weight,
):
    cdef Flat t
    t.first_child = &first_child[0]
    t.n_branches = &n_branches[0]
    t.feature = &feature[0]
    t.kind = &kind[0]
    t.threshold = &threshold[0]
    t.missing = &missing[0]
    t.table_start = &table_start[0]
    t.table_code = &table_code[0] if table_code.shape[0] else NULL
    t.table_branch = &table_branch[0] if table_branch.shape[0] else NULL
    t.weight = &weight[0]
    return t


cdef Flat flat_tree(object tree):
    return flat_of(tree.first_child, tree.n_branches, tree.feature, tree.kind, tree.threshold, tree.missing,
                   tree.table_start, tree.table_code, tree.table_branch, tree.weight)


def walk(object tree, const real_t[:, :] X, int32_t[::1] out):
    """Leaf of every row of X (codes as floats, missing = NaN) in a tree whose samples never divide."""
    cdef Flat t = flat_tree(tree)
    cdef Py_ssize_t row
    cdef int32_t node, branch
    cdef double x
    with nogil:
        for row in range(X.shape[0]):
            node = 0
            while t.first_child[node] >= 0:
                x = X[row, t.feature[node]]
                if t.kind[node] == NODE_THRESHOLD and x == x:
                    node = t.first_child[node] + (x > t.threshold[node])
                    continue
                branch = branch_of(&t, node, x)
                if branch < 0:
                    break
                node = t.first_child[node] + branch
            out[row] = node


cdef inline int64_t visit(
    const Flat* t, const real_t[:, :] X, Py_ssize_t row, int32_t* stack, double* parts,
    int32_t* nodes, double* weights,
) noexcept nogil:
    """Every node that a row reaches, with the part of it that arrives there; parents first.  Returns their number.

    A value that goes nowhere (SHARES) is divided in proportion to the children's weights; empty children get nothing.
    """
    cdef int64_t n = 0
    cdef int64_t waiting = 1
    cdef int32_t node, branch, child
    cdef double part
    stack[0] = 0
    parts[0] = 1.0
    while waiting:
        waiting -= 1
        node = stack[waiting]
        part = parts[waiting]
        nodes[n] = node
        weights[n] = part
        n += 1
        if t.first_child[node] < 0:
            continue
        branch = branch_of(t, node, X[row, t.feature[node]])
        if branch >= 0:
            stack[waiting] = t.first_child[node] + branch
            parts[waiting] = part
            waiting += 1
        elif branch == TO_SHARES:
            for branch in range(t.n_branches[node] - 1, -1, -1):
                child = t.first_child[node] + branch
                if t.weight[child] > 0:
                    stack[waiting] = child
                    parts[waiting] = part * (t.weight[child] / t.weight[node])
                    waiting += 1
    return n


cdef inline bint stops(const Flat* t, const real_t[:, :] X, Py_ssize_t row, int32_t node) noexcept nogil:
    """Does a row that reached this node end here?"""
    return t.first_child[node] < 0 or branch_of(t, node, X[row, t.feature[node]]) == TO_STOP


def walk_shares(
    object tree, const real_t[:, :] X, const double[:, ::1] value, double[:, ::1] shares, int32_t[::1] leaves,
):
    """Class shares of every row, added over the leaves it reaches, and the leaf that gets the largest part of it.

    A leaf gives its class weights over their sum; an empty one its first largest class (Quinlan 1993, section 3.3).
    """
    cdef Flat t = flat_tree(tree)
    cdef Py_ssize_t row, k, best
    cdef Py_ssize_t n_nodes = value.shape[0]
    cdef Py_ssize_t n_classes = value.shape[1]
    cdef int32_t[::1] stack = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] parts = np.empty(n_nodes)
    cdef int32_t[::1] nodes = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef int64_t i, n
    cdef int32_t node
    cdef double largest
    with nogil:
        for row in range(X.shape[0]):
            n = visit(&t, X, row, &stack[0], &parts[0], &nodes[0], &weights[0])
            largest = -1
            for k in range(n_classes):
                shares[row, k] = 0
            for i in range(n):
                node = nodes[i]
                if not stops(&t, X, row, node):
                    continue
                if t.weight[node] > 0:
                    for k in range(n_classes):
                        shares[row, k] += weights[i] * value[node, k] / t.weight[node]
                else:
                    best = 0
                    for k in range(1, n_classes):
                        if value[node, k] > value[node, best]:
                            best = k
                    shares[row, best] += weights[i]
                if weights[i] > largest or (weights[i] == largest and node < leaves[row]):
                    largest = weights[i]
                    leaves[row] = node


def paths(object tree, const real_t[:, :] X, int64_t[::1] starts, int32_t[::1] out):
    """Nodes that every row reaches.  With `out` None fill starts[1:] with their numbers; else write them at starts."""
    cdef Flat t = flat_tree(tree)
    cdef Py_ssize_t row
    cdef Py_ssize_t n_nodes = tree.node_count
    cdef int32_t[::1] stack = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] parts = np.empty(n_nodes)
    cdef int32_t[::1] nodes = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef bint write = out is not None
    cdef int64_t n
    with nogil:
        for row in range(X.shape[0]):
            n = visit(&t, X, row, &stack[0], &parts[0], &nodes[0], &weights[0])
            if write:
                memcpy(&out[starts[row]], &nodes[0], n * sizeof(int32_t))
            else:
                starts[row + 1] = n


# ---------------------------------------------------------------------------------------------------------------------
# Passes over a finished tree
# ---------------------------------------------------------------------------------------------------------------------

def useless_splits(
    const int32_t[::1] parent, const int32_t[::1] first_child, const double[::1] error, double tolerance, uint8_t[::1] out,
):
    """Mark the nodes whose subtree has, within `tolerance`, no fewer training errors than the node alone (bottom-up).

    `parent[i] < i`; error[i] = weight at i outside its largest class.  A marked node counts as a leaf for those above it.
    """
    cdef Py_ssize_t i
    cdef double[::1] below = np.zeros(parent.shape[0])
    with nogil:
        for i in range(parent.shape[0] - 1, -1, -1):
            out[i] = first_child[i] >= 0 and below[i] >= error[i] - tolerance
            if first_child[i] < 0 or out[i]:
                below[i] = error[i]
            if i:
                below[parent[i]] += below[i]


def raise_thresholds(const real_t[:] column, const float[::1] thresholds, double[::1] out):
    """out[i] = the largest value of the column that, in single precision, is <= thresholds[i]; `thresholds` ascending."""
    cdef Py_ssize_t i, low, high, middle
    cdef Py_ssize_t m = thresholds.shape[0]
    cdef double x
    with nogil:
        for i in range(m):
            out[i] = -INFINITY
        for i in range(column.shape[0]):
            x = column[i]
            low = 0
            high = m
            while low < high:
                middle = (low + high) // 2
                if thresholds[middle] < <float> x:
                    low = middle + 1
                else:
                    high = middle
            if low < m and x > out[low]:
                out[low] = x
        for i in range(1, m):
            if out[i - 1] > out[i]:
                out[i] = out[i - 1]


def breadth_first(const int32_t[::1] first_child, const int32_t[::1] n_branches):
    """Node ids level by level, siblings in order; int64 (n,).  The nodes must form a tree with root 0."""
    order = np.empty(first_child.shape[0], dtype=np.int64)
    cdef int64_t[::1] out = order
    cdef Py_ssize_t n = 1
    cdef Py_ssize_t i
    cdef int32_t b
    out[0] = 0
    with nogil:
        for i in range(out.shape[0]):
            for b in range(n_branches[out[i]]):
                out[n] = first_child[out[i]] + b
                n += 1
    return order
