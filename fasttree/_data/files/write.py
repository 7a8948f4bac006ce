"""Writing of predictions and tables as CSV or Parquet, block by block."""

from __future__ import annotations

import contextlib
import gzip
import os
import queue
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

import polars as pl
from polars.io.plugins import register_io_source

from fasttree._data.files import blocks as reading


def write_csv(blocks: Iterable[pl.DataFrame], stream: BinaryIO | gzip.GzipFile) -> None:
    """Write a header and blocks of rows as they come."""
    for number, block in enumerate(blocks):
        stream.write(block.write_csv(include_header=number == 0).encode())
    stream.flush()  # a reader that has gone shows here, where it is handled


def write_parquet(blocks: Iterable[pl.DataFrame], stream: BinaryIO) -> None:
    """Write blocks of rows as they come, with polars in its own thread; at most two blocks wait.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    coming = iter(blocks)
    first = next(coming)
    waiting: queue.Queue[pl.DataFrame | None] = queue.Queue(maxsize=2)

    def source(*_: object) -> Iterator[pl.DataFrame]:
        yield first
        while (block := waiting.get()) is not None:
            yield block

    table = register_io_source(source, schema=first.schema)
    with ThreadPoolExecutor(1) as threads:
        written = threads.submit(table.sink_parquet, stream, row_group_size=max(1, reading.BLOCK_CELLS // first.width))
        try:
            for block in coming:
                if written.done():
                    break  # it failed or was interrupted; `result` below raises the error
                _hand_over(block, waiting, written)
        finally:
            _hand_over(None, waiting, written)
    try:
        written.result()
    except pl.exceptions.PolarsError as error:
        system = re.search(r"\(os error (\d+)\)", str(error))
        if system is None:
            raise
        number = int(system.group(1))
        raise OSError(number, os.strerror(number)) from None


def _hand_over(block: pl.DataFrame | None, waiting: queue.Queue[pl.DataFrame | None], written: Future[Any]) -> None:
    """Wait until there is room for the block or the writer has ended."""
    while not written.done():
        with contextlib.suppress(queue.Full):
            waiting.put(block, timeout=0.1)
            return
