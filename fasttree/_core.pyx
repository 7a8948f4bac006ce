"""The engine: rows, codes and weights in, a flat tree out.

Knows arrays of codes, labels and weights.  Does not know algorithms by name, tables, feature names or scikit-learn.
Kernels trust their caller: every check stands at the edge, in Python.

Here: the columns as the engine wants them, the loop that grows nodes, and the doors for Python.  The chapters it is made of are
headers beside this file; ARCHITECTURE.md lists them in the order of a tree's life.
"""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_New
from libc.math cimport INFINITY, ceil, isfinite, llrint
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

import threading
import time

import numpy as np

from fasttree._bin cimport (
    GRID_BITS, BinTable, Piece, bin_column, bin_keys, find_edges, keys_of, lay_table, list_bins, room_for_pieces, room_for_search,
    single_keys,
)
from fasttree._bound cimport bound_codes, fast_bounds, has_fast_bounds
from fasttree._cells cimport CODE8, CODE16, CODE32, FLOAT32, FLOAT64, Cells, cell_t
from fasttree._choose cimport choose_gain, choose_ratio, choose_release8
from fasttree._constraints cimport clip_classes, mark_allowed, mean_index, mean_value
from fasttree._count cimport (
    add_sample, category_of, count_cells, count_codes, groups_from_counts, groups_from_list, other_cells,
)
from fasttree._encode cimport encode_few, float_of, list_column, sort_records, sortable, value_of
from fasttree._frontier cimport Frontier, is_beyond, note_reach
from fasttree._glance cimport Glance, count_on, expect, largest_along_list, largest_by_code, start_glances
from fasttree._histogram cimport AHEAD, LANES, count_tiles, lane_of, prefetch, subtract_histogram
from fasttree._impurity cimport deviation, exact_add, exact_value, exact_zero, plain_risk, risk_of, tie_limit, xlogx
from fasttree._median cimport (
    NO_PART, find_medians, gain_of_parts, lay_out_codes, lay_out_list, median_of_part, rank_targets,
)
from fasttree._intervals cimport merge_intervals
from fasttree._memory cimport (
    allow, can_shrink, carve, free_arena, free_list, new_list, pad, renew, reserve, resize, shrink_list,
)
from fasttree._merge cimport Merge, merge_groups
from fasttree._partition cimport (
    divide_rows, list_from_codes, partition_one, partition_parts, partition_two, set_part, spread_weight,
)
from fasttree._prune cimport Pruning, free_pruning, prune_by_errors
from fasttree._refine cimport key_in, list_from_fine, number_codes, position_of_end, refine_feature, sort_rows
from fasttree._rules cimport (
    BATCH, FEW_RULES, WORDS_OF_RANDOM, Conditions, Confidence, Cover, Draft, Edges, Failures, Field, Ordered, Random, Record,
    Refinement, Samples, Verdict, Without, anneal, climb_from_all_sides, connect, count_failing, digits_of, divide, draw,
    fill_failing, holds, judge, lg, list_samples, put_in_order, simplify, try_all,
)
from fasttree._scan cimport Bounds, bounds_of, cut_side, form_of, gain_of_part, no_cut, order_groups, scan_feature
from fasttree._surrogate cimport Kept, Surrogates, Target, add_surrogates_of, free_surrogates, heavier_branch
from fasttree._twig cimport Few, Shoot, Twig, few_of, search_twig
from fasttree._types cimport *
from fasttree._walk cimport (
    ANY_STATE, INFINITE, MISSING_VALUES, SEVERAL, Flat, Rows, Step, Steps, add_shares, branch_of, fill_rows, lay_out_steps,
    number, state_of_rows, stops, visit, walk_rows,
)


# ---------------------------------------------------------------------------------------------------------------------
# Encode: the features of a table
# ---------------------------------------------------------------------------------------------------------------------

cdef inline size_t node_header(size_t n_features, size_t n_samples) noexcept nogil:
    """Bytes that a node's features and rows take before its lists."""
    return pad(n_features * sizeof(Active)) + pad(n_samples * sizeof(uint32_t))


cdef enum:
    LAST_LEVELS = 3            # above the largest depth that are searched without private blocks
    LEAST_WIDE = 1024          # samples of a node that may be
    ROWS_OF_SAMPLE = 32768     # that say where the bins of the bounded search end


cdef bint all_single(const real_t[:] column) noexcept nogil:
    """Whether every value is exact in single precision."""
    cdef Py_ssize_t i
    for i in range(column.shape[0]):
        if not (column[i] == <double> <float> column[i] or column[i] != column[i]):
            return False
    return True


