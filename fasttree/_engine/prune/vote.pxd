"""Choice of rules that vote, whose message is short together with the samples that they predict wrong (C5.0).  Header only.

The class with the most votes is predicted, on ties the first one; a place that no rule covers is predicted wrong.  For each rule,
`change` is what the errors become more by if the rule enters the set, or leaves it.  After a step, only the places of the rule
that has changed are judged again, and of those only the ones where a single rule decides.
"""

from libc.math cimport INFINITY, rint
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

from fasttree._engine.watch cimport Watch, interrupted

cdef enum:
    MOST_VOTES = 1000          # of a rule


cdef struct Ballots:
    int32_t n_classes
    int64_t n_rules
    const int64_t* cover_start  # rule r covers cover[cover_start[r]:cover_stop[r]]
    const int64_t* cover_stop
    const uint32_t* cover
    const int64_t* start       # place p is covered by rule[start[p]:start[p + 1]]
    const int32_t* rule
    int8_t* turn               # of each of these pairs: errors on the place that the rule adds by its change
    const int32_t* label       # of rules
    int32_t* vote              # negative if the rule is selected: what its class gets by its change
    const int32_t* truth       # class of each place
    const int64_t* weight      # of each place, in units
    int32_t* votes             # n_classes numbers per place
    int32_t* need              # votes with which the class of a place is predicted; 0: not known
    uint8_t* is_right
    uint8_t* is_open           # whether one rule may turn the prediction of the place
    uint8_t* selected
    int64_t* change
    int64_t errors


cdef struct RulesMessage:
    const double* bits         # of each rule
    const double* orders       # logarithms of factorials to base 2
    double share               # of the bits of rules that counts
    double of_error            # bits per unit of weight
    double of_hit
    int64_t total              # weight of all samples, also of those that have no place


cdef inline void judge_place(Ballots* b, int64_t place, int32_t label, int32_t vote) noexcept nogil:
    """Find out anew whether a place is predicted right, and which rules would turn it, after a class got some votes more.

    A right place is turned by a rule of its class that leaves, or by another that enters, and a wrong one by a rule of its class
    that enters, or by one of the only class ahead that leaves: if their votes are enough.
    """
    cdef const int32_t* votes = b.votes + place * b.n_classes
    cdef int32_t truth = b.truth[place]
    cdef int32_t own = votes[truth]
    cdef int32_t need = b.need[place]
    cdef int32_t n_ahead = 0
    cdef int32_t leader = -1
    cdef int32_t k, r, margin
    cdef int64_t i
    cdef bint is_right, is_open
    cdef int8_t turn
    margin = 0 if label == truth else votes[label] + (label < truth)
    need = 0 if vote < 0 and margin - vote == need else max(need, margin)
    if own < need or need == 0:
        need = 1
        for k in range(b.n_classes):
            if k != truth:
                margin = votes[k] + (k < truth)
                need = max(need, margin)
                if margin > own:
                    n_ahead += 1
                    leader = k
    b.need[place] = need
    is_right = own >= need
    if own == 0 or n_ahead > 1:
        leader = -1                # no other class alone is in the way
    margin = own - need if is_right else need - own - 1
    is_open = margin <= MOST_VOTES
    b.errors += (b.is_right[place] - <int32_t> is_right) * b.weight[place]
    b.is_right[place] = is_right
    if not is_open and not b.is_open[place]:
        return
    b.is_open[place] = is_open
    for i in range(b.start[place], b.start[place + 1]):
        r = b.rule[i]
        k = b.label[r]
        vote = b.vote[r]
        turn = 0
        if not is_open:
            pass
        elif is_right:
            turn = -vote > margin if k == truth else vote > own - votes[k] - (k < truth)
        elif k == truth:
            turn = -(vote > margin)
        elif k == leader:
            turn = -(-vote >= votes[k] + (k < truth) - own)
        if turn != b.turn[i]:
            b.change[r] += (turn - b.turn[i]) * b.weight[place]
            b.turn[i] = turn


cdef inline void toggle_rule(Ballots* b, int64_t rule) noexcept nogil:
    """Take a rule into the set, or out of it."""
    cdef int32_t vote = b.vote[rule]
    cdef int32_t label = b.label[rule]
    cdef int64_t i
    b.selected[rule] ^= 1
    b.vote[rule] = -vote
    for i in range(b.cover_start[rule], b.cover_stop[rule]):
        b.votes[b.cover[i] * b.n_classes + label] += vote
        judge_place(b, b.cover[i], label, vote)


