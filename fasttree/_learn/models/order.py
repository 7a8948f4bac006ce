"""An order of samples that follows from their contents, so that sums do not depend on the order of the rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats

__all__ = ["in_order"]

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
_SHIFT = np.uint64(29)


def in_order(leaf: npt.NDArray[np.int32], columns: Iterable[Floats]) -> npt.NDArray[np.intp]:
    """Return an order of samples by leaf, and within a leaf by a number that follows from all their values alone."""
    key = np.zeros(leaf.size, dtype=np.uint64)
    for column in columns:
        key ^= column.view(np.uint64)
        key *= _ODD
        key ^= key >> _SHIFT
    return np.lexsort((key, leaf))
