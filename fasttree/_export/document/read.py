"""Reading of a tree from a JSON document.

A document is not trusted: every length, index and number is checked before use, and every fault raises one `DocumentError`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Feature, Kind, Schema, default_target_names, too_wide
from fasttree._engine.passes import breadth_first
from fasttree._export.document import linear, significance
from fasttree._export.document.values import (
    DEFAULT_DTYPES,
    FORMAT,
    KINDS,
    MAX_NESTING,
    MAX_NODES,
    MAX_SUM,
    OTHER_DTYPES,
    VERSION,
    DocumentError,
    as_index,
    as_number,
    as_type,
    differ,
    entry_of,
    read_floats,
    read_integers,
    read_scalars,
    short,
)
from fasttree._export.document.write import Model, check_fit, check_names, check_range
from fasttree._model.arrays import INTERVALS, LEAF, NOMINAL, SHARES, STOP, TASKS, THRESHOLD
from fasttree._model.check import SUM_TOLERANCE
from fasttree._model.surrogates import DTYPES, Surrogates
from fasttree._model.tested import Proof, ProvenTree, TestedTree
from fasttree._model.tree import Tree, best_classes

# Reading


def from_document(document: Any) -> Model:
    """Read a tree from a document.

    Nodes may have any order in which children follow their parent and siblings are adjacent; the tree numbers them breadth first.
    Entries unknown to this version are ignored, and those that older versions did not write may be missing.

    Parameters
    ----------
    document : dict
        As returned by `to_document` or `loads`.  It is not modified.

    Returns
    -------
    Model
        The tuple (tree, schema, classes, settings, algorithm, target_names).  The tree is checked.

    Raises
    ------
    DocumentError
        If the format or its major version is unknown, or an entry is missing, malformed, inconsistent or not supported.
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
        return Model(read_tree(document, task, schema, sum(outputs), None, outputs), schema, labels, settings, algorithm, names)
    classes = read_classes(targets[0]) if task == "classification" else None
    loss = None if classes is None else read_loss(targets[0], len(classes))
    tree = read_tree(document, task, schema, 1 if classes is None else len(classes), loss)
    return Model(tree, schema, classes, settings, algorithm, names)


def check_format(document: dict[str, Any], versions: Mapping[str, str]) -> str:
    """Return the document's format; raise a DocumentError unless it is one of `versions`, of the same major version."""
    name = document.get("format")
    if not isinstance(name, str) or name not in versions:
        raise DocumentError(f"format: must be {' or '.join(map(repr, versions))}; got {short(name)}")
    given, major = entry_of(document, "version", str), versions[name].split(".")[0]
    if not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", given) or given.split(".")[0] != major:
        raise DocumentError(f"version: this library reads {major}.x; got {short(given)}")
    as_type(document.get("library", ""), str, "library")
    return name


def read_table(document: dict[str, Any]) -> tuple[Schema, list[dict[str, Any]], dict[str, Any]]:
    """Read the schema, the targets and the settings of a fit."""
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
    """Return the names of the targets from `read_table`."""
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
            categories = tuple(read_scalars(entry, "categories", where))
        features.append(Feature(name, kind, categories))
    schema = Schema(tuple(features), as_type(document.get("has_names", True), bool, "has_names"))
    check_names(schema)
    return schema


def read_classes(target: dict[str, Any]) -> npt.NDArray[Any]:
    labels = read_scalars(target, "classes", "targets[0]")
    if not labels:
        raise DocumentError("targets[0].classes: must not be empty")
    dtype = DEFAULT_DTYPES.get(target.get("type", "str"), "str")
    if "dtype" in target:
        dtype = target["dtype"]
        if dtype not in OTHER_DTYPES:
            raise DocumentError(f"targets[0].dtype: must be one of {', '.join(OTHER_DTYPES)}; got {short(dtype)}")
    if dtype == "str" and too_wide(labels):
        raise DocumentError(f"targets[0].classes: one label is so long that an array of all {len(labels)} would be too large")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype)
    except (OverflowError, ValueError):
        classes = None
    # compare types as well: True equals 1
    if classes is None or [(type(label), label) for label in classes.tolist()] != [(type(label), label) for label in labels]:
        raise DocumentError(f"targets[0].classes: do not fit the dtype {dtype}")
    return classes


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
    if not differ([_read_setting(key, where) for key, _ in pairs], f"{where}: keys of items"):
        raise DocumentError(f"{where}: a key occurs twice in items")
    return {key: _read_setting(entry, where, nesting + 1) for key, entry in pairs}


