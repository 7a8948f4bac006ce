"""Rules of several trials: tables, SQL, and explanations of single predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._explain.follow import cells_of, encoded_row, shares_text
from fasttree._explain.ordered_rules import RuleModel
from fasttree._explain.vote import Vote, VoteExplanation
from fasttree._explain.voting_rules import VotingRules, added
from fasttree._export.branches import apart
from fasttree._export.sql import check_names
from fasttree._export.sql_dialect import DialectName
from fasttree._export.sql_text import ColumnTexts, columns_of
from fasttree._export.subject import check_class
from fasttree._model.ruleset import NO_RULE_FIRES, TrialRules, matches, ranks_of, voted_classes
from fasttree._model.words import counted, percent, word

__all__ = ["BoostedRules"]


class BoostedRules(VotingRules):
    """Rules of a `C50Classifier` with several trials: an immutable sequence that can be explained and exported.

    In each trial, the rules whose conditions all hold vote as those of `VotingRules`.  The class that the trial predicts gets the
    confidence of its rule that fires and covers the least weight, or 0.5 if none fires.  The class with the most votes of the
    trials is predicted, on ties the default class of the first trial.

    Attributes
    ----------
    trials : tuple of VotingRules
        The rules of each trial.
    default : object
        The default class of the first trial.

    Examples
    --------
    >>> from fasttree import C50Classifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> rules = C50Classifier(rules=True, trials=3).fit(X, y).to_rules()
    >>> len(rules), [len(trial) for trial in rules.trials]
    (12, [4, 5, 3])
    >>> print(rules.trials[2].to_text(), end="")
    if x2 <= 1.9 then 0  (cover 28.8, errors 0.0, estimate 3.2 %)
    if x2 > 1.9 and x3 <= 1.7 then 1  (cover 65.4, errors 18.8, estimate 29.4 %)
    if x3 > 1.7 then 2  (cover 55.9, errors 7.5, estimate 14.7 %)
    else 2
    """

    _how = (
        "In each trial, every rule whose conditions all hold votes with its confidence, 1 - estimate. "
        "Then the trials vote for the classes that they predict."
    )

    def __init__(self, trials: Sequence[TrialRules], model: RuleModel) -> None:
        super().__init__([rule for trial in trials for rule in trial.rules], model)
        self.trials = tuple(
            VotingRules(
                trial.rules,
                replace(model, default=trial.default, class_count=trial.class_count, default_count=trial.default_count),
            )
            for trial in trials
        )

    def explain(self, x: Any) -> VoteExplanation:  # type: ignore[override]  # trials vote
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample.  None and NaN are missing values.

        Returns
        -------
        VoteExplanation
            The vote of each trial.  Printed, it shows the rule that gives the confidence.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.
        """
        model = self._model
        table = encoded_row(cells_of(x, model.schema, model.estimator_name), model.schema, model.unseen, model.estimator_name)
        classes = list(map(word, model.shown[1]))
        votes, lines, found = np.zeros(len(classes)), [], []
        for number, trial in enumerate(self.trials):
            deciding, chosen, _ = trial._decide([i for i, fires in enumerate(matches(trial._rules, table)) if len(fires)])
            vote = NO_RULE_FIRES if deciding is None else int(trial._votes()[deciding])
            votes[chosen] += vote
            found.append(Vote(number, model.labels[chosen], vote / 1000))
            why = "no rule fires" if deciding is None else trial._in_words[deciding]._write(trial._thresholds)
            lines.append(f"  trial {number}: {classes[chosen]}, confidence {percent(vote / 1000)}: {why}")
        best = int(voted_classes(votes[None], model.default)[0])
        shares, label = votes / votes.sum(), model.labels[best]
        n_agreeing = sum(vote.prediction == label for vote in found)
        first = f"prediction: {classes[best]}  ({shares_text(classes, shares)}), as {n_agreeing} of {len(found)} trials"
        probabilities = dict(zip(model.labels, shares.tolist(), strict=True))
        return VoteExplanation(label, probabilities, tuple(found), "\n".join([first, *lines]))

    def to_text(self) -> str:
        """Write the rules as text, trial by trial: a heading, a line for each rule, and the default class.

        Returns
        -------
        str
            The lines, each with a newline at its end.
        """
        return "".join(
            f"trial {number}, {counted(len(trial), 'rule')}:\n{trial.to_text()}" for number, trial in enumerate(self.trials)
        )

    def _cells(self, shown: int | None = None) -> list[list[str]]:
        rows = []
        for number, trial in enumerate(self.trials):
            for row in trial._cells():
                rows.append([f"{number}.{row[0]}" if row[0] else f"{number}", *row[1:]])
        return rows[:shown]

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {"trial": []}
        for number, trial in enumerate(self.trials):
            of_trial = trial._columns()
            columns["trial"] += [number] * (len(trial) + 1)
            for name, values in of_trial.items():
                columns.setdefault(name, []).extend(values)
        return columns

    def to_sql(
        self,
        *,
        table: str | Sequence[str] | None = None,
        name: str | None = None,
        probability_of: Any = None,
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the rules as an SQL expression or query that predicts as the model does, bit for bit.

        The first step adds the votes of the rules in each trial, the second compares them, and the third adds the votes of the
        trials, in thousandths.

        Parameters
        ----------
        table : str or sequence of str, optional
            Name of a table, or the names of its schema and the table.  The result is then a query of all its columns, and for
            each row the votes in each trial, ``trial_<number>`` (the number of the class that the trial predicts),
            ``votes_<class>``, ``prediction`` and ``probability_<class>``.  Dialects whose expressions have no steps need it.
        name, probability_of, dialect, cast, nan_as_missing
            See `VotingRules.to_sql`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a name or category cannot be written, a parameter is invalid, or the dialect needs `table`.
        """
        parts = check_names(name, table, probability_of)
        model = self._model
        columns = columns_of(model.schema, dialect, cast, nan_as_missing)
        if probability_of is not None:
            check_class(probability_of, model.labels)
        if table is None and not columns.dialect.has_steps:
            raise ValueError(
                f"dialect={dialect!r}: its expressions have no steps, which the votes of several trials need: give table, for a "
                f"query"
            )
        identifier, names = columns.dialect.identifier, [feature.name for feature in model.schema.features]
        own = self._own_columns(names, name or "prediction")
        taken = [*names, *own]
        for number in range(len(self.trials)):
            for wanted in [*(f"votes_{number}_{label}" for label in model.labels), f"trial_{number}"]:
                taken.append(apart(wanted, taken))
        inner = np.array(list(map(identifier, taken[len(names) + len(own) :]))).reshape(len(self.trials), -1)
        sums, chosen, votes = self._steps(columns, inner)
        given = list(map(identifier, own[: len(votes)]))
        if table is not None:
            source = ".".join(map(identifier, parts))
            rows: list[str] = []
            for wanted in ("counted", "compared", "voted"):
                rows.append(apart(wanted, [*parts, *rows]))
            first, second, third = map(identifier, rows)
            steps = zip(
                (first, second, third), (source, first, second), (sums, chosen, list(zip(votes, given, strict=True))), strict=True
            )
            texts = [f"{row} AS (\nSELECT {of}.*, {_listed(texts)}\nFROM {of}\n)" for row, of, texts in steps]
            return f"WITH {', '.join(texts)}\n{self._results(columns, third, given, own[len(votes) :])}"
        place = None if probability_of is None else model.labels.index(probability_of)
        first, second, third = map(identifier, ("counted", "compared", "voted"))
        results = self._chosen(columns, given, columns.dialect.literal, self._refused(columns))
        text = "\n".join(results if place is None else self._share(columns, given, place))
        voted = _listed(list(zip(votes, given, strict=True)))
        text = (
            f"(WITH {first} AS MATERIALIZED (\nSELECT {_listed(sums)}\n), "
            f"{second} AS MATERIALIZED (\nSELECT {first}.*, {_listed(chosen)}\nFROM {first}\n), "
            f"{third} AS MATERIALIZED (\nSELECT {voted}\nFROM {second}\n)\nSELECT {text}\nFROM {third})"
        )
        return text if name is None else f"{text} AS {identifier(name)}"

    def _steps(
        self, columns: ColumnTexts, inner: NDArray[np.str_]
    ) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[str]]:
        """Return the sums of each trial, the numbers of the classes that the trials predict, and the votes for each class.

        `inner` has names for the sums and the number of the class, a row for each trial; sums and numbers are returned with
        them.
        """
        sums: list[tuple[str, str]] = []
        chosen: list[tuple[str, str]] = []
        numbers = {label: str(k) for k, label in enumerate(self._model.labels)}
        votes: list[list[str]] = [[] for _ in self._model.labels]
        for trial, (*of_classes, number) in zip(self.trials, inner.tolist(), strict=True):
            sums += zip(trial._sums(columns), of_classes, strict=True)
            chosen.append(("\n".join(trial._chosen(columns, of_classes, numbers.__getitem__)), number))
            given, ranks = trial._votes().tolist(), ranks_of(trial._rules)
            for k, label in enumerate(trial._model.labels):
                own = sorted((i for i, rule in enumerate(trial._rules) if rule.label == label), key=lambda i: int(ranks[i]))
                tests = [(" AND ".join(map(columns.predicate, trial._rules[i].conditions)), given[i]) for i in own]
                cases = "".join(f"WHEN {test} THEN {vote} " for test, vote in tests)
                vote = f"CASE {cases}ELSE {NO_RULE_FIRES} END" if tests else str(NO_RULE_FIRES)
                votes[k].append(f"CASE WHEN {number} = {k} THEN {vote} ELSE 0 END")
        return sums, chosen, [added(terms) for terms in votes]


def _listed(texts: Sequence[tuple[str, str]]) -> str:
    """Return expressions with their names."""
    return ",\n".join(f"{text} AS {name}" for text, name in texts)
