"""Surrogate splits of a tree: tests of other features that replace a node's own test where its feature is missing.

They are parallel read-only arrays beside those of `Tree`, with an entry per surrogate, node by node.  Growth measures each
surrogate; the walk decides which samples follow it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._model.arrays import NOMINAL, SHARES, THRESHOLD, Nodes, offsets_of, read_only, require, same_bits

DTYPES: dict[str, type[np.generic]] = {
    "start": np.int64,
    "feature": np.int32,
    "kind": np.uint8,
    "threshold": np.float64,
    "low_branch": np.int32,
    "categories_start": np.int64,
    "categories_code": np.uint32,
    "categories_branch": np.int32,
    "agreement": np.float64,
    "adjusted": np.float64,
}
OF_ENTRIES = ("feature", "kind", "threshold", "low_branch", "agreement", "adjusted")


@dataclass(frozen=True, eq=False)
class Surrogates:
    """The surrogate splits of a tree of n nodes, in the order in which they are tried.

    Breiman et al. (1984), section 5.3; Therneau and Atkinson, "An Introduction to Recursive Partitioning Using the RPART
    Routines", section 5.  Arrays of the given dtype are not copied and become read-only; others are converted.

    Parameters
    ----------
    start : array of int64, shape (n + 1,)
        Node ``i`` owns the surrogates ``start[i]:start[i + 1]``; none unless it has two branches.
    feature : array of int32, shape (m,)
        The tested feature.
    kind : array of uint8, shape (m,)
        `THRESHOLD` or `NOMINAL`, as in `Tree`.
    threshold : array of float64, shape (m,)
        NaN unless `THRESHOLD`.
    low_branch : array of int32, shape (m,)
        Branch of values up to the threshold, 0 or 1; larger ones go to the other branch.  -1 unless `THRESHOLD`.
    categories_start : array of int64, shape (m + 1,)
        Surrogate ``s`` owns the entries ``categories_start[s]:categories_start[s + 1]`` of the next two; none unless `NOMINAL`.
    categories_code, categories_branch : array of uint32 and of int32, shape (t,)
        Category codes (from 1), ascending in each surrogate, and their branches.  For any other category, the next surrogate
        is tried.
    agreement : array of float64, shape (m,)
        Share of the training weight that it sends the same way as the node's test, in (0, 1]; not increasing within a node.
    adjusted : array of float64, shape (m,)
        Its gain over sending every sample to the heavier branch, as a share of the largest possible gain, in (0, 1].

    Raises
    ------
    ValueError
        If an array does not fit its dtype or is not one-dimensional.
    """

    start: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    threshold: npt.NDArray[np.float64]
    low_branch: npt.NDArray[np.int32]
    categories_start: npt.NDArray[np.int64]
    categories_code: npt.NDArray[np.uint32]
    categories_branch: npt.NDArray[np.int32]
    agreement: npt.NDArray[np.float64]
    adjusted: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        for name, dtype in DTYPES.items():
            object.__setattr__(self, name, read_only(f"surrogates.{name}", getattr(self, name), dtype, 1))

    def __len__(self) -> int:
        return self.feature.size

    @property
    def node(self) -> npt.NDArray[np.intp]:
        """The node of each surrogate; shape (m,)."""
        return np.repeat(np.arange(self.start.size - 1), np.diff(self.start))

    def categories_of(self, i: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
        """Return the codes that the `NOMINAL` surrogate `i` knows, ascending, and their branches."""
        entries = slice(int(self.categories_start[i]), int(self.categories_start[i + 1]))
        return self.categories_code[entries], self.categories_branch[entries]

    def of_nodes(self, nodes: npt.NDArray[Any], leaf: npt.NDArray[np.bool_] | None = None) -> Surrogates:
        """Return the surrogates of a tree whose node ``i`` has the test of this tree's node ``nodes[i]``, or is a leaf.

        Parameters
        ----------
        nodes : array of int, shape (k,)
        leaf : array of bool, shape (k,), or None
            Nodes that keep no surrogates; None if all keep theirs.
        """
        sizes = np.diff(self.start)[nodes]
        if leaf is not None:
            sizes = np.where(leaf, 0, sizes)
        start = offsets_of(sizes)
        entries = np.repeat(self.start[nodes] - start[:-1], sizes) + np.arange(start[-1])
        tables = np.diff(self.categories_start)[entries]
        categories_start = offsets_of(tables)
        cells = np.repeat(self.categories_start[entries] - categories_start[:-1], tables) + np.arange(categories_start[-1])
        return Surrogates(
            start=start,
            categories_start=categories_start,
            categories_code=self.categories_code[cells],
            categories_branch=self.categories_branch[cells],
            **{name: getattr(self, name)[entries] for name in OF_ENTRIES},
        )

    def check(self, tree: Nodes) -> None:
        """Verify every invariant above for the nodes of a tree, in time linear in nodes and surrogates.

        Raises
        ------
        ValueError
            If an invariant does not hold; the message names it and the first node that violates it.
        """
        self._check_lengths(tree.node_count)
        node, kind = self.node, self.kind
        binary = (tree.n_branches == 2) & (tree.missing != SHARES)
        require((np.diff(self.start) == 0) | binary, "only a node of two branches that divides no samples may have surrogates")
        in_range = (self.feature >= 0) & (self.feature < tree.n_features) & (self.feature != tree.feature[node])
        require(in_range, "surrogates.feature must be a column of the table that the node's own test does not use", node)
        require((kind == THRESHOLD) | (kind == NOMINAL), f"surrogates.kind must be {THRESHOLD} or {NOMINAL}", node)
        by_threshold = kind == THRESHOLD
        require(
            np.where(by_threshold, np.isfinite(self.threshold), np.isnan(self.threshold)),
            "surrogates.threshold must be finite at a threshold test and NaN elsewhere",
            node,
        )
        sides = (self.low_branch == 0) | (self.low_branch == 1)
        require(
            np.where(by_threshold, sides, self.low_branch == -1),
            "surrogates.low_branch must be 0 or 1 at a threshold test and -1 elsewhere",
            node,
        )
        for name in ("agreement", "adjusted"):
            share = getattr(self, name)
            require((share > 0) & (share <= 1), f"surrogates.{name} must be above 0 and at most 1", node)
        follows = node[1:] == node[:-1]
        require(
            ~follows | (self.agreement[1:] <= self.agreement[:-1]),
            "surrogates must be in the order of their agreement",
            node[1:],
        )
        self._check_tables(node)

    def _check_lengths(self, n_nodes: int) -> None:
        m, t = self.feature.size, self.categories_code.size
        lengths = {"start": n_nodes + 1, "categories_start": m + 1, "categories_code": t, "categories_branch": t}
        for name in DTYPES:
            size = getattr(self, name).size
            if size != lengths.get(name, m):
                raise ValueError(f"surrogates.{name}: has {size} entries; must have {lengths.get(name, m)}")
        for name, start, stop in (("start", self.start, m), ("categories_start", self.categories_start, t)):
            if start[0] != 0 or start[-1] != stop or (start[1:] < start[:-1]).any():
                raise ValueError(f"surrogates.{name}: must begin with 0, not decrease, and end with {stop}")

    def _check_tables(self, node: npt.NDArray[np.intp]) -> None:
        sizes = np.diff(self.categories_start)
        require((sizes > 0) == (self.kind == NOMINAL), "a nominal surrogate must have categories, and no other may", node)
        owner = np.repeat(np.arange(len(self)), sizes)
        ascending = np.ones(self.categories_code.size, bool)
        ascending[1:] = (self.categories_code[1:] > self.categories_code[:-1]) | (owner[1:] != owner[:-1])
        require(
            (self.categories_code > 0) & ascending, "surrogates.categories_code must hold codes from 1 on, ascending", node[owner]
        )
        sides = (self.categories_branch == 0) | (self.categories_branch == 1)
        require(sides, "surrogates.categories_branch must be 0 or 1", node[owner])

    def __eq__(self, other: object) -> bool:
        """Return whether the two are equal bit for bit."""
        if not isinstance(other, Surrogates):
            return NotImplemented
        return all(same_bits(getattr(self, name), getattr(other, name)) for name in DTYPES)

    __hash__ = None  # type: ignore[assignment]  # equality is by content, which may be large

    def __reduce__(self) -> tuple[type[Surrogates], tuple[npt.NDArray[Any], ...]]:
        # the constructor makes the arrays read-only; unpickled arrays are writeable
        return Surrogates, tuple(getattr(self, field.name) for field in fields(self))
