"""What is measured: a table, our call, scikit-learn's call on the same table, and the check that both answered alike.

Trees of the two libraries are the same up to ties, which scikit-learn decides by a random order of features and we by a rule.  So
we go down both trees together: in every node that they share, the two splits must gain the same.  What ties cannot change must
agree, too: the accuracy of whole trees on the training table; and node counts, within 1 %.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fasttree import C45Classifier, C45Rules, CARTClassifier, CARTRegressor, ID3Classifier

from . import tables

EXAMPLES = Path(__file__).parent.parent / "examples"
SMALL = 5_000  # samples of a quick run
LARGE = 100_000
SAME = 1e-9  # relative difference of impurities, gains and scores that rounding explains
ROUNDING = 1e-12  # per sample and of the root's impurity: variances are differences of large numbers in scikit-learn
NODES_APART = 0.01  # relative difference of node counts that ties explain

Check = Callable[[Any, Any], dict[str, float]]


class Skipped(Exception):
    """The case needs something that is not here; the message says what."""


@dataclass(frozen=True)
class Duel:
    """Two calls that should give the same answer; `check` raises AssertionError if not, and returns figures of the answers."""

    ours: Callable[[], Any]
    peer: Callable[[], Any] | None
    check: Check
    shape: tuple[int, int]
    recorded_seconds: float | None = None  # of a program that is not run here
    yardstick: Callable[[], Any] | None = None  # a call of which it is known what it took on the machine of the record


@dataclass(frozen=True)
class Case:
    """`make(large)` builds the table; nothing of that is timed.  `target`: how many times faster than the peer it shall be."""

    name: str
    subject: str  # "grow", "predict", "c45" or "scale"
    make: Callable[[bool], Duel]
    target: float | None = None


@dataclass(frozen=True)
class MemoryCase:
    """Peak memory of training above the input, for a table that is made without a file."""

    name: str
    n_samples: int
    make: Callable[[int], tuple[NDArray[Any], NDArray[Any]]]
    ours: str = "fasttree:CARTClassifier"  # module:class, for a process of its own
    peer: str = "sklearn.tree:DecisionTreeClassifier"
    target: float = 12  # bytes a value at most


# --- tables


def shared_folder() -> Path:
    folder = os.environ.get("FASTTREE_SHARED", "")
    if not Path(folder, "data").is_dir():
        raise Skipped("needs FASTTREE_SHARED, the folder that holds data/ and reference/")
    return Path(folder)


def read_shared(name: str, large: bool) -> tuple[pd.DataFrame, pd.Series]:
    """A data set without its last column, and that column."""
    return read(shared_folder() / "data" / f"{name}.csv.gz", large)


def read(path: Path, large: bool) -> tuple[pd.DataFrame, pd.Series]:
    # Only the empty cell is missing in these files.
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    if not large:
        frame = frame.iloc[:SMALL]
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def as_codes(column: pd.Series) -> NDArray[Any]:
    """Numbers as they are, strings as codes, missing as -1."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy()
    return column.astype("category").cat.codes.to_numpy()


def matrix(frame: pd.DataFrame, dtype: type = np.float32) -> NDArray[Any]:
    return np.column_stack([as_codes(frame[name]) for name in frame]).astype(dtype)


@lru_cache(maxsize=2)
def signal(n_samples: int) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float64]]:
    return tables.signal(n_samples)


def n_samples(large: bool) -> int:
    return LARGE if large else SMALL


# --- checks of grown trees


def risks(tree: Any) -> NDArray[np.float64]:
    """Weight times impurity of each node, of a tree of either library."""
    weight = tree.weight if hasattr(tree, "weight") else tree.weighted_n_node_samples
    return np.asarray(weight * tree.impurity)


