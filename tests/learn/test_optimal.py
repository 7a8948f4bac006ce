"""Trees that no other tree of their depth beats, against a search of all trees and proven optima."""

import json
import math
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_tables import table_of

from fasttree import OptimalTreeClassifier, OptimalTreeRegressor, from_json, progress
from fasttree._learn.grow import optimal
from fasttree.estimators.common.saved import SavedTree
from tests.twins.best_tree import least_objective, least_squares

PLAIN = {
    "n_classes": 2,
    "missing": False,
    "nominal": False,
    "weighted": False,
    "costs": False,
    "penalty": 0.0,
    "min_leaf": 1,
    "share": 0.0,
}
KINDS = {
    "two classes": {},
    "classes": {"n_classes": 4},
    "missing": {"missing": True},
    "nominal": {"nominal": True, "missing": True},
    "weights": {"weighted": True, "n_classes": 3},
    "costs": {"costs": True, "n_classes": 3, "missing": True},
    "costs of two classes": {"costs": True, "weighted": True},
    "nominal and classes": {"nominal": True, "missing": True, "n_classes": 4},
    "nominal and costs": {"nominal": True, "costs": True, "n_classes": 3, "weighted": True},
    "penalty": {"penalty": 1.5, "nominal": True, "n_classes": 3},
    "small leaves": {"min_leaf": 3, "nominal": True, "missing": True, "n_classes": 3, "penalty": 0.5},
    "light leaves": {"share": 0.2, "nominal": True, "missing": True, "weighted": True},
}


def sizes_of(depth):
    """Return what the rows, columns and codes of a table stay below, so that the twin can search all trees."""
    return 10 if depth == 4 else 16, 3 if depth == 4 else 4, 4 if depth > 2 else 9


def weigh(random, n, weighted):
    return random.integers(1, 6, n) / 4 if weighted else np.ones(n)


def may_be_leaf(weight, min_rows, min_weight, rows):
    return len(rows) >= min_rows and weight[rows].sum() >= min_weight


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_tables", [60, pytest.param(1000, marks=pytest.mark.nightly)])
def test_no_tree_is_better(kind, n_tables):
    choices = PLAIN | KINDS[kind]
    random = np.random.default_rng(len(kind))
    for turn in range(n_tables):
        depth = (1, 2, 3, 2, 3, 4)[turn % 6]
        X, columns = table_of(random, *sizes_of(depth), missing=choices["missing"], nominal=choices["nominal"])
        n, k = len(X), choices["n_classes"]
        y = random.integers(0, k, n)
        y[: min(k, n)] = np.arange(min(k, n))
        k = int(y.max()) + 1
        weight = weigh(random, n, choices["weighted"])
        loss = random.integers(1, 5, (k, k)) * (1 - np.eye(k)) if choices["costs"] and k > 1 else 1 - np.eye(k)
        model = OptimalTreeClassifier(
            max_depth=depth,
            leaf_penalty=choices["penalty"],
            min_samples_leaf=choices["min_leaf"],
            min_weight_fraction_leaf=choices["share"],
            loss_matrix=loss if choices["costs"] and k > 1 else None,
            memory_limit=(256, 1e-9)[turn % 2],
            n_jobs=1 + turn // 2 % 2,
        ).fit(X, y, sample_weight=weight)
        costs = weight[:, None] * loss[y]
        large = partial(may_be_leaf, weight, choices["min_leaf"], choices["share"] * weight.sum())
        by_order = choices["min_leaf"] > 1 or choices["share"] > 0
        least = least_objective(columns, costs.tolist(), depth, choices["penalty"], large, weight if by_order else None)
        assert model.objective_ == model.lower_bound_ == float(least), turn
        assert (model.status_, model.gap_) == ("optimal", 0)
        model.tree_.check()
        assert model.get_depth() <= depth
        assert (model.tree_.n_samples[model.tree_.leaves()] >= min(choices["min_leaf"], n)).all()
        paid = costs[np.arange(n), model.predict(X)].sum() + choices["penalty"] * model.get_n_leaves()
        assert paid == float(least), turn


