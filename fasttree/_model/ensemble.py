"""`Ensemble`: the trees of one model, packed where their form allows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._model.arrays import same_bits
from fasttree._model.packed.nodes import Packed, first_trees, join, pack_tree, unpack_tree
from fasttree._model.packed.walks import add_sums, find_leaves, walk_of
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree, best_classes

ROWS_AT_ONCE = 32_768
COMBINE = ("mean", "sum", "vote", "confidence")


class Ensemble:
    """Trees of one model; it never changes.

    Trees with thresholds, two groups of categories, whole weights and one target are packed: they are behind one another in
    nodes of 16 bytes, and `tree` makes a `Tree` of one when it is asked for.  Others are kept as they are.

    Parameters
    ----------
    trees : Packed or sequence of Tree
        Trees of one task, for the same columns and targets.
    task : {"classification", "regression"}
    n_features : int
        Number of columns of the training table.
    impurity : str
        Impurity of the growth, as in a `Recipe`.
    weights : array-like of shape (n_trees,) or None, default None
        Weight of each tree; None: all weights are 1.  Sums take any finite weights, and the others positive ones.
    combine : {"mean", "sum", "vote", "confidence"}, default "mean"
        How the trees make a prediction.

        - "mean": the weighted mean of their class shares or numbers.
        - "sum": the weighted sum of their class shares or numbers.
        - "vote": the share of the weight of the trees that predict each class.
        - "confidence": each tree votes for the class it predicts with the share of this class, times its weight; the votes are
          divided by their total (Quinlan's C5.0 combines its trials so).  With a loss, it votes with 1 less the class's part of
          the expected losses of all classes.

    Raises
    ------
    ValueError
        If `combine` is not one of these words, numbers are to vote, or the weights are invalid.

    Examples
    --------
    >>> from fasttree import RandomForestClassifier
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
    >>> ensemble = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y).ensemble_
    >>> ensemble
    <Ensemble: classification, 1 features, 3 trees, 9 nodes>
    >>> ensemble.tree(0)
    <Tree: classification, 1 features, 3 nodes, 2 leaves, depth 1>
    """

    def __init__(
        self,
        trees: Packed | Sequence[Tree],
        *,
        task: str,
        n_features: int,
        impurity: str,
        weights: npt.ArrayLike | None = None,
        combine: str = "mean",
    ) -> None:
        self.task, self.n_features, self.impurity, self.combine = task, int(n_features), impurity, combine
        self.packed: Packed | None = None
        self._trees: tuple[Tree, ...] = ()
        if isinstance(trees, Packed):
            self.packed = Packed(*map(_read_only, trees))
        else:
            self._trees = tuple(trees)
        self.weights = None if weights is None else _read_only(np.array(weights, dtype=np.float64))
        self._check_combination()

    def _check_combination(self) -> None:
        if self.combine not in COMBINE:
            raise ValueError(f"combine={self.combine!r}: must be one of {', '.join(COMBINE)}")
        if self._votes and self.task != "classification":
            raise ValueError(f"combine={self.combine!r} is for classes; numbers are combined by 'mean' or 'sum'")
        weights = self.weights
        if weights is None:
            return
        if weights.shape != (self.n_trees,):
            raise ValueError(f"weights: the shape must be ({self.n_trees},), a weight for each tree; got {weights.shape}")
        if not np.isfinite(weights).all() or (self.combine != "sum" and not (weights > 0).all()):
            raise ValueError(f"weights must be {'finite' if self.combine == 'sum' else 'positive and finite'}")
        with np.errstate(over="ignore"):
            total = np.abs(weights).sum()
        if not np.isfinite(total):
            raise ValueError("weights: their sum must be finite")

    @classmethod
    def pack(
        cls,
        trees: Sequence[Tree | Packed],
        *,
        task: str,
        n_features: int,
        impurity: str,
        weights: npt.ArrayLike | None = None,
        combine: str = "mean",
        consume: bool = False,
    ) -> Ensemble:
        """Return the ensemble of some trees, packed if all of them can be.

        Parameters
        ----------
        trees : sequence of Tree and Packed
            At least one.
        consume : bool, default=False
            Whether to empty the list `trees`, so that memory need not hold them twice.
        task, n_features, impurity, weights, combine
            As for `Ensemble`.
        """
        about: dict[str, Any] = {"task": task, "n_features": n_features, "impurity": impurity}
        combination: dict[str, Any] = {"weights": weights, "combine": combine}
        parts: list[Packed] = []
        for tree in trees:
            packed = pack_tree(tree, impurity) if isinstance(tree, Tree) else tree
            if packed is None:
                break
            parts.append(packed)
        if len(parts) == len(trees):
            if consume and isinstance(trees, list):
                trees.clear()
                del tree, packed
            return cls(join(parts), **about, **combination)
        whole: list[Tree] = []
        for tree in trees:
            whole.extend([tree] if isinstance(tree, Tree) else cls(tree, **about).trees())
        return cls(whole, **about, **combination)

    @property
    def is_plain_mean(self) -> bool:
        """Whether predictions are the mean of all trees with equal weights, as in a forest."""
        return self.combine == "mean" and self.weights is None

    @property
    def _votes(self) -> bool:
        return self.combine in ("vote", "confidence")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self._trees) if self.packed is None else len(self.packed.start) - 1

    @property
    def node_count(self) -> int:
        """Number of nodes of all trees."""
        return sum(tree.node_count for tree in self._trees) if self.packed is None else len(self.packed.nodes)

    @property
    def node_counts(self) -> npt.NDArray[np.int64]:
        """Number of nodes of each tree; shape (n_trees,)."""
        if self.packed is None:
            return np.array([tree.node_count for tree in self._trees], dtype=np.int64)
        return np.diff(self.packed.start)

    @property
    def n_columns(self) -> int:
        """Number of columns of a prediction: the classes of all targets, or 1 per numeric target."""
        if self.packed is None:
            return self._trees[0].n_values
        return self.packed.value.shape[1] if self.task == "classification" else 1

    @property
    def outputs(self) -> tuple[int, ...] | None:
        """Number of columns of each of several targets; None for one target."""
        return self._trees[0].outputs if self._trees else None

    @property
    def loss(self) -> Floats | None:
        """Cost of each wrong class, as in `Tree`."""
        return self._trees[0].loss if self._trees else None

    @cached_property
    def _leaf_values(self) -> Floats:
        """What packed leaves add to a sum: shares, votes, or means without impurities."""
        assert self.packed is not None
        value = self.packed.value
        return self._as_votes(value) if self.task == "classification" else np.ascontiguousarray(value[:, :1])

    def _as_votes(self, values: Floats) -> Floats:
        """Return predictions of a tree as what it adds to a sum, apart from its weight."""
        if not self._votes:
            return values
        votes = np.zeros_like(values)
        rows, first = np.arange(len(values)), 0
        for code, width in zip(self._codes(values, self.loss).T, self._widths, strict=True):
            part = values[:, first : first + width]
            votes[rows, first + code] = 1.0 if self.combine == "vote" else confidences(part, code, self.loss)
            first += width
        return votes

    @property
    def _widths(self) -> tuple[int, ...]:
        """Number of columns of each target."""
        return self.outputs or (self.n_columns,)

    def _codes(self, values: Floats, loss: Floats | None) -> npt.NDArray[np.intp]:
        parts = np.split(values, np.cumsum(self._widths)[:-1], axis=1)
        return np.column_stack([best_classes(part, loss) for part in parts])

    def predicted_codes(self, values: Floats) -> npt.NDArray[np.intp]:
        """Return the class of each target, shape (n, n_outputs), that predictions or sums of them say; on ties the first.

        With a loss, shares give the class of least expected loss.  Votes have taken it into account.
        """
        return self._codes(values, None if self._votes else self.loss)

    def tree(self, i: int) -> Tree:
        """Return a tree.

        The tree of packed nodes counts drawn samples: `n_samples` and `weight` are equal.  Counts, values, impurities and gains
        are computed from those of the leaves.
        """
        if self.packed is None:
            return self._trees[i]
        return unpack_tree(self.packed, range(self.n_trees)[i], self.task, self.n_features, self.impurity)

    def trees(self) -> Iterator[Tree]:
        """Yield all trees."""
        return map(self.tree, range(self.n_trees))

    def sums(self, X: npt.NDArray[Any], first: int = 0, last: int | None = None, *, n_jobs: int = 1) -> Floats:
        """Return the predictions of some trees, times their weights, added in their order.

        Parameters
        ----------
        X : array of float32 or float64, shape (n, n_features)
            Codes as floats, missing = NaN, as from `Table.block`.
        first, last : int
            The trees first, ..., last - 1; by default all.
        n_jobs : int
            Threads; the sums do not depend on it.

        Returns
        -------
        array of float64, shape (n, n_columns)
            Sums of class shares, of votes, or of means.
        """
        last = self.n_trees if last is None else last
        out = np.zeros((len(X), self.n_columns))

        def add(block: int) -> None:
            rows = slice(block * ROWS_AT_ONCE, (block + 1) * ROWS_AT_ONCE)
            if self.packed is not None:
                add_sums(self.packed, self._leaf_values, X[rows], out[rows], first, last, self.weights)
                return
            for i in range(first, last):
                values = self._as_votes(_ends(self._trees[i], X[rows])[1])
                out[rows] += values if self.weights is None else self.weights[i] * values

        in_threads(add, _n_blocks(len(X)), n_jobs)
        return out

    def predict(self, X: npt.NDArray[Any], *, n_jobs: int = 1) -> Floats:
        """Return the predictions that the trees make together, by `combine`.

        Parameters
        ----------
        X, n_jobs
            As for `sums`.

        Returns
        -------
        array of float64, shape (n, n_columns)
            Class shares (rows sum to 1 for each target) or numbers; sums if `combine` is "sum".
        """
        values = self.sums(X, n_jobs=n_jobs)
        if self.combine == "mean" or self.combine == "vote":
            values /= self.n_trees if self.weights is None else self.weights.sum()
        elif self.combine == "confidence":
            for part in np.split(values, np.cumsum(self._widths)[:-1], axis=1):
                total = part.sum(axis=1, keepdims=True)
                np.divide(part, total, out=part, where=total > 0)
                part[total[:, 0] <= 0] = 1 / part.shape[1]  # with a loss, a tree may predict a class whose share is 0
        return values

    def leaves(self, X: npt.NDArray[Any], first: int = 0, last: int | None = None, *, n_jobs: int = 1) -> npt.NDArray[np.int32]:
        """Return the leaf of each row in some trees, int32 (n, last - first); if it reaches several, that of its largest part."""
        last = self.n_trees if last is None else last
        out = np.empty((len(X), last - first), dtype=np.int32)

        def find(block: int) -> None:
            rows = slice(block * ROWS_AT_ONCE, (block + 1) * ROWS_AT_ONCE)
            if self.packed is not None:
                find_leaves(self.packed, X[rows], out[rows], first, last)
            else:
                for i, tree in enumerate(self._trees[first:last]):
                    out[rows, i] = _ends(tree, X[rows])[0]

        in_threads(find, _n_blocks(len(X)), n_jobs)
        return out

    def judge(
        self, X: npt.NDArray[Any], lacking: npt.NDArray[np.uint8], target: npt.NDArray[Any], weight: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Let packed trees of a plain mean predict the rows that their bags lack.

        Parameters
        ----------
        X : array of float32 or float64, shape (n, n_features)
            Codes as floats, missing = NaN.
        lacking : array of uint8, shape (n_trees, n / 8 rounded up)
            A bit for each row, as from ``numpy.packbits``.
        target, weight : arrays of shape (n,)
            Codes of classes, or numbers; weights in the errors.

        Returns
        -------
        sums : array of float64, shape (n, n_columns)
            Predictions, added in the order of the trees.
        n_seen : array of float64, shape (n,)
            How many they are.
        errors : array of float64, shape (2, n_trees)
            After each tree, the weighted sum of errors (1 for a wrong class, or the squared deviation), and the weight of the
            rows that are predicted by then.
        """
        assert self.packed is not None
        assert self.is_plain_mean
        lacking, target = np.ascontiguousarray(lacking), np.asarray(target, dtype=np.float64)
        walk = walk_of(self.packed, X)
        return walk.judge(self._leaf_values, lacking, target, weight, self.task == "classification")

    def leaf_of(self, i: int, X: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return the leaf of each row in tree `i`, int32 (n,)."""
        return self.leaves(X, i, i + 1)[:, 0]

    def joined(self, other: Ensemble) -> Ensemble:
        """Return the trees of this ensemble, then those of another one of the same model.

        If one of them has weights, the trees of the other have the weights 1.

        Raises
        ------
        ValueError
            If they combine in different ways.
        """
        if self.combine != other.combine:
            raise ValueError(f"ensembles that combine by {self.combine!r} and {other.combine!r} cannot be joined")
        about = self._about()
        if self.weights is not None or other.weights is not None:
            about["weights"] = np.concatenate(
                [np.ones(each.n_trees) if each.weights is None else each.weights for each in (self, other)]
            )
        if self.packed is not None and other.packed is not None:
            return Ensemble(join([self.packed, other.packed]), **about)
        return Ensemble([*self.trees(), *other.trees()], **about)

    def prefix(self, n: int) -> Ensemble:
        """Return the first `n` trees, with their weights."""
        about = self._about()
        if self.weights is not None:
            about["weights"] = self.weights[:n]
        return Ensemble(self._trees[:n] if self.packed is None else first_trees(self.packed, n), **about)

    def _about(self) -> dict[str, Any]:
        """Return the parameters other than the trees."""
        names = ("task", "n_features", "impurity", "weights", "combine")
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        """Return whether the trees and weights of two ensembles are equal bit for bit."""
        if not isinstance(other, Ensemble):
            return NotImplemented
        plain = ("task", "n_features", "impurity", "combine", "_trees")
        if any(getattr(self, name) != getattr(other, name) for name in plain):
            return False
        if self.weights is None or other.weights is None:
            if self.weights is not other.weights:
                return False
        elif not same_bits(self.weights, other.weights):
            return False
        if self.packed is None or other.packed is None:
            return self.packed is other.packed
        arrays = zip(tuple(self.packed), tuple(other.packed), strict=True)
        return all(same_bits(ours, theirs) for ours, theirs in arrays)

    __hash__ = None  # type: ignore[assignment]  # equality is by content, which may be large

    def __getstate__(self) -> dict[str, Any]:
        trees = list(self._trees) if self.packed is None else tuple(self.packed)
        return {"trees": trees, **self._about()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        trees = state["trees"]
        self.__init__(**state | {"trees": trees if isinstance(trees, list) else Packed(*trees)})  # type: ignore[misc]

    def __repr__(self) -> str:
        how = "" if self.combine == "mean" else f", combined by {self.combine}"
        return f"<Ensemble: {self.task}, {self.n_features} features, {self.n_trees} trees, {self.node_count} nodes{how}>"


def voted(ensemble: Ensemble, votes: Floats) -> npt.NDArray[np.intp]:
    """Return the class of the most votes in each row; on ties that of the first tree's root, or else the first."""
    default = int(ensemble.tree(0).predicted_class[0])
    return np.where(votes[:, default] >= votes.max(axis=1), default, votes.argmax(axis=1))


def confidences(value: Floats, classes: npt.NDArray[np.intp], loss: Floats | None) -> Floats:
    """Return the confidence in a class of each row of class shares: its share; or 1 less its part of all expected losses."""
    rows = np.arange(len(value))
    if loss is None:
        return np.asarray(value[rows, classes])
    expected = value @ loss
    return np.asarray(1 - expected[rows, classes] / expected.sum(axis=1))


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def _n_blocks(n_rows: int) -> int:
    return -(-n_rows // ROWS_AT_ONCE)


def _ends(tree: Tree, X: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return the node where each row ends (its leaf of largest part if it reaches several), and its prediction."""
    ends = np.empty(len(X), dtype=np.int32)
    if not _core.walk(tree, X, ends):
        return ends, tree.predict_nodes(ends)
    divided = np.flatnonzero(ends == _core.DIVIDED)
    found, leaves = np.empty((divided.size, tree.n_values)), np.empty(divided.size, dtype=np.int32)
    _core.walk_shares(tree, X[divided], tree.contribution, found, leaves)
    ends[divided] = leaves
    values = tree.predict_nodes(ends)
    values[divided] = found
    return ends, values
