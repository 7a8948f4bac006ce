"""The best cut of a feature by lines on both sides, and the best division of categories.  Header only.

A side is judged by the deviation of residuals from a line in the feature, if the correlation is significant, or else from their
mean (Fisher, 95 %).
"""

from libc.math cimport HUGE_VAL, sqrt
from libc.stdint cimport int32_t, uint8_t

cdef enum:
    LEAST_SIDE = 3                    # rows of a side


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


cdef inline Cut best_cut(const double* x, const double* r, const double* w, Py_ssize_t n, Py_ssize_t edge, const Tables* u,
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


cdef inline double best_division(const int32_t* code, const double* r, const double* w, Py_ssize_t n, Py_ssize_t size, const Tables* u,
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


