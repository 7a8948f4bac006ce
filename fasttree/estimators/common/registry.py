"""List of all estimators, for the package, `load`, the command line and the tests.

An entry does not import its class, so the list does not need scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

BY_RECIPE = "recipe"  # in a file, the algorithm of a tree by any recipe


class Entry(NamedTuple):
    """An estimator.

    Parameters
    ----------
    name : str
        Name of the class, which `fasttree` exports.
    module : str
        Its module in `fasttree.estimators`.
    algorithm : str
        Its algorithm in files.
    task : {"classification", "regression"}
    on_command_line : bool, default=True
        Whether the command line has it.
    makes_rules : bool, default=False
        Whether the model is a list of rules, not a tree.
    makes_model_rules : bool, default=False
        Whether the model is rules with linear models.
    makes_forest : bool, default=False
        Whether the model is a forest.
    may_boost : bool, default=False
        Whether the model is a tree, or several that are saved as a forest is.
    is_additive : bool, default=False
        Whether the model is an additive model.
    has_models : bool, default=False
        Whether the model is a tree with linear models.
    other_word : str, default=""
        Its word on the command line, if that is not the algorithm.
    """

    name: str
    module: str
    algorithm: str
    task: str
    on_command_line: bool = True
    makes_rules: bool = False
    makes_model_rules: bool = False
    makes_forest: bool = False
    may_boost: bool = False
    is_additive: bool = False
    has_models: bool = False
    other_word: str = ""

    @property
    def word(self) -> str:
        """Its word on the command line."""
        return self.other_word or self.algorithm

    def load(self) -> type[Any]:
        """Return the class."""
        found: type[Any] = getattr(import_module(f"fasttree.estimators.{self.module}"), self.name)
        return found


ESTIMATORS = (
    Entry("ID3Classifier", "id3", "id3", "classification"),
    Entry("C45Classifier", "c45", "c45", "classification"),
    Entry("C45Rules", "c45_rules", "c45rules", "classification", makes_rules=True),
    Entry("C50Classifier", "c50", "c50", "classification", may_boost=True),
    Entry("CARTClassifier", "cart", "cart", "classification"),
    Entry("CARTRegressor", "cart", "cart", "regression"),
    Entry("CubistRegressor", "cubist", "cubist", "regression", makes_model_rules=True),
    Entry("CHAIDClassifier", "chaid", "chaid", "classification"),
    Entry("CHAIDRegressor", "chaid", "chaid", "regression"),
    Entry("GAMClassifier", "gam", "gam", "classification", is_additive=True),
    Entry("GAMRegressor", "gam", "gam", "regression", is_additive=True),
    Entry("M5Regressor", "m5", "m5", "regression", has_models=True),
    Entry("OptimalTreeClassifier", "optimal", "optimal", "classification"),
    Entry("OptimalTreeRegressor", "optimal", "optimal", "regression"),
    Entry("TreeClassifier", "by_recipe", BY_RECIPE, "classification", on_command_line=False),
    Entry("TreeRegressor", "by_recipe", BY_RECIPE, "regression", on_command_line=False),
    Entry("RandomForestClassifier", "forest", "random_forest", "classification", makes_forest=True, other_word="forest"),
    Entry("RandomForestRegressor", "forest", "random_forest", "regression", makes_forest=True, other_word="forest"),
    Entry("ExtraTreesClassifier", "extra_trees", "extra_trees", "classification", makes_forest=True, other_word="extra-trees"),
    Entry("ExtraTreesRegressor", "extra_trees", "extra_trees", "regression", makes_forest=True, other_word="extra-trees"),
)
