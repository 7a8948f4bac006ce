"""`BaseAdditive`: the fit of an additive model, its scores, and its files."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from fasttree._data.encode import encode_table
from fasttree._data.learn import learn_table
from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._data.targets import target_columns, target_names
from fasttree._data.weights import check_same_length, check_sample_weight, check_total
from fasttree._export.document import additive, file, read, write
from fasttree._learn.additive import boosting, pairs
from fasttree._learn.additive.binning import axes_of, canonical_order, codes_of
from fasttree._learn.additive.boosting import Binned, Fitted, Rounds, TermPlan
from fasttree._learn.constraints import constraints
from fasttree._model.additive.model import AdditiveModel, Axis, Link, terms_named
from fasttree._model.threads import number_of_threads
from fasttree._scale.estimating import check_in_memory
from fasttree._version import __version__
from fasttree.estimators.additive.parameters import AdditiveChoices
from fasttree.estimators.additive.views import AdditiveViews
from fasttree.estimators.common.fitted import FittedModel
from fasttree.estimators.common.growth_parameters import Reading
from fasttree.estimators.common.labelling import check_is_fitted

ALGORITHM = "gam"
MANY_ROWS = 10_000
FAST_RATE = 0.3  # of many rows: with 0.1, folds of adult and california housing need more than 5,000 rounds
MOST_ROUNDS = 2**31 - 1  # that the engine counts


class BaseAdditive(AdditiveViews, FittedModel, Reading, AdditiveChoices):
    """Base of additive models."""

    _task: ClassVar[str]
    _rate: ClassVar[float]  # for few rows

    _attributes = {
        "additive_": ("AdditiveModel", "Intercept and tables, as arrays."),
        "intercept_": (
            "float or ndarray of float64, shape (n_classes,)",
            "Score before any feature: the mean score of the training samples.  A number for each class if there are three or "
            "more.",
        ),
        "term_names_": ("list of str", "Name of each term: a feature, or two joined by a multiplication sign."),
        "term_importances_": (
            "ndarray of float64, shape (n_terms,)",
            "Mean of the absolute scores of each term over the training samples.",
        ),
        "n_iter_": ("ndarray of int64, shape (n_bags,)", "Rounds that each bag keeps.  A loaded model has none."),
    }
    _descriptions = {
        "random_state": "Seed of the validation parts, and of the random cuts.",
        "n_jobs": """Number of threads, which work on bags.  None means one, and -1 means one per core.  The model does not depend
        on it.""",
    }

    def _fit(self, X: Any, y: Any, target: NDArray[np.float64], weight: NDArray[np.float64] | None, n_classes: int) -> Self:
        """Fit to encoded targets; `n_classes` is 0 for numbers."""
        table = learn_table(X, categorical_features=self.categorical_features, ordinal_features=self.ordinal_features)
        check_same_length(table.n_samples, len(target))
        monotone = constraints(self.monotonic_cst, None, table.schema).monotone
        asked = pairs.asked_pairs(self.interactions, table.schema)
        self._check_constraints(monotone, asked, n_classes)
        rows, unit = None, 1.0
        if weight is None:
            weight = np.ones(len(target))
        else:
            if not weight.all():  # before the sum: zeros would change how it is rounded
                rows = np.flatnonzero(weight)
                target, weight = target[rows], weight[rows]
            unit = check_total(float(np.sort(weight).sum())) / len(weight)
            weight = weight / unit
        axes = axes_of(table, rows, int(self.max_bins))
        codes = codes_of(table, axes, rows)
        order = canonical_order(codes, target, weight)
        link: Link = "identity" if n_classes == 0 else "logit" if n_classes == 2 else "softmax"
        n_scores = n_classes if link == "softmax" else 1
        binned = Binned(np.ascontiguousarray(codes[:, order]), target[order], weight[order], n_scores, link)
        nominal = [feature.kind == Kind.NOMINAL for feature in table.schema.features]
        plan = TermPlan(binned.codes, boosting.entries_of(axes, nominal, monotone))
        rounds, n_jobs = self._rounds(len(binned.target)), number_of_threads(self.n_jobs)
        bags = boosting.fit_bags(binned, plan, rounds, n_jobs)
        model = boosting.mean_model(binned, [(axis,) for axis in axes], binned.codes, bags, unit)
        if asked:
            free = [j for j in range(len(axes)) if monotone is None or not monotone[j]]
            stage = _Pairs(table, None if rows is None else rows, axes, binned, order)
            model = stage.fit(asked, free, (plan, rounds, n_jobs), bags, unit)
        self._set_fitted(model, table.schema)
        self.n_iter_ = np.array([bag.n_rounds for bag in bags], dtype=np.int64)
        self.target_names_ = target_names(y, 1)
        return self

    def _check_constraints(self, monotone: tuple[int, ...] | None, asked: Any, n_classes: int) -> None:
        if monotone is None:
            return
        if n_classes > 2:
            raise ValueError(f"monotonic_cst needs numbers or two classes, and y has {n_classes} classes: leave it out")
        listed = [] if isinstance(asked, int) else sorted({j for pair in asked for j in pair if monotone[j]})
        if listed:
            raise ValueError(
                f"interactions has a pair with feature {listed[0]}, which has a direction in monotonic_cst: leave out one of both"
            )

    def _rounds(self, n_rows: int) -> Rounds:
        rate = (FAST_RATE if n_rows >= MANY_ROWS else self._rate) if self.learning_rate is None else float(self.learning_rate)
        return Rounds(
            learning_rate=rate,
            max_leaves=int(self.max_leaf_nodes),
            min_samples_leaf=min(int(self.min_samples_leaf), 2**53),
            penalty=float(self.l2_regularization),
            max_rounds=min(int(self.max_iter), MOST_ROUNDS),
            smoothing_rounds=min(int(self.smoothing_rounds), MOST_ROUNDS),
            patience=min(int(self.n_iter_no_change), MOST_ROUNDS),
            validation=float(self.validation_fraction),
            n_bags=int(self.n_bags),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _check_before_fit(self, X: Any, y: Any) -> None:
        self._check_parameters()
        check_in_memory(self, X, y)
        columns = target_columns(y)
        if columns is not None:
            raise ValueError(f"y has {len(columns)} columns: {type(self).__name__} takes 1 target; fit it to each")

    def _weights(self, sample_weight: ArrayLike | None, n_samples: int) -> NDArray[np.float64] | None:
        return None if sample_weight is None else check_sample_weight(sample_weight, n_samples)

    def _set_fitted(self, model: AdditiveModel, schema: Schema) -> None:
        self._keep_schema(schema)
        self._keep_model(model)
        self.__dict__.pop("n_iter_", None)  # of an earlier fit

    def _keep_model(self, model: AdditiveModel) -> None:
        self.additive_ = model
        self.intercept_: Any = float(model.intercept[0]) if model.link != "softmax" else model.intercept
        self.term_names_ = terms_named(model.terms, self.schema_)
        self.term_importances_ = np.array([term.importance for term in model.terms])

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in the sum of `term_importances_`; half that of a pair belongs to each of both."""
        check_is_fitted(self)
        found = np.zeros(self.n_features_in_)
        for term in self.additive_.terms:
            found[list(term.features)] += term.importance / len(term.features)
        return np.asarray(found / found.sum() if found.sum() > 0 else found)

    def _encode_table(self, X: Any) -> Table:
        check_is_fitted(self)
        return encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)

    # Files

    def _to_document(self) -> dict[str, Any]:
        write.check_names(self.schema_)
        target: dict[str, Any] = {"name": self.target_names_[0]}
        if isinstance(self, ClassifierMixin):
            target |= write.written_classes(self.classes_, len(self.classes_))
        return {
            "format": additive.FORMAT,
            "version": additive.VERSION,
            "library": __version__,
            "algorithm": ALGORITHM,
            "task": self._task,
            **write.written_table(self.schema_, [target], self._settings()),
            **self._written_labels(),
            **additive.written_model(self.additive_),
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        schema, targets, settings = read.read_table(document)
        names = cls._get_param_names()
        model = cls(**{name: value for name, value in settings.items() if name in names})
        with file.errors_of_settings():
            model._check_parameters()
        classes = read.read_classes(targets[0]) if issubclass(cls, ClassifierMixin) else None
        model._set_fitted(additive.read_model(document, schema, None if classes is None else len(classes)), schema)
        model._keep_classes(classes)
        model.target_names_ = read.names_of(targets)
        model._read_labels(document)
        return model

    def _keep_classes(self, classes: NDArray[Any] | None) -> None:
        """Keep the classes, if there are some."""


class _Pairs:
    """The second stage of a fit: tables of pairs, on top of those of the features."""

    def __init__(
        self,
        table: Table,
        rows: NDArray[np.intp] | None,
        axes: tuple[Axis, ...],
        binned: Binned,
        order: NDArray[np.intp],
    ) -> None:
        self.axes, self.binned, self.schema = axes, binned, table.schema
        self.coarse = pairs.coarse_axes(table, rows, axes)
        self.codes = np.ascontiguousarray(codes_of(table, self.coarse, rows)[:, order])

    def fit(
        self, asked: Any, free: list[int], stage: tuple[TermPlan, Rounds, int], bags: list[Fitted], unit: float
    ) -> AdditiveModel:
        """Return the model with the pairs asked for, or with as many of the features `free` as asked for."""
        plan, rounds, n_jobs = stage
        if isinstance(asked, int):
            mean = np.mean([boosting.scores_of(bag, plan) for bag in bags], axis=0)
            codes, axes = self.codes[free], [self.coarse[j] for j in free]
            found = pairs.found_pairs(self.binned, mean, axes, codes, asked, rounds.min_samples_leaf)
            chosen = [(free[i], free[j]) for i, j in found]
        else:
            pairs.check_grids(asked, self.coarse, self.schema)
            chosen = asked
        mains = [(axis,) for axis in self.axes]
        if not chosen:
            return boosting.mean_model(self.binned, mains, plan.codes, bags, unit)
        grids = pairs.plan_of(chosen, self.coarse, self.codes)
        second = boosting.fit_bags(self.binned, grids, rounds, n_jobs, lambda bag: boosting.scores_of(bags[bag], plan))
        axes_of_pairs = [(self.coarse[i], self.coarse[j]) for i, j in chosen]
        return boosting.mean_model(
            self.binned, [*mains, *axes_of_pairs], [*plan.codes, *grids.codes], boosting.joined(bags, second), unit
        )
