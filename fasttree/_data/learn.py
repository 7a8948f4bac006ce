"""Kinds and categories of the columns of a training table."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fasttree._data import errors
from fasttree._data.cells import FLOAT32, FLOAT64, Array, Cells, Labels, Numbers, as_labels, is_plain_frame
from fasttree._data.schema import Category, Feature, Group, Kind, Schema, groups_of
from fasttree._data.sources import ArraySource, names_of_columns, open_source
from fasttree._data.table import SMALL_TABLE, Table, check_finite, check_finite_matrix, codes_in, continuous_column
from fasttree._engine import encoding


@lru_cache(maxsize=64)
def _continuous_schema(n_features: int) -> Schema:
    return Schema(tuple(Feature(f"x{j}", Kind.CONTINUOUS) for j in range(n_features)))


def learn_table(
    X: Any,
    *,
    categorical_features: Iterable[Any] | None = None,
    ordinal_features: Mapping[Any, Sequence[Category]] | None = None,
    integers: str = "continuous",
) -> Table:
    """Learn the kinds and categories of a table for `fit`.

    Float and integer columns are continuous. Booleans, strings and unordered categories are nominal. Ordered categories of
    pandas and Arrow are ordinal. A column of Python objects is numeric if all its cells but the missing ones are numbers. If
    pandas or an Enum declares the categories, all of them are kept in declared order; else those that occur, sorted.

    Parameters
    ----------
    X : data frame (pandas, polars, Arrow or any that narwhals knows), array or list of rows
        Missing values are NaN, None, NA, null, NaT and masked cells. Integers beyond 2**53 are rounded in continuous columns.
    categorical_features : list of column names or indices, or boolean mask, optional
        Nominal columns; numbers keep their type as categories. An integer that is a column label means that column, else it is
        an index.
    ordinal_features : dict of column name or index to list of values from low to high, optional
        Ordinal columns; every value that occurs must be listed.
    integers : {"continuous", "nominal"}
        Kind of integer columns.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If the table is empty, of the wrong shape, or has duplicate names, infinite values, complex numbers, or a value that is
        not listed in its order.
    TypeError
        If the table is lazy, or has dates, nested or mixed cells.
    """
    if categorical_features is None and ordinal_features is None and is_plain_frame(X):
        return plain_table(X, _continuous_schema(X.shape[1]))
    if integers not in ("continuous", "nominal"):
        raise errors.wrong_choice("integers", integers, ("continuous", "nominal"))
    source = open_source(X)
    column_names = names_of_columns(source)
    names = column_names or [f"x{j}" for j in range(source.shape[1])]
    if categorical_features is None and ordinal_features is None and source.matrix is not None:
        continuous = tuple(Feature(name, Kind.CONTINUOUS) for name in names)
        return plain_table(source.matrix, Schema(continuous, has_names=column_names is not None))
    labels = source.labels or names
    nominal = nominal_columns(categorical_features, labels)
    orders = orders_of(ordinal_features, labels, names)
    if both := nominal & orders.keys():
        raise errors.two_kinds(names[min(both)])

    features: list[Feature] = []
    kept: dict[int, Array] = {}
    for j, name in enumerate(names):
        cells = source.cells(j, 0, source.shape[0], name)
        coded = _coded_floats(cells, name) if j in nominal else None
        if coded is not None:
            categories, kept[j] = coded
            features.append(Feature(name, Kind.NOMINAL, categories))
            continue
        if j in orders or not _is_continuous(cells, j in nominal, integers):
            cells = as_labels(cells)  # once for both categories and codes
        feature = _learn_feature(name, cells, j in nominal, orders.get(j))
        features.append(feature)
        if isinstance(cells, Labels):
            kept[j] = _learned_codes(cells, feature, j in orders)
        elif isinstance(cells, Numbers):
            small = cells.values.itemsize * source.shape[0] * source.shape[1] <= SMALL_TABLE
            if small or cells.parsed or cells.values.dtype.kind == "f":
                column = continuous_column(cells, name, 0)
                if small or cells.parsed:
                    kept[j] = column
    table = Table(source, Schema(tuple(features), has_names=column_names is not None))
    table._kept = kept
    return table


def plain_table(X: Array, schema: Schema, *, checked: bool = True) -> Table:
    X = np.asarray(X)
    if checked:
        check_finite_matrix(X, schema, 0)
    return Table(ArraySource(X), schema, matrix=X)


def _coded_floats(cells: Cells, name: str) -> tuple[tuple[Category, ...], Array] | None:
    """Return categories and codes of a column with few distinct floats, found in one pass; None for any other column."""
    if isinstance(cells, Labels) or cells.values.dtype not in (FLOAT32, FLOAT64) or not cells.values.flags.aligned:
        return None
    found = encoding.code_values(cells.values)
    if found is None:
        return None
    categories, codes = found
    if categories and not (math.isfinite(categories[0]) and math.isfinite(categories[-1])):
        check_finite(cells.values, name, 0)
    return tuple(categories), codes


def _is_continuous(cells: Cells, named_nominal: bool, integers: str) -> bool:
    """Return whether a column without an order is continuous."""
    if isinstance(cells, Labels) or named_nominal:
        return False
    kind = cells.values.dtype.kind
    return kind == "f" or (kind in "iu" and integers == "continuous")


def _learn_feature(name: str, cells: Cells, named_nominal: bool, order: tuple[Category, ...] | None) -> Feature:
    """Describe a column: numbers are continuous, labels are categories."""
    if order is not None:
        return Feature(name, Kind.ORDINAL, order)
    if isinstance(cells, Numbers):
        return Feature(name, Kind.CONTINUOUS)
    meaning = Kind.ORDINAL if cells.ordered and not named_nominal else Kind.NOMINAL
    if cells.declared:
        return Feature(name, meaning, of_one_type(cells.values))
    return Feature(name, meaning, tuple(sorted(cells.values)))


def _learned_codes(cells: Labels, feature: Feature, is_ordered_by_user: bool) -> Array:
    categories = feature.categories or ()
    codes, unknown = codes_in(cells, {category: code for code, category in enumerate(categories, start=1)})
    if unknown is not None and is_ordered_by_user:
        raise errors.not_in_order(feature.name, unknown.values, unknown.row, categories)
    return codes


def _column_index(parameter: str, given: Any, labels: Sequence[Any]) -> int:
    """Return the index of a column given by its label or index; a label takes precedence if both are integers."""
    is_index = isinstance(given, numbers.Integral) and not isinstance(given, (bool, np.bool_))
    if not is_index and not isinstance(given, str):
        raise errors.wrong_type_of_features(parameter, given, "column names or indices")
    if given in labels:
        return list(labels).index(given)
    if is_index and 0 <= given < len(labels):
        return int(given)
    raise errors.unknown_feature(parameter, given, labels)


def nominal_columns(categorical_features: Iterable[Any] | None, labels: Sequence[Any]) -> set[int]:
    parameter = "categorical_features"
    if categorical_features is None:
        return set()
    if isinstance(categorical_features, (str, Mapping)) or not isinstance(categorical_features, Iterable):
        raise errors.wrong_type_of_features(
            parameter, categorical_features, "a list of column names or indices, or a boolean mask"
        )
    given = list(categorical_features)
    if given and all(isinstance(entry, (bool, np.bool_)) for entry in given):
        if len(given) != len(labels):
            raise errors.wrong_mask(parameter, len(given), len(labels))
        return {j for j, is_nominal in enumerate(given) if is_nominal}
    return {_column_index(parameter, entry, labels) for entry in given}


def orders_of(
    ordinal_features: Mapping[Any, Sequence[Category]] | None, labels: Sequence[Any], names: Sequence[str]
) -> dict[int, tuple[Category, ...]]:
    parameter = "ordinal_features"
    if ordinal_features is None:
        return {}
    if not isinstance(ordinal_features, Mapping):
        raise errors.wrong_type_of_features(
            parameter, ordinal_features, "a dict of column names or indices to lists of values from low to high"
        )
    orders: dict[int, tuple[Category, ...]] = {}
    for given, order in ordinal_features.items():
        j = _column_index(parameter, given, labels)
        if j in orders:
            raise errors.two_orders(names[j])
        orders[j] = _order(names[j], order)
    return orders


def _order(name: str, order: Any) -> tuple[Category, ...]:
    if isinstance(order, (str, Mapping, set, frozenset)) or not isinstance(order, Iterable):  # a set has no order
        raise errors.wrong_order(name, order)
    values = tuple(value.item() if isinstance(value, np.generic) else value for value in order)
    groups = groups_of(values)
    legal = groups == {Group.TEXT} or (groups and groups <= {Group.BOOLEAN, Group.INTEGER, Group.REAL})
    if not legal or len(set(values)) < len(values) or any(value != value for value in values):
        raise errors.wrong_order(name, order)
    return of_one_type(values)


def of_one_type(values: Sequence[Any]) -> tuple[Category, ...]:
    """Convert numbers and booleans to the widest of their types, as a column of them does; return texts as they are."""
    groups = groups_of(values)
    widest = next((of for found, of in ((Group.REAL, float), (Group.INTEGER, int)) if found in groups), None)
    if widest is None:
        return tuple(values)
    converted = tuple(widest(value) for value in values)
    return converted if len(set(converted)) == len(values) else tuple(values)