def compare_trees(ours: Any, peer: Any) -> dict[str, float]:
    """Assert that the node counts are close and that splits of shared nodes gain the same; count those, and the ties among them.

    Below a tie, where the two libraries chose different splits of the same gain, nothing is shared and nothing compared: the
    impurity left in the leaves of a tree of limited depth may differ there, as it does between seeds of scikit-learn.
    """
    tree, other = ours.tree_, peer.tree_
    tree.check()
    nodes, peer_nodes = tree.node_count, other.node_count
    assert abs(nodes - peer_nodes) <= NODES_APART * peer_nodes, f"nodes: {nodes}, scikit-learn {peer_nodes}"

    risk, other_risk = risks(tree), risks(other)
    left, other_left, other_right = tree.first_child.tolist(), other.children_left.tolist(), other.children_right.tolist()
    shared, ties = [(0, 0)], 0
    for a, b in shared:  # grows while it is read
        gain = 0.0 if left[a] < 0 else risk[a] - risk[left[a]] - risk[left[a] + 1]
        other_gain = 0.0 if other_left[b] < 0 else other_risk[b] - other_risk[other_left[b]] - other_risk[other_right[b]]
        rounding = SAME * risk[a] + ROUNDING * tree.weight[a] * tree.impurity[0]
        assert abs(gain - other_gain) <= rounding, f"gain at our node {a}: {gain!r}; scikit-learn at its node {b}: {other_gain!r}"
        if left[a] < 0 and other_left[b] < 0:
            continue
        # of the samples of one node, two thresholds on one feature that send as many to the left send the same ones
        same_feature = tree.feature[a] == other.feature[b]
        if same_feature and tree.n_samples[left[a]] == other.n_node_samples[other_left[b]]:
            shared += [(left[a], other_left[b]), (left[a] + 1, other_right[b])]
        else:
            ties += 1
    leaf_risk, peer_leaf_risk = (float(of_all[np.array(to) < 0].sum()) for of_all, to in ((risk, left), (other_risk, other_left)))
    if not ties:
        assert abs(leaf_risk - peer_leaf_risk) <= SAME * risk[0], f"leaf impurity: {leaf_risk!r}, scikit-learn {peer_leaf_risk!r}"
    return {
        "nodes": nodes,
        "peer_nodes": peer_nodes,
        "shared_nodes": len(shared),
        "ties": ties,
        "leaf_risk": leaf_risk,
        "peer_leaf_risk": peer_leaf_risk,
    }


def compare_scores(X: Any, y: Any) -> Check:
    """Whole trees separate all samples that differ: accuracies or R² on (X, y), the table of training, must be equal."""

    def check(ours: Any, peer: Any) -> dict[str, float]:
        ours.tree_.check()
        score, peer_score = float(ours.score(X, y)), float(peer.score(X, y))
        assert abs(score - peer_score) <= SAME, f"score on the training table: {score!r}, scikit-learn {peer_score!r}"
        return {"nodes": ours.tree_.node_count, "score": score, "peer_score": peer_score}

    return check


# --- growing


def grow(X: Any, y: Any, max_depth: int | None = None, *, regression: bool = False) -> Duel:
    ours_type, peer_type = (CARTRegressor, DecisionTreeRegressor) if regression else (CARTClassifier, DecisionTreeClassifier)
    compare_whole = compare_scores(X, y)

    def check(ours: Any, peer: Any) -> dict[str, float]:
        return compare_trees(ours, peer) | (compare_whole(ours, peer) if max_depth is None else {})

    return Duel(
        ours=lambda: ours_type(max_depth=max_depth).fit(X, y),
        peer=lambda: peer_type(max_depth=max_depth, random_state=0).fit(X, y),
        check=check,
        shape=X.shape,
    )


def grow_signal(dtype: type, max_depth: int | None, regression: bool) -> Callable[[bool], Duel]:
    def make(large: bool) -> Duel:
        X, y, values = signal(n_samples(large))
        return grow(X.astype(dtype), values if regression else y, max_depth, regression=regression)

    return make


def grow_noise(large: bool) -> Duel:
    return grow(*tables.noise(n_samples(large)))


def grow_covtype_like(large: bool) -> Duel:
    return grow(*tables.covtype_like(n_samples(large)))


COVTYPE_LEARN = 74_000  # the rest is for prediction


def covtype(large: bool) -> tuple[NDArray[Any], NDArray[Any], int]:
    """X, y and the number of rows to learn from."""
    frame, target = read_shared("covtype", large)
    return matrix(frame), as_codes(target), COVTYPE_LEARN if large else len(frame) * 4 // 5


def grow_covtype(large: bool) -> Duel:
    X, y, learn = covtype(large)
    return grow(X[:learn], y[:learn])


def grow_adult_codes(large: bool) -> Duel:
    frame, target = read(EXAMPLES / "adult.csv.gz", large)
    return grow(matrix(frame), as_codes(target))


