"""Folds that a user gives to cost-complexity pruning: which rows grow, which judge, what the errors are, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, TreeClassifier, TreeRegressor
from fasttree._model.tree import Tree
from fasttree.pruning import CostComplexity

N = 90


def numbers(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns of numbers, and a target that drifts with the rows, so that it matters which of them grow a tree."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    return X, X[:, 0] * np.linspace(-1, 2, N) + X[:, 1] + 0.5 * rng.normal(size=N)


def classes(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = numbers(seed)
    return X, np.digitize(y, [-0.5, 0.7])


def weights(kind: str) -> np.ndarray | None:
    rng = np.random.default_rng(5)
    return {
        "none": None,
        "fractions": rng.uniform(0.2, 3, N),
        "some 0": rng.integers(0, 4, N).astype(float),
    }[kind]


def bootstrap() -> list[tuple[np.ndarray, np.ndarray]]:
    """Training rows drawn with repetition; the others judge, the first of them twice."""
    rng = np.random.default_rng(2)
    drawn = [rng.integers(0, N, N) for _ in range(4)]
    others = [np.setdiff1d(np.arange(N), train) for train in drawn]
    return [(train, np.append(test, test[0])) for train, test in zip(drawn, others, strict=True)]


SPLITS: dict[str, Any] = {
    "time series": list(TimeSeriesSplit(4).split(np.zeros(N))),
    "time series with a gap": list(TimeSeriesSplit(4, gap=3, max_train_size=40).split(np.zeros(N))),
    "purged": [(np.delete(np.arange(N), np.arange(max(a - 4, 0), min(a + 34, N))), np.arange(a, a + 30)) for a in (0, 30, 60)],
    "overlapping": list(ShuffleSplit(5, test_size=0.3, random_state=0).split(np.zeros(N))),
    "repeated": list(RepeatedKFold(n_splits=3, n_repeats=3, random_state=0).split(np.zeros(N))),
    "once each": list(KFold(4, shuffle=True, random_state=0).split(np.zeros(N))),
    "one fold": [(np.arange(50), np.arange(60, N))],
    "bootstrap": bootstrap(),
}


# The slow twin: a tree grown on the rows of train alone, its best subtree for each alpha by recursion, its answers one by one


def pruned_answers(tree: Tree, cost: np.ndarray, alpha: float, X: np.ndarray) -> np.ndarray:
    """The node that answers each row in the smallest subtree of least cost per leaf."""
    best, is_leaf = cost + alpha, tree.n_branches == 0
    for node in reversed(range(tree.node_count)):
        if not is_leaf[node]:
            left = tree.first_child[node]
            below = best[left] + best[left + 1]
            is_leaf[node] = best[node] <= below * (1 + 1e-12)
            best[node] = min(best[node], below)
    found = []
    for row in X:
        node = 0
        while not is_leaf[node]:
            node = tree.first_child[node] + int(row[tree.feature[node]] > tree.threshold[node])
        found.append(node)
    return np.array(found)


def losses_at(model: Any, X: np.ndarray, y: np.ndarray, alpha: float, loss: np.ndarray | None, risk: str) -> np.ndarray:
    tree = model.tree_
    nodes = pruned_answers(tree, (tree.errors if risk == "error" else tree.weight * tree.impurity) / tree.weight[0], alpha, X)
    if tree.task == "regression":
        return (y - tree.value[nodes, 0]) ** 2
    answers = model.classes_[tree.predicted_class[nodes]]
    return (y != answers).astype(float) if loss is None else loss[y, answers]


def by_hand(model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, splits: Any, alphas: np.ndarray) -> Any:
    """Errors of the subtrees for alphas and their standard errors, as the documentation has them."""
    w = np.ones(len(y)) if weight is None else weight
    typical = np.append(np.sqrt(alphas[:-1] * alphas[1:]), 1e9)
    loss, risk = getattr(model, "loss_matrix", None), model.pruning.risk
    judges, found = [], []
    for train, test in splits:
        grown = clone(model).set_params(pruning=None).fit(X[train], y[train], w[train])
        judges.append(test)
        found.append([losses_at(grown, X[test], y[test], alpha, loss, risk) for alpha in typical])
    rows, each = np.concatenate(judges), np.concatenate(found, axis=1)
    mean = np.average(each, axis=1, weights=w[rows])
    variance = np.average((each - mean[:, None]) ** 2, axis=1, weights=w[rows])
    times = np.bincount(rows, minlength=len(y))
    independent = (w @ times) ** 2 / (w @ times**2)
    whole = clone(model).set_params(pruning=None).fit(X, y, w)
    unit = np.average(losses_at(whole, X, y, 1e9, loss, risk), weights=w)
    return mean / unit, np.sqrt(variance / independent) / unit


COSTS = np.array([[0.0, 1.0, 3.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
MODELS = {
    "impurity": CARTClassifier(min_samples_leaf=2),
    "errors": CARTClassifier(pruning=CostComplexity(risk="error"), criterion="entropy"),
    "costs": CARTClassifier(pruning=CostComplexity(risk="error"), loss_matrix=COSTS, max_depth=4),
    "numbers": CARTRegressor(min_weight_fraction_leaf=0.05),
    "few bins": CARTRegressor(max_bins=7, min_samples_leaf=3),
    "first of the best": CARTClassifier(max_leaf_nodes=8),
}


# A row that is listed twice weighs twice, but is one sample for min_samples_leaf and for bins.
PAIRS = [(name, splits) for name in MODELS for splits in SPLITS if splits != "bootstrap" or name not in ("impurity", "few bins")]


@pytest.mark.parametrize("weighted", ["none", "fractions", "some 0"])
@pytest.mark.parametrize(("name", "splits"), PAIRS)
def test_errors_are_those_of_trees_grown_on_train_and_judged_on_test(name: str, splits: str, weighted: str):
    X, y = numbers() if isinstance(MODELS[name], CARTRegressor) else classes()
    weight = weights(weighted)
    risk = getattr(MODELS[name].pruning, "risk", "impurity")
    model = clone(MODELS[name]).set_params(pruning=CostComplexity(alpha="cv", risk=risk, cv=SPLITS[splits]))
    table = model.fit(X, y, weight).pruning_table_
    assert len(table.ccp_alphas) > 2
    xerror, xstd = by_hand(model, X, y, weight, SPLITS[splits], table.ccp_alphas)
    assert table.xerror == pytest.approx(xerror)
    assert table.xstd == pytest.approx(xstd)
    assert table.xerror[table.chosen] == pytest.approx(xerror.min())
    assert model.get_n_leaves() == table.n_leaves[table.chosen]


def nominal() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.integers(0, 3, (N, 3)).astype(str), columns=list("abc"))
    return X, np.where(rng.random(N) < 0.2, rng.integers(0, 2, N), X["a"] < X["b"]).astype(int)


def with_gaps() -> tuple[np.ndarray, np.ndarray]:
    X, y = classes()
    return np.where(np.random.default_rng(3).random(X.shape) < 0.2, np.nan, X), y


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (ID3Classifier(), nominal),
        (C45Classifier(pruning=None), classes),
        (C45Classifier(pruning=None, variant="textbook"), classes),
        (CARTClassifier(missing="surrogate"), with_gaps),
        (CARTClassifier(), with_gaps),
        (TreeClassifier(recipe="c45", pruning=None), classes),
        (TreeRegressor(), numbers),
    ],
)
def test_every_estimator_with_folds_takes_them_as_they_are(model: Any, data: Any):
    X, y = data()
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    splits = SPLITS["time series with a gap"]
    table = model.set_params(pruning=CostComplexity(alpha="cv", cv=splits)).fit(X, y).pruning_table_
    alphas = np.append(np.sqrt(table.ccp_alphas[:-1] * table.ccp_alphas[1:]), 1e9)
    numeric = isinstance(model, TreeRegressor)
    found = np.zeros((len(alphas), 0))
    for train, test in splits:
        grown = clone(model).set_params(pruning=None).fit(rows[train], y[train])
        answers = [grown.prune(CostComplexity(alpha=alpha)).predict(rows[test]) for alpha in alphas]
        found = np.hstack([found, (answers - y[test]) ** 2 if numeric else answers != y[test]])
    unit = y.var() if numeric else 1 - np.bincount(y).max() / N
    assert table.xerror == pytest.approx(found.mean(axis=1) / unit)
    assert table.xstd == pytest.approx(found.std(axis=1) / np.sqrt(found.shape[1]) / unit)


def test_the_future_does_not_grow_a_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    splits = list(TimeSeriesSplit(3).split(X))
    others = [(np.setdiff1d(np.arange(60), test), test) for _, test in splits]
    ours, theirs = (
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=cv)).fit(X, y).pruning_table_.xerror for cv in (splits, others)
    )
    assert (ours != theirs).any()


def test_a_row_of_weight_0_does_not_move_the_folds():
    X, y = np.arange(12.0).reshape(-1, 1), np.array([0, 0, 0, 1, 1, 1] * 2)
    weight = np.append(0.0, np.ones(11))
    cv = [(np.arange(6), np.arange(6, 12)), (np.arange(6, 12), np.arange(6))]
    left = [(np.arange(5), np.arange(5, 11)), (np.arange(5, 11), np.arange(5))]
    with_row = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=cv)).fit(X, y, weight).pruning_table_
    without = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=left)).fit(X[1:], y[1:]).pruning_table_
    assert with_row.xerror.tolist() == without.xerror.tolist()
    assert with_row.xstd.tolist() == without.xstd.tolist()


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_rows_of_weight_0_are_as_good_as_absent(criterion: str):
    X, y = numbers()
    y, weight = np.floor(np.exp(y)), weights("some 0")
    y[weight == 0] = 1e6
    kept = np.flatnonzero(weight)
    new = np.cumsum(weight > 0) - 1
    splits = [(train[weight[train] > 0], test[weight[test] > 0]) for train, test in SPLITS["overlapping"]]
    pairs = (
        (SPLITS["overlapping"], [(new[train], new[test]) for train, test in splits]),
        (5, 5),  # of a number of folds, too
    )
    for folds, renumbered in pairs:
        ours, theirs = (
            CARTRegressor(criterion=criterion, pruning=CostComplexity(alpha="cv", cv=cv), random_state=0)
            for cv in (folds, renumbered)
        )
        ours.fit(X, y, weight)
        theirs.fit(X[kept], y[kept], weight[kept])
        assert ours.tree_ == theirs.tree_
        assert ours.pruning_table_.xerror == pytest.approx(theirs.pruning_table_.xerror, rel=1e-12)


def test_whole_weights_are_repetitions():
    X, y = classes()
    weight = weights("some 0").astype(int)
    first = np.cumsum(weight) - weight
    splits = [
        tuple(np.concatenate([np.arange(first[i], first[i] + weight[i]) for i in rows]) for rows in split)
        for split in SPLITS["time series"]
    ]
    ours = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=SPLITS["time series"])).fit(X, y, weight).pruning_table_
    theirs = (
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=splits))
        .fit(X.repeat(weight, axis=0), y.repeat(weight))
        .pruning_table_
    )
    assert ours.xerror == pytest.approx(theirs.xerror)
    assert ours.xstd == pytest.approx(theirs.xstd)


def test_the_order_of_rows_and_of_folds_does_not_matter():
    X, y = classes()
    order = np.random.default_rng(1).permutation(N)
    place = np.argsort(order)
    for splits in SPLITS.values():
        moved = [(place[train][::-1], place[test][::-1]) for train, test in splits][::-1]
        ours = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=splits)).fit(X, y)
        theirs = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=moved)).fit(X[order], y[order])
        assert ours.tree_ == theirs.tree_
        assert ours.pruning_table_.xerror.tolist() == theirs.pruning_table_.xerror.tolist()


def test_to_repeat_a_cross_validation_does_not_make_its_errors_more_certain():
    X, y = classes()
    once, thrice = (
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=SPLITS["once each"] * times)).fit(X, y).pruning_table_
        for times in (1, 3)
    )
    assert thrice.xerror == pytest.approx(once.xerror)
    assert thrice.xstd == pytest.approx(once.xstd)


def test_a_class_may_lack_in_train_and_in_test():
    X, y = classes()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    for extra in ({}, {"priors": [0.2, 0.3, 0.5]}, {"loss_matrix": COSTS}, {"class_weight": "balanced"}):
        for risk in ("impurity", "error"):
            pruning = CostComplexity(alpha="cv", risk=risk, cv=KFold(3))
            table = CARTClassifier(pruning=pruning, **extra).fit(X, y).pruning_table_
            assert np.isfinite(table.xerror).all()
    only = [(np.flatnonzero(y == 0), np.flatnonzero(y > 0))]
    table = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=only)).fit(X, y).pruning_table_
    assert table.xerror == pytest.approx(np.full(len(table.xerror), 1 / np.average(y != np.bincount(y).argmax())))


# Splitters


class Recorder:
    """A splitter that keeps what it is called with."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        self.called_with = X, y, groups
        yield from KFold(3).split(np.zeros(len(y)))


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X,
        np.ndarray.tolist,
        csr_matrix,
        lambda X: pd.DataFrame(X, columns=list("abc"), index=np.arange(N)[::-1]),
        lambda X: pl.DataFrame(X, schema=list("abc")),
        lambda X: pa.table(dict(zip("abc", X.T, strict=True))),
        lambda X: pa.record_batch(dict(zip("abc", X.T, strict=True))),
    ],
)
def test_a_splitter_sees_the_rows_of_the_fit(form: Any):
    X, y = classes()
    labels = np.array(["low", "high", "mid"])[y]
    table, cv = form(X), Recorder()
    found = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=cv)).fit(table, pd.Series(labels), weights("some 0"))
    assert cv.called_with[0] is table
    assert cv.called_with[1].tolist() == labels.tolist()
    expected = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=list(KFold(3).split(X)))).fit(X, labels, weights("some 0"))
    assert found.pruning_table_.xerror.tolist() == expected.pruning_table_.xerror.tolist()
    for splitter in (KFold(3), StratifiedKFold(3), TimeSeriesSplit(3)):
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=splitter)).fit(table, labels)


