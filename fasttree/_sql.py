"""Conditions and values in SQL: what SQLite, DuckDB, PostgreSQL and standard SQL read alike.

A number is written so that reading it gives the same double, a name or string quoted so that nothing in it is read as SQL.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ._conditions import Condition
from ._table import Category, Kind

__all__ = ["ALWAYS", "identifier", "is_among", "literal", "number", "predicate"]

ALWAYS, NEVER = "1 = 1", "1 = 0"  # SQLite would take TRUE for a column of that name

EXACT_DECIMAL = 15  # digits of a decimal number that a quotient of two exact doubles, as some programs read it, gives back
SAFE_DIGITS = 18  # as many as a 64-bit integer can hold
NEAR_HALF = 0.49  # of the distance of two doubles: SQLite reads in 64 bits, whose rounding is a thousandth of that


def identifier(name: str) -> str:
    """Quote the name of a column or table."""
    if not name:
        raise ValueError("'' cannot be written in SQL: a column has a name that is not empty; rename it")
    return '"' + _readable(name).replace('"', '""') + '"'


def literal(value: Any) -> str:
    """Write a number, a truth value or a string; a float so that its type shows."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} cannot be written in SQL: SQLite makes a double of what 64 bits do not hold; make it text")
        return str(value)
    if isinstance(value, float):
        text = number(value)
        return text if "e" in text else f"{text}e0"
    return "'" + _readable(str(value)).replace("'", "''") + "'"


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} cannot be written in SQL: it is no Unicode text; rename it") from None
    if "\0" in text:
        raise ValueError(f"{text!r} cannot be written in SQL: databases end a text at the character 0; rename it")
    return text


def number(value: float) -> str:
    """Write a finite number so that it is read as the same double."""
    text = repr(value)
    if len(text.split("e")[0].replace(".", "").lstrip("-0")) <= EXACT_DECIMAL and not _is_near_half_way(text, value):
        return text
    # An exponent says that it is a double, which some programs would else read digit by digit.
    text = f"{value:.{SAFE_DIGITS}g}"
    return text if "e" in text else f"{text}e0"


def _is_near_half_way(text: str, value: float) -> bool:
    """Whether a number lies so near the middle of two doubles that a reader that rounds twice, as SQLite does, may go wrong."""
    if (value * 1024).is_integer():  # then the text is the double itself; for speed
        return False
    return abs(Fraction(text) - Fraction(value)) > Fraction(NEAR_HALF) * Fraction(abs(value - math.nextafter(value, 0)))


def predicate(condition: Condition) -> str:
    """Write a condition that neither divides samples nor asks surrogates; it is true or, where it is not, false or NULL."""
    column = identifier(condition.feature)
    if condition.admits_all:
        return ALWAYS
    if condition.admits_nothing:
        return NEVER
    if condition.kind == Kind.CONTINUOUS:
        return _of_interval(condition, column)
    return _of_categories(condition, column)


def _of_interval(condition: Condition, column: str) -> str:
    if condition.operator == "missing":
        return f"{column} IS NULL"
    if condition.operator == "known":
        return f"{column} IS NOT NULL"
    limits = []
    if math.isfinite(condition.low):
        limits.append(f"{column} > {number(condition.low)}")
    if math.isfinite(condition.high):
        limits.append(f"{column} <= {number(condition.high)}")
    known = " AND ".join(limits)
    return f"({known} OR {column} IS NULL)" if condition.missing else known


def _of_categories(condition: Condition, column: str) -> str:
    if not condition.missing:
        return is_among(column, condition.categories)
    chosen = set(condition.categories)
    excluded = [category for category in condition.declared if category not in chosen]
    if not excluded:
        return ALWAYS
    # also a category that the fit did not know counts as missing
    return f"({column} IS NULL OR NOT {is_among(column, tuple(excluded))})"


def is_among(column: str, categories: tuple[Category, ...]) -> str:
    """Whether a column, given quoted, has one of some categories; NULL where it is."""
    if len(categories) == 1:
        return f"{column} = {literal(categories[0])}"
    return f"{column} IN ({', '.join(map(literal, categories))})"