cdef inline void begin_with(
    Ballots* b, const int32_t* order, int64_t least, int64_t margin, const int64_t* sums, int32_t* seen,
) noexcept nogil:
    """Select, by class, the rules of largest votes that cover more new weight right than wrong, by more than `margin`.

    A class takes rules until no more of its weight is uncovered than weight of others is covered.  `order` has the rules by class
    and descending votes; `sums` are the weights of the classes; `seen` is 0 at each place.
    """
    cdef int64_t uncovered = 0
    cdef int64_t wrong = 0
    cdef int64_t right, n_new, n_right, i, j
    cdef int32_t label = -1
    cdef int32_t rule
    cdef uint32_t place
    for j in range(b.n_rules):
        rule = order[j]
        if b.label[rule] != label:
            label = b.label[rule]
            uncovered = sums[label]
            wrong = 0
        if uncovered <= wrong:
            continue
        n_new = n_right = right = 0
        for i in range(b.cover_start[rule], b.cover_stop[rule]):
            place = b.cover[i]
            if b.truth[place] == label:
                right += b.weight[place]
            if seen[place] <= label:
                n_new += b.weight[place]
                n_right += b.weight[place] if b.truth[place] == label else 0
        if right < least or 2 * n_right - n_new <= margin:
            continue
        for i in range(b.cover_start[rule], b.cover_stop[rule]):
            seen[b.cover[i]] = label + 1
        uncovered -= n_right
        wrong += n_new - n_right
        b.selected[rule] = True


cdef inline void vote_of_all(Ballots* b, int64_t n_places) noexcept nogil:
    """Let the selected rules vote; no place has been judged before."""
    cdef int64_t rule, i
    for rule in range(b.n_rules):
        if b.selected[rule]:
            for i in range(b.cover_start[rule], b.cover_stop[rule]):
                b.votes[b.cover[i] * b.n_classes + b.label[rule]] += b.vote[rule]
            b.vote[rule] = -b.vote[rule]
    for i in range(n_places):
        if b.start[i] < b.start[i + 1]:
            judge_place(b, i, b.truth[i], 0)


cdef inline double message_length(const RulesMessage* m, double bits, int64_t size, int64_t errors) noexcept nogil:
    """Hundredths of bits of some rules and of the errors, which count once they are rounded."""
    return 100 * (m.share * max(bits - m.orders[size], 0.0) + errors * m.of_error + (m.total - errors) * m.of_hit)


cdef inline void climb(Ballots* b, const RulesMessage* m, Watch* watch) noexcept nogil:
    """Toggle the rule that makes the message shortest, until none does.

    A rule that was toggled last stays, and rules are only added while there are errors.  A removal that leaves the message as
    long as it was is made.  Among equal changes, the last removal is made, or else the first addition.
    """
    cdef int64_t last = -1
    cdef int64_t best, size, r
    cdef double now = INFINITY     # after a step its own length: another order of additions must not lead in circles
    cdef double bits, least, length
    while not interrupted(watch, b.n_rules):
        bits = 0
        size = 0
        for r in range(b.n_rules):
            if b.selected[r]:
                bits += m.bits[r]
                size += 1
        if last < 0:
            now = rint(message_length(m, bits, size, b.errors))
        best = -1
        least = INFINITY
        for r in range(b.n_rules):
            if r == last or not (b.selected[r] or b.errors > 0):
                continue
            length = message_length(
                m, bits - m.bits[r] if b.selected[r] else bits + m.bits[r], size - 1 if b.selected[r] else size + 1,
                b.errors + b.change[r],
            )
            if length > least + 0.5:  # longer, once rounded: most are
                continue
            length = rint(length)
            if length < least or (length == least and b.selected[r]):
                best = r
                least = length
        if best < 0 or least > now or (least == now and not b.selected[best]):
            return
        now = least
        last = best
        watch.cells += b.cover_stop[best] - b.cover_start[best]
        toggle_rule(b, best)


cdef inline void order_by_use(Ballots* b, int32_t* rules, int64_t n, Watch* watch) noexcept nogil:
    """Bring the rule that the others miss least to the end, then that of the others without it, and so on.

    Among equal ones, the last is taken.
    """
    cdef int64_t i, best
    cdef int32_t rule
    while n > 1 and not interrupted(watch, n):
        best = 0
        for i in range(n):
            if b.change[rules[i]] <= b.change[rules[best]]:
                best = i
        rule = rules[best]
        for i in range(best, n - 1):
            rules[i] = rules[i + 1]
        n -= 1
        rules[n] = rule
        toggle_rule(b, rule)
