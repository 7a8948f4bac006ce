"""SHAP values: exact Shapley values of a tree or a forest, computed by `_engine/walk/attribution.pyx`.

This file knows trees and encoded tables, whose schema has the names.  `ShapValues` has the attributes that shap's plots use.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._data.table import Table
from fasttree._engine.walk import attribution
from fasttree._explain.pictures import contributions
from fasttree._explain.shapley.models import values_of_models
from fasttree._explain.shapley.rules import values_of_rules
from fasttree._model import walks
from fasttree._model.arrays import STOP
from fasttree._model.committees.committee import Committee
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree
from fasttree._model.words import check_count

if TYPE_CHECKING:
    from fasttree._explain.pictures.contributions import Axes

__all__ = ["ShapValues", "committee_shap_values", "mean_shap_values", "shap_values"]

AT_ONCE = 3_000_000  # nodes to visit between checks for an interrupt: a fraction of a second
MOST_LINES = 20  # features in the repr

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ShapValues:
    """Contribution of each feature to each prediction.

    The attributes have the names of those of ``shap.Explanation``, so that the package shap can plot
    ``shap.Explanation(**vars(model.shap_values(X)))``.

    Parameters
    ----------
    values : float64 array of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        One number per feature in regression; also one per class in classification, or per target in regression of several.
    base_values : float64 array of shape (n_samples,) or (n_samples, n_outputs)
        Prediction when no feature is known, the same for every sample.  The base value and the sum of `values` over the features
        add up to the prediction.
    data : array of shape (n_samples, n_features)
        The samples as the tree sees them: float64, or objects if there are categories; missing and unseen values are NaN.
    feature_names : list of str
    output_names : list of str or None
        The classes, in the order of ``classes_``; None in regression.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> X, y = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]], ["ripe", "unripe", "unripe", "unripe"]
    >>> model = CARTClassifier().fit(X, y)
    >>> found = model.shap_values(X)
    >>> found.base_values[0, 0], found.values[0, :, 0]  # ripe: from a quarter to certain, by x1 alone
    (np.float64(0.25), array([0.  , 0.75]))
    >>> found
    ShapValues: 4 samples, 2 features, 2 outputs; mean |value|:
      x1  0.375
      x0  0
    """

    values: Floats
    base_values: Floats
    data: npt.NDArray[Any]
    feature_names: list[str]
    output_names: list[str] | None = None

    def importances(self) -> Floats:
        """Return the mean absolute value of each feature over the samples, and over the outputs if there are several.

        Returns
        -------
        float64 array of shape (n_features,)
        """
        mean: Floats = np.abs(self.values).reshape(*self.values.shape[:2], -1).mean(axis=(0, 2))
        return mean

    def plot(self, row: int | None = None, *, output: Any = None, max_features: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the values of all samples, or how those of one sample lead to its prediction, with matplotlib.

        Each sample is a dot on the line of each feature, at its SHAP value and in a colour that shows the value of the feature.
        With three or more outputs and no `output`, bars show the mean absolute value for each output instead.

        Parameters
        ----------
        row : int, optional
            Sample to explain by a waterfall: bars from the base value to its prediction; default: all samples.
        output : object, optional
            Class, or index of the target, whose values to draw.  By default the second of two; for one sample, the one with the
            largest prediction.
        max_features : int, default 12
            Maximum number of features to draw, those with the largest values; a waterfall adds up the others.
        ax : matplotlib.axes.Axes, optional
            Axes to draw in; default: a new figure.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError, IndexError
            If the output or the row does not exist, or `max_features` is out of range.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import CARTRegressor
        >>> found = CARTRegressor().fit([[1.0, 5.0], [2.0, 5.0]], [3.0, 4.0]).shap_values([[1.0, 5.0], [2.0, 5.0]])
        >>> found.plot().figure.savefig("all.png")  # doctest: +SKIP
        >>> found.plot(0).figure.savefig("first.png")  # doctest: +SKIP
        """
        check_count("max_features", max_features, 1)
        values = self.values.reshape(*self.values.shape[:2], -1)
        base = self.base_values.reshape(len(self), -1)
        if row is not None:
            k = self._output(output, int(np.argmax(base[row] + values[row].sum(axis=0))))
            steps = self._steps(row, values[row, :, k], max_features)
            return contributions.plot_waterfall(steps, float(base[row, k]), ax, self._unit(k))
        sizes = self.importances()
        order = np.argsort(-sizes, kind="stable")[: max(min(max_features, int(np.count_nonzero(sizes))), 1)].tolist()
        names = [self.feature_names[j] for j in order]
        if output is None and values.shape[2] > 2:
            each = np.abs(values).mean(axis=0)
            series = list(map(self._output_name, range(values.shape[2])))
            return contributions.plot_bars([(self.feature_names[j], each[j]) for j in order], ax, "mean |SHAP value|", series)
        k = self._output(output, values.shape[2] - 1)
        cells = [self.data[:, j].tolist() for j in order]
        return contributions.plot_samples(names, values[:, order, k], cells, ax, f"SHAP value: {self._unit(k)}")

    def _output(self, output: Any, default: int) -> int:
        """Return the index of an output."""
        names = [self._output_name(k) for k in range(self.values.shape[2] if self.values.ndim == 3 else 1)]
        if output is None:
            return default
        if str(output) not in names:
            raise ValueError(f"output={output!r}: must be one of {', '.join(names)}, or None")
        return names.index(str(output))

    def _output_name(self, k: int) -> str:
        return str(k) if self.output_names is None else self.output_names[k]

    def _unit(self, k: int) -> str:
        if self.output_names is not None:
            return f"probability of {self.output_names[k]}"
        return "prediction" if self.values.ndim == 2 else f"prediction of target {k}"

    def _steps(self, row: int, values: Floats, max_features: int) -> list[tuple[str, float]]:
        """Return the contributions to one prediction, the largest first, and the sum of the small ones."""
        order = np.argsort(-np.abs(values), kind="stable")
        order = order[: max(int(np.count_nonzero(values)), 1)]
        cells = self.data[row]
        steps = [(f"{self.feature_names[j]} = {_cell_text(cells[j])}", float(values[j])) for j in order[:max_features].tolist()]
        rest = order[max_features:]
        return [*steps, (f"{rest.size} other features", float(values[rest].sum()))] if rest.size else steps

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        """List the features by decreasing mean absolute value."""
        size = self.importances()
        order = np.argsort(-size, kind="stable")[:MOST_LINES]
        width = max(len(self.feature_names[j]) for j in order)
        outputs = f", {self.values.shape[2]} outputs" if self.values.ndim == 3 else ""
        lines = [f"ShapValues: {len(self)} samples, {len(size)} features{outputs}; mean |value|:"]
        lines += [f"  {self.feature_names[j]:<{width}}  {size[j]:.6g}" for j in order]
        if size.size > order.size:
            lines.append(f"  ... and {size.size - order.size} more features")
        return "\n".join(lines)


