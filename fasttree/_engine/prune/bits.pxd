"""Sets of samples as rows of bits, and how many conditions each sample fails, as binary numbers across such rows.  Header only.

Eight words are looked at together, digit by digit, so that compilers make vectors of the loops; rows are padded to eight words.
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

    #define FASTTREE_WORDS 8
    #if defined(FASTTREE_PLAIN_C) || !defined(__GNUC__)
    #define FASTTREE_EACH(w) for (w = 0; w < FASTTREE_WORDS; w++)
    #else
    #define FASTTREE_EACH(w) _Pragma("omp simd") for (w = 0; w < FASTTREE_WORDS; w++)
    #endif

    typedef struct {
        uint64_t *times;            /* n_digits rows of n_words: how many conditions a sample fails */
        uint64_t *which;            /* as many: the numbers of these conditions, added without carry */
        const uint64_t *failing;    /* a row per condition: the samples that fail it */
        const uint64_t *padding;    /* bits of no sample */
        const int64_t *weight;      /* of each place, in units; NULL: every sample counts 1 */
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

    /* Add condition `number` to the numbers of all samples (flip 0), or take it away (flip ~0). */
    FASTTREE_WIDE static void fasttree_count_condition(
        const fasttree_failures *f, int32_t number, int32_t n_digits, uint64_t flip)
    {
        int64_t n = f->n_words, first;
        for (first = 0; first < n; first += FASTTREE_WORDS) {
            const uint64_t *fails = f->failing + number * n + first;
            uint64_t *times = f->times + first, *which = f->which + first;
            uint64_t carry[FASTTREE_WORDS], any = 0;
            int32_t digit;
            int w;
            for (w = 0; w < FASTTREE_WORDS; w++) any |= carry[w] = fails[w];
            if (!any) continue;
            for (digit = 0; digit < n_digits; digit++, times += n)
                FASTTREE_EACH(w) {
                    uint64_t old = times[w];
                    times[w] = old ^ carry[w];
                    carry[w] &= old ^ flip;
                }
            for (digit = 0; number >> digit; digit++, which += n)
                if (number >> digit & 1) FASTTREE_EACH(w) which[w] ^= fails[w];
        }
    }

    /* Add the weight of samples of word w that fail one condition alone to the condition's.  Where neighbours are alike, one
       condition has most of a word. */
    static inline void fasttree_tally(const fasttree_failures *f, int64_t w, uint64_t alone, int64_t *weights)
    {
        int64_t n = f->n_words;
        while (alone) {
            const uint64_t *which = f->which + w;
            int bit = fasttree_lowest_bit(alone);
            int32_t digit, number = 0;
            uint64_t same;
            for (digit = 0; digit < f->n_digits; digit++, which += n) number |= (int32_t) (*which >> bit & 1) << digit;
            same = alone & f->failing[number * n + w];
            alone ^= same;
            weights[number] += fasttree_weigh(f->weight, w, same);
        }
    }

    /* Copy the numbers of a path, and tally the samples that fail one condition; adds the weight of those that fail none. */
    FASTTREE_WIDE static void fasttree_begin(
        const fasttree_failures *f, const fasttree_failures *path, const fasttree_sides *sides, int64_t *passing)
    {
        int64_t n = f->n_words, first, offset;
        for (first = 0; first < n; first += FASTTREE_WORDS) {
            uint64_t alone[FASTTREE_WORDS], none[FASTTREE_WORDS];
            int32_t digit;
            int w;
            FASTTREE_EACH(w) {
                none[w] = ~f->padding[first + w];
                alone[w] = 0;
            }
            for (digit = 0, offset = first; digit < f->n_digits; digit++, offset += n) {
                uint64_t is_later = digit ? ~(uint64_t) 0 : 0;
                FASTTREE_EACH(w) {
                    uint64_t bits = path->times[offset + w];
                    f->times[offset + w] = bits;
                    f->which[offset + w] = path->which[offset + w];
                    alone[w] = is_later ? alone[w] & ~bits : bits;
                    none[w] &= ~bits;
                }
            }
            for (w = 0; w < FASTTREE_WORDS; w++) {
                int is_right = first + w >= sides->start && first + w < sides->stop;
                fasttree_tally(f, first + w, alone[w], sides->alone[is_right]);
                passing[is_right] += fasttree_weigh(f->weight, first + w, none[w]);
            }
        }
    }

    /* Take condition `number` away, and tally the samples that fail one other alone from now on. */
    FASTTREE_WIDE static void fasttree_drop(
        const fasttree_failures *f, int32_t number, int32_t n_digits, const fasttree_sides *sides)
    {
        int64_t n = f->n_words, first;
        for (first = 0; first < n; first += FASTTREE_WORDS) {
            const uint64_t *fails = f->failing + number * n + first;
            uint64_t *times = f->times + first, *which = f->which + first;
            uint64_t alone[FASTTREE_WORDS], borrow[FASTTREE_WORDS], any = 0;
            int32_t digit;
            int w;
            for (w = 0; w < FASTTREE_WORDS; w++) any |= fails[w];
            if (!any) continue;
            FASTTREE_EACH(w) {
                uint64_t old = times[w], now = old ^ fails[w];
                times[w] = now;
                borrow[w] = fails[w] & ~old;
                alone[w] = fails[w] & now;
            }
            for (digit = 1; digit < n_digits; digit++) {
                times += n;
                FASTTREE_EACH(w) {
                    uint64_t old = times[w], now = old ^ borrow[w];
                    times[w] = now;
                    borrow[w] &= ~old;
                    alone[w] &= ~now;
                }
            }
            for (digit = 0; number >> digit; digit++, which += n)
                if (number >> digit & 1) FASTTREE_EACH(w) which[w] ^= fails[w];
            any = 0;
            for (w = 0; w < FASTTREE_WORDS; w++) any |= alone[w];
            if (any)
                for (w = 0; w < FASTTREE_WORDS; w++)
                    fasttree_tally(f, first + w, alone[w], sides->alone[first + w >= sides->start && first + w < sides->stop]);
        }
    }

    /* Write the places of the samples that fail no condition, ascending; returns their number. */
    static int64_t fasttree_list(const fasttree_failures *f, uint32_t *out)
    {
        int64_t n = 0, w;
        int32_t digit;
        for (w = 0; w < f->n_words; w++) {
            uint64_t word = f->padding[w];
            for (digit = 0; digit < f->n_digits; digit++) word |= f->times[digit * f->n_words + w];
            for (word = ~word; word; word &= word - 1) out[n++] = (uint32_t) (64 * w + fasttree_lowest_bit(word));
        }
        return n;
    }
    """
    ctypedef struct Failures "fasttree_failures":  # of the conditions of a path, or of those that are left of it
        uint64_t* times        # n_digits rows of n_words: how many conditions a sample fails
        uint64_t* which        # as many: the numbers of these conditions, added without carry
        const uint64_t* failing  # a row per condition: the samples that fail it
        const uint64_t* padding  # bits of no sample
        const int64_t* weight  # of each place, in units; NULL: every sample counts 1
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
