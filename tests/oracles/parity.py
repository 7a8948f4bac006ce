"""fasttree's C4.5 beside Quinlan's own program, figure by figure.

    python tests/oracles/parity.py                    the tables of this repository
    python tests/oracles/parity.py --data FOLDER      those of a folder with data/ and reference/

prints every recorded figure as `original|ours`, those that differ with a star.  Where the trees of a run differ it shows the node
where they part, the two tests, and what each is worth: in the original's single precision, and from exact sums in double.  For
that the original's tree is grown by its twin (`release8`), which repeats the recorded trees.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from release8 import Engine, Node, Original, Twin
from release8.classifying import class_weights
from release8.comparing import first_difference
from release8.parting import ANY, Parting, part_of_growth
from release8.problem import Options, Test
from release8.recorded import DataSet, Run, agree, sets_in, shipped_sets, tree_figures

from fasttree import C45Classifier
from fasttree._model.arrays import CATEGORY, NOMINAL, THRESHOLD
from fasttree._model.conditions import Condition
from fasttree._model.tree import Tree
from fasttree.estimators.c45_rules import C45Rules

PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {},
    "rules": {},
    "gain": {"criterion": "gain"},
    "subset": {"subset": True},
    "cf10": {"confidence": 0.10},
    "m1": {"min_samples_branch": 1},
    "m5": {"min_samples_branch": 5},
    "gain_subset": {"criterion": "gain", "subset": True},
    "soft": {"soft_thresholds": True},
}
KINDS = {THRESHOLD: "threshold", CATEGORY: "values", NOMINAL: "subset"}


def as_node(tree: Tree) -> Node:
    """The engine's tree as the twin's nodes."""
    wrong = np.where(tree.weight > 0, tree.weight - tree.value.max(axis=1), 0.0)
    errors = tree.estimated_errors
    if errors is None:
        errors = wrong.copy()
        for node in range(tree.node_count - 1, -1, -1):
            if tree.n_branches[node]:
                first = tree.first_child[node]
                errors[node] = errors[first : first + tree.n_branches[node]].sum()
    nodes = [
        Node(int(tree.predicted_class[node]), tree.weight[node], tree.value[node], errors[node], as_test(tree, node))
        for node in range(tree.node_count)
    ]
    for node in range(1, tree.node_count):
        nodes[tree.parent[node]].children.append(nodes[node])
    return nodes[0]


def as_test(tree: Tree, node: int) -> Test | None:
    if not tree.n_branches[node]:
        return None
    test = Test(KINDS[int(tree.kind[node])], int(tree.feature[node]), float(tree.threshold[node]))
    if test.kind == "subset":
        entries = slice(tree.categories_start[node], tree.categories_start[node + 1])
        codes, branches = tree.categories_code[entries], tree.categories_branch[entries]
        test.blocks = [frozenset(codes[branches == b].tolist()) for b in range(tree.n_branches[node])]
    if tree.lower is not None and tree.upper is not None:
        test.lower, test.upper = float(tree.lower[node]), float(tree.upper[node])
    return test


def rules_as_lines(found: C45Rules) -> list[dict[str, Any]]:
    """Rules in the words of the recorded ones."""

    def words(condition: Condition) -> list[Any]:
        if condition.threshold is not None:
            return [condition.feature, condition.operator, condition.threshold]
        categories = list(condition.categories)
        return [condition.feature, condition.operator, categories if condition.operator == "in" else categories[0]]

    return [
        {"if": [words(c) for c in rule.conditions], "then": rule.label, "estimated_error": rule.estimate} for rule in found.rules_
    ]


class Ours:
    """fasttree's models of one split, each fitted once."""

    def __init__(self, dataset: DataSet, split: str) -> None:
        self.dataset, self.split = dataset, dataset.split(split)
        self._models: dict[str, C45Classifier] = {}
        self.rules = cache(self._rules)

    def model(self, run: str) -> C45Classifier:
        key = str(PARAMETERS[run])
        if key not in self._models:
            train = self.split.train
            self._models[key] = C45Classifier(**PARAMETERS[run]).fit(train.iloc[:, :-1], train.iloc[:, -1])
        return self._models[key]

    def unpruned(self, run: str) -> Node:
        return as_node(self.model(run).tree_unpruned_)

    def pruned(self, run: str) -> Node:
        return as_node(self.model(run).tree_)

    def figures(self, run: Run) -> dict[str, Any]:
        """What the original printed for this run, by us."""
        if run.of_rules:
            found = self.rules()
            return {
                "n_rules": len(found.rules_),
                "n_conditions": sum(len(rule.conditions) for rule in found.rules_),
                "default_class": found.default_class_,
                "rules_dropped_in_evaluation": found.n_dropped_,
            } | {f"{part}_errors": n for part, n in self._errors(found).items()}
        pruned = self.model(run.name)
        unpruned = copy.copy(pruned)
        unpruned.tree_ = pruned.tree_unpruned_
        return {
            f"{name} {figure}": value
            for name, model in (("unpruned", unpruned), ("pruned", pruned))
            for figure, value in tree_figures(as_node(model.tree_), self._errors(model), name == "pruned")
        }

    def _rules(self) -> C45Rules:
        train = self.split.train
        return C45Rules().fit(train.iloc[:, :-1], train.iloc[:, -1])

    def _errors(self, model: Any) -> dict[str, int]:
        parts = {"train": self.split.train} | ({} if self.split.test is None else {"test": self.split.test})
        return {
            part: int((model.predict(frame.iloc[:, :-1]) != frame.iloc[:, -1].to_numpy()).sum()) for part, frame in parts.items()
        }


