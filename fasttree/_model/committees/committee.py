"""Rules with linear models, committees of them, and how they predict (Cubist)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind
from fasttree._data.table import Table
from fasttree._model.committees.neighbors import Neighbors
from fasttree._model.conditions import Condition
from fasttree._model.linear.model_tree import LinearModels
from fasttree._model.words import mean_text, name_text, round_text, sum_text, threshold_texts

__all__ = [
    "Committee",
    "ModelRule",
    "condition_texts",
    "conditions_text",
    "formula_text",
    "rule_text",
    "thresholds_in",
    "value_of",
]

DIGITS = 4  # of numbers in formulas


@dataclass(frozen=True)
class ModelRule:
    """A rule that predicts by a linear model if all its conditions hold.

    Attributes
    ----------
    conditions : tuple of Condition
        None for a rule that covers all samples.
    intercept : float
    terms : tuple of (int, float)
        Features, ascending, and their coefficients.
    lower, upper : float
        The prediction is moved between these.
    cover : int
        Number of training samples that satisfy the conditions.
    mean, least, largest : float
        Mean, least and largest of their targets.
    error : float
        Estimated mean absolute error of the rule.

    Examples
    --------
    >>> import numpy as np
    >>> from fasttree import CubistRegressor
    >>> x = np.arange(40.0)
    >>> y = np.where(x < 20, 3 * x, 200 - 2 * x)
    >>> print(CubistRegressor().fit(x[:, None], y).rules_[0][0])
    if x0 <= 19 then 3 x0, from 0 to 59.85  (cover 20, error 0)
    """

    conditions: tuple[Condition, ...]
    intercept: float
    terms: tuple[tuple[int, float], ...]
    lower: float
    upper: float
    cover: int
    mean: float
    least: float
    largest: float
    error: float
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return rule_text(self, threshold_texts(thresholds_in([self])))


def thresholds_in(rules: Iterable[ModelRule]) -> set[tuple[int, float]]:
    """Return the features and thresholds of rules."""
    conditions = (condition for rule in rules for condition in rule.conditions)
    return {(each.index, each.threshold) for each in conditions if each.threshold is not None}


def condition_texts(rule: ModelRule, thresholds: Mapping[tuple[int, float], str]) -> list[tuple[int, str]]:
    """Write the conditions, those on one feature as one, with its index; missing values count as means or modes."""
    joined: dict[int, Condition] = {}
    for condition in rule.conditions:
        plain = replace(condition, missing=0.0)
        joined[plain.index] = joined[plain.index] & plain if plain.index in joined else plain
    return [(feature, condition.words(thresholds)) for feature, condition in joined.items()]


def conditions_text(rule: ModelRule, thresholds: Mapping[tuple[int, float], str]) -> str:
    """Write the conditions, without missing values."""
    return " and ".join(text for _, text in condition_texts(rule, thresholds))


def rule_text(rule: ModelRule, thresholds: Mapping[tuple[int, float], str]) -> str:
    """Write a rule in a line: ``if x <= 2 then 3 + 1.5 y, from 2 to 8  (cover 12, error 0.4)``."""
    conditions = conditions_text(rule, thresholds)
    start = f"if {conditions} then " if conditions else ""
    return f"{start}{formula_text(rule, rule.names)}  (cover {rule.cover:,}, error {round_text(rule.error, DIGITS)})"


def formula_text(rule: ModelRule, names: Sequence[str], decimals: int = 2) -> str:
    """Write the model of a rule, rounded, and its bounds: ``12.3 + 0.51 horsepower, from 8.55 to 24.5``."""
    if not rule.terms:
        return mean_text(min(max(rule.intercept, rule.lower), rule.upper), decimals)
    terms = [(coefficient, name_text(names[feature])) for feature, coefficient in rule.terms]
    digits = decimals + 2
    text = sum_text(rule.intercept, terms, digits)
    return f"{text}, from {round_text(rule.lower, digits)} to {round_text(rule.upper, digits)}"


@dataclass(frozen=True, eq=False)
class Committee:
    """Rule sets whose predictions are averaged.

    Attributes
    ----------
    members : tuple of tuple of ModelRule
    filling : array of float64, shape (n_features,)
        What takes the place of a missing value in a model; NaN for a feature that has none.
    default : float
        Prediction of a member of which no rule fires.
    neighbors : Neighbors or None
        Training samples that correct predictions.
    n_samples : int
        Number of training samples that counted; 0 if a file of an earlier version does not say it.
    """

    members: tuple[tuple[ModelRule, ...], ...]
    filling: Floats
    default: float
    neighbors: Neighbors | None = None
    n_samples: int = 0

    def rules(self) -> Iterator[ModelRule]:
        """Yield the rules of all members."""
        for member in self.members:
            yield from member

    def models(self) -> LinearModels:
        """Return the models of all rules as arrays, and after them a model without terms that predicts the default."""
        rules = list(self.rules())
        terms = [term for rule in rules for term in rule.terms]
        return LinearModels(
            np.cumsum([0, *(len(rule.terms) for rule in rules), 0]),
            np.array([feature for feature, _ in terms], dtype=np.int32),
            np.array([coefficient for _, coefficient in terms], dtype=np.float64),
            np.array([*(rule.intercept for rule in rules), self.default]),
            np.array([*(rule.lower for rule in rules), self.default]),
            np.array([*(rule.upper for rule in rules), self.default]),
            self.filling,
        )

    def firing(self, table: Table) -> list[npt.NDArray[np.intp]]:
        """Return the samples that each rule covers, for the rules of all members."""
        known: dict[Condition, npt.NDArray[np.bool_]] = {}
        found = []
        for rule in self.rules():
            for condition in rule.conditions:
                if condition not in known:
                    categories = table.schema.features[condition.index].categories or ()
                    known[condition] = condition.passes_column(table.column(condition.index), categories) > 0
            passing = [known[condition] for condition in rule.conditions]
            found.append(np.flatnonzero(np.logical_and.reduce(passing)) if passing else np.arange(table.n_samples))
        return found

    def columns(self, table: Table) -> dict[int, Floats]:
        """Return the columns that models need, without missing values."""
        used = sorted({feature for rule in self.rules() for feature, _ in rule.terms})
        found = {}
        for feature in used:
            column = table.column(feature).astype(np.float64)
            column[np.isnan(column)] = self.filling[feature]
            found[feature] = column
        return found

    def predict_by_rules(self, table: Table, fired: Sequence[npt.NDArray[np.intp]] | None = None) -> Floats:
        """Return the mean of what the members predict, each the mean of its rules that fire, or that are said to."""
        columns, firing = self.columns(table), iter(self.firing(table) if fired is None else fired)
        predicted = np.zeros(table.n_samples)
        for member in self.members:
            total, count = np.zeros(table.n_samples), np.zeros(table.n_samples)
            for rule in member:
                rows = next(firing)
                total[rows] += value_of(rule, {feature: columns[feature][rows] for feature, _ in rule.terms}, rows.size)
                count[rows] += 1
            predicted += np.where(count > 0, total / np.maximum(count, 1), self.default)
        return predicted / len(self.members)

    def predict(self, table: Table, fired: Sequence[npt.NDArray[np.intp]] | None = None) -> Floats:
        """Return the predictions, corrected by neighbours if the model has any, shape (n_samples,)."""
        predicted = self.predict_by_rules(table, fired)
        return predicted if self.neighbors is None else self.neighbors.corrected(table, predicted)


def value_of(rule: ModelRule, columns: dict[int, Floats], n: int) -> Floats:
    """Return what a rule predicts; the terms are added in order."""
    value = np.full(n, rule.intercept)
    for feature, coefficient in rule.terms:
        value += coefficient * columns[feature]
    bounded: Floats = np.minimum(np.maximum(value, rule.lower), rule.upper)
    return bounded


def check_committee(committee: Committee, kinds: Sequence[Kind]) -> None:
    """Raise a ValueError if a model has a term of a feature that is not continuous, or a number that is not finite."""
    for rule in committee.rules():
        numbers = [rule.intercept, rule.lower, rule.upper, *(coefficient for _, coefficient in rule.terms)]
        if not all(map(math.isfinite, numbers)) or rule.lower > rule.upper:
            raise ValueError("rules: numbers must be finite, and bounds in their order")
        features = [feature for feature, _ in rule.terms]
        if sorted(set(features)) != features or any(kinds[feature] != Kind.CONTINUOUS for feature in features):
            raise ValueError("rules: terms must be of continuous features, ascending")
        if not np.isfinite(committee.filling[features]).all():
            raise ValueError("filling: must be finite for the feature of a term")
