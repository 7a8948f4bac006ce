"""``python -m bench scale-out``: trees from a table on disk, beside the same trees in memory.

Writes Parquet files of 28 columns of float32 to a folder of its own, and removes them.  Each step starts with none of these files
in the page cache, except where it says "again".  The figures of memory need Linux.

With ``--keep-table`` the files, and what a Dataset prepares of them, remain in the folder for later runs.  They are used again if
their names, their number of rows and the fingerprint of what the files say of their columns are the same.
"""

import argparse
import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

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
TARGETS = {
    "prepare": 60.0,
    "depth 8": 120.0,
    "depth 8, again": 35.0,
    "no limits": 310.0,
}  # wall seconds, of 100 million rows; 370 with prepare
STEPS = ("prepare", "depth-8", "depth-8-again", "no-limits", "noise", "beside-memory")
DESCRIBED = "table.json"
PREPARED = "prepared"
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


def fingerprint(paths: list[Path]) -> dict[str, Any]:
    """Describe the files of a table: their names, rows, and a hash of their footers, which have the ranges of all columns."""
    found = hashlib.sha256()
    n_rows = 0
    for path in paths:
        with path.open("rb") as file:
            file.seek(-8, os.SEEK_END)
            length = int.from_bytes(file.read(4), "little")
            file.seek(-8 - length, os.SEEK_END)
            found.update(path.name.encode() + file.read())
        n_rows += pq.read_metadata(path).num_rows
    return {"rows": n_rows, "files": [path.name for path in paths], "sha256": found.hexdigest()}


def kept_table(folder: Path, n_rows: int) -> list[Path]:
    """Return the files of a table that is in a folder, or write them; files that are not those described are written anew."""
    place = folder / f"signal-{n_rows}"
    described = place / DESCRIBED
    paths = sorted(place.glob("*.parquet"))
    if described.exists() and paths and json.loads(described.read_text()) == fingerprint(paths) | {"asked": n_rows}:
        print(f"{place}: the table of an earlier run")
        return paths
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    paths = write(place, n_rows)
    described.write_text(json.dumps(fingerprint(paths) | {"asked": n_rows}))
    return paths


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


class Run(NamedTuple):
    """What is measured.

    Parameters
    ----------
    folder : Path
        For the table, and for what a Dataset writes.
    steps : tuple of str
    memory, whole_memory : str
        For a Dataset; for one whose tree has no limits.
    keep : bool
        Whether the table and what was prepared remain.
    """

    folder: Path
    steps: tuple[str, ...]
    memory: str
    whole_memory: str
    keep: bool

    def given(self, memory: str) -> dict[str, Any]:
        """Return parameters of a Dataset."""
        place = self.folder / PREPARED if self.keep else self.folder
        place.mkdir(exist_ok=True)
        return {"memory": memory, "scratch": place, "keep": "table" if self.keep else False}


def depth_8(run: Run, paths: list[Path], targets: dict[str, str]) -> list[Row]:
    """Prepare a table, and grow trees of depth 8."""
    lines = []
    if "prepare" in run.steps:  # what is not kept is written once
        with Dataset.from_parquet(paths, "y", memory=run.memory, scratch=run.folder) as data:
            forget(paths)
            with measured() as found:
                data.prepare()
            lines.append(report("prepare", found, targets.get("prepare", "")))
            if not run.keep:
                return lines + trees_of_depth_8(run, paths, data, targets)
    if {"depth-8", "depth-8-again"} & set(run.steps):
        with Dataset.from_parquet(paths, "y", **run.given(run.memory)) as data:
            lines += trees_of_depth_8(run, paths, data, targets)
    return lines


def trees_of_depth_8(run: Run, paths: list[Path], data: Dataset, targets: dict[str, str]) -> list[Row]:
    lines = []
    for step, what in (("depth-8", "depth 8"), ("depth-8-again", "depth 8, again")):
        if step in run.steps:
            data.prepare()
            if step == "depth-8":
                forget(paths, data)
            lines.append(report(what, fitted(data, max_depth=8)[1], targets.get(what, "")))
    return lines


def no_limits(run: Run, paths: list[Path], targets: dict[str, str]) -> Row:
    """Grow a tree without limits, which starts with nothing in the page cache."""
    with Dataset.from_parquet(paths, "y", **run.given(run.whole_memory)) as data:
        forget(paths, data)
        found = fitted(data)[1]
        target = targets.get("no limits", "") if data.n_samples == FULL_ROWS else ""
        return report(f"no limits, {data.n_samples:,} rows", found, target)


