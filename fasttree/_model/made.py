"""Sequences whose entries are made when they are asked for, such as the trees of a forest as estimators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Made(Sequence[T_co], Generic[T_co]):
    """A sequence whose entries are made by a function of their number.

    Parameters
    ----------
    make : callable
    n : int
    """

    def __init__(self, make: Callable[[int], T_co], n: int) -> None:
        self._make, self._n = make, n

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, i: int) -> T_co: ...

    @overload
    def __getitem__(self, i: slice) -> list[T_co]: ...

    def __getitem__(self, i: int | slice) -> T_co | list[T_co]:
        numbers = range(self._n)[i]
        return self._make(numbers) if isinstance(numbers, int) else [self._make(number) for number in numbers]

    def __repr__(self) -> str:
        return f"<{self._n} entries, each made when it is asked for>"
