"""A tree as a JSON document: one flat object that people and other programs can read.

A document lists the nodes column by column, then the values and the tests.  Thresholds of ordinal features count categories from
0 (codes count from 1).  Numbers have the fewest digits that are read back as the same double.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Feature, Kind, Schema, default_target_names
from fasttree._export.document import linear, significance
from fasttree._export.document.values import (
    FORMAT,
    KIND_NAMES,
    MAX_NESTING,
    OTHER_DTYPES,
    VERSION,
    DocumentError,
    short,
    written_scalars,
)
from fasttree._model.arrays import CATEGORY, INTERVALS, NOMINAL, SHARES, STOP, THRESHOLD
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.surrogates import Surrogates
from fasttree._model.tested import ProvenTree, TestedTree
from fasttree._model.tree import Tree, best_classes


class Model(NamedTuple):
    """A tree and what is needed to use it; `classes` is None for regression, and a list for several targets."""

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
    """Describe a tree by the lists, dicts, numbers and strings of JSON.

    A test is of kind "threshold", "nominal" (categories per branch), "category" (a branch for each declared category, in their
    order), "known" (known values to child 0, missing ones to child 1) or "intervals" (the number of "cuts" below a value is its
    child).  The first three may have an extra last child for missing values alone.  If "soft_thresholds" is true, every threshold
    has a "lower" and an "upper" limit.  If "surrogates" is true, every test has a list of tests of other features, to be tried in
    order if its own value is missing, before "missing" applies; values up to the threshold go to child "low_child", others to the
    other child.  The nodes have a column "estimated_errors" if the tree has them.  A target has a "loss", with a row per true
    class, unless all wrong classes cost 1.  "models" are the linear models of the nodes, if they have any.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        Features of the training table.
    classes : array, shape (k,), or None
        Class labels (text, integers, finite floats or booleans); None for regression; a list for several targets.
    settings : mapping
        Parameters, as a record: objects unknown to JSON, such as random generators, are written as their `repr`, tuples as lists.
    algorithm : str
        Name of the recipe.
    target_names : list of str or None, default None
        Names of the targets; None for y, or y0, y1, ...
    library_version : str
        Version of the library that wrote the document.

    Returns
    -------
    dict
        The document, equal to the result of `loads` for its `dumps`.

    Raises
    ------
    DocumentError
        If tree, schema and classes do not fit one another, or have values that a document cannot hold.
    """
    check_names(schema)
    try:
        tree.check()
        check_fit(tree, schema)
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
        target |= written_classes(classes, tree.n_values)
        nodes["label"] = best_classes(tree.value, tree.loss).tolist()
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
        **({"significance": significance.written(tree.tests)} if isinstance(tree, TestedTree) else {}),
        **({"proof": tree.proof._asdict()} if isinstance(tree, ProvenTree) else {}),
        **({"models": linear.written(tree)} if isinstance(tree, ModelTree) else {}),
    }


def written_table(schema: Schema, targets: list[dict[str, Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Write the entries of the table, the targets and the settings of a fit."""
    return {
        "has_names": schema.has_names,
        "features": [_written_feature(feature) for feature in schema.features],
        "targets": targets,
        "settings": {name: _written_setting(value, f"settings[{name!r}]") for name, value in settings.items()},
    }


def _written_feature(feature: Feature) -> dict[str, Any]:
    written: dict[str, Any] = {"name": feature.name, "kind": feature.kind.name.lower()}
    if feature.categories is not None:
        type_name, categories = written_scalars(feature.categories, f"the categories of {feature.name!r}")
        written["categories"] = categories
        if type_name != "str":
            written["type"] = type_name
    return written


def _write_classes_of_several(targets: list[dict[str, Any]], tree: Tree, classes: Any) -> None:
    """Add the classes to the entries of several targets, whose columns of the values are side by side."""
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
    type_name, labels = written_scalars(classes.tolist(), "classes")
    written: dict[str, Any] = {"classes": labels}
    if type_name != "str":
        written["type"] = type_name
    if classes.dtype.name in OTHER_DTYPES:
        written["dtype"] = classes.dtype.name
    return written


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
        # keys such as class labels need not be text: a list of pairs distinguishes 1 and "1"
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
    categories_start, code, branch_of = (
        getattr(tree, name).tolist() for name in ("categories_start", "categories_code", "categories_branch")
    )
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
            for entry in range(categories_start[node], categories_start[node + 1]):
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
        if tree.by_hand is not None and tree.by_hand[node]:
            test["by_hand"] = True
        if tree.surrogates is not None:
            test["surrogates"] = []
        tests.append(test)
    if tree.surrogates is not None:
        _write_surrogates(tests, tree, tree.surrogates, ordinal)
    return tests


