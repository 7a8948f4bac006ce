"""Columns as the engine reads them: codes, sorted lists and bins.

`Encoding` holds the features of a table for growth, `Binning` finds bins of continuous columns.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from fasttree._engine.arrays cimport bytes_of, column_of, memory_of
from fasttree._engine.columns.abreast cimport codes_of_columns
from fasttree._engine.columns.bins cimport BinTable, bin_all, bin_column, lay_table, list_bins
from fasttree._engine.columns.cut_points cimport ROWS_AT_ONCE, CodeGrid, code_some, fetch_share, lay_grid
from fasttree._engine.columns.edges cimport (
    GRID_BITS, EdgeSearch, Grid, Piece, find_edges, room_for_pieces, room_for_search,
)
from fasttree._engine.columns.few cimport encode_few
from fasttree._engine.columns.integers cimport mark_integers, rank_integers, span_of
from fasttree._engine.columns.keys cimport (
    GONE, Extent, all_single, double_keys, float_of, list_codes, list_column, single_keys, some_entries, some_values, sortable,
    value_of,
)
from fasttree._engine.columns.locks import new_lock
from fasttree._engine.columns.texts cimport Texts, number_texts
from fasttree._engine.memory cimport (
    LARGE_PAGE, ListRoom, all_pieces, close_room, free_arena, free_list, new_list, node_header, renew, reserve,
)
from fasttree._engine.scan.tiles cimport LANES
from fasttree._engine.types cimport (
    CONTINUOUS, FEW, NARROW, NOMINAL, ORDINAL, Arena, Block, Column, Problem, real_t,
)
from fasttree._engine.walk.rows cimport INFINITE, Rows, rows_of, state_of_rows

I8 = np.dtype("i8")
pieces = all_pieces()


cdef enum:
    ROWS_OF_SAMPLE = 16384     # that say where the bins of the bounded search end
    ROWS_OF_COPY = 64          # of a table whose columns are copied: these rows stay in the first-level cache
    FEW_ROWS = 8               # up to the 8th part of the rows is sorted in less time than a whole list is read


cdef class Encoding:
    """The features of a table as the engine needs them: a code column, or a presorted list with as many codes as values.

    Once all features are there, growth does not change it unless it consumes it, so several growths may share it.

    Parameters
    ----------
    n_samples, n_features : int
    block_rows : int, at most 65,535
        Above this many samples the entries of a list take 8 bytes instead of 4.
    bounded : bool
        Above that many samples nodes are searched by histograms and bounds: continuous features of many values become bins.
    most_codes : int, 2 to 255
        Values up to which a feature is counted by code; bins of one with more.
    several : bool
        Several threads may add features at the same time, if there are more than `block_rows` samples.
    """

    def __cinit__(
        self, uint32_t n_samples, int32_t n_features, uint32_t block_rows=NARROW, bint bounded=False, int32_t most_codes=FEW,
        bint several=False,
    ):
        cdef size_t d = max(n_features, 1)
        cdef size_t n = n_samples
        self.n_samples = n_samples
        self.n_features = n_features
        self.block_rows = block_rows
        self.wide = n_samples > block_rows
        self.bounded = self.wide and bounded
        self.lock = new_lock()
        self.apart = self.bounded or (several and self.wide)
        self.most_codes = most_codes
        self.kept = []
        self.cursor = node_header(d, n_samples)
        self.lists = <size_t*> calloc(d, sizeof(size_t))
        self.kind = <uint8_t*> calloc(d, 1)
        self.counted = <uint8_t*> calloc(d, 1)
        self.n_codes = <uint32_t*> calloc(d, sizeof(uint32_t))
        self.slot = <int32_t*> calloc(d, sizeof(int32_t))
        self.exact = <Column*> calloc(d, sizeof(Column))
        self.category = <const uint32_t**> calloc(d, sizeof(void*))
        # one row past the table: a counted feature that turns out not to be one has used its column
        if reserve(&self.codes, max(n + 1, min(d * n + 1, LARGE_PAGE - 1))):
            raise MemoryError
        if self.bounded:               # first, so that they start with a large page
            self.tiles = <uint8_t*> new_list(&self.room, n_samples, self.tile_row())
        if self.wide:                  # two parts of n_samples + 1 records
            self.records = <uint64_t*> new_list(&self.room, 2 * n + 1, sizeof(uint64_t))
        elif not reserve(&self.sorting, 2 * (n + 1) * sizeof(uint64_t)):
            self.records = <uint64_t*> self.sorting.data
        self.binned = <uint8_t*> calloc(d, 1)
        self.single_valued = <uint8_t*> malloc(d * 256)
        self.column = <Column*> calloc(d, sizeof(Column))
        self.grid = <CodeGrid*> malloc(d * sizeof(CodeGrid) if self.wide and bounded else 1)
        self.has_grid = <uint8_t*> calloc(d, 1)
        if not (self.binned and self.single_valued and self.column and self.grid and self.has_grid):
            raise MemoryError
        memset(self.single_valued, 1, d * 256)
        if not (self.lists and self.kind and self.counted and self.n_codes and self.slot and self.exact and self.category
                and self.records and (self.tiles or not self.bounded)):
            raise MemoryError
        self.spare = self.records + n + 1

    def __dealloc__(self):
        cdef int32_t f
        if self.lists and self.wide and not self.bounded:
            for f in range(self.n_features):
                free_list(self.lists[f], self.n_samples, sizeof(uint64_t))
        free(self.lists)
        free_arena(&self.arena)
        free(self.kind)
        free(self.counted)
        free(self.n_codes)
        free(self.slot)
        free(self.exact)
        free(self.category)
        free_arena(&self.codes)
        free_list(<size_t> self.tiles, self.n_samples, self.tile_row())
        free(self.binned)
        free(self.single_valued)
        free(self.column)
        free(self.grid)
        free(self.has_grid)
        self.free_sorting_space()

    def of_rows(self, const int64_t[::1] rows, const int64_t[::1] order, uint32_t block_rows):
        """Return the encoding of some rows (ascending), whose feature j is feature `order[j]` of this one.

        It grows the trees of an encoding made anew, but hardly anything is sorted.  This encoding is not bounded.
        """
        cdef Encoding found = Encoding(rows.shape[0], order.shape[0], block_rows)
        cdef bint few = rows.shape[0] * FEW_ROWS <= self.n_samples
        cdef uint32_t[::1] place
        cdef Py_ssize_t i
        cdef int32_t j
        for j in range(self.n_features):
            few = few and (self.counted[j] or self.category[j] != NULL or self.exact[j].data != NULL)
        place = np.full(0 if few else self.n_samples, GONE, dtype=np.uint32)
        for i in range(0 if few else rows.shape[0]):
            place[rows[i]] = <uint32_t> i
        for j in range(order.shape[0]):
            self.take_rows(<int32_t> order[j], rows, place, found, j)
        found.finish()
        return found

    cdef int take_rows(
        self, int32_t feature, const int64_t[::1] rows, const uint32_t[::1] place, Encoding found, int32_t to
    ) except -1:
        """Give `found` the rows of a feature as its feature `to`.  Without places, lists are sorted anew."""
        cdef const uint8_t* codes = <uint8_t*> self.codes.data + <size_t> self.slot[feature] * self.n_samples
        cdef uint8_t* out
        cdef void* entries
        cdef Py_ssize_t i, n = rows.shape[0]
        cdef uint32_t[::1] by_row
        cdef bint few = place.shape[0] == 0
        found.kind[to] = self.kind[feature]
        if self.counted[feature]:
            out = found.next_column()
            for i in range(n):
                out[i] = codes[rows[i]]
            found.counted[to] = True
            found.keep_codes(to, out, self.n_codes[feature])
            found.exact[to] = self.exact[feature]      # by code
            found.kept.append(self)
            return 0
        found.n_codes[to] = self.n_codes[feature]
        if self.category[feature] != NULL:
            by_row = np.empty(n, dtype=np.uint32)
            for i in range(n):
                by_row[i] = self.category[feature][rows[i]]
            if few:
                found.add_codes(to, by_row, self.n_codes[feature] - 1, self.kind[feature] == ORDINAL)
                return 0
            found.kept.append(by_row)
            found.category[to] = &by_row[0]
        if self.exact[feature].data != NULL:
            if self.exact[feature].is_double:
                values = some_values(&self.exact[feature], rows, np.empty(n), <double> 0)
            else:
                values = some_values(&self.exact[feature], rows, np.empty(n, dtype=np.float32), <float> 0)
            if few:
                if found.add_continuous(to, values, INFINITY):
                    found.keep_values(to, values)
                return 0
            found.keep_values(to, values)
        if self.lists[feature] == 0:
            return 0
        entries = found.room_for_list()
        with nogil:
            if not self.wide:
                some_entries(<const uint32_t*> (self.arena.data + self.lists[feature]), &place[0], n, <uint32_t*> entries)
            elif found.wide:
                some_entries(<const uint64_t*> self.lists[feature], &place[0], n, <uint64_t*> entries)
            else:
                some_entries(<const uint64_t*> self.lists[feature], &place[0], n, <uint32_t*> entries)
        found.keep_list(to, entries)
        return 0

    cdef size_t tile_row(self) noexcept:
        """Bytes of a row of all tiles."""
        return (<size_t> max(self.n_features, 1) + LANES - 1) // LANES * LANES

    cdef void free_sorting_space(self) noexcept:
        if self.wide:
            free_list(<size_t> self.records, 2 * <size_t> self.n_samples + 1, sizeof(uint64_t))
        free_arena(&self.sorting)
        close_room(&self.room)
        self.records = NULL
        self.spare = NULL

    def finish(self):
        """Free the room for sorting, because all features have been added."""
        self.free_sorting_space()

    cdef void describe(self, Problem* p, Block* block) noexcept:
        """Fill in the fields of a problem and of the block of all samples that describe the features, except for their lists."""
        p.n_features = self.n_features
        p.kind = self.kind
        p.counted = self.counted
        p.n_codes = self.n_codes
        p.slot = self.slot
        p.exact = self.exact
        p.category = self.category
        block.n = self.n_samples
        block.codes = <uint8_t*> self.codes.data
        if self.bounded:
            block.tiles = self.tiles
            block.single_valued = self.single_valued
            p.binned = self.binned
            p.column = self.column

    cdef int lend(self, size_t* lists, Arena* arena, bint consume) except -1:
        """Give the first node of a tree its lists: copies, or (`consume`) the encoding's own, which is then used up.

        What `arena` holds is no longer needed.
        """
        cdef size_t d = self.n_features
        cdef size_t n = self.n_samples
        cdef size_t header = node_header(max(self.n_features, 1), n)
        cdef bint copies = self.wide and not self.bounded
        cdef size_t f
        cdef ListRoom room
        room.left = 0
        if self.used_up:
            raise ValueError("this Encoding was used up by growth with Workspace(consume=True): encode the table again")
        if consume:
            self.used_up = True
            self.free_sorting_space()
            free_arena(arena)
            arena[0] = self.arena
            memset(&self.arena, 0, sizeof(Arena))
            memcpy(lists, self.lists, d * sizeof(size_t))
            memset(self.lists, 0, d * sizeof(size_t))
            return 0
        if not copies:
            memcpy(lists, self.lists, d * sizeof(size_t))
        if not self.wide and renew(arena, self.cursor):
            raise MemoryError
        with nogil:
            if self.arena.data != NULL:
                memcpy(arena.data + header, self.arena.data + header, self.cursor - header)
            for f in range(d if copies else 0):
                if self.lists[f]:
                    lists[f] = <size_t> new_list(&room, n, sizeof(uint64_t))
                    if lists[f] == 0:
                        break
                    memcpy(<void*> lists[f], <const void*> self.lists[f], n * sizeof(uint64_t))
        close_room(&room)
        for f in range(d):
            if self.lists[f] and lists[f] == 0:
                raise MemoryError
        return 0

    cdef void* room_for_list(self) except NULL:
        """Where the next list goes; `keep_list` says that it stays."""
        cdef size_t n = self.n_samples
        cdef void* entries
        if self.wide:
            self.lock.acquire()
            entries = new_list(&self.room, self.n_samples, sizeof(uint64_t))
            self.lock.release()
            if entries == NULL:
                raise MemoryError
            return entries
        # at once for all features: untouched memory costs nothing, and nothing has to move
        if reserve(&self.arena, node_header(self.n_features, n) + (n * self.n_features + 1) * sizeof(uint32_t)):
            raise MemoryError
        return self.arena.data + self.cursor

    cdef void keep_list(self, int32_t feature, void* entries) noexcept:
        """Keep a list unless all its codes are equal, so that nothing can be split."""
        cdef size_t n = self.n_samples
        cdef const uint32_t* narrow = <const uint32_t*> entries
        cdef const uint64_t* wide = <const uint64_t*> entries
        if self.wide:
            if wide[0] >> 32 == wide[n - 1] >> 32:
                free_list(<size_t> entries, n, sizeof(uint64_t))
            else:
                self.lists[feature] = <size_t> entries
        elif narrow[0] >> 16 != narrow[n - 1] >> 16:
            self.lists[feature] = self.cursor
            self.cursor += n * sizeof(uint32_t)

    cdef int take_slot(self, int32_t feature, int64_t n_codes, const uint8_t* own=NULL) except -1:
        """Give a feature the next column of codes, which `own` holds if it is not NULL."""
        cdef uint8_t* column
        self.lock.acquire()
        column = <uint8_t*> self.codes.data if own == NULL else self.larger_codes()
        if own != NULL and column != NULL and column != own:
            memcpy(column, own, self.n_samples)
        self.slot[feature] = self.n_counted
        self.n_counted += 1
        self.lock.release()
        self.n_codes[feature] = <uint32_t> n_codes
        if column == NULL:
            raise MemoryError

    cdef int keep_codes(self, int32_t feature, const uint8_t* codes, int64_t n_codes) except -1:
        """Keep the codes of a feature, in its lane of the tiles where the encoding is bounded."""
        cdef uint8_t* lane
        cdef int64_t i
        self.take_slot(feature, n_codes, <const uint8_t*> NULL if self.bounded else codes)
        if self.bounded:
            lane = self.tiles + <size_t> (feature // LANES) * LANES * self.n_samples + feature % LANES
            with nogil:
                for i in range(self.n_samples):
                    lane[i * LANES] = codes[i]

    cdef uint8_t* larger_codes(self) noexcept:
        """The next column of codes; NULL if memory runs out."""
        if reserve(&self.codes, (<size_t> self.n_counted + 1) * self.n_samples + 1):
            return NULL
        return <uint8_t*> self.codes.data + <size_t> self.n_counted * self.n_samples

    cdef uint8_t* next_column(self) except NULL:
        cdef uint8_t* column = self.larger_codes()
        if column == NULL:
            raise MemoryError
        return column

    def add_continuous(self, int32_t feature, const real_t[:] column, double gap=-1.0):
        """Encode a continuous feature: float32 or float64 (n_samples,), NaN = missing, nothing infinite.

        Returns whether the engine needs the values themselves, for C4.5's gap rule: two of them are at most `gap` apart and
        they are too many to be kept by code.  `keep_values` must then be called.
        """
        cdef uint64_t distinct[256]
        cdef uint8_t[::1] own          # records, as many to spare, and codes
        cdef uint64_t* records = self.records
        cdef uint64_t* spare = self.spare
        cdef uint8_t* codes
        cdef int32_t found, i
        cdef bint close = False
        cdef void* entries
        if self.apart:
            own = np.empty(17 * <size_t> self.n_samples, dtype=np.uint8)
            records = <uint64_t*> &own[0]
            spare = records + self.n_samples
        codes = <uint8_t*> (spare + self.n_samples) if self.apart else self.next_column()
        with nogil:
            found = encode_few(column, codes, distinct)
        self.kind[feature] = CONTINUOUS
        if self.bounded and (found < 0 or found > self.most_codes):
            self.put_in_bins(feature, column)
            return True
        if found < 0:
            self.n_codes[feature] = 0
            entries = self.room_for_list()
            with nogil:
                close = list_column(column, records, spare, entries, self.wide, gap)
            self.keep_list(feature, entries)
            return close
        self.counted[feature] = True
        self.keep_codes(feature, codes, found + 1)
        for i in range(found - 1):
            close = close or value_of(distinct[i + 1]) - value_of(distinct[i]) <= gap
        if close:
            self.keep_values(feature, np.array([0.0] + [value_of(distinct[i]) for i in range(found)]))
        return False

    def add_bins(self, int32_t feature, codes, uint32_t n_bins):
        """Encode a continuous feature given as codes of bins 1, ..., n_bins in the order of their values, 0 = missing."""
        cdef int64_t n = self.n_samples
        cdef const uint16_t[::1] given
        cdef uint32_t[::1] starts = np.empty(<size_t> n_bins + 2, dtype=np.uint32)
        cdef void* entries
        if n_bins <= FEW:
            self.add_codes(feature, codes, n_bins, True)
            self.kind[feature] = CONTINUOUS
            return
        self.kind[feature] = CONTINUOUS
        if self.bounded:
            column = np.where(codes == 0, np.nan, codes).astype(np.float32)
            self.put_in_bins(feature, column)
            self.keep_values(feature, column)
            return
        self.n_codes[feature] = 0
        given = np.ascontiguousarray(codes, dtype=np.uint16)
        entries = self.room_for_list()
        with nogil:
            list_bins(&given[0], n, n_bins, &starts[0], entries, self.wide)
        self.keep_list(feature, entries)

    def put_in_bins(self, int32_t feature, const real_t[:] column):
        """Encode a continuous feature by bins of nearly equal counts in a sample; `keep_values` must then be called.

        The places of their edges have no influence on a tree.
        """
        cdef uint8_t[::1] own = np.empty(self.n_samples + 1, dtype=np.uint8)
        cdef uint8_t* codes = &own[0]
        cdef int64_t n = self.n_samples
        cdef int64_t step = max(n // ROWS_OF_SAMPLE, 1)
        edges = bin_edges(np.ascontiguousarray(column[::step]), self.most_codes, True)
        cdef bint single = edges.dtype == np.uint32
        cdef uint64_t[::1] keys = edges.astype(np.uint64) if len(edges) > 1 else np.array([0, 2**64 - 1], dtype=np.uint64)
        cdef int32_t n_bins = <int32_t> keys.shape[0] - 1
        cdef uint16_t[::1] first = np.empty(1 << GRID_BITS, dtype=np.uint16)
        cdef uint64_t[::1] search = np.empty(room_for_search(n_bins), dtype=np.uint64)
        cdef BinTable table
        cdef int32_t b
        table.first = &first[0]
        table.edges = &search[0]
        with nogil:
            if real_t is double and single and not all_single(column):
                single = False         # the sample's values alone are
                for b in range(1, n_bins):
                    keys[b] = sortable(float_of(keys[b]))
                keys[n_bins] = <uint64_t> -1
            lay_table(&keys[0], n_bins, single, n, &table)
            bin_column(column, 0, n, single, &table, codes)
        self.binned[feature] = True
        self.lists[feature] = 1        # there is none, but the feature varies
        for b in range(n_bins):
            self.single_valued[<size_t> feature * 256 + b + 1] = keys[b + 1] == keys[b] + 1
        self.keep_codes(feature, codes, n_bins + 1)

    def plan_bins(self, int32_t feature, const float[:] sample):
        """Let `code_rows` encode a feature by bins of a sample of its values; False if only `add_continuous` can do so.

        Threads may plan other features at the same time.
        """
        cdef uint64_t distinct[256]
        cdef uint64_t[::1] keys
        cdef uint8_t[::1] room = np.empty(sample.shape[0], dtype=np.uint8)
        cdef int32_t n_bins, b
        if not self.bounded:
            return False
        with nogil:
            n_bins = encode_few(sample, &room[0], distinct)
        if n_bins >= 0:                # few values may be counted one by one
            return False
        keys = bin_edges(sample, self.most_codes, True).astype(np.uint64)
        n_bins = <int32_t> keys.shape[0] - 1
        if not lay_grid(&keys[0], n_bins, &self.grid[feature]):
            return False
        self.kind[feature] = CONTINUOUS
        self.has_grid[feature] = True
        self.binned[feature] = True
        self.lists[feature] = 1        # there is none, but the feature varies
        for b in range(n_bins):
            self.single_valued[<size_t> feature * 256 + b + 1] = keys[b + 1] == keys[b] + 1
        self.take_slot(feature, n_bins + 1)
        return True

    def code_rows(self, const float[:, :] matrix, int64_t start, int64_t stop):
        """Encode the planned features of some rows of the table; threads may do so with other rows at the same time."""
        cdef const char* data = <const char*> &matrix[0, 0]
        cdef int64_t by_row = matrix.strides[0]
        cdef int64_t by_column = matrix.strides[1]
        cdef int32_t f
        cdef int n
        cdef uint8_t* tile
        with nogil:
            while start < stop:
                n = <int> min(stop - start, <int64_t> ROWS_AT_ONCE)
                for f in range(self.n_features):
                    if self.has_grid[f]:
                        tile = self.tiles + <size_t> (f // LANES) * LANES * self.n_samples + f % LANES
                        code_some(&self.grid[f], data + start * by_row + f * by_column, by_row, n, tile + start * LANES, LANES)
                        fetch_share(data + (start + n) * by_row, by_row, min(stop - start - n, <int64_t> n), f, self.n_features)
                start += n

    def code_integers(self, object X, int32_t first, int32_t[::1] n_codes, int32_t most_codes):
        """Encode columns `first`, ... of a float32 matrix in rows that have at most `most_codes` integers close together.

        `n_codes`, not 0 where this is wanted, becomes the number of values, or 0 where the column is to be encoded after this.
        In a bounded search, `first` is a multiple of LANES.
        """
        cdef Rows rows = rows_of(X)
        cdef int32_t j, m = <int32_t> n_codes.shape[0], step = LANES if self.bounded else 1
        own = np.empty((m, 1 if self.bounded else rows.n), dtype=np.uint8)
        cdef uint8_t* codes = self.tiles + first * rows.n if self.bounded else <uint8_t*> memory_of(own)
        with nogil:
            codes_of_columns(rows.data + first * rows.column_stride, rows.row_stride, rows.n, m, codes, step, &n_codes[0])
        for j in range(m):
            n_codes[j] = n_codes[j] if n_codes[j] <= most_codes else 0
            if n_codes[j] and not self.bounded:
                self.add_bins(first + j, own[j], n_codes[j])
            elif n_codes[j]:
                self.kind[first + j] = CONTINUOUS
                self.counted[first + j] = True
                self.take_slot(first + j, n_codes[j] + 1)

    def keep_values(self, int32_t feature, values):
        """Let the engine read a feature's values, by sample or (few values) by code: floats.  They are not copied."""
        self.kept.append(values)
        if self.binned[feature]:
            self.column[feature] = column_of(values)
        else:
            self.exact[feature] = column_of(values)

    def add_codes(self, int32_t feature, codes, uint32_t n_categories, bint ordered):
        """Encode a nominal or (`ordered`) ordinal feature given as codes 0 (missing), 1, ..., n_categories."""
        cdef uint8_t[::1] own
        cdef int64_t n = self.n_samples
        cdef uint64_t* records = self.records
        cdef uint64_t* spare = self.spare
        cdef void* entries
        cdef const uint8_t[::1] few
        cdef const uint32_t[::1] by_row
        self.kind[feature] = ORDINAL if ordered else NOMINAL
        self.n_codes[feature] = n_categories + 1
        if n_categories <= FEW:
            few = np.ascontiguousarray(codes, dtype=np.uint8)
            self.counted[feature] = True
            self.keep_codes(feature, &few[0], n_categories + 1)
            return
        by_row = np.ascontiguousarray(codes, dtype=np.uint32)
        self.kept.append(by_row)
        self.category[feature] = &by_row[0]
        entries = self.room_for_list()
        if self.apart:
            own = np.empty(2 * n * sizeof(uint64_t), dtype=np.uint8)
            records = <uint64_t*> &own[0]
            spare = records + n
        with nogil:
            list_codes(&by_row[0], records, spare, entries, n, self.wide)
        self.keep_list(feature, entries)


