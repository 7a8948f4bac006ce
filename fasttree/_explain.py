"""One prediction in words: the path of a sample, what decided at each test, and what the branches not taken would have answered.

The sample is followed by the same rules as the compiled walks follow, one node at a time, so that every decision can be told.
This file knows trees and the names of their features, and no estimators.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._conditions import Condition, left_part
from ._grow import predict_class, predict_value
from ._path_rules import conditions_of, missing_shares
from ._table import Kind, Schema, Table, encode_table, is_missing, open_frame
from ._tree import CATEGORY, INTERVALS, KNOWN, SHARES, STOP, THRESHOLD, Tree
from ._words import EXACT_DIGITS, Classes, Words, by_target, mean_text, name_text, percent, round_text, word

__all__ = ["Branch", "End", "Explanation", "Step", "explain"]

MOST_OTHERS = 4  # branches not taken that are written, the heaviest
MOST_CLASSES = 5  # probabilities that are written, the largest
MOST_CHANGES = 2  # features whose values are changed, in search of another answer
LEAST_PART = 0.01  # of a sample: smaller ones are counted in the text


@dataclass(frozen=True)
class Branch:
    """A branch of a test, taken or not.

    Attributes
    ----------
    condition : str
        What leads there, in words.
    node : int
        Id of the child.
    part : float
        Part of what arrives of the sample at the test that goes there: 0 not taken, 1 taken, in between where samples divide.
    prediction : object
        What the child would predict; of several targets a tuple.
    values : tuple of float
        Its class shares (of one target after the other), or its values.
    weight : float
        Training weight in the child.
    outcome : str
        Prediction and weight in words: ``yes (6 of 9)``.
    """

    condition: str
    node: int
    part: float
    prediction: Any
    values: tuple[float, ...]
    weight: float
    outcome: str


@dataclass(frozen=True)
class Step:
    """A test that the sample, or a part of it, meets.

    Attributes
    ----------
    node : int
        Id of the node.
    depth : int
        Tests above it.
    part : float
        Part of the sample that arrives.
    feature : str
        Name of the tested feature.
    index : int
        Its column.
    value : object
        The sample's value, None where it is missing.
    state : {"known", "missing", "new", "unknown"}
        Whether the test knows the value: it is missing, a category that the fit never saw, or one that the node does not know;
        these three are treated alike.
    reason : {"value", "soft", "missing", "surrogate", "shares", "stop"}
        What decided: the value; the value, near a soft threshold; where the test sends missing values; the value of another
        feature; or nothing, and every branch gets a part, or the sample stops here.
    distance : float or None
        Of a known value from the threshold, or from the nearest of several: negative below, in the feature's unit.
    surrogate : str or None
        The condition on another feature that decided, in words.
    branches : tuple of Branch
        All branches of the test.
    note : str
        Value and reason in words.
    """

    node: int
    depth: int
    part: float
    feature: str
    index: int
    value: Any
    state: str
    reason: str
    distance: float | None
    surrogate: str | None
    branches: tuple[Branch, ...]
    note: str

    @property
    def taken(self) -> tuple[Branch, ...]:
        """The branches that the sample follows: one, or several in parts; none where it stops."""
        return tuple(branch for branch in self.branches if branch.part > 0)

    @property
    def others(self) -> tuple[Branch, ...]:
        """The branches not taken."""
        return tuple(branch for branch in self.branches if branch.part == 0)


@dataclass(frozen=True)
class End:
    """A node where the sample, or a part of it, ends.

    Attributes
    ----------
    node : int
        Id of the node, a leaf unless the sample stops above for want of a value.
    part : float
        Part of the sample that ends there.
    prediction : object
        What the node predicts; of several targets a tuple.
    values : tuple of float
        Its class shares, or its values.
    weight, support : float
        Training weight in the node, and its share of all.
    outcome : str
        Prediction and weight in words.
    """

    node: int
    part: float
    prediction: Any
    values: tuple[float, ...]
    weight: float
    support: float
    outcome: str


@dataclass(frozen=True)
class Change:
    """What would make the tree answer otherwise.

    Attributes
    ----------
    prediction : object
        The other answer.
    node : int
        The leaf that gives it.
    conditions : tuple of Condition
        What the values of the features to change must satisfy.
    text : str
        The same in words.
    """

    prediction: Any
    node: int
    conditions: tuple[Condition, ...]
    text: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why a tree predicts what it predicts for one sample.

    ``print(explanation)`` tells it in words; a notebook shows a table.

    Attributes
    ----------
    sample : dict
        Value of each feature, None where it is missing.
    prediction : object
        As the estimator predicts it: a class, or a value; of several targets a tuple.
    values : tuple of float
        Probability of each class in the order of `classes_` (of one target after the other), or the predicted values.
    probabilities : dict, tuple of dict, or None
        Of the classes by name; of several targets one each; None in regression.
    steps : tuple of Step
        The tests on the way, each before those below it.
    ends : tuple of End
        Where the sample ends: one node, or several with a part in each.
    change : Change or None
        The nearest leaf that answers otherwise: of those that ask for a change of one feature, else of two, the one that asks for
        the smallest changes, in units of the range of the tree's thresholds on a feature (1 for categories and for missing
        values); of equal ones the heaviest.  None for regression, for several targets, with soft thresholds, where the sample
        divides, and where there is no such leaf.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> X, y = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]], ["ripe", "unripe", "unripe", "unripe"]
    >>> model = CARTClassifier().fit(X, y)
    >>> print(model.explain(["red", 2.8]))
    prediction: ripe  (ripe: 100 %)
    x1 > 2.5, as it is 2.8, 0.3 above the threshold
        else x1 <= 2.5: unripe (3)
    leaf 2: ripe (1), 25 % of the training weight
    nearest other answer: unripe if x1 <= 2.5 (now 2.8)
    """

    sample: dict[str, Any]
    prediction: Any
    values: tuple[float, ...]
    probabilities: Any
    steps: tuple[Step, ...]
    ends: tuple[End, ...]
    change: Change | None
    _headline: str = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return all that is known as dicts, lists, strings and finite numbers, which JSON can hold."""
        found: dict[str, Any] = {
            "prediction": _plain(self.prediction),
            "values": _plain(self.values),
            "probabilities": _plain(self.probabilities),
            "sample": _plain(self.sample),
            "steps": [_plain(_fields(step)) for step in self.steps],
            "ends": [_plain(_fields(end)) for end in self.ends],
            "change": None,
        }
        if self.change is not None:
            conditions = [str(condition) for condition in self.change.conditions]
            found["change"] = _plain(_fields(self.change) | {"conditions": conditions})
        return found

    def __str__(self) -> str:
        lines = [self._headline, *self._lines()]
        if self.change is not None:
            lines.append(self.change.text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanation>\n{self}"

    def _lines(self) -> Iterator[str]:
        """Write steps and ends from the root down; what lies below a division is indented."""
        steps = {step.node: step for step in self.steps}
        ends = {end.node: end for end in self.ends}
        n_small, small = 0, 0.0
        waiting: list[tuple[int, str, str]] = [(0, "", "")]  # node, indentation, what leads there
        while waiting:
            node, indentation, head = waiting.pop()
            if head:
                yield head
            if node in steps:
                step = steps[node]
                yield indentation + _step_text(step)
                yield from (f"{indentation}    {line}" for line in _others_text(step))
                several = len(step.taken) > 1
                below = []
                for branch in step.taken:
                    if several and step.part * branch.part < LEAST_PART:
                        n_small, small = n_small + 1, small + step.part * branch.part
                        continue
                    heading = f"{indentation}  {percent(branch.part)} to {branch.condition}" if several else ""
                    below.append((branch.node, indentation + "    " if several else indentation, heading))
                waiting += reversed(below)
            if node in ends:
                yield indentation + _end_text(ends[node], node in steps)
        if n_small:
            yield f"… {n_small} smaller parts, {percent(small)} together"

    def _repr_html_(self) -> str:
        left = ' style="text-align: left"'
        rows = "".join("<tr>" + "".join(f"<td{left}>{cell}</td>" for cell in row) + "</tr>" for row in self._html_rows())
        head = "".join(f"<th{left}>{name}</th>" for name in ("node", "branch", "as", "else"))
        change = "" if self.change is None else f"<p>{escape(self.change.text)}</p>"
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<div><p><b>{escape(self._headline)}</b></p>{table}{change}</div>"

    def _html_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Cells for each step and each end, in the order of the way."""
        ends = {end.node: end for end in self.ends}
        for step in self.steps:
            taken = "<br>".join(
                escape(branch.condition if branch.part == 1 else f"{percent(branch.part)} to {branch.condition}")
                for branch in step.taken
            )
            others = "<br>".join(escape(line.removeprefix("else ")) for line in _others_text(step))
            part = f" ({percent(step.part)})" if step.part < 1 else ""
            yield f"{step.node}{part}", taken or "stops here", escape(step.note), others
            for node in [step.node, *(branch.node for branch in step.taken)]:
                if node in ends:
                    yield _html_end(ends[node])
        if not self.steps:
            yield _html_end(self.ends[0])


