"""`fasttree.evaluation`: figures beside scikit-learn's, intervals by simulation, comparison on the same folds."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

from fasttree import C45Classifier, C45Rules, CARTClassifier, CARTRegressor, M5Regressor
from fasttree.evaluation import compare, evaluate

X, Y = load_iris(return_X_y=True)
NUMBERS = load_diabetes(return_X_y=True)


def weights(n_samples: int, weighted: bool) -> np.ndarray | None:
    return np.random.default_rng(0).integers(0, 4, n_samples).astype(float) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", [CARTClassifier(max_depth=2), C45Classifier(), C45Rules(), LogisticRegression(max_iter=1000)])
def test_figures_of_classes_are_scikit_learns(model, weighted):
    model = model.fit(X[::2], Y[::2])
    given, truth = X[1::2], Y[1::2]
    weight = weights(len(truth), weighted)
    found = evaluate(model, given, truth, weight)
    predicted, probability = model.predict(given), model.predict_proba(given)
    assert_allclose(found.accuracy, metrics.accuracy_score(truth, predicted, sample_weight=weight))
    assert_allclose(found.balanced_accuracy, metrics.balanced_accuracy_score(truth, predicted, sample_weight=weight))
    assert_allclose(found.log_loss, metrics.log_loss(truth, probability, sample_weight=weight))
    each = metrics.precision_recall_fscore_support(truth, predicted, sample_weight=weight)
    for name, column in zip(("precision", "recall", "f1", "weight"), each, strict=True):
        assert_allclose([row[name] for row in found.classes], column)
    np.testing.assert_array_equal(found.confusion, metrics.confusion_matrix(truth, predicted, sample_weight=weight))
    assert_allclose(found.brier, np.average(((probability - np.eye(3)[truth]) ** 2).sum(axis=1), weights=weight))
    for k in range(3):
        rows = [row for row in found.calibration if row["class"] == k]
        if not weighted:
            inside = np.minimum(probability[:, k], 1 - 1e-9) + 1e-12  # scikit-learn's bins include their upper limits
            observed, mean = calibration_curve(truth == k, inside, n_bins=10)
            assert_allclose([row["observed"] for row in rows], observed)
            assert_allclose([row["predicted"] for row in rows], mean, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_figures_of_numbers_are_scikit_learns(weighted):
    model = CARTRegressor(max_depth=3).fit(NUMBERS[0][::2], NUMBERS[1][::2])
    given, truth = NUMBERS[0][1::2], NUMBERS[1][1::2]
    weight = weights(len(truth), weighted)
    found = evaluate(model, given, truth, weight)
    predicted = model.predict(given)
    assert_allclose(found.r2, metrics.r2_score(truth, predicted, sample_weight=weight))
    assert_allclose(found.rmse, metrics.root_mean_squared_error(truth, predicted, sample_weight=weight))
    assert_allclose(found.mae, metrics.mean_absolute_error(truth, predicted, sample_weight=weight))
    assert_allclose(sum(row["share"] for row in found.leaves), 1)
    observed = sum(row["share"] * row["observed"] for row in found.leaves)
    assert_allclose(observed, np.average(truth, weights=weight))


def test_leaves_are_as_in_the_fit_on_its_samples():
    model = CARTClassifier(max_depth=3).fit(X, Y)
    for row in evaluate(model, X, Y).leaves:
        node = row["node"]
        assert row["n_samples"] == model.tree_.n_samples[node]
        assert_allclose([row["expected"], row["observed"]], model.tree_.value[node].max() / model.tree_.weight[node])
        assert row["low"] <= row["observed"] <= row["high"]


def test_leaves_with_linear_models_expect_their_mean_prediction():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(200, 1))
    model = M5Regressor(extrapolation=None).fit(X, 3 * X[:, 0])
    given, weight = X + 1.0, draw.integers(1, 4, 200)  # elsewhere on the same line
    found = evaluate(model, given, 3 * given[:, 0], weight)
    assert found.r2 > 0.99
    for row in found.leaves:
        here = model.apply(given) == row["node"]
        assert_allclose(row["expected"], np.average(model.predict(given)[here], weights=weight[here]))
        assert_allclose(row["expected"], row["observed"], rtol=0.05)
    assert "outside the interval" not in str(found)


def test_intervals_hold_what_they_promise():
    rng = np.random.default_rng(1)
    model = CARTRegressor(max_depth=1).fit([[0.0], [1.0]], [0.0, 1.0])
    classifier = DummyClassifier().fit([[0], [0]], ["a", "b"])
    hits = {"accuracy": 0, "mae": 0, "rmse": 0}
    for _ in range(1000):
        given, noise = rng.integers(0, 2, 60).astype(float)[:, None], rng.normal(size=60)
        found = evaluate(model, given, given[:, 0] + noise).figures
        hits["mae"] += found["mae"].low <= math.sqrt(2 / math.pi) <= found["mae"].high
        hits["rmse"] += found["rmse"].low <= 1 <= found["rmse"].high
        interval = evaluate(classifier, given, np.where(rng.random(60) < 0.8, "a", "b")).figures["accuracy"]
        hits["accuracy"] += interval.low <= 0.8 <= interval.high
    assert all(920 <= count <= 985 for count in hits.values()), hits


def test_classes_that_the_model_does_not_know_are_errors():
    model = CARTClassifier().fit([[0.0], [1.0]], ["a", "b"])
    found = evaluate(model, [[0.0], [1.0], [1.0]], ["a", "b", "c"])
    assert found.accuracy == pytest.approx(2 / 3)
    assert [row["class"] for row in found.classes] == ["a", "b", "c"]
    assert found.confusion.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]
    assert found.log_loss == pytest.approx(-math.log(np.finfo(float).eps) / 3)


def test_what_is_printed_and_framed():
    model = CARTClassifier(max_depth=2).fit(X, Y)
    found = evaluate(model, X, Y)
    text = str(found)
    assert "accuracy           0.9600  (0.9155 to 0.9815)" in text  # Wilson's interval of 144 of 150
    assert "baseline: 0.3333 (always the most frequent class)" in text
    for part, n_rows in (("figures", 4), ("classes", 3), ("leaves", 3)):
        frame = found.to_frame(part)
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == n_rows
    assert found.to_frame("calibration", backend="polars").columns[:3] == ["class", "low", "high"]
    with pytest.raises(ValueError, match="part='trees': must be 'figures'"):
        found.to_frame("trees")
    with pytest.raises(ValueError, match="backend='excel': must be one of 'pandas'"):
        found.to_frame(backend="excel")
    with pytest.raises(AttributeError, match="its figures are accuracy, balanced_accuracy"):
        _ = found.r2


def test_what_is_wrong_raises_clear_errors():
    model = CARTClassifier().fit(X, Y)
    with pytest.raises(ValueError, match="no samples"):
        evaluate(model, X[:0], [])
    with pytest.raises(ValueError, match="all weights are zero"):
        evaluate(model, X, Y, np.zeros(len(Y)))
    with pytest.raises(ValueError, match="150"):
        evaluate(model, X, Y[:100])
    with pytest.raises(ValueError, match="for one target"):
        evaluate(CARTClassifier().fit(X, np.column_stack([Y, Y])), X, Y)
    with pytest.raises(ValueError, match="models is empty"):
        compare([], X, Y)
    with pytest.raises(ValueError, match="two have the same name"):
        compare([CARTClassifier(), CARTClassifier()], X, Y)
    with pytest.raises(ValueError, match=r"models=CARTClassifier\(\): must be a list of estimators"):
        compare(CARTClassifier(), X, Y)
    for wrong in ("CARTClassifier", CARTClassifier):
        with pytest.raises(ValueError, match=r"models holds .*CARTClassifier.*: must be estimators"):
            compare([wrong], X, Y)
    with pytest.raises(ValueError, match="classifiers and regressors cannot be compared"):
        compare([CARTClassifier(), CARTRegressor()], X, Y)


def test_comparison_is_on_the_same_folds():
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    models = {"stump": CARTClassifier(max_depth=1), "tree": CARTClassifier(), "again": CARTClassifier()}
    found = compare(models, X, Y, cv=folds)
    for name, model in models.items():
        assert_allclose(found.by_fold[name]["accuracy"], cross_val_score(model, X, Y, cv=folds))
        assert found.by_fold[name]["fit_seconds"].shape == (5,)
    assert found.by_fold["stump"]["depth"].tolist() == [1] * 5
    between = {(each.first, each.second, each.figure): each for each in found.differences}
    same = between["tree", "again", "accuracy"]
    assert (same.difference, same.low, same.high) == (0, 0, 0)
    stump = between["stump", "tree", "accuracy"]
    differences = found.by_fold["stump"]["accuracy"] - found.by_fold["tree"]["accuracy"]
    half = 2.7764451051977934 * math.sqrt((1 / 5 + 1 / 4) * differences.var(ddof=1))  # Student's t with 4 degrees of freedom
    assert_allclose([stump.low, stump.high], [differences.mean() - half, differences.mean() + half])
    assert "stump - tree" in str(found)
    assert len(found.to_frame()) == sum(map(len, found.by_fold.values()))
    assert set(found.to_frame("differences", backend="polars").columns) == {
        "first",
        "second",
        "figure",
        "difference",
        "low",
        "high",
    }


def test_comparison_of_numbers_and_other_folds():
    found = compare([CARTRegressor(max_depth=2)], *NUMBERS, cv=KFold(4))
    assert set(found.by_fold["CARTRegressor"]) == {"r2", "rmse", "mae", "leaves", "depth", "fit_seconds"}
    assert found.differences == []
    twice = compare([CARTRegressor(max_depth=2)], *NUMBERS, cv=3, repeats=2)
    assert len(twice.by_fold["CARTRegressor"]["r2"]) == 6
    again = compare([CARTRegressor(max_depth=2)], *NUMBERS, cv=np.int64(3), repeats=2)
    assert_allclose(again.by_fold["CARTRegressor"]["r2"], twice.by_fold["CARTRegressor"]["r2"])


def test_tables_as_they_are():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"city": rng.choice(["Bern", None, "Rome"], 90), "size": rng.normal(size=90)})
    truth = np.where(rng.random(90) < 0.5, "yes", "no")
    found = compare([CARTClassifier(max_depth=2), C45Classifier()], table, truth, cv=3)
    assert all(len(figures["accuracy"]) == 3 for figures in found.by_fold.values())


def test_bars_show_training_and_these_samples_side_by_side():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    result = evaluate(CARTClassifier(max_leaf_nodes=4).fit(X, Y), X[::2], Y[::2])
    axes = result.plot_leaves()
    expected, observed = ([bar.get_width() for bar in bars] for bars in axes.containers[:2])
    rows = sorted(result.leaves, key=lambda row: -row["share"])
    assert expected == [row["expected"] for row in rows]
    assert observed == [row["observed"] for row in rows]
    assert [label.get_text().partition(" ·")[0] for label in axes.get_yticklabels()] == [f"leaf {row['node']}" for row in rows]
    middles = [[bar.get_y() + bar.get_height() / 2 for bar in bars] for bars in axes.containers[:2]]
    assert all(0 < below - above < 0.5 for above, below in zip(*middles, strict=True))
    given = result.plot_leaves(pyplot.figure().gca(), max_leaves=1)
    assert len(given.containers[0]) == 1
    assert evaluate(CARTRegressor(max_depth=1).fit(X, X[:, 0]), X, X[:, 0]).plot_leaves().get_xlabel() == "mean"
    pyplot.close("all")
    with pytest.raises(ValueError, match="no leaves to draw: the model is not a single tree"):
        evaluate(DummyClassifier().fit(X, Y), X, Y).plot_leaves()
    with pytest.raises(ValueError, match="max_leaves"):
        result.plot_leaves(max_leaves=0)
