"""Linear models of the nodes of a tree, from centred sums of products.  Header only.

The sums of a leaf are its weight, the means of its columns, and the sums of products of deviations from these means.  Those of
two children add up to those of their parent (Chan, Golub and LeVeque 1979), so that a sample is touched once, at any depth of
its leaf.  The last column is the target.

A model comes from the sums of its node alone.  They are scaled to a unit diagonal and swept feature by feature, the largest
remaining diagonal first: Cholesky's method with pivoting, in the form of Beaton's sweep operator.  A swept matrix shows the
coefficients, the squared error, and how much each feature would raise it by leaving.  A feature that leaves is removed from the
matrix.  The lower triangle of a symmetric matrix is kept.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport int64_t, uint8_t

from fasttree._engine.watch cimport Watch, interrupted

cdef enum:
    EXACT                             # the term leaves that adds least to the squared error
    BY_SIZE                           # as in M5P: the smallest coefficient leaves, until Akaike's criterion rises


cdef struct NodeSums:
    int64_t n
    double weight
    double least, largest             # target
    double* mean                      # d + 1
    double* product                   # (d + 1) x (d + 1)


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
    double* matrix                    # (d + 1) x (d + 1)
    double* scale                     # d + 1
    double* own                       # d + 1: the row that is swept
    double* best                      # d
    Py_ssize_t* feature               # d: of each row of the matrix
    Py_ssize_t* of_best               # d
    uint8_t* is_in                    # d
    Py_ssize_t width                  # of a row in memory
    Py_ssize_t k                      # features of the matrix; the target is its last row


cdef inline void sums_of_leaf(
    const double* x, const int64_t* rows, const double* weight, int64_t n, Py_ssize_t d, FitScratch* t, NodeSums* to,
) noexcept nogil:
    """Add up the samples of a leaf, whose rows have d + 1 values."""
    cdef Py_ssize_t i, j, width = d + 1
    cdef int64_t r
    cdef double w, value
    cdef const double* row
    cdef double* products
    cdef double* deviation = t.own
    to.n, to.weight, to.least, to.largest = n, 0, INFINITY, -INFINITY
    for j in range(width):
        to.mean[j] = 0
    for r in range(n):
        row = x + rows[r] * width
        w = 1 if weight == NULL else weight[rows[r]]
        to.weight += w
        to.least, to.largest = min(to.least, row[d]), max(to.largest, row[d])
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


cdef inline void add_sums(NodeSums* one, const NodeSums* other, Py_ssize_t d, double* apart) noexcept nogil:
    """Make the sums of a node from those of its children; they replace those of the first."""
    cdef Py_ssize_t i, j, width = d + 1
    cdef double share = other.weight / (one.weight + other.weight), scaled
    cdef double* products
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
    one.least, one.largest = min(one.least, other.least), max(one.largest, other.largest)


cdef inline void sweep_in(FitScratch* t, Py_ssize_t place) noexcept nogil:
    """Sweep a feature in."""
    cdef Py_ssize_t i, j, k = t.k
    cdef double pivot = t.matrix[place * t.width + place], factor
    cdef double* row
    cdef double* own = t.own
    for j in range(place + 1):
        own[j] = t.matrix[place * t.width + j]
    for i in range(place + 1, k + 1):
        own[i] = t.matrix[i * t.width + place]
    for i in range(k + 1):
        row, factor = t.matrix + i * t.width, own[i] / pivot
        for j in range(i + 1):
            row[j] -= factor * own[j]
    row = t.matrix + place * t.width
    for j in range(place):
        row[j] = own[j] / pivot
    row[place] = -1 / pivot
    for i in range(place + 1, k + 1):
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
    for i in range(place + 1, k + 1):
        own[i] = t.matrix[i * t.width + place]
    for i in range(k + 1):
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


cdef inline void fit_node(
    const NodeSums* sums, const uint8_t* allowed, Py_ssize_t d, const FitChoices* choices, FitScratch* t, NodeModel* to,
) noexcept nogil:
    """Fit the model of a node, with terms of the allowed features."""
    cdef Py_ssize_t i, j, f, width = d + 1
    cdef bint by_size = choices.policy == BY_SIZE
    cdef double whole = sums.product[d * width + d], scale
    cdef const double* row
    for j in range(d):
        to.coefficient[j] = 0
    to.error, to.n_parameters = max(whole, 0), 1
    if sums.n <= 2 and not by_size:
        return
    t.k, t.width = 0, width
    for j in range(d):
        if allowed[j] and sums.product[j * width + j] > choices.least_variance[j] * sums.n:
            t.feature[t.k], t.scale[t.k] = j, 1 / sqrt(sums.product[j * width + j])
            t.k += 1
    t.feature[t.k] = d
    t.scale[t.k] = 1 / sqrt(whole) if by_size and whole > 0 else 1
    for i in range(t.k + 1):
        row, scale = sums.product + t.feature[i] * width, t.scale[i]
        for j in range(i + 1):
            t.matrix[i * width + j] = row[t.feature[j]] * (scale * t.scale[j])
        t.matrix[i * width + i] = 1 if i < t.k else whole * (scale * scale)
    scale = t.scale[t.k]
    for i in range(t.k):                  # scales by feature, as rows leave the matrix
        t.own[i] = t.scale[i]
    for i in range(t.k - 1, -1, -1):
        t.scale[t.feature[i]] = t.own[i]
    if by_size:
        for i in range(t.k):
            t.matrix[i * width + i] += choices.ridge / max(sums.n - 1, 1)
        take_in(t, t.k, 0)
        eliminate_by_size(t, sums, choices.too_steep, to)
        to.error /= scale * scale
    else:
        take_in(t, sums.n - 2, choices.least_pivot)
        eliminate(t, sums, choices.least_error, whole, to)
    if t.watch.over:
        return
    for i in range(t.k):
        f = t.of_best[i]
        to.coefficient[f] = t.best[i] * (t.scale[f] / scale)
    to.n_parameters = t.k + 1
