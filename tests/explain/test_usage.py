"""How much rules with models use each feature."""

import numpy as np
import pandas as pd
import pytest

from fasttree import CubistRegressor

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "b", "$c$", "unused"]).assign(unused=0.0)
    return CubistRegressor(committees=3).fit(X, np.where(X["a"] > 0, 3 * X["b"], -2 * X["$c$"] + X["b"]))


def bars(ax):
    """The width of each bar by its feature, for conditions and for models."""
    names = [text.get_text() for text in ax.get_yticklabels()]
    return [dict(zip(names, [bar.get_width() for bar in bars], strict=True)) for bars in ax.containers]


def test_bars_are_the_samples_of_rules_that_use_a_feature(model):
    in_conditions, in_models = bars(model.plot_usage())
    rules, names = list(model.to_rules()), model.feature_names_in_.tolist()
    total = sum(rule.cover for rule in rules)
    assert set(in_conditions) == {"a", "b", "$c$"}
    for name, share in in_conditions.items():
        covers = [rule.cover for rule in rules if any(each.feature == name for each in rule.conditions)]
        assert share == pytest.approx(100 * sum(covers) / total)
    for name, share in in_models.items():
        covers = [rule.cover for rule in rules if any(names[j] == name for j, _ in rule.terms)]
        assert share == pytest.approx(100 * sum(covers) / total)
    assert in_conditions["a"] > 50


def test_the_most_used_features_come_first_and_have_labels(model):
    in_conditions, in_models = bars(model.plot_usage(labels={"a": "Area"}))
    sums = [in_conditions[name] + in_models[name] for name in in_conditions]
    assert sums == sorted(sums, reverse=True)
    assert "Area" in in_conditions
    first = next(iter(in_conditions))
    assert list(bars(model.plot_usage(max_features=1, labels={"a": "Area"}))[0]) == [first]


def test_rules_that_use_nothing_and_bad_numbers_are_handled(model):
    from matplotlib import pyplot

    ax = pyplot.subplots()[1]
    constant = CubistRegressor().fit(np.ones((20, 2)), np.arange(20.0))
    assert constant.plot_usage(ax=ax) is ax
    assert not [bar for group in ax.containers for bar in group]
    with pytest.raises(ValueError, match="max_features=0"):
        model.plot_usage(max_features=0)
    pyplot.close("all")
