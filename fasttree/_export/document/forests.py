"""Trees and bags of a forest in its document.

Packed trees are written as the bytes of their arrays in base64, little-endian.  Others are written as the parts of a tree's
document that do not repeat the table.
"""

from __future__ import annotations

import base64
import binascii
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._export.document import read, write
from fasttree._export.document.values import DocumentError, as_index, as_number, as_type, entry_of, short
from fasttree._model.bags import Bags
from fasttree._model.ensemble import Ensemble
from fasttree._model.packed.check import as_array, check_packed
from fasttree._model.packed.nodes import NODE, Packed, with_byte_order
from fasttree._model.tree import Tree

FORMAT = "fasttree.forest"
VERSION = "1.1"  # docs/shipping/json.md lists what is new in each
MOST_SAMPLES = 2**48
_ARRAYS = {"nodes": NODE.newbyteorder("<"), "start": np.dtype("<i8"), "bits": np.dtype("<u4"), "value": np.dtype("<f8")}
_OF_A_TREE = ("nodes", "values", "soft_thresholds", "surrogates", "tests")


def written_ensemble(ensemble: Ensemble, schema: Schema, classes: Any) -> dict[str, Any]:
    """Write the trees, and how they are combined if it is not by their plain mean."""
    combined = {} if ensemble.combine == "mean" else {"combine": ensemble.combine}
    weighted = {} if ensemble.weights is None else {"weights": ensemble.weights.tolist()}
    return combined | weighted | _written_trees(ensemble, schema, classes)


def _written_trees(ensemble: Ensemble, schema: Schema, classes: Any) -> dict[str, Any]:
    if ensemble.packed is not None:
        packed = ensemble.packed._replace(nodes=with_byte_order(ensemble.packed.nodes, "<"))
        parts = {name: _encoded(array, _ARRAYS[name]) for name, array in packed._asdict().items()}
        return {"packed": parts}
    trees = []
    for tree in ensemble.trees():
        document = write.to_document(tree, schema, classes, {}, "", library_version="")
        trees.append({name: document[name] for name in _OF_A_TREE if name in document})
    return {"trees": trees}


def read_ensemble(
    document: dict[str, Any], schema: Schema, outputs: tuple[int, ...], loss: npt.NDArray[np.float64] | None, impurity: str
) -> Ensemble:
    """Read the trees; `outputs` are the numbers of classes of each target, or 1 each, and `impurity` is that of the recipe.

    Raises
    ------
    DocumentError
        If an entry is missing, malformed or inconsistent.
    """
    task = entry_of(document, "task", str)
    about: dict[str, Any] = {"task": task, "n_features": len(schema.features), "impurity": impurity}
    about |= _read_combination(document)
    if "packed" in document:
        if len(outputs) > 1 or loss is not None:
            raise DocumentError("packed: trees of several targets, or with a loss, are not packed")
        return _read_packed(entry_of(document, "packed", dict), schema, outputs[0], about)
    given = entry_of(document, "trees", list)
    if not given:
        raise DocumentError("trees: must not be empty")
    several = outputs if len(outputs) > 1 else None
    trees = []
    for i, part in enumerate(given):
        try:
            trees.append(read.read_tree(as_type(part, dict, f"trees[{i}]"), task, schema, sum(outputs), loss, several))
        except DocumentError as error:
            raise DocumentError(f"trees[{i}]: {error}") from None
    return _combined(trees, about)


def _read_combination(document: dict[str, Any]) -> dict[str, Any]:
    """Read how the trees are combined; a document of an earlier version has no such entries."""
    found: dict[str, Any] = {}
    if "combine" in document:
        found["combine"] = entry_of(document, "combine", str)
    if "weights" in document:
        given = entry_of(document, "weights", list)
        found["weights"] = [as_number(weight, f"weights[{i}]") for i, weight in enumerate(given)]
    return found


def _combined(trees: Packed | list[Tree], about: dict[str, Any]) -> Ensemble:
    try:
        return Ensemble(trees, **about)
    except ValueError as error:
        raise DocumentError(str(error)) from None


