"""Trees and forests as ONNX models, for onnxruntime and other runtimes.

The walk is a `TreeEnsembleRegressor` of tests ``x <= t`` only, the form on which all runtimes agree.  It does not sum
probabilities, but finds a row of tables that hold labels, probabilities and means.  These are therefore exact, of any type, and
do not depend on a runtime's rules for ties, two classes or rounding.

A forest is one ensemble with a target for each tree, its row.  The predictions of the trees are then added in their order.

A feature with categories enters the walk as a column per partition of them, which holds the number of each category's part.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Category, Feature
from fasttree._export.additive.onnx import lower_additive, rows_of_terms
from fasttree._export.additive.subject import AdditiveSubject
from fasttree._export.committees.onnx import add_committee, lower_committee
from fasttree._export.committees.subject import CommitteeSubject
from fasttree._export.onnx_parts.formulas import add_formulas
from fasttree._export.onnx_parts.graph import Graph
from fasttree._export.onnx_parts.walk import Walk, lower
from fasttree._export.subject import Formulas, Subject, formulas_of
from fasttree._export.substitutes import Medium, adapt
from fasttree._export.votes.joined import check_votes, default_of
from fasttree._model.arrays import STOP, distinct_rows
from fasttree._model.tree import EQUAL_LOSSES, Tree, best_classes
from fasttree._version import __version__

__all__ = ["export_additive_onnx", "export_committee_onnx", "export_forest_onnx", "export_onnx", "export_voting_onnx"]

ONNX = Medium("ONNX model", "makes the run fail")
DTYPES = ("float32", "float64")
MOST_ROWS = 2**24  # a tree ensemble returns the row as float32
MOST_BYTES = 2**31 - 1  # of a protobuf message
REMEDIES = {
    "decision tree": "prune the tree",
    "forest": "grow fewer or smaller trees",
    "additive model": "fit it with a smaller max_bins or fewer interactions",
    "rules": "fit with fewer committees or a smaller max_rules",
}
OPSET, ML_OPSET_OF_DOUBLE_KEYS, IR_VERSION = 15, 4, 8


def export_onnx(subject: Subject, *, dtype: str = "float32", missing: str | None = None, soft: str | None = None) -> bytes:
    """Write a tree as an ONNX model, which `Exports.export_onnx` describes.

    Parameters
    ----------
    subject : Subject
    dtype : {"float32", "float64"}, default "float32"
        Dtype of inputs and outputs that are numbers.
    missing, soft
        Substitutes, as for `adapt`.

    Returns
    -------
    bytes
        The model, checked by the package onnx.

    Raises
    ------
    ValueError
        If the tree needs a substitute that is not given, is too large, or has categories that `dtype` cannot hold.
    ImportError
        If the package onnx is not installed.
    """
    return _exported([subject], dtype, missing, soft, is_forest=False)


def export_forest_onnx(
    subjects: Sequence[Subject], *, dtype: str = "float32", missing: str | None = None, soft: str | None = None
) -> bytes:
    """Write a forest as an ONNX model, which `ForestViews.export_onnx` describes.

    Parameters
    ----------
    subjects : sequence of Subject
        The trees of one model, at least one.
    dtype, missing, soft
        As for `export_onnx`.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError, ImportError
        As `export_onnx`.
    """
    return _exported(subjects, dtype, missing, soft, is_forest=True)


def export_voting_onnx(
    subjects: Sequence[Subject], *, dtype: str = "float32", missing: str | None = None, soft: str | None = None
) -> bytes:
    """Write trees that vote with the shares of their classes, as boosted trees; see `export_forest_onnx`.

    Raises
    ------
    ValueError, ImportError
        As `export_onnx`; also if the trees have costs, whose votes are no shares.
    """
    check_votes(subjects[0].tree, "ONNX")
    return _exported(subjects, dtype, missing, soft, is_forest=True, by_vote=True)


def export_additive_onnx(subject: AdditiveSubject, *, dtype: str = "float32") -> bytes:
    """Write an additive model as an ONNX model, which `AdditiveViews.export_onnx` describes; errors as `export_onnx`."""
    _check_dtype(dtype)
    rows = rows_of_terms(subject)
    if len(rows) >= MOST_ROWS:
        raise ValueError(f"the model has {len(rows)} bins; an ONNX model must have fewer than {MOST_ROWS}")
    graph, walk = Graph(_imported_onnx(), dtype), Walk()
    lower_additive(walk, subject, single=dtype == "float32")
    checks = _Checks(missing=False, unseen=subject.refuses_unseen)
    row = _add_walk(graph, walk, *_add_inputs(graph, subject, walk, checks))
    if checks.masks:
        row = _add_refusal(graph, checks.masks, row, len(rows), keep_axis=True)
    node_name = "an unseen category is refused" if checks.masks else "look up"
    score = _add_sum(graph, "scores", rows, row, node_name, len(walk.roots))
    if subject.classes is None:
        _name_output(graph, "variable", score, [None, 1])
    else:
        best, shares = _add_shares(graph, score, subject.model.link == "logit")
        _add_output(graph, "label", _written_labels(subject.classes), best, "look up")
        _name_output(graph, "probabilities", shares, [None, len(subject.classes)])
    return _serialized(graph, subject, f"Additive model of {len(subject.model.terms)} terms", [])


def export_committee_onnx(subject: CommitteeSubject, *, dtype: str = "float32") -> bytes:
    """Write rules with models as an ONNX model, which `CommitteeViews.export_onnx` describes; errors as `export_onnx`."""
    _check_dtype(dtype)
    graph, walk = Graph(_imported_onnx(), dtype), Walk()
    lower_committee(walk, subject, single=dtype == "float32")
    checks = _Checks(missing=False, unseen=subject.refuses_unseen)
    row = _add_walk(graph, walk, *_add_inputs(graph, subject, walk, checks))
    if checks.masks:
        row = _add_refusal(graph, checks.masks, row, 2, keep_axis=True)
    answers = graph.constant("fasttree.answers", np.array([False, True]))
    holds = graph.add("Gather", [answers, row], node_name="an unseen category is refused", axis=0)
    _name_output(graph, "variable", add_committee(graph, subject, holds), [None, 1])
    return _serialized(graph, subject, "Rules with linear models", [])


def _add_shares(graph: Graph, score: str, is_logit: bool) -> tuple[str, str]:
    """Add the class of each row, and the probabilities: of the log odds of the second of two classes, or of scores."""
    if not is_logit:
        return _add_best(graph, score, None), graph.add("Softmax", [score], axis=1)
    zero, one = (graph.constant(f"fasttree.{name}", np.array(value)) for name, value in (("zero", 0.0), ("one", 1.0)))
    size = graph.add("Exp", [graph.add("Neg", [graph.add("Abs", [score])])])
    total = graph.add("Add", [size, one])
    smaller, larger = graph.add("Div", [size, total]), graph.add("Div", [one, total])
    is_second = graph.add("Greater", [score, zero])
    parts = [graph.add("Where", [is_second, *pair]) for pair in ((smaller, larger), (larger, smaller))]
    flat = graph.add("Squeeze", [is_second, graph.constant("fasttree.axis", np.array([1], np.int64))])
    return graph.cast(flat, graph.onnx.TensorProto.INT64), graph.add("Concat", parts, axis=1)


def _check_dtype(dtype: str) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"dtype={dtype!r}: must be 'float32' or 'float64'")


def _exported(
    subjects: Sequence[Subject], dtype: str, missing: str | None, soft: str | None, *, is_forest: bool, by_vote: bool = False
) -> bytes:
    _check_dtype(dtype)
    plan = _planned(subjects, missing, soft, is_forest=is_forest)
    onnx = _imported_onnx()
    subject, n_rows = subjects[0], len(plan.rows)
    if n_rows >= MOST_ROWS:
        what = "forest" if is_forest else "tree"
        raise ValueError(f"the {what} has {n_rows} different predictions; an ONNX model must have fewer than {MOST_ROWS}")
    walk = Walk()
    for tree, row_of in zip(plan.trees, plan.row_of, strict=True):
        lower(walk, tree, subject.schema.features, row_of, single=dtype == "float32")

    graph = Graph(onnx, dtype)
    checks = _Checks(subject.refuses_missing and missing != "majority", subject.refuses_unseen)
    if plan.formulas is not None:
        checks.indicated |= {feature for feature, code in zip(plan.formulas.features, plan.formulas.codes, strict=True) if code}
    matrix, place = _add_inputs(graph, subject, walk, checks)
    row = _add_walk(graph, walk, matrix, place)
    if not is_forest:
        row = graph.add("Squeeze", [row, graph.constant("fasttree.axis", np.array([1], np.int64))])
    if checks.masks:
        row = _add_refusal(graph, checks.masks, row, n_rows, keep_axis=is_forest)
    refuses = checks.masks or plan.refuses
    node_name = "a missing value or an unseen category is refused" if refuses else "look up"
    if plan.formulas is not None:
        value = add_formulas(graph, subject.schema, plan.formulas, plan.rows, row, node_name)
        _name_output(graph, "variable", value, [None, plan.formulas.n_targets])
    elif by_vote:
        _add_votes(graph, subject, plan.rows, row, node_name, len(subjects))
    elif is_forest:
        _add_means(graph, subject, plan.rows, row, node_name, len(subjects))
    else:
        _add_outputs(graph, subject, plan.rows, row, node_name)
    n_nodes = sum(each.tree.node_count for each in subjects)
    what = f"Forest ({subject.algorithm}) of {len(subjects)} trees with {n_nodes} nodes" if is_forest else ""
    what = what or f"Decision tree ({subject.algorithm}) of {n_nodes} nodes"
    return _serialized(graph, subject, what, plan.notes)


@dataclass
class _Plan:
    """Trees that ONNX can express.

    Parameters
    ----------
    trees : list of Tree
    row_of : list of array
        For each tree, the row of the prediction of each end; ``len(rows)`` where there must be no prediction.
    rows : array of float64, shape (n_rows, k)
        Distinct predictions.
    refuses : bool
        Whether an end must get no prediction.
    notes : list of str
        Differences from the trees of the model.
    formulas : Formulas or None
        Linear models of the ends of a tree, if they have some; `rows` are then theirs.
    """

    trees: list[Tree]
    row_of: list[NDArray[np.int64]]
    rows: NDArray[np.float64]
    refuses: bool
    notes: list[str]
    formulas: Formulas | None


def _planned(subjects: Sequence[Subject], missing: str | None, soft: str | None, *, is_forest: bool) -> _Plan:
    trees, refused, ends, predictions, notes = [], [], [], [], dict[str, None]()
    for i, subject in enumerate(subjects):
        try:
            adapted = adapt(subject, ONNX, missing=missing, soft=soft)
        except ValueError as error:
            raise ValueError(f"tree {i}: {error}" if is_forest else str(error)) from None
        tree, without = adapted.subject.tree, adapted.refused
        if subject.refuses_missing and missing != "majority":  # anywhere in the row, as in `predict`; the nodes need no test
            tree, without = tree.replace(missing=subject.tree.missing), np.zeros_like(without)
        trees.append(tree)
        refused.append(without)
        ends.append(np.flatnonzero((tree.n_branches == 0) | (tree.missing == STOP)))
        # from the original tree: the shares of a tree that divides samples are rounded differently
        formulas = formulas_of(subject.tree, ends[-1])
        predictions.append(subject.tree.predict_nodes()[ends[-1]] if formulas is None else formulas.rows)
        notes |= dict.fromkeys(adapted.notes)
    stacked = np.concatenate(predictions)
    kept, row_of_end = distinct_rows(stacked)
    row_of, start = [], 0
    for without, here in zip(refused, ends, strict=True):
        rows = np.zeros(len(without), np.int64)
        rows[here] = row_of_end[start : start + len(here)]
        row_of.append(np.where(without, len(kept), rows))
        start += len(here)
    return _Plan(trees, row_of, stacked[kept], any(without.any() for without in refused), list(notes), formulas)


def _imported_onnx() -> Any:
    """Return the package onnx, or raise an ImportError that says how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("export_onnx needs the package onnx, which is not installed: pip install 'fasttree[onnx]'") from error
    return onnx


