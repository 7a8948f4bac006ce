"""What each feature adds to a prediction: exact Shapley values of one tree, sample by sample.

The game (Shapley 1953; Lundberg and Lee 2017).  Its players are the features.  Of a coalition of features the sample's values are
known, those of the others are not.  On every branch of the tree let `on` be the part of the sample that goes there if the tested
feature is known: 0 or 1, or between where a sample divides.  Let `off` be the part that goes there if it is not: the branch's
share of the training weight (path-dependent), or the part of a background sample (interventional; Lundberg et al. 2020).  A
feature that is tested several times on a path has the products of its parts.  A sample that stops at an inner node takes a branch
to a leaf that is not drawn.  The value of a coalition S is the sum over the leaves of

    v  x  product of on_i over the features i of the path that are in S  x  product of off_i over those that are not.

The Shapley value of feature j is an integral along the diagonal of the multilinear extension of the game (Owen 1972): the sum
over the leaves of

    v  (on_j - off_j)  x  integral from 0 to 1 of the product over i != j of g_i(t) dt,     g_i(t) = on_i t + off_i (1 - t).

The product is a polynomial in t whose degree is less than d, the number of features on the path.  Gauss and Legendre's rule with
d / 2 points, rounded up, finds its integral, and as its weights and all g are positive nothing cancels: no factor is ever taken
out of a polynomial, whatever the parts are.  Points are independent of one another, so they go down the tree a few at a time.

Edges instead of leaves (as in Yu et al. 2022, "Linear TreeShap").  Let P be the product of all g on the way to a node, and A the
sum of v P over the leaves below it.  The integrand of feature j at a leaf is (on - off) / g x v P, with what j has after its last
test on the path.  So a branch that changes j's parts adds A times the change of (on - off) / g: one visit of each node finds it.
P follows from the parent's by g / (g before); as g only falls from test to test of a feature, nothing overflows.  What is 0 both
on and off is left out with all below it, so no g is 0: the points are inside (0, 1).

Knows the arrays of a tree and samples as numbers; kernels trust their caller, which is `_explain/shap.py`.
"""

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memset

import numpy as np

from fasttree._engine.types cimport TO_SHARES, TO_STOP
from fasttree._engine.walk.rows cimport TO_BOTH, Rows
from fasttree._engine.walk.tree cimport Flat, Way, part_of, way_of

cdef extern from *:
    """
    #define FASTTREE_WIDTH 8
    #define FASTTREE_NOTHING 1e-290

    struct fasttree_game;
    FASTTREE_WIDE static void fasttree_play(struct fasttree_game *game);

    /* Loops over the points in hand, which the compiler makes vectors of. */
    static inline double fasttree_dot(const double *a, const double *b)
    {
        double sums[4];                /* one order for registers of two and of four */
        int q;
        #pragma omp simd
        for (q = 0; q < 4; q++)
            sums[q] = a[q] * b[q] + a[q + 4] * b[q + 4];
        return (sums[0] + sums[2]) + (sums[1] + sums[3]);
    }
    static inline void fasttree_add(double *sums, const double *product, double value)
    {
        int q;
        #pragma omp simd
        for (q = 0; q < FASTTREE_WIDTH; q++)
            sums[q] += value * product[q];
    }
    static inline void fasttree_scale(double *out, const double *product, double ratio)
    {
        int q;
        #pragma omp simd
        for (q = 0; q < FASTTREE_WIDTH; q++)
            out[q] = product[q] * ratio;
    }
    /* P and 1 / g below a branch that turns, from those above it. */
    static inline void fasttree_turn(
        double *product_below, double *reciprocal_below, const double *product, const double *reciprocal, const double *point,
        double on, double off)
    {
        int q;
        #pragma omp simd
        for (q = 0; q < FASTTREE_WIDTH; q++) {
            double g = on * point[q] + off * (1 - point[q]);
            product_below[q] = product[q] * reciprocal[q] * g;
            reciprocal_below[q] = 1 / g;
        }
    }
    /* P at the end of a branch that turns, and P times the change of (on - off) / g: there without a division. */
    static inline void fasttree_end(
        double *product_below, double *change, const double *product, const double *reciprocal, const double *point,
        double on, double off, double difference_before)
    {
        int q;
        #pragma omp simd
        for (q = 0; q < FASTTREE_WIDTH; q++) {
            double without = product[q] * reciprocal[q];
            double here = without * (on * point[q] + off * (1 - point[q]));
            product_below[q] = here;
            change[q] = (on - off) * without - difference_before * (reciprocal[q] * here);
        }
    }
    static inline void fasttree_change(
        double *change, const double *weight, const double *reciprocal, const double *reciprocal_before, double difference,
        double difference_before)
    {
        int q;
        #pragma omp simd
        for (q = 0; q < FASTTREE_WIDTH; q++)
            change[q] = weight[q] * (difference * reciprocal[q] - difference_before * reciprocal_before[q]);
    }
    """
    enum:
        WIDTH "FASTTREE_WIDTH"     # points that are evaluated together
    const double NOTHING "FASTTREE_NOTHING"        # parts below it count as 0, so that no 1 / g overflows
    double dot "fasttree_dot"(const double* a, const double* b) noexcept nogil
    void add "fasttree_add"(double* sums, const double* product, double value) noexcept nogil
    void scale "fasttree_scale"(double* out, const double* product, double ratio) noexcept nogil
    void turn "fasttree_turn"(
        double* product_below, double* reciprocal_below, const double* product, const double* reciprocal, const double* point,
        double on, double off
    ) noexcept nogil
    void turn_at_end "fasttree_end"(
        double* product_below, double* change, const double* product, const double* reciprocal, const double* point, double on,
        double off, double difference_before
    ) noexcept nogil
    void change_of "fasttree_change"(
        double* change, const double* weight, const double* reciprocal, const double* reciprocal_before, double difference,
        double difference_before
    ) noexcept nogil


