"""Trees for rules with linear models, as Cubist grows them (Quinlan 1993): growth on residuals, models, smoothing, conditions.

**Growth.**  Below the root, a node is split by the residuals of a linear model of the features tested above it.  A cut of a
continuous feature x is judged by the residual deviations of both sides from a line in x, if the correlation is significant
(Fisher, 95 %), or else from their mean.  Lists of rows, sorted by each feature, are divided with the nodes.  Nodes grow breadth
first, each on a slice of the lists.

**Models.**  Least squares with terms that leave one by one, the one that moves predictions least first; the model of the least
estimated error is kept.  Rows far from it are left out, and the model is fitted once more.

Sums follow the order of the rows.  The caller gives rows in an order that depends on their values alone.
"""

from libc.math cimport HUGE_VAL, fabs, rint, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from fasttree._engine.arrays cimport doubles_of, int32s_of, memory_of

cdef enum:
    LEAST_SIDE = 3                    # rows of a side
    SIGNIFICANT_FROM = 6              # rows of a side that may have a line
    OUTLIER = 5                       # mean absolute residuals
    STEEPEST = 1000                   # mean absolute deviations of the target, of one term

cdef double ALMOST = 0.999            # of the largest gain: such a gain wins by its preference
cdef double LEAST_GAIN = -1e-4
cdef double LEAST_PIVOT = 1e-12
cdef double LEAST_SPREAD = 1e-12


cdef struct Samples:
    Py_ssize_t n, d                   # rows; continuous features
    const double* x                   # d columns of n values
    const double* y
    const double* w                   # weights, 1 on average
    const double* least_variance      # of each feature: below, it has no term
    double floor, ceiling             # predictions are moved between them


cdef struct Scratch:
    double* z                         # d + 4 columns of n values: features of a node, weighted column, target, weights, predictions
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


cdef inline double clamped(const Samples* s, double value) noexcept nogil:
    return s.floor if value < s.floor else s.ceiling if value > s.ceiling else value


cdef void predict_rows(const Samples* s, const double* model, const int32_t* rows, Py_ssize_t n, double* out) noexcept nogil:
    """The values of a model, intercept first, without bounds."""
    cdef Py_ssize_t i, j
    cdef const double* x
    cdef double b = model[0]
    for i in range(n):
        out[i] = b
    for j in range(s.d):
        b = model[j + 1]
        if b != 0:
            x = s.x + j * s.n
            for i in range(n):
                out[i] += b * x[rows[i]]


cdef bint solve(const double* gram, Py_ssize_t stride, int32_t* active, int* p, double* a, double* model) noexcept nogil:
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
        column = 0 if j == 0 else active[j - 1] + 1
        largest = 0
        for k in range(j + 1):
            row = 0 if k == 0 else active[k - 1] + 1
            largest = max(largest, fabs(gram[row * stride + column]))
        pivot = j
        for k in range(j + 1, size):
            if fabs(a[k * size + j]) > fabs(a[pivot * size + j]):
                pivot = k
        if fabs(a[pivot * size + j]) < size * largest * LEAST_PIVOT or a[pivot * size + j] == 0:
            regular = False
            if j:
                active[j - 1] = -1 - active[j - 1]
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


cdef void solve_some(const double* gram, Py_ssize_t stride, int32_t* active, int* p, double* a, double* model) noexcept nogil:
    while not solve(gram, stride, active, p, a, model):
        pass


cdef double mean_error(const Samples* s, Scratch* t, Py_ssize_t n, const int32_t* active, int p, const double* model) noexcept nogil:
    """The mean absolute error of a model on the gathered rows; the clamped predictions stay in the last column."""
    cdef double* out = t.z + (s.d + 3) * s.n
    cdef const double* y = t.z + (s.d + 1) * s.n
    cdef const double* w = t.z + (s.d + 2) * s.n
    cdef const double* z
    cdef double b, total = 0, weight = 0
    cdef Py_ssize_t i
    cdef int j
    for i in range(n):
        out[i] = model[0]
    for j in range(p):
        z, b = t.z + active[j] * s.n, model[active[j] + 1]
        for i in range(n):
            out[i] += b * z[i]
    for i in range(n):
        out[i] = clamped(s, out[i])
        total += w[i] * fabs(y[i] - out[i])
        weight += w[i]
    return total / weight


