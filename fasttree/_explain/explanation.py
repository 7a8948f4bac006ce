"""The explanation of one prediction as data, text and HTML; `follow` computes it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from fasttree._explain.rule_table import html_of
from fasttree._model.conditions import Condition
from fasttree._model.words import counted, percent

__all__ = ["Branch", "Change", "End", "Explanation", "Step", "WrittenExplanation", "plain"]

MOST_OTHERS = 4  # branches not taken that the text lists, the heaviest
MOST_MERGES = 4  # merges that the text lists, the first
LEAST_PART = 0.01  # smallest part of a sample that the text lists


@dataclass(frozen=True)
class Branch:
    """A branch of a test, taken or not.

    Attributes
    ----------
    condition : str
        Condition of the branch, in words.
    node : int
        Id of the child.
    part : float
        Share of what reaches the test that follows the branch: 0 if not taken, 1 if taken, in between if the sample divides.
    prediction : object
        Prediction of the child; a tuple if there are several targets.
    values : tuple of float
        Class shares of the child (one target after the other), or its values.
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
    """A test that the sample, or a part of it, reaches.

    Attributes
    ----------
    node : int
        Id of the node.
    depth : int
        Number of tests above it.
    part : float
        Part of the sample that reaches it.
    feature : str
        Name of the tested feature.
    index : int
        Its column.
    value : object
        Value of the sample, None if it is missing.
    state : {"known", "missing", "new", "unknown"}
        Whether the test knows the value: "missing"; "new", a category that the fit never saw; or "unknown", a category that the
        node does not know.  These three are treated alike.
    reason : {"value", "soft", "missing", "surrogate", "shares", "stop"}
        What decided: the value; the value, near a soft threshold; the branch for missing values; or the value of another
        feature.  With "shares" every branch gets a part, with "stop" the sample ends here.
    distance : float or None
        Distance of a known value from the threshold, or from the nearest of several, in the feature's unit; negative below.
    surrogate : str or None
        Condition on another feature that decided, in words.
    branches : tuple of Branch
        All branches of the test.
    note : str
        Value and reason in words.
    test : str
        Significance test of the branches in words, as trees of CHAID have it; else "".
    merges : tuple of str
        How the categories of the feature merged to the branches, in words and in order, as trees of CHAID have it; else empty.
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
    test: str = ""
    merges: tuple[str, ...] = ()
    _name: str = ""  # the feature in words

    @property
    def taken(self) -> tuple[Branch, ...]:
        """The branches that the sample follows: one, several if it divides, or none if it stops."""
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
        Id of the node: a leaf, or an inner node if a missing value stops the sample.
    part : float
        Part of the sample that ends there.
    prediction : object
        Prediction of the node; a tuple if there are several targets.
    values : tuple of float
        Its class shares, or its values.
    weight, support : float
        Training weight in the node, and its share of the whole training weight.
    outcome : str
        Prediction and weight in words.
    calculation : str
        The linear model of the leaf with the values of the sample put in, and the bound if the prediction is at one; empty for a
        leaf that predicts a constant.
    """

    node: int
    part: float
    prediction: Any
    values: tuple[float, ...]
    weight: float
    support: float
    outcome: str
    calculation: str = ""


