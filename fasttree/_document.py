"""A tree as a JSON document, and back: one flat object that people and other programs can read and nobody can run.

A document lists the nodes column by column, then the values and the tests; thresholds of ordinal features count categories from
0 there (codes count from 1).  Numbers are written in the fewest digits that read back to the same double, so document, tree,
document gives the same bytes and tree, document, tree the same arrays.  Reading trusts nothing: every length, index and number is
checked before it is used, and whatever is wrong ends in one `DocumentError`.  This file knows no estimators.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import math
import os
import re
import zlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from ._output import whole_file
from ._predictor import MAGIC
from ._schema import Feature, Kind, Schema, default_target_names, too_alike, too_wide
from ._surrogates import DTYPES, Surrogates
from ._tree import CATEGORY, INTERVALS, KNOWN, LEAF, NOMINAL, SHARES, STOP, SUM_TOLERANCE, TASKS, THRESHOLD, Tree, best_classes

__all__ = ["DocumentError", "Model", "dumps", "encoded", "from_document", "load", "loads", "save", "to_document"]

FORMAT = "fasttree.tree"
VERSION = "1.2"  # 1.1: nodes.estimated_errors, soft_thresholds; 1.2: threshold tests with a third branch, surrogates
MAX_BYTES = 2**31  # of text, after decompression: bounds what a hostile file can make us allocate
MAX_RATIO = 200  # of the text to a compressed file of it, where the text has more than
FREE_BYTES = 2**16
MAX_NODES = 2**31 - 1  # node ids are int32
MAX_SUM = 2**63 - 1  # of samples over all nodes
MAX_DIGITS = 39  # of categories and classes that are integers: 128 bits
MAX_NESTING = 32  # of settings
EXACT_INTEGER = 2**53  # larger ones are written as text: many readers of JSON know doubles alone
GZIP = b"\x1f\x8b"
START = re.compile(rb"[ \t\n\r]*\{|\x1f(\x8b|\Z)")  # what a file may begin with; a pipe may give one byte at first

KIND_NAMES = {THRESHOLD: "threshold", NOMINAL: "nominal", CATEGORY: "category", KNOWN: "known", INTERVALS: "intervals"}
KINDS = {name: kind for kind, name in KIND_NAMES.items()}
TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
DEFAULT_DTYPES = {"int": "int64", "float": "float64", "bool": "bool"}
OTHER_DTYPES = ("object", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float16", "float32")

FIRST_KEYS = {"tests": "kind", "rules": "if"}  # of the objects in a list that get a line each

Scalar: TypeAlias = str | int | float | bool


class DocumentError(ValueError):
    """A document that cannot be read or written: the message says where and why."""


@contextlib.contextmanager
def errors_in(source: str | os.PathLike[str] | BinaryIO | None) -> Iterator[None]:
    """Name the file in the errors of its document."""
    try:
        yield
    except DocumentError as error:
        name = getattr(source, "name", None) if hasattr(source, "read") else source
        raise DocumentError(f"{os.fspath(name)}: {error}" if isinstance(name, (str, os.PathLike)) else str(error)) from None


@contextlib.contextmanager
def errors_of_settings() -> Iterator[None]:
    """Say of errors in parameters that they stand in the document."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DocumentError(f"settings: {error}") from None


class Model(NamedTuple):
    """What a document holds: a tree and what is needed to use it; `classes` is None for regression, of several targets a list."""

    tree: Tree
    schema: Schema
    classes: npt.NDArray[Any] | list[npt.NDArray[Any]] | None
    settings: dict[str, Any]
    algorithm: str
    target_names: list[str]


# Writing


def to_document(
    tree: Tree,
    schema: Schema,
    classes: npt.NDArray[Any] | list[npt.NDArray[Any]] | None,
    settings: Mapping[str, Any],
    algorithm: str,
    target_names: Sequence[str] | None = None,
    *,
    library_version: str,
) -> dict[str, Any]:
    """Describe a tree by the lists, dicts, numbers and texts of JSON.

    A test is of kind "threshold", "nominal" (categories per branch), "category" (a branch for each declared category, in their
    order), "known" (known values to child 0, missing ones to child 1) or "intervals" (as many "cuts" as lie below a value lead to
    its child).  The first three may have one more child, the last, for missing values alone.  Where "soft_thresholds" is true
    every threshold has its
    "lower" and "upper" beside it.  Where "surrogates" is true every test has a list of them: tests of other features, to be
    asked in their order where its own is missing, before what it says of missing values; values up to the threshold go to child
    "low_child", others to the other child.  The column "estimated_errors" stands among the nodes of a tree that has it.
    A target whose wrong classes do not all cost 1 has a "loss", a row per true class.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        The features of the table that the tree was grown on.
    classes : array, shape (k,), or None
        Class labels (text, integers, finite floats or booleans); None for regression; of several targets a list.
    settings : mapping
        Parameters, for the record: what JSON cannot say (say, a random generator) is written as its `repr`, a tuple as a list.
    algorithm : str
        Name of the recipe.
    target_names : list of str or None, default None
        None: y, or y0, y1, ...
    library_version : str
        Version of the library that wrote the document.

    Returns
    -------
    dict
        Equal to what `loads` gives for its `dumps`.

    Raises
    ------
    DocumentError
        If tree, schema and classes do not fit one another, or hold what a document cannot.
    """
    check_names(schema)
    try:
        tree.check()
        _check_fit(tree, schema)
    except ValueError as error:
        raise DocumentError(f"the tree cannot be written: {error}") from None
    nodes: dict[str, Any] = {name: getattr(tree, name).tolist() for name in ("parent", "first_child", "n_branches")}
    inner = tree.n_branches > 0
    nodes["test"] = np.where(inner, np.cumsum(inner) - 1, -1).tolist()
    nodes |= {name: getattr(tree, name).tolist() for name in ("weight", "n_samples", "impurity")}
    if tree.estimated_errors is not None:
        nodes["estimated_errors"] = tree.estimated_errors.tolist()
    targets: list[dict[str, Any]] = [{"name": name} for name in target_names or default_target_names(tree.n_outputs)]
    if len(targets) != tree.n_outputs:
        raise DocumentError(f"target_names: must be {tree.n_outputs}; got {len(targets)}")
    target = targets[0]
    if tree.outputs is not None:
        _write_classes_of_several(targets, tree, classes)
    elif tree.task == "classification":
        target |= written_classes(classes, tree.n_outputs_or_classes)
        nodes["label"] = tree.label.tolist()
        if tree.loss is not None:
            target["loss"] = tree.loss.tolist()
    elif classes is not None:
        raise DocumentError("classes: must be None for a regression tree")
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": library_version,
        "algorithm": algorithm,
        "task": tree.task,
        **written_table(schema, targets, settings),
        "nodes": nodes,
        "values": tree.value.tolist(),
        **({} if tree.lower is None else {"soft_thresholds": True}),
        **({} if tree.surrogates is None else {"surrogates": True}),
        "tests": _written_tests(tree, schema),
    }


