"""Substitutes for what a format cannot express: without one an error is raised, with one the document notes it.

Only C and Python source can divide a sample among several leaves.  For all other formats, the caller decides about missing values
for which the tree divides samples or uses surrogates, and about values near a soft threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._export.subject import Subject
from fasttree._model.arrays import KNOWN, SHARES, STOP
from fasttree._model.tree import Tree

__all__ = ["Adapted", "Medium", "adapt", "adapt_forest", "asks_surrogates", "check_substitutes", "heaviest_branch"]

MISSING = ("majority", "error")


@dataclass(frozen=True)
class Medium:
    """Capabilities of a format.

    Parameters
    ----------
    name : str
        As in "as no ONNX model can".
    refusal : str
        What happens to a sample that must get no prediction, as in "by which it gives NULL".
    surrogates : bool
        Whether it can use tests of other features if a value is missing.
    """

    name: str
    refusal: str
    surrogates: bool = False


@dataclass(frozen=True)
class Adapted:
    """A tree that a format can express.

    Parameters
    ----------
    subject : Subject
        Its tree divides no sample, and has surrogates only if the format can use them.
    refused : array of bool, shape (n,)
        Inner nodes at which a missing value (after surrogates, if any) must get no prediction; `missing` is `STOP` there.
    notes : tuple of str
        Differences from the model's tree, as sentences for the document.
    """

    subject: Subject
    refused: NDArray[np.bool_]
    notes: tuple[str, ...]


def adapt(subject: Subject, medium: Medium, *, missing: str | None = None, soft: str | None = None) -> Adapted:
    """Convert a tree to one that a format can express.

    Parameters
    ----------
    subject : Subject
    medium : Medium
    missing : {"majority", "error"} or None, default None
        Substitute for missing values that the tree divides or rejects, or for which it uses surrogates that the format lacks:
        they follow the heaviest branch (the first of equal ones), or get no prediction.  If a model rejects missing values, so
        does its export, unless this is "majority".
    soft : {"hard"} or None, default None
        Substitute for soft thresholds: hard ones.

    Returns
    -------
    Adapted

    Raises
    ------
    ValueError
        If the format cannot express the tree and no substitute is given, or a substitute is unknown.
    """
    check_substitutes(missing, soft)
    tree = subject.tree
    notes: list[str] = []
    changes: dict[str, Any] = {}
    if tree.lower is not None and tree.upper is not None and (tree.lower < tree.upper).any():
        if soft is None:
            raise ValueError(
                f"the tree has soft thresholds, near which samples go both ways, as no {medium.name} can: choose soft='hard', "
                "which replaces them by plain thresholds"
            )
        notes.append("soft thresholds are taken for hard ones")
        changes |= {"lower": None, "upper": None}
    asks, shares = asks_surrogates(tree) & (not medium.surrogates), tree.missing == SHARES
    undecided = asks | shares
    refused = np.zeros(tree.node_count, bool)
    if undecided.any():
        does = "asks surrogates" if asks.any() else "shares a sample out among several branches"
        if missing is None:
            node = int(undecided.argmax())
            raise ValueError(
                f"where a value is missing, the tree {does} (the first time at node {node}, where it tests "
                f"{subject.schema.features[tree.feature[node]].name!r}), as no {medium.name} can: choose missing='majority', by "
                f"which the value follows the heaviest branch, or missing='error', by which it {medium.refusal}"
            )
        instead = "follows the heaviest branch" if missing == "majority" else medium.refusal
        notes.append(f"where the tree {does}, a missing value {instead}")
        if missing == "error":
            refused = undecided
        destination = heaviest_branch(tree) if missing == "majority" else np.full(tree.node_count, STOP)
        changes["missing"] = np.where(undecided, destination, tree.missing).astype(np.int32)
        if asks.any():
            changes["surrogates"] = None
    if subject.refuses_missing:
        inner = (tree.n_branches > 0) & (tree.kind != KNOWN)
        if missing == "majority":
            notes.append("a missing value, which the model refuses, follows the heaviest branch")
        else:
            notes.append(f"a missing value {medium.refusal}, as the model refuses it")
            refused = inner
        destination = heaviest_branch(tree) if missing == "majority" else np.full(tree.node_count, STOP)
        changes["missing"] = np.where(inner, destination, tree.missing).astype(np.int32)
    if changes:
        subject = replace(subject, tree=tree.replace(**changes))
    return Adapted(subject, refused, tuple(notes))


def adapt_forest(subjects: Iterable[Subject], medium: Medium, *, missing: str | None, soft: str | None) -> Iterator[Adapted]:
    """Yield the trees of a forest as `adapt` converts them; errors name the tree."""
    for i, subject in enumerate(subjects):
        try:
            yield adapt(subject, medium, missing=missing, soft=soft)
        except ValueError as error:
            raise ValueError(f"tree {i}: {error}") from None


def check_substitutes(missing: str | None, soft: str | None) -> None:
    """Raise a ValueError if a substitute is unknown."""
    if missing not in (None, *MISSING):
        raise ValueError(f"missing={missing!r}: must be one of {', '.join(map(repr, MISSING))}, or None")
    if soft not in (None, "hard"):
        raise ValueError(f"soft={soft!r}: must be 'hard' or None")


def asks_surrogates(tree: Tree) -> NDArray[np.bool_]:
    """Return which nodes have surrogates."""
    return np.zeros(tree.node_count, bool) if tree.surrogates is None else np.diff(tree.surrogates.start) > 0


def heaviest_branch(tree: Tree) -> NDArray[np.intp]:
    """Return the heaviest branch of each inner node, the first of equal ones; 0 at leaves."""
    heaviest = np.zeros(tree.node_count, dtype=np.intp)
    first_child, n_branches = tree.first_child.tolist(), tree.n_branches.tolist()
    for node in np.flatnonzero(tree.n_branches).tolist():
        heaviest[node] = tree.weight[first_child[node] : first_child[node] + n_branches[node]].argmax()
    return heaviest
