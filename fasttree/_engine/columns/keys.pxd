"""A column becomes codes (few values) or a presorted list (many).  Header only."""

from libc.math cimport NAN, isnan
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fasttree._engine.types cimport CHUNK, FEW, Column, entry_t, real_t


cdef extern from *:
    """
    #define FASTTREE_GONE 0xFFFFFFFFu   /* place of a row that is left out */
    """
    const uint32_t GONE "FASTTREE_GONE"

ctypedef fused other_t:
    uint32_t
    uint64_t


cdef struct Extent:            # of some keys, those of missing values left out
    uint64_t low               # the smallest, the largest if there is none
    uint64_t high              # the largest, 0 if there is none
    uint64_t nearest           # how far the key nearest to that of zero is from it, zero itself left out


cdef inline uint64_t sortable(double x) noexcept nogil:
    """Bits that compare like the number; 0 for NaN, and -0.0 as 0.0."""
    cdef uint64_t bits
    if isnan(x):
        return 0
    x += 0.0
    memcpy(&bits, &x, 8)
    return ~bits if bits >> 63 else bits | (<uint64_t> 1 << 63)


cdef inline uint32_t sortable_float(float x) noexcept nogil:
    # without a jump, so that a loop over values without gaps becomes one of vectors
    cdef uint32_t top = <uint32_t> 1 << 31
    cdef uint32_t bits
    x += <float> 0.0
    memcpy(&bits, &x, 4)
    return (bits ^ (-(bits >> 31) | top)) & -<uint32_t> (<int32_t> (bits & ~top) <= 0x7F800000)


cdef inline double value_of(uint64_t key) noexcept nogil:
    """Inverse of `sortable`."""
    cdef double x
    key = key ^ (<uint64_t> 1 << 63) if key >> 63 else ~key
    memcpy(&x, &key, 8)
    return x


cdef inline float float_of(uint32_t key) noexcept nogil:
    """Inverse of `sortable_float`."""
    cdef float x
    key = key ^ (<uint32_t> 1 << 31) if key >> 31 else ~key
    memcpy(&x, &key, 4)
    return x


cdef inline uint64_t zero_key(size_t width) noexcept nogil:
    return <uint64_t> 1 << (8 * width - 1)


cdef inline Extent no_keys() noexcept nogil:
    cdef Extent extent
    extent.high = 0
    extent.low = extent.high - 1       # the largest number
    extent.nearest = extent.low
    return extent


cdef inline void extend_over(const entry_t* keys, int64_t n, Extent* extent) noexcept nogil:
    """Note n keys more."""
    cdef entry_t zero = <entry_t> zero_key(sizeof(entry_t))
    cdef entry_t least = 0
    cdef entry_t most = 0
    cdef entry_t nearest, below
    cdef int64_t i
    least -= 1                 # 0 - 1 is the largest of all
    nearest = least
    for i in range(n):
        below = keys[i] - 1
        least = below if below < least else least
        most = keys[i] if keys[i] > most else most
    for i in range(n):
        below = (keys[i] - zero if keys[i] > zero else zero - keys[i]) - 1
        nearest = below if below < nearest else nearest
    if most:
        extent.low = min(extent.low, <uint64_t> least + 1)
        extent.high = max(extent.high, <uint64_t> most)
        extent.nearest = min(extent.nearest, <uint64_t> nearest + 1)


cdef inline bint single_keys(const real_t[:] column, uint32_t* keys, Extent* extent) noexcept nogil:
    """Keys of values in single precision, and their extent; returns whether all values are, else both are void."""
    cdef real_t values[CHUNK]
    cdef int64_t done = 0
    cdef int64_t i, n
    cdef uint32_t rounded
    extent[0] = no_keys()
    while done < column.shape[0]:
        n = min(column.shape[0] - done, <int64_t> CHUNK)
        for i in range(n):
            values[i] = column[done + i]
        rounded = 0
        for i in range(n):
            keys[done + i] = sortable_float(<float> values[i])
            if real_t is double:
                rounded |= (<float> values[i] != values[i]) & (values[i] == values[i])
        if rounded:
            return False
        extend_over(keys + done, n, extent)
        done += n
    return True


