"""Rules from trees: Quinlan's C4.5 rule sets; and the conditions and rules that `to_rules` makes of the paths of any tree.

C4.5 goes further than the paths.  Every leaf of an unpruned tree is a rule.  A rule loses the conditions that it can be missed,
each class keeps the rules that make the shortest message together with their exceptions, the classes are put in order, and what
does more harm than good goes.  All of that happens in `_induction`; this file gives the result a face: rules that read as
sentences, the estimator, its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from . import __version__, _core, _document, _grow
from ._base import BaseClassifier, FittedModel, LogProbability
from ._conditions import Condition
from ._induction import Conditions, Drafts, Induction, PlacedSamples
from ._parameters import FLAG, C45Choices, GrowthLimits, Reading, WeightLimits, is_number, parameter, parameters, share_such_as
from ._parameters import Rule as ParameterRule
from ._path_rules import PathRule, RuleList
from ._table import Schema, encode_classes, encode_table, target_names
from ._tree import INTERVALS, KNOWN
from ._weights import check_same_length, check_sample_weight
from ._words import threshold_texts, word
from .estimators import C45Classifier

__all__ = ["C45Rules", "Condition", "PathRule", "Rule", "RuleList"]

_Compiled = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]

FORMAT = "fasttree.rules"
VERSION = "1.0"

MOST_SAMPLES = 2**31 - 1  # places are 32 bits
MOST_REPEATED = 2**24  # samples that weights make of fewer: each takes some 80 bytes
_OF_GROWTH = {found.name for group in (GrowthLimits, WeightLimits, C45Choices) for found in fields(group)}
OPERATORS = {"<=": 0, ">": 1, "=": 2, "in": 2}


@dataclass(frozen=True)
class Rule:
    """If all conditions hold, then this class.

    Attributes
    ----------
    conditions : tuple of Condition
        At least one.
    label : object
        The class.
    cover : int
        Training samples that satisfy the conditions.
    errors : int
        Those of them that are of another class.
    estimate : float
        Pessimistic estimate of the rule's error rate (Quinlan 1993, section 5.2).
    """

    conditions: tuple[Condition, ...]
    label: Any
    cover: int
    errors: int
    estimate: float

    @property
    def confidence(self) -> float:
        """1 - `estimate`."""
        return 1 - self.estimate

    def __str__(self) -> str:
        return self._write(threshold_texts(_thresholds([self])))

    def _write(self, thresholds: Mapping[tuple[int, float], str]) -> str:
        conditions = " and ".join(condition.words(thresholds) for condition in self.conditions)
        figures = f"cover {self.cover}, errors {self.errors}, estimate {100 * self.estimate:.1f} %"
        return f"if {conditions} then {word(self.label)}  ({figures})"


def _thresholds(rules: Sequence[Rule]) -> set[tuple[int, float]]:
    return {
        (condition.index, condition.threshold)
        for rule in rules
        for condition in rule.conditions
        if condition.threshold is not None
    }


# --- the estimator


@parameters
class C45Rules(LogProbability, ClassifierMixin, FittedModel, Reading, GrowthLimits, WeightLimits, C45Choices):  # type: ignore[misc]
    """Classification rules by C4.5: a tree is grown, and its leaves become a short list of rules.

    The list is that of Quinlan's program c4.5rules (Release 8).  Every leaf of the unpruned tree is a rule.  A rule loses the
    conditions without which it is not predicted to err more; each class keeps the rules that, with their exceptions, make the
    shortest message; classes come in the order of their false positives; last, rules go that do more harm than good on the
    training samples.  A sample gets the class of the first rule whose conditions it satisfies all, else the default class.  A
    condition on a value that is missing or unseen is not satisfied.

    Parameters
    ----------
    confidence : float, default=0.25
        Level, in (0, 1), of the upper limit that is the estimated error of a rule; smaller values drop more conditions (option
        `-c` of the original, there in percent).
    redundancy : float, default=1.0
        How redundant the features are thought to be, a number in [1e-6, 1e6]: the bits that name the feature of a condition are
        divided by it, so that larger values keep more rules (option `-r`).
    significance : float or None, default=None
        Level, in [0, 1], of Fisher's exact test: a condition whose effect has a larger probability by chance may go too (option
        `-F`, there in percent).  None: no such test.
    annealing : bool, default=False
        Search the rules of a class by simulated annealing instead of climbing from eleven selections (option `-a`); either only
        where a class has more than 10 rules, else all selections are tried.
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        Growth, this and all that follow: as for `C45Classifier`.
    variant : {"release8", "textbook"}, default="release8"
        The program, or the algorithm as textbooks give it.
    epsilon : float, default=0.0
        Textbook: a split needs a gain ratio (or gain, in bits) larger than this.
    subset : bool, default=False
        Whether a split of a feature of more than two categories groups them.
    min_samples_branch : float, default=2
        A split needs at least two branches of this many samples.
    windowing : bool, default=False
        Whether trees are grown on windows of the samples; the rules of all trials' trees are pooled, and chosen among once more.
    n_trials : int, default=10
        Windowing: number of trials.
    window_size : int or None, default=None
        Windowing: samples in the first window.
    window_increment : int or None, default=None
        Windowing: samples that a window grows by at most.
    min_part_weight : float, default=0.0
        Part of a sample with a missing value below which it is not divided any more.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in every non-empty branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of every non-empty branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of the growth.  The search for rules draws the same numbers every time, those that the original draws.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    rules_ : tuple of Rule
        The rules in order of use.
    default_class_ : object
        Class of a sample on which no rule fires: that of most training samples which no rule covered when it was chosen.
    default_count_ : ndarray of int64, shape (n_classes,)
        Those training samples by class.
    n_dropped_ : int
        Rules that were chosen, but went in the last look at the training samples.
    class_count_ : ndarray of int64, shape (n_classes,)
        Training samples of each class.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    target_names_ : list of str
        Name of the target: of the column y; y where it has none.

    Notes
    -----
    Rules count whole samples.  A sample of weight 2 counts as two, one of weight 0 is as good as absent, and other weights are
    refused; there is no `class_weight`.  What counts as two takes the memory of two: weights may sum to 2**24 (16,777,216), or to
    the number of samples where that is more.

    The search takes two looks that are questionable, as the original does, so that the rules are its rules: rules that differ in
    the direction of a threshold alone (``x <= 3``, ``x > 3``), or in the group of one test on groups of categories, pass for the
    same, and the first stays.  Rules with an estimate above 0.7 never fire and are left out.  Not repeated is a defect of its
    storage: a condition on a category numbered above 127 never holds there.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.  Chapter 5.

    Quinlan, J. R. and Rivest, R. L. (1989). Inferring Decision Trees Using the Minimum Description Length Principle. Information
    and Computation, 80, 227-248.

    Examples
    --------
    >>> from fasttree import C45Rules
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C45Rules().fit(X, y)
    >>> print(model.rules_[0])
    if x3 <= 0.6 then 0  (cover 50, errors 0, estimate 2.7 %)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    """

    confidence: float = parameter(0.25, share_such_as(0.25))
    redundancy: float = parameter(1.0, (lambda value: is_number(value) and 1e-6 <= value <= 1e6, "a number in [1e-6, 1e6]"))
    significance: float | None = parameter(
        None, (lambda value: value is None or (is_number(value) and 0 <= value <= 1), "a number in [0, 1], or None")
    )
    annealing: bool = parameter(False, FLAG)

    def _parameter_rules(self) -> Mapping[str, ParameterRule]:
        # those of the growth are looked at by what grows; `from_tree` takes them from a tree, also of another algorithm
        return {name: rule for name, rule in super()._parameter_rules().items() if name not in _OF_GROWTH}

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree and make rules of it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are then
            the classes, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers, how often each sample counts; None stands for ones.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, the table, the target or a weight is not as stated.
        """
        self._check_parameters()
        if sample_weight is not None:  # before the growth, which takes longer than to find out
            _whole_weights(sample_weight, len(encode_classes(y)[1]))
        mine = self.get_params(deep=False)
        grower = C45Classifier(pruning=None).set_params(
            **{name: value for name, value in mine.items() if name in C45Classifier._get_param_names()}
        )
        grower.fit(X, y, sample_weight)
        return self._learn(grower, X, y, sample_weight)

    @classmethod
    def from_tree(cls, model: BaseClassifier, X: Any, y: Any, sample_weight: ArrayLike | None = None, **parameters: Any) -> Self:
        """Make rules of a fitted tree.

        Parameters
        ----------
        model : C45Classifier, ID3Classifier or CARTClassifier
            Fitted.  Rules are made of its `trees_unpruned_` or `tree_unpruned_`, where it has them, else of `tree_` (also of a
            model that was saved and loaded).
        X : table of shape (n_samples, n_features)
            Training samples, in general those of the tree.
        y : array-like of shape (n_samples,)
            Their classes, each one of the tree's.
        sample_weight : array-like of shape (n_samples,), default=None
            Whole numbers, how often each sample counts; None stands for ones.
        **parameters
            Of `C45Rules`; by default those of `model`, as far as they have the same names.

        Returns
        -------
        C45Rules
            Fitted.

        Raises
        ------
        ValueError
            If a parameter, the table or a weight is not as stated, a class is not among the tree's, or the tree tests whether a
            value is missing.
        TypeError
            If `model` is not such a classifier.
        """
        if not isinstance(model, BaseClassifier):
            raise TypeError(
                f"model is a {type(model).__name__}: rules are made of a fitted C45Classifier, ID3Classifier or CARTClassifier"
            )
        check_is_fitted(model)
        names = cls._get_param_names()
        rules = cls(**{name: value for name, value in model.get_params(deep=False).items() if name in names} | parameters)
        rules._check_parameters()
        return rules._learn(model, X, y, sample_weight)

    def _learn(self, model: BaseClassifier, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        trees = getattr(model, "trees_unpruned_", None) or [getattr(model, "tree_unpruned_", model.tree_)]
        if any((tree.kind == KNOWN).any() for tree in trees):
            raise ValueError(
                "the tree tests whether a value is missing, which no condition of a rule can say: fill in missing values"
            )
        if any((tree.kind == INTERVALS).any() for tree in trees):
            raise ValueError(
                "the tree has a branch per interval, and a condition of a rule has one threshold: use continuous='threshold'"
            )
        table = encode_table(X, model.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        classes, codes = encode_classes(y)
        check_same_length(table.n_samples, len(codes))
        codes = _as_codes_of(model.classes_, classes, codes)
        weight = None if sample_weight is None else _whole_weights(sample_weight, table.n_samples)
        samples = PlacedSamples(codes, len(model.classes_), weight)
        grouped = model.recipe_.nominal == "groups"
        induction = Induction(trees, table, samples, float(self.redundancy), bool(self.annealing), grouped)
        significance = None if self.significance is None else float(self.significance)
        found = induction.run(float(self.confidence), significance)
        self._keep(
            tuple(_described(found.rules, induction.conditions, model.classes_)),
            model.schema_,
            model.classes_,
            samples.class_count,
            found.default,
            found.default_count,
            found.n_dropped,
        )
        self.target_names_ = target_names(y, 1)
        return self

    def _keep(
        self,
        rules: tuple[Rule, ...],
        schema: Schema,
        classes: NDArray[Any],
        class_count: NDArray[np.int64],
        default: int,
        default_count: NDArray[np.int64],
        n_dropped: int,
    ) -> None:
        self.rules_ = rules
        self._keep_schema(schema)
        self.classes_ = classes
        self.n_classes_ = len(classes)
        self.class_count_ = class_count
        self.default_class_ = classes[default]
        self.default_count_ = default_count
        self.n_dropped_ = n_dropped
        self._compiled = _compile(rules, schema)
        label_of = {label: code for code, label in enumerate(classes.tolist())}
        self._labels = np.array([*(label_of[rule.label] for rule in rules), default], dtype=np.intp)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the rule that decides on each sample.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            Index in `rules_` of the first rule that fires; -1 where none does.
        """
        check_is_fitted(self)
        table = encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        first = np.empty(table.n_samples, dtype=np.int32)
        for rows, block in _grow.blocks(table):
            _core.first_rules(block, *self._compiled, first[rows])
        return first

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the first rule that fires, the default class where none does.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
        """
        first = self.apply(X)
        predicted: NDArray[Any] = self.classes_[self._labels[first]]
        return predicted

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        The class of the rule that fires has 1 - its error estimate, Quinlan's confidence; the other classes share the rest in
        proportion to their training samples.  That can leave another class ahead, where the estimate is large; `predict` follows
        the rule.  Where no rule fires, the classes have the shares that they had among the training samples which no rule
        covered, or among all if there were none.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        fired, place = np.unique(self.apply(X), return_inverse=True)
        rows = np.empty((fired.size, self.n_classes_))  # not one for each rule there is: rules and classes may both be many
        for row, i in zip(rows, fired.tolist(), strict=True):
            if i == -1:
                left = self.default_count_ if self.default_count_.any() else self.class_count_
                row[:] = left / left.sum()
                continue
            others = self.class_count_.astype(np.float64)
            others[self._labels[i]] = 0
            row[:] = self.rules_[i].estimate * others / others.sum() if others.any() else 0.0
            row[self._labels[i]] = 1 - row.sum()
        return rows[place]

    def export_text(self) -> str:
        """Write the rules in text, a line per rule in order of use, then the default class.

        Returns
        -------
        str
            Lines, each ended by a newline.
        """
        check_is_fitted(self)
        thresholds = threshold_texts(_thresholds(self.rules_))
        lines = [rule._write(thresholds) for rule in self.rules_]
        return "".join(f"{line}\n" for line in [*lines, f"else {word(self.default_class_)}"])

    def _to_document(self) -> dict[str, Any]:
        rules = []
        for rule, label in zip(self.rules_, self._labels.tolist(), strict=False):
            conditions = [_written_condition(condition, self.schema_) for condition in rule.conditions]
            figures = {"cover": rule.cover, "errors": rule.errors, "estimate": rule.estimate}
            rules.append({"if": conditions, "then": label, **figures})
        _document.check_names(self.schema_)
        classes = _document.written_classes(self.classes_, self.n_classes_)
        (name,) = getattr(self, "target_names_", ["y"])  # pickles of earlier versions have none
        return {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            **_document.written_table(self.schema_, [{"name": name, **classes}], self._settings()),
            "class_count": self.class_count_.tolist(),
            "default": int(self._labels[-1]),
            "default_count": self.default_count_.tolist(),
            "n_dropped": self.n_dropped_,
            "rules": rules,
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        _document.check_format(document, {FORMAT: VERSION})
        schema, targets, settings = _document.read_table(document)
        if len(targets) > 1:
            raise _document.DocumentError(f"targets: rules have 1 target; got {len(targets)}")
        classes = _document.read_classes(targets[0])
        n_classes = len(classes)
        labels = classes.tolist()
        rules = []
        for i, entry in enumerate(_document.entry_of(document, "rules", list)):
            where = f"rules[{i}]"
            entry = _document.as_type(entry, dict, where)
            conditions = _document.entry_of(entry, "if", list, where)
            if not conditions:
                raise _document.DocumentError(f"{where}.if: must not be empty")
            rules.append(
                Rule(
                    tuple(_read_condition(condition, schema, f"{where}.if[{j}]") for j, condition in enumerate(conditions)),
                    labels[_document.as_index(entry.get("then"), n_classes, f"{where}.then")],
                    _document.as_index(entry.get("cover"), MOST_SAMPLES + 1, f"{where}.cover"),
                    _document.as_index(entry.get("errors"), MOST_SAMPLES + 1, f"{where}.errors"),
                    _read_estimate(entry.get("estimate"), f"{where}.estimate"),
                )
            )
        counts = [_read_counts(document, name, n_classes) for name in ("class_count", "default_count")]
        if not counts[0].any():
            raise _document.DocumentError("class_count: must count a sample at least")
        default = _document.as_index(document.get("default"), n_classes, "default")
        n_dropped = _document.as_index(document.get("n_dropped"), MOST_SAMPLES + 1, "n_dropped")
        names = cls._get_param_names()
        model = cls(**{name: value for name, value in settings.items() if name in names})
        with _document.errors_of_settings():
            model._check_parameters()
        model._keep(tuple(rules), schema, classes, counts[0], default, counts[1], n_dropped)
        model.target_names_ = _document.names_of(targets)
        return model


def _written_condition(condition: Condition, schema: Schema) -> dict[str, Any]:
    written: dict[str, Any] = {"feature": condition.index, "operator": condition.operator}
    if condition.threshold is not None:
        return {**written, "threshold": condition.threshold}
    categories = schema.features[condition.index].categories or ()
    return {**written, "categories": [categories.index(category) for category in condition.categories]}


def _read_condition(given: Any, schema: Schema, where: str) -> Condition:
    given = _document.as_type(given, dict, where)
    index = _document.as_index(given.get("feature"), len(schema.features), f"{where}.feature")
    feature = schema.features[index]
    operator = _document.entry_of(given, "operator", str, where)
    allowed = ("<=", ">") if feature.categories is None else ("=", "in")
    if operator not in allowed:
        raise _document.DocumentError(f"{where}.operator: must be one of {', '.join(allowed)} for {feature.name!r}")
    if feature.categories is None:
        threshold = _document.as_number(given.get("threshold"), f"{where}.threshold")
        return Condition(feature.name, index, feature.kind, operator, threshold)
    chosen = [
        _document.as_index(j, len(feature.categories), f"{where}.categories")
        for j in _document.entry_of(given, "categories", list, where)
    ]
    if not chosen or len(set(chosen)) < len(chosen) or (operator == "=" and len(chosen) > 1):
        raise _document.DocumentError(f"{where}.categories: must be one category for '=', different ones for 'in'")
    return Condition(feature.name, index, feature.kind, operator, None, tuple(feature.categories[j] for j in chosen))


def _read_estimate(given: Any, where: str) -> float:
    estimate = _document.as_number(given, where)
    if not 0 <= estimate <= 1:
        raise _document.DocumentError(f"{where}: must be from 0 to 1; got {estimate!r}")
    return estimate


def _read_counts(document: dict[str, Any], name: str, n_classes: int) -> NDArray[np.int64]:
    counts = _document.entry_of(document, name, list)
    if len(counts) != n_classes:
        raise _document.DocumentError(f"{name}: has {len(counts)} numbers; must have {n_classes}, one per class")
    return np.array(
        [_document.as_index(count, MOST_SAMPLES + 1, f"{name}[{k}]") for k, count in enumerate(counts)], dtype=np.int64
    )


def _whole_weights(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    """How often each sample counts."""
    weight = check_sample_weight(sample_weight, n_samples)
    if not (weight == np.rint(weight)).all():
        first = int(np.argmax(weight != np.rint(weight)))
        raise ValueError(
            f"sample_weight[{first}] is {weight[first]}: rules count whole samples, so weights must be whole numbers"
        )
    most = max(MOST_REPEATED, n_samples)
    if weight.sum() > most:
        raise ValueError(
            f"the weights sum to {weight.sum():,.0f}: rules count samples, here at most {most:,}; make the weights smaller"
        )
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number: all weights are zero")
    return weight.astype(np.int64)


def _as_codes_of(known: NDArray[Any], classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Codes of the tree's classes in place of codes of the classes of a target."""
    code_of = {label: code for code, label in enumerate(known.tolist())}
    labels = classes.tolist()
    for code in np.unique(codes).tolist():
        if labels[code] not in code_of:
            raise ValueError(f"y has the class {labels[code]!r}, which the tree does not know: it knows {known.tolist()}")
    new = np.array([code_of.get(label, -1) for label in labels], dtype=np.intp)
    return new[codes]


def _described(rules: Drafts, conditions: Conditions, classes: NDArray[Any]) -> Iterator[Rule]:
    labels = classes.tolist()
    known: dict[int, Condition] = {}
    for i in range(len(rules.label)):
        edges = rules.node[rules.start[i] : rules.stop[i]].tolist()
        for edge in edges:
            if edge not in known:
                index, operator, threshold, categories = conditions.describe(edge)
                feature = conditions.table.schema.features[index]
                known[edge] = Condition(feature.name, index, feature.kind, operator, threshold, categories)
        yield Rule(
            tuple(known[edge] for edge in edges),
            labels[rules.label[i]],
            int(rules.cover_stop[i] - rules.cover_start[i]),
            int(rules.errors[i]),
            float(rules.estimate[i]),
        )


def _compile(rules: Sequence[Rule], schema: Schema) -> _Compiled:
    """Rules as the core applies them."""
    conditions = [condition for rule in rules for condition in rule.conditions]
    lookups: dict[int, dict[Any, int]] = {}
    codes: list[list[int]] = []
    for condition in conditions:
        if condition.index not in lookups:
            categories = schema.features[condition.index].categories or ()
            lookups[condition.index] = {category: code for code, category in enumerate(categories, start=1)}
        codes.append(sorted(lookups[condition.index][category] for category in condition.categories))
    return (
        np.cumsum([0] + [len(rule.conditions) for rule in rules], dtype=np.int64),
        np.array([condition.index for condition in conditions], dtype=np.int32),
        np.array([OPERATORS[condition.operator] for condition in conditions], dtype=np.uint8),
        np.array([0.0 if c.threshold is None else c.threshold for c in conditions], dtype=np.float64),
        np.cumsum([0] + [len(of_condition) for of_condition in codes], dtype=np.int64),
        np.array([code for of_condition in codes for code in of_condition], dtype=np.uint32),
    )
