"""A tree of a forest from its large nodes and the trees below them, as it is packed where all of it grows in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind
from fasttree._engine.forest import NODE
from fasttree._learn.grow.decode import midpoints
from fasttree._model import arrays
from fasttree._model.packed.nodes import KNOWN, LEAF, SUBSET, THRESHOLD, Packed, pairs
from fasttree._scale.forest.driver import RoundsPlan
from fasttree._scale.nodes import TreeNode

Bits = npt.NDArray[np.uint32]


class PackedBelow(NamedTuple):
    """A tree below a node.

    Parameters
    ----------
    packed : Packed
    n_rows : int
        Different samples in the node.
    """

    packed: Packed
    n_rows: int


def leaf_of(statistics: npt.NDArray[np.int64]) -> Packed:
    """Return the tree of a leaf with these statistics of classes."""
    counts = statistics[2:]
    nodes = np.zeros(1, dtype=NODE)
    value = np.eye(len(counts))
    if np.count_nonzero(counts) == 1:
        row = int(counts.argmax())
    else:
        row, value = len(counts), np.concatenate([value, counts[None] / float(statistics[1])])
    pairs(nodes)[0] = row, statistics[1]
    return Packed(nodes, np.array([0, 1], dtype=np.int64), np.empty(0, dtype=np.uint32), value)


def joined(top: Sequence[TreeNode], below: Mapping[int, PackedBelow], plan: RoundsPlan) -> Packed:
    """Return a tree.

    Parameters
    ----------
    top : sequence of TreeNode
        The large nodes, by id.
    below : mapping
        By id, the tree below each of them that has no children among them.
    plan : RoundsPlan
    """
    own = plan.n_classes  # rows of values that every tree has
    nodes = np.zeros(len(top), dtype=NODE)
    parts, bits = [nodes], list[Bits]()
    values: list[npt.NDArray[np.float64]] = [np.eye(own)] if own else []
    n_nodes, n_values, n_bits = len(top), own, 0
    for number in _in_order_of_growth(top, below):
        if number in below:
            tree = below[number].packed
            shifted = tree.nodes.copy()
            kind, operands = shifted["kind"], pairs(shifted)
            shifted["child"][kind != LEAF] += np.uint32(n_nodes)
            operands[(kind == LEAF) & (operands[:, 0] >= own), 0] += np.uint32(n_values - own)
            operands[kind == SUBSET, 0] += np.uint32(n_bits)
            nodes[number] = shifted[0]
            parts.append(shifted)
            values.append(tree.value[own:])
            more = tree.bits
            n_nodes += len(shifted)
            n_values += len(values[-1])
        else:
            more = _write(nodes[number : number + 1], top[number], plan, n_bits)
        bits.append(more)
        n_bits += len(more)
    found = _breadth_first(np.concatenate(parts))
    return Packed(found, np.array([0, len(found)], dtype=np.int64), np.concatenate(bits), np.concatenate(values))


def _in_order_of_growth(top: Sequence[TreeNode], below: Mapping[int, PackedBelow]) -> list[int]:
    """Return the nodes in the order in which growth in memory ends or splits them: the smaller child comes first."""
    rows = [0] * len(top)
    for node in reversed(top):
        rows[node.id] = below[node.id].n_rows if node.id in below else sum(rows[node.first_child : node.first_child + 2])
    order, waiting = list[int](), [0]
    while waiting:
        number = waiting.pop()
        order.append(number)
        if number in below:
            continue
        first = top[number].first_child
        larger, smaller = (first, first + 1) if 2 * rows[first] > rows[number] else (first + 1, first)
        order += [child for child in (smaller, larger) if rows[child] == 1]
        waiting += [child for child in (larger, smaller) if rows[child] > 1]
    return order


def _write(to: npt.NDArray[np.void], node: TreeNode, plan: RoundsPlan, n_bits: int) -> Bits:
    """Write a node that is split, and return its categories as bits: those that occur, and those of the first child."""
    to["child"], to["feature"], to["missing"] = node.first_child, node.feature, node.missing
    if node.kind == arrays.KNOWN:
        to["kind"], to["operand"] = KNOWN, np.inf
        return np.empty(0, dtype=np.uint32)
    if node.kind == arrays.THRESHOLD and plan.schema.features[node.feature].kind != Kind.NOMINAL:
        to["kind"], to["operand"] = THRESHOLD, midpoints(np.array([node.low]), np.array([node.high]))
        return np.empty(0, dtype=np.uint32)
    n_words = (plan.columns.n_codes[node.feature] + 31) // 32
    to["kind"] = SUBSET
    pairs(to)[0] = n_bits, n_words
    # a threshold on a nominal feature divides two categories
    codes, branches = node.categories or (np.array([1, 2], dtype=np.uint32), np.array([0, 1], dtype=np.uint8))
    flag = np.left_shift(np.uint32(1), codes & np.uint32(31))
    words = np.zeros((2, n_words), dtype=np.uint32)
    np.bitwise_or.at(words[0], codes >> np.uint32(5), flag)
    np.bitwise_or.at(words[1], codes[branches == 0] >> np.uint32(5), flag[branches == 0])
    return words.ravel()


def _breadth_first(nodes: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Number the nodes below the first one level by level, siblings in order; others are left out."""
    levels = [np.zeros(1, dtype=np.int64)]
    while levels[-1].size:
        inner = levels[-1][nodes["kind"][levels[-1]] != LEAF]
        levels.append((nodes["child"][inner].astype(np.int64)[:, None] + np.arange(2)).ravel())
    order = np.concatenate(levels)
    place = np.zeros(len(nodes), dtype=np.uint32)
    place[order] = np.arange(len(order))
    found = nodes[order]
    leaf = found["kind"] == LEAF
    found["child"] = np.where(leaf, np.arange(len(found)), place[np.where(leaf, 0, found["child"])])
    return found
