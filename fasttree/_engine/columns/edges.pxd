"""Edges of bins: ranges of a column's values that hold about equally many samples.  Header only.

Works on keys, the bits of `columns/keys` that compare like the values: of single precision (32 bits) where every value of the
column is one, else of doubles (64 bits); 0 is a missing value.  Bin b = 1, ..., n_bins holds the keys
edges[b - 1] < key <= edges[b].  Knows neither features nor nodes.

Edges come from a histogram over the leading bits of the keys.  A bucket of it with too many samples is divided by the bits that
follow, and so on until it has few or holds one value: a radix sort that is done only where it is needed.  The pieces, in their
order, are joined to bins.  Counts are integers, so neither the order of the samples nor their layout in memory shows.

Numbers near zero have most of the keys and few of the values: half of all doubles are smaller than 1 in magnitude.  Before keys
meet a histogram or a table, those on both sides of zero move towards it by the same `hole`: its values
need not be separated.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.columns.keys cimport Extent, sort_small, zero_key
from fasttree._engine.types cimport CHUNK, entry_t

cdef enum:
    GRID_BITS = 16             # a grid has at most 2**16 buckets: it stays in the second-level cache
    LEAST_GRID_BITS = 12       # fewer would put the smallest numbers into one bucket with missing values
    DIGIT_BITS = 8             # what a bucket is divided by
    PIECES_PER_BIN = 4         # pieces have at most this part of a bin's samples, unless they are one value
    FEW_KEYS = 24              # up to which they are sorted by insertion


cdef struct Grid:              # buckets of keys that agree in all but the last `shift` bits
    uint64_t first             # bucket 0 holds the keys whose leading bits are these
    uint64_t last              # number of the last bucket
    uint64_t hole              # by which keys have moved towards that of zero
    int32_t shift


cdef struct Piece:             # keys in a range, above those of the piece before
    uint64_t upper             # its last key
    uint32_t count             # samples
    uint32_t single            # whether they all have the key `upper`


cdef struct Pieces:
    Piece* at                  # SCRATCH  room_for_pieces
    int64_t n
    int64_t most               # pieces that may be single values; of more, small neighbours are joined
    int64_t quantum            # largest count of what is joined
    bint apart                 # every piece is a single value so far
    bint whole                 # no bucket was divided: edges are ends of buckets


cdef struct EdgeSearch:        # for edges of n keys
    void* spare                # SCRATCH  n keys
    uint32_t* counts           # SCRATCH  2**16 + 1 each
    uint32_t* places
    Piece* pieces              # SCRATCH  room_for_pieces
    Grid grid                  # OUT  if all edges are ends of its buckets, and those of all keys are known; else `last` is 0
    uint16_t* buckets          # OUT  n: the bucket of each key
    uint64_t* edges            # OUT  max_bins + 1


cdef struct Allotment:         # of bins to what is between heavy values
    int64_t threshold          # samples from which on a value is heavy
    int64_t n_heavy
    int64_t n_gaps
    int64_t n_samples          # in the gaps


# --- buckets of keys

cdef inline Grid grid_over(uint64_t low, uint64_t high, int32_t bits) noexcept nogil:
    """The finest grid of at most 2**bits buckets from key `low` to key `high`; grids of other ranges nest with it."""
    cdef Grid grid
    grid.hole = 0
    grid.shift = 0
    while (high >> grid.shift) - (low >> grid.shift) >= <uint64_t> 1 << bits:
        grid.shift += 1
    grid.first = low >> grid.shift
    grid.last = (high >> grid.shift) - grid.first
    return grid


cdef inline uint64_t upper_end(const Grid* grid, uint64_t bucket) noexcept nogil:
    return ((grid.first + bucket + 1) << grid.shift) - 1


cdef inline int32_t grid_bits(int64_t n) noexcept nogil:
    """Size of a grid for n samples, so that it does not cost more than they do."""
    cdef int32_t bits = LEAST_GRID_BITS
    while bits < GRID_BITS and n >> (bits + 2):
        bits += 1
    return bits


cdef inline void key_range(const entry_t* keys, int64_t n, uint64_t* low, uint64_t* high) noexcept nogil:
    """The smallest and the largest key but 0; high = 0 if there is none."""
    cdef entry_t least = 0
    cdef entry_t most = 0
    cdef entry_t below
    cdef int64_t i
    least -= 1                 # 0 - 1 is the largest of all
    for i in range(n):
        below = keys[i] - 1
        least = below if below < least else least
        most = keys[i] if keys[i] > most else most
    low[0] = <uint64_t> least + 1
    high[0] = most


cdef inline entry_t squeezed(entry_t key, entry_t hole) noexcept nogil:
    """A key moved towards that of zero, which keeps its side; a missing value's stays."""
    # in masks from topmost bits: a branch could not be predicted, and old vector units cannot compare 64 bits
    cdef int32_t top = 8 * sizeof(entry_t) - 1
    cdef entry_t zero = <entry_t> 1 << top
    cdef entry_t below = (key >> top) - 1
    cdef entry_t distance = ((key - zero) ^ below) - below             # at most `zero`, which is that of a missing value
    cdef entry_t known = (distance >> top) - 1
    cdef entry_t beyond = -((hole - distance) >> top)
    distance = ((distance - hole) & beyond) | (-distance >> top & ~beyond)
    return (zero + ((distance ^ below) - below)) & known