cdef enum:
    DIVIDED = -1               # no node: a sample that does not end in one place

cdef struct Level:             # of the path to the node in hand; its own branch is the last
    int32_t node
    int32_t feature            # that the branch to it tests
    int32_t before             # level of the test of this feature above; 0: there is none
    int32_t branch             # to be looked at next
    bint turns                 # whether the branch changes the proportion of on and off
    double on
    double off
    Way way                    # of the sample from here on
    Way other                  # of the background sample


cdef struct Game "fasttree_game":
    const Flat* tree
    const double* value        # (n_nodes, n_values)
    const double* share        # of each node in the weight of its parent
    const double* staying      # the share of each node's weight that stops there
    Py_ssize_t n_values
    const Rows* X
    const Rows* background     # NULL: path-dependent
    Py_ssize_t row
    Py_ssize_t other_row
    double[WIDTH] point
    double[WIDTH] weight
    Level* level
    double* product            # (n_levels, WIDTH): P
    double* reciprocal         # (n_levels, WIDTH): 1 / g of the branch's feature
    double* sums               # (n_levels, n_values, WIDTH): A, as far as it is known
    int32_t* last              # of each feature: the level of its last test; 0: none
    double* out                # (n_features, n_values)


cdef inline int32_t arrive(Game* game, Level* level) noexcept nogil:
    """Follow the path from the level's node while nothing divides, which changes no factor; return its end, or DIVIDED.

    Where a tested feature has `off` 0 the sample alone decides, where it has `on` 0 the background sample; else both must agree.
    """
    cdef const Flat* t = game.tree
    cdef const Level* known
    cdef const Way* only
    while t.first_child[level.node] >= 0:
        known = &game.level[game.last[t.feature[level.node]]]
        only = NULL
        if known.on > 0:
            level.way = way_of(t, level.node, game.X, game.row)
            only = &level.way
        if game.background != NULL and known.off > 0:
            level.other = way_of(t, level.node, game.background, game.other_row)
            only = &level.other if only == NULL or level.other.branch == level.way.branch else NULL
        elif known.off > 0:
            only = NULL
        if only == NULL or only.branch == TO_SHARES or only.branch == TO_BOTH:
            return DIVIDED
        if only.branch == TO_STOP:
            break
        level.node = t.first_child[level.node] + only.branch
    return level.node


