"""`ModelTree`: a regression tree with a linear model in each node, or one for each target, as M5 makes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.table import Table
from fasttree._model import walks
from fasttree._model.arrays import counts_below, gather, read_only, require
from fasttree._model.tree import Tree

__all__ = ["LinearModels", "ModelTree", "check_constant_leaves", "levels_of", "smoothed"]


@dataclass(frozen=True, eq=False)
class LinearModels:
    """Linear models, one per node.

    The model of node ``i`` predicts ``intercept[i]`` plus the terms ``start[i]:start[i + 1]``, added in order.  A term is its
    `coefficient` times the value of its `column`.  Then the prediction is moved into ``[lower[i], upper[i]]``.

    Columns are the features of the table, and after them the indicators: column ``n_features + k`` is 1 for samples of the
    category of `indicators[k]`, and 0 for those of the other categories.

    Attributes
    ----------
    start : array of int64, shape (n + 1,)
    column : array of int32, shape (m,)
        Ascending within a node; continuous features and indicators.
    coefficient : array of float64, shape (m,)
    intercept, lower, upper : array of float64, shape (n,)
        The bounds may be infinite.
    filling : array of float64, shape (n_features + n_indicators,)
        What takes the place of a missing value in a model: the mean of the column in the fit, for an indicator the share of its
        category, also for a category that the fit did not see.  NaN for a feature without terms.
    indicators : array of int64, shape (n_indicators, 2)
        Feature and code of the category of each indicator.
    """

    start: npt.NDArray[np.int64]
    column: npt.NDArray[np.int32]
    coefficient: Floats
    intercept: Floats
    lower: Floats
    upper: Floats
    filling: Floats
    indicators: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))

    def __post_init__(self) -> None:
        for name, dtype in _ARRAYS.items():
            given = np.asarray(getattr(self, name))
            # 0.0 in the place of -0.0, so that a term of 0 changes no bit of a sum that begins with the intercept
            value = given + 0.0 if name in ("intercept", "lower", "upper") else given
            object.__setattr__(self, name, read_only(name, value, dtype, 2 if name == "indicators" else 1))

    @classmethod
    def of_rows(
        cls,
        coefficients: Floats,
        columns: npt.NDArray[np.intp],
        intercept: Floats,
        lower: Floats,
        upper: Floats,
        filling: Floats,
        indicators: npt.NDArray[np.int64],
    ) -> LinearModels:
        """Return the models with these coefficients, shape (n, d), of d ascending columns; 0 is no term."""
        node, place = np.nonzero(coefficients)
        start = np.append(0, np.cumsum(np.count_nonzero(coefficients, axis=1)))
        terms = (start, columns[place].astype(np.int32), coefficients[node, place])
        return cls(*terms, intercept, lower, upper, filling, indicators)

    @property
    def n_features(self) -> int:
        return int(self.filling.size - len(self.indicators))

    @cached_property
    def columns(self) -> npt.NDArray[np.intp]:
        """Columns that occur in a model, ascending."""
        return np.unique(self.column).astype(np.intp)

    @cached_property
    def rows(self) -> Floats:
        """Coefficients of all `columns`, shape (n, d)."""
        rows = np.zeros((self.intercept.size, self.columns.size))
        node = np.repeat(np.arange(self.intercept.size), np.diff(self.start))
        rows[node, np.searchsorted(self.columns, self.column)] = self.coefficient
        return rows

    def terms(self, node: int) -> list[tuple[int, float]]:
        """Return the columns and coefficients of a node."""
        own = slice(int(self.start[node]), int(self.start[node + 1]))
        return list(zip(self.column[own].tolist(), self.coefficient[own].tolist(), strict=True))

    def source(self, column: int) -> tuple[int, int]:
        """Return the feature of a column, and the code of the category that an indicator is of; 0 for the feature itself."""
        if column < self.n_features:
            return column, 0
        feature, code = self.indicators[column - self.n_features].tolist()
        return feature, code

    def sources(self, columns: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the feature of each column."""
        found: npt.NDArray[np.int64] = np.append(np.arange(self.n_features), self.indicators[:, 0])[columns]
        return found

    def values(self, column: int, given: npt.NDArray[Any]) -> Floats:
        """Return the values of a column from those of its feature: numbers, or codes of categories, 0 or NaN = missing."""
        _, code = self.source(column)
        if code:
            found: Floats = np.where(given >= 1, given == code, self.filling[column])
            return found
        found = given.astype(np.float64)
        if (missing := np.isnan(found)).any():
            found[missing] = self.filling[column]
        return found

    def of_nodes(self, nodes: npt.NDArray[Any]) -> LinearModels:
        """Return the models of some nodes, in their order."""
        start, entries = gather(self.start[nodes], np.diff(self.start)[nodes])
        parts = {name: getattr(self, name)[nodes] for name in ("intercept", "lower", "upper")}
        terms = (start, self.column[entries], self.coefficient[entries])
        return LinearModels(*terms, **parts, filling=self.filling, indicators=self.indicators)

    def __eq__(self, other: object) -> bool:
        """Return whether all arrays are equal."""
        return isinstance(other, LinearModels) and all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=True) for name in _ARRAYS
        )

    __hash__ = None  # type: ignore[assignment]  # equality is by content


