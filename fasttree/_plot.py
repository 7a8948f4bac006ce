"""Pictures, by matplotlib, which is imported when one is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CROWDED = 30  # subtrees, from which on marks and bars are drawn smaller
MANY = 200  # from which on they crowd together to the right, as what is chosen is seldom there


def plot_pruning_table(table: Bunch, ax: Axes | None) -> Axes:
    """Draw the errors of the subtrees of a sequence, from the root to the whole tree; see `BaseTree.plot_pruning_table`."""
    try:
        from matplotlib import pyplot, ticker
    except ModuleNotFoundError as absent:
        raise ImportError("plot_pruning_table draws with matplotlib: install it by pip install 'fasttree[plot]'") from absent
    if ax is None:
        _, ax = pyplot.subplots(layout="constrained")
    by_alpha = "ccp_alphas" in table
    labels = _alphas(table.ccp_alphas) if by_alpha else _short(np.maximum(table.critical_values, 0.0))
    labels, n_leaves = labels[::-1], table.n_leaves[::-1].tolist()
    error, deviation = table.xerror[::-1], table.xstd[::-1]
    first = 1 if len(labels) >= MANY else 0  # a logarithm knows no place 0
    place, last = np.arange(first, first + len(labels)), len(labels) - 1
    chosen, least = last - int(table.chosen), int(np.argmin(error))

    size = 5.0 if len(labels) < CROWDED else 3.0
    ax.errorbar(
        place, error, deviation, fmt="o-", color="C0", ecolor="0.6", elinewidth=1, capsize=size / 2, markersize=size, linewidth=1
    )
    limit = float(error[least] + deviation[least])
    ax.axhline(limit, linestyle="--", color="0.4", linewidth=1, label="least + 1 standard error")
    ax.plot(
        place[chosen],
        error[chosen],
        "o",
        markersize=size + 5,
        markerfacecolor="none",
        markeredgecolor="C3",
        markeredgewidth=1.5,
        label=f"chosen: {_counted(n_leaves[chosen])}",
    )
    if first:
        ax.set_xscale("log")
    ax.set_xlim(first - 0.5, first + last + 0.5)
    ax.set_xlabel("ccp_alpha (geometric means)" if by_alpha else "critical value")
    ax.set_ylabel("relative error")
    ax.legend(frameon=False, fontsize="small")
    top = ax.secondary_xaxis("top")
    top.set_xlabel("leaves")
    for axis, words in ((ax.xaxis, labels), (top.xaxis, list(map(str, n_leaves)))):
        axis.set_major_locator(
            ticker.LogLocator(subs=(1, 3)) if first else ticker.MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10])
        )
        axis.set_major_formatter(ticker.FuncFormatter(_at_places(words, first)))
        axis.set_minor_locator(ticker.NullLocator())
    return ax


def _alphas(steps: npt.NDArray[np.float64]) -> list[str]:
    """A subtree is the best for an interval of alpha, whose ends' geometric mean stands for it; the root's has no end."""
    return [*_short(np.sqrt(steps[:-1] * steps[1:])), "∞"]


def _short(numbers: npt.NDArray[np.float64]) -> list[str]:
    return [f"{number:.2g}".replace("e-0", "e-").replace("e+0", "e+") for number in numbers]


def _counted(n_leaves: int) -> str:
    return f"{n_leaves:,} {'leaf' if n_leaves == 1 else 'leaves'}"


def _at_places(words: list[str], first: int) -> Callable[[float, int | None], str]:
    """Label of a place on an axis: the word of an integer from the first place on, nothing elsewhere."""
    return lambda place, _: words[round(place) - first] if round(place, 6) in range(first, first + len(words)) else ""
