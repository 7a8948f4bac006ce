"""The JSON part of a predictor's image: features, categories, class labels."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Feature, Kind, Schema, too_alike, too_wide

if TYPE_CHECKING:
    from fasttree._export.subject import Subject

MAX_FEATURES = 2**24
MEAN = "mean"  # how the predictions of trees become one

LABEL_TYPES = {"str": str, "object": str, "bool": bool}  # dtypes of labels; those of numbers by their names
INTEGER_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT_TYPES = ("float16", "float32", "float64")


@dataclass(frozen=True)
class About:
    """The contents of an image's JSON text; `classes` has an array per target, and is empty in regression."""

    schema: Schema
    classes: tuple[npt.NDArray[Any], ...]
    n_outputs: int
    loss: npt.NDArray[np.float64] | None
    algorithm: str
    refuses_missing: bool
    refuses_unseen: bool


def written_about(subject: Subject, *, is_forest: bool = False) -> dict[str, Any]:
    tree, schema = subject.tree, subject.schema
    classes = subject.classes if isinstance(subject.classes, list) else [] if subject.classes is None else [subject.classes]
    return {
        "algorithm": subject.algorithm,
        "has_names": schema.has_names,
        "features": [_written_feature(feature) for feature in schema.features],
        "n_outputs": tree.n_outputs,
        "classes": [_written_labels(labels) for labels in classes],
        "loss": None if tree.loss is None else tree.loss.tolist(),
        "refuses_missing": subject.refuses_missing,
        "refuses_unseen": subject.refuses_unseen,
        **({"combined": MEAN} if is_forest else {}),
    }


def _written_feature(feature: Feature) -> dict[str, Any]:
    categories = None
    if feature.categories is not None:
        categories = [value.item() if isinstance(value, np.generic) else value for value in feature.categories]
        _require_plain(categories, f"the categories of {feature.name!r}")
    return {"name": feature.name, "kind": feature.kind.name.lower(), "categories": categories}


def _written_labels(labels: npt.NDArray[Any]) -> dict[str, Any]:
    plain = labels.tolist()
    _require_plain(plain, "the classes")
    return {"dtype": "str" if labels.dtype.kind == "U" else labels.dtype.name, "labels": plain}


def _require_plain(values: Sequence[Any], where: str) -> None:
    strange = next((value for value in values if type(value) not in (str, int, float, bool)), None)
    if strange is not None or any(isinstance(value, float) and not math.isfinite(value) for value in values):
        raise ValueError(f"{where} must be texts, finite numbers or booleans to be stored in a predictor")


def bad_image(what: str) -> NoReturn:
    raise ValueError(f"not a sound predictor: {what}")


def read_about(text: bytes, *, is_forest: bool = False) -> About:
    try:
        about = json.loads(text, object_pairs_hook=_unique, parse_constant=bad_image)
    except (ValueError, RecursionError) as error:
        bad_image(f"its text is not JSON ({error})")
    keys = ("algorithm", "has_names", "features", "n_outputs", "classes", "loss", "refuses_missing", "refuses_unseen")
    _entries(about, (*keys, "combined") if is_forest else keys, "its text")
    if is_forest and about["combined"] != MEAN:
        bad_image(f"combined must be {MEAN!r}")
    for name in ("has_names", "refuses_missing", "refuses_unseen"):
        if not isinstance(about[name], bool):
            bad_image(f"{name} must be true or false")
    if not isinstance(about["algorithm"], str):
        bad_image("algorithm must be text")
    features = tuple(map(_read_feature, _listed(about["features"], "features")))
    classes = tuple(map(_read_labels, _listed(about["classes"], "classes")))
    if not 1 <= len(features) <= MAX_FEATURES or len({feature.name for feature in features}) < len(features):
        bad_image("there must be at least one feature, and their names must be distinct")
    n_outputs = about["n_outputs"]
    if type(n_outputs) is not int or not 1 <= n_outputs < 2**31 or (classes and len(classes) != n_outputs):
        bad_image("n_outputs must be the number of targets")
    return About(
        Schema(features, about["has_names"]),
        classes,
        n_outputs,
        _read_loss(about["loss"], classes),
        about["algorithm"],
        about["refuses_missing"],
        about["refuses_unseen"],
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        bad_image("its text names something twice")
    return entries


def _entries(given: Any, keys: Sequence[str], where: str) -> None:
    if not isinstance(given, dict) or given.keys() != set(keys):
        bad_image(f"{where} must have the entries {', '.join(keys)}")


def _listed(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list):
        bad_image(f"{where} must be a list")
    return given


def _read_feature(given: Any) -> Feature:
    _entries(given, ("name", "kind", "categories"), "a feature")
    name, kind, categories = given["name"], given["kind"], given["categories"]
    kinds = {each.name.lower(): each for each in Kind}
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in kinds:
        bad_image("a feature must have a name and a known kind")
    if (categories is None) != (kinds[kind] is Kind.CONTINUOUS):
        bad_image(f"feature {name!r} must have categories unless it is continuous")
    if categories is not None:
        _check_plain(_listed(categories, "categories"), f"the categories of {name!r}")
        categories = tuple(categories)
    return Feature(name, kinds[kind], categories)


def _check_plain(values: list[Any], where: str) -> None:
    texts = sum(isinstance(value, str) for value in values)
    if not all(type(value) in (str, int, float, bool) for value in values) or texts not in (0, len(values)):
        bad_image(f"{where} must be all texts, or numbers and booleans")
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):  # 1e999 reads as infinity
        bad_image(f"{where} must be finite")
    if too_alike(values) or len(set(values)) < len(values):
        bad_image(f"{where} must be distinct")


def _read_labels(given: Any) -> npt.NDArray[Any]:
    _entries(given, ("dtype", "labels"), "the classes of a target")
    dtype, labels = given["dtype"], _listed(given["labels"], "labels")
    _check_plain(labels, "the classes")
    wanted: type | None = None
    if isinstance(dtype, str):
        wanted = LABEL_TYPES.get(dtype) or (int if dtype in INTEGER_TYPES else float if dtype in FLOAT_TYPES else None)
    if not labels or wanted is None or not all(type(label) is wanted for label in labels):
        bad_image("a target must have at least one class, all of one known type")
    if dtype == "str" and too_wide(labels):
        bad_image("one class is so long that an array of all would be too large")
    try:
        classes = np.array(labels, dtype=dtype)
    except OverflowError:
        bad_image(f"the classes must fit {dtype}")
    if classes.tolist() != labels:
        bad_image(f"the classes must fit {dtype}")
    return classes


def _read_loss(given: Any, classes: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64] | None:
    if given is None:
        return None
    n = classes[0].size if len(classes) == 1 else 0
    rows = _listed(given, "loss")
    if not n or len(rows) != n or not all(len(_listed(row, "loss")) == n for row in rows):
        bad_image("loss must have a row and a column per class")
    if not all(type(entry) in (int, float) and 0 <= entry <= sys.float_info.max for row in rows for entry in row):
        bad_image("loss must hold finite numbers that are not negative")
    return np.array(rows, dtype=np.float64)
