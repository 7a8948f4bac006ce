"""A forest as SQL: the mean of the results of its trees, added in their order.

Each tree is a `CASE`, written once for each class, because a database computes a class from all probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fasttree._data.checks import is_integer
from fasttree._export.branches import Answers, answers, apart
from fasttree._export.sql import SQL, Writer, case, check_names
from fasttree._export.sql_dialect import Dialect
from fasttree._export.sql_text import columns_of
from fasttree._export.subject import Subject, check_class
from fasttree._export.substitutes import adapt_forest
from fasttree._model.tree import EQUAL_LOSSES

__all__ = ["MOST_NODES", "check_size", "export_forest_sql"]

MOST_NODES = 10_000  # about a megabyte of text, the most that SQLite reads by default
MOST_TREES = 900  # SQLite reads expressions of at most 1000 levels, and a sum has a level for each term


def export_forest_sql(
    subjects: Sequence[Subject],
    *,
    table: str | Sequence[str] | None = None,
    name: str | None = None,
    target: int = 0,
    probability_of: Any = None,
    missing: str | None = None,
    soft: str | None = None,
    dialect: str = "standard",
    cast: bool | Sequence[str] = False,
    nan_as_missing: bool = False,
    max_nodes: int = MOST_NODES,
) -> str:
    """Write the trees of a forest as an SQL expression, or as a query of a table.

    Parameters
    ----------
    subjects : sequence of Subject
    table, name, target, probability_of, missing, soft, dialect, cast, nan_as_missing
        As for `export_sql`.
    max_nodes : int, default 10000
        Largest number of nodes to write; those of all trees count once per class if the probabilities of all classes are needed.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the forest is too large, SQL cannot express a tree and no substitute is given, or a parameter is invalid.
    """
    parts = check_names(name, table, probability_of)
    found = [answers(subject, target) for subject in subjects]
    labels = found[0].labels
    if probability_of is not None:
        check_class(probability_of, labels)
    written = [labels.index(probability_of)] if probability_of is not None else range(max(len(labels), 1))
    check_size(subjects, len(written), max_nodes)
    columns = columns_of(subjects[0].schema, dialect, cast, nan_as_missing)
    adapted = list(adapt_forest(subjects, SQL, missing=missing, soft=soft))
    if not columns.dialect.has_steps and table is None and len(written) > 1:  # inside the CASE that compares probabilities
        columns = replace(columns, dialect=replace(columns.dialect, most_nested=columns.dialect.most_nested - 1))
    writers = [Writer(subject, one, columns) for subject, one in zip(subjects, adapted, strict=True)]
    means = [_mean(writers, found, column) for column in written]
    refuses = subjects[0].refuses_missing or subjects[0].refuses_unseen or missing == "error"
    loss = subjects[0].tree.loss
    losses = None if loss is None else loss.tolist()
    text = _Text(columns.dialect, [feature.name for feature in subjects[0].schema.features], labels, means, refuses, losses)
    comments = [f"/* {note} */" for note in dict.fromkeys(note for one in adapted for note in one.notes)]
    if table is not None:
        return "\n".join([*comments, text.query(parts, name or "prediction")])
    label = "" if name is None else f" AS {columns.dialect.identifier(name)}"
    answer = means[0] if probability_of is not None or not labels else text.of_class()
    return "\n".join([*comments, answer + label])


def check_size(subjects: Sequence[Subject], n_times: int, max_nodes: int) -> None:
    """Raise a ValueError for trees that are too large for databases; all nodes are written `n_times`."""
    if not is_integer(max_nodes) or max_nodes < 1:
        raise ValueError(f"max_nodes={max_nodes!r}: must be an integer of at least 1")
    n_trees, n_nodes = len(subjects), sum(subject.tree.node_count for subject in subjects)
    each = f", each written {n_times} times, once per class" if n_times > 1 else ""
    remedy = "grow fewer or smaller trees (n_estimators, max_depth, max_leaf_nodes), or export another format"
    if n_nodes * n_times > max_nodes:
        raise ValueError(
            f"the SQL of this forest has {n_nodes * n_times:,} nodes ({n_trees} trees with {n_nodes:,} nodes{each}), and "
            f"max_nodes={max_nodes} allows {max_nodes:,}: {remedy}; raise max_nodes if the database reads texts of this size"
        )
    if n_trees > MOST_TREES:
        raise ValueError(f"the forest has {n_trees} trees, and databases read sums of at most {MOST_TREES} terms: {remedy}")


def _mean(writers: Sequence[Writer], found: Sequence[Answers], column: int) -> str:
    """Return an expression for the mean of the predicted numbers, or of the probabilities of a class."""
    terms = []
    for writer, answer in zip(writers, found, strict=True):
        values = answer.probabilities[:, column].tolist() if answer.labels else answer.values
        terms.append(writer.expression(values))
    total = "\n+ ".join(terms)
    return f"({total}) / {writers[0].dialect.literal(float(len(writers)))}"


@dataclass(frozen=True)
class _Text:
    """Expressions of a forest.

    Parameters
    ----------
    dialect : Dialect
    feature_names : list of str
    labels : list
        Classes; empty in regression.
    means : list of str
        Expressions of the probability of each class, or of the mean.
    refuses : bool
        Whether some rows get no result.
    losses : list of list of float or None
        Cost of predicting the class of the column if that of the row is true.
    """

    dialect: Dialect
    feature_names: list[str]
    labels: list[Any]
    means: list[str]
    refuses: bool
    losses: list[list[float]] | None = None

    def of_class(self) -> str:
        """Return an expression for the predicted class."""
        if self.dialect.has_steps:
            names = [apart(f"share_{k}", self.feature_names) for k in range(len(self.labels))]
            names = list(map(self.dialect.identifier, names))
            shares = self.dialect.identifier("shares")
            chosen, means = "\n".join(self._chosen(names)), ",\n".join(self.means)
            return f"(WITH {shares} ({', '.join(names)}) AS MATERIALIZED (\nSELECT {means}\n)\nSELECT {chosen}\nFROM {shares})"
        if len(self.labels) > 2:
            raise ValueError(
                f"an expression in {self.dialect.name} cannot compare the probabilities of {len(self.labels)} classes: write a "
                f"query (table=...), or the probability of a class (probability_of=...)"
            )
        return "\n".join(self._chosen(self.means))

    def query(self, table: Sequence[str], name: str) -> str:
        """Return a query of all columns of the table, the probabilities, and the prediction."""
        source = ".".join(map(self.dialect.identifier, table))
        if not self.labels:
            prediction = self.dialect.identifier(apart(name, self.feature_names))
            return f"SELECT *, {self.means[0]} AS {prediction}\nFROM {source}"
        taken = [*self.feature_names, apart(name, self.feature_names)]
        for label in self.labels:
            taken.append(apart(f"probability_{label}", taken))
        prediction, *names = map(self.dialect.identifier, taken[len(self.feature_names) :])
        shares = self.dialect.identifier(apart("shares", table))
        each = ",\n".join(f"{mean} AS {column}" for mean, column in zip(self.means, names, strict=True))
        chosen = "\n".join(self._chosen(names))
        return (
            f"WITH {shares} AS (\nSELECT *, {each}\nFROM {source}\n)\nSELECT {shares}.*, {chosen} AS {prediction}\nFROM {shares}"
        )

    def _chosen(self, shares: Sequence[str]) -> list[str]:
        """Return the lines of a `CASE` for the class of the largest share, or of least expected loss; the first of equal ones."""
        labels = [[self.dialect.literal(label)] for label in self.labels]
        cases = [(f"{shares[0]} IS NULL", ["NULL"])] if self.refuses else []
        for k, label in enumerate(labels[:-1]):
            cases.append((self._is_best(k, shares), label))
        return case("CASE", cases, labels[-1])

    def _is_best(self, k: int, shares: Sequence[str]) -> str:
        """Return whether a class is predicted if none before it is."""
        if self.losses is None:
            return " AND ".join(f"{shares[k]} >= {other}" for other in shares[k + 1 :])
        tolerance = self.dialect.literal(1 + EQUAL_LOSSES)
        others = (self._expected_loss(j, shares) for j in range(len(shares)) if j != k)
        return " AND ".join(f"{self._expected_loss(k, shares)} <= {other} * {tolerance}" for other in others)

    def _expected_loss(self, k: int, shares: Sequence[str]) -> str:
        """Return the expected loss of predicting a class; probabilities whose loss is 0 are left out."""
        assert self.losses is not None
        losses = [(share, row[k]) for share, row in zip(shares, self.losses, strict=True) if row[k]]
        terms = [share if loss == 1 else f"{share} * {self.dialect.literal(loss)}" for share, loss in losses]
        return f"({' + '.join(terms)})" if terms else self.dialect.literal(0.0)
