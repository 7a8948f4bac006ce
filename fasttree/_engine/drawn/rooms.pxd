"""Memory of a thread that grows trees of the drawn layout, and the rows of a bag.  Header only."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

from fasttree._engine.drawn.block cimport cells_of_row
from fasttree._engine.drawn.records cimport (
    MOST_BUNDLES, MOST_CELLS, MOST_KEPT, MOST_RANKED, MOST_WAITING, BinEdges, DrawnBundle, DrawnColumn, DrawnPlan, Room, Waiting,
)


cdef enum:
    MOST_SLOTS = 64            # features whose edges a node keeps
    CODES_AT_ONCE = 1 << 20    # codes of drawn features that a node keeps


cdef inline char* take(char* buffer, size_t* at, size_t size) noexcept nogil:
    """The next part of a buffer, or only its size."""
    cdef char* part = buffer + at[0] if buffer != NULL else NULL
    at[0] += (size + 15) // 16 * 16
    return part


cdef inline size_t carve_room(Room* r, const DrawnPlan* p, size_t n, size_t n_categories, char* buffer) noexcept:
    """Hand out the parts of the buffer for n rows; returns its size."""
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


cdef inline int64_t fill_bag(
    const DrawnPlan* plan, const uint16_t* counts, int64_t n_samples, uint32_t* rows, uint32_t* bags,
) noexcept nogil:
    """Write the rows that were drawn, and what the layout knows of them; returns how many they are."""
    cdef int64_t n = 0
    cdef int64_t i
    for i in range(n_samples):
        if counts[i]:
            rows[n] = <uint32_t> i
            bags[n] = counts[i] | (<uint32_t> plan.label[i] << 16 if plan.n_classes else 0)
            n += 1
    return n
