"""Numbers in pictures: percentages, separators of thousands, and one number of decimals."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from fasttree import CARTClassifier, CARTRegressor
from fasttree._model.words import Words


def texts(picture):
    return [unescape(text) for text in re.findall("<text[^>]*>([^<]*)</text>", picture)]


def test_nodes_show_percentages_and_separators():
    X = pd.DataFrame({"x": np.arange(4000) % 2})
    y = pd.Series(np.where(X["x"] & (np.arange(4000) % 3 > 0), "rich", "poor"), name="income")
    found = texts(CARTClassifier().fit(X, y).export_svg())
    assert {"67 % poor · 4,000", "100 % of 2,000", "67 % of 2,000", "income:"} <= set(found)


def test_shares_follow_weights_and_priors():
    model = CARTClassifier(max_depth=1, priors={0: 0.9, 1: 0.1}).fit([[0.0], [1.0], [1.0], [1.0]], [0, 1, 1, 1])
    assert "90 % 0 · 4" in texts(model.export_svg())


@pytest.mark.parametrize(
    ("factor", "decimals", "means"),
    [
        (1.0, 2, ["2.50", "1.00", "2.00", "3.50"]),
        (1000.0, 2, ["2,500", "1,000", "2,000", "3,500"]),
        (0.001, 2, ["0.00250", "0.00100", "0.00200", "0.00350"]),
        (10.0, 2, ["25.0", "10.0", "20.0", "35.0"]),
        (10.0, 0, ["25", "10", "20", "35"]),
        (1e14, 2, ["2.5e+14", "1.5e+14", "1e+14"]),
    ],
)
def test_means_have_the_same_decimals(factor, decimals, means):
    tree = CARTRegressor().fit([[0.0], [1.0], [2.0], [2.0]], np.array([1.0, 2.0, 3.0, 4.0]) * factor)
    words = Words(tree.tree_, tree.schema_, decimals=decimals)
    assert {words.mean(node, 0) for node in range(tree.tree_.node_count)} >= set(means)


def test_the_target_is_named_in_title_and_legend():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    picture = CARTRegressor().fit(X, pd.Series([1.0, 1.0, 4.0, 4.0], name="price")).export_svg()
    assert ">Regression tree for price: 3 nodes, 2 leaves, depth 1</title>" in picture
    assert texts(picture)[-3:] == ["price:", "1.00", "4.00"]
    unnamed = CARTRegressor().fit(X, [1.0, 1.0, 4.0, 4.0]).export_svg()
    assert ">Regression tree: 3 nodes" in unnamed
    assert "price" not in unnamed


def test_each_of_several_targets_has_a_heading():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    Y = pd.DataFrame({"churn": list("nnyy"), "grade": list("abab")})
    found = texts(CARTClassifier(max_depth=1).fit(X, Y).export_svg())
    assert {"churn:", "grade:", "churn: n", "grade: a"} <= set(found)
