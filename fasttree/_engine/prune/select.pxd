"""Selection of the rules of a class, and the order of their use (Quinlan 1993, sections 5.3 and 5.4).  Header only.

A selection of rules has a length in bits: of the rules, and of the exceptions to them.  The shortest selection is searched for by
trying all, by climbing, or by annealing.  Numbers that decide are rounded to single precision where Release 8 stores them.
"""

from libc.math cimport exp, log
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from fasttree._engine.watch cimport Watch, interrupted


cdef enum:
    FEW_RULES = 10             # up to so many rules of a class every selection is tried
    CLIMBS = 11
    WORDS_OF_RANDOM = 31
    PROPOSALS = 100            # of annealing, at one temperature
    RULE_COST = 16             # cells that take about as long as to judge a rule


# ---------------------------------------------------------------------------------------------------------------------
# Description lengths (section 5.3)
# ---------------------------------------------------------------------------------------------------------------------

cdef inline double lg(double x) noexcept nogil:
    return log(x) / 0.6931471805599453 if x > 0 else 0.0


cdef inline float biased(int64_t n, int64_t e, float expected) noexcept nogil:
    """Bits that say which e of n samples are exceptions if `expected` of them were to be expected."""
    cdef float rate
    if expected <= 1e-6:
        return 0 if e == 0 else <float> 1e6
    if expected >= n - 1e-6:
        return 0 if e == n else <float> 1e6
    rate = expected / <float> n
    return <float> (-<double> e * lg(rate) - <double> (n - e) * lg(<float> (1 - rate)))


cdef inline float exception_bits(int64_t n, double lg_n, int64_t fired, int64_t fp, int64_t fn) noexcept nogil:
    """Bits that name the false positives among the samples that fired, and the false negatives among the rest."""
    cdef float mean = <float> (0.5 * <double> (fp + fn))
    if fired > n - fired:
        return <float> (lg_n + biased(fired, fp, mean) + biased(n - fired, fn, <float> fn))
    return <float> (lg_n + biased(fired, fp, <float> fp) + biased(n - fired, fn, mean))


# Samples that the same rules of the class cover, and that are alike in being of the class, count as one group.  All that the
# search for a selection does costs what its groups cost, however many samples they hold.

cdef struct Cover:             # of all rules, in places of samples
    const int64_t* start
    const int64_t* stop
    const uint32_t* place


cdef struct Refinement:        # places in groups; the caller owns the room
    int32_t* group_of          # per place
    int32_t* size              # n + 3 entries in each of the rest, for n places
    int32_t* target            # the group that what leaves this one enters
    int32_t* seen              # last rule that split this group
    int32_t* vacant            # numbers of empty groups
    int32_t n_vacant
    int32_t n_groups


cdef inline void refine(Refinement* r, const Cover* cover, int64_t rule, int32_t turn) noexcept nogil:
    """Split every group into what this rule covers and what it does not.  `turn` differs from call to call."""
    cdef int64_t i
    cdef int32_t group, target
    cdef uint32_t place
    for i in range(cover.start[rule], cover.stop[rule]):
        place = cover.place[i]
        group = r.group_of[place]
        if r.seen[group] != turn:
            r.seen[group] = turn
            if r.n_vacant:
                r.n_vacant -= 1
                target = r.vacant[r.n_vacant]
            else:
                target = r.n_groups
                r.n_groups += 1
            r.size[target] = 0
            r.seen[target] = -1
            r.target[group] = target
        target = r.target[group]
        r.size[group] -= 1
        r.size[target] += 1
        r.group_of[place] = target
        if r.size[group] == 0:  # nothing of it is left, so this rule does not meet it again
            r.vacant[r.n_vacant] = group
            r.n_vacant += 1


cdef struct Field:             # rules of one class and the groups of samples that they cover
    int32_t n_rules
    int32_t n_groups
    int64_t n_samples
    int64_t n_class            # samples of the class, covered or not
    double lg_n
    const float* bits          # of each rule
    const float* log_number    # of k
    const double* log_factorial  # of k: bits that the order of k rules saves
    int64_t* rule_start        # rule -> groups
    int32_t* rule_group
    int64_t* group_start       # group -> rules
    int32_t* group_rule
    int32_t* size              # samples of a group; negative if they are not of the class
    # The selection at hand
    uint8_t* selected
    int32_t n_selected
    int32_t* times             # how many selected rules cover a group
    int32_t* whose             # their numbers, added without carry: the rule itself where it is one
    int64_t* right             # samples of the class, and others, that a rule covers and no other selected rule does
    int64_t* wrong
    int64_t fired              # samples that a selected rule covers
    int64_t fp                 # those that are not of the class
    Watch watch