def _html_end(end: End) -> tuple[str, str, str, str]:
    return str(end.node), f"<b>{escape(end.outcome)}</b>", escape(_reach(end)), ""


def _fields(record: Any) -> dict[str, Any]:
    """A record as a dict; the records in it too."""
    return {entry.name: getattr(record, entry.name) for entry in dataclasses.fields(record)}


def _plain(value: Any) -> Any:
    """What JSON can hold: what is not finite is missing."""
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if dataclasses.is_dataclass(value):
        return _plain(_fields(value))
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _step_text(step: Step) -> str:
    if step.reason == "stop":
        return f"{step.note}: it stops here"
    if len(step.taken) > 1:
        return f"{step.note}: shared out" if step.reason == "shares" else step.note
    condition = step.taken[0].condition
    # "colour = red, as colour is red" says nothing twice
    is_said = step.note == condition or (step.reason == "value" and step.note.replace(" is ", " = ", 1) == condition)
    return condition if is_said else f"{condition}, as it{step.note.removeprefix(name_text(step.feature))}"


def _others_text(step: Step) -> Iterator[str]:
    """Write the branches not taken, the heaviest of many."""
    others = sorted(step.others, key=lambda branch: -branch.weight)
    chosen = {branch.node for branch in (others if len(others) <= MOST_OTHERS + 1 else others[:MOST_OTHERS])}
    for branch in step.others:
        if branch.node in chosen:
            yield f"else {branch.condition}: {branch.outcome}"
    if len(chosen) < len(others):
        yield f"else … {len(others) - len(chosen)} more branches"


