"""The subject of an export: a tree and what is needed to use it, without its estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema, default_target_names
from fasttree._model.conditions import Condition
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.ruleset import TrialRules, vote_shares
from fasttree._model.tree import Tree
from fasttree._model.words import Classes

__all__ = ["Formulas", "Inputs", "RuleSubject", "Subject", "check_class", "check_target", "formulas_of", "of_one_target"]

MOST = float(np.finfo(np.float64).max)  # for an infinite bound, which few languages can write


class Inputs(Protocol):
    """What the readers of samples of all models have."""

    @property
    def schema(self) -> Schema:
        """Features of the training table."""

    @property
    def refuses_missing(self) -> bool:
        """Whether `predict` raises an error if a value is missing."""

    @property
    def refuses_unseen(self) -> bool:
        """Whether `predict` raises an error for a category not seen in fit."""


@dataclass(frozen=True)
class RuleSubject:
    """Rules that vote, of one trial or of several, for the writers of source code.

    Parameters
    ----------
    trials : sequence of TrialRules
    schema : Schema
    classes : list
    class_count : array, shape (n_classes,)
        Weight of the training samples of each class.
    algorithm : str
    refuses_unseen : bool
    """

    trials: Sequence[TrialRules]
    schema: Schema
    classes: list[Any]
    class_count: NDArray[Any]
    algorithm: str
    refuses_unseen: bool
    refuses_missing: bool = False

    def none_fires(self) -> list[float]:
        """Return the probabilities of a sample for which no rule votes."""
        votes = np.zeros((1, len(self.classes)), np.int32)
        shares: list[float] = vote_shares(votes, self.trials[0].default, self.class_count)[0].tolist()
        return shares

    def codes(self, condition: Condition) -> list[int]:
        """Return the codes of the categories of a condition."""
        categories = self.schema.features[condition.index].categories or ()
        return sorted(categories.index(category) + 1 for category in condition.categories)


@dataclass(frozen=True)
class Subject:
    """A fitted tree for the writers of all formats.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        Features of the training table.
    classes : array, list of array, or None
        Class labels; a list for several targets; None for regression.
    algorithm : str
        Name of the recipe.
    refuses_missing : bool
        Whether `predict` raises an error if a value is missing.
    refuses_unseen : bool
        Whether `predict` raises an error for a category not seen in fit; else it is treated as missing.
    target_names : tuple of str
        Name of each target; if empty, they are y, or y0, y1, ...
    labelled : tuple of (Schema, Classes), optional
        Schema and classes with labels, for comments; by default their own names.
    """

    tree: Tree
    schema: Schema
    classes: Classes
    algorithm: str
    refuses_missing: bool = False
    refuses_unseen: bool = False
    target_names: tuple[str, ...] = ()
    labelled: tuple[Schema, Classes] | None = None

    @property
    def in_words(self) -> tuple[Schema, Classes]:
        """Schema and classes for comments."""
        return self.labelled or (self.schema, self.classes)


class Formulas(NamedTuple):
    """The linear models of some nodes as a table, whose rows predict ``min(max(((b0 + b1 x1) + b2 x2) + ..., lower), upper)``.

    Those of several targets are beside each other.

    Parameters
    ----------
    features : list of int
        Those of the columns that have a term in a row, which are added in this order.
    codes : list of int
        For each column, the code of the category that it indicates by 1, others by 0; 0 for the value of the feature itself.
    filling : list of float
        What takes the place of a missing value of each of these columns, and of a category that the fit did not see.
    rows : array of float64, shape (n_nodes, n_targets * width)
        For each target the intercept, coefficients (0 for no term, which changes no bit of the sum), and the bounds if there are
        any.
    is_bounded : bool
        Whether there are bounds.
    n_targets : int
    """

    features: list[int]
    codes: list[int]
    filling: list[float]
    rows: NDArray[np.float64]
    is_bounded: bool
    n_targets: int

    @property
    def width(self) -> int:
        """Number of columns of a target."""
        return int(self.rows.shape[1]) // self.n_targets


def formulas_of(tree: Tree, nodes: NDArray[np.intp]) -> Formulas | None:
    """Return the linear models of some nodes of a tree; None if its leaves predict constants."""
    if not isinstance(tree, ModelTree):
        return None
    by_target = [models.of_nodes(nodes) for models in tree.models_by_target]
    columns = np.unique(np.concatenate([models.columns for models in by_target]))
    bounds = [np.column_stack([models.lower, models.upper]) for models in by_target]
    is_bounded = bool(np.isfinite(bounds).any())
    parts = []
    for models, of_target in zip(by_target, bounds, strict=True):
        coefficients = np.zeros((nodes.size, columns.size))
        coefficients[:, np.searchsorted(columns, models.columns)] = models.rows
        parts += [models.intercept[:, None], coefficients, *([of_target.clip(-MOST, MOST)] if is_bounded else [])]
    first = by_target[0]
    sources = [first.source(column) for column in columns.tolist()]
    return Formulas(
        [feature for feature, _ in sources],
        [code for _, code in sources],
        first.filling[columns].tolist(),
        np.hstack(parts),
        is_bounded,
        len(by_target),
    )


def of_one_target(subject: Subject, target: int) -> tuple[Subject, int]:
    """Return the subject and the target for a format that writes one target; a tree with models becomes that of the target.

    Raises
    ------
    ValueError
        If there is no such target.
    """
    check_target(target, subject.tree.n_outputs)
    if not isinstance(subject.tree, ModelTree) or subject.tree.outputs is None:
        return subject, target
    names = subject.target_names or default_target_names(subject.tree.n_outputs)
    return replace(subject, tree=subject.tree.of_target(target), target_names=(names[target],)), 0


def check_target(target: int, n_targets: int) -> None:
    """Raise a ValueError if `target` is not the number of a target."""
    if isinstance(target, bool) or not isinstance(target, (int, np.integer)) or not 0 <= target < n_targets:
        raise ValueError(f"target={target!r}: must be an integer in [0, {n_targets - 1}]")


def check_class(probability_of: Any, labels: Sequence[Any]) -> None:
    """Raise a ValueError if `probability_of` is no class; regression has no labels."""
    if isinstance(probability_of, np.ndarray) or probability_of not in labels:
        known = f"one of {labels}" if labels else "None for regression"
        raise ValueError(f"probability_of={probability_of!r}: must be {known}")
