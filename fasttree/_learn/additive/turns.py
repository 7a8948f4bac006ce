"""The order in which threads work on bags.

The rounds of a bag end when its loss has not become better for some time.  Nobody knows before how many that are, and a long bag
that is begun last keeps one thread busy while the others wait.  So a turn is a few rounds, and the next turn is of the bag that
has waited least for a better loss: those that go on for long come first.  A bag knows nothing of the others, so that this order
changes no bit of the model.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar


class Course(Protocol):
    """What has turns."""

    number: int
    done: int
    patience: int

    @property
    def is_over(self) -> bool:
        """Whether it needs no more turns."""
        ...

    def fitted(self) -> Any:
        """Return what it found."""
        ...


C = TypeVar("C", bound=Course)


class Turns(Generic[C]):
    """Bags that threads take and give back.

    Parameters
    ----------
    begin : callable
        Function that begins the bag of a number.
    n_bags : int
    most_open : int
        Largest number of bags that are begun and not over, at least as many as threads.

    Attributes
    ----------
    found : dict
        What each bag found that is over, by its number.
    """

    def __init__(self, begin: Callable[[int], C], n_bags: int, most_open: int) -> None:
        self.begin, self.n_bags, self.most_open = begin, n_bags, most_open
        self.found: dict[int, Any] = {}
        self._waiting: list[tuple[int, int, int, C]] = []
        self._n_begun = 0
        self._lock = Lock()

    def take(self) -> C | None:
        """Return the bag whose turn it is; None if other threads have all that are left."""
        with self._lock:
            if self._n_begun == self.n_bags or self._n_begun - len(self.found) >= self.most_open:
                return heapq.heappop(self._waiting)[-1] if self._waiting else None
            number = self._n_begun
            self._n_begun += 1
        return self.begin(number)

    def give_back(self, bag: C) -> None:
        """Take back a bag after its turn."""
        if bag.is_over:
            fitted = bag.fitted()
            with self._lock:
                self.found[bag.number] = fitted
            return
        with self._lock:
            heapq.heappush(self._waiting, (-bag.patience, bag.done, bag.number, bag))
