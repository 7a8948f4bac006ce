"""Rules that trees of a forest share: counted and measured as a slow twin does, which walks each tree and sample."""

import math
import re
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from fasttree import RandomForestClassifier, RandomForestRegressor, SharedRules
from fasttree._model.arrays import KNOWN, NOMINAL, THRESHOLD

N = 200


@pytest.fixture(scope="module")
def fruit():
    """A table with numbers, a column of few values, categories and missing values; classes and numbers to predict."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "width": rng.normal(size=N),
            "rooms": rng.integers(0, 3, N).astype(float),
            "colour": rng.choice(["red", "green", "blue"], N),
        }
    )
    score = X["width"] + (X["colour"] == "red") * 2 + X["rooms"] + rng.normal(size=N) / 2
    X.loc[rng.random(N) < 0.1, "width"] = np.nan
    return X, np.where(score > 2, "ripe", "unripe"), score.to_numpy()


@pytest.fixture(scope="module")
def forest(fruit):
    return RandomForestClassifier(n_estimators=30, max_features=2, random_state=0).fit(fruit[0], fruit[1])


def deciles(column, n):
    known = np.sort(column[~np.isnan(column)])
    cuts = {known[math.ceil(i / n * len(known)) - 1] for i in range(1, n)}
    return known, sorted(cut for cut in cuts if cut < known[-1])


def nearest(column, threshold, n):
    known, cuts = deciles(column, n)
    share = (known <= threshold).mean()
    return min(cuts, key=lambda cut: (abs((known <= cut).mean() - share), cut))


def paths(tree, X, n, most):
    """The rules of a tree as sets of (feature, lower limit, upper limit) or (feature, categories)."""
    waiting = [(0, 0, {})]
    while waiting:
        node, depth, above = waiting.pop()
        if depth:
            rule = frozenset((j, *part) if isinstance(part, tuple) else (j, part) for j, part in above.items())
            if all(part[1] < part[2] for part in rule if len(part) == 3):
                yield rule
        if not tree.n_branches[node] or depth == most:
            continue
        j, child = int(tree.feature[node]), int(tree.first_child[node])
        if tree.kind[node] == THRESHOLD:
            cut = nearest(X.iloc[:, j].to_numpy(float), tree.threshold[node], n)
            low, high = above.get(j, (-math.inf, math.inf))
            branches = [(low, min(high, cut)), (max(low, cut), high)]
        elif tree.kind[node] == KNOWN:
            branches = [above.get(j, (-math.inf, math.inf)), "missing"]
        else:
            assert tree.kind[node] == NOMINAL
            codes, sides = tree.categories_of(node)
            names = sorted(set(X["colour"]))
            known = above.get(j, frozenset(names))
            branches = [known & {names[code - 1] for code in codes[sides == side]} for side in (0, 1)]
        for branch, part in enumerate(branches):
            waiting.append((child + branch, depth + 1, above | {j: part}))


def key_of(rule):
    return frozenset(
        (each.index, "missing")
        if each.operator == "missing"
        else (each.index, frozenset(each.categories))
        if each.categories
        else (each.index, each.low, each.high)
        for each in rule.conditions
    )


def covered(key, X):
    mask = np.ones(len(X), bool)
    for j, *part in key:
        column = X.iloc[:, j]
        if part == ["missing"]:
            mask &= column.isna()
        else:
            mask &= column.isin(part[0]) if len(part) == 1 else (column > part[0]) & (column <= part[1])
    return mask


@pytest.mark.parametrize(("n", "most"), [(10, 2), (4, 1), (10, 3)])
def test_rules_are_counted_and_measured_as_by_the_twin(fruit, forest, n, most):
    X, y, _ = fruit
    count = Counter(rule for tree in forest.ensemble_.trees() for rule in set(paths(tree, X, n, most)))
    wanted = {key: number / 30 for key, number in count.items() if number / 30 >= 0.1 and covered(key, X).any()}
    rules = forest.shared_rules(X, y, n_quantiles=n, max_depth=most, min_share=0.1)
    assert len(rules) > 3
    assert {key_of(rule): rule.share for rule in rules} == wanted
    for rule in rules:
        mask = covered(key_of(rule), X)
        assert (rule.n_samples, rule.support) == (mask.sum(), mask.mean())
        labels = pd.Series(y[mask]).value_counts()
        assert labels[rule.prediction] == labels.max()
        assert rule.confidence == labels.max() / mask.sum()
        assert rule.spread is None
    assert [rule.share for rule in rules] == sorted((rule.share for rule in rules), reverse=True)


def test_rules_of_numbers_have_means_and_spreads(fruit):
    X, _, score = fruit
    forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, score)
    rules = forest.shared_rules(X, score, max_depth=1, min_share=0.0)
    rule = rules[0]
    mask = covered(key_of(rule), X)
    assert (rule.prediction, rule.spread) == pytest.approx((score[mask].mean(), score[mask].std()))
    assert rule.confidence is None
    assert re.fullmatch(r"if .* then -?[\d.]+  \(trees \d+ %, support \d+ %, spread [\d.]+\)", rules.to_text().splitlines()[0])


def test_the_forms_of_rules(fruit, forest):
    X, y, _ = fruit
    rules = forest.shared_rules(X, y)
    assert isinstance(rules[:2], SharedRules)
    text = rules.to_text().splitlines()
    assert len(text) == len(rules)
    frame = rules.to_frame()
    assert list(frame.columns) == ["rule", "prediction", "share", "support", "n_samples", "confidence"]
    assert text[0].startswith(f"if {frame['rule'][0]} then {frame['prediction'][0]}  (trees ")
    assert rules.to_frame(backend="polars").height == len(rules)
    assert rules.to_markdown().splitlines()[0] == "| rule | prediction | trees | support | confidence |"
    assert repr(rules).splitlines()[0] == f"<SharedRules: {len(rules)} rules>"
    assert "<table>" in rules._repr_html_()
    none = forest.shared_rules(X, y, min_share=1.0)[:0]
    assert (none.to_text(), repr(none)) == ("", "<SharedRules: 0 rules>")
    assert none.to_markdown().startswith("| rule |")


def test_rules_have_the_labels_of_columns_categories_and_classes(fruit, forest):
    X, y, _ = fruit
    labels = {"colour": ("tint", {"red": "crimson"}), "y": {"ripe": "good"}}
    text = forest.shared_rules(X, y, max_depth=1, labels=labels).to_text()
    assert "tint = crimson then good" in text
    assert "colour" not in text
    assert "crimson" not in forest.shared_rules(X, y, max_depth=1).to_text()


def test_conditions_of_missing_values_and_of_a_single_value_are_rules():
    X = pd.DataFrame({"a": [1.0, np.nan] * 20, "b": [3.0] * 40})
    forest = RandomForestClassifier(n_estimators=5, max_features=None, random_state=0).fit(X, [0, 1] * 20)
    rules = forest.shared_rules(X, [0, 1] * 20)
    assert rules.to_frame()["rule"].tolist() == ["a is missing", "a is known"]
    assert [rule.confidence for rule in rules] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_quantiles": 1}, "n_quantiles=1"),
        ({"max_depth": 0}, "max_depth=0"),
        ({"min_share": 1.5}, "min_share=1.5: must be a number from 0 to 1"),
        ({"min_share": True}, "min_share=True: must be a number from 0 to 1"),
    ],
)
def test_numbers_out_of_range_are_refused(fruit, forest, given, message):
    with pytest.raises(ValueError, match=message):
        forest.shared_rules(fruit[0], fruit[1], **given)


def test_several_targets_and_other_tables_are_refused(fruit, forest):
    X, y, score = fruit
    several = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, np.column_stack([y, score > 1]))
    with pytest.raises(ValueError, match="shared_rules and several targets exclude each other"):
        several.shared_rules(X, y)
    with pytest.raises(ValueError, match="199"):
        forest.shared_rules(X, y[:-1])
