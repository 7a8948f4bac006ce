"""Growth in rounds over the shards of a table that is larger than memory: compiled parts.

A `Setting` holds the problem with the constants of the whole table.  A `Shard` is a part of the table, whose rows it counts,
divides and routes.  What several shards count is added up as integers, and a `Judge` chooses the cut of a node from these sums,
by the rules of the search in memory.

The statistics of some samples are a row of int64: their number and weight, then the weight of each class or the sum of the
targets; for numbers also the sum of squares and the sum in coarse quanta, as in the cells of MOMENTS.  Weighted numbers have no
coarse sum, and their squares are in quanta of their own.
"""

from libc.math cimport INFINITY, llrint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.arrays cimport memory_of
from fasttree._engine.bounds.bounds cimport (
    add_to_before, class_bound, moment_bound, start_before, weighted_moment_bound, with_margin,
)
from fasttree._engine.columns.keys cimport float_of, value_of
from fasttree._engine.grow.nodes cimport is_leaf
from fasttree._engine.grow.scratch cimport carve_scratch, xlogx_quantum
from fasttree._engine.grow.search cimport accepted
from fasttree._engine.grow.setup cimport needs_axis, plan_histogram, plan_search, set_limits, set_policy
from fasttree._engine.memory cimport Carver
from fasttree._engine.risk.impurity cimport deviation, plain_risk, risk_of, tie_limit
from fasttree._engine.risk.sums cimport exact_add, exact_value, exact_zero
from fasttree._engine.scan.cut cimport Division, bounds_of, form_of, no_cut, within
from fasttree._engine.scan.divisions cimport gain_of_part, group_gain
from fasttree._engine.scan.missing cimport cut_known_allowed, gain_of_known, with_known_cut
from fasttree._engine.scan.orders cimport order_groups
from fasttree._engine.scan.subsets cimport best_groups, cut_side
from fasttree._engine.scan.tiles cimport AHEAD, LANES, Count, count_tiles, lane_of
from fasttree._engine.shards cimport (
    HEAD, Ends, TwoCounts, add_cells, add_number, add_pairs, add_weighted, cell_of_key, clear_pairs, keys_of_rows, lay_lanes,
    part_rows, rows_with_cells,
)
from fasttree._engine.types cimport (
    BY_PARTITION, CHUNK, DIRECTION, GROUP_CUT, KNOWN_CUT, NO_CUT, ORDERED, PAIRS, TABLE, THRESHOLD_CUT, Block, Bounds, Column,
    Cut, Exact, Problem, Scratch, Totals, prefetch,
)
from fasttree._engine.watch cimport Watch, start_watch


FORMS = {"threshold": THRESHOLD_CUT, "known": KNOWN_CUT, "groups": GROUP_CUT}


# ---------------------------------------------------------------------------------------------------------------------
# The problem
# ---------------------------------------------------------------------------------------------------------------------

