"""SHAP values of rules with models: exact Shapley values of the games of pairs of samples.

**Game.** As in `models`, a sample is explained against a sample of the background: a set of features has the values of the
one, the others have those of the other, and the worth of the set is the prediction.

**Which rules hold.** A member predicts the mean of its rules that hold, and rules overlap, so its worth is no sum over rules.
But features can be looked at one after the other, each with all its conditions at once: a value passes those of some rules, and
fails those of others, which are dropped.  Where no condition is left, the rules that remain hold for all sets that lead there,
and the worth is the mean of their models: a sum of games of single models, as in the leaf of a tree.

The time grows with the number of sets of rules that hold together for some set of features, in the worst case exponentially in
the number of features with conditions.  No polynomial method is known: whether any rule holds is a disjunction of conjunctions,
whose Shapley values are as hard as counting its models (Kara, Olteanu and Suciu 2024), which is #P-complete (Valiant 1979).

Kara, A., Olteanu, D. and Suciu, D. (2024). From Shapley Value to Model Counting and Back. Proceedings of the ACM on
Management of Data 2(2), 79.

Valiant, L. G. (1979). The Complexity of Enumeration and Reliability Problems. SIAM Journal on Computing 8(3), 410-421.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from fasttree._data.table import Table
from fasttree._explain.shapley.models import Floats, Marks, PairPath, blocks_of, shares_of_end
from fasttree._model.committees.committee import Committee

__all__ = ["values_of_rules"]

REMEDY = "fit with a larger extrapolation, so that fewer sets pass a bound, or with fewer features"

Passes = list[dict[int, Marks]]  # for each rule, by feature: which samples pass its conditions


def values_of_rules(committee: Committee, table: Table, background: Table) -> tuple[Floats, float]:
    """Return the Shapley values, shape (n_samples, n_features), and the mean prediction for the background.

    Raises
    ------
    ValueError
        If sets of the terms of a rule pass a bound, and these terms have more than 20 features.
    """
    X = table.block(0, table.n_samples).astype(np.float64)
    others = background.block(0, background.n_samples).astype(np.float64)
    base, models = float(committee.predict_by_rules(background).mean()), committee.models()
    of_table, of_background = _passes(committee, table), _passes(committee, background)
    values = np.zeros(X.shape)
    for rows, part in blocks_of(X):
        for other_rows, against in blocks_of(others):
            both = _cut(of_table, rows), _cut(of_background, other_rows)
            for holding, path in _ends_of_members(committee, *both, (len(part), len(against))):
                for rule in holding or [-1]:  # the last model is the mean of the fit
                    for feature, found in shares_of_end(models, path._replace(node=rule), part, against, base, REMEDY):
                        values[rows, feature] += np.bincount(path.row, found / max(len(holding), 1), len(part))
    return values / (len(others) * len(committee.members)), base


def _passes(committee: Committee, table: Table) -> Passes:
    found: Passes = []
    for rule in committee.rules():
        own: dict[int, Marks] = {}
        for condition in rule.conditions:
            categories = table.schema.features[condition.index].categories or ()
            marks = condition.passes_column(table.column(condition.index), categories) > 0
            own[condition.index] = own[condition.index] & marks if condition.index in own else marks
        found.append(own)
    return found


def _cut(passes: Passes, rows: slice) -> Passes:
    return [{feature: marks[rows] for feature, marks in of_rule.items()} for of_rule in passes]


def _ends_of_members(
    committee: Committee, passes: Passes, other_passes: Passes, shape: tuple[int, int]
) -> Iterator[tuple[list[int], PairPath]]:
    start = 0
    for member in committee.members:
        yield from _ends(range(start, start + len(member)), passes, other_passes, shape)
        start += len(member)


def _ends(rules: range, passes: Passes, other_passes: Passes, shape: tuple[int, int]) -> Iterator[tuple[list[int], PairPath]]:
    """Yield the rules that hold, none or more, and the pairs of which some set satisfies just these, with the way there."""
    row, other = (place.ravel() for place in np.indices(shape))
    waiting = [(list(rules), PairPath(-1, row, other, {}))]
    while waiting:
        alive, path = waiting.pop()
        left = Counter(feature for rule in alive for feature in passes[rule] if feature not in path.passes)
        if not left:
            yield alive, path
            continue
        feature = max(left, key=lambda each: (left[each], -each))
        testing = [rule for rule in alive if feature in passes[rule]]
        marks = np.array([np.append(passes[rule][feature], other_passes[rule][feature]) for rule in testing])
        patterns, place = np.unique(marks, axis=1, return_inverse=True)
        for i, pattern in enumerate(patterns.T):
            one, two = np.split(place.ravel() == i, [shape[0]])
            kept = one[path.row] | two[path.other]
            if kept.any():
                failed = {rule for rule, passed in zip(testing, pattern, strict=True) if not passed}
                known = {**path.passes, feature: (one, two)}
                waiting.append(
                    ([rule for rule in alive if rule not in failed], PairPath(-1, path.row[kept], path.other[kept], known))
                )
