"""`ProvenTree`: a tree found by a search that bounds what every other tree costs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._model.tree import Tree

OPTIMAL = "optimal"
STATUSES = (OPTIMAL, "time_limit", "interrupted")


class Proof(NamedTuple):
    """What a search has shown.

    Parameters
    ----------
    objective : float
        Cost of the tree as grown.
    lower_bound : float
        No tree of the search costs less.
    status : str
        How the search ended, one of `STATUSES`.
    n_leaves : int
        Leaves of the tree as grown: a pruned tree has fewer, and the proof is not of it.
    """

    objective: float
    lower_bound: float
    status: str
    n_leaves: int

    @property
    def gap(self) -> float:
        """By how much a better tree may cost less."""
        return self.objective - self.lower_bound

    def check(self) -> None:
        """Raise a ValueError that names the first wrong entry."""
        if not 0 <= self.lower_bound <= self.objective < math.inf:
            raise ValueError(f"lower_bound={self.lower_bound!r}: must be in [0, {self.objective!r}], the objective")
        if self.status not in STATUSES:
            raise ValueError(f"status={self.status!r}: must be one of {', '.join(map(repr, STATUSES))}")
        if self.status == OPTIMAL and self.gap:
            raise ValueError(f"status={self.status!r}: must not be {OPTIMAL!r} with a gap of {self.gap!r}")


class ProvenTree(Tree):
    """A tree with the proof of the search that found it, which a pruned tree keeps; `replace` gives a plain tree.

    Parameters
    ----------
    proof : Proof
    **arrays
        As for `Tree`.
    """

    proof: Proof

    def __init__(self, *, proof: Proof, **arrays: Any) -> None:
        super().__init__(**arrays)
        self.proof = Proof(*proof)

    @classmethod
    def of(cls, tree: Tree, proof: Proof) -> ProvenTree:
        """Return a tree with a proof."""
        return cls(proof=proof, **Tree.__getstate__(tree))

    @property
    def is_proven(self) -> bool:
        """Whether the proof is of this tree, not of the tree before its pruning."""
        return self.n_leaves == self.proof.n_leaves

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"proof": self.proof}

    def replace(self, **changes: Any) -> Tree:
        """Return a plain tree with some arrays replaced, not checked."""
        return Tree(**Tree.__getstate__(self) | changes)

    def prune_at(self, nodes: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree in which the marked nodes are leaves, without their descendants."""
        return ProvenTree.of(super().prune_at(nodes), self.proof)

    def __eq__(self, other: object) -> bool:
        """Return whether trees and proofs are equal."""
        return isinstance(other, ProvenTree) and bool(super().__eq__(other)) and self.proof == other.proof

    __hash__ = None