cdef class Setting:
    """The problem that all shards and all nodes share, with the constants of the whole table.

    Parameters
    ----------
    policy : Policy
    limits : EngineLimits
    scale : Scale
    kinds : uint8 array of shape (n_features,)
    n_codes : uint32 array of shape (n_features,)
        Bins or categories of each feature and one more, for missing values; more than 256 only of categories.
    n_classes : int
        0 for numbers.
    weighted : bool
        Samples have weights.
    """

    cdef Problem p
    cdef Exact zeros[2]
    cdef double y_unit, y_centre, square_unit
    cdef readonly int32_t width    # of a row of statistics
    cdef readonly int64_t n_cells  # of a histogram
    cdef tuple kept
    cdef size_t[::1] first_cell

    def __cinit__(self, policy, limits, scale, const uint8_t[::1] kinds, const uint32_t[::1] n_codes, int32_t n_classes,
                  bint weighted):
        cdef Problem* p = &self.p
        cdef const uint8_t[::1] none = np.zeros(kinds.shape[0] + 1, dtype=np.uint8)
        cdef const uint8_t[::1] values = np.zeros((kinds.shape[0] + 1) * sizeof(Column), dtype=np.uint8)
        cdef int32_t f
        set_policy(p, policy)
        set_limits(p, limits)
        p.n_features = <int32_t> kinds.shape[0]
        p.n_classes = n_classes
        p.n_outputs = 1
        p.n_counts = n_classes
        p.width = max(n_classes, 1)
        p.unit = scale.unit
        p.weighted = weighted
        p.total_weight = scale.total_weight
        p.kind = &kinds[0]
        p.n_codes = &n_codes[0]
        p.counted = &none[0]
        p.binned = &none[0]
        p.exact = <const Column*> &values[0]
        self.y_unit = scale.y_unit
        self.y_centre = scale.y_centre
        self.square_unit = scale.square_unit
        p.y_unit = &self.y_unit
        p.y_centre = &self.y_centre
        p.coarse_shift = scale.coarse_shift
        self.zeros[0] = exact_zero(scale.y_bound, scale.n_samples)
        self.zeros[1] = exact_zero(scale.deviation_bound, scale.n_samples)
        p.zero = &self.zeros[0]
        p.zero_deviation = &self.zeros[1]
        plan_search(p)
        plan_histogram(p)
        p.screens = False
        p.twigs = False
        if p.sweep == TABLE:
            p.xlogx_unit = xlogx_quantum(scale.n_samples)
        self.first_cell = np.zeros(kinds.shape[0] + 1, dtype=np.uintp)
        p.first_cell = &self.first_cell[0]
        for f in range(p.n_features):
            self.first_cell[f + 1] = self.first_cell[f] + p.n_codes[f]
        self.n_cells = self.first_cell[p.n_features]
        p.histogram_size = self.n_cells * p.cell_size
        self.width = HEAD + p.width + (0 if n_classes else 2)
        self.kept = (kinds, n_codes, none, values)


# ---------------------------------------------------------------------------------------------------------------------
# A shard
# ---------------------------------------------------------------------------------------------------------------------

