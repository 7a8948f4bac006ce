"""Trees that vote: what all their exports need, and the trees behind one another for source code."""

from __future__ import annotations

from collections.abc import Iterable

from fasttree._export.layout import Joined, join
from fasttree._export.subject import Subject
from fasttree._model.tree import Tree

__all__ = ["check_votes", "default_of", "joined_voting"]


def joined_voting(subjects: Iterable[Subject]) -> Joined:
    """Return trees that vote, each for its class with the share of this class; errors are those of `check_votes`."""
    joined = join(subjects, is_forest=True)
    check_votes(joined.subject.tree, "source code")
    return joined


def check_votes(tree: Tree, medium: str) -> None:
    """Raise a ValueError if trees have costs, whose votes are no shares; `medium` is what cannot express them."""
    if tree.loss is not None:
        raise ValueError(
            f"the trials of this model vote by costs, which {medium} cannot do: use save, or the trees in estimators_"
        )


def default_of(tree: Tree) -> int:
    """Return the class that is predicted on ties: that of the root of the first tree, the first node of all trees."""
    return int(tree.predicted_class[0])
