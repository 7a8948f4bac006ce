"""The samples of a raised branch that C5.0 grows anew, by the branches of its test.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from fasttree._engine.prune.frames cimport ErrorPruning, Frame, whole_weight
from fasttree._engine.prune.routes cimport find_branches

cdef extern from *:
    """
    #define FASTTREE_ALMOST (1 - 1e-9)   /* of a weight, which may be a sum of rounded ones */
    """
    const double ALMOST "FASTTREE_ALMOST"


cdef struct NewBranch:         # of the test with which the node grows anew
    int64_t known              # weight of the samples whose value says so, fixed point
    int64_t stop               # of its samples among those of all branches
    uint16_t lowest            # class
    uint16_t highest


cdef struct SampleList:        # samples of a node, each once, by row
    int64_t n
    const uint32_t* row
    const int64_t* weight      # fixed point
    const int32_t* branch      # negative: not known
    double unit
    const uint16_t* label      # of all rows


cdef inline SampleList list_of(const ErrorPruning* p, int32_t node, int64_t n_rows, int64_t* scratch) noexcept nogil:
    """The samples of the top frame, and their branches at a node.

    `n_rows` are those of the table, and `scratch` has room for twice as many numbers as the frame has samples.
    """
    cdef const Frame* f = &p.frames[p.frames_n - 1]
    cdef int64_t n_parts = f.parts_stop - f.parts
    cdef int64_t n = n_parts + f.rows_stop - f.rows
    cdef uint32_t* present = <uint32_t*> p.branch  # a bit for each row
    cdef uint32_t* place = p.spare_rows            # in the frame's list, of the rows that are present
    cdef int64_t* weight = scratch
    cdef uint32_t* row = <uint32_t*> (scratch + n)
    cdef int32_t* branch = <int32_t*> row + n
    cdef uint32_t r, bits
    cdef int64_t i, word
    cdef SampleList samples
    memset(present, 0, (n_rows + 31) // 32 * sizeof(uint32_t))
    for i in range(n):
        r = p.parts[f.parts + i].row if i < n_parts else p.rows[f.rows + i - n_parts]
        present[r >> 5] |= <uint32_t> 1 << (r & 31)
        place[r] = <uint32_t> i
    samples.n = 0
    for word in range((n_rows + 31) // 32):
        bits = present[word]
        r = <uint32_t> (32 * word)
        while bits:
            if bits & 1:
                i = place[r]
                row[samples.n] = r
                weight[samples.n] = p.parts[f.parts + i].weight if i < n_parts else whole_weight(p, r)
                samples.n += 1
            bits >>= 1
            r += 1
    find_branches(p, node, row, sizeof(uint32_t), n, branch)
    samples.row, samples.weight, samples.branch = row, weight, branch
    samples.unit, samples.label = p.unit, p.label
    return samples


cdef inline int64_t open_branches(
    const SampleList* samples, NewBranch* branches, int32_t n_branches, int64_t* known,
) noexcept nogil:
    """Say what is known of each branch and of all, and where their samples start; returns where the last end."""
    cdef int64_t n_unknown = 0
    cdef int64_t start = 0
    cdef int64_t i, size
    cdef int32_t b
    memset(branches, 0, n_branches * sizeof(NewBranch))
    for i in range(samples.n):
        if samples.branch[i] >= 0:
            branches[samples.branch[i]].known += samples.weight[i]
            branches[samples.branch[i]].stop += 1
        else:
            n_unknown += 1
    known[0] = 0
    for b in range(n_branches):
        known[0] += branches[b].known
        size = branches[b].stop + (n_unknown if branches[b].known else 0)
        branches[b].stop = start
        branches[b].lowest = <uint16_t> -1
        start += size
    return start


cdef inline bint fill_branches(
    const SampleList* samples, NewBranch* branches, int32_t n_branches, int64_t known, int64_t* rows, double* weights,
    uint16_t* labels,
) noexcept nogil:
    """Write down the samples of each branch, by row; returns whether all have weight 1.

    A sample whose branch is not known is in each that has any, with the branch's share of it.
    """
    cdef bint are_ones = True
    cdef uint16_t label
    cdef double weight, share
    cdef int64_t i
    cdef int32_t b, first, stop
    for i in range(samples.n):
        label = samples.label[samples.row[i]]
        first, stop, share = samples.branch[i], samples.branch[i] + 1, 1
        if samples.branch[i] < 0:
            first, stop = 0, n_branches
        for b in range(first, stop):
            if samples.branch[i] < 0:
                share = <double> branches[b].known / <double> known
            if share == 0:
                continue
            weight = <double> samples.weight[i] * samples.unit * share
            rows[branches[b].stop], weights[branches[b].stop], labels[branches[b].stop] = samples.row[i], weight, label
            branches[b].stop += 1
            branches[b].lowest = min(branches[b].lowest, label)
            branches[b].highest = max(branches[b].highest, label)
            are_ones = are_ones and weight == 1
    return are_ones
