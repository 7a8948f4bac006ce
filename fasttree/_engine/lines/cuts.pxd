"""The best cut of a feature by lines on both sides, and the best division of categories.  Header only.

A side is judged by the deviation of residuals from a line in the feature, if the correlation is significant, or else from their
mean (Fisher, 95 %).
"""

from libc.math cimport HUGE_VAL, sqrt
from libc.stdint cimport int32_t, uint8_t

cdef enum:
    LEAST_SIDE = 3                    # rows of a side
    CUTS_AT_ONCE = 64


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


cdef struct SideMoments:                  # of one side of a few cuts
    double w[CUTS_AT_ONCE]
    double x[CUTS_AT_ONCE]
    double xx[CUTS_AT_ONCE]
    double r[CUTS_AT_ONCE]
    double rr[CUTS_AT_ONCE]
    double xr[CUTS_AT_ONCE]
    double factor[CUTS_AT_ONCE]
    double significant[CUTS_AT_ONCE]
    double judged[CUTS_AT_ONCE]


cdef inline void add(LineMoments* m, double x, double r, double w) noexcept nogil:
    cdef double wx = w * x, wr = w * r
    m.w += w
    m.x += wx
    m.xx += wx * x
    m.r += wr
    m.rr += wr * r
    m.xr += wx * r


cdef inline void note(const LineMoments* m, SideMoments* to, Py_ssize_t i) noexcept nogil:
    to.w[i], to.x[i], to.xx[i], to.r[i], to.rr[i], to.xr[i] = m.w, m.x, m.xx, m.r, m.rr, m.xr


cdef inline void look_up(const LineTables* u, Py_ssize_t k, SideMoments* to, Py_ssize_t i) noexcept nogil:
    to.factor[i], to.significant[i] = u.factor[k], u.significant[k]


cdef inline void judge(SideMoments* m, Py_ssize_t n, double softening, double steadiness) noexcept nogil:
    """The deviation of rows from their mean or a significant line times its weight, squared; -1 if rounding leaves none.

    There is no jump, so that two cuts or more are judged at once.
    """
    cdef Py_ssize_t i
    cdef double each, square, both, shared, along, judged
    for i in range(n):
        each = 1 / m.w[i]
        square = m.rr[i] - m.r[i] * m.r[i] * each
        both = (m.xx[i] - m.x[i] * m.x[i] * each) * square + steadiness * m.w[i] * m.w[i]
        shared = m.xr[i] - m.x[i] * m.r[i] * each
        shared *= shared
        along = square * (1 - shared / both)
        square = along if shared >= m.significant[i] * both else square
        judged = (square + softening) * m.w[i] * m.factor[i]
        m.judged[i] = -1 if both < 0 else judged


cdef inline void subtract(const LineMoments* whole, const SideMoments* below, SideMoments* above, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        above.w[i], above.x[i], above.xx[i] = whole.w - below.w[i], whole.x - below.x[i], whole.xx - below.xx[i]
        above.r[i], above.rr[i], above.xr[i] = whole.r - below.r[i], whole.rr - below.rr[i], whole.xr - below.xr[i]


cdef inline double best_cut(const Residuals* p, const LineTables* u, double* cut) noexcept nogil:
    """The gain of the best cut of a continuous feature; -1 if there is none."""
    cdef Py_ssize_t i, j, k = 0, place = -1
    cdef Py_ssize_t after[CUTS_AT_ONCE]                              # rows that cuts are behind
    cdef LineMoments low, whole
    cdef SideMoments below, above
    cdef double a, b, weight, gain, slack, least = HUGE_VAL, most = HUGE_VAL
    cdef const double* x = p.x
    cdef const double* r = p.r
    cdef const double* w = p.w
    low.w = low.x = low.xx = low.r = low.rr = low.xr = 0
    whole = low
    for i in range(p.n):
        add(&whole, x[i], r[i], w[i])
    weight = whole.w
    for i in range(p.n - p.least_side):
        add(&low, x[i], r[i], w[i])
        if i >= p.least_side - 1 and x[i + 1] > x[i]:
            note(&low, &below, k)
            look_up(u, i + 1, &below, k)
            look_up(u, p.n - i - 1, &above, k)
            after[k] = i
            k += 1
        if k < CUTS_AT_ONCE and i < p.n - p.least_side - 1:
            continue
        subtract(&whole, &below, &above, k)
        judge(&below, k, u.softening, p.steadiness)
        judge(&above, k, u.softening, p.steadiness)
        for j in range(k):
            a, b = below.judged[j], above.judged[j]
            slack = most - a - b                                     # squares of both sides spare most roots
            if a < 0 or b < 0 or slack <= 0 or 4 * a * b > slack * slack * wider():
                continue
            gain = sqrt(a) + sqrt(b)
            if gain < least:
                least, place = gain, after[j]
                most = least * least * wider()
        k = 0
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
