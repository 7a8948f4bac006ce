"""Whole trees as the textbooks draw them.

Li Hang, Statistical Learning Methods, chapter 5 (loan table, regression exercise 5.2); J. R. Quinlan, Induction of Decision
Trees, 1986 (tennis); P.-N. Tan, M. Steinbach, V. Kumar, Introduction to Data Mining, chapter 4 (income).
"""

import numpy as np
import polars as pl
import pytest

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._data.schema import Kind
from fasttree._model.arrays import CATEGORY, THRESHOLD


def close(expected):
    return pytest.approx(expected, rel=0, abs=1e-9)


def drawn(model, node=0):
    """Return a tree as on paper: a leaf is (prediction, weight), a test {feature: {condition: what follows}}."""
    tree = model.tree_
    if tree.n_branches[node] == 0:
        value = tree.value[node]
        return (model.classes_[value.argmax()] if hasattr(model, "classes_") else close(value[0])), close(tree.weight[node])
    feature = model.schema_.features[tree.feature[node]]
    if tree.kind[node] == THRESHOLD and feature.kind == Kind.CONTINUOUS:
        conditions = [f"<= {tree.threshold[node]:g}", f"> {tree.threshold[node]:g}"]
    elif tree.kind[node] == THRESHOLD:
        last = int(tree.threshold[node])
        conditions = ["|".join(feature.categories[:last]), "|".join(feature.categories[last:])]
    elif tree.kind[node] == CATEGORY:
        conditions = list(feature.categories)
    else:
        entries = slice(*tree.categories_start[node : node + 2])
        of_branch = [[] for _ in range(tree.n_branches[node])]
        for code, branch in zip(tree.categories_code[entries], tree.categories_branch[entries], strict=True):
            of_branch[branch].append(feature.categories[code - 1])
        conditions = ["|".join(map(str, categories)) for categories in of_branch]
    first = tree.first_child[node]
    return {feature.name: {condition: drawn(model, first + b) for b, condition in enumerate(conditions)}}


LOAN_TREE = {"owns_house": {"yes": ("yes", 6), "no": {"has_job": {"yes": ("yes", 3), "no": ("no", 6)}}}}
TENNIS_TREE = {
    "outlook": {
        "overcast": ("yes", 4),
        "sunny": {"humidity": {"high": ("no", 3), "normal": ("yes", 2)}},
        "rain": {"wind": {"weak": ("yes", 3), "strong": ("no", 2)}},
    }
}


@pytest.fixture(scope="module")
def loan(data):
    table = pl.read_csv(data / "loan15.csv")
    return table.drop("id", "approved"), table["approved"]


@pytest.fixture(scope="module")
def tennis(data):
    table = pl.read_csv(data / "tennis14.csv")
    return table.drop("play"), table["play"]


ALGORITHMS = [
    ID3Classifier(),
    C45Classifier(),
    C45Classifier(criterion="gain"),
    CARTClassifier(),
    CARTClassifier(nominal="one_vs_rest"),
    CARTClassifier(criterion="entropy"),
]


@pytest.mark.parametrize("model", ALGORITHMS, ids=repr)
def test_every_algorithm_grows_the_loan_tree(loan, model):
    X, y = loan
    model.fit(X, y)
    model.tree_.check()
    assert drawn(model) == LOAN_TREE
    assert (model.predict(X) == y.to_numpy()).all()
    assert model.get_n_leaves() == 3
    assert model.get_depth() == 2


@pytest.mark.parametrize("model", ALGORITHMS, ids=repr)
def test_an_applicant_without_house_but_with_job_gets_the_loan(loan, model):
    applicant = pl.DataFrame({"age": ["young"], "has_job": ["yes"], "owns_house": ["no"], "credit": ["fair"]})
    assert model.fit(*loan).predict(applicant).tolist() == ["yes"]


@pytest.mark.parametrize(
    ("model", "impurity", "gain"),
    [
        (ID3Classifier(), [0.9709505945, 0.9182958341], [0.4199730940, 0.9182958341]),
        (CARTClassifier(), [0.48, 0.4444444444], [0.2133333333, 0.4444444444]),
    ],
    ids=repr,
)
def test_loan_tree_keeps_the_figures_of_its_two_tests(loan, model, impurity, gain):
    tree = model.fit(*loan).tree_
    tests = tree.n_branches > 0
    assert tree.impurity[tests] == close(impurity)
    assert tree.gain[tests] == close(gain)
    assert not tree.impurity[~tests].any()


