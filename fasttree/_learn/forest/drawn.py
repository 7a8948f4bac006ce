"""Trees of a forest in the drawn layout of the engine, for recipes that it can follow."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind, Schema
from fasttree._engine.columns.locks import new_lock
from fasttree._engine.forest import DrawnGrower, DrawnRoom, grow_packed
from fasttree._learn.grow.drawn import MOST_DRAWN, DrawnLimits, drawn_limits, encode_drawn, has_drawn_form
from fasttree._learn.grow.drawn_parts import grow_in_parts
from fasttree._learn.grow.grower import Grower, Whole
from fasttree._model.packed.nodes import Packed

_EXACT_BITS = 51  # sums of targets stay below 2**52, which doubles hold


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
    samples, schema = grower.samples, grower.samples.table.schema
    return bool(
        has_drawn_form(grower.recipe, grower.limits, schema, random)
        and grower.outputs is None
        and grower.costs is None
        and grower.constraints == type(grower.constraints)()
        and samples.class_factor is None
        and _whole_of(grower).has_whole_weights
        and (random or _groups_are_exact(schema, grower.recipe.nominal, grower.n_classes))
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
        if not grower.n_classes and np.signbit(target[target == 0]).any():
            target = target + 0.0  # no -0.0: which of equal targets comes first must not show
        self._target = target
        self._rooms, self._making = threading.local(), new_lock()
        self._last: tuple[tuple[int, int], DrawnGrower] | None = None

    def __call__(self, counts: npt.NDArray[np.integer], seed: int, below: Below | None = None, n_jobs: int = 1) -> Packed | None:
        """Grow a tree on a bag, or, in one thread, `below` a node on its rows; None if a sample counts too often for it."""
        if self._weight is not None:
            counts = counts * self._weight
        if counts.max() > MOST_DRAWN:
            return None
        grower = self._grower(int(counts.sum()) if below is None else below.weight, 0 if below is None else below.depth)
        start = seed if below is None else below.key
        times = counts.astype(np.uint16, copy=False)
        if n_jobs > 1:
            nodes, values, bits = grow_in_parts(grower, times, start, self._n_classes, n_jobs)
        else:
            nodes, values, bits = grow_packed(grower, times, start, self._room(), below is not None)
        if self._n_classes:
            values = np.concatenate([np.eye(self._n_classes), values])
        return Packed(nodes, np.array([0, len(nodes)], dtype=np.int64), bits, values)

    def _room(self) -> DrawnRoom:
        """Return the room of this thread."""
        if not hasattr(self._rooms, "room"):
            self._rooms.room = DrawnRoom()
        room: DrawnRoom = self._rooms.room
        return room

    def _grower(self, weight: int, depth: int) -> DrawnGrower:
        """Return targets and limits for a bag of this weight, which most bags share, below a node of this depth."""
        with self._making:  # else two threads would make, and keep, the same targets twice
            return self._made(weight, depth)

    def _made(self, weight: int, depth: int) -> DrawnGrower:
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
