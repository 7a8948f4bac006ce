"""A tree as SQL that SQLite, DuckDB and PostgreSQL read alike: nested `CASE`s, as large as the tree has nodes.

Parsers limit how deep expressions nest (SQLite's, in most versions about, to a stack of 100 symbols), so a deep tree is cut into
steps of a few levels: each finds the node where a row leaves it, the next goes on from there.  The steps stand in common table
expressions of a scalar subquery, materialized, as SQLite would else put each into the next as often as that names it.

Numbers are asked so that NaN, which databases take for the largest number, is missing as NULL is: what is greater than a
threshold must also be up to the largest finite number.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _sql
from .._table import Feature
from .._tree import STOP
from .branches import REFUSED, Answers, Interval, Test, answers, apart, destinations, surrogates_of, test_of
from .subject import Subject, check_class
from .substitutes import Adapted, Medium, adapt

__all__ = ["SQL", "export_sql"]

SQL = Medium("SQL expression", "gives NULL", surrogates=True)
MOST_LEVELS = 10  # of nested CASEs, as SQLite's stack allows
LARGEST = sys.float_info.max


def export_sql(
    subject: Subject,
    *,
    table: str | Sequence[str] | None = None,
    name: str | None = None,
    target: int = 0,
    probability_of: Any = None,
    missing: str | None = None,
    soft: str | None = None,
) -> str:
    """Write a tree as an SQL expression, or as a query of a table.

    Parameters
    ----------
    subject : Subject
    table : str, sequence of str, or None, default None
        Name of a table, or names of its schema and it: the result is a query.  None: an expression.
    name : str or None, default None
        Name of the result.  None: none for an expression, "prediction" in a query.
    target : int, default 0
        Which of several targets.
    probability_of : object, default None
        A class whose probability the expression is to give; None: the predicted class, or the value.
    missing, soft : str or None
        Substitutes, as for `adapt`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If SQL cannot express the tree and no substitute is named, or a parameter is not as stated.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise ValueError(f"name={name!r}: must be a string that is not empty, or None")
    parts = [table] if isinstance(table, str) else [] if table is None else list(table)
    if table is not None and not (parts and all(isinstance(part, str) and part for part in parts)):
        raise ValueError(f"table={table!r}: must be the name of a table, or those of its schema and it, as strings")
    found = answers(subject, target)
    if probability_of is not None:
        if table is not None:
            raise ValueError("probability_of: a query (table=...) has the probabilities of all classes; leave it out")
        check_class(probability_of, found.labels)
    adapted = adapt(subject, SQL, missing=missing, soft=soft)
    writer = _Writer(subject, adapted)
    comments = [f"/* {note} */" for note in adapted.notes]
    if table is not None:
        return "\n".join([*comments, writer.query(parts, name or "prediction", found)])
    values = found.values
    if probability_of is not None:
        values = found.probabilities[:, found.labels.index(probability_of)].tolist()
    label = "" if name is None else f" AS {_sql.identifier(name)}"
    return "\n".join([*comments, writer.expression(values) + label])


