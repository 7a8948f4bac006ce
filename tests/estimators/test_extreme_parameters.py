"""Parameters far beyond any table: a limit that large is like one that no node reaches, and none overflows."""

import numpy as np
import pytest

from fasttree._learn import parameters
from fasttree.estimators.common.registry import ESTIMATORS

COUNTS_WORK = ("n_estimators", "n_trials", "trials", "n_jobs", "verbose", "random_state")  # where large means that it takes long
CASES = [(entry, name) for entry in ESTIMATORS for name in sorted(parameters.rules_of(entry.load())) if name not in COUNTS_WORK]


def few(entry):
    """Choices by which a fit is quick, and draws the same."""
    if entry.is_additive:
        return {"n_bags": 2, "random_state": 0}
    return {"n_estimators": 2, "random_state": 0} if entry.makes_forest else {}


@pytest.mark.parametrize(("entry", "name"), CASES, ids=[f"{entry.name}-{name}" for entry, name in CASES])
def test_a_huge_number_is_refused_or_is_a_limit_that_nothing_reaches(entry, name):
    X = np.random.default_rng(0).integers(0, 3, (12, 2)).astype(float)
    y = X[:, 0] if entry.name.endswith("Regressor") else (X[:, 0] > 1).astype(int)
    predictions = []
    for number in (2**40, 2**63, 10**30, 1e300):
        model = entry.load()(**few(entry) | {name: number})
        try:
            predictions.append(model.fit(X, y).predict(X).tolist())
        except (ValueError, TypeError):
            continue
    assert all(each == predictions[0] for each in predictions)


@pytest.mark.parametrize("entry", ESTIMATORS, ids=lambda entry: entry.name)
def test_a_huge_number_of_threads_is_as_many_as_there_is_work_for(entry):
    X = np.random.default_rng(0).integers(0, 3, (12, 2)).astype(float)
    y = X[:, 0] if entry.name.endswith("Regressor") else (X[:, 0] > 1).astype(int)
    if "n_jobs" not in parameters.rules_of(entry.load()):
        pytest.skip("no threads")
    if entry.name == "ID3Classifier":
        X = X.astype(int).astype(str)
    one, many = (entry.load()(**few(entry), n_jobs=n_jobs).fit(X, y).predict(X) for n_jobs in (1, 10**30))
    assert (one == many).all()
