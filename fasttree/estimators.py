"""The scikit-learn face: parameters become a recipe and limits, a table becomes codes, a grown tree becomes predictions.

Everything that makes one estimator differ from another is its recipe and what its parameters may say.  Nothing here looks
for a split or walks a tree, and nothing here knows pandas, polars or Arrow.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from . import __version__, _document, _grow, _prune, _sequence, _soften, _text, _windowing
from ._prune import Samples
from ._recipe import C45, C45_TEXTBOOK, CART_CLASSIFICATION, CART_REGRESSION, ID3, Limits, Recipe
from ._table import Feature, Schema, Table, encode_classes, encode_table, encode_values, learn_table
from ._tree import STOP, Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from .rules import C45Rules

__all__ = ["C45Classifier", "CARTClassifier", "CARTRegressor", "ID3Classifier", "load"]

_MAX_CLASSES = 2**16  # the engine keeps the class of a sample in 16 bits
_LARGEST = 1e100  # of a target: squares and products of these stay finite
_MOST_GROUPED = 1000  # categories whose groups are searched: the time grows with their third power
_HEAVIEST = 1e30  # of a sum of weights, which C4.5 counts in single precision

_Rule = tuple[Callable[[Any], bool], str]  # whether a parameter's value is allowed, and what is


class _Grow(Protocol):
    """Grows a tree: on other samples, or on some rows, if told so."""

    def __call__(self, chosen: Samples = ..., rows: NDArray[np.intp] | None = ...) -> Tree: ...


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_fraction(value: Any) -> bool:
    """Whether `value` is a share in (0, 1], told from a count by its type, as scikit-learn does: 1.0 is a share, 1 a count."""
    return _is_number(value) and not _is_integer(value) and 0 < value <= 1


def _is_amount(value: Any) -> bool:
    return _is_number(value) and 0 <= value < math.inf


def _one_of(*words: str | None) -> _Rule:
    listed = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
    return lambda value: (value is None or isinstance(value, str)) and value in words, listed


_AMOUNT: _Rule = _is_amount, "a finite number >= 0"
_COUNT_OR_NONE: _Rule = lambda value: value is None or (_is_integer(value) and value >= 1), "an integer >= 1, or None"
_FLAG: _Rule = lambda value: isinstance(value, bool | np.bool_), "True or False"

_COMMON_RULES: dict[str, _Rule] = {
    "max_depth": (lambda value: value is None or (_is_integer(value) and value >= 1), "an integer >= 1, or None for no limit"),
    "max_leaf_nodes": (
        lambda value: value is None or (_is_integer(value) and value >= 2),
        "an integer >= 2, or None for no limit",
    ),
    "min_samples_split": (
        lambda value: (_is_integer(value) and value >= 2) or _is_fraction(value),
        "an integer >= 2, or a float in (0, 1] as a share of the samples",
    ),
    "min_samples_leaf": (
        lambda value: (_is_integer(value) and value >= 1) or (_is_fraction(value) and value < 1),
        "an integer >= 1, or a float in (0, 1) as a share of the samples",
    ),
    "min_weight_fraction_leaf": (lambda value: _is_amount(value) and value <= 0.5, "a number in [0, 0.5]"),
    "min_impurity_decrease": _AMOUNT,
    "min_impurity": _AMOUNT,
    "max_features": (
        lambda value: (
            value is None
            or (isinstance(value, str) and value in ("sqrt", "log2"))
            or (_is_integer(value) and value >= 1)
            or _is_fraction(value)
        ),
        "an integer >= 1, a float in (0, 1] as a share of the features, 'sqrt', 'log2', or None for all",
    ),
    "unseen": _one_of("as_missing", "error"),
    "random_state": (
        lambda value: value is None or isinstance(value, np.random.RandomState) or (_is_integer(value) and 0 <= value < 2**32),
        "an integer in [0, 2**32 - 1], a numpy.random.RandomState, or None",
    ),
}
_CLASSIFIER_RULES: dict[str, _Rule] = {
    **_COMMON_RULES,
    "class_weight": (
        lambda value: value is None or isinstance(value, Mapping) or (isinstance(value, str) and value == "balanced"),
        "a dict {class: weight}, 'balanced' or None",
    ),
}
# What each method of pruning is told; a method without an entry for regression is for classes alone.
_PRUNINGS: dict[str, tuple[str, ...]] = {
    "cost_complexity": ("ccp_alpha", "pruning_risk", "rule"),
    "c_alpha": ("alpha", "alpha_unit"),
    "reduced_error": ("tolerance",),
    "pessimistic": (),
    "error_based": ("confidence",),
    "minimum_error": ("m",),
    "critical_value": ("critical_value", "rule"),
    "chi_square": ("max_p_value",),
}
_REGRESSION_PRUNINGS: dict[str, tuple[str, ...]] = {
    "cost_complexity": ("ccp_alpha", "rule"),
    "c_alpha": ("alpha",),
    "reduced_error": ("tolerance",),
}
_REGRESSION_PRUNING_RULES: dict[str, _Rule] = {
    "pruning": _one_of(*_REGRESSION_PRUNINGS, None),
    "ccp_alpha": (
        lambda value: _is_amount(value) or (isinstance(value, str) and value in ("cv", "validation")),
        "a finite number >= 0, 'cv' or 'validation'",
    ),
    "alpha": _AMOUNT,
    "tolerance": _AMOUNT,
    "validation_fraction": (lambda value: _is_number(value) and 0 < value < 1, "a number in (0, 1), such as 0.3"),
    "cv": (
        lambda value: (_is_integer(value) and value >= 2) or hasattr(value, "split") or isinstance(value, list | tuple),
        "an integer >= 2, a splitter of scikit-learn, or a list of pairs of rows (train, test)",
    ),
    "rule": _one_of("best", "1se"),
}
_PRUNING_RULES: dict[str, _Rule] = {
    **_REGRESSION_PRUNING_RULES,
    "pruning": _one_of(*_PRUNINGS, None),
    "pruning_risk": _one_of("impurity", "error"),
    "alpha_unit": _one_of("bits", "nats"),
    "confidence": (lambda value: _is_number(value) and 0 < value < 1, "a number in (0, 1), such as 0.25"),
    "m": (
        lambda value: _is_amount(value) or (isinstance(value, str) and value == "laplace"),
        "a finite number >= 0, or 'laplace'",
    ),
    "critical_value": (
        lambda value: value is None or _is_amount(value),
        "a finite number >= 0, or None to choose it on samples held out",
    ),
    "max_p_value": (lambda value: _is_number(value) and 0 < value <= 1, "a number in (0, 1], such as 0.05"),
}
_CART_RULES: dict[str, _Rule] = {
    "nominal": _one_of("subset", "one_vs_rest"),
    "missing": _one_of("direction", "error"),
}


def _check_sample_weight(sample_weight: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    """Weights as a float64 array of shape (n_samples,), finite and not negative."""
    given = np.asarray(sample_weight)
    try:
        weight = given.astype(np.float64, casting="same_kind" if given.dtype.kind == "c" else "unsafe")
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}") from None
    if weight.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weight.shape}: must be ({n_samples},), one weight per sample")
    if not (weight >= 0).all() or np.isinf(weight).any():
        first = int(np.argmin((weight >= 0) & np.isfinite(weight)))
        raise ValueError(f"sample_weight[{first}] is {weight[first]}: weights must be finite and not negative")
    return weight


def _check_same_length(n_samples: int, n_targets: int) -> None:
    if n_samples != n_targets:
        raise ValueError(f"X has {n_samples} samples, but y has {n_targets}: give one target per sample")


def _weigh_classes(
    class_weight: Mapping[Any, float] | str, classes: NDArray[Any], codes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Weight of each class: as named, 1 where not named; or, "balanced", such that all classes weigh the same in all."""
    if isinstance(class_weight, str):
        counts = np.bincount(codes, minlength=len(classes))
        balance = len(codes) / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return np.asarray(balance, dtype=np.float64)
    labels = classes.tolist()
    # A name without its class is no error as such: a fold of the samples may lack a rare class.
    strangers = [label for label in class_weight if label not in labels]
    if strangers and any(label not in class_weight for label in labels):
        raise ValueError(f"class_weight names {strangers}, but the classes are {labels}")
    for label, weight in class_weight.items():
        if not _is_amount(weight):
            raise ValueError(f"class_weight[{label!r}]={weight!r}: must be {_AMOUNT[1]}")
    return np.array([class_weight.get(label, 1.0) for label in labels], dtype=np.float64)


