"""Loops over the rows of a node, in C, of which compilers make vectors: no jump depends on a row.  Header only.

Codes come with their base.  Loops run to a multiple of 8 where they can: the rows that are too many add nothing, whatever their
codes are.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t


cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #define FASTTREE_LANES(name, type) \\
    /* The smallest and the largest code. */ \\
    static void fasttree_range_##name(const type *codes, int64_t n, int32_t *low, int32_t *high) \\
    { \\
        type least = codes[0], most = codes[0]; \\
        int64_t i; \\
        for (i = 0; i < n; i++) { \\
            type code = codes[i]; \\
            least = code < least ? code : least; \\
            most = code > most ? code : most; \\
        } \\
        *low = least; \\
        *high = most; \\
    } \\
    /* The codes of a multiple of 4 rows, and their range. */ \\
    static inline void fasttree_gather_few_##name( \\
        const type *column, const uint32_t *rows, int n, type *out, int32_t *low, int32_t *high) \\
    { \\
        int32_t least = column[rows[0]], most = least; \\
        int i, j; \\
        for (i = 0; i < n; i += 4) \\
            for (j = i; j < i + 4; j++) { \\
                int32_t code = column[rows[j]]; \\
                out[j] = (type) code; \\
                least = code < least ? code : least; \\
                most = code > most ? code : most; \\
            } \\
        *low = least; \\
        *high = most; \\
    } \\
    /* For up to 32 rows how many codes are lower than each: ties fall into one rank. */ \\
    static void fasttree_ranks_##name(const type *codes, int n, type *ranks) \\
    { \\
        int i, j, padded = (n + 7) / 8 * 8; \\
        for (j = 0; j < padded; j++) ranks[j] = 0; \\
        for (i = 0; i < n; i++) { \\
            type code = codes[i]; \\
            for (j = 0; j < padded; j++) ranks[j] += code < codes[j]; \\
        } \\
    } \\
    /* How many codes are at most the cut. */ \\
    static int64_t fasttree_count_##name(const type *codes, int64_t n, type cut) \\
    { \\
        uint32_t count = 0; \\
        int64_t i; \\
        for (i = 0; i < n; i++) count += codes[i] <= cut; \\
        return count; \\
    } \\
    /* Sums over the rows whose code is at most the cut; n is a multiple of 8. */ \\
    static inline uint32_t fasttree_sum_##name(const type *codes, const uint32_t *numbers, int64_t n, type cut) \\
    { \\
        uint32_t sum = 0; \\
        int64_t i; \\
        n &= ~ (int64_t) 7; \\
        for (i = 0; i < n; i++) sum += numbers[i] & (uint32_t) -(int32_t) (codes[i] <= cut); \\
        return sum; \\
    } \\
    static inline uint64_t fasttree_sum_long_##name(const type *codes, const uint64_t *numbers, int64_t n, type cut) \\
    { \\
        uint64_t sum = 0; \\
        int64_t i; \\
        n &= ~ (int64_t) 7; \\
        for (i = 0; i < n; i++) sum += numbers[i] & (uint64_t) (int64_t) -(int32_t) (codes[i] <= cut); \\
        return sum; \\
    } \\
    /* Rows and bags of codes up to the cut come first, both sides in their order; returns how many go left.  The loops at the \\
       end must not become two calls of memcpy, which would cost more than they copy. */ \\
    static uint32_t fasttree_part_##name( \\
        const type *codes, uint32_t *rows, uint32_t *bags, uint64_t *spare, int64_t n, type cut) \\
    { \\
        uint32_t n_left = 0, n_right = 0; \\
        int64_t i; \\
        for (i = 0; i < n; i++) { \\
            uint32_t row = rows[i], bag = bags[i], left = codes[i] <= cut; \\
            spare[n_right] = (uint64_t) row << 32 | bag; \\
            rows[n_left] = row; \\
            bags[n_left] = bag; \\
            n_left += left; \\
            n_right += 1 - left; \\
        } \\
        for (i = 0; i < n_right; i++) { \\
            uint64_t one = spare[i]; \\
            rows[n_left + i] = (uint32_t) (one >> 32); \\
            bags[n_left + i] = (uint32_t) one; \\
        } \\
        return n_left; \\
    } \\
    /* The largest code up to the cut, and the smallest one above it. */ \\
    static void fasttree_beside_##name( \\
        const type *codes, int64_t n, type cut, type first, type last, int32_t *below, int32_t *above) \\
    { \\
        type low = first, high = last; \\
        int64_t i; \\
        for (i = 0; i < n; i++) { \\
            type code = codes[i]; \\
            type under = code <= cut ? code : first; \\
            type over = code <= cut ? last : code; \\
            low = under > low ? under : low; \\
            high = over < high ? over : high; \\
        } \\
        *below = low; \\
        *above = high; \\
    }

    FASTTREE_LANES(narrow, int16_t)
    FASTTREE_LANES(wide, int32_t)

    /* One code where a bundle has a member, else another; returns how often the first. */
    static int64_t fasttree_match_member(
        const int16_t *bundle, int64_t n, int16_t member, int16_t *out, int16_t rare, int16_t usual)
    {
        int64_t i;
        int32_t n_rare = 0;
        int16_t change = (int16_t) (rare ^ usual);
        for (i = 0; i < n; i++) {
            int16_t is = (int16_t) -(bundle[i] == member);
            out[i] = (int16_t) (usual ^ (change & is));
            n_rare -= is;
        }
        return n_rare;
    }
    /* Bags: class << 16 | times drawn.  Times drawn of all rows, and in the upper half those of other classes than one. */
    static uint64_t fasttree_weigh_bags(const uint32_t *bags, int64_t n, uint32_t label)
    {
        uint32_t weight = 0, others = 0;
        int64_t i;
        for (i = 0; i < n; i++) {
            uint32_t count = bags[i] & 0xFFFF;
            weight += count;
            others += count & (uint32_t) -(int32_t) (bags[i] >> 16 != label);
        }
        return (uint64_t) others << 32 | weight;
    }
    /* Times drawn, and in the upper half those of one class. */
    static void fasttree_fill_pairs(const uint32_t *bags, int64_t n, uint32_t label, uint64_t *pairs)
    {
        int64_t i;
        for (i = 0; i < n; i++) {
            uint64_t count = bags[i] & 0xFFFF;
            pairs[i] = count | (count << 32 & (uint64_t) -(int64_t) (bags[i] >> 16 == label));
        }
    }
    static void fasttree_fill_compact(const uint32_t *bags, int64_t n, uint32_t label, uint32_t *pairs)
    {
        int64_t i;
        for (i = 0; i < n; i++) {
            uint32_t count = bags[i] & 0xFFFF;
            pairs[i] = count | (count << 16 & (uint32_t) -(int32_t) (bags[i] >> 16 == label));
        }
    }
    """
    void range_narrow "fasttree_range_narrow"(const int16_t* codes, int64_t n, int32_t* low, int32_t* high) noexcept nogil
    void range_wide "fasttree_range_wide"(const int32_t* codes, int64_t n, int32_t* low, int32_t* high) noexcept nogil
    void gather_few_narrow "fasttree_gather_few_narrow"(
        const int16_t* column, const uint32_t* rows, int n, int16_t* out, int32_t* low, int32_t* high
    ) noexcept nogil
    void gather_few_wide "fasttree_gather_few_wide"(
        const int32_t* column, const uint32_t* rows, int n, int32_t* out, int32_t* low, int32_t* high
    ) noexcept nogil
    void ranks_narrow "fasttree_ranks_narrow"(const int16_t* codes, int n, int16_t* ranks) noexcept nogil
    void ranks_wide "fasttree_ranks_wide"(const int32_t* codes, int n, int32_t* ranks) noexcept nogil
    int64_t count_narrow "fasttree_count_narrow"(const int16_t* codes, int64_t n, int16_t cut) noexcept nogil
    int64_t count_wide "fasttree_count_wide"(const int32_t* codes, int64_t n, int32_t cut) noexcept nogil
    uint32_t sum_narrow "fasttree_sum_narrow"(
        const int16_t* codes, const uint32_t* numbers, int64_t n, int16_t cut
    ) noexcept nogil
    uint32_t sum_wide "fasttree_sum_wide"(const int32_t* codes, const uint32_t* numbers, int64_t n, int32_t cut) noexcept nogil
    uint64_t sum_long_narrow "fasttree_sum_long_narrow"(
        const int16_t* codes, const uint64_t* numbers, int64_t n, int16_t cut
    ) noexcept nogil
    uint64_t sum_long_wide "fasttree_sum_long_wide"(
        const int32_t* codes, const uint64_t* numbers, int64_t n, int32_t cut
    ) noexcept nogil
    uint32_t part_narrow "fasttree_part_narrow"(
        const int16_t* codes, uint32_t* rows, uint32_t* bags, uint64_t* spare, int64_t n, int16_t cut
    ) noexcept nogil
    uint32_t part_wide "fasttree_part_wide"(
        const int32_t* codes, uint32_t* rows, uint32_t* bags, uint64_t* spare, int64_t n, int32_t cut
    ) noexcept nogil
    void beside_narrow "fasttree_beside_narrow"(
        const int16_t* codes, int64_t n, int16_t cut, int16_t first, int16_t last, int32_t* below, int32_t* above
    ) noexcept nogil
    void beside_wide "fasttree_beside_wide"(
        const int32_t* codes, int64_t n, int32_t cut, int32_t first, int32_t last, int32_t* below, int32_t* above
    ) noexcept nogil
    uint64_t weigh_bags "fasttree_weigh_bags"(const uint32_t* bags, int64_t n, uint32_t label) noexcept nogil
    void fill_pairs "fasttree_fill_pairs"(const uint32_t* bags, int64_t n, uint32_t label, uint64_t* pairs) noexcept nogil
    void fill_compact "fasttree_fill_compact"(const uint32_t* bags, int64_t n, uint32_t label, uint32_t* pairs) noexcept nogil
    int64_t match_member "fasttree_match_member"(
        const int16_t* bundle, int64_t n, int16_t member, int16_t* out, int16_t rare, int16_t usual
    ) noexcept nogil
