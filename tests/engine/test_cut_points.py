"""Codes of bins by a linear grid (`columns/cut_points`), compiled by itself, against a binary search of the edges."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fasttree

HEADER = Path(fasttree.__file__).parent / "_engine" / "columns" / "cut_points.pxd"
WRAPPERS = """
int lay(fasttree_grid *grid, const float *values, int n) { return fasttree_lay_grid(grid, values, n); }
void code(const fasttree_grid *grid, const float *x, int stride, int n, uint8_t *out, int step)
{ fasttree_code_some(grid, (const char *) x, 4 * stride, n, out, step); }
int size(void) { return (int) sizeof(fasttree_grid); }
"""
ROWS = 256
TINY = np.float32(1e-45)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    found = re.search(r'cdef extern from \*:\n    """\n(.*?)"""', HEADER.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    folder = tmp_path_factory.mktemp("grid")
    (folder / "grid.c").write_text(found[1] + WRAPPERS, encoding="utf-8")
    command = [compiler, "-DCYTHON_UNUSED=", "-O2", "-shared", "-fPIC", "-w", "-o", "grid.so", "grid.c"]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return ctypes.CDLL(str(folder / "grid.so"))


def codes_of(grid: ctypes.CDLL, upper: np.ndarray, x: np.ndarray, stride: int, step: int) -> np.ndarray | None:
    """Codes by the grid, for the largest values of all bins but the last; None if edges are too close."""
    values = np.concatenate([np.zeros(1, np.float32), upper])
    made = ctypes.create_string_buffer(grid.size())
    if not grid.lay(made, values.ctypes.data_as(ctypes.c_void_p), len(values)):
        return None
    spread = np.zeros((len(x), stride), np.float32)
    spread[:, 0] = x
    out = np.zeros((len(x), step), np.uint8)
    for start in range(0, len(x), ROWS):
        rows, lane = spread[start:], out[start:]
        n = min(ROWS, len(x) - start)
        grid.code(made, rows.ctypes.data_as(ctypes.c_void_p), stride, n, lane.ctypes.data_as(ctypes.c_void_p), step)
    assert not out[:, 1:].any()  # neighbours' lanes are not touched
    return out[:, 0]


def expected(upper: np.ndarray, x: np.ndarray) -> np.ndarray:
    codes = np.searchsorted(upper + np.float32(0), x + np.float32(0), side="left") + 1
    return np.where(np.isnan(x), 0, codes)


SPECIAL = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, TINY, -TINY, 3.4e38, -3.4e38], np.float32)


def probes(upper: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Values at, just below and just above every edge, special ones, and others."""
    beside = [np.nextafter(upper, np.float32(sign * np.inf)) for sign in (1, -1)]
    return np.concatenate([upper, *beside, SPECIAL, more.astype(np.float32)])


@given(
    values=st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=2, max_size=254),
    more=st.lists(st.floats(width=32), max_size=50),
    stride=st.integers(1, 5),
    step=st.sampled_from([1, 8]),
)
def test_codes_are_those_of_a_binary_search(grid, values, more, stride, step):
    upper = np.unique(np.array(values, np.float32) + np.float32(0))
    x = probes(upper, np.array(more))
    codes = codes_of(grid, upper, x, stride, step)
    assert codes is None or np.array_equal(codes, expected(upper, x))


@pytest.mark.parametrize("kind", ["even", "normal", "cluster", "pairs", "steps", "denormal"])
@pytest.mark.parametrize("n_bins", [3, 20, 255])
def test_planted_edges_get_a_grid_unless_they_are_too_close(grid, kind, n_bins):
    rng = np.random.default_rng(n_bins)
    x = {
        "even": rng.random(5_000),
        "normal": rng.normal(size=5_000),
        "cluster": np.append(rng.normal(size=4_000) * 1e-6, [1.0, 2.0, 1e3]),
        "pairs": np.repeat(np.arange(2_500), 2) + np.tile([0, 1e-3], 2_500),
        "steps": rng.integers(-30, 30, 5_000),  # many equal values
        "denormal": rng.integers(-1_000, 1_000, 5_000) * float(TINY),
    }[kind].astype(np.float32)
    ordered = np.unique(x)
    upper = ordered[np.unique(np.linspace(0, len(ordered) - 2, n_bins - 1).astype(int))]
    some = probes(upper, x)
    codes = codes_of(grid, upper, some, 1, 1)
    if codes is None:
        assert kind in ("cluster", "denormal")
    else:
        assert np.array_equal(codes, expected(upper, some))
    assert (codes is not None) == (kind != "denormal" and (kind != "cluster" or n_bins == 3)) or n_bins == 3