def dumps(document: Mapping[str, Any]) -> str:
    """Write a document as JSON text: a line per entry, per column of the nodes, per row of the values, per test and per rule.

    Raises
    ------
    DocumentError
        If it holds anything but the dicts, lists, finite numbers and texts of JSON.
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    try:
        lines = []
        for name, entry in document.items():
            if name == "nodes":
                text = "{\n  " + ",\n  ".join(f"{encode(key)}: {encode(column)}" for key, column in entry.items()) + "\n }"
            elif name == "values":
                text = encode(entry).replace("], [", "],\n  [")  # rows hold numbers alone
            elif name in FIRST_KEYS:
                first = encode(FIRST_KEYS[name])
                text = encode(entry).replace(f"}}, {{{first}:", f"}},\n  {{{first}:")  # the quote is escaped inside any text
            else:
                text = encode(entry)
            lines.append(f" {encode(name)}: {text}")
    except (TypeError, ValueError, RecursionError) as error:
        raise DocumentError(f"the document is not JSON: {error}") from None
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document to a file, which appears whole or not at all.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` is compressed.  An existing file is replaced.
    document : mapping
        As from `to_document`.

    Raises
    ------
    DocumentError
        If the document is not JSON, or its text not Unicode.
    OSError
        If the file cannot be written.
    """
    data = encoded(document)
    if os.path.realpath(path).endswith(".gz"):
        data = _compressed(data)
    with whole_file(path) as file:
        file.write(data)


def encoded(document: Mapping[str, Any]) -> bytes:
    """Write a document as `dumps` does, in UTF-8.

    Raises
    ------
    DocumentError
        As `dumps`, and if it holds halves of characters.
    """
    try:
        return dumps(document).encode()
    except UnicodeEncodeError as error:
        raise DocumentError(f"the document has text that is not Unicode: {error}") from None


def _compressed(data: bytes) -> bytes:
    packed = gzip.compress(data, compresslevel=6, mtime=0)
    if len(data) <= _most_text(len(packed)):
        return packed
    # the zeros of hundreds of classes: a compressor that knows no repetition makes a file that `load` takes for an honest one
    compressor = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS, 8, zlib.Z_HUFFMAN_ONLY)
    return compressor.compress(data) + compressor.flush()


def _most_text(n_packed: int) -> int:
    """How much text is read from a compressed file of so many bytes."""
    return max(FREE_BYTES, MAX_RATIO * n_packed)


