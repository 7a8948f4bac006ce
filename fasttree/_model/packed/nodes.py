"""Trees of an ensemble behind one another in one array of nodes of 16 bytes.

Nodes keep what prediction needs.  Leaves also keep how many drawn samples they have, from which the counts, values, impurities
and gains of all nodes follow.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.forest import NODE as NODE
from fasttree._engine.forest import copy_nodes
from fasttree._model import arrays
from fasttree._model.arrays import NOMINAL, STOP, distinct_rows, gather, offsets_of, parents
from fasttree._model.tree import Tree

LEAF, THRESHOLD, SUBSET, KNOWN = 0, 1, 2, 3  # NODE["kind"]
IMPURITIES = ("gini", "entropy", "misclassification", "squared_error", "poisson")  # which follow from those of the leaves
MOST_FEATURES = 2**16
_WORD = 32  # bits of a word of `bits`
_TOLERANCE = 1e-8  # relative to the root's impurity: how far impurities and gains may be from those of the tree
_KIND_OF = {arrays.LEAF: LEAF, arrays.THRESHOLD: THRESHOLD, NOMINAL: SUBSET, arrays.KNOWN: KNOWN}


class Packed(NamedTuple):
    """One tree, or several behind one another.

    Parameters
    ----------
    nodes : array of NODE, shape (n_nodes,)
        Breadth first in each tree; the children of a node are ``child`` and ``child + 1``, counted from the first node of their
        tree.

        - LEAF: the operand is two uint32, the row of `value` and the number of drawn samples.
        - THRESHOLD: x <= operand to the first child, else to the second.
        - SUBSET: the operand is two uint32, an offset into `bits` and a number of words w.  Bit c % 32 of word c // 32 says
          whether code c is known in the node, and in the next w words, whether it goes to the first child.
        - KNOWN: a value to the first child, a missing one to the second; the operand is infinite.

        A missing value, and a code that is not known, go to ``child + missing``.
    start : array of int64, shape (n_trees + 1,)
        First node of each tree.
    bits : array of uint32
    value : array of float64, shape (n_values, k)
        Distinct values of leaves: class shares, or mean and impurity.
    """

    nodes: npt.NDArray[Any]
    start: npt.NDArray[np.int64]
    bits: npt.NDArray[np.uint32]
    value: Floats


def pairs(nodes: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return the operands as two uint32 each, a view of shape (n, 2)."""
    return nodes.view(nodes.dtype["child"]).reshape(len(nodes), 4)[:, :2]


def with_byte_order(nodes: npt.NDArray[Any], order: Literal["<", ">", "="]) -> npt.NDArray[Any]:
    """Return nodes with another order of bytes, as for `numpy.dtype.newbyteorder`; operands that are two numbers stay two."""
    wanted = NODE.newbyteorder(order)
    if nodes.dtype == wanted:
        return nodes
    found = nodes.astype(wanted)
    two = np.isin(nodes["kind"], (LEAF, SUBSET))
    pairs(found)[two] = pairs(nodes)[two]
    return found


def pack_tree(tree: Tree, impurity: str) -> Packed | None:
    """Return a tree packed, or None if the packed form cannot hold it."""
    if not _may_be_packed(tree, impurity):
        return None
    leaf = tree.kind == arrays.LEAF
    nodes = np.zeros(tree.node_count, dtype=NODE)
    nodes["operand"] = np.where(tree.kind == arrays.THRESHOLD, tree.threshold, np.where(tree.kind == arrays.KNOWN, np.inf, 0.0))
    nodes["child"] = np.where(leaf, np.arange(tree.node_count), tree.first_child)
    nodes["feature"] = np.maximum(tree.feature, 0)
    nodes["kind"] = np.array([_KIND_OF.get(kind, LEAF) for kind in range(6)], dtype=np.uint8)[tree.kind]
    nodes["missing"] = np.where(leaf, 0, tree.missing)
    value = tree.predict_nodes(np.flatnonzero(leaf))
    if tree.task == "regression":
        value = np.column_stack([value, tree.impurity[leaf]])
    value, row_of = _distinct(value) if tree.task == "regression" else _pure_and_other(value)
    operands = pairs(nodes)
    operands[leaf, 0] = row_of
    operands[leaf, 1] = tree.weight[leaf].astype(np.uint32)
    bits, offsets, words = _tables_as_bits(tree)
    by_table = np.flatnonzero(tree.kind == NOMINAL)
    operands[by_table, 0], operands[by_table, 1] = offsets, words
    packed = Packed(nodes, np.array([0, len(nodes)], dtype=np.int64), bits, value)
    return packed if _agrees(unpack_tree(packed, 0, tree.task, tree.n_features, impurity), tree) else None


