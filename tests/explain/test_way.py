"""The path of one sample in a picture."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from fasttree import C45Classifier, CARTClassifier
from fasttree._explain.pictures.colours import LIGHT


@pytest.fixture
def model():
    X = pd.DataFrame({"sex": list("ffffmmmm"), "age": [3.0, 40.0, 60.0, 30.0, 4.0, 50.0, 60.0, 70.0]})
    return CARTClassifier().fit(X, pd.Series([1, 1, 0, 1, 1, 0, 0, 0], name="survived"))


def groups(picture):
    """Return whether each node is faded, and its bold texts."""
    found = re.findall(r'<g data-node="(\d+)"( opacity="0.35")?>(.*?)</g>', picture, re.DOTALL)
    bold = {
        int(node): unescape(" ".join(re.findall("bold[^>]*>(= [^<]*|missing[^<]*)</text>", marks))) for node, _, marks in found
    }
    return {int(node) for node, faded, _ in found if not faded}, bold


def test_the_path_is_bold_and_the_rest_is_faded(model):
    x = {"sex": "m", "age": 55.5}
    path = {0} | {branch.node for step in model.explain(x).steps for branch in step.taken}
    picture = model.export_svg(x=x)
    shown, bold = groups(picture)
    assert shown == path
    assert len(shown) < model.tree_.node_count
    assert {text for text in bold.values() if text} <= {"= m", "= 55.5"}
    assert all(bold[node] for node in path - {0})
    assert picture.count('class="s-ink"') == len(path) - 1
    assert 'opacity="0.35"' not in model.export_svg()


def test_values_have_their_labels(model):
    _, bold = groups(model.export_svg(x={"sex": "m", "age": None}, labels={"sex": {"m": "man"}}))
    assert {"= man", "missing"} & set(bold.values())


def test_a_divided_sample_has_several_paths():
    X = [["a", 1.0], ["a", 2.0], ["b", 3.0], ["b", 4.0], ["c", 5.0]] * 4
    model = C45Classifier(pruning=None).fit(X, ["x", "x", "y", "y", "z"] * 4)
    shown, bold = groups(model.export_svg(x=[None, None]))
    assert len(shown) > 2
    assert any(re.fullmatch(r"missing \(\d+ %\)", text) for text in bold.values())


def test_a_deep_path_is_not_folded():
    X = np.arange(200.0)[:, None]
    model = CARTClassifier().fit(X, np.arange(200) % 2)
    (end,) = model.explain([117.0]).ends
    shown, _ = groups(model.export_svg(x=[117.0]))
    assert end.node in shown
    assert len(shown) == len(model.explain([117.0]).steps) + 1


def test_matplotlib_draws_the_path(model):
    ax = model.plot(x={"sex": "f", "age": 10.0})
    bold = {text.get_text() for text in ax.texts if text.get_fontweight() == "bold" and text.get_text().startswith("=")}
    assert bold
    assert bold <= {"= f", "= 10"}
    inks = {text.get_color() for text in ax.texts}
    assert LIGHT.ink in inks
    assert len(inks) > 2


def test_a_bad_sample_is_an_error(model):
    for draw in (model.export_svg, model.plot):
        with pytest.raises(ValueError, match="age"):
            draw(x={"sex": "f", "height": 3.0})
