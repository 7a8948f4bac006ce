"""Rules of a rule set (conditions, class and estimated accuracy), and their compiled form for prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._data.table import Table
from fasttree._model.conditions import Condition
from fasttree._model.words import threshold_texts, word

_Compiled = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

NO_RULE_FIRES = 500  # votes of the default class, in thousandths
OPERATORS = {"<=": 0, ">": 1, "=": 2, "in": 2}


@dataclass(frozen=True)
class Rule:
    """A rule that predicts a class if all its conditions hold.

    Attributes
    ----------
    conditions : tuple of Condition
        At least one.
    label : object
        The class.
    cover : int or float
        Number of training samples that satisfy the conditions; their weight, as a float, if not all weights are whole numbers.
    errors : int or float
        Number, or weight, of those that are of another class.
    estimate : float
        Pessimistic estimate of the rule's error rate (Quinlan 1993, section 5.2).

    Examples
    --------
    >>> from fasttree import C45Rules
    >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
    >>> print(C45Rules().fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).rules_[0])
    if x1 > 2 then ripe  (cover 5, errors 0, estimate 24.2 %)
    """

    conditions: tuple[Condition, ...]
    label: Any
    cover: float
    errors: float
    estimate: float

    @property
    def confidence(self) -> float:
        """1 - `estimate`."""
        return 1 - self.estimate

    def __str__(self) -> str:
        return self._write(threshold_texts(thresholds_of([self])))

    def _condition_text(self, thresholds: Mapping[tuple[int, float], str]) -> str:
        return " and ".join(condition.words(thresholds) for condition in self.conditions)

    def _write(self, thresholds: Mapping[tuple[int, float], str]) -> str:
        conditions = self._condition_text(thresholds)
        cover, errors = amount_text(self.cover), amount_text(self.errors)
        figures = f"cover {cover}, errors {errors}, estimate {100 * self.estimate:.1f} %"
        return f"if {conditions} then {word(self.label)}  ({figures})"


def amount_text(amount: float, grouping: str = "") -> str:
    """Return a number of samples, or their weight to one decimal, as text."""
    return format(amount, f"{grouping}.1f" if isinstance(amount, float) else grouping)


@dataclass(frozen=True)
class TrialRules:
    """The rules of a trial, which vote.

    Attributes
    ----------
    rules : tuple of Rule
    default : int
        Code of the class that is predicted if no rule fires.
    default_count, class_count : arrays, shape (n_classes,)
        Weight of the training samples of each class that no rule covers, and of all.
    """

    rules: tuple[Rule, ...]
    default: int
    default_count: NDArray[Any]
    class_count: NDArray[Any]


def votes_of(cover: NDArray[Any], errors: NDArray[Any]) -> NDArray[np.int32]:
    """Return the votes of rules of C5.0: 1 - their Laplace errors, in thousandths, rounded half up."""
    votes: NDArray[np.int32] = ((2000 * (cover - errors + 1) + cover + 2) // (2 * (cover + 2))).astype(np.int32)
    return votes


def thresholds_of(rules: Sequence[Rule]) -> set[tuple[int, float]]:
    return {
        (condition.index, condition.threshold)
        for rule in rules
        for condition in rule.conditions
        if condition.threshold is not None
    }


def compile_rules(rules: Sequence[Rule], schema: Schema) -> _Compiled:
    """Return the rules in the form that the compiled code applies."""
    every = [condition for rule in rules for condition in rule.conditions]
    names = list(map(id, every))
    conditions = dict(zip(names, every, strict=True))  # rules share them
    number = {name: i for i, name in enumerate(conditions)}
    which = np.array([number[name] for name in names], dtype=np.intp)
    lookups: dict[int, dict[Any, int]] = {}
    codes: list[list[int]] = []
    for condition in conditions.values():
        if not condition.categories:
            codes.append([])
            continue
        if condition.index not in lookups:
            categories = schema.features[condition.index].categories or ()
            lookups[condition.index] = {category: code for code, category in enumerate(categories, start=1)}
        codes.append(sorted(lookups[condition.index][category] for category in condition.categories))
    each = conditions.values()
    return (
        np.cumsum([0] + [len(rule.conditions) for rule in rules], dtype=np.int64),
        np.array([condition.index for condition in each], dtype=np.int32)[which],
        np.array([OPERATORS[condition.operator] for condition in each], dtype=np.uint8)[which],
        np.array([0.0 if c.threshold is None else c.threshold for c in each], dtype=np.float64)[which],
        np.append(0, np.cumsum(np.array([len(some) for some in codes], dtype=np.int64)[which])),
        np.array([code for i in which.tolist() for code in codes[i]] if lookups else [], dtype=np.uint32),
    )


def matches(rules: Sequence[Rule], table: Table) -> list[NDArray[np.intp]]:
    """Return the samples that satisfy all conditions of each rule."""
    known: dict[Condition, NDArray[np.bool_]] = {}

    def passing(condition: Condition) -> NDArray[np.bool_]:
        if condition not in known:
            categories = table.schema.features[condition.index].categories or ()
            known[condition] = condition.passes_column(table.column(condition.index), categories) > 0
        return known[condition]

    return [np.flatnonzero(np.logical_and.reduce([passing(condition) for condition in rule.conditions])) for rule in rules]


def probabilities(
    label: int, estimate: float | None, class_count: NDArray[np.number], default_count: NDArray[np.number]
) -> NDArray[np.float64]:
    """Return the class probabilities of a rule, or of the default class if `estimate` is None.

    Parameters
    ----------
    label : int
        Class of the rule.
    estimate : float or None
        Its estimated error.
    class_count : array of int64, shape (n_classes,)
        Training samples of each class.
    default_count : array of int64, shape (n_classes,)
        Those that no rule covers.
    """
    if estimate is None:
        left = default_count if default_count.any() else class_count
        shares: NDArray[np.float64] = left / left.sum()
        return shares
    others = class_count.astype(np.float64)
    others[label] = 0
    row = estimate * others / others.sum() if others.any() else np.zeros(len(others))
    row[label] = 1 - row.sum()
    return row


def ranks_of(rules: Sequence[Rule]) -> NDArray[np.int32]:
    """Return the rank of each rule that votes: the first covers the fewest samples of the fit, then has the most votes."""
    cover, errors = figures_of(rules)
    return ranks(cover, votes_of(cover, errors))


def ranks(cover: NDArray[np.number], votes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the ranks of rules with these covers and votes."""
    found = np.empty(len(cover), dtype=np.int32)
    found[np.lexsort((-votes, cover))] = np.arange(len(cover), dtype=np.int32)
    return found


def figures_of(rules: Sequence[Rule]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the covers and errors of rules."""
    cover, errors = np.array([[rule.cover, rule.errors] for rule in rules], dtype=np.float64).reshape(-1, 2).T
    return cover, errors


def voted_classes(votes: NDArray[Any], default: int) -> NDArray[np.intp]:
    """Return the class of each row of votes that has most; on ties the default class, or else the first."""
    best: NDArray[np.intp] = votes.argmax(axis=1)
    most = votes.max(axis=1, initial=0)
    return np.where(votes[:, default] == most, default, best)


def vote_shares(votes: NDArray[np.int32], default: int, class_count: NDArray[np.number]) -> NDArray[np.float64]:
    """Return the share of each class in each row of votes; without any, one half for the default class."""
    total = votes.sum(axis=1, dtype=np.int64)
    shares = np.empty(votes.shape)
    shares[:] = probabilities(default, 0.5, class_count, class_count)
    np.divide(votes, total[:, None], out=shares, where=(total > 0)[:, None])
    return shares
