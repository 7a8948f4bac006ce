"""Trees of a forest: columns that all of them share, their growth, and walks over their nodes.

A tree of a forest looks at a few drawn features in each node; the headers in `drawn` have the layout for that.  A tree is an
array of 16-byte nodes, breadth first, siblings side by side.
"""

from libc.math cimport NAN, isnan
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.arrays cimport copied, mapped, memory_of, shelved
from fasttree._engine.columns.keys cimport encode_few, list_column, sort_records, sortable_float, value_of
from fasttree._engine.drawn.block cimport block_rows, cells_of_row
from fasttree._engine.drawn.chance cimport float_code
from fasttree._engine.drawn.gather cimport draw
from fasttree._engine.drawn.judge cimport Judged, Values, add_errors, add_value, judge_tree, values_of
from fasttree._engine.drawn.nodes cimport grow_drawn
from fasttree._engine.drawn.records cimport (
    MOST_BUNDLES, MOST_CELLS, MOST_KEPT, MOST_RANKED, MOST_WAITING, NARROW_BASE, WIDE_LAST, BinEdges,
    DrawnBundle, DrawnColumn, DrawnPlan, Room, Waiting,
)
from fasttree._engine.drawn.packing cimport move_nodes, write_nodes
from fasttree._engine.drawn.short cimport MOST_VALUES
from fasttree._engine.drawn.walk cimport SIDE_BY_SIDE, PackedNode
from fasttree._engine.drawn.passage cimport Passage, arrive, enter, lay_out, leave, value_row
from fasttree._engine.memory cimport ARENA_LIMIT, map_memory, unmap_memory
from fasttree._engine.random cimport mix
from fasttree._engine.types cimport code_t, real_t
from fasttree._engine.walk.rows cimport rows_of
from fasttree._engine.watch cimport handles_signals, raise_pending, start_watch

NODE = np.dtype([("operand", "f8"), ("child", "u4"), ("feature", "u2"), ("kind", "u1"), ("missing", "u1")])

cdef enum:
    MOST_NARROW = 65536        # codes of a column that 16 bits hold
    ROWS_LOOKED_AT = 4096      # of a column, before it is known whether it fits into a bundle
    LEAST_MEMBERS = 3          # of a bundle
    MOST_MEMBERS = 32767
    MOST_TRIED = 16            # bundles, some of which stay too small
    MOST_SLOTS = 64            # features whose edges a node keeps
    CODES_AT_ONCE = 1 << 20    # codes of drawn features that a node keeps
    LARGE = 1 << 17            # rows or nodes whose room is freed before memory of a finished tree is asked for


cdef bint add_member(const DrawnColumn* column, int64_t n, int16_t* bundle) noexcept nogil:
    """Mark the rows where a member has its rare value; False if another one has it in one of them, and nothing is changed."""
    cdef const int16_t* codes = <const int16_t*> column.codes
    cdef int16_t rare = <int16_t> (1 + column.rare_is_high + NARROW_BASE)
    cdef int16_t member = column.member
    cdef int32_t shared = 0
    cdef int64_t start = 0
    cdef int64_t i
    while start < n:               # most columns that do not fit show it soon
        for i in range(start, min(n, start + ROWS_LOOKED_AT)):
            shared |= (codes[i] == rare) & (bundle[i] != 0)
        if shared:
            return False
        start += ROWS_LOOKED_AT
    for i in range(n):
        bundle[i] = member if codes[i] == rare else bundle[i]
    return True


cdef bint copy_few(const uint8_t* few, int64_t n, DrawnColumn* column) noexcept nogil:
    """Write the codes of few values, and find which of two is rare; whether a value is missing."""
    cdef int16_t* codes = <int16_t*> column.codes
    cdef bint has_missing = False
    cdef int64_t n_above = 0
    cdef int64_t i
    for i in range(n):
        codes[i] = <int16_t> (few[i] + NARROW_BASE)
        has_missing |= few[i] == 0
        n_above += few[i] > 1
    column.rare_is_high = 2 * n_above <= n
    return has_missing


