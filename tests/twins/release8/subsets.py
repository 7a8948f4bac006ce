"""Groups of values of a discrete attribute (Quinlan 1993, chapter 7), found greedily by merging."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arithmetic import EPSILON, Rows
from .candidates import Candidate, Growth, gain_of_branches, info_of_branches, known_base, row_sums, value_table, worth
from .problem import Test

PRESENT = 0.5  # weight above which a value has a block of its own from the start
TRACE = 0.1  # weight below which a class does not spoil a pure block
STEP = 0.00001  # by which a merge must raise the gain ratio
LEAST_GAIN = np.float32(EPSILON)


@dataclass
class Blocks:
    """Disjoint sets of values with their class weights, and what a branch for each would be worth."""

    lost: NDArray[Any]
    values: list[frozenset[int]]
    tables: list[NDArray[Any]]
    gain: Any
    info: Any
    worth: float

    def size(self, growth: Growth, block: int) -> float:
        return float(growth.arithmetic.single(row_sums(self.tables[block])))

    def sizes(self, growth: Growth) -> list[float]:
        return [self.size(growth, block) for block in range(len(self.tables))]

    def merged(self, i: int, j: int) -> Blocks:
        """Block j joins block i < j, and the last block takes its place; not judged yet."""
        values, tables = self.values.copy(), self.tables.copy()
        values[i], tables[i] = values[i] | values[j], tables[i] + tables[j]
        values[j], tables[j] = values[-1], tables[-1]
        return Blocks(self.lost, values[:-1], tables[:-1], self.gain, self.info, self.worth)

    def judge(self, growth: Growth, base: Any, cases: Any) -> Blocks:
        """Fill in gain, split information and worth."""
        gain = gain_of_branches(growth, self.lost, np.array(self.tables), cases, base)
        self.gain = -EPSILON if gain is None else gain
        self.info = info_of_branches(growth.arithmetic, np.array([self.lost, *self.tables]), cases)
        self.worth = worth(growth, self.gain, self.info, LEAST_GAIN)
        return self


def subset_candidate(growth: Growth, rows: Rows, cases: Any, attribute: int) -> Candidate | None:
    a = growth.arithmetic
    table = value_table(growth, rows, attribute)
    least, growth.minimum = growth.minimum, 1
    if float(a.single(cases - row_sums(table[0]))) < EPSILON:
        if not a.repeats_defects:
            growth.minimum = least  # the original forgets this, for the rest of its run
        return None
    base = known_base(a, table, cases)
    every = Blocks(table[0], [frozenset([v]) for v in range(1, len(table))], list(table[1:]), 0, 0, 0)
    blocks = every.judge(growth, base, cases)
    present = [v for v in range(len(blocks.tables)) if blocks.size(growth, v) > PRESENT]
    blocks.values, blocks.tables = [blocks.values[v] for v in present], [blocks.tables[v] for v in present]
    blocks = merge_pure(growth, blocks, base, cases)
    blocks = climb(growth, blocks, base, cases, least)
    growth.minimum = least
    if blocks.worth <= 0:
        return None
    gain = gain_of_branches(growth, table[0], np.array(blocks.tables), cases, base)
    leftover = frozenset(range(1, len(table))).difference(*blocks.values)
    test = Test("subset", attribute, blocks=[*blocks.values, leftover] if leftover else blocks.values)
    return None if gain is None else Candidate(test, gain, blocks.info)


def groups_candidate(growth: Growth, rows: Rows, cases: Any, test: Test) -> Candidate | None:
    """The given groups of values, whether or not the search would find them."""
    a = growth.arithmetic
    table = value_table(growth, rows, test.attribute)
    blocks = np.array([table[list(block)].sum(axis=0) for block in test.blocks])
    gain = gain_of_branches(growth, table[0], blocks, cases, known_base(a, table, cases))
    return None if gain is None else Candidate(test, gain, info_of_branches(a, np.vstack([table[:1], blocks]), cases))


def merge_pure(growth: Growth, blocks: Blocks, base: Any, cases: Any) -> Blocks:
    """Blocks of the same single class become one."""
    n_before = len(blocks.tables)
    i = 0
    while i < len(blocks.tables) - 1:
        label = int((growth.arithmetic.single(blocks.tables[i]) >= TRACE).argmax())
        j = i + 1
        while is_pure(growth, blocks, i, label) and j < len(blocks.tables):
            if is_pure(growth, blocks, j, label):
                blocks = blocks.merged(i, j)
            else:
                j += 1
        i += 1
    return blocks if len(blocks.tables) == n_before else blocks.judge(growth, base, cases)


def is_pure(growth: Growth, blocks: Blocks, block: int, label: int) -> bool:
    return float(growth.arithmetic.single(blocks.tables[block][label])) >= blocks.size(growth, block) - TRACE


def climb(growth: Growth, blocks: Blocks, base: Any, cases: Any, least: float) -> Blocks:
    """Merge pairs as long as that is worth it; with gain as criterion, or too few blocks of size, down to two blocks."""
    least_gain = growth.arithmetic.round(blocks.gain / 2)
    while len(blocks.tables) > 2:
        sizes = blocks.sizes(growth)
        n_reasonable = sum(bool(growth.arithmetic.reaches(row_sums(t), least)) for t in blocks.tables)
        barred = sizes.index(max(sizes)) if n_reasonable < 3 else None
        must_merge = growth.options.gain or n_reasonable < 2
        best: Blocks | None = None
        best_gain, best_worth = -EPSILON, 0.0
        for i in range(len(sizes)):
            for j in range(i + 1, len(sizes)):
                if barred in (i, j):
                    continue
                tried = blocks.merged(i, j).judge(growth, base, cases)
                better = tried.gain >= least_gain and best_gain < least_gain
                if better or tried.worth >= best_worth or (best is None and must_merge):
                    best, best_gain, best_worth = tried, tried.gain, tried.worth
        if not must_merge and (
            best is None or best_worth < blocks.worth + STEP or (best_worth == blocks.worth and best_gain < blocks.gain)
        ):
            break
        assert best is not None
        blocks = best
    return blocks
