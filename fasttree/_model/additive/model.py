"""Additive models: an intercept and a table of scores for each term, a feature or a pair of features.

The score of a sample is the intercept plus the score of its bin in every term, added in the order of the terms.  Exports add in
the same order, so that they find the same double.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table

__all__ = ["AdditiveModel", "Axis", "Link", "Term", "probabilities_of"]

Link: TypeAlias = Literal["identity", "logit", "softmax"]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Axis:
    """The bins of a feature: bin 0 has the missing values, and unseen categories.

    Parameters
    ----------
    feature : int
        Index of the feature.
    cuts : ndarray of float64 or None
        Ascending cuts of a continuous feature: bin i has the values above cut i - 2 and up to cut i - 1, counted from 0.  None:
        bin i has category i - 1.
    n_bins : int
        Number of bins, with that of the missing values.
    """

    feature: int
    cuts: Floats | None
    n_bins: int

    def codes(self, column: NDArray[Any]) -> NDArray[np.intp]:
        """Return the bin of each value of a column of a table."""
        if self.cuts is None:
            return column.astype(np.intp)
        codes = np.searchsorted(self.cuts, column, side="left") + 1
        codes[np.isnan(column)] = 0
        return codes

    def interval(self, first: int, last: int, form: str = ".6g") -> str:
        """Write the values in some bins of a continuous feature; `form` says how numbers are written, "" to the last digit."""
        assert self.cuts is not None
        low = None if first == 1 else format(float(self.cuts[first - 2]), form)
        high = None if last == len(self.cuts) + 1 else format(float(self.cuts[last - 1]), form)
        if low is None:
            return "any value" if high is None else f"<= {high}"
        return f"> {low}" if high is None else f"{low} to {high}"


@dataclass(frozen=True, eq=False)
class Term:
    """The table of a feature, or of a pair of features.

    Parameters
    ----------
    axes : tuple of Axis
        One, or two.
    scores : ndarray of float64, shape (n_scores, n_bins) or (n_scores, n_bins, n_bins_of_second)
        What each bin adds to each score.
    deviations : ndarray of float64, of the same shape
        Standard deviation over the bags.
    weight : ndarray of float64, shape (n_bins,) or (n_bins, n_bins_of_second)
        Weight of the training samples in each bin.
    importance : float
        Weighted mean of the absolute scores over the training samples; of several scores, their mean.
    by_hand : tuple of str, default ()
        Changes of the scores by hand, oldest first.
    """

    axes: tuple[Axis, ...]
    scores: Floats
    deviations: Floats
    weight: Floats
    importance: float
    by_hand: tuple[str, ...] = ()

    @property
    def features(self) -> tuple[int, ...]:
        """Indices of the features."""
        return tuple(axis.feature for axis in self.axes)

    def cells(self, table: Table) -> tuple[NDArray[np.intp], ...]:
        """Return the bin of each sample on each axis."""
        return tuple(axis.codes(table.column(axis.feature)) for axis in self.axes)

    def with_scores(self, scores: Floats, change: str) -> Term:
        """Return the term with scores that are changed by hand, and its importance."""
        return replace(self, scores=scores, importance=importance_of(scores, self.weight), by_hand=(*self.by_hand, change))


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A fitted additive model.

    Parameters
    ----------
    link : {"identity", "logit", "softmax"}
        Predictions from scores: the score, or the probability of the second class, or those of all classes.
    intercept : ndarray of float64, shape (n_scores,)
        One score, or one for each class with "softmax".
    terms : tuple of Term
        Features in the order of the table, then pairs.
    n_bags : int
        Number of fits that the model is the mean of.
    """

    link: Link
    intercept: Floats
    terms: tuple[Term, ...]
    n_bags: int

    @property
    def n_scores(self) -> int:
        """Number of scores of a sample."""
        return len(self.intercept)

    def score(self, table: Table) -> Floats:
        """Return the scores of samples, shape (n_samples, n_scores)."""
        total = np.repeat(self.intercept[:, None], table.n_samples, axis=1)
        for term, cells in self._cells(table):
            for row, scores in zip(total, term.scores, strict=True):
                row += scores[cells]
        return np.ascontiguousarray(total.T)

    def contributions(self, table: Table) -> Floats:
        """Return what each term adds to each score, shape (n_samples, n_terms, n_scores)."""
        out = np.empty((table.n_samples, len(self.terms), self.n_scores))
        for i, (term, cells) in enumerate(self._cells(table)):
            for k, scores in enumerate(term.scores):
                out[:, i, k] = scores[cells]
        return out

    def _cells(self, table: Table) -> Iterator[tuple[Term, tuple[NDArray[np.intp], ...]]]:
        for term in self.terms:
            yield term, term.cells(table)

    def with_term(self, i: int, term: Term) -> AdditiveModel:
        """Return the model with another term at position `i`."""
        return replace(self, terms=(*self.terms[:i], term, *self.terms[i + 1 :]))

    def check(self, schema: Schema) -> None:
        """Raise a ValueError that names the first fault, if tables and columns do not fit one another."""
        if self.link not in ("identity", "logit", "softmax"):
            raise ValueError(f"link is {self.link!r}: must be 'identity', 'logit' or 'softmax'")
        if not np.isfinite(self.intercept).all():
            raise ValueError("the intercept must be finite")
        if self.n_scores != 1 and self.link != "softmax":
            raise ValueError(f"the intercept has {self.n_scores} numbers, which link {self.link!r} does not allow")
        for i, term in enumerate(self.terms):
            _check_term(term, schema, self.n_scores, f"term {i}")


