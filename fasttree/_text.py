"""A tree as text for people: a line per branch, with the names of features, categories and classes.

The tree is drawn as on paper: under each test its branches, each with its condition, and at the end of a path what the leaf
predicts and how well it fits the samples it was grown on.  This file knows no estimators.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._fold import below, opened
from ._table import Schema
from ._tree import Tree
from ._words import Classes, Words

__all__ = ["export_text"]

DRAWINGS = {
    False: {"branch": "├── ", "last": "└── ", "through": "│   ", "past": "    ", "more": "…"},
    True: {"branch": "|-- ", "last": "`-- ", "through": "|   ", "past": "    ", "more": "..."},
}
WIDEST = 100  # columns before the outcomes that `align` makes room for; what is longer stands out


def export_text(
    tree: Tree,
    schema: Schema,
    classes: Classes = None,
    *,
    max_depth: int | None = 100,
    max_nodes: int | None = None,
    max_categories: int = 12,
    decimals: int = 2,
    show_weights: bool = False,
    show_shares: bool = False,
    show_missing: bool | None = None,
    show_surrogates: bool = False,
    align: bool = False,
    ascii: bool = False,
) -> str:
    """Draw a tree in text.

    A leaf reads ``yes (6)`` where all of weight 6 are of class yes, ``no (6 of 9)`` where 6 of 9 are of class no, and ``no
    (0)`` where no sample came and the parent's majority decides (several such categories share a line); with a loss matrix ``no
    (6 of 9, cost 12)`` says what the others cost; in regression ``2.4 (9)`` is the prediction and the weight. Several targets
    stand side by side: ``yes (6) | red (4 of 6)``. A soft threshold shows the interval in which values go both ways: ``width <=
    0.6 [0.42, 0.71]``.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        Names, kinds and categories of the features.
    classes : array, shape (k,), or None
        Class labels; None for regression; of several targets a list.
    max_depth : int or None, default 100
        Levels of branches to draw; what hangs below is counted: ``yes (6 of 9) … 36 nodes, depth 5``.  None draws everything,
        which for very long paths is a very long text, because the indentation grows with the depth.
    max_nodes : int or None, default None
        Nodes to draw, the root included: the heaviest are opened first, what is not opened is counted.  None: all.
    max_categories : int, default 12
        Categories to name in one condition, and classes with their weights or shares, the heaviest; the rest are counted.
    decimals : int, default 2
        Digits after the point of weights and means; trailing zeros are left out.  Means below 1 get as many significant digits.
    show_weights : bool, default False
        Whether every line says the weight of each class in its node, as ``{yes: 3, no: 6}``; classes without weight are left out.
    show_shares : bool, default False
        Whether every line says the share of each class in its node, as ``{yes: 33 %, no: 67 %} (9)``, and the weight.
    show_missing : bool, optional
        Whether conditions say where a missing value goes: ``or missing`` at a branch, else an extra line under the test.  By
        default only where it follows a branch that is not the heaviest of its node.
    show_surrogates : bool, default False
        Whether a line above the branches of a test tells each of its surrogates, in the order in which they are asked:
        ``width is missing: width <= 0.6 if length <= 4 (agreement 0.9, adjusted 0.7)``, the first branch and what stands in for
        its condition; else the second.
    align : bool, default False
        Whether the answers stand below one another, to the right of all conditions.
    ascii : bool, default False
        Whether to draw with ASCII characters alone.

    Returns
    -------
    str
        Lines, each ended by a newline.

    Raises
    ------
    ValueError
        If a number is out of range, both weights and shares are asked for, or `classes` does not fit the tree.
    """
    if show_weights and show_shares:
        raise ValueError("show_weights=True, show_shares=True: take one of them")
    drawing = DRAWINGS[bool(ascii)]
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, ellipsis=drawing["more"])
    is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes)
    figures = "shares" if show_shares else "weights" if show_weights else None
    lines = list(_Writer(words, is_open, figures, show_missing, show_surrogates, drawing).lines())
    if not align:
        return "".join(f"{line.left}{line.colon}{line.right}\n" for line in lines)
    widths = [_columns(line.left) for line in lines]
    column = max((width for width, line in zip(widths, lines, strict=True) if line.right and width <= WIDEST), default=0)
    padded = (f"{line.left}{' ' * (column - width)}  {line.right}" for width, line in zip(widths, lines, strict=True))
    return "".join(f"{line.rstrip()}\n" for line in padded)


def _columns(text: str) -> int:
    """Count the columns that a line takes on a terminal."""
    words = text.lstrip("│├└─ ")  # in a deep tree most of a line is its indentation
    if words.isascii():
        return len(text)
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in words)
    return len(text) - len(words) + wide


@dataclass(frozen=True, slots=True)
class _Line:
    left: str
    colon: str = ""  # between the two, unless they are aligned
    right: str = ""
    below: int = -1  # the node to open under this line, and where its lines are indented to
    indentation: str = ""


class _Writer:
    """The lines of one tree."""

    def __init__(
        self,
        words: Words,
        is_open: npt.NDArray[np.bool_],
        figures: str | None,
        show_missing: bool | None,
        show_surrogates: bool,
        drawing: dict[str, str],
    ) -> None:
        self.words = words
        self.tree = words.tree
        self.is_open = is_open
        self.figures = figures
        self.show_missing = show_missing
        self.show_surrogates = show_surrogates
        self.drawing = drawing
        self.below = below(self.tree)

    def lines(self) -> Iterator[_Line]:
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
        """Lines under a test."""
        drawing, words = self.drawing, self.words
        conditions = words.conditions(node)
        surrogates = words.surrogate_notes(node) if self.show_surrogates else ()
        missing = int(self.tree.missing[node])
        if words.tells_missing(node, self.show_missing):
            conditions[missing] += f" or missing{words.with_surrogates(node)}"
        notes = [words.missing_note(node)] if self.show_missing and missing < 0 else []
        # no branches: a line without a fork
        result = [_Line(f"{indentation}{drawing['through']}{note}") for note in surrogates]
        lines = self.with_empty_leaves_together(node, list(enumerate(conditions, int(self.tree.first_child[node]))))
        for place, (child, condition) in enumerate(lines):
            last = place == len(lines) - 1 and not notes
            left = indentation + drawing["last" if last else "branch"] + condition
            if self.is_open[child]:
                inside = indentation + drawing["past" if last else "through"]
                result.append(_Line(left, *((" ", self.counts(child)) if self.figures else ("", "")), child, inside))
            else:
                result.append(_Line(left, ": ", self.outcome(child)))
        return result + [_Line(f"{indentation}{drawing['last']}{note}") for note in notes]

    def with_empty_leaves_together(self, node: int, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Put the categories that no sample has on one line at the end."""
        empty = self.words.empty_leaves(node)
        if not empty:
            return lines
        first = int(self.tree.first_child[node])
        categories = self.words.categories[self.tree.feature[node]]
        names = self.words.set_of([categories[child - first] for child in empty])
        together = (empty[0], f"{self.words.test(node)} in {names}")
        return [line for line in lines if line[0] not in empty] + [together]

    def outcome(self, node: int) -> str:
        """Write what a node without lines below it predicts, and the size of what is folded there."""
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
        """Write the weight that shares do not tell."""
        weight = float(self.tree.weight[node])
        return f" ({self.words.number(weight)})" if self.figures == "shares" and self.words.labels and weight else ""
