"""The fit of a tree to a `Dataset`, from which it is grown without loading the table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fasttree._data import errors
from fasttree._data.checks import is_collection
from fasttree._data.weights import check_total, weigh_classes
from fasttree._learn.constraints import FREE
from fasttree._learn.prune.basis import Basis
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Costs
from fasttree._model.tree import Tree

if TYPE_CHECKING:
    from fasttree._scale.dataset import Dataset


def is_dataset(X: Any) -> bool:
    """Whether `X` is a Dataset, whose module is not imported here: without it there is none."""
    module = sys.modules.get("fasttree._scale.dataset")
    return module is not None and isinstance(X, module.Dataset)


def fit_collections(estimator: Any, X: Any, y: Any, sample_weight: Any, fit: Callable[[Any, Dataset, Recipe], None]) -> None:
    """Fit to Dask collections by the fit to a Dataset, which holds their rows meanwhile."""
    from fasttree._scale.dataset import Dataset

    recipe = check_fit(estimator, None, None, "a Dask collection")
    if y is None:
        raise errors.no_target()
    if not is_collection(X):
        raise TypeError(f"y is a Dask collection and X a {type(X).__name__}: give a Dask collection of the same rows")
    data = Dataset.from_dask(
        X,
        y,
        sample_weight,
        categorical_features=estimator.categorical_features,
        ordinal_features=estimator.ordinal_features,
    )
    with data:
        fit(estimator, data, recipe)


def check_in_memory(estimator: Any, X: Any, y: Any) -> None:
    """Raise a ValueError if the table of an estimator that needs its rows in memory is a Dataset or a Dask collection."""
    if is_dataset(X):
        raise _needs_memory(estimator, "a Dataset")
    if is_collection(X) or is_collection(y):
        raise _needs_memory(estimator, "a Dask collection")


def _needs_memory(estimator: Any, what: str) -> ValueError:
    name = type(estimator).__name__
    return ValueError(f"{name} is not fitted to {what}: use CARTClassifier or CARTRegressor, or fit the table in memory")


def check_fit(estimator: Any, y: Any, sample_weight: Any, what: str = "a Dataset") -> Recipe:
    """Return the recipe of a fit to a Dataset, after all that can be checked before the table is read."""
    from fasttree._scale.binned import MOST_BINS
    from fasttree._scale.fitting import refusal

    recipe: Recipe = estimator._checked_recipe()
    is_forest = getattr(estimator, "_reads_bags", False)
    if not (getattr(estimator, "_grows_by_recipe", False) or is_forest):
        raise _needs_memory(estimator, what)
    if reason := refusal(recipe, "recipe='cart'" if is_forest else "CARTClassifier"):
        raise ValueError(reason.replace("a Dataset", what))
    if y is not None or sample_weight is not None:
        raise ValueError("a Dataset has its target and its weights: call fit(data) alone, and name the columns where it is made")
    for parameter in ("categorical_features", "ordinal_features") if what == "a Dataset" else ():
        if getattr(estimator, parameter) is not None:
            raise ValueError(f"{parameter} is for tables in memory: give it where the Dataset is made")
    max_bins = getattr(estimator, "max_bins", None)
    if max_bins is not None and max_bins > MOST_BINS:
        raise ValueError(f"max_bins={max_bins!r}: with a Dataset at most {MOST_BINS}; give fewer, or leave it out")
    for parameter in ("monotonic_cst", "interaction_cst", "max_bins" if is_forest else "max_features"):
        if getattr(estimator, parameter, None) is not None:
            given = getattr(estimator, parameter)
            raise ValueError(f"{parameter}={given!r} is not used with {what}: leave it out, or fit the table in memory")
    if getattr(estimator, "lookahead", 1) != 1:
        raise ValueError(f"lookahead={estimator.lookahead!r} is not used with {what}: leave it out, or fit the table in memory")
    if is_forest and estimator.oob_score is not False:
        raise ValueError(
            f"oob_score={estimator.oob_score!r} is not found with {what}: leave it out, and score rows that are kept apart"
        )
    method = estimator._pruning_method()
    if method is not None and (method.needs_samples or method.needs_folds):
        raise ValueError(
            f"pruning={method!r} needs samples, which {what} does not give: use a method that needs the tree alone, or fit "
            f"without pruning and call prune with samples"
        )
    return recipe


def fit_classes(estimator: Any, data: Dataset, recipe: Recipe) -> None:
    """Fit a classification tree."""
    from fasttree._scale.fitting import Counted, Fit, grow_classes

    _check_missing(estimator, data, recipe)
    counted = Counted(data)
    classes = counted.classes
    if getattr(estimator, "_reads_bags", False):
        estimator._fit_bags(counted, recipe)
        return
    if estimator.class_weight is not None:
        counted.weigh(weigh_classes(estimator.class_weight, classes, counted.counts))
    total = check_total(counted.total)
    factors = estimator._prior_factors(counted.weights, classes, of_fit=True)
    if factors is not None:
        counted.weigh(factors)
    loss = estimator._loss(classes)
    costs = None if loss is None else Costs(loss, float(counted.weights @ loss.sum(axis=1) / counted.weights.sum()))
    limits = estimator._limits(data.n_samples, data.n_features, total)
    tree = grow_classes(Fit(data, recipe, limits, estimator._threads()), counted, costs)
    estimator._keep_classes(classes)
    _keep(estimator, data, recipe, tree)


def fit_numbers(estimator: Any, data: Dataset, recipe: Recipe) -> None:
    """Fit a regression tree."""
    from fasttree._scale.fitting import Fit, WeighedNumbers, grow_numbers

    _check_missing(estimator, data, recipe)
    if getattr(estimator, "_reads_bags", False):
        estimator._fit_bags(data, recipe)
        return
    numbers = WeighedNumbers(data)
    limits = estimator._limits(data.n_samples, data.n_features, check_total(numbers.total))
    _keep(estimator, data, recipe, grow_numbers(Fit(data, recipe, limits, estimator._threads()), numbers))


def _check_missing(estimator: Any, data: Dataset, recipe: Recipe) -> None:
    """Prepare the table; refuse missing values if the recipe does."""
    assert estimator._constraints(data.schema) == FREE
    if recipe.missing == "error" and (cell := data.missing_cell()):
        raise estimator._refuses_missing(*cell)


def _keep(estimator: Any, data: Dataset, recipe: Recipe, tree: Tree) -> None:
    estimator.target_names_ = [data.target.name]
    estimator.__dict__.pop("pruning_table_", None)  # of an earlier fit
    estimator.tree_unpruned_ = tree
    estimator._set_fitted(estimator._pruned(estimator._pruning_method(), tree, Basis()), recipe, data.schema)
