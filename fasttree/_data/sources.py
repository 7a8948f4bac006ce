"""Sources of the columns of a table: arrays, lists, sparse matrices and data frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from fasttree._data import errors
from fasttree._data.cells import MAX_SAMPLES, Array, Cells, array_cells


class Source(Protocol):
    """A table of any library: column labels (None for arrays), cells on demand, and a matrix sharing its memory, or None."""

    labels: list[Any] | None
    shape: tuple[int, int]
    matrix: Array | None

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells: ...


def is_sparse(X: Any) -> bool:
    """Whether `X` is a matrix or an array of scipy.sparse, which is not imported here: without it there is none."""
    if isinstance(X, np.ndarray):
        return False
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


class ArraySource:
    matrix: Array | None = None

    def __init__(self, values: Array) -> None:
        self.values = values
        self.labels: list[Any] | None = None
        self.shape: tuple[int, int] = (values.shape[0], values.shape[1])

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        return array_cells(self.values[start:stop, j], name, start)


class _SparseSource:
    """A matrix of scipy.sparse, made dense by one column or one block of rows at a time."""

    matrix: Array | None = None

    def __init__(self, matrix: Any) -> None:
        self.by_column = matrix.tocsc()
        self.labels: list[Any] | None = None
        self.shape: tuple[int, int] = matrix.shape
        self._by_row: Any = None
        self._block: tuple[int, int, Array] = (0, 0, np.empty((0, 0)))

    def cells(self, j: int, start: int, stop: int, name: str) -> Cells:
        if (start, stop) == (0, self.shape[0]):
            return array_cells(self.by_column[:, [j]].toarray()[:, 0], name, start)
        if (start, stop) != self._block[:2]:
            if self._by_row is None:
                self._by_row = self.by_column.tocsr()
            self._block = start, stop, self._by_row[start:stop].toarray()
        return array_cells(self._block[2][:, j], name, start)


def open_source(X: Any) -> Source:
    """Return the source of `X`; only its shape is checked."""
    if is_sparse(X):
        if X.ndim != 2:
            raise errors.not_two_dimensional(X.shape)
        return _checked(_SparseSource(X))
    if isinstance(X, (str, bytes, os.PathLike, Mapping)):
        raise errors.not_a_table(X)
    if not isinstance(X, (np.ndarray, list, tuple)):
        from fasttree._data.frames import frame_source  # not above: it imports narwhals

        source = frame_source(X)
        if source is not None:
            return _checked(source)
    if isinstance(X, (list, tuple)):
        if X and isinstance(X[0], Mapping):
            raise errors.rows_with_names(X)
        # As objects, because NumPy would turn all cells of a row with a string into strings.
        values = np.array(X, dtype=object)
        if values.ndim == 1 and any(isinstance(row, Sequence) and not isinstance(row, str) for row in values):
            raise errors.ragged_rows()
    elif isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        values = np.asarray(X).astype(object)
        values[np.ma.getmaskarray(X)] = None
    else:
        values = np.asarray(X)
    if values.ndim != 2:
        raise errors.not_two_dimensional(values.shape)
    return _checked(ArraySource(values))


def _checked(source: Source) -> Source:
    n_samples, n_features = source.shape
    if n_features == 0:
        raise errors.no_features(source.shape)
    if n_samples == 0:
        raise errors.no_samples(source.shape)
    if n_samples > MAX_SAMPLES:
        raise errors.too_many_samples(n_samples, MAX_SAMPLES)
    if source.labels is not None and len(set(source.labels)) < n_features:
        raise errors.duplicate_names(source.labels)
    return source


def names_of_columns(source: Source) -> list[str] | None:
    """Return the column names if they are all strings, None for arrays and for other labels."""
    if source.labels is None:
        return None
    n_strings = sum(isinstance(label, str) for label in source.labels)
    if 0 < n_strings < len(source.labels):
        raise errors.mixed_names(source.labels)
    return [str(label) for label in source.labels] if n_strings else None
