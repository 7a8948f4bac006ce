"""One rule of a tree: the conditions of a path, and the figures of the samples that end there."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Category, Schema
from fasttree._learn.progress import each_of_many
from fasttree._model.conditions import Condition
from fasttree._model.linear.model_tree import LinearModels, ModelTree
from fasttree._model.paths import Paths
from fasttree._model.tested import TestedTree, merge_texts, p_text, split_text
from fasttree._model.tree import Tree
from fasttree._model.words import Words, check_count, fixed, mean_text, percent, threshold_texts, word


@dataclass(frozen=True, eq=False)
class RuleSource:
    """The tree of some rules, and what else the rules need."""

    tree: Tree
    schema: Schema
    labels: list[list[Any]]  # the classes of each target; empty for regression
    simplify: bool
    unseen: str
    estimator_name: str
    refuses_missing: Callable[[], bool]
    shown: tuple[Schema, list[list[Any]]] | None = None  # schema and labels in words, if others than those of the fit
    targets: tuple[str, ...] = ()  # names, which formulas begin with

    def in_words(self, condition: Condition) -> Condition:
        """Return a condition with the labels of its feature and categories."""
        if self.shown is None:
            return condition
        index = condition.index
        return condition.relabelled(self.schema.features[index], self.shown[0].features[index])

    def class_word(self, target: int, label: Any) -> str:
        """Write a class of a target."""
        if self.shown is not None:
            label = self.shown[1][target][self.labels[target].index(label)]
        return word(label)

    def formula(self, node: int, decimals: int) -> str:
        """Write the models of a leaf: ``price = 12.3 + 0.51 horsepower``; "" for a tree without models."""
        if not isinstance(self.tree, ModelTree):
            return ""
        words = self.words(decimals)
        each = zip(words.targets, words.answers(node), strict=True)
        return " | ".join(f"{name} = {answer}" if name else answer for name, answer in each)

    def words(self, decimals: int = 2) -> Words:
        """Return the words of the tree."""
        if decimals not in self._words:
            schema, labels = (self.schema, self.labels) if self.shown is None else self.shown
            classes = [np.array(each, dtype=object) for each in labels] or None
            self._words[decimals] = Words(self.tree, schema, classes, decimals=decimals, targets=self.targets)
        return self._words[decimals]

    @cached_property
    def _words(self) -> dict[int, Words]:
        return {}

    @cached_property
    def paths(self) -> Paths:
        return Paths(self.tree, self.schema)

    def conditions(self, end: int) -> list[tuple[Condition, bool]]:
        """Return the conditions of an end, and whether missing values pass each without following the heaviest branch."""
        return self.paths.merged(end) if self.simplify else self.paths.tests(end)

    @cached_property
    def thresholds(self) -> dict[tuple[int, float], str]:
        """Texts of the thresholds, short but distinct."""
        conditions = [condition for condition in self.paths.own if condition is not None]
        return threshold_texts({pair for condition in conditions for pair in condition.thresholds()})


class LeafModel(NamedTuple):
    """The linear model of a leaf.

    It predicts the intercept plus the terms, added in their order, moved into the bounds.

    Attributes
    ----------
    intercept : float
    terms : dict of str, or of tuple (str, category), to float
        Coefficient of each feature that has a term, in the order of the columns, then of each indicator: the feature and the
        category of its 1.
    lower, upper : float
        Bounds of the prediction; infinite for none.
    """

    intercept: float
    terms: dict[str | tuple[str, Category], float]
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class PathRule:
    """A rule of a tree: the conditions of the path to a node where samples end, and the prediction there.

    The node is a leaf, or an inner node where missing values stop samples.

    Attributes
    ----------
    node : int
        Id of the node where the path ends.
    prediction : object
        Predicted class, or value in regression; a tuple if there are several targets.
    values : tuple of float
        Share of each class in the order of `classes_` (one target after the other), or the values.
    support : float
        Share of the training weight that ends there.
    weight : float
        Training weight that ends there.
    n_samples : int
        Number of training samples that end there, in whole or in part.
    precision : float, tuple of float, or None
        Share of the predicted class in the node; a tuple if there are several targets.  None in regression, and for a node
        without samples.
    lift : float, tuple of float, or None
        Precision divided by the share of that class in the whole tree.
    spread : float or None
        Standard deviation of the targets around the prediction, or mean absolute deviation for absolute error; None otherwise.
    model : LeafModel, tuple of LeafModel, or None
        The linear model of the leaf, if it has one; a tuple if there are several targets.  `prediction` and `values` are then the
        means of its training samples.
    p_values : tuple of float
        Adjusted p-values of the tests of the path, from the root on, as trees of CHAID have them; else empty.
    merges : tuple of tuple of str
        For each of these tests, how the categories of its feature merged to the branches, in words and in order.

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
    _source: RuleSource = field(repr=False)

    @property
    def model(self) -> LeafModel | tuple[LeafModel, ...] | None:
        tree = self._source.tree
        if not isinstance(tree, ModelTree):
            return None
        found = tuple(map(self._model_of, tree.models_by_target))
        return found[0] if tree.outputs is None else found

    def _model_of(self, models: LinearModels) -> LeafModel:
        """Return the model of one target."""
        features = self._source.schema.features
        terms: dict[str | tuple[str, Category], float] = {}
        for column, coefficient in models.terms(self.node):
            index, code = models.source(column)
            name, categories = features[index].name, features[index].categories or ()
            terms[(name, categories[code - 1]) if code else name] = coefficient
        intercept, lower, upper = (float(array[self.node]) for array in (models.intercept, models.lower, models.upper))
        return LeafModel(intercept, terms, lower, upper)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions of the rule, one per feature, or one per test of the path if the rules are not simplified.

        They are computed on each access, in time linear in the depth of the node: the rules of a deep tree may have very many.
        """
        return tuple(condition for condition, _ in self._source.conditions(self.node))

    @property
    def p_values(self) -> tuple[float, ...]:
        """Adjusted p-values of the tests of the path, from the root on, as trees of CHAID have them; else empty."""
        return tuple(math.exp(log) for log in self._log_p_values())

    @property
    def merges(self) -> tuple[tuple[str, ...], ...]:
        """How categories merged at each test of the path, from the root on, as trees of CHAID have it; else empty."""
        return tuple(tuple(merge_texts(self._source.words(), node)) for node in self._tested())

    def _tested(self) -> list[int]:
        """Return the nodes on the path whose branches have a test, from the root on."""
        tree, node = self._source.tree, self.node
        found: list[int] = []
        while isinstance(tree, TestedTree) and node > 0:
            node = int(tree.parent[node])
            found += [] if tree.tests[node].split is None else [node]
        return found[::-1]

    def _test_lines(self) -> Iterator[str]:
        """Write each test of the path, and below it how categories merged."""
        words, names = self._source.words(), self._source.words().names
        for node in self._tested():
            yield f"    {names[self._source.tree.feature[node]]}: {split_text(words, node)}"
            yield from (f"        merged: {text}" for text in merge_texts(words, node))

    def _log_p_values(self) -> list[float]:
        tree, nodes = self._source.tree, self._tested()
        tests = [tree.tests[node].split for node in nodes] if isinstance(tree, TestedTree) else []
        return [test.log_adjusted_p_value for test in tests if test is not None]

    def __eq__(self, other: object) -> bool:
        """Return whether two rules have the same node, figures and conditions."""
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

    def words(
        self,
        *,
        max_categories: int | None = None,
        decimals: int = 2,
        show_missing: bool | None = None,
        show_tests: bool = False,
    ) -> str:
        """Write the rule: ``if 2 < width <= 5 and colour = red then yes  (support 36 %, 5 samples, precision 80 %, lift 1.4)``.

        Parameters
        ----------
        max_categories : int, optional
            Maximum number of categories to list in one condition; the rest are counted.  By default all.
        decimals : int, default 2
            Number of decimals of lifts and means.
        show_missing : bool, optional
            Whether to mark conditions that a missing value passes, as in ``width > 3 or missing``.  By default only if it follows
            a branch that is not the heaviest of its node, or nothing else passes.
        show_tests : bool, default False
            With CHAID: whether to write below the rule a line for each significance test of its path, and for each merge.

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
        line = f"{f'if {condition} then' if condition else 'always'} {self._prediction_text(decimals)}  ({figures})"
        return "\n".join([line, *self._test_lines()]) if show_tests else line

    def _condition_text(self, max_categories: int | None, show_missing: bool | None) -> str:
        thresholds = self._source.thresholds
        texts = [
            self._source.in_words(condition).words(
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
        if formula := self._source.formula(self.node, decimals):
            return formula
        several = self.prediction if isinstance(self.prediction, tuple) else (self.prediction,)
        if self._source.labels:
            return " | ".join(itertools.starmap(self._source.class_word, enumerate(several)))
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
        if log_p_values := self._log_p_values():
            yield "largest p", p_text(max(log_p_values))


def rules_at(source: RuleSource, impurity: str) -> Iterator[PathRule]:
    tree = source.tree
    values = tree.predict_nodes()
    stopped, n_stopped = _stopping(tree)
    answers = tree.predicted_classes if tree.outputs is not None and source.labels else None
    several = tree.outputs is not None
    for node in each_of_many("finding rules", source.paths.ends):
        row = values[node]
        inner = tree.n_branches[node] > 0
        weight, n_samples = (stopped[node], n_stopped[node]) if inner else (tree.weight[node], tree.n_samples[node])
        precision: tuple[float, ...] | None = None
        lift: tuple[float, ...] | None = None
        prediction = tuple(row.tolist())
        if source.labels:
            chosen = [int(tree.predicted_class[node])] if answers is None else answers[node].tolist()
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
            None if several or weight == 0 or isinstance(tree, ModelTree) else _spread(tree, node, impurity),
            source,
        )


def _stopping(tree: Tree) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return weight and number of the training samples that stop in each inner node."""
    weight = tree.weight - np.bincount(tree.parent[1:], weights=tree.weight[1:], minlength=tree.node_count)
    n_samples = tree.n_samples - np.bincount(tree.parent[1:], weights=tree.n_samples[1:], minlength=tree.node_count)
    # without stopped samples, the weight is only rounding
    return np.where(n_samples > 0, np.maximum(weight, 0.0), 0.0), np.maximum(n_samples, 0).astype(np.int64)


def _spread(tree: Tree, node: int, impurity: str) -> float | None:
    if impurity == "squared_error":
        return math.sqrt(tree.impurity[node])
    return float(tree.impurity[node]) if impurity == "absolute_error" else None