def _end_text(end: End, is_inner: bool) -> str:
    return f"{'node' if is_inner else 'leaf'} {end.node}: {end.outcome}, {_reach(end)}"


def _reach(end: End) -> str:
    part = f"{percent(end.part)} of the sample, " if end.part < 1 else ""
    return f"{part}{percent(end.support)} of the training weight"


def explain(
    tree: Tree,
    schema: Schema,
    classes: Classes,
    x: Any,
    *,
    max_categories: int = 12,
    decimals: int = 2,
    unseen: str = "as_missing",
    estimator_name: str = "this tree",
) -> Explanation:
    """Follow one sample down a tree.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    classes : array, list of arrays, or None
        Class labels; of several targets a list; None for regression.
    x : mapping, 1-D sequence, or table of one row
        The sample: values by name, or in the order of the columns; None or NaN where a value is missing.
    max_categories : int, default 12
        Categories to name in one condition; the rest are counted.
    decimals : int, default 2
        Digits after the point of weights and means.
    unseen : {"as_missing", "error"}
        Of a category that the fit did not know.
    estimator_name : str
        For messages.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError, TypeError
        If `x` is not one sample with the features of the tree, or a parameter is out of range.
    """
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals)
    cells = _cells(x, schema, estimator_name)
    row = np.empty((1, len(cells)), dtype=object)
    row[0] = cells
    table = encode_table(row, dataclasses.replace(schema, has_names=False), unseen=unseen, estimator_name=estimator_name)
    return _Follower(tree, schema, classes, words, cells, table).explanation()


