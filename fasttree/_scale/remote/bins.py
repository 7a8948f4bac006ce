"""Bins of nearly equal counts for a table on workers: the values of each feature are brought to one worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fasttree._engine.encoding import Binning, bin_codes
from fasttree._learn.grow.encode import Bins
from fasttree._scale.binned import BYTES_OF_ROW
from fasttree._scale.frontier import Features
from fasttree._scale.preparation import Array, Floats, Portion, Weighing, tiles_of
from fasttree._scale.remote.held import HeldShard
from fasttree._scale.remote.on_dask import DaskPortions
from fasttree._scale.remote.tasks import gathered


def check_memory(max_bins: int, n_samples: int, memory: int) -> None:
    """Raise a ValueError if a worker cannot find the bins within its memory."""
    if BYTES_OF_ROW * n_samples > memory:
        raise ValueError(
            f"max_bins={max_bins!r}: finding bins takes {BYTES_OF_ROW} bytes a row of one thread of a worker, here "
            f"{BYTES_OF_ROW * n_samples / 2**30:.3g} GiB, and {memory / 2**30:.3g} GiB are free: give the workers more memory, "
            f"or leave max_bins out"
        )


def binned(
    portions: DaskPortions, features: Features, max_bins: int, weigh: Weighing | None
) -> tuple[DaskPortions, Features, dict[int, Bins]]:
    """Return shards whose continuous features are codes of bins of the rows of positive weight, and what the codes mean."""
    client, shards = portions.client, portions.shards
    continuous = [feature for feature, edges in enumerate(features.edges) if edges is not None]
    found = []
    for feature in continuous:  # one after the other, so that a worker has the values of few at once
        values = client.map(partial(_values_of, feature, weigh, portions.encode), shards, pure=False)
        found.append(gathered(client, client.submit(_bins_of, max_bins, *values, pure=False)))
    edges = {feature: own for feature, (own, _) in zip(continuous, found, strict=True)}
    bins = {feature: own for feature, (_, own) in zip(continuous, found, strict=True)}
    coded = client.map(partial(_coded, edges), shards, pure=False)
    n_codes = [len(bins[feature].least) + 1 if feature in bins else n for feature, n in enumerate(features.n_codes)]
    binned_features = Features([None] * len(n_codes), n_codes, features.single)
    return DaskPortions(client, coded, portions.encode), binned_features, bins


def _values_of(feature: int, weigh: Weighing | None, encode: Callable[[Floats], Array], shard: HeldShard) -> Array:
    """Return the values of a feature in rows of positive weight."""
    portion: Portion = shard.with_target(encode)
    weight = None if weigh is None else weigh(portion)
    values: Array = portion.columns[feature]
    return values if weight is None else values[weight != 0]


def _bins_of(max_bins: int, *parts: Array) -> tuple[Array, Bins]:
    values = np.concatenate(parts)
    _, edges, *ends = Binning(len(values), max_bins).bin(values)
    return edges.copy(), Bins(*(end.copy() for end in ends))


def _coded(edges: Mapping[int, Any], shard: HeldShard) -> HeldShard:
    columns = [
        bin_codes(column, edges[feature]).astype(np.uint8) if feature in edges else column
        for feature, column in enumerate(shard.portion.columns)
    ]
    return HeldShard(replace(shard.portion, columns=columns, tiles=tiles_of(columns, [None] * len(columns))))
