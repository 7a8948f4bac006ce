"""Trees for rules with linear models, as Cubist grows them (Quinlan 1993): growth on residuals, models, smoothing, conditions.

**Growth.**  Below the root, a node is split by the residuals of a linear model of the features tested above it.  A cut of a
continuous feature x is judged by the residual deviations of both sides from a line in x, if the correlation is significant
(Fisher, 95 %), or else from their mean.  Lists of rows, sorted by each feature, are divided with the nodes.  Nodes grow breadth
first, each on a slice of the lists.

**Models.**  Least squares with terms that leave one by one, the one that moves predictions least first; the model of the least
estimated error is kept.  Rows far from it are left out, and the model is fitted once more.

Sums follow the order of the rows.  The caller gives rows in an order that depends on their values alone.

Long work looks for signals now and then, and ends where a handler raises an exception.
"""

from libc.math cimport fabs, rint, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.arrays cimport doubles_of, int32s_of, int64s_of, memory_of, uint8s_of
from fasttree._engine.lines.arrange cimport ArrangedNodes, GrownNodes, allow_features, arrange_nodes
from fasttree._engine.lines.cuts cimport LEAST_SIDE, LineTables, Residuals, best_cut, best_division
from fasttree._engine.lines.least_squares cimport (
    LineSamples, LineScratch, clamped, dot, fit, gather, list_terms, predict_gathered, value_of,
)
from fasttree._engine.lines.node_models cimport (
    BY_SIZE, EXACT, FitChoices, FitScratch, NodeModel, NodeSums, add_sums, fit_node, sums_of_leaf,
)
from fasttree._engine.lines.rules cimport (
    LineTests, RuleChoices, RuleFigures, RuleLeaves, RuleScratch, between, digits_of, estimated, fill_fails, first_bit, make_rule,
    predict_leaves,
)
from fasttree._engine.watch cimport Watch, handles_signals, interrupted, raise_pending, start_watch

cdef double ALMOST = 0.999            # of the largest gain: such a gain wins by its preference
cdef double LEAST_GAIN = -1e-4
cdef double SLACK = 1.005             # share of the estimated error that the second stage of pruning may reach
cdef double LEAST_SPREAD = 1e-12


cdef LineSamples samples_of(tuple given) except *:
    x, side_by_side, y, w, least_variance, floor, ceiling = given
    cdef LineSamples s
    cdef const double[:, ::1] columns = x
    s.d, s.n = columns.shape[0], columns.shape[1]
    s.x = &columns[0, 0] if s.d else NULL
    s.side_by_side = doubles_of(side_by_side.reshape(-1))
    s.y, s.w, s.least_variance = doubles_of(y), doubles_of(w), doubles_of(least_variance)
    s.floor, s.ceiling = floor, ceiling
    return s


cdef LineScratch scratch_of(const LineSamples* s, Watch* watch, list kept):
    """LineScratch in arrays, which `kept` keeps alive, with a watch that is started."""
    import numpy as np
    cdef LineScratch t
    start_watch(watch, handles_signals(), NULL)
    t.watch = watch
    cdef Py_ssize_t size = s.d + 1
    for dtype, n in (("f8", (s.d + 4) * s.n), ("f8", size * (size + 1)), ("f8", size * (size + 1)), ("f8", size), ("f8", size),
                     ("i4", 3 * s.d + 1)):
        kept.append(np.zeros(n, dtype))
    t.z, t.gram, t.system = <double*> memory_of(kept[0]), <double*> memory_of(kept[1]), <double*> memory_of(kept[2])
    t.model, t.spread, t.active = <double*> memory_of(kept[3]), <double*> memory_of(kept[4]), <int32_t*> memory_of(kept[5])
    t.terms.feature = t.active + 2 * s.d
    return t


cdef void part(int32_t* list_, Py_ssize_t n, const uint8_t* is_left, int32_t* room) noexcept nogil:
    """Divide a list of rows, those on the left first, without another change of their order."""
    cdef Py_ssize_t i, left = 0, right = 0
    cdef int32_t row
    for i in range(n):                    # without a jump, which could not be foreseen
        row = list_[i]
        list_[left] = room[right] = row
        left += is_left[row]
        right += 1 - is_left[row]
    memcpy(list_ + left, room, right * sizeof(int32_t))


