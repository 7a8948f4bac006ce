"""Progress of a fit: steps in their order, each to its end, and the same trees as without a listener."""

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import types

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import fasttree
import fasttree._learn.chaid.growth as chaid_growth
import fasttree._learn.progress as learn_progress
from fasttree import (
    C45Classifier,
    C45Rules,
    C50Classifier,
    CARTClassifier,
    CARTRegressor,
    CHAIDClassifier,
    CHAIDRegressor,
    CubistRegressor,
    GAMClassifier,
    GAMRegressor,
    ID3Classifier,
    M5Regressor,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
    RandomForestClassifier,
    TreeClassifier,
    TreeRegressor,
)
from fasttree.estimators.common.registry import ESTIMATORS
from fasttree.evaluation import compare
from fasttree.pruning import CostComplexity

IRIS = load_iris(return_X_y=True)


def heard(model, data=IRIS):
    reports = []
    with fasttree.progress(lambda *report: reports.append(report)):
        model.fit(*data)
    return reports


def whole(step, total):
    return [(step, done, total) for done in range(total + 1)]


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        (CARTClassifier(), [("growth", 100)]),
        (CARTRegressor(ccp_alpha="cv", random_state=0), [("growth", 100), ("cross-validation", 10)]),
        (CARTClassifier(pruning=CostComplexity(alpha="cv", cv=3), random_state=0), [("growth", 100), ("cross-validation", 3)]),
        (C45Classifier(), [("growth", 100)]),
        (C45Classifier(windowing=True, n_trials=4, random_state=0), [("windowing", 4)]),
        (C45Rules(), [("growth", 100), ("rules", 1)]),
    ],
    ids=repr,
)
def test_each_step_is_reported_from_none_to_all_of_its_parts(model, steps):
    assert heard(model) == [report for step in steps for report in whole(*step)]


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (CARTClassifier(), 60_000),
        (CARTClassifier(n_jobs=2), 60_000),
        (C45Classifier(pruning=None), 60_000),
        (CHAIDClassifier(), 2_000),
    ],
    ids=repr,
)
def test_growth_reports_the_share_of_the_samples_in_leaves_and_ends_by_an_exception_of_the_listener(model, n, monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 8))
    y = X[:, 0] + random.normal(size=n) > 0

    def stop(share):
        raise KeyboardInterrupt

    shares = []
    for module in (learn_progress, chaid_growth):
        monkeypatch.setattr(module, "share", lambda: shares.append)
    model.fit(X, y)
    assert shares  # at most 20 in a second
    assert all(0 <= share <= 1 for share in shares)
    if model.get_params().get("n_jobs") is None:
        assert shares[0] < 0.5  # the root, or a child of it, is in hand
    for module in (learn_progress, chaid_growth):
        monkeypatch.setattr(module, "share", lambda: stop)
    with pytest.raises(KeyboardInterrupt):
        clone(model).fit(X, y)


def test_a_listener_changes_no_tree():
    model = CARTClassifier(ccp_alpha="cv", random_state=0).fit(*IRIS)
    listened = CARTClassifier(ccp_alpha="cv", random_state=0)
    assert heard(listened)
    assert listened.to_json() == model.to_json()
    np.testing.assert_array_equal(listened.pruning_table_.xerror, model.pruning_table_.xerror)


@pytest.mark.parametrize(("n_jobs", "parts"), [(None, 3), (1, 3), (2, 1)])
def test_a_comparison_reports_models_and_folds_and_no_step_of_its_fits(n_jobs, parts):
    models = {"grown": CARTClassifier(), "pruned": CARTClassifier(ccp_alpha="cv", random_state=0)}
    reports = []
    with fasttree.progress(lambda *report: reports.append(report)):
        listened = compare(models, *IRIS, cv=3, n_jobs=n_jobs)
        CARTClassifier().fit(*IRIS)
    assert reports == [*whole("model 1 of 2", parts), *whole("model 2 of 2", parts), *whole("growth", 100)]
    quiet = compare(models, *IRIS, cv=3, n_jobs=n_jobs)
    for name, figures in quiet.by_fold.items():
        assert list(figures) == list(listened.by_fold[name])
        for figure in figures.keys() - {"fit_seconds"}:
            np.testing.assert_array_equal(figures[figure], listened.by_fold[name][figure])
            assert figures[figure].shape == (3,)


def test_a_fold_that_fails_leaves_the_listener_as_it_was():
    reports = []
    with fasttree.progress(lambda *report: reports.append(report)):
        with pytest.raises(ValueError, match="max_depth"):
            compare([CARTClassifier(max_depth=-1)], *IRIS, cv=3)
        CARTClassifier().fit(*IRIS)
    assert reports == [("model 1 of 1", 0, 3), *whole("growth", 100)]


