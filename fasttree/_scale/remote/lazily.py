"""Predictions for Dask collections: lazy, and of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np


def predict_lazily(estimator: Any, method: str, X: Any) -> Any:
    """Return the predictions of a method for a collection as a collection.

    A data frame gives a column, or a frame with a column per class; an array gives an array.
    """
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions: must have 2, such as frame[['name']] has")
    if estimator.n_outputs_ > 1:
        raise ValueError("predictions of several targets are not made for Dask collections: compute the rows in blocks")
    return _of_frame(estimator, method, X) if hasattr(X, "divisions") else _of_array(estimator, method, X)


def _of_frame(estimator: Any, method: str, X: Any) -> Any:
    from dask.delayed import delayed

    meta = _predict_part(X._meta_nonempty, estimator, method).iloc[:0]
    return X.map_partitions(_predict_part, delayed(estimator, pure=False), method, meta=meta, enforce_metadata=False)


def _predict_part(part: Any, estimator: Any, method: str) -> Any:
    """Return the predictions for a pandas frame, with its index."""
    import pandas as pd  # type: ignore[import-untyped]

    found = _predict(part, estimator, method)
    if found.ndim == 1:
        name = None if method == "apply" else estimator.target_names_[0]
        return pd.Series(found, index=part.index, name=name)
    columns = estimator.classes_ if method == "predict_proba" else range(found.shape[1])
    return pd.DataFrame(found, index=part.index, columns=columns)


def _of_array(estimator: Any, method: str, X: Any) -> Any:
    X = X.rechunk({1: -1})
    example = _predict(np.zeros((1, X.shape[1]), dtype=X.dtype), estimator, method)
    form = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (X.chunks[0], (example.shape[1],))}
    return X.map_blocks(_predict, estimator=estimator, method=method, dtype=example.dtype, meta=example[:0], **form)


def _predict(part: Any, estimator: Any, method: str) -> Any:
    """Return predictions, also for no rows."""
    if len(part):
        return getattr(estimator, method)(part)
    shapes = {"predict_proba": (0, len(getattr(estimator, "classes_", ())))}
    if hasattr(estimator, "ensemble_"):
        shapes["apply"] = (0, estimator.ensemble_.n_trees)
    dtypes = {"predict": getattr(estimator, "classes_", np.empty(0)).dtype, "apply": np.dtype(np.int32)}
    return np.empty(shapes.get(method, (0,)), dtype=dtypes.get(method, np.dtype(np.float64)))