def differing(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in theirs.items() if not agree(name, value, ours[name])}


# Why they differ


class Reasons:
    """The differences on one split, with each growth only once."""

    def __init__(self, dataset: DataSet, split: str, twin_rows: int) -> None:
        self.dataset = dataset
        train, _ = dataset.split(split).tables
        self.original, self.engine = Twin(train, Original), Twin(train, Engine)
        self.too_large = len(train) > twin_rows
        self._told: dict[Options, str] = {}

    def lines(self, run: Run) -> Iterator[str]:
        """Why this run differs."""
        if self.too_large:
            yield "no tree of the original is recorded, and the table is too large for its twin (--twin-rows)"
            return
        growth = replace(run.options, confidence=Options.confidence)
        if growth in self._told:
            yield f"grown as in {self._told[growth]}"
            return
        parting = part_of_growth(self.original, self.engine, growth)
        if parting is not None:
            self._told[growth] = run.name
            yield from self.of_growth(parting)
        elif run.of_rules:
            yield "the trees are the same, the rules are not"
        else:
            yield from self.of_pruning(run)

    def of_growth(self, parting: Parting) -> Iterator[str]:
        yield f"the unpruned trees part at {self.way(parting.path)} ({parting.cases:.9g} cases)"
        for name, test in (("original", parting.original), ("ours", parting.ours)):
            if test is None:
                yield f"    {name + ':':9} a leaf"
            else:
                single, exact = parting.single.worths[name], parting.exact.worths[name]
                yield f"    {name + ':':9} {self.test(test)}: worth {single} in single precision, {exact} exactly"
        least = parting.exact.least
        if parting.single.least != least:
            yield f"    the original has forgotten that a branch must weigh {least:g}, and takes {parting.single.least:g}"
        else:
            for where, splits in (("in single precision", parting.only_single), ("exactly", parting.only_exact)):
                for (attribute, cut), side in splits.items():
                    weight = "" if np.isnan(side) else f", whose lighter side weighs {side:.9g} of at least {least:g}"
                    at = "" if self.dataset.values[attribute] else f" at {cut:.9g}"
                    yield f"    admissible {where} alone: {self.dataset.names[attribute]}{at}{weight}"
            if parting.is_tie:
                yield "    a tie" + ("" if parting.is_tie_of_worth else " of weights: a branch weighs just what it must")

    def of_pruning(self, run: Run) -> Iterator[str]:
        theirs, ours = self.original.pruned(run.options), self.engine.pruned(run.options)
        if self.original.unpruned(run.options).shape()["size"] != run.figures["unpruned size"]:
            yield "the original's twin does not repeat this tree, but grows ours"
            return
        found = first_difference(ours, theirs, ANY)
        if found is None:
            yield from self.of_classes(theirs, ours)
            return
        yield f"the unpruned trees are the same; pruned they part at {self.way(found.path)}"
        for name, node in (("original", found.theirs), ("ours", found.ours)):
            if node.alternatives is not None:
                as_leaf, raised, as_tree = map(float, node.alternatives)
                errors = f"{as_leaf:.9g} as a leaf, {raised:.9g} with its largest branch in its place, {as_tree:.9g} as it is"
                yield f"    {name + ':':9} predicted errors {errors}"

    def of_classes(self, theirs: Node, ours: Node) -> Iterator[str]:
        table = self.original.table
        single = class_weights(theirs, table, self.original.arithmetic)
        double = class_weights(ours, table, self.engine.arithmetic)
        differ = np.flatnonzero(single.argmax(axis=1) != double.argmax(axis=1))
        yield f"the trees are the same; {len(differ)} training cases are answered otherwise, as classes tie"
        for case in differ[:3]:
            classes = sorted({single[case].argmax(), double[case].argmax()})
            weights = ", ".join(f"{self.dataset.classes[k]} {single[case, k]:.9g} | {double[case, k]:.17g}" for k in classes)
            yield f"    case {case}: {weights}"

    def way(self, path: Iterable[tuple[Test, int]]) -> str:
        return " / ".join(self.outcome(test, branch) for test, branch in path) or "the root"

    def test(self, test: Test) -> str:
        if test.kind == "values":
            return f"{self.dataset.names[test.attribute]}, a branch for each value"
        if test.kind == "threshold":
            return self.outcome(test, 0)
        return " | ".join(self.outcome(test, branch) for branch in range(len(test.blocks)))

    def outcome(self, test: Test, branch: int) -> str:
        name, values = self.dataset.names[test.attribute], self.dataset.values[test.attribute]
        if values is None:
            return f"{name} {'>' if branch else '<='} {test.cut:.9g}"
        if test.kind == "values":
            return f"{name} = {values[branch]}"
        return f"{name} in {{{', '.join(values[v - 1] for v in sorted(test.blocks[branch]))}}}"


