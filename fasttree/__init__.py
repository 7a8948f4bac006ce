"""Decision trees: grown exactly, fast, and made to be read.

>>> from fasttree import CARTClassifier
>>> rows = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]]
>>> model = CARTClassifier().fit(rows, ["ripe", "unripe", "unripe", "unripe"])
>>> print(model.export_text(ascii=True), end="")
|-- x1 <= 2.5: unripe (3)
`-- x1 > 2.5: ripe (1)
>>> model.predict([["red", 2.8]])
array(['ripe'], dtype='<U6')
"""

__version__ = "0.1.0"

try:
    from . import _attribution as _attribution
    from . import _core as _core
except ModuleNotFoundError as error:
    raise ImportError(
        "fasttree's compiled parts are not beside its sources. In the folder of the sources either build it there "
        "(pip install -e .) or start Python in another folder, so that the installed package is found"
    ) from error

from . import formats, measures
from ._competing import CompetingSplit
from ._explanation import Explanation
from ._recipe import Recipe
from ._shap import ShapValues
from ._tree import Tree
from ._views import plot_tree
from .composed import RECIPES, TreeClassifier, TreeRegressor
from .estimators import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier, load, loads
from .rules import C45Rules, PathRule, RuleList

__all__ = [
    "RECIPES",
    "C45Classifier",
    "C45Rules",
    "CARTClassifier",
    "CARTRegressor",
    "CompetingSplit",
    "Explanation",
    "ID3Classifier",
    "PathRule",
    "Recipe",
    "RuleList",
    "ShapValues",
    "Tree",
    "TreeClassifier",
    "TreeRegressor",
    "__version__",
    "formats",
    "load",
    "loads",
    "measures",
    "plot_tree",
]
