"""Surrogate splits of a grown tree: tests of other features that stand in for a node's own where its feature is missing.

Parallel read-only arrays beside those of `Tree`, an entry per surrogate, node by node.  This file knows arrays; what a surrogate
is worth is found in growth, and who follows it is the walk's.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._tree import NOMINAL, SHARES, THRESHOLD, _offsets, _read_only, _require, _same_bits

if TYPE_CHECKING:
    from fasttree._tree import Tree

__all__ = ["Surrogates", "importances"]

DTYPES: dict[str, type[np.generic]] = {
    "start": np.int64,
    "feature": np.int32,
    "kind": np.uint8,
    "threshold": np.float64,
    "low_branch": np.int32,
    "table_start": np.int64,
    "table_code": np.uint32,
    "table_branch": np.int32,
    "agreement": np.float64,
    "adjusted": np.float64,
}
OF_ENTRIES = ("feature", "kind", "threshold", "low_branch", "agreement", "adjusted")


@dataclass(frozen=True, eq=False)
class Surrogates:
    """The surrogate splits of a tree of n nodes, in the order in which they are tried.

    Breiman et al. (1984), section 5.3; Therneau and Atkinson, "An Introduction to Recursive Partitioning Using the RPART
    Routines", section 5.  Arrays of the stated dtype are taken over without a copy and become read-only; others are converted.

    Parameters
    ----------
    start : array of int64, shape (n + 1,)
        Node ``i`` owns the surrogates ``start[i]:start[i + 1]``; none unless it has two branches.
    feature : array of int32, shape (m,)
        The feature that is looked at instead.
    kind : array of uint8, shape (m,)
        `THRESHOLD` or `NOMINAL`, as in `Tree`.
    threshold : array of float64, shape (m,)
        NaN unless `THRESHOLD`.
    low_branch : array of int32, shape (m,)
        Branch of values up to the threshold, 0 or 1, while larger ones go to the other; -1 unless `THRESHOLD`.
    table_start : array of int64, shape (m + 1,)
        Surrogate ``s`` owns the entries ``table_start[s]:table_start[s + 1]`` of the table; none unless `NOMINAL`.
    table_code, table_branch : array of uint32 and of int32, shape (t,)
        Category codes (from 1), ascending in each surrogate, and their branches.  A category that is not among them decides
        nothing: the next surrogate is asked.
    agreement : array of float64, shape (m,)
        Share of the training weight that it sends the node's way, in (0, 1]; does not increase within a node.
    adjusted : array of float64, shape (m,)
        What that gains on sending every sample to the heavier branch, as a share of what can be gained, in (0, 1].

    Raises
    ------
    ValueError
        If an array does not fit its dtype, or is not one-dimensional.
    """

    start: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    threshold: npt.NDArray[np.float64]
    low_branch: npt.NDArray[np.int32]
    table_start: npt.NDArray[np.int64]
    table_code: npt.NDArray[np.uint32]
    table_branch: npt.NDArray[np.int32]
    agreement: npt.NDArray[np.float64]
    adjusted: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        for name, dtype in DTYPES.items():
            object.__setattr__(self, name, _read_only(f"surrogates.{name}", getattr(self, name), dtype, 1))

    def __len__(self) -> int:
        return self.feature.size

    @property
    def node(self) -> npt.NDArray[np.intp]:
        """The node of each surrogate; shape (m,)."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def table_of(self, i: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
        """Return the codes that the `NOMINAL` surrogate `i` knows, ascending, and their branches."""
        entries = slice(int(self.table_start[i]), int(self.table_start[i + 1]))
        return self.table_code[entries], self.table_branch[entries]

    def of_nodes(self, nodes: npt.NDArray[Any], leaf: npt.NDArray[np.bool_] | None = None) -> Surrogates:
        """Return the surrogates of a tree whose node ``i`` has the test of this tree's node ``nodes[i]``, or is a leaf.

        Parameters
        ----------
        nodes : array of int, shape (k,)
        leaf : array of bool, shape (k,), or None
            Nodes that keep no surrogates; None: all keep theirs.
        """
        sizes = np.diff(self.start)[nodes]
        if leaf is not None:
            sizes = np.where(leaf, 0, sizes)
        start = _offsets(sizes)
        entries = np.repeat(self.start[nodes] - start[:-1], sizes) + np.arange(start[-1])
        tables = np.diff(self.table_start)[entries]
        table_start = _offsets(tables)
        cells = np.repeat(self.table_start[entries] - table_start[:-1], tables) + np.arange(table_start[-1])
        return Surrogates(
            start=start,
            table_start=table_start,
            table_code=self.table_code[cells],
            table_branch=self.table_branch[cells],
            **{name: getattr(self, name)[entries] for name in OF_ENTRIES},
        )

    def check(self, tree: Tree) -> None:
        """Verify every statement above for the nodes of a tree, in time linear in nodes and surrogates.

        Raises
        ------
        ValueError
            Naming what does not hold and the first node where it fails.
        """
        self._check_lengths(tree.node_count)
        node, kind = self.node, self.kind
        binary = (tree.n_branches == 2) & (tree.missing != SHARES)
        _require((np.diff(self.start) == 0) | binary, "only a node of two branches that shares nothing out may have surrogates")
        in_range = (self.feature >= 0) & (self.feature < tree.n_features) & (self.feature != tree.feature[node])
        _require(in_range, "surrogates.feature must be a column of the table that the node does not test itself", node)
        _require((kind == THRESHOLD) | (kind == NOMINAL), f"surrogates.kind must be {THRESHOLD} or {NOMINAL}", node)
        by_threshold = kind == THRESHOLD
        _require(
            np.where(by_threshold, np.isfinite(self.threshold), np.isnan(self.threshold)),
            "surrogates.threshold must be finite at a threshold test and NaN elsewhere",
            node,
        )
        sides = (self.low_branch == 0) | (self.low_branch == 1)
        _require(
            np.where(by_threshold, sides, self.low_branch == -1),
            "surrogates.low_branch must be 0 or 1 at a threshold test and -1 elsewhere",
            node,
        )
        for name in ("agreement", "adjusted"):
            share = getattr(self, name)
            _require((share > 0) & (share <= 1), f"surrogates.{name} must be above 0 and at most 1", node)
        follows = node[1:] == node[:-1]
        _require(
            ~follows | (self.agreement[1:] <= self.agreement[:-1]), "surrogates must stand in the order of agreement", node[1:]
        )
        self._check_tables(node)

    def _check_lengths(self, n_nodes: int) -> None:
        m, t = self.feature.size, self.table_code.size
        lengths = {"start": n_nodes + 1, "table_start": m + 1, "table_code": t, "table_branch": t}
        for name in DTYPES:
            size = getattr(self, name).size
            if size != lengths.get(name, m):
                raise ValueError(f"surrogates.{name}: has {size} entries; must have {lengths.get(name, m)}")
        for name, start, stop in (("start", self.start, m), ("table_start", self.table_start, t)):
            if start[0] != 0 or start[-1] != stop or (start[1:] < start[:-1]).any():
                raise ValueError(f"surrogates.{name}: must begin with 0, not decrease, and end with {stop}")

    def _check_tables(self, node: npt.NDArray[np.intp]) -> None:
        sizes = np.diff(self.table_start)
        _require((sizes > 0) == (self.kind == NOMINAL), "a surrogate on categories must own a table, and no other may", node)
        owner = np.repeat(np.arange(len(self)), sizes)
        ascending = np.ones(self.table_code.size, bool)
        ascending[1:] = (self.table_code[1:] > self.table_code[:-1]) | (owner[1:] != owner[:-1])
        _require((self.table_code > 0) & ascending, "surrogates.table_code must hold codes from 1 on, ascending", node[owner])
        sides = (self.table_branch == 0) | (self.table_branch == 1)
        _require(sides, "surrogates.table_branch must be 0 or 1", node[owner])

    def __eq__(self, other: object) -> bool:
        """Whether the two are equal bit for bit."""
        if not isinstance(other, Surrogates):
            return NotImplemented
        return all(_same_bits(getattr(self, name), getattr(other, name)) for name in DTYPES)

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be large

    def __reduce__(self) -> tuple[type[Surrogates], tuple[npt.NDArray[Any], ...]]:
        # through the constructor: unpickled arrays are writeable
        return Surrogates, tuple(getattr(self, field.name) for field in fields(self))


def importances(tree: Tree) -> npt.NDArray[np.float64]:
    """Importance of each feature, float64 (n_features,): the gain of its tests, in risk units, and its part in others' gains.

    A surrogate counts its adjusted agreement times the gain of the node's own test (Breiman et al. 1984, section 5.3, as rpart
    reports it).  Not normalised.
    """
    gain = tree.weight * tree.gain
    inner = tree.feature >= 0
    found = np.zeros(tree.n_features)
    found += np.bincount(tree.feature[inner], weights=gain[inner], minlength=tree.n_features)
    surrogates = tree.surrogates
    if surrogates is not None:
        parts = surrogates.adjusted * gain[surrogates.node]
        found += np.bincount(surrogates.feature, weights=parts, minlength=tree.n_features)
    return found
