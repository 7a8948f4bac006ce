"""Sets of samples as rows of bits, and how many conditions each sample fails, as binary numbers across such rows.  Header only.

Words are looked at in groups of four, digit by digit: a vector, which stays in registers.  The digits of a group lie together, so
that no two of them take the same place in the cache.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cimport fasttree._engine.types  # noqa: F401 has FASTTREE_WIDE

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__) && !defined(FASTTREE_PLAIN_C)
    #include <emmintrin.h>
    #endif

    #if defined(__GNUC__) && !defined(FASTTREE_PLAIN_C)
    #define FASTTREE_WORDS 4
    typedef uint64_t fasttree_words __attribute__((vector_size(32), aligned(8), may_alias));
    #define FASTTREE_ANY(words) ((words)[0] | (words)[1] | (words)[2] | (words)[3])
    #define FASTTREE_WORD(words, w) (words)[w]
    #else
    #define FASTTREE_WORDS 1
    typedef uint64_t fasttree_words;
    #define FASTTREE_ANY(words) (words)
    #define FASTTREE_WORD(words, w) (words)
    #endif
    #define FASTTREE_SEEN(row) (*(const fasttree_words *) (row))

    typedef struct {
        uint64_t *digits;           /* of each group of words, 2 n_digits groups: how many conditions a sample fails, and then */
                                    /* the numbers of these conditions, added without carry */
        const uint64_t *failing;    /* a row per condition: the samples that fail it */
        const uint64_t *padding;    /* bits of no sample */
        const int64_t *weight;      /* of each place, in units; NULL: every sample counts 1 */
        uint64_t *waiting;          /* words with samples that fail one condition alone, and behind each its number */
        int64_t n_words;
        int32_t n_digits;
    } fasttree_failures;

    typedef struct {
        int64_t start;              /* the samples of one class are in words start, ..., stop - 1 */
        int64_t stop;
        int64_t *alone[2];          /* weight of the samples that fail a condition alone, of other classes and of this one */
    } fasttree_sides;

    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
    #define fasttree_lowest_bit(word) __builtin_ctzll(word)
    #else
    static int fasttree_lowest_bit(uint64_t word) {
        int i = 0;
        while (!(word >> i & 1)) i++;
        return i;
    }
    #endif

    /* The samples of word w among these; compilers know the count of bits. */
    static int64_t fasttree_weigh(const int64_t *weight, int64_t w, uint64_t bits) {
        int64_t total = 0;
        if (weight) {
            for (; bits; bits &= bits - 1) total += weight[64 * w + fasttree_lowest_bit(bits)];
            return total;
        }
        bits -= bits >> 1 & 0x5555555555555555u;
        bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
        bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        return (int64_t) (bits * 0x0101010101010101u >> 56);
    }

    /* Bit i of a word: is code i outside low, ..., low + span? */
    #define FASTTREE_OUTSIDE(name, type) \\
    static uint64_t fasttree_outside_##name(const type *codes, type low, type span) \\
    { \\
        uint8_t outside[64]; \\
        uint64_t word = 0; \\
        int i, j; \\
        for (i = 0; i < 64; i++) outside[i] = (type) (codes[i] - low) > span; \\
        for (i = 0; i < 8; i++) { \\
            uint64_t eight = 0; \\
            for (j = 7; j >= 0; j--) eight = eight << 8 | outside[8 * i + j]; \\
            word |= (eight * 0x0102040810204080u >> 56) << 8 * i; \\
        } \\
        return word; \\
    }
    FASTTREE_OUTSIDE(long, uint32_t)
    #if defined(__SSE2__) && !defined(FASTTREE_PLAIN_C)
    static uint64_t fasttree_outside_short(const uint16_t *codes, uint16_t low, uint16_t span)
    {
        const __m128i lows = _mm_set1_epi16((short) low), spans = _mm_set1_epi16((short) span), zero = _mm_setzero_si128();
        const __m128i *some = (const __m128i *) codes;
        uint64_t word = 0;
        int i;
        for (i = 0; i < 4; i++) {
            __m128i a = _mm_subs_epu16(_mm_sub_epi16(_mm_loadu_si128(some + 2 * i), lows), spans);
            __m128i b = _mm_subs_epu16(_mm_sub_epi16(_mm_loadu_si128(some + 2 * i + 1), lows), spans);
            a = _mm_packs_epi16(_mm_cmpeq_epi16(a, zero), _mm_cmpeq_epi16(b, zero));
            word |= (uint64_t) _mm_movemask_epi8(a) << 16 * i;
        }
        return ~word;
    }
    static uint64_t fasttree_outside_byte(const uint8_t *codes, uint8_t low, uint8_t span)
    {
        const __m128i lows = _mm_set1_epi8((char) low), spans = _mm_set1_epi8((char) span), zero = _mm_setzero_si128();
        uint64_t word = 0;
        int i;
        for (i = 0; i < 4; i++) {
            __m128i a = _mm_sub_epi8(_mm_loadu_si128((const __m128i *) codes + i), lows);
            a = _mm_cmpeq_epi8(_mm_subs_epu8(a, spans), zero);
            word |= (uint64_t) _mm_movemask_epi8(a) << 16 * i;
        }
        return ~word;
    }
    #else
    FASTTREE_OUTSIDE(short, uint16_t)
    FASTTREE_OUTSIDE(byte, uint8_t)
    #endif

    /* Leave in a row of bits the samples whose codes, of `width` bytes, are outside low, ..., low + span. */
    static void fasttree_keep_outside(
        const void *codes, int32_t width, uint32_t low, uint32_t span, int64_t n_words, uint64_t *bits)
    {
        int64_t w;
        if (width == 1)
            for (w = 0; w < n_words; w++)
                bits[w] &= fasttree_outside_byte((const uint8_t *) codes + 64 * w, (uint8_t) low, (uint8_t) span);
        else if (width == 2)
            for (w = 0; w < n_words; w++)
                bits[w] &= fasttree_outside_short((const uint16_t *) codes + 64 * w, (uint16_t) low, (uint16_t) span);
        else
            for (w = 0; w < n_words; w++)
                bits[w] &= fasttree_outside_long((const uint32_t *) codes + 64 * w, low, span);
    }

    static inline uint64_t fasttree_any(const uint64_t *words)
    {
        uint64_t any = words[0];
        int w;
        for (w = 1; w < FASTTREE_WORDS; w++) any |= words[w];
        return any;
    }

    static inline fasttree_words *fasttree_times(const fasttree_failures *f, int64_t first)
    {
        return (fasttree_words *) (f->digits + 2 * first * f->n_digits);
    }

    static inline void fasttree_flip_which(
        const fasttree_failures *f, int32_t number, fasttree_words *times, const uint64_t *fails)
    {
        fasttree_words *which = times + f->n_digits;
        for (; number; number >>= 1, which++)
            if (number & 1) *which ^= FASTTREE_SEEN(fails);
    }

    /* Add condition `number` to the numbers of all samples (flip 0), or take it away (flip ~0). */
    FASTTREE_WIDE static void fasttree_count_condition(
        const fasttree_failures *f, int32_t number, int32_t n_digits, uint64_t flip)
    {
        const uint64_t *fails = f->failing + number * f->n_words;
        int64_t first;
        for (first = 0; first < f->n_words; first += FASTTREE_WORDS, fails += FASTTREE_WORDS) {
            fasttree_words *times = fasttree_times(f, first), carry;
            int32_t digit;
            if (!fasttree_any(fails)) continue;
            carry = FASTTREE_SEEN(fails);
            for (digit = 0; digit < n_digits; digit++) {
                fasttree_words old = times[digit];
                times[digit] = old ^ carry;
                carry &= old ^ flip;
            }
            fasttree_flip_which(f, number, times, fails);
        }
    }

    /* Put the words of a group with samples that fail one condition alone behind n others.  No jump: which have any is random. */
    static inline int64_t fasttree_wait(uint64_t *waiting, int64_t n, int64_t first, const fasttree_words *alone)
    {
        int w;
        for (w = 0; w < FASTTREE_WORDS; w++) {
            waiting[2 * n] = FASTTREE_WORD(*alone, w);
            waiting[2 * n + 1] = (uint64_t) (first + w);
            n += FASTTREE_WORD(*alone, w) != 0;
        }
        return n;
    }

    /* Add the weight of the samples of n words that fail one condition alone to the condition's.  Where neighbours are alike, one
       condition has most of a word. */
    static inline void fasttree_tally(const fasttree_failures *f, int64_t n, const fasttree_sides *sides)
    {
        const uint64_t *waiting = f->waiting, *end = waiting + 2 * n;
        for (; waiting < end; waiting += 2) {
            int64_t at = (int64_t) waiting[1], w = (int64_t) (waiting[1] % FASTTREE_WORDS);
            const uint64_t *from = f->digits + (2 * (at - w) + FASTTREE_WORDS) * f->n_digits + w;
            int64_t *weights = sides->alone[at >= sides->start && at < sides->stop];
            uint64_t alone = *waiting;
            do {
                const uint64_t *which = from;
                int bit = fasttree_lowest_bit(alone);
                int32_t digit, number = 0;
                uint64_t same;
                for (digit = 0; digit < f->n_digits; digit++, which += FASTTREE_WORDS)
                    number |= (int32_t) (*which >> bit & 1) << digit;
                same = alone & f->failing[number * f->n_words + at];
                alone ^= same;
                weights[number] += fasttree_weigh(f->weight, at, same);
            } while (alone);
        }
    }

    /* Copy the numbers of a path, and tally the samples that fail one condition; adds the weight of those that fail none. */
    FASTTREE_WIDE static void fasttree_begin(
        const fasttree_failures *f, const fasttree_failures *path, const fasttree_sides *sides, int64_t *passing)
    {
        int64_t first, n = 0;
        for (first = 0; first < f->n_words; first += FASTTREE_WORDS) {
            const fasttree_words *from = fasttree_times(path, first);
            fasttree_words *times = fasttree_times(f, first), none = ~FASTTREE_SEEN(f->padding + first), alone = none ^ none;
            int32_t digit;
            int w;
            for (digit = 0; digit < f->n_digits; digit++) {
                fasttree_words bits = from[digit];
                times[digit] = bits;
                times[f->n_digits + digit] = from[path->n_digits + digit];
                alone &= ~bits;
                if (!digit) alone = bits;
                none &= ~bits;
            }
            n = fasttree_wait(f->waiting, n, first, &alone);
            if (!FASTTREE_ANY(none)) continue;
            for (w = 0; w < FASTTREE_WORDS; w++)
                passing[first + w >= sides->start && first + w < sides->stop] +=
                    fasttree_weigh(f->weight, first + w, FASTTREE_WORD(none, w));
        }
        fasttree_tally(f, n, sides);
    }

    /* Take condition `number` away, and tally the samples that fail one other alone from now on. */
    FASTTREE_WIDE static void fasttree_drop(
        const fasttree_failures *f, int32_t number, int32_t n_digits, const fasttree_sides *sides)
    {
        const uint64_t *fails = f->failing + number * f->n_words;
        int64_t first, n = 0;
        for (first = 0; first < f->n_words; first += FASTTREE_WORDS, fails += FASTTREE_WORDS) {
            fasttree_words *times = fasttree_times(f, first), borrow, alone, now;
            int32_t digit;
            if (!fasttree_any(fails)) continue;
            borrow = FASTTREE_SEEN(fails);
            now = *times ^ borrow;
            alone = borrow & now;
            borrow &= ~*times;
            *times = now;
            for (digit = 1; digit < n_digits; digit++) {
                fasttree_words old = times[digit];
                times[digit] = now = old ^ borrow;
                borrow &= ~old;
                alone &= ~now;
            }
            fasttree_flip_which(f, number, times, fails);
            n = fasttree_wait(f->waiting, n, first, &alone);
        }
        fasttree_tally(f, n, sides);
    }

    /* Write the places of the samples that fail no condition, ascending; returns their number. */
    FASTTREE_WIDE static int64_t fasttree_list(const fasttree_failures *f, uint32_t *out)
    {
        int64_t n = 0, first;
        for (first = 0; first < f->n_words; first += FASTTREE_WORDS) {
            const fasttree_words *times = fasttree_times(f, first);
            fasttree_words some = FASTTREE_SEEN(f->padding + first);
            int32_t digit;
            int w;
            for (digit = 0; digit < f->n_digits; digit++) some |= times[digit];
            if (!FASTTREE_ANY(~some)) continue;
            for (w = 0; w < FASTTREE_WORDS; w++) {
                uint64_t word = ~FASTTREE_WORD(some, w);
                for (; word; word &= word - 1) out[n++] = (uint32_t) (64 * (first + w) + fasttree_lowest_bit(word));
            }
        }
        return n;
    }
    """
    ctypedef struct Failures "fasttree_failures":  # of the conditions of a path, or of those that are left of it
        uint64_t* digits       # of each group of words: how many conditions a sample fails, and which, added without carry
        const uint64_t* failing  # a row per condition: the samples that fail it
        const uint64_t* padding  # bits of no sample
        const int64_t* weight  # of each place, in units; NULL: every sample counts 1
        uint64_t* waiting      # words with samples that fail one condition alone, and behind each its number
        int64_t n_words
        int32_t n_digits
    ctypedef struct Sides "fasttree_sides":
        int64_t start          # the samples of one class are in words start, ..., stop - 1
        int64_t stop
        int64_t* alone[2]      # weight of the samples that fail a condition alone, of other classes and of this one
    void keep_outside "fasttree_keep_outside"(
        const uint8_t* codes, int32_t width, uint32_t low, uint32_t span, int64_t n_words, uint64_t* bits) noexcept nogil
    void count_condition "fasttree_count_condition"(
        const Failures* f, int32_t number, int32_t n_digits, uint64_t flip) noexcept nogil
    void begin "fasttree_begin"(const Failures* f, const Failures* path, const Sides* sides, int64_t* passing) noexcept nogil
    void drop "fasttree_drop"(const Failures* f, int32_t number, int32_t n_digits, const Sides* sides) noexcept nogil
    int64_t list_samples "fasttree_list"(const Failures* f, uint32_t* out) noexcept nogil
