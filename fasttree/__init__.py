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

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

try:
    for _name in ("_core", "_serving"):  # by name: `from . import` raises no ModuleNotFoundError
        _import_module(f".{_name}", __name__)
except ModuleNotFoundError as error:
    raise ImportError(
        "fasttree's compiled parts are not beside its sources. In the folder of the sources either build it there "
        "(pip install -e .) or start Python in another folder, so that the installed package is found"
    ) from error

if TYPE_CHECKING:
    from . import formats, measures
    from ._competing import CompetingSplit
    from ._explanation import Explanation
    from ._predictor import Predictor
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
    "Predictor",
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

# Loaded when first asked for (PEP 562): a server that only predicts need not wait for scikit-learn.
_HOMES = {
    "_competing": ["CompetingSplit"],
    "_explanation": ["Explanation"],
    "_predictor": ["Predictor"],
    "_recipe": ["Recipe"],
    "_shap": ["ShapValues"],
    "_tree": ["Tree"],
    "_views": ["plot_tree"],
    "composed": ["RECIPES", "TreeClassifier", "TreeRegressor"],
    "estimators": ["C45Classifier", "CARTClassifier", "CARTRegressor", "ID3Classifier", "load", "loads"],
    "rules": ["C45Rules", "PathRule", "RuleList"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("composed", "estimators", "formats", "measures", "rules")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return _import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(_import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
