"""Rounds of an additive model: many small trees, each on the bins of one term, one term after the other.

A term is a feature or a pair of features.  Its table has a score for each bin, and the score of a row is the sum over the terms.
In a round every term has its turn (Lou, Caruana and Gehrke 2012).  The gradients of the loss at the scores so far are added up by
bin; a tree of few leaves divides the ordered bins; and every bin of a leaf gets the Newton step of the leaf times the learning
rate.  In the first rounds cuts are drawn at random: shapes become smooth.

Rows are in two parts: those that are fitted come first, and the loss of the others chooses the round.  The caller orders the rows
of each part by what they hold, so that sums do not depend on the order of the table.

The kernels trust their caller, which is `_learn/additive/boosting.py`.
"""

from libc.math cimport INFINITY, log, log1p
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.random cimport mix

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define FASTTREE_BLOCK 256
    #define FASTTREE_COPIES 4   /* of the sums: rows that follow one another add to different ones */

    /* exp for |x| <= 700, the same on every machine: 2^k times a polynomial (Taylor, degree 11, |r| <= ln(2) / 2). */
    static inline double fasttree_exp(double x)
    {
        const double magic = 6755399441055744.0;   /* 1.5 x 2^52: the sum's last bits are the nearest integer */
        double shifted, k, r, power, p;
        int64_t bits;
        x = x > 700.0 ? 700.0 : x;
        x = x < -700.0 ? -700.0 : x;
        shifted = x * 1.4426950408889634 + magic;
        k = shifted - magic;
        r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10;
        memcpy(&bits, &shifted, 8);
        bits = (int64_t) ((uint64_t) (bits + 1023) << 52);
        memcpy(&power, &bits, 8);
        p = 2.505210838544172e-08;
        p = p * r + 2.755731922398589e-07;
        p = p * r + 2.755731922398589e-06;
        p = p * r + 2.48015873015873e-05;
        p = p * r + 0.0001984126984126984;
        p = p * r + 0.001388888888888889;
        p = p * r + 0.008333333333333333;
        p = p * r + 0.041666666666666664;
        p = p * r + 0.16666666666666666;
        p = p * r + 0.5;
        p = p * r + 1.0;
        p = p * r + 1.0;
        return p * power;
    }

    static void fasttree_shift(double *score, const uint16_t *codes, const double *update, int64_t n)
    {
        int64_t i;
        for (i = 0; i < n; i++) score[i] += update[codes[i]];
    }

    static void fasttree_multiply(double *odds, const uint16_t *codes, const double *factor, int64_t n)
    {
        int64_t i;
        for (i = 0; i < n; i++) odds[i] *= factor[codes[i]];
    }

    /* Gradients and curvatures of up to a block of rows, by the logistic loss, from exp(-score). */
    static inline void fasttree_logistic(
        const double *odds, const double *target, const double *weight, int64_t n, double *gradient, double *curvature)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++) {
            double p = 1.0 / (1.0 + odds[i]);
            gradient[i] = weight[i] * (target[i] - p);
            curvature[i] = weight[i] * (p * (1.0 - p));
        }
    }

    static inline void fasttree_squared(const double *score, const double *target, const double *weight, int64_t n, double *gradient)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++) gradient[i] = weight[i] * (target[i] - score[i]);
    }

    /* Sums over the classes, which have a row of `step` numbers each. */
    static inline void fasttree_total(const double *odds, int64_t step, int64_t n_classes, int64_t n, double *total)
    {
        int64_t i, k;
        for (i = 0; i < n; i++) total[i] = odds[i];
        for (k = 1; k < n_classes; k++)
            for (i = 0; i < n; i++) total[i] += odds[k * step + i];
    }

    static inline void fasttree_of_class(
        const double *odds, const double *total, const double *target, const double *weight, double k, int64_t n, double *gradient,
        double *curvature)
    {
        int64_t i;
        #pragma omp simd
        for (i = 0; i < n; i++) {
            double p = odds[i] / total[i];
            gradient[i] = weight[i] * ((target[i] == k ? 1.0 : 0.0) - p);
            curvature[i] = weight[i] * (p * (1.0 - p));
        }
    }

    /* Sums by bin; those of bin b in copy c are at sums[2 (c size + b)] and behind. */
    static inline void fasttree_add_both(
        const uint16_t *codes, const double *gradient, const double *curvature, int64_t n, int64_t size, double *sums)
    {
        int64_t i, j;
        for (i = 0; i + FASTTREE_COPIES <= n; i += FASTTREE_COPIES)
            for (j = 0; j < FASTTREE_COPIES; j++) {
                double *cell = sums + 2 * (j * size + codes[i + j]);
                cell[0] += gradient[i + j];
                cell[1] += curvature[i + j];
            }
        for (; i < n; i++) {
            sums[2 * codes[i]] += gradient[i];
            sums[2 * codes[i] + 1] += curvature[i];
        }
    }

    static inline void fasttree_add_gradient(const uint16_t *codes, const double *gradient, int64_t n, int64_t size, double *sums)
    {
        int64_t i, j;
        for (i = 0; i + FASTTREE_COPIES <= n; i += FASTTREE_COPIES)
            for (j = 0; j < FASTTREE_COPIES; j++)
                sums[2 * (j * size + codes[i + j])] += gradient[i + j];
        for (; i < n; i++) sums[2 * codes[i]] += gradient[i];
    }
    """
    enum:
        BLOCK "FASTTREE_BLOCK"
        COPIES "FASTTREE_COPIES"
    double own_exp "fasttree_exp"(double x) noexcept nogil
    void shift "fasttree_shift"(double* score, const uint16_t* codes, const double* update, int64_t n) noexcept nogil
    void multiply "fasttree_multiply"(double* odds, const uint16_t* codes, const double* factor, int64_t n) noexcept nogil
    void logistic "fasttree_logistic"(
        const double* odds, const double* target, const double* weight, int64_t n, double* gradient, double* curvature,
    ) noexcept nogil
    void squared "fasttree_squared"(
        const double* score, const double* target, const double* weight, int64_t n, double* gradient,
    ) noexcept nogil
    void add_classes "fasttree_total"(
        const double* odds, int64_t step, int64_t n_classes, int64_t n, double* total,
    ) noexcept nogil
    void of_class "fasttree_of_class"(
        const double* odds, const double* total, const double* target, const double* weight, double k, int64_t n, double* gradient,
        double* curvature,
    ) noexcept nogil
    void add_both "fasttree_add_both"(
        const uint16_t* codes, const double* gradient, const double* curvature, int64_t n, int64_t size, double* sums,
    ) noexcept nogil
    void add_gradient "fasttree_add_gradient"(
        const uint16_t* codes, const double* gradient, int64_t n, int64_t size, double* sums,
    ) noexcept nogil

cdef enum:                     # losses
    SQUARED
    LOGISTIC
    SOFTMAX

cdef enum:                     # kinds of terms
    ORDERED                    # bin 0 has the missing values, and no place in the order of a monotone constraint
    UNORDERED                  # bins are ordered by gradient / curvature in every round
    GRID                       # of two features: bin i * n_columns + j

cdef enum:
    MOST_LEAVES = 32

cdef double TIE = 1e-10        # a later cut wins by more than this share of the gain


cdef struct Leaf:              # bins in order, from `first` to before `stop`
    int64_t first
    int64_t stop
    int64_t cut                # the left side ends before it; 0: there is none
    double gain
    double left                # Newton step of each side
    double right
    double step                # of the leaf
    double low                 # bounds of the steps by a monotone constraint
    double high


cdef struct Bins:              # of the term in turn: running sums in the order of the bins, one more than bins
    double* gradient
    double* curvature
    double* count
    double min_count
    double min_curvature
    double penalty             # that is added to curvatures
    int64_t n
    int monotone


cdef inline double newton(const Bins* bins, int64_t first, int64_t stop) noexcept nogil:
    """Step of a leaf: 0 where nothing weighs."""
    cdef double curvature = bins.curvature[stop] - bins.curvature[first] + bins.penalty
    return (bins.gradient[stop] - bins.gradient[first]) / curvature if curvature > 0 else 0.0


cdef inline double worth(const Bins* bins, int64_t first, int64_t stop) noexcept nogil:
    """What a leaf's step gains."""
    cdef double gradient = bins.gradient[stop] - bins.gradient[first]
    return gradient * newton(bins, first, stop)


