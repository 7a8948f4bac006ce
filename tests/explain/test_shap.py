"""SHAP values: by definition, over all coalitions; as shap has them; on real tables; for deep trees."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import naive_shap
import numpy as np
import pandas as pd
import polars as pl
import pytest
import shap_oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from strategies import FEWER_EACH, SmallTable, code_columns, limits, tables
from test_engine_twin import ANY_GAIN, CLASSIFIERS, REGRESSORS, EncodedTable, grow_compiled, kinds_for, rows_like
from test_missing_policies import RECIPES as POLICIES
from test_missing_policies import draw_table
from test_missing_policies import grow as grow_by_policy
from test_outputs import CLASSES, NUMBERS, several
from test_outputs import grow_compiled as grow_several
from test_surrogates import RECIPES as WITH_SURROGATES
from test_surrogates import bounds_of_surrogates, tables_for
from test_surrogates import grow as grow_surrogates
from trees import chain, random_trees

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._data.table import Table
from fasttree._engine.walk import attribution
from fasttree._explain.shap import ShapValues, shap_values
from fasttree._learn.limits import Limits
from fasttree._model import walks
from fasttree._model.tree import Tree

EXACT = 1e-9


def row_of(table: SmallTable, i: int) -> list[float]:
    return EncodedTable(table).block(i, i + 1)[0].tolist()


def all_values(tree: Tree, table: Any, background: Any = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values (n_samples, n_features, k) and base values (n_samples, k), whatever the task and the targets."""
    classes = None if tree.task == "regression" else np.arange(tree.n_values)
    found = shap_values(tree, table, background, classes)
    assert isinstance(found, ShapValues)
    n = len(found)
    return found.values.reshape(n, tree.n_features, -1), found.base_values.reshape(n, -1)


def assert_by_definition(tree: Tree, rows: SmallTable, background: SmallTable | None) -> None:
    table = cast(Table, EncodedTable(rows))
    other = None if background is None else EncodedTable(background)
    others = None if background is None else [row_of(background, i) for i in range(background.n_samples)]
    values, base = all_values(tree, table, other)
    for i in range(rows.n_samples):
        row = row_of(rows, i)
        assert values[i] == pytest.approx(naive_shap.shap_values(tree, row, others), abs=EXACT)
    assert base + values.sum(axis=1) == pytest.approx(walks.predict_value(tree, table), abs=EXACT)


# By definition


@st.composite
def rows_of_schema(draw: st.DrawFn) -> SmallTable:
    """Rows for `trees.SCHEMA`, with missing values."""
    n = draw(st.integers(1, 3))
    age = draw(st.lists(st.one_of(st.floats(-110, 110), st.sampled_from([0.0, 7.25, np.nan])), min_size=n, max_size=n))
    codes = [draw(code_columns(n, q, missing=True)) for q in (3, 4, 2)]
    return SmallTable((np.array(age), *codes), (0, 1, 2, 2), (0, 3, 4, 2), np.zeros(n, np.intp), 2)


@given(tree=random_trees(), rows=rows_of_schema(), background=st.one_of(st.none(), rows_of_schema()))
def test_trees_of_every_kind_of_test_agree_with_the_definition(
    tree: Tree, rows: SmallTable, background: SmallTable | None
) -> None:
    assert_by_definition(tree, rows, background)


@pytest.mark.parametrize("name", CLASSIFIERS | REGRESSORS)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN))
def test_grown_trees_agree_with_the_definition(name: str, data: st.DataObject, bounds: Limits) -> None:
    recipe = (CLASSIFIERS | REGRESSORS)[name]
    task = "regression" if name in REGRESSORS else "classification"
    options = {"kinds": kinds_for(recipe), "missing": recipe.missing != "error", "max_features": 4, "max_samples": 15}
    table = data.draw(tables(task=task, **cast(Any, options)))
    if recipe.impurity == "poisson":
        table = replace(table, y=np.abs(table.y) + 0.25)
    tree = grow_compiled(table, recipe, bounds)
    background = table.take([0, table.n_samples - 1]) if data.draw(st.booleans()) else None
    assert_by_definition(tree, data.draw(rows_like(table)).take([0, 1]), background)


@pytest.mark.parametrize("name", POLICIES)
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN))
def test_every_policy_for_missing_values_agrees_with_the_definition(name: str, data: st.DataObject, bounds: Limits) -> None:
    table = draw_table(data, POLICIES[name], max_features=4, max_samples=15)
    tree = grow_by_policy(table, POLICIES[name], bounds)
    background = table.take([0, table.n_samples - 1]) if data.draw(st.booleans()) else None
    assert_by_definition(tree, data.draw(rows_like(table)).take([0, 1]), background)


