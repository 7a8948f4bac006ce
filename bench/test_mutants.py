"""Mutants change one operator when their number is chosen, and nothing otherwise."""

import ast
from pathlib import Path

import pytest

from .mutants import cython_sources, python_sources
from .mutants.places import Chosen

SOURCE = '''
LIMIT = 1 + 1


def first(values, least, found=2 - 1):
    """The place of the first value that is large enough."""
    at: int | None = 0
    for value in values:
        if value >= least and found:
            break
        at += 1
    return max(at, 0)
'''
HEADER = """
cdef enum:
    SIZE = 4 + 1


cdef inline int32_t first(const entry_t* values, int32_t n, entry_t least) noexcept nogil:
    cdef int32_t[SIZE + 1] spare
    cdef int32_t last = n - 1
    cdef int32_t at
    if entry_t is uint32_t and n > 1:
        spare[0] = 0
    for at in range(n):
        if 0 <= values[at] < least:
            continue
        return min(at, last)
    return -1
"""


@pytest.mark.parametrize(
    ("change", "answer"),
    [(None, 2), (">= -> >", 3), (">= -> <", 0), ("and -> or", 0), ("break -> pass", 4), ("+= -> -=", 0), ("max -> min", 0)],
)
def test_a_mutant_changes_one_operator_of_a_python_file(tmp_path: Path, change: str | None, answer: int) -> None:
    path = tmp_path / "searching.py"
    path.write_text(SOURCE)
    mutants = python_sources.mutants_of(path, tmp_path)
    python_sources.rewrite(path, tmp_path, Chosen(mutants))
    chosen = [number for number, mutant in enumerate(mutants, start=1) if mutant.change == change]
    names = {"fasttree_is": lambda number: number in chosen}
    exec(compile(ast.parse(path.read_text()), path, "exec"), names)
    assert len(chosen) == (change is not None)
    assert names["first"]([1, 2, 3, 4], 3) == answer
    assert not any("|" in mutant.change for mutant in mutants)


def test_mutants_of_headers_are_in_bodies_and_leave_types_alone(tmp_path: Path) -> None:
    path = tmp_path / "searching.pxd"
    path.write_text(HEADER)
    found = {(mutant.line, mutant.change) for mutant in cython_sources.mutants_of(path, tmp_path)}
    of_last = {(8, "- 1 -> nothing"), (8, "- 1 -> + 1"), (8, "- 1 -> - 2")}
    of_range = {(13, "<= -> <"), (13, "<= -> >"), (13, "second < -> <="), (13, "second < -> >=")}
    assert found == of_last | of_range | {(14, "continue -> pass"), (15, "min -> max")}
