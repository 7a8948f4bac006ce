"""Verification of the invariants of a tree's arrays, in time linear in the nodes."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fasttree._model.arrays import (
    ARRAYS,
    INTERVALS,
    KNOWN,
    LEAF,
    NOMINAL,
    OPTIONAL_ARRAYS,
    SHARES,
    STOP,
    THRESHOLD,
    offsets_of,
    parents,
    require,
)
from fasttree._model.surrogates import Surrogates

PART_TOLERANCE = 1e-12  # relative to the root's weight: a node may hold only very small parts of samples, which are rounded
SUM_TOLERANCE = 1e-9  # relative: a node and its children add weights in different orders


class TreeArrays(Protocol):
    """The arrays of a `Tree`."""

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

    @property
    def node_count(self) -> int: ...

    def child_start(self) -> npt.NDArray[np.int64]: ...

    def by_output(self, columns: npt.NDArray[Any]) -> list[npt.NDArray[Any]]: ...


def check_tree(tree: TreeArrays) -> None:
    """Verify every invariant of a tree's arrays.

    Raises
    ------
    ValueError
        If an invariant does not hold; the message names the first one and the first node that violates it.
    """
    _check_arrays(tree)
    _check_numbering(tree)
    _check_tests(tree)
    _check_tables(tree)
    _check_cuts(tree)
    if tree.surrogates is not None:
        tree.surrogates.check(tree)
    # A sum of finite weights may overflow; it then fails its comparison.
    with np.errstate(over="ignore", invalid="ignore"):
        _check_samples(tree)


def _check_arrays(tree: TreeArrays) -> None:
    n_nodes = tree.parent.size
    if n_nodes == 0:
        raise ValueError("parent: a tree has at least one node")
    if tree.n_features < 1:
        raise ValueError(f"n_features={tree.n_features}: must be at least 1")
    lengths = {
        "categories_start": n_nodes + 1,
        "categories_code": tree.categories_branch.size,
        "categories_branch": tree.categories_branch.size,
    }
    present = {name: (np.float64, 1) for name in OPTIONAL_ARRAYS if getattr(tree, name) is not None}
    for name, (dtype, n_dimensions) in (ARRAYS | present).items():
        array = getattr(tree, name)
        if array.dtype != dtype or array.ndim != n_dimensions or not array.flags.c_contiguous or array.flags.writeable:
            raise ValueError(f"{name}: must be a read-only C-ordered {n_dimensions}-D array of {dtype.__name__}")
        if len(array) != lengths.get(name, n_nodes):
            raise ValueError(f"{name}: has {len(array)} entries; must have {lengths.get(name, n_nodes)}")
    n_columns = tree.value.shape[1]
    if tree.outputs is not None:
        _check_outputs(tree, tree.outputs)
    elif n_columns < 1 or (tree.task == "regression" and n_columns != 1):
        raise ValueError(f"value: has {n_columns} columns; must have one per class, or 1 for regression")
    if (tree.lower is None) != (tree.upper is None):
        raise ValueError("lower, upper: a tree must have both or neither")
    if present and tree.task == "regression":
        raise ValueError(f"{', '.join(present)}: a regression tree must not have them")
    if tree.loss is not None:
        _check_loss(tree, tree.loss)
    if tree.by_hand is not None and len(tree.by_hand) != n_nodes:
        raise ValueError(f"by_hand: has {len(tree.by_hand)} entries; must have {n_nodes}")


def _check_outputs(tree: TreeArrays, outputs: tuple[int, ...]) -> None:
    least, most = 1, 1 if tree.task == "regression" else tree.value.shape[1]
    if len(outputs) < 2 or not all(least <= width <= most for width in outputs) or sum(outputs) != tree.value.shape[1]:
        raise ValueError(
            f"outputs: {outputs} must be the numbers of columns of value, {tree.value.shape[1]} in all, for two targets or more; "
            "1 each in regression"
        )
    if tree.loss is not None or tree.estimated_errors is not None:
        raise ValueError("outputs: a tree of several targets must have neither loss nor estimated_errors")


def _check_loss(tree: TreeArrays, loss: npt.NDArray[np.float64]) -> None:
    if tree.task == "regression":
        raise ValueError("loss: a regression tree must not have one")
    n_classes = tree.value.shape[1]
    if loss.shape != (n_classes, n_classes):
        raise ValueError(f"loss: has shape {loss.shape}; must have a row and a column per class, {n_classes} each")
    if not np.isfinite(loss).all() or (loss < 0).any() or loss.diagonal().any() or not loss.any(axis=1).all():
        raise ValueError("loss: must be finite and not negative, 0 on the diagonal, and positive somewhere in each row")


def _check_numbering(tree: TreeArrays) -> None:
    n_nodes = tree.node_count
    require((tree.n_branches >= 0) & (tree.n_branches != 1), "n_branches must be 0 at a leaf, at least 2 elsewhere")
    n_children = int(tree.n_branches.sum(dtype=np.int64))
    if n_children != n_nodes - 1:
        raise ValueError(f"n_branches: the nodes have {n_children} children in all; must be {n_nodes - 1}, all but the root")
    inner = np.flatnonzero(tree.n_branches)
    expected = np.full(n_nodes, -1, np.int64)
    expected[inner] = tree.child_start()[inner]
    require(
        tree.first_child == expected,
        "first_child must be -1 at a leaf; elsewhere the children must follow those of the previous inner node (breadth first)",
    )
    require(tree.parent == parents(inner, tree.n_branches[inner]), "parent must be the node whose child this is, -1 at the root")
    require(tree.parent < np.arange(n_nodes), "parent must have a smaller number than its children")


def _check_tests(tree: TreeArrays) -> None:
    leaf = tree.n_branches == 0
    kind, missing = tree.kind, tree.missing
    allowed = (kind <= INTERVALS) & ((kind == LEAF) == leaf)
    require(allowed, f"kind must be {LEAF} at a leaf and {THRESHOLD} to {INTERVALS} elsewhere")
    require(np.ones_like(leaf) if tree.by_hand is None else ~(leaf & tree.by_hand), "by_hand must be false at a leaf")
    require((kind != KNOWN) | (tree.n_branches == 2), "a known test must have 2 branches")
    third = (tree.n_branches == 3) & (missing == 2)
    require(
        (kind != THRESHOLD) | (tree.n_branches == 2) | third,
        "a threshold test must have 2 branches, or a third one for missing values",
    )
    in_range = (tree.feature >= 0) & (tree.feature < tree.n_features)
    require(np.where(leaf, tree.feature == -1, in_range), "feature must be a column of the table, -1 at a leaf")
    require(
        np.where(kind == THRESHOLD, np.isfinite(tree.threshold), np.isnan(tree.threshold)),
        "threshold must be finite at a threshold test and NaN elsewhere",
    )
    if tree.lower is not None and tree.upper is not None:
        finite = np.isfinite(tree.lower) & np.isfinite(tree.upper)
        require(
            np.where(
                kind == THRESHOLD,
                finite & (tree.lower <= tree.threshold) & (tree.threshold <= tree.upper),
                np.isnan(tree.lower) & np.isnan(tree.upper),
            ),
            "lower and upper must be finite, on their sides of the threshold, at a threshold test and NaN elsewhere",
        )
    allowed = np.where(leaf, missing == STOP, (missing >= STOP) & (missing < tree.n_branches))
    require(allowed, f"missing must be a branch, {SHARES} (shares) or {STOP} (stop); {STOP} at a leaf")
    require((kind != KNOWN) | (missing == 1), "missing must be branch 1 at a known test")
    require(np.isfinite(tree.gain) & (~leaf | (tree.gain == 0)), "gain must be finite, 0 at a leaf")


def _check_tables(tree: TreeArrays) -> None:
    starts, n_entries = tree.categories_start, tree.categories_code.size
    if starts[0] != 0 or starts[-1] != n_entries:
        raise ValueError(f"categories_start: must begin with 0 and end with the number of entries, {n_entries}")
    require(starts[1:] >= starts[:-1], "categories_start must not decrease")
    sizes = np.diff(starts)
    require((sizes > 0) == (tree.kind == NOMINAL), "a nominal test must own categories, and no other node may")
    owner = np.repeat(np.arange(tree.node_count), sizes)
    codes, branches = tree.categories_code, tree.categories_branch
    ascending = np.ones(n_entries, bool)
    ascending[1:] = (codes[1:] > codes[:-1]) | (owner[1:] != owner[:-1])
    require((codes > 0) & ascending, "categories_code must hold codes from 1 on, ascending", owner)
    require((branches >= 0) & (branches < tree.n_branches[owner]), "categories_branch must be a branch of the node", owner)


def _check_cuts(tree: TreeArrays) -> None:
    sizes = np.where(tree.kind == INTERVALS, tree.n_branches - 1, 0)
    if tree.cut_start is None or tree.cut is None:
        if sizes.any() or tree.cut is not None or tree.cut_start is not None:
            raise ValueError("cut_start, cut: a tree must have both if it has an intervals test, else neither")
        return
    for name, array, dtype in (("cut_start", tree.cut_start, np.int64), ("cut", tree.cut, np.float64)):
        if array.dtype != dtype or array.ndim != 1 or array.flags.writeable:
            raise ValueError(f"{name}: must be a read-only 1-D array of {dtype.__name__}")
    if not sizes.any() or not np.array_equal(tree.cut_start, offsets_of(sizes)) or tree.cut.size != tree.cut_start[-1]:
        raise ValueError("cut_start: every intervals test must have one cut fewer than branches, and no other node may have any")
    owner = np.repeat(np.arange(tree.node_count), sizes)
    ascending = np.isfinite(tree.cut)
    ascending[1:] &= (tree.cut[1:] > tree.cut[:-1]) | (owner[1:] != owner[:-1])
    require(ascending, "cut must be finite and ascending", owner)


def _check_samples(tree: TreeArrays) -> None:
    leaf, empty = tree.n_branches == 0, tree.weight == 0
    require(tree.n_samples >= 0, "n_samples must not be negative")
    require(np.isfinite(tree.weight) & (tree.weight >= 0), "weight must be finite and not negative")
    require((tree.n_samples > 0) | empty, "weight must be 0 in a node without samples")
    require(leaf | ~empty, "an inner node must have weight")
    require(np.isfinite(tree.impurity) & (tree.impurity >= 0), "impurity must be finite and not negative")
    require(np.all(np.isfinite(tree.value), axis=1), "value must be finite")
    if tree.task == "classification":
        require(np.all(tree.value >= 0, axis=1), "value must not be negative: it holds class weights")
        for value in tree.by_output(tree.value):
            fits = _sums_to(tree, value.sum(axis=1), tree.weight) | empty
            require(fits, "value: the class weights must sum to the node's weight")
            require(~empty | value.any(axis=1), "value: a node without weight must have the class weights of a node above it")
    else:
        copied = (tree.value == tree.value[tree.parent]).all(axis=1)
        copied[0] = True
        require(copied | ~empty, "value: a node without weight must repeat its parent's row")
    if tree.estimated_errors is not None:
        allowed = np.isfinite(tree.estimated_errors) & (tree.estimated_errors >= 0)
        require(allowed, "estimated_errors must be finite and not negative")

    inner = np.flatnonzero(~leaf)
    if inner.size == 0:
        return
    # the blocks of children are contiguous, in the order of their parents
    blocks, missing = tree.first_child[inner], tree.missing[inner]
    weight, child_weight = tree.weight[inner], np.add.reduceat(tree.weight, blocks)
    n_samples, child_sum = tree.n_samples[inner], np.add.reduceat(tree.n_samples, blocks)
    largest = np.maximum.reduceat(tree.n_samples, blocks)
    stopped = missing == STOP
    if tree.surrogates is not None:  # with no_surrogate="more_samples", samples may have stopped in growth
        stopped |= (missing >= 0) & (2 * tree.n_samples[blocks + np.maximum(missing, 0)] > child_sum)
    fits = _sums_to(tree, child_weight, weight) | (stopped & (child_weight < weight))
    require(fits, "weight: the children's weights must sum to the node's (or less if missing values stop there)", inner)
    fits = np.where(stopped, child_sum <= n_samples, np.where(missing >= 0, child_sum == n_samples, largest <= n_samples))
    require(
        fits,
        "n_samples: the children's must sum to the node's (or less if missing values stop there; if they are shared, no child "
        "may have more than the node)",
        inner,
    )


def _sums_to(tree: TreeArrays, sums: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    slack = SUM_TOLERANCE * weight + PART_TOLERANCE * tree.weight[0]
    return np.asarray(np.abs(sums - weight) <= slack)