cdef inline bint enough(const Bins* bins, int64_t first, int64_t stop) noexcept nogil:
    return (
        bins.count[stop] - bins.count[first] >= bins.min_count
        and bins.curvature[stop] - bins.curvature[first] >= bins.min_curvature
    )


cdef inline double clipped(double value, double low, double high) noexcept nogil:
    return low if value < low else high if value > high else value


cdef bint may_cut(const Bins* bins, const Leaf* leaf, int64_t cut) noexcept nogil:
    """Are both sides large enough, and in the order of the constraint?"""
    if not enough(bins, leaf.first, cut) or not enough(bins, cut, leaf.stop):
        return False
    if bins.monotone == 0 or cut == 1:
        return True
    return bins.monotone * (newton(bins, cut, leaf.stop) - newton(bins, leaf.first, cut)) >= 0


cdef void find_cut(const Bins* bins, Leaf* leaf, uint64_t key) noexcept nogil:
    """The best cut of a leaf; with a key other than 0, one that is drawn among those allowed."""
    cdef double total = worth(bins, leaf.first, leaf.stop)
    cdef double gain
    cdef int64_t cut
    cdef int64_t n_allowed = 0
    cdef int64_t drawn = -1
    leaf.cut = 0
    leaf.gain = -INFINITY
    if key:
        for cut in range(leaf.first + 1, leaf.stop):
            n_allowed += may_cut(bins, leaf, cut)
        if n_allowed == 0:
            return
        drawn = <int64_t> (key % <uint64_t> n_allowed)
        n_allowed = 0
    for cut in range(leaf.first + 1, leaf.stop):
        if not may_cut(bins, leaf, cut):
            continue
        if key:
            n_allowed += 1
            if n_allowed <= drawn:
                continue
        gain = worth(bins, leaf.first, cut) + worth(bins, cut, leaf.stop) - total
        if gain > leaf.gain + TIE * (gain if gain > 0 else 0.0):
            leaf.gain = gain
            leaf.cut = cut
        if key:
            break
    if leaf.cut:
        leaf.left = clipped(newton(bins, leaf.first, leaf.cut), leaf.low, leaf.high)
        leaf.right = clipped(newton(bins, leaf.cut, leaf.stop), leaf.low, leaf.high)


