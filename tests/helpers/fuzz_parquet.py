"""Parquet for `fuzz.py`: examples, and what reads them in a process of its own, because such a reader may end its process.

The command line reads Parquet by Polars, `Dataset.from_parquet` by PyArrow.
"""

import contextlib
import io
import multiprocessing
import os
import resource
import time
import traceback
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

import fasttree
from fasttree._cli.commands import fasttree as command_line
from fasttree._data.files import blocks

SECONDS_EACH = 60  # on the clock, of a process that answers within milliseconds
GIGABYTES = 8  # of address space, which Polars, PyArrow and their threads need before they read anything
SIZES, CITIES = ["small", "medium", "large"], ["Aachen", "Bonn", "Köln", "Ulm"]


def examples() -> list[bytes]:
    """The same table as PyArrow and Polars write it: pages, codecs, encodings, row groups and types that differ."""
    random = np.random.default_rng(0)
    n = 40
    gone = random.random((5, n)) < 0.1
    table = pa.table(
        {
            "age": pa.array(random.integers(20, 60, n) / 2, mask=gone[0]),
            "pay": pa.array(random.normal(size=n).astype(np.float32), mask=gone[1]),
            "size": pa.array(np.array(SIZES, object)[random.integers(0, 3, n)], mask=gone[2]),
            "city": pa.array(np.array(CITIES, object)[random.integers(0, 4, n)], mask=gone[3]).dictionary_encode(),
            "room": pa.array(random.integers(0, 3, n), mask=gone[4]),
            "new": pa.array(random.random(n) < 0.5),
            "y": pa.array(random.integers(0, 2, n)),
        }
    )
    written: list[dict[str, Any]] = [
        {},
        {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 15, "write_page_checksum": True},
        {"compression": "none", "use_dictionary": False},
        {
            "compression": "gzip",
            "use_dictionary": ["city"],
            "column_encoding": {"age": "BYTE_STREAM_SPLIT", "room": "DELTA_BINARY_PACKED", "size": "DELTA_BYTE_ARRAY"},
        },
    ]
    found = []
    for given in written:
        buffer = io.BytesIO()
        pq.write_table(table, buffer, **given)
        found.append(buffer.getvalue())
    for codec in ("uncompressed", "lz4"):
        buffer = io.BytesIO()
        pl.from_arrow(table).write_parquet(buffer, compression=codec, row_group_size=15)
        found.append(buffer.getvalue())
    return found


def mutated(data: bytes, random: Random) -> bytes:
    """Change some bytes of the footer, which says what the file has, or of its pages."""
    changed = bytearray(data)
    footer = int.from_bytes(data[-8:-4], "little") + 8
    begin = len(changed) - footer if 8 < footer < len(changed) else 0
    for _ in range(1 + int(random.expovariate(0.7))):
        at = random.randrange(begin, len(changed)) if random.random() < 0.5 else random.randrange(len(changed))
        match random.randrange(4):
            case 0:
                changed[at] ^= 1 << random.randrange(8)
            case 1:
                changed[at] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
            case 2:
                changed[at : at + random.randrange(1, 10)] = random.randbytes(random.randrange(10))
            case _:
                other = random.randrange(len(changed))
                size = random.randrange(1, 30)
                changed[at : at + size] = changed[other : other + size]
    if changed[-4:] != b"PAR1" and random.random() < 0.8:
        changed += b"PAR1"
    return bytes(changed)


def by_polars(path: Path, model: Path) -> Any:
    """Read the whole table, as `fasttree train` does, and predict in blocks, by the command line."""
    with contextlib.suppress(ValueError):
        blocks.TableFile(str(path)).read({})
    ended = CliRunner().invoke(command_line, ["predict", str(model), str(path)])
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        raise RuntimeError("the command ended with a traceback") from ended.exception
    if ended.exit_code:
        raise ValueError(ended.output)
    return ended.output.count("\n")


def by_pyarrow(path: Path, _model: Path) -> Any:
    """Fit a tree to the table on disk."""
    data = fasttree.Dataset.from_parquet(path, "y", categorical_features=["room"], scratch=path.parent, memory="64MiB")
    with data:
        return fasttree.CARTClassifier(max_depth=2).fit(data).tree_.n_leaves


READERS = {"Polars": by_polars, "PyArrow": by_pyarrow}


def serve(reader: str, folder: str, connection: Any) -> None:
    """Read what comes, and send back what became of it and the processor time so far."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (GIGABYTES << 30, GIGABYTES << 30))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(os.devnull, "w") as nothing:  # a panic of Polars is printed, too
        os.dup2(nothing.fileno(), 2)
    path = Path(folder) / f"{reader}.parquet"
    while True:
        path.write_bytes(connection.recv_bytes())
        try:
            answer = ("read", str(READERS[reader](path, Path(folder) / "model.json")))
        except UnicodeError:  # a ValueError that names neither the file nor a column
            answer = ("failed", traceback.format_exc())
        except (ValueError, TypeError) as error:  # TypeError: of a column whose values no model takes
            answer = ("refused", str(error).replace(str(path), "file").replace(" cannot be read as Parquet", ""))
        except BaseException:
            answer = ("failed", traceback.format_exc())
        connection.send((*answer, time.process_time()))


class Failed(Exception):
    """The reader raised an error that the interface does not promise, ended its process, or did not answer."""


class Apart:
    """A reader in a process of its own, which is started again where it ends."""

    def __init__(self, reader: str, folder: Path) -> None:
        self.reader, self.folder = reader, folder
        self.process: Any = None
        self._ended, self._running = 0.0, 0.0  # processor time of the processes

    def _start(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(self.reader, str(self.folder), theirs), daemon=True)
        self.process.start()
        theirs.close()

    def seconds(self) -> float:
        """Processor time that reading took, but for what a process did last before it ended."""
        return self._ended + self._running

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None
            self._ended, self._running = self._ended + self._running, 0.0

    def __call__(self, data: bytes) -> Any:
        """What the reader gives; ValueError where it refuses the file."""
        if self.process is None:
            self._start()
        self.connection.send_bytes(data)
        if not self.connection.poll(SECONDS_EACH):
            self.close()
            raise Failed(f"no answer within {SECONDS_EACH} s")
        try:
            how, what, self._running = self.connection.recv()
        except (EOFError, ConnectionError):
            self.process.join()
            status = self.process.exitcode
            self.close()
            raise Failed(f"the process ended by {status}") from None
        if how == "refused":
            raise ValueError(what)
        if how == "failed":
            raise Failed(what)
        return what
