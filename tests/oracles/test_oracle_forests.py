"""Forests are as those of scikit-learn and of R's randomForest, up to the spread of their seeds."""

import csv
import json

import numpy as np
import pytest

import fasttree
from fasttree import RandomForestClassifier, RandomForestRegressor
from tests.oracles.forest_oracle import FIGURES, RECORDED, SETTINGS, as_numbers, figures

EXPECTED = json.loads(RECORDED.read_text(encoding="utf-8"))
SEEDS = range(100, 104)


@pytest.mark.parametrize("name", SETTINGS)
def test_figures_are_those_of_scikit_learn(name):
    found = figures(fasttree, SETTINGS[name], SEEDS)
    for figure in FIGURES:
        mean, sd = (np.asarray(part) for part in EXPECTED[name][figure])
        apart = np.abs(found[figure].mean(axis=0) - mean)
        assert (apart <= 3 * sd + 1e-6).all(), f"{figure}: {found[figure].mean(axis=0)}, scikit-learn {mean} sd {sd}"


# Recorded with randomForest 4.7-1.1, 500 trees, 20 seeds; kyphosis with scikit-learn, too
OF_R = {
    "kyphosis": ("rpart_kyphosis", "Kyphosis", [], RandomForestClassifier, 0.2136, 0.0156),
    "buy": ("chaid400", "buy", ["spend"], RandomForestClassifier, 0.4004, 0.0075),
    "spend": ("chaid400", "spend", ["buy"], RandomForestRegressor, 213.25, 1.36),
    "mileage": ("rpart_car_test_frame", "Mileage", ["Model"], RandomForestRegressor, 6.610, 0.138),
}


@pytest.mark.parametrize("name", OF_R)
def test_errors_are_those_of_random_forest(shared, name):
    file, target, left_out, kind, expected, sd = OF_R[name]
    with open(shared / "data" / f"{file}.csv", encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if all(value not in ("", "NA") for value in row.values())]
    names = [column for column in rows[0] if column not in (target, *left_out)]
    table = {column: as_numbers(np.array([row[column] for row in rows])) for column in names}
    y = np.array([row[target] for row in rows])
    errors = []
    for seed in range(3):
        if kind is RandomForestClassifier:
            forest = kind(n_estimators=500, oob_score=True, random_state=seed).fit(_frame(table), y)
        else:
            few = {"max_features": max(1, len(names) // 3), "min_samples_split": 6}  # its nodesize of 5 and mtry of p / 3
            forest = kind(n_estimators=500, oob_score=True, random_state=seed, **few).fit(_frame(table), y.astype(float))
        errors.append(forest.oob_curve()[-1])
    assert abs(np.mean(errors) - expected) <= 3 * sd


def _frame(table):
    import pandas as pd

    return pd.DataFrame(table)
