"""``python -m bench dask``: what the rounds of a tree cost on a Dask cluster of two processes on this machine.

Writes Parquet files of 28 columns of float32 to a folder of its own, and removes them.  The scheduler and each worker are
processes, so that the processor time of each is known; the tree is compared with the one in memory.
"""

import argparse
import itertools
import json
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fasttree import CARTClassifier, Dataset
from fasttree._scale.frontier import Driver
from fasttree._scale.remote.on_dask import OnDask

from . import projection, tables
from .machine import about

QUICK_ROWS, FULL_ROWS = 1_000_000, 4_000_000
N_FILES = 128
FEWEST_PARTITIONS = 16
SHARDS = (2, 16, 128)
N_WORKERS = 2
COLUMNS = [f"x{j}" for j in range(28)]
DEEP = {"min_samples_leaf": 100}
HEADS = ["shards", "rounds", "tasks", "reply MB", "to scheduler MB", "from scheduler MB"]
HEADS += ["scheduler ms", "workers ms", "driver ms", "wall ms"]
Row = dict[str, Any]


def write(folder: Path, n_rows: int, n_files: int = N_FILES) -> list[Path]:
    """Write a table in files."""
    X, y, _ = tables.signal(n_rows)
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(n_rows), n_files)):
        columns = {name: np.ascontiguousarray(X[rows, j]) for j, name in enumerate(COLUMNS)}
        paths.append(folder / f"{number:03}.parquet")
        pq.write_table(pa.table(columns | {"y": y[rows].astype(np.int8)}), paths[-1], use_dictionary=False)
    return paths


def read(paths: list[Path]) -> pd.DataFrame:
    return pq.read_table(paths).to_pandas()


def frame_of(paths: list[Path], n_partitions: int) -> Any:
    """Return a Dask DataFrame, of which each partition reads some files."""
    import dask.dataframe as dd

    ends = np.linspace(0, len(paths), min(n_partitions, len(paths)) + 1).astype(int)
    return dd.from_map(read, [paths[i:j] for i, j in itertools.pairwise(ends)], meta=read(paths[:1]).iloc[:0])


# What a cluster does


def count_bytes(dask_scheduler: Any) -> None:
    """Let the scheduler count the bytes that it receives and sends, and its tasks."""
    from distributed.comm import tcp
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Counting(SchedulerPlugin):  # type: ignore[misc]
        name = "counting"
        received = sent = tasks = 0

        def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
            self.tasks += (start, finish) == ("processing", "memory")

    counting = Counting()
    write, read = tcp.TCP.write, tcp.read_bytes_rw

    async def writing(self: Any, *given: Any, **options: Any) -> Any:
        n_bytes = await write(self, *given, **options)
        counting.sent += n_bytes
        return n_bytes

    async def reading(stream: Any, n_bytes: int) -> Any:
        counting.received += n_bytes
        return await read(stream, n_bytes)

    tcp.TCP.write, tcp.read_bytes_rw = writing, reading
    dask_scheduler.add_plugin(counting)


def so_far(dask_scheduler: Any) -> Row:
    found = dask_scheduler.plugins["counting"]
    return {"scheduler": time.process_time(), "in": found.received, "out": found.sent, "tasks": found.tasks}


def snapshot(client: Any) -> Row:
    """Return processor seconds of all processes, wall seconds, and what the scheduler has counted."""
    workers = sum(client.run(time.process_time).values())
    return client.run_on_scheduler(so_far) | {"workers": workers, "driver": time.process_time(), "wall": time.perf_counter()}


def between(before: Row, after: Row) -> Row:
    return {name: after[name] - before[name] for name in before}


@contextmanager
def watched(client: Any) -> Iterator[Row]:
    """Measure the rounds of a fit, and what comes after them."""
    found: Row = {"rounds": 0, "reply": 0, "requests": 0}
    ask, grow, close = OnDask.ask, Driver.grow, OnDask.close

    def asking(self: OnDask, log: Any, requests: Any) -> Any:
        reply = ask(self, log, requests)
        found["rounds"] += 1
        found["reply"] += sum(array.nbytes for array in vars(reply).values())
        found["requests"] += len(pickle.dumps(requests))
        return reply

    def growing(self: Driver, cluster: Any) -> None:
        before = snapshot(client)
        grow(self, cluster)
        found["after"] = snapshot(client)
        found["in rounds"] = between(before, found["after"])
        found["splits"] = len(self.log)
        found["row levels"] = sum(node.n_samples for node in self.nodes if node.first_child >= 0)
        found["handed rows"] = sum(node.n_samples for node in self.handed)

    def closing(self: OnDask) -> None:
        found["subtrees"] = between(found.pop("after"), snapshot(client))
        close(self)

    OnDask.ask, Driver.grow, OnDask.close = asking, growing, closing  # type: ignore[method-assign]
    try:
        yield found
    finally:
        OnDask.ask, Driver.grow, OnDask.close = ask, grow, close  # type: ignore[method-assign]


