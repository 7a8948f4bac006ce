"""CHAID: statistics, multipliers, merging and growth, against worked examples and obvious twins."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.special import erfcx

from fasttree import CHAIDClassifier, CHAIDRegressor, from_json
from fasttree._engine.merging import add_cells, add_features
from fasttree._learn.chaid import growth, merging, testing
from fasttree._learn.chaid.columns import bounds_of
from fasttree._learn.chaid.merging import Choices, join_both, join_small, merge
from fasttree._learn.chaid.statistics import STATISTICS, log_chi_square_tail, log_f_tail, log_multiplier, log_stirling
from fasttree._model.arrays import INTERVALS, KNOWN, NOMINAL, STOP, THRESHOLD
from fasttree._model.tree import Tree

NOMINAL_EXAMPLE = np.array([[30, 20], [28, 22], [10, 40], [12, 38], [20, 30.0]])
ORDINAL_EXAMPLE = np.array([[30, 10], [28, 12], [22, 18], [14, 26], [12, 28], [13, 27.0]])  # the last is missing
VALUES = [[4, 5, 6, 5], [5, 6, 5, 6], [9, 8, 10, 9], [12, 14, 13, 13]]
VALUE_EXAMPLE = np.array([[len(y), np.mean(y), np.var(y) * len(y)] for y in VALUES])


def near(number):
    return pytest.approx(number, rel=1e-9)


# Statistics


def test_tails_are_exact_where_p_values_underflow():
    x = np.array([3000.0])
    assert log_chi_square_tail(x, np.array([1.0]))[0] == near(-1500 + math.log(erfcx(math.sqrt(1500))))
    assert log_chi_square_tail(x, np.array([4.0]))[0] == near(-1500 + math.log(1501))
    assert log_f_tail(x, np.array([2.0]), np.array([5000.0]))[0] == near(-2500 * math.log1p(2 * 3000 / 5000))
    assert log_chi_square_tail(np.array([5.0]), np.array([0.0]))[0] == 0


@pytest.mark.parametrize("name", STATISTICS)
def test_pairs_are_tables_of_two_groups(name):
    rng = np.random.default_rng(0)
    tables = rng.integers(0, 6, (40, 2, 3)).astype(float)
    tables[:, :, 0] += 1
    test = STATISTICS[name]
    pairs, whole = test.pairs(tables[:, 0], tables[:, 1]), test.whole(tables)
    for a, b in zip(pairs, whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


def test_empty_rows_and_columns_do_not_count_and_one_group_shows_nothing():
    for name in ("pearson", "likelihood_ratio"):
        whole = STATISTICS[name].whole
        wide = np.array([[[3.0, 0, 5], [0, 0, 0], [4, 0, 1]]])
        narrow = np.array([[[3.0, 5], [4, 1]]])
        assert [float(part[0]) for part in whole(wide)] == near([float(part[0]) for part in whole(narrow)])
        assert whole(np.array([[[3.0, 5], [0, 0]]])).log_p[0] == 0
    f = STATISTICS["f"].whole
    assert f(np.array([[[2, 1.0, 0.0], [2, 5.0, 0.0]]])).log_p[0] == -math.inf  # no variance within, and means differ
    assert f(np.array([[[2, 1.0, 0.0], [2, 1.0, 0.0]]])).log_p[0] == 0


def ways_by_hand(kind, n, r):
    """Count the ways to put categories 0, ..., n - 1 into r groups; of floating ones the last is missing."""
    found = set()
    for groups in itertools.product(range(r), repeat=n):
        if len(set(groups)) < r:
            continue
        parts = frozenset(frozenset(i for i in range(n) if groups[i] == g) for g in range(r))
        ordered = n - (kind == "floating")
        members = [sorted(i for i in part if i < ordered) for part in parts]
        if kind == "nominal" or all(not each or each[-1] - each[0] + 1 == len(each) for each in members):
            found.add(parts)
    return len(found)


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "floating"])
def test_multipliers_count_the_groupings(kind):
    for n, r in [(2, 2), (3, 2), (4, 2), (5, 3), (6, 3)]:
        assert math.exp(log_multiplier(kind, "chaid", n, r)) == near(ways_by_hand(kind, n, r))


def test_multipliers_of_the_description():
    found = [round(math.exp(log_multiplier(kind, "chaid", 10, 4))) for kind in ("ordinal", "nominal", "floating")]
    assert found == [84, 34105, 252]
    exhaustive = [("ordinal", "spss"), ("floating", "spss"), ("nominal", "spss"), ("nominal", "biggs")]
    assert [round(math.exp(log_multiplier(kind, "exhaustive", 10, 4, form))) for kind, form in exhaustive] == [45, 45, 495, 165]
    assert log_stirling(300, 2) == near(math.log(2**299 - 1))
    assert log_stirling(251, 250) == near(math.log(251 * 250 / 2))


# Merging


def test_worked_example_of_a_nominal_feature():
    found = merge(NOMINAL_EXAMPLE, "nominal", Choices())
    assert found.groups == ((0, 1), (2, 3), (4,))
    assert (found.statistic, found.df, math.exp(found.log_p)) == (near(27), (2,), near(1.3709590864e-06))
    assert math.exp(found.log_adjusted) == near(3.4273977160e-05)
    assert [(step.one, step.other, math.exp(step.log_p)) for step in found.steps] == [
        ((0,), (1,), near(0.6853154749)),
        ((2,), (3,), near(0.6292345201)),
    ]
    for form, adjusted in (("spss", 8.2257545183e-05), ("biggs", 2.7419181728e-05)):
        exhaustive = merge(NOMINAL_EXAMPLE, "nominal", Choices(method="exhaustive", exhaustive_multiplier=form))
        assert exhaustive.groups == found.groups
        assert math.exp(exhaustive.log_adjusted) == near(adjusted)
    assert merge(NOMINAL_EXAMPLE, "nominal", Choices(bonferroni=False)).log_adjusted == found.log_p


def test_worked_example_of_an_ordinal_feature():
    known = ORDINAL_EXAMPLE[:-1]
    for kind, adjusted in (("ordinal", 8.4306670872e-06), ("nominal", 3.1615001577e-05)):
        found = merge(known, kind, Choices())
        assert found.groups == ((0, 1, 2), (3, 4))
        assert math.exp(found.log_adjusted) == near(adjusted)
    for method, adjusted in (("chaid", 1.0813879580e-06), ("exhaustive", 1.8023132633e-06)):
        found = merge(ORDINAL_EXAMPLE, "floating", Choices(method=method), 5)
        assert found.groups == ((0, 1, 2), (3, 4, 5))
        assert (found.statistic, math.exp(found.log_adjusted)) == (near(28.0186124036), near(adjusted))


def test_worked_example_of_numbers():
    for kind, adjusted in (("nominal", 8.6940196047e-09), ("ordinal", 4.3470098024e-09)):
        found = merge(VALUE_EXAMPLE, kind, Choices(statistic="f"))
        assert found.groups == ((0, 1), (2,), (3,))
        assert (found.statistic, found.df, math.exp(found.log_adjusted)) == (near(142.35), (2, 13), near(adjusted))


def slow_merge(table, kind, choices):
    """Merging by tests of all pairs at every step."""
    test, groups = choices.test, [(i,) for i in range(len(table))]
    row = lambda group: test.merged(table[list(group)])  # noqa: E731
    stages = [list(groups)]
    while len(groups) > 2:
        pairs = [(i, j) for i, j in itertools.combinations(range(len(groups)), 2) if kind == "nominal" or j == i + 1]
        found = [float(test.pairs(row(groups[i]), row(groups[j])).log_p) for i, j in pairs]
        best = max(range(len(pairs)), key=lambda at: found[at])
        if choices.method == "chaid" and found[best] <= math.log(choices.alpha_merge):
            break
        i, j = pairs[best]
        groups = [*groups[:i], groups[i] + groups[j], *groups[i + 1 : j], *groups[j + 1 :]]
        stages.append(groups)
    if choices.method == "exhaustive":
        groups = min(stages, key=lambda stage: float(test.whole(np.array([row(group) for group in stage])).log_p))
    return {frozenset(group) for group in groups}


@pytest.mark.parametrize("method", ["chaid", "exhaustive"])
@pytest.mark.parametrize("statistic", STATISTICS)
def test_merging_is_that_of_the_slow_twin(statistic, method, monkeypatch):
    monkeypatch.setattr(merging, "_AT_ONCE", 8)
    rng = np.random.default_rng(1)
    choices = Choices(statistic=statistic, method=method)
    for n in (3, 7, 12):
        table = rng.integers(1, 30, (n, 3)).astype(float)
        for kind in ("nominal", "ordinal"):
            assert {frozenset(group) for group in merge(table, kind, choices).groups} == slow_merge(table, kind, choices)


@pytest.mark.parametrize("method", ["chaid", "exhaustive"])
@pytest.mark.parametrize("statistic", ["pearson", "likelihood_ratio"])
def test_compiled_merges_are_those_of_the_general_ones(statistic, method):
    rng = np.random.default_rng(2)
    choices = Choices(statistic=statistic, method=method, alpha_merge=1e-30)
    general = merging._by_alpha if method == "chaid" else merging._exhaustively
    n_steps = 0
    for trial in range(60):
        n, n_classes = int(rng.integers(3, 14)), int(rng.integers(2, 7))
        most, heaviest = (3, 3e4) if statistic == "pearson" else (100, 50.0)  # ties of likelihood ratios are up to rounding
        table = rng.integers(0, most, (n, n_classes)) * rng.choice([1.0, 20.0, heaviest], (n, 1))  # and p-values that underflow
        table[table.sum(axis=1) == 0, trial % n_classes] = 1
        for ordered in (False, True):
            expected_steps = []
            pairs = merging._Pairs(table, choices.test, ordered=ordered)
            expected = general(pairs, table, choices, expected_steps)
            found = merge(table, "ordinal" if ordered else "nominal", choices)
            assert list(found.groups) == expected
            assert [(step.one, step.other) for step in found.steps] == [(step.one, step.other) for step in expected_steps]
            for step, other in zip(found.steps, expected_steps, strict=True):
                assert (step.statistic, step.log_p) == pytest.approx((other.statistic, other.log_p), rel=1e-12, abs=2e-9)
            n_steps += len(expected_steps)
    assert n_steps > 100


@pytest.mark.parametrize("n_classes", [2, 3, 8, 33, 64, 401, 402])
def test_compiled_tails_are_those_of_scipy(n_classes):
    n_checked = 0
    for size in (3.0, 40.0, 1e3, 2e4, 1e6):
        table = np.full((3, n_classes), size)
        table[1, 0] += size
        table[2, 0] += 3 * size
        steps = merge(table, "nominal", Choices(alpha_merge=1e-300)).steps
        for step in steps:
            assert step.log_p == pytest.approx(
                float(log_chi_square_tail(np.array(step.statistic), np.array(n_classes - 1.0))), rel=1e-12, abs=1e-12
            )
        n_checked += len(steps)
    assert n_checked


def test_tables_are_sums_over_rows():
    rng = np.random.default_rng(3)
    codes, label, weight = rng.integers(0, 5, 60), rng.integers(0, 3, 60), rng.integers(1, 9, 60).astype(float)
    some = np.flatnonzero(rng.random(60) < 0.5)
    for dtype, rows, labels, weights in itertools.product(
        (np.uint8, np.uint16, np.uint32), (None, some), (None, label), (None, weight)
    ):
        out = np.zeros((5, 3))
        chosen = np.arange(60) if rows is None else rows
        add_cells(codes.astype(dtype), rows, *(None if each is None else each[chosen] for each in (labels, weights)), out)
        expected = np.zeros((5, 3))
        for row in chosen:
            expected[codes[row], 0 if labels is None else label[row]] += 1 if weights is None else weight[row]
        assert (out == expected).all()


def test_tables_of_all_features_are_those_of_each():
    rng = np.random.default_rng(4)
    sizes, label, weight = np.array([5, 1, 3]), rng.integers(0, 3, 60), rng.integers(1, 9, 60).astype(float)
    codes, starts = rng.integers(0, sizes, (60, 3)), np.array([0, 5, 6, 9])
    some = np.flatnonzero(rng.random(60) < 0.5)
    for dtype, rows, weights in itertools.product((np.uint8, np.uint16, np.uint32), (None, some), (None, weight)):
        chosen = np.arange(60) if rows is None else rows
        of_rows = None if weights is None else weights[chosen]
        out, expected = np.zeros((9, 3)), np.zeros((9, 3))
        add_features(codes.astype(dtype), starts, rows, label, weights, out)
        for j, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
            column = np.ascontiguousarray(codes[:, j]).astype(dtype)
            add_cells(column, rows, label[chosen], of_rows, expected[start:stop])
        assert (out == expected).all()


@pytest.mark.parametrize("name", ["pearson", "likelihood_ratio"])
def test_two_groups_that_are_too_small_join_as_any_others(name):
    table, groups = ORDINAL_EXAMPLE[:4], [(0, 2), (1, 3)]
    for small in groups:
        joined, steps = join_small(
            groups, table, "nominal", STATISTICS[name], lambda group, small=small: 1 if group == small else None
        )
        assert joined == [(0, 1, 2, 3)]
        assert steps == [join_both(groups, table, STATISTICS[name])]


def test_a_merged_group_is_divided_again():
    # 1, 2, then 3 and 0 merge; the best division of all four differs by 0.045
    table = np.array([[31, 87], [62, 130], [59, 107], [44, 62], [165, 9.0]])
    for kind in ("ordinal", "nominal"):
        kept, divided = merge(table, kind, Choices()), merge(table, kind, Choices(resplit=0.049))
        assert any(step.divides for step in divided.steps)
        assert kept.groups == ((0, 1, 2, 3), (4,)) or kind == "nominal"
        assert divided.groups == ((0, 1), (2, 3), (4,))
        assert sorted(itertools.chain(*divided.groups)) == list(range(len(table)))


def test_small_groups_join_the_most_similar_allowed_one():
    table = np.array([[30, 10], [2, 1], [10, 30], [3, 9.0]])

    def is_small(group):
        size = float(table[list(group)].sum())
        return size if size < 15 else None

    test = STATISTICS["pearson"]
    apart = [(0,), (1,), (2,), (3,)]
    assert join_small(apart, table, "nominal", test, is_small)[0] == [(0, 1), (2, 3)]
    assert join_small(apart, table, "floating", test, is_small)[0] == [(0, 1), (2, 3)]
    assert join_small(apart, table, "nominal", test, lambda group: 1.0 if len(group) < 4 else None)[0] == [(0, 1, 2, 3)]


def test_bins_have_equal_shares():
    assert bounds_of(np.array([1.0, 2, 2, 2, 3, np.nan]), None, 2).tolist() == [1.0, 3.0]
    assert bounds_of(np.array([1.0, 2, 3, 4]), np.array([1, 1, 1, 0.0]), 3).tolist() == [1.0, 2.0, 3.0]
    assert bounds_of(np.array([np.nan]), None, 3).tolist() == []


# Trees


def rows_of(counts):
    """A row for each count: {value: (no, yes)}."""
    x = [value for value, pair in counts.items() for _ in range(sum(pair))]
    y = [label for pair in counts.values() for label, n in zip(("no", "yes"), pair, strict=True) for _ in range(n)]
    return x, y


def test_an_unseen_category_stops_where_nothing_is_missing():
    x, y = rows_of({"a": (40, 10), "b": (10, 40)})
    X = pd.DataFrame({"c": pd.Categorical(x, categories=["a", "b", "never"])})
    model = CHAIDClassifier().fit(X, y)
    assert (model.tree_.kind[0], model.tree_.missing[0]) == (NOMINAL, STOP)
    new = pd.DataFrame({"c": pd.Categorical(["never", None, "a"], categories=["a", "b", "never"])})
    assert model.predict_proba(new).tolist() == [[0.5, 0.5], [0.5, 0.5], [0.8, 0.2]]


def test_an_unseen_category_predicts_as_the_node_where_missing_values_have_a_group():
    x, y = rows_of({"a": (40, 10), "b": (10, 40), None: (12, 38)})
    X = pd.DataFrame({"c": pd.Categorical(x, categories=["a", "b", "never"]), "constant": 0})
    model = CHAIDClassifier().fit(X, y)
    new = pd.DataFrame({"c": pd.Categorical(["never", None, "b"], categories=["a", "b", "never"]), "constant": 0})
    expected = [[62 / 150, 88 / 150], [22 / 100, 78 / 100], [22 / 100, 78 / 100]]
    np.testing.assert_allclose(model.predict_proba(new), expected, rtol=1e-12)
    again = from_json(model.to_json())
    assert again.tree_ == model.tree_
    assert (again.predict_proba(new) == model.predict_proba(new)).all()


@pytest.fixture(scope="module")
def waves():
    """A number with three levels, missing values with a fourth, and noise."""
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 9, 900).round(1)
    y = np.select([x < 3, x < 6], [5.0, 1.0], 9.0)
    missing = rng.random(900) < 0.2
    y[missing] = 20.0
    y += rng.normal(size=900)
    return pd.DataFrame({"x": np.where(missing, np.nan, x), "noise": rng.integers(0, 4, 900)}), y


def test_missing_values_have_a_branch_beside_intervals(waves):
    model = CHAIDRegressor(max_depth=1).fit(*waves)
    tree = model.tree_
    tree.check()
    assert (tree.kind[0], tree.n_branches[0], tree.missing[0]) == (INTERVALS, tree.n_branches[0], tree.n_branches[0] - 1)
    assert model.export_text().splitlines()[-1].startswith("└── x is missing: ")
    assert "x is missing" in str(model.to_rules())
    found = model.predict(pd.DataFrame({"x": [np.nan, 1e300], "noise": [0, 0]}))
    assert found == pytest.approx([20, 9], abs=0.5)


def test_a_known_value_alone_can_matter():
    x, y = [1.0] * 50 + [np.nan] * 50, ["a"] * 45 + ["b"] * 5 + ["b"] * 50
    model = CHAIDClassifier().fit(np.column_stack([x, np.zeros(100)]), y)
    assert model.tree_.kind[0] == KNOWN
    assert CHAIDClassifier().fit(np.array(x).reshape(-1, 1), y).tree_.n_samples.tolist() == [50]  # without any known value


def test_ordinal_features_with_gaps_stop_in_the_gap():
    x, y = rows_of({1: (40, 10), 3: (10, 40)})
    model = CHAIDClassifier(ordinal_features={0: [1, 2, 3]}).fit(np.array(x).reshape(-1, 1), y)
    assert model.predict_proba([[1], [2], [3]]).tolist() == [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]]
    whole = CHAIDClassifier(ordinal_features={0: [1, 3]}).fit(np.array(x).reshape(-1, 1), y)
    assert whole.tree_.kind[0] == THRESHOLD


@pytest.mark.parametrize("estimator", [CHAIDClassifier, CHAIDRegressor])
def test_rows_and_weights_as_rows_do_not_change_the_tree(waves, estimator):
    X, y = waves
    y = y.round() if estimator is CHAIDClassifier else y
    model = estimator(min_samples_leaf=5).fit(X, y)
    order = np.random.default_rng(0).permutation(len(X))
    assert estimator(min_samples_leaf=5).fit(X.iloc[order], y[order]).tree_ == model.tree_
    weight = np.random.default_rng(1).integers(0, 3, len(X))
    weighted = estimator().fit(X, y, sample_weight=weight).tree_
    repeated = estimator().fit(X.loc[X.index.repeat(weight)], np.repeat(y, weight)).tree_
    np.testing.assert_allclose(weighted.value, repeated.value)
    assert [test.split and test.split.n_groups for test in weighted.tests] == [
        test.split and test.split.n_groups for test in repeated.tests
    ]
    fractions = estimator().fit(X, y, sample_weight=np.full(len(X), 0.3))
    assert fractions.tree_.weight[0] == pytest.approx(0.3 * len(X))


def test_edits_keep_the_tests_of_the_other_nodes(waves):
    X, y = waves
    model = CHAIDRegressor(max_depth=2, min_samples_leaf=20, alpha_split=0.5, bonferroni=False).fit(X, y)
    inner = np.flatnonzero(model.tree_.n_branches)[-1]
    assert inner > 0
    shorter = model.collapse(inner)
    assert shorter.tree_.tests[0] == model.tree_.tests[0]
    assert shorter.tree_.tests[inner].split is None
    assert shorter.regrow(inner, X, y).tree_ == model.tree_
    by_hand = model.split(0, "noise", 1.5, X=X, y=y)
    assert by_hand.tree_.tests[0].split is None
    assert by_hand.prune("reduced_error", X, y).tree_.node_count <= by_hand.tree_.node_count


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("estimator", [CHAIDClassifier, CHAIDRegressor])
def test_branches_that_grow_again_know_which_categories_can_arrive(estimator, seed):
    """Nodes below one that has split the same feature have no branch for its other categories."""
    rng, n = np.random.default_rng(seed), 150
    size = pd.Categorical(rng.choice(["low", "mid", "high"], n), categories=["low", "never", "mid", "high"], ordered=True)
    X = pd.DataFrame({"letter": rng.choice(list("uvwx"), n), "size": size, "number": rng.integers(0, 5, n) * 1.0})
    y = rng.normal(size=n) + (X["letter"] == "u") + 0.3 * X["number"] * (X["size"] == "mid")
    X = X.mask(rng.random(X.shape) < 0.3)
    y = y > 0.5 if estimator is CHAIDClassifier else y
    model = estimator(alpha_split=0.6).fit(X, y)
    for node in np.flatnonzero(model.tree_.n_branches):
        assert model.regrow(node, X, y).tree_ == model.tree_


def test_nodes_list_the_predictors_that_compete(waves):
    model = CHAIDRegressor(max_depth=1).fit(*waves)
    first, second = model.node_test(0).predictors
    assert (first.feature, second.feature) == (0, 1)
    assert first.log_adjusted_p_value < second.log_adjusted_p_value
    assert first.log_p_value < -300
    assert model.node_test(1).reason == "max_depth"
    assert "Root: x, F = " in model.summary()
    with pytest.raises(ValueError, match=r"node_test\(0\)\.predictors"):
        model.competing_splits(0, *waves)
    with pytest.raises(ValueError, match="node=99"):
        model.node_test(99)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"resplit": True, "method": "exhaustive"}, "exclude each other"),
        ({"resplit": True, "alpha_resplit": 0.05}, "must be below alpha_merge=0.05"),
        ({"spss_limits": True, "max_depth": 4}, "spss_limits=True and max_depth=4"),
        ({"n_intervals": 1}, "n_intervals=1: must be an integer from 2"),
        ({"method": "fast"}, "must be 'chaid' or 'exhaustive'"),
    ],
)
def test_wrong_choices_raise_one_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        CHAIDClassifier(**parameters).fit([["a"], ["b"]], [0, 1])


def test_the_limits_of_spss(waves):
    X, y = waves
    short = CHAIDRegressor(spss_limits=True).fit(X, y)
    assert short.tree_ == CHAIDRegressor(max_depth=3, min_samples_split=100, min_samples_leaf=50).fit(X, y).tree_
    assert short.tree_.n_samples.min() >= 50


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"method": "exhaustive"},
        {"criterion": "likelihood_ratio", "min_samples_leaf": 8},
        {"bonferroni": False, "min_samples_split": 60, "ordinal_features": {2: range(6)}},
    ],
)
def test_compiled_tests_of_features_are_those_of_the_general_merges(parameters, monkeypatch):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=500), rng.integers(0, 9, 500), rng.integers(0, 6, 500), rng.integers(0, 3, 500)])
    y = (X[:, 0] + (X[:, 1] % 3) + (X[:, 2] > 3) + rng.normal(size=500)).round().clip(0, 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    weight = rng.integers(1, 4, 500) / 4
    model = CHAIDClassifier(**{"categorical_features": [1, 3]} | parameters)
    compiled = model.fit(X, y, sample_weight=weight).tree_
    monkeypatch.setattr(testing.Tester, "room", lambda _: None)
    general = model.fit(X, y, sample_weight=weight).tree_
    assert Tree.__eq__(compiled, general)
    assert compiled.node_count > 5
    for test, other in zip(compiled.tests, general.tests, strict=True):
        assert (test.reason, test.split is None) == (other.reason, other.split is None)
        assert [(step.one, step.other, step.divides) for step in test.merges] == [
            (step.one, step.other, step.divides) for step in other.merges
        ]
        pairs = [*zip(test.predictors, other.predictors, strict=True), *([(test.split, other.split)] if test.split else [])]
        for one, same in pairs:
            assert (one.feature, one.n_categories, one.n_groups, one.df) == (
                same.feature,
                same.n_categories,
                same.n_groups,
                same.df,
            )
            assert one.log_multiplier == same.log_multiplier
            assert (one.statistic, one.log_p_value) == pytest.approx((same.statistic, same.log_p_value), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("parameters", [{}, {"method": "exhaustive", "min_samples_leaf": 9}, {"max_depth": 2}])
def test_tables_of_the_largest_child_are_what_its_siblings_leave(parameters, monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.integers(0, 7, (900, 4)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = (X[:, 0] % 3 + (X[:, 1] > 3) + rng.normal(size=900) / 2 > 2).astype(int)
    weight = rng.integers(0, 5, 900) / 8
    model = CHAIDClassifier(**{"categorical_features": [0, 1, 2], "min_samples_split": 30} | parameters)
    trees = []
    for rows_of_cell in (0.0, math.inf):
        monkeypatch.setattr(growth, "_ROWS_OF_CELL", rows_of_cell)
        trees += [model.fit(X, y).tree_, model.fit(X, y, sample_weight=weight).tree_]
    assert trees[0] == trees[2]
    assert trees[1] == trees[3]
    assert min(tree.node_count for tree in trees) > 5


def test_a_node_too_small_to_be_divided_has_the_tests_of_its_samples():
    rng = np.random.default_rng(4)
    X = rng.integers(0, [4, 6, 3, 5], (2000, 4))
    signal = rng.random((4, 6))[X[:, 0], X[:, 1]] + rng.random((3, 5))[X[:, 2], X[:, 3]]
    y = (signal + 0.2 * rng.normal(size=2000) > 1).astype(int)
    model = CHAIDClassifier(min_samples_leaf=30, categorical_features=[0, 1, 2, 3]).fit(X, y)
    leaf_of, reasons = model.apply(X), set()
    for leaf in np.flatnonzero((model.tree_.n_branches == 0) & (model.tree_.n_samples < 60)).tolist():
        rows = leaf_of == leaf
        alone = CHAIDClassifier(max_depth=1, categorical_features=[0, 1, 2, 3]).fit(X[rows], y[rows]).node_test(0)
        test = model.node_test(leaf)
        reasons.add(test.reason)
        assert test.reason == {"split": "min_samples_leaf"}.get(alone.reason, alone.reason)
        assert test.predictors == alone.predictors
        assert alone.reason != "split" or test.merges[: len(alone.merges)] == alone.merges
    assert reasons == {"pure", "not_significant", "min_samples_leaf"}
