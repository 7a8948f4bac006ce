"""Types of the compiled rounds of additive models."""

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

@disjoint_base
class Booster:
    def __init__(
        self,
        codes: npt.NDArray[np.uint16],
        target: npt.NDArray[np.float64],
        weight: npt.NDArray[np.float64],
        score: npt.NDArray[np.float64],
        terms: npt.NDArray[np.int64],
        plan: tuple[int, int, int, int, int, int],
        amounts: tuple[float, float, float, float, float, float],
    ) -> None: ...
    def run(self, n_rounds: int) -> int: ...
    def found(self) -> tuple[npt.NDArray[np.float64], int, int, float]: ...
    def screen(self) -> npt.NDArray[np.float64]: ...
