"""Rules that many trees of a forest share (Bénard et al. 2021, "SIRUS").

A rule is the path from the root of a tree to a node, with one condition per feature.  Trees rarely have equal thresholds, so that
each threshold counts as the nearest quantile of some samples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._explain.rule_table import Backend, frame, html_table, markdown_table
from fasttree._learn.progress import each
from fasttree._model.conditions import Condition
from fasttree._model.ensemble import Ensemble
from fasttree._model.paths import Paths
from fasttree._model.tree import Tree
from fasttree._model.words import mean_text, percent, threshold_texts, word

__all__ = ["SharedRule", "SharedRules", "shared_rules"]

SHOWN = 20  # rules in the repr
DECIMALS = 2
# for each feature: its column, and two numbers of quantiles (0 and one more than there are: no limit), or its categories
_Key: TypeAlias = tuple[tuple[int, Any], ...]


@dataclass(frozen=True)
class SharedRule:
    """A rule that occurs in several trees of a forest.

    Attributes
    ----------
    conditions : tuple of Condition
        One per feature, in the order of the columns.  Thresholds are quantiles of the samples.  A missing value meets none,
        unless the condition is that the value is missing.
    share : float
        Share of the trees in which it occurs.
    support : float
        Share of the samples that meet all conditions.
    n_samples : int
        Their number.
    prediction : object
        Their most frequent class, or the mean of their targets.
    confidence : float or None
        Share of this class among them; None in regression.
    spread : float or None
        Standard deviation of their targets; None in classification.

    Examples
    --------
    >>> from fasttree import RandomForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rule = RandomForestClassifier(random_state=0).fit(X, y).shared_rules(X, y, max_depth=1)[0]
    >>> len(rule.conditions), rule.n_samples == round(rule.support * len(y))
    (1, True)
    """

    conditions: tuple[Condition, ...]
    share: float
    support: float
    n_samples: int
    prediction: Any
    confidence: float | None
    spread: float | None


class SharedRules(Sequence[SharedRule]):
    """Rules that many trees of a forest share: an immutable sequence, the most frequent first.

    Examples
    --------
    >>> from fasttree import RandomForestClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> rules = RandomForestClassifier(random_state=0).fit(X, y).shared_rules(X, y, max_depth=1)
    >>> len(rules) > 0, 0 < rules[0].share <= 1
    (True, True)
    """

    def __init__(self, rules: Iterable[SharedRule], shown: tuple[Schema, Schema], words: dict[Any, str]) -> None:
        self._rules, self._shown, self._words = tuple(rules), shown, words

    @overload
    def __getitem__(self, index: int) -> SharedRule: ...
    @overload
    def __getitem__(self, index: slice) -> SharedRules: ...
    def __getitem__(self, index: int | slice) -> SharedRule | SharedRules:
        return SharedRules(self._rules[index], self._shown, self._words) if isinstance(index, slice) else self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def to_text(self) -> str:
        """Write a line for each rule."""
        return "".join(
            f"if {conditions} then {prediction}  ({', '.join(f'{name} {figure}' for name, figure in figures.items())})\n"
            for conditions, prediction, figures in self._records()
        )

    def to_markdown(self) -> str:
        """Write a Markdown table."""
        names, rows = self._cells()
        return markdown_table(["rule", "prediction"], names, rows)

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return a data frame with a row for each rule.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"

        Returns
        -------
        data frame
            Columns ``rule`` (text), ``prediction``, ``share``, ``support``, ``n_samples``, and ``confidence`` or ``spread``.
        """
        last = "confidence" if all(rule.spread is None for rule in self) else "spread"
        columns: dict[str, list[Any]] = {"rule": [text for text, _, _ in self._records()]}
        for name in ("prediction", "share", "support", "n_samples", last):
            columns[name] = [getattr(rule, name) for rule in self]
        return frame(columns, backend)

    def _records(self) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Yield the conditions, the prediction and the figures of each rule as texts."""
        texts = threshold_texts({pair for rule in self for condition in rule.conditions for pair in condition.thresholds()})
        own, shown = (schema.features for schema in self._shown)
        for rule in self:
            conditions = [each.relabelled(own[each.index], shown[each.index]) for each in rule.conditions]
            figures = {"trees": percent(rule.share), "support": percent(rule.support)}
            if rule.confidence is not None:
                figures["confidence"] = percent(rule.confidence)
                prediction = self._words[rule.prediction]
            else:
                figures["spread"] = mean_text(rule.spread or 0.0, DECIMALS)
                prediction = mean_text(rule.prediction, DECIMALS)
            yield " and ".join(each.words(texts) for each in conditions), prediction, figures

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        records = list(self._records())
        names = list(records[0][2]) if records else ["trees", "support"]
        return names, [[conditions, prediction, *figures.values()] for conditions, prediction, figures in records]

    def __repr__(self) -> str:
        more = f"\n... and {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return f"<SharedRules: {len(self)} rules>\n{self[:SHOWN].to_text().rstrip()}{more}".rstrip()

    def _repr_html_(self) -> str:
        names, rows = self[:SHOWN]._cells()
        return html_table(["rule", "prediction"], names, rows)


@dataclass(frozen=True)
class _Samples:
    """Samples that give quantiles and figures."""

    table: Table
    schema: Schema
    target: NDArray[Any]
    labels: list[Any]  # empty in regression
    known: list[NDArray[np.float64]]  # values of each continuous feature, ascending
    cuts: list[NDArray[np.float64]]  # their quantiles
    below: list[NDArray[np.float64]]  # the share of values up to each quantile

    def nearest(self, j: int, limit: float) -> int:
        """Return the number of the quantile nearest to a threshold, from 1 on; the lower one on ties."""
        share = np.searchsorted(self.known[j], limit, side="right") / self.known[j].size
        return 1 + int(np.abs(self.below[j] - share).argmin())


def shared_rules(
    ensemble: Ensemble,
    samples: tuple[Table, Schema, NDArray[Any], list[Any]],
    *,
    n_quantiles: int,
    max_depth: int,
    min_share: float,
) -> list[SharedRule]:
    """Return the rules that trees share, the most frequent first; see `ForestViews.shared_rules`.

    Parameters
    ----------
    ensemble : Ensemble
    samples : tuple of (Table, Schema, array, list)
        Encoded samples, their schema and targets, and the classes, of which regression has none.
    n_quantiles, max_depth, min_share
        As for `ForestViews.shared_rules`.
    """
    found = _with_quantiles(*samples, n_quantiles)
    count: Counter[_Key] = Counter()
    numbers: dict[tuple[int, float], int] = {}
    for i in each("shared rules", range(ensemble.n_trees)):
        count.update(set(_keys(ensemble.tree(i), found, max_depth, numbers)))
    shares = {key: n / ensemble.n_trees for key, n in count.items()}
    rules = [(_rule(key, share, found), key) for key, share in shares.items() if share >= min_share]
    rules.sort(key=lambda pair: (-pair[0].share, len(pair[1]), -pair[0].support, repr(pair[1])))
    return [rule for rule, _ in rules if rule.n_samples]


def _with_quantiles(table: Table, schema: Schema, target: NDArray[Any], labels: list[Any], n_quantiles: int) -> _Samples:
    every, cuts, below = [], [], []
    for j, feature in enumerate(schema.features):
        known = np.zeros(0)
        if feature.kind is Kind.CONTINUOUS:
            column = table.column(j).astype(np.float64)
            known = np.sort(column[~np.isnan(column)])
        values = np.zeros(0)
        if known.size:
            at = np.ceil(np.arange(1, n_quantiles) / n_quantiles * known.size).astype(np.intp) - 1
            values = np.unique(known[at])
            values = values[values < known[-1]]  # no value is above the largest
        every.append(known)
        cuts.append(values)
        below.append(np.searchsorted(known, values, side="right") / max(known.size, 1))
    return _Samples(table, schema, target, labels, every, cuts, below)


def _keys(tree: Tree, samples: _Samples, max_depth: int, numbers: dict[tuple[int, float], int]) -> Iterator[_Key]:
    """Yield the rules of the nodes of a tree that are at most `max_depth` tests below the root."""
    top = tree.prune_at(tree.depth() >= max_depth)
    paths = Paths(top, samples.schema)
    parent = top.parent.tolist()
    for node in range(1, top.node_count):
        joined: dict[int, Condition] = {}
        at = node
        while at:
            condition = paths.joined[at]
            assert condition is not None
            joined.setdefault(condition.index, condition)
            at = parent[at]
        parts = [_part(joined[j], samples, numbers) for j in sorted(joined)]
        if all(part is not None for part in parts):
            yield tuple(zip(sorted(joined), parts, strict=True))


def _part(condition: Condition, samples: _Samples, numbers: dict[tuple[int, float], int]) -> Any:
    """Return what makes conditions on a feature the same one; None if no sample can meet it."""
    if condition.operator == "missing":
        return "missing"
    if condition.kind is not Kind.CONTINUOUS:
        return condition.categories
    j, last = condition.index, len(samples.cuts[condition.index]) + 1
    ends = []
    for limit, without in ((condition.low, 0), (condition.high, last)):
        if math.isfinite(limit) and last > 1:
            if (j, limit) not in numbers:
                numbers[j, limit] = samples.nearest(j, limit)
            without = numbers[j, limit]
        ends.append(without)
    return (ends[0], ends[1]) if ends[0] < ends[1] else None


def _rule(key: _Key, share: float, samples: _Samples) -> SharedRule:
    conditions = tuple(_condition(j, part, samples) for j, part in key)
    covered = np.ones(samples.table.n_samples, dtype=bool)
    for condition in conditions:
        categories = samples.schema.features[condition.index].categories or ()
        covered &= condition.passes_column(samples.table.column(condition.index), categories) > 0
    target = samples.target[covered]
    n = len(target)
    support = n / samples.table.n_samples
    if not n:
        return SharedRule(conditions, share, support, n, None, None, None)
    if samples.labels:
        counts = np.bincount(target, minlength=len(samples.labels))
        best = int(counts.argmax())
        return SharedRule(conditions, share, support, n, samples.labels[best], float(counts[best] / n), None)
    return SharedRule(conditions, share, support, n, float(target.mean()), None, float(target.std()))


def _condition(j: int, part: Any, samples: _Samples) -> Condition:
    feature = samples.schema.features[j]
    if part == "missing":
        nothing = Condition.interval(feature, j, math.inf, -math.inf, missing=1.0)
        return nothing if feature.kind is Kind.CONTINUOUS else Condition.among(feature, j, (), missing=1.0)
    if feature.kind is not Kind.CONTINUOUS:
        return Condition.among(feature, j, part)
    limits = [-math.inf, *samples.cuts[j].tolist(), math.inf]
    return Condition.interval(feature, j, limits[part[0]], limits[part[1]])


def class_words(labels: Sequence[Any], shown: Sequence[Any]) -> dict[Any, str]:
    """Return the text of each class."""
    return {label: word(text) for label, text in zip(labels, shown, strict=True)}
