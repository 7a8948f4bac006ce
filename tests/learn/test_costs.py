"""Priors and losses (Breiman et al. 1984, section 4.4): worked numbers, what they are equal to, and what is refused."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rpart_oracle import load as load_oracle
from trees import SCHEMA, flat, random_nodes

import fasttree
from fasttree import CARTClassifier, TreeClassifier
from fasttree._data.learn import learn_table
from fasttree._export.document import file, read, values, write
from fasttree._learn.prune.losses import losses
from fasttree._learn.samples import Samples
from fasttree._model.tree import Tree
from fasttree.pruning import CostComplexity

DATA = Path(__file__).parents[1] / "tables"
HEAVY_LOSS = [[0, 1, 2], [5, 0, 1], [1, 3, 0]]


def credit() -> tuple[pd.DataFrame, pd.Series]:
    """German credit, whose description asks for a cost of 5 for a bad risk (2) taken for a good one (1)."""
    table = pd.read_csv(DATA / "german.csv.gz")
    return table.drop(columns="class"), table["class"]


def three_classes(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(0)
    X = random.randint(0, 20, (n, 4)).astype(float)
    return X, (X[:, 0] + X[:, 1] + random.normal(0, 8, n) > 15).astype(int) + (X[:, 2] + random.normal(0, 5, n) > 14)


def cost_of(loss: Any, y: Any, predicted: Any) -> float:
    return float(np.asarray(loss)[np.asarray(y), np.asarray(predicted)].sum())


# Worked numbers


def test_kyphosis_where_missing_one_costs_four(shared: Path):
    oracle = load_oracle(shared, "kyphosis_loss")
    tree = CARTClassifier(loss_matrix={"present": {"absent": 4}}, max_depth=1).fit(oracle.X, oracle.y).tree_
    assert tree.value[0].tolist() == [64, 17]
    assert (tree.predicted_class[0], tree.errors[0]) == (1, 64)
    altered = np.array([64, 17 * 4]) / (64 + 17 * 4)
    assert altered == pytest.approx([0.4848484848, 0.5151515152])
    assert tree.impurity[0] == pytest.approx(1 - (altered**2).sum())
    assert (oracle.X.columns[tree.feature[0]], tree.threshold[0]) == ("Start", 12.5)
    assert tree.weight[0] * tree.gain[0] == pytest.approx(13.7460267006)
    assert tree.risk[0] - tree.risk[1:].sum() == pytest.approx(13.7460267006)


def test_kyphosis_by_entropy_where_a_third_has_it(shared: Path):
    oracle = load_oracle(shared, "kyphosis_prior_information")
    model = CARTClassifier(criterion="entropy", priors=[0.65, 0.35], max_depth=1).fit(oracle.X, oracle.y)
    assert model.tree_.value[0] == pytest.approx(81 * np.array([0.65, 0.35]))
    assert model.tree_.errors[0] == pytest.approx(28.35)
    assert (oracle.X.columns[model.tree_.feature[0]], model.tree_.threshold[0]) == ("Start", 12.5)
    assert model.tree_.weight[0] * model.tree_.gain[0] * np.log(2) == pytest.approx(13.1529241969)


def test_a_leaf_answers_what_costs_least_and_says_what_it_costs():
    X, y = [["a"]] * 5, ["no", "no", "no", "no", "yes"]
    for cost, text in [(3, "no (4 of 5, cost 3)"), (4, "no (4 of 5, cost 4)"), (5, "yes (1 of 5, cost 4)")]:
        model = CARTClassifier(loss_matrix={"yes": {"no": cost}}).fit(X, y)
        assert model.export_text() == text + "\n"
        assert model.predict_proba(X[:1]).tolist() == [[0.8, 0.2]]
        assert model.predict(X[:1]) == [text.split()[0]]


def test_of_answers_of_equal_cost_the_first_wins_although_sums_are_rounded():
    # 0.3 + 0.3 + 0.3 is not 0.9 in doubles
    X, y = [[1.0]] * 4, ["a", "b", "b", "b"]
    weight = [0.9, 0.3, 0.3, 0.3]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        model = CARTClassifier(loss_matrix=[[0, 1], [1, 0]]).fit(
            X, [y[i] for i in order], sample_weight=[weight[i] for i in order]
        )
        assert model.predict([[1.0]]) == ["a"]


def test_credit_is_given_more_carefully_where_bad_risks_cost_five():
    X, y = credit()
    loss = {2: {1: 5}}
    plain = CARTClassifier(pruning=CostComplexity(alpha="cv", risk="error"), random_state=0).fit(X[::2], y[::2])
    careful = CARTClassifier(pruning=CostComplexity(alpha="cv", risk="error"), random_state=0, loss_matrix=loss).fit(
        X[::2], y[::2]
    )
    matrix = [[0, 1], [5, 0]]
    costs = [cost_of(matrix, y[1::2] - 1, model.predict(X[1::2]) - 1) for model in (plain, careful)]
    assert costs[1] < 0.8 * costs[0]


# What they are equal to


def test_equal_losses_grow_the_tree_without_losses():
    X, y = three_classes()
    plain = CARTClassifier().fit(X, y)
    for cost in (1.0, 2.0, 0.3):
        model = CARTClassifier(loss_matrix=cost * (1 - np.eye(3))).fit(X, y)
        assert model.tree_.value == pytest.approx(plain.tree_.value)
        assert model.tree_.risk == pytest.approx(plain.tree_.risk)
        assert (model.tree_.threshold == plain.tree_.threshold)[plain.tree_.n_branches > 0].all()
        assert (model.predict(X) == plain.predict(X)).all()
        assert model.tree_.errors == pytest.approx(cost * plain.tree_.errors)


def test_priors_as_the_classes_occur_change_nothing():
    X, y = three_classes()
    plain = CARTClassifier().fit(X, y).tree_
    model = CARTClassifier(priors=np.bincount(y) / len(y)).fit(X, y).tree_
    assert model.value == pytest.approx(plain.value)
    assert (model.feature == plain.feature).all()


def test_priors_weigh_classes_as_class_weight_can():
    X, y = three_classes()
    priors = np.array([0.2, 0.5, 0.3])
    weights = priors * len(y) / np.bincount(y)
    by_priors = CARTClassifier(priors=dict(enumerate(priors))).fit(X, y)
    by_weights = CARTClassifier(class_weight=dict(enumerate(weights))).fit(X, y)
    assert (by_priors.tree_.feature == by_weights.tree_.feature).all()
    assert by_priors.predict_proba(X) == pytest.approx(by_weights.predict_proba(X))
    assert by_priors.tree_.value[0] / by_priors.tree_.weight[0] == pytest.approx(priors)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_splits_are_those_of_altered_priors(criterion: str):
    X, y = three_classes()
    rows = dict(enumerate(np.sum(HEAVY_LOSS, axis=1).tolist()))
    altered = CARTClassifier(criterion=criterion, class_weight=rows).fit(X, y).tree_
    tree = CARTClassifier(criterion=criterion, loss_matrix=HEAVY_LOSS).fit(X, y).tree_
    assert (tree.feature == altered.feature).all()
    assert (tree.threshold == altered.threshold)[tree.n_branches > 0].all()
    assert (tree.value * list(rows.values()) == altered.value).all()
    shares = tree.risk / tree.risk[0]
    assert shares == pytest.approx(altered.risk / altered.risk[0])
    tree.check()


@pytest.mark.parametrize(
    "recipe",
    [{"missing": "direction"}, {"missing": "surrogate"}, {"missing": "fractional", "nominal": "present", "ordinal": "present"}],
    ids=lambda recipe: recipe["missing"],
)
def test_missing_values_and_weights_go_along(recipe: dict[str, str]):
    X, y = three_classes()
    X[::7, 0] = np.nan
    weight = np.random.RandomState(1).uniform(0.1, 2, len(y))
    model = TreeClassifier(recipe=recipe, loss_matrix=HEAVY_LOSS, min_samples_leaf=5, priors=[0.5, 0.2, 0.3])
    tree = model.fit(X, y, sample_weight=weight).tree_
    tree.check()
    assert tree.value[0] / tree.weight[0] == pytest.approx([0.5, 0.2, 0.3])
    expected = model.predict_proba(X) @ np.array(HEAVY_LOSS)
    assert (model.predict(X) == expected.argmin(axis=1)).all()


# Pruning by costs


def pruned_trees(tree: Tree) -> list[Tree]:
    """Every pruned subtree of a small tree."""
    inner = np.flatnonzero(tree.n_branches)
    trees = []
    for marks in product([False, True], repeat=len(inner)):
        mask = np.zeros(tree.node_count, bool)
        mask[inner] = marks
        trees.append(tree.prune_at(mask))
    return trees


def answers(model: CARTClassifier, tree: Tree, X: Any) -> Any:
    other = copy.copy(model)
    other.tree_ = tree
    return other.predict(X)


def test_reduced_error_pruning_finds_the_subtree_of_least_cost():
    X, y = three_classes()
    model = CARTClassifier(loss_matrix=HEAVY_LOSS, max_depth=3).fit(X[:100], y[:100])
    found = model.prune("reduced_error", X[100:], y[100:])
    least = min(cost_of(HEAVY_LOSS, y[100:], answers(model, tree, X[100:])) for tree in pruned_trees(model.tree_))
    assert cost_of(HEAVY_LOSS, y[100:], found.predict(X[100:])) == least


def test_weakest_links_minimise_cost_and_leaves():
    X, y = three_classes()
    model = CARTClassifier(loss_matrix=HEAVY_LOSS, max_depth=3).fit(X, y)
    every = [(cost_of(HEAVY_LOSS, y, answers(model, tree, X)) / len(y), tree.n_leaves) for tree in pruned_trees(model.tree_)]
    for alpha in (0.0, 0.01, 0.03, 0.1, 1.0):
        found = model.prune(CostComplexity(alpha=alpha, risk="error"))
        cost = cost_of(HEAVY_LOSS, y, found.predict(X)) / len(y)
        assert cost + alpha * found.get_n_leaves() == pytest.approx(min(risk + alpha * leaves for risk, leaves in every))


@pytest.mark.parametrize("priors", [None, [0.6, 0.1, 0.3]])
def test_samples_that_judge_lose_what_wrong_answers_cost(priors: list[float] | None):
    X, y = three_classes()
    model = CARTClassifier(loss_matrix=HEAVY_LOSS, priors=priors, max_depth=4).fit(X[:150], y[:150])
    factor = None if priors is None else np.array(priors) * 150 / np.bincount(y[150:])
    found = losses(model.tree_, Samples(learn_table(X[150:]), y[150:], None, factor))
    leaves = model.tree_.n_branches == 0
    each = np.asarray(HEAVY_LOSS)[y[150:], model.predict(X[150:])] * (1.0 if factor is None else factor[y[150:]])
    assert found.loss[leaves].sum() == pytest.approx(each.sum())
    assert found.square[leaves].sum() == pytest.approx((each**2).sum())
    assert found.weight[0] == 150


def test_folds_keep_the_priors_of_all_samples():
    # one fold holds every sample of a class that its own sequence has never seen
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2], 4)
    folds = [(np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in range(3)]
    model = CARTClassifier(priors=[0.5, 0.25, 0.25], pruning=CostComplexity(risk="error", alpha="cv", cv=folds)).fit(X, y)
    # all are wrong: each sample costs its prior over its share, and the root is wrong on the last two classes
    assert model.pruning_table_.xerror[0] == pytest.approx(1 / 0.5)


@pytest.mark.parametrize("method", ["pessimistic", "error_based", "minimum_error"])
def test_methods_that_take_errors_for_a_binomials_refuse_costs(method: str):
    X, y = three_classes()
    with pytest.raises(ValueError, match=r"loss_matrix and pruning=\w+\(\) exclude each other.*CostComplexity"):
        CARTClassifier(loss_matrix=HEAVY_LOSS, pruning=method).fit(X, y)
    with pytest.raises(ValueError, match=r"loss_matrix and pruning=\w+\(\) exclude"):
        CARTClassifier(loss_matrix=HEAVY_LOSS).fit(X, y).prune(method)


# What is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"priors": "balanced"}, r"priors='balanced': must be a dict \{class: share\}"),
        ({"priors": [0.5, 0.5]}, r"priors has shape \(2,\): must be \(3,\), a share for each of the classes \[0, 1, 2\]"),
        ({"priors": [0.5, 0.4, 0.2]}, r"priors=\[0.5, 0.4, 0.2\]: must sum to 1, but sum to 1.1"),
        ({"priors": [0.5, 0.5, 0.0]}, r"priors=\[0.5, 0.5, 0.0\]: must be positive"),
        ({"priors": [0.5, 0.5, np.nan]}, "must be positive"),
        ({"priors": {0: 0.5, 1: 0.5}}, r"priors lacks a share for \[2\]"),
        ({"priors": {0: 0.5, 1: 0.5, "2": 0.0}}, r"priors names \['2'\], but the classes are \[0, 1, 2\]"),
        ({"priors": ["a", "b", "c"]}, "priors must hold numbers"),
        (
            {"priors": [0.5, 0.3, 0.2], "class_weight": "balanced"},
            r"priors=\[0.5, 0.3, 0.2\] and class_weight='balanced' exclude",
        ),
        ({"loss_matrix": 4}, r"loss_matrix=4: must be a dict \{true class: \{predicted class: cost\}\}"),
        ({"loss_matrix": [[0, 1], [1, 0]]}, r"loss_matrix has shape \(2, 2\): must be \(3, 3\)"),
        ({"loss_matrix": [[0, 1, 1], [1, 0, -1], [1, 1, 0]]}, r"predicting 2 for 1 costs -1.0; must be a finite number >= 0"),
        ({"loss_matrix": [[0, 1, 1], [1, 0, np.inf], [1, 1, 0]]}, r"predicting 2 for 1 costs inf"),
        ({"loss_matrix": [[0, 1, 1], [1, 2, 1], [1, 1, 0]]}, r"predicting 1 correctly costs 2.0; must be 0"),
        ({"loss_matrix": [[0, 1, 1], [1, 0, 1], [0, 0, 0]]}, r"no error on 2 costs anything"),
        ({"loss_matrix": {1: {3: 4}}}, r"loss_matrix\[1\] names \[3\], but the classes are \[0, 1, 2\]"),
        ({"loss_matrix": {"no": {1: 4}}}, r"loss_matrix names \['no'\]"),
        ({"loss_matrix": {1: 4}}, r"loss_matrix\[1\]=4: must be a dict \{predicted class: cost\}"),
        ({"loss_matrix": {1: {0: "much"}}}, "loss_matrix must hold numbers"),
        ({"loss_matrix": HEAVY_LOSS, "monotonic_cst": [1, 0, 0, 0]}, "monotonic_cst and a loss matrix of more than two classes"),
    ],
)
def test_parameters_that_have_no_meaning_are_refused(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        CARTClassifier(**parameters).fit(*three_classes())


def test_tables_of_shares_and_costs_are_refused_on_one_line_that_says_how():
    shares = pd.Series({"a": 0.5, "b": 0.5})
    costs = pd.DataFrame([[0, 1], [4, 0]], index=["a", "b"], columns=["a", "b"])
    for name, table, cure in (("priors", shares, r"to_dict\(\)"), ("loss_matrix", costs, r"to_dict\('index'\)")):
        with pytest.raises(ValueError, match=rf"\A{name}=[^\n]*{cure}[^\n]*\Z"):
            CARTClassifier(**{name: table}).fit([[1], [2]], ["a", "b"])
    CARTClassifier(priors=shares.to_dict(), loss_matrix=costs.to_dict("index")).fit([[1], [2]], ["a", "b"])


def test_a_share_for_a_class_without_samples_is_refused():
    y = pd.Categorical(["no", "no", "yes"], categories=["no", "perhaps", "yes"])
    with pytest.raises(ValueError, match=r"priors gives a share to \['perhaps'\], but there are no samples of them"):
        CARTClassifier(priors=[0.5, 0.25, 0.25]).fit([[1.0], [2.0], [3.0]], y)


def test_a_single_class_has_nothing_to_lose():
    model = CARTClassifier(loss_matrix=[[0]]).fit([[1.0], [2.0]], ["yes", "yes"])
    assert model.predict([[3.0]]) == ["yes"]


# The tree keeps its losses


@given(node=random_nodes("classification"))
def test_a_tree_keeps_its_losses_through_documents_pickles_and_pruning(node):
    plain = flat(node, "classification")
    tree = plain.replace(loss=HEAVY_LOSS)
    assert tree != plain
    tree.check()
    expected = tree.value @ np.array(HEAVY_LOSS)
    assert (tree.predicted_class == expected.argmin(axis=1)).all() or np.isclose(
        expected.min(axis=1), expected[:, tree.predicted_class].diagonal()
    ).all()
    document = write.to_document(tree, SCHEMA, np.array(["a", "b", "c"]), {}, "cart", library_version="1")
    assert document["targets"][0]["loss"] == HEAVY_LOSS
    assert read.from_document(file.loads(file.dumps(document))).tree == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree.prune_at(np.ones(tree.node_count, bool)).loss is not None


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ([[0, 1]] * 3, "has shape"),
        ([[0, 1, 1], [1, 0, 1], [1, 1, np.nan]], "must be finite"),
        ([[0, 1, 1], [1, 0, 1], [1, -1, 0]], "must be finite and not negative"),
        ([[1, 1, 1], [1, 0, 1], [1, 1, 0]], "0 on the diagonal"),
        ([[0, 0, 0], [1, 0, 1], [1, 1, 0]], "positive somewhere in each row"),
    ],
)
def test_a_broken_loss_is_found(loss: Any, message: str):
    tree = CARTClassifier().fit(*three_classes()).tree_
    with pytest.raises(ValueError, match=f"loss: .*{message}"):
        tree.replace(loss=loss).check()


@pytest.mark.parametrize("loss", [[[0, 1]], "costs", [[0, 1, 1], [1, 0, "1"], [1, 1, 0]]])
def test_a_document_with_a_broken_loss_is_refused(loss: Any):
    tree = CARTClassifier(loss_matrix=HEAVY_LOSS, max_depth=2).fit(*three_classes()).tree_
    schema = learn_table(three_classes()[0]).schema
    document = write.to_document(tree, schema, np.array(["a", "b", "c"]), {}, "cart", library_version="1")
    document["targets"][0]["loss"] = loss
    with pytest.raises(values.DocumentError, match="loss"):
        read.from_document(document)


def test_a_saved_model_answers_and_prunes_as_before(tmp_path: Path):
    X, y = three_classes()
    model = CARTClassifier(loss_matrix={2: {0: 3.5}}, priors={0: 0.5, 1: 0.3, 2: 0.2}, max_depth=6).fit(X[:200], y[:200])
    model.save(tmp_path / "model.json")
    again = fasttree.load(tmp_path / "model.json")
    assert again.tree_ == model.tree_
    assert again.get_params() == model.get_params()
    assert (again.predict(X) == model.predict(X)).all()
    judged = [m.prune("reduced_error", X[200:], y[200:]).tree_ for m in (model, again)]
    assert judged[0] == judged[1]


@given(st.permutations(range(60)))
def test_the_order_of_samples_does_not_show(order: list[int]):
    X, y = three_classes(60)
    model = CARTClassifier(loss_matrix=HEAVY_LOSS, priors=[0.2, 0.3, 0.5])
    trees = [model.fit(X[rows], y[rows]).tree_ for rows in (list(range(60)), order)]
    assert trees[0] == trees[1]


def test_the_order_of_the_rows_changes_no_bit_whatever_the_weights():
    random = np.random.RandomState(0)
    X, y = random.randint(0, 3, (400, 4)).astype(float), random.randint(0, 3, 400)
    weight, order = 10.0 ** random.uniform(-9, 9, 400), random.permutation(400)
    model = CARTClassifier(priors=[0.2, 0.3, 0.5], loss_matrix=[[0, 1.1, 2.3], [0.7, 0, 1], [1, 3, 0]])
    tree = model.fit(X, y, sample_weight=weight).tree_
    assert model.fit(X[order], y[order], sample_weight=weight[order]).tree_ == tree