def test_a_stream_has_no_length_for_a_splitter_to_ask():
    X, y = classes()
    table = pa.table(dict(zip("abc", X.T, strict=True)))
    found = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=KFold(3))).fit(table.to_reader(), y).pruning_table_
    assert (
        found.xerror.tolist()
        == CARTClassifier(pruning=CostComplexity(alpha="cv", cv=KFold(3))).fit(X, y).pruning_table_.xerror.tolist()
    )


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(4, shuffle=True, random_state=1),
        StratifiedKFold(3, shuffle=True, random_state=1),
        StratifiedShuffleSplit(4, random_state=1),
        ShuffleSplit(4, random_state=1),
        TimeSeriesSplit(4, gap=2),
        PredefinedSplit(np.arange(N) % 4 - 1),
        LeaveOneOut(),
    ],
)
def test_a_splitter_is_its_list_of_folds(splitter: Any):
    X, y = classes()
    labels = pd.Categorical(np.array(["low", "high", "mid"])[y], categories=["low", "mid", "high"])
    given = list(splitter.split(X, np.asarray(labels)))
    masks = [tuple(np.isin(np.arange(N), rows) for rows in split) for split in given]
    lists = [[rows.tolist() for rows in split] for split in given]
    expected = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=given)).fit(X, labels, weights("some 0")).pruning_table_
    for cv in (splitter, masks, lists, tuple(lists), iter(given)):
        assert CARTClassifier(pruning=CostComplexity(alpha="cv", cv=cv)).fit(
            X, labels, weights("some 0")
        ).pruning_table_.xerror.tolist() == (expected.xerror.tolist())


