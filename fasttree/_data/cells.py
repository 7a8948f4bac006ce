"""The cells of one column from any container, as `Numbers` or as `Labels` with positions.

Kinds, categories and codes are derived from these two forms alone.  The same rows therefore give the same columns in pandas,
polars, Arrow, NumPy and lists.
"""

from __future__ import annotations

import datetime
import math
import numbers
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data import errors
from fasttree._data.schema import Group, group, groups_of, is_missing
from fasttree._engine import encoding

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
FLOAT32, FLOAT64, UINT64 = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint64)

MAX_SAMPLES = 2**31 - 1  # the tree counts samples in 32 bits where it can
EXACT_FLOAT32 = 2**24  # integers up to this size are exact in float32


class Numbers(NamedTuple):
    """Booleans, integers or floats (NaN = missing), and a mask of missing cells or None.

    `parsed` is True if the cells were read one by one; this is slow, so the caller should keep the result.
    """

    values: Array
    missing: Array | None = None
    parsed: bool = False

    def labels(self) -> Labels:
        """Convert the cells to positions in their sorted distinct values."""
        values, missing = self.values, self.missing
        if values.dtype.kind == "f":
            values = values + values.dtype.type(0)  # -0.0 and 0.0 are one category
            missing = np.isnan(values)
        if missing is None or not missing.any():
            distinct, positions = distinct_values(values)
        else:
            distinct, present = distinct_values(values[~missing])
            positions = np.full(len(values), -1, dtype=np.intp)
            positions[~missing] = present
        return Labels(distinct.tolist(), positions)

    def floats(self) -> Array:
        """Convert the cells to float32 if it is exact by type or range, else to float64; NaN = missing."""
        values = self.values
        if values.dtype.kind == "f":
            return values.astype(np.float32 if values.dtype.itemsize <= 4 else np.float64, copy=False)
        small = values.dtype.itemsize <= 2 or not len(values)
        small = small or bool(values.min() >= -EXACT_FLOAT32 and values.max() <= EXACT_FLOAT32)
        result = values.astype(np.float32 if small else np.float64)
        if self.missing is not None:
            result[self.missing] = np.nan
        return result


@dataclass(frozen=True)
class Labels:
    """Positions in a list of distinct labels; -1 = missing.

    `declared` is True if the table declares the labels and their order; not all of them need occur.  `ordered` is True if the
    order has a meaning.  Undeclared labels come in any order, and all of them occur.
    """

    values: list[Any]
    positions: Array
    declared: bool = False
    ordered: bool = False

    def occurring(self) -> npt.NDArray[np.intp]:
        """Return the positions of the labels that occur, ascending."""
        if not self.declared:
            return np.arange(len(self.values))
        return occurring(self.positions, len(self.values))


Cells: TypeAlias = Numbers | Labels


def occurring(positions: Array, n_labels: int) -> npt.NDArray[np.intp]:
    """Return the positions that occur among those of cells, ascending and without -1."""
    return np.flatnonzero(np.bincount(positions[positions >= 0], minlength=n_labels))


def distinct_values(values: Array) -> tuple[Array, Array]:
    """Return the sorted distinct values and the position of every value among them; linear for a small range of integers."""
    if values.dtype.kind in "iu" and values.dtype != UINT64 and len(values):
        found = encoding.distinct_integers(values.astype(np.int64, copy=False), max(len(values), 1000))
        if found is not None:
            return found[0].astype(values.dtype, copy=False), found[1]
    distinct, positions = np.unique(values, return_inverse=True)
    if values.dtype.kind == "f":
        distinct += 0.0  # turns -0.0 into 0.0: the result must not depend on which of them comes first
    return distinct, positions


def array_cells(values: Array, name: str, first_row: int) -> Cells:
    """Read a 1-D NumPy array."""
    kind = values.dtype.kind
    if kind in "biuf":
        return Numbers(values)
    if kind in "OUT":
        return object_cells(values.astype(object, copy=False).tolist(), name, first_row)
    if kind == "c":
        raise errors.complex_values(name)
    if kind in "mM":
        raise errors.dates(name, values.dtype)
    raise errors.unsupported_column(name, values.dtype)


