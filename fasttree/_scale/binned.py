"""A table whose continuous features are cut between `max_bins` bins of nearly equal counts, as one fit asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from fasttree._engine.encoding import Binning, bin_codes
from fasttree._learn.grow.encode import MOST_CODES, Bins
from fasttree._scale.frontier import Features
from fasttree._scale.preparation import Array, Floats, Portion, Portions, tiles_of
from fasttree._scale.store import ArrayFile, ScratchFolder

BYTES_OF_ROW = 24  # that finding the bins of one feature takes
MOST_BINS = MOST_CODES


class BinnedTable(NamedTuple):
    """Codes in place of values, and what they mean.

    Parameters
    ----------
    columns : Portions
        With the target column as it is.
    features : Features
    bins : dict of int to Bins
        By feature.
    files : list of ArrayFile
        Are to be dropped after the fit.
    """

    columns: Portions
    features: Features
    bins: dict[int, Bins]
    files: list[ArrayFile]


def check_memory(max_bins: int, n_samples: int, memory: int) -> None:
    """Raise a ValueError if the bins cannot be found within the memory."""
    if BYTES_OF_ROW * n_samples > memory:
        raise ValueError(
            f"max_bins={max_bins!r}: finding bins takes {BYTES_OF_ROW} bytes of memory a row, here "
            f"{BYTES_OF_ROW * n_samples / 2**30:.3g} GiB: give the Dataset a larger memory=, or leave max_bins out"
        )


def binned(
    columns: Portions,
    features: Features,
    max_bins: int,
    scratch: ScratchFolder,
    weigh: Callable[[Portion], Floats | None] | None,
    portions: Portions,
) -> BinnedTable:
    """Return a table in bins of its rows of positive weight; `portions` have the targets that `weigh` needs."""
    kept = [None if weigh is None or (weight := weigh(portion)) is None else weight != 0 for portion in portions]
    n_rows = sum(len(portion.target) for portion in columns)
    found: dict[int, Bins] = {}
    edges: dict[int, Array] = {}
    for feature in (feature for feature, given in enumerate(features.edges) if given is not None):
        parts = [
            portion.columns[feature] if mask is None else portion.columns[feature][mask]
            for portion, mask in zip(columns, kept, strict=True)
        ]
        _, edges[feature], *ends = Binning(n_rows, max_bins).bin(np.concatenate(parts))
        found[feature] = Bins(*(end.copy() for end in ends))
    files = [scratch.write(_coded(portion, edges)) for portion in columns]
    n_codes = [len(found[feature].least) + 1 if feature in found else n for feature, n in enumerate(features.n_codes)]
    opened = Portions([partial(_open, columns, i, file) for i, file in enumerate(files)])
    return BinnedTable(opened, Features([None] * len(n_codes), n_codes, features.single), found, files)


def _coded(portion: Portion, edges: dict[int, Array]) -> list[Array]:
    """Return the columns of a part as codes, and their tiles."""
    codes = [
        bin_codes(column, edges[feature]).astype(np.uint8) if feature in edges else column
        for feature, column in enumerate(portion.columns)
    ]
    return [*codes, tiles_of(codes, [None] * len(codes))]


def _open(columns: Portions, i: int, file: ArrayFile) -> Portion:
    portion = columns[i]
    *codes, tiles = file.read()
    return Portion(codes, tiles, portion.target, portion.weight)
