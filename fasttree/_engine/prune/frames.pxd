"""What error-based pruning keeps, and the errors that it predicts (Quinlan 1993, chapter 4).  Header only."""

from cpython.pythread cimport PyThread_type_lock
from libc.math cimport exp, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from fasttree._engine.columns.cells cimport Cells
from fasttree._engine.walk.tree cimport Flat
from fasttree._engine.watch cimport Watch


cdef enum Mode:
    PRUNE                  # decide, and write down what the nodes hold
    EVALUATE               # only add up the errors
    ADD                    # the same, where the list is what changes in what the nodes hold, and what is divided in them

cdef enum FrameState:
    OPEN
    BELOW                  # its branches are being processed, one after the other
    COMPARED               # its heaviest branch was tried in its place
    RAISED                 # that branch was pruned once more with all samples

cdef enum:
    UNKNOWN = 0            # segment of a divided list; branch b has segment b + 1
    GROW_ANEW = 1          # what `prune_by_errors` returns if the top frame waits for a new subtree


cdef struct Part:          # of a sample that was divided above, or may be
    int64_t weight
    int64_t held           # what the nodes that it comes to hold of it already
    uint32_t row


cdef struct Frame:
    int32_t node
    int32_t mode
    int32_t phase
    int32_t branch         # in process
    int32_t heaviest       # branch
    bint clean             # no sample was divided here or below
    bint entered           # the branch in process waits for its result
    bint pooled            # its result does not count: it is one of the light branches
    bint counted           # the node's counts are those of its whole samples already
    bint settled           # C5.0: what is below was grown anew, or raised, and is not grown anew
    float leaf_errors
    double errors          # of the branches so far
    int64_t parts          # where the list starts and ends: parts of samples, then whole samples
    int64_t parts_stop
    int64_t rows
    int64_t rows_stop
    int64_t segments       # where the list's division is written down: bounds of the parts, bounds of the rows, weights
    int64_t known          # their sum
    int64_t total          # of all samples in the list
    int64_t parts_top      # parts in use before the branch in process
    int64_t above          # frame of the list that waits for this one
    int32_t waits          # lists that this one waits for, and one more until its own turn


cdef struct ErrorPruning:
    Flat tree              # as it was grown
    const Cells* columns
    const uint16_t* label
    const int64_t* weight  # of whole samples, fixed point; NULL: each is `whole`
    int64_t whole
    double unit
    int32_t n_classes
    double log_level       # of the confidence
    double coefficient     # squared normal quantile
    int64_t min_part       # lighter parts of a sample are not divided, fixed point
    bint c50               # the rules of C5.0
    bint grows_anew        # which grow some raised branches anew
    int64_t minimum        # C5.0: errors of lighter branches are predicted together, fixed point
    double class_weight[2]  # C5.0: by costs of two classes
    # the figures of the nodes, and their state
    int32_t* source        # node whose test and children are here
    uint8_t* leaf
    uint8_t* clean
    int64_t* counts        # node x class
    int64_t* total
    int64_t* arrived       # what came to the node by known values
    int64_t* n_samples
    float* errors          # predicted, of the subtree
    uint32_t* rows         # samples, in an order that changes, and room for as many that are added to a branch
    int64_t n_rows
    int* divided           # marks: samples that were divided at some node
    int* divides_rows      # mark: some of them are in `rows`
    int32_t* ends          # where whole samples end
    uint8_t* done          # subtrees that are pruned already, and wait for the nodes above; NULL: none is
    int64_t large          # 0, or samples in the largest list that is not divided yet, for threads
    PyThread_type_lock lock    # of what the lists wait for
    int* failed            # mark: the work of all threads is to end
    # scratch, as long as `rows`
    uint32_t* spare_rows
    int32_t* branch
    # scratch of each thread, up to the watch
    int64_t* here          # class weights
    int64_t* pools         # C5.0: those of the light branches, by frame
    Part* parts
    int64_t parts_n
    int64_t parts_capacity
    Part* spare_parts
    int32_t* part_branch
    int64_t spare_capacity
    Frame* frames
    int64_t frames_n
    int64_t frames_capacity
    int64_t* segments
    int64_t segments_n
    int64_t segments_capacity
    # a branch that is tried in its node's place
    int64_t trial          # frames up to its node's
    double tried           # errors of its leaves so far
    double enough          # errors that decide
    Watch watch


cdef inline float extra_errors(double log_level, float coefficient, float n, float errors) noexcept nogil:
    """Errors to be expected of n more such cases beyond those seen: upper limit of a binomial, Release 8's approximations.

    Every intermediate result is rounded where Release 8 stores it.
    """
    cdef float none, rate, width
    if errors < 1e-6:
        return <float> (n * (1 - exp(log_level / n)))
    if errors < 0.9999:
        none = extra_errors(log_level, coefficient, n, 0)
        return none + errors * (extra_errors(log_level, coefficient, n, 1) - none)
    if errors + 0.5 >= n:
        return <float> (0.67 * <float> (n - errors))
    width = n + coefficient
    rate = <float> ((
        errors + 0.5 + coefficient / 2
        + sqrt(coefficient * ((errors + 0.5) * (1 - (errors + 0.5) / n) + coefficient / 4))
    ) / width)
    rate = n * rate
    return rate - errors


cdef inline double extra_errors_c50(double log_level, double coefficient, double n, double errors) noexcept nogil:
    """The same in double precision, as in C5.0."""
    cdef double none, more, rate
    if n <= 0:
        return 0
    if errors < 1e-6:
        return n * (1 - exp(log_level / n))
    if errors < 0.9999 and n > 1:
        none = extra_errors_c50(log_level, coefficient, n, 0)
        return none + errors * (extra_errors_c50(log_level, coefficient, n, 1) - none)
    if errors + 0.5 >= n:
        return 0.67 * (n - errors)
    more = errors + 0.5
    rate = (more + coefficient / 2 + sqrt(coefficient * (more * (1 - more / n) + coefficient / 4))) / (n + coefficient)
    return n * rate - errors


cdef inline float predicted_errors(const ErrorPruning* p, const int64_t* counts) noexcept nogil:
    """Errors to be expected of a leaf with these class weights."""
    cdef int64_t total = 0
    cdef int64_t best = 0
    cdef int32_t k
    cdef float n, wrong
    cdef double of_hits, of_errors, errors
    for k in range(p.n_classes):
        total += counts[k]
        best = max(best, counts[k])
    if p.c50:
        of_hits, of_errors = p.class_weight[0], p.class_weight[1]
        if p.n_classes == 2 and counts[0] < best:
            of_hits, of_errors = of_errors, of_hits
        errors = <double> (total - best) * p.unit / of_errors
        return <float> (<double> (total - best) * p.unit + of_errors * extra_errors_c50(
            p.log_level, p.coefficient, <double> best * p.unit / of_hits + errors, errors))
    n = <float> (<double> total * p.unit)
    wrong = n - <float> (<double> best * p.unit)
    return wrong + extra_errors(p.log_level, <float> p.coefficient, n, wrong)


cdef inline int64_t whole_weight(const ErrorPruning* p, uint32_t row) noexcept nogil:
    return p.whole if p.weight == NULL else p.weight[row]
