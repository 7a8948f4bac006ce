"""Bases of forests for classes and for numbers: predictions, and what the samples out of the bags say."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_collection
from fasttree._data.targets import encode_classes, encode_values
from fasttree._data.weights import weigh_classes
from fasttree._learn.forest import neighbours
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Samples
from fasttree.estimators.common.pruning import Training
from fasttree.estimators.common.tasks import Classifying, Regressing
from fasttree.estimators.forests.views import ForestViews

if TYPE_CHECKING:
    from fasttree._scale.dataset import Dataset
    from fasttree._scale.fitting import Counted

FEW_TREES = (
    "some samples are in every bag and have no out-of-bag prediction: they are NaN, and do not count in oob_score_; more trees "
    "give fewer of them"
)


class ForestOfClassifiers(Classifying, ForestViews):
    """Base of forests for classes."""

    _attributes = {
        "oob_decision_function_": (
            "ndarray of shape (n_samples, n_classes) or list of ndarray",
            """With `oob_score`: the mean class shares of the trees whose bags lack the sample; NaN if there are none.  A list
            with an array per target if y has several.""",
        ),
    }

    def _weigh(self, target: NDArray[Any], weight: NDArray[np.float64] | None, classes: Any = None) -> NDArray[np.float64] | None:
        if self.class_weight == "balanced_subsample":  # the bags decide
            return weight
        return super()._weigh(target, weight, classes)

    def _fit_bags(self, counted: Counted, recipe: Recipe) -> None:
        """Fit to a Dataset, whose classes are counted."""
        from fasttree._scale.preparation import Weighing
        from fasttree._scale.remote.bags import RowsElsewhere
        from fasttree.estimators.forests.on_disk import check_memory, growth_of, targets_of

        data, classes = counted.data, counted.classes
        check_memory(data, True, bool(self.bootstrap))
        codes, weight = targets_of(counted.portions())
        weight = self._weigh(codes, weight, classes)
        by_class = []
        if self.class_weight is not None and self.class_weight != "balanced_subsample":
            by_class.append(weigh_classes(self.class_weight, classes, counted.counts))
        factor, loss = self._class_factor(codes, weight, classes), self._loss(classes)
        self._keep_classes(classes)
        self.target_names_ = [data.target.name]
        table: Any = RowsElsewhere(data.schema, data.n_samples)
        samples = Samples(table, codes, weight, factor, recipe.impurity)
        training = Training(recipe, samples, data, len(classes), classes, loss=loss)
        self._grow(training, growth_of(data, counted.portions(), Weighing(by_class)))

    def _encode_targets(self, columns: list[Any]) -> NDArray[np.intp]:
        codes = []
        for column, known in zip(columns, self.classes_, strict=True):
            classes, found = encode_classes(column)
            code_of = {label: code for code, label in enumerate(known.tolist())}
            if strangers := [label for label in classes.tolist() if label not in code_of]:
                raise ValueError(f"y holds classes that were not in the fit: {strangers}; it had {list(code_of)}")
            codes.append(np.array([code_of[label] for label in classes.tolist()], dtype=np.intp)[found])
        return np.column_stack(codes)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class: the mean over the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.  A list of such arrays if there are several targets.
        """
        if is_collection(X):
            return self._lazily("predict_proba", X)
        shares = self._predictions(X)
        return shares if self.ensemble_.outputs is None else self._by_output(shares)

    def _by_output(self, shares: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        assert self.ensemble_.outputs is not None
        return np.split(shares, np.cumsum(self.ensemble_.outputs)[:-1], axis=1)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest mean probability, or with a loss matrix that of least expected loss; on ties the first.

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
        if is_collection(X):
            return self._lazily("predict", X)
        return self._labels(self._predictions(X))

    def _labels(self, shares: NDArray[np.float64]) -> NDArray[Any]:
        """Return the predicted classes of rows of class shares."""
        codes = self.ensemble_.predicted_codes(shares)
        if self.ensemble_.outputs is None:
            labels: NDArray[Any] = self.classes_.take(codes[:, 0])
            return labels
        kinds = {classes.dtype.kind for classes in self.classes_}
        columns = [classes[code] for classes, code in zip(self.classes_, codes.T, strict=True)]
        return np.column_stack(columns if len(kinds) == 1 else [column.astype(object) for column in columns])

    def agreement(self, X: Any) -> NDArray[np.float64]:
        """Return the share of trees that predict the class of the forest.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            If there are several targets, the shape is (n_samples, n_outputs).

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> sure, unsure = forest.agreement(X[[0, 77]])
        >>> bool(sure > unsure)
        True
        """
        check_is_fitted(self)
        shares = []
        for _, block in self._blocks(X):
            of_forest = self.ensemble_.predicted_codes(self.ensemble_.sums(block, n_jobs=self._threads()))
            agreeing = np.zeros(of_forest.shape)
            for tree in range(self.ensemble_.n_trees):
                agreeing += self.ensemble_.predicted_codes(self.ensemble_.sums(block, tree, tree + 1)) == of_forest
            shares.append(agreeing / self.ensemble_.n_trees)
        found: NDArray[np.float64] = np.concatenate(shares)
        return found[:, 0] if self.ensemble_.outputs is None else found

    def _judge(self, samples: Samples) -> None:
        found = self._judged(samples)
        several = self.ensemble_.outputs is not None
        self.oob_decision_function_ = self._by_output(found.values) if several else found.values
        seen = ~np.isnan(found.values[:, 0])
        weight = _of_seen(samples, seen)
        if not weight.any():
            self.oob_score_ = np.nan
            return
        if callable(self.oob_score):
            truth = self._truth(samples.target[seen])
            self.oob_score_ = self.oob_score(truth[weight > 0], self._labels(found.values[seen])[weight > 0])
            return
        codes = self.ensemble_.predicted_codes(found.values[seen])
        right = (codes == samples.target[seen].reshape(codes.shape)).all(axis=1)
        self.oob_score_ = float(np.average(right, weights=weight))

    def _truth(self, target: NDArray[Any]) -> NDArray[Any]:
        if target.ndim == 1:
            return np.asarray(self.classes_[target])
        return np.column_stack([classes[codes] for classes, codes in zip(self.classes_, target.T, strict=True)])


class ForestOfRegressors(Regressing, ForestViews):
    """Base of forests for numbers."""

    _attributes = {
        "oob_prediction_": (
            "ndarray of shape (n_samples,) or (n_samples, n_outputs)",
            "With `oob_score`: the mean prediction of the trees whose bags lack the sample; NaN if there are none.",
        ),
    }

    def _fit_bags(self, data: Dataset, recipe: Recipe) -> None:
        """Fit to a Dataset."""
        from fasttree._scale.fitting import portions_of_numbers
        from fasttree._scale.preparation import Weighing
        from fasttree._scale.remote.bags import RowsElsewhere
        from fasttree.estimators.forests.on_disk import check_memory, growth_of, targets_of

        portions = portions_of_numbers(data, "a forest for classes")
        check_memory(data, False, bool(self.bootstrap))
        target, weight = targets_of(portions)
        table: Any = RowsElsewhere(data.schema, data.n_samples)
        samples = Samples(table, target + 0.0, weight, impurity=recipe.impurity)  # -0.0 becomes 0.0
        self.target_names_ = [data.target.name]
        self._grow(Training(recipe, samples, data, 0), growth_of(data, portions, Weighing([])))

    def _encode_targets(self, columns: list[Any]) -> NDArray[np.float64]:
        return np.column_stack([encode_values(column) for column in columns])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values: the mean over the trees.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_outputs)
        """
        if is_collection(X):
            return self._lazily("predict", X)
        means = self._predictions(X)
        return means[:, 0] if self.ensemble_.outputs is None else means

    def predict_quantiles(
        self, X: Any, q: ArrayLike, X_fit: Any, y_fit: Any, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return quantiles of the target given the features (quantile regression forest, Meinshausen 2006).

        The samples of the fit in the leaves that a sample reaches give the distribution of its target.  Each counts by its share
        in the bag's weight of the leaf, averaged over the trees.  If X stops at an inner node, or no sample of the fit ends in
        the leaf, all samples below the node count, or those below the nearest node above it that has some.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        q : float or array-like of shape (n_quantiles,)
            Probabilities in [0, 1], such as 0.05 and 0.95 for an interval that holds 90 % of the targets.
        X_fit, y_fit : table and array-like
            The samples of the fit, in their order, which a forest does not keep.
        sample_weight : array-like, default=None
            Their weights.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_quantiles)
            The smallest target whose cumulated share is at least `q`.

        Raises
        ------
        ValueError
            If the samples are not those of the fit or have no weight in a bag, a probability is not in [0, 1], or there are
            several targets.

        References
        ----------
        Meinshausen, N. (2006). Quantile Regression Forests. Journal of Machine Learning Research, 7, 983-999.

        Examples
        --------
        >>> from fasttree import RandomForestRegressor
        >>> X, y = [[k] for k in range(40)], [k // 10 for k in range(40)]
        >>> forest = RandomForestRegressor(n_estimators=50, min_samples_leaf=4, random_state=0).fit(X, y)
        >>> forest.predict_quantiles([[5], [15]], [0.1, 0.5, 0.9], X, y)
        array([[0., 0., 0.],
               [1., 1., 1.]])
        """
        table, target, weight = self._samples_of_fit(X_fit, y_fit, sample_weight)
        if self.ensemble_.outputs is not None:
            raise ValueError("predict_quantiles and several targets exclude each other: fit a forest for each target")
        probabilities = np.asarray(q, dtype=np.float64)
        if probabilities.ndim > 1 or not ((probabilities >= 0) & (probabilities <= 1)).all():
            raise ValueError(f"q={q!r}: must be a number in [0, 1], or a list of such numbers")
        n_jobs = self._threads()
        of_fit = (neighbours.leaves_of(self.ensemble_, table, n_jobs), target, weight)
        leaves = neighbours.leaves_of(self.ensemble_, self._encode_table(X), n_jobs)
        found = neighbours.quantiles(self.ensemble_, self._bags, of_fit, leaves, np.atleast_1d(probabilities))
        return found[:, 0] if probabilities.ndim == 0 else found

    def _judge(self, samples: Samples) -> None:
        found = self._judged(samples)
        several = self.ensemble_.outputs is not None
        self.oob_prediction_ = found.values if several else found.values[:, 0]
        seen = ~np.isnan(found.values[:, 0])
        weight = _of_seen(samples, seen)
        if not weight.any():
            self.oob_score_ = np.nan
            return
        truth, predicted = samples.target[seen][weight > 0], self.oob_prediction_[seen][weight > 0]
        if callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, predicted)
        else:
            self.oob_score_ = float(r2_score(truth, predicted, sample_weight=weight[weight > 0]))


def _of_seen(samples: Samples, seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the weights of the samples with an out-of-bag prediction; warn if others lack one."""
    weight = np.ones(len(seen)) if samples.weight is None else samples.weight
    if (weight[~seen] > 0).any():
        warnings.warn(FEW_TREES, stacklevel=7)
    return np.asarray(weight[seen])