cdef inline int64_t divide(
    Refinement* r, const Cover* cover, const int64_t* rules, const int32_t* truth, int32_t label, Field* f,
) noexcept nogil:
    """Find the groups of the rules of one class and write their sizes; returns how many pairs of rule and group there are."""
    cdef int64_t pairs = 0
    cdef int64_t i
    cdef int32_t j, group
    for j in range(f.n_rules):
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            r.group_of[cover.place[i]] = -1
    r.n_groups = 2
    r.n_vacant = 0
    for group in range(2):
        r.size[group] = 0
        r.seen[group] = -1
    for j in range(f.n_rules):
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            if r.group_of[cover.place[i]] < 0:
                group = truth[cover.place[i]] == label
                r.group_of[cover.place[i]] = group
                r.size[group] += 1
    for j in range(f.n_rules):
        refine(r, cover, rules[j], j)
    for group in range(r.n_groups):
        r.seen[group] = -1
    f.n_groups = 0
    for j in range(f.n_rules):
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            group = r.group_of[cover.place[i]]
            if r.seen[group] < 0:
                r.target[group] = f.n_groups
                f.size[f.n_groups] = r.size[group] if truth[cover.place[i]] == label else -r.size[group]
                f.n_groups += 1
            if r.seen[group] != j:
                r.seen[group] = j
                pairs += 1
    return pairs


cdef inline void connect(Refinement* r, const Cover* cover, const int64_t* rules, Field* f) noexcept nogil:
    """Write which groups a rule covers and which rules cover a group; `divide` has been here."""
    cdef int64_t n = 0
    cdef int64_t i
    cdef int32_t j, group
    for group in range(r.n_groups):
        r.seen[group] = -1
    memset(f.group_start, 0, (f.n_groups + 1) * sizeof(int64_t))
    for j in range(f.n_rules):
        f.rule_start[j] = n
        for i in range(cover.start[rules[j]], cover.stop[rules[j]]):
            group = r.group_of[cover.place[i]]
            if r.seen[group] != j:
                r.seen[group] = j
                f.rule_group[n] = r.target[group]
                f.group_start[r.target[group] + 1] += 1
                n += 1
    f.rule_start[f.n_rules] = n
    for group in range(f.n_groups):
        f.group_start[group + 1] += f.group_start[group]
    for j in range(f.n_rules - 1, -1, -1):   # fills each group's list from its end, which becomes its start
        for i in range(f.rule_start[j], f.rule_start[j + 1]):
            group = f.rule_group[i]
            f.group_start[group + 1] -= 1
            f.group_rule[f.group_start[group + 1]] = j
    # group_start[group + 1] has become the start of `group`
    for group in range(f.n_groups):
        f.group_start[group] = f.group_start[group + 1]
    f.group_start[f.n_groups] = n


cdef inline void credit(Field* f, int32_t rule, int32_t size, int32_t sign) noexcept nogil:
    if size > 0:
        f.right[rule] += sign * size
    else:
        f.wrong[rule] -= sign * size


cdef inline void count_fired(Field* f, int32_t size, int32_t sign) noexcept nogil:
    if size > 0:
        f.fired += sign * size
    else:
        f.fired -= sign * size
        f.fp -= sign * size


cdef inline void count_selection(Field* f) noexcept nogil:
    """Compute the figures of the selection from `selected`."""
    cdef int32_t rule, group
    cdef int64_t i
    memset(f.times, 0, f.n_groups * sizeof(int32_t))
    memset(f.whose, 0, f.n_groups * sizeof(int32_t))
    memset(f.right, 0, f.n_rules * sizeof(int64_t))
    memset(f.wrong, 0, f.n_rules * sizeof(int64_t))
    f.n_selected = 0
    f.fired = 0
    f.fp = 0
    for rule in range(f.n_rules):
        if f.selected[rule]:
            f.n_selected += 1
            for i in range(f.rule_start[rule], f.rule_start[rule + 1]):
                f.times[f.rule_group[i]] += 1
                f.whose[f.rule_group[i]] ^= rule
    for group in range(f.n_groups):
        if f.times[group] == 0:
            for i in range(f.group_start[group], f.group_start[group + 1]):
                credit(f, f.group_rule[i], f.size[group], 1)
            continue
        if f.times[group] == 1:
            credit(f, f.whose[group], f.size[group], 1)
        count_fired(f, f.size[group], 1)


