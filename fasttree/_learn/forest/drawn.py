"""Trees of a forest in the drawn layout of the engine, for recipes that it can follow."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._engine.forest import DrawnColumns, DrawnGrower, DrawnRoom, grow_packed
from fasttree._learn.grow.encode import columns
from fasttree._learn.grow.grower import Grower, Whole
from fasttree._learn.limits import Limits
from fasttree._model.packed.nodes import MOST_FEATURES, Packed
from fasttree._model.threads import in_threads

MOST_DRAWN = 65_535  # times that a sample counts in a bag
MOST_RANKED, MOST_CELLS = 32, 1_024  # the engine's own limits
MORE_THAN_ANY = 2**40  # rows than a table has: a limit above it is no other limit
FEATURES_AT_ONCE = 4  # that a thread encodes one after the other
_EXACT_BITS = 51  # sums of targets stay below 2**52, which doubles hold


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


class Below(NamedTuple):
    """A node of a tree, of which the subtree is grown.

    Parameters
    ----------
    key : int
        Key of its draws.
    depth, weight : int
        The depth of the node, and the weight of the bag of its tree.
    """

    key: int
    depth: int
    weight: int


def may_be_drawn(grower: Grower, random: bool = False) -> bool:
    """Whether the drawn layout can grow the trees: two-way splits by gain, one target, whole weights, no constraints.

    With `random`, categories go to random sides; else the best two groups must be found in one sweep.
    """
    recipe, limits, samples = grower.recipe, grower.limits, grower.samples
    whole = _whole_of(grower)
    return bool(
        recipe.impurity in ("gini", "squared_error")
        and recipe.rank == "gain"
        and not recipe.release8
        and recipe.continuous in ("threshold", "error")
        and recipe.ordinal == "threshold"
        and recipe.missing in ("direction", "error")
        and (random or recipe.midpoint == "low")
        and grower.outputs is None
        and grower.costs is None
        and grower.constraints == type(grower.constraints)()
        and samples.class_factor is None
        and whole.has_whole_weights
        and limits.max_leaf_nodes is None
        and limits.split_p_value is None
        and limits.max_bins is None
        and limits.min_impurity <= 0
        and limits.min_gain < 0
        and samples.table.n_features < MOST_FEATURES
        and (random or _groups_are_exact(samples.table.schema, recipe.nominal, grower.n_classes))
    )


def _groups_are_exact(schema: Schema, nominal: str, n_classes: int) -> bool:
    """Whether two groups of categories are found in one sweep: by means, or because there are only two."""
    sizes = [len(feature.categories or ()) for feature in schema.features if feature.kind == Kind.NOMINAL]
    if max(sizes, default=0) <= 2:
        return True
    return nominal == "subset" and n_classes <= 2


class DrawnForest:
    """Columns, targets and limits that all trees share, and a room for each thread.

    Parameters
    ----------
    grower : Grower
        For which `may_be_drawn` is true.
    random : bool, default=False
        Whether each drawn feature has one random threshold, as in extremely randomized trees.
    n_jobs : int, default=1
        Threads that encode the columns.
    """

    def __init__(self, grower: Grower, random: bool = False, n_jobs: int = 1) -> None:
        samples = grower.samples
        self._weight = None if samples.weight is None else samples.weight.astype(np.int64)
        self._limits, self._n_classes, self._random = grower.limits, grower.n_classes, random
        self._whole = _whole_of(grower)
        self._columns = encode_drawn(samples.table, random=random, n_jobs=n_jobs)
        target = np.ascontiguousarray(samples.target)
        self._target = target if grower.n_classes else target + 0.0  # no -0.0: which of equal targets comes first must not show
        self._rooms = threading.local()
        self._last: tuple[tuple[int, int], DrawnGrower] | None = None

    def __call__(self, counts: npt.NDArray[np.integer], seed: int, below: Below | None = None) -> Packed | None:
        """Grow a tree on a bag, or `below` a node on its rows; None if a sample counts too often for this layout."""
        if self._weight is not None:
            counts = counts * self._weight
        if counts.max() > MOST_DRAWN:
            return None
        if not hasattr(self._rooms, "room"):
            self._rooms.room = DrawnRoom()
        grower = self._grower(int(counts.sum()) if below is None else below.weight, 0 if below is None else below.depth)
        start = seed if below is None else below.key
        times = counts.astype(np.uint16, copy=False)
        nodes, values, bits, _ = grow_packed(grower, times, start, self._rooms.room, below is not None)
        if self._n_classes:
            values = np.concatenate([np.eye(self._n_classes), values])
        return Packed(nodes, np.array([0, len(nodes)], dtype=np.int64), bits, values)

    def _grower(self, weight: int, depth: int) -> DrawnGrower:
        """Return targets and limits for a bag of this weight, which most bags share, below a node of this depth."""
        last = self._last
        if last is not None and last[0] == (weight, depth):
            return last[1]
        if self._n_classes:
            limits, labels = self._drawn_limits(weight, 1.0, depth), self._target.astype(np.uint16)
            grower = DrawnGrower(self._columns, limits, labels=labels, n_classes=self._n_classes)
        else:
            target, unit = whole_numbers(self._target, weight, self._whole)
            y = self._target.astype(np.float64, copy=False)
            grower = DrawnGrower(self._columns, self._drawn_limits(weight, unit * unit, depth), target=target, y=y)
        self._last = (weight, depth), grower
        return grower

    def _drawn_limits(self, weight: int, unit: float, depth: int) -> DrawnLimits:
        limits = drawn_limits(self._limits, self._columns.n_features, weight, self._whole.weight, unit)
        return limits._replace(random=self._random, max_depth=limits.max_depth - depth)


def drawn_limits(limits: Limits, n_features: int, weight: int, whole_weight: float, unit: float) -> DrawnLimits:
    """Return the limits for a bag of this weight, drawn from samples of the weight `whole_weight`; `unit` is that of gains."""
    return DrawnLimits(
        max_features=n_features if limits.max_features is None else limits.max_features,
        random=False,
        max_depth=2**31 - 1 if limits.max_depth is None else min(limits.max_depth, 2**31 - 1),
        min_samples_split=min(limits.min_samples_split, MORE_THAN_ANY),
        min_samples_leaf=min(limits.min_samples_leaf, MORE_THAN_ANY),
        min_weight_leaf=limits.min_weight_leaf * weight / whole_weight,
        min_gain=limits.min_impurity_decrease * weight / unit if limits.min_impurity_decrease else 0.0,
    )


def encode_drawn(table: Table, *, random: bool, n_jobs: int = 1) -> DrawnColumns:
    """Return the codes of all features."""
    encoded = DrawnColumns(table.n_samples, table.n_features, random=random)

    def encode_some(some: int) -> None:
        first = some * FEATURES_AT_ONCE
        for j, column in columns(table, first, min(first + FEATURES_AT_ONCE, table.n_features)):
            feature = table.schema.features[j]
            if feature.categories is not None:
                encoded.add_codes(j, column, len(feature.categories), feature.kind == Kind.ORDINAL)
            elif encoded.add_continuous(j, column):
                encoded.keep_values(j, table.column(j))

    in_threads(encode_some, -(-table.n_features // FEATURES_AT_ONCE), n_jobs)
    encoded.finish()
    return encoded


def _whole_of(grower: Grower) -> Whole:
    return Whole.of(grower.samples, grower.n_classes) if grower.whole is None else grower.whole


def whole_numbers(y: npt.NDArray[Any], weight: int, whole: Whole) -> tuple[Floats, float]:
    """Return targets as whole multiples of a power of two, less about their mean; no sum over the weight exceeds 2**52.

    Mean and unit are those of all targets.
    """
    largest = max(whole.most - whole.mean, whole.mean - whole.least) * weight
    if not largest:
        return np.zeros(len(y)), 1.0
    unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]) - _EXACT_BITS))
    values = y.astype(np.float64)
    values -= whole.mean
    values /= unit
    return np.rint(values, out=values), unit
