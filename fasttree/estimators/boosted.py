"""`BoostedTrees`: classifiers of one tree, or of the trees of several trials that vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fasttree._data.schema import Schema
from fasttree._data.weights import check_same_length, check_sample_weight
from fasttree._explain import follow
from fasttree._explain.vote import VoteExplanation, explain_vote
from fasttree._export.document import file, forests, read, write
from fasttree._export.document.values import DocumentError
from fasttree._export.subject import Subject, check_target
from fasttree._learn.boosting import Boosting
from fasttree._learn.recipe import Recipe
from fasttree._model import walks
from fasttree._model.ensemble import Ensemble, voted
from fasttree._model.importances import impurity_importances
from fasttree._model.made import Made
from fasttree._model.tree import Tree
from fasttree._model.words import counted
from fasttree._version import __version__
from fasttree.estimators.common.labelling import GivenLabels
from fasttree.estimators.common.tasks import BaseClassifier

if TYPE_CHECKING:
    from fasttree._export.sql_dialect import DialectName


class BoostedTrees(BaseClassifier):
    """Base of classifiers that may be boosted.

    A fitted model has `tree_`, or `ensemble_` with the trees of several trials.
    """

    ensemble_: Ensemble
    n_trials_: int
    trials: int

    _attributes = {
        "ensemble_": ("Ensemble", "The trees of the trials, if there are several.  The model then has no `tree_`."),
        "n_trials_": ("int", "Number of trials that the model uses: 1 if it is a single tree."),
    }

    if not TYPE_CHECKING:  # else every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            if name in ("tree_", "tree_unpruned_") and "rules_" in self.__dict__:
                raise AttributeError(
                    f"this {type(self).__name__} has rules and no {name}, which this method needs: use rules_ or to_rules(), or "
                    f"fit with rules=False"
                )
            if name in ("tree_", "tree_unpruned_") and "ensemble_" in self.__dict__:
                raise AttributeError(
                    f"this {type(self).__name__} has {self.n_trials_} trees and no {name}, which this method needs: use that of "
                    f"a trial, estimators_[i], or fit with trials=1"
                )
            return self.__getattribute__(name)  # raises the error that led here

    def _is_boosted(self) -> bool:
        """Whether several trials vote."""
        return "ensemble_" in self.__dict__

    # Fit

    def _boost(self, boosting: Boosting[Tree]) -> Tree:
        """Return the tree of the first trial; `_set_fitted` takes the others."""
        trees = boosting()
        self.__dict__["_trees"] = trees
        return trees[0]

    def _set_fitted(self, tree: Tree, recipe: Recipe, schema: Schema) -> None:
        trees = self.__dict__.pop("_trees", [])
        super()._set_fitted(tree, recipe, schema)
        self.n_trials_ = max(len(trees), 1)
        self.__dict__.pop("ensemble_", None)  # of an earlier fit
        if len(trees) > 1:
            about: dict[str, Any] = {"task": tree.task, "n_features": tree.n_features, "impurity": recipe.impurity}
            self._keep_trials(Ensemble(trees, combine="confidence", **about))

    def _keep_trials(self, ensemble: Ensemble) -> None:
        self.ensemble_, self.n_trials_ = ensemble, ensemble.n_trees
        for name in ("tree_", "tree_unpruned_"):
            self.__dict__.pop(name, None)

    @property
    def estimators_(self) -> Sequence[Self]:
        """The tree of each trial as a fitted estimator: each is made when it is asked for, with the methods of a single tree.

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = C50Classifier(trials=10).fit(X, y)
        >>> [tree.get_n_leaves() for tree in model.estimators_]
        [4, 5, 3, 6, 4, 7, 3, 8, 4, 5]
        """
        check_is_fitted(self)
        return Made(self._estimator, self.n_trials_)

    def _estimator(self, i: int) -> Self:
        if not self._is_boosted():
            return self
        model = type(self)(**self.get_params(deep=False) | {"trials": 1})
        model._set_fitted(self.ensemble_.tree(i), self.recipe_, self.schema_)
        model._keep_classes(self.classes_)
        model.target_names_ = self.target_names_
        if "labels_" in self.__dict__:
            model.labels_ = self.labels_
        return model

    # Predictions

    def _votes(self, X: Any, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """Return the votes of some trials for each class, added."""
        table = self._encode_table(X)
        n_jobs = self._threads()
        sums = [self.ensemble_.sums(block, first, last, n_jobs=n_jobs) for _, block in walks.blocks(table)]
        return np.concatenate(sums)

    def _voted(self, votes: NDArray[np.float64]) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_.take(voted(self.ensemble_, votes))
        return labels

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        if not self._is_boosted():
            return super()._predictions(X)
        votes = self._votes(X)
        votes /= votes.cumsum(axis=1)[:, -1:]  # added in the order of the classes, as exported models do
        return votes

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Share of each class in the weight of the leaf, in the order of `classes_`; rows sum to 1.  A leaf without samples of
            the fit gives 1 to the largest class of its parent.  With several trials, share of each class in the votes.
        """
        return self._predictions(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class, on ties the first; with several trials, the class with the most votes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples,), of the dtype of `classes_`
        """
        return self._voted(self._votes(X)) if self._is_boosted() else super().predict(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the predicted classes after each trial.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Yields
        ------
        ndarray of shape (n_samples,), of the dtype of `classes_`

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = C50Classifier(trials=10).fit(X, y)
        >>> [int((predicted != y).sum()) for predicted in model.staged_predict(X)]
        [4, 4, 4, 2, 2, 2, 1, 0, 1, 0]
        """
        check_is_fitted(self)
        if not self._is_boosted():
            yield self.predict(X)
            return
        votes = np.zeros((0, 0))
        for i in range(self.n_trials_):
            of_trial = self._votes(X, i, i + 1)
            votes = votes + of_trial if i else of_trial
            yield self._voted(votes)

    def trial_errors(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the error of each trial, and that of the vote after it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        ndarray of float64, shape (n_trials, 2)
            Share of the weight that the tree of the trial predicts wrong, and that the vote of the trials so far predicts wrong.

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> (C50Classifier(trials=10).fit(X, y).trial_errors(X, y) * 150).round().astype(int).T
        array([[ 4,  8,  6, 12,  5,  3,  8, 15,  3,  5],
               [ 4,  4,  4,  2,  2,  2,  1,  0,  1,  0]])
        """
        check_is_fitted(self)
        truth = self.classes_[self._encode_target(y)]
        alone = [tree.predict(X) for tree in self.estimators_]
        check_same_length(len(alone[0]), len(truth))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, len(truth))
        both = zip(alone, self.staged_predict(X), strict=True)
        return np.array([[np.average(found != truth, weights=weight) for found in pair] for pair in both])

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each sample reaches.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of int32, shape (n_samples,) or (n_samples, n_trials)
            Index of the leaf in `tree_`, or with several trials in the tree of each.  If a sample with missing values reaches
            several leaves, it is the heaviest.
        """
        if not self._is_boosted():
            return super().apply(X)
        table = self._encode_table(X)
        return np.concatenate([self.ensemble_.leaves(block, n_jobs=self._threads()) for _, block in walks.blocks(table)])

    # Views

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each feature in the decrease of weighted impurity; with several trials, the mean over the trees."""
        check_is_fitted(self)
        if not self._is_boosted():
            return super().feature_importances_
        return np.asarray(np.mean([impurity_importances(tree) for tree in self.ensemble_.trees()], axis=0))

    def summary(self) -> str:
        """Describe the fitted model in a few lines; see `C50Classifier`."""
        if not self._is_boosted():
            return super().summary()
        trees = list(self.ensemble_.trees())
        samples, features = counted(int(trees[0].n_samples[0]), "sample"), counted(self.n_features_in_, "feature")
        lines = [f"{samples}, {features}", f"{len(trees)} trials that vote"]
        for i, tree in enumerate(trees):
            lines.append(f"  trial {i}: {counted(tree.n_leaves, 'leaf', 'leaves')}, depth {tree.max_depth}")
        return "\n".join(lines) + "\n"

    def explain(self, x: Any, *, max_categories: int = 12, decimals: int = 2, labels: GivenLabels = None) -> Any:
        """Explain the prediction for one sample; see `C50Classifier`."""
        if not self._is_boosted():
            return super().explain(x, max_categories=max_categories, decimals=decimals, labels=labels)
        return self._explain_vote(x, labels)

    def _explain_vote(self, x: Any, labels: GivenLabels) -> VoteExplanation:
        name = type(self).__name__
        cells = follow.cells_of(x, self.schema_, name)
        block = follow.encoded_row(cells, self.schema_, self.unseen, name).block(0, 1)
        votes = np.array([self.ensemble_.sums(block, i, i + 1)[0] for i in range(self.n_trials_)])
        chosen = int(voted(self.ensemble_, votes.sum(axis=0)[None])[0])
        return explain_vote(votes, chosen, self.classes_, self._in_words(labels)[1])

    # Exports

    def _subjects(self) -> list[Subject]:
        """Return the input of an export for the tree of each trial."""
        return [model._subject() for model in self.estimators_]

    def export_c(self, *, name: str = "tree") -> str:
        """Write the tree, or the trees of the trials and their vote, as C source; see `CARTClassifier`."""
        if not self._is_boosted():
            return super().export_c(name=name)
        from fasttree._export.votes.c_trees import export_voting_c

        return export_voting_c(self._subjects(), name)

    def export_python(self, *, name: str = "tree") -> str:
        """Write the tree, or the trees of the trials and their vote, as a Python module; see `CARTClassifier`."""
        if not self._is_boosted():
            return super().export_python(name=name)
        from fasttree._export.votes.python_trees import export_voting_python

        return export_voting_python(self._subjects(), name)

    def export_onnx(self, *, dtype: str = "float32", missing: str | None = None, soft: str | None = None) -> bytes:
        """Return the tree, or the trees of the trials and their vote, as an ONNX model; see `CARTClassifier`."""
        if not self._is_boosted():
            return super().export_onnx(dtype=dtype, missing=missing, soft=soft)
        from fasttree._export.onnx import export_voting_onnx

        return export_voting_onnx(self._subjects(), dtype=dtype, missing=missing, soft=soft)

    def export_sql(
        self,
        *,
        table: str | Sequence[str] | None = None,
        name: str | None = None,
        target: int = 0,
        probability_of: Any = None,
        missing: str | None = None,
        soft: str | None = None,
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the tree, or the vote of the trials, as an SQL expression or query; see `CARTClassifier`.

        With several trials, the trees are written once per class, with at most 10,000 nodes in all.  A query has the columns
        ``votes_<class>``, ``prediction`` and ``probability_<class>``.
        """
        options: dict[str, Any] = {
            "table": table,
            "name": name,
            "probability_of": probability_of,
            "missing": missing,
            "soft": soft,
            "dialect": dialect,
            "cast": cast,
            "nan_as_missing": nan_as_missing,
        }
        if not self._is_boosted():
            return super().export_sql(target=target, **options)
        from fasttree._export.votes.sql import export_voting_sql

        check_target(target, 1)
        return export_voting_sql(self._subjects(), **options)

    # Files

    def _to_document(self) -> dict[str, Any]:
        if not self._is_boosted():
            return super()._to_document()
        write.check_names(self.schema_)
        target = {"name": self._target_names()[0]} | write.written_classes(self.classes_, self.n_classes_)
        if self.ensemble_.loss is not None:
            target["loss"] = self.ensemble_.loss.tolist()
        return {
            "format": forests.FORMAT,
            "version": forests.VERSION,
            "library": __version__,
            "algorithm": self._algorithm(),
            "task": self.ensemble_.task,
            **write.written_table(self.schema_, [target], self._settings()),
            **self._written_labels(),
            **forests.written_ensemble(self.ensemble_, self.schema_, self.classes_),
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        """Return the boosted model of a document."""
        schema, targets, settings = read.read_table(document)
        if len(targets) > 1:
            raise DocumentError(f"targets: boosted trees have 1 target; got {len(targets)}")
        classes = read.read_classes(targets[0])
        with file.errors_of_settings():
            model = cls._from_settings(settings)
            recipe = model._checked_recipe()
        loss = read.read_loss(targets[0], len(classes))
        ensemble = forests.read_ensemble(document, schema, (len(classes),), loss, recipe.impurity)
        if ensemble.combine != "confidence" or ensemble.weights is not None:
            raise DocumentError("combine: must be 'confidence', without weights, for boosted trees")
        model._keep_classes(classes)
        with file.errors_of_settings():
            model._set_fitted(ensemble.tree(0), recipe, schema)
        model._keep_trials(ensemble)
        model.target_names_ = read.names_of(targets)
        model._read_labels(document)
        return model