cdef int64_t grow(const Bins* bins, Leaf* leaves, int64_t most_leaves, uint64_t key) noexcept nogil:
    """Divide the bins, the leaf of the largest gain first.  Returns the number of leaves."""
    cdef int64_t n = 1
    cdef int64_t i, best
    cdef Leaf* old
    cdef Leaf* new
    cdef double middle
    leaves[0].first = 0
    leaves[0].stop = bins.n
    leaves[0].low = -INFINITY
    leaves[0].high = INFINITY
    leaves[0].step = newton(bins, 0, bins.n) if enough(bins, 0, bins.n) else 0.0
    find_cut(bins, &leaves[0], key)
    while n < most_leaves:
        best = -1
        for i in range(n):
            if leaves[i].cut and (best < 0 or leaves[i].gain > leaves[best].gain):
                best = i
        if best < 0 or leaves[best].gain < 0:
            break
        old = &leaves[best]
        new = &leaves[n]
        new[0] = old[0]
        new.first = old.cut
        old.stop = old.cut
        old.step = old.left
        new.step = new.right
        if bins.monotone != 0 and old.cut > 1:
            middle = (old.step + new.step) / 2
            if bins.monotone > 0:
                old.high = middle
                new.low = middle
            else:
                old.low = middle
                new.high = middle
        n += 1
        find_cut(bins, old, mix(key + 1) | 1 if key else 0)
        find_cut(bins, new, mix(key + <uint64_t> n) | 1 if key else 0)
    return n


