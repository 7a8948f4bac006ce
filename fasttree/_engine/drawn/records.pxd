"""Records of the drawn layout, in which a node of a forest's tree is a slice of rows.  Header only.

A tree of a forest looks at a few drawn features in each node, so lists or histograms of all features would move far more than a
node reads.  Here a node owns a slice of two arrays, rows and bags, and nothing else moves when it is divided.  The codes of all
features stay where they are, shared by all trees and threads.  Breiman (2001), Random Forests, Machine Learning 45, 5-32.
"""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from fasttree._engine.drawn.walk cimport PackedNode
from fasttree._engine.types cimport Column
from fasttree._engine.watch cimport Watch


# Codes of a column less a base, so that comparisons of signed lanes serve: the code 0 of a missing value is the base.
ctypedef fused drawn_t:
    int16_t
    int32_t

cdef enum:
    NARROW_BASE = -32768       # of columns of at most 65,536 codes; the others have base 0
    NARROW_LAST = 32767
    WIDE_LAST = 0x7FFFFFFF
    MOST_RANKED = 32           # rows up to which ranks are counted
    MOST_KEPT = 131072         # rows of a node up to which the codes of the best feature are kept
    MOST_CELLS = 1024          # bins of a feature in one node
    MOST_BUNDLES = 4
    MOST_WAITING = 72          # nodes that wait: the smaller child of a node goes first

cdef enum TargetKind:
    PAIR_OF_CLASSES            # two classes are left in the node
    MANY_CLASSES
    NUMBERS

cdef enum DrawnForm:
    BY_CODE                    # codes up to one to the left
    BY_KNOWN                   # known values to the left, missing ones to the right
    BY_GROUP                   # a set of categories to the left


cdef struct DrawnColumn:
    const char* codes          # of all rows, int16 or int32
    bint wide                  # int32
    bint floats                # codes are ordered floats (see `float_code`): for random cuts of known values
    bint nominal
    int32_t bundle             # its number, from 1, of which this is a member; 0: none
    int16_t member             # code in the bundle of the rare one of two values
    bint rare_is_high
    uint32_t n_codes           # with that of missing values
    const double* value        # by code, NULL where the codes or `column` have the values
    Column column


cdef struct DrawnBundle:       # of columns of two values, of which at most one has its rare value in a row
    const int16_t* codes       # of all rows: 0, or the member that has its rare value
    int32_t n_codes


cdef struct DrawnPlan:         # what all trees share
    const DrawnColumn* column
    const DrawnBundle* bundle
    const uint32_t* row_of     # in a block: rows of the table; NULL: rows are those of the table
    int64_t block_rows         # of the largest node that gets a block; 0: there are no blocks
    int32_t n_bundles
    int32_t n_features
    int32_t n_classes          # 0: numbers
    const double* target       # by row, whole numbers: sums do not depend on their order
    const double* y            # by row, as given
    const uint16_t* label
    double unit                # of `target`
    int32_t max_features
    bint random                # one random threshold for a feature (Geurts, Ernst and Wehenkel 2006)
    bint plain                 # there are neither missing values nor nominal features
    int64_t max_depth
    int64_t min_samples_split
    int64_t min_samples_leaf
    double min_weight_leaf
    double min_gain            # weight x impurity decrease
    int32_t most_ranked        # rows up to which ranks are counted; the tree does not depend on it, nor on the next
    int32_t most_cells


cdef struct Found:             # the best cut of a node so far
    double gain                # weight x decrease of impurity
    int32_t order              # of its feature among the drawn ones; -1: there is no cut
    int32_t feature
    int32_t form
    int32_t code               # BY_CODE: codes up to it go left
    bint with_missing          # missing values go left
    bint has_missing           # there are some in the node
    int64_t place              # of a cut among those of its feature: the first of equal cuts wins
    double threshold           # of a random cut
    int32_t n_group            # BY_GROUP: categories on the left, the first in Room.group
    int32_t n_categories       # that occur in the node
    double weight              # of the left side
    double sum                 # PAIR_OF_CLASSES, NUMBERS: of the left side


cdef struct Waiting:           # a node to be expanded
    uint32_t start
    uint32_t n
    uint32_t node
    int32_t depth
    uint64_t key               # of its draws, from the seed and the node's path
    double weight              # drawn samples, if the parent's cut has the totals; else 0
    double sum                 # NUMBERS: of the targets; PAIR_OF_CLASSES: of class `second`
    int32_t first              # of the two classes of the parent
    int32_t second