def _may_be_packed(tree: Tree, impurity: str) -> bool:
    """Whether the tests and leaves of a tree have a place in packed nodes."""
    leaf = tree.kind == arrays.LEAF
    plain = all(
        getattr(tree, name) is None for name in ("outputs", "loss", "estimated_errors", "lower", "upper", "cut_start", "by_hand")
    )
    return bool(
        impurity in IMPURITIES
        and plain
        and tree.n_features <= MOST_FEATURES
        and (tree.surrogates is None or not len(tree.surrogates.feature))
        and np.isin(tree.kind, list(_KIND_OF)).all()
        and (tree.n_branches[~leaf] == 2).all()
        and ((tree.missing[~leaf] == 0) | (tree.missing[~leaf] == 1)).all()
        and (tree.weight[leaf] >= 1).all()
        and tree.weight[0] < 2**32
        and (tree.weight[leaf] == np.rint(tree.weight[leaf])).all()
        and (tree.task == "regression" or (tree.value[leaf] == np.rint(tree.value[leaf])).all())
    )


def _agrees(rebuilt: Tree, tree: Tree) -> bool:
    """Whether what is not kept follows from what is: it does not if samples with missing values did not count in a gain."""
    slack = _TOLERANCE * max(float(tree.impurity[0]), np.finfo(np.float64).tiny)
    return bool(
        (np.abs(rebuilt.impurity - tree.impurity) <= slack).all()
        and (np.abs(rebuilt.gain - tree.gain) <= slack).all()
        and (np.abs(rebuilt.weight - tree.weight) <= _TOLERANCE * tree.weight[0]).all()
    )