cdef class Binning:
    """Room to bin columns of continuous features, one after the other.

    Parameters
    ----------
    n_samples : int
    max_bins : int
        From 1 to 65,535.
    """

    cdef readonly int32_t max_bins
    cdef uint64_t[::1] keys
    cdef uint64_t[::1] spare
    cdef uint32_t[:, ::1] counts
    cdef uint8_t[::1] pieces
    cdef uint64_t[::1] edges
    cdef uint16_t[::1] first
    cdef uint64_t[::1] table_edges
    cdef Grid grid                     # see EdgeSearch
    cdef int32_t n_bins
    cdef bint single

    def __cinit__(self, uint32_t n_samples, int32_t max_bins):
        self.max_bins = max_bins
        self.keys = np.empty(<size_t> n_samples + 1, dtype=np.uint64)
        self.spare = np.empty(<size_t> n_samples + 1, dtype=np.uint64)
        self.counts = np.empty((2, (1 << GRID_BITS) + 1), dtype=np.uint32)
        self.pieces = np.empty(room_for_pieces(n_samples, max_bins) * sizeof(Piece), dtype=np.uint8)
        self.edges = np.zeros(<size_t> max_bins + 1, dtype=np.uint64)
        self.first = np.empty(1 << GRID_BITS, dtype=np.uint16)
        self.table_edges = np.empty(room_for_search(max_bins), dtype=np.uint64)

    cdef EdgeSearch search(self) noexcept:
        """Scratch; buckets lie behind room for codes, and where keys of 64 bits are sorted, which makes buckets void."""
        cdef EdgeSearch search
        search.spare = &self.spare[0]
        search.counts = &self.counts[0, 0]
        search.places = &self.counts[1, 0]
        search.pieces = <Piece*> &self.pieces[0]
        search.buckets = <uint16_t*> &self.spare[0] + self.spare.shape[0]
        search.edges = &self.edges[0]
        search.grid = self.grid
        return search

    def find_edges(self, const real_t[:] column, bint open_ends=False):
        """As `bin_edges`."""
        cdef int64_t n = column.shape[0]
        cdef uint32_t* narrow = <uint32_t*> &self.keys[0]
        cdef uint64_t* keys = &self.keys[0]
        cdef EdgeSearch search = self.search()
        cdef Extent extent
        with nogil:
            self.single = single_keys(column, narrow, &extent)
            if self.single:
                self.n_bins = find_edges(narrow, n, &extent, self.max_bins, open_ends, &search)
            else:
                double_keys(column, keys, &extent)
                self.n_bins = find_edges(keys, n, &extent, self.max_bins, open_ends, &search)
        self.grid = search.grid
        return np.array(self.edges[:self.n_bins + 1], dtype=np.uint32 if self.single else np.uint64)

    def bin(self, column):
        """The codes of a column, its edges, and the smallest and largest value of each bin.

        Returns
        -------
        codes : array of shape (n_samples,)
            uint8 for up to 255 bins, else uint16; 0 = missing.  Void after the next call.
        edges : array of shape (n_bins + 1,)
            As of `bin_edges`.
        least, most : float64 array of shape (n_bins,)
        """
        cdef int64_t n = len(column)
        edges = self.find_edges(column)
        cdef int32_t n_bins = self.n_bins
        cdef uint64_t[:, ::1] bounds = np.zeros((2, <Py_ssize_t> n_bins + 1), dtype=np.uint64)
        cdef double[:, ::1] values = np.empty((2, n_bins))
        cdef uint8_t* codes = <uint8_t*> &self.spare[0]
        cdef uint16_t* wide = <uint16_t*> codes
        cdef uint64_t* keys = &self.keys[0]
        cdef uint32_t* narrow = <uint32_t*> keys
        cdef EdgeSearch search = self.search()
        cdef BinTable table
        cdef int32_t b, side
        table.first = &self.first[0]
        table.edges = &self.table_edges[0]
        bounds[0] = <uint64_t> -1
        with nogil:
            if self.single and n_bins <= FEW:
                bin_all(narrow, n, &search, n_bins, &table, codes, &bounds[0, 0])
            elif self.single:
                bin_all(narrow, n, &search, n_bins, &table, wide, &bounds[0, 0])
            elif n_bins <= FEW:
                bin_all(keys, n, &search, n_bins, &table, codes, &bounds[0, 0])
            else:
                bin_all(keys, n, &search, n_bins, &table, wide, &bounds[0, 0])
            for side in range(2):
                for b in range(n_bins):
                    values[side, b] = float_of(<uint32_t> bounds[side, b + 1]) if self.single else value_of(bounds[side, b + 1])
        found = np.asarray(self.spare).view(np.uint8 if n_bins <= FEW else np.uint16)[:n]
        return found, edges, np.asarray(values[0]), np.asarray(values[1])


