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

import os as _os
import sys as _sys
from importlib import import_module as _import_module
from importlib.machinery import PathFinder as _PathFinder
from importlib.util import module_from_spec as _module_from_spec
from threading import RLock as _RLock
from typing import TYPE_CHECKING

from fasttree._version import __version__
from fasttree.estimators.common.registry import ESTIMATORS as _ESTIMATORS


def _use_installed() -> None:
    """Load the installed package in the place of this one, whose sources are not compiled."""
    here = _os.path.realpath(_os.path.join(_os.path.dirname(__file__), _os.pardir))
    spec = _PathFinder.find_spec(__name__, [entry for entry in _sys.path if _os.path.realpath(entry) != here])
    places = None if spec is None else spec.submodule_search_locations
    if spec is None or spec.loader is None or _PathFinder.find_spec(f"{__name__}._core", places) is None:
        raise ImportError(
            "fasttree's compiled parts are not beside its sources, and no other fasttree is installed. In the folder of the "
            "sources, build them: pip install -e ."
        )
    for name in [name for name in _sys.modules if name.startswith(f"{__name__}.")]:
        del _sys.modules[name]
    _sys.modules[__name__] = _module_from_spec(spec)  # `import` gives the module that is here at the end
    spec.loader.exec_module(_sys.modules[__name__])


if _PathFinder.find_spec(f"{__name__}._core", __path__) is None:  # not imported here, because it needs NumPy
    _use_installed()

if TYPE_CHECKING:
    from fasttree import evaluation, formats, measures, pruning
    from fasttree._explain.boosted_rules import BoostedRules
    from fasttree._explain.committee_rules import CommitteeExplanation, CommitteeRules
    from fasttree._explain.difference import TreeDifference
    from fasttree._explain.explanation import Explanation
    from fasttree._explain.forest_explanation import ForestExplanation
    from fasttree._explain.ordered_rules import OrderedRules, RuleExplanation
    from fasttree._explain.path_rule import PathRule
    from fasttree._explain.pictures.dependence import plot_partial_dependence
    from fasttree._explain.rule_list import RuleList
    from fasttree._explain.shap import ShapValues
    from fasttree._explain.shared_rules import SharedRule, SharedRules
    from fasttree._explain.voting_rules import VotingRules
    from fasttree._export.predictor.predictor import Predictor
    from fasttree._learn.grow.competing import CompetingSplit
    from fasttree._learn.progress import progress
    from fasttree._learn.recipe import RECIPES, Recipe
    from fasttree._model.committees.committee import ModelRule
    from fasttree._model.conditions import Condition
    from fasttree._model.ruleset import Rule
    from fasttree._model.tested import MergeStep, NodeTest, PredictorTest
    from fasttree._model.tree import Tree
    from fasttree._scale.dataset import Dataset
    from fasttree.estimators.by_recipe import TreeClassifier, TreeRegressor
    from fasttree.estimators.c45 import C45Classifier
    from fasttree.estimators.c45_rules import C45Rules
    from fasttree.estimators.c50 import C50Classifier
    from fasttree.estimators.cart import CARTClassifier, CARTRegressor
    from fasttree.estimators.chaid import CHAIDClassifier, CHAIDRegressor
    from fasttree.estimators.common.picturing import plot_tree as plot_tree  # public, though not in `__all__`
    from fasttree.estimators.cubist import CubistRegressor
    from fasttree.estimators.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from fasttree.estimators.forest import RandomForestClassifier, RandomForestRegressor
    from fasttree.estimators.gam import GAMClassifier, GAMRegressor
    from fasttree.estimators.id3 import ID3Classifier
    from fasttree.estimators.m5 import M5Regressor
    from fasttree.estimators.optimal import OptimalTreeClassifier, OptimalTreeRegressor
    from fasttree.estimators.persistence import from_json, load

__all__ = [
    "RECIPES",
    "BoostedRules",
    "C45Classifier",
    "C45Rules",
    "C50Classifier",
    "CARTClassifier",
    "CARTRegressor",
    "CHAIDClassifier",
    "CHAIDRegressor",
    "CommitteeExplanation",
    "CommitteeRules",
    "CompetingSplit",
    "Condition",
    "CubistRegressor",
    "Dataset",
    "Explanation",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "ForestExplanation",
    "GAMClassifier",
    "GAMRegressor",
    "ID3Classifier",
    "M5Regressor",
    "MergeStep",
    "ModelRule",
    "NodeTest",
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "OrderedRules",
    "PathRule",
    "Predictor",
    "PredictorTest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "Recipe",
    "Rule",
    "RuleExplanation",
    "RuleList",
    "ShapValues",
    "SharedRule",
    "SharedRules",
    "Tree",
    "TreeClassifier",
    "TreeDifference",
    "TreeRegressor",
    "VotingRules",
    "__version__",
    "evaluation",
    "formats",
    "from_json",
    "load",
    "measures",
    "plot_partial_dependence",
    "progress",
    "pruning",
]

# `import *` takes `__all__`, in which there is no `plot_tree`, because it would hide scikit-learn's.
# Names are loaded on first use (PEP 562): a server that only predicts does not import scikit-learn.
_HOMES = {
    "_explain.boosted_rules": ["BoostedRules"],
    "_explain.committee_rules": ["CommitteeExplanation", "CommitteeRules"],
    "_explain.difference": ["TreeDifference"],
    "_explain.explanation": ["Explanation"],
    "_explain.forest_explanation": ["ForestExplanation"],
    "_explain.ordered_rules": ["OrderedRules", "RuleExplanation"],
    "_explain.path_rule": ["PathRule"],
    "_explain.pictures.dependence": ["plot_partial_dependence"],
    "_explain.rule_list": ["RuleList"],
    "_explain.shap": ["ShapValues"],
    "_explain.shared_rules": ["SharedRule", "SharedRules"],
    "_explain.voting_rules": ["VotingRules"],
    "_export.predictor.predictor": ["Predictor"],
    "_learn.grow.competing": ["CompetingSplit"],
    "_learn.progress": ["progress"],
    "_learn.recipe": ["RECIPES", "Recipe"],
    "_model.committees.committee": ["ModelRule"],
    "_model.conditions": ["Condition"],
    "_model.ruleset": ["Rule"],
    "_model.tested": ["MergeStep", "NodeTest", "PredictorTest"],
    "_model.tree": ["Tree"],
    "_scale.dataset": ["Dataset"],
    "estimators.common.picturing": ["plot_tree"],
    "estimators.persistence": ["load", "from_json"],
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_HOME_OF |= {entry.name: f"estimators.{entry.module}" for entry in _ESTIMATORS}
_MODULES = ("evaluation", "formats", "measures", "pruning")


_LOADING = _RLock()  # modules of scikit-learn import each other in circles, which threads at both ends find half done


def __getattr__(name: str) -> object:
    if name not in _MODULES and name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _LOADING:
        if name in _MODULES:
            return _import_module(f".{name}", __name__)
        found: object = getattr(_import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*_HOME_OF, *__all__, *(name for name in globals() if name.startswith("__"))})
