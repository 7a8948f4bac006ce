"""Picture of exact.md: python docs/exact.py, from the folder of the sources; needs the extra `test`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from matplotlib import pyplot
from matplotlib.axes import Axes

PICTURE = "docs/exact.svg"
N_SAMPLES, N_BINS = 6000, 40

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.intp]
Bounds = Callable[[Floats, Counts], Floats]


def gains(n_left: Counts, sum_left: Floats, n: int, total: float) -> Floats:
    """Return the reduction of the squared error, 0 if a side is empty; for classes 0 and 1, it is half of Gini's."""
    off: Floats = sum_left - n_left * total / n
    gain: Floats = off**2 * n / np.maximum(n_left * (n - n_left), 1)
    return gain


def class_bounds(y: Floats, ends: Counts) -> Floats:
    """Bound the gain in each bin by the larger gain of all its ones, or all its zeros, on the left."""
    sums = np.r_[0, np.cumsum(y)]
    before, ones = sums[ends[:-1]], np.diff(sums[ends]).astype(np.intp)
    zeros = np.diff(ends) - ones
    n, total = len(y), float(y.sum())
    return np.maximum(gains(ends[:-1] + ones, before + ones, n, total), gains(ends[:-1] + zeros, before, n, total))


def moment_bounds(y: Floats, ends: Counts) -> Floats:
    """Bound the gain in each bin by the larger gain of its ends and the spread of targets around the line between them."""
    n, total = len(y), float(y.sum())
    at_ends = gains(ends, np.r_[0, np.cumsum(y)][ends], n, total)
    first, last = ends[:-1], ends[1:]
    size = last - first
    squares = np.array([((y[a:b] - y[a:b].mean()) ** 2).sum() for a, b in zip(first, last, strict=True)])
    narrow = np.minimum(first * (n - first), last * (n - last))
    room = np.minimum(size**2 / (last * (n - first)), np.where(narrow > 0, size**2 / 4 / np.maximum(narrow, 1), np.inf))
    bounds: Floats = (np.sqrt(np.maximum(at_ends[:-1], at_ends[1:])) + np.sqrt(squares / size * n * room)) ** 2
    return bounds


def draw_search(ax: Axes, y: Floats, bounds_of: Bounds, factor: float) -> None:
    """Draw the gains of all cuts of a feature, those at the ends of bins, the bounds, and the bins that are searched."""
    n = len(y)
    ends = np.linspace(0, n, N_BINS + 1).astype(np.intp)
    every = factor * gains(np.arange(1, n), np.cumsum(y)[:-1], n, y.sum())
    bounds = factor * bounds_of(y, ends)
    known = every[ends[1:-1] - 1].max()
    looked_into = bounds >= known
    for first, last in zip(ends[:-1][looked_into], ends[1:][looked_into], strict=True):
        ax.axvspan(first, last, color="#f6d08a", linewidth=0)
    ax.axvspan(0, 0, color="#f6d08a", linewidth=0, label="bins that are searched")
    ax.stairs(bounds, ends, color="#c44e00", linewidth=1.2, label="bound of each bin")
    ax.plot(np.arange(1, n), every, color="#1f5fa8", linewidth=0.9, label="gain of every cut")
    ax.plot(ends[1:-1], every[ends[1:-1] - 1], "o", color="#1f5fa8", markersize=3.2, label="gain at the end of a bin")
    ax.axhline(known, color="black", linestyle="--", linewidth=0.9, label="best gain known")
    best = int(every.argmax())
    ax.plot(best + 1, every[best], "*", color="black", markersize=9, label="best cut")
    ax.text(0.02, 0.97, f"{looked_into.sum()} of {N_BINS} bins", transform=ax.transAxes, va="top", color="#8a5a00")
    ax.set_xlim(0, n)
    ax.set_ylim(0, 1.3 * known)
    ax.set_xlabel("samples on the left of the cut")


def draw() -> None:
    """Draw the search of one feature in one node, for two classes and for numbers."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=N_SAMPLES))
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    classes = (rng.random(N_SAMPLES) < np.select([x < -0.4, x < 0.35], [0.2, 0.35], 0.6)).astype(float)
    numbers = np.sin(1.6 * x) + rng.normal(size=N_SAMPLES) * 0.8
    draw_search(axes[0], classes, class_bounds, 2.0)
    draw_search(axes[1], numbers, moment_bounds, 1.0)
    axes[0].set_title("two classes (Gini)")
    axes[1].set_title("regression (squared error)")
    axes[0].set_ylabel("gain × samples of the node")
    figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, frameon=False, fontsize="small", loc="outside lower center")
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    pyplot.rcParams["svg.hashsalt"] = "fasttree"  # the same file each time
    draw()
