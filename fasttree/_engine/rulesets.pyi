"""Types of the compiled rulesets."""

from typing import Any

import numpy as np
import numpy.typing as npt

def simplify_rules(
    edges: dict[str, npt.NDArray[Any]],
    codes: npt.NDArray[np.unsignedinteger[Any]],
    places: tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]],
    class_start: npt.NDArray[np.int64],
    n_samples: int,
    default_error: npt.NDArray[np.float32],
    leaves: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    class_count: npt.NDArray[np.int64],
    rates: tuple[float, float, float, npt.NDArray[np.float64] | None, float],
) -> dict[str, npt.NDArray[Any]]: ...
def seed_random() -> npt.NDArray[np.uint32]: ...
def select_rules(
    cover_start: npt.NDArray[np.int64],
    cover_stop: npt.NDArray[np.int64],
    cover: npt.NDArray[np.uint32],
    label: npt.NDArray[np.int32],
    bits: npt.NDArray[np.float32],
    truth: npt.NDArray[np.int32],
    class_count: npt.NDArray[np.int64],
    random_state: npt.NDArray[np.uint32],
    annealing: bool,
) -> npt.NDArray[np.uint8]: ...
def drop_rules(
    cover_start: npt.NDArray[np.int64],
    cover_stop: npt.NDArray[np.int64],
    cover: npt.NDArray[np.uint32],
    label: npt.NDArray[np.int32],
    truth: npt.NDArray[np.int32],
    default_label: int,
) -> npt.NDArray[np.uint8]: ...
def select_voting(
    covers: tuple[npt.NDArray[Any], ...],
    ballots: npt.NDArray[np.int32],
    order: npt.NDArray[np.int32],
    truth: npt.NDArray[np.int32],
    weight: npt.NDArray[np.int64],
    message: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], float, float, float, int],
    least: tuple[int, int, int],
    by_use: bool,
) -> npt.NDArray[np.int32]: ...
def fire_rules(
    X: npt.NDArray[Any],
    tests: tuple[npt.NDArray[Any], ...],
    ballots: npt.NDArray[np.int32],
    votes: npt.NDArray[np.int32],
    lowest: npt.NDArray[np.int32],
) -> None: ...
