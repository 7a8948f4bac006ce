"""The pictures of trees on the pages, made anew whenever the pages are built: docs/_made/*.svg, in light and in dark."""

from pathlib import Path

import pandas as pd

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor

MADE = Path(__file__).parent / "_made"
PAGES = MADE / "pages"  # go as they are beside those of the documentation
DARK = "@media (prefers-color-scheme: dark)"


def make_pictures():
    """Draw all of them, from the folder of the sources."""
    adult, test = (pd.read_csv(f"examples/{name}.csv.gz") for name in ("adult", "adult.test"))
    X, y = adult.drop(columns=["income", "education", "fnlwgt"]), adult["income"]
    in_both("adult", CARTClassifier(max_leaf_nodes=7).fit(X, y).export_svg())
    in_both("large", C45Classifier().fit(X, y).export_svg(max_nodes=25))

    title = "Who earned more than 50,000 dollars in 1994?"
    model = CARTClassifier(max_leaf_nodes=60).fit(X, y)
    page = model.export_html(title=title, X=test[X.columns], y=test["income"], max_rows=50)
    (PAGES / "adult-tree.html").write_text(page, encoding="utf-8")

    iris = pd.read_csv("examples/iris.csv")
    X, y = iris.drop(columns="class"), iris["class"]
    in_both("iris", CARTClassifier(max_depth=3).fit(X, y).export_svg(X=X, y=y))

    cars = pd.read_csv("examples/auto-mpg.csv")
    X, y = cars.drop(columns="mpg"), cars["mpg"]
    in_both("cars", CARTRegressor(max_leaf_nodes=6).fit(X, y).export_svg(X=X, y=y))

    X, y = fasttree.formats.read_c45("examples/golf")
    in_both("golf", C45Classifier().fit(X, y).export_svg())


def in_both(name, svg):
    """Write a picture that follows the reader's screen as two, so that it can follow the page's own switch."""
    if DARK not in svg:
        raise ValueError(f"{name}: the picture has no colours for the dark")
    (MADE / f"{name}-light.svg").write_text(svg.replace(DARK, "@media not all"), encoding="utf-8")
    (MADE / f"{name}-dark.svg").write_text(svg.replace(DARK, "@media all"), encoding="utf-8")
