"""Texts in pictures: widths, lines, and short forms of similar names."""

import json
import re
from html import unescape
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree import CARTClassifier, ID3Classifier
from fasttree._explain.pictures.lettering import distinct, shortened, text_width, wrapped

REGIONS = [f"Administrative region of {way} (code {i:02d})" for i, way in enumerate(["North", "East", "South", "West"] * 10)]


def regions(estimator):
    code = np.arange(400) % 40
    target = pd.Series(np.where((code % 3 == 0) ^ (np.arange(400) % 17 == 0), "yes", "no"), name="answered")
    return estimator.fit(pd.DataFrame({"region": np.array(REGIONS, object)[code]}), target)


def svg_labels(picture):
    """Return the texts of each node together, without those of its box."""
    groups = re.findall(r"<g data-node.*?</g>", picture, re.DOTALL)[1:]
    return [" ".join(unescape(text) for text in re.findall(r">([^<>]*)</text>", group) if "code" in text) for group in groups]


def test_forty_similar_categories_have_forty_labels():
    model = regions(ID3Classifier())
    assert model.tree_.node_count == 41
    labels = {
        "svg": svg_labels(model.export_svg(max_nodes=100)),
        "dot": re.findall(r"-> n\d+ \[.*?BALIGN=.LEFT.>(.*?)</TD>", model.export_dot(max_nodes=100)),
        "plot": [text.get_text() for text in model.plot(max_nodes=100).texts if "code" in text.get_text()],
        "page": json.loads(re.search(r'id="data">(.*?)</script>', model.export_html(), re.DOTALL)[1])["features"][0]["brief"],
    }
    for name, found in labels.items():
        assert len(found) == 40, name
        assert len(set(found)) == 40, name
        assert all("code" in text for text in found), name


def test_siblings_of_sets_read_differently():
    first, second = svg_labels(regions(CARTClassifier(max_depth=1)).export_svg())
    assert first != second


def test_names_with_quotes_are_drawn_without_them():
    X = pd.DataFrame({"mother's age, in years, at the birth of her first child, as she said": [1.0, 2.0]})
    model = CARTClassifier().fit(X, ["the child's name is a rather long one, and it has commas", "b"])
    for picture in ("".join(re.findall("<text.*?</text>", model.export_svg())), model.export_dot().split("tooltip")[0]):
        assert "mother's" in picture
        assert '"mother' not in unescape(picture)


@given(st.lists(st.text("ab _-é", min_size=1, max_size=40), min_size=1, max_size=12), st.floats(20, 200))
def test_distinct_names_remain_distinct(names, room):
    brief = distinct(names, room, 10.0)
    for one, other in combinations(set(names), 2):
        assert brief[one] != brief[other]


@given(st.text("ab _-é", min_size=1, max_size=80), st.floats(20, 200), st.integers(1, 4))
def test_wrapped_lines_fit(text, room, most):
    lines = wrapped(text, room, 10.0, most)
    assert 1 <= len(lines) <= most
    assert all(text_width(line, 10.0) <= room for line in lines)


def test_wrapped_text_is_whole_if_there_is_room():
    assert wrapped("age at the first interview", 75.0, 10.0, 3) == ["age at the first", "interview"]
    assert wrapped("number_of_rooms", 50.0, 10.0, 3) == ["number_", "of_rooms"]


@pytest.mark.parametrize("text", ["abcdefghij" * 4, "a b " * 20 + "end"])
def test_shortened_names_keep_their_end(text):
    assert shortened(text, 100.0, 10.0).endswith(text.strip()[-3:])
