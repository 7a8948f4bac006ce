"""Categories of a feature for CHAID: their tables of classes, and the merges of the most similar ones (Kass 1980).

Kernels trust their caller: every check is at the edge, in Python.
"""

from libc.math cimport INFINITY, erfc, exp, fmax, lgamma, log, sqrt
from libc.stdint cimport int64_t

from fasttree._engine.scan.tiles cimport AHEAD
from fasttree._engine.types cimport code_t, prefetch

cdef double PI = 3.141592653589793
cdef double LARGE = 600.0  # half a statistic from which tails are computed as logarithms


def add_cells(const code_t[:] codes, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] label, const double[::1] weight,
              double[:, ::1] out):
    """Add the weight of each row to out[code, label].

    Without `rows`, they are all in order; without `label`, it is 0, and without `weight`, it is 1.  Labels and weights are in the
    order of the rows.
    """
    cdef Py_ssize_t i, row
    cdef Py_ssize_t n = codes.shape[0] if rows is None else rows.shape[0]
    cdef bint some = rows is not None
    cdef bint labelled = label is not None
    cdef bint weighted = weight is not None
    with nogil:
        for i in range(n):
            row = rows[i] if some else i
            out[codes[row], label[i] if labelled else 0] += weight[i] if weighted else 1.0


def add_features(const code_t[:, ::1] codes, const Py_ssize_t[::1] starts, const Py_ssize_t[::1] rows,
                 const Py_ssize_t[::1] label, const double[::1] weight, double[:, ::1] out):
    """Add the weight of each row to out[starts[j] + codes[row, j], label[row]], for each feature j.

    Without `rows`, they are all, and without `weight`, it is 1.  `out` comes with zeros.
    """
    cdef Py_ssize_t i, j, row, ahead
    cdef Py_ssize_t n_features = codes.shape[1]
    cdef Py_ssize_t n_classes = out.shape[1]
    cdef Py_ssize_t n = codes.shape[0] if rows is None else rows.shape[0]
    cdef const Py_ssize_t* start = &starts[0]
    cdef const code_t* code
    cdef double* of_class
    cdef int64_t* counts = <int64_t*> &out[0, 0]       # without weights, 0 as a double; whole numbers add up faster
    cdef int64_t* of_counts
    cdef double w
    with nogil:
        for i in range(n):
            row = i
            if rows is not None:
                row, ahead = rows[i], rows[min(i + AHEAD, n - 1)]
                prefetch(&codes[ahead, 0])
                prefetch(&codes[ahead, n_features - 1])
                prefetch(&label[ahead])
            code = &codes[row, 0]
            if weight is None:
                of_counts = counts + label[row]
                for j in range(n_features):
                    of_counts[(start[j] + code[j]) * n_classes] += 1
                continue
            w = weight[row]
            of_class = &out[0, label[row]]
            for j in range(n_features):
                of_class[(start[j] + code[j]) * n_classes] += w
        if weight is None:
            for i in range(out.shape[0] * n_classes):
                (&out[0, 0])[i] = <double> counts[i]


def divide_rows(const code_t[:] codes, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] branch_of, Py_ssize_t[::1] ends,
                Py_ssize_t[::1] out):
    """Write the rows to `out`, those of each branch together and in order; without `rows`, they are all.

    `branch_of` has the branch of each code.  `ends` comes with zeros, and holds the end of each branch afterwards.
    """
    cdef Py_ssize_t i, row, branch
    cdef Py_ssize_t start = 0
    cdef Py_ssize_t n = out.shape[0]
    with nogil:
        for i in range(n):
            ends[branch_of[codes[rows[i] if rows is not None else i]]] += 1
        for branch in range(ends.shape[0]):
            start += ends[branch]
            ends[branch] = start - ends[branch]
        for i in range(n):
            row = rows[i] if rows is not None else i
            branch = branch_of[codes[row]]
            out[ends[branch]] = row
            ends[branch] += 1


cdef double log_tail(double statistic, int df) noexcept nogil:
    """Logarithm of the upper tail of chi-square: a finite sum, as the degrees of freedom are whole."""
    cdef double z = statistic / 2
    cdef double first, term, total, power
    cdef int i
    if df <= 0:
        return 0.0
    cdef double half = 0.5 if df % 2 else 0.0          # terms are z**(i - half) / gamma(i + 1 - half)
    cdef int n = df // 2                               # of them
    if z < LARGE:
        total = erfc(sqrt(z)) if df % 2 else 0.0
        if n == 0:
            return log(total) if total < 1 else 0.0
        term = exp(-z) if df % 2 == 0 else 2 * sqrt(z / PI) * exp(-z)
        for i in range(n):
            total += term
            term *= z / (i + 1.0 + half)
        return log(total) if total < 1 else 0.0
    # erfc(sqrt(z)) exp(z), which the asymptotic series gives to the last digits
    first = (1 - (1 - 1.5 / z * (1 - 2.5 / z * (1 - 3.5 / z))) / (2 * z)) / sqrt(PI * z) if df % 2 else 0.0
    if n == 0:
        return log(first) - z
    power = n - 1 + half
    total = term = 1.0
    for i in range(n - 1, 0, -1):
        term *= (i + half) / z
        total += term
    return log(total + first * exp(lgamma(power + 1) - power * log(z))) + power * log(z) - lgamma(power + 1) - z


