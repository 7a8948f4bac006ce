"""The paths of a tree as rules: every place where a sample can end, what leads there, and what is predicted there.

The rules of a tree have no order and divide all samples among them: each is taken by one rule, or in parts by several where
the tree divides samples.  (`C45Rules` is another thing: rules chosen and shortened on samples, in an order.)  This file knows
trees and the names of their features, and no estimators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from . import _sql
from ._conditions import Condition
from ._exports.subject import Subject, check_class, check_target
from ._exports.substitutes import Adapted, Medium, adapt, check_substitutes
from ._paths import Paths, ends_of
from ._table import Schema, encode_table
from ._tree import Tree
from ._words import Classes, by_target, check_count, fixed, mean_text, percent, threshold_texts, word

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["PathRule", "RuleList", "rules_of"]

SHOWN = 20  # rules that a notebook shows unasked
SQL = Medium("SQL expression", refusal="gives NULL")
BACKENDS = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class _Source:
    """The tree that rules are made of, and what else they need of it."""

    tree: Tree
    schema: Schema
    labels: list[list[Any]]  # of each target its classes; none for regression
    simplify: bool
    unseen: str
    estimator_name: str

    @cached_property
    def paths(self) -> Paths:
        return Paths(self.tree, self.schema)

    def conditions(self, end: int) -> list[tuple[Condition, bool]]:
        """What leads to an end, and whether missing values that pass stray."""
        return self.paths.merged(end) if self.simplify else self.paths.tests(end)

    @cached_property
    def thresholds(self) -> dict[tuple[int, float], str]:
        """How to write thresholds so that those of the tree stay apart."""
        conditions = [condition for condition in self.paths.own if condition is not None]
        return threshold_texts({pair for condition in conditions for pair in condition.thresholds()})


@dataclass(frozen=True, eq=False)
class PathRule:
    """If all conditions hold, then this prediction: the path to one place of a tree where samples end.

    That is a leaf, or an inner node where samples stop whose value is missing.

    Attributes
    ----------
    node : int
        Id of the node where the path ends.
    prediction : object
        The class, or the value in regression; of several targets a tuple.
    values : tuple of float
        Share of each class in the order of `classes_` (of one target after the other), or the values.
    support : float
        Share of the training weight that ended there.
    weight : float
        That weight.
    n_samples : int
        Training samples that ended there, in whole or in part.
    precision : float, tuple of float, or None
        Share of the predicted class in the node, of several targets a tuple; None in regression, and where no sample came.
    lift : float, tuple of float, or None
        Precision over the share of that class in the whole tree.
    spread : float or None
        Of the targets around the prediction, in their unit: the standard deviation, or for absolute error the mean absolute
        deviation; None otherwise.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> X, y = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]], ["ripe", "unripe", "unripe", "unripe"]
    >>> model = CARTClassifier().fit(X, y)
    >>> rule = model.to_rules()[0]
    >>> rule.prediction, rule.support, rule.precision
    ('unripe', 0.75, 1.0)
    >>> [str(condition) for condition in rule.conditions]
    ['x1 <= 2.5 or missing']
    """

    node: int
    prediction: Any
    values: tuple[float, ...]
    support: float
    weight: float
    n_samples: int
    precision: float | tuple[float, ...] | None
    lift: float | tuple[float, ...] | None
    spread: float | None
    _source: _Source = field(repr=False)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What a sample must satisfy: a condition per feature, or one per test on the path if the rules are not simplified.

        Found anew each time, in time linear in the depth of the node: all rules of a deep tree together may have very many.
        """
        return tuple(condition for condition, _ in self._source.conditions(self.node))

    def __eq__(self, other: object) -> bool:
        """Whether the two say the same of the same node."""
        if not isinstance(other, PathRule):
            return NotImplemented
        same = self._figures() == other._figures()
        return same and (self._source is other._source or self.conditions == other.conditions)

    def _figures(self) -> tuple[Any, ...]:
        return (
            self.node, self.prediction, self.values, self.support, self.weight, self.n_samples, self.precision, self.lift,
            self.spread,
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.node, self.values))

    def __str__(self) -> str:
        return self.words()

    def words(self, *, max_categories: int | None = None, decimals: int = 2, show_missing: bool | None = None) -> str:
        """Write the rule: ``if 2 < width <= 5 and colour = red then yes  (support 36 %, 5 samples, precision 80 %, lift 1.4)``.

        Parameters
        ----------
        max_categories : int, optional
            Categories to name in one condition; the rest are counted.  By default all.
        decimals : int, default 2
            Digits after the point of lifts and means.
        show_missing : bool, optional
            Whether conditions say that a missing value passes too, as in ``width > 3 or missing``.  By default where it follows a
            branch that is not the heaviest of its node, and where nothing else passes.

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        if max_categories is not None:
            check_count("max_categories", max_categories, 1)
        check_count("decimals", decimals, 0)
        figures = ", ".join(f"{name} {text}" if name != "samples" else text for name, text in self._figure_texts(decimals))
        condition = self._condition_text(max_categories, show_missing)
        return f"{f'if {condition} then' if condition else 'always'} {self._prediction_text(decimals)}  ({figures})"

    def _condition_text(self, max_categories: int | None, show_missing: bool | None) -> str:
        thresholds = self._source.thresholds
        texts = [
            condition.words(
                thresholds,
                max_categories=max_categories,
                show_missing=strays if show_missing is None else show_missing,
            )
            for condition, strays in self._source.conditions(self.node)
        ]
        if len(texts) == 1:
            return texts[0]
        return " and ".join(f"({text})" if " or " in text else text for text in texts)

    def _prediction_text(self, decimals: int) -> str:
        several = self.prediction if isinstance(self.prediction, tuple) else (self.prediction,)
        if self._source.labels:
            return " | ".join(map(word, several))
        return " | ".join(mean_text(mean, decimals) for mean in several)

    def _figure_texts(self, decimals: int) -> Iterator[tuple[str, str]]:
        yield "support", percent(self.support)
        yield "samples", f"{self.n_samples:,} sample{'' if self.n_samples == 1 else 's'}"
        for name, share in (("precision", self.precision), ("lift", self.lift)):
            if share is not None:
                several = share if isinstance(share, tuple) else (share,)
                yield name, " | ".join(percent(part) if name == "precision" else fixed(part, decimals) for part in several)
        if self.spread is not None:
            yield "spread", mean_text(self.spread, decimals)


def rules_of(
    tree: Tree,
    schema: Schema,
    classes: Classes,
    *,
    simplify: bool = True,
    impurity: str = "",
    unseen: str = "as_missing",
    estimator_name: str = "this tree",
) -> RuleList:
    """Make a rule of every place of a tree where a sample can end.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    classes : array, list of arrays, or None
        Class labels; of several targets a list; None for regression.
    simplify : bool, default True
        Whether conditions on one feature are joined; else the tests of the path stand in their order.
    impurity : str, default ""
        What the recipe calls the impurity of regression: tells what the spread is.
    unseen : {"as_missing", "error"}
        Of a category that the fit did not know, in `RuleList.matches`.
    estimator_name : str
        For messages.

    Returns
    -------
    RuleList
        From the first branch to the last.
    """
    source = _Source(tree, schema, [labels.tolist() for labels in by_target(classes)], simplify, unseen, estimator_name)
    return RuleList(list(_rules(source, impurity)), source)


def _rules(source: _Source, impurity: str) -> Iterator[PathRule]:
    tree = source.tree
    values = tree.predictions()
    stopped, n_stopped = _stopping(tree)
    answers = tree.label.reshape(tree.node_count, -1) if tree.outputs is not None and source.labels else None
    several = tree.outputs is not None
    for node in source.paths.ends:
        row = values[node]
        inner = tree.n_branches[node] > 0
        weight, n_samples = (stopped[node], n_stopped[node]) if inner else (tree.weight[node], tree.n_samples[node])
        precision: tuple[float, ...] | None = None
        lift: tuple[float, ...] | None = None
        prediction = tuple(row.tolist())
        if source.labels:
            chosen = [int(tree.answer[node])] if answers is None else answers[node].tolist()
            prediction = tuple(labels[i] for labels, i in zip(source.labels, chosen, strict=True))
            if weight > 0:
                here, prior = tree.by_output(row), tree.by_output(values[0])
                precision = tuple(float(part[i]) for part, i in zip(here, chosen, strict=True))
                lift = tuple(float(part[i] / all_[i]) for part, all_, i in zip(here, prior, chosen, strict=True))
        yield PathRule(
            int(node),
            prediction if several else prediction[0],
            tuple(row.tolist()),
            float(weight / tree.weight[0]),
            float(weight),
            int(n_samples),
            precision if several or precision is None else precision[0],
            lift if several or lift is None else lift[0],
            None if several or weight == 0 else _spread(tree, node, impurity),
            source,
        )


def _stopping(tree: Tree) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Weight and number of the training samples that stopped in each inner node whose missing values stop."""
    weight = tree.weight - np.bincount(tree.parent[1:], weights=tree.weight[1:], minlength=tree.node_count)
    n_samples = tree.n_samples - np.bincount(tree.parent[1:], weights=tree.n_samples[1:], minlength=tree.node_count)
    # nobody stopped where nothing but rounding is left
    return np.where(n_samples > 0, np.maximum(weight, 0.0), 0.0), np.maximum(n_samples, 0).astype(np.int64)


