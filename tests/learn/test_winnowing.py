"""C5.0's winnowing: the halves, hidden features, and what is removed."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from fasttree import C50Classifier, from_json
from fasttree._data.learn import learn_table
from fasttree._learn.winnowing import Hidden, halves


def test_the_halves_have_every_second_sample_of_each_class():
    first, second = halves(np.array([0, 1, 0, 0, 1, 0, 1, 1, 0]), np.arange(9))
    assert first.tolist() == [0, 1, 3, 6]
    assert second.tolist() == [8, 7, 5, 4, 2]


def test_hidden_features_are_constant_in_growth_and_missing_in_prediction():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Categorical(["u", "v", "u"]), "c": [4.0, 5.0, 6.0]})
    table = learn_table(frame)
    hidden = Hidden(table, [0, 1])
    assert hidden.column(0).tolist() == [0, 0, 0]
    assert hidden.column(1).tolist() == [1, 1, 1]
    assert hidden.column(2).tolist() == [4, 5, 6]
    assert np.isnan(hidden.block(0, 3)[:, :2]).all()
    assert hidden.block(1, 3)[:, 2].tolist() == [5, 6]
    assert table.block(0, 3)[:, 0].tolist() == [1, 2, 3]


@pytest.fixture(scope="module")
def noisy():
    draw = np.random.default_rng(0)
    X = pd.DataFrame(draw.normal(size=(400, 4)), columns=list("abcd"))
    y = np.where(draw.random(400) < 0.1, 1, 0) ^ (X["b"] > 0)
    return X, y


@pytest.mark.parametrize("trials", [1, 3])
def test_removed_features_are_not_tested(noisy, trials):
    X, y = noisy
    model = C50Classifier(winnow=True, trials=trials).fit(X, y)
    assert "b" not in model.winnowed_
    assert model.winnowed_
    removed = [X.columns.get_loc(name) for name in model.winnowed_]
    assert not any(np.isin(tree.tree_.feature, removed).any() for tree in model.estimators_)
    others = C50Classifier(trials=trials).fit(X.drop(columns=list(model.winnowed_)), y)
    assert (others.predict(X[others.feature_names_in_]) == model.predict(X)).all()


@pytest.mark.parametrize("options", [{}, {"trials": 3}, {"rules": True}, {"rules": True, "trials": 3}], ids=str)
def test_a_file_has_the_removed_features(noisy, options):
    X, y = noisy
    model = C50Classifier(winnow=True, **options).fit(X, y)
    read = from_json(model.to_json())
    assert read.winnowed_ == model.winnowed_
    assert read.to_json() == model.to_json()
    assert from_json(C50Classifier(**options).fit(X, y).to_json()).winnowed_ == ()


def test_wrong_removed_features_are_refused(noisy):
    document = json.loads(C50Classifier(winnow=True).fit(*noisy).to_json())
    for wrong in (4, -1, "b", None):
        with pytest.raises(ValueError, match="winnowed: must be an integer from 0 to 3"):
            from_json(json.dumps(document | {"winnowed": [wrong]}))
    with pytest.raises(ValueError, match="winnowed: must be a list"):
        from_json(json.dumps(document | {"winnowed": {}}))


def test_a_file_of_an_earlier_version_does_not_know_the_removed_features(noisy):
    document = json.loads(C50Classifier(winnow=True).fit(*noisy).to_json())
    del document["winnowed"]
    read = from_json(json.dumps(document))
    assert not hasattr(read, "winnowed_")
    assert from_json(read.to_json()).to_json() == read.to_json()


def test_weights_count_samples(noisy):
    X, y = noisy
    weight = np.ones(len(X))
    weight[100:] = 0
    part = C50Classifier(winnow=True).fit(X[:100], y[:100])
    assert C50Classifier(winnow=True).fit(X, y, sample_weight=weight).winnowed_ == part.winnowed_


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples_are_enough(noisy, n):
    X, y = noisy
    model = C50Classifier(winnow=True).fit(X[:n], y[:n])
    assert model.predict(X[:n]).shape == (n,)


def test_without_winnowing_nothing_is_removed(noisy):
    assert C50Classifier().fit(*noisy).winnowed_ == ()


def test_winnowing_needs_the_pruning_of_c50(noisy):
    with pytest.raises(ValueError, match="winnow=True and pruning=None exclude each other"):
        C50Classifier(winnow=True, pruning=None).fit(*noisy)


def test_features_of_very_many_categories_for_a_half_are_removed():
    n = 40
    X = pd.DataFrame({"x": pd.Categorical(["u", "v"] * (n // 2)), "id": pd.Categorical([f"{i % 8}" for i in range(n)])})
    y = np.arange(n) % 8 < 4  # known from the id, which has 9 values with "not applicable": below 12, but not below 6
    assert C50Classifier(winnow=True).fit(X, y).winnowed_ == ("x", "id")
    assert C50Classifier(winnow=True, subset=True).fit(X, y).winnowed_ == ("x",)
    alone = C50Classifier(winnow=True).fit(X[["id"]], y)
    assert alone.winnowed_ == ("id",)
