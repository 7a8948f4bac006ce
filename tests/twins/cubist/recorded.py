"""Rule sets and predictions that Cubist's authors' program gave, and the tables that it was given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cubist.problem import F, Problem

SUBSETS = {"diamonds": 4}  # every so many rows
RENAMED = {"diamonds": {"y": "y_"}}
TARGETS = {"cu_summary": "Mileage", "car_test_frame": "Mileage", "li_reg10": "y"}
REVERSED = {"bike-sharing"}  # the wrapper wrote the two categories of a feature as "1" and "0", which orders the rules
OPTIONS = {"extrapolation": "extrapolation", "unbiased": "unbiased"}


@dataclass
class Recorded:
    """A table, as training and test part, and the runs on it."""

    train: pd.DataFrame
    test: pd.DataFrame
    target: str
    nominal: list[str]
    reversed: bool  # whether categories have the reversed order
    runs: list[dict[str, Any]]


def recorded(shared: Path, name: str) -> Recorded:
    known = json.loads((shared / "reference" / f"cubist_{name}.json").read_text())
    if name in ("cu_summary", "car_test_frame"):
        table = pd.read_csv(shared / "data" / f"rpart_{name}.csv").iloc[:, 1:]
        table = table[table["Mileage"].notna()].reset_index(drop=True)
    else:
        path = shared / "data" / f"{name}.csv"
        table = pd.read_csv(path if path.exists() else f"{path}.gz")
    table = table.iloc[:: SUBSETS.get(name, 1)].reset_index(drop=True).rename(columns=RENAMED.get(name, {}))
    described = json.loads((shared / "data" / "datasets.json").read_text())
    target = TARGETS.get(name) or next(d["target"] for d in described if d["name"] == name)
    attributes = known["runs"][0]["attributes"]
    nominal = [column for column in attributes if "mode" in attributes[column]]
    for column in nominal:
        table[column] = table[column].map(lambda cell: cell if isinstance(cell, str) else None if cell != cell else f"{cell:g}")
    third = np.arange(len(table)) % 3 == 2
    small = len(table) < 30
    parts = (table, table) if small else (table[~third], table[third])
    return Recorded(*parts, target, nominal, name in REVERSED, known["runs"])


def problem_of(found: Recorded, options: dict[str, Any]) -> tuple[Problem, list[np.ndarray], list[list[str]]]:
    """Return the training samples, columns of the test part, and the categories of each feature."""
    features = [column for column in found.train if column != found.target]
    columns, tests, sizes, names = [], [], [], []
    for feature in features:
        train, test = found.train[feature], found.test[feature]
        if feature in found.nominal:
            values = sorted(set(train.dropna()), reverse=found.reversed)
            mode = train.mode()[0]
            codes = [part.where(part.isin(values), mode).map(values.index).to_numpy(int) for part in (train, test)]
            columns.append(codes[0])
            tests.append(codes[1])
            sizes.append(len(values))
            names.append(values)
            continue
        wide = train.to_numpy(float).astype(F)
        filling = float(found.runs[0]["attributes"][feature]["mean"]) if np.isnan(wide).any() else 0.0
        columns.append(np.where(np.isnan(wide), F(filling), wide))
        other = test.to_numpy(float).astype(F)
        tests.append(np.where(np.isnan(other), F(filling), other))
        sizes.append(0)
        names.append([])
    kept = {ours: options[theirs] for theirs, ours in OPTIONS.items() if theirs in options}
    y = found.train[found.target].to_numpy(float)
    return Problem(columns, sizes, y, max_rules=500, **kept), tests, names


def written(problem: Problem, features: list[str], names: list[list[str]], rules: list[Any]) -> list[dict[str, Any]]:
    """Return rules in the form of the record."""
    found = []
    for rule in rules:
        tests = []
        for j, operator, value in rule.tests:
            if operator != "in":
                tests.append((features[j], operator, float(f"{float(value):.8g}")))
            else:
                tests.append((features[j], "in", tuple(sorted(names[j][code] for code in value))))
        coefficients = {features[j]: float(f"{rule.model[j + 1]:.14g}") for j in problem.continuous if rule.model[j + 1]}
        found.append(
            {
                "cover": rule.cover,
                "tests": sorted(map(str, tests)),
                "intercept": float(f"{rule.model[0]:.14g}"),
                "coef": coefficients,
            }
        )
    return found


def as_written(rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return recorded rules in the same form."""
    found = []
    for rule in rules:
        tests = []
        for feature, operator, value in rule["tests"]:
            if operator in ("<=", ">"):
                tests.append((feature, operator, float(f"{float(np.float32(value)):.8g}")))
            else:
                values = value if isinstance(value, list) else [value]
                tests.append((feature, "in", tuple(sorted(values))))
        found.append(
            {
                "cover": rule["cover"],
                "tests": sorted(map(str, tests)),
                "intercept": rule["intercept"],
                "coef": rule["coef"],
            }
        )
    return found
