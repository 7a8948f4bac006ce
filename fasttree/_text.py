"""A tree as text for people: a line per branch, with the names of features, categories and classes.

The tree is drawn as on paper: under each test its branches, each with its condition, and at the end of a path what the leaf
predicts and how well it fits the samples it was grown on.  This file knows no estimators.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from ._surrogates import Surrogates
from ._table import Kind, Schema
from ._tree import CATEGORY, INTERVALS, KNOWN, STOP, THRESHOLD, Tree

__all__ = ["export_text"]

DRAWINGS = {
    False: {"branch": "├── ", "last": "└── ", "through": "│   ", "past": "    ", "more": "…"},
    True: {"branch": "|-- ", "last": "`-- ", "through": "|   ", "past": "    ", "more": "..."},
}
EXACT_DIGITS = 9  # thresholds of up to so many digits are printed as they are
TINY = 1e-300
ROUGH_DIGITS = 6  # longer ones are midpoints that nobody measured: enough digits to tell them apart


def export_text(
    tree: Tree,
    schema: Schema,
    classes: npt.NDArray[Any] | list[npt.NDArray[Any]] | None = None,
    *,
    max_depth: int | None = 100,
    max_categories: int = 12,
    decimals: int = 2,
    show_weights: bool = False,
    show_missing: bool | None = None,
    show_surrogates: bool = False,
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
    max_categories : int, default 12
        Categories to name in one condition; the rest are counted.
    decimals : int, default 2
        Digits after the point of weights and means; trailing zeros are left out.  Means below 1 get as many significant digits.
    show_weights : bool, default False
        Whether every line says the weight of each class in its node, as ``{yes: 3, no: 6}``; classes without weight are left out.
    show_missing : bool, optional
        Whether conditions say where a missing value goes: ``or missing`` at a branch, else an extra line under the test.  By
        default only where it follows a branch that is not the heaviest of its node.
    show_surrogates : bool, default False
        Whether a line above the branches of a test tells each of its surrogates, in the order in which they are asked:
        ``width is missing: width <= 0.6 if length <= 4 (agreement 0.9, adjusted 0.7)``, the first branch and what stands in for
        its condition; else the second.
    ascii : bool, default False
        Whether to draw with ASCII characters alone.

    Returns
    -------
    str
        Lines, each ended by a newline.

    Raises
    ------
    ValueError
        If `max_depth`, `max_categories` or `decimals` is out of range, or `classes` does not fit the tree.
    """
    for name, number, least in (("max_depth", max_depth, 0), ("max_categories", max_categories, 1), ("decimals", decimals, 0)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least):
            raise ValueError(f"{name}={number!r}: must be an integer >= {least}")
    each = classes if isinstance(classes, list) else [] if classes is None else [classes]
    widths = tree.outputs or (tree.n_outputs_or_classes,)
    if [len(labels) for labels in each] != (list(widths) if tree.task == "classification" else []):
        raise ValueError("classes: must have a label for each column of the tree's values; None for regression")
    if len(schema.features) != tree.n_features:
        raise ValueError(f"schema: has {len(schema.features)} features; the tree was grown on {tree.n_features}")
    labels = [word(label) for column in each for label in column.tolist()]
    drawing, surrogates = DRAWINGS[bool(ascii)], tree.surrogates if show_surrogates else None
    writer = _Writer(tree, schema, labels, int(max_categories), int(decimals), show_weights, show_missing, surrogates, drawing)
    return "".join(f"{line}\n" for line in writer.lines(math.inf if max_depth is None else int(max_depth)))


