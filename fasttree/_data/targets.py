"""Targets of one or several columns: classes as codes, numbers as float64."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from sklearn.exceptions import DataConversionWarning

from fasttree._data import errors
from fasttree._data.cells import Array, Cells, Labels, Numbers, array_cells, distinct_values
from fasttree._data.frames import lazy_table, series_cells
from fasttree._data.schema import default_target_names
from fasttree._data.sources import is_sparse


def _target_cells(y: Any) -> tuple[Cells, bool]:
    """Return the cells of a target, and whether its strings were objects, not those of a NumPy string array or a list."""
    if type(y) is np.ndarray and y.ndim == 1:  # as nearly always
        return array_cells(y, "y", 0), y.dtype.kind == "O"
    if y is None:
        raise errors.no_target()
    if is_sparse(y):
        raise errors.sparse_target()
    if isinstance(y, str):
        raise errors.target_is_a_name(y)
    series = open_target(y)
    if isinstance(series, nw.DataFrame):
        if series.shape[1] != 1:
            raise errors.not_one_target(series.shape)
        warnings.warn(errors.COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        series = series[:, 0]
    if isinstance(series, nw.Series):
        return series_cells(series, "y", 0), True
    values = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(errors.COLUMN_VECTOR, DataConversionWarning, stacklevel=4)
        values = values[:, 0]
    if values.ndim != 1:
        raise errors.not_one_target(values.shape)
    return array_cells(values, "y", 0), isinstance(y, np.ndarray) and values.dtype.kind == "O"


def open_target(y: Any) -> Any:
    """Return the target as a frame or column of narwhals, or as it is if it is one, or narwhals does not know it."""
    if isinstance(y, np.ndarray) or y is None or is_sparse(y) or isinstance(y, (str, list, tuple, nw.Series, nw.DataFrame)):
        return y
    found = nw.from_native(_whole_column(y), pass_through=True, allow_series=True)
    if isinstance(found, nw.LazyFrame):
        raise lazy_table("y", y, found)
    return found


def _whole_column(y: Any) -> Any:
    """Wrap a pandas or Arrow array, unknown to narwhals, in a column of its library."""
    pandas, pyarrow = nw.dependencies.get_pandas(), nw.dependencies.get_pyarrow()
    if pandas is not None and isinstance(y, (pandas.api.extensions.ExtensionArray, pandas.Index)):
        return pandas.Series(y)
    if pyarrow is not None and isinstance(y, pyarrow.Array):
        return pyarrow.chunked_array([y])
    return y


def _check_target(missing: Array) -> None:
    if missing.any():
        raise errors.missing_target(int(np.count_nonzero(missing)), int(np.argmax(missing)))


def _check_target_floats(values: Array) -> None:
    if np.isfinite(values).all():
        return
    _check_target(np.isnan(values))
    infinite = np.isinf(values)
    raise errors.infinite_target(int(np.count_nonzero(infinite)), int(np.argmax(infinite)))


def target_columns(y: Any) -> list[Any] | None:
    """Return the columns of several targets, each for `encode_classes` or `encode_values`; None if y is one target."""
    if (isinstance(y, np.ndarray) and y.ndim == 1) or y is None or is_sparse(y):
        return None
    frame = open_target(y)
    if isinstance(frame, nw.DataFrame):
        return [frame[:, j].to_native() for j in range(frame.shape[1])] if frame.shape[1] > 1 else None
    if isinstance(frame, nw.Series):
        return None
    try:
        values = np.array(y, dtype=object) if isinstance(y, (list, tuple)) else np.asarray(y)
    except ValueError:  # rows of different lengths
        return None
    if values.ndim != 2 or values.shape[1] < 2:
        return None
    return [column if isinstance(y, np.ndarray) else column.tolist() for column in values.T]


def target_names(y: Any, n_targets: int) -> list[str]:
    """Return the names of the columns of y; where a name is no text, y, or y0, y1, ... for several targets."""
    others = default_target_names(n_targets)
    if isinstance(y, np.ndarray):
        return others
    frame = open_target(y)
    names: Sequence[Any]
    names = frame.columns if isinstance(frame, nw.DataFrame) else [frame.name] if isinstance(frame, nw.Series) else []
    return (
        [name if isinstance(name, str) and name else other for name, other in zip(names, others, strict=True)]
        if names
        else others
    )


def encode_classes(y: Any) -> tuple[Array, npt.NDArray[np.intp]]:
    """Return the classes of a target and the code of every sample.

    Parameters
    ----------
    y : column of a data frame, array or list of shape (n_samples,)
        Strings, booleans, integers, integral floats, or categories.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
        All categories in declared order if pandas or an Enum declares them; else the classes that occur, sorted.
    codes : ndarray of intp, shape (n_samples,)
        Index of the class of every sample.

    Raises
    ------
    ValueError
        If targets are missing, floats are not integral, or y has more than one column.
    """
    cells, as_objects = _target_cells(y)
    if isinstance(cells, Numbers):
        if cells.values.dtype.kind == "f":
            _check_target_floats(cells.values)
            fractional = cells.values != np.trunc(cells.values)
            if fractional.any():
                raise errors.continuous_target(float(cells.values[np.argmax(fractional)]))
        elif cells.missing is not None:
            _check_target(cells.missing)
        classes, codes = distinct_values(cells.values)
        return classes, codes.astype(np.intp, copy=False)
    _check_target(cells.positions < 0)
    categories: Sequence[Any] = cells.values
    if not cells.declared:
        categories = sorted(cells.values)
    lookup = {category: code for code, category in enumerate(categories)}
    code_of = np.array([lookup.get(label, -1) for label in cells.values], dtype=np.intp)
    is_text = any(isinstance(category, str) for category in categories)
    return np.array(categories, dtype=object if as_objects and is_text else None), code_of[cells.positions]


def encode_values(y: Any) -> npt.NDArray[np.float64]:
    """Return the target of a regression.

    Parameters
    ----------
    y : column of a data frame, array or list of shape (n_samples,)

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        Finite and contiguous; the input itself if it is such an array.

    Raises
    ------
    ValueError
        If targets are missing, infinite or not numeric, or y has more than one column.
    """
    cells, _ = _target_cells(y)
    if isinstance(cells, Labels):
        _check_target(cells.positions < 0)
        label = next((label for label in cells.values if isinstance(label, str)), None)
        if label is not None:
            raise errors.target_not_numeric(label)
        values = np.array(cells.values, dtype=np.float64)[cells.positions]
    else:
        if cells.missing is not None:
            _check_target(cells.missing)
        values = np.ascontiguousarray(cells.values, dtype=np.float64)
    _check_target_floats(values)
    return values