def object_cells(cells: list[Any], name: str, first_row: int) -> Cells:
    """Read Python objects as strings, booleans or numbers; the cells that are not missing decide which."""
    groups = {cell_type: group(cell_type) for cell_type in set(map(type, cells))}
    found = set(groups.values())
    if Group.OTHER in found:
        row = next(row for row, cell in enumerate(cells) if groups[type(cell)] is Group.OTHER)
        raise _unreadable(cells[row], name, first_row + row)
    if Group.TEXT in found:
        return _text_cells(cells, name)
    missing = None
    if Group.MISSING in found or (Group.REAL in found and len(found) > 1):
        # NaN among integers or booleans is a missing value; it does not make them floats.
        missing = np.fromiter(map(is_missing, cells), dtype=bool, count=len(cells))
        cells = [cell for cell, absent in zip(cells, missing, strict=True) if not absent]
        found = {groups[cell_type] for cell_type in set(map(type, cells))}
    if found == {Group.BOOLEAN}:
        present = np.array(cells, dtype=bool)
    elif found and Group.REAL not in found:
        present = _integers(cells)
    else:
        present = _floats(cells)
    if missing is None:
        return Numbers(present, parsed=True)
    is_float = present.dtype.kind == "f"
    values = np.full(len(missing), np.nan) if is_float else np.zeros(len(missing), dtype=present.dtype)
    values[~missing] = present
    return Numbers(values, None if is_float else missing, parsed=True)


def _integers(cells: list[Any]) -> Array:
    """Return an array of Python integers as int64, else as uint64, else (rounded) as float64."""
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(cells, dtype=dtype)
        except OverflowError:
            continue
    return _floats(cells)


def _floats(cells: list[Any]) -> Array:
    """Return an array of the nearest floats; numbers out of range become infinite."""
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        return np.array([_nearest(cell) for cell in cells], dtype=np.float64)


def _nearest(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _text_cells(cells: list[Any], name: str) -> Labels:
    """Read strings and missing cells, each distinct one once."""
    index = {cell: position for position, cell in enumerate(dict.fromkeys(cells))}
    positions = np.fromiter(map(index.__getitem__, cells), dtype=np.intp, count=len(cells))
    present = np.array([not is_missing(cell) for cell in index], dtype=bool)
    labels = [cell for cell, is_present in zip(index, present, strict=True) if is_present]
    types = {type(label) for label in labels}
    if any(group(label_type) is not Group.TEXT for label_type in types):
        raise errors.mixed_cells(name, {label_type.__qualname__ for label_type in types})
    new_positions = np.where(present, np.cumsum(present) - 1, -1)
    return Labels([str(label) for label in labels], new_positions[positions])


def _unreadable(cell: Any, name: str, row: int) -> Exception:
    if isinstance(cell, numbers.Complex):
        return errors.complex_values(name)
    if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return errors.dates(name, type(cell).__qualname__)
    return errors.unsupported_cell(name, cell, row)


def check_labels(labels: list[Any], name: str) -> None:
    """Raise a TypeError unless the categories of a data frame are all strings or all numbers."""
    groups = groups_of(labels)
    if groups & {Group.OTHER, Group.MISSING}:
        raise errors.unsupported_category(
            name, next(label for label in labels if group(type(label)) in (Group.OTHER, Group.MISSING))
        )
    if Group.TEXT in groups and len(groups) > 1:
        raise errors.mixed_cells(name, {type(label).__qualname__ for label in labels})


def is_plain_frame(X: Any) -> bool:
    """Return whether `X` can be used as it is: a non-empty 2-D NumPy array of native float32 or float64, with any strides."""
    return (
        isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.dtype in (FLOAT32, FLOAT64)
        and X.dtype.isnative
        and X.flags.aligned
        and X.size > 0
        and len(X) <= MAX_SAMPLES
        and (type(X) is np.ndarray or not isinstance(X, (np.ma.MaskedArray, np.matrix)))
    )


def as_labels(cells: Cells) -> Labels:
    return cells if isinstance(cells, Labels) else cells.labels()