cdef inline void keys_of(const real_t[:] column, int64_t start, int64_t n, int64_t step, entry_t* keys) noexcept nogil:
    """Keys of n rows from `start`, each `step` after the one before; those of 32 bits are of values in single precision."""
    cdef int64_t i
    for i in range(n):
        if entry_t is uint32_t:
            keys[i] = sortable_float(<float> column[start + i * step])
        else:
            keys[i] = sortable(column[start + i * step])


cdef inline void double_keys(const real_t[:] column, uint64_t* keys, Extent* extent) noexcept nogil:
    """Keys of values in double precision, and their extent."""
    cdef int64_t done = 0
    cdef int64_t n
    extent[0] = no_keys()
    while done < column.shape[0]:
        n = min(column.shape[0] - done, <int64_t> CHUNK)
        keys_of(column, done, n, 1, keys + done)
        extend_over(keys + done, n, extent)
        done += n


cdef inline void sort_small(entry_t* records, int64_t n) noexcept nogil:
    """Insertion sort, for a few records."""
    cdef int64_t i, j
    cdef entry_t record
    for i in range(1, n):
        record = records[i]
        j = i
        while j > 0 and records[j - 1] > record:
            records[j] = records[j - 1]
            j -= 1
        records[j] = record


cdef inline bint all_single(const real_t[:] column) noexcept nogil:
    """Whether every value is exact in single precision."""
    cdef Py_ssize_t i
    for i in range(column.shape[0]):
        if not (column[i] == <double> <float> column[i] or column[i] != column[i]):
            return False
    return True


cdef inline object some_values(const Column* column, const int64_t[::1] rows, object values, real_t like):
    """Return `values` with the values of some rows."""
    cdef real_t[::1] out = values
    cdef Py_ssize_t i
    for i in range(rows.shape[0]):
        out[i] = (<const real_t*> (column.data + rows[i] * column.stride))[0]
    return values


cdef inline uint64_t* radix_sort(uint64_t* records, uint64_t* spare, int64_t n) noexcept nogil:
    """Sort key << 32 | row records by key; stable, 3 passes of 11 bits, a pass with one bucket is skipped."""
    cdef uint32_t counts[3 * 2048]
    cdef uint64_t record
    cdef uint64_t* swap
    cdef int64_t i
    cdef int32_t turn, shift, digit
    cdef uint32_t total, following
    cdef uint32_t* count
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        record = records[i]
        counts[(record >> 32) & 2047] += 1
        counts[2048 + ((record >> 43) & 2047)] += 1
        counts[4096 + (record >> 54)] += 1
    for turn in range(3):
        shift = 32 + 11 * turn
        count = &counts[2048 * turn]
        if count[(records[0] >> shift) & 2047] == n:
            continue
        total = 0
        for digit in range(2048):
            following = total + count[digit]
            count[digit] = total
            total = following
        for i in range(n):
            record = records[i]
            digit = (record >> shift) & 2047
            spare[count[digit]] = record
            count[digit] += 1
        swap = records
        records = spare
        spare = swap
    return records


cdef inline uint64_t* sort_records(uint64_t* records, uint64_t* spare, int64_t n) noexcept nogil:
    if n <= 48:
        sort_small(records, n)
        return records
    return radix_sort(records, spare, n)


