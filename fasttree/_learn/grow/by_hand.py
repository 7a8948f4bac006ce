"""Tests that are set by hand: what the user gives as a test, and its effect on the samples of a node.

A tree of one test, grown on a column with the number of each sample's branch, divides the samples.  Values, gain and the way of
missing values are therefore those of the recipe.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.checks import is_integer, is_number
from fasttree._data.schema import Category, Feature, Kind, Schema
from fasttree._data.table import Table
from fasttree._learn.grow import growth
from fasttree._learn.grow.encode import OneFeature, is_missing
from fasttree._learn.grow.grower import Grower
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Samples
from fasttree._model.arrays import INTERVALS, KNOWN, NOMINAL, THRESHOLD
from fasttree._model.tree import Tree


class HandTest(NamedTuple):
    """A test of one feature: `kind` of node, threshold, the codes of each branch, and cuts."""

    feature: int
    kind: int
    threshold: float = math.nan
    codes: tuple[tuple[int, ...], ...] = ()
    cuts: tuple[float, ...] = ()

    @property
    def n_branches(self) -> int:
        """Number of branches of known values."""
        return {THRESHOLD: 2, NOMINAL: len(self.codes), INTERVALS: len(self.cuts) + 1}[self.kind]

    def branches(self, column: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
        """Return the branch of each value of the feature; -1 if it is missing or in no branch."""
        if self.kind == NOMINAL:
            branch_of = np.full(int(max(column.max(initial=0), *(code for group in self.codes for code in group))) + 1, -1)
            for branch, group in enumerate(self.codes):
                branch_of[list(group)] = branch
            known: npt.NDArray[np.intp] = branch_of[column]
            return known
        cuts = np.array(self.cuts) if self.kind == INTERVALS else np.array([self.threshold])
        return np.where(is_missing(column), -1, np.searchsorted(cuts, column.astype(np.float64), side="left"))


def feature_index(schema: Schema, feature: Any) -> int:
    """Return the index of a column given by index or name."""
    if is_integer(feature) and 0 <= feature < len(schema.features):
        return int(feature)
    names = [each.name for each in schema.features]
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    raise ValueError(f"feature={feature!r}: must be the name or the index of a column of the fit: {listed}")


def hand_test(schema: Schema, feature: int, at: Any) -> HandTest:
    """Return the test that a user describes.

    Parameters
    ----------
    schema : Schema
    feature : int
    at : number, category, sequence of numbers, of categories, or of groups of categories
        As for `split` of estimators.

    Raises
    ------
    ValueError
        If the feature has no such test.
    """
    described = schema.features[feature]
    if described.categories is None:
        return _numeric_test(described, feature, at)
    if described.kind is Kind.ORDINAL and not _is_several(at):
        code = _codes([at], described)[0]
        if code == len(described.categories):
            raise ValueError(f"at={at!r}: is the last category of {described.name!r}: none would go to the other branch")
        return HandTest(feature, THRESHOLD, threshold=float(code))
    if not _is_several(at) or not len(at):
        raise ValueError(f"at={at!r}: must be a list of categories of {described.name!r}, or a list of such lists")
    given = list(at)
    groups = [_codes(group, described) for group in (given if all(map(_is_several, given)) else [given])]
    if len(groups) == 1:  # all others go to the second branch
        groups.append(tuple(sorted(set(range(1, len(described.categories) + 1)) - set(groups[0]))))
    several = [code for group in groups for code in group]
    if len(set(several)) < len(several) or not all(groups):
        raise ValueError(f"at={at!r}: every branch needs a category of {described.name!r}, and each category has one branch")
    if described.kind is Kind.ORDINAL:
        return _in_order(HandTest(feature, NOMINAL, codes=tuple(groups)), described, at)
    return HandTest(feature, NOMINAL, codes=tuple(groups))


def _is_several(at: Any) -> bool:
    return isinstance(at, Iterable) and not isinstance(at, str | bytes)


def _numeric_test(described: Feature, feature: int, at: Any) -> HandTest:
    cuts = list(at) if _is_several(at) else [at]
    if not cuts or not all(is_number(cut) and math.isfinite(cut) for cut in cuts):
        raise ValueError(f"at={at!r}: must be a finite number, or several for intervals, as {described.name!r} is continuous")
    if len(cuts) == 1:
        return HandTest(feature, THRESHOLD, threshold=float(cuts[0]))
    if any(second <= first for first, second in itertools.pairwise(cuts)):
        raise ValueError(f"at={at!r}: cuts must be ascending")
    return HandTest(feature, INTERVALS, cuts=tuple(map(float, cuts)))


def _codes(categories: Sequence[Category], described: Feature) -> tuple[int, ...]:
    known = {category: code for code, category in enumerate(described.categories or (), start=1)}
    strangers = [category for category in categories if category not in known]
    if strangers:
        listed = ", ".join(map(repr, list(known)[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"at: {strangers[0]!r} is no category of {described.name!r}; it has {listed}")
    return tuple(sorted(known[category] for category in categories))


def _in_order(test: HandTest, described: Feature, at: Any) -> HandTest:
    """Return the threshold on the order of an ordinal feature that divides the groups."""
    if len(test.codes) == 2 and max(test.codes[0]) < min(test.codes[1]):
        return HandTest(test.feature, THRESHOLD, threshold=float(max(test.codes[0])))
    raise ValueError(
        f"at={at!r}: {described.name!r} is ordinal: give the last category of the first branch, or two groups in order"
    )


class BranchNumbers(OneFeature):
    """A column with the number of each sample's branch, as the only feature of a table."""

    def __init__(self, table: Table, test: HandTest) -> None:
        branch = test.branches(table.column(test.feature))
        self.n_samples, self.n_features = table.n_samples, 1
        if test.n_branches == 2:
            self.schema = Schema((Feature("branch", Kind.CONTINUOUS),))
            self._column: npt.NDArray[Any] = np.where(branch < 0, np.nan, branch).astype(np.float32)
        else:
            self.schema = Schema((Feature("branch", Kind.NOMINAL, tuple(range(test.n_branches))),))
            self._column = (branch + 1).astype(np.uint32 if test.n_branches > 254 else np.uint8)

    def column(self, j: int) -> npt.NDArray[Any]:
        """Return the column."""
        return self._column


