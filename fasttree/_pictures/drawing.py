"""What each node of a drawn tree shows, how large it is, and where it stands: a `Scene` that knows no renderer.

A test is a box with the name of its feature, over a bar of the classes that reached it (in regression a strip with their mean and
deviation); an answer is a box in the colour of its class, the fuller the purer.  On the branches stand the conditions, and they
are as wide as the weight that takes them.  This file knows no estimators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._fold import below, opened
from .._table import Schema
from .._tree import NOMINAL, SHARES, Tree
from .._words import Classes, Words
from .cards import LOOKS, Caption, Card, ClassBar, Look, Row, Strip
from .charts import Charts, Samples
from .colours import NUMERIC, class_colour, tint
from .layout import spread
from .lettering import ELLIPSIS, listed, shortened, text_width
from .scene import Box, Group, Mark, Path, Scene, Text

__all__ = ["MANY", "ORIENTATIONS", "Artist", "Item", "Outline", "check_orientation", "draw", "title"]

ORIENTATIONS = ("down", "right")
MARGIN = 12.0
MANY = 90  # nodes, from which on boxes are compact
WIDE = 1600.0  # pixels, up to which a tree grows down; a wider one the way that makes the longer side shorter
MOST_LEGEND = 14  # classes in a legend; beyond, the answers name them where they are
MOST_TARGETS = 4  # that a box writes out


@dataclass(frozen=True)
class Item:
    """What is drawn as one box: a node, or empty leaves that answer alike."""

    nodes: Sequence[int]
    parent: int  # among the items; -1 at the root
    level: int
    condition: str  # that leads here, in full
    label: Sequence[str]  # the names of a set, or one text
    is_set: bool
    with_missing: bool  # whether missing values come this way, and it is to be said
    is_open: bool
    folded: int  # nodes below that are not drawn
    n_branches: int = 0
    first_child: int = -1


class Outline:
    """The part of a tree that is drawn, box by box, breadth first.

    Parameters
    ----------
    tree : Tree
    words : Words
    max_depth, max_nodes : int or None
        As `fasttree._fold.opened` takes them.
    show_missing : bool or None
        Whether a branch says that missing values follow it; None: where it is not the heaviest of its node.
    """

    def __init__(self, tree: Tree, words: Words, max_depth: int | None, max_nodes: int | None, show_missing: bool | None) -> None:
        self.tree = tree
        self.words = words
        self.show_missing = show_missing
        is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes)
        n_below, _ = below(tree)
        self.items: list[Item] = [Item([0], -1, 0, "", [], False, False, bool(is_open[0]), 0 if is_open[0] else int(n_below[0]))]
        for at, item in enumerate(self.items):  # grows while it is read
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

    @property
    def n_drawn(self) -> int:
        """Number of nodes in sight."""
        return sum(len(item.nodes) for item in self.items)

    def _branches(self, node: int) -> Iterator[tuple[list[int], str, Sequence[str], bool, bool]]:
        tree, words = self.tree, self.words
        first, feature, kind = int(tree.first_child[node]), int(tree.feature[node]), int(tree.kind[node])
        told = words.tells_missing(node, self.show_missing)
        empty = words.empty_leaves(node)
        groups = words.groups(node) if kind == NOMINAL else None
        for branch, (short, full) in enumerate(zip(words.branches(node), words.conditions(node), strict=True)):
            if first + branch in empty:
                continue
            group = groups[branch] if groups is not None else []
            label = group or [short.removeprefix("= ").replace("<=", "≤").removeprefix("is ")]
            yield [first + branch], full, label, bool(group), told and branch == tree.missing[node]
        if empty:
            names = [words.categories[feature][child - first] for child in empty]
            yield empty, f"{words.test(node)} {words.group_text(names)}", names, True, False


class Artist:
    """Cards for the nodes of one tree."""

    def __init__(self, outline: Outline, look: Look, chart: Charts | None) -> None:
        self.outline = outline
        self.tree = outline.tree
        self.words = outline.words
        self.look = look
        self.chart = chart
        self.shares = self.tree.predictions() if self.tree.task == "classification" else None
        self.labels = self.tree.label.reshape(self.tree.node_count, -1) if self.tree.task == "classification" else None
        values = self.tree.value
        self.least, self.range = values.min(axis=0), np.ptp(values, axis=0)

    def card(self, item: Item) -> Card:
        node, look = item.nodes[0], self.look
        least_width = look.widest_box * float(self.tree.weight[node] / self.tree.weight[0])
        if item.is_open:
            return Card(list(self._test(node)), look, least_width, line="line")
        fill, opacity = self._fill(node)
        rows = list(self._answer(node))
        if item.folded:
            counted = f"{ELLIPSIS} {item.folded:,} nodes"
            rows.append(Caption([(counted, look.small, "muted", False)]))
        round_corners = 4.0 if item.folded else min(9.0, 0.8 * look.name)
        return Card(rows, look, least_width, fill, opacity, "line", bool(item.folded), round_corners)

    def _test(self, node: int) -> Iterator[Row]:
        look = self.look
        yield Caption([(shortened(self.words.test(node), look.name_room, look.name, True), look.name, "ink", True)])
        chart = self.chart(node) if self.chart is not None else None
        if chart is not None:
            yield chart
        if self.outline.show_missing and self.tree.missing[node] < 0:
            goes = "missing: every branch" if self.tree.missing[node] == SHARES else "missing: ends here"
            yield Caption([(goes, look.small, "muted", False)])
        if look.figures and self.tree.n_outputs == 1:
            answer = shortened(self.words.answer(node), 0.75 * look.name_room, look.small)
            yield Caption([(f"{answer} · {self._figures(node, 0)}", look.small, "muted", False)])
        if chart is None or self.shares is not None:
            yield from self._bars(node)

    def _answer(self, node: int) -> Iterator[Row]:
        look = self.look
        answers = self.words.answers(node)
        several = len(answers) > 1
        for target, answer in enumerate(answers[:MOST_TARGETS]):
            main = (shortened(answer, look.name_room, look.name, True), look.name, "ink", True)
            figures = (self._figures(node, target), look.small, "muted", False)
            if look.in_line or (several and self.labels is not None):
                yield Caption([main, figures])
            else:
                yield Caption([main])
                if not several:
                    yield Caption([figures])
        if len(answers) > MOST_TARGETS:
            yield Caption([(f"{ELLIPSIS} {len(answers) - MOST_TARGETS} more", look.small, "muted", False)])
        # of a test that is folded, the chart would show what nobody sees
        chart = self.chart(node) if self.chart is not None and self.tree.n_branches[node] == 0 else None
        if chart is not None:
            yield chart
        else:
            yield from self._bars(node, pure=False)

    def _figures(self, node: int, target: int) -> str:
        """How many of how many, or how many."""
        words, tree = self.words, self.tree
        whole = words.number(float(tree.weight[node]))
        if tree.weight[node] == 0:
            return "no samples"
        if self.labels is None:
            return f"n = {whole}"
        label = self._column(node, target)
        cost = "" if tree.loss is None else f", cost {words.number(float(tree.value[node] @ tree.loss[:, label]))}"
        return f"{words.number(float(tree.value[node, label]))} of {whole}{cost}"

    def _column(self, node: int, target: int) -> int:
        assert self.labels is not None
        return int(self.words.columns[target].start + self.labels[node, target])

    def _bars(self, node: int, pure: bool = True) -> Iterator[Row]:
        """A bar, or a strip, per target; of a leaf's classes only if there are several."""
        tree, look = self.tree, self.look
        if tree.weight[node] == 0:
            return
        if self.shares is None:
            for target in range(tree.n_outputs)[:MOST_TARGETS]:
                scale = float(self.range[target]) or 1.0
                deviation = math.sqrt(tree.impurity[node]) if tree.n_outputs == 1 else 0.0
                yield Strip(float(tree.value[node, target] - self.least[target]) / scale, deviation / scale, look.bar)
            return
        for columns in self.words.columns[:MOST_TARGETS]:
            shares = self.shares[node, columns]
            if pure or np.count_nonzero(shares) > 1:
                present = np.flatnonzero(shares).tolist()
                yield ClassBar([(float(shares[k]), class_colour(columns.start + k)) for k in present], look.bar)

    def _fill(self, node: int) -> tuple[str, float]:
        """Colour of a leaf, and how full it is: by the first target."""
        if self.shares is None:
            scale = float(self.range[0]) or 1.0
            return NUMERIC, tint(float(self.tree.value[node, 0] - self.least[0]) / scale)
        if self.tree.weight[node] == 0:
            return class_colour(self._column(node, 0)), tint(0.0)
        columns = self.words.columns[0]
        n_classes = columns.stop - columns.start
        share = float(self.shares[node, self._column(node, 0)])
        chance = 1 / n_classes
        return class_colour(self._column(node, 0)), tint((share - chance) / (1 - chance) if n_classes > 1 else 1.0)

    def label(self, item: Item) -> list[Text]:
        """Text on the branch to an item, each line with its middle at 0 and its baseline below the line before."""
        if item.parent < 0:
            return []
        look = self.look
        size, room = look.label, look.label_room
        if item.is_set:
            lines = listed(item.label, room, size, look.label_lines)
        else:
            lines = [shortened(text, room, size) for text in item.label]
        texts = [(line, "ink") for line in lines]
        if item.with_missing:
            texts.append(("or missing", "muted"))
        return [Text(0.0, (0.95 + 1.2 * at) * size, line, size, colour) for at, (line, colour) in enumerate(texts)]

    def about(self, item: Item) -> str:
        """Everything about a node in words, with no name cut off."""
        node, words, tree = item.nodes[0], self.words, self.tree
        lines = [item.condition + (" or missing" if item.with_missing else "")] if item.parent >= 0 else []
        if tree.n_branches[node]:
            lines.append(f"test: {words.test(node)}")
            if tree.missing[node] == SHARES or self.outline.show_missing:
                lines.append(words.missing_note(node))
        lines.append(words.outcome(node))
        if tree.weight[node] > 0 and self.labels is not None:
            lines.extend(words.by_class(node))
        if item.folded:
            lines.append(f"{item.folded:,} nodes below are not drawn")
        return "\n".join(lines)