cdef void sort_keys(double* key, int32_t* order, int64_t n) noexcept nogil:
    """Order positions by their keys, equal ones by position (Shell 1959)."""
    cdef int64_t gap = 1
    cdef int64_t i, j
    cdef int32_t moved
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            moved = order[i]
            j = i
            while j >= gap and (
                key[order[j - gap]] > key[moved] or (key[order[j - gap]] == key[moved] and order[j - gap] > moved)
            ):
                order[j] = order[j - gap]
                j -= gap
            order[j] = moved
        gap //= 3


cdef struct Grid:              # sums of all cells above and left of a corner: (n_rows + 1) x (n_columns + 1) x 3
    double* sums
    int64_t n_rows
    int64_t n_columns
    double min_count
    double min_curvature
    double penalty


cdef inline bint side(const Grid* g, const int64_t* a, double* gradient, double* curvature) noexcept nogil:
    """Sums of the rectangle of rows a[0] to a[1] and columns a[2] to a[3].  Returns whether it is large enough."""
    cdef int64_t w = g.n_columns + 1
    cdef const double* one = g.sums + 3 * (a[1] * w + a[3])
    cdef const double* two = g.sums + 3 * (a[0] * w + a[3])
    cdef const double* three = g.sums + 3 * (a[1] * w + a[2])
    cdef const double* four = g.sums + 3 * (a[0] * w + a[2])
    gradient[0] = one[0] - two[0] - three[0] + four[0]
    curvature[0] = one[1] - two[1] - three[1] + four[1] + g.penalty
    return (
        one[2] - two[2] - three[2] + four[2] >= g.min_count and curvature[0] - g.penalty >= g.min_curvature and curvature[0] > 0
    )


cdef double halves(const Grid* g, bint by_rows, int64_t from_, int64_t to, uint64_t key, int64_t* cut) noexcept nogil:
    """The best cut across a band of rows (or of columns), and its worth; without one, the worth of the band."""
    cdef int64_t a[4]
    cdef int64_t n = g.n_columns if by_rows else g.n_rows
    cdef int64_t c, first, last
    cdef double gradient, curvature, more, larger
    cdef double best = 0.0
    cdef bint is_large
    cdef int at = 0 if by_rows else 2
    cdef int across = 2 - at
    a[at] = from_
    a[at + 1] = to
    a[across] = 0
    a[across + 1] = n
    if side(g, a, &gradient, &curvature):
        best = gradient * gradient / curvature
    cut[0] = n
    first = 1
    last = n
    if key:
        first = 1 + <int64_t> (key % <uint64_t> (n - 1)) if n > 1 else n
        last = first + 1 if n > 1 else n
    for c in range(first, last):
        a[across] = 0
        a[across + 1] = c
        is_large = side(g, a, &gradient, &curvature)
        larger = gradient * gradient / curvature if is_large else 0.0
        a[across] = c
        a[across + 1] = n
        if not side(g, a, &gradient, &curvature) or not is_large:
            continue
        more = larger + gradient * gradient / curvature
        if more > best + TIE * more:
            best = more
            cut[0] = c
    return best


cdef double best_quarters(const Grid* g, uint64_t key, int64_t* found) noexcept nogil:
    """The cut along one feature and, on each side, across the other one that gain most (Lou et al. 2013: FAST).

    found: whether the first cut is between rows, that cut, and the cuts of both sides.  Returns the gain.
    """
    cdef int64_t c, n, first, last, one, two
    cdef int64_t across
    cdef bint by_rows
    cdef int direction
    cdef double total = halves(g, True, 0, g.n_rows, 0, &one)
    cdef double gradient, curvature, gain
    cdef double best = -INFINITY
    cdef int64_t a[4]
    a[0] = 0
    a[1] = g.n_rows
    a[2] = 0
    a[3] = g.n_columns
    total = gradient * gradient / curvature if side(g, a, &gradient, &curvature) else 0.0
    found[1] = 0
    for direction in range(2):
        by_rows = direction == 0
        if key and (key & 1) != <uint64_t> direction:
            continue
        n = g.n_rows if by_rows else g.n_columns
        across = 0
        first = 1
        last = n
        if key:
            if n < 2:
                continue
            first = 1 + <int64_t> (mix(key) % <uint64_t> (n - 1))
            last = first + 1
        for c in range(first, last):
            gain = halves(g, by_rows, 0, c, mix(key + 1) if key else 0, &one)
            gain += halves(g, by_rows, c, n, mix(key + 2) if key else 0, &two)
            gain -= total
            if gain > best + TIE * (gain if gain > 0 else 0.0):
                best = gain
                found[0] = by_rows
                found[1] = c
                found[2] = one
                found[3] = two
    return best


