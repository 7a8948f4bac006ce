"""Trees as SVG: stand-alone, readable, nothing on top of something else."""

import itertools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._explain.pictures.drawing import draw
from fasttree._explain.pictures.lettering import listed, shortened, text_width
from fasttree._explain.pictures.scene import Box, Text
from fasttree._explain.pictures.svg import svg_of

SVG = "{http://www.w3.org/2000/svg}"
ODD = ["<&\"'>", "ends\nhere", "品種の名前", "🦄🦄🦄", "z" * 60, "", "a, b", "e\u0301"]


def scene_of(model, **how):
    return draw(model.tree_, model.schema_, getattr(model, "classes_", None), **how)


def random_tree(n_leaves, n_classes=3, seed=0, **parameters):
    random = np.random.default_rng(seed)
    X = random.normal(size=(4 * n_leaves, 6))
    y = random.integers(n_classes, size=len(X))
    return CARTClassifier(max_leaf_nodes=n_leaves, **parameters).fit(X, y)


def extent(mark):
    """Left, top, right, bottom of a box or a line of text; the latter from its capitals' tops to what hangs below."""
    if isinstance(mark, Box):
        return mark.x, mark.y, mark.x + mark.width, mark.y + mark.height
    width = text_width(mark.text, mark.size, mark.bold)
    if mark.turned:  # upwards, to its end
        return mark.x - 0.75 * mark.size, mark.y, mark.x + 0.2 * mark.size, mark.y + width
    left = mark.x - width * {"start": 0, "middle": 0.5, "end": 1}[mark.anchor]
    return left, mark.y - 0.75 * mark.size, left + width, mark.y + 0.2 * mark.size


def overlap(a, b, slack=0.1):
    return a[0] < b[2] - slack and b[0] < a[2] - slack and a[1] < b[3] - slack and b[1] < a[3] - slack


def inside(a, b):
    return a[0] >= b[0] - 0.1 and a[1] >= b[1] - 0.1 and a[2] <= b[2] + 0.1 and a[3] <= b[3] + 0.1


def way_of(path):
    """Points along a path of Bezier curves."""
    points = np.array(path.points)
    t = np.linspace(0, 1, 9)[1:, None]
    for i in range(0, len(points) - 1, 3):
        a, b, c, d = points[i : i + 4]
        yield from (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d


def no_branch_crosses(scene, obstacles):
    """No middle of a branch is in a text or a box: it begins at the edge of one, and ends at a label."""
    left, top, right, bottom = np.array(obstacles).T
    for path in scene.branches:
        for x, y in way_of(path):
            assert not ((x > left + 0.1) & (x < right - 0.1) & (y > top + 0.1) & (y < bottom - 0.1)).any()


def nothing_overlaps(scene):
    boxes = [extent(group.box) for group in scene.groups]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    texts = [extent(mark) for mark in scene.marks() if isinstance(mark, Text)]
    assert not any(overlap(a, b) for a, b in itertools.combinations(texts, 2))
    no_branch_crosses(scene, texts + boxes)
    page = (0, 0, scene.width, scene.height)
    assert all(inside(text, page) for text in texts + boxes)
    for group, box in zip(scene.groups, boxes, strict=True):
        for mark in group.marks[1:]:
            if isinstance(mark, Text):
                # in its box, or outside of every box: the label of a branch
                assert inside(extent(mark), box) or not any(overlap(extent(mark), other) for other in boxes)
            elif isinstance(mark, Box):
                assert inside(extent(mark), box)


@pytest.mark.parametrize("orientation", ["down", "right"])
@pytest.mark.parametrize("n_leaves", [1, 2, 8, 30, 100, 250])
def test_no_two_boxes_or_texts_overlap(n_leaves, orientation):
    model = random_tree(n_leaves) if n_leaves > 1 else CARTClassifier().fit([[1.0], [2.0]], [0, 0])
    scene = scene_of(model, orientation=orientation)
    assert len(scene.groups) == model.tree_.node_count
    nothing_overlaps(scene)


def test_two_hundred_nodes_fit_a_poster():
    scene = scene_of(random_tree(100))
    assert scene.width <= 96 * 40
    assert scene.height <= 96 * 40


@given(st.data())
def test_any_names_keep_their_places(data):
    names = data.draw(st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=70)), min_size=4, max_size=12, unique=True))
    classes = data.draw(st.lists(st.sampled_from(ODD), min_size=2, max_size=3, unique=True))
    random = np.random.default_rng(len(names))
    X = np.array(names, dtype=object)[random.integers(len(names), size=(60, 2))]
    y = np.array(classes)[random.integers(len(classes), size=60)]
    algorithm = data.draw(st.sampled_from([CARTClassifier, C45Classifier, ID3Classifier]))
    model = algorithm().fit(X, y)
    scene = scene_of(model, orientation=data.draw(st.sampled_from(["down", "right"])))
    nothing_overlaps(scene)
    ElementTree.fromstring(svg_of(scene))


