"""The memory of a run: scratch of all searches, carved from one buffer.  Header only.

Every function is called twice: first it measures what it needs, then it hands the pieces out.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.grow.work cimport SIDE_BY_SIDE, Private, divides
from fasttree._engine.memory cimport Carver, carve
from fasttree._engine.risk.impurity cimport table_entry, xlogx
from fasttree._engine.risk.present cimport numbers_classes
from fasttree._engine.scan.stretches cimport has_signed_weights
from fasttree._engine.scan.tiles cimport LANES
from fasttree._engine.types cimport (
    CHUNK, INTERVALS, MEDIANS, MERGED, MOST_ENDS, SQUARED, SURROGATE, TWIG, Block, Cut, Imitation, Medians, Neighbours, Parts,
    Problem, Ranked, Scratch, Weighed,
)


cdef inline void carve_stretches(Scratch* s, Carver* carver, const Problem* p, size_t n_ends) noexcept nogil:
    s.stretch_weight = <int64_t*> carve(carver, n_ends * 8)
    s.stretch_sum = <int64_t*> carve(carver, n_ends * p.n_outputs * 8)
    s.stretch_gain = <double*> carve(carver, n_ends * 8)
    s.stretch_bound = <double*> carve(carver, n_ends * 8)
    s.stretch_rough = <double*> carve(carver, n_ends * 8)
    s.stretch_spread = <double*> carve(carver, n_ends * p.n_outputs * 8)


cdef inline void carve_scratch(
    Scratch* s, Carver* carver, const Problem* p, int64_t n, int64_t n_groups, bint branches, bint principal,
) noexcept nogil:
    cdef size_t width = p.width
    cdef size_t d = max(p.n_features, 1)
    cdef size_t g = max(n_groups, 256)
    cdef size_t n_ends = MOST_ENDS if p.stretches else 0
    cdef bint merges = p.nominal == MERGED or p.ordinal == MERGED
    cdef bint intervals = p.continuous == INTERVALS or p.ordinal == INTERVALS
    s.a = <double*> carve(carver, max(n_ends, CHUNK) * 8)
    s.b = <double*> carve(carver, max(n_ends, CHUNK) * 8)
    s.gains = <double*> carve(carver, max(n_ends, CHUNK) * 8)
    s.positions = <int32_t*> carve(carver, CHUNK * 4)
    s.left = <int64_t*> carve(carver, width * 8)
    s.right = <int64_t*> carve(carver, width * 8)
    s.mark = <int64_t*> carve(carver, width * 8)
    s.near_left = <int64_t*> carve(carver, width * 8)
    s.near_right = <int64_t*> carve(carver, width * 8)
    s.terms = <double*> carve(carver, width * 8)
    s.most = <double*> carve(carver, d * 8 if p.sweep == MEDIANS else 0)
    s.signed_weight = <int64_t*> carve(carver, n * 8) if has_signed_weights(p) else NULL
    carve_stretches(s, carver, p, n_ends)
    s.totals = <int64_t*> carve(carver, width * 8)
    s.missing = <int64_t*> carve(carver, width * 8)
    s.hist = <int64_t*> carve(carver, 256 * width * 8)
    s.hist_n = <int64_t*> carve(carver, 256 * 8)
    s.hist_w = <int64_t*> carve(carver, 256 * 8)
    s.cells = <char*> carve(carver, 256 * (width + 1) * 8 if p.cells else 0)
    s.label = <uint16_t*> carve(carver, n * 2 if numbers_classes(p) else 0)
    s.present = <int32_t*> carve(carver, width * 4)
    s.number_of = <uint16_t*> carve(carver, width * 2)
    s.some = <int64_t*> carve(carver, width * 8)
    s.group_code = <uint32_t*> carve(carver, g * 4)
    s.group_row = <uint32_t*> carve(carver, g * 4)
    s.group_n = <int64_t*> carve(carver, g * 8)
    s.group_w = <int64_t*> carve(carver, g * 8)
    s.group_stat = <int64_t*> carve(carver, g * width * 8)
    s.group_key = <double*> carve(carver, g * 8)
    s.ranked = <Ranked*> carve(carver, g * sizeof(Ranked))
    s.group_side = <uint8_t*> carve(carver, g)
    s.best_side = <uint8_t*> carve(carver, g)
    s.branch_of_code = <uint32_t*> carve(carver, 256 * 4)
    s.cuts = <Cut*> carve(carver, d * sizeof(Cut))
    s.cuts_two = <Cut*> carve(carver, d * sizeof(Cut))
    s.branch_of_group = <uint32_t*> carve(carver, g * 4)
    s.block_stat = <int64_t*> carve(carver, g * width * 8 if merges else 0)
    s.block_weight = <int64_t*> carve(carver, g * 8 if merges else 0)
    s.block_info = <float*> carve(carver, g * 4 if merges else 0)
    s.block_term = <double*> carve(carver, g * 8 if merges else 0)
    s.pair_info = <double*> carve(carver, g * g * 8 if merges else 0)
    s.most_blocks = g
    s.block_of = <int32_t*> carve(carver, g * 4 if merges else 0)
    s.pairs = <Neighbours*> carve(carver, 3 * g * sizeof(Neighbours) if intervals else 0)
    s.following = <int32_t*> carve(carver, g * 4 if intervals else 0)
    s.preceding = <int32_t*> carve(carver, g * 4 if intervals else 0)
    s.stamp = <int32_t*> carve(carver, g * 4 if intervals else 0)
    s.shares = <float*> carve(carver, 2 * (n + 1) * 4 if p.screens else 0)
    s.steps = <int32_t*> carve(carver, 2 * width * 4 if p.screens else 0)
    s.crosses = <int64_t*> carve(carver, 2 * width * 8 if p.screens else 0)
    s.class_totals = <float*> carve(carver, 2 * width * 4 if p.screens else 0)
    s.twig_entries = <uint32_t*> carve(carver, d * TWIG * 4 if p.twigs else 0)
    s.twig_features = <int32_t*> carve(carver, d * 4 if p.twigs else 0)
    s.twig_gains = <double*> carve(carver, d * 8 if p.twigs else 0)
    s.feature_bound = <double*> carve(carver, d * 8 if p.histogram else 0)
    s.code_bound = <double*> carve(carver, 256 * 8 if p.histogram else 0)
    s.survives = <uint8_t*> carve(carver, 256 if p.histogram else 0)
    s.before = <int64_t*> carve(carver, width * 8 if p.histogram else 0)
    s.records = <uint64_t*> carve(carver, n * 8 if p.histogram else 0)
    s.spare_records = <uint64_t*> carve(carver, n * 8 if p.histogram else 0)
    s.codes_by_row = <uint8_t*> carve(carver, n if p.histogram else 0)
    s.side = <uint8_t*> carve(carver, n)
    s.branch = <uint32_t*> carve(carver, n * 4 if branches else 0)
    s.pca = <double*> carve(carver, (2 * SQUARED * SQUARED + 4 * width) * 8 if principal else 0)
    s.pca_scale = <double*> carve(carver, width * 8 if principal else 0)
    s.order_gain = <double*> carve(carver, (width + 1) * 8)
    s.imitations = <Imitation*> carve(carver, d * sizeof(Imitation) if p.missing == SURROGATE else 0)


cdef inline void carve_private(
    Private* small, Carver* carver, const Problem* p, const Block* whole, size_t rows, int64_t n_counted,
) noexcept nogil:
    """Room for a private block of at most `rows` samples of a whole one."""
    cdef size_t d = max(p.n_features, 1)
    cdef size_t targets = rows * p.n_outputs
    cdef Block* block = &small.block
    small.work.narrow = <uint32_t> rows
    small.work.lists = <size_t*> carve(carver, d * sizeof(size_t))
    small.tiles = <uint8_t*> carve(carver, (d + LANES - 1) // LANES * LANES * rows if p.histogram else 0)
    small.keys = <uint32_t*> carve(carver, min(d, <size_t> SIDE_BY_SIDE) * rows * 4 if p.histogram else 0)
    block.fine = <uint16_t*> carve(carver, d * rows * 2 if p.histogram else 0)
    block.single_valued = <uint8_t*> carve(carver, d * 256 if p.histogram else 0)
    block.origin = <uint32_t*> carve(carver, rows * 4)
    block.label = <uint16_t*> carve(carver, targets * 2 if p.n_classes else 0)
    block.y = <double*> carve(carver, 0 if p.n_classes else targets * 8)
    block.ysum = <int64_t*> carve(carver, 0 if p.n_classes else targets * 8)
    block.weight = <int64_t*> carve(carver, rows * 8 if p.weighted else 0)
    block.case_weight = <int64_t*> carve(carver, 0 if whole.case_weight == NULL else rows * 8)
    block.target_rank = <uint32_t*> carve(carver, targets * 4 if p.sweep == MEDIANS else 0)
    block.codes = <uint8_t*> carve(carver, rows * n_counted)
    if not p.histogram:
        block.fine = NULL
    if not p.weighted:
        block.weight = NULL
    if whole.case_weight == NULL:
        block.case_weight = NULL


cdef inline void carve_divided(Carver* carver, const Problem* p, Block* block) noexcept nogil:
    """Give a block whose samples are divided copies of their weights and sums, which growth overwrites."""
    cdef size_t n = block.n * sizeof(int64_t) if divides(p) else 0
    cdef size_t n_sums = 0 if p.n_classes else n * p.n_outputs
    cdef int64_t* weight = <int64_t*> carve(carver, n)
    cdef int64_t* sums = <int64_t*> carve(carver, n_sums)
    if carver.measuring or n == 0:
        return
    memcpy(weight, block.weight, n)
    block.weight = weight
    if n_sums:
        memcpy(sums, block.ysum, n_sums)
        block.ysum = sums


cdef inline void carve_medians(Problem* p, Carver* carver, size_t n) noexcept nogil:
    cdef Medians m
    cdef Parts parts
    cdef int32_t o
    if p.sweep != MEDIANS:
        return
    p.medians = <Medians*> carve(carver, p.n_outputs * sizeof(Medians))
    p.parts = <Parts*> carve(carver, sizeof(Parts))
    memset(&m, 0, sizeof(Medians))
    memset(&parts, 0, sizeof(Parts))
    for o in range(p.n_outputs):
        m.records = <uint64_t*> carve(carver, n * 8)
        m.rank = <uint32_t*> carve(carver, n * 4)
        m.part = <int64_t*> carve(carver, n * 8)
        m.place = <uint32_t*> carve(carver, n * 4)
        m.sorted = <int64_t*> carve(carver, (n + 2) * 8)
        m.value = <double*> carve(carver, (n + 1) * 8)
        m.whole = <Weighed*> carve(carver, (n + 1) * sizeof(Weighed))
        m.left = <Weighed*> carve(carver, (n + 1) * sizeof(Weighed))
        m.right = <Weighed*> carve(carver, (n + 1) * sizeof(Weighed))
        if not carver.measuring:
            p.medians[o] = m
    parts.spare = <uint64_t*> carve(carver, n * 8)
    parts.rows = <uint32_t*> carve(carver, n * 4)
    parts.start = <int64_t*> carve(carver, (n + 1) * 8)
    parts.part_of = <uint32_t*> carve(carver, n * 4)
    parts.weight = <int64_t*> carve(carver, (n + 1) * 8)
    parts.passed = <int64_t*> carve(carver, (n + 1) * 8)
    parts.gain = <double*> carve(carver, n * 8)
    parts.bin = <uint8_t*> carve(carver, n)
    parts.links = <uint32_t*> carve(carver, 6 * (n + 2) * 4)
    parts.lower = <uint32_t*> carve(carver, (n + 1) * 4)
    parts.upper = <uint32_t*> carve(carver, (n + 1) * 4)
    if not carver.measuring:
        p.parts[0] = parts


cdef inline double xlogx_quantum(int64_t n) noexcept nogil:
    """The unit of i log2 i for i = 0..n in fixed point, so coarse that sums of several of them fit: a power of two."""
    cdef double largest = max(xlogx(<double> n), 1.0)
    cdef double scale = 1.0
    while largest * scale < 5.764607523034235e17:      # 2^59
        scale *= 2.0
    return 1.0 / scale


cdef inline double fill_table(int64_t* table, int64_t n, int64_t n_whole) noexcept nogil:
    """table[i] = i log2 i for i = 0..n, in quanta for a whole table of `n_whole` samples; returns the quantum."""
    cdef double quantum = xlogx_quantum(n_whole)
    cdef int64_t i
    for i in range(n + 1):
        table[i] = table_entry(i, quantum)
    return quantum


cdef inline int32_t coarse_shift_of(const int64_t[:, ::1] sums) noexcept:
    """The shift that leaves so few bits of each sum that the squares of all of them add up below 2^62."""
    cdef int64_t largest = 1
    cdef int32_t shift = 0
    cdef int64_t i
    for i in range(sums.shape[0]):
        largest = max(largest, sums[i, 0] if sums[i, 0] >= 0 else -sums[i, 0])
    while <double> (largest >> shift) * <double> (largest >> shift) * <double> sums.shape[0] > 4.6e18:
        shift += 1
    return shift
