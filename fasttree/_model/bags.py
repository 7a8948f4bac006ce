"""Bags: the samples that each tree of a forest draws.

The draws of a tree follow from the seed of the forest and the number of the tree alone.  A forest is therefore the same for every
number of threads, and its first trees are those of a smaller forest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_PURPOSES = {"bag": 0, "growth": 1, "permutation": 2}  # each has random numbers of its own
_LAST_OF_16_BITS = 65_535
_DRAWS_AT_ONCE = 2**16  # little memory beside that of a tree


def _same(one: npt.NDArray[np.integer] | None, other: npt.NDArray[np.integer] | None) -> bool:
    return one is other if one is None or other is None else np.array_equal(one, other)


def stream(seed: int, tree: int, purpose: str) -> np.random.Philox:
    """Return the random numbers of a tree (Philox: Salmon et al. 2011), which are the same with every version of NumPy."""
    key = np.array([seed, tree], dtype=np.uint64)
    return np.random.Philox(key=key, counter=np.array([0, 0, 0, _PURPOSES[purpose]], dtype=np.uint64))


def seed_of_growth(seed: int, tree: int) -> int:
    """Return the seed of the features that the nodes of a tree draw, below 2**63."""
    return int(stream(seed, tree, "growth").random_raw()) >> 1


@dataclass(frozen=True, eq=False)
class Bags:
    """The plan of the draws of a forest.  The draws are positions of rows: another order of the rows gives other bags.

    Parameters
    ----------
    seed : int
    n_samples : int
    n_drawn : int or None, default None
        Samples in a bag; None: every sample once.  With `classes`, draws of each class.
    replaces : bool, default True
        Whether a sample may be drawn several times.
    rows : array of intp or None, default None
        Samples to draw from; None: all.
    classes : array or None, default None
        Class of each sample, if each class is drawn equally often (Chen, Liaw and Breiman 2004).
    """

    seed: int
    n_samples: int
    n_drawn: int | None = None
    replaces: bool = True
    rows: npt.NDArray[np.intp] | None = None
    classes: npt.NDArray[np.integer] | None = None

    def __eq__(self, other: object) -> bool:
        """Return whether the trees have the same bags."""
        if not isinstance(other, Bags):
            return NotImplemented
        plain = ("seed", "n_samples", "n_drawn", "replaces")
        return all(getattr(self, name) == getattr(other, name) for name in plain) and all(
            _same(getattr(self, name), getattr(other, name)) for name in ("rows", "classes")
        )

    @property
    def weight(self) -> int:
        """Draws of a bag."""
        sizes = self._sizes()
        if self.n_drawn is None:
            return sum(sizes)
        return sum(self.n_drawn if self.replaces else min(self.n_drawn, size) for size in sizes)

    @property
    def n_different(self) -> float:
        """Different samples of a bag, on average."""
        if self.n_drawn is None or not self.replaces:
            return float(self.weight)
        return sum(size * -math.expm1(self.n_drawn * math.log1p(-1 / size)) if size > 1 else 1.0 for size in self._sizes())

    def _sizes(self) -> list[int]:
        return [self.n_samples if rows is None else len(rows) for rows in self._groups()]

    def counts(self, tree: int) -> npt.NDArray[np.integer]:
        """Return how often a tree has drawn each sample; uint16 (n_samples,), or uint32 if one was drawn more often."""
        if self.n_drawn is None and self.rows is None:
            return np.ones(self.n_samples, dtype=np.uint16)
        random, groups = stream(self.seed, tree, "bag"), self._groups()
        if len(groups) == 1 and groups[0] is None:
            return _narrow(self._draw(random, self.n_samples))
        counts = np.zeros(self.n_samples, dtype=np.uint32)
        for rows in groups:
            assert rows is not None
            counts[rows] = self._draw(random, len(rows))
        return _narrow(counts)

    def _groups(self) -> list[npt.NDArray[np.intp] | None]:
        """Return the rows that are drawn equally often: all, or those of each class that occurs."""
        if self.classes is None:
            return [self.rows]
        rows = np.arange(self.n_samples) if self.rows is None else self.rows
        classes = self.classes[rows]
        return [rows[classes == code] for code in np.unique(classes)]

    def _draw(self, random: np.random.Philox, n_rows: int) -> npt.NDArray[np.uint32]:
        """Return how often each of some rows is drawn."""
        if self.n_drawn is None:
            return np.ones(n_rows, dtype=np.uint32)
        if self.replaces:
            counts = np.zeros(n_rows, dtype=np.uint32)
            for start in range(0, self.n_drawn, _DRAWS_AT_ONCE):
                n_drawn = min(_DRAWS_AT_ONCE, self.n_drawn - start)
                numbers = (random.random_raw(n_drawn) >> np.uint64(11)) * (n_rows * 2.0**-53)
                np.add.at(counts, np.minimum(numbers.astype(np.intp), n_rows - 1), np.uint32(1))
            return counts
        if self.n_drawn >= n_rows:
            return np.ones(n_rows, dtype=np.uint32)
        drawn = np.zeros(n_rows, dtype=np.uint32)
        drawn[np.argpartition(random.random_raw(n_rows), self.n_drawn)[: self.n_drawn]] = 1
        return drawn


def _narrow(counts: npt.NDArray[np.uint32]) -> npt.NDArray[np.integer]:
    return counts.astype(np.uint16) if counts.max() <= _LAST_OF_16_BITS else counts
