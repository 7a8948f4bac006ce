"""A tree as one web page that needs nothing else: its data here, its template, style and script in the folder ``page``.

The page holds the tree itself, not a picture of it: a browser folds, prunes and walks it.  So all that a prediction needs goes
into the data exactly, and what is only read is rounded.  The page asks no network for anything, and is told not to.  This file
knows no estimators.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _prune, _sequence
from .._fold import opened
from .._surrogates import Surrogates
from .._table import Kind, Schema, Table
from .._tree import INTERVALS, NOMINAL, THRESHOLD, Tree
from .._words import Classes, Words, check_count
from .colours import DARK, LIGHT, NUMERIC, class_colour

__all__ = ["Given", "export_html"]

AT_FIRST = 64  # nodes that are open at first, on a screen that shows them at a size to be read
MOST_ROWS = 200
WHOLE = 2**53  # sums of integers up to here are exact, in whatever order
ERRORS = {
    "squared_error": "mean squared error",
    "absolute_error": "mean absolute error",
    "poisson": "half the mean Poisson deviance",
}
_MARKS = re.compile(r"\{\{(\w+)\}\}")
# Comments between lines, and behind a line: no text in the files looks like them.
_COMMENTS = (re.compile(r"^\s*(/\*.*?\*/|//[^\n]*)\s*$", re.DOTALL | re.MULTILINE), re.compile(r" +// .*$", re.MULTILINE))


@dataclass(frozen=True)
class Given:
    """Samples that go with a page: some of them can be followed, and all judge the pruned trees.

    Parameters
    ----------
    table : Table
    target : array, shape (n_samples,), or None
        Class codes, or float64 targets; None: they are not known.
    class_factor : float64 array, shape (n_classes,), or None
        What a sample of each class counts.
    """

    table: Table
    target: npt.NDArray[Any] | None = None
    class_factor: npt.NDArray[np.float64] | None = None


def export_html(
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
) -> str:
    """Write the page; see `Views.export_html`.

    Parameters
    ----------
    tree, schema, classes
        As for `Words`.
    title : str, default "Decision tree"
    given : Given or None, default None
    max_rows : int, default 200
        Of the samples given, to embed.
    max_depth, max_nodes : int or None, default None
        What is open at first, as for `_fold.opened`; with neither, as many nodes as
        the screen shows at a size to be read, 64 at most.
    max_categories, decimals : int
        As for `Words`.
    impurity : str, default "squared_error"
        What a regression tree lost in its growth.
    risk : {"impurity", "error"}, default "impurity"
        By which the sequence of pruned trees goes.

    Raises
    ------
    ValueError
        If a number is out of range, or `schema` or `classes` does not fit the tree.
    """
    check_count("max_rows", max_rows, 0)
    title = title.encode("utf-8", "replace").decode("utf-8")  # names of files may have half characters, as no page can
    words = Words(tree, schema, classes, max_categories=max_categories, decimals=decimals)
    is_asked = max_depth is not None or max_nodes is not None
    is_open = opened(tree, max_depth=max_depth, max_nodes=max_nodes if is_asked else AT_FIRST)
    data = {
        "title": title,
        "task": tree.task,
        "decimals": words.decimals,
        "weighsLittle": words.weighs_little,
        "maxCategories": words.max_categories,
        "features": _features(schema, words),
        "targets": _targets(tree, words),
        **_nodes(tree),
        **_tests(tree, words),
        "surrogates": _surrogates(tree, words),
        "loss": None if tree.loss is None else tree.loss.tolist(),
        "divides": tree.divides,
        "subtrees": _subtrees(tree, given, impurity, risk),
        "open": np.flatnonzero(is_open).tolist(),
        "openIsAsked": is_asked,
        "rows": None if given is None else _rows(tree, given, words, int(max_rows)),
    }
    return _fill(title, data)


def _fill(title: str, data: dict[str, Any]) -> str:
    """Put everything into the template; what is put in is not looked through for marks."""
    folder = resources.files(__package__)
    template, style, script = ((folder / f"page.{kind}").read_text(encoding="utf-8") for kind in ("html", "css", "js"))
    style, script = _variables() + _lean(style), _lean(script)
    # no script and no style but these, and no connection to anywhere
    policy = f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; "
    policy += "base-uri 'none'; form-action 'none'"
    # "<" cannot end the element that holds the data, nor begin another
    embedded = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    parts = {"title": html.escape(title), "policy": policy, "style": style, "script": script, "data": embedded}
    return _MARKS.sub(lambda mark: parts[mark[1]], template)


def _lean(code: str) -> str:
    """Style or script without its comments and indentation, which are for those who change it."""
    for comment in _COMMENTS:
        code = comment.sub("", code)
    return "".join(f"{line.strip()}\n" for line in code.splitlines() if line.strip())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _variables() -> str:
    """The colours of all pictures, as the style's own: light and dark."""
    pairs = zip(vars(LIGHT).items(), vars(DARK).values(), strict=True)
    return f":root {{ {' '.join(f'--{name}: light-dark({light}, {dark});' for (name, light), dark in pairs)} }}\n"


