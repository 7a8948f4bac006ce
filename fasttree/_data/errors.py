"""Functions that build the exceptions of the table layer: ``raise errors.infinite_values(...)``.

Each message says what is wrong, what was given and what to do.  Some wording is scikit-learn's, because its estimator checks and
its users' code match it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

SHOWN = 5  # values listed in a message before "…"


def listing(values: Iterable[Any]) -> str:
    """Return the first few values as Python writes them."""
    values = list(values)
    shown = ", ".join(repr(value) for value in values[:SHOWN])
    return f"{shown}, … ({len(values)} in all)" if len(values) > SHOWN else shown


# The table as a whole


def lazy_table(name: str, type_name: str, methods: Sequence[str]) -> TypeError:
    calls = [f"{name}.{method}()" for method in methods] or ["a data frame of pandas, polars or Arrow"]
    return TypeError(f"{name} is a lazy data frame ({type_name}), which has no values yet; pass {' or '.join(calls)}")


def not_two_dimensional(shape: tuple[int, ...]) -> ValueError:
    if len(shape) == 0:
        return ValueError("Expected 2D array, got scalar array instead. Reshape your data: X has a row per sample")
    if len(shape) == 1:
        return ValueError(
            f"Expected 2D array, got 1D array instead (shape={shape}). Reshape your data: X.reshape(-1, 1) if it is one "
            "feature, X.reshape(1, -1) if it is one sample (of a data frame X.iloc[[0]] or X[:1], not X.iloc[0])"
        )
    return ValueError(f"Found array with dim {len(shape)} (shape={shape}); X must have 2 dimensions: samples, features")


def not_a_table(X: object) -> ValueError:
    given = f"{X!r} is a string" if isinstance(X, str) else f"X is a {type(X).__name__}"
    return ValueError(
        f"{given}, not a table: pass a data frame of pandas, polars or Arrow, a NumPy array, or a list of rows "
        "(for columns with names, such as pandas.DataFrame(X))"
    )


def rows_with_names(X: Sequence[object]) -> ValueError:
    return ValueError(
        f"X is a {type(X).__name__} of {type(X[0]).__name__}s, not a table: convert it to a data frame (such as "
        "pandas.DataFrame(X)), or predict its rows one by one with model.to_predictor().predict_one"
    )


def target_is_a_name(y: str) -> ValueError:
    return ValueError(f"y={y!r} is a string, not a column: pass the values themselves, such as table[{y!r}]")


def ragged_rows() -> ValueError:
    return ValueError(
        "Expected 2D array, got 1D array of sequences instead. Reshape your data: X has rows of different lengths, but every row "
        "needs one cell per feature"
    )


def no_samples(shape: tuple[int, int]) -> ValueError:
    return ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")


def no_features(shape: tuple[int, int]) -> ValueError:
    return ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def too_many_samples(n_samples: int, limit: int) -> ValueError:
    return ValueError(f"X has {n_samples} samples; at most {limit} are supported: pass fewer")


def duplicate_names(names: Sequence[Any]) -> ValueError:
    repeated = list(dict.fromkeys(name for name in names if names.count(name) > 1))
    return ValueError(f"column names must be unique; more than one column is called {listing(repeated)}")


def mixed_names(names: Sequence[Any]) -> TypeError:
    types = sorted({type(name).__qualname__ for name in names})
    return TypeError(
        f"Feature names are only supported if all input features have string names; the column names are of types {types}: "
        "convert them all, for example with X.columns = X.columns.astype(str)"
    )


# Columns against the fitted ones


def wrong_n_features(n_features: int, expected: int, estimator_name: str) -> ValueError:
    return ValueError(f"X has {n_features} features, but {estimator_name} is expecting {expected} features as input.")


def wrong_names(names: Sequence[str], expected: Sequence[str]) -> ValueError:
    """Build scikit-learn's message, which its estimator checks compare literally."""
    lines = ["The feature names should match those that were passed during fit."]
    for title, found in (
        ("Feature names unseen at fit time:", sorted(set(names) - set(expected))),
        ("Feature names seen at fit time, yet now missing:", sorted(set(expected) - set(names))),
    ):
        if found:
            lines += [title, *(f"- {name}" for name in found[:SHOWN])]
            if len(found) > SHOWN:
                lines.append("- ...")
    if len(lines) == 1:
        lines.append("Feature names must be in the same order as they were in fit.")
    return ValueError("\n".join(lines) + "\n")


def names_lost(estimator_name: str) -> str:
    return f"X does not have valid feature names, but {estimator_name} was fitted with feature names"


def names_gained(estimator_name: str) -> str:
    return f"X has feature names, but {estimator_name} was fitted without feature names"


# Cells of one column


def infinite_values(name: str, count: int, row: int) -> ValueError:
    rows = "row" if count == 1 else "rows"
    return ValueError(
        f"column {name!r} has infinite values in {count} {rows} (first: row {row}); replace them by finite numbers, or by NaN if "
        "they are unknown"
    )


def complex_values(name: str) -> ValueError:
    return ValueError(f"Complex data not supported: column {name!r} holds complex numbers; pass real and imaginary parts")


