"""A small tree as nested conditions, which are easier to read than tables.

They suffice if no sample is divided.  The branch of missing values is written last, as an "else" for all remaining values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fasttree._export.layout import Layout
from fasttree._export.subject import Subject
from fasttree._model.arrays import CATEGORY, KNOWN, LEAF, NOMINAL, STOP, THRESHOLD
from fasttree._model.words import Words

__all__ = ["MOST_LEAVES", "Line", "nested_lines", "reads_nested"]

MOST_LEAVES = 64
DEEPEST = 12  # levels of conditions
MOST_CODES = 24  # of one test
NAMED = 6  # categories in a note


class Line(NamedTuple):
    """A line of nested conditions.

    Parameters
    ----------
    word : {"if", "else if", "else", "return", "end"}
        "end" closes the block that the last "else" of a level opened.
    level : int
        Number of enclosing conditions.
    condition : str
        Condition of "if" and "else if".
    row : int
        Row of the values for "return".
    note : str
        The condition or prediction in words, if that adds something.
    """

    word: str
    level: int
    condition: str = ""
    row: int = -1
    note: str = ""


def reads_nested(layout: Layout, most_leaves: int = MOST_LEAVES) -> bool:
    """Return whether a tree is small, divides no samples and has no surrogates."""
    tree = layout.tree
    plain = not layout.shares and not layout.soft and (tree.surrogates is None or not len(tree.surrogates))
    return (
        plain
        and tree.n_leaves <= most_leaves
        and tree.max_depth <= DEEPEST
        and int(np.diff(tree.categories_start).max(initial=0)) <= MOST_CODES
    )


def nested_lines(
    subject: Subject, layout: Layout, names: Sequence[str], both: str, among: Callable[[str, list[int]], str]
) -> Iterator[Line]:
    """Write a tree as nested conditions.

    Parameters
    ----------
    subject : Subject
    layout : Layout
        Tables of its tree.
    names : sequence of str
        Expression of each feature's value in the source.
    both : str
        The operator "and" of the language.
    among : callable
        Function that writes the condition that a value is one of some codes.
    """
    return _Nesting(subject, layout, names, both, among).below(0, 0)


class _Nesting:
    def __init__(
        self, subject: Subject, layout: Layout, names: Sequence[str], both: str, among: Callable[[str, list[int]], str]
    ) -> None:
        self.tree = layout.tree
        self.layout = layout
        self.names = names
        self.is_code = [feature.categories is not None for feature in subject.schema.features]
        self.both, self.among = both, among
        self.words = Words(layout.tree, *subject.in_words, max_categories=NAMED, ellipsis="...")

    def below(self, node: int, level: int) -> Iterator[Line]:
        """Yield the lines of a node and of all nodes below it."""
        if self.tree.kind[node] == LEAF:
            yield Line("return", level, row=~self.layout.child[node], note=self.words.outcome(node))
            return
        first, rest = int(self.tree.first_child[node]), int(self.tree.missing[node])
        notes = self.words.conditions(node)
        word = "if"
        for branch, condition in enumerate(self.conditions(node)):
            if branch != rest and condition:
                yield Line(word, level, condition, note=notes[branch] if self.is_code[self.tree.feature[node]] else "")
                yield from self.below(first + branch, level + 1)
                word = "else if"
        if word == "if":  # all samples go where missing values go
            yield from self.remaining(node, level)
            return
        yield Line("else", level, note=self.remainder(node, self.words.is_missing(node) if rest == STOP else notes[rest]))
        yield from self.remaining(node, level + 1)
        yield Line("end", level)

    def remainder(self, node: int, note: str) -> str:
        """Write which values take the last branch."""
        tree, feature = self.tree, self.tree.feature[node]
        if tree.kind[node] == NOMINAL and len(tree.categories_of(node)[0]) < len(self.words.categories[feature]):
            return f"{note}, or all else"  # including categories that no sample of the node had
        alone = tree.missing[node] == STOP or tree.kind[node] == KNOWN or self.words.has_own_branch(node)
        return note if alone else f"{note}, or missing"

    def remaining(self, node: int, level: int) -> Iterator[Line]:
        """Return the lines for missing values."""
        branch = int(self.tree.missing[node])
        if branch != STOP:
            return self.below(int(self.tree.first_child[node]) + branch, level)
        place = self.layout.missing[node]
        assert place is not None
        return iter([Line("return", level, row=~place, note=self.words.outcome(node))])

    def conditions(self, node: int) -> list[str]:
        """Write the condition for a known value to take each branch; empty if none does."""
        tree, x = self.tree, self.names[self.tree.feature[node]]
        kind, n_branches = int(tree.kind[node]), int(tree.n_branches[node])
        known = f"{x} >= 1" if self.is_code[tree.feature[node]] else f"{x} == {x}"
        if kind == KNOWN:
            return [known, ""]
        if kind == CATEGORY:
            return [f"{x} == {branch + 1}" for branch in range(n_branches)]
        if kind == NOMINAL:
            codes: list[list[int]] = [[] for _ in range(n_branches)]
            for code, branch in zip(*(array.tolist() for array in tree.categories_of(node)), strict=True):
                codes[branch].append(code)
            return [self.among(x, some) if some else "" for some in codes]
        cuts = [float(tree.threshold[node])] if kind == THRESHOLD else tree.cuts_of(node).tolist()
        lowest = [known] if self.is_code[tree.feature[node]] else []  # the code 0 means no category
        above = [lowest, *([f"{x} > {cut!r}"] for cut in cuts)]
        up_to = [*([f"{x} <= {cut!r}"] for cut in cuts), []]
        within = [self.both.join([*low, *high]) for low, high in zip(above, up_to, strict=True)]
        return within + [""] * (n_branches - len(within))
