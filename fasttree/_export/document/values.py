"""Checked reading and writing of single values of a document, and the limits of a file."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import too_alike
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, NOMINAL, THRESHOLD

FORMAT = "fasttree.tree"
VERSION = "1.4"  # docs/shipping/json.md lists what is new in each
MAX_BYTES = 2**31  # of text after decompression; limits the memory that a hostile file can take
MAX_RATIO = 200  # of the size of a text to that of its compressed file, for texts of more than
FREE_BYTES = 2**16
MAX_NODES = 2**31 - 1  # node ids are int32
MAX_SUM = 2**63 - 1  # of samples over all nodes
MAX_DIGITS = 39  # of integer categories and classes: 128 bits
MAX_NESTING = 32  # of settings
EXACT_INTEGER = 2**53  # larger ones are written as text, because many readers of JSON have only doubles
GZIP = b"\x1f\x8b"
START = re.compile(rb"[ \t\n\r]*\{|\x1f(\x8b|\Z)")  # possible beginnings of a file; a pipe may return one byte at first

KIND_NAMES = {THRESHOLD: "threshold", NOMINAL: "nominal", CATEGORY: "category", KNOWN: "known", INTERVALS: "intervals"}
KINDS = {name: kind for kind, name in KIND_NAMES.items()}
TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
DEFAULT_DTYPES = {"int": "int64", "float": "float64", "bool": "bool"}
OTHER_DTYPES = ("object", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float16", "float32")

FIRST_KEYS = {
    "tests": "kind",
    "rules": "if",
    "significance": "reason",
}  # first key of the objects in lists with a line per object

Scalar: TypeAlias = str | int | float | bool


class DocumentError(ValueError):
    """Error for a document that cannot be read or written."""


def written_scalars(values: Sequence[Any], where: str) -> tuple[str, list[Scalar]]:
    """Return the name of the common type of the values, and the values for JSON."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    names = {next((name for name, kind in TYPES.items() if type(value) is kind), type(value).__name__) for value in plain}
    if len(names) > 1 or not names <= TYPES.keys():
        raise DocumentError(
            f"{where}: must be all str, all int, all float or all bool to be written; got {', '.join(sorted(names))}"
        )
    name = names.pop() if names else "str"
    if name == "float" and not all(map(math.isfinite, plain)):
        raise DocumentError(f"{where}: must be finite to be written")
    if len(set(plain)) != len(plain):
        raise DocumentError(f"{where}: must differ from one another")
    if name == "int":
        if any(abs(value) >= 10**MAX_DIGITS for value in plain):
            raise DocumentError(f"{where}: must have at most {MAX_DIGITS} digits to be written; use text")
        plain = [value if abs(value) <= EXACT_INTEGER else str(value) for value in plain]
    return name, plain


def read_scalars(entry: dict[str, Any], key: str, where: str) -> list[Scalar]:
    given = entry_of(entry, key, list, where)
    where = f"{where}.{key}"
    type_name = entry.get("type", "str")
    if not isinstance(type_name, str) or type_name not in TYPES:
        raise DocumentError(f"{where}: their type must be one of {', '.join(TYPES)}; got {short(type_name)}")
    if type_name == "int":
        values: list[Any] = [_read_integer(value) for value in given]
    elif type_name == "float":
        values = [_finite(value) for value in given]
    else:
        values = [value if type(value) is TYPES[type_name] else None for value in given]
    if None in values:
        j = values.index(None)
        raise DocumentError(f"{where}[{j}]: must be of type {type_name}; got {short(given[j])}")
    if not differ(values, where):
        raise DocumentError(f"{where}: must differ from one another")
    return values


def differ(values: Sequence[Hashable], where: str) -> bool:
    """Return whether no value occurs twice; many values of one hash are an error, because sets of them take quadratic time."""
    if too_alike(values):
        raise DocumentError(f"{where}: must be distinct, and too many of them have the same hash")
    return len(set(values)) == len(values)


def _read_integer(value: Any) -> int | None:
    if type(value) is int and abs(value) < 10**MAX_DIGITS:
        return value
    if (
        isinstance(value, str)
        and re.fullmatch(rf"-?[1-9][0-9]{{15,{MAX_DIGITS - 1}}}", value)
        and abs(int(value)) > EXACT_INTEGER
    ):
        return int(value)
    return None


# Checked values of JSON


def short(value: Any) -> str:
    """Write a value for error messages."""
    if isinstance(value, (dict, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a very large integer"
    text = ascii(value[:61] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def as_type(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
        raise DocumentError(f"{where}: must be {names[kind]}; got {short(value)}")
    return value


def entry_of(entries: dict[str, Any], key: str, kind: type, where: str = "") -> Any:
    where = f"{where}.{key}" if where else key
    if key not in entries:
        raise DocumentError(f"{where}: is missing")
    return as_type(entries[key], kind, where)


def _finite(value: Any) -> float | None:
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_number(value: Any, where: str) -> float:
    number = _finite(value)
    if number is None:
        raise DocumentError(f"{where}: must be a finite number; got {short(value)}")
    return number


def as_index(value: Any, stop: int, where: str) -> int:
    if type(value) is not int or not 0 <= value < stop:
        raise DocumentError(f"{where}: must be an integer from 0 to {stop - 1}; got {short(value)}")
    return value


def read_integers(column: list[Any], where: str) -> npt.NDArray[np.int64]:
    try:
        if set(map(type, column)) <= {int}:
            return np.array(column, np.int64)
    except OverflowError:
        pass
    raise DocumentError(f"{where}: must hold integers of 64 bits")


def read_floats(column: list[Any], where: str) -> npt.NDArray[np.float64]:
    try:
        if set(map(type, column)) <= {int, float}:
            array = np.array(column, np.float64)
            if np.isfinite(array).all():
                return array
    except OverflowError:
        pass
    raise DocumentError(f"{where}: must hold finite numbers")