def test_numbers_can_be_stratified_as_in_scikit_learn():
    X, y = classes()
    given = list(StratifiedKFold(3).split(X, y))
    ours, theirs = (
        CARTRegressor(pruning=CostComplexity(alpha="cv", cv=cv)).fit(X, y).pruning_table_ for cv in (StratifiedKFold(3), given)
    )
    assert ours.xerror.tolist() == theirs.xerror.tolist()
    with pytest.raises(ValueError, match=r"cv=StratifiedKFold\(.*\) cannot split the 90 rows of X: Supported target types are"):
        CARTRegressor(pruning=CostComplexity(alpha="cv", cv=StratifiedKFold(3))).fit(*numbers())


@pytest.mark.parametrize(
    "splitter", [GroupKFold(3), LeaveOneGroupOut(), LeavePGroupsOut(1), GroupShuffleSplit(2), StratifiedGroupKFold(3)]
)
def test_groups_come_as_folds(splitter: Any):
    X, y = classes()
    with pytest.raises(ValueError, match=r"fit takes no groups, so give the folds themselves: cv=list\(splitter\.split\(X"):
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=splitter)).fit(X, y)
    CARTClassifier(pruning=CostComplexity(alpha="cv", cv=list(splitter.split(X, y, np.arange(N) % 5)))).fit(X, y)


