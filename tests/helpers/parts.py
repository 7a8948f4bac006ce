"""Threads of a tree that grow its parts together, however the system runs them."""

import threading
from typing import Any

from fasttree._learn.grow import drawn_parts

SECONDS = 20  # that a thread waits for another one


class PartsTogether:
    """Grows parts of trees, which begin together where two nodes of a tree are open.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
        What puts this in the place of the function that grows a part.

    Attributes
    ----------
    rooms : dict
        For the first room of each tree, the rooms whose threads had one of two open nodes.
    """

    def __init__(self, monkeypatch: Any) -> None:
        self.rooms: dict[Any, set[Any]] = {}
        self._n_open: dict[Any, int] = {}
        self._grow_part, self._came = drawn_parts.grow_part, threading.Condition()
        monkeypatch.setattr(drawn_parts, "grow_part", self)

    def __call__(self, grower: Any, room: Any, first: Any, *given: Any) -> Any:
        with self._came:
            rooms = self.rooms.setdefault(first, set())
            if self._n_open.setdefault(first, 1) > 1:
                rooms.add(room)
                self._came.notify_all()
                self._came.wait_for(lambda: len(rooms) > 1, SECONDS)
                self.check(room is first)
        *place, opened = self._grow_part(grower, room, first, *given)
        with self._came:
            self._n_open[first] += len(opened) - 1
        return *place, opened

    def check(self, first: bool) -> None:
        """Do nothing: a test may let the first thread fail, or another one."""

    def all_shared(self) -> bool:
        """Whether there were trees, and several threads grew parts of each."""
        return bool(self.rooms) and all(len(rooms) > 1 for rooms in self.rooms.values())
