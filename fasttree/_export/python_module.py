"""What all Python modules of models share: the docstring, the tables of features, categories and classes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fasttree._data.schema import Feature
from fasttree._export.layout import as_python, feature_lines, lists_all
from fasttree._export.subject import Inputs

__all__ = ["block", "head_tables", "module_source"]


def module_source(name: str, example: str, about: Sequence[str], subject: Inputs, parts: Iterable[str]) -> str:
    """Write the source of a module.

    Parameters
    ----------
    name : str
        Name of the model in the docstring.
    example : str
        A name that would do, for the error.
    about : sequence of str
        Lines of the docstring that describe the model; the first follows the name.
    subject : Inputs
    parts : iterable of str
        Tables and functions.

    Raises
    ------
    ValueError
        If the name is not a Python name.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"name={name!r}: must be a name in Python, such as {example!r}")
    source = "\n\n".join(part.strip("\n") + "\n" for part in parts)
    needed = ["import math"] * ("math." in source) + ["from bisect import bisect_left"] * ("bisect_left(" in source)
    imports = "".join(f"{line}\n" for line in needed)
    features = subject.schema.features
    lines = [
        f"{name}: {about[0]}",
        *about[1:],
        "",
        "A row is a sequence of the values of these features in their order, or a mapping by their names:",
        *(f"  {line}" for line in feature_lines(features)),
        *["Where a list is cut, CODES has all categories."] * (not lists_all(features)),
        "",
        *_refusals(subject),
    ]
    text = "\n".join(lines).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return "\n".join([f'"""{text}\n"""\n', *[imports] * bool(imports), source])


def _refusals(subject: Inputs) -> Iterator[str]:
    """Yield lines on missing values and on categories unknown to the tree."""
    if subject.refuses_missing:
        yield "A missing value (None, NaN) raises a ValueError."
    else:
        yield "None and NaN are missing values."
    if any(feature.categories is None for feature in subject.schema.features):
        yield "A text for a number raises a ValueError, the empty one too."
    if all(feature.categories is None for feature in subject.schema.features):
        return
    yield "An empty text for a category is one like any other: the fit did not see it unless CODES has it."
    if subject.refuses_unseen:
        yield "A category that the fit did not see raises a ValueError."
    else:
        yield "A category that the fit did not see goes where a missing value goes."


def head_tables(features: Sequence[Feature], classes: Sequence[Sequence[Any]] = ()) -> Iterator[str]:
    """Yield the constants FEATURES, CODES and CLASSES, the last two if they are needed; `classes` has those of each target."""
    yield block("FEATURES", "names of the features", (repr(feature.name) for feature in features))
    if any(feature.categories is not None for feature in features):
        each_codes = (_codes(feature.categories) for feature in features)
        yield block("CODES", "of each feature the codes of its categories; None: its values are numbers", each_codes)
    each = [repr(tuple(map(as_python, labels))) for labels in classes]
    if len(each) == 1:
        yield f"CLASSES = {each[0]}"
    elif each:
        yield block("CLASSES", "of each target", each)


def block(name: str, comment: str, entries: Iterable[str], brackets: str = "()", notes: Iterable[str] | None = None) -> str:
    """Write a constant, a tuple or a dict with an entry and its note, if any, per line."""
    ends = itertools.repeat("") if notes is None else (f"  # {note}" for note in notes)
    lines = "".join(f"    {entry},{end}\n" for entry, end in zip(entries, ends, strict=False))
    return f"{name} = {brackets[0]}  # {comment}\n{lines}{brackets[1]}"


def _codes(categories: tuple[Any, ...] | None) -> str:
    """Write the codes of the categories of a feature."""
    if categories is None:
        return "None"
    return "{" + ", ".join(f"{as_python(category)!r}: {code}" for code, category in enumerate(categories, start=1)) + "}"
