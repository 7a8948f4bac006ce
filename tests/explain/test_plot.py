"""Pictures by matplotlib: the pruning table, and the tree."""

import sys

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, TreeClassifier, plot_tree
from fasttree._explain.pictures import plot
from fasttree.pruning import CostComplexity

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
            return CARTRegressor(
                pruning=CostComplexity(alpha="cv", cv=3, selection="1se"), min_samples_leaf=5, random_state=0
            ).fit(*load_diabetes(return_X_y=True))
    return CARTClassifier(pruning=CostComplexity(alpha=request.param, cv=4, selection="1se"), random_state=0).fit(X, y)


def number(text):
    """The number of a tick, as 0.02 or 6.1·10⁻⁵."""
    digits, _, exponent = text.partition("·10")
    return float(digits) * 10.0 ** int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


def test_small_numbers_of_ticks_are_powers_of_ten():
    assert plot._short(np.array([6.13e-5, 0.0123, 1e-12, 3e20])) == ["6.1·10⁻⁵", "0.012", "1·10⁻¹²", "3·10²⁰"]


def test_errors_stand_from_the_root_to_the_whole_tree(model):
    table = model.pruning_table_
    ax = model.plot_pruning_table()
    ax.figure.canvas.draw()
    line, limit, ring = ax.lines[0], ax.lines[-2], ax.lines[-1]
    assert np.array_equal(line.get_ydata(), table.xerror[::-1])
    assert np.array_equal(line.get_xdata(), np.arange(len(table.xerror)))
    limits = np.c_[table.xerror - table.xstd, table.xerror + table.xstd][::-1]
    if len(table.xerror) < 30:
        assert np.array([bar[:, 1] for bar in ax.collections[0].get_segments()]) == pytest.approx(limits)
    else:  # a band: its corners from left to right along one limit, and back along the other
        (band,) = (path.vertices for path in ax.collections[0].get_paths())
        for place, ends in enumerate(limits.tolist()):
            assert sorted({y for x, y in band.tolist() if x == place}) == pytest.approx(ends)
    assert ax.get_ylabel() == "error, as a share of the root's"
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
    assert all(number(text) == pytest.approx(typical[int(place)], rel=0.06) for place, text in costs.items())


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
    pruned = model.prune(CostComplexity(alpha="validation"), X[300:], y[300:])
    assert len(pruned.plot_pruning_table().lines[0].get_xdata()) == len(pruned.pruning_table_.xerror)


def test_a_tree_whose_root_is_a_leaf_has_a_picture_too():
    model = CARTClassifier(pruning=CostComplexity(alpha="cv", cv=2)).fit([[1.0]] * 8, [0, 1] * 4)
    model.plot_pruning_table().figure.canvas.draw()


def test_without_matplotlib_it_says_what_to_install(model, monkeypatch):
    for name in [name for name in sys.modules if name == "matplotlib" or name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'fasttree\[plot\]'"):
        model.plot_pruning_table()


def random_tree(n_leaves, n_classes=3):
    random = np.random.default_rng(0)
    X = random.normal(size=(4 * n_leaves, 6))
    return CARTClassifier(max_leaf_nodes=n_leaves).fit(X, random.integers(n_classes, size=len(X)))


def drawn(ax):
    """Extents in pixels of all texts, and of the boxes that hold nodes."""
    figure = ax.figure.canvas.figure
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    texts = [text.get_window_extent(renderer) for text in ax.texts]
    (boxes,) = [collection for collection in ax.collections if collection.zorder == 2]
    outlined = np.flatnonzero(boxes.get_linewidths())
    paths = [boxes.get_paths()[i].transformed(ax.transData).get_extents() for i in outlined]
    return texts, paths


def inside(a, b, slack=0.5):
    return a.x0 >= b.x0 - slack and a.x1 <= b.x1 + slack and a.y0 >= b.y0 - slack and a.y1 <= b.y1 + slack


def overlaps(some, others, slack=0.5):
    """Which of some extents overlap which of the others."""
    a, b = (np.array([[each.x0, each.y0, each.x1, each.y1] for each in extents]) for extents in (some, others))
    return (np.minimum(a[:, None, 2:], b[:, 2:]) - np.maximum(a[:, None, :2], b[:, :2]) > slack).all(axis=2)


def nothing_overlaps(ax):
    texts, boxes = drawn(ax)
    assert not np.triu(overlaps(boxes, boxes), 1).any()
    assert not np.triu(overlaps(texts, texts), 1).any()
    for text, touches in zip(texts, overlaps(texts, boxes), strict=True):
        touched = [boxes[i] for i in np.flatnonzero(touches)]
        assert not touched or (len(touched) == 1 and inside(text, touched[0]))


@pytest.mark.parametrize("orientation", ["down", "right"])
@pytest.mark.parametrize("n_leaves", [2, 8, 31, 100])
def test_as_the_renderer_measures_them_no_two_texts_or_boxes_overlap(n_leaves, orientation):
    model = random_tree(n_leaves)
    ax = model.plot(orientation=orientation, max_nodes="all")
    assert len(drawn(ax)[1]) == model.tree_.node_count
    assert max(ax.figure.get_size_inches()) <= 45
    nothing_overlaps(ax)


def test_long_names_and_many_categories_keep_their_places():
    names = [f"a category with the long name {i} and $signs$ & <tags>" for i in range(9)]
    rows = [[names[i % 9], names[(i * i) % 7]] for i in range(90)]
    model = C45Classifier(pruning=None).fit(rows, [f"class {'W' * (i % 4) * 20}" for i in range(90)])
    assert model.tree_.node_count > 9
    nothing_overlaps(model.plot())


def test_charts_of_samples_keep_their_places():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    nothing_overlaps(CARTClassifier(max_leaf_nodes=10).fit(X, y).plot(X=X, y=y))
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    nothing_overlaps(CARTRegressor(max_leaf_nodes=10).fit(X, y).plot(X=X, y=y))


def test_in_axes_that_are_given_the_tree_is_scaled_and_then_folded():
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(1, 2, figsize=(14, 6))
    small, large = random_tree(6), random_tree(200)
    assert small.plot(left) is left
    assert plot_tree(large, right) is right
    for ax in (left, right):
        nothing_overlaps(ax)
        texts, _ = drawn(ax)
        assert all(inside(text, ax.get_window_extent()) for text in texts)
        assert min(text.get_fontsize() for text in ax.texts) >= 4
    assert not any("nodes are drawn" in text.get_text() for text in left.texts)
    (note,) = [text.get_text() for text in right.texts if "nodes are drawn" in text.get_text()]
    shown, *_, total = (int(part) for part in note.split() if part.isdigit())
    assert (shown, total) == (len(drawn(right)[1]), 399)
    assert shown > 10


def test_a_tree_in_a_figure_that_lays_itself_out_keeps_its_shape():
    from matplotlib import pyplot

    figure = pyplot.figure(layout="constrained", figsize=(12, 6))
    part, rest = figure.subfigures(1, 2)
    ax, other = part.subplots(), rest.subplots()
    other.set_title("beside it")
    other.set_ylabel("something wide")
    random_tree(9).plot(ax)
    nothing_overlaps(ax)
    (across, _), (_, along) = ax.transData.transform([(1, 0), (0, 1)]) - ax.transData.transform((0, 0))
    assert across == pytest.approx(-along, rel=0.02)


def test_axes_without_room_show_the_root_alone():
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(2, 2))
    ax = figure.add_axes([0, 0, 0.1, 0.1])
    assert len(drawn(random_tree(8).plot(ax))[1]) == 1