def bin_edges(column, int32_t max_bins, bint open_ends=False):
    """Edges of bins of nearly equal counts, in keys: uint32 if all values are exact in single precision, else uint64.

    Bin b = 1, ..., n_bins of the n_bins + 1 edges returned holds edges[b - 1] < key <= edges[b].  `open_ends`: the column is a
    sample of another one, see `find_edges`.  A column without a value has one edge and no bin.
    """
    return Binning(len(column), max_bins).find_edges(column, open_ends)


def bin_codes(const real_t[:] column, edges):
    """The bin of every value, uint8 for up to 255 bins, else uint16; 0 = missing.  `edges` as `bin_edges` returns them.

    Values beyond the edges belong to the first and to the last bin.
    """
    cdef int64_t n = column.shape[0]
    cdef int32_t n_bins = len(edges) - 1
    cdef bint single = edges.dtype == np.uint32
    cdef uint64_t[::1] keys = edges.astype(np.uint64)
    cdef uint16_t[::1] first = np.empty(1 << GRID_BITS, dtype=np.uint16)
    cdef uint64_t[::1] search = np.empty(room_for_search(n_bins), dtype=np.uint64)
    cdef uint8_t[::1] narrow
    cdef uint16_t[::1] wide
    cdef BinTable table
    codes = np.zeros(n + 1, dtype=np.uint8 if n_bins <= FEW else np.uint16)
    table.first = &first[0]
    table.edges = &search[0]
    if n_bins == 0:
        return codes[:n]
    lay_table(&keys[0], n_bins, single, n, &table)
    if n_bins <= FEW:
        narrow = codes
        with nogil:
            bin_column(column, 0, n, single, &table, &narrow[0])
    else:
        wide = codes
        with nogil:
            bin_column(column, 0, n, single, &table, &wide[0])
    return codes[:n]


