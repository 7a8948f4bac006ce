"""Columns of numbers and category codes: the table on which the engine grows a tree.

`Table` returns single columns and blocks of rows.  It never copies the whole input.  `learn` finds the kinds and categories of a
new table, `encode` applies those of a fitted model, and `sources` and `frames` read the user's input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fasttree._data import errors
from fasttree._data.cells import Array, Cells, Labels, as_labels
from fasttree._data.schema import Category, Schema
from fasttree._data.sources import ArraySource, Source
from fasttree._engine import encoding

SMALL_TABLE = 2**22  # bytes: the columns of a smaller table are kept once read
MANY_CATEGORIES = 2**12  # a column with more is encoded once, not for every block of rows


Few: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.uint8]]"  # values, ascending, and for each cell 0 (missing), 1, ...


class Table:
    """The columns of a table, read on request.

    Made by `learn_table` and `encode_table`; the input is kept and never modified.

    Attributes
    ----------
    schema : Schema
    n_samples, n_features : int
    matrix : ndarray or None
        The input itself if it is a plain 2-D float32 or float64 array (of any strides) and all features are continuous.
    """

    def __init__(self, source: Source, schema: Schema, matrix: Array | None = None, unseen: str = "as_missing") -> None:
        self.schema = schema
        self.n_samples, self.n_features = source.shape
        self.matrix = matrix
        self._source = source
        self._unseen = unseen
        self._kept: dict[int, Array] = {}  # columns that were slow to read, or small
        self._few: dict[int, Few | None] = {}
        self._lookups: dict[int, dict[Category, int]] = {}
        self._rows: Array | None = None  # all of `block`, once kept
        self._some: tuple[NDArray[np.intp], Array] | None = None  # what `some` returned last
        self._numeric: Array | None = None  # an array of numbers with continuous features alone is read by rows
        if matrix is None and isinstance(source, ArraySource) and source.values.dtype.kind in "biuf" and schema.is_continuous:
            self._numeric = source.values

    def column(self, j: int) -> Array:
        """Return the column of feature `j`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Continuous: float32 or float64, never infinite, NaN = missing; it may be a strided or read-only view of the input.
            Ordinal, nominal: codes in the smallest of uint8, uint16, uint32 that holds the number of categories; 0 = missing
            or unseen, and the code of a category is its index + 1.
        """
        if self.matrix is not None:
            return self.matrix[:, j]
        if j in self._kept:
            return self._kept[j]
        column = self._read(j, 0, self.n_samples)
        if column.nbytes * self.n_features <= SMALL_TABLE:
            self._kept[j] = column
        return column

    def few(self, j: int, column: Array | None = None) -> Few | None:
        """Return the values of a continuous feature and the code of each cell, if there are few; they are found once.

        `column` is that of the feature, for those who have it side by side in memory.
        """
        if j not in self._few:
            found = encoding.code_values(self.column(j) if column is None else column)
            self._few[j] = None if found is None else (np.array(found[0]), found[1])
        return self._few[j]

    def found_few(self, j: int) -> Few | None:
        """Return what `few` has found, if it has been asked before: nothing is searched for."""
        return self._few.get(j)

    def keep(self, *, rows: bool = False) -> None:
        """Read all columns once and keep them, for those who read them often; with `rows`, keep what `block` returns, too."""
        if self.matrix is not None:
            return
        for j in range(self.n_features):
            self._kept[j] = self.column(j)
        if rows and self._rows is None:
            self._rows = self.block(0, self.n_samples)

    def block(self, start: int, stop: int) -> Array:
        """Return rows `start` to `stop` as floats for prediction, with codes as floats.

        Returns
        -------
        ndarray of shape (stop - start, n_features)
            float32 or float64; missing or unseen = NaN. A view of the input (of any strides) if `matrix` is not None, else a
            new C-ordered array of these rows only.
        """
        if self.matrix is not None:
            return self.matrix[start:stop]
        stop = min(stop, self.n_samples)
        if self._rows is not None:
            return self._rows[start:stop]
        if self._numeric is not None:
            block = self._numeric[start:stop].astype(np.float64, order="C")
            check_finite_matrix(block, self.schema, start)
            return block
        return self.in_rows([self.some_of(j, start, stop) for j in range(self.n_features)])

    @property
    def is_in_rows(self) -> bool:
        """Whether `block` has no columns to read."""
        return any(rows is not None for rows in (self.matrix, self._rows, self._numeric))

    def some_of(self, j: int, start: int, stop: int, *, checked: bool = True) -> Array:
        """Return rows `start` to `stop` of a column; not `checked`: it may hold infinity, and the caller looks for it."""
        feature = self.schema.features[j]
        if feature.categories is not None and len(feature.categories) > MANY_CATEGORIES and j not in self._kept:
            self._kept[j] = self._read(j, 0, self.n_samples)
        return self._kept[j][start:stop] if j in self._kept else self._read(j, start, stop, checked=checked)

    def in_rows(self, columns: list[Array], order: Literal["C", "F"] = "C") -> Array:
        """Return columns of all features as `block` does."""
        single = all(column.dtype == np.float32 for column in columns)
        block = np.empty((len(columns[0]), self.n_features), dtype=np.float32 if single else np.float64, order=order)
        for j, column in enumerate(columns):
            block[:, j] = column
            if self.schema.features[j].categories is not None:
                block[column == 0, j] = np.nan
        return block

    def some(self, rows: NDArray[np.intp]) -> Array:
        """Return some rows as `block` does; the caller does not change them."""
        if self.matrix is not None:
            return self.matrix[rows]
        if self._rows is not None:
            if self._some is None or not np.array_equal(self._some[0], rows):  # a trial of boosting asks twice
                self._some = rows, self._rows[rows]
            return self._some[1]
        return self.in_rows([self.column(j)[rows] for j in range(self.n_features)])

    def _read(self, j: int, start: int, stop: int, *, checked: bool = True) -> Array:
        feature = self.schema.features[j]
        cells = self._source.cells(j, start, stop, feature.name)
        if feature.categories is None:
            return continuous_column(cells, feature.name, start, checked=checked)
        return self._encode(j, cells, start)

    def _encode(self, j: int, cells: Cells, first_row: int) -> Array:
        feature = self.schema.features[j]
        assert feature.categories is not None
        if j not in self._lookups:
            self._lookups[j] = {category: code for code, category in enumerate(feature.categories, start=1)}
        labels = as_labels(cells)
        codes, unknown = codes_in(labels, self._lookups[j])
        if (
            unknown is not None
            and not codes.any()
            and feature.categories
            and isinstance(unknown.values[0], str) != isinstance(feature.categories[0], str)
        ):
            # else all cells would silently be missing
            raise errors.other_type(feature.name, unknown.values[0], first_row + unknown.row, feature.categories)
        if unknown is not None and self._unseen == "error":
            raise errors.unseen_categories(feature.name, unknown.values, first_row + unknown.row, feature.categories)
        return codes


def continuous_column(cells: Cells, name: str, first_row: int, *, checked: bool = True) -> Array:
    """Return cells as float32 or float64; labels must be numbers.  Not `checked`: it may hold infinity."""
    if isinstance(cells, Labels):
        label = next((label for label in cells.values if isinstance(label, str)), None)
        if label is not None:
            row = int(np.argmax(cells.positions == cells.values.index(label)))
            raise errors.not_numbers(name, label, first_row + row)
        values = np.array([*cells.values, np.nan], dtype=np.float64)[cells.positions]
    else:
        values = cells.floats()
    if checked:
        check_finite(values, name, first_row)
    return values


def check_finite(values: Array, name: str, first_row: int) -> None:
    # A sum is finite only if all its terms are; it is the cheapest test.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    infinite = np.isinf(values)
    if infinite.any():
        raise errors.infinite_values(name, int(np.count_nonzero(infinite)), first_row + int(np.argmax(infinite)))


def check_finite_matrix(values: Array, schema: Schema, first_row: int) -> None:
    if encoding.holds_infinity(values):
        for j, feature in enumerate(schema.features):
            check_finite(values[:, j], feature.name, first_row)


@dataclass(frozen=True)
class _Unknown:
    """Labels without a code, and the first row with one."""

    values: list[Any]
    row: int


def codes_in(labels: Labels, lookup: Mapping[Category, int]) -> tuple[Array, _Unknown | None]:
    """Return the codes of the cells, found by value, and the labels without a code, if any."""
    known = [lookup.get(label, 0) for label in labels.values]
    code_type = np.min_scalar_type(len(lookup))
    if known == list(range(1, len(known) + 1)):  # as in the fit: the first position is that of the first code
        positions = labels.positions
        if positions.dtype.itemsize == code_type.itemsize:  # of bytes, as nearly always: -1 + 1 is 0 without a sign, too
            positions = positions.view(code_type)
        return np.add(positions, 1, dtype=code_type, casting="unsafe"), None
    code_of = np.array([*known, 0], dtype=code_type)  # the last entry serves position -1
    codes = code_of.take(labels.positions)
    unknown = None
    without_code = code_of[:-1] == 0
    if without_code.any():
        hits = np.append(without_code, False).take(labels.positions)
        if hits.any():
            occurring = np.unique(labels.positions[hits])
            unknown = _Unknown([labels.values[position] for position in occurring], int(np.argmax(hits)))
    return codes, unknown
