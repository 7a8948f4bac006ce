"""Predicates for plain values, shared by the checks of parameters and files, and texts of their messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

ALLOWED_AMOUNT = "a finite number >= 0"  # what `is_amount` accepts


def is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def is_fraction(value: Any) -> bool:
    """Return whether `value` is a share in (0, 1]; as in scikit-learn, 1.0 is a share and 1 is a count."""
    return is_number(value) and not is_integer(value) and 0 < value <= 1


def is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)


def on_a_line(value: Any) -> str:
    """Return the value as text for a message: on one line, and cut if it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else f"{text[:200]}..."


def alternatives(words: Sequence[str | None]) -> str:
    """Return the words that are allowed, for a message: "'a', 'b' or 'c'"."""
    return ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"


def is_amount(value: Any) -> bool:
    return is_number(value) and 0 <= value < math.inf


def is_collection(X: Any) -> bool:
    """Whether `X` is a Dask collection of rows; Dask is not imported here: without it there is none."""
    kind = type(X)
    return kind.__module__.startswith("dask.") and kind.__name__ in ("DataFrame", "Series", "Array")