def noise(run: Run, n_rows: int) -> Row:
    paths = write(run.folder, n_rows, "noise")
    with Dataset.from_parquet(paths, "y", memory=run.memory, scratch=run.folder) as data:
        forget(paths, data)
        line = report(f"noise to depth 6, {data.n_samples:,} rows", fitted(data, max_depth=6)[1])
    for path in paths:
        path.unlink()
    return line


def measure(run: Run, n_rows: int, whole_rows: int, repeat: int) -> list[Row]:
    """Measure the steps that are asked for."""
    targets = {name: f"{seconds:g} s" for name, seconds in TARGETS.items()} if n_rows == FULL_ROWS else {}
    print(f"{n_rows:,} rows x {len(COLUMNS)}, memory {run.memory}, one thread\n", flush=True)
    paths = kept_table(run.folder, n_rows)
    print("| what | processor s | wall s | anonymous GB | | target |\n|---|--:|--:|--:|---|--:|", flush=True)
    lines = depth_8(run, paths, targets) if {"prepare", "depth-8", "depth-8-again"} & set(run.steps) else []
    compared = min(n_rows, COMPARED_ROWS)
    if "no-limits" in run.steps and whole_rows:
        lines.append(no_limits(run, paths[: max(min(n_rows, whole_rows) // FILE_ROWS, 1)], targets))
    if "noise" in run.steps:
        lines.append(noise(run, compared))
    print()
    if "beside-memory" in run.steps:
        lines += compare(paths[: max(compared // FILE_ROWS, 1)], run.memory, run.folder, repeat)
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench scale-out", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS:,} rows instead of {FULL_ROWS:,}")
    parser.add_argument("--rows", type=int, help="rows of the table")
    parser.add_argument("--memory", default="2GiB", help="memory of a Dataset (default 2GiB)")
    parser.add_argument("--folder", type=Path, help="where the files are written (default: the system's temporary folder)")
    parser.add_argument(
        "--whole-rows", type=int, default=WHOLE_ROWS, help=f"rows of the tree without limits (default {WHOLE_ROWS:,})"
    )
    parser.add_argument(
        "--whole-memory", help="memory of a Dataset for that tree, whose nodes may take a quarter (default: as --memory)"
    )
    parser.add_argument("--repeat", type=int, default=3, help="turns of depth 8 beside memory (default 3)")
    parser.add_argument(
        "--steps", default=",".join(STEPS), help=f"what is measured, divided by commas (default {','.join(STEPS)})"
    )
    parser.add_argument("--keep-table", action="store_true", help="keep the table in --folder, and use it if it is there")
    parser.add_argument("--output", type=Path, metavar="FILE", help="append the figures to this file as a line of JSON")
    given = parser.parse_args(arguments)
    n_rows = given.rows or (QUICK_ROWS if given.quick else FULL_ROWS)
    steps = tuple(given.steps.split(","))
    if unknown := set(steps) - set(STEPS):
        parser.error(f"--steps {', '.join(sorted(unknown))}: must be of {', '.join(STEPS)}")
    if given.keep_table and given.folder is None:
        parser.error("--keep-table keeps the table in --folder: name one")
    if given.keep_table:
        given.folder.mkdir(parents=True, exist_ok=True)
        place = nullcontext(str(given.folder))
    else:
        place = tempfile.TemporaryDirectory(prefix="bench-scale-out-", dir=given.folder)
    with place as name:
        folder = Path(name)
        there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        needed = 10 * n_rows * len(COLUMNS) - there  # Parquet files, and what a Dataset writes
        if given.keep_table and "prepare" in steps:
            needed += 6 * n_rows * len(COLUMNS)  # which is measured once more
        if shutil.disk_usage(folder).free < needed:
            parser.error(f"{needed / 1e9:.0f} GB are needed on the disk: name another --folder, or fewer --rows")
        run = Run(folder, steps, given.memory, given.whole_memory or given.memory, given.keep_table)
        lines = measure(run, n_rows, given.whole_rows, given.repeat)
    if given.output is not None:
        with given.output.open("a") as file:
            file.write(json.dumps({"rows": n_rows, "memory": given.memory, "lines": lines} | about()) + "\n")
    return 0