cdef inline void order_ties(const real_t[:] column, uint64_t* records, uint64_t* spare, int64_t n) noexcept nogil:
    """Doubles sorted by the upper half of their bits: put runs of equal upper halves in order by the lower half."""
    cdef int64_t start = 0
    cdef int64_t stop, i
    cdef uint64_t upper
    cdef uint64_t* run
    cdef uint64_t* sorted_run
    while start < n:
        upper = records[start] >> 32
        stop = start + 1
        while stop < n and records[stop] >> 32 == upper:
            stop += 1
        if stop - start > 1 and upper:
            run = records + start
            for i in range(stop - start):
                run[i] = sortable(column[<uint32_t> run[i]]) << 32 | <uint32_t> run[i]
            sorted_run = sort_records(run, spare, stop - start)
            for i in range(stop - start):
                run[i] = upper << 32 | <uint32_t> sorted_run[i]
        start = stop


cdef inline bint list_column(
    const real_t[:] column, uint64_t* records, uint64_t* spare, void* out, bint wide, double gap,
) noexcept nogil:
    """Write the sorted list of a column with many values.  Returns whether two neighbouring values differ by at most `gap`."""
    cdef int64_t n = column.shape[0]
    cdef int64_t i
    cdef bint single = True
    cdef bint close = False
    cdef uint32_t dense = 0
    cdef uint32_t row
    cdef double x
    cdef double previous = NAN
    if real_t is double:
        for i in range(n):
            if not (column[i] == <double> <float> column[i] or isnan(column[i])):
                single = False
                break
    if single:
        for i in range(n):
            records[i] = <uint64_t> sortable_float(<float> column[i]) << 32 | <uint64_t> i
    else:
        for i in range(n):
            records[i] = (sortable(column[i]) & <uint64_t> 0xFFFFFFFF00000000) | <uint64_t> i
    if sort_records(records, spare, n) == spare:
        records, spare = spare, records
    if not single:
        order_ties(column, records, spare, n)
    for i in range(n):
        row = <uint32_t> records[i]
        if records[i] >> 32:
            x = float_of(<uint32_t> (records[i] >> 32)) if single else <double> column[row]    # rows are in random order
            if not x == previous:
                dense += 1
                close = close or x - previous <= gap
                previous = x
        if wide:
            (<uint64_t*> out)[i] = (<uint64_t> dense if records[i] >> 32 else 0) << 32 | row
        else:
            (<uint32_t*> out)[i] = (dense if records[i] >> 32 else 0) << 16 | row
    return close


cdef inline void list_codes(
    const uint32_t* codes, uint64_t* records, uint64_t* spare, void* out, int64_t n, bint wide,
) noexcept nogil:
    """Write the sorted list of a feature with many categories."""
    cdef uint32_t code, dense = 0
    cdef int64_t i
    for i in range(n):
        records[i] = <uint64_t> codes[i] << 32 | <uint64_t> i
    if n:
        records = sort_records(records, spare, n)
    for i in range(n):
        code = <uint32_t> (records[i] >> 32)
        if code and (i == 0 or code != <uint32_t> (records[i - 1] >> 32)):
            dense += 1
        if wide:
            (<uint64_t*> out)[i] = (<uint64_t> dense if code else 0) << 32 | <uint32_t> records[i]
        else:
            (<uint32_t*> out)[i] = (dense if code else 0) << 16 | <uint32_t> records[i]


cdef inline void some_entries(const entry_t* entries, const uint32_t* place, int64_t n, other_t* out) noexcept nogil:
    """Write the `n` entries of a list whose rows have a place, with dense codes and these places."""
    cdef int32_t shift = 32 if entry_t is uint64_t else 16
    cdef int32_t new_shift = 32 if other_t is uint64_t else 16
    cdef entry_t low = (<entry_t> 1 << shift) - 1
    cdef int64_t i = 0
    cdef int64_t found = 0
    cdef entry_t code
    cdef entry_t last = 0
    cdef other_t dense = 0
    cdef uint32_t at
    cdef bint kept
    while found < n:                   # no jump: which rows have a place is random
        code = entries[i] >> shift
        at = place[entries[i] & low]
        i += 1
        kept = at != GONE
        dense += kept & (code != last)
        last = code if kept else last
        out[found] = dense << new_shift | at
        found += kept