_ARRAYS: dict[str, type[np.generic]] = {
    "start": np.int64,
    "column": np.int32,
    "coefficient": np.float64,
    "intercept": np.float64,
    "lower": np.float64,
    "upper": np.float64,
    "filling": np.float64,
    "indicators": np.int64,
}


class ModelTree(Tree):
    """A regression tree with a linear model in each node, for each target.

    A leaf predicts by its models; `value` has the means of its samples, as in any tree.

    Parameters
    ----------
    models : LinearModels, or iterable of LinearModels
        A `LinearModels` for each target.  Those of inner nodes are as fitted, those of leaves are smoothed.
    smoothing : float
        Number of samples for which the model of a parent counts, where a node becomes a leaf.
    **arrays
        As for `Tree`.

    Attributes
    ----------
    models_by_target : tuple of LinearModels
        The models of each target.
    """

    models_by_target: tuple[LinearModels, ...]
    smoothing: float

    def __init__(self, *, models: LinearModels | Iterable[LinearModels], smoothing: float, **arrays: Any) -> None:
        super().__init__(**arrays)
        self.models_by_target = (models,) if isinstance(models, LinearModels) else tuple(models)
        self.smoothing = float(smoothing)

    @classmethod
    def of(cls, tree: Tree, models: LinearModels | Iterable[LinearModels], smoothing: float) -> ModelTree:
        """Return a tree with models."""
        return cls(models=models, smoothing=smoothing, **Tree.__getstate__(tree))

    @property
    def models(self) -> LinearModels:
        """The models of the target.

        Raises
        ------
        ValueError
            If there are several targets.
        """
        if len(self.models_by_target) > 1:
            raise ValueError(
                f"the leaves have models of {len(self.models_by_target)} targets, and one is needed: use models_by_target, or "
                "of_target, which gives the tree of one target"
            )
        return self.models_by_target[0]

    def of_target(self, target: int) -> ModelTree:
        """Return the tree that predicts one of the targets."""
        fields = Tree.__getstate__(self) | {"value": self.value[:, target : target + 1], "outputs": None}
        return ModelTree(models=self.models_by_target[target], smoothing=self.smoothing, **fields)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"models": self.models_by_target, "smoothing": self.smoothing}

    def replace(self, **changes: Any) -> Tree:
        """Return the tree with some arrays replaced, not checked."""
        return ModelTree(**self.__getstate__() | changes)

    def prune_at(self, nodes: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree in which the marked nodes are leaves, without their descendants.

        The models of the new leaves are smoothed.
        """
        tree = super().prune_at(nodes)
        kept = np.flatnonzero(~counts_below(np.asarray(nodes), self.parent))
        new = (tree.n_branches == 0) & (self.n_branches[kept] > 0)
        models = [smoothed(tree, each.of_nodes(kept), new, self.smoothing) for each in self.models_by_target]
        return ModelTree.of(tree, models, self.smoothing)

    def check(self) -> None:
        """Verify every invariant of the arrays, as `Tree.check` does, and those of the models."""
        super().check()
        _check_models(self)

    def __eq__(self, other: object) -> bool:
        """Return whether trees and models are equal."""
        return (
            isinstance(other, ModelTree)
            and bool(super().__eq__(other))
            and self.models_by_target == other.models_by_target
            and self.smoothing == other.smoothing
        )

    __hash__ = None

    @cached_property
    def used(self) -> list[int]:
        """Features that a prediction may need, ascending: those of tests, and those of the models of leaves."""
        leaf, found = self.n_branches == 0, self.feature[self.n_branches > 0].astype(np.int64)
        for models in self.models_by_target:
            found = np.union1d(found, models.sources(models.column[np.repeat(leaf, np.diff(models.start))]))
        used: list[int] = np.unique(found).tolist()
        return used

    def predict(self, table: Table, ends: npt.NDArray[Any] | None = None) -> Floats:
        """Return the predictions for the samples of a table, by the models of their leaves, or of `ends`.

        The shape is (n_samples,), or (n_samples, n_outputs) for several targets.  NaN where terms of both signs overflow.
        """
        ends = walks.walk(self, table) if ends is None else ends
        found = [_predicted(models, table, ends) for models in self.models_by_target]
        return found[0] if self.outputs is None else np.column_stack(found)


def _predicted(models: LinearModels, table: Table, ends: npt.NDArray[Any]) -> Floats:
    predicted = models.intercept.take(ends)
    for place, column in enumerate(models.columns.tolist()):
        given = table.column(models.source(column)[0])
        with np.errstate(over="ignore", invalid="ignore"):
            predicted += models.rows[:, place].take(ends) * models.values(column, given)
    return np.minimum(np.maximum(predicted, models.lower.take(ends)), models.upper.take(ends))


def levels_of(tree: Tree) -> list[tuple[int, int]]:
    """Return the first node of each level and the one after its last, from the root down."""
    return list(itertools.pairwise(tree._level_starts()))


def check_constant_leaves(tree: Tree, what: str) -> None:
    """Raise a ValueError if the leaves of a tree predict by models, which `what` does not support."""
    if isinstance(tree, ModelTree):
        raise ValueError(
            f"{what} does not support linear models in leaves: use to_rules, export_c, export_python, export_sql, export_onnx or "
            "export_pmml, or tree_.models, which has their coefficients"
        )


def smoothed(tree: Tree, models: LinearModels, leaves: npt.NDArray[np.bool_], smoothing: float) -> LinearModels:
    """Return models in which those of some leaves are mixed with those of the nodes above (Wang and Witten 1997).

    From the leaf up, the model becomes (n model + k model of the parent) / (n + k), where n is the number of samples of the node
    just left, and k is `smoothing`.  All models are linear, so that one model remains.
    """
    if not smoothing or not leaves.any():
        return models
    own = np.column_stack([models.rows, models.intercept])
    kept, above = np.ones(tree.node_count), np.zeros_like(own)  # a leaf predicts kept * own + above
    for first, stop in levels_of(tree)[1:]:
        parent = tree.parent[first:stop]
        share = tree.n_samples[first:stop] / (tree.n_samples[first:stop] + smoothing)
        kept[first:stop] = kept[parent] * share
        above[first:stop] = above[parent] + (kept[parent] * (1 - share))[:, None] * own[parent]
    mixed = np.where(leaves[:, None], kept[:, None] * own + above, own)
    figures = (mixed[:, -1], models.lower, models.upper, models.filling, models.indicators)
    return LinearModels.of_rows(mixed[:, :-1], models.columns, *figures)


def _check_models(tree: ModelTree) -> None:
    if tree.divides:
        raise ValueError("models: only a tree that divides no samples has them")
    if tree.surrogates is not None:
        raise ValueError("models: only a tree without surrogate splits has them")
    if tree.task != "regression":
        raise ValueError("models: only a regression tree has them")
    if not (np.isfinite(tree.smoothing) and tree.smoothing >= 0):
        raise ValueError(f"smoothing={tree.smoothing!r}: must be a finite number >= 0")
    if len(tree.models_by_target) != tree.n_outputs:
        raise ValueError(f"models: must be those of {tree.n_outputs} targets; got those of {len(tree.models_by_target)}")
    first = tree.models_by_target[0]
    for models in tree.models_by_target:
        _check_models_of_target(tree, models)
        same = [np.array_equal(getattr(models, name), getattr(first, name), equal_nan=True) for name in ("filling", "indicators")]
        if not all(same):
            raise ValueError("models: those of all targets must have the same filling and indicators")


def _check_models_of_target(tree: ModelTree, models: LinearModels) -> None:
    n = tree.node_count
    n_columns = tree.n_features + len(models.indicators)
    sizes = {"start": n + 1, "intercept": n, "lower": n, "upper": n, "filling": n_columns}
    for name, size in sizes.items():
        if getattr(models, name).size != size:
            raise ValueError(f"models.{name}: must have {size} entries; got {getattr(models, name).size}")
    if (
        models.indicators.shape[1] != 2
        or (models.indicators < [0, 1]).any()
        or (models.indicators[:, :1] >= tree.n_features).any()
    ):
        raise ValueError("models.indicators: must be pairs of a feature of the table and a code of its categories, from 1")
    if models.start[0] != 0 or models.start[-1] != models.column.size or models.coefficient.size != models.column.size:
        raise ValueError(f"models.start: must begin with 0 and end with the number of terms, {models.column.size}")
    require(np.diff(models.start) >= 0, "models.start must not decrease")
    owner = np.repeat(np.arange(n), np.diff(models.start))
    ascending = np.ones(owner.size, bool)
    ascending[1:] = (np.diff(models.column) > 0) | (owner[1:] != owner[:-1])
    known = (models.column >= 0) & (models.column < n_columns)
    require(known & ascending, "models.column must be features of the table or indicators, ascending", owner)
    require(np.isfinite(models.coefficient), "models.coefficient must be finite", owner)
    require(np.isfinite(models.filling[models.column]), "models.filling must be finite for a column of a model", owner)
    require(np.isfinite(models.intercept), "models.intercept must be finite")
    require(models.lower <= models.upper, "models.lower must not be above models.upper")