class ByGroups(KFold):
    """Takes no rows without groups, and does not look whether there are any, as scikit-learn's did before 1.9."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return iter(zip(y, groups, strict=True))


class Broken(KFold):
    """A mistake of its own."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        return iter(self + 1)


@pytest.mark.parametrize(
    ("splitter", "error", "words"),
    [
        (ByGroups(3), ValueError, r"cannot split the 90 rows of X: .* not iterable.*; fit takes no groups, so give the folds"),
        (Broken(3), TypeError, "unsupported operand"),
    ],
    ids=["groups", "mistake"],
)
def test_groups_that_a_splitter_misses_without_a_word_come_as_folds_too(splitter: Any, error: type[Exception], words: str):
    with pytest.raises(error, match=words):
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=splitter)).fit(*classes())


# What is refused


GOOD = (np.arange(6), np.arange(6, 12))
FOLD = "fold 1 of cv (counted from 0)"
REFUSED: dict[str, tuple[Any, str]] = {
    "above": (([0, 1], [2, 12]), f"{FOLD}: test[1] is 12: X has 12 rows, so row numbers must be from 0 to 11"),
    "above in train": (([0, 15], [2]), f"{FOLD}: train[1] is 15: X has 12 rows, so row numbers must be from 0 to 11"),
    "negative": (([0, 1], [-1]), f"{FOLD}: test[0] is -1: X has 12 rows, so row numbers must be from 0 to 11"),
    "huge": (([2**63], [1]), f"{FOLD}: train[0] is {2**63}: X has 12 rows, so row numbers must be from 0 to 11"),
    "floats": (([0.0, 1.0], [2]), f"{FOLD}: train[0] is 0.0 (dtype float64): row numbers must be integers, from 0 to 11"),
    "labels": ((["a"], [2]), f"{FOLD}: train[0] is 'a' (dtype <U1): row numbers must be integers, from 0 to 11"),
    "both": (([0, 1, 2, 3], [3, 2]), f"{FOLD}: train and test both hold row 2 and 1 more"),
    "empty train": (([], [1]), f"{FOLD}: train has no rows: give it at least one, or leave out the fold"),
    "empty test": (([1], []), f"{FOLD}: test has no rows: give it at least one, or leave out the fold"),
    "empty mask": (([1], np.zeros(12, bool)), f"{FOLD}: test has no rows: give it at least one, or leave out the fold"),
    "short mask": ((np.ones(5, bool), [7]), f"{FOLD}: train is a mask of length 5: X has 12 rows, and a mask must have as many"),
    "one row": ((3, [7]), f"{FOLD}: train is 3: must be a list of row numbers, or a mask with a truth value for each row of X"),
    "table": (([[1], [2]], [7]), f"{FOLD}: train is [[1], [2]]: must be a list of row numbers"),
    "ragged": (([[1], [2, 3]], [7]), f"{FOLD}: train is [[1], [2, 3]]: must be a list of row numbers"),
    "slice": ((slice(3), [7]), f"{FOLD}: train is slice(None, 3, None): must be a list of row numbers"),
    "weightless": (([0, 11], [7]), f"{FOLD}: every row of train has weight 0: a tree grows on rows of positive weight"),
    "single": (3, f"{FOLD} is 3: must be a pair of rows (train, test), as in cv=[(train, test), ...]"),
    "triple": (([0], [1], [2]), f"{FOLD} is ([0], [1], [2]): must be a pair of rows (train, test)"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("estimator", [CARTClassifier, CARTRegressor])
def test_a_fold_that_cannot_be_is_one_clear_error(estimator: type, name: str):
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    fold, message = REFUSED[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        estimator(pruning=CostComplexity(alpha="cv", cv=[GOOD, fold])).fit(X, y, [0.0] + [1.0] * 10 + [0.0])


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "cv=[] gives no folds: give at least one pair of rows (train, test)"),
        (iter([]), "give at least one pair of rows (train, test); an iterator gives its pairs only once, so make a list of them"),
        ([([1], [0]), ([2], [11])], "the rows of test have weight 0 in every fold of cv"),
        (KFold(13), "cannot split the 12 rows of X: Cannot have number of splits n_splits=13 greater than the number of samples"),
        ("abc", "cv='abc': must be an integer >= 2, a splitter of scikit-learn, or a list of pairs of rows (train, test)"),
        (KFold, "must be an integer >= 2, a splitter of scikit-learn, or a list"),
        ({0: 1}, "cv={0: 1}: must be an integer >= 2"),
        (True, "cv=True: must be an integer >= 2"),
        (12, "cv=12: must not exceed the number of samples, 10 of 2 classes with a positive weight; use cv=10 or less"),
    ],
)
def test_folds_that_cannot_be_are_one_clear_error(cv: Any, message: str):
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    with pytest.raises(ValueError, match=re.escape(message)):
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=cv)).fit(X, y, [0.0] + [1.0] * 10 + [0.0])


