"""Conditions on the columns of a table, in a dialect of SQL."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fasttree._data.schema import Category, Feature, Kind, Schema
from fasttree._export.sql_dialect import Dialect, dialect_of
from fasttree._model.conditions import Condition
from fasttree._model.linear.model_tree import LinearModels

__all__ = ["ALWAYS", "ColumnTexts", "columns_of"]

ALWAYS, NEVER = "1 = 1", "1 = 0"  # SQLite would take TRUE for a column of that name


@dataclass(frozen=True)
class ColumnTexts:
    """The columns of the features in a table.

    Parameters
    ----------
    dialect : Dialect
    texts : frozenset of str
        Features of numbers whose columns hold text.
    nan_as_missing : bool
        Whether NaN in a column is a missing value, as NULL is.  Otherwise columns are taken to hold no NaN.
    """

    dialect: Dialect
    texts: frozenset[str] = frozenset()
    nan_as_missing: bool = False

    def of(self, name: str) -> str:
        """Write the value of a feature."""
        column = self.dialect.identifier(name)
        return self.dialect.cast(column) if name in self.texts else column

    def _nan(self, feature: Feature) -> str | None:
        """Return the condition that a value is NaN; None if it cannot be, or need not be known."""
        return self.dialect.is_nan(self.of(feature.name)) if self.nan_as_missing and holds_numbers(feature) else None

    def is_missing(self, feature: Feature) -> str:
        """Write the condition that a value is missing."""
        nan = self._nan(feature)
        return f"{self.of(feature.name)} IS NULL" + ("" if nan is None else f" OR {nan}")

    def interval(self, feature: Feature, low: float, high: float) -> str:
        """Write the condition ``low < x <= high``; it is false or NULL for a missing value."""
        column = self.of(feature.name)
        limits = []
        if math.isfinite(low):
            limits.append(f"{column} > {self.dialect.number(low)}")
        if math.isfinite(high):
            limits.append(f"{column} <= {self.dialect.number(high)}")
        elif (nan := self._nan(feature)) is not None:
            limits.append(f"NOT {nan}")
        return " AND ".join(limits or [f"{column} IS NOT NULL"])

    def is_among(self, feature: Feature, categories: Sequence[Category]) -> str:
        """Write the condition that a value is one of some categories; it is NULL for NULL."""
        column = self.of(feature.name)
        if len(categories) == 1:
            return f"{column} = {self.dialect.literal(categories[0])}"
        return f"{column} IN ({', '.join(map(self.dialect.literal, categories))})"

    def is_other(self, feature: Feature, categories: Sequence[Category]) -> str:
        """Write the condition that a value is none of some categories; it is false or NULL for a missing value."""
        nan = self._nan(feature)
        return self._is_not_among(feature, categories) + ("" if nan is None else f" AND NOT {nan}")

    def _is_not_among(self, feature: Feature, categories: Sequence[Category]) -> str:
        values = ", ".join(map(self.dialect.literal, categories))
        return f"{self.of(feature.name)} {f'<> {values}' if len(categories) == 1 else f'NOT IN ({values})'}"

    def formula(self, schema: Schema, models: LinearModels, node: int) -> str:
        """Write what the linear model of a node predicts: the terms are added in order, and the sum is moved into the bounds."""
        literal = self.dialect.literal
        text = literal(float(models.intercept[node]))
        for column, coefficient in models.terms(node):
            feature, code = models.source(column)
            write = self._indicator if code else self._filled
            text += f" + {literal(coefficient)} * {write(schema.features[feature], float(models.filling[column]), code)}"
        lower, upper = float(models.lower[node]), float(models.upper[node])
        if math.isfinite(lower):
            text = f"{self.dialect.greatest}({text}, {literal(lower)})"
        return f"{self.dialect.least}({text}, {literal(upper)})" if math.isfinite(upper) else text

    def _indicator(self, feature: Feature, filling: float, code: int) -> str:
        """Write 1 for a category and 0 for the others as doubles, with a number for a missing value or an unseen category."""
        categories = list(feature.categories or ())
        one, zero, mean = map(self.dialect.literal, (1.0, 0.0, filling))
        cases = [f"WHEN {self.is_among(feature, [categories.pop(code - 1)])} THEN {one}"]
        cases += [f"WHEN {self.is_among(feature, categories)} THEN {zero}"] if categories else []
        return f"CAST(CASE {' '.join(cases)} ELSE {mean} END AS {self.dialect.double})"

    def _filled(self, feature: Feature, filling: float, _: int) -> str:
        """Write the value of a feature as a double, with a number in the place of a missing value."""
        column, number = self.of(feature.name), self.dialect.literal(filling)
        if self._nan(feature) is not None:
            return f"CAST(CASE WHEN {self.is_missing(feature)} THEN {number} ELSE {column} END AS {self.dialect.double})"
        return f"CAST(COALESCE({column}, {number}) AS {self.dialect.double})"

    def predicate(self, condition: Condition) -> str:
        """Write a condition without divided samples and surrogates; it is true, else false or NULL."""
        if condition.admits_all:
            return ALWAYS
        if condition.admits_nothing:
            return NEVER
        feature = Feature(condition.feature, condition.kind, condition.declared or condition.categories or None)
        if condition.kind == Kind.CONTINUOUS:
            return self._of_interval(condition, feature)
        return self._of_categories(condition, feature)

    def _of_interval(self, condition: Condition, feature: Feature) -> str:
        if condition.operator == "missing":
            missing = self.is_missing(feature)
            return f"({missing})" if " OR " in missing else missing
        known = self.interval(feature, condition.low, condition.high)
        return f"({known} OR {self.is_missing(feature)})" if condition.missing else known

    def _of_categories(self, condition: Condition, feature: Feature) -> str:
        if not condition.missing:
            return self.is_among(feature, condition.categories)
        chosen = set(condition.categories)
        excluded = [category for category in condition.declared if category not in chosen]
        if not excluded:
            return ALWAYS
        # a category not seen in fit counts as missing, too
        return f"({self.of(feature.name)} IS NULL OR {self._is_not_among(feature, excluded)})"


def columns_of(schema: Schema, dialect: str, cast: bool | Sequence[str], nan_as_missing: bool) -> ColumnTexts:
    """Return the columns of the features of a schema.

    Parameters
    ----------
    schema : Schema
    dialect : str
        Name of the dialect.
    cast : bool or sequence of str
        Features of numbers whose columns hold text; True for all, False for none.
    nan_as_missing : bool
        See `ColumnTexts`.

    Raises
    ------
    ValueError
        If the dialect is unknown, or `cast` names a feature that is unknown or has no numbers.
    """
    found = dialect_of(dialect)
    for name, flag in (("nan_as_missing", nan_as_missing), ("cast", cast)):
        if not isinstance(flag, bool) and (name != "cast" or isinstance(flag, str) or not isinstance(flag, Sequence)):
            raise ValueError(f"{name}={flag!r}: must be True or False" + ", or names of features" * (name == "cast"))
    numeric = [feature.name for feature in schema.features if holds_numbers(feature)]
    if isinstance(cast, bool):
        return ColumnTexts(found, frozenset(numeric if cast else ()), nan_as_missing)
    for name in cast:
        if name not in numeric:
            raise ValueError(f"cast: {name!r} is no feature of numbers; these are {', '.join(map(repr, numeric)) or 'none'}")
    return ColumnTexts(found, frozenset(cast), nan_as_missing)


def holds_numbers(feature: Feature) -> bool:
    """Return whether a feature is continuous, or has categories that are numbers and not booleans."""
    return feature.categories is None or type(next(iter(feature.categories), None)) in (int, float)
