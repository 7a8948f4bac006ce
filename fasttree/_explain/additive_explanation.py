"""Explanation of one prediction of an additive model: what each term adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema, is_missing
from fasttree._data.table import Table
from fasttree._explain.pictures import contributions
from fasttree._model.additive.model import AdditiveModel, probabilities_of
from fasttree._model.words import Classes, check_count, grouped_mean, name_text, percent, word

if TYPE_CHECKING:
    from fasttree._explain.pictures.contributions import Axes

__all__ = ["AdditiveExplanation", "TermContribution", "explain_additive"]


@dataclass(frozen=True)
class TermContribution:
    """What a term adds to the score of a sample.

    Attributes
    ----------
    term : str
        Name of the term.
    value : str
        The value of its feature, or those of both.
    score : float
        What the term adds.
    deviation : float
        Standard deviation of this over the bags.
    """

    term: str
    value: str
    score: float
    deviation: float


@dataclass(frozen=True)
class AdditiveExplanation:
    """How an additive model comes to a prediction.

    Attributes
    ----------
    prediction : object
        The predicted class or value.
    probabilities : dict or None
        Probability of each class; None for numbers.
    intercept : float
        Score before any feature.
    contributions : tuple of TermContribution
        What each term adds, the largest first.
    score : float
        The sum: the predicted value, the log odds of the second class, or the score of the predicted class.

    Examples
    --------
    >>> from fasttree import GAMRegressor
    >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
    >>> print(GAMRegressor(random_state=0).fit(X, y).explain([1.0]))
    prediction: 3.00
    intercept: 2.00
      +1.00  x0 = 1
    """

    prediction: Any
    probabilities: dict[Any, float] | None
    intercept: float
    contributions: tuple[TermContribution, ...]
    score: float
    _text: str = field(repr=False)
    _unit: str = field(repr=False)

    def __str__(self) -> str:
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """Return the data as plain values, for JSON."""
        return {
            "prediction": self.prediction,
            "probabilities": None if self.probabilities is None else dict(self.probabilities),
            "intercept": self.intercept,
            "score": self.score,
            "contributions": [vars(one) for one in self.contributions],
        }

    def plot(self, ax: Axes | None = None, *, max_features: int = 12) -> Axes:
        """Draw with matplotlib how the terms lead from the intercept to the score.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_features : int, default=12
            Largest number of bars; the last one has the sum of all other terms.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_count("max_features", max_features, 1)
        steps = [(f"{one.term} = {one.value}", one.score) for one in self.contributions]
        if len(steps) > max_features:
            kept, rest = steps[: max_features - 1], steps[max_features - 1 :]
            steps = [*kept, (f"{len(rest)} other terms", sum(score for _, score in rest))]
        return contributions.plot_waterfall(steps, self.intercept, ax, self._unit)


def explain_additive(
    model: AdditiveModel,
    row: tuple[Table, Sequence[Any]],
    schema: Schema,
    classes: NDArray[Any] | None,
    shown: tuple[Schema, Classes],
    decimals: int = 2,
) -> AdditiveExplanation:
    """Explain the prediction of one sample.

    Parameters
    ----------
    model : AdditiveModel
    row : tuple of Table and sequence
        The sample as a table of one row, and its cells.
    schema : Schema
    classes : ndarray or None
    shown : tuple of Schema and classes
        With labels, for the text.
    decimals : int, default 2
        Digits after the point in the text.
    """
    table, cells = row
    scores = model.score(table)[0]
    k, prediction, probabilities, unit = 0, None, None, "prediction"
    text = f"prediction: {grouped_mean(float(scores[0]), decimals)}"
    if classes is not None:
        shares = probabilities_of(model.link, scores[None])[0].tolist()
        best = int(scores[0] > 0) if model.link == "logit" else int(scores.argmax())
        k, prediction = (0 if model.link == "logit" else best), classes.tolist()[best]
        probabilities = dict(zip(classes.tolist(), shares, strict=True))
        labels = classes if shown[1] is None else np.asarray(shown[1])
        text = f"prediction: {word(labels[best])} ({percent(shares[best])})"
        unit = f"log odds of {labels[1]}" if model.link == "logit" else f"score of {labels[best]}"
    else:
        prediction = float(scores[0])
    found = []
    for term, added in zip(model.terms, model.contributions(table)[0, :, k].tolist(), strict=True):
        places = tuple(int(cell[0]) for cell in term.cells(table))
        names = " × ".join(name_text(shown[0].features[j].name) for j in term.features)
        values = ", ".join(_value(cells[j], place) for j, place in zip(term.features, places, strict=True))
        found.append(TermContribution(names, values, added, float(term.deviations[(k, *places)])))
    found.sort(key=lambda one: -abs(one.score))
    intercept = float(model.intercept[k])
    lines = [text, f"intercept: {grouped_mean(intercept, decimals)}" + (f", {unit}" if classes is not None else "")]
    lines += [f"  {one.score:+,.{decimals}f}  {one.term} = {one.value}" for one in found]
    return AdditiveExplanation(prediction, probabilities, intercept, tuple(found), float(scores[k]), "\n".join(lines), unit)


def _value(cell: Any, place: int) -> str:
    if place == 0:
        return "missing" if is_missing(cell) else f"{cell} (unseen)"
    return f"{float(cell):.6g}" if isinstance(cell, int | float) and not isinstance(cell, bool) else word(cell)