@dataclass
class _Arrangement:
    """Boxes and labels with their places."""

    orientation: str
    items: Sequence[Item]
    cards: Sequence[Card]
    labels: Sequence[Sequence[Text]]
    across: list[float] = field(default_factory=list)  # middle of each box
    along: list[float] = field(default_factory=list)  # its upper or left edge
    width: float = 0.0
    height: float = 0.0

    def __post_init__(self) -> None:
        self.down = self.orientation == "down"
        look = self.cards[0].look
        self.label_sizes = [self._label_size(label) for label in self.labels]
        sizes = [self._turned(card.width, card.height) for card in self.cards]
        label_sizes = [self._turned(*size) for size in self.label_sizes]
        breadth = [max(box[0], label[0]) + look.beside for box, label in zip(sizes, label_sizes, strict=True)]
        level = [item.level for item in self.items]
        starts = spread(
            [item.first_child for item in self.items],
            [item.n_branches for item in self.items],
            breadth,
            level,
            [depth + 1 for depth in level],
        )
        self.across = [start + size / 2 for start, size in zip(starts, breadth, strict=True)]
        n_levels = level[-1] + 1
        label_room, box_room, steepness = [0.0] * n_levels, [0.0] * n_levels, [0.0] * n_levels
        for at, depth in enumerate(level):
            label_room[depth] = max(label_room[depth], label_sizes[at][1])
            box_room[depth] = max(box_room[depth], sizes[at][1])
            if depth:
                way = abs(self.across[at] - self.across[self.items[at].parent])
                steepness[depth] = max(steepness[depth], way)
        begins, end = [], 0.0
        self.label_starts = []
        for depth in range(n_levels):
            # the farther a branch goes across, the more room along, or it would run into its neighbours
            end += min(max(28.0, 0.07 * steepness[depth]), 90.0) if depth else 0.0
            self.label_starts.append(end)
            end += label_room[depth]
            begins.append(end)
            end += box_room[depth]
        self.along = [begins[depth] for depth in level]
        self.level_ends = [begin + room for begin, room in zip(begins, box_room, strict=True)]
        widest = max(start + size for start, size in zip(starts, breadth, strict=True))
        self.width, self.height = self._turned(widest, end)

    def _turned(self, a: float, b: float) -> tuple[float, float]:
        return (a, b) if self.down else (b, a)

    def _label_size(self, label: Sequence[Text]) -> tuple[float, float]:
        """Width and height of a label, with a little room to its box."""
        if not label:
            return 0.0, 0.0
        width = max(text_width(line.text, line.size) for line in label)
        height = 1.2 * label[0].size * len(label)
        return (width, height + 3.0) if self.down else (width + 8.0, height)

    def corner(self, at: int) -> tuple[float, float]:
        """Upper left corner of a box."""
        card = self.cards[at]
        if self.down:
            return self.across[at] - card.width / 2, self.along[at]
        return self.along[at], self.across[at] - card.height / 2

    def label_marks(self, at: int) -> Iterator[Text]:
        """Above a box, or to its left."""
        height = self.label_sizes[at][1]
        for line in self.labels[at]:
            if self.down:
                yield replace(line, x=self.across[at], y=self.along[at] - height + line.y)
            else:
                yield replace(line, x=self.along[at] - 5.0, y=self.across[at] - height / 2 + line.y, anchor="end")

    def branches(self, widths: Sequence[float], empty: Sequence[bool]) -> Iterator[Path]:
        """From the far side of each box to the labels of its children: side by side, each as wide as its weight."""
        for at, item in enumerate(self.items):
            children = range(item.first_child, item.first_child + item.n_branches)
            card = self.cards[at]
            begin = self.along[at] + (card.height if self.down else card.width)
            place = self.across[at] - sum(widths[child] for child in children) / 2
            for child in children:
                a = (place + widths[child] / 2, begin)
                place += widths[child]
                label_width, label_height = self.label_sizes[child]
                end = self.along[child] - (label_height if self.down else label_width)
                b = (self.across[child], end)
                # straight past the boxes beside, a curve that leaves and arrives along the depth, straight past the labels beside
                turn, arrive = (a[0], self.level_ends[item.level]), (b[0], self.label_starts[item.level + 1])
                half = (turn[1] + arrive[1]) / 2
                points = [a, a, turn, turn, (turn[0], half), (arrive[0], half), arrive, arrive, b, b]
                yield Path(
                    [point if self.down else (point[1], point[0]) for point in points],
                    widths[child],
                    "branch",
                    curved=True,
                    dashed=empty[child],
                )


