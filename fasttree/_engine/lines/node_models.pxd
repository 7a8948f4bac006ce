"""Linear models of the nodes of a tree, from centred sums of products.  Header only.

The sums of a leaf are its weight, the means of its columns, and the sums of products of deviations from these means.  Those of
two children add up to those of their parent (Chan, Golub and LeVeque 1979), so that a sample is touched once, at any depth of
its leaf.  The last columns are the targets.

A model comes from the sums of its node alone.  They are scaled to a unit diagonal and swept feature by feature, the largest
remaining diagonal first: Cholesky's method with pivoting, in the form of Beaton's sweep operator.  A swept matrix shows the
coefficients, the squared error, and how much each feature would raise it by leaving.  A feature that leaves is removed from the
matrix.  The lower triangle of a symmetric matrix is kept.  Which features are swept in does not depend on the target, so that
several targets share this step; features leave the model of each target on their own.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from fasttree._engine.watch cimport Watch, interrupted

cdef enum:
    EXACT                             # the term leaves that adds least to the squared error
    BY_SIZE                           # as in M5P: the smallest coefficient leaves, until Akaike's criterion rises


cdef struct NodeSums:
    int64_t n
    double weight
    double* mean                      # d + m, of d features and m targets
    double* product                   # (d + m) x (d + m)
    double* least                     # m
    double* largest                   # m


cdef struct NodeModel:
    double* coefficient               # d
    double error                      # weighted sum of squared residuals
    Py_ssize_t n_parameters           # terms, and the intercept


cdef struct FitChoices:
    int policy
    double least_pivot                # 1 - R^2 of a feature on those taken: below, it has no term
    double least_error                # squared error, as a share of that around the mean: below, it is rounding
    double ridge                      # M5P: on the diagonal of columns with variance 1
    double too_steep                  # M5P: standard deviations of the target for one of a feature
    const double* least_variance      # d: below, a feature is constant in a node


cdef struct FitScratch:
    Watch* watch                      # once it is over, functions return soon, and what they leave is not to be used
    double* matrix                    # (d + m) x (d + m)
    double* of_all                    # the same: the matrix for all targets, if there are several
    double* scale                     # d + m
    double* own                       # d + m: the row that is swept
    double* best                      # d
    Py_ssize_t* feature               # d + m: of each row of the matrix
    Py_ssize_t* of_best               # d
    Py_ssize_t* feature_of_all        # d
    uint8_t* is_in                    # d
    Py_ssize_t d, n_targets           # columns: features, and m targets
    Py_ssize_t width                  # d + m, and the length of a row in memory
    Py_ssize_t k                      # features of the matrix
    Py_ssize_t m                      # its last rows, the targets


cdef inline void sums_of_leaf(
    const double* x, const int64_t* rows, const double* weight, int64_t n, FitScratch* t, NodeSums* to,
) noexcept nogil:
    """Add up the samples of a leaf, whose rows have a value for each feature and then for each target."""
    cdef Py_ssize_t i, j, d = t.d, m = t.n_targets, width = t.width
    cdef int64_t r
    cdef double w, value
    cdef const double* row
    cdef double* products
    cdef double* deviation = t.own
    to.n, to.weight = n, 0
    for j in range(m):
        to.least[j], to.largest[j] = INFINITY, -INFINITY
    for j in range(width):
        to.mean[j] = 0
    for r in range(n):
        row = x + rows[r] * width
        w = 1 if weight == NULL else weight[rows[r]]
        to.weight += w
        for j in range(m):
            to.least[j], to.largest[j] = min(to.least[j], row[d + j]), max(to.largest[j], row[d + j])
        for j in range(width):
            to.mean[j] += w * row[j]
        if interrupted(t.watch, width):
            return
    for j in range(width):
        to.mean[j] /= to.weight
    for i in range(width):
        for j in range(i + 1):
            to.product[i * width + j] = 0
    for r in range(n if n > 1 else 0):
        row = x + rows[r] * width
        w = 1 if weight == NULL else weight[rows[r]]
        for j in range(width):
            deviation[j] = row[j] - to.mean[j]
        for i in range(width):
            value, products = w * deviation[i], to.product + i * width
            for j in range(i + 1):
                products[j] += value * deviation[j]
        if interrupted(t.watch, width * width // 2):
            return


cdef inline void add_sums(NodeSums* one, const NodeSums* other, FitScratch* t) noexcept nogil:
    """Make the sums of a node from those of its children; they replace those of the first."""
    cdef Py_ssize_t i, j, width = t.width
    cdef double share = other.weight / (one.weight + other.weight), scaled
    cdef double* products
    cdef double* apart = t.own
    cdef const double* others
    for j in range(width):
        apart[j] = other.mean[j] - one.mean[j]
        one.mean[j] += apart[j] * share
    for i in range(width):
        scaled, products, others = apart[i] * (one.weight * share), one.product + i * width, other.product + i * width
        for j in range(i + 1):
            products[j] += others[j] + scaled * apart[j]
    one.weight += other.weight
    one.n += other.n
    for j in range(t.n_targets):
        one.least[j], one.largest[j] = min(one.least[j], other.least[j]), max(one.largest[j], other.largest[j])


cdef inline void sweep_in(FitScratch* t, Py_ssize_t place) noexcept nogil:
    """Sweep a feature in."""
    cdef Py_ssize_t i, j, k = t.k
    cdef double pivot = t.matrix[place * t.width + place], factor
    cdef double* row
    cdef double* own = t.own
    for j in range(place + 1):
        own[j] = t.matrix[place * t.width + j]
    for i in range(place + 1, k + t.m):
        own[i] = t.matrix[i * t.width + place]
    for i in range(k + t.m):
        row, factor = t.matrix + i * t.width, own[i] / pivot
        for j in range(i + 1):
            row[j] -= factor * own[j]
    row = t.matrix + place * t.width
    for j in range(place):
        row[j] = own[j] / pivot
    row[place] = -1 / pivot
    for i in range(place + 1, k + t.m):
        t.matrix[i * t.width + place] = own[i] / pivot


cdef inline void leave_out(FitScratch* t, Py_ssize_t place, bint is_in) noexcept nogil:
    """Remove a feature from the matrix, swept out if it is in."""
    cdef Py_ssize_t i, j, k = t.k
    cdef double pivot = t.matrix[place * t.width + place], factor = 0
    cdef double* row
    cdef double* to
    cdef double* own = t.own
    for j in range(place):
        own[j] = t.matrix[place * t.width + j]
    for i in range(place + 1, k + t.m):
        own[i] = t.matrix[i * t.width + place]
    for i in range(k + t.m):
        if i == place:
            continue
        row = t.matrix + i * t.width
        to = row if i < place else row - t.width
        if is_in:
            factor = own[i] / pivot
        for j in range(min(i + 1, place)):
            to[j] = row[j] - factor * own[j]
        for j in range(place + 1, i + 1):
            to[j - 1] = row[j] - factor * own[j]
    for i in range(place, k - 1):
        t.feature[i] = t.feature[i + 1]
    t.k = k - 1


cdef inline void take_in(FitScratch* t, int64_t room, double least_pivot) noexcept nogil:
    """Sweep in features, at most `room`; the others are removed."""
    cdef Py_ssize_t _turn, i, place
    cdef double largest
    for i in range(t.k):
        t.is_in[i] = False
    for _turn in range(min(<int64_t> t.k, room)):
        largest, place = least_pivot, -1
        for i in range(t.k):
            if not t.is_in[i] and t.matrix[i * t.width + i] > largest:
                largest, place = t.matrix[i * t.width + i], i
        if place < 0 or interrupted(t.watch, t.k * t.k // 2):
            break
        sweep_in(t, place)
        t.is_in[place] = True
    for i in range(t.k - 1, -1, -1):
        if interrupted(t.watch, t.k):
            return
        if not t.is_in[i]:
            t.watch.cells += t.k * t.k // 2
            leave_out(t, i, False)


cdef inline void keep(FitScratch* t) noexcept nogil:
    """Remember the model of the features that are in."""
    cdef Py_ssize_t i
    for i in range(t.k):
        t.best[i], t.of_best[i] = t.matrix[t.k * t.width + i], t.feature[i]


cdef inline void eliminate(FitScratch* t, const NodeSums* sums, double least_error, double whole, NodeModel* to) noexcept nogil:
    """Find the model of the least estimated error, sqrt(S) (n + v) / (n - v); of equal ones the smallest.

    S is its squared error, and v the number of its parameters.
    """
    cdef double n = <double> sums.n, best = INFINITY, error, judged, size, rise, least
    cdef Py_ssize_t kept = 0, i, place
    while not interrupted(t.watch, t.k * t.k // 2):
        error, size = t.matrix[t.k * t.width + t.k], t.k + 1.0
        if error < least_error * whole or error < 0:
            error = 0
        judged = sqrt(error) * (n + size) / (n - size) if n > size else INFINITY
        if judged <= best:
            best, kept, to.error = judged, t.k, error
            keep(t)
        if t.k == 0:
            break
        least, place = INFINITY, 0
        for i in range(t.k):
            rise = t.matrix[t.k * t.width + i] * t.matrix[t.k * t.width + i] / -t.matrix[i * t.width + i]
            if rise < least:
                least, place = rise, i
        leave_out(t, place, True)
    t.k = kept


cdef inline void eliminate_by_size(FitScratch* t, const NodeSums* sums, double too_steep, NodeModel* to) noexcept nogil:
    """Find M5P's model: coefficients are those of features and a target of variance 1.

    While one is above `too_steep`, the largest leaves.  Then the smallest leaves, as long as
    ``S / S0 (n - v0) + 2 v`` falls, where S is the squared error, v the number of parameters, and 0 the model before.
    """
    cdef double n = <double> sums.n, judged, score, first_error, first_size, size
    cdef double* coefficient
    cdef Py_ssize_t kept, i, place
    while t.k and not interrupted(t.watch, t.k * t.k // 2):
        coefficient, place = t.matrix + t.k * t.width, 0
        for i in range(1, t.k):
            if fabs(coefficient[i]) > fabs(coefficient[place]):
                place = i
        if not fabs(coefficient[place]) > too_steep:
            break
        leave_out(t, place, True)
    first_error, first_size = t.matrix[t.k * t.width + t.k], t.k + 1.0
    judged, to.error, kept = n + first_size, first_error, t.k
    keep(t)
    while t.k and not interrupted(t.watch, t.k * t.k // 2):
        coefficient, place = t.matrix + t.k * t.width, 0
        for i in range(1, t.k):
            if fabs(coefficient[i]) < fabs(coefficient[place]):
                place = i
        leave_out(t, place, True)
        size = t.k + 1.0
        if first_error == 0:
            break
        score = t.matrix[t.k * t.width + t.k] / first_error * (n - first_size) + 2 * size
        if not score < judged:
            break
        judged, to.error, kept = score, t.matrix[t.k * t.width + t.k], t.k
        keep(t)
    to.error = max(to.error, 0)
    t.k = kept


cdef inline void lay_out_matrix(
    const NodeSums* sums, const uint8_t* allowed, const FitChoices* choices, FitScratch* t,
) noexcept nogil:
    """Scale the sums of the allowed features that vary, and of the targets; then `scale` has a factor for each column."""
    cdef Py_ssize_t i, j, d = t.d, m = t.n_targets, width = t.width
    cdef bint by_size = choices.policy == BY_SIZE
    cdef double whole, scale
    cdef const double* row
    t.k, t.m = 0, m
    for j in range(d):
        if allowed[j] and sums.product[j * width + j] > choices.least_variance[j] * sums.n:
            t.feature[t.k], t.scale[t.k] = j, 1 / sqrt(sums.product[j * width + j])
            t.k += 1
    for j in range(m):
        whole = sums.product[(d + j) * width + d + j]
        t.feature[t.k + j] = d + j
        t.scale[t.k + j] = 1 / sqrt(whole) if by_size and whole > 0 else 1
    for i in range(t.k + m):
        row, scale = sums.product + t.feature[i] * width, t.scale[i]
        for j in range(i + 1):
            t.matrix[i * width + j] = row[t.feature[j]] * (scale * t.scale[j])
        if i < t.k:
            t.matrix[i * width + i] = 1 + choices.ridge / max(sums.n - 1, 1) if by_size else 1
    for i in range(t.k + m):              # scales by column, as rows leave the matrix
        t.own[i] = t.scale[i]
    for i in range(t.k + m - 1, -1, -1):
        t.scale[t.feature[i]] = t.own[i]


cdef inline void restore(FitScratch* t, Py_ssize_t k, Py_ssize_t target) noexcept nogil:
    """Put the k features of all targets into the matrix again, and one target."""
    cdef Py_ssize_t i, width = t.width
    cdef const double* row = t.of_all + (k + target) * width
    for i in range(k):
        memcpy(t.matrix + i * width, t.of_all + i * width, (i + 1) * sizeof(double))
    memcpy(t.matrix + k * width, row, k * sizeof(double))
    t.matrix[k * width + k] = row[k + target]
    memcpy(t.feature, t.feature_of_all, k * sizeof(Py_ssize_t))
    t.k = k


cdef inline void fit_node(
    const NodeSums* sums, const uint8_t* allowed, const FitChoices* choices, FitScratch* t, NodeModel* to,
) noexcept nogil:
    """Fit the models of a node, one for each target, with terms of the allowed features."""
    cdef Py_ssize_t i, j, f, k, d = t.d, m = t.n_targets, width = t.width
    cdef bint by_size = choices.policy == BY_SIZE
    cdef double whole, scale
    for j in range(m):
        for i in range(d):
            to[j].coefficient[i] = 0
        to[j].error, to[j].n_parameters = max(sums.product[(d + j) * width + d + j], 0), 1
    if sums.n <= 2 and not by_size:
        return
    lay_out_matrix(sums, allowed, choices, t)
    take_in(t, t.k if by_size else sums.n - 2, 0 if by_size else choices.least_pivot)
    k, t.m = t.k, 1
    if m > 1:
        memcpy(t.of_all, t.matrix, (k + m) * width * sizeof(double))
        memcpy(t.feature_of_all, t.feature, k * sizeof(Py_ssize_t))
    for j in range(m):
        whole, scale = sums.product[(d + j) * width + d + j], t.scale[d + j]
        if m > 1:
            restore(t, k, j)
        if by_size:
            eliminate_by_size(t, sums, choices.too_steep, &to[j])
            to[j].error /= scale * scale
        else:
            eliminate(t, sums, choices.least_error, whole, &to[j])
        if t.watch.over:
            return
        for i in range(t.k):
            f = t.of_best[i]
            to[j].coefficient[f] = t.best[i] * (t.scale[f] / scale)
        to[j].n_parameters = t.k + 1