cdef struct LineGrowth:
    LineSamples s
    LineScratch t
    LineTables u
    Residuals pairs                   # of the node and feature at work
    Py_ssize_t n_nominal, n_nodes
    bint weighted                     # else all weights are 1, in `pairs` from the start
    const int32_t* codes              # n_nominal rows of n
    const int32_t* sizes
    const int32_t* turns
    const double* preference
    const double* steadiness
    double negligible                 # residual
    Py_ssize_t least_cover
    int32_t* order                    # d + 1 rows of n
    int32_t* parent
    int32_t* feature
    int64_t* first
    int64_t* stop
    double* cut
    double* residual                  # n
    double* values                    # 3 n
    double* model                     # d + 1
    double* sums                      # 4 for each category
    int32_t* room                     # n
    uint8_t* allowed                  # features that are tested above the node
    uint8_t* is_left                  # n
    uint8_t* left                     # 2 for each category
    uint8_t* chosen                   # categories of the best test


cdef void provide(LineGrowth* g, Py_ssize_t most, list kept):
    """Take room for the work in arrays, which `kept` keeps alive; `most` categories has a feature."""
    import numpy as np
    cdef Py_ssize_t n = g.s.n, i
    arrays = [np.zeros(size, dtype) for dtype, size in (
        ("f8", n), ("f8", 3 * n), ("f8", g.s.d + 1), ("f8", 4 * most), ("i4", n), ("u1", g.s.d + g.n_nominal + 1), ("u1", n),
        ("u1", 2 * most), ("u1", most))]
    kept.append(arrays)
    g.residual, g.values = <double*> memory_of(arrays[0]), <double*> memory_of(arrays[1])
    g.model, g.sums, g.room = <double*> memory_of(arrays[2]), <double*> memory_of(arrays[3]), <int32_t*> memory_of(arrays[4])
    g.allowed, g.is_left = <uint8_t*> memory_of(arrays[5]), <uint8_t*> memory_of(arrays[6])
    g.left, g.chosen = <uint8_t*> memory_of(arrays[7]), <uint8_t*> memory_of(arrays[8])
    g.pairs.x, g.pairs.r, g.pairs.w, g.pairs.code = g.values, g.values + n, g.values + 2 * n, g.room
    g.weighted = False
    for i in range(n):
        g.pairs.w[i] = 1
        g.weighted |= g.s.w[i] != 1


cdef bint find_residuals(LineGrowth* g, Py_ssize_t node) noexcept nogil:
    """Find the residuals of a node from a model of the features tested above, and whether it may be split."""
    cdef const int32_t* rows = g.order + g.s.d * g.s.n + g.first[node]
    cdef Py_ssize_t n = g.stop[node] - g.first[node], i, j
    cdef double weight = 0, total = 0, square = 0, largest = 0, residual
    cdef int row
    if n < 2 * LEAST_SIDE:
        return False
    for j in range(g.s.d + g.n_nominal):
        g.allowed[j] = 0
    i = g.parent[node]
    while i >= 0:
        g.allowed[g.feature[i]] = 1
        i = g.parent[i]
    if node:
        fit(&g.s, &g.t, rows, n, g.allowed, g.model)
        list_terms(&g.s, g.model, &g.t.terms)
    for i in range(n):
        row = rows[i]
        residual = g.s.y[row] - clamped(&g.s, value_of(&g.s, &g.t.terms, g.model, row)) if node else g.s.y[row]
        g.residual[row] = residual
        weight += g.s.w[row]
        total += g.s.w[row] * residual
        square += g.s.w[row] * residual * residual
        largest = max(largest, fabs(residual))
    if largest < g.negligible:
        return False
    g.pairs.n = n
    g.pairs.least_side = g.least_cover if n >= 3 * g.least_cover else LEAST_SIDE
    g.pairs.spread = sqrt(max(square - total * total / weight + g.u.softening, 0) / weight * g.u.factor[n])
    return True


