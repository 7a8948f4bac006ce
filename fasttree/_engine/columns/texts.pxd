"""Columns of few distinct texts: each is found by its bytes.  Header only."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cdef enum:
    LOG_SLOTS = 11         # a few hundred texts leave most slots free
    SLOTS = 1 << LOG_SLOTS
    MOST_STEPS = 16        # from slot to slot; more are due to texts that differ in few places
    LONGEST = 1 << 30      # text, in bytes
    WORD = 8               # bytes
    MANY = -1              # texts differ
    OUTSIDE = -2           # of the bytes: a text


cdef struct Texts:
    const uint8_t* bytes
    int64_t n_bytes
    const int64_t* ends    # text i lies between ends[i] and ends[i + 1]
    const uint8_t* is_there
    int64_t n


cdef struct Slot:
    uint64_t head          # the first and the last bytes of the text, all if they are few
    uint64_t tail
    int64_t start
    int32_t size
    int32_t number         # of the text, from 1 on; 0: the slot is free


cdef inline uint64_t word_at(const uint8_t* bytes, size_t n) noexcept nogil:
    cdef uint64_t word = 0
    memcpy(&word, bytes, n)
    return word


cdef inline uint32_t slot_of(uint64_t head, uint64_t tail) noexcept nogil:
    cdef uint64_t hash = head * <uint64_t> 0x9E3779B97F4A7C15 ^ tail * <uint64_t> 0xD6E8FEB86659FD93
    return <uint32_t> (hash >> 64 - LOG_SLOTS)


cdef inline int32_t number_texts(const Texts* texts, int16_t* places, int64_t* first, int64_t most) noexcept nogil:
    """Number the texts as they occur, from 0 on, and list where each is `first`; the place of a row without one is -1.

    Returns how many differ; MANY if these are more than `most` or hard to tell apart; OUTSIDE.
    """
    cdef const uint8_t* bytes = texts.bytes
    cdef const int64_t* ends = texts.ends
    cdef Slot[SLOTS] slots
    cdef Slot* slot
    cdef uint8_t[2 * WORD] masks           # for each size below that of a word, its bytes
    cdef uint64_t head, tail, mask
    cdef int64_t i, start, size
    cdef int32_t steps
    cdef int32_t found = 0
    memset(slots, 0, sizeof(slots))
    memset(masks, 0, sizeof(masks))
    memset(masks, 0xFF, WORD)
    for i in range(texts.n):
        start = ends[i]
        size = ends[i + 1] - start
        if start < 0 or size < 0 or ends[i + 1] > texts.n_bytes:
            return OUTSIDE
        if size > LONGEST:
            return MANY
        places[i] = -1
        if not texts.is_there[i]:
            continue
        if start + WORD <= texts.n_bytes:        # no jumps: sizes are random
            mask = word_at(masks + WORD - min(size, <int64_t> WORD), WORD)
            head = word_at(bytes + start, WORD) & mask
            tail = word_at(bytes + start + max(size - WORD, <int64_t> 0), WORD) & mask
        else:
            head = tail = word_at(bytes + start, size)
        slot = &slots[slot_of(head, tail + <uint64_t> size)]
        steps = 0
        while slot.number:
            if slot.head == head and slot.tail == tail and slot.size == size and (
                    size <= 2 * WORD or not memcmp(bytes + slot.start + WORD, bytes + start + WORD, size - 2 * WORD)):
                break
            slot = slot + 1 if slot - slots < SLOTS - 1 else slots
            steps += 1
        if not slot.number:
            if found == most or steps > MOST_STEPS:
                return MANY
            slot.head, slot.tail, slot.start, slot.size = head, tail, start, <int32_t> size
            first[found] = i
            found += 1
            slot.number = found
        places[i] = <int16_t> (slot.number - 1)
    return found