cdef void simplify(const Samples* s, Scratch* t, Py_ssize_t n, int* p, double* best) noexcept nogil:
    """Fit a model of the active features, and let terms leave; of those on the way, keep that of the least estimated error."""
    cdef Py_ssize_t stride = s.d + 1
    cdef int left, j, place
    cdef double least = -1, part, smallest, judged
    cdef bint steady
    cdef int32_t* active = t.active + s.d
    solve_some(t.gram, stride, t.active, p, t.system, t.model)
    left = p[0]
    memcpy(active, t.active, left * sizeof(int32_t))
    while True:
        steady, place, smallest = True, -1, 0
        for j in range(left):
            part = fabs(t.model[active[j] + 1] * t.spread[active[j] + 1])
            if place < 0 or part < smallest:
                place, smallest = j, part
            if part > STEEPEST * t.spread[0]:
                steady = False
        if steady and n >= 2 * left:
            judged = mean_error(s, t, n, active, left, t.model) * (n + left) / (n - left)
            if least < 0 or judged <= least:
                least = judged
                memcpy(best, t.model, stride * sizeof(double))
        if not left:
            return
        left -= 1
        for j in range(place, left):
            active[j] = active[j + 1]
        solve_some(t.gram, stride, active, &left, t.system, t.model)


cdef void fit(const Samples* s, Scratch* t, const int32_t* rows, Py_ssize_t n, const uint8_t* allowed, double* model) noexcept nogil:
    """Fit the model of some rows, with terms of some of the allowed features; `model` has the intercept first."""
    cdef Py_ssize_t i, j, k, kept = 0, stride = s.d + 1
    cdef int p = 0, a, b
    cdef double weight = 0, mean = 0, deviation, variance, error, bias = 0, value
    cdef double* y = t.z + (s.d + 1) * s.n
    cdef double* w = t.z + (s.d + 2) * s.n
    cdef double* out = t.z + (s.d + 3) * s.n
    cdef double* weighted = t.z + s.d * s.n
    cdef double* z
    cdef const double* x
    for i in range(n):
        y[i], w[i] = s.y[rows[i]], s.w[rows[i]]
        weight += w[i]
        mean += w[i] * y[i]
    mean /= weight
    for j in range(stride):
        model[j] = 0
    model[0] = mean
    for j in range(s.d):
        if not allowed[j]:
            continue
        z, x = t.z + j * s.n, s.x + j * s.n
        value = 0
        for i in range(n):
            z[i] = x[rows[i]]
            value += w[i] * z[i]
        value /= weight
        deviation = variance = 0
        for i in range(n):
            deviation += w[i] * fabs(z[i] - value)
            variance += w[i] * (z[i] - value) * (z[i] - value)
        if n > 1 and variance / weight * n / (n - 1) >= s.least_variance[j]:
            t.spread[j + 1] = deviation / weight
            t.active[p] = <int32_t> j
            p += 1
    if p < 1 or n < 2 * p:
        return
    deviation = 0
    for i in range(n):
        deviation += w[i] * fabs(y[i] - mean)
    t.spread[0] = deviation / weight
    t.gram[0] = weight
    t.gram[stride * stride] = mean * weight
    for a in range(p):
        j = t.active[a]
        z = t.z + j * s.n
        value = 0
        for i in range(n):
            weighted[i] = w[i] * z[i]
            value += weighted[i]
        t.gram[(j + 1) * stride] = t.gram[j + 1] = value
        t.gram[stride * stride + j + 1] = dot(weighted, y, n)
        for b in range(a + 1):
            k = t.active[b]
            t.gram[(j + 1) * stride + k + 1] = t.gram[(k + 1) * stride + j + 1] = dot(weighted, t.z + k * s.n, n)
    simplify(s, t, n, &p, model)
    b = 0
    for a in range(p):
        b += model[t.active[a] + 1] != 0
    if not b:
        return
    error = mean_error(s, t, n, t.active, p, model)
    for i in range(n):
        bias += w[i] * (y[i] - out[i])
    model[0] += bias / weight
    for i in range(n):
        if fabs(y[i] - out[i]) <= OUTLIER * error:
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
    if kept < n:
        simplify(s, t, kept, &p, model)


cdef struct Cut:
    double gain, cut


