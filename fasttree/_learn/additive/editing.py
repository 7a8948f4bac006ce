"""Changes of a shape by hand: scores of the user's choice, and monotone stretches."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.checks import is_list, is_number
from fasttree._data.schema import Kind, Schema
from fasttree._model.additive.model import Term


class Output(NamedTuple):
    """A score that is changed: its number, and words for it if there are several."""

    number: int
    words: str = ""


def with_score(term: Term, schema: Schema, where: Any, score: float, output: Output) -> Term:
    """Return the term with a score for some bins, and the words of the change."""
    if not np.isfinite(score):
        raise ValueError(f"score={score!r}: must be finite")
    bins, words = _bins_at(term, schema, where)
    scores = term.scores.copy()
    scores[output.number, bins] = score
    return term.with_scores(scores, f"{words}: score {score!r}{output.words}")


def with_order(term: Term, schema: Schema, direction: int, where: Any, output: Output) -> Term:
    """Return the term with scores that do not fall (1) or do not rise (-1), and the words of the change."""
    feature = schema.features[term.features[0]]
    if direction not in (1, -1):
        raise ValueError(f"direction={direction!r}: must be 1, for scores that do not fall, or -1, for scores that do not rise")
    if feature.kind == Kind.NOMINAL:
        raise ValueError(f"{feature.name!r} is nominal: its categories have no order")
    if where is None:
        bins, words = np.arange(1, term.axes[0].n_bins), "all values"
    elif feature.kind == Kind.ORDINAL:
        raise ValueError(f"where={where!r}: must be None for {feature.name!r}, which has categories")
    else:
        bins, words = _bins_at(term, schema, where)
    scores = term.scores.copy()
    weight = np.maximum(term.weight[bins], 1e-9 * max(float(term.weight.sum()), 1e-300))
    scores[output.number, bins] = direction * _isotonic(direction * scores[output.number, bins], weight)
    what = "does not fall" if direction > 0 else "does not rise"
    return term.with_scores(scores, f"{words}: {what}{output.words}")


def _bins_at(term: Term, schema: Schema, where: Any) -> tuple[NDArray[np.intp], str]:
    """Return the bins that a user means, and words for them."""
    axis = term.axes[0]
    feature = schema.features[axis.feature]
    if where is None:
        return np.array([0]), "missing values"
    if feature.categories is not None:
        given = list(where) if is_list(where) else [where]
        strangers = [category for category in given if category not in feature.categories]
        if strangers or not given:
            raise ValueError(f"where={where!r}: must list categories of {feature.name!r}, or be None for missing values")
        return np.array([feature.categories.index(category) + 1 for category in given]), ", ".join(map(str, given))
    if not (is_list(where) and len(where) == 2 and all(map(is_number, where)) and where[0] < where[1]):
        raise ValueError(f"where={where!r}: must be two ascending numbers for {feature.name!r}, or None for missing values")
    assert axis.cuts is not None
    low, high = float(where[0]), float(where[1])
    # the outer bins have no end of their own: they belong to a range that passes their cut
    after = np.concatenate([axis.cuts[:1] > low, axis.cuts >= low])
    before = np.concatenate([axis.cuts <= high, axis.cuts[-1:] < high])
    inside = after & before if len(axis.cuts) else np.ones(1, bool)
    bins = np.flatnonzero(inside) + 1
    if not len(bins):
        raise ValueError(f"where={where!r}: no bin of {feature.name!r} lies in this range; its cuts are {_few(axis.cuts)}")
    return bins, axis.interval(int(bins[0]), int(bins[-1]), "")


def _few(cuts: NDArray[np.float64]) -> str:
    shown = [f"{cut:g}" for cut in cuts[:20].tolist()]
    return ", ".join(shown) + (", ..." if len(cuts) > 20 else "")


def _isotonic(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest values that do not fall, by pooling neighbours that do (Ayer et al. 1955)."""
    pools: list[list[float]] = []  # mean, weight, number
    for value, each in zip(values.tolist(), weight.tolist(), strict=True):
        pools.append([value, each, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, heavy, number = pools.pop()
            last = pools[-1]
            total = last[1] + heavy
            pools[-1] = [(last[0] * last[1] + mean * heavy) / total, total, last[2] + number]
    return np.repeat([pool[0] for pool in pools], [int(pool[2]) for pool in pools])
