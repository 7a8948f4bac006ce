"""`Predictor`: a compact, immutable tree or forest for fast prediction that is mapped from its file.

File, pickle and memory hold the same image of bytes, described in `image`.  It is verified completely before the first
prediction.  Until a table is predicted, only NumPy is imported: a server that predicts rows starts in a tenth of a second.
"""

from __future__ import annotations

import datetime
import json
import math
import mmap
import numbers
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from fasttree._data import errors
from fasttree._data.checks import on_a_line
from fasttree._data.files.whole import whole_file
from fasttree._data.schema import Category, Feature, Group, group
from fasttree._engine.serving import Server, lay_out_tree
from fasttree._export.predictor.about import MAX_FEATURES, About, read_about, written_about
from fasttree._export.predictor.image import (
    HEAD,
    OF_TREES,
    PARTS,
    Bytes,
    bounds,
    check_lengths,
    check_trees,
    check_values,
    image_of,
    kept,
    parts_of,
    verified_parts,
)
from fasttree._model.threads import ALLOWED_N_JOBS, in_threads, is_n_jobs, number_of_threads, slices

if TYPE_CHECKING:
    from fasttree._data.table import Table
    from fasttree._export.subject import Subject

ROWS_OF_MATRIX = 2**20  # that are predicted together, after which interrupts are seen
LEAST_SHARED = 32_768  # rows times trees from which threads pay


