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
