"""`CubistRegressor`: rules with linear models, and committees of them (Quinlan 1992, 1993; Cubist 2.07)."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._data.encode import encode_table
from fasttree._data.learn import learn_table
from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._data.targets import encode_values, target_names
from fasttree._data.weights import check_same_length, check_sample_weight, check_total
from fasttree._export.document import committee as document_of
from fasttree._export.document import file
from fasttree._learn.cubist.committee import learn_committee
from fasttree._learn.cubist.problem import CommitteeChoices
from fasttree._learn.parameters import AMOUNT, FLAG, ParameterRule, parameter, parameters
from fasttree._model.committees.committee import Committee
from fasttree._scale.estimating import check_in_memory
from fasttree.estimators.committees import CommitteeViews
from fasttree.estimators.common.fitted import FittedModel, all_or_nothing, with_bars
from fasttree.estimators.common.growth_parameters import Reading

__all__ = ["CubistRegressor"]

MOST_RULES = 2**31 - 1  # that the engine counts
LARGEST = 1e60  # size of a target or of a number in a column, so that sums of squares of squares stay finite
LEAST = 1e-14  # size of the largest target: intercepts have 16 decimals at most
MOST_NEIGHBORS = 100


@parameters
class CubistRegressor(CommitteeViews, RegressorMixin, FittedModel, Reading):  # type: ignore[misc]  # scikit-learn has no types
    """Rules with linear models, by Cubist.

    A tree is grown on the residuals of linear models.  Each path to a leaf becomes a rule, whose conditions are dropped if
    predictions do not get worse.  A rule predicts by a formula.  Where several rules hold, the mean of their predictions counts.
    A committee has several such rule sets, each of which corrects the one before, and predicts by their mean.  The nearest
    training samples may correct the predictions.

    Notes
    -----
    A cut of a continuous feature is judged by the residual deviations of both sides from a line, if it is significant.  Models
    have terms of the continuous features that are tested on the way to a node or below it.  Their coefficients are rounded to
    what matters for a hundredth of the standard deviation of the targets.

    Sample weights count in sums, errors and medians.  Numbers of samples, such as those a rule must cover, count samples whose
    weight is not 0.

    A missing number counts as the mean of its feature in the fit, in conditions, models and distances, and a missing category as
    the most frequent one.

    References
    ----------
    Quinlan, J. R. (1992). Learning with Continuous Classes. 5th Australian Joint Conference on Artificial Intelligence, 343-348.

    Quinlan, J. R. (1993). Combining Instance-Based and Model-Based Learning. 10th International Conference on Machine Learning,
    236-243.

    Examples
    --------
    >>> import numpy as np
    >>> from fasttree import CubistRegressor
    >>> x = np.arange(40.0)
    >>> y = np.where(x < 20, 3 * x, 200 - 2 * x)
    >>> model = CubistRegressor().fit(x[:, None], y)
    >>> print(model.export_text(), end="")
    if x0 <= 19 then 3 x0, from 0 to 59.85  (cover 20, error 0)
    if x0 > 19 then 200 - 2 x0, from 120.1 to 161.9  (cover 20, error 0)
    >>> model.predict([[10.0], [30.0]])
    array([ 30., 140.])
    """

    committees: int = parameter(
        1,
        ParameterRule(lambda value: is_integer(value) and 1 <= value <= 1000, "an integer in [1, 1000]", "int"),
        """Number of rule sets.  Each after the first learns twice the target less the prediction of the one before; the mean of
        all predicts.""",
    )
    neighbors: int = parameter(
        0,
        ParameterRule(
            lambda value: is_integer(value) and 0 <= value <= MOST_NEIGHBORS, f"an integer in [0, {MOST_NEIGHBORS}]", "int"
        ),
        """Number of nearest samples of the fit whose errors correct a prediction.  The model then keeps the samples.  0: no
        correction.""",
    )
    unbiased: bool = parameter(
        False, FLAG, "Whether the intercept of each rule is moved until the mean error on its samples is about 0."
    )
    extrapolation: float = parameter(
        0.05,
        AMOUNT,
        """How far the prediction of a rule may leave the range of the training targets that it covers, as a share of that
        range.""",
    )
    max_rules: int = parameter(
        100,
        ParameterRule(lambda value: is_integer(value) and value >= 1, "an integer >= 1", "int"),
        "Maximum number of rules of a rule set.",
    )

    _attributes = {
        "rules_": (
            "tuple of tuple of ModelRule",
            "The rules of each member of the committee, ordered by the mean of the targets that they cover.",
        ),
        "committee_": ("Committee", "The rules with what they need to predict."),
    }
    _descriptions = {"random_state": "Has no effect, because nothing is drawn.  It is there for programs that set it."}
    n_jobs: ClassVar[None] = None  # type: ignore[misc]

    @all_or_nothing
    @with_bars
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            pandas or polars DataFrame, Arrow table, NumPy array, scipy.sparse matrix or list of rows.  Never modified.
        y : array-like of shape (n_samples,)
            Number to predict for each sample.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, finite and not negative.  None: all are 1.  A sample of weight 0 counts as absent.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter, the table, the target or a weight is invalid.
        """
        self._check_parameters()
        check_in_memory(self, X, y)
        table = learn_table(
            X, categorical_features=self.categorical_features, ordinal_features=self.ordinal_features, integers="continuous"
        )
        target = encode_values(y)
        check_same_length(table.n_samples, len(target))
        _check_sizes(table, target)
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        if weight is not None:
            check_total(float(weight.sum()))
        rows = np.arange(table.n_samples) if weight is None else np.flatnonzero(weight > 0)
        most_rules = min(int(self.max_rules), MOST_RULES)
        choices = CommitteeChoices(int(self.committees), most_rules, float(self.extrapolation), bool(self.unbiased))
        found = learn_committee(table, target, weight, rows, choices, int(self.neighbors))
        self._set_fitted(found, table.schema)
        self.target_names_ = target_names(y, 1)
        return self

    def _set_fitted(self, committee: Committee, schema: Schema) -> None:
        self.committee_ = committee
        self.rules_ = committee.members
        self._keep_schema(schema)

    def _encode_table(self, X: Any) -> Table:
        check_is_fitted(self)
        return encode_table(X, self.schema_, unseen=self.unseen, estimator_name=type(self).__name__)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Means of the members of the committee, each the mean of its rules that hold.

        Raises
        ------
        ValueError
            If the columns are not those of the fit, or the terms of a formula overflow.
        """
        table = self._encode_table(X)
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.committee_.predict(table)
        unknown = np.flatnonzero(np.isnan(found))
        if unknown.size:
            raise ValueError(
                f"row {unknown[0]} of X holds numbers so large that the terms of a formula overflow: scale X before the fit, or "
                "check the row"
            )
        return found

    def _to_document(self) -> dict[str, Any]:
        document = document_of.to_document(self.committee_, self.schema_, self._settings(), self.target_names_)
        return document | self._written_labels()

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        committee, schema, settings, names = document_of.from_document(document)
        known = cls._get_param_names()
        model = cls(**{name: value for name, value in settings.items() if name in known})
        with file.errors_of_settings():
            model._check_parameters()
        model._set_fitted(committee, schema)
        model.target_names_ = names
        model._read_labels(document)
        return model


def _check_sizes(table: Table, target: NDArray[np.float64]) -> None:
    """Raise an error for numbers that are too large, or too small, for the sums and the decimals of a fit."""
    largest = float(np.abs(target).max())
    if largest > LARGEST:
        raise ValueError(f"y: numbers must be at most {LARGEST:g}; got {largest:g}: divide them")
    if 0 < largest < LEAST:
        raise ValueError(f"y: the largest number must be 0, or at least {LEAST:g}; got {largest:g}: multiply them")
    for j, feature in enumerate(table.schema.features):
        if feature.kind == Kind.CONTINUOUS:
            size = float(np.fmax.reduce(np.abs(table.column(j)), initial=0.0))
            if size > LARGEST:
                raise ValueError(f"column {feature.name!r}: numbers must be at most {LARGEST:g}; got {size:g}: divide them")
