"""C5.0's rules: those of the twin, their bits, the search for a set, and what has no effect on them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from c50.problem import Options
from c50.recorded import as_table
from c50.rules import learn

from fasttree import C50Classifier
from fasttree._learn.rules.voting import MessageLength, group_bits, threshold_bits, value_bits
from fasttree._model.ruleset import vote_shares, voted_classes, votes_of


@pytest.mark.parametrize("seed", range(12))
def test_the_rules_of_a_small_mixed_table_are_the_twins(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, minimum, prunes = int(draw.integers(8, 60)), 1 + seed % 2, seed % 3 > 0
    X = pd.DataFrame(draw.normal(size=(n, 2)).round(1), columns=list("ab"))
    X["d"] = pd.Categorical(draw.choice(list("uvw"), n))
    y = np.where((X["a"] > 0) ^ (X["d"] == "u"), "p", "q")
    y = pd.Series(pd.Categorical(np.where(draw.random(n) < 0.2, "r", y)), name="y")
    X = X.mask(draw.random(X.shape) < (0.1 if seed % 4 < 2 else 0.0))
    twin_table = as_table(X.assign(y=y))
    found = learn(twin_table, Options(minimum=minimum, global_pruning=prunes))
    model = C50Classifier(rules=True, min_samples_branch=minimum, global_pruning=prunes).fit(X, y)
    classes = list(y.cat.categories)
    ours = [(classes.index(rule.label), rule.cover, rule.errors, len(rule.conditions)) for rule in model.rules_]
    assert ours == [(rule.label, len(rule.covers), rule.n_wrong, len(rule.conditions)) for rule in found.rules]
    assert model.default_class_ == classes[found.default]
    assert model.predict(X).tolist() == [classes[k] for k in found.predict(twin_table).tolist()]


def table(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(n, 3)).round(1), columns=list("abc"))
    X["d"] = pd.Categorical(draw.choice(list("uvwxyz"), n))
    y = np.where((X["a"] > 0) & X["d"].isin(["u", "w"]), "yes", np.where(X["b"] > 1, "other", "no"))
    return X.mask(draw.random(X.shape) < 0.05), np.where(draw.random(n) < 0.05, "no", y)


def test_planted_rules_are_found() -> None:
    draw = np.random.default_rng(1)
    X = pd.DataFrame({"a": draw.random(600), "b": draw.random(600), "c": pd.Categorical(draw.choice(list("xyz"), 600))})
    y = np.where((X["c"] == "x") & (X["a"] > 0.5), 1, 0)
    model = C50Classifier(rules=True).fit(X, y)
    (rule,) = [rule for rule in model.rules_ if rule.label == 1]
    assert {condition.feature for condition in rule.conditions} == {"a", "c"}
    assert rule.cover == y.sum()
    assert not rule.errors
    assert model.default_class_ == 0
    assert (model.predict(X) == y).all()


def test_neither_the_order_of_the_rows_nor_threads_change_the_rules() -> None:
    X, y = table()
    model = C50Classifier(rules=True).fit(X, y)
    order = np.random.default_rng(2).permutation(len(X))
    assert len(model.rules_) > 3
    assert C50Classifier(rules=True, n_jobs=2).fit(X.iloc[order], y[order]).rules_ == model.rules_


def test_weights_count_samples() -> None:
    X, y = table()
    times = np.random.default_rng(3).integers(0, 3, len(X))
    model = C50Classifier(rules=True).fit(X, y, sample_weight=times)
    repeated = C50Classifier(rules=True).fit(X.loc[X.index.repeat(times)], np.repeat(y, times))
    assert model.rules_ == repeated.rules_
    assert model.class_count_.tolist() == repeated.class_count_.tolist()


def test_the_order_by_utility_has_the_same_rules_and_ends_with_the_least_useful() -> None:
    X, y = table()
    y = np.where(y == "no", "zero", y)  # the most useful rule is of the last class
    model, ordered = C50Classifier(rules=True).fit(X, y), C50Classifier(rules=True, rule_order="utility").fit(X, y)
    assert set(ordered.rules_) == set(model.rules_)
    assert ordered.rules_ != model.rules_
    assert (ordered.predict_proba(X) == model.predict_proba(X)).all()

    fires = model.to_rules().matches(X).T.toarray() > 0
    truth = np.searchsorted(model.classes_, y)

    def errors_without(rule) -> int:
        votes = np.zeros((len(X), 3), dtype=np.int64)
        for other, samples in zip(model.rules_, fires, strict=True):
            if other != rule:
                votes[samples, list(model.classes_).index(other.label)] += math.floor(1000 * other.confidence + 0.5)
        return int(((votes.argmax(axis=1) != truth) | (votes.max(axis=1) == 0)).sum())

    assert errors_without(ordered.rules_[-1]) == min(map(errors_without, model.rules_))


def test_bits_of_conditions() -> None:
    assert threshold_bits(np.array([1.0, 2.0, 2.0, 5.0, 7.0, 9.0, np.nan])) == 2  # four cuts
    assert threshold_bits(np.array([1.0, 2.0])) == 0
    assert value_bits(np.array([2, 0, 2, 4]), 8) == pytest.approx(1.5)
    assert group_bits(4, 2) == pytest.approx(math.log2(6))
    assert group_bits(3, 5) == pytest.approx(math.log2(3))
    assert group_bits(1, 2) == 0


def test_the_message_of_a_set() -> None:
    message = MessageLength(np.array([10.0, 20.0]), 100, 3, 0.2)
    found = message.length(np.array([30.0, 0.5]), np.array([2, 2]), np.array([4, 4]))
    of_errors = 4 * (-math.log2(0.2) + 1) - 96 * math.log2(0.8)
    assert found == pytest.approx([0.23 * 29 + of_errors, of_errors], abs=0.005)  # bits of rules are not negative


def test_votes_and_ties() -> None:
    assert votes_of(np.array([50, 6, 1]), np.array([0, 0, 1])).tolist() == [981, 875, 333]
    votes = np.array([[3, 3, 1], [0, 2, 2], [0, 0, 0]], dtype=np.int32)
    assert voted_classes(votes, 1).tolist() == [1, 1, 1]
    assert voted_classes(votes, 2).tolist() == [0, 2, 2]
    assert vote_shares(votes, 2, np.array([3, 1, 6])).tolist() == [[3 / 7, 3 / 7, 1 / 7], [0, 0.5, 0.5], [0.375, 0.125, 0.5]]


@pytest.mark.parametrize("options", [{"subset": True}, {"winnow": True}, {"pruning": None}, {"max_depth": 3}])
def test_rules_go_with_other_options(options) -> None:
    X, y = table()
    model = C50Classifier(rules=True, **options).fit(X, y)
    assert model.rules_
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("X", [[[1.0], [2.0], [3.0], [4.0]], [["u"], ["u"], ["u"], ["v"]]])
@pytest.mark.parametrize("y", [[0, 0, 0, 0], [0, 1, 0, 1]])
def test_a_leaf_has_no_rules(X, y) -> None:
    model = C50Classifier(rules=True, min_samples_branch=4).fit(X, y)
    assert model.rules_ == ()
    assert model.predict(X).tolist() == [0, 0, 0, 0]
    assert model.predict_proba(X).sum(axis=1).tolist() == [1, 1, 1, 1]
    assert model.apply(X).tolist() == [-1] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trials": 3}, "trials=3 and rules=True exclude each other"),
        ({"soft_thresholds": True}, "soft_thresholds=True and rules=True exclude each other"),
        ({"rule_order": "votes"}, "rule_order='votes': must be 'class' or 'utility'"),
    ],
)
def test_what_rules_exclude(options, message) -> None:
    X, y = table(40)
    with pytest.raises(ValueError, match=message):
        C50Classifier(rules=True, **options).fit(X, y)


def test_weights_must_be_whole() -> None:
    X, y = table(40)
    with pytest.raises(ValueError, match=r"sample_weight\[0\] is 0.5: rules count whole samples"):
        C50Classifier(rules=True).fit(X, y, sample_weight=np.full(40, 0.5))
