"""Another engine of tasks: Ray runs the functions of `held` and `partitions`, and the tree is the one in memory."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_dataset import FEATURES, table_of

from fasttree import CARTClassifier, CARTRegressor, Dataset
from fasttree._scale import fitting
from fasttree._scale.remote import held, partitions
from fasttree._scale.remote.dask_table import TARGET, DaskTable
from fasttree._scale.remote.on_dask import OnDask
from fasttree._scale.remote.tasks import FAN_IN

ray = pytest.importorskip("ray")
pytest.importorskip("distributed")  # whose errors OnDask translates

N = 1500


def call(function: Callable[..., Any], n_given: int | None, dying: str | None, *given: Any) -> Any:
    """Call a function, of which the argument is a list of `n_given` results unless that is None."""
    if dying is not None and os.path.exists(dying):
        os.unlink(dying)
        os._exit(1)
    return function(*given) if n_given is None else function(list(given[:n_given]), *given[n_given:])


class RayClient:
    """The methods of a Dask client that `OnDask` and `DaskTable` use, by tasks of Ray.

    Parameters
    ----------
    dying : str
        A file: the first process that finds it when it counts ends, and the file with it.
    """

    def __init__(self, dying: str) -> None:
        self._dying = dying
        self._call = ray.remote(num_cpus=1)(call)

    def submit(self, function: Callable[..., Any], *given: Any, pure: bool = False) -> Any:
        dying = self._dying if function is held.ask else None
        if given and isinstance(given[0], list) and given[0] and isinstance(given[0][0], ray.ObjectRef):
            return self._call.remote(function, len(given[0]), dying, *given[0], *given[1:])
        return self._call.remote(function, None, dying, *given)

    def map(self, function: Callable[..., Any], *given: Any, pure: bool = False) -> list[Any]:
        return [self.submit(function, *each) for each in zip(*given, strict=False)]

    def gather(self, futures: Any) -> Any:
        return ray.get(futures)

    def run(self, function: Callable[..., Any], *given: Any, on_error: str) -> None:
        """Do nothing: a shard is made anew for each task, and keeps nothing."""

    def nthreads(self) -> dict[str, int]:
        return {"here": 2}

    def scheduler_info(self, n_workers: int) -> Any:
        return {"workers": {"here": {"memory_limit": 2**30}}}


def reply(self: OnDask, message: held.Message) -> Any:
    """The reply of a round, by single tasks."""
    replies = self._map(held.ask, self._job, pickle.dumps(message), *self._chunks)
    while len(replies) > 1:
        replies = [self._client.submit(held.combined, replies[i : i + FAN_IN]) for i in range(0, len(replies), FAN_IN)]
    return replies[0]


class RayTable(DaskTable):
    """Rows of pandas frames in the object store."""

    def __init__(self, parts: list[pd.DataFrame], target: str, client: RayClient) -> None:
        self._client, self._n_shards = client, None
        self._rows = [(part[FEATURES], part[target], None) for part in parts]
        self.has_names, self.weighted, self.target, self._label_dtype = True, False, target, None
        self.names = [*FEATURES, TARGET]

    def _read(self, form: Any, threads: Any) -> list[Any]:
        read = [self._client.submit(partitions.read_partition, rows, number, form) for number, rows in enumerate(self._rows)]
        ends = range(0, len(read), 2)
        return [self._client.submit(partitions.join_partitions, read[start : start + 2], form) for start in ends]


@pytest.fixture(scope="module")
def dying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two processes on this machine."""
    folder = tmp_path_factory.mktemp("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")  # no token is written to the home folder
        ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # which the workers cannot import
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield folder / "dying"
        ray.shutdown()


@pytest.mark.parametrize(
    ("model", "target"), [(CARTClassifier(min_samples_leaf=10), "label"), (CARTRegressor(max_depth=5), "number")]
)
def test_a_tree_on_ray_is_the_tree_in_memory(dying, monkeypatch, model, target):
    monkeypatch.setattr(fitting, "rows_in_memory", lambda *given: 300)
    monkeypatch.setattr(OnDask, "_reply", reply)
    table = table_of(0, N).to_pandas()
    expected = model.fit(table[FEATURES], table[target]).to_json()
    parts = [table.iloc[:0], table.iloc[:400], table.iloc[400:401], table.iloc[401:1300], table.iloc[1300:]]
    dying.touch()
    with Dataset(RayTable(parts, target, RayClient(str(dying))), TARGET) as data:
        data.target.name = target
        assert model.fit(data).to_json() == expected
    assert not dying.exists()  # a process has ended, and its task has run again