def draw(
    tree: Tree,
    schema: Schema,
    classes: Classes = None,
    *,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    orientation: str | None = None,
    max_categories: int = 12,
    decimals: int = 2,
    show_missing: bool | None = None,
    legend: bool = True,
    compact: bool | None = None,
    samples: Samples | None = None,
) -> Scene:
    """Compose the picture of a tree.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    classes : array, list of arrays, or None
        Class labels; None for regression.
    max_depth, max_nodes : int or None, default None
        How many levels of branches, how many nodes to draw; the heaviest are opened first, what is folded is counted.
    orientation : {"down", "right"} or None, default None
        Where the tree grows; None: down, unless that is very wide.
    max_categories : int, default 12
        Categories that a full condition names.
    decimals : int, default 2
        Of weights and means.
    show_missing : bool or None, default None
        Whether a branch says that missing values follow it; None: where it is not the heaviest of its node.
    legend : bool, default True
        Whether the classes' colours are explained, where they are not too many.
    compact : bool or None, default None
        Whether boxes are small and say less; None: from 90 boxes on.
    samples : Samples or None, default None
        Samples to show in charts at the nodes.

    Returns
    -------
    Scene

    Raises
    ------
    ValueError
        If a number is out of range or `orientation` is none of its words.
    """
    check_orientation(orientation)
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals)
    outline = Outline(tree, words, max_depth, max_nodes, show_missing)
    arranged, artist = _arranged(outline, orientation, len(outline.items) > MANY if compact is None else compact, samples)
    total = float(tree.weight[0]) or 1.0
    weights = [sum(float(tree.weight[node]) for node in item.nodes) for item in outline.items]
    widths = [max(1.0, artist.look.widest_branch * weight / total) for weight in weights]
    shift = MARGIN
    key, key_height = _legend(words, max(arranged.width, 320.0)) if legend else ([], 0.0)
    top = MARGIN + key_height
    groups = []
    for at, item in enumerate(outline.items):
        x, y = arranged.corner(at)
        marks = [*arranged.cards[at].marks(x, y), *arranged.label_marks(at)]
        groups.append(Group(item.nodes[0], artist.about(item), [_moved(mark, shift, top) for mark in marks]))
    branches = [
        replace(path, points=[(x + shift, y + top) for x, y in path.points])
        for path in arranged.branches(widths, [weight == 0 for weight in weights])
    ]
    key_width = max((mark.x + text_width(mark.text, mark.size) for mark in key if isinstance(mark, Text)), default=0.0)
    width, height = max(arranged.width, key_width) + 2 * MARGIN, arranged.height + top + MARGIN
    around = [_moved(mark, MARGIN, MARGIN) for mark in key]
    if outline.n_drawn < tree.node_count:
        note = f"{outline.n_drawn:,} of {tree.node_count:,} nodes are drawn"
        around.append(Text(MARGIN, height + 4.0, note, artist.look.small, "muted", anchor="start"))
        height += 14.0
        width = max(width, text_width(note, artist.look.small) + 2 * MARGIN)
    return Scene(width, height, title(tree), _description(tree, words), branches, groups, around)