def shap_values(
    tree: Tree, table: Table, background: Table | None = None, classes: Any = None, names: Sequence[str] | None = None
) -> ShapValues | list[ShapValues]:
    """Return the exact Shapley values of all features for every sample.

    Parameters
    ----------
    tree : Tree
    table : Table
        Samples to explain, encoded for the tree; at least one.
    background : Table or None, default None
        Samples whose values replace unknown ones (interventional); None: use the weights of the tree (path-dependent).
    classes : array, list of arrays or None, default None
        Class labels; a list if there are several targets; None for regression.
    names : sequence of str, optional
        Names of the features; by default those of the table.

    Returns
    -------
    ShapValues or list of ShapValues
        A list with one entry per target if `classes` is a list.
    """
    names = [feature.name for feature in table.schema.features] if names is None else list(names)
    values, base = _attributed(tree, table, background)
    return _described(tree, values, base, table, classes, names)


def mean_shap_values(
    trees: Iterable[Tree], table: Table, background: Table | None, classes: Any, names: Sequence[str], *, n_jobs: int = 1
) -> ShapValues | list[ShapValues]:
    """Return the mean of the Shapley values of several trees, added in their order.

    These are the Shapley values of the mean of the trees, because Shapley values are linear.

    Parameters
    ----------
    trees : iterable of Tree
        Trees of one model, at least one.
    table, background, classes, names
        As for `shap_values`.
    n_jobs : int
        Threads; the values do not depend on it.

    Returns
    -------
    ShapValues or list of ShapValues
    """
    n_trees, values, base = 0, np.zeros(()), np.zeros(())
    for tree in trees:
        of_tree, base_of_tree = _attributed(tree, table, background, n_jobs)
        if n_trees:
            values += of_tree
            base += base_of_tree
        else:
            values, base = of_tree, base_of_tree
        n_trees += 1
    values /= n_trees
    return _described(tree, values, base / n_trees, table, classes, list(names))


def committee_shap_values(committee: Committee, table: Table, background: Table, names: Sequence[str]) -> ShapValues:
    """Return the exact Shapley values of rules with models; see `values_of_rules`."""
    values, base = values_of_rules(committee, table, background)
    return ShapValues(values, np.full(table.n_samples, base), _cells(table), list(names))


