"""C5.0's rules as a model: predictions, SQL, explanations, files, and the command line."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from commands import IRIS
from exports import table
from sklearn.base import clone
from test_export_sql import DIALECTS, ENGINES, TABLE, expression_of, in_duckdb_without_nan, in_sqlite
from test_rule_views import KINDS, rows_for

import fasttree
from fasttree import BoostedRules, C50Classifier, VotingRules
from fasttree._cli.commands import fasttree as command_line
from fasttree.estimators.common.saved import saved_rules

GOLF_RULE = "outlook = overcast"


@pytest.fixture(scope="module")
def golf():
    X, y = fasttree.formats.read_c45("examples/golf")
    return X, y, C50Classifier(rules=True).fit(X, y)


@pytest.fixture(scope="module")
def mixed():
    X, y, _ = table()
    return C50Classifier(**KINDS, rules=True, subset=True, confidence=0.9, global_pruning=False).fit(X, y)


def votes_by_hand(model, X):
    """Votes of the rules that fire, one after the other."""
    votes = np.zeros((len(X), model.n_classes_))
    for rule, fires in zip(model.rules_, model.to_rules().matches(X).T.toarray(), strict=True):
        votes[fires > 0, list(model.classes_).index(rule.label)] += np.floor(1000 * rule.confidence + 0.5)
    return votes


def test_all_rules_that_fire_vote(mixed):
    X = rows_for(mixed)
    votes = votes_by_hand(mixed, X)
    default = list(mixed.classes_).index(mixed.default_class_)
    some = votes.any(axis=1)
    assert 0 < np.count_nonzero(some) < len(X)
    assert (votes > 0).sum(axis=1).max() > 1
    best = np.where(votes[:, default] == votes.max(axis=1), default, votes.argmax(axis=1))
    assert mixed.predict(X).tolist() == mixed.classes_[best].tolist()
    shares = mixed.predict_proba(X)
    assert shares[some] == pytest.approx(votes[some] / votes[some].sum(axis=1, keepdims=True))
    assert (shares[~some, default] == 0.5).all()
    assert shares.sum(axis=1) == pytest.approx(1)
    assert mixed.predict_log_proba(X).shape == shares.shape


def test_the_rule_of_the_confidence_covers_the_fewest_samples(mixed):
    X = rows_for(mixed, 300)
    fires, predicted = mixed.to_rules().matches(X).toarray() > 0, mixed.predict(X)
    for applied, of_row, label in zip(mixed.apply(X).tolist(), fires, predicted, strict=True):
        own = [i for i in np.flatnonzero(of_row).tolist() if mixed.rules_[i].label == label]
        assert (applied == -1) == (not own)
        if own:
            assert applied in own
            assert mixed.rules_[applied].cover == min(mixed.rules_[i].cover for i in own)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_sql_gives_the_class_and_the_probabilities(engine, mixed):
    X = rows_for(mixed, 500)
    found = engine.run(mixed, X, mixed.export_sql(table=TABLE, **engine.options))
    assert found["prediction"].tolist() == mixed.predict(X).tolist()
    shares = mixed.predict_proba(X)
    assert (found[[name for name in found if name.startswith("probability_")]].to_numpy(float) == shares).all()
    text = expression_of(engine, mixed.export_sql(name="y", **engine.options))
    assert engine.run(mixed, X, text)["y"].tolist() == mixed.predict(X).tolist()
    share = mixed.export_sql(name="p", probability_of="no", **engine.options)
    place = list(mixed.classes_).index("no")
    assert engine.run(mixed, X, expression_of(engine, share))["p"].tolist() == shares[:, place].tolist()


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb_without_nan])
def test_an_unseen_category_gives_null_if_the_model_raises(run):
    X = pd.DataFrame({"city": ["a", "b", "c", "d"] * 10, "x": np.arange(40.0)})
    model = C50Classifier(rules=True, unseen="error").fit(X, ["a", "b", "a", "b"] * 10)
    X.loc[:1, "city"] = "new"
    found = run(model, X, model.export_sql(table=TABLE))["prediction"]
    assert found[:2].tolist() == [None, None]
    assert found[2:].tolist() == model.predict(X[2:]).tolist()


def test_one_class_without_rules_is_written():
    model = C50Classifier(rules=True).fit([[1.0], [2.0]], ["a", "a"])
    found = in_sqlite(model, pd.DataFrame({"x0": [1.0, np.nan]}), model.export_sql(table=TABLE))
    assert found["prediction"].tolist() == ["a", "a"]
    assert found["probability_a"].tolist() == [1, 1]
    assert "no rule fires" in str(model.explain([1.0]))


def test_explanations_list_the_rules_that_vote(mixed):
    X = rows_for(mixed, 100)
    fires, applied, shares = mixed.to_rules().matches(X).toarray() > 0, mixed.apply(X), mixed.predict_proba(X)
    for i in range(len(X)):
        explanation = mixed.explain(X.iloc[i])
        assert explanation.prediction == mixed.predict(X[i : i + 1])[0]
        assert list(explanation.probabilities.values()) == shares[i].tolist()
        assert (-1 if explanation.rule is None else explanation.rule) == applied[i]
        named = {*explanation.others, *([] if explanation.rule is None else [explanation.rule])}
        assert named == set(np.flatnonzero(fires[i]).tolist())


def test_views_are_those_of_rules(golf):
    X, _, model = golf
    rules = model.to_rules()
    assert isinstance(rules, VotingRules)
    assert rules.to_text() == model.export_text()
    assert (list(rules), rules.default) == (list(model.rules_), model.default_class_)
    assert "<VotingRules: " in repr(rules)
    assert "Every rule whose conditions all hold votes" in model.export_html()
    assert f"{len(model.rules_)} rules that vote" in model.summary()
    assert "VotingRules" in model._repr_mimebundle_()["text/plain"]
    assert "<table" in model._repr_html_()
    assert rules.to_frame()["cover"].tolist()[:-1] == [rule.cover for rule in model.rules_]
    text = str(model.explain(X[2]))
    assert f"rule {model.apply(X)[2]}: if {GOLF_RULE} then Play" in text
    assert "1 rule of 4 votes; confidence 83 %" in text


@pytest.mark.parametrize("name", ["export_svg", "to_predictor", "get_n_leaves", "prune"])
def test_methods_of_trees_say_that_there_is_none(golf, name):
    *_, model = golf
    arguments = ("reduced_error",) if name == "prune" else ()
    with pytest.raises(AttributeError, match=r"has rules and no tree_\w*, which this method needs: use rules_ or to_rules"):
        getattr(model, name)(*arguments)
    assert not hasattr(model, "tree_")


def test_a_saved_model_predicts_the_same(mixed, tmp_path):
    X = rows_for(mixed, 300)
    mixed.save(tmp_path / "rules.json")
    saved = fasttree.load(tmp_path / "rules.json"), C50Classifier.load(tmp_path / "rules.json")
    for read in (*saved, pickle.loads(pickle.dumps(mixed))):
        assert isinstance(read, C50Classifier)
        assert read.rules_ == mixed.rules_
        assert read.get_params() == mixed.get_params()
        assert (read.predict_proba(X) == mixed.predict_proba(X)).all()
        assert read.apply(X).tolist() == mixed.apply(X).tolist()
        assert read.to_json() == mixed.to_json()
    shown = saved_rules(json.loads(mixed.to_json()))
    assert shown.export_text() == mixed.export_text()
    assert shown.export_sql() == mixed.export_sql()
    assert clone(mixed).fit(*table()[:2]).rules_ == mixed.rules_
    with pytest.raises(ValueError, match="holds a C50Classifier, not a C45Rules"):
        fasttree.C45Rules.load(tmp_path / "rules.json")


def test_a_damaged_file_is_rejected(golf):
    document = json.loads(golf[2].to_json())
    document["rules"][0]["errors"] = document["rules"][0]["cover"] + 1
    with pytest.raises(ValueError, match=r"rules\[0\].errors: must not exceed cover"):
        fasttree.from_json(json.dumps(document))


def test_another_fit_replaces_rules_by_a_tree(golf):
    X, y, _ = golf
    model = C50Classifier(rules=True).fit(X, y)
    model.set_params(rules=False).fit(X, y)
    assert not hasattr(model, "rules_")
    assert model.get_n_leaves() > 1
    assert "outlook" in model.export_text()
    model.set_params(rules=True).fit(X, y)
    assert not hasattr(model, "tree_")


def test_labels_are_shown(golf):
    X, y, _ = golf
    model = C50Classifier(rules=True).fit(X, y)
    model.set_labels({"outlook": "sky"})
    assert "if sky = overcast" in model.export_text()
    assert "sky" in str(model.explain(X[2]))
    assert fasttree.from_json(model.to_json()).labels_ == model.labels_


def run(*arguments):
    done = CliRunner().invoke(command_line, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_line_learns_measures_shows_and_explains_rules(tmp_path):
    path = tmp_path / "model.json"
    output = run("train", IRIS, "--target", "class", "--algorithm", "c50", "--rules", "--output", path)
    assert "C50Classifier: 4 rules, 6 conditions, learned from 150 rows" in output
    assert json.loads(run("evaluate", path, IRIS, "--json"))["accuracy"] == pytest.approx(146 / 150)
    assert json.loads(run("show", path, "--json"))["algorithm"] == "c50"
    assert "then Iris-setosa" in run("show", path)
    assert run("show", path, "--format", "sql").startswith("(WITH")
    assert "1 rule of 4 votes" in run("explain", path, IRIS, "--row", 0)
    assert len(run("predict", path, IRIS).splitlines()) == 151


@pytest.fixture(scope="module")
def boosted():
    X, y, _ = table()
    return C50Classifier(**KINDS, rules=True, trials=4, subset=True, confidence=0.9, global_pruning=False).fit(X, y)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_sql_of_several_trials_gives_the_class_and_the_probabilities(engine, boosted):
    X = rows_for(boosted, 200)
    found = engine.run(boosted, X, boosted.export_sql(table=TABLE, **engine.options))
    assert found["prediction"].tolist() == boosted.predict(X).tolist()
    shares = boosted.predict_proba(X)
    assert (found[[name for name in found if name.startswith("probability_")]].to_numpy(float) == shares).all()
    if not DIALECTS[engine.options.get("dialect", "standard")].has_steps:
        with pytest.raises(ValueError, match="expressions have no steps"):
            boosted.export_sql(**engine.options)
        return
    text = expression_of(engine, boosted.export_sql(name="y", **engine.options))
    assert engine.run(boosted, X, text)["y"].tolist() == boosted.predict(X).tolist()


def test_several_trials_are_saved_shown_and_explained(boosted, tmp_path):
    X = rows_for(boosted, 50)
    boosted.save(tmp_path / "rules.json")
    for read in (fasttree.load(tmp_path / "rules.json"), pickle.loads(pickle.dumps(boosted))):
        assert read.rules_ == boosted.rules_
        assert (read.predict_proba(X) == boosted.predict_proba(X)).all()
        assert read.to_json() == boosted.to_json()
    shown = saved_rules(json.loads(boosted.to_json()))
    assert shown.export_text() == boosted.export_text()
    assert shown.export_sql() == boosted.export_sql()
    assert shown.export_c(name="vote") == boosted.export_c(name="vote")
    assert shown.export_python() == boosted.export_python()
    rules = boosted.to_rules()
    assert isinstance(rules, BoostedRules)
    assert [len(trial) for trial in rules.trials] == [len(trial.rules_) for trial in boosted.estimators_]
    assert rules.to_text().count("\ntrial ") == boosted.n_trials_ - 1
    assert rules.to_frame()["trial"].nunique() == boosted.n_trials_
    assert len(rules.to_markdown().splitlines()) == 2 + len(boosted.rules_) + boosted.n_trials_
    assert f"{boosted.n_trials_} trials that vote" in boosted.summary()
    for i in range(len(X)):
        explanation = boosted.explain(X.iloc[i])
        assert explanation.prediction == boosted.predict(X[i : i + 1])[0]
        assert list(explanation.probabilities.values()) == boosted.predict_proba(X[i : i + 1])[0].tolist()
        alone = [trial.predict(X[i : i + 1])[0] for trial in boosted.estimators_]
        assert [vote.prediction for vote in explanation.votes] == alone


def test_a_damaged_file_of_trials_is_rejected(boosted):
    document = json.loads(boosted.to_json())
    document["later_trials"][0]["rules"][0]["cover"] = -1
    with pytest.raises(ValueError, match=r"later_trials\[0\].rules\[0\].cover: must be"):
        fasttree.from_json(json.dumps(document))
    document["later_trials"] = []
    with pytest.raises(ValueError, match="later_trials: must not be empty"):
        fasttree.from_json(json.dumps(document))


def test_the_command_line_boosts_rules(tmp_path):
    path = tmp_path / "model.json"
    output = run("train", IRIS, "--target", "class", "--algorithm", "c50", "--rules", "--trials", 3, "--output", path)
    assert "trial 2, 3 rules:" in output
    assert "accuracy" in json.loads(run("evaluate", path, IRIS, "--json"))
    assert "trial 1: Iris-setosa, confidence" in run("explain", path, IRIS, "--row", 0)
    assert "trial 0, 4 rules:" in run("show", path)
    assert len(run("predict", path, IRIS).splitlines()) == 151