cdef void copy_listed(
    const uint64_t* entries, const real_t[:] column, char* codes, bint wide, double[::1] value,
) noexcept nogil:
    """Write the codes of a sorted list by row, and their values if there is room for them."""
    cdef bint with_values = value.shape[0] > 0
    cdef int64_t i
    cdef uint32_t row, code
    for i in range(column.shape[0]):
        row = <uint32_t> entries[i]
        code = <uint32_t> (entries[i] >> 32)
        if wide:
            (<int32_t*> codes)[row] = <int32_t> code
        else:
            (<int16_t*> codes)[row] = <int16_t> (<int32_t> code + NARROW_BASE)
        if with_values:
            value[code] = column[row]


cdef uint64_t* list_floats(const real_t[:] column, uint64_t* records, uint64_t* spare) noexcept nogil:
    """The sorted list of a column of floats, code << 32 | row, in one of two places; NULL if a value needs more than a float."""
    cdef int64_t n = column.shape[0]
    cdef int64_t i
    cdef uint64_t code = 0
    cdef uint64_t previous = 0         # the key of missing values
    cdef uint64_t key
    for i in range(n):
        if real_t is double:
            if not (column[i] == <double> <float> column[i] or isnan(column[i])):
                return NULL
        records[i] = <uint64_t> sortable_float(<float> column[i]) << 32 | <uint64_t> i
    records = sort_records(records, spare, n)
    for i in range(n):
        key = records[i] >> 32
        code += key != previous
        previous = key
        records[i] = code << 32 | <uint32_t> records[i]
    return records


cdef bint copy_floats(const real_t[:] column, int32_t* codes) noexcept nogil:
    """Write the values as codes; False if some are missing, or need more than a float."""
    cdef int64_t i
    for i in range(column.shape[0]):
        if not <double> <float> column[i] == <double> column[i]:
            return False
        codes[i] = float_code(<float> column[i] + <float> 0.0)
    return True