def test_id3_stops_where_the_best_gain_is_not_above_epsilon(loan):
    assert drawn(ID3Classifier(epsilon=0.42).fit(*loan)) == ("yes", 15)
    assert drawn(ID3Classifier(epsilon=0.4199).fit(*loan)) == LOAN_TREE


def test_gain_prefers_an_id_column_and_gain_ratio_does_not(data):
    table = pl.read_csv(data / "loan15.csv")
    X, y = table.drop("approved"), table["approved"]
    assert ID3Classifier().fit(X, y).get_n_leaves() == 15  # integers are categories to ID3
    model = C45Classifier(categorical_features=["id"], min_samples_branch=1).fit(X, y)
    assert model.tree_.feature[0] == X.columns.index("owns_house")


@pytest.mark.parametrize("model", [ID3Classifier(), C45Classifier()], ids=repr)
def test_tennis_tree(tennis, model):
    X, y = tennis
    model.fit(X, y)
    model.tree_.check()
    assert drawn(model) == TENNIS_TREE
    assert (model.predict(X) == y.to_numpy()).all()


def test_tennis_tree_keeps_the_gains_of_quinlan_1986(tennis):
    tree = ID3Classifier().fit(*tennis).tree_
    assert tree.impurity[0] == close(0.9402859587)
    assert tree.gain[tree.n_branches > 0] == close([0.2467498198, 0.9709505945, 0.9709505945])


def test_income_is_cut_at_97_and_a_half(data):
    table = pl.read_csv(data / "income10.csv")
    tree = CARTClassifier(max_depth=1).fit(table.select("income"), table["defaulted"]).tree_
    assert tree.threshold[0] == 97.5
    assert tree.impurity[0] == close(0.42)
    assert tree.gain[0] == close(0.12)
    by_entropy = CARTClassifier(max_depth=1, criterion="entropy").fit(table.select("income"), table["defaulted"]).tree_
    assert by_entropy.threshold[0] == 97.5
    assert by_entropy.gain[0] == close(0.2812908992)


@pytest.fixture(scope="module")
def exercise(data):
    table = pl.read_csv(data / "li_reg10.csv")
    return table.select("x"), table["y"]


def test_regression_exercise_at_depth_2(exercise):
    model = CARTRegressor(max_depth=2).fit(*exercise)
    model.tree_.check()
    assert drawn(model) == {
        "x": {
            "<= 5.5": {"x": {"<= 3.5": (4.72, 3), "> 3.5": (5.57, 2)}},
            "> 5.5": {"x": {"<= 7.5": (7.475, 2), "> 7.5": (8.6433333333, 3)}},
        }
    }


def test_regression_exercise_grown_in_full(exercise):
    model = CARTRegressor().fit(*exercise)
    tree = model.tree_
    assert model.get_n_leaves() == 10
    assert model.predict(exercise[0]) == close(exercise[1].to_numpy())
    nodes = {  # samples of a node: mean, sum of squared errors, threshold
        (0, 10): (6.618, 27.63236, 5.5),
        (0, 5): (5.06, 1.0582, 3.5),
        (0, 3): (4.72, 0.0854, 1.5),
        (1, 3): (4.83, 0.0128, 2.5),
        (3, 5): (5.57, 0.1058, 4.5),
        (5, 10): (8.176, 2.30052, 7.5),
        (5, 7): (7.475, 0.36125, 6.5),
        (7, 10): (8.6433333333, 0.3012666667, 8.5),
        (8, 10): (8.85, 0.045, 9.5),
    }
    paths = model.decision_path(exercise[0]).toarray().astype(bool)
    found = {}
    for node in np.flatnonzero(tree.n_branches):
        samples = np.flatnonzero(paths[:, node])
        found[samples[0], samples[-1] + 1] = (tree.value[node, 0], tree.risk[node], tree.threshold[node])
    assert found.keys() == nodes.keys()
    for samples, figures in nodes.items():
        assert found[samples] == close(figures), samples


def test_a_sample_with_a_missing_value_goes_down_both_branches_in_part(data):
    table = pl.read_csv(data / "missing10.csv", schema_overrides={"a": pl.String})
    model = C45Classifier(max_depth=1).fit(table.drop("y"), table["y"])
    tree = model.tree_
    assert model.schema_.features[tree.feature[0]].name == "a"
    assert tree.gain[0] == close(0.5019550009)
    assert tree.value.tolist() == [[6, 4], close([5, 0.5555555556]), close([1, 3.4444444444])]
    assert tree.impurity[1:] == close([0.4689955936, 0.7691928290])
    unknown = table.drop("y").tail(1)
    assert model.predict_proba(unknown)[0] == close([0.6, 0.4])