@pytest.mark.parametrize("name", WITH_SURROGATES)
@FEWER_EACH
@given(data=st.data(), bounds=bounds_of_surrogates())
def test_what_surrogates_decide_is_credited_to_the_tested_feature(name: str, data: st.DataObject, bounds: Limits) -> None:
    table = data.draw(tables_for(name))
    tree = grow_surrogates(table, WITH_SURROGATES[name], bounds)
    background = table.take([0, table.n_samples - 1]) if data.draw(st.booleans()) else None
    assert_by_definition(tree, data.draw(rows_like(table)).take([0, 1]), background)


@pytest.mark.parametrize("name", [*CLASSES, *NUMBERS])
@FEWER_EACH
@given(data=st.data(), bounds=limits(min_gain=ANY_GAIN))
def test_every_target_has_values_of_its_own(name: str, data: st.DataObject, bounds: Limits) -> None:
    recipe = {**CLASSES, **NUMBERS}[name]
    table = data.draw(several(recipe))
    tree = grow_several(table, recipe, bounds)
    rows = replace(table.take([0]), y=np.zeros(1), n_classes=2)
    assert_by_definition(tree, rows, None)


# As shap has them


def differences(name: str, values: NDArray[Any], expected: NDArray[Any]) -> None:
    model, X, background = shap_oracle.case(name)
    found = model.shap_values(X, background)
    tolerance = EXACT if background is None else 1e-6
    scale = np.abs(expected).max()
    assert found.values.reshape(values.shape) == pytest.approx(values, abs=tolerance * scale)
    assert found.base_values[0] == pytest.approx(expected if len(expected) > 1 else expected[0], rel=tolerance)


@pytest.mark.parametrize("name", shap_oracle.CASES)
def test_values_are_those_that_shap_found(name: str) -> None:
    figures = json.loads(shap_oracle.RECORDED.read_text())["cases"][name]
    differences(name, np.array(figures["values"]), np.array(figures["expected"]))


@pytest.mark.parametrize("name", shap_oracle.CASES)
def test_values_are_those_that_shap_finds(name: str) -> None:
    pytest.importorskip("shap", reason="shap is not installed: its recorded figures alone are compared")
    differences(name, *shap_oracle.ask(name))


@pytest.mark.filterwarnings("ignore")
def test_shap_plots_numbers_classes_and_categories() -> None:
    shap = pytest.importorskip("shap", reason="shap is not installed")
    import matplotlib.pyplot as plt

    X, y = load_iris(return_X_y=True, as_frame=True)
    numbers = shap.Explanation(**vars(CARTRegressor(max_depth=3).fit(X, y).shap_values(X)))
    classes = shap.Explanation(**vars(CARTClassifier(max_depth=3).fit(X, y).shap_values(X)))
    people, income = adult()
    categories = shap.Explanation(**vars(C45Classifier().fit(people, income).shap_values(people[:100])))
    for part in (numbers, classes[:, :, 2], categories[:, :, 1]):
        for plot, shown in ((shap.plots.waterfall, part[0]), (shap.plots.beeswarm, part), (shap.plots.bar, part)):
            plot(shown, show=False)
            assert plt.gcf().axes[0].get_yticklabels()
            plt.close("all")


# Axioms and metamorphic relations


def loan() -> tuple[pl.DataFrame, pl.Series]:
    table = pl.read_csv(Path(__file__).parents[2] / "examples" / "loan.csv")
    return table.drop("class"), table["class"]


def adult() -> tuple[pl.DataFrame, pl.Series]:
    table = pl.read_csv(Path(__file__).parents[2] / "examples" / "adult.csv.gz", n_rows=3000)
    return table.drop("income"), table["income"]


def assert_adds_up(model: Any, X: Any, background: Any = None) -> None:
    found = model.shap_values(X, background)
    prediction = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)
    for part, wanted in zip(found, prediction, strict=True) if isinstance(found, list) else [(found, prediction)]:
        assert part.base_values + part.values.sum(axis=1) == pytest.approx(wanted, abs=EXACT)


@pytest.mark.parametrize(
    "model",
    [
        CARTClassifier(),
        CARTClassifier(missing="surrogate", max_leaf_nodes=60),
        CARTClassifier(missing="fractional"),
        CARTClassifier(criterion="entropy", loss_matrix={">50K": {"<=50K": 5}}, max_depth=6),
        C45Classifier(),
        C45Classifier(subset=True, soft_thresholds=True),
    ],
    ids=str,
)
def test_values_add_up_to_the_prediction_on_a_real_table(model: Any) -> None:
    X, y = adult()
    model.fit(X, y)
    assert_adds_up(model, X[:200])
    assert_adds_up(model, X[:40], X[1000:1030])


