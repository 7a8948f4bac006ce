"""Methods of forests that compare their trees, or judge them by the samples out of their bags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._learn.forest import neighbours
from fasttree._learn.forest.out_of_bag import OutOfBag, jackknife_after_bootstrap, out_of_bag, permutation_importances
from fasttree._learn.progress import verbosely
from fasttree._learn.samples import Samples
from fasttree.estimators.by_recipe import TreeClassifier, TreeRegressor
from fasttree.estimators.forests.base import BaseForest

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class Judging(BaseForest):
    """Methods that compare the trees of a forest, or judge them."""

    def _judged(self, samples: Samples) -> OutOfBag:
        """Return the out-of-bag predictions, and keep the error after every number of trees."""
        found = out_of_bag(self.ensemble_, self._bags, samples.table, samples.target, samples.weight, self._threads())
        self._oob_curve = found.error
        return found

    def _check_bags(self, method: str) -> None:
        """Check that trees lack samples."""
        if self._bags.n_drawn is None:
            raise ValueError(
                f"{method} needs samples that a tree has not drawn: with bootstrap=False and max_samples=None there are none; "
                f"use bootstrap=True, or max_samples=0.632"
            )

    def oob_curve(self) -> NDArray[np.float64]:
        """Return the out-of-bag error after every number of trees, which shows whether more trees would help.

        Returns
        -------
        ndarray of float64, shape (n_estimators,)
            Entry ``k - 1`` is the error of the first ``k`` trees: the share of wrong classes, or the mean squared error, weighted
            by the sample weights.  Only samples count that at least one of these trees has not drawn.

        Raises
        ------
        ValueError
            If the forest was fitted without `oob_score`, or read from a file, which does not keep the curve.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> forest = RandomForestClassifier(n_estimators=100, oob_score=True, random_state=0).fit(*load_iris(return_X_y=True))
        >>> errors = forest.oob_curve()
        >>> len(errors), bool(errors[-1] <= errors[0])
        (100, True)
        """
        check_is_fitted(self)
        curve = self.__dict__.get("_oob_curve")
        if curve is None:
            was_read = "_oob_curve" in self.__dict__
            why = "was read from a file, which does not keep the curve" if was_read else "was not judged out of its bags"
            raise ValueError(f"oob_curve: the forest {why}; fit it with oob_score=True")
        return np.array(curve)

    def permutation_importances(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: Sequence[Sequence[Any]] | None = None,
        verbose: int = 0,
    ) -> Bunch:
        """Return how much the error of the trees rises if the values of a feature are permuted (Breiman 2001).

        Each tree is judged by the samples out of its bag, before and after a permutation of the feature's values among them.

        Parameters
        ----------
        X, y : table and array-like
            The samples of the fit, in their order, which a forest does not keep.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        groups : sequence of sequences of str or int, default=None
            Groups of columns, by name or index, which are permuted together; a name or an index alone is a group.  None: a group
            for each column.
        verbose : int, default=0
            Whether to draw a bar of progress, as `fasttree.progress` does: 0 draws none.

        Returns
        -------
        sklearn.utils.Bunch
            ``importances_mean`` and ``importances_std`` over the trees, shape (n_groups,), and ``importances``, shape (n_groups,
            n_estimators), NaN for a tree that has drawn all samples.  The error is the share of wrong classes, or the mean
            squared error.

        Raises
        ------
        ValueError
            If the samples are not those of the fit, no tree lacks samples, or a group names an unknown column.

        Notes
        -----
        Missing values are permuted like others.  The permutations depend on the seed of the fit alone.  A feature that others can
        replace has a small importance: permute such features as a group.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=200, random_state=0).fit(X, y)
        >>> sepal, petal = forest.permutation_importances(X, y, groups=[[0, 1], [2, 3]]).importances_mean
        >>> bool(petal > 5 * sepal)
        True
        """
        table, target, weight = self._samples_of_fit(X, y, sample_weight)
        self._check_bags("permutation_importances")
        if groups is not None and (isinstance(groups, str) or not isinstance(groups, Iterable)):
            raise ValueError(f"groups={groups!r}: must be a list of lists of columns, such as [[0, 1], [2]], or None")
        indices = [[j] for j in range(self.n_features_in_)] if groups is None else [self._columns_of(group) for group in groups]
        with verbosely(verbose):
            found = permutation_importances(self.ensemble_, self._bags, table, target, weight, indices, self._threads())
        return Bunch(importances_mean=found.mean, importances_std=found.std, importances=found.each)

    def _columns_of(self, group: Any) -> list[int]:
        """Return the indices of columns given by name or index."""
        names = [feature.name for feature in self.schema_.features]
        found = []
        entries: Iterable[Any] = group if isinstance(group, Iterable) and not isinstance(group, str) else [group]
        for given in entries:
            if isinstance(given, str) and given in names:
                found.append(names.index(given))
            elif is_integer(given) and 0 <= given < len(names):
                found.append(int(given))
            else:
                raise ValueError(f"groups names {given!r}: must be a column name, or an index from 0 to {len(names) - 1}")
        return found

    def leaf_indicator(self, X: Any) -> csr_matrix:
        """Return the leaves that each sample reaches as a sparse matrix, such as features for a linear model.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
            1 where the sample reaches the leaf, `n_estimators` times in each row.  The nodes of all trees are side by side, as in
            `decision_path`, and leaves are those of `apply`.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> forest = RandomForestClassifier(n_estimators=50, random_state=0).fit(X, y)
        >>> forest.leaf_indicator(X).sum(axis=1).A1
        array([50., 50., 50., 50.])
        """
        return neighbours.leaf_indicator(self.ensemble_, self.apply(X))

    def proximity(self, X: Any) -> csr_matrix:
        """Return the share of trees in which two samples reach the same leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, n_samples)
            1 on the diagonal; pairs that never share a leaf are not stored.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> near = RandomForestClassifier(n_estimators=50, random_state=0).fit(X, y).proximity(X).toarray()
        >>> bool(near[0, 1] > near[0, 2]), near.diagonal()
        (True, array([1., 1., 1., 1.]))
        """
        return neighbours.proximity(self.ensemble_.n_trees, self.leaf_indicator(X))

    def predict_std(self, X: Any) -> NDArray[np.float64]:
        """Return the standard error of the predictions, by the jackknife after bootstrap (Wager, Hastie and Efron 2014).

        It estimates how much a prediction would change with other samples of the same size, not how far targets are from it: for
        the latter, see `predict_quantiles` of regressors.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_columns)
            The error of the predicted value (several targets: of each), or of the probability of each class.

        Raises
        ------
        ValueError
            Unless `bootstrap` is True.

        Notes
        -----
        The estimate is corrected for the number of trees: without the correction, few trees give far too large errors.  A
        variance that becomes negative counts as 0; it needs more trees.

        References
        ----------
        Wager, S., Hastie, T. and Efron, B. (2014). Confidence Intervals for Random Forests: The Jackknife and the Infinitesimal
        Jackknife. Journal of Machine Learning Research, 15, 1625-1651.

        Examples
        --------
        >>> from fasttree import RandomForestRegressor
        >>> X, y = [[k] for k in range(40)], [k // 10 for k in range(40)]
        >>> forest = RandomForestRegressor(n_estimators=200, random_state=0).fit(X, y)
        >>> inside, edge = forest.predict_std([[5], [20]])
        >>> bool(inside < edge)
        True
        """
        check_is_fitted(self)
        if self._bags.n_drawn is None or not self._bags.replaces or self._bags.classes is not None:
            raise ValueError(f"predict_std needs bags drawn with replacement: bootstrap=True; got {self.bootstrap!r}")
        n_jobs = self._threads()
        found = np.concatenate(
            [jackknife_after_bootstrap(self.ensemble_, self._bags, block, n_jobs) for _, block in self._blocks(X)]
        )
        return found[:, 0] if self.ensemble_.task == "regression" and self.ensemble_.outputs is None else found

    def most_representative_tree(self, X: Any) -> TreeClassifier | TreeRegressor:
        """Return the tree whose predictions are closest to those of the other trees (Banerjee, Ding and Noone 2012).

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Samples on which the trees are compared, such as those of the fit.

        Returns
        -------
        TreeClassifier or TreeRegressor
            The entry of `estimators_` with the least mean squared distance of its probabilities or values to those of the other
            trees; on ties the first.

        References
        ----------
        Banerjee, M., Ding, Y. and Noone, A.-M. (2012). Identifying representative trees from ensembles. Statistics in Medicine,
        31(15), 1601-1616.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=30, max_depth=2, random_state=0).fit(X, y)
        >>> forest.most_representative_tree(X).score(X, y) > 0.9
        True
        """
        return self._estimator(int(self._most_representative(X)[0]))

    def _most_representative(self, X: Any) -> NDArray[np.intp]:
        """Return the numbers of the trees, those first whose predictions are closest to those of the others."""
        check_is_fitted(self)
        ensemble = self.ensemble_
        distance = np.zeros(ensemble.n_trees)
        for _, block in self._blocks(X):
            # the sum of squared distances to all trees is smallest where that to their mean is
            mean = ensemble.sums(block, n_jobs=self._threads()) / ensemble.n_trees
            distance += [
                ((ensemble.sums(block, tree, tree + 1) - mean) ** 2).sum(dtype=np.float64) for tree in range(ensemble.n_trees)
            ]
        return np.argsort(distance, kind="stable")
