"""A tree as an ONNX model, for onnxruntime and whatever else reads ONNX.

The walk is a `TreeEnsembleRegressor` of tests ``x <= t`` alone, the one form that runtimes have always run alike.  It does
not add up probabilities but says at which row of some tables a sample ends; labels, probabilities and means are then looked up
there.  So they are exact, of any type, and no rule of a runtime about ties, two classes or rounding comes in.

A feature with categories enters the walk as a column per way of dividing them: the number of the way that each category takes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._schema import Category, Feature, Kind
from .._tree import CATEGORY, INTERVALS, KNOWN, STOP, THRESHOLD, Tree, best_classes, distinct_rows
from .subject import Subject
from .substitutes import Medium, adapt

__all__ = ["export_onnx"]

ONNX = Medium("ONNX model", "makes the run fail")
DTYPES = ("float32", "float64")
MOST_ROWS = 2**24  # a tree ensemble says where a sample ends in float32
MOST_BYTES = 2**31 - 1  # of a protobuf message
OPSET, ML_OPSET, ML_OPSET_OF_DOUBLE_KEYS, IR_VERSION = 15, 3, 4, 8


def export_onnx(subject: Subject, *, dtype: str = "float32", missing: str | None = None, soft: str | None = None) -> bytes:
    """Write a tree as an ONNX model; `Exports.export_onnx` says what is in it.

    Parameters
    ----------
    subject : Subject
    dtype : {"float32", "float64"}, default "float32"
        Of the numbers that go in and of those that come out.
    missing, soft
        Substitutes, as for `adapt`.

    Returns
    -------
    bytes
        The model, checked by the package onnx.

    Raises
    ------
    ValueError
        If the tree needs a substitute that is not named, is too large, or has categories that `dtype` cannot hold.
    ImportError
        If the package onnx is not installed.
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r}: must be 'float32' or 'float64'")
    adapted = adapt(subject, ONNX, missing=missing, soft=soft)
    onnx = _imported_onnx()
    tree = adapted.subject.tree
    refuses_missing = subject.refuses_missing and missing != "majority"
    refused = adapted.refused
    if refuses_missing:  # wherever in the row, as `predict` does; no node has to look
        tree, refused = tree.replace(missing=subject.tree.missing), np.zeros_like(refused)

    # not those of the tree as adapted: where samples divide, shares are rounded otherwise
    predictions = subject.tree.predictions()
    ends = np.flatnonzero((tree.n_branches == 0) | (tree.missing == STOP))
    kept, row_of_end = distinct_rows(predictions[ends])
    rows = predictions[ends[kept]]
    if len(rows) >= MOST_ROWS:
        raise ValueError(f"the tree predicts {len(rows)} different things; an ONNX model can tell fewer than {MOST_ROWS} apart")
    row_of = np.zeros(tree.node_count, np.int64)
    row_of[ends] = row_of_end
    walk = _lower(tree, subject.schema.features, np.where(refused, len(rows), row_of), single=dtype == "float32")

    graph = _Graph(onnx, dtype)
    checks = _Checks(refuses_missing, subject.refuses_unseen)
    matrix, place = _add_inputs(graph, subject, walk, checks)
    row = _add_walk(graph, walk, matrix, place)
    if checks.masks:
        row = _add_refusal(graph, checks.masks, row, len(rows))
    refuses = checks.masks or refused.any()
    _add_outputs(graph, subject, rows, row, "a missing value or an unseen category is refused" if refuses else "look up")
    return _serialized(graph, subject, adapted.notes)


def _imported_onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("an ONNX model is written with the package onnx: pip install 'fasttree[onnx]'") from error
    return onnx


# The walk: from tests of many forms to tests of two ways


