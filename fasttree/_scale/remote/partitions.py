"""Partitions of a table in the memory of workers: how they are read, and how they become shards.

A partition is read by itself, because no worker knows the others.  What the readers learn is merged, in the order of the
partitions, first for those of a shard and then for all shards.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.weights import check_sample_weight
from fasttree._scale.messages import Keys
from fasttree._scale.preparation import Array, Floats, Portion, tiles_of
from fasttree._scale.remote.held import HeldShard, check_version
from fasttree._scale.source import FeatureColumn, RowBatch, TargetColumn
from fasttree._version import __version__

Maps: TypeAlias = list[Array | None]  # of columns and target: by code of a part, the code in all parts


class PartForm(NamedTuple):
    """What every partition is read by.

    Parameters
    ----------
    columns : list of FeatureColumn
    target : TargetColumn
        Which have read nothing yet.
    version : str
        Version of fasttree where the fit is.
    """

    columns: list[FeatureColumn]
    target: TargetColumn
    version: str = __version__


class Known(NamedTuple):
    """What is known of some rows.

    Parameters
    ----------
    columns : list of FeatureColumn
    target : TargetColumn
    n_rows : int
    """

    columns: list[FeatureColumn]
    target: TargetColumn
    n_rows: int


@dataclass(frozen=True)
class PartRows:
    """Some rows, with categories and labels as they were numbered.

    Parameters
    ----------
    arrays : list of arrays of shape (n,)
        Features, target, and weights if there are any.
    known : Known
    """

    arrays: list[Array]
    known: Known

    def __sizeof__(self) -> int:
        return int(sum(array.nbytes for array in self.arrays))


class Summary(NamedTuple):
    """What all shards must know of one of them.

    Parameters
    ----------
    known : Known
    samples : list of arrays
        Some values of each continuous feature.
    extremes : list of arrays of shape (2,) or (0,)
        The smallest and the largest value.
    """

    known: Known
    samples: list[Array]
    extremes: list[Floats]


class Plan(NamedTuple):
    """How the rows of a shard are encoded.

    Parameters
    ----------
    columns : list of FeatureColumn
        Which have read all rows.
    maps : Maps
        For the categories of this shard.
    edges : list of uint64 array or None
    n_rows : int
        As they were read first.
    """

    columns: list[FeatureColumn]
    maps: Maps
    edges: list[Keys | None]
    n_rows: int


def read_partition(rows: Sequence[Any], number: int, form: PartForm) -> PartRows:
    """Read a partition of X, of y, and of the weights or None."""
    check_version(form.version)
    try:
        return _read(rows, number, copy.deepcopy(form))
    except (TypeError, ValueError) as error:
        if type(error) not in (TypeError, ValueError):
            raise
        raise type(error)(f"partition {number}: {error}") from None


def _read(rows: Sequence[Any], number: int, form: PartForm) -> PartRows:
    X, y, weight = (part if hasattr(part, "iloc") or part is None else np.asarray(part) for part in rows)
    _check_rows(X, y, "y")
    if weight is not None:
        _check_rows(X, weight, "sample_weight")
    cells = X.iloc if hasattr(X, "iloc") else X
    names = [column.name for column in form.columns]
    batch = RowBatch({name: cells[:, j] for j, name in enumerate(names)}, len(X), f"partition {number}")
    arrays = [column.read(batch, 0) for column in form.columns]
    arrays.append(form.target.read(RowBatch({form.target.name: y}, len(X), batch.where), 0))
    if weight is not None:
        arrays.append(check_sample_weight(np.asarray(weight), len(X)))
    return PartRows(arrays, Known(form.columns, form.target, len(X)))


def _check_rows(X: Any, other: Any, name: str) -> None:
    """Raise an error unless the rows belong together."""
    if len(X) != len(other):
        raise ValueError(f"X has {len(X)} rows and {name} has {len(other)}: both must have the same rows")
    if hasattr(X, "index") and not X.index.equals(other.index):
        raise ValueError(f"the rows of X and {name} have different labels in the index: take both from one collection")


def merge(whole: PartForm, parts: Iterable[Known]) -> list[Maps]:
    """Let readers without rows learn what those of all parts know; return the maps of each part."""
    maps: list[Maps] = []
    n_rows = 0
    for part in parts:
        if part.n_rows == 0:
            maps.append([None] * (len(part.columns) + 1))
            continue
        found = [column.absorb(other, n_rows) for column, other in zip(whole.columns, part.columns, strict=True)]
        maps.append([*found, whole.target.absorb(part.target)])
        n_rows += part.n_rows
    return maps


def join_partitions(parts: Sequence[PartRows], form: PartForm) -> PartRows:
    """Return the rows of some partitions as one."""
    whole = copy.deepcopy(form)
    maps = merge(whole, [part.known for part in parts])
    n = len(whole.columns)
    rows = [
        [
            *(settled(*each) for each in zip(part.arrays, whole.columns, own, strict=False)),
            _labels(part.arrays[n], own[n]),
            *part.arrays[n + 1 :],
        ]
        for part, own in zip(parts, maps, strict=True)
    ]
    arrays = [np.concatenate(several) for several in zip(*rows, strict=True)]
    return PartRows(arrays, Known(whole.columns, whole.target, len(arrays[n])))


def settled(values: Array, column: FeatureColumn, code_of: Array | None) -> Array:
    """Return the values of a part of a column as the readers of all parts have them."""
    if column.is_continuous:
        if values.dtype.kind == "f":
            return values.astype(column.dtype, copy=False)
        return np.full(len(values), np.nan, dtype=column.dtype)  # a text column whose values are all missing
    if code_of is None:
        return np.zeros(len(values), dtype=np.uint32)
    codes: Array = code_of[values]
    return codes


def _labels(target: Floats, code_of: Array | None) -> Floats:
    if code_of is None:
        return target
    codes: Floats = code_of[target.astype(np.intp)]
    return codes


def summary_of(rows: PartRows, n_sampled: int) -> Summary:
    """Return what all shards must know of one of them."""
    known = rows.known
    step = max(known.n_rows // n_sampled, 1)
    samples, extremes = [], []
    for column, values in zip(known.columns, rows.arrays, strict=False):
        samples.append(values[::step].copy() if column.is_continuous else np.empty(0))
        here = values[~np.isnan(values)] if column.is_continuous else np.empty(0)
        extremes.append(np.array([here.min(), here.max()] if here.size else [], dtype=np.float64))
    return Summary(known, samples, extremes)


def shard_of(rows: PartRows, plan: Plan) -> HeldShard:
    """Return rows as a shard, with categories by their final codes."""
    n = len(plan.columns)
    if rows.known.n_rows != plan.n_rows:
        raise RuntimeError(
            f"a shard of {plan.n_rows} rows was lost and has {rows.known.n_rows} now: the collection must give the same rows "
            f"each time it is computed"
        )
    columns: list[Array] = []
    for values, column, code_of in zip(rows.arrays, plan.columns, plan.maps, strict=False):
        codes = settled(values, column, code_of)
        columns.append(codes if column.is_continuous else _final(column)[codes])
    target: npt.NDArray[np.float64] = _labels(rows.arrays[n], plan.maps[n])
    weight = rows.arrays[n + 1] if len(rows.arrays) > n + 1 else None
    return HeldShard(Portion(columns, tiles_of(columns, plan.edges), target, weight))


def _final(column: FeatureColumn) -> Array:
    code_of = column.learned()[1]
    assert code_of is not None
    return code_of
