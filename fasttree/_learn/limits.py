"""`Limits`, the numbers that stop growth."""

from __future__ import annotations

import math
from typing import NamedTuple


class Limits(NamedTuple):
    """The numbers that stop growth.  Counts are samples; weights are in the unit of `sample_weight`.

    A split needs a gain per unit weight of the node above `min_gain`; `min_ratio` is the same for the gain ratio, if splits
    compete by the plain one.  `split_p_value` is the largest p-value of Pearson's chi-square test of classes and branches.
    `min_impurity_decrease` is scikit-learn's: weight(node) / weight(root) * gain per unit weight must reach it.  With
    `max_leaf_nodes`, the nodes of largest weight * gain are split first.  Two neighbouring intervals stay apart if the p-value of
    their chi-square test (K - 1 degrees of freedom for K classes) is at most `merge_p_value`; at most `max_intervals` are left.
    A continuous feature of more than `max_bins` values (2 to 65,535) is grown on that many bins of nearly equal counts.
    With `random_cuts`, each feature has one random cut in a node, drawn by `seed` (Geurts, Ernst and Wehenkel 2006).
    """

    max_depth: int | None = None
    max_leaf_nodes: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    side_share: int = 0  # M5: each of two branches has more samples than n // side_share, and two or more; 0: no such limit
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    min_impurity: float = 0.0
    min_gain: float = 0.0
    min_ratio: float = -math.inf
    split_p_value: float | None = None
    min_branch_weight: float = 2.0  # C4.5's MINOBJS, used where the recipe is release8
    min_part_weight: float = 0.0  # lighter parts of a sample are not divided but follow the heaviest branch
    min_part_share: float = 0.0  # the same for parts of less than this share of their sample
    leaves_per_weight: float = 0.0  # C5.0: most leaves below a node, per weight of the node; 0: any number
    bound_share: float = 1.0  # C5.0: of the bound that the gain of a split reaches; 0 while winnowing
    n_cases: float | None = None  # weight of the whole training set, of which the samples are some; None: theirs
    max_surrogates: int = 5
    surrogate_agreement: str = "all"  # rpart's surrogatestyle: 0 = "all" samples that know the node's value, 1 = "known"
    no_surrogate: str = "majority"  # or "stop": rpart's usesurrogate, 2 or 1
    merge_p_value: float = 0.1
    max_intervals: int | None = None
    max_bins: int | None = None
    max_features: int | None = None
    random_cuts: bool = False
    seed: int = 0
    lookahead: int = 1  # 2: every split is the root of the best tree of two levels
