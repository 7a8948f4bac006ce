"""A tree, or some trees of a forest, as one self-contained web page, from the template, style and scripts of this folder.

The page holds the tree itself, not a picture of it: a browser folds, prunes and walks it.  Numbers that a prediction needs are
written exactly, others are rounded.  The page uses no network, and its policy forbids it.  This file knows no estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._data.table import Table
from fasttree._explain.page.charts import chart_data, split_data
from fasttree._explain.page.common.cells import WHOLE, features_data, numbers_of, rows_data
from fasttree._explain.page.common.document import assembled
from fasttree._explain.page.linear.models import check_one_target, error_of_models, model_data
from fasttree._explain.pictures.charts import ChartSamples
from fasttree._explain.pictures.colours import NUMERIC, class_colour
from fasttree._explain.pictures.style import Style
from fasttree._learn import samples
from fasttree._learn.grow.competing import CompetingSplit
from fasttree._learn.prune import methods
from fasttree._learn.prune.losses import losses
from fasttree._learn.prune.sequence import weakest_links
from fasttree._model.arrays import INTERVALS, NOMINAL, THRESHOLD
from fasttree._model.fold import opened
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.surrogates import Surrogates
from fasttree._model.tested import TestedTree, branch_tests, merge_texts, proof_text, reason_text, rival_cells
from fasttree._model.tree import Tree
from fasttree._model.walks import decision_path
from fasttree._model.words import Classes, Words, check_count

__all__ = ["Given", "export_html", "tree_data", "written_page"]

AT_FIRST = 64  # nodes that are unfolded at first, if the screen shows them at a readable size
MOST_ROWS = 200
MOST_TESTS = 40  # features, and merges, of a node
ERRORS = {
    "squared_error": "mean squared error",
    "absolute_error": "mean absolute error",
    "poisson": "half the mean Poisson deviance",
    "fifth_root": "mean squared error",
}
# One script, in this order.  Some parts are only in pages with data for them: of a tree with models or with a test, of samples.
SCRIPTS = (
    *("common/numbers", "common/elements", "model", "words", "shown", "drawing", "panels", "linear/formulas", "choices"),
    *("charts", "splits", "views", "significance", "events"),
)
ONLY_WITH = {
    "linear/formulas": "models",
    "charts": "charts",
    "splits": "splits",
    "views": "feature",
    "significance": "significance",
}
STYLES = {
    "page": "model",
    "samples": "charts splits",
    "views": "views",
    "linear/formulas": "linear/formulas",
}  # by parts that need them


@dataclass(frozen=True)
class Given:
    """Samples for a page: some of them can be followed, and the errors of the pruned trees are measured on all.

    Parameters
    ----------
    table : Table
    target : array, shape (n_samples,) or (n_samples, n_targets), or None
        Class codes, or float64 targets; None if they are unknown.
    class_factor : float64 array, shape (n_classes,), or None
        Weight of a sample of each class.
    competing : function or None
        Returns the competing splits of a node, which some of these samples reach.
    """

    table: Table
    target: npt.NDArray[Any] | None = None
    class_factor: npt.NDArray[np.float64] | None = None
    competing: Callable[[int], Sequence[CompetingSplit]] | None = None


def export_html(tree: Tree, schema: Schema, classes: Classes = None, **how: Any) -> str:
    """Write the page of one tree; parameters and errors are those of `tree_data`."""
    data = tree_data(tree, schema, classes, **how)
    return written_page(data["title"], [data])


def tree_data(
    tree: Tree,
    schema: Schema,
    classes: Classes = None,
    *,
    title: str = "Decision tree",
    given: Given | None = None,
    max_rows: int = MOST_ROWS,
    max_depth: int | None = None,
    max_nodes: int | None = None,
    max_categories: int = 12,
    decimals: int = 2,
    impurity: str = "squared_error",
    risk: str = "impurity",
    targets: Sequence[str] = (),
    style: Style | None = None,
) -> dict[str, Any]:
    """Return the data of a tree in its page; see `Views.export_html`.

    Parameters
    ----------
    tree, schema, classes
        See `Words`.
    title : str, default "Decision tree"
    given : Given or None, default None
    max_rows : int, default 200
        Maximum number of the samples to embed.
    max_depth, max_nodes : int or None, default None
        Limits of what is unfolded at first, see `fold.opened`; if both are None, as many nodes as are readable on the screen, 64
        at most.
    max_categories, decimals : int
        See `Words`.
    impurity : str, default "squared_error"
        Impurity that a regression tree was grown by.
    risk : {"impurity", "error"}, default "impurity"
        Risk of the sequence of pruned trees.
    targets : sequence of str, default ()
        Names of the targets.
    style : Style or None, default None
        Colours of the classes, or of means; None: those of all pictures.

    Raises
    ------
    ValueError
        If a number is out of range, `schema` or `classes` does not fit the tree, or leaves have models of several targets.
    """
    check_count("max_rows", max_rows, 0)
    check_one_target(tree)
    title = title.encode("utf-8", "replace").decode("utf-8")  # file names may contain lone surrogates, a page may not
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals, targets=targets)
    is_asked = max_depth is not None or max_nodes is not None
    is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes if is_asked else AT_FIRST)
    return {
        "title": f"{title} ({proof})" if (proof := proof_text(words)) else title,
        "task": tree.task,
        "decimals": words.decimals,
        "meanDecimals": words.mean_decimals if tree.task == "regression" else None,
        "weighsLittle": words.weighs_little,
        "maxCategories": words.max_categories,
        "features": features_data(schema, words.names, words.categories),
        "targets": _targets(tree, words, style),
        **_nodes(tree),
        **_tests(tree, words),
        "surrogates": _surrogates(tree, words),
        "models": model_data(tree, words),
        **_significance(words),
        "loss": None if tree.loss is None else tree.loss.tolist(),
        "divides": tree.divides,
        "subtrees": _subtrees(tree, given, impurity, risk),
        "open": np.flatnonzero(is_open).tolist(),
        "openIsAsked": is_asked,
        "rows": None if given is None else _rows(tree, given, words, int(max_rows)),
    } | _samples(tree, given, np.flatnonzero(is_open), impurity)


def written_page(title: str, pages: Sequence[dict[str, Any]]) -> str:
    """Write the page of a tree, or of several, of which the reader chooses one; these have a number each."""
    needed = [part for part in SCRIPTS if part not in ONLY_WITH or any(_has(data, ONLY_WITH[part]) for data in pages)]
    styles = [name for name, parts in STYLES.items() if not set(parts.split()).isdisjoint(needed)]
    data = pages[0] if "number" not in pages[0] else {"trees": pages}
    return assembled(title, data, template="page", scripts=needed, styles=styles)


def _has(data: dict[str, Any], name: str) -> bool:
    return data.get(name) not in (None, [])


def _targets(tree: Tree, words: Words, style: Style | None) -> list[dict[str, Any]]:
    """Return names, classes and colours of the targets; for colours of a style also the largest opacity below text."""
    found: list[dict[str, Any]] = []
    for target, name in enumerate(words.targets):
        if tree.task == "regression":
            classes, colours = None, [NUMERIC if style is None else style.numeric]
        else:
            columns = words.columns[target]
            classes = words.labels[columns]
            places = range(columns.start, columns.stop)
            colours = [class_colour(i - columns.start) if style is None else style.colour(i) for i in places]
        found.append({"name": name, "classes": classes, "colours": colours})
        if style is not None:
            found[-1]["fullest"] = [round(style.opacity(colour, 1.0), 3) for colour in colours]
    return found


def _nodes(tree: Tree) -> dict[str, Any]:
    """Return the figures of the nodes."""
    return {
        "branches": tree.n_branches.tolist(),
        "samples": tree.n_samples.tolist(),
        "weight": None if np.array_equal(tree.weight, tree.n_samples) else numbers_of(tree.weight),
        "value": _values(tree),
        "impurity": _rounded(tree.impurity),
        "gain": _rounded(tree.gain[tree.n_branches > 0]),
        "byHand": [] if tree.by_hand is None else np.flatnonzero(tree.by_hand).tolist(),
    }


def _values(tree: Tree) -> list[Any]:
    """Return the means of each node; or column and weight of each class present, or 0 for the sum of its children."""
    if tree.task == "regression":
        return [numbers_of(row) for row in tree.value]
    return _class_weights(tree, tree.value, tree.weight)


def _class_weights(tree: Tree, value: npt.NDArray[np.float64], weight: npt.NDArray[Any]) -> list[Any]:
    full = value * (weight > 0)[:, None]
    sums = np.zeros_like(full)
    np.add.at(sums, tree.parent[1:], full[1:])
    whole = bool((full == np.rint(full)).all()) and float(full.max()) < WHOLE
    summed = (sums == value).all(axis=1) & (tree.n_branches > 0) & whole
    return [0 if known else _pairs(row) for known, row in zip(summed.tolist(), value, strict=True)]


def _pairs(row: npt.NDArray[np.float64]) -> list[Any]:
    present = np.flatnonzero(row)
    return [item for pair in zip(present.tolist(), numbers_of(row[present]), strict=True) for item in pair]


def _rounded(array: npt.NDArray[np.float64]) -> list[float]:
    return [float(f"{number:.6g}") for number in array.tolist()]


def _tests(tree: Tree, words: Words) -> dict[str, Any]:
    """Return the tests of the inner nodes; each list is in the order of the nodes with an entry in it."""
    inner = np.flatnonzero(tree.n_branches)
    by_threshold = np.flatnonzero(tree.kind == THRESHOLD)
    soft = tree.lower is not None and tree.upper is not None
    limits = (tree.lower[by_threshold], tree.upper[by_threshold]) if soft else None  # type: ignore[index]
    tables = [_table(tree, node) for node in np.flatnonzero(tree.kind == NOMINAL).tolist()]
    places = [tree.cuts_of(node).tolist() for node in np.flatnonzero(tree.kind == INTERVALS).tolist()]
    cut_features = tree.feature[tree.kind == INTERVALS].tolist()
    return {
        "feature": tree.feature[inner].tolist(),
        "kind": tree.kind[inner].tolist(),
        "missing": tree.missing[inner].tolist(),
        "threshold": numbers_of(tree.threshold[by_threshold]),
        "thresholdText": _texts(words, tree.feature[by_threshold].tolist(), tree.threshold[by_threshold].tolist()),
        "soft": None if limits is None else [numbers_of(limit) for limit in limits],
        "table": tables,
        "cuts": places,
        "cutText": [_texts(words, [feature] * len(cuts), cuts) for feature, cuts in zip(cut_features, places, strict=True)],
    }


def _table(tests: Tree | Surrogates, owner: int) -> list[list[int]]:
    """Return codes and branches of the categories that a test knows."""
    codes, branches = tests.categories_of(owner)
    return [codes.tolist(), branches.tolist()]


def _texts(words: Words, features: list[int], thresholds: list[float]) -> list[str | int]:
    """Return the texts of thresholds; 0 if a browser writes the number the same way."""
    texts = [words.threshold_text(*pair) for pair in zip(features, thresholds, strict=True)]
    return [0 if _as_browsers(threshold) == text else text for threshold, text in zip(thresholds, texts, strict=True)]


def _as_browsers(number: float) -> str:
    """Return a number as JavaScript writes it, or "" if its exponent is written differently."""
    text = repr(number).removesuffix(".0")
    return "" if "e" in text else text


def _surrogates(tree: Tree, words: Words) -> dict[str, Any] | None:
    s = tree.surrogates
    if s is None or not len(s):
        return None
    by_threshold = np.flatnonzero(s.kind == THRESHOLD)
    return {
        "node": s.node.tolist(),
        "feature": s.feature.tolist(),
        "kind": s.kind.tolist(),
        "threshold": numbers_of(s.threshold[by_threshold]),
        "thresholdText": _texts(words, s.feature[by_threshold].tolist(), s.threshold[by_threshold].tolist()),
        "low": s.low_branch[by_threshold].tolist(),
        "table": [_table(s, i) for i in np.flatnonzero(s.kind == NOMINAL).tolist()],
        "agreement": _rounded(s.agreement),
        "adjusted": _rounded(s.adjusted),
    }


def _significance(words: Words) -> dict[str, list[dict[str, Any]]]:
    """Return the significance tests of each node; nothing for a tree without tests.

    `test` has two texts for the branches, or none with their `reason`.  `rivals` are the other features, the best first, each as
    a list of cells, and `merges` are texts; `more` counts the features that are left out, `moreMerges` the merges.
    """
    if not isinstance(words.tree, TestedTree):
        return {}
    found = []
    for node in range(words.tree.node_count):
        rivals, merges = rival_cells(words, node), merge_texts(words, node)
        found.append(
            {
                "test": branch_tests(words, node),
                "reason": reason_text(words, node),
                "rivals": rivals[:MOST_TESTS],
                "more": max(len(rivals) - MOST_TESTS, 0),
                "merges": merges[:MOST_TESTS],
                "moreMerges": max(len(merges) - MOST_TESTS, 0),
            }
        )
    return {"significance": found}


def _subtrees(tree: Tree, given: Given | None, impurity: str, risk: str) -> dict[str, Any]:
    """Return the sequence of cost-complexity pruning: an entry for the tree itself, then one per subtree down to the root.

    A tree with models has the first entry alone, without its training error, because that pruning compares constants.
    """
    if isinstance(tree, ModelTree):
        known = None if given is None or given.target is None else error_of_models(tree, given.table, given.target)
        return {
            "alpha": [0],
            "risk": risk,
            "leaves": [int(tree.n_leaves)],
            "collapsed": [[]],
            "errorName": _error_name(tree, impurity),
            "isShare": False,
            "error": [],
            "given": None if known is None else [known],
        }
    sequence = weakest_links(tree, risk=risk)
    first = 0 if sequence.n_pruned(0.0) else 1
    at = np.append(-np.inf, sequence.steps[first:])
    counts_errors = tree.task == "classification" and tree.outputs is None
    found = {
        "alpha": numbers_of(np.maximum(at, 0.0)),  # exact, because the page writes code that prunes by them
        "risk": risk,
        "leaves": sequence.n_leaves(at).tolist(),
        "collapsed": [[], *(nodes.tolist() for nodes in sequence.collapsed()[first:])],
        "errorName": _error_name(tree, impurity),
        "isShare": counts_errors and tree.loss is None,
        "error": _errors(sequence.sums(methods.risk_per_weight(tree, "error" if counts_errors else "impurity"), at)),
    }
    if given is None or given.target is None or tree.outputs is not None:
        return found | {"given": None}
    judged = losses(tree, samples.Samples(given.table, given.target, class_factor=given.class_factor, impurity=impurity))
    total = given.table.n_samples if given.class_factor is None else float(given.class_factor[given.target].sum())
    return found | {"given": _errors(sequence.sums(judged.loss, at, judged.stopped_loss) / total)}


def _errors(sums: npt.NDArray[np.float64]) -> list[float]:
    """Return the errors of the subtrees, the root last; values that only rounding distinguishes from 0 become 0."""
    return _rounded(np.where(sums < 1e-12 * sums[-1], 0.0, sums))


def _error_name(tree: Tree, impurity: str) -> str:
    if tree.task == "regression":
        return ERRORS[impurity]
    if tree.outputs is not None:
        return "mean impurity"
    return "error" if tree.loss is None else "cost per sample"


def _rows(tree: Tree, given: Given, words: Words, max_rows: int) -> dict[str, Any] | None:
    """Return some samples, with cells only in the columns that the tree uses."""
    target = given.target
    truth = None if target is None or target.ndim > 1 else lambda chosen: _truth(tree, target[chosen], words)
    return rows_data(given.table, _used(tree), truth, max_rows)


def _used(tree: Tree) -> list[int]:
    """Return the features that a prediction may need, ascending."""
    if isinstance(tree, ModelTree):
        return tree.used
    features = tree.feature if tree.surrogates is None else np.append(tree.feature, tree.surrogates.feature)
    found: list[int] = np.unique(features[features >= 0]).tolist()
    return found


def _samples(tree: Tree, given: Given | None, shown: npt.NDArray[np.intp], impurity: str) -> dict[str, Any]:
    """Return values and charts of the nodes, and the competing splits of those shown at first; None for what is absent."""
    if given is None or given.target is None:
        return {"given": None, "charts": None, "splits": None}
    path = decision_path(tree, given.table)
    by_target = [ChartSamples(given.table, target, path) for target in np.atleast_2d(given.target.T)]
    charts = [chart_data(tree, reached, target) for target, reached in enumerate(by_target)]
    reached = by_target[0]
    found: dict[str, Any] = {
        "given": _values_on(tree, given, reached, impurity),
        "charts": None if None in charts else charts,
        "splits": None,
    }
    if given.competing is not None:
        nodes = [node for node in shown.tolist() if reached.rows(node).size]
        found["splits"] = [split_data(tree, reached, node, given.competing(node)) for node in nodes] or None
    return found


def _values_on(tree: Tree, given: Given, reached: ChartSamples, impurity: str) -> dict[str, Any] | None:
    """Return the number of samples in each node, and their classes or means; None for the samples of the fit.

    They are None as well if the fit had weights, which these samples lack.
    """
    assert given.target is not None
    if given.class_factor is None and not tree.divides and not np.array_equal(tree.weight, tree.n_samples):
        return None
    rows = [reached.rows(node) for node in range(tree.node_count)]
    n_samples = np.array(list(map(len, rows)))
    if not n_samples[0] or np.array_equal(n_samples, tree.n_samples):
        return None
    target = np.atleast_2d(given.target.T).T
    if tree.task == "regression":
        middle = np.median if impurity == "absolute_error" else np.mean
        values: list[Any] = [_rounded(middle(target[each], axis=0)) if each.size else [0] * tree.n_values for each in rows]
        return {"samples": n_samples.tolist(), "value": values}
    starts = np.cumsum([0, *(tree.outputs or ())[:-1]])
    value = np.array([np.bincount((target[each] + starts).ravel(), minlength=tree.n_values) for each in rows], dtype=np.float64)
    if given.class_factor is not None:
        value = np.array([_rounded(row) for row in value * given.class_factor])
    return {"samples": n_samples.tolist(), "value": _class_weights(tree, value, n_samples)}


def _truth(tree: Tree, target: npt.NDArray[Any], words: Words) -> list[Any]:
    return [words.labels[code] for code in target.tolist()] if tree.task == "classification" else numbers_of(target)
