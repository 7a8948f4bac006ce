"""Task of a tree from the shards of a table: the large nodes in rounds, those that fit into memory one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy.typing as npt

from fasttree._engine.rounds import Setting
from fasttree._learn.constraints import FREE
from fasttree._learn.grow.decode import as_tree, with_weights_as_given
from fasttree._learn.grow.growth import finish
from fasttree._learn.samples import Costs
from fasttree._model.tree import Tree
from fasttree._scale.cluster import Cluster
from fasttree._scale.forest.drawing import Draws, OnLists
from fasttree._scale.frontier import Budget, Driver, Features
from fasttree._scale.nodes import TreeNode, arrays_of, joined
from fasttree._scale.subtree import Task


def grow(
    growth: Task,
    setting: Setting,
    columns: Features,
    cluster: Cluster,
    budget: Budget,
    *,
    costs: Costs | None = None,
    draws: Draws | None = None,
    report: Callable[[str, float], object] | None = None,
) -> Tree:
    """Grow the tree that the growth in memory grows from all rows together.

    Parameters
    ----------
    growth : Task
    setting : Setting
        The setting of the same growth.
    columns : Features
    cluster : Cluster
        Holds the rows.
    budget : Budget
    costs : Costs or None, default=None
    draws : Draws or None, default=None
        How the nodes of a tree of a forest draw features, which `growth` has in the same order.
    report : callable or None, default=None
        Is called with the name of a step and the share of it that is done.
    """
    kind = Driver if draws is None else partial(OnLists, draws)
    frontier = kind(
        setting,
        growth.scale.unit,
        growth.n_classes,
        columns,
        budget,
        max_depth=growth.numbers.max_depth,
        most_splits=growth.numbers.most_splits,
        refuses_missing=growth.recipe.missing == "error",
        report=None if report is None else lambda done: report("large nodes", done),
    )
    frontier.grow(cluster)
    below: dict[int, dict[str, npt.NDArray[Any]]] = {}
    n_handed = sum(node.n_samples for node in frontier.handed)
    n_grown, n_nodes = 0, len(frontier.nodes)
    for node, grown_there in cluster.exchange(growth, frontier.log, list(buckets(frontier.handed, budget.rows))):
        below[node.id] = grown_there
        n_grown += node.n_samples
        n_nodes += len(grown_there["kind"]) - 1
        if n_nodes > budget.most_nodes:
            raise ValueError(
                f"the tree has more than {budget.most_nodes:,} nodes, and memory= has no room for them: give min_samples_leaf, "
                f"max_depth or max_leaf_nodes, or the Dataset a larger memory="
            )
        if report is not None:
            report("subtrees", n_grown / n_handed)
    grown = joined(arrays_of(frontier.nodes, growth.schema, growth.recipe, growth.bins), below)
    return _as_tree(growth, grown, costs)


def _as_tree(growth: Task, grown: dict[str, npt.NDArray[Any]], costs: Costs | None) -> Tree:
    """Return the tree of its fields, after the steps that need the whole tree."""
    grown["value"] = grown["value"].reshape(len(grown["kind"]), -1)
    if not growth.n_classes:
        grown["value"] += 0.0  # no -0.0: which of two equal targets comes first must not show
    if costs is not None:
        grown |= with_weights_as_given(grown, costs)
    task = "classification" if growth.n_classes else "regression"
    tree = as_tree(grown, task, len(growth.schema.features), surrogates=None, cuts={}, outputs=None)
    return finish(tree, growth.recipe, growth.limits, FREE)


def buckets(nodes: Sequence[TreeNode], rows: int) -> Iterator[list[TreeNode]]:
    """Yield nodes whose rows fit into memory together, the largest first."""
    bucket: list[TreeNode] = []
    room = rows
    for node in sorted(nodes, key=lambda node: -node.n_samples):
        if bucket and node.n_samples > room:
            yield bucket
            bucket, room = [], rows
        bucket.append(node)
        room -= node.n_samples
    if bucket:
        yield bucket
