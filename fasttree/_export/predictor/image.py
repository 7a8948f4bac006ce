"""The image of a predictor: its layout in bytes, and its verification.

Numbers are little-endian.  The head has 24 bytes: magic (8), version (4), CRC-32 of all bytes after it (4), number of bytes (8).
The offset and length of each part follow, 8 bytes each.  The parts have this order, each at the next multiple of 64:

    about           JSON text: features and their categories, labels of the classes, rejected values
    nodes           16 bytes each; the layout of this and the next parts is that of the engine's header `walk/compact.pxd`
    values          float64: distinct predictions of nodes where samples end
    answers         int32: their class, for each target
    weights         float64: weight of each node, in trees that divide samples
    extras, surrogates, tables, list_codes, list_branches, cuts
                    further data of the nodes that need them
    trees           int64: for each of several trees, the number of its entries in nodes, weights, extras, surrogates, tables,
                    list_codes and cuts, where the trees are behind one another; no part of version 1

Version 1 holds a tree, version 2 the trees of a forest, whose predictions are averaged in their order.  Its `answers` are empty.
"""

from __future__ import annotations

import mmap
import struct
import sys
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._export.predictor.about import About, bad_image

MAGIC = b"\x89fasttre"  # distinct from text and other files
ONE_TREE, FOREST = 1, 2  # versions
HEAD = struct.Struct("<8sIIQ")
CHECKED_FROM = 16  # first byte that the checksum covers
ALIGNMENT = 64
# parts in their order, and the bytes of an entry
PARTS = {
    "about": 1,
    "nodes": 16,
    "values": 8,
    "answers": 4,
    "weights": 8,
    "extras": 48,
    "surrogates": 16,
    "tables": 1,
    "list_codes": 4,
    "list_branches": 4,
    "cuts": 8,
}
PARTS_OF = {ONE_TREE: PARTS, FOREST: PARTS | {"trees": 56}}
OF_TREES = ("nodes", "weights", "extras", "surrogates", "tables", "list_codes", "cuts")  # the columns of `trees`
MAX_NODES = 2**31 - 1

MAX_VALUES = 2**24  # of a prediction

Bytes = npt.NDArray[np.uint8]


def _places_of(version: int) -> struct.Struct:
    return struct.Struct(f"<{2 * len(PARTS_OF[version])}Q")


def image_of(arrays: Mapping[str, npt.NDArray[Any]]) -> Bytes:
    version = FOREST if "trees" in arrays else ONE_TREE
    head_size = HEAD.size + _places_of(version).size
    places, stop = [], head_size
    for name in PARTS_OF[version]:
        start = _aligned(stop)
        places += [start, arrays[name].nbytes]
        stop = start + arrays[name].nbytes
    image = np.zeros(stop, np.uint8)
    for name, start in zip(PARTS_OF[version], places[::2], strict=True):
        part = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8)
        image[start : start + part.size] = part
    image[HEAD.size : head_size] = np.frombuffer(_places_of(version).pack(*places), np.uint8)
    _seal(image, version)
    image.flags.writeable = False
    return image


def _seal(image: Bytes, version: int) -> None:
    """Write the head of an image; its checksum covers the length and all bytes after it."""
    image[: HEAD.size] = np.frombuffer(HEAD.pack(MAGIC, version, 0, image.size), np.uint8)
    checksum = zlib.crc32(image[CHECKED_FROM:].data)
    image[: HEAD.size] = np.frombuffer(HEAD.pack(MAGIC, version, checksum, image.size), np.uint8)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


# Reading an image


def kept(data: Any) -> Bytes:
    """Return an image as an array whose memory cannot change, copied if necessary."""
    if sys.byteorder != "little":
        raise ValueError("predictors need a little-endian machine; use the model itself")
    given = np.frombuffer(data, np.uint8)
    owner = data
    while isinstance(owner, np.ndarray):  # a read-only array may have writeable views
        owner = owner.base
    fixed = isinstance(owner, (bytes, mmap.mmap)) and not given.flags.writeable
    if not fixed or given.__array_interface__["data"][0] % 8:
        given = given.copy()
    given.flags.writeable = False
    return given