cdef struct Tables:                   # by the number of rows of a side
    const double* factor              # k / (k - 1)
    const double* significant         # the least significant squared correlation
    double softening                  # of a sum of squares
    const double* steadiness          # of each feature: keeps a correlation finite


cdef inline double side(const Tables* u, Py_ssize_t k, double w, double x, double xx, double y, double yy, double xy,
                        double steadiness) noexcept nogil:
    """The deviation of a side from its mean or a significant line, times its weight, squared; negative if rounding leaves none."""
    cdef double each = 1 / w
    cdef double square = yy - y * y * each
    cdef double both = (xx - x * x * each) * square + steadiness * w * w
    cdef double shared = xy - x * y * each
    if both < 0:
        return -1
    shared *= shared
    if shared >= u.significant[k] * both:
        square *= 1 - shared / both
    return (square + u.softening) * w * u.factor[k]


cdef Cut best_cut(const double* x, const double* r, const double* w, Py_ssize_t n, Py_ssize_t edge, const Tables* u,
                  double steadiness, double spread) noexcept nogil:
    """The best cut of a feature: `x` is sorted, `r` are residuals, and `spread` is their deviation."""
    cdef Cut found
    cdef Py_ssize_t i, place = -1
    cdef double lw = 0, lx = 0, lxx = 0, ly = 0, lyy = 0, lxy = 0
    cdef double hw = 0, hx = 0, hxx = 0, hy = 0, hyy = 0, hxy = 0
    cdef double a, b, weight, gain, least = HUGE_VAL
    found.gain, found.cut = -1, 0
    for i in range(n):
        a, b = w[i] * x[i], w[i] * r[i]
        hw += w[i]
        hx += a
        hxx += a * x[i]
        hy += b
        hyy += b * r[i]
        hxy += a * r[i]
    weight = hw
    for i in range(n - edge):
        a, b = w[i] * x[i], w[i] * r[i]
        lw += w[i]
        lx += a
        lxx += a * x[i]
        ly += b
        lyy += b * r[i]
        lxy += a * r[i]
        hw -= w[i]
        hx -= a
        hxx -= a * x[i]
        hy -= b
        hyy -= b * r[i]
        hxy -= a * r[i]
        if i < edge - 1 or not x[i + 1] > x[i]:
            continue
        a = side(u, i + 1, lw, lx, lxx, ly, lyy, lxy, steadiness)
        b = side(u, n - i - 1, hw, hx, hxx, hy, hyy, hxy, steadiness)
        if a < 0 or b < 0:
            continue
        gain = sqrt(a) + sqrt(b)
        if gain < least:
            least, place = gain, i
    if place >= 0 and spread - least / weight > 0:
        found.gain = spread - least / weight
        found.cut = 0.5 * (x[place] + x[place + 1])
        if not found.cut < x[place + 1]:
            found.cut = x[place]
    return found


cdef double best_division(const int32_t* code, const double* r, const double* w, Py_ssize_t n, Py_ssize_t size, const Tables* u,
                          double spread, double* sums, uint8_t* left) noexcept nogil:
    """The gain of the best division: categories leave the left side by decreasing mean.  `left` marks those that stay."""
    cdef double* count = sums
    cdef double* weight = sums + size
    cdef double* total = sums + 2 * size
    cdef double* square = sums + 3 * size
    cdef Py_ssize_t i, v, leaving, turn
    cdef double lk = n, lw = 0, ly = 0, lyy = 0, rk = 0, rw = 0, ry = 0, ryy = 0, a, b, gain, best = -1
    for i in range(4 * size):
        sums[i] = 0
    for i in range(n):
        v = code[i]
        count[v] += 1
        weight[v] += w[i]
        total[v] += w[i] * r[i]
        square[v] += w[i] * r[i] * r[i]
    for v in range(size):
        left[v] = 1 if count[v] > 0 else 0
        left[size + v] = 0
        lw += weight[v]
        ly += total[v]
        lyy += square[v]
    for turn in range(size):
        leaving = -1
        for v in range(size):
            if left[v] and (leaving < 0 or total[v] / weight[v] > total[leaving] / weight[leaving]):
                leaving = v
        if leaving < 0:
            break
        if size == 2:
            leaving = 1
        left[leaving] = 0
        lk -= count[leaving]
        lw -= weight[leaving]
        ly -= total[leaving]
        lyy -= square[leaving]
        rk += count[leaving]
        rw += weight[leaving]
        ry += total[leaving]
        ryy += square[leaving]
        if lk < LEAST_SIDE or rk < LEAST_SIDE:
            if size == 2:
                break
            continue
        a = lyy - ly * ly / lw + u.softening
        b = ryy - ry * ry / rw + u.softening
        gain = spread - (sqrt(max(a, 0) * lw * u.factor[<Py_ssize_t> lk])
                         + sqrt(max(b, 0) * rw * u.factor[<Py_ssize_t> rk])) / (lw + rw)
        if gain > best:
            best = gain
            for v in range(size):
                left[size + v] = left[v]
        if size == 2:
            break
    for v in range(size):
        left[v] = left[size + v]
    return best


