"""`C45Rules`, Quinlan's rule sets from decision trees (C4.5rules); `_learn.rules.induction` learns them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_number
from fasttree._data.encode import encode_table
from fasttree._data.schema import Schema
from fasttree._data.targets import encode_classes, target_names
from fasttree._data.weights import check_same_length, check_sample_weight, check_total
from fasttree._engine import rulesets
from fasttree._export.document import file, write
from fasttree._export.document.rules import FORMAT, VERSION, from_document, written_rules
from fasttree._learn.parameters import FLAG, ParameterRule, parameter, parameters, share_such_as
from fasttree._learn.progress import verbosely
from fasttree._learn.rules.induction import Conditions, Drafts, Induction, PlacedSamples
from fasttree._model import walks
from fasttree._model.arrays import INTERVALS, KNOWN
from fasttree._model.conditions import Condition
from fasttree._model.ruleset import Rule, compile_rules, probabilities
from fasttree._scale.estimating import check_in_memory
from fasttree._version import __version__
from fasttree.estimators.c45 import C45Classifier
from fasttree.estimators.common.fitted import FittedModel, LogProbability, all_or_nothing
from fasttree.estimators.common.growth_parameters import C45Choices, GrowthLimits, Reading, WeightLimits
from fasttree.estimators.common.rule_views import RuleViews
from fasttree.estimators.common.tasks import BaseClassifier

MOST_REPEATED = 2**24  # maximum sum of weights, unless there are more samples: each unit takes about 80 bytes
_OF_GROWTH = {found.name for group in (GrowthLimits, WeightLimits, C45Choices) for found in fields(group)}


# --- the estimator


@parameters
class C45Rules(LogProbability, RuleViews, ClassifierMixin, FittedModel, Reading, GrowthLimits, WeightLimits, C45Choices):  # type: ignore[misc]
    """Classification rules by C4.5: the leaves of a tree become a short list of rules.

    The rules are those of Quinlan's program c4.5rules (Release 8).  Every leaf of the unpruned tree is a rule.  A rule drops
    conditions as long as its estimated error does not grow.  Each class keeps the rules that are shortest to encode together
    with their exceptions, and classes are ordered by their false positives.  Finally, rules that do more harm than good on the
    training samples are dropped.  A sample gets the class of the first rule whose conditions all hold, or else the default
    class.  A condition does not hold for a missing or unseen value.  The growth parameters are those of `C45Classifier`.

    Notes
    -----
    Rules count whole samples.  A sample of weight 2 counts as two and takes the memory of two, a sample of weight 0 is ignored,
    and fractional weights raise an error; there is no `class_weight`.  The weights may sum to 2**24 (16,777,216), or to the
    number of samples if that is larger.

    The search repeats two questionable steps of the original in order to find the same rules.  Rules that differ only in the
    direction of a threshold (``x <= 3``, ``x > 3``), or in the group of one test on groups of categories, count as duplicates,
    and the first one remains.  Rules with an estimate above 0.7 never fire and are left out.  Two defects are not repeated: in
    the original, a condition on a category numbered above 127 never holds, and option `-F` confuses logarithms to base 2 with
    natural ones, so that it does not compare Fisher's probability with the level.

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

    _attributes = {
        "rules_": ("tuple of Rule", "Rules in the order in which they apply."),
        "default_class_": (
            "object",
            """Class of a sample if no rule fires: the most frequent class of the training samples that no rule covered when it
            was chosen.""",
        ),
        "default_count_": ("ndarray of int64, shape (n_classes,)", "Number of these training samples of each class."),
        "n_dropped_": (
            "int",
            "Number of selected rules that were dropped at the end, because they do more harm than good.",
        ),
        "class_count_": ("ndarray of int64, shape (n_classes,)", "Number of training samples of each class."),
    }

    confidence: float = parameter(
        0.25,
        share_such_as(0.25),
        """Level, in (0, 1), of the upper confidence limit that is the estimated error of a rule.  Smaller values drop more
        conditions.  The original takes it in percent (option `-c`).""",
    )
    redundancy: float = parameter(
        1.0,
        ParameterRule(lambda value: is_number(value) and 1e-6 <= value <= 1e6, "a number in [1e-6, 1e6]", "float"),
        """Assumed redundancy of the features, a number in [1e-6, 1e6].  The bits that name the feature of a condition are
        divided by it, so that larger values keep more rules (option `-r`).""",
    )
    significance: float | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_number(value) and 0 <= value <= 1), "a number in [0, 1], or None", "float or None"
        ),
        """Level, in [0, 1], of Fisher's exact test.  A condition may also be dropped if its effect has a larger probability by
        chance.  The original takes it in percent (option `-F`).  None: no such test.""",
    )
    annealing: bool = parameter(
        False,
        FLAG,
        """Whether simulated annealing searches the rules of a class, instead of climbing from eleven selections (option `-a`).
        A class with at most 10 rules needs neither, because all selections are tried.""",
    )

    _descriptions = {
        "windowing": """Whether trees are grown on windows of the samples, as in `C45Classifier`.  The rules of the trees of
        all trials are pooled, and rules are chosen among them once more.""",
        "random_state": """Seed of the random draws of the growth.  The search for rules always draws the same numbers as the
        original.""",
    }

    def _parameter_rules(self) -> Mapping[str, ParameterRule]:
        # the grower checks those of the growth; `from_tree` may take them from a tree of another algorithm
        return {name: rule for name, rule in super()._parameter_rules().items() if name not in _OF_GROWTH}

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a tree and learn rules from it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are the
            classes, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Integer weight of each sample; None means 1 for all.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, the table, the target or a weight is invalid.
        """
        self._check_parameters()
        check_in_memory(self, X, y)
        if sample_weight is not None:  # fail before the growth, which takes long
            whole_weights(sample_weight, len(encode_classes(y)[1]))
        mine = self.get_params(deep=False)
        grower = C45Classifier(pruning=None).set_params(
            **{name: value for name, value in mine.items() if name in C45Classifier._get_param_names()}
        )
        grower.fit(X, y, sample_weight)
        return self._learn(grower, X, y, sample_weight)

    @classmethod
    def from_tree(cls, model: BaseClassifier, X: Any, y: Any, sample_weight: ArrayLike | None = None, **parameters: Any) -> Self:
        """Learn rules from a fitted tree.

        Parameters
        ----------
        model : C45Classifier, ID3Classifier or CARTClassifier
            Fitted model.  The rules are learnt from its `trees_unpruned_` or `tree_unpruned_`, or else from `tree_`, as for a
            model that was saved and loaded.
        X : table of shape (n_samples, n_features)
            Training samples, usually those of the tree.
        y : array-like of shape (n_samples,)
            Class of each sample; all must be classes of the tree.
        sample_weight : array-like of shape (n_samples,), default=None
            Integer weight of each sample; None means 1 for all.
        **parameters
            Parameters of `C45Rules`; by default those of `model` that have the same names.

        Returns
        -------
        C45Rules
            Fitted rules.

        Raises
        ------
        ValueError
            If a parameter, the table or a weight is invalid, a class is not among the tree's, or the tree tests whether a value
            is missing or has a branch per interval.
        TypeError
            If `model` is not such a classifier.
        """
        if not isinstance(model, BaseClassifier):
            raise TypeError(
                f"model is a {type(model).__name__}: rules are learnt from a fitted C45Classifier, ID3Classifier or "
                "CARTClassifier"
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
                "the tree tests whether a value is missing, which a condition of a rule cannot express: fill in missing values"
            )
        if any((tree.kind == INTERVALS).any() for tree in trees):
            raise ValueError(
                "the tree has a branch per interval, but a condition of a rule has one threshold: use continuous='threshold'"
            )
        table = encode_table(X, model.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        classes, codes = encode_classes(y)
        check_same_length(table.n_samples, len(codes))
        codes = _as_codes_of(model.classes_, classes, codes)
        weight = None if sample_weight is None else whole_weights(sample_weight, table.n_samples)
        samples = PlacedSamples(codes, len(model.classes_), weight)
        grouped = model.recipe_.nominal == "groups"
        induction = Induction(trees, table, samples, float(self.redundancy), bool(self.annealing), grouped)
        significance = None if self.significance is None else float(self.significance)
        with verbosely(self.verbose):
            found = induction.run(float(self.confidence), significance)
        self._set_fitted(
            tuple(described(found.rules, induction.conditions, model.classes_)),
            model.schema_,
            model.classes_,
            samples.class_count,
            found.default,
            found.default_count,
            found.n_dropped,
        )
        self.target_names_ = target_names(y, 1)
        return self

    def _set_fitted(
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
        self._compiled = compile_rules(rules, schema)
        label_of = {label: code for code, label in enumerate(classes.tolist())}
        self._labels = np.array([*(label_of[rule.label] for rule in rules), default], dtype=np.intp)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the index of the rule that decides each sample.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            Index in `rules_` of the first rule that fires; -1 if none does.
        """
        check_is_fitted(self)
        table = encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        n_rules = len(self.rules_)
        first = np.full((table.n_samples, 1), n_rules, dtype=np.int32)
        zeros = np.zeros(n_rules, dtype=np.int32)
        ballots = np.column_stack([zeros, zeros, np.arange(n_rules, dtype=np.int32)])
        none = np.empty((0, 1), dtype=np.int32)
        for rows, block in walks.blocks(table):
            rulesets.fire_rules(block, self._compiled, ballots, none, first[rows])
        return np.where(first[:, 0] < n_rules, first[:, 0], np.int32(-1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the first rule that fires, or the default class.

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

        The class of the rule that fires has probability 1 minus the rule's error estimate (Quinlan's confidence); the other
        classes share the rest in proportion to their training samples.  If the estimate is large, another class may be more
        probable; `predict` follows the rule.  If no rule fires, probabilities are the class shares of the training samples that
        no rule covered, or of all samples if there were none.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Probabilities in the order of `classes_`; rows sum to 1.
        """
        fired, place = np.unique(self.apply(X), return_inverse=True)
        rows = np.empty((fired.size, self.n_classes_))  # only of rules that fire, as rules and classes may both be many
        for row, i in zip(rows, fired.tolist(), strict=True):
            estimate = None if i == -1 else self.rules_[i].estimate
            row[:] = probabilities(int(self._labels[i]), estimate, self.class_count_, self.default_count_)
        return rows[place]

    def _to_document(self) -> dict[str, Any]:
        write.check_names(self.schema_)
        classes = write.written_classes(self.classes_, self.n_classes_)
        (name,) = getattr(self, "target_names_", ["y"])  # pickles of earlier versions have none
        return {
            "format": FORMAT,
            "version": VERSION,
            "library": __version__,
            **write.written_table(self.schema_, [{"name": name, **classes}], self._settings()),
            "class_count": self.class_count_.tolist(),
            "default": int(self._labels[-1]),
            "default_count": self.default_count_.tolist(),
            "n_dropped": self.n_dropped_,
            "rules": written_rules(self.rules_, self._labels[:-1].tolist(), self.schema_),
            **self._written_labels(),
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        saved = from_document(document)
        names = cls._get_param_names()
        model = cls(**{name: value for name, value in saved.settings.items() if name in names})
        with file.errors_of_settings():
            model._check_parameters()
        first = saved.first
        about = saved.schema, saved.classes, first.class_count, first.default, first.default_count
        model._set_fitted(first.rules, *about, saved.n_dropped)
        model.target_names_ = saved.target_names
        model._read_labels(document)
        return model


def whole_weights(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    """Check the weights of samples that rules count, and return them as integers."""
    weight = check_sample_weight(sample_weight, n_samples)
    if not (weight == np.rint(weight)).all():
        first = int(np.argmax(weight != np.rint(weight)))
        raise ValueError(
            f"sample_weight[{first}] is {weight[first]}: rules count whole samples, so weights must be whole numbers"
        )
    most = max(MOST_REPEATED, n_samples)
    if weight.sum() > most:
        raise ValueError(
            f"the weights sum to {weight.sum():,.15g}: rules count samples, here at most {most:,}; make the weights smaller"
        )
    check_total(weight.sum())
    return weight.astype(np.int64)


def _as_codes_of(known: NDArray[Any], classes: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Replace codes of the classes of a target by codes of the tree's classes."""
    code_of = {label: code for code, label in enumerate(known.tolist())}
    labels = classes.tolist()
    for code in np.unique(codes).tolist():
        if labels[code] not in code_of:
            raise ValueError(f"y has the class {labels[code]!r}, which is not among those of the tree: {known.tolist()}")
    new = np.array([code_of.get(label, -1) for label in labels], dtype=np.intp)
    return new[codes]


def described(
    rules: Drafts,
    conditions: Conditions,
    classes: NDArray[Any],
    cover: NDArray[np.number] | None = None,
    errors: NDArray[np.number] | None = None,
) -> Iterator[Rule]:
    """Yield the rules in the words of their table, with their covers and errors, which by default count samples."""
    covers = (rules.cover_stop - rules.cover_start if cover is None else cover).tolist()
    wrong = (rules.errors if errors is None else errors).tolist()
    labels = classes.tolist()
    edges, bounds = rules.node.tolist(), zip(rules.start.tolist(), rules.stop.tolist(), strict=True)
    of_rules = [edges[start:stop] for start, stop in bounds]
    known: dict[int, Condition] = {}
    made: dict[tuple[Any, ...], Condition] = {}  # by their words: many edges have the same
    used = list(dict.fromkeys(itertools.chain.from_iterable(of_rules)))
    for edge, words in zip(used, conditions.describe(used), strict=True):
        if words not in made:
            index, operator, threshold, categories = words
            feature = conditions.table.schema.features[index]
            made[words] = Condition(feature.name, index, feature.kind, operator, threshold, categories)
        known[edge] = made[words]
    figures = zip(of_rules, rules.label.tolist(), covers, wrong, rules.estimate.tolist(), strict=True)
    for own, label, covered, errors_of_rule, estimate in figures:
        yield Rule(tuple([known[edge] for edge in own]), labels[label], covered, errors_of_rule, estimate)
