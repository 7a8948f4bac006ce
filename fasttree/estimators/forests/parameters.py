"""Groups of parameters of forests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fasttree._data.checks import is_amount, is_fraction, is_integer
from fasttree._learn.parameters import AMOUNT, COUNT, FLAG, ParameterRule, parameter, parameters
from fasttree._learn.recipe import RECIPES, Recipe
from fasttree.estimators.by_recipe import recipe_rule
from fasttree.estimators.common.growth_parameters import BALANCED, ClassChoices


def _recipe_or_none(words: Sequence[str]) -> ParameterRule:
    rule = recipe_rule(words)
    words_or_none = f"{rule.type.replace(' or', ',')} or None"
    return ParameterRule(lambda value: value is None or rule.is_allowed(value), f"{rule.allowed}, or None", words_or_none)


RECIPE_OF_CLASSES = _recipe_or_none(list(RECIPES))
RECIPE_OF_NUMBERS = _recipe_or_none(["cart"])

BOOTSTRAP = ParameterRule(
    lambda value: isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "balanced"),
    "True, False or 'balanced'",
    'bool or "balanced"',
)
CLASS_WEIGHT = ParameterRule(
    lambda value: (
        value is None
        or isinstance(value, Mapping)
        or (isinstance(value, str) and value in ("balanced", "balanced_subsample"))
        or (isinstance(value, list | tuple) and all(isinstance(entry, Mapping) for entry in value))
    ),
    "a dict {class: weight} (several targets: a list of such dicts), 'balanced', 'balanced_subsample' or None",
    'dict, list of dict, "balanced", "balanced_subsample" or None',
)


@parameters
class ForestChoices:
    """Number of trees, their bags, and the estimates from samples out of the bags."""

    n_estimators: int = parameter(100, COUNT, "Number of trees.")
    recipe: str | Recipe | Mapping[str, Any] | None = parameter(
        None,
        RECIPE_OF_NUMBERS,
        """The algorithm of the trees: see `Recipe`.  A dict has some of its fields; the others are those of CART.  None: CART
        with `criterion`, `nominal`, `missing` and `midpoint`, which must have their defaults if there is a recipe.""",
    )
    bootstrap: bool | str = parameter(
        True,
        BOOTSTRAP,
        """Whether a tree draws its samples with replacement.  False: without replacement, or all samples if `max_samples` is
        None.""",
    )
    max_samples: float | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or (is_integer(value) and value >= 1) or is_fraction(value),
            "an integer >= 1, a float in (0, 1] as a share of the samples, or None for as many as there are samples",
            "int, float or None",
        ),
        """Number of samples that a tree draws.  A float is a share of the samples of positive weight.  None: as many as there
        are.""",
    )
    oob_score: bool | Callable[..., Any] = parameter(
        False,
        ParameterRule(
            lambda value: isinstance(value, bool | np.bool_) or (callable(value) and not isinstance(value, type)),
            "True, False or a function of the true and the predicted targets",
            "bool or callable",
        ),
        """Whether to judge the forest by the samples out of the bags: `oob_score_`.  A function takes the true and the predicted
        targets and returns a score.""",
    )
    warm_start: bool = parameter(
        False,
        FLAG,
        """Whether `fit` keeps the trees of the fit before and grows those that lack to `n_estimators`, on the same samples.
        The bags and `loss_matrix` cannot change.  A fit that is interrupted then keeps the trees grown so far.""",
    )
    ccp_alpha: float = parameter(
        0.0,
        ParameterRule(is_amount, AMOUNT.allowed, "float"),
        "Cost of a leaf by which every tree is pruned (minimal cost-complexity pruning), in impurity per unit weight.",
    )

    _descriptions = {
        "verbose": """Whether `fit` shows how many trees are grown: a bar on a terminal or in a notebook, and nothing in a pipe,
        as `fasttree.progress` draws it.  All integers above 0 have the same effect.""",
    }


@parameters
class ForestClassChoices(ClassChoices):
    """Choices of forests for classes."""

    class_weight: Mapping[Any, float] | Sequence[Mapping[Any, float]] | str | None = parameter(
        None,
        CLASS_WEIGHT,
        """Factors of the sample weights by class.  "balanced_subsample" gives all classes in a bag the same weight.  Several
        targets take a list with a dict for each."""
        + BALANCED,
    )
