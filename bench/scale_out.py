"""``python -m bench scale-out``: trees from a table on disk, beside the same trees in memory.

Writes Parquet files of 28 columns of float32 to a folder of its own, and removes them.  Each step starts with none of these files
in the page cache, except where it says "again".  The figures of memory need Linux.
"""

import argparse
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fasttree import CARTClassifier, Dataset
from fasttree._scale.out_of_core import OutOfCore

from . import tables
from .machine import about

QUICK_ROWS, FULL_ROWS = 4_000_000, 100_000_000
FILE_ROWS = 2_000_000
WHOLE_ROWS = 20_000_000  # of the tree without limits: its nodes, a quarter as many, are in memory
COMPARED_ROWS = 10_000_000  # at most, with the same table in memory
COLUMNS = [f"x{j}" for j in range(28)]
TARGETS = {"prepare": 60.0, "depth 8": 120.0, "depth 8, again": 35.0}  # seconds, of 100 million rows
Row = dict[str, Any]


def write(folder: Path, n_rows: int, kind: str = "signal") -> list[Path]:
    """Write a table in files; values of different files differ."""
    paths = []
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        n = min(FILE_ROWS, n_rows - start)
        X, y = tables.noise(n, seed=number) if kind == "noise" else tables.signal(n, seed=number)[:2]
        X *= 1 + number * 1e-4
        columns = {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(COLUMNS)}
        paths.append(folder / f"{kind}-{number:03}.parquet")
        pq.write_table(pa.table(columns | {"y": y.astype(np.int8)}), paths[-1], row_group_size=2**18, use_dictionary=False)
    return paths


def read(paths: list[Path]) -> tuple[np.ndarray, np.ndarray]:
    parts = [pq.read_table(path) for path in paths]
    X = np.concatenate([np.column_stack([part[name].to_numpy() for name in COLUMNS]) for part in parts])
    return X, np.concatenate([part["y"].to_numpy() for part in parts])


def forget(paths: list[Path], data: Dataset | None = None) -> None:
    """Drop files of a table, and those that its Dataset has written, from the page cache."""
    if not hasattr(os, "posix_fadvise"):
        return
    opened = [os.open(path, os.O_RDONLY) for path in paths]
    shards = [] if data is None else data.prepare().prepared._shards  # type: ignore[union-attr]
    for file in [*opened, *(array_file._file.fileno() for shard in shards for array_file in shard)]:
        os.fsync(file)  # what is not on the disk yet is not dropped
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    for file in opened:
        os.close(file)


def anonymous_bytes() -> int:
    with open("/proc/self/status") as lines:
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


@contextmanager
def measured() -> Iterator[Row]:
    """Measure processor time, wall time and the peak of anonymous memory of a block."""
    found: Row = {"peak": anonymous_bytes()}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            found["peak"] = max(found["peak"], anonymous_bytes())

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    cpu, wall = time.process_time(), time.perf_counter()
    try:
        yield found
    finally:
        found["cpu"], found["wall"] = time.process_time() - cpu, time.perf_counter() - wall
        over.set()
        watching.join()


@contextmanager
def counted_rounds() -> Iterator[list[int]]:
    rounds = [0]
    ask = OutOfCore.ask

    def counting(self: OutOfCore, *given: Any) -> Any:
        rounds[0] += 1
        return ask(self, *given)

    OutOfCore.ask = counting  # type: ignore[method-assign]
    try:
        yield rounds
    finally:
        OutOfCore.ask = ask  # type: ignore[method-assign]


def fitted(data: Dataset, **limits: Any) -> tuple[CARTClassifier, Row]:
    with counted_rounds() as rounds, measured() as found:
        model = CARTClassifier(**limits).fit(data)
    return model, found | {"rounds": rounds[0], "nodes": model.tree_.node_count}


def report(what: str, found: Row, target: str = "") -> Row:
    line = {"what": what} | {name: round(value, 3) if isinstance(value, float) else value for name, value in found.items()}
    rounds = f"{found['rounds']} rounds, {found['nodes']:,} nodes" if "rounds" in found else ""
    print(f"| {what} | {found['cpu']:.1f} | {found['wall']:.1f} | {found['peak'] / 1e9:.2f} | {rounds} | {target} |", flush=True)
    return line


