"""Locks of threads that grow one tree: those of Python, which threads may hold without the interpreter.  Header only.

A growth of one thread has none: NULL.
"""

cdef extern from "Python.h":
    ctypedef void* Lock "PyThread_type_lock"
    Lock new_lock "PyThread_allocate_lock"() noexcept
    void free_lock "PyThread_free_lock"(Lock lock) noexcept
    int wait_for "PyThread_acquire_lock"(Lock lock, int waits) noexcept nogil
    int wait_some "PyThread_acquire_lock_timed"(Lock lock, long long microseconds, int interruptible) noexcept nogil
    void let_go "PyThread_release_lock"(Lock lock) noexcept nogil


cdef inline void hold(Lock lock) noexcept nogil:
    if lock != NULL:
        wait_for(lock, 1)


cdef inline void release(Lock lock) noexcept nogil:
    if lock != NULL:
        let_go(lock)
