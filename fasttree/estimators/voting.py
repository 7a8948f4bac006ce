"""`VotingRuleModel`: classifiers of trees that may be rules that vote."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from fasttree._data.schema import Schema
from fasttree._data.table import Table
from fasttree._engine import rulesets
from fasttree._explain.ordered_rules import RuleExplanation
from fasttree._explain.vote import VoteExplanation
from fasttree._explain.voting_rules import VotingRules
from fasttree._export.document import file, rules, write
from fasttree._export.subject import RuleSubject
from fasttree._learn.boosting import Boosting, BoostingTrial
from fasttree._learn.recipe import Recipe
from fasttree._learn.rules.induction import Conditions
from fasttree._learn.rules.voting import VotingSet, WeighedSamples
from fasttree._model import walks
from fasttree._model.ruleset import (
    NO_RULE_FIRES,
    Rule,
    TrialRules,
    compile_rules,
    figures_of,
    ranks_of,
    vote_shares,
    voted_classes,
    votes_of,
)
from fasttree._model.tree import Tree
from fasttree._model.words import counted
from fasttree._version import __version__
from fasttree.estimators.boosted import BoostedTrees
from fasttree.estimators.c45_rules import described
from fasttree.estimators.common.labelling import GivenLabels
from fasttree.estimators.common.rule_views import RuleViews

_FITTED = ("rules_", "default_class_", "default_count_", "class_count_")


@dataclass(frozen=True)
class LearnedRules:
    """Rules as they are learned, and where from."""

    found: VotingSet
    conditions: Conditions
    samples: WeighedSamples

    @property
    def tree(self) -> Tree:
        """The tree whose paths the rules are."""
        (tree,) = self.conditions.trees
        return tree

    def trial(self, tree: Tree, n_leaves: int, n_samples: int) -> BoostingTrial[LearnedRules]:
        """Return the trial of these rules."""
        predicted, confidence = self.found.predict(self.samples, n_samples)
        return BoostingTrial(self, n_leaves, not len(self.found.cover), predicted, confidence)

    def described(self, classes: NDArray[Any]) -> TrialRules:
        """Return the rules in the words of their table."""
        found = self.found
        made = tuple(described(found.rules, self.conditions, classes, found.cover, found.errors))
        return TrialRules(made, found.default, found.default_count, found.class_count)


class _Views(RuleViews):
    """Views of the rules of a model."""

    _rules_vote = True

    def __init__(self, model: VotingRuleModel) -> None:
        self._model_name = model._name()
        self.unseen = model.unseen
        shared = (*_FITTED, "_trials", "schema_", "classes_", "target_names_", "labels_")
        self.__dict__.update({name: model.__dict__[name] for name in shared if name in model.__dict__})

    def _name(self) -> str:
        return self._model_name


def _or_of_rules(name: str) -> Callable[..., Any]:
    """Return a method of trees that is that of rules, with its parameters, if the model has rules."""
    of_trees = getattr(BoostedTrees, name)

    @functools.wraps(of_trees)
    def method(self: VotingRuleModel, *args: Any, **options: Any) -> Any:
        return getattr(_Views(self), name)(*args, **options) if self._has_rules() else of_trees(self, *args, **options)

    return method


class VotingRuleModel(BoostedTrees):
    """Base of classifiers that may be rules.

    A fitted model of rules has `rules_`, and no `tree_`.
    """

    rules_: tuple[Rule, ...]
    default_class_: Any
    default_count_: NDArray[Any]
    class_count_: NDArray[Any]
    rules: bool
    _rules_vote = True
    _trials: tuple[TrialRules, ...]

    _attributes = {
        "rules_": (
            "tuple of Rule",
            "With `rules`: the rules, those of several trials one after the other.  The model then has no `tree_`.",
        ),
        "default_class_": ("object", "With `rules`: class of a sample if no rule fires; of several trials, in the first."),
        "default_count_": (
            "ndarray of shape (n_classes,)",
            "With `rules`: number, or weight, of the training samples of each class that no rule covers; of the first trial.",
        ),
        "class_count_": (
            "ndarray of shape (n_classes,)",
            "With `rules`: number, or weight, of the training samples of each class.",
        ),
    }

    def _has_rules(self) -> bool:
        return "rules_" in self.__dict__

    # Fit

    def _is_boosted(self) -> bool:
        return self.n_trials_ > 1 if self._has_rules() else super()._is_boosted()

    def _boost_rules(self, boosting: Boosting[LearnedRules]) -> Tree:
        """Return the tree of the first trial; `_set_fitted` takes the rules."""
        learned = boosting()
        self.__dict__["_learned"] = learned
        return learned[0].tree

    def _set_fitted(self, tree: Tree, recipe: Recipe, schema: Schema) -> None:
        learned: list[LearnedRules] = self.__dict__.pop("_learned", [])
        super()._set_fitted(tree, recipe, schema)
        for name in (*_FITTED, "_compiled", "_trials"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if learned:
            self._keep_rules(tuple(each.described(self.classes_) for each in learned))

    def _keep_rules(self, trials: tuple[TrialRules, ...]) -> None:
        first = trials[0]
        self._trials, self.n_trials_ = trials, len(trials)
        self.rules_ = tuple(rule for trial in trials for rule in trial.rules)
        self.default_class_ = self.classes_[first.default]
        self.default_count_, self.class_count_ = first.default_count, first.class_count
        for name in ("tree_", "tree_unpruned_"):
            self.__dict__.pop(name, None)
        label_of = {label: code for code, label in enumerate(self.classes_.tolist())}
        compiled = []
        for trial in trials:
            labels = np.array([label_of[rule.label] for rule in trial.rules], dtype=np.int32)
            ballots = np.column_stack([labels, votes_of(*figures_of(trial.rules)), ranks_of(trial.rules)])
            compiled.append((compile_rules(trial.rules, self.schema_), ballots, trial.default))
        self._compiled = compiled

    # Predictions

    def _ballots(self, table: Table, trial: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the votes for each class in a trial, and the least rank of its rules that fire (none: their number)."""
        tests, ballots, _ = self._compiled[trial]
        shape = (table.n_samples, self.n_classes_)
        given, lowest = np.zeros(shape, dtype=np.int32), np.full(shape, len(ballots), dtype=np.int32)
        for rows, block in walks.blocks(table):
            rulesets.fire_rules(block, tests, ballots, given[rows], lowest[rows])
        return given, lowest

    def _deciding(self, table: Table, trial: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the class that a trial predicts, and the rule that gives the confidence (-1: none fires)."""
        votes, lowest = self._ballots(table, trial)
        _, ballots, default = self._compiled[trial]
        chosen = voted_classes(votes, default)
        return chosen, np.append(np.argsort(ballots[:, 2]), -1)[lowest[np.arange(len(votes)), chosen]]

    def _votes(self, X: Any, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        if not self._has_rules():
            return super()._votes(X, first, last)
        table = self._encode_table(X)
        votes, every = np.zeros((table.n_samples, self.n_classes_)), np.arange(table.n_samples)
        for trial in range(first, self.n_trials_ if last is None else last):
            chosen, rule = self._deciding(table, trial)
            votes[every, chosen] += np.append(self._compiled[trial][1][:, 1], NO_RULE_FIRES)[rule]
        return votes

    def _voted(self, votes: NDArray[Any]) -> NDArray[Any]:
        if not self._has_rules():
            return super()._voted(votes)
        labels: NDArray[Any] = self.classes_.take(voted_classes(votes, self._trials[0].default))
        return labels

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        if not self._has_rules() or self._is_boosted():
            return super()._predictions(X)
        return vote_shares(self._ballots(self._encode_table(X), 0)[0], self._trials[0].default, self.class_count_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, on ties the first.

        With several trials or rules, it is the class with the most votes, on ties that of the first tree's root or the default
        class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
        """
        if not self._has_rules() or self._is_boosted():
            return super().predict(X)
        return self._voted(self._ballots(self._encode_table(X), 0)[0])

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Share of each class in the weight of the leaf, in the order of `classes_`; rows sum to 1.  A leaf without samples of
            the fit gives 1 to the largest class of its parent.  With several trials or rules, share of each class in the votes.
            If no rule fires, the default class has 0.5, and the others have the rest in proportion to their training samples.
        """
        return super().predict_proba(X)

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each sample reaches, or with `rules` the rule that gives the confidence.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of int32, shape (n_samples,) or (n_samples, n_trials)
            Index of the leaf in `tree_`, or with several trials in the tree of each.  If a sample with missing values reaches
            several leaves, it is the heaviest.  With `rules`, index in `rules_` of the rule that fires for the predicted class
            and covers the fewest training samples; -1 if no rule fires.  With several trials, it is the index in the rules of
            each, ``estimators_[i].rules_``.
        """
        if not self._has_rules():
            return super().apply(X)
        table = self._encode_table(X)
        rules = [self._deciding(table, trial)[1].astype(np.int32) for trial in range(self.n_trials_)]
        return np.column_stack(rules) if self._is_boosted() else rules[0]

    def _estimator(self, i: int) -> Self:
        if not self._is_boosted() or not self._has_rules():
            return super()._estimator(i)
        model = type(self)(**self.get_params(deep=False) | {"trials": 1})
        model.recipe_ = self.recipe_
        model._keep_classes(self.classes_)
        model.n_outputs_ = 1
        model._keep_schema(self.schema_)
        model.max_features_ = self.max_features_
        model._keep_rules((self._trials[i],))
        model.target_names_ = self.target_names_
        if "labels_" in self.__dict__:
            model.labels_ = self.labels_
        return model

    # Views

    def to_rules(self, *, simplify: bool = True, labels: GivenLabels = None, verbose: int = 0) -> Any:
        """Return the rules to be exported and explained: those that vote, or one for each leaf of a tree.

        Parameters
        ----------
        simplify, labels, verbose
            As for `to_rules` of `CARTClassifier`.  With `rules`, `simplify` and `verbose` have no effect.

        Returns
        -------
        VotingRules, BoostedRules or RuleList

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> print(C50Classifier(rules=True).fit(X, y).to_rules().to_text(), end="")
        if x2 <= 1.9 then 0  (cover 50, errors 0, estimate 1.9 %)
        if x2 > 1.9 and x2 <= 4.9 and x3 <= 1.7 then 1  (cover 48, errors 1, estimate 4.0 %)
        if x3 > 1.7 then 2  (cover 46, errors 1, estimate 4.2 %)
        if x2 > 4.9 then 2  (cover 46, errors 2, estimate 6.2 %)
        else 0
        """
        if not self._has_rules():
            return super().to_rules(simplify=simplify, labels=labels, verbose=verbose)
        return self._voting_rules(labels)

    def _voting_rules(self, labels: GivenLabels = None) -> VotingRules:
        found = _Views(self).to_rules(labels=labels)
        assert isinstance(found, VotingRules)
        return found

    def explain(self, x: Any, *, max_categories: int = 12, decimals: int = 2, labels: GivenLabels = None) -> Any:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x, max_categories, decimals, labels
            As for `explain` of `CARTClassifier`.  With `rules`, `max_categories` and `decimals` have no effect.

        Returns
        -------
        Explanation, VoteExplanation or RuleExplanation
            That of a tree.  With several trials, the votes of the trials; the path in a tree is that of
            ``estimators_[i].explain(x)``.  With `rules`, those that fire and vote; with both, the votes of the trials.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> print(C50Classifier(trials=4).fit(X, y).explain(X[70]))
        prediction: 1  (1: 50 %, 2: 50 %), as 2 of 4 trials
          trial 0: 2, confidence 98 %
          trial 1: 1, confidence 92 %
          trial 2: 2, confidence 87 %
          trial 3: 1, confidence 94 %
        """
        if not self._has_rules():
            return super().explain(x, max_categories=max_categories, decimals=decimals, labels=labels)
        explanation: RuleExplanation | VoteExplanation = self._voting_rules(labels).explain(x)
        return explanation

    def _rule_subject(self) -> RuleSubject:
        """Return the rules as the writers of source code take them."""
        refuses = self.unseen == "error"
        return RuleSubject(self._trials, self.schema_, self.classes_.tolist(), self.class_count_, self._algorithm(), refuses)

    def export_c(self, *, name: str = "tree") -> str:
        """Write the model as C source: a tree, or the vote of the trials or of the rules; see `CARTClassifier`."""
        if not self._has_rules():
            return super().export_c(name=name)
        from fasttree._export.votes.c_rules import export_rules_c

        return export_rules_c(self._rule_subject(), name)

    def export_python(self, *, name: str = "tree") -> str:
        """Write the model as a Python module: a tree, or the vote of the trials or of the rules; see `CARTClassifier`."""
        if not self._has_rules():
            return super().export_python(name=name)
        from fasttree._export.votes.python_rules import export_rules_python

        return export_rules_python(self._rule_subject(), name)

    export_text = _or_of_rules("export_text")
    export_html = _or_of_rules("export_html")
    export_sql = _or_of_rules("export_sql")

    def summary(self) -> str:
        """Describe the fitted model in a few lines.

        Returns
        -------
        str
            That of a tree; with several trials the size of each tree; with `rules` their numbers.

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> print(C50Classifier(trials=3).fit(*load_iris(return_X_y=True)).summary(), end="")
        150 samples, 4 features
        3 trials that vote
          trial 0: 4 leaves, depth 3
          trial 1: 5 leaves, depth 4
          trial 2: 3 leaves, depth 2
        """
        check_is_fitted(self)
        if not self._has_rules():
            return super().summary()
        samples, features = counted(int(self.class_count_.sum()), "sample"), counted(self.n_features_in_, "feature")
        sizes = [
            (counted(len(trial.rules), "rule"), counted(sum(len(rule.conditions) for rule in trial.rules), "condition"))
            for trial in self._trials
        ]
        if not self._is_boosted():
            return f"{samples}, {features}\n{sizes[0][0]} that vote, {sizes[0][1]}\n"
        lines = [f"{samples}, {features}", f"{len(sizes)} trials that vote"]
        lines += [f"  trial {number}: {rules}, {conditions}" for number, (rules, conditions) in enumerate(sizes)]
        return "\n".join(lines) + "\n"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return scikit-learn's repr of the parameters, followed by the upper part of a tree or the first rules."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)
        if self._has_rules():
            bundle["text/plain"] += f"\n{self.summary()}\n{self._voting_rules()!r}"
        return bundle

    def _html_repr(self) -> str:
        """Return scikit-learn's HTML of the parameters, followed by the upper part of a tree or the first rules."""
        html: str = super()._html_repr()
        return html + self._voting_rules()._repr_html_() if self._has_rules() else html

    # Files

    def _to_document(self) -> dict[str, Any]:
        if not self._has_rules():
            return super()._to_document()
        write.check_names(self.schema_)
        target = {"name": self._target_names()[0]} | write.written_classes(self.classes_, self.n_classes_)
        form = rules.BOOSTED if self._is_boosted() else rules.VOTING
        first, *later = (rules.written_trial(trial, self.classes_.tolist(), self.schema_) for trial in self._trials)
        return {
            "format": form,
            "version": rules.VERSIONS[form],
            "library": __version__,
            **write.written_table(self.schema_, [target], self._settings()),
            **first,
            "n_dropped": 0,
            **({"later_trials": later} if later else {}),
            **self._written_labels(),
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        """Return the boosted model, or the model of rules, of a document."""
        if document.get("format") not in (rules.VOTING, rules.BOOSTED):
            return super()._from_document(document)
        saved = rules.from_document(document)
        with file.errors_of_settings():
            model = cls._from_settings(saved.settings)
            model.recipe_ = model._checked_recipe()
        model._keep_classes(saved.classes)
        model.n_outputs_ = model.n_trials_ = 1
        model._keep_schema(saved.schema)
        with file.errors_of_settings():
            model.max_features_ = model._count_features(model.n_features_in_)
        model._keep_rules(saved.trials)
        model.target_names_ = saved.target_names
        model._read_labels(document)
        return model
