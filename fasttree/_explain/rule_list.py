"""The paths of a tree as rules, one per node where samples end.

The rules have no order.  One rule covers each sample, or several cover parts of it if the tree divides samples.  `C45Rules` is
different: it selects and shortens rules on samples and puts them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from fasttree._data.encode import encode_table, missing_cell_of
from fasttree._data.schema import Schema
from fasttree._explain.path_rule import PathRule, RuleSource, rules_at
from fasttree._explain.rule_table import Backend, frame, html_table, markdown_table
from fasttree._export.sql import check_names
from fasttree._export.sql_dialect import DialectName
from fasttree._export.sql_text import ALWAYS, ColumnTexts, columns_of
from fasttree._export.subject import Subject, check_class, check_target
from fasttree._export.substitutes import Adapted, Medium, adapt, check_substitutes
from fasttree._learn.progress import each_of_many
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.paths import ends_of
from fasttree._model.tested import TestedTree
from fasttree._model.tree import Tree
from fasttree._model.words import Classes, by_target, check_count

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHOWN = 20  # rules in the repr
FORMULA_DECIMALS = 4  # of formulas in a data frame
SQL = Medium("SQL expression", refusal="gives NULL")


def rules_of(
    tree: Tree,
    schema: Schema,
    classes: Classes,
    *,
    simplify: bool = True,
    shown: tuple[Schema, Classes, Sequence[str]] | None = None,
    impurity: str = "",
    unseen: str = "as_missing",
    refuses_missing: Callable[[], bool] = bool,
    estimator_name: str = "this tree",
) -> RuleList:
    """Return a rule for every node of a tree where samples can end.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    classes : array, list of arrays, or None
        Class labels; a list if there are several targets; None for regression.
    simplify : bool, default True
        Whether to join conditions on the same feature; False: list the tests of the path in their order.
    shown : tuple of (Schema, Classes, list of str), optional
        Schema, classes and names of targets to show in words; by default those of the tree.
    impurity : str, default ""
        Impurity of the recipe, which determines the spread in regression.
    unseen : {"as_missing", "error"}
        Treatment of a category that the fit did not see, in `RuleList.matches` and in SQL.
    refuses_missing : function, default bool
        Says whether the model refuses a missing value, which is then an error in `RuleList.matches` and NULL in SQL.
    estimator_name : str
        Name for messages.

    Returns
    -------
    RuleList
        Rules from the first branch to the last.
    """
    labels = [each.tolist() for each in by_target(classes)]
    in_words = None if shown is None else (shown[0], [each.tolist() for each in by_target(shown[1])])
    targets = () if shown is None else tuple(shown[2])
    source = RuleSource(tree, schema, labels, simplify, unseen, estimator_name, refuses_missing, in_words, targets)
    return RuleList(list(rules_at(source, impurity)), source)


class RuleList(Sequence[PathRule]):
    """Rules of one tree: an immutable sequence that can be sorted, filtered and exported.

    The parts of a sample that all rules of a tree cover sum to 1; if the tree divides no samples, exactly one rule covers each.
    Their order has no meaning, and a filtered list leaves some samples without a rule.

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

    def __init__(self, rules: Iterable[PathRule], source: RuleSource) -> None:
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
        """Return whether two lists hold equal rules in the same order."""
        return self._rules == other._rules if isinstance(other, RuleList) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rules)

    def _with(self, rules: Iterable[PathRule]) -> RuleList:
        return RuleList(rules, self._source)

    @property
    def values(self) -> NDArray[np.float64]:
        """Class shares or means that each rule predicts, float64 of shape (n_rules, k)."""
        return np.array([rule.values for rule in self._rules]).reshape(len(self), self._source.tree.n_values)

    # --- selection

    def sort(self, by: str = "support", descending: bool = True) -> RuleList:
        """Return the rules sorted by a figure; the sort is stable.

        Parameters
        ----------
        by : {"support", "n_samples", "precision", "lift", "spread", "prediction", "n_conditions", "node"}, default "support"
            Figure to sort by, the least if there are several targets.  Rules without the figure come last.
        descending : bool, default True

        Returns
        -------
        RuleList

        Raises
        ------
        ValueError
            If `by` is not one of these.
        """
        if not isinstance(by, str) or by not in SORT_KEYS:
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
        """Return the rules that satisfy all given criteria.

        Parameters
        ----------
        label : object, optional
            Class that the rules predict; a tuple if there are several targets.
        feature : str, int, or sequence of them, optional
            Features, by name or column, on each of which a rule must have a condition.
        min_support : float, optional
            Minimum share of the training weight.
        min_precision, min_lift : float, optional
            Minimum of the figure, for each target if there are several.  Rules without the figure are dropped.
        max_conditions : int, optional
            Maximum number of conditions.

        Returns
        -------
        RuleList
            The rules in the same order.

        Raises
        ------
        ValueError
            If a class or feature does not exist, or a share is not in [0, 1].
        """
        for name, share in (("min_support", min_support), ("min_precision", min_precision)):
            if share is not None and not (isinstance(share, (int, float, np.number)) and 0 <= share <= 1):
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
            asked = list(feature) if isinstance(feature, Iterable) and not isinstance(feature, str) else [feature]
            columns = set(map(self._column, asked))
            rules = [rule for rule in rules if columns <= {condition.index for condition in rule.conditions}]
        return self._with(rules)

    def _checked_label(self, label: Any) -> Any:
        labels = self._source.labels
        if not labels:
            raise ValueError(f"label={label!r}: a regression tree has no classes; filter by the prediction of each rule")
        if len(labels) == 1 and not isinstance(label, np.ndarray) and label in labels[0]:
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
        if isinstance(feature, bool) or not isinstance(feature, (int, np.integer)) or not 0 <= feature < len(names):
            raise ValueError(f"feature={feature!r}: must be a name, or a column in [0, {len(names) - 1}]")
        return int(feature)

    # --- samples

    def matches(self, X: Any) -> csr_matrix:
        """Return the part of each sample that each rule covers, including surrogates and soft thresholds of the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of float64, shape (n_samples, n_rules)
            1 where a rule covers the whole sample.  The rows of a complete list sum to 1, and ``matches(X) @ rules.values`` is
            the prediction of the tree, unless its leaves have models.

        Raises
        ------
        ValueError, TypeError
            If `X` does not have the columns of the fit, or `predict` refuses its values.
        """
        from scipy.sparse import csr_matrix

        source = self._source
        table = encode_table(X, source.schema, unseen=source.unseen, estimator_name=source.estimator_name)
        if (cell := missing_cell_of(X, table)) and source.refuses_missing():
            raise ValueError(
                f"column {cell[0].name!r} has missing values (first: row {cell[1]}), which this {source.estimator_name} refuses: "
                "fill them in"
            )
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
        """Yield the condition and the prediction of each rule in words, and its figures."""
        for rule in each_of_many("writing rules", self._rules):
            figures = dict(rule._figure_texts(decimals))
            figures["samples"] = f"{rule.n_samples:,}"
            condition = rule._condition_text(max_categories, show_missing) or "always"
            yield condition, rule._prediction_text(decimals), figures

    def _columns(self) -> list[str]:
        if isinstance(self._source.tree, ModelTree):
            return ["support", "samples"]
        of_task = ["precision", "lift"] if self._source.labels else ["spread"]
        return ["support", "samples", *of_task, *["largest p"] * isinstance(self._source.tree, TestedTree)]

    def to_text(
        self,
        *,
        max_categories: int | None = None,
        decimals: int = 2,
        show_missing: bool | None = None,
        show_tests: bool = False,
    ) -> str:
        """Write the rules as text, one per line.

        Parameters
        ----------
        max_categories : int, optional
            Maximum number of categories to list in one condition; the rest are counted.  By default all are listed.
        decimals : int, default 2
            Number of decimals of lifts and means.
        show_missing : bool, optional
            Whether to mark conditions that a missing value passes, as in ``width > 3 or missing``.  By default only if it follows
            a branch that is not the heaviest of its node, or nothing else passes.  Elsewhere a missing value follows the
            heaviest branch, all branches in parts, or surrogates.
        show_tests : bool, default False
            With CHAID: whether to write below each rule a line for each significance test of its path, and for each merge.

        Returns
        -------
        str
            The lines, each with a newline at its end.

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        if max_categories is not None:
            check_count("max_categories", max_categories, 1)
        check_count("decimals", decimals, 0)
        style: dict[str, Any] = {"max_categories": max_categories, "decimals": decimals, "show_missing": show_missing}
        style["show_tests"] = show_tests
        return "".join(f"{rule.words(**style)}\n" for rule in each_of_many("writing rules", self._rules))

    def to_markdown(self, *, max_categories: int | None = None, decimals: int = 2, show_missing: bool | None = None) -> str:
        """Write the rules as a Markdown table; for the parameters see `to_text`."""
        if max_categories is not None:
            check_count("max_categories", max_categories, 1)
        check_count("decimals", decimals, 0)
        columns = self._columns()
        rows = self._cells(self._records(max_categories, decimals, show_missing), columns)
        return markdown_table(("rule", "prediction"), columns, rows)

    @staticmethod
    def _cells(records: Iterator[tuple[str, str, dict[str, str]]], columns: list[str]) -> list[list[str]]:
        return [[rule, prediction, *(figures.get(name, "") for name in columns)] for rule, prediction, figures in records]

    def to_frame(self, *, backend: Backend = "pandas", show_missing: bool | None = None) -> Any:
        """Return the rules as a data frame with one row per rule.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default "pandas"
        show_missing : bool, optional
            See `to_text`.

        Returns
        -------
        DataFrame or Table
            Columns ``rule`` (the conditions in words), ``prediction``, ``support``, ``weight``, ``n_samples``, ``precision`` and
            ``lift`` or ``spread`` (``formula`` if leaves have models), ``n_conditions`` and ``node``.  With several targets,
            columns of a target are numbered, as in ``prediction_0``.  Rules of CHAID also have ``largest_p_value``, the largest
            adjusted p-value of their tests, or None, and ``merges``, those of each test in words.

        Raises
        ------
        ValueError
            If `backend` is not one of these.
        ImportError
            If the backend is not installed.
        """
        return frame(self._frame_columns(show_missing), backend)

    def _frame_columns(self, show_missing: bool | None) -> dict[str, list[Any]]:
        rules = self._rules
        n_targets, tested = self._source.tree.n_outputs, isinstance(self._source.tree, TestedTree)

        def numbered(name: str) -> dict[str, list[Any]]:
            figures = [getattr(rule, name) for rule in rules]
            if n_targets == 1:
                return {name: figures}
            return {f"{name}_{i}": [None if part is None else part[i] for part in figures] for i in range(n_targets)}

        of_task = {**numbered("precision"), **numbered("lift")} if self._source.labels else {"spread": [r.spread for r in rules]}
        if isinstance(self._source.tree, ModelTree):
            of_task = {"formula": [self._source.formula(rule.node, FORMULA_DECIMALS) for rule in rules]}
        return {
            "rule": [rule._condition_text(None, show_missing) for rule in rules],
            **numbered("prediction"),
            "support": [rule.support for rule in rules],
            "weight": [rule.weight for rule in rules],
            "n_samples": [rule.n_samples for rule in rules],
            **of_task,
            **({"largest_p_value": [max(r.p_values, default=None) for r in rules]} if tested else {}),
            **({"merges": [" | ".join("; ".join(texts) for texts in r.merges) for r in rules]} if tested else {}),
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
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the rules as an SQL expression, one ``CASE``, that predicts as the tree does.

        Each feature is a column of the same name, in which missing values are NULL.  Numeric columns must be doubles, as the
        thresholds are.  A sample that no rule of the list covers gives NULL, and so does one that the model refuses because a
        feature of the tree is missing (``missing="error"``) or has an unseen category (``unseen="error"``).  If all rules of a
        tree have the same result, the expression is that result alone.

        Parameters
        ----------
        name : str, optional
            Name of the result: ``CASE ... END AS "name"``.
        target : int, default 0
            Index of the target to predict, if there are several.
        probability_of : object, optional
            Class whose probability the expression returns; by default it returns the predicted class or value.
        missing : {"majority", "error"}, optional
            Substitute for dividing samples with missing values and for surrogates, which SQL cannot do.  "majority": missing
            values follow the heaviest branch; "error": they give NULL.  A comment says so.  By default such a tree raises an
            error.
        soft : {"hard"}, optional
            Treat soft thresholds as hard ones, and say so in a comment; by default a tree with soft thresholds raises an error.
        dialect, cast, nan_as_missing
            See `CARTClassifier.export_sql`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the tree needs a substitute that is not requested, or a parameter is invalid.

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
        check_names(name, None, None)
        check_substitutes(missing, soft)
        check_target(target, self._source.tree.n_outputs)
        columns = columns_of(self._source.schema, dialect, cast, nan_as_missing)
        results = [columns.dialect.literal(result) for result in self._results(target, probability_of)]
        if isinstance(self._source.tree, ModelTree):
            models = self._source.tree.models_by_target[target]
            results = [columns.formula(self._source.schema, models, rule.node) for rule in self._rules]
        adapted, source = self._expressible(missing, soft)
        refusals = self._refusals(columns, missing)
        lines = [*refusals]
        for rule, result in zip(self._rules, results, strict=True):
            is_inner = self._source.tree.n_branches[rule.node] > 0
            if is_inner and (rule.node not in source.paths.stays or adapted.refused[rule.node]):
                continue
            tests = [columns.predicate(condition) for condition, _ in source.conditions(rule.node)]
            lines.append(f"  WHEN {' AND '.join(tests) or ALWAYS} THEN {result}")
        is_whole = len(self) == len(source.paths.ends) and not adapted.refused.any() and not refusals
        label = "" if name is None else f" AS {columns.dialect.identifier(name)}"
        comments = [f"/* {comment} */" for comment in adapted.notes]
        if is_whole and len(set(results)) == 1:
            return "\n".join([*comments, f"{results[0]}{label}"])
        return "\n".join([*comments, "CASE", *lines, f"END{label}"] if lines else [f"NULL{label}"])

    def _results(self, target: int, probability_of: Any) -> list[Any]:
        source = self._source
        several = source.tree.outputs is not None
        if probability_of is None:
            return [rule.prediction[target] if several else rule.prediction for rule in self._rules]
        check_class(probability_of, source.labels[target] if source.labels else [])
        column = sum(map(len, source.labels[:target])) + source.labels[target].index(probability_of)
        return list(map(float, self.values[:, column]))

    def _refusals(self, columns: ColumnTexts, missing: str | None) -> list[str]:
        """Write the cases of values that the model refuses, of the features that the tree tests."""
        source = self._source
        tested = [source.schema.features[i] for i in np.unique(source.tree.feature[source.tree.n_branches > 0]).tolist()]
        refused = map(columns.is_missing, tested if missing != "majority" and source.refuses_missing() else [])
        of_unseen = [each for each in tested if each.categories and source.unseen == "error"]
        unseen = [columns.is_other(each, each.categories or ()) for each in of_unseen]
        return [f"  WHEN {condition} THEN NULL" for condition in [*refused, *unseen]]

    def _expressible(self, missing: str | None, soft: str | None) -> tuple[Adapted, RuleSource]:
        """Return the tree in a form that SQL can represent."""
        adapted = adapt(Subject(self._source.tree, self._source.schema, None, ""), SQL, missing=missing, soft=soft)
        tree = adapted.subject.tree
        return adapted, self._source if tree is self._source.tree else replace(self._source, tree=tree)

    def __repr__(self) -> str:
        shown = "".join(f"\n{rule.words()}" for rule in self._rules[:SHOWN])
        more = f"\n… {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return f"<RuleList: {len(self)} rule{'' if len(self) == 1 else 's'}>{shown}{more}"

    def _repr_html_(self) -> str:
        columns = self._columns()
        more = f"<p>… {len(self) - SHOWN} more rules</p>" if len(self) > SHOWN else ""
        return html_table(("rule", "prediction"), columns, self._cells(self[:SHOWN]._records(None, 2, None), columns)) + more


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