@dataclass
class _Walk:
    """Tests ``column <= threshold``, those below a test before it.

    A way is the number of a test, or ``~row`` where a sample ends.  No test stands below two others: runtimes want a tree.
    """

    column: list[int] = field(default_factory=list)
    threshold: list[float] = field(default_factory=list)
    missing_true: list[bool] = field(default_factory=list)  # a missing value goes where small ones do, else where large ones do
    if_true: list[int] = field(default_factory=list)
    if_false: list[int] = field(default_factory=list)
    root: int = -1
    columns: dict[tuple[int, bytes], int] = field(default_factory=dict)  # feature, ways of its categories (none: its values)

    def add(self, column: int, threshold: float, if_true: int, if_false: int, *, missing_true: bool) -> int:
        self.column.append(column)
        self.threshold.append(threshold)
        self.missing_true.append(missing_true)
        self.if_true.append(if_true)
        self.if_false.append(if_false)
        return len(self.column) - 1

    def by_cuts(self, column: int, cuts: Sequence[float], ways: Sequence[int], missing: int) -> int:
        """Add tests by which a value takes the way whose number is how many cuts are below it, a missing one its own."""
        if missing not in ways:
            known = self.by_cuts(column, cuts, ways, ways[-1])
            return self.add(column, math.inf, known, missing, missing_true=False)
        of_missing = ways.index(missing)

        def between(start: int, stop: int) -> int:
            if stop - start == 1:
                return ways[start]
            middle = (start + stop) // 2
            low, high = between(start, middle), between(middle, stop)
            return self.add(column, cuts[middle - 1], low, high, missing_true=of_missing < middle)

        return between(0, len(ways))

    def by_category(self, feature: int, ways: NDArray[np.int64]) -> int:
        """Add tests by which each category takes its way; the last entry is for missing values."""
        distinct, first, inverse = np.unique(ways, return_index=True, return_inverse=True)
        order = np.argsort(first)  # so that the same division of the categories is one column, wherever the ways lead
        number = np.argsort(order).astype(np.uint32)[inverse]
        if distinct.size == 1:
            return int(distinct[0])
        column = self.columns.setdefault((feature, number.tobytes()), len(self.columns))
        cuts = (np.arange(distinct.size - 1) + 0.5).tolist()
        leads = distinct[order].tolist()
        return self.by_cuts(column, cuts, leads, leads[0])

    def reached(self) -> NDArray[np.int64]:
        """The tests that samples can come to, the root's first; a branch that no category takes is left out."""
        found = [self.root] if self.root >= 0 else []
        for test in found:
            found += [way for way in (self.if_true[test], self.if_false[test]) if way >= 0]
        return np.array(found, np.int64)


def _lower(tree: Tree, features: Sequence[Feature], row_of: NDArray[np.int64], *, single: bool) -> _Walk:
    """Turn a tree into tests of two ways, from the last node to the first."""
    walk = _Walk()
    threshold = _rounded_down(tree.threshold, single=single).tolist()
    cut = None if tree.cut is None else _rounded_down(tree.cut, single=single)
    way = (~row_of).tolist()  # of a sample that arrives at a node
    kind, feature, first_child, n_branches, missing = (
        getattr(tree, name).tolist() for name in ("kind", "feature", "first_child", "n_branches", "missing")
    )
    for node in np.flatnonzero(tree.n_branches)[::-1].tolist():
        ways = way[first_child[node] : first_child[node] + n_branches[node]]
        of_missing = way[node] if missing[node] == STOP else ways[missing[node]]
        j = feature[node]
        if features[j].kind is not Kind.CONTINUOUS:
            way[node] = walk.by_category(j, _ways_of_categories(tree, node, features[j], ways, of_missing))
            continue
        column = walk.columns.setdefault((j, b""), len(walk.columns))
        if kind[node] == THRESHOLD:
            way[node] = walk.by_cuts(column, threshold[node : node + 1], ways[:2], of_missing)
        elif kind[node] == KNOWN:
            way[node] = walk.by_cuts(column, [], ways[:1], of_missing)
        else:
            assert cut is not None
            assert tree.cut_start is not None
            cuts = cut[tree.cut_start[node] : tree.cut_start[node + 1]].tolist()
            way[node] = walk.by_cuts(column, cuts, ways[: len(cuts) + 1], of_missing)
    walk.root = way[0]
    return walk


def _rounded_down(thresholds: NDArray[np.float64], *, single: bool) -> NDArray[np.float64]:
    """The largest float32 up to each threshold: a float32 is above it if and only if it is above the threshold."""
    if not single:
        return thresholds
    with np.errstate(over="ignore"):
        rounded = thresholds.astype(np.float32)
    too_high = rounded > thresholds
    rounded[too_high] = np.nextafter(rounded[too_high], np.float32(-np.inf))
    return rounded.astype(np.float64)


def _ways_of_categories(tree: Tree, node: int, feature: Feature, ways: list[int], missing: int) -> NDArray[np.int64]:
    """The way that each category takes from a node, and last a missing value's."""
    assert feature.categories is not None
    n_categories = len(feature.categories)
    found = np.full(n_categories + 1, missing, np.int64)
    of_branch = np.array(ways)
    kind = tree.kind[node]
    codes = np.arange(1, n_categories + 1)
    if kind == THRESHOLD:
        found[:-1] = np.where(codes <= tree.threshold[node], ways[0], ways[1])
    elif kind == KNOWN:
        found[:-1] = ways[0]
    elif kind == INTERVALS:
        found[:-1] = of_branch[np.searchsorted(tree.cuts_of(node), codes)]
    elif kind == CATEGORY:
        n_known = min(n_categories, of_branch.size)
        found[:n_known] = of_branch[:n_known]
    else:
        known, branch = tree.table_of(node)
        found[known.astype(np.int64) - 1] = of_branch[branch]
    return found


