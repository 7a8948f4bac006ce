"""Types of the compiled search for the best tree."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

SIGNS: int
SCORES: int
SQUARES: int
GROUPS: int

@disjoint_base
class Optimal:
    failure: BaseException | None
    is_near: bool
    def __new__(
        cls,
        views: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], npt.NDArray[np.int32]],
        rows: Any,
        *,
        penalty: float,
        min_leaf: int,
        min_weight: float,
        tolerance: float,
        memory: int,
    ) -> Self: ...
    def stop(self, failure: BaseException) -> None: ...
    def search_lane(self, lane: int) -> None: ...
    def first_group(self, view: int, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int32]: ...
    def run(
        self,
        depth: int,
        watch: Callable[[float, float], bool] | None = ...,
        side_by_side: Callable[[Callable[[int], None], int], object] | None = ...,
        max_gap: float = ...,
    ) -> tuple[float, float, npt.NDArray[np.int32], bool]: ...