def written_table(schema: Schema, targets: list[dict[str, Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Write the entries that say what a model was fitted to, and how."""
    return {
        "has_names": schema.has_names,
        "features": [_written_feature(feature) for feature in schema.features],
        "targets": targets,
        "settings": {name: _written_setting(value, f"settings[{name!r}]") for name, value in settings.items()},
    }


def _written_feature(feature: Feature) -> dict[str, Any]:
    written: dict[str, Any] = {"name": feature.name, "kind": feature.kind.name.lower()}
    if feature.categories is not None:
        type_name, categories = _written_scalars(feature.categories, f"the categories of {feature.name!r}")
        written["categories"] = categories
        if type_name != "str":
            written["type"] = type_name
    return written


def _write_classes_of_several(targets: list[dict[str, Any]], tree: Tree, classes: Any) -> None:
    """Put their classes into the entries of several targets; their columns of the values follow one another."""
    assert tree.outputs is not None
    if tree.task == "regression":
        if classes is not None:
            raise DocumentError("classes: must be None for a regression tree")
        return
    if not isinstance(classes, list) or len(classes) != tree.n_outputs:
        raise DocumentError(f"classes: must be a list of {tree.n_outputs} arrays, one per target")
    for target, labels, width in zip(targets, classes, tree.outputs, strict=True):
        target |= written_classes(labels, width)


def written_classes(classes: Any, n_classes: int) -> dict[str, Any]:
    if classes is None or np.shape(classes) != (n_classes,):
        raise DocumentError(f"classes: must be {n_classes} labels, one per column of the tree's values")
    type_name, labels = _written_scalars(classes.tolist(), "classes")
    written: dict[str, Any] = {"classes": labels}
    if type_name != "str":
        written["type"] = type_name
    if classes.dtype.name in OTHER_DTYPES:
        written["dtype"] = classes.dtype.name
    return written


def _written_scalars(values: Sequence[Any], where: str) -> tuple[str, list[Scalar]]:
    """Name of the one type of the values, and the values as JSON has them."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    names = {next((name for name, kind in TYPES.items() if type(value) is kind), type(value).__name__) for value in plain}
    if len(names) > 1 or not names <= TYPES.keys():
        raise DocumentError(
            f"{where}: must be all str, all int, all float or all bool to be written; got {', '.join(sorted(names))}"
        )
    name = names.pop() if names else "str"
    if name == "float" and not all(map(math.isfinite, plain)):
        raise DocumentError(f"{where}: must be finite to be written")
    if len(set(plain)) != len(plain):
        raise DocumentError(f"{where}: must differ from one another")
    if name == "int":
        if any(abs(value) >= 10**MAX_DIGITS for value in plain):
            raise DocumentError(f"{where}: must have at most {MAX_DIGITS} digits to be written; use text")
        plain = [value if abs(value) <= EXACT_INTEGER else str(value) for value in plain]
    return name, plain


def _written_setting(value: Any, where: str, nesting: int = 0) -> Any:
    if nesting > MAX_NESTING:
        raise DocumentError(f"{where}: nested more than {MAX_NESTING} deep")
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=str)
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value) and value.keys() != {"items"}:
            return {key: _written_setting(entry, where, nesting + 1) for key, entry in value.items()}
        # keys such as class labels are not text: a list of pairs keeps 1 and "1" apart
        return {"items": [[_written_key(key), _written_setting(entry, where, nesting + 1)] for key, entry in value.items()]}
    if isinstance(value, (list, tuple)):
        return [_written_setting(entry, where, nesting + 1) for entry in value]
    return repr(value)


def _written_key(key: Any) -> Any:
    written = _written_setting(key, "")
    return repr(key) if isinstance(written, (list, dict)) else written


def _written_tests(tree: Tree, schema: Schema) -> list[dict[str, Any]]:
    ordinal = [feature.kind == Kind.ORDINAL for feature in schema.features]
    first_child, n_branches, feature, kind = (
        getattr(tree, name).tolist() for name in ("first_child", "n_branches", "feature", "kind")
    )
    threshold, missing, weight, gain = (getattr(tree, name).tolist() for name in ("threshold", "missing", "weight", "gain"))
    table_start, code, branch_of = (getattr(tree, name).tolist() for name in ("table_start", "table_code", "table_branch"))
    cut_start, cut = ([] if array is None else array.tolist() for array in (tree.cut_start, tree.cut))
    bounds = {name: getattr(tree, name).tolist() for name in ("lower", "upper") if getattr(tree, name) is not None}
    tests = []
    for node in np.flatnonzero(tree.n_branches).tolist():
        test: dict[str, Any] = {"kind": KIND_NAMES[kind[node]], "feature": feature[node]}
        if kind[node] == THRESHOLD:
            first_code = 1.0 if ordinal[feature[node]] else 0.0
            for name, column in {"threshold": threshold, **bounds}.items():
                test[name] = column[node] - first_code
        elif kind[node] == NOMINAL:
            branches: list[list[int]] = [[] for _ in range(n_branches[node])]
            for entry in range(table_start[node], table_start[node + 1]):
                branches[branch_of[entry]].append(code[entry] - 1)
            test["branches"] = branches
        elif kind[node] == INTERVALS:
            first_code = 1.0 if ordinal[feature[node]] else 0.0
            test["cuts"] = [place - first_code for place in cut[cut_start[node] : cut_start[node + 1]]]
        if missing[node] == STOP:
            test["missing"] = {"to": "stop"}
        elif missing[node] == SHARES:
            children = slice(first_child[node], first_child[node] + n_branches[node])
            test["missing"] = {"to": "shares", "shares": _shares(weight[children])}
        else:
            test["missing"] = {"to": "child", "child": missing[node]}
        if kind[node] in (NOMINAL, CATEGORY):
            test["unseen"] = "as_missing"
        test["gain"] = gain[node]
        if tree.surrogates is not None:
            test["surrogates"] = []
        tests.append(test)
    if tree.surrogates is not None:
        _write_surrogates(tests, tree, tree.surrogates, ordinal)
    return tests


def _write_surrogates(tests: list[dict[str, Any]], tree: Tree, surrogates: Surrogates, ordinal: list[bool]) -> None:
    """Put the surrogates into the lists of their tests."""
    test_of = np.cumsum(tree.n_branches > 0) - 1
    columns = (getattr(surrogates, name).tolist() for name in ("feature", "kind", "threshold", "low_branch"))
    figures = (surrogates.agreement.tolist(), surrogates.adjusted.tolist())
    start, codes, branches = (getattr(surrogates, name).tolist() for name in ("table_start", "table_code", "table_branch"))
    rows = zip(test_of[surrogates.node].tolist(), *columns, *figures, strict=True)
    for i, (test, feature, kind, threshold, low_branch, agreement, adjusted) in enumerate(rows):
        written: dict[str, Any] = {"kind": KIND_NAMES[kind], "feature": feature}
        if kind == THRESHOLD:
            written |= {"threshold": threshold - (1.0 if ordinal[feature] else 0.0), "low_child": low_branch}
        else:
            sides: list[list[int]] = [[], []]
            for entry in range(start[i], start[i + 1]):
                sides[branches[entry]].append(codes[entry] - 1)
            written["branches"] = sides
        tests[test]["surrogates"].append(written | {"agreement": agreement, "adjusted": adjusted})


def _shares(weights: list[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights]


def check_names(schema: Schema) -> None:
    seen: set[str] = set()
    for feature in schema.features:
        if feature.name in seen:
            raise DocumentError(f"features: more than one is called {short(feature.name)}")
        seen.add(feature.name)


def _check_fit(tree: Tree, schema: Schema) -> None:
    """Verify that every test suits the feature it looks at."""
    if tree.n_features != len(schema.features):
        raise ValueError(f"the tree knows {tree.n_features} features, the schema {len(schema.features)}")
    inner = np.flatnonzero(tree.n_branches)
    feature, kind, threshold, n_branches, missing = (
        getattr(tree, name)[inner] for name in ("feature", "kind", "threshold", "n_branches", "missing")
    )
    _check_tests_fit(schema, inner, feature, kind, threshold, np.diff(tree.table_start)[inner], tree.table_code)
    n_categories = np.array([len(feature.categories or ()) for feature in schema.features])[feature]
    fits = (n_branches == n_categories) | ((n_branches == n_categories + 1) & (missing == n_categories))
    if (broken := (kind == CATEGORY) & ~fits).any():
        rule = "a category test needs a branch for each declared category, and may have one more for missing values"
        raise ValueError(f"node {inner[broken.argmax()]}: {rule}")
    if tree.cut_start is not None and tree.cut is not None:
        owner = np.repeat(np.arange(tree.node_count), np.diff(tree.cut_start))
        by_threshold = np.full(owner.size, THRESHOLD, np.uint8)
        none = np.zeros(owner.size, np.int64)
        _check_tests_fit(schema, owner, tree.feature[owner], by_threshold, tree.cut, none, tree.table_code[:0])
    if (stand_ins := tree.surrogates) is not None:
        sizes = np.diff(stand_ins.table_start)
        _check_tests_fit(
            schema, stand_ins.node, stand_ins.feature, stand_ins.kind, stand_ins.threshold, sizes, stand_ins.table_code
        )


def _check_tests_fit(
    schema: Schema,
    node: npt.NDArray[np.intp],
    feature: npt.NDArray[np.int32],
    kind: npt.NDArray[np.uint8],
    threshold: npt.NDArray[np.float64],
    table_size: npt.NDArray[np.int64],
    table_code: npt.NDArray[np.uint32],
) -> None:
    """Verify that tests, given as columns, suit their features."""
    all_n_categories = np.array([len(feature.categories or ()) for feature in schema.features])
    feature_kind, n_categories = np.array([feature.kind for feature in schema.features])[feature], all_n_categories[feature]
    by_category = (kind == NOMINAL) | (kind == CATEGORY)
    on_ordinal = (kind == THRESHOLD) & (feature_kind == Kind.ORDINAL)
    rules = [
        ((kind == THRESHOLD) & (feature_kind == Kind.NOMINAL), "a threshold test needs a continuous or ordinal feature"),
        (by_category & (feature_kind == Kind.CONTINUOUS), "a test of categories needs a nominal or ordinal feature"),
        (
            on_ordinal & ~((threshold >= 1) & (threshold < n_categories)),
            "a threshold on an ordinal feature must lie between its categories",
        ),
    ]
    for broken, rule in rules:
        if broken.any():
            raise ValueError(f"node {node[broken.argmax()]}: {rule}")
    undeclared = table_code > np.repeat(n_categories, table_size)
    if undeclared.any():
        owner = np.repeat(node, table_size)[undeclared.argmax()]
        raise ValueError(f"node {owner}: the table has a category that the feature has not")


def _check_range(tree: Tree) -> None:
    """Verify that what is computed of a tree's numbers, each of which is finite, is finite too."""
    if tree.weight[0] == 0:
        raise ValueError("node 0: the root must have weight, as no tree is grown on nothing")
    for name in ("gain", "impurity"):
        if not np.isfinite(np.abs(tree.weight * getattr(tree, name)).sum()):
            raise ValueError(f"weight times {name} must sum to a finite number over all nodes")
    if tree.loss is not None and not np.isfinite(tree.value.max() * tree.loss.sum()):
        raise ValueError("the class weights times the loss must be finite")


# Reading


def from_document(document: Any) -> Model:
    """Read a tree from a document.

    Nodes may stand in any order in which a child follows its parent and siblings are adjacent; the tree numbers them breadth
    first.  Entries that this version does not know are ignored, and those that older versions did not write may be missing.

    Parameters
    ----------
    document : dict
        As from `to_document` or `loads`.  It is not modified.

    Returns
    -------
    Model
        The tuple (tree, schema, classes, settings, algorithm, target_names).  The tree is checked.

    Raises
    ------
    DocumentError
        If the format or its major version is unknown, or anything in it is missing, malformed, inconsistent or not supported.
    """
    document = as_type(document, dict, "the document")
    check_format(document, {FORMAT: VERSION})
    task = entry_of(document, "task", str)
    if task not in TASKS:
        raise DocumentError(f"task: must be one of {', '.join(TASKS)}; got {short(task)}")
    algorithm = entry_of(document, "algorithm", str)
    schema, targets, settings = read_table(document)
    names = names_of(targets)
    if len(targets) > 1:
        labels = [read_classes(target) for target in targets] if task == "classification" else None
        outputs = (1,) * len(targets) if labels is None else tuple(map(len, labels))
        return Model(_read_tree(document, task, schema, sum(outputs), None, outputs), schema, labels, settings, algorithm, names)
    classes = read_classes(targets[0]) if task == "classification" else None
    loss = None if classes is None else _read_loss(targets[0], len(classes))
    tree = _read_tree(document, task, schema, 1 if classes is None else len(classes), loss)
    return Model(tree, schema, classes, settings, algorithm, names)


def loads(text: str | bytes, *, max_bytes: int | None = None) -> dict[str, Any]:
    """Parse the text of a document, strictly: no NaN or infinity, no key twice.

    Parameters
    ----------
    text : str or bytes
        Bytes may be compressed by gzip.
    max_bytes : int or None, default None
        As for `load`.

    Raises
    ------
    DocumentError
        If the text is not a JSON object in UTF-8, damaged, or too large.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"a model is read from text or bytes; got {type(text).__name__}")
    try:
        was_text = isinstance(text, str)
        if not isinstance(text, str):
            text = _decoded(_unpacked(text, max_bytes) if text.startswith(GZIP) else text)
        document = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
        if "\\u" in text or (was_text and not text.isascii()):
            json.dumps(document, ensure_ascii=False).encode()  # halves of characters are no text
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError("the document is nested too deeply") from None
    except ValueError as error:
        cut_off = isinstance(error, json.JSONDecodeError) and 0 < len(error.doc.rstrip()) <= error.pos
        raise DocumentError(f"the document {'breaks off' if cut_off else 'is not JSON in UTF-8'}: {error}") from None
    return as_type(document, dict, "the document")  # type: ignore[no-any-return]


def load(source: str | os.PathLike[str] | BinaryIO, *, max_bytes: int | None = None) -> dict[str, Any]:
    """Read a document from a file, compressed by gzip or not.

    Parameters
    ----------
    source : path or binary file
    max_bytes : int or None, default None
        Most text to read, after decompression.  None: 2**31, and of a compressed file 200 times its size or 2**16, whichever is
        more.

    Returns
    -------
    dict
        For `from_document`.

    Raises
    ------
    DocumentError
        If the file is damaged, too large, or not a JSON object in UTF-8.
    OSError
        If the file cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return loads(_read_bytes(file, max_bytes), max_bytes=max_bytes)
    if not hasattr(source, "read"):
        raise TypeError(f"a model is read from a path or an open binary file; got {type(source).__name__}")
    return loads(_read_bytes(source, max_bytes), max_bytes=max_bytes)


def _read_bytes(file: BinaryIO | gzip.GzipFile, max_bytes: int | None) -> bytes:
    most = MAX_BYTES if max_bytes is None else max_bytes
    data = bytearray()
    begun = False
    while block := file.read(2**20):
        if not isinstance(block, bytes):
            raise TypeError(
                f"a model is read from a file that is open in binary mode ('rb'); this one gives {type(block).__name__}"
            )
        data += block
        if len(data) > most:
            raise DocumentError(f"has more than {most} bytes; if you trust it, allow more by max_bytes")
        if not begun and (begun := not block.isspace()) and not START.match(block):
            break  # no model: what has been read tells why, and the rest may be endless
    return bytes(data)


def _unpacked(packed: bytes, max_bytes: int | None) -> bytes:
    most = min(MAX_BYTES, _most_text(len(packed))) if max_bytes is None else max_bytes
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            return _read_bytes(file, most)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DocumentError(f"is damaged: {error}") from None


def _decoded(data: bytes) -> str:
    if data.startswith(MAGIC):
        raise DocumentError("is the file of a predictor, not of a model: open it by fasttree.Predictor.open")
    marks = {codecs.BOM_UTF8: "a byte order mark", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
    for mark, name in marks.items():
        if data.startswith(mark):
            raise DocumentError(f"is text with {name}: save it as UTF-8 without a byte order mark")
    return data.decode()


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DocumentError(f"the key {short(repeated)} occurs twice in one object")
    return entries


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name} is not a JSON number")


def check_format(document: dict[str, Any], versions: Mapping[str, str]) -> str:
    """Return the document's format; refuse any but these, and other major versions of them."""
    name = document.get("format")
    if not isinstance(name, str) or name not in versions:
        raise DocumentError(f"format: must be {' or '.join(map(repr, versions))}; got {short(name)}")
    given, major = entry_of(document, "version", str), versions[name].split(".")[0]
    if not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", given) or given.split(".")[0] != major:
        raise DocumentError(f"version: this library reads {major}.x; got {short(given)}")
    as_type(document.get("library", ""), str, "library")
    return name


def read_table(document: dict[str, Any]) -> tuple[Schema, list[dict[str, Any]], dict[str, Any]]:
    """Read what a model was fitted to, and how: schema, targets, settings."""
    schema = _read_schema(document)
    settings = {
        name: _read_setting(value, f"settings[{short(name)}]") for name, value in entry_of(document, "settings", dict).items()
    }
    targets = entry_of(document, "targets", list)
    if not targets:
        raise DocumentError("targets: must not be empty")
    for i, target in enumerate(targets):
        as_type(as_type(target, dict, f"targets[{i}]").get("name", ""), str, f"targets[{i}].name")
    return schema, targets, settings


def names_of(targets: list[dict[str, Any]]) -> list[str]:
    """Names of targets as `read_table` gives them."""
    return [target.get("name", other) for target, other in zip(targets, default_target_names(len(targets)), strict=True)]


def _read_schema(document: dict[str, Any]) -> Schema:
    features = []
    for j, entry in enumerate(entry_of(document, "features", list)):
        where = f"features[{j}]"
        entry = as_type(entry, dict, where)
        name = entry_of(entry, "name", str, where)
        kinds = {kind.name.lower(): kind for kind in Kind}
        kind = kinds.get(entry_of(entry, "kind", str, where))
        if kind is None:
            raise DocumentError(f"{where}.kind: must be one of {', '.join(kinds)}; got {short(entry['kind'])}")
        categories = None
        if kind != Kind.CONTINUOUS:
            categories = tuple(_read_scalars(entry, "categories", where))
        features.append(Feature(name, kind, categories))
    schema = Schema(tuple(features), as_type(document.get("has_names", True), bool, "has_names"))
    check_names(schema)
    return schema


def read_classes(target: dict[str, Any]) -> npt.NDArray[Any]:
    labels = _read_scalars(target, "classes", "targets[0]")
    if not labels:
        raise DocumentError("targets[0].classes: must not be empty")
    dtype = DEFAULT_DTYPES.get(target.get("type", "str"), "str")
    if "dtype" in target:
        dtype = target["dtype"]
        if dtype not in OTHER_DTYPES:
            raise DocumentError(f"targets[0].dtype: must be one of {', '.join(OTHER_DTYPES)}; got {short(dtype)}")
    if dtype == "str" and too_wide(labels):
        raise DocumentError(f"targets[0].classes: the longest label would make all {len(labels)} as long")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype)
    except (OverflowError, ValueError):
        classes = None
    # by type too: True equals 1
    if classes is None or [(type(label), label) for label in classes.tolist()] != [(type(label), label) for label in labels]:
        raise DocumentError(f"targets[0].classes: do not fit the dtype {dtype}")
    return classes


def _read_scalars(entry: dict[str, Any], key: str, where: str) -> list[Scalar]:
    given = entry_of(entry, key, list, where)
    where = f"{where}.{key}"
    type_name = entry.get("type", "str")
    if not isinstance(type_name, str) or type_name not in TYPES:
        raise DocumentError(f"{where}: their type must be one of {', '.join(TYPES)}; got {short(type_name)}")
    if type_name == "int":
        values: list[Any] = [_read_integer(value) for value in given]
    elif type_name == "float":
        values = [_finite(value) for value in given]
    else:
        values = [value if type(value) is TYPES[type_name] else None for value in given]
    if None in values:
        j = values.index(None)
        raise DocumentError(f"{where}[{j}]: must be of type {type_name}; got {short(given[j])}")
    if not _differ(values, where):
        raise DocumentError(f"{where}: must differ from one another")
    return values


def _differ(values: Sequence[Hashable], where: str) -> bool:
    """Whether no value occurs twice; many of one hash are refused, as sets and dicts would take quadratic time on them."""
    if too_alike(values):
        raise DocumentError(f"{where}: must differ from one another, and most of them in their hashes")
    return len(set(values)) == len(values)


def _read_integer(value: Any) -> int | None:
    if type(value) is int and abs(value) < 10**MAX_DIGITS:
        return value
    if (
        isinstance(value, str)
        and re.fullmatch(rf"-?[1-9][0-9]{{15,{MAX_DIGITS - 1}}}", value)
        and abs(int(value)) > EXACT_INTEGER
    ):
        return int(value)
    return None


def _read_setting(value: Any, where: str, nesting: int = 0) -> Any:
    if nesting > MAX_NESTING:
        raise DocumentError(f"{where}: nested more than {MAX_NESTING} deep")
    if value is None or type(value) in (bool, int, str) or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is list:
        return [_read_setting(entry, where, nesting + 1) for entry in value]
    if type(value) is not dict:
        raise DocumentError(f"{where}: must be null, a boolean, a finite number, text, a list or an object; got {short(value)}")
    if value.keys() != {"items"}:
        return {as_type(key, str, where): _read_setting(entry, where, nesting + 1) for key, entry in value.items()}
    pairs = as_type(value["items"], list, where)
    for pair in pairs:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) not in (bool, int, float, str, type(None)):
            raise DocumentError(f"{where}: items must be pairs of a key and a value")
    if not _differ([_read_setting(key, where) for key, _ in pairs], f"{where}: keys of items"):
        raise DocumentError(f"{where}: a key occurs twice in items")
    return {key: _read_setting(entry, where, nesting + 1) for key, entry in pairs}


