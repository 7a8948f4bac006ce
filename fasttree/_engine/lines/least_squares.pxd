"""Least squares with terms that leave one by one, the one that moves predictions least first.  Header only.

The model of the least estimated error is kept.  Rows far from it are left out, and the model is fitted once more.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

cimport fasttree._engine.types  # noqa: F401 has FASTTREE_WIDE
from fasttree._engine.watch cimport Watch, interrupted

cdef enum:
    OUTLIER = 5                       # mean absolute residuals
    GATHERED = 16                     # rows at a time
    STEEPEST = 1000                   # mean absolute deviations of the target, of one term

cdef inline double least_pivot() noexcept nogil:
    return 1e-12


cdef struct LineSamples:
    Py_ssize_t n, d                   # rows; continuous features
    const double* x                   # d columns of n values
    const double* side_by_side        # the same, n rows of d values: a row's are in few lines of the cache
    const double* y
    const double* w                   # weights, 1 on average
    const double* least_variance      # of each feature: below, it has no term
    double floor, ceiling             # predictions are moved between them


cdef struct ModelTerms:
    int32_t* feature                  # d: those that have a coefficient, ascending
    int n


cdef struct LineScratch:
    Watch* watch                      # once it is over, functions return soon, and what they leave is not to be used
    double* z                         # d + 4 columns of n: features of a node, weighted column, target, weights, predictions
    double* gram                      # (d + 1) x (d + 1), then the right-hand side
    double* system                    # the same, to be solved
    double* model
    double* spread                    # d + 1: mean absolute deviations; the target is first
    int32_t* active                   # 2 d
    ModelTerms terms


cdef extern from *:
    """
    #include <math.h>
    #include <stdint.h>

    /* Sums are in four lanes and products are added in their order, the same on every machine and at every width. */
    FASTTREE_WIDE static double fasttree_dot(const double *a, const double *b, int64_t n);
    FASTTREE_WIDE static double fasttree_predict(
        const double *model, const double *z, int64_t d, int64_t stride, int64_t n, const double *y, const double *w,
        double floor, double ceiling, double *restrict out);

    static double fasttree_dot(const double *a, const double *b, int64_t n) {
        double s[4] = {0, 0, 0, 0};
        int64_t i, k, whole = n - n % 4;
        for (i = 0; i < whole; i += 4)
            for (k = 0; k < 4; k++) s[k] += a[i + k] * b[i + k];
        for (i = whole; i < n; i++) s[0] += a[i] * b[i];
        return (s[0] + s[1]) + (s[2] + s[3]);
    }

    /* What a model predicts for gathered rows, terms added in their order, four at once, on rows that stay in the cache.  With
       targets, predictions are moved between floor and ceiling, and the weighted sum of absolute errors is returned. */
    static double fasttree_predict(
        const double *model, const double *z, int64_t d, int64_t stride, int64_t n, const double *y, const double *w,
        double floor, double ceiling, double *restrict out
    ) {
        double s[4] = {0, 0, 0, 0};
        int64_t first, i, j, k, m;
        for (first = 0; first < n; first += 256) {
            m = n - first < 256 ? n - first : 256;
            double *to = out + first;
            for (i = 0; i < m; i++) to[i] = model[0];
            for (j = 0; j < d; ) {
                const double *x[4];
                double b[4];
                for (k = 0; k < 4 && j < d; j++)
                    if (model[j + 1] != 0) {
                        x[k] = z + j * stride + first;
                        b[k++] = model[j + 1];
                    }
                if (k == 4)
                    for (i = 0; i < m; i++) to[i] = to[i] + b[0] * x[0][i] + b[1] * x[1][i] + b[2] * x[2][i] + b[3] * x[3][i];
                else if (k == 3)
                    for (i = 0; i < m; i++) to[i] = to[i] + b[0] * x[0][i] + b[1] * x[1][i] + b[2] * x[2][i];
                else if (k == 2)
                    for (i = 0; i < m; i++) to[i] = to[i] + b[0] * x[0][i] + b[1] * x[1][i];
                else if (k == 1)
                    for (i = 0; i < m; i++) to[i] += b[0] * x[0][i];
            }
            if (!y) continue;
            for (i = 0; i < m; i++) {
                double value = to[i] < floor ? floor : to[i];
                to[i] = value > ceiling ? ceiling : value;
            }
            for (i = 0; i + 4 <= m; i += 4)
                for (k = 0; k < 4; k++) s[k] += w[first + i + k] * fabs(y[first + i + k] - to[i + k]);
            for (; i < m; i++) s[0] += w[first + i] * fabs(y[first + i] - to[i]);
        }
        return (s[0] + s[1]) + (s[2] + s[3]);
    }
    """
    double dot "fasttree_dot"(const double* a, const double* b, int64_t n) noexcept nogil
    double predict_columns "fasttree_predict"(
        const double* model, const double* z, int64_t d, int64_t stride, int64_t n, const double* y, const double* w,
        double floor, double ceiling, double* out) noexcept nogil


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
    """The values of a model, intercept first, without bounds, on gathered rows."""
    predict_columns(model, z, s.d, s.n, n, NULL, NULL, 0, 0, out)


cdef inline void gather(const LineSamples* s, const int32_t* rows, Py_ssize_t n, const int32_t* features, int p,
                        double* z) noexcept nogil:
    """Gather the columns of some features, a few rows at a time."""
    cdef Py_ssize_t i, first = 0
    cdef int a
    cdef double* to
    cdef const double* x
    while first < n:
        for a in range(p):
            to, x = z + features[a] * s.n, s.side_by_side + features[a]
            for i in range(first, min(n, first + GATHERED)):
                to[i] = x[rows[i] * s.d]
        first += GATHERED


cdef inline void list_terms(const LineSamples* s, const double* model, ModelTerms* to) noexcept nogil:
    """List the features that have a coefficient."""
    cdef Py_ssize_t j
    to.n = 0
    for j in range(s.d):
        if model[j + 1] != 0:
            to.feature[to.n] = <int32_t> j
            to.n += 1


cdef inline double value_of(const LineSamples* s, const ModelTerms* terms, const double* model, Py_ssize_t row) noexcept nogil:
    """What a model predicts for a row, without bounds."""
    cdef double value = model[0]
    cdef const double* x = s.side_by_side + row * s.d
    cdef int a
    for a in range(terms.n):
        value += model[terms.feature[a] + 1] * x[terms.feature[a]]
    return value


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
    cdef double* columns = t.z + s.d * s.n                           # the weighted one, targets, weights, predictions
    return predict_columns(model, t.z, s.d, s.n, n, columns + s.n, columns + 2 * s.n, s.floor, s.ceiling,
                           columns + 3 * s.n) / weight


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
    cdef Py_ssize_t j
    cdef int p = 0, kept = 0, a
    cdef double deviation = 0, variance = 0, weight = t.gram[0]
    cdef const double* w = t.z + (s.d + 2) * s.n
    cdef const double* z
    for j in range(s.d):
        if allowed[j]:
            t.active[p] = <int32_t> j
            p += 1
    gather(s, rows, n, t.active, p, t.z)
    for a in range(p):
        if interrupted(t.watch, n * 4):
            break
        j = t.active[a]
        z = t.z + j * s.n
        deviations_of(z, dot(w, z, n) / weight, w, n, &deviation, &variance)
        if n > 1 and variance / weight * n / (n - 1) >= s.least_variance[j]:
            t.spread[j + 1] = deviation / weight
            t.active[kept] = <int32_t> j
            kept += 1
    return kept


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