def test_classes_of_several_targets_have_values_of_their_own() -> None:
    X, y = adult()
    model = CARTClassifier(max_depth=5).fit(X.drop("sex"), pl.DataFrame({"income": y, "sex": X["sex"]}))
    found = model.shap_values(X.drop("sex")[:50])
    assert [part.output_names for part in found] == [list(labels) for labels in model.classes_]
    assert_adds_up(model, X.drop("sex")[:50])


def test_numbers_of_several_targets_are_outputs() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = CARTRegressor(max_depth=5).fit(X, np.column_stack([X[:, 0], X[:, 1] * X[:, 2]]))
    assert model.shap_values(X).values.shape == (200, 3, 2)
    assert_adds_up(model, X)
    assert_adds_up(model, X, X[:10])


def test_a_feature_that_is_not_tested_adds_nothing() -> None:
    X, y = adult()
    model = C45Classifier().fit(X, y)
    unused = np.setdiff1d(np.arange(X.shape[1]), model.tree_.feature)
    assert unused.size
    assert not model.shap_values(X[:50]).values[:, unused].any()


def test_features_that_play_the_same_part_add_the_same() -> None:
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    model = CARTRegressor().fit(X, X.prod(axis=1))
    found = model.shap_values(X).values
    assert found[:, 0] == pytest.approx(found[[0, 2, 1, 3], 1], abs=1e-15)
    assert found[3] == pytest.approx([0.375, 0.375])


def test_a_tree_of_one_node_adds_nothing() -> None:
    found = CARTRegressor().fit([[1.0], [2.0]], [3.0, 3.0]).shap_values([[1.0], [5.0]])
    assert found.values.tolist() == [[0.0], [0.0]]
    assert found.base_values.tolist() == [3.0, 3.0]


def test_a_far_constant_costs_no_digits() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    near, far = CARTRegressor(max_depth=6).fit(X, y), CARTRegressor(max_depth=6).fit(X, y + 2.0**20)
    assert far.shap_values(X).values == pytest.approx(near.shap_values(X).values, abs=1e-8)


def test_neither_the_layout_nor_the_order_nor_the_number_of_samples_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    model = CARTClassifier().fit(X, y)
    expected = model.shap_values(X).values
    of_background = model.shap_values(X, X[::10]).values
    order = np.random.default_rng(0).permutation(len(X))
    wide = np.zeros((150, 8))
    wide[:, ::2] = X
    for other in (np.asfortranarray(X), wide[:, ::2], X.tolist()):
        assert (model.shap_values(other).values == expected).all()
    assert (model.shap_values(X[order]).values == expected[order]).all()
    assert (model.shap_values(X[3:4]).values == expected[3:4]).all()
    monkeypatch.setattr("fasttree._explain.shap.AT_ONCE", 1)
    assert (model.shap_values(X).values == expected).all()
    assert model.shap_values(X, X[::10]).values == pytest.approx(of_background, abs=1e-15)


def test_single_precision_is_the_same_as_double() -> None:
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32)
    model = CARTClassifier().fit(X, y)
    wide = model.shap_values(X.astype(np.float64), X[:9].astype(np.float64))
    assert (model.shap_values(X, X[:9]).values == wide.values).all()


# Deep and wide


@given(tree=random_trees())
def test_the_features_of_the_longest_path_are_counted_once(tree: Tree) -> None:
    tested: list[set[int]] = [set()]
    for node in range(1, tree.node_count):
        above = int(tree.parent[node])
        tested.append(tested[above] | {int(tree.feature[above])})
    found = attribution.most_features(tree.parent, tree.first_child, tree.n_branches, tree.feature, tree.n_features)
    assert found == max(map(len, tested))


@pytest.mark.parametrize("n_levels", [1, 17, 10_000])
def test_a_chain_of_tests_of_one_feature_gives_it_the_whole_difference(n_levels: int) -> None:
    tree = chain(n_levels)
    tree = tree.replace(value=np.sin(np.arange(tree.node_count))[:, None])
    X = np.array([0.5 * n_levels, -1.0, 2.0 * n_levels, np.nan])
    table = cast(Table, EncodedTable(SmallTable((X,), (0,), (0,), np.zeros(4, np.intp), 2)))
    values, base = all_values(tree, table)
    leaf = tree.n_branches == 0
    assert base[:, 0] == pytest.approx(np.full(4, tree.weight[leaf] @ tree.value[leaf, 0] / tree.weight[0]))
    assert values[:, 0] + base == pytest.approx(walks.predict_value(tree, table), abs=1e-12)