def copy_columns(const real_t[:, :] matrix, int64_t first, real_t[:, ::1] columns):
    """Copy columns first, ..., first + len(columns) - 1 of a table, rows first, a few rows at a time, which the cache holds."""
    cdef int64_t j, i, stop, start = 0
    with nogil:
        while start < matrix.shape[0]:
            stop = min(start + ROWS_OF_COPY, <int64_t> matrix.shape[0])
            for j in range(columns.shape[0]):
                for i in range(start, stop):
                    columns[j, i] = matrix[i, first + j]
            start = stop


def holds_infinity(object X):
    """Whether a matrix of floats does; NaN is none."""
    cdef Rows rows = rows_of(X)
    cdef bint found
    with nogil:
        found = state_of_rows(&rows) == INFINITE
    return found


def distinct_integers(const int64_t[:] values, int64_t widest):
    """Distinct integers, ascending, and the place of each value among them; None if their range exceeds `widest`."""
    cdef int64_t low
    cdef int64_t size = span_of(values, widest, &low)
    if size == 0:
        return None
    ranks, places = np.zeros(size, dtype=np.intp), np.empty(values.shape[0], dtype=np.intp)
    cdef Py_ssize_t* rank = <Py_ssize_t*> memory_of(ranks)
    distinct = np.empty(mark_integers(values, low, rank), dtype=I8)
    rank_integers(values, low, size, rank, <int64_t*> memory_of(distinct), <Py_ssize_t*> memory_of(places))
    return distinct, places


def place_texts(texts, ends, is_there, places, first):
    """As `number_texts`; -1: many texts differ, -2: one lies outside."""
    cdef Texts t
    t.bytes, t.n_bytes = <const uint8_t*> bytes_of(texts), len(texts)
    t.ends, t.is_there, t.n = <const int64_t*> bytes_of(ends), <const uint8_t*> bytes_of(is_there), len(places)
    cdef int16_t* place = <int16_t*> memory_of(places)
    cdef int64_t* row = <int64_t*> memory_of(first)
    cdef int64_t most = len(first), found
    with nogil:
        found = number_texts(&t, place, row, most)
    return found


def code_values(const real_t[:] column):
    """Distinct values of a column, ascending, and the code of each cell: 0 = NaN, 1, ... in their order.

    None if there are more than 255 of them, which are counted by code.
    """
    cdef uint64_t distinct[256]
    cdef int32_t found, i
    codes = np.empty(column.shape[0], dtype=np.uint8)
    cdef uint8_t* code = <uint8_t*> memory_of(codes)
    with nogil:
        found = encode_few(column, code, distinct)
    return None if found < 0 else ([value_of(distinct[i]) for i in range(found)], codes)
