"""Rules with linear models: tables, SQL, and explanations of single predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from fasttree._data.schema import Schema, is_missing
from fasttree._explain.explanation import WrittenExplanation
from fasttree._explain.follow import cells_of, encoded_row
from fasttree._explain.rule_table import Backend, frame, html_table, markdown_table
from fasttree._model.committees.committee import (
    Committee,
    ModelRule,
    conditions_text,
    formula_text,
    rule_text,
    thresholds_in,
    value_of,
)
from fasttree._model.words import counted, round_text, threshold_texts

__all__ = ["CommitteeExplanation", "CommitteeRules"]

SHOWN = 20  # rules in the repr
DIGITS = 6
FIGURES = ("cover", "mean", "error")


class CommitteeRules(Sequence[ModelRule]):
    """Rules of a `CubistRegressor`, one rule set after the other: an immutable sequence that can be explained and exported.

    A rule set predicts the mean of its rules whose conditions all hold, and the committee the mean of its rule sets.

    Attributes
    ----------
    members : tuple of tuple of ModelRule
        The rules of each rule set.
    default : float
        What a rule set predicts of which no rule holds.

    Examples
    --------
    >>> import numpy as np
    >>> from fasttree import CubistRegressor
    >>> x = np.arange(40.0)
    >>> CubistRegressor().fit(x[:, None], np.where(x < 20, 3 * x, 200 - 2 * x)).to_rules()
    <CommitteeRules: 2 rules>
    if x0 <= 19 then 3 x0, from 0 to 59.85  (cover 20, error 0)
    if x0 > 19 then 200 - 2 x0, from 120.1 to 161.9  (cover 20, error 0)
    """

    def __init__(self, committee: Committee, schema: Schema, shown: Schema, unseen: str, estimator_name: str) -> None:
        self._committee, self._schema, self._shown = committee, schema, shown
        self._unseen, self._estimator_name = unseen, estimator_name
        self._rules = tuple(committee.rules())
        self.members = committee.members
        self.default = committee.default

    @overload
    def __getitem__(self, index: int) -> ModelRule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ModelRule, ...]: ...
    def __getitem__(self, index: int | slice) -> ModelRule | tuple[ModelRule, ...]:
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    @cached_property
    def _in_words(self) -> tuple[ModelRule, ...]:
        features, shown = self._schema.features, self._shown.features
        names = tuple(feature.name for feature in shown)
        return tuple(
            replace(
                rule,
                conditions=tuple(each.relabelled(features[each.index], shown[each.index]) for each in rule.conditions),
                names=names,
            )
            for rule in self._rules
        )

    @cached_property
    def _thresholds(self) -> dict[tuple[int, float], str]:
        return threshold_texts(thresholds_in(self._rules))

    def _condition_text(self, rule: ModelRule) -> str:
        return conditions_text(rule, self._thresholds)

    def _line(self, rule: ModelRule) -> str:
        return rule_text(rule, self._thresholds)

    def _by_member(self) -> Iterator[tuple[int, ModelRule]]:
        rules = iter(self._in_words)
        for number, member in enumerate(self.members):
            for _ in member:
                yield number, next(rules)

    def explain(self, x: Any) -> CommitteeExplanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample.  None and NaN are missing values.

        Returns
        -------
        CommitteeExplanation
            Printed, it shows the rules that hold with what each predicts.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.
        """
        cells = cells_of(x, self._schema, self._estimator_name)
        table = encoded_row(cells, self._schema, self._unseen, self._estimator_name)
        columns = self._committee.columns(table)
        firing = [len(rows) > 0 for rows in self._committee.firing(table)]
        values = [float(value_of(rule, columns, 1)[0]) if fires else 0.0 for rule, fires in zip(self._rules, firing, strict=True)]
        predicted = float(self._committee.predict(table)[0])
        by_rules = float(self._committee.predict_by_rules(table)[0])
        lines, several = [f"prediction: {round_text(predicted, DIGITS)}"], len(self.members) > 1
        start = 0
        for number, member in enumerate(self.members):
            held = [i for i in range(start, start + len(member)) if firing[i]]
            start += len(member)
            if several:
                mean = np.mean([values[i] for i in held]) if held else self.default
                lines.append(f"rule set {number}: {round_text(float(mean), DIGITS)}")
            indent = "  " * several
            for i in held:
                lines.append(f"{indent}rule {i} predicts {round_text(values[i], DIGITS)}: {self._line(self._in_words[i])}")
            if not held:
                lines.append(f"{indent}no rule holds, so that the mean of the fit counts, {round_text(self.default, DIGITS)}")
        if self._committee.neighbors is not None:
            lines.append(f"the rules predict {round_text(by_rules, DIGITS)}, and neighbours correct it")
        names = [feature.name for feature in self._schema.features]
        sample = {name: None if is_missing(cell) else cell for name, cell in zip(names, cells, strict=True)}
        return CommitteeExplanation(sample, predicted, tuple(i for i, fires in enumerate(firing) if fires), tuple(lines))

    def to_text(self) -> str:
        """Write the rules as text, one per line; a heading precedes each of several rule sets.

        Returns
        -------
        str
            The lines, each with a newline at its end.
        """
        lines: list[str] = []
        before = -1
        for number, rule in self._by_member():
            if number != before and len(self.members) > 1:
                lines.append(f"rule set {number}, {counted(len(self.members[number]), 'rule')}:")
            before = number
            lines.append(self._line(rule))
        return "".join(f"{line}\n" for line in lines)

    def _cells(self, shown: int | None = None) -> list[list[str]]:
        return [
            [
                str(number),
                self._condition_text(rule) or "always",
                formula_text(rule, rule.names),
                f"{rule.cover:,}",
                round_text(rule.mean, 4),
                round_text(rule.error, 4),
            ]
            for number, rule in list(self._by_member())[:shown]
        ]

    def to_markdown(self) -> str:
        """Write the rules as a Markdown table."""
        return markdown_table(("rule set", "rule", "prediction"), FIGURES, self._cells())

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the rules as a data frame with one row per rule.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"

        Returns
        -------
        DataFrame or Table
            Columns ``rule_set``, ``rule`` (the conditions in words), ``formula``, ``cover``, ``mean``, ``error`` and
            ``n_conditions``.

        Raises
        ------
        ValueError
            If `backend` is not one of these.
        ImportError
            If the backend is not installed.
        """
        rules = list(self._by_member())
        columns: dict[str, list[Any]] = {
            "rule_set": [number for number, _ in rules],
            "rule": [self._condition_text(rule) for _, rule in rules],
            "formula": [formula_text(rule, rule.names) for _, rule in rules],
            "cover": [rule.cover for _, rule in rules],
            "mean": [rule.mean for _, rule in rules],
            "error": [rule.error for _, rule in rules],
            "n_conditions": [len(rule.conditions) for _, rule in rules],
        }
        return frame(columns, backend)

    def __repr__(self) -> str:
        shown = "".join(f"\n{self._line(rule)}" for rule in self._in_words[:SHOWN])
        more = f"\n… {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return f"<CommitteeRules: {counted(len(self), 'rule')}>{shown}{more}"

    def _repr_html_(self) -> str:
        more = f"<p>… {len(self) - SHOWN} more rules</p>" if len(self) > SHOWN else ""
        return html_table(("rule set", "rule", "prediction"), FIGURES, self._cells(SHOWN)) + more


@dataclass(frozen=True, repr=False)
class CommitteeExplanation(WrittenExplanation):
    """Why a committee of rules predicts what it does for a sample.

    Attributes
    ----------
    sample : dict
        The values of the sample by feature; None for a missing one.
    prediction : float
    rules : tuple of int
        Numbers of the rules that hold.

    Examples
    --------
    >>> import numpy as np
    >>> from fasttree import CubistRegressor
    >>> x = np.arange(40.0)
    >>> model = CubistRegressor().fit(x[:, None], np.where(x < 20, 3 * x, 200 - 2 * x))
    >>> model.explain([30.0]).prediction
    140.0
    """

    sample: dict[str, Any]
    prediction: float
    rules: tuple[int, ...]
    _lines: tuple[str, ...] = field(repr=False)