def test_names_that_are_cut_off_stand_in_full_in_the_tooltip():
    model = CARTClassifier().fit([["z" * 60], ["b"], ["c"]], ["x" * 80, "y", "y"])
    scene = scene_of(model)
    shown = " ".join(mark.text for mark in scene.marks() if isinstance(mark, Text))
    assert "z" * 60 not in shown
    assert "…" in shown
    assert any("z" * 60 in group.about and "x" * 80 in group.about for group in scene.groups)


def test_what_is_read_aloud_tells_of_the_tree():
    root = ElementTree.fromstring(svg_of(scene_of(random_tree(8))))
    assert root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert title.text == "Decision tree: 15 nodes, 8 leaves, depth 4"
    assert desc.text.startswith("Classes: 0, 1, 2. At the root: ")


def test_it_stands_alone_and_knows_light_and_dark():
    text = svg_of(scene_of(random_tree(8)))
    assert "prefers-color-scheme: dark" in text
    assert not re.search(r"<script|href|url\(|@import|@font-face", text)


def test_two_pictures_in_a_page_do_not_share_names():
    names = [re.findall(r' id="([^"]+)"', svg_of(scene_of(random_tree(8, seed=seed)))) for seed in (0, 1)]
    assert len(set(names[0]) | set(names[1])) == 4


def test_the_same_tree_is_the_same_picture():
    assert svg_of(scene_of(random_tree(20))) == svg_of(scene_of(random_tree(20)))


def test_a_leaf_has_the_colour_of_its_class_the_fuller_the_purer():
    X = [[0.0]] * 10 + [[1.0]] * 10
    scene = scene_of(CARTClassifier().fit(X, [0] * 10 + [1] * 9 + [0]))
    pure, mixed = scene.groups[1].marks[1], scene.groups[2].marks[1]
    assert (pure.fill, mixed.fill) == ("#0072b2", "#e69f00")
    assert pure.opacity > mixed.opacity
    assert {mark.text for mark in scene.groups[2].marks if isinstance(mark, Text)} == {"1", "90 % of 10", "> 0.5"}


def test_bars_show_the_shares_of_the_classes():
    scene = scene_of(CARTClassifier(max_depth=1).fit([[0.0]] * 6 + [[1.0]] * 4, [0] * 3 + [1] * 3 + [2] * 4))
    bars = [mark for mark in scene.groups[0].marks if isinstance(mark, Box) and mark.fill.startswith("#")]
    assert [bar.width / sum(bar.width for bar in bars) for bar in bars] == pytest.approx([0.3, 0.3, 0.4])
    assert len({bar.fill for bar in bars}) == 3


def test_branches_are_as_wide_as_their_weight():
    scene = scene_of(CARTClassifier(max_depth=1).fit([[0.0]] * 75 + [[1.0]] * 25, [0] * 75 + [1] * 25))
    heavy, light = scene.branches
    assert heavy.width == pytest.approx(3 * light.width)


