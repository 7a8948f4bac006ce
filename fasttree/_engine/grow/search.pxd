"""The best cut of a node: its features are searched, and their cuts compete.  Header only."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from fasttree._engine.bounds.bounds cimport FeatureBounds, bound_codes, fast_bounds, has_fast_bounds
from fasttree._engine.bounds.refine cimport position_of_end, refine_feature
from fasttree._engine.grow.team cimport LEAST_SHARED, ROUNDING, end_sharing, least_reach, offer_features
from fasttree._engine.grow.work cimport SharedFeatures, Work, next_feature
from fasttree._engine.random cimport draw_next
from fasttree._engine.risk.along cimport number_places
from fasttree._engine.risk.deviations cimport FEWEST_BINNED, Binned, bin_targets, most_along
from fasttree._engine.risk.impurity cimport tie_limit
from fasttree._engine.risk.medians cimport rank_targets
from fasttree._engine.risk.present cimport Present, number_classes, numbers_classes
from fasttree._engine.scan.choose cimport choose_gain, choose_ratio, choose_release8
from fasttree._engine.scan.cut cimport bounds_of, form_of, no_cut, note_known
from fasttree._engine.scan.feature cimport scan_feature
from fasttree._engine.scan.message cimport choose_by_message
from fasttree._engine.scan.stretches cimport sign_weights
from fasttree._engine.types cimport (
    MDL_RATIO, MEDIANS, NO_CUT, ORDERED, PLAIN_RATIO, RISK_TIE, THRESHOLD_CUT, Active, Block, Bounds, Cut, Medians, Pending,
    Problem, Scratch, Search, Totals, code_of, entry_t,
)
from fasttree._engine.watch cimport BOUND, REFINE, enter, interrupted, note


cdef inline bint accepted(const Problem* p, const Cut* cut, double weight, double risk) noexcept nogil:
    return (
        cut.first_gain - RISK_TIE * risk > p.min_gain * weight
        and (p.rank != PLAIN_RATIO or cut.first_gain / cut.split_info > p.min_ratio)
        and max(cut.first_gain, 0.0) / p.total_weight + 2.220446049250313e-16 >= p.min_impurity_decrease
    )


cdef inline Cut choose_cut(
    const Problem* p, const Block* block, Work* w, Search* search, int32_t n_cuts, entry_t width,
) noexcept nogil:
    """The node's cut, out of the best cuts of its features."""
    cdef const Totals* totals = search.totals
    cdef double limit = -INFINITY
    cdef int32_t winner, i
    cdef double weight = <double> totals.weight * p.unit
    cdef bint constant = False
    cdef Cut cut
    if p.rank == MDL_RATIO:
        winner = choose_by_message(p, search.cuts, n_cuts, weight)
    elif p.release8:
        winner = choose_release8(p, search.cuts, n_cuts)
    elif p.rank:
        # the tolerance is meant per unit weight, as the ratio is
        winner = choose_ratio(p, search.cuts, n_cuts, totals.risk / weight)
    else:
        winner = choose_gain(p, search.cuts, n_cuts, totals.risk, &limit)
    if winner < 0:
        return no_cut(-1)
    cut = search.cuts[winner]
    if not p.release8 and not p.rank and (cut.ambiguous or cut.first_gain < limit):
        search.at_least = limit
        for i in range(search.n_active):
            if search.actives[i].feature == cut.feature:
                if w.scratch.node_histogram != NULL and p.binned[cut.feature]:
                    cut = refine_feature(p, block, w.scratch, search, cut.feature, limit, width)
                else:
                    cut = scan_feature(p, block, w.scratch, search, &search.actives[i], width, &constant)
                break
        if cut.form == NO_CUT:
            cut = search.cuts[winner]
    if not accepted(p, &cut, weight, totals.risk):
        return no_cut(-1)
    return cut


cdef inline bint add_cut(
    const Problem* p, const Block* block, Work* w, Search* search, const Active* active, int32_t* n_cuts, entry_t width,
) noexcept nogil:
    """Scan a feature and keep its best cut, if it has one; False: no cut of it can exist below this node."""
    cdef bint constant = False
    search.cuts[n_cuts[0]] = scan_feature(p, block, w.scratch, search, active, width, &constant)
    note_known(p, search, &search.cuts[n_cuts[0]])
    n_cuts[0] += search.cuts[n_cuts[0]].form != NO_CUT
    return not constant