cdef class DrawnColumns:
    """Codes of all features, made once for a forest: 16 bits where they suffice, else 32.

    Growth only reads them, so trees in several threads share them.

    Parameters
    ----------
    n_samples, n_features : int
    most_narrow : int, default=65,536
        Codes of a column, with that of missing values, that 16 bits are to hold.
    random : bool, default=False
        Whether the columns are for random thresholds, which need values but no ranks.
    """

    cdef DrawnColumn* column
    cdef readonly uint32_t n_samples
    cdef readonly int32_t n_features
    cdef readonly uint32_t most_categories
    cdef readonly bint plain           # neither missing values nor nominal features
    cdef uint32_t most_narrow
    cdef bint random
    cdef list kept
    cdef dict codes                    # by feature
    cdef list pairs                    # features of two known values
    cdef DrawnBundle bundle[MOST_BUNDLES]
    cdef readonly int32_t n_bundles
    cdef list rooms                    # to sort in, one for each thread that encodes

    def __cinit__(self, uint32_t n_samples, int32_t n_features, uint32_t most_narrow=MOST_NARROW, bint random=False):
        self.most_narrow = most_narrow
        self.random = random
        self.n_samples = n_samples
        self.n_features = n_features
        self.plain = True
        self.kept = []
        self.codes = {}
        self.pairs = []
        self.column = <DrawnColumn*> calloc(max(n_features, 1), sizeof(DrawnColumn))
        if self.column == NULL:
            raise MemoryError
        self.rooms = []

    def __dealloc__(self):
        free(self.column)

    def finish(self):
        """Make bundles, and free the room for sorting: all features are there."""
        self.rooms = []
        self.pairs.sort()
        cdef int32_t _turn
        for _turn in range(MOST_TRIED):
            if self.n_bundles < MOST_BUNDLES and len(self.pairs) >= LEAST_MEMBERS:
                self.make_bundle()

    cdef int make_bundle(self) except -1:
        """Move features of two values into a bundle, unless their rare values meet in a row: those may make another."""
        cdef DrawnBundle* bundle = &self.bundle[self.n_bundles]
        cdef int16_t[::1] own = np.zeros(self.n_samples, dtype=np.int16)
        cdef DrawnColumn* column
        cdef int32_t feature
        members, others = [], []
        for feature in self.pairs:
            column = &self.column[feature]
            column.member = <int16_t> (len(members) + 1)
            if column.member < MOST_MEMBERS and add_member(column, self.n_samples, &own[0]):
                members.append(feature)
            else:
                others.append(feature)
        self.pairs = others
        if len(members) < LEAST_MEMBERS:
            return 0
        bundle.codes = &own[0]
        bundle.n_codes = len(members) + 1
        self.kept.append(own)
        self.n_bundles += 1
        for feature in members:
            self.column[feature].bundle = self.n_bundles
            self.column[feature].codes = NULL
            del self.codes[feature]
        return 0

    cdef char* new_codes(self, int32_t feature, uint32_t n_codes) except NULL:
        """Room for the codes of a feature."""
        cdef DrawnColumn* column = &self.column[feature]
        column.n_codes = n_codes
        column.wide = n_codes > self.most_narrow
        codes = mapped(max(self.n_samples, 1), 4 if column.wide else 2, np.int32 if column.wide else np.int16)
        self.codes[feature] = codes
        column.codes = memory_of(codes)
        return <char*> column.codes

    def add_continuous(self, int32_t feature, const real_t[:] column):
        """Encode a continuous feature, NaN = missing, nothing infinite.  Threads may add features side by side.

        Returns whether growth needs the values: see `keep_values`.
        """
        cdef uint64_t[:, ::1] room
        cdef bint needs_values
        try:
            room = self.rooms.pop()
        except IndexError:
            room = mapped(3 * (<int64_t> self.n_samples + 1), 8, np.uint64).reshape(3, -1)
        needs_values = self.encode(feature, column, room)
        self.rooms.append(room)
        return needs_values

    def keep_values(self, int32_t feature, const real_t[:] column):
        """Keep a column of more than 65,535 values, without a copy."""
        self.column[feature].column.data = <const char*> &column[0]
        self.column[feature].column.stride = column.strides[0]
        self.column[feature].column.is_double = real_t is double
        self.kept.append(column)

    cdef bint encode(self, int32_t feature, const real_t[:] column, uint64_t[:, ::1] room) except -1:
        """Write the codes of a continuous feature; whether growth needs the values."""
        cdef uint64_t distinct[256]
        cdef uint64_t* entries = NULL
        cdef uint8_t* few = <uint8_t*> &room[1, 0]
        cdef uint32_t n_codes
        cdef int64_t n = self.n_samples
        cdef int64_t i
        cdef bint has_missing
        cdef int32_t found
        cdef double[::1] value
        cdef char* codes
        with nogil:
            found = encode_few(column, <uint16_t*> &room[0, 0], few, distinct)
        if self.random and (found < 0 or <uint32_t> found >= self.most_narrow) and self.add_floats(feature, column):
            return False
        with nogil:
            if found < 0 or <uint32_t> found >= self.most_narrow:
                entries = list_floats(column, &room[0, 0], &room[1, 0])
                if entries == NULL:
                    entries = &room[2, 0]
                    list_column(column, &room[0, 0], &room[1, 0], entries, True, -1.0)
        n_codes = <uint32_t> found + 1 if found >= 0 else <uint32_t> (entries[n - 1] >> 32) + 1
        codes = self.new_codes(feature, n_codes)
        if found >= 0 and n_codes <= self.most_narrow:
            value = np.array([NAN] + [value_of(distinct[i]) for i in range(found)])
            with nogil:
                has_missing = copy_few(few, n, &self.column[feature])
            if found == 2 and not has_missing:
                self.pairs.append(feature)
        else:
            has_missing = n > 0 and (entries[0] >> 32) == 0
            value = np.full(n_codes if n_codes <= self.most_narrow or self.random else 0, NAN)
            with nogil:
                copy_listed(entries, column, codes, self.column[feature].wide, value)
        if has_missing:
            self.plain = False
        if value.shape[0] == 0:
            return True
        self.kept.append(value)
        self.column[feature].value = &value[0]
        return False

    cdef bint add_floats(self, int32_t feature, const real_t[:] column) except -1:
        """Encode a continuous feature by its values; False if some are missing, or need more than a float."""
        cdef DrawnColumn* to = &self.column[feature]
        cdef int32_t* codes = <int32_t*> self.new_codes(feature, WIDE_LAST)
        with nogil:
            to.floats = copy_floats(column, codes)
        return to.floats

    def add_codes(self, int32_t feature, const code_t[:] codes, uint32_t n_categories, bint ordered):
        """Encode a nominal or (`ordered`) ordinal feature given as codes 0 (missing), 1, ..., n_categories."""
        cdef double[::1] value = np.arange(n_categories + 1, dtype=np.float64)
        cdef char* out = self.new_codes(feature, n_categories + 1)
        cdef DrawnColumn* column = &self.column[feature]
        cdef int64_t i
        column.nominal = not ordered
        if not ordered:
            self.plain = False
        column.value = &value[0]
        self.kept.append(value)
        self.most_categories = max(self.most_categories, n_categories + 1)
        for i in range(self.n_samples):
            if codes[i] == 0:
                self.plain = False
            if column.wide:
                (<int32_t*> out)[i] = <int32_t> codes[i]
            else:
                (<int16_t*> out)[i] = <int16_t> (<int32_t> codes[i] + NARROW_BASE)


