"""Explanation of one prediction of a forest: how its trees vote, and what each feature contributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fasttree._data.cells import Floats
from fasttree._data.schema import Schema, is_missing
from fasttree._data.table import Table
from fasttree._explain.follow import shares_text
from fasttree._explain.shap import mean_shap_values
from fasttree._model.ensemble import Ensemble
from fasttree._model.words import by_target, mean_text, name_text, percent, word

__all__ = ["Contribution", "ForestExplanation", "explain_forest"]


@dataclass(frozen=True)
class Contribution:
    """What a feature contributes to a prediction.

    Attributes
    ----------
    feature : str
    value : object
        Value of the feature; None if it is missing.
    contribution : float
        Its Shapley value, in the unit of the prediction.
    """

    feature: str
    value: Any
    contribution: float


@dataclass(frozen=True)
class ForestExplanation:
    """How a forest comes to a prediction.

    Attributes
    ----------
    prediction : object
        Predicted class, or mean.
    probabilities : dict or None
        Probability of each class; None in regression.
    n_trees, n_agreeing : int, int or None
        Number of trees, and of those that predict the class of the forest; None in regression.
    base_value : float
        Prediction, or probability of the predicted class, if no value is known.
    contributions : tuple of Contribution
        One per feature, the largest first.  With the base value, they sum to the prediction or its probability.

    Examples
    --------
    >>> from fasttree import RandomForestClassifier
    >>> X, y = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 4.0]] * 5, ["ripe", "unripe", "unripe", "unripe"] * 5
    >>> print(RandomForestClassifier(n_estimators=50, random_state=0).fit(X, y).explain(["red", 3.0]))
    prediction: ripe  (ripe: 100 %), as 50 of 50 trees
    probability of ripe if no value is known: 24 %
      +51 %  x1 = 3
      +25 %  x0 = red
    """

    prediction: Any
    probabilities: dict[Any, float] | None
    n_trees: int
    n_agreeing: int | None
    base_value: float
    contributions: tuple[Contribution, ...]
    _text: str = field(repr=False)

    def __str__(self) -> str:
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """Return the data as plain values, for JSON."""
        return {
            "prediction": self.prediction,
            "probabilities": None if self.probabilities is None else dict(self.probabilities),
            "n_trees": self.n_trees,
            "n_agreeing": self.n_agreeing,
            "base_value": self.base_value,
            "contributions": [vars(each) for each in self.contributions],
        }


def explain_forest(
    ensemble: Ensemble,
    sample: tuple[Table, list[Any]],
    schema: Schema,
    classes: Any,
    shown: tuple[Schema, Any],
    *,
    decimals: int = 2,
    n_jobs: int = 1,
) -> ForestExplanation:
    """Explain the prediction for one sample.

    Parameters
    ----------
    ensemble : Ensemble
        Trees of one target.
    sample : tuple of (Table, list)
        The encoded sample, and its cells.
    schema, classes
        As for an `Explanation`.
    shown : tuple of (Schema, Classes)
        Schema and classes in words.
    decimals : int, default 2
        Number of decimals of means.
    n_jobs : int, default 1
    """
    table, cells = sample
    block = table.block(0, 1)
    values = ensemble.predict(block)[0]
    names = [feature.name for feature in schema.features]
    found = mean_shap_values(ensemble.trees(), table, None, classes, names, n_jobs=n_jobs)
    assert not isinstance(found, list)
    plain = [None if is_missing(cell) else cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    texts = [_text_of(table, j, plain[j], shown[0]) for j in range(len(names))]
    if classes is None:
        column, base = found.values[0], float(found.base_values[0])
        prediction: Any = float(values[0])
        probabilities, n_agreeing = None, None
        head = f"prediction: {mean_text(prediction, decimals)}, the mean of {ensemble.n_trees:,} trees"
        about = f"prediction if no value is known: {mean_text(base, decimals)}"
    else:
        best = _class_of(ensemble, values)
        column, base = found.values[0, :, best], float(found.base_values[0, best])
        prediction = classes.tolist()[best]
        probabilities = dict(zip(classes.tolist(), values.tolist(), strict=True))
        n_agreeing = sum(_class_of(ensemble, ensemble.sums(block, i, i + 1)[0]) == best for i in range(ensemble.n_trees))
        labels = [word(label) for label in by_target(shown[1])[0].tolist()]
        votes = f"as {n_agreeing:,} of {ensemble.n_trees:,} trees{'' if ensemble.loss is None else ', by least expected loss'}"
        head = f"prediction: {labels[best]}  ({shares_text(labels, values)}), {votes}"
        about = f"probability of {labels[best]} if no value is known: {percent(base)}"
    order = np.argsort(-np.abs(column), kind="stable").tolist()
    figures = [_signed(float(column[j]), decimals, is_share=classes is not None) for j in order if column[j]]
    width = max(map(len, figures), default=0)
    lines = [f"  {figure.rjust(width)}  {texts[j]}" for figure, j in zip(figures, order, strict=False)]
    contributions = tuple(Contribution(names[j], plain[j], float(column[j])) for j in order)
    text = "\n".join([head, about, *lines])
    return ForestExplanation(prediction, probabilities, ensemble.n_trees, n_agreeing, base, contributions, text)


def _class_of(ensemble: Ensemble, values: Floats) -> int:
    """Return the class that values say, by least expected loss if there is a loss matrix."""
    return int(ensemble.predicted_codes(values[None])[0, 0])


def _text_of(table: Table, j: int, cell: Any, shown: Schema) -> str:
    """Write a feature and its value."""
    feature = shown.features[j]
    name = name_text(feature.name)
    if cell is None:
        return f"{name} is missing"
    if feature.categories is None:
        return f"{name} = {float(cell):.6g}"
    code = int(table.column(j)[0])
    return f"{name} = {word(feature.categories[code - 1])}" if code else f"{name} = {word(cell)}, which is unseen"


def _signed(number: float, decimals: int, *, is_share: bool) -> str:
    sign = "+" if number > 0 else "-"
    return f"{sign}{percent(abs(number)) if is_share else mean_text(abs(number), decimals)}"