# --- the sample


def _cells(x: Any, schema: Schema, estimator_name: str) -> list[Any]:
    """The values of one sample in the order of the columns."""
    names = [feature.name for feature in schema.features]
    by_name = _by_name(x, schema.has_names)
    if by_name is not None:
        lacking = [name for name in names if name not in by_name]
        strange = list(map(str, by_name.keys() - set(names)))
        if lacking or strange:
            told = [f"lacks {', '.join(lacking[:5])}"] * bool(lacking) + [f"also has {', '.join(sorted(strange)[:5])}"] * bool(
                strange
            )
            raise ValueError(
                f"x {' and '.join(told)}: it must have the features of the fit, {', '.join(names[:20])}; None where missing"
            )
        return [by_name[name] for name in names]
    if isinstance(x, (str, bytes)) or not (isinstance(x, Sequence) or hasattr(x, "__array__")):
        raise TypeError(
            f"x is a {type(x).__name__}: must be a mapping of names to values, a table of one row, or a list of values"
        )
    cells: list[Any] = list(x) if isinstance(x, Sequence) else np.asarray(x).tolist()
    if len(cells) == 1 and isinstance(cells[0], (list, tuple, np.ndarray)):  # a table of one row
        cells = list(cells[0])
    if any(isinstance(cell, (list, tuple, np.ndarray)) for cell in cells):
        raise ValueError(f"x has {len(cells)} rows: explain takes one sample at a time")
    if len(cells) != len(names):
        raise ValueError(f"x has {len(cells)} values: {estimator_name} was fitted to {len(names)} features")
    return cells


def _by_name(x: Any, has_names: bool) -> Mapping[Any, Any] | None:
    """The sample by the names of its values, where it has them."""
    if isinstance(x, Mapping):
        return x
    if hasattr(x, "to_dict") and hasattr(x, "index") and getattr(x, "ndim", 0) == 1:  # a row of a pandas frame
        row: dict[Any, Any] = x.to_dict()
        return row if has_names else None
    if isinstance(x, (Sequence, np.ndarray)):
        return None
    frame = open_frame(x)
    if frame is None:
        return None
    if len(frame) != 1:
        raise ValueError(f"x has {len(frame)} rows: explain takes one sample at a time")
    return dict(zip(frame.columns, frame.row(0), strict=True)) if has_names else None


# --- the way down


@dataclass(frozen=True)
class _Decision:
    """Where a test sends a sample, and why."""

    reason: str
    state: str
    parts: dict[int, float]  # by branch; none where it stops
    surrogate: int | None = None


