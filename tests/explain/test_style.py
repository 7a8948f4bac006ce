"""Choices for the look of a picture: figures, colours, theme, caption, discs and axes."""

import re

import numpy as np
import pandas as pd
import pytest

from fasttree import C45Classifier, CARTClassifier, CARTRegressor
from fasttree._explain.pictures.colours import DARK, LIGHT, PRINT, class_colour, contrast, greys, mix
from fasttree._explain.pictures.drawing import draw
from fasttree._explain.pictures.scene import Box, Sector
from fasttree._explain.pictures.style import Style, style_of


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.integers(18, 80, 400), "sex": random.choice(["f", "m"], 400)})
    share = np.where(X["sex"] == "f", 0.9, np.where(X["age"] < 40, 0.5, 0.1))
    return X, pd.Series(np.where(random.random(400) < share, "yes", "no"), name="bought")


@pytest.fixture(scope="module")
def model(table):
    return CARTClassifier(max_leaf_nodes=4).fit(*table)


@pytest.fixture(scope="module")
def regressor(table):
    X, y = table
    return CARTRegressor(max_leaf_nodes=3).fit(X, pd.Series(1000.0 * (y == "yes") + X["age"], name="price"))


def texts(svg):
    return [text.replace("&lt;", "<").replace("&gt;", ">") for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def scene_of(model, **choices):
    classes = getattr(model, "classes_", None)
    style = style_of(classes, impurity=model.recipe_.impurity, **choices)
    return draw(model.tree_, model.schema_, classes, targets=model.target_names_, style=style)


def leaf_fills(scene):
    """Colour and opacity of each leaf by its node."""
    return {
        group.node: (group.marks[1].fill, group.marks[1].opacity)
        for group in scene.groups
        if isinstance(group.marks[1], Box) and group.marks[1].line is None and group.marks[1].width == group.box.width
    }


def test_figures_are_shares_counts_or_impurities(model, regressor):
    tree = model.tree_
    leaf = int(np.flatnonzero(tree.n_branches == 0)[0])
    share, weight = tree.value[leaf].max() / tree.weight[leaf], int(tree.weight[leaf])
    root = tree.value[0].max() / tree.weight[0]
    shown = {show: texts(model.export_svg(show=show)) for show in ("both", "percent", "count", "impurity")}
    assert f"{100 * share:.0f} % of {weight}" in shown["both"]
    assert f"{100 * share:.0f} % · {100 * weight / 400:.0f} % of all" in shown["percent"]
    assert f"{round(share * weight)} of {weight}" in shown["count"]
    answer = model.classes_[tree.value[0].argmax()]
    assert f"{100 * root:.0f} % {answer} · 400" in shown["both"]
    assert f"{100 * root:.0f} % {answer} · 100 % of all" in shown["percent"]
    assert f"{round(root * 400)} {answer} of 400" in shown["count"]
    assert set(shown["both"]) < set(shown["impurity"])
    assert {f"Gini {impurity:.3f}" for impurity in tree.impurity} <= set(shown["impurity"])
    assert f"variance {regressor.tree_.impurity[0]:,.0f}" in texts(regressor.export_svg(show="impurity"))
    assert "100 % of all" in " ".join(texts(regressor.export_svg(show="percent")))
    assert "entropy" in model.__class__(criterion="entropy").fit([[1], [2]], [0, 1]).export_svg(show="impurity")


def test_costs_follow_all_figures(table):
    model = CARTClassifier(max_depth=1, loss_matrix={"no": {"yes": 2}}).fit(*table)
    for show in ("both", "percent", "count", "impurity"):
        assert any(", cost " in text for text in texts(model.export_svg(show=show)))


def test_colours_mean_the_class_the_probability_or_the_error(model, regressor):
    tree = model.tree_
    shares = tree.predict_nodes()
    leaves = np.flatnonzero(tree.n_branches == 0).tolist()
    by_class = leaf_fills(scene_of(model))
    assert {node: fill for node, (fill, _) in by_class.items()} == {k: class_colour(int(shares[k].argmax())) for k in leaves}
    assert leaf_fills(scene_of(model, color_by="class")) == by_class
    for choice, figure in (("probability", shares[:, 1]), ("lift", shares[:, 1]), ("error", 1 - shares.max(axis=1))):
        scene = scene_of(model, color_by=choice)
        found = leaf_fills(scene)
        assert len({fill for fill, _ in found.values()}) == 1
        order = sorted(leaves, key=lambda node: figure[node])
        opacities = [found[node][1] for node in order]
        assert opacities == sorted(opacities)
        assert opacities[0] < opacities[-1]
    words = texts(model.export_svg(color_by="probability"))
    assert {"probability of yes:", "0 %", "100 %", "bought:"} <= set(words)
    lift = shares[:, 1] / shares[0, 1]
    assert {"lift of yes:", "0", f"{lift.max():.3g}"} <= set(texts(model.export_svg(color_by="lift")))
    assert "error:" in texts(model.export_svg(color_by="error"))
    deviations = leaf_fills(scene_of(regressor, color_by="error"))
    assert len({opacity for _, opacity in deviations.values()}) > 1
    assert {"standard deviation:", "price"} & set(texts(regressor.export_svg(color_by="error"))) == {"standard deviation:"}


def test_the_probability_of_more_classes_is_that_of_the_predicted_one():
    model = CARTClassifier(max_depth=1).fit([[1.0], [2.0], [3.0], [3.0]], ["a", "b", "c", "c"])
    assert "probability of the predicted class:" in texts(model.export_svg(color_by="probability"))


def test_the_lift_of_more_classes_is_that_of_the_predicted_one_by_its_share_at_the_root():
    model = CARTClassifier().fit([[1.0], [2.0], [3.0], [3.0]], ["a", "b", "c", "c"])
    fills = leaf_fills(scene_of(model, color_by="lift"))
    lifts = {node: {"a": 4, "b": 4, "c": 2}[model.classes_[model.tree_.value[node].argmax()]] for node in fills}
    assert sorted(lifts.values()) == [2, 4, 4]
    assert len({(lift, fills[node]) for node, lift in lifts.items()}) == 2
    absent = CARTClassifier().fit([[1.0], [2.0]], ["a", "b"], sample_weight=[1, 0])
    with pytest.raises(ValueError, match="color_by='lift': the root has no samples of class b; use 'probability'"):
        absent.export_svg(color_by="lift")


def test_a_subtitle_is_below_the_title(model):
    plain, scene = scene_of(model), scene_of(model, subtitle="Four hundred customers")
    title, subtitle = draw(
        model.tree_, model.schema_, model.classes_, title="Above", style=style_of(model.classes_, subtitle="Below")
    ).around[:2]
    assert (title.text, subtitle.text) == ("Above", "Below")
    assert title.y + 10 < subtitle.y
    assert subtitle.size < title.size
    assert scene.around[0].text == "Four hundred customers"
    assert scene.height > plain.height
    assert "Four hundred customers" in texts(model.export_svg(kind="icicle", subtitle="Four hundred customers"))


def test_dot_and_mermaid_take_figures_and_colours(model, regressor):
    for export in (model.export_dot, model.export_mermaid):
        assert export(palette={"yes": "#aa0011"}) != export() != export(color_by="lift") != export(color_by="probability")
        assert "of all" in export(show="percent")
        assert "Gini" in export(show="impurity")
        with pytest.raises(ValueError, match="color_by='gain': must be one of"):
            export(color_by="gain")
    for export in (regressor.export_dot, regressor.export_mermaid):
        assert export(palette="#aa0011") != export()
        with pytest.raises(ValueError, match="color_by='lift': a regression tree has no classes"):
            export(color_by="lift")
    assert "#aa0011" in regressor.export_dot(palette="#aa0011")


def test_a_palette_gives_colours_by_class_or_in_their_order(model, regressor, table):
    by_class = model.export_svg(palette={"yes": "#AA0011"}, X=table[0], y=table[1])
    assert "#aa0011" in by_class
    assert class_colour(0) in by_class  # "no" keeps its colour
    assert class_colour(1) not in by_class
    assert scene_of(model, palette=["#111111", "#aa0011"]) == scene_of(model, palette={"no": "#111111", "yes": "#aa0011"})
    assert "#aa0011" in regressor.export_svg(palette="#aa0011", X=table[0], y=np.arange(400.0))
    assert class_colour(0) not in regressor.export_svg(palette="#aa0011", X=table[0], y=np.arange(400.0))
    several = C45Classifier().fit([["a"], ["b"]], ["a", "b"]).set_labels({"y": {"a": "Alpha"}})
    assert "#aa0011" in several.export_svg(palette={"a": "#aa0011"})  # the class of the fit, not its label


@pytest.mark.parametrize("colour", ["#ffffff", "#000000", "#ffff00", "#00ff00", "#ff0000", "#1a1c20", "#808080"])
def test_text_is_readable_on_every_colour(colour):
    style = Style(classes=[colour])
    for theme in (LIGHT, DARK):
        for certainty in (0.0, 0.5, 1.0):
            assert contrast(mix(colour, theme.paper, style.opacity(colour, certainty)), theme.ink) >= 4.5


def test_themes(model):
    both, light, dark, paper = (model.export_svg(theme=theme) for theme in (None, "light", "dark", "print"))
    assert "prefers-color-scheme" in both
    for text, theme in ((light, LIGHT), (dark, DARK), (paper, PRINT)):
        assert "prefers-color-scheme" not in text
        assert f".f-paper{{fill:{theme.paper}}}" in text
        assert f".f-ink{{fill:{theme.ink}}}" in text
    # the styles of two pictures in one page hold for both, but a theme for its own pictures only
    assert 'class="fasttree fasttree-dark"' in dark
    assert set(re.findall(r"(\.fasttree\S*) \.[fs]-\w+\{", dark)) == {".fasttree.fasttree-dark"}
    assert re.search('id="(.*?)-title"', dark)[1] != re.search('id="(.*?)-title"', both)[1]
    assert greys(2) == ["#303030", "#b4b4b4"]
    assert {"#303030", "#b4b4b4"} <= set(re.findall("#[0-9a-f]{6}", paper))
    assert class_colour(0) not in paper
    assert re.search(r'fill="#([0-9a-f]{2})(?!\1\1)', paper) is None  # nothing but greys
    assert "#aa0011" in model.export_svg(theme="print", palette={"yes": "#aa0011"})


def test_matplotlib_takes_the_theme(model):
    from matplotlib import colors, pyplot

    for theme, paper in (("dark", DARK.paper), ("light", LIGHT.paper), ("print", PRINT.paper)):
        ax = model.plot(theme=theme)
        ax.figure.canvas.draw()
        pixel = np.asarray(ax.figure.canvas.buffer_rgba())[2, 2, :3] / 255
        assert colors.to_hex(pixel) == paper
        pyplot.close(ax.figure)


def test_a_caption_fills_lines_below_the_tree(model):
    caption = "Four hundred customers of a shop that does not exist, who were asked whether they bought something last year."
    plain, scene = scene_of(model), scene_of(model, caption=caption)
    lines = [mark for mark in scene.around if mark.y > plain.height - 1]
    assert " ".join(mark.text for mark in lines) == caption
    assert len(lines) > 1
    assert max(mark.y for mark in lines) < scene.height
    assert scene.height > plain.height


def test_a_font_size_scales_the_whole_picture(model):
    def size(svg):
        return [float(number) for number in re.search(r'width="([\d.]+)" height="([\d.]+)" viewBox', svg).groups()]

    for kind in ("tree", "icicle"):
        plain, large = (model.export_svg(kind=kind, fontsize=fontsize) for fontsize in (None, 25))
        assert size(large) == pytest.approx([2 * side for side in size(plain)], abs=0.11)
        assert texts(large) == texts(plain)
        inches = [model.plot(kind=kind, fontsize=fontsize).figure.get_size_inches() for fontsize in (None, 25)]
        assert inches[1] == pytest.approx(2 * inches[0])


def test_discs_show_weights(model):
    scene = scene_of(model, weights=True)
    sectors = {group.node: [mark for mark in group.marks if isinstance(mark, Sector)] for group in scene.groups}
    discs = {node: found[0] for node, found in sectors.items() if found}
    tree = model.tree_
    assert set(discs) == set(np.flatnonzero(tree.n_branches == 0).tolist())
    areas = np.array([discs[node].radius ** 2 for node in discs]) / tree.weight[list(discs)]
    assert areas == pytest.approx(areas[0])
    shares = tree.predict_nodes()
    for node in discs:
        assert [mark.stop - mark.start for mark in sectors[node]] == pytest.approx(shares[node][shares[node] > 0])
        assert [mark.fill for mark in sectors[node]] == [class_colour(k) for k in np.flatnonzero(shares[node]).tolist()]
    assert not any(isinstance(mark, Sector) for mark in scene_of(model).marks())


def test_discs_are_drawn_by_svg_and_matplotlib(model, regressor):
    text = model.export_svg(weights=True)
    assert len(re.findall(r"<path d=\"M\S+ \S+L\S+ \S+A", text)) >= 4
    assert regressor.export_svg(weights=True).count("<circle") == regressor.get_n_leaves()
    for tree in (model, regressor):
        ax = tree.plot(weights=True, x=[30, "f"])
        ax.figure.canvas.draw()
        (discs,) = (found for found in ax.collections if type(found).__name__ == "PolyCollection")
        assert len(discs.get_paths()) >= tree.get_n_leaves()


def test_charts_of_a_feature_have_one_axis_and_count_samples(table):
    X, y = table
    model = CARTClassifier(max_depth=3).fit(X[["age"]], y)
    own, same = (texts(model.export_svg(X=X[["age"]], y=y, same_axes=same)) for same in (False, True))
    tests = int((model.tree_.n_branches > 0).sum())
    assert tests > 2
    assert own.count("18") < same.count("18") <= tests
    assert own.count("samples") == 0
    assert same.count("samples") == tests
    assert any(text.isdigit() and int(text) % 5 == 0 for text in set(same) - set(own))


def test_lines_of_means_end_where_the_samples_do(regressor, table):
    X, _ = table
    y = np.arange(400.0)
    model = CARTRegressor(max_depth=2).fit(X[["age"]], X["age"] ** 2.0)
    samples = model._samples(X[["age"]], y)
    from fasttree._explain.pictures.charts import Charts
    from fasttree._model.words import Words

    words = Words(model.tree_, model.schema_, None)
    chart = Charts(model.tree_, words, samples, False, Style(same_axes=True))(1)
    assert max(stop for _, stop, _ in chart.levels) < 0.8
    assert max(stop for _, stop, _ in Charts(model.tree_, words, samples, False)(1).levels) == 1


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"show": "gini"}, ValueError, "show='gini': must be one of 'both', 'percent', 'count', 'impurity'"),
        ({"color_by": "gain"}, ValueError, "color_by='gain': must be one of 'class', 'probability', 'lift', 'error', None"),
        ({"theme": 3}, ValueError, "theme=3: must be one of"),
        ({"palette": "red"}, TypeError, "palette='red': must map classes to colours"),
        ({"palette": ["red", "blue"]}, ValueError, "'red' is not a colour; write red, green and blue as in '#0072b2'"),
        ({"palette": {"maybe": "#000000"}}, ValueError, "'maybe' is not a class; the classes are 'no', 'yes'"),
        ({"palette": []}, ValueError, "palette is empty"),
        ({"palette": 3}, TypeError, "palette=3"),
        ({"caption": 3}, TypeError, "caption is a int"),
        ({"subtitle": 3}, TypeError, "subtitle is a int"),
        ({"weights": "yes"}, TypeError, "weights='yes': must be True or False"),
        ({"fontsize": 0}, ValueError, r"fontsize=0: must be a number of pixels in \[4, 100\], or None for 12.5"),
        ({"fontsize": "large"}, ValueError, "fontsize='large'"),
        ({"same_axes": 1}, TypeError, "same_axes=1: must be True or False"),
    ],
)
def test_bad_choices(model, choices, error, message):
    for picture in (model.export_svg, model.plot):
        with pytest.raises(error, match=message):
            picture(**choices)


def test_a_regression_tree_has_no_classes(regressor):
    with pytest.raises(ValueError, match="color_by='class': a regression tree has no classes; use 'error'"):
        regressor.export_svg(color_by="class")
    with pytest.raises(ValueError, match="palette has 2 colours: a regression tree has one"):
        regressor.export_svg(palette=["#000000", "#ffffff"])