def grow_california(large: bool) -> Duel:
    frame, target = read_shared("california-housing", large)
    return grow(matrix(frame, np.float64), target.to_numpy(np.float64), regression=True)


def grow_letter(large: bool) -> Duel:
    frame, target = read_shared("letter", large)
    return grow(matrix(frame), as_codes(target))


def grow_iris(large: bool) -> Duel:
    return grow(*load_iris(return_X_y=True))


def one_hot_tree(frame: pd.DataFrame, **parameters: Any) -> Any:
    """What scikit-learn needs for a table with strings; a dense float32 table, which its trees take as it is."""
    strings = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    columns = make_column_transformer((encoder, strings), remainder="passthrough")
    return make_pipeline(columns, DecisionTreeClassifier(random_state=0, **parameters))


def grow_adult_strings(large: bool) -> Duel:
    frame, target = read(EXAMPLES / "adult.csv.gz", large)
    # Splits differ (groups of categories, one against the rest), but only equal rows end together in either tree.
    return Duel(
        ours=lambda: CARTClassifier().fit(frame, target),
        peer=lambda: one_hot_tree(frame).fit(frame, target),
        check=compare_scores(frame, target),
        shape=frame.shape,
    )


def grow_mushroom_id3(large: bool) -> Duel:
    frame, target = read(EXAMPLES / "mushroom.csv.gz", large)
    frame = frame.dropna(axis="columns")  # ID3 refuses missing values
    return Duel(
        ours=lambda: ID3Classifier().fit(frame, target),
        peer=lambda: one_hot_tree(frame, criterion="entropy").fit(frame, target),
        check=compare_scores(frame, target),
        shape=frame.shape,
    )


# --- C4.5, beside what Quinlan's program took where it was run

RULE_ERRORS_APART = 0.02
YARDSTICK_SECONDS = 0.357  # what `one_hot_adult` took on that machine


@lru_cache(maxsize=1)
def one_hot_adult() -> Callable[[], Any]:
    frame, target = read(EXAMPLES / "adult.csv.gz", True)
    return lambda: one_hot_tree(frame).fit(frame, target)


def grow_c45(name: str) -> Callable[[bool], Duel]:
    def make(large: bool) -> Duel:
        # Always the whole table: the program's figures are of it.
        folder = shared_folder()
        document = json.loads((folder / "reference" / "c45_results.json").read_text())
        reference, timing = document["datasets"][name], document["about"]["timing_default_run"]["sets"][name]
        frame, target = read_shared(name, True)
        frame = declare(frame, reference["attributes"])
        y = pd.Categorical(target.astype(str), categories=reference["classes"])
        recorded = next(run for run in reference["runs"] if run["run"] == "default" and run["n_train"] == len(frame))

        def check(ours: Any, peer: None) -> dict[str, float]:
            ours.tree_.check()
            figures = {
                "unpruned nodes": (ours.tree_unpruned_.node_count, recorded["unpruned"]["size"]),
                "nodes": (ours.tree_.node_count, recorded["pruned"]["size"]),
                "errors": (int((ours.predict(frame) != np.asarray(y)).sum()), recorded["pruned"]["train_errors"]),
            }
            for what, (figure, its_figure) in figures.items():
                assert abs(figure - its_figure) <= NODES_APART * its_figure, f"{what}: {figure}, C4.5 {its_figure}"
            return {what: figure for what, (figure, _) in figures.items()}

        return Duel(
            ours=lambda: C45Classifier().fit(frame, y),
            peer=None,
            check=check,
            shape=frame.shape,
            recorded_seconds=timing["seconds"] - timing["of_which_reading"],
            yardstick=one_hot_adult(),
        )

    return make


