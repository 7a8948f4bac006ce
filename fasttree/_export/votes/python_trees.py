"""Trees that vote as a Python module: each gives its class the share of this class."""

from __future__ import annotations

from collections.abc import Iterable

from fasttree._export.python import module_of
from fasttree._export.subject import Subject
from fasttree._export.votes.joined import default_of, joined_voting

__all__ = ["export_voting_python"]


def export_voting_python(subjects: Iterable[Subject], name: str = "tree") -> str:
    """Write boosted trees as a module; parameters and errors are those of `export_python`."""
    joined = joined_voting(subjects)
    tree = joined.subject.tree
    votes = VOTES_OF_TREES.format(width=tree.n_values), BEST_OF_VOTES.format(default=default_of(tree))
    return module_of(joined, name, nested=False, votes=votes)


VOTES_OF_TREES = '''
def _votes(x):
    """Return the votes for each class, added in the order of the trees: each votes with the share of its class."""
    votes = [0.0] * {width}
    for root in ROOTS:
        shares = _given_by_tree(x, root)
        votes[shares.index(max(shares))] += max(shares)
    return votes


def _given(x):
    """Return the share of each class in the votes."""
    votes, total = _votes(x), 0.0
    for vote in votes:
        total += vote
    return [vote / total for vote in votes]
'''

BEST_OF_VOTES = '''
def _best(votes):
    """Return the place of the class with the most votes; on ties that of the first tree's root, or else the first."""
    return {default} if votes[{default}] == max(votes) else votes.index(max(votes))
'''
