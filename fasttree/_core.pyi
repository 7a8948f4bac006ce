"""Types of the engine's door."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fasttree._engine.encoding import Encoding
from fasttree._engine.records import EngineLimits, PathLimits, Policy, Root, Sums
from fasttree._model.tree import Tree

IMPURITY: dict[str, int]
FORM: dict[str, int]
RANK: dict[str, int]
MISSING: dict[str, int]
DIVIDED: int

@disjoint_base
class Spec:
    def __new__(cls, policy: Policy, limits: EngineLimits, paths: PathLimits) -> Self: ...

@disjoint_base
class Targets:
    def __new__(
        cls,
        unit: float,
        *,
        labels: npt.NDArray[np.uint16] | None = ...,
        first_class: npt.NDArray[np.int32] | None = ...,
        values: npt.NDArray[np.float64] | None = ...,
        sums: Sums | None = ...,
        ranks: npt.NDArray[np.uint32] | None = ...,
    ) -> Self: ...
    @property
    def n_samples(self) -> int: ...

@disjoint_base
class Workspace:
    def __new__(cls, consume: bool = ..., report: Callable[[float], object] | None = ...) -> Self: ...
    @property
    def consume(self) -> bool: ...

def grow(
    encoding: Encoding,
    targets: Targets,
    spec: Spec,
    *,
    weight: npt.NDArray[np.int64] | None = ...,
    case_weight: npt.NDArray[np.int64] | None = ...,
    seed: int = ...,
    n_jobs: int = ...,
    workspace: Workspace | None = ...,
    root: Root | None = ...,
) -> dict[str, npt.NDArray[Any]]: ...
def grow_branches(
    encodings: list[Encoding | None],
    targets: list[Targets | None],
    weights: list[npt.NDArray[np.int64] | None],
    first_rows: list[int],
    spec: Spec,
    n_classes: int,
    workspace: Workspace,
) -> dict[str, npt.NDArray[Any]]: ...
def spent() -> dict[str, tuple[float, int]] | None: ...

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
