"""The explanation of a forest's prediction: votes of the trees, and contributions that sum to the prediction."""

import json

import numpy as np
import pandas as pd
import pytest

from fasttree import RandomForestClassifier, RandomForestRegressor


@pytest.fixture(scope="module")
def fruit():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"width": rng.normal(size=200), "colour": rng.choice(["red", "green"], 200), "idle": 1.0})
    X.loc[rng.random(200) < 0.1, "width"] = np.nan
    label = np.where((X["colour"] == "red") & (X["width"] > 0), "ripe", "unripe")
    forest = RandomForestClassifier(n_estimators=25, max_depth=4, random_state=0).fit(X, label)
    return X, label, forest


def test_contributions_sum_to_the_probability_of_the_prediction(fruit):
    X, _, forest = fruit
    shares, agreement = forest.predict_proba(X), forest.agreement(X)
    for i in range(12):
        found = forest.explain(X.iloc[i])
        assert found.prediction == forest.predict(X)[i]
        assert list(found.probabilities.items()) == list(zip(forest.classes_.tolist(), shares[i].tolist(), strict=True))
        assert found.n_agreeing == round(agreement[i] * 25)
        assert found.base_value + sum(each.contribution for each in found.contributions) == pytest.approx(shares[i].max())
        sizes = [abs(each.contribution) for each in found.contributions]
        assert sizes == sorted(sizes, reverse=True)
        by_name = {each.feature: each.contribution for each in found.contributions}
        k = int(shares[i].argmax())
        assert list(by_name.values()) == [forest.shap_values(X).values[i, list(X).index(name), k] for name in by_name]
        assert json.loads(json.dumps(found.to_dict()))["n_trees"] == 25


def test_the_text_has_votes_values_and_contributions(fruit):
    _, _, forest = fruit
    lines = str(forest.explain({"width": 1.5, "colour": "red", "idle": 1.0})).splitlines()
    assert lines[0].startswith("prediction: ripe  (ripe: ")
    n_agreeing = round(forest.agreement(pd.DataFrame({"width": [1.5], "colour": ["red"], "idle": [1.0]}))[0] * 25)
    assert lines[0].endswith(f"as {n_agreeing} of 25 trees")
    assert lines[1].startswith("probability of ripe if no value is known: ")
    assert sorted(line.split("  ")[-1] for line in lines[2:]) == ["colour = red", "width = 1.5"]  # idle contributes nothing
    unknown = str(forest.explain([None, "blue", 1.0]))
    assert "width is missing" in unknown
    assert "colour = blue, which is unseen" in unknown
    labelled = str(forest.explain([1.5, "red", 1.0], labels={"colour": ("tint", {"red": "crimson"}), "y": {"ripe": "good"}}))
    assert labelled.startswith("prediction: good  (good: ")
    assert "tint = crimson" in labelled


def test_numbers_are_explained_in_their_unit(fruit):
    X, _, _ = fruit
    forest = RandomForestRegressor(n_estimators=10, max_depth=3, random_state=0).fit(
        X[["colour"]], np.where(X.colour == "red", 5.0, 1.0)
    )
    found = forest.explain(["green"], decimals=1)
    assert (found.prediction, found.probabilities, found.n_agreeing) == (1.0, None, None)
    assert found.base_value + found.contributions[0].contribution == pytest.approx(1.0)
    assert str(found).splitlines()[0] == "prediction: 1, the mean of 10 trees"
    assert str(found).splitlines()[2].startswith("  -")


def test_what_cannot_be_explained_is_refused(fruit):
    X, label, forest = fruit
    with pytest.raises(ValueError, match="x lacks width, idle"):
        forest.explain({"colour": "red"})
    strict = RandomForestClassifier(n_estimators=2, missing="error", random_state=0).fit(X[["colour", "idle"]], label)
    with pytest.raises(ValueError, match="'idle' is missing, and this RandomForestClassifier refuses missing values: give"):
        strict.explain(["red", None])
    several = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, np.column_stack([label, X.colour]))
    with pytest.raises(ValueError, match="explain is for forests of one target: "):
        several.explain(X.iloc[0])


def test_losses_decide_on_the_prediction_and_the_votes(fruit):
    X, label, _ = fruit
    loss = {"ripe": {"unripe": 20}, "unripe": {"ripe": 1}}
    costly = RandomForestClassifier(n_estimators=25, max_depth=2, loss_matrix=loss, random_state=0).fit(X, label)
    shares, predicted, agreement = costly.predict_proba(X), costly.predict(X), costly.agreement(X)
    differ = np.flatnonzero(predicted != costly.classes_[shares.argmax(axis=1)])
    assert differ.size
    for i in (*differ[:3], 0, 1):
        found = costly.explain(X.iloc[i])
        assert found.prediction == predicted[i]
        assert found.n_agreeing == round(agreement[i] * 25)
        share = found.probabilities[predicted[i]]
        assert found.base_value + sum(each.contribution for each in found.contributions) == pytest.approx(share)
        assert str(found).splitlines()[0].endswith(" of 25 trees, by least expected loss")
