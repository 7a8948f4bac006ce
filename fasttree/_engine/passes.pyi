"""Types of the compiled passes."""

from collections.abc import Callable
from typing import Any, Protocol, Self, type_check_only

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fasttree._engine.records import ErrorRules
from fasttree._model.tree import Tree

DIGITS_OF_SUM: int

@disjoint_base
class Columns:
    def __new__(cls, n_features: int) -> Self: ...
    def add(self, feature: int, column: npt.NDArray[Any]) -> None: ...
    def add_coded(self, feature: int, codes: npt.NDArray[np.uint8], values: npt.NDArray[np.float64]) -> None: ...
    def single_midpoints(
        self,
        feature: npt.NDArray[np.int32],
        kind: npt.NDArray[np.uint8],
        low: npt.NDArray[np.uint32],
        high: npt.NDArray[np.uint32],
        rows: npt.NDArray[np.int64],
        out: npt.NDArray[np.float64],
        /,
    ) -> None: ...

@type_check_only
class Tests(Protocol):
    node_count: int
    first_child: npt.NDArray[np.int32]
    n_branches: npt.NDArray[np.int32]
    feature: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    threshold: npt.NDArray[np.float64]
    missing: npt.NDArray[np.int32]
    categories_start: npt.NDArray[np.int64]
    categories_code: npt.NDArray[np.uint32]
    categories_branch: npt.NDArray[np.int32]

@type_check_only
class GrowAnew(Protocol):
    @property
    def value(self) -> npt.NDArray[np.float64]: ...
    def __call__(
        self,
        node: int,
        rows: npt.NDArray[np.int64],
        weight: npt.NDArray[np.float64] | None,
        label: npt.NDArray[np.uint16],
        start: list[int],
        inner: list[int],
        /,
    ) -> Tests: ...

def error_based(
    tree: Tree,
    columns: Columns,
    part: npt.NDArray[np.uint8],
    label: npt.NDArray[np.uint16],
    weight: npt.NDArray[np.int64] | None,
    whole: int,
    unit: float,
    rules: ErrorRules,
    grow_anew: GrowAnew | None = None,
    several: Callable[[int, int], object] | None = None,
) -> dict[str, Any]: ...
def prune_some(pruning: int, i: int) -> None: ...
def threshold_tests(
    tree: Tree,
    X: npt.NDArray[Any],
    classes: npt.NDArray[np.int32],
    starts: npt.NDArray[np.int64],
    out: npt.NDArray[np.int32] | None,
    part: npt.NDArray[np.float64] | None,
    wrong: npt.NDArray[np.uint8],
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
def collapse(
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    n_branches: npt.NDArray[np.int32],
    weight: npt.NDArray[np.float64],
    value: npt.NDArray[np.float64],
    share: float,
) -> None: ...
def subtrees_within_one_error(
    parents: npt.NDArray[np.int32],
    values: npt.NDArray[np.float64],
    leaves: npt.NDArray[np.int32],
    is_hidden: npt.NDArray[np.uint8],
    is_leaf: npt.NDArray[np.uint8],
    errors: float,
    total: float,
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
    bound: npt.NDArray[np.float64],
    n_samples: int,
    sums: npt.NDArray[np.int64],
) -> None: ...
def sums_as_doubles(
    sums: npt.NDArray[np.int64], bound: npt.NDArray[np.float64], n_samples: int, out: npt.NDArray[np.float64]
) -> None: ...
def add_sizes(values: npt.NDArray[np.float64], group: npt.NDArray[np.intp] | None, digits: npt.NDArray[np.int64]) -> None: ...
def midpoints(
    low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], out: npt.NDArray[np.float64], single: bool = False
) -> None: ...
def thresholds(
    X: npt.NDArray[Any],
    at: npt.NDArray[np.intp],
    feature: npt.NDArray[np.int32],
    row_low: npt.NDArray[np.uint32],
    row_high: npt.NDArray[np.uint32],
    out: npt.NDArray[np.float64],
) -> None: ...
def raise_thresholds(
    X: npt.NDArray[Any],
    features: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    thresholds: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def breadth_first(first_child: npt.NDArray[np.int32], n_branches: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]: ...
