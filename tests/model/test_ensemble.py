"""Ensembles: packed trees and trees as they are, their walks, and what is not kept."""

import pickle

import numpy as np
import pytest

from fasttree import CARTClassifier, CARTRegressor, TreeClassifier
from fasttree._model.bags import Bags, seed_of_growth
from fasttree._model.ensemble import Ensemble
from fasttree._model.packed.check import check_packed
from fasttree._model.packed.nodes import NODE, SUBSET, Packed, pack_tree, unpack_tree


def table(n_samples=300, seed=0, holes=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4))
    X[:, 1] = np.round(X[:, 1] * 2)
    X[:, 2:] = rng.integers(0, 70, (n_samples, 2))
    y = X[:, 0] + (X[:, 2] % 3 == 0) + rng.normal(size=n_samples)
    X[rng.random(X.shape) < holes] = np.nan
    return X, y


def grown(task="classification", n_trees=4, **choices):
    """Trees of bags, and a table of floats as their walks see it."""
    X, y = table()
    if task == "classification":
        y, model = np.digitize(y, [-0.5, 1]), CARTClassifier(categorical_features=[2, 3], **choices)
    else:
        model = CARTRegressor(categorical_features=[2, 3], **choices)
    rng = np.random.default_rng(1)
    models = [model.fit(X, y, rng.integers(0, 3, len(y)).astype(float)) for _ in range(1)]
    trees = []
    for _ in range(n_trees):
        models[0].fit(X, y, rng.integers(0, 3, len(y)).astype(float))
        trees.append(models[0].tree_)
    encoded = models[0]._encode_table(table(seed=5, holes=0.2)[0])
    return trees, encoded.block(0, encoded.n_samples)


CASES = {
    "gini": ("classification", "gini", {}),
    "entropy": ("classification", "entropy", {"criterion": "entropy"}),
    "misclassification": ("classification", "misclassification", {"criterion": "misclassification", "max_depth": 4}),
    "one against the rest": ("classification", "gini", {"nominal": "one_vs_rest"}),
    "squared error": ("regression", "squared_error", {}),
    "small": ("regression", "squared_error", {"max_depth": 2}),
    "stump": ("classification", "gini", {"max_depth": 1}),
}


def ensemble(name, n_trees=4):
    task, impurity, choices = CASES[name]
    trees, X = grown(task, n_trees, **choices)
    return Ensemble.pack(trees, task=task, n_features=4, impurity=impurity), trees, X


@pytest.mark.parametrize("name", CASES)
def test_packed_trees_are_the_trees(name):
    packed, trees, _ = ensemble(name)
    assert packed.packed is not None
    assert packed.packed.nodes.dtype == NODE
    assert NODE.itemsize == 16
    assert packed.n_trees == 4
    assert packed.node_count == sum(tree.node_count for tree in trees)
    for i, tree in enumerate(trees):
        rebuilt = packed.tree(i)
        rebuilt.check()
        for exact in ("parent", "first_child", "feature", "kind", "missing", "categories_code", "categories_branch", "weight"):
            assert (getattr(rebuilt, exact) == getattr(tree, exact)).all(), exact
        assert np.array_equal(rebuilt.threshold, tree.threshold, equal_nan=True)
        assert (rebuilt.n_samples == rebuilt.weight).all()
        for near in ("value", "impurity", "gain"):
            assert np.allclose(getattr(rebuilt, near), getattr(tree, near), rtol=1e-9, atol=1e-9), near
        leaves = tree.leaves()
        assert (rebuilt.predict_nodes(leaves) == tree.predict_nodes(leaves)).all()


