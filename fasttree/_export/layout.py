"""Tables of a tree or a forest for a walker of a few lines, and their description, shared by C and Python source.

A node has the position of its branches and the destination of missing values, a leaf the row of its values.  Equal rows, as those
of most pure leaves, are stored once.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Feature, Kind
from fasttree._export.subject import Formulas, Subject, formulas_of
from fasttree._export.text import export_text
from fasttree._model.arrays import ARRAYS, LEAF, SHARES, STOP, THRESHOLD, distinct_rows, offsets_of
from fasttree._model.surrogates import DTYPES, Surrogates
from fasttree._model.tree import Tree
from fasttree._model.words import Words, by_target, counted, name_text, set_of, word
from fasttree._version import __version__

__all__ = [
    "Joined",
    "Layout",
    "as_python",
    "description",
    "feature_lines",
    "feature_names",
    "join",
    "lay_out",
    "lists_all",
    "node_notes",
    "ranges",
]

DRAWN = 63  # nodes that the description draws, the heaviest first
NAMED = 12  # categories and classes that a line names
LONGEST = 110  # characters of a note


@dataclass(frozen=True)
class Layout:
    """The tables of a tree of n nodes with r different predictions.

    Parameters
    ----------
    tree : Tree
    kinds : set of int
        Kinds of the tests; thresholds for a tree without tests.
    child : list of int, length n
        First child of an inner node, followed by the others; ``~row`` at a leaf.
    missing : list of int or None, length n
        Destination of missing values: a node, ``~row`` if the sample ends here, or None if it is divided; None at a leaf.
    shares : dict of int to list of float
        Part of each child, for nodes that divide samples; 0 for children that no sample reached.
    soft : set of int
        Nodes with a soft threshold, near which samples go both ways.
    values : array of float64, shape (r, k)
        Predictions: shares of classes, or class weights if the tree divides samples; means; or the rows of `formulas`.
    whole : array of float64, shape (r,), or None
        Divisors of class weights; None if `values` are the predictions.
    answers : array of intp, shape (r, n_outputs), or None
        Index of the predicted class (of each target); None in regression.
    waiting : int
        Largest number of parts of a sample on the stack, with the first branch on top.
    formulas : Formulas or None
        Linear models of the nodes where samples end, if they have some.
    """

    tree: Tree
    kinds: set[int]
    child: list[int]
    missing: list[int | None]
    shares: dict[int, list[float]]
    soft: set[int]
    values: NDArray[np.float64]
    whole: NDArray[np.float64] | None
    answers: NDArray[np.intp] | None
    waiting: int
    formulas: Formulas | None = None


def lay_out(tree: Tree) -> Layout:
    """Return the tables of a tree."""
    leaf = tree.n_branches == 0
    ends = np.flatnonzero(leaf | (tree.missing == STOP))
    values, whole, answers = _given(tree, ends)
    formulas = formulas_of(tree, ends)
    values = values if formulas is None else formulas.rows
    kept, row_of_end = distinct_rows(values) if whole is None else distinct_rows(values, whole[:, None])
    row = np.zeros(tree.node_count, np.intp)
    row[ends] = row_of_end
    first = tree.first_child.astype(np.intp)
    missing: list[int | None] = np.where(tree.missing == STOP, ~row, first + tree.missing).tolist()
    for node in np.flatnonzero(leaf | (tree.missing == SHARES)).tolist():
        missing[node] = None
    shares = {node: _parts(tree, node) for node in np.flatnonzero(tree.missing == SHARES).tolist()}
    soft = set() if tree.lower is None or tree.upper is None else set(np.flatnonzero(tree.lower < tree.upper).tolist())
    return Layout(
        tree=tree,
        kinds=set(np.unique(tree.kind[~leaf]).tolist()) or {THRESHOLD},
        child=np.where(leaf, ~row, first).tolist(),
        missing=missing,
        shares=shares,
        soft=soft,
        values=values[kept],
        whole=None if whole is None else whole[kept],
        answers=None if answers is None else answers[kept],
        waiting=_waiting(tree, shares, soft),
        formulas=formulas,
    )


def _given(tree: Tree, ends: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.intp] | None]:
    """Return the values of the nodes where samples end, their divisors, and the predicted classes."""
    if tree.task == "regression":
        return np.ascontiguousarray(tree.value[ends]), None, None
    if not tree.divides:
        return tree.predict_nodes(ends), None, tree.predicted_classes[ends]
    return (
        np.ascontiguousarray(tree.contribution[ends]),
        np.where(tree.weight > 0, tree.weight, 1.0)[ends],
        tree.predicted_classes[ends],
    )


def _parts(tree: Tree, node: int) -> list[float]:
    """Return the part of a sample for each branch of a node that divides samples."""
    first = int(tree.first_child[node])
    weights = tree.weight[first : first + int(tree.n_branches[node])].tolist()
    whole = 0.0
    for weight in weights:  # in the order of the walk, because the sum depends on it
        whole += weight
    return [weight / whole for weight in weights]


def _waiting(tree: Tree, shares: dict[int, list[float]], soft: set[int]) -> int:
    """Return the largest number of parts of one sample on the stack, computed bottom-up."""
    if not shares and not soft:
        return 1
    most = [1] * tree.node_count
    first_child, n_branches = tree.first_child.tolist(), tree.n_branches.tolist()
    for node in range(tree.node_count - 1, -1, -1):
        if not n_branches[node]:
            continue
        below = most[first_child[node] : first_child[node] + n_branches[node]]
        most[node] = max(below)
        if node in soft:
            most[node] = max(most[node], below[0] + 1)
        if node in shares:
            reached = [need for need, part in zip(below, shares[node], strict=True) if part > 0]
            most[node] = max(most[node], *(need + len(reached) - 1 - i for i, need in enumerate(reached)))
    return most[0]


def ranges(tree: Tree) -> list[tuple[int, int]]:
    """Return the start and end of the columns of the values for each target."""
    return list(itertools.pairwise(np.cumsum([0, *(tree.outputs or (tree.n_values,))]).tolist()))


def as_python(value: Any) -> Any:
    """Return a category or class label as a Python object if it is a NumPy scalar."""
    return value.item() if isinstance(value, np.generic) else value


def node_notes(subject: Subject) -> list[str]:
    """Write a line per node: the condition of the first of two branches, the conditions of more, or the prediction."""
    tree = subject.tree
    words = Words(tree, *subject.in_words, max_categories=NAMED, ellipsis="...")
    written = []
    for node, (kind, n_branches) in enumerate(zip(tree.kind.tolist(), tree.n_branches.tolist(), strict=True)):
        if kind == LEAF:
            note = words.outcome(node)
        elif n_branches == 2:
            note = words.conditions(node)[0]
        else:
            note = "; ".join(words.conditions(node))
        note = f"{node}: {note}"
        written.append(note if len(note) <= LONGEST else f"{note[: LONGEST - 3]}...")
    return written


def description(subject: Subject, roots: Sequence[int] | None = None, *, by_vote: bool = False) -> list[str]:
    """Describe a model in lines: its size, its predictions, and a drawing of a tree or of its heaviest part.

    If there are several trees, `roots` are their first nodes, and `by_vote` says whether they vote.
    """
    tree = subject.tree
    size = [counted(tree.node_count, "node"), counted(tree.n_leaves, "leaf", "leaves")]
    if roots is None:
        what = f"A decision tree for {tree.task} ({subject.algorithm}), grown on {counted(int(tree.n_samples[0]), 'sample')}"
        size.append(f"depth {tree.max_depth}")
    else:
        what = (
            f"The {'vote' if by_vote else 'mean'} of {counted(len(roots), 'decision tree')} for {tree.task} ({subject.algorithm})"
        )
    lines = [
        f"{what}: {', '.join(size)}.",
        f"Written by fasttree {__version__}; its results are those of the model's predict and predict_proba, to the last bit.",
        "",
        *_targets(subject),
    ]
    if roots is not None:
        return lines
    drawn = export_text(tree, *subject.in_words, max_nodes=DRAWN, max_depth=NAMED, max_categories=NAMED // 3, ascii=True)
    return [*lines, "", *drawn.splitlines()]


def _targets(subject: Subject) -> list[str]:
    each = [set_of([word(label) for label in labels.tolist()], NAMED, "...") for labels in by_target(subject.classes)]
    if len(each) == 1:
        return [f"It predicts one of {each[0]}."]
    if each:
        return [f"It predicts {len(each)} targets:", *(f"  {i}  one of {labels}" for i, labels in enumerate(each))]
    n_outputs = subject.tree.n_outputs
    return ["It predicts a number." if n_outputs == 1 else f"It predicts {n_outputs} numbers."]


def feature_lines(features: tuple[Feature, ...]) -> list[str]:
    """Write a line per feature: its position in a sample, its name and its values."""
    names = [name_text(feature.name) for feature in features]
    width = min(max(map(len, names)), LONGEST // 3)
    return [
        f"{i:>{len(str(len(features) - 1))}}  {name:<{width}}  {_values_of(feature)}"
        for i, (name, feature) in enumerate(zip(names, features, strict=True))
    ]


def lists_all(features: tuple[Feature, ...]) -> bool:
    """Return whether `feature_lines` lists all categories."""
    return all(len(feature.categories or ()) <= NAMED + 1 for feature in features)


def _values_of(feature: Feature) -> str:
    if feature.kind == Kind.CONTINUOUS:
        return "a number"
    order = "one, in this order, of " if feature.kind == Kind.ORDINAL else "one of "
    return order + set_of([word(category) for category in feature.categories or ()], NAMED, "...")


def feature_names(names: Sequence[str], taken: set[str]) -> list[str]:
    """Return distinct names in capitals for features, from their ASCII letters and digits."""
    taken = set(taken)
    chosen = []
    for name in names:
        plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Z0-9]+", "_", plain.upper()).strip("_") or "FEATURE"
        unique, i = base, 2
        while unique in taken:
            unique, i = f"{base}_{i}", i + 1
        taken.add(unique)
        chosen.append(unique)
    return chosen


# --- several trees behind one another

_STARTS = ("start", "categories_start")  # arrays of surrogates that are offsets


@dataclass(frozen=True)
class Joined:
    """A tree, or several behind one another, for source that is made of tables.

    Parameters
    ----------
    subject : Subject
        Its tree has the nodes of all trees.  If there are several, it is no tree to walk from node 0.
    layout : Layout
        Its tables.  Those of several trees have no `answers`, which follow from the mean.
    roots : list of int or None
        The root of each of several trees, whose predictions are averaged in this order; None for one tree.
    """

    subject: Subject
    layout: Layout
    roots: list[int] | None


def join(subjects: Iterable[Subject], *, is_forest: bool) -> Joined:
    """Return one tree, or the trees of a forest behind one another."""
    found = list(subjects)
    if not is_forest:
        (subject,) = found
        return Joined(subject, lay_out(subject.tree), None)
    trees = [subject.tree for subject in found]
    start = offsets_of(np.array([tree.node_count for tree in trees]))
    tree = _joined_tree(trees, start[:-1])
    return Joined(replace(found[0], tree=tree), _joined_layout(tree, trees, start[:-1]), start[:-1].tolist())


def _joined_tree(trees: Sequence[Tree], start: NDArray[np.int64]) -> Tree:
    arrays: dict[str, Any] = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in ARRAYS}
    first_node = np.repeat(start, [tree.node_count for tree in trees])
    for name in ("parent", "first_child"):
        arrays[name] = np.where(arrays[name] < 0, -1, arrays[name] + first_node)
    arrays["categories_start"] = _joined_starts([tree.categories_start for tree in trees])
    first = trees[0]
    if any(tree.lower is not None for tree in trees):
        for name in ("lower", "upper"):
            arrays[name] = np.concatenate([tree.threshold if tree.lower is None else getattr(tree, name) for tree in trees])
    if any(tree.cut is not None for tree in trees):
        none = [np.zeros(tree.node_count + 1, np.int64) if tree.cut_start is None else tree.cut_start for tree in trees]
        arrays["cut_start"] = _joined_starts(none)
        arrays["cut"] = np.concatenate([np.zeros(0) if tree.cut is None else tree.cut for tree in trees])
    return Tree(
        task=first.task,
        n_features=first.n_features,
        surrogates=_joined_surrogates(trees),
        outputs=first.outputs,
        loss=first.loss,
        **arrays,
    )


def _joined_starts(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the offsets of parts behind one another."""
    return offsets_of(np.concatenate([np.diff(start) for start in starts]))


