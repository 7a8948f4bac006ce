"""Trees that vote, behind one another for source code."""

from __future__ import annotations

from collections.abc import Iterable

from fasttree._export.layout import Joined, join
from fasttree._export.subject import Subject
from fasttree._model.tree import Tree

__all__ = ["default_of", "joined_voting"]


def joined_voting(subjects: Iterable[Subject]) -> Joined:
    """Return trees that vote, each for its class with the share of this class.

    Raises
    ------
    ValueError
        If the trees have costs, whose votes are no shares.
    """
    joined = join(subjects, is_forest=True)
    if joined.subject.tree.loss is not None:
        raise ValueError(
            "the trials of this model vote by costs, which source code cannot do: use save, or the trees in estimators_"
        )
    return joined


def default_of(tree: Tree) -> int:
    """Return the class that is predicted on ties: that of the root of the first tree, the first node of all trees."""
    return int(tree.predicted_class[0])