def test_what_is_asked_for_is_drawn():
    model = random_tree(40)
    assert len(drawn(model.plot(max_nodes=9))[1]) == 9
    assert len(drawn(model.plot(max_depth=1))[1]) == 3
    balanced = CARTRegressor(max_depth=5).fit(np.arange(64.0)[:, None], np.arange(64.0))
    down, right = (balanced.plot(orientation=way, max_nodes="all").figure.get_figwidth() for way in ("down", "right"))
    assert down > 2 * right
    with pytest.raises(ValueError, match="max_nodes=0"):
        model.plot(max_nodes=0)


def test_large_trees_are_folded_by_default():
    model = random_tree(40)
    assert len(drawn(model.plot())[1]) == 31
    assert "31 of 79 nodes are drawn" in model.export_svg()
    assert len(drawn(model.plot(max_nodes="all"))[1]) == 79
    assert "nodes are drawn" not in model.export_svg(max_nodes="all")
    assert "nodes are drawn" not in model.export_svg(max_depth=model.get_depth())
    for draw in (model.plot, model.export_svg, model.export_dot):
        with pytest.raises(ValueError, match="max_nodes='whole': must be an integer >= 1, 'all' or None"):
            draw(max_nodes="whole")


def test_a_root_of_many_branches_is_open_by_default():
    code = np.arange(400) % 40
    model = C45Classifier(pruning=None).fit([[f"c{i:02}"] for i in code], (code % 3).astype(str))
    assert len(drawn(model.plot())[1]) == 41


@pytest.mark.parametrize("size", [(8, 5), (14, 8), (5, 9)])
def test_a_tree_fills_the_axes_that_are_given(size):
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=size)
    ax = figure.add_axes([0, 0, 1, 1])
    random_tree(12).plot(ax)
    boxes = drawn(ax)[1]
    nothing_overlaps(ax)
    room = ax.get_window_extent()
    assert max(box.y1 for box in boxes) - min(box.y0 for box in boxes) > 0.7 * room.height
    assert max(box.x1 for box in boxes) - min(box.x0 for box in boxes) > 0.6 * room.width


def test_a_title_is_drawn_above_the_tree():
    model = random_tree(4)
    title = "Who survives, & why?"
    highest = max(model.plot(title=title).texts, key=lambda text: text.get_window_extent().y1)
    assert highest.get_text() == title
    assert "Who survives, &amp; why?</text>" in model.export_svg(title=title)
    assert 'label="Who survives, & why?", labelloc=t' in model.export_dot(title=title)


def test_on_a_dark_figure_text_is_light():
    from matplotlib import colors, pyplot

    with pyplot.style.context("dark_background"):
        ax = random_tree(4).plot()
    assert all(np.mean(colors.to_rgb(text.get_color())) > 0.6 for text in ax.texts)
    assert all(np.mean(colors.to_rgb(text.get_color())) < 0.5 for text in random_tree(4).plot().texts)


def test_only_a_tree_of_fasttree_is_drawn():
    with pytest.raises(TypeError, match="model is a list: plot_tree draws fitted trees of fasttree only"):
        plot_tree([])


def test_without_matplotlib_no_tree_is_drawn(monkeypatch):
    model = random_tree(4)
    for name in [name for name in sys.modules if name == "matplotlib" or name.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plot draws with matplotlib: .*pip install 'fasttree\[plot\]'"):
        model.plot()


def test_a_vector_picture_of_two_hundred_nodes_is_small(tmp_path):
    random_tree(100).plot().figure.savefig(tmp_path / "tree.pdf")
    assert (tmp_path / "tree.pdf").stat().st_size < 300_000
