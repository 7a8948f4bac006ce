"""Trees that vote as SQL: each gives its class the share of this class, and the votes are added in the order of the trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fasttree._export.branches import Answers, answers, apart
from fasttree._export.sql import SQL, Writer, case, check_names
from fasttree._export.sql_dialect import Dialect
from fasttree._export.sql_forest import MOST_NODES, check_size
from fasttree._export.sql_text import columns_of
from fasttree._export.subject import Subject, check_class
from fasttree._export.substitutes import adapt_forest
from fasttree._export.votes.joined import check_votes, default_of

__all__ = ["export_voting_sql"]


def export_voting_sql(
    subjects: Sequence[Subject],
    *,
    table: str | Sequence[str] | None = None,
    name: str | None = None,
    probability_of: Any = None,
    missing: str | None = None,
    soft: str | None = None,
    dialect: str = "standard",
    cast: bool | Sequence[str] = False,
    nan_as_missing: bool = False,
) -> str:
    """Write trees that vote, as boosted trees, as an SQL expression, or as a query of a table.

    Parameters
    ----------
    subjects : sequence of Subject
    table, name, probability_of, missing, soft, dialect, cast, nan_as_missing
        As for `export_sql`.

    Returns
    -------
    str
        A query has the columns ``votes_<class>``, ``prediction`` and ``probability_<class>``.

    Raises
    ------
    ValueError
        If the trees are too large, have costs, or need a substitute that is not given, or if a parameter is invalid.
    """
    parts = check_names(name, table, probability_of)
    first = subjects[0].tree
    check_votes(first, "SQL")
    found = [answers(subject, 0) for subject in subjects]
    labels = found[0].labels
    if probability_of is not None:
        check_class(probability_of, labels)
    check_size(subjects, len(labels), MOST_NODES)
    columns = columns_of(subjects[0].schema, dialect, cast, nan_as_missing)
    adapted = list(adapt_forest(subjects, SQL, missing=missing, soft=soft))
    written = columns.dialect
    if table is None and not written.has_steps and (probability_of is None or len(labels) > 2):
        raise ValueError(f"an expression in {written.name} cannot compare votes: write a query (table=...)")
    writers = [Writer(subject, one, columns) for subject, one in zip(subjects, adapted, strict=True)]
    votes = [_votes(writers, found, k) for k in range(len(labels))]
    refuses = subjects[0].refuses_missing or subjects[0].refuses_unseen or missing == "error"
    text = _Text(written, [feature.name for feature in subjects[0].schema.features], labels, default_of(first), refuses)
    comments = [f"/* {note} */" for note in dict.fromkeys(note for one in adapted for note in one.notes)]
    if table is not None:
        return "\n".join([*comments, text.query(parts, name or "prediction", votes)])
    place = None if probability_of is None else labels.index(probability_of)
    label = "" if name is None else f" AS {written.identifier(name)}"
    return "\n".join([*comments, text.expression(votes, place) + label])


def _votes(writers: Sequence[Writer], found: Sequence[Answers], k: int) -> str:
    """Return an expression for the votes for a class."""
    terms = []
    for writer, answer in zip(writers, found, strict=True):
        shares = answer.probabilities
        terms.append(writer.expression(np.where(shares.argmax(axis=1) == k, shares[:, k], 0.0).tolist()))
    return "\n+ ".join(terms)


class _Text:
    """Expressions of trees that vote; on ties, the class `default` is predicted, or else the first."""

    def __init__(self, dialect: Dialect, names: list[str], labels: list[Any], default: int, refuses: bool) -> None:
        self.dialect, self.names, self.labels, self.default, self.refuses = dialect, names, labels, default, refuses

    def expression(self, votes: Sequence[str], place: int | None) -> str:
        """Return an expression for the predicted class, or for the share of a class in the votes."""
        if not self.dialect.has_steps:
            return self._share([f"({each})" for each in votes], place or 0)
        given = self._columns([f"votes_{label}" for label in self.labels], self.names)
        chosen = "\n".join(self._chosen(given)) if place is None else self._share(given, place)
        voted, sums = self.dialect.identifier("voted"), ",\n".join(votes)
        return f"(WITH {voted} ({', '.join(given)}) AS MATERIALIZED (\nSELECT {sums}\n)\nSELECT {chosen}\nFROM {voted})"

    def query(self, table: Sequence[str], name: str, votes: Sequence[str]) -> str:
        """Return a query of all columns of the table, the votes, the prediction, and the probabilities."""
        labels = self.labels
        wanted = [*(f"votes_{label}" for label in labels), name, *(f"probability_{label}" for label in labels)]
        own = self._columns(wanted, self.names)
        given, prediction, shares = own[: len(labels)], own[len(labels)], own[len(labels) + 1 :]
        source, voted = ".".join(map(self.dialect.identifier, table)), self.dialect.identifier(apart("voted", table))
        each = ",\n".join(f"{text} AS {column}" for text, column in zip(votes, given, strict=True))
        results = ["\n".join(self._chosen(given)) + f" AS {prediction}"]
        results += [f"{self._share(given, k)} AS {column}" for k, column in enumerate(shares)]
        return (
            f"WITH {voted} AS (\nSELECT *, {each}\nFROM {source}\n)\nSELECT {voted}.*, " + ",\n".join(results) + f"\nFROM {voted}"
        )

    def _columns(self, wanted: Sequence[str], names: Sequence[str]) -> list[str]:
        taken = list(names)
        for each in wanted:
            taken.append(apart(each, taken))
        return list(map(self.dialect.identifier, taken[len(names) :]))

    def _share(self, votes: Sequence[str], k: int) -> str:
        return f"{votes[k]} / ({' + '.join(votes)})"

    def _chosen(self, votes: Sequence[str]) -> list[str]:
        """Return the lines of a `CASE` for the class with the most votes."""
        cases = [(f"{votes[0]} IS NULL", ["NULL"])] if self.refuses else []
        waiting = [self.default, *(k for k in range(len(votes)) if k != self.default)]
        while len(waiting) > 1:
            k = waiting.pop(0)
            cases.append((" AND ".join(f"{votes[k]} >= {votes[j]}" for j in waiting), [self.dialect.literal(self.labels[k])]))
        return case("CASE", cases, [self.dialect.literal(self.labels[waiting[0]])])
