"""`Growing`: the recipe, the limits and the table for a growth, from the parameters of an estimator."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._data.encode import encode_table, missing_cell, missing_cell_of
from fasttree._data.learn import learn_table
from fasttree._data.schema import Feature, Schema
from fasttree._data.table import Table
from fasttree._data.targets import target_columns
from fasttree._data.weights import check_total
from fasttree._learn import conflicts
from fasttree._learn.constraints import Constraints, constraints
from fasttree._learn.limits import Limits
from fasttree._learn.parameters import defaults_of
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Samples, total_weight
from fasttree._model.threads import number_of_threads
from fasttree._model.tree import Tree
from fasttree.estimators.common.exporting import Exports
from fasttree.estimators.common.fitted import FittedModel
from fasttree.estimators.common.growth_parameters import Reading, SurrogateChoices, TreeLimits, count
from fasttree.estimators.common.reading import Views
from fasttree.pruning import PruningMethod

MOST_GROUPED = 1000  # most categories for which groups are searched: the time grows with their third power
_SURROGATE_CHOICES: dict[str, Any] = {choice.name: choice.default for choice in fields(SurrogateChoices)}
_MAX_SURROGATES, _AGREEMENT = _SURROGATE_CHOICES["max_surrogates"], _SURROGATE_CHOICES["surrogate_agreement"]
_MERGE_P_VALUE: float = Limits._field_defaults["merge_p_value"]
BY_COUNT = "more_samples"  # a value of `no_surrogate`
_LEAST_SHARE = 0.75  # of a sample: by default, lighter parts are not divided; see docs/choosing.md for the effects


class Growing(FittedModel, Reading, TreeLimits):
    """Base of all that grows trees: from parameters and a table to recipe, limits and samples."""

    _takes_several: ClassVar[bool] = False  # whether y may have several columns, each a target

    recipe_: Recipe
    max_features_: int
    n_outputs_: int

    _attributes = {
        "recipe_": ("Recipe", "The choices that make the algorithm, as the parameters describe them."),
        "max_features_": ("int", "Number of features that each node drew."),
        "n_outputs_": ("int", "Number of targets."),
    }

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _pruning_method(self) -> PruningMethod | None:
        """Return the method of pruning that the parameters ask for, checked."""
        return None

    def _grow(self, training: Any) -> None:
        """Grow and keep what the samples of a `Training` give."""
        raise NotImplementedError

    def _raises_branches(self) -> bool:
        """Whether error-based pruning after growth may move a branch up."""
        return False

    def _min_gain(self) -> float:
        # As in scikit-learn: an impure node may be split without a gain, because a later test may gain.
        return -math.inf if self.min_gain is None else float(self.min_gain)

    def _min_ratio(self) -> float:
        return -math.inf

    def _min_branch_weight(self) -> float:
        return 0.0

    def _min_part_weight(self) -> float:
        return float(getattr(self, "min_part_weight", None) or 0.0)

    def _min_part_share(self) -> float:
        return _LEAST_SHARE if getattr(self, "min_part_weight", 0.0) is None else 0.0

    def _checked_recipe(self) -> Recipe:
        """Return the recipe that the parameters describe, after all checks; those of defaults are made once."""
        estimator: type = type(self)
        return _recipe_of_defaults(estimator) if self._has_defaults() else self._recipe_after_checks()

    def _recipe_after_checks(self) -> Recipe:
        self._check_parameters()
        self._pruning_method()
        recipe = self._recipe()
        for name, default in _SURROGATE_CHOICES.items() if recipe.missing != "surrogate" else ():
            given = getattr(self, name, default)
            if given != default:
                raise ValueError(
                    f"{name}={given!r} is for surrogates, and missing={recipe.missing!r} has none: "
                    f"use missing='surrogate', or {name}={default!r}"
                )
        least_part = getattr(self, "min_part_weight", None)
        if least_part and recipe.missing != "fractional":
            raise ValueError(
                f"min_part_weight={least_part!r} is for parts of samples, and missing={recipe.missing!r} divides no samples: "
                f"use missing='fractional', or leave it out"
            )
        conflicts.check_recipe(recipe, 2 if isinstance(self, ClassifierMixin) else 0)  # before a large table is read
        return recipe

    def _constraints(self, schema: Schema) -> Constraints:
        return constraints(getattr(self, "monotonic_cst", None), getattr(self, "interaction_cst", None), schema)

    def _several_targets(self, y: Any) -> list[Any] | None:
        """Return the columns of y if there are several targets, else None; an error if the algorithm takes one."""
        columns = target_columns(y)
        if columns is not None and not self._takes_several:
            other = "CARTClassifier" if isinstance(self, ClassifierMixin) else "CARTRegressor"
            raise ValueError(
                f"y has {len(columns)} columns: {type(self).__name__} takes 1 target; fit it to each, or use {other}"
            )
        return columns

    def _check_no_split_test(self) -> None:
        """Check that several targets are not tested for independence, which is for one."""
        if getattr(self, "split_p_value", None) is not None:
            raise ValueError(f"split_p_value={self.split_p_value!r} and several targets exclude each other: use min_gain")

    def _threads(self) -> int:
        return number_of_threads(getattr(self, "n_jobs", None))

    def _learn_table(self, X: Any, recipe: Recipe) -> Table:
        table = learn_table(
            X,
            categorical_features=self.categorical_features,
            ordinal_features=self.ordinal_features,
            integers="nominal" if recipe.continuous == "error" else "continuous",
        )
        if recipe.continuous == "error":
            for feature in table.schema.features:
                if feature.categories is None:
                    raise self._refuses_continuous(feature)
        if "groups" in (recipe.nominal, recipe.ordinal):
            for feature in table.schema.features:
                if feature.categories is not None and len(feature.categories) > MOST_GROUPED:
                    raise self._refuses_many_categories(feature, len(feature.categories))
        if recipe.missing == "error" and (cell := missing_cell(table)):
            raise self._refuses_missing(*cell)
        return table

    def _refuses_continuous(self, feature: Feature) -> ValueError:
        return ValueError(
            f"column {feature.name!r} is continuous, which {type(self).__name__} cannot split: use C45Classifier or "
            f"CARTClassifier, or name it in categorical_features or ordinal_features if its values are categories"
        )

    def _refuses_many_categories(self, feature: Feature, n_categories: int) -> ValueError:
        return ValueError(
            f"column {feature.name!r} has {n_categories} categories: a recipe with 'groups' groups at most {MOST_GROUPED}; use "
            f"another form of split, such as 'declared'"
        )

    def _refuses_missing(self, feature: Feature, row: int) -> ValueError:
        if "missing" in self._parameter_rules():
            what, remedy = "missing='error'", "use missing='direction'"
        else:
            what, remedy = type(self).__name__, "use C45Classifier or CARTClassifier"
        return ValueError(
            f"column {feature.name!r} has missing values (NaN or None; first: row {row}), which {what} refuses: "
            f"{remedy}, or fill them in"
        )

    def _count_features(self, n_features: int) -> int:
        """Return the number of features that a node draws."""
        asked = self.max_features
        if asked is None:
            return n_features
        if isinstance(asked, str):
            return max(1, int(math.sqrt(n_features) if asked == "sqrt" else math.log2(n_features)))
        if is_integer(asked):
            if asked > n_features:
                raise ValueError(f"max_features={asked}: must not exceed the number of features, {n_features}")
            return int(asked)
        return max(1, int(asked * n_features))

    def _checked_samples(self, samples: Samples) -> Samples:
        """Return the samples, with a checked sum of weights; the targets of samples of weight 0 have no effect."""
        check_total(total_weight(samples))
        if samples.impurity == "poisson" and samples.weight is not None:
            target = samples.target.copy()
            target[samples.weight == 0] = 0.0  # the largest target bounds Poisson deviances; see `losses.LEAST_ANSWER`
            samples = samples._replace(target=target)
        return samples

    def _limits(self, n_samples: int, n_features: int, total: float) -> Limits:
        max_features = self._count_features(n_features)
        draws = max_features < n_features
        return Limits(
            max_depth=None if self.max_depth is None else int(self.max_depth),
            max_leaf_nodes=None if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            min_samples_split=max(2, count(self.min_samples_split, n_samples)),
            min_samples_leaf=count(self.min_samples_leaf, n_samples),
            min_weight_leaf=float(self.min_weight_fraction_leaf) * total,
            min_impurity_decrease=float(self.min_impurity_decrease),
            min_impurity=float(self.min_impurity),
            min_gain=self._min_gain(),
            min_ratio=self._min_ratio(),
            split_p_value=getattr(self, "split_p_value", None),  # regressors have none
            min_branch_weight=self._min_branch_weight(),
            min_part_weight=self._min_part_weight(),
            min_part_share=self._min_part_share(),
            max_surrogates=getattr(self, "max_surrogates", _MAX_SURROGATES),
            surrogate_agreement=getattr(self, "surrogate_agreement", _AGREEMENT),
            no_surrogate=self._without_surrogate(),
            merge_p_value=float(getattr(self, "merge_p_value", _MERGE_P_VALUE)),
            max_intervals=getattr(self, "max_intervals", None),
            max_bins=None if self.max_bins is None else int(self.max_bins),
            max_features=max_features if draws else None,
            seed=self._seed() if draws else 0,
            lookahead=int(getattr(self, "lookahead", 1)),
        )

    def _seed(self) -> int:
        """Return a seed for the draws of a growth."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _without_surrogate(self) -> str:
        """Return where growth sends samples of which no surrogate has a value."""
        asked: str = getattr(self, "no_surrogate", "majority")
        if asked == BY_COUNT:  # is for prediction; rpart finds no majority if it searches no surrogates
            return "majority" if self.max_surrogates else "stop"
        return asked

    def _encode_table(self, X: Any) -> Table:
        """Encode a table as in the fit."""
        table = self._encoded(X)
        self._check_missing(X, table)
        return table

    def _encoded(self, X: Any, *, checked: bool = True) -> Table:
        """Encode a table whose missing values, and (not `checked`) infinite ones of a matrix, the caller looks for."""
        if "schema_" not in self.__dict__:
            check_is_fitted(self)
        return encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__, checked=checked)

    def _check_missing(self, X: Any, table: Table) -> None:
        """Check that no value is missing in X, of which `table` was encoded, if the recipe refuses that."""
        if self.recipe_.missing == "error" and (cell := missing_cell_of(X, table)):
            raise self._refuses_missing(*cell)

    def _lazily(self, method: str, X: Any) -> NDArray[Any]:
        """Return the predictions of a method for a Dask collection, which is lazy where its type says it is an array."""
        from fasttree._scale.remote.lazily import predict_lazily

        check_is_fitted(self)
        found: NDArray[Any] = predict_lazily(self, method, X)
        return found

    def _encode_target(self, y: Any) -> NDArray[Any]:
        """Encode targets as in the fit."""
        raise NotImplementedError

    def _weigh(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the weights of samples times those of their classes; a fit gives `classes`, which the model has only later."""
        return weight

    def _class_factor(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        """Return the factor of the weights of each class by its priors, or None."""
        return None


@lru_cache(maxsize=64)
def _recipe_of_defaults(estimator: type) -> Recipe:
    """Return the recipe that the defaults of an estimator's parameters describe."""
    model: Growing = object.__new__(estimator)
    model.__dict__.update(defaults_of(estimator))
    return model._recipe_after_checks()


class GrowingTree(Views, Exports, Growing):
    """Base of trees: growth, and the fitted tree."""

    tree_: Tree

    def _set_fitted(self, tree: Tree, recipe: Recipe, schema: Schema) -> None:
        self.tree_ = tree
        self.n_outputs_ = tree.n_outputs
        self.recipe_ = recipe
        self._keep_schema(schema)
        self.max_features_ = self._count_features(self.n_features_in_)
