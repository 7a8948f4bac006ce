"""What a notebook shows of an estimator."""

import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

from fasttree import CARTClassifier, CARTRegressor


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


def plain(model):
    return model._repr_mimebundle_()["text/plain"]


def test_a_fitted_tree_shows_its_parameters_its_size_and_its_branches(iris):
    assert plain(CARTClassifier(max_depth=1).fit(*iris)).splitlines() == [
        "CARTClassifier(max_depth=1)",
        "4 features, 3 classes; grown on 150 samples: 3 nodes, 2 leaves, depth 1",
        "",
        "├── petal length (cm) <= 2.45: 0 (50)",
        "└── petal length (cm) > 2.45: 1 (50 of 100)",
    ]


def test_a_large_tree_shows_its_heaviest_part():
    X, y = load_diabetes(return_X_y=True)
    text = plain(CARTRegressor().fit(X, y))
    assert len(text.splitlines()) < 40
    assert "…" in text


def test_an_estimator_that_is_not_fitted_shows_its_parameters_alone(iris):
    model = CARTClassifier(max_depth=1).fit(*iris)
    assert plain(clone(model)) == "CARTClassifier(max_depth=1)"


def test_several_targets_are_counted(iris):
    X, y = iris
    assert "4 features, 2 targets; grown on" in plain(CARTClassifier(max_depth=1).fit(X, [[c, c > 0] for c in y]))