# The graph


@dataclass
class _Checks:
    """What is read of cells beside the tree's tests.

    Parameters
    ----------
    missing, unseen : bool
        Whether such cells make a run fail.
    masks : list of str
        Boolean columns, true where a run fails.
    indicated : set of int
        Features of whose categories indicators are needed.
    """

    missing: bool
    unseen: bool
    masks: list[str] = field(default_factory=list)
    indicated: set[int] = field(default_factory=set)


def _add_inputs(
    graph: Graph, subject: Subject | AdditiveSubject | CommitteeSubject, walk: Walk, checks: _Checks
) -> tuple[str, NDArray[np.int64]]:
    """Add inputs and the matrix that the walk reads; return its name and the position of each column of the walk in it."""
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
        elif feature.categories and (mine or checks.missing or checks.unseen or j in checks.indicated):
            code = graph.codes[j] = _add_code(graph, feature, name, checks)
            if mine:
                parts.append(_add_ways(graph, code, [ways for ways, _ in mine]))
    if not parts:  # the tree is a leaf; only the number of rows matters
        length = graph.add("Shape", [names[0]])
        zero = graph.onnx.numpy_helper.from_array(np.zeros(1, graph.dtype))
        parts.append(graph.add("ConstantOfShape", [length], value=zero))
    return graph.add("Concat", parts, axis=1), place