OF_NUMBERS = {
    "numbers": {},
    "missing numbers": {"missing": True, "nominal": True},
    "weights": {"weighted": True},
    "penalty": {"penalty": 2.5, "weighted": True},
    "small leaves": {"min_leaf": 3, "missing": True},
    "light leaves": {"share": 0.2, "nominal": True, "weighted": True},
    "categories": {"nominal": True, "penalty": 0.5},
}


@pytest.mark.parametrize("kind", OF_NUMBERS)
@pytest.mark.parametrize("n_tables", [40, pytest.param(1000, marks=pytest.mark.nightly)])
def test_no_tree_has_smaller_squared_errors(kind, n_tables):
    choices = PLAIN | OF_NUMBERS[kind]
    random = np.random.default_rng(len(kind))
    for turn in range(n_tables):
        depth = (1, 2, 3, 2)[turn % 4]
        X, columns = table_of(random, *sizes_of(depth), missing=choices["missing"], nominal=choices["nominal"])
        n = len(X)
        y = random.integers(-5, 9, n) / 4 + (0, 1e4)[turn % 3 == 0]
        weight = weigh(random, n, choices["weighted"])
        model = OptimalTreeRegressor(
            max_depth=depth,
            leaf_penalty=choices["penalty"],
            min_samples_leaf=choices["min_leaf"],
            min_weight_fraction_leaf=choices["share"],
            memory_limit=(256, 1e-9)[turn % 2],
            n_jobs=1 + turn // 2 % 2,
        ).fit(X, y, sample_weight=weight)
        large = partial(may_be_leaf, weight, choices["min_leaf"], choices["share"] * weight.sum())
        by_order = choices["min_leaf"] > 1 or choices["share"] > 0
        least = least_squares(columns, y, weight, depth, choices["penalty"], large, by_order)
        assert model.objective_ == pytest.approx(float(least), rel=1e-9, abs=1e-9), turn
        assert (model.status_, model.gap_) == ("optimal", 0)
        model.tree_.check()
        assert model.get_depth() <= depth
        paid = (weight * (y - model.predict(X)) ** 2).sum() + choices["penalty"] * model.get_n_leaves()
        assert paid == pytest.approx(float(least), rel=1e-9, abs=1e-7), turn


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("depth", [3, 4])
def test_bounds_by_similar_rows_hold(depth, n_classes):
    """Many rows of few different ones, so that sets of rows differ by little; weights, so that a row is worth up to 64 others."""
    random = np.random.default_rng(depth)
    for _ in range(15):
        X = random.integers(1, 5, (40, 3))
        y, weight = random.integers(0, n_classes, 40), random.choice([1, 1, 1, 8, 64], 40)
        model = OptimalTreeClassifier(max_depth=depth, memory_limit=1e-9).fit(X, y, weight)
        costs = weight[:, None] * (1 - np.eye(n_classes))[y]
        columns = [(column.tolist(), False) for column in X.T]
        assert model.objective_ == float(least_objective(columns, costs.tolist(), depth, 0, lambda rows: True))


def test_no_tree_of_four_levels_of_tests_of_one_category_is_better():
    """Bounds of the cost of nodes of three levels are kept, so that one that is too large loses the best tree."""
    random = np.random.default_rng(37)
    codes, y = random.integers(1, 5, (24, 3)), random.integers(0, 3, 24)
    X = pd.DataFrame({f"x{j}": [f"c{code}" for code in column] for j, column in enumerate(codes.T)})
    columns = [(column.tolist(), True) for column in codes.T]
    least = least_objective(columns, (1 - np.eye(3))[y].tolist(), 4, 0, lambda rows: True)
    assert OptimalTreeClassifier(max_depth=4).fit(X, y).objective_ == float(least)


