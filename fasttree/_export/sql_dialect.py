"""Dialects of SQL: how each one quotes names and texts, writes numbers and booleans, and which queries it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

__all__ = ["DIALECTS", "Dialect", "DialectName", "dialect_of"]

DialectName: TypeAlias = Literal["standard", "sqlite", "duckdb", "postgresql", "bigquery", "snowflake", "tsql", "spark"]

EXACT_DECIMAL = 15  # digits of a decimal that programs read exactly, even as the quotient of two doubles
SAFE_DIGITS = 18  # that a 64-bit integer can hold
NEAR_HALF = 0.49  # of the distance of two doubles: SQLite reads numbers in 64 bits and rounds by a thousandth of that
FAR = 2.0**500  # SQLite may miss the nearest double of a decimal beyond 1e200 or below 1e-280; nearer to 1 it reads all of them
SCALE = 2.0**600  # which brings the farthest doubles near to 1, without an error
LARGEST = "1.79769313486231571e+308"  # the largest double; only NaN is larger where a database orders it

STEPS = 10  # levels of nested CASEs that SQLite's stack of 100 symbols allows


@dataclass(frozen=True)
class Dialect:
    """A dialect of SQL.

    Parameters
    ----------
    name : str
    quotes : str
        The characters before and after the name of a column or table.
    escapes : bool
        Whether a backslash in a text begins an escape.
    escapes_names : bool
        Whether names are escaped as texts are; elsewhere the closing quote is doubled.
    text_prefix : str
        What precedes a text.
    double : str
        Type of doubles.
    has_booleans : bool
        Whether TRUE and FALSE exist; elsewhere 1 and 0 are written.
    exponents : bool
        Whether every double is written with an exponent, because a number without one is a decimal of limited digits.
    nan : str or None
        Condition that a double is NaN, with ``{}`` for the column; None where no column holds NaN.
    most_nested : int
        Maximum number of nested CASEs.
    has_steps : bool
        Whether a scalar subquery may hold materialized common table expressions, which split deeper trees.
    rows : {"values", "derived", "structs"}
        Form of a constant table.
    least, greatest : str
        Functions of the smaller and of the larger of two numbers.
    """

    name: str
    quotes: str = '""'
    escapes: bool = False
    escapes_names: bool = False
    text_prefix: str = ""
    double: str = "DOUBLE PRECISION"
    has_booleans: bool = True
    exponents: bool = False
    nan: str | None = f"{{}} > {LARGEST}"
    most_nested: int = STEPS
    has_steps: bool = True
    rows: str = "values"
    least: str = "LEAST"
    greatest: str = "GREATEST"

    def identifier(self, name: str) -> str:
        """Quote the name of a column or table."""
        if not name:
            raise ValueError("'' cannot be written in SQL: the name of a column must not be empty; rename it")
        opening, closing = self.quotes[0], self.quotes[1]
        text = _readable(name)
        text = self._escaped(text, closing) if self.escapes_names else text.replace(closing, closing * 2)
        return f"{opening}{text}{closing}"

    def text(self, text: str) -> str:
        """Quote a text."""
        text = _readable(text)
        if self.escapes:
            return f"'{self._escaped(text, chr(39))}'"
        quoted = text.replace("'", "''")
        if self.text_prefix:  # T-SQL takes a backslash at the end of a line for a continuation
            for end in ("\r\n", "\n"):
                quoted = quoted.replace(f"\\{end}", f"\\' + {self.text_prefix}'{end}")
        return f"{self.text_prefix}'{quoted}'"

    def _escaped(self, text: str, quote: str) -> str:
        text = text.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("\n", "\\n").replace("\r", "\\r")
        return text.replace("${", "\\u0024{") if self.name == "spark" else text  # Spark replaces variables in texts

    def literal(self, value: Any) -> str:
        """Write a number, a boolean or a text; a float is recognisable as one."""
        if hasattr(value, "item"):
            value = value.item()
        if isinstance(value, bool):
            return ("TRUE" if value else "FALSE") if self.has_booleans else str(int(value))
        if isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise ValueError(f"{value} cannot be written in SQL: it exceeds 64 bits, and SQLite would round it; make it text")
            return str(value)
        if isinstance(value, float):
            text = self.number(value)
            return text if text.startswith("(") else _with_exponent(text)
        return self.text(str(value))

    def number(self, value: float) -> str:
        """Write a finite number that is read as the same double; a very large or small one as a product with a power of two."""
        if value and not 1 / FAR < abs(value) < FAR:
            near, scale = (value / SCALE, SCALE) if abs(value) > 1 else (value * SCALE, 1 / SCALE)
            return f"({_with_exponent(self._decimal(near))} * {_with_exponent(self._decimal(scale))})"
        return self._decimal(value)

    def _decimal(self, value: float) -> str:
        text = repr(value)
        if len(text.split("e")[0].replace(".", "").lstrip("-0")) <= EXACT_DECIMAL and not _is_near_half_way(text, value):
            return _with_exponent(text) if self.exponents else text
        # An exponent marks a double; without it, some programs read a decimal.
        return _with_exponent(f"{value:.{SAFE_DIGITS}g}")

    def is_nan(self, column: str) -> str | None:
        """Return the condition that a column, given quoted, is NaN; None where no column can be."""
        return None if self.nan is None else self.nan.format(column)

    def cast(self, column: str) -> str:
        """Return the number that a column, given quoted, holds as text; NULL if the text is empty."""
        return f"CAST(NULLIF({column}, '') AS {self.double})"


STANDARD = Dialect("standard")
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        STANDARD,
        Dialect("sqlite", double="REAL", has_booleans=False, nan=None, least="MIN", greatest="MAX"),
        Dialect("duckdb", double="DOUBLE", nan="isnan({})"),
        Dialect("postgresql"),
        Dialect(
            "bigquery", quotes="``", escapes=True, escapes_names=True, double="FLOAT64", nan="IS_NAN({})", most_nested=100,
            has_steps=False, rows="structs",
        ),
        Dialect("snowflake", escapes=True, double="DOUBLE", most_nested=100, has_steps=False, rows="derived"),
        Dialect(
            "tsql", quotes="[]", text_prefix="N", has_booleans=False, exponents=True, nan=None, most_nested=10,
            has_steps=False, rows="derived",
        ),
        Dialect(
            "spark", quotes="``", escapes=True, double="DOUBLE", nan="isnan({})", most_nested=100, has_steps=False,
            rows="derived",
        ),
    )
}  # fmt: skip


def dialect_of(name: str) -> Dialect:
    """Return the dialect of a name.

    Raises
    ------
    ValueError
        If there is no such dialect.
    """
    if not isinstance(name, str) or name not in DIALECTS:
        raise ValueError(f"dialect={name!r}: must be one of {', '.join(map(repr, DIALECTS))}")
    return DIALECTS[name]


def _with_exponent(text: str) -> str:
    return text if "e" in text else f"{text}e0"


def _readable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} cannot be written in SQL: it is not valid Unicode; rename it") from None
    if "\0" in text:
        raise ValueError(f"{text!r} cannot be written in SQL: databases end a text at the character 0; rename it")
    return text


def _is_near_half_way(text: str, value: float) -> bool:
    """Return whether a number is so near the middle of two doubles that rounding twice, as SQLite does, may be wrong."""
    if abs(value) < 2**33 and (value * 1024).is_integer():  # a shortcut: the text is exactly the double
        return False
    return abs(Fraction(text) - Fraction(value)) > Fraction(NEAR_HALF) * Fraction(abs(value - math.nextafter(value, 0)))
