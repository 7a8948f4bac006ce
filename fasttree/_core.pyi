"""Types of the compiled core."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fasttree._tree import Tree

IMPURITY: dict[str, int]
FORM: dict[str, int]
RANK: dict[str, int]
MISSING: dict[str, int]
DIVIDED: int

@disjoint_base
class Encoding:
    def __new__(
        cls, n_samples: int, n_features: int, block_rows: int = ..., bounded: bool = ..., most_codes: int = ...
    ) -> Self: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def block_rows(self) -> int: ...
    @property
    def bounded(self) -> bool: ...
    def add_continuous(self, feature: int, column: npt.NDArray[Any], gap: float = ...) -> bool: ...
    def keep_values(self, feature: int, values: npt.NDArray[Any]) -> None: ...
    def add_bins(self, feature: int, codes: npt.NDArray[Any], n_bins: int) -> None: ...
    def add_codes(self, feature: int, codes: npt.NDArray[Any], n_categories: int, ordered: bool) -> None: ...

@disjoint_base
class Binning:
    def __new__(cls, n_samples: int, max_bins: int) -> Self: ...
    @property
    def max_bins(self) -> int: ...
    def find_edges(self, column: npt.NDArray[Any], open_ends: bool = ...) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]: ...
    def bin(
        self, column: npt.NDArray[Any]
    ) -> tuple[
        npt.NDArray[np.uint8] | npt.NDArray[np.uint16],
        npt.NDArray[np.uint32] | npt.NDArray[np.uint64],
        npt.NDArray[np.float64],
        npt.NDArray[np.float64],
    ]: ...

def bin_edges(
    column: npt.NDArray[Any], max_bins: int, open_ends: bool = ...
) -> npt.NDArray[np.uint32] | npt.NDArray[np.uint64]: ...
def bin_codes(
    column: npt.NDArray[Any], edges: npt.NDArray[np.uint32] | npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]: ...
def grow(
    encoding: Encoding,
    label: npt.NDArray[np.uint16] | None,
    y: npt.NDArray[np.float64] | None,
    ysum: npt.NDArray[np.int64] | None,
    target_rank: npt.NDArray[np.uint32] | None,
    weight: npt.NDArray[np.int64] | None,
    *,
    first_class: npt.NDArray[np.int32] | None,
    unit: float,
    y_unit: npt.NDArray[np.float64] | None,
    y_centre: npt.NDArray[np.float64] | None,
    y_bound: npt.NDArray[np.float64] | None,
    deviation_bound: npt.NDArray[np.float64] | None,
    impurity: int,
    nominal: int,
    ordinal: int,
    continuous: int,
    missing: int,
    rank: int,
    release8: bool,
    max_depth: int,
    min_samples_split: int,
    min_samples_leaf: int,
    min_weight_leaf: float,
    min_impurity_decrease: float,
    min_impurity: float,
    min_gain: float,
    min_ratio: float,
    min_branch_weight: float,
    min_part_weight: float,
    min_node_weight: float,
    n_cases: float,
    case_weight: npt.NDArray[np.int64] | None,
    max_surrogates: int,
    known_agreement: bool,
    to_heavier: bool,
    critical_value: float,
    max_intervals: int,
    most_splits: int,
    max_features: int,
    seed: int,
    bounded_from: int,
    n_jobs: int,
    monotone: npt.NDArray[np.int8] | None,
    sets_start: npt.NDArray[np.int64] | None,
    sets_of: npt.NDArray[np.int32] | None,
    members_start: npt.NDArray[np.int64] | None,
    members: npt.NDArray[np.int32] | None,
    pairwise: bool,
) -> dict[str, npt.NDArray[Any]]: ...
def holds_infinity(X: npt.NDArray[Any]) -> bool: ...
def distinct_integers(
    values: npt.NDArray[np.int64], widest: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]] | None: ...

@disjoint_base
class Walker:
    def __new__(cls, tree: Tree) -> Self: ...
    @property
    def arrays(self) -> object: ...
    def ends(self, X: npt.NDArray[Any], refuse_missing: bool = ...) -> npt.NDArray[np.int32] | None: ...

def walk(tree: Tree, X: npt.NDArray[Any], out: npt.NDArray[np.int32]) -> int: ...
def walk_shares(
    tree: Tree,
    X: npt.NDArray[Any],
    value: npt.NDArray[np.float64],
    shares: npt.NDArray[np.float64],
    leaves: npt.NDArray[np.int32],
) -> None: ...
def paths(tree: Tree, X: npt.NDArray[Any], starts: npt.NDArray[np.int64], out: npt.NDArray[np.int32] | None) -> None: ...

@disjoint_base
class Columns:
    def __new__(cls, n_features: int) -> Self: ...
    def add(self, feature: int, column: npt.NDArray[Any]) -> None: ...

def error_based(
    tree: Tree,
    columns: Columns,
    rows: npt.NDArray[np.uint32],
    label: npt.NDArray[np.uint16],
    weight: npt.NDArray[np.int64] | None,
    whole: int,
    unit: float,
    confidence: float,
    coefficient: float,
    min_part_weight: float,
) -> dict[str, npt.NDArray[Any]]: ...
def threshold_tests(
    tree: Tree,
    X: npt.NDArray[Any],
    classes: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    own_wrong: npt.NDArray[np.uint8],
    out: npt.NDArray[np.int32] | None,
    other_wrong: npt.NDArray[np.uint8],
) -> None: ...
def clip_values(
    first_child: npt.NDArray[np.int32],
    n_branches: npt.NDArray[np.int32],
    feature: npt.NDArray[np.int32],
    kind: npt.NDArray[np.uint8],
    monotone: npt.NDArray[np.int8],
    classes: bool,
    value: npt.NDArray[np.float64],
) -> None: ...
def useless_splits(
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    cost: npt.NDArray[np.float64],
    tolerance: npt.NDArray[np.float64],
    best: npt.NDArray[np.float64],
    out: npt.NDArray[np.uint8],
) -> None: ...
def weakest_links(
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    n_branches: npt.NDArray[np.int32],
    risk: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def arrivals(
    tree: Tree,
    X: npt.NDArray[Any],
    target: npt.NDArray[np.float64],
    weight: npt.NDArray[np.float64],
    answer: npt.NDArray[np.float64],
    impurity: int,
    loss_matrix: npt.NDArray[np.float64] | None,
    out: npt.NDArray[np.float64],
) -> None: ...
def midpoints(low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], out: npt.NDArray[np.float64]) -> None: ...
def thresholds(
    X: npt.NDArray[Any],
    at: npt.NDArray[np.intp],
    feature: npt.NDArray[np.int32],
    row_low: npt.NDArray[np.uint32],
    row_high: npt.NDArray[np.uint32],
    out: npt.NDArray[np.float64],
) -> None: ...
def raise_thresholds(column: npt.NDArray[Any], thresholds: npt.NDArray[np.float32], out: npt.NDArray[np.float64]) -> None: ...
def breadth_first(first_child: npt.NDArray[np.int32], n_branches: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]: ...
def simplify_rules(
    edges: dict[str, npt.NDArray[Any]],
    codes: npt.NDArray[np.uint32],
    padding: npt.NDArray[np.uint64],
    class_start: npt.NDArray[np.int64],
    n_samples: int,
    default_error: npt.NDArray[np.float32],
    leaves: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    confidence: float,
    coefficient: float,
    significance: float,
) -> dict[str, npt.NDArray[Any]]: ...
def seed_random() -> npt.NDArray[np.uint32]: ...
def select_rules(
    cover_start: npt.NDArray[np.int64],
    cover_stop: npt.NDArray[np.int64],
    cover: npt.NDArray[np.uint32],
    label: npt.NDArray[np.int32],
    bits: npt.NDArray[np.float32],
    truth: npt.NDArray[np.int32],
    class_count: npt.NDArray[np.int64],
    random_state: npt.NDArray[np.uint32],
    annealing: bool,
) -> npt.NDArray[np.uint8]: ...
def drop_rules(
    cover_start: npt.NDArray[np.int64],
    cover_stop: npt.NDArray[np.int64],
    cover: npt.NDArray[np.uint32],
    label: npt.NDArray[np.int32],
    truth: npt.NDArray[np.int32],
    default_label: int,
) -> npt.NDArray[np.uint8]: ...
def first_rules(
    X: npt.NDArray[Any],
    start: npt.NDArray[np.int64],
    feature: npt.NDArray[np.int32],
    operator: npt.NDArray[np.uint8],
    threshold: npt.NDArray[np.float64],
    code_start: npt.NDArray[np.int64],
    code: npt.NDArray[np.uint32],
    out: npt.NDArray[np.int32],
) -> None: ...
