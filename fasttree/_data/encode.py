"""Encoding of a table by the schema of a fitted model: columns by name, categories by code."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fasttree._data import errors
from fasttree._data.cells import is_plain_frame
from fasttree._data.learn import learn_table, plain_table
from fasttree._data.schema import Feature, Schema
from fasttree._data.sources import ArraySource, names_of_columns, open_source
from fasttree._data.table import Table


def encode_table(
    X: Any, schema: Schema, *, unseen: str = "as_missing", estimator_name: str = "this tree", checked: bool = True
) -> Table:
    """Encode a table for prediction by a learned schema; rows are read when `Table.block` is called.

    Parameters
    ----------
    X : as in `learn_table`
        Columns as in fit: the same names in the same order for a data frame, else the same number. Their types may differ from
        those in fit. Categories are compared by value: 1 and 1.0 are the same category, "1" is another.
    schema : Schema
    unseen : {"as_missing", "error"}
        What to do with a category not seen in fit: give it code 0, or raise a ValueError when its row is read.
    estimator_name : str
        Name of the estimator in messages.
    checked : bool
        Whether to look for infinite values in a matrix; False: the caller does.

    Warns
    -----
    UserWarning
        If only one of `X` and the schema has column names.

    Raises
    ------
    ValueError
        If the number, names or order of the columns differ from those in fit, or values are infinite.
    TypeError
        If a continuous column holds strings, or `learn_table` would raise one.
    """
    if unseen not in ("as_missing", "error"):
        raise errors.wrong_choice("unseen", unseen, ("as_missing", "error"))
    n_features = len(schema.features)
    is_plain = is_plain_frame(X)
    source = ArraySource(np.asarray(X)) if is_plain else open_source(X)
    matrix = X if is_plain else source.matrix
    column_names = names_of_columns(source)
    if column_names is not None and schema.has_names:
        expected = [feature.name for feature in schema.features]
        if column_names != expected:
            raise errors.wrong_names(column_names, expected)
    elif schema.has_names:
        warnings.warn(errors.names_lost(estimator_name), UserWarning, stacklevel=3)
    elif column_names is not None:
        warnings.warn(errors.names_gained(estimator_name), UserWarning, stacklevel=3)
    if source.shape[1] != n_features:
        raise errors.wrong_n_features(source.shape[1], n_features, estimator_name)
    if matrix is not None and schema.is_continuous:
        return plain_table(matrix, schema, checked=checked)
    return Table(source, schema, unseen=unseen)


def missing_cell(table: Table) -> tuple[Feature, int] | None:
    """Return the first feature with a cell of code 0 or NaN, and the first such row; None if there is none."""
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        missing = np.isnan(column) if feature.categories is None else column == 0
        if missing.any():
            return feature, int(missing.argmax())
    return None


def missing_cell_of(X: Any, table: Table) -> tuple[Feature, int] | None:
    """Return the same for `X`, from which `table` was encoded by a schema; a category unknown to the schema is not missing."""
    cell = missing_cell(table)
    if cell is not None and cell[0].categories is not None:
        # X has no unseen category when it is encoded by a schema of its own
        categorical = [feature.categories is not None for feature in table.schema.features]
        cell = missing_cell(learn_table(X, categorical_features=categorical))
    return cell