def test_squared_errors_do_not_depend_on_the_order_of_rows_scale_or_threads():
    random = np.random.default_rng(8)
    X, y = random.integers(0, 7, (50, 3)).astype(float), random.normal(size=50)
    order = random.permutation(50)
    first = OptimalTreeRegressor(max_depth=3).fit(X, y)
    assert OptimalTreeRegressor(max_depth=3, n_jobs=2).fit(X[order], y[order]).tree_ == first.tree_
    scaled = OptimalTreeRegressor(max_depth=3).fit(X, 1000 - 8 * y)
    assert scaled.objective_ == pytest.approx(64 * first.objective_)
    assert np.array_equal(scaled.tree_.threshold, first.tree_.threshold, equal_nan=True)


def test_squared_errors_have_bounds_at_a_time_limit():
    random = np.random.default_rng(4)
    X, y = random.normal(size=(300, 6)), random.normal(size=300)
    with pytest.warns(UserWarning, match="ended by its time limit"):
        model = OptimalTreeRegressor(max_depth=3, time_limit=0.3).fit(X, y)
    assert 0 <= model.lower_bound_ < model.objective_ == pytest.approx(((y - model.predict(X)) ** 2).sum())
    assert from_json(model.to_json()).lower_bound_ == model.lower_bound_


def test_wide_cells_find_the_same():
    """Sums of 16 bits, of 32 bits and of doubles."""
    random = np.random.default_rng(5)
    X, y = random.integers(0, 9, (60, 4)).astype(float), random.integers(0, 3, 60)
    for classes in (2, 3):
        labels = y % classes
        trees = [OptimalTreeClassifier().fit(X, labels, np.full(60, weight)).tree_ for weight in (1, 1024, 2.0**26, 1 / 3)]
        for tree in trees[1:]:
            assert np.array_equal(tree.threshold, trees[0].threshold, equal_nan=True)
            assert tree.feature.tolist() == trees[0].feature.tolist()


def test_row_order_has_no_effect():
    random = np.random.default_rng(6)
    X, y = random.integers(0, 6, (80, 4)).astype(float), random.integers(0, 2, 80)
    X[random.random(X.shape) < 0.1] = np.nan
    order = random.permutation(80)
    first, second = OptimalTreeClassifier().fit(X, y), OptimalTreeClassifier().fit(X[order], y[order])
    assert first.tree_ == second.tree_


def test_weight_zero_is_absence_and_weight_two_a_second_row():
    random = np.random.default_rng(7)
    X, y = random.integers(0, 5, (40, 3)).astype(float), random.integers(0, 3, 40)
    times = random.integers(0, 3, 40)
    weighted = OptimalTreeClassifier().fit(X, y, times)
    repeated = OptimalTreeClassifier().fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective_ == repeated.objective_
    assert np.array_equal(weighted.predict(X), repeated.predict(X))


def coded(path, declared):
    """Return the columns as numbers and the classes of a table, as the oracle codes them."""
    table = pd.read_csv(path, keep_default_na=False, na_values=[""], dtype=str)
    columns = []
    for name in table.columns[:-1]:
        cells = table[name]
        if declared[name]:
            values = cells.map({value: i for i, value in enumerate(map(str, declared[name]))}).fillna(-1)
        else:
            values = pd.to_numeric(cells)
            values = values.fillna(values.min() - 1)
        columns.append(values.to_numpy(float))
    return np.column_stack(columns), table[table.columns[-1]].to_numpy(str)


