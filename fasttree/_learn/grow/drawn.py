"""Columns and limits of the drawn layout of the engine, and single trees that grow in it.

A node of this layout reads the features that it draws, while lists move those of all features.  The trees are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._engine.encoding import code_values
from fasttree._engine.forest import DrawnColumns, DrawnGrower
from fasttree._learn.grow.drawn_parts import grow_in_parts
from fasttree._learn.grow.encode import columns, pieces_of
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model import walks
from fasttree._model.packed.nodes import MOST_FEATURES, Packed, levels, unpack_tree
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree

MOST_DRAWN = 65_535  # times that a sample counts in a bag
MOST_RANKED, MOST_CELLS = 32, 1_024  # the engine's own limits
MORE_THAN_ANY = 2**40  # rows than a table has: a limit above it is no other limit
LEAST_ALONE = 8_192  # samples of a single tree: of fewer, lists are as fast or faster
MOST_ALONE = 2**26  # their weight, whose square a double holds exactly


class DrawnLimits(NamedTuple):
    """What stops growth in the drawn layout; `min_gain` is weight times decrease of impurity.

    The tree does not depend on the last three.  A node of at most `block_rows` rows gets a private block; None: by size.
    """

    max_features: int
    random: bool
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    min_gain: float
    most_ranked: int = MOST_RANKED
    most_cells: int = MOST_CELLS
    block_rows: int | None = None


def has_drawn_form(recipe: Recipe, limits: Limits, schema: Schema, random: bool = False) -> bool:
    """Whether the drawn layout has what recipe and limits ask for: two-way splits by gain, and no bins."""
    return bool(
        recipe.impurity in ("gini", "squared_error")
        and recipe.rank == "gain"
        and not recipe.release8
        and recipe.continuous in ("threshold", "error")
        and recipe.ordinal == "threshold"
        and recipe.missing in ("direction", "error")
        and (random or recipe.midpoint == "low")
        and limits.max_leaf_nodes is None
        and limits.split_p_value is None
        and limits.max_bins is None
        and limits.min_impurity <= 0
        and limits.min_gain < 0
        and len(schema.features) < MOST_FEATURES
    )


def drawn_limits(limits: Limits, n_features: int, weight: int, total_weight: float, unit: float) -> DrawnLimits:
    """Return the limits for a bag of this weight, drawn from samples of the weight `total_weight`; `unit` is that of gains."""
    return DrawnLimits(
        max_features=n_features if limits.max_features is None else limits.max_features,
        random=False,
        max_depth=2**31 - 1 if limits.max_depth is None else min(limits.max_depth, 2**31 - 1),
        min_samples_split=min(limits.min_samples_split, MORE_THAN_ANY),
        min_samples_leaf=min(limits.min_samples_leaf, MORE_THAN_ANY),
        min_weight_leaf=limits.min_weight_leaf * weight / total_weight,
        min_gain=limits.min_impurity_decrease * weight / unit if limits.min_impurity_decrease else 0.0,
    )


def encode_drawn(table: Table, *, random: bool = False, n_jobs: int = 1) -> DrawnColumns:
    """Return the codes of all features."""
    encoded = DrawnColumns(table.n_samples, table.n_features, random=random)
    pieces = pieces_of(table.n_features, n_jobs)

    def encode_some(i: int) -> None:
        for j, column in columns(table, pieces[i]):
            feature = table.schema.features[j]
            if feature.categories is not None:
                encoded.add_codes(j, column, len(feature.categories), feature.kind == Kind.ORDINAL)
            elif encoded.add_continuous(j, column, code_values(column)):
                encoded.keep_values(j, table.column(j))

    in_threads(encode_some, len(pieces), n_jobs)
    encoded.finish()
    return encoded


def counts_alone(table: object, weight: Floats | None, recipe: Recipe, limits: Limits) -> npt.NDArray[np.uint16] | None:
    """Return how often each sample counts if the drawn layout serves for a single tree of classes, else None.

    It must be faster, and the tree the same, bit for bit: lists write sets of categories in another way.
    """
    if limits.max_features is None or not isinstance(table, Table) or table.n_samples < LEAST_ALONE:
        return None
    schema = table.schema
    if recipe.impurity != "gini" or limits.random_cuts or not has_drawn_form(recipe, limits, schema):
        return None
    if any(feature.kind == Kind.NOMINAL for feature in schema.features):
        return None
    if weight is None:
        return np.ones(table.n_samples, dtype=np.uint16) if table.n_samples <= MOST_ALONE else None
    if weight.max() > MOST_DRAWN or weight.sum() > MOST_ALONE or not np.array_equal(weight, np.rint(weight)):
        return None
    if table.matrix is None or np.isnan(table.matrix).any():  # by weight, other sides may take what is missing
        return None
    return weight.astype(np.uint16)


def grow_alone(
    table: Table, labels: npt.NDArray[np.integer], counts: npt.NDArray[np.uint16], limits: Limits, n_classes: int, n_jobs: int
) -> Tree:
    """Grow a tree by Gini on samples that count as often as `counts_alone` says."""
    weight = int(counts.sum(dtype=np.int64))
    grower = DrawnGrower(
        encode_drawn(table, n_jobs=n_jobs),
        drawn_limits(limits, table.n_features, weight, weight, 1.0),
        labels=labels.astype(np.uint16),
        n_classes=n_classes,
    )
    nodes, values, bits = grow_in_parts(grower, counts, limits.seed, n_classes, n_jobs)
    packed = Packed(nodes, np.array([0, len(nodes)], dtype=np.int64), bits, np.concatenate([np.eye(n_classes), values]))
    tree = unpack_tree(packed, 0, "classification", table.n_features, "gini")
    if (counts == 1).all():
        return tree
    n_samples = np.bincount(walks.walk(tree, table)[counts > 0], minlength=tree.node_count)
    missing = tree.missing.copy()
    for at in reversed(levels(tree.first_child)):
        left = tree.first_child[at]
        n_samples[at] = n_samples[left] + n_samples[left + 1]
        missing[at] = n_samples[left] <= n_samples[left + 1]
    return tree.replace(n_samples=n_samples, missing=missing)
