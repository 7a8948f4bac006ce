"""The memory of arrays that Python owns.  Header only."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from fasttree._engine.types cimport Column


cdef inline char* memory_of(object array) except NULL:
    """The memory of a contiguous writable array, which must outlive its use."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
    cdef char* memory = <char*> view.buf
    PyBuffer_Release(&view)
    return memory


cdef inline const void* bytes_of(object array) except NULL:
    """The memory of a contiguous array that is only read, and which must outlive its use."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_SIMPLE)
    cdef const void* memory = view.buf
    PyBuffer_Release(&view)
    return memory


cdef inline Column column_of(object values) except *:
    """The values of a column of floats, which must outlive their use."""
    cdef Py_buffer view
    cdef Column column
    PyObject_GetBuffer(values, &view, PyBUF_STRIDES)
    column.data = <const char*> view.buf
    column.stride = view.strides[0]
    column.is_double = view.itemsize == sizeof(double)
    PyBuffer_Release(&view)
    return column


cdef enum:
    LEAST_MAPPED = 1 << 20     # bytes
    LEAST_HUGE = 1 << 22       # from which pages of 2 MB are asked for: their first touch costs a tenth
    LEAST_SHELVED = 1 << 16    # of a shelf's pieces
    SHELF = 1 << 23


# The items of an array of one type, which must outlive their use; NULL if there are none, or no array.

cdef inline const uint8_t* uint8s_of(object array) except? NULL:
    cdef const uint8_t[::1] items = array
    return &items[0] if items is not None and items.shape[0] else NULL


cdef inline const int32_t* int32s_of(object array) except? NULL:
    cdef const int32_t[::1] items = array
    return &items[0] if items is not None and items.shape[0] else NULL


cdef inline const uint32_t* uint32s_of(object array) except? NULL:
    cdef const uint32_t[::1] items = array
    return &items[0] if items is not None and items.shape[0] else NULL


cdef inline const int64_t* int64s_of(object array) except? NULL:
    cdef const int64_t[::1] items = array
    return &items[0] if items is not None and items.shape[0] else NULL


cdef inline const double* doubles_of(object array) except? NULL:
    cdef const double[::1] items = array
    return &items[0] if items is not None and items.shape[0] else NULL


cdef inline object mapped(int64_t n, size_t size, object dtype):
    """An array of n items of `size` bytes; a large one goes back to the system when it is freed.

    glibc's malloc maps large pieces too, but only until one is freed: from then on it takes pieces of that size from its heap,
    and keeps them there.
    """
    import numpy as np
    cdef dict private = {}
    if n * <int64_t> size < LEAST_MAPPED:
        return np.empty(n, dtype)
    import mmap
    if hasattr(mmap, "MAP_PRIVATE"):   # else the pages of a copy by fork would be shared
        private["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    try:
        memory = mmap.mmap(-1, n * size, **private)
    except OSError:
        raise MemoryError from None
    if n * <int64_t> size >= LEAST_HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:                # a system without such pages
            pass
    return np.frombuffer(memory, dtype)


cdef inline object shelved(list shelf, int64_t n, size_t size, object dtype):
    """The same, but smaller arrays are pieces of a shelf: [memory, bytes in use], which is empty at first.

    The memory goes back to the system with the last of its pieces.
    """
    cdef int64_t n_bytes = n * <int64_t> size
    if n_bytes < LEAST_SHELVED or 4 * n_bytes > SHELF:
        return mapped(n, size, dtype)
    if not shelf or <int64_t> shelf[1] + n_bytes > SHELF:
        shelf[:] = [mapped(SHELF, 1, "u1"), 0]
    first = <int64_t> shelf[1]
    shelf[1] = first + (n_bytes + 63) // 64 * 64
    return shelf[0][first:first + n_bytes].view(dtype)


cdef inline object copied(const void* items, int64_t n, size_t size, object dtype):
    """Items of `size` bytes as a NumPy array."""
    import numpy as np
    return filled(np.empty(n, dtype), items, n * size)


cdef inline object filled(object array, const void* items, size_t n_bytes):
    """Fill an array with its items."""
    if n_bytes:
        memcpy(memory_of(array), items, n_bytes)
    return array


cdef inline void pick(const void* items, const int64_t* order, int64_t n, size_t size, char* out) noexcept nogil:
    cdef int64_t i
    if size == 4:
        for i in range(n):
            (<uint32_t*> out)[i] = (<const uint32_t*> items)[order[i]]
    elif size == 8:
        for i in range(n):
            (<uint64_t*> out)[i] = (<const uint64_t*> items)[order[i]]
    else:
        for i in range(n):
            memcpy(out + i * size, <const char*> items + order[i] * size, size)
