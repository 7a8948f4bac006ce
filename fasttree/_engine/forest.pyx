"""Trees of a forest: columns that all of them share, their growth, and walks over their nodes.

A tree of a forest looks at a few drawn features in each node; the headers in `drawn` have the layout for that.  A tree is an
array of 16-byte nodes, breadth first, siblings side by side.
"""

from libc.math cimport NAN
from libc.stdint cimport INT64_MAX, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.arrays cimport column_of, copied, mapped, memory_of, shelved
from fasttree._engine.columns.keys cimport list_column
from fasttree._engine.drawn.block cimport block_rows
from fasttree._engine.drawn.codes cimport add_member, copy_few, copy_floats, copy_listed, list_floats
from fasttree._engine.drawn.gather cimport draw
from fasttree._engine.drawn.judge cimport Judged, Values, add_errors, add_value, judge_tree, values_of
from fasttree._engine.drawn.nodes cimport grow_drawn, open_size, push_open, start_tree
from fasttree._engine.drawn.packing cimport move_nodes, write_nodes
from fasttree._engine.drawn.passage cimport Passage, arrive, enter, lay_out, leave, value_row
from fasttree._engine.drawn.records cimport (
    MOST_BUNDLES, MOST_CELLS, MOST_RANKED, NARROW_BASE, WIDE_LAST, DrawnBundle, DrawnColumn, DrawnPlan, Open, Room,
)
from fasttree._engine.drawn.rooms cimport carve_room, fill_bag
from fasttree._engine.drawn.short cimport MOST_VALUES
from fasttree._engine.drawn.walk cimport SIDE_BY_SIDE, PackedNode
from fasttree._engine.memory cimport ARENA_LIMIT, map_memory, unmap_memory
from fasttree._engine.random cimport mix
from fasttree._engine.types cimport real_t
from fasttree._engine.walk.rows cimport rows_of
from fasttree._engine.watch cimport handles_signals, raise_pending, set_mark, start_watch

NODE = np.dtype([("operand", "f8"), ("child", "u4"), ("feature", "u2"), ("kind", "u1"), ("missing", "u1")])

cdef enum:
    MOST_NARROW = 65536        # codes of a column that 16 bits hold
    LEAST_MEMBERS = 3          # of a bundle
    MOST_MEMBERS = 32767
    MOST_TRIED = 16            # bundles, some of which stay too small
    LARGE = 1 << 17            # rows or nodes whose room is freed before memory of a finished tree is asked for


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

    def add_continuous(self, int32_t feature, const real_t[:] column, few):
        """Encode a continuous feature, NaN = missing, nothing infinite; `few` is what `encoding.code_values` finds in it.

        Threads may add features side by side.  Returns whether growth needs the values: see `keep_values`.
        """
        cdef uint64_t[:, ::1] room
        cdef bint needs_values
        try:
            room = self.rooms.pop()
        except IndexError:
            room = mapped(3 * (<int64_t> self.n_samples + 1), 8, np.uint64).reshape(3, -1)
        needs_values = self.encode(feature, column, few, room)
        self.rooms.append(room)
        return needs_values

    def keep_values(self, int32_t feature, column):
        """Keep a column of more than 65,535 values, floats, without a copy."""
        self.column[feature].column = column_of(column)
        self.kept.append(column)

    cdef bint encode(self, int32_t feature, const real_t[:] column, few, uint64_t[:, ::1] room) except -1:
        """Write the codes of a continuous feature; whether growth needs the values."""
        cdef uint64_t* entries = NULL
        cdef uint8_t* few_codes = NULL
        cdef uint32_t n_codes
        cdef int64_t n = self.n_samples
        cdef bint has_missing
        cdef int32_t found = -1
        cdef double[::1] value
        cdef char* codes
        if few is not None:
            found = len(few[0])
            few_codes = <uint8_t*> memory_of(few[1])
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
            value = np.array([NAN, *few[0]])
            with nogil:
                has_missing = copy_few(few_codes, n, &self.column[feature])
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

    def add_codes(self, int32_t feature, codes, uint32_t n_categories, bint ordered):
        """Encode a nominal or (`ordered`) ordinal feature given as codes 0 (missing), 1, ..., n_categories."""
        cdef const uint32_t[::1] given = np.ascontiguousarray(codes, dtype=np.uint32)
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
            if given[i] == 0:
                self.plain = False
            if column.wide:
                (<int32_t*> out)[i] = <int32_t> given[i]
            else:
                (<int16_t*> out)[i] = <int16_t> (<int32_t> given[i] + NARROW_BASE)


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
    cdef int ended             # mark: no part of a tree goes on

    def __cinit__(self):
        self.shelf = []

    def end(self):
        """End the parts in hand of the tree whose bag is here: each raises an exception."""
        set_mark(&self.ended)

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
            size = carve_room(&self.room, p, n, n_categories, NULL) + 64
            self.buffer = <char*> map_memory(size, ARENA_LIMIT)
            if self.buffer == NULL:
                raise MemoryError
            self.size = size
            self.capacity = n
            carve_room(&self.room, p, n, n_categories, self.buffer)
            memset(self.room.category_weight, 0, n_categories * 8)
            memset(self.room.category_sum, 0, n_categories * 8)
            memset(self.room.category_rows, 0, n_categories * 8)
            memset(self.room.class_counts, 0, max(p.n_classes, 1) * sizeof(int64_t))
            for f in range(p.n_features):
                self.room.features[f] = f
        if not p.n_classes:        # trees of numbers have nearly as many leaves as rows
            self.make_room_for_nodes(2 * <int64_t> n + 4, <int64_t> n + 4)
        start_watch(&self.room.watch, handles_signals(), NULL)
        self.room.least_open = INT64_MAX
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


