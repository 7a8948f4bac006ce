"""Rounds of an additive model: many small trees, each on the bins of one term, one term after the other.

A term is a feature or a pair of features.  Its table has a score for each bin, and the score of a row is the sum over the terms.
In a round every term has its turn (Lou, Caruana and Gehrke 2012).  The gradients of the loss at the scores so far are added up by
bin; a tree of few leaves divides the ordered bins; and every bin of a leaf gets the Newton step of the leaf times the learning
rate.  In the first rounds cuts are drawn at random: shapes become smooth.

Rows are in two parts: those that are fitted come first, and the loss of the others chooses the round.  The caller orders each
part by what its rows hold, so that sums do not depend on the order of the table.

The kernels trust their caller, which is `_learn/additive/boosting.py`.
"""

from libc.math cimport INFINITY, log, log1p
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.random cimport mix
from fasttree._engine.shapes.cuts cimport MOST_LEAVES, OrderedBins, Leaf, grow, sort_keys
from fasttree._engine.shapes.grids cimport Corners, add_up, best_quarters, side
from fasttree._engine.shapes.loops cimport (
    BLOCK, COPIES, add_both, add_classes, add_gradient, logistic, multiply, of_class, own_exp, shift, squared,
)

cdef enum:                     # losses
    SQUARED
    LOGISTIC
    SOFTMAX

cdef enum:                     # kinds of terms
    ORDERED                    # bin 0 has the missing values, and no place in the order of a monotone constraint
    UNORDERED                  # bins are ordered by gradient / curvature in every round
    GRID                       # of two features: bin i * n_columns + j


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
        """Do rounds.  Returns how many more without a better loss of the other rows are allowed: 0 ends the bag."""
        cdef int64_t _turn
        with nogil:
            for _turn in range(n_rounds):
                self.round()
                if self.n_fitted < self.n_rows and self.is_over():
                    break
        return self.patience - (self.n_rounds - self.marked_round) if self.n_fitted < self.n_rows else self.patience

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
        cdef Corners grid
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
                of_class(
                    &self.score[k, first], total, &self.target[first], &self.weight[first], <double> k, n, gradient, curvature
                )
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
            if self.n_fitted < self.n_rows:
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
        cdef OrderedBins bins
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

    cdef void open_grid(self, int64_t j, int64_t k, Corners* grid) noexcept nogil:
        grid.sums = &self.running[0]
        grid.n_columns = self.terms[j, 2]
        grid.n_rows = self.terms[j, 1] // grid.n_columns
        grid.min_count, grid.min_curvature, grid.penalty = self.min_count, self.min_curvature, self.penalty
        add_up(grid, &self.sums[2 * COPIES * k * self.terms[j, 1]], &self.count[self.start[j]])

    cdef void divide_grid(self, int64_t j, int64_t k, uint64_t key) noexcept nogil:
        """Make the update of a score by two cuts of a grid; a quarter with too few rows stays."""
        cdef Corners grid
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
                step = self.rate * gradient / curvature if side(&grid, a, &gradient, &curvature) else 0.0
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
        if self.n_fitted < self.n_rows:
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
