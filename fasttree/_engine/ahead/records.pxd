"""Records of a search that looks ahead.  Header only."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    SIGNED = 0
    GINI = 1
    ENTROPY = 2
    ERRORS = 3
    ABSOLUTE = 4

cdef enum:
    FIRST_CUTS = 12                # of a root that are searched first
    MOST_RECORDS = 1024            # cuts of a root whose risks by each second view are kept
    RANKS_AT_ONCE = 8              # of a second view, between two that are scanned first
    CELLS_AT_ONCE = 4000000        # of work between two looks for signals


cdef struct AheadTest:                    # a test, and how it competes
    double two, own                # gains of the best tree of two levels with this root, and of the root
    int32_t view, cut
    int32_t feature, place         # order of equal ones


cdef struct AheadSums:                    # of the tests of a second view, lane by lane: before the root's cut, and of all rows
    const double* sums
    const double* whole
    int32_t stride, whole_stride


cdef struct AheadSearch:
    int32_t n_rows, n_views, n_classes, kind
    bint weighted
    const int32_t* code            # (views, rows)
    const uint8_t* nominal         # (views)
    const uint8_t* is_second       # (views): the second view of a feature with missing values, where they come first
    const int32_t* missing         # (views): the code of missing values, -1 if there are none
    const int32_t* feature         # (views)
    const int32_t* label           # (rows): class
    const double* amount           # (rows)
    const double* weight           # (rows)
    const double* logs
    int64_t n_logs
    double least, lightest, min_split
    # the node
    int32_t lanes, width           # classes that occur, or 1; with weight and, if samples are weighted, size
    double slack
    int32_t n
    const int32_t* row             # (n): all others count from 0 within the node
    int32_t* order                 # (slots, n): rows by rank
    int32_t* rank                  # (slots, n): codes that occur, counted from 0
    int32_t* n_ranks               # (views)
    int32_t* slot                  # (views): where order and rank of a view are; -1: it is constant
    double worth, own_gain, tie
    double grain                   # of shares and means: smaller differences are rounding
    AheadTest best
    # scratch
    int32_t* lane_of               # (classes)
    int32_t* node_label            # (rows): lane
    double* node_amount
    double* node_weight
    int32_t* label_along           # (rows): in the order of a root
    double* pair_along             # (rows, 2): amounts and weights
    double* totals                 # (width)
    double* rest                   # (width)
    int64_t* first                 # (views): where the cuts of a view are
    int32_t* ends                  # (cuts of all views): rows up to a cut
    double* own                    # gain of each cut, -inf if a branch is too small
    double* whole                  # (width of each): sums up to each rank
    double* best_own               # (views)
    double* counts                 # (width, ranks); if SIGNED, amounts and weights in turn
    double* sums                   # (width, cuts)
    double* pairs                  # (4, cuts)
    double* coarse                 # (2 width + 2, blocks of cuts)
    int32_t* by_gain               # (views): those that are not constant, by the gains of their best cuts
    int32_t n_by_gain
    double* records                # (views, MOST_RECORDS, 2): bounds of the risks before and behind a cut, by each second view
    int32_t n_records
    int32_t* record                # (rows): number of a cut's record, or -1
    int32_t* cuts                  # (rows): those that are searched next
    int32_t* near                  # (rows, 2): their known neighbours, or -1
    double* added                  # (rows, 2): what the rows up to these add to the risk of a side at most
    uint8_t* skipped               # (rows)
    double* gains                  # (4, rows): of the best pairs before and behind them, of any size and with large leaves
    double* left                   # (rows): risks before a cut; -inf: unknown
    double* right
    double* worth_before
    double* share                  # (rows)
    int32_t* place                 # (rows)
    int64_t cells
