"""Samples within a page, and how it writes numbers and names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._explain.pictures.lettering import distinct

__all__ = ["features_data", "numbers_of", "rows_data"]

Truth: TypeAlias = Callable[[npt.NDArray[np.intp]], list[Any]]

NAME_ROOM, NAME_SIZE = 160.0, 12.0  # pixels of a category in the text of a branch
WHOLE = 2**53  # integers up to here are exact


def numbers_of(array: npt.NDArray[Any]) -> list[float | int]:
    """Return exact numbers, with integers instead of integral floats, which are shorter."""
    return [int(number) if number.is_integer() and abs(number) < WHOLE else number for number in array.tolist()]


def features_data(schema: Schema, names: Sequence[str], categories: Sequence[list[str]]) -> list[dict[str, Any]]:
    """Return the features: name, whether it is ordinal, and its categories with their short forms, or None for numbers."""
    return [
        {
            "name": name,
            "ordinal": feature.kind is Kind.ORDINAL,
            "categories": None if feature.kind is Kind.CONTINUOUS else values,
            "brief": _brief(values),
        }
        for feature, name, values in zip(schema.features, names, categories, strict=True)
    ]


def _brief(categories: list[str]) -> list[str] | None:
    """Return the categories as they are drawn; None if all are short enough."""
    brief = distinct(categories, NAME_ROOM, NAME_SIZE)
    return None if all(name == text for name, text in brief.items()) else [brief[name] for name in categories]


def rows_data(table: Table, features: list[int], truth: Truth | None, max_rows: int) -> dict[str, Any] | None:
    """Return samples at equal distances, with cells only of some features; None without samples.

    Parameters
    ----------
    table : Table
    features : list of int
    truth : function or None
        Returns the classes or numbers to show, of some samples.
    max_rows : int
    """
    n_samples = table.n_samples
    chosen = np.unique(np.linspace(0, n_samples - 1, min(max_rows, n_samples)).round().astype(np.intp))
    if not chosen.size:
        return None
    columns = [table.column(j)[chosen] for j in features]
    return {
        "row": chosen.tolist(),
        "of": n_samples,
        "feature": features,
        "single": [column.dtype == np.float32 for column in columns],
        "cell": [_cells(column) for column in columns],
        "truth": None if truth is None else truth(chosen),
    }


def _cells(column: npt.NDArray[Any]) -> list[float | int | None]:
    """Return codes or numbers, None if missing; for single precision, the shortest number that rounds to it."""
    if column.dtype.kind != "f":
        return list(map(int, column))
    numbers = [float(str(number)) for number in column]
    return [None if number != number else numbers_of(np.array([number]))[0] for number in numbers]
