"""A tree drawn in text: a line per branch, with the names of features, categories and classes.

Below each test are its branches with their conditions.  A path ends with the prediction of its leaf and the weights of the
training samples there.  A first line says what a search has proven of the tree.
"""

from __future__ import annotations

import bisect
import copy
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._model.fold import below, opened
from fasttree._model.tested import competing_tests, merge_texts, proof_text, split_text
from fasttree._model.tree import Tree
from fasttree._model.words import Classes, Words, check_count

__all__ = ["export_text"]

DRAWINGS = {
    False: {"branch": "├── ", "last": "└── ", "through": "│   ", "past": "    ", "more": "…"},
    True: {"branch": "|-- ", "last": "`-- ", "through": "|   ", "past": "    ", "more": "..."},
}
FEWEST = 2  # categories that a condition names however narrow the text is
WIDEST = 100  # largest column at which `align` starts outcomes; longer lines are not aligned


def export_text(
    tree: Tree,
    schema: Schema,
    classes: Classes = None,
    *,
    max_depth: int | None = 100,
    max_nodes: int | None = None,
    max_categories: int = 12,
    width: int | None = None,
    decimals: int = 2,
    show_weights: bool = False,
    show_shares: bool = False,
    show_missing: bool | None = None,
    show_surrogates: bool = False,
    show_tests: bool = False,
    align: bool = False,
    ascii: bool = False,
) -> str:
    """Draw a tree in text.

    A leaf reads ``yes (6)`` if all samples, of weight 6, are of class yes, and ``no (6 of 9)`` if a weight of 6 of 9 is of class
    no. A leaf without samples, where the parent's majority decides, reads ``no (0)``; several such categories share a line. With
    a loss matrix, ``no (6 of 9, cost 12)`` includes the cost of the others. In regression ``2.4 (9)`` is the prediction and the
    weight. Several targets are side by side: ``yes (6) | red (4 of 6)``. A soft threshold shows the interval in which values go
    both ways: ``width <= 0.6 [0.42, 0.71]``.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        Names, kinds and categories of the features.
    classes : array, shape (k,), or None
        Class labels; a list for several targets; None for regression.
    max_depth : int or None, default 100
        Levels of branches to draw; nodes below are counted: ``yes (6 of 9) … 36 nodes, depth 5``.  None draws all; for very
        deep trees the text is very long, because the indentation grows with the depth.
    max_nodes : int or None, default None
        Largest number of nodes to draw, the root included.  The heaviest are opened first; the rest are counted.  None draws
        all.
    max_categories : int, default 12
        Largest number of categories in one condition, and of classes (the heaviest) with weights or shares; the rest are counted.
    width : int or None, default None
        Columns of a line.  A condition then names as many categories as its line has room for, two at least, instead of
        `max_categories`.
    decimals : int, default 2
        Digits after the point of weights and means, without trailing zeros.  Means below 1 get as many significant digits.
    show_weights : bool, default False
        Whether every line shows the weights of the classes in its node, as ``{yes: 3, no: 6}``; those of weight 0 are omitted.
    show_shares : bool, default False
        Whether every line shows the shares of the classes in its node, and its weight: ``{yes: 33 %, no: 67 %} (9)``.
    show_missing : bool, optional
        Whether conditions show where a missing value goes: ``or missing`` at a branch, else an extra line under the test.  By
        default they do so only if it follows a branch that is not the heaviest of its node.
    show_surrogates : bool, default False
        Whether lines above the branches of a test show its surrogates, in order: ``width is missing: width <= 0.6 if length
        <= 4 (agreement 0.9, adjusted 0.7)`` is the condition of the first branch and its replacement.
    show_tests : bool, default False
        Whether lines above the branches of a test show the significance tests of the other features, ``competing age:
        chi-square = 12.3, df = 1, ...``, and how categories merged, ``merged: A with B, p = 0.685``.  The test of the branches
        themselves is always shown.
    align : bool, default False
        Whether predictions are aligned in a column to the right of all conditions.
    ascii : bool, default False
        Whether to draw with ASCII characters only.

    Returns
    -------
    str
        Lines, each with a newline at its end.

    Raises
    ------
    ValueError
        If a number is out of range, both weights and shares are requested, or `classes` does not fit the tree.
    """
    if show_weights and show_shares:
        raise ValueError("show_weights=True, show_shares=True: choose one of them")
    if width is not None:
        check_count("width", width, 1)
    drawing = DRAWINGS[bool(ascii)]
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, ellipsis=drawing["more"])
    is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes)
    figures = "shares" if show_shares else "weights" if show_weights else None
    above = partial(_above, words, show_surrogates, show_tests)
    lines = list(_Writer(words, is_open, figures, show_missing, above, drawing, width).lines())
    if not align:
        return "".join(f"{line.left}{line.colon}{line.right}\n" for line in lines)
    widths = [_columns(line.left) for line in lines]
    column = max((width for width, line in zip(widths, lines, strict=True) if line.right and width <= WIDEST), default=0)
    padded = (f"{line.left}{' ' * (column - width)}  {line.right}" for width, line in zip(widths, lines, strict=True))
    return "".join(f"{line.rstrip()}\n" for line in padded)


def _columns(text: str) -> int:
    """Count the columns that a line takes on a terminal."""
    words = text.lstrip("│├└─ ")  # without the indentation, which is most of a line in a deep tree
    if words.isascii():
        return len(text)
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in words)
    return len(text) - len(words) + wide