cdef inline uint64_t widened(uint64_t edge, uint64_t hole, uint64_t zero) noexcept nogil:
    """The last key that was moved to `edge`, or below it."""
    if edge > zero:
        return edge + hole
    return edge - hole if edge + 1 < zero else edge


cdef inline const entry_t* next_chunk(const entry_t* keys, int64_t n, uint64_t hole, entry_t* chunk) noexcept nogil:
    """The next keys, at most CHUNK of them, moved by `hole`; `chunk` has room for them."""
    cdef int64_t i
    if hole == 0:
        return keys
    for i in range(min(n, CHUNK)):
        chunk[i] = squeezed(keys[i], <entry_t> hole)
    return chunk


# --- pieces

cdef inline int64_t quantum_of(int64_t n, int32_t max_bins) noexcept nogil:
    return max(n // (PIECES_PER_BIN * <int64_t> max_bins), 1)


cdef inline size_t room_for_pieces(int64_t n, int32_t max_bins) noexcept nogil:
    """How many pieces there may be of n samples: two neighbours have more than the quantum."""
    return <size_t> max(min(n, 2 * (n // quantum_of(n, max_bins)) + 1), <int64_t> max_bins + 1) + 1


cdef inline void join(Pieces* pieces, uint64_t upper, int64_t count, bint single) noexcept nogil:
    cdef Piece* last
    if pieces.n:
        last = &pieces.at[pieces.n - 1]
        if last.count + count <= pieces.quantum:
            last.upper = upper
            last.count += <uint32_t> count
            last.single = False
            return
    pieces.at[pieces.n].upper = upper
    pieces.at[pieces.n].count = <uint32_t> count
    pieces.at[pieces.n].single = single
    pieces.n += 1


cdef inline void add_piece(Pieces* pieces, uint64_t upper, int64_t count, bint single) noexcept nogil:
    cdef int64_t n, i
    if not pieces.apart:
        join(pieces, upper, count, single)
        return
    pieces.at[pieces.n].upper = upper
    pieces.at[pieces.n].count = <uint32_t> count
    pieces.at[pieces.n].single = single
    pieces.n += 1
    if pieces.n > pieces.most:
        # too many for a bin each: from here on they are joined like others
        pieces.apart = False
        n = pieces.n
        pieces.n = 0
        for i in range(n):
            join(pieces, pieces.at[i].upper, pieces.at[i].count, pieces.at[i].single)


cdef inline void add_few(Pieces* pieces, entry_t* keys, int64_t n) noexcept nogil:
    cdef int64_t start = 0
    cdef int64_t stop
    sort_small(keys, n)
    while start < n:
        stop = start + 1
        while stop < n and keys[stop] == keys[start]:
            stop += 1
        add_piece(pieces, keys[start], stop - start, True)
        start = stop


cdef inline void group_keys(entry_t* keys, const Grid* grid, const int64_t* stops, int64_t* places) noexcept nogil:
    """Put the keys in order of their buckets, in place: each is swapped to the next free place of its bucket.

    `places` is where each bucket starts, and in the end where it stops.
    """
    cdef uint64_t bucket, home
    cdef entry_t key, other
    for bucket in range(grid.last + 1):
        while places[bucket] < stops[bucket]:
            key = keys[places[bucket]]
            home = (<uint64_t> key >> grid.shift) - grid.first
            while home != bucket:
                other = keys[places[home]]
                keys[places[home]] = key
                places[home] += 1
                key = other
                home = (<uint64_t> key >> grid.shift) - grid.first
            keys[places[bucket]] = key
            places[bucket] += 1


cdef inline void divide_keys(Pieces* pieces, entry_t* keys, int64_t n, uint64_t upper) noexcept nogil:
    """Add the pieces of n keys, none missing, that are all of a range up to `upper`; the keys change places."""
    cdef int64_t stops[256]
    cdef int64_t places[256]
    cdef uint64_t low, high, bucket
    cdef int64_t i, start
    cdef int64_t limit = 0 if pieces.apart else pieces.quantum
    cdef int32_t bits = 2
    cdef bint crowded = False
    cdef Grid grid
    if n <= limit:
        add_piece(pieces, upper, n, False)
        return
    if n <= FEW_KEYS:
        add_few(pieces, keys, n)
        return
    key_range(keys, n, &low, &high)
    if low == high:
        add_piece(pieces, low, n, True)
        return
    while bits < DIGIT_BITS and n >> bits > limit // 2:
        bits += 1
    grid = grid_over(low, high, bits)
    memset(stops, 0, (grid.last + 1) * sizeof(int64_t))
    for i in range(n):
        stops[(<uint64_t> keys[i] >> grid.shift) - grid.first] += 1
    start = 0
    for bucket in range(grid.last + 1):
        crowded = crowded or (stops[bucket] > limit and grid.shift)
        places[bucket] = start
        start += stops[bucket]
        stops[bucket] = start
    if crowded:
        group_keys(keys, &grid, stops, places)
    start = 0
    for bucket in range(grid.last + 1):
        if not crowded and stops[bucket] > start:
            add_piece(pieces, upper_end(&grid, bucket), stops[bucket] - start, grid.shift == 0)
        elif stops[bucket] > start:
            divide_keys(pieces, keys + start, stops[bucket] - start, upper_end(&grid, bucket))
        start = stops[bucket]


cdef inline void buckets_of(
    const entry_t* keys, int64_t n, const Grid* given, uint32_t* buckets,
) noexcept nogil:
    """Numbers of the buckets of keys that were moved by the grid's hole; a missing value's is the one past the last."""
    cdef Grid grid = given[0]
    cdef entry_t first = <entry_t> grid.first
    cdef uint32_t past = <uint32_t> grid.last + 1
    cdef uint32_t known
    cdef int64_t i
    for i in range(n):
        known = -<uint32_t> (keys[i] != 0)
        buckets[i] = (<uint32_t> ((keys[i] >> grid.shift) - first) & known) | (past & ~known)


cdef inline int64_t collect_pieces(
    const entry_t* keys, int64_t n, const Grid* grid, const EdgeSearch* search, Pieces* pieces,
) noexcept nogil:
    """Pieces of all keys of a grid, in ascending order; returns how many samples they have.

    Notes the bucket of each key; that of missing values may have 17 bits.
    """
    cdef entry_t* spare = <entry_t*> search.spare
    cdef uint32_t* counts = search.counts
    cdef uint32_t* places = search.places
    cdef entry_t room[CHUNK]
    cdef uint32_t numbers[CHUNK]
    cdef const entry_t* chunk
    cdef uint64_t bucket
    cdef int64_t i, n_known, limit
    cdef int64_t done = 0
    cdef int64_t n_used = 0
    cdef uint32_t n_divided = 0
    cdef uint32_t place
    memset(counts, 0, (grid.last + 2) * sizeof(uint32_t))
    while done < n:
        chunk = next_chunk(keys + done, n - done, grid.hole, room)
        buckets_of(chunk, min(n - done, <int64_t> CHUNK), grid, numbers)
        for i in range(min(n - done, CHUNK)):
            search.buckets[done + i] = <uint16_t> numbers[i]
        for i in range(min(n - done, CHUNK)):
            counts[numbers[i]] += 1
        done += CHUNK
    n_known = n - counts[grid.last + 1]
    for bucket in range(grid.last + 1):
        n_used += counts[bucket] > 0
    pieces.n = 0
    pieces.quantum = quantum_of(n_known, <int32_t> pieces.most)
    pieces.apart = n_used <= pieces.most
    # a bucket with a larger count is divided, if it has more than one key
    limit = (0 if pieces.apart else pieces.quantum) if grid.shift else n
    for bucket in range(grid.last + 1):
        if counts[bucket] > limit:
            places[bucket] = n_divided
            n_divided += counts[bucket]
    pieces.whole = n_divided == 0
    if n_divided:
        for bucket in range(grid.last + 2):
            if counts[bucket] <= limit or bucket > grid.last:
                places[bucket] = n_divided         # keys that are not needed are all written past the others
        done = 0
        while done < n:
            chunk = next_chunk(keys + done, n - done, grid.hole, room)
            buckets_of(chunk, min(n - done, <int64_t> CHUNK), grid, numbers)
            for i in range(min(n - done, CHUNK)):
                place = places[numbers[i]]
                spare[place] = chunk[i]
                places[numbers[i]] = place + (place < n_divided)
            done += CHUNK
    for bucket in range(grid.last + 1):
        if counts[bucket] > limit:
            divide_keys(pieces, spare + places[bucket] - counts[bucket], counts[bucket], upper_end(grid, bucket))
        elif counts[bucket]:
            add_piece(pieces, upper_end(grid, bucket), counts[bucket], grid.shift == 0)
    return n_known


# --- edges

cdef inline Allotment allot(const Pieces* pieces, int64_t threshold, bint open_ends) noexcept nogil:
    """What is between values with at least `threshold` samples: one bin at least for each gap.

    `open_ends`: there may be keys that were not seen, so every gap is one that has room for a key.
    """
    cdef Allotment found
    cdef uint64_t previous = 0
    cdef int64_t i
    cdef int64_t in_gap = 0
    cdef bint heavy
    found.threshold = threshold
    found.n_heavy = 0
    found.n_gaps = 0
    found.n_samples = 0
    for i in range(pieces.n):
        heavy = pieces.at[i].single and pieces.at[i].count >= threshold
        if not heavy:
            in_gap += pieces.at[i].count
            continue
        found.n_heavy += 1
        found.n_gaps += in_gap > 0 or (open_ends and pieces.at[i].upper - previous > 1)
        found.n_samples += in_gap
        in_gap = 0
        previous = pieces.at[i].upper
    found.n_gaps += in_gap > 0 or open_ends
    found.n_samples += in_gap
    return found


cdef inline bint too_many(const Allotment* found, int64_t n_known, int32_t max_bins) noexcept nogil:
    """Whether so many values with a bin of their own leave others less than half as many bins as they have shares."""
    cdef int64_t bins_left = max_bins - found.n_heavy - found.n_gaps
    return bins_left < 0 or found.n_samples * max_bins > 2 * n_known * (bins_left + 1)


cdef inline int32_t cut_gap(
    const Piece* pieces, int64_t n, int64_t n_samples, int64_t n_bins, uint64_t end, uint64_t* edges,
) noexcept nogil:
    """Write the edges of at most `n_bins` bins of nearly equal counts, the last of which is `end`; returns their number.

    The remaining samples are shared evenly by the remaining bins, and a bin ends where its count is nearest to its share.
    """
    cdef int32_t made = 0
    cdef int64_t count = 0
    cdef int64_t i
    for i in range(n - 1):
        if n_bins == 1:
            break
        count += pieces[i].count
        if 2 * n_samples <= n_bins * (2 * count + <int64_t> pieces[i + 1].count):
            edges[made] = pieces[i].upper
            made += 1
            n_samples -= count
            n_bins -= 1
            count = 0
    edges[made] = end
    return made + 1


cdef inline int32_t place_edges(
    const Pieces* pieces, int64_t n_known, int32_t max_bins, uint64_t low, uint64_t high, bint open_ends, uint64_t* edges,
) noexcept nogil:
    """Join pieces to at most `max_bins` bins; returns their number.

    A value with a bin's share of the samples gets a bin of its own; where there are too many of them, those with the most.
    """
    cdef Allotment all_gaps = allot(pieces, max(n_known // max_bins, 1), open_ends)
    cdef int64_t bins_left, gaps_left, samples_left, in_gap, wanted, i
    cdef int64_t start = 0
    cdef int32_t n_bins = 0
    cdef bint heavy
    cdef uint64_t last = <uint64_t> 0xFFFFFFFFFFFFFFFF if open_ends else high
    edges[0] = 0 if open_ends else low - 1
    if pieces.apart and pieces.n <= max_bins and not open_ends:
        for i in range(pieces.n):
            edges[i + 1] = pieces.at[i].upper
        edges[pieces.n] = high
        return <int32_t> pieces.n
    while too_many(&all_gaps, n_known, max_bins):
        all_gaps = allot(pieces, all_gaps.threshold + all_gaps.threshold // 4 + 1, open_ends)
    bins_left = max_bins - all_gaps.n_heavy
    gaps_left = all_gaps.n_gaps
    samples_left = all_gaps.n_samples
    in_gap = 0
    for i in range(pieces.n + 1):
        heavy = i < pieces.n and pieces.at[i].single and pieces.at[i].count >= all_gaps.threshold
        if i < pieces.n and not heavy:
            in_gap += pieces.at[i].count
            continue
        if in_gap or (open_ends and (i == pieces.n or pieces.at[i].upper - edges[n_bins] > 1)):
            # one, and a part of those that are left when every gap has one
            wanted = 1 + (in_gap * (bins_left - gaps_left) + samples_left // 2) // max(samples_left, 1)
            wanted = cut_gap(pieces.at + start, i - start, in_gap, wanted, pieces.at[i].upper - 1 if heavy else last,
                             edges + n_bins + 1)
            n_bins += <int32_t> wanted
            bins_left -= wanted
            gaps_left -= 1
            samples_left -= in_gap
            in_gap = 0
        if heavy:
            n_bins += 1
            edges[n_bins] = pieces.at[i].upper
        start = i + 1
    return n_bins


cdef inline int32_t find_edges(
    const entry_t* keys, int64_t n, const Extent* extent, int32_t max_bins, bint open_ends, EdgeSearch* search,
) noexcept nogil:
    """Edges of at most `max_bins` bins of nearly equal counts; returns their number, 0 if every value is missing.

    A value with about a bin's share of the samples or more has a bin of its own.  Of at most `max_bins` values each has one.

    `open_ends`: the keys are a sample of those to be separated.  The bins then cover every key, and one that is for a single
    value has edges key - 1 and key, so that no other value falls into it unseen: edges[b] == edges[b - 1] + 1.
    """
    cdef uint64_t zero = zero_key(sizeof(entry_t))
    cdef uint64_t hole = 0
    cdef uint64_t low, high
    cdef int64_t n_known
    cdef int32_t n_bins, b
    cdef uint64_t* edges = search.edges
    cdef Grid grid
    cdef Pieces pieces
    search.grid.last = 0
    if extent.high == 0:
        return 0
    if extent.low < zero and zero < extent.high:
        hole = extent.nearest - 1
    low = squeezed(<entry_t> extent.low, <entry_t> hole)
    high = squeezed(<entry_t> extent.high, <entry_t> hole)
    grid = grid_over(low, high, grid_bits(n))
    grid.hole = hole
    pieces.at = search.pieces
    pieces.most = max_bins
    n_known = collect_pieces(keys, n, &grid, search, &pieces)
    n_bins = place_edges(&pieces, n_known, max_bins, low, high, open_ends, edges)
    if pieces.whole and not open_ends and grid.last < 0xFFFF:
        search.grid = grid
    for b in range(n_bins + 1):
        edges[b] = widened(edges[b], hole, zero)
    if open_ends:
        edges[0] = 0
        edges[n_bins] = <entry_t> -1
    return n_bins


# --- codes

cdef inline size_t room_for_search(int32_t n_bins) noexcept nogil:
    return 3 * (<size_t> n_bins + 1)
