"""Growth of the branches of nodes anew, on some rows of one table, by C5.0's rules."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._engine import passes
from fasttree._engine.encoding import Encoding
from fasttree._learn import progress
from fasttree._learn.constraints import FREE
from fasttree._learn.grow.afterwards import C50_SHARE
from fasttree._learn.grow.decode import categories_by_node, decode_thresholds
from fasttree._learn.grow.encode import Bins, Encoded, InOrder, SomeRows, encode_columns
from fasttree._learn.grow.fixed_point import fixed_point_weights, fractional_weights
from fasttree._learn.grow.growth import BLOCK_ROWS, Size, engine_limits, policy_of
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._model.arrays import THRESHOLD


class Branches(NamedTuple):
    """The samples of the branches of a node.

    Parameters
    ----------
    rows : int64 array, shape (n,)
        Those of each branch, ascending, one branch after the other.
    weight : float64 array, shape (n,), or None
        Positive.  None: all are 1.
    label : uint16 array, shape (n,)
        Class codes.
    start : list of int, n_branches + 1
        Where the rows of each branch start, and the end of the last.
    inner : list of int
        The branches that are heavy enough to be divided, and have samples of several classes.
    """

    rows: npt.NDArray[np.int64]
    weight: Floats | None
    label: npt.NDArray[np.uint16]
    start: list[int]
    inner: list[int]


class BranchGrowth:
    """`growth.grow` of C5.0's trees that keep midpoints, without what is the same for all rows, and without a `Tree`.

    Parameters
    ----------
    table : InOrder
        Columns that are sorted once, in place.
    recipe : Recipe
        C5.0's, with thresholds for continuous features alone.
    limits : Limits
        With `n_cases`, and without limits of the depth, the leaves or the features of a node.
    n_classes : int
    """

    def __init__(self, table: InOrder, recipe: Recipe, limits: Limits, n_classes: int) -> None:
        self.table, self._recipe, self._limits = table, recipe, limits
        self._n_classes = n_classes
        self._first_class = np.array([0, n_classes], dtype=np.int32)
        assert limits.n_cases is not None
        size = Size(table.n_samples, table.n_features, 1.0, limits.n_cases)
        numbers = engine_limits(size, recipe, limits, n_classes)
        self._spec = _core.Spec(policy_of(recipe, limits), numbers, FREE.for_engine(table.n_features))
        self._workspace = _core.Workspace(consume=True, report=progress.share())
        self._columns = passes.Columns(table.n_features)
        for feature in range(table.n_features):
            self._columns.add(feature, table.column(feature))

    def __call__(self, branches: Branches) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a node without a test, node 0, and of the trees that are its branches.

        A branch is a leaf that holds nothing if it is one for its number of samples or their one class.  Splits that C4.5's
        collapse takes back are leaves; what was below them is still there.
        """
        n = len(branches.start) - 1
        encodings: list[Encoding | None] = [None] * n
        targets: list[_core.Targets | None] = [None] * n
        weights: list[npt.NDArray[np.int64] | None] = [None] * n
        bins: dict[int, dict[int, Bins]] = {}
        for b in branches.inner:
            here = slice(*branches.start[b : b + 2])
            rows = branches.rows[here]
            weights[b], unit = fixed_point_weights(None if branches.weight is None else branches.weight[here])
            encodings[b], has_missing, bins[b] = self._encode(rows)
            if unit == 1.0 and has_missing:
                weights[b], unit = fractional_weights(weights[b], len(rows))
            targets[b] = _core.Targets(unit, labels=branches.label[here, None], first_class=self._first_class)
        grown = _core.grow_branches(encodings, targets, weights, branches.start, self._spec, self._n_classes, self._workspace)
        grown["threshold"] = self._thresholds(grown, branches, bins)
        categories_by_node(grown)
        passes.collapse(grown["parent"], grown["first_child"], grown["n_branches"], grown["weight"], grown["value"], C50_SHARE)
        return grown

    def _encode(self, rows: npt.NDArray[np.int64]) -> Encoded:
        """Return what `encode_columns` does; bins are those of the rows."""
        if self._limits.max_bins is None:
            return self.table.encoded(rows, BLOCK_ROWS)
        some = SomeRows(self.table.kept, rows)
        return encode_columns(some, some, self._recipe, self._limits, BLOCK_ROWS, 0, 1)

    def _thresholds(self, grown: dict[str, npt.NDArray[Any]], branches: Branches, bins: dict[int, dict[int, Bins]]) -> Floats:
        thresholds = np.empty(len(grown["kind"]))
        low, high = grown["row_low"], grown["row_high"]
        self._columns.single_midpoints(grown["feature"], grown["kind"], low, high, branches.rows, thresholds)
        for b, found in bins.items():
            if found:
                start, stop = branches.start[b : b + 2]
                at = np.flatnonzero((grown["kind"] == THRESHOLD) & (low >= start) & (low < stop))
                some = SomeRows(self.table, branches.rows)
                thresholds[at] = decode_thresholds(grown, at, some, None, self._recipe, found)[at]
        return thresholds
