"""Small trees for the tests of the flat tree and of what is written from it, and their slow twin: nested nodes."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, LEAF, NOMINAL, SHARES, STOP, THRESHOLD
from fasttree._model.tree import Tree

OPTIONAL_FIELDS = ("estimated_errors", "lower", "upper")
NODE_FIELDS = ("feature", "kind", "threshold", "missing", "n_samples", "weight", "value", "impurity", "gain")

SCHEMA = Schema(
    (
        Feature("age", Kind.CONTINUOUS),
        Feature("size", Kind.ORDINAL, ("small", "medium", "large")),
        Feature("city", Kind.NOMINAL, ("Aachen", "Bonn", "Köln", "Ulm")),
        Feature("member", Kind.NOMINAL, (False, True)),
    ),
    has_names=True,
)


@dataclass
class Node:
    """A node with its children inside it, its fields as plain values."""

    fields: dict[str, Any]
    table: list[tuple[int, int]] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)
    cuts: list[float] = field(default_factory=list)


def leaf(value: list[float], *, n_samples: int | None = None, weight: float | None = None) -> Node:
    weight = sum(value) if weight is None else weight
    n_samples = int(weight) if n_samples is None else n_samples
    fields = {"feature": -1, "kind": LEAF, "threshold": np.nan, "missing": STOP, "impurity": 0.0, "gain": 0.0}
    return Node(fields | {"n_samples": n_samples, "weight": weight, "value": value})


def split(
    children: list[Node],
    *,
    feature: int,
    kind: int,
    value: list[float],
    threshold: float = np.nan,
    table: list[tuple[int, int]] | None = None,
    cuts: list[float] | None = None,
    missing: int = 0,
    n_samples: int | None = None,
    weight: float | None = None,
) -> Node:
    node = leaf(value, n_samples=n_samples, weight=weight)
    node.fields |= {"feature": feature, "kind": kind, "threshold": threshold, "missing": missing, "impurity": 0.5, "gain": 0.25}
    node.table, node.cuts, node.children = table or [], cuts or [], children
    return node


def flat(root: Node, task: str, n_features: int = len(SCHEMA.features)) -> Tree:
    """Number the nodes breadth first, with a queue."""
    nodes, parents, first_children = [], [], []
    queue = deque([(root, -1)])
    while queue:
        node, parent = queue.popleft()
        first_children.append(len(nodes) + len(queue) + 1 if node.children else -1)
        queue.extend((child, len(nodes)) for child in node.children)
        nodes.append(node)
        parents.append(parent)
    return Tree(
        task=task,
        n_features=n_features,
        parent=parents,
        first_child=first_children,
        n_branches=[len(node.children) for node in nodes],
        categories_start=np.cumsum([0] + [len(node.table) for node in nodes]),
        categories_code=np.array([code for node in nodes for code, _ in node.table], np.uint32),
        categories_branch=np.array([branch for node in nodes for _, branch in node.table], np.int32),
        **cuts_of(nodes),
        **{name: [node.fields[name] for node in nodes] for name in (*NODE_FIELDS, *root.fields.keys() & OPTIONAL_FIELDS)},
    )


def cuts_of(nodes: list[Node]) -> dict[str, Any]:
    if not any(node.cuts for node in nodes):
        return {}
    return {
        "cut_start": np.cumsum([0] + [len(node.cuts) for node in nodes]),
        "cut": np.array([cut for node in nodes for cut in node.cuts]),
    }


def nested(tree: Tree, node: int = 0) -> Node:
    table = slice(tree.categories_start[node], tree.categories_start[node + 1])
    first = int(tree.first_child[node])
    return Node(
        {
            name: getattr(tree, name)[node].tolist()
            for name in (*NODE_FIELDS, *OPTIONAL_FIELDS)
            if getattr(tree, name) is not None
        },
        list(zip(tree.categories_code[table].tolist(), tree.categories_branch[table].tolist(), strict=True)),
        [nested(tree, child) for child in range(first, first + int(tree.n_branches[node]))],
        [] if tree.cut is None else tree.cut[tree.cut_start[node] : tree.cut_start[node + 1]].tolist(),
    )


def grown(root: Node, random: Random, task: str, n_features: int = len(SCHEMA.features)) -> Tree:
    """Number the nodes as a growth in random order would, and leave the rest to `Tree.from_growth`."""
    nodes, first_children, waiting = [root], [-1], [0]
    while waiting:
        i = waiting.pop(random.randrange(len(waiting)))
        if nodes[i].children:
            first_children[i] = len(nodes)
            waiting.extend(range(len(nodes), len(nodes) + len(nodes[i].children)))
            first_children.extend(-1 for _ in nodes[i].children)
            nodes.extend(nodes[i].children)
    starts, sizes = np.zeros(len(nodes), np.int64), np.array([len(node.table) for node in nodes], np.int64)
    entries: list[tuple[int, int]] = []
    for i in random.sample(range(len(nodes)), len(nodes)):
        starts[i] = len(entries)
        entries.extend(nodes[i].table)
    table = np.array(entries, np.int64).reshape(-1, 2)
    cuts = cuts_of(nodes)
    if cuts:
        cuts = {"cut_start": cuts["cut_start"][:-1], "cut_size": np.diff(cuts["cut_start"]), "cut": cuts["cut"]}
    tree = flat(root, task, n_features)  # for the dtypes alone
    return Tree.from_growth(
        task=task,
        n_features=n_features,
        first_child=np.array(first_children, np.int32),
        n_branches=np.array([len(node.children) for node in nodes], np.int32),
        categories_start=starts,
        categories_size=sizes,
        categories_code=table[:, 0].astype(np.uint32),
        categories_branch=table[:, 1].astype(np.int32),
        **cuts,
        **{
            name: np.array([node.fields[name] for node in nodes], getattr(tree, name).dtype)
            for name in (*NODE_FIELDS, *root.fields.keys() & OPTIONAL_FIELDS)
        },
    )


def chain(n_levels: int) -> Tree:
    """A path of `n_levels` thresholds, each with a leaf on its left; numbered breadth first without any help."""
    n_nodes = 2 * n_levels + 1
    ids = np.arange(n_nodes)
    inner = ((ids % 2 == 0) & (ids < n_nodes - 1)) if n_levels else np.zeros(1, bool)
    weight = np.where(inner, n_levels + 1 - ids // 2, 1)
    return Tree(
        task="regression",
        n_features=1,
        parent=np.where(ids == 0, -1, (ids - 1) // 2 * 2),
        first_child=np.where(inner, ids + 1, -1),
        n_branches=np.where(inner, 2, 0),
        feature=np.where(inner, 0, -1),
        kind=np.where(inner, THRESHOLD, LEAF),
        threshold=np.where(inner, ids / 2, np.nan),
        missing=np.where(inner, 1, STOP),
        categories_start=np.zeros(n_nodes + 1, np.int64),
        categories_code=np.zeros(0, np.uint32),
        categories_branch=np.zeros(0, np.int32),
        n_samples=weight,
        weight=weight,
        value=weight[:, None] / 2,
        impurity=np.zeros(n_nodes),
        gain=np.zeros(n_nodes),
    )


def play_tree() -> Tree:
    """Play or not: a branch per category (one of them empty), a threshold, a known test, a table, shares and stops."""
    by_age = split(
        [leaf([4.0, 0.0]), leaf([0.5, 2.5], n_samples=4)],
        feature=0,
        kind=THRESHOLD,
        threshold=41.5,
        value=[4.5, 2.5],
        n_samples=8,
        missing=SHARES,
    )
    by_member = split([leaf([0.0, 2.0]), leaf([1.0, 0.0])], feature=3, kind=KNOWN, value=[1.0, 2.0], missing=1)
    by_city = split(
        [leaf([2.0, 0.0]), by_member], feature=2, kind=NOMINAL, table=[(1, 0), (2, 1), (4, 0)], value=[3.0, 3.0], missing=STOP,
        n_samples=6,
    )  # fmt: skip
    empty = leaf([7.5, 5.5], n_samples=0, weight=0.0)
    root = split([by_age, empty, by_city], feature=1, kind=CATEGORY, value=[7.5, 5.5], missing=2, n_samples=14)
    return flat(root, "classification")


def house_tree() -> Tree:
    """Prices: a threshold on an ordinal feature above one on a continuous feature."""
    by_age = split(
        [leaf([12.25], weight=3.0), leaf([0.00125], weight=1.0)],
        feature=0, kind=THRESHOLD, threshold=2.449999988079071, value=[9.1875], weight=4.0, missing=1,
    )  # fmt: skip
    root = split(
        [by_age, leaf([20.0], weight=5.0)], feature=1, kind=THRESHOLD, threshold=2.5, value=[15.0], weight=9.0, missing=1
    )
    return flat(root, "regression")


# Gentle numbers: their sums are exact
WEIGHTS = [0.0, 0.25, 0.5, 1.0, 2.0, 3.0]


def _random_node(random: Random, task: str, depth: int) -> Node:
    impurity = random.random()
    if depth == 0 or random.random() < 0.3:
        value = [random.choice(WEIGHTS) for _ in range(3)]
        value[random.randrange(3)] += 1.0
        weight = sum(value)
        node = leaf(value if task == "classification" else [random.uniform(-1, 1)], n_samples=random.randint(1, 9), weight=weight)
        node.fields["impurity"] = impurity
        return node
    kind = random.choice([THRESHOLD, NOMINAL, CATEGORY, KNOWN, INTERVALS])
    feature = random.choice({THRESHOLD: [0, 1], INTERVALS: [0, 1], KNOWN: [0, 1, 2, 3]}.get(kind, [1, 2, 3]))
    categories = SCHEMA.features[feature].categories or ()
    table, cuts, threshold, n_branches = [], [], np.nan, 2
    if kind == THRESHOLD:
        threshold = random.choice([1.5, 2.0, 2.5]) if categories else random.uniform(-100, 100)
    elif kind == INTERVALS:
        cuts = sorted(random.sample([1.5, 2.0, 2.5] if categories else [-40.5, 0.0, 0.1, 7.25], random.randint(1, 3)))
        n_branches = len(cuts) + 1
    elif kind == CATEGORY:
        n_branches = len(categories)
    elif kind == NOMINAL:
        n_branches = random.randint(2, 3)
        codes = sorted(random.sample(range(1, len(categories) + 1), random.randint(1, len(categories))))
        table = [(code, random.randrange(n_branches)) for code in codes]
    children = [_random_node(random, task, depth - 1) for _ in range(n_branches)]
    empty = [branch > 0 and not child.children and random.random() < 0.2 for branch, child in enumerate(children)]
    missing = 1 if kind == KNOWN else random.choice([SHARES, STOP, *range(n_branches)])
    full = [child for child, is_empty in zip(children, empty, strict=True) if not is_empty]
    value = [sum(child.fields["value"][k] for child in full) for k in range(len(children[0].fields["value"]))]
    weight, n_samples = (sum(child.fields[name] for child in full) for name in ("weight", "n_samples"))
    if missing == SHARES:
        n_samples = random.randint(max(child.fields["n_samples"] for child in full), n_samples)
    if missing == STOP and random.random() < 0.5:
        n_samples, weight, value[0] = n_samples + 2, weight + 1.5, value[0] + 1.5
    for branch, is_empty in enumerate(empty):
        if is_empty:
            children[branch] = leaf(list(value), n_samples=0, weight=0.0)
    node = split(
        children, feature=feature, kind=kind, value=value, threshold=threshold, table=table, cuts=cuts, missing=missing,
        n_samples=n_samples, weight=weight,
    )  # fmt: skip
    node.fields |= {"impurity": impurity, "gain": random.random()}
    return node


def _add_optional(random: Random, node: Node, *, estimates: bool, soft: bool) -> None:
    if estimates:
        node.fields["estimated_errors"] = random.choice([0.0, random.uniform(0, 5)])
    if soft:
        threshold = node.fields["threshold"]
        node.fields["lower"] = threshold - random.choice([0.0, 0.25, 3.0])
        node.fields["upper"] = threshold + random.choice([0.0, 0.25, 3.0])
    for child in node.children:
        _add_optional(random, child, estimates=estimates, soft=soft)


@st.composite
def random_nodes(draw: st.DrawFn, task: str) -> Node:
    """A tree of nested nodes over `SCHEMA`, with three classes; some have estimated errors, some soft thresholds."""
    random = draw(st.randoms(use_true_random=False))
    node = _random_node(random, task, draw(st.integers(0, 4)))
    if task == "classification":
        _add_optional(random, node, estimates=random.random() < 0.3, soft=random.random() < 0.3)
    return node


@st.composite
def random_trees(draw: st.DrawFn) -> Tree:
    task = draw(st.sampled_from(["classification", "regression"]))
    return flat(draw(random_nodes(task)), task)
