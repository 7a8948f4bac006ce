"""Labels: words for readers in place of the names of columns, categories and classes.

Labels change what views write, never what a model predicts or what other programs read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from fasttree._data.schema import Schema
from fasttree._model.words import Classes, by_target

__all__ = ["Label", "Labels", "apply_labels", "labels_from_plain", "labels_from_texts", "plain_labels", "read_labels"]


@dataclass(frozen=True)
class Label:
    """Label of a column, or None for its own name, and labels of some of its categories or classes."""

    name: str | None = None
    values: Mapping[Any, str] = field(default_factory=dict)


Labels: TypeAlias = Mapping[str, Label]  # by the name of a feature or target


def read_labels(
    labels: Any, schema: Schema, classes: Classes, targets: Sequence[str], kept: Labels | None = None
) -> dict[str, Label]:
    """Check labels as a user gives them, and add them to those that a model keeps.

    Parameters
    ----------
    labels : mapping
        From the name of a feature or target to its label, to a mapping of its categories or classes to labels, or to a pair of
        both.
    schema : Schema
    classes : array, list of arrays, or None
    targets : sequence of str
        Names of the targets.
    kept : mapping of str to Label, optional
        Labels of columns that `labels` does not mention.

    Returns
    -------
    dict of str to Label

    Raises
    ------
    TypeError, ValueError
        If labels have another form, belong to no column or value, or two names or values would read alike.
    """
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels is a {type(labels).__name__}: must map names of columns to labels, as {EXAMPLE}")
    values_of = _values_of(schema, classes, targets)
    found = dict(kept or {})
    for column, given in labels.items():
        if column not in values_of:
            known = ", ".join([*values_of][:20])
            raise ValueError(f"labels: {column!r} is not a feature or target of the model; these are {known}")
        found[str(column)] = _label(column, given, values_of[column])
    shown, shown_classes, _ = apply_labels(found, schema, classes, targets)
    _check_distinct("the features", [feature.name for feature in shown.features], [f.name for f in schema.features])
    for feature, own in zip(shown.features, schema.features, strict=True):
        _check_distinct(f"the categories of {own.name!r}", feature.categories or (), own.categories or ())
    for name, each, own_classes in zip(targets, by_target(shown_classes), by_target(classes), strict=False):
        _check_distinct(f"the classes of {name!r}", each.tolist(), own_classes.tolist())
    return found


EXAMPLE = '{"survived": {0: "died", 1: "survived"}, "pclass": "class"}'


def _values_of(schema: Schema, classes: Classes, targets: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Return the categories or classes of each column; a feature hides a target of the same name."""
    each = by_target(classes) or [np.array([])] * len(targets)
    known: dict[str, Sequence[Any]] = {feature.name: feature.categories or () for feature in schema.features}
    return known | {name: own.tolist() for name, own in zip(targets, each, strict=True) if name not in known}


def _label(column: str, given: Any, values: Sequence[Any]) -> Label:
    name: Any = None
    of_values: Any = {}
    match given:
        case str():
            name = given
        case Mapping():
            of_values = given
        case (name, of_values):
            pass
        case _:
            name = given
    if not (name is None or isinstance(name, str)) or not isinstance(of_values, Mapping):
        raise TypeError(
            f"labels[{column!r}]={given!r}: must be a text, a mapping of values to texts, or a pair of both, as in {EXAMPLE}"
        )
    known = set(values)
    for value, text in of_values.items():
        if value not in known:
            has = f"has the values {', '.join(map(repr, values[:20]))}" if values else "is numeric: its values have no labels"
            raise ValueError(f"labels[{column!r}]: there is no value {value!r}; the column {has}")
        if not isinstance(text, str):
            raise TypeError(f"labels[{column!r}][{value!r}] is a {type(text).__name__}: must be a text")
    return Label(name, dict(of_values))