def _distinct(value: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the distinct rows, and that of each row."""
    if value.shape[1] == 2:  # two floats sort faster as a complex number than as bytes
        found, row_of = np.unique(np.ascontiguousarray(value).view(np.complex128).ravel(), return_inverse=True)
        return found.view(np.float64).reshape(-1, 2), row_of
    first, row_of = distinct_rows(value)
    return value[first], row_of


def _pure_and_other(shares: Floats) -> tuple[Floats, npt.NDArray[np.intp]]:
    """Return the shares of pure leaves, class after class, then the distinct other rows; and the place of each row."""
    n = shares.shape[1]
    pure = shares.max(axis=1) == 1
    row_of = shares.argmax(axis=1)
    if pure.all():
        return np.eye(n), row_of
    other, others = _distinct(shares[~pure])
    row_of[~pure] = others + n
    return np.concatenate([np.eye(n), other]), row_of


def _tables_as_bits(tree: Tree) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the words of all tables of categories, and the first word and the number of words of each."""
    sizes = np.diff(tree.categories_start)
    owner = np.repeat(np.arange((sizes > 0).sum()), sizes[sizes > 0])
    words = np.zeros(int((sizes > 0).sum()), dtype=np.int64)
    code = tree.categories_code.astype(np.int64)
    np.maximum.at(words, owner, code // _WORD + 1)
    starts = offsets_of(2 * words)
    bits = np.zeros(int(starts[-1]), dtype=np.uint32)
    flag = np.left_shift(np.uint32(1), (code % _WORD).astype(np.uint32))
    np.bitwise_or.at(bits, starts[owner] + code // _WORD, flag)
    left = tree.categories_branch == 0
    np.bitwise_or.at(bits, (starts[owner] + words[owner] + code // _WORD)[left], flag[left])
    return bits, starts[:-1], words


def unpack_tree(packed: Packed, which: int, task: str, n_features: int, impurity: str) -> Tree:
    """Return a tree with the arrays that are not kept: numbers of samples (as weights too), values, impurities and gains."""
    nodes = packed.nodes[packed.start[which] : packed.start[which + 1]]
    kind, operands = nodes["kind"], pairs(nodes)
    leaf = kind == LEAF
    inner = np.flatnonzero(~leaf)
    first_child = np.where(leaf, -1, nodes["child"].astype(np.int64)).astype(np.int32)
    n_branches = np.where(leaf, 0, 2).astype(np.int32)
    count = np.zeros(len(nodes), dtype=np.int64)
    count[leaf] = operands[leaf, 1]
    rows = packed.value[operands[leaf, 0]]
    if task == "classification":
        value = np.zeros((len(nodes), packed.value.shape[1]))
        value[leaf] = np.rint(rows * count[leaf, None])
    else:
        value = np.zeros((len(nodes), 2))
        value[leaf] = rows
    for at in reversed(levels(first_child)):
        one = first_child[at]
        count[at] = count[one] + count[one + 1]
        if task == "classification":
            value[at] = value[one] + value[one + 1]
        else:
            value[at] = _union(value[one], value[one + 1], count[one] / count[at], impurity)
    if task == "classification":
        risk = class_risk(value, impurity)
        spread = risk / count
    else:
        spread = value[:, 1].copy()
        risk, value = spread * count, value[:, :1]
    gain = np.zeros(len(nodes))
    child = first_child[inner]
    gain[inner] = np.maximum(risk[inner] - (risk[child] + risk[child + 1]), 0.0) / count[inner]
    start, codes, branches = _tables(nodes, packed.bits)
    kinds = np.array([arrays.LEAF, arrays.THRESHOLD, NOMINAL, arrays.KNOWN], dtype=np.uint8)[kind]
    return Tree(
        task=task,
        n_features=n_features,
        parent=parents(inner, n_branches[inner]),
        first_child=first_child,
        n_branches=n_branches,
        feature=np.where(leaf, -1, nodes["feature"].astype(np.int32)),
        kind=kinds,
        threshold=np.where(kind == THRESHOLD, nodes["operand"], np.nan),
        missing=np.where(leaf, STOP, nodes["missing"].astype(np.int32)),
        categories_start=start,
        categories_code=codes,
        categories_branch=branches,
        n_samples=count,
        weight=count.astype(np.float64),
        value=value,
        impurity=spread,
        gain=gain,
    )


def levels(first_child: npt.NDArray[np.int32]) -> list[npt.NDArray[np.intp]]:
    """Return the inner nodes of each level, from the root down."""
    levels, start, stop = [], 0, 1
    while start < stop:
        inner = start + np.flatnonzero(first_child[start:stop] >= 0)
        levels.append(inner)
        start, stop = stop, stop + 2 * len(inner)
    return levels


def _union(one: Floats, two: Floats, share: Floats, impurity: str) -> Floats:
    """Return mean and impurity of samples from those of two parts; `share` is that of the first part."""
    other = 1 - share
    mean = share * one[:, 0] + other * two[:, 0]
    spread = share * (one[:, 1] + _around(mean, one[:, 0], impurity)) + other * (two[:, 1] + _around(mean, two[:, 0], impurity))
    return np.column_stack([mean, np.maximum(spread, 0.0)])


def _around(mean: Floats, part: Floats, impurity: str) -> Floats:
    """Return what the mean of a part adds to an impurity around another mean; for Poisson, sums of means cancel."""
    if impurity == "squared_error":
        return (part - mean) ** 2
    ratio = np.divide(part, mean, out=np.ones_like(mean), where=mean > 0)
    return part * np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)


def class_impurity(weights: Floats, impurity: str) -> Floats:
    """Return the impurity of rows of class weights, shape (n,)."""
    return np.asarray(class_risk(weights, impurity) / weights.sum(axis=1))


def class_risk(weights: Floats, impurity: str) -> Floats:
    """Return weight times impurity of rows of class weights, shape (n,); for counts and Gini that of the engine, bit for bit."""
    total = weights.sum(axis=1)
    if impurity == "gini":
        return np.asarray(np.maximum(total - (weights * weights).sum(axis=1) / total, 0.0))
    if impurity == "misclassification":
        return np.asarray(total - weights.max(axis=1))
    shares = weights / total[:, None]
    bits = shares * np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(np.maximum(-bits.sum(axis=1), 0.0) * total)


def _tables(
    nodes: npt.NDArray[Any], bits: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.int32]]:
    """Return the tables of categories as a `Tree` has them: starts, codes and branches."""
    sizes = np.zeros(len(nodes), dtype=np.int64)
    by_table = np.flatnonzero(nodes["kind"] == SUBSET)
    if not by_table.size:
        return offsets_of(sizes), np.empty(0, np.uint32), np.empty(0, np.int32)
    offset, words = pairs(nodes)[by_table].astype(np.int64).T
    starts, at = gather(offset, words)
    owner = np.repeat(np.arange(len(by_table)), words)
    known, left = (np.unpackbits(bits[each].astype("<u4").view(np.uint8), bitorder="little") for each in (at, at + words[owner]))
    entry = np.flatnonzero(known)
    word = entry // _WORD
    codes = (word - starts[:-1][owner[word]]) * _WORD + entry % _WORD
    sizes[by_table] = np.bincount(owner[word], minlength=len(by_table))
    return offsets_of(sizes), codes.astype(np.uint32), (1 - left[entry]).astype(np.int32)


def join(parts: list[Packed]) -> Packed:
    """Return the trees of all parts behind one another; the shares of pure leaves, which most trees have, are kept once.

    Empties the list while it copies, from its end, so that large parts are not there twice.
    """
    n_pure = parts[0].value.shape[1] if all(starts_with_unit_rows(part.value) for part in parts) else 0
    first, n_bits, n_values = (
        offsets_of(np.array(sizes))
        for sizes in (
            [len(part.nodes) for part in parts],
            [len(part.bits) for part in parts],
            [len(part.value) - n_pure for part in parts],
        )
    )
    starts = np.concatenate([[0], *(part.start[1:] + at for part, at in zip(parts, first[:-1], strict=True))])
    bits = np.concatenate([part.bits for part in parts])
    nodes = np.empty(int(first[-1]), dtype=NODE)
    value = np.empty((n_pure + int(n_values[-1]), parts[0].value.shape[1]))
    value[:n_pure] = parts[0].value[:n_pure]
    while parts:
        part, i = parts.pop(), len(parts)
        copy_nodes(part.nodes, nodes, int(first[i]), n_pure, int(n_values[i]), int(n_bits[i]))
        value[n_pure + n_values[i] : n_pure + n_values[i + 1]] = part.value[n_pure:]
        del part
    return Packed(nodes, starts, bits, value)


def starts_with_unit_rows(value: Floats) -> bool:
    """Whether the first rows are the shares of pure leaves, class after class."""
    n = value.shape[1]
    return len(value) >= n and np.array_equal(value[:n], np.eye(n))


def first_trees(packed: Packed, n: int) -> Packed:
    """Return the first `n` trees, with the values and tables that they use, and the shares of pure leaves."""
    nodes = packed.nodes[: packed.start[n]].copy()
    operands, leaf, table = pairs(nodes), nodes["kind"] == LEAF, nodes["kind"] == SUBSET
    n_pure = packed.value.shape[1] if starts_with_unit_rows(packed.value) else 0
    used, row_of = np.unique(np.append(np.arange(n_pure), operands[leaf, 0]), return_inverse=True)
    operands[leaf, 0] = row_of[n_pure:]
    offset, words = operands[table].astype(np.int64).T
    n_bits = int((offset + 2 * words).max()) if offset.size else 0
    return Packed(nodes, packed.start[: n + 1], packed.bits[:n_bits], packed.value[used])