cdef int64_t value_width(const DrawnPlan* p) noexcept:
    """Numbers in a row of values."""
    return p.n_classes if p.n_classes else 2


cdef int put_bag(DrawnGrower grower, const uint16_t[::1] counts, uint64_t key, DrawnRoom room) except -1:
    """Put a bag into a room, and its root, with this key, on the stack."""
    cdef int64_t n = 0
    cdef int64_t i
    with nogil:
        for i in range(counts.shape[0]):
            n += counts[i] != 0
    room.prepare(grower, <uint32_t> n)
    with nogil:
        fill_bag(&grower.plan, &counts[0], counts.shape[0], room.room.rows, room.room.bags)
        start_tree(&room.room, n, key)
    return 0


cdef int grow_first(DrawnGrower grower, DrawnRoom room) except -1:
    """Grow the node that is on the stack."""
    cdef int status
    with nogil:
        status = grow_drawn(&grower.plan, &room.room)
    raise_pending()
    if status:
        raise MemoryError
    return 0


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
    """
    cdef const DrawnPlan* p = &grower.plan
    cdef Room* r
    room = DrawnRoom() if room is None else room
    r = &room.room
    put_bag(grower, counts, seed if below else mix(seed), room)
    grow_first(grower, room)
    if room.capacity > LARGE:
        room.free_buffer()
    nodes = shelved(room.shelf, r.n_grown, sizeof(PackedNode), NODE)
    number_nodes(r.grown, r.n_grown, 0, nodes)
    if r.grown_room > LARGE:
        room.free_grown()
    values = shelved(room.shelf, r.n_values * value_width(p), sizeof(double), np.float64).reshape(r.n_values, value_width(p))
    if r.n_values:
        memcpy(memory_of(values), r.values, values.nbytes)
    if r.values_room > LARGE:
        room.free_values()
    return nodes, values, copied(r.bits, r.n_bits, sizeof(uint32_t), np.uint32)


cdef int number_nodes(const PackedNode* grown, int64_t n, uint32_t root, nodes) except -1:
    """Write the n nodes from a root on, breadth first."""
    cdef PackedNode* packed = <PackedNode*> memory_of(nodes)
    cdef int status
    with nogil:
        status = write_nodes(grown, n, root, packed)
    if status:
        raise MemoryError
    return 0


def first_part(DrawnGrower grower, const uint16_t[::1] counts, uint64_t seed, DrawnRoom room):
    """The root of a tree of which several threads grow parts; its bag is in this room, which `grow_part` gets as `owner`."""
    cdef Open first
    memset(&first, 0, sizeof(Open))
    put_bag(grower, counts, mix(seed), room)
    first.waiting = room.room.stack[0]
    return (<const char*> &first)[:sizeof(Open)] + bytes(room.room.n_words * sizeof(uint64_t))


def grow_part(DrawnGrower grower, DrawnRoom room, DrawnRoom owner, bytes node, int64_t least):
    """Grow a node and all below it, but for nodes of at least so many rows, which are left open.

    Parameters
    ----------
    grower : DrawnGrower
    room : DrawnRoom
        The room of this thread: the part comes behind others of this tree.
    owner : DrawnRoom
        The room of the bag.
    node : bytes
        The first part, or an open node.
    least : int

    Returns
    -------
    place : int
        Where the node is in the room.
    sizes : tuple of four int
        Rows of values and words of bits in the room before this part, and after it.
    opened : list of (int, int, int, bytes)
        Nodes that were left open, in the order in which they would be grown: the place in the room, the sizes by then, the node.
    """
    cdef Room* r = &room.room
    cdef uint32_t* rows
    cdef uint32_t* bags
    cdef const Open* at
    cdef int64_t i
    room.prepare(grower, owner.capacity)
    start_watch(&r.watch, handles_signals(), &owner.ended)
    rows, bags = r.rows, r.bags
    r.rows, r.bags = owner.room.rows, owner.room.bags
    left = bytearray((owner.capacity // least + 1) * open_size(r))
    r.open, r.n_open, r.least_open = left, 0, least
    push_open(r, node)
    place, n_values, n_bits = r.n_grown, r.n_values, r.n_bits
    try:
        grow_first(grower, room)
    finally:
        r.rows, r.bags, r.least_open = rows, bags, INT64_MAX
    opened = []
    for i in range(r.n_open):
        at = <const Open*> (r.open + i * open_size(r))
        opened.append((at.waiting.node, at.n_values, at.n_bits, (<const char*> at)[:open_size(r)]))
    return place, (n_values, n_bits, r.n_values, r.n_bits), opened


def take_grown(DrawnGrower grower, DrawnRoom room):
    """What a room has of a tree, whose memory is freed: nodes, in which children are places in the room, values and bits."""
    cdef Room* r = &room.room
    cdef int64_t width = value_width(&grower.plan)
    room.free_buffer()
    nodes = copied(r.grown, r.n_grown, sizeof(PackedNode), NODE)
    room.free_grown()
    values = copied(r.values, r.n_values * width, sizeof(double), np.float64).reshape(-1, width)
    room.free_values()
    return nodes, values, copied(r.bits, r.n_bits, sizeof(uint32_t), np.uint32)


def numbered(grown, int64_t n, uint32_t root):
    """The n nodes from a root on, breadth first."""
    nodes = mapped(n, sizeof(PackedNode), NODE)
    number_nodes(<const PackedNode*> memory_of(grown), n, root, nodes)
    return nodes


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
