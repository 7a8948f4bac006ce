"""Boosted trees as a model."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from fasttree import C50Classifier, from_json
from fasttree._model.ensemble import voted

METHODS_OF_TREES = ("export_text", "export_svg", "export_pmml", "plot",
                    "to_predictor", "to_rules", "get_n_leaves", "get_depth", "to_sklearn", "export_html")  # fmt: skip


def table(n: int = 300):
    draw = np.random.default_rng(7)
    X = pd.DataFrame(draw.normal(size=(n, 3)).round(1), columns=list("abc"))
    X["d"] = pd.Categorical(draw.choice(list("uvwxyz"), n))
    y = np.where((X["a"] + X["b"] > 0) ^ X["d"].isin(["u", "w"]), "yes", "no")
    y = np.where(draw.random(n) < 0.1, "other", y)
    return X.mask(draw.random(X.shape) < 0.05), y


@pytest.fixture(scope="module")
def boosted():
    X, y = table()
    model = C50Classifier(trials=6).fit(X, y)
    assert model.n_trials_ == 6
    return model, X, y


def test_each_trial_votes_with_its_confidence(boosted):
    model, X, y = boosted
    votes = np.zeros((len(X), 3))
    for tree in model.estimators_:
        shares = tree.predict_proba(X)
        votes[np.arange(len(X)), shares.argmax(axis=1)] += shares.max(axis=1)
    assert model.predict_proba(X) == pytest.approx(votes / votes.sum(axis=1, keepdims=True))
    assert (model.predict(X) == model.classes_[votes.argmax(axis=1)]).all()
    *_, last = model.staged_predict(X)
    assert (last == model.predict(X)).all()
    errors = model.trial_errors(X, y)
    assert errors.shape == (6, 2)
    assert errors[0, 0] == errors[0, 1]
    assert errors[-1, 1] == pytest.approx(1 - model.score(X, y))
    assert errors[-1, 1] < errors[0, 1]
    assert model.apply(X)[:, 2].tolist() == model.estimators_[2].apply(X).tolist()
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_ties_go_to_the_class_of_the_first_root(boosted):
    ensemble = boosted[0].ensemble_
    default = int(ensemble.tree(0).predicted_class[0])
    assert voted(ensemble, np.ones((1, 3))).tolist() == [default]
    others = np.where(np.arange(3) == default, 0.5, 1.0)[None]
    assert voted(ensemble, others).tolist() == [others[0].argmax()]


def test_explains_how_the_trials_vote(boosted):
    model, X, _ = boosted
    found = model.explain(X.iloc[0])
    assert len(found.votes) == 6
    assert found.prediction == model.predict(X.iloc[:1])[0]
    assert found.probabilities == pytest.approx(dict(zip(model.classes_, model.predict_proba(X.iloc[:1])[0], strict=True)))
    assert json.loads(json.dumps(found.to_dict()))["votes"][5]["trial"] == 5
    model.set_labels({"y": {"yes": "ripe"}})
    try:
        assert "ripe" in str(model.explain(X.iloc[0]))
        assert "ripe" in model.estimators_[0].export_text()
        assert from_json(model.to_json()).labels_ == model.labels_
    finally:
        model.set_labels(None)


def test_a_saved_model_predicts_the_same(boosted):
    model, X, _ = boosted
    for read in (from_json(model.to_json()), pickle.loads(pickle.dumps(model))):
        assert isinstance(read, C50Classifier)
        assert read.get_params() == model.get_params()
        assert (read.predict_proba(X) == model.predict_proba(X)).all()
        assert read.ensemble_ == model.ensemble_
        assert read.n_trials_ == 6


@pytest.mark.parametrize(("name", "value"), [("combine", "mean"), ("weights", [1.0, 1, 1, 1, 1, 2]), ("trees", [])])
def test_refuses_documents_of_other_ensembles(boosted, name, value):
    document = json.loads(boosted[0].to_json()) | {name: value}
    with pytest.raises(ValueError, match=name if name == "trees" else "combine"):
        from_json(json.dumps(document))


@pytest.mark.parametrize("method", METHODS_OF_TREES)
def test_methods_of_a_single_tree_name_the_trials(boosted, method):
    with pytest.raises(AttributeError, match=r"has 6 trees and no tree_, .*estimators_\[i\]"):
        getattr(boosted[0], method)()


def test_boosting_is_given_up_with_fewer_than_three_trials():
    X, y = np.arange(20.0)[:, None], np.repeat(["no", "yes"], 10)
    model = C50Classifier(trials=10).fit(X, y)
    assert model.n_trials_ == 1
    assert model.tree_ == C50Classifier().fit(X, y).tree_
    assert len(model.estimators_) == 1
    assert model.trial_errors(X, y).shape == (1, 2)


def test_a_second_fit_leaves_nothing_of_the_first(boosted):
    X, y = boosted[1:]
    model = C50Classifier(trials=3).fit(X, y)
    assert not hasattr(model, "tree_")
    model.set_params(trials=1).fit(X, y)
    assert not hasattr(model, "ensemble_")
    assert model.tree_ == C50Classifier().fit(X, y).tree_
    assert model.summary() == C50Classifier().fit(X, y).summary()


@pytest.mark.parametrize("costs", [None, {"yes": {"no": 4.0}}], ids=["errors", "costs"])
@pytest.mark.parametrize("winnow", [False, True])
def test_a_model_of_the_first_trial_alone_has_its_tree_as_grown(boosted, winnow, costs):
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40) % 3})
    y = np.where(X["a"] < 20, "no", "yes")  # no errors: the first trial is the last
    model = C50Classifier(trials=5, winnow=winnow, loss_matrix=costs)
    single = C50Classifier(winnow=winnow, loss_matrix=costs).fit(X, y)
    assert model.fit(X, y).n_trials_ == 1
    assert model.tree_unpruned_ == single.tree_unpruned_
    again = C50Classifier(loss_matrix=costs).fit(*boosted[1:])  # of other samples
    again.set_params(trials=5, winnow=winnow).fit(X, y)
    assert again.tree_unpruned_ == single.tree_unpruned_
    assert again.summary() == model.summary()
    assert again.prune("minimum_error" if costs is None else "c_alpha", from_grown=True).tree_ == single.tree_


@pytest.mark.parametrize("parameters", [{"trials": 5}, {"rules": True}, {"winnow": True}])
def test_the_pruning_path_is_for_a_single_tree(boosted, parameters):
    (name, value) = next(iter(parameters.items()))
    with pytest.raises(ValueError, match=f"{name}={value}: cost_complexity_pruning_path is for a single tree"):
        C50Classifier(**parameters).cost_complexity_pruning_path(*boosted[1:])


def test_weights_count_samples_and_the_order_of_rows_changes_nothing(boosted):
    model, X, y = boosted
    twice = C50Classifier(trials=6).fit(X.loc[X.index.repeat(2)], np.repeat(y, 2))
    weighted = C50Classifier(trials=6).fit(X, y, sample_weight=np.full(len(y), 2))
    assert weighted.predict_proba(X) == pytest.approx(twice.predict_proba(X))
    order = np.random.default_rng(0).permutation(len(y))
    assert C50Classifier(trials=6).fit(X.iloc[order], y[order]).ensemble_ == model.ensemble_


def test_pruning_of_trials_is_by_c50_or_none(boosted):
    X, y = boosted[1:]
    with pytest.raises(ValueError, match=r"trials=3 and ErrorBased.* use pruning='c50' or None"):
        C50Classifier(trials=3, pruning="error_based").fit(X, y)
    grown, pruned = (C50Classifier(trials=3, pruning=how).fit(X, y) for how in (None, "c50"))
    assert grown.ensemble_.node_count > pruned.ensemble_.node_count
