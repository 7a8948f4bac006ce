"""Trees by any recipe: the choices that make the named algorithms, free to be put together anew."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any, ClassVar, Self

from ._base import BaseClassifier, BaseRegressor, BaseTree
from ._parameters import (
    ConstraintChoices,
    CostChoices,
    LeastGain,
    Rule,
    SurrogateChoices,
    WeightLimits,
    is_integer,
    parameter,
    parameters,
    probability_such_as,
)
from ._recipe import C45, C45_TEXTBOOK, CART_CLASSIFICATION, CART_REGRESSION, ID3, Recipe
from ._table import Feature

__all__ = ["RECIPES", "TreeClassifier", "TreeRegressor"]

RECIPES: Mapping[str, Recipe] = {"cart": CART_CLASSIFICATION, "id3": ID3, "c45": C45, "c45_textbook": C45_TEXTBOOK}
BY_RECIPE = "recipe"  # what files call the algorithm
_FIELDS = tuple(field.name for field in fields(Recipe))


def _recipe_rule(words: Sequence[str]) -> Rule:
    def is_allowed(value: Any) -> bool:
        return isinstance(value, Recipe | Mapping) or (isinstance(value, str) and value in words)

    listed = ", ".join(map(repr, words))
    return is_allowed, f"one of {listed}, a fasttree.Recipe, or a dict of some of its fields"


@parameters
class _RecipeChoice:
    """Stands first in the constructor; the words that it may be are for the task to say."""

    recipe: str | Recipe | Mapping[str, Any] = parameter("cart")


class _ByRecipe(BaseTree):
    """What follows from a recipe where the named algorithms just know it."""

    recipe: str | Recipe | Mapping[str, Any]
    _default: ClassVar[Recipe]
    _takes_several = True  # what recipes cannot is told by `check_recipe`

    def _recipe(self) -> Recipe:
        if isinstance(self.recipe, Recipe):
            return self.recipe
        if isinstance(self.recipe, str):
            return self._default if self.recipe == "cart" else RECIPES[self.recipe]
        strangers = [name for name in self.recipe if name not in _FIELDS]
        if strangers:
            raise ValueError(f"recipe={self.recipe!r}: a recipe has no {strangers[0]!r}; its fields are {', '.join(_FIELDS)}")
        return replace(self._default, **{"name": "custom", **self.recipe})

    def _raises_branches(self) -> bool:
        """As C4.5 does; where a sample cannot be shared out, branches cannot be judged one in another's place."""
        recipe = self._recipe()
        return recipe.missing == "fractional" and (recipe.release8 or recipe.rank != "gain")

    def _min_gain(self) -> float:
        if self.min_gain is not None:
            return float(self.min_gain)
        recipe = self._recipe()
        # A feature with a branch per category is used up, so that a split must gain; rounding alone can leave some 1e-16.
        uses_up = not recipe.release8 and not {recipe.nominal, recipe.ordinal}.isdisjoint({"category", "present"})
        return 1e-12 if uses_up else -math.inf

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _min_part_weight(self) -> float:
        return float(self.min_part_weight)

    def _refuses_continuous(self, feature: Feature) -> ValueError:
        return ValueError(
            f"column {feature.name!r} is continuous, which a recipe with continuous='refuse' cannot split: use "
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
        recipe = settings.get("recipe", "cart")
        if isinstance(recipe, dict) and recipe.keys() == set(_FIELDS):
            recipe = Recipe(**recipe)
        return super()._from_settings({**settings, "recipe": recipe})


@parameters
class TreeClassifier(
    _ByRecipe, BaseClassifier, CostChoices, ConstraintChoices, LeastGain, SurrogateChoices, WeightLimits, _RecipeChoice
):
    """Classification tree by any recipe: impurity, competition, forms of splits and missing values are free to choose.

    The recipes of ID3, C4.5 and CART are there by name; another one is a `Recipe`, or a dict of what differs from CART.  Where
    the recipe is that of an algorithm, the tree is that of its estimator without pruning, node for node.

    Parameters
    ----------
    recipe : {"cart", "id3", "c45", "c45_textbook"}, Recipe or dict, default="cart"
        What the algorithm is: see `Recipe`.  A dict has some of its fields, the others are those of CART.
    min_samples_branch : float, default=2
        A split needs at least two branches of this weight, where the recipe is `release8`.
    min_part_weight : float, default=0.0
        Part of a sample with a missing value below which it is not divided any more but follows the heaviest branch, in
        training, in the unit of the sample weights; where the recipe divides samples.
    max_surrogates : int, default=5
        With `missing="surrogate"`: how many of them a node keeps, the most agreeing first; 0: none.
    surrogate_agreement : {"all", "known"}, default="all"
        What part of the weight a surrogate sends the test's way: of all samples that know the test's value, or of those that know
        the surrogate's too.
    no_surrogate : {"majority", "stop"}, default="majority"
        A sample on which no surrogate decides goes to the side of more known weight (and stays in the node where both weigh the
        same), or stays in the node: it counts in neither branch, and at prediction gets the node's own answer.
    pruning : str or None, default=None
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); with raising of
        branches where the recipe shares samples out and is `release8` or goes by gain ratio.
        "minimum_error": of least expected error with a prior (Niblett and Bratko 1986, Cestnik and Bratko 1991).
        "critical_value" and "chi_square": tests of too little gain (Mingers 1987), or on which the classes do not depend
        significantly (Quinlan 1986), go unless one below them stays.  None: as grown.
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in impurity per unit weight, as in scikit-learn; above 0 it asks for that
        pruning.  "cv" chooses it by cross-validation, "validation" on samples held out.
    pruning_risk : {"impurity", "error"}, default="impurity"
        Cost-complexity: what a leaf costs besides: its impurity, or its share of wrong classes (Breiman et al. 1984, rpart).
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones, of all classes alike.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the share of errors may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in `alpha_unit`.
    alpha_unit : {"bits", "nats"}, default="bits"
        Of the entropy in C_alpha, and of `alpha`.
    confidence : float, default=0.25
        Error-based: level, in (0, 1), of the upper limit that is the predicted error of a leaf; smaller values prune more.
    m : float or "laplace", default=2.0
        Minimum-error: weight of the prior, the classes of all samples; or one sample of each class.
    critical_value : float or None, default=None
        Critical-value: least gain; None: chosen on samples held out.
    max_p_value : float, default=0.05
        Chi-square: largest probability, under independence, of a statistic as large as a test's.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in every non-empty branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of every non-empty branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    min_gain : float or None, default=None
        A node is split only by a gain per unit weight larger than this, in the unit of the impurity.  None: any at all where
        categories get a branch each, unless the recipe is `release8`; else every split will do.
    max_split_p_value : float or None, default=None
        A node is split only if the probability, under independence, of classes that depend so much on its branches is at most
        this, by Pearson's chi-square test (Quinlan 1986).  None: no test.
    merge_p_value : float, default=0.1
        With intervals: neighbouring ones merge unless, were the classes independent of which of the two a sample is in, a
        chi-square as large as theirs had at most this probability (Kerber 1992).
    max_intervals : int or None, default=None
        With intervals: most of them at a node.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Per feature, or `{name or index: ...}` for some: 1, the prediction does not fall as the feature rises, all others being
        equal; -1, it does not rise; 0, free.  The prediction is the
        probability of the second of two classes; of more, the mean class index in the order of `classes_`.  For continuous and
        ordinal features and one target; missing values have no place in the order, and go with `missing="direction"` or "error"
        alone.
    interaction_cst : list of lists of str or of int, "pairwise", "no_interactions" or None, default=None
        Groups of features, by name or index: a node tests only features that share a group with all features tested above it.
        Features in no group make up one more group.  "pairwise": at most two features on a path; "no_interactions": one.
    priors : dict, array-like of shape (n_classes,) or None, default=None
        Share of each class where the tree will be used, `{class: share}` or in the order of `classes_`: positive, and 1 in all
        (Breiman et al. 1984, section 4.4).  Growth, probabilities, pruning and its folds count the samples of a class such that
        they make up its share.  None: as the classes occur.
    loss_matrix : dict, array-like of shape (n_classes, n_classes) or None, default=None
        What a wrong answer costs: `{true class: {predicted class: cost}}`, costs that are not named being 1; or an array with a
        row per true class.  Finite, not negative, 0 on the diagonal, not 0 in all of a row.  A node answers the class of least
        expected cost; ``pruning_risk="error"``, reduced-error pruning, "cv" and "validation" go by costs; and splits are chosen
        as if the share of a class were its prior times the sum of its row ("altered priors", Breiman et al. 1984, section 4.4).
        None: 1 each.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.  Columns of integers are, where the recipe refuses continuous ones.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`, of folds and of samples held out.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and `xstd` (in units of the root's
        error), an entry per subtree, and the index of the `chosen` one.
    recipe_ : Recipe
        The recipe in full.
    classes_ : ndarray of shape (n_classes,)
        The classes; of several targets a list of such.
    n_classes_ : int or list of int
        Number of classes; of several targets one for each.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets.
    target_names_ : list of str
        Names of the targets: of the columns of y; y, or y0, y1, ... where they have none.

    Examples
    --------
    Gini impurity, but a branch per category, and samples shared out where a value is missing:

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

    recipe: str | Recipe | Mapping[str, Any] = parameter("cart", _recipe_rule(list(RECIPES)))
    merge_p_value: float = parameter(0.1, probability_such_as(0.1))
    max_intervals: int | None = parameter(
        None, (lambda value: value is None or (is_integer(value) and value >= 2), "an integer >= 2, or None for no limit")
    )

    _default = CART_CLASSIFICATION


@parameters
class TreeRegressor(_ByRecipe, BaseRegressor, ConstraintChoices, LeastGain, SurrogateChoices, WeightLimits, _RecipeChoice):
    """Regression tree by any recipe: forms of splits and missing values are free to choose.

    Parameters
    ----------
    recipe : {"cart"}, Recipe or dict, default="cart"
        What the algorithm is: see `Recipe`.  A dict has some of its fields, the others are those of CART.
    min_samples_branch : float, default=2
        A split needs at least two branches of this weight, where the recipe is `release8`.
    min_part_weight : float, default=0.0
        Part of a sample with a missing value below which it is not divided any more but follows the heaviest branch, in
        training, in the unit of the sample weights; where the recipe divides samples.
    max_surrogates : int, default=5
        With `missing="surrogate"`: how many of them a node keeps, the most agreeing first; 0: none.
    surrogate_agreement : {"all", "known"}, default="all"
        What part of the weight a surrogate sends the test's way: of all samples that know the test's value, or of those that know
        the surrogate's too.
    no_surrogate : {"majority", "stop"}, default="majority"
        A sample on which no surrogate decides goes to the side of more known weight (and stays in the node where both weigh the
        same), or stays in the node: it counts in neither branch, and at prediction gets the node's own answer.
    pruning : {"cost_complexity", "c_alpha", "reduced_error"} or None, default=None
        "cost_complexity": the subtree of least `risk plus ccp_alpha times its leaves` (Breiman et al. 1984, chapter 3).
        "c_alpha": of least `weight x impurity, summed over leaves, plus alpha times their number` (Li Hang 2012, section 5.4).
        "reduced_error": of least error on samples held out from the growth (Quinlan 1987).  None: as grown.  Samples that judge,
        here and below, do so by the recipe's impurity, around the answers of the tree: squared errors, absolute errors, or half
        the Poisson deviance (where an answer of 0 counts as 1e-10 of the largest target).
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in impurity per unit weight, as in scikit-learn; above 0 it asks for
        that pruning.  "cv" chooses it by cross-validation, "validation" on samples held out.
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the error per unit weight may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in weight times impurity.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in every branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of every branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    min_gain : float or None, default=None
        A node is split only by a gain per unit weight larger than this, in the unit of the impurity.  None: any at all where
        categories get a branch each, else every split will do.
    max_bins : int or None, default=None
        A continuous feature of more values than this, 2 to 65,535, is cut only between so many bins of nearly equal numbers of
        samples; a value that many samples have is a bin of its own.  None: between any two values.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        Per feature, or `{name or index: ...}` for some: 1, the prediction does not fall as the feature rises, all others being
        equal; -1, it does not rise; 0, free.  The prediction is the mean of the leaf.  For continuous and
        ordinal features, one target and means, not medians; missing values have no place in the order, and go with
        `missing="direction"` or "error" alone.
    interaction_cst : list of lists of str or of int, "pairwise", "no_interactions" or None, default=None
        Groups of features, by name or index: a node tests only features that share a group with all features tested above it.
        Features in no group make up one more group.  "pairwise": at most two features on a path; "no_interactions": one.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.  Columns of integers are, where the recipe refuses continuous ones.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`, of folds and of samples held out.
    n_jobs : int or None, default=None
        Threads for a table of more than 32,768 samples, as far as its recipe can be searched by bounds; -1: as many as cores.
        The tree does not depend on it.

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas`, `n_leaves`, `xerror` and `xstd` (in units of the root's error), an entry per
        subtree, and the index of the `chosen` one.
    recipe_ : Recipe
        The recipe in full.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets.
    target_names_ : list of str
        Names of the targets: of the columns of y; y, or y0, y1, ... where they have none.

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

    recipe: str | Recipe | Mapping[str, Any] = parameter("cart", _recipe_rule(["cart"]))

    _default = CART_REGRESSION