def test_folded_parts_are_counted():
    model = random_tree(40)
    scene = scene_of(model, max_nodes=11)
    texts = [mark.text for mark in scene.marks() if isinstance(mark, Text)]
    assert len(scene.groups) == 11
    counted = sum(int(text.split()[1]) for text in texts if re.fullmatch(r"… \d+ nodes", text))
    assert counted == 79 - 11
    assert "11 of 79 nodes are drawn" in texts
    assert max(len(group.about) for group in scene_of(model, max_depth=0).groups) > 0
    nothing_overlaps(scene)


def test_empty_categories_share_a_box():
    pandas = pytest.importorskip("pandas")
    cells = ["c0", "c1"] * 3 + ["c2"] * 3
    frame = pandas.DataFrame({"kind": pandas.Categorical(cells, [f"c{i}" for i in range(22)])})
    model = C45Classifier().fit(frame, ["x", "y", "x", "y", "x", "y", "y", "y", "y"])
    scene = scene_of(model)
    assert model.tree_.node_count > 20
    assert len(scene.groups) == 5
    assert "no samples" in [mark.text for mark in scene.groups[-1].marks if isinstance(mark, Text)]
    assert all(f"c{i}" in scene.groups[-1].about for i in range(3, 12))
    nothing_overlaps(scene)


def test_the_way_of_missing_values_is_marked_where_it_is_not_the_heaviest():
    nan = np.nan
    X = [[0.0], [0.0], [1.0], [1.0], [1.0], [1.0], [nan]]
    model = CARTClassifier(missing="direction").fit(X, [0, 0, 1, 1, 1, 1, 0])
    texts = [mark.text for mark in scene_of(model).marks() if isinstance(mark, Text)]
    assert "or missing" in texts
    assert "or missing" not in [mark.text for mark in scene_of(model, show_missing=False).marks() if isinstance(mark, Text)]


def test_where_missing_values_are_divided_is_said_if_asked():
    model = C45Classifier().fit([["a"], ["a"], ["b"], ["b"], [None]] * 3, [0, 0, 1, 1, 1] * 3)
    told = [mark.text for mark in scene_of(model, show_missing=True).marks() if isinstance(mark, Text)]
    assert "missing: every branch" in told
    nothing_overlaps(scene_of(model, show_missing=True))


def test_several_targets_stand_below_one_another():
    X = np.arange(20.0)[:, None]
    model = CARTClassifier().fit(X, np.c_[X[:, 0] > 9, X[:, 0] > 4].astype(int))
    scene = scene_of(model)
    nothing_overlaps(scene)
    leaf = next(group for group in scene.groups if model.tree_.n_branches[group.node] == 0)
    assert sum(mark.bold for mark in leaf.marks if isinstance(mark, Text)) == 2


def test_regression_shows_mean_and_deviation():
    X = np.arange(40.0)[:, None]
    scene = scene_of(CARTRegressor(max_depth=2).fit(X, X[:, 0] ** 2))
    nothing_overlaps(scene)
    fills = [group.marks[1].opacity for group in scene.groups[3:]]
    assert fills == sorted(fills)  # the larger the mean the fuller


def test_bad_requests_are_refused():
    model = random_tree(4)
    with pytest.raises(ValueError, match="orientation='up': must be 'down' or 'right'"):
        scene_of(model, orientation="up")
    with pytest.raises(ValueError, match="max_nodes=0"):
        scene_of(model, max_nodes=0)


@given(st.text(max_size=40), st.floats(5, 200))
def test_shortened_text_fits(text, room):
    short = shortened(text, room, 10.0)
    assert len(short) <= max(len(text), 2)
    assert text_width(short, 10.0) <= max(room, 10 * 2.5)


