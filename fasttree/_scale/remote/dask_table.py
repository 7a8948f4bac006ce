"""Dask collections as tables: the rows of X, of y and of weights are joined, read on workers, and held there as shards."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fasttree._data import errors
from fasttree._data.checks import is_collection, is_integer
from fasttree._data.schema import Schema
from fasttree._learn.grow.encode import Bins
from fasttree._scale.frontier import Features
from fasttree._scale.memory import rows_in_memory
from fasttree._scale.preparation import Array, Floats, Portions, Weighing, bins_of, edges_of, sample_of
from fasttree._scale.remote import partitions
from fasttree._scale.remote.bags import BagsOnWorkers
from fasttree._scale.remote.bins import binned, check_memory
from fasttree._scale.remote.on_dask import DaskPortions, OnDask
from fasttree._scale.remote.tasks import CLOSED, gathered
from fasttree._scale.source import FeatureColumn, TargetColumn

NO_DASK = "needs Dask, which is not installed: pip install 'fasttree[dask]'"
NO_CLIENT = (
    "there is no Dask client: make one, such as client = dask.distributed.Client(), or give client= to Dataset.from_dask; a "
    "table on one machine is read by Dataset.from_parquet"
)
TARGET, WEIGHT = "\0target", "\0weight"  # names that no feature has
SAMPLED = 2**15  # rows of all shards, whose values say where bins end
LEAST_SAMPLED = 64  # rows of each shard
MEMORY_SHARE = 0.6  # of a worker, for shards and subtrees
UNLIMITED = 4 * 2**30  # bytes of a worker that has no limit
LEAST_SUBTREE = 2**15  # rows


class DaskTable:
    """Rows of Dask collections.

    Parameters
    ----------
    X : dask.dataframe.DataFrame or dask.array.Array
    y : dask.dataframe.Series or dask.array.Array
        The target of the same rows.
    weight : the same, or None
    client : distributed.Client or None
        None: the default one.
    n_shards : int or None
        None: as many as the workers have threads, or as there are partitions.
    """

    n_rows: int | None = None

    def __init__(self, X: Any, y: Any, weight: Any, client: Any, n_shards: int | None) -> None:
        if n_shards is not None and (not is_integer(n_shards) or n_shards < 1):
            raise ValueError(f"n_shards={n_shards!r}: must be a positive integer, or None")
        self._client, self._n_shards = _client(client), n_shards
        self._parts = _frame_parts(X, y, weight) if hasattr(X, "divisions") else _array_parts(X, y, weight)
        names = [f"x{j}" for j in range(X.shape[1])] if not hasattr(X, "columns") else list(X.columns)
        self.has_names = hasattr(X, "columns") and all(isinstance(name, str) for name in names)
        if hasattr(X, "columns") and not self.has_names:
            raise ValueError(f"the columns of X are {errors.listing(names)}: must be named by texts")
        if len(set(names)) < len(names):
            raise errors.duplicate_names(names)
        self.weighted = weight is not None
        self.target = y.name if isinstance(getattr(y, "divisions", None) and y.name, str) else "y"
        dtype = None if hasattr(y, "divisions") else y.dtype
        self._label_dtype = dtype if dtype is not None and dtype.kind == "U" else None
        self.names = [*names, TARGET, *([WEIGHT] if self.weighted else [])]

    def prepared(self, columns: list[FeatureColumn], target: TargetColumn) -> DaskShards:
        """Let the workers read the rows and hold them."""
        form = partitions.PartForm(copy.deepcopy(columns), copy.deepcopy(target))
        form.target.label_dtype = self._label_dtype
        threads: dict[str, int] = self._client.nthreads()
        if not threads:
            raise RuntimeError("the Dask cluster has no workers: start some, and fit again")
        rows = self._read(form, threads)
        n_sampled = max(SAMPLED // len(rows), LEAST_SAMPLED)
        futures = self._client.map(partitions.summary_of, rows, [n_sampled] * len(rows), pure=False)
        summaries: list[partitions.Summary] = gathered(self._client, futures)
        maps = partitions.merge(form, [summary.known for summary in summaries])
        if not any(summary.known.n_rows for summary in summaries):
            raise ValueError("the table has no rows: give at least one")
        edges, features = _features(form, summaries)
        shards = [
            self._client.submit(
                partitions.shard_of, part, partitions.Plan(form.columns, own, edges, summary.known.n_rows), pure=False
            )
            for part, own, summary in zip(rows, maps, summaries, strict=True)
        ]
        n_bytes = sum(gathered(self._client, self._client.map(_size, shards, pure=False)))
        memory = _memory(self._client, threads, n_bytes)
        n_samples = sum(summary.known.n_rows for summary in summaries)
        held = Shards(self._client, shards, n_samples, sum(threads.values()), memory)
        return DaskShards(held, form, features, has_names=self.has_names, weighted=self.weighted)

    def _read(self, form: partitions.PartForm, threads: dict[str, int]) -> list[Any]:
        """Start to read the rows of each shard, and return them as futures."""
        from dask.delayed import delayed

        parts = self._parts()
        n_shards = min(len(parts), self._n_shards or sum(threads.values()))
        ends = np.linspace(0, len(parts), n_shards + 1).astype(int).tolist()
        joined = []
        for start, stop in itertools.pairwise(ends):
            read = [
                delayed(partitions.read_partition, pure=False)(rows, number, form)
                for number, rows in enumerate(parts[start:stop], start)
            ]
            joined.append(delayed(partitions.join_partitions, pure=False)(read, form))
        # No `workers=`: a task with it is never run again if all workers are lost at once, not even by `allow_other_workers`.
        futures: list[Any] = self._client.compute(joined)
        return futures


class Shards(NamedTuple):
    """Shards on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
    futures : list of Future
    n_samples, n_threads : int
        Rows of all shards, and threads of all workers.
    memory : int
        Bytes that a thread may use for subtrees.
    """

    client: Any
    futures: list[Any]
    n_samples: int
    n_threads: int
    memory: int


class DaskShards:
    """A table in the memory of workers.

    Parameters
    ----------
    held : Shards
    form : PartForm
        Which has read all rows.
    features : Features
        Bins and codes.
    has_names, weighted : bool
        The columns have names, and there are sample weights.
    """

    def __init__(self, held: Shards, form: partitions.PartForm, features: Features, *, has_names: bool, weighted: bool) -> None:
        self._held, self.features, self.weighted = held, features, weighted
        self.columns, self.target = form.columns, form.target
        self.schema = Schema(tuple(column.learned()[0] for column in form.columns), has_names=has_names)
        self.n_samples, self.memory = held.n_samples, held.memory

    def portions(self, target: Callable[[Floats], Array]) -> DaskPortions:
        """Return the parts of the table; `target` makes targets of what the column holds."""
        return DaskPortions(self._held.client, self._held.futures, target)

    def cluster(self, terms: tuple[Any, ...], columns: Portions, portions: Portions, weigh: Weighing | None) -> OnDask:
        """Return the shards for a fit; `terms` are the parameters of its `Setting`, and `portions` have its targets."""
        assert isinstance(columns, DaskPortions)
        assert isinstance(portions, DaskPortions)
        return OnDask(portions, terms, weigh, self._held.n_threads)

    def binned(self, portions: Portions, max_bins: int, weigh: Weighing | None) -> tuple[DaskPortions, Features, dict[int, Bins]]:
        """Return the parts of the table in bins of nearly equal counts, as one fit asks."""
        assert isinstance(portions, DaskPortions)
        check_memory(max_bins, self.n_samples, self.memory)
        return binned(portions, self.features, max_bins, weigh)

    def bags(self, portions: Portions, weigh: Weighing) -> BagsOnWorkers:
        """Return the rows for a forest; `portions` have its targets."""
        assert isinstance(portions, DaskPortions)
        room = rows_in_memory(self.memory, len(self.columns), 1)
        return BagsOnWorkers(portions, weigh, self._held.n_threads, room, self.memory, self.features)

    def largest_subtree(self, rows: int) -> int:
        """Return the rows of the largest node that one worker grows, so that all workers have some to grow."""
        return min(rows, max(self.n_samples // (2 * self._held.n_threads), LEAST_SUBTREE))

    def close(self) -> None:
        """Let the workers drop the shards."""
        self._held.futures.clear()


def chosen(X: Any, target: Any, weight: Any, features: Sequence[str] | None) -> tuple[Any, Any, Any]:
    """Return the table, the target and the weights, of which the latter two may be named."""
    if not is_collection(X):
        raise TypeError(f"X is a {type(X).__name__}: must be a Dask DataFrame or a Dask array")
    columns = list(getattr(X, "columns", []))
    for parameter, name in (("target", target), ("weight", weight)):
        if isinstance(name, str) and name not in columns:
            raise ValueError(f"{parameter}={name!r}: there is no such column; the columns are {errors.listing(columns)}")
    others = [name for name in columns if not any(isinstance(used, str) and used == name for used in (target, weight))]
    if strangers := [name for name in features or [] if name not in others]:
        raise ValueError(f"features names {errors.listing(strangers)}; the columns besides target and weight are "
                         f"{errors.listing(others)}")  # fmt: skip
    table = X if not columns else X[others if features is None else list(features)]
    y, sample_weight = (X[given] if isinstance(given, str) else given for given in (target, weight))
    return table, y, sample_weight


def _client(client: Any) -> Any:
    """Return the client that is given, or the default one."""
    try:
        import dask
        import distributed
    except ModuleNotFoundError:
        raise ImportError(f"a fit to a Dask collection {NO_DASK}") from None
    assert dask
    if client is None:
        try:
            client = distributed.default_client()  # type: ignore[no-untyped-call]
        except ValueError:
            raise ValueError(NO_CLIENT) from None
    if client.asynchronous:
        raise ValueError("the Dask client is asynchronous, and a fit waits for its results: make one without asynchronous=True")
    if client.status == "closed":
        raise RuntimeError(CLOSED)
    return client


# Rows of X, y and weights that belong together


def _frame_parts(X: Any, y: Any, weight: Any) -> Callable[[], list[Any]]:
    others = [y] if weight is None else [y, weight]
    if X.ndim != 2:
        raise TypeError("X is a Dask Series: give a DataFrame, such as frame[['name']]")
    for name, other in zip(("y", "sample_weight"), others, strict=False):
        if not hasattr(other, "divisions") or not is_collection(other):
            raise TypeError(f"X is a Dask DataFrame and {name} a {type(other).__name__}: give a column of the same collection")
        if other.ndim != 1:
            raise ValueError(
                f"{name} is a Dask DataFrame of {len(other.columns)} columns: give one column, such as frame['name']"
            )
        if not _belong_together(X, other):
            raise ValueError(
                f"X and {name} come from different collections, and no divisions show which rows belong together: take both from "
                f"one collection, such as fit(frame[features], frame['label'])"
            )

    def parts() -> list[Any]:
        joined = X.map_partitions(_side_by_side, *others, meta=X._meta, enforce_metadata=False, align_dataframes=False)
        found: list[Any] = joined.to_delayed()  # once for all: two collections may be read in different partitions
        return found

    return parts


def _side_by_side(*parts: Any) -> tuple[Any, ...]:
    return (*parts, None)[:3]


def _belong_together(X: Any, other: Any) -> bool:
    """Whether partitions of two collections have the same rows: both come from one, or both are divided at the same labels."""
    if X.npartitions != other.npartitions:
        return False
    if X.known_divisions and X.divisions == other.divisions:
        return True
    try:
        from dask.dataframe.dask_expr._expr import are_co_aligned
    except ImportError:  # it is not public
        return _sources(X) == _sources(other)
    return bool(are_co_aligned(X.expr, other.expr))  # type: ignore[no-untyped-call]


def _sources(collection: Any) -> list[frozenset[Any]] | object:
    """Return the tasks without arguments that each partition is made from; partitions that share one equal nothing."""
    from dask.core import get_dependencies

    graph = dict(collection.__dask_graph__())
    needed: dict[Any, set[Any]] = {}

    def visit(key: Any) -> set[Any]:
        if key not in needed:
            found: set[Any] = get_dependencies(graph, key)
            needed[key] = set().union(*map(visit, found)) if found else {key}
        return needed[key]

    sources = [frozenset(visit(key)) for key in collection.__dask_keys__()]
    return sources if sum(map(len, sources)) == len(frozenset().union(*sources)) else object()


def _array_parts(X: Any, y: Any, weight: Any) -> Callable[[], list[Any]]:
    if getattr(X, "ndim", None) != 2:
        raise errors.not_two_dimensional(X.shape)
    X = X.rechunk({1: -1})
    columns = []
    for name, other in (("y", y), ("sample_weight", weight)):
        if other is None and name != "y":
            continue
        if not is_collection(other) or hasattr(other, "divisions"):
            raise TypeError(f"X is a Dask array and {name} a {type(other).__name__}: give a Dask array of the same rows")
        if other.ndim != 1:
            raise errors.not_one_target(other.shape)
        if other.chunks[0] != X.chunks[0]:
            known = not np.isnan(X.shape[0]) and not np.isnan(other.shape[0])
            if known and X.shape[0] == other.shape[0]:
                other = other.rechunk((X.chunks[0],))
            elif known or X.numblocks[0] != other.numblocks[0]:
                raise ValueError(
                    f"X has {X.shape[0]} rows in {X.numblocks[0]} blocks, and {name} has {other.shape[0]} in "
                    f"{other.numblocks[0]}: both must have the same rows"
                )
        columns.append(other)

    def parts() -> list[Any]:
        from dask.delayed import delayed

        blocks = [X.to_delayed().ravel(), *(column.to_delayed().ravel() for column in columns)]
        return [delayed(_side_by_side)(*of_rows) for of_rows in zip(*blocks, strict=True)]

    return parts


# What all shards share


def _features(form: partitions.PartForm, summaries: Sequence[partitions.Summary]) -> tuple[list[Any], Features]:
    """Return the edges of bins, and what the driver knows of the features, whose outer edges are the extreme values."""
    edges: list[Any] = []
    tight: list[Any] = []
    n_codes = []
    for j, column in enumerate(form.columns):
        feature, code_of = column.learned()
        if code_of is not None:
            edges.append(None)
            tight.append(None)
            n_codes.append(len(feature.categories or ()) + 1)
            continue
        samples = [partitions.settled(summary.samples[j], column, None) for summary in summaries]
        edges.append(edges_of(sample_of(samples)))
        extremes = np.concatenate([summary.extremes[j] for summary in summaries])
        tight.append(bins_of(edges[-1], extremes, column.dtype == np.float32))
        n_codes.append(len(edges[-1]))
    return edges, Features(tight, n_codes, [column.is_continuous and column.dtype == np.float32 for column in form.columns])


def _size(shard: Any) -> int:
    return int(shard.__sizeof__())


def _memory(client: Any, threads: dict[str, int], n_bytes: int) -> int:
    """Return the bytes that a thread of a worker may use for subtrees, if the shards take so many on all workers."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    limits = [workers[address]["memory_limit"] or UNLIMITED for address in threads if address in workers] or [UNLIMITED]
    free = MEMORY_SHARE * min(limits) - n_bytes / len(threads)
    return int(max(free, 2**26)) // max(threads.values())
