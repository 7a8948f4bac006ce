"""`Recipe`: an algorithm as a value, with every choice that makes one tree algorithm differ from another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace as with_fields
from typing import Any

from fasttree._data.checks import alternatives

IMPURITIES = ("gini", "entropy", "misclassification")  # of classes
IMPURITIES_OF_NUMBERS = ("squared_error", "absolute_error", "poisson")
IMPURITIES_OF_MODELS = ("fifth_root",)  # of numeric targets, for trees whose leaves have models

# The words that each choice allows.
CHOICES: dict[str, tuple[str, ...]] = {
    "impurity": IMPURITIES + IMPURITIES_OF_NUMBERS + IMPURITIES_OF_MODELS,
    "rank": ("gain", "gain_ratio", "plain_gain_ratio", "mdl_gain_ratio"),
    "nominal": ("declared", "present", "subset", "one_vs_rest", "groups"),
    "ordinal": ("threshold", "declared", "present", "groups", "intervals"),
    "continuous": ("threshold", "intervals", "error"),
    "missing": ("error", "fractional", "direction", "majority", "branch", "surrogate"),
    "midpoint": ("low", "high"),
}


@dataclass(frozen=True)
class Recipe:
    """The choices that define a tree algorithm; by default those of CART.

    A recipe is a value: it is compared by its fields and never changes; `dataclasses.replace` makes another one.  An estimator
    raises an error if two choices of its recipe exclude each other.

    Parameters
    ----------
    name : str, default="custom"
        Name of the algorithm ("id3", "c45", "cart"), which has no effect.
    impurity : str, default="gini"
        Impurity of a node.  For classes: "gini"; "entropy", in bits; or "misclassification".  For numeric targets:
        "squared_error", mean squared deviation from the mean; "absolute_error", mean absolute deviation from the median;
        "poisson", half the mean Poisson deviance from the mean, in nats; or "fifth_root", the fifth root of the variance, as in
        M5' (Wang and Witten 1997): it is drawn less to outliers, and suits trees whose leaves have models.  Several targets have
        the mean of their impurities, or for "fifth_root" the fifth root of their mean variance.  With it, two groups of
        categories are then the best ones in the order of the categories' means, which need not be the best ones of all.
    rank : {"gain", "gain_ratio", "plain_gain_ratio", "mdl_gain_ratio"}, default="gain"
        How the splits of different features compete: by gain; by gain ratio among those whose gain is at least average (Quinlan
        1986); by gain ratio among all; or, as in C5.0, by gain ratio among those that pay for naming their feature.  Within
        one feature, the best threshold or the best two groups have the largest gain with any rank, as in C4.5 for thresholds.
        Missing values of the training samples are part of the split information: on the side to which they go, or as one more
        branch if they are divided or have a branch of their own.
    nominal : {"declared", "present", "subset", "one_vs_rest", "groups"}, default="subset"
        Form of a nominal split: a branch per declared category; a branch per category that occurs in the node; two groups of
        categories; one category against the rest; or any number of groups, found by the greedy merging of C4.5 or C5.0.
    ordinal : {"threshold", "declared", "present", "groups", "intervals"}, default="threshold"
        Form of an ordinal split: at a place in the order; as for a nominal feature; or a branch per interval of the order.
    continuous : {"threshold", "intervals", "error"}, default="threshold"
        Form of a continuous split: at a threshold, or a branch per interval of the node's values.  Neighbouring intervals merge
        while their classes hardly differ (ChiMerge, Kerber 1992), or one of them is too small for a branch.  "error": continuous
        features raise an error, and columns of integers are nominal.
    missing : {"error", "fractional", "direction", "majority", "branch", "surrogate"}, default="direction"
        Where a sample goes if its tested value is missing: nowhere, it raises an error; down every branch with a share of its
        weight; to the side that gained most in training; to the branch of most known weight; to a branch of its own; or where a
        test of another feature, which imitates this one, sends it.
    release8 : bool, default=False
        Quinlan's C4.5 Release 8 in detail: reasonable-split test, average-gain filter with its tolerance, penalty of a threshold,
        thresholds that occur in the data, collapse of splits that do not reduce the training errors.
    midpoint : {"low", "high"}, default="low"
        Side of a value that equals the midpoint of two values of the training samples, where a continuous feature is cut: with
        the lower values, as in scikit-learn, or with the higher ones, as in rpart.  The threshold is then the largest number
        below the midpoint.  Growth is the same with both.

    Raises
    ------
    ValueError
        If a choice is not one of its words.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.

    Kerber, R. (1992). ChiMerge: Discretization of Numeric Attributes. AAAI-92, 123-128.

    Quinlan, J. R. (1986). Induction of Decision Trees. Machine Learning, 1, 81-106.

    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.

    Wang, Y. and Witten, I. H. (1997). Induction of Model Trees for Predicting Continuous Classes. ECML-97, poster papers.

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
    midpoint: str = "low"

    def __post_init__(self) -> None:
        for choice, words in CHOICES.items():
            value = getattr(self, choice)
            if not isinstance(value, str) or value not in words:
                raise ValueError(f"{choice}={value!r}: must be {alternatives(words)}")
        if not isinstance(self.name, str):
            raise ValueError(f"name={self.name!r}: must be text")
        if not isinstance(self.release8, bool):
            raise ValueError(f"release8={self.release8!r}: must be True or False")

    def __hash__(self) -> int:
        return hash((self.name, self.impurity))  # checks are looked up by recipe in every fit, and few differ in the rest alone

    def variant(self, **choices: Any) -> Recipe:
        """Return the recipe with other choices, or itself if nothing changes."""
        for name, choice in choices.items():
            if getattr(self, name) != choice:
                return with_fields(self, **choices)
        return self


ID3 = Recipe("id3", "entropy", nominal="present", ordinal="present", continuous="error", missing="error")
C45 = Recipe("c45", "entropy", rank="gain_ratio", nominal="declared", ordinal="declared", missing="fractional", release8=True)
C50 = C45.variant(name="c50", rank="mdl_gain_ratio")
C45_TEXTBOOK = Recipe("c45", "entropy", rank="plain_gain_ratio", nominal="present", ordinal="present", missing="fractional")
CART_CLASSIFICATION = Recipe("cart", "gini")
CART_REGRESSION = Recipe("cart", "squared_error")
M5 = Recipe("m5", "fifth_root")

# The words of `TreeClassifier(recipe=...)`.
RECIPES: Mapping[str, Recipe] = {"cart": CART_CLASSIFICATION, "id3": ID3, "c45": C45, "c45_textbook": C45_TEXTBOOK}
