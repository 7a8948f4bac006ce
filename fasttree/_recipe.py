"""An algorithm is a value: everything that makes one tree algorithm differ from another.

`Recipe` holds the choices of kind, `Limits` the numbers that stop growth.  Neither knows tables, estimators or kernels;
`_grow.py` translates both for `_core`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Any

# The words that a choice may be.
CHOICES: dict[str, tuple[str, ...]] = {
    "impurity": ("gini", "entropy", "misclassification", "squared_error", "absolute_error", "poisson"),
    "rank": ("gain", "gain_ratio", "plain_gain_ratio"),
    "nominal": ("category", "present", "subset", "one_vs_rest", "groups"),
    "ordinal": ("threshold", "category", "present", "groups", "intervals"),
    "continuous": ("threshold", "intervals", "refuse"),
    "missing": ("error", "fractional", "direction", "majority", "branch", "surrogate"),
}


@dataclass(frozen=True)
class Recipe:
    """The choices that define a tree algorithm; by default those of CART.

    A recipe is a value: it is compared by its fields and never changes; `dataclasses.replace` makes another one.  Which choices
    exclude each other is told by the estimator that is given the recipe.

    Parameters
    ----------
    name : str, default="custom"
        Name of the algorithm ("id3", "c45", "cart"); for people, it decides nothing.
    impurity : {"gini", "entropy", "misclassification", "squared_error", "absolute_error", "poisson"}, default="gini"
        Impurity of a node; entropy in bits.  The last three are for numeric targets: mean squared deviation from the mean, mean
        absolute deviation from the median, half the mean Poisson deviance from the mean in nats.
    rank : {"gain", "gain_ratio", "plain_gain_ratio"}, default="gain"
        How the splits of different features compete: by gain; by gain ratio among those whose gain is at least average (Quinlan
        1986); or by gain ratio among all.  The best threshold, or the best two groups, of one feature are chosen by gain whatever
        the rank, as C4.5 does for thresholds.  Missing values are part of the split information where they are in training: on
        the side they go to, or as one more branch where they are divided or have a branch of their own.
    nominal : {"category", "present", "subset", "one_vs_rest", "groups"}, default="subset"
        Form of a nominal split: a branch per declared category, a branch per category that occurs in the node, two groups of
        categories, one category against the rest, or any number of groups that C4.5's greedy search merges.
    ordinal : {"threshold", "category", "present", "groups", "intervals"}, default="threshold"
        Form of a split on an ordinal feature: at a place in the order, as for a nominal one, or a branch per interval.
    continuous : {"threshold", "intervals", "refuse"}, default="threshold"
        Continuous features are split at a threshold; with a branch per interval of the node's values, which merge while the
        classes of neighbours hardly differ (ChiMerge, Kerber 1992) and while one is too small for a branch; or refused, and then
        columns of integers are taken as nominal.
    missing : {"error", "fractional", "direction", "majority", "branch", "surrogate"}, default="direction"
        What happens to a sample whose tested value is missing: refused, sent down every branch with a share of its weight, sent
        to the side that gained most in training, to the branch of most known weight, to a branch of its own, or as a test of
        another feature says that imitates this one.
    release8 : bool, default=False
        Quinlan's C4.5 Release 8 in detail: reasonable-split test, average-gain filter with its tolerance, penalty of a threshold,
        thresholds that occur in the data, collapse of splits that do not reduce the training errors.

    Raises
    ------
    ValueError
        If a choice is none of its words.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.

    Kerber, R. (1992). ChiMerge: Discretization of Numeric Attributes. AAAI-92, 123-128.

    Quinlan, J. R. (1986). Induction of Decision Trees. Machine Learning, 1, 81-106.

    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.

    Examples
    --------
    >>> from fasttree import Recipe
    >>> Recipe(impurity="entropy", missing="shares")
    Traceback (most recent call last):
    ...
    ValueError: missing='shares': must be 'error', 'fractional', 'direction', 'majority', 'branch' or 'surrogate'
    """

    name: str = "custom"
    impurity: str = "gini"
    rank: str = "gain"
    nominal: str = "subset"
    ordinal: str = "threshold"
    continuous: str = "threshold"
    missing: str = "direction"
    release8: bool = False

    def __post_init__(self) -> None:
        for choice, words in CHOICES.items():
            value = getattr(self, choice)
            if not isinstance(value, str) or value not in words:
                listed = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
                raise ValueError(f"{choice}={value!r}: must be {listed}")
        if not isinstance(self.name, str):
            raise ValueError(f"name={self.name!r}: must be text")
        if not isinstance(self.release8, bool):
            raise ValueError(f"release8={self.release8!r}: must be True or False")

    def variant(self, **choices: Any) -> Recipe:
        """Return the recipe with other choices; itself where they are its own."""
        same = all(getattr(self, name) == choice for name, choice in choices.items())
        return self if same else with_fields(self, **choices)


@dataclass(frozen=True)
class Limits:
    """The numbers that stop growth.  Counts are samples; weights are in the unit of `sample_weight`.

    `min_gain` is per unit weight of the node, exclusive: a split needs gain > min_gain. `min_ratio` is the same for the gain
    ratio, where the plain one competes. `max_split_p_value` is the largest probability that the classes are as far from being
    independent of a split's branches by chance, by Pearson's chi-square test. `min_impurity_decrease` is scikit-learn's:
    weight(node) / weight(root) * gain per unit weight must reach it. With `max_leaf_nodes` the nodes of largest weight * gain
    are split first. `merge_p_value` is the probability, were the classes independent of it, of a chi-square as large as that
    which keeps two neighbouring intervals apart (K - 1 degrees of freedom for K classes); at most `max_intervals` are left.
    A continuous feature of more than `max_bins` values (2 to 65,535) is grown on so many bins of nearly equal counts.
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    min_impurity: float = 0.0
    min_gain: float = 0.0
    min_ratio: float = -math.inf
    max_split_p_value: float | None = None
    min_branch_weight: float = 2.0  # C4.5's MINOBJS, used where the recipe is release8
    min_part_weight: float = 0.0  # lighter parts of a sample are not divided but follow the heaviest branch
    max_surrogates: int = 5
    surrogate_agreement: str = "all"  # rpart's surrogatestyle: 0 = "all" samples that know the node's value, 1 = "known"
    no_surrogate: str = "majority"  # or "stop": rpart's usesurrogate, 2 or 1
    merge_p_value: float = 0.1
    max_intervals: int | None = None
    max_bins: int | None = None
    max_features: int | None = None
    seed: int = 0


ID3 = Recipe("id3", "entropy", nominal="present", ordinal="present", continuous="refuse", missing="error")
C45 = Recipe("c45", "entropy", rank="gain_ratio", nominal="category", ordinal="category", missing="fractional", release8=True)
C45_TEXTBOOK = Recipe("c45", "entropy", rank="plain_gain_ratio", nominal="present", ordinal="present", missing="fractional")
CART_CLASSIFICATION = Recipe("cart", "gini")
CART_REGRESSION = Recipe("cart", "squared_error")
