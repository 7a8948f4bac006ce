"""The fields of `Encoding`, which growth reads."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fasttree._engine.columns.cut_points cimport CodeGrid
from fasttree._engine.memory cimport ListRoom
from fasttree._engine.types cimport Arena, Block, Column, Problem

cdef void* pieces                  # memory that waits, for encodings and for growth, which takes over theirs


cdef class Encoding:
    cdef readonly uint32_t n_samples
    cdef readonly int32_t n_features
    cdef readonly uint32_t block_rows
    cdef readonly bint bounded
    cdef bint wide
    cdef bint used_up              # growth has taken the lists
    cdef int32_t most_codes
    cdef int32_t n_counted
    cdef Arena arena               # narrow: room for the first node, then the lists
    cdef size_t cursor             # end of the lists in the arena
    cdef ListRoom room             # wide: for those that follow
    cdef size_t* lists             # offset in the arena, or address (wide); 0 = none
    cdef Arena codes               # of counted features, column by column
    cdef uint8_t* kind
    cdef uint8_t* counted
    cdef uint32_t* n_codes
    cdef int32_t* slot
    cdef Column* exact
    cdef uint8_t* tiles            # bounded: codes of all features
    cdef uint8_t* binned
    cdef uint8_t* single_valued    # feature x 256
    cdef Column* column            # of a binned feature
    cdef CodeGrid* grid            # bounded: of features that are encoded by rows
    cdef uint8_t* has_grid
    cdef const uint32_t** category
    cdef uint64_t* records
    cdef uint64_t* spare
    cdef Arena sorting             # narrow: where both are
    cdef list kept
    cdef object lock               # of what features that are added side by side share
    cdef bint apart                # features may be added by several threads, and have memory of their own until they are kept

    cdef int take_rows(
        self, int32_t feature, const int64_t[::1] rows, const uint32_t[::1] place, Encoding found, int32_t to
    ) except -1
    cdef size_t tile_row(self) noexcept
    cdef void free_sorting_space(self) noexcept
    cdef void* room_for_list(self) except NULL
    cdef void keep_list(self, int32_t feature, void* entries) noexcept
    cdef int take_slot(self, int32_t feature, int64_t n_codes, const uint8_t* own=*) except -1
    cdef int keep_codes(self, int32_t feature, const uint8_t* codes, int64_t n_codes) except -1
    cdef uint8_t* larger_codes(self) noexcept
    cdef uint8_t* next_column(self) except NULL
    cdef void describe(self, Problem* p, Block* block) noexcept
    cdef int lend(self, size_t* lists, Arena* arena, bint consume) except -1