def check_orientation(orientation: str | None) -> None:
    """Refuse what is no direction of growth."""
    if orientation is not None and orientation not in ORIENTATIONS:
        raise ValueError(f"orientation={orientation!r}: must be 'down' or 'right', or None for the one that fits")


def _arranged(outline: Outline, orientation: str | None, compact: bool, samples: Samples | None) -> tuple[_Arrangement, Artist]:
    chart = None if samples is None else Charts(outline.tree, outline.words, samples, small=compact)
    found: list[tuple[_Arrangement, Artist]] = []
    for way in ORIENTATIONS if orientation is None else [orientation]:
        artist = Artist(outline, LOOKS[way, compact], chart)
        cards = [artist.card(item) for item in outline.items]
        labels = [artist.label(item) for item in outline.items]
        found.append((_Arrangement(way, outline.items, cards, labels), artist))
        if found[0][0].width <= WIDE:
            break
    return min(found, key=lambda pair: max(pair[0].width, pair[0].height))


def _moved(mark: Mark, right: float, down: float) -> Mark:
    match mark:
        case Text() | Box():
            return replace(mark, x=mark.x + right, y=mark.y + down)
        case _:
            return replace(mark, points=[(x + right, y + down) for x, y in mark.points])


def _legend(words: Words, room: float) -> tuple[list[Mark], float]:
    """The classes and their colours, in lines, and the height of that."""
    if not words.labels or len(words.labels) > MOST_LEGEND:
        return [], 0.0
    size, swatch = 11.0, 10.0
    marks: list[Mark] = []
    x = y = 0.0
    for label, name in enumerate(words.labels):
        text = shortened(name, 160.0, size)
        width = swatch + 5.0 + text_width(text, size)
        if x and x + width > room:
            x, y = 0.0, y + 18.0
        marks.append(Box(x, y, swatch, swatch, class_colour(label), radius=2.0))
        marks.append(Text(x + swatch + 5.0, y + 9.0, text, size, "muted", anchor="start"))
        x += width + 16.0
    return marks, y + 30.0


def title(tree: Tree) -> str:
    """Name a picture of a tree by what it shows."""
    kind = "Decision tree" if tree.task == "classification" else "Regression tree"
    return f"{kind}: {tree.node_count:,} nodes, {tree.n_leaves:,} leaves, depth {tree.max_depth}"


def _description(tree: Tree, words: Words) -> str:
    """For those who do not see the picture."""
    parts = []
    if words.labels:
        parts.append(f"Classes: {', '.join(words.labels[:MOST_LEGEND])}{ELLIPSIS if len(words.labels) > MOST_LEGEND else ''}.")
    parts.append(f"At the root: {words.outcome(0)}.")
    if tree.n_branches[0]:
        first = int(tree.first_child[0])
        ways = (f"{way}: {words.outcome(first + branch)}" for branch, way in enumerate(words.conditions(0)[:MOST_LEGEND]))
        parts.append(f"The first test is of {words.test(0)}. {'; '.join(ways)}.")
    return " ".join(parts)