@pytest.mark.parametrize("name", CASES)
def test_walks_of_packed_trees_are_those_of_the_trees(name):
    packed, trees, X = ensemble(name)
    whole = Ensemble(trees, task=packed.task, n_features=4, impurity=packed.impurity)
    assert (packed.leaves(X) == whole.leaves(X)).all()
    assert (packed.sums(X) == whole.sums(X)).all()
    assert (packed.sums(X.astype(np.float32)) == whole.sums(X.astype(np.float32))).all()
    assert (packed.sums(np.asfortranarray(X), 1, 3) == whole.sums(X, 1, 3)).all()
    assert (packed.leaf_of(2, X) == whole.leaves(X)[:, 2]).all()
    assert (packed.sums(X, n_jobs=3) == packed.sums(X)).all()
    assert packed.sums(X[:0]).shape == (0, packed.n_columns)


@pytest.mark.parametrize("name", ["gini", "squared error"])
def test_ensembles_are_joined_and_cut(name):
    packed, trees, _ = ensemble(name)
    about = {"task": packed.task, "n_features": 4, "impurity": packed.impurity}
    first, rest = Ensemble.pack(trees[:1], **about), Ensemble.pack(trees[1:], **about)
    assert first.joined(rest) == packed
    assert packed.prefix(1) == first
    assert packed.prefix(4) == packed
    assert first != rest
    plain = Ensemble(trees, **about)
    assert plain.prefix(2).joined(Ensemble(trees[2:], **about)) == plain
    assert plain != packed
    assert first.joined(Ensemble(trees[1:], **about)).n_trees == 4
    assert pickle.loads(pickle.dumps(packed)) == packed
    assert pickle.loads(pickle.dumps(plain)) == plain
    assert not packed.packed.nodes.flags.writeable


def test_other_trees_are_kept_as_they_are():
    X, y = table()
    y = np.digitize(y, [-0.5, 1])
    kept = [
        CARTClassifier(missing="fractional"),
        CARTClassifier(missing="surrogate"),
        CARTClassifier(missing="branch"),
        CARTClassifier(loss_matrix=np.ones((3, 3)) - np.eye(3)),
        TreeClassifier(recipe={"continuous": "intervals", "missing": "fractional"}),
        TreeClassifier(recipe="c45_textbook"),
    ]
    for model in kept:
        tree = model.fit(X, y).tree_
        assert pack_tree(tree, model.recipe_.impurity) is None, model
        whole = Ensemble.pack([tree], task="classification", n_features=4, impurity="gini")
        assert whole.tree(0) is tree
        assert (whole.sums(X) == model.predict_proba(X)).all()
    weighted = CARTClassifier().fit(X, y, np.linspace(0.1, 0.7, len(y)))
    assert pack_tree(weighted.tree_, "gini") is None
    assert pack_tree(CARTRegressor(criterion="absolute_error").fit(X, y).tree_, "absolute_error") is None
    assert pack_tree(CARTClassifier(criterion="entropy").fit(X, y).tree_, "gini") is None  # other impurities


def test_a_packed_tree_and_another_make_an_ensemble():
    trees, _ = grown()
    part = pack_tree(trees[0], "gini")
    divided = CARTClassifier(missing="fractional", categorical_features=[2, 3]).fit(
        *(table()[0], np.digitize(table()[1], [-0.5, 1]))
    )
    both = Ensemble.pack([part, divided.tree_], task="classification", n_features=4, impurity="gini")
    assert both.packed is None
    assert both.n_trees == 2
    assert np.allclose(both.tree(0).value, trees[0].value)


