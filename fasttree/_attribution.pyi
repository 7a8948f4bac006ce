"""Types of the compiled attributions."""

import numpy as np
import numpy.typing as npt

from fasttree._tree import Tree

def add_attributions(
    tree: Tree,
    value: npt.NDArray[np.float64],
    share: npt.NDArray[np.float64],
    staying: npt.NDArray[np.float64],
    points: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    X: npt.NDArray[np.float64],
    background: npt.NDArray[np.float64] | None,
    out: npt.NDArray[np.float64],
) -> None: ...
