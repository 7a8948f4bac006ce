"""The document of rules: those of `C45Rules`, which apply in order, and those of `C50Classifier`, which vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._export.document import read, values
from fasttree._model.conditions import Condition
from fasttree._model.ruleset import Rule

FORMAT = "fasttree.rules"
VERSION = "1.0"
VOTING = "fasttree.voting_rules"  # a format of its own: readers of the other one would take the first rule that fires
VERSIONS = {FORMAT: VERSION, VOTING: "1.0"}
MOST_SAMPLES = 2**31 - 1  # positions have 32 bits


def written_rules(rules: Sequence[Rule], labels: Sequence[int], schema: Schema) -> list[dict[str, Any]]:
    """Return the entries of rules; `labels` has the index of the class of each."""
    return [
        {
            "if": [written_condition(condition, schema) for condition in rule.conditions],
            "then": label,
            "cover": rule.cover,
            "errors": rule.errors,
            "estimate": rule.estimate,
        }
        for rule, label in zip(rules, labels, strict=True)
    ]


def written_condition(condition: Condition, schema: Schema) -> dict[str, Any]:
    written: dict[str, Any] = {"feature": condition.index, "operator": condition.operator}
    if condition.threshold is not None:
        return {**written, "threshold": condition.threshold}
    categories = schema.features[condition.index].categories or ()
    return {**written, "categories": [categories.index(category) for category in condition.categories]}


def read_condition(given: Any, schema: Schema, where: str) -> Condition:
    given = values.as_type(given, dict, where)
    index = values.as_index(given.get("feature"), len(schema.features), f"{where}.feature")
    feature = schema.features[index]
    operator = values.entry_of(given, "operator", str, where)
    allowed = ("<=", ">") if feature.categories is None else ("=", "in")
    if operator not in allowed:
        raise values.DocumentError(f"{where}.operator: must be one of {', '.join(allowed)} for {feature.name!r}")
    if feature.categories is None:
        threshold = values.as_number(given.get("threshold"), f"{where}.threshold")
        return Condition(feature.name, index, feature.kind, operator, threshold)
    chosen = [
        values.as_index(j, len(feature.categories), f"{where}.categories")
        for j in values.entry_of(given, "categories", list, where)
    ]
    if not chosen or len(set(chosen)) < len(chosen) or (operator == "=" and len(chosen) > 1):
        raise values.DocumentError(f"{where}.categories: must be one category for '=', distinct ones for 'in'")
    return Condition(feature.name, index, feature.kind, operator, None, tuple(feature.categories[j] for j in chosen))


def read_estimate(given: Any, where: str) -> float:
    estimate = values.as_number(given, where)
    if not 0 <= estimate <= 1:
        raise values.DocumentError(f"{where}: must be from 0 to 1; got {estimate!r}")
    return estimate


def read_counts(document: dict[str, Any], name: str, n_classes: int) -> NDArray[np.int64]:
    counts = values.entry_of(document, name, list)
    if len(counts) != n_classes:
        raise values.DocumentError(f"{name}: has {len(counts)} numbers; must have {n_classes}, one per class")
    return np.array([values.as_index(count, MOST_SAMPLES + 1, f"{name}[{k}]") for k, count in enumerate(counts)], dtype=np.int64)


class RulesOfFile(NamedTuple):
    """Rules of a document, and what is needed to use them."""

    rules: tuple[Rule, ...]
    schema: Schema
    classes: NDArray[Any]
    class_count: NDArray[np.int64]
    default: int  # code of the default class
    default_count: NDArray[np.int64]
    n_dropped: int
    settings: dict[str, Any]
    target_names: list[str]


def from_document(document: dict[str, Any]) -> RulesOfFile:
    """Read a document of rules.

    Raises
    ------
    DocumentError
        If it is none.
    """
    votes = read.check_format(document, VERSIONS) == VOTING
    schema, targets, settings = read.read_table(document)
    if len(targets) > 1:
        raise values.DocumentError(f"targets: rules have 1 target; got {len(targets)}")
    classes = read.read_classes(targets[0])
    n_classes = len(classes)
    labels = classes.tolist()
    rules = []
    for i, entry in enumerate(values.entry_of(document, "rules", list)):
        where = f"rules[{i}]"
        entry = values.as_type(entry, dict, where)
        conditions = values.entry_of(entry, "if", list, where)
        if not conditions:
            raise values.DocumentError(f"{where}.if: must not be empty")
        rules.append(
            Rule(
                tuple(read_condition(condition, schema, f"{where}.if[{j}]") for j, condition in enumerate(conditions)),
                labels[values.as_index(entry.get("then"), n_classes, f"{where}.then")],
                values.as_index(entry.get("cover"), MOST_SAMPLES + 1, f"{where}.cover"),
                values.as_index(entry.get("errors"), MOST_SAMPLES + 1, f"{where}.errors"),
                read_estimate(entry.get("estimate"), f"{where}.estimate"),
            )
        )
        if votes and rules[-1].errors > rules[-1].cover:
            raise values.DocumentError(f"{where}.errors: must not exceed cover, {rules[-1].cover}")
    counts = [read_counts(document, name, n_classes) for name in ("class_count", "default_count")]
    if not counts[0].any():
        raise values.DocumentError("class_count: must count at least one sample")
    default = values.as_index(document.get("default"), n_classes, "default")
    n_dropped = values.as_index(document.get("n_dropped"), MOST_SAMPLES + 1, "n_dropped")
    names = read.names_of(targets)
    return RulesOfFile(tuple(rules), schema, classes, counts[0], default, counts[1], n_dropped, settings, names)
