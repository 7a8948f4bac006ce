"""Types of the compiled growth of trees for rules with linear models."""

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

def grow(
    samples: tuple[Any, ...],
    nominal: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    order: npt.NDArray[np.int32],
    features: tuple[npt.NDArray[np.int32], Floats],
    tables: tuple[Floats, ...],
    choices: Floats,
    nodes: tuple[npt.NDArray[Any], ...],
) -> int: ...
def fit_nodes(
    samples: tuple[Any, ...],
    rows: npt.NDArray[np.int32],
    first: npt.NDArray[np.int64],
    stop: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.uint8],
    models: Floats,
) -> None: ...
def smooth(
    samples: tuple[Any, ...],
    rows: npt.NDArray[np.int32],
    nodes: tuple[npt.NDArray[Any], ...],
    raw: Floats,
    units: Floats,
    models: Floats,
    errors: Floats,
) -> None: ...
def drop_conditions(
    fails: npt.NDArray[np.uint8],
    gain: Floats,
    w: Floats,
    dropped: npt.NDArray[np.uint8],
    joined: Floats,
    count: npt.NDArray[np.int32],
) -> None: ...
def gains_of(samples: tuple[Any, ...], model: Floats, total: Floats, count: Floats, value: Floats, gain: Floats) -> None: ...
def prune(
    parent: npt.NDArray[np.int32],
    as_leaves: tuple[Floats, Floats],
    subtrees: tuple[Floats, Floats],
    alive: npt.NDArray[np.uint8],
    cut: npt.NDArray[np.uint8],
    n: float,
    most_leaves: int,
) -> None: ...
