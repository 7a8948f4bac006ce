"""The differences between two trees, such as before and after new data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from fasttree._explain.pictures.plot import plot_scene
from fasttree._explain.pictures.scene import Scene
from fasttree._explain.pictures.style import ThemeName
from fasttree._explain.pictures.svg import svg_of
from fasttree._explain.rule_table import Backend, frame
from fasttree._explain.side_by_side import MARKED, ShownTree, draw_pair
from fasttree._model.arrays import CATEGORY, INTERVALS, NOMINAL, THRESHOLD
from fasttree._model.words import Words, counted, percent

if TYPE_CHECKING:
    from fasttree._explain.pictures.contributions import Axes

__all__ = ["DifferenceLine", "TreeDifference", "difference"]

SAME, CHANGED, REMOVED, ADDED = " ", "~", "-", "+"
COLOURS = {SAME: "inherit"} | {mark: colour for mark, (colour, _) in MARKED.items()}


@dataclass(frozen=True)
class DifferenceLine:
    """A branch of two trees.

    Attributes
    ----------
    mark : {" ", "~", "-", "+"}
        Whether the branch is the same in both trees, changed, only in the first one, or only in the second one.
    depth : int
        Number of tests above.
    text : str
        Its condition, and the prediction of a leaf.
    first, second : int or None
        Id of the node in each tree; None if it is not there.
    """

    mark: Literal[" ", "~", "-", "+"]
    depth: int
    text: str
    first: int | None
    second: int | None


@dataclass(frozen=True)
class TreeDifference:
    """The differences between two trees; `str` gives them as text, and a notebook shows them in colour.

    Attributes
    ----------
    lines : tuple of DifferenceLine
        Branches of both trees from the root on, each before those below it.  A subtree that is the same in both is one line.
    changed : float or None
        With samples, the share whose prediction differs, or for numbers the mean absolute difference of the predictions.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> first = CARTClassifier().fit([[1], [2], [3], [4]], ["no", "no", "yes", "yes"])
    >>> second = CARTClassifier().fit([[1], [2], [3], [5]], ["no", "yes", "yes", "yes"])
    >>> found = first.diff(second, [[1], [2], [3], [4]])
    >>> print(found, end="")
    ~ x0 <= 2.5 -> 1.5: no (1)
    ~ x0 > 2.5 -> 1.5: yes (3)
    25 % of the samples have another prediction
    >>> found.is_same, found.changed
    (False, 0.25)
    """

    lines: tuple[DifferenceLine, ...]
    changed: float | None = None
    _is_share: bool = True
    _sides: tuple[ShownTree, ShownTree] | None = field(default=None, repr=False, compare=False)

    @property
    def is_same(self) -> bool:
        """Whether both trees have the same tests and predictions."""
        return all(line.mark == SAME for line in self.lines)

    def to_frame(self, *, backend: Backend = "pandas") -> Any:
        """Return a data frame with a row for each line.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"

        Returns
        -------
        DataFrame or Table
        """
        names = ("mark", "depth", "text", "first", "second")
        return frame({name: [getattr(line, name) for line in self.lines] for name in names}, backend)

    def export_svg(
        self,
        *,
        max_depth: int | None = None,
        max_nodes: int = 31,
        orientation: Literal["down", "right"] | None = None,
        titles: tuple[str, str] = ("first", "second"),
        theme: ThemeName = None,
    ) -> str:
        """Draw both trees side by side as a self-contained SVG document, with outlines around what differs.

        An outline marks a branch that is changed or only in one tree, and a test that the other tree does not have there.

        Parameters
        ----------
        max_depth : int or None, default=None
            Levels of branches to draw.
        max_nodes : int, default=31
            Maximum number of nodes of each tree to draw, the heaviest first.
        orientation : {"down", "right"} or None, default=None
            Direction in which the trees grow; None: down, unless that becomes very wide.
        titles : tuple of (str, str), default=("first", "second")
            Titles above the trees.
        theme : {"light", "dark", "print"} or None, default=None
            As in `export_svg` of a tree.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a parameter is out of range, or the differences were made without `diff`, so that the trees are unknown.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> first = CARTClassifier().fit([[1], [2], [3], [4]], ["no", "no", "yes", "yes"])
        >>> second = CARTClassifier().fit([[1], [2], [3], [5]], ["no", "yes", "yes", "yes"])
        >>> "changed" in first.diff(second).export_svg(titles=("May", "June"))
        True
        """
        return svg_of(self._drawn(max_depth, max_nodes, orientation, titles, theme))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        max_depth: int | None = None,
        max_nodes: int = 31,
        orientation: Literal["down", "right"] | None = None,
        titles: tuple[str, str] = ("first", "second"),
        theme: ThemeName = None,
    ) -> Axes:
        """Draw both trees side by side with matplotlib, as `export_svg` does.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_depth, max_nodes, orientation, titles, theme
            As in `export_svg`.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            As `export_svg`.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.
        """
        return plot_scene(self._drawn(max_depth, max_nodes, orientation, titles, theme), ax)

    def _drawn(
        self, max_depth: int | None, max_nodes: int, orientation: str | None, titles: tuple[str, str], theme: str | None
    ) -> Scene:
        if self._sides is None:
            raise ValueError("the two trees are unknown: make the differences by first.diff(second)")
        if isinstance(titles, str) or len(titles) != 2:
            raise ValueError(f"titles={titles!r}: must be two texts, for the first and the second tree")
        marks: list[dict[int, str]] = [{}, {}]
        for found, side, ids in zip(marks, self._sides, ("first", "second"), strict=True):
            for line in self.lines:
                node = getattr(line, ids)
                if node is None or line.mark == SAME:
                    continue
                found[node] = line.mark
                if line.mark != CHANGED and node:  # the test above is not that of the other tree
                    found.setdefault(int(side.tree.parent[node]), CHANGED)
        how = {"max_depth": max_depth, "max_nodes": max_nodes, "orientation": orientation}
        return draw_pair(self._sides, marks, self._note().strip(), titles=titles, theme=theme, **how)

    def __str__(self) -> str:
        return "".join(f"{line.mark} {'  ' * line.depth}{line.text}\n" for line in self.lines) + self._note()

    def _note(self) -> str:
        if self.changed is None:
            return ""
        if not self._is_share:
            return f"Predictions differ by {self.changed:.4g} on average\n"
        return f"{percent(self.changed)} of the samples have another prediction\n"

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<span style="color: {COLOURS[line.mark]}">{line.mark} {"  " * line.depth}{escape(line.text)}</span>\n'
            for line in self.lines
        )
        return f"<pre>{rows}{escape(self._note())}</pre>"


def difference(first: Words, second: Words) -> tuple[DifferenceLine, ...]:
    """Return the lines of the differences between two trees, by their words."""
    return tuple(_Comparison(first, second).lines())


class _Comparison:
    """Two trees that are walked side by side."""

    def __init__(self, first: Words, second: Words) -> None:
        self.first, self.second = first, second
        known: dict[Any, int] = {}
        self.kinds = [_kinds_of_subtrees(words, known) for words in (first, second)]

    def lines(self) -> Iterator[DifferenceLine]:
        """Yield the lines, those of a branch before those below it."""
        waiting: list[tuple[str, int, str, int | None, int | None]] = [(SAME, -1, "", 0, 0)]
        while waiting:
            mark, depth, condition, a, b = waiting.pop()
            mark, text, below = self._branch(mark, condition, a, b)
            if text:
                yield DifferenceLine(mark, max(depth, 0), text, a, b)  # type: ignore[arg-type]  # one of the four marks
            waiting.extend((mark, depth + 1, *rest) for mark, *rest in reversed(below))

    def _branch(self, mark: str, condition: str, a: int | None, b: int | None) -> tuple[str, str, list[Any]]:
        """Return the mark and the text of a branch, and the branches below it."""
        if a is None or b is None:
            words, node = (self.first, a) if a is not None else (self.second, b)
            assert node is not None
            if words.tree.n_branches[node] == 0:
                return mark, _said(condition, words.outcome(node)), []
            return mark, condition, self._one_sided(mark, words, node)
        if self.kinds[0][a] == self.kinds[1][b]:
            n_leaves = _n_leaves(self.second, b)
            what = self.second.outcome(b) if n_leaves == 1 else f"the same {counted(n_leaves, 'leaf', 'leaves')}"
            return mark, _said(condition, what), []
        inner = int(self.first.tree.n_branches[a]), int(self.second.tree.n_branches[b])
        if inner == (0, 0):
            return CHANGED, _said(condition, f"{self.first.outcome(a)} -> {self.second.outcome(b)}"), []
        if _test(self.first, a) == _test(self.second, b):
            return mark, condition, self._pairs(SAME, self.second.conditions(b), a, b)
        if inner[0] == inner[1] and self.first.test(a) == self.second.test(b) and _both_thresholds(self.first, a, self.second, b):
            conditions = [
                f"{ours} -> {theirs.rpartition(' ')[2]}" if theirs != ours else ours
                for ours, theirs in zip(self.first.conditions(a), self.second.conditions(b), strict=True)
            ]
            return mark, condition, self._pairs(CHANGED, conditions, a, b)
        removed = self._one_sided(REMOVED, self.first, a) if inner[0] else [(REMOVED, "", a, None)]
        added = self._one_sided(ADDED, self.second, b) if inner[1] else [(ADDED, "", None, b)]
        return mark, condition, [*removed, *added]

    def _one_sided(self, mark: str, words: Words, node: int) -> list[Any]:
        first = int(words.tree.first_child[node])
        is_first = words is self.first
        return [
            (mark, condition, child if is_first else None, None if is_first else child)
            for child, condition in enumerate(words.conditions(node), first)
        ]

    def _pairs(self, mark: str, conditions: list[str], a: int, b: int) -> list[Any]:
        ours, theirs = int(self.first.tree.first_child[a]), int(self.second.tree.first_child[b])
        return [(mark, condition, ours + i, theirs + i) for i, condition in enumerate(conditions)]


def _said(condition: str, outcome: str) -> str:
    return f"{condition}: {outcome}" if condition else outcome


def _both_thresholds(first: Words, a: int, second: Words, b: int) -> bool:
    return bool(first.tree.kind[a] == THRESHOLD == second.tree.kind[b])


def _test(words: Words, node: int) -> tuple[Any, ...]:
    """Return what makes the test of an inner node, comparable between trees."""
    tree, kind, feature = words.tree, int(words.tree.kind[node]), int(words.tree.feature[node])
    head = (words.names[feature], kind, int(tree.n_branches[node]), int(tree.missing[node]))
    categories = words.categories[feature]
    if kind == THRESHOLD:
        return (*head, float(tree.threshold[node]), tuple(categories))
    if kind == NOMINAL:
        codes, branches = tree.categories_of(node)
        return (
            *head,
            tuple(sorted((categories[code - 1], branch) for code, branch in zip(codes, branches.tolist(), strict=True))),
        )
    if kind == INTERVALS:
        return (*head, tuple(tree.cuts_of(node).tolist()))
    return (*head, tuple(categories)) if kind == CATEGORY else head


def _kinds_of_subtrees(words: Words, known: dict[Any, int]) -> list[int]:
    """Return a number for the subtree of each node: the same one for the same tests and predictions."""
    tree = words.tree
    numbers = [0] * tree.node_count
    for node in range(tree.node_count - 1, -1, -1):
        if tree.n_branches[node]:
            first = int(tree.first_child[node])
            key: tuple[Any, ...] = (_test(words, node), *numbers[first : first + int(tree.n_branches[node])])
        else:
            key = tuple(words.answers(node))
        numbers[node] = known.setdefault(key, len(known))
    return numbers


def _n_leaves(words: Words, node: int) -> int:
    waiting, n_leaves = [node], 0
    while waiting:
        here = waiting.pop()
        first, n_branches = int(words.tree.first_child[here]), int(words.tree.n_branches[here])
        n_leaves += n_branches == 0
        waiting.extend(range(first, first + n_branches))
    return n_leaves