cdef Samples samples_of(tuple given) except *:
    x, y, w, least_variance, floor, ceiling = given
    cdef Samples s
    cdef const double[:, ::1] columns = x
    s.d, s.n = columns.shape[0], columns.shape[1]
    s.x = &columns[0, 0] if s.d else NULL
    s.y, s.w, s.least_variance = doubles_of(y), doubles_of(w), doubles_of(least_variance)
    s.floor, s.ceiling = floor, ceiling
    return s


cdef Scratch scratch_of(const Samples* s, list kept):
    """Scratch in arrays, which `kept` keeps alive."""
    import numpy as np
    cdef Scratch t
    cdef Py_ssize_t size = s.d + 1
    for dtype, n in (("f8", (s.d + 4) * s.n), ("f8", size * (size + 1)), ("f8", size * (size + 1)), ("f8", size), ("f8", size),
                     ("i4", 2 * s.d + 1)):
        kept.append(np.zeros(n, dtype))
    t.z, t.gram, t.system = <double*> memory_of(kept[0]), <double*> memory_of(kept[1]), <double*> memory_of(kept[2])
    t.model, t.spread, t.active = <double*> memory_of(kept[3]), <double*> memory_of(kept[4]), <int32_t*> memory_of(kept[5])
    return t


cdef void part(int32_t* list_, Py_ssize_t n, const uint8_t* is_left, int32_t* room) noexcept nogil:
    """Divide a list of rows, those on the left first, without another change of their order."""
    cdef Py_ssize_t i, left = 0, right = 0
    for i in range(n):
        if is_left[list_[i]]:
            list_[left] = list_[i]
            left += 1
        else:
            room[right] = list_[i]
            right += 1
    memcpy(list_ + left, room, right * sizeof(int32_t))


