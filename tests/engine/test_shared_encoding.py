"""Trees that grow from one encoding: side by side, and one after the other in the same workspace."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from fasttree import Recipe, _core
from fasttree._data.learn import learn_table
from fasttree._data.table import Table
from fasttree._engine.encoding import Encoding
from fasttree._learn.grow import growth
from fasttree._learn.grow.afterwards import best_first
from fasttree._learn.grow.decode import as_tree
from fasttree._learn.grow.encode import InOrder, KeptColumns
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import C45
from fasttree._model.arrays import THRESHOLD
from fasttree._model.tree import Tree

Grown = dict[str, np.ndarray]


class Case(NamedTuple):
    recipe: Recipe
    n_classes: int
    choices: dict[str, Any] = {}
    weighted: bool = True
    draws: bool = True


BOUNDED = {"block_rows": 60, "most_codes": 9, "bounded_from": 12}
WIDE = {"block_rows": 60, "most_codes": 0}
CASES = {
    "lists": Case(Recipe(), 3),
    "wide lists": Case(Recipe(), 3, WIDE),
    "bounds": Case(Recipe(), 3, BOUNDED, draws=False),
    "bounds and threads": Case(Recipe(), 2, {**BOUNDED, "n_jobs": 2}, draws=False),
    "means": Case(Recipe(impurity="squared_error"), 0),
    "means by bounds": Case(Recipe(impurity="squared_error"), 0, BOUNDED, weighted=False, draws=False),
    "medians": Case(Recipe(impurity="absolute_error"), 0),
    "parts": Case(Recipe(impurity="entropy", missing="fractional", rank="gain_ratio", nominal="declared"), 3),
    "parts of wide lists": Case(Recipe(impurity="entropy", missing="fractional"), 3, WIDE),
    "parts of means": Case(Recipe(impurity="squared_error", missing="fractional"), 0, WIDE),
    "surrogates": Case(Recipe(missing="surrogate"), 3, WIDE),
}


def sample(n_samples: int = 500, n_features: int = 7) -> tuple[Table, np.ndarray]:
    """Numbers, ties, missing values, a few categories and many, and a target that depends on some of them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_samples, n_features))
    X[:, 1] = np.round(X[:, 1] * 3)
    X[:, 2] = rng.integers(0, 6, n_samples)
    target = X[:, 0] + X[:, 1] * (X[:, 2] > 2) + rng.normal(size=n_samples)
    X[rng.random(X.shape) < 0.05] = np.nan
    return learn_table(X, categorical_features=[2]), target


class Captured(Exception):
    pass


def prepared(case: Case, weight: np.ndarray | None, limits: Limits) -> tuple[Encoding, tuple[Any, ...], dict[str, Any]]:
    """What `growth.grow` gives the engine: the encoding, targets and spec, and keyword arguments without the workspace."""
    found = []

    def keep(encoding: Encoding, *args: Any, workspace: _core.Workspace, **kwargs: Any) -> None:
        assert workspace.consume
        found.append((encoding, args, kwargs))
        raise Captured

    table, target = sample()
    if case.n_classes:
        target = np.argsort(np.argsort(target)) * case.n_classes // len(target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_core, "grow", keep)
        with pytest.raises(Captured):
            growth.grow(table, target, weight, case.recipe, limits, n_classes=case.n_classes, **case.choices)
    return found[0]


def variants(case: Case) -> Iterator[tuple[np.ndarray | None, Limits]]:
    """Weights and numbers of a recipe that leave the encoding as it is."""
    rng = np.random.default_rng(2)
    yield None, Limits()
    yield None, Limits(max_depth=3)
    yield None, Limits(min_samples_leaf=9)
    yield None, Limits(max_leaf_nodes=9)
    for seed in range(3 if case.draws else 0):
        yield None, Limits(max_features=2, seed=seed)
    if case.weighted:
        yield rng.integers(1, 4, 500).astype(float), Limits()
        yield rng.random(500) + 0.1, Limits(min_weight_leaf=3.0)
        yield rng.random(500) + 0.1, Limits(min_part_share=0.2)


def in_order(grown: Grown) -> Grown:
    """The categories of splits by node and code: threads of one growth add them in the order in which they come to them."""
    order = np.lexsort((grown["categories_code"], grown["categories_node"]))
    return {name: array[order] if name.startswith("categories_") else array for name, array in grown.items()}


