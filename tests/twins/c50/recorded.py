"""The figures that the original printed, and the tables that it printed them for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from release8.recorded import ORACLES
from release8.recorded import DataSet as Declared
from release8.recorded import sets_in as declared_in
from release8.recorded import shipped_sets as declared_shipped

from .problem import Options, Table

OPTIONS = {
    "default": Options(),
    "noglobal": Options(global_pruning=False),
    "subset": Options(subset=True),
    "m5": Options(minimum=5),
    "cf10": Options(confidence=0.10),
}

FIGURES = ("size", "train_errors", "test_errors")


@dataclass(frozen=True)
class Run:
    """One run of the original: the row split, the option, and the figures by name."""

    split: str
    name: str
    figures: dict[str, Any]

    @property
    def printed(self) -> dict[str, int]:
        """The figures that the original printed; those of each trial have its number in their names."""
        names = ("train_errors", "test_errors") if "sizes" in self.figures else FIGURES
        trials = {
            f"{name} {i}": figure
            for name, of_all in (("size", "sizes"), ("errors", "trial_train_errors"))
            for i, figure in enumerate(self.figures.get(of_all, []))
        }
        winnowed = {"winnowed": self.figures.get("winnowed", 0)} if self.name == "winnow" else {}
        return trials | winnowed | {name: self.figures[name] for name in names if name in self.figures}


@dataclass(frozen=True)
class DataSet:
    """A data set and the runs on it."""

    declared: Declared
    runs: list[Run]

    @property
    def name(self) -> str:
        return self.declared.name

    def frames(self, split: str) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        found = self.declared.split(split)
        return found.train, found.test

    def tables(self, split: str) -> tuple[Table, Table | None]:
        train, test = self.frames(split)
        return as_table(train), None if test is None else as_table(test)


def as_table(frame: pd.DataFrame) -> Table:
    columns, n_values = [], []
    for name in frame.columns[:-1]:
        column = frame[name]
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy().astype(np.intp)
            columns.append(np.where(codes < 0, 0, codes + 2))
            n_values.append(len(column.cat.categories) + 1)
        else:
            columns.append(column.to_numpy(np.float32))
            n_values.append(0)
    classes = frame.iloc[:, -1].cat
    return Table(tuple(columns), tuple(n_values), classes.codes.to_numpy().astype(np.intp), len(classes.categories))


def recorded(declared: dict[str, Declared], figures: Path) -> Iterator[DataSet]:
    records = json.loads(figures.read_text(encoding="utf-8"))["datasets"]
    for name, record in records.items():
        if name in declared:
            yield DataSet(
                declared[name],
                [Run(run["split"], run["run"], run) for run in record["runs"] if "failed" not in run],
            )


def sets_in(folder: Path) -> dict[str, DataSet]:
    return {found.name: found for found in recorded(declared_in(folder), folder / "reference" / "c50_results.json")}


def shipped_sets() -> dict[str, DataSet]:
    """The sets whose tables are part of this repository."""
    return {found.name: found for found in recorded(declared_shipped(), ORACLES / "c50_figures.json")}
