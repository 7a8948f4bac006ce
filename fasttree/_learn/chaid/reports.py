"""Tests of the nodes of a CHAID tree as its growth finds them; their objects are made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._learn.chaid.columns import CategoryColumn
from fasttree._learn.chaid.merging import Choices, Merged, join_both, merge
from fasttree._model.made import Made
from fasttree._model.tested import SPLIT, MergeStep, NodeTest, PredictorTest

N_FIGURES = 7
CATEGORIES, GROUPS, STATISTIC, DF, DF_WITHIN, LOG_P, LOG_MULTIPLIER = range(N_FIGURES)
TOO_SMALL = "min_samples_leaf"
UNTESTED = "untested"  # a node of less than two of the smallest leaves, whatever its tests are
NO_DF = -1.0  # within the groups, of a chi-square test


class Predictors(NamedTuple):
    """Tests of all features in a node: `figures` has a row for each, whose columns are those above."""

    figures: Floats

    def order(self) -> npt.NDArray[np.intp]:
        """Return the features of at least two categories, the best first."""
        figures, adjusted = self.figures, self._adjusted()
        order = np.lexsort((-figures[:, STATISTIC], figures[:, LOG_P], adjusted))
        return np.asarray(order[figures[order, CATEGORIES] > 1])

    def best(self) -> int | None:
        """Return the first feature of the order; None if there is none."""
        adjusted = np.where(self.figures[:, CATEGORIES] > 1, self._adjusted(), np.inf)
        if not (least := adjusted.min()) < np.inf:  # there is none, or no number is the least
            order = self.order()
            return int(order[0]) if len(order) else None
        return int(adjusted.argmin()) if np.count_nonzero(adjusted == least) == 1 else int(self.order()[0])

    def _adjusted(self) -> Floats:
        return np.asarray(np.minimum(self.figures[:, LOG_P] + self.figures[:, LOG_MULTIPLIER], 0.0))

    def test(self, feature: int) -> PredictorTest:
        """Return the test of a feature."""
        return _test_of(feature, self.figures[feature].tolist())


def _test_of(feature: int, figures: Sequence[float]) -> PredictorTest:
    n, n_groups, statistic, df, df_within, log_p, factor = figures
    both = (df,) if df_within == NO_DF else (df, df_within)
    return PredictorTest(feature, int(n), int(n_groups), statistic, both, log_p, factor)


class MergedFeature(NamedTuple):
    """A feature in a node: the categories that occur, their table, and their groups."""

    feature: int
    column: CategoryColumn
    present: npt.NDArray[np.intp]
    table: Floats
    merged: Merged

    @classmethod
    def of(
        cls, feature: int, column: CategoryColumn, whole: Floats, choices: Choices, known: PredictorTest | None = None
    ) -> MergedFeature | None:
        """Merge the categories of a feature, whose test may be known; return None if only one occurs."""
        present = np.flatnonzero((whole[:, 0] if choices.statistic == "f" else whole.sum(axis=1)) > 0)
        if len(present) < 2:
            return None
        has_missing = bool(present[-1] == column.n_known)
        kind = "floating" if has_missing and column.kind == "ordinal" else column.kind
        table = whole[present]
        merged = merge(table, kind, choices, len(present) - 1 if has_missing else -1, known)
        return cls(feature, column, present, table, merged)

    @property
    def bounds(self) -> tuple[float, ...]:
        """Largest value of each interval; empty for categories."""
        return () if self.column.bounds is None else tuple(self.column.bounds.tolist())

    def figures(self, merged: Merged) -> tuple[float, ...]:
        """Return the row of `Predictors` for these groups."""
        df, df_within = merged.df if len(merged.df) > 1 else (*merged.df, NO_DF)
        n_groups = len(merged.groups)
        return merged.n_categories, n_groups, merged.statistic, df, df_within, merged.log_p, merged.log_multiplier

    def test(self, merged: Merged) -> PredictorTest:
        """Return the test of these groups."""
        return _test_of(self.feature, self.figures(merged))

    def steps(self, merged: Merged) -> tuple[MergeStep, ...]:
        """Return the merges with the codes of the schema."""
        codes = np.where(self.present == self.column.n_known, 0, self.present + 1).tolist()

        def of(group: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(codes[i] for i in group)

        return tuple(MergeStep(of(s.one), of(s.other), s.statistic, s.log_p, s.divides) for s in merged.steps)


class Report(NamedTuple):
    """What the growth knows of the tests of a node.

    `best` is the best feature with its merges, or its number and table, if its merges were not needed in the growth.  `cells` has
    the tables of all features, one after the other, of a node that is too small to be divided: its tests were not needed.
    """

    reason: str
    predictors: Predictors | None = None
    best: MergedFeature | tuple[int, Floats] | None = None
    final: Merged | None = None
    cells: npt.NDArray[Any] | None = None

    def test(self, columns: Sequence[CategoryColumn], choices: Choices) -> NodeTest:
        """Return the tests of the node."""
        if self.predictors is None or self.best is None:
            return NodeTest(self.reason)
        predictors = tuple(map(self.predictors.test, self.predictors.order().tolist()))
        best = self.best
        if not isinstance(best, MergedFeature):
            feature, whole = best
            found = MergedFeature.of(feature, columns[feature], whole, choices, predictors[0])
            assert found is not None
            best = found
        final = self.final or best.merged
        if self.reason == TOO_SMALL and self.final is None:  # the growth did not need the last merge
            final = replace(final, steps=(*final.steps, join_both(final.groups, best.table, choices.test)))
        split = best.test(final) if self.reason == SPLIT else None
        return NodeTest(self.reason, split, predictors, best.steps(final), best.bounds)


def tests_of(
    reports: Sequence[Report],
    columns: Sequence[CategoryColumn],
    choices: Choices,
    untested: Callable[[npt.NDArray[Any]], Report],
) -> Made[NodeTest]:
    """Return the tests of the nodes; `columns` are kept, and `untested` tests a node from its tables."""
    kept = list(reports)

    def make(i: int) -> NodeTest:
        cells = kept[i].cells
        report = kept[i] if cells is None else untested(cells)
        return report.test(columns, choices)

    return Made(make, len(kept))