cdef class Shard:
    """Some rows of the table: its columns, codes and targets.  Nothing here changes it.

    Parameters
    ----------
    setting : Setting
    columns : list of arrays of shape (n,)
        float32 or float64 for continuous features, uint16 codes for those of more than 256 codes; None for others.
    tiles : uint8 array
        Codes of all features, as `scan/tiles` reads them; 0 for those of more than 256 codes.
    label : uint16 array of shape (n,) or None
    weight : int64 array of shape (n,) or None
    y : float64 array of shape (n,) or None
    sums : int64 array of shape (n,) or None
        y less its centre, in fixed point.
    """

    cdef Setting setting
    cdef Block block
    cdef Column* column
    cdef const uint16_t** codes   # of features of more than 256 codes; NULL for others
    cdef tuple kept

    def __cinit__(self, Setting setting, list columns, const uint8_t[::1] tiles, const uint16_t[::1] label,
                  const int64_t[::1] weight, const double[::1] y, const int64_t[::1] sums):
        cdef const float[::1] narrow
        cdef const double[::1] wide
        cdef const uint16_t[::1] many
        cdef int32_t f
        cdef int64_t n = label.shape[0] if label is not None else y.shape[0]
        memset(&self.block, 0, sizeof(Block))
        self.setting = setting
        self.kept = (columns, tiles, label, weight, y, sums)
        self.column = <Column*> malloc((len(columns) + 1) * sizeof(Column))
        self.codes = <const uint16_t**> malloc((len(columns) + 1) * sizeof(uint16_t*))
        if self.column == NULL or self.codes == NULL:
            raise MemoryError
        memset(self.codes, 0, (len(columns) + 1) * sizeof(uint16_t*))
        memset(self.column, 0, (len(columns) + 1) * sizeof(Column))
        self.block.n = <uint32_t> n
        if n == 0:
            return
        for f, values in enumerate(columns):
            if values is None:
                continue
            if values.dtype == np.uint16:
                many = values
                self.codes[f] = &many[0]
            elif values.dtype == np.float32:
                narrow = values
                self.column[f].data = <const char*> &narrow[0]
                self.column[f].stride = sizeof(float)
            else:
                wide = values
                self.column[f].data = <const char*> &wide[0]
                self.column[f].stride = sizeof(double)
                self.column[f].is_double = True
        self.block.tiles = &tiles[0]
        if label is not None:
            self.block.label = &label[0]
        if weight is not None:
            self.block.weight = <int64_t*> &weight[0]
        if y is not None:
            self.block.y = &y[0]
            self.block.ysum = <int64_t*> &sums[0]

    def __dealloc__(self):
        free(self.column)
        free(self.codes)

    def count(self, const uint32_t[::1] rows, int64_t[:, ::1] out):
        """Add the statistics of the rows to those of their codes, feature by feature: `out` has a row for each cell."""
        cdef const Problem* p = &self.setting.p
        cdef bint one_by_one = p.weighted and p.n_classes == 0     # what histograms do not count
        cdef Watch watch
        cdef int32_t f
        if rows.shape[0] == 0:
            return
        histogram = np.empty(p.histogram_size + 16, dtype=np.uint8)
        all_features = np.ones(p.n_features, dtype=np.uint8)
        statistics = np.empty(p.width + 1, dtype=np.int64)
        cdef char* hist = memory_of(histogram)
        cdef const uint8_t* wanted = <const uint8_t*> memory_of(all_features)
        cdef int64_t* found = <int64_t*> memory_of(statistics)
        cdef Count count = Count(&rows[0], rows.shape[0], wanted, hist)
        start_watch(&watch, False, NULL)
        with nogil:
            if not one_by_one:
                count_tiles(p, &self.block, &count, &watch)
            for f in range(p.n_features):
                if one_by_one or self.codes[f] != NULL:
                    self.count_one(f, rows, &out[p.first_cell[f], 0])
                else:
                    add_cells(p, hist, f, &out[p.first_cell[f], 0], self.setting.width, found)

    cdef void count_one(self, int32_t f, const uint32_t[::1] rows, int64_t* out) noexcept nogil:
        """`count` for one feature."""
        cdef const uint8_t* codes = lane_of(&self.block, f)
        cdef int64_t i
        cdef size_t code
        for i in range(rows.shape[0]):
            code = self.codes[f][rows[i]] if self.codes[f] != NULL else codes[<size_t> rows[i] * LANES]
            self.add(rows[i], out + code * self.setting.width)

    cdef void add(self, uint32_t row, int64_t* out) noexcept nogil:
        """Add a sample to a row of statistics."""
        cdef const Problem* p = &self.setting.p
        cdef int64_t weight = 1 if self.block.weight == NULL else self.block.weight[row]
        out[0] += 1
        out[1] += weight
        if p.n_classes:
            out[HEAD + self.block.label[row]] += weight
        elif p.weighted:
            add_weighted(&out[HEAD], self.block.ysum[row], <double> weight * p.unit, p.y_unit[0], self.setting.square_unit)
        else:
            add_number(&out[HEAD], self.block.ysum[row], p.coarse_shift)

    def divide(
        self, int32_t f, const uint32_t[::1] rows, cells, int64_t[:, ::1] out, uint64_t[::1] least, uint64_t[::1] most,
        int64_t room,
    ):
        """Add the statistics of the rows to those of the parts of cells, with the smallest and the largest key of each part.

        Parameters
        ----------
        f : int
            A continuous feature.
        rows : uint32 array
        cells : Ranges
            Ascending.
        out : int64 array of shape (n_parts, width)
        least, most : uint64 arrays of shape (n_parts,)
        room : int
            Rows to return at most.

        Returns
        -------
        inside : uint32 array or None
            The rows whose keys are in cells; None if they are too many to return.
        """
        cdef const uint64_t[::1] low = cells.low
        cdef const uint64_t[::1] high = cells.high
        cdef const int32_t[::1] shift = cells.shift
        cdef const int64_t[::1] first = cells.first
        cdef const int32_t[::1] start = cells.start      # by code: the first of its cells
        cdef const uint8_t* codes
        cdef const Column* column = &self.column[f]
        cdef const uint16_t* label = self.block.label
        cdef bint by_pairs = self.setting.p.histogram == PAIRS
        cdef int64_t n_parts = out.shape[0] if by_pairs else 0
        cdef uint8_t has_cells[256]
        cdef uint32_t found[CHUNK]                       # rows whose code has cells
        cdef uint64_t keys[CHUNK]
        cdef int64_t n = rows.shape[0]
        cdef int64_t done = 0, n_inside = 0
        cdef int64_t j, m, part
        cdef int32_t a
        cdef uint64_t key
        cdef uint32_t row, code
        inside = np.empty(min(room, n) + 1, dtype=np.uint32)
        if n == 0 or low.shape[0] == 0:
            return inside[:0]
        cdef uint32_t* kept = <uint32_t*> memory_of(inside)
        room = inside.shape[0] - 1
        codes = lane_of(&self.block, f)
        pairs = np.empty((n_parts + 1) * sizeof(TwoCounts), dtype=np.uint8)
        cdef TwoCounts* pair = <TwoCounts*> memory_of(pairs)
        with nogil:
            clear_pairs(pair, n_parts)
            for code in range(256):
                has_cells[code] = start[code] < start[code + 1]
            while done < n:
                m = rows_with_cells(codes, has_cells, &rows[0], done, min(done + CHUNK, n), n, found)
                done += CHUNK
                if column.is_double:
                    keys_of_rows(<const double*> column.data, found, m, keys)
                else:
                    keys_of_rows(<const float*> column.data, found, m, keys)
                for j in range(m):
                    row = found[j]
                    key = keys[j]
                    code = codes[<size_t> row * LANES]
                    a = cell_of_key(&low[0], start[code], start[code + 1], key)
                    if not low[a] < key <= high[a]:
                        continue
                    kept[n_inside] = row
                    n_inside += n_inside < room
                    part = first[a] + <int64_t> ((key - low[a] - 1) >> shift[a])
                    if by_pairs:
                        prefetch(label + found[min(j + AHEAD, m - 1)])
                        pair[part].counts += 1 | <uint64_t> label[row] << 32
                        pair[part].least = min(pair[part].least, key)
                        pair[part].most = max(pair[part].most, key)
                    else:
                        self.add(row, &out[part, 0])
                        least[part] = min(least[part], key)
                        most[part] = max(most[part], key)
            if n_parts:
                add_pairs(pair, n_parts, &out[0, 0], self.setting.width, &least[0], &most[0])
        return inside[:n_inside].copy() if n_inside < room else None

    def route(self, split, uint32_t[::1] rows):
        """Put the rows of branch 0 before those of branch 1, each in ascending order.

        Returns
        -------
        n_low : int
            Rows of branch 0.
        low, high : int
            The largest key of the rows in branch 0 whose value is known, and the smallest of those in branch 1; 0 and the largest
            key of 64 bits if there are none, or the feature is not continuous.
        """
        cdef int32_t f = split.feature
        cdef uint8_t missing = split.missing
        cdef const uint8_t[::1] side_of = split.sides
        cdef const Column* column = &self.column[f]
        cdef const uint8_t* codes
        cdef const uint16_t* many = self.codes[f]
        cdef int64_t n = rows.shape[0]
        cdef int64_t i
        cdef int64_t n_low = 0
        cdef int64_t n_high = 0
        cdef Ends next_to
        cdef uint32_t row
        cdef uint8_t side
        next_to.last = split.key
        next_to.low = 0
        next_to.high = <uint64_t> -1
        if n == 0:
            return 0, next_to.low, next_to.high
        spare = np.empty(n, dtype=np.uint32)
        cdef uint32_t* others = <uint32_t*> memory_of(spare)
        codes = lane_of(&self.block, f)
        with nogil:
            if side_of is None and column.is_double:
                n_low = part_rows(<const double*> column.data, &rows[0], n, missing, &next_to, others)
            elif side_of is None:
                n_low = part_rows(<const float*> column.data, &rows[0], n, missing, &next_to, others)
            else:
                for i in range(n):
                    row = rows[i]
                    side = side_of[many[row]] if many != NULL else side_of[codes[<size_t> row * LANES]]
                    rows[n_low] = row
                    others[n_high] = row
                    n_low += 1 - side
                    n_high += side
            n_high = n - n_low
            memcpy(&rows[n_low] if n_high else &rows[0], others, n_high * sizeof(uint32_t))
        return n_low, next_to.low, next_to.high

    cdef double weight_of(self, uint32_t row) noexcept nogil:
        return self.setting.p.unit if self.block.weight == NULL else <double> self.block.weight[row] * self.setting.p.unit

    def sums(self, const uint32_t[::1] rows):
        """The sum of the targets as the two integers of an `Exact`, and the smallest and the largest target."""
        cdef Exact sum = self.setting.zeros[0]
        cdef const double* y = self.block.y
        cdef double least = INFINITY
        cdef double most = -INFINITY
        cdef int64_t i
        with nogil:
            for i in range(rows.shape[0]):
                exact_add(&sum, self.weight_of(rows[i]) * y[rows[i]])
                least = min(least, y[rows[i]])
                most = max(most, y[rows[i]])
        return sum.high, sum.low, least, most

    def deviations(self, const uint32_t[::1] rows, double centre):
        """The sum of the deviations from a mean, as the two integers of an `Exact`."""
        cdef Exact sum = self.setting.zeros[1]
        cdef const double* y = self.block.y
        cdef int32_t impurity = self.setting.p.impurity
        cdef int64_t i
        with nogil:
            for i in range(rows.shape[0]):
                exact_add(&sum, self.weight_of(rows[i]) * deviation(impurity, y[rows[i]], centre))
        return sum.high, sum.low


