"""What is exported: a tree and what is needed to use it, without the estimator that it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._schema import Schema
from .._tree import Tree
from .._words import Classes

__all__ = ["Subject", "check_class", "check_target"]


@dataclass(frozen=True)
class Subject:
    """A fitted tree as the writers of all formats take it.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        The features of the table that the tree was grown on.
    classes : array, list of array, or None
        Class labels; of several targets a list; None for regression.
    algorithm : str
        Name of the recipe.
    refuses_missing : bool
        Whether `predict` raises where a value is missing.
    refuses_unseen : bool
        Whether `predict` raises where the fit did not see a category; else such a category is treated as missing.
    target_names : tuple of str
        One per target, or none: they are called y, or y0, y1, ...
    """

    tree: Tree
    schema: Schema
    classes: Classes
    algorithm: str
    refuses_missing: bool = False
    refuses_unseen: bool = False
    target_names: tuple[str, ...] = ()


def check_target(target: int, n_targets: int) -> None:
    """Raise a ValueError if a number is not that of a target."""
    if isinstance(target, bool) or not isinstance(target, (int, np.integer)) or not 0 <= target < n_targets:
        raise ValueError(f"target={target!r}: must be an integer in [0, {n_targets - 1}]")


def check_class(probability_of: Any, labels: Sequence[Any]) -> None:
    """Raise a ValueError if what a probability is asked of is no class; regression has no labels."""
    if probability_of not in labels:
        known = f"one of {labels}" if labels else "None for regression"
        raise ValueError(f"probability_of={probability_of!r}: must be {known}")