def _read_packed(given: dict[str, Any], schema: Schema, n_columns: int, about: dict[str, Any]) -> Ensemble:
    arrays = {name: _decoded(given, name, dtype) for name, dtype in _ARRAYS.items()}
    width = 2 if about["task"] == "regression" else n_columns
    if len(arrays["value"]) % width or not len(arrays["value"]):
        raise DocumentError(f"packed.value: must have rows of {width} numbers")
    packed = Packed(arrays["nodes"], arrays["start"], arrays["bits"], arrays["value"].reshape(-1, width))
    try:
        check_packed(packed, about["task"], about["n_features"])
    except (ValueError, IndexError) as error:
        raise DocumentError(f"packed: {error}") from None
    ensemble = _combined(packed, about)
    try:
        for tree in ensemble.trees():
            tree.check()
            write.check_fit(tree, schema)
            write.check_range(tree)
    except (ValueError, IndexError) as error:
        raise DocumentError(f"packed: {error}") from None
    return ensemble


def _encoded(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=dtype).tobytes()).decode("ascii")


def _decoded(given: dict[str, Any], name: str, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    text = entry_of(given, name, str, "packed")
    try:
        array = as_array(base64.b64decode(text, validate=True), dtype)
    except (binascii.Error, ValueError) as error:
        raise DocumentError(f"packed.{name}: {error}") from None
    return with_byte_order(array, "=") if dtype.names else array.astype(dtype.newbyteorder("="), copy=False)


def written_bags(bags: Bags) -> dict[str, Any]:
    """Write the plan of the bags, without which nothing can be said about the samples out of them."""
    return {
        "seed": bags.seed,
        "n_samples": bags.n_samples,
        "n_drawn": bags.n_drawn,
        "with_replacement": bags.replaces,
        "rows": None if bags.rows is None else _encoded(bags.rows, np.dtype("<i8")),
        "classes": None if bags.classes is None else _encoded(bags.classes, np.dtype("<u2")),
    }


def read_bags(document: dict[str, Any]) -> Bags:
    """Read the plan of the bags."""
    given = entry_of(document, "bags", dict)
    n_samples = as_index(given.get("n_samples"), MOST_SAMPLES, "bags.n_samples")
    n_drawn = given.get("n_drawn")
    rows, classes = (None if given.get(name) is None else given[name] for name in ("rows", "classes"))
    found = {
        "rows": None if rows is None else _decoded({"rows": rows}, "rows", np.dtype("<i8")),
        "classes": None if classes is None else _decoded({"classes": classes}, "classes", np.dtype("<u2")),
    }
    if found["rows"] is not None and (
        not found["rows"].size or (np.diff(found["rows"]) <= 0).any() or found["rows"][0] < 0 or found["rows"][-1] >= n_samples
    ):
        raise DocumentError(f"bags.rows: must be positions of {n_samples} samples, ascending")
    if found["classes"] is not None and len(found["classes"]) != n_samples:
        raise DocumentError(f"bags.classes: must be {n_samples}, one per sample")
    return Bags(
        as_index(given.get("seed"), 2**64, "bags.seed"),
        n_samples,
        None if n_drawn is None else as_index(n_drawn, n_samples + 1, "bags.n_drawn"),
        entry_of(given, "with_replacement", bool, "bags"),
        found["rows"],
        found["classes"],
    )


def written_oob_score(score: float, task: str) -> dict[str, float]:
    """Write the out-of-bag score; nothing if it is no accuracy or R²."""
    return {"oob_score": score} if _may_be_score(score, task) else {}


def read_oob_score(document: dict[str, Any]) -> float | None:
    """Read the out-of-bag score; None if the document has none."""
    if "oob_score" not in document:
        return None
    score, task = as_number(document["oob_score"], "oob_score"), entry_of(document, "task", str)
    if not _may_be_score(score, task):
        allowed = "an accuracy, from 0 to 1" if task == "classification" else "an R², at most 1"
        raise DocumentError(f"oob_score: must be {allowed}; got {short(score)}")
    return score


def _may_be_score(score: float, task: str) -> bool:
    return math.isfinite(score) and score <= 1 and (score >= 0 or task == "regression")
