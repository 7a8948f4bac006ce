"""A tree made for answering: compact, immutable, and in a file that is mapped into memory instead of read.

A `Predictor` is one piece of memory, its image: what stands in the file, what is pickled and what the compiled walks read are
the same bytes.  Whoever brings an image, all of it is verified before the first answer, in one pass and without trusting a length
that it claims.  This file loads no library but NumPy until a table arrives: a server that answers rows starts in a tenth of a
second.

The image.  Numbers are little-endian.  24 bytes: magic (8), version (4), CRC-32 of all that follows it (4), number of bytes (8);
then where each part lies (offset and length, 8 bytes each).  The parts follow in their order, each at the next multiple of 64:

    about           JSON text: features and their categories, labels of the classes, what is refused
    nodes           16 bytes each, as all that follows in the layout of `_compact.pxd`
    values          float64: predictions of places where samples end, each once
    answers         int32: their class, of each target
    weights         float64: of each node, where samples divide
    extras, surrogates, tables, list_codes, list_branches, cuts
                    of the nodes that need them
"""

from __future__ import annotations

import datetime
import json
import math
import mmap
import numbers
import os
import struct
import sys
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from . import _checks
from ._output import whole_file
from ._schema import Category, Feature, Group, Kind, Schema, group, too_alike, too_wide
from ._serving import Server, lay_out_tree

if TYPE_CHECKING:
    from ._exports.subject import Subject
    from ._table import Table

__all__ = ["Predictor", "predictor_of"]

MAGIC = b"\x89fasttre"  # no text, and no other kind of file
VERSION = 1
HEAD = struct.Struct("<8sIIQ")
CHECKED_FROM = 16  # what the checksum covers
ALIGNMENT = 64
# parts in their order, and the bytes of an entry
PARTS = {
    "about": 1,
    "nodes": 16,
    "values": 8,
    "answers": 4,
    "weights": 8,
    "extras": 48,
    "surrogates": 16,
    "tables": 1,
    "list_codes": 4,
    "list_branches": 4,
    "cuts": 8,
}
PLACES = struct.Struct(f"<{2 * len(PARTS)}Q")
MAX_NODES = 2**31 - 1
MAX_FEATURES = 2**24
MAX_VALUES = 2**24  # of a prediction
LABEL_TYPES = {"str": str, "object": str, "bool": bool}  # dtypes of labels; those of numbers by their names
INTEGER_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT_TYPES = ("float16", "float32", "float64")

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class _About:
    """What the text of an image says; `classes` has an array per target, none in regression."""

    schema: Schema
    classes: tuple[npt.NDArray[Any], ...]
    n_outputs: int
    loss: npt.NDArray[np.float64] | None
    algorithm: str
    refuses_missing: bool
    refuses_unseen: bool