def _above(words: Words, show_surrogates: bool, show_tests: bool, node: int) -> list[str]:
    """Return the lines between a node and its branches: significance tests and surrogates."""
    found = [text for text in [split_text(words, node)] if text]
    if show_tests:
        found += [f"competing {text}" for text in competing_tests(words, node)]
        found += [f"merged: {text}" for text in merge_texts(words, node)]
    return found + ([*words.surrogate_notes(node)] if show_surrogates else [])


@dataclass(frozen=True, slots=True)
class _Line:
    left: str
    colon: str = ""  # between left and right, unless they are aligned
    right: str = ""
    below: int = -1  # the node to open under this line
    indentation: str = ""  # of the lines of that node


class _Writer:
    """The lines of one tree."""

    def __init__(
        self,
        words: Words,
        is_open: npt.NDArray[np.bool_],
        figures: str | None,
        show_missing: bool | None,
        above: Callable[[int], list[str]],
        drawing: dict[str, str],
        width: int | None,
    ) -> None:
        self.words = words
        self.tree = words.tree
        self.is_open = is_open
        self.figures = figures
        self.show_missing = show_missing
        self.above = above
        self.drawing = drawing
        self.width = width
        self.below = below(self.tree)

    def lines(self) -> Iterator[_Line]:
        if note := proof_text(self.words):
            yield _Line(note)
        if not self.is_open[0]:
            yield _Line(self.outcome(0))
            return
        if self.figures:
            yield _Line("", "", self.counts(0))
        waiting = list(reversed(self.branches(0, "")))  # the next line on top
        while waiting:
            line = waiting.pop()
            yield line
            if line.below >= 0:
                waiting.extend(reversed(self.branches(line.below, line.indentation)))

    def branches(self, node: int, indentation: str) -> list[_Line]:
        """Return the lines under a test."""
        drawing, words = self.drawing, self.words
        notes = [words.missing_note(node)] if self.show_missing and self.tree.missing[node] < 0 else []
        # tests and surrogates are no branches: their lines have no fork
        result = [_Line(f"{indentation}{drawing['through']}{note}") for note in self.above(node)]
        lines = self.conditions(node, words)
        for place, (child, condition) in enumerate(lines):
            last = place == len(lines) - 1 and not notes
            fork = indentation + drawing["last" if last else "branch"]
            if not self.is_open[child]:
                colon, right = ": ", self.outcome(child)
            else:
                colon, right = (" ", self.counts(child)) if self.figures else ("", "")
            if self.width is not None and "{" in condition:
                condition = self.fitting(node, place, self.width - len(fork) - len(colon) - _columns(right))
            inside = (child, indentation + drawing["past" if last else "through"]) if self.is_open[child] else ()
            result.append(_Line(fork + condition, colon, right, *inside))
        return result + [_Line(f"{indentation}{drawing['last']}{note}") for note in notes]

    def conditions(self, node: int, words: Words) -> list[tuple[int, str]]:
        """Return the child and the condition of each line under a test."""
        conditions = words.conditions(node)
        if self.tree.by_hand is not None and self.tree.by_hand[node]:
            conditions[0] += " [set by hand]"
        if words.tells_missing(node, self.show_missing):
            conditions[int(self.tree.missing[node])] += f" or missing{words.with_surrogates(node)}"
        return self.with_empty_leaves_together(node, list(enumerate(conditions, int(self.tree.first_child[node]))), words)

    def fitting(self, node: int, place: int, room: int) -> str:
        """Return the condition of a line with as many categories as it has room for."""
        narrow = copy.copy(self.words)

        def naming(most: int) -> str:
            narrow.max_categories = most
            return self.conditions(node, narrow)[place][1]

        n_categories = len(self.words.categories[self.tree.feature[node]])
        whole = naming(max(n_categories, FEWEST))
        if _columns(whole) <= room:
            return whole
        few = range(FEWEST, max(n_categories - 1, FEWEST + 1))
        return naming(few[max(bisect.bisect_right(few, room, key=lambda most: _columns(naming(most))) - 1, 0)])

    def with_empty_leaves_together(self, node: int, lines: list[tuple[int, str]], words: Words) -> list[tuple[int, str]]:
        """Put categories without samples on one line at the end."""
        empty = words.empty_leaves(node)
        if not empty:
            return lines
        first = int(self.tree.first_child[node])
        categories = words.categories[self.tree.feature[node]]
        names = words.set_of([categories[child - first] for child in empty])
        together = (empty[0], f"{words.test(node)} in {names}")
        return [line for line in lines if line[0] not in empty] + [together]

    def outcome(self, node: int) -> str:
        """Write the prediction of a node without lines below it, and the size of its closed subtree."""
        words = self.words
        if self.figures and words.labels:
            figures = words.by_class(node, shares=self.figures == "shares")
            text = " | ".join(f"{answer} {each}" for answer, each in zip(words.answers(node), figures, strict=True))
            text += self.with_weight(node)
        else:
            text = words.outcome(node)
        n_nodes, depth = (int(of[node]) for of in self.below)
        return f"{text} {self.drawing['more']} {n_nodes} nodes, depth {depth}" if n_nodes else text

    def counts(self, node: int) -> str:
        """Write the weight or the share of each class (of each target), or the weight of the node in regression."""
        return " | ".join(self.words.by_class(node, shares=self.figures == "shares")) + self.with_weight(node)

    def with_weight(self, node: int) -> str:
        """Write the weight of a node after its shares."""
        weight = float(self.tree.weight[node])
        return f" ({self.words.number(weight)})" if self.figures == "shares" and self.words.labels and weight else ""