def _joined_surrogates(trees: Sequence[Tree]) -> Surrogates | None:
    if not any(tree.surrogates is not None for tree in trees):
        return None
    parts: list[dict[str, Any]] = []
    for tree in trees:
        if tree.surrogates is not None:
            parts.append({name: getattr(tree.surrogates, name) for name in DTYPES})
        else:
            sizes = {"start": tree.node_count + 1, "categories_start": 1}
            parts.append({name: np.zeros(sizes.get(name, 0), dtype) for name, dtype in DTYPES.items()})
    joined: dict[str, Any] = {}
    for name in DTYPES:
        joined[name] = (_joined_starts if name in _STARTS else np.concatenate)([part[name] for part in parts])
    return Surrogates(**joined)


def _joined_layout(joined: Tree, trees: Sequence[Tree], start: NDArray[np.int64]) -> Layout:
    """Return the tables of all trees; places are those of the joined nodes, and equal rows of values are stored once."""
    layouts = list(map(lay_out, trees))
    values = np.concatenate([layout.values for layout in layouts])
    whole = None
    if any(layout.whole is not None for layout in layouts):  # to divide by 1 changes nothing
        whole = np.concatenate([np.ones(len(layout.values)) if layout.whole is None else layout.whole for layout in layouts])
    kept, row_of = distinct_rows(values) if whole is None else distinct_rows(values, whole[:, None])
    child: list[int] = []
    missing: list[int | None] = []
    shares: dict[int, list[float]] = {}
    soft: set[int] = set()
    first_row = 0
    for layout, node in zip(layouts, start.tolist(), strict=True):
        rows = row_of[first_row : first_row + len(layout.values)].tolist()
        child += [place + node if place >= 0 else ~rows[~place] for place in layout.child]
        missing += [None if place is None else place + node if place >= 0 else ~rows[~place] for place in layout.missing]
        shares |= {node + inner: parts for inner, parts in layout.shares.items()}
        soft |= {node + inner for inner in layout.soft}
        first_row += len(rows)
    inner_kinds = set(np.unique(joined.kind[joined.n_branches > 0]).tolist())
    return Layout(
        tree=joined,
        kinds=inner_kinds or {THRESHOLD},
        child=child,
        missing=missing,
        shares=shares,
        soft=soft,
        values=values[kept],
        whole=None if whole is None else whole[kept],
        answers=None,
        waiting=max(layout.waiting for layout in layouts),
    )
