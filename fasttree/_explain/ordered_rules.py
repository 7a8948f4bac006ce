"""Rules that apply in order, with a default class: tables, SQL, and explanations of single predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from fasttree._data.encode import encode_table
from fasttree._data.schema import Schema, is_missing
from fasttree._explain.explanation import WrittenExplanation
from fasttree._explain.follow import cells_of, encoded_row, shares_text
from fasttree._explain.rule_table import Backend, frame, html_table, markdown_table
from fasttree._export.sql import Results, case, check_names, query
from fasttree._export.sql_dialect import DialectName
from fasttree._export.sql_text import columns_of
from fasttree._export.subject import check_class
from fasttree._model.conditions import Condition
from fasttree._model.ruleset import Rule, amount_text, matches, probabilities, thresholds_of
from fasttree._model.words import name_text, threshold_texts, word

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHOWN = 20  # rules in the repr
FIGURES = ("cover", "errors", "estimate")
NO_RULE = -1  # as `apply` returns it

STYLE = """body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse}th,td{padding:.3rem .8rem;border-bottom:1px solid #8886;text-align:right;vertical-align:top}"""


@dataclass(frozen=True, eq=False)
class RuleModel:
    """The model of some rules: its table, classes and default class."""

    schema: Schema
    labels: list[Any]
    default: int  # index in `labels`
    class_count: NDArray[Any]
    default_count: NDArray[Any]
    unseen: str
    estimator_name: str
    shown: tuple[Schema, list[Any]]  # schema and classes with their labels

    def in_words(self, rule: Rule) -> Rule:
        """Return a rule with the labels of its features, categories and class."""
        features, shown = self.schema.features, self.shown[0].features
        conditions = tuple(each.relabelled(features[each.index], shown[each.index]) for each in rule.conditions)
        return replace(rule, conditions=conditions, label=self.class_label(rule.label))

    def class_label(self, label: Any) -> Any:
        """Return the label of a class."""
        return self.shown[1][self.labels.index(label)]

    def value_label(self, index: int, value: Any) -> Any:
        """Return the label of a category; other values are their own."""
        own, shown = self.schema.features[index].categories or (), self.shown[0].features[index].categories or ()
        return shown[own.index(value)] if value in own else value

    def probabilities(self, rule: Rule | None) -> NDArray[np.float64]:
        if rule is None:
            return probabilities(self.default, None, self.class_count, self.default_count)
        return probabilities(self.labels.index(rule.label), rule.estimate, self.class_count, self.default_count)


class OrderedRules(Sequence[Rule]):
    """Rules of a `C45Rules` model, in the order in which they apply: an immutable sequence that can be explained and exported.

    A sample gets the class of the first rule whose conditions all hold, or else the default class.

    Attributes
    ----------
    default : object
        The default class.

    Examples
    --------
    >>> from fasttree import C45Rules
    >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
    >>> C45Rules().fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).to_rules()
    <OrderedRules: 2 rules>
    if x1 > 2 then ripe  (cover 5, errors 0, estimate 24.2 %)
    if x1 <= 2 then unripe  (cover 15, errors 0, estimate 8.8 %)
    else unripe
    """

    _how = "The first rule whose conditions all hold decides."

    def __init__(self, rules: Sequence[Rule], model: RuleModel) -> None:
        self._rules = tuple(rules)
        self._model = model

    @overload
    def __getitem__(self, index: int) -> Rule: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Rule, ...]: ...
    def __getitem__(self, index: int | slice) -> Rule | tuple[Rule, ...]:
        return self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def default(self) -> Any:
        return self._model.labels[self._model.default]

    @cached_property
    def _thresholds(self) -> dict[tuple[int, float], str]:
        return threshold_texts(thresholds_of(self._rules))

    @cached_property
    def _in_words(self) -> tuple[Rule, ...]:
        return tuple(map(self._model.in_words, self._rules))

    @property
    def _default_word(self) -> str:
        return word(self._model.class_label(self.default))

    # --- samples

    def matches(self, X: Any) -> csr_matrix:
        """Return which samples satisfy the conditions of which rules, whether or not an earlier rule decides.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of float64, shape (n_samples, n_rules)
            1 where all conditions of a rule hold.
        """
        from scipy.sparse import csr_matrix

        model = self._model
        table = encode_table(X, model.schema, unseen=model.unseen, estimator_name=model.estimator_name)
        found = matches(self._rules, table)
        rows = np.concatenate([np.empty(0, np.intp), *found])
        columns = np.repeat(np.arange(len(self)), np.array([len(part) for part in found], dtype=np.intp))
        return csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(table.n_samples, len(self)))

    def explain(self, x: Any) -> RuleExplanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample.  None and NaN are missing values.

        Returns
        -------
        RuleExplanation

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.
        """
        model = self._model
        cells = cells_of(x, model.schema, model.estimator_name)
        table = encoded_row(cells, model.schema, model.unseen, model.estimator_name)
        found = [i for i, samples in enumerate(matches(self._rules, table)) if len(samples)]
        deciding, chosen, shares = self._decide(found)
        names = [feature.name for feature in model.schema.features]
        values = [None if is_missing(cell) else cell for cell in cells]
        classes = list(map(word, model.shown[1]))
        first = f"prediction: {classes[chosen]}  ({shares_text(classes, shares)})"
        return RuleExplanation(
            dict(zip(names, values, strict=True)),
            model.labels[chosen],
            dict(zip(model.labels, shares.tolist(), strict=True)),
            deciding,
            tuple(i for i in found if i != deciding),
            (first, *self._reasons(deciding, found, values)),
        )

    def _decide(self, found: list[int]) -> tuple[int | None, int, NDArray[np.float64]]:
        """Return the rule that decides if these fire, the index of the predicted class, and the probabilities."""
        deciding = found[0] if found else None
        fired = None if deciding is None else self._rules[deciding]
        chosen = self._model.default if fired is None else self._model.labels.index(fired.label)
        return deciding, chosen, self._model.probabilities(fired)

    def _reasons(self, deciding: int | None, found: list[int], values: list[Any]) -> Iterator[str]:
        """Yield lines that explain the prediction by the rules that fire."""
        texts = {i: self._in_words[i]._write(self._thresholds) for i in found}
        if deciding is None:
            counts = self._model.default_count
            covered = "" if not counts.any() else (
                f": of {int(counts.sum()):,} training samples that no rule covers, {int(counts[self._model.default]):,} are of it"
            )  # fmt: skip
            yield f"no rule fires, so that the class is the default{covered}"
            return
        yield f"rule {deciding} is the first of {len(self)} that fires: {texts[deciding]}"
        yield from self._condition_notes(deciding, values)
        for i in found[1:]:
            yield f"rule {i} would fire, too, but comes later: {texts[i]}"

    def _condition_notes(self, rule: int, values: list[Any]) -> Iterator[str]:
        """Yield a line for each condition of a rule; `values` has those of the sample."""
        for condition in self._in_words[rule].conditions:
            yield f"    {self._condition_note(condition, self._model.value_label(condition.index, values[condition.index]))}"

    def _condition_note(self, condition: Condition, value: Any) -> str:
        text = condition.words(self._thresholds)
        shown = f"{value:.6g}" if isinstance(value, float) else word(value)
        return text if text == f"{name_text(condition.feature)} = {shown}" else f"{text}, as it is {shown}"

    # --- writing

    def to_text(self) -> str:
        """Write the rules as text, one per line in the order in which they apply, followed by the default class.

        Returns
        -------
        str
            The lines, each with a newline at its end.
        """
        lines = [rule._write(self._thresholds) for rule in self._in_words]
        return "".join(f"{line}\n" for line in [*lines, f"else {self._default_word}"])

    def _cells(self, shown: int | None = None) -> list[list[str]]:
        rows = [
            [
                str(i),
                rule._condition_text(self._thresholds),
                word(rule.label),
                amount_text(rule.cover, ","),
                amount_text(rule.errors, ","),
                f"{100 * rule.estimate:.1f} %",
            ]
            for i, rule in enumerate(self._in_words[:shown])
        ]
        total, wrong = self._default_figures()
        return [*rows, ["", "else", self._default_word, amount_text(total, ","), amount_text(wrong, ","), ""]]

    def _default_figures(self) -> tuple[float, float]:
        """Return the weight of the samples that no rule covers, and that of those not in the default class."""
        counts = self._model.default_count
        return counts.sum().item(), (counts.sum() - counts[self._model.default]).item()

    def to_markdown(self) -> str:
        """Write the rules as a Markdown table in the order in which they apply; the last row is the default class.

        Its cover and errors count the training samples that no rule covers.
        """
        return markdown_table(("", "rule", "prediction"), FIGURES, self._cells())

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return the rules as a data frame with one row per rule, and a last row for the default class.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"

        Returns
        -------
        DataFrame or Table
            Columns ``rule`` (the conditions in words), ``prediction`` (a class of the fit), ``cover``, ``errors``, ``estimate``
            and ``n_conditions``.  In the last row, ``rule`` is "else", and the figures are those of the training samples that no
            rule covers.

        Raises
        ------
        ValueError
            If `backend` is not one of these.
        ImportError
            If the backend is not installed.
        """
        return frame(self._columns(), backend)

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame`."""
        rules, (total, wrong) = self._rules, self._default_figures()
        return {
            "rule": [*(rule._condition_text(self._thresholds) for rule in self._in_words), "else"],
            "prediction": [*(rule.label for rule in rules), self.default],
            "cover": [*(rule.cover for rule in rules), total],
            "errors": [*(rule.errors for rule in rules), wrong],
            "estimate": [*(rule.estimate for rule in rules), None],
            "n_conditions": [*(len(rule.conditions) for rule in rules), 0],
        }

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

        The expression is one ``CASE`` with the rules in their order; the default class is its ``ELSE``.  Each feature is a column
        with its name, in which missing values are NULL.  With ``unseen="error"``, the result is NULL if a feature of a rule has
        an unseen category.

        Parameters
        ----------
        table : str or sequence of str, optional
            Name of a table, or the names of its schema and the table.  The result is then a query of all its columns and, for
            each row, ``rule`` (the index of the rule as `apply` returns it), ``prediction`` and ``probability_<class>``.
        name : str, optional
            Name of the result.
        probability_of : object, optional
            Class whose probability the expression returns; by default it returns the predicted class.
        dialect, cast, nan_as_missing
            See `CARTClassifier.export_sql`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a name or category cannot be written, or a parameter is invalid.

        Examples
        --------
        >>> from fasttree import C45Rules
        >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
        >>> print(C45Rules().fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).to_rules().to_sql(name="state"))
        CASE
          WHEN "x1" > 2.0 THEN 'ripe'
          ELSE 'unripe'
        END AS "state"
        """
        parts = check_names(name, table, probability_of)
        model = self._model
        columns = columns_of(model.schema, dialect, cast, nan_as_missing)
        if probability_of is not None:
            check_class(probability_of, model.labels)
        found: dict[int, Rule | None] = {**dict(enumerate(self._rules)), NO_RULE: None}
        predictions = {i: self.default if rule is None else rule.label for i, rule in found.items()}
        tests = [" AND ".join(map(columns.predicate, rule.conditions)) for rule in self._rules]
        used = sorted({condition.index for rule in self._rules for condition in rule.conditions})
        features = [model.schema.features[i] for i in used if model.unseen == "error"]
        refused = [(columns.is_other(feature, feature.categories), ["NULL"]) for feature in features if feature.categories]

        def chosen(texts: dict[int, str]) -> str:
            cases = [(test, [texts[i]]) for i, test in enumerate(tests)]
            return "\n".join(case("CASE", [*refused, *cases], [texts[NO_RULE]]))

        if table is not None:
            names = [feature.name for feature in model.schema.features]
            records = {i: [predictions[i], *model.probabilities(rule).tolist()] for i, rule in found.items()}
            number = chosen({i: str(i) for i in found})
            return query(columns.dialect, parts, number, names, Results("rule", name or "prediction", model.labels, records))
        results = predictions
        if probability_of is not None:
            place = model.labels.index(probability_of)
            results = {i: float(model.probabilities(rule)[place]) for i, rule in found.items()}
        text = chosen({i: columns.dialect.literal(result) for i, result in results.items()})
        if probability_of is not None:
            text = f"CAST({text} AS {columns.dialect.double})"
        return text if name is None else f"{text} AS {columns.dialect.identifier(name)}"

    def to_html(self, *, title: str | None = None) -> str:
        """Write the rules as a web page, which needs no other file.

        Parameters
        ----------
        title : str, optional
            Title of the page; by default the name of the class of the model.

        Returns
        -------
        str
            HTML document.
        """
        heading = escape(self._model.estimator_name if title is None else str(title))
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{heading}</title><style>{STYLE}</style></head>'
            f"<body><h1>{heading}</h1><p>{self._how}</p>{self._table(None)}</body></html>\n"
        )

    def _table(self, shown: int | None) -> str:
        return html_table(("", "rule", "prediction"), FIGURES, self._cells(shown))

    def __repr__(self) -> str:
        lines = self.to_text().splitlines()
        more = [f"… {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        shown = [*lines[:-1][:SHOWN], *more, lines[-1]]
        return "\n".join([f"<{type(self).__name__}: {len(self)} rule{'' if len(self) == 1 else 's'}>", *shown])

    def _repr_html_(self) -> str:
        more = f"<p>… {len(self) - SHOWN} more rules</p>" if len(self) > SHOWN else ""
        return self._table(SHOWN) + more


@dataclass(frozen=True, repr=False)
class RuleExplanation(WrittenExplanation):
    """Explanation of the prediction of rules for one sample.

    ``print(explanation)`` writes it as text; a notebook shows the same lines.

    Attributes
    ----------
    sample : dict
        Value of each feature, None if it is missing.
    prediction : object
        Class that the model predicts.
    probabilities : dict
        Probability of each class.
    rule : int or None
        Index of the rule that fires, the first whose conditions all hold; None if none does.  Of rules that vote, the rule of
        the predicted class that covers the fewest samples of the fit.
    others : tuple of int
        Indices of the other rules whose conditions hold, too.

    Examples
    --------
    >>> from fasttree import C45Rules
    >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
    >>> print(C45Rules().fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).explain(["red", 2.5]))
    prediction: ripe  (ripe: 76 %, unripe: 24 %)
    rule 0 is the first of 2 that fires: if x1 > 2 then ripe  (cover 5, errors 0, estimate 24.2 %)
        x1 > 2, as it is 2.5
    """

    sample: dict[str, Any]
    prediction: Any
    probabilities: dict[Any, float]
    rule: int | None
    others: tuple[int, ...]
    _lines: tuple[str, ...] = field(repr=False)
