"""The scikit-learn face: parameters become a recipe and limits, a table becomes codes, a grown tree becomes predictions.

Everything that makes one estimator differ from another is its recipe and what its parameters may say.  Nothing here looks
for a split or walks a tree, and nothing here knows pandas, polars or Arrow.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from . import __version__, _document, _grow, _prune, _soften, _text, _windowing
from ._recipe import C45, C45_TEXTBOOK, CART_CLASSIFICATION, CART_REGRESSION, ID3, Limits, Recipe
from ._table import Feature, Schema, Table, encode_classes, encode_table, encode_values, learn_table
from ._tree import Tree

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["C45Classifier", "CARTClassifier", "CARTRegressor", "ID3Classifier", "load"]

_MAX_CLASSES = 2**16  # the engine keeps the class of a sample in 16 bits
_LARGEST = 1e100  # of a target and of a sum of weights: squares and products of these stay finite

_Rule = tuple[Callable[[Any], bool], str]  # whether a parameter's value is allowed, and what is


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_fraction(value: Any) -> bool:
    """Whether `value` is a share in (0, 1], told from a count by its type, as scikit-learn does: 1.0 is a share, 1 a count."""
    return _is_number(value) and not _is_integer(value) and 0 < value <= 1


def _is_amount(value: Any) -> bool:
    return _is_number(value) and 0 <= value < math.inf


def _one_of(*words: str) -> _Rule:
    return lambda value: isinstance(value, str) and value in words, " or ".join(repr(word) for word in words)


_AMOUNT: _Rule = _is_amount, "a finite number >= 0"
_COUNT_OR_NONE: _Rule = lambda value: value is None or (_is_integer(value) and value >= 1), "an integer >= 1, or None"
_FLAG: _Rule = lambda value: isinstance(value, bool | np.bool_), "True or False"

_COMMON_RULES: dict[str, _Rule] = {
    "max_depth": (lambda value: value is None or (_is_integer(value) and value >= 1), "an integer >= 1, or None for no limit"),
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

    tree_: Tree
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
        return self._recipe()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # `string` stands for raw text, as of documents
        tags.input_tags.allow_nan = self._recipe().missing != "error"
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
        n_samples, n_features = table.n_samples, table.n_features
        total = n_samples if weight is None else float(weight.sum())
        if total == 0:
            raise ValueError("Sample weights must contain at least one non-zero number: all weights are zero")
        if not 1 / _LARGEST <= total <= _LARGEST:
            raise ValueError(f"the weights sum to {total:g}: scale them so that the sum is from {1 / _LARGEST:g} to {_LARGEST:g}")
        max_features = self._count_features(n_features)
        draws = max_features < n_features
        limits = Limits(
            max_depth=None if self.max_depth is None else int(self.max_depth),
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
        tree = self._make_tree(table, target, weight, recipe, limits, n_classes)
        self._keep(tree, recipe, table.schema)

    def _make_tree(
        self,
        table: Table,
        target: NDArray[Any],
        weight: NDArray[np.float64] | None,
        recipe: Recipe,
        limits: Limits,
        n_classes: int,
    ) -> Tree:
        return _grow.grow(table, target, weight, recipe, limits, n_classes=n_classes)

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
            pandas or polars DataFrame, Arrow table, NumPy array or list of rows.  Never modified.
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
        if self.class_weight is not None:
            by_class = _weigh_classes(self.class_weight, classes, codes)[codes]
            weight = by_class if weight is None else weight * by_class
        self._grow(recipe, table, codes, weight, n_classes=len(classes))
        self._keep_classes(classes)
        return self

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
    max_depth : int or None, default=None
        Largest number of tests on a path.
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

    _rules = {**_CLASSIFIER_RULES, "epsilon": _AMOUNT}
    _integers = "nominal"

    def __init__(
        self,
        *,
        epsilon: float = 0.0,
        max_depth: int | None = None,
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
        self.max_depth = max_depth
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
        Whether a split of a feature of more than two categories groups them, by greedy merging (option `-s`); Release 8.
    min_samples_branch : float, default=2
        A split needs at least two branches of this weight (option `-m`; weight is number of samples if unweighted); Release 8.
    pruning : {"error_based", "c_alpha"} or None, default="error_based"
        "error_based": Quinlan's.  "c_alpha": the subtree of least `sum over its leaves of weight times entropy (bits), plus alpha
        times its leaves` (Li Hang 2012, section 5.4).  None: as grown.
    confidence : float, default=0.25
        Error-based pruning: level, in (0, 1), of the upper limit that is the predicted error of a leaf; smaller values prune more
        (option `-c`, there in percent).
    alpha : float, default=0.0
        C_alpha: what a leaf costs, in bits.
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
        training.  0, as in the original, divides always.  Where a fifth of the cells are missing and rows are many, 0.1 halves
        the time, or better.
    max_depth : int or None, default=None
        Largest number of tests on a path.
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

    tree_unpruned_: Tree
    trees_unpruned_: list[Tree]

    _rules = {
        **_CLASSIFIER_RULES,
        "criterion": _one_of("gain_ratio", "gain"),
        "variant": _one_of("release8", "textbook"),
        "epsilon": _AMOUNT,
        "subset": _FLAG,
        "min_samples_branch": (lambda value: _is_amount(value) and value > 0, "a finite number > 0"),
        "pruning": (
            lambda value: value is None or (isinstance(value, str) and value in ("error_based", "c_alpha")),
            "'error_based', 'c_alpha' or None",
        ),
        "confidence": (lambda value: _is_number(value) and 0 < value < 1, "a number in (0, 1), such as 0.25"),
        "alpha": _AMOUNT,
        "soft_thresholds": _FLAG,
        "windowing": _FLAG,
        "n_trials": (lambda value: _is_integer(value) and value >= 1, "an integer >= 1"),
        "window_size": _COUNT_OR_NONE,
        "window_increment": _COUNT_OR_NONE,
        "min_part_weight": (lambda value: _is_amount(value) and value < 1, "a number in [0, 1)"),
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
        confidence: float = 0.25,
        alpha: float = 0.0,
        soft_thresholds: bool = False,
        windowing: bool = False,
        n_trials: int = 10,
        window_size: int | None = None,
        window_increment: int | None = None,
        min_part_weight: float = 0.0,
        max_depth: int | None = None,
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
        self.confidence = confidence
        self.alpha = alpha
        self.soft_thresholds = soft_thresholds
        self.windowing = windowing
        self.n_trials = n_trials
        self.window_size = window_size
        self.window_increment = window_increment
        self.min_part_weight = min_part_weight
        self.max_depth = max_depth
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
        if self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} and variant='release8' exclude each other: use variant='textbook'")
        form = "groups" if self.subset else "category"
        return replace(C45, rank=self.criterion, nominal=form, ordinal=form)

    def _min_gain(self) -> float:
        # Rounding alone can leave a gain of some 1e-16 where there is none.
        return max(float(self.epsilon), 1e-12) if self.variant == "textbook" else -math.inf

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _min_part_weight(self) -> float:
        return float(self.min_part_weight)

    def _make_tree(
        self,
        table: Table,
        target: NDArray[Any],
        weight: NDArray[np.float64] | None,
        recipe: Recipe,
        limits: Limits,
        n_classes: int,
    ) -> Tree:
        def prune(tree: Tree) -> Tree:
            return self._prune(tree, table, target, weight)

        def grow_on(rows: NDArray[np.intp]) -> Tree:
            return _grow.grow(table, target, weight, recipe, limits, n_classes=n_classes, rows=rows)

        self.__dict__.pop("trees_unpruned_", None)  # a fit with windows may have gone before
        if self.windowing:
            trials, best = _windowing.grow_in_windows(
                table,
                target,
                weight,
                grow_on,
                prune,
                n_trials=self.n_trials,
                size=self.window_size,
                increment=self.window_increment,
                random=check_random_state(self.random_state),
            )
            self.trees_unpruned_ = [trial.grown for trial in trials]
            self.tree_unpruned_, tree = trials[best]
        else:
            self.tree_unpruned_ = super()._make_tree(table, target, weight, recipe, limits, n_classes)
            tree = prune(self.tree_unpruned_)
        return _soften.soften(tree, table, target, weight) if self.soft_thresholds else tree

    def _prune(self, tree: Tree, table: Table, classes: NDArray[Any], weight: NDArray[np.float64] | None) -> Tree:
        if self.pruning == "error_based":
            part = float(self.min_part_weight)
            pruned = _prune.error_based(tree, table, classes, weight, float(self.confidence), min_part_weight=part)
            return _prune.without_impossible_categories(pruned) if self.subset else pruned
        return tree if self.pruning is None else _prune.c_alpha(tree, float(self.alpha))


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
    max_depth : int or None, default=None
        Largest number of tests on a path.
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

    _rules = {**_CLASSIFIER_RULES, **_CART_RULES, "criterion": _one_of("gini", "entropy", "misclassification")}

    def __init__(
        self,
        *,
        criterion: str = "gini",
        nominal: str = "subset",
        missing: str = "direction",
        max_depth: int | None = None,
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
        self.max_depth = max_depth
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
    max_depth : int or None, default=None
        Largest number of tests on a path.
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

    _rules = {**_COMMON_RULES, **_CART_RULES, "criterion": _one_of("squared_error")}

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        nominal: str = "subset",
        missing: str = "direction",
        max_depth: int | None = None,
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
        self.max_depth = max_depth
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
            pandas or polars DataFrame, Arrow table, NumPy array or list of rows.  Never modified.
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
        target = encode_values(y)
        _check_same_length(table.n_samples, len(target))
        largest = float(np.abs(target).max())
        if largest > _LARGEST:
            raise ValueError(f"y holds values of size {largest:g}: scale them to {_LARGEST:g} at most")
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, table.n_samples)
        self._grow(recipe, table, target, weight, n_classes=0)
        return self

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


def load(path: str | os.PathLike[str]) -> ID3Classifier | C45Classifier | CARTClassifier | CARTRegressor:
    """Read a fitted estimator from a file that its `save` wrote.

    Parameters
    ----------
    path : path
        JSON file, or compressed JSON file.

    Returns
    -------
    estimator
        Of the class, with the parameters and the tree that were saved; its predictions are those of the saved one, bit for bit.

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
    try:
        saved = _document.from_document(_document.load(path))
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
