"""An additive model as one self-contained web page: shapes, importances, and predictions for values that the reader chooses.

The page holds the tables of the model with all digits, so that its scores have the bits of the model.  Figures that are only
drawn are rounded.  This file knows no estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._data.table import Table
from fasttree._explain.page.common.cells import features_data, numbers_of, rows_data
from fasttree._explain.page.common.document import assembled
from fasttree._explain.pictures.additive.shapes import edges_of
from fasttree._explain.pictures.colours import NUMERIC, class_colour
from fasttree._model.additive.model import AdditiveModel, Axis, Term, terms_named
from fasttree._model.words import check_count, name_text, word

__all__ = ["PageSamples", "PageWords", "additive_data", "export_additive_html"]

SCRIPTS = ("common/numbers", "common/elements", "common/fields", "additive/scores", "additive/pictures", "additive/panels")
STYLES = ("page", "additive/additive")
BARS = 30  # of the samples along a number


@dataclass(frozen=True)
class PageWords:
    """Words of a model: columns and categories, classes (None for numbers), and the target."""

    schema: Schema
    classes: Sequence[Any] | None
    target: str


@dataclass(frozen=True)
class PageSamples:
    """Samples for a page, some of which the reader may choose.

    Parameters
    ----------
    table : Table
    target : array, shape (n_samples,), or None
        Codes of classes, or numbers.
    """

    table: Table
    target: npt.NDArray[Any] | None


def export_additive_html(model: AdditiveModel, labels: PageWords, **how: Any) -> str:
    """Write the page of an additive model; parameters are those of `additive_data`."""
    data = additive_data(model, labels, **how)
    return assembled(data["title"], data, template="additive/additive", scripts=SCRIPTS, styles=STYLES)


def additive_data(
    model: AdditiveModel,
    labels: PageWords,
    *,
    title: str,
    given: PageSamples | None = None,
    max_rows: int = 200,
    decimals: int = 3,
) -> dict[str, Any]:
    """Return the data of an additive model in its page.

    Parameters
    ----------
    model : AdditiveModel
    labels : PageWords
    title : str
    given : PageSamples or None, default None
    max_rows : int, default 200
        Maximum number of the samples to embed.
    decimals : int, default 3
        Digits after the point of scores.

    Returns
    -------
    dict
        Each of the `terms` has its `axes`, `scores` and `deviations`, a list for each score, pairs row by row; and for a feature
        `weight` of its bins, or for numbers `density`, that of `BARS` stretches, and `lost`, that of missing values.  `start` has
        the bin of each feature at first, in which the median of its samples is, or the most frequent category.
    """
    check_count("max_rows", max_rows, 0)
    check_count("decimals", decimals, 0)
    schema = labels.schema
    categories = [list(map(word, feature.categories or ())) for feature in schema.features]
    classes = None if labels.classes is None else list(map(word, labels.classes))
    of_one = NUMERIC if model.n_scores == 1 else None
    return {
        "title": title.encode("utf-8", "replace").decode("utf-8"),
        "link": model.link,
        "target": labels.target,
        "classes": classes,
        "colours": [of_one or class_colour(k) for k in range(model.n_scores)],
        "decimals": int(decimals),
        "bags": model.n_bags,
        "features": features_data(schema, [name_text(feature.name) for feature in schema.features], categories),
        "intercept": numbers_of(model.intercept),
        "terms": [
            {"name": name, **_term(term)} for name, term in zip(terms_named(model.terms, schema), model.terms, strict=True)
        ],
        "start": {term.features[0]: _typical(term) for term in model.terms if len(term.axes) == 1},
        "rows": _rows(given, classes, int(max_rows), len(schema.features)),
    }


def _term(term: Term) -> dict[str, Any]:
    found: dict[str, Any] = {
        "axes": [_axis(axis, term) for axis in term.axes],
        "importance": float(f"{term.importance:.6g}"),
        "byHand": list(term.by_hand),
        "scores": [numbers_of(scores.ravel()) for scores in term.scores],
        "deviations": [[float(f"{one:.6g}") for one in deviations.ravel().tolist()] for deviations in term.deviations],
    }
    if len(term.axes) > 1:
        return found
    if term.axes[0].cuts is None:
        return found | {"weight": _rounded(term.weight)}
    edges = edges_of(term.axes[0], term.weight)
    middles = (edges[:-1] + edges[1:]) / 2
    density, _ = np.histogram(middles, bins=BARS, range=(edges[0], edges[-1]), weights=term.weight[1:])
    return found | {"density": _rounded(density), "lost": _rounded(term.weight[:1])[0]}


def _axis(axis: Axis, term: Term) -> dict[str, Any]:
    """Return a feature with its cuts, and the ends of a drawn axis; cuts are None for categories."""
    if axis.cuts is None:
        return {"feature": axis.feature, "bins": axis.n_bins, "cuts": None}
    edges = edges_of(axis, term.weight if len(term.axes) == 1 else np.ones(axis.n_bins))
    ends = {"low": float(edges[0]), "high": float(edges[-1])}
    return {"feature": axis.feature, "bins": axis.n_bins, "cuts": numbers_of(axis.cuts), **ends}


def _typical(term: Term) -> int:
    weight = term.weight[1:]
    if not weight.any():
        return 0
    if term.axes[0].cuts is None:
        return int(weight.argmax()) + 1
    upto = np.cumsum(weight)
    return int(np.searchsorted(upto, upto[-1] / 2)) + 1


def _rounded(weights: npt.NDArray[np.float64]) -> list[float | int]:
    return numbers_of(np.array([float(f"{one:.6g}") for one in weights.tolist()]))


def _rows(given: PageSamples | None, classes: list[str] | None, max_rows: int, n_features: int) -> dict[str, Any] | None:
    if given is None:
        return None
    target = given.target

    def truth(chosen: npt.NDArray[np.intp]) -> list[Any]:
        assert target is not None
        return numbers_of(target[chosen]) if classes is None else [classes[code] for code in target[chosen].tolist()]

    return rows_data(given.table, list(range(n_features)), None if target is None else truth, max_rows)