def grow(tuple samples, const int32_t[:, ::1] codes, const int32_t[::1] sizes, int32_t[:, ::1] order, const int32_t[::1] turns,
         const double[::1] preference, tuple tables, const double[::1] choices, tuple nodes):
    """Grow a tree, and return the number of its nodes.

    Parameters
    ----------
    samples : tuple
        Columns, targets, weights, least variances, floor and ceiling.
    codes : int32 array of shape (n_nominal, n)
        Categories from 0.
    sizes : int32 array of shape (n_nominal,)
        Numbers of categories.
    order : int32 array of shape (n_continuous + 1, n)
        Rows sorted by each feature, then all rows; they are divided with the nodes.
    turns : int32 array of shape (n_continuous + n_nominal,)
        The features in the order of the table; nominal ones follow the continuous ones in numbers.
    preference : float64 array of shape (n_continuous + n_nominal,)
    tables : tuple of float64 arrays
        By the number of rows: k / (k - 1), and the least significant squared correlation; then a number for each feature that
        keeps its correlations finite.
    choices : float64 array
        Softening of sums of squares, largest negligible residual, least samples of a side of a large node.
    nodes : tuple of arrays
        Parent, feature (-1 at a leaf), first row and the one after the last, and cut,
        with room for all nodes.
    """
    import numpy as np
    cdef Samples s = samples_of(samples)
    cdef list kept = []
    cdef Scratch t = scratch_of(&s, kept)
    cdef Tables u
    cdef int32_t[::1] parent = nodes[0]
    cdef int32_t[::1] feature = nodes[1]
    cdef int64_t[::1] first = nodes[2]
    cdef int64_t[::1] stop = nodes[3]
    cdef double[::1] cut = nodes[4]
    cdef Py_ssize_t n_nominal = codes.shape[0], n_nodes = 1, node, i, j, v, turn, start, n, edge, n_left, least_cover
    cdef double[::1] residual = np.empty(s.n)
    cdef double[::1] values = np.empty(3 * s.n)
    cdef int32_t[::1] room = np.empty(s.n, np.int32)
    cdef uint8_t[::1] allowed = np.zeros(s.d + n_nominal + 1, np.uint8)
    cdef uint8_t[::1] is_left = np.zeros(s.n, np.uint8)
    cdef Py_ssize_t most = np.max(sizes, initial=2)
    cdef double[::1] sums = np.empty(4 * most)
    cdef uint8_t[::1] left = np.zeros(2 * most, np.uint8)
    cdef uint8_t[::1] chosen = np.zeros(most, np.uint8)
    cdef double[::1] model = np.zeros(s.d + 1)
    cdef double* xs = &values[0]
    cdef double* rs = xs + s.n
    cdef double* ws = rs + s.n
    cdef const int32_t* rows
    cdef int32_t* cs = &room[0]
    cdef double weight, total, square, largest, spread, gain, best
    cdef Cut found
    cdef int best_feature, row
    u.factor, u.significant, u.softening, u.steadiness = doubles_of(tables[0]), doubles_of(tables[1]), choices[0], doubles_of(tables[2])
    least_cover = <Py_ssize_t> choices[2]
    parent[0], feature[0], first[0], stop[0] = -1, -1, 0, s.n
    with nogil:
        node = 0
        while node < n_nodes:
            start, n = first[node], stop[node] - first[node]
            rows = &order[s.d, start]
            for j in range(s.d + n_nominal):
                allowed[j] = 0
            i = parent[node]
            while i >= 0:
                allowed[feature[i]] = 1
                i = parent[i]
            if node:
                fit(&s, &t, rows, n, &allowed[0], &model[0])
                predict_rows(&s, &model[0], rows, n, xs)
            weight = total = square = largest = 0
            for i in range(n):
                row = rows[i]
                gain = s.y[row] - clamped(&s, xs[i]) if node else s.y[row]
                residual[row] = gain
                weight += s.w[row]
                total += s.w[row] * gain
                square += s.w[row] * gain * gain
                largest = max(largest, fabs(gain))
            best, best_feature = LEAST_GAIN, -1
            if n >= 2 * LEAST_SIDE and largest >= choices[1]:
                spread = sqrt(max(square - total * total / weight + u.softening, 0) / weight * u.factor[n])
                edge = least_cover if n >= 3 * least_cover else LEAST_SIDE
                for turn in range(s.d + n_nominal):
                    j = turns[turn]
                    if j < s.d:
                        rows = &order[j, start]
                        for i in range(n):
                            xs[i], rs[i], ws[i] = s.x[j * s.n + rows[i]], residual[rows[i]], s.w[rows[i]]
                        if not xs[n - 1] > xs[0]:
                            continue
                        found = best_cut(xs, rs, ws, n, edge, &u, u.steadiness[j], spread)
                        gain = found.gain
                    else:
                        v = j - s.d
                        if sizes[v] == 2 and allowed[j]:
                            continue
                        rows = &order[s.d, start]
                        for i in range(n):
                            cs[i], rs[i], ws[i] = codes[v, rows[i]], residual[rows[i]], s.w[rows[i]]
                        gain = best_division(cs, rs, ws, n, sizes[v], &u, spread, &sums[0], &left[0])
                    gain = <float> gain        # gains are equal that differ by rounding
                    if gain > LEAST_GAIN and (gain > best or (
                            best_feature >= 0 and gain > ALMOST * best and preference[j] > preference[best_feature])):
                        best, best_feature = gain, <int> j
                        if j < s.d:
                            cut[node] = found.cut
                        else:
                            memcpy(&chosen[0], &left[0], sizes[v])
            if best_feature >= 0:
                rows, n_left = &order[s.d, start], 0
                for i in range(n):
                    row = rows[i]
                    if best_feature < s.d:
                        is_left[row] = s.x[best_feature * s.n + row] <= cut[node]
                    else:
                        is_left[row] = chosen[codes[best_feature - s.d, row]]
                    n_left += is_left[row]
                for j in range(s.d + 1):
                    part(&order[j, start], n, &is_left[0], &room[0])
                feature[node] = best_feature
                for i in range(2):
                    parent[n_nodes + i], feature[n_nodes + i] = <int32_t> node, -1
                    first[n_nodes + i] = start + (n_left if i else 0)
                    stop[n_nodes + i] = start + (n if i else n_left)
                n_nodes += 2
            node += 1
    return n_nodes


