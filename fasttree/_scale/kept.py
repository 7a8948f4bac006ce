"""A prepared table that is kept on the disk, for Datasets of the same files that are made later, and replies of a fit.

Its folder is written under another name and renamed when it is whole, so that it is never a part of a table.

The driver of a growth asks the same again when it is given the same replies.  So a fit that is repeated runs through its rounds
from the first one, and the shards are asked only what is not recorded.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._scale.cluster import Cluster, Fields
from fasttree._scale.frontier import Features
from fasttree._scale.messages import Reply, Requests, Route
from fasttree._scale.nodes import TreeNode
from fasttree._scale.preparation import Array
from fasttree._scale.store import ArrayFile, ScratchFolder, Spot
from fasttree._scale.subtree import Task

FORMAT = 1
MANIFEST = "manifest.json"
PREFIX = "fasttree-kept-"

Shards = list[tuple[ArrayFile, ArrayFile]]


class KeptTable:
    """The place of a prepared table.

    Parameters
    ----------
    parent : path
        Folder in which the table is kept.
    asked : dict
        What the table depends on: columns, kinds, and the paths of the files.
    seen : list of (int, int)
        Size and time of each file.
    """

    def __init__(self, parent: str | os.PathLike[str], asked: Mapping[str, Any], seen: Sequence[tuple[int, int]]) -> None:
        self._asked = json.loads(json.dumps(asked, default=repr))
        self._seen = [list(state) for state in seen]
        name = hashlib.sha256(json.dumps(self._asked, sort_keys=True).encode()).hexdigest()[:16]
        self.path = Path(parent, PREFIX + name)

    def find(self) -> dict[str, Any] | None:
        """Return what `save` was given, if the table is there, is whole, and its files have not changed."""
        try:
            manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = (manifest.get("format"), manifest.get("asked"), manifest.get("seen")) == (FORMAT, self._asked, self._seen)
        if not same or any(_size(self.path / name) != size for name, size, _ in manifest["files"]):
            return None
        return manifest

    def open(self, manifest: Mapping[str, Any]) -> Shards:
        """Return the shards of a table that was found."""
        files = []
        for name, _, places in manifest["files"]:
            spots = [Spot(start, length, np.dtype(dtype)) for start, length, dtype in places]
            file = os.fdopen(os.open(self.path / name, os.O_RDONLY), "rb")  # closed with the Dataset
            files.append(ArrayFile.of(file, spots))
        return list(zip(files[::2], files[1::2], strict=True))

    def save(self, folder: ScratchFolder, shards: Shards, described: dict[str, Any]) -> None:
        """Keep a folder of named files, which are those of the shards."""
        files = [file for shard in shards for file in shard]
        listed = [(file.name, file.size, [(spot.start, spot.length, spot.dtype.str) for spot in file.places]) for file in files]
        manifest = {"format": FORMAT, "asked": self._asked, "seen": self._seen, "files": listed} | described
        (folder.path / MANIFEST).write_text(json.dumps(manifest, default=_plain), encoding="utf-8")
        shutil.rmtree(self.path, ignore_errors=True)
        folder.keep_as(self.path)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _plain(value: Any) -> Any:
    """Return a number or an array of NumPy as JSON has it."""
    return value.tolist()


def described(schema: Schema, features: Features) -> dict[str, Any]:
    """Return schema and bins for a manifest."""
    columns = [(feature.name, int(feature.kind), feature.categories) for feature in schema.features]
    return {"columns": columns, "edges": features.edges, "n_codes": features.n_codes, "single": features.single}


def schema_of(manifest: Mapping[str, Any]) -> tuple[Schema, Features]:
    """Return what `described` was given."""
    columns = [
        Feature(name, Kind(kind), None if categories is None else tuple(categories))
        for name, kind, categories in manifest["columns"]
    ]
    edges = [None if bins is None else np.array(bins, dtype=np.uint64) for bins in manifest["edges"]]
    return Schema(tuple(columns), has_names=True), Features(edges, manifest["n_codes"], manifest["single"])


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
