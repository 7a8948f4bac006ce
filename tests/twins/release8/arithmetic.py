"""How the twin adds and rounds: the one thing that it takes as a choice.

Growing, pruning and classifying are written once.  They ask an arithmetic for sums over cases and for the few comparisons of
sums, and round by its `round`.  Sums come in a type of their own ("raw": float32, or integers), which `real` and `single` turn
into the numbers that are stored and that gains are computed from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .problem import Table

LN2 = math.log(2)
EPSILON = 0.001
GAP = 0.00001
EXACT_BITS = 61

Rows = NDArray[np.intp]


def logarithm(x: float) -> float:
    """lg x in double, 0 for x <= 0."""
    return math.log(x) / LN2 if x > 0 else 0.0


WHOLE = np.array([n * logarithm(n) for n in range(1 << 16)])
"""n lg n: counts are whole numbers nearly everywhere.  From the C library's logarithm, as NumPy's may round otherwise."""


def xlgx(x: NDArray[Any]) -> NDArray[np.float64]:
    """x lg x in double, elementwise."""
    whole = x.astype(np.intp)
    if (whole == x).all() and whole.max(initial=0) < len(WHOLE):
        return WHOLE[np.maximum(whole, 0)]
    return np.array([v * logarithm(v) for v in x.ravel().tolist()]).reshape(x.shape)


class Arithmetic(ABC):
    """Weights of the cases of one table, and sums of them."""

    round: type[np.float32] | type[np.float64]
    """Rounds what the original stores."""
    stored: type[np.float32] | type[np.float64]
    """Type of the numbers in nodes."""
    repeats_defects = False
    """Whether slips of the original that are no decisions of its author are repeated."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.weight = self.whole(len(table))

    @abstractmethod
    def whole(self, n: int) -> NDArray[Any]:
        """Weights of n whole cases."""

    def restart(self) -> None:
        """Every case is whole again."""
        self.weight = self.whole(len(self.table))

    def values(self, attribute: int) -> NDArray[Any]:
        """A continuous attribute, as this arithmetic stores it."""
        return self.table.columns[attribute].astype(self.stored)

    # sums

    @abstractmethod
    def total(self, rows: Rows) -> Any: ...

    @abstractmethod
    def by_class(self, rows: Rows, codes: Rows | None = None, n_codes: int = 1) -> NDArray[Any]:
        """Sums per class, (n_classes,), or per code of the case and class, (n_codes, n_classes)."""

    @abstractmethod
    def moved(self, rows: Rows, total: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Along `rows`: the class weights up to and with each case, those after it, and the weight up to and with it."""

    @abstractmethod
    def real(self, raw: Any) -> Any:
        """Sums as they are stored in nodes."""

    @abstractmethod
    def single(self, raw: Any) -> Any:
        """Sums as gains are computed from."""

    # comparisons of sums

    @abstractmethod
    def reaches(self, raw: Any, limit: float) -> Any: ...

    @abstractmethod
    def between(self, low: Any, known: Any, side: float) -> NDArray[np.bool_]:
        """Whether `low` of `known` leaves at least `side` on both sides."""

    # cases whose weight divides

    @abstractmethod
    def share(self, part: Any, known: Any) -> Any: ...

    @abstractmethod
    @contextmanager
    def divided(self, rows: Rows, share: Any) -> Iterator[None]:
        """The cases count with a share of their weight."""

    # order of the cases

    @abstractmethod
    def forward(self, rows: Rows, chosen: NDArray[np.bool_]) -> int:
        """Bring the chosen cases to the front of `rows`, in place; return how many they are."""

    @abstractmethod
    def sort(self, rows: Rows, values: NDArray[Any]) -> None:
        """Sort `rows` by the values of all cases, in place."""

    # measures

    def information(self, weights: NDArray[Any]) -> Any:
        """I(v) = S lg S - sum of v lg v along the last axis, bits x cases."""
        r = self.round
        part = total = np.zeros(weights.shape[:-1], r)
        terms = xlgx(weights)
        for k in range(weights.shape[-1]):
            part = r(part + terms[..., k])
            total = r(total + weights[..., k])
        return r(xlgx(total) - part)

    def running(self, terms: NDArray[Any]) -> Any:
        """Sum along the last axis, rounded at every step."""
        return np.add.accumulate(terms, axis=-1, dtype=self.round)[..., -1]

    def gain(self, base: Any, info: Any, known: Any, unknown: Any) -> Any:
        """(1 - unknown) (base - info / known), per case."""
        r = self.round
        return r(r(r(1) - unknown) * r(base - r(info / known)))


class Original(Arithmetic):
    """The original's: single precision, cases in the order in which it leaves them in memory."""

    round = np.float32
    stored = np.float32
    repeats_defects = True

    def whole(self, n: int) -> NDArray[Any]:
        return np.ones(n, np.float32)

    def total(self, rows: Rows) -> Any:
        return np.add.accumulate(self.weight[rows])[-1] if len(rows) else np.float32(0)

    def by_class(self, rows: Rows, codes: Rows | None = None, n_codes: int = 1) -> NDArray[Any]:
        sums = np.zeros((n_codes, self.table.n_classes), np.float32)
        np.add.at(sums, (0 if codes is None else codes, self.table.classes[rows]), self.weight[rows])
        return sums[0] if codes is None else sums

    def moved(self, rows: Rows, total: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        weight = self.weight[rows]
        steps = np.zeros((len(rows), self.table.n_classes), np.float32)
        steps[np.arange(len(rows)), self.table.classes[rows]] = weight
        left = np.add.accumulate(steps)
        right = np.subtract.accumulate(np.vstack([total, steps]))[1:]
        return left, right, np.add.accumulate(weight)

    def real(self, raw: Any) -> Any:
        return raw

    def single(self, raw: Any) -> Any:
        return raw

    def reaches(self, raw: Any, limit: float) -> Any:
        return raw >= limit

    def between(self, low: Any, known: Any, side: float) -> NDArray[np.bool_]:
        side = np.float32(side)
        return (low >= side) & (low <= known - side)

    def share(self, part: Any, known: Any) -> Any:
        return np.float32(part / known)

    @contextmanager
    def divided(self, rows: Rows, share: Any) -> Iterator[None]:
        rows = rows.copy()
        self.weight[rows] *= share
        yield
        self.weight[rows] /= share

    def forward(self, rows: Rows, chosen: NDArray[np.bool_]) -> int:
        if not self.table.has_missing:
            return stable_forward(rows, chosen)
        order = rows.tolist()
        front = 0
        for i in np.flatnonzero(chosen).tolist():
            order[front], order[i] = order[i], order[front]
            front += 1
        rows[:] = order
        return front

    def sort(self, rows: Rows, values: NDArray[Any]) -> None:
        if self.table.has_missing:
            rows[:] = quicksort(rows.tolist(), values[rows].tolist())
        else:
            rows[:] = rows[np.argsort(values[rows], kind="stable")]


class Engine(Arithmetic):
    """The engine's: exact sums of whole quanta, which no order changes; the original's roundings are applied to these sums."""

    round = np.float32
    stored = np.float64

    def __init__(self, table: Table) -> None:
        # a power of two such that no sum of weights overflows; where nothing divides, a case
        exponent = EXACT_BITS - int(np.frexp(float(len(table)))[1]) if table.has_missing else 0
        self.quanta = 1 << exponent
        super().__init__(table)

    def whole(self, n: int) -> NDArray[Any]:
        return np.full(n, self.quanta, np.int64)

    def total(self, rows: Rows) -> Any:
        return self.weight[rows].sum()

    def by_class(self, rows: Rows, codes: Rows | None = None, n_codes: int = 1) -> NDArray[Any]:
        sums = np.zeros((n_codes, self.table.n_classes), np.int64)
        np.add.at(sums, (0 if codes is None else codes, self.table.classes[rows]), self.weight[rows])
        return sums[0] if codes is None else sums

    def moved(self, rows: Rows, total: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        weight = self.weight[rows]
        steps = np.zeros((len(rows), self.table.n_classes), np.int64)
        steps[np.arange(len(rows)), self.table.classes[rows]] = weight
        left = np.add.accumulate(steps)
        return left, total - left, np.add.accumulate(weight)

    def real(self, raw: Any) -> Any:
        return np.float64(raw) / self.quanta

    def single(self, raw: Any) -> Any:
        return self.round(self.real(raw))

    def reaches(self, raw: Any, limit: float) -> Any:
        # a little slack: a sum that is meant to reach the limit may have been rounded down
        return self.real(raw) >= limit * (1 - 1e-12)

    def between(self, low: Any, known: Any, side: float) -> NDArray[np.bool_]:
        least = math.ceil(side * self.quanta * (1 - 1e-12))
        most = math.floor((self.real(known) - side) * self.quanta * (1 + 1e-12))
        return (least <= low) & (low <= most)

    def share(self, part: Any, known: Any) -> Any:
        return np.float64(part) / np.float64(known)

    @contextmanager
    def divided(self, rows: Rows, share: Any) -> Iterator[None]:
        rows = rows.copy()
        before = self.weight[rows]
        self.weight[rows] = np.maximum(np.rint(before * share).astype(np.int64), 1)
        yield
        self.weight[rows] = before

    def forward(self, rows: Rows, chosen: NDArray[np.bool_]) -> int:
        return stable_forward(rows, chosen)

    def sort(self, rows: Rows, values: NDArray[Any]) -> None:
        rows[:] = rows[np.argsort(values[rows], kind="stable")]


class Double(Engine):
    """Exact sums and nothing rounded to single precision: what a near-tie is worth."""

    round = np.float64


def stable_forward(rows: Rows, chosen: NDArray[np.bool_]) -> int:
    rows[:] = np.concatenate([rows[chosen], rows[~chosen]])
    return int(chosen.sum())


def quicksort(rows: list[int], values: list[float]) -> list[int]:
    """The rows in the order in which the original's sort leaves them: it is not stable, and the order of equal values shows.

    The last value is the pivot.  What is not above it is swapped forward; of that part, what equals it is swapped to the end,
    scanning backwards; then the pivot takes its place between the parts.
    """
    rows, values = rows.copy(), values.copy()

    def swap(i: int, j: int) -> None:
        rows[i], rows[j] = rows[j], rows[i]
        values[i], values[j] = values[j], values[i]

    parts = [(0, len(rows) - 1)]
    while parts:
        first, last = parts.pop()
        if first >= last:
            continue
        pivot = values[last]
        middle = first
        for i in range(first, last):
            if values[i] <= pivot:
                swap(middle, i)
                middle += 1
        high = middle - 1
        for i in range(high, first - 1, -1):
            if values[i] == pivot:
                swap(i, high)
                high -= 1
        swap(middle, last)
        parts += [(first, high), (middle + 1, last)]
    return rows
