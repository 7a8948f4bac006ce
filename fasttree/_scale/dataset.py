"""`Dataset`: a table on disk that trees are grown from without loading it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import numpy as np

from fasttree._data import errors
from fasttree._data.schema import Category, Feature, Schema
from fasttree._data.weights import check_sample_weight
from fasttree._engine.rounds import tile_bytes
from fasttree._learn.progress import steps
from fasttree._scale.frontier import Features
from fasttree._scale.kept import KeptTable, described, schema_of
from fasttree._scale.memory import memory_of
from fasttree._scale.messages import Keys
from fasttree._scale.out_of_core import TableOnDisk
from fasttree._scale.preparation import (
    LEAST_SAMPLED,
    Array,
    RowSample,
    as_type,
    bins_of,
    edges_of,
    tiles_of,
)
from fasttree._scale.remote.dask_table import TARGET, WEIGHT, DaskShards, DaskTable, chosen
from fasttree._scale.source import (
    ArrowBatches,
    FeatureColumn,
    ParquetFiles,
    RowBatch,
    Source,
    TargetColumn,
    columns_of,
    release_memory,
)
from fasttree._scale.store import ArrayFile, GrowingFile, ScratchFolder

__all__ = ["Dataset"]

MOST_SHARD_ROWS = 2**22
LEAST_SHARD_ROWS = 2**16
SHARE_OF_SAMPLE = 1 / 16  # of the memory, at most
SHARE_OF_SHARD = 1 / 5  # of the memory, of which preparation takes two
PARTS = 100  # of a step that is reported
ROWS_OF_CODES = 2**16
TILE_ROW = np.dtype(np.uint64)  # of the codes of eight features
NUMBERED = np.dtype(np.uint32)  # of categories, as they come
BYTES_OF_FIT = 14  # that a fit adds to a row: class and weight, or target in fixed point, and its place in the order of rows
BYTES_OF_SUM = 6  # more of a target in fixed point, with a weight, than of a class


class Dataset:
    """A table on disk, from which trees are grown without loading it.

    It is made by `from_parquet` or `from_batches`, prepared once, and fitted as often as needed.  `CARTClassifier`,
    `CARTRegressor` and forests grow the same trees from it as from the table in memory, bit for bit.

    A Dataset owns temporary files, which `close` removes: use it in a ``with`` block.  They are gone when the process ends,
    however it ends.

    Attributes
    ----------
    n_samples : int
        Number of rows.
    n_features : int
        Number of features.
    schema : Schema
        Names, kinds and categories of the features.

    Examples
    --------
    >>> import pyarrow
    >>> from fasttree import CARTClassifier, Dataset
    >>> def batches():
    ...     yield pyarrow.table({"x": [1.0, 2.0, 3.0], "label": ["no", "no", "yes"]})
    ...     yield pyarrow.table({"x": [4.0, 5.0, 6.0], "label": ["yes", "yes", "no"]})
    >>> with Dataset.from_batches(batches, target="label") as data:
    ...     model = CARTClassifier().fit(data)
    >>> print(model.export_text(ascii=True), end="")
    |-- x <= 2.5: no (2)
    `-- x > 2.5
        |-- x <= 5.5: yes (3)
        `-- x > 5.5: no (1)
    """

    def __init__(
        self,
        source: Source | DaskTable,
        target: str,
        *,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        categorical_features: Iterable[Any] | None = None,
        ordinal_features: Mapping[Any, Sequence[Category]] | None = None,
        memory: int | str = "auto",
        scratch: str | os.PathLike[str] | None = None,
        keep: bool | Literal["table"] = False,
    ) -> None:
        self._source = source
        for parameter, name in (("target", target), ("weight", weight)):
            if name is not None and name not in source.names:
                raise ValueError(f"{parameter}={name!r}: there is no such column; the columns are {errors.listing(source.names)}")
        others = [name for name in source.names if name not in (target, weight)]
        if isinstance(features, str):
            raise TypeError(f"features={features!r}: must be a list of column names, or None for all")
        names = others if features is None else list(features)
        if len(set(names)) < len(names):
            repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
            raise ValueError(f"features names {errors.listing(repeated)} more than once; name each column once")
        if strangers := [name for name in names if name not in others]:
            raise ValueError(f"features names {errors.listing(strangers)}; the columns besides target and weight are "
                             f"{errors.listing(others)}")  # fmt: skip
        if not names:
            raise ValueError("there is no feature: name at least one column besides the target")
        self._columns: list[FeatureColumn] = columns_of(names, categorical_features, ordinal_features)
        self.target = TargetColumn(target)
        self._weight = weight
        self.memory = memory_of(memory)
        self._scratch_folder = scratch
        self._kept: KeptTable | None = None
        self.records_fits = keep is True
        if keep not in (False, True, "table"):
            raise ValueError(f"keep={keep!r}: must be False, True or 'table'")
        if keep:
            if scratch is None or not isinstance(source, ParquetFiles):
                raise ValueError(f"keep={keep!r} keeps the table in the folder scratch: name one")
            asked = {"paths": [os.path.abspath(path) for path in source.paths], "target": target, "weight": weight,
                     "features": names, "categorical": categorical_features, "ordinal": ordinal_features}  # fmt: skip
            self._kept = KeptTable(scratch, asked, source.seen)
        self._prepared: TableOnDisk | DaskShards | None = None

    @classmethod
    def from_parquet(
        cls,
        paths: Any,
        target: str,
        *,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        categorical_features: Iterable[Any] | None = None,
        ordinal_features: Mapping[Any, Sequence[Category]] | None = None,
        memory: int | str = "auto",
        scratch: str | os.PathLike[str] | None = None,
        keep: bool | Literal["table"] = False,
    ) -> Self:
        """Make a Dataset of Parquet files.

        Parameters
        ----------
        paths : path, pattern, folder or list of them
            The files, such as ``"trips/*.parquet"``.  All must have the same columns.
        target : str
            Column to predict.
        weight : str, default=None
            Column of sample weights, finite and not negative.  None: all are 1.
        features : list of str, default=None
            Columns to learn from.  None: all besides target and weight.
        categorical_features : list of column names, default=None
            Nominal columns, as in the estimators.
        ordinal_features : dict of column name to list of values, default=None
            Ordinal columns with their values from low to high, as in the estimators.
        memory : int or str, default="auto"
            Memory to use, in bytes or as ``"6GiB"``.  "auto": half of what is free.
        scratch : path, default=None
            Folder for temporary files, on a fast local disk.  None: the system's folder for temporary files.
        keep : bool or "table", default=False
            Keep the prepared table in a subfolder ``fasttree-kept-...`` of `scratch`, which `close` does not remove.  A Dataset
            with the same columns of the same unchanged files then starts from it, and does not read the files.  A fit of a single
            tree that was interrupted or killed continues where it stopped when it is repeated with the same parameters.  "table":
            Keep the prepared table alone.  A fit then writes no record of its rounds, and starts from its first one.

        Returns
        -------
        Dataset

        Raises
        ------
        ImportError
            If pyarrow is not installed: it comes with the extra `parquet`.
        FileNotFoundError
            If there is no such file.
        ValueError
            If a column does not exist, or files have different columns.
        """
        return cls(
            ParquetFiles(paths),
            target,
            weight=weight,
            features=features,
            categorical_features=categorical_features,
            ordinal_features=ordinal_features,
            memory=memory,
            scratch=scratch,
            keep=keep,
        )

    @classmethod
    def from_batches(
        cls,
        make_batches: Callable[[], Iterable[Any]],
        target: str,
        *,
        weight: str | None = None,
        features: Sequence[str] | None = None,
        categorical_features: Iterable[Any] | None = None,
        ordinal_features: Mapping[Any, Sequence[Category]] | None = None,
        memory: int | str = "auto",
        scratch: str | os.PathLike[str] | None = None,
        n_rows: int | None = None,
    ) -> Self:
        """Make a Dataset of batches of rows.

        Parameters
        ----------
        make_batches : callable
            Returns an iterator of Arrow tables or record batches with the same columns.
        target : str
            Column to predict.
        weight : str, default=None
            Column of sample weights, finite and not negative.  None: all are 1.
        features : list of str, default=None
            Columns to learn from.  None: all besides target and weight.
        categorical_features : list of column names, default=None
            Nominal columns, as in the estimators.
        ordinal_features : dict of column name to list of values, default=None
            Ordinal columns with their values from low to high, as in the estimators.
        memory : int or str, default="auto"
            Memory to use, in bytes or as ``"6GiB"``.  "auto": half of what is free.
        scratch : path, default=None
            Folder for temporary files, on a fast local disk.  None: the system's folder for temporary files.
        n_rows : int, default=None
            Rows of all batches, if their number is known: then the room on the disk is checked first, and `progress` has a share.

        Returns
        -------
        Dataset
        """
        return cls(
            ArrowBatches(make_batches, n_rows),
            target,
            weight=weight,
            features=features,
            categorical_features=categorical_features,
            ordinal_features=ordinal_features,
            memory=memory,
            scratch=scratch,
        )

    @classmethod
    def from_dask(
        cls,
        X: Any,
        target: Any,
        weight: Any = None,
        *,
        client: Any = None,
        features: Sequence[str] | None = None,
        categorical_features: Iterable[Any] | None = None,
        ordinal_features: Mapping[Any, Sequence[Category]] | None = None,
        n_shards: int | None = None,
    ) -> Self:
        """Make a Dataset of Dask collections, whose rows stay in the memory of the workers.

        `fit` takes the collections themselves; a Dataset reads them once for several fits.

        Parameters
        ----------
        X : dask.dataframe.DataFrame or dask.array.Array
            The table.
        target : str, dask.dataframe.Series or dask.array.Array
            Column to predict: its name in `X`, or a collection of the same rows.
        weight : str, dask.dataframe.Series or dask.array.Array, default=None
            Column of sample weights, finite and not negative.  None: all are 1.
        client : dask.distributed.Client, default=None
            Client of the cluster.  None: the default one.
        features : list of str, default=None
            Columns to learn from.  None: all besides target and weight.
        categorical_features : list of column names, default=None
            Nominal columns, as in the estimators.
        ordinal_features : dict of column name to list of values, default=None
            Ordinal columns with their values from low to high, as in the estimators.
        n_shards : int, default=None
            Into how many shards the partitions are joined.  None: as many as the workers have threads.  The tree does not depend
            on it; smaller shards need less memory at once, and more tasks.

        Returns
        -------
        Dataset

        Raises
        ------
        ImportError
            If Dask is not installed: it comes with the extra `dask`.
        ValueError
            If there is no client, a column does not exist, or rows may not belong together.
        """
        table = DaskTable(*chosen(X, target, weight, features), client, n_shards)
        data = cls(
            table,
            TARGET,
            weight=WEIGHT if table.weighted else None,
            categorical_features=categorical_features,
            ordinal_features=ordinal_features,
        )
        data.target.name = table.target
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __array__(self, *_dtype: Any, **_copy: Any) -> Array:
        raise TypeError(
            "a Dataset is not loaded into memory: fit CARTClassifier or CARTRegressor to it, and predict tables or blocks of rows"
        )

    def __repr__(self) -> str:
        size = "not prepared" if self._prepared is None else f"{self.n_samples:,} rows, {self.n_features} features"
        return f"Dataset(target={self.target.name!r}, {size})"

    @property
    def has_weights(self) -> bool:
        """Whether the rows have weights."""
        return self._weight is not None

    @property
    def is_remote(self) -> bool:
        """Whether the rows are on the workers of a cluster."""
        return isinstance(self._source, DaskTable)

    @property
    def kept_in(self) -> Path | None:
        """Folder of the prepared table, if it outlives the process."""
        return None if self._kept is None else self._kept.path

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self._columns)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.prepared.n_samples

    @property
    def schema(self) -> Schema:
        """Names, kinds and categories of the features."""
        return self.prepared.schema

    @property
    def prepared(self) -> TableOnDisk | DaskShards:
        """The table on disk or on workers; it is prepared where it is not yet."""
        if self._prepared is None:
            self.prepare()
        assert self._prepared is not None
        return self._prepared

    def prepare(self) -> Self:
        """Read the table and write it to temporary files, if that is not done yet; a fit does so.

        Returns
        -------
        self

        Raises
        ------
        OSError
            If the disk has no room, or a file has changed.
        ValueError
            If values are infinite, targets are missing, or there are no rows.
        """
        if self._prepared is None:
            self._prepared = self._held(self._source) if isinstance(self._source, DaskTable) else self._written()
        return self

    def _held(self, table: DaskTable) -> DaskShards:
        shards = table.prepared(self._columns, self.target)
        self._columns, self.target, self.memory = shards.columns, shards.target, shards.memory
        return shards

    def _written(self) -> TableOnDisk:
        scratch = ScratchFolder(self._scratch_folder)
        try:
            return self._found(scratch) or _Preparation(self, scratch).run()
        except BaseException:
            scratch.close()
            raise

    def _found(self, scratch: ScratchFolder) -> TableOnDisk | None:
        """Return the table that was kept, if there is one."""
        manifest = None if self._kept is None else self._kept.find()
        if manifest is None:
            return None
        assert self._kept is not None
        schema, features = schema_of(manifest)
        self.target.restore(manifest["target"])
        for column, row in zip(self._columns, manifest["first_missing"], strict=True):
            column.first_missing = row
        weighted = self._weight is not None
        return TableOnDisk(scratch, schema, features, self._kept.open(manifest), manifest["n_samples"], weighted=weighted)

    def missing_cell(self) -> tuple[Feature, int] | None:
        """Return a feature with missing values, and the first row that has one; None if there is none."""
        for column, feature in zip(self._columns, self.schema.features, strict=True):
            if column.first_missing >= 0:
                return feature, column.first_missing
        return None

    def close(self) -> None:
        """Remove the temporary files.  Models that were fitted do not need them."""
        if self._prepared is not None:
            self._prepared.close()
            self._prepared = None


class _Preparation:
    """One pass over the source, and one over the shards that it makes."""

    def __init__(self, data: Dataset, scratch: ScratchFolder) -> None:
        self._data, self._scratch = data, scratch
        self._kept = None if data._kept is None else ScratchFolder(data._scratch_folder, named=True)
        self._folder = self._kept or scratch  # of the shards
        self._columns, self._target, self._weight = data._columns, data.target, data._weight
        assert not isinstance(data._source, DaskTable)
        self._source = data._source
        row_bytes = 8 * (len(self._columns) + 2)
        rows = int(data.memory * SHARE_OF_SHARD) // row_bytes
        self._shard_rows = min(max(rows, LEAST_SHARD_ROWS), MOST_SHARD_ROWS)
        self._values: list[ArrayFile] = []
        self._growing: GrowingFile | None = None
        most_sampled = max(int(data.memory * SHARE_OF_SAMPLE) // row_bytes, LEAST_SAMPLED)
        self._sample = RowSample(len(self._columns), most_sampled)
        self._n_samples = self._n_written = 0

    def run(self) -> TableOnDisk:
        try:
            return self._run()
        finally:
            if self._kept is not None:
                self._kept.close()  # it is empty, or has another name, unless there was an error

    def _run(self) -> TableOnDisk:
        if self._source.n_rows is not None:
            self._folder.require(self._source.n_rows * self._row_bytes())
        self._read()
        if self._n_samples == 0:
            raise ValueError("the table has no rows: give at least one")
        learned = [column.learned() for column in self._columns]
        schema = Schema(tuple(feature for feature, _ in learned), has_names=True)
        types = [column.dtype if codes is None else None for column, (_, codes) in zip(self._columns, learned, strict=True)]
        edges = [
            None if dtype is None else edges_of(as_type(sample, dtype)) for sample, dtype in zip(self._sample, types, strict=True)
        ]
        shards = []
        for values in self._values:
            shards.append(self._encoded(values, [codes for _, codes in learned], types, edges))
        single = [dtype == np.float32 for dtype in types]
        n_codes = [len(bins) if bins is not None else len(feature.categories or ()) + 1
                   for bins, (feature, _) in zip(edges, learned, strict=True)]  # fmt: skip
        tight = [None if bins is None else bins_of(bins, column.extremes, is_single)
                 for bins, column, is_single in zip(edges, self._columns, single, strict=True)]  # fmt: skip
        features = Features(tight, n_codes, single)
        if self._kept is not None:
            missing = [column.first_missing for column in self._columns]
            known = {"n_samples": self._n_samples, "target": self._target.state(), "first_missing": missing}
            assert self._data._kept is not None
            self._data._kept.save(self._kept, shards, described(schema, features) | known)
        return TableOnDisk(self._scratch, schema, features, shards, self._n_samples, weighted=self._weight is not None)

    def _row_bytes(self) -> int:
        """Return the bytes of a row on the disk: values, codes, target and weight, and what a fit adds."""
        values = sum(self._source.value_bytes[column.name] for column in self._columns)
        weighted = self._weight is not None
        return values + tile_bytes(len(self._columns)) + BYTES_OF_FIT + BYTES_OF_SUM * weighted + 8 * (1 + weighted)

    def _read(self) -> None:
        """Write the rows of the source to shards."""
        names = [column.name for column in self._columns] + [self._target.name] + ([self._weight] if self._weight else [])
        n_rows = self._source.n_rows
        report = steps("reading", PARTS) if n_rows else None
        if report is not None:
            report(0)
        for batch in self._source.batches(names):
            arrays = self._arrays(batch)
            self._sample.add(arrays[: len(self._columns)])
            start = 0
            while start < batch.n_rows:
                start += self._write([array[start:] for array in arrays])
            self._n_samples += batch.n_rows
            if report is not None and n_rows:
                report(min(self._n_samples * PARTS // n_rows, PARTS))
        self._finish()
        release_memory()

    def _arrays(self, batch: RowBatch) -> list[Array]:
        first_row = self._n_samples
        arrays = [column.read(batch, first_row) for column in self._columns]
        arrays.append(self._target.read(batch, first_row))
        if self._weight is not None:
            arrays.append(check_sample_weight(np.asarray(batch.columns[self._weight]), batch.n_rows, first_row))
        return arrays

    def _write(self, arrays: Sequence[Array]) -> int:
        """Write rows to the shard that grows, as many as it has room for, and return their number."""
        types = [array.dtype for array in arrays]
        if self._growing is None:
            self._growing = self._new_shard(types)
        elif self._growing.types != types:
            self._growing = self._retyped(self._growing, types)
        n_rows = min(len(arrays[0]), self._growing.room)
        self._folder.add(self._growing, [array[:n_rows] for array in arrays])
        self._n_written += n_rows
        if not self._growing.room:
            self._finish()
        return n_rows

    def _new_shard(self, types: Sequence[np.dtype[Any]]) -> GrowingFile:
        left = None if self._source.n_rows is None else self._source.n_rows - self._n_written
        is_known = left is not None and left > 0
        n_rows = min(self._shard_rows, left) if is_known and left is not None else self._shard_rows
        return self._folder.growing(types, n_rows, reserve=is_known)

    def _retyped(self, shard: GrowingFile, types: Sequence[np.dtype[Any]]) -> GrowingFile:
        """Return the rows of a shard with other types, since a column has wider values from here on."""
        written = self._folder.finish(shard)
        wider = self._folder.growing(types, shard.n_rows + shard.room, reserve=shard.is_reserved)
        self._folder.add(wider, [as_type(array, dtype) for array, dtype in zip(written.read(), types, strict=True)])
        self._folder.drop([written])
        return wider

    def _finish(self) -> None:
        if self._growing is not None:
            self._values.append(self._folder.finish(self._growing))
            self._growing = None

    def _encoded(
        self,
        values: ArrayFile,
        code_of: Sequence[Array | None],
        types: Sequence[np.dtype[Any] | None],
        edges: Sequence[Keys | None],
    ) -> tuple[ArrayFile, ArrayFile]:
        """Write the codes of a shard, its categories by their final codes, and its numbers in their final type."""
        arrays = values.read()
        n = len(self._columns)
        columns = [
            as_type(array, NUMBERED if dtype is None else dtype) if codes is None else codes[as_type(array, NUMBERED)]
            for array, codes, dtype in zip(arrays[:n], code_of, types, strict=True)
        ]
        if any(column is not array for column, array in zip(columns, arrays, strict=False)):
            renumbered = self._folder.write([*columns, *arrays[n:]])
            del arrays
            self._folder.drop([values])
            values = renumbered
        return values, self._tiles(columns, edges)

    def _tiles(self, columns: Sequence[Array], edges: Sequence[Keys | None]) -> ArrayFile:
        """Write the codes of a shard, some rows at a time, whose values and codes stay in the cache."""
        n_rows = len(columns[0])
        types = [TILE_ROW] * (tile_bytes(len(columns)) // TILE_ROW.itemsize)
        growing = self._folder.growing(types, n_rows, reserve=True, aligned=1)
        for start in range(0, n_rows, ROWS_OF_CODES):
            tiles = tiles_of([column[start : start + ROWS_OF_CODES] for column in columns], edges)
            self._folder.add(growing, list(tiles.view(TILE_ROW).reshape(len(types), -1)))
        return self._folder.finish(growing, tiles.dtype)