cdef class DrawnGrower:
    """Columns, targets and limits that the trees of a forest share.

    Parameters
    ----------
    columns : DrawnColumns
        With all features.
    limits : DrawnLimits
    labels : uint16 array of shape (n_samples,) or None
        Classes 0, ..., n_classes - 1.
    n_classes : int
        0: numbers.
    target, y : float64 arrays of shape (n_samples,) or None
        Numbers: as multiples of a unit, whole and with sums below 2**52, and as they were given.
    """

    cdef DrawnPlan plan
    cdef readonly DrawnColumns columns
    cdef tuple kept

    def __cinit__(self, DrawnColumns columns, limits, const uint16_t[::1] labels=None, int32_t n_classes=0,
                  const double[::1] target=None, const double[::1] y=None):
        cdef DrawnPlan* p = &self.plan
        self.columns = columns
        self.kept = (labels, target, y)
        p.column = columns.column
        p.n_features = columns.n_features
        p.n_classes = n_classes
        if labels is not None:
            p.label = &labels[0]
        else:
            p.target = &target[0]
            p.y = &y[0]
        p.max_features = limits.max_features
        p.random = limits.random
        p.plain = columns.plain
        p.bundle = columns.bundle
        p.n_bundles = columns.n_bundles
        p.max_depth = limits.max_depth
        p.min_samples_split = limits.min_samples_split
        p.min_samples_leaf = limits.min_samples_leaf
        p.min_weight_leaf = limits.min_weight_leaf
        p.min_gain = limits.min_gain
        p.most_ranked = min(<int32_t> limits.most_ranked, MOST_RANKED)
        p.most_cells = min(<int32_t> limits.most_cells, MOST_CELLS)
        p.block_rows = block_rows(p, columns.n_samples) if limits.block_rows is None else limits.block_rows


