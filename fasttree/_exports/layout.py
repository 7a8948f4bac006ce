"""A tree as the tables that a walker of a few lines follows, and its description: what C and Python source have in common.

A node says where its branches begin and where a missing value goes; a leaf says which row of the values is its own.  Rows that
are equal, as those of most pure leaves are, stand once.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._schema import Feature, Kind
from .._text import export_text
from .._tree import LEAF, SHARES, STOP, THRESHOLD, Tree, distinct_rows
from .._words import Words, by_target, counted, name_text, set_of, word
from .subject import Subject

__all__ = ["Layout", "as_python", "description", "feature_lines", "feature_names", "lay_out", "lists_all", "node_notes", "ranges"]

DRAWN = 63  # nodes that the description draws, the heaviest first
NAMED = 12  # categories and classes that a line names
LONGEST = 110  # characters of a note


@dataclass(frozen=True)
class Layout:
    """The tables of a tree of n nodes whose samples end in r different ways.

    Parameters
    ----------
    tree : Tree
    kinds : set of int
        Which tests there are; a tree without any counts as one of thresholds.
    child : list of int, length n
        Of an inner node the first child, which the others follow; of a leaf ``~row``.
    missing : list of int or None, length n
        Where a missing value goes: a node, ``~row`` where the sample ends, or None where it is shared out; None at a leaf.
    shares : dict of int to list of float
        Of a node that shares samples out the part of each child; 0 for those that no sample reached.
    soft : set of int
        Nodes near whose threshold samples go both ways.
    values : array of float64, shape (r, k)
        What samples that end there are given: shares of classes, or class weights where the tree divides samples; means.
    whole : array of float64, shape (r,), or None
        What to divide class weights by; None where `values` are the answer as they are.
    answers : array of intp, shape (r, n_outputs), or None
        Index of the class (of each target); None in regression.
    waiting : int
        The most parts of a sample that wait at once, on a stack of which the first branch is the top.
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


def lay_out(tree: Tree) -> Layout:
    """Lay a tree out."""
    leaf = tree.n_branches == 0
    ends = np.flatnonzero(leaf | (tree.missing == STOP))
    values, whole, answers = _given(tree, ends)
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
    )


def _given(tree: Tree, ends: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.intp] | None]:
    """What samples are given where they end, what to divide it by, and the classes to answer."""
    if tree.task == "regression":
        return np.ascontiguousarray(tree.value[ends]), None, None
    if not tree.divides:
        return tree.predictions(ends), None, tree.answers[ends]
    return np.ascontiguousarray(tree.given[ends]), np.where(tree.weight > 0, tree.weight, 1.0)[ends], tree.answers[ends]


def _parts(tree: Tree, node: int) -> list[float]:
    """The part of a sample that each branch of a node gets, where it shares samples out."""
    first = int(tree.first_child[node])
    weights = tree.weight[first : first + int(tree.n_branches[node])].tolist()
    whole = 0.0
    for weight in weights:  # in the walk's order: a sum in another may be another
        whole += weight
    return [weight / whole for weight in weights]


def _waiting(tree: Tree, shares: dict[int, list[float]], soft: set[int]) -> int:
    """The most parts of one sample that wait on the stack, from the last node to the first."""
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
    """Where the columns of the values that belong to each target begin and end."""
    return list(itertools.pairwise(np.cumsum([0, *(tree.outputs or (tree.n_outputs_or_classes,))]).tolist()))


def as_python(value: Any) -> Any:
    """A category or a class label as a string, number or truth value of Python, if it is one of NumPy."""
    return value.item() if isinstance(value, np.generic) else value


def node_notes(subject: Subject) -> list[str]:
    """Write about each node its test, that of the first of two branches or all, or its answer: a line each."""
    tree = subject.tree
    words = Words(tree, subject.schema, subject.classes, max_categories=NAMED, ellipsis="...")
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


def description(subject: Subject) -> list[str]:
    """Say in lines what tree it is, what it takes and answers, and draw it, or its heaviest part."""
    tree = subject.tree
    size = ", ".join(
        [counted(tree.node_count, "node"), counted(tree.n_leaves, "leaf", "leaves"), f"depth {tree.max_depth}"],
    )
    samples = counted(int(tree.n_samples[0]), "sample")
    drawn = export_text(
        tree, subject.schema, subject.classes, max_nodes=DRAWN, max_depth=NAMED, max_categories=NAMED // 3, ascii=True
    )
    return [
        f"A decision tree for {tree.task} ({subject.algorithm}), grown on {samples}: {size}.",
        f"Written by fasttree {__version__}; its answers are those of the model's predict and predict_proba, to the last bit.",
        "",
        *_targets(subject),
        "",
        *drawn.splitlines(),
    ]


def _targets(subject: Subject) -> list[str]:
    each = [set_of([word(label) for label in labels.tolist()], NAMED, "...") for labels in by_target(subject.classes)]
    if len(each) == 1:
        return [f"It answers one of {each[0]}."]
    if each:
        return [f"It answers {len(each)} targets:", *(f"  {i}  one of {labels}" for i, labels in enumerate(each))]
    n_outputs = subject.tree.n_outputs
    return ["It answers a number." if n_outputs == 1 else f"It answers {n_outputs} numbers."]


def feature_lines(features: tuple[Feature, ...]) -> list[str]:
    """Say of each feature its place in a sample, its name and its values."""
    names = [name_text(feature.name) for feature in features]
    width = min(max(map(len, names)), LONGEST // 3)
    return [
        f"{i:>{len(str(len(features) - 1))}}  {name:<{width}}  {_values_of(feature)}"
        for i, (name, feature) in enumerate(zip(names, features, strict=True))
    ]


def lists_all(features: tuple[Feature, ...]) -> bool:
    """Whether `feature_lines` leaves no category out."""
    return all(len(feature.categories or ()) <= NAMED + 1 for feature in features)


def _values_of(feature: Feature) -> str:
    if feature.kind == Kind.CONTINUOUS:
        return "a number"
    order = "one, in this order, of " if feature.kind == Kind.ORDINAL else "one of "
    return order + set_of([word(category) for category in feature.categories or ()], NAMED, "...")


def feature_names(names: Sequence[str], taken: set[str]) -> list[str]:
    """Names in capitals for features: letters and digits of their own as far as ASCII has them, each name once."""
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
