"""Codes of bins: the number of the bin of every value of a column.  Header only.

The code of bin b is b, and 0 is that of a missing value.  A table over the leading bits of the keys gives the code of a value;
where a bucket of the table has an edge inside, a short binary search follows.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.columns.edges cimport (
    EdgeSearch, Grid, grid_bits, grid_over, next_chunk, room_for_search, squeezed, upper_end,
)
from fasttree._engine.columns.keys cimport keys_of, zero_key
from fasttree._engine.types cimport CHUNK, code_t, entry_t, real_t


cdef enum:
    AT_END = 1 << 16           # a bit above codes: the bucket has the smallest or the largest key of its bin


cdef struct BinTable:          # from keys to codes
    Grid grid
    int32_t half               # of the first step of the search within a bucket, 0: none has an edge inside
    uint16_t* first            # SCRATCH  2**16: code of the first key of each bucket
    uint64_t* edges            # SCRATCH  room_for_search: n_bins + 1 edges, then as many without a key above


cdef inline uint64_t hole_between(const uint64_t* edges, int32_t n_bins, uint64_t zero) noexcept nogil:
    """The largest hole that moves no key across an inner edge."""
    cdef uint64_t hole = zero
    cdef int32_t b
    for b in range(1, n_bins):
        if edges[b] > zero:
            hole = min(hole, edges[b] - zero - 1)
        elif edges[b] + 1 < zero:
            hole = min(hole, zero - edges[b] - 2)
    return hole if hole < zero else 0


cdef inline void lay_table(const uint64_t* edges, int32_t n_bins, bint single, int64_t n, BinTable* table) noexcept nogil:
    """Prepare to find the codes of n keys; `single`: of 32 bits.  Keys beyond the edges belong to the first and the last bin.

    The grid covers the inner edges.  The code of a bucket's first key is read, the inner edges within the bucket are searched.
    """
    cdef uint64_t zero = zero_key(sizeof(uint32_t) if single else sizeof(uint64_t))
    cdef uint64_t hole = 0
    cdef uint64_t highest = 0
    cdef uint64_t bucket, start
    cdef int32_t edge = 1      # the first inner edge that is not below the bucket
    cdef int32_t most = 0
    cdef int32_t inside
    cdef size_t i
    if n_bins > 1 and edges[1] < zero and zero < edges[n_bins - 1]:
        hole = hole_between(edges, n_bins, zero)
    highest -= 1
    for i in range(room_for_search(n_bins)):
        if i == 0 or i >= <size_t> n_bins:
            table.edges[i] = highest if i else 0
        elif single:
            table.edges[i] = squeezed(<uint32_t> edges[i], <uint32_t> hole)
        else:
            table.edges[i] = squeezed(edges[i], hole)
    if n_bins > 1:
        table.grid = grid_over(table.edges[1], table.edges[n_bins - 1] + 1, grid_bits(n))
    else:
        table.grid = grid_over(0, 0, 0)
    table.grid.hole = hole
    for bucket in range(table.grid.last + 1):
        start = (table.grid.first + bucket) << table.grid.shift
        while edge < n_bins and table.edges[edge] < start:
            edge += 1
        table.first[bucket] = <uint16_t> edge
        inside = edge
        while inside < n_bins and table.edges[inside] < upper_end(&table.grid, bucket):
            inside += 1
        most = max(most, inside - edge)
    table.half = 0
    while 2 * table.half - 1 < most:
        table.half = 2 * table.half if table.half else 1


cdef inline uint32_t code_of(const BinTable* table, uint64_t key, int32_t half) noexcept nogil:
    """The bin of a key moved by the table's hole; `half` is the table's, a constant where the caller knows it."""
    cdef uint64_t bucket = key >> table.grid.shift
    cdef uint32_t code
    bucket = (bucket if bucket > table.grid.first else table.grid.first) - table.grid.first
    bucket = bucket if bucket < table.grid.last else table.grid.last
    code = table.first[bucket]
    while half:
        code += half * (table.edges[code + half - 1] < key)
        half >>= 1
    return code & -<uint32_t> (key != 0)


cdef inline void code_keys(const entry_t* keys, int64_t n, const BinTable* given, code_t* codes) noexcept nogil:
    """Codes of at most CHUNK keys."""
    cdef BinTable table = given[0]
    cdef entry_t room[CHUNK]
    cdef int64_t i
    keys = next_chunk(keys, n, table.grid.hole, room)
    if table.half == 0:
        for i in range(n):
            codes[i] = <code_t> code_of(&table, keys[i], 0)
    elif table.half == 1:
        for i in range(n):
            codes[i] = <code_t> code_of(&table, keys[i], 1)
    else:
        for i in range(n):
            codes[i] = <code_t> code_of(&table, keys[i], table.half)


cdef inline void bin_column(
    const real_t[:] column, int64_t start, int64_t stop, bint single, const BinTable* table, code_t* codes,
) noexcept nogil:
    """codes[row] for the rows from `start` to `stop` - 1; `single`: with edges of 32 bits, in which all values are exact."""
    cdef uint32_t narrow[CHUNK]
    cdef uint64_t wide[CHUNK]
    cdef int64_t n
    while start < stop:
        n = min(stop - start, <int64_t> CHUNK)
        if single:
            keys_of(column, start, n, 1, narrow)
            code_keys(narrow, n, table, codes + start)
        else:
            keys_of(column, start, n, 1, wide)
            code_keys(wide, n, table, codes + start)
        start += n


cdef inline void widen_bounds(
    const entry_t* keys, const code_t* codes, int64_t n, uint64_t* least, uint64_t* most,
) noexcept nogil:
    """The smallest and the largest key of each bin, by code, those of n keys included."""
    cdef int64_t i
    for i in range(n):
        # both hardly ever happen, so they cost less as branches than as minimum and maximum
        if keys[i] < least[codes[i]]:
            least[codes[i]] = keys[i]
        if keys[i] > most[codes[i]]:
            most[codes[i]] = keys[i]


cdef inline void bin_keys(
    const entry_t* keys, int64_t n, const BinTable* table, code_t* codes, uint64_t* least, uint64_t* most,
) noexcept nogil:
    """Codes of n keys, and the bounds of the bins."""
    cdef int64_t done = 0
    cdef int64_t some
    while done < n:
        some = min(n - done, <int64_t> CHUNK)
        code_keys(keys + done, some, table, codes + done)
        widen_bounds(keys + done, codes + done, some, least, most)
        done += some


cdef inline void number_buckets(const EdgeSearch* search, int32_t n_bins, bint single) noexcept nogil:
    """Write the code of each bucket, all edges being ends of buckets, and of missing values over the `places` of a search."""
    cdef const Grid* grid = &search.grid
    cdef const uint64_t* edges = search.edges
    cdef uint32_t* codes = search.places
    cdef uint64_t bucket
    cdef uint64_t latest = 0   # the bucket before that has samples
    cdef uint64_t end = 0      # of the bin `code`
    cdef uint32_t code = 0
    cdef uint32_t before = 0   # code of `latest`, 0: there is none
    for bucket in range(grid.last + 1):
        while code == 0 or (upper_end(grid, bucket) > end and <int32_t> code < n_bins):
            code += 1
            if single:
                end = squeezed(<uint32_t> edges[code], <uint32_t> grid.hole)
            else:
                end = squeezed(edges[code], grid.hole)
        codes[bucket] = code
        if search.counts[bucket] == 0:
            continue
        if code != before:
            codes[bucket] |= AT_END
            if before:
                codes[latest] |= AT_END
        before = code
        latest = bucket
    codes[latest] |= AT_END
    codes[grid.last + 1] = 0


cdef inline void code_buckets(
    const entry_t* keys, const uint16_t* buckets, int64_t n, const uint32_t* code_of_bucket, code_t* codes,
    uint64_t* least, uint64_t* most,
) noexcept nogil:
    """As `bin_keys`, of keys whose buckets are known: few are compared with the bounds."""
    cdef uint32_t code
    cdef int64_t i
    for i in range(n):
        code = code_of_bucket[buckets[i]]
        codes[i] = <code_t> code
        if code & AT_END:
            code ^= AT_END
            least[code] = min(least[code], <uint64_t> keys[i])
            most[code] = max(most[code], <uint64_t> keys[i])


cdef inline void bin_all(
    const entry_t* keys, int64_t n, const EdgeSearch* search, int32_t n_bins, BinTable* table, code_t* codes, uint64_t* bounds,
) noexcept nogil:
    """Codes of the keys whose edges were found, and by code the smallest key of each bin, then the largest one."""
    cdef bint single = sizeof(entry_t) == sizeof(uint32_t)
    cdef uint64_t* most = bounds + n_bins + 1
    if search.grid.last:
        number_buckets(search, n_bins, single)
        code_buckets(keys, search.buckets, n, search.places, codes, bounds, most)
    else:
        lay_table(search.edges, n_bins, single, n, table)
        bin_keys(keys, n, table, codes, bounds, most)


cdef inline void list_bins(
    const uint16_t* codes, int64_t n, uint32_t n_bins, uint32_t* starts, void* out, bint wide,
) noexcept nogil:
    """The sorted list of a column of codes, its own codes being dense; `starts` is SCRATCH (n_bins + 2)."""
    cdef int64_t i
    cdef uint32_t code, count
    cdef uint32_t start = 0
    cdef uint32_t dense = 0
    memset(starts, 0, (<size_t> n_bins + 2) * sizeof(uint32_t))
    for i in range(n):
        starts[codes[i]] += 1
    for code in range(n_bins + 1):
        count = starts[code]
        starts[code] = start
        if count and code:
            dense += 1
        for i in range(start, start + <int64_t> count):
            if wide:
                (<uint64_t*> out)[i] = <uint64_t> (dense if code else 0) << 32
            else:
                (<uint32_t*> out)[i] = (dense if code else 0) << 16
        start += count
    for i in range(n):
        if wide:
            (<uint64_t*> out)[starts[codes[i]]] |= <uint32_t> i
        else:
            (<uint32_t*> out)[starts[codes[i]]] |= <uint32_t> i
        starts[codes[i]] += 1