def rules_of_c45(name: str) -> Callable[[bool], Duel]:
    """Rule sets of a grown tree.  Of a table with missing values our tree differs at a few ties, so its rules may differ, too."""

    def make(large: bool) -> Duel:
        reference = json.loads((shared_folder() / "reference" / "c45_results.json").read_text())["datasets"][name]
        frame, target = read_shared(name, True)
        frame = declare(frame, reference["attributes"])
        y = pd.Categorical(target.astype(str), categories=reference["classes"])
        recorded = next(run for run in reference["runs"] if run["run"] == "rules" and run["n_train"] == len(frame))
        model = C45Classifier().fit(frame, y)
        apart = RULE_ERRORS_APART if reference["missing_values"] else 0

        def check(ours: Any, peer: None) -> dict[str, float]:
            errors, its_errors = int((ours.predict(frame) != np.asarray(y)).sum()), recorded["train_errors"]
            assert abs(errors - its_errors) <= apart * its_errors, f"training errors: {errors}, C4.5 {its_errors}"
            assert apart or len(ours.rules_) == recorded["n_rules"], f"rules: {len(ours.rules_)}, C4.5 {recorded['n_rules']}"
            return {"rules": len(ours.rules_), "recorded_rules": recorded["n_rules"], "errors": errors}

        return Duel(
            ours=lambda: C45Rules.from_tree(model, frame, y),
            peer=None,
            check=check,
            shape=frame.shape,
            recorded_seconds=recorded["cpu_seconds"],
            yardstick=one_hot_adult(),
        )

    return make


def declare(frame: pd.DataFrame, attributes: list[dict[str, Any]]) -> pd.DataFrame:
    """Categories as the reference declares them, numbers as floats."""

    def column(name: str, attribute: dict[str, Any]) -> Any:
        if attribute["type"] == "continuous":
            return frame[name].astype(np.float64)
        cells = frame[name]
        return pd.Categorical(cells.where(cells.isna(), cells.astype(str)), categories=attribute["values"])

    named = zip(frame.columns, attributes, strict=True)
    return pd.DataFrame({name: column(name, attribute) for name, attribute in named}, index=frame.index)


def scale_hflights(n: int, missing: float) -> Callable[[bool], Duel]:
    """Flights drawn with replacement: will one arrive more than 15 minutes late?  A share of the cells is left out."""

    def make(large: bool) -> Duel:
        frame, delay = read_shared("hflights", True)
        rng = np.random.default_rng(0)
        rows = rng.choice(np.flatnonzero(delay.notna()), n if large else min(n, SMALL))
        X, y = frame.iloc[rows].reset_index(drop=True), delay.to_numpy()[rows] > 15
        if missing:
            X = X.mask(rng.random(X.shape) < missing)

        def check(ours: Any, peer: None) -> dict[str, float]:
            ours.tree_.check()
            tree, score = ours.tree_unpruned_, float(ours.score(X, y))
            assert score > max(y.mean(), 1 - y.mean()), f"score on the training table: {score}"
            return {"nodes": tree.node_count, "visits": int(tree.n_samples[tree.feature >= 0].sum()), "score": score}

        return Duel(ours=lambda: C45Classifier().fit(X, y), peer=None, check=check, shape=X.shape)

    return make


# --- prediction


def predict(ours: Any, peer: Any, X: Any, y: Any = None) -> Duel:
    """Predictions on X, of which 1 % may differ by ties; with y, the classes of a table not learnt from, accuracies by 0.01."""

    def check(predicted: Any, peer_predicted: Any) -> dict[str, float]:
        if y is None:
            differ = float(np.mean(predicted != peer_predicted))
            assert differ <= 0.01, f"{differ:.2%} of the predictions differ"
            return {"differ": differ}
        score, peer_score = float(np.mean(predicted == y)), float(np.mean(peer_predicted == y))
        assert abs(score - peer_score) <= 0.01, f"accuracy {score:.4f}, scikit-learn {peer_score:.4f}"
        return {"score": score, "peer_score": peer_score}

    return Duel(ours=lambda: ours.predict(X), peer=lambda: peer.predict(X), check=check, shape=X.shape)


@lru_cache(maxsize=2)
def signal_models(n: int, max_depth: int | None) -> tuple[Any, Any]:
    X, y, _ = signal(n)
    return CARTClassifier(max_depth=max_depth).fit(X, y), DecisionTreeClassifier(max_depth=max_depth, random_state=0).fit(X, y)


def predict_signal(max_depth: int | None, n_rows: int | None = None, dtype: type = np.float32) -> Callable[[bool], Duel]:
    def make(large: bool) -> Duel:
        n = n_samples(large)
        return predict(*signal_models(n, max_depth), signal(n)[0][:n_rows].astype(dtype))

    return make


def predict_covtype(large: bool) -> Duel:
    X, y, learn = covtype(large)
    ours = CARTClassifier().fit(X[:learn], y[:learn])
    peer = DecisionTreeClassifier(random_state=0).fit(X[:learn], y[:learn])
    return predict(ours, peer, X[learn:], y[learn:])