cdef inline void toggle(Field* f, int32_t rule) noexcept nogil:
    """Select or deselect a rule; the cost is that of the groups that only this rule covers."""
    cdef int32_t sign = -1 if f.selected[rule] else 1
    cdef int32_t group, size
    cdef int64_t i, j
    f.selected[rule] = not f.selected[rule]
    f.n_selected += sign
    for i in range(f.rule_start[rule], f.rule_start[rule + 1]):
        group = f.rule_group[i]
        size = f.size[group]
        f.times[group] += sign
        if f.times[group] == (1 if sign > 0 else 0):   # no other selected rule is here
            count_fired(f, size, sign)
            for j in range(f.group_start[group], f.group_start[group + 1]):
                if f.group_rule[j] != rule:
                    credit(f, f.group_rule[j], size, -sign)
        elif f.times[group] == (2 if sign > 0 else 1):  # one other is here
            credit(f, f.whose[group] if sign > 0 else f.whose[group] ^ rule, size, -sign)
        f.whose[group] ^= rule


cdef inline float theory_bits(const Field* f, float sum_of_bits, int32_t n_selected) noexcept nogil:
    """Bits of rules in any order."""
    return <float> (sum_of_bits - f.log_factorial[n_selected])


cdef inline float bits_of_selection(const Field* f) noexcept nogil:
    cdef float total = 0
    cdef int32_t rule
    for rule in range(f.n_rules):
        if f.selected[rule]:
            total = total + f.bits[rule]
    return theory_bits(f, total, f.n_selected)


cdef inline float length_of(const Field* f, float bits, int64_t fired, int64_t fp) noexcept nogil:
    """Bits of a selection: its exceptions and, as a theory is redundant, half of those of its rules."""
    return <float> 0.5 * bits + exception_bits(f.n_samples, f.lg_n, fired, fp, f.n_class - (fired - fp))


cdef inline float length_after(const Field* f, int32_t rule, float bits) noexcept nogil:
    """Bits of the selection with this rule toggled; `bits` = those of the selected rules.

    Release 8 goes from the rounded bits of the selected rules to those with one rule more or less, and rounds at each step.
    """
    cdef float toggled
    if f.selected[rule]:
        toggled = bits - f.bits[rule]
        toggled = toggled + f.log_number[f.n_selected]
        return length_of(f, toggled, f.fired - f.right[rule] - f.wrong[rule], f.fp - f.wrong[rule])
    toggled = bits + f.bits[rule]
    toggled = toggled - f.log_number[f.n_selected + 1]
    return length_of(f, toggled, f.fired + f.right[rule] + f.wrong[rule], f.fp + f.wrong[rule])


# ---------------------------------------------------------------------------------------------------------------------
# The search for the shortest selection
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Random:            # the C library's random(): additive feedback over 31 words
    uint32_t[31] word
    int32_t oldest


cdef inline double draw(Random* r) noexcept nogil:
    """A number in [0, 1)."""
    cdef int32_t i = r.oldest
    r.word[i] += r.word[i + 28 if i < 3 else i - 3]
    r.oldest = i + 1 if i < WORDS_OF_RANDOM - 1 else 0
    return <double> (r.word[i] >> 1) / 2147483648.0


cdef inline void try_all(
    Field* f, int64_t* right, int64_t* wrong, uint8_t* best,
) noexcept nogil:
    """Find the shortest of all selections, the first where several are: the first rule changes fastest.

    `right`, `wrong` (2 ** n_rules zeros each) become, for a set of rules, the samples that no rule outside it covers.
    """
    cdef int64_t n = <int64_t> 1 << f.n_rules
    cdef int64_t s, i, rest
    cdef int64_t n_right = 0
    cdef int64_t n_wrong = 0
    cdef int64_t shortest = 0
    cdef int32_t group, rule, n_selected
    cdef float sum_of_bits, length
    cdef float least = 0
    for group in range(f.n_groups):
        s = 0
        for i in range(f.group_start[group], f.group_start[group + 1]):
            s |= <int64_t> 1 << f.group_rule[i]
        if f.size[group] > 0:
            right[s] += f.size[group]
            n_right += f.size[group]
        else:
            wrong[s] -= f.size[group]
            n_wrong -= f.size[group]
    for rule in range(f.n_rules):
        for s in range(n):
            if s >> rule & 1:
                right[s] += right[s ^ <int64_t> 1 << rule]
                wrong[s] += wrong[s ^ <int64_t> 1 << rule]
    for s in range(n):
        sum_of_bits = 0
        n_selected = 0
        for rule in range(f.n_rules):
            if s >> rule & 1:
                sum_of_bits = sum_of_bits + f.bits[rule]
                n_selected += 1
        rest = n - 1 - s
        length = length_of(
            f, theory_bits(f, sum_of_bits, n_selected), n_right - right[rest] + n_wrong - wrong[rest], n_wrong - wrong[rest]
        )
        if s == 0 or length < least:
            least = length
            shortest = s
    for rule in range(f.n_rules):
        best[rule] = shortest >> rule & 1


