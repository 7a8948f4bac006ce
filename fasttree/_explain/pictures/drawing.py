"""Contents, sizes and places of the nodes of a drawn tree, as a `Scene` that knows no renderer.

A test is a box with the name of its feature above a bar of the classes in the node (in regression, a strip with mean and standard
deviation).  A leaf is a box in the colour of its class, more opaque if the leaf is purer.  Branches carry the conditions, and
their widths are proportional to their weights.  This file knows no estimators.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fasttree._data.schema import Schema
from fasttree._explain.pictures.cards import LOOKS, Caption, Card, ClassBar, Disc, Look, Row, Strip
from fasttree._explain.pictures.charts import Charts, ChartSamples
from fasttree._explain.pictures.fills import IMPURITY_NAMES, figure_text, fills_of
from fasttree._explain.pictures.layout import spread
from fasttree._explain.pictures.legend import MOST_LEGEND, legend_of
from fasttree._explain.pictures.lettering import ELLIPSIS, distinct, listed, shortened, terms_wrapped, text_width, wrapped
from fasttree._explain.pictures.outline import Item, Outline
from fasttree._explain.pictures.scene import Box, Mark, MarkGroup, Path, Scene, Sector, Text
from fasttree._explain.pictures.style import DEFAULT, Style
from fasttree._model.arrays import SHARES
from fasttree._model.tested import branch_tests, competing_tests, merge_texts, proof_text, reason_text, split_text
from fasttree._model.tree import Tree
from fasttree._model.words import Classes, Words, percent

__all__ = [
    "MANY",
    "MARGIN",
    "ORIENTATIONS",
    "Artist",
    "Item",
    "Outline",
    "above",
    "below",
    "check_orientation",
    "description",
    "draw",
    "moved",
    "title_of",
]

ORIENTATIONS = ("down", "right")
MARGIN = 12.0
MANY = 90  # boxes; above, they are compact
WIDE = 1600.0  # pixels, up to which a tree grows down; a wider one grows so that its longer side is shorter
TITLE, SUBTITLE, CAPTION = 15.0, 12.0, 11.0  # text sizes
NOTE, CAPTION_LINE = 14.0, 15.0  # heights of lines below the tree
PASSED = 3.5  # least width of the branches of a path
MOST_APART, MOST_GAP = 1.6, 90.0  # largest factor between neighbours, and room added between levels, to fill given axes
MOST_TARGETS = 4  # targets that a box lists
MOST_TESTS = 4  # rival features, and merges, that a tooltip lists
LINES_OF_NAME = 2  # lines that a long name fills; it is broken into twice as many at most
MOST_LINES = 2 * LINES_OF_NAME
FEW_BRANCHES = 6  # whose names may fill several lines


class Artist:
    """Cards for the nodes of one tree."""

    def __init__(self, outline: Outline, look: Look, chart: Charts | None, style: Style = DEFAULT) -> None:
        self.outline = outline
        self.tree = outline.tree
        self.words = outline.words
        self.look = look
        self.chart = chart
        self.style = style
        self.fills = fills_of(outline.words, style)
        self.shares = self.tree.predict_nodes() if self.tree.task == "classification" else None
        self.labels = self.tree.predicted_classes if self.tree.task == "classification" else None
        self._brief: dict[tuple[int, float], dict[str, str]] = {}  # categories of a feature as drawn in a width
        room = LINES_OF_NAME * look.name_room
        tested = [self.words.raw_names[j] for j in np.unique(self.tree.feature[self.tree.feature >= 0]).tolist()]
        self.names = distinct(tested, room, look.name)
        self.answers = [
            (
                distinct(self.words.raw_labels[columns], look.name_room if look.in_line else room, look.name),
                distinct(self.words.raw_labels[columns], 0.75 * look.name_room, look.small),
            )
            for columns in self.words.columns
        ]
        values = self.tree.value
        self.least, self.range = values.min(axis=0), np.ptp(values, axis=0)
        closed = [float(self.tree.weight[item.nodes[0]]) for item in outline.items if not item.is_open]
        self.heaviest = max(closed, default=0.0) or 1.0

    def card(self, item: Item) -> Card:
        node, look = item.nodes[0], self.look
        least_width = look.widest_box * float(self.tree.weight[node] / self.tree.weight[0])
        if item.is_open:
            return Card(list(self._test(node)), look, least_width, line="line")
        fill, opacity = self.fills.of(node)
        rows = list(self._answer(node))
        if self.style.weights and self.tree.weight[node] > 0:
            share = float(self.tree.weight[node]) / self.heaviest
            rows.append(Disc(look.disc * math.sqrt(share), self._colours(node)))
        if item.folded:
            counted = f"{ELLIPSIS} {item.folded:,} nodes"
            rows.append(Caption([(counted, look.small, "muted", False)]))
        round_corners = 4.0 if item.folded else min(9.0, 0.8 * look.name)
        return Card(rows, look, least_width, fill, opacity, "line", bool(item.folded), round_corners)

    def _test(self, node: int) -> Iterator[Row]:
        look = self.look
        yield from self._lines(self.names[self.words.raw_names[int(self.tree.feature[node])]])
        chart = self.chart(node) if self.chart is not None else None
        if chart is not None:
            yield chart
        if self.outline.show_missing and self.tree.missing[node] < 0:
            goes = "missing: every branch" if self.tree.missing[node] == SHARES else "missing: ends here"
            yield Caption([(goes, look.small, "muted", False)])
        if look.figures and self.tree.n_outputs == 1:
            yield Caption([(self._summary(node), look.small, "muted", False)])
            yield from self._impurity(node)
            for text in branch_tests(self.words, node):
                yield Caption([(text, look.small, "muted", False)])
        if chart is None or self.shares is not None:
            yield from self._bars(node)

    def _answer(self, node: int) -> Iterator[Row]:
        look = self.look
        n_targets = len(self.words.columns)
        several = n_targets > 1
        for target in range(n_targets)[:MOST_TARGETS]:
            heading = f"{self.words.targets[target]}: " if several and self.words.targets[target] else ""
            answer = heading + self.answer_text(node, target)
            figures = (self.figures(node, target), look.small, "muted", False)
            if (look.in_line and not self.words.has_formulas) or (several and self.labels is not None):
                yield Caption([(answer, look.name, "ink", True), figures])
            else:
                yield from self._lines(answer, self.words.has_formulas)
                if not several:
                    yield Caption([figures])
                    yield from self._impurity(node)
        if n_targets > MOST_TARGETS:
            yield Caption([(f"{ELLIPSIS} {n_targets - MOST_TARGETS} more", look.small, "muted", False)])
        # no chart for a folded test, whose branches are not drawn
        chart = self.chart(node) if self.chart is not None and self.tree.n_branches[node] == 0 else None
        if chart is not None:
            yield chart
        elif not (self.style.weights and self.shares is not None and not several):  # a disc shows the same shares
            yield from self._bars(node, pure=False)

    def _lines(self, text: str, is_formula: bool = False) -> Iterator[Caption]:
        """Yield a bold text in as many lines as it needs; a formula is broken between its terms."""
        room, size = self.look.name_room, self.look.name
        for line in terms_wrapped(text, room, size) if is_formula else wrapped(text, room, size, MOST_LINES, True):
            yield Caption([(line, size, "ink", True)])

    def answer_text(self, node: int, target: int, is_small: bool = False) -> str:
        """Return the prediction of a node for a target."""
        if self.labels is None:
            return self.words.predicted(node, target)
        return self.answers[target][is_small][self.words.raw_labels[self._column(node, target)]]

    def figures(self, node: int, target: int) -> str:
        """Return the share of the predicted class in a node, and the weight of the node."""
        words, tree = self.words, self.tree
        whole = words.grouped(float(tree.weight[node]))
        if tree.weight[node] == 0:
            return "no samples"
        if self.style.show == "percent":
            whole = f"{percent(float(tree.weight[node] / tree.weight[0]))} of all"
        if self.shares is None:
            return whole if self.style.show == "percent" else f"n = {whole}"
        label = self._column(node, target)
        share = float(self.shares[node, label])
        if self.style.show == "percent":
            return f"{percent(share)} · {whole}{self._cost(node, label)}"
        part = words.grouped(share * float(tree.weight[node])) if self.style.show == "count" else percent(share)
        return f"{part} of {whole}{self._cost(node, label)}"

    def _impurity(self, node: int) -> Iterator[Caption]:
        if self.style.show == "impurity" and self.tree.weight[node] > 0:
            figure = float(self.tree.impurity[node])
            shown = figure_text(figure) if self.shares is None else f"{figure:.3f}"
            text = f"{IMPURITY_NAMES.get(self.style.impurity, 'impurity')} {shown}"
            yield Caption([(text, self.look.small, "muted", False)])

    def _cost(self, node: int, label: int) -> str:
        tree = self.tree
        return "" if tree.loss is None else f", cost {self.words.grouped(float(tree.value[node] @ tree.loss[:, label]))}"

    def _summary(self, node: int) -> str:
        """Return prediction and weight of a test in one line: ``76 % yes · 32,561``."""
        answer = self.answer_text(node, 0, is_small=True)
        if self.shares is None or self.tree.weight[node] == 0:
            return f"{answer} · {self.figures(node, 0)}"
        label = self._column(node, 0)
        figures = self.figures(node, 0)
        if self.style.show == "count":
            return figures.replace(" of ", f" {answer} of ", 1)
        if self.style.show == "percent":
            return figures.replace(" · ", f" {answer} · ", 1)
        share, whole = percent(float(self.shares[node, label])), self.words.grouped(float(self.tree.weight[node]))
        return f"{share} {answer} · {whole}{self._cost(node, label)}"

    def _column(self, node: int, target: int) -> int:
        assert self.labels is not None
        return int(self.words.columns[target].start + self.labels[node, target])

    def _bars(self, node: int, pure: bool = True) -> Iterator[Row]:
        """Yield a bar or a strip per target; leaves of a single class have none."""
        tree, look = self.tree, self.look
        if tree.weight[node] == 0:
            return
        if self.shares is None:
            for target in range(tree.n_outputs)[:MOST_TARGETS]:
                scale = float(self.range[target]) or 1.0
                spread = float(tree.impurity[node]) ** (2.5 if self.style.impurity == "fifth_root" else 0.5)
                mean = float(tree.value[node, target] - self.least[target]) / scale
                yield Strip(mean, spread / scale if tree.n_outputs == 1 else 0.0, look.bar, colour=self.style.numeric)
            return
        for columns in self.words.columns[:MOST_TARGETS]:
            shares = self.shares[node, columns]
            if pure or np.count_nonzero(shares) > 1:
                present = np.flatnonzero(shares).tolist()
                yield ClassBar([(float(shares[k]), self.style.colour(columns.start + k)) for k in present], look.bar)

    def _colours(self, node: int) -> list[tuple[float, str]]:
        """Return the shares of the classes of the first target, with their colours; of a mean, one share."""
        if self.shares is None:
            return [(1.0, self.style.numeric)]
        columns = self.words.columns[0]
        shares = self.shares[node, columns]
        return [(float(shares[k]), self.style.colour(columns.start + k)) for k in np.flatnonzero(shares).tolist()]

    def label(self, item: Item) -> list[Text]:
        """Return the lines of text on the branch to an item, centred at 0, with baselines below each other."""
        if item.parent < 0:
            return []
        look = self.look
        size, room = look.label, look.label_room
        if item.is_set:
            lines = self._categories(item)
        else:
            lines = [line for text in item.label for line in wrapped(text, room, size, look.label_lines)]
        texts = [(line, "ink") for line in lines]
        if item.with_missing:
            texts.append(("or missing", "muted"))
        values = [self.outline.way[node] for node in item.nodes if node in self.outline.way]
        bold = [line for value in values for line in wrapped(value, room, size, MOST_LINES, True)]
        texts += [(line, "ink") for line in bold]
        first_bold = len(texts) - len(bold)
        return [
            Text(0.0, (0.95 + 1.2 * at) * size, line, size, colour, at >= first_bold) for at, (line, colour) in enumerate(texts)
        ]

    def _categories(self, item: Item) -> list[str]:
        """Return the lines with the categories of a branch."""
        look = self.look
        parent = self.outline.items[item.parent]
        feature = int(self.tree.feature[parent.nodes[0]])
        is_alone = len(item.label) == 1 and parent.n_branches <= FEW_BRANCHES
        room = LINES_OF_NAME * look.label_room if is_alone else look.label_room
        if (feature, room) not in self._brief:
            self._brief[feature, room] = distinct(self.words.raw_categories[feature], room, look.label)
        names = [self._brief[feature, room][name] for name in item.label]
        if len(names) == 1:
            return wrapped(names[0], look.label_room, look.label, MOST_LINES)
        return listed([f"'{name}'" if "," in name else name for name in names], look.label_room, look.label, look.label_lines)

    def about(self, item: Item) -> str:
        """Return the text of the tooltip of a node, with all names in full."""
        node, words, tree = item.nodes[0], self.words, self.tree
        lines = [item.condition + (" or missing" if item.with_missing else "")] if item.parent >= 0 else []
        if tree.n_branches[node]:
            by_hand = tree.by_hand is not None and tree.by_hand[node]
            lines.append(f"test: {words.test(node)}{' [set by hand]' if by_hand else ''}")
            if tree.missing[node] == SHARES or self.outline.show_missing:
                lines.append(words.missing_note(node))
        lines.append(words.outcome(node))
        if tree.weight[node] > 0 and self.labels is not None:
            lines.extend(words.by_class(node))
        lines.extend(self._tests(node))
        if item.folded:
            lines.append(f"{item.folded:,} nodes below are not drawn")
        return "\n".join(lines)

    def _tests(self, node: int) -> Iterator[str]:
        """Yield the significance tests of a node: of its branches, or why it has none; the best rivals; the first merges."""
        words = self.words
        yield from filter(None, (split_text(words, node), reason_text(words, node)))
        for lead, texts in (("competing ", competing_tests(words, node)), ("merged: ", merge_texts(words, node))):
            yield from (f"{lead}{text}" for text in texts[:MOST_TESTS])
            if len(texts) > MOST_TESTS:
                yield f"{lead}{ELLIPSIS} {len(texts) - MOST_TESTS:,} more"


@dataclass
class _Arrangement:
    """Places of boxes and labels."""

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
            # a branch that goes farther across needs more room along, so that it does not cross its neighbours
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

    def fill(self, width: float, height: float) -> None:
        """Move the boxes apart so that the tree fills a room as far as its branches remain easy to follow."""
        room_across, room_along = self._turned(width, height)
        size_across, size_along = self._turned(self.width, self.height)
        apart = min(max(room_across / size_across, 1.0), MOST_APART)
        n_gaps = max(self.items[-1].level, 1)
        gap = min(max(room_along - size_along, 0.0) / n_gaps, MOST_GAP) if self.items[-1].level else 0.0
        self.across = [place * apart for place in self.across]
        self.along = [place + gap * item.level for place, item in zip(self.along, self.items, strict=True)]
        self.label_starts = [start + gap * level for level, start in enumerate(self.label_starts)]
        self.level_ends = [end + gap * level for level, end in enumerate(self.level_ends)]
        self.width, self.height = self._turned(size_across * apart, size_along + gap * n_gaps)

    def _label_size(self, label: Sequence[Text]) -> tuple[float, float]:
        """Return width and height of a label, including a gap to its box."""
        if not label:
            return 0.0, 0.0
        width = max(text_width(line.text, line.size, line.bold) for line in label)
        height = 1.2 * label[0].size * len(label)
        return (width, height + 3.0) if self.down else (width + 8.0, height)

    def corner(self, at: int) -> tuple[float, float]:
        """Return the upper left corner of a box."""
        card = self.cards[at]
        if self.down:
            return self.across[at] - card.width / 2, self.along[at]
        return self.along[at], self.across[at] - card.height / 2

    def label_marks(self, at: int) -> Iterator[Text]:
        """Place the label of a box above it, or to its left."""
        height = self.label_sizes[at][1]
        for line in self.labels[at]:
            if self.down:
                yield replace(line, x=self.across[at], y=self.along[at] - height + line.y)
            else:
                yield replace(line, x=self.along[at] - 5.0, y=self.across[at] - height / 2 + line.y, anchor="end")

    def branches(self, widths: Sequence[float], empty: Sequence[bool]) -> Iterator[Path]:
        """Draw branches from each box to the labels of its children, side by side, as wide as their weights."""
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
                # straight past the neighbouring boxes, a curve with ends along the depth, straight past the labels
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
    samples: ChartSamples | None = None,
    targets: Sequence[str] = (),
    title: str | None = None,
    way: Mapping[int, str] | None = None,
    room: tuple[float, float] | None = None,
    style: Style = DEFAULT,
) -> Scene:
    """Compose the picture of a tree.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    classes : array, list of arrays, or None
        Class labels; None for regression.
    max_depth, max_nodes : int or None, default None
        Maximum levels of branches and number of nodes to draw, expanding the heaviest first; the others are only counted.
    orientation : {"down", "right"} or None, default None
        Direction in which the tree grows; None: down, unless that becomes very wide.
    max_categories : int, default 12
        Maximum number of categories to list in a full condition.
    decimals : int, default 2
        Number of decimals of weights and means.
    show_missing : bool or None, default None
        Whether to mark the branch that missing values follow; None: only if it is not the heaviest of its node.
    legend : bool, default True
        Whether to explain the colours of the classes, if they are not too many.
    compact : bool or None, default None
        Whether to draw small boxes with less information; None: if there are more than 90 boxes.
    samples : ChartSamples or None, default None
        Samples to show in charts at the nodes.
    targets : sequence of str, default ()
        Names of the targets.
    title : str or None, default None
        Title above the picture; None: only a title for screen readers.
    way : mapping of int to str, optional
        Nodes that a sample reaches, and the value that leads to each; the others are faded.
    room : tuple of (float, float), optional
        Width and height to fill by moving the boxes apart.
    style : Style, optional
        Figures, colours, caption, discs and axes.

    Returns
    -------
    Scene

    Raises
    ------
    ValueError
        If a number is out of range or `orientation` is invalid.
    """
    check_orientation(orientation)
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, targets=targets)
    outline = Outline(tree, words, max_depth, max_nodes, show_missing, way or {})
    compact = len(outline.items) > MANY if compact is None else compact
    arranged, artist = _arranged(outline, orientation, compact, samples, style)
    total = float(tree.weight[0]) or 1.0
    weights = [sum(float(tree.weight[node]) for node in item.nodes) for item in outline.items]
    widths = [max(1.0, artist.look.widest_branch * weight / total) for weight in weights]
    shift = MARGIN
    key, key_height = above(artist, title, max(arranged.width, 320.0), legend)
    top = MARGIN + key_height
    if room is not None:
        noted = NOTE if outline.n_drawn < tree.node_count else 0.0
        noted += CAPTION_LINE * len(_caption_lines(words, style, room[0]))
        arranged.fill(room[0] - 2 * MARGIN, room[1] - top - MARGIN - noted)
    groups = []
    for at, item in enumerate(outline.items):
        x, y = arranged.corner(at)
        marks = [*arranged.cards[at].marks(x, y), *arranged.label_marks(at)]
        is_faded = bool(way) and not outline.is_passed(item)
        groups.append(MarkGroup(item.nodes[0], artist.about(item), [moved(mark, shift, top) for mark in marks], is_faded))
    branches = [
        replace(path, points=[(x + shift, y + top) for x, y in path.points])
        for path in arranged.branches(widths, [weight == 0 for weight in weights])
    ]
    if way:
        passed = [outline.is_passed(item) for item in outline.items[1:]]
        bold = [
            replace(path, width=max(path.width, PASSED), colour="ink")
            for path, is_passed in zip(branches, passed, strict=True)
            if is_passed
        ]
        branches = [*(path for path, is_passed in zip(branches, passed, strict=True) if not is_passed), *bold]
    key_width = max((mark.x + text_width(mark.text, mark.size, mark.bold) for mark in key if isinstance(mark, Text)), default=0.0)
    width, height = max(arranged.width, key_width) + 2 * MARGIN, arranged.height + top + MARGIN
    notes, width, height = below(artist, width, height, outline.n_drawn)
    around = [*(moved(mark, MARGIN, MARGIN) for mark in key), *notes]
    return Scene(
        width, height, title or title_of(words), description(tree, words), branches, groups, around, style.scale, style.theme
    )


def below(artist: Artist, width: float, height: float, n_drawn: int) -> tuple[list[Text], float, float]:
    """Return the note on nodes that are not drawn and the caption, and the size of the picture with them."""
    n_nodes = artist.tree.node_count
    lines = [(f"{n_drawn:,} of {n_nodes:,} nodes are drawn", artist.look.small, NOTE)] if n_drawn < n_nodes else []
    lines += [(line, CAPTION, CAPTION_LINE) for line in _caption_lines(artist.words, artist.style, width)]
    marks = []
    for line, size, room in lines:
        marks.append(Text(MARGIN, height + 4.0, line, size, "muted", anchor="start"))
        width, height = max(width, text_width(line, size) + 2 * MARGIN), height + room
    return marks, width, height


def _caption_lines(words: Words, style: Style, width: float) -> list[str]:
    """Return the lines of the caption, and before it what a search has proven of the tree."""
    caption = wrapped(style.caption, max(width - 2 * MARGIN, 320.0), CAPTION, 3 * MOST_LINES) if style.caption else []
    return [proof, *caption] if (proof := proof_text(words)) else caption


def check_orientation(orientation: str | None) -> None:
    """Raise a ValueError for an invalid orientation."""
    if orientation is not None and orientation not in ORIENTATIONS:
        raise ValueError(f"orientation={orientation!r}: must be 'down' or 'right', or None for the one that fits")


def _arranged(
    outline: Outline, orientation: str | None, compact: bool, samples: ChartSamples | None, style: Style
) -> tuple[_Arrangement, Artist]:
    chart = None if samples is None else Charts(outline.tree, outline.words, samples, compact, style)
    found: list[tuple[_Arrangement, Artist]] = []
    for way in ORIENTATIONS if orientation is None else [orientation]:
        artist = Artist(outline, LOOKS[way, compact], chart, style)
        cards = [artist.card(item) for item in outline.items]
        labels = [artist.label(item) for item in outline.items]
        found.append((_Arrangement(way, outline.items, cards, labels), artist))
        if found[0][0].width <= WIDE:
            break
    return min(found, key=lambda pair: max(pair[0].width, pair[0].height))


def moved(mark: Mark, right: float, down: float) -> Mark:
    match mark:
        case Text() | Box() | Sector():
            return replace(mark, x=mark.x + right, y=mark.y + down)
        case _:
            return replace(mark, points=[(x + right, y + down) for x, y in mark.points])


def above(artist: Artist, title: str | None, room: float, legend: bool) -> tuple[list[Mark], float]:
    """Return the marks of title, subtitle and legend, and their height."""
    marks: list[Mark] = []
    height = 0.0
    for line in wrapped(title, room, TITLE, MOST_LINES, True) if title else ():
        marks.append(Text(0.0, height + 0.9 * TITLE, line, TITLE, "ink", bold=True, anchor="start"))
        height += 1.3 * TITLE
    subtitle = artist.style.subtitle
    for line in wrapped(subtitle, room, SUBTITLE, MOST_LINES) if subtitle else ():
        marks.append(Text(0.0, height + 0.9 * SUBTITLE, line, SUBTITLE, "muted", anchor="start"))
        height += 1.3 * SUBTITLE
    if title or subtitle:
        height += 6.0
    key, key_height = legend_of(artist.words, room, artist.style, artist.fills) if legend else ([], 0.0)
    return [*marks, *(moved(mark, 0.0, height) for mark in key)], height + key_height


def title_of(words: Words) -> str:
    """Return the title of a picture: kind, targets and size of the tree."""
    tree = words.tree
    kind = "Decision tree" if tree.task == "classification" else "Regression tree"
    of = f" for {shortened(', '.join(words.targets), 400.0, 10.0)}" if any(words.targets) else ""
    return f"{kind}{of}: {tree.node_count:,} nodes, {tree.n_leaves:,} leaves, depth {tree.max_depth}"


def description(tree: Tree, words: Words) -> str:
    """Return a description of the picture for screen readers."""
    parts = []
    if words.labels:
        parts.append(f"Classes: {', '.join(words.labels[:MOST_LEGEND])}{ELLIPSIS if len(words.labels) > MOST_LEGEND else ''}.")
    parts.append(f"At the root: {words.outcome(0)}.")
    if tree.n_branches[0]:
        first = int(tree.first_child[0])
        ways = (f"{way}: {words.outcome(first + branch)}" for branch, way in enumerate(words.conditions(0)[:MOST_LEGEND]))
        significance = f", {split_text(words, 0)}" if split_text(words, 0) else ""
        parts.append(f"The first test is of {words.test(0)}{significance}. {'; '.join(ways)}.")
    return " ".join(parts)