class Predictor(Server):
    """A compact fitted tree or forest that only predicts, made by ``model.to_predictor()`` or read from a file by `open`.

    It is immutable, may be used by any number of threads at once, and is pickled as its bytes.  A node takes 16 bytes;
    predictions, tables of categories and data that few trees need are stored beside the nodes.  Its predictions are equal to
    those of the model, bit for bit.

    Parameters
    ----------
    data : bytes-like
        An image, as returned by `to_bytes`.  It is copied unless it is immutable, and verified completely.

    Raises
    ------
    ValueError
        If it is no such image, or damaged.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> rows = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]]
    >>> predictor = CARTClassifier().fit(rows, ["ripe", "unripe", "unripe", "unripe"]).to_predictor()
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
    _about: About
    _image: Bytes
    _lookups: tuple[dict[Category, float] | None, ...]

    def __new__(cls, data: Any) -> Self:
        """Verify an image."""
        image = kept(data)
        parts = verified_parts(image)
        about = read_about(bytes(image[slice(*bounds(parts["about"]))]), is_forest="trees" in parts)
        check_lengths(parts, about)
        check_values(image, parts, about)
        check_trees(image, parts)
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
        """Map a file written by `save` into memory; processes that open the same file share it.

        The whole file is verified, at about a millisecond per megabyte, and not copied.  It must not be changed in place while it
        is open: replace it, as `save` does, and open it again.

        Parameters
        ----------
        path : path

        Returns
        -------
        Predictor

        Raises
        ------
        ValueError
            If the file is not that of a predictor, has another version, or is truncated or altered.
        OSError
            If the file cannot be read.
        """
        with open(path, "rb") as file:
            try:
                if os.fstat(file.fileno()).st_size < HEAD.size:
                    raise ValueError("not a predictor's file: it is too short")
                return cls(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file for `open`; it appears whole or not at all, and replaces an existing file.

        Predictors that have the old file open do not change.

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
        """Return the bytes that `save` writes; ``Predictor(data)`` makes an equal predictor."""
        return self._image.tobytes()

    def predict(self, X: Any, *, n_jobs: int | None = None) -> npt.NDArray[Any]:
        """Predict the samples of a table, as the model does.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for the model.  An array of floats is read directly; any other table is encoded column by column.
        n_jobs : int or None, default=None
            Number of threads; -1 means one per core, None one.  They share 32,768 rows and more, times the number of trees.
            Predictions do not depend on it.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_outputs) for several targets
            Predicted classes in the dtype of `classes_`, or float64 values.

        Raises
        ------
        ValueError, TypeError
            As for the model's `predict`.
        """
        about = self._about
        if not about.classes:
            values = self._run(X, n_jobs, of_values=True)
            return values[:, 0] if about.n_outputs == 1 else values
        answers = self._run(X, n_jobs, of_values=False)
        if about.n_outputs == 1:
            return about.classes[0].take(answers[:, 0])
        columns = [labels.take(column) for labels, column in zip(about.classes, answers.T, strict=True)]
        same_kind = len({labels.dtype.kind for labels in about.classes}) == 1
        return np.column_stack(columns if same_kind else [column.astype(object) for column in columns])

    def predict_proba(self, X: Any, *, n_jobs: int | None = None) -> Any:
        """Return the probabilities of the classes for a table, as the model does.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `predict`.
        n_jobs : int or None, default=None
            As for `predict`.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Probabilities in the order of `classes_`; a list of arrays for several targets.

        Raises
        ------
        AttributeError
            In regression.
        ValueError, TypeError
            As for the model's `predict_proba`.
        """
        if not self._about.classes:
            raise AttributeError("a regression model has no probabilities of classes: use predict")
        shares = self._run(X, n_jobs, of_values=True)
        if self._about.n_outputs == 1:
            return shares
        return np.split(shares, np.cumsum([labels.size for labels in self._about.classes])[:-1], axis=1)

    def _run(self, X: Any, n_jobs: int | None, *, of_values: bool) -> npt.NDArray[Any]:
        """Return the values or predicted classes of all rows."""
        if not is_n_jobs(n_jobs):
            raise ValueError(f"n_jobs={on_a_line(n_jobs)}: must be {ALLOWED_N_JOBS}")
        about = self._about
        if type(X) is np.ndarray and X.ndim == 2 and len(X) and about.schema.is_continuous:
            out, threads = self._room(len(X), of_values), self._threads(n_jobs, len(X))
            parts = slices(0, len(X), -(-len(X) // ROWS_OF_MATRIX), threads)
            if self._fill(X.__getitem__, parts, out, threads, refuse_missing=about.refuses_missing):
                if about.schema.has_names:
                    warnings.warn(errors.names_lost("Predictor"), UserWarning, stacklevel=3)
                return out
        from fasttree._model.walks import stretches

        table = self._encode_table(X)
        out, threads = self._room(table.n_samples, of_values), self._threads(n_jobs, table.n_samples)
        for parts, stretch in stretches(table, threads, "F", checked=False):
            if not self._fill(stretch.block, parts, out, threads):
                stretch.check_finite()
        return out

    def _threads(self, n_jobs: int | None, n_samples: int) -> int:
        return number_of_threads(n_jobs) if n_samples * self.n_trees >= LEAST_SHARED else 1

    def _fill(
        self,
        block: Callable[[slice], npt.NDArray[Any]],
        parts: list[slice],
        out: npt.NDArray[Any],
        threads: int,
        *,
        refuse_missing: bool = False,
    ) -> bool:
        """Predict some parts of a table; return whether none holds infinity, a missing value that is refused, or no floats."""
        of_values, failed = out.dtype == np.float64, list[int]()

        def fill(i: int) -> None:
            values, answers = (out[parts[i]], None) if of_values else (None, out[parts[i]])
            if not failed and not self._predict_rows(block(parts[i]), values, answers, refuse_missing=refuse_missing):
                failed.append(i)

        in_threads(fill, len(parts), threads)
        return not failed

    def _room(self, n_samples: int, of_values: bool) -> npt.NDArray[Any]:
        about = self._about
        if not of_values:
            return np.empty((n_samples, about.n_outputs), np.int32)
        n_values = sum(labels.size for labels in about.classes) if about.classes else about.n_outputs
        return np.empty((n_samples, n_values))

    def _encode_table(self, X: Any) -> Table:
        from fasttree._data.encode import encode_table, missing_cell_of

        about = self._about
        unseen = "error" if about.refuses_unseen else "as_missing"
        table = encode_table(X, about.schema, unseen=unseen, estimator_name="Predictor")
        if about.refuses_missing and (cell := missing_cell_of(X, table)):
            raise _refuses_missing(*cell)
        return table

    # Rows and cells of unusual types; `Server` reads the usual ones

    def _plain_row(self, row: Any) -> Any:
        """Return a row as a list, or as the mapping that it is."""
        if getattr(row, "ndim", 1) != 1:
            raise ValueError(f"a row has one dimension, but this {type(row).__qualname__} has {row.ndim}: use predict for tables")
        if isinstance(row, np.ndarray):
            return row.tolist()  # masked cells become None
        if hasattr(type(row), "keys"):
            return row
        if isinstance(row, Sequence) and not isinstance(row, (str, bytes, bytearray)):
            return list(row)
        raise TypeError(
            f"the row is of type {type(row).__qualname__}: give a list, tuple or array with a value per feature, or a mapping of "
            "names to values; use predict for tables"
        )

    def _look_closer(self, j: int, cell: Any) -> float:
        """Return the number for a cell of any type, as `fasttree._data` would read a column of it alone."""
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
                raise errors.not_numbers(feature.name, label, 0)
            if math.isinf(label):
                raise errors.infinite_values(feature.name, 1, 0)
            return float(label)
        lookup = self._lookups[j]
        code = None if lookup is None else lookup.get(label)
        if code is not None:
            return code
        if feature.categories and isinstance(label, str) != isinstance(feature.categories[0], str):
            raise errors.other_type(feature.name, label, 0, feature.categories)
        if about.refuses_unseen:
            raise errors.unseen_categories(feature.name, [label], 0, feature.categories)
        return math.nan

    @property
    def task(self) -> str:
        """Either "classification" or "regression"."""
        return "classification" if self._about.classes else "regression"

    @property
    def algorithm(self) -> str:
        """Name of the recipe of the tree, or of the algorithm of the forest."""
        return self._about.algorithm

    @property
    def classes_(self) -> Any:
        """Labels of the classes, as in the model; a list for several targets."""
        classes = self._about.classes
        if not classes:
            raise AttributeError("a regression model has no classes")
        return classes[0] if len(classes) == 1 else list(classes)

    @property
    def n_features_in_(self) -> int:
        """Number of columns of a table."""
        return len(self._about.schema.features)

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """Names of the columns, as an array of objects; raises an AttributeError if those of the fit had none."""
        if not self._about.schema.has_names:
            raise AttributeError("the model was fitted without feature names")
        return np.array([feature.name for feature in self._about.schema.features], dtype=object)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        part = parts_of(self._image).get("trees")
        return 1 if part is None else part[1] // (8 * len(OF_TREES))

    @property
    def node_count(self) -> int:
        """Number of nodes, of all trees."""
        return parts_of(self._image)["nodes"][1] // PARTS["nodes"]

    @property
    def nbytes(self) -> int:
        """Size of the image and of the file, in bytes."""
        return self._image.size

    def __reduce__(self) -> tuple[type[Self], tuple[Bytes]]:
        return type(self), (self._image,)

    def __repr__(self) -> str:
        trees = f"{self.n_trees} trees, " if "trees" in parts_of(self._image) else ""
        size = f"{trees}{self.node_count:,} nodes, {self.nbytes:,} bytes"
        return f"<Predictor: {self.task}, {self.n_features_in_} features, {size}>"


def _lookup(feature: Feature) -> dict[Category, float] | None:
    if feature.categories is None:
        return None
    return {category: float(code) for code, category in enumerate(feature.categories, start=1)}


def _as_float(cell: Any) -> float:
    """Return the nearest float, infinite if the number is out of range; never -0.0."""
    try:
        return float(cell) + 0.0
    except OverflowError:
        return math.inf if cell > 0 else -math.inf


def _in_64_bits(cell: Any) -> int | float:
    """Return an integer as a column of integers holds it: those beyond 64 bits become floats."""
    value = int(cell) if not isinstance(cell, bool) else cell
    return value if -(2**63) <= value < 2**64 else _as_float(value)


def _unreadable(cell: Any, name: str) -> Exception:
    if isinstance(cell, numbers.Complex):
        return errors.complex_values(name)
    if isinstance(cell, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
        return errors.dates(name, type(cell).__qualname__)
    return errors.unsupported_cell(name, cell, 0)


def _refuses_missing(feature: Feature, row: int) -> ValueError:
    return ValueError(
        f"column {feature.name!r} has missing values (NaN or None; first: row {row}), which this model refuses: fill them in, or "
        "fit it with another policy for missing values"
    )


def predictor_of(subjects: Iterable[Subject], *, is_forest: bool = False) -> Predictor:
    """Make the predictor of a fitted tree, or of a forest.

    Parameters
    ----------
    subjects : iterable of Subject
        The tree, or the trees of a forest.
    is_forest : bool, default False

    Returns
    -------
    Predictor

    Raises
    ------
    ValueError
        If it has more than 2**24 features, or categories or labels that JSON cannot hold.
    """
    parts: list[dict[str, npt.NDArray[Any]]] = []
    n_values = 0
    for subject in subjects:
        parts.append(_laid_out(subject, n_values))
        n_values += len(parts[-1]["values"])
    if not is_forest:
        (arrays,) = parts
    else:
        arrays = {name: np.concatenate([part[name] for part in parts]) for name in PARTS if name != "about"}
        sizes = [[part[name].nbytes // PARTS[name] for name in OF_TREES] for part in parts]
        arrays |= {"answers": np.zeros(0, np.int32), "trees": np.array(sizes, dtype=np.int64)}
    text = json.dumps(written_about(subject, is_forest=is_forest), allow_nan=False)
    return Predictor(image_of(arrays | {"about": np.frombuffer(text.encode(), np.uint8)}))


def _laid_out(subject: Subject, first_value: int) -> dict[str, npt.NDArray[Any]]:
    """Return the parts of a tree, whose predictions are numbered from `first_value` on."""
    from fasttree._model.arrays import STOP, distinct_rows
    from fasttree._model.linear.model_tree import check_constant_leaves

    check_constant_leaves(subject.tree, "to_predictor")
    tree = subject.tree
    if tree.n_features > MAX_FEATURES:
        raise ValueError(f"the model has {tree.n_features} features; a predictor can have {MAX_FEATURES}")
    if subject.refuses_missing:  # nothing stops at a test of numbers, where only missing values could
        continuous = np.array([feature.categories is None for feature in subject.schema.features])[tree.feature]
        never = (tree.n_branches > 0) & continuous & (tree.missing == STOP)
        tree = tree.replace(missing=np.where(never, 0, tree.missing).astype(np.int32))
    nodes = np.flatnonzero(tree.missing == STOP)  # includes leaves
    values = tree.contribution[nodes] if tree.divides else tree.predict_nodes(nodes)
    answers = np.zeros((nodes.size, 0), np.int32) if tree.task == "regression" else tree.predicted_classes[nodes].astype(np.int32)
    first, ends = distinct_rows(values, answers)
    return {
        "values": values[first],
        "answers": answers[first],
        "weights": tree.weight if tree.divides else np.zeros(0),
        **lay_out_tree(tree, (ends + first_value).astype(np.uint32)),
    }
