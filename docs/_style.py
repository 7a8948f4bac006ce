"""Style of the pictures: set before every example of the gallery, and for the pictures of the pages."""

from cycler import cycler
from matplotlib import pyplot

from fasttree._explain.pictures.colours import CLASSES

ORDER = [  # of the gallery
    "sine",
    "impurities",
    "surfaces",
    "pruning",
    "tree",
    "optimal",
    "forest",
    "gam",
    "cubist",
    "c50",
    "chaid",
    "rules",
    "missing",
    "monotone",
    "importances",
    "shap",
]

# Descriptions of the pictures for screen readers, in the order of each example.
SEEN = {
    "sine": ["Predictions of trees of depth 1, 2 and 4 and of a full tree for a noisy sine: underfitting, then overfitting"],
    "impurities": [
        "Left: entropy, Gini and error against the share of a class; entropy and Gini are arches, the error a triangle. Right: "
        "gains of two splits as bars; by error they are equal"
    ],
    "surfaces": [
        "The plane coloured by the predictions of trees, for iris and two moons: many small rectangles unpruned, few pruned"
    ],
    "pruning": [
        "Errors against the number of leaves: the training error decreases to 0, the test error decreases and then increases",
        "Relative error in cross-validation against ccp_alpha, with standard errors; a ring marks the selected subtree",
    ],
    "tree": [
        "A tree of the iris flowers: a histogram of the tested feature in each test, leaves in the colours of the species",
        "The 21 heaviest nodes of a pruned tree of the census, with bars of the two classes",
    ],
    "forest": ["The out-of-bag error falls with the number of trees; bars of the importances of the features of cars"],
    "gam": [
        "Shapes of weight, model year, horsepower and displacement for miles per gallon, with bands and bars of the samples",
        "Steps from the mean prediction to that of one car, a bar per feature",
        "The shape of weight, free and with a constraint: both fall, the constrained one without a rise",
    ],
    "cubist": [
        "A line that rises and falls, with noise: the tree has four steps, and two rules follow both slopes",
        "The same samples, with the prediction as a line that rises and falls, and a dashed line where it jumps",
        "Test errors by committees: they fall from 2.8 miles per gallon with one to 2.6 with ten, and no further",
        "Bars of each feature: its use in conditions and in models of the rules",
        "Miles per gallon by weight, as dots, and a line in pieces that falls: the prediction for one car",
    ],
    "optimal": [
        "Six fields, dark and light in turn: the greedy tree makes 83 errors, lookahead 20, the best tree of the depth 19"
    ],
    "c50": [
        "Test errors by trial: those of each tree stay near 20 percent, those of the vote decrease to below 5 percent",
        "Ten digits that are hard to read, each with the prediction and its share of the votes",
    ],
    "chaid": [
        "A tree of the census: marital status, then other features, with chi-square and p-values in the boxes",
        "Bars of the share of high incomes by interval of age; those that merged with a neighbour are orange",
        "Bars of the logarithms of adjusted p-values: marital status has the smallest p-value, then the other features",
    ],
    "rules": ["Rules as dots by support and precision; those for high incomes cover few people with high precision"],
    "missing": ["Test errors by the share of missing cells for five methods: they differ if missing values are informative"],
    "monotone": ["Miles per gallon against weight: the free tree increases and decreases, the constrained one only decreases"],
    "importances": ["Bars of three importances of nine features of the census; surrogates give credit to marital status"],
    "shap": [
        "A dot per car and feature at its SHAP value, coloured by the value of the feature",
        "Steps from the mean prediction to that of one car, a bar per feature",
    ],
}


class GalleryOrder:
    """Sort key of the examples of a folder, for Sphinx-Gallery."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> int:
        return ORDER.index(filename.removeprefix("plot_").removesuffix(".py"))


def set_style(*_):
    """Set accessible colours and quiet axes; Sphinx-Gallery calls this with its configuration."""
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