def stump_by_hand(grower: Grower, test: HandTest, arriving: Samples) -> Tree:
    """Return the tree of one test, with the samples of a node.

    Parameters
    ----------
    grower : Grower
        Recipe, samples and costs of the whole tree.
    test : HandTest
    arriving : Samples
        All samples, with their weights and parts at the node.

    Raises
    ------
    ValueError
        If a branch gets no sample, or the node cannot be split.
    """
    recipe = grower.recipe
    assert arriving.weight is not None
    if test.n_branches > 2 and recipe.missing in ("direction", "surrogate"):
        raise ValueError(
            f"missing={recipe.missing!r} and {test.n_branches} branches exclude each other, because it needs two branches: give "
            "two groups or one threshold, or fit with missing='fractional' or 'majority'"
        )
    recipe = recipe.variant(
        rank="gain",
        nominal="subset" if test.n_branches == 2 else "declared",
        ordinal="threshold",
        continuous="threshold",
        release8=False,
        midpoint="low",
    )
    column = BranchNumbers(arriving.table, test)
    branch = test.branches(arriving.table.column(test.feature))[arriving.weight > 0]
    without = set(range(test.n_branches)) - set(branch.tolist())
    if without:
        raise ValueError(f"branch {min(without)} of the test gets none of the {branch.size:,} samples of the node: use another")
    limits = Limits(
        max_depth=1,
        min_gain=-math.inf,
        min_branch_weight=0.0,
        min_part_weight=grower.limits.min_part_weight,
        min_part_share=grower.limits.min_part_share,
        no_surrogate=grower.limits.no_surrogate,
    )

    def grow(recipe: Recipe) -> Tree:
        return growth.grow(
            column,
            arriving.target,
            arriving.weight,
            recipe,
            limits,
            n_classes=grower.n_classes,
            costs=grower.costs,
            part=arriving.part,
            bins_of=column,
        )

    stump = grow(recipe)
    if stump.n_branches[0] and stump.kind[0] == KNOWN:  # the best direction of missing values would not test the value at all
        stump = grow(recipe.variant(missing="majority"))
    if stump.n_branches[0] == 0:
        raise ValueError("the node cannot be split, because all its samples have the same target")
    return _with_test(stump, test, arriving.table.n_features)


def _with_test(stump: Tree, test: HandTest, n_features: int) -> Tree:
    """Return the tree of one test with the user's test at its root."""
    n_nodes, root = stump.node_count, np.arange(stump.node_count) == 0
    codes = sorted((code, branch) for branch, group in enumerate(test.codes) for code in group)
    has_cuts = test.kind == INTERVALS
    return stump.replace(
        n_features=n_features,
        feature=np.where(root, test.feature, -1).astype(np.int32),
        kind=np.where(root, test.kind, 0).astype(np.uint8),
        threshold=np.where(root, test.threshold, np.nan),
        categories_start=np.append(0, np.full(n_nodes, len(codes), np.int64)),
        categories_code=np.array([code for code, _ in codes], np.uint32),
        categories_branch=np.array([branch for _, branch in codes], np.int32),
        cut_start=np.append(0, np.full(n_nodes, len(test.cuts), np.int64)) if has_cuts else None,
        cut=np.array(test.cuts) if has_cuts else None,
        surrogates=None,
        by_hand=root,
    )