def _write_surrogates(tests: list[dict[str, Any]], tree: Tree, surrogates: Surrogates, ordinal: list[bool]) -> None:
    """Add the surrogates to the lists of their tests."""
    test_of = np.cumsum(tree.n_branches > 0) - 1
    columns = (getattr(surrogates, name).tolist() for name in ("feature", "kind", "threshold", "low_branch"))
    figures = (surrogates.agreement.tolist(), surrogates.adjusted.tolist())
    start, codes, branches = (
        getattr(surrogates, name).tolist() for name in ("categories_start", "categories_code", "categories_branch")
    )
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


def check_fit(tree: Tree, schema: Schema) -> None:
    """Verify that every test fits its feature."""
    if tree.n_features != len(schema.features):
        raise ValueError(f"the tree knows {tree.n_features} features, the schema {len(schema.features)}")
    inner = np.flatnonzero(tree.n_branches)
    feature, kind, threshold, n_branches, missing = (
        getattr(tree, name)[inner] for name in ("feature", "kind", "threshold", "n_branches", "missing")
    )
    _check_tests_fit(schema, inner, feature, kind, threshold, np.diff(tree.categories_start)[inner], tree.categories_code)
    n_categories = np.array([len(feature.categories or ()) for feature in schema.features])[feature]
    fits = (n_branches == n_categories) | ((n_branches == n_categories + 1) & (missing == n_categories))
    if (broken := (kind == CATEGORY) & ~fits).any():
        rule = "a category test must have a branch for each declared category, and may have one more for missing values"
        raise ValueError(f"node {inner[broken.argmax()]}: {rule}")
    if tree.cut_start is not None and tree.cut is not None:
        owner = np.repeat(np.arange(tree.node_count), np.diff(tree.cut_start))
        by_threshold = np.full(owner.size, THRESHOLD, np.uint8)
        none = np.zeros(owner.size, np.int64)
        _check_tests_fit(schema, owner, tree.feature[owner], by_threshold, tree.cut, none, tree.categories_code[:0])
    if (stand_ins := tree.surrogates) is not None:
        sizes = np.diff(stand_ins.categories_start)
        _check_tests_fit(
            schema, stand_ins.node, stand_ins.feature, stand_ins.kind, stand_ins.threshold, sizes, stand_ins.categories_code
        )


def _check_tests_fit(
    schema: Schema,
    node: npt.NDArray[np.intp],
    feature: npt.NDArray[np.int32],
    kind: npt.NDArray[np.uint8],
    threshold: npt.NDArray[np.float64],
    categories_size: npt.NDArray[np.int64],
    categories_code: npt.NDArray[np.uint32],
) -> None:
    """Verify that tests, given as columns, fit their features."""
    all_n_categories = np.array([len(feature.categories or ()) for feature in schema.features])
    # Not an array that is compared with members of Kind: NumPy would ask the class of a member for a method.  That is Python in
    # CPython 3.11, and NumPy discards whatever it raises, such as an interrupt.
    continuous, ordinal, nominal = (
        np.array([each.kind == which for each in schema.features], dtype=bool)[feature] for which in Kind
    )
    n_categories = all_n_categories[feature]
    by_category = (kind == NOMINAL) | (kind == CATEGORY)
    on_ordinal = (kind == THRESHOLD) & ordinal
    rules = [
        ((kind == THRESHOLD) & nominal, "a threshold test needs a continuous or ordinal feature"),
        (by_category & continuous, "a test of categories needs a nominal or ordinal feature"),
        (
            on_ordinal & ~((threshold >= 1) & (threshold < n_categories)),
            "a threshold on an ordinal feature must lie between its categories",
        ),
    ]
    for broken, rule in rules:
        if broken.any():
            raise ValueError(f"node {node[broken.argmax()]}: {rule}")
    undeclared = categories_code > np.repeat(n_categories, categories_size)
    if undeclared.any():
        owner = np.repeat(node, categories_size)[undeclared.argmax()]
        raise ValueError(f"node {owner}: the test has a category that its feature does not have")


def check_range(tree: Tree) -> None:
    """Verify that sums and products of a tree's finite numbers are finite, too."""
    if tree.weight[0] == 0:
        raise ValueError("node 0: the root must have positive weight")
    for name in ("gain", "impurity"):
        if not np.isfinite(np.abs(tree.weight * getattr(tree, name)).sum()):
            raise ValueError(f"weight times {name} must sum to a finite number over all nodes")
    if tree.loss is not None and not np.isfinite(tree.value.max() * tree.loss.sum()):
        raise ValueError("the class weights times the loss must be finite")