PROVEN = json.loads((Path(__file__).parents[1] / "oracles" / "optimal.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", PROVEN["entries"], ids=lambda entry: f"{entry['set']}-{entry['depth']}")
def test_proven_optima(entry, data):
    X, y = coded(data / entry["file"], PROVEN["declared"][entry["file"]])
    rows = np.arange(len(X)) % 5 != 4
    check_optimum(X[rows], y[rows], entry)


def check_optimum(X, y, entry):
    model = OptimalTreeClassifier(max_depth=entry["depth"]).fit(X, y)
    assert model.objective_ == model.lower_bound_ == entry["optimum"]
    assert np.count_nonzero(model.predict(X) != y) == entry["optimum"]


SLOW = {"satimage": 3, "covtype:10000": 3, "diabetes": 4, "german": 4, "adult": 3}  # take more than some seconds


@pytest.mark.nightly
def test_proven_optima_of_larger_tables(shared):
    described = {each["file"]: each for each in json.loads((shared / "data" / "datasets.json").read_text())}
    for entry in json.loads((shared / "reference" / "optimal.json").read_text())["entries"]:
        if entry["objective"] != "training errors" or entry["depth"] >= SLOW.get(entry["set"], 5):
            continue
        declared = {each["name"]: each.get("values") for each in described[entry["file"]]["columns"]}
        X, y = coded(shared / "data" / entry["file"], declared)
        rows = np.arange(len(X)) % 5 != 4 if "index" in entry["split"] else np.ones(len(X), bool)
        if "median" in entry["coding"]:
            y = (y.astype(float) > 180200.0).astype(int)
        check_optimum(X[rows][: entry["rows"]], y[rows][: entry["rows"]], entry)


@pytest.mark.nightly
def test_proven_sums_of_squares(shared):
    described = {each["file"]: each for each in json.loads((shared / "data" / "datasets.json").read_text())}
    for entry in json.loads((shared / "reference" / "optimal.json").read_text())["entries"]:
        if entry["objective"] != "training errors":
            declared = {each["name"]: each.get("values") for each in described[entry["file"]]["columns"]}
            X, y = coded(shared / "data" / entry["file"], declared)
            rows = np.arange(len(X)) % 5 != 4
            model = OptimalTreeRegressor(max_depth=entry["depth"]).fit(X[rows], y[rows].astype(float))
            assert model.objective_ == pytest.approx(entry["optimum"], rel=1e-9)


def test_the_tree_does_not_depend_on_threads():
    random = np.random.default_rng(9)
    X, y = random.integers(0, 12, (90, 4)).astype(float), random.integers(0, 3, 90)
    models = [OptimalTreeClassifier(n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2, 3, -1)]
    assert all(model.tree_ == models[0].tree_ for model in models[1:])


def test_a_cache_that_grows_or_is_full_changes_no_optimum():
    random = np.random.default_rng(10)
    X, y = random.normal(size=(160, 4)), random.integers(0, 3, 160)
    found = {memory: OptimalTreeClassifier(memory_limit=memory).fit(X, y) for memory in (1e-9, 0.05, 0.6, 256)}
    assert len({model.objective_ for model in found.values()}) == 1
    assert all(model.status_ == "optimal" for model in found.values())


def test_a_cache_that_grows_keeps_what_it_has():
    random = np.random.default_rng(10)
    X, y = random.integers(0, 4, size=(300, 12)).astype(float), random.integers(0, 3, 300)
    one, other = (OptimalTreeClassifier(max_depth=4, memory_limit=memory).fit(X, y) for memory in (1e-9, 256))
    assert one.objective_ == other.objective_
    assert (other.predict(X) != y).sum() == other.objective_


def test_the_bound_is_useful_long_before_the_end(monkeypatch):
    """A search that ends after some cuts of each root has a bound of more than half of the optimum."""
    random = np.random.default_rng(3)
    X, y = random.normal(size=(150, 4)), random.integers(0, 2, 150)
    seen = []
    monkeypatch.setattr(optimal, "_watch", lambda *_: lambda best, low: seen.append((best, low)))
    best = OptimalTreeClassifier().fit(X, y).objective_
    assert all(low <= best <= found for found, low in seen)
    assert [low for _, low in seen] == sorted(low for _, low in seen)
    assert seen[len(seen) // 3][1] > best / 2


def hard_table(n=400):
    random = np.random.default_rng(1)
    return random.normal(size=(n, 12)), random.integers(0, 2, n)


def test_time_limit_keeps_the_best_tree_so_far():
    X, y = hard_table()
    with pytest.warns(UserWarning, match="ended by its time limit"):
        model = OptimalTreeClassifier(max_depth=4, time_limit=0.2).fit(X, y)
    assert model.status_ == "time_limit"
    assert model.lower_bound_ <= 90 < model.objective_ + 60
    assert model.gap_ == model.objective_ - model.lower_bound_ > 0
    assert model.export_text().startswith(f"gap {model.gap_:g}: objective {model.objective_:g}, lower bound ")
    assert from_json(model.to_json()).gap_ == model.gap_
    assert np.count_nonzero(model.predict(X) != y) == model.objective_ < np.bincount(y).min()


def cost_of_lookahead(X, y, depth):
    """Return the errors of a tree of which every root is that of the best tree of two levels."""
    best = OptimalTreeClassifier(max_depth=2).fit(X, y)
    if depth == 2 or best.tree_.first_child[0] < 0:
        return best.objective_
    first = X[:, best.tree_.feature[0]] <= best.tree_.threshold[0]
    return min(best.objective_, sum(cost_of_lookahead(X[side], y[side], depth - 1) for side in (first, ~first)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_four_levels_begin_with_lookahead(monkeypatch, n_classes):
    random = np.random.default_rng(n_classes)
    X, y = random.normal(size=(60, 3)), random.integers(0, n_classes, 60)
    monkeypatch.setattr(optimal, "_watch", lambda *_: lambda best, low: True)
    with pytest.warns(UserWarning, match="ended by its time limit"):
        model = OptimalTreeClassifier(max_depth=4).fit(X, y)
    assert model.objective_ == np.count_nonzero(model.predict(X) != y)
    assert model.lower_bound_ <= model.objective_ <= cost_of_lookahead(X, y, 4) < cost_of_lookahead(X, y, 2)


def test_a_search_ends_at_an_allowed_gap():
    X, y = hard_table(150)
    best = OptimalTreeClassifier(n_jobs=2).fit(X[:, :3], y).objective_
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the user has allowed the gap
        models = [OptimalTreeClassifier(max_gap=12, n_jobs=n_jobs).fit(X[:, :3], y) for n_jobs in (1, 2)]
    model = models[0]
    assert models[1].tree_ == model.tree_
    assert models[1].lower_bound_ == model.lower_bound_ <= best <= model.objective_
    assert (model.status_, 0 < model.gap_ <= 12) == ("max_gap", True)
    assert model.gap_.is_integer()  # as costs are
    assert from_json(model.to_json()).status_ == "max_gap"
    assert OptimalTreeClassifier(max_gap=12, max_depth=2).fit(X, y).status_ == "optimal"


def test_both_bounds_are_reported():
    X, y = hard_table(100)
    seen = []
    with progress(lambda *_: None, bounds=lambda *pair: seen.append(pair)):
        model = OptimalTreeClassifier().fit(X[:, :4], y)
        OptimalTreeRegressor(max_depth=1).fit(X, y)
    objectives, lows = zip(*seen[:-1], strict=True)
    assert len(seen) > 4
    assert seen[-2] == (model.objective_, model.lower_bound_)
    assert list(objectives) == sorted(objectives, reverse=True)
    assert list(lows) == sorted(lows)
    with pytest.raises(TypeError, match="bounds has the type int: must be a function of an objective"), progress(bounds=3):
        pass
    with pytest.raises(ZeroDivisionError), progress(lambda *_: None, bounds=lambda *_: 1 / 0):
        OptimalTreeClassifier().fit(X, y)


def test_bounds_hold_wherever_the_search_ends(monkeypatch):
    random = np.random.default_rng(2)
    X, y = random.normal(size=(70, 3)), random.integers(0, 3, 70)
    best = OptimalTreeClassifier().fit(X, y).objective_
    for calls in range(0, 40, 3):
        left = iter(range(calls))
        monkeypatch.setattr(optimal, "_watch", lambda *_, left=left: lambda *__: next(left, None) is None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = OptimalTreeClassifier(time_limit=1).fit(X, y)
        assert model.lower_bound_ <= best <= model.objective_
        assert np.count_nonzero(model.predict(X) != y) == model.objective_


def test_threads_end_with_the_search(monkeypatch):
    X, y = hard_table()
    before = threading.active_count()
    OptimalTreeClassifier(max_depth=2, n_jobs=3).fit(X, y)
    OptimalTreeClassifier(n_jobs=3, max_gap=1e9).fit(X, y)
    with pytest.warns(UserWarning, match="its time limit"):
        OptimalTreeClassifier(max_depth=4, n_jobs=3, time_limit=0.2).fit(X, y)
    assert threading.active_count() == before

    def failing(*_: object) -> bool:
        if threading.active_count() > before:
            raise LookupError
        return False

    monkeypatch.setattr(optimal, "_watch", lambda *_: failing)
    with pytest.raises(LookupError):
        OptimalTreeClassifier(max_depth=4, n_jobs=3).fit(X, y)
    assert threading.active_count() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals after a time are of Unix")
def test_interrupt_keeps_the_best_tree_so_far(n_jobs):
    X, y = hard_table()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background is started to ignore it
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT))
    timer.start()
    try:
        with pytest.warns(UserWarning, match="ended by an interrupt"):
            model = OptimalTreeClassifier(max_depth=4, n_jobs=n_jobs).fit(X, y)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert model.status_ == "interrupted"
    assert np.count_nonzero(model.predict(X) != y) == model.objective_


INTERRUPTED = """
import random, signal, threading, time, warnings
import numpy as np
from fasttree import OptimalTreeClassifier

warnings.simplefilter("ignore")
signal.signal(signal.SIGALRM, signal.default_int_handler)
data = np.random.default_rng(0)
X, y = data.normal(size=(100, 5)), data.integers(0, 2, 100)
best = OptimalTreeClassifier(n_jobs=2).fit(X, y)
random.seed(1)
seen = set()
for _ in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.random() * 0.06)
        model = OptimalTreeClassifier(n_jobs=2).fit(X, y)
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert model.lower_bound_ <= best.objective_ <= model.objective_
        seen.add(model.status_)
    except KeyboardInterrupt:
        pass
signal.setitimer(signal.ITIMER_REAL, 0)
assert OptimalTreeClassifier(n_jobs=2).fit(X, y).tree_ == best.tree_
deadline = time.monotonic() + 20
while threading.active_count() > 1 and time.monotonic() < deadline:
    time.sleep(0.1)
assert threading.active_count() == 1
print(seen)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals after a time are of Unix")
def test_interrupts_at_any_moment_leave_no_threads():
    """In a process of its own: elsewhere an interrupt could fall into the code of the tests."""
    run = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert "interrupted" in run.stdout


class InterruptedCall:
    """A trace that raises KeyboardInterrupt as the search calls a function of Python for the n-th time."""

    def __init__(self, n):
        self.n_left = n

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename == optimal.__file__:
            self.n_left -= 1
            if self.n_left == 0:
                raise KeyboardInterrupt


def test_an_interrupt_of_any_function_leaves_no_threads(monkeypatch):
    """Python looks for signals at the start of each function, also of those that end the threads."""
    monkeypatch.setattr(optimal, "_SECONDS_OF_REST", 0.01)
    X, y = np.random.default_rng(3).normal(size=(30, 3)), np.arange(30) % 2
    n_threads, trace = threading.active_count(), sys.gettrace()
    for n_calls in range(1, 1000):
        interrupted = InterruptedCall(n_calls)
        sys.settrace(interrupted)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                OptimalTreeClassifier(max_depth=3, n_jobs=2).fit(X, y)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(trace)
        deadline = time.monotonic() + 20
        while threading.active_count() > n_threads and time.monotonic() < deadline:
            time.sleep(0.002)
        assert threading.active_count() == n_threads, f"call {n_calls} was interrupted"
        if interrupted.n_left > 0:
            break
    assert n_calls > 30


def test_costs_of_many_decimals_are_rounded_in_the_search_alone():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 3
    loss = np.array([[0, 0.1, 1 / 3], [2 / 7, 0, 0.3], [1, np.pi, 0]])
    model = OptimalTreeClassifier(max_depth=2, loss_matrix=loss).fit(X, y)
    assert model.objective_ == model.lower_bound_ == pytest.approx(loss[y, model.predict(X)].sum(), rel=1e-12)


def test_a_leaf_may_be_larger_than_the_table():
    X, y = [[1.0], [2.0]], [0, 1]
    assert OptimalTreeClassifier(min_samples_leaf=10**12).fit(X, y).get_n_leaves() == 1
    assert OptimalTreeRegressor(min_samples_leaf=10**12).fit(X, y).get_n_leaves() == 1


def test_is_an_ordinary_tree(tmp_path):
    X = pd.DataFrame({"size": [1.0, 2, 3, 4, np.nan, 6], "colour": ["red", "red", "blue", "green", "green", None]})
    y = ["a", "b", "a", "c", "c", "b"]
    model = OptimalTreeClassifier(max_depth=2).fit(X, y)
    again = from_json(model.to_json())
    assert again.tree_ == model.tree_
    assert again.get_params() == model.get_params()
    assert (again.objective_, again.lower_bound_, again.gap_, again.status_) == (model.objective_,) * 2 + (0.0, "optimal")
    assert model.export_text().startswith(f"optimal: objective {model.objective_:g}\n├── ")
    assert f"optimal: objective {model.objective_:g}" in model.export_svg()
    assert f"optimal: objective {model.objective_:g}" in model.export_html()
    assert SavedTree(json.loads(model.to_json())).export_text() == model.export_text()
    smaller = model.collapse(0)
    assert smaller.export_text() == "a (2 of 6)\n"
    assert from_json(smaller.to_json()).objective_ == model.objective_
    assert len(model.to_rules()) == model.get_n_leaves()
    assert np.isfinite(model.shap_values(X).values).all()
    pruned = OptimalTreeClassifier(max_depth=2, pruning="cost_complexity", ccp_alpha="cv", random_state=0)
    assert pruned.fit(*hard_table(60)).get_n_leaves() >= 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lower_bound": 9.0}, r"proof\.lower_bound=9\.0: must be in \[0, 0\.0\], the objective"),
        ({"objective": None}, "proof.objective: must be a finite number; got None"),
        ({"status": "fine"}, "proof.status='fine': must be one of"),
        ({"objective": 2.0}, "must not be 'optimal' with a gap of 2.0"),
        ({"n_leaves": -1}, "proof.n_leaves: must be an integer"),
    ],
)
def test_wrong_proofs_of_files_raise(changes, message):
    document = json.loads(OptimalTreeClassifier(max_depth=1).fit([[1.0], [2.0]], [0, 1]).to_json())
    document["proof"] |= changes
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(document))


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"max_depth": 5}, "max_depth=5: must be an integer from 1 to 4"),
        ({"max_depth": None}, "max_depth=None: must be an integer from 1 to 4"),
        ({"leaf_penalty": -1}, "leaf_penalty=-1: must be"),
        ({"max_gap": -1}, "max_gap=-1: must be"),
        ({"time_limit": 0}, "time_limit=0: must be a number > 0, or None"),
        ({"memory_limit": math.inf}, "memory_limit=inf: must be"),
    ],
)
def test_wrong_choices_raise(choices, message):
    with pytest.raises(ValueError, match=message):
        OptimalTreeClassifier(**choices).fit([[1.0], [2.0]], [0, 1])


def test_what_it_cannot_do_raises():
    X, y = [[1.0], [2.0]], [0, 1]
    with pytest.raises(ValueError, match="takes 1 target"):
        OptimalTreeClassifier().fit(X, [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="searches for the best tree as a whole"):
        OptimalTreeClassifier().fit(X, y).competing_splits(0, X, y)


@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_sample_costs_as_much_as_its_copies_in_trees_of_three_levels(seed):
    draw = np.random.default_rng(seed)
    X, times = draw.normal(size=(60, 3)).round(1), draw.integers(1, 5, 60)
    y = np.digitize(X[:, 0] * X[:, 1] + draw.normal(size=60), [-1, 0.3])
    model = OptimalTreeClassifier(max_depth=3)
    weighted = times[model.fit(X, y, sample_weight=times).predict(X) != y].sum()
    repeated = times[model.fit(X.repeat(times, axis=0), y.repeat(times)).predict(X) != y].sum()
    assert weighted == repeated