# The graph


class _Graph:
    """Nodes, constants, inputs and outputs of a model, with names that do not meet."""

    def __init__(self, onnx: Any, dtype: str) -> None:
        self.onnx = onnx
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.element = onnx.helper.np_dtype_to_tensor_dtype(self.dtype)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.ml_opset = ML_OPSET
        self._names: set[str] = set()

    def name(self, wanted: str) -> str:
        """Return a name that is not taken: underscores tell it from one that is."""
        while wanted in self._names:
            wanted += "_"
        self._names.add(wanted)
        return wanted

    def add_input(self, name: str, element: int, width: int) -> str:
        name = self.name(name)
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, element, [None, width]))
        return name

    def add_output(self, name: str, element: int, shape: list[int | None]) -> None:
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, element, shape))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        name = self.name(name)
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def add(
        self,
        operator: str,
        inputs: Iterable[str],
        *,
        output: str | None = None,
        node_name: str = "",
        ml: bool = False,
        **attributes: Any,
    ) -> str:
        """Add a node with one output; return the output's name."""
        output = output or self.name(f"fasttree.{operator}{len(self.nodes)}")
        domain = "ai.onnx.ml" if ml else ""
        node = self.onnx.helper.make_node(operator, list(inputs), [output], name=node_name or output, domain=domain, **attributes)
        self.nodes.append(node)
        return output

    def cast(self, source: str, element: int) -> str:
        return self.add("Cast", [source], to=element)


@dataclass
class _Checks:
    """What makes a run fail, whatever the tree asks; `masks` are columns of booleans, true where it does."""

    missing: bool
    unseen: bool
    masks: list[str] = field(default_factory=list)


def _add_inputs(graph: _Graph, subject: Subject, walk: _Walk, checks: _Checks) -> tuple[str, NDArray[np.int64]]:
    """Add inputs and the matrix that the walk reads; say where in it each of the walk's columns is."""
    features = subject.schema.features
    for feature in features:
        _check_texts([feature.name, *(feature.categories if _is_text(feature) else ())])  # type: ignore[misc]
    if subject.schema.is_continuous:
        X = graph.add_input("X", graph.element, len(features))
        if checks.missing:
            checks.masks.append(graph.add("IsNaN", [X]))
        return X, np.array([feature for feature, _ in walk.columns], np.int64)
    names = _add_input_per_feature(graph, features)
    parts: list[str] = []
    place = np.zeros(len(walk.columns), np.int64)
    n_placed = 0
    for j, (feature, name) in enumerate(zip(features, names, strict=True)):
        mine = [(ways, column) for (tested, ways), column in walk.columns.items() if tested == j]
        place[[column for _, column in mine]] = n_placed + np.arange(len(mine))
        n_placed += len(mine)
        if feature.categories is None:
            if checks.missing:
                checks.masks.append(graph.add("IsNaN", [name]))
            parts += [name] * len(mine)
        elif feature.categories and (mine or checks.missing or checks.unseen):
            code = _add_code(graph, feature, name, checks)
            if mine:
                parts.append(_add_ways(graph, code, [ways for ways, _ in mine]))
    if not parts:  # the tree is a leaf, and only asked for as many rows as there are
        length = graph.add("Shape", [names[0]])
        zero = graph.onnx.numpy_helper.from_array(np.zeros(1, graph.dtype))
        parts.append(graph.add("ConstantOfShape", [length], value=zero))
    return graph.add("Concat", parts, axis=1), place


def _add_input_per_feature(graph: _Graph, features: Sequence[Feature]) -> list[str]:
    """Add a column of text for each feature with categories that are text, of numbers for any other."""
    text = graph.onnx.TensorProto.STRING
    return [
        graph.add_input(feature.name or f"x{j}", text if _is_text(feature) else graph.element, 1)
        for j, feature in enumerate(features)
    ]


def _is_text(feature: Feature) -> bool:
    return bool(feature.categories) and isinstance(feature.categories[0], str)  # type: ignore[index]