class _Writer:
    def __init__(self, subject: Subject, adapted: Adapted) -> None:
        self.subject, self.tree = subject, adapted.subject.tree
        self.missing, self.unseen = destinations(subject, adapted)
        self.depth = self.tree.depth()
        self.feature_names = [feature.name for feature in subject.schema.features]
        self.node = _sql.identifier(apart("node", self.feature_names))
        self.ends = (self.tree.n_branches == 0) | (self.missing == STOP) | (self.unseen == STOP)

    def query(self, table: Sequence[str], name: str, found: Answers) -> str:
        """A query of all columns of the table, the node where each row ends, its answer and the probabilities of the classes."""
        taken = [*self.feature_names, "node"]
        columns: list[str] = []
        for wanted in [name, *(f"probability_{label}" for label in found.labels)]:
            columns.append(apart(wanted, [*taken, *columns]))
        end = _sql.identifier(apart("end", columns))
        names = list(map(_sql.identifier, columns))
        answers, rows = (_sql.identifier(apart(wanted, table)) for wanted in ("answers", "rows"))
        records = [
            f"  ({i}, {', '.join(map(_sql.literal, [found.values[i], *found.probabilities[i]]))})"
            for i in np.flatnonzero(self.ends).tolist()
        ]
        doubles = [isinstance(found.values[0], float), *[True] * len(found.labels)]
        chosen = [
            f"CAST({answers}.{column} AS DOUBLE PRECISION) AS {column}" if double else f"{answers}.{column}"
            for column, double in zip(names, doubles, strict=True)
        ]
        return "\n".join(
            [
                f"WITH {answers} ({', '.join([end, *names])}) AS (",
                "  VALUES",
                ",\n".join(records),
                f"), {rows} AS (",
                f"SELECT *, {self._end(table)} AS {self.node}",
                f"FROM {'.'.join(map(_sql.identifier, table))}",
                ")",
                f"SELECT {rows}.*, {', '.join(chosen)}",
                f"FROM {rows} LEFT JOIN {answers} ON {answers}.{end} = {rows}.{self.node}",
            ]
        )

    def expression(self, values: list[Any]) -> str:
        """An expression that gives the value of the node where a row ends."""
        texts = list(map(_sql.literal, values))
        is_flat = self.tree.max_depth <= MOST_LEVELS
        text = "\n".join(self._case(0, texts)) if is_flat else self._steps(self._value_of_node(texts), ())
        return f"CAST({text} AS DOUBLE PRECISION)" if isinstance(values[0], float) else text

    def _value_of_node(self, texts: list[str]) -> str:
        """The text of the node that was reached; nodes of one text together."""
        nodes: dict[str, list[int]] = {}
        for i in np.flatnonzero(self.ends).tolist():
            nodes.setdefault(texts[i], []).append(i)
        cases = [(f"{self.node} IN ({', '.join(map(str, ids))})", [text]) for text, ids in nodes.items()]
        return "\n".join(_case("CASE", cases, None))

    def _end(self, table: Sequence[str]) -> str:
        """An expression that gives the node where a row ends."""
        if self.tree.max_depth <= MOST_LEVELS:
            return "\n".join(self._case(0, range(self.tree.node_count)))
        return self._steps(self.node, table)

    def _steps(self, result: str, table: Sequence[str]) -> str:
        """A scalar subquery that goes down the tree in steps, then gives `result`, an expression of the node that was reached."""
        numbers = range(self.tree.node_count)
        steps: list[str] = []
        last = ""
        for top in range(0, self.tree.max_depth, MOST_LEVELS):
            starts = np.flatnonzero((self.depth == top) & (self.tree.n_branches > 0)).tolist()
            cases = [(str(i), self._case(i, numbers)) for i in starts]
            lines = cases[0][1] if top == 0 else [*_case(f"CASE {self.node}", cases, [self.node]), f"FROM {last}"]
            last = _sql.identifier(apart(f"step_{len(steps) + 1}", table))
            body = "\n".join(lines)
            steps.append(f"{last} ({self.node}) AS MATERIALIZED (\nSELECT {body}\n)")
        return f"(WITH {', '.join(steps)}\nSELECT {result}\nFROM {last})"

    def _case(self, top: int, texts: Sequence[Any]) -> list[str]:
        """`MOST_LEVELS` levels of the tree from a node down: the texts of the nodes where rows end, or go on below."""
        return self._subtree(top, int(self.depth[top]) + MOST_LEVELS, texts)

    def _subtree(self, node: int, bottom: int, texts: Sequence[Any]) -> list[str]:
        if not self.tree.n_branches[node] or self.depth[node] == bottom:
            return [str(texts[node])]
        first = int(self.tree.first_child[node])
        ways = {branch: self._subtree(first + branch, bottom, texts) for branch in range(int(self.tree.n_branches[node]))}
        ways |= {STOP: [str(texts[node])], REFUSED: ["NULL"]}
        test = test_of(self.tree, self.subject.schema, node)
        surrogates = surrogates_of(self.tree, self.subject.schema, node)
        missing = int(self.missing[node])
        unseen = missing if test.feature.categories is None else int(self.unseen[node])
        if not surrogates and missing == unseen:
            asked = [*self._refusal(test), *_questions(test, missing)]
            return _case("CASE", [(question, ways[way]) for question, way in asked], ways[missing])
        # the number of the branch, so that no subtree is written twice
        asked = [*self._refusal(test), *_questions(test)]
        for surrogate in surrogates:
            asked += _questions(surrogate)
        if missing != unseen:
            asked.append((_is_missing(test.feature), missing))
        cases = [f"WHEN {question} THEN {_number(way)}" for question, way in asked]
        branch = " ".join(["CASE", *cases, f"ELSE {_number(unseen)} END"])
        used = {*(way for _, way in asked), unseen} - {REFUSED}
        return _case(f"CASE {branch}", [(_number(way), ways[way]) for way in sorted(used)], None)

    def _refusal(self, test: Test) -> list[tuple[str, int]]:
        """Whether a category is one that the model refuses."""
        if not self.subject.refuses_unseen or test.feature.categories is None:
            return []
        column = _sql.identifier(test.feature.name)
        unseen = f"NOT {_sql.is_among(column, test.feature.categories)}"
        if _may_be_nan(test.feature):
            unseen = f"{unseen} AND {column} <= {_sql.number(LARGEST)}"
        return [(unseen, REFUSED)]


def _is_missing(feature: Feature) -> str:
    column = _sql.identifier(feature.name)
    return f"{column} IS NULL OR {column} > {_sql.number(LARGEST)}" if _may_be_nan(feature) else f"{column} IS NULL"


def _may_be_nan(feature: Feature) -> bool:
    """Whether its column may be one of doubles: categories that are numbers, not truth values."""
    return type(next(iter(feature.categories or ()), None)) in (int, float)


def _questions(test: Test, otherwise: int | None = None) -> list[tuple[str, int]]:
    """Conditions to ask in turn, each with its branch; none for the branch of what is left over."""
    column = _sql.identifier(test.feature.name)
    intervals = [(part, branch) for branch, part in enumerate(test.takes) if isinstance(part, Interval)]
    asked = []
    is_above = False  # the branch of what is left over, which stands between: what is below has not been asked for then
    for part, branch in sorted(intervals, key=lambda item: item[0].low):
        if branch == otherwise:
            is_above = True
            continue
        limits = [f"{column} > {_sql.number(part.low)}"] if is_above else []
        asked.append((" AND ".join([*limits, f"{column} <= {_sql.number(min(part.high, LARGEST))}"]), branch))
    among = [(part, branch) for branch, part in enumerate(test.takes) if isinstance(part, tuple) and branch != otherwise]
    return [*asked, *((_sql.is_among(column, part), branch) for part, branch in among)]


def _number(way: int) -> str:
    return "NULL" if way == REFUSED else str(way)


def _case(head: str, cases: Sequence[tuple[str, list[str]]], otherwise: list[str] | None) -> list[str]:
    """The lines of a `CASE`, those of what stands in it indented; a text of several lines is one here, and stays as it is."""
    if not cases:
        return ["NULL"] if otherwise is None else otherwise
    parts = [(f"  WHEN {question} THEN ", lines) for question, lines in cases]
    if otherwise is not None:
        parts.append(("  ELSE ", otherwise))
    inner = [line for start, lines in parts for line in (start + lines[0], *(f"  {line}" for line in lines[1:]))]
    return [head, *inner, "END"]