cdef inline void divide(Game* game, int32_t top, Level* below, double* on, double* off) noexcept nogil:
    """The parts that go along the next branch of the node on top, as factors."""
    cdef const Flat* t = game.tree
    cdef Level* level = &game.level[top]
    cdef int32_t branch = level.branch if level.branch < t.n_branches[level.node] else TO_STOP
    cdef const Level* known = &game.level[game.last[t.feature[level.node]]]
    level.branch += 1
    below.node = level.node if branch == TO_STOP else t.first_child[level.node] + branch
    on[0] = off[0] = 0
    if known.on > 0:
        on[0] = part_of(t, level.node, &level.way, branch)
    if known.off > 0 and game.background != NULL:
        off[0] = part_of(t, level.node, &level.other, branch)
    elif known.off > 0:
        off[0] = game.staying[level.node] if branch == TO_STOP else game.share[below.node]
    below.turns = on[0] != off[0] and known.on > 0 and known.off > 0
    below.feature = t.feature[level.node]
    below.before = game.last[below.feature]
    below.on = known.on * on[0]
    below.off = known.off * off[0]


cdef inline void add_end(Game* game, int32_t top, int32_t end, double ratio) noexcept nogil:
    """Take in a branch below the node on top at whose end a sample stays; `ratio` is that of g where it does not turn."""
    cdef const Level* below = &game.level[top + 1]
    cdef const Level* known = &game.level[below.before]
    cdef const double* product = game.product + top * WIDTH
    cdef const double* reciprocal = game.reciprocal + below.before * WIDTH
    cdef const double* value = game.value + end * game.n_values
    cdef double* sums = game.sums + top * game.n_values * WIDTH
    cdef double* out = game.out + below.feature * game.n_values
    cdef double[WIDTH] here
    cdef double[WIDTH] change
    cdef double gained
    cdef Py_ssize_t k
    if below.turns:
        turn_at_end(here, change, product, reciprocal, game.point, below.on, below.off, known.on - known.off)
        gained = dot(game.weight, change)
        for k in range(game.n_values):
            out[k] += gained * value[k]
    else:
        scale(here, product, ratio)
    for k in range(game.n_values):
        if value[k] != 0:              # most leaves lack most classes
            add(sums + k * WIDTH, here, value[k])


cdef inline void enter(Game* game, int32_t top, double ratio) noexcept nogil:
    """Begin with the level above the one on top, whose node divides."""
    cdef Level* below = &game.level[top + 1]
    cdef const double* product = game.product + top * WIDTH
    cdef const double* reciprocal = game.reciprocal + below.before * WIDTH
    cdef double* sums = game.sums + (top + 1) * game.n_values * WIDTH
    below.branch = 0
    if below.turns:
        turn(game.product + (top + 1) * WIDTH, game.reciprocal + (top + 1) * WIDTH, product, reciprocal, game.point, below.on,
             below.off)
    else:
        scale(game.product + (top + 1) * WIDTH, product, ratio)
        scale(game.reciprocal + (top + 1) * WIDTH, reciprocal, 1 / ratio)
    memset(sums, 0, game.n_values * WIDTH * sizeof(double))


cdef inline void leave(Game* game, int32_t top) noexcept nogil:
    """Take in the level on top, all of whose branches are done."""
    cdef const Level* level = &game.level[top]
    cdef const Level* known = &game.level[level.before]
    cdef const double* sums = game.sums + top * game.n_values * WIDTH
    cdef double* sums_above = game.sums + (top - 1) * game.n_values * WIDTH
    cdef double* out = game.out + level.feature * game.n_values
    cdef double[WIDTH] change
    cdef Py_ssize_t k
    if level.turns:
        change_of(change, game.weight, game.reciprocal + top * WIDTH, game.reciprocal + level.before * WIDTH,
                  level.on - level.off, known.on - known.off)
        for k in range(game.n_values):
            out[k] += dot(change, sums + k * WIDTH)
    for k in range(game.n_values):
        add(sums_above + k * WIDTH, sums + k * WIDTH, 1)
    game.last[level.feature] = level.before