cdef double gain_of(LineGrowth* g, Py_ssize_t start, Py_ssize_t j, double* cut) noexcept nogil:
    """The gain of the best test of a feature; -1 if there is none."""
    cdef Residuals* p = &g.pairs
    cdef Py_ssize_t i, v = j - g.s.d
    cdef const int32_t* rows = g.order + min(j, g.s.d) * g.s.n + start
    cdef const double* x = g.s.x + j * g.s.n
    cdef const int32_t* codes = g.codes + v * g.s.n
    cdef const double* residual = g.residual
    cdef const double* weight = g.s.w
    cdef double* xs = p.x
    cdef double* rs = p.r
    cdef double* ws = p.w
    if j >= g.s.d and g.sizes[v] == 2 and g.allowed[j]:
        return -1
    for i in range(p.n):
        rs[i] = residual[rows[i]]
    for i in range(p.n if g.weighted else 0):
        ws[i] = weight[rows[i]]
    if j < g.s.d:
        for i in range(p.n):
            xs[i] = x[rows[i]]
        p.steadiness = g.steadiness[j]
        return best_cut(p, &g.u, cut) if xs[p.n - 1] > xs[0] else -1
    for i in range(p.n):
        p.code[i] = codes[rows[i]]
    return best_division(p, &g.u, g.sizes[v], g.sums, g.left)


cdef int best_test(LineGrowth* g, Py_ssize_t node) noexcept nogil:
    """The feature of the best test, or -1; its cut is that of the node, or its categories are `chosen`."""
    cdef Py_ssize_t turn, j
    cdef int found = -1
    cdef double gain, best = LEAST_GAIN, cut = 0
    for turn in range(g.s.d + g.n_nominal):
        if interrupted(g.t.watch, 4 * g.pairs.n):
            return -1
        j = g.turns[turn]
        gain = <float> gain_of(g, g.first[node], j, &cut)        # gains are equal that differ by rounding
        if gain > LEAST_GAIN and (gain > best or (
                found >= 0 and gain > ALMOST * best and g.preference[j] > g.preference[found])):
            best, found = gain, <int> j
            if j < g.s.d:
                g.cut[node] = cut
            else:
                memcpy(g.chosen, g.left, g.sizes[j - g.s.d])
    return found


cdef void divide(LineGrowth* g, Py_ssize_t node, int feature) noexcept nogil:
    """Divide a node by the best test of a feature."""
    cdef Py_ssize_t start = g.first[node], n = g.stop[node] - start, n_left = 0, i, j
    cdef const int32_t* rows = g.order + g.s.d * g.s.n + start
    cdef const double* x = g.s.x + feature * g.s.n
    cdef const int32_t* codes = g.codes + (feature - g.s.d) * g.s.n
    cdef int row
    for i in range(n):
        row = rows[i]
        g.is_left[row] = x[row] <= g.cut[node] if feature < g.s.d else g.chosen[codes[row]]
        n_left += g.is_left[row]
    for j in range(g.s.d + 1):
        part(g.order + j * g.s.n + start, n, g.is_left, g.room)
    g.feature[node] = feature
    for i in range(2):
        j = g.n_nodes + i
        g.parent[j], g.feature[j] = <int32_t> node, -1
        g.first[j] = start + (n_left if i else 0)
        g.stop[j] = start + (n if i else n_left)
    g.n_nodes += 2


