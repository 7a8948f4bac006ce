"""Records of a search for the best tree.  Header only."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint64_t

cdef enum:
    SIGNS = 0
    SCORES = 1
    SQUARES = 2

cdef enum:
    ORDERED = 0
    ONE_AGAINST_REST = 1

cdef enum:
    MOST_LEVELS = 4
    MOST_TESTS = 15                # of a tree of as many levels
    FIRST_CUTS = 2                # of a root that are scanned first
    CELLS_AT_ONCE = 1000000        # of work between two looks at the clock
    WAYS = 4                       # places of a result in the cache
    FIRST_RESULTS = 1024           # places of a lane's cache, which grows when half of them are taken
    SIMILAR = 64                   # sets of rows of each depth, at most, that bound others
    LANES = 8                      # searches side by side, in as many threads at most
    AHEAD = 8                      # roots of a search of four levels of which both sides look ahead
    AT_ONCE = 16                   # cuts of the root that are searched between two looks at the best tree
    WIDE = 4                       # cuts that are worth a second side
    MARGIN = 20                    # budgets rise by a share of the rows: exact results above them spare more cuts than they cost
    GROUPS = -1                    # code of a test of two groups of categories

ctypedef fused cell_t:
    int16_t
    int32_t
    double


cdef struct LevelTest:
    int32_t view                   # -1: a leaf
    int32_t code                   # the last code of the first branch, or the code against the rest, or GROUPS


cdef struct FoundTree:                 # by a search of a node
    double value                   # of the best tree that costs less than was allowed; infinity if there is none
    double low                     # no tree costs less, with leaves of any size
    LevelTest tests[MOST_TESTS]         # of that tree: the root, its branches, theirs


cdef struct KeptResult:                # in the cache
    uint64_t key[2]
    double value
    double low
    int32_t depth                  # 0: free
    LevelTest tests[7]


cdef struct SimilarRows:            # a set of rows that was searched
    double high                    # the largest of the bounds of its roots
    double worth


cdef struct LevelNode:
    int32_t n                      # rows
    double worth
    uint64_t key[2]
    int32_t* row                   # (n): rows of the table, ascending; all others count from 0 within the node
    int32_t* order                 # (views, n): rows by rank
    int32_t* rank                  # (views, n): codes that occur, counted from 0
    int32_t* code                  # (views, n): the code of each rank
    int32_t* n_ranks               # (views)
    uint8_t* active                # (views): whether there are two ranks, and the view differs from those before
    double* sums                   # (lanes)


cdef struct SideSums:                  # of the rows of a side
    int32_t n
    double worth, mass
    double total[1024]             # (lanes)


cdef struct CutRange:                  # an interval of cuts of a root, with its known neighbours
    int32_t low, high              # inclusive
    double near_left, far_left     # costs before the cut below `low`, and before that above `high`
    double near_right, far_right   # costs behind the cut above `high`, and behind that below `low`
    double worth_low, worth_high   # worth of the rows before these two neighbours


cdef struct SearchedRoot:                  # of a tree of three or more levels
    int32_t view
    int32_t n_cuts
    int depth
    double* worth_before           # (cuts)
    CutRange* stack                    # (cuts + 2)
    const CutRange* cuts           # the interval of the cut that is searched, or NULL


cdef struct OpenCuts:                  # of a root of the whole tree, of three or more levels
    double bound                   # no tree by one of the cuts costs less
    int64_t turn                   # equal bounds go in the order in which they were found
    int32_t view
    int32_t start                  # the cut to be searched first; -1: the middle one
    CutRange cuts


cdef struct RootCut:                   # that is searched
    OpenCuts of
    int32_t cut
    double low[2]                  # bounds of the costs of both sides
    FoundTree found


cdef struct TreeSearch:
    int32_t n_rows, n_views, lanes, kind
    const uint8_t* nominal         # (views)
    const int32_t* missing         # (views): the code of missing values if they alone make the view differ, else -1
    const int64_t* offset          # (views + 1): codes of the views before
    const int32_t* label           # (rows): lane of a row
    const double* amount           # (rows)
    const double* weight           # (rows)
    const double* score            # (classes, lanes) or NULL: amounts of a class in all lanes
    const double* worth            # (rows)
    const uint64_t* number         # (rows, 2): random
    double penalty, slack, tolerance, unit
    double same_worth              # of each row, or 0
    int32_t min_leaf               # rows
    double min_weight              # of a leaf
    bint has_least                 # whether a leaf may be too small
    bint has_groups                # whether a view may have tests of groups of categories
    LevelNode nodes[MOST_LEVELS]     # the last one, of all rows, is that of all lanes
    # scratch
    int32_t* local                 # (rows)
    uint8_t* side                  # (rows)
    int32_t* label_along           # (rows)
    void* amount_along             # (rows)
    double* weight_along           # (rows)
    int32_t* cuts                  # (rows): those that are scanned next
    int32_t* ends                  # (rows)
    double* left                   # (rows + 1): cost before a cut; negative: unknown
    double* right
    double* worth_before
    double* gain_left              # (rows): gains of the best pairs
    double* gain_right
    void* counts                   # (rows + 1, lanes)
    void* prefix
    void* totals                   # (codes of all views, lanes)
    void* before                   # (rows, 2, lanes): sums before and behind each cut
    void* best_pairs               # (5, rows + 1)
    double* sums                   # (rows + 1, lanes)
    int32_t* sizes                 # (rows + 1)
    double* masses                 # (rows + 1)
    double* share                  # (rows + 1): what categories are sorted by
    int32_t* sorted                # (rows + 1)
    double* pairs                  # (rows + 1, 2): sums of sorted categories
    double* root_low               # (levels, views + 1): no tree with a root costs less; the last one: of one level
    double* profile                # (views): cost of the best tree of two levels with each root
    int32_t* profile_cut
    double* saved_profile          # (levels, views): `profile` of the nodes that are open
    int32_t* saved_cut
    double* saved_worth            # (levels, rows + 1)
    CutRange* stack                    # (levels, rows + 2)
    # cache
    KeptResult* results
    uint64_t n_results             # places
    uint64_t n_kept                # of them that are taken
    uint64_t most_results          # places at most
    int64_t n_words                # of 64 bits, one a row
    uint64_t* bits                 # (levels, words): rows of the nodes that are open
    SimilarRows* similar           # (2, sets): the sets of rows that were searched last for two and three levels, in turn
    uint64_t* similar_bits         # (2, sets, words)
    double* similar_low            # (2, sets, views + 1): bounds of their roots
    int64_t most_similar           # sets of a level at most
    int64_t n_similar[MOST_LEVELS]     # how many were
    # state
    int64_t cells
    bint over
    void* watcher
    bint (*ask)(void* watcher) noexcept nogil      # is the search to end?