def fixed_point(const double[::1] y, double centre, double unit, int64_t[::1] out):
    """Write the targets less their centre in multiples of a unit, a power of two."""
    cdef int64_t i
    with nogil:
        for i in range(y.shape[0]):
            out[i] = llrint((y[i] - centre) / unit)


def lay_codes(list codes, int32_t first, uint8_t[::1] tiles):
    """Write the codes of the features of a tile, of which `first` is the first, to their place in the tiles of a shard.

    Each of `codes` is a uint8 array of shape (n,), or None, which leaves its place as it is.
    """
    cdef const uint8_t* lanes[LANES]
    cdef const uint8_t[::1] of_feature
    cdef int64_t n = 0
    cdef int32_t j, n_lanes = len(codes)
    for j in range(n_lanes):
        lanes[j] = NULL
        if codes[j] is not None and len(codes[j]):
            of_feature = codes[j]
            lanes[j] = &of_feature[0]
            n = of_feature.shape[0]
    if n:
        with nogil:
            lay_lanes(lanes, n_lanes, n, &tiles[0] + <size_t> first * n)


def tile_bytes(int32_t n_features):
    """Bytes of a row in the tiles of a shard."""
    return (n_features + LANES - 1) // LANES * LANES


def value_of_key(uint64_t key, bint single):
    """The number of a key."""
    return <double> float_of(<uint32_t> key) if single else value_of(key)


