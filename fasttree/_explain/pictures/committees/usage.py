"""How much rules with linear models use each feature, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fasttree._explain.pictures.colours import class_colour
from fasttree._model.committees.committee import Committee
from fasttree._model.words import check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = ["plot_usage", "usage_of"]

Floats = npt.NDArray[np.float64]

WIDTH, BAR, MARGIN = 6.4, 0.42, 1.0  # inches


def usage_of(committee: Committee, n_features: int) -> tuple[Floats, Floats]:
    """Return the share of each feature in conditions, and in models, each of shape (n_features,).

    A rule counts as many samples as it covers.  A share is the part of these in rules that have a condition on the feature, or a
    term of it.
    """
    conditions, models, total = np.zeros(n_features), np.zeros(n_features), 0
    for rule in committee.rules():
        conditions[sorted({condition.index for condition in rule.conditions})] += rule.cover
        models[[feature for feature, _ in rule.terms]] += rule.cover
        total += rule.cover
    return conditions / max(total, 1), models / max(total, 1)


def plot_usage(conditions: Floats, models: Floats, names: Sequence[str], max_features: int, ax: Axes | None) -> Axes:
    """Draw two bars for each feature, the largest sum first, without those that no rule uses."""
    check_count("max_features", max_features, 1)
    order = np.argsort(-(conditions + models), kind="stable")[: int(max_features)]
    order = order[(conditions + models)[order] > 0]
    if ax is None:
        ax = _pyplot().subplots(figsize=(WIDTH, MARGIN + BAR * max(order.size, 1)), layout="constrained")[1]
    places = np.arange(order.size)
    for k, (label, shares) in enumerate([("in conditions", conditions), ("in models", models)]):
        ax.barh(places + 0.4 * (k - 0.5), 100 * shares[order], 0.36, color=class_colour(k), label=label)
    ax.set_yticks(places, [names[feature] for feature in order.tolist()], parse_math=False)
    ax.set_ylim(max(order.size, 1) - 0.4, -0.6)
    ax.set_xlim(0, 100)
    ax.set_xlabel("samples of rules, %")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot_usage needs matplotlib: pip install 'fasttree[plot]'") from error
    return pyplot