cdef class DrawnRoom:
    """Memory of one thread that grows trees, one after the other."""

    cdef Room room
    cdef uint32_t capacity
    cdef char* buffer
    cdef size_t size
    cdef size_t value_size     # bytes of a row of values
    cdef list shelf

    def __cinit__(self):
        self.shelf = []

    def __dealloc__(self):
        self.free_buffer()
        self.free_grown()
        self.free_values()
        unmap_memory(self.room.bits, self.room.bits_room * sizeof(uint32_t), ARENA_LIMIT)

    cdef void free_buffer(self) noexcept:
        unmap_memory(self.buffer, self.size, ARENA_LIMIT)
        self.buffer = NULL
        self.size = 0
        self.capacity = 0

    cdef void free_grown(self) noexcept:
        unmap_memory(self.room.grown, self.room.grown_room * sizeof(PackedNode), ARENA_LIMIT)
        self.room.grown = NULL
        self.room.grown_room = 0

    cdef void free_values(self) noexcept:
        unmap_memory(self.room.values, self.room.values_room * self.value_size, ARENA_LIMIT)
        self.room.values = NULL
        self.room.values_room = 0

    cdef size_t carve(self, const DrawnPlan* p, size_t n, size_t n_categories, char* buffer) noexcept:
        """Hand out the parts of the buffer for n rows; returns its size."""
        cdef Room* r = &self.room
        cdef size_t d = p.n_features
        cdef size_t k = max(p.n_classes, 1)
        cdef size_t n_cells = min(<size_t> 65536, 256 * k) if k > 2 else 0
        cdef size_t at = 0
        cdef int32_t b
        n_cells = max(n_cells, 32 * k) if k > 2 else 0
        r.n_words = <int32_t> ((d + 63) // 64)
        r.n_slots = <int32_t> min(<size_t> MOST_SLOTS, <size_t> p.max_features)
        r.codes_room = max(<int64_t> CODES_AT_ONCE, <int64_t> n + 8)
        if <int64_t> (n + 8) * r.n_slots < r.codes_room:
            r.codes_room = <int64_t> (n + 8) * r.n_slots
        r.codes_room = max(r.codes_room, 2 * <int64_t> (min(n, <size_t> MOST_KEPT) + 8 if p.random else MOST_RANKED + 8))
        r.edges_size = sizeof(BinEdges) + (MOST_CELLS + 1) * 3 * sizeof(double) + MOST_CELLS * 4 + (n_cells * 4 + 7) // 8 * 8
        r.numbers = <double*> take(buffer, &at, 0 if p.n_classes else (n + 8) * 8)
        r.pairs = <uint64_t*> take(buffer, &at, (n + 8) * 8)
        r.squares = <double*> r.pairs
        r.block_column = <DrawnColumn*> take(buffer, &at, d * sizeof(DrawnColumn))
        r.block_row = <uint32_t*> take(buffer, &at, p.block_rows * 4)
        r.block_cells = take(buffer, &at, p.block_rows * cells_of_row(p) + 16 * (d + MOST_BUNDLES + 2))
        r.bundled_room = n + 8
        r.bundled = <int16_t*> take(buffer, &at, p.n_bundles * (n + 8) * 2)
        r.bundle_cells_room = 0
        for b in range(p.n_bundles):
            r.bundle_cells_room = max(r.bundle_cells_room, <size_t> p.bundle[b].n_codes * max(k * 4, <size_t> 16))
        r.bundle_cells = take(buffer, &at, p.n_bundles * r.bundle_cells_room)
        r.items = <uint64_t*> take(buffer, &at, (1 if p.random else 2) * (n + 1) * 8)
        r.rows = <uint32_t*> take(buffer, &at, (n + 1) * 4)
        r.bags = <uint32_t*> take(buffer, &at, (n + 1) * 4)
        r.counts = <uint32_t*> take(buffer, &at, ((n if k != 2 else min(n, <size_t> 65535)) + 8) * 4)
        r.labels = <uint16_t*> take(buffer, &at, (n + 8 if k > 2 else 0) * 2)
        r.codes = take(buffer, &at, r.codes_room * 4)
        r.edges = take(buffer, &at, r.n_slots * r.edges_size)
        r.cells = take(buffer, &at, MOST_CELLS * 3 * sizeof(double))
        r.constants = <uint64_t*> take(buffer, &at, (MOST_WAITING + 1) * r.n_words * 8)
        r.stack = <Waiting*> take(buffer, &at, MOST_WAITING * sizeof(Waiting))
        r.features = <int32_t*> take(buffer, &at, d * 4)
        r.swapped = <int32_t*> take(buffer, &at, d * 4)
        r.importance = <double*> take(buffer, &at, d * 8)
        r.touched = <uint32_t*> take(buffer, &at, n_categories * 4)
        r.group = <uint32_t*> take(buffer, &at, n_categories * 4)
        r.category_weight = <double*> take(buffer, &at, n_categories * 8)
        r.category_sum = <double*> take(buffer, &at, n_categories * 8)
        r.category_rows = <int64_t*> take(buffer, &at, n_categories * 8)
        r.class_counts = <int64_t*> take(buffer, &at, k * 8)
        r.left = <int64_t*> take(buffer, &at, k * 8)
        r.right = <int64_t*> take(buffer, &at, k * 8)
        r.before = <int64_t*> take(buffer, &at, k * 8)
        r.dense = <int32_t*> take(buffer, &at, k * 4)
        r.present = <int32_t*> take(buffer, &at, k * 4)
        return at

    cdef int prepare(self, DrawnGrower grower, uint32_t n) except -1:
        """Make room for a tree on n rows."""
        cdef const DrawnPlan* p = &grower.plan
        cdef size_t n_categories = max(grower.columns.most_categories, 3)
        cdef size_t value_size = max(p.n_classes, 2) * sizeof(double)
        cdef size_t size
        cdef int32_t f
        if value_size != self.value_size:
            self.free_values()
            self.value_size = value_size
        if self.buffer == NULL or n > self.capacity:
            self.free_buffer()
            size = self.carve(p, n, n_categories, NULL) + 64
            self.buffer = <char*> map_memory(size, ARENA_LIMIT)
            if self.buffer == NULL:
                raise MemoryError
            self.size = size
            self.capacity = n
            self.carve(p, n, n_categories, self.buffer)
            memset(self.room.category_weight, 0, n_categories * 8)
            memset(self.room.category_sum, 0, n_categories * 8)
            memset(self.room.category_rows, 0, n_categories * 8)
            memset(self.room.class_counts, 0, max(p.n_classes, 1) * sizeof(int64_t))
            for f in range(p.n_features):
                self.room.features[f] = f
        if not p.n_classes:        # trees of numbers have nearly as many leaves as rows
            self.make_room_for_nodes(2 * <int64_t> n + 4, <int64_t> n + 4)
        start_watch(&self.room.watch, handles_signals(), NULL)
        return 0

    cdef int make_room_for_nodes(self, int64_t n_nodes, int64_t n_values) except -1:
        """Make room at once for the most nodes and means: untouched memory costs nothing, and larger copies would."""
        cdef Room* r = &self.room
        if r.grown_room < n_nodes:
            self.free_grown()
            r.grown = <PackedNode*> map_memory(n_nodes * sizeof(PackedNode), ARENA_LIMIT)
            if r.grown == NULL:
                raise MemoryError
            r.grown_room = n_nodes
        if r.values_room < n_values:
            self.free_values()
            r.values = <double*> map_memory(n_values * self.value_size, ARENA_LIMIT)
            if r.values == NULL:
                raise MemoryError
            r.values_room = n_values
        return 0


cdef inline char* take(char* buffer, size_t* at, size_t size) noexcept:
    """The next part of a buffer, or only its size."""
    cdef char* part = buffer + at[0] if buffer != NULL else NULL
    at[0] += (size + 15) // 16 * 16
    return part


def key_of(uint64_t key, int32_t branch):
    """The key of a child; of the root, for a seed and the branch -1."""
    return mix(key + 1 + branch)


def drawn_features(uint64_t key, int32_t n_features):
    """All features in the order in which a node of this key draws them."""
    cdef Room room
    cdef int32_t[::1] order = np.arange(n_features, dtype=np.int32)
    cdef int32_t[::1] swapped = np.empty(n_features, dtype=np.int32)
    cdef int32_t turn
    room.features, room.swapped = &order[0], &swapped[0]
    for turn in range(n_features):
        draw(&room, turn, n_features, &key)
    return np.asarray(order)


def grow_packed(DrawnGrower grower, const uint16_t[::1] counts, uint64_t seed, DrawnRoom room=None, bint below=False):
    """Grow a tree on a bag.

    Parameters
    ----------
    grower : DrawnGrower
        Trees in several threads may share it; each thread needs a room of its own.
    counts : uint16 array of shape (n_samples,)
        How often each sample was drawn.
    seed : int
        The features that a node draws depend on it and on the node's path alone.
    room : DrawnRoom or None
    below : bool, default=False
        Whether the seed is the key of a node, whose subtree is grown.

    Returns
    -------
    nodes : array of NODE of shape (n_nodes,)
        Breadth first.  A leaf's row is its class where it has only one, else n_classes plus a row of `values`; for numbers it is
        a row of `values`.
    values : float64 array of shape (n_values, n_classes), or (n_values, 2)
        Shares of the classes, or mean and variance.
    bits : uint32 array
        Categories of nominal splits.
    importances : float64 array of shape (n_features,)
        Sums of weight times decrease of impurity, for numbers in squares of the unit.
    """
    cdef const DrawnPlan* p = &grower.plan
    cdef Room* r
    cdef PackedNode* packed
    cdef int64_t i
    cdef int64_t n = 0
    cdef int status
    room = DrawnRoom() if room is None else room
    for i in range(counts.shape[0]):
        n += counts[i] != 0
    room.prepare(grower, <uint32_t> n)
    r = &room.room
    with nogil:
        n = 0
        for i in range(counts.shape[0]):
            if counts[i]:
                r.rows[n] = <uint32_t> i
                r.bags[n] = counts[i] | (<uint32_t> p.label[i] << 16 if p.n_classes else 0)
                n += 1
        status = grow_drawn(p, r, n, seed if below else mix(seed))
    raise_pending()
    if status:
        raise MemoryError
    importances = copied(r.importance, p.n_features, sizeof(double), np.float64)
    if room.capacity > LARGE:
        room.free_buffer()
    nodes = shelved(room.shelf, r.n_grown, sizeof(PackedNode), NODE)
    packed = <PackedNode*> memory_of(nodes)
    with nogil:
        status = write_nodes(r, packed)
    if status:
        raise MemoryError
    if r.grown_room > LARGE:
        room.free_grown()
    width = max(p.n_classes, 2) if p.n_classes else 2
    if p.n_classes == 1:
        width = 1
    values = shelved(room.shelf, r.n_values * width, sizeof(double), np.float64).reshape(r.n_values, width)
    if r.n_values:
        memcpy(memory_of(values), r.values, values.nbytes)
    if r.values_room > LARGE:
        room.free_values()
    bits = copied(r.bits, r.n_bits, sizeof(uint32_t), np.uint32)
    return nodes, values, bits, importances


def copy_nodes(nodes, out, int64_t first, uint32_t n_pure, uint32_t n_values, uint32_t n_bits):
    """Copy nodes of trees to the places first, ... of `out`, behind other trees.

    Parameters
    ----------
    nodes, out : arrays of NODE
    first : int
    n_pure : int
        Rows of values with one class alone, which all trees share.
    n_values, n_bits : int
        The other rows of values and the words of bits that come before those of the nodes.
    """
    cdef const uint8_t[::1] memory = nodes.view(np.uint8)
    cdef PackedNode* to = <PackedNode*> memory_of(out) + first
    cdef int64_t n = memory.shape[0] // <int64_t> sizeof(PackedNode)
    if n > out.shape[0] - first:
        raise ValueError(f"{n} nodes do not fit into an array of {out.shape[0]} behind {first}")
    if n:
        with nogil:
            move_nodes(<const PackedNode*> &memory[0], n, n_pure, n_values, n_bits, to)


# ---------------------------------------------------------------------------------------------------------------------
# Walks
# ---------------------------------------------------------------------------------------------------------------------

cdef class PackedWalk:
    """Some rows on their way through packed trees.

    Parameters
    ----------
    nodes, start, bits : arrays
        As in `Packed`.
    n_values : int
        Rows of values.
    X : float32 or float64 array of shape (n, n_features)
        Codes as floats, missing = NaN.
    """

    cdef Passage way
    cdef tuple kept

    def __cinit__(self, nodes, const int64_t[::1] start, const uint32_t[::1] bits, int64_t n_values, X):
        cdef const uint8_t[::1] memory = nodes.view(np.uint8)
        cdef Passage* w = &self.way
        self.kept = (nodes, start, bits, X)
        w.rows = rows_of(X)
        w.has_few_values = n_values < MOST_VALUES
        w.trees.nodes = <const PackedNode*> &memory[0]
        w.trees.start = &start[0]
        w.trees.bits = &bits[0] if bits.shape[0] else NULL

    def __dealloc__(self):
        leave(&self.way)

    cdef int make_room(self, int64_t first, int64_t last) except -1:
        """Make room for the trees first, ..., last - 1."""
        cdef int status
        with nogil:
            leave(&self.way)
            status = lay_out(&self.way, first, last)
        if status:
            raise MemoryError
        return 0

    def add_sums(self, const double[:, ::1] value, double[:, ::1] out, int64_t first, int64_t last,
                 const double[::1] weights=None):
        """Add the rows of `value` of the leaves that rows reach in the trees first, ..., last - 1, tree after tree.

        `weights` has a factor for each tree; None: 1.
        """
        cdef Passage* w = &self.way
        cdef Values values = values_of(value)
        cdef uint32_t at[SIDE_BY_SIDE]
        cdef int64_t row, t
        cdef int32_t i, n
        if w.rows.n == 0:
            return
        self.make_room(first, last)
        with nogil:
            for t in range(first, last):
                if weights is not None:
                    values.factor = weights[t]
                enter(w, t, w.rows.n)
                row = 0
                while row < w.rows.n:
                    n = <int32_t> min(<int64_t> SIDE_BY_SIDE, w.rows.n - row)
                    arrive(w, NULL, row, n, at)
                    for i in range(n):
                        add_value(&values, value_row(w, at[i]), &out[0, 0] + (row + i) * values.n_columns)
                    row += SIDE_BY_SIDE

    def find_leaves(self, int32_t[:, ::1] out, int64_t first, int64_t last):
        """Write the leaf of every row in the trees first, ..., last - 1, counted from the tree's first node."""
        cdef Passage* w = &self.way
        cdef uint32_t at[SIDE_BY_SIDE]
        cdef int64_t row, t
        cdef int32_t i, n
        self.make_room(first, last)
        with nogil:
            for t in range(first, last):
                enter(w, t, w.rows.n)
                row = 0
                while row < w.rows.n:
                    n = <int32_t> min(<int64_t> SIDE_BY_SIDE, w.rows.n - row)
                    arrive(w, NULL, row, n, at)
                    for i in range(n):
                        out[row + i, t - first] = <int32_t> at[i]
                    row += SIDE_BY_SIDE

    def judge(self, const double[:, ::1] value, const uint8_t[:, ::1] lacking, const double[::1] target,
              const double[::1] weight, bint by_class):
        """Let every tree predict the rows that its bag lacks.

        Parameters
        ----------
        value : float64 array of shape (n_values, k)
        lacking : uint8 array of shape (n_trees, n / 8 rounded up)
            A bit for each row, the highest first.
        target, weight : float64 arrays of shape (n,)
            Codes of classes or numbers; weights in errors.
        by_class : bool

        Returns
        -------
        sums : float64 array of shape (n, k)
            Predictions of the trees that judge a row, added in their order.
        seen : float64 array of shape (n,)
            How many they are.
        errors : float64 array of shape (2, n_trees)
            After each tree, the weighted sum of errors (1 for a wrong class, or the squared deviation of the mean), and the
            weight of the rows that are predicted by then.
        """
        cdef Passage* w = &self.way
        cdef Judged judged
        cdef int64_t t
        judged.values = values_of(value)
        found = np.zeros((w.rows.n, value.shape[1])), np.zeros(w.rows.n), np.zeros((2, lacking.shape[0]))
        cdef double[:, ::1] sums = found[0]
        cdef double[::1] seen = found[1]
        cdef double[:, ::1] errors = found[2]
        cdef double[::1] error = np.zeros(w.rows.n)
        cdef uint32_t[::1] some = np.empty(w.rows.n + 8, dtype=np.uint32)
        if w.rows.n == 0:
            return found
        judged.sums, judged.seen, judged.error, judged.some = &sums[0, 0], &seen[0], &error[0], &some[0]
        judged.target, judged.by_class = &target[0], by_class
        self.make_room(0, lacking.shape[0])
        with nogil:
            for t in range(lacking.shape[0]):
                judge_tree(w, &judged, t, &lacking[t, 0])
                add_errors(&judged, &weight[0], w.rows.n, &errors[0, t], &errors[1, t])
        return found