class _Writer:
    """The words for the nodes of one tree."""

    def __init__(
        self,
        tree: Tree,
        schema: Schema,
        labels: list[str],
        max_categories: int,
        decimals: int,
        show_weights: bool,
        show_missing: bool | None,
        surrogates: Surrogates | None,
        drawing: dict[str, str],
    ) -> None:
        self.tree = tree
        self.labels = labels
        self.max_categories = max_categories
        self.decimals = decimals
        self.show_weights = show_weights
        self.show_missing = show_missing
        self.surrogates = surrogates
        self.drawing = drawing
        self.names = [word(feature.name) for feature in schema.features]
        self.categories = [[word(category) for category in feature.categories or ()] for feature in schema.features]
        self.ordinal = [feature.kind == Kind.ORDINAL for feature in schema.features]
        tested = tree.kind == THRESHOLD
        pairs = set(zip(tree.feature[tested].tolist(), tree.threshold[tested].tolist(), strict=True))
        if surrogates is not None:
            tested = surrogates.kind == THRESHOLD
            pairs |= set(zip(surrogates.feature[tested].tolist(), surrogates.threshold[tested].tolist(), strict=True))
        self.thresholds = threshold_texts(pairs | set(self.all_cuts()))
        self.child_start = tree.child_start()
        # of each target the columns of its values, and the column of the answer of each node
        ends = np.cumsum([0, *(tree.outputs or (tree.n_outputs_or_classes,))]).tolist()
        self.columns = list(map(slice, ends[:-1], ends[1:]))
        self.answers = tree.label.reshape(tree.node_count, -1).T + np.array(ends[:-1])[:, None] if labels else None

    def all_cuts(self) -> Iterator[tuple[int, float]]:
        """Features and the places where their intervals meet."""
        for node in np.flatnonzero(self.tree.kind == INTERVALS).tolist():
            for cut in self.cuts_of(node):
                yield int(self.tree.feature[node]), cut

    def cuts_of(self, node: int) -> list[float]:
        assert self.tree.cut_start is not None
        assert self.tree.cut is not None
        cuts: list[float] = self.tree.cut[self.tree.cut_start[node] : self.tree.cut_start[node + 1]].tolist()
        return cuts

    def lines(self, max_depth: float) -> Iterator[str]:
        if self.tree.n_branches[0] == 0:
            yield self.outcome(0)
            return
        if max_depth == 0:
            yield self.folded(0)
            return
        # (indentation, what stands on the line, node to open below or -1, its depth), the next line on top
        waiting: list[tuple[str, str, int, int]] = list(reversed(self.branches(0, "", 1, max_depth)))
        if self.show_weights:
            yield self.counts(0)
        while waiting:
            indentation, line, node, depth = waiting.pop()
            yield line
            if node >= 0:
                waiting.extend(reversed(self.branches(node, indentation, depth + 1, max_depth)))

    def branches(self, node: int, indentation: str, depth: int, max_depth: float) -> list[tuple[str, str, int, int]]:
        """Lines under a test, each with the node to open below it."""
        tree, drawing = self.tree, self.drawing
        first, missing = int(tree.first_child[node]), int(tree.missing[node])
        conditions = self.conditions(node)
        surrogates = list(self.surrogate_notes(node, conditions[0]))
        notes = self.missing_notes(node)
        own_branch = missing >= 0 and conditions[missing] == self.is_missing(node)
        if missing >= 0 and not own_branch and self.tells_missing(node):
            conditions[missing] += f" or missing{self.with_surrogates(node)}"
        # no branches: a line without a fork
        result = [("", f"{indentation}{drawing['through']}{note}", -1, depth) for note in surrogates]
        lines = self.with_empty_leaves_together(node, list(enumerate(conditions, first)))
        for place, (child, condition) in enumerate(lines):
            last = place == len(lines) - 1 and not notes
            line = indentation + drawing["last" if last else "branch"] + condition
            below = -1
            if tree.n_branches[child] == 0:
                line += f": {self.outcome(child)}"
            elif depth >= max_depth:
                line += f": {self.folded(child)}"
            else:
                below = child
                if self.show_weights:
                    line += f" {self.counts(child)}"
            result.append((indentation + drawing["past" if last else "through"], line, below, depth))
        for place, note in enumerate(notes, 1):
            result.append(("", f"{indentation}{drawing['last' if place == len(notes) else 'branch']}{note}", -1, depth))
        return result

    def with_empty_leaves_together(self, node: int, lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """Put the categories that no sample has, which all answer alike, on one line at the end."""
        if self.tree.kind[node] != CATEGORY:
            return lines
        first = int(self.tree.first_child[node])
        feature = int(self.tree.feature[node])
        past = first + len(self.categories[feature])  # missing values, where they have a branch of their own
        empty = [child for child, _ in lines if self.tree.weight[child] == 0 and child < past]
        if len(empty) < 2:
            return lines
        names = self.set_of([self.categories[feature][child - first] for child in empty])
        together = (empty[0], f"{self.names[feature]} in {names}")
        return [line for line in lines if line[0] not in empty] + [together]

    def tells_missing(self, node: int) -> bool:
        if self.show_missing is not None:
            return self.show_missing
        weights = self.child_weights(node)
        return weights[int(self.tree.missing[node])] < max(weights)

    def child_weights(self, node: int) -> list[float]:
        first = int(self.tree.first_child[node])
        weights: list[float] = self.tree.weight[first : first + int(self.tree.n_branches[node])].tolist()
        return weights

    def with_surrogates(self, node: int) -> str:
        """Write what else must be missing, so that the samples go where the node says."""
        surrogates = self.tree.surrogates
        return " with all surrogates" if surrogates is not None and surrogates.start[node] < surrogates.start[node + 1] else ""

    def is_missing(self, node: int) -> str:
        return f"{self.names[self.tree.feature[node]]} is missing"

    def missing_notes(self, node: int) -> list[str]:
        """Write the line on missing values that follow no branch, if wanted."""
        missing = int(self.tree.missing[node])
        if not self.show_missing or missing >= 0:
            return []
        lost = f"{self.is_missing(node)}{self.with_surrogates(node)}"
        if missing == STOP:
            return [f"{lost}: {self.outcome(node)}"]
        return [f"{lost}: every branch, as {' : '.join(map(self.number, self.child_weights(node)))}"]

    def surrogate_notes(self, node: int, condition: str) -> Iterator[str]:
        """Write what stands in for the condition of the first branch, if wanted."""
        if self.surrogates is None:
            return
        s = self.surrogates
        for i in range(int(s.start[node]), int(s.start[node + 1])):
            feature = int(s.feature[i])
            if s.kind[i] == THRESHOLD:
                sign = "<=" if s.low_branch[i] == 0 else ">"
                stand_in = f"{self.names[feature]} {sign} {self.threshold_text(feature, float(s.threshold[i]))}"
            else:
                cells = slice(int(s.table_start[i]), int(s.table_start[i + 1]))
                codes = s.table_code[cells][s.table_branch[cells] == 0]
                stand_in = self.group_text(feature, [self.categories[feature][code - 1] for code in codes.tolist()])
            figures = f"agreement {self.number(float(s.agreement[i]))}, adjusted {self.number(float(s.adjusted[i]))}"
            yield f"{self.is_missing(node)}: {condition} if {stand_in} ({figures})"

    def conditions(self, node: int) -> list[str]:
        """Write what leads to each branch."""
        tree = self.tree
        feature, kind, n_branches = int(tree.feature[node]), int(tree.kind[node]), int(tree.n_branches[node])
        name, categories = self.names[feature], self.categories[feature]
        if kind == KNOWN:
            return [f"{name} is known", self.is_missing(node)]
        if kind == THRESHOLD:
            threshold = float(tree.threshold[node])
            text = self.threshold_text(feature, threshold)
            sides = [f"{name} <= {text}{self.interval(node)}", f"{name} > {text}"]
            return sides if n_branches == 2 else [*sides, self.is_missing(node)]
        if kind == INTERVALS:
            places = [self.threshold_text(feature, cut) for cut in self.cuts_of(node)]
            between = [f"{low} < {name} <= {high}" for low, high in itertools.pairwise(places)]
            return [f"{name} <= {places[0]}", *between, f"{name} > {places[-1]}"]
        if kind == CATEGORY:
            own = [self.is_missing(node)] if n_branches > len(categories) else []
            return [*(f"{name} = {category}" for category in categories), *own]
        groups: list[list[str]] = [[] for _ in range(n_branches)]
        table = slice(int(tree.table_start[node]), int(tree.table_start[node + 1]))
        for code, branch in zip(tree.table_code[table].tolist(), tree.table_branch[table].tolist(), strict=True):
            groups[branch].append(categories[code - 1])
        return [
            self.group_text(feature, group) if group or branch != tree.missing[node] else self.is_missing(node)
            for branch, group in enumerate(groups)
        ]

    def threshold_text(self, feature: int, threshold: float) -> str:
        if self.ordinal[feature]:
            return self.categories[feature][math.floor(threshold) - 1]  # codes count from 1
        return self.thresholds[feature, threshold]

    def group_text(self, feature: int, group: Sequence[str]) -> str:
        name = self.names[feature]
        return f"{name} = {group[0]}" if len(group) == 1 else f"{name} in {self.set_of(group)}"

    def interval(self, node: int) -> str:
        """Write the interval of a soft threshold that has one, to two digits of its length."""
        if self.tree.lower is None or self.tree.upper is None or self.ordinal[self.tree.feature[node]]:
            return ""
        lower, upper = float(self.tree.lower[node]), float(self.tree.upper[node])
        if not lower < upper:
            return ""
        decimals = min(max(1 - math.floor(math.log10(max(upper / 2 - lower / 2, TINY)) + math.log10(2)), 0), EXACT_DIGITS)
        return f" [{_fixed(lower, decimals)}, {_fixed(upper, decimals)}]"

    def set_of(self, names: Sequence[str]) -> str:
        # naming all but one saves nothing
        if len(names) <= self.max_categories + 1:
            return f"{{{', '.join(names)}}}"
        return f"{{{', '.join(names[: self.max_categories])}, {self.drawing['more']} {len(names) - self.max_categories} more}}"

    def outcome(self, node: int) -> str:
        """Write what the node predicts, and the weight behind it."""
        total = float(self.tree.weight[node])
        if self.answers is None:
            means = [_mean(mean, self.decimals) for mean in self.tree.value[node].tolist()]
            return f"{' | '.join(means)} ({self.number(total)})"
        return " | ".join(
            self.answer(node, columns, int(answers[node])) for columns, answers in zip(self.columns, self.answers, strict=True)
        )

    def answer(self, node: int, columns: slice, label: int) -> str:
        """Write the class of one target, the label of a column, and the weight behind it."""
        total = float(self.tree.weight[node])
        row = self.tree.value[node]
        if self.show_weights:
            return f"{self.labels[label]} {self.counts_of(node, columns)}"
        share, whole = self.number(float(row[label])), self.number(total)
        if total == 0 or not np.delete(row[columns], label - columns.start).any():
            return f"{self.labels[label]} ({whole})"
        cost = "" if self.tree.loss is None else f", cost {self.number(float(row @ self.tree.loss[:, label]))}"
        return f"{self.labels[label]} ({share} of {whole}{cost})"

    def counts(self, node: int) -> str:
        """Write the weight of each class (of each target), or of the node in regression."""
        columns = self.columns if self.labels else self.columns[:1]
        return " | ".join(self.counts_of(node, part) for part in columns)

    def counts_of(self, node: int, columns: slice) -> str:
        total = float(self.tree.weight[node])
        if not self.labels or total == 0:
            return f"({self.number(total)})"
        row = self.tree.value[node]
        present = columns.start + np.flatnonzero(row[columns])
        return "{" + ", ".join(f"{self.labels[i]}: {self.number(float(row[i]))}" for i in present) + "}"

    def folded(self, node: int) -> str:
        """Write the prediction of an inner node and the size of what hangs below."""
        start, stop, n_nodes, depth = node, node + 1, 0, -1
        while start < stop:
            n_nodes += stop - start
            depth += 1
            start, stop = int(self.child_start[start]), int(self.child_start[stop])
        return f"{self.outcome(node)} {self.drawing['more']} {n_nodes - 1} nodes, depth {depth}"

    def number(self, weight: float) -> str:
        return _fixed(weight, self.decimals)


def word(name: Any) -> str:
    """Write a name as it is, or quoted where a reader could not tell where it ends."""
    text = str(name)
    plain = text.isprintable() and text == text.strip() and text and not set(text) & set(",{}:")
    return text if plain else repr(text)


def _fixed(number: float, decimals: int) -> str:
    """Write at most so many digits after the point, and no trailing zeros."""
    if abs(number) >= 1e15:
        return f"{number:.6g}"
    text = f"{number:.{decimals}f}"
    if float(text) == 0:
        return f"{number:.1g}" if number else "0"  # what is there should not read as nothing
    return text.rstrip("0").rstrip(".") if "." in text else text


def _mean(number: float, decimals: int) -> str:
    """Write as `_fixed`; below 1, where targets may be tiny, count significant digits instead."""
    return _fixed(number, decimals) if abs(number) >= 1 or number == 0 else f"{number:.{max(decimals, 1)}g}"


def threshold_texts(pairs: Set[tuple[int, float]]) -> dict[tuple[int, float], str]:
    """Text of each (feature, threshold): exact if short, else rounded so that a feature's thresholds stay apart."""
    texts = {}
    long = []
    for feature, threshold in pairs:
        exact = repr(threshold).removesuffix(".0")
        mantissa = exact.split("e")[0].lstrip("-0.").replace(".", "")
        if len(mantissa) <= EXACT_DIGITS:
            texts[feature, threshold] = exact
        else:
            long.append((feature, threshold))
    taken = {(feature, text) for (feature, _), text in texts.items()}
    digits = ROUGH_DIGITS
    while long:
        rounded = {pair: _round_text(pair[1], digits) for pair in long}
        times = Counter((feature, text) for (feature, _), text in rounded.items())
        done = {
            (feature, threshold): text
            for (feature, threshold), text in rounded.items()
            if times[feature, text] == 1 and (feature, text) not in taken
        }
        texts |= done
        long = [pair for pair in long if pair not in done]
        digits += 1
    return texts


def _round_text(number: float, digits: int) -> str:
    # a digit after the point at least: 1234567.25 must not become 1234567
    before_point = len(str(int(abs(number)))) if abs(number) < 1e15 else 0
    return f"{number:.{max(digits, before_point + 1)}g}"
