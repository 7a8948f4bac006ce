"""Least squares with terms that leave one by one, the one that moves predictions least first.  Header only.

The model of the least estimated error is kept.  Rows far from it are left out, and the model is fitted once more.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from fasttree._engine.watch cimport Watch, interrupted

cdef enum:
    OUTLIER = 5                       # mean absolute residuals
    STEEPEST = 1000                   # mean absolute deviations of the target, of one term

cdef inline double least_pivot() noexcept nogil:
    return 1e-12


cdef struct LineSamples:
    Py_ssize_t n, d                   # rows; continuous features
    const double* x                   # d columns of n values
    const double* y
    const double* w                   # weights, 1 on average
    const double* least_variance      # of each feature: below, it has no term
    double floor, ceiling             # predictions are moved between them


cdef struct LineScratch:
    Watch* watch                      # once it is over, functions return soon, and what they leave is not to be used
    double* z                         # d + 4 columns of n: features of a node, weighted column, target, weights, predictions
    double* gram                      # (d + 1) x (d + 1), then the right-hand side
    double* system                    # the same, to be solved
    double* model
    double* spread                    # d + 1: mean absolute deviations; the target is first
    int32_t* active                   # d


cdef inline double dot(const double* a, const double* b, Py_ssize_t n) noexcept nogil:
    """The sum of products in four lanes, the same on every machine."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(whole, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


