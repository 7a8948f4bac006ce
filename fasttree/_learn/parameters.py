"""Parameters of estimators: name, type, default, check and description.

A group of parameters is a dataclass, and an estimator has groups among its bases.  The dataclass machinery writes the constructor
whose signature scikit-learn reads: the groups from the last base to the first, then the estimator's own parameters.  Each
description is written once, beside its parameter, and the text of each attribute once, in the base that sets it; `parameters`
puts all of them into the docstring of the estimator.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import lru_cache
from operator import itemgetter
from textwrap import indent
from typing import Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from fasttree._data.checks import ALLOWED_AMOUNT, alternatives, is_amount, is_integer, is_number

T = TypeVar("T")

_LATER_SECTION = re.compile(r"^(?=(?:Notes|References|Examples)\n-)", re.MULTILINE)


class ParameterRule(NamedTuple):
    """The values that a parameter may have."""

    is_allowed: Callable[[Any], bool]
    allowed: str  # the allowed values, for an error message
    type: str  # the same for a docstring, as numpydoc writes it


@dataclass_transform(kw_only_default=True, eq_default=False)
def parameters(of: type[T]) -> type[T]:
    """Make a group, or an estimator, from a class whose annotations are parameters.

    An estimator is a class with `_attributes`, of its own or inherited, a dict of name: (type, text).  Its docstring gets the
    sections "Parameters", in the order of the signature, and "Attributes", those of the class before those of its bases.  An
    attribute that a class does not have, though its base does, has no text there.
    A class that describes an inherited parameter differently has the new text in its `_descriptions`.
    """
    own = {name: value.metadata["text"] for name, value in vars(of).items() if isinstance(value, Field)}
    changed = vars(of).get("_descriptions", {})
    of._descriptions = changed | {name: text for name, text in own.items() if text}  # type: ignore[attr-defined]
    docstring = of.__doc__  # before `dataclass`, which writes one where there is none
    made = dataclass(kw_only=True, eq=False, repr=False, match_args=False)(of)
    if docstring and hasattr(made, "_attributes"):
        summary, *later = _LATER_SECTION.split(inspect.cleandoc(docstring), maxsplit=1)
        made.__doc__ = "\n\n".join([summary.rstrip(), *_sections(made), *later]) + "\n"
    return made


def _sections(estimator: type) -> Iterator[str]:
    """Write the sections "Parameters" and "Attributes" of an estimator's docstring."""
    descriptions: dict[str, str] = {}
    attributes: dict[str, tuple[str, str]] = {}
    for base in estimator.__mro__:
        descriptions = vars(base).get("_descriptions", {}) | descriptions
        for name, described in vars(base).get("_attributes", {}).items():
            attributes.setdefault(name, described)
    if fields(estimator):
        yield "Parameters\n----------\n" + "\n".join(
            f"{found.name} : {found.metadata['rule'].type}, default="
            f"{json.dumps(found.default) if isinstance(found.default, str) else repr(found.default)}\n"
            f"{_indented(descriptions[found.name])}"
            for found in fields(estimator)
        )
    yield "Attributes\n----------\n" + "\n".join(
        f"{name} : {type_}\n{_indented(text)}" for name, (type_, text) in attributes.items() if text
    )


@lru_cache(maxsize=256)
def _indented(text: str) -> str:
    """Return a description as it is indented in a docstring."""
    return indent(inspect.cleandoc(text), "    ")


def parameter(default: Any, rule: ParameterRule, text: str = "") -> Any:
    """Declare a parameter: its default, the values that it may have, and its description, unless it inherits one."""
    return field(default=default, metadata={"rule": rule, "text": text})


@lru_cache(maxsize=64)
def rules_of(estimator: type) -> Mapping[str, ParameterRule]:
    """Return the rules of an estimator's parameters.  Every default meets its own rule."""
    return {found.name: found.metadata["rule"] for found in fields(estimator)}


@lru_cache(maxsize=64)
def defaults_of(estimator: type) -> Mapping[str, Any]:
    """Return the defaults of an estimator's parameters."""
    return {found.name: found.default for found in fields(estimator)}


@lru_cache(maxsize=64)
def parameters_of(estimator: type) -> tuple[Callable[[Mapping[str, Any]], tuple[Any, ...]], tuple[Any, ...]]:
    """Return a function that reads the parameters from the attributes of an estimator, and their defaults in the same order."""
    defaults = defaults_of(estimator)
    return itemgetter(*defaults), tuple(defaults.values())


def gives_folds(value: Any) -> bool:
    """Whether `value` is a splitter or an iterable of folds.  Neither are a string, which has `split` too, and a class."""
    return not isinstance(value, str | bytes | Mapping | type) and (hasattr(value, "split") or isinstance(value, Iterable))


def one_of(*words: str | None) -> ParameterRule:
    """Accept some words; None is one of them if it is listed."""
    quoted = ", ".join(f'"{word}"' for word in words if word is not None)
    return ParameterRule(
        lambda value: (value is None or isinstance(value, str)) and value in words,
        alternatives(words),
        f"{{{quoted}}} or None" if None in words else f"{{{quoted}}}",
    )


AMOUNT = ParameterRule(is_amount, ALLOWED_AMOUNT, "float")
AMOUNT_OR_NONE = ParameterRule(lambda value: value is None or is_amount(value), "a finite number >= 0, or None", "float or None")
POSITIVE = ParameterRule(lambda value: is_amount(value) and value > 0, "a finite number > 0", "float")
COUNT = ParameterRule(lambda value: is_integer(value) and value >= 1, "an integer >= 1", "int")
COUNT_OR_NONE = ParameterRule(
    lambda value: value is None or (is_integer(value) and value >= 1), "an integer >= 1, or None", "int or None"
)
FLAG = ParameterRule(lambda value: isinstance(value, bool | np.bool_), "True or False", "bool")


def anything(type: str) -> ParameterRule:
    """Accept every value, because the table decides which ones it allows."""
    return ParameterRule(lambda value: True, "anything", type)


def share_such_as(example: float) -> ParameterRule:
    """Accept a share of a whole, both ends excluded."""
    return ParameterRule(lambda value: is_number(value) and 0 < value < 1, f"a number in (0, 1), such as {example}", "float")


def probability_such_as(example: float) -> ParameterRule:
    """Accept a probability above 0."""
    return ParameterRule(lambda value: is_number(value) and 0 < value <= 1, f"a number in (0, 1], such as {example}", "float")
