"""Pictures of trees for the pages, drawn at every build of the pages: docs/_made/*.svg, light and dark."""

from pathlib import Path

import pandas as pd

import fasttree
from fasttree import C45Classifier, CARTClassifier, CARTRegressor, GAMClassifier, OptimalTreeClassifier

MADE = Path(__file__).parent / "_made"
PAGES = MADE / "pages"  # copied unchanged into the documentation
DARK = "@media (prefers-color-scheme: dark)"


def make_pictures():
    """Draw all pictures; the current folder must be that of the sources."""
    adult, test = (pd.read_csv(f"examples/{name}.csv.gz") for name in ("adult", "adult.test"))
    X, y = adult.drop(columns=["income", "education", "fnlwgt"]), adult["income"]
    model = CARTClassifier(max_leaf_nodes=7).fit(X, y)
    in_both("adult", model.export_svg())
    in_both("same", model.export_svg(X=X, y=y, same_axes=True, weights=True))
    in_both("icicle", CARTClassifier(max_leaf_nodes=100).fit(X, y).export_svg(kind="icicle"))
    title, caption = "Who earned more than $50,000 in 1994?", "Census of the United States."
    in_both("risk", model.export_svg(color_by="probability", show="percent", title=title, caption=caption))
    in_both("large", C45Classifier().fit(X, y).export_svg(max_nodes=25))

    title = "Who earned more than 50,000 dollars in 1994?"
    model = CARTClassifier(max_leaf_nodes=12).fit(X, y)
    page = model.export_html(title=title, X=test[X.columns], y=test["income"], max_rows=50)
    (PAGES / "adult-tree.html").write_text(page, encoding="utf-8")
    shapes = GAMClassifier(n_bags=2, random_state=0).fit(X, y)
    page = shapes.export_html(title=title, X=test[X.columns], y=test["income"], max_rows=50)
    (PAGES / "adult-shapes.html").write_text(page, encoding="utf-8")

    census = adult.drop(columns=["fnlwgt", "education"]).sample(8000, random_state=0)[:4000]
    X, y = census.drop(columns="income"), census["income"]
    in_both("committee-greedy", CARTClassifier(max_depth=3).fit(X, y).export_svg())
    in_both("committee-lookahead", CARTClassifier(max_depth=3, lookahead=2).fit(X, y).export_svg())
    in_both("committee-optimal", OptimalTreeClassifier(max_depth=3).fit(X, y).export_svg())

    iris = pd.read_csv("examples/iris.csv")
    X, y = iris.drop(columns="class"), iris["class"]
    in_both("iris", CARTClassifier(max_depth=3).fit(X, y).export_svg(X=X, y=y))

    cars = pd.read_csv("examples/auto-mpg.csv")
    X, y = cars.drop(columns="mpg"), cars["mpg"]
    in_both("cars", CARTRegressor(max_leaf_nodes=6).fit(X, y).export_svg(X=X, y=y))

    X, y = fasttree.formats.read_c45("examples/golf")
    in_both("golf", C45Classifier().fit(X, y).export_svg())


def in_both(name, svg, folder=MADE):
    """Write a light and a dark version of a picture, so that it follows the switch of the page instead of the screen."""
    if DARK not in svg:
        raise ValueError(f"{name}: the picture has no dark colours")
    (folder / f"{name}-light.svg").write_text(svg.replace(DARK, "@media not all"), encoding="utf-8")
    (folder / f"{name}-dark.svg").write_text(svg.replace(DARK, "@media all"), encoding="utf-8")