def _count(number: int | float, n_samples: int) -> int:
    """Return a number of samples given as such, or as a share of `n_samples`, rounded up as scikit-learn does."""
    return int(number) if isinstance(number, Integral) else math.ceil(number * n_samples)


def _total(samples: Samples) -> float:
    return float(samples.table.n_samples if samples.weight is None else samples.weight.sum())


def _weighted_rows(samples: Samples) -> NDArray[np.intp]:
    return np.arange(samples.table.n_samples) if samples.weight is None else np.flatnonzero(samples.weight)


def _divide(samples: Samples, rows: NDArray[np.intp]) -> tuple[Samples, Samples]:
    """All samples but those of some rows, and those: what is not there weighs nothing."""
    weight = np.ones(samples.table.n_samples) if samples.weight is None else samples.weight
    inside = np.zeros(weight.size)
    inside[rows] = weight[rows]
    return replace(samples, weight=weight - inside), replace(samples, weight=inside)


def _needs_samples(method: str | None, settings: Mapping[str, Any]) -> bool:
    """Whether a pruning needs samples that the tree was not grown on."""
    return (
        method == "reduced_error"
        or (method == "cost_complexity" and settings["ccp_alpha"] == "validation")
        or (method == "critical_value" and settings["critical_value"] is None)
    )


def _missing_cell(table: Table) -> tuple[Feature, int] | None:
    """First feature with a cell of code 0 or NaN, and the first such row; None if there is none."""
    for j, feature in enumerate(table.schema.features):
        column = table.column(j)
        missing = np.isnan(column) if feature.categories is None else column == 0
        if missing.any():
            return feature, int(missing.argmax())
    return None