@pytest.mark.parametrize("write", ["to_text", "to_markdown"])
def test_a_long_list_of_rules_reports_its_thousands(write):
    X = np.arange(2500.0)[:, None]
    model = CARTClassifier().fit(X, np.arange(2500) % 2)
    short = CARTClassifier().fit(*IRIS)
    reports = []
    with fasttree.progress(lambda *report: reports.append(report)):
        rules = model.to_rules()
        text = getattr(rules, write)()
        getattr(short.to_rules(), write)()
    assert len(rules) == 2500
    assert reports == [*whole("finding rules", 3), *whole("writing rules", 3)]
    assert text == getattr(model.to_rules(), write)()


def test_nothing_is_reported_after_the_block_or_to_an_outer_block_or_from_another_thread():
    outer, inner = [], []
    with fasttree.progress(lambda *report: outer.append(report)):
        with fasttree.progress(lambda *report: inner.append(report)):
            CARTClassifier().fit(*IRIS)
        thread = threading.Thread(target=CARTClassifier().fit, args=IRIS)
        thread.start()
        thread.join()
        # in free-threaded CPython 3.14 a thread has the context of the one that started it
        assert outer == (whole("growth", 100) if getattr(sys.flags, "thread_inherit_context", False) else [])
        outer.clear()
        CARTClassifier().fit(*IRIS)
    CARTClassifier().fit(*IRIS)
    assert outer == inner == whole("growth", 100)


def test_an_exception_of_the_listener_ends_the_fit_and_leaves_the_model_as_it_was():
    def stop(step, done, total):
        if (step, done) == ("cross-validation", 2):
            raise KeyboardInterrupt

    model = CARTClassifier(ccp_alpha="cv", random_state=0)
    with pytest.raises(KeyboardInterrupt), fasttree.progress(stop):
        model.fit(*IRIS)
    assert not hasattr(model, "tree_")
    assert heard(CARTClassifier()) == whole("growth", 100)