def _add_input_per_feature(graph: Graph, features: Sequence[Feature]) -> list[str]:
    """Add a column for each feature: of text if its categories are text, else of numbers."""
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
            raise ValueError(f"{text!r} cannot be written in ONNX: it is not valid Unicode; rename it") from None


def _add_code(graph: Graph, feature: Feature, name: str, checks: _Checks) -> str:
    """Add the number of each cell's category; it is the number of categories for missing cells, -1 for unseen ones.

    Both of the latter look up the last row of a table.
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


def _add_ways(graph: Graph, code: str, ways: list[bytes]) -> str:
    """Add a column for each partition of the categories of a feature."""
    table = np.stack([np.frombuffer(column, np.uint32) for column in ways], axis=1)
    narrow = table.astype(np.min_scalar_type(int(table.max())))
    flat = graph.add("Squeeze", [code, graph.constant(f"{code}.axis", np.array([1], np.int64))])
    return graph.cast(graph.add("Gather", [graph.constant(f"{code}.ways", narrow), flat], axis=0), graph.element)


def _add_walk(graph: Graph, walk: Walk, matrix: str, place: NDArray[np.int64]) -> str:
    """Add the tree ensemble, whose targets are the trees: the weights of its leaves are rows of the tables."""
    place = np.append(place, 0)[np.array([*walk.column, -1], np.int64)]  # of each test, and of leaves
    threshold, missing_true = np.array([*walk.threshold, 0.0]), np.array([*walk.missing_true, False])
    way = np.array([walk.if_true, walk.if_false], np.int64).T
    number = np.zeros(len(walk.column) + 1, np.int64)
    parts: dict[str, list[NDArray[Any]]] = {}
    for tree, root in enumerate(walk.roots):
        tests = walk.reached(root)
        n_tests = tests.size
        number[tests] = np.arange(n_tests)
        ways = way[tests].ravel() if n_tests else np.array([root], np.int64)
        is_end = ways < 0
        leaves = n_tests + np.arange(int(is_end.sum()))
        child = np.where(is_end, n_tests - 1 + np.cumsum(is_end), number[np.maximum(ways, 0)])
        at, none = np.append(tests, np.full(leaves.size, -1)), np.zeros_like(leaves)
        columns = {
            "nodes_treeids": np.full(at.size, tree),
            "nodes_nodeids": np.arange(at.size),
            "nodes_featureids": place[at],
            "nodes_values": threshold[at],
            "nodes_truenodeids": np.append(child[0::2], none) if n_tests else none,
            "nodes_falsenodeids": np.append(child[1::2], none) if n_tests else none,
            "nodes_missing_value_tracks_true": missing_true[at].astype(np.int64),
            "nodes_modes": at >= 0,
            "target_treeids": np.full(leaves.size, tree),
            "target_nodeids": leaves,
            "target_ids": np.full(leaves.size, tree),
            "target_weights": (~ways[is_end]).astype(np.float64),
        }
        for name, column in columns.items():
            parts.setdefault(name, []).append(column)
    numbers: dict[str, Any] = {name: np.concatenate(columns) for name, columns in parts.items()}
    modes = ["BRANCH_LEQ" if is_test else "LEAF" for is_test in numbers.pop("nodes_modes").tolist()]
    for name in ("nodes_values", "target_weights") if graph.dtype == np.float64 else ():
        numbers[f"{name}_as_tensor"] = graph.onnx.numpy_helper.from_array(numbers.pop(name), name)
    numbers = {name: values.tolist() if isinstance(values, np.ndarray) else values for name, values in numbers.items()}
    score = graph.add(
        "TreeEnsembleRegressor",
        [matrix],
        ml=True,
        n_targets=len(walk.roots),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_modes=modes,
        **numbers,
    )
    return graph.cast(score, graph.onnx.TensorProto.INT64)


def _add_refusal(graph: Graph, masks: list[str], row: str, n_rows: int, *, keep_axis: bool) -> str:
    """Make samples that must get no prediction look up a row beyond the tables, which is an error in ONNX."""
    together = graph.cast(graph.add("Concat", masks, axis=1), graph.onnx.TensorProto.FLOAT)
    worst = graph.cast(graph.add("ReduceMax", [together], axes=[1], keepdims=int(keep_axis)), graph.onnx.TensorProto.BOOL)
    return graph.add("Where", [worst, graph.constant("fasttree.refused", np.array(n_rows, np.int64)), row])


def _add_outputs(graph: Graph, subject: Subject, rows: NDArray[np.float64], row: str, node_name: str) -> None:
    if subject.classes is None:
        _add_output(graph, "variable", rows.astype(graph.dtype), row, node_name)
        return
    if subject.tree.outputs is None:
        _add_classes(graph, "", rows, best_classes(rows, subject.tree.loss), subject.classes, row, node_name)
        return
    for k, (part, classes) in enumerate(zip(subject.tree.by_output(rows), subject.classes, strict=True)):
        _add_classes(graph, f"_{k}", part, part.argmax(axis=1), classes, row, node_name)


def _add_classes(
    graph: Graph, suffix: str, shares: NDArray[np.float64], answer: NDArray[np.intp], classes: Any, row: str, node_name: str
) -> None:
    _add_output(graph, f"label{suffix}", _written_labels(classes)[answer], row, node_name)
    _add_output(graph, f"probabilities{suffix}", shares.astype(graph.dtype), row, node_name)


def _written_labels(classes: Any) -> NDArray[Any]:
    texts = [label for label in np.asarray(classes).tolist() if isinstance(label, str)]
    _check_texts(texts)
    cut = next((label for label in texts if "\0" in label), None)
    if cut is not None:
        raise ValueError(f"the class {cut!r} cannot be written in ONNX: runtimes end a text at the character 0; rename it")
    labels = np.array(np.asarray(classes).tolist())
    return labels.astype({"U": object, "i": np.int64}.get(labels.dtype.kind, labels.dtype))


def _add_output(graph: Graph, wanted: str, table: NDArray[Any], row: str, node_name: str) -> None:
    """Add an output that looks up a table."""
    name = graph.name(wanted)
    values = graph.constant(f"fasttree.{wanted}", table)
    element = graph.constants[-1].data_type
    graph.add("Gather", [values, row], output=name, node_name=f"{node_name} ({wanted})", axis=0)
    graph.add_output(name, element, [None, *table.shape[1:]])


def _add_means(graph: Graph, subject: Subject, rows: NDArray[np.float64], row: str, node_name: str, n_trees: int) -> None:
    """Add outputs from the means of the predictions of the trees, which are added in their order as double numbers."""
    several = subject.tree.outputs is not None
    if subject.classes is None:
        mean = _add_mean(graph, "variable", rows, row, node_name, n_trees)
        _name_output(graph, "variable", mean, [None, rows.shape[1]])
        return
    for k, part in enumerate(subject.tree.by_output(rows)):
        suffix, classes = (f"_{k}", subject.classes[k]) if several else ("", subject.classes)
        mean = _add_mean(graph, f"probabilities{suffix}", part, row, node_name, n_trees)
        best = _add_best(graph, mean, subject.tree.loss)
        _add_output(graph, f"label{suffix}", _written_labels(classes), best, "look up")
        _name_output(graph, f"probabilities{suffix}", mean, [None, part.shape[1]])


def _add_votes(graph: Graph, subject: Subject, rows: NDArray[np.float64], row: str, node_name: str, n_trees: int) -> None:
    """Add the class with the most votes, and the shares of the votes; ties go to the class of the root of `subject`."""
    n_classes, default = rows.shape[1], default_of(subject.tree)
    given = np.where(np.arange(n_classes) == rows.argmax(axis=1)[:, None], rows, 0.0)
    votes = _add_sum(graph, "probabilities", given, row, node_name, n_trees)
    order = np.array([default, *(k for k in range(n_classes) if k != default)], np.int64)  # the first of ties is chosen
    ordered = graph.add("Gather", [votes, graph.constant("fasttree.order", order)], axis=1)
    _add_output(graph, "label", _written_labels(subject.classes)[order], _add_best(graph, ordered, None), "look up")
    sums = graph.add("CumSum", [votes, graph.constant("fasttree.classes", np.array(1, np.int64))])
    total = graph.add("Gather", [sums, graph.constant("fasttree.last_class", np.array([n_classes - 1], np.int64))], axis=1)
    _name_output(graph, "probabilities", graph.add("Div", [votes, total]), [None, n_classes])


def _add_best(graph: Graph, shares: str, loss: NDArray[np.float64] | None) -> str:
    """Add the class of each row as `best_classes` chooses it."""
    if loss is not None:
        expected = graph.add("MatMul", [shares, graph.constant("fasttree.loss", np.ascontiguousarray(loss, np.float64))])
        least = graph.add("ReduceMin", [expected], axes=[1], keepdims=1)
        largest = graph.add("Mul", [least, graph.constant("fasttree.equal_losses", np.array(1 + EQUAL_LOSSES))])
        shares = graph.cast(graph.add("LessOrEqual", [expected, largest]), graph.onnx.TensorProto.FLOAT)
    return graph.add("ArgMax", [shares], axis=1, keepdims=0)


def _add_mean(graph: Graph, name: str, table: NDArray[np.float64], row: str, node_name: str, n_trees: int) -> str:
    total = _add_sum(graph, name, table, row, node_name, n_trees)
    return graph.add("Div", [total, graph.constant(f"fasttree.{name}.n_trees", np.array(float(n_trees)))])


def _add_sum(graph: Graph, name: str, table: NDArray[np.float64], row: str, node_name: str, n_trees: int) -> str:
    values = graph.add("Gather", [graph.constant(f"fasttree.{name}", table), row], node_name=f"{node_name} ({name})", axis=0)
    # a cumulative sum has an order, unlike a sum
    sums = graph.add("CumSum", [values, graph.constant(f"fasttree.{name}.trees", np.array(1, np.int64))])
    return graph.add("Gather", [sums, graph.constant(f"fasttree.{name}.last", np.array(n_trees - 1, np.int64))], axis=1)


def _name_output(graph: Graph, wanted: str, source: str, shape: list[int | None]) -> None:
    name = graph.name(wanted)
    graph.add("Cast", [source], output=name, to=graph.element)
    graph.add_output(name, graph.element, shape)


def _serialized(graph: Graph, subject: Subject | AdditiveSubject | CommitteeSubject, what: str, notes: Sequence[str]) -> bytes:
    helper = graph.onnx.helper
    name = next(kind for kind in REMEDIES if what.lower().startswith(kind))
    described = f"{what}, grown by fasttree."
    model = helper.make_model(
        helper.make_graph(graph.nodes, name, graph.inputs, graph.outputs, graph.constants),
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
        raise ValueError(f"the model has {model.ByteSize()} bytes; an ONNX file holds at most {MOST_BYTES}: {REMEDIES[name]}")
    graph.onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString())
