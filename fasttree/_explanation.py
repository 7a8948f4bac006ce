"""An explanation of one prediction as data, in words and as a table; `_explain.py` finds what it says."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ._conditions import Condition
from ._words import name_text, percent

__all__ = ["Branch", "Change", "End", "Explanation", "Step"]

MOST_OTHERS = 4  # branches not taken that are written, the heaviest
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