class Predictor(Server):
    """A fitted tree that only predicts: made by ``model.for_prediction()``, or read from a file by `open`.

    It never changes, may be used by any number of threads at once, and is pickled as its bytes.  A node takes 16 bytes;
    predictions, tables of categories, and what few trees need besides lie beside the nodes.  Its answers are those of the model,
    bit for bit.

    Parameters
    ----------
    data : bytes-like
        An image, as `to_bytes` gives it.  It is kept if it cannot change, and else copied; everything in it is verified.

    Raises
    ------
    ValueError
        If it is no such image, or damaged; the message says what is wrong.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> rows = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]]
    >>> predictor = CARTClassifier().fit(rows, ["ripe", "unripe", "unripe", "unripe"]).for_prediction()
    >>> predictor
    <Predictor: classification, 2 features, 3 nodes, 832 bytes>
    >>> predictor.predict_one(["red", 2.8])
    'ripe'
    >>> predictor.predict_proba_one({"x0": "blue", "x1": 1})
    [0.0, 1.0]
    >>> predictor.predict([["red", 2.8], ["blue", 0.5]])
    array(['ripe', 'unripe'], dtype='<U6')
    """

    __slots__ = ("_about", "_image", "_lookups")
    _about: _About
    _image: Bytes
    _lookups: tuple[dict[Category, float] | None, ...]

    def __new__(cls, data: Any) -> Self:
        """Verify an image."""
        image = _kept(data)
        parts = _parts(image)
        about = _read_about(bytes(image[slice(*_bounds(parts["about"]))]))
        _check_lengths(parts, about)
        _check_values(image, parts, about)
        lookups = tuple(_lookup(feature) for feature in about.schema.features)
        self = super().__new__(
            cls,
            image,
            parts,
            tuple(sys.intern(feature.name) for feature in about.schema.features),
            lookups,
            tuple(tuple(labels.tolist()) for labels in about.classes),
            about.n_outputs,
            about.loss,
            about.refuses_missing,
            about.refuses_unseen,
        )
        self._about, self._image, self._lookups = about, image, lookups
        return self

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Map a file that `save` wrote into memory; processes that open the same file share it.

        The whole file is verified, about a millisecond per megabyte, and no part of it copied.  It must not be changed in place
        as long as it is open: replace it, as `save` does, and open it anew.

        Parameters
        ----------
        path : path

        Returns
        -------
        Predictor

        Raises
        ------
        ValueError
            If the file is not a predictor's, of another version, truncated or altered.
        OSError
            If it cannot be read.
        """
        with open(path, "rb") as file:
            try:
                if os.fstat(file.fileno()).st_size < HEAD.size:
                    raise ValueError("not a predictor's file: it is too short")
                return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `open` maps; it appears whole or not at all, and replaces one that is there.

        Who has the old file open keeps the old predictor.

        Parameters
        ----------
        path : path

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        with whole_file(path) as file:
            file.write(self._image.data)

    def to_bytes(self) -> bytes:
        """Return what `save` writes; ``Predictor(data)`` is an equal predictor."""
        return self._image.tobytes()

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict a table, as the model does.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for the model: an array of floats goes the short way, any other table is encoded column by column.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) for several targets
            Of the dtype of `classes_`, or float64.

        Raises
        ------
        ValueError, TypeError
            As the model's `predict`.
        """
        about = self._about
        if not about.classes:
            values = self._run(X, of_values=True)
            return values[:, 0] if about.n_outputs == 1 else values
        answers = self._run(X, of_values=False)
        if about.n_outputs == 1:
            return about.classes[0].take(answers[:, 0])
        columns = [labels.take(column) for labels, column in zip(about.classes, answers.T, strict=True)]
        same_kind = len({labels.dtype.kind for labels in about.classes}) == 1
        return np.column_stack(columns if same_kind else [column.astype(object) for column in columns])

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes for a table, as the model does.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            In the order of `classes_`; of several targets a list of such.

        Raises
        ------
        AttributeError
            In regression.
        ValueError, TypeError
            As the model's `predict_proba`.
        """
        if not self._about.classes:
            raise AttributeError("a regression tree has no probabilities of classes: use predict")
        shares = self._run(X, of_values=True)
        if self._about.n_outputs == 1:
            return shares
        return np.split(shares, np.cumsum([labels.size for labels in self._about.classes])[:-1], axis=1)

    def _run(self, X: Any, *, of_values: bool) -> npt.NDArray[Any]:
        """Values or answers of all rows."""
        about = self._about
        if type(X) is np.ndarray and X.ndim == 2 and len(X) and about.schema.is_continuous:
            out = self._room(len(X), of_values)
            if self._fill(X, out, of_values, refuse_infinite=True, refuse_missing=about.refuses_missing):
                if about.schema.has_names:
                    warnings.warn(_checks.names_lost("Predictor"), UserWarning, stacklevel=3)
                return out
        from ._grow import blocks

        table = self._encode_table(X)
        out = self._room(table.n_samples, of_values)
        for rows, block in blocks(table):
            self._fill(block, out[rows], of_values)
        return out

    def _fill(self, X: npt.NDArray[Any], out: npt.NDArray[Any], of_values: bool, **refused: bool) -> bool:
        values, answers = (out, None) if of_values else (None, out)
        return self._predict_rows(X, values, answers, **refused)

    def _room(self, n_samples: int, of_values: bool) -> npt.NDArray[Any]:
        about = self._about
        if not of_values:
            return np.empty((n_samples, about.n_outputs), np.int32)
        n_values = sum(labels.size for labels in about.classes) if about.classes else about.n_outputs
        return np.empty((n_samples, n_values))

    def _encode_table(self, X: Any) -> Table:
        from ._table import encode_table, missing_cell_of

        about = self._about
        unseen = "error" if about.refuses_unseen else "as_missing"
        table = encode_table(X, about.schema, unseen=unseen, estimator_name="Predictor")
        if about.refuses_missing and (cell := missing_cell_of(X, table)):
            raise _refuses_missing(*cell)
        return table

    # What a row is, and its cells, where they are nothing usual

    def _plain_row(self, row: Any) -> Any:
        """A row as a list, or as something with names that can be asked."""
        if getattr(row, "ndim", 1) != 1:
            raise ValueError(f"a row has one dimension, and this {type(row).__qualname__} has {row.ndim}: predict takes tables")
        if isinstance(row, np.ndarray):
            return row.tolist()  # of a masked array None where it is masked
        if hasattr(type(row), "keys"):
            return row
        if isinstance(row, Sequence) and not isinstance(row, (str, bytes, bytearray)):
            return list(row)
        raise TypeError(
            f"the row is of type {type(row).__qualname__}: give a list, tuple or array with a value per feature, or a mapping of "
            "names to values; predict takes tables"
        )

    def _look_closer(self, j: int, cell: Any) -> float:
        """A cell as the tree sees it, of whatever type; as `_table.py` would read a column of it alone."""
        feature, about = self._about.schema.features[j], self._about
        if isinstance(cell, (np.number, np.bool_, np.str_)):
            cell = cell.item()
        found = group(type(cell))
        if found is Group.MISSING or (found is Group.REAL and cell != cell):
            if about.refuses_missing:
                raise _refuses_missing(feature, 0)
            return math.nan
        if found is Group.OTHER:
            raise _unreadable(cell, feature.name)
        label: Category
        label = str(cell) if found is Group.TEXT else _as_float(cell) if found is Group.REAL else _in_64_bits(cell)
        if feature.categories is None:
            if isinstance(label, str):
                raise _checks.not_numbers(feature.name, label, 0)
            if math.isinf(label):
                raise _checks.infinite_values(feature.name, 1, 0)
            return float(label)
        lookup = self._lookups[j]
        code = None if lookup is None else lookup.get(label)
        if code is not None:
            return code
        if feature.categories and isinstance(label, str) != isinstance(feature.categories[0], str):
            raise _checks.other_type(feature.name, label, 0, feature.categories)
        if about.refuses_unseen:
            raise _checks.unseen_categories(feature.name, [label], 0, feature.categories)
        return math.nan

    # What is known of it

    @property
    def task(self) -> str:
        """Either "classification" or "regression"."""
        return "classification" if self._about.classes else "regression"

    @property
    def algorithm(self) -> str:
        """Name of the recipe that the tree was grown by."""
        return self._about.algorithm

    @property
    def classes_(self) -> Any:
        """Labels of the classes, as of the model; of several targets a list."""
        classes = self._about.classes
        if not classes:
            raise AttributeError("a regression tree has no classes")
        return classes[0] if len(classes) == 1 else list(classes)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of a table."""
        return len(self._about.schema.features)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns, if those of the fit had names, as an array of objects."""
        if not self._about.schema.has_names:
            raise AttributeError("the model was fitted without feature names")
        return np.array([feature.name for feature in self._about.schema.features], dtype=object)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return _parts_of(self._image)["nodes"][1] // PARTS["nodes"]

    @property
    def nbytes(self) -> int:
        """Size of the image, which is that of the file."""
        return self._image.size

    def __reduce__(self) -> tuple[type[Self], tuple[Bytes]]:
        return type(self), (self._image,)

    def __repr__(self) -> str:
        return f"<Predictor: {self.task}, {self.n_features_in_} features, {self.node_count:,} nodes, {self.nbytes:,} bytes>"


def _lookup(feature: Feature) -> dict[Category, float] | None:
    if feature.categories is None:
        return None
    return {category: float(code) for code, category in enumerate(feature.categories, start=1)}


def _as_float(cell: Any) -> float:
    """The nearest float, infinite where a number is beyond them; no -0.0."""
    try:
        return float(cell) + 0.0
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _in_64_bits(cell: Any) -> int | float:
    """An integer as a column of integers holds it: larger ones become floats."""
    value = int(cell) if not isinstance(cell, bool) else cell
    return value if -(2**63) <= value < 2**64 else _as_float(value)


def _unreadable(cell: Any, name: str) -> Exception:
    if isinstance(cell, numbers.Complex):
        return _checks.complex_values(name)
    if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return _checks.dates(name, type(cell).__qualname__)
    return _checks.unsupported_cell(name, cell, 0)


def _refuses_missing(feature: Feature, row: int) -> ValueError:
    return ValueError(
        f"column {feature.name!r} has missing values (NaN or None; first: row {row}), which this model refuses: fill them in, or "
        "fit it with another policy for missing values"
    )


# Making an image


def predictor_of(subject: Subject) -> Predictor:
    """Lay a fitted tree out for prediction.

    Parameters
    ----------
    subject : Subject

    Returns
    -------
    Predictor

    Raises
    ------
    ValueError
        If it has more than 2**24 features, or categories or labels that JSON does not know.
    """
    from ._tree import STOP, distinct_rows  # whoever has a tree has loaded this

    tree = subject.tree
    if tree.n_features > MAX_FEATURES:
        raise ValueError(f"the model has {tree.n_features} features; a predictor can have {MAX_FEATURES}")
    if subject.refuses_missing:  # where a number is tested nothing stops, as no value but a missing one could
        continuous = np.array([feature.categories is None for feature in subject.schema.features])[tree.feature]
        never = (tree.n_branches > 0) & continuous & (tree.missing == STOP)
        tree = tree.replace(missing=np.where(never, 0, tree.missing).astype(np.int32))
    nodes = np.flatnonzero(tree.missing == STOP)  # leaves too
    values = tree.given[nodes] if tree.divides else tree.predictions(nodes)
    answers = np.zeros((nodes.size, 0), np.int32) if tree.task == "regression" else tree.answers[nodes].astype(np.int32)
    first, ends = distinct_rows(values, answers)
    arrays: dict[str, npt.NDArray[Any]] = {
        "about": np.frombuffer(json.dumps(_written_about(subject), allow_nan=False).encode(), np.uint8),
        "values": values[first],
        "answers": answers[first],
        "weights": tree.weight if tree.divides else np.zeros(0),
        **lay_out_tree(tree, ends.astype(np.uint32)),
    }
    return Predictor(_image_of(arrays))


def _image_of(arrays: Mapping[str, npt.NDArray[Any]]) -> Bytes:
    places, stop = [], HEAD.size + PLACES.size
    for name in PARTS:
        start = _aligned(stop)
        places += [start, arrays[name].nbytes]
        stop = start + arrays[name].nbytes
    image = np.zeros(stop, np.uint8)
    for (name, _), start in zip(PARTS.items(), places[::2], strict=True):
        part = np.ascontiguousarray(arrays[name]).reshape(-1).view(np.uint8)
        image[start : start + part.size] = part
    image[HEAD.size : HEAD.size + PLACES.size] = np.frombuffer(PLACES.pack(*places), np.uint8)
    _seal(image)
    image.flags.writeable = False
    return image


def _seal(image: Bytes) -> None:
    """Write the head of an image, whose checksum covers the length and what follows."""
    image[: HEAD.size] = np.frombuffer(HEAD.pack(MAGIC, VERSION, 0, image.size), np.uint8)
    checksum = zlib.crc32(image[CHECKED_FROM:].data)
    image[: HEAD.size] = np.frombuffer(HEAD.pack(MAGIC, VERSION, checksum, image.size), np.uint8)


def _aligned(offset: int) -> int:
    return -(-offset // ALIGNMENT) * ALIGNMENT


def _written_about(subject: Subject) -> dict[str, Any]:
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
        raise ValueError(f"{where} must be texts, finite numbers or truth values to be kept in a predictor")


# Reading an image


def _kept(data: Any) -> Bytes:
    """An image as an array that nobody changes."""
    if sys.byteorder != "little":
        raise ValueError("predictors need a little-endian machine; use the model itself")
    given = np.frombuffer(data, np.uint8)
    owner = data
    while isinstance(owner, np.ndarray):  # whose own flags say nothing of other views of its memory
        owner = owner.base
    fixed = isinstance(owner, (bytes, mmap.mmap)) and not given.flags.writeable
    if not fixed or given.__array_interface__["data"][0] % 8:
        given = given.copy()
    given.flags.writeable = False
    return given


def _bad(what: str) -> NoReturn:
    raise ValueError(f"not a sound predictor: {what}")


def _parts_of(image: Bytes) -> dict[str, tuple[int, int]]:
    """Where each part starts, and how many bytes it has, as the image says."""
    numbers_of = PLACES.unpack_from(image.data, HEAD.size)
    return dict(zip(PARTS, zip(numbers_of[::2], numbers_of[1::2], strict=True), strict=True))


def _bounds(part: tuple[int, int]) -> tuple[int, int]:
    return part[0], part[0] + part[1]


def _parts(image: Bytes) -> dict[str, tuple[int, int]]:
    """The same, verified: the parts fill the image, one after another."""
    if image.size < HEAD.size or image[: len(MAGIC)].tobytes() != MAGIC:
        if image[:1].tobytes() == b"{" or image[:2].tobytes() == b"\x1f\x8b":
            _bad("it seems to be the JSON of a model: read that by fasttree.load, and make one by its for_prediction()")
        _bad("it does not begin as one")
    _, version, checksum, length = HEAD.unpack_from(image.data)
    if version != VERSION:
        _bad(f"it is of version {version}, and this library knows {VERSION}: make it anew by for_prediction()")
    if length != image.size or length < HEAD.size + PLACES.size:
        _bad(f"it has {image.size} bytes and should have {length}; it is truncated or was altered")
    if zlib.crc32(image[CHECKED_FROM:].data) != checksum:
        _bad("its checksum is another; it was altered")
    parts, stop = _parts_of(image), HEAD.size + PLACES.size
    for name, (start, size) in parts.items():
        if start != _aligned(stop) or start + size > length or size % PARTS[name]:
            _bad(f"its part {name!r} lies at byte {start} and has {size}, which cannot be")
        stop = start + size
    if stop != length:
        _bad(f"its parts end at byte {stop} of {length}")
    return parts


def _read_about(text: bytes) -> _About:
    try:
        about = json.loads(text, object_pairs_hook=_unique, parse_constant=_bad)
    except (ValueError, RecursionError) as error:
        _bad(f"its text is not JSON ({error})")
    keys = ("algorithm", "has_names", "features", "n_outputs", "classes", "loss", "refuses_missing", "refuses_unseen")
    _entries(about, keys, "its text")
    for name in ("has_names", "refuses_missing", "refuses_unseen"):
        if not isinstance(about[name], bool):
            _bad(f"{name} must be true or false")
    if not isinstance(about["algorithm"], str):
        _bad("algorithm must be text")
    features = tuple(map(_read_feature, _listed(about["features"], "features")))
    classes = tuple(map(_read_labels, _listed(about["classes"], "classes")))
    if not 1 <= len(features) <= MAX_FEATURES or len({feature.name for feature in features}) < len(features):
        _bad("features must be one at least, with names of their own")
    n_outputs = about["n_outputs"]
    if type(n_outputs) is not int or not 1 <= n_outputs < 2**31 or (classes and len(classes) != n_outputs):
        _bad("n_outputs must be the number of targets")
    return _About(
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
        _bad("its text names something twice")
    return entries


def _entries(given: Any, keys: Sequence[str], where: str) -> None:
    if not isinstance(given, dict) or given.keys() != set(keys):
        _bad(f"{where} must have the entries {', '.join(keys)}")


def _listed(given: Any, where: str) -> list[Any]:
    if not isinstance(given, list):
        _bad(f"{where} must be a list")
    return given


def _read_feature(given: Any) -> Feature:
    _entries(given, ("name", "kind", "categories"), "a feature")
    name, kind, categories = given["name"], given["kind"], given["categories"]
    kinds = {each.name.lower(): each for each in Kind}
    if not isinstance(name, str) or not isinstance(kind, str) or kind not in kinds:
        _bad("a feature must have a name and a known kind")
    if (categories is None) != (kinds[kind] is Kind.CONTINUOUS):
        _bad(f"feature {name!r} must have categories unless it is continuous")
    if categories is not None:
        _check_plain(_listed(categories, "categories"), f"the categories of {name!r}")
        categories = tuple(categories)
    return Feature(name, kinds[kind], categories)


def _check_plain(values: list[Any], where: str) -> None:
    texts = sum(isinstance(value, str) for value in values)
    if not all(type(value) in (str, int, float, bool) for value in values) or texts not in (0, len(values)):
        _bad(f"{where} must be all texts, or numbers and truth values")
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):  # 1e999 reads as infinity
        _bad(f"{where} must be finite")
    if too_alike(values) or len(set(values)) < len(values):
        _bad(f"{where} must differ from one another")


def _read_labels(given: Any) -> npt.NDArray[Any]:
    _entries(given, ("dtype", "labels"), "the classes of a target")
    dtype, labels = given["dtype"], _listed(given["labels"], "labels")
    _check_plain(labels, "the classes")
    wanted: type | None = None
    if isinstance(dtype, str):
        wanted = LABEL_TYPES.get(dtype) or (int if dtype in INTEGER_TYPES else float if dtype in FLOAT_TYPES else None)
    if not labels or wanted is None or not all(type(label) is wanted for label in labels):
        _bad("the classes of a target must be one at least, all of one known type")
    if dtype == "str" and too_wide(labels):
        _bad("the longest class would make an array of all of them too large")
    try:
        classes = np.array(labels, dtype=dtype)
    except OverflowError:
        _bad(f"the classes must fit {dtype}")
    if classes.tolist() != labels:
        _bad(f"the classes must fit {dtype}")
    return classes


def _read_loss(given: Any, classes: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.float64] | None:
    if given is None:
        return None
    n = classes[0].size if len(classes) == 1 else 0
    rows = _listed(given, "loss")
    if not n or len(rows) != n or not all(len(_listed(row, "loss")) == n for row in rows):
        _bad("loss must have a row and a column per class")
    if not all(type(entry) in (int, float) and 0 <= entry <= sys.float_info.max for row in rows for entry in row):
        _bad("loss must hold finite numbers that are not negative")
    return np.array(rows, dtype=np.float64)


def _check_lengths(parts: Mapping[str, tuple[int, int]], about: _About) -> None:
    """Verify that the numbers of bytes belong to one tree."""
    sizes = {name: size for name, (_, size) in parts.items()}
    n_values = sum(labels.size for labels in about.classes) if about.classes else about.n_outputs
    n_nodes, n_ends = sizes["nodes"] // PARTS["nodes"], sizes["values"] // (8 * n_values)
    if not 1 <= n_nodes <= MAX_NODES or n_values > MAX_VALUES or sizes["values"] != 8 * n_values * n_ends or n_ends < 1:
        _bad("it must have nodes and predictions")
    if sizes["answers"] != (4 * n_ends * about.n_outputs if about.classes else 0):
        _bad("it must have an answer per prediction and target, and none in regression")
    if sizes["weights"] not in (0, 8 * n_nodes) or sizes["list_codes"] != sizes["list_branches"]:
        _bad("weights must be one per node, and lists have as many codes as branches")


def _check_values(image: Bytes, parts: Mapping[str, tuple[int, int]], about: _About) -> None:
    values = image[slice(*_bounds(parts["values"]))].view(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum()) or np.isfinite(values).all()  # the sum of finite ones may overflow
    if not fine or (about.classes and values.min() < 0):
        _bad("values must be finite, and shares not negative")
    if about.classes:
        answers = image[slice(*_bounds(parts["answers"]))].view(np.int32).reshape(-1, about.n_outputs)
        if answers.min() < 0 or (answers.max(axis=0) >= [labels.size for labels in about.classes]).any():
            _bad("an answer must be a class")