def _attributed(tree: Tree, table: Table, background: Table | None, n_jobs: int = 1) -> tuple[Floats, Floats]:
    """Return the Shapley values of a tree, shape (n_samples, n_features, k), and its prediction when nothing is known, (k,)."""
    if isinstance(tree, ModelTree):
        return values_of_models(tree, table, background)
    predictions = tree.predict_nodes()
    share, staying = _shares(tree)
    if background is None:
        base = _expected(tree, predictions, share, staying)
    else:
        base = walks.predict_value(tree, background).mean(axis=0)
    values = np.zeros((table.n_samples, table.n_features, predictions.shape[1]))
    # centred on the expected value: a constant changes no Shapley value, and numbers near zero keep their digits
    value = predictions - base if tree.task == "regression" else predictions

    most = attribution.most_features(tree.parent, tree.first_child, tree.n_branches, tree.feature, tree.n_features)
    if most == 0:
        return values, base
    points, weights = _quadrature(most)
    step = max(AT_ONCE // (tree.node_count * points.size * value.shape[1]), 1)
    parts = list(_parts(table, step if background is None else math.isqrt(step)))

    def add(part: int) -> None:
        rows, X = parts[part]
        others = [None] if background is None else (other for _, other in _parts(background, max(step // len(X), 1)))
        for other in others:
            attribution.add_attributions(tree, value, share, staying, points, weights, X, other, values[rows])

    in_threads(add, len(parts), n_jobs)
    if background is not None:
        values /= background.n_samples
    return values, base


def _described(
    tree: Tree, values: Floats, base: Floats, table: Table, classes: Any, names: list[str]
) -> ShapValues | list[ShapValues]:
    """Return Shapley values with the names of features and outputs; the tree has the number of targets."""
    data = _cells(table)
    every = np.broadcast_to(base, (table.n_samples, base.size)).copy()
    if classes is None and tree.outputs is None:
        return ShapValues(values[:, :, 0], every[:, 0], data, names)
    if not isinstance(classes, list):
        return ShapValues(values, every, data, names, None if classes is None else list(map(str, classes)))
    parts = zip(tree.by_output(values), tree.by_output(every), classes, strict=True)
    return [ShapValues(value, base, data, names, list(map(str, labels))) for value, base, labels in parts]


def _shares(tree: Tree) -> tuple[Floats, Floats]:
    """Return the share of each node in its parent's weight, and the share of each node's weight that stops there."""
    in_children = np.bincount(tree.parent[1:], weights=tree.weight[1:], minlength=tree.node_count)
    stops = (tree.missing == STOP) & (tree.n_branches > 0)
    staying = np.where(stops, np.maximum(tree.weight - in_children, 0.0), 0.0)
    whole = in_children + staying  # the node's weight, but for rounding
    share = np.ones(tree.node_count)
    share[1:] = tree.weight[1:] / whole[tree.parent[1:]]
    return share, np.divide(staying, whole, out=staying, where=stops)


def _expected(tree: Tree, predictions: Floats, share: Floats, staying: Floats) -> Floats:
    """Return the mean prediction if every test sends each branch its share."""
    reach = share.copy()
    level_starts = np.flatnonzero(np.diff(tree.depth(), prepend=-1))
    for start, stop in pairwise([*level_starts[1:].tolist(), tree.node_count]):
        reach[start:stop] *= reach[tree.parent[start:stop]]
    ends = np.where(tree.n_branches == 0, reach, reach * staying)
    expected: Floats = ends @ predictions
    return expected


def _parts(table: Table, step: int) -> Iterator[tuple[slice, Floats]]:
    """Yield the samples as float64, at most `step` at a time."""
    for rows, block in walks.blocks(table):
        for start in range(rows.start, rows.stop, step):
            stop = min(start + step, rows.stop)
            yield slice(start, stop), np.asarray(block[start - rows.start : stop - rows.start], np.float64)


def _quadrature(degree: int) -> tuple[Floats, Floats]:
    """Return points in (0, 1) and weights that integrate polynomials of a lower degree exactly (Gauss-Legendre)."""
    from scipy.special import roots_legendre

    points, weights = roots_legendre((degree + 1) // 2)
    return (points + 1) / 2, weights / 2


def _cell_text(cell: Any) -> str:
    if isinstance(cell, float):
        return "missing" if math.isnan(cell) else f"{cell:.6g}"
    return str(cell)


def _cells(table: Table) -> npt.NDArray[Any]:
    """Return the samples with categories by name."""
    columns = []
    for j, feature in enumerate(table.schema.features):
        if feature.categories is None:
            columns.append(table.column(j).astype(np.float64))
        else:
            words = np.array([np.nan, *feature.categories], dtype=object)
            columns.append(words[table.column(j)])
    return np.column_stack(columns)