# ---------------------------------------------------------------------------------------------------------------------
# A judge
# ---------------------------------------------------------------------------------------------------------------------

cdef class Judge:
    """Bounds and chooses the cuts of one node after the other, from statistics of groups of its samples.

    Groups are in ascending order of their values.  A group that is not `closed` holds several values, and may have a cut inside.
    """

    cdef Setting setting
    cdef Problem p
    cdef Scratch s
    cdef Watch watch
    cdef char* buffer
    cdef int64_t capacity          # groups
    cdef Totals node
    cdef Totals missing
    cdef int64_t[::1] counts

    def __cinit__(self, Setting setting):
        self.setting = setting
        self.p = setting.p
        self.counts = np.zeros(setting.p.width, dtype=np.int64)
        self.node.counts = &self.counts[0]
        start_watch(&self.watch, False, NULL)
        self.make_room(256)

    def __dealloc__(self):
        free(self.buffer)

    cdef int make_room(self, int64_t n_groups) except -1:
        cdef Carver carver
        cdef bint axis = needs_axis(&self.p)
        if n_groups <= self.capacity:
            return 0
        n_groups = max(n_groups, 2 * self.capacity)
        carver.next = NULL
        carver.measuring = True
        carve_scratch(&self.s, &carver, &self.p, 0, n_groups, False, axis)
        free(self.buffer)
        self.capacity = 0
        self.buffer = <char*> malloc(<size_t> carver.next + 16)
        if self.buffer == NULL:
            raise MemoryError
        carver.next = self.buffer
        carver.measuring = False
        carve_scratch(&self.s, &carver, &self.p, 0, n_groups, False, axis)
        self.s.watch = &self.watch
        self.capacity = n_groups
        return 0

    cdef void read(self, const int64_t[::1] statistics, Totals* totals) noexcept:
        """Read a row of statistics; `totals` has room for class weights."""
        cdef int32_t k
        totals.n = statistics[0]
        totals.weight = statistics[1]
        totals.sum = 0 if self.p.n_classes else statistics[HEAD]
        for k in range(self.p.n_classes):
            totals.counts[k] = statistics[HEAD + k]

    cdef int load(self, const int64_t[:, ::1] groups, const uint32_t[::1] codes, const int64_t[::1] missing) except -1:
        """Put the groups of a feature where the searches read them."""
        cdef int64_t g
        cdef int32_t k
        self.make_room(groups.shape[0])
        for g in range(groups.shape[0]):
            self.s.group_n[g] = groups[g, 0]
            self.s.group_w[g] = groups[g, 1]
            self.s.group_code[g] = <uint32_t> g + 1 if codes is None else codes[g]
            for k in range(self.p.width):
                self.s.group_stat[g * self.p.width + k] = groups[g, HEAD + k]
        self.missing.counts = self.s.missing
        self.read(missing, &self.missing)
        return 0

    def open(self, const int64_t[::1] statistics, double risk):
        """Judge the cuts of this node from now on."""
        self.read(statistics, &self.node)
        self.node.risk = risk

    def class_node(self, const int64_t[::1] statistics):
        """Weight, impurity and risk of a node of class weights."""
        cdef Totals totals
        cdef double weight
        totals.counts = self.s.totals
        self.read(statistics, &totals)
        weight = <double> totals.weight * self.p.unit
        return weight, plain_risk(&self.p, totals.counts) / weight if weight > 0 else 0.0, risk_of(&self.p, totals.counts)

    def mean(self, int64_t weight, int64_t high, int64_t low):
        """The mean of targets from their exact sum."""
        cdef Exact sum = self.setting.zeros[0]
        sum.high = high
        sum.low = low
        return exact_value(&sum) / (<double> weight * self.p.unit)

    def risk(self, int64_t high, int64_t low):
        """The risk of a node of numbers from the exact sum of their deviations."""
        cdef Exact sum = self.setting.zeros[1]
        sum.high = high
        sum.low = low
        return max(exact_value(&sum), 0.0)

    def is_leaf(self, const int64_t[::1] statistics, double impurity, int64_t depth):
        """Is a node too deep, too small or too pure to be split?"""
        cdef Totals totals
        totals.counts = self.s.totals
        self.read(statistics, &totals)
        return bool(is_leaf(&self.p, &totals, impurity, depth))

    def gain(self, const int64_t[:, ::1] children):
        """The gain of a division in risk units, as `gain_of_children` in memory."""
        cdef Totals whole, part
        cdef double gain = 0
        cdef int64_t b
        whole.counts = self.s.left
        part.counts = self.s.right
        self.read(np.sum(children, axis=0), &whole)
        for b in range(children.shape[0]):
            self.read(children[b], &part)
            if self.p.n_classes:
                gain -= risk_of(&self.p, part.counts)
            else:
                gain += gain_of_part(&self.p, &whole, &part.sum, part.weight)
        return max(gain + risk_of(&self.p, whole.counts) if self.p.n_classes else gain, 0.0)

    def tie_limit(self, double gain, double risk):
        """Gains from here up to `gain` count as equal."""
        return tie_limit(gain, risk)

    def accepts(self, double gain):
        """Is a cut of this gain made?"""
        cdef Cut cut = no_cut(0)
        cut.first_gain = gain
        return bool(accepted(&self.p, &cut, <double> self.node.weight * self.p.unit, self.node.risk))

    cdef double gain_left(self, const Totals* left) noexcept nogil:
        return group_gain(&self.p, &self.node, left.weight, left.sum, left.counts, self.s.right)

    def bounds(self, const int64_t[:, ::1] groups, const uint8_t[::1] closed, const int64_t[::1] missing, double limit):
        """The largest gain of a cut at the end of a group, and for each group what no cut inside it exceeds.

        Below `limit` bounds may be rough.  Bounds of closed groups are minus infinity.
        """
        cdef Bounds limits = bounds_of(&self.p, self.node.n, self.node.weight, False)
        cdef double[::1] bounds = np.full(groups.shape[0], -INFINITY)
        cdef double largest = -INFINITY
        cdef int64_t left
        self.load(groups, None, missing)
        with nogil:
            for left in range(2 if self.missing.n > 0 and self.p.missing == DIRECTION else 1):
                largest = max(largest, self.bound(groups, closed, left, &limits, limit, bounds))
            if self.missing.n > 0 and self.p.missing == DIRECTION and cut_known_allowed(&self.p, &self.node, &self.missing):
                largest = max(largest, gain_of_known(&self.p, &self.s, &self.node, &self.missing))
        return largest, np.asarray(bounds)

    def screen(self, const int64_t[:, ::1] histogram, const int64_t[::1] first_cell, const uint8_t[::1] single, double limit):
        """What each feature with an order may gain by its histogram: its best cut between bins, and the largest bound inside one.

        Both are infinite for other features.  `single` marks the bins that hold one value; below `limit` bounds may be rough.
        """
        cdef int32_t n_features = self.p.n_features
        cdef double[::1] best = np.full(n_features, INFINITY)
        cdef double[::1] top = np.full(n_features, INFINITY)
        cdef int64_t most = 0
        cdef int64_t cell, q
        cdef int32_t f
        for f in range(n_features):
            most = max(most, first_cell[f + 1] - first_cell[f])
        cdef int64_t[:, ::1] groups = np.empty((most, histogram.shape[1]), dtype=np.int64)
        cdef uint8_t[::1] closed = np.empty(most, dtype=np.uint8)
        for f in range(n_features):
            if form_of(&self.p, f) != ORDERED:
                continue
            q = 0
            for cell in range(first_cell[f] + 1, first_cell[f + 1]):
                if histogram[cell, 0]:
                    groups[q] = histogram[cell]
                    closed[q] = single[cell] or histogram[cell, 0] == 1
                    q += 1
            best[f], bounds = self.bounds(groups[:q], closed[:q], histogram[first_cell[f]], limit)
            top[f] = bounds.max() if q else -INFINITY
        return np.asarray(best), np.asarray(top)

    cdef double bound(
        self, const int64_t[:, ::1] groups, const uint8_t[::1] closed, bint missing_left, const Bounds* limits, double limit,
        double[::1] bounds,
    ) noexcept nogil:
        """`bounds` with the missing values on one side."""
        cdef const Problem* p = &self.p
        cdef Scratch* s = &self.s
        cdef Totals before
        cdef double largest = -INFINITY
        cdef double gain_before = 0
        cdef double gain_after = 0
        cdef double found
        cdef Totals copies = self.node       # a sample of weight w is as w samples
        cdef int64_t q = groups.shape[0]
        cdef int64_t g
        copies.n = copies.weight
        start_before(p, s, &self.missing, missing_left, &before)
        if p.n_classes == 0:
            gain_before = self.gain_left(&before)
        for g in range(q):
            found = -INFINITY
            if p.n_classes and not closed[g]:
                found = class_bound(p, s, &self.node, g, &before, limits, limit)
            elif p.n_classes == 0:
                gain_after = group_gain(p, &self.node, before.weight + s.group_w[g], before.sum + s.group_stat[g], NULL, NULL)
                if not closed[g] and p.weighted:
                    found = weighted_moment_bound(
                        p, &self.node, &groups[g, 0], self.setting.square_unit, before.weight, gain_before, gain_after)
                elif not closed[g]:
                    found = moment_bound(p, &copies, <const char*> &groups[g, 1], before.weight, gain_before, gain_after)
                gain_before = gain_after
            bounds[g] = max(bounds[g], with_margin(found, s.group_n[g], self.node.risk))
            add_to_before(p, s, g, &before)
            if g < q - 1 and within(limits, before.n, before.weight):
                largest = max(largest, self.gain_left(&before))
        return largest

    def first_threshold(self, const int64_t[:, ::1] groups, const int64_t[::1] missing, double limit):
        """The first cut between groups whose gain is at least `limit`: gain, group, branch of missing values; or None.

        Where both sides for missing values reach it, they go right.  The last candidate is known against missing, as group -1.
        """
        cdef const Problem* p = &self.p
        cdef Bounds limits = bounds_of(p, self.node.n, self.node.weight, False)
        cdef Totals before
        cdef double gain
        cdef int64_t q = groups.shape[0]
        cdef int64_t g, found
        cdef int64_t right_at = q
        cdef int64_t left_at = q
        cdef double right_gain = 0
        cdef double left_gain = 0
        cdef bint directed
        cdef int32_t left
        self.load(groups, None, missing)
        directed = self.missing.n > 0 and p.missing == DIRECTION
        for left in range(2 if directed else 1):
            start_before(p, &self.s, &self.missing, left, &before)
            found = q
            gain = 0
            for g in range(q - 1):
                add_to_before(p, &self.s, g, &before)
                if not within(&limits, before.n, before.weight):
                    continue
                gain = self.gain_left(&before)
                if gain >= limit:
                    found = g
                    break
            if left:
                left_at, left_gain = found, gain
            else:
                right_at, right_gain = found, gain
        if right_at < q and right_at <= left_at:
            return right_gain, right_at, 1 if directed else -1
        if left_at < q:
            return left_gain, left_at, 0
        if directed and cut_known_allowed(p, &self.node, &self.missing):
            gain = gain_of_known(p, &self.s, &self.node, &self.missing)
            if gain >= limit:
                return gain, -1, 1
        return None

    def two_groups(
        self, int32_t f, const int64_t[:, ::1] groups, const uint32_t[::1] codes, const int64_t[::1] missing, double at_least,
    ):
        """The best two groups of categories: largest gain, gain, branch of each category, branch of missing values.

        None if there is no such cut.  Known against missing has no branches of categories.
        """
        cdef Division division
        cdef Cut cut
        cdef int64_t q = groups.shape[0]
        self.load(groups, codes, missing)
        division.feature = f
        division.listed = False
        division.node = &self.node
        division.total = &self.node
        division.missing = &self.missing
        division.missing_left = False
        division.at_least, division.known = at_least, -INFINITY
        division.tries = 1
        division.n_groups = q
        cut = best_groups(&self.p, &self.s, &division)
        if self.p.missing == DIRECTION and self.missing.n > 0:
            cut = with_known_cut(&self.p, &self.s, &self.node, &self.missing, cut, at_least)
        if cut.form == NO_CUT:
            return None
        if cut.form == KNOWN_CUT:
            return cut.gain, cut.first_gain, None, cut.missing
        if cut.order > BY_PARTITION:
            order_groups(&self.p, &self.s, q, cut.order, self.node.n)
        sides = np.empty(q, dtype=np.uint8)
        cut_side(&self.p, &self.s, q, &cut, <uint8_t*> memory_of(sides))
        return cut.gain, cut.first_gain, sides, cut.missing

    def is_ordered(self, int32_t f):
        """Is a feature cut at a place in the order of its values?"""
        return form_of(&self.p, f) == ORDERED
