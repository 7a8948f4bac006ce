"""Partial dependence of any table, by scikit-learn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fasttree._data.frames import as_pandas

if TYPE_CHECKING:
    from sklearn.inspection import PartialDependenceDisplay

__all__ = ["plot_partial_dependence"]


def plot_partial_dependence(
    model: Any, X: Any, features: Sequence[Any], *, target: Any = None, axes: Any = None, **parameters: Any
) -> list[PartialDependenceDisplay]:
    """Plot how the mean prediction depends on features, by scikit-learn's `PartialDependenceDisplay`.

    scikit-learn's own call raises errors for columns of integers and for categories with missing values.  Here both are
    prepared; the data is not modified.

    Parameters
    ----------
    model : estimator
        A fitted tree or forest.
    X : table of shape (n_samples, n_features)
        Samples, over which predictions are averaged.  A few thousand are enough.
    features : sequence of str, int, or pairs of them
        Features to plot, each in an own axes; a pair gives a map of both.
    target : object, default=None
        Class whose probability is plotted if there are more than two; of two classes it is always that of the second.
    axes : sequence of matplotlib Axes, default=None
        Axes for the plots; None makes a figure.
    **parameters
        More parameters of ``PartialDependenceDisplay.from_estimator``, such as `kind` ("average", "individual", "both") and
        `grid_resolution`.

    Returns
    -------
    list of sklearn.inspection.PartialDependenceDisplay
        One for each entry of `features`.

    Raises
    ------
    ValueError
        If a feature is unknown, or has no known value.
    ImportError
        If Matplotlib is not installed.

    References
    ----------
    Friedman, J. H. (2001). Greedy Function Approximation: A Gradient Boosting Machine. Annals of Statistics, 29, 1189-1232.
    """
    names = [feature.name for feature in model.schema_.features]
    plotted = [tuple(each) if isinstance(each, Iterable) and not isinstance(each, str) else (each,) for each in features]
    indices = [tuple(_index(names, feature) for feature in each) for each in plotted]
    table = as_pandas(X, names)
    prepared = [_prepared(model, table, each) for each in indices]
    from sklearn.inspection import PartialDependenceDisplay

    if axes is None:
        try:
            from matplotlib import pyplot
        except ModuleNotFoundError as absent:
            raise ImportError("plots need matplotlib: install it by pip install 'fasttree[plot]'") from absent
        axes = pyplot.subplots(1, len(indices), figsize=(4 * len(indices), 3.5), squeeze=False, layout="constrained")[1][0]
    return [
        PartialDependenceDisplay.from_estimator(
            model,
            filled,
            [each if len(each) > 1 else each[0]],
            categorical_features=[j for j in each if model.schema_.features[j].categories is not None] or None,
            target=target,
            feature_names=names,
            ax=ax,
            **parameters,
        )
        for each, filled, ax in zip(indices, prepared, axes, strict=True)
    ]


def _prepared(model: Any, table: Any, indices: Sequence[int]) -> Any:
    """Return the table with columns that scikit-learn can make a grid of: floats, or categories, without missing values.

    The cells of these columns only give the values to try, so known values take the place of missing ones.
    """
    features, prepared = model.schema_.features, table.copy(deep=False)
    if not model.schema_.has_names:
        prepared.columns = range(len(features))
    for j in indices:
        column = table.iloc[:, j]
        is_known = column.notna().to_numpy()
        if not is_known.any():
            raise ValueError(f"feature {features[j].name!r} has no known value in X")
        known = np.resize(column.to_numpy()[is_known], len(column))
        filled = np.where(is_known, column.to_numpy(), known)
        prepared[prepared.columns[j]] = filled.astype(float) if features[j].categories is None else filled
    return prepared


def _index(names: Sequence[str], feature: Any) -> int:
    if isinstance(feature, str) and feature in names:
        return list(names).index(feature)
    if isinstance(feature, int) and 0 <= feature < len(names):
        return feature
    raise ValueError(f"feature {feature!r}: must be the name or the index of a column of the fit")