cdef inline double total_of(const double* a, Py_ssize_t n) noexcept nogil:
    """The sum in four lanes."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += a[i]
        s1 += a[i + 1]
        s2 += a[i + 2]
        s3 += a[i + 3]
    for i in range(whole, n):
        s0 += a[i]
    return (s0 + s1) + (s2 + s3)


cdef inline double distance(const double* a, const double* b, const double* w, Py_ssize_t n) noexcept nogil:
    """The weighted sum of absolute differences in four lanes."""
    cdef double s0 = 0, s1 = 0, s2 = 0, s3 = 0
    cdef Py_ssize_t i, whole = n - n % 4
    for i in range(0, whole, 4):
        s0 += w[i] * fabs(a[i] - b[i])
        s1 += w[i + 1] * fabs(a[i + 1] - b[i + 1])
        s2 += w[i + 2] * fabs(a[i + 2] - b[i + 2])
        s3 += w[i + 3] * fabs(a[i + 3] - b[i + 3])
    for i in range(whole, n):
        s0 += w[i] * fabs(a[i] - b[i])
    return (s0 + s1) + (s2 + s3)


cdef inline void deviations_of(const double* a, double middle, const double* w, Py_ssize_t n, double* absolute,
                               double* squares) noexcept nogil:
    """Weighted sums of absolute and squared deviations from a number, in two lanes each."""
    cdef double a0 = 0, a1 = 0, s0 = 0, s1 = 0, apart, other
    cdef Py_ssize_t i, whole = n - n % 2
    for i in range(0, whole, 2):
        apart, other = a[i] - middle, a[i + 1] - middle
        a0 += w[i] * fabs(apart)
        a1 += w[i + 1] * fabs(other)
        s0 += w[i] * apart * apart
        s1 += w[i + 1] * other * other
    for i in range(whole, n):
        apart = a[i] - middle
        a0 += w[i] * fabs(apart)
        s0 += w[i] * apart * apart
    absolute[0], squares[0] = a0 + a1, s0 + s1


cdef inline double clamped(const LineSamples* s, double value) noexcept nogil:
    return s.floor if value < s.floor else s.ceiling if value > s.ceiling else value


cdef inline void predict_gathered(const LineSamples* s, const double* model, const double* z, Py_ssize_t n,
                                  double* out) noexcept nogil:
    """The values of a model, intercept first, without bounds, on gathered rows.

    Terms are added in their order, two at once where there are two, which spares half of the stores.
    """
    cdef Py_ssize_t i, j, k = 0
    cdef double b, c
    cdef const double* x
    cdef const double* y
    b = model[0]
    for i in range(n):
        out[i] = b
    while True:
        j = next_term(model, k, s.d)
        k = next_term(model, j + 1, s.d)
        if k >= s.d:
            break
        b, c, x, y = model[j + 1], model[k + 1], z + j * s.n, z + k * s.n
        for i in range(n):
            out[i] = out[i] + b * x[i] + c * y[i]
        k += 1
    if j < s.d:
        b, x = model[j + 1], z + j * s.n
        for i in range(n):
            out[i] += b * x[i]


cdef inline Py_ssize_t next_term(const double* model, Py_ssize_t j, Py_ssize_t d) noexcept nogil:
    """The first feature from j on that has a coefficient, or d or more."""
    while j < d and model[j + 1] == 0:
        j += 1
    return j


cdef inline bint solve(const double* gram, Py_ssize_t stride, int32_t* active, int* p, double* a, double* model,
                       Watch* watch) noexcept nogil:
    """Solve the normal equations of the active features by elimination; those without a pivot leave, then False is returned.

    Column and row 0 of `gram` belong to the intercept, and its last row is the right-hand side.
    """
    cdef int size = p[0] + 1, j, k, m, pivot, left = 0
    cdef Py_ssize_t row, column
    cdef double largest, factor
    cdef bint regular = True
    cdef double* b = a + size * size
    for j in range(size):
        row = 0 if j == 0 else active[j - 1] + 1
        b[j] = gram[stride * stride + row]
        for k in range(size):
            column = 0 if k == 0 else active[k - 1] + 1
            a[j * size + k] = gram[row * stride + column]
    for j in range(size):
        if interrupted(watch, size * (size - j)):
            return True
        column = 0 if j == 0 else active[j - 1] + 1
        largest = 0
        for k in range(j + 1):
            row = 0 if k == 0 else active[k - 1] + 1 if active[k - 1] >= 0 else -active[k - 1]
            largest = max(largest, fabs(gram[row * stride + column]))
        pivot = j
        for k in range(j + 1, size):
            if fabs(a[k * size + j]) > fabs(a[pivot * size + j]):
                pivot = k
        if fabs(a[pivot * size + j]) < size * largest * least_pivot() or a[pivot * size + j] == 0:
            regular = False
            if j:
                active[j - 1] = -1 - active[j - 1]            # leaves, once all columns are judged
            continue
        if pivot != j:
            for k in range(size):
                a[j * size + k], a[pivot * size + k] = a[pivot * size + k], a[j * size + k]
            b[j], b[pivot] = b[pivot], b[j]
        factor = a[j * size + j]
        for k in range(j, size):
            a[j * size + k] /= factor
        b[j] /= factor
        for m in range(j + 1, size):
            factor = a[m * size + j]
            if factor != 0:
                for k in range(j, size):
                    a[m * size + k] -= factor * a[j * size + k]
                b[m] -= factor * b[j]
    if not regular:
        for j in range(p[0]):
            if active[j] >= 0:
                active[left] = active[j]
                left += 1
        p[0] = left
        return False
    for j in range(size - 2, -1, -1):
        for k in range(j + 1, size):
            b[j] -= a[j * size + k] * b[k]
    for j in range(stride):
        model[j] = 0
    for j in range(size):
        model[0 if j == 0 else active[j - 1] + 1] = b[j]
    return True


cdef inline void solve_some(const double* gram, Py_ssize_t stride, int32_t* active, int* p, double* a, double* model,
                            Watch* watch) noexcept nogil:
    while not solve(gram, stride, active, p, a, model, watch):
        pass


cdef inline double mean_error(const LineSamples* s, LineScratch* t, Py_ssize_t n, double weight,
                              const double* model) noexcept nogil:
    """The mean absolute error of a model on the gathered rows; the clamped predictions stay in the last column."""
    cdef double* out = t.z + (s.d + 3) * s.n
    cdef const double* y = t.z + (s.d + 1) * s.n
    cdef const double* w = t.z + (s.d + 2) * s.n
    cdef Py_ssize_t i
    predict_gathered(s, model, t.z, n, out)
    for i in range(n):
        out[i] = clamped(s, out[i])
    return distance(y, out, w, n) / weight


cdef inline void simplify(const LineSamples* s, LineScratch* t, Py_ssize_t n, int* p, double* best) noexcept nogil:
    """Fit a model of the active features, and let terms leave; of those on the way, keep that of the least estimated error."""
    cdef Py_ssize_t stride = s.d + 1
    cdef int left, j, place
    cdef double least = -1, part, smallest, judged, weight = total_of(t.z + (s.d + 2) * s.n, n)
    cdef bint steady
    cdef int32_t* active = t.active + s.d
    solve_some(t.gram, stride, t.active, p, t.system, t.model, t.watch)
    left = p[0]
    memcpy(active, t.active, left * sizeof(int32_t))
    while not interrupted(t.watch, n * (left + 4)):
        steady, place, smallest = True, -1, 0
        for j in range(left):
            part = fabs(t.model[active[j] + 1] * t.spread[active[j] + 1])
            if place < 0 or part < smallest:
                place, smallest = j, part
            if part > STEEPEST * t.spread[0]:
                steady = False
        if steady and n >= 2 * left:
            judged = mean_error(s, t, n, weight, t.model) * (n + left) / (n - left)
            if least < 0 or judged <= least:
                least = judged
                memcpy(best, t.model, stride * sizeof(double))
        if not left:
            return
        left -= 1
        for j in range(place, left):
            active[j] = active[j + 1]
        solve_some(t.gram, stride, active, &left, t.system, t.model, t.watch)


cdef inline double gather_targets(const LineSamples* s, LineScratch* t, const int32_t* rows, Py_ssize_t n) noexcept nogil:
    """Gather targets and weights of some rows, and return the mean target."""
    cdef Py_ssize_t i
    cdef double* y = t.z + (s.d + 1) * s.n
    cdef double* w = t.z + (s.d + 2) * s.n
    for i in range(n):
        y[i], w[i] = s.y[rows[i]], s.w[rows[i]]
    t.gram[0] = total_of(w, n)
    return dot(w, y, n) / t.gram[0]


cdef inline int gather_features(const LineSamples* s, LineScratch* t, const int32_t* rows, Py_ssize_t n,
                                const uint8_t* allowed) noexcept nogil:
    """Gather the allowed features, and return the number of those that vary enough for a term: they become active."""
    cdef Py_ssize_t i, j
    cdef int p = 0
    cdef double deviation = 0, variance = 0, weight = t.gram[0]
    cdef const double* w = t.z + (s.d + 2) * s.n
    cdef const double* x
    cdef double* z
    for j in range(s.d):
        if not allowed[j]:
            continue
        if interrupted(t.watch, n * 4):
            break
        z, x = t.z + j * s.n, s.x + j * s.n
        for i in range(n):
            z[i] = x[rows[i]]
        deviations_of(z, dot(w, z, n) / weight, w, n, &deviation, &variance)
        if n > 1 and variance / weight * n / (n - 1) >= s.least_variance[j]:
            t.spread[j + 1] = deviation / weight
            t.active[p] = <int32_t> j
            p += 1
    return p


cdef inline void fill_gram(const LineSamples* s, LineScratch* t, Py_ssize_t n, int p, double mean) noexcept nogil:
    """Fill the normal equations of the active features, and the deviation of the target."""
    cdef Py_ssize_t i, j, k, stride = s.d + 1
    cdef int a, b
    cdef double deviation = 0, squares = 0, total
    cdef const double* y = t.z + (s.d + 1) * s.n
    cdef const double* w = t.z + (s.d + 2) * s.n
    cdef double* weighted = t.z + s.d * s.n
    cdef const double* z
    deviations_of(y, mean, w, n, &deviation, &squares)
    t.spread[0] = deviation / t.gram[0]
    t.gram[stride * stride] = mean * t.gram[0]
    for a in range(p):
        if interrupted(t.watch, n * (a + 3)):
            break
        j = t.active[a]
        z = t.z + j * s.n
        for i in range(n):
            weighted[i] = w[i] * z[i]
        total = total_of(weighted, n)
        t.gram[(j + 1) * stride] = t.gram[j + 1] = total
        t.gram[stride * stride + j + 1] = dot(weighted, y, n)
        for b in range(a + 1):
            k = t.active[b]
            t.gram[(j + 1) * stride + k + 1] = t.gram[(k + 1) * stride + j + 1] = dot(weighted, t.z + k * s.n, n)


cdef inline Py_ssize_t leave_out(const LineSamples* s, LineScratch* t, Py_ssize_t n, int p, double farthest) noexcept nogil:
    """Leave out the gathered rows that are farther from their predictions, and return the number of the others."""
    cdef Py_ssize_t i, j, k, kept = 0, stride = s.d + 1
    cdef int a, b
    cdef double value
    cdef double* y = t.z + (s.d + 1) * s.n
    cdef double* w = t.z + (s.d + 2) * s.n
    cdef const double* out = t.z + (s.d + 3) * s.n
    for i in range(n):
        if fabs(y[i] - out[i]) <= farthest:
            for a in range(p):
                t.z[t.active[a] * s.n + kept] = t.z[t.active[a] * s.n + i]
            y[kept], w[kept] = y[i], w[i]
            kept += 1
            continue
        t.gram[0] -= w[i]
        t.gram[stride * stride] -= w[i] * y[i]
        for a in range(p):
            j = t.active[a]
            value = w[i] * t.z[j * s.n + i]
            t.gram[(j + 1) * stride] -= value
            t.gram[j + 1] = t.gram[(j + 1) * stride]
            t.gram[stride * stride + j + 1] -= value * y[i]
            for b in range(a + 1):
                k = t.active[b]
                t.gram[(j + 1) * stride + k + 1] -= value * t.z[k * s.n + i]
                t.gram[(k + 1) * stride + j + 1] = t.gram[(j + 1) * stride + k + 1]
    return kept


cdef inline void fit(const LineSamples* s, LineScratch* t, const int32_t* rows, Py_ssize_t n, const uint8_t* allowed,
                     double* model) noexcept nogil:
    """Fit the model of some rows, with terms of some of the allowed features; `model` has the intercept first."""
    cdef Py_ssize_t i, j, kept
    cdef int p, a, terms = 0
    cdef double weight, mean, error, bias = 0
    cdef const double* y = t.z + (s.d + 1) * s.n
    cdef const double* w = t.z + (s.d + 2) * s.n
    cdef const double* out = t.z + (s.d + 3) * s.n
    mean = gather_targets(s, t, rows, n)
    for j in range(s.d + 1):
        model[j] = 0
    model[0] = mean
    p = gather_features(s, t, rows, n, allowed)
    if p < 1 or n < 2 * p:
        return
    fill_gram(s, t, n, p, mean)
    weight = t.gram[0]
    simplify(s, t, n, &p, model)
    if t.watch.over:
        return
    for a in range(p):
        terms += model[t.active[a] + 1] != 0
    if not terms:
        return
    error = mean_error(s, t, n, weight, model)
    for i in range(n):
        bias += w[i] * (y[i] - out[i])
    model[0] += bias / weight
    kept = leave_out(s, t, n, p, OUTLIER * error)
    if kept < n:
        simplify(s, t, kept, &p, model)