def _features(schema: Schema, words: Words) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "ordinal": feature.kind is Kind.ORDINAL,
            "categories": None if feature.kind is Kind.CONTINUOUS else categories,
        }
        for feature, name, categories in zip(schema.features, words.names, words.categories, strict=True)
    ]


def _targets(tree: Tree, words: Words) -> list[dict[str, Any]]:
    if tree.task == "regression":
        return [{"classes": None, "colours": [NUMERIC]} for _ in words.columns]
    labels = [words.labels[columns] for columns in words.columns]
    return [{"classes": each, "colours": [class_colour(i) for i in range(len(each))]} for each in labels]


def _nodes(tree: Tree) -> dict[str, Any]:
    """What nodes know of their samples."""
    return {
        "branches": tree.n_branches.tolist(),
        "samples": tree.n_samples.tolist(),
        "weight": None if np.array_equal(tree.weight, tree.n_samples) else _numbers(tree.weight),
        "value": _values(tree),
        "impurity": _rounded(tree.impurity),
        "gain": _rounded(tree.gain[tree.n_branches > 0]),
    }


def _values(tree: Tree) -> list[Any]:
    """Of each node its means; or column, weight, column, weight of the classes that have some; 0: the sum of its children's."""
    if tree.task == "regression":
        return [_numbers(row) for row in tree.value]
    full = tree.value * (tree.weight > 0)[:, None]
    sums = np.zeros_like(full)
    np.add.at(sums, tree.parent[1:], full[1:])
    whole = bool((full == np.rint(full)).all()) and float(full.max()) < WHOLE
    summed = (sums == tree.value).all(axis=1) & (tree.n_branches > 0) & whole
    return [0 if known else _pairs(row) for known, row in zip(summed.tolist(), tree.value, strict=True)]


def _pairs(row: npt.NDArray[np.float64]) -> list[Any]:
    present = np.flatnonzero(row)
    return [item for pair in zip(present.tolist(), _numbers(row[present]), strict=True) for item in pair]


def _numbers(array: npt.NDArray[Any]) -> list[float | int]:
    """Exact, and as short as can be: whole numbers without a point."""
    return [int(number) if number.is_integer() and abs(number) < WHOLE else number for number in array.tolist()]


def _rounded(array: npt.NDArray[np.float64]) -> list[float]:
    return [float(f"{number:.6g}") for number in array.tolist()]


def _tests(tree: Tree, words: Words) -> dict[str, Any]:
    """What inner nodes ask, each list in the order of the nodes that have an entry in it."""
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
        "threshold": _numbers(tree.threshold[by_threshold]),
        "thresholdText": _texts(words, tree.feature[by_threshold].tolist(), tree.threshold[by_threshold].tolist()),
        "soft": None if limits is None else [_numbers(limit) for limit in limits],
        "table": tables,
        "cuts": places,
        "cutText": [_texts(words, [feature] * len(cuts), cuts) for feature, cuts in zip(cut_features, places, strict=True)],
    }


def _table(tests: Tree | Surrogates, owner: int) -> list[list[int]]:
    """Codes and branches of the categories that a test knows."""
    codes, branches = tests.table_of(owner)
    return [codes.tolist(), branches.tolist()]


