"""The best cut of a feature by lines on both sides, and the best division of categories.  Header only.

A side is judged by the deviation of residuals from a line in the feature, if the correlation is significant, or else from their
mean (Fisher, 95 %).
"""

from libc.math cimport HUGE_VAL, sqrt
from libc.stdint cimport int32_t, uint8_t

cdef enum:
    LEAST_SIDE = 3                    # rows of a side


cdef inline double wider() noexcept nogil:
    """More than the rounding of a few operations."""
    return 1 + 1e-14


cdef struct LineTables:               # by the number of rows of a side
    const double* factor              # k / (k - 1)
    const double* significant         # the least significant squared correlation
    double softening                  # of a sum of squares


cdef struct Residuals:                    # of the rows of a node, and a feature
    Py_ssize_t n, least_side          # rows, and those of a side
    double spread                     # deviation of the residuals
    double* x                         # sorted
    int32_t* code                     # instead of `x`, of a nominal feature
    double* r
    double* w
    double steadiness                 # of the feature: keeps a correlation finite


cdef struct LineMoments:                  # sums of weights and products
    double w, x, xx, r, rr, xr


cdef inline void add(LineMoments* m, double x, double r, double w) noexcept nogil:
    cdef double wx = w * x, wr = w * r
    m.w += w
    m.x += wx
    m.xx += wx * x
    m.r += wr
    m.rr += wr * r
    m.xr += wx * r


cdef inline void take(LineMoments* m, double x, double r, double w) noexcept nogil:
    cdef double wx = w * x, wr = w * r
    m.w -= w
    m.x -= wx
    m.xx -= wx * x
    m.r -= wr
    m.rr -= wr * r
    m.xr -= wx * r


cdef inline double deviation_of(const LineMoments* m, Py_ssize_t k, const LineTables* u, double steadiness) noexcept nogil:
    """The deviation of k rows from their mean or a significant line times its weight, squared; -1 if rounding leaves none."""
    cdef double each = 1 / m.w
    cdef double square = m.rr - m.r * m.r * each
    cdef double both = (m.xx - m.x * m.x * each) * square + steadiness * m.w * m.w
    cdef double shared = m.xr - m.x * m.r * each
    if both < 0:
        return -1
    shared *= shared
    if shared >= u.significant[k] * both:
        square *= 1 - shared / both
    return (square + u.softening) * m.w * u.factor[k]


cdef inline double best_cut(const Residuals* p, const LineTables* u, double* cut) noexcept nogil:
    """The gain of the best cut of a continuous feature; -1 if there is none."""
    cdef Py_ssize_t i, place = -1
    cdef LineMoments low, high
    cdef double a, b, weight, gain, slack, least = HUGE_VAL, most = HUGE_VAL
    cdef const double* x = p.x
    cdef const double* r = p.r
    cdef const double* w = p.w
    low.w = low.x = low.xx = low.r = low.rr = low.xr = 0
    high = low
    for i in range(p.n):
        add(&high, x[i], r[i], w[i])
    weight = high.w
    for i in range(p.n - p.least_side):
        add(&low, x[i], r[i], w[i])
        take(&high, x[i], r[i], w[i])
        if i < p.least_side - 1 or not x[i + 1] > x[i]:
            continue
        a = deviation_of(&low, i + 1, u, p.steadiness)
        b = deviation_of(&high, p.n - i - 1, u, p.steadiness)
        if a < 0 or b < 0:
            continue
        slack = most - a - b                                     # squares of both sides spare most roots
        if slack <= 0 or 4 * a * b > slack * slack * wider():
            continue
        gain = sqrt(a) + sqrt(b)
        if gain < least:
            least, place = gain, i
            most = least * least * wider()
    if place < 0 or not p.spread - least / weight > 0:
        return -1
    cut[0] = 0.5 * (x[place] + x[place + 1])
    if not cut[0] < x[place + 1]:
        cut[0] = x[place]
    return p.spread - least / weight


cdef inline double best_division(const Residuals* p, const LineTables* u, Py_ssize_t size, double* sums,
                                 uint8_t* left) noexcept nogil:
    """The gain of the best division: categories leave the left side by decreasing mean.  `left` marks those that stay."""
    cdef double* count = sums
    cdef double* weight = sums + size
    cdef double* total = sums + 2 * size
    cdef double* square = sums + 3 * size
    cdef Py_ssize_t i, v, leaving, _
    cdef double lk = p.n, lw = 0, ly = 0, lyy = 0, rk = 0, rw = 0, ry = 0, ryy = 0, a, b, gain, best = -1
    for i in range(4 * size):
        sums[i] = 0
    for i in range(p.n):
        v = p.code[i]
        count[v] += 1
        weight[v] += p.w[i]
        total[v] += p.w[i] * p.r[i]
        square[v] += p.w[i] * p.r[i] * p.r[i]
    for v in range(size):
        left[v] = 1 if count[v] > 0 else 0
        left[size + v] = 0
        lw += weight[v]
        ly += total[v]
        lyy += square[v]
    for _ in range(size):
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
        a = sqrt(max(a, 0) * lw * u.factor[<Py_ssize_t> lk])
        b = sqrt(max(b, 0) * rw * u.factor[<Py_ssize_t> rk])
        gain = p.spread - (a + b) / (lw + rw)
        if gain > best:
            best = gain
            for v in range(size):
                left[size + v] = left[v]
        if size == 2:
            break
    for v in range(size):
        left[v] = left[size + v]
    return best