def cut_back(grown: Grown, case: Case, n_leaves: int) -> Tree:
    """The tree of best-first growth: threads may have grown further nodes.  Rows beside a cut stand for its threshold."""
    grown = in_order(grown)
    low, high = (grown.pop(name).astype(float) for name in ("row_low", "row_high"))
    threshold = np.where(grown["kind"] == THRESHOLD, low * grown["n_samples"][0] + high, np.nan)
    assert "cut_node" not in grown
    task = "classification" if case.n_classes else "regression"
    return best_first(as_tree(grown | {"threshold": threshold}, task, 7, surrogates=None, cuts={}, outputs=None), n_leaves)


def same(ours: Grown, theirs: Grown) -> bool:
    ours, theirs = in_order(ours), in_order(theirs)
    return list(ours) == list(theirs) and all(
        ours[name].dtype == theirs[name].dtype and ours[name].tobytes() == theirs[name].tobytes() for name in ours
    )


@pytest.mark.parametrize("name", CASES)
def test_trees_grown_side_by_side_from_one_encoding_are_those_grown_alone(name):
    case = CASES[name]
    alone, jobs = [], []
    n_leaves = {}
    for weight, limits in variants(case):
        if limits.max_leaf_nodes is not None and case.choices.get("n_jobs", 1) > 1:
            n_leaves[len(jobs)] = limits.max_leaf_nodes
        encoding, args, kwargs = prepared(case, weight, limits)
        alone.append(_core.grow(encoding, *args, **kwargs, workspace=_core.Workspace(consume=True)))
        jobs.append(prepared(case, weight, limits)[1:])
    assert len({grown["value"].tobytes() for grown in alone}) > 3
    shared = prepared(case, None, Limits())[0]
    local = threading.local()

    def grow_again(i: int) -> Grown:
        if not hasattr(local, "workspace"):
            local.workspace = _core.Workspace()
        args, kwargs = jobs[i]
        return _core.grow(shared, *args, **kwargs, workspace=local.workspace if i % 4 else None)

    turns = list(range(len(jobs))) * 4
    with ThreadPoolExecutor(4) as pool:
        for i, grown in zip(turns, pool.map(grow_again, turns), strict=True):
            if i in n_leaves:
                best = cut_back(alone[i], case, n_leaves[i])
                assert best.n_leaves == n_leaves[i]
                assert cut_back(grown, case, n_leaves[i]) == best, (name, i)
            else:
                assert same(grown, alone[i]), (name, i)


@pytest.mark.parametrize("name", CASES)
def test_a_second_growth_in_a_workspace_is_the_first(name):
    encoding, args, kwargs = prepared(CASES[name], None, Limits())
    workspace = _core.Workspace()
    first = _core.grow(encoding, *args, **kwargs, workspace=workspace)
    for _ in range(3):
        assert same(_core.grow(encoding, *args, **kwargs, workspace=workspace), first)


def test_a_workspace_serves_tables_and_recipes_of_any_size_in_turn():
    workspace = _core.Workspace()
    jobs = [prepared(case, None, limits) for case in CASES.values() for limits in (Limits(), Limits(max_depth=2))]
    first = [_core.grow(encoding, *args, **kwargs) for encoding, args, kwargs in jobs]
    for i in np.random.default_rng(0).integers(0, len(jobs), 60):
        encoding, args, kwargs = jobs[i]
        assert same(_core.grow(encoding, *args, **kwargs, workspace=workspace), first[i])


def test_what_growth_has_consumed_cannot_be_used_again():
    encoding, args, kwargs = prepared(CASES["parts of means"], np.linspace(1, 2, 500), Limits())
    other = prepared(CASES["parts of means"], None, Limits())[0]
    _core.grow(encoding, *args, **kwargs, workspace=_core.Workspace(consume=True))
    with pytest.raises(ValueError, match="Targets were used up"):
        _core.grow(other, *args, **kwargs)
    encoding, args, kwargs = prepared(CASES["parts"], np.linspace(1, 2, 500), Limits())
    other, _, others = prepared(CASES["parts"], np.linspace(1, 2, 500), Limits())
    _core.grow(encoding, *args, **kwargs, workspace=_core.Workspace(consume=True))
    _core.grow(other, *args, **others)  # labels are as they were
    encoding, args, kwargs = prepared(CASES["lists"], None, Limits())
    _core.grow(encoding, *args, **kwargs, workspace=_core.Workspace(consume=True))
    with pytest.raises(ValueError, match="Encoding was used up"):
        _core.grow(encoding, *args, **kwargs)


