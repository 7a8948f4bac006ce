"""Types of the compiled attributions."""

import numpy as np
import numpy.typing as npt

from fasttree._model.tree import Tree

def most_features(
    parent: npt.NDArray[np.int32],
    first_child: npt.NDArray[np.int32],
    n_branches: npt.NDArray[np.int32],
    feature: npt.NDArray[np.int32],
    n_features: int,
) -> int: ...
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