class _BaseTree(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """What classifiers and regressors share: parameters, growth of the tree, and reading it."""

    _rules: ClassVar[dict[str, _Rule]]
    _integers: ClassVar[str] = "continuous"  # what a column of integers is to the algorithm
    _raises_branches: ClassVar[bool] = False  # whether error-based pruning after growth may move a branch up
    _prunings: ClassVar[dict[str, tuple[str, ...]]] = _PRUNINGS  # method to the parameters it is told

    tree_: Tree
    tree_unpruned_: Tree
    pruning_table_: Bunch
    recipe_: Recipe
    schema_: Schema
    n_features_in_: int
    max_features_: int
    n_outputs_ = 1

    def _recipe(self) -> Recipe:
        raise NotImplementedError

    def _min_gain(self) -> float:
        # As scikit-learn: an impure node may be split by a test that gains nothing, because a later test may gain.
        return -math.inf

    def _min_branch_weight(self) -> float:
        return 0.0

    def _min_part_weight(self) -> float:
        return 0.0

    def _checked_recipe(self) -> Recipe:
        """Return the recipe that the parameters describe, after a look at each of them."""
        for name, (is_allowed, allowed) in self._rules.items():
            value = getattr(self, name)
            if not is_allowed(value):
                raise ValueError(f"{name}={value!r}: must be {allowed}")
        self._pruning_method()
        return self._recipe()

    def _pruning_method(self) -> str | None:
        """The pruning that the parameters ask for: a `ccp_alpha` alone asks for cost-complexity."""
        asked: str | None = self.pruning
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
        tags.input_tags.categorical = True  # `string` stands for raw text, as of documents
        tags.input_tags.allow_nan = self._recipe().missing != "error"
        tags.input_tags.sparse = True
        return tags

    def _learn_table(self, X: Any, recipe: Recipe) -> Table:
        table = learn_table(
            X,
            categorical_features=self.categorical_features,
            ordinal_features=self.ordinal_features,
            integers=self._integers,
        )
        if recipe.continuous == "refuse":
            for feature in table.schema.features:
                if feature.categories is None:
                    raise self._refuses_continuous(feature)
        if recipe.missing == "error" and (cell := _missing_cell(table)):
            raise self._refuses_missing(*cell)
        return table

    def _refuses_continuous(self, feature: Feature) -> ValueError:
        return ValueError(
            f"column {feature.name!r} is continuous, which {type(self).__name__} cannot split: use C45Classifier or "
            f"CARTClassifier, or name it in categorical_features or ordinal_features if its values are categories"
        )

    def _refuses_missing(self, feature: Feature, row: int) -> ValueError:
        if "missing" in self._rules:
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
        if _is_integer(asked):
            if asked > n_features:
                raise ValueError(f"max_features={asked}: must not exceed the number of features, {n_features}")
            return int(asked)
        return max(1, int(asked * n_features))

    def _grow(
        self, recipe: Recipe, table: Table, target: NDArray[Any], weight: NDArray[np.float64] | None, n_classes: int
    ) -> None:
        samples = self._checked_total(Samples(table, target, weight))
        n_samples, held_out = table.n_samples, None
        method = self._pruning_method()
        settings = {} if method is None else {name: getattr(self, name) for name in self._prunings[method]}
        if _needs_samples(method, settings):
            samples, held_out = self._hold_out(samples, n_classes)
            n_samples = _weighted_rows(samples).size
        limits = self._limits(n_samples, table.n_features, _total(samples))

        def grow(chosen: Samples = samples, rows: NDArray[np.intp] | None = None) -> Tree:
            scale = 1.0 if chosen is samples else _total(chosen) / _total(samples)
            scaled = replace(limits, min_weight_leaf=limits.min_weight_leaf * scale)
            return _grow.grow(table, target, chosen.weight, recipe, scaled, n_classes=n_classes, rows=rows)

        def choose(sequence: _sequence.Sequence) -> _sequence.Choice:
            if held_out is not None:
                return _sequence.by_samples(sequence, held_out, settings["rule"])
            risk = settings.get("pruning_risk", "impurity")
            folds = ((_sequence.weakest_links(grow(rest), risk=risk), fold) for rest, fold in self._folds(samples, n_classes))
            return _sequence.by_folds(sequence, samples, folds, settings["rule"])

        def prune(tree: Tree) -> Tree:
            judges = held_out if method == "reduced_error" else samples if self._raises_branches else None
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
            min_samples_split=max(2, _count(self.min_samples_split, n_samples)),
            min_samples_leaf=_count(self.min_samples_leaf, n_samples),
            min_weight_leaf=float(self.min_weight_fraction_leaf) * total,
            min_impurity_decrease=float(self.min_impurity_decrease),
            min_impurity=float(self.min_impurity),
            min_gain=self._min_gain(),
            min_branch_weight=self._min_branch_weight(),
            min_part_weight=self._min_part_weight(),
            max_features=max_features if draws else None,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)) if draws else 0,
        )

    def _make_tree(self, samples: Samples, grow: _Grow, prune: Callable[[Tree], Tree]) -> Tree:
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
        if _is_integer(self.cv):
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
            samples.weight,
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
        if _is_number(at):
            return sequence.subtree(float(at))
        choice = choose(sequence)
        columns = {"n_leaves": choice.n_leaves, "xerror": choice.errors, "xstd": choice.deviations, "chosen": choice.chosen}
        self.pruning_table_ = Bunch(**{title: choice.steps}, **columns)
        return sequence.subtree(float(choice.steps[choice.chosen]))

    def _keep(self, tree: Tree, recipe: Recipe, schema: Schema) -> None:
        self.tree_ = tree
        self.recipe_ = recipe
        self.schema_ = schema
        self.n_features_in_ = len(schema.features)
        self.max_features_ = self._count_features(self.n_features_in_)
        if schema.has_names:
            self.feature_names_in_ = np.array([feature.name for feature in schema.features], dtype=object)
        else:  # a fit to a table with names may have gone before
            self.__dict__.pop("feature_names_in_", None)

    def _encode_table(self, X: Any) -> Table:
        """Encode a table as that of the fit was."""
        if "tree_" not in self.__dict__:
            check_is_fitted(self)
        table = encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)
        if self.recipe_.missing == "error":
            cell = _missing_cell(table)
            if cell is not None and cell[0].categories is not None:
                # Code 0 may be an unseen category here; in codes of its own, X has none.
                categorical = [feature.categories is not None for feature in table.schema.features]
                cell = _missing_cell(learn_table(X, categorical_features=categorical))
            if cell is not None:
                raise self._refuses_missing(*cell)
        return table

    def prune(self, method: str, X: Any = None, y: Any = None, sample_weight: ArrayLike | None = None, **parameters: Any) -> Self:
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
        **parameters
            What the method is told, under the names that the estimator has; by default as the estimator has them.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.  `tree_` is pruned, `tree_unpruned_` is as it was grown.

        Raises
        ------
        ValueError
            If the method, a parameter or the samples do not fit.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
        >>> model.get_n_leaves(), model.prune("cost_complexity", ccp_alpha=0.1).get_n_leaves()
        (4, 1)
        """
        check_is_fitted(self)
        settings = self._checked_settings(method, parameters)
        samples = self._pruning_samples(method, settings, X, y, sample_weight)

        def choose(sequence: _sequence.Sequence) -> _sequence.Choice:
            assert samples is not None
            return _sequence.by_samples(sequence, samples, settings["rule"])

        model = self._with_tree(self.tree_)
        model.tree_ = model._prune_by(method, self.tree_, settings, self.recipe_, samples, choose)
        if samples is not None and self.tree_.lower is not None and model.tree_.lower is None:
            model.tree_ = _soften.soften(model.tree_, samples.table, samples.target, samples.weight)
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
        if not _is_integer(node) or not 0 <= node < tree.node_count:
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
        names = self._prunings[method]
        for name in parameters:
            if name not in names:
                known = f"takes {', '.join(names)}" if names else "takes no parameters"
                raise ValueError(f"{name}={parameters[name]!r}: {method!r} pruning {known}")
        settings = {name: parameters.get(name, getattr(self, name)) for name in names}
        for name, value in settings.items():
            is_allowed, allowed = self._rules[name]
            if not is_allowed(value):
                raise ValueError(f"{name}={value!r}: must be {allowed}")
        if settings.get("ccp_alpha") == "cv":
            raise ValueError("ccp_alpha='cv' grows trees, which prune does not: use 'validation' with X and y, or a number")
        return settings

    def _pruning_samples(
        self, method: str, settings: Mapping[str, Any], X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> Samples | None:
        """The samples given to prune by, None if there are none; an error if they do not fit the method."""
        needed = _needs_samples(method, settings)
        if X is None or y is None:
            if needed or X is not None or y is not None or sample_weight is not None:
                raise ValueError(f"{method!r} pruning by samples needs both X and y")
            return None
        if not needed and method != "error_based":
            raise ValueError(f"{method!r} pruning with these parameters looks at no samples: leave out X and y")
        if method == "error_based" and (self.tree_.missing[self.tree_.n_branches > 0] == STOP).any():
            raise ValueError(
                "'error_based' pruning with samples raises branches, which cannot be where samples stop at inner nodes, as in "
                "ID3: leave out X and y"
            )
        table, target = self._encode_table(X), self._encode_target(y)
        _check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, table.n_samples)
        return self._checked_total(Samples(table, target, self._weigh(target, weight)))

    def _encode_target(self, y: Any) -> NDArray[Any]:
        """Targets as the fit encoded them."""
        raise NotImplementedError

    def _weigh(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        """Weights of samples with all that the parameters say of them; classes where they are not yet those of the model."""
        return weight

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
            impurities=sequence.sums(_prune.risk_per_weight(tree), at),
            risks=sequence.sums(_prune.risk_per_weight(tree, risk), at),
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

    def get_depth(self) -> int:
        """Return the depth of the tree: the largest number of tests between the root and a leaf."""
        check_is_fitted(self)
        return int(self.tree_.max_depth)

    def get_n_leaves(self) -> int:
        """Return the number of leaves of the tree."""
        check_is_fitted(self)
        return int(self.tree_.n_leaves)

    def export_text(
        self,
        *,
        max_depth: int | None = None,
        max_categories: int = 12,
        decimals: int = 2,
        show_weights: bool = False,
        show_missing: bool | None = None,
        ascii: bool = False,
    ) -> str:
        """Draw the tree in text, a line per branch.

        A leaf reads ``yes (6)`` where all of weight 6 are of class yes, and ``no (6 of 9)`` where 6 of 9 are of class no; in
        regression ``2.4 (9)`` is the mean and the weight.

        Parameters
        ----------
        max_depth : int or None, default=None
            Levels of branches to draw; what lies deeper is counted.
        max_categories : int, default=12
            Categories to name in one condition; the rest are counted.
        decimals : int, default=2
            Digits after the point of weights and means.
        show_weights : bool, default=False
            Whether every line says the weight of each class in its node.
        show_missing : bool or None, default=None
            Whether conditions say where a missing value goes; None: where it follows a branch that is not the heaviest.
        ascii : bool, default=False
            Whether to draw with ASCII characters alone.

        Returns
        -------
        str
            Lines, each ended by a newline.
        """
        check_is_fitted(self)
        return _text.export_text(
            self.tree_,
            self.schema_,
            getattr(self, "classes_", None),
            max_depth=max_depth,
            max_categories=max_categories,
            decimals=decimals,
            show_weights=show_weights,
            show_missing=show_missing,
            ascii=ascii,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree to a JSON file, which appears whole or not at all; `load` reads it.

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
        settings = self.get_params(deep=False)
        if isinstance(settings["random_state"], np.random.RandomState):
            settings["random_state"] = None  # a generator has moved on since the fit
        if not _is_integer(settings["cv"]):
            settings["cv"] = 10  # a splitter or a list of rows belongs to the samples of the fit
        classes = getattr(self, "classes_", None)
        document = _document.to_document(self.tree_, self.schema_, classes, settings, self.recipe_.name, __version__)
        _document.save(path, document)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fitted estimator of this class from a file that `save` wrote.

        Parameters
        ----------
        path : path
            JSON file, or compressed JSON file.

        Returns
        -------
        estimator
            With parameters and tree as saved; its predictions are those of the saved one, bit for bit.

        Raises
        ------
        ValueError
            If the file is not such a document, or holds another class; `fasttree.load` reads any.
        OSError
            If the file cannot be read.
        """
        model = load(path)
        if not isinstance(model, cls):
            raise ValueError(f"{os.fspath(path)} holds a {type(model).__name__}, not a {cls.__name__}: read it by fasttree.load")
        return model

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of weighted impurity, float64 of shape (n_features,); sums to 1.

        Breiman et al. (1984), section 5.3, without surrogates: the decrease of risk (weight times impurity) at the nodes that
        test the feature.  All zero for a tree without a test.
        """
        check_is_fitted(self)
        tree = self.tree_
        risk = tree.risk
        children = np.bincount(tree.parent[1:], weights=risk[1:], minlength=tree.node_count)
        inner = tree.feature >= 0
        decrease = np.bincount(tree.feature[inner], weights=(risk - children)[inner], minlength=self.n_features_in_)
        total = decrease.sum()
        return decrease / total if total > 0 else np.zeros(self.n_features_in_)


class _TreeClassifier(ClassifierMixin, _BaseTree):  # type: ignore[misc]
    """Target and predictions of a classifier."""

    classes_: NDArray[Any]
    n_classes_: int

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are then
            the classes, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative; None stands for ones.  A sample of weight 0 is as good as absent.

        Returns
        -------
        self
        """
        recipe = self._checked_recipe()
        table = self._learn_table(X, recipe)
        classes, codes = encode_classes(y)
        if len(classes) > _MAX_CLASSES:
            raise ValueError(f"y has {len(classes)} classes; at most {_MAX_CLASSES} are supported: use CARTRegressor for numbers")
        _check_same_length(table.n_samples, len(codes))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, table.n_samples)
        self._grow(recipe, table, codes, self._weigh(codes, weight, classes), n_classes=len(classes))
        self._keep_classes(classes)
        return self

    def _weigh(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return weight
        by_class: NDArray[np.float64]
        by_class = _weigh_classes(self.class_weight, self.classes_ if classes is None else classes, target)[target]
        return by_class if weight is None else weight * by_class

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

    def _keep_classes(self, classes: NDArray[Any]) -> None:
        self.classes_ = classes
        self.n_classes_ = len(classes)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Share of each class in the weight of the leaf, in the order of `classes_`; rows sum to 1.  A leaf that no sample
            of the fit reached gives all to the largest class of its parent.
        """
        table = self._encode_table(X)
        return _grow.predict_value(self.tree_, table)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class; of equally probable ones the first in `classes_`.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
        """
        probability = self.predict_proba(X)
        predicted: NDArray[Any] = self.classes_[probability.argmax(axis=1)]
        return predicted

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the natural logarithm of `predict_proba`; minus infinity for a class that does not occur.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
        """
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(probability)


class ID3Classifier(_TreeClassifier):
    """Classification tree by ID3: nominal and ordinal features, information gain, one branch per category.

    A node is split by the feature with the largest information gain in bits, into one branch per category that occurs in the
    node; a feature is used at most once on a path.  Columns of integers are categories.  Continuous features and missing
    values are outside the algorithm and refused: see `C45Classifier` and `CARTClassifier`.

    Parameters
    ----------
    epsilon : float, default=0.0
        A split needs an information gain larger than this, in bits.
    pruning : str or None, default=None
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); here without raising of
        branches.
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
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: the sample stops at the node that asks for it, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`.

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
        The choices that make the algorithm, as the parameters described them.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets, 1.

    References
    ----------
    Quinlan, J. R. (1986). Induction of Decision Trees. Machine Learning, 1, 81-106.

    Examples
    --------
    >>> from fasttree import ID3Classifier
    >>> outlook_windy = [["sunny", "no"], ["sunny", "yes"], ["rain", "no"], ["rain", "yes"], ["overcast", "yes"]]
    >>> play = ["no", "no", "yes", "no", "yes"]
    >>> model = ID3Classifier().fit(outlook_windy, play)
    >>> model.predict([["rain", "no"], ["overcast", "no"]])
    array(['yes', 'yes'], dtype='<U3')
    """

    _rules = {**_CLASSIFIER_RULES, **_PRUNING_RULES, "epsilon": _AMOUNT}
    _integers = "nominal"

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        pruning: str | None = None,
        ccp_alpha: float | str = 0.0,
        pruning_risk: str = "impurity",
        cv: Any = 10,
        rule: str = "best",
        validation_fraction: float = 0.3,
        tolerance: float = 0.0,
        alpha: float = 0.0,
        alpha_unit: str = "bits",
        confidence: float = 0.25,
        m: float | str = 2.0,
        critical_value: float | None = None,
        max_p_value: float = 0.05,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_impurity: float = 0.0,
        max_features: float | str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical_features: Sequence[str] | Sequence[int] | None = None,
        ordinal_features: Mapping[Any, Sequence[Any]] | None = None,
        unseen: str = "as_missing",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.pruning_risk = pruning_risk
        self.cv = cv
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.tolerance = tolerance
        self.alpha = alpha
        self.alpha_unit = alpha_unit
        self.confidence = confidence
        self.m = m
        self.critical_value = critical_value
        self.max_p_value = max_p_value
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_impurity = min_impurity
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unseen = unseen
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        return ID3

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of some 1e-16 where there is none.
        return max(float(self.epsilon), 1e-12)


class C45Classifier(_TreeClassifier):
    """Classification tree by C4.5: gain ratio, thresholds, missing values shared out, pruned by predicted errors.

    The tree is that of Quinlan's C4.5 Release 8.  Of the splits whose gain is at least average the one with the largest gain
    ratio wins.  Nominal and ordinal features get a branch per declared category, continuous ones a threshold that occurs in the
    data.  A sample whose value is missing goes down every branch with a share of its weight, in training and in prediction.
    Then, from the bottom up, a subtree becomes a leaf, or its heaviest branch takes its place, where that is not predicted to
    make more errors.

    Parameters
    ----------
    criterion : {"gain_ratio", "gain"}, default="gain_ratio"
        How the splits of different features compete (option `-g` of the original is "gain").
    variant : {"release8", "textbook"}, default="release8"
        The program, or the algorithm as textbooks give it: the largest gain ratio of all features without a filter by average
        gain, thresholds midway between two values of the node, no least weight of a branch, no penalty for many thresholds, a
        branch per category that occurs, and no split taken back.
    epsilon : float, default=0.0
        Textbook: a split needs a gain ratio (or gain, in bits) larger than this.
    subset : bool, default=False
        Whether a split of a feature of more than two categories groups them, by greedy merging (option `-s`); Release 8.  At
        most 1,000 categories, as the time grows with their third power.
    min_samples_branch : float, default=2
        A split needs at least two branches of this weight (option `-m`); Release 8.  Weights are cases: with sample weights that
        sum to 1 nothing would be split.
    pruning : str or None, default="error_based"
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); here
        with raising of branches.
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
        Error-based: level, in (0, 1), of the upper limit that is the predicted error of a leaf; smaller values prune more
        (option `-c`, there in percent).
    m : float or "laplace", default=2.0
        Minimum-error: weight of the prior, the classes of all samples; or one sample of each class.
    critical_value : float or None, default=None
        Critical-value: least gain; None: chosen on samples held out.
    max_p_value : float, default=0.05
        Chi-square: largest probability, under independence, of a statistic as large as a test's.
    soft_thresholds : bool, default=False
        Whether a value near a threshold goes to both branches in part, in prediction; the intervals are found on the finished
        tree (option `-p`; the original's own evaluation ignores them).
    windowing : bool, default=False
        Whether trees are grown on a random window of the samples, to which those that the tree gets wrong are added until there
        are none; of several trials the tree with the fewest estimated errors predicts (options `-t`, `-w`, `-i`).
    n_trials : int, default=10
        Windowing: number of trials.
    window_size : int or None, default=None
        Windowing: samples in the first window; None: a fifth of all, and at least twice their square root.
    window_increment : int or None, default=None
        Windowing: samples that a window grows by at most, unless half of the exceptions are more; None: a fifth of the first
        window.
    min_part_weight : float, default=0.0
        Part of a sample with a missing value below which it is not divided any more but follows the heaviest branch, in
        training, in the unit of the sample weights.  0, as in the original, divides always.  Where a fifth of the cells are
        missing and rows are many, 0.1 halves the time, or better.
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
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features` and of windowing.

    Attributes
    ----------
    tree_ : Tree
        The tree that predicts, as flat arrays; pruned by error it has `estimated_errors`.
    tree_unpruned_ : Tree
        The tree as grown.  It is not saved: a loaded model has `tree_` alone.
    pruning_table_ : Bunch
        Where a subtree was chosen: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and `xstd` (in units of the root's
        error), an entry per subtree, and the index of the `chosen` one.
    trees_unpruned_ : list of Tree
        Windowing: the best tree of each trial, as grown; `C45Rules` makes its rules of all of them.
    recipe_ : Recipe
        The choices that make the algorithm, as the parameters described them.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets, 1.

    Notes
    -----
    A class that the fit declares without samples counts, as does a category that does not occur: its branch is an empty leaf of
    weight 0, which answers as its parent and is a node of `tree_.node_count`, as in the original's size.  A sample all of whose
    values are missing reaches every leaf in proportion; a feature all of whose values are missing is never tested.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.

    Quinlan, J. R. (1996). Improved Use of Continuous Attributes in C4.5. Journal of Artificial Intelligence Research, 4, 77-90.

    Li, H. (2012). Statistical Learning Methods. Tsinghua University Press.

    Examples
    --------
    >>> from fasttree import C45Classifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C45Classifier().fit(X, y)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    >>> model.tree_.node_count, round(float(model.tree_.estimated_errors[0]), 4)
    (9, 9.6976)
    """

    trees_unpruned_: list[Tree]

    _raises_branches = True
    _rules = {
        **_CLASSIFIER_RULES,
        **_PRUNING_RULES,
        "criterion": _one_of("gain_ratio", "gain"),
        "variant": _one_of("release8", "textbook"),
        "epsilon": _AMOUNT,
        "subset": _FLAG,
        "min_samples_branch": (lambda value: _is_amount(value) and value > 0, "a finite number > 0"),
        "soft_thresholds": _FLAG,
        "windowing": _FLAG,
        "n_trials": (lambda value: _is_integer(value) and value >= 1, "an integer >= 1"),
        "window_size": _COUNT_OR_NONE,
        "window_increment": _COUNT_OR_NONE,
        "min_part_weight": _AMOUNT,
    }

    def __init__(
        self,
        *,
        criterion: str = "gain_ratio",
        variant: str = "release8",
        epsilon: float = 0.0,
        subset: bool = False,
        min_samples_branch: float = 2,
        pruning: str | None = "error_based",
        ccp_alpha: float | str = 0.0,
        pruning_risk: str = "impurity",
        cv: Any = 10,
        rule: str = "best",
        validation_fraction: float = 0.3,
        tolerance: float = 0.0,
        alpha: float = 0.0,
        alpha_unit: str = "bits",
        confidence: float = 0.25,
        m: float | str = 2.0,
        critical_value: float | None = None,
        max_p_value: float = 0.05,
        soft_thresholds: bool = False,
        windowing: bool = False,
        n_trials: int = 10,
        window_size: int | None = None,
        window_increment: int | None = None,
        min_part_weight: float = 0.0,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_impurity: float = 0.0,
        max_features: float | str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical_features: Sequence[str] | Sequence[int] | None = None,
        ordinal_features: Mapping[Any, Sequence[Any]] | None = None,
        unseen: str = "as_missing",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.criterion = criterion
        self.variant = variant
        self.epsilon = epsilon
        self.subset = subset
        self.min_samples_branch = min_samples_branch
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.pruning_risk = pruning_risk
        self.cv = cv
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.tolerance = tolerance
        self.alpha = alpha
        self.alpha_unit = alpha_unit
        self.confidence = confidence
        self.m = m
        self.critical_value = critical_value
        self.max_p_value = max_p_value
        self.soft_thresholds = soft_thresholds
        self.windowing = windowing
        self.n_trials = n_trials
        self.window_size = window_size
        self.window_increment = window_increment
        self.min_part_weight = min_part_weight
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_impurity = min_impurity
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unseen = unseen
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        if self.variant == "textbook":
            if self.subset:
                raise ValueError("subset=True and variant='textbook' exclude each other: grouping is a detail of Release 8")
            return C45_TEXTBOOK if self.criterion == "gain_ratio" else replace(C45_TEXTBOOK, rank="gain")
        if self.windowing and (
            isinstance(self.ccp_alpha, str) or (self.pruning == "critical_value" and self.critical_value is None)
        ):
            raise ValueError(
                "windowing=True and a pruning that is chosen (ccp_alpha='cv' or 'validation', critical_value=None) exclude each "
                "other: set the number"
            )
        if self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} and variant='release8' exclude each other: use variant='textbook'")
        form = "groups" if self.subset else "category"
        return replace(C45, rank=self.criterion, nominal=form, ordinal=form)

    def _learn_table(self, X: Any, recipe: Recipe) -> Table:
        table = super()._learn_table(X, recipe)
        for feature in table.schema.features:
            if self.subset and feature.categories is not None and len(feature.categories) > _MOST_GROUPED:
                raise ValueError(
                    f"column {feature.name!r} has {len(feature.categories)} categories: subset=True groups at most "
                    f"{_MOST_GROUPED}; use subset=False"
                )
        return table

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of some 1e-16 where there is none.
        return max(float(self.epsilon), 1e-12) if self.variant == "textbook" else -math.inf

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _min_part_weight(self) -> float:
        return float(self.min_part_weight)

    def _make_tree(self, samples: Samples, grow: _Grow, prune: Callable[[Tree], Tree]) -> Tree:
        table, target, weight = samples.table, samples.target, samples.weight
        self.__dict__.pop("trees_unpruned_", None)  # a fit with windows may have gone before
        if self.windowing:
            trials, best = _windowing.grow_in_windows(
                table,
                target,
                weight,
                lambda rows: grow(rows=rows),
                prune,
                n_trials=self.n_trials,
                size=self.window_size,
                increment=self.window_increment,
                random=check_random_state(self.random_state),
            )
            self.trees_unpruned_ = [trial.grown for trial in trials]
            self.tree_unpruned_, tree = trials[best]
        else:
            tree = super()._make_tree(samples, grow, prune)
        return _soften.soften(tree, table, target, weight) if self.soft_thresholds else tree


class CARTClassifier(_TreeClassifier):
    """Classification tree by CART: binary splits, Gini impurity.

    Continuous and ordinal features are split at a threshold (midway between neighbouring values of the node), nominal ones
    into two groups of categories.

    Parameters
    ----------
    criterion : {"gini", "entropy", "misclassification"}, default="gini"
        Impurity of a node; entropy in bits.
    nominal : {"subset", "one_vs_rest"}, default="subset"
        A nominal feature splits the categories into two groups, or one category from the rest.
    missing : {"direction", "error"}, default="direction"
        A sample whose value is missing goes to the side that gained most in training, or is refused.
    pruning : str or None, default=None
        "cost_complexity": the subtree of least `risk + ccp_alpha x leaves` (Breiman et al. 1984, chapter 3).  "c_alpha": of least
        `weight x entropy, summed over leaves, + alpha x leaves` (Li Hang 2012, section 5.4).  "reduced_error": of least error on
        samples held out from the growth (Quinlan 1987).  "pessimistic": of few errors, with half an error more per leaf and one
        standard error (Quinlan 1987).  "error_based": of few errors as C4.5 predicts them (Quinlan 1993); here without raising of
        branches.
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
        Least number of samples in either branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of either branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    class_weight : dict, "balanced" or None, default=None
        Weight by class, times the sample weights.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`.

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
        The choices that make the algorithm, as the parameters described them.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_classes_ : int
        Number of classes.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets, 1.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CARTClassifier(max_depth=2).fit(X, y)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    """

    _rules = {**_CLASSIFIER_RULES, **_CART_RULES, **_PRUNING_RULES, "criterion": _one_of("gini", "entropy", "misclassification")}

    def __init__(
        self,
        *,
        criterion: str = "gini",
        nominal: str = "subset",
        missing: str = "direction",
        pruning: str | None = None,
        ccp_alpha: float | str = 0.0,
        pruning_risk: str = "impurity",
        cv: Any = 10,
        rule: str = "best",
        validation_fraction: float = 0.3,
        tolerance: float = 0.0,
        alpha: float = 0.0,
        alpha_unit: str = "bits",
        confidence: float = 0.25,
        m: float | str = 2.0,
        critical_value: float | None = None,
        max_p_value: float = 0.05,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_impurity: float = 0.0,
        max_features: float | str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical_features: Sequence[str] | Sequence[int] | None = None,
        ordinal_features: Mapping[Any, Sequence[Any]] | None = None,
        unseen: str = "as_missing",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.criterion = criterion
        self.nominal = nominal
        self.missing = missing
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.pruning_risk = pruning_risk
        self.cv = cv
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.tolerance = tolerance
        self.alpha = alpha
        self.alpha_unit = alpha_unit
        self.confidence = confidence
        self.m = m
        self.critical_value = critical_value
        self.max_p_value = max_p_value
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_impurity = min_impurity
        self.max_features = max_features
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unseen = unseen
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        return replace(CART_CLASSIFICATION, impurity=self.criterion, nominal=self.nominal, missing=self.missing)


class CARTRegressor(RegressorMixin, _BaseTree):  # type: ignore[misc]
    """Regression tree by CART: binary splits, squared error.

    Continuous and ordinal features are split at a threshold (midway between neighbouring values of the node), nominal ones
    into two groups of categories.  A leaf predicts the weighted mean of its samples.

    Parameters
    ----------
    criterion : {"squared_error"}, default="squared_error"
        Impurity of a node: the variance of its targets.
    nominal : {"subset", "one_vs_rest"}, default="subset"
        A nominal feature splits the categories into two groups, or one category from the rest.
    missing : {"direction", "error"}, default="direction"
        A sample whose value is missing goes to the side that gained most in training, or is refused.
    pruning : {"cost_complexity", "c_alpha", "reduced_error"} or None, default=None
        "cost_complexity": the subtree of least `variance plus ccp_alpha times its leaves` (Breiman et al. 1984, chapter 3).
        "c_alpha": of least `sum of squared errors plus alpha times its leaves` (Li Hang 2012, section 5.4).  "reduced_error": of
        least squared error on samples held out from the growth (Quinlan 1987).  None: as grown.
    ccp_alpha : float, "cv" or "validation", default=0.0
        What a leaf costs in cost-complexity pruning, in squared error per unit weight, as in scikit-learn; above 0 it asks for
        that pruning.  "cv" chooses it by cross-validation, "validation" on samples held out.
    cv : int, splitter or list of (train, test), default=10
        Folds of ``ccp_alpha="cv"``; a number makes random ones.
    rule : {"best", "1se"}, default="best"
        What is chosen on other samples: the subtree of least error, or the smallest within one standard error of it.
    validation_fraction : float, default=0.3
        Share of the samples that is held out from the growth, where a pruning needs it.
    tolerance : float, default=0.0
        Reduced-error: by how much the mean squared error may rise at a node that is pruned.
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in squared error.
    max_depth : int or None, default=None
        Largest number of tests on a path.
    max_leaf_nodes : int or None, default=None
        Largest number of leaves: the nodes of largest gain times weight are split first.
    min_samples_split : int or float, default=2
        A node with fewer samples is a leaf; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Least number of samples in either branch; a float is a share of all samples.
    min_weight_fraction_leaf : float, default=0.0
        Least weight of either branch, as a share of the weight of all samples.
    min_impurity_decrease : float, default=0.0
        Least gain of a split times the node's share of the weight of all samples.
    min_impurity : float, default=0.0
        A node of smaller impurity is a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number of features that each node draws to choose from; a float is a share of all features.
    categorical_features : list of str or of int, or None, default=None
        Columns to be taken as nominal, by name or index.
    ordinal_features : dict or None, default=None
        Columns to be taken as ordinal: `{name or index: [lowest, ..., highest]}`.
    unseen : {"as_missing", "error"}, default="as_missing"
        A category at prediction that the fit did not know: treated as a missing value, or an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws of `max_features`.

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
        The choices that make the algorithm, as the parameters described them.
    schema_ : Schema
        Names, kinds and categories of the features.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where the table had names.
    max_features_ : int
        Number of features that each node drew.
    n_outputs_ : int
        Number of targets, 1.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.

    Examples
    --------
    >>> from fasttree import CARTRegressor
    >>> model = CARTRegressor().fit([[1.0], [2.0], [3.0], [4.0]], [10.0, 10.0, 20.0, 20.0])
    >>> model.predict([[0.0], [2.4], [2.6]])
    array([10., 10., 20.])
    """

    _prunings = _REGRESSION_PRUNINGS
    _rules = {**_COMMON_RULES, **_CART_RULES, **_REGRESSION_PRUNING_RULES, "criterion": _one_of("squared_error")}

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        nominal: str = "subset",
        missing: str = "direction",
        pruning: str | None = None,
        ccp_alpha: float | str = 0.0,
        cv: Any = 10,
        rule: str = "best",
        validation_fraction: float = 0.3,
        tolerance: float = 0.0,
        alpha: float = 0.0,
        max_depth: int | None = None,
        max_leaf_nodes: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_impurity: float = 0.0,
        max_features: float | str | None = None,
        categorical_features: Sequence[str] | Sequence[int] | None = None,
        ordinal_features: Mapping[Any, Sequence[Any]] | None = None,
        unseen: str = "as_missing",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.criterion = criterion
        self.nominal = nominal
        self.missing = missing
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.rule = rule
        self.validation_fraction = validation_fraction
        self.tolerance = tolerance
        self.alpha = alpha
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_impurity = min_impurity
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.ordinal_features = ordinal_features
        self.unseen = unseen
        self.random_state = random_state

    def _recipe(self) -> Recipe:
        return replace(CART_REGRESSION, impurity=self.criterion, nominal=self.nominal, missing=self.missing)

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
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
        _check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, table.n_samples)
        self._grow(recipe, table, target, weight, n_classes=0)
        return self

    def _encode_target(self, y: Any) -> NDArray[np.float64]:
        target = encode_values(y)
        largest = float(np.abs(target).max())
        if largest > _LARGEST:
            raise ValueError(f"y holds values of size {largest:g}: scale them to {_LARGEST:g} at most")
        return target

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Mean of the leaf.
        """
        table = self._encode_table(X)
        return _grow.predict_value(self.tree_, table)[:, 0]


_ESTIMATORS: dict[tuple[str, str], type[_BaseTree]] = {
    (ID3.name, "classification"): ID3Classifier,
    (C45.name, "classification"): C45Classifier,
    (CART_CLASSIFICATION.name, "classification"): CARTClassifier,
    (CART_REGRESSION.name, "regression"): CARTRegressor,
}


def load(path: str | os.PathLike[str]) -> ID3Classifier | C45Classifier | CARTClassifier | CARTRegressor | C45Rules:
    """Read a fitted estimator from a file that its `save` wrote.

    Parameters
    ----------
    path : path
        JSON file, or compressed JSON file.

    Returns
    -------
    estimator
        Of the class, with the parameters and the tree or rules that were saved; its predictions are those of the saved one, bit
        for bit.

    Raises
    ------
    ValueError
        If the file is not such a document, or its algorithm is unknown.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import fasttree
    >>> model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.json"))
    ...     fasttree.load(os.path.join(folder, "model.json")).predict([[3.0]])
    array(['yes'], dtype='<U3')
    """
    from . import rules  # which imports this file: rules are made of the trees that are grown here

    try:
        document = _document.load(path)
        versions = {_document.FORMAT: _document.VERSION, rules.FORMAT: rules.VERSION}
        if _document.check_format(document, versions) == rules.FORMAT:
            return rules.C45Rules._from_document(document)
        saved = _document.from_document(document)
    except _document.DocumentError as error:
        raise _document.DocumentError(f"{os.fspath(path)}: {error}") from None
    estimator = _ESTIMATORS.get((saved.algorithm, saved.tree.task))
    if estimator is None:
        known = ", ".join(f"{algorithm} ({task})" for algorithm, task in _ESTIMATORS)
        raise ValueError(f"{os.fspath(path)} holds a tree by {saved.algorithm!r} ({saved.tree.task}): this version knows {known}")
    names = estimator._get_param_names()
    model = estimator(**{name: value for name, value in saved.settings.items() if name in names})
    model._keep(saved.tree, model._recipe(), saved.schema)
    if saved.classes is not None:
        model._keep_classes(saved.classes)
    return model