cdef inline double compare_two(const double* one, const double* other, double n, double m, int* df) noexcept nogil:
    """Pearson's statistic of two groups of weights n and m in a table of two classes."""
    cdef double first = one[0] + other[0]
    cdef double second = one[1] + other[1]
    cdef double difference = one[0] * other[1] - one[1] * other[0]
    df[0] = first > 0 and second > 0
    return difference * difference / (first * second) * ((n + m) / (n * m)) if df[0] else 0.0


cdef double compare(const double* one, const double* other, Py_ssize_t n_classes, bint by_likelihood, int* df) noexcept nogil:
    """The statistic of two groups; classes that neither has do not count."""
    cdef double n = 0.0
    cdef double m = 0.0
    cdef double statistic = 0.0
    cdef double both, difference, share
    cdef Py_ssize_t k
    for k in range(n_classes):
        n += one[k]
        m += other[k]
    if n_classes == 2 and not by_likelihood:
        return compare_two(one, other, n, m, df)
    df[0] = -1
    for k in range(n_classes):
        both = one[k] + other[k]
        if both <= 0:
            continue
        df[0] += 1
        if by_likelihood:
            share = both / (n + m)
            if one[k] > 0:
                statistic += 2 * one[k] * log(one[k] / (n * share))
            if other[k] > 0:
                statistic += 2 * other[k] * log(other[k] / (m * share))
        else:
            difference = one[k] * m - other[k] * n
            statistic += difference * difference / both
    return fmax(statistic, 0.0) if by_likelihood else statistic / (n * m)


cdef enum:
    GONE = -1


# With two classes, a pair has at most one degree of freedom, so that its p-value decreases with the statistic.  Tails are then
# computed only for pairs near the smallest statistic of a group: for the others, rounding cannot make up for the distance.
cdef double NEAR = 1e-9
cdef double NEAR_ZERO = 1e-12


cdef struct Pairs:
    double* rows               # by place and class
    Py_ssize_t n_classes
    Py_ssize_t n               # places; a group has that of its first category
    bint by_likelihood
    bint ordered               # neighbours alone may merge
    bint lazy                  # tails are computed for pairs near the smallest statistic alone
    double* statistic          # by two places, the lower one first
    double* key                # log p
    Py_ssize_t* best           # by place: the higher one of its largest key, the first of ties; GONE after a merge into another


