"""Trees in the language of Graphviz; where `dot` is installed, it reads them."""

import html
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import C45Classifier, CARTClassifier, CARTRegressor

DOT = shutil.which("dot")
ODD = ["<&\"'>", 'say "x"', "back\\slash", "ends\\", "two\nlines", "\\N", "品種", "🦄", "", "]]>", "-- ->", "\x00\x07"]
needs_dot = pytest.mark.skipif(DOT is None, reason="Graphviz is not installed")


def laid_out(text):
    """What `dot` makes of a graph: the names of its nodes and its edges."""
    run = subprocess.run([DOT, "-Tplain"], input=text, capture_output=True, encoding="utf-8", timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    assert "syntax" not in run.stderr
    assert "not well-formed" not in run.stderr
    nodes = re.findall(r"^node (\S+) ", run.stdout, re.MULTILINE)
    edges = re.findall(r"^edge (\S+) (\S+) ", run.stdout, re.MULTILINE)
    return nodes, edges


def random_tree(n_leaves):
    random = np.random.default_rng(0)
    X = random.normal(size=(4 * n_leaves, 6))
    return CARTClassifier(max_leaf_nodes=n_leaves).fit(X, random.integers(3, size=len(X)))


@needs_dot
@pytest.mark.parametrize("orientation", [None, "down", "right"])
def test_graphviz_finds_every_node_and_branch(orientation):
    model = random_tree(30)
    nodes, edges = laid_out(model.export_dot(orientation=orientation))
    tree = model.tree_
    assert sorted(nodes) == sorted(f"n{node}" for node in range(tree.node_count))
    assert set(edges) == {(f"n{tree.parent[node]}", f"n{node}") for node in range(1, tree.node_count)}


@needs_dot
def test_graphviz_reads_regression_trees():
    X = np.arange(50.0)[:, None]
    model = CARTRegressor(max_depth=3).fit(X, np.sin(X[:, 0]))
    nodes, _ = laid_out(model.export_dot())
    assert len(nodes) == model.tree_.node_count > 7


@needs_dot
def test_graphviz_reads_any_names():
    rows = [[name, ODD[(3 * i) % len(ODD)]] for i, name in enumerate(ODD)] * 3
    labels = [ODD[i % 5] for i in range(len(rows))]
    model = C45Classifier(pruning=None).fit(rows, labels)
    assert model.tree_.node_count > len(ODD)
    nodes, _ = laid_out(model.export_dot())
    assert len(nodes) == model.tree_.node_count


@given(st.lists(st.text(max_size=20), min_size=2, max_size=6, unique=True))
def test_names_do_not_end_their_quotes(names):
    rows = [[name] for name in names] * 2
    text = CARTClassifier().fit(rows, [i % 2 for i in range(len(names))] * 2).export_dot()
    for line in text.splitlines()[1:-1]:
        rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)  # quoted strings
        rest = re.sub(r"label=<<TABLE.*</TABLE>>", "", rest)
        assert re.fullmatch(r"(n\d+( -> n\d+)?|graph|node|edge) \[[\w ,=.]*\]", rest), line


def test_what_is_folded_is_counted():
    text = random_tree(30).export_dot(max_nodes=7)
    assert len(re.findall(r"^n\d+ \[", text, re.MULTILINE)) == 7
    assert sum(int(n) for n in re.findall(r"… (\d+) nodes<", text)) == 59 - 7


def test_branches_are_as_wide_as_their_weight():
    text = CARTClassifier(max_depth=1).fit([[0.0]] * 75 + [[1.0]] * 25, [0] * 75 + [1] * 25).export_dot()
    heavy, light = map(float, re.findall(r"penwidth=([\d.]+)", text))
    assert heavy == pytest.approx(3 * light)
    assert ">≤ 0.5<" in text


@needs_dot
def test_texts_of_branches_touch_neither_branches_nor_each_other():
    adult = pd.read_csv("examples/adult.csv.gz")
    text = CARTClassifier(max_depth=3).fit(adult.drop(columns="income"), adult["income"]).export_dot()
    run = subprocess.run([DOT, "-Tsvg"], input=text, capture_output=True, encoding="utf-8", timeout=120, check=True)
    edges = re.findall(r'class="edge">.*?</g>', run.stdout, re.DOTALL)
    assert len(edges) > 4
    for edge in edges:
        width = float(found[1]) if (found := re.search(r'stroke-width="([\d.]+)"', edge)) else 1.0
        ways = np.array([pair.split(",") for pair in re.findall(r"-?[\d.]+,-?[\d.]+", edge)], dtype=float)
        t = np.linspace(0, 1, 50)[:, None]
        powers = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3]
        points = np.vstack([sum(p * ways[i + j] for j, p in enumerate(powers)) for i in range(0, len(ways) - 3, 3)])
        for anchor, x, y, words in re.findall(r'<text text-anchor="(\w+)" x="(-?[\d.]+)" y="(-?[\d.]+)"[^>]*>([^<]*)', edge):
            left = float(x) - (0 if anchor == "start" else 5.5 * len(html.unescape(words)) / 2)  # 5.5: half of the text size
            beside = points[np.abs(points[:, 1] - float(y) + 4) < 4]  # the middle of the letters
            assert len(beside)
            assert (beside[:, 0] + width / 2 < left).all()


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="orientation='up'"):
        random_tree(4).export_dot(orientation="up")
