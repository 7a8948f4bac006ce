"""`BaseTree`, the base of all tree estimators, which predict with a grown and pruned tree."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_collection, is_integer
from fasttree._data.table import Table, check_finite_matrix
from fasttree._data.weights import check_same_length, check_sample_weight
from fasttree._explain.difference import TreeDifference, difference
from fasttree._explain.side_by_side import ShownTree
from fasttree._explain.summary import summary
from fasttree._export.document import write
from fasttree._learn.constraints import Constraints
from fasttree._learn.grow import competing, encode, growth
from fasttree._learn.samples import Samples, costs_of, total_weight
from fasttree._model import walks
from fasttree._model.words import Words
from fasttree._version import __version__

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

from fasttree.estimators.common.earlier import in_todays_words, pruning_of, settings_of
from fasttree.estimators.common.editing import EditableTree


class BaseTree(EditableTree):
    """Base of classifiers and regressors."""

    def _walked(self, X: Any, of_nodes: walks.OfNodes | None = None) -> NDArray[Any] | Table:
        """Return the node where each sample ends, or what `of_nodes` has for these nodes, if the table is a matrix.

        Else, or if a sample reaches several leaves, return the encoded table.
        """
        known = self.__dict__
        if type(X) is np.ndarray and "tree_" in known and known["schema_"].is_bare and self.unseen == "as_missing":
            found = self._walk_matrix(X, of_nodes)
            if found is not None:
                return found
        table = self._encoded(X, checked=False)
        if table.matrix is not None:
            if table.matrix is not X and (found := self._walk_matrix(table.matrix, of_nodes)) is not None:
                return found
            check_finite_matrix(table.matrix, self.schema_, 0)
        self._check_missing(X, table)
        return table

    def _walk_matrix(self, X: NDArray[Any], of_nodes: walks.OfNodes | None) -> NDArray[Any] | None:
        refuses = self.recipe_.missing == "error"
        return walks.ends(self.tree_, X, of_nodes, refuse_missing=refuses, n_jobs=self._threads())

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        """Return class shares (of all targets side by side) or means, shape (n_samples, k)."""
        found = self._walked(X, lambda nodes: self.tree_.predict_nodes(nodes))
        return walks.predict_value(self.tree_, found, self._threads()) if isinstance(found, Table) else found

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each sample reaches.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            Index of the leaf in `tree_`.  If a sample with missing values reaches several leaves, it is the heaviest; if a sample
            stops at an inner node, it is that node.
        """
        if is_collection(X):
            return self._lazily("apply", X)
        found = self._walked(X)
        return walks.walk(self.tree_, found, n_jobs=self._threads()) if isinstance(found, Table) else found

    def decision_path(self, X: Any) -> csr_matrix:
        """Return the nodes that each sample passes, from the root to its leaf.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_samples, node_count)
            Nonzero if the sample passes the node.
        """
        table = self._encode_table(X)
        return walks.decision_path(self.tree_, table)

    def summary(self) -> str:
        """Describe the fitted tree in a few lines.

        Returns
        -------
        str
            Its size, the pruning, the error on the training samples, the subtrees that pruning chose among with their errors on
            other samples (as rpart's `printcp`; ``*`` marks the chosen one), and the importances of the features.

        See Also
        --------
        fasttree.evaluation.evaluate : Figures on other samples.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> print(CARTClassifier(max_depth=1).fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "no"]).summary(), end="")
        4 samples, 1 feature
        Tree: 3 nodes, 2 leaves, depth 1
        Training error rate: 0.2500 (always no: 0.2500)
        <BLANKLINE>
        Importances by impurity:
          x0   100 %
        """
        check_is_fitted(self)
        tree = self.tree_
        grown = self.__dict__.get("tree_unpruned_")
        is_smaller = grown is not None and grown.n_leaves > tree.n_leaves
        return summary(
            tree,
            Words(*self._labelled()),
            self.feature_importances_,
            grown=grown,
            pruning=self._pruned_by(is_smaller),
            table=self.__dict__.get("pruning_table_"),
        )

    def _pruned_by(self, is_smaller: bool) -> str:
        """Return the method of pruning in words, "" if there was none."""
        method = self._pruning_method()
        return repr(method) if method is not None else "prune or collapse" if is_smaller else ""

    def diff(self, other: BaseTree, X: Any = None) -> TreeDifference:
        """Compare the tree with another one, such as that of last month's data.

        Parameters
        ----------
        other : estimator
            A fitted tree with the same kind of target; the second tree.
        X : table, default=None
            Samples whose predictions are compared too.

        Returns
        -------
        TreeDifference
            Lines from the root on, marked as the same, changed (``~``), only in this tree (``-``), or only in the other one
            (``+``). Its method `plot` draws both trees side by side.

        Raises
        ------
        TypeError, ValueError
            If `other` is no tree, or one tree is for classes and the other for numbers.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> first = CARTClassifier().fit([[1, 1], [2, 1], [3, 1], [4, 2]], ["no", "no", "yes", "yes"])
        >>> second = CARTClassifier().fit([[1, 1], [3, 1], [5, 1], [5, 2]], ["no", "no", "yes", "no"])
        >>> print(first.diff(second), end="")
        ~ x0 <= 2.5 -> 4: no (2)
        ~ x0 > 2.5 -> 4
        -   yes (2)
        +   x1 <= 1.5: yes (1)
        +   x1 > 1.5: no (1)
        """
        check_is_fitted(self)
        if not isinstance(other, BaseTree):
            raise TypeError(f"other={type(other).__name__}: must be a tree of fasttree")
        check_is_fitted(other)
        if self.tree_.task != other.tree_.task or self.tree_.n_outputs != other.tree_.n_outputs:
            raise ValueError("the trees have different kinds of targets and cannot be compared")
        lines = difference(Words(*self._labelled()), Words(*other._labelled()))
        sides = ShownTree(*self._labelled(), self._in_words(None)[2]), ShownTree(*other._labelled(), other._in_words(None)[2])
        if X is None:
            return TreeDifference(lines, _sides=sides)
        ours, theirs = self.predict(X), other.predict(X)
        if self.tree_.task == "regression":
            return TreeDifference(lines, float(np.abs(ours - theirs).mean()), False, sides)
        return TreeDifference(lines, float((ours != theirs).reshape(len(ours), -1).any(axis=1).mean()), True, sides)

    def competing_splits(
        self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> list[competing.CompetingSplit]:
        """Return the best split of every feature at a node, among them that of its test.

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
            Splits with `feature`, `name`, `gain` and `threshold`, `categories` or `cuts`, by falling gain; equal ones are in the
            order of the columns.  A feature is left out if the smallest sizes of branches allow none of its splits.  The draws of
            `max_features`, `interaction_cst`, and the bounds that `monotonic_cst` passes down from nodes above are ignored.

        Raises
        ------
        ValueError
            If there is no such node, no sample reaches it, splits do not compete by gain, or the tree has several targets.

        Notes
        -----
        rpart prints them as "primary splits".  Each takes a pass over the node's values of a feature.

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
            raise ValueError(
                f"competing_splits compares splits by gain, and in {type(self).__name__} they do not compete by gain"
            )
        if self.tree_.outputs is not None:
            raise ValueError("competing_splits and several targets exclude each other: fit a tree for each target")
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(target, weight)
        samples = self._checked_samples(Samples(table, target, weight, self._class_factor(target, weight)))
        return competing.best_first(self._splits_by_feature(self._arriving(self.tree_, int(node), samples), samples))

    def _splits_by_feature(self, arriving: Samples, samples: Samples) -> Iterator[competing.CompetingSplit]:
        """Yield the best split of each feature that has one, for the samples that arrive at a node."""
        table = samples.table
        drawing_none = copy.copy(self)
        drawing_none.max_features = None
        limits = drawing_none._limits(table.n_samples, table.n_features, total_weight(samples))._replace(
            max_depth=1,
            max_leaf_nodes=None,
            min_samples_split=2,
            min_impurity=0.0,
            min_impurity_decrease=0.0,
            split_p_value=None,
            lookahead=1,
        )
        monotone = self._constraints(table.schema).monotone
        costs = None if self.tree_.loss is None else costs_of(samples, self.tree_.loss)
        for j, feature in enumerate(table.schema.features):
            stump = growth.grow(
                encode.OneFeature(table, j),
                arriving.target,
                arriving.weight,
                self.recipe_,
                limits,
                n_classes=len(getattr(self, "classes_", ())),
                costs=costs,
                part=arriving.part,
                constraints=Constraints(None if monotone is None else (monotone[j],)),
                bins_of=encode.OneFeature(table, j),
            )
            if split := competing.split_of(stump, j, feature):
                yield split

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        return settings | {"pruning": settings_of(settings["pruning"])} if "pruning" in settings else settings

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return an estimator with the saved parameters."""
        names = cls._get_param_names()
        found = in_todays_words(settings, names)
        given = {name: value for name, value in found.items() if name in names}
        return cls(**given | {"pruning": pruning_of(given["pruning"])} if "pruning" in given else given)

    def _algorithm(self) -> str:
        """Return the name of the algorithm in a file, which determines the class of the estimator."""
        return self.recipe_.name

    def _to_document(self) -> dict[str, Any]:
        classes = getattr(self, "classes_", None)
        names = getattr(self, "target_names_", None)  # missing in pickles of earlier versions
        document = write.to_document(
            self.tree_, self.schema_, classes, self._settings(), self._algorithm(), names, library_version=__version__
        )
        return document | self._written_labels()