cdef inline int32_t scan_drawn(
    const Problem* p, const Block* block, Work* w, Search* search, uint64_t state, entry_t width,
) noexcept nogil:
    """Draw features and scan them until enough were seen and one of them varies; returns the number of their cuts.

    Features that constraints exclude are passed over; one that is known to be constant counts as drawn, as in scikit-learn.  Cuts
    are in the order of the draws, so that the feature drawn first wins ties.
    """
    cdef int32_t* features = w.draws
    cdef int32_t* place_of = w.draws + p.n_features   # among the active ones, or that a feature is constant
    cdef int32_t n_cuts = 0
    cdef int32_t n_drawn = 0
    cdef int32_t turn = 0
    cdef int32_t kept = 0
    cdef int32_t f, i
    cdef bint varies = False
    for f in range(p.n_features):
        features[f] = f
        place_of[f] = -1
    for i in range(search.n_active):
        place_of[search.actives[i].feature] = i
    while turn < p.n_features and (n_drawn < p.max_features or not varies):
        draw_next(features, turn, p.n_features, &state)
        f = features[turn]
        turn += 1
        if p.sets != NULL and not w.allowed[f]:
            continue
        n_drawn += 1
        if place_of[f] < 0 or interrupted(w.scratch.watch, search.totals.n):
            continue
        if add_cut(p, block, w, search, &search.actives[place_of[f]], &n_cuts, width):
            varies = True
        else:
            place_of[f] = -1
    for i in range(search.n_active):
        if place_of[search.actives[i].feature] >= 0:
            search.actives[kept] = search.actives[i]
            kept += 1
    search.n_active = kept
    return n_cuts


cdef inline void scan_some(SharedFeatures* features, Work* w, entry_t width) noexcept nogil:
    """Scan features whose turn comes; each has its cut in its place, and a mark in the owner's `drawn` if it varies."""
    cdef Search search = features.search[0]
    cdef int32_t i = next_feature(features, w)
    cdef int32_t at
    while i >= 0:
        at = i
        search.cuts[i].form = NO_CUT
        features.owner.drawn[i] = (
            interrupted(w.scratch.watch, search.totals.n)
            or add_cut(features.p, features.block, w, &search, &search.actives[i], &at, width)
        )
        i = next_feature(features, w)


cdef inline void bound_some(SharedFeatures* features, Work* w, entry_t width) noexcept nogil:
    """Bound the gains by absolute error of features whose turn comes, in the owner's `most`; infinite if there is no bound."""
    cdef Binned binned = features.binned[0]
    cdef const Problem* p = features.p
    cdef const Search* search = features.search
    cdef const entry_t* entries
    cdef int64_t n = search.totals.n
    cdef int32_t i = next_feature(features, w)
    while i >= 0:
        entries = <const entry_t*> (search.lists + search.actives[i].at)
        features.owner.scratch.most[i] = INFINITY
        if (search.actives[i].listed and form_of(p, search.actives[i].feature) == ORDERED and code_of(entries[0])
                and not interrupted(w.scratch.watch, n)):
            features.owner.scratch.most[i] = most_along(p, &binned, entries, n) * p.medians[0].unit
        i = next_feature(features, w)


cdef inline void search_some(SharedFeatures* features, Work* w, entry_t width) noexcept nogil:
    """Scan features whose turn comes, or bound their gains."""
    if features.binned == NULL:
        scan_some(features, w, width)
    else:
        bound_some(features, w, width)


cdef inline void share_features(SharedFeatures* features, Work* w, entry_t width) noexcept nogil:
    """Scan all features of a node, or bound their gains; in a wide block with the help of threads that rest."""
    features.next = 0
    features.shared = False
    if entry_t is uint64_t:
        if features.search.totals.n >= LEAST_SHARED:
            offer_features(w.team, features, features.n, &features.shared)
    search_some(features, w, width)
    if features.shared:
        end_sharing(w.team, w.which, w.scratch.watch)


cdef inline int32_t bound_medians(
    const Problem* p, const Block* block, Work* w, Search* search, SharedFeatures* features, entry_t width,
) noexcept nogil:
    """Bound the gains of all features with sorted lists by absolute error; returns the place of the largest bound.

    Samples must count 1, and gains compete.  -1: no bound is known.
    """
    cdef Binned binned
    cdef const double* most = w.scratch.most
    cdef int64_t n = search.totals.n
    cdef int32_t best = -1
    cdef int32_t i
    if block.weight != NULL or p.n_outputs > 1 or p.random or p.rank or p.monotone != NULL or n < FEWEST_BINNED:
        return -1
    bin_targets(p, &binned, n)
    features.binned = &binned
    share_features(features, w, width)
    for i in range(search.n_active):
        if most[i] < INFINITY and (best < 0 or most[i] > most[best]):
            best = i
    return best


