"""C5.0's pruning: null leaves, ends of samples, branches that grow anew in their nodes' places, and the nodes that they add."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from trees import Node, flat, leaf, random_nodes, split

from fasttree import C45Classifier, C50Classifier
from fasttree._data.learn import learn_table
from fasttree._data.table import Few, Table
from fasttree._learn.prune.c50 import (
    C50Pruning,
    PrunedTree,
    ends_after,
    expected_errors,
    n_divided,
    preorder,
    useless_subtrees,
    with_merged_leaves,
    with_null_leaves,
)
from fasttree._learn.prune.costs_c50 import CostRules
from fasttree._learn.prune.regrowth import NodesBehind, Regrowth
from fasttree._learn.samples import Samples
from fasttree._model.arrays import CATEGORY, THRESHOLD
from fasttree._model.tree import Tree
from fasttree._model.walks import predict_votes


def city(children: list[Node], value: list[float]) -> Node:
    return split(children, feature=2, kind=CATEGORY, value=value)


def test_null_leaves_have_the_shares_of_their_parents():
    node = city([leaf([6.0, 1.96]), leaf([0.0, 0.04], n_samples=1), leaf([9.0, 9.0], n_samples=0, weight=0.0)], [6.0, 2.0])
    tree = with_null_leaves(flat(city([node, leaf([1.0, 3.0])], [7.0, 5.0]), "classification"))
    assert tree.value == pytest.approx(np.array([[7, 5], [6, 2], [1, 3], [6, 1.96], [0.03, 0.01], [6, 2]]))
    assert with_null_leaves(flat(leaf([0.01, 0.02], n_samples=1), "classification")).value.tolist() == [[0.01, 0.02]]


def test_a_leaf_of_exactly_a_twentieth_of_a_case_is_no_null_leaf():
    few = leaf([0.0, 0.05], n_samples=1)
    tree = flat(city([few, leaf([6.0, 2.0])], [6.0, 2.05]), "classification")
    assert with_null_leaves(tree).value.tolist() == tree.value.tolist()
    tree = flat(city([few, leaf([0.0, 3.0]), leaf([6.0, 0.0])], [6.0, 3.05]), "classification")
    assert with_merged_leaves(tree, empty_only=False).value[1:].tolist() == [[0.0, 3.05], [6.0, 0.0]]
    # counted as a leaf, it makes its node the cheapest per leaf, and the other one is too much then
    cheapest = city([leaf([10.0, 0.0]), leaf([0.0, 3.0]), few], [10.0, 3.05])
    other = city([leaf([10.0, 0.0]), leaf([0.0, 2.0])], [10.0, 2.0])
    tree = flat(city([cheapest, other, leaf([100.0, 20.0]), leaf([0.0, 50.0])], [120.0, 75.05]), "classification")
    assert np.flatnonzero(useless_subtrees(tree, None, 195.05)).tolist() == [1]


@pytest.mark.parametrize(("part", "removed"), [(0.05, []), (0.06, [1])])
def test_a_subtree_of_at_most_a_tenth_of_a_case_is_not_removed_by_itself(part, removed):
    small = city([leaf([part, 0.0], n_samples=1), leaf([0.0, part], n_samples=1)], [part, part])
    tree = flat(city([small, leaf([100.0, 20.0]), leaf([0.0, 50.0])], [100 + part, 70 + part]), "classification")
    assert np.flatnonzero(useless_subtrees(tree, None, 170 + 2 * part)).tolist() == removed


def test_leaves_of_one_class_are_merged_where_others_are_left():
    same = [leaf([0.0, 2.0]), leaf([0.0, 3.0])]
    one = flat(city([*same, leaf([4.0, 0.0])], [4.0, 5.0]), "classification")
    assert with_merged_leaves(one, empty_only=False).value[1:].tolist() == [[0.0, 5.0], [4.0, 0.0]]
    assert with_merged_leaves(one, empty_only=True) is one
    all_of_one_class = flat(city([*same, leaf([0.0, 4.0])], [0.0, 9.0]), "classification")
    assert with_merged_leaves(all_of_one_class, empty_only=False) is all_of_one_class
    of_three = flat(
        city([leaf([0.0, 0.0, 1.0]), leaf([0.0, 1.0, 0.0]), leaf([1.0, 0.0, 0.0])], [1.0, 1.0, 1.0]), "classification"
    )
    assert with_merged_leaves(of_three, empty_only=False) is of_three
    by_number = split([*same, leaf([4.0, 0.0])], feature=0, kind=THRESHOLD, threshold=1.5, value=[4.0, 5.0])
    tree = flat(by_number, "classification")  # the third branch is of samples to which the feature does not apply
    assert with_merged_leaves(tree, empty_only=False) is tree


def test_no_sample_is_divided_where_one_branch_has_all():
    empty = [leaf([0.0, 0.0], n_samples=0, weight=0.0) for _ in range(2)]
    tree = flat(city([leaf([1.0, 3.0]), *empty], [1.0, 3.0]), "classification")
    assert n_divided(tree, 0) == 0
    assert with_merged_leaves(tree, empty_only=True).n_samples.tolist() == [4, 4, 0]


def test_samples_in_every_branch_are_counted_once_in_merged_ones():
    parts = [leaf([0.0, 2.5], n_samples=3), leaf([0.0, 1.5], n_samples=2), leaf([4.0, 0.0], n_samples=5)]
    tree = flat(city(parts, [4.0, 4.0]), "classification")
    assert n_divided(tree, 0) == 1
    assert with_merged_leaves(tree, empty_only=False).n_samples.tolist() == [8, 4, 5]


def test_weights_as_given_leave_risks_as_they_are():
    node = city([leaf([2.0, 3.0]), leaf([1.0, 0.0], n_samples=0, weight=0.0)], [2.0, 3.0])
    tree = flat(city([node, leaf([1.0, 3.0])], [3.0, 6.0]), "classification")
    loss = np.array([[0.0, 4.0], [1.0, 0.0]])
    judged = CostRules(loss, np.array([1.6, 0.4])).judged(tree)
    assert judged.value == pytest.approx(tree.value / [1.6, 0.4])
    assert judged.weight == pytest.approx([3 / 1.6 + 6 / 0.4, 2 / 1.6 + 3 / 0.4, 1 / 1.6 + 3 / 0.4, 2 / 1.6 + 3 / 0.4, 0])
    assert judged.weight * judged.impurity == pytest.approx(tree.weight * tree.impurity)
    assert judged.weight * judged.gain == pytest.approx(tree.weight * tree.gain)
    assert judged.impurity[4] == tree.impurity[4]
    assert judged.loss.tolist() == loss.tolist()


def test_rules_are_judged_by_the_errors_of_leaves_and_with_costs_by_those_of_the_root():
    tree = flat(city([leaf([2.0, 3.0]), leaf([5.0, 1.0])], [7.0, 4.0]), "classification")
    assert expected_errors(tree) == 3
    assert expected_errors(tree.replace(loss=np.array([[0.0, 1.0], [1.0, 0.0]]))) == 4


def path_to(tree: Tree, node: int) -> list[int]:
    """The branches that lead to a node."""
    above = int(tree.parent[node])
    return [] if above < 0 else [*path_to(tree, above), node - int(tree.first_child[above])]


def end_of(tree: Tree, path: list[int]) -> int:
    """Where branches lead, as far as there are any."""
    node = 0
    for branch in path:
        if tree.n_branches[node]:
            node = int(tree.first_child[node]) + branch
    return node


@given(root=random_nodes("classification"))
def test_places_are_those_of_a_walk_in_depth(root):
    tree = flat(root, "classification")
    place, size = preorder(tree)
    paths = [path_to(tree, node) for node in range(tree.node_count)]
    assert [paths[node] for node in np.argsort(place)] == sorted(paths)
    assert size.tolist() == [sum(each[: len(path)] == path for each in paths) for path in paths]


@given(root=random_nodes("classification"), data=st.data())
def test_samples_end_in_the_pruned_tree_where_its_branches_lead(root, data):
    tree = flat(root, "classification")
    cut = np.array(data.draw(st.lists(st.booleans(), min_size=tree.node_count, max_size=tree.node_count)))
    pruned = tree.prune_at(cut)
    expected = [end_of(pruned, path_to(tree, node)) for node in range(tree.node_count)]
    assert ends_after(tree, cut, np.arange(-1, tree.node_count, dtype=np.int32)).tolist() == [-1, *expected]


def grown(number: int, n_leaves: int) -> dict[str, Any]:
    """A node without a test, and leaves below it."""
    n = 1 + n_leaves
    ints = {"first_child": [1, *[-1] * n_leaves], "n_branches": [n_leaves, *[0] * n_leaves], "feature": [-1] * n, "kind": [0] * n}
    ints |= {"missing": [-2] * n, "n_samples": range(n), "categories_start": [0] * (n + 1)}
    ints |= {"categories_code": [], "categories_branch": []}
    floats: dict[str, Any] = {"threshold": [np.nan] * n, "impurity": [0.0] * n, "gain": [0.0, *[number] * n_leaves]}
    floats |= {"weight": range(n), "value": np.ones((n, 2))}
    return {name: np.array(values, np.int32) for name, values in ints.items()} | {
        name: np.array(values, np.float64) for name, values in floats.items()
    }


def test_a_node_that_grows_anew_has_the_test_and_the_gain_of_its_branch():
    inner = city([leaf([1.0, 0.0]), leaf([0.0, 2.0])], [1.0, 2.0])
    inner.fields |= {"gain": 0.75, "feature": 3}
    tree = flat(city([inner, leaf([2.0, 2.0])], [3.0, 4.0]), "classification")
    nodes = NodesBehind(tree)
    sources = [1, 5, 0, 8, 11, 1, 14]  # 5, 8 and 14 have the test of node 1, and 11 that of 0
    for number, source in enumerate(sources):
        nodes.add(source, grown(2 + number, 2))
    nodes.add(2, grown(0, 99))
    first = tree.node_count + 3 * np.arange(len(sources))
    assert nodes.node_count == tree.node_count + 3 * len(sources) + 100
    assert nodes.joined("gain")[first].tolist() == [0.75, 0.75, 0.25, 0.75, 0.25, 0.75, 0.75]
    assert nodes.joined("gain")[first + 1].tolist() == [2, 3, 4, 5, 6, 7, 8]
    assert nodes.feature[first].tolist() == [3, 3, 2, 3, 2, 3, 3]
    assert nodes.first_child[first].tolist() == (first + 1).tolist()
    assert nodes.n_branches[: tree.node_count].tolist() == tree.n_branches.tolist()
    assert nodes.n_branches[tree.node_count :].tolist() == [2, 0, 0] * len(sources) + [99] + [0] * 99


def test_a_branch_grows_anew_on_the_samples_of_its_node_by_the_branches_of_its_test(monkeypatch):
    calls: list[tuple[Any, ...]] = []
    call = Regrowth.__call__

    def noted(self: Regrowth, node: int, *samples: Any) -> NodesBehind:
        nodes = self._nodes
        entries = slice(*nodes.categories_start[node : node + 2])
        test = {"feature": int(nodes.feature[node]), "n": int(nodes.n_branches[node]), "threshold": float(nodes.threshold[node])}
        codes, branches = nodes.categories_code[entries].copy(), nodes.categories_branch[entries].copy()
        calls.append((test | {"of": dict(zip(codes.tolist(), branches.tolist(), strict=True))}, self._grower.samples, samples))
        return call(self, node, *samples)

    monkeypatch.setattr(Regrowth, "__call__", noted)
    n_samples, minimum, unknown, of_ones = 400, 1, 0, 0
    for seed in range(12):
        rng, missing = np.random.default_rng(seed), 0.1 * (seed % 3)
        codes, numbers = rng.integers(0, 4, (n_samples, 2)), rng.integers(0, 12, (n_samples, 2)).astype(float)
        y = np.where(rng.random(n_samples) < 0.25, rng.integers(0, 3, n_samples), (codes[:, 0] == 1) ^ (numbers[:, 0] > 5))
        X = pd.DataFrame({f"c{j}": pd.Categorical.from_codes(codes[:, j], list("pqrs")) for j in range(2)})
        X = X.assign(a=numbers[:, 0], b=numbers[:, 1]).mask(rng.random((n_samples, 4)) < missing)
        weight = rng.integers(0, 3, n_samples).astype(float) if seed % 2 else None
        C50Classifier(confidence=0.6, min_samples_branch=minimum, subset=seed > 8).fit(X, y, sample_weight=weight)
    for test, samples, (rows, weight, label, start, inner) in calls:
        column = samples.table.column(test["feature"])
        listed: list[dict[int, float]] = []
        for b in range(test["n"]):
            here = rows[start[b] : start[b + 1]].tolist()
            assert here == sorted(set(here))
            listed.append(dict(zip(here, [1.0] * len(here) if weight is None else weight[start[b] : start[b + 1]], strict=True)))
        assert label.tolist() == samples.target[rows].tolist()
        branch = {}
        for row in set(rows.tolist()):
            cell = column[row]
            known = cell == cell if column.dtype.kind == "f" else cell > 0
            at = int(cell > test["threshold"]) if column.dtype.kind == "f" else test["of"].get(int(cell), int(cell) - 1)
            branch[row] = at if known else None
        held = [sum(part for row, part in each.items() if branch[row] == b) for b, each in enumerate(listed)]
        for row, at in branch.items():
            parts = [each.get(row, 0.0) for each in listed]
            shares = [float(b == at) for b in range(test["n"])] if at is not None else [each / sum(held) for each in held]
            assert parts == pytest.approx([sum(parts) * share for share in shares], rel=1e-12)
            unknown += at is None
        classes = [{int(samples.target[row]) for row in each} for each in listed]
        assert inner == [
            b for b in range(test["n"]) if len(classes[b]) > 1 and sum(listed[b].values()) >= 2 * minimum * (1 - 1e-9)
        ]
        of_ones += weight is None
    assert unknown > 20
    assert of_ones > 0


@pytest.mark.parametrize("model", [C50Classifier(confidence=0.5), C50Classifier(trials=4), C45Classifier()])
def test_codes_of_few_values_prune_as_the_values_do(model, monkeypatch):
    rng = np.random.default_rng(21)
    X = np.column_stack([rng.integers(0, 40, (900, 3)) / 4, rng.normal(size=900)])
    y = np.where(rng.random(900) < 0.25, rng.integers(0, 3, 900), (X[:, 0] > 4).astype(int) + (X[:, 1] > X[:, 2]))
    X[rng.random(X.shape) < 0.05] = np.nan
    found_few, found = Table.found_few, list[bool]()

    def noted(self: Table, j: int) -> Few | None:
        found.append(found_few(self, j) is not None)
        return found_few(self, j)

    monkeypatch.setattr(Table, "found_few", noted)
    for part in (y, y[::-1]):
        by_codes = clone(model).fit(X, part).to_json()
        with monkeypatch.context() as patch:
            patch.setattr(Table, "found_few", lambda self, j: None)
            assert clone(model).fit(X, part).to_json() == by_codes
    assert any(found)
    assert not all(found)


def test_some_rows_are_those_that_were_asked_for_last():
    X = pd.DataFrame({"a": [0.5, 1.5, np.nan, 3.5], "b": pd.Categorical(list("uvwu"))})
    table = learn_table(X)
    fresh = [table.some(np.array(rows)) for rows in ([2, 0], [2, 0], [1, 3])]
    table.keep(rows=True)
    kept = [table.some(np.array(rows)) for rows in ([2, 0], [2, 0], [1, 3])]
    for one, other in zip(fresh, kept, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("subset", [False, True])
def test_samples_vote_as_in_the_tree_before_some_of_its_branches_were_merged(subset, monkeypatch):
    pruned: list[tuple[Samples, PrunedTree]] = []
    with_ends = C50Pruning.with_ends

    def noted(self: C50Pruning, tree: Tree) -> PrunedTree:
        found = with_ends(self, tree)
        pruned.append((self.grower.samples, found))
        return found

    monkeypatch.setattr(C50Pruning, "with_ends", noted)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        codes = rng.integers(0, 10, (120, 3))
        codes[codes[:, 0] == 1, 1] = 2
        y = np.where(rng.random(120) < 0.15, rng.integers(0, 3, 120), (codes[:, 0] > 4) + (codes[:, 1] % 3 == 2))
        X = pd.DataFrame({f"c{j}": pd.Categorical.from_codes(codes[:, j], list("pqrstuvwxy")) for j in range(3)})
        C50Classifier(subset=subset, trials=4, early_stopping=False, min_samples_branch=1, confidence=0.6).fit(
            X.mask(rng.random(X.shape) < 0.05 * seed), y
        )
    for samples, found in pruned:
        here = np.ones(120, bool) if samples.counts is None else samples.counts > 0
        classes, votes = predict_votes(found.before, samples.table, found.ends)
        expected = predict_votes(found.tree, samples.table)
        assert classes[here].tolist() == expected[0][here].tolist()
        assert votes[here].tolist() == expected[1][here].tolist()
    assert any(found.before is not found.tree for _, found in pruned) is not subset
    assert any(found.before is found.tree for _, found in pruned)


def test_training_errors_are_those_of_the_leaves_where_no_feature_that_is_tested_lacks_values(monkeypatch):
    found: list[float | None] = []
    training_errors = C50Pruning.training_errors

    def noted(self: C50Pruning, tree: Tree, ends: Any) -> float | None:
        found.append(training_errors(self, tree, ends))
        return found[-1]

    monkeypatch.setattr(C50Pruning, "training_errors", noted)
    x = np.arange(20.0)
    y = x > 9
    y[[2, 3]] = True
    C50Classifier().fit(np.column_stack([x, np.where(x > 5, 1.0, np.nan)]), y)
    assert found == [None]
    x[5] = np.nan
    C50Classifier().fit(np.column_stack([x, np.ones(20)]), y)
    assert found[1] is not None


@pytest.mark.parametrize("seed", [8, 11, 21, 27])
def test_thresholds_of_branches_that_grow_anew_are_values_of_the_table(seed):
    rng = np.random.default_rng(seed)
    codes, numbers = rng.integers(0, 4, (120, 2)), rng.integers(0, 12, (120, 2)).astype(float)
    y = np.where(rng.random(120) < 0.2, rng.integers(0, 2, 120), (codes[:, 0] == 1) ^ (numbers[:, 0] > 5))
    X = pd.DataFrame({f"c{j}": pd.Categorical.from_codes(codes[:, j], list("pqrs")) for j in range(2)})
    X = X.assign(a=numbers[:, 0], b=numbers[:, 1])
    model = C50Classifier(confidence=0.5, min_samples_branch=1, global_pruning=False)
    tree = model.fit(X, y).tree_
    assert set(tree.threshold[~np.isnan(tree.threshold)]) <= set(range(12))
    light = X.assign(a=X["a"] + 0.5)  # samples without weight have other values
    both = model.fit(pd.concat([X, light], ignore_index=True), np.append(y, 1 - y), np.repeat([1, 0], 120)).tree_
    assert both.threshold.tolist() == pytest.approx(tree.threshold.tolist(), nan_ok=True)


@pytest.mark.parametrize("weighted", [False, True])
def test_training_errors_are_the_samples_that_the_tree_predicts_wrongly(weighted, monkeypatch):
    found: list[tuple[float | None, float]] = []
    training_errors = C50Pruning.training_errors

    def noted(self: C50Pruning, tree: Tree, ends: Any) -> float | None:
        samples, errors = self.grower.samples, training_errors(self, tree, ends)
        wrong = predict_votes(tree, samples.table)[0] != samples.target
        found.append((errors, float(wrong.sum() if samples.counts is None else samples.counts[wrong].sum())))
        return errors

    monkeypatch.setattr(C50Pruning, "training_errors", noted)
    rng = np.random.default_rng(8)
    X = rng.integers(0, 9, (200, 3)).astype(float)
    y = np.where(rng.random(200) < 0.2, rng.integers(0, 2, 200), X[:, 0] > X[:, 1])
    X[rng.random(X.shape) < 0.1] = np.nan
    C50Classifier().fit(X, y, np.repeat([1, 2], 100) if weighted else None)
    assert found
    for errors, expected in found:
        assert errors == pytest.approx(expected)
        assert errors is not None
        assert errors > 0