def parts_of(image: Bytes) -> dict[str, tuple[int, int]]:
    """Return the start and the number of bytes of each part, as given in the image."""
    version = HEAD.unpack_from(image.data)[1]
    numbers_of = _places_of(version).unpack_from(image.data, HEAD.size)
    return dict(zip(PARTS_OF[version], zip(numbers_of[::2], numbers_of[1::2], strict=True), strict=True))


def bounds(part: tuple[int, int]) -> tuple[int, int]:
    return part[0], part[0] + part[1]


def verified_parts(image: Bytes) -> dict[str, tuple[int, int]]:
    """Return the same after verifying the head, and that the parts fill the image in order."""
    if image.size < HEAD.size or image[: len(MAGIC)].tobytes() != MAGIC:
        if image[:1].tobytes() == b"{" or image[:2].tobytes() == b"\x1f\x8b":
            bad_image("it seems to be the JSON of a model: read it with fasttree.load and call to_predictor()")
        bad_image("it does not begin as one")
    _, version, checksum, length = HEAD.unpack_from(image.data)
    if version not in PARTS_OF:
        bad_image(f"it has version {version}, but this library reads versions 1 and 2: make it again with to_predictor()")
    head_size = HEAD.size + _places_of(version).size
    if length != image.size or length < head_size:
        bad_image(f"it has {image.size} bytes but should have {length}; it is truncated or was altered")
    if zlib.crc32(image[CHECKED_FROM:].data) != checksum:
        bad_image("its checksum does not match; it was altered")
    parts, stop = parts_of(image), head_size
    for name, (start, size) in parts.items():
        if start != _aligned(stop) or start + size > length or size % PARTS_OF[version][name]:
            bad_image(f"its part {name!r} of {size} bytes at byte {start} is misplaced")
        stop = start + size
    if stop != length:
        bad_image(f"its parts end at byte {stop} of {length}")
    return parts


def check_lengths(parts: Mapping[str, tuple[int, int]], about: About) -> None:
    """Verify that the lengths of the parts fit one another."""
    sizes = {name: size for name, (_, size) in parts.items()}
    n_values = sum(labels.size for labels in about.classes) if about.classes else about.n_outputs
    n_nodes, n_ends = sizes["nodes"] // PARTS["nodes"], sizes["values"] // (8 * n_values)
    is_forest = "trees" in parts
    if n_values > MAX_VALUES or sizes["values"] != 8 * n_values * n_ends or n_ends < 1:
        bad_image("it must have predictions")
    if sizes["answers"] != (4 * n_ends * about.n_outputs if about.classes and not is_forest else 0):
        bad_image("it must have a class per prediction and target, and none in regression or of a forest")
    if sizes["list_codes"] != sizes["list_branches"]:
        bad_image("there must be as many codes as branches in lists")
    if not is_forest and (not 1 <= n_nodes <= MAX_NODES or sizes["weights"] not in (0, 8 * n_nodes)):
        bad_image("it must have nodes, and no weights or one per node")


def check_trees(image: Bytes, parts: Mapping[str, tuple[int, int]]) -> None:
    """Verify that the trees of a forest share out all parts."""
    if "trees" not in parts:
        return
    sizes = image[slice(*bounds(parts["trees"]))].view(np.int64).reshape(-1, len(OF_TREES))
    totals = [parts[name][1] // PARTS[name] for name in OF_TREES]
    if not len(sizes) or (sizes < 0).any() or (sizes > totals).any() or [sum(one) for one in sizes.T.tolist()] != totals:
        bad_image("its trees must share out all nodes and what belongs to them")
    nodes, weights = sizes[:, 0], sizes[:, 1]
    if (nodes < 1).any() or (nodes > MAX_NODES).any() or ((weights != 0) & (weights != nodes)).any():
        bad_image("each of its trees must have nodes, and no weights or one per node")


def check_values(image: Bytes, parts: Mapping[str, tuple[int, int]], about: About) -> None:
    values = image[slice(*bounds(parts["values"]))].view(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum()) or np.isfinite(values).all()  # the sum of finite ones may overflow
    if not fine or (about.classes and values.min() < 0):
        bad_image("values must be finite, and shares not negative")
    if about.classes and "trees" not in parts:
        answers = image[slice(*bounds(parts["answers"]))].view(np.int32).reshape(-1, about.n_outputs)
        if answers.min() < 0 or (answers.max(axis=0) >= [labels.size for labels in about.classes]).any():
            bad_image("an answer must be a class")