def read_loss(target: dict[str, Any], n_classes: int) -> npt.NDArray[np.float64] | None:
    if "loss" not in target:
        return None
    rows = entry_of(target, "loss", list, "targets[0]")
    if len(rows) != n_classes:
        raise DocumentError(f"targets[0].loss: must have a row per class, {n_classes}; got {len(rows)}")
    return _read_rows(rows, n_classes, "targets[0].loss")


@np.errstate(over="ignore", invalid="ignore")  # numbers that overflow are found by the checks
def read_tree(
    document: dict[str, Any],
    task: str,
    schema: Schema,
    n_columns: int,
    loss: npt.NDArray[np.float64] | None,
    outputs: tuple[int, ...] | None = None,
) -> Tree:
    with_labels = task == "classification" and outputs is None
    values = entry_of(document, "values", list)
    integers, floats = _read_columns(entry_of(document, "nodes", dict), values, with_labels)
    value = _read_rows(values, n_columns, "values")
    _check_numbering(**{name: integers[name] for name in ("parent", "first_child", "n_branches")})
    soft = as_type(document.get("soft_thresholds", False), bool, "soft_thresholds")
    given = entry_of(document, "tests", list)
    tests = _read_tests(given, integers, floats["weight"], schema, soft=soft)
    given_tests = significance.read(document, len(values), len(schema.features))
    proof = _read_proof(entry_of(document, "proof", dict)) if "proof" in document else None
    with_surrogates = as_type(document.get("surrogates", False), bool, "surrogates")
    surrogates = _read_surrogates(given, integers, schema) if with_surrogates else None
    if with_labels and (wrong := integers["label"] != best_classes(value, loss)).any():
        best = "heaviest class" if loss is None else "class of least expected loss"
        raise DocumentError(
            f"nodes.label: node {wrong.argmax()} must have the {best}, the first of ties: others are not supported"
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
        check_fit(tree, schema)
        check_range(tree)
        order = breadth_first(integers["first_child"].astype(np.int32), integers["n_branches"].astype(np.int32)).tolist()
        if given_tests is not None:
            tree = TestedTree.of(tree, [given_tests[node] for node in order])
        tree = linear.with_models(tree, document, order, [len(feature.categories or ()) for feature in schema.features])
        if proof is not None:
            tree = ProvenTree.of(tree, proof)
    except ValueError as error:
        raise DocumentError(f"the tree is broken (nodes numbered breadth first): {error}") from None
    return tree


def _read_proof(entry: dict[str, Any]) -> Proof:
    cost, low = (as_number(entry.get(name), f"proof.{name}") for name in ("objective", "lower_bound"))
    n_leaves = as_index(entry.get("n_leaves"), MAX_NODES, "proof.n_leaves")
    proof = Proof(cost, low, entry_of(entry, "status", str, "proof"), n_leaves)
    try:
        proof.check()
    except ValueError as error:
        raise DocumentError(f"proof.{error}") from None
    return proof


def _read_columns(
    nodes: dict[str, Any], values: list[Any], with_labels: bool
) -> tuple[dict[str, npt.NDArray[np.int64]], dict[str, npt.NDArray[np.float64]]]:
    """Return the columns of integers and of floats, all of one length, which is that of `values`."""
    integer_names = ["parent", "first_child", "n_branches", "test", "n_samples"] + ["label"] * with_labels
    float_names = ["weight", "impurity"] + ["estimated_errors"] * ("estimated_errors" in nodes)
    columns = {name: entry_of(nodes, name, list, "nodes") for name in (*integer_names, *float_names)}
    n_nodes = len(columns["parent"])
    if not 1 <= n_nodes <= MAX_NODES:
        raise DocumentError(f"nodes: must be 1 to {MAX_NODES}; got {n_nodes}")
    for name, column in (*columns.items(), ("values", values)):
        if len(column) != n_nodes:
            raise DocumentError(f"{name}: has {len(column)} entries; nodes.parent has {n_nodes}")
    integers = {name: read_integers(columns[name], f"nodes.{name}") for name in integer_names}
    if integers["n_samples"].max() > (most := MAX_SUM // n_nodes):
        raise DocumentError(f"nodes.n_samples: must be at most {most} in a tree of {n_nodes} nodes")
    return integers, {name: read_floats(columns[name], f"nodes.{name}") for name in float_names}


def _read_rows(rows: list[Any], n_columns: int, where: str) -> npt.NDArray[np.float64]:
    for i, row in enumerate(rows):
        if type(row) is not list or len(row) != n_columns:
            raise DocumentError(f"{where}[{i}]: must be a list of {n_columns} number(s); got {short(row)}")
    return read_floats(list(chain.from_iterable(rows)), where).reshape(len(rows), n_columns)


def _check_numbering(
    parent: npt.NDArray[np.int64], first_child: npt.NDArray[np.int64], n_branches: npt.NDArray[np.int64]
) -> None:
    """Verify that the nodes are one tree: siblings are adjacent, and children follow their parent, which excludes cycles."""
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
    # if two of the n - 1 children coincide, a node other than the root has no parent
    if (expected[1:] == -1).any() or (parent != expected).any():
        node = int(((parent != expected) | ((expected == -1) & (ids > 0))).argmax())
        raise DocumentError(f"nodes.parent: node {node}: must be the node whose child it is; -1 at the root")


def _read_tests(
    tests: list[Any], nodes: dict[str, npt.NDArray[np.int64]], weight: npt.NDArray[np.float64], schema: Schema, *, soft: bool
) -> dict[str, npt.NDArray[Any]]:
    """Read the tests into columns over the nodes for `Tree.from_growth`."""
    inner = np.flatnonzero(nodes["n_branches"])
    test_of = nodes["test"][inner]
    if (np.delete(nodes["test"], inner) != -1).any() or not np.array_equal(np.sort(test_of), np.arange(len(tests))):
        raise DocumentError(f"nodes.test: each of the {len(tests)} tests must belong to one inner node; -1 at a leaf")
    feature, kind, missing, gain, by_hand, sizes = [], [], [], [], [], []
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
        by_hand.append(as_type(test.get("by_hand", False), bool, f"{where}.by_hand"))
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

    categories_size, cut_size = over_nodes(sizes, np.int64, 0), over_nodes(n_cuts, np.int64, 0)
    return {
        "feature": over_nodes(feature, np.int32, -1),
        "kind": over_nodes(kind, np.uint8, LEAF),
        **{name: over_nodes(column, np.float64, math.nan) for name, column in thresholds.items()},
        "missing": over_nodes(missing, np.int32, STOP),
        "gain": over_nodes(gain, np.float64, 0.0),
        "by_hand": over_nodes(by_hand, np.bool_, False),
        "categories_start": np.cumsum(categories_size) - categories_size,
        "categories_size": categories_size,
        "categories_code": read_integers(codes, "tests: branches") + 1,
        "categories_branch": np.array(branch_of, np.int32),
        "cut_start": np.cumsum(cut_size) - cut_size,
        "cut_size": cut_size,
        "cut": np.array(cuts, np.float64),
    }


def _read_surrogates(
    tests: list[dict[str, Any]], nodes: dict[str, npt.NDArray[np.int64]], schema: Schema
) -> dict[str, npt.NDArray[Any]]:
    """Read the surrogates of checked tests as the columns of `Surrogates`, in the order of the nodes."""
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
        "categories_start": np.append(0, np.cumsum(np.array(sizes, np.int64))),
        "categories_code": read_integers(codes, "surrogates: branches") + 1,
        "categories_branch": np.array(branches, np.int32),
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
    """Read a threshold or cut of a continuous feature, or of the codes of an ordinal one."""
    given = as_number(entry, where)
    if feature.kind != Kind.ORDINAL:
        return given
    threshold = given + 1.0
    if threshold - 1.0 != given:
        raise DocumentError(f"{where}: {given!r} is too fine for an ordinal feature; use a multiple of 0.5")
    return threshold


def _read_branches(test: dict[str, Any], n_branches: int, where: str) -> list[tuple[int, int]]:
    """Read the pairs of category index and branch, in ascending order."""
    branches = entry_of(test, "branches", list, where)
    if len(branches) != n_branches:
        raise DocumentError(f"{where}.branches: has {len(branches)} branches, but its node has {n_branches}")
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
        shares = read_floats(entry_of(entry, "shares", list, f"{where}.missing"), f"{where}.missing.shares").tolist()
        total = sum(weights)
        if len(shares) != len(weights) or not all(
            abs(share * total - weight) <= SUM_TOLERANCE * total for share, weight in zip(shares, weights, strict=True)
        ):
            raise DocumentError(
                f"{where}.missing.shares: must be the shares of the children in the weight; others are not supported"
            )
    else:
        raise DocumentError(f"{where}.missing.to: this version reads child, shares, stop; got {short(to)}")
    unseen = test.get("unseen", "as_missing")
    same = [{"stop": "stop"}.get(to), {"child": missing} if to == "child" else None]
    if unseen is None or unseen not in ("as_missing", *same):
        raise DocumentError(f"{where}.unseen: must be 'as_missing' or equal to missing; got {short(unseen)}")
    return missing