def _read_loss(target: dict[str, Any], n_classes: int) -> npt.NDArray[np.float64] | None:
    if "loss" not in target:
        return None
    rows = entry_of(target, "loss", list, "targets[0]")
    if len(rows) != n_classes:
        raise DocumentError(f"targets[0].loss: must have a row per class, {n_classes}; got {len(rows)}")
    return _read_rows(rows, n_classes, "targets[0].loss")


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused
def _read_tree(
    document: dict[str, Any],
    task: str,
    schema: Schema,
    n_columns: int,
    loss: npt.NDArray[np.float64] | None,
    outputs: tuple[int, ...] | None = None,
) -> Tree:
    nodes = entry_of(document, "nodes", dict)
    integer_names = ["parent", "first_child", "n_branches", "test", "n_samples"]
    with_labels = task == "classification" and outputs is None
    integer_names += ["label"] if with_labels else []
    columns = {name: entry_of(nodes, name, list, "nodes") for name in (*integer_names, "weight", "impurity")}
    optional = [name for name in ("estimated_errors",) if name in nodes]
    columns |= {name: entry_of(nodes, name, list, "nodes") for name in optional}
    values = entry_of(document, "values", list)
    n_nodes = len(columns["parent"])
    if not 1 <= n_nodes <= MAX_NODES:
        raise DocumentError(f"nodes: must be 1 to {MAX_NODES}; got {n_nodes}")
    for name, column in (*columns.items(), ("values", values)):
        if len(column) != n_nodes:
            raise DocumentError(f"{name}: has {len(column)} entries; nodes.parent has {n_nodes}")
    integers = {name: _integers(columns[name], f"nodes.{name}") for name in integer_names}
    if integers["n_samples"].max() > (most := MAX_SUM // n_nodes):
        raise DocumentError(f"nodes.n_samples: must be at most {most} in a tree of {n_nodes} nodes")
    floats = {name: _floats(columns[name], f"nodes.{name}") for name in ("weight", "impurity", *optional)}
    value = _read_rows(values, n_columns, "values")
    _check_numbering(**{name: integers[name] for name in ("parent", "first_child", "n_branches")})
    soft = as_type(document.get("soft_thresholds", False), bool, "soft_thresholds")
    given = entry_of(document, "tests", list)
    tests = _read_tests(given, integers, floats["weight"], schema, soft=soft)
    with_surrogates = as_type(document.get("surrogates", False), bool, "surrogates")
    surrogates = _read_surrogates(given, integers, schema) if with_surrogates else None
    if with_labels and (wrong := integers["label"] != best_classes(value, loss)).any():
        best = "heaviest class" if loss is None else "class of least expected loss"
        raise DocumentError(
            f"nodes.label: node {wrong.argmax()} must have the {best}, the first on ties: others are not supported"
        )
    try:
        tree = Tree.from_growth(
            task=task,
            n_features=len(schema.features),
            first_child=integers["first_child"].astype(np.int32),
            n_branches=integers["n_branches"].astype(np.int32),
            n_samples=integers["n_samples"],
            value=value,
            weight=floats["weight"],
            impurity=floats["impurity"],
            estimated_errors=floats.get("estimated_errors"),
            surrogates=None if surrogates is None else Surrogates(**surrogates),
            outputs=outputs,
            loss=loss,
            **tests,
        )
        tree.check()
        _check_fit(tree, schema)
        _check_range(tree)
    except ValueError as error:
        raise DocumentError(f"the tree is broken (nodes numbered breadth first): {error}") from None
    return tree


def _read_rows(rows: list[Any], n_columns: int, where: str) -> npt.NDArray[np.float64]:
    for i, row in enumerate(rows):
        if type(row) is not list or len(row) != n_columns:
            raise DocumentError(f"{where}[{i}]: must be a list of {n_columns} number(s); got {short(row)}")
    return _floats(list(chain.from_iterable(rows)), where).reshape(len(rows), n_columns)


def _check_numbering(
    parent: npt.NDArray[np.int64], first_child: npt.NDArray[np.int64], n_branches: npt.NDArray[np.int64]
) -> None:
    """Verify that the nodes are one tree: siblings adjacent, children after their parent, which rules out cycles."""
    n_nodes = parent.size
    ids = np.arange(n_nodes)
    inner = n_branches != 0
    if ((n_branches < 0) | (n_branches >= n_nodes)).any() or n_branches.sum() != n_nodes - 1:
        raise DocumentError(
            f"nodes.n_branches: must not be negative, and must sum to {n_nodes - 1}: every node but the root is a child"
        )
    wrong = np.where(inner, (first_child <= ids) | (first_child > n_nodes - n_branches), first_child != -1)
    if wrong.any():
        raise DocumentError(f"nodes.first_child: node {wrong.argmax()}: must be a later node, with its siblings; -1 at a leaf")
    owners = np.flatnonzero(inner)
    children = np.repeat(first_child[owners], n_branches[owners])
    children += np.arange(children.size) - np.repeat(np.cumsum(n_branches[owners]) - n_branches[owners], n_branches[owners])
    expected = np.full(n_nodes, -1, np.int64)
    expected[children] = np.repeat(owners, n_branches[owners])
    # n - 1 children of which two coincide leave a node besides the root without a parent
    if (expected[1:] == -1).any() or (parent != expected).any():
        node = int(((parent != expected) | ((expected == -1) & (ids > 0))).argmax())
        raise DocumentError(f"nodes.parent: node {node}: must be the one node that has it as a child; -1 at the root")


def _read_tests(
    tests: list[Any], nodes: dict[str, npt.NDArray[np.int64]], weight: npt.NDArray[np.float64], schema: Schema, *, soft: bool
) -> dict[str, npt.NDArray[Any]]:
    """Read the tests into columns over the nodes, as `Tree.from_growth` takes them."""
    inner = np.flatnonzero(nodes["n_branches"])
    test_of = nodes["test"][inner]
    if (np.delete(nodes["test"], inner) != -1).any() or not np.array_equal(np.sort(test_of), np.arange(len(tests))):
        raise DocumentError(f"nodes.test: each of the {len(tests)} tests must belong to one inner node; -1 at a leaf")
    feature, kind, missing, gain, sizes = [], [], [], [], []
    thresholds: dict[str, list[float]] = {name: [] for name in ("threshold", *(("lower", "upper") if soft else ()))}
    codes: list[int] = []
    branch_of: list[int] = []
    cuts: list[float] = []
    n_cuts: list[int] = []
    n_branches, first_child, weights = nodes["n_branches"][inner].tolist(), nodes["first_child"][inner].tolist(), weight.tolist()
    for i, count, first in zip(test_of.tolist(), n_branches, first_child, strict=True):
        where = f"tests[{i}]"
        test = as_type(tests[i], dict, where)
        j = as_index(test.get("feature"), len(schema.features), f"{where}.feature")
        this_kind = KINDS.get(entry_of(test, "kind", str, where), LEAF)
        if this_kind == LEAF:
            raise DocumentError(f"{where}.kind: this version reads {', '.join(KINDS)}; got {short(test['kind'])}")
        feature.append(j)
        kind.append(this_kind)
        for name, column in thresholds.items():
            column.append(_read_threshold(test, name, schema.features[j], where) if this_kind == THRESHOLD else math.nan)
        missing.append(_read_missing(test, where, weights[first : first + count]))
        gain.append(as_number(test.get("gain", 0.0), f"{where}.gain"))
        table = _read_branches(test, count, where) if this_kind == NOMINAL else []
        sizes.append(len(table))
        codes.extend(code for code, _ in table)
        branch_of.extend(branch for _, branch in table)
        places = _read_cuts(test, count, schema.features[j], where) if this_kind == INTERVALS else []
        n_cuts.append(len(places))
        cuts.extend(places)

    def over_nodes(entries: Iterable[float], dtype: type[np.generic], at_leaf: float) -> npt.NDArray[Any]:
        column = np.full(weight.size, at_leaf, dtype)
        column[inner] = list(entries)
        return column

    table_size, cut_size = over_nodes(sizes, np.int64, 0), over_nodes(n_cuts, np.int64, 0)
    return {
        "feature": over_nodes(feature, np.int32, -1),
        "kind": over_nodes(kind, np.uint8, LEAF),
        **{name: over_nodes(column, np.float64, math.nan) for name, column in thresholds.items()},
        "missing": over_nodes(missing, np.int32, STOP),
        "gain": over_nodes(gain, np.float64, 0.0),
        "table_start": np.cumsum(table_size) - table_size,
        "table_size": table_size,
        "table_code": _integers(codes, "tests: branches") + 1,
        "table_branch": np.array(branch_of, np.int32),
        "cut_start": np.cumsum(cut_size) - cut_size,
        "cut_size": cut_size,
        "cut": np.array(cuts, np.float64),
    }


def _read_surrogates(
    tests: list[dict[str, Any]], nodes: dict[str, npt.NDArray[np.int64]], schema: Schema
) -> dict[str, npt.NDArray[Any]]:
    """Read the surrogates of tests that have been read, as the columns of `Surrogates` in the order of the nodes."""
    of_node = np.zeros(nodes["test"].size, np.int64)
    sizes: list[int] = []
    codes: list[int] = []
    branches: list[int] = []
    columns: dict[str, list[float]] = {
        name: [] for name in ("feature", "kind", "threshold", "low_branch", "agreement", "adjusted")
    }
    for node in np.flatnonzero(nodes["n_branches"]).tolist():
        test = f"tests[{nodes['test'][node]}]"
        given = entry_of(tests[nodes["test"][node]], "surrogates", list, test)
        of_node[node] = len(given)
        for i, entry in enumerate(given):
            where = f"{test}.surrogates[{i}]"
            entry = as_type(entry, dict, where)
            j = as_index(entry.get("feature"), len(schema.features), f"{where}.feature")
            kind = KINDS.get(entry_of(entry, "kind", str, where), LEAF)
            if kind not in (THRESHOLD, NOMINAL):
                raise DocumentError(f"{where}.kind: must be threshold or nominal; got {short(entry['kind'])}")
            by_threshold = kind == THRESHOLD
            columns["feature"].append(j)
            columns["kind"].append(kind)
            columns["threshold"].append(
                _read_threshold(entry, "threshold", schema.features[j], where) if by_threshold else math.nan
            )
            columns["low_branch"].append(as_index(entry.get("low_child"), 2, f"{where}.low_child") if by_threshold else -1)
            for name in ("agreement", "adjusted"):
                columns[name].append(as_number(entry.get(name), f"{where}.{name}"))
            table = [] if by_threshold else _read_branches(entry, 2, where)
            sizes.append(len(table))
            codes.extend(code for code, _ in table)
            branches.extend(branch for _, branch in table)
    return {
        "start": np.append(0, np.cumsum(of_node)),
        "table_start": np.append(0, np.cumsum(np.array(sizes, np.int64))),
        "table_code": _integers(codes, "surrogates: branches") + 1,
        "table_branch": np.array(branches, np.int32),
        **{name: np.array(column, DTYPES[name]) for name, column in columns.items()},
    }


def _read_threshold(test: dict[str, Any], name: str, feature: Feature, where: str) -> float:
    return _read_place(test.get(name), feature, f"{where}.{name}")


def _read_cuts(test: dict[str, Any], n_branches: int, feature: Feature, where: str) -> list[float]:
    cuts = entry_of(test, "cuts", list, where)
    if len(cuts) != n_branches - 1:
        raise DocumentError(f"{where}.cuts: must be one fewer than the {n_branches} branches of its node; got {len(cuts)}")
    return [_read_place(cut, feature, f"{where}.cuts[{i}]") for i, cut in enumerate(cuts)]


def _read_place(entry: Any, feature: Feature, where: str) -> float:
    """Where a continuous feature, or an ordinal one by code, is cut."""
    given = as_number(entry, where)
    if feature.kind != Kind.ORDINAL:
        return given
    threshold = given + 1.0
    if threshold - 1.0 != given:
        raise DocumentError(f"{where}: {given!r} is too fine for an ordinal feature; use a multiple of 0.5")
    return threshold


def _read_branches(test: dict[str, Any], n_branches: int, where: str) -> list[tuple[int, int]]:
    """Pairs of category index and branch, ascending."""
    branches = entry_of(test, "branches", list, where)
    if len(branches) != n_branches:
        raise DocumentError(f"{where}.branches: has {len(branches)} branches, its node {n_branches}")
    table = []
    for branch, members in enumerate(branches):
        for category in as_type(members, list, f"{where}.branches[{branch}]"):
            if type(category) is not int or category < 0:
                raise DocumentError(f"{where}.branches[{branch}]: must hold indices of categories; got {short(category)}")
            table.append((category, branch))
    return sorted(table)


def _read_missing(test: dict[str, Any], where: str, weights: list[float]) -> int:
    entry = entry_of(test, "missing", dict, where)
    to = entry.get("to")
    if to == "stop":
        missing = STOP
    elif to == "child":
        missing = as_index(entry.get("child"), len(weights), f"{where}.missing.child")
    elif to == "shares":
        missing = SHARES
        shares = _floats(entry_of(entry, "shares", list, f"{where}.missing"), f"{where}.missing.shares").tolist()
        total = sum(weights)
        if len(shares) != len(weights) or not all(
            abs(share * total - weight) <= SUM_TOLERANCE * total for share, weight in zip(shares, weights, strict=True)
        ):
            raise DocumentError(
                f"{where}.missing.shares: must be the shares of the children in their weight; others are not supported"
            )
    else:
        raise DocumentError(f"{where}.missing.to: this version reads child, shares, stop; got {short(to)}")
    unseen = test.get("unseen", "as_missing")
    same = [{"stop": "stop"}.get(to), {"child": missing} if to == "child" else None]
    if unseen is None or unseen not in ("as_missing", *same):
        raise DocumentError(f"{where}.unseen: must be 'as_missing', or say the same as missing; got {short(unseen)}")
    return missing


# Values of JSON, checked


def short(value: Any) -> str:
    """Write a value as error messages show it."""
    if isinstance(value, (dict, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 128:
        return "a very large integer"
    text = ascii(value[:61] if isinstance(value, str) else value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def as_type(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
        raise DocumentError(f"{where}: must be {names[kind]}; got {short(value)}")
    return value


def entry_of(entries: dict[str, Any], key: str, kind: type, where: str = "") -> Any:
    where = f"{where}.{key}" if where else key
    if key not in entries:
        raise DocumentError(f"{where}: is missing")
    return as_type(entries[key], kind, where)


def _finite(value: Any) -> float | None:
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def as_number(value: Any, where: str) -> float:
    number = _finite(value)
    if number is None:
        raise DocumentError(f"{where}: must be a finite number; got {short(value)}")
    return number


def as_index(value: Any, stop: int, where: str) -> int:
    if type(value) is not int or not 0 <= value < stop:
        raise DocumentError(f"{where}: must be an integer from 0 to {stop - 1}; got {short(value)}")
    return value


def _integers(column: list[Any], where: str) -> npt.NDArray[np.int64]:
    try:
        if set(map(type, column)) <= {int}:
            return np.array(column, np.int64)
    except OverflowError:
        pass
    raise DocumentError(f"{where}: must hold integers of 64 bits")


def _floats(column: list[Any], where: str) -> npt.NDArray[np.float64]:
    try:
        if set(map(type, column)) <= {int, float}:
            array = np.array(column, np.float64)
            if np.isfinite(array).all():
                return array
    except OverflowError:
        pass
    raise DocumentError(f"{where}: must hold finite numbers")
