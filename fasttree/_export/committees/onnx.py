"""Rules with models as an ONNX graph: a tree for each rule says whether it holds, and models are added term by term."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Kind
from fasttree._export.committees.subject import CommitteeSubject
from fasttree._export.onnx_parts.graph import Graph
from fasttree._export.onnx_parts.walk import Walk, rounded_down
from fasttree._model.committees.committee import ModelRule

__all__ = ["add_committee", "lower_committee"]

FAILS, HOLDS = ~0, ~1


def lower_committee(walk: Walk, subject: CommitteeSubject, *, single: bool) -> None:
    """Add a tree for each rule, and at last one for a rule that never holds, which fills up the members."""
    for rule in subject.committee.rules():
        walk.roots.append(_lowered(walk, subject, rule, single))
    walk.roots.append(FAILS)


def _lowered(walk: Walk, subject: CommitteeSubject, rule: ModelRule, single: bool) -> int:
    way = HOLDS
    for condition in reversed(rule.conditions):
        of_missing = way if condition.missing else FAILS
        if condition.kind is not Kind.CONTINUOUS:
            size = len(subject.schema.features[condition.index].categories or ())
            ways = np.full(size + 1, FAILS, np.int64)
            ways[np.array(subject.codes(condition), np.int64) - 1] = way
            ways[size] = of_missing
            way = walk.by_category(condition.index, ways)
            continue
        cuts = rounded_down(np.array([condition.threshold]), single=single).tolist()
        column = walk.columns.setdefault((condition.index, b""), len(walk.columns))
        way = walk.by_cuts(column, cuts, [way, FAILS] if condition.operator == "<=" else [FAILS, way], of_missing)
    return way


def add_committee(graph: Graph, subject: CommitteeSubject, holds: str) -> str:
    """Add the mean of the members, as doubles that are added in the order of `predict`; return its name."""
    committee = subject.committee
    zero = graph.constant("fasttree.zero", np.array(0.0))
    counted = graph.cast(holds, graph.onnx.TensorProto.DOUBLE)
    values = graph.add("Where", [holds, _add_models(graph, subject), zero])
    sizes = [len(member) for member in committee.members]
    places = np.full((len(sizes), max(1, *sizes)), sum(sizes), np.int64)  # the last is the rule that never holds
    start = 0
    for member, size in enumerate(sizes):
        places[member, :size] = start + np.arange(size)
        start += size
    by_member = graph.constant("fasttree.members", places)
    total, count = (
        _add_sum(graph, graph.add("Gather", [each, by_member], axis=1), 2, places.shape[1]) for each in (values, counted)
    )
    mean = graph.add("Div", [total, graph.add("Max", [count, graph.constant("fasttree.one", np.array(1.0))])])
    default = graph.constant("fasttree.default", np.array(committee.default))
    means = graph.add("Where", [graph.add("Greater", [count, zero]), mean, default])
    together = _add_sum(graph, means, 1, len(sizes), keep_axis=True)
    return graph.add("Div", [together, graph.constant("fasttree.n_members", np.array(float(len(sizes))))])


def _add_sum(graph: Graph, values: str, axis: int, size: int, *, keep_axis: bool = False) -> str:
    """Add a sum along an axis in its order, which only a cumulative sum promises."""
    sums = graph.add("CumSum", [values, graph.constant("fasttree.axis", np.array(axis, np.int64))])
    last = np.array([size - 1] if keep_axis else size - 1, np.int64)
    return graph.add("Gather", [sums, graph.constant("fasttree.last", last)], axis=axis)


def _add_models(graph: Graph, subject: CommitteeSubject) -> str:
    """Add what each rule predicts, within its bounds: in each step the next term of all rules."""
    committee = subject.committee
    rules = list(committee.rules())
    value = graph.constant("fasttree.intercept", _row([*(rule.intercept for rule in rules), 0.0]))
    used = sorted({feature for rule in rules for feature, _ in rule.terms})
    given = _add_filled(graph, subject, used) if used else ""
    for step in range(max((len(rule.terms) for rule in rules), default=0)):
        place, coefficient = np.zeros(len(rules) + 1, np.int64), np.zeros((1, len(rules) + 1))
        for number, rule in enumerate(rules):
            if step < len(rule.terms):
                feature, coefficient[0, number] = rule.terms[step]
                place[number] = used.index(feature)
        columns = graph.add("Gather", [given, graph.constant("fasttree.features", place)], axis=1)
        term = graph.add("Mul", [graph.constant("fasttree.coefficients", coefficient), columns])
        value = graph.add("Add", [value, term])
    value = graph.add("Max", [value, graph.constant("fasttree.lower", _row([*(rule.lower for rule in rules), 0.0]))])
    return graph.add("Min", [value, graph.constant("fasttree.upper", _row([*(rule.upper for rule in rules), 0.0]))])


def _row(numbers: list[float]) -> NDArray[np.float64]:
    return np.array([numbers])


def _add_filled(graph: Graph, subject: CommitteeSubject, used: list[int]) -> str:
    """Add the columns of the features that models use, as doubles without missing values."""
    if subject.schema.is_continuous:
        given = graph.add("Gather", [graph.inputs[0].name, graph.constant("fasttree.used", np.array(used, np.int64))], axis=1)
    else:
        given = graph.add("Concat", [graph.inputs[feature].name for feature in used], axis=1)
    given = graph.cast(given, graph.onnx.TensorProto.DOUBLE)
    filling = graph.constant("fasttree.filling", subject.committee.filling[None, used])
    return graph.add("Where", [graph.add("IsNaN", [given]), filling, given])
