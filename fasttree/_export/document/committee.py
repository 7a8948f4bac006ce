"""The document of rules with linear models: those of `CubistRegressor`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind, Schema
from fasttree._export.document import read, values, write
from fasttree._model.committees.committee import Committee, ModelRule, check_committee
from fasttree._model.committees.neighbors import Neighbors
from fasttree._model.conditions import Condition
from fasttree._version import __version__

FORMAT = "fasttree.model_rules"
VERSION = "1.0"
MOST_COVER = 2**53
FIGURES = ("intercept", "lower", "upper", "mean", "least", "largest", "error")
OF_NEIGHBORS = ("scale", "steps", "filling", "target", "predicted")


def to_document(committee: Committee, schema: Schema, settings: Mapping[str, Any], target_names: Sequence[str]) -> dict[str, Any]:
    """Describe a committee by the lists, dicts, numbers and strings of JSON."""
    write.check_names(schema)
    found = {
        "format": FORMAT,
        "version": VERSION,
        "library": __version__,
        **write.written_table(schema, [{"name": name} for name in target_names], settings),
        "n_samples": committee.n_samples,
        "default": committee.default,
        "filling": [None if math.isnan(value) else value for value in committee.filling.tolist()],
        "members": [[_written_rule(rule, schema) for rule in member] for member in committee.members],
    }
    if committee.neighbors is not None:
        found["neighbors"] = _written_neighbors(committee.neighbors)
    return found


def _written_rule(rule: ModelRule, schema: Schema) -> dict[str, Any]:
    return {
        "if": [_written_condition(condition, schema) for condition in rule.conditions],
        "terms": [list(term) for term in rule.terms],
        "cover": rule.cover,
        **{name: getattr(rule, name) for name in FIGURES},
    }


def _written_condition(condition: Condition, schema: Schema) -> dict[str, Any]:
    written: dict[str, Any] = {"feature": condition.index, "missing": bool(condition.missing)}
    if condition.kind == Kind.CONTINUOUS:
        return {**written, "operator": condition.operator, "threshold": condition.threshold}
    categories = schema.features[condition.index].categories or ()
    return {**written, "operator": "in", "categories": [categories.index(category) for category in condition.categories]}


def _written_neighbors(neighbors: Neighbors) -> dict[str, Any]:
    return {
        "n": neighbors.n,
        "features": neighbors.features.tolist(),
        "points": neighbors.points.tolist(),
        **{name: getattr(neighbors, name).tolist() for name in OF_NEIGHBORS},
        **{name: getattr(neighbors, name) for name in ("floor", "ceiling", "radius")},
    }


def from_document(document: dict[str, Any]) -> tuple[Committee, Schema, dict[str, Any], list[str]]:
    """Read a document of rules with models.

    Raises
    ------
    DocumentError
        If it is none.
    """
    read.check_format(document, {FORMAT: VERSION})
    schema, targets, settings = read.read_table(document)
    if len(targets) > 1:
        raise values.DocumentError(f"targets: rules have 1 target; got {len(targets)}")
    filling = values.entry_of(document, "filling", list)
    if len(filling) != len(schema.features):
        raise values.DocumentError(f"filling: has {len(filling)} entries; must have {len(schema.features)}, one per feature")
    filled = np.array([math.nan if value is None else values.as_number(value, "filling") for value in filling])
    members = []
    for m, given in enumerate(values.entry_of(document, "members", list)):
        rules = values.as_type(given, list, f"members[{m}]")
        members.append(tuple(_read_rule(rule, schema, f"members[{m}][{i}]") for i, rule in enumerate(rules)))
    if not members:
        raise values.DocumentError("members: must not be empty")
    default = values.as_number(document.get("default"), "default")
    neighbors = _read_neighbors(document, schema) if "neighbors" in document else None
    n_samples = values.as_index(document.get("n_samples", 0), MOST_COVER, "n_samples")
    committee = Committee(tuple(members), filled, default, neighbors, n_samples)
    try:
        check_committee(committee, [feature.kind for feature in schema.features])
    except ValueError as error:
        raise values.DocumentError(str(error)) from None
    return committee, schema, settings, read.names_of(targets)


def _read_rule(given: Any, schema: Schema, where: str) -> ModelRule:
    entry = values.as_type(given, dict, where)
    terms = []
    for term in values.entry_of(entry, "terms", list, where):
        if type(term) is not list or len(term) != 2:
            raise values.DocumentError(f"{where}.terms: must be pairs of a feature and its coefficient")
        feature = values.as_index(term[0], len(schema.features), f"{where}.terms")
        terms.append((feature, values.as_number(term[1], f"{where}.terms")))
    conditions = values.entry_of(entry, "if", list, where)
    figures = {name: values.as_number(entry.get(name), f"{where}.{name}") for name in FIGURES}
    return ModelRule(
        conditions=tuple(_read_condition(each, schema, f"{where}.if[{i}]") for i, each in enumerate(conditions)),
        terms=tuple(terms),
        cover=values.as_index(entry.get("cover"), MOST_COVER, f"{where}.cover"),
        names=tuple(feature.name for feature in schema.features),
        **figures,
    )


def _read_condition(given: Any, schema: Schema, where: str) -> Condition:
    entry = values.as_type(given, dict, where)
    index = values.as_index(entry.get("feature"), len(schema.features), f"{where}.feature")
    feature, missing = schema.features[index], float(values.entry_of(entry, "missing", bool, where))
    operator = values.entry_of(entry, "operator", str, where)
    if feature.kind == Kind.CONTINUOUS:
        if operator not in ("<=", ">"):
            raise values.DocumentError(f"{where}.operator: must be <= or > for {feature.name!r}")
        threshold = values.as_number(entry.get("threshold"), f"{where}.threshold")
        low, high = (threshold, math.inf) if operator == ">" else (-math.inf, threshold)
        return Condition.interval(feature, index, low, high, missing=missing)
    categories = feature.categories or ()
    given_codes = values.entry_of(entry, "categories", list, where)
    codes = [values.as_index(j, len(categories), f"{where}.categories") for j in given_codes]
    if operator != "in" or not codes or len(set(codes)) < len(codes):
        raise values.DocumentError(f"{where}: must have operator 'in' and distinct categories for {feature.name!r}")
    return Condition.among(feature, index, [categories[j] for j in codes], missing=missing)


def _read_neighbors(document: dict[str, Any], schema: Schema) -> Neighbors:
    given = values.entry_of(document, "neighbors", dict)
    at = "neighbors"
    features = [values.as_index(j, len(schema.features), f"{at}.features") for j in values.entry_of(given, "features", list, at)]
    arrays = {name: _floats(values.entry_of(given, name, list, at), f"{at}.{name}") for name in OF_NEIGHBORS}
    points = [
        _floats(values.as_type(row, list, f"{at}.points[{i}]"), f"{at}.points[{i}]")
        for i, row in enumerate(values.entry_of(given, "points", list, at))
    ]
    n_samples = arrays["target"].size
    n_continuous = sum(schema.features[j].kind == Kind.CONTINUOUS for j in features)
    continuous = [schema.features[j].kind == Kind.CONTINUOUS for j in features]
    is_ordered = continuous == sorted(continuous, reverse=True)
    sizes = (arrays["scale"].size, arrays["steps"].size, arrays["filling"].size, arrays["predicted"].size, len(points))
    wanted = (n_continuous, len(features) - n_continuous, len(schema.features), n_samples, n_samples)
    if sizes != wanted or not is_ordered or len(set(features)) < len(features) or n_samples < 1:
        raise values.DocumentError(f"{at}: the lengths of its arrays do not fit one another and the features")
    if any(row.size != len(features) for row in points):
        raise values.DocumentError(f"{at}.points: each must have {len(features)} numbers")
    matrix = np.array(points).reshape(n_samples, len(features))
    codes = matrix[:, n_continuous:]
    if (arrays["scale"] < 0).any() or (codes < 0).any() or (codes != np.rint(codes)).any() or (codes >= 2**16).any():
        raise values.DocumentError(f"{at}: scales must not be negative, and codes must be whole numbers")
    numbers = {name: values.as_number(given.get(name), f"{at}.{name}") for name in ("floor", "ceiling", "radius")}
    n = values.as_index(given.get("n"), 101, f"{at}.n")
    if n < 1:
        raise values.DocumentError(f"{at}.n: must be at least 1")
    places = np.array(features, dtype=np.intp)
    scale, steps, filling, target, predicted = (arrays[name] for name in OF_NEIGHBORS)
    bounds = numbers["floor"], numbers["ceiling"]
    return Neighbors(n, places, matrix, scale, steps, filling, target, predicted, *bounds, numbers["radius"])


def _floats(given: list[Any], where: str) -> npt.NDArray[np.float64]:
    return np.array([values.as_number(value, where) for value in given], dtype=np.float64)
