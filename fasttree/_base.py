"""What all tree estimators share: growth and pruning of a tree as the parameters say, predictions, reading, files.

Everything that makes one estimator differ from another is its recipe and what its parameters may say; see `estimators`.
Nothing here looks for a split or walks a tree, and nothing here knows pandas, polars or Arrow.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Protocol, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from . import __version__, _competing, _document, _grow, _prune, _sequence, _soften
from ._constraints import Constraints, constraints
from ._exports.methods import Exports
from ._parameters import (
    ANYTHING,
    COUNTS_ERRORS,
    PRUNINGS,
    REGRESSION_PRUNINGS,
    ClassChoices,
    Pruning,
    Reading,
    RegressionPruning,
    Rule,
    SurrogateChoices,
    TreeLimits,
    count,
    defaults_of,
    is_integer,
    is_number,
    on_a_line,
    rules_of,
)
from ._prune import Samples
from ._recipe import Limits, Recipe
from ._table import (
    Feature,
    Schema,
    Table,
    encode_classes,
    encode_table,
    encode_values,
    learn_table,
    missing_cell,
    missing_cell_of,
    target_columns,
    target_names,
)
from ._tree import STOP, Tree
from ._views import Views
from ._weights import (
    check_loss_matrix,
    check_not_negative,
    check_priors,
    check_same_length,
    check_sample_weight,
    check_some_positive,
    factors_by_priors,
    total_by_class,
    weigh_samples,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

_MAX_CLASSES = 2**16  # the engine keeps the class of a sample in 16 bits
_LARGEST = 1e60  # of a target: weights times squares of squares stay finite
MOST_GROUPED = 1000  # categories whose groups are searched: the time grows with their third power
_SURROGATE_CHOICES: dict[str, Any] = {choice.name: choice.default for choice in fields(SurrogateChoices)}
_HEAVIEST = 1e30  # of a sum of weights, which C4.5 counts in single precision


class Grow(Protocol):
    """Grows a tree: on other samples, or on some rows, if told so."""

    def __call__(self, chosen: Samples = ..., rows: NDArray[np.intp] | None = ...) -> Tree: ...


def _total(samples: Samples) -> float:
    return float(samples.table.n_samples if samples.weight is None else samples.weight.sum())


def _costs(samples: Samples, loss: NDArray[np.float64]) -> _grow.Costs:
    weight = total_by_class(samples.target, samples.counts, len(loss))
    return _grow.Costs(loss, float(weight @ loss.sum(axis=1) / weight.sum()))


def _weighted_rows(samples: Samples) -> NDArray[np.intp]:
    return np.arange(samples.table.n_samples) if samples.weight is None else np.flatnonzero(samples.weight)


def _divide(samples: Samples, rows: NDArray[np.intp]) -> tuple[Samples, Samples]:
    """All samples but those of some rows, and those: what is not there weighs nothing."""
    weight = np.ones(samples.table.n_samples) if samples.weight is None else samples.weight
    inside = np.zeros(weight.size)
    inside[rows] = weight[rows]
    return replace(samples, weight=weight - inside), replace(samples, weight=inside)


def _knows_no_errors(method: str | None, settings: Mapping[str, Any]) -> bool:
    """Whether a pruning goes by the impurity of nodes alone."""
    by_impurity = settings.get("pruning_risk", "impurity") == "impurity" and not isinstance(settings.get("ccp_alpha"), str)
    return method is None or (method == "cost_complexity" and by_impurity)


def _needs_samples(method: str | None, settings: Mapping[str, Any]) -> bool:
    """Whether a pruning needs samples that the tree was not grown on."""
    return (
        method == "reduced_error"
        or (method == "cost_complexity" and settings["ccp_alpha"] == "validation")
        or (method == "critical_value" and settings["critical_value"] is None)
    )


class FittedModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What trees and rules share: a look at the parameters, the columns of the fit, files."""

    schema_: Schema
    n_features_in_: int
    target_names_: list[str]

    def _to_document(self) -> dict[str, Any]:
        raise NotImplementedError

    def _parameter_rules(self) -> Mapping[str, Rule]:
        estimator: type = type(self)
        return rules_of(estimator)

    def _check_parameters(self) -> None:
        estimator: type = type(self)
        changed = [name for name, default in defaults_of(estimator) if getattr(self, name) is not default]
        rules = self._parameter_rules() if changed else {}
        for name in changed:
            value = getattr(self, name)
            is_allowed, allowed = rules.get(name, ANYTHING)
            if not is_allowed(value):
                raise ValueError(f"{name}={on_a_line(value)}: must be {allowed}")

    def _keep_schema(self, schema: Schema) -> None:
        self.schema_ = schema
        self.n_features_in_ = len(schema.features)
        if schema.has_names:
            self.feature_names_in_ = np.array([feature.name for feature in schema.features], dtype=object)
        else:  # a fit to a table with names may have gone before
            self.__dict__.pop("feature_names_in_", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # `string` stands for raw text, as of documents
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _settings(self) -> dict[str, Any]:
        """The parameters as they are saved."""
        settings: dict[str, Any] = self.get_params(deep=False)
        if isinstance(settings["random_state"], np.random.RandomState):
            settings["random_state"] = None  # a generator has moved on since the fit
        return settings

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree, or the rules, to a JSON file, which appears whole or not at all; `load` reads it.

        Parameters
        ----------
        path : path
            A name that ends in ``.gz`` is compressed.  An existing file is replaced.

        Raises
        ------
        ValueError
            If a category or class cannot be written, such as an infinite number.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self)
        _document.save(path, self._to_document())

    def export_json(self) -> str:
        """Write the tree, or the rules, as the text that `save` writes; `fasttree.loads` reads it.

        Returns
        -------
        str
            A JSON object, ended by a newline; the format is described in the documentation.

        Raises
        ------
        ValueError
            If a category or class cannot be written, such as an infinite number or half a character.

        Examples
        --------
        >>> import json
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> json.loads(model.export_json())["tests"][0]["threshold"]
        1.5
        """
        check_is_fitted(self)
        return _document.encoded(self._to_document()).decode()

    @classmethod
    def load(cls, source: str | os.PathLike[str] | BinaryIO) -> Self:
        """Read a fitted estimator of this class from a file that `save` wrote.

        Parameters
        ----------
        source : path or binary file
            JSON file, or compressed JSON file.

        Returns
        -------
        estimator
            With parameters and tree or rules as saved; its predictions are those of the saved one, bit for bit.

        Raises
        ------
        ValueError
            If the file is not such a document, or holds another class; `fasttree.load` reads any.
        OSError
            If the file cannot be read.
        """
        from .estimators import load  # which knows the classes, and so comes after this file

        model = load(source)
        if not isinstance(model, cls):
            with _document.errors_in(source):
                raise _document.DocumentError(f"holds a {type(model).__name__}, not a {cls.__name__}: read it by fasttree.load")
        return model


