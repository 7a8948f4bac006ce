"""Types of the compiled search for tests that look ahead."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

SIGNED: int
GINI: int
ENTROPY: int
ERRORS: int

@disjoint_base
class Lookahead:
    def __new__(cls, views: Any, rows: Any, limits: Any) -> Self: ...
    def search(self, node: Any, levels: int, least_risk: float) -> tuple[int, int, int, bool, float, float] | None: ...
    def take(self, node: Any, local: npt.NDArray[np.int32], child: Any) -> None: ...