cdef void test_pair(const Pairs* p, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    cdef int df = 0
    cdef Py_ssize_t at = i * p.n + j
    p.statistic[at] = compare(p.rows + i * p.n_classes, p.rows + j * p.n_classes, p.n_classes, p.by_likelihood, &df)
    if not p.lazy:
        p.key[at] = log_tail(p.statistic[at], df)


cdef double near(double statistic) noexcept nogil:
    """The statistic below which p-values may be as large as that of another one."""
    return statistic + NEAR * statistic + NEAR_ZERO


cdef Py_ssize_t next_of(const Pairs* p, Py_ssize_t i) noexcept nogil:
    """The place of the next group; n: there is none."""
    i += 1
    while i < p.n and p.best[i] == GONE:
        i += 1
    return i


cdef void find_best(const Pairs* p, Py_ssize_t i) noexcept nogil:
    """The best partner of a group among those after it; i: it has none."""
    cdef Py_ssize_t j = next_of(p, i)
    p.best[i] = j if j < p.n else i
    if p.ordered or p.best[i] == i:
        return
    if p.lazy:
        find_nearest(p, i)
        return
    while j < p.n:
        if p.key[i * p.n + j] > p.key[i * p.n + p.best[i]]:
            p.best[i] = j
        j = next_of(p, j)


cdef void find_nearest(const Pairs* p, Py_ssize_t i) noexcept nogil:
    """Do the same by the statistics."""
    cdef const double* statistic = p.statistic + i * p.n
    cdef double* key = p.key + i * p.n
    cdef double least = INFINITY
    cdef Py_ssize_t first = next_of(p, i)
    cdef Py_ssize_t j = first
    while j < p.n:
        if statistic[j] < least:
            least = statistic[j]
        j = next_of(p, j)
    least = near(least)
    p.best[i] = GONE
    j = first
    while j < p.n:
        if statistic[j] <= least:
            key[j] = log_tail(statistic[j], 1)
            if p.best[i] == GONE or key[j] > key[p.best[i]]:
                p.best[i] = j
        j = next_of(p, j)
    if p.best[i] == GONE:  # weights so large that no statistic is a number
        p.best[i], key[first] = first, log_tail(statistic[first], 1)


cdef void test_after(const Pairs* p, Py_ssize_t i) noexcept nogil:
    """Test a group with those after it."""
    cdef Py_ssize_t j = next_of(p, i)
    while j < p.n:
        test_pair(p, i, j)
        if p.ordered:
            break
        j = next_of(p, j)
    find_best(p, i)


cdef void join(const Pairs* p, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    """Merge two groups, and test the pairs of the new one."""
    cdef Py_ssize_t i, k
    for k in range(p.n_classes):
        p.rows[low * p.n_classes + k] += p.rows[high * p.n_classes + k]
    p.best[high] = GONE
    test_after(p, low)
    for i in range(high):
        if p.best[i] == GONE or i == low:
            continue
        if p.ordered:
            if next_of(p, i) == low:
                test_pair(p, i, low)
            continue
        if i < low:
            test_pair(p, i, low)
        if p.best[i] == low or p.best[i] == high:
            find_best(p, i)
        elif i < low and is_better(p, i, low):
            p.best[i] = low


cdef bint is_better(const Pairs* p, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
    """Whether a group is a better partner than the best one so far, or as good and before it."""
    cdef Py_ssize_t at = i * p.n + j
    if p.lazy:
        if p.statistic[at] > near(p.statistic[i * p.n + p.best[i]]):
            return False
        p.key[at] = log_tail(p.statistic[at], 1)
    cdef double now = p.key[at]
    cdef double before = p.key[i * p.n + p.best[i]]
    return now > before or (now == before and j < p.best[i])


cdef void test_all(const Pairs* p) noexcept nogil:
    """Make each category a group, and test all pairs."""
    cdef Py_ssize_t i
    for i in range(p.n):
        p.best[i] = i
    for i in range(p.n):
        test_after(p, i)


cdef Py_ssize_t most_similar(const Pairs* p, double least) noexcept nogil:
    """The lower place of the pair with the largest p-value, the first of ties; GONE: no logarithm is above `least`."""
    cdef double largest = -INFINITY
    cdef Py_ssize_t low = 0
    cdef Py_ssize_t i
    for i in range(p.n):
        if p.best[i] > i and p.key[i * p.n + p.best[i]] > largest:
            largest, low = p.key[i * p.n + p.best[i]], i
    return low if largest > least else GONE


def merge_classes(double[:, ::1] table, bint by_likelihood, bint ordered, double least, double[:, :, ::1] tests,
                  Py_ssize_t[::1] best, Py_ssize_t[:, ::1] steps):
    """Merge the most similar pair of groups while the logarithm of its p-value is above `least` and there are more than two.

    Parameters
    ----------
    table : float64 array of shape (n, n_classes)
        Weights of classes by category; changed.
    by_likelihood, ordered : bool
        The statistic of the likelihood ratio in the place of Pearson's; merges of neighbours alone.
    least : float
    tests : float64 array of shape (2, n, n)
        Statistic and logarithm of the p-value of each merge, at the places of its groups.
    best : intp array of shape (n,)
        Room.
    steps : intp array of shape (n, 2)
        The places of the two groups that merge, those of their first categories.

    Returns
    -------
    n_steps : int
    """
    cdef Pairs p
    cdef Py_ssize_t low
    cdef Py_ssize_t n_steps = 0
    p.rows, p.n_classes, p.n = &table[0, 0], table.shape[1], table.shape[0]
    p.statistic, p.key, p.best = &tests[0, 0, 0], &tests[1, 0, 0], &best[0]
    p.by_likelihood, p.ordered, p.lazy = by_likelihood, ordered, p.n_classes == 2 and not ordered
    with nogil:
        test_all(&p)
        while n_steps + 2 < p.n:
            low = most_similar(&p, least)
            if low == GONE:
                break
            steps[n_steps, 0], steps[n_steps, 1] = low, p.best[low]
            n_steps += 1
            join(&p, low, p.best[low])
    return n_steps


cdef enum:
    CATEGORIES, GROUPS, STATISTIC, DF, LOG_P


cdef void test_groups(const Pairs* p, bint with_tail, double* total, double* found) noexcept nogil:
    """Test all groups together; `total` is room for the weight of each class."""
    cdef double weight = 0.0
    cdef double statistic = 0.0
    cdef double row, expected, cell
    cdef Py_ssize_t i, k
    cdef int n_groups = 0
    cdef int n_present = 0
    for k in range(p.n_classes):
        total[k] = 0.0
    for i in range(p.n):
        if p.best[i] == GONE:
            continue
        n_groups += 1
        for k in range(p.n_classes):
            total[k] += p.rows[i * p.n_classes + k]
    for k in range(p.n_classes):
        weight += total[k]
        n_present += total[k] > 0
    for i in range(p.n):
        if p.best[i] == GONE:
            continue
        row = 0.0
        for k in range(p.n_classes):
            row += p.rows[i * p.n_classes + k]
        for k in range(p.n_classes):
            if total[k] <= 0:
                continue
            expected = row * total[k] / weight
            cell = p.rows[i * p.n_classes + k]
            if not p.by_likelihood:
                statistic += (cell - expected) * (cell - expected) / expected
            elif cell > 0:
                statistic += 2 * cell * log(cell / expected)
    found[GROUPS] = n_groups
    found[STATISTIC] = fmax(statistic, 0.0)
    found[DF] = (n_groups - 1) * fmax(n_present - 1, 0)
    found[LOG_P] = log_tail(found[STATISTIC], <int> found[DF]) if with_tail else 0.0


cdef Py_ssize_t copy_present(const double* cells, Py_ssize_t n, Py_ssize_t n_classes, double* rows) noexcept nogil:
    """Copy the categories that occur; their number."""
    cdef Py_ssize_t n_present = 0
    cdef Py_ssize_t i, k
    cdef double weight
    for i in range(n):
        weight = 0.0
        for k in range(n_classes):
            rows[n_present * n_classes + k] = cells[i * n_classes + k]
            weight += cells[i * n_classes + k]
        n_present += weight > 0
    return n_present


def test_features(const double[:, ::1] cells, const Py_ssize_t[::1] starts, const unsigned char[::1] ordered,
                  bint by_likelihood, bint with_tail, double least, tuple room):
    """Merge the categories of each feature as `merge_classes` does, and return the tests of the groups that are left.

    Parameters
    ----------
    cells : float64 array of shape (starts[-1], n_classes)
        Weights of classes by category, of one feature after the other; a category without weight does not count.
    starts : intp array of shape (n_features + 1,)
    ordered : uint8 array of shape (n_features,)
    by_likelihood : bool
    with_tail : bool
        Whether to compute the p-value of the groups; always, if `least` is minus infinity.
    least : float
        Minus infinity: merge until two groups are left, and report the groups of the smallest p-value on the way.
    room : tuple of arrays of shapes (n + 1, n_classes), (2, n, n) and (n,)
        Scratch for n categories, as many as any feature has.

    Returns
    -------
    float64 array of shape (n_features, 5)
        Categories, groups, statistic, degrees of freedom, and the logarithm of the p-value, if it is computed.
    """
    import numpy as np
    cdef double[:, ::1] rows = room[0]
    cdef double[:, :, ::1] tests = room[1]
    cdef Py_ssize_t[::1] best = room[2]
    out = np.zeros((ordered.shape[0], 5))
    cdef double[:, ::1] found = out
    cdef Pairs p
    cdef Py_ssize_t f, low, n_left, k
    cdef Py_ssize_t n_classes = cells.shape[1]
    cdef double[5] now
    cdef double* total = &rows[rows.shape[0] - 1, 0]
    cdef bint exhaustive = least == -INFINITY
    p.rows, p.n_classes, p.by_likelihood = &rows[0, 0], n_classes, by_likelihood
    p.statistic, p.key, p.best = &tests[0, 0, 0], &tests[1, 0, 0], &best[0]
    with nogil:
        for f in range(ordered.shape[0]):
            p.ordered = ordered[f]
            p.lazy = n_classes == 2 and not p.ordered
            p.n = n_left = copy_present(&cells[starts[f], 0], starts[f + 1] - starts[f], n_classes, p.rows)
            found[f, CATEGORIES] = p.n
            if p.n < 2:
                continue
            test_all(&p)
            if exhaustive:
                test_groups(&p, True, total, &found[f, 0])
            while n_left > 2:
                low = most_similar(&p, least)
                if low == GONE:
                    break
                join(&p, low, p.best[low])
                n_left -= 1
                if exhaustive:
                    test_groups(&p, True, total, now)
                    if now[LOG_P] < found[f, LOG_P]:
                        for k in range(GROUPS, LOG_P + 1):
                            found[f, k] = now[k]
            if not exhaustive:
                test_groups(&p, with_tail, total, &found[f, 0])
    return out
