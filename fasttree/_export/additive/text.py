"""An additive model as text: the intercept, and for each term what its runs of equal scores add."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fasttree._data.schema import Schema
from fasttree._export.additive.subject import AdditiveSubject, runs_of
from fasttree._model.additive.model import Axis, Term
from fasttree._model.words import counted, name_text, word

__all__ = ["bin_texts", "export_additive_text"]

MOST_LINES = 12  # of a term


def export_additive_text(subject: AdditiveSubject, *, decimals: int = 3, max_lines: int | None = MOST_LINES) -> str:
    """Write the terms, the most important first, with what each part of its range adds to the score.

    Parameters
    ----------
    subject : AdditiveSubject
    decimals : int, default 3
        Digits after the point.
    max_lines : int or None, default 12
        Most lines of a term; None: all.
    """
    model = subject.model
    lines = [f"intercept: {_numbers(model.intercept, decimals)}{_scale(subject)}"]
    for term in sorted(model.terms, key=lambda term: -term.importance):
        names = " × ".join(name_text(subject.schema.features[j].name) for j in term.features)
        lines.append(f"{names}, importance {term.importance:.{decimals}f}")
        lines += [f"    changed by hand: {change}" for change in term.by_hand]
        if len(term.axes) > 1:
            low, high = float(term.scores.min()), float(term.scores.max())
            lines.append(f"    {counted(term.weight.size, 'cell')}, from {low:+.{decimals}f} to {high:+.{decimals}f}")
            continue
        found = list(_lines(term, subject.schema, decimals))
        lines += found if max_lines is None or len(found) <= max_lines else _shortened(found, max_lines)
    return "\n".join(lines) + "\n"


def _scale(subject: AdditiveSubject) -> str:
    """Say of what the scores are, if they are not the predicted numbers."""
    if subject.classes is None:
        return ""
    if subject.model.link == "logit":
        return f", log odds of {word(subject.classes[1])}"
    return f", {'scores' if len(subject.classes) > 1 else 'score'} of {', '.join(map(word, subject.classes))}"


def _shortened(lines: list[str], most: int) -> list[str]:
    """Return every n-th line, the first and the last, so that at most about `most` remain."""
    places = np.unique(np.linspace(0, len(lines) - 1, max(most - 1, 2)).round().astype(int)).tolist()
    return [*(lines[i] for i in places), f"    … {len(lines) - len(places)} more parts"]


def _lines(term: Term, schema: Schema, decimals: int) -> Iterator[str]:
    axis, values = term.axes[0], term.scores.T
    texts = bin_texts(axis, schema)
    for first, last in runs_of(axis, values):
        deviation = term.deviations[:, first : last + 1].mean(axis=1)
        label = texts[first] if first == last else axis.interval(first, last)
        yield f"    {label}: {_numbers(values[first], decimals)} ± {_numbers(deviation, decimals, sign='')}"
    if term.weight[0] > 0:
        yield f"    missing: {_numbers(values[0], decimals)} ± {_numbers(term.deviations[:, 0], decimals, sign='')}"


def bin_texts(axis: Axis, schema: Schema) -> list[str]:
    """Return the name of each bin."""
    categories: tuple[Any, ...] | None = schema.features[axis.feature].categories
    if categories is not None:
        return ["missing", *map(word, categories)]
    return ["missing", *(axis.interval(i, i) for i in range(1, axis.n_bins))]


def _numbers(values: Any, decimals: int, sign: str = "+") -> str:
    return ", ".join(f"{float(value):{sign},.{decimals}f}" for value in np.atleast_1d(values))
