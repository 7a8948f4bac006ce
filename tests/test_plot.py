"""The picture of a pruning table."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from fasttree import CARTClassifier, CARTRegressor, TreeClassifier

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def without_a_window():
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")
    pyplot.switch_backend(before)


@pytest.fixture(scope="module", params=["cv", "validation", "critical value", "regression"])
def model(request):
    X, y = load_breast_cancer(return_X_y=True)
    match request.param:
        case "critical value":
            return TreeClassifier(recipe="c45", pruning="critical_value", random_state=0).fit(X, y)
        case "regression":
            return CARTRegressor(ccp_alpha="cv", cv=3, rule="1se", min_samples_leaf=5, random_state=0).fit(
                *load_diabetes(return_X_y=True)
            )
    return CARTClassifier(ccp_alpha=request.param, cv=4, rule="1se", random_state=0).fit(X, y)


def test_errors_stand_from_the_root_to_the_whole_tree(model):
    table = model.pruning_table_
    ax = model.plot_pruning_table()
    ax.figure.canvas.draw()
    line, limit, ring = ax.lines[0], ax.lines[-2], ax.lines[-1]
    assert np.array_equal(line.get_ydata(), table.xerror[::-1])
    assert np.array_equal(line.get_xdata(), np.arange(len(table.xerror)))
    bars = np.array([bar[:, 1] for bar in ax.collections[0].get_segments()])
    assert bars == pytest.approx(np.c_[table.xerror - table.xstd, table.xerror + table.xstd][::-1])
    last_of_the_least = len(table.xerror) - 1 - int(np.argmin(table.xerror[::-1]))
    assert limit.get_ydata()[0] == pytest.approx(table.xerror.min() + table.xstd[last_of_the_least])
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (len(table.xerror) - 1 - table.chosen, table.xerror[table.chosen])


def test_many_subtrees_crowd_at_the_end_where_the_tree_is_whole():
    random = np.random.default_rng(0)
    X = random.normal(size=(1500, 3))
    model = CARTRegressor(ccp_alpha="validation", random_state=0).fit(X, X[:, 0] + random.normal(size=1500))
    table = model.pruning_table_
    assert len(table.n_leaves) > 200
    ax = model.plot_pruning_table()
    ax.figure.canvas.draw()
    assert ax.lines[-1].get_xdata()[0] == len(table.n_leaves) - table.chosen
    place = ax.transAxes.inverted().transform(ax.transData.transform((10, 0)))[0]
    assert place > 0.2  # of the width, where equal distances would leave less than 0.05
    leaves = {tick.get_loc(): tick.label2.get_text() for tick in ax.child_axes[0].xaxis.get_major_ticks()}
    assert leaves[1] == "1"
    assert leaves[10] == str(table.n_leaves[-10])


def test_ticks_tell_leaves_above_and_what_a_leaf_costs_below(model):
    table = model.pruning_table_
    ax = model.plot_pruning_table()
    ax.figure.canvas.draw()
    (top,) = ax.child_axes
    leaves = {tick.get_loc(): tick.label2.get_text() for tick in top.xaxis.get_major_ticks() if tick.label2.get_text()}
    assert len(leaves) > 2
    assert all(text == str(table.n_leaves[::-1][int(place)]) for place, text in leaves.items())
    costs = {tick.get_loc(): tick.label1.get_text() for tick in ax.xaxis.get_major_ticks() if tick.label1.get_text()}
    if "ccp_alphas" in table:
        alphas = table.ccp_alphas
        typical = [np.inf, *np.sqrt(alphas[:-1] * alphas[1:])[::-1]]
        assert costs.pop(0) == "∞"
    else:
        typical = np.maximum(table.critical_values, 0)[::-1]
    assert all(float(text) == pytest.approx(typical[int(place)], rel=0.06) for place, text in costs.items())


def test_a_picture_can_be_part_of_another(model, tmp_path):
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(5, 2))
    assert model.plot_pruning_table(right) is right
    assert not left.lines
    figure.savefig(tmp_path / "two.png")
    assert (tmp_path / "two.png").stat().st_size > 1000


def test_a_subtree_chosen_by_prune_has_its_picture():
    X, y = load_breast_cancer(return_X_y=True)
    model = CARTClassifier().fit(X[:300], y[:300])
    with pytest.raises(ValueError, match=r"there is no pruning_table_: .*fit with ccp_alpha='cv' or 'validation'"):
        model.plot_pruning_table()
    pruned = model.prune("cost_complexity", X[300:], y[300:], ccp_alpha="validation")
    assert len(pruned.plot_pruning_table().lines[0].get_xdata()) == len(pruned.pruning_table_.xerror)


def test_a_tree_whose_root_is_a_leaf_has_a_picture_too():
    model = CARTClassifier(ccp_alpha="cv", cv=2).fit([[1.0]] * 8, [0, 1] * 4)
    model.plot_pruning_table().figure.canvas.draw()


def test_without_matplotlib_it_says_what_to_install(model, monkeypatch):
    for name in [name for name in sys.modules if name == "matplotlib" or name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'fasttree\[plot\]'"):
        model.plot_pruning_table()
