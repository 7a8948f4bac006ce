"""Sets of samples as rows of bits, which are counted and added up.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    /* Loops over words and bytes that the compiler makes vectors of; counting without an instruction for it, 24 words at a time:
       a byte then holds at most 192. */
    static int64_t fasttree_count_common(const uint64_t *a, const uint64_t *b, int64_t n) {
        const uint64_t fives = 0x5555555555555555u, threes = 0x3333333333333333u, nibbles = 0x0f0f0f0f0f0f0f0fu;
        const uint64_t bytes = 0x00ff00ff00ff00ffu;
        int64_t total = 0, start, i;
        for (start = 0; start < n; start += 24) {
            int64_t stop = start + 24 < n ? start + 24 : n;
            uint64_t sum = 0;
            for (i = start; i < stop; i++) {
                uint64_t x = a[i] & b[i];
                x -= x >> 1 & fives;
                x = (x & threes) + (x >> 2 & threes);
                sum += (x + (x >> 4)) & nibbles;
            }
            sum = (sum & bytes) + (sum >> 8 & bytes);
            total += (int64_t) (sum * 0x0001000100010001u >> 48);
        }
        return total;
    }

    /* One step of adding bits to (flip 0), or taking them from (flip ~0), binary numbers: a digit of each, what is left to do. */
    static void fasttree_carry(uint64_t *digit, uint64_t *carry, uint64_t flip, int64_t n) {
        int64_t i;
        for (i = 0; i < n; i++) {
            uint64_t old = digit[i];
            digit[i] = old ^ carry[i];
            carry[i] &= old ^ flip;
        }
    }

    /* Take a condition away from the numbers of some words: from `times` one, and from `which` its number.  Writes the samples
       that fail one other condition alone from now on.  Digits are n words apart.  Where neighbours are alike, many words have
       nothing to do. */
    static void fasttree_uncount(
        uint64_t *restrict times, uint64_t *restrict which, const uint64_t *restrict failing, const uint64_t *restrict padding,
        uint64_t *restrict alone, int64_t size, int32_t number, int32_t n_digits, int64_t n
    ) {
        int64_t w;
        for (w = 0; w < size; w++) {
            uint64_t fails = failing[w] & ~padding[w], borrow = fails, more = 0, first = 0;
            int32_t i;
            alone[w] = 0;
            if (!fails) continue;
            for (i = 0; i < n_digits; i++) {
                uint64_t old = times[i * n + w], now = old ^ borrow;
                times[i * n + w] = now;
                borrow &= ~old;
                if (i) more |= now;
                else first = now;
                if (number >> i & 1) which[i * n + w] ^= fails;
            }
            alone[w] = fails & first & ~more;
        }
    }

    static void fasttree_flip(uint64_t *bits, const uint64_t *where, int64_t n) {
        int64_t i;
        for (i = 0; i < n; i++) bits[i] ^= where[i];
    }

    static void fasttree_join(uint64_t *bits, const uint64_t *others, int64_t n) {
        int64_t i;
        for (i = 0; i < n; i++) bits[i] |= others[i];
    }

    /* Bit i of a word: is code i outside low, ..., low + span? */
    static uint64_t fasttree_outside(const uint32_t *codes, uint32_t low, uint32_t span) {
        uint8_t outside[64];
        uint64_t word = 0;
        int i, j;
        for (i = 0; i < 64; i++) outside[i] = codes[i] - low > span;
        for (i = 0; i < 8; i++) {
            uint64_t eight = 0;
            for (j = 7; j >= 0; j--) eight = eight << 8 | outside[8 * i + j];
            word |= (eight * 0x0102040810204080u >> 56) << 8 * i;
        }
        return word;
    }

    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
    #define fasttree_lowest_bit(word) __builtin_ctzll(word)
    #else
    static int fasttree_lowest_bit(uint64_t word) {
        int i = 0;
        while (!(word >> i & 1)) i++;
        return i;
    }
    #endif
    """
    int64_t count_common "fasttree_count_common"(const uint64_t* a, const uint64_t* b, int64_t n) noexcept nogil
    void carry_on "fasttree_carry"(uint64_t* digit, uint64_t* carry, uint64_t flip, int64_t n) noexcept nogil
    void uncount "fasttree_uncount"(
        uint64_t* times, uint64_t* which, const uint64_t* failing, const uint64_t* padding, uint64_t* alone,
        int64_t size, int32_t number, int32_t n_digits, int64_t n) noexcept nogil
    void flip_bits "fasttree_flip"(uint64_t* bits, const uint64_t* where, int64_t n) noexcept nogil
    void join_bits "fasttree_join"(uint64_t* bits, const uint64_t* others, int64_t n) noexcept nogil
    uint64_t outside "fasttree_outside"(const uint32_t* codes, uint32_t low, uint32_t span) noexcept nogil
    int lowest_bit "fasttree_lowest_bit"(uint64_t word) noexcept nogil