PROGRAM = """
import fasttree
with fasttree.progress():
    model = fasttree.CARTClassifier(ccp_alpha="cv", random_state=0).fit([[k] for k in range(40)], [k > 20 for k in range(40)])
print(model.get_n_leaves())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of Unix")
def test_bars_are_drawn_on_a_terminal_and_not_in_a_pipe():
    import pty
    import termios

    pytest.importorskip("tqdm")
    command = [sys.executable, "-c", PROGRAM]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert (piped.stdout, piped.stderr) == (b"2\n", b"")
    terminal, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = bytearray()
        with contextlib.suppress(OSError):  # the end of the terminal
            while part := os.read(terminal, 4096):
                shown += part
    os.close(terminal)
    assert process.returncode == 0
    assert b"growth: 100%" in shown
    assert b"cross-validation: 100%" in shown


def test_bars_are_drawn_in_a_notebook_for_every_fit_and_closed_after_an_interruption(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    with fasttree.progress():
        CARTClassifier(ccp_alpha="cv", random_state=0).fit(*IRIS)
        CARTClassifier(ccp_alpha="cv", random_state=0).fit(*IRIS)
    assert capsys.readouterr().err.count("cross-validation: 100%") == 2
    with pytest.raises(ValueError, match="max_depth"), fasttree.progress():
        CARTClassifier(max_depth=-1).fit(*IRIS)


def test_without_tqdm_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with (
        pytest.raises(ImportError, match=r"pip install 'fasttree\[progress\]', or give progress\(\) a function"),
        fasttree.progress(),
    ):
        pass


LONG = (np.arange(1200.0)[:, None], np.arange(1200) % 2)
VERBOSE = {  # a call with `verbose`, and the bars that it draws
    "fit": (lambda forest, tree, verbose: forest.set_params(verbose=verbose).fit(*IRIS), ["trees"]),
    "permutation": (lambda forest, tree, verbose: forest.permutation_importances(*IRIS, verbose=verbose), ["permutation"]),
    "compare": (
        lambda forest, tree, verbose: compare({"a": forest, "b": tree}, *IRIS, cv=2, verbose=verbose),
        ["model 1 of 2", "model 2 of 2"],
    ),
    "rules": (lambda forest, tree, verbose: tree.to_rules(verbose=verbose), ["finding rules"]),
}


@pytest.mark.parametrize("name", VERBOSE)
def test_verbose_draws_the_bars_of_one_call(name, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    call, steps = VERBOSE[name]
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(*IRIS)
    tree = CARTClassifier().fit(*LONG)
    for notebook, verbose, expected in [(True, 0, []), (True, False, []), (True, 1, steps), (True, 2, steps), (False, 1, [])]:
        if notebook:
            monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
        else:
            monkeypatch.delitem(sys.modules, "ipykernel")
        call(forest, tree, verbose)
        forest.set_params(verbose=0)
        shown = capsys.readouterr().err
        full = re.findall(r"([^:\r\n]+): 100%", shown)  # a bar may be drawn full more than once
        assert list(dict.fromkeys(full)) == expected
        assert (shown == "") == (expected == [])
    with pytest.raises(ValueError, match=r"verbose=-1.* True, False or an integer >= 0"):
        call(forest, tree, -1)


FITS = {  # estimators with `verbose`, and the bars of their fits
    "CARTClassifier": (CARTClassifier(ccp_alpha="cv", random_state=0, verbose=1), ["growth", "cross-validation"]),
    "CARTRegressor": (CARTRegressor(verbose=1), ["growth"]),
    "TreeClassifier": (TreeClassifier(verbose=1), ["growth"]),
    "TreeRegressor": (TreeRegressor(verbose=1), ["growth"]),
    "ID3Classifier": (ID3Classifier(categorical_features=[0, 1, 2, 3], verbose=1), ["growth"]),
    "C45Classifier": (C45Classifier(windowing=True, n_trials=2, random_state=0, verbose=1), ["windowing"]),
    "C45Rules": (C45Rules(verbose=1), ["growth", "rules"]),
    "C50Classifier": (C50Classifier(verbose=1), ["growth"]),
    "CHAIDClassifier": (CHAIDClassifier(verbose=1), ["growth"]),
    "CHAIDRegressor": (CHAIDRegressor(verbose=1), ["growth"]),
    "GAMClassifier": (GAMClassifier(n_bags=2, max_iter=20, random_state=0, verbose=1), ["bags"]),
    "GAMRegressor": (GAMRegressor(n_bags=2, max_iter=20, random_state=0, verbose=1), ["bags"]),
    "CubistRegressor": (CubistRegressor(committees=2, verbose=1), ["rule sets"]),
    "M5Regressor": (M5Regressor(verbose=1), ["growth"]),
    "OptimalTreeClassifier": (OptimalTreeClassifier(max_depth=2, verbose=1), ["growth"]),
    "OptimalTreeRegressor": (OptimalTreeRegressor(max_depth=2, verbose=1), ["growth"]),
}


@pytest.mark.parametrize("name", FITS)
def test_verbose_of_a_single_tree_or_of_rules_draws_bars_and_changes_nothing(name, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    verbose, steps = FITS[name]
    assert type(verbose).__name__ == name
    assert clone(verbose).get_params()["verbose"] == 1
    fitted = clone(verbose).fit(*IRIS)
    assert re.findall(r"([^:\r\n]+): 100%", capsys.readouterr().err) == steps
    silent = clone(verbose).set_params(verbose=0).fit(*IRIS)
    assert capsys.readouterr().err == ""
    assert fitted.to_json() == silent.to_json()
    assert "verbose" not in json.loads(fitted.to_json())["settings"]  # so that files are those of earlier versions
    assert fasttree.from_json(fitted.to_json()).verbose == 0
    with pytest.raises(ValueError, match=r"verbose=-1: must be True, False or an integer >= 0"):
        clone(verbose).set_params(verbose=-1).fit(*IRIS)


def test_every_estimator_has_verbose():
    assert {entry.name for entry in ESTIMATORS if not hasattr(entry.load()(), "n_estimators")} == set(FITS)
    assert all(entry.load()().verbose == 0 for entry in ESTIMATORS)


def test_rules_from_a_tree_draw_bars(monkeypatch, capsys):
    pytest.importorskip("tqdm")
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    tree = C45Classifier().fit(*IRIS)
    rules = C45Rules.from_tree(tree, *IRIS, verbose=1)
    assert re.findall(r"([^:\r\n]+): 100%", capsys.readouterr().err) == ["rules"]
    assert rules.rules_ == C45Rules.from_tree(tree, *IRIS).rules_
    assert capsys.readouterr().err == ""


def test_a_file_of_a_forest_has_verbose_as_before_and_its_trees_are_silent():
    forest = RandomForestClassifier(n_estimators=2, random_state=0, verbose=1).fit(*IRIS)
    assert json.loads(forest.to_json())["settings"]["verbose"] == 1
    assert forest.estimators_[0].verbose == 0


def test_permutation_importances_report_trees():
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(*IRIS)
    reports = []
    with fasttree.progress(lambda *report: reports.append(report)):
        found = forest.permutation_importances(*IRIS)
    assert reports == whole("permutation", 5)
    np.testing.assert_array_equal(found.importances, forest.permutation_importances(*IRIS).importances)


def test_what_is_no_function_is_an_error():
    with pytest.raises(TypeError, match="listener is a bool: must be a function"), fasttree.progress(True):
        pass