def fitted(data: Dataset, expected: CARTClassifier, client: Any) -> Row:
    """Return the figures of a fit, whose tree is the one in memory."""
    model = CARTClassifier(**expected.get_params())
    with watched(client) as found:
        model.fit(data)
    assert model.to_json() == expected.to_json(), "the trees differ"
    tree = model.tree_
    split = tree.n_samples[tree.first_child >= 0]
    return found | {"rows": data.n_samples, "levels below": int(split.sum()) - found["row levels"], "nodes": tree.node_count}


@contextmanager
def cluster(*, direct: bool = False) -> Iterator[Any]:
    """Connect to a scheduler and workers that are processes of one thread."""
    import dask
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    one_thread = {"nthreads": 1, "memory_limit": 0}
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        SubprocessCluster(n_workers=N_WORKERS, threads_per_worker=1, worker_kwargs=one_thread) as processes,
        Client(processes, direct_to_workers=direct) as client,
    ):
        client.wait_for_workers(N_WORKERS, timeout=60)
        client.run_on_scheduler(count_bytes)
        yield client


def line_of(shards: int, direct: bool, found: Row) -> str:
    rounds, n = found["in rounds"], found["rounds"]
    cells = [
        f"{shards}{', direct' if direct else ''}",
        f"{n}",
        f"{rounds['tasks'] / n:.0f}",
        f"{found['reply'] / n / 1e6:.2f}",
        f"{rounds['in'] / n / 1e6:.2f}",
        f"{rounds['out'] / n / 1e6:.2f}",
        *(f"{1000 * rounds[name] / n:.0f}" for name in ("scheduler", "workers", "driver", "wall")),
    ]
    return f"| {' | '.join(cells)} |"


def processor_time(found: Row) -> float:
    return float(sum(found["in rounds"][name] for name in ("scheduler", "workers", "driver")))


def run(n_rows: int, folder: Path, repeat: int, shards: tuple[int, ...] = SHARDS) -> list[Row]:
    """Measure rounds at several numbers of shards, and a deep tree; print a table."""
    paths = write(folder, n_rows, max(shards))
    table = read(paths)
    X, y = table[COLUMNS], table["y"]
    shallow, deep = (CARTClassifier(**limits).fit(X, y) for limits in ({"max_depth": 8}, DEEP))
    del table, X, y
    print(f"{n_rows:,} rows x {len(COLUMNS)}, {N_WORKERS} workers of one thread, max_depth=8\n")
    print(f"| {' | '.join(HEADS)} |\n|---|{'--:|' * (len(HEADS) - 1)}")
    lines = []
    for direct, some in ((False, shards), (True, shards[1:2])):
        with cluster(direct=direct) as client:
            with Dataset.from_dask(frame_of(paths[:2], 2), "y", client=client) as data:
                data.prepare()  # the workers import what they need
            for n_shards in some:
                before = snapshot(client)
                with Dataset.from_dask(
                    frame_of(paths, max(n_shards, FEWEST_PARTITIONS)), "y", client=client, n_shards=n_shards
                ) as data:
                    data.prepare()
                    preparation = between(before, snapshot(client))
                    found = min((fitted(data, shallow, client) for _ in range(repeat)), key=processor_time)
                    print(line_of(n_shards, direct, found), flush=True)
                    lines.append({"shards": n_shards, "direct": direct, "preparation": preparation} | found)
                    if n_shards == min(shards) and not direct:
                        lines.append({"shards": n_shards, "deep": True} | fitted(data, deep, client))
    print(f"\nPer round; processor time, but for wall, of the fastest of {repeat} fits. All trees are those in memory.")
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench dask", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows instead of {FULL_ROWS:,}")
    parser.add_argument("--rows", type=int, help="rows of the table")
    parser.add_argument("--repeat", type=int, default=2, help="fits of each number of shards (default 2)")
    parser.add_argument("--folder", type=Path, help="where the files are written (default: the system's temporary folder)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="append the figures to this file as a line of JSON")
    parser.add_argument("--project", type=Path, metavar="FILE", help="only project the last figures of a file")
    parser.add_argument("--peers", action="store_true", help="a tree of depth 8 by XGBoost's and LightGBM's Dask modules, too")
    given = parser.parse_args(arguments)
    if given.project is not None:
        projection.report(json.loads(given.project.read_text().splitlines()[-1])["lines"])
        return 0
    n_rows = given.rows or (QUICK_ROWS if given.quick else FULL_ROWS)
    folder = Path(tempfile.mkdtemp(prefix="bench-dask-", dir=given.folder))
    try:
        if given.peers:
            from . import dask_peers

            with cluster() as client:
                dask_peers.run(n_rows, client)
            return 0
        lines = run(n_rows, folder, given.repeat)
    finally:
        shutil.rmtree(folder)
    projection.report(lines)
    if given.output is not None:
        with given.output.open("a") as file:
            file.write(json.dumps({"rows": n_rows, "lines": lines} | about()) + "\n")
    return 0