def _check_texts(texts: Iterable[Any]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{text!r} cannot be written in ONNX: it is no Unicode text; rename it") from None


def _add_code(graph: _Graph, feature: Feature, name: str, checks: _Checks) -> str:
    """Add the number of each cell's category, or how many there are for a missing one, -1 for an unseen one.

    Either looks up the last row of a table.
    """
    assert feature.categories is not None
    n_categories = len(feature.categories)
    codes = list(range(n_categories))
    keys: dict[str, Any]
    if _is_text(feature):
        texts = list(feature.categories)
        if "" not in texts:
            texts, codes = [*texts, ""], [*codes, n_categories]
        code = graph.add("LabelEncoder", [name], ml=True, keys_strings=texts, values_int64s=codes, default_int64=-1)
        last = graph.constant(f"{name}.missing", np.array(n_categories, np.int64)) if checks.missing else ""
        missing = graph.add("Equal", [code, last]) if checks.missing else ""
    else:
        numbers = _exact_numbers(feature, graph.dtype)
        if graph.dtype == np.float32:
            keys = {"keys_floats": numbers, "values_int64s": codes, "default_int64": -1}
        else:
            graph.ml_opset = ML_OPSET_OF_DOUBLE_KEYS
            tensors = {"keys": np.array(numbers), "values": np.array(codes, np.int64), "default": np.array([-1], np.int64)}
            keys = {f"{role}_tensor": graph.onnx.numpy_helper.from_array(tensor, role) for role, tensor in tensors.items()}
        code = graph.add("LabelEncoder", [name], ml=True, **keys)
        missing = graph.add("IsNaN", [name]) if checks.missing or checks.unseen else ""
    if checks.missing:
        checks.masks.append(missing)
    if checks.unseen:
        zero = graph.constant(f"{name}.unseen", np.array(0, np.int64))
        unseen = graph.add("Less", [code, zero])
        checks.masks.append(unseen if _is_text(feature) else graph.add("And", [unseen, graph.add("Not", [missing])]))
    return code


def _exact_numbers(feature: Feature, dtype: np.dtype[Any]) -> list[float]:
    def is_exact(category: Category) -> bool:
        return float(dtype.type(category)) == category

    strange = next((category for category in feature.categories or () if not is_exact(category)), None)
    if strange is not None:
        instead = "choose dtype='float64'" if _is_double(strange) else "make its categories text before the fit"
        raise ValueError(f"feature {feature.name!r} has the category {strange!r}, which {dtype.name} does not hold: {instead}")
    return [float(category) for category in feature.categories or ()]


def _is_double(category: Category) -> bool:
    return float(category) == category


def _add_ways(graph: _Graph, code: str, ways: list[bytes]) -> str:
    """Add a column per way of dividing the categories of a feature."""
    table = np.stack([np.frombuffer(column, np.uint32) for column in ways], axis=1)
    narrow = table.astype(np.min_scalar_type(int(table.max())))
    flat = graph.add("Squeeze", [code, graph.constant(f"{code}.axis", np.array([1], np.int64))])
    return graph.cast(graph.add("Gather", [graph.constant(f"{code}.ways", narrow), flat], axis=0), graph.element)


def _add_walk(graph: _Graph, walk: _Walk, matrix: str, place: NDArray[np.int64]) -> str:
    """Add the tree ensemble; its leaves weigh what the row of the tables is where samples end."""
    tests = walk.reached()
    n_tests = tests.size
    number = np.zeros(len(walk.column), np.int64)
    number[tests] = np.arange(n_tests)
    ways = np.array([walk.if_true, walk.if_false], np.int64).T[tests].ravel() if n_tests else np.array([walk.root], np.int64)
    is_end = ways < 0
    n_nodes = n_tests + int(is_end.sum())
    child = np.where(is_end, n_tests - 1 + np.cumsum(is_end), number[np.maximum(ways, 0)] if n_tests else 0)
    leaves = np.arange(n_tests, n_nodes)

    def at_tests(values: NDArray[Any]) -> list[int]:
        padded = np.zeros(n_nodes, np.int64)
        padded[:n_tests] = values[:n_tests]
        return padded.tolist()

    thresholds = np.zeros(n_nodes)
    thresholds[:n_tests] = np.array(walk.threshold)[tests]
    numbers: dict[str, Any] = {"nodes_values": thresholds, "target_weights": (~ways[is_end]).astype(np.float64)}
    if graph.dtype == np.float32:
        numbers = {name: values.tolist() for name, values in numbers.items()}
    else:
        numbers = {f"{name}_as_tensor": graph.onnx.numpy_helper.from_array(values, name) for name, values in numbers.items()}
    score = graph.add(
        "TreeEnsembleRegressor",
        [matrix],
        ml=True,
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=[0] * n_nodes,
        nodes_nodeids=list(range(n_nodes)),
        nodes_modes=["BRANCH_LEQ"] * n_tests + ["LEAF"] * leaves.size,
        nodes_featureids=at_tests(place[np.array(walk.column, np.int64)[tests]]),
        nodes_truenodeids=at_tests(child[0::2]),
        nodes_falsenodeids=at_tests(child[1::2]),
        nodes_missing_value_tracks_true=at_tests(np.array(walk.missing_true)[tests]),
        target_treeids=[0] * leaves.size,
        target_nodeids=leaves.tolist(),
        target_ids=[0] * leaves.size,
        **numbers,
    )
    row = graph.cast(score, graph.onnx.TensorProto.INT64)
    return graph.add("Squeeze", [row, graph.constant("fasttree.axis", np.array([1], np.int64))])


def _add_refusal(graph: _Graph, masks: list[str], row: str, n_rows: int) -> str:
    """Add that a sample which must not be answered is looked up beyond the tables: by ONNX that is an error."""
    together = graph.cast(graph.add("Concat", masks, axis=1), graph.onnx.TensorProto.FLOAT)
    worst = graph.cast(graph.add("ReduceMax", [together], axes=[1], keepdims=0), graph.onnx.TensorProto.BOOL)
    return graph.add("Where", [worst, graph.constant("fasttree.refused", np.array(n_rows, np.int64)), row])


def _add_outputs(graph: _Graph, subject: Subject, rows: NDArray[np.float64], row: str, node_name: str) -> None:
    if subject.classes is None:
        _add_output(graph, "variable", rows.astype(graph.dtype), row, node_name)
        return
    if subject.tree.outputs is None:
        _add_classes(graph, "", rows, best_classes(rows, subject.tree.loss), subject.classes, row, node_name)
        return
    for k, (part, classes) in enumerate(zip(subject.tree.by_output(rows), subject.classes, strict=True)):
        _add_classes(graph, f"_{k}", part, part.argmax(axis=1), classes, row, node_name)


def _add_classes(
    graph: _Graph, suffix: str, shares: NDArray[np.float64], answer: NDArray[np.intp], classes: Any, row: str, node_name: str
) -> None:
    texts = [label for label in np.asarray(classes).tolist() if isinstance(label, str)]
    _check_texts(texts)
    cut = next((label for label in texts if "\0" in label), None)
    if cut is not None:
        raise ValueError(f"the class {cut!r} cannot be an output of ONNX: runtimes end a text at the character 0; rename it")
    labels = np.array(np.asarray(classes).tolist())
    labels = labels.astype({"U": object, "i": np.int64}.get(labels.dtype.kind, labels.dtype))
    _add_output(graph, f"label{suffix}", labels[answer], row, node_name)
    _add_output(graph, f"probabilities{suffix}", shares.astype(graph.dtype), row, node_name)


def _add_output(graph: _Graph, wanted: str, table: NDArray[Any], row: str, node_name: str) -> None:
    """Add an output that is looked up in a table."""
    name = graph.name(wanted)
    values = graph.constant(f"fasttree.{wanted}", table)
    element = graph.constants[-1].data_type
    graph.add("Gather", [values, row], output=name, node_name=f"{node_name} ({wanted})", axis=0)
    graph.add_output(name, element, [None, *table.shape[1:]])


def _serialized(graph: _Graph, subject: Subject, notes: Sequence[str]) -> bytes:
    helper = graph.onnx.helper
    described = f"Decision tree ({subject.algorithm}) of {subject.tree.node_count} nodes, grown by fasttree."
    model = helper.make_model(
        helper.make_graph(graph.nodes, "decision tree", graph.inputs, graph.outputs, graph.constants),
        producer_name="fasttree",
        producer_version=__version__,
        model_version=1,
        ir_version=IR_VERSION,
        doc_string=" ".join([described, *(f"{note[0].upper()}{note[1:]}." for note in notes)]),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", graph.ml_opset)],
    )
    names = json.dumps([feature.name for feature in subject.schema.features], ensure_ascii=False)
    recorded = {"notes": "; ".join(notes)} if notes else {}
    helper.set_model_props(model, {"algorithm": subject.algorithm, "features": names, **recorded})
    if model.ByteSize() > MOST_BYTES:
        raise ValueError(f"the model has {model.ByteSize()} bytes; an ONNX file holds at most {MOST_BYTES}: prune the tree")
    graph.onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())
