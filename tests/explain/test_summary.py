"""`summary`: the figures are those of the tree and of the pruning."""

import numpy as np
import pandas as pd
import pytest

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, from_json
from fasttree.pruning import CostComplexity


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 90, 300), "city": rng.choice(["Bern", "Rome"], 300), "noise": rng.normal(size=300)})
    return X, np.where((X.age > 50) ^ (X.city == "Rome") ^ (rng.random(300) < 0.1), "yes", "no")


def test_errors_are_those_of_the_training_samples():
    X, y = table()
    model = CARTClassifier(max_depth=2).fit(X, y)
    text = model.summary()
    largest = pd.Series(y).value_counts(normalize=True)
    assert f"Training error rate: {1 - model.score(X, y):.4f} (always {largest.index[0]}: {1 - largest.iloc[0]:.4f})" in text
    assert text.startswith("300 samples, 3 features\nTree: 7 nodes, 4 leaves, depth 2\n")
    assert "Pruned" not in text


def test_the_chosen_subtree_is_marked():
    X, y = table()
    model = CARTClassifier(pruning=CostComplexity(alpha="cv"), random_state=0).fit(X, y)
    found = model.pruning_table_
    text = model.summary()
    assert f"Pruned by CostComplexity(alpha='cv') from {model.tree_unpruned_.n_leaves} leaves" in text
    marked = [line.split() for line in text.splitlines() if line.startswith("  *")]
    assert marked == [
        [
            "*",
            f"{found.ccp_alphas[found.chosen]:.4g}",
            str(model.get_n_leaves()),
            f"{found.xerror.min():.4f}",
            f"{found.xstd[found.chosen]:.4f}",
        ]
    ]
    assert "tree_unpruned_" not in from_json(model.to_json()).__dict__
    assert "Pruned by CostComplexity(alpha='cv')\n" in from_json(model.to_json()).summary()


def test_importances_are_listed_by_size():
    X, y = table()
    model = C45Classifier().fit(X, y)
    lines = model.summary().split("Importances by impurity:\n")[1].splitlines()
    order = np.argsort(-model.feature_importances_)
    names = [X.columns[j] for j in order if model.feature_importances_[j] >= 0.005]
    assert [line.split()[0] for line in lines if "below" not in line] == names


def test_numbers_costs_and_several_targets():
    X, y = table()
    numbers = CARTRegressor(max_depth=2).fit(X, X.age * 1.0 + (y == "yes"))
    assert "Training: the leaves explain" in numbers.summary()
    costs = CARTClassifier(max_depth=2, loss_matrix=[[0, 1], [5, 0]]).fit(X, y)
    assert "Training mean cost: " in costs.summary()
    assert "Training" not in CARTClassifier(max_depth=2).fit(X, np.column_stack([y, y])).summary()
    assert CARTClassifier().fit(X, ["a"] * 300).summary().count("\n") == 3
    by_hand = CARTClassifier(max_depth=1).fit(X, y).split(0, "age", 40, X=X, y=y)
    assert "1 split set by hand" in by_hand.summary()
    assert "Pruned by prune or collapse from 4 leaves" in CARTClassifier(max_depth=2).fit(X, y).collapse(1).summary()


def test_a_tree_that_is_not_fitted_has_none():
    with pytest.raises(AttributeError, match="not fitted"):
        CARTClassifier().summary()
