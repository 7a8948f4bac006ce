"""Where the original's tree and the engine's part, and how near a tie that was."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import Twin
from .arithmetic import Arithmetic, Double, Original
from .candidates import Candidate, Growth, admissible_cuts, worth
from .comparing import first_difference
from .growing import average_gain, candidate_of
from .problem import Node, Options, Test
from .subsets import groups_candidate

ANY = math.inf  # a tolerance that only tests exceed
TIE = 1e-5  # worths as near as this, relative to the larger, are one in single precision, after a few roundings

Steps = tuple[tuple[Test, int], ...]


@dataclass(frozen=True)
class Worth:
    """What a test is worth in a node: gain ratio or gain; None if it cannot be chosen."""

    value: float | None
    gain: float | None
    average_gain: float

    def __str__(self) -> str:
        if self.gain is None:
            return "not admissible"
        if self.value is None:
            return f"not eligible (gain {self.gain:.9g}, average gain {self.average_gain:.9g})"
        return f"{self.value:.9g}"


@dataclass(frozen=True)
class Scale:
    """A node as one arithmetic sees it."""

    least: float
    """Least weight of two branches."""
    splits: dict[tuple[int, float], float]
    """The admissible splits, as attribute and cut (0 where there is none), and what the lighter side of a cut weighs."""
    worths: dict[str, Worth]
    """Of the tests of "original" and "ours", if any."""


@dataclass(frozen=True)
class Parting:
    """A node where the original and the engine take different tests (None: a leaf)."""

    path: Steps
    cases: float
    original: Test | None
    ours: Test | None
    single: Scale
    """The original's single precision."""
    exact: Scale
    """Exact sums, in double."""

    @property
    def is_tie(self) -> bool:
        """Do the two tests tie exactly, or is the weight of a branch exactly the least that is needed?"""
        return self.is_tie_of_worth or self.is_tie_of_weight

    @property
    def is_tie_of_worth(self) -> bool:
        values = [worth.value for worth in self.exact.worths.values()]
        return len(values) == 2 and None not in values and math.isclose(*values, rel_tol=TIE, abs_tol=1e-9)  # type: ignore[arg-type]

    @property
    def is_tie_of_weight(self) -> bool:
        return bool(self.only_single or self.only_exact)

    @property
    def only_single(self) -> dict[tuple[int, float], float]:
        """Splits that are admissible in single precision alone."""
        return {split: side for split, side in self.single.splits.items() if split not in self.exact.splits}

    @property
    def only_exact(self) -> dict[tuple[int, float], float]:
        return {split: side for split, side in self.exact.splits.items() if split not in self.single.splits}


def as_split(node: Node) -> Node:
    """The tree before splits were undone."""
    split = node.undone or node
    children = [as_split(child) for child in split.children]
    return Node(split.label, split.cases, split.weights, split.errors, split.test, children, split.seen)


def part_of_growth(original: Twin, engine: Twin, options: Options) -> Parting | None:
    """The first node in preorder where the unpruned trees differ; below it, where a split was undone that decided."""
    visible = first_difference(engine.unpruned(options), original.unpruned(options), ANY)
    if visible is None:
        return None
    found = first_difference(as_split(visible.ours), as_split(visible.theirs), ANY, visible.path)
    if found is None:  # the same splits, undone in one of the trees
        found = visible
    tests = {"original": found.theirs.test, "ours": found.ours.test}
    single, exact = Original(original.table), Double(original.table)
    return Parting(
        found.path,
        float(found.ours.cases),
        *tests.values(),
        weigh(tests, found.theirs, found.path, options, single),
        weigh(tests, found.ours, found.path, options, exact),
    )


def weigh(tests: dict[str, Test | None], node: Node, path: Steps, options: Options, arithmetic: Arithmetic) -> Scale:
    """What the tests are worth with the cases that came to a grown node."""
    assert node.seen is not None
    rows, weights, least = node.seen[0].copy(), node.seen[1], node.seen[2]
    arithmetic.weight[rows] = weights
    growth = Growth(arithmetic.table, options, arithmetic, least)
    tested = frozenset(above.attribute for above, _ in path)
    cases = arithmetic.total(rows)
    candidates, found, weighed = [], {}, {}
    for attribute in range(len(arithmetic.table.n_values)):  # in this order, as each may permute the rows
        splits, candidate = splits_of(growth, rows, cases, tested, attribute)
        if candidate is not None:
            candidates.append(candidate)
        weighed |= {(attribute, single_cut(c.test)): side for c, side in splits.items()}
        for name, test in tests.items():
            if test is not None and test.attribute == attribute:
                found[name] = this_one(growth, rows, cases, test, splits)
    average = average_gain(growth, candidates)

    def of(candidate: Candidate | None) -> Worth:
        if candidate is None:
            return Worth(None, None, float(average))
        value = worth(growth, candidate.gain, candidate.info, average)
        return Worth(value if value >= 0 else None, float(candidate.gain), float(average))

    return Scale(least, weighed, {name: of(candidate) for name, candidate in found.items()})


def single_cut(test: Test) -> float:
    """Of tests without a cut 0."""
    return 0.0 if math.isnan(test.cut) else float(np.float32(test.cut))


def splits_of(
    growth: Growth, rows: Any, cases: Any, tested: frozenset[int], attribute: int
) -> tuple[dict[Candidate, float], Candidate | None]:
    """The admissible splits of an attribute with the weight of their lighter side, and the one with which it competes."""
    if growth.table.n_values[attribute]:
        candidate = candidate_of(growth, rows, cases, tested, attribute)
        return {} if candidate is None else {candidate: math.nan}, candidate
    cuts = admissible_cuts(growth, rows, attribute)
    if cuts is None:
        return {}, None
    sides = cuts.sides.min(axis=1).tolist()
    return {cuts.candidate(growth.table, cut): side for cut, side in enumerate(sides)}, cuts.best(growth.table)


def this_one(growth: Growth, rows: Any, cases: Any, test: Test, splits: Iterable[Candidate]) -> Candidate | None:
    if test.kind == "subset":
        return groups_candidate(growth, rows, cases, test)
    return next((c for c in splits if c.test.kind == test.kind and single_cut(c.test) == single_cut(test)), None)
