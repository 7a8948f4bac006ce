"""Sums of the sizes of any doubles, without rounding: no order of the terms changes them.  Header only.

A sum is a number in base 2^32 whose last digit counts units of 2^-1074, the smallest positive double.  A double is a whole number
of them and falls into three adjacent digits.  Digits are wider than their base, so 2^31 terms fit without a carry.  Many terms
are first added by exponent, which shifts no bits (Neal 2015, "Fast exact summation using small and large superaccumulators").
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset


cdef enum:
    DIGITS = 67                        # the largest sum of 2^31 doubles has its first bit in the last of them
    FEW_TERMS = 1024                   # for which a table by exponent takes longer
    EXPONENTS = 2048
    HALF = 26                          # bits of the lower half of a double


cdef inline uint64_t exponent_of(double x) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &x, sizeof(double))
    return bits >> 52 & 0x7FF


cdef inline uint64_t units_of(double x, uint64_t exponent) noexcept nogil:
    """The size of a finite double in units of its last bit, fewer than 2^53."""
    cdef uint64_t bits
    memcpy(&bits, &x, sizeof(double))
    return (bits & ((<uint64_t> 1 << 52) - 1)) | <uint64_t> (exponent != 0) << 52


cdef inline void add_units(int64_t* digits, uint64_t units, uint64_t exponent, uint64_t shift) noexcept nogil:
    """Add units of the last bit of doubles with this exponent, times 2^shift."""
    cdef uint64_t place = exponent - (exponent != 0) + shift
    digits += place >> 5
    place &= 31
    digits[0] += <uint32_t> (units << place)
    units >>= 32 - place
    digits[1] += <uint32_t> units
    digits[2] += <int64_t> (units >> 32)


cdef inline void add_size(int64_t* digits, double x) noexcept nogil:
    cdef uint64_t exponent = exponent_of(x)
    add_units(digits, units_of(x, exponent), exponent, 0)


cdef inline void add_many_sizes(int64_t* digits, const char* x, Py_ssize_t stride, Py_ssize_t n) noexcept nogil:
    """Add the sizes of n doubles, at most 2^31."""
    cdef uint64_t low[EXPONENTS]
    cdef uint64_t high[EXPONENTS]
    cdef uint64_t exponent, units
    cdef Py_ssize_t i
    memset(low, 0, sizeof(low))
    memset(high, 0, sizeof(high))
    for i in range(n):
        exponent = exponent_of((<const double*> (x + i * stride))[0])
        units = units_of((<const double*> (x + i * stride))[0], exponent)
        low[exponent] += units & ((1 << HALF) - 1)
        high[exponent] += units >> HALF
    for i in range(EXPONENTS - 1):
        if low[i] | high[i]:
            add_units(digits, low[i], <uint64_t> i, 0)
            add_units(digits, high[i], <uint64_t> i, HALF)