def _check_distinct(what: str, shown: Iterable[Any], own: Iterable[Any]) -> None:
    """Raise a ValueError if two values would read alike that differ without labels."""
    first: dict[str, Any] = {}
    for label, value in zip(shown, own, strict=True):
        other = first.setdefault(str(label), value)
        if str(other) != str(value):
            raise ValueError(f"labels: {other!r} and {value!r} of {what} would both read {label!r}; labels must differ")


def apply_labels(labels: Labels, schema: Schema, classes: Classes, targets: Sequence[str]) -> tuple[Schema, Classes, list[str]]:
    """Return schema, classes and names of targets with labels in place of their own words."""
    if not labels:
        return schema, classes, list(targets)
    features = [
        dataclasses.replace(
            feature,
            name=label.name or feature.name,
            categories=None if feature.categories is None else tuple(_in_words(feature.categories, label)),
        )
        if (label := labels.get(feature.name))
        else feature
        for feature in schema.features
    ]
    names = {feature.name for feature in schema.features}
    own = [Label() if name in names else labels.get(name, Label()) for name in targets]
    shown = [
        np.array(list(_in_words(each.tolist(), label)), dtype=object) if label.values else each
        for each, label in zip(by_target(classes), own, strict=False)
    ]
    shown_classes = shown if isinstance(classes, list) else shown[0] if shown else None
    shown_names = [label.name or name for name, label in zip(targets, own, strict=True)]
    return dataclasses.replace(schema, features=tuple(features)), shown_classes, shown_names


def _in_words(values: Iterable[Any], label: Label) -> Iterator[Any]:
    return (label.values.get(value, value) for value in values)


def plain_labels(labels: Labels, schema: Schema, classes: Classes, targets: Sequence[str]) -> dict[str, Any]:
    """Return labels for a document: by column, its label and those of its categories or classes in their order, or None."""
    values_of = _values_of(schema, classes, targets)
    return {
        column: {
            "label": label.name,
            "values": [label.values.get(value) for value in values_of[column]] if label.values else None,
        }
        for column, label in labels.items()
    }


def labels_from_texts(entries: Any, schema: Schema, classes: Classes, targets: Sequence[str]) -> Any:
    """Return labels for `read_labels` from JSON, whose keys are texts: ``"0"`` is the class 0, and ``"true"`` is True."""
    if not isinstance(entries, dict):
        return entries
    values_of = _values_of(schema, classes, targets)
    found = {}
    for column, entry in entries.items():
        values = {text: value for value in values_of.get(column, ()) for text in (str(value), _as_json(value))}

        def keyed(part: Any, values: dict[str, Any] = values) -> Any:
            return {values.get(key, key): text for key, text in part.items()} if isinstance(part, dict) else part

        found[column] = tuple(map(keyed, entry)) if isinstance(entry, list) else keyed(entry)
    return found


def _as_json(value: Any) -> str:
    text = str(value)
    return text.lower() if isinstance(value, bool) else text.removesuffix(".0") if isinstance(value, float) else text


def labels_from_plain(entries: Any, schema: Schema, classes: Classes, targets: Sequence[str]) -> dict[str, Label]:
    """Read labels that `plain_labels` wrote; raise a TypeError or ValueError if they do not fit."""
    if not isinstance(entries, dict):
        raise TypeError("labels: must be an object")
    values_of = _values_of(schema, classes, targets)
    given = {}
    for column, entry in entries.items():
        if not isinstance(entry, dict) or column not in values_of:
            raise ValueError(f"labels: {column[:60]!r} is not a column, or has no object")
        texts = entry.get("values") or []
        if not isinstance(texts, list) or len(texts) not in (0, len(values_of[column])):
            raise ValueError(f"labels: {column[:60]!r} must have a text or null for each category or class")
        pairs = zip(values_of[column], texts, strict=False)
        given[column] = (entry.get("label"), {value: text for value, text in pairs if text is not None})
    return read_labels(given, schema, classes, targets)