cdef inline int32_t scan_together(SharedFeatures* features, Work* w, Search* search, entry_t width) noexcept nogil:
    """As `scan_all`, of a node of a wide block with lists, with the help of threads that rest."""
    cdef int32_t n_cuts = 0
    cdef int32_t kept = 0
    cdef int32_t i
    share_features(features, w, width)
    for i in range(search.n_active):
        if search.cuts[i].form != NO_CUT:
            search.cuts[n_cuts] = search.cuts[i]
            n_cuts += 1
        if w.drawn[i]:
            search.actives[kept] = search.actives[i]
            kept += 1
    search.n_active = kept
    return n_cuts


cdef inline int32_t scan_all(
    const Problem* p, const Block* block, Work* w, Search* search, entry_t width,
) noexcept nogil:
    """Scan every feature; returns the number of their cuts.  By absolute error, that of the largest bound comes first."""
    cdef int32_t n_cuts = 0
    cdef int32_t kept = 0
    cdef int32_t n_first = 0
    cdef int32_t first = -1
    cdef int32_t i
    cdef bint varies = True
    cdef Cut cut = no_cut(-1)
    cdef SharedFeatures features
    memset(&features, 0, sizeof(SharedFeatures))
    features.p = p
    features.block = block
    features.owner = w
    features.search = search
    features.n = search.n_active
    if p.sweep == MEDIANS:
        first = bound_medians(p, block, w, search, &features, width)
    elif entry_t is uint64_t:
        return scan_together(&features, w, search, width)
    if first >= 0 and not interrupted(w.scratch.watch, search.totals.n):
        varies = add_cut(p, block, w, search, &search.actives[first], &n_first, width)
        cut = search.cuts[0]
    for i in range(search.n_active):
        if i == first:
            search.cuts[n_cuts] = cut
            n_cuts += n_first
        if (varies if i == first else (first >= 0 and w.scratch.most[i] < search.known)
                or interrupted(w.scratch.watch, search.totals.n)
                or add_cut(p, block, w, search, &search.actives[i], &n_cuts, width)):
            search.actives[kept] = search.actives[i]
            kept += 1
    search.n_active = kept
    return n_cuts


cdef inline int32_t scan_present(
    const Problem* p, const Block* block, Work* w, Search* search, entry_t width,
) noexcept nogil:
    """`scan_all` with the classes of the node alone."""
    cdef Present present
    cdef const Totals* totals = search.totals
    cdef int32_t n_cuts
    if not number_classes(p, block, w.scratch, search, &present):
        return scan_all(p, block, w, search, width)
    search.totals = &present.totals
    n_cuts = scan_all(&present.problem, &present.block, w, search, width)
    search.totals = totals
    return n_cuts


cdef inline Cut search_features(
    const Problem* p, const Block* block, Work* w, Search* search, uint64_t key, entry_t width,
) noexcept nogil:
    """Scan every feature of a node (or those drawn) and choose a cut; drops constant features."""
    cdef int32_t n_cuts
    search.key = key
    if w.scratch.signed_weight != NULL:
        sign_weights(block, w.scratch, search.rows, search.totals.n)
    if p.sweep == MEDIANS:
        rank_targets(p, block, search.rows, search.totals.n)
        if block.weight == NULL:
            number_places(p, search.totals.n)
    if p.draws:
        n_cuts = scan_drawn(p, block, w, search, key, width)
    elif numbers_classes(p):
        n_cuts = scan_present(p, block, w, search, width)
    else:
        n_cuts = scan_all(p, block, w, search, width)
    if w.scratch.watch.over:
        return no_cut(-1)
    return choose_cut(p, block, w, search, n_cuts, width)


cdef inline bint bound_cuts(
    const Problem* p, const Block* block, Scratch* s, const Totals* totals, int32_t f, FeatureBounds* bounds, double* known,
) noexcept nogil:
    """Bound the cuts of a feature that has fast bounds; False if it is constant.

    Notes the gain of the best end of a bin, or a little less.  This cut is offered when the feature is refined.
    """
    bounds[0] = fast_bounds(p, block, s, totals, f)
    if bounds.n_used == 1 and bounds.inside == -INFINITY:
        return False
    known[0] = max(known[0], bounds.at_ends * (1 - 1e-12))
    return True


