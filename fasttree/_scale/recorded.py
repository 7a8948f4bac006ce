"""A fit whose replies are recorded beside the kept table, so that it continues where it was broken off.

The driver of a growth asks the same again when it is given the same replies.  So a fit that is repeated runs through its rounds
from the first one, and the shards are asked only what is not recorded.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._scale.cluster import Cluster, Fields
from fasttree._scale.messages import Reply, Requests, Route
from fasttree._scale.nodes import TreeNode
from fasttree._scale.store import ScratchFolder
from fasttree._scale.subtree import Task

Array: TypeAlias = npt.NDArray[Any]


class Recorded:
    """A cluster whose replies are recorded.

    Parameters
    ----------
    cluster : Cluster
    folder : path
        For the files of this fit, one for each round and for each bucket of nodes.
    known : bytes
        All that the replies depend on besides the requests and the splits.
    scratch : ScratchFolder
        On the same disk, which must have room.
    """

    def __init__(self, cluster: Cluster, folder: Path, known: bytes, scratch: ScratchFolder) -> None:
        self._cluster, self._scratch = cluster, scratch
        self._folder = folder / f"fit-{hashlib.sha256(known).hexdigest()[:16]}"
        self._state = b""  # of all splits and requests so far

    def ask(self, log: Sequence[Route], requests: Requests) -> Reply:
        """Return what is recorded, or let the shards answer and record it."""
        self._note(log[requests.since :], requests)
        found = self._read(self._state.hex())
        if found is not None:
            return Reply(**found)
        reply = self._cluster.ask(log, requests)
        self._write(self._state.hex(), {field.name: getattr(reply, field.name) for field in fields(reply)})
        return reply

    def exchange(
        self, growth: Task, log: Sequence[Route], buckets: Sequence[Sequence[TreeNode]]
    ) -> Iterator[tuple[TreeNode, Fields]]:
        """Return the trees that are recorded, and grow and record the others, bucket by bucket."""
        for bucket in buckets:
            numbers = np.array([node.id for node in bucket])
            name = hashlib.sha256(self._state + numbers.tobytes()).hexdigest()
            trees: dict[int, Fields] = {node.id: {} for node in bucket}
            for key, array in (self._read(name) or {}).items():
                number, _, field = key.partition(" ")
                trees[int(number)][field] = array
            if not all(trees.values()):
                trees = {node.id: tree for node, tree in self._cluster.exchange(growth, log, [bucket])}
                self._write(name, {f"{number} {field}": array for number, tree in trees.items() for field, array in tree.items()})
            for node in bucket:
                yield node, trees.pop(node.id)

    def close(self) -> None:
        """Drop what the fit added to the shards; what is recorded stays."""
        self._cluster.close()

    def forget(self) -> None:
        """Remove what is recorded, when the fit is done."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _note(self, splits: Sequence[Route], requests: Requests) -> None:
        """Add splits and requests to the state."""
        state = hashlib.sha256(self._state)
        for split in splits:
            state.update(repr(split[:-1]).encode() + (b"" if split.sides is None else split.sides.tobytes()))
        state.update(repr((requests.since, requests.count, requests.sums, requests.deviate)).encode())
        for node, feature, cells in requests.divide:
            state.update(repr((node, feature, cells.n_parts)).encode())
            state.update(cells.low.tobytes() + cells.high.tobytes() + cells.shift.tobytes())
        self._state = state.digest()

    def _read(self, name: str) -> dict[str, Array] | None:
        try:
            with np.load(self._folder / f"{name}.npz", allow_pickle=False) as file:
                return dict(file)
        except FileNotFoundError:
            return None

    def _write(self, name: str, arrays: dict[str, Array]) -> None:
        """Write a file that is whole as soon as it has its name."""
        self._scratch.require(sum(array.nbytes for array in arrays.values()))
        self._folder.mkdir(exist_ok=True)
        path = self._folder / f"{name}-{os.getpid()}.part"
        with contextlib.suppress(FileNotFoundError):  # the same fit in another process is done, and has removed the folder
            with path.open("wb") as file:
                np.savez(file, **arrays)  # type: ignore[arg-type]
            path.replace(self._folder / f"{name}.npz")