@dataclass(frozen=True)
class Change:
    """A change of the sample that leads to another prediction.

    Attributes
    ----------
    prediction : object
        The other prediction.
    node : int
        Id of the leaf that predicts it.
    conditions : tuple of Condition
        Conditions on the features to change.
    text : str
        The change in words.
    """

    prediction: Any
    node: int
    conditions: tuple[Condition, ...]
    text: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """Explanation of the prediction for one sample.

    ``print(explanation)`` writes it as text; a notebook shows a table.

    Attributes
    ----------
    sample : dict
        Value of each feature, None if it is missing.
    prediction : object
        Class or value that the estimator predicts; a tuple if there are several targets.
    values : tuple of float
        Probability of each class in the order of `classes_` (one target after the other), or the predicted values.
    probabilities : dict, tuple of dict, or None
        Probability of each class by name; one dict per target if there are several; None in regression.
    steps : tuple of Step
        Tests on the path, each before those below it.
    ends : tuple of End
        Nodes where the sample ends: one, or several with a part in each.
    change : Change or None
        The smallest change of one feature, or else of two, that leads to a leaf with another prediction.  Changes are measured
        in units of the range of the tree's thresholds on a feature, and count 1 for categories and missing values; the heaviest
        leaf breaks ties.  None in regression, for several targets, with soft thresholds, if the sample divides, and if there
        is no such leaf.

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
    smallest change to get unripe: x1 <= 2.5 (now 2.8)
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
        """Return the explanation as dicts, lists, strings and finite numbers, which JSON can represent."""
        found: dict[str, Any] = {
            "prediction": plain(self.prediction),
            "values": plain(self.values),
            "probabilities": plain(self.probabilities),
            "sample": plain(self.sample),
            "steps": [plain(_fields(step)) for step in self.steps],
            "ends": [plain(_fields(end)) for end in self.ends],
            "change": None,
        }
        if self.change is not None:
            conditions = [str(condition) for condition in self.change.conditions]
            found["change"] = plain(_fields(self.change) | {"conditions": conditions})
        return found

    def __str__(self) -> str:
        lines = [self._headline, *self._lines()]
        if self.change is not None:
            lines.append(self.change.text)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Explanation>\n{self}"

    def _lines(self) -> Iterator[str]:
        """Write steps and ends from the root down, indented below a division of the sample."""
        steps = {step.node: step for step in self.steps}
        ends = {end.node: end for end in self.ends}
        n_small, small = 0, 0.0
        waiting: list[tuple[int, str, str]] = [(0, "", "")]  # node, indentation, heading
        while waiting:
            node, indentation, head = waiting.pop()
            if head:
                yield head
            if node in steps:
                step = steps[node]
                yield indentation + _step_text(step)
                yield from (f"{indentation}    {line}" for line in [*_test_lines(step), *_others_text(step)])
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
                if ends[node].calculation:
                    yield f"{indentation}    {ends[node].calculation}"
        if n_small:
            yield f"… {n_small} smaller parts, {percent(small)} together"

    def _repr_html_(self) -> str:
        change = "" if self.change is None else f"<p>{escape(self.change.text)}</p>"
        table = html_of(("node", "branch", "as", "else"), self._html_rows(), n_texts=4)
        return f"<div><p><b>{escape(self._headline)}</b></p>{table}{change}</div>"

    def _html_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """Return the cells of each step and end, in the order of the path."""
        ends = {end.node: end for end in self.ends}
        for step in self.steps:
            taken = "<br>".join(
                escape(branch.condition if branch.part == 1 else f"{percent(branch.part)} to {branch.condition}")
                for branch in step.taken
            )
            others = "<br>".join(escape(line.removeprefix("else ")) for line in _others_text(step))
            part = f" ({percent(step.part)})" if step.part < 1 else ""
            note = "<br>".join(map(escape, [step.note, *_test_lines(step)]))
            yield f"{step.node}{part}", taken or "stops here", note, others
            for node in [step.node, *(branch.node for branch in step.taken)]:
                if node in ends:
                    yield _html_end(ends[node])
        if not self.steps:
            yield _html_end(self.ends[0])


def _html_end(end: End) -> tuple[str, str, str, str]:
    worked = f"<br>{escape(end.calculation)}" if end.calculation else ""
    return str(end.node), f"<b>{escape(end.outcome)}</b>{worked}", escape(_reach(end)), ""


def _fields(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass as a dict."""
    return {entry.name: getattr(record, entry.name) for entry in dataclasses.fields(record) if entry.name[0] != "_"}


def plain(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become None."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if dataclasses.is_dataclass(value):
        return plain(_fields(value))
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
    # not "colour = red, as colour is red"
    is_said = step.note == condition or (step.reason == "value" and step.note.replace(" is ", " = ", 1) == condition)
    if is_said:
        return condition
    if step.reason == "missing":
        return f"{step.note}: treated as {condition}"
    return f"{condition}, as it{step.note.removeprefix(step._name)}"


def _test_lines(step: Step) -> list[str]:
    """Write the significance test of a step, and the first merges."""
    more = len(step.merges) - MOST_MERGES
    lines = [step.test] if step.test else []
    lines += [f"merged: {text}" for text in step.merges[:MOST_MERGES]]
    return [*lines, f"and {counted(more, 'more merge')}"] if more > 0 else lines


def _others_text(step: Step) -> Iterator[str]:
    """Write the branches not taken, at most `MOST_OTHERS` of many, the heaviest."""
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


class WrittenExplanation:
    """Base of explanations, dataclasses with their lines in `_lines`, the first of which is the prediction."""

    _lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as dicts, lists, strings and finite numbers, which JSON can represent."""
        found: dict[str, Any] = plain(_fields(self) | {"text": list(self._lines)})
        return found

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>\n{self}"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self._lines[0])}</b></p>" + "".join(f"<p>{escape(line)}</p>" for line in self._lines[1:])