class LogProbability:
    """The logarithm of the probabilities that a classifier gives."""

    def predict_proba(self, X: Any) -> Any:
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> Any:
        """Return the natural logarithm of `predict_proba`; minus infinity for a class that does not occur.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Of several targets a list of such.
        """
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in probability] if isinstance(probability, list) else np.log(probability)


class BaseTree(Views, Exports, FittedModel, Reading, TreeLimits):
    """What classifiers and regressors share: parameters, growth of the tree, and reading it."""

    _prunings: ClassVar[dict[str, tuple[str, ...]]] = PRUNINGS  # method to the parameters it is told
    _takes_several: ClassVar[bool] = False  # whether y may have several columns, each a target

    tree_: Tree
    tree_unpruned_: Tree
    pruning_table_: Bunch
    recipe_: Recipe
    max_features_: int
    n_outputs_: int

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _raises_branches(self) -> bool:
        """Whether error-based pruning after growth may move a branch up."""
        return False

    def _min_gain(self) -> float:
        # As scikit-learn: an impure node may be split by a test that gains nothing, because a later test may gain.
        return -math.inf if self.min_gain is None else float(self.min_gain)

    def _min_ratio(self) -> float:
        return -math.inf

    def _min_branch_weight(self) -> float:
        return 0.0

    def _min_part_weight(self) -> float:
        return 0.0

    def _checked_recipe(self) -> Recipe:
        """Return the recipe that the parameters describe, after a look at each of them."""
        self._check_parameters()
        self._pruning_method()
        recipe = self._recipe()
        for name, default in _SURROGATE_CHOICES.items() if recipe.missing != "surrogate" else ():
            given = getattr(self, name, default)
            if given != default:
                raise ValueError(
                    f"{name}={given!r} speaks of surrogates, which missing={recipe.missing!r} does not have: "
                    f"use missing='surrogate', or {name}={default!r}"
                )
        _grow.check_recipe(recipe, 2 if isinstance(self, ClassifierMixin) else 0)  # before it looks at a large table
        return recipe

    def _constraints(self, schema: Schema) -> Constraints:
        return constraints(getattr(self, "monotonic_cst", None), getattr(self, "interaction_cst", None), schema)

    def _check_costs(self, method: str | None) -> None:
        if method in COUNTS_ERRORS and getattr(self, "loss_matrix", None) is not None:
            raise ValueError(
                f"loss_matrix and pruning={method!r} exclude each other, as it takes its errors for those of a binomial: "
                f"use pruning='cost_complexity' with pruning_risk='error', or 'reduced_error'"
            )

    def _pruning_method(self) -> str | None:
        """The pruning that the parameters ask for: a `ccp_alpha` alone asks for cost-complexity."""
        asked: str | None = self.pruning
        self._check_costs(asked)
        if (isinstance(self.ccp_alpha, str) or self.ccp_alpha > 0) and asked != "cost_complexity":
            if asked is not None:
                raise ValueError(
                    f"ccp_alpha={self.ccp_alpha!r} and pruning={asked!r} exclude each other: use pruning='cost_complexity', or "
                    f"ccp_alpha=0.0"
                )
            return "cost_complexity"
        return asked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._recipe().missing != "error"
        tags.target_tags.multi_output = self._fits_several()
        return tags

    def _several_targets(self, y: Any) -> list[Any] | None:
        """The columns of y where they are several targets; an error where the algorithm knows one."""
        columns = target_columns(y)
        if columns is not None and not self._takes_several:
            raise ValueError(
                f"y has {len(columns)} columns: {type(self).__name__} takes 1 target; fit it to each, or use CARTClassifier"
            )
        return columns

    def _fits_several(self) -> bool:
        """Whether the parameters go with several targets."""
        method = self._pruning_method()
        settings = {} if method is None else {name: getattr(self, name) for name in self._prunings[method]}
        try:
            _grow.check_recipe(self._recipe(), 2 if isinstance(self, ClassifierMixin) else 0, several=True)
        except ValueError:
            return False
        return self._takes_several and _knows_no_errors(method, settings)

    def _check_pruning_of_several(self, method: str | None, settings: Mapping[str, Any]) -> None:
        """Of several targets the impurity is known, but no error that prunings could go by."""
        risk, alpha = settings.get("pruning_risk", "impurity"), settings.get("ccp_alpha")
        if _knows_no_errors(method, settings):
            return
        given = f"ccp_alpha={alpha!r}" if isinstance(alpha, str) else f"pruning_risk={risk!r}"
        given = given if method == "cost_complexity" else f"{method!r} pruning"
        raise ValueError(
            f"{given} and several targets exclude each other, as only their impurity is known and no common error: "
            f"use 'cost_complexity' pruning by impurity with a number for ccp_alpha, or fit a tree for each target"
        )

    def _learn_table(self, X: Any, recipe: Recipe) -> Table:
        table = learn_table(
            X,
            categorical_features=self.categorical_features,
            ordinal_features=self.ordinal_features,
            integers="nominal" if recipe.continuous == "refuse" else "continuous",
        )
        if recipe.continuous == "refuse":
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
            f"another form of split, such as 'category'"
        )

    def _refuses_missing(self, feature: Feature, row: int) -> ValueError:
        if "missing" in self._parameter_rules():
            who, remedy = "missing='error'", "use missing='direction'"
        else:
            who, remedy = type(self).__name__, "use C45Classifier or CARTClassifier"
        return ValueError(
            f"column {feature.name!r} has missing values (NaN or None; first: row {row}), which {who} refuses: "
            f"{remedy}, or fill them in"
        )

    def _count_features(self, n_features: int) -> int:
        """How many features a node draws."""
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

    def _grow(
        self,
        recipe: Recipe,
        table: Table,
        target: NDArray[Any],
        weight: NDArray[np.float64] | None,
        n_classes: int,
        *,
        outputs: tuple[int, ...] | None = None,
        class_factor: NDArray[np.float64] | None = None,
        loss: NDArray[np.float64] | None = None,
    ) -> None:
        samples = self._checked_total(Samples(table, target, weight, class_factor, recipe.impurity))
        costs = None if loss is None else _costs(samples, loss)
        n_samples, held_out = table.n_samples, None
        method = self._pruning_method()
        settings = {} if method is None else {name: getattr(self, name) for name in self._prunings[method]}
        if outputs is not None:
            self._check_pruning_of_several(method, settings)
            if getattr(self, "max_split_p_value", None) is not None:
                raise ValueError(
                    f"max_split_p_value={self.max_split_p_value!r} and several targets exclude each other: use min_gain"
                )
        if _needs_samples(method, settings):
            samples, held_out = self._hold_out(samples, n_classes)
            n_samples = _weighted_rows(samples).size
        limits = self._limits(n_samples, table.n_features, _total(samples))
        kept = self._constraints(table.schema)

        def grow(chosen: Samples = samples, rows: NDArray[np.intp] | None = None) -> Tree:
            scaled = limits
            if chosen is not samples:
                scale = _total(chosen) / _total(samples)
                scaled = replace(limits, min_weight_leaf=limits.min_weight_leaf * scale)
            return _grow.grow(
                table,
                target,
                chosen.weight,
                recipe,
                scaled,
                n_classes=n_classes,
                class_factor=chosen.class_factor,
                outputs=outputs,
                costs=costs,
                rows=rows,
                constraints=kept,
                n_jobs=1 if self.n_jobs is None else effective_n_jobs(int(self.n_jobs)),
            )

        def choose(sequence: _sequence.Sequence) -> _sequence.Choice:
            if held_out is not None:
                return _sequence.by_samples(sequence, held_out, settings["rule"])
            risk = settings.get("pruning_risk", "impurity")

            def without(rest: Samples) -> _sequence.Sequence:
                return _sequence.weakest_links(grow(rest), risk=risk, weight=_total(rest))

            folds = ((without(rest), fold) for rest, fold in self._folds(samples, n_classes))
            return _sequence.by_folds(sequence, samples, folds, settings["rule"])

        def prune(tree: Tree) -> Tree:
            judges = held_out if method == "reduced_error" else samples if self._raises_branches() else None
            return tree if method is None else self._prune_by(method, tree, settings, recipe, judges, choose)

        self.__dict__.pop("pruning_table_", None)  # a fit that chose may have gone before
        self._keep(self._make_tree(samples, grow, prune), recipe, table.schema)

    def _checked_total(self, samples: Samples) -> Samples:
        total = _total(samples)
        if total == 0:
            raise ValueError("Sample weights must contain at least one non-zero number: all weights are zero")
        if not 1 / _HEAVIEST <= total <= _HEAVIEST:
            raise ValueError(
                f"the weights sum to {total:g}: scale them so that the sum is from {1 / _HEAVIEST:g} to {_HEAVIEST:g}"
            )
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
            max_split_p_value=getattr(self, "max_split_p_value", None),  # regressors have none
            min_branch_weight=self._min_branch_weight(),
            min_part_weight=self._min_part_weight(),
            **{name: getattr(self, name, default) for name, default in _SURROGATE_CHOICES.items()},
            merge_p_value=float(getattr(self, "merge_p_value", Limits.merge_p_value)),
            max_intervals=getattr(self, "max_intervals", None),
            max_bins=None if self.max_bins is None else int(self.max_bins),
            max_features=max_features if draws else None,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)) if draws else 0,
        )

    def _make_tree(self, samples: Samples, grow: Grow, prune: Callable[[Tree], Tree]) -> Tree:
        self.tree_unpruned_ = grow()
        return prune(self.tree_unpruned_)

    def _hold_out(self, samples: Samples, n_classes: int) -> tuple[Samples, Samples]:
        """Samples to grow on, and samples to judge by: a random part, of every class alike."""
        rows = _weighted_rows(samples)
        if rows.size < 2:
            raise ValueError("pruning needs samples that are held out from the growth, and there is only 1 sample")
        n_held_out = min(max(round(self.validation_fraction * rows.size), 1), rows.size - 1)
        codes = samples.target[rows] if n_classes else None
        order = rows[_sequence.shuffle(codes, rows.size, check_random_state(self.random_state))]
        turns = np.arange(rows.size) * n_held_out % rows.size < n_held_out
        return _divide(samples, order[turns])

    def _folds(self, samples: Samples, n_classes: int) -> Iterator[tuple[Samples, Samples]]:
        """All samples but a fold, and the fold; those of `cv` as a number are random, of every class alike."""
        rows = _weighted_rows(samples)
        codes = samples.target[rows] if n_classes else None
        if is_integer(self.cv):
            if self.cv > rows.size:
                raise ValueError(f"cv={self.cv}: must not exceed the number of samples, {rows.size}")
            order = _sequence.shuffle(codes, rows.size, check_random_state(self.random_state))
            folds = [rows[order[first :: self.cv]] for first in range(self.cv)]
        else:
            from sklearn.model_selection import check_cv  # which brings plotting and more along

            splits = check_cv(self.cv).split(np.zeros((rows.size, 1)), codes)
            folds = [rows[np.asarray(test)] for _, test in splits]
        for fold in folds:
            yield _divide(samples, fold)

    def _prune_by(
        self,
        method: str,
        tree: Tree,
        settings: Mapping[str, Any],
        recipe: Recipe,
        samples: Samples | None,
        choose: Callable[[_sequence.Sequence], _sequence.Choice],
    ) -> Tree:
        """The tree pruned by a method, told by `settings`; `samples` where the method judges by them."""
        match method:
            case "cost_complexity":
                sequence = _sequence.weakest_links(tree, risk=settings.get("pruning_risk", "impurity"))
                return self._subtree(sequence, settings["ccp_alpha"], "ccp_alphas", choose)
            case "critical_value":
                value = settings["critical_value"]
                if value is not None:
                    return _prune.critical_value(tree, float(value))
                return self._subtree(_sequence.by_critical_value(tree), None, "critical_values", choose)
            case "c_alpha":
                return _prune.c_alpha(tree, float(settings["alpha"]), unit=settings.get("alpha_unit", "bits"))
            case "reduced_error":
                assert samples is not None
                return _prune.reduced_error(tree, samples, tolerance=float(settings["tolerance"]))
            case "pessimistic":
                return _prune.pessimistic(tree)
            case "minimum_error":
                return _prune.minimum_error(tree, m=settings["m"])
            case "chi_square":
                return _prune.chi_square(tree, float(settings["max_p_value"]))
        if samples is None:
            return _prune.error_based_without_samples(tree, float(settings["confidence"]))
        pruned = _prune.error_based(
            tree,
            samples.table,
            samples.target,
            samples.counts,
            float(settings["confidence"]),
            min_part_weight=self._min_part_weight(),
            impurity=recipe.impurity,
        )
        return _prune.without_impossible_categories(pruned) if recipe.nominal == "groups" else pruned

    def _subtree(
        self,
        sequence: _sequence.Sequence,
        at: Any,
        title: str,
        choose: Callable[[_sequence.Sequence], _sequence.Choice],
    ) -> Tree:
        """The subtree at a number; else the one that is chosen, with a table of how all did."""
        if is_number(at):
            return sequence.subtree(float(at))
        choice = choose(sequence)
        columns = {"n_leaves": choice.n_leaves, "xerror": choice.errors, "xstd": choice.deviations, "chosen": choice.chosen}
        self.pruning_table_ = Bunch(**{title: choice.steps}, **columns)
        return sequence.subtree(float(choice.steps[choice.chosen]))

    def _keep(self, tree: Tree, recipe: Recipe, schema: Schema) -> None:
        self.tree_ = tree
        self.n_outputs_ = tree.n_outputs
        self.recipe_ = recipe
        self._keep_schema(schema)
        self.max_features_ = self._count_features(self.n_features_in_)

    def _ends(self, X: Any) -> NDArray[np.int32] | None:
        """The node where each sample of a plain float array ends; None where to find that, or an error, takes a longer look."""
        known = self.__dict__
        if type(X) is not np.ndarray or "tree_" not in known or not known["schema_"].is_bare or self.unseen != "as_missing":
            return None
        tree: Tree = known["tree_"]
        return tree.walker.ends(X, known["recipe_"].missing == "error")

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        """Class shares (of all targets side by side) or means, shape (n_samples, k)."""
        ends = self._ends(X)
        if ends is not None:
            return self.tree_.predictions(ends)
        table = self._encode_table(X)
        return _grow.predict_value(self.tree_, table)

    def _encode_table(self, X: Any) -> Table:
        """Encode a table as that of the fit was."""
        if "tree_" not in self.__dict__:
            check_is_fitted(self)
        table = encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        if self.recipe_.missing == "error":
            cell = missing_cell_of(X, table)
            if cell is not None:
                raise self._refuses_missing(*cell)
        return table

    def prune(
        self,
        method: str,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        from_grown: bool = False,
        **parameters: Any,
    ) -> Self:
        """Return a model whose tree is this one's, pruned; nothing is grown anew, and this model stays as it is.

        Parameters
        ----------
        method : str
            One of the values of the parameter `pruning`.
        X : table of shape (n_samples, n_features), default=None
            Samples with the columns of the fit, better not those of the fit: needed by "reduced_error", by
            ``ccp_alpha="validation"`` and ``critical_value=None``.  With samples, in general those of the fit, "error_based"
            also raises branches.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        from_grown : bool, default=False
            Whether to start from `tree_unpruned_`, as a fit does, and not from `tree_`, which may be pruned already.
        **parameters
            What the method is told, under the names that the estimator has; by default as the estimator has them.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.  `tree_` is pruned, `tree_unpruned_` is as it was grown.

        Raises
        ------
        ValueError
            If the method, a parameter or the samples do not fit, or there is no tree as grown (a loaded model has none).

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
        >>> model.get_n_leaves(), model.prune("cost_complexity", ccp_alpha=0.2).get_n_leaves()
        (4, 1)
        """
        check_is_fitted(self)
        if from_grown and "tree_unpruned_" not in self.__dict__:
            raise ValueError("from_grown=True: this model has no tree_unpruned_, which is not saved with a model; fit it again")
        start = self.tree_unpruned_ if from_grown else self.tree_
        settings = self._checked_settings(method, parameters)
        if self.tree_.outputs is not None:
            self._check_pruning_of_several(method, settings)
        samples = self._pruning_samples(method, start, settings, X, y, sample_weight)

        def choose(sequence: _sequence.Sequence) -> _sequence.Choice:
            assert samples is not None
            return _sequence.by_samples(sequence, samples, settings["rule"])

        model = self._with_tree(self.tree_)
        model.tree_ = model._prune_by(method, start, settings, self.recipe_, samples, choose)
        if samples is not None and self.tree_.lower is not None and model.tree_.lower is None:
            model.tree_ = _soften.soften(model.tree_, samples.table, samples.target, samples.counts)
        return model

    def collapse(self, node: int) -> Self:
        """Return a model in whose tree a node is a leaf; this model stays as it is.

        Parameters
        ----------
        node : int
            Id of an inner node of `tree_`.  What is below it goes, and the nodes that stay are numbered anew.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.

        Raises
        ------
        ValueError
            If there is no such node, or it is a leaf already.
        """
        check_is_fitted(self)
        tree = self.tree_
        if not is_integer(node) or not 0 <= node < tree.node_count:
            raise ValueError(f"node={node!r}: must be an integer in [0, {tree.node_count - 1}], the id of a node of tree_")
        if tree.n_branches[node] == 0:
            raise ValueError(f"node={node!r} is a leaf already: inner nodes are those with tree_.n_branches > 0")
        return self._with_tree(tree.prune_at(np.arange(tree.node_count) == node))

    def _with_tree(self, tree: Tree) -> Self:
        model = copy.copy(self)
        model.tree_unpruned_ = getattr(self, "tree_unpruned_", self.tree_)  # a loaded model has one tree
        model.tree_ = tree
        model.__dict__.pop("pruning_table_", None)
        return model

    def _checked_settings(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What a method is told: the parameters given, and the estimator's own."""
        if method not in self._prunings:
            raise ValueError(f"method={method!r}: must be one of {', '.join(map(repr, self._prunings))}")
        self._check_costs(method)
        names = self._prunings[method]
        for name in parameters:
            if name not in names:
                known = f"takes {', '.join(names)}" if names else "takes no parameters"
                raise ValueError(f"{name}={parameters[name]!r}: {method!r} pruning {known}")
        settings = {name: parameters.get(name, getattr(self, name)) for name in names}
        for name, value in settings.items():
            is_allowed, allowed = self._parameter_rules()[name]
            if not is_allowed(value):
                raise ValueError(f"{name}={value!r}: must be {allowed}")
        if method == "cost_complexity" and not parameters and settings["ccp_alpha"] == 0:  # the default, which prunes nothing
            raise ValueError("ccp_alpha: 'cost_complexity' prunes by it; give a number above 0, or 'validation' with X and y")
        if settings.get("ccp_alpha") == "cv":
            raise ValueError("ccp_alpha='cv' grows trees, which prune does not: use 'validation' with X and y, or a number")
        return settings

    def _pruning_samples(
        self, method: str, tree: Tree, settings: Mapping[str, Any], X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> Samples | None:
        """The samples given to prune by, None if there are none; an error if they do not fit the method."""
        needed = _needs_samples(method, settings)
        if X is None or y is None:
            if needed or X is not None or y is not None or sample_weight is not None:
                raise ValueError(f"{method!r} pruning by samples needs both X and y")
            return None
        if not needed and method != "error_based":
            raise ValueError(f"{method!r} pruning with these parameters looks at no samples: leave out X and y")
        if method == "error_based" and (tree.missing[tree.n_branches > 0] == STOP).any():
            raise ValueError(
                "'error_based' pruning with samples raises branches, which cannot be where samples stop at inner nodes, as in "
                "ID3: leave out X and y"
            )
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(target, weight)
        return self._checked_total(Samples(table, target, weight, self._class_factor(target, weight), self.recipe_.impurity))

    def _encode_target(self, y: Any) -> NDArray[Any]:
        """Targets as the fit encoded them."""
        raise NotImplementedError

    def _weigh(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        """Weights of samples with all that the parameters say of them; classes where they are not yet those of the model."""
        return weight

    def _class_factor(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        """What a sample of each class counts besides its weight, as the parameters say."""
        return None

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Grow the tree without pruning, and return its nested subtrees of least risk plus alpha times leaves.

        The whole sequence of minimal cost-complexity pruning (Breiman et al. 1984, chapter 3), in the unit of `pruning_risk`.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.
        y : array-like of shape (n_samples,)
            As for `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        sklearn.utils.Bunch
            An entry for the tree as grown (alpha 0), then one per subtree: ``ccp_alphas``, from which on it is the best,
            ascending; ``impurities`` and ``risks``, the sum over its leaves of impurity and of risk per unit weight;
            ``n_leaves``; and ``collapsed``, a list with the ids of the nodes (of the tree as grown) that become leaves on the way
            to it.

        Notes
        -----
        Subtrees whose alphas differ by less than 1e-12 of the root's risk are one, where scikit-learn may list an alpha twice.
        """
        tree = clone(self).set_params(pruning=None, ccp_alpha=0.0).fit(X, y, sample_weight=sample_weight).tree_unpruned_
        risk = getattr(self, "pruning_risk", "impurity")
        sequence = _sequence.weakest_links(tree, risk=risk)
        first = sequence.steps if sequence.n_pruned(0.0) else sequence.steps[1:]
        at = np.append(-np.inf, first)
        collapsed = sequence.collapsed()
        return Bunch(
            ccp_alphas=np.maximum(at, 0.0),
            # sums of differences: of a tree without any impurity a rounding below 0 may be left
            impurities=np.maximum(sequence.sums(_prune.risk_per_weight(tree), at), 0.0),
            risks=np.maximum(sequence.sums(_prune.risk_per_weight(tree, risk), at), 0.0),
            n_leaves=sequence.n_leaves(at),
            collapsed=[np.empty(0, np.intp), *collapsed[len(collapsed) - len(first) :]],
        )

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each sample reaches.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            Index of the leaf in `tree_`; of the heaviest where a sample with missing values reaches several, and of an inner
            node where a sample stops there.
        """
        ends = self._ends(X)
        if ends is not None:
            return ends
        table = self._encode_table(X)
        return _grow.walk(self.tree_, table)

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes that each sample passes, from the root to its leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, node_count)
            Not zero where the sample passes the node.
        """
        table = self._encode_table(X)
        return _grow.decision_path(self.tree_, table)

    def competing_splits(
        self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> list[_competing.CompetingSplit]:
        """Return the best split of every feature at a node: what the test that stands there had to beat.

        Parameters
        ----------
        node : int
            Id of a node of `tree_`; at a leaf, the splits that could be made there.
        X : table of shape (n_samples, n_features)
            The samples of the fit.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        list of CompetingSplit
            With `feature`, `name`, `gain` and `threshold` or `categories` per branch; by falling gain, equal ones in the order of
            the columns.  A feature without a split that the least sizes of branches allow is left out.  Draws of `max_features`,
            `interaction_cst`, and the bounds that `monotonic_cst` passes down from nodes above play no part.

        Raises
        ------
        ValueError
            If there is no such node, no sample reaches it, splits compete by something else than gain, or the tree has several
            targets.

        Notes
        -----
        rpart prints them as "primary splits".  Each costs a pass over the node's values of a feature.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> X, y = [[1, 5], [2, 9], [3, 6], [4, 8]], ["a", "a", "b", "b"]
        >>> for split in CARTClassifier().fit(X, y).competing_splits(0, X, y):
        ...     print(split.name, split.threshold, round(split.gain, 3))
        x0 2.5 0.5
        x1 5.5 0.167
        """
        check_is_fitted(self)
        if not is_integer(node) or not 0 <= node < self.tree_.node_count:
            raise ValueError(f"node={node!r}: must be an integer in [0, {self.tree_.node_count - 1}], the id of a node of tree_")
        if self.recipe_.rank != "gain" or self.recipe_.release8:
            raise ValueError(f"competing_splits compares splits by gain, which alone does not decide in {type(self).__name__}")
        if self.tree_.outputs is not None:
            raise ValueError("competing_splits and several targets exclude each other: fit a tree for each target")
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(target, weight)
        samples = self._checked_total(Samples(table, target, weight, self._class_factor(target, weight)))
        arriving = _competing.parts_at(self.tree_, table, int(node))
        if samples.counts is not None:
            arriving *= samples.counts
        if not arriving.any():
            raise ValueError(f"node={node}: none of the samples in X reaches it")
        return _competing.best_first(self._splits_by_feature(samples, arriving))

    def _splits_by_feature(self, samples: Samples, arriving: NDArray[np.float64]) -> Iterator[_competing.CompetingSplit]:
        """The best split of each feature that has one, of samples that count as much as arrives of them."""
        table = samples.table
        drawing_none = copy.copy(self)
        drawing_none.max_features = None
        limits = replace(
            drawing_none._limits(table.n_samples, table.n_features, _total(samples)),
            max_depth=1,
            max_leaf_nodes=None,
            min_samples_split=2,
            min_impurity=0.0,
            min_impurity_decrease=0.0,
            max_split_p_value=None,
        )
        monotone = self._constraints(table.schema).monotone
        costs = None if self.tree_.loss is None else _costs(samples, self.tree_.loss)
        for j, feature in enumerate(table.schema.features):
            stump = _grow.grow(
                _grow.OneFeature(table, j),
                samples.target,
                arriving,
                self.recipe_,
                limits,
                n_classes=len(getattr(self, "classes_", ())),
                costs=costs,
                constraints=Constraints(None if monotone is None else (monotone[j],)),
                bins_of=_grow.OneFeature(table, j),
            )
            if split := _competing.split_of(stump, j, feature):
                yield split

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if not is_integer(settings["cv"]):
            settings["cv"] = 10  # a splitter or a list of rows belongs to the samples of the fit
        return settings

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """An estimator with the parameters that were saved."""
        names = cls._get_param_names()
        return cls(**{name: value for name, value in settings.items() if name in names})

    def _algorithm(self) -> str:
        """The name under which a file says of which class the estimator is."""
        return self.recipe_.name

    def _to_document(self) -> dict[str, Any]:
        classes = getattr(self, "classes_", None)
        names = getattr(self, "target_names_", None)  # pickles of earlier versions have none
        return _document.to_document(
            self.tree_, self.schema_, classes, self._settings(), self._algorithm(), names, library_version=__version__
        )


class BaseClassifier(LogProbability, ClassifierMixin, BaseTree, ClassChoices, Pruning):  # type: ignore[misc]
    """Target and predictions of a classifier."""

    classes_: Any
    n_classes_: Any

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are then
            the classes, in their order.  CART also takes several targets, shape (n_samples, n_outputs), each with classes of its
            own.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative; None stands for ones.  A sample of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        recipe = self._checked_recipe()
        table = self._learn_table(X, recipe)
        columns = self._several_targets(y)
        if columns is not None:
            self._fit_several(recipe, table, columns, sample_weight)
            self.target_names_ = target_names(y, self.n_outputs_)
            return self
        classes, codes = encode_classes(y)
        if len(classes) > _MAX_CLASSES:
            raise ValueError(f"y has {len(classes)} classes; at most {_MAX_CLASSES} are supported: use CARTRegressor for numbers")
        check_same_length(table.n_samples, len(codes))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(codes, weight, classes)
        factor, loss = self._class_factor(codes, weight, classes), self._loss(classes)
        self._grow(recipe, table, codes, weight, n_classes=len(classes), class_factor=factor, loss=loss)
        self._keep_classes(classes)
        self.target_names_ = target_names(y, 1)
        return self

    def _fit_several(self, recipe: Recipe, table: Table, columns: list[Any], sample_weight: ArrayLike | None) -> None:
        for name in ("priors", "loss_matrix"):
            if getattr(self, name, None) is not None:
                raise ValueError(f"{name} and several targets exclude each other: y has {len(columns)} columns")
        encoded = [encode_classes(column) for column in columns]
        classes, codes = [labels for labels, _ in encoded], np.column_stack([codes for _, codes in encoded])
        outputs = tuple(map(len, classes))
        if sum(outputs) > _MAX_CLASSES:
            raise ValueError(f"the targets have {sum(outputs)} classes together; at most {_MAX_CLASSES} are supported")
        check_same_length(table.n_samples, len(codes))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        self._grow(recipe, table, codes, self._weigh(codes, weight, classes), n_classes=sum(outputs), outputs=outputs)
        self._keep_classes(classes)

    def _weigh(self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: Any = None) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return weight
        by_class: NDArray[np.float64]
        by_class = weigh_samples(self.class_weight, self.classes_ if classes is None else classes, target)
        return by_class if weight is None else weight * by_class

    def _class_factor(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        priors = getattr(self, "priors", None)
        if priors is None:
            return None
        if self.class_weight is not None:
            raise ValueError(
                f"priors={priors!r} and class_weight={self.class_weight!r} exclude each other: both say what the classes weigh"
            )
        of_fit = classes is not None
        known = self.classes_ if classes is None else classes
        totals = total_by_class(target, weight, len(known))
        return factors_by_priors(check_priors(priors, known), totals, known, all_occur=of_fit)

    def _loss(self, classes: NDArray[Any]) -> NDArray[np.float64] | None:
        given = getattr(self, "loss_matrix", None)
        return None if given is None or len(classes) == 1 else check_loss_matrix(given, classes)

    def _encode_target(self, y: Any) -> NDArray[np.intp]:
        classes, codes = encode_classes(y)
        known = {label: code for code, label in enumerate(self.classes_.tolist())}
        occurring = np.unique(codes)
        strangers = [label for label in classes[occurring].tolist() if label not in known]
        if strangers:
            raise ValueError(f"y holds classes that the fit did not know: {strangers}; it knows {list(known)}")
        code_of = np.zeros(len(classes), dtype=np.intp)
        code_of[occurring] = [known[label] for label in classes[occurring].tolist()]
        return code_of[codes]

    def _keep_classes(self, classes: NDArray[Any] | list[NDArray[Any]]) -> None:
        self.classes_ = classes
        self.n_classes_ = list(map(len, classes)) if isinstance(classes, list) else len(classes)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Share of each class in the weight of the leaf, in the order of `classes_`; rows sum to 1.  A leaf that no sample
            of the fit reached gives all to the largest class of its parent.  Of several targets a list of such.
        """
        shares = self._predictions(X)
        return shares if self.tree_.outputs is None else self.tree_.by_output(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or with a loss matrix that of least expected loss; of equal ones the first.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
            Of several targets (n_samples, n_outputs), of objects where their classes are of several kinds.
        """
        if "tree_" in self.__dict__ and self.tree_.outputs is not None:
            return self._predict_several(X)
        ends = self._ends(X)
        if ends is None:
            table = self._encode_table(X)
            predicted: NDArray[Any] = self.classes_.take(_grow.predict_class(self.tree_, table))
        elif ends.size < self.tree_.node_count:
            predicted = self.classes_.take(self.tree_.answer.take(ends))
        else:
            predicted = self.classes_.take(self.tree_.answer).take(ends)
        return predicted

    def _predict_several(self, X: Any) -> NDArray[Any]:
        """A column of classes per target."""
        kinds = {labels.dtype.kind for labels in self.classes_}
        answers = [labels[part.argmax(axis=1)] for labels, part in zip(self.classes_, self.predict_proba(X), strict=True)]
        return np.column_stack(answers if len(kinds) == 1 else [answer.astype(object) for answer in answers])

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the share of samples whose class is predicted right; of several targets, all classes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        float
        """
        columns = target_columns(y)
        if columns is None:
            return float(super().score(X, y, sample_weight))
        truth = [labels[codes] for labels, codes in map(encode_classes, columns)]
        hits = [column == found for column, found in zip(truth, self.predict(X).T, strict=True)]
        right = np.array(hits, dtype=np.float64).min(axis=0)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, right.size)
        return float(np.average(right, weights=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags


class BaseRegressor(RegressorMixin, BaseTree, RegressionPruning):  # type: ignore[misc]
    """Target and predictions of a regressor."""

    _prunings = REGRESSION_PRUNINGS

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative; None stands for ones.  A sample of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        recipe = self._checked_recipe()
        table = self._learn_table(X, recipe)
        target = self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        if recipe.impurity == "poisson":
            check_some_positive(target, weight)
        outputs = None if target.ndim == 1 else (1,) * target.shape[1]
        self._grow(recipe, table, target, weight, n_classes=0, outputs=outputs)
        self.target_names_ = target_names(y, self.n_outputs_)
        return self

    def _encode_target(self, y: Any) -> NDArray[np.float64]:
        columns = self._several_targets(y)
        target = encode_values(y) if columns is None else np.column_stack(list(map(encode_values, columns)))
        largest = float(np.abs(target).max())
        if largest > _LARGEST:
            raise ValueError(f"y holds values of size {largest:g}: scale them to {_LARGEST:g} at most")
        if self._recipe().impurity == "poisson":
            check_not_negative(target)
        return target

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_outputs)
            Mean of the leaf; median with absolute error.
        """
        means = self._predictions(X)
        return means[:, 0] if self.tree_.outputs is None else means