def _check_term(term: Term, schema: Schema, n_scores: int, where: str) -> None:
    if len(term.axes) not in (1, 2) or len(set(term.features)) < len(term.axes):
        raise ValueError(f"{where} must have one feature, or two different ones")
    for axis in term.axes:
        if not 0 <= axis.feature < len(schema.features):
            raise ValueError(f"{where}: there is no feature {axis.feature}")
        feature = schema.features[axis.feature]
        if (feature.kind == Kind.CONTINUOUS) != (axis.cuts is not None):
            raise ValueError(f"{where}: {feature.name!r} must have cuts if it is continuous, and only then")
        n_values = len(feature.categories or ()) if axis.cuts is None else len(axis.cuts) + 1
        if axis.n_bins != n_values + 1:
            raise ValueError(f"{where}: {feature.name!r} has {axis.n_bins} bins, not {n_values + 1}")
        if axis.cuts is not None and not (np.isfinite(axis.cuts).all() and (np.diff(axis.cuts) > 0).all()):
            raise ValueError(f"{where}: the cuts of {feature.name!r} must be finite and ascend")
    shape = tuple(axis.n_bins for axis in term.axes)
    if term.scores.shape != (n_scores, *shape) or term.deviations.shape != term.scores.shape or term.weight.shape != shape:
        raise ValueError(f"{where}: scores, deviations and weights must have a number for each bin")
    if not (np.isfinite(term.scores).all() and (term.deviations >= 0).all() and (term.weight >= 0).all()):
        raise ValueError(f"{where}: scores must be finite, deviations and weights not negative")


def importance_of(scores: Floats, weight: Floats) -> float:
    """Return the weighted mean of absolute scores, shape (n_scores, ...), over the samples of weights (...)."""
    total = float(weight.sum())
    return float((np.abs(scores) * weight).sum() / (total * len(scores))) if total > 0 else 0.0


def probabilities_of(link: Link, scores: Floats) -> Floats:
    """Return the probabilities of all classes from scores, shape (n_samples, n_classes)."""
    if link == "logit":
        size = np.exp(-np.abs(scores[:, 0]))
        smaller, larger = size / (1 + size), 1 / (1 + size)
        second = np.where(scores[:, 0] >= 0, larger, smaller)
        return np.column_stack([np.where(scores[:, 0] >= 0, smaller, larger), second])
    each = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = each / each.sum(axis=1, keepdims=True)
    return shares


def terms_named(terms: Sequence[Term], schema: Schema) -> list[str]:
    """Return the name of each term: that of its feature, or of both with a multiplication sign between them."""
    return [" × ".join(schema.features[j].name for j in term.features) for term in terms]
