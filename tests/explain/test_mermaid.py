"""Trees as Mermaid flowcharts."""

import re

import pandas as pd
import pytest

from fasttree import CARTClassifier, CARTRegressor


def model():
    X = pd.DataFrame({'a "quoted" #name;': [1.0, 2.0, 3.0, 4.0], "b": list("xxyy")})
    return CARTClassifier().fit(X, ["<1>", "b|c", "b|c", "<1>"])


def test_every_node_and_branch_is_written_once():
    tree, chart = model().tree_, model().export_mermaid()
    lines = chart.splitlines()
    assert lines[0] == "flowchart TD"
    assert re.findall(r"^(n\d+)[\[(]", chart, re.MULTILINE) == [f"n{i}" for i in range(tree.node_count)]
    branches = re.findall(r'^(n\d+) -->\|"[^"|]*"\| (n\d+)$', chart, re.MULTILINE)
    assert branches == [(f"n{parent}", f"n{i}") for i, parent in enumerate(tree.parent.tolist()) if i]


def test_texts_have_no_character_with_a_meaning():
    for text in re.findall(r'"(.*)"[\])|]', model().export_mermaid()):
        plain = re.sub("<b>|</b>|<br/>|#\\d+;", "", text)
        assert not set(plain) & set('"<>#;&|')
    assert "#34;quoted#34; #35;name#59;" in model().export_mermaid()


def test_title_orientation_and_folding():
    large = CARTRegressor().fit([[float(i)] for i in range(100)], range(100))
    assert large.export_mermaid(title="a: b", orientation="right").startswith('---\ntitle: "a: b"\n---\nflowchart LR\n')
    assert len(re.findall("^style", large.export_mermaid(), re.MULTILINE)) == 16
    assert len(re.findall("^style", large.export_mermaid(max_nodes="all"), re.MULTILINE)) == 100
    with pytest.raises(ValueError, match="orientation"):
        large.export_mermaid(orientation="up")