cdef void play "fasttree_play"(Game* game) noexcept nogil:
    """Add the integrals at the points in hand, for one sample, to `out`."""
    cdef const Flat* t = game.tree
    cdef Level* root = game.level
    cdef Level* level
    cdef Level* below
    cdef int32_t top = 0
    cdef int32_t end
    cdef double on, off
    cdef Py_ssize_t i
    cdef int32_t q
    root.node = root.branch = 0
    root.on = root.off = 1
    for q in range(WIDTH):
        game.product[q] = game.reciprocal[q] = 1
    for i in range(game.n_values * WIDTH):
        game.sums[i] = 0
    if arrive(game, root) != DIVIDED:
        return
    while True:
        level = &game.level[top]
        if level.branch == t.n_branches[level.node] + (t.missing[level.node] == TO_STOP):
            if top == 0:
                return
            leave(game, top)
            top -= 1
            continue
        below = level + 1
        divide(game, top, below, &on, &off)
        if below.on < NOTHING and below.off < NOTHING:
            continue
        game.last[below.feature] = top + 1
        # one that stops has arrived already
        end = below.node if below.node == level.node else arrive(game, below)
        if end != DIVIDED:
            add_end(game, top, end, max(on, off))
            game.last[below.feature] = below.before
        else:
            enter(game, top, max(on, off))
            top += 1


cdef Rows rows_of(const double[:, :] X) noexcept:
    cdef Rows rows
    rows.data = <const char*> &X[0, 0]
    rows.n, rows.n_features = X.shape[0], X.shape[1]
    rows.row_stride, rows.column_stride = X.strides[0], X.strides[1]
    rows.single = False
    return rows


def most_features(
    const int32_t[::1] parent, const int32_t[::1] first_child, const int32_t[::1] n_branches, const int32_t[::1] feature,
    Py_ssize_t n_features,
):
    """The largest number of features that one path tests."""
    cdef int32_t[::1] times = np.zeros(n_features, np.int32)
    cdef int32_t node = 0
    cdef int32_t n = 0
    cdef int32_t most = 0
    with nogil:
        while True:
            if first_child[node] >= 0:
                n += times[feature[node]] == 0
                times[feature[node]] += 1
                most = max(most, n)
                node = first_child[node]
                continue
            while node and node + 1 == first_child[parent[node]] + n_branches[parent[node]]:       # the last of its siblings
                node = parent[node]
                times[feature[node]] -= 1
                n -= times[feature[node]] == 0
            if node == 0:
                break
            node += 1
    return most


def add_attributions(
    object tree,
    const double[:, ::1] value,        # IN   what every node predicts, less a constant
    const double[::1] share,           # IN   of every node in the weight of its parent
    const double[::1] staying,         # IN   share of a node's weight that stops there
    const double[::1] points,          # IN   of the quadrature on (0, 1), with their weights
    const double[::1] weights,
    const double[:, :] X,              # IN   samples, codes as floats, missing = NaN
    const double[:, :] background,     # IN   samples, or None: path-dependent
    double[:, :, ::1] out,             # OUT  (n_samples, n_features, n_values): all is added, of every background sample
):
    """Add the Shapley values of every sample of X, for all values of the nodes."""
    cdef Game game
    cdef Rows rows = rows_of(X)
    cdef Rows others
    cdef Py_ssize_t n_levels = tree.max_depth + 1
    cdef Py_ssize_t n_others = 1
    cdef Py_ssize_t i, first, turn
    cdef int32_t q
    game.tree = <const Flat*> PyCapsule_GetPointer(tree.walker.arrays, b"fasttree.Flat")
    game.value, game.share, game.staying = &value[0, 0], &share[0], &staying[0]
    game.n_values = value.shape[1]
    game.X, game.background = &rows, NULL
    if background is not None:
        others = rows_of(background)
        n_others = others.n
        game.background = &others
    cdef uint8_t[::1] levels = np.empty(n_levels * sizeof(Level), np.uint8)
    cdef double[::1] scratch = np.empty(n_levels * (2 + game.n_values) * WIDTH)
    cdef int32_t[::1] last = np.zeros(rows.n_features, np.int32)
    game.level = <Level*> &levels[0]
    game.product = &scratch[0]
    game.reciprocal = game.product + n_levels * WIDTH
    game.sums = game.reciprocal + n_levels * WIDTH
    game.last = &last[0]
    with nogil:
        for turn in range((points.shape[0] + WIDTH - 1) // WIDTH):
            first = turn * WIDTH
            for q in range(WIDTH):
                i = min(first + q, points.shape[0] - 1)
                game.point[q] = points[i]
                game.weight[q] = weights[i] if i == first + q else 0
            for game.row in range(rows.n):
                game.out = &out[game.row, 0, 0]
                for game.other_row in range(n_others):
                    play(&game)