def broken(packed, change):
    nodes, start, bits, value = (array.copy() for array in packed)
    change(nodes, start, bits, value)
    return Packed(nodes, start, bits, value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, s, b, v: n["kind"].__setitem__(0, 9), "kind"),
        (lambda n, s, b, v: n["child"].__setitem__(0, 0), "child"),
        (lambda n, s, b, v: n["child"].__setitem__(0, 2**31), "child"),
        (lambda n, s, b, v: n["feature"].__setitem__(0, 4), "feature"),
        (lambda n, s, b, v: n["missing"].__setitem__(0, 2), "missing"),
        (lambda n, s, b, v: n["operand"].__setitem__(np.flatnonzero(n["kind"] == 1)[0], np.inf), "threshold"),
        (
            lambda n, s, b, v: n.view("<u4").reshape(-1, 4)[:, 0].__setitem__(np.flatnonzero(n["kind"] == 0)[0], 2**30),
            "row of value",
        ),
        (lambda n, s, b, v: n.view("<u4").reshape(-1, 4)[:, 1].__setitem__(np.flatnonzero(n["kind"] == 0)[0], 0), "samples"),
        (lambda n, s, b, v: n.view("<u4").reshape(-1, 4)[:, 1].__setitem__(np.flatnonzero(n["kind"] == 2)[0], 2**31), "bits"),
        (lambda n, s, b, v: b.__setitem__(slice(None), 0), "know"),
        (lambda n, s, b, v: b.__setitem__(slice(None), 2**32 - 1), "from 1"),
        (lambda n, s, b, v: s.__setitem__(1, 0), "start"),
        (lambda n, s, b, v: s.__setitem__(1, s[1] + 1), "child|leaf more"),
        (lambda n, s, b, v: v.__setitem__(0, np.nan), "finite"),
        (lambda n, s, b, v: v.__setitem__(0, 2.0), "shares"),
    ],
)
def test_broken_arrays_are_found(change, message):
    packed, _, _ = ensemble("gini")
    check_packed(packed.packed, "classification", 4)
    assert (packed.packed.nodes["kind"] == SUBSET).any()
    with pytest.raises(ValueError, match=message):
        check_packed(broken(packed.packed, change), "classification", 4)


def test_a_checked_forgery_never_leaves_its_arrays():
    """Bytes changed at random are refused, or give trees whose invariants hold."""
    packed, _, X = ensemble("gini", 2)
    rng = np.random.default_rng(0)
    n_read = 0
    for _ in range(400):
        arrays = [array.copy() for array in packed.packed]
        victim = arrays[rng.integers(0, 3)].view(np.uint8)
        victim[rng.integers(0, victim.size)] = rng.integers(0, 256)
        forged = Packed(*arrays)
        try:
            check_packed(forged, "classification", 4)
        except ValueError:
            continue
        n_read += 1
        found = Ensemble(forged, task="classification", n_features=4, impurity="gini")
        found.sums(X)
        for i in range(2):
            unpack_tree(forged, i, "classification", 4, "gini")
    assert n_read > 20


# Bags


def test_bags_follow_from_seed_and_tree_alone():
    bags = Bags(7, 1000, 1000)
    assert (bags.counts(3) == Bags(7, 1000, 1000).counts(3)).all()
    assert bags.counts(3).tolist()[:12] == Bags(7, 1000, 1000).counts(3).tolist()[:12]
    assert (bags.counts(3) != bags.counts(4)).any()
    assert (bags.counts(3) != Bags(8, 1000, 1000).counts(3)).any()
    assert len({seed_of_growth(7, tree) for tree in range(100)}) == 100


def test_bags_have_their_sizes():
    assert Bags(0, 50).counts(0).tolist() == [1] * 50
    assert Bags(0, 50, 80).counts(0).sum() == 80
    assert sorted(Bags(0, 50, 20, replaces=False).counts(0)) == [0] * 30 + [1] * 20
    assert Bags(0, 50, 50, replaces=False).counts(0).tolist() == [1] * 50
    rows = np.arange(0, 50, 2)
    assert Bags(0, 50, 40, rows=rows).counts(0)[1::2].sum() == 0
    classes = np.repeat([0, 1, 3], [40, 8, 2])
    counts = Bags(0, 50, 5, classes=classes).counts(0)
    assert np.bincount(classes, weights=counts).tolist() == [5, 5, 0, 5]


@pytest.mark.parametrize("replaces", [True, False])
def test_every_sample_is_drawn_equally_often(replaces):
    counts = sum(Bags(1, 30, 15, replaces=replaces).counts(tree) for tree in range(4000))
    expected = 4000 * 15 / 30
    statistic = ((counts - expected) ** 2 / (expected * (1 if replaces else 0.5))).sum()
    assert 8 < statistic < 60  # chi-square of 29 or 30 degrees of freedom