def compare(paths: list[Path], memory: str, scratch: Path, repeat: int) -> list[Row]:
    """Fit the same rows in memory and on disk in turns, and compare the trees."""
    lines = []
    X, y = read(paths)
    with Dataset.from_parquet(paths, "y", memory=memory, scratch=scratch) as data:
        data.prepare()
        for what, limits, turns in (("depth 8", {"max_depth": 8}, repeat), ("no limits", {}, 1)):
            ratios = []
            for _ in range(turns):
                with measured() as inside:
                    expected = CARTClassifier(**limits).fit(X, y)
                model, outside = fitted(data, **limits)
                assert model.tree_ == expected.tree_, "the trees differ"
                ratios.append((outside["cpu"], inside["cpu"]))
            disk, within = (min(column) for column in zip(*ratios, strict=True))
            print(f"{what}, {len(X):,} rows: {disk:.2f} s of processor time on disk, {within:.2f} in memory: "
                  f"{disk / within:.2f} (1.25 asked); the trees are equal", flush=True)  # fmt: skip
            lines.append({"what": f"{what} beside memory", "rows": len(X), "disk": disk, "memory": within})
    return lines


def depth_8(data: Dataset, paths: list[Path], targets: dict[str, str]) -> list[Row]:
    """Prepare a table, and grow trees of depth 8."""
    forget(paths)
    with measured() as found:
        data.prepare()
    lines = [report("prepare", found, targets.get("prepare", ""))]
    forget(paths, data)
    for what in ("depth 8", "depth 8, again"):
        lines.append(report(what, fitted(data, max_depth=8)[1], targets.get(what, "")))
    return lines


def run(n_rows: int, whole_rows: int, folder: Path, memory: str, repeat: int) -> list[Row]:
    targets = {name: f"{seconds:g} s" for name, seconds in TARGETS.items()} if n_rows == FULL_ROWS else {}
    print(f"{n_rows:,} rows x {len(COLUMNS)}, memory {memory}, one thread\n")
    paths = write(folder, n_rows)
    print("| what | processor s | wall s | anonymous GB | | target |\n|---|--:|--:|--:|---|--:|", flush=True)
    given: dict[str, Any] = {"memory": memory, "scratch": folder}
    with Dataset.from_parquet(paths, "y", **given) as data:
        lines = depth_8(data, paths, targets)
    if whole_rows:
        part = paths[: max(min(n_rows, whole_rows) // FILE_ROWS, 1)]
        with Dataset.from_parquet(part, "y", **given) as data:
            forget(part, data)
            lines.append(report(f"no limits, {data.n_samples:,} rows", fitted(data)[1]))
    compared = paths[: max(min(n_rows, COMPARED_ROWS) // FILE_ROWS, 1)]
    for path in set(paths) - set(compared):
        path.unlink()
    noise = write(folder, min(n_rows, COMPARED_ROWS), "noise")
    with Dataset.from_parquet(noise, "y", **given) as data:
        forget(noise, data)
        lines.append(report(f"noise to depth 6, {data.n_samples:,} rows", fitted(data, max_depth=6)[1]))
    for path in noise:
        path.unlink()
    print()
    return lines + compare(compared, memory, folder, repeat)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench scale-out", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows instead of {FULL_ROWS:,}")
    parser.add_argument("--rows", type=int, help="rows of the table")
    parser.add_argument("--memory", default="2GiB", help="memory of a Dataset (default 2GiB)")
    parser.add_argument("--folder", type=Path, help="where the files are written (default: the system's temporary folder)")
    parser.add_argument(
        "--whole-rows", type=int, default=WHOLE_ROWS, help=f"rows of the tree without limits (default {WHOLE_ROWS:,})"
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns of depth 8 beside memory (default 3)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="append the figures to this file as a line of JSON")
    given = parser.parse_args(arguments)
    n_rows = given.rows or (QUICK_ROWS if given.quick else FULL_ROWS)
    folder = Path(tempfile.mkdtemp(prefix="bench-scale-out-", dir=given.folder))
    try:
        needed = 10 * n_rows * len(COLUMNS)  # Parquet files, and what a Dataset writes
        if shutil.disk_usage(folder).free < needed:
            parser.error(f"{needed / 1e9:.0f} GB are needed on the disk: name another --folder, or fewer --rows")
        lines = run(n_rows, given.whole_rows, folder, given.memory, given.repeat)
    finally:
        shutil.rmtree(folder)
    if given.output is not None:
        with given.output.open("a") as file:
            file.write(json.dumps({"rows": n_rows, "memory": given.memory, "lines": lines} | about()) + "\n")
    return 0
