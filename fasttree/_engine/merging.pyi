"""Types of the compiled merges of categories."""

from typing import Any

import numpy as np
import numpy.typing as npt

def add_cells(
    codes: npt.NDArray[Any],
    rows: npt.NDArray[np.intp] | None,
    label: npt.NDArray[np.intp] | None,
    weight: npt.NDArray[np.float64] | None,
    out: npt.NDArray[np.float64],
) -> None: ...
def add_features(
    codes: npt.NDArray[Any],
    starts: npt.NDArray[np.intp],
    rows: npt.NDArray[np.intp] | None,
    label: npt.NDArray[np.intp],
    weight: npt.NDArray[np.float64] | None,
    out: npt.NDArray[np.float64],
) -> None: ...
def divide_rows(
    codes: npt.NDArray[Any],
    rows: npt.NDArray[np.intp] | None,
    branch_of: npt.NDArray[np.intp],
    ends: npt.NDArray[np.intp],
    out: npt.NDArray[np.intp],
) -> None: ...
def merge_classes(
    table: npt.NDArray[np.float64],
    by_likelihood: bool,
    ordered: bool,
    least: float,
    tests: npt.NDArray[np.float64],
    best: npt.NDArray[np.intp],
    steps: npt.NDArray[np.intp],
) -> int: ...
def test_features(
    cells: npt.NDArray[np.float64],
    starts: npt.NDArray[np.intp],
    ordered: npt.NDArray[np.uint8],
    by_likelihood: bool,
    with_tail: bool,
    least: float,
    room: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.intp]],
) -> npt.NDArray[np.float64]: ...
