"""How pictures look: set before every example of the gallery, and for the pictures of the pages."""

from cycler import cycler
from matplotlib import pyplot

from fasttree._pictures.colours import CLASSES

ORDER = [  # of the gallery
    "sine",
    "impurities",
    "surfaces",
    "pruning",
    "tree",
    "rules",
    "missing",
    "monotone",
    "importances",
    "shap",
]


# What the pictures show, for those who cannot see them; in the order of each example.
SEEN = {
    "sine": ["Steps of trees of depth 1, 2 and 4 and of a whole tree along a noisy sine curve: first too rough, then too wild"],
    "impurities": [
        "Left: entropy, Gini and error against the share of a class; entropy and Gini are arches, the error a triangle. Right: "
        "gains of two splits as bars; by error they are equal"
    ],
    "surfaces": [
        "The plane coloured by what trees answer, for iris and two moons: many small rectangles as grown, few when pruned"
    ],
    "pruning": [
        "Errors against the number of leaves: on the samples of the growth they fall to 0, on others they fall and then rise",
        "Relative error in cross-validation against ccp_alpha, with standard errors; a ring marks the subtree that was chosen",
    ],
    "tree": [
        "A tree of the iris flowers: a histogram of the tested feature in each test, leaves in the colours of the species",
        "The 21 heaviest nodes of a pruned tree of the census, with bars of the two classes",
    ],
    "rules": ["Rules as dots by support and precision; those for high incomes take few people and are sure"],
    "missing": ["Errors by the share of missing cells for five ways, at random and not: they part where it says something"],
    "monotone": ["Miles per gallon against weight: the free tree goes up and down, the constrained one only down"],
    "importances": ["Bars of three importances of nine features of the census; surrogates give credit to marital status"],
    "shap": [
        "A dot per car and feature at its SHAP value, coloured by the value of the feature",
        "Steps from the mean prediction to that of one car, a bar per feature",
    ],
}


class GalleryOrder:
    """Key by which Sphinx-Gallery sorts the examples of a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> int:
        return ORDER.index(filename.removeprefix("plot_").removesuffix(".py"))


def set_style(*_):
    """Colours that all eyes tell apart, quiet axes; called by Sphinx-Gallery with its configuration."""
    pyplot.rcdefaults()
    pyplot.rcParams.update(
        {
            "axes.prop_cycle": cycler(color=CLASSES[:6]),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": "#888888",
            "axes.titlesize": 11,
            "axes.labelcolor": "#333333",
            "figure.dpi": 100,
            "font.size": 10,
            "legend.frameon": False,
            "legend.fontsize": 9,
            "lines.linewidth": 1.8,
            "svg.hashsalt": "fasttree",
            "xtick.color": "#555555",
            "ytick.color": "#555555",
        }
    )