cdef void add_up(Grid* g, const double* sums, const double* count) noexcept nogil:
    """Sums above and left of each corner, from those of the cells (gradient and curvature in turn) and their rows."""
    cdef int64_t w = g.n_columns + 1
    cdef int64_t i, j, k
    cdef double row[3]
    cdef double* at
    memset(g.sums, 0, 3 * w * sizeof(double))
    for i in range(g.n_rows):
        memset(row, 0, sizeof(row))
        memset(g.sums + 3 * (i + 1) * w, 0, 3 * sizeof(double))
        for j in range(g.n_columns):
            k = i * g.n_columns + j
            row[0] += sums[2 * k]
            row[1] += sums[2 * k + 1]
            row[2] += count[k]
            at = g.sums + 3 * ((i + 1) * w + j + 1)
            for k in range(3):
                at[k] = at[k - 3 * w] + row[k]


cdef class Booster:
    """Tables of an additive model in growth, on the rows of one bag.

    Parameters
    ----------
    codes : uint16 (n_terms, n_rows)
        Bin of each row; those of the fitted part come first.
    target, weight : float64 (n_rows,)
        Values, 0 or 1, or indices of classes; and weights.
    score : float64 (n_scores, n_rows)
        Scores to start from.  They change: fitted rows get odds.
    terms : int64 (n_terms, 4)
        Kind, number of bins, number of columns of a grid, and direction of a monotone constraint.
    plan : tuple
        Loss, number of fitted rows, leaves of a tree, rounds with random cuts, rounds without a better loss, and seed.
    amounts : tuple
        Learning rate, least rows and least curvature of a leaf, penalty, curvature that is added where categories are ordered,
        and the share of the first loss by which a loss must be better.
    """

    cdef const uint16_t[:, ::1] codes
    cdef const double[::1] target
    cdef const double[::1] weight
    cdef double[:, ::1] score
    cdef const int64_t[:, ::1] terms
    cdef int64_t[::1] start
    cdef double[:, ::1] tables
    cdef double[:, ::1] best
    cdef double[::1] count
    cdef double[::1] curvature
    cdef double[::1] sums
    cdef double[:, ::1] update
    cdef double[:, ::1] factor
    cdef double[::1] running
    cdef double[::1] block
    cdef int32_t[::1] order
    cdef int loss
    cdef int64_t n_scores, n_terms, n_rows, n_fitted, most_leaves, n_random, patience, largest
    cdef int64_t n_rounds, best_round, marked_round, before
    cdef double rate, min_count, min_curvature, penalty, smoothing, tolerance, best_loss, first_loss, marked_loss
    cdef uint64_t seed

    def __init__(self, codes, target, weight, score, terms, plan, amounts):
        self.codes, self.target, self.weight, self.score, self.terms = codes, target, weight, score, terms
        self.loss, self.n_fitted, self.most_leaves, self.n_random, self.patience, self.seed = plan
        self.rate, self.min_count, self.min_curvature, self.penalty, self.smoothing, self.tolerance = amounts
        self.n_terms, self.n_rows, self.n_scores = codes.shape[0], codes.shape[1], score.shape[0]
        starts = np.concatenate([[0], np.cumsum(np.asarray(terms)[:, 1])]).astype(np.int64)
        n_bins = int(starts[self.n_terms])
        self.largest = np.asarray(terms)[:, 1].max()
        self.start = starts
        self.tables = np.zeros((self.n_scores, n_bins))
        self.best = np.zeros((self.n_scores, n_bins))
        self.count = np.zeros(n_bins)
        self.curvature = np.zeros(n_bins)
        self.sums = np.zeros(2 * COPIES * self.n_scores * self.largest)
        self.update = np.zeros((self.n_scores, self.largest))
        self.factor = np.zeros((self.n_scores, self.largest))
        self.running = np.zeros(4 * (4 * self.largest + 4))
        self.block = np.zeros(3 * BLOCK)
        self.order = np.zeros(self.largest, dtype=np.int32)
        self.before = -1
        self.best_loss = self.first_loss = self.marked_loss = INFINITY
        with nogil:
            self.count_rows()
            self.make_odds()
            if self.n_fitted < self.n_rows:
                self.best_loss = self.first_loss = self.marked_loss = self.loss_of_others()

    def run(self, int64_t n_rounds):
        """Do rounds.  Returns whether the loss of the other rows says that no more are needed."""
        cdef int64_t i
        cdef bint over = False
        with nogil:
            for i in range(n_rounds):
                self.round()
                if self.n_fitted < self.n_rows and self.is_over():
                    over = True
                    break
        return over

    def found(self):
        """Return the tables at the best round, that round, the rounds so far, and the loss of the other rows.

        Without other rows, the last round is the best one.
        """
        if self.n_fitted == self.n_rows:
            return np.asarray(self.tables).copy(), self.n_rounds, self.n_rounds, float("nan")
        return np.asarray(self.best).copy(), self.best_round, self.n_rounds, self.best_loss

    def screen(self):
        """Return the gain of the best two cuts of each term, all of them grids; float64 (n_terms,)."""
        gains = np.zeros(self.n_terms)
        cdef double[::1] out = gains
        cdef int64_t j, k
        cdef int64_t found[4]
        cdef Grid grid
        cdef double gain
        with nogil:
            for j in range(self.n_terms):
                self.add_gradients(j)
                for k in range(self.n_scores):
                    self.open_grid(j, k, &grid)
                    gain = best_quarters(&grid, 0, found)
                    out[j] += gain if gain > 0 else 0.0
                self.before = -1
        return gains

    cdef void count_rows(self) noexcept nogil:
        cdef int64_t i, j
        for j in range(self.n_terms):
            for i in range(self.n_fitted):
                self.count[self.start[j] + self.codes[j, i]] += 1
                self.curvature[self.start[j] + self.codes[j, i]] += self.weight[i]

    cdef void apply_update(self, int64_t first, int64_t n) noexcept nogil:
        """Add the update of the term before to the scores of some rows, or multiply their odds, of one part."""
        cdef int64_t k
        cdef bint by_factors = self.loss != SQUARED and first < self.n_fitted
        if self.before < 0:
            return
        for k in range(self.n_scores):
            if by_factors:
                multiply(&self.score[k, first], &self.codes[self.before, first], &self.factor[k, 0], n)
            else:
                shift(&self.score[k, first], &self.codes[self.before, first], &self.update[k, 0], n)

    cdef void make_odds(self) noexcept nogil:
        """Replace scores of the fitted rows by exp(-score), or by exp(score) of each class: a step multiplies them."""
        cdef int64_t i, k
        cdef double sign = -1.0 if self.loss == LOGISTIC else 1.0
        cdef double largest = 0.0
        if self.loss == SQUARED:
            return
        for i in range(self.n_fitted):
            if self.loss == SOFTMAX:
                largest = self.score[0, i]
                for k in range(1, self.n_scores):
                    largest = max(largest, self.score[k, i])
            for k in range(self.n_scores):
                self.score[k, i] = own_exp(sign * (self.score[k, i] - largest))

    cdef void make_factors(self, int64_t j, int64_t k) noexcept nogil:
        """The factors of the odds that an update makes."""
        cdef int64_t b
        cdef double sign = -1.0 if self.loss == LOGISTIC else 1.0
        if self.loss != SQUARED:
            for b in range(self.terms[j, 1]):
                self.factor[k, b] = own_exp(sign * self.update[k, b])

    cdef void add_gradients(self, int64_t j) noexcept nogil:
        """Add up gradients and curvatures of the fitted rows by the bins of a term; scores take the update before."""
        cdef int64_t part, first, n, k, c, b
        cdef int64_t size = self.terms[j, 1]
        cdef double* gradient = &self.block[0]
        cdef double* curvature = gradient + BLOCK
        cdef double* total = curvature + BLOCK
        cdef double* sums
        memset(&self.sums[0], 0, 2 * COPIES * self.n_scores * size * sizeof(double))
        for part in range((self.n_fitted + BLOCK - 1) // BLOCK):
            first = part * BLOCK
            n = min(<int64_t> BLOCK, self.n_fitted - first)
            self.apply_update(first, n)
            if self.loss == SQUARED:
                squared(&self.score[0, first], &self.target[first], &self.weight[first], n, gradient)
                add_gradient(&self.codes[j, first], gradient, n, size, &self.sums[0])
                continue
            if self.loss == LOGISTIC:
                logistic(&self.score[0, first], &self.target[first], &self.weight[first], n, gradient, curvature)
                add_both(&self.codes[j, first], gradient, curvature, n, size, &self.sums[0])
                continue
            add_classes(&self.score[0, first], self.n_rows, self.n_scores, n, total)
            for k in range(self.n_scores):
                of_class(&self.score[k, first], total, &self.target[first], &self.weight[first], <double> k, n, gradient, curvature)
                add_both(&self.codes[j, first], gradient, curvature, n, size, &self.sums[2 * COPIES * k * size])
        for k in range(self.n_scores):
            sums = &self.sums[2 * COPIES * k * size]
            for c in range(1, COPIES):
                for b in range(2 * size):
                    sums[b] += sums[2 * c * size + b]
        if self.loss == SQUARED:
            for b in range(size):
                self.sums[2 * b + 1] = self.curvature[self.start[j] + b]

    cdef void round(self) noexcept nogil:
        cdef int64_t j, k, b
        cdef uint64_t key
        for j in range(self.n_terms):
            self.add_gradients(j)
            self.apply_update(self.n_fitted, self.n_rows - self.n_fitted)
            for k in range(self.n_scores):
                key = 0
                if self.n_rounds < self.n_random:
                    key = mix(mix(self.seed + <uint64_t> self.n_rounds) + <uint64_t> (j * self.n_scores + k)) | 1
                if self.terms[j, 0] == GRID:
                    self.divide_grid(j, k, key)
                else:
                    self.divide(j, k, key)
                self.make_factors(j, k)
                for b in range(self.terms[j, 1]):
                    self.tables[k, self.start[j] + b] += self.update[k, b]
            self.before = j
        self.n_rounds += 1

    cdef void divide(self, int64_t j, int64_t k, uint64_t key) noexcept nogil:
        """Make the update of a score by a tree on the bins of a feature."""
        cdef int64_t size = self.terms[j, 1]
        cdef int64_t i, b, n_leaves
        cdef const double* sums = &self.sums[2 * COPIES * k * size]
        cdef Leaf leaves[MOST_LEAVES]
        cdef Bins bins
        bins.gradient = &self.running[0]
        bins.curvature = bins.gradient + self.largest + 1
        bins.count = bins.curvature + self.largest + 1
        bins.n = size
        bins.min_count, bins.min_curvature, bins.penalty = self.min_count, self.min_curvature, self.penalty
        bins.monotone = <int> self.terms[j, 3]
        for i in range(size):
            self.order[i] = <int32_t> i
        if self.terms[j, 0] == UNORDERED:
            for i in range(size):
                bins.gradient[i] = sums[2 * i] / (sums[2 * i + 1] + self.smoothing)
            sort_keys(bins.gradient, &self.order[0], size)
        bins.gradient[0] = bins.curvature[0] = bins.count[0] = 0.0
        for i in range(size):
            b = self.order[i]
            bins.gradient[i + 1] = bins.gradient[i] + sums[2 * b]
            bins.curvature[i + 1] = bins.curvature[i] + sums[2 * b + 1]
            bins.count[i + 1] = bins.count[i] + self.count[self.start[j] + b]
        n_leaves = grow(&bins, leaves, self.most_leaves, key)
        for b in range(n_leaves):
            for i in range(leaves[b].first, leaves[b].stop):
                self.update[k, self.order[i]] = self.rate * leaves[b].step

    cdef void open_grid(self, int64_t j, int64_t k, Grid* grid) noexcept nogil:
        grid.sums = &self.running[0]
        grid.n_columns = self.terms[j, 2]
        grid.n_rows = self.terms[j, 1] // grid.n_columns
        grid.min_count, grid.min_curvature, grid.penalty = self.min_count, self.min_curvature, self.penalty
        add_up(grid, &self.sums[2 * COPIES * k * self.terms[j, 1]], &self.count[self.start[j]])

    cdef void divide_grid(self, int64_t j, int64_t k, uint64_t key) noexcept nogil:
        """Make the update of a score by two cuts of a grid."""
        cdef Grid grid
        cdef int64_t found[4]
        cdef int64_t i, c, along, across, half, other
        cdef int64_t a[4]
        cdef int at
        cdef double gradient, curvature, step
        self.open_grid(j, k, &grid)
        memset(&self.update[k, 0], 0, self.terms[j, 1] * sizeof(double))
        best_quarters(&grid, key, found)
        if found[1] == 0:
            return
        at = 0 if found[0] else 2
        along = grid.n_rows if found[0] else grid.n_columns
        across = grid.n_columns if found[0] else grid.n_rows
        for half in range(2):
            a[at] = found[1] if half else 0
            a[at + 1] = along if half else found[1]
            for other in range(2):
                a[2 - at] = found[2 + half] if other else 0
                a[3 - at] = across if other else found[2 + half]
                side(&grid, a, &gradient, &curvature)
                step = self.rate * gradient / curvature if curvature > self.min_curvature else 0.0
                for i in range(a[0], a[1]):
                    for c in range(a[2], a[3]):
                        self.update[k, i * grid.n_columns + c] = step

    cdef double loss_of_others(self) noexcept nogil:
        """The mean loss of the rows that are not fitted."""
        cdef int64_t i, k
        cdef double total = 0.0
        cdef double weight = 0.0
        cdef double x, largest, sum_
        for i in range(self.n_fitted, self.n_rows):
            weight += self.weight[i]
            if self.loss == SQUARED:
                x = self.target[i] - self.score[0, i]
                total += self.weight[i] * x * x
            elif self.loss == LOGISTIC:
                x = self.score[0, i] if self.target[i] == 0 else -self.score[0, i]
                total += self.weight[i] * ((x if x > 0 else 0.0) + log1p(own_exp(-x if x > 0 else x)))
            else:
                largest = self.score[0, i]
                for k in range(1, self.n_scores):
                    largest = max(largest, self.score[k, i])
                sum_ = 0.0
                for k in range(self.n_scores):
                    sum_ += own_exp(self.score[k, i] - largest)
                total += self.weight[i] * (log(sum_) + largest - self.score[<int64_t> self.target[i], i])
        return total / weight if weight > 0 else 0.0

    cdef bint is_over(self) noexcept nogil:
        """Note the loss after a round; say whether it has not become better for long enough."""
        cdef double loss
        self.apply_update(0, self.n_fitted)
        self.apply_update(self.n_fitted, self.n_rows - self.n_fitted)
        self.before = -1
        loss = self.loss_of_others()
        if loss < self.best_loss:
            self.best_loss = loss
            self.best_round = self.n_rounds
            memcpy(&self.best[0, 0], &self.tables[0, 0], self.n_scores * self.tables.shape[1] * sizeof(double))
        if loss < self.marked_loss - self.tolerance * self.first_loss or self.n_rounds <= self.n_random:
            self.marked_loss = min(loss, self.marked_loss)
            self.marked_round = self.n_rounds
        return self.n_rounds - self.marked_round >= self.patience
