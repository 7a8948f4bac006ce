"""C5.0's rules: those of the twin, their bits, the search for a set, and what has no effect on them."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from c50.boosting import boost
from c50.problem import Options
from c50.recorded import as_table
from c50.rules import learn, search

from fasttree import C50Classifier
from fasttree._engine import rulesets
from fasttree._learn.rules.voting import WeighedSamples, group_bits, log_factorials, threshold_bits, value_bits
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
    assert ours == [(rule.label, rule.cover, rule.cover - rule.right, len(rule.conditions)) for rule in found.rules]
    assert model.default_class_ == classes[found.default]
    assert model.predict(X).tolist() == [classes[k] for k in found.predict(twin_table).tolist()]


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_rules_of_every_trial_are_the_twins(seed: int) -> None:
    draw = np.random.default_rng(seed)
    X = pd.DataFrame(draw.normal(size=(150, 2)).round(1), columns=list("ab"))
    X["d"] = pd.Categorical(draw.choice(list("uvw"), len(X)))
    y = np.where((X["a"] > 0) ^ (X["d"] == "u"), "p", "q")
    y = pd.Series(pd.Categorical(np.where(draw.random(len(X)) < 0.25, "q", y)), name="y")
    twin_table = as_table(X.assign(y=y))
    expected = boost(twin_table, Options(), 8, rules=True)
    model = C50Classifier(rules=True, trials=8).fit(X, y)
    assert model.n_trials_ > 5  # samples are dropped after half of the trials
    assert [len(found.rules_) for found in model.estimators_] == expected.sizes
    assert model.predict(X).tolist() == [list("pq")[k] for k in expected.predict(twin_table).tolist()]
    for found, (predicted, _) in zip(model.estimators_, expected.trials(twin_table), strict=True):
        assert found.predict(X).tolist() == [list("pq")[k] for k in predicted.tolist()]


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


def slowly_simplified(fails, order, right, weight, all_weight, unit, bits):
    """Return the conditions, cover and errors of a rule of C5.0 if it is of use; `fails` has a row per condition of the tree."""
    kept = list(order)
    own = weight[right].sum()

    def figures(conditions) -> tuple[int, int, float]:
        fires = ~fails[conditions].any(axis=0)
        n, errors = int(weight[fires].sum()), int(weight[fires & ~right].sum())
        return n, errors, (errors * unit + 1) / (n * unit + 2)

    def side_bits(a: float, b: float) -> float:
        return sum(part * math.log2((a + b) / part) for part in (a, b) if part > 0)

    def saved(n: int, errors: int) -> float:
        in_all = side_bits(unit * own, unit * (all_weight - own))
        fires = side_bits(unit * (n - errors), unit * errors)
        return in_all - fires - side_bits(unit * (own - n + errors), unit * (all_weight - own - errors))

    def cost() -> float:
        return 0.23 * (bits[kept].sum() - math.log2(math.factorial(len(kept))))

    while len(kept) > 1:
        n, errors, estimate = figures(kept)
        without = [figures([other for other in kept if other != one])[2] for one in kept]
        if min(without) > estimate and cost() <= saved(n, errors):
            break
        kept.pop(max(i for i, other in enumerate(without) if other == min(without)))
    n, errors, _ = figures(kept)
    is_likely = (unit * (n - errors) + 1) * all_weight >= 0.95 * own * (unit * n + 2)
    return [(kept, n, errors)] if unit * n > 0.99 and is_likely and cost() <= saved(n, errors) else []


@pytest.mark.parametrize("seed", range(30))
def test_conditions_are_dropped_as_from_a_table_of_failures(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, depth, n_classes = int(draw.integers(200, 900)), (6, 20, 75)[seed % 3], int(draw.integers(2, 9))
    samples = WeighedSamples(draw.integers(0, n_classes, n), n_classes, draw.integers(1, 9, n) / 4 if seed % 2 else None)
    is_one = samples.truth >= 0
    codes = draw.integers(1, 200, (4, len(is_one))) // 2 + 99 * (samples.truth % 2)
    codes = np.where(is_one & (draw.random(codes.shape) > 0.02), codes, 0).astype(np.uint8)
    slot, limit = draw.integers(0, 4, depth + 1).astype(np.int32), draw.integers(5, 196, depth + 1)
    above = draw.random(depth + 1) < 0.5
    limit = np.where(above, limit // 5, 200 - limit // 5)  # most samples satisfy most of the conditions
    low, high = np.where(above, limit, 1).astype(np.uint32), np.where(above, 200, limit).astype(np.uint32)
    edges = {"parent": np.arange(-1, depth, dtype=np.int32), "slot": slot, "low": low, "high": high, "feature": slot}
    edges |= {"group_start": np.zeros(depth + 2, np.int64), "group_code": np.zeros(1, np.uint32)}
    edges |= {"kind": np.full(depth + 1, 2, np.uint8), "threshold": draw.random(depth + 1)}
    bits = draw.random(depth + 1) * 12
    leaves = np.arange(depth, 0, -max(depth // 5, 1), dtype=np.int32)
    fails = ~is_one | (codes[slot] < low[:, None]) | (codes[slot] > high[:, None])
    reach = [~fails[1 : leaf + 1].any(axis=0) for leaf in leaves.tolist()]
    labels = np.array([np.bincount(samples.truth[some], minlength=n_classes).argmax() for some in reach], dtype=np.int32)
    found = samples.simplified(edges, codes, leaves, labels, bits)
    expected = []
    for leaf, label in zip(leaves.tolist(), labels.tolist(), strict=True):
        figures = samples.weight, samples.total_units, samples.unit, bits
        rules = slowly_simplified(fails, range(1, leaf + 1), samples.truth == label, *figures)
        expected += [(label, *rule, np.flatnonzero(~fails[rule[0]].any(axis=0)).tolist()) for rule in rules]
    nodes, cover = (np.split(found[of], found[start][1:-1]) for of, start in (("node", "start"), ("cover", "cover_start")))
    parts = zip(found["label"].tolist(), nodes, found["total"].tolist(), found["errors"].tolist(), cover, strict=False)
    assert [(label, sorted(own.tolist()), n, wrong, at.tolist()) for label, own, n, wrong, at in parts] == expected
    assert expected


@pytest.mark.parametrize("seed", range(40))
def test_the_compiled_search_finds_the_set_of_the_slow_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    n, n_rules, n_classes = int(draw.integers(5, 60)), int(draw.integers(1, 14)), int(draw.integers(2, 5))
    truth = draw.integers(0, n_classes, n).astype(np.int32)
    weight = draw.integers(1, 6, n) if seed % 2 else np.ones(n, np.int64)
    label = draw.integers(0, n_classes, n_rules).astype(np.int32)
    mask = draw.random((n_rules, n)) < np.where(truth == label[:, None], 0.5, 0.05)
    vote, bits = draw.integers(1, 1001, n_rules).astype(np.int32), draw.random(n_rules) * 30
    minimum, expected = float(draw.integers(1, 4)), 0.05 + 0.3 * draw.random()
    figures = list(zip(label.tolist(), vote.tolist(), bits.tolist(), strict=True))
    slow = search(mask, figures, truth, weight, n_classes, minimum, expected)

    start = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    order = np.lexsort((-vote, label)).astype(np.int32)
    of_error, of_hit = -math.log2(expected) + math.log2(n_classes - 1), -math.log2(1 - expected)
    message = bits, log_factorials(n_rules + 1), 0.23, of_error, of_hit, n
    found = rulesets.select_voting(
        (start[:-1].copy(), start[1:].copy(), np.nonzero(mask)[1].astype(np.uint32)),
        np.column_stack([label, vote]),
        order,
        truth,
        weight,
        message,
        (n_classes, int(minimum), int(minimum)),
        False,
    )
    assert found.tolist() == [rule for rule in order.tolist() if rule in slow]


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
        ({"soft_thresholds": True}, "soft_thresholds=True and rules=True exclude each other"),
        ({"rule_order": "votes"}, "rule_order='votes': must be 'class' or 'utility'"),
    ],
)
def test_what_rules_exclude(options, message) -> None:
    X, y = table(40)
    with pytest.raises(ValueError, match=message):
        C50Classifier(rules=True, **options).fit(X, y)


def test_weights_may_have_fractions() -> None:
    X, y = table()
    weight = np.random.default_rng(4).integers(1, 8, len(X)) / 4
    model, rules = C50Classifier(rules=True, min_samples_branch=1), C50Classifier(rules=True, min_samples_branch=1)
    fires = model.fit(X, y, sample_weight=weight).to_rules().matches(X).T.toarray() > 0
    for rule, samples in zip(model.rules_, fires, strict=True):
        assert rule.cover == weight[samples].sum()
        assert rule.errors == weight[samples & (y != rule.label)].sum()
        assert rule.estimate == pytest.approx((rule.errors + 1) / (rule.cover + 2))
    assert model.class_count_.tolist() == [weight[y == label].sum() for label in model.classes_]
    assert any(isinstance(rule.cover, float) for rule in model.rules_)
    rules.fit(X, y, sample_weight=np.full(len(X), 0.5))
    assert rules.class_count_.sum() == len(X) / 2


@pytest.fixture(scope="module")
def boosted() -> C50Classifier:
    return C50Classifier(rules=True, trials=5).fit(*table())


def test_trials_learn_rules_on_the_weights_that_the_trial_before_moved(boosted: C50Classifier) -> None:
    X, y = table()
    first, second = boosted.estimators_[0], boosted.estimators_[1]
    assert first.rules_ == C50Classifier(rules=True).fit(X, y).rules_
    assert second.class_count_.sum() == pytest.approx(len(X))
    wrong = first.predict(X) != y
    # the wrong weight moves halfway to half of all weight, the same for each sample
    added = (np.count_nonzero(~wrong) - np.count_nonzero(wrong)) / 4
    weight = np.where(wrong, 1 + added / wrong.sum(), 1 - added / (~wrong).sum())
    fires = second.to_rules().matches(X).T.toarray() > 0
    for rule, samples in zip(second.rules_, fires, strict=True):
        assert rule.cover == pytest.approx(weight[samples].sum(), rel=1e-5)
        assert rule.errors == pytest.approx(weight[samples & (y != rule.label)].sum(), rel=1e-5, abs=1e-5)


def test_trials_of_rules_vote_with_the_confidence_of_the_rule_of_the_least_cover(boosted: C50Classifier) -> None:
    X, _ = table(seed=5)
    votes = np.zeros((len(X), 3))
    applied = boosted.apply(X)
    assert applied.shape == (len(X), boosted.n_trials_)
    for trial, rule in zip(boosted.estimators_, applied.T, strict=True):
        votes_of_rules = [math.floor(1000 * each.confidence + 0.5) for each in trial.rules_]
        predicted = np.searchsorted(boosted.classes_, trial.predict(X))
        votes[np.arange(len(X)), predicted] += [votes_of_rules[i] if i >= 0 else 500 for i in rule.tolist()]
    assert boosted.predict_proba(X) == pytest.approx(votes / votes.sum(axis=1, keepdims=True))
    default = list(boosted.classes_).index(boosted.default_class_)
    best = np.where(votes[:, default] == votes.max(axis=1), default, votes.argmax(axis=1))
    assert (boosted.predict(X) == boosted.classes_[best]).all()
    assert [*boosted.staged_predict(X)][-1].tolist() == boosted.predict(X).tolist()
    assert len(boosted.rules_) == sum(len(trial.rules_) for trial in boosted.estimators_)
    assert len(boosted.trial_errors(X, boosted.predict(X))) == boosted.n_trials_


def test_order_of_rows_and_threads_do_not_change_boosted_rules(boosted: C50Classifier) -> None:
    X, y = table()
    order = np.random.default_rng(6).permutation(len(X))
    assert C50Classifier(rules=True, trials=5, n_jobs=2).fit(X.iloc[order], y[order]).rules_ == boosted.rules_


def test_without_early_stopping_bad_trials_do_not_end_boosting() -> None:
    draw = np.random.default_rng(7)
    X, y = draw.normal(size=(120, 3)), draw.integers(0, 2, 120)
    for rules in (False, True):
        stopped, model = (C50Classifier(trials=8, rules=rules, early_stopping=early).fit(X, y) for early in (True, False))
        assert stopped.n_trials_ < model.n_trials_