def grow(tuple samples, tuple nominal, order, tuple features, tuple tables, const double[::1] choices, tuple nodes):
    """Grow a tree, and return the number of its nodes.

    Parameters
    ----------
    samples : tuple
        Columns, targets, weights, least variances, floor and ceiling.
    nominal : tuple of int32 arrays of shapes (n_nominal, n) and (n_nominal,)
        Categories from 0, and their numbers.
    order : int32 array of shape (n_continuous + 1, n)
        Rows sorted by each feature, then all rows; they are divided with the nodes.
    features : tuple of arrays of shape (n_continuous + n_nominal,)
        The features in the order of the table, int32, and the preference of each, float64; nominal ones follow the continuous
        ones in numbers.
    tables : tuple of float64 arrays
        By the number of rows: k / (k - 1), and the least significant squared correlation; then a number for each feature that
        keeps its correlations finite.
    choices : float64 array
        Softening of sums of squares, largest negligible residual, least samples of a side of a large node.
    nodes : tuple of arrays
        Parent, feature (-1 at a leaf), first row and the one after the last, and cut,
        with room for all nodes.
    """
    cdef LineGrowth g
    cdef Watch watch
    cdef list kept = []
    cdef Py_ssize_t node = 0
    cdef int feature
    codes, sizes = nominal
    g.s, g.n_nominal, g.n_nodes = samples_of(samples), sizes.size, 1
    g.t = scratch_of(&g.s, &watch, kept)
    g.codes, g.sizes = int32s_of(codes.reshape(-1)), int32s_of(sizes)
    g.turns, g.preference = int32s_of(features[0]), doubles_of(features[1])
    g.u.factor, g.u.significant, g.steadiness = doubles_of(tables[0]), doubles_of(tables[1]), doubles_of(tables[2])
    g.u.softening, g.negligible, g.least_cover = choices[0], choices[1], <Py_ssize_t> choices[2]
    g.order, g.cut = <int32_t*> memory_of(order), <double*> memory_of(nodes[4])
    g.parent, g.feature = <int32_t*> memory_of(nodes[0]), <int32_t*> memory_of(nodes[1])
    g.first, g.stop = <int64_t*> memory_of(nodes[2]), <int64_t*> memory_of(nodes[3])
    provide(&g, max(sizes.max(initial=2), 2), kept)
    g.parent[0], g.feature[0], g.first[0], g.stop[0] = -1, -1, 0, g.s.n
    with nogil:
        while node < g.n_nodes and not interrupted(&watch, g.s.d):
            if find_residuals(&g, node):
                feature = best_test(&g, node)
                if feature >= 0:
                    divide(&g, node, feature)
            node += 1
    raise_pending()
    return g.n_nodes


def arrange(tuple nodes, Py_ssize_t d, int64_t least_cover, tuple arranged):
    """Number nodes in preorder, without divisions with a branch of too few rows, and return how many stay.

    Parameters
    ----------
    nodes : tuple of arrays of shape (n_nodes,)
        Parent, feature, first row and the one after the last, as `grow` leaves them.
    d : int
        Number of continuous features.
    arranged : tuple of arrays of n_nodes rows
        Gets the number that each node had, int64; its children, int64, -1 at a leaf, shape (n_nodes, 2); its parent, int32; and
        which continuous features are tested at it, above it or below it, uint8, shape (n_nodes, d).
    """
    import numpy as np
    cdef GrownNodes g
    cdef ArrangedNodes to
    cdef Py_ssize_t n
    g.n, g.d = nodes[0].size, d
    g.parent, g.feature, g.first, g.stop = int32s_of(nodes[0]), int32s_of(nodes[1]), int64s_of(nodes[2]), int64s_of(nodes[3])
    to.place, to.children = <int64_t*> memory_of(arranged[0]), <int64_t*> memory_of(arranged[1])
    to.parent, to.allowed = <int32_t*> memory_of(arranged[2]), <uint8_t*> memory_of(arranged[3])
    size, below = np.empty(g.n, np.int64), np.empty(g.n * d, np.uint8)
    cdef int64_t* sizes = <int64_t*> memory_of(size)
    cdef uint8_t* tested = <uint8_t*> memory_of(below)
    with nogil:
        n = arrange_nodes(&g, least_cover, sizes, &to)
        allow_features(&g, n, tested, &to)
    return n


def fit_nodes(tuple samples, const int32_t[::1] rows, const int64_t[::1] first, const int64_t[::1] stop,
              const uint8_t[:, ::1] allowed, double[:, ::1] models):
    """Fit the model of each node on its slice of the rows, with terms of the features that it allows."""
    cdef LineSamples s = samples_of(samples)
    cdef Watch watch
    cdef list kept = []
    cdef LineScratch t = scratch_of(&s, &watch, kept)
    cdef Py_ssize_t i
    with nogil:
        for i in range(first.shape[0]):
            fit(&s, &t, &rows[first[i]], stop[i] - first[i], &allowed[i, 0] if s.d else NULL, &models[i, 0])
            if interrupted(&watch, s.d):
                break
    raise_pending()


