"""`TreeClassifier` and `TreeRegressor`: trees by any recipe, a free combination of the choices that make the named algorithms."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Self

from fasttree._data.checks import is_integer
from fasttree._data.schema import Feature
from fasttree._learn.parameters import ParameterRule, parameter, parameters, probability_such_as
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, RECIPES, Recipe
from fasttree.estimators.common.base import BaseTree
from fasttree.estimators.common.earlier import in_todays_words
from fasttree.estimators.common.growth_parameters import (
    ConstraintChoices,
    CostChoices,
    LeastGain,
    LookaheadChoice,
    SurrogateChoices,
    WeightLimits,
)
from fasttree.estimators.common.registry import BY_RECIPE
from fasttree.estimators.common.tasks import ATTRIBUTES_BY_TARGET, BaseClassifier, BaseRegressor

__all__ = ["TreeClassifier", "TreeRegressor"]

_FIELDS = tuple(field.name for field in fields(Recipe))
_NEW_FIELDS = {"midpoint"}  # which files of earlier versions do not have


def recipe_rule(words: Sequence[str]) -> ParameterRule:
    def is_allowed(value: Any) -> bool:
        return isinstance(value, Recipe | Mapping) or (isinstance(value, str) and value in words)

    listed = ", ".join(map(repr, words))
    quoted = ", ".join(f'"{word}"' for word in words)
    return ParameterRule(
        is_allowed, f"one of {listed}, a fasttree.Recipe, or a dict of some of its fields", f"{{{quoted}}}, Recipe or dict"
    )


def recipe_of(given: str | Recipe | Mapping[str, Any], default: Recipe) -> Recipe:
    """Return the recipe that a parameter describes; `default` is CART for the task."""
    if isinstance(given, Recipe):
        return given
    if isinstance(given, str):
        return default if given == "cart" else RECIPES[given]
    strangers = [name for name in given if name not in _FIELDS]
    if strangers:
        raise ValueError(f"recipe={given!r}: a recipe has no {strangers[0]!r}; its fields are {', '.join(_FIELDS)}")
    return replace(default, **{"name": "custom", **given})


def least_gain(recipe: Recipe) -> float:
    """Return the gain that a split needs by default."""
    # A feature with a branch per category is used up, so its split must gain; rounding alone can leave some 1e-16.
    uses_up = not recipe.release8 and not {recipe.nominal, recipe.ordinal}.isdisjoint({"declared", "present"})
    return 1e-12 if uses_up else -math.inf


@parameters
class _RecipeChoice:
    """The first parameter of the constructor; each task allows its own words."""

    recipe: str | Recipe | Mapping[str, Any] = parameter(
        "cart",
        recipe_rule(["cart"]),
        "The algorithm: see `Recipe`.  A dict has some of its fields; the others are those of CART.",
    )


class _ByRecipe(BaseTree):
    """What a recipe decides; the named algorithms decide the same by themselves."""

    recipe: str | Recipe | Mapping[str, Any]
    _default: ClassVar[Recipe]
    _takes_several = True  # `check_recipe` raises an error for the recipes that cannot

    def _recipe(self) -> Recipe:
        return recipe_of(self.recipe, self._default)

    def _raises_branches(self) -> bool:
        """Whether branches are raised, as in C4.5: only divided samples can judge a branch in another's place."""
        recipe = self._recipe()
        return recipe.missing == "fractional" and (recipe.release8 or recipe.rank != "gain")

    def _min_gain(self) -> float:
        if self.min_gain is not None:
            return float(self.min_gain)
        return least_gain(self._recipe())

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _refuses_continuous(self, feature: Feature) -> ValueError:
        return ValueError(
            f"column {feature.name!r} is continuous, which a recipe with continuous='error' cannot split: use "
            f"continuous='threshold', or name it in categorical_features or ordinal_features if its values are categories"
        )

    def _refuses_missing(self, feature: Feature, row: int) -> ValueError:
        return ValueError(
            f"column {feature.name!r} has missing values (NaN or None; first: row {row}), which a recipe with missing='error' "
            f"refuses: use missing='direction' or 'fractional', or fill them in"
        )

    def _algorithm(self) -> str:
        return BY_RECIPE

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if isinstance(self.recipe, Recipe):
            settings["recipe"] = asdict(self.recipe)
        return settings

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        settings = in_todays_words(settings, cls._get_param_names())
        recipe = settings.get("recipe", "cart")
        if isinstance(recipe, dict) and set(_FIELDS) - _NEW_FIELDS <= recipe.keys() <= set(_FIELDS):
            recipe = Recipe(**recipe)
        return super()._from_settings({**settings, "recipe": recipe})


@parameters
class TreeClassifier(
    _ByRecipe,
    BaseClassifier,
    CostChoices,
    ConstraintChoices,
    LeastGain,
    LookaheadChoice,
    SurrogateChoices,
    WeightLimits,
    _RecipeChoice,
):
    """Classification tree by any recipe: a free choice of impurity, ranking and forms of splits, and missing values.

    The recipes of ID3, C4.5 and CART have names; any other one is a `Recipe`, or a dict of what differs from CART.  With the
    recipe of an algorithm, the tree is that of its estimator without pruning, node for node.

    Examples
    --------
    Gini impurity, but a branch per category, and samples divided if a value is missing:

    >>> from fasttree import Recipe, TreeClassifier
    >>> recipe = Recipe("wide cart", impurity="gini", nominal="present", missing="fractional")
    >>> rows = [["red", 3.0], ["red", 1.0], ["green", 2.0], ["blue", 2.0], [None, 2.0]]
    >>> model = TreeClassifier(recipe=recipe).fit(rows, ["a", "a", "b", "c", "c"])
    >>> print(model.export_text(ascii=True), end="")
    |-- x0 = blue: c (1.25)
    |-- x0 = green: b (1 of 1.25)
    `-- x0 = red
        |-- x1 <= 1.5: a (1)
        `-- x1 > 1.5
            |-- x1 <= 2.5: c (0.5)
            `-- x1 > 2.5: a (1)
    """

    recipe: str | Recipe | Mapping[str, Any] = parameter("cart", recipe_rule(list(RECIPES)))
    merge_p_value: float = parameter(
        0.1,
        probability_such_as(0.1),
        """With intervals: two neighbouring ones merge if the p-value of their chi-square test exceeds this: the probability of
        such a statistic if the classes do not depend on which of the two a sample is in (Kerber 1992).""",
    )
    max_intervals: int | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_integer(value) and value >= 2),
            "an integer >= 2, or None for no limit",
            "int or None",
        ),
        "With intervals: largest number of them at a node.",
    )

    _attributes = ATTRIBUTES_BY_TARGET
    _default = CART_CLASSIFICATION


@parameters
class TreeRegressor(
    _ByRecipe, BaseRegressor, ConstraintChoices, LeastGain, LookaheadChoice, SurrogateChoices, WeightLimits, _RecipeChoice
):
    """Regression tree by any recipe: a free choice of impurity, forms of splits and missing values.

    Examples
    --------
    One category against the rest:

    >>> from fasttree import TreeRegressor
    >>> rows, values = [["red"], ["red"], ["green"], ["blue"]], [1.0, 1.0, 2.0, 4.0]
    >>> model = TreeRegressor(recipe={"nominal": "one_vs_rest"}).fit(rows, values)
    >>> print(model.export_text(ascii=True), end="")
    |-- x0 = blue: 4 (1)
    `-- x0 in {green, red}
        |-- x0 = green: 2 (1)
        `-- x0 = red: 1 (2)
    """

    _default = CART_REGRESSION