class _Follower:
    """Follows one sample."""

    def __init__(self, tree: Tree, schema: Schema, classes: Classes, words: Words, cells: list[Any], table: Table) -> None:
        self.tree = tree
        self.schema = schema
        self.words = words
        self.table = table
        self.labels = [labels.tolist() for labels in by_target(classes)]
        self.cells = [None if is_missing(cell) else cell for cell in cells]
        self.row: NDArray[np.float64] = table.block(0, 1)[0].astype(np.float64)

    # --- what a node says

    def answers(self, values: NDArray[np.float64]) -> Any:
        """What values of a node predict, of several targets."""
        if not self.labels:
            return tuple(values.tolist())
        parts = self.tree.by_output(values)
        return tuple(labels[int(part.argmax())] for labels, part in zip(self.labels, parts, strict=True))

    def prediction(self, node: int, values: NDArray[np.float64]) -> Any:
        if self.tree.outputs is not None:
            return self.answers(values)
        return self.labels[0][int(self.tree.answer[node])] if self.labels else float(values[0])

    def decide(self, node: int, row: NDArray[np.float64]) -> _Decision:
        """As the compiled walk decides."""
        tree = self.tree
        index = int(tree.feature[node])
        x = float(row[index])
        if tree.kind[node] == THRESHOLD and tree.lower is not None and tree.upper is not None and not math.isnan(x):
            left = float(left_part(tree.lower[node], tree.threshold[node], tree.upper[node], np.array(x)))
            if 0 < left < 1:
                return _Decision("soft", "known", {0: left, 1: 1 - left})
        state = "known"
        if math.isnan(x):
            state = "missing" if self.cells[index] is None else "new"
        branch = _known_branch(tree, node, x)
        if branch is not None:
            return _Decision("value", state, {branch: 1.0})
        state = "unknown" if state == "known" else state
        if tree.surrogates is not None:
            for i in range(int(tree.surrogates.start[node]), int(tree.surrogates.start[node + 1])):
                found = _surrogate_branch(tree, i, row)
                if found is not None:
                    return _Decision("surrogate", state, {found: 1.0}, i)
        missing = int(tree.missing[node])
        if missing == STOP:
            return _Decision("stop", state, {})
        if missing != SHARES:
            return _Decision("missing", state, {missing: 1.0})
        return _Decision("shares", state, {b: share for b, share in enumerate(missing_shares(tree, node)) if share > 0})

    # --- words

    def _texts(self, conditions: Sequence[Condition], x: float) -> tuple[dict[tuple[int, float], str], str]:
        """How to write the limits of conditions on one feature, and a value, so that it lies on the right side of each."""
        texts = {}
        for index, limit in {pair for condition in conditions for pair in condition.thresholds()}:
            text = self.words.threshold_text(index, limit)
            if (float(text) < x) != (limit < x):
                text = repr(limit).removesuffix(".0")
            texts[index, limit] = text
        return texts, "" if math.isnan(x) else _value_text(x, [(limit, float(text)) for (_, limit), text in texts.items()])

    def _shown_value(self, index: int, text: str) -> str:
        """A value in words."""
        if self.schema.features[index].kind == Kind.CONTINUOUS and text:
            return text
        if math.isnan(self.row[index]):
            return word(self.cells[index])
        return self.words.categories[index][int(self.row[index]) - 1]

    def _conditions_text(self, conditions: Sequence[Condition], texts: Mapping[tuple[int, float], str]) -> list[str]:
        most = self.words.max_categories
        return [condition.words(texts, max_categories=most, show_missing=False) for condition in conditions]

    def step(self, node: int, depth: int, part: float) -> Step:
        """Tell one test."""
        tree = self.tree
        decision = self.decide(node, self.row)
        index, first = int(tree.feature[node]), int(tree.first_child[node])
        conditions, _ = conditions_of(tree, self.schema, node)
        x = float(self.row[index])
        is_number = self.schema.features[index].kind == Kind.CONTINUOUS and not math.isnan(x)
        texts, value = self._texts(conditions, x if is_number else math.nan)
        if not is_number and self.schema.features[index].kind == Kind.CONTINUOUS:
            texts = {pair: self.words.threshold_text(*pair) for condition in conditions for pair in condition.thresholds()}
        children = np.arange(first, first + int(tree.n_branches[node]))
        values = tree.predictions(children)
        branches = tuple(
            Branch(
                condition,
                child,
                decision.parts.get(child - first, 0.0),
                self.prediction(child, row),
                tuple(row.tolist()),
                float(tree.weight[child]),
                self.words.outcome(child),
            )
            for condition, child, row in zip(self._conditions_text(conditions, texts), children.tolist(), values, strict=True)
        )
        distance = _distance(conditions, x) if is_number and tree.kind[node] != KNOWN else None
        surrogate = None if decision.surrogate is None else self._surrogate_text(decision.surrogate, next(iter(decision.parts)))
        own = decision.state == "missing" and any(conditions[branch].operator == "missing" for branch in decision.parts)
        note = self._note(index, value, decision, distance, surrogate, len(texts) > 1, own)
        return Step(
            node,
            depth,
            part,
            self.schema.features[index].name,
            index,
            self.cells[index],
            decision.state,
            decision.reason,
            distance,
            surrogate,
            branches,
            note,
        )

    def _note(
        self,
        index: int,
        value: str,
        decision: _Decision,
        distance: float | None,
        surrogate: str | None,
        is_multiway: bool,
        own_branch: bool,
    ) -> str:
        """Write the value and why it decides."""
        name = self.words.names[index]
        if decision.state == "missing":
            told = f"{name} is missing"
        else:
            told = f"{name} is {self._shown_value(index, value)}"
            told += {"new": ", which the fit never saw", "unknown": ", which no sample had here"}.get(decision.state, "")
        if distance is not None:
            which = "the nearest threshold" if is_multiway else "the threshold"
            side = (
                "at"
                if distance == 0
                else f"{mean_text(abs(distance), self.words.decimals)} {'above' if distance > 0 else 'below'}"
            )
            told += f", {side} {which}"
        if decision.reason == "soft":
            shares = " : ".join(percent(part) for part in decision.parts.values())
            return f"{told}, so near that it goes both ways, {shares}"
        if surrogate is not None:
            return f"{told} and {surrogate} stands in"
        return f"{told}: such samples go this way" if decision.reason == "missing" and not own_branch else told

    def _surrogate_text(self, i: int, branch: int) -> str:
        condition = _surrogate_condition(self.tree, self.schema, i, branch)
        x = float(self.row[condition.index])
        texts, value = self._texts([condition], x if condition.kind == Kind.CONTINUOUS else math.nan)
        text = condition.words(texts, max_categories=self.words.max_categories)
        shown = self._shown_value(condition.index, value)
        said = condition.operator == "=" or (condition.kind == Kind.CONTINUOUS and not value)
        return text if said else f"{text} ({self.words.names[condition.index]} is {shown})"

    # --- the whole

    def explanation(self) -> Explanation:
        tree = self.tree
        steps, ends = [], []
        waiting = [(0, 0, 1.0)]
        while waiting:
            node, depth, part = waiting.pop()
            if tree.n_branches[node]:
                step = self.step(node, depth, part)
                steps.append(step)
                if step.taken:
                    waiting += [(branch.node, depth + 1, part * branch.part) for branch in reversed(step.taken)]
                    continue
            ends.append(self._end(node, part))
        values = predict_value(tree, self.table)[0]
        prediction = self._whole_prediction(values)
        return Explanation(
            {feature.name: cell for feature, cell in zip(self.schema.features, self.cells, strict=True)},
            prediction,
            tuple(values.tolist()),
            self._probabilities(values),
            tuple(steps),
            tuple(ends),
            self._change(prediction) if len(ends) == 1 else None,
            self._headline(prediction, values),
        )

    def _end(self, node: int, part: float) -> End:
        values = self.tree.predictions(np.array([node]))[0]
        weight = float(self.tree.weight[node])
        return End(
            node,
            part,
            self.prediction(node, values),
            tuple(values.tolist()),
            weight,
            weight / float(self.tree.weight[0]),
            self.words.outcome(node),
        )

    def _whole_prediction(self, values: NDArray[np.float64]) -> Any:
        if self.tree.outputs is not None:
            return self.answers(values)
        return self.labels[0][int(predict_class(self.tree, self.table)[0])] if self.labels else float(values[0])

    def _probabilities(self, values: NDArray[np.float64]) -> Any:
        if not self.labels:
            return None
        parts = self.tree.by_output(values)
        found = tuple(dict(zip(labels, part.tolist(), strict=True)) for labels, part in zip(self.labels, parts, strict=True))
        return found if self.tree.outputs is not None else found[0]

    def _headline(self, prediction: Any, values: NDArray[np.float64]) -> str:
        several = prediction if isinstance(prediction, tuple) else (prediction,)
        if not self.labels:
            return f"prediction: {' | '.join(mean_text(mean, self.words.decimals) for mean in several)}"
        shares = []
        for labels, part in zip(self.labels, self.tree.by_output(values), strict=True):
            order = [i for i in np.argsort(-part, kind="stable").tolist() if part[i] > 0]
            more = f", … {len(order) - MOST_CLASSES} more" if len(order) > MOST_CLASSES else ""
            shares.append(", ".join(f"{word(labels[i])}: {percent(float(part[i]))}" for i in order[:MOST_CLASSES]) + more)
        return f"prediction: {' | '.join(map(word, several))}  ({' | '.join(shares)})"

    # --- what would change the answer

    def _change(self, prediction: Any) -> Change | None:
        """The nearest leaf with another answer, of one target; looked for among changes of few features."""
        tree = self.tree
        is_soft = tree.lower is not None and tree.upper is not None and (tree.lower < tree.upper).any()
        if len(self.labels) != 1 or tree.outputs is not None or is_soft:
            return None
        label = self.labels[0].index(prediction)
        for most in range(1, MOST_CHANGES + 1):
            found = sorted(self._reachable(label, most), key=lambda pair: (pair[0], -tree.weight[pair[1]], pair[1]))
            for _, leaf, changes in found:
                if self._ends_at(leaf, changes):
                    return self._told(leaf, changes)
        return None

    def _reachable(self, label: int, most: int) -> Iterator[tuple[float, int, dict[int, Condition]]]:
        """Ends with another answer that ask for changes of few features: how large these are, the node, and what it asks."""
        tree = self.tree
        waiting: list[tuple[int, dict[int, Condition], frozenset[int]]] = [(0, {}, frozenset())]
        while waiting:
            node, path, changed = waiting.pop()
            own: dict[int, float] = {}
            if tree.n_branches[node]:
                index, first = int(tree.feature[node]), int(tree.first_child[node])
                free = index in changed
                if not free:
                    decision = self.decide(node, self.row)
                    own = decision.parts
                for branch, condition in enumerate(conditions_of(tree, self.schema, node)[0]):
                    joined = path[index] & condition if index in path else condition
                    if own.get(branch) == 1:
                        waiting.append((first + branch, {**path, index: joined}, changed))
                    elif _is_possible(joined) and (free or len(changed) < most):
                        waiting.append((first + branch, {**path, index: joined}, changed | {index}))
                if free or decision.reason != "stop":
                    continue
            if changed and tree.answer[node] != label:
                changes = {index: path[index] for index in sorted(changed)}
                yield sum(self._size(condition) for condition in changes.values()), node, changes

    def _size(self, condition: Condition) -> float:
        """How far the value is from what is asked, in units of the range of the thresholds of its feature."""
        x = float(self.row[condition.index])
        if condition.kind != Kind.CONTINUOUS or math.isnan(x):
            return 1.0
        away = max(condition.low - x, x - condition.high, 0.0)
        tested = (self.tree.feature == condition.index) & (self.tree.kind == THRESHOLD)
        thresholds = self.tree.threshold[tested]
        scale = float(np.ptp(thresholds)) if thresholds.size else 0.0
        return away / (scale or abs(condition.low if math.isfinite(condition.low) else condition.high) or 1.0)

    def _ends_at(self, end: int, changes: Mapping[int, Condition]) -> bool:
        """Whether the sample really ends there with the smallest change: values that surrogates look at may have changed."""
        row = self.row.copy()
        for index, condition in changes.items():
            row[index] = _nearest(condition, float(row[index]), self.schema)
        node = 0
        while self.tree.n_branches[node]:
            parts = self.decide(node, row).parts
            if len(parts) != 1:
                break
            node = int(self.tree.first_child[node]) + next(iter(parts))
        return node == end

    def _told(self, end: int, changes: Mapping[int, Condition]) -> Change:
        told = []
        for index, condition in changes.items():
            x = float(self.row[index])
            is_number = condition.kind == Kind.CONTINUOUS
            texts, value = self._texts([condition], x if is_number else math.nan)
            wanted = condition.words(texts, max_categories=self.words.max_categories, show_missing=False)
            now = "missing" if self.cells[index] is None else self._shown_value(index, value)
            told.append(f"{wanted} (now {now})")
        prediction = self.labels[0][int(self.tree.answer[end])]
        text = f"nearest other answer: {word(prediction)} if {' and '.join(told)}"
        return Change(prediction, end, tuple(changes.values()), text)


