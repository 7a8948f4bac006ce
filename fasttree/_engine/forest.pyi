from typing import Any, Final

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

NODE: Final[np.dtype[np.void]]

@disjoint_base
class DrawnColumns:
    def __new__(cls, n_samples: int, n_features: int, most_narrow: int = ..., random: bool = False) -> DrawnColumns: ...
    @property
    def n_samples(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def most_categories(self) -> int: ...
    @property
    def plain(self) -> bool: ...
    @property
    def n_bundles(self) -> int: ...
    def finish(self) -> None: ...
    def add_continuous(
        self, feature: int, column: npt.NDArray[Any], few: tuple[list[float], npt.NDArray[np.uint8]] | None
    ) -> bool: ...
    def keep_values(self, feature: int, column: npt.NDArray[Any]) -> None: ...
    def add_codes(self, feature: int, codes: npt.NDArray[Any], n_categories: int, ordered: bool) -> None: ...

@disjoint_base
class DrawnGrower:
    def __new__(
        cls,
        columns: DrawnColumns,
        limits: Any,
        labels: npt.NDArray[np.uint16] | None = None,
        n_classes: int = 0,
        target: npt.NDArray[np.float64] | None = None,
        y: npt.NDArray[np.float64] | None = None,
    ) -> DrawnGrower: ...
    @property
    def columns(self) -> DrawnColumns: ...

@disjoint_base
class DrawnRoom:
    def end(self) -> None: ...

def key_of(key: int, branch: int) -> int: ...
def drawn_features(key: int, n_features: int) -> npt.NDArray[np.int32]: ...
def grow_packed(
    grower: DrawnGrower, counts: npt.NDArray[np.uint16], seed: int, room: DrawnRoom | None = None, below: bool = False
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.float64], npt.NDArray[np.uint32]]: ...
def first_part(grower: DrawnGrower, counts: npt.NDArray[np.uint16], seed: int, room: DrawnRoom) -> bytes: ...
def grow_part(
    grower: DrawnGrower, room: DrawnRoom, owner: DrawnRoom, node: bytes, least: int
) -> tuple[int, tuple[int, int, int, int], list[tuple[int, int, int, bytes]]]: ...
def take_grown(
    grower: DrawnGrower, room: DrawnRoom
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.float64], npt.NDArray[np.uint32]]: ...
def numbered(grown: npt.NDArray[np.void], n: int, root: int) -> npt.NDArray[np.void]: ...
def copy_nodes(
    nodes: npt.NDArray[np.void], out: npt.NDArray[np.void], first: int, n_pure: int, n_values: int, n_bits: int
) -> None: ...

@disjoint_base
class PackedWalk:
    def __new__(
        cls,
        nodes: npt.NDArray[np.void],
        start: npt.NDArray[np.int64],
        bits: npt.NDArray[np.uint32],
        n_values: int,
        X: npt.NDArray[Any],
    ) -> PackedWalk: ...
    def add_sums(
        self,
        value: npt.NDArray[np.float64],
        out: npt.NDArray[np.float64],
        first: int,
        last: int,
        weights: npt.NDArray[np.float64] | None = None,
    ) -> None: ...
    def find_leaves(self, out: npt.NDArray[np.int32], first: int, last: int) -> None: ...
    def judge(
        self,
        value: npt.NDArray[np.float64],
        lacking: npt.NDArray[np.uint8],
        target: npt.NDArray[np.float64],
        weight: npt.NDArray[np.float64],
        by_class: bool,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64]]: ...
