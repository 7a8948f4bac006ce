"""The fitted tree: parallel read-only arrays with documented invariants.

Nodes are numbered breadth first and siblings are adjacent.  A loop over descending ids is therefore bottom-up, without recursion.
The tree holds codes, weights and counts; names and categories are in the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._core import Walker
from fasttree._engine.passes import breadth_first
from fasttree._model.arrays import (
    ARRAYS,
    CUTS,
    LEAF,
    OPTIONAL_ARRAYS,
    SHARES,
    STOP,
    TASKS,
    THRESHOLD,
    counts_below,
    cuts_of,
    gather,
    largest,
    offsets_of,
    parents,
    read_only,
    same_bits,
)
from fasttree._model.check import check_tree
from fasttree._model.surrogates import Surrogates

EQUAL_LOSSES = 1e-12  # relative difference up to which expected losses are tied

_ABSENT = dict.fromkeys((*OPTIONAL_ARRAYS, *CUTS, "surrogates", "outputs", "loss", "by_hand"))  # None where a tree lacks them


class Tree:
    """A decision tree as parallel arrays; node 0 is the root.

    Arrays of the given dtype in C order are not copied and become read-only; others are converted.  The constructor checks only
    dtypes; `check` verifies the contents.

    Parameters
    ----------
    task : {"classification", "regression"}
    n_features : int
        Number of columns of the training table.
    parent : array of int32, shape (n,)
        -1 at the root; ``parent[i] < i``.
    first_child, n_branches : array of int32, shape (n,)
        Branch ``b`` of node ``i`` leads to ``first_child[i] + b``; -1 and 0 at a leaf.
    feature : array of int32, shape (n,)
        Tested feature, -1 at a leaf.
    kind : array of uint8, shape (n,)
        `LEAF`, `THRESHOLD` (x <= threshold to branch 0, else 1; on the code of an ordinal feature), `NOMINAL` (by category),
        `CATEGORY` (branch = code - 1), `KNOWN` (known to branch 0, missing to 1) or `INTERVALS` (branch = number of cuts
        below x).  `THRESHOLD`, `NOMINAL` and `CATEGORY` may have an extra last branch for missing values alone.
    threshold : array of float64, shape (n,)
        NaN unless `THRESHOLD`.
    missing : array of int32, shape (n,)
        Where a missing value goes: a branch, `SHARES` (every branch, in proportion to the children's weights) or `STOP` (it
        stays in the node; also at leaves).  With surrogates, samples that stopped at a node in training may go to the child of
        more samples in prediction.
    categories_start : array of int64, shape (n + 1,)
        Node ``i`` owns the entries ``categories_start[i]:categories_start[i + 1]`` of the next two; none unless `NOMINAL`.
    categories_code, categories_branch : array of uint32 and of int32, shape (m,)
        Category codes (from 1), ascending in each node, and their branches.
    n_samples : array of int64, shape (n,)
        Number of training samples that reached the node, in whole or in part.
    weight : array of float64, shape (n,)
        Sum of their weights.
    value : array of float64, shape (n, k)
        Weights of the k classes, or the mean (for absolute error the median; k = 1); several targets are side by side.  A leaf
        of weight 0 repeats the row of its parent in growth, which pruning may have changed since.
    impurity : array of float64, shape (n,)
        Impurity of the node's distribution, in the unit of the recipe (bits for entropy); variance for regression.
    gain : array of float64, shape (n,)
        Gain of the split per unit weight of the node, as compared in growth; 0 at a leaf.
    estimated_errors : array of float64, shape (n,), or None, default None
        Errors of the subtree estimated by error-based pruning: the sum over its leaves (Quinlan 1993, chapter 4).
    lower, upper : array of float64, shape (n,), or None, default None
        Soft thresholds: a value between the two goes to both branches in part (Quinlan 1993, chapter 8).  NaN unless
        `THRESHOLD`, where ``lower <= threshold <= upper``.  Both or neither.
    cut_start, cut : array of int64, shape (n + 1,), and of float64, shape (m,), or None, default None
        The cuts of an `INTERVALS` node ``i``, ascending: ``cut[cut_start[i]:cut_start[i + 1]]``, one fewer than branches; an
        ordinal feature is cut by code.  None if there is no such node.
    surrogates : Surrogates or None, default None
        Tests of other features, tried in order if the tested value is missing; `missing` applies if none of them decides.
    outputs : sequence of int or None, default None
        Number of columns of `value` for each of several targets: one per class, or 1 in regression.  `impurity` is the mean
        over the targets.  None for one target.
    loss : array of float64, shape (k, k), or None, default None
        Cost ``loss[i, j]`` of predicting class ``j`` if ``i`` is true, 0 on the diagonal.  A node predicts the class of least
        expected loss (Breiman et al. 1984, section 4.4).  None if every wrong class costs 1.
    by_hand : array of bool, shape (n,), or None, default None
        Nodes whose test was set by hand.  None if there is none.

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
    categories_start: npt.NDArray[np.int64]
    categories_code: npt.NDArray[np.uint32]
    categories_branch: npt.NDArray[np.int32]
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
    by_hand: npt.NDArray[np.bool_] | None

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
        by_hand: npt.ArrayLike | None = None,
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
            setattr(self, name, read_only(name, arrays[name], dtype, n_dimensions))
        for name, array in zip(OPTIONAL_ARRAYS, (estimated_errors, lower, upper), strict=True):
            setattr(self, name, None if array is None else read_only(name, array, np.float64, 1))
        self.cut_start = None if cut_start is None else read_only("cut_start", cut_start, np.int64, 1)
        self.cut = None if cut is None else read_only("cut", cut, np.float64, 1)
        self.surrogates = surrogates
        self.outputs = None if outputs is None else tuple(map(int, outputs))
        self.loss = None if loss is None else read_only("loss", loss, np.float64, 2)
        self.by_hand = read_only("by_hand", by_hand, np.bool_, 1) if by_hand is not None and np.any(by_hand) else None

    @classmethod
    def of_engine(cls, arrays: dict[str, npt.NDArray[Any]], **fields: Any) -> Tree:
        """Build a tree whose arrays have the right types: checks would be a tenth of the time that a small one grows."""
        tree = cls.__new__(cls)
        tree.__dict__ = _ABSENT | arrays | fields
        for array in arrays.values():
            array.setflags(False)  # type: ignore[call-arg]  # by position, in half the time
        return tree

    @classmethod
    def from_growth(
        cls,
        *,
        task: str,
        n_features: int,
        first_child: npt.NDArray[np.int32],
        n_branches: npt.NDArray[np.int32],
        categories_start: npt.NDArray[np.int64],
        categories_size: npt.NDArray[np.int64],
        categories_code: npt.NDArray[np.uint32],
        categories_branch: npt.NDArray[np.int32],
        cut_start: npt.NDArray[np.int64] | None = None,
        cut_size: npt.NDArray[np.int64] | None = None,
        cut: npt.NDArray[np.float64] | None = None,
        surrogates: Surrogates | None = None,
        outputs: Sequence[int] | None = None,
        loss: npt.NDArray[np.float64] | None = None,
        **fields: npt.NDArray[Any] | None,
    ) -> Tree:
        """Build a tree from nodes in the order of their growth; they are renumbered breadth first.

        Parameters
        ----------
        task, n_features
            As for `Tree`.
        first_child, n_branches : array of int32, shape (n,)
            Node 0 is the root; the children of a node are adjacent and have larger ids than it.
        categories_start, categories_size : array of int64, shape (n,)
            Node ``i`` owns `categories_size[i]` entries from `categories_start[i]` on, in any order of nodes; 0 unless
            `NOMINAL`.
        categories_code, categories_branch : array, shape (m,)
            As for `Tree`.
        cut_start, cut_size : array of int64, shape (n,), or None
            The same for the cuts of `INTERVALS` nodes.
        cut : array of float64, shape (m,), or None
            As for `Tree`.
        surrogates : Surrogates or None, default None
            Surrogates of the nodes, in the order of their growth.
        outputs : sequence of int or None
            As for `Tree`.
        loss : array, shape (k, k), or None
            As for `Tree`.
        **fields : array, shape (n,) or (n, k)
            The other arrays of `Tree` except `parent`, which follows from the rest; optional ones may be None.

        Returns
        -------
        Tree
            The tree, not checked.  The given arrays are not modified.
        """
        order = breadth_first(np.ascontiguousarray(first_child, np.int32), np.ascontiguousarray(n_branches, np.int32))
        children = n_branches[order]
        inner = np.flatnonzero(children)
        starts = 1 + np.cumsum(children, dtype=np.int64)
        new_first_child = np.full(order.size, -1, np.int32)
        new_first_child[inner] = (starts - children)[inner]
        new_table_start, entries = gather(categories_start[order], categories_size[order])
        return cls(
            task=task,
            n_features=n_features,
            parent=parents(inner, children[inner]),
            first_child=new_first_child,
            n_branches=children,
            categories_start=new_table_start,
            categories_code=categories_code[entries],
            categories_branch=categories_branch[entries],
            **cuts_of(cut_start, cut_size, cut, order),
            surrogates=None if surrogates is None else surrogates.of_nodes(order),
            outputs=outputs,
            loss=loss,
            **{name: array.take(order, axis=0) for name, array in fields.items() if array is not None},
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
    def n_values(self) -> int:
        """Number of columns of `value`: the classes of every target, or 1 per numeric target."""
        return int(self.value.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of targets."""
        return 1 if self.outputs is None else len(self.outputs)

    def by_output(self, columns: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Split an array with the columns of `value` into a part per target."""
        widths = [self.value.shape[1]] if self.outputs is None else self.outputs
        return np.split(columns, np.cumsum(widths)[:-1], axis=-1)

    @property
    def max_depth(self) -> int:
        """Number of tests on the longest path; 0 for a root alone."""
        return len(self._level_starts()) - 2

    @property
    def errors(self) -> npt.NDArray[np.float64]:
        """Weight of the samples that each node misclassifies, or their total loss if there is one; shape (n,)."""
        wrong = self.weight - largest(self.value) if self.loss is None else (self.value @ self.loss).min(axis=1)
        return np.where(self.weight > 0, wrong, 0.0)

    @property
    def risk(self) -> npt.NDArray[np.float64]:
        """Weight times impurity of each node; shape (n,)."""
        risk: npt.NDArray[np.float64] = self.weight * self.impurity
        return risk

    # Names of scikit-learn's `tree_`, for programs written for it

    @property
    def children_left(self) -> npt.NDArray[np.int32]:
        """Branch 0 of each node, -1 at a leaf; raises an AttributeError unless all tests are binary thresholds."""
        self._check_binary("children_left")
        return self.first_child

    @property
    def children_right(self) -> npt.NDArray[np.int32]:
        """Branch 1 of each node, -1 at a leaf; raises an AttributeError unless all tests are binary thresholds."""
        self._check_binary("children_right")
        return np.where(self.kind == LEAF, -1, self.first_child + 1).astype(np.int32)

    @property
    def missing_go_to_left(self) -> npt.NDArray[np.uint8]:
        """Whether a missing value goes to `children_left`, 0 at a leaf; raises an AttributeError if it goes to no one child."""
        self._check_binary("missing_go_to_left")
        elsewhere = (self.missing < 0) & (self.kind != LEAF)
        if self.surrogates is not None:
            elsewhere |= np.diff(self.surrogates.start) > 0
        if elsewhere.any():
            node = elsewhere.argmax()
            raise AttributeError(f"missing_go_to_left: a missing value goes to no single child of node {node}; see `missing`")
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
        """Maximum of `n_classes`."""
        return int(self.n_classes.max())

    def _check_binary(self, name: str) -> None:
        other = (self.kind != LEAF) & ((self.kind != THRESHOLD) | (self.n_branches != 2))
        if other.any():
            raise AttributeError(
                f"{name}: scikit-learn's trees have two branches and a threshold at each node, but node {other.argmax()} of this "
                "tree has another test; see `first_child`, `n_branches` and `kind`"
            )

    @cached_property
    def divides(self) -> bool:
        """Whether a sample can reach several leaves, with a part of its weight in each."""
        soft = self.lower is not None and self.upper is not None and (self.lower < self.upper).any()
        return bool(soft or (self.missing == SHARES).any())

    @cached_property
    def walker(self) -> Walker:
        """The tree in the form of the compiled walks; never saved."""
        return Walker(self)

    def predict_nodes(self, nodes: npt.NDArray[np.integer[Any]] | None = None) -> npt.NDArray[np.float64]:
        """Return the predictions of nodes: class shares (of each target), or means.

        An empty leaf has share 1 for its class.

        Parameters
        ----------
        nodes : array of int, shape (m,), or None, default None
            Ids of the nodes; None for all nodes.

        Returns
        -------
        array of float64, shape (m, k)
            A new array.
        """
        if nodes is not None and nodes.size >= self.node_count:  # it costs less to compute the shares of each node once
            return self.predict_nodes().take(nodes, axis=0)
        value, weight = (self.value, self.weight) if nodes is None else (self.value.take(nodes, axis=0), self.weight.take(nodes))
        if self.task == "regression":
            return value.copy() if nodes is None else value
        if self.outputs is not None:
            return np.concatenate([self._shares(part, weight) for part in self.by_output(value)], axis=1)
        return self._shares(value, weight)

    def _shares(self, value: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return class weights over their sum, or over the node's weight in a tree that divides samples."""
        empty = (weight == 0).nonzero()[0]
        whole: Any = weight if self.divides else value.sum(axis=1) if value.shape[1] > 7 else sum(value.T)  # as many bits, sooner
        if empty.size:
            whole = np.where(weight == 0, 1.0, whole)
        shares: npt.NDArray[np.float64] = value / whole[:, None]
        if empty.size:
            shares[empty] = np.eye(value.shape[1])[best_classes(value[empty], self.loss)]
        return shares

    @cached_property
    def contribution(self) -> npt.NDArray[np.float64]:
        """Values that a leaf adds to a prediction, times the part of the sample: `value`, or 1 for the class of an empty leaf."""
        empty = np.flatnonzero(self.weight == 0)
        if self.task == "regression" or not empty.size:
            return self.value
        value = self.value.copy()
        value[empty] = self.predict_nodes(empty)
        return value

    @cached_property
    def predicted_class(self) -> npt.NDArray[np.intp]:
        """Index of the class that each node predicts, of largest share or least expected loss (the first of ties); shape (n,).

        Raises an AttributeError for regression, and for several targets, which have `predicted_classes`.
        """
        self._check_has_classes()
        if self.outputs is not None:
            raise AttributeError("predicted_class: this tree has several targets; use `predicted_classes`")
        return best_classes(self.predict_nodes(), self.loss)

    @property
    def predicted_classes(self) -> npt.NDArray[np.intp]:
        """Index of the predicted class of each target; shape (n, n_outputs).  Raises an AttributeError for regression."""
        self._check_has_classes()
        if self.outputs is None:
            return self.predicted_class[:, None]
        return np.column_stack([best_classes(part, None) for part in self.by_output(self.predict_nodes())])

    def _check_has_classes(self) -> None:
        if self.task != "classification":
            raise AttributeError("a regression tree predicts no classes; its predictions are in `value`")

    def leaves(self) -> npt.NDArray[np.intp]:
        """Return the ids of the leaves, ascending."""
        return np.flatnonzero(self.n_branches == 0)

    def cuts_of(self, node: int) -> npt.NDArray[np.float64]:
        """Return the cuts of an `INTERVALS` node, ascending."""
        assert self.cut_start is not None
        assert self.cut is not None
        return self.cut[self.cut_start[node] : self.cut_start[node + 1]]

    def categories_of(self, node: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
        """Return the codes that a `NOMINAL` node knows, ascending, and their branches."""
        entries = slice(int(self.categories_start[node]), int(self.categories_start[node + 1]))
        return self.categories_code[entries], self.categories_branch[entries]

    def depth(self) -> npt.NDArray[np.int32]:
        """Return the number of tests between the root and each node; shape (n,)."""
        sizes = np.diff(self._level_starts())
        return np.repeat(np.arange(sizes.size, dtype=np.int32), sizes)

    def child_start(self) -> npt.NDArray[np.int64]:
        """Positions of the children of consecutive nodes; shape (n + 1,).

        The children of the nodes ``a, ..., b - 1`` are the nodes ``child_start[a], ..., child_start[b] - 1``.  Repeated, this
        gives the descendants of a node as one range of ids per level.
        """
        return 1 + offsets_of(self.n_branches)

    def _level_starts(self) -> list[int]:
        """Return the first node of each level, then the number of nodes."""
        child_start = self.child_start()
        starts = [0, 1]
        while starts[-1] < self.node_count:
            starts.append(int(child_start[starts[-1]]))
        return starts

    def replace(self, **changes: Any) -> Tree:
        """Return the tree with some arrays (or the task) replaced, not checked.

        Parameters
        ----------
        **changes
            Parameters of `Tree`; None removes an optional array.
        """
        return Tree(**self.__getstate__() | changes)

    def prune_at(self, nodes: npt.NDArray[np.bool_]) -> Tree:
        """Return the tree in which the marked nodes are leaves, without their descendants.

        Parameters
        ----------
        nodes : array of bool, shape (n,)
            Nodes to turn into leaves.  Marks on leaves and below other marked nodes change nothing.

        Returns
        -------
        Tree
            The tree with renumbered nodes, whose values are unchanged.  It has no `estimated_errors`, because those of the new
            leaves and of every node above one would be different.

        Raises
        ------
        ValueError
            If `nodes` is not a mask over the nodes.
        """
        nodes = np.asarray(nodes)
        if nodes.dtype != np.bool_ or nodes.shape != (self.node_count,):
            raise ValueError(f"nodes: must be {self.node_count} booleans, one per node; got {nodes.dtype} of shape {nodes.shape}")
        kept = np.flatnonzero(~counts_below(nodes, self.parent))
        new_id = np.full(self.node_count + 1, -1, np.int32)  # the last entry is that of the root's parent, -1
        new_id[kept] = np.arange(kept.size, dtype=np.int32)
        leaf = nodes.take(kept)  # others have the values of leaves already
        categories_size = np.where(leaf, 0, np.diff(self.categories_start).take(kept))
        categories_start, entries = gather(self.categories_start.take(kept), categories_size)
        cut_size = None
        if self.cut_start is not None:
            cut_size = np.diff(self.cut_start)
            cut_size[kept[leaf]] = 0

        def field(name: str, at_leaf: float) -> Any:
            if getattr(self, name) is None:
                return None
            array = getattr(self, name).take(kept)
            array[leaf] = at_leaf
            return array

        return Tree(
            task=self.task,
            n_features=self.n_features,
            parent=new_id.take(self.parent.take(kept)),
            first_child=np.where(leaf, -1, new_id.take(self.first_child.take(kept))),
            n_branches=field("n_branches", 0),
            feature=field("feature", -1),
            kind=field("kind", LEAF),
            threshold=field("threshold", np.nan),
            missing=field("missing", STOP),
            categories_start=categories_start,
            categories_code=self.categories_code[entries],
            categories_branch=self.categories_branch[entries],
            n_samples=self.n_samples.take(kept),
            weight=self.weight.take(kept),
            value=self.value.take(kept, axis=0),
            impurity=self.impurity.take(kept),
            gain=field("gain", 0.0),
            lower=field("lower", np.nan),
            upper=field("upper", np.nan),
            **cuts_of(self.cut_start, cut_size, self.cut, kept),
            surrogates=None if self.surrogates is None else self.surrogates.of_nodes(kept, leaf),
            outputs=self.outputs,
            loss=self.loss,
            by_hand=field("by_hand", False),
        )

    def check(self) -> None:
        """Verify every invariant of the arrays, in time linear in the nodes.

        Raises
        ------
        ValueError
            If an invariant does not hold; the message names the first one and the first node that violates it.
        """
        check_tree(self)

    def __eq__(self, other: object) -> bool:
        """Return whether the two trees are equal bit for bit."""
        if not isinstance(other, Tree):
            return NotImplemented
        plain = ("task", "n_features", "surrogates", "outputs")
        return all(getattr(self, name) == getattr(other, name) for name in plain) and all(
            same_bits(getattr(self, name), getattr(other, name)) for name in (*ARRAYS, *OPTIONAL_ARRAYS, *CUTS, "loss", "by_hand")
        )

    __hash__ = None  # type: ignore[assignment]  # equality is by content, which may be large

    def __getstate__(self) -> dict[str, Any]:
        names = ("task", "n_features", *ARRAYS, *OPTIONAL_ARRAYS, *CUTS, "surrogates", "outputs", "loss", "by_hand")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # makes the arrays read-only; unpickled ones are writeable

    def __repr__(self) -> str:
        return (
            f"<Tree: {self.task}, {self.n_features} features, {self.node_count} nodes, {self.n_leaves} leaves, "
            f"depth {self.max_depth}>"
        )


def best_classes(value: npt.NDArray[np.float64], loss: npt.NDArray[np.float64] | None) -> npt.NDArray[np.intp]:
    """Return the index of the predicted class for each row of class weights or shares: the largest, or that of least loss.

    Ties go to the first class; losses that differ by rounding are tied.
    """
    if loss is None:
        return np.asarray(value.argmax(axis=1), np.intp)
    expected = value @ loss
    least = expected.min(axis=1, keepdims=True)
    return np.asarray((expected <= least * (1 + EQUAL_LOSSES)).argmax(axis=1), np.intp)
