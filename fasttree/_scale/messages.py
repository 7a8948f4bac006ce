"""What the driver of a growth asks the shards of a table, and what they reply.

The replies of some shards and those of others combine into the reply of all: numbers are added, and the most extreme keys are
kept.  So neither the order of the shards nor the order of combination matters.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

LAST_KEY = 2**64 - 1
N_CODES = 256  # in tiles, with 0 for missing values; features of more categories have columns of codes


class Route(NamedTuple):
    """A split into two branches, by which every shard routes the rows of a node."""

    node: int
    first_child: int
    feature: int
    key: int  # of a continuous feature: the last one of branch 0
    missing: int  # branch of missing values
    sides: npt.NDArray[np.uint8] | None  # (n_codes,): branch of each code; None: by key

    @property
    def finds_neighbours(self) -> bool:
        """Whether the values next to the cut are found by routing."""
        return self.sides is None


class Ranges(NamedTuple):
    """Ranges of keys of one feature, ascending, that are divided into equal parts; cell i has the keys of (low, high]."""

    low: Keys  # (n,)
    high: Keys  # (n,)
    shift: npt.NDArray[np.int32]  # (n,): bits of a part
    first: Counts  # (n,): index of the first part
    start: npt.NDArray[np.int32]  # (257,): by code, index of its first cell
    n_parts: int  # of all cells


class Question(NamedTuple):
    """Ranges of a feature in a node."""

    node: int
    feature: int
    cells: Ranges


@dataclass
class Requests:
    """What one round asks, by nodes.

    Parameters
    ----------
    since : int
        Splits from this one on report the values next to their cut.
    count : list of int
        Nodes whose histograms are counted.
    divide : list of Question
    sums : list of int
        Nodes whose targets are summed.
    deviate : list of (int, float)
        Nodes, and the means from which their targets deviate.
    """

    since: int = 0
    count: list[int] = field(default_factory=list)
    divide: list[Question] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    deviate: list[tuple[int, float]] = field(default_factory=list)


@dataclass
class Reply:
    """The answers to `Requests`, in their order, about the rows of some shards.

    Parameters
    ----------
    below, above : uint64 arrays of shape (n_splits,)
        The largest key of branch 0, and the smallest of branch 1.
    counts : int64 array of shape (n_counted, n_cells, width)
    parts : int64 array of shape (n_parts of all questions, width)
    least, most : uint64 arrays of shape (n_parts,)
        The smallest and the largest key of each part.
    sums : int64 array of shape (n_summed, 2)
    y_least, y_most : float64 arrays of shape (n_summed,)
    deviations : int64 array of shape (n_deviating, 2)
    """

    below: Keys
    above: Keys
    counts: Counts
    parts: Counts
    least: Keys
    most: Keys
    sums: Counts
    y_least: Floats
    y_most: Floats
    deviations: Counts


def empty_reply(requests: Requests, n_splits: int, n_cells: int, width: int) -> Reply:
    """Return the reply of a shard without rows."""
    n_parts = sum(question.cells.n_parts for question in requests.divide)
    return Reply(
        below=np.zeros(n_splits - requests.since, dtype=np.uint64),
        above=np.full(n_splits - requests.since, LAST_KEY, dtype=np.uint64),
        counts=np.zeros((len(requests.count), n_cells, width), dtype=np.int64),
        parts=np.zeros((n_parts, width), dtype=np.int64),
        least=np.full(n_parts, LAST_KEY, dtype=np.uint64),
        most=np.zeros(n_parts, dtype=np.uint64),
        sums=np.zeros((len(requests.sums), 2), dtype=np.int64),
        y_least=np.full(len(requests.sums), np.inf),
        y_most=np.full(len(requests.sums), -np.inf),
        deviations=np.zeros((len(requests.deviate), 2), dtype=np.int64),
    )


def reply_bytes(requests: Requests, n_cells: int, width: int) -> int:
    """Return about how many bytes a reply has."""
    n_parts = sum(question.cells.n_parts for question in requests.divide)
    return 8 * (len(requests.count) * n_cells * width + n_parts * (width + 2))


def combine(total: Reply, more: Reply) -> Reply:
    """Add a reply to another one, in its place, and return it."""
    for numbers in ("counts", "parts", "sums", "deviations"):
        array = getattr(total, numbers)
        np.add(array, getattr(more, numbers), out=array)
    for smallest in ("above", "least", "y_least"):
        array = getattr(total, smallest)
        np.minimum(array, getattr(more, smallest), out=array)
    for largest in ("below", "most", "y_most"):
        array = getattr(total, largest)
        np.maximum(array, getattr(more, largest), out=array)
    return total