def test_too_few_samples_for_a_number_of_folds():
    for estimator in (CARTClassifier, CARTRegressor):
        with pytest.raises(ValueError, match="cv=3: folds need at least 2 samples, and there is only 1 sample"):
            estimator(pruning=CostComplexity(alpha="cv", cv=3)).fit([[1.0]], [1])
        with pytest.raises(ValueError, match=r"cv=3: must not exceed the number of samples, 2.*; use cv=2 or less"):
            estimator(pruning=CostComplexity(alpha="cv", cv=3)).fit([[1.0], [2.0]], [1, 1])


def test_a_fold_is_refused_before_anything_grows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("fasttree._learn.grow.growth.grow", None)
    with pytest.raises(ValueError, match=r"fold 0 of cv \(counted from 0\): test has no rows"):
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=[([0], [])])).fit([[1.0], [2.0]], [0, 1])


def test_a_fold_that_weighs_nothing_says_nothing():
    X, y = classes()
    weight = np.where(np.arange(N) < 3, 0.0, 1.0)
    ours, theirs = (
        CARTClassifier(pruning=CostComplexity(alpha="cv", cv=cv)).fit(X, y, weight).pruning_table_
        for cv in (LeaveOneOut(), list(LeaveOneOut().split(X))[3:])
    )
    assert ours.xerror.tolist() == theirs.xerror.tolist()
    assert ours.xstd.tolist() == theirs.xstd.tolist()