def test_arrays_of_other_lengths_are_refused():
    encoding, (targets, spec), kwargs = prepared(CASES["lists"], None, Limits())
    short = _core.Targets(1.0, labels=np.zeros((3, 1), dtype=np.uint16), first_class=np.array([0, 2], dtype=np.int32))
    with pytest.raises(ValueError, match="500 samples, but the targets have 3"):
        _core.grow(encoding, short, spec)
    for name in ("weight", "case_weight"):
        with pytest.raises(ValueError, match="another length"):
            _core.grow(encoding, targets, spec, **kwargs | {name: np.ones(499, dtype=np.int64)})


class Stopped(Exception):
    pass


@pytest.mark.skipif(sys.platform == "win32", reason="timers of Unix")
def test_a_growth_that_is_interrupted_leaves_its_workspace_and_encoding_as_they_were():
    encoding, args, kwargs = prepared(CASES["parts of wide lists"], None, Limits())
    first = _core.grow(encoding, *args, **kwargs)
    workspace, refused = _core.Workspace(), []
    large = Encoding(40_000, 10)
    rng = np.random.default_rng(0)
    for feature in range(10):
        large.add_continuous(feature, rng.normal(size=40_000))
    large.finish()
    labels = rng.integers(0, 3, (40_000, 1)).astype(np.uint16)
    targets = _core.Targets(1.0, labels=labels, first_class=np.array([0, 3], dtype=np.int32))

    def handle(_signal: int, _frame: Any) -> None:
        with pytest.raises(RuntimeError, match="serves another growth") as found:
            _core.grow(encoding, *args, **kwargs, workspace=workspace)
        refused.append(found)
        raise Stopped

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(Stopped):
            _core.grow(large, targets, args[1], workspace=workspace)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(refused) == 1
    assert same(_core.grow(encoding, *args, **kwargs, workspace=workspace), first)


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the memory of a process, as Linux says it")
def test_growth_from_lists_of_its_own_frees_them():
    n_samples, n_features = 40_000, 6
    encoding = Encoding(n_samples, n_features)
    rng = np.random.default_rng(0)
    for feature in range(n_features):
        encoding.add_continuous(feature, rng.normal(size=n_samples))
    encoding.finish()
    _, (_, spec), _ = prepared(CASES["wide lists"], None, Limits(max_depth=3))
    labels = rng.integers(0, 3, (n_samples, 1)).astype(np.uint16)
    targets = _core.Targets(1.0, labels=labels, first_class=np.array([0, 3], dtype=np.int32))
    pure = _core.Targets(1.0, labels=labels * np.uint16(0), first_class=np.array([0, 3], dtype=np.int32))
    sizes, workspace = [], _core.Workspace()
    for turn in range(30):
        _core.grow(encoding, pure if turn % 3 == 2 else targets, spec, workspace=workspace if turn % 2 else None)
        sizes.append(resident())
    assert min(sizes[-5:]) - max(sizes[:10]) < n_samples * 8  # a list of all samples


class Rows:
    """Some rows of columns in an order, which growth encodes anew."""

    matrix = None

    def __init__(self, table: InOrder, rows: np.ndarray) -> None:
        self.schema, self.n_samples, self.n_features = table.schema, len(rows), table.n_features
        self._table, self._rows = table, rows

    def column(self, j: int) -> np.ndarray:
        return self._table.column(j)[self._rows]


OF_BAGS = {
    "numbers": Recipe(),
    "means": Recipe(impurity="squared_error"),
    "parts": Recipe(impurity="entropy", missing="fractional", rank="gain_ratio", nominal="declared"),
    "C4.5": C45,
    "surrogates": Recipe(missing="surrogate"),
}