def _texts(words: Words, features: list[int], thresholds: list[float]) -> list[str | int]:
    """Words of thresholds; 0 where a browser would write the number the same way."""
    texts = [words.threshold_text(*pair) for pair in zip(features, thresholds, strict=True)]
    return [0 if _as_browsers(threshold) == text else text for threshold, text in zip(thresholds, texts, strict=True)]


def _as_browsers(number: float) -> str:
    """How JavaScript writes a number, or nothing where its exponents differ from Python's."""
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
        "threshold": _numbers(s.threshold[by_threshold]),
        "thresholdText": _texts(words, s.feature[by_threshold].tolist(), s.threshold[by_threshold].tolist()),
        "low": s.low_branch[by_threshold].tolist(),
        "table": [_table(s, i) for i in np.flatnonzero(s.kind == NOMINAL).tolist()],
        "agreement": _rounded(s.agreement),
        "adjusted": _rounded(s.adjusted),
    }


def _subtrees(tree: Tree, given: Given | None, impurity: str, risk: str) -> dict[str, Any]:
    """The sequence of cost-complexity pruning: an entry for the tree itself, then one per subtree down to the root."""
    sequence = _sequence.weakest_links(tree, risk=risk)
    first = 0 if sequence.n_pruned(0.0) else 1
    at = np.append(-np.inf, sequence.steps[first:])
    counts_errors = tree.task == "classification" and tree.outputs is None
    found = {
        "alpha": _rounded(np.maximum(at, 0.0)),
        "leaves": sequence.n_leaves(at).tolist(),
        "collapsed": [[], *(nodes.tolist() for nodes in sequence.collapsed()[first:])],
        "errorName": _error_name(tree, impurity),
        "isShare": counts_errors and tree.loss is None,
        "error": _errors(sequence.sums(_prune.risk_per_weight(tree, "error" if counts_errors else "impurity"), at)),
    }
    if given is None or given.target is None or tree.outputs is not None:
        return found | {"given": None}
    judged = _prune.losses(tree, _prune.Samples(given.table, given.target, class_factor=given.class_factor, impurity=impurity))
    total = given.table.n_samples if given.class_factor is None else float(given.class_factor[given.target].sum())
    return found | {"given": _errors(sequence.sums(judged.loss, at, judged.stopped_loss) / total)}


def _errors(sums: npt.NDArray[np.float64]) -> list[float]:
    """Errors of the subtrees, the root last, without what rounding leaves of zero."""
    return _rounded(np.where(sums < 1e-12 * sums[-1], 0.0, sums))


def _error_name(tree: Tree, impurity: str) -> str:
    if tree.task == "regression":
        return ERRORS[impurity]
    if tree.outputs is not None:
        return "mean impurity"
    return "error" if tree.loss is None else "cost per sample"


def _rows(tree: Tree, given: Given, words: Words, max_rows: int) -> dict[str, Any] | None:
    """Samples at equal distances, their cells only in the columns that the tree looks at."""
    n_samples = given.table.n_samples
    chosen = np.unique(np.linspace(0, n_samples - 1, min(max_rows, n_samples)).round().astype(np.intp))
    if not chosen.size:
        return None
    features = tree.feature if tree.surrogates is None else np.append(tree.feature, tree.surrogates.feature)
    used = np.unique(features[features >= 0]).tolist()
    columns = [given.table.column(j)[chosen] for j in used]
    return {
        "row": chosen.tolist(),
        "of": n_samples,
        "feature": used,
        "single": [column.dtype == np.float32 for column in columns],
        "cell": [_cells(column) for column in columns],
        "truth": None if given.target is None else _truth(tree, given.target[chosen], words),
    }


def _cells(column: npt.NDArray[Any]) -> list[float | int | None]:
    """Codes, or numbers, None where they are missing; of single precision the shortest number that rounds to it."""
    if column.dtype.kind != "f":
        return list(map(int, column))
    numbers = [float(str(number)) for number in column]
    return [None if number != number else _numbers(np.array([number]))[0] for number in numbers]


def _truth(tree: Tree, target: npt.NDArray[Any], words: Words) -> list[Any]:
    return [words.labels[code] for code in target.tolist()] if tree.task == "classification" else _numbers(target)
