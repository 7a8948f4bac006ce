"""SHAP values: what each feature adds to a prediction, as Shapley values of a tree that `_attribution.pyx` computes.

Knows trees and encoded tables; names come with the table.  What shap's plots want to know is in `ShapValues`, by its names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _attribution, _grow
from ._table import Table
from ._tree import STOP, Tree

__all__ = ["ShapValues", "shap_values"]

AT_ONCE = 3_000_000  # nodes that may be visited before Python looks whether it is interrupted: a fraction of a second
MOST_LINES = 20  # of a representation

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ShapValues:
    """What each feature adds to each prediction of some samples.

    The attributes bear the names of those of ``shap.Explanation``: ``shap.Explanation(**vars(model.shap_values(X)))`` can be
    plotted by the package shap.

    Parameters
    ----------
    values : float64 array of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
        One number per feature in regression; one per class in classification, and per target in regression of several.
    base_values : float64 array of shape (n_samples,) or (n_samples, n_outputs)
        What is predicted when no feature is known, the same for every sample.  With the sum of `values` over the features it
        makes the prediction.
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
        """Mean absolute value of each feature over the samples, and over the outputs if there are several.

        Returns
        -------
        float64 array of shape (n_features,)
        """
        mean: Floats = np.abs(self.values).reshape(*self.values.shape[:2], -1).mean(axis=(0, 2))
        return mean

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        """The features by falling mean absolute value."""
        size = self.importances()
        order = np.argsort(-size, kind="stable")[:MOST_LINES]
        width = max(len(self.feature_names[j]) for j in order)
        outputs = f", {self.values.shape[2]} outputs" if self.values.ndim == 3 else ""
        lines = [f"ShapValues: {len(self)} samples, {len(size)} features{outputs}; mean |value|:"]
        lines += [f"  {self.feature_names[j]:<{width}}  {size[j]:.6g}" for j in order]
        if size.size > order.size:
            lines.append(f"  ... and {size.size - order.size} more features")
        return "\n".join(lines)


def shap_values(tree: Tree, table: Table, background: Table | None = None, classes: Any = None) -> ShapValues | list[ShapValues]:
    """Return the exact Shapley values of all features for every sample.

    Parameters
    ----------
    tree : Tree
    table : Table
        The samples to explain, as the tree knows them; at least one.
    background : Table or None, default None
        Samples whose values stand in for those that are not known (interventional); None: the tree's own weights do
        (path-dependent).
    classes : array, list of arrays or None, default None
        Classes by name, of several targets a list; None: regression.

    Returns
    -------
    ShapValues or list of ShapValues
        A list where `classes` is one: an entry per target.
    """
    predictions = tree.predictions()
    share, staying = _shares(tree)
    if background is None:
        base = _expected(tree, predictions, share, staying)
    else:
        base = _grow.predict_value(tree, background).mean(axis=0)
    values = np.zeros((table.n_samples, table.n_features, predictions.shape[1]))
    # numbers around what is expected: a constant changes no Shapley value, and what is near zero loses no digits
    value = predictions - base if tree.task == "regression" else predictions
    _add(tree, value, share, staying, table, background, values)
    if background is not None:
        values /= background.n_samples
    names, data = [feature.name for feature in table.schema.features], _cells(table)
    every = np.broadcast_to(base, (table.n_samples, base.size)).copy()
    if classes is None and tree.outputs is None:
        return ShapValues(values[:, :, 0], every[:, 0], data, names)
    if not isinstance(classes, list):
        return ShapValues(values, every, data, names, None if classes is None else list(map(str, classes)))
    parts = zip(tree.by_output(values), tree.by_output(every), classes, strict=True)
    return [ShapValues(value, base, data, names, list(map(str, labels))) for value, base, labels in parts]


def _shares(tree: Tree) -> tuple[Floats, Floats]:
    """Share of each node in what becomes of its parent's weight, and share of each node's weight that stops there."""
    in_children = np.bincount(tree.parent[1:], weights=tree.weight[1:], minlength=tree.node_count)
    stops = (tree.missing == STOP) & (tree.n_branches > 0)
    staying = np.where(stops, np.maximum(tree.weight - in_children, 0.0), 0.0)
    whole = in_children + staying  # the node's weight, but for rounding
    share = np.ones(tree.node_count)
    share[1:] = tree.weight[1:] / whole[tree.parent[1:]]
    return share, np.divide(staying, whole, out=staying, where=stops)


def _expected(tree: Tree, predictions: Floats, share: Floats, staying: Floats) -> Floats:
    """What is predicted on average if every test sends each branch its share."""
    reach = share.copy()
    level_starts = np.flatnonzero(np.diff(tree.depth(), prepend=-1))
    for start, stop in pairwise([*level_starts[1:].tolist(), tree.node_count]):
        reach[start:stop] *= reach[tree.parent[start:stop]]
    ends = np.where(tree.n_branches == 0, reach, reach * staying)
    expected: Floats = ends @ predictions
    return expected


def _add(tree: Tree, value: Floats, share: Floats, staying: Floats, table: Table, background: Table | None, out: Floats) -> None:
    """Add the Shapley values of all samples, of every background sample, to `out`."""
    most = _attribution.most_features(tree.parent, tree.first_child, tree.n_branches, tree.feature, tree.n_features)
    if most == 0:
        return
    points, weights = _quadrature(most)
    step = max(AT_ONCE // (tree.node_count * points.size * value.shape[1]), 1)
    for rows, X in _parts(table, step if background is None else math.isqrt(step)):
        others = [None] if background is None else (other for _, other in _parts(background, max(step // len(X), 1)))
        for other in others:
            _attribution.add_attributions(tree, value, share, staying, points, weights, X, other, out[rows])


def _parts(table: Table, step: int) -> Iterator[tuple[slice, Floats]]:
    """The samples as numbers, at most `step` at a time."""
    for rows, block in _grow.blocks(table):
        for start in range(rows.start, rows.stop, step):
            stop = min(start + step, rows.stop)
            yield slice(start, stop), np.asarray(block[start - rows.start : stop - rows.start], np.float64)


def _quadrature(degree: int) -> tuple[Floats, Floats]:
    """Points in (0, 1) and weights that integrate polynomials of less than a degree (Gauss and Legendre)."""
    from scipy.special import roots_legendre

    points, weights = roots_legendre((degree + 1) // 2)
    return (points + 1) / 2, weights / 2


def _cells(table: Table) -> npt.NDArray[Any]:
    """The samples with their categories by name."""
    columns = []
    for j, feature in enumerate(table.schema.features):
        if feature.categories is None:
            columns.append(table.column(j).astype(np.float64))
        else:
            words = np.array([np.nan, *feature.categories], dtype=object)
            columns.append(words[table.column(j)])
    return np.column_stack(columns)
