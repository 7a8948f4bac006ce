"""Picture of README.md: python docs/census.py, from the folder of the sources."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from _pictures import in_both

from fasttree import CARTClassifier

FOLDER = Path(__file__).parent / "_static"


def draw() -> None:
    """Draw a tree of depth 3 of the 1994 census, for light and for dark pages."""
    adult = pd.read_csv("examples/adult.csv.gz")
    X, y = adult.drop(columns=["income", "education", "fnlwgt"]), adult["income"]
    in_both("census", CARTClassifier(max_depth=3).fit(X, y).export_svg(), FOLDER)


if __name__ == "__main__":
    draw()