cdef class Encoding:
    """The features of a table as the engine wants them: a code column, or a presorted list with as many codes as values.

    Parameters
    ----------
    n_samples, n_features : int
    block_rows : int, at most 65,535
        Above this many samples the entries of a list take 8 bytes instead of 4.
    bounded : bool
        Above that many samples nodes are searched by histograms and bounds: continuous features of many values become bins.
    most_codes : int, 2 to 255
        Values up to which a feature is counted by code; bins of one with more.
    """

    cdef readonly uint32_t n_samples
    cdef readonly int32_t n_features
    cdef readonly uint32_t block_rows
    cdef readonly bint bounded
    cdef bint wide
    cdef int32_t most_codes
    cdef int32_t n_counted
    cdef Arena arena               # narrow: room for the first node, then the lists
    cdef size_t cursor             # end of the lists in the arena
    cdef size_t* lists             # offset in the arena, or address (wide); 0 = none
    cdef uint8_t* codes
    cdef uint8_t* kind
    cdef uint8_t* counted
    cdef uint32_t* n_codes
    cdef int32_t* slot
    cdef Column* exact
    cdef uint8_t* tiles            # bounded: codes of all features
    cdef uint8_t* binned
    cdef uint8_t* single_valued    # feature x 256
    cdef Column* column            # of a binned feature
    cdef const uint32_t** category
    cdef uint64_t* records
    cdef uint64_t* spare
    cdef list kept
    cdef object lock               # bounded: features may be added by several threads

    def __cinit__(
        self, uint32_t n_samples, int32_t n_features, uint32_t block_rows=NARROW, bint bounded=False, int32_t most_codes=FEW
    ):
        cdef size_t d = max(n_features, 1)
        self.n_samples = n_samples
        self.n_features = n_features
        self.block_rows = block_rows
        self.wide = n_samples > block_rows
        self.bounded = self.wide and bounded
        self.lock = threading.Lock() if self.bounded else None
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
        self.codes = <uint8_t*> malloc(<size_t> n_samples + 1)
        self.records = <uint64_t*> new_list(n_samples, sizeof(uint64_t))
        self.spare = <uint64_t*> new_list(n_samples, sizeof(uint64_t))
        self.binned = <uint8_t*> calloc(d, 1)
        self.single_valued = <uint8_t*> malloc(d * 256)
        self.column = <Column*> calloc(d, sizeof(Column))
        if self.bounded:
            self.tiles = <uint8_t*> malloc((d + LANES - 1) // LANES * LANES * <size_t> n_samples)
            if self.tiles == NULL:
                raise MemoryError
        if not (self.binned and self.single_valued and self.column):
            raise MemoryError
        memset(self.single_valued, 1, d * 256)
        if not (self.lists and self.kind and self.counted and self.n_codes and self.slot and self.exact and self.category
                and self.codes and self.records and self.spare):
            raise MemoryError

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
        free(self.codes)
        free(self.tiles)
        free(self.binned)
        free(self.single_valued)
        free(self.column)
        self.free_sorting_space()

    cdef void free_sorting_space(self) noexcept:
        free_list(<size_t> self.records, self.n_samples, sizeof(uint64_t))
        free_list(<size_t> self.spare, self.n_samples, sizeof(uint64_t))
        self.records = NULL
        self.spare = NULL

    cdef void* room_for_list(self) except NULL:
        """Where the next list goes; `keep_list` says that it stays."""
        cdef size_t n = self.n_samples
        cdef void* entries
        if self.wide:
            entries = new_list(self.n_samples, sizeof(uint64_t))
            if entries == NULL:
                raise MemoryError
            return entries
        # at once for all features: what stays untouched costs nothing, and nothing need move
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

    cdef void keep_codes(self, int32_t feature, const uint8_t* codes, int64_t n_codes):
        """Keep the codes of a feature that `next_column` holds."""
        cdef uint8_t* lane
        cdef int64_t i
        if self.bounded:
            self.lock.acquire()
        self.slot[feature] = self.n_counted
        self.n_counted += 1
        if self.bounded:
            self.lock.release()
        self.n_codes[feature] = <uint32_t> n_codes
        if self.bounded:
            lane = self.tiles + <size_t> (feature // LANES) * LANES * self.n_samples + feature % LANES
            with nogil:
                for i in range(self.n_samples):
                    lane[i * LANES] = codes[i]

    cdef uint8_t* next_column(self) except NULL:
        cdef void* larger = realloc(self.codes, (<size_t> self.n_counted + 1) * self.n_samples + 1)
        if larger == NULL:
            raise MemoryError
        self.codes = <uint8_t*> larger
        return self.codes + <size_t> self.n_counted * self.n_samples

    def add_continuous(self, int32_t feature, const real_t[:] column, double gap=-1.0):
        """Encode a continuous feature: float32 or float64 (n_samples,), NaN = missing, nothing infinite.

        Returns whether the engine needs the values themselves, for C4.5's gap rule: two of them are at most `gap` apart and
        they are too many to be kept by code.  `keep_values` must then be called.
        """
        cdef uint64_t distinct[256]
        cdef uint8_t[::1] own
        cdef uint16_t[::1] own_slots
        cdef uint8_t* codes
        cdef uint16_t* slots = <uint16_t*> self.spare
        cdef int32_t found
        cdef int32_t i
        cdef bint close = False
        cdef void* entries
        if self.bounded:
            own, own_slots = np.empty(self.n_samples, dtype=np.uint8), np.empty(self.n_samples, dtype=np.uint16)
            codes, slots = &own[0], &own_slots[0]
        else:
            codes = self.next_column()
        with nogil:
            found = encode_few(column, slots, codes, distinct)
        self.kind[feature] = CONTINUOUS
        if self.bounded and (found < 0 or found > self.most_codes):
            self.put_in_bins(feature, column)
            return True
        if found < 0:
            self.n_codes[feature] = 0
            entries = self.room_for_list()
            with nogil:
                close = list_column(column, self.records, self.spare, entries, self.wide, gap)
            self.keep_list(feature, entries)
            return close
        self.counted[feature] = True
        self.keep_codes(feature, codes, found + 1)
        for i in range(found - 1):
            close = close or value_of(distinct[i + 1]) - value_of(distinct[i]) <= gap
        if close:
            self.keep_values(feature, np.array([0.0] + [value_of(distinct[i]) for i in range(found)]))
        return False

    def add_bins(self, int32_t feature, const code_t[:] codes, uint32_t n_bins):
        """Encode a continuous feature given as codes of bins 1, ..., n_bins in the order of their values, 0 = missing."""
        cdef int64_t n = self.n_samples
        cdef const code_t[::1] given = np.ascontiguousarray(codes)
        cdef uint32_t[::1] starts = np.empty(<size_t> n_bins + 2, dtype=np.uint32)
        cdef void* entries
        if n_bins <= FEW:
            self.add_codes(feature, given, n_bins, True)
            self.kind[feature] = CONTINUOUS
            return
        self.kind[feature] = CONTINUOUS
        if self.bounded:
            column = np.where(np.asarray(given) == 0, np.nan, given).astype(np.float32)
            self.put_in_bins(feature, column)
            self.keep_values(feature, column)
            return
        self.n_codes[feature] = 0
        entries = self.room_for_list()
        with nogil:
            list_bins(&given[0], n, n_bins, &starts[0], entries, self.wide)
        self.keep_list(feature, entries)

    def put_in_bins(self, int32_t feature, const real_t[:] column):
        """Encode a continuous feature by bins of nearly equal counts in a sample; `keep_values` must then be called.

        Where their edges lie has no influence on a tree.
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

    def keep_values(self, int32_t feature, const real_t[:] values):
        """Let the engine read a feature's values, by sample or (few values) by code.  They are not copied."""
        self.kept.append(values)
        if self.binned[feature]:
            self.column[feature].data = <const char*> &values[0]
            self.column[feature].stride = values.strides[0]
            self.column[feature].is_double = real_t is double
            return
        self.exact[feature].data = <const char*> &values[0]
        self.exact[feature].stride = values.strides[0]
        self.exact[feature].is_double = real_t is double

    def add_codes(self, int32_t feature, const code_t[:] codes, uint32_t n_categories, bint ordered):
        """Encode a nominal or (`ordered`) ordinal feature given as codes 0 (missing), 1, ..., n_categories."""
        cdef uint8_t[::1] own
        cdef uint8_t* out
        cdef int64_t i
        cdef int64_t n = self.n_samples
        cdef uint64_t* records = self.records
        cdef uint32_t dense = 0
        cdef uint32_t code
        cdef void* entries
        cdef const uint32_t[::1] by_row
        self.kind[feature] = ORDINAL if ordered else NOMINAL
        self.n_codes[feature] = n_categories + 1
        if n_categories <= FEW:
            if self.bounded:
                own = np.empty(n, dtype=np.uint8)
                out = &own[0]
            else:
                out = self.next_column()
            self.counted[feature] = True
            with nogil:
                for i in range(n):
                    out[i] = <uint8_t> codes[i]
            self.keep_codes(feature, out, n_categories + 1)
            return
        by_row = np.ascontiguousarray(codes, dtype=np.uint32)
        self.kept.append(by_row)
        self.category[feature] = &by_row[0]
        entries = self.room_for_list()
        for i in range(n):
            records[i] = <uint64_t> codes[i] << 32 | <uint64_t> i
        if n:
            records = sort_records(records, self.spare, n)
        for i in range(n):
            code = <uint32_t> (records[i] >> 32)
            if code and (i == 0 or code != <uint32_t> (records[i - 1] >> 32)):
                dense += 1
            if self.wide:
                (<uint64_t*> entries)[i] = (<uint64_t> dense if code else 0) << 32 | <uint32_t> records[i]
            else:
                (<uint32_t*> entries)[i] = (dense if code else 0) << 16 | <uint32_t> records[i]
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
    cdef uint64_t[::1] search
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
        self.search = np.empty(room_for_search(max_bins), dtype=np.uint64)

    def find_edges(self, const real_t[:] column, bint open_ends=False):
        """As `bin_edges`."""
        cdef int64_t n = column.shape[0]
        cdef uint32_t* narrow = <uint32_t*> &self.keys[0]
        cdef uint32_t* counts = &self.counts[0, 0]
        cdef uint32_t* places = &self.counts[1, 0]
        cdef uint64_t* keys = &self.keys[0]
        cdef uint64_t* spare = &self.spare[0]
        cdef Piece* pieces = <Piece*> &self.pieces[0]
        cdef uint64_t* edges = &self.edges[0]
        with nogil:
            self.single = single_keys(column, narrow)
            if self.single:
                self.n_bins = find_edges(narrow, n, self.max_bins, open_ends, <uint32_t*> spare, counts, places, pieces, edges)
            else:
                keys_of(column, 0, n, 1, keys)
                self.n_bins = find_edges(keys, n, self.max_bins, open_ends, spare, counts, places, pieces, edges)
        return np.array(self.edges[:self.n_bins + 1], dtype=np.uint32 if self.single else np.uint64)

    def bin(self, const real_t[:] column):
        """The codes of a column, its edges, and the smallest and largest value of each bin.

        Returns
        -------
        codes : array of shape (n_samples,)
            uint8 for up to 255 bins, else uint16; 0 = missing.  Void after the next call.
        edges : array of shape (n_bins + 1,)
            As of `bin_edges`.
        least, most : float64 array of shape (n_bins,)
        """
        cdef int64_t n = column.shape[0]
        edges = self.find_edges(column)
        cdef int32_t n_bins = self.n_bins
        cdef uint64_t[:, ::1] bounds = np.zeros((2, <Py_ssize_t> n_bins + 1), dtype=np.uint64)
        cdef double[:, ::1] values = np.empty((2, n_bins))
        cdef uint8_t* codes = <uint8_t*> &self.spare[0]
        cdef uint64_t* least = &bounds[0, 0]
        cdef uint64_t* most = &bounds[1, 0]
        cdef BinTable table
        cdef int32_t b, side
        table.first = &self.first[0]
        table.edges = &self.search[0]
        bounds[0] = <uint64_t> -1
        with nogil:
            lay_table(&self.edges[0], n_bins, self.single, n, &table)
            if self.single and n_bins <= FEW:
                bin_keys(<uint32_t*> &self.keys[0], n, &table, codes, least, most)
            elif self.single:
                bin_keys(<uint32_t*> &self.keys[0], n, &table, <uint16_t*> codes, least, most)
            elif n_bins <= FEW:
                bin_keys(&self.keys[0], n, &table, codes, least, most)
            else:
                bin_keys(&self.keys[0], n, &table, <uint16_t*> codes, least, most)
            for side in range(2):
                for b in range(n_bins):
                    values[side, b] = float_of(<uint32_t> bounds[side, b + 1]) if self.single else value_of(bounds[side, b + 1])
        found = np.asarray(self.spare).view(np.uint8 if n_bins <= FEW else np.uint16)[:n]
        return found, edges, np.asarray(values[0]), np.asarray(values[1])


def bin_edges(const real_t[:] column, int32_t max_bins, bint open_ends=False):
    """Edges of bins of nearly equal counts, in keys: uint32 if all values are exact in single precision, else uint64.

    Bin b = 1, ..., n_bins of the n_bins + 1 edges returned holds edges[b - 1] < key <= edges[b].  `open_ends`: the column is a
    sample of another one, see `find_edges`.  A column without a value has one edge and no bin.
    """
    return Binning(column.shape[0], max_bins).find_edges(column, open_ends)


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


# ---------------------------------------------------------------------------------------------------------------------
# Grow: the nodes, and the loop that makes them
# ---------------------------------------------------------------------------------------------------------------------

cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """A counter-based generator's output function (Steele, Lea, Flood 2014: SplitMix64)."""
    x += <uint64_t> 0x9E3779B97F4A7C15
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef struct Nodes:                 # the tree under construction, in order of creation
    int64_t n
    int32_t width
    Arena fields[13]               # where the arrays stand, in this order
    int32_t* parent
    int32_t* first_child
    int32_t* n_branches
    int32_t* feature
    int32_t* missing
    uint32_t* row_low              # samples whose values stand on both sides of a threshold
    uint32_t* row_high
    uint8_t* kind
    int64_t* n_samples
    double* weight
    double* impurity
    double* gain
    double* value                  # n x width
    int64_t table_n
    int64_t table_capacity
    int64_t* table_node
    uint32_t* table_code
    int32_t* table_branch
    int64_t cut_n
    int64_t cut_capacity
    int64_t* cut_node
    uint32_t* cut_low              # samples whose values stand on both sides of a cut between two intervals
    uint32_t* cut_high
    Surrogates surrogates
    Frontier frontier


cdef struct Child:
    Totals totals
    uint64_t key
    int64_t id
    int64_t filled                 # entries written so far: rows, then those of one list
    size_t region
    size_t cursor                  # where its next list goes
    size_t rows_at
    size_t actives_at
    int32_t n_active
    int32_t n_cuts
    bint open                      # may still be split: its lists are made and scanned
    bint scans                     # scanned here; a child that a narrow block will take is not
    bint done                      # a perfect split is found
    Glance glance
    bint bounded                   # searched by a histogram, or handed to a private block: its features need no lists
    char* histogram
    double share                   # of the samples that go to every child


cdef struct Work:                  # what one run of the node loop owns, besides the scratch and the nodes that runs share
    Scratch* scratch
    Nodes* nodes
    Arena arenas[2]
    Pending* stack
    int64_t stack_n
    int64_t stack_capacity
    Child* children
    int64_t* child_counts
    Exact* sums                    # per child and target: weight x target, then weight x deviation
    double* any_target             # per child and target: that of some sample
    uint8_t* varies                # per child and target: whether another sample has another
    int64_t children_capacity
    int64_t* root_counts
    uint64_t* draw_keys
    uint8_t* drawn
    uint8_t* allowed               # features that constraints leave to the nodes in hand
    void* crew                     # a Crew that takes nodes for private blocks, or NULL
    char** histograms              # unused ones
    int64_t n_histograms
    int64_t histograms_made


cdef int reserve_nodes(Nodes* t, int64_t extra) noexcept nogil:
    cdef int64_t n = t.n + extra
    cdef size_t[13] sizes = [4, 4, 4, 4, 4, 4, 4, 1, 8, 8, 8, 8, 8 * t.width]
    cdef int32_t i
    if n > 2147483646:
        return -1
    if n * 4 <= <int64_t> t.fields[0].size:
        return 0
    for i in range(13):
        if reserve(&t.fields[i], 2 * n * sizes[i]):
            return -1
    t.parent = <int32_t*> t.fields[0].data
    t.first_child = <int32_t*> t.fields[1].data
    t.n_branches = <int32_t*> t.fields[2].data
    t.feature = <int32_t*> t.fields[3].data
    t.missing = <int32_t*> t.fields[4].data
    t.row_low = <uint32_t*> t.fields[5].data
    t.row_high = <uint32_t*> t.fields[6].data
    t.kind = <uint8_t*> t.fields[7].data
    t.n_samples = <int64_t*> t.fields[8].data
    t.weight = <double*> t.fields[9].data
    t.impurity = <double*> t.fields[10].data
    t.gain = <double*> t.fields[11].data
    t.value = <double*> t.fields[12].data
    return 0


cdef int add_to_table(Nodes* t, int64_t node, uint32_t code, int32_t branch) noexcept nogil:
    cdef int64_t c = t.table_capacity
    if t.table_n == c:
        c = 2 * c + 64
        if (resize(<void**> &t.table_node, c * 8) or resize(<void**> &t.table_code, c * 4)
                or resize(<void**> &t.table_branch, c * 4)):
            return -1
        t.table_capacity = c
    t.table_node[t.table_n] = node
    t.table_code[t.table_n] = code
    t.table_branch[t.table_n] = branch
    t.table_n += 1
    return 0


cdef int add_range(Nodes* t, int64_t node, uint32_t start, uint32_t stop, int32_t branch) noexcept nogil:
    """Let the codes start, ..., stop - 1, which no sample of the node has, go to a branch."""
    cdef uint32_t code
    for code in range(start, stop):
        if add_to_table(t, node, code, branch):
            return -1
    return 0


cdef int add_cut(Nodes* t, int64_t node, uint32_t low, uint32_t high) noexcept nogil:
    cdef int64_t c = t.cut_capacity
    if t.cut_n == c:
        c = 2 * c + 64
        if resize(<void**> &t.cut_node, c * 8) or resize(<void**> &t.cut_low, c * 4) or resize(<void**> &t.cut_high, c * 4):
            return -1
        t.cut_capacity = c
    t.cut_node[t.cut_n] = node
    t.cut_low[t.cut_n] = low
    t.cut_high[t.cut_n] = high
    t.cut_n += 1
    return 0


cdef void blank_node(Nodes* t, int64_t i, int64_t parent) noexcept nogil:
    t.parent[i] = <int32_t> parent
    t.first_child[i] = -1
    t.n_branches[i] = 0
    t.feature[i] = -1
    t.kind[i] = NODE_LEAF
    t.row_low[i] = 0
    t.row_high[i] = 0
    t.missing[i] = TO_STOP
    t.gain[i] = 0


cdef void write_class_node(const Problem* p, Nodes* t, int64_t i, Totals* totals) noexcept nogil:
    """Store a node's class weights and impurity, and complete its totals with the risk."""
    cdef int32_t k
    cdef double weight = <double> totals.weight * p.unit
    totals.risk = risk_of(p, totals.counts)
    t.n_samples[i] = totals.n
    t.weight[i] = weight
    t.impurity[i] = plain_risk(p, totals.counts) / weight if weight > 0 else 0
    for k in range(p.n_classes):
        t.value[i * t.width + k] = <double> totals.counts[k] * p.unit


cdef bint is_leaf(const Problem* p, const Totals* totals, double impurity, int64_t depth) noexcept nogil:
    """Is the node too deep, too small or too pure to be split?"""
    cdef int32_t k
    cdef int32_t n_pure = 0
    if p.max_depth >= 0 and depth >= p.max_depth:
        return True
    if totals.n < p.min_samples_split or totals.n < 2 * p.min_samples_leaf:
        return True
    if impurity <= p.min_impurity:
        return True
    if <double> totals.weight * p.unit < 2 * p.min_weight_leaf:
        return True
    if <double> totals.weight * p.unit < p.min_node_weight * (1 - 1e-9):
        return True
    if p.release8 and <double> totals.weight * p.unit < 2 * p.min_branch_weight * (1 - 1e-12):
        return True
    for k in range(p.n_classes):
        n_pure += totals.counts[k] == totals.weight
    return p.n_classes > 0 and n_pure == p.n_outputs


cdef uint64_t nth_smallest(uint64_t* keys, int32_t n, int32_t wanted) noexcept nogil:
    """The number that would stand at `wanted` if the keys were sorted (Hoare 1961); reorders them."""
    cdef int32_t low = 0
    cdef int32_t high = n - 1
    cdef int32_t i, j
    cdef uint64_t pivot, swap
    while low < high:
        pivot = keys[wanted]
        i = low
        j = high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while pivot < keys[j]:
                j -= 1
            if i <= j:
                swap = keys[i]
                keys[i] = keys[j]
                keys[j] = swap
                i += 1
                j -= 1
        if j < wanted:
            low = i
        if wanted < i:
            high = j
    return keys[wanted]


cdef void mark_drawn(const Problem* p, Work* w, uint64_t key) noexcept nogil:
    """drawn[f] = 1 for the max_features features of smallest hash, of those allowed; draw_keys holds the hashes."""
    cdef uint64_t* spare = w.draw_keys + p.n_features
    cdef uint64_t limit
    cdef int32_t f
    cdef int32_t n = 0
    for f in range(p.n_features):
        w.draw_keys[f] = mix(key ^ mix(<uint64_t> f + 1))
        if p.sets == NULL or w.allowed[f]:
            spare[n] = w.draw_keys[f]
            n += 1
    limit = nth_smallest(spare, n, min(p.max_features, n) - 1)
    for f in range(p.n_features):
        w.drawn[f] = w.draw_keys[f] <= limit and (p.sets == NULL or w.allowed[f])


cdef bint accepted(const Problem* p, const Cut* cut, double weight, double risk) noexcept nogil:
    return (
        cut.first_gain - RISK_TIE * risk > p.min_gain * weight
        and (p.ratio != PLAIN_RATIO or cut.first_gain / cut.split_info > p.min_ratio)
        and max(cut.first_gain, 0.0) / p.total_weight + 2.220446049250313e-16 >= p.min_impurity_decrease
    )


cdef Cut settle(
    const Problem* p, const Block* block, Work* w, const Totals* totals, Cut* cuts, int32_t n_cuts,
    const Active* actives, int32_t n_active, const char* base, const uint32_t* rows, entry_t typed,
) noexcept nogil:
    """The node's cut, out of the best cuts of its features."""
    cdef double limit = -INFINITY
    cdef int32_t winner, i
    cdef double weight = <double> totals.weight * p.unit
    cdef bint constant = False
    cdef Cut cut
    if p.release8:
        winner = choose_release8(p, cuts, n_cuts)
    elif p.ratio:
        # the tolerance is meant per unit weight, as the ratio is
        winner = choose_ratio(p, cuts, n_cuts, totals.risk / weight)
    else:
        winner = choose_gain(p, cuts, n_cuts, totals.risk, &limit)
    if winner < 0:
        return no_cut(-1)
    cut = cuts[winner]
    if not p.release8 and not p.ratio and (cut.ambiguous or cut.first_gain < limit):
        for i in range(n_active):
            if actives[i].feature == cut.feature:
                if w.scratch.node_histogram != NULL and p.binned[cut.feature]:
                    cut = refine_feature(p, block, w.scratch, totals, cut.feature, rows, limit, limit, typed)
                else:
                    cut = scan_feature(p, block, w.scratch, totals, &actives[i], base, rows, typed, limit, &constant)
                break
        if cut.form == NO_CUT:
            cut = cuts[winner]
    if not accepted(p, &cut, weight, totals.risk):
        return no_cut(-1)
    return cut


cdef Cut search(
    const Problem* p, const Block* block, Work* w, const Totals* totals, uint64_t key,
    Active* actives, int32_t* n_active, const char* base, const uint32_t* rows, entry_t typed,
) noexcept nogil:
    """Scan every feature of a node (or those drawn) and settle on a cut; drops constant features from `actives`."""
    cdef Cut* cuts = w.scratch.cuts
    cdef int32_t n_cuts = 0
    cdef int32_t i, kept, best
    cdef bint constant
    cdef Cut cut
    cdef uint64_t least
    kept = 0
    if p.sweep == MEDIANS:
        rank_targets(p, block, rows, totals.n)
    if p.draws:
        mark_drawn(p, w, key)
    for i in range(n_active[0]):
        constant = False
        if not p.draws or w.drawn[actives[i].feature]:
            cut = scan_feature(p, block, w.scratch, totals, &actives[i], base, rows, typed, -INFINITY, &constant)
            if cut.form != NO_CUT:
                cuts[n_cuts] = cut
                n_cuts += 1
        if not constant:
            actives[kept] = actives[i]
            kept += 1
    n_active[0] = kept
    if p.draws and n_cuts == 0:
        # as in scikit-learn, the search goes on until one feature offers a cut; in the order of the draw
        while n_cuts == 0:
            best = -1
            least = 0
            for i in range(n_active[0]):
                if not w.drawn[actives[i].feature] and (best < 0 or w.draw_keys[actives[i].feature] < least):
                    best = i
                    least = w.draw_keys[actives[i].feature]
            if best < 0:
                break
            w.drawn[actives[best].feature] = 1
            constant = False
            cut = scan_feature(p, block, w.scratch, totals, &actives[best], base, rows, typed, -INFINITY, &constant)
            if cut.form != NO_CUT:
                cuts[n_cuts] = cut
                n_cuts += 1
    return settle(p, block, w, totals, cuts, n_cuts, actives, n_active[0], base, rows, typed)


cdef inline bint is_bounded(const Problem* p, const Block* block, int64_t n) noexcept nogil:
    """Is a node of n samples searched by a histogram?  In a wide block all are, or they go to private ones."""
    return block.tiles != NULL and (block.fine == NULL or n >= p.bounded_from)


cdef inline bint stays_wide(const Problem* p, const Block* block, int64_t n, int64_t depth, int64_t narrow) noexcept nogil:
    """Is a node of a wide block too large for a private one, or, in a bounded search, not worth sorting all its features?"""
    return n > narrow or (
        block.tiles != NULL and n >= min(p.bounded_from, LEAST_WIDE) and (p.few_leaves or 0 <= p.max_depth <= depth + LAST_LEVELS)
    )


cdef Cut search_bounded(
    const Problem* p, const Block* block, Work* w, const Totals* totals, const char* histogram,
    Active* actives, int32_t* n_active, const uint32_t* rows, Cut* cuts, entry_t typed,
) noexcept nogil:
    """`search` by a histogram: of a binned feature only those bins are sorted whose bound reaches the largest gain known.

    Features whose bounds are highest come first, so that the others' need not be looked into.  All cuts within the tie
    tolerance of the largest gain are found, whatever the bins.
    """
    cdef Scratch* s = w.scratch
    cdef Cut cut
    cdef double largest = -INFINITY
    cdef double limit = -INFINITY
    cdef int32_t kept = 0
    cdef double gain
    cdef int32_t i, f, best, n_used
    cdef bint constant
    s.node_histogram = histogram
    for i in range(n_active[0]):
        f = actives[i].feature
        constant = False
        s.feature_bound[kept] = -INFINITY
        if p.binned[f] and has_fast_bounds(p, s, f):
            gain = fast_bounds(p, block, s, totals, f, &s.feature_bound[kept], &n_used)
            if n_used == 1 and s.feature_bound[kept] == -INFINITY:
                continue
            # a cut at the end of a bin is taken for what it is once the feature is refined
            s.feature_bound[kept] = max(s.feature_bound[kept], gain)
            largest = max(largest, gain * (1 - 1e-12))
            cuts[kept] = no_cut(f)
        else:
            cut = scan_feature(p, block, s, totals, &actives[i], NULL, rows, typed, -INFINITY, &constant)
            if constant:
                continue
            if p.binned[f] and cut.form == THRESHOLD_CUT:
                cut.at = position_of_end(<uint32_t> cut.at)
                cut.key = <uint64_t> -1
            largest = max(largest, cut.gain)
            cuts[kept] = cut
        actives[kept] = actives[i]
        kept += 1
    n_active[0] = kept
    if largest > -INFINITY:
        limit = tie_limit(largest, totals.risk)
    for i in range(kept):
        f = actives[i].feature
        if p.binned[f] and not has_fast_bounds(p, s, f):
            bound_codes(p, block, s, totals, f, limit, &s.feature_bound[i], &n_used)
    while kept:
        best = 0
        for i in range(1, kept):
            if s.feature_bound[i] > s.feature_bound[best]:
                best = i
        if s.feature_bound[best] == -INFINITY or s.feature_bound[best] < limit:
            break
        s.feature_bound[best] = -INFINITY
        cuts[best] = refine_feature(p, block, s, totals, actives[best].feature, rows, limit, -INFINITY, typed)
        if cuts[best].gain > largest:
            largest = cuts[best].gain
            limit = tie_limit(largest, totals.risk)
    cut = settle(p, block, w, totals, cuts, kept, actives, kept, NULL, rows, typed)
    s.node_histogram = NULL
    return cut


cdef void total_of_groups(const Problem* p, const Scratch* s, int64_t q, Totals* totals) noexcept nogil:
    """What the groups of a node hold together, but for the risk."""
    cdef int64_t g
    cdef int32_t k
    totals.n = 0
    totals.weight = 0
    memset(totals.counts, 0, p.n_classes * sizeof(int64_t))
    for g in range(q):
        totals.n += s.group_n[g]
        totals.weight += s.group_w[g]
        for k in range(p.n_classes):
            totals.counts[k] += s.group_stat[g * p.width + k]


cdef void side_by_list(
    const entry_t* entries, int64_t n, int64_t at, uint8_t lost_side, uint8_t* side, uint32_t* low, uint32_t* high,
) noexcept nogil:
    """Write the side of every row of a list that a threshold divides after entry `at`."""
    cdef int64_t i = 0
    low[0] = row_of(entries[at])
    high[0] = row_of(entries[at + 1])
    while code_of(entries[i]) == 0:
        side[row_of(entries[i])] = lost_side
        i += 1
    for i in range(i, at + 1):
        side[row_of(entries[i])] = 0
    for i in range(at + 1, n):
        side[row_of(entries[i])] = 1


cdef void side_by_code(
    const uint8_t* codes, const uint32_t* rows, int64_t n, int64_t at, uint8_t lost_side, uint8_t* side, uint32_t* low,
    uint32_t* high,
) noexcept nogil:
    """The same by code: codes up to `at` are below the threshold."""
    cdef uint8_t side_of[256]
    cdef uint8_t low_code = 0
    cdef uint8_t high_code = 255
    cdef uint8_t code, below
    cdef int64_t i
    memset(side_of, 0, at + 1)
    memset(side_of + at + 1, 1, 255 - at)
    side_of[0] = lost_side
    for i in range(n):
        code = codes[rows[i]]
        side[rows[i]] = side_of[code]
        below = 255 if code <= at else 0
        low_code = max(low_code, code & below)
        high_code = min(high_code, code | below)
    i = 0
    while codes[rows[i]] != low_code:
        i += 1
    low[0] = rows[i]
    i = 0
    while codes[rows[i]] != high_code:
        i += 1
    high[0] = rows[i]
cdef void assign_bins(
    const Problem* p, const Block* block, Scratch* s, const Cut* cut, const uint32_t* rows, int64_t n, uint32_t lost_branch,
    uint32_t* low, uint32_t* high,
) noexcept nogil:
    """`assign_branches` for a binned feature: write s.side, and find the samples next to the cut."""
    cdef const uint8_t* codes = lane_of(block, cut.feature)
    cdef int32_t f = cut.feature
    cdef uint8_t* side = s.side
    cdef int64_t at = cut.at >> 32 if cut.form == THRESHOLD_CUT else 255
    cdef bint inside = cut.key != <uint64_t> -1
    cdef int64_t high_code = at if inside else 256
    cdef uint64_t low_key = 0
    cdef uint64_t high_key = <uint64_t> -1
    cdef uint64_t key
    cdef int64_t i, code
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        prefetch(codes + <size_t> rows[min(i + AHEAD, n - 1)] * LANES)
        code = codes[<size_t> row * LANES]
        side[row] = code > at
        if code == 0:
            side[row] = <uint8_t> lost_branch
        elif code == at and cut.form == THRESHOLD_CUT:
            key = key_in(p, block, f, row)
            side[row] = key > cut.key
            if side[row] and key < high_key:
                high_key = key
                high[0] = row
            elif not side[row] and key > low_key:
                low_key = key
                low[0] = row
        elif not inside and at < code <= high_code:
            key = key_in(p, block, f, row)
            if code < high_code or key < high_key:
                high_code = code
                high_key = key
                high[0] = row


cdef int64_t assign_branches(
    const Problem* p, const Block* block, Scratch* s, const Cut* cut, const Active* active,
    const char* base, const uint32_t* rows, int64_t n, uint32_t lost_branch, bint two, entry_t typed,
    uint32_t* low, uint32_t* high,
) noexcept nogil:
    """Write the branch of every row, to s.side if `two`, else to s.branch; a missing value gets `lost_branch`.

    A threshold: `low` and `high` become samples on its two sides.  Categories: s.group_code holds those of the node, whose
    number is returned, and s.branch_of_group the branch of each.  Intervals: the same of values, s.group_row a sample of each.
    """
    cdef int32_t f = cut.feature
    cdef const entry_t* entries = <const entry_t*> (base + active.at)
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[f] * block.n
    cdef int64_t i, g, q
    cdef uint32_t row, code, b
    cdef int64_t low_code = -1
    cdef int64_t high_code = 256
    cdef Totals lost
    cdef Totals known
    cdef Merge merged
    if p.histogram and p.binned[f] and not active.listed:
        assign_bins(p, block, s, cut, rows, n, lost_branch, low, high)
        return 0
    if block.tiles != NULL and block.fine == NULL:
        codes = s.codes_by_row
        for i in range(n):
            s.codes_by_row[rows[i]] = lane_of(block, f)[<size_t> rows[i] * LANES]
    if cut.form == THRESHOLD_CUT and two:
        if active.listed:
            side_by_list(entries, n, cut.at, <uint8_t> lost_branch, s.side, low, high)
        else:
            side_by_code(codes, rows, n, cut.at, <uint8_t> lost_branch, s.side, low, high)
        return 0
    if cut.form == THRESHOLD_CUT or cut.form == KNOWN_CUT:
        if active.listed and cut.form == THRESHOLD_CUT:
            low[0] = row_of(entries[cut.at])
            high[0] = row_of(entries[cut.at + 1])
        for i in range(n):
            if active.listed:
                row = row_of(entries[i])
                code = code_of(entries[i])
                b = i > cut.at
            else:
                row = rows[i]
                code = codes[row]
                b = code > cut.at
                if b == 0 and <int64_t> code > low_code and code:
                    low_code = code
                    low[0] = row
                if b == 1 and <int64_t> code < high_code:
                    high_code = code
                    high[0] = row
            if cut.form == KNOWN_CUT:
                b = 0
            if code == 0:
                b = lost_branch
            if two:
                s.side[row] = <uint8_t> b
            else:
                s.branch[row] = b
        return 0
    lost.counts = s.lost
    if active.listed:
        q = groups_from_list(p, block, entries, n, s, &lost)
    else:
        count_codes(p, block, codes, p.n_codes[f], rows, n, s)
        q = groups_from_counts(p, p.n_codes[f], s, &lost)
    for g in range(q):
        s.branch_of_group[g] = <uint32_t> g
    if cut.form == GROUP_CUT:
        if cut.order > BY_PARTITION:
            if p.sweep == MEDIANS:
                if active.listed:
                    lay_out_list(p, entries, n, lost.n, q, s.group_n)
                else:
                    lay_out_codes(p, codes, rows, n, lost.n, q, s.group_n, s.group_code, s.branch_of_code)
            order_groups(p, s, q, cut.order, n)
        cut_side(p, s, q, cut, s.best_side)
        for g in range(q):
            s.branch_of_group[g] = s.best_side[g]
    elif cut.form == MERGE_CUT:
        known.counts = s.totals
        total_of_groups(p, s, q, &known)
        merge_groups(p, s, &known, q, known.weight + lost.weight, &merged)
        for g in range(q):
            s.branch_of_group[g] = <uint32_t> (s.block_of[g] if s.block_of[g] >= 0 else cut.at)
    elif cut.form == INTERVAL_CUT:
        merge_intervals(p, s, q)
    if active.listed:
        g = -1
        for i in range(n):
            row = row_of(entries[i])
            code = code_of(entries[i])
            b = lost_branch
            if code:
                if g < 0 or code != s.group_code[g]:
                    g += 1
                b = s.branch_of_group[g]
            if two:
                s.side[row] = <uint8_t> b
            else:
                s.branch[row] = b
        for g in range(0 if cut.form == INTERVAL_CUT else q):
            s.group_code[g] = category_of(p, block, f, s.group_code[g], s.group_row[g])
    else:
        s.branch_of_code[0] = lost_branch
        for g in range(q):
            s.branch_of_code[s.group_code[g]] = s.branch_of_group[g]
        for i in range(n):
            b = s.branch_of_code[codes[rows[i]]]
            if two:
                s.side[rows[i]] = <uint8_t> b
            else:
                s.branch[rows[i]] = b
        if cut.form == INTERVAL_CUT:
            for i in range(n):
                s.hist_n[codes[rows[i]]] = rows[i]
            for g in range(q):
                s.group_row[g] = <uint32_t> s.hist_n[s.group_code[g]]
    return q


cdef int reserve_children(const Problem* p, Work* w, int64_t n) noexcept nogil:
    if n <= w.children_capacity:
        return 0
    n = max(n, 2 * w.children_capacity)
    if (resize(<void**> &w.children, n * sizeof(Child)) or resize(<void**> &w.child_counts, n * p.width * sizeof(int64_t))
            or resize(<void**> &w.sums, n * p.n_outputs * sizeof(Exact))
            or resize(<void**> &w.any_target, n * p.n_outputs * sizeof(double)) or resize(<void**> &w.varies, n * p.n_outputs)):
        return -1
    w.children_capacity = n
    return 0


cdef double gain_of_children(const Problem* p, Work* w, int64_t n_children) noexcept nogil:
    """Gain of dividing what the children hold together, in risk units.

    From exact sums, so that it does not depend on how the cut was found, which may round otherwise in the last bit.
    """
    cdef Totals whole
    cdef Totals* totals
    cdef double gain = 0
    cdef int64_t b
    cdef int32_t k
    whole.counts = w.scratch.left
    whole.weight = 0
    whole.sum = 0
    memset(whole.counts, 0, p.n_counts * sizeof(int64_t))
    for b in range(n_children):
        totals = &w.children[b].totals
        whole.weight += totals.weight
        whole.sum += totals.sum
        for k in range(p.n_counts):
            whole.counts[k] += totals.counts[k]
    for b in range(n_children):
        totals = &w.children[b].totals
        if p.n_classes:
            gain -= risk_of(p, totals.counts)
        else:
            gain += gain_of_part(p, &whole, totals.counts if p.n_counts else &totals.sum, totals.weight)
    return max(gain + risk_of(p, whole.counts) if p.n_classes else gain, 0.0)


cdef void store_medians(
    const Problem* p, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Find the children's medians and keep them as their values; `gain_of_parts` then knows what the children are."""
    cdef Scratch* s = w.scratch
    cdef int64_t i, b
    cdef uint32_t branch
    cdef int32_t o
    for i in range(n):
        branch = s.side[rows[i]] if two else s.branch[rows[i]]
        p.parts.part_of[rows[i]] = branch if branch < n_children else NO_PART
    for o in range(p.n_outputs):
        find_medians(p, o, n, n_children, False)
        for b in range(n_children):
            w.nodes.value[w.children[b].id * p.n_outputs + o] = median_of_part(p, o, b)


cdef inline void add_deviations(
    const Problem* p, const Block* block, Work* w, int64_t b, uint32_t row, int64_t weight,
) noexcept nogil:
    """Let the targets of a sample, or a part of it, count in the impurity of child b."""
    cdef const double* centre = &w.nodes.value[w.children[b].id * p.n_outputs]
    cdef size_t at = b * p.n_outputs
    cdef int32_t o
    cdef double y
    for o in range(p.n_outputs):
        y = block.y[<size_t> row * p.n_outputs + o]
        w.varies[at + o] |= y != w.any_target[at + o]
        exact_add(&w.sums[at + o], <double> weight * p.unit * deviation(p.impurity, y, centre[o]))


cdef bint goes_two_ways(const Problem* p, bint two) noexcept nogil:
    """Are there two children, of samples that count 1 and have one target?"""
    return two and not p.weighted and p.n_outputs == 1 and p.sweep != MEDIANS


cdef int64_t add_classes_two_ways(const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n) noexcept nogil:
    """Count the classes of two children; returns how many samples have no side yet."""
    cdef const uint8_t* side = w.scratch.side
    cdef int64_t* counts = w.child_counts
    cdef int64_t in_side[2]
    cdef int64_t ones = 0
    cdef int64_t ones_right = 0
    cdef int64_t undecided = 0
    cdef int64_t i, b, label
    in_side[1] = 0
    if p.n_classes == 2:
        for i in range(n):
            b = side[rows[i]]
            label = block.label[rows[i]]
            undecided += b >> 1
            in_side[1] += b
            ones += label
            ones_right += label & b
        if undecided:
            return undecided
        in_side[0] = n - in_side[1]
        counts[0] = in_side[0] - ones + ones_right
        counts[1] = ones - ones_right
        counts[2] = in_side[1] - ones_right
        counts[3] = ones_right
    else:
        for i in range(n):
            undecided += side[rows[i]] >> 1
            in_side[1] += side[rows[i]]
        if undecided:
            return undecided
        in_side[0] = n - in_side[1]
        for i in range(n):
            counts[side[rows[i]] * p.width + block.label[rows[i]]] += 1
    for b in range(2):
        w.children[b].totals.n = in_side[b]
        w.children[b].totals.weight = in_side[b]
    return 0


cdef int64_t add_targets_two_ways(const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n) noexcept nogil:
    """Sum the targets of two children; returns how many samples have no side yet."""
    cdef const uint8_t* side = w.scratch.side
    cdef const int64_t* ysum = block.ysum
    cdef const double* y = block.y
    cdef Exact sums[2]
    cdef double some[2]
    cdef int64_t of_ysum = 0
    cdef int64_t of_ysum_right = 0
    cdef int64_t n_right = 0
    cdef int64_t undecided = 0
    cdef int64_t i, b, whole, rest, right
    cdef double scaled
    sums[0] = p.zero[0]
    sums[1] = p.zero[0]
    for i in range(n):
        b = side[rows[i]]
        right = -b
        undecided += b >> 1
        n_right += b
        of_ysum += ysum[rows[i]]
        of_ysum_right += ysum[rows[i]] & right
        scaled = p.unit * y[rows[i]] * sums[0].scale_high
        whole = llrint(scaled)
        rest = llrint((scaled - <double> whole) * sums[0].scale_low)
        sums[0].high += whole
        sums[0].low += rest
        sums[1].high += whole & right
        sums[1].low += rest & right
        some[b & 1] = y[rows[i]]
    if undecided:
        return undecided
    sums[0].high -= sums[1].high
    sums[0].low -= sums[1].low
    for b in range(2):
        w.sums[b] = sums[b]
        w.any_target[b] = some[b]
        w.children[b].totals.n = n_right if b else n - n_right
        w.children[b].totals.weight = w.children[b].totals.n
        w.children[b].totals.sum = of_ysum_right if b else of_ysum - of_ysum_right
    return 0


cdef void add_deviations_two_ways(const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n) noexcept nogil:
    """`add_deviations` for the samples of two children."""
    cdef const uint8_t* side = w.scratch.side
    cdef const double* targets = block.y
    cdef Exact sums[2]
    cdef double some[2]
    cdef double centre[2]
    cdef int64_t i, b, whole, rest, right
    cdef int64_t varies = 0
    cdef double scaled, y
    sums[0] = p.zero_deviation[0]
    sums[1] = p.zero_deviation[0]
    for b in range(2):
        centre[b] = w.nodes.value[w.children[b].id]
        some[b] = w.any_target[b]
    for i in range(n):
        b = side[rows[i]]
        right = -b
        y = targets[rows[i]]
        varies |= <int64_t> (y != some[b]) << b
        scaled = p.unit * deviation(p.impurity, y, centre[b]) * sums[0].scale_high
        whole = llrint(scaled)
        rest = llrint((scaled - <double> whole) * sums[0].scale_low)
        sums[0].high += whole
        sums[0].low += rest
        sums[1].high += whole & right
        sums[1].low += rest & right
    sums[0].high -= sums[1].high
    sums[0].low -= sums[1].low
    for b in range(2):
        w.sums[b] = sums[b]
        w.varies[b] = (varies >> b) & 1


cdef void add_deviations_by_branch(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """`add_deviations` for the samples of any number of children."""
    cdef Scratch* s = w.scratch
    cdef int64_t i, b, c, weight
    for i in range(n):
        b = s.side[rows[i]] if two else s.branch[rows[i]]
        weight = 1 if block.weight == NULL else block.weight[rows[i]]
        if b < n_children:
            add_deviations(p, block, w, b, rows[i], weight)
        elif b == SPREAD:
            for c in range(n_children):
                add_deviations(p, block, w, c, rows[i], spread_weight(weight, w.children[c].share))


cdef void describe_children(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Store the means of numeric targets in the children (medians stand there), and the impurity around them.

    Exact sums: w.sums holds weight x target.  Where all targets are equal the mean is that, and not what rounding makes of it.
    """
    cdef Nodes* t = w.nodes
    cdef Child* child
    cdef int32_t n_outputs = p.n_outputs
    cdef int64_t b
    cdef int32_t o
    cdef double risk
    cdef size_t at
    for b in range(n_children):
        child = &w.children[b]
        for o in range(n_outputs):
            at = b * n_outputs + o
            if p.sweep != MEDIANS:
                t.value[child.id * n_outputs + o] = exact_value(&w.sums[at]) / (<double> child.totals.weight * p.unit)
            w.sums[at] = p.zero_deviation[o]
            w.varies[at] = False
    if not goes_two_ways(p, two):
        add_deviations_by_branch(p, block, w, rows, n, n_children, two)
    elif n > 2:
        add_deviations_two_ways(p, block, w, rows, n)
    for b in range(n_children):
        child = &w.children[b]
        risk = 0
        for o in range(n_outputs):
            at = b * n_outputs + o
            if w.varies[at]:
                risk += max(exact_value(&w.sums[at]), 0.0) / n_outputs
            else:
                t.value[child.id * n_outputs + o] = w.any_target[at]
        child.totals.risk = risk
        t.n_samples[child.id] = child.totals.n
        t.weight[child.id] = <double> child.totals.weight * p.unit
        t.impurity[child.id] = risk / t.weight[child.id]


cdef inline void add_to_child(
    const Problem* p, const Block* block, Work* w, int64_t b, uint32_t row, int64_t weight,
) noexcept nogil:
    cdef size_t at = b * p.n_outputs
    cdef int32_t o
    cdef double y
    add_sample(p, block, &w.children[b].totals, row, weight)
    for o in range(0 if p.n_classes else p.n_outputs):
        y = block.y[<size_t> row * p.n_outputs + o]
        w.any_target[at + o] = y
        exact_add(&w.sums[at + o], <double> weight * p.unit * y)


cdef int64_t heaviest_child(const Work* w, int64_t n_children) noexcept nogil:
    """The last of those with the largest weight."""
    cdef int64_t best = 0
    cdef int64_t b
    for b in range(1, n_children):
        if w.children[b].totals.weight >= w.children[best].totals.weight:
            best = b
    return best


cdef void add_unknown(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Count the samples of SPREAD branch: in every child with a share of their weight, or whole in the heaviest child.

    The branch of the latter is written; all are of that kind if there are `two` branches for whole samples alone.
    """
    cdef Scratch* s = w.scratch
    cdef int64_t heaviest = heaviest_child(w, n_children)
    cdef int64_t i, b, weight
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        if (s.side[row] < UNDECIDED) if two else (s.branch[row] != SPREAD):
            continue
        weight = 1 if block.weight == NULL else block.weight[row]
        if p.missing != FRACTIONAL or weight < p.min_part:
            if two:
                s.side[row] = <uint8_t> heaviest
            else:
                s.branch[row] = <uint32_t> heaviest
            add_to_child(p, block, w, heaviest, row, weight)
            continue
        for b in range(n_children):
            set_part(p, block, row, spread_weight(weight, w.children[b].share))
            add_to_child(p, block, w, b, row, block.weight[row])
        set_part(p, block, row, weight)


cdef int64_t add_two_ways(const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n) noexcept nogil:
    """Add the samples of two children to their totals, if all have a side; returns how many have none yet."""
    if p.n_classes:
        return add_classes_two_ways(p, block, w, rows, n)
    return add_targets_two_ways(p, block, w, rows, n)


cdef int64_t add_by_branch(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Add the samples of any number of children to their totals; returns how many are SPREAD."""
    cdef Scratch* s = w.scratch
    cdef int64_t n_spread = 0
    cdef int64_t i, b
    cdef uint32_t row
    for i in range(n):
        row = rows[i]
        b = s.side[row] if two else s.branch[row]
        if b < n_children:
            add_to_child(p, block, w, b, row, 1 if block.weight == NULL else block.weight[row])
        else:
            n_spread += b != STAY
    return n_spread


cdef double count_children(
    const Problem* p, const Block* block, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two,
) noexcept nogil:
    """Totals of every child; samples whose branch is SPREAD count as `add_unknown` says, those that STAY nowhere.

    Returns the gain of the split, which such samples have no part in.
    """
    cdef Nodes* t = w.nodes
    cdef Child* child
    cdef int64_t b
    cdef int64_t n_spread = 0
    cdef int64_t known = 0
    cdef int32_t n_outputs = p.n_outputs
    cdef int32_t o
    cdef double gain
    memset(w.child_counts, 0, n_children * p.width * sizeof(int64_t))
    for b in range(n_children):
        child = &w.children[b]
        child.totals.n = 0
        child.totals.weight = 0
        child.totals.sum = 0
        child.totals.counts = w.child_counts + b * p.width
        for o in range(0 if p.n_classes else n_outputs):
            w.sums[b * n_outputs + o] = p.zero[o]
    if goes_two_ways(p, two):
        n_spread = add_two_ways(p, block, w, rows, n)
    if n_spread or not goes_two_ways(p, two):
        n_spread = add_by_branch(p, block, w, rows, n, n_children, two)
    if p.sweep == MEDIANS:
        store_medians(p, w, rows, n, n_children, two)
        gain = gain_of_parts(p, n, n_children)
    else:
        gain = gain_of_children(p, w, n_children)
    for b in range(n_children):
        known += w.children[b].totals.weight
    for b in range(n_children):
        w.children[b].share = <double> w.children[b].totals.weight / <double> known
    if n_spread:
        add_unknown(p, block, w, rows, n, n_children, two)
        if p.sweep == MEDIANS:
            store_medians(p, w, rows, n, n_children, two)
    if p.n_classes:
        for b in range(n_children):
            write_class_node(p, t, w.children[b].id, &w.children[b].totals)
    else:
        describe_children(p, block, w, rows, n, n_children, two)
    return gain


cdef void partition_rows(
    const Problem* p, Work* w, const uint32_t* rows, int64_t n, int64_t n_children, bint two, char* data,
) noexcept nogil:
    cdef Scratch* s = w.scratch
    cdef Child* child
    cdef int64_t i, b, c
    if two and p.cells:
        # a closed child's rows too: its sibling's counts are what they leave
        divide_rows(rows, n, s.side, <uint32_t*> (data + w.children[0].rows_at), <uint32_t*> (data + w.children[1].rows_at))
        return
    for b in range(n_children):
        w.children[b].filled = 0
    for i in range(n):
        b = s.side[rows[i]] if two else s.branch[rows[i]]
        if b == STAY:
            continue
        for c in range(0 if b == SPREAD else b, n_children if b == SPREAD else b + 1):
            child = &w.children[c]
            if child.open:
                (<uint32_t*> (data + child.rows_at))[child.filled] = rows[i]
                child.filled += 1


cdef void partition_many(
    Work* w, const entry_t* entries, int64_t n, int64_t n_children, char* base,
) noexcept nogil:
    """Any number of children; a SPREAD sample stands in each, one that may STAY in none.  An open list starts at its cursor."""
    cdef Scratch* s = w.scratch
    cdef Child* child
    cdef int64_t i, b, c
    if n_children == 2 and w.children[0].open and w.children[1].open:
        partition_parts(entries, n, s.branch, <entry_t*> (base + w.children[0].cursor), <entry_t*> (base + w.children[1].cursor))
        return
    for b in range(n_children):
        w.children[b].filled = 0
    for i in range(n):
        b = s.branch[row_of(entries[i])]
        if b == STAY:
            continue
        for c in range(0 if b == SPREAD else b, n_children if b == SPREAD else b + 1):
            child = &w.children[c]
            if child.open:
                (<entry_t*> (base + child.cursor))[child.filled] = entries[i]
                child.filled += 1


cdef int resize_stack(Work* w, int64_t extra) noexcept nogil:
    cdef int64_t n = w.stack_n + extra
    if n <= w.stack_capacity:
        return 0
    n = max(n, 2 * w.stack_capacity)
    if resize(<void**> &w.stack, n * sizeof(Pending)):
        return -1
    w.stack_capacity = n
    return 0


cdef void free_lists(const Active* actives, int32_t n_active, size_t n, size_t entry_size) noexcept nogil:
    cdef int32_t i
    for i in range(n_active):
        if actives[i].listed:
            free_list(actives[i].at, n, entry_size)


cdef struct Expansion:             # of one node into its children
    bint two                       # two branches, and no sample in both
    bint declared                  # a branch per declared category
    bint own                       # the last branch is that of the missing values
    int64_t n_children             # branches that hold samples
    int64_t n_branches
    int64_t n_spread               # samples that go to every child
    int64_t first                  # id of the first child
    bint swapped                   # the second of two children is the larger one
    size_t spread_at               # where their rows and weights are kept
    uint32_t low                   # a threshold's samples on both sides
    uint32_t high
    double reach                   # of the split, see Frontier


cdef int write_split(
    const Problem* p, const Block* block, Work* w, const Pending* node, const Cut* cut, Expansion* x, int64_t n_groups,
) noexcept nogil:
    """Turn a leaf into an inner node with children that are leaves, still without samples.  -1 if memory runs out."""
    cdef Nodes* t = w.nodes
    cdef Scratch* s = w.scratch
    cdef int64_t i
    cdef int64_t parent = node.id
    cdef uint32_t code, low, high
    if reserve_nodes(t, x.n_branches) or reserve_children(p, w, x.n_children):
        return -1
    x.first = t.n
    t.n += x.n_branches
    t.first_child[parent] = <int32_t> x.first
    t.n_branches[parent] = <int32_t> x.n_branches
    t.feature[parent] = cut.feature
    for i in range(x.first, x.first + x.n_branches):
        blank_node(t, i, parent)
        if x.n_branches > x.n_children:
            # a category that does not occur: an empty leaf that answers as its parent
            t.n_samples[i] = 0
            t.weight[i] = 0
            t.impurity[i] = t.impurity[parent]
            memcpy(&t.value[i * t.width], &t.value[parent * t.width], t.width * sizeof(double))
    for i in range(x.n_children):
        w.children[i].id = x.first + (s.group_code[i] - 1 if x.declared and i < n_groups else i)
    if x.own:
        w.children[x.n_children - 1].id = t.n - 1
    if cut.form == THRESHOLD_CUT:
        t.kind[parent] = NODE_THRESHOLD
        t.row_low[parent] = x.low if block.origin == NULL else block.origin[x.low]
        t.row_high[parent] = x.high if block.origin == NULL else block.origin[x.high]
    elif cut.form == KNOWN_CUT:
        t.kind[parent] = NODE_KNOWN
    elif x.declared:
        t.kind[parent] = NODE_CATEGORY
    elif cut.form == INTERVAL_CUT:
        t.kind[parent] = NODE_INTERVALS
        for i in range(1, n_groups):
            if s.branch_of_group[i] == s.branch_of_group[i - 1]:
                continue
            low, high = s.group_row[i - 1], s.group_row[i]
            if block.origin != NULL:
                low, high = block.origin[low], block.origin[high]
            if add_cut(t, parent, low, high):
                return -1
    else:
        t.kind[parent] = NODE_NOMINAL
        code = 1
        for i in range(n_groups):
            if cut.form == MERGE_CUT and add_range(t, parent, code, s.group_code[i], <int32_t> cut.at):
                return -1
            if add_to_table(t, parent, s.group_code[i], <int32_t> s.branch_of_group[i]):
                return -1
            code = s.group_code[i] + 1
        if cut.form == MERGE_CUT and add_range(t, parent, code, p.n_codes[cut.feature], <int32_t> cut.at):
            return -1
    return 0


cdef int32_t missing_branch(const Problem* p, const Work* w, const Cut* cut, const Expansion* x) noexcept nogil:
    """Where a missing value goes at prediction.

    Where growth saw none to the heaviest child (learned directions: to that with most samples), the last on a tie.  Those that
    followed the heaviest child have made it no lighter.
    """
    cdef int64_t i
    cdef int64_t best = x.n_children - 1
    if p.missing == FRACTIONAL:
        return TO_SHARES
    if p.missing == REFUSE:
        return TO_STOP
    if cut.missing >= 0:
        best = cut.missing
    elif p.missing == DIRECTION:
        for i in range(x.n_children - 1):
            if w.children[i].totals.n > w.children[best].totals.n:
                best = i
    else:
        best = heaviest_child(w, x.n_children)
    return <int32_t> (w.children[best].id - x.first)


cdef void bound_children(const Problem* p, Work* w, const Pending* node, const Cut* cut, int64_t n_children) noexcept nogil:
    """Bounds of the children's values: the node's, and halfway between the two where the feature asks for an order."""
    cdef Totals* totals
    cdef double middle = 0
    cdef int64_t b, rising
    for b in range(n_children):
        w.children[b].totals.low = node.low
        w.children[b].totals.high = node.high
    if cut.form != THRESHOLD_CUT or p.monotone[cut.feature] == 0:
        return
    for b in range(2):
        totals = &w.children[b].totals
        middle += 0.5 * mean_value(p, totals.counts, totals.sum, totals.weight)
    rising = p.monotone[cut.feature] > 0
    w.children[1 - rising].totals.high = middle
    w.children[rising].totals.low = middle


cdef int open_children(
    const Problem* p, const Block* block, Work* w, const Pending* node, Expansion* x, Arena* arena, const uint32_t* rows,
    uint32_t narrow, bint loose, size_t entry_size,
) noexcept nogil:
    """Decide which children may be split again, and lay out their features, rows and lists.  -1 if memory runs out."""
    cdef Scratch* s = w.scratch
    cdef Nodes* t = w.nodes
    cdef Child* child
    cdef uint32_t* spread_rows
    cdef int64_t* spread_weights
    cdef int64_t i, b
    cdef size_t top = node.below
    cdef Bounds limits
    x.n_spread = 0
    if p.missing == FRACTIONAL:
        for i in range(node.n):
            x.n_spread += s.branch[rows[i]] == SPREAD
    x.spread_at = top
    if x.n_spread:
        top += pad(x.n_spread * sizeof(uint32_t)) + pad(x.n_spread * sizeof(int64_t))
    # of two children the smaller one is expanded first, being laid out last: so less waits while the tree grows
    x.swapped = x.n_children == 2 and w.children[1].totals.n > w.children[0].totals.n
    for i in range(x.n_children):
        b = 1 - i if x.swapped else i
        child = &w.children[b]
        child.open = not (
            is_leaf(p, &child.totals, t.impurity[child.id], node.depth + 1)
            or is_beyond(&t.frontier, x.reach, t.impurity[child.id] * t.weight[child.id])
        )
        child.scans = not loose or stays_wide(p, block, child.totals.n, node.depth + 1, narrow)
        child.bounded = is_bounded(p, block, child.totals.n)
        child.done = False
        child.histogram = NULL
        child.glance.possible = False
        child.glance.least = 0
        child.n_cuts = 0
        child.n_active = 0
        child.key = mix(node.key ^ mix(child.id - x.first + 1))
        if not child.open and not (p.cells and x.two):
            continue
        child.region = top
        child.actives_at = top
        child.rows_at = top + pad(node.n_active * sizeof(Active))
        child.cursor = child.rows_at + pad((child.totals.n + 1) * sizeof(uint32_t))
        top = child.cursor
        if not loose and child.open and not child.bounded:
            # a partition may write one entry past the end of a list
            top += pad((child.totals.n * node.n_active + 1) * entry_size) + p.cells
            if p.glances:
                child.glance.share = s.shares + b * (block.n + 1)
                child.glance.step = s.steps + b * p.width
                child.glance.cross = s.crosses + b * p.width
                child.glance.total = s.class_totals + b * p.width
                limits = bounds_of(p, child.totals.n, child.totals.weight, False)
                start_glances(
                    p, &child.totals, max(limits.n_min, limits.w_min), min(limits.n_max, limits.w_max), &child.glance)
    # if more is needed, at once what the other arena has: what stays untouched costs nothing, and nothing need move again
    if top > arena.size and reserve(arena, max(top, w.arenas[node.depth % 2].size)):
        return -1
    partition_rows(p, w, rows, node.n, x.n_children, x.two, arena.data)
    if x.n_spread:
        spread_rows = <uint32_t*> (arena.data + x.spread_at)
        spread_weights = <int64_t*> (arena.data + x.spread_at + pad(x.n_spread * sizeof(uint32_t)))
        b = 0
        for i in range(node.n):
            if s.branch[rows[i]] == SPREAD:
                spread_rows[b] = rows[i]
                spread_weights[b] = block.weight[rows[i]]
                b += 1
    return 0


cdef int partition_list(
    Work* w, const Expansion* x, entry_t* entries, int64_t n, char* lists, bint loose,
) noexcept nogil:
    """Write the part of a sorted list that belongs to each open child at the child's cursor.

    Of two children of a loose block the larger one takes over the list where it stands, which spares fresh pages.  Returns
    whether the list is used up so, -1 if memory runs out.
    """
    cdef Scratch* s = w.scratch
    cdef Child* child
    cdef entry_t* outs[2]
    cdef bint wants[2]
    cdef int64_t b
    cdef int64_t heir = -1
    if loose and x.two:
        b = 1 if x.swapped else 0
        child = &w.children[b]
        if child.open and not child.done and can_shrink(child.totals.n, sizeof(entry_t)):
            heir = b
            child.cursor = <size_t> entries
    if loose:
        for b in range(x.n_children):
            child = &w.children[b]
            if child.open and not child.done and b != heir:
                child.cursor = <size_t> new_list(child.totals.n, sizeof(entry_t))
                if child.cursor == 0:
                    return -1
    if not x.two:
        partition_many(w, entries, n, x.n_children, lists)
        return 0
    for b in range(2):
        wants[b] = w.children[b].open and not w.children[b].done
        outs[b] = <entry_t*> (lists + w.children[b].cursor)
    if wants[0] and wants[1]:
        # an heir is written behind where the list is read
        partition_two(entries, n, s.side, outs[0], outs[1])
    elif wants[0]:
        partition_one(entries, n, s.side, 0, outs[0])
    elif wants[1]:
        partition_one(entries, n, s.side, 1, outs[1])
    if heir < 0:
        return 0
    child = &w.children[heir]
    child.cursor = shrink_list(child.cursor, n, child.totals.n, sizeof(entry_t))
    return 1


cdef void count_two_ways(
    const Problem* p, const Block* block, Work* w, const Expansion* x, const Active* active, const char* own, char* data,
) noexcept nogil:
    """Count a feature's codes in two children, where they are wanted, at their cursors: by samples in the smaller child alone.

    The other counts what is left of the node's counts, if these were kept.
    """
    cdef Scratch* s = w.scratch
    cdef int32_t f = active.feature
    cdef const uint8_t* codes = block.codes + <size_t> p.slot[f] * block.n
    cdef size_t size = <size_t> p.n_codes[f] * p.width
    cdef int64_t few = 0 if x.swapped else 1
    cdef Child* child
    cdef uint32_t* cells = s.cells
    cdef bint wants[2]
    cdef int64_t b
    for b in range(2):
        child = &w.children[b]
        wants[b] = child.open and not child.done and child.totals.n >= p.list_below[f]
    child = &w.children[few]
    if wants[few]:
        cells = <uint32_t*> (data + child.cursor)
    if wants[few] or (wants[1 - few] and active.at):
        count_cells(p, block, codes, p.n_codes[f], <const uint32_t*> (data + child.rows_at), child.totals.n, cells, s.spare_cells)
    if not wants[1 - few]:
        return
    child = &w.children[1 - few]
    if active.at:
        other_cells(<const uint32_t*> (own + active.at), cells, size, <uint32_t*> (data + child.cursor))
    else:
        count_cells(p, block, codes, p.n_codes[f], <const uint32_t*> (data + child.rows_at), child.totals.n,
                    <uint32_t*> (data + child.cursor), s.spare_cells)


cdef void add_cut_of(const Problem* p, Child* child, Cut* cuts, const Cut* found) noexcept nogil:
    """Keep a feature's best cut, in the order of features; from then on no less is expected."""
    cdef int32_t i = child.n_cuts
    while i > 0 and cuts[i - 1].feature > found.feature:
        cuts[i] = cuts[i - 1]
        i -= 1
    cuts[i] = found[0]
    child.n_cuts += 1
    expect(&child.glance, tie_limit(found.gain, child.totals.risk))


cdef void search_promising(
    const Problem* p, const Block* block, Work* w, Child* child, Cut* cuts, const Active* actives, const char* base,
    const uint32_t* rows, entry_t typed,
) noexcept nogil:
    """Search the features that wait and may still win."""
    cdef Cut found
    cdef bint constant = False
    cdef int32_t i
    for i in range(child.n_active):
        if actives[i].quotient >= 0 and actives[i].quotient >= child.glance.least:
            found = scan_feature(p, block, w.scratch, &child.totals, &actives[i], base, rows, typed, -INFINITY, &constant)
            if found.form != NO_CUT:
                add_cut_of(p, child, cuts, &found)


cdef void receive_feature(
    const Problem* p, const Block* block, Work* w, int64_t b, Active made, char* data, char* lists, bint loose, bint counted,
    entry_t typed,
) noexcept nogil:
    """Give child b a feature of its parent, unless it no longer varies; a lazy search scans it at once, while it is warm.

    Its list stands at the child's cursor, or (`counted`) its counts.
    """
    cdef Scratch* s = w.scratch
    cdef Child* child = &w.children[b]
    cdef const uint32_t* rows = <const uint32_t*> (data + child.rows_at)
    cdef const entry_t* entries = NULL
    cdef Cut* cuts = s.cuts if b == 0 else s.cuts_two
    cdef Cut found
    cdef bint constant = False
    made.at = child.cursor if made.listed or counted else 0
    if child.bounded:
        (<Active*> (data + child.actives_at))[child.n_active] = made
        child.n_active += 1
        return
    if not made.listed and p.histogram and p.binned[made.feature]:
        made.listed = True
        made.at = child.cursor
        list_from_fine(
            block, made.feature, rows, child.totals.n, <entry_t*> (lists + child.cursor), <uint32_t*> s.spare_records,
        )
    elif not made.listed and not loose and child.totals.n < p.list_below[made.feature]:
        made.listed = True
        made.at = child.cursor
        list_from_codes(
            block.codes + <size_t> p.slot[made.feature] * block.n, p.n_codes[made.feature], rows, child.totals.n,
            <entry_t*> (lists + child.cursor), typed,
        )
    if made.listed:
        entries = <const entry_t*> (lists + child.cursor)
        constant = code_of(entries[0]) == code_of(entries[child.totals.n - 1])
    made.quotient = -1
    if entry_t is uint32_t:
        if child.glance.possible and not constant and form_of(p, made.feature) == ORDERED:
            if made.listed and code_of(entries[0]):
                made.quotient = largest_along_list(p, block, s, &child.glance, entries, child.totals.n)
            elif not made.listed and counted:
                made.quotient = largest_by_code(
                    p, s, &child.glance, <const uint32_t*> (lists + made.at), p.n_codes[made.feature], child.totals.n)
            if made.quotient >= 0:
                count_on(&child.glance, made.quotient, child.totals.risk)
                if p.n_classes and made.quotient * child.glance.scale > (1 - 1e-5) * child.totals.risk:
                    made.quotient = -1     # a perfect split, it seems: to know that now spares the other features
    if p.lazy and child.scans and not constant and made.quotient < 0:
        found = scan_feature(p, block, s, &child.totals, &made, lists, rows, typed, -INFINITY, &constant)
        if found.form != NO_CUT:
            add_cut_of(p, child, cuts, &found)
            # pure on both sides: nothing can beat it, a later feature cannot win the tie, and its children need no lists
            # (if it is judged by all samples of the node)
            child.done = child.totals.n == 2 or (
                p.n_classes and not p.weighted and found.missing != TO_HEAVIEST
                and found.first_gain >= tie_limit(child.totals.risk, child.totals.risk)
            )
    if constant:
        if loose and made.listed:
            free_list(made.at, child.totals.n, sizeof(entry_t))
        return
    (<Active*> (data + child.actives_at))[child.n_active] = made
    child.n_active += 1
    if made.listed and not loose:
        child.cursor += child.totals.n * sizeof(entry_t)
    elif counted:
        child.cursor += <size_t> p.n_codes[made.feature] * p.width * sizeof(uint32_t)


cdef char* take_histogram(const Problem* p, Work* w) noexcept nogil:
    """Room for a histogram; NULL if memory runs out."""
    cdef char* taken
    if w.n_histograms:
        w.n_histograms -= 1
        return w.histograms[w.n_histograms]
    if resize(<void**> &w.histograms, (w.histograms_made + 1) * sizeof(char*)):
        return NULL
    taken = <char*> malloc(p.histogram_size)
    w.histograms_made += taken != NULL
    return taken


cdef void give_histogram(Work* w, char* histogram) noexcept nogil:
    """Take back a histogram that nobody needs any longer, or NULL."""
    if histogram != NULL:
        w.histograms[w.n_histograms] = histogram
        w.n_histograms += 1


cdef void mark_wanted(const Problem* p, Work* w, const Active* actives, int32_t n_active) noexcept nogil:
    cdef int32_t i
    memset(w.drawn, 0, p.n_features)
    for i in range(n_active):
        w.drawn[actives[i].feature] = 1


cdef int count_histograms(
    const Problem* p, const Block* block, Work* w, const Pending* node, const Expansion* x, char* data,
) noexcept nogil:
    """Give every child that is searched its histogram; the larger one's is what the smaller one's leaves of the node's.

    The node's own histogram is used up.  -1 if memory runs out.
    """
    cdef Child* small = &w.children[0 if x.swapped else 1]
    cdef Child* large = &w.children[1 if x.swapped else 0]
    cdef Child* child
    cdef int64_t b
    if small.totals.n > large.totals.n:
        small, large = large, small
    if not (small.open and small.scans and small.bounded) and not (large.open and large.scans and large.bounded):
        give_histogram(w, node.histogram)
        return 0
    child = large if large.open else small
    mark_wanted(p, w, <const Active*> (data + child.actives_at), child.n_active)
    if large.scans and large.bounded and large.open and small.open and node.histogram != NULL:
        small.histogram = take_histogram(p, w)
        if small.histogram == NULL:
            return -1
        count_tiles(p, block, <const uint32_t*> (data + small.rows_at), small.totals.n, w.drawn, small.histogram)
        large.histogram = node.histogram
        subtract_histogram(p, large.histogram, small.histogram)
        if not (small.scans and small.bounded):
            give_histogram(w, small.histogram)
            small.histogram = NULL
        return 0
    give_histogram(w, node.histogram)
    for b in range(2):
        child = &w.children[b]
        if child.open and child.scans and child.bounded:
            child.histogram = take_histogram(p, w)
            if child.histogram == NULL:
                return -1
            count_tiles(p, block, <const uint32_t*> (data + child.rows_at), child.totals.n, w.drawn, child.histogram)
    return 0


cdef int push_children(
    const Problem* p, Block* block, Work* w, const Pending* node, const Expansion* x, char* data, char* lists, bint loose,
    entry_t typed,
) noexcept nogil:
    """Settle on the cut of every open child and push those that have one, in the order of their layout.  -1: no memory."""
    cdef Scratch* s = w.scratch
    cdef Child* child
    cdef Pending* pushed
    cdef Active* actives
    cdef const uint32_t* rows
    cdef Cut found = no_cut(-1)
    cdef Cut* cuts
    cdef int64_t b, i
    if resize_stack(w, x.n_children):
        return -1
    for i in range(x.n_children):
        b = 1 - i if x.swapped else i
        child = &w.children[b]
        if not child.open:
            continue
        if child.scans:
            actives = <Active*> (data + child.actives_at)
            rows = <const uint32_t*> (data + child.rows_at)
            cuts = s.cuts if b == 0 else s.cuts_two
            if child.bounded:
                found = search_bounded(
                    p, block, w, &child.totals, child.histogram, actives, &child.n_active, rows, cuts, typed,
                )
            elif p.lazy:
                if child.glance.possible:
                    search_promising(p, block, w, child, cuts, actives, lists, rows, typed)
                found = settle(
                    p, block, w, &child.totals, cuts, child.n_cuts, actives, child.n_active, lists, rows, typed,
                )
            else:
                share_weights(p, block, data, x.spread_at, x.n_spread, child.share)
                found = search(p, block, w, &child.totals, child.key, actives, &child.n_active, lists, rows, typed)
            if found.form == NO_CUT:
                if loose:
                    free_lists(actives, child.n_active, child.totals.n, sizeof(entry_t))
                give_histogram(w, child.histogram)
                continue
        pushed = &w.stack[w.stack_n]
        w.stack_n += 1
        pushed.cut = found
        pushed.histogram = child.histogram
        pushed.key = child.key
        pushed.id = child.id
        pushed.depth = node.depth + 1
        pushed.n = <uint32_t> child.totals.n
        pushed.rows_at = child.rows_at
        pushed.region = child.region
        pushed.below = node.region
        pushed.actives_at = child.actives_at
        pushed.n_active = child.n_active
        pushed.low = child.totals.low
        pushed.high = child.totals.high
        pushed.spread_at = x.spread_at
        pushed.n_spread = x.n_spread
        pushed.share = child.share
        pushed.reach = x.reach
        if child.scans:
            pushed.reach = min(x.reach, found.first_gain)
            note_reach(&w.nodes.frontier, pushed.reach)
        pushed.searched = child.scans
    return 0


cdef void share_weights(
    const Problem* p, Block* block, const char* data, size_t spread_at, int64_t n_spread, double share,
) noexcept nogil:
    """Set the weights of the samples that went to every child of a node to their part in one of them.

    The weights saved at the node stay until its last child is done, so siblings may overwrite one another's.
    """
    cdef const uint32_t* rows = <const uint32_t*> (data + spread_at)
    cdef const int64_t* weights = <const int64_t*> (data + spread_at + pad(n_spread * sizeof(uint32_t)))
    cdef int64_t i
    for i in range(n_spread):
        set_part(p, block, rows[i], spread_weight(weights[i], share))


cdef int expand(
    const Problem* p, Block* block, Work* w, const Pending* node, uint32_t narrow, bint loose, entry_t typed,
) noexcept nogil:
    """Split one node: write its children, give those that may grow on their rows and lists, find their cuts, push them.

    The lists of a narrow block lie in two arenas that alternate with depth, each used as a stack.  Those of a wide (`loose`)
    block are allocated one by one and freed once they are partitioned, so that it holds each list once.  Returns -1 if memory
    runs out.
    """
    cdef Arena* arena = &w.arenas[1 - node.depth % 2]
    cdef const char* own = w.arenas[node.depth % 2].data
    cdef const char* own_lists = own
    cdef char* lists
    cdef const uint32_t* rows = <const uint32_t*> (own + node.rows_at)
    cdef const Active* actives = <const Active*> (own + node.actives_at)
    cdef const Active* active = NULL
    cdef Cut cut = node.cut
    cdef int32_t f = cut.feature
    cdef uint32_t lost_branch = <uint32_t> cut.missing if cut.missing >= 0 else SPREAD
    cdef Target target
    cdef int64_t n_groups, i, b
    cdef int used_up
    cdef double gain
    cdef bint counted
    cdef Expansion x
    if loose:
        own_lists = NULL               # they stand by themselves
    if p.missing == SURROGATE:
        lost_branch = STAY
    for i in range(node.n_active):
        if actives[i].feature == f:
            active = &actives[i]
    x.own = p.missing == OWN_BRANCH and cut.missing >= 0 and cut.form != KNOWN_CUT
    x.two = (
        cut.form != BRANCH_CUT and cut.form != INTERVAL_CUT and p.missing != FRACTIONAL and p.missing != SURROGATE and not x.own
    )
    x.declared = cut.form == BRANCH_CUT and form_of(p, f) == DECLARED
    x.low = 0
    x.high = 0
    if p.sweep == MEDIANS:
        rank_targets(p, block, rows, node.n)
    n_groups = assign_branches(
        p, block, w.scratch, &cut, active, own_lists, rows, node.n, lost_branch, x.two, typed, &x.low, &x.high
    )
    x.n_children = (n_groups if cut.form == BRANCH_CUT else 2) + x.own
    x.n_branches = p.n_codes[f] - 1 + x.own if x.declared else x.n_children
    if cut.form == INTERVAL_CUT:
        x.n_children = cut.at
        x.n_branches = cut.at
    if cut.form == MERGE_CUT:
        # categories in no group share the last branch; samples may reach it or not
        x.n_children = cut.at
        x.n_branches = cut.at + (n_groups < p.n_codes[f] - 1)
        for i in range(n_groups):
            if w.scratch.branch_of_group[i] == cut.at:
                x.n_children = cut.at + 1
                x.n_branches = cut.at + 1
    if write_split(p, block, w, node, &cut, &x, n_groups):
        return -1
    gain = count_children(p, block, w, rows, node.n, x.n_children, x.two) - cut.penalty
    w.nodes.gain[node.id] = max(gain, 0.0) / w.nodes.weight[node.id]
    x.reach = node.reach
    w.nodes.missing[node.id] = missing_branch(p, w, &cut, &x)
    if p.monotone != NULL:
        bound_children(p, w, node, &cut, x.n_children)
    if p.sets != NULL:
        mark_allowed(p.sets, p.n_features, w.nodes.parent, w.nodes.feature, node.id, w.allowed)
    if p.missing == SURROGATE:
        if add_surrogates_of(
            p, block, node.id, f, actives, node.n_active, w.allowed if p.sets != NULL else NULL, own_lists, rows, node.n, typed,
            w.scratch.side, w.scratch.branch, &target, w.scratch.imitations, &w.nodes.surrogates,
        ):
            return -1
        w.nodes.missing[node.id] = heavier_branch(p, &target)
        if target.n_lost:
            count_children(p, block, w, rows, node.n, x.n_children, x.two)
    if open_children(p, block, w, node, &x, arena, rows, narrow, loose, sizeof(entry_t)):
        return -1
    lists = NULL if loose else arena.data
    for i in range(node.n_active):
        if (cut.form == BRANCH_CUT and actives[i].feature == f) or (p.sets != NULL and not w.allowed[actives[i].feature]):
            # it leaves the path: every child holds one category, or the feature must not meet those above
            if loose and actives[i].listed:
                free_list(actives[i].at, node.n, sizeof(entry_t))
            continue
        if actives[i].listed:
            used_up = partition_list(w, &x, <entry_t*> (own_lists + actives[i].at), node.n, lists, loose)
            if used_up < 0:
                return -1
            if loose and not used_up:
                free_list(actives[i].at, node.n, sizeof(entry_t))
        counted = p.cells and x.two and not loose and not actives[i].listed and not is_bounded(p, block, node.n)
        if counted:
            count_two_ways(p, block, w, &x, &actives[i], own, arena.data)
        for b in range(x.n_children):
            if w.children[b].open and not w.children[b].done:
                receive_feature(p, block, w, b, actives[i], arena.data, lists, loose, counted, typed)
    if block.tiles != NULL and count_histograms(p, block, w, node, &x, arena.data):
        return -1
    return push_children(p, block, w, node, &x, arena.data, lists, loose, typed)


cdef bint is_twig(const Problem* p, const Pending* node, const char* data) noexcept nogil:
    """Are all values of a small node known?"""
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef int32_t i
    for i in range(node.n_active):
        if not actives[i].listed or (<const uint32_t*> (data + actives[i].at))[0] >> 16 == 0:
            return False
    return True


cdef void read_twig(
    const Problem* p, const Block* block, Scratch* s, const Pending* node, const char* data, Twig* twig,
) noexcept nogil:
    """Number the samples of a small node, and write its lists in terms of these numbers."""
    cdef const Active* actives = <const Active*> (data + node.actives_at)
    cdef const uint32_t* rows = <const uint32_t*> (data + node.rows_at)
    cdef const uint32_t* entries
    cdef uint32_t* out = s.twig_entries
    cdef uint8_t* place = s.side
    cdef int32_t f
    cdef int64_t i
    twig.n = node.n
    twig.n_active = node.n_active
    twig.feature = s.twig_features
    twig.entries = s.twig_entries
    for i in range(twig.n):
        twig.row[i] = rows[i]
        twig.statistic[i] = block.label[rows[i]] if p.n_classes else block.ysum[rows[i]]
        place[rows[i]] = <uint8_t> i
    for f in range(node.n_active):
        twig.feature[f] = actives[f].feature
        entries = <const uint32_t*> (data + actives[f].at)
        for i in range(twig.n):
            out[i] = (entries[i] & <uint32_t> 0xFFFF0000) | place[entries[i] & 0xFFFF]
        out += TWIG


cdef Shoot first_shoot(const Twig* twig, const Pending* node) noexcept nogil:
    """The twig itself, whose threshold is known."""
    cdef Shoot shoot
    cdef const uint32_t* entries = twig.entries
    cdef int32_t f = 0
    cdef int64_t i
    while twig.feature[f] != node.cut.feature:
        f += 1
    entries += f * TWIG
    shoot.members = ((<uint64_t> 1) << twig.n) - 1
    shoot.left = 0
    for i in range(node.cut.at + 1):
        shoot.left |= <uint64_t> 1 << (entries[i] & 0xFFFF)
    shoot.low = twig.row[entries[node.cut.at] & 0xFFFF]
    shoot.high = twig.row[entries[node.cut.at + 1] & 0xFFFF]
    shoot.feature = node.cut.feature
    shoot.id = node.id
    shoot.depth = node.depth
    return shoot


cdef int split_shoot(const Problem* p, const Block* block, Work* w, const Twig* twig, const Shoot* shoot) noexcept nogil:
    """Write the children of a node of a twig.  -1 if memory runs out."""
    cdef uint32_t rows[TWIG]
    cdef Pending node
    cdef Cut cut = no_cut(shoot.feature)
    cdef Expansion x
    cdef int64_t n = 0
    cdef int64_t i
    cdef double gain
    for i in range(twig.n):
        if (shoot.members >> i) & 1:
            rows[n] = twig.row[i]
            w.scratch.side[rows[n]] = 1 - <uint8_t> ((shoot.left >> i) & 1)
            n += 1
    memset(&x, 0, sizeof(Expansion))
    x.two = True
    x.n_children = 2
    x.n_branches = 2
    x.low = shoot.low
    x.high = shoot.high
    node.id = shoot.id
    cut.form = THRESHOLD_CUT
    if write_split(p, block, w, &node, &cut, &x, 0):
        return -1
    gain = count_children(p, block, w, rows, n, 2, True)
    w.nodes.gain[node.id] = gain / w.nodes.weight[node.id]
    w.nodes.missing[node.id] = missing_branch(p, w, &cut, &x)
    return 0


cdef int grow_twig(const Problem* p, const Block* block, Work* w, const Pending* node, const char* data) noexcept nogil:
    """Grow all that is below a small node, from its own lists.  -1 if memory runs out."""
    cdef Shoot waiting[TWIG]
    cdef Shoot shoot
    cdef Shoot* child
    cdef Twig twig
    cdef Few few
    cdef Bounds limits
    cdef Totals* totals
    cdef Cut cut = no_cut(-1)
    cdef int32_t n_waiting = 1
    cdef int64_t b
    read_twig(p, block, w.scratch, node, data, &twig)
    waiting[0] = first_shoot(&twig, node)
    while n_waiting:
        n_waiting -= 1
        shoot = waiting[n_waiting]
        if split_shoot(p, block, w, &twig, &shoot):
            return -1
        for b in range(2):
            totals = &w.children[b].totals
            if is_leaf(p, totals, w.nodes.impurity[w.children[b].id], shoot.depth + 1):
                continue
            limits = bounds_of(p, totals.n, totals.weight, False)
            few = few_of(p, totals, max(limits.n_min, limits.w_min), min(limits.n_max, limits.w_max))
            child = &waiting[n_waiting]
            child.members = shoot.members & ~shoot.left if b else shoot.left
            child.id = w.children[b].id
            child.depth = shoot.depth + 1
            cut.first_gain = search_twig(p, &twig, &few, totals.risk, w.scratch.twig_gains, child)
            if cut.first_gain > -INFINITY and accepted(p, &cut, <double> totals.weight * p.unit, totals.risk):
                n_waiting += 1
    return 0


cdef int start(
    const Problem* p, const Block* block, Work* w, Pending* root, size_t* lists, size_t cursor, bint loose, entry_t typed,
) noexcept nogil:
    """Lay out the first node of a run: its features, its rows, and lists for counted features of a small node.

    The other lists exist: in a narrow run they stand in the node's arena, up to `cursor`.  -1 if memory runs out.
    """
    cdef Arena* arena = &w.arenas[root.depth % 2]
    cdef Active* active
    cdef uint32_t* rows
    cdef size_t size = cursor
    cdef bint bounded = block.tiles != NULL
    cdef int32_t f
    cdef uint32_t i
    if not loose:
        for f in range(p.n_features):
            if p.counted[f] and root.n < p.list_below[f] and not bounded:
                size += root.n * sizeof(entry_t)
        size += sizeof(entry_t)
    if reserve(arena, size):
        return -1
    root.region = 0
    root.below = 0
    root.actives_at = 0
    root.rows_at = pad(p.n_features * sizeof(Active))
    root.n_active = 0
    rows = <uint32_t*> (arena.data + root.rows_at)
    for i in range(root.n):
        rows[i] = i
    for f in range(p.n_features):
        if not p.counted[f] and lists[f] == 0:
            continue                   # constant
        active = <Active*> arena.data + root.n_active
        root.n_active += 1
        active.feature = f
        active.at = lists[f]
        active.listed = not bounded and (not p.counted[f] or (not loose and root.n < p.list_below[f]))
        if active.listed and p.counted[f]:
            active.at = cursor
            list_from_codes(block.codes + <size_t> p.slot[f] * block.n, p.n_codes[f], rows, root.n,
                            <entry_t*> (arena.data + cursor), typed)
            cursor += root.n * sizeof(entry_t)
        elif not active.listed:
            active.at = 0
        lists[f] = 0                   # the node's now
    return 0


cdef void totals_of(const Problem* p, const Block* block, Totals* totals) noexcept nogil:
    """Totals of all rows of a block, but for the risk."""
    cdef uint32_t i
    totals.n = 0
    totals.weight = 0
    totals.sum = 0
    memset(totals.counts, 0, p.width * sizeof(int64_t))
    for i in range(block.n):
        add_sample(p, block, totals, i, 1 if block.weight == NULL else block.weight[i])


cdef void write_root(Problem* p, const Block* block, Nodes* t, Totals* totals) noexcept nogil:
    """Write node 0, which holds all rows, and complete the problem with their weight."""
    cdef Exact sum
    cdef double risk = 0
    cdef double mean, weight
    cdef size_t at
    cdef uint32_t i
    cdef int32_t o
    cdef bint varies
    t.n = 1
    blank_node(t, 0, -1)
    totals_of(p, block, totals)
    p.total_weight = <double> totals.weight * p.unit
    if p.n_classes:
        write_class_node(p, t, 0, totals)
        return
    if p.sweep == MEDIANS:
        rank_targets(p, block, NULL, block.n)
        memset(p.parts.part_of, 0, block.n * sizeof(uint32_t))
    for o in range(p.n_outputs):
        sum = p.zero[o]
        varies = False
        for i in range(block.n):
            at = <size_t> i * p.n_outputs + o
            varies = varies or block.y[at] != block.y[o]
            exact_add(&sum, (p.unit if block.weight == NULL else block.weight[i] * p.unit) * block.y[at])
        mean = exact_value(&sum) / p.total_weight if varies else block.y[o]
        if p.sweep == MEDIANS:
            find_medians(p, o, block.n, 1, True)
            mean = median_of_part(p, o, 0)
        sum = p.zero_deviation[o]
        for i in range(block.n):
            weight = p.unit if block.weight == NULL else block.weight[i] * p.unit
            exact_add(&sum, weight * deviation(p.impurity, block.y[<size_t> i * p.n_outputs + o], mean))
        t.value[o] = mean
        risk += max(exact_value(&sum), 0.0) / p.n_outputs
    t.n_samples[0] = block.n
    t.weight[0] = p.total_weight
    t.impurity[0] = risk / p.total_weight


cdef int run(
    const Problem* p, Block* block, Work* w, Pending* root, size_t* lists, size_t cursor, uint32_t narrow, bint loose,
    entry_t typed, Work* inner, Block* small, uint8_t* small_tiles, uint32_t* place, size_t* small_lists, uint32_t small_typed,
) noexcept nogil:
    """Grow everything below `root`, a written node whose rows are the whole block.

    A wide run hands each node of at most `narrow` rows to a run over a private block; `inner`, `small`, `place` and
    `small_lists` are that run's space.
    """
    cdef Pending node
    cdef Totals totals
    cdef char* data
    totals.counts = w.root_counts
    if resize_stack(w, 1) or start(p, block, w, root, lists, cursor, loose, typed):
        return -1
    w.stack[0] = root[0]
    w.stack_n = 1
    while w.stack_n:
        w.stack_n -= 1
        node = w.stack[w.stack_n]
        data = w.arenas[node.depth % 2].data
        share_weights(p, block, data, node.spread_at, node.n_spread, node.share)
        if is_beyond(&w.nodes.frontier, node.reach, w.nodes.impurity[node.id] * w.nodes.weight[node.id]):
            if loose:
                free_lists(<const Active*> (data + node.actives_at), node.n_active, node.n, sizeof(entry_t))
            give_histogram(w, node.histogram)
            continue
        if loose and w.crew != NULL and not stays_wide(p, block, node.n, node.depth, narrow):
            node.n_spread = 0
            node.searched = False
            if hand_over(w, &node, <const Active*> (data + node.actives_at), <const uint32_t*> (data + node.rows_at)):
                return -1
            continue
        if loose and not stays_wide(p, block, node.n, node.depth, narrow):
            if shrink(
                p, block, w.scratch, &node, <const Active*> (data + node.actives_at), <const uint32_t*> (data + node.rows_at),
                small, small_tiles, place, &inner.arenas[node.depth % 2], small_lists, &cursor, typed,
            ):
                return -1
            node.n_spread = 0
            node.searched = False
            if run[uint32_t](
                p, small, inner, &node, small_lists, cursor, narrow, False, small_typed, NULL, NULL, NULL, NULL, NULL, 0,
            ):
                return -1
            continue
        if not node.searched:
            totals_of(p, block, &totals)
            totals.risk = w.nodes.impurity[node.id] * w.nodes.weight[node.id]
            if p.n_classes:
                totals.risk = risk_of(p, totals.counts)
            totals.low = node.low
            totals.high = node.high
            if p.sets != NULL:
                mark_allowed(p.sets, p.n_features, w.nodes.parent, w.nodes.feature, w.nodes.parent[node.id], w.allowed)
            if block.tiles != NULL:
                node.histogram = take_histogram(p, w)
                if node.histogram == NULL:
                    return -1
                mark_wanted(p, w, <const Active*> (data + node.actives_at), node.n_active)
                count_tiles(p, block, <const uint32_t*> (data + node.rows_at), node.n, w.drawn, node.histogram)
                node.cut = search_bounded(
                    p, block, w, &totals, node.histogram, <Active*> (data + node.actives_at), &node.n_active,
                    <const uint32_t*> (data + node.rows_at), w.scratch.cuts, typed,
                )
            else:
                node.cut = search(
                    p, block, w, &totals, node.key, <Active*> (data + node.actives_at), &node.n_active,
                    NULL if loose else data, <const uint32_t*> (data + node.rows_at), typed,
                )
            if node.cut.form == NO_CUT:
                if loose:
                    free_lists(<const Active*> (data + node.actives_at), node.n_active, node.n, sizeof(entry_t))
                give_histogram(w, node.histogram)
                continue
            node.reach = min(node.reach, node.cut.first_gain)
            note_reach(&w.nodes.frontier, node.reach)
        if entry_t is uint32_t:
            if p.twigs and node.n <= TWIG and not is_bounded(p, block, node.n) and is_twig(p, &node, data):
                if grow_twig(p, block, w, &node, data):
                    return -1
                continue
        if expand(p, block, w, &node, narrow, loose, typed):
            return -1
    return 0


cdef class Subtree:
    """A node of a wide block that waits for a private one, with copies of its rows and features."""

    cdef Pending node
    cdef uint32_t* rows
    cdef Active* actives
    cdef double weight
    cdef double impurity

    def __dealloc__(self):
        free(self.rows)
        free(self.actives)


cdef struct Hand:                  # what one thread owns that grows subtrees
    Scratch scratch
    Nodes nodes
    Work work
    Block small
    uint8_t* small_tiles
    size_t* small_lists
    int64_t* ids                   # pairs: node of the tree, node here that takes its place
    int64_t n_ids
    int64_t ids_capacity
    char* buffer
    size_t buffer_size
    bint busy                      # the thread grows a subtree now


cdef class Crew:
    """Threads that grow the subtrees which the search of large nodes leaves to private blocks.

    Each thread writes nodes of its own; `join` puts them into the tree, whose numbering does not depend on their order.
    """

    cdef const Problem* p
    cdef const Block* block
    cdef Hand* hands
    cdef int32_t n_hands
    cdef uint32_t narrow
    cdef bint over
    cdef bint failed
    cdef object error              # what Python raised on the way, or None
    cdef list waiting
    cdef object condition

    def __cinit__(self, int32_t n_hands):
        self.waiting = []
        self.condition = threading.Condition()
        self.hands = <Hand*> calloc(n_hands, sizeof(Hand))
        if self.hands == NULL:
            raise MemoryError
        self.n_hands = n_hands

    def __dealloc__(self):
        cdef int32_t i
        cdef Hand* hand
        for i in range(self.n_hands if self.hands else 0):
            hand = &self.hands[i]
            if hand.buffer != NULL:
                allow(hand.buffer, hand.buffer_size)
            free(hand.buffer)
            free(hand.ids)
            free_work(&hand.work, False)
            free_nodes(&hand.nodes)
        free(self.hands)

    cdef int make_hands(self, const Problem* p, const Block* block, uint32_t narrow, int64_t n_counted, bint principal) except -1:
        """Give every thread its space, as soon as the problem is complete."""
        cdef Hand* hand
        cdef char* cursor
        cdef int32_t i
        cdef int32_t turn
        cdef size_t d = max(p.n_features, 1)
        self.p = p
        self.block = block
        self.narrow = narrow
        for i in range(self.n_hands):
            hand = &self.hands[i]
            hand.nodes.width = p.width
            for turn in range(2):
                cursor = hand.buffer
                carve_scratch(&hand.scratch, &cursor, p, narrow, 0, False, principal, turn == 0)
                carve_private(&hand.small, &hand.small_tiles, &hand.small_lists, &cursor, p, block, narrow, n_counted, turn == 0)
                hand.work.root_counts = <int64_t*> carve(&cursor, p.width * 8, turn == 0)
                hand.work.drawn = <uint8_t*> carve(&cursor, d, turn == 0)
                if turn == 0:
                    hand.buffer_size = <size_t> cursor + 16
                    hand.buffer = <char*> malloc(hand.buffer_size)
                    if hand.buffer == NULL:
                        raise MemoryError
            hand.work.scratch = &hand.scratch
            hand.work.nodes = &hand.nodes
            memset(hand.small_lists, 0, d * sizeof(size_t))
        return 0

    cdef Subtree take(self, Hand* hand):
        """The next subtree, which makes a thread busy; None if there will be no more."""
        cdef Subtree subtree
        with self.condition:
            while not self.waiting and not self.over:
                self.condition.wait()
            if self.failed or not self.waiting:
                return None
            subtree = self.waiting.pop()
            hand.busy = True
            return subtree

    def work(self, int32_t which):
        """Grow subtrees as long as there are any."""
        cdef Hand* hand = &self.hands[which]
        cdef Subtree subtree
        cdef int status = 0
        try:
            subtree = self.take(hand)
            while subtree is not None:
                with nogil:
                    status = grow_subtree(self.p, self.block, hand, &subtree.node, subtree.actives, subtree.rows, subtree.weight,
                                          subtree.impurity, self.narrow)
                hand.busy = False
                if status:
                    self.failed = True
                subtree = self.take(hand)
        except BaseException as error:     # of `take`, which may have said already that the thread is busy
            hand.busy = False
            self.fail(error)

    cdef bint any_busy(self) noexcept:
        cdef int32_t i
        for i in range(self.n_hands):
            if self.hands[i].busy:
                return True
        return False

    cdef void fail(self, object error) noexcept:
        self.error = error
        self.failed = True

    cdef void give_up(self) noexcept:
        """Return when no thread uses what `grow` owns any more, whatever interrupts the wait: an exception is on its way.

        Once the lock has been had, who is not busy sees in `take` that the crew has failed, and never will be.
        """
        cdef bint told = False
        self.failed = True
        self.over = True
        while not told or self.any_busy():
            try:
                with self.condition:
                    self.condition.notify_all()
                told = True
                time.sleep(0.001)
            except BaseException:
                continue

    def finish(self):
        """Tell the threads that no more subtrees will come."""
        with self.condition:
            self.over = True
            self.condition.notify_all()


cdef int hand_over(const Work* w, const Pending* node, const Active* actives, const uint32_t* rows) noexcept with gil:
    """Let the crew grow what is below a node.  -1 if memory runs out or Python raised something, which the crew keeps."""
    cdef Crew crew = <Crew> w.crew
    cdef Subtree subtree
    try:
        subtree = Subtree()
        subtree.node = node[0]
        subtree.weight = w.nodes.weight[node.id]
        subtree.impurity = w.nodes.impurity[node.id]
        subtree.rows = <uint32_t*> malloc(node.n * sizeof(uint32_t))
        subtree.actives = <Active*> malloc(max(node.n_active, 1) * sizeof(Active))
        if subtree.rows == NULL or subtree.actives == NULL:
            return -1
        memcpy(subtree.rows, rows, node.n * sizeof(uint32_t))
        memcpy(subtree.actives, actives, node.n_active * sizeof(Active))
        with crew.condition:
            crew.waiting.append(subtree)
            crew.condition.notify()
        return 0
    except BaseException as error:     # an interrupt too: who cannot raise must not go on without the subtree
        crew.fail(error)
        return -1


cdef int grow_subtree(
    const Problem* p, const Block* block, Hand* hand, const Pending* given, const Active* actives, const uint32_t* rows,
    double weight, double impurity, uint32_t narrow,
) noexcept nogil:
    """Grow what is below a node of a wide block among a thread's own nodes.  -1 if memory runs out."""
    cdef Nodes* t = &hand.nodes
    cdef Pending node = given[0]
    cdef size_t cursor
    if reserve_nodes(t, 1):
        return -1
    if hand.n_ids + 2 > hand.ids_capacity:
        if resize(<void**> &hand.ids, (2 * hand.ids_capacity + 64) * sizeof(int64_t)):
            return -1
        hand.ids_capacity = 2 * hand.ids_capacity + 64
    hand.ids[hand.n_ids] = node.id
    hand.ids[hand.n_ids + 1] = t.n
    hand.n_ids += 2
    node.id = t.n
    t.n += 1
    blank_node(t, node.id, -1)
    t.weight[node.id] = weight
    t.impurity[node.id] = impurity
    if shrink(p, block, &hand.scratch, &node, actives, rows, &hand.small, hand.small_tiles, NULL,
              &hand.work.arenas[node.depth % 2], hand.small_lists, &cursor, <uint64_t> 0):
        return -1
    return run[uint32_t](p, &hand.small, &hand.work, &node, hand.small_lists, cursor, narrow, False, 0, NULL, NULL, NULL, NULL,
                         NULL, 0)


cdef int join(Nodes* t, const Hand* hand) noexcept nogil:
    """Put a thread's nodes behind those of the tree, and each of its subtrees in its place.  -1 if memory runs out.

    What stood for the root of a subtree stays behind, out of reach.
    """
    cdef const Nodes* part = &hand.nodes
    cdef int32_t first = <int32_t> t.n
    cdef int64_t i, here, there
    cdef int32_t b
    if reserve_nodes(t, part.n):
        return -1
    memcpy(t.n_branches + first, part.n_branches, part.n * sizeof(int32_t))
    memcpy(t.feature + first, part.feature, part.n * sizeof(int32_t))
    memcpy(t.missing + first, part.missing, part.n * sizeof(int32_t))
    memcpy(t.row_low + first, part.row_low, part.n * sizeof(uint32_t))
    memcpy(t.row_high + first, part.row_high, part.n * sizeof(uint32_t))
    memcpy(t.kind + first, part.kind, part.n)
    memcpy(t.n_samples + first, part.n_samples, part.n * sizeof(int64_t))
    memcpy(t.weight + first, part.weight, part.n * sizeof(double))
    memcpy(t.impurity + first, part.impurity, part.n * sizeof(double))
    memcpy(t.gain + first, part.gain, part.n * sizeof(double))
    memcpy(t.value + <int64_t> first * t.width, part.value, part.n * t.width * sizeof(double))
    for i in range(part.n):
        t.first_child[first + i] = part.first_child[i] + first if part.first_child[i] >= 0 else -1
        t.parent[first + i] = part.parent[i] + first if part.parent[i] >= 0 else -1
    t.n += part.n
    for i in range(0, hand.n_ids, 2):
        here, there = hand.ids[i], first + hand.ids[i + 1]
        t.first_child[here] = t.first_child[there]
        t.n_branches[here] = t.n_branches[there]
        t.feature[here] = t.feature[there]
        t.missing[here] = t.missing[there]
        t.row_low[here] = t.row_low[there]
        t.row_high[here] = t.row_high[there]
        t.kind[here] = t.kind[there]
        t.gain[here] = t.gain[there]
        for b in range(t.n_branches[here]):
            t.parent[t.first_child[here] + b] = <int32_t> here
    for i in range(part.table_n):
        here = first + part.table_node[i]
        if part.parent[part.table_node[i]] < 0:        # a subtree's root: its children know the node of the tree
            here = t.parent[t.first_child[here]]
        if add_to_table(t, here, part.table_code[i], part.table_branch[i]):
            return -1
    return 0


cdef void bin_records(
    const uint64_t* records, int64_t n, int32_t most, uint16_t* fine, uint8_t* lane, uint8_t* single_valued,
) noexcept nogil:
    """Codes of a feature in a private block, out of its sorted records: ranks of values, and `most` bins about as full.

    A value with more samples than a bin should have gets one of its own.
    """
    cdef int64_t i = 0
    cdef int64_t stop, in_bin = 0
    cdef int64_t quota = 0
    cdef int32_t code = 0
    cdef uint64_t value
    cdef uint32_t row
    while i < n:
        value = records[i] >> 32
        stop = i + 1
        while stop < n and records[stop] >> 32 == value:
            stop += 1
        if value and (code == 0 or (in_bin + stop - i > quota and code < most)):
            code += 1
            in_bin = 0
            quota = (n - i + most - code) // (most - code + 1)
        single_valued[code] = in_bin == 0
        in_bin += stop - i
        while i < stop:
            row = <uint32_t> records[i]
            fine[row] = <uint16_t> value
            lane[<size_t> row * LANES] = <uint8_t> code
            i += 1


cdef void copy_tiles(const Problem* p, const Block* block, Block* small, const uint32_t* rows) noexcept nogil:
    """Copy the codes of a node into a private block: tiles, if it has them, and a column for each counted feature."""
    cdef uint8_t* columns[LANES]
    cdef int32_t lanes[LANES]
    cdef const uint8_t* tile
    cdef const uint8_t* codes
    cdef uint8_t* copy
    cdef int32_t start, f, j
    cdef int32_t n_columns
    cdef uint32_t i
    for start in range((p.n_features + LANES - 1) // LANES):
        tile = block.tiles + <size_t> start * LANES * block.n
        copy = <uint8_t*> small.tiles + <size_t> start * LANES * small.n
        n_columns = 0
        for f in range(start * LANES, min((start + 1) * LANES, p.n_features)):
            if p.counted[f]:
                columns[n_columns] = <uint8_t*> small.codes + <size_t> p.slot[f] * small.n
                lanes[n_columns] = f % LANES
                n_columns += 1
        if n_columns == 0 and small.tiles == NULL:
            continue
        for i in range(small.n):
            prefetch(tile + <size_t> rows[min(i + AHEAD, small.n - 1)] * LANES)
            codes = tile + <size_t> rows[i] * LANES
            if small.tiles != NULL:
                memcpy(copy + <size_t> i * LANES, codes, LANES)
            for j in range(n_columns):
                columns[j][i] = codes[lanes[j]]


cdef int shrink(
    const Problem* p, const Block* block, Scratch* s, const Pending* node, const Active* actives, const uint32_t* rows,
    Block* small, uint8_t* small_tiles, uint32_t* place, Arena* arena, size_t* small_lists, size_t* cursor, entry_t typed,
) noexcept nogil:
    """Copy a node of a wide block into a private block with 16-bit rows and codes, its lists into `arena` up to `cursor`.

    Frees the node's lists.  -1 if memory runs out.
    """
    cdef uint32_t n = node.n
    cdef uint32_t i, row, code, dense
    cdef size_t here, there
    cdef int32_t a, f
    cdef const entry_t* entries = NULL
    cdef uint32_t* out
    cdef uint8_t* codes
    cdef const uint8_t* wide_codes
    small.n = n
    for i in range(n):
        row = rows[i]
        if place != NULL:
            place[row] = i
        (<uint32_t*> small.origin)[i] = row if block.origin == NULL else block.origin[row]
        here, there = <size_t> i * p.n_outputs, <size_t> row * p.n_outputs
        if p.n_classes:
            memcpy(<uint16_t*> small.label + here, block.label + there, p.n_outputs * sizeof(uint16_t))
        else:
            memcpy(<double*> small.y + here, block.y + there, p.n_outputs * sizeof(double))
            memcpy(<int64_t*> small.ysum + here, block.ysum + there, p.n_outputs * sizeof(int64_t))
            if p.sweep == MEDIANS:
                memcpy(<uint32_t*> small.target_rank + here, block.target_rank + there, p.n_outputs * sizeof(uint32_t))
        if block.weight != NULL:
            small.weight[i] = block.weight[row]
        if block.case_weight != NULL:
            small.case_weight[i] = block.case_weight[row]
    for f in range(p.n_features):
        small_lists[f] = 0
        if p.counted[f] and not p.histogram:
            codes = <uint8_t*> small.codes + <size_t> p.slot[f] * n
            memset(codes, 0, n)
    cursor[0] = node_header(p.n_features, n)
    # the whole at once, counted features' lists included: what stays untouched costs nothing, and nothing need move
    small.tiles = small_tiles if p.histogram and n >= p.bounded_from else NULL
    if renew(arena, cursor[0] + (0 if small.tiles != NULL else (<size_t> n * p.n_features + 1) * sizeof(uint32_t))):
        return -1
    if small.tiles != NULL:
        memset(<uint8_t*> small.single_valued, 1, <size_t> p.n_features * 256)
    if p.histogram:
        copy_tiles(p, block, small, rows)
    for a in range(node.n_active):
        f = actives[a].feature
        if p.counted[f]:
            codes = <uint8_t*> small.codes + <size_t> p.slot[f] * n
            wide_codes = block.codes + <size_t> p.slot[f] * block.n
            for i in range(0 if p.histogram else n):
                codes[i] = wide_codes[rows[i]]
            continue
        out = <uint32_t*> (arena.data + cursor[0])
        if p.histogram:
            for i in range(n):
                s.records[i] = i
            sort_rows(&p.column[f], rows, s.records, s.spare_records, n)
            number_codes(s.records, n)
            if small.tiles != NULL:
                bin_records(s.records, n, p.n_codes[f] - 1, <uint16_t*> small.fine + <size_t> f * n, <uint8_t*> lane_of(small, f),
                            <uint8_t*> small.single_valued + <size_t> f * 256)
                small_lists[f] = 1     # there is none, but the feature may vary
                continue
            for i in range(n):
                out[i] = <uint32_t> (s.records[i] >> 32) << 16 | <uint32_t> s.records[i]
            small_lists[f] = cursor[0]
            cursor[0] += n * sizeof(uint32_t)
            continue
        entries = <const entry_t*> actives[a].at
        dense = 0
        for i in range(n):
            code = code_of(entries[i])
            if code and (i == 0 or code != code_of(entries[i - 1])):
                dense += 1
            out[i] = (dense if code else 0) << 16 | place[row_of(entries[i])]
        free_list(actives[a].at, n, sizeof(entry_t))
        small_lists[f] = cursor[0]
        cursor[0] += n * sizeof(uint32_t)
    return 0


# ---------------------------------------------------------------------------------------------------------------------
# The door to growth
# ---------------------------------------------------------------------------------------------------------------------

cdef void carve_scratch(
    Scratch* s, char** cursor, const Problem* p, int64_t n, int64_t n_groups, bint branches, bint principal,
    bint measuring,
) noexcept nogil:
    cdef size_t width = p.width
    cdef size_t d = max(p.n_features, 1)
    cdef size_t g = max(n_groups, 256)
    cdef bint merges = p.nominal == MERGED or p.ordinal == MERGED
    cdef bint intervals = p.continuous == INTERVALS or p.ordinal == INTERVALS
    s.a = <double*> carve(cursor, CHUNK * 8, measuring)
    s.b = <double*> carve(cursor, CHUNK * 8, measuring)
    s.gains = <double*> carve(cursor, CHUNK * 8, measuring)
    s.positions = <int32_t*> carve(cursor, CHUNK * 4, measuring)
    s.left = <int64_t*> carve(cursor, width * 8, measuring)
    s.right = <int64_t*> carve(cursor, width * 8, measuring)
    s.mark = <int64_t*> carve(cursor, width * 8, measuring)
    s.terms = <double*> carve(cursor, 4 * width * 8, measuring)
    s.moved = <int32_t*> carve(cursor, width * 4, measuring)
    s.is_moved = <uint8_t*> carve(cursor, width, measuring)
    s.totals = <int64_t*> carve(cursor, width * 8, measuring)
    s.lost = <int64_t*> carve(cursor, width * 8, measuring)
    s.hist = <int64_t*> carve(cursor, 256 * width * 8, measuring)
    s.hist_n = <int64_t*> carve(cursor, 256 * 8, measuring)
    s.hist_w = <int64_t*> carve(cursor, 256 * 8, measuring)
    s.cells = <uint32_t*> carve(cursor, 256 * width * 4 if p.cells else 0, measuring)
    s.spare_cells = <uint32_t*> carve(cursor, 256 * width * 4 if p.cells else 0, measuring)
    s.group_code = <uint32_t*> carve(cursor, g * 4, measuring)
    s.group_row = <uint32_t*> carve(cursor, g * 4, measuring)
    s.group_n = <int64_t*> carve(cursor, g * 8, measuring)
    s.group_w = <int64_t*> carve(cursor, g * 8, measuring)
    s.group_stat = <int64_t*> carve(cursor, g * width * 8, measuring)
    s.group_key = <double*> carve(cursor, g * 8, measuring)
    s.ranked = <Ranked*> carve(cursor, g * sizeof(Ranked), measuring)
    s.group_side = <uint8_t*> carve(cursor, g, measuring)
    s.best_side = <uint8_t*> carve(cursor, g, measuring)
    s.branch_of_code = <uint32_t*> carve(cursor, 256 * 4, measuring)
    s.cuts = <Cut*> carve(cursor, d * sizeof(Cut), measuring)
    s.cuts_two = <Cut*> carve(cursor, d * sizeof(Cut), measuring)
    s.branch_of_group = <uint32_t*> carve(cursor, g * 4, measuring)
    s.block_stat = <int64_t*> carve(cursor, g * width * 8 if merges else 0, measuring)
    s.block_weight = <int64_t*> carve(cursor, g * 8 if merges else 0, measuring)
    s.block_info = <float*> carve(cursor, g * 4 if merges else 0, measuring)
    s.block_term = <double*> carve(cursor, g * 8 if merges else 0, measuring)
    s.pair_info = <double*> carve(cursor, g * g * 8 if merges else 0, measuring)
    s.most_blocks = g
    s.block_of = <int32_t*> carve(cursor, g * 4 if merges else 0, measuring)
    s.pairs = <Neighbours*> carve(cursor, 3 * g * sizeof(Neighbours) if intervals else 0, measuring)
    s.following = <int32_t*> carve(cursor, g * 4 if intervals else 0, measuring)
    s.preceding = <int32_t*> carve(cursor, g * 4 if intervals else 0, measuring)
    s.stamp = <int32_t*> carve(cursor, g * 4 if intervals else 0, measuring)
    s.shares = <float*> carve(cursor, 2 * (n + 1) * 4 if p.glances else 0, measuring)
    s.steps = <int32_t*> carve(cursor, 2 * width * 4 if p.glances else 0, measuring)
    s.crosses = <int64_t*> carve(cursor, 2 * width * 8 if p.glances else 0, measuring)
    s.class_totals = <float*> carve(cursor, 2 * width * 4 if p.glances else 0, measuring)
    s.twig_entries = <uint32_t*> carve(cursor, d * TWIG * 4 if p.twigs else 0, measuring)
    s.twig_features = <int32_t*> carve(cursor, d * 4 if p.twigs else 0, measuring)
    s.twig_gains = <double*> carve(cursor, d * 8 if p.twigs else 0, measuring)
    s.feature_bound = <double*> carve(cursor, d * 8 if p.histogram else 0, measuring)
    s.code_bound = <double*> carve(cursor, 256 * 8 if p.histogram else 0, measuring)
    s.survives = <uint8_t*> carve(cursor, 256 if p.histogram else 0, measuring)
    s.before = <int64_t*> carve(cursor, width * 8 if p.histogram else 0, measuring)
    s.records = <uint64_t*> carve(cursor, n * 8 if p.histogram else 0, measuring)
    s.spare_records = <uint64_t*> carve(cursor, n * 8 if p.histogram else 0, measuring)
    s.codes_by_row = <uint8_t*> carve(cursor, n if p.histogram else 0, measuring)
    s.side = <uint8_t*> carve(cursor, n, measuring)
    s.branch = <uint32_t*> carve(cursor, n * 4 if branches else 0, measuring)
    s.pca = <double*> carve(cursor, (2 * SQUARED * SQUARED + 4 * width) * 8 if principal else 0, measuring)
    s.pca_scale = <double*> carve(cursor, width * 8 if principal else 0, measuring)
    s.order_gain = <double*> carve(cursor, (width + 1) * 8, measuring)
    s.imitations = <Imitation*> carve(cursor, d * sizeof(Imitation) if p.missing == SURROGATE else 0, measuring)


cdef void carve_private(
    Block* small, uint8_t** small_tiles, size_t** small_lists, char** cursor, const Problem* p, const Block* block, size_t rows,
    int64_t n_counted, bint measuring,
) noexcept nogil:
    """Room for a private block of at most `rows` samples."""
    cdef size_t d = max(p.n_features, 1)
    cdef size_t targets = rows * p.n_outputs
    small_lists[0] = <size_t*> carve(cursor, d * sizeof(size_t), measuring)
    small_tiles[0] = <uint8_t*> carve(cursor, (d + LANES - 1) // LANES * LANES * rows if p.histogram else 0, measuring)
    small.fine = <uint16_t*> carve(cursor, d * rows * 2 if p.histogram else 0, measuring)
    small.single_valued = <uint8_t*> carve(cursor, d * 256 if p.histogram else 0, measuring)
    small.origin = <uint32_t*> carve(cursor, rows * 4, measuring)
    small.label = <uint16_t*> carve(cursor, targets * 2 if p.n_classes else 0, measuring)
    small.y = <double*> carve(cursor, 0 if p.n_classes else targets * 8, measuring)
    small.ysum = <int64_t*> carve(cursor, 0 if p.n_classes else targets * 8, measuring)
    small.weight = <int64_t*> carve(cursor, rows * 8 if p.weighted else 0, measuring)
    small.case_weight = <int64_t*> carve(cursor, 0 if block.case_weight == NULL else rows * 8, measuring)
    small.target_rank = <uint32_t*> carve(cursor, targets * 4 if p.sweep == MEDIANS else 0, measuring)
    small.codes = <uint8_t*> carve(cursor, rows * n_counted, measuring)
    if not p.histogram:
        small.fine = NULL
    if not p.weighted:
        small.weight = NULL
    if block.case_weight == NULL:
        small.case_weight = NULL


cdef void carve_medians(const Problem* p, char** cursor, size_t n, bint measuring) noexcept nogil:
    cdef Medians m
    cdef Parts parts
    cdef int32_t o
    memset(&m, 0, sizeof(Medians))
    memset(&parts, 0, sizeof(Parts))
    for o in range(p.n_outputs):
        m.records = <uint64_t*> carve(cursor, n * 8, measuring)
        m.rank = <uint32_t*> carve(cursor, n * 4, measuring)
        m.part = <int64_t*> carve(cursor, n * 8, measuring)
        m.value = <double*> carve(cursor, (n + 1) * 8, measuring)
        m.whole = <Weighed*> carve(cursor, (n + 1) * sizeof(Weighed), measuring)
        m.left = <Weighed*> carve(cursor, (n + 1) * sizeof(Weighed), measuring)
        m.right = <Weighed*> carve(cursor, (n + 1) * sizeof(Weighed), measuring)
        if not measuring:
            p.medians[o] = m
    parts.spare = <uint64_t*> carve(cursor, n * 8, measuring)
    parts.rows = <uint32_t*> carve(cursor, n * 4, measuring)
    parts.start = <int64_t*> carve(cursor, (n + 1) * 8, measuring)
    parts.part_of = <uint32_t*> carve(cursor, n * 4, measuring)
    parts.weight = <int64_t*> carve(cursor, (n + 1) * 8, measuring)
    parts.passed = <int64_t*> carve(cursor, (n + 1) * 8, measuring)
    parts.lower = <uint32_t*> carve(cursor, (n + 1) * 4, measuring)
    parts.upper = <uint32_t*> carve(cursor, (n + 1) * 4, measuring)
    if not measuring:
        p.parts[0] = parts


cdef void free_nodes(Nodes* t) noexcept nogil:
    cdef int32_t i
    for i in range(13):
        free_arena(&t.fields[i])
    free(t.table_node)
    free(t.table_code)
    free(t.table_branch)
    free(t.cut_node)
    free(t.cut_low)
    free(t.cut_high)
    free_surrogates(&t.surrogates)


cdef void free_work(Work* w, bint loose) noexcept nogil:
    """Free a run's memory; of a loose run that has failed also the lists of the nodes that wait."""
    cdef Pending* node
    cdef int64_t i
    for i in range(w.n_histograms):
        free(w.histograms[i])
    free(w.histograms)
    while loose and w.stack_n:
        w.stack_n -= 1
        node = &w.stack[w.stack_n]
        free(node.histogram)
        free_lists(<const Active*> (w.arenas[node.depth % 2].data + node.actives_at), node.n_active, node.n, sizeof(uint64_t))
    free_arena(&w.arenas[0])
    free_arena(&w.arenas[1])
    free(w.stack)
    free(w.children)
    free(w.child_counts)
    free(w.sums)
    free(w.any_target)
    free(w.varies)
    memset(w, 0, sizeof(Work))


cdef double fill_table(int64_t* table, int64_t n) noexcept nogil:
    """table[i] = i log2 i for i = 0..n in fixed point, so coarse that sums of several entries fit; returns the quantum."""
    cdef double largest = max(xlogx(<double> n), 1.0)
    cdef double scale = 1.0
    cdef int64_t i
    while largest * scale < 5.764607523034235e17:      # 2^59
        scale *= 2.0
    for i in range(n + 1):
        table[i] = llrint(xlogx(<double> i) * scale)
    return 1.0 / scale


cdef char* memory_of(object array) except NULL:
    """The memory of a contiguous writable array, which must outlive its use."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    cdef char* memory = <char*> view.buf
    PyBuffer_Release(&view)
    return memory


cdef object copied(const void* items, int64_t n, size_t size, object dtype):
    """Items of `size` bytes as a NumPy array."""
    out = np.empty(n, dtype)
    if n:
        memcpy(memory_of(out), items, n * size)
    return out


cdef inline void pick(const void* items, const int64_t* order, int64_t n, size_t size, char* out) noexcept nogil:
    cdef int64_t i
    if size == 4:
        for i in range(n):
            (<uint32_t*> out)[i] = (<const uint32_t*> items)[order[i]]
    elif size == 8:
        for i in range(n):
            (<uint64_t*> out)[i] = (<const uint64_t*> items)[order[i]]
    else:
        for i in range(n):
            memcpy(out + i * size, <const char*> items + order[i] * size, size)


I4, I8, U1, U4, F8 = map(np.dtype, ("i4", "i8", "u1", "u4", "f8"))
NODE_FIELDS = (("parent", I4), ("first_child", I4), ("n_branches", I4), ("feature", I4), ("missing", I4), ("row_low", U4),
               ("row_high", U4), ("kind", U1), ("n_samples", I8), ("weight", F8), ("impurity", F8), ("gain", F8))
SURROGATE_DTYPE = np.dtype([("node", "i8"), ("agreement", "f8"), ("adjusted", "f8"), ("table_stop", "i8"), ("feature", "i4"),
                            ("low_branch", "i4"), ("row_low", "u4"), ("row_high", "u4")])    # of Kept


cdef dict take_nodes(Nodes* t, bint with_surrogates):
    """The grown tree as arrays, numbered breadth first.  Each array is freed once it is copied: a tree may be large."""
    cdef int64_t n = t.n
    cdef int64_t i
    cdef int64_t head = 1
    cdef int32_t b
    orders = np.empty(n, I8)
    places = np.empty(n, I4)
    cdef int64_t* order = <int64_t*> memory_of(orders)
    cdef int32_t* place = <int32_t*> memory_of(places)
    cdef dict out = {}
    with nogil:
        order[0] = 0
        i = 0
        while i < head:
            for b in range(t.n_branches[order[i]]):
                order[head] = t.first_child[order[i]] + b
                head += 1
            place[order[i]] = <int32_t> i
            i += 1
        n = head                       # others stood for roots of subtrees
        for head in range(n):
            i = order[head]
            if t.first_child[i] >= 0:
                t.first_child[i] = place[t.first_child[i]]
            if t.parent[i] >= 0:
                t.parent[i] = place[t.parent[i]]
        for i in range(t.table_n):
            t.table_node[i] = place[t.table_node[i]]
        for i in range(t.cut_n):
            t.cut_node[i] = place[t.cut_node[i]]
        for i in range(t.surrogates.n):
            t.surrogates.kept[i].node = place[t.surrogates.kept[i].node]
    i = 0
    for name, dtype in NODE_FIELDS:
        array = np.empty(n, dtype)
        pick(t.fields[i].data, order, n, dtype.itemsize, memory_of(array))
        free_arena(&t.fields[i])
        out[name] = array
        i += 1
    array = np.empty((n, t.width))
    pick(t.fields[i].data, order, n, 8 * t.width, memory_of(array))
    free_arena(&t.fields[i])
    out["value"] = array
    out["cut_node"] = copied(t.cut_node, t.cut_n, 8, I8)
    out["cut_low"] = copied(t.cut_low, t.cut_n, 4, U4)
    out["cut_high"] = copied(t.cut_high, t.cut_n, 4, U4)
    out["table_node"] = copied(t.table_node, t.table_n, 8, I8)
    out["table_code"] = copied(t.table_code, t.table_n, 4, U4)
    out["table_branch"] = copied(t.table_branch, t.table_n, 4, I4)
    if with_surrogates:
        out["surrogates"] = copied(t.surrogates.kept, t.surrogates.n, sizeof(Kept), SURROGATE_DTYPE)
        out["surrogate_code"] = copied(t.surrogates.table_code, t.surrogates.table_n, 4, U4)
        out["surrogate_branch"] = copied(t.surrogates.table_branch, t.surrogates.table_n, 4, I4)
    return out


cdef int32_t coarse_shift_of(const int64_t[:, ::1] sums) noexcept:
    """The shift that leaves so few bits of each sum that the squares of all of them add up below 2^62."""
    cdef int64_t largest = 1
    cdef int32_t shift = 0
    cdef int64_t i
    for i in range(sums.shape[0]):
        largest = max(largest, sums[i, 0] if sums[i, 0] >= 0 else -sums[i, 0])
    while <double> (largest >> shift) * <double> (largest >> shift) * <double> sums.shape[0] > 4.6e18:
        shift += 1
    return shift


IMPURITY = {"gini": GINI, "entropy": ENTROPY, "misclassification": MISCLASSIFICATION, "squared_error": SQUARED_ERROR,
            "poisson": POISSON, "absolute_error": ABSOLUTE_ERROR}
FORM = {"category": DECLARED, "present": PRESENT, "subset": SUBSET, "one_vs_rest": ONE_VS_REST, "threshold": ORDERED,
        "groups": MERGED, "intervals": INTERVALS, "refuse": ORDERED}
RANK = {"gain": GAIN, "gain_ratio": GAIN_RATIO, "plain_gain_ratio": PLAIN_RATIO}
MISSING = {"error": REFUSE, "fractional": FRACTIONAL, "direction": DIRECTION, "majority": MAJORITY, "branch": OWN_BRANCH,
           "surrogate": SURROGATE}


def grow(
    Encoding encoding,
    const uint16_t[:, ::1] label,
    const double[:, ::1] y,
    int64_t[:, ::1] ysum,
    const uint32_t[:, ::1] target_rank,
    int64_t[::1] weight,
    *,
    const int32_t[::1] first_class,
    double unit,
    const double[::1] y_unit,
    const double[::1] y_centre,
    const double[::1] y_bound,
    const double[::1] deviation_bound,
    int32_t impurity,
    int32_t nominal,
    int32_t ordinal,
    int32_t continuous,
    int32_t missing,
    int32_t rank,
    bint release8,
    int64_t max_depth,
    int64_t min_samples_split,
    int64_t min_samples_leaf,
    double min_weight_leaf,
    double min_impurity_decrease,
    double min_impurity,
    double min_gain,
    double min_ratio,
    double min_branch_weight,
    double min_part_weight,
    double min_node_weight,
    double n_cases,
    int64_t[::1] case_weight,
    int32_t max_surrogates,
    bint known_agreement,
    bint to_heavier,
    double critical_value,
    int64_t max_intervals,
    int64_t most_splits,
    int32_t max_features,
    uint64_t seed,
    int64_t bounded_from,
    int32_t n_jobs,
    const int8_t[::1] monotone,
    const int64_t[::1] sets_start,
    const int32_t[::1] sets_of,
    const int64_t[::1] members_start,
    const int32_t[::1] members,
    bint pairwise,
):
    """Grow a tree; uses up `encoding` and overwrites `weight` and `ysum`.

    Parameters
    ----------
    label : (n, n_outputs) class of each target as a column of the class weights, or None for regression
    y, ysum : (n, n_outputs) targets, and weight x (target - y_centre) in fixed point of quantum `y_unit`; None for classes
    target_rank : (n, n_outputs) rank of each target among all, equal ones alike; None but for absolute error
    first_class : (n_outputs + 1,) column of the first class of each target, and their number; None for regression
    y_unit, y_centre : (n_outputs,), or None for classification; so are the bounds
    weight : (n,) sample weights in fixed point of quantum `unit`, or None where each is 1
    n_cases : weight of the whole training set, of which these samples may be some
    n_jobs : threads that grow the subtrees below large nodes
    bounded_from : samples from which on nodes of private blocks are searched by bounds, where large ones are
    monotone : (n_features,) whether values rise (1) or fall (-1) with a feature, or None
    critical_value, max_intervals : chi-square that neighbouring intervals must exceed to stay apart, and most of them
    most_splits : splits of best-first growth, all into two; what cannot be among them may be left out.  0: all are made
    sets_start, sets_of, members_start, members : sets of features that may stand on one path, each by its members, and the sets
        of each feature, as starts and entries; or None
    pairwise : any two features may stand on one path, and no more
    y_bound, deviation_bound : no weight x |target|, and no weight x deviation from what a node answers, is larger

    Returns
    -------
    dict of arrays over nodes, breadth first (see `Nodes`).
    """
    cdef Problem p
    cdef Crew crew = None
    cdef list threads = []
    cdef Nodes nodes
    cdef double[::1] reach = np.empty(max(most_splits, 1))
    cdef Scratch scratch
    cdef Work work
    cdef Work inner
    cdef Block block
    cdef Block small
    cdef Pending root
    cdef Totals totals
    cdef int64_t n = encoding.n_samples
    cdef int32_t d = encoding.n_features
    cdef int64_t i, n_groups
    cdef int32_t f
    cdef char* buffer = NULL
    cdef size_t buffer_size = 0
    cdef char* cursor
    cdef int64_t* table = NULL
    cdef int64_t* list_below
    cdef size_t* first_cell
    cdef int64_t* root_counts
    cdef uint64_t* draw_keys
    cdef uint8_t* drawn
    cdef uint8_t* allowed
    cdef FeatureSets sets
    cdef int64_t n_sets = 0
    cdef uint32_t* place
    cdef size_t* small_lists
    cdef uint8_t* small_tiles
    cdef Exact* zeros
    cdef int32_t n_outputs, n_classes
    cdef int status = -1
    cdef bint wide = encoding.wide
    cdef bint branches, principal
    cdef size_t rows = encoding.block_rows if wide else 0
    memset(&nodes, 0, sizeof(Nodes))
    nodes.frontier.reach = &reach[0]
    nodes.frontier.most = most_splits
    memset(&scratch, 0, sizeof(Scratch))
    memset(&work, 0, sizeof(Work))
    memset(&inner, 0, sizeof(Work))
    memset(&small, 0, sizeof(Block))
    memset(&root, 0, sizeof(Pending))
    memset(&p, 0, sizeof(Problem))
    memset(&sets, 0, sizeof(FeatureSets))
    memset(&block, 0, sizeof(Block))
    p.n_features = d
    n_outputs = <int32_t> (y.shape[1] if label is None else label.shape[1])
    n_classes = 0 if label is None else first_class[n_outputs]
    p.n_classes = n_classes
    p.n_outputs = n_outputs
    p.n_counts = n_outputs if label is None and n_outputs > 1 else n_classes
    p.width = max(p.n_counts, 1)
    if label is not None:
        p.first_class = &first_class[0]
    p.impurity = impurity
    p.nominal = nominal
    p.ordinal = ordinal
    p.continuous = continuous
    p.least_difference = <float> (1 + critical_value)
    p.max_intervals = max_intervals
    p.missing = missing
    p.ratio = rank
    p.release8 = release8
    p.weighted = weight is not None
    p.unit = unit
    p.n_cases = n_cases
    p.max_depth = max_depth
    p.min_samples_split = min_samples_split
    p.min_samples_leaf = min_samples_leaf
    p.min_weight_leaf = min_weight_leaf
    p.min_impurity_decrease = min_impurity_decrease
    p.min_impurity = min_impurity
    p.min_gain = min_gain
    p.min_ratio = min_ratio
    p.min_branch_weight = min_branch_weight
    p.min_part = <int64_t> ceil(min_part_weight / unit)
    p.min_node_weight = min_node_weight
    p.max_surrogates = max_surrogates
    p.known_agreement = known_agreement
    p.to_heavier = to_heavier
    p.max_features = max_features
    p.draws = max_features < d
    p.kind = encoding.kind
    p.counted = encoding.counted
    p.n_codes = encoding.n_codes
    p.slot = encoding.slot
    p.exact = encoding.exact
    p.category = encoding.category
    branches = (
        missing == FRACTIONAL or missing == OWN_BRANCH or missing == SURROGATE or nominal == DECLARED or nominal == PRESENT
        or ordinal == DECLARED or ordinal == PRESENT or continuous == INTERVALS or ordinal == INTERVALS
    )
    p.lazy = not branches and not p.draws and not rank and not release8
    if impurity == ABSOLUTE_ERROR:
        p.sweep = MEDIANS
        block.target_rank = &target_rank[0, 0]
        p.lazy = False                 # a node's targets are ranked once for all features
    elif n_outputs > 1:
        p.sweep = OUTPUTS
    elif impurity == POISSON:
        p.sweep = DEVIANCE
    elif n_classes == 0 or (n_classes == 2 and impurity == GINI):
        p.sweep = LINEAR
    elif weight is None and impurity == GINI:
        p.sweep = SQUARES
    elif weight is None and impurity == ENTROPY:
        p.sweep = TABLE
    else:
        p.sweep = GENERIC
    p.glances = p.lazy and not p.weighted and monotone is None and (p.sweep == LINEAR or p.sweep == SQUARES)
    p.twigs = p.glances and p.sweep == LINEAR and not pairwise and sets_start is None
    for f in range(d):
        p.twigs = p.twigs and form_of(&p, f) == ORDERED
        if n_classes and n_outputs == 1 and not p.weighted and encoding.counted[f]:
            p.cells += <size_t> encoding.n_codes[f] * p.width * sizeof(uint32_t)
    if monotone is not None:
        p.monotone = &monotone[0]
    sets.pairwise = pairwise
    if sets_start is not None:
        sets.sets_start = &sets_start[0]
        sets.sets_of = &sets_of[0]
        sets.members_start = &members_start[0]
        sets.members = &members[0]
        n_sets = members_start.shape[0] - 1
    if pairwise or sets_start is not None:
        p.sets = &sets
    root.low = -INFINITY
    root.high = INFINITY
    nodes.width = p.width

    block.n = <uint32_t> n
    if label is not None:
        block.label = &label[0, 0]
    if y is not None:
        block.y = &y[0, 0]
        block.ysum = &ysum[0, 0]
        p.y_unit = &y_unit[0]
        p.y_centre = &y_centre[0]
    if weight is not None:
        block.weight = &weight[0]
    if case_weight is not None:
        block.case_weight = &case_weight[0]
    block.codes = encoding.codes
    if encoding.bounded:
        block.tiles = encoding.tiles
        p.binned = encoding.binned
        block.single_valued = encoding.single_valued
        p.bounded_from = bounded_from
        p.few_leaves = 0 < most_splits < n // LEAST_WIDE
        p.column = encoding.column
        if n_classes == 0:
            p.histogram, p.cell_size = MOMENTS, 4 * sizeof(int64_t)
            p.coarse_shift = coarse_shift_of(ysum)
        elif weight is not None:
            p.histogram, p.cell_size = WEIGHTS, (n_classes + 1) * sizeof(int64_t)
        elif n_classes == 2:
            p.histogram, p.cell_size = PAIRS, sizeof(uint64_t)
        else:
            p.histogram, p.cell_size = CLASSES, n_classes * sizeof(uint32_t)

    n_groups = 0
    principal = False
    for f in range(d):
        if not encoding.counted[f] and encoding.kind[f] != CONTINUOUS:
            n_groups = max(n_groups, min(<int64_t> encoding.n_codes[f], n))
        elif not encoding.counted[f] and continuous == INTERVALS:
            n_groups = n
        principal = principal or (encoding.kind[f] == NOMINAL and nominal == SUBSET and (p.n_counts > 2 or n_outputs > 1))

    try:
        # one buffer for everything whose size is known now: measured first, then carved
        for i in range(2):
            cursor = buffer
            carve_scratch(&scratch, &cursor, &p, n, n_groups, branches, principal, i == 0)
            list_below = <int64_t*> carve(&cursor, d * 8, i == 0)
            first_cell = <size_t*> carve(&cursor, d * sizeof(size_t), i == 0)
            root_counts = <int64_t*> carve(&cursor, p.width * 8, i == 0)
            draw_keys = <uint64_t*> carve(&cursor, 2 * d * 8 if p.draws else 0, i == 0)
            drawn = <uint8_t*> carve(&cursor, d, i == 0)
            allowed = <uint8_t*> carve(&cursor, d if p.sets != NULL else 0, i == 0)
            sets.path = <int32_t*> carve(&cursor, d * 4 if p.sets != NULL else 0, i == 0)
            sets.hits = <int32_t*> carve(&cursor, n_sets * 4, i == 0)
            table = <int64_t*> carve(&cursor, (n + 1) * 8 if p.sweep == TABLE else 0, i == 0)
            place = <uint32_t*> carve(&cursor, n * 4 if wide else 0, i == 0)
            carve_private(&small, &small_tiles, &small_lists, &cursor, &p, &block, rows, encoding.n_counted, i == 0)
            zeros = <Exact*> carve(&cursor, 0 if n_classes else 2 * n_outputs * sizeof(Exact), i == 0)
            p.medians = <Medians*> carve(&cursor, n_outputs * sizeof(Medians) if p.sweep == MEDIANS else 0, i == 0)
            p.parts = <Parts*> carve(&cursor, sizeof(Parts) if p.sweep == MEDIANS else 0, i == 0)
            if p.sweep == MEDIANS:
                carve_medians(&p, &cursor, n, i == 0)
            if buffer == NULL:
                buffer_size = <size_t> cursor + 16
                buffer = <char*> malloc(buffer_size)
                if buffer == NULL:
                    raise MemoryError
        memset(small_lists, 0, d * sizeof(size_t))
        memset(sets.hits, 0, n_sets * sizeof(int32_t))
        if n_classes == 0:
            for f in range(n_outputs):
                zeros[f] = exact_zero(y_bound[f], n)
                zeros[n_outputs + f] = exact_zero(deviation_bound[f], n)
            p.zero, p.zero_deviation = zeros, zeros + n_outputs
        p.list_below = list_below
        p.first_cell = first_cell
        p.xlogx = table
        for f in range(d if p.histogram else 0):
            first_cell[f] = p.histogram_size // p.cell_size
            p.histogram_size += encoding.n_codes[f] * p.cell_size
        p.histogram_size = pad(p.histogram_size)
        for f in range(d):
            # below this, sorting a list once is cheaper than clearing and reading a histogram at every node
            list_below[f] = <int64_t> encoding.n_codes[f] * max(4, p.width) // 2
        if p.sweep == TABLE:
            p.xlogx_unit = fill_table(table, n)
        work.scratch = &scratch
        work.nodes = &nodes
        work.root_counts = root_counts
        work.draw_keys = draw_keys
        work.drawn = drawn
        work.allowed = allowed
        inner.scratch = &scratch
        inner.nodes = &nodes
        inner.root_counts = root_counts
        inner.draw_keys = draw_keys
        inner.drawn = drawn
        inner.allowed = allowed
        totals.counts = root_counts
        work.arenas[0] = encoding.arena
        encoding.arena.data = NULL
        encoding.arena.size = 0
        encoding.free_sorting_space()
        if n_jobs > 1 and encoding.bounded and most_splits == 0:
            crew = Crew(n_jobs)
            crew.make_hands(&p, &block, encoding.block_rows, encoding.n_counted, principal)
            work.crew = <void*> crew
            threads = [threading.Thread(target=crew.work, args=(i,)) for i in range(1, n_jobs)]
            for thread in threads:
                thread.start()
        with nogil:
            if reserve_nodes(&nodes, 1) == 0:
                write_root(&p, &block, &nodes, &totals)
                status = 0
                root.key = mix(seed)
                root.reach = INFINITY
                root.n = <uint32_t> n
                if not is_leaf(&p, &totals, nodes.impurity[0], 0):
                    if wide:
                        status = run[uint64_t](&p, &block, &work, &root, encoding.lists, encoding.cursor,
                                               encoding.block_rows, True, 0, &inner, &small, small_tiles, place, small_lists, 0)
                    else:
                        status = run[uint32_t](&p, &block, &work, &root, encoding.lists, encoding.cursor,
                                               encoding.block_rows, False, 0, NULL, NULL, NULL, NULL, NULL, 0)
        if crew is not None:
            if status:
                crew.failed = True
            crew.finish()
            crew.work(0)
            for thread in threads:
                thread.join()
            if crew.error is not None:
                raise crew.error
            status = status or crew.failed
            for i in range(0 if status else n_jobs):
                status = status or join(&nodes, &crew.hands[i])
            crew = None                # its threads have ended
        if status:
            raise MemoryError
        free_work(&work, wide)
        free_work(&inner, False)
        return take_nodes(&nodes, p.missing == SURROGATE)
    finally:
        if crew is not None:
            crew.give_up()
        if buffer != NULL:
            allow(buffer, buffer_size)
        free(buffer)
        free_work(&work, wide)
        free_work(&inner, False)
        free_nodes(&nodes)


# ---------------------------------------------------------------------------------------------------------------------
# Walk: sample to leaf, or to weighted leaves
# ---------------------------------------------------------------------------------------------------------------------

cdef Flat flat_of(
    const int32_t[::1] first_child, const int32_t[::1] n_branches, const int32_t[::1] feature, const uint8_t[::1] kind,
    const double[::1] threshold, const int32_t[::1] missing, const int64_t[::1] table_start, const uint32_t[::1] table_code,
    const int32_t[::1] table_branch, const double[::1] weight, const double[::1] lower, const double[::1] upper,
    const int64_t[::1] cut_start, const double[::1] cut,
):
    cdef Flat t
    memset(&t, 0, sizeof(Flat))
    t.first_child = &first_child[0]
    t.n_branches = &n_branches[0]
    t.feature = &feature[0]
    t.kind = &kind[0]
    t.threshold = &threshold[0]
    t.missing = &missing[0]
    t.table_start = &table_start[0]
    t.table_code = &table_code[0] if table_code.shape[0] else NULL
    t.table_branch = &table_branch[0] if table_branch.shape[0] else NULL
    t.weight = &weight[0]
    if lower is not None:
        t.lower = &lower[0]
        t.upper = &upper[0]
    if cut_start is not None:
        t.cut_start = &cut_start[0]
        t.cut = &cut[0]
    return t


cdef void add_surrogates(
    Flat* t, const int64_t[::1] start, const int32_t[::1] feature, const uint8_t[::1] kind, const double[::1] threshold,
    const int32_t[::1] low_branch, const int64_t[::1] table_start, const uint32_t[::1] table_code,
    const int32_t[::1] table_branch,
) noexcept:
    if feature.shape[0] == 0:
        return
    t.surrogate_start = &start[0]
    t.surrogate_feature = &feature[0]
    t.surrogate_kind = &kind[0]
    t.surrogate_threshold = &threshold[0]
    t.low_branch = &low_branch[0]
    t.surrogate_table_start = &table_start[0]
    t.surrogate_code = &table_code[0] if table_code.shape[0] else NULL
    t.surrogate_branch = &table_branch[0] if table_branch.shape[0] else NULL


cdef class Walker:
    """A finished tree as walks want it: its arrays, and a step per inner node.  Made once for a tree, which never changes."""

    cdef Flat flat
    cdef Steps steps
    cdef int32_t n_nodes
    cdef int32_t n_features
    cdef tuple kept

    def __cinit__(self, tree):
        self.flat = flat_of(tree.first_child, tree.n_branches, tree.feature, tree.kind, tree.threshold, tree.missing,
                            tree.table_start, tree.table_code, tree.table_branch, tree.weight, tree.lower, tree.upper,
                            tree.cut_start, tree.cut)
        self.flat.means = tree.task == "regression"
        s = tree.surrogates
        if s is not None:
            add_surrogates(
                &self.flat, s.start, s.feature, s.kind, s.threshold, s.low_branch, s.table_start, s.table_code, s.table_branch
            )
        self.kept = (tree.first_child, tree.n_branches, tree.feature, tree.kind, tree.threshold, tree.missing, tree.table_start,
                     tree.table_code, tree.table_branch, tree.weight, tree.lower, tree.upper, tree.cut_start, tree.cut, s)
        self.n_nodes = tree.node_count
        self.n_features = tree.n_features
        self.steps.tree = &self.flat
        self.steps.step = <Step*> malloc(self.n_nodes * sizeof(Step))
        self.steps.node = <int32_t*> malloc(self.n_nodes * sizeof(int32_t))
        self.steps.place = <int32_t*> malloc(self.n_nodes * sizeof(int32_t))
        if not (self.steps.step and self.steps.node and self.steps.place):
            raise MemoryError
        lay_out_steps(&self.steps, self.n_nodes)

    def __dealloc__(self):
        free(self.steps.step)
        free(self.steps.node)
        free(self.steps.place)

    @property
    def arrays(self):
        """The `Flat` of the tree for other compiled modules; it must not outlive the walker."""
        return PyCapsule_New(&self.flat, b"fasttree.Flat", NULL)

    def ends(self, X, bint refuse_missing=False):
        """Where every row of a plain array ends, int32 (n,).

        None where that is for others to find out: if X is no 2-D array of float32 or float64 with a column per feature and a
        row at least, holds infinity or (where refused) NaN, or a row reaches several leaves.
        """
        cdef Rows rows
        cdef int64_t n_divided
        if not fill_rows(&rows, X) or rows.n_features != self.n_features or not 0 < rows.n <= INT32_MAX:
            return None
        out = np.empty(rows.n, I4)
        cdef int32_t* nodes = <int32_t*> memory_of(out)
        with nogil:
            n_divided = walk_rows(&self.steps, &rows, MISSING_VALUES if refuse_missing else INFINITE, nodes)
        return None if n_divided else out


cdef Rows rows_of(object X) except *:
    """Samples that the caller keeps: a matrix of float32 or float64."""
    cdef Rows rows
    if not fill_rows(&rows, X):
        raise TypeError("X must be a matrix of float32 or float64")
    return rows


DIVIDED = SEVERAL                  # marks a sample in what `walk` finds


def holds_infinity(object X):
    """Whether a matrix of floats does; NaN is none."""
    cdef Rows rows = rows_of(X)
    cdef bint found
    with nogil:
        found = state_of_rows(&rows) == INFINITE
    return found


def distinct_integers(const int64_t[:] values, int64_t widest):
    """Distinct integers, ascending, and the place of each value among them; None if their range exceeds `widest`."""
    cdef Py_ssize_t n = values.shape[0]
    cdef Py_ssize_t i
    cdef int64_t low = values[0]
    cdef int64_t high = values[0]
    cdef int64_t n_distinct = 0
    for i in range(n):
        low = min(low, values[i])
        high = max(high, values[i])
    if <uint64_t> high - <uint64_t> low > <uint64_t> widest:
        return None
    cdef Py_ssize_t* rank = <Py_ssize_t*> calloc(high - low + 1, sizeof(Py_ssize_t))
    if rank == NULL:
        raise MemoryError
    places = np.empty(n, np.intp)
    cdef Py_ssize_t* place = <Py_ssize_t*> memory_of(places)
    for i in range(n):
        rank[values[i] - low] = 1
    for i in range(high - low + 1):
        n_distinct += rank[i]
    distinct = np.empty(n_distinct, I8)
    cdef int64_t* value = <int64_t*> memory_of(distinct)
    n_distinct = 0
    for i in range(high - low + 1):
        if rank[i]:
            value[n_distinct] = low + i
            rank[i] = n_distinct
            n_distinct += 1
    for i in range(n):
        place[i] = rank[values[i] - low]
    free(rank)
    return distinct, places


def walk(object tree, object X, int32_t[::1] out):
    """Leaf of every row of X (codes as floats, missing = NaN); DIVIDED for one that reaches several.  Returns how many do."""
    cdef Walker walker = tree.walker
    cdef Rows rows = rows_of(X)
    cdef int64_t n_divided = 0
    if rows.n:
        with nogil:
            n_divided = walk_rows(&walker.steps, &rows, ANY_STATE, &out[0])
    return n_divided


def walk_shares(
    object tree, object X, const double[:, ::1] value, double[:, ::1] shares, int32_t[::1] leaves,
):
    """Class shares or mean of every row, added over the leaves it reaches, and the leaf that gets the largest part of it.

    A leaf gives its class weights over their sum, an empty one all to its answer (Quinlan 1993, section 3.3): `value` is
    `Tree.given`.
    """
    cdef Walker walker = tree.walker
    cdef const Flat* t = &walker.flat
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t row, k
    cdef Py_ssize_t n_nodes = value.shape[0]
    cdef Py_ssize_t n_classes = value.shape[1]
    cdef int32_t[::1] stack = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] parts = np.empty(n_nodes)
    cdef int32_t[::1] nodes = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef int64_t i, n
    cdef int32_t node
    cdef double largest
    with nogil:
        for row in range(rows.n):
            n = visit(t, &rows, row, 0, &stack[0], &parts[0], &nodes[0], &weights[0])
            largest = -1
            for k in range(n_classes):
                shares[row, k] = 0
            for i in range(n):
                node = nodes[i]
                if not stops(t, &rows, row, node):
                    continue
                add_shares(t, value, node, weights[i], &shares[row, 0])
                if weights[i] > largest or (weights[i] == largest and node < leaves[row]):
                    largest = weights[i]
                    leaves[row] = node


def paths(object tree, object X, int64_t[::1] starts, int32_t[::1] out):
    """Nodes that every row reaches.  With `out` None fill starts[1:] with their numbers; else write them at starts."""
    cdef Walker walker = tree.walker
    cdef const Flat* t = &walker.flat
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t row
    cdef Py_ssize_t n_nodes = tree.node_count
    cdef int32_t[::1] stack = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] parts = np.empty(n_nodes)
    cdef int32_t[::1] nodes = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef bint write = out is not None
    cdef int64_t n
    with nogil:
        for row in range(rows.n):
            n = visit(t, &rows, row, 0, &stack[0], &parts[0], &nodes[0], &weights[0])
            if write:
                memcpy(&out[starts[row]], &nodes[0], n * sizeof(int32_t))
            else:
                starts[row + 1] = n


cdef int32_t class_from(
    const Flat* t, const Rows* X, Py_ssize_t row, int32_t start, const double[:, ::1] value, const int32_t[::1] label,
    int32_t* stack, double* parts, int32_t* nodes, double* weights, double* shares,
) noexcept nogil:
    """Class of a row that starts at a node, the first on ties.  Scratch: as many entries as nodes, `shares` as classes."""
    cdef int32_t node = start
    cdef int32_t branch
    cdef int32_t best = 0
    cdef int64_t i, n
    cdef Py_ssize_t k
    while t.first_child[node] >= 0:
        branch = branch_of(t, node, X, row)
        if branch < 0:
            break
        node = t.first_child[node] + branch
    if stops(t, X, row, node):
        return label[node]
    n = visit(t, X, row, node, stack, parts, nodes, weights)
    for k in range(value.shape[1]):
        shares[k] = 0
    for i in range(n):
        if stops(t, X, row, nodes[i]):
            add_shares(t, value, nodes[i], weights[i], shares)
    for k in range(1, value.shape[1]):
        if shares[k] > shares[best]:
            best = <int32_t> k
    return best


def threshold_tests(
    object tree, object X, const int32_t[::1] classes, int64_t[::1] starts, uint8_t[::1] own_wrong,
    int32_t[::1] out, uint8_t[::1] other_wrong,
):
    """Threshold nodes that every row reaches whole and with a known value.

    With `out` None fill starts[1:] with their numbers.  Else write the nodes at starts, for each whether the row is given a wrong
    class when it takes the branch that its value does not (`other_wrong`), and for each row whether it is on its own way
    (`own_wrong`, which is then the same at all its nodes: no missing value has divided it above them).
    """
    cdef Walker walker = tree.walker
    cdef const Flat* t = &walker.flat
    cdef Rows rows = rows_of(X)
    cdef const double[:, ::1] value = tree.given
    cdef const int32_t[::1] label = np.ascontiguousarray(tree.label, dtype=np.int32)
    cdef Py_ssize_t row
    cdef Py_ssize_t n_nodes = tree.node_count
    cdef int32_t[::1] stack = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] parts = np.empty(n_nodes)
    cdef int32_t[::1] nodes = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef double[::1] shares = np.empty(value.shape[1])
    cdef bint write = out is not None
    cdef int64_t i
    cdef int32_t node, branch, given
    cdef double x
    with nogil:
        for row in range(rows.n):
            i = starts[row] if write else 0
            node = 0
            while t.first_child[node] >= 0:
                x = number(&rows, row, t.feature[node])
                branch = branch_of(t, node, &rows, row)
                if branch < 0:
                    break
                if t.kind[node] == NODE_THRESHOLD and x == x:
                    if write:
                        out[i] = node
                        given = class_from(
                            t, &rows, row, t.first_child[node] + 1 - branch, value, label,
                            &stack[0], &parts[0], &nodes[0], &weights[0], &shares[0],
                        )
                        other_wrong[i] = given != classes[row]
                    i += 1
                node = t.first_child[node] + branch
            if write:
                given = class_from(
                    t, &rows, row, node, value, label, &stack[0], &parts[0], &nodes[0], &weights[0], &shares[0],
                )
                own_wrong[row] = given != classes[row]
            else:
                starts[row + 1] = i


# ---------------------------------------------------------------------------------------------------------------------
# Prune: the samples go down a grown tree once more
# ---------------------------------------------------------------------------------------------------------------------

cdef class Columns:
    """The columns of a table as they are, to be read cell by cell; only those that were added may be read.

    Parameters
    ----------
    n_features : int
    """

    cdef Cells* cells
    cdef int32_t n_features
    cdef list kept

    def __cinit__(self, int32_t n_features):
        self.n_features = n_features
        self.kept = []
        self.cells = <Cells*> calloc(max(n_features, 1), sizeof(Cells))
        if self.cells == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.cells)

    def add(self, int32_t feature, const cell_t[:] column):
        """Values (NaN = missing) or category codes (0 = missing) of a feature.  They are not copied."""
        cdef Cells* cells = &self.cells[feature]
        self.kept.append(column)
        cells.data = <const char*> &column[0]
        cells.stride = column.strides[0]
        if cell_t is float:
            cells.type = FLOAT32
        elif cell_t is double:
            cells.type = FLOAT64
        elif cell_t is uint8_t:
            cells.type = CODE8
        elif cell_t is uint16_t:
            cells.type = CODE16
        else:
            cells.type = CODE32


def error_based(
    object tree,
    Columns columns,
    uint32_t[::1] rows,
    const uint16_t[::1] label,
    const int64_t[::1] weight,
    int64_t whole,
    double unit,
    double confidence,
    double coefficient,
    double min_part_weight,
):
    """Prune a tree by its predicted errors (Quinlan 1993, chapter 4; see `_prune`).

    Parameters
    ----------
    tree : Tree; missing values go to a branch or are shared out
    columns : the columns that the tree tests
    rows : the samples that take part; reordered
    label : (n,) class codes
    weight : (n,) in fixed point of quantum `unit`, or None where each is `whole`
    confidence, coefficient : level of the upper limit, and the square of its normal quantile
    min_part_weight : a lighter part of a sample follows the heaviest branch

    Returns
    -------
    dict of arrays over the nodes of `tree`: `source`, the node whose test and children now stand here; `leaf`; and what the
    training samples say there: `value`, `weight`, `n_samples`, `errors`.  Meaningful for the nodes that can still be reached.
    """
    cdef Pruning p
    cdef Walker walker = tree.walker
    cdef Py_ssize_t n_nodes = tree.node_count
    cdef Py_ssize_t n = rows.shape[0]
    cdef Py_ssize_t i
    cdef int32_t k
    cdef int status
    cdef double[:, ::1] value
    cdef double[::1] total
    cdef const double[:, ::1] grown = tree.value
    memset(&p, 0, sizeof(Pruning))
    p.tree = walker.flat
    p.columns = columns.cells
    p.rows = &rows[0]
    p.label = &label[0]
    p.weight = &weight[0] if weight is not None else NULL
    p.whole = whole
    p.unit = unit
    p.n_classes = grown.shape[1]
    p.confidence = confidence
    p.coefficient = coefficient
    p.min_part = <int64_t> ceil(min_part_weight / unit)
    try:
        p.source = <int32_t*> malloc(n_nodes * sizeof(int32_t))
        p.leaf = <uint8_t*> calloc(n_nodes, 1)
        p.clean = <uint8_t*> calloc(n_nodes, 1)
        p.counts = <int64_t*> calloc(n_nodes * p.n_classes, sizeof(int64_t))
        p.total = <int64_t*> calloc(n_nodes, sizeof(int64_t))
        p.n_samples = <int64_t*> calloc(n_nodes, sizeof(int64_t))
        p.errors = <float*> calloc(n_nodes, sizeof(float))
        p.spare_rows = <uint32_t*> malloc(n * sizeof(uint32_t))
        p.branch = <int32_t*> malloc(n * sizeof(int32_t))
        p.here = <int64_t*> malloc(p.n_classes * sizeof(int64_t))
        if not (p.source and p.leaf and p.clean and p.counts and p.total and p.n_samples and p.errors and p.spare_rows
                and p.branch and p.here):
            raise MemoryError
        with nogil:
            for i in range(n_nodes):
                p.source[i] = <int32_t> i
                p.leaf[i] = p.tree.first_child[i] < 0
            status = prune_by_errors(&p, n)
        if status:
            raise MemoryError
        out = {
            "source": copied(p.source, n_nodes, sizeof(int32_t), "i4"),
            "leaf": copied(p.leaf, n_nodes, 1, "u1"),
            "n_samples": copied(p.n_samples, n_nodes, sizeof(int64_t), "i8"),
            "errors": copied(p.errors, n_nodes, sizeof(float), "f4"),
            "weight": np.empty(n_nodes),
            "value": np.array(grown),      # empty leaves keep theirs
        }
        value = out["value"]
        total = out["weight"]
        with nogil:
            for i in range(n_nodes):
                total[i] = <double> p.total[i] * unit
                if p.total[i]:
                    for k in range(p.n_classes):
                        value[i, k] = <double> p.counts[i * p.n_classes + k] * unit
        return out
    finally:
        free_pruning(&p)


# ---------------------------------------------------------------------------------------------------------------------
# Passes over a finished tree
# ---------------------------------------------------------------------------------------------------------------------

def clip_values(
    const int32_t[::1] first_child, const int32_t[::1] n_branches, const int32_t[::1] feature, const uint8_t[::1] kind,
    const int8_t[::1] monotone, bint classes, double[:, ::1] value,
):
    """Move values of nodes that splits on other features have led out of their bounds to the bounds; numbered breadth first.

    The bounds are those of `bound_children`.  Afterwards no two predictions are out of order.
    """
    cdef Py_ssize_t n_nodes = value.shape[0]
    cdef Py_ssize_t width = value.shape[1]
    cdef double[::1] low = np.full(n_nodes, -INFINITY)
    cdef double[::1] high = np.full(n_nodes, INFINITY)
    cdef Py_ssize_t node
    cdef int32_t first, b
    cdef double middle
    with nogil:
        for node in range(n_nodes):
            first = first_child[node]
            for b in range(n_branches[node]):
                low[first + b] = low[node]
                high[first + b] = high[node]
            if kind[node] == NODE_THRESHOLD and monotone[feature[node]] != 0:
                if classes:
                    middle = 0.5 * mean_index(&value[first, 0], width) + 0.5 * mean_index(&value[first + 1, 0], width)
                else:
                    middle = 0.5 * value[first, 0] + 0.5 * value[first + 1, 0]
                b = monotone[feature[node]] > 0
                high[first + 1 - b] = min(high[node], middle)
                low[first + b] = max(low[node], middle)
            if classes:
                clip_classes(&value[node, 0], width, low[node], high[node])
            else:
                value[node, 0] = min(max(value[node, 0], low[node]), high[node])


def useless_splits(
    const int32_t[::1] parent, const int32_t[::1] first_child, const double[::1] cost, const double[::1] tolerance,
    double[::1] best, uint8_t[::1] out,
):
    """Mark the nodes that cost, within their tolerance, no more than the cheapest subtree below them (bottom-up).

    `parent[i] < i`.  `best[i]` comes with what an inner node costs besides its children, and leaves with the cost of the cheapest
    subtree at i.  A marked node counts as a leaf for those above it.
    """
    cdef Py_ssize_t i
    with nogil:
        for i in range(parent.shape[0] - 1, -1, -1):
            out[i] = first_child[i] >= 0 and best[i] >= cost[i] - tolerance[i]
            if first_child[i] < 0 or out[i]:
                best[i] = cost[i]
            if i:
                best[parent[i]] += best[i]


cdef int32_t meld(int32_t a, int32_t b, const double* key, int32_t* left, int32_t* right) noexcept nogil:
    """Join two skew heaps, the largest key at the top (Sleator and Tarjan 1986); -1 is an empty heap."""
    cdef int32_t top = -1
    cdef int32_t last = -1
    cdef int32_t following
    while a >= 0 and b >= 0:
        if key[a] < key[b]:
            a, b = b, a
        if last < 0:
            top = a
        else:
            left[last] = a
        # what remains goes to the left, where the old right child was joined
        following = right[a]
        right[a] = left[a]
        last = a
        a = following
    if last < 0:
        return a if a >= 0 else b
    left[last] = a if a >= 0 else b
    return top


def weakest_links(
    const int32_t[::1] parent, const int32_t[::1] first_child, const int32_t[::1] n_branches, const double[::1] risk,
    double[::1] out,
):
    """What a leaf must cost for each node to be pruned, itself or by a node above it; minus infinity at a leaf.

    out[i] <= alpha for just those inner nodes that the smallest subtree of least risk + alpha x leaves does not have (Breiman et
    al. 1984, chapter 3).  From the bottom up: as alpha falls, the best subtree below a node grows by one link after the other,
    those with the largest alpha first, and the node's own link is where that subtree begins to pay.  A heap at each node holds
    the links below it; each is put in and taken out once.
    """
    cdef Py_ssize_t n = parent.shape[0]
    cdef Py_ssize_t i
    cdef int32_t link
    cdef int64_t leaves
    cdef double alpha, remaining
    cdef double[::1] below = np.zeros(n)          # risk of the children
    cdef double[::1] drop = np.zeros(n)           # by how much a link lowers the risk,
    cdef int64_t[::1] extra = np.zeros(n, dtype=np.int64)    # and the leaves it adds
    cdef int32_t[::1] top = np.full(n, -1, dtype=np.int32)
    cdef int32_t[::1] left = np.full(n, -1, dtype=np.int32)
    cdef int32_t[::1] right = np.full(n, -1, dtype=np.int32)
    with nogil:
        for i in range(n - 1, -1, -1):
            out[i] = -INFINITY
            if first_child[i] >= 0:
                leaves = n_branches[i]
                remaining = below[i]
                alpha = (risk[i] - remaining) / (leaves - 1)
                while top[i] >= 0 and out[top[i]] >= alpha:
                    link = top[i]
                    top[i] = meld(left[link], right[link], &out[0], &left[0], &right[0])
                    remaining -= drop[link]
                    leaves += extra[link]
                    alpha = (risk[i] - remaining) / (leaves - 1)
                out[i] = alpha
                drop[i] = risk[i] - remaining
                extra[i] = leaves - 1
                top[i] = meld(top[i], <int32_t> i, &out[0], &left[0], &right[0])
            if i:
                below[parent[i]] += risk[i]
                top[parent[i]] = meld(top[parent[i]], top[i], &out[0], &left[0], &right[0])
        for i in range(1, n):
            out[i] = min(out[i], out[parent[i]])


def arrivals(
    object tree, object X, const double[::1] target, const double[::1] weight, const double[::1] answer, int impurity,
    const double[:, ::1] loss_matrix, double[:, ::1] out,
):
    """Add to out[i] what arrives at node i: weight, loss by its answer, squared loss; the losses again of what ends there.

    The loss of a numeric target is its part in an impurity around the answer.  Of classes, which a negative `impurity` stands
    for, it is loss_matrix[target, answer], and without a matrix 1 where they differ.  The last two columns are of inner nodes,
    where a sample may stop.
    """
    cdef Walker walker = tree.walker
    cdef const Flat* t = &walker.flat
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t n_nodes = answer.shape[0]
    cdef int32_t[::1] stack = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] parts = np.empty(n_nodes)
    cdef int32_t[::1] nodes = np.empty(n_nodes, dtype=np.int32)
    cdef double[::1] weights = np.empty(n_nodes)
    cdef Py_ssize_t row
    cdef int64_t i, n
    cdef int32_t node
    cdef double part, loss
    cdef bint by_matrix = loss_matrix is not None
    with nogil:
        for row in range(rows.n):
            if weight[row] == 0:
                continue
            n = visit(t, &rows, row, 0, &stack[0], &parts[0], &nodes[0], &weights[0])
            for i in range(n):
                node = nodes[i]
                part = weight[row] * weights[i]
                if impurity >= 0:
                    loss = deviation(impurity, target[row], answer[node])
                elif by_matrix:
                    loss = loss_matrix[<Py_ssize_t> target[row], <Py_ssize_t> answer[node]]
                else:
                    loss = target[row] != answer[node]
                out[node, 0] += part
                out[node, 1] += part * loss
                out[node, 2] += part * loss * loss
                if t.first_child[node] >= 0 and stops(t, &rows, row, node):
                    out[node, 3] += part * loss
                    out[node, 4] += part * loss * loss


cdef inline double midpoint(double low, double high) noexcept nogil:
    """A t with low <= t < high, halfway where there is one; never -0.0: which of two equal zeros comes first must not show."""
    cdef double middle = low + (high - low) / 2
    if not isfinite(middle):
        middle = low / 2 + high / 2
    return (middle if low <= middle < high else low) + 0.0


def midpoints(const double[:] low, const double[:] high, double[::1] out):
    """out[i] = a number between low[i] and high[i]; less than it unless the two are equal."""
    cdef Py_ssize_t i
    for i in range(out.shape[0]):
        out[i] = midpoint(low[i], high[i])


def thresholds(
    object X, const Py_ssize_t[::1] at, const int32_t[:] feature, const uint32_t[:] row_low, const uint32_t[:] row_high,
    double[::1] out,
):
    """out[i] = the midpoint of the values of feature[i] in two rows, for the entries `at`."""
    cdef Rows rows = rows_of(X)
    cdef Py_ssize_t k
    cdef Py_ssize_t i
    with nogil:
        for k in range(at.shape[0]):
            i = at[k]
            out[i] = midpoint(number(&rows, row_low[i], feature[i]), number(&rows, row_high[i], feature[i]))


def raise_thresholds(const real_t[:] column, const float[::1] thresholds, double[::1] out):
    """out[i] = the largest value of the column that, in single precision, is <= thresholds[i]; `thresholds` ascending."""
    cdef Py_ssize_t i, low, span, half
    cdef Py_ssize_t m = thresholds.shape[0]
    cdef double x
    with nogil:
        for i in range(m):
            out[i] = -INFINITY
        for i in range(column.shape[0]):
            x = column[i]
            low = 0
            span = m                       # the threshold wanted is one of low, ..., low + span; found without a jump
            while span > 0:
                half = (span + 1) // 2
                low += half & -<Py_ssize_t> (thresholds[low + half - 1] < <float> x)
                span -= half
            if low < m and x > out[low]:
                out[low] = x
        for i in range(1, m):
            if out[i - 1] > out[i]:
                out[i] = out[i - 1]


def breadth_first(const int32_t[::1] first_child, const int32_t[::1] n_branches):
    """Ids of the nodes below node 0 and its own, level by level, siblings in order; int64."""
    order = np.empty(first_child.shape[0], dtype=np.int64)
    cdef int64_t[::1] out = order
    cdef Py_ssize_t n = 1
    cdef Py_ssize_t i = 0
    cdef int32_t b
    out[0] = 0
    with nogil:
        while i < n:
            for b in range(n_branches[out[i]]):
                out[n] = first_child[out[i]] + b
                n += 1
            i += 1
    return order[:n]


# ---------------------------------------------------------------------------------------------------------------------
# Rules
# ---------------------------------------------------------------------------------------------------------------------

cdef int64_t measure_paths(const int32_t[::1] parent, const int32_t[::1] leaves, int32_t* longest) noexcept nogil:
    """How many conditions lie on the ways to these leaves, in all and at most."""
    cdef int64_t total = 0
    cdef Py_ssize_t i
    cdef int32_t node, depth
    longest[0] = 0
    for i in range(leaves.shape[0]):
        depth = 0
        node = leaves[i]
        while parent[node] >= 0:
            depth += 1
            node = parent[node]
        total += depth
        longest[0] = max(longest[0], depth)
    return total


cdef int32_t follow_path(
    const Edges* edges, const Samples* samples, int32_t leaf, int32_t depth, int32_t* path, int32_t* scratch, uint64_t* failing,
    const Failures* failures, uint64_t* carry,
) noexcept nogil:
    """Go on from the last leaf's path (of `depth` conditions) to this one's: only what differs costs a look at the samples."""
    cdef int32_t n = 0
    cdef int32_t known = 0
    cdef int32_t node = leaf
    cdef int32_t i
    while edges.parent[node] >= 0:
        scratch[n] = node
        n += 1
        node = edges.parent[node]
    while known < min(n, depth) and path[known] == scratch[n - 1 - known]:
        known += 1
    for i in range(depth - 1, known - 1, -1):
        count_failing(failures, failing + i * samples.n_words, i, i + 1, ~<uint64_t> 0, samples.n_words, carry)
    for i in range(known, n):
        path[i] = scratch[n - 1 - i]
        fill_failing(edges, path[i], samples, failing + i * samples.n_words)
        count_failing(failures, failing + i * samples.n_words, i, i + 1, 0, samples.n_words, carry)
    return n


def simplify_rules(
    dict edges, const uint32_t[:, ::1] codes, const uint64_t[::1] padding, const int64_t[::1] class_start, int64_t n_samples,
    const float[::1] default_error, const int32_t[::1] leaves, const int32_t[::1] labels,
    double confidence, double coefficient, double significance,
):
    """The rules of leaves, without the conditions that can be missed, and without the rules that say nothing.

    `edges` holds the arrays of Edges; the samples of class k are in words class_start[k], ..., class_start[k + 1] - 1 of a row of
    bits; significance < 0 = no such test.  Returns of each rule that is left its label, conditions (nodes, in the order of
    Release 8), errors, estimate, and the places of the samples that satisfy it.
    """
    cdef const int32_t[::1] parent = edges["parent"]
    cdef const int32_t[::1] slot = edges["slot"]
    cdef const uint32_t[::1] low = edges["low"]
    cdef const uint32_t[::1] high = edges["high"]
    cdef const int64_t[::1] group_start = edges["group_start"]
    cdef const uint32_t[::1] group_code = edges["group_code"]
    cdef const int32_t[::1] feature = edges["feature"]
    cdef const uint8_t[::1] kind = edges["kind"]
    cdef const double[::1] threshold = edges["threshold"]
    cdef Edges e
    cdef Samples samples
    cdef Draft rule
    cdef Failures failures
    cdef Confidence level
    cdef Verdict verdict
    cdef Arena cover
    cdef int32_t longest
    cdef int32_t depth = 0
    cdef int32_t label
    cdef int64_t n_conditions = measure_paths(parent, leaves, &longest)
    cdef Py_ssize_t n_words = padding.shape[0]
    cdef Py_ssize_t n_rules = 0
    cdef Py_ssize_t i, j
    cdef int64_t n_nodes = 0
    cdef int64_t n_covered = 0
    cdef int status = 0
    cdef uint64_t[:, ::1] digits = np.zeros((4, max(digits_of(longest), 1) * n_words), dtype=np.uint64)
    cdef uint64_t[::1] failing = np.empty(max(longest, 1) * n_words, dtype=np.uint64)
    cdef uint64_t[:, ::1] planes = np.empty((2, BATCH), dtype=np.uint64)
    cdef uint8_t[::1] without = np.empty((longest + 1) * sizeof(Without), dtype=np.uint8)
    cdef int32_t[:, ::1] paths = np.empty((4, longest + 1), dtype=np.int32)
    cdef double[::1] log_factorial = np.zeros(1)
    node_array, start_array = np.empty(n_conditions, dtype=np.int32), np.zeros(leaves.shape[0] + 1, dtype=np.int64)
    label_array, errors_array = np.empty(leaves.shape[0], dtype=np.int32), np.empty(leaves.shape[0], dtype=np.int64)
    estimate_array, cover_array = np.empty(leaves.shape[0], dtype=np.float32), np.zeros(leaves.shape[0] + 1, dtype=np.int64)
    cdef int32_t[::1] node_out = node_array
    cdef int64_t[::1] start_out = start_array
    cdef int32_t[::1] label_out = label_array
    cdef int64_t[::1] errors_out = errors_array
    cdef float[::1] estimate_out = estimate_array
    cdef int64_t[::1] cover_out = cover_array
    cdef uint32_t[::1] place_out
    if significance >= 0:
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n_samples + 1)))])
    e.parent, e.slot, e.low, e.high, e.group_start = &parent[0], &slot[0], &low[0], &high[0], &group_start[0]
    e.group_code = &group_code[0] if group_code.shape[0] else NULL
    e.feature, e.kind, e.threshold = &feature[0], &kind[0], &threshold[0]
    samples.codes = &codes[0, 0] if codes.shape[0] else NULL
    samples.padding = &padding[0]
    samples.n_words = n_words
    samples.n_samples = n_samples
    level.level = confidence
    level.coefficient = coefficient
    rule.failing = &failing[0]
    rule.once, rule.twice = &planes[0, 0], &planes[1, 0]
    rule.without = <Without*> &without[0]
    rule.kept, rule.alone = &paths[2, 0], &paths[3, 0]
    failures.times, failures.which, failures.n_digits = &digits[0, 0], &digits[1, 0], digits_of(longest)
    rule.failures.times, rule.failures.which = &digits[2, 0], &digits[3, 0]
    cover.data = NULL
    cover.size = 0
    try:
        with nogil:
            for i in range(leaves.shape[0]):
                label = labels[i]
                depth = follow_path(&e, &samples, leaves[i], depth, &paths[0, 0], &paths[1, 0], &failing[0], &failures, rule.once)
                verdict = simplify(&rule, &failures, depth, &samples, class_start[label], class_start[label + 1], &level,
                                   default_error[label], significance, &log_factorial[0])
                if rule.n_kept == 0 or verdict.n == 0 or verdict.estimate >= default_error[label]:
                    continue
                status = reserve(&cover, (n_covered + verdict.n) * sizeof(uint32_t))
                if status:
                    break
                n_covered += list_samples(&rule, &samples, <uint32_t*> cover.data + n_covered)
                for j in range(rule.n_kept):
                    node_out[n_nodes + j] = paths[0, rule.kept[j]]
                put_in_order(&e, &node_out[n_nodes], rule.n_kept)
                n_nodes += rule.n_kept
                label_out[n_rules] = label
                errors_out[n_rules] = verdict.errors
                estimate_out[n_rules] = verdict.estimate
                n_rules += 1
                start_out[n_rules] = n_nodes
                cover_out[n_rules] = n_covered
        if status:
            raise MemoryError
        places = np.empty(n_covered, dtype=np.uint32)
        if n_covered:
            place_out = places
            memcpy(&place_out[0], cover.data, n_covered * sizeof(uint32_t))
    finally:
        free_arena(&cover)
    return {
        "label": label_array[:n_rules],
        "start": start_array[:n_rules + 1],
        "node": node_array[:n_nodes],
        "errors": errors_array[:n_rules],
        "estimate": estimate_array[:n_rules],
        "cover_start": cover_array[:n_rules + 1],
        "cover": places,
    }


def seed_random():
    """The state of the C library's random() when nobody has seeded it, for `select_rules`."""
    state = np.empty(WORDS_OF_RANDOM + 1, dtype=np.uint32)
    cdef uint32_t[::1] out = state
    cdef Random r
    cdef uint64_t word = 1
    cdef Py_ssize_t i, _i
    for i in range(WORDS_OF_RANDOM):
        r.word[i] = <uint32_t> word
        word = 16807 * word % 2147483647
    r.oldest = 3
    for _i in range(10 * WORDS_OF_RANDOM):
        draw(&r)
    for i in range(WORDS_OF_RANDOM):
        out[i] = r.word[i]
    out[WORDS_OF_RANDOM] = <uint32_t> r.oldest
    return state


def select_rules(
    const int64_t[::1] cover_start, const int64_t[::1] cover_stop, const uint32_t[::1] cover, const int32_t[::1] label,
    const float[::1] bits, const int32_t[::1] truth, const int64_t[::1] class_count, uint32_t[::1] random_state, bint annealing,
):
    """Mark, class by class, the rules that make the shortest message of rules and exceptions; uint8 (n_rules,).

    Rule r fires on the samples at cover[cover_start[r]:cover_stop[r]]; truth = class of each place (padding: -1); class_count =
    samples of each class; random_state from `seed_random`, moved on.
    """
    cdef Py_ssize_t n_places = truth.shape[0]
    cdef Py_ssize_t n_rules = label.shape[0]
    marks = np.zeros(n_rules, dtype=np.uint8)
    cdef uint8_t[::1] out = marks
    cdef int32_t[:, ::1] room = np.empty((6, n_places + 3), dtype=np.int32)
    cdef int64_t[::1] rules, rule_start, group_start
    cdef int64_t[:, ::1] alone, subsets
    cdef int32_t[:, ::1] links, states
    cdef uint8_t[:, ::1] selections
    cdef float[::1] bits_of_class
    cdef float[::1] orders = np.zeros(n_rules + 1, dtype=np.float32)
    cdef Refinement refinement
    cdef Cover covers
    cdef Field field
    cdef Record best
    cdef Random random
    cdef int64_t pairs, n_samples = 0
    cdef int32_t k
    cdef Py_ssize_t i
    if n_rules == 0:
        return marks
    for k in range(class_count.shape[0]):
        n_samples += class_count[k]
    for i in range(1, n_rules + 1):
        orders[i] = <float> (orders[i - 1] + lg(<double> i))
    for i in range(WORDS_OF_RANDOM):
        random.word[i] = random_state[i]
    random.oldest = <int32_t> random_state[WORDS_OF_RANDOM]
    covers.start, covers.stop = &cover_start[0], &cover_stop[0]
    covers.place = &cover[0] if cover.shape[0] else NULL
    refinement.group_of, refinement.size, refinement.target = &room[0, 0], &room[1, 0], &room[2, 0]
    refinement.seen, refinement.vacant = &room[3, 0], &room[4, 0]
    field.size = &room[5, 0]
    field.n_samples = n_samples
    field.lg_n = lg(<double> n_samples)
    field.log_factorial = &orders[0]
    for k in range(class_count.shape[0]):
        rules = np.flatnonzero(np.equal(label, k)).astype(np.int64, copy=False)
        if rules.shape[0] == 0:
            continue
        field.n_rules = <int32_t> rules.shape[0]
        field.n_class = class_count[k]
        with nogil:
            pairs = divide(&refinement, &covers, &rules[0], &truth[0], k, &field)
        rule_start, group_start = np.empty(field.n_rules + 1, dtype=np.int64), np.empty(field.n_groups + 1, dtype=np.int64)
        links = np.empty((2, max(pairs, 1)), dtype=np.int32)
        states = np.empty((2, field.n_groups + 1), dtype=np.int32)
        alone = np.empty((2, field.n_rules), dtype=np.int64)
        selections = np.zeros((2, field.n_rules), dtype=np.uint8)
        bits_of_class = np.take(bits, rules)
        subsets = np.zeros((2, 1 << field.n_rules if field.n_rules <= FEW_RULES else 1), dtype=np.int64)
        field.bits = &bits_of_class[0]
        field.rule_start, field.group_start = &rule_start[0], &group_start[0]
        field.rule_group, field.group_rule = &links[0, 0], &links[1, 0]
        field.times, field.whose = &states[0, 0], &states[1, 0]
        field.right, field.wrong = &alone[0, 0], &alone[1, 0]
        field.selected, best.selected = &selections[0, 0], &selections[1, 0]
        best.exists = False
        with nogil:
            connect(&refinement, &covers, &rules[0], &field)
            if field.n_rules <= FEW_RULES:
                try_all(&field, &subsets[0, 0], &subsets[1, 0], best.selected)
            elif annealing:
                anneal(&field, &random, &best)
            else:
                climb_from_all_sides(&field, &random, &best)
            for i in range(field.n_rules):
                out[rules[i]] = best.selected[i]
    for i in range(WORDS_OF_RANDOM):
        random_state[i] = random.word[i]
    random_state[WORDS_OF_RANDOM] = <uint32_t> random.oldest
    return marks


def drop_rules(
    const int64_t[::1] cover_start, const int64_t[::1] cover_stop, const uint32_t[::1] cover, const int32_t[::1] label,
    const int32_t[::1] truth, int32_t default_label,
):
    """Mark the rules to keep of rules in order of use; uint8 (n_rules,).

    Where the first rule that fires and the next (or the default) disagree, a sample speaks for the one that is right.  The first
    rule that more samples speak against than for goes, and all are judged anew, until there is none.
    """
    cdef Py_ssize_t n_rules = label.shape[0]
    cdef Py_ssize_t n_places = truth.shape[0]
    marks = np.ones(n_rules, dtype=np.uint8)
    cdef uint8_t[::1] alive = marks
    cdef int64_t[::1] start = np.zeros(n_places + 2, dtype=np.int64)
    cdef int64_t[:, ::1] votes = np.zeros((2, n_rules + 1), dtype=np.int64)
    cdef int32_t[::1] firing
    cdef Ordered o
    cdef Py_ssize_t r, rule
    cdef int64_t i
    if n_rules == 0:
        return marks
    with nogil:
        for r in range(n_rules):
            for i in range(cover_start[r], cover_stop[r]):
                start[cover[i] + 2] += 1
        for i in range(2, n_places + 2):
            start[i] += start[i - 1]
    firing = np.empty(max(start[n_places + 1], 1), dtype=np.int32)
    o.start, o.rule, o.label, o.truth, o.alive = &start[0], &firing[0], &label[0], &truth[0], &alive[0]
    o.better, o.worse = &votes[0, 0], &votes[1, 0]
    o.default_label = default_label
    with nogil:
        for r in range(n_rules):
            for i in range(cover_start[r], cover_stop[r]):
                firing[start[cover[i] + 1]] = <int32_t> r
                start[cover[i] + 1] += 1
        for i in range(n_places):
            judge(&o, <uint32_t> i, 1)
        rule = 0
        while rule < n_rules:
            if not alive[rule] or o.worse[rule] <= o.better[rule]:
                rule += 1
                continue
            for i in range(cover_start[rule], cover_stop[rule]):
                judge(&o, cover[i], -1)
            alive[rule] = False
            for i in range(cover_start[rule], cover_stop[rule]):
                judge(&o, cover[i], 1)
            rule = 0
    return marks


def first_rules(
    const real_t[:, :] X, const int64_t[::1] start, const int32_t[::1] feature, const uint8_t[::1] operator,
    const double[::1] threshold, const int64_t[::1] code_start, const uint32_t[::1] code, int32_t[::1] out,
):
    """out[i] = the first rule whose conditions row i of X (codes as floats, missing = NaN) satisfies, -1 = none.

    Rule r has the conditions start[r], ..., start[r + 1] - 1.
    """
    cdef Conditions c
    cdef Py_ssize_t row, rule
    cdef Py_ssize_t n_rules = start.shape[0] - 1
    cdef int64_t i
    if n_rules == 0 or feature.shape[0] == 0:
        out[:] = -1
        return
    c.start, c.feature, c.operator, c.threshold = &start[0], &feature[0], &operator[0], &threshold[0]
    c.code_start = &code_start[0]
    c.code = &code[0] if code.shape[0] else NULL
    with nogil:
        for row in range(X.shape[0]):
            out[row] = -1
            for rule in range(n_rules):
                i = start[rule]
                while i < start[rule + 1] and holds(&c, i, X[row, feature[i]]):
                    i += 1
                if i == start[rule + 1]:
                    out[row] = <int32_t> rule
                    break
