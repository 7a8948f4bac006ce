"""The pictures of trees on the pages, made anew whenever the pages are built: docs/_made/*.svg, in light and in dark."""

from pathlib import Path

import pandas as pd

import fasttree

MADE = Path(__file__).parent / "_made"
DARK = "@media (prefers-color-scheme: dark)"


def make_pictures(*_):
    """Draw all of them; called by Sphinx when a build begins, in the folder of the sources."""
    MADE.mkdir(exist_ok=True)
    adult = pd.read_csv("examples/adult.csv.gz").drop(columns=["education", "fnlwgt"])
    model = fasttree.CARTClassifier(max_leaf_nodes=7).fit(adult.drop(columns="income"), adult["income"])
    in_both("adult", model.export_svg())

    X, y = fasttree.formats.read_c45("examples/golf")
    in_both("golf", fasttree.C45Classifier().fit(X, y).export_svg())


def in_both(name, svg):
    """Write a picture that follows the reader's screen as two, so that it can follow the page's own switch."""
    if DARK not in svg:
        raise ValueError(f"{name}: the picture has no colours for the dark")
    (MADE / f"{name}-light.svg").write_text(svg.replace(DARK, "@media not all"), encoding="utf-8")
    (MADE / f"{name}-dark.svg").write_text(svg.replace(DARK, "@media all"), encoding="utf-8")
