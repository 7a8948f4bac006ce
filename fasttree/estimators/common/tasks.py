"""Bases of classifiers and regressors: targets, class weights, priors, costs, scores."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from fasttree._data.checks import is_collection
from fasttree._data.table import Table
from fasttree._data.targets import encode_classes, encode_values, open_target, target_columns, target_names
from fasttree._data.weights import (
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
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Samples
from fasttree._model import walks
from fasttree._scale.estimating import check_fit, fit_classes, fit_collections, fit_numbers, is_dataset
from fasttree.estimators.common.base import BaseTree
from fasttree.estimators.common.fitted import LogProbability, all_or_nothing, with_bars
from fasttree.estimators.common.growing import Growing
from fasttree.estimators.common.growth_parameters import ClassChoices
from fasttree.estimators.common.pruning import Training
from fasttree.estimators.common.pruning_parameters import Pruning, RegressionPruning

_MAX_CLASSES = 2**16  # the engine keeps the class of a sample in 16 bits
_LARGEST = 1e60  # largest size of a target: weights times squares of squares stay finite


ATTRIBUTES_BY_TARGET = {  # of classifiers for several targets
    "classes_": (
        "ndarray of shape (n_classes,) or list of ndarray",
        "The classes; a list with an array per target if y has several.",
    ),
    "n_classes_": ("int or list of int", "Number of classes; a list with a number per target if y has several."),
}


class Classifying(LogProbability, ClassifierMixin, Growing):  # type: ignore[misc]
    """Fit to classes, by the growth of the estimator."""

    classes_: Any
    n_classes_: Any
    class_weight: Any

    @all_or_nothing
    @with_bars
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree, or the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.  Or a
            `Dataset`, which has its target and its weights, or a Dask collection, whose rows are not brought together.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are then
            the classes, in their order.  CART also takes several targets, shape (n_samples, n_outputs), each with its own
            classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative.  None: all are 1.  A sample of weight 0 counts as absent.

        Returns
        -------
        self
        """
        if is_dataset(X):
            fit_classes(self, X, check_fit(self, y, sample_weight))
            return self
        if is_collection(X) or is_collection(y):
            fit_collections(self, X, y, sample_weight, fit_classes)
            return self
        recipe = self._checked_recipe()
        table, y = self._learn_table(X, recipe), open_target(y)
        columns = self._several_targets(y)
        if columns is not None:
            self.target_names_ = target_names(y, len(columns))
            self._fit_several(recipe, table, columns, sample_weight, X)
            return self
        classes, codes = encode_classes(y)
        if len(classes) > _MAX_CLASSES:
            raise ValueError(f"y has {len(classes)} classes; at most {_MAX_CLASSES} are supported: use CARTRegressor for numbers")
        check_same_length(table.n_samples, len(codes))
        given = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(codes, given, classes)
        factor, loss = self._class_factor(codes, weight, classes), self._loss(classes)
        samples = Samples(table, codes, weight, factor, recipe.impurity)
        self._keep_classes(classes)
        self.target_names_ = target_names(y, 1)
        self._grow(Training(recipe, samples, X, len(classes), classes, loss=loss, sample_weight=given))
        return self

    def _fit_several(self, recipe: Recipe, table: Table, columns: list[Any], sample_weight: ArrayLike | None, X: Any) -> None:
        for name in ("priors", "loss_matrix"):
            if getattr(self, name, None) is not None:
                raise ValueError(f"{name} and several targets exclude each other: y has {len(columns)} columns")
        encoded = [encode_classes(column) for column in columns]
        classes, codes = [labels for labels, _ in encoded], np.column_stack([codes for _, codes in encoded])
        outputs = tuple(map(len, classes))
        if sum(outputs) > _MAX_CLASSES:
            raise ValueError(f"the targets have {sum(outputs)} classes together; at most {_MAX_CLASSES} are supported")
        check_same_length(table.n_samples, len(codes))
        given = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        samples = Samples(table, codes, self._weigh(codes, given, classes), impurity=recipe.impurity)
        self._keep_classes(classes)
        self._grow(Training(recipe, samples, X, sum(outputs), outputs=outputs, sample_weight=given))

    def _weigh(self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: Any = None) -> NDArray[np.float64] | None:
        if self.class_weight is None:
            return weight
        return weigh_samples(self.class_weight, self.classes_ if classes is None else classes, target, weight)

    def _class_factor(
        self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: NDArray[Any] | None = None
    ) -> NDArray[np.float64] | None:
        if getattr(self, "priors", None) is None:
            return None
        known = self.classes_ if classes is None else classes
        return self._prior_factors(total_by_class(target, weight, len(known)), known, of_fit=classes is not None)

    def _prior_factors(self, totals: NDArray[np.float64], classes: NDArray[Any], *, of_fit: bool) -> NDArray[np.float64] | None:
        """Return the factor of each class by the priors, None without; `totals` are the weights of the classes."""
        priors = getattr(self, "priors", None)
        if priors is None:
            return None
        if self.class_weight is not None:
            raise ValueError(
                f"priors={priors!r} and class_weight={self.class_weight!r} exclude each other: both give weights of classes"
            )
        return factors_by_priors(check_priors(priors, classes), totals, classes, all_occur=of_fit)

    def _loss(self, classes: NDArray[Any]) -> NDArray[np.float64] | None:
        given = getattr(self, "loss_matrix", None)
        return None if given is None or len(classes) == 1 else check_loss_matrix(given, classes)

    def _encode_target(self, y: Any) -> NDArray[np.intp]:
        if isinstance(self.classes_, list):
            columns = self._several_targets(y)
            if columns is None or len(columns) != len(self.classes_):
                raise ValueError(f"y has {len(columns or [y])} columns: the tree has {len(self.classes_)} targets, a column each")
            return np.column_stack([codes_of(*pair) for pair in zip(columns, self.classes_, strict=True)])
        return codes_of(y, self.classes_)

    def _keep_classes(self, classes: NDArray[Any] | list[NDArray[Any]]) -> None:
        self.classes_ = classes
        self.n_classes_ = list(map(len, classes)) if isinstance(classes, list) else len(classes)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; with several targets, the share of samples all of whose classes are predicted right.

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