def fit_nodes(tuple samples, const int32_t[::1] rows, const int64_t[::1] first, const int64_t[::1] stop,
              const uint8_t[:, ::1] allowed, double[:, ::1] models):
    """Fit the model of each node on its slice of the rows, with terms of the features that it allows."""
    cdef Samples s = samples_of(samples)
    cdef list kept = []
    cdef Scratch t = scratch_of(&s, kept)
    cdef Py_ssize_t i
    with nogil:
        for i in range(first.shape[0]):
            fit(&s, &t, &rows[first[i]], stop[i] - first[i], &allowed[i, 0] if s.d else NULL, &models[i, 0])


cdef void predict_gathered(const Samples* s, const double* model, const double* z, Py_ssize_t n, double* out) noexcept nogil:
    """The values of a model, intercept first, without bounds, on gathered rows."""
    cdef Py_ssize_t i, j
    cdef double b = model[0]
    for i in range(n):
        out[i] = b
    for j in range(s.d):
        b = model[j + 1]
        if b != 0:
            for i in range(n):
                out[i] += b * z[j * s.n + i]


cdef double errors_of(const Samples* s, const double* raw, const double* y, const double* w, Py_ssize_t n,
                      double* out) noexcept nogil:
    """The errors of clamped predictions, and their variance."""
    cdef Py_ssize_t i
    cdef double weight = 0, total = 0, square = 0
    for i in range(n):
        out[i] = y[i] - clamped(s, raw[i])
        weight += w[i]
        total += w[i] * out[i]
        square += w[i] * out[i] * out[i]
    return max((square - total * total / weight) / weight * n / (n - 1.0), 1e-38) if n > 1 else 1e-38


