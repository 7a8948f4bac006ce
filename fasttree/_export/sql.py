"""A tree as SQL: `CASE`s, whose size grows with the number of nodes.

Parsers limit the nesting of expressions (SQLite's, in most versions, to a stack of about 100 symbols).  A deep tree is therefore
cut into steps of a few levels, each of which continues from the nodes that the previous step reached.  The steps are common table
expressions of a scalar subquery.  They are materialized, because SQLite would otherwise repeat each step wherever it is used.

A missing value is NULL.  Where NaN may be missing too, it needs conditions of its own, because databases take it for the largest
number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fasttree._data.schema import Category
from fasttree._export.branches import REFUSED, Answers, Range, Test, answers, apart, destinations, surrogates_of, test_of
from fasttree._export.sql_dialect import STEPS, Dialect
from fasttree._export.sql_text import ColumnTexts, columns_of
from fasttree._export.subject import Subject, check_class, of_one_target
from fasttree._export.substitutes import Adapted, Medium, adapt
from fasttree._model.arrays import STOP
from fasttree._model.linear.model_tree import ModelTree

__all__ = ["SQL", "Results", "Writer", "case", "check_names", "export_sql", "query"]

SQL = Medium("SQL expression", "gives NULL", surrogates=True)
MOST_LEVELS = STEPS  # of nested CASEs, before a tree is cut into steps
MOST_RECURSION = 300  # levels of a tree that is written without steps


def export_sql(
    subject: Subject,
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
) -> str:
    """Write a tree as an SQL expression, or as a query of a table.

    Parameters
    ----------
    subject : Subject
    table : str, sequence of str, or None, default None
        Name of a table, or names of its schema and it, for a query; None for an expression.
    name : str or None, default None
        Name of the result; None for no name in an expression, and "prediction" in a query.
    target : int, default 0
        Number of the target.
    probability_of : object, default None
        Class whose probability the expression gives; None for the predicted class or value.
    missing, soft : str or None
        Substitutes, as for `adapt`.
    dialect, cast, nan_as_missing
        As for `columns_of`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If SQL cannot express the tree and no substitute is given, or a parameter is invalid.
    """
    parts = check_names(name, table, probability_of)
    subject, target = of_one_target(subject, target)
    found = answers(subject, target)
    if probability_of is not None:
        check_class(probability_of, found.labels)
    adapted = adapt(subject, SQL, missing=missing, soft=soft)
    writer = Writer(subject, adapted, columns_of(subject.schema, dialect, cast, nan_as_missing))
    comments = [f"/* {note} */" for note in adapted.notes]
    if table is not None:
        return "\n".join([*comments, writer.query(parts, name or "prediction", found)])
    values = found.values
    if probability_of is not None:
        values = found.probabilities[:, found.labels.index(probability_of)].tolist()
    label = "" if name is None else f" AS {writer.dialect.identifier(name)}"
    return "\n".join([*comments, writer.expression(values) + label])


def check_names(name: str | None, table: str | Sequence[str] | None, probability_of: Any) -> list[str]:
    """Check the name of a result and return the parts of the name of a table, none for an expression.

    Raises
    ------
    ValueError
        If a name is invalid, or the probability of one class is asked for in a query.
    """
    if name is not None and (not isinstance(name, str) or not name):
        raise ValueError(f"name={name!r}: must be a string that is not empty, or None")
    parts = [table] if isinstance(table, str) else list(table) if isinstance(table, Sequence) else []
    if table is not None and not (parts and all(isinstance(part, str) and part for part in parts)):
        raise ValueError(f"table={table!r}: must be the name of a table, or the names of its schema and it, as strings")
    if table is not None and probability_of is not None:
        raise ValueError("probability_of: a query (table=...) has the probabilities of all classes; leave it out")
    return parts


class Writer:
    """Writer of the results of one tree."""

    def __init__(self, subject: Subject, adapted: Adapted, columns: ColumnTexts) -> None:
        self.subject, self.tree, self.columns = subject, adapted.subject.tree, columns
        self.dialect = columns.dialect
        self.missing, self.unseen = destinations(subject, adapted)
        self.depth = self.tree.depth()
        self.feature_names = [feature.name for feature in subject.schema.features]
        self.node = self.dialect.identifier(apart("node", self.feature_names))
        self.ends = (self.tree.n_branches == 0) | (self.missing == STOP) | (self.unseen == STOP)

    def query(self, table: Sequence[str], name: str, found: Answers) -> str:
        """Return a query of all columns of the table, and the node, prediction and class probabilities of each row."""
        if isinstance(self.tree, ModelTree):
            return self._query_of_models(table, name)
        ends = np.flatnonzero(self.ends).tolist()
        records = {i: [found.values[i], *found.probabilities[i]] for i in ends}
        return query(self.dialect, table, self._end(table), self.feature_names, Results("node", name, found.labels, records))

    def expression(self, values: list[Any]) -> str:
        """Return an expression for the value of the node where a row ends."""
        texts = self._formulas() or list(map(self.dialect.literal, values))
        text = self._nested(texts) or self._steps(self._value_of_node(texts), ())
        return f"CAST({text} AS {self.dialect.double})" if isinstance(values[0], float) else text

    def _formulas(self) -> list[str]:
        """Return expressions for the predictions of the nodes where rows end, if they have linear models."""
        if not isinstance(self.tree, ModelTree):
            return []
        schema, models = self.subject.schema, self.tree.models
        return [self.columns.formula(schema, models, i) if is_end else "" for i, is_end in enumerate(self.ends.tolist())]

    def _query_of_models(self, table: Sequence[str], name: str) -> str:
        """Return a query of all columns of the table, and the node and prediction of each row."""
        texts, key = self._formulas(), apart("node", self.feature_names)
        name, rows = apart(name, [*self.feature_names, key]), self.dialect.identifier(apart("rows", table))
        node = self.dialect.identifier(key)
        cases = [(str(i), [texts[i]]) for i in np.flatnonzero(self.ends).tolist()]
        return "\n".join(
            [
                f"WITH {rows} AS (",
                f"SELECT *, {self._end(table)} AS {node}",
                f"FROM {'.'.join(map(self.dialect.identifier, table))}",
                ")",
                f"SELECT {rows}.*, CAST(" + "\n".join(case(f"CASE {node}", cases, None)),
                f"AS {self.dialect.double}) AS {self.dialect.identifier(name)}",
                f"FROM {rows}",
            ]
        )

    def _value_of_node(self, texts: list[str]) -> str:
        """Return an expression for the text of the reached node; nodes of the same text share a case."""
        nodes: dict[str, list[int]] = {}
        for i in np.flatnonzero(self.ends).tolist():
            nodes.setdefault(texts[i], []).append(i)
        cases = [(f"{self.node} IN ({', '.join(map(str, ids))})", [text]) for text, ids in nodes.items()]
        return "\n".join(case("CASE", cases, None))

    def _end(self, table: Sequence[str]) -> str:
        """Return an expression for the node where a row ends."""
        return self._nested(range(self.tree.node_count)) or self._steps(self.node, table)

    def _nested(self, texts: Sequence[Any]) -> str | None:
        """Return the whole tree as nested cases, or None if it needs steps."""
        most = self.dialect.most_nested
        if self.tree.max_depth <= MOST_RECURSION:
            lines = self._subtree(0, self.tree.max_depth, texts)
            # each CASE indents its lines by 2; the choice of a branch by surrogates is a CASE of its own
            indents = [len(line) - len(line.lstrip(" ")) for line in lines]
            if max(indents) // 2 + (self.tree.surrogates is not None and not self.dialect.has_steps) <= most:
                return "\n".join(lines)
        if self.dialect.has_steps:
            return None
        raise ValueError(
            f"the tree has {self.tree.max_depth} levels, but {self.dialect.name} reads at most {most} CASEs inside one another: "
            f"write to_rules().to_sql(dialect={self.dialect.name!r}), which nests none, or grow a smaller tree (max_depth)"
        )

    def _steps(self, result: str, table: Sequence[str]) -> str:
        """Return a scalar subquery that descends the tree in steps, then gives `result`, an expression of the reached node."""
        numbers = range(self.tree.node_count)
        steps: list[str] = []
        last = ""
        for top in range(0, self.tree.max_depth, MOST_LEVELS):
            starts = np.flatnonzero((self.depth == top) & (self.tree.n_branches > 0)).tolist()
            cases = [(str(i), self._subtree(i, top + MOST_LEVELS, numbers)) for i in starts]
            lines = cases[0][1] if top == 0 else [*case(f"CASE {self.node}", cases, [self.node]), f"FROM {last}"]
            last = self.dialect.identifier(apart(f"step_{len(steps) + 1}", table))
            body = "\n".join(lines)
            steps.append(f"{last} ({self.node}) AS MATERIALIZED (\nSELECT {body}\n)")
        return f"(WITH {', '.join(steps)}\nSELECT {result}\nFROM {last})"

    def _subtree(self, node: int, bottom: int, texts: Sequence[Any]) -> list[str]:
        """Return the levels above `bottom` of the tree below a node, with the texts of the nodes where rows end or continue."""
        if not self.tree.n_branches[node] or self.depth[node] == bottom:
            return [str(texts[node])]
        first = int(self.tree.first_child[node])
        ways = {branch: self._subtree(first + branch, bottom, texts) for branch in range(int(self.tree.n_branches[node]))}
        ways |= {STOP: [str(texts[node])], REFUSED: ["NULL"]}
        test = test_of(self.tree, self.subject.schema, node)
        surrogates = surrogates_of(self.tree, self.subject.schema, node)
        missing, unseen = int(self.missing[node]), int(self.unseen[node])
        if not surrogates:
            asked, otherwise = self._decisions(test, ways, missing, unseen)
            return case("CASE", [(question, ways[way]) for question, way in asked], ways[otherwise])
        # choose the number of the branch first, to write each subtree once
        if test.feature.categories is None:
            unseen = missing
        asked = [*self._refusal(test), *self._questions(test)]
        for surrogate in surrogates:
            asked += self._questions(surrogate)
        if missing != unseen:
            asked.append((self.columns.is_missing(test.feature), missing))
        cases = [f"WHEN {question} THEN {_number(way)}" for question, way in asked]
        branch = " ".join(["CASE", *cases, f"ELSE {_number(unseen)} END"])
        used = {*(way for _, way in asked), unseen}
        known = sorted(used - {REFUSED})
        last = None if REFUSED in used else ways[known.pop()]
        return case(f"CASE {branch}", [(_number(way), ways[way]) for way in known], last)

    def _decisions(self, test: Test, ways: dict[int, list[str]], missing: int, unseen: int) -> tuple[list[tuple[str, int]], int]:
        """Return conditions to test in turn, each with its destination, and the destination of all other values.

        Destinations of equal results are one.
        """
        first: dict[str, int] = {}
        same = {way: first.setdefault("\n".join(lines), way) for way, lines in ways.items()}
        missing, unseen = same[missing], same[unseen]
        if test.feature.categories is None:
            asked = self._questions(test, same)
            takes_missing = any(way == missing for _, way in asked)
            asked, otherwise = (asked[:-1], asked[-1][1]) if takes_missing else (asked, missing)
        else:
            sets: dict[int, list[Category]] = {}
            for branch, part in enumerate(test.takes):
                if isinstance(part, tuple) and same[branch] != unseen:
                    sets.setdefault(same[branch], []).extend(part)
            asked, otherwise = [(self.columns.is_among(test.feature, part), way) for way, part in sets.items()], unseen
        if missing != otherwise:
            is_missing = self.columns.is_missing(test.feature)
            if any(way == missing for _, way in asked):
                asked = [(f"{question} OR {is_missing}" if way == missing else question, way) for question, way in asked]
            else:
                asked = [(is_missing, missing), *asked]
        return [*self._refusal(test), *asked], otherwise

    def _questions(self, test: Test, same: Mapping[int, int] | None = None) -> list[tuple[str, int]]:
        """Return conditions to test in turn, each with its branch: intervals in ascending order, or sets of categories.

        Adjacent intervals whose branches are the same one by `same` are one interval.
        """
        columns, feature = self.columns, test.feature
        intervals: list[tuple[Range, int]] = []
        ranges = ((part, branch) for branch, part in enumerate(test.takes) if isinstance(part, Range))
        for part, branch in sorted(ranges, key=lambda item: item[0].low):
            way = branch if same is None else same[branch]
            if same is not None and intervals and intervals[-1][1] == way:
                intervals[-1] = Range(intervals[-1][0].low, part.high), way
            else:
                intervals.append((part, way))
        asked = [
            # the conditions before have taken what is not above `low`
            (columns.interval(feature, -math.inf if math.isfinite(part.high) else part.low, part.high), branch)
            for part, branch in intervals
        ]
        among = [(part, branch) for branch, part in enumerate(test.takes) if isinstance(part, tuple)]
        return [*asked, *((columns.is_among(feature, part), branch) for part, branch in among)]

    def _refusal(self, test: Test) -> list[tuple[str, int]]:
        """Return the condition that a category is unseen, with its destination, if the model rejects such categories."""
        if not self.subject.refuses_unseen or test.feature.categories is None:
            return []
        return [(self.columns.is_other(test.feature, test.feature.categories), REFUSED)]


def _number(way: int) -> str:
    return "NULL" if way == REFUSED else str(way)


# --- texts that rule sets share


@dataclass(frozen=True)
class Results:
    """The results of a model that a query adds to each row of a table.

    Parameters
    ----------
    key : str
        Wanted name of the column with the number of a result, such as that of a node.
    name : str
        Wanted name of the column with the prediction.
    labels : list
        Classes; empty for regression.
    records : dict of int to list
        Prediction and class probabilities of each number.
    """

    key: str
    name: str
    labels: list[Any]
    records: dict[int, list[Any]]


def query(dialect: Dialect, table: Sequence[str], number: str, feature_names: Sequence[str], results: Results) -> str:
    """Write a query of all columns of a table and the results of each row, whose number is given by an expression."""
    key = apart(results.key, feature_names)
    taken = [*feature_names, results.key]
    columns: list[str] = []
    for wanted in [results.name, *(f"probability_{label}" for label in results.labels)]:
        columns.append(apart(wanted, [*taken, *columns]))
    end, key = dialect.identifier(apart("end", columns)), dialect.identifier(key)
    names = list(map(dialect.identifier, columns))
    answers, rows = (dialect.identifier(apart(wanted, table)) for wanted in ("answers", "rows"))
    first = next(iter(results.records.values()))
    chosen = [
        f"CAST({answers}.{column} AS {dialect.double}) AS {column}" if isinstance(value, float) else f"{answers}.{column}"
        for column, value in zip(names, first, strict=True)
    ]
    return "\n".join(
        [
            *_constant_table(dialect, answers, [end, *names], results.records),
            f"), {rows} AS (",
            f"SELECT *, {number} AS {key}",
            f"FROM {'.'.join(map(dialect.identifier, table))}",
            ")",
            f"SELECT {rows}.*, {', '.join(chosen)}",
            f"FROM {rows} LEFT JOIN {answers} ON {answers}.{end} = {rows}.{key}",
        ]
    )


def _constant_table(dialect: Dialect, name: str, columns: Sequence[str], records: dict[int, list[Any]]) -> list[str]:
    """Return the lines of a common table expression with a row per record; the caller closes it."""
    rows = [f"  ({i}, {', '.join(map(dialect.literal, record))})" for i, record in records.items()]
    lines = ",\n".join(rows)
    if dialect.rows == "values":
        return [f"WITH {name} ({', '.join(columns)}) AS (", "  VALUES", lines]
    if dialect.rows == "derived":
        return [f"WITH {name} AS (", "  SELECT * FROM (VALUES", lines, f"  ) AS {name} ({', '.join(columns)})"]
    first = next(iter(records.values()))
    types = ["INT64", *(STRUCT_TYPES.get(type(value), "STRING") for value in map(_plain, first))]
    fields = ", ".join(f"{column} {type_}" for column, type_ in zip(columns, types, strict=True))
    return [f"WITH {name} AS (", f"  SELECT * FROM UNNEST(ARRAY<STRUCT<{fields}>>[", lines, "  ])"]


STRUCT_TYPES = {bool: "BOOL", int: "INT64", float: "FLOAT64"}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def case(head: str, cases: Sequence[tuple[str, list[str]]], otherwise: list[str] | None) -> list[str]:
    """Return the lines of a `CASE`, its contents indented; a text of several lines counts as one and is not changed.

    The last cases are left out if their result is that of all other rows, and a `CASE` for all other rows becomes part of this
    one.
    """
    kept = list(cases)
    while kept and kept[-1][1] == otherwise:
        kept.pop()
    if not kept:
        return ["NULL"] if otherwise is None else otherwise
    is_chain = otherwise is not None and head == otherwise[0] == "CASE"
    parts = [(f"  WHEN {question} THEN ", lines) for question, lines in kept]
    if otherwise is not None and not is_chain:
        parts.append(("  ELSE ", otherwise))
    inner = [line for start, lines in parts for line in (start + lines[0], *(f"  {line}" for line in lines[1:]))]
    chained = otherwise[1:-1] if otherwise is not None and is_chain else []
    return [head, *inner, *chained, "END"]