@pytest.mark.parametrize("name", OF_BAGS)
@pytest.mark.parametrize("block_rows", [300, 500, 2_000])  # wide lists of all rows and of the bag, of all rows alone, and none
@pytest.mark.parametrize("max_bins", [None, 300])
def test_the_encoding_of_a_bag_is_cut_out_of_that_of_all_rows(name, block_rows, max_bins):
    """Columns of few values, of many, of 400 categories, nearly equal and constant ones, with missing values in some."""
    recipe, rng = OF_BAGS[name], np.random.default_rng(3)
    X, target = np.column_stack([rng.normal(size=(900, 4)), rng.integers(0, 400, (900, 2)), np.ones(900)]), rng.normal(size=900)
    X[:, 1], X[:, 2] = np.round(X[:, 1] * 3), np.round(X[:, 2] * 1e5) / 1e5 + 1e-6 * rng.integers(0, 3, 900)
    X[rng.random(X.shape) < 0.03] = np.nan
    n_classes = 0 if name == "means" else 3
    target = np.digitize(target, [-1, 1]) if n_classes else target
    limits = Limits(max_features=4, max_bins=max_bins)
    kept = KeptColumns(learn_table(X, categorical_features=[4]), recipe, limits)
    for seed in range(4):
        order, weight = rng.permutation(7), np.bincount(rng.integers(0, 900, 700), minlength=900).astype(float)
        rows = np.flatnonzero(weight)
        table = InOrder(kept, order)
        choices = {"n_classes": n_classes, "block_rows": block_rows}
        number = limits._replace(seed=seed)
        ours = growth.grow(table, target, weight, recipe, number, **choices)
        fresh = Rows(table, np.arange(900))
        anew = growth.grow(fresh, target, weight, recipe, number, **choices, bins_of=fresh)
        assert ours == anew
        assert ours.node_count > 9
        assert ours == growth.grow(table, target, weight, recipe, number, **choices, most_codes=0)
        everything = growth.grow(table, target, None, recipe, number, **choices)
        assert everything == growth.grow(fresh, target, None, recipe, number, **choices)
        assert len(rows) < 600
        few = np.sort(rng.choice(900, 90, replace=False))  # so few that they are sorted
        of_few = growth.grow(table, target, None, recipe, number, **choices, rows=few)
        assert of_few == growth.grow(fresh, target, None, recipe, number, **choices, rows=few, bins_of=fresh)
        assert of_few.node_count > 5
    in_place = InOrder(kept, np.arange(7))
    first, second = (growth.grow(in_place, target, None, recipe, limits, **choices) for _ in range(2))
    assert first == second  # all rows in place are not copied
    assert first == growth.grow(Rows(in_place, np.arange(900)), target, None, recipe, limits, **choices)


@pytest.mark.parametrize("name", ["lists", "wide lists", "parts", "parts of wide lists"])
def test_branches_that_grow_together_are_the_trees_that_grow_alone(name):
    case, starts = CASES[name], [0, 500, 500, 1000]
    weights = [np.random.default_rng(seed).random(500) + 0.1 for seed in range(2)]
    spec = prepared(case, weights[0], Limits())[1][1]
    alone, branches = [], []
    for weight in weights:
        encoding, (targets, _), kwargs = prepared(case, weight, Limits())
        branches.append((encoding, targets, kwargs["weight"].copy()))
        alone.append(_core.grow(encoding, targets, spec, weight=kwargs["weight"]))
    branches.insert(1, (None, None, None))  # an empty leaf
    given = (*map(list, zip(*branches, strict=True)), starts, spec, case.n_classes)
    grown = _core.grow_branches(*given, _core.Workspace(consume=True))
    parent = grown["parent"]
    assert (parent[0], grown["first_child"][0], grown["n_branches"][0]) == (-1, 1, 3)
    assert (parent[1:4] == 0).all()
    assert (grown["n_samples"][[0, 2]] == 0).all()
    assert (grown["first_child"][2], grown["feature"][2], grown["value"][2].tolist()) == (-1, -1, [0.0] * case.n_classes)
    for at, ours in zip((0, 2), alone, strict=True):
        below = np.zeros(len(parent), bool)
        below[at + 1] = True
        for node in range(4, len(parent)):
            below[node] = below[parent[node]]
        nodes = np.flatnonzero(below)
        place = np.full(len(parent), -1)
        place[nodes] = np.arange(len(nodes))
        assert len(ours["kind"]) == len(nodes) > 9
        for field in ("n_branches", "feature", "missing", "kind", "n_samples", "weight", "impurity", "gain", "value"):
            assert grown[field][nodes].tobytes() == ours[field].tobytes(), field
        first = grown["first_child"][nodes]
        assert (np.where(first < 0, -1, place[first]) == ours["first_child"]).all()
        for side in ("row_low", "row_high"):
            cuts = ours["kind"] == THRESHOLD
            assert (grown[side][nodes][cuts] - starts[at] == ours[side][cuts]).all()
        named = below[grown["categories_node"]]
        assert (place[grown["categories_node"][named]] == ours["categories_node"]).all()
        assert (grown["categories_code"][named] == ours["categories_code"]).all()
    with pytest.raises(ValueError, match="used up"):
        _core.grow_branches(*given, _core.Workspace(consume=True))