cdef double errors_of(const LineSamples* s, const double* raw, const double* y, const double* w, Py_ssize_t n,
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


def smooth(tuple samples, const int32_t[::1] rows, tuple nodes, const double[:, ::1] raw, const double[:, ::1] units,
           double[:, ::1] models, double[::1] errors):
    """Mix the model of each node with those above it, round it, and take the median of its errors off.

    Going up, each parent's model gets the share that makes the variance of the errors least.  Coefficients below ``units[0]`` are
    0, others multiples of ``units[1]``, and intercepts too; the intercept is first.

    Parameters
    ----------
    nodes : tuple of arrays of shape (n_nodes,)
        First row and the one after the last, int64, and parent, int32.
    raw : float64 array of shape (n_nodes, d + 1)
        The models as fitted, intercept first; `models` gets the others, and `errors` their sums of absolute errors.
    """
    import numpy as np
    cdef LineSamples s = samples_of(samples)
    cdef const int64_t[::1] first = nodes[0]
    cdef const int64_t[::1] stop = nodes[1]
    cdef const int32_t[::1] parent = nodes[2]
    cdef double[::1] room = np.empty((s.d + 6) * s.n)
    cdef int32_t[::1] features = np.arange(s.d + 1, dtype=np.int32)
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
    cdef Watch watch
    start_watch(&watch, handles_signals(), NULL)
    with nogil:
        for node in range(first.shape[0]):
            if interrupted(&watch, s.d):
                break
            n, of_node = stop[node] - first[node], &rows[first[node]]
            for j in range(s.d + 1):
                models[node, j] = raw[node, j]
            weight = 0
            for i in range(n):
                w[i], y[i] = s.w[of_node[i]], s.y[of_node[i]]
                weight += w[i]
            if interrupted(&watch, n * s.d):
                break
            gather(&s, of_node, n, &features[0], <int> s.d, z)
            predict_gathered(&s, &models[node, 0], z, n, own)
            variance = errors_of(&s, own, y, w, n, error)
            above = parent[node]
            while n > 2 and variance > LEAST_SPREAD and above >= 0 and not interrupted(&watch, n * (s.d + 4)):
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
    raise_pending()


cdef RuleScratch rule_scratch_of(const LineSamples* s, Watch* watch, Py_ssize_t n_tests, Py_ssize_t depth, list kept):
    """RuleScratch in arrays, which `kept` keeps alive, with a watch that is started and paths of at most so many conditions."""
    import numpy as np
    cdef RuleScratch t
    cdef Py_ssize_t n = s.n
    cdef int32_t n_digits = digits_of(depth)
    cdef uint64_t* bits
    cdef double* numbers
    t.n_words = (n + 63) // 64
    arrays = [np.zeros(size, dtype) for dtype, size in (
        ("u8", (n_tests + 2 * n_digits + 2) * t.n_words), ("f8", 7 * n + 2 * depth), ("u1", depth), ("i4", n + s.d))]
    kept.append(arrays)
    start_watch(watch, handles_signals(), NULL)
    bits, numbers = <uint64_t*> memory_of(arrays[0]), <double*> memory_of(arrays[1])
    t.watch, t.failures.n_digits = watch, n_digits
    t.alone, t.initial, t.failures.times = bits, bits + t.n_words, bits + 2 * t.n_words
    t.failures.which = t.failures.times + n_digits * t.n_words
    t.fails = t.failures.which + n_digits * t.n_words
    t.total, t.count, t.error = numbers, numbers + n, numbers + 2 * n
    t.value, t.y, t.w, t.summed = numbers + 3 * n, numbers + 4 * n, numbers + 5 * n, numbers + 6 * n
    t.gained, t.joined, t.dropped = numbers + 7 * n, numbers + 7 * n + depth, <uint8_t*> memory_of(arrays[2])
    t.rows = <int32_t*> memory_of(arrays[3])
    t.terms.feature = t.rows + n
    return t


def make_rules(tuple samples, tuple tests, tuple leaves, tuple rules, const double[::1] choices):
    """Make the rules of leaves, one after the other.

    A row's prediction is the mean of its leaf's and of the rules that cover it so far.  A condition is dropped while the rows
    that fail it alone gain, as their prediction joins the mean; one stays.

    Parameters
    ----------
    tests : tuple of arrays
        Features, int32, whether they pass above a cut, uint8, and cuts, shape (n_tests,); where marks of categories start, int64,
        and by category whether it passes, uint8; codes, int32, shape (n_nominal, n).
    leaves : tuple of arrays
        Rows, int32; first row of each leaf and the one after the last, and parameters of its model, int64, shape (n_leaves,);
        first condition of each leaf, int64, shape (n_leaves + 1,).
    rules : tuple of arrays
        Tests on the way to each leaf, int32: those that stay come to the start.  Gets how many stay, int64, shape (n_leaves,).
        Models, intercept first, shape (n_leaves, d + 1): of the leaves, and then of the rules.  Gets the rows that are covered,
        as bits, uint64, shape (n_leaves, n_words); and cover, mean, least and largest target, bounds and estimated error,
        float64, shape (n_leaves, 7).  The cover is 0 if an earlier rule has the same conditions.
    choices : float64 array
        Extrapolation, unit of intercepts, and whether these are moved to take bias off.
    """
    cdef LineSamples s = samples_of(samples)
    cdef LineTests u
    cdef RuleLeaves v
    cdef RuleChoices c
    cdef RuleScratch t
    cdef RuleFigures* figures = <RuleFigures*> memory_of(rules[4])
    cdef Watch watch
    cdef list kept = []
    cdef Py_ssize_t i, n_leaves = leaves[1].size, n_tests = tests[0].size, depth = 1
    u.feature, u.above, u.cut = int32s_of(tests[0]), uint8s_of(tests[1]), doubles_of(tests[2])
    u.start, u.passes, u.codes = int64s_of(tests[3]), uint8s_of(tests[4]), int32s_of(tests[5].reshape(-1))
    v.rows, v.first, v.stop = int32s_of(leaves[0]), int64s_of(leaves[1]), int64s_of(leaves[2])
    v.size, v.path = int64s_of(leaves[3]), int64s_of(leaves[4])
    v.condition, v.n_kept = <int32_t*> memory_of(rules[0]), <int64_t*> memory_of(rules[1])
    v.model, v.covered = <double*> memory_of(rules[2]), <uint64_t*> memory_of(rules[3])
    c.extrapolation, c.unit, c.unbiased = choices[0], choices[1], choices[2] != 0
    for i in range(n_leaves):
        depth = max(depth, v.path[i + 1] - v.path[i])
    t = rule_scratch_of(&s, &watch, n_tests, depth, kept)
    with nogil:
        for i in range(n_tests):
            if interrupted(&watch, s.n):
                break
            fill_fails(&s, &u, i, t.fails + i * t.n_words)
        predict_leaves(&s, &t, &v, n_leaves)
        for i in range(n_leaves):
            if interrupted(&watch, s.n):
                break
            make_rule(&s, &t, &v, i, &c, figures)
    raise_pending()


def predict_rules(tuple samples, const double[:, ::1] models, const uint64_t[:, ::1] covered, const double[:, ::1] bounds,
                  double default, double[::1] predicted):
    """Predict each row by the mean of the rules that cover it, or the default.

    Parameters
    ----------
    models, covered : arrays of shapes (n_rules, d + 1) and (n_rules, n_words)
        Intercept first; rows as bits, uint64.
    bounds : float64 array of shape (n_rules, 2)
    """
    cdef LineSamples s = samples_of(samples)
    cdef Watch watch
    cdef list kept = []
    cdef RuleScratch t = rule_scratch_of(&s, &watch, 0, 0, kept)
    cdef Py_ssize_t rule, w, row
    cdef uint64_t bits
    with nogil:
        for rule in range(models.shape[0]):
            if interrupted(&watch, s.n):
                break
            list_terms(&s, &models[rule, 0], &t.terms)
            for w in range(t.n_words):
                bits = covered[rule, w]
                while bits:
                    row = 64 * w + first_bit(bits)
                    bits &= bits - 1
                    t.total[row] += between(value_of(&s, &t.terms, &models[rule, 0], row), bounds[rule, 0], bounds[rule, 1])
                    t.count[row] += 1
        for row in range(s.n):
            predicted[row] = t.total[row] / t.count[row] if t.count[row] > 0 else default
    raise_pending()


def prune(const int32_t[::1] parent, tuple as_leaves, tuple subtrees, uint8_t[::1] alive, uint8_t[::1] cut, double n,
          Py_ssize_t most_leaves):
    """Cut subtrees of a tree in preorder, until its estimated error rises, and there are at most so many leaves.

    Parameters
    ----------
    as_leaves : tuple of float64 arrays of shape (n_nodes,)
        Error and parameters of each node as a leaf.
    subtrees : tuple of float64 arrays of shape (n_nodes,)
        The same at leaves; at an inner node no error, and the parameters that its test counts for.  They are changed.
    alive : uint8 array of shape (n_nodes,)
        The inner nodes, which are changed to those that stay.
    cut : uint8 array of shape (n_nodes,)
        Gets the nodes that become leaves.
    n : float
        Number of samples.
    """
    cdef const double[::1] own = as_leaves[0]
    cdef const double[::1] size = as_leaves[1]
    cdef double[::1] error = subtrees[0]
    cdef double[::1] parameters = subtrees[1]
    cdef Py_ssize_t n_nodes = parent.shape[0], node, above, weakest, leaves = 1, stage = 1
    cdef double now, limit = 0, more, least = 0, changed
    cdef Watch watch
    start_watch(&watch, handles_signals(), NULL)
    with nogil:
        for node in range(n_nodes - 1, -1, -1):
            leaves += alive[node]
            if node:
                error[parent[node]] += error[node]
                parameters[parent[node]] += parameters[node]
        while not interrupted(&watch, n_nodes):
            now = estimated(error[0], n, parameters[0])
            if stage == 1:
                limit = now
            weakest = -1
            for node in range(n_nodes):
                if alive[node]:
                    more = own[node] - error[node]
                    if (weakest < 0 or more < least) and (
                            stage == 3 or estimated(more + error[0], n, size[node] - parameters[node] + parameters[0]) <= limit):
                        weakest, least = node, more
            if weakest >= 0:
                changed, above = size[weakest] - parameters[weakest], weakest
                while above >= 0:
                    error[above] += least
                    parameters[above] += changed
                    above = parent[above]
                cut[weakest] = 1
                leaves -= alive[weakest]
                alive[weakest] = 0
                for node in range(weakest + 1, n_nodes):
                    if parent[node] < weakest:
                        break
                    leaves -= alive[node]
                    alive[node] = 0
            elif stage == 1:
                stage, limit = 2, now * SLACK
            else:
                stage = 3
            if stage == 3 and leaves <= most_leaves:
                break
    raise_pending()


cdef void stack_sums(NodeSums* sums, double* room, Py_ssize_t depth, Py_ssize_t d, Py_ssize_t m) noexcept nogil:
    """Give each of the sums on the stack its room."""
    cdef Py_ssize_t i, width = d + m
    for i in range(depth):
        sums[i].mean = room + i * (width * (width + 1) + 2 * m)
        sums[i].product = sums[i].mean + width
        sums[i].least = sums[i].product + width * width
        sums[i].largest = sums[i].least + m


cdef void write_model(
    const NodeSums* sums, const NodeModel* model, Py_ssize_t d, Py_ssize_t target, double rounding, double* to,
) noexcept nogil:
    """Write what is known of a node and a target; an intercept that cancels is 0."""
    cdef double value = sums.mean[d + target], size = fabs(value), at_mean
    cdef Py_ssize_t j
    for j in range(d):
        at_mean = model.coefficient[j] * sums.mean[j]
        value -= at_mean
        size += fabs(at_mean)
    to[0] = 0 if fabs(value) < rounding * size else value
    to[1], to[2], to[3], to[4] = model.error, <double> model.n_parameters, sums.least[target], sums.largest[target]


def fit_tree(tuple samples, tuple tree, bint by_size, const double[::1] numbers, const double[::1] least_variance,
             double[:, :, ::1] found):
    """Fit a linear model for each of m targets in each node of a tree, from sums that children add up to, in postorder.

    Parameters
    ----------
    samples : tuple of arrays
        Features and then the targets, float64, shape (n_samples, d + m); weights, float64, or None, if every sample counts 1;
        samples by leaf, int64; and the first place of each node among them, int64, shape (n_nodes + 1,), not read at inner nodes.
    tree : tuple
        First child of trees with two branches, int32, -1 at a leaf; features that may have a term, uint8, shape (n_nodes, d); and
        the depth.
    by_size : bool
        Whether terms leave as in M5P.
    numbers : float64 array of shape (5,)
        Least pivot, least error, ridge, largest coefficient, and rounding of an intercept.
    least_variance : float64 array of shape (d,)
        Variance for each sample of a node: a feature below it is constant there.
    found : float64 array of shape (m, n_nodes, d + 5)
        Gets coefficients, intercept, squared error, number of parameters, least and largest target.
    """
    import numpy as np
    cdef const double[:, ::1] x = samples[0]
    cdef const double* weights = doubles_of(samples[1])
    cdef const int64_t[::1] rows = samples[2]
    cdef const int64_t[::1] place = samples[3]
    cdef const int32_t[::1] first_child = tree[0]
    cdef const uint8_t[:, ::1] allowed = tree[1]
    cdef Py_ssize_t m = found.shape[0], width = x.shape[1], d = width - m, depth = tree[2] + 2, node, o, top = 0, waiting = 1
    cdef list kept = [np.zeros(size, dtype) for dtype, size in (
        ("f8", depth * (width * (width + 1) + 2 * m)), ("u1", depth * sizeof(NodeSums)),
        ("f8", width * (width * (2 if m > 1 else 1) + 4)), ("i8", 3 * width), ("u1", width), ("i8", 2 * depth),
        ("u1", m * sizeof(NodeModel)))]
    cdef NodeSums* sums = <NodeSums*> memory_of(kept[1])
    cdef int64_t* path = <int64_t*> memory_of(kept[5])   # nodes to do; ~node: its children are done
    cdef FitChoices choices
    cdef FitScratch t
    cdef NodeModel* models = <NodeModel*> memory_of(kept[6])
    cdef Watch watch
    stack_sums(sums, <double*> memory_of(kept[0]), depth, d, m)
    t.scale = <double*> memory_of(kept[2])
    t.own, t.best, t.matrix = t.scale + width, t.scale + 2 * width, t.scale + 3 * width
    t.of_all = t.matrix + width * width
    t.d, t.n_targets, t.width = d, m, width
    t.feature = <Py_ssize_t*> memory_of(kept[3])
    t.of_best, t.feature_of_all, t.is_in = t.feature + width, t.feature + 2 * width, <uint8_t*> memory_of(kept[4])
    start_watch(&watch, handles_signals(), NULL)
    t.watch = &watch
    choices.policy = BY_SIZE if by_size else EXACT
    choices.least_pivot, choices.least_error, choices.ridge, choices.too_steep = numbers[0], numbers[1], numbers[2], numbers[3]
    choices.least_variance = &least_variance[0] if d else NULL
    with nogil:
        while waiting and not interrupted(&watch, d):
            waiting -= 1
            node = path[waiting]
            if node >= 0 and first_child[node] >= 0:
                path[waiting], path[waiting + 1], path[waiting + 2] = ~node, first_child[node] + 1, first_child[node]
                waiting += 3
                continue
            if node >= 0:
                sums_of_leaf(&x[0, 0], &rows[place[node]], weights, place[node + 1] - place[node], &t, &sums[top])
                top += 1
            else:
                node = ~node
                top -= 1
                watch.cells += width * width // 2
                add_sums(&sums[top - 1], &sums[top], &t)
            for o in range(m):
                models[o].coefficient = &found[o, node, 0]
            fit_node(&sums[top - 1], &allowed[node, 0] if d else NULL, &choices, &t, models)
            for o in range(m):
                write_model(&sums[top - 1], &models[o], d, o, numbers[4], &found[o, node, d])
    raise_pending()
