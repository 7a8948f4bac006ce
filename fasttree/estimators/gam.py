"""`GAMClassifier` and `GAMRegressor`: additive models whose shapes are sums of small trees (Lou, Caruana and Gehrke 2012)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from fasttree._data.targets import encode_classes, encode_values
from fasttree._data.weights import weigh_samples
from fasttree._learn.parameters import AMOUNT, ParameterRule, parameter, parameters
from fasttree._model.additive.model import probabilities_of
from fasttree.estimators.additive.base import BaseAdditive
from fasttree.estimators.additive.parameters import NONE_OR_MORE, RATE
from fasttree.estimators.common.fitted import LogProbability, all_or_nothing, with_bars
from fasttree.estimators.common.growth_parameters import BALANCED

__all__ = ["GAMClassifier", "GAMRegressor"]

_LARGEST = 1e60  # largest size of a target: its squares stay finite
_LEAST = 1e-60  # least size of the largest target, unless all are 0: its squares stay above 0


@parameters
class GAMClassifier(LogProbability, ClassifierMixin, BaseAdditive):  # type: ignore[misc]
    """Generalized additive model for classes: each feature adds a score that its shape gives.

    The score of a sample is an intercept plus one number for each feature, which a table gives for the value of the feature.  The
    probability of the second class is ``1 / (1 + exp(-score))``; with three classes or more, each has a score, and probabilities
    are their softmax.  The table of a feature is a shape that can be drawn, read, checked and changed, and the model has nothing
    else.

    Tables are sums of many trees of two leaves.  In every round each feature in turn gets one, fitted to what all tables so far
    leave open.  The parts of a table that no tree moves stay flat.

    Notes
    -----
    The algorithm is that of explainable boosting machines with main effects.  Missing values have a bin of their own, and so has
    each category.  A category that the fit had not counts as missing.  Missing values score 0 if the fit had none.

    Rows are drawn by what they hold, not by their position: the bags, and the model, are the same for another order of the rows.
    Sample weights are relative: their mean does not matter.  A sample of weight 0 counts as absent.

    References
    ----------
    Lou, Y., Caruana, R. and Gehrke, J. (2012). Intelligible Models for Classification and Regression. KDD, 150-158.

    Lou, Y., Caruana, R., Gehrke, J. and Hooker, G. (2013). Accurate Intelligible Models with Pairwise Interactions. KDD, 623-631.

    Nori, H., Jenkins, S., Koch, P. and Caruana, R. (2019). InterpretML: A Unified Framework for Machine Learning
    Interpretability. arXiv:1909.09223.

    Examples
    --------
    >>> from fasttree import GAMClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = GAMClassifier(n_bags=2, random_state=0).fit(X[["mean radius", "mean texture"]], y)
    >>> model.term_names_
    ['mean radius', 'mean texture']
    >>> bool(model.score(X[["mean radius", "mean texture"]], y) > 0.9)
    True
    """

    _task: ClassVar[str] = "classification"
    _rate: ClassVar[float] = 0.015

    learning_rate: float | None = parameter(
        None,
        RATE,
        """Factor of the steps of all trees.  None: 0.3 if there are at least 10,000 samples, which allow more steps than
        `max_iter` small ones, else 0.015.""",
    )
    l2_regularization: float = parameter(1.0, AMOUNT, "Amount added to the curvature of each leaf, which makes its step smaller.")
    smoothing_rounds: int = parameter(75, NONE_OR_MORE)
    class_weight: Mapping[Any, float] | str | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or isinstance(value, Mapping) or (isinstance(value, str) and value == "balanced"),
            "a dict {class: weight}, 'balanced' or None",
            'dict, "balanced" or None',
        ),
        "Factor of the weights of the samples of each class." + BALANCED,
    )

    @all_or_nothing
    @with_bars
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the intercept and the shapes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Class of each sample: strings, integers, booleans, or a categorical column, whose declared categories are then
            the classes, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative.  None: all are 1.  A sample of weight 0 counts as absent.

        Returns
        -------
        self
        """
        self._check_before_fit(X, y)
        classes, codes = encode_classes(y)
        weight = self._weights(sample_weight, len(codes))
        if self.class_weight is not None:
            weight = weigh_samples(self.class_weight, classes, codes, weight)
        self._keep_classes(classes)
        return self._fit(X, y, codes.astype(np.float64), weight, len(classes))

    def _keep_classes(self, classes: NDArray[Any] | None) -> None:
        assert classes is not None
        self.classes_ = classes
        self.n_classes_ = len(classes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores: the intercept plus what each term adds.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_classes)
            Log odds of the second class; of three classes or more, a score for each.
        """
        table = self._encode_table(X)
        scores = self.additive_.score(table)
        found: NDArray[np.float64] = scores[:, 0] if self.additive_.link == "logit" else scores
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        table = self._encode_table(X)
        return probabilities_of(self.additive_.link, self.additive_.score(table))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest score; on ties the first.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
        """
        table = self._encode_table(X)
        scores = self.additive_.score(table)
        codes = (scores[:, 0] > 0).astype(np.intp) if self.additive_.link == "logit" else scores.argmax(axis=1)
        predicted: NDArray[Any] = self.classes_.take(codes)
        return predicted


