"""Memory that fits one after the other need."""

import sys

import numpy as np
import pytest

from fasttree import C45Classifier, CARTClassifier


def codes():
    """Columns of so few values that they are counted."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 200, (20_000, 16)).astype(np.float32), rng.integers(0, 5, 20_000)


def lists():
    """Columns of many values, whose lists growth takes over, and columns of few."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20_000, 8)), rng.integers(0, 9, (20_000, 8))])
    return X.astype(np.float32), rng.integers(0, 5, 20_000)


@pytest.mark.skipif(sys.platform != "linux", reason="touched pages were counted on Linux alone")
@pytest.mark.parametrize("make", [codes, lists])
@pytest.mark.parametrize("model", [CARTClassifier(max_depth=8), C45Classifier(max_depth=8)], ids=["cart", "c45"])
def test_a_fit_after_another_hardly_needs_fresh_pages(model, make):
    from resource import RUSAGE_SELF, getrusage

    X, y = make()
    touched = []
    for _ in range(6):
        before = getrusage(RUSAGE_SELF).ru_minflt
        model.fit(X, y)
        touched.append(getrusage(RUSAGE_SELF).ru_minflt - before)
    assert min(touched[1:]) < 50  # the first touches hundreds
