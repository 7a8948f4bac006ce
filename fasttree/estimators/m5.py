"""`M5Regressor`: trees whose leaves have linear models (Quinlan 1992; Wang and Witten 1997)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from fasttree._data.checks import is_integer
from fasttree._learn.grow.grower import Grower
from fasttree._learn.limits import Limits
from fasttree._learn.models.growth import ModelChoices, grow_models
from fasttree._learn.models.least_squares import Elimination
from fasttree._learn.parameters import (
    AMOUNT,
    AMOUNT_OR_NONE,
    FLAG,
    ParameterRule,
    one_of,
    parameter,
    parameters,
)
from fasttree._learn.progress import in_percent
from fasttree._learn.recipe import M5, Recipe
from fasttree._learn.samples import Samples
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.tree import Tree
from fasttree.estimators.common.base import BaseTree
from fasttree.estimators.common.tasks import BaseRegressor
from fasttree.pruning import PruningMethod

__all__ = ["M5Regressor"]

SIDE_SHARE = 5  # each branch has more than a fifth of the samples
FACTOR_OF_M5P = 2.0  # of pruning
AS_M5P: dict[str, Any] = {"path_features": False, "elimination": "m5", "extrapolation": None, "as_m5p": True}
NOT_OF_M5P = ("criterion", "balanced", "path_features", "elimination", "extrapolation", "min_weight_fraction_leaf")


class _WithModels(BaseTree):
    """What the fit of a tree with models leaves."""

    tree_: ModelTree


@parameters
class M5Regressor(_WithModels, BaseRegressor):
    """Regression tree with linear models in its leaves, by M5.

    A tree is grown by binary splits.  Every node gets a linear model of the continuous features that are tested on the way to it
    or below it.  Terms that do not lower the estimated error are removed, and so are branches.  The model of a leaf is mixed with
    those of the nodes above.  The tree is smaller than one with constant leaves, and each leaf is a formula.

    Notes
    -----
    The models are least squares fits.  A feature that is nearly a linear combination of others (1 - R² below 1e-7) gets no term.
    Terms leave one by one, each time the one that adds least to the squared error S, and the model of least
    ``sqrt(S) (n + v) / (n - v)`` is kept, where v counts its parameters and n the samples of the node.

    Sample weights count in splits, models and errors.  Where the text says numbers of samples, a sample counts one whatever its
    weight, unless that is 0.

    In a model, a missing value counts as the mean of its feature in the fit.  In a split, missing values follow the side that
    gained most in training.  Ordinal features are split, but have no terms.

    With ``indicators=True``, the categories of a nominal feature have indicators, except the one of most weight, whose samples
    have 0 in all of them.  Of more than 33 categories, the 32 of most weight after it have one.  An indicator counts as a feature
    in the model of a node: it leaves if it does not lower the estimated error, and gets no term where it is nearly a linear
    combination of others.  For a missing value, and for a category that the fit did not see, each indicator is its mean in the
    fit, the share of its category.

    Several targets share one tree, and each node has a model for each.  The mean of their variances takes the place of the
    variance, and the sum of the estimated errors that of the estimated error, of targets that are divided by their standard
    deviations in all samples.

    The algorithm differs from Weka's M5P in what made its predictions better on test samples: bounds of the predictions, models
    with the features on the way, elimination by the estimated error, and an estimated error with the factor 1 in the place of 2.

    ``variant="weka"`` makes the trees and models of M5P: by running sums in its order, with its ties and absolute tolerances.
    ``pruning_factor=None`` is its option ``-N``, ``smoothing=0`` its ``-U``, ``linear=False`` its ``-R``, and
    `min_samples_split` its ``-M``.  The factor of pruning is 2.  The parameters that M5P does not have must keep their defaults.
    Features must be numbers; missing values count as means in splits, too.  There is one target.

    References
    ----------
    Appice, A. and Džeroski, S. (2007). Stepwise Induction of Multi-target Model Trees. ECML 2007, LNCS 4701, 502-509.

    Blockeel, H., De Raedt, L. and Ramon, J. (1998). Top-down Induction of Clustering Trees. ICML-98, 55-63.

    Quinlan, J. R. (1992). Learning with Continuous Classes. 5th Australian Joint Conference on Artificial Intelligence, 343-348.

    Wang, Y. and Witten, I. H. (1997). Induction of Model Trees for Predicting Continuous Classes. ECML-97, poster papers.

    Examples
    --------
    >>> import numpy as np
    >>> from fasttree import M5Regressor
    >>> x = np.arange(40.0)
    >>> y = np.where(x < 20, 3 * x, 200 - 2 * x)
    >>> model = M5Regressor(smoothing=0).fit(x[:, None], y)
    >>> print(model.export_text(), end="")
    ├── x0 <= 19.5: 3 x0, from -2.85 to 59.85 (20)
    └── x0 > 19.5: 200 - 2 x0, from 120.1 to 161.9 (20)
    >>> model.predict([[10.0], [30.0]])
    array([ 30., 140.])
    """

    variant: str = parameter(
        "m5",
        one_of("m5", "weka"),
        """Algorithm.  "m5": as the parameters say.  "weka": Weka's M5P, see Notes.""",
    )
    criterion: str = parameter(
        "fifth_root",
        one_of("fifth_root", "squared_error"),
        """Impurity of a node: the fifth root of the variance, as in M5', which is drawn less to outliers; or the variance.""",
    )
    balanced: bool = parameter(
        True,
        FLAG,
        """Whether each branch has more than a fifth of the samples of the node, as in M5'.  Trees are then less deep, and leaves
        have samples enough for a model.""",
    )
    least_deviation: float = parameter(
        0.05,
        AMOUNT,
        """A node is a leaf if the standard deviation of its targets is at most this share of that of all samples; of several
        targets the root of the mean variance, each divided by its variance in all samples.""",
    )
    linear: bool = parameter(
        True,
        FLAG,
        "Whether models have terms.  False: each is a mean, in a regression tree that is pruned and smoothed as by M5.",
    )
    indicators: bool = parameter(
        False,
        FLAG,
        """Whether nominal features have terms, too: an indicator of a category is 1 for its samples and 0 for others, see Notes.
        False: they are split only.""",
    )
    path_features: bool = parameter(
        True,
        FLAG,
        "Whether the model of a node may have the features tested on the way to it.  False: only those tested at it and below.",
    )
    elimination: str = parameter(
        "exact",
        one_of("exact", "m5"),
        """How terms leave a model.  "exact": each time the one that adds least to the squared error, and the model of the least
        estimated error is kept.  "m5": as in Weka's M5P, by the size of the coefficients, until Akaike's criterion rises.""",
    )
    pruning_factor: float | None = parameter(
        1.0,
        AMOUNT_OR_NONE,
        """A node is a leaf if the error of its model, times ``(n + factor v) / (n - v)``, is at most that of its subtree; n is
        the number of its samples, v the number of parameters.  A larger factor prunes more.  None: no pruning.""",
    )
    smoothing: float = parameter(
        15.0,
        AMOUNT,
        """Number of samples for which the model of a parent counts, where the model of a leaf is mixed with those above it.  0:
        no mixing.""",
    )
    extrapolation: float | None = parameter(
        0.05,
        AMOUNT_OR_NONE,
        """How far a prediction may leave the range of the training targets of its leaf, as a share of that range.  None: as
        far as the model goes.""",
    )
    min_samples_split: float = parameter(
        4,
        ParameterRule(
            lambda value: (is_integer(value) and value >= 2) or (isinstance(value, float) and 0 < value <= 1),
            "an integer >= 2, or a float in (0, 1] as a share of the samples",
            "int or float",
        ),
    )

    _attributes = {
        "tree_": ("ModelTree", "The tree that predicts, as flat arrays, with its `models`."),
        "tree_unpruned_": ("Tree", "The tree as grown, without models.  It is not saved: a loaded model has `tree_` alone."),
        "pruning_table_": ("", ""),
    }
    _descriptions = {"random_state": "Has no effect, because nothing is drawn.  It is there for programs that set it."}

    _takes_several = True
    _grows_by_recipe: ClassVar[bool] = False
    pruning: ClassVar[None] = None  # type: ignore[misc]
    ccp_alpha: ClassVar[float] = 0.0  # type: ignore[misc]
    max_leaf_nodes: ClassVar[None] = None  # type: ignore[misc]
    min_impurity_decrease: ClassVar[float] = 0.0  # type: ignore[misc]
    min_impurity: ClassVar[float] = 0.0  # type: ignore[misc]
    min_gain: ClassVar[None] = None
    max_bins: ClassVar[None] = None  # type: ignore[misc]
    max_features: ClassVar[None] = None  # type: ignore[misc]
    n_jobs: ClassVar[None] = None  # type: ignore[misc]

    def _recipe(self) -> Recipe:
        return M5.variant(impurity=self.criterion)

    def _fits_several(self) -> bool:
        return self.variant != "weka"

    def _several_targets(self, y: Any) -> list[Any] | None:
        columns = super()._several_targets(y)
        if columns is not None and self.variant == "weka":
            raise ValueError(
                f"y has {len(columns)} columns: variant='weka' takes 1 target, as M5P does; fit it to each, or use variant='m5'"
            )
        return columns

    def _limits(self, n_samples: int, n_features: int, total: float) -> Limits:
        limits = super()._limits(n_samples, n_features, total)
        return limits._replace(side_share=SIDE_SHARE if self.balanced else 0)

    def _make_tree(self, grower: Grower, prune: Callable[[Tree], Tree]) -> Tree:
        choices = ModelChoices(
            least_deviation=float(self.least_deviation),
            path_features=bool(self.path_features),
            pruning_factor=None if self.pruning_factor is None else float(self.pruning_factor),
            smoothing=float(self.smoothing),
            elimination=cast(Elimination, self.elimination),
            linear=bool(self.linear),
            indicators=bool(self.indicators),
            extrapolation=None if self.extrapolation is None else float(self.extrapolation),
        )
        if self.variant == "weka":
            self._check_of_weka()
            choices = choices._replace(**AS_M5P, pruning_factor=None if self.pruning_factor is None else FACTOR_OF_M5P)
        with in_percent("growth"):
            tree, self.tree_unpruned_ = grow_models(grower, choices)
        return tree

    def _check_of_weka(self) -> None:
        defaults = type(self)().get_params()
        for name in NOT_OF_M5P:
            if getattr(self, name) != defaults[name]:
                raise ValueError(
                    f"{name}={getattr(self, name)!r}: variant='weka' has M5P's own; leave out {name}, or use variant='m5'"
                )
        if self.pruning_factor not in (None, 1.0):
            raise ValueError(
                f"pruning_factor={self.pruning_factor!r}: that of variant='weka' is {FACTOR_OF_M5P:g}; leave it out, or give "
                "None for no pruning"
            )

    def _pruned_by(self, is_smaller: bool) -> str:
        return f"pruning_factor={self.pruning_factor!r}" if is_smaller else ""

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        table = self._encode_table(X)
        found = self.tree_.predict(table).reshape(table.n_samples, -1)
        unknown = np.flatnonzero(np.isnan(found).any(axis=1))
        if unknown.size:
            raise ValueError(
                f"row {unknown[0]} of X holds numbers so large that the terms of a formula overflow: scale X before the fit, or "
                "check the row"
            )
        return found

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted values.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of float64, shape (n_samples,) or (n_samples, n_outputs)
            What the models of the leaves predict.

        Raises
        ------
        ValueError
            If the columns are not those of the fit, or the terms of a formula overflow.
        """
        return super().predict(X)

    def _method_to_prune_by(self, pruning: Any) -> PruningMethod:
        raise ValueError(
            f"pruning={pruning!r} compares leaves that predict constants, and those of M5Regressor have models: fit with another "
            "pruning_factor, or use collapse"
        )

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Raise a ValueError, because cost-complexity pruning compares leaves that predict constants.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.
        y : array-like of shape (n_samples,)
            As for `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.
        """
        raise ValueError(
            "cost-complexity pruning compares leaves that predict constants, and those of M5Regressor have models: use "
            "pruning_factor"
        )

    def _to_edit(self, node: int, X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Tree, Samples]:
        raise ValueError(
            "split and regrow change trees whose leaves predict constants, and those of M5Regressor have models: fit again, or "
            "use CARTRegressor"
        )
