"""The slow, readable twin of Quinlan's C4.5 Release 8: trees, pruning, classification, soft thresholds and rules.

Written from the published descriptions (Quinlan, *C4.5: Programs for Machine Learning*, Morgan Kaufmann 1993; "Improved use of
continuous attributes in C4.5", JAIR 4, 1996) and from what the program can be seen to do.  It shares nothing with the compiled
engine.  The arithmetic is a choice: `Original` adds and rounds as the original does, `Engine` as the engine does.

| file | what |
|---|---|
| `problem` | tables, options, tests, nodes |
| `arithmetic` | sums, roundings and the order of the cases |
| `growing`, `subsets` | the tree before pruning |
| `pruning`, `softening` | what is done to it |
| `classifying` | what it answers |
| `rules` | the second program |
| `recorded` | what the original printed, and the tables it printed it for |
| `comparing` | trees and rules side by side |
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from .arithmetic import Arithmetic, Double, Engine, Original
from .classifying import n_errors
from .growing import grow
from .problem import Node, Options, Table
from .pruning import prune
from .rules import RuleSet, find_rules
from .softening import soften

__all__ = ["Double", "Engine", "Node", "Options", "Original", "RuleSet", "Table", "Twin"]


class Twin:
    """Everything that can be had from one training table with one arithmetic, each thing computed once."""

    def __init__(self, table: Table, arithmetic: type[Arithmetic]) -> None:
        self.table, self.arithmetic = table, arithmetic(table)
        self.unpruned = cache(self._unpruned)
        self.pruned = cache(self._pruned)
        self.softened = cache(self._softened)
        self.rules = cache(self._rules)
        self._grown = cache(self._grow)

    def _grow(self, options: Options) -> tuple[Node, Any]:
        rows = np.arange(len(self.table))
        return grow(self.table, options, self.arithmetic, rows), rows

    def _unpruned(self, options: Options) -> Node:
        return self._grown(replace(options, confidence=Options.confidence))[0]

    def _pruned(self, options: Options) -> Node:
        tree, rows = self._grown(replace(options, confidence=Options.confidence))
        return prune(tree, self.table, options, self.arithmetic, rows.copy())

    def _softened(self, options: Options) -> Node:
        return soften(self._pruned(options), self.table, self.arithmetic)

    def _rules(self, options: Options) -> RuleSet:
        return find_rules(self._unpruned(options), self.table, options.confidence)

    def n_errors(self, tree: Node, table: Table) -> int:
        return n_errors(tree, table, self.arithmetic)
