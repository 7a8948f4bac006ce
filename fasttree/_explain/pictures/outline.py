"""The part of a tree that a picture draws, as boxes with the texts of their branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fasttree._model.arrays import CATEGORY, NOMINAL
from fasttree._model.fold import below, opened
from fasttree._model.tree import Tree
from fasttree._model.words import Words

__all__ = ["Item", "Outline"]


@dataclass(frozen=True)
class Item:
    """One box of the picture: a node, or several empty leaves with the same prediction."""

    nodes: Sequence[int]
    parent: int  # index of an item; -1 for the root
    level: int
    condition: str  # of the branch to this item, in full
    label: Sequence[str]  # the names of categories, or one text
    is_set: bool
    with_missing: bool  # whether to mark that missing values follow this branch
    is_open: bool
    folded: int  # number of nodes below that are not drawn
    n_branches: int = 0
    first_child: int = -1


class Outline:
    """The drawn part of a tree, as boxes in breadth-first order.

    Parameters
    ----------
    tree : Tree
    words : Words
    max_depth, max_nodes : int or None
        See `fasttree._model.fold.opened`.
    show_missing : bool or None
        Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
    way : mapping of int to str
        Nodes that a sample reaches, which are all drawn, and the value that leads to each.
    """

    def __init__(
        self,
        tree: Tree,
        words: Words,
        max_depth: int | None,
        max_nodes: int | None,
        show_missing: bool | None,
        way: Mapping[int, str] = MappingProxyType({}),
    ) -> None:
        self.way = way
        self.tree = tree
        self.words = words
        self.show_missing = show_missing
        is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes)
        is_open[[parent for parent in tree.parent[list(way)].tolist() if parent >= 0]] = True
        n_below, _ = below(tree)
        self.items: list[Item] = [Item([0], -1, 0, "", [], False, False, bool(is_open[0]), 0 if is_open[0] else int(n_below[0]))]
        for at, item in enumerate(self.items):  # the list grows during the loop
            if not item.is_open:
                continue
            first = len(self.items)
            for nodes, condition, label, is_set, with_missing in self._branches(item.nodes[0]):
                child = nodes[0]
                folded = 0 if is_open[child] else int(n_below[child])
                self.items.append(
                    Item(nodes, at, item.level + 1, condition, label, is_set, with_missing, bool(is_open[child]), folded)
                )
            self.items[at] = replace(item, n_branches=len(self.items) - first, first_child=first)

    def is_passed(self, item: Item) -> bool:
        """Return whether the sample reaches a box."""
        return not self.way.keys().isdisjoint(item.nodes)

    @property
    def n_drawn(self) -> int:
        """Number of drawn nodes."""
        return sum(len(item.nodes) for item in self.items)

    def _branches(self, node: int) -> Iterator[tuple[list[int], str, Sequence[str], bool, bool]]:
        tree, words = self.tree, self.words
        first, feature, kind = int(tree.first_child[node]), int(tree.feature[node]), int(tree.kind[node])
        marked = words.tells_missing(node, self.show_missing)
        empty = words.empty_leaves(node)
        groups = words.groups(node) if kind == NOMINAL else None
        others = words.others(node) if kind == NOMINAL else {}
        raw = words.raw_categories[feature]
        for branch, (short, full) in enumerate(zip(words.branches(node), words.conditions(node), strict=True)):
            if first + branch in empty:
                continue
            group = groups[branch] if groups is not None else []
            label = [] if branch in others else [raw[place] for place in group]
            if kind == CATEGORY and branch < len(raw):
                label = [raw[branch]]
            is_set = bool(label)
            if branch in others:
                label = ["all others"]
            elif not label:
                label = [short.replace("<=", "≤").removeprefix("is ")]
            yield [first + branch], full, label, is_set, marked and branch == tree.missing[node]
        if empty:
            names = [words.categories[feature][child - first] for child in empty]
            label = [raw[child - first] for child in empty]
            yield empty, f"{words.test(node)} {words.group_text(names)}", label, True, False
