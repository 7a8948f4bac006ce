"""Mutants as values, and the numbers by which a build knows those that it holds."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, order=True)
class Mutant:
    """A change of one operator: its place, the kind of its node, and what replaces it."""

    path: str
    line: int
    column: int
    change: str

    @property
    def place(self) -> str:
        """The file and the number of the line, from 1."""
        return f"{self.path}:{self.line}"

    @property
    def folder(self) -> str:
        """The folder, or the file where it lies in none of the engine's chapters."""
        parts = Path(self.path).parts
        return "/".join(parts[1:3] if len(parts) == 3 else parts[1:-1])


class Chosen:
    """Which mutants a build holds, each with its number; without numbers, all that are met are noted in `found`."""

    def __init__(self, mutants: Iterable[Mutant] | None) -> None:
        self.numbers = None if mutants is None else {mutant: number for number, mutant in enumerate(mutants, start=1)}
        self.found: list[Mutant] = []

    def number(self, mutant: Mutant) -> int:
        """Return the number of a mutant, or 0 where the build does not hold it."""
        if self.numbers is None:
            self.found.append(mutant)
            return 0
        return self.numbers.get(mutant, 0)


COMPARISONS = {"<=": ("<", ">"), ">=": (">", "<"), "<": ("<=", ">="), ">": (">=", "<="), "==": ("!=",), "!=": ("==",)}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "&": "|", "|": "&"}
EXTREMES = {"min": "max", "max": "min"}