def _known_branch(tree: Tree, node: int, x: float) -> int | None:
    """Branch of a value; None if it is missing, or a category that the node does not know."""
    kind = tree.kind[node]
    if kind == KNOWN:
        return int(math.isnan(x))
    if math.isnan(x):
        return None
    if kind == THRESHOLD:
        return int(x > tree.threshold[node])
    if kind == CATEGORY:
        return int(x) - 1
    if kind == INTERVALS:
        return int(np.searchsorted(tree.cuts_of(node), x))
    return _in_table(tree.table_code, tree.table_branch, tree.table_start[node : node + 2], x)


def _in_table(codes: NDArray[np.uint32], branches: NDArray[np.int32], ends: NDArray[np.int64], x: float) -> int | None:
    """Branch of a category in a part of a table."""
    cells = slice(int(ends[0]), int(ends[1]))
    found = branches[cells][codes[cells] == x]
    return int(found[0]) if found.size else None


def _surrogate_branch(tree: Tree, i: int, row: NDArray[np.float64]) -> int | None:
    """Branch that a surrogate of the tree says; None if it does not know the value."""
    s = tree.surrogates
    assert s is not None
    x = float(row[s.feature[i]])
    if math.isnan(x):
        return None
    if s.kind[i] == THRESHOLD:
        return int(s.low_branch[i]) ^ int(x > s.threshold[i])
    return _in_table(s.table_code, s.table_branch, s.table_start[i : i + 2], x)


