"""A prepared table that is kept on the disk, for Datasets of the same files that are made later.

Its folder is written under another name and renamed when it is whole, so that it is never a part of a table.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._scale.frontier import Features
from fasttree._scale.store import ArrayFile, ScratchFolder, Spot

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
        """Keep the files of a folder, which are the shards in their order."""
        files = [file for shard in shards for file in shard]
        listed = [
            (f"{i:06}", file.size, [(spot.start, spot.length, spot.dtype.str) for spot in file.places])
            for i, file in enumerate(files)
        ]
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