# The table


def cells(run: Run, ours: dict[str, Any]) -> Iterator[str]:
    """Lines of figures, for the unpruned tree, the pruned tree, or the rules."""
    wrong = differing(run.figures, ours)
    for tree in ("unpruned", "pruned", ""):
        names = [name for name in run.figures if name.startswith(f"{tree} ") or (not tree and " " not in name)]
        texts = []
        for name in names:
            value = f"{ours[name]:.4f}" if isinstance(ours[name], float) else str(ours[name])
            texts.append(f"{name.removeprefix(tree).strip()} {run.figures[name]}|{value}{'*' if name in wrong else ''}")
        if texts:
            yield f"{tree or 'rules':9} {'  '.join(texts)}"


def report(datasets: Iterable[DataSet], twin_rows: int) -> Counter[tuple[bool, bool]]:
    """Print everything; return how many figures there are, by (table has missing values, figures are equal)."""
    count: Counter[tuple[bool, bool]] = Counter()
    for dataset in datasets:
        ours: dict[str, Ours] = {}
        reasons: dict[str, Reasons] = {}
        print(f"\n{dataset.name}: {dataset.n_rows} rows{', missing values' if dataset.has_missing else ''}")
        for run in dataset.runs:
            models = ours.setdefault(run.split, Ours(dataset, run.split))
            if not run.figures:
                continue
            figures = models.figures(run)
            wrong = differing(run.figures, figures)
            count[dataset.has_missing, True] += len(figures) - len(wrong)
            count[dataset.has_missing, False] += len(wrong)
            for i, line in enumerate(cells(run, figures)):
                print(f"  {run.split if i == 0 else '':7}{run.name if i == 0 else '':12}{line}")
            if wrong:
                reason = reasons.setdefault(run.split, Reasons(dataset, run.split, twin_rows))
                print(*(f"      {line}" for line in reason.lines(run)), sep="\n")
    print()
    for label, has_missing in (("complete tables", [False]), ("tables with missing values", [True]), ("all", [False, True])):
        equal, wrong = (sum(count[missing, same] for missing in has_missing) for same in (True, False))
        if equal + wrong:
            print(f"{label}: {equal} of {equal + wrong} figures equal, {equal / (equal + wrong):.2%}")
    return count


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="fasttree's C4.5 beside Quinlan's own program, figure by figure.")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="a folder with data/ and reference/")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these data sets")
    parser.add_argument("--max-rows", type=int, default=50_000, help="leave out larger data sets (default: %(default)s)")
    parser.add_argument("--twin-rows", type=int, default=5_000, help="explain differences up to this size (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    datasets = shipped_sets() if chosen.data is None else sets_in(chosen.data)
    unknown = set(chosen.sets or []) - datasets.keys()
    if unknown:
        parser.error(f"no data set {', '.join(sorted(unknown))}; there are {', '.join(datasets)}")
    wanted = (dataset for name, dataset in datasets.items() if chosen.sets is None or name in chosen.sets)
    report((dataset for dataset in wanted if dataset.n_rows <= chosen.max_rows), chosen.twin_rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