def _surrogate_condition(tree: Tree, schema: Schema, i: int, branch: int) -> Condition:
    """The values of a surrogate's feature by which it sends a sample to a branch."""
    s = tree.surrogates
    assert s is not None
    index = int(s.feature[i])
    feature = schema.features[index]
    low = branch == s.low_branch[i]
    if s.kind[i] != THRESHOLD:
        cells = slice(int(s.table_start[i]), int(s.table_start[i + 1]))
        codes = s.table_code[cells][s.table_branch[cells] == branch]
        declared = feature.categories or ()
        return Condition.among(feature, index, [declared[code - 1] for code in codes.tolist()])
    threshold = float(s.threshold[i])
    if feature.categories is not None:
        cut = math.floor(threshold)
        return Condition.among(feature, index, feature.categories[:cut] if low else feature.categories[cut:])
    return Condition.interval(feature, index, high=threshold) if low else Condition.interval(feature, index, low=threshold)


def _is_possible(condition: Condition) -> bool:
    """Whether some known value passes whole, whatever others are."""
    if condition.operator == "missing" or condition.kind == Kind.CONTINUOUS:
        return condition.operator != "missing"
    return not set(condition.categories) <= set(condition.asked)


def _nearest(condition: Condition, x: float, schema: Schema) -> float:
    """The value nearest to `x` that passes; of categories the code of the first."""
    if condition.kind != Kind.CONTINUOUS:
        categories = schema.features[condition.index].categories or ()
        return 1.0 + categories.index(next(c for c in condition.categories if c not in condition.asked))
    if x > condition.high or (math.isnan(x) and math.isfinite(condition.high)):
        return condition.high
    return math.nextafter(condition.low, math.inf) if not x > condition.low and math.isfinite(condition.low) else x


def _distance(conditions: Sequence[Condition], x: float) -> float | None:
    """From the nearest limit of some intervals to a value: negative below."""
    limits = {limit for condition in conditions for _, limit in condition.thresholds()}
    return min((x - limit for limit in limits), key=abs, default=None)


def _value_text(x: float, limits: Sequence[tuple[float, float]]) -> str:
    """Write a value so that it lies on the same side of each limit, as that is written."""
    exact = repr(x).removesuffix(".0")
    if len(exact.split("e")[0].replace(".", "").lstrip("-0")) <= EXACT_DIGITS:
        return exact
    for digits in range(6, 17):
        text = round_text(x, digits)
        if all((float(text) > written) == (x > limit) for limit, written in limits):
            return text
    return exact