@given(st.lists(st.text("abcdef", min_size=1, max_size=20), min_size=1, max_size=30), st.integers(1, 4))
def test_lists_of_names_name_or_count_all(names, max_lines):
    lines = listed(names, 120.0, 10.0, max_lines)
    assert len(lines) <= max(max_lines, 2)
    assert all(text_width(line, 10.0) <= 125 for line in lines)
    left = int(lines[-1].split()[1]) if lines[-1].endswith(" more") else 0
    assert sum(len(line.rstrip(",").split(", ")) for line in lines if not line.endswith(" more")) + left == len(names)


@pytest.fixture(scope="module")
def table():
    """A column of each kind with missing values, a class that depends on all, and a number."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(3)
    size = random.normal(size=300)
    colour = random.integers(15, size=300)
    grade = random.integers(4, size=300)
    y = (size > 0.3).astype(int) + (colour % 3 == 0) + (grade > 2)
    names = np.array([f"colour {i}" for i in range(15)])
    frame = pandas.DataFrame(
        {
            "size": np.where(random.random(300) < 0.1, np.nan, size),
            "colour": pandas.Categorical(names[colour], names),
            "grade": pandas.Categorical(np.array(["d", "c", "b", "a"])[grade], ["d", "c", "b", "a"], ordered=True),
        }
    )
    return frame, np.array(["no", "maybe", "yes", "sure"])[y], y + random.normal(size=300)


@pytest.mark.parametrize("orientation", ["down", "right"])
@pytest.mark.parametrize("algorithm", [CARTClassifier, C45Classifier, CARTRegressor])
def test_charts_of_samples_keep_their_places(table, algorithm, orientation):
    X, labels, numbers = table
    y = numbers if algorithm is CARTRegressor else labels
    limits = {"max_leaf_nodes": 20} if algorithm is not C45Classifier else {}
    model = algorithm(**limits).fit(X, y)
    plain = model.export_svg(orientation=orientation)
    text = model.export_svg(X=X, y=y, orientation=orientation)
    ElementTree.fromstring(text)
    assert len(text) > len(plain)
    nothing_overlaps(scene_of(model, samples=model._samples(X, y), orientation=orientation))


def test_samples_come_as_tables_with_their_classes():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    model = CARTClassifier().fit(X, y)
    with pytest.raises(ValueError, match="only X is given: charts of samples need both X and y, or neither"):
        model.export_svg(X=X)
    with pytest.raises(ValueError, match="only y is given"):
        model.export_svg(y=y)
    with pytest.raises(ValueError, match="X has 3 samples, but y has 2"):
        model.export_svg(X=X, y=y[:2])
    several = CARTClassifier().fit(X, [[0, 1], [1, 0], [1, 1]])
    with pytest.raises(ValueError, match="the tree has 2 targets"):
        several.export_svg(X=X, y=[[0, 1], [1, 0], [1, 1]])


def test_the_tooltip_marks_a_test_that_was_set_by_hand():
    X, y = [[0.0, 1.0], [1.0, 5.0], [2.0, 3.0], [3.0, 0.0]], ["a", "b", "b", "a"]
    model = CARTClassifier().fit(X, y)
    changed = model.split(0, 1, 0.5, X=X, y=y).regrow(2, X=X, y=y)
    tips = {
        int(group.get("data-node")): group.findtext(f"{SVG}title")
        for group in ElementTree.fromstring(changed.export_svg()).iter(f"{SVG}g")
        if group.get("data-node")
    }
    assert {node for node, tip in tips.items() if "[set by hand]" in tip} == {0}
    assert changed.tree_.n_branches[2] > 0
    assert "set by hand" not in model.export_svg()


def test_a_notebook_shows_parameters_and_the_upper_part_of_the_tree():
    model = random_tree(60)
    html = model._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in html
    begin = html.index('<svg xmlns="http://www.w3.org/2000/svg" class="fasttree"')
    picture = ElementTree.fromstring(html[begin : html.index("</svg>", begin) + len("</svg>")])
    assert 9 <= len(picture.findall(f"{SVG}g[@data-node]")) <= 31
    assert 'class="fasttree"' not in CARTClassifier()._repr_mimebundle_()["text/html"]
