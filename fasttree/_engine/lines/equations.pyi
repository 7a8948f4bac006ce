"""Types of the compiled growth of trees for rules with linear models."""

from typing import Any

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[np.float64]

def grow(
    samples: tuple[Any, ...],
    nominal: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    order: npt.NDArray[np.int32],
    features: tuple[npt.NDArray[np.int32], _Floats],
    tables: tuple[_Floats, ...],
    choices: _Floats,
    nodes: tuple[npt.NDArray[Any], ...],
) -> int: ...
def arrange(nodes: tuple[npt.NDArray[Any], ...], d: int, least_cover: int, arranged: tuple[npt.NDArray[Any], ...]) -> int: ...
def fit_nodes(
    samples: tuple[Any, ...],
    rows: npt.NDArray[np.int32],
    first: npt.NDArray[np.int64],
    stop: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.uint8],
    models: _Floats,
) -> None: ...
def smooth(
    samples: tuple[Any, ...],
    rows: npt.NDArray[np.int32],
    nodes: tuple[npt.NDArray[Any], ...],
    raw: _Floats,
    units: _Floats,
    models: _Floats,
    errors: _Floats,
) -> None: ...
def make_rules(
    samples: tuple[Any, ...],
    tests: tuple[npt.NDArray[Any], ...],
    leaves: tuple[npt.NDArray[Any], ...],
    rules: tuple[npt.NDArray[Any], ...],
    choices: _Floats,
) -> None: ...
def predict_rules(
    samples: tuple[Any, ...],
    models: _Floats,
    covered: npt.NDArray[np.uint64],
    bounds: _Floats,
    default: float,
    predicted: _Floats,
) -> None: ...
def prune(
    parent: npt.NDArray[np.int32],
    as_leaves: tuple[_Floats, _Floats],
    subtrees: tuple[_Floats, _Floats],
    alive: npt.NDArray[np.uint8],
    cut: npt.NDArray[np.uint8],
    n: float,
    most_leaves: int,
) -> None: ...
def fit_tree(
    samples: tuple[Any, ...],
    tree: tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], int],
    by_size: bool,
    numbers: _Floats,
    least_variance: _Floats,
    found: _Floats,
) -> None: ...