cdef struct Open:              # a node that another thread may take
    Waiting waiting
    int64_t n_values           # that the room has before those of the node would come
    int64_t n_bits


cdef struct Room:              # what one thread writes; its parts are measured for the tree in hand
    uint32_t* rows             # of the samples in the bag: a node is a slice
    uint32_t* bags             # by place: class << 16 | times drawn
    uint64_t* pairs            # by place in the node: times drawn, and in the upper half those of class 1; random cuts: `numbers`
    uint32_t* counts           # times drawn
    uint16_t* labels           # dense class
    double* numbers            # times drawn x (target less the node's mean)
    double* squares            # and the square of the deviation
    char* codes                # of drawn features, slot after slot
    int64_t codes_room         # numbers of 4 bytes
    int16_t* bundled           # codes of bundles, one bundle after the other
    int64_t bundled_room       # of one
    char* bundle_cells         # counts by code of a bundle, one bundle after the other
    size_t bundle_cells_room   # bytes of one
    DrawnPlan block            # reads the parts below
    DrawnColumn* block_column
    DrawnBundle block_bundle[MOST_BUNDLES]
    uint32_t* block_row        # of the table
    char* block_cells          # codes and targets
    uint64_t* items            # to be sorted: code << 32 | place; two arrays; for partitions: row << 32 | bag
    int32_t* features          # a permutation
    int32_t* swapped
    uint64_t* constants        # features known to be constant: bits for each node on the stack, and for the node in hand
    int32_t n_words
    char* cells                # of one feature
    char* edges                # of drawn features: see `BinEdges`
    size_t edges_size          # bytes of one
    int32_t n_slots            # features whose edges are kept until the best of all edges is known
    uint32_t* touched          # categories of a node
    double* category_weight    # by category
    double* category_sum
    int64_t* category_rows
    uint32_t* group            # of the best cut: categories on the left, then the others of the node
    int64_t* class_counts      # of the node, by class
    int64_t* left              # by dense class
    int64_t* right             # of the node, by dense class
    int64_t* before            # on the left of a bin
    int32_t* dense             # by class
    int32_t* present           # by dense class
    Waiting* stack
    int64_t least_open         # rows of a node that is left open for whichever thread is free
    char* open                 # nodes left so: of each an `Open`, and its constants
    int64_t n_open
    PackedNode* grown          # children by their places here, the first of the two
    int64_t n_grown
    int64_t grown_room
    double* values             # of leaves
    int64_t n_values
    int64_t values_room        # rows
    uint32_t* bits
    int64_t n_bits
    int64_t bits_room
    Watch watch


cdef struct Here:              # the node in hand
    const DrawnPlan* plan
    Room* room
    int64_t n                  # rows
    int64_t weight             # drawn samples
    int32_t kind               # a TargetKind
    int32_t n_classes          # that occur
    double scale               # of gains: see `linear_gain`
    double mean                # NUMBERS: rounded down
    double total               # PAIR_OF_CLASSES: those of class 1; NUMBERS: the sum less weight x mean
    double risk
    const uint32_t* rows
    const uint32_t* bags
    int64_t n_min              # rows and weight that a side needs
    double w_min
    bint rows_count            # whether a side needs more than one row
    bint compact               # random cuts of two classes: Room.counts has times drawn, and in the upper half those of class 1
    int32_t few                # rows up to a multiple of 4 in a small node, else 0
    uint32_t near[MOST_RANKED]     # the rows of a small node; the first one repeats to the multiple of 4
    bint gathered[MOST_BUNDLES]    # whether Room.bundled has the codes of the node
    bint counted[MOST_BUNDLES]     # whether Room.bundle_cells has its counts
    char* spare_codes          # of two places for codes, that which does not hold those of the best feature
    char* best_codes           # NULL: they were not kept
    Found best


cdef struct Drawn:             # a feature in a node
    int32_t order              # among the drawn ones
    int32_t feature
    const char* codes          # of the node's rows
    int32_t low                # codes that occur, less the base
    int32_t high


cdef struct BinEdges:             # of the bins of a feature, before it is known which of them to look into
    Drawn drawn
    int32_t shift              # bin = (code - low) >> shift
    int32_t n_bins
    double at_ends             # the largest gain at the end of a bin
    double inside              # no cut inside a bin gains more
    double* weight             # by bin: on the left of its end, with room for one more before the first
    double* sum
    double* bound
    uint32_t* rows
    uint32_t* cells            # MANY_CLASSES: by bin and class