@parameters
class GAMRegressor(RegressorMixin, BaseAdditive):  # type: ignore[misc]
    """Generalized additive model for numbers: each feature adds what its shape gives.

    The prediction is an intercept plus one number for each feature, which a table gives for its value.  This table is a shape
    that can be drawn, read, checked and changed, and the model has nothing else.

    Tables are sums of many trees of two leaves.  In every round each feature in turn gets one, fitted to the residuals of all
    tables so far.  The parts of a table that no tree moves stay flat.

    Notes
    -----
    The algorithm is that of explainable boosting machines with main effects.  Missing values have a bin of their own, and so has
    each category.  A category that the fit had not counts as missing.  Missing values score 0 if the fit had none.

    Rows are drawn by what they hold, not by their position: the bags, and the model, are the same for another order of the rows.
    Sample weights are relative: their mean does not matter.  A sample of weight 0 counts as absent.

    References
    ----------
    Lou, Y., Caruana, R. and Gehrke, J. (2012). Intelligible Models for Classification and Regression. KDD, 150-158.

    Lou, Y., Caruana, R., Gehrke, J. and Hooker, G. (2013). Accurate Intelligible Models with Pairwise Interactions. KDD, 623-631.

    Nori, H., Jenkins, S., Koch, P. and Caruana, R. (2019). InterpretML: A Unified Framework for Machine Learning
    Interpretability. arXiv:1909.09223.

    Examples
    --------
    >>> from fasttree import GAMRegressor
    >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
    >>> model = GAMRegressor(random_state=0).fit(X, y)
    >>> model.predict([[0.0], [1.0]]).round(3)
    array([1., 3.])
    """

    _task: ClassVar[str] = "regression"
    _rate: ClassVar[float] = 0.1

    @all_or_nothing
    @with_bars
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the intercept and the shapes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Target values, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative.  None: all are 1.  A sample of weight 0 counts as absent.

        Returns
        -------
        self
        """
        self._check_before_fit(X, y)
        target = encode_values(y)
        largest = float(np.abs(target).max(initial=0.0))
        if largest > _LARGEST:
            raise ValueError(f"y holds values of size {largest:g}: scale them to {_LARGEST:g} at most")
        if 0 < largest < _LEAST:
            raise ValueError(
                f"y holds values of size {largest:g} at most: scale them, so that the largest has at least {_LEAST:g}"
            )
        return self._fit(X, y, target, self._weights(sample_weight, len(target)), 0)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values: the intercept plus what each term adds.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
        """
        table = self._encode_table(X)
        return self.additive_.score(table)[:, 0]