cdef double lower_median(double* value, double* weight, Py_ssize_t n, double want) noexcept nogil:
    """The least value up to which there is the weight `want`; both arrays are reordered."""
    cdef Py_ssize_t low = 0, high = n - 1, i, middle, last
    cdef double pivot, below, equal
    while low < high:
        pivot, below, equal = value[(low + high) // 2], 0, 0
        middle, i, last = low, low, high
        while i <= last:
            if value[i] < pivot:
                below += weight[i]
                value[i], value[middle] = value[middle], value[i]
                weight[i], weight[middle] = weight[middle], weight[i]
                middle += 1
                i += 1
            elif value[i] > pivot:
                value[i], value[last] = value[last], value[i]
                weight[i], weight[last] = weight[last], weight[i]
                last -= 1
            else:
                equal += weight[i]
                i += 1
        if want <= below:
            high = middle - 1
        elif want > below + equal and last < high:
            want -= below + equal
            low = last + 1
        else:
            return pivot
    return value[low]


def smooth(tuple samples, const int32_t[::1] rows, const int64_t[::1] first, const int64_t[::1] stop, const int32_t[::1] parent,
           const double[:, ::1] raw, const double[:, ::1] units, double[:, ::1] models, double[::1] errors):
    """Mix the model of each node with those above it, round it, and take the median of its errors off.

    Going up, each parent's model gets the share that makes the variance of the errors least.  Coefficients below ``units[0]`` are
    0, others multiples of ``units[1]``, and intercepts too; the intercept is first.

    Parameters
    ----------
    raw : float64 array of shape (n_nodes, d + 1)
        The models as fitted, intercept first; `models` gets the others, and `errors` their sums of absolute errors.
    """
    import numpy as np
    cdef Samples s = samples_of(samples)
    cdef double[::1] room = np.empty((s.d + 6) * s.n)
    cdef double* z = &room[0]
    cdef double* w = z + s.d * s.n
    cdef double* y = w + s.n
    cdef double* own = y + s.n
    cdef double* theirs = own + s.n
    cdef double* error = theirs + s.n
    cdef double* other = error + s.n
    cdef const int32_t* of_node
    cdef Py_ssize_t node, i, j, n, above
    cdef double variance, wider, weight, a, b, ab, share, value, covariance
    with nogil:
        for node in range(first.shape[0]):
            n, of_node = stop[node] - first[node], &rows[first[node]]
            for j in range(s.d + 1):
                models[node, j] = raw[node, j]
            weight = 0
            for i in range(n):
                w[i], y[i] = s.w[of_node[i]], s.y[of_node[i]]
                weight += w[i]
            for j in range(s.d):
                for i in range(n):
                    z[j * s.n + i] = s.x[j * s.n + of_node[i]]
            predict_gathered(&s, &models[node, 0], z, n, own)
            variance = errors_of(&s, own, y, w, n, error)
            above = parent[node]
            while n > 2 and variance > LEAST_SPREAD and above >= 0:
                predict_gathered(&s, &raw[above, 0], z, n, theirs)
                wider = errors_of(&s, theirs, y, w, n, other)
                a = dot(w, error, n)
                b = dot(w, other, n)
                for i in range(n):
                    other[i] *= w[i]
                ab = dot(error, other, n)
                covariance = (ab - a * b / weight) / weight * n / (n - 1.0)
                value = variance + wider - 2 * covariance
                share = 1 if value <= LEAST_SPREAD else (wider - covariance) / value
                if 0 < share < 1:
                    for j in range(s.d + 1):
                        models[node, j] = models[node, j] * share + raw[above, j] * (1 - share)
                    for i in range(n):
                        own[i] = own[i] * share + theirs[i] * (1 - share)
                    variance = errors_of(&s, own, y, w, n, error)
                above = parent[above]
            for j in range(1, s.d + 1):
                value = models[node, j]
                models[node, j] = 0 if fabs(value) < units[0, j] else rint(value / units[1, j]) * units[1, j]
            predict_gathered(&s, &models[node, 0], z, n, own)
            for i in range(n):
                error[i], other[i] = own[i] - y[i], w[i]
            models[node, 0] -= lower_median(error, other, n, weight / 2)
            models[node, 0] = rint(models[node, 0] / units[1, 0]) * units[1, 0]
            predict_gathered(&s, &models[node, 0], z, n, own)
            value = 0
            for i in range(n):
                value += w[i] * fabs(y[i] - own[i])
            errors[node] = value


def drop_conditions(const uint8_t[:, ::1] fails, const double[::1] gain, const double[::1] w, uint8_t[::1] dropped,
                    double[::1] joined, int32_t[::1] count):
    """Drop conditions of a rule while the rows that fail one alone gain by joining; one condition stays.

    Parameters
    ----------
    fails : uint8 array of shape (n_conditions, n)
    gain : float64 array of shape (n,)
        By how much the weighted error of each row falls if the rule joins the mean of its predictions.
    w : float64 array of shape (n,)
    dropped : uint8 array of shape (n_conditions,)
        Gets the conditions that are dropped.
    joined : float64 array of shape (n_conditions,)
        Gets the weight of the rows that fail this condition alone.
    count : int32 array of shape (n,)
        Gets the number of conditions that each row fails, without those that are dropped.
    """
    import numpy as np
    cdef Py_ssize_t n = fails.shape[1], size = fails.shape[0], i, d, best, left = size
    cdef int32_t[::1] places = np.zeros(n, np.int32)        # the sum of the numbers of the conditions that a row fails
    cdef double[::1] total = np.zeros(size)
    with nogil:
        for i in range(n):
            count[i] = 0
        for d in range(size):
            joined[d], dropped[d] = 0, 0
            for i in range(n):
                count[i] += fails[d, i]
                places[i] += fails[d, i] * <int32_t> d
        for i in range(n):
            if count[i] == 1:
                total[places[i]] += gain[i]
                joined[places[i]] += w[i]
        while left > 1:
            best = -1
            for d in range(size):
                if not dropped[d] and total[d] >= 0 and (best < 0 or total[d] > total[best]):
                    best = d
            if best < 0:
                break
            dropped[best] = 1
            left -= 1
            for i in range(n):
                if fails[best, i]:
                    count[i] -= 1
                    places[i] -= <int32_t> best
                    if count[i] == 1:
                        total[places[i]] += gain[i]
                        joined[places[i]] += w[i]
