"""The document of rules: those of `C45Rules`, which apply in order, and those of `C50Classifier`, which vote.

Counts are weights, and may have fractions, where rules vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._export.document import read, values
from fasttree._model.conditions import Condition
from fasttree._model.ruleset import Rule, TrialRules

FORMAT = "fasttree.rules"
VERSION = "1.0"
VOTING = "fasttree.voting_rules"  # a format of its own: readers of the other one would take the first rule that fires
BOOSTED = "fasttree.boosted_rules"  # the rules of several trials: `later_trials` has those after the first
VERSIONS = {FORMAT: VERSION, VOTING: "1.0", BOOSTED: "1.0"}
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


def read_amount(given: Any, where: str) -> float:
    """Read a count, or a sum of weights, which has a point."""
    if isinstance(given, int):
        return values.as_index(given, MOST_SAMPLES + 1, where)
    amount = values.as_number(given, where)
    if amount < 0:
        raise values.DocumentError(f"{where}: must not be negative; got {amount!r}")
    return amount


def read_counts(document: dict[str, Any], name: str, n_classes: int, where: str = "") -> NDArray[Any]:
    counts = values.entry_of(document, name, list, where)
    name = f"{where}.{name}" if where else name
    if len(counts) != n_classes:
        raise values.DocumentError(f"{name}: has {len(counts)} numbers; must have {n_classes}, one per class")
    return np.array([read_amount(count, f"{name}[{k}]") for k, count in enumerate(counts)])


def written_trial(trial: TrialRules, classes: Sequence[Any], schema: Schema) -> dict[str, Any]:
    """Return the entries of the rules of a trial."""
    return {
        "class_count": trial.class_count.tolist(),
        "default": trial.default,
        "default_count": trial.default_count.tolist(),
        "rules": written_rules(trial.rules, [classes.index(rule.label) for rule in trial.rules], schema),
    }


def read_trial(document: dict[str, Any], labels: Sequence[Any], schema: Schema, where: str = "") -> TrialRules:
    """Read the entries of the rules of a trial."""
    before, n_classes = f"{where}." if where else "", len(labels)
    rules = []
    for i, given in enumerate(values.entry_of(document, "rules", list, where)):
        at = f"{before}rules[{i}]"
        entry = values.as_type(given, dict, at)
        conditions = values.entry_of(entry, "if", list, at)
        if not conditions:
            raise values.DocumentError(f"{at}.if: must not be empty")
        rules.append(
            Rule(
                tuple(read_condition(condition, schema, f"{at}.if[{j}]") for j, condition in enumerate(conditions)),
                labels[values.as_index(entry.get("then"), n_classes, f"{at}.then")],
                read_amount(entry.get("cover"), f"{at}.cover"),
                read_amount(entry.get("errors"), f"{at}.errors"),
                read_estimate(entry.get("estimate"), f"{at}.estimate"),
            )
        )
    counts = [read_counts(document, name, n_classes, where) for name in ("class_count", "default_count")]
    if not counts[0].any():
        raise values.DocumentError(f"{before}class_count: must count at least one sample")
    default = values.as_index(document.get("default"), n_classes, f"{before}default")
    return TrialRules(tuple(rules), default, counts[1], counts[0])


class RulesOfFile(NamedTuple):
    """Rules of a document, and what is needed to use them."""

    trials: tuple[TrialRules, ...]
    schema: Schema
    classes: NDArray[Any]
    n_dropped: int
    settings: dict[str, Any]
    target_names: list[str]

    @property
    def first(self) -> TrialRules:
        return self.trials[0]


def from_document(document: dict[str, Any]) -> RulesOfFile:
    """Read a document of rules.

    Raises
    ------
    DocumentError
        If it is none.
    """
    form = read.check_format(document, VERSIONS)
    schema, targets, settings = read.read_table(document)
    if len(targets) > 1:
        raise values.DocumentError(f"targets: rules have 1 target; got {len(targets)}")
    classes = read.read_classes(targets[0])
    labels = classes.tolist()
    trials = [read_trial(document, labels, schema)]
    if form == BOOSTED:
        later = values.entry_of(document, "later_trials", list)
        for i, entry in enumerate(later):
            at = f"later_trials[{i}]"
            trials.append(read_trial(values.as_type(entry, dict, at), labels, schema, at))
        if not later:
            raise values.DocumentError("later_trials: must not be empty")
    _check_amounts(trials, form)
    n_dropped = values.as_index(document.get("n_dropped"), MOST_SAMPLES + 1, "n_dropped")
    return RulesOfFile(tuple(trials), schema, classes, n_dropped, settings, read.names_of(targets))


def _check_amounts(trials: Sequence[TrialRules], form: str) -> None:
    """Raise an error if rules that vote have more errors than samples, or others a weight with a fraction."""
    for trial in trials:
        for i, rule in enumerate(trial.rules):
            if form != FORMAT and rule.errors > rule.cover:
                raise values.DocumentError(f"rules[{i}].errors: must not exceed cover, {rule.cover}")
            if form == FORMAT and not (isinstance(rule.cover, int) and isinstance(rule.errors, int)):
                raise values.DocumentError(f"rules[{i}]: cover and errors must be integers")
        if form == FORMAT and not all(counts.dtype.kind == "i" for counts in (trial.class_count, trial.default_count)):
            raise values.DocumentError("class_count and default_count must have integers")
