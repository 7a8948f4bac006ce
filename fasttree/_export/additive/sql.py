"""An additive model as SQL: a sum of a `CASE` for each term, added in the order of the terms, as the model does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._export.additive.subject import AdditiveSubject, runs_of
from fasttree._export.branches import apart
from fasttree._export.sql import case, check_names
from fasttree._export.sql_text import ColumnTexts, columns_of
from fasttree._export.subject import check_class
from fasttree._model.additive.model import Axis, Term

__all__ = ["export_additive_sql"]


def export_additive_sql(
    subject: AdditiveSubject,
    *,
    table: str | Sequence[str] | None = None,
    name: str | None = None,
    probability_of: Any = None,
    dialect: str = "standard",
    cast: bool | Sequence[str] = False,
    nan_as_missing: bool = False,
) -> str:
    """Write an additive model as an SQL expression, or as a query of a table.

    Parameters
    ----------
    subject : AdditiveSubject
    table, name, probability_of, dialect, cast, nan_as_missing
        As for `export_sql`.

    Returns
    -------
    str
        A query has the columns ``score`` (``score_<class>`` for three classes or more), ``prediction`` and
        ``probability_<class>``; for numbers, ``prediction`` alone.

    Raises
    ------
    ValueError
        If a parameter is invalid, or an expression is asked for with three classes or more.
    """
    parts = check_names(name, table, probability_of)
    columns = columns_of(subject.schema, dialect, cast, nan_as_missing)
    written, classes = columns.dialect, subject.classes
    scores = [_score(subject, columns, k) for k in range(subject.model.n_scores)]
    if probability_of is not None:
        check_class(probability_of, classes or [])
    if table is not None:
        return _query(subject, columns, parts, name or "prediction", scores)
    label = "" if name is None else f" AS {written.identifier(name)}"
    if classes is None:
        return scores[0] + label
    if len(classes) > 2:
        raise ValueError("an expression cannot compare the scores of three classes or more: write a query (table=...)")
    if probability_of is None:
        return "\n".join(_chosen(subject, columns, [f"({scores[0]})"])) + label
    return _share([f"({scores[0]})"], classes.index(probability_of), len(classes)) + label


def _query(subject: AdditiveSubject, columns: ColumnTexts, table: Sequence[str], name: str, scores: Sequence[str]) -> str:
    written, classes = columns.dialect, subject.classes
    taken = [feature.name for feature in subject.schema.features]
    n_features = len(taken)
    source = ".".join(map(written.identifier, table))
    if classes is None:
        return f"SELECT *, {scores[0]} AS {written.identifier(apart(name, taken))}\nFROM {source}"
    wanted = ["score"] if len(scores) == 1 and len(classes) == 2 else [f"score_{label}" for label in classes]
    for each in [*wanted, name, *(f"probability_{label}" for label in classes)]:
        taken.append(apart(each, taken))
    own = list(map(written.identifier, taken[n_features:]))
    given, prediction, shares = own[: len(wanted)], own[len(wanted)], own[len(wanted) + 1 :]
    scored = written.identifier(apart("scored", table))
    each_score = ",\n".join(f"{text} AS {column}" for text, column in zip(scores, given, strict=True))
    results = ["\n".join(_chosen(subject, columns, given)) + f" AS {prediction}"]
    for k, column in enumerate(shares):
        results.append(f"{_share(given, k, len(classes))} AS {column}")
    return (
        f"WITH {scored} AS (\nSELECT *, {each_score}\nFROM {source}\n)\nSELECT {scored}.*, "
        + ",\n".join(results)
        + (f"\nFROM {scored}")
    )


def _share(scores: Sequence[str], k: int, n_classes: int) -> str:
    if n_classes == 2:
        return f"1.0e0 / (1.0e0 + EXP({'-' if k else ''}{scores[0]}))"
    return "1.0e0 / (" + " + ".join(f"EXP({other} - {scores[k]})" for other in scores) + ")"


def _chosen(subject: AdditiveSubject, columns: ColumnTexts, scores: Sequence[str]) -> list[str]:
    """Return the lines of a `CASE` for the class of the largest score, the first of equal ones."""
    labels = [[columns.dialect.literal(label)] for label in subject.classes or ()]
    cases = [(f"{scores[0]} IS NULL", ["NULL"])] if subject.refuses_unseen else []
    if len(labels) == 2:
        return case("CASE", [*cases, (f"{scores[0]} > 0", labels[1])], labels[0])
    for k, label in enumerate(labels[:-1]):
        cases.append((" AND ".join(f"{scores[k]} >= {other}" for other in scores[k + 1 :]), label))
    return case("CASE", cases, labels[-1])


def _score(subject: AdditiveSubject, columns: ColumnTexts, k: int) -> str:
    """Write a score: the intercept, and what each term adds."""
    literal = columns.dialect.literal
    parts = [literal(float(subject.model.intercept[k]))]
    for term in subject.model.terms:
        parts.append("\n".join(_term(subject, columns, term, term.scores[k])))
    return "\n+ ".join(parts)


def _term(subject: AdditiveSubject, columns: ColumnTexts, term: Term, scores: NDArray[np.float64]) -> list[str]:
    if len(term.axes) == 1:
        return _axis(subject, columns, term.axes[0], scores)
    return _axis(subject, columns, term.axes[0], scores, term.axes[1])


def _axis(
    subject: AdditiveSubject, columns: ColumnTexts, axis: Axis, scores: NDArray[np.float64], second: Axis | None = None
) -> list[str]:
    """Return the lines of a `CASE` of a feature; of a pair, each of its results is a `CASE` of the second feature."""
    feature = subject.schema.features[axis.feature]

    def result(row: Any) -> list[str]:
        if second is None:
            return [columns.dialect.literal(float(row))]
        return ["(" + "\n".join(_axis(subject, columns, second, row)) + ")"]

    cases = []
    if feature.categories is not None:
        if subject.refuses_unseen and feature.categories:
            cases.append((columns.is_other(feature, feature.categories), ["NULL"]))
        for first, _ in runs_of(axis, scores):
            cases.append((columns.is_among(feature, [feature.categories[first - 1]]), result(scores[first])))
        return case("CASE", cases, result(scores[0])) if cases else result(scores[0])
    assert axis.cuts is not None
    cases.append((columns.is_missing(feature), result(scores[0])))
    runs = runs_of(axis, scores)
    column = columns.of(feature.name)
    for _, last in runs[:-1]:
        cases.append((f"{column} <= {columns.dialect.number(float(axis.cuts[last - 1]))}", result(scores[last])))
    return case("CASE", cases, result(scores[runs[-1][1]]))
