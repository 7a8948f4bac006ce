"""Trees of the drawn layout of which several threads grow parts.

A part is a node and what is below it, but for nodes of many samples, which are left open for whichever thread is free.  What a
node draws follows from its path, so these are the nodes that one thread would grow, and they are put into its order.
"""

from __future__ import annotations

from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._engine.columns.locks import new_lock
from fasttree._engine.forest import DrawnGrower, DrawnRoom, first_part, grow_packed, grow_part, numbered, take_grown
from fasttree._model.arrays import offsets_of
from fasttree._model.packed.nodes import LEAF, SUBSET, pairs
from fasttree._model.threads import in_threads

LEAST_SHARED = 16_384  # samples of a tree of which threads grow parts
PARTS_OF_THREAD = 8  # about as many as a thread has: a node that is larger is left open
SECONDS = 0.05  # between looks at whether another thread has failed

GrownTree: TypeAlias = "tuple[npt.NDArray[Any], Floats, npt.NDArray[np.uint32]]"  # nodes, values and bits, as from `grow_packed`
Place: TypeAlias = "tuple[int, int]"  # of a node: a room, and the place there
ROOT: Place = (-1, -1)


class GrownPart(NamedTuple):
    """Where a part is, and what it has.

    Parameters
    ----------
    room, node : int
        The number of the room, and the place of the part's node there.
    sizes : tuple of int
        Rows of values and words of bits in the room before the part, and after it.
    opened : list of (int, int, int, bytes)
        Places of the nodes that are left open, the same sizes before each of them, and the nodes.
    """

    room: int
    node: int
    sizes: tuple[int, int, int, int]
    opened: list[tuple[int, int, int, bytes]]


class GrownPiece(NamedTuple):
    """Rows of values and words of bits of a room that follow one another in a tree."""

    room: int
    values: slice
    bits: slice


def grow_in_parts(grower: DrawnGrower, counts: npt.NDArray[np.uint16], seed: int, n_classes: int, n_jobs: int) -> GrownTree:
    """Grow a tree on a bag as `grow_packed` does, in threads if it has samples enough."""
    n = int(np.count_nonzero(counts))
    if n_jobs == 1 or n < LEAST_SHARED:
        return grow_packed(grower, counts, seed)
    rooms = [DrawnRoom() for _ in range(n_jobs)]
    first = first_part(grower, counts, seed, rooms[0])
    parts = _grow_parts(grower, rooms, first, max(-(-n // (PARTS_OF_THREAD * n_jobs)), 2))
    return _together([take_grown(grower, room) for room in rooms], parts, n_classes)


def _grow_parts(grower: DrawnGrower, rooms: list[DrawnRoom], first: bytes, least: int) -> dict[Place, GrownPart]:
    """Let a thread for each room grow parts until no node is open; return them by where their nodes were left."""
    waiting = SimpleQueue[tuple[Place, bytes] | None]()
    waiting.put((ROOT, first))
    parts, n_waiting, counting, failures = dict[Place, GrownPart](), 1, new_lock(), list[BaseException]()

    def work(i: int) -> None:
        nonlocal n_waiting
        while not failures:
            try:
                taken = waiting.get(timeout=SECONDS)
            except Empty:
                continue
            if taken is None:
                return
            try:
                part = GrownPart(i, *grow_part(grower, rooms[i], rooms[0], taken[1], least))
            except BaseException:
                rooms[0].end()
                raise
            with counting:
                parts[taken[0]] = part
                n_waiting += len(part.opened) - 1
                over = n_waiting == 0
            for place, _, _, node in reversed(part.opened):  # the last one is the larger one, or below it
                waiting.put(((i, place), node))
            for _ in rooms if over else ():
                waiting.put(None)

    in_threads(work, len(rooms), len(rooms), failures=failures)
    return parts


def _pieces(parts: dict[Place, GrownPart]) -> list[GrownPiece]:
    """Return the pieces of all rooms in the order in which one thread would have written them."""
    pieces, rest = list[GrownPiece](), list[GrownPiece | GrownPart]([parts[ROOT]])
    while rest:
        part = rest.pop()
        if isinstance(part, GrownPiece):
            pieces.append(part)
            continue
        n_values, n_bits, last_values, last_bits = part.sizes
        below = list[GrownPiece | GrownPart]()
        for place, next_values, next_bits, _ in part.opened:
            below += [GrownPiece(part.room, slice(n_values, next_values), slice(n_bits, next_bits)), parts[part.room, place]]
            n_values, n_bits = next_values, next_bits
        below.append(GrownPiece(part.room, slice(n_values, last_values), slice(n_bits, last_bits)))
        rest += reversed(below)
    return pieces


def _together(rooms: list[GrownTree], parts: dict[Place, GrownPart], n_classes: int) -> GrownTree:
    """Put the parts of a tree together, and empty the list of what the rooms have of it."""
    pieces = _pieces(parts)
    to_values = _new_numbers([len(values) for _, values, _ in rooms], [(piece.room, piece.values) for piece in pieces])
    to_bits = _new_numbers([len(bits) for _, _, bits in rooms], [(piece.room, piece.bits) for piece in pieces])
    start = offsets_of(np.array([len(nodes) for nodes, _, _ in rooms]))
    for i, (nodes, _, _) in enumerate(rooms):
        _renumber(nodes, int(start[i]), n_classes, to_values[i], to_bits[i])
    nodes = np.concatenate([nodes for nodes, _, _ in rooms])
    values = np.concatenate([rooms[piece.room][1][piece.values] for piece in pieces])
    bits = np.concatenate([rooms[piece.room][2][piece.bits] for piece in pieces])
    rooms.clear()
    root = start[parts[ROOT].room] + parts[ROOT].node
    for (room, place), part in parts.items():
        if room >= 0:
            nodes[start[room] + place] = nodes[start[part.room] + part.node]
    return numbered(nodes, len(nodes) - len(parts) + 1, root), values, bits


def _renumber(
    nodes: npt.NDArray[Any], start: int, n_classes: int, to_values: npt.NDArray[np.uint32], to_bits: npt.NDArray[np.uint32]
) -> None:
    """Let the nodes of a room name the places that children, values and bits have in the tree; its nodes come from `start` on."""
    operands, inner, table = pairs(nodes), nodes["kind"] != LEAF, nodes["kind"] == SUBSET
    mixed = ~inner & (operands[:, 0] >= n_classes)  # the others name their class
    operands[mixed, 0] = n_classes + to_values[operands[mixed, 0] - n_classes]
    operands[table, 0] = to_bits[operands[table, 0]]
    nodes["child"][inner] += np.uint32(start)


def _new_numbers(sizes: list[int], order: list[tuple[int, slice]]) -> list[npt.NDArray[np.uint32]]:
    """Return the new numbers of rows of each room, which come in this order."""
    to = [np.zeros(size + 1, dtype=np.uint32) for size in sizes]  # nodes that were left open name row 0, also where there is none
    n = 0
    for room, rows in order:
        size = rows.stop - rows.start
        to[room][rows] = np.arange(n, n + size, dtype=np.uint32)
        n += size
    return to