cdef inline double bound_features(
    const Problem* p, const Block* block, Scratch* s, Search* search, const Pending* waiting, entry_t width,
) noexcept nogil:
    """Bound the cuts of every feature, search those without bounds, and drop constant ones; returns the largest gain known."""
    cdef FeatureBounds bounds
    cdef Cut cut
    cdef double largest = -INFINITY if waiting == NULL else waiting.known
    cdef int32_t kept = 0
    cdef int32_t i, f
    cdef bint constant
    for i in range(search.n_active):
        f = search.actives[i].feature
        s.feature_bound[kept] = -INFINITY
        if has_fast_bounds(p, s, f):
            cut = no_cut(f)
            if waiting != NULL:
                s.feature_bound[kept] = search.actives[i].quotient
            else:
                if not bound_cuts(p, block, s, search.totals, f, &bounds, &largest):
                    continue
                s.feature_bound[kept] = max(bounds.inside, bounds.at_ends)
        else:
            constant = False
            cut = scan_feature(p, block, s, search, &search.actives[i], width, &constant)
            if constant:
                continue
            if p.binned[f] and cut.form == THRESHOLD_CUT:
                cut.position = position_of_end(<uint32_t> cut.position)
                cut.key = <uint64_t> -1
            largest = max(largest, cut.gain)
        search.cuts[kept] = cut
        search.actives[kept] = search.actives[i]
        kept += 1
    search.n_active = kept
    return largest


cdef inline double most_of_node(
    const Problem* p, const Block* block, Work* w, Search* search, const char* histogram, double* known,
) noexcept nogil:
    """No cut of a node gains more, as far as fast bounds say so; minus infinity if there is none.  Drops constant features.

    Notes the bounds beside the features, and the gain of the best end of a bin, or a little less.
    """
    cdef Scratch* s = w.scratch
    cdef double most = -INFINITY
    cdef int32_t kept = 0
    cdef int32_t i, f
    cdef int phase = enter(BOUND)
    cdef FeatureBounds bounds
    s.node_histogram = histogram
    note(BOUND, <int64_t> search.n_active * 256)
    for i in range(search.n_active):
        f = search.actives[i].feature
        if not has_fast_bounds(p, s, f):
            most = INFINITY
        else:
            if not bound_cuts(p, block, s, search.totals, f, &bounds, known):
                continue
            search.actives[i].quotient = max(bounds.inside, bounds.at_ends)
            most = max(most, max(bounds.inside, bounds.at_ends * (1 + 1e-12)))
        search.actives[kept] = search.actives[i]
        kept += 1
    search.n_active = kept
    s.node_histogram = NULL
    enter(phase)
    return most


cdef inline Cut search_bounded(
    const Problem* p, const Block* block, Work* w, Search* search, const char* histogram, const Pending* waiting, entry_t width,
) noexcept nogil:
    """`search_features` by a histogram: only those bins are sorted whose bound reaches the largest gain known.

    Features whose bounds are highest come first, so that most others need no search.  All cuts within the tie
    tolerance of the largest gain are found, whatever the bins.  The share of all bins that are sorted is added to `sorts`.
    A node that waits in a queue may have bounds already.  There is no cut if it cannot be among the best.
    """
    cdef Scratch* s = w.scratch
    cdef const Totals* totals = search.totals
    cdef Cut cut
    cdef double limit = -INFINITY
    cdef double least = -INFINITY
    cdef double largest
    cdef int32_t i, f, best
    cdef bint constant = False
    cdef int32_t n_binned = 0
    cdef int phase = enter(BOUND)
    if s.watch.over:                   # the histogram may lack features
        enter(phase)
        return no_cut(-1)
    s.node_histogram = histogram
    s.n_sorted = 0
    largest = bound_features(p, block, s, search, waiting, width)
    if waiting != NULL:
        least = least_reach(w.nodes.frontier)
    if largest > -INFINITY:
        limit = tie_limit(largest, totals.risk)
    for i in range(search.n_active):
        f = search.actives[i].feature
        n_binned += p.binned[f]
        if p.binned[f] and not has_fast_bounds(p, s, f):
            s.feature_bound[i] = bound_codes(p, block, s, totals, f, limit).inside
    note(BOUND, <int64_t> search.n_active * 256)
    enter(REFINE)
    while search.n_active:
        best = 0
        for i in range(1, search.n_active):
            if s.feature_bound[i] > s.feature_bound[best]:
                best = i
        if s.feature_bound[best] == -INFINITY or s.feature_bound[best] < limit or interrupted(s.watch, totals.n):
            break
        if max(largest, s.feature_bound[best]) * (1 + ROUNDING) < least:
            search.n_active = 0
            break
        s.feature_bound[best] = -INFINITY
        if p.binned[search.actives[best].feature]:
            note(REFINE, totals.n)
            search.cuts[best] = refine_feature(p, block, s, search, search.actives[best].feature, limit, width)
        else:
            search.cuts[best] = scan_feature(p, block, s, search, &search.actives[best], width, &constant)
        if search.cuts[best].gain > largest:
            largest = search.cuts[best].gain
            limit = tie_limit(largest, totals.risk)
    cut = choose_cut(p, block, w, search, search.n_active, width)
    s.node_histogram = NULL
    if n_binned:
        search.sorts += <double> s.n_sorted / (<double> totals.n * n_binned)
    enter(phase)
    return cut
