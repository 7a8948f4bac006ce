"""Colours of leaves, and the scale that explains them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._explain.pictures.colours import CERTAIN, ERROR
from fasttree._explain.pictures.style import Style
from fasttree._model.words import Words, percent

__all__ = ["IMPURITY_NAMES", "ColourScale", "Fills", "figure_text", "fills_of"]

IMPURITY_NAMES = {
    "gini": "Gini",
    "entropy": "entropy",
    "misclassification": "error",
    "squared_error": "variance",
    "absolute_error": "mean absolute deviation",
    "poisson": "half deviance",
    "fifth_root": "fifth root of the variance",
}


def figure_text(figure: float) -> str:
    """Write a figure with three digits, and separators of thousands."""
    return f"{figure:,.0f}" if 1000 <= abs(figure) < 1e12 else f"{figure:.3g}"


@dataclass(frozen=True)
class ColourScale:
    """A legend of one colour, from pale to full."""

    heading: str
    low: str
    high: str
    colour: str


@dataclass(frozen=True)
class Fills:
    """The colour and opacity of a leaf by its node, and the scale to be explained; None: the legend names the classes."""

    of: Callable[[int], tuple[str, float]]
    scale: ColourScale | None


def fills_of(words: Words, style: Style) -> Fills:
    """Return the colours of leaves in a style."""
    if style.color_by == "error":
        return _by_error(words, style)
    if not words.labels:
        return _by_mean(words, style)
    by = {"probability": _by_probability, "lift": _by_lift}
    return by.get(style.color_by or "class", _by_class)(words, style)


def _shades(figures: npt.NDArray[Any], low: float, high: float, colour: str, style: Style) -> Callable[[int], tuple[str, float]]:
    """Return the colour of a node by its figure, on a scale."""
    span = (high - low) or 1.0
    return lambda node: (colour, style.opacity(colour, (float(figures[node]) - low) / span))


def _by_mean(words: Words, style: Style) -> Fills:
    means = words.tree.value[:, 0]
    low, high = words.mean(int(means.argmin()), 0), words.mean(int(means.argmax()), 0)
    # without a name of the target, the scale would explain nothing that the leaves do not say
    scale = ColourScale(words.targets[0], low, high, style.numeric) if words.targets[0] else None
    return Fills(_shades(means, float(means.min()), float(means.max()), style.numeric, style), scale)


def _by_class(words: Words, style: Style) -> Fills:
    """By the class of the first target: full if the leaf is pure, pale if the class is as likely as any other."""
    tree, columns = words.tree, words.columns[0]
    shares, labels = tree.predict_nodes(), tree.predicted_classes
    chance = 1 / (columns.stop - columns.start)

    def fill(node: int) -> tuple[str, float]:
        label = int(columns.start + labels[node, 0])
        sure = (float(shares[node, label]) - chance) / (1 - chance) if chance < 1 else 1.0
        return style.colour(label), style.opacity(style.colour(label), sure if tree.weight[node] > 0 else 0.0)

    return Fills(fill, None)


def _by_probability(words: Words, style: Style) -> Fills:
    """By the probability of the second of two classes, in its colour, or else of the predicted class, in a grey."""
    shares, label, what, colour = _judged_class(words, style)
    scale = ColourScale(f"probability of {what}", "0 %", "100 %", colour)
    return Fills(_shades(shares[np.arange(len(shares)), label], 0.0, 1.0, colour, style), scale)


def _by_lift(words: Words, style: Style) -> Fills:
    """By the same probability as a multiple of that at the root.

    Raises
    ------
    ValueError
        If the class is absent at the root.
    """
    shares, label, what, colour = _judged_class(words, style)
    at_root = shares[0, label]
    if not at_root.all():
        raise ValueError(f"color_by='lift': the root has no samples of class {what}; use 'probability'")
    lift = shares[np.arange(len(shares)), label] / at_root
    scale = ColourScale(f"lift of {what}", "0", f"{lift.max():.3g}", colour)
    return Fills(_shades(lift, 0.0, float(lift.max()), colour, style), scale)


def _judged_class(words: Words, style: Style) -> tuple[npt.NDArray[Any], npt.NDArray[Any], str, str]:
    """Return the probabilities at each node, the class to judge there, its name, and its colour."""
    tree, columns = words.tree, words.columns[0]
    shares = tree.predict_nodes()[:, columns]
    if shares.shape[1] == 2:
        second = columns.start + 1
        return shares, np.ones(len(shares), dtype=np.intp), words.labels[second], style.colour(second)
    return shares, tree.predicted_classes[:, 0], "the predicted class", CERTAIN


def _by_error(words: Words, style: Style) -> Fills:
    """By the share of other classes than the predicted one, or by the deviation of the targets from the mean."""
    tree = words.tree
    colour = ERROR if style.theme != "print" else style.numeric
    if words.labels:
        columns = words.columns[0]
        shares = tree.predict_nodes()[:, columns]
        figures = np.where(tree.weight > 0, 1 - shares[np.arange(len(shares)), tree.predicted_classes[:, 0]], 0.0)
        high, heading = float(figures.max()), "error"
        text = percent(high)
    else:
        is_variance = style.impurity in ("", "squared_error")
        figures = np.sqrt(np.maximum(tree.impurity, 0.0)) if is_variance else tree.impurity
        high, heading = float(figures.max()), "standard deviation" if is_variance else IMPURITY_NAMES[style.impurity]
        text = figure_text(high)
    return Fills(_shades(figures, 0.0, high, colour, style), ColourScale(heading, "0", text, colour))
