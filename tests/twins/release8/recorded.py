"""What the original printed: figures, whole trees and rules, and the tables it printed them for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from .problem import Node, Options, Table, Test

OPTIONS = {
    "default": Options(),
    "rules": Options(),
    "gain": Options(gain=True),
    "subset": Options(subset=True),
    "cf10": Options(confidence=0.10),
    "m1": Options(minimum=1),
    "m5": Options(minimum=5),
    "gain_subset": Options(gain=True, subset=True),
    "soft": Options(),
}

ROOT = Path(__file__).parents[3]
ORACLES = ROOT / "tests" / "oracles"


@dataclass(frozen=True)
class Run:
    """One run of the original: figures by name ("pruned size", "n_rules"), and what was kept of its trees or rules."""

    split: str
    name: str
    figures: dict[str, Any]
    kept: dict[str, Any]

    @property
    def options(self) -> Options:
        return OPTIONS[self.name]

    @property
    def of_rules(self) -> bool:
        return self.name == "rules"


@dataclass(frozen=True)
class Split:
    """A training and a test part, as frames whose last column is the class."""

    train: pd.DataFrame
    test: pd.DataFrame | None

    @cached_property
    def tables(self) -> tuple[Table, Table | None]:
        return as_table(self.train), None if self.test is None else as_table(self.test)


class DataSet:
    """A data set with values and classes in the order in which they were declared, and the runs on it."""

    def __init__(self, name: str, figures: dict[str, Any], trees: dict[str, Any], path: Path, target: str | None = None) -> None:
        self.name, self.path, self.target = name, path, target
        self.n_rows: int = figures["rows"]
        self.has_missing: bool = figures["missing_values"] > 0
        self.classes: list[str] = figures["classes"]
        self.names: list[str] = [attribute["name"] for attribute in figures["attributes"]]
        self.values: list[list[str] | None] = [attribute.get("values") for attribute in figures["attributes"]]
        recorded = {f"{run['split']}/{run['run']}": run for run in figures["runs"]}
        kept = {key: tree for key, tree in trees.items() if key.partition("/")[2] in OPTIONS}
        self.runs = [
            Run(*key.split("/"), flat(recorded.get(key, {})), kept.get(key, {}))
            for key in dict.fromkeys([*recorded, *kept])
            if "failed" not in recorded.get(key, {})
        ]
        self._splits: dict[str, Split] = {}

    @cached_property
    def _parts(self) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        test = self.path.with_name(self.path.name.replace(".csv", ".test.csv"))
        return self._read(self.path), self._read(test) if test.exists() else None

    def split(self, name: str) -> Split:
        if name not in self._splits:
            train, test = self._parts
            if name == "full":
                test = None
            elif name != "file":
                here = training_rows(len(train), name)
                train, test = train[here], train[~here]
            self._splits[name] = Split(train, test)
        return self._splits[name]

    def _read(self, path: Path) -> pd.DataFrame:
        cells = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
        y = cells.pop(self.target or cells.columns[-1])
        assert list(cells.columns) == self.names
        columns = {
            name: cells[name].astype(float if values is None else pd.CategoricalDtype(values))
            for name, values in zip(self.names, self.values, strict=True)
        }
        return pd.DataFrame({**columns, y.name: y.astype(pd.CategoricalDtype(self.classes))})

    def is_as(self, other: DataSet) -> bool:
        """Whether samples, declarations and runs are the same, so that one of the two need be looked at."""
        declared = (self.names, self.values, self.classes, self.runs) == (other.names, other.values, other.classes, other.runs)
        # cells and their order, but for the name of the class
        return declared and all(
            (mine is None) == (theirs is None) and (mine is None or mine.set_axis(theirs.columns, axis=1).equals(theirs))
            for mine, theirs in zip(self._parts, other._parts, strict=True)
        )

    def tree(self, kept: dict[str, Any]) -> Node:
        """A printed tree as nodes."""
        node = Node(self.classes.index(kept["class"]), kept["N"], np.array(kept["dist"]), kept["E"])
        if "test" in kept:
            attribute = self.names.index(kept["attribute"])
            node.test = Test(kept["test"], attribute, kept.get("cut", np.nan))
            node.test.lower, node.test.upper = kept.get("lower", np.nan), kept.get("upper", np.nan)
            if kept["test"] == "subset":
                values = self.values[attribute]
                assert values is not None
                node.test.blocks = [frozenset(values.index(v) + 1 for v in branch["outcome"]) for branch in kept["branches"]]
            node.children = [self.tree(branch["node"]) for branch in kept["branches"]]
        return node


def flat(run: dict[str, Any]) -> dict[str, Any]:
    figures = {f"{tree} {name}": value for tree in ("unpruned", "pruned") for name, value in run.get(tree, {}).items()}
    rules = ("n_rules", "n_conditions", "default_class", "rules_dropped_in_evaluation", "train_errors", "test_errors")
    return figures | {name: run[name] for name in rules if name in run}


def training_rows(n_rows: int, split: str) -> np.ndarray:
    index = np.arange(n_rows, dtype=np.uint64)
    if split == "third":
        return index % 3 != 2
    assert split == "hashed"
    return index * np.uint64(2654435761) % np.uint64(2**32) < np.uint64(2863311531)


def as_table(frame: pd.DataFrame) -> Table:
    columns, n_values = [], []
    for name in frame.columns[:-1]:
        column = frame[name]
        discrete = isinstance(column.dtype, pd.CategoricalDtype)
        columns.append(column.cat.codes.to_numpy().astype(np.intp) + 1 if discrete else column.to_numpy(np.float64))
        n_values.append(len(column.cat.categories) if discrete else 0)
    classes = frame.iloc[:, -1].cat
    return Table(tuple(columns), tuple(n_values), classes.codes.to_numpy().astype(np.intp), len(classes.categories))


def read_json(path: Path) -> dict[str, Any]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text(encoding="utf-8")
    return json.loads(text)["datasets"]


def shipped_sets() -> dict[str, DataSet]:
    """The sets whose tables are part of this repository."""
    figures, trees = read_json(ORACLES / "c45_figures.json"), read_json(ORACLES / "c45_trees.json")
    return {
        name: DataSet(name, oracle, trees.get(name, {}).get("trees", {}), ROOT / oracle["file"], oracle["target"])
        for name, oracle in figures.items()
    }


def sets_in(folder: Path) -> dict[str, DataSet]:
    """All sets of a folder with `data` and `reference`."""
    figures, trees = read_json(folder / "reference" / "c45_results.json"), read_json(folder / "reference" / "c45_trees.json")
    return {
        name: DataSet(name, oracle, trees.get(name, {}), folder / "data" / f"{name}.csv.gz") for name, oracle in figures.items()
    }


# Figures


def tree_figures(tree: Node, errors: dict[str, int], pruned: bool) -> Iterator[tuple[str, Any]]:
    """`errors` by "train" and "test"."""
    yield from tree.shape().items()
    for part, n in errors.items():
        yield f"{part}_errors", n
    if pruned:
        yield "estimated_errors", float(tree.errors)
        yield "estimated_error_percent", 100 * float(tree.errors) / float(tree.cases)


def agree(name: str, theirs: Any, ours: Any) -> bool:
    """Estimates are printed with four decimals, percentages with one."""
    if name.endswith("estimated_errors"):
        return abs(theirs - ours) <= 1.5e-4 + 1e-6 * theirs
    if name.endswith("percent"):
        return abs(theirs - ours) <= 0.05 + 1e-4
    return bool(theirs == ours)
