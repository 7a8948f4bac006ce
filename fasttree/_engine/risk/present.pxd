"""Search of a node with the classes that occur in it alone.  Header only.

A node of a few samples has a few classes, but sums over classes would take all of the table.  Their numbers are those among the
classes that occur, in the same order: what is left out adds nothing to any sum, so gains stay the same bit by bit.
"""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t

from fasttree._engine.types cimport MDL_RATIO, MERGED, Block, Problem, Scratch, Search, Totals


cdef inline bint numbers_classes(const Problem* p) noexcept nogil:
    """Are classes numbered anew in each node?

    Where features compete by C4.5's and C5.0's rules, which search all of them.  The merging of categories looks at classes of
    hardly any weight by their number.
    """
    return (
        p.n_classes > 2 and p.n_outputs == 1 and (p.release8 or p.rank == MDL_RATIO)
        and p.nominal != MERGED and p.ordinal != MERGED
    )


cdef struct Present:               # what a search reads in place of the originals
    Problem problem
    Block block
    Totals totals


cdef inline bint number_classes(
    const Problem* p, const Block* block, Scratch* s, const Search* search, Present* out,
) noexcept nogil:
    """Number the classes of a node; False if all of the table occur."""
    cdef const Totals* totals = search.totals
    cdef int32_t n = 0
    cdef int32_t k
    cdef int64_t i
    cdef uint32_t row
    for k in range(p.n_classes):
        s.number_of[k] = 0             # a sample of no weight may have a class that does not occur
        if totals.counts[k]:
            s.number_of[k] = <uint16_t> n
            s.present[n] = k
            s.some[n] = totals.counts[k]
            n += 1
    if n == p.n_classes:
        return False
    for i in range(totals.n):
        row = search.rows[i]
        s.label[row] = s.number_of[block.label[row]]
    out.problem = p[0]
    out.problem.present = s.present
    out.problem.n_classes = out.problem.n_counts = out.problem.width = n
    out.block = block[0]
    out.block.label = s.label
    out.totals = totals[0]
    out.totals.counts = s.some
    return True