def _spread(tree: Tree, node: int, impurity: str) -> float | None:
    if impurity == "squared_error":
        return math.sqrt(tree.impurity[node])
    return float(tree.impurity[node]) if impurity == "absolute_error" else None


class RuleList(Sequence[PathRule]):
    """Rules of one tree: an immutable sequence that can be sorted, filtered and written.

    All rules of a tree divide the samples among them: the parts of a sample that they take sum to 1, and where the tree divides
    none, each is taken by exactly one rule.  So their order means nothing, and a filtered list leaves samples without a rule.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> X, y = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]], ["ripe", "unripe", "unripe", "unripe"]
    >>> model = CARTClassifier().fit(X, y)
    >>> model.to_rules().sort("lift")
    <RuleList: 2 rules>
    if x1 > 2.5 then ripe  (support 25 %, 1 sample, precision 100 %, lift 4)
    if x1 <= 2.5 then unripe  (support 75 %, 3 samples, precision 100 %, lift 1.33)
    """

    def __init__(self, rules: Iterable[PathRule], source: _Source) -> None:
        self._rules = tuple(rules)
        self._source = source

    @overload
    def __getitem__(self, index: int) -> PathRule: ...
    @overload
    def __getitem__(self, index: slice) -> RuleList: ...
    def __getitem__(self, index: int | slice) -> PathRule | RuleList:
        return self._with(self._rules[index]) if isinstance(index, slice) else self._rules[index]

    def __len__(self) -> int:
        return len(self._rules)

    def __eq__(self, other: object) -> bool:
        """Whether the two hold equal rules in the same order."""
        return self._rules == other._rules if isinstance(other, RuleList) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    def _with(self, rules: Iterable[PathRule]) -> RuleList:
        return RuleList(rules, self._source)

    @property
    def values(self) -> NDArray[np.float64]:
        """What each rule predicts, float64 of shape (n_rules, k): class shares, or means."""
        return np.array([rule.values for rule in self._rules]).reshape(len(self), self._source.tree.n_outputs_or_classes)

    # --- choosing

    def sort(self, by: str = "support", descending: bool = True) -> RuleList:
        """Return the rules in the order of a figure; equal ones keep their order.

        Parameters
        ----------
        by : {"support", "n_samples", "precision", "lift", "spread", "prediction", "n_conditions", "node"}, default "support"
            Of several targets the least counts.  Rules that have no such figure come last.
        descending : bool, default True

        Returns
        -------
        RuleList

        Raises
        ------
        ValueError
            If there is no such figure.
        """
        if by not in SORT_KEYS:
            raise ValueError(f"by={by!r}: must be one of {', '.join(map(repr, SORT_KEYS))}")
        key = SORT_KEYS[by]
        keys = {id(rule): key(rule) for rule in self._rules}
        with_key = [rule for rule in self._rules if keys[id(rule)] is not None]
        without = [rule for rule in self._rules if keys[id(rule)] is None]
        return self._with(sorted(with_key, key=lambda rule: keys[id(rule)], reverse=descending) + without)

    def filter(
        self,
        *,
        label: Any = None,
        feature: str | int | Sequence[str | int] | None = None,
        min_support: float | None = None,
        min_precision: float | None = None,
        min_lift: float | None = None,
        max_conditions: int | None = None,
    ) -> RuleList:
        """Return the rules that meet all that is asked.

        Parameters
        ----------
        label : object, optional
            The class that they predict; of several targets a tuple.
        feature : str, int, or sequence of them, optional
            Features that they must have conditions on, by name or column: all of them.
        min_support : float, optional
            Least share of the training weight.
        min_precision, min_lift : float, optional
            Of several targets each must reach it.  A rule without such a figure does not.
        max_conditions : int, optional
            Most conditions.

        Returns
        -------
        RuleList
            In the same order.

        Raises
        ------
        ValueError
            If there is no such class or feature, or a share is not in [0, 1].
        """
        for name, share in (("min_support", min_support), ("min_precision", min_precision)):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"{name}={share!r}: must be a share in [0, 1], such as 0.9 for 90 %")
        rules: Iterable[PathRule] = self._rules
        if label is not None:
            wanted = self._checked_label(label)
            rules = [rule for rule in rules if rule.prediction == wanted]
        if min_support is not None:
            rules = [rule for rule in rules if rule.support >= min_support]
        for least, key in ((min_precision, SORT_KEYS["precision"]), (min_lift, SORT_KEYS["lift"])):
            if least is not None:
                rules = [rule for rule in rules if (figure := key(rule)) is not None and figure >= least]
        if max_conditions is not None:
            rules = [rule for rule in rules if len(rule.conditions) <= max_conditions]
        if feature is not None:
            asked = [feature] if isinstance(feature, (str, int, np.integer)) else list(feature)
            columns = set(map(self._column, asked))
            rules = [rule for rule in rules if columns <= {condition.index for condition in rule.conditions}]
        return self._with(rules)

    def _checked_label(self, label: Any) -> Any:
        labels = self._source.labels
        if not labels:
            raise ValueError(f"label={label!r}: a regression tree has no classes; filter by the prediction of each rule")
        if len(labels) == 1 and label in labels[0]:
            return label
        is_tuple = len(labels) > 1 and isinstance(label, tuple) and len(label) == len(labels)
        if is_tuple and all(one in known for one, known in zip(label, labels, strict=True)):
            return label
        allowed = f"one of {labels[0]}" if len(labels) == 1 else f"a tuple of a class of each of the {len(labels)} targets"
        raise ValueError(f"label={label!r}: must be {allowed}")

    def _column(self, feature: str | int) -> int:
        names = [described.name for described in self._source.schema.features]
        if isinstance(feature, str):
            if feature not in names:
                raise ValueError(f"feature={feature!r}: the tree knows no such feature; it knows {', '.join(names)}")
            return names.index(feature)
        if not 0 <= feature < len(names):
            raise ValueError(f"feature={feature!r}: must be a name, or a column in [0, {len(names) - 1}]")
        return int(feature)

    # --- samples

    def matches(self, X: Any) -> csr_matrix:
        """Return the part of each sample that each rule takes, as the tree finds it: also by surrogates and soft thresholds.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of float64, shape (n_samples, n_rules)
            1 where a rule takes the whole sample; rows of the complete list sum to 1.  ``matches(X) @ rules.values`` is then what
            the tree predicts.
        """
        from scipy.sparse import csr_matrix

        source = self._source
        table = encode_table(X, source.schema, unseen=source.unseen, estimator_name=source.estimator_name)
        place = np.full(source.tree.node_count, -1, dtype=np.intp)
        place[[rule.node for rule in self._rules]] = np.arange(len(self))
        rows, nodes, parts = ends_of(source.tree, table)
        known = place[nodes] >= 0
        shape = (table.n_samples, len(self))
        return csr_matrix((parts[known], (rows[known], place[nodes[known]])), shape=shape)

    # --- writing

    def _records(
        self, max_categories: int | None, decimals: int, show_missing: bool | None
    ) -> Iterator[tuple[str, str, dict[str, str]]]:
        """Of each rule the words of its condition, of its prediction, and its figures."""
        for rule in self._rules:
            figures = dict(rule._figure_texts(decimals))
            figures["samples"] = f"{rule.n_samples:,}"
            condition = rule._condition_text(max_categories, show_missing) or "always"
            yield condition, rule._prediction_text(decimals), figures

    def _columns(self) -> list[str]:
        return ["support", "samples", *(["precision", "lift"] if self._source.labels else ["spread"])]

    def to_text(self, *, max_categories: int = 12, decimals: int = 2, show_missing: bool | None = None) -> str:
        """Write the rules in text, a line each.

        Parameters
        ----------
        max_categories : int, default 12
            Categories to name in one condition; the rest are counted.
        decimals : int, default 2
            Digits after the point of lifts and means.
        show_missing : bool, optional
            Whether conditions say that a missing value passes too, as in ``width > 3 or missing``.  By default where it follows a
            branch that is not the heaviest of its node, and where nothing else passes: elsewhere a missing value goes with most
            samples, is shared out, or follows surrogates.

        Returns
        -------
        str
            Lines, each ended by a newline.

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        check_count("max_categories", max_categories, 1)
        check_count("decimals", decimals, 0)
        style: dict[str, Any] = {"max_categories": max_categories, "decimals": decimals, "show_missing": show_missing}
        return "".join(f"{rule.words(**style)}\n" for rule in self._rules)

    def to_markdown(self, *, max_categories: int = 12, decimals: int = 2, show_missing: bool | None = None) -> str:
        """Write the rules as a Markdown table; parameters as for `to_text`."""
        check_count("max_categories", max_categories, 1)
        check_count("decimals", decimals, 0)
        columns = self._columns()
        lines = [["rule", "prediction", *columns], ["---", "---", *["---:"] * len(columns)]]
        for rule, prediction, figures in self._records(max_categories, decimals, show_missing):
            lines.append([_cell(rule), _cell(prediction), *(_cell(figures.get(name, "")) for name in columns)])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def to_frame(self, *, backend: Literal["pandas", "polars", "pyarrow"] = "pandas", show_missing: bool | None = None) -> Any:
        """Return the rules as a data frame, a row each.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"
        show_missing : bool, optional
            As for `to_text`.

        Returns
        -------
        DataFrame or Table
            Columns ``rule`` (the conditions in words), ``prediction``, ``support``, ``weight``, ``n_samples``, then ``precision``
            and ``lift`` or ``spread``, ``n_conditions`` and ``node``. Of several targets those of each are numbered, as
            ``prediction_0``.

        Raises
        ------
        ValueError
            If there is no such backend.
        ImportError
            If it is not installed.
        """
        if backend not in BACKENDS:
            raise ValueError(f"backend={backend!r}: must be one of {', '.join(map(repr, BACKENDS))}")
        import narwhals.stable.v2 as nw

        try:
            return nw.from_dict(self._frame_columns(show_missing), backend=backend).to_native()
        except ModuleNotFoundError as error:
            raise ImportError(f"to_frame(backend={backend!r}) needs {backend}: install it, or choose another backend") from error

    def _frame_columns(self, show_missing: bool | None) -> dict[str, list[Any]]:
        rules = self._rules
        n_targets = self._source.tree.n_outputs

        def numbered(name: str) -> dict[str, list[Any]]:
            figures = [getattr(rule, name) for rule in rules]
            if n_targets == 1:
                return {name: figures}
            return {f"{name}_{i}": [None if part is None else part[i] for part in figures] for i in range(n_targets)}

        of_task = {**numbered("precision"), **numbered("lift")} if self._source.labels else {"spread": [r.spread for r in rules]}
        return {
            "rule": [rule._condition_text(None, show_missing) for rule in rules],
            **numbered("prediction"),
            "support": [rule.support for rule in rules],
            "weight": [rule.weight for rule in rules],
            "n_samples": [rule.n_samples for rule in rules],
            **of_task,
            "n_conditions": [len(rule.conditions) for rule in rules],
            "node": [rule.node for rule in rules],
        }

    def to_sql(
        self,
        *,
        name: str | None = None,
        target: int = 0,
        probability_of: Any = None,
        missing: str | None = None,
        soft: str | None = None,
    ) -> str:
        """Write the rules as an SQL expression, one ``CASE``, that predicts as the tree does.

        Standard SQL that SQLite, DuckDB and PostgreSQL read: a column per feature, of its name, NULL where the value is missing
        (not NaN). Thresholds are written so that they are read as the same doubles, which columns must be, too.  A sample that no
        rule of the list takes gives NULL.  SQLite takes TRUE and FALSE, as truth values are written, for columns of these names
        where the table has such.

        Parameters
        ----------
        name : str, optional
            Name of the result: ``CASE ... END AS "name"``.
        target : int, default 0
            Which of several targets.
        probability_of : object, optional
            A class whose probability is wanted; by default the result is the predicted class, or the value.
        missing : {"majority", "error"}, optional
            What happens to missing values where the tree shares samples out among branches or asks surrogates, which SQL cannot:
            they follow the heaviest branch, or give NULL.  A comment in the expression says so.  By default such a tree is
            refused.
        soft : {"hard"}, optional
            Take soft thresholds for hard ones, which a comment says; by default such a tree is refused.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If SQL cannot express the rules and no substitute is named, or a parameter is not as stated.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"])
        >>> print(model.to_rules().to_sql(name="label"))
        CASE
          WHEN "x0" <= 1.5 THEN 'a'
          WHEN ("x0" > 1.5 AND "x0" <= 3.5 OR "x0" IS NULL) THEN 'b'
          WHEN "x0" > 3.5 THEN 'a'
        END AS "label"
        """
        self._check_sql_choices(name, target, missing, soft)
        results = [_sql.literal(result) for result in self._results(target, probability_of)]
        adapted, source = self._expressible(missing, soft)
        lines = []
        for rule, result in zip(self._rules, results, strict=True):
            is_inner = self._source.tree.n_branches[rule.node] > 0
            if is_inner and (rule.node not in source.paths.stays or adapted.refused[rule.node]):
                continue
            tests = [_sql.predicate(condition) for condition, _ in source.conditions(rule.node)]
            lines.append(f"  WHEN {' AND '.join(tests) or _sql.ALWAYS} THEN {result}")
        if not lines:
            return "NULL" if name is None else f"NULL AS {_sql.identifier(name)}"
        end = "END" if name is None else f"END AS {_sql.identifier(name)}"
        return "\n".join([*(f"/* {comment} */" for comment in adapted.notes), "CASE", *lines, end])

    def _check_sql_choices(self, name: str | None, target: int, missing: str | None, soft: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"name={name!r}: must be a string or None")
        check_substitutes(missing, soft)
        check_target(target, self._source.tree.n_outputs)

    def _results(self, target: int, probability_of: Any) -> list[Any]:
        source = self._source
        several = source.tree.outputs is not None
        if probability_of is None:
            return [rule.prediction[target] if several else rule.prediction for rule in self._rules]
        check_class(probability_of, source.labels[target] if source.labels else [])
        column = sum(map(len, source.labels[:target])) + source.labels[target].index(probability_of)
        return list(map(float, self.values[:, column]))

    def _expressible(self, missing: str | None, soft: str | None) -> tuple[Adapted, _Source]:
        """The tree as SQL can follow it."""
        adapted = adapt(Subject(self._source.tree, self._source.schema, None, ""), SQL, missing=missing, soft=soft)
        tree = adapted.subject.tree
        return adapted, self._source if tree is self._source.tree else replace(self._source, tree=tree)

    def __repr__(self) -> str:
        shown = "".join(f"\n{rule.words(max_categories=6)}" for rule in self._rules[:SHOWN])
        more = f"\n… {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return f"<RuleList: {len(self)} rule{'' if len(self) == 1 else 's'}>{shown}{more}"

    def _repr_html_(self) -> str:
        columns = self._columns()
        left = ' style="text-align: left"'
        head = f"<th{left}>rule</th><th{left}>prediction</th>" + "".join(f"<th>{name}</th>" for name in columns)
        rows = [
            f"<td{left}>{escape(rule)}</td><td{left}>{escape(prediction)}</td>"
            + "".join(f"<td>{escape(figures.get(name, ''))}</td>" for name in columns)
            for rule, prediction, figures in self[:SHOWN]._records(6, 2, None)
        ]
        more = f"<p>… {len(self) - SHOWN} more rules</p>" if len(self) > SHOWN else ""
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _least(figure: float | tuple[float, ...] | None) -> float | None:
    return min(figure) if isinstance(figure, tuple) else figure


SORT_KEYS: dict[str, Callable[[PathRule], Any]] = {
    "support": lambda rule: rule.support,
    "n_samples": lambda rule: rule.n_samples,
    "precision": lambda rule: _least(rule.precision),
    "lift": lambda rule: _least(rule.lift),
    "spread": lambda rule: rule.spread,
    "prediction": lambda rule: rule.prediction,
    "n_conditions": lambda rule: len(rule.conditions),
    "node": lambda rule: rule.node,
}


def _cell(text: str) -> str:
    """Escape what Markdown would take for the end of a cell, or for markup."""
    text = escape(text, quote=False)
    for mark in "\\|*_`[]":
        text = text.replace(mark, f"\\{mark}")
    return text
