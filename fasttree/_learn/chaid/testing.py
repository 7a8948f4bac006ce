"""Tests of a node for CHAID: which feature splits it, and into which groups, from the tables of its samples alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.merging import test_features
from fasttree._learn.chaid.columns import CategoryColumn
from fasttree._learn.chaid.merging import Choices, Merged, join_small, with_test
from fasttree._learn.chaid.reports import (
    CATEGORIES,
    DF,
    DF_WITHIN,
    GROUPS,
    LOG_MULTIPLIER,
    LOG_P,
    N_FIGURES,
    NO_DF,
    STATISTIC,
    TOO_SMALL,
    MergedFeature,
    Predictors,
    Report,
)
from fasttree._learn.chaid.statistics import log_chi_square_tail, log_multiplier
from fasttree._learn.limits import Limits
from fasttree._model.tested import SPLIT

Room = tuple[Floats, Floats, npt.NDArray[np.intp]]
Sizes = Callable[[MergedFeature], npt.NDArray[Any]]
MOST_TERMS = 400  # degrees of freedom for which the compiled tail of chi-square is exact


@dataclass(frozen=True)
class Tester:
    """What the tests of all nodes have in common.

    Parameters
    ----------
    columns : sequence of CategoryColumn
        All features, without the codes of the samples.
    choices : Choices
    limits : Limits
    n_classes : int
        0 for numbers.
    """

    columns: Sequence[CategoryColumn]
    choices: Choices
    limits: Limits
    n_classes: int

    @cached_property
    def starts(self) -> npt.NDArray[np.intp]:
        """The first row of each feature in the table of all, and the end of the last one."""
        return np.concatenate([[0], np.cumsum([column.n_known + 1 for column in self.columns])]).astype(np.intp)

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """The rows of each feature in the table of all: the first one, and the end."""
        return list(pairwise(self.starts.tolist()))

    @cached_property
    def most_categories(self) -> int:
        """The largest number of categories of a feature, the missing one included."""
        return max(stop - start for start, stop in self.parts)

    @cached_property
    def has_tails(self) -> bool:
        """Whether the compiled tail of chi-square is exact for every table."""
        return (self.most_categories - 1) * (self.n_classes - 1) <= MOST_TERMS

    @cached_property
    def ordered(self) -> npt.NDArray[np.uint8]:
        """Which features have an order."""
        return np.array([column.kind != "nominal" for column in self.columns], np.uint8)

    def room(self) -> Room | None:
        """Return room for the compiled merges of all features; None if the choices or the size exclude them."""
        n, choices = self.most_categories, self.choices
        terms_of_exhaustive = (n - 1) * (self.n_classes - 1) if choices.method == "exhaustive" else 0
        if not self.n_classes or choices.resplit is not None or terms_of_exhaustive > MOST_TERMS:
            return None
        return np.empty((n + 1, self.n_classes)), np.empty((2, n, n)), np.empty(n, np.intp)

    def report(self, cells: Floats | None, tables: Sequence[Floats], room: Room | None, sizes: Sizes | None = None) -> Report:
        """Return the tests of a node, with the groups that split it if its reason is `SPLIT`.

        Parameters
        ----------
        cells : array or None
            For classes, the array of which `tables` are the parts.
        tables : sequence of array
            The table of each feature.
        room : Room or None
            As `room` returns it; threads must not share one.
        sizes : callable or None, default None
            Function that returns the number of samples of the categories that occur; None: their weight.
        """
        predictors, merged = self._predictors(cells, tables, room)
        first = predictors.best()
        if first is None:
            return Report("no_predictor")
        test = predictors.test(first)
        if test.log_adjusted_p_value > math.log(self.choices.alpha_split):
            return Report("not_significant", predictors, merged.get(first) or (first, tables[first].copy()))
        best = merged.get(first) or MergedFeature.of(first, self.columns[first], tables[first], self.choices, test)
        assert best is not None  # the test has two categories
        final = self._large_enough(best, sizes)
        if final is None or len(final.groups) < 2:
            return Report(TOO_SMALL, predictors, best, final)
        return Report(SPLIT, predictors, best, final)

    def untested(self, cells: npt.NDArray[Any]) -> Report:
        """Return the tests of a node that were not made in the growth; its weights are numbers of samples."""
        table = cells.astype(np.float64)
        return self.report(table, [table[start:stop] for start, stop in self.parts], self.room())

    def _predictors(
        self, cells: Floats | None, tables: Sequence[Floats], room: Room | None
    ) -> tuple[Predictors, dict[int, MergedFeature]]:
        """Merge the categories of every feature; return the tests, and the features that no compiled merge has."""
        figures, left = np.zeros((len(tables), N_FIGURES)), list(range(len(tables)))
        if cells is not None and room is not None:
            left = self._test(cells, figures, room)
        merged: dict[int, MergedFeature] = {}
        for j in left:
            if (candidate := MergedFeature.of(j, self.columns[j], tables[j], self.choices)) is not None:
                merged[j] = candidate
                figures[j] = candidate.figures(candidate.merged)
        return Predictors(figures), merged

    def _test(self, cells: Floats, figures: Floats, room: Room) -> list[int]:
        """Test each feature by compiled merges; return those whose missing category floats, which are not tested."""
        choices = self.choices
        exhaustive, by_likelihood = choices.method == "exhaustive", choices.statistic == "likelihood_ratio"
        least = -math.inf if exhaustive else math.log(choices.alpha_merge)
        found = test_features(cells, self.starts, self.ordered, by_likelihood, self.has_tails, least, room)
        figures[:, [CATEGORIES, GROUPS, STATISTIC, DF, LOG_P]] = found
        figures[:, DF_WITHIN] = NO_DF
        if not self.has_tails:
            tested = found[:, 0] > 1
            figures[tested, LOG_P] = log_chi_square_tail(found[tested, 2], found[tested, 3])
        if choices.bonferroni:
            sizes, method, form = found[:, :2].astype(np.intp).tolist(), choices.method, choices.exhaustive_multiplier
            figures[:, LOG_MULTIPLIER] = [
                log_multiplier(column.kind, method, n, n_groups, form) if n > 1 else 0.0
                for column, (n, n_groups) in zip(self.columns, sizes, strict=True)
            ]
        if not self.ordered.any():
            return []
        floats = self.ordered.view(np.bool_) & cells[self.starts[1:] - 1].any(axis=1)
        figures[floats] = 0.0
        return np.flatnonzero(floats).tolist()

    def _large_enough(self, best: MergedFeature, sizes: Sizes | None) -> Merged | None:
        """Join the branches with too few samples to others; return None if there are two, so that none is left."""
        of_categories = best.table.sum(axis=1) if self.n_classes else best.table[:, 0]
        weights = of_categories.tolist()
        counts = weights if sizes is None else sizes(best).tolist()

        def is_small(group: tuple[int, ...]) -> float | None:
            size, weight = float(sum(counts[i] for i in group)), sum(weights[i] for i in group)
            return size if size < self.limits.min_samples_leaf or weight < self.limits.min_weight_leaf else None

        merged = best.merged
        if len(merged.groups) == 2 and any(is_small(group) is not None for group in merged.groups):
            return None
        groups, steps = join_small(list(merged.groups), best.table, merged.kind, self.choices.test, is_small)
        if not steps:
            return merged
        return with_test(groups, best.table, merged.kind, self.choices, [*merged.steps, *steps], merged.missing)