@pytest.mark.parametrize("interventional", [False, True])
def test_paths_of_hundreds_of_features_add_up(interventional: bool) -> None:
    # as many distinct features as levels: the quadrature has 150 points
    n_features = 300
    tree = chain(n_features).replace(
        n_features=n_features, feature=np.where(chain(n_features).n_branches > 0, np.arange(2 * n_features + 1) // 2, -1)
    )
    rng = np.random.default_rng(0)
    X = np.arange(n_features) + rng.normal(scale=0.5, size=(3, n_features)) + 1.2
    rows = SmallTable(tuple(X.T), (0,) * n_features, (0,) * n_features, np.zeros(3, np.intp), 2)
    background = rows.take([2, 0]) if interventional else None
    values, base = all_values(tree, cast(Table, EncodedTable(rows)), background and EncodedTable(background))
    prediction = walks.predict_value(tree, cast(Table, EncodedTable(rows)))
    assert base + values.sum(axis=1) == pytest.approx(prediction, rel=1e-12)


def test_a_product_of_many_features_is_shared_equally() -> None:
    # x_0 and ... and x_(m - 1) of fair coins, all true: each adds (1 - 2^-m) / m
    m = 40
    inner = np.arange(2 * m + 1) % 2 == 0
    inner[-1] = False
    weight = np.where(np.arange(2 * m + 1) == 0, 1.0, 0.5 ** ((np.arange(2 * m + 1) + 1) // 2))
    tree = chain(m).replace(
        n_features=m,
        feature=np.where(inner, np.arange(2 * m + 1) // 2, -1),
        threshold=np.where(inner, 0.5, np.nan),
        weight=weight,
        value=(np.arange(2 * m + 1) == 2 * m).astype(float)[:, None],
    )
    rows = SmallTable((np.ones(1),) * m, (0,) * m, (0,) * m, np.zeros(1, np.intp), 2)
    values, base = all_values(tree, EncodedTable(rows))
    assert base[0, 0] == pytest.approx(0.5**m)
    assert values[0, :, 0] == pytest.approx(np.full(m, (1 - 0.5**m) / m), rel=1e-12)


# The object, and what is refused


def test_categories_stand_in_the_data_by_name() -> None:
    X, y = loan()
    model = ID3Classifier().fit(X, y)
    found = model.shap_values(X)
    assert found.feature_names == X.columns
    assert found.data.tolist() == [list(row) for row in X.rows()]
    assert found.output_names == model.classes_.tolist()
    assert len(found) == X.height


def test_the_representation_names_the_features_by_falling_size() -> None:
    X, y = loan()
    lines = repr(ID3Classifier().fit(X, y).shap_values(X)).splitlines()
    assert lines[0] == "ShapValues: 15 samples, 4 features, 2 outputs; mean |value|:"
    sizes = [float(line.split()[-1]) for line in lines[1:]]
    assert sizes == sorted(sizes, reverse=True)
    assert lines[1].split()[0] == "owns_house"


def test_the_representation_counts_the_features_beyond_twenty() -> None:
    X = np.random.default_rng(0).normal(size=(30, 25))
    assert repr(CARTRegressor().fit(X, X[:, 3]).shap_values(X)).endswith("... and 5 more features")


def test_the_mean_absolute_value_is_over_samples_and_outputs() -> None:
    X, y = load_iris(return_X_y=True)
    found = CARTClassifier().fit(X, y).shap_values(X)
    assert found.importances() == pytest.approx(np.abs(found.values).mean(axis=0).mean(axis=1))


def test_missing_and_unseen_values_are_explained() -> None:
    X = pd.DataFrame({"colour": ["red", "red", "blue", "blue"], "size": [1.0, 2.0, 1.0, 2.0]})
    model = CARTClassifier().fit(X, ["a", "a", "b", "b"])
    other = pd.DataFrame({"colour": ["green", None], "size": [np.nan, 1.0]})
    assert_adds_up(model, other)
    assert np.isnan(model.shap_values(other).data[0].astype(float)).all()


def test_an_estimator_that_is_not_fitted_says_so() -> None:
    with pytest.raises(ValueError, match="not fitted"):
        CARTClassifier().shap_values([[1.0]])


def test_a_background_without_rows_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="0 sample"):
        CARTClassifier().fit(X, y).shap_values(X, X[:0])


def test_a_loaded_tree_has_the_same_values(tmp_path: Path) -> None:
    X, y = loan()
    model = ID3Classifier().fit(X, y)
    model.save(tmp_path / "tree.json")
    assert (fasttree.load(tmp_path / "tree.json").shap_values(X).values == model.shap_values(X).values).all()


def test_nothing_that_is_given_changes() -> None:
    X, y = load_iris(return_X_y=True)
    model, before = CARTClassifier().fit(X, y), X.copy()
    X.flags.writeable = False
    model.shap_values(X, X[:5])
    assert (before == X).all()