cdef struct Record:            # the shortest selection seen
    uint8_t* selected
    float length
    bint exists


cdef inline void keep_record(Record* best, const Field* f, float length) noexcept nogil:
    if not best.exists or length < best.length:
        best.exists = True
        best.length = length
        memcpy(best.selected, f.selected, f.n_rules)


cdef inline void climb(Field* f, Record* best) noexcept nogil:
    """Toggle the rule that shortens the selection most, the first on ties, until none does."""
    cdef float bits, length, reduction, largest
    cdef int32_t rule, step
    while not interrupted(&f.watch, RULE_COST * f.n_rules):
        bits = bits_of_selection(f)
        length = length_of(f, bits, f.fired, f.fp)
        keep_record(best, f, length)
        step = -1
        largest = 0
        for rule in range(f.n_rules):
            reduction = length - length_after(f, rule, bits)
            if reduction > largest:
                largest = reduction
                step = rule
        if step < 0:
            return
        toggle(f, step)


cdef inline void climb_from_all_sides(Field* f, Random* random, Record* best) noexcept nogil:
    cdef int32_t tenths, rule
    for tenths in range(CLIMBS):
        for rule in range(f.n_rules):
            f.selected[rule] = draw(random) < <float> (tenths / 10.0)
        count_selection(f)
        climb(f, best)


cdef inline void anneal(Field* f, Random* random, Record* best) noexcept nogil:
    """Simulated annealing, from the empty selection; then climb from the best selection it saw.

    A proposal toggles a rule drawn at random: it is taken if it shortens the selection, else with probability exp(reduction /
    temperature).  One is taken at each temperature, of at most PROPOSALS; where none is, the search is frozen.
    """
    cdef float temperature = 1000
    cdef float bits, length, reduction
    cdef int32_t rule, _proposal
    cdef bint moved = True
    memset(f.selected, 0, f.n_rules)
    count_selection(f)
    while moved and temperature > 0.001 and not interrupted(&f.watch, RULE_COST * f.n_rules):
        bits = bits_of_selection(f)
        length = length_of(f, bits, f.fired, f.fp)
        keep_record(best, f, length)
        moved = False
        for _proposal in range(PROPOSALS):
            rule = <int32_t> (draw(random) * f.n_rules)
            reduction = length - length_after(f, rule, bits)
            if reduction > 0 or draw(random) < exp(reduction / temperature):
                toggle(f, rule)
                moved = True
                break
        temperature = <float> (temperature * 0.95)
    memcpy(f.selected, best.selected, f.n_rules)
    count_selection(f)
    climb(f, best)


# ---------------------------------------------------------------------------------------------------------------------
# The order of use
# ---------------------------------------------------------------------------------------------------------------------

cdef struct Ordered:           # samples and the rules that fire on them, in order of use
    const int64_t* start       # place -> rules
    const int32_t* rule
    const int32_t* label       # class of a rule
    const int32_t* truth       # class of a place
    uint8_t* alive             # rules that are still in use
    int64_t* better            # samples that a rule, where it comes first, gets right and the next gets wrong
    int64_t* worse             # and the other way round
    int32_t default_label


cdef inline void judge(Ordered* o, uint32_t place, int32_t sign) noexcept nogil:
    """Count a sample for or against the first rule that fires on it, compared with the next one or the default."""
    cdef int64_t i
    cdef int32_t first = -1
    cdef int32_t label = o.default_label
    for i in range(o.start[place], o.start[place + 1]):
        if o.alive[o.rule[i]]:
            if first >= 0:
                label = o.label[o.rule[i]]
                break
            first = o.rule[i]
    if first < 0 or o.label[first] == label:
        return
    if o.label[first] == o.truth[place]:
        o.better[first] += sign
    elif label == o.truth[place]:
        o.worse[first] += sign


# ---------------------------------------------------------------------------------------------------------------------
# Use
# ---------------------------------------------------------------------------------------------------------------------

cdef enum Operator:
    AT_MOST
    ABOVE
    ONE_OF


cdef struct RuleTests:        # of all rules, rule by rule
    const int64_t* start       # rule -> conditions
    const int32_t* feature
    const uint8_t* operator
    const double* threshold
    const int64_t* code_start  # condition -> codes, ascending
    const uint32_t* code


cdef inline bint holds(const RuleTests* c, int64_t i, double x) noexcept nogil:
    """Is a condition satisfied?  A missing value (NaN) satisfies none."""
    cdef int64_t j
    if c.operator[i] == AT_MOST:
        return x <= c.threshold[i]
    if c.operator[i] == ABOVE:
        return x > c.threshold[i]
    for j in range(c.code_start[i], c.code_start[i + 1]):
        if x == c.code[j]:
            return True
    return False
