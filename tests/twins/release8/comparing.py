"""Trees side by side: the twin's, the engine's, and those that the original printed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .problem import Node, Test

INTERPOLATED = 1e-9
PRINTED = 1e-4  # weights and errors are printed with four decimals


@dataclass(frozen=True)
class Difference:
    """The first node, in preorder, where two trees part, and the tests and branches that lead to it."""

    path: tuple[tuple[Test, int], ...]
    ours: Node
    theirs: Node
    what: str


def first_difference(
    ours: Node, theirs: Node, tolerance: float = 0.0, path: tuple[tuple[Test, int], ...] = ()
) -> Difference | None:
    what = node_difference(ours, theirs, tolerance)
    if what:
        return Difference(path, ours, theirs, what)
    for branch, (one, other) in enumerate(zip(ours.children, theirs.children, strict=True)):
        assert ours.test is not None
        found = first_difference(one, other, tolerance, (*path, (ours.test, branch)))
        if found is not None:
            return found
    return None


def node_difference(ours: Node, theirs: Node, tolerance: float) -> str:
    """What differs, or nothing.  Of equally heavy classes either may be a node's."""
    if (ours.test is None) != (theirs.test is None) or (ours.test and theirs.test and not same_test(ours.test, theirs.test)):
        return "test"
    if len(ours.children) != len(theirs.children):
        return "branches"
    if ours.label != theirs.label and not (ours.cases > 0 and ours.weights[ours.label] == ours.weights[theirs.label]):
        return "class"
    if not close(ours.cases, theirs.cases, tolerance):
        return "cases"
    # the class weights of an empty leaf are printed as zeros
    if ours.cases > 0 and not all(close(a, b, tolerance) for a, b in zip(ours.weights, theirs.weights, strict=True)):
        return "class weights"
    if not close(ours.errors, theirs.errors, tolerance):
        return "errors"
    if ours.test and theirs.test and not same_bounds(ours.test, theirs.test, tolerance):
        return "soft threshold"
    return ""


def same_test(a: Test, b: Test) -> bool:
    return (a.kind, a.attribute, a.blocks) == (b.kind, b.attribute, b.blocks) and (
        math.isnan(a.cut) or np.float32(a.cut) == np.float32(b.cut)
    )


def same_bounds(a: Test, b: Test, tolerance: float) -> bool:
    """Where only one side has bounds there is nothing to compare.  They are interpolated, so they may round differently."""
    if math.isnan(a.lower) or math.isnan(b.lower):
        return True
    tolerance = max(tolerance, INTERPOLATED)
    return close(a.lower, b.lower, tolerance) and close(a.upper, b.upper, tolerance)


def close(a: Any, b: Any, tolerance: float) -> bool:
    return math.isclose(a, b, rel_tol=tolerance / 100, abs_tol=tolerance)


def rule_lines(found: Any, names: list[str], values: list[list[str] | None], classes: list[str]) -> list[dict[str, Any]]:
    """Rules in the words of the recorded ones."""

    def words(condition: Any) -> list[Any]:
        test, branch = condition.test, condition.branch
        if test.kind == "threshold":
            return [names[test.attribute], "<=" if branch == 0 else ">", test.cut]
        column = values[test.attribute]
        assert column is not None
        block = sorted(test.blocks[branch]) if test.kind == "subset" else [branch + 1]
        found = [column[v - 1] for v in block]
        return [names[test.attribute], *(("=", found[0]) if len(found) == 1 else ("in", found))]

    return [
        {"if": [words(c) for c in rule.conditions], "then": classes[rule.label], "estimated_error": rule.error} for rule in found
    ]


def same_rules(ours: list[dict[str, Any]], theirs: list[dict[str, Any]]) -> bool:
    """Errors are printed with five decimals, cuts as single precision."""

    def same_condition(a: list[Any], b: list[Any]) -> bool:
        return a[:2] == b[:2] and (a[2] == b[2] if isinstance(a[2], str | list) else np.float32(a[2]) == np.float32(b[2]))

    def same_rule(a: dict[str, Any], b: dict[str, Any]) -> bool:
        return (
            a["then"] == b["then"]
            and abs(a["estimated_error"] - b["estimated_error"]) < 1.5e-5
            and len(a["if"]) == len(b["if"])
            and all(map(same_condition, a["if"], b["if"]))
        )

    return len(ours) == len(theirs) and all(map(same_rule, ours, theirs))