def predict_iris(large: bool) -> Duel:
    X, y = load_iris(return_X_y=True)
    return predict(CARTClassifier().fit(X, y), DecisionTreeClassifier(random_state=0).fit(X, y), X)


def predict_adult_strings(large: bool) -> Duel:
    frame, target = read(EXAMPLES / "adult.csv.gz", True)
    test, test_target = read(EXAMPLES / "adult.test.csv.gz", large)
    learn = n_samples(large)
    frame, target = frame[:learn], target[:learn]
    ours = CARTClassifier(max_depth=8).fit(frame, target)
    return predict(ours, one_hot_tree(frame, max_depth=8).fit(frame, target), test, test_target.to_numpy())


CASES = [
    Case("signal, classes, float32", "grow", grow_signal(np.float32, None, False), target=15),
    Case("signal, classes, float64", "grow", grow_signal(np.float64, None, False), target=15),
    Case("signal, regression, float32", "grow", grow_signal(np.float32, None, True)),
    Case("signal, regression, float64", "grow", grow_signal(np.float64, None, True)),
    Case("signal, classes, float32, depth 8", "grow", grow_signal(np.float32, 8, False)),
    Case("signal, classes, float64, depth 8", "grow", grow_signal(np.float64, 8, False)),
    Case("signal, regression, float32, depth 8", "grow", grow_signal(np.float32, 8, True)),
    Case("signal, regression, float64, depth 8", "grow", grow_signal(np.float64, 8, True)),
    Case("noise, classes, float32", "grow", grow_noise),
    Case("covtype_like, classes, float32", "grow", grow_covtype_like),
    Case("covtype, 74,000 rows", "grow", grow_covtype, target=3),
    Case("adult, codes", "grow", grow_adult_codes, target=4),
    Case("adult, strings; one-hot there", "grow", grow_adult_strings),
    Case("california-housing, regression", "grow", grow_california, target=4),
    Case("letter", "grow", grow_letter),
    Case("iris", "grow", grow_iris, target=1),
    Case("mushroom by ID3; one-hot there", "grow", grow_mushroom_id3),
    Case("signal, whole tree, float32", "predict", predict_signal(None)),
    Case("signal, whole tree, float64", "predict", predict_signal(None, dtype=np.float64)),
    Case("signal, depth 8", "predict", predict_signal(8)),
    Case("signal, whole tree, one row", "predict", predict_signal(None, n_rows=1)),
    Case("covtype, the other rows", "predict", predict_covtype),
    Case("adult, strings; one-hot there", "predict", predict_adult_strings),
    Case("iris", "predict", predict_iris, target=1),
    Case("adult", "c45", grow_c45("adult"), target=4),
    Case("letter", "c45", grow_c45("letter"), target=4),
    Case("shuttle", "c45", grow_c45("shuttle"), target=4),
    Case("covtype", "c45", grow_c45("covtype"), target=15),
    Case("rules of letter", "c45", rules_of_c45("letter"), target=30),
    Case("rules of adult", "c45", rules_of_c45("adult"), target=30),
    Case("hflights, 10,000 rows", "scale", scale_hflights(10_000, 0.0)),
    Case("hflights, 100,000 rows", "scale", scale_hflights(100_000, 0.0)),
    Case("hflights, 1,000,000 rows", "scale", scale_hflights(1_000_000, 0.0)),
    Case("hflights, 10,000 rows, 20 % missing", "scale", scale_hflights(10_000, 0.2)),
    Case("hflights, 100,000 rows, 20 % missing", "scale", scale_hflights(100_000, 0.2)),
    Case("hflights, 1,000,000 rows, 20 % missing", "scale", scale_hflights(1_000_000, 0.2)),
]


def signal_table(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    X, y, _ = tables.signal(n)
    return X, y


def signal_values(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    X, _, values = tables.signal(n)
    return X, values


def signal_float64(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    X, y, _ = tables.signal(n)
    return X.astype(np.float64), y


REGRESSORS = ("fasttree:CARTRegressor", "sklearn.tree:DecisionTreeRegressor")

MEMORY_CASES = [
    MemoryCase("signal, classes, float32", 100_000, signal_table),
    MemoryCase("signal, classes, float64", 100_000, signal_float64),
    MemoryCase("signal, regression, float32", 100_000, signal_values, *REGRESSORS),
    MemoryCase("signal, classes, float32", 1_000_000, signal_table),
]
