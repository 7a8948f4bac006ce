"""Estimators from documents."""

from __future__ import annotations

from typing import Any

from fasttree._export.document import additive, committee, file, forests, read, rules, values, write
from fasttree._model.linear.model_tree import ModelTree
from fasttree.estimators.common.registry import ESTIMATORS, Entry


def from_document(document: dict[str, Any]) -> Any:
    """Return the estimator that a document describes.

    Raises
    ------
    DocumentError
        If the document describes no model, or an algorithm that this version does not know.
    """
    if makes_rules(document):
        return rules_entry(document).load()._from_document(document)
    if document["format"] == committee.FORMAT:
        return committee_entry().load()._from_document(document)
    if document["format"] == forests.FORMAT:
        return forest_entry(document).load()._from_document(document)
    if document["format"] == additive.FORMAT:
        return additive_entry(document).load()._from_document(document)
    saved = read.from_document(document)
    estimator = entry_of(saved).load()
    with file.errors_of_settings():
        model = estimator._from_settings(saved.settings)
        model._set_fitted(saved.tree, model._checked_recipe(), saved.schema)
    if saved.classes is not None:
        model._keep_classes(saved.classes)
    model.target_names_ = saved.target_names
    model._read_labels(document)
    return model


def makes_rules(document: dict[str, Any]) -> bool:
    """Whether a document describes rules, not a tree or a forest.

    Raises
    ------
    DocumentError
        If it describes none of them.
    """
    formats = {
        values.FORMAT: values.VERSION,
        **rules.VERSIONS,
        forests.FORMAT: forests.VERSION,
        additive.FORMAT: additive.VERSION,
        committee.FORMAT: committee.VERSION,
    }
    return read.check_format(document, formats) in rules.VERSIONS


def committee_entry() -> Entry:
    """Return the entry of the estimator whose rules have linear models."""
    (entry,) = (entry for entry in ESTIMATORS if entry.makes_model_rules)
    return entry


def rules_entry(document: dict[str, Any]) -> Entry:
    """Return the entry of the estimator that learned saved rules: those that vote are of one that may boost, too."""
    votes = document["format"] != rules.FORMAT
    (entry,) = (entry for entry in ESTIMATORS if (entry.may_boost if votes else entry.makes_rules))
    return entry


def additive_entry(document: dict[str, Any]) -> Entry:
    """Return the entry of the estimator that fitted a saved additive model.

    Raises
    ------
    DocumentError
        If its task is unknown.
    """
    task = values.entry_of(document, "task", str)
    for entry in ESTIMATORS:
        if entry.is_additive and entry.task == task:
            return entry
    raise values.DocumentError(f"task: must be 'classification' or 'regression'; got {values.short(task)}")


def _makes_trees(entry: Entry) -> bool:
    return not (entry.makes_rules or entry.makes_model_rules or entry.makes_forest or entry.is_additive)


def entry_of(saved: write.Model) -> Entry:
    """Return the entry of the estimator that grew a saved tree.

    Raises
    ------
    DocumentError
        If this version does not know the algorithm.
    """
    known = {(entry.algorithm, entry.task): entry for entry in ESTIMATORS if _makes_trees(entry)}
    key = saved.algorithm, saved.tree.task
    if key not in known:
        listed = ", ".join(f"{algorithm} ({task})" for algorithm, task in known)
        given = f"{values.short(saved.algorithm)} ({saved.tree.task})"
        raise values.DocumentError(f"algorithm: this version knows trees by {listed}; got {given}")
    entry = known[key]
    if isinstance(saved.tree, ModelTree) != entry.has_models:
        what = "needs the linear models of its nodes" if entry.has_models else "has no linear models"
        raise values.DocumentError(f"models: a tree by {saved.algorithm} {what}")
    return entry


def forest_entry(document: dict[str, Any]) -> Entry:
    """Return the entry of the estimator that grew a saved forest.

    Raises
    ------
    DocumentError
        If this version does not know the algorithm.
    """
    known = {(entry.algorithm, entry.task): entry for entry in ESTIMATORS if entry.makes_forest or entry.may_boost}
    key = values.entry_of(document, "algorithm", str), values.entry_of(document, "task", str)
    if key not in known:
        listed = ", ".join(f"{algorithm} ({task})" for algorithm, task in known)
        raise values.DocumentError(
            f"algorithm: this version knows forests by {listed}; got {values.short(key[0])} ({values.short(key[1])})"
        )
    return known[key]
