"""The grown tree: parallel read-only arrays with stated invariants, and nothing else.

Nodes are numbered breadth first and siblings are adjacent, so a loop over ids downwards is bottom-up and no function here needs
recursion.  This file knows codes, weights and counts; names, categories and recipes live elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._core import Walker, breadth_first

if TYPE_CHECKING:
    from fasttree._surrogates import Surrogates

__all__ = ["CATEGORY", "INTERVALS", "KNOWN", "LEAF", "NOMINAL", "SHARES", "STOP", "THRESHOLD", "Tree"]

LEAF, THRESHOLD, NOMINAL, CATEGORY, KNOWN, INTERVALS = 0, 1, 2, 3, 4, 5  # Tree.kind
SHARES, STOP = -1, -2  # Tree.missing, besides the branches 0, 1, ...

TASKS = ("classification", "regression")
PART_TOLERANCE = 1e-12  # of the root's weight: parts of samples are rounded, and a node may hold nothing but very small ones
SUM_TOLERANCE = 1e-9  # relative: weights are added in different orders in a node and in its children

# name: dtype and number of dimensions
ARRAYS: dict[str, tuple[type[np.generic], int]] = {
    "parent": (np.int32, 1),
    "first_child": (np.int32, 1),
    "n_branches": (np.int32, 1),
    "feature": (np.int32, 1),
    "kind": (np.uint8, 1),
    "threshold": (np.float64, 1),
    "missing": (np.int32, 1),
    "table_start": (np.int64, 1),
    "table_code": (np.uint32, 1),
    "table_branch": (np.int32, 1),
    "n_samples": (np.int64, 1),
    "weight": (np.float64, 1),
    "value": (np.float64, 2),
    "impurity": (np.float64, 1),
    "gain": (np.float64, 1),
}
_NATIVE: dict[type[np.generic], np.dtype[Any]] = {
    dtype: np.dtype(dtype) for dtype in (np.uint8, np.int32, np.uint32, np.int64, np.float64)
}
EQUAL_LOSSES = 1e-12  # relative: of classes whose expected losses are so close the first is the answer
# float64 (n,), or None where a tree does not have them
OPTIONAL_ARRAYS = ("estimated_errors", "lower", "upper")
CUTS = ("cut_start", "cut")


class Tree:
    """A decision tree as parallel arrays; node 0 is the root.

    Arrays that already have the stated dtype and C order are taken over without a copy and become read-only; others are
    converted.  The constructor looks at dtypes alone; `check` verifies what the arrays say.

    Parameters
    ----------
    task : {"classification", "regression"}
    n_features : int
        Number of columns of the table that the tree was grown on.
    parent : array of int32, shape (n,)
        -1 at the root; ``parent[i] < i``.
    first_child, n_branches : array of int32, shape (n,)
        Branch ``b`` of node ``i`` leads to ``first_child[i] + b``; -1 and 0 at a leaf.
    feature : array of int32, shape (n,)
        Tested feature, -1 at a leaf.
    kind : array of uint8, shape (n,)
        `LEAF`, `THRESHOLD` (x <= threshold to branch 0, else 1; on the code of an ordinal feature), `NOMINAL` (by table),
        `CATEGORY` (branch = code - 1), `KNOWN` (known to branch 0, missing to 1) or `INTERVALS` (branch = how many cuts are
        below x).  The first three may have one more branch, the last, for missing values alone.
    threshold : array of float64, shape (n,)
        NaN unless `THRESHOLD`.
    missing : array of int32, shape (n,)
        Where a missing value goes: a branch, `SHARES` (every branch, in proportion to the children's weights) or `STOP` (it
        stays in the node; also at leaves).
    table_start : array of int64, shape (n + 1,)
        Node ``i`` owns the entries ``table_start[i]:table_start[i + 1]`` of the table; none unless `NOMINAL`.
    table_code, table_branch : array of uint32 and of int32, shape (m,)
        Category codes (from 1), ascending in each node, and their branches.
    n_samples : array of int64, shape (n,)
        Training samples that reached the node, in whole or in part.
    weight : array of float64, shape (n,)
        The sum of their weights.
    value : array of float64, shape (n, k)
        Weights of the k classes, or the mean (absolute error: the median; k = 1); of several targets side by side.  A leaf of
        weight 0 repeats a row of its parent, which pruning may have changed since.
    impurity : array of float64, shape (n,)
        Of the node's distribution, in the unit of the recipe (bits for entropy); variance for regression.
    gain : array of float64, shape (n,)
        Of the split per unit weight of the node, as it competed; 0 at a leaf.
    estimated_errors : array of float64, shape (n,), or None, default None
        Errors that error-based pruning predicts for the subtree: the sum over its leaves (Quinlan 1993, chapter 4).
    lower, upper : array of float64, shape (n,), or None, default None
        Soft thresholds: a value between the two goes to both branches in part (Quinlan 1993, chapter 8).  NaN unless
        `THRESHOLD`, where ``lower <= threshold <= upper``.  Both or neither.
    cut_start, cut : array of int64, shape (n + 1,), and of float64, shape (m,), or None, default None
        The cuts of an `INTERVALS` node ``i``, ascending: ``cut[cut_start[i]:cut_start[i + 1]]``, one fewer than branches; an
        ordinal feature is cut by code.  None: there is no such node.
    surrogates : Surrogates or None, default None
        Tests of other features, asked in their order where the tested value is missing; `missing` is for samples on which none
        of them decides.
    outputs : sequence of int or None, default None
        Several targets: how many columns of `value` each has, one per class or 1 in regression; `impurity` is the mean of
        theirs.  None: one target.
    loss : array of float64, shape (k, k), or None, default None
        What it costs to answer class ``j`` where ``i`` is true: ``loss[i, j]``, 0 on the diagonal; the answer of a node is the
        class of least expected loss (Breiman et al. 1984, section 4.4).  None: every wrong class costs 1.

    Raises
    ------
    ValueError
        If an array is missing, unknown, or does not fit its dtype or number of dimensions.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> tree = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "no"]).tree_
    >>> tree
    <Tree: classification, 1 features, 5 nodes, 3 leaves, depth 2>
    >>> tree.first_child, tree.threshold, tree.value[:, 1]
    (array([ 1, -1,  3, -1, -1], dtype=int32), array([2.5, nan, 3.5, nan, nan]), array([1., 0., 1., 1., 0.]))
    """

    task: str
    n_features: int
    parent: npt.NDArray[np.int32]
    first_child: npt.NDArray[np.int32]
    n_branches: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    threshold: npt.NDArray[np.float64]
    missing: npt.NDArray[np.int32]
    table_start: npt.NDArray[np.int64]
    table_code: npt.NDArray[np.uint32]
    table_branch: npt.NDArray[np.int32]
    n_samples: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float64]
    value: npt.NDArray[np.float64]
    impurity: npt.NDArray[np.float64]
    gain: npt.NDArray[np.float64]
    estimated_errors: npt.NDArray[np.float64] | None
    lower: npt.NDArray[np.float64] | None
    upper: npt.NDArray[np.float64] | None
    cut_start: npt.NDArray[np.int64] | None
    cut: npt.NDArray[np.float64] | None
    surrogates: Surrogates | None
    outputs: tuple[int, ...] | None
    loss: npt.NDArray[np.float64] | None

    def __init__(
        self,
        *,
        task: str,
        n_features: int,
        estimated_errors: npt.ArrayLike | None = None,
        lower: npt.ArrayLike | None = None,
        upper: npt.ArrayLike | None = None,
        cut_start: npt.ArrayLike | None = None,
        cut: npt.ArrayLike | None = None,
        surrogates: Surrogates | None = None,
        outputs: Sequence[int] | None = None,
        loss: npt.ArrayLike | None = None,
        **arrays: npt.ArrayLike,
    ) -> None:
        if task not in TASKS:
            raise ValueError(f"task={task!r}: must be one of {', '.join(map(repr, TASKS))}")
        if arrays.keys() != ARRAYS.keys():
            wrong = sorted(arrays.keys() ^ ARRAYS.keys())
            raise ValueError(f"a Tree takes the arrays {', '.join(ARRAYS)}; missing or unknown: {', '.join(wrong)}")
        self.task = task
        self.n_features = int(n_features)
        for name, (dtype, n_dimensions) in ARRAYS.items():
            setattr(self, name, _read_only(name, arrays[name], dtype, n_dimensions))
        for name, array in zip(OPTIONAL_ARRAYS, (estimated_errors, lower, upper), strict=True):
            setattr(self, name, None if array is None else _read_only(name, array, np.float64, 1))
        self.cut_start = None if cut_start is None else _read_only("cut_start", cut_start, np.int64, 1)
        self.cut = None if cut is None else _read_only("cut", cut, np.float64, 1)
        self.surrogates = surrogates
        self.outputs = None if outputs is None else tuple(map(int, outputs))
        self.loss = None if loss is None else _read_only("loss", loss, np.float64, 2)

    @classmethod
    def from_growth(
        cls,
        *,
        task: str,
        n_features: int,
        first_child: npt.NDArray[np.int32],
        n_branches: npt.NDArray[np.int32],
        table_start: npt.NDArray[np.int64],
        table_size: npt.NDArray[np.int64],
        table_code: npt.NDArray[np.uint32],
        table_branch: npt.NDArray[np.int32],
        cut_start: npt.NDArray[np.int64] | None = None,
        cut_size: npt.NDArray[np.int64] | None = None,
        cut: npt.NDArray[np.float64] | None = None,
        surrogates: Surrogates | None = None,
        outputs: Sequence[int] | None = None,
        loss: npt.NDArray[np.float64] | None = None,
        **fields: npt.NDArray[Any] | None,
    ) -> Tree:
        """Build a tree from nodes in the order of their growth: number them breadth first.

        Parameters
        ----------
        task, n_features
            As for `Tree`.
        first_child, n_branches : array of int32, shape (n,)
            Node 0 is the root; the children of a node are adjacent and have larger ids than it.
        table_start, table_size : array of int64, shape (n,)
            Node ``i`` owns the entries ``table_start[i]:table_start[i] + table_size[i]``, in any order of nodes; the size is 0
            unless the node is `NOMINAL`.
        table_code, table_branch : array, shape (m,)
            As for `Tree`.
        cut_start, cut_size : array of int64, shape (n,), or None
            The same for the cuts of `INTERVALS` nodes.
        cut : array of float64, shape (m,), or None
            As for `Tree`.
        surrogates : Surrogates or None, default None
            Of the nodes in the order of their growth.
        outputs : sequence of int or None
            As for `Tree`.
        loss : array, shape (k, k), or None
            As for `Tree`.
        **fields : array, shape (n,) or (n, k)
            The other arrays of `Tree` except `parent`, which follows from the rest; optional ones may be None.

        Returns
        -------
        Tree
            Not checked.  The arrays given are not modified.
        """
        order = breadth_first(np.ascontiguousarray(first_child, np.int32), np.ascontiguousarray(n_branches, np.int32))
        children = n_branches[order]
        inner = np.flatnonzero(children)
        starts = 1 + np.cumsum(children, dtype=np.int64)
        new_first_child = np.full(order.size, -1, np.int32)
        new_first_child[inner] = (starts - children)[inner]
        new_table_start, entries = _gather(table_start[order], table_size[order])
        return cls(
            task=task,
            n_features=n_features,
            parent=_parents(inner, children[inner]),
            first_child=new_first_child,
            n_branches=children,
            table_start=new_table_start,
            table_code=table_code[entries],
            table_branch=table_branch[entries],
            **_cuts_of(cut_start, cut_size, cut, order),
            surrogates=None if surrogates is None else surrogates.of_nodes(order),
            outputs=outputs,
            loss=loss,
            **{name: array[order] for name, array in fields.items() if array is not None},
        )

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.parent.size

    @property
    def n_leaves(self) -> int:
        """Number of leaves, empty ones included."""
        return int(np.count_nonzero(self.n_branches == 0))

    @property
    def n_outputs_or_classes(self) -> int:
        """Number of columns of `value`: the classes, or 1."""
        return int(self.value.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return 1 if self.outputs is None else len(self.outputs)

    def by_output(self, columns: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Cut an array with the columns of `value` into a part per target."""
        widths = [self.value.shape[1]] if self.outputs is None else self.outputs
        return np.split(columns, np.cumsum(widths)[:-1], axis=-1)

    @property
    def max_depth(self) -> int:
        """Number of tests on the longest path; 0 for a root alone."""
        return len(self._level_starts()) - 2

    @property
    def label(self) -> npt.NDArray[np.intp]:
        """Index of the class that each node answers: the heaviest, or that of least loss; the first on ties.

        Shape (n,), or (n, n_outputs) for several targets.
        """
        if self.task != "classification":
            raise AttributeError("a regression tree has no labels; its means are in `value`")
        if self.outputs is not None:
            return np.column_stack([best_classes(value, None) for value in self.by_output(self.value)])
        return best_classes(self.value, self.loss)

    @property
    def errors(self) -> npt.NDArray[np.float64]:
        """Weight of the classes that each node's answer is wrong for, times their loss where there is one; shape (n,)."""
        wrong = self.weight - self.value.max(axis=1) if self.loss is None else (self.value @ self.loss).min(axis=1)
        return np.where(self.weight > 0, wrong, 0.0)

    @property
    def risk(self) -> npt.NDArray[np.float64]:
        """Weight times impurity of each node; shape (n,)."""
        risk: npt.NDArray[np.float64] = self.weight * self.impurity
        return risk

    # What scikit-learn's `tree_` has under other names, so that programs written for it can read this one

    @property
    def children_left(self) -> npt.NDArray[np.int32]:
        """Scikit-learn's name for branch 0 of each node, -1 at a leaf; of a tree by thresholds alone, else an AttributeError."""
        self._check_binary("children_left")
        return self.first_child

    @property
    def children_right(self) -> npt.NDArray[np.int32]:
        """Scikit-learn's name for branch 1 of each node, -1 at a leaf; of a tree by thresholds alone, else an AttributeError."""
        self._check_binary("children_right")
        return np.where(self.kind == LEAF, -1, self.first_child + 1).astype(np.int32)

    @property
    def missing_go_to_left(self) -> npt.NDArray[np.uint8]:
        """Whether a missing value goes to `children_left`, 0 at a leaf; an AttributeError where it goes to neither child."""
        self._check_binary("missing_go_to_left")
        elsewhere = (self.missing < 0) & (self.kind != LEAF)
        if self.surrogates is not None:
            elsewhere |= np.diff(self.surrogates.start) > 0
        if elsewhere.any():
            node = elsewhere.argmax()
            raise AttributeError(
                f"missing_go_to_left: a missing value goes to no one child of node {node}; `missing` tells where"
            )
        left: npt.NDArray[np.uint8] = (self.missing == 0).astype(np.uint8)
        return left

    @property
    def n_node_samples(self) -> npt.NDArray[np.int64]:
        """Scikit-learn's name for `n_samples`."""
        return self.n_samples

    @property
    def weighted_n_node_samples(self) -> npt.NDArray[np.float64]:
        """Scikit-learn's name for `weight`."""
        return self.weight

    @property
    def n_classes(self) -> npt.NDArray[np.intp]:
        """Number of classes of each target, 1 in regression; shape (n_outputs,)."""
        return np.array(self.outputs or [self.value.shape[1]], dtype=np.intp)

    @property
    def max_n_classes(self) -> int:
        """The largest of `n_classes`."""
        return int(self.n_classes.max())

    def _check_binary(self, name: str) -> None:
        other = (self.kind != LEAF) & ((self.kind != THRESHOLD) | (self.n_branches != 2))
        if other.any():
            raise AttributeError(
                f"{name}: scikit-learn's trees have two branches and a threshold at each node, but node {other.argmax()} of this "
                "tree has another test; `first_child`, `n_branches` and `kind` tell which"
            )

    @cached_property
    def divides(self) -> bool:
        """Whether a sample can reach several leaves, with a share of its weight in each."""
        soft = self.lower is not None and self.upper is not None and (self.lower < self.upper).any()
        return bool(soft or (self.missing == SHARES).any())

    @cached_property
    def walker(self) -> Walker:
        """The tree as the compiled walks want it; never saved."""
        return Walker(self)

    def predictions(self, nodes: npt.NDArray[np.integer[Any]] | None = None) -> npt.NDArray[np.float64]:
        """What nodes predict: class shares (of each target), or means; all that of an empty leaf goes to its answer.

        Parameters
        ----------
        nodes : array of int, shape (m,), or None, default None
            Their ids; None: all nodes.

        Returns
        -------
        array of float64, shape (m, k)
            A new one.
        """
        if nodes is not None and nodes.size >= self.node_count:  # finding shares once per node costs less
            return self.predictions().take(nodes, axis=0)
        value, weight = (self.value, self.weight) if nodes is None else (self.value.take(nodes, axis=0), self.weight.take(nodes))
        if self.task == "regression":
            return value.copy() if nodes is None else value
        if self.outputs is not None:
            return np.concatenate([self._shares(part, weight) for part in self.by_output(value)], axis=1)
        return self._shares(value, weight)

    def _shares(self, value: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Class weights over their sum; over the node's weight where samples divide, as for the parts of a sample."""
        empty = (weight == 0).nonzero()[0]
        whole = weight if self.divides else value.sum(axis=1)
        if empty.size:
            whole = np.where(weight == 0, 1.0, whole)
        shares: npt.NDArray[np.float64] = value / whole[:, None]
        if empty.size:
            shares[empty] = np.eye(value.shape[1])[best_classes(value[empty], self.loss)]
        return shares

    @cached_property
    def given(self) -> npt.NDArray[np.float64]:
        """What nodes give to parts of samples: `value`, but of an empty leaf 1 for the class (of each target) that it answers."""
        empty = np.flatnonzero(self.weight == 0)
        if self.task == "regression" or not empty.size:
            return self.value
        value = self.value.copy()
        value[empty] = self.predictions(empty)
        return value

    @cached_property
    def answer(self) -> npt.NDArray[np.intp]:
        """Index of the class of the largest share in what each node predicts, or of least loss by it; of one target."""
        return best_classes(self.predictions(), self.loss)

    @property
    def answers(self) -> npt.NDArray[np.intp]:
        """The same of every target; shape (n, n_outputs)."""
        if self.outputs is None:
            return self.answer[:, None]
        return np.column_stack([best_classes(part, None) for part in self.by_output(self.predictions())])

    def leaves(self) -> npt.NDArray[np.intp]:
        """Return the ids of the leaves, ascending."""
        return np.flatnonzero(self.n_branches == 0)

    def cuts_of(self, node: int) -> npt.NDArray[np.float64]:
        """Return the cuts of an `INTERVALS` node, ascending."""
        assert self.cut_start is not None
        assert self.cut is not None
        return self.cut[self.cut_start[node] : self.cut_start[node + 1]]

    def table_of(self, node: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
        """Return the codes that a `NOMINAL` node knows, ascending, and their branches."""
        entries = slice(int(self.table_start[node]), int(self.table_start[node + 1]))
        return self.table_code[entries], self.table_branch[entries]

    def depth(self) -> npt.NDArray[np.int32]:
        """Return the number of tests between the root and each node; shape (n,)."""
        sizes = np.diff(self._level_starts())
        return np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)

    def child_start(self) -> npt.NDArray[np.int64]:
        """Where the children of consecutive nodes lie; shape (n + 1,).

        The children of the nodes ``a, ..., b - 1`` together are the nodes ``child_start[a], ..., child_start[b] - 1``.  Applied
        again and again, this gives the descendants of a node as one range of ids per level.
        """
        return 1 + _offsets(self.n_branches)

    def _level_starts(self) -> list[int]:
        """First node of each level, then the number of nodes."""
        child_start = self.child_start()
        starts = [0, 1]
        while starts[-1] < self.node_count:
            starts.append(int(child_start[starts[-1]]))
        return starts

    def replace(self, **changes: Any) -> Tree:
        """Return the tree with other arrays (or another task) in place of its own, not checked.

        Parameters
        ----------
        **changes
            Parameters of `Tree`; None takes an optional array away.
        """
        return Tree(**self.__getstate__() | changes)

    def prune_at(self, nodes: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree in which the marked nodes are leaves and their descendants are gone.

        Parameters
        ----------
        nodes : array of bool, shape (n,)
            Nodes to turn into leaves.  Marks on leaves and below other marked nodes change nothing.

        Returns
        -------
        Tree
            With nodes numbered anew; what a kept node knows of its samples stays as it is.  It has no `estimated_errors`: those
            of the new leaves, and of every node above one, would be others.

        Raises
        ------
        ValueError
            If `nodes` is not a mask over the nodes.
        """
        nodes = np.asarray(nodes)
        if nodes.dtype != np.bool_ or nodes.shape != (self.node_count,):
            raise ValueError(f"nodes: must be {self.node_count} booleans, one per node; got {nodes.dtype} of shape {nodes.shape}")
        kept = np.flatnonzero(~_below(nodes, self.parent))
        new_id = np.full(self.node_count + 1, -1, np.int32)  # the last entry serves the parent of the root: -1
        new_id[kept] = np.arange(kept.size, dtype=np.int32)
        leaf = nodes[kept] | (self.n_branches[kept] == 0)
        table_start, entries = _gather(self.table_start[kept], np.where(leaf, 0, np.diff(self.table_start)[kept]))
        cut_size = None
        if self.cut_start is not None:
            cut_size = np.diff(self.cut_start)
            cut_size[kept[leaf]] = 0

        def field(name: str, at_leaf: float) -> Any:
            if getattr(self, name) is None:
                return None
            array = getattr(self, name)[kept]
            array[leaf] = at_leaf
            return array

        return Tree(
            task=self.task,
            n_features=self.n_features,
            parent=new_id[self.parent[kept]],
            first_child=np.where(leaf, -1, new_id[self.first_child[kept]]),
            n_branches=field("n_branches", 0),
            feature=field("feature", -1),
            kind=field("kind", LEAF),
            threshold=field("threshold", np.nan),
            missing=field("missing", STOP),
            table_start=table_start,
            table_code=self.table_code[entries],
            table_branch=self.table_branch[entries],
            n_samples=self.n_samples[kept],
            weight=self.weight[kept],
            value=self.value[kept],
            impurity=self.impurity[kept],
            gain=field("gain", 0.0),
            lower=field("lower", np.nan),
            upper=field("upper", np.nan),
            **_cuts_of(self.cut_start, cut_size, self.cut, kept),
            surrogates=None if self.surrogates is None else self.surrogates.of_nodes(kept, leaf),
            outputs=self.outputs,
            loss=self.loss,
        )

    def check(self) -> None:
        """Verify every invariant of the arrays, in time linear in the nodes.

        Raises
        ------
        ValueError
            Naming the first invariant that does not hold and the first node where it fails.
        """
        self._check_arrays()
        self._check_numbering()
        self._check_tests()
        self._check_tables()
        self._check_cuts()
        if self.surrogates is not None:
            self.surrogates.check(self)
        # a sum of finite weights may still overflow: it then fails its comparison
        with np.errstate(over="ignore", invalid="ignore"):
            self._check_samples()

    def _check_arrays(self) -> None:
        n_nodes = self.parent.size
        if n_nodes == 0:
            raise ValueError("parent: a tree has at least one node")
        if self.n_features < 1:
            raise ValueError(f"n_features={self.n_features}: must be at least 1")
        lengths = {"table_start": n_nodes + 1, "table_code": self.table_branch.size, "table_branch": self.table_branch.size}
        present = {name: (np.float64, 1) for name in OPTIONAL_ARRAYS if getattr(self, name) is not None}
        for name, (dtype, n_dimensions) in (ARRAYS | present).items():
            array = getattr(self, name)
            if array.dtype != dtype or array.ndim != n_dimensions or not array.flags.c_contiguous or array.flags.writeable:
                raise ValueError(f"{name}: must be a read-only C-ordered {n_dimensions}-D array of {dtype.__name__}")
            if len(array) != lengths.get(name, n_nodes):
                raise ValueError(f"{name}: has {len(array)} entries; must have {lengths.get(name, n_nodes)}")
        n_columns = self.value.shape[1]
        if self.outputs is not None:
            self._check_outputs(self.outputs)
        elif n_columns < 1 or (self.task == "regression" and n_columns != 1):
            raise ValueError(f"value: has {n_columns} columns; must have one per class, or 1 for regression")
        if (self.lower is None) != (self.upper is None):
            raise ValueError("lower, upper: a tree must have both or neither")
        if present and self.task == "regression":
            raise ValueError(f"{', '.join(present)}: a regression tree must not have them")
        if self.loss is not None:
            self._check_loss(self.loss)

    def _check_outputs(self, outputs: tuple[int, ...]) -> None:
        least, most = 1, 1 if self.task == "regression" else self.value.shape[1]
        if len(outputs) < 2 or not all(least <= width <= most for width in outputs) or sum(outputs) != self.value.shape[1]:
            raise ValueError(
                f"outputs: {outputs} must be the columns of value, {self.value.shape[1]} in all, of two targets or more; 1 each "
                "in regression"
            )
        if self.loss is not None or self.estimated_errors is not None:
            raise ValueError("outputs: a tree of several targets must have neither loss nor estimated_errors")

    def _check_loss(self, loss: npt.NDArray[np.float64]) -> None:
        if self.task == "regression":
            raise ValueError("loss: a regression tree must not have one")
        n_classes = self.value.shape[1]
        if loss.shape != (n_classes, n_classes):
            raise ValueError(f"loss: has shape {loss.shape}; must have a row and a column per class, {n_classes} each")
        if not np.isfinite(loss).all() or (loss < 0).any() or loss.diagonal().any() or not loss.any(axis=1).all():
            raise ValueError("loss: must be finite and not negative, 0 on the diagonal and not 0 in all of a row")

    def _check_numbering(self) -> None:
        n_nodes = self.node_count
        _require((self.n_branches >= 0) & (self.n_branches != 1), "n_branches must be 0 at a leaf, at least 2 elsewhere")
        n_children = int(self.n_branches.sum(dtype=np.int64))
        if n_children != n_nodes - 1:
            raise ValueError(f"n_branches: the nodes have {n_children} children in all; must be {n_nodes - 1}, all but the root")
        inner = np.flatnonzero(self.n_branches)
        expected = np.full(n_nodes, -1, np.int64)
        expected[inner] = self.child_start()[inner]
        _require(
            self.first_child == expected,
            "first_child must be -1 at a leaf; elsewhere the children must follow those of the inner node before (breadth first)",
        )
        _require(
            self.parent == _parents(inner, self.n_branches[inner]), "parent must be the node whose child this is, -1 at the root"
        )
        _require(self.parent < np.arange(n_nodes), "parent must have a smaller number than its children")

    def _check_tests(self) -> None:
        leaf = self.n_branches == 0
        kind, missing = self.kind, self.missing
        allowed = (kind <= INTERVALS) & ((kind == LEAF) == leaf)
        _require(allowed, f"kind must be {LEAF} at a leaf and {THRESHOLD} to {INTERVALS} elsewhere")
        _require((kind != KNOWN) | (self.n_branches == 2), "a known test must have 2 branches")
        third = (self.n_branches == 3) & (missing == 2)
        _require(
            (kind != THRESHOLD) | (self.n_branches == 2) | third,
            "a threshold test must have 2 branches, or a third one for missing values",
        )
        in_range = (self.feature >= 0) & (self.feature < self.n_features)
        _require(np.where(leaf, self.feature == -1, in_range), "feature must be a column of the table, -1 at a leaf")
        _require(
            np.where(kind == THRESHOLD, np.isfinite(self.threshold), np.isnan(self.threshold)),
            "threshold must be finite at a threshold test and NaN elsewhere",
        )
        if self.lower is not None and self.upper is not None:
            finite = np.isfinite(self.lower) & np.isfinite(self.upper)
            _require(
                np.where(
                    kind == THRESHOLD,
                    finite & (self.lower <= self.threshold) & (self.threshold <= self.upper),
                    np.isnan(self.lower) & np.isnan(self.upper),
                ),
                "lower and upper must be finite, on their sides of the threshold, at a threshold test and NaN elsewhere",
            )
        allowed = np.where(leaf, missing == STOP, (missing >= STOP) & (missing < self.n_branches))
        _require(allowed, f"missing must be a branch, {SHARES} (shares) or {STOP} (stop); {STOP} at a leaf")
        _require((kind != KNOWN) | (missing == 1), "missing must be branch 1 at a known test")
        _require(np.isfinite(self.gain) & (~leaf | (self.gain == 0)), "gain must be finite, 0 at a leaf")

    def _check_tables(self) -> None:
        starts, n_entries = self.table_start, self.table_code.size
        if starts[0] != 0 or starts[-1] != n_entries:
            raise ValueError(f"table_start: must begin with 0 and end with the number of entries, {n_entries}")
        _require(starts[1:] >= starts[:-1], "table_start must not decrease")
        sizes = np.diff(starts)
        _require((sizes > 0) == (self.kind == NOMINAL), "a nominal test must own a table, and nothing else may")
        owner = np.repeat(np.arange(self.node_count), sizes)
        codes, branches = self.table_code, self.table_branch
        ascending = np.ones(n_entries, bool)
        ascending[1:] = (codes[1:] > codes[:-1]) | (owner[1:] != owner[:-1])
        _require((codes > 0) & ascending, "table_code must hold codes from 1 on, ascending", owner)
        _require((branches >= 0) & (branches < self.n_branches[owner]), "table_branch must be a branch of the node", owner)

    def _check_cuts(self) -> None:
        sizes = np.where(self.kind == INTERVALS, self.n_branches - 1, 0)
        if self.cut_start is None or self.cut is None:
            if sizes.any() or self.cut is not None or self.cut_start is not None:
                raise ValueError("cut_start, cut: a tree with an intervals test must have both, another neither")
            return
        for name, array, dtype in (("cut_start", self.cut_start, np.int64), ("cut", self.cut, np.float64)):
            if array.dtype != dtype or array.ndim != 1 or array.flags.writeable:
                raise ValueError(f"{name}: must be a read-only 1-D array of {dtype.__name__}")
        if not sizes.any() or not np.array_equal(self.cut_start, _offsets(sizes)) or self.cut.size != self.cut_start[-1]:
            raise ValueError("cut_start: every intervals test must own one cut fewer than branches, and nothing else may")
        owner = np.repeat(np.arange(self.node_count), sizes)
        ascending = np.isfinite(self.cut)
        ascending[1:] &= (self.cut[1:] > self.cut[:-1]) | (owner[1:] != owner[:-1])
        _require(ascending, "cut must be finite and ascending", owner)

    def _check_samples(self) -> None:
        leaf, empty = self.n_branches == 0, self.weight == 0
        _require(self.n_samples >= 0, "n_samples must not be negative")
        _require(np.isfinite(self.weight) & (self.weight >= 0), "weight must be finite and not negative")
        _require((self.n_samples > 0) | empty, "weight must be 0 where no sample came")
        _require(leaf | ~empty, "an inner node must have weight")
        _require(np.isfinite(self.impurity) & (self.impurity >= 0), "impurity must be finite and not negative")
        _require(np.all(np.isfinite(self.value), axis=1), "value must be finite")
        if self.task == "classification":
            _require(np.all(self.value >= 0, axis=1), "value must not be negative: it holds class weights")
            for value in self.by_output(self.value):
                fits = self._sums_to(value.sum(axis=1), self.weight) | empty
                _require(fits, "value: the class weights must sum to the node's weight")
                _require(
                    ~empty | value.any(axis=1), "value: a node without weight must have the class weights of some node above"
                )
        else:
            copied = (self.value == self.value[self.parent]).all(axis=1)
            copied[0] = True
            _require(copied | ~empty, "value: a node without weight must repeat its parent's row")
        if self.estimated_errors is not None:
            allowed = np.isfinite(self.estimated_errors) & (self.estimated_errors >= 0)
            _require(allowed, "estimated_errors must be finite and not negative")

        inner = np.flatnonzero(~leaf)
        if inner.size == 0:
            return
        # the blocks of children follow one another without gaps, in the order of their parents
        blocks, missing = self.first_child[inner], self.missing[inner]
        weight, child_weight = self.weight[inner], np.add.reduceat(self.weight, blocks)
        fits = self._sums_to(child_weight, weight) | ((missing == STOP) & (child_weight < weight))
        _require(fits, "weight: the children's weights must sum to the node's (to less only where missing values stop)", inner)
        n_samples, child_sum = self.n_samples[inner], np.add.reduceat(self.n_samples, blocks)
        largest = np.maximum.reduceat(self.n_samples, blocks)
        fits = np.where(missing >= 0, child_sum == n_samples, np.where(missing == STOP, child_sum, largest) <= n_samples)
        _require(
            fits,
            "n_samples: the children's must sum to the node's (to less where missing values stop; where they are shared, no "
            "child may have more than the node)",
            inner,
        )

    def _sums_to(self, sums: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        slack = SUM_TOLERANCE * weight + PART_TOLERANCE * self.weight[0]
        return np.asarray(np.abs(sums - weight) <= slack)

    def __eq__(self, other: object) -> bool:
        """Whether the two trees are equal bit for bit."""
        if not isinstance(other, Tree):
            return NotImplemented
        plain = ("task", "n_features", "surrogates", "outputs")
        return all(getattr(self, name) == getattr(other, name) for name in plain) and all(
            _same_bits(getattr(self, name), getattr(other, name)) for name in (*ARRAYS, *OPTIONAL_ARRAYS, *CUTS, "loss")
        )

    __hash__ = None  # type: ignore[assignment]  # equal by content, and the content may be large

    def __getstate__(self) -> dict[str, Any]:
        names = ("task", "n_features", *ARRAYS, *OPTIONAL_ARRAYS, *CUTS, "surrogates", "outputs", "loss")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # unpickled arrays are writeable until the constructor has seen them

    def __repr__(self) -> str:
        return (
            f"<Tree: {self.task}, {self.n_features} features, {self.node_count} nodes, {self.n_leaves} leaves, "
            f"depth {self.max_depth}>"
        )


def best_classes(value: npt.NDArray[np.float64], loss: npt.NDArray[np.float64] | None) -> npt.NDArray[np.intp]:
    """Index of the class to answer for each row of class weights or shares: the largest, or that of least expected loss.

    Of equal ones the first; losses that differ by rounding are equal.
    """
    if loss is None:
        return np.asarray(value.argmax(axis=1), np.intp)
    expected = value @ loss
    least = expected.min(axis=1, keepdims=True)
    return np.asarray((expected <= least * (1 + EQUAL_LOSSES)).argmax(axis=1), np.intp)


def distinct_rows(*arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Where rows that differ in any bit first occur, in that order, and which of them each row is: pure leaves are many alike.

    Parameters
    ----------
    *arrays : array, shape (m, k)
        Columns of the rows, of any types.

    Returns
    -------
    first, row_of : array of intp, shape (r,) and (m,)
    """
    parts = [np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1) for array in arrays if array.size]
    rows = np.ascontiguousarray(np.hstack(parts))
    _, first, inverse = np.unique(rows.view(f"V{rows.shape[1]}").ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return first[order], place[inverse]


def _read_only(name: str, given: npt.ArrayLike, dtype: type[np.generic], n_dimensions: int) -> npt.NDArray[Any]:
    if type(given) is np.ndarray and given.dtype is _NATIVE[dtype] and given.ndim == n_dimensions and given.flags.c_contiguous:
        given.setflags(write=False)
        return given
    array = np.asarray(given)
    if array.ndim != n_dimensions:
        raise ValueError(f"{name}: must have {n_dimensions} dimension(s); got shape {array.shape}")
    converted = np.ascontiguousarray(array, dtype=dtype)
    if array.dtype != dtype and np.issubdtype(dtype, np.integer) and not np.array_equal(array, converted):
        raise ValueError(f"{name}: must hold integers that fit {dtype.__name__}")
    converted.flags.writeable = False
    return converted


def _parents(inner: npt.NDArray[np.intp], n_branches: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Parent of every node when nodes are numbered breadth first, from the inner nodes in ascending order."""
    return np.concatenate([[-1], np.repeat(inner, n_branches)]).astype(np.int32)


def _below(marked: npt.NDArray[np.bool_], parent: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Whether a proper ancestor of each node is marked."""
    ancestor = np.maximum(parent, 0)
    below = marked[ancestor]
    below[0] = False
    # each round doubles the stretch of the path that has been looked at: as many rounds as the depth has bits
    while ancestor.any():
        below |= below[ancestor]
        ancestor = ancestor[ancestor]
    return below


def _offsets(sizes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    offsets = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _gather(starts: npt.NDArray[np.int64], sizes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where pieces of an array begin once they stand one after the other, and the entries that they are made of."""
    offsets = _offsets(sizes)
    return offsets, np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])


def _cuts_of(
    start: npt.NDArray[np.int64] | None,
    size: npt.NDArray[np.int64] | None,
    cut: npt.NDArray[np.float64] | None,
    nodes: npt.NDArray[Any],
) -> dict[str, Any]:
    """The arrays of cuts of some nodes, in their order; none where none has any."""
    if start is None or size is None or cut is None or not size[nodes].any():
        return {}
    offsets, entries = _gather(start[nodes], size[nodes])
    return {"cut_start": offsets, "cut": cut[entries]}


def _same_bits(a: npt.NDArray[Any] | None, b: npt.NDArray[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and np.array_equal(a.view(np.uint8), b.view(np.uint8))


def _require(holds: npt.NDArray[Any], rule: str, node_of: npt.NDArray[np.intp] | None = None) -> None:
    """Raise if `holds` is not true everywhere; `node_of` maps its entries to nodes, which they are without it."""
    if not holds.all():
        first = int(holds.argmin())
        raise ValueError(f"node {first if node_of is None else node_of[first]}: {rule}")