def dates(name: str, dtype: object) -> TypeError:
    return TypeError(
        f"column {name!r} holds dates or times ({dtype}), neither numbers nor categories; pass numbers derived from them, such "
        "as the year, the month or the days since a date"
    )


def damaged_labels(name: str, error: ValueError) -> ValueError:
    return ValueError(f"column {name!r} has damaged values ({error}): write the table again")


def nested_cells(name: str, dtype: object) -> TypeError:
    return TypeError(f"column {name!r} holds nested values ({dtype}); every cell must be one string, boolean or number")


def unsupported_cell(name: str, cell: object, row: int) -> TypeError:
    return TypeError(
        f"column {name!r} holds a {type(cell).__qualname__} in row {row}; a cell of this argument must be a string, a boolean "
        "or a number, or missing"
    )


def unsupported_column(name: str, dtype: object) -> TypeError:
    return TypeError(f"column {name!r} has type {dtype}; a column holds strings, booleans, numbers or categories of these")


def unsupported_category(name: str, category: object) -> TypeError:
    return TypeError(
        f"column {name!r} has the category {category!r} of type {type(category).__qualname__}; categories must be strings, "
        "booleans or numbers: rename them, in pandas with .cat.rename_categories(str)"
    )


def mixed_cells(name: str, types: Iterable[str]) -> TypeError:
    return TypeError(
        f"column {name!r} mixes strings and numbers (types {', '.join(sorted(types))}); convert it to one type, for example with "
        ".astype(str)"
    )


def not_numbers(name: str, label: object, row: int) -> TypeError:
    return TypeError(f"column {name!r} was numeric in fit and now holds {label!r} in row {row}; pass numbers")


def unseen_categories(name: str, unseen: Sequence[Any], row: int, known: Sequence[Any]) -> ValueError:
    return ValueError(
        f"column {name!r} holds categories that were not seen in fit: {listing(unseen)} (first: row {row}); fit knows "
        f"{listing(known)}. Use unseen='as_missing' to treat them as missing values"
    )


def other_type(name: str, cell: object, row: int, known: Sequence[Any]) -> ValueError:
    kind, fitted = ("text", "numbers or booleans") if isinstance(cell, str) else ("not text", "text")
    return ValueError(
        f"column {name!r} holds {cell!r} (row {row}), which is {kind}, but its categories were {fitted} in fit: {listing(known)}."
        f" Convert the column to the type that it had in fit"
    )


# Parameters


def wrong_choice(parameter: str, given: object, allowed: Sequence[str]) -> ValueError:
    return ValueError(f"{parameter}={given!r}: must be one of {', '.join(repr(choice) for choice in allowed)}")


def wrong_type_of_features(parameter: str, given: object, allowed: str) -> TypeError:
    return TypeError(f"{parameter}={given!r}: must be {allowed}")


def unknown_feature(parameter: str, given: object, labels: Sequence[Any]) -> ValueError:
    return ValueError(
        f"{parameter} names {given!r}, which is not a column of X; the columns are {listing(labels)}, or their indices from 0 to "
        f"{len(labels) - 1}"
    )


def wrong_mask(parameter: str, length: int, n_features: int) -> ValueError:
    return ValueError(f"{parameter} is a mask of {length} booleans, but X has {n_features} features")


def two_kinds(name: str) -> ValueError:
    return ValueError(f"column {name!r} is in categorical_features and in ordinal_features; name it in one of them")


def two_orders(name: str) -> ValueError:
    return ValueError(f"ordinal_features names column {name!r} by its name and by its index: give it one order")


def wrong_order(name: str, order: object) -> ValueError:
    return ValueError(
        f"ordinal_features[{name!r}]={order!r}: must be a list of distinct values from low to high, all strings or all numbers"
    )


def not_in_order(name: str, values: Sequence[Any], row: int, order: Sequence[Any]) -> ValueError:
    return ValueError(
        f"column {name!r} holds values that ordinal_features does not list: {listing(values)} (first: row {row}); it lists "
        f"{listing(order)}"
    )


# The target


def no_target() -> ValueError:
    return ValueError("fit requires y to be passed, but the target y is None")


def sparse_target() -> TypeError:
    return TypeError("y is a sparse matrix: sparse data is not supported; pass a dense 1-D array")


def missing_target(count: int, row: int) -> ValueError:
    rows = "row" if count == 1 else "rows"
    return ValueError(f"Input y contains NaN: the target is missing in {count} {rows} (first: row {row}); drop these rows")


def infinite_target(count: int, row: int) -> ValueError:
    rows = "row" if count == 1 else "rows"
    return ValueError(f"Input y contains infinity: in {count} {rows} (first: row {row}); replace or drop these values")


def not_one_target(shape: tuple[int, ...]) -> ValueError:
    return ValueError(f"y should be a 1d array, got an array of shape {shape} instead.")


def continuous_target(value: float) -> ValueError:
    return ValueError(
        f"Unknown label type: continuous. The target of a classifier must be classes, and y holds {value!r}; use a regressor, "
        "or group the values into classes"
    )


def target_not_numeric(label: object) -> ValueError:
    return ValueError(f"the target of a regressor must be numbers, and y holds {label!r}; use a classifier, or convert y")


COLUMN_VECTOR = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples, ), for example "
    "using ravel()."
)
