"""Enums, records, list entries and words for the compiler that the chapters of the engine share.  Header only."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from fasttree._engine.watch cimport Watch

cdef extern from *:
    """
    /* Before the declaration of a C function: compile it also for processors with wide registers, and choose when the module is
       loaded.  It is for loops that gain by it as measured, and whose results do not depend on the width.  GCC does it on x86-64
       where the C library resolves symbols indirectly; elsewhere the word means nothing. */
    #include <stdint.h>
    #if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) \
        && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(FASTTREE_PLAIN_C)
    #define FASTTREE_WIDE __attribute__((target_clones("arch=x86-64-v3", "default"), flatten))
    #else
    #define FASTTREE_WIDE
    #endif

    /* Prefetch memory that is read soon.  Where the compiler cannot do so, only time is lost. */
    #if (defined(__GNUC__) || defined(__clang__)) && !defined(FASTTREE_PLAIN_C)
    #define fasttree_prefetch(place) __builtin_prefetch(place)
    #else
    #define fasttree_prefetch(place) ((void) 0)
    #endif
    """
    void prefetch "fasttree_prefetch"(const void* place) noexcept nogil


# A presorted list holds, for every sample of a node, code << half | row in ascending order of the feature's value:
# 16 + 16 bits inside a block of at most 65,535 rows, 32 + 32 bits above it.  Code 0 = missing, so missing values come first.
ctypedef fused entry_t:
    uint32_t
    uint64_t

ctypedef fused real_t:
    float
    double

ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t

cdef enum FeatureKind:
    CONTINUOUS
    ORDINAL
    NOMINAL

cdef enum NominalForm:
    DECLARED      # a branch per declared category
    PRESENT       # a branch per category that occurs in the node
    SUBSET        # two groups of categories
    ONE_VS_REST   # one category against the others
    ORDERED       # a threshold on the code (ordinal features)
    MERGED        # any number of groups of categories, merged greedily (C4.5)
    INTERVALS     # adjacent intervals of values, merged from the bottom (ChiMerge)

cdef enum MissingPolicy:
    REFUSE
    FRACTIONAL    # to every branch, with a share of the weight
    DIRECTION     # to the side that gained most
    MAJORITY      # to the branch of most known weight
    OWN_BRANCH    # to a branch of their own
    SURROGATE     # by the test of another feature that imitates this one

# How the gain of a candidate is computed while a list is swept.
cdef enum Sweep:
    LINEAR        # two classes and Gini, or squared error: the gain is a square of a linear form
    SQUARES       # Gini of many classes, unweighted: running sums of squares
    TABLE         # entropy, unweighted: running sums of a fixed-point table of x log2 x
    GENERIC       # from the class weights, at every candidate
    DEVIANCE      # Poisson: from the sum of the targets
    MEDIANS       # absolute error: from trees of prefix sums over the ranked targets
    OUTPUTS       # several targets: from the class weights or the sums of each, at every candidate

cdef enum CutForm:
    NO_CUT
    THRESHOLD_CUT
    KNOWN_CUT
    GROUP_CUT      # two groups of categories
    BRANCH_CUT     # a branch per category
    MERGE_CUT      # a branch per group of categories; the last one may take those in no group
    INTERVAL_CUT   # a branch per interval of values

cdef enum Rank:        # how the splits of different features compete
    GAIN
    GAIN_RATIO    # among the gains of at least average
    PLAIN_RATIO
    MDL_RATIO     # C5.0: among the gains above a bound of message length, or of at least average in small tables

cdef enum GroupOrder:  # how a division into two groups of categories was found; 0, 1, ...: by the share of that class
    BY_MEAN = -1
    BY_PRINCIPAL = -2
    BY_PARTITION = -3  # every partition was tried
    BY_SINGLE = -4     # one against the rest
    BY_CODE = -5       # the first ones, where no division gains anything
    BY_CHANCE = -6     # each group on a random side

cdef enum HistogramKind:   # what a cell of a node's histogram holds, if nodes have one
    NO_HISTOGRAM
    PAIRS              # samples, and in the upper half those of class 1 (uint64)
    CLASSES            # samples of each class (uint32)
    WEIGHTS            # samples, then the weight of each class (int64)
    MOMENTS            # samples, sum of the targets; in coarse quanta the sum of their squares, and their sum (int64)

cdef enum NodeKind:
    NODE_LEAF
    NODE_THRESHOLD
    NODE_NOMINAL
    NODE_CATEGORY
    NODE_KNOWN
    NODE_INTERVALS

cdef enum:
    TO_SHARES = -1
    TO_STOP = -2
    TO_HEAVIEST = -3       # Cut.missing: to the branch of most known weight, the last on a tie
    MOST_ENDS = 2048       # of stretches of a list
    CHUNK = 512            # candidates evaluated at a time: three arrays of doubles stay in the first-level cache
    FEW = 255              # a feature with at most this many categories or values is counted by code
    SQUARED = 16           # classes up to which the principal axis is found by squaring the covariance
    EXHAUSTIVE = 10        # categories up to which every partition of more than two classes is tried
    TWIG = 24              # samples up to which a node keeps its lists for all that grows on it
    NARROW = 65535         # rows of a block with 16-bit entries
    UNDECIDED = 2          # from here on a byte says no side of two
    STAY = 2147483646      # branch of a sample that goes to no child
    SPREAD = 2147483647    # branch of a sample that goes to every child


cdef extern from *:
    """
    /* Gains within this of the largest, relative to it and to the node's risk, are ties. */
    #define FASTTREE_RELATIVE_TIE 1e-10
    #define FASTTREE_RISK_TIE 1e-13
    /* Quinlan's Epsilon; and values closer than the gap, in single precision, are one value for C4.5. */
    #define FASTTREE_RELEASE8_TOLERANCE 1e-3
    #define FASTTREE_RELEASE8_GAP 1e-5
    """
    const double RELATIVE_TIE "FASTTREE_RELATIVE_TIE"
    const double RISK_TIE "FASTTREE_RISK_TIE"
    const double RELEASE8_TOLERANCE "FASTTREE_RELEASE8_TOLERANCE"
    const double RELEASE8_GAP "FASTTREE_RELEASE8_GAP"


cdef struct Cut:
    double gain            # in risk units: what competes
    double first_gain      # gain of the candidate at `position`
    double penalty         # of a threshold among many, in risk units (Release 8)
    double split_info      # bits x weight of the branches, missing one of them (gain ratio)
    float single_gain      # release8: gain per case, less the penalty of a threshold
    float single_info
    int64_t position       # the last of branch 0: list position, code, place in an order of groups, or a place in a bin
    uint64_t mask          # GROUP_CUT over an exhaustive search: groups of branch 0
    uint64_t key           # of a bin (whose code is at >> 32) the largest key of branch 0; BY_CHANCE: of the sides
    int32_t feature
    int32_t form
    int32_t order          # GROUP_CUT: how the groups were ordered
    int32_t n_branches     # BRANCH_CUT, MERGE_CUT, INTERVAL_CUT
    int32_t missing        # branch of missing values, or TO_HEAVIEST; -1: none seen, or shared out
    bint ambiguous         # an earlier candidate may lie inside the tie tolerance of the best
    bint whole             # all samples of the node are known to have a value


cdef struct Totals:
    int64_t n              # samples
    int64_t weight         # fixed point
    int64_t sum            # of the target, fixed point (regression)
    int64_t* counts        # weight per class, or of several targets the sum of each, fixed point
    double risk
    double low             # monotone constraints: what the values below must not leave
    double high


cdef struct Exact:                 # a sum of doubles bounded by `bound`, in two fixed-point halves
    int64_t high
    int64_t low
    double scale_high
    double scale_low


cdef struct Column:                # values at regular distances
    const char* data
    Py_ssize_t stride
    bint is_double                 # else float


cdef struct FeatureSets:           # sets of features that may be on one path
    const int64_t* sets_start      # by feature: the sets it is in
    const int32_t* sets_of
    const int64_t* members_start   # by set: its features
    const int32_t* members
    bint pairwise                  # any two features, instead of these sets
    int32_t* path                  # scratch: features
    int32_t* hits                  # scratch: sets, all 0


cdef struct Block:
    uint32_t n
    const uint16_t* label          # sample x target: column of its class in the counts
    const double* y                # sample x target
    int64_t* ysum                  # weight x (target less its centre), fixed point
    const uint32_t* target_rank    # absolute error: rank of the target in the table
    int64_t* weight                # of the part of a sample that is in the node in hand; NULL: every sample counts 1
    int64_t* case_weight           # of the whole sample: for surrogates before priors and costs; NULL: every sample counts 1
    const uint32_t* origin         # sample of the table; NULL: the same
    const uint8_t* codes           # counted features, one column of n after the other
    const uint8_t* tiles           # bounded search: codes of all features, see scan/tiles.pxd; NULL: features have lists
    const uint8_t* single_valued   # bounded search: by feature and code, a bin that holds one value
    const uint16_t* fine           # of a private block: by feature and row the rank of the value; NULL: see Problem.column


cdef struct Weighed:               # some samples: weight, and weight x target in quanta of a node, less its median
    int64_t weight
    int64_t sum


cdef struct Medians:               # absolute error: one target of a node's samples
    uint64_t* records              # rank of the target in the table << 32 | row, ascending
    uint32_t* rank                 # by row: rank among the targets of the node, from 1
    int64_t* part                  # by row: weight x target
    uint32_t* place                # by row: place in the order of the targets, from 1
    int64_t* sorted                # by place: weight x target
    double* value                  # by rank: target
    int64_t n_ranks
    int64_t top                    # the largest power of two up to n_ranks; 0: the trees are not made yet
    Weighed* whole                 # by rank, as a tree of prefix sums: all samples,
    Weighed* left                  # those on one side of a cut
    Weighed* right                 # and on the other
    int64_t left_weight
    int64_t right_weight
    double risk                    # of what is divided, in quanta, less the sum of its targets
    double unit                    # weight x target of a quantum


cdef struct Parts:                 # absolute error: how a node's samples are divided; the targets share it
    const Block* block
    int64_t n                      # samples of the node
    uint64_t* spare                # for sorting
    uint32_t* rows                 # those whose value is missing, then group by group
    int64_t* start                 # first of each group in rows
    int64_t n_missing
    bint with_missing                 # whether what is divided holds those whose value is missing
    uint32_t* part_of              # by row
    int64_t* weight                # by part
    int64_t* passed
    double* gain                   # along a feature: of the cut after each sample
    uint8_t* bin                   # by row: that of the target, see `deviations`
    bint has_gains                 # whether these are known
    uint32_t* links                # by place the next and the one before, three times: of all samples, and of those on a side
    uint32_t* lower                # by part: the row of its lower median, and of its upper one
    uint32_t* upper


cdef struct Problem:
    int32_t n_features
    int32_t n_classes      # of all targets together; 0: regression
    int32_t n_outputs      # targets
    int32_t n_counts       # numbers in Totals.counts: n_classes, or n_outputs if those are several
    int32_t width          # statistics per group: n_counts, or 1
    int32_t all_classes            # of the table, where a search numbers those anew that occur in its node
    const int32_t* present         # by new number: class; NULL: the classes have their own numbers
    const int32_t* first_class     # of each target, and the end: columns of the counts
    int32_t impurity
    int32_t sweep
    int32_t nominal
    int32_t ordinal
    int32_t continuous             # ORDERED or INTERVALS
    int32_t missing
    int32_t rank           # a Rank: not 0 where the gain ratio counts
    bint release8
    bint random            # each feature has one random cut (Geurts, Ernst and Wehenkel 2006)
    bint weighted
    bint lazy              # a child's search may stop at a perfect split
    bint screens           # features that cannot win are found by a bound
    bint stretches         # and so are parts of lists
    bint several_lists     # more than one feature has a list in every node
    size_t cells           # bytes of the counts of all counted features; 0: they are not kept
    bint twigs             # small nodes are grown without lists of their own
    bint draws             # max_features < n_features
    double unit            # weight of one fixed-point quantum
    const double* y_unit   # of the fixed-point sums of each target
    const double* y_centre  # targets are summed less this
    double total_weight
    double n_cases         # weight of the whole training set, of which these samples may be some
    int64_t max_depth
    int64_t min_samples_split
    int64_t min_samples_leaf
    double min_weight_leaf
    double min_impurity_decrease
    double min_impurity
    double min_gain        # a cut needs more, by more than rounding
    double min_ratio       # likewise, of the gain ratio where it competes plainly
    double min_branch_weight
    double leaves_per_weight   # C5.0: bound of the leaves below a node, per weight of it; 0: none
    double bound_share         # C5.0: of the bound that a gain must reach
    double min_node_weight
    int32_t max_surrogates
    bint known_agreement   # of a surrogate: among samples that know both values, not all that know the node's own
    bint to_heavier        # samples on which no surrogate decides follow the heavier branch, else they stay
    int64_t min_part       # lighter parts of a sample are not divided, fixed point
    double min_share       # nor are parts of less than this share of a sample
    int32_t max_features
    const uint8_t* kind
    const uint8_t* counted
    const uint32_t* n_codes
    const int32_t* slot            # column of a counted feature in Block.codes
    const Column* exact            # C4.5's gap rule: values by code (counted) or by row (listed); data NULL where not needed
    const uint32_t** category      # listed nominal features: category code by row
    const int64_t* list_below      # nodes smaller than this get a list for a counted feature
    Medians* medians               # of each target; absolute error alone, as the next
    Parts* parts
    const Exact* zero              # of each target an empty sum of weight x target, scaled for the table
    const Exact* zero_deviation    # and of weight x deviation
    const int64_t* xlogx           # TABLE: x log2 x in fixed point
    double xlogx_unit
    const double* chords           # entropy of weights: see risk/chords
    const double* terms            # of whole counts in single precision: see risk/release8
    float least_difference         # INTERVALS: 1 + the chi-square that neighbours must exceed to stay apart
    int64_t max_intervals
    const int8_t* monotone         # by feature: whether values rise (1) or fall (-1) with it; NULL: in any order
    const FeatureSets* sets        # NULL: any features may be on a path
    int32_t histogram              # a HistogramKind: what nodes of a block with tiles count
    size_t cell_size               # bytes
    size_t histogram_size
    const size_t* first_cell       # by feature
    const uint8_t* binned          # by feature: codes are bins, and a cut may lie inside one
    const Column* column           # values of binned features
    int64_t bounded_from           # smaller nodes of a private block get lists
    bint best_first                # nodes of a large block wait in a queue, see grow/queue
    bint few_leaves                # best-first growth ends where nodes are still larger on average
    int32_t coarse_shift           # MOMENTS: of the fixed-point sums
    int64_t side_share             # each side of a cut has more than n // this samples (M5); 0: no such limit


cdef struct Active:                # a feature that still varies in a node
    int32_t feature
    bint listed
    size_t at                      # offset of its list in the arena (an address in the wide phase), or of its counts; 0: none
    double quotient                # from the screen, while its search waits; -1: it does not wait.  In a queue: no cut gains more


cdef struct Search:                # for the best cut of a node
    const Totals* totals
    const uint32_t* rows
    const char* lists              # lists and counts of its features are at offsets from here
    Active* actives                # features that vary; the search drops those that are constant
    int32_t n_active
    Cut* cuts                      # the best of each feature
    double at_least                # minus infinity, or the gain for whose first candidate the search looks
    double known                   # smaller gains are neither chosen nor equal to one that is; minus infinity: none is known
    double sorts                   # as in Pending
    uint64_t key                   # random stream of the node


cdef struct Arena:
    char* data
    size_t size


cdef struct Pending:               # a node that waits to be expanded
    Cut cut
    uint64_t key                   # random stream: depends on the seed and the path only
    char* histogram                # NULL: not kept
    int64_t id
    int64_t children               # the first of its two, from when it leaves a queue; 0: not yet
    int64_t depth
    uint32_t n
    uint32_t* rows                 # in a place that all nodes of a queue share; NULL: they are in the arena, at rows_at
    size_t rows_at
    size_t region                  # where its lists start, in arena depth % 2
    size_t below                   # where its children's lists may start, in the other arena
    size_t actives_at
    int32_t n_active
    double low             # as in Totals
    double high
    size_t spread_at               # fractional: saved samples of the parent that went to every child
    int64_t n_spread
    double share
    double reach                   # of its parent, see Frontier
    double known                   # in a queue: gain of the best end of a bin, or a little less
    double risk                    # known where nodes wait in a queue
    bint searched
    double sorts                   # bounded search: how often the bins of all features were sorted on the path to its cut


cdef struct Ranked:                # a group and what it is ordered by
    double key
    int64_t group


cdef struct Imitation:             # a test of another feature, in place of a node's own
    double agreement
    double adjusted            # what it gains on the heavier branch for all, as a share of what can be gained
    int64_t position           # threshold: last list position (listed) or code (counted) of its lower side
    int32_t active             # place among the node's features
    int32_t low_branch         # threshold: branch of its lower side; -1: by category


cdef struct Neighbours:            # two adjacent intervals
    float difference
    int32_t left                   # first group of the left one
    int32_t stamp                  # the left one's, when they were compared


cdef struct Scratch:
    Watch* watch
    double* a
    double* b
    double* gains
    int32_t* positions
    int64_t* left
    int64_t* right
    int64_t* mark                  # left class weights at the start of a chunk
    int64_t* near_left             # class weights on both sides of a cut whose gain is computed exactly
    int64_t* near_right
    double* terms                  # entropy of weights: about c log2 c per class, of both sides
    double* most                   # absolute error, by feature: no cut gains more
    int64_t* signed_weight         # by row, less than 0 in the first of two classes
    int64_t* stretch_weight        # at the ends of stretches of a list, on the left: weight, and sums of each target
    int64_t* stretch_sum
    double* stretch_gain           # there
    double* stretch_bound          # of each stretch, by its upper end, as the next two
    double* stretch_rough          # of one target
    double* stretch_spread
    int64_t* totals                # class weights of the known samples
    int64_t* missing                  # class weights of the samples with a missing value
    int64_t* hist                  # counted features: code x width
    int64_t* hist_n
    int64_t* hist_w
    char* cells                    # the same as `count_cells` lays it out
    uint16_t* label                # by row: new number of its class among those of the node, as the next three
    int32_t* present               # by new number: class
    uint16_t* number_of            # by class
    int64_t* some                  # by new number: weight of the class in the node
    uint32_t* group_code
    uint32_t* group_row
    int64_t* group_n
    int64_t* group_w
    int64_t* group_stat            # group x width
    double* group_key
    Ranked* ranked
    uint8_t* group_side
    uint8_t* best_side
    uint32_t* branch_of_code
    uint32_t* branch_of_group
    Cut* cuts
    Cut* cuts_two                  # the second child's, where both are searched at once
    float* shares                  # for the screens of two children: see Screen
    int32_t* steps
    int64_t* crosses
    float* class_totals
    uint32_t* twig_entries         # twigs: feature x TWIG
    int32_t* twig_features
    double* twig_gains             # by feature
    const char* node_histogram     # of the node in hand, if it has one
    double* feature_bound          # no cut of a binned feature gains more
    double* code_bound             # by code: no cut inside the bin gains more
    uint8_t* survives              # by code: a bin that is looked into
    int64_t* before                # class weights on the left of a bin
    uint64_t* records              # sorting space
    uint64_t* spare_records
    int64_t n_sorted               # entries that the search of the node in hand has sorted
    uint8_t* codes_by_row          # of one feature
    uint8_t* side
    uint32_t* branch
    double* pca
    double* pca_scale              # per class or target: its unit along the principal axis
    double* order_gain             # largest gain along each order of the categories
    Imitation* imitations          # a feature each
    int64_t* block_stat            # merged groups: block x width
    int64_t* block_weight
    float* block_info
    double* block_term             # weight x log2 weight
    double* pair_info              # block x block: information of the two as one, minus their own where that is enough
    int64_t most_blocks            # rows of pair_info
    int32_t* block_of              # block of each group, -1: none
    Neighbours* pairs              # intervals: a heap, three times as many as groups
    int32_t* following             # by the first group of an interval: that of the next and of the one before
    int32_t* preceding
    int32_t* stamp                 # how often its right-hand pair has changed; -1: merged into another


cdef struct Bounds:            # which candidates are admissible
    int64_t n_min              # samples on the left: at least, at most
    int64_t n_max
    int64_t w_min              # weight on the left, fixed point
    int64_t w_max


cdef struct Chunk:             # of candidates, whose gains are known
    int64_t start              # the first entry that was moved
    int64_t n
    double largest             # gain


cdef struct Left:              # what is on the left of the current position of a sweep, and what stays on the right
    const Totals* total        # what is divided
    Bounds limits              # of the candidates
    int64_t weight
    int64_t sum                # class 1's weight, or the sum of the targets less `mean`
    int64_t squares            # of the class counts
    int64_t squares_right
    int64_t table              # of x log2 x over the class counts
    int64_t table_right
    int64_t mean               # squared error: the node's mean, so that sums stay small and exact
    int64_t before             # samples that were on the left at the start
    int64_t first              # list position of the first known value
    int64_t next               # the first entry that has not moved


cdef inline uint32_t row_of(entry_t entry) noexcept nogil:
    if entry_t is uint32_t:
        return entry & 0xFFFF
    else:
        return <uint32_t> entry


cdef inline uint32_t code_of(entry_t entry) noexcept nogil:
    if entry_t is uint32_t:
        return entry >> 16
    else:
        return <uint32_t> (entry >> 32)


cdef inline int64_t weight_of(const Block* block, uint32_t row) noexcept nogil:
    return 1 if block.weight == NULL else block.weight[row]
