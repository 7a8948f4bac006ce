"""Trees and rules of files that are shown and explained without their estimators, whose classes import scikit-learn."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.table import Table
from fasttree._export.document import read, rules
from fasttree._export.subject import RuleSubject
from fasttree._learn.recipe import Recipe
from fasttree.estimators.common.documents import entry_of, from_document, rules_entry
from fasttree.estimators.common.exporting import Exports
from fasttree.estimators.common.reading import Views
from fasttree.estimators.common.rule_views import RuleViews

__all__ = ["SavedRules", "SavedTree", "SavedVotingRules", "saved_rules"]


class SavedTree(Views, Exports):
    """A tree of a file, with the methods that show, explain and export it.

    The tree is checked as in `load`.  The estimator with its parameters is made and checked only for what the tree and its
    schema do not say: the recipe, and how a table or a target is encoded.

    Parameters
    ----------
    document : dict
        As read from the file of a tree.

    Raises
    ------
    DocumentError
        If the document describes no tree, or an algorithm that this version does not know.
    """

    classes_: Any

    def __init__(self, document: dict[str, Any]) -> None:
        saved = read.from_document(document)
        self._document = document
        self._entry = entry_of(saved)
        self.tree_, self.schema_, self.target_names_ = saved.tree, saved.schema, saved.target_names
        self.n_features_in_, self.n_outputs_ = len(saved.schema.features), saved.tree.n_outputs
        if saved.classes is not None:
            self.classes_ = saved.classes
        self._read_labels(document)
        unseen = saved.settings.get("unseen", "as_missing")
        self.unseen = unseen if unseen in ("as_missing", "error") else self.estimator.unseen  # which raises the error

    @cached_property
    def _estimator(self) -> Any:
        return from_document(self._document)

    @property
    def estimator(self) -> Any:
        """The estimator that grew the tree, with the labels that this tree has now."""
        if "labels_" in self.__dict__:
            self._estimator.labels_ = self.labels_
        return self._estimator

    @cached_property
    def recipe_(self) -> Recipe:  # type: ignore[override]  # found when it is needed
        """The recipe of the tree."""
        recipe: Recipe = self.estimator.recipe_
        return recipe

    @property
    def _pruning_risk(self) -> str:
        risk: str = self.estimator._pruning_risk
        return risk

    def _name(self) -> str:
        return self._entry.name

    def _algorithm(self) -> str:
        return self._entry.algorithm

    def _encode_table(self, X: Any) -> Table:
        table: Table = self.estimator._encode_table(X)
        return table

    def _encode_target(self, y: Any) -> NDArray[Any]:
        target: NDArray[Any] = self.estimator._encode_target(y)
        return target

    def _class_factor(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        factor: NDArray[np.float64] | None = self.estimator._class_factor(target, weight, classes)
        return factor

    def to_json(self) -> str:
        """Write the text of `to_json` of the estimator."""
        text: str = self.estimator.to_json()
        return text


class SavedRules(RuleViews):
    """Rules of a file, with the methods that show, explain and export them.

    The rules are checked as in `load`, their parameters only if the estimator is made.

    Parameters
    ----------
    document : dict
        As read from the file of rules.

    Raises
    ------
    DocumentError
        If the document describes no rules.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        saved = rules.from_document(document)
        self._document = document
        self._rules_vote = document["format"] != rules.FORMAT
        self.schema_, self.classes_, self.target_names_ = saved.schema, saved.classes, saved.target_names
        self.n_features_in_ = len(saved.schema.features)
        self.rules_ = tuple(rule for trial in saved.trials for rule in trial.rules)
        self._trials = saved.trials
        self.class_count_, self.default_count_ = saved.first.class_count, saved.first.default_count
        self.default_class_ = saved.classes[saved.first.default]
        self._read_labels(document)
        unseen = saved.settings.get("unseen", "as_missing")
        self.unseen = unseen if unseen in ("as_missing", "error") else self.estimator.unseen  # which raises the error

    @property
    def estimator(self) -> Any:
        """The estimator that learned the rules, with the labels that these rules have now."""
        made = from_document(self._document)
        if "labels_" in self.__dict__:
            made.labels_ = self.labels_
        return made

    def _name(self) -> str:
        return rules_entry(self._document).name

    def to_json(self) -> str:
        """Write the text of `to_json` of the estimator."""
        text: str = self.estimator.to_json()
        return text


class SavedVotingRules(SavedRules):
    """Rules of a file that vote, with the source code that predicts as they do."""

    def _subject(self) -> RuleSubject:
        algorithm = rules_entry(self._document).algorithm
        refuses = self.unseen == "error"
        return RuleSubject(self._trials, self.schema_, self.classes_.tolist(), self.class_count_, algorithm, refuses)

    def export_c(self, *, name: str = "tree") -> str:
        """Write what `export_c` of the estimator writes."""
        from fasttree._export.votes.c_rules import export_rules_c

        return export_rules_c(self._subject(), name)

    def export_python(self, *, name: str = "tree") -> str:
        """Write what `export_python` of the estimator writes."""
        from fasttree._export.votes.python_rules import export_rules_python

        return export_rules_python(self._subject(), name)


def saved_rules(document: dict[str, Any]) -> SavedRules:
    """Return the rules of a document: those that vote, or those of which the first decides."""
    return SavedRules(document) if document["format"] == rules.FORMAT else SavedVotingRules(document)
