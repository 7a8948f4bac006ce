"""Types of the compiled prediction for servers."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

from fasttree._data.schema import Category
from fasttree._model.tree import Tree

FAULTS: dict[int, str]

def lay_out_tree(tree: Tree, ends: npt.NDArray[np.uint32]) -> dict[str, npt.NDArray[Any]]: ...

@disjoint_base
class Server:
    def __new__(
        cls,
        image: npt.NDArray[np.uint8],
        parts: dict[str, tuple[int, int]],
        names: tuple[str, ...],
        lookups: tuple[dict[Category, float] | None, ...],
        labels: tuple[tuple[Any, ...], ...],
        n_outputs: int,
        loss: npt.NDArray[np.float64] | None,
        refuses_missing: bool,
        refuses_unseen: bool,
    ) -> Self: ...
    def predict_one(self, row: Sequence[Any] | npt.NDArray[Any] | Mapping[str, Any]) -> Any: ...
    def predict_proba_one(self, row: Sequence[Any] | npt.NDArray[Any] | Mapping[str, Any]) -> list[Any]: ...
    def _predict_rows(
        self,
        X: npt.NDArray[Any],
        values: npt.NDArray[np.float64] | None,
        answers: npt.NDArray[np.int32] | None,
        refuse_missing: bool = False,
    ) -> bool: ...