class BaseClassifier(Classifying, BaseTree, ClassChoices, Pruning):
    """Base of classifiers."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Share of each class in the weight of the leaf, in the order of `classes_`; rows sum to 1.  A leaf that no sample
            of the fit reached gives 1 to the largest class of its parent.  A list of such arrays if there are several targets.
        """
        if is_collection(X):
            return self._lazily("predict_proba", X)
        shares = self._predictions(X)
        return shares if self.tree_.outputs is None else self.tree_.by_output(shares)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, or with a loss matrix that of least expected loss; on ties the first.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
            Predicted classes.  If there are several targets, the shape is (n_samples, n_outputs), and the dtype is object if the
            kinds of their classes differ.
        """
        if "tree_" in self.__dict__ and self.tree_.outputs is not None:
            return self._predict_several(X)
        if type(X) is not np.ndarray and is_collection(X):
            return self._lazily("predict", X)
        found = self._walked(X, self._classes_of)
        if isinstance(found, Table):
            found = self.classes_.take(walks.predict_class(self.tree_, found, n_jobs=self._threads()))
        return found

    def _classes_of(self, nodes: walks.Ends | None) -> NDArray[Any]:
        """Return the predicted class of some nodes, or of all."""
        predicted = self.tree_.predicted_class
        classes: NDArray[Any] = self.classes_.take(predicted if nodes is None else predicted.take(nodes))
        return classes

    def _predict_several(self, X: Any) -> NDArray[Any]:
        """Return a column of classes per target."""
        kinds = {labels.dtype.kind for labels in self.classes_}
        answers = [labels[part.argmax(axis=1)] for labels, part in zip(self.classes_, self.predict_proba(X), strict=True)]
        return np.column_stack(answers if len(kinds) == 1 else [answer.astype(object) for answer in answers])


class Regressing(RegressorMixin, Growing):  # type: ignore[misc]
    """Fit to numbers, by the growth of the estimator."""

    @all_or_nothing
    @with_bars
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the tree, or the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.  Or a
            `Dataset`, which has its target, or a Dask collection, whose rows are not brought together.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target values, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative.  None: all are 1.  A sample of weight 0 counts as absent.

        Returns
        -------
        self
        """
        if is_dataset(X):
            fit_numbers(self, X, check_fit(self, y, sample_weight))
            return self
        if is_collection(X) or is_collection(y):
            fit_collections(self, X, y, sample_weight, fit_numbers)
            return self
        recipe = self._checked_recipe()
        table = self._learn_table(X, recipe)
        target = self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        if recipe.impurity == "poisson":
            check_some_positive(target, weight)
        outputs = None if target.ndim == 1 else (1,) * target.shape[1]
        samples = Samples(table, target, weight, impurity=recipe.impurity)
        self.target_names_ = target_names(y, 1 if outputs is None else len(outputs))
        self._grow(Training(recipe, samples, X, 0, outputs=outputs, sample_weight=weight))
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


class BaseRegressor(Regressing, BaseTree, RegressionPruning):
    """Base of regressors."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_outputs)
            Mean of the leaf, or its median with absolute error.
        """
        if is_collection(X):
            return self._lazily("predict", X)
        means = self._predictions(X)
        return means[:, 0] if self.tree_.outputs is None else means


def codes_of(y: Any, fitted: NDArray[Any]) -> NDArray[np.intp]:
    """Return the codes of classes of the fit."""
    classes, codes = encode_classes(y)
    known = {label: code for code, label in enumerate(fitted.tolist())}
    occurring = np.unique(codes)
    strangers = [label for label in classes[occurring].tolist() if label not in known]
    if strangers:
        raise ValueError(f"y holds classes that were not in the fit: {strangers}; it had {list(known)}")
    code_of = np.zeros(len(classes), dtype=np.intp)
    code_of[occurring] = [known[label] for label in classes[occurring].tolist()]
    return code_of[codes]
