"""The document of an additive model: its intercept, and for each term cuts, scores, deviations and weights.

Scores of a pair have a list for each bin of the first feature.  Bin 0 of a feature has the missing values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._export.document.values import DocumentError, as_index, as_number, as_type, entry_of, read_floats
from fasttree._model.additive.model import AdditiveModel, Axis, Term

FORMAT = "fasttree.additive"
VERSION = "1.0"
MOST_BAGS = 2**31 - 1
LINKS = {"regression": ("identity",), "classification": ("logit", "softmax")}


def written_model(model: AdditiveModel) -> dict[str, Any]:
    """Return the entries of a model."""
    return {
        "link": model.link,
        "n_bags": model.n_bags,
        "intercept": model.intercept.tolist(),
        "terms": [_written_term(term) for term in model.terms],
    }


def _written_term(term: Term) -> dict[str, Any]:
    written: dict[str, Any] = {
        "features": list(term.features),
        "cuts": [None if axis.cuts is None else axis.cuts.tolist() for axis in term.axes],
        "importance": term.importance,
        "scores": term.scores.tolist(),
        "deviations": term.deviations.tolist(),
        "weight": term.weight.tolist(),
    }
    if term.by_hand:
        written["by_hand"] = list(term.by_hand)
    return written


def read_model(document: dict[str, Any], schema: Schema, n_classes: int | None) -> AdditiveModel:
    """Read a model; `n_classes` is None for numbers.

    Raises
    ------
    DocumentError
        If it is none, or does not fit the schema and the classes.
    """
    link = entry_of(document, "link", str)
    expected = "identity" if n_classes is None else "logit" if n_classes == 2 else "softmax"
    if link != expected:
        raise DocumentError(f"link: must be {expected!r} for this target; got {link!r}")
    intercept = read_floats(entry_of(document, "intercept", list), "intercept")
    if len(intercept) != (n_classes if link == "softmax" else 1):
        raise DocumentError("intercept: must have one number, or with link 'softmax' one for each class")
    terms = [
        _read_term(as_type(entry, dict, f"terms[{i}]"), schema, len(intercept), f"terms[{i}]")
        for i, entry in enumerate(entry_of(document, "terms", list))
    ]
    n_bags = as_index(document.get("n_bags"), MOST_BAGS, "n_bags")
    model = AdditiveModel(expected, intercept, tuple(terms), n_bags)  # type: ignore[arg-type]
    try:
        model.check(schema)
    except ValueError as error:
        raise DocumentError(f"terms: {error}") from None
    return model


def _read_term(entry: dict[str, Any], schema: Schema, n_scores: int, where: str) -> Term:
    features = [as_index(j, len(schema.features), f"{where}.features") for j in entry_of(entry, "features", list, where)]
    cuts = entry_of(entry, "cuts", list, where)
    if len(features) not in (1, 2) or len(cuts) != len(features):
        raise DocumentError(f"{where}: must have one or two features, and as many lists of cuts")
    axes = []
    for j, given in zip(features, cuts, strict=True):
        categories = schema.features[j].categories
        if categories is None:
            found = read_floats(as_type(given, list, f"{where}.cuts"), f"{where}.cuts")
            axes.append(Axis(j, found, len(found) + 2))
        else:
            axes.append(Axis(j, None, len(categories) + 1))
    shape = tuple(axis.n_bins for axis in axes)
    changes = [as_type(change, str, f"{where}.by_hand") for change in as_type(entry.get("by_hand", []), list, f"{where}.by_hand")]
    return Term(
        tuple(axes),
        _read_table(entry, "scores", (n_scores, *shape), where),
        _read_table(entry, "deviations", (n_scores, *shape), where),
        _read_table(entry, "weight", shape, where),
        as_number(entry.get("importance"), f"{where}.importance"),
        tuple(changes),
    )


def _read_table(entry: dict[str, Any], name: str, shape: tuple[int, ...], where: str) -> NDArray[np.float64]:
    """Read nested lists of numbers of a shape."""
    level: list[Any] = [entry_of(entry, name, list, where)]
    where = f"{where}.{name}"
    for size in shape:
        if any(type(part) is not list or len(part) != size for part in level):
            raise DocumentError(f"{where}: must be lists of the lengths {', '.join(map(str, shape))}")
        level = [value for part in level for value in part]
    return read_floats(level, where).reshape(shape)
