"""Samples for growth and pruning: weights, costs, random order, and the parts that are held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._data.table import Table
from fasttree._data.weights import total_by_class
from fasttree._learn.splits import Split


class Costs(NamedTuple):
    """Costs of wrong classes.  The trees of all folds share `mean`, which gives their risks one unit."""

    loss: Floats  # (n_classes, n_classes): cost of predicting the class of the column if that of the row is true
    mean: float  # over all samples, of the sum of their class's row


class Samples(NamedTuple):
    """Samples to grow a tree on, or to judge it by.

    Parameters
    ----------
    table : Table
    target : array, shape (n_samples,)
        Class codes, or float64 targets.
    weight : float64 array, shape (n_samples,), or None
        Not negative; a sample of weight 0 is left out.
    class_factor : float64 array, shape (n_classes,), or None
        Factor of the weights of each class, by which the classes have their priors.
    impurity : {"squared_error", "absolute_error", "poisson"}, default "squared_error"
        Loss of a regression tree: each sample's part in this impurity, around the prediction of a node.
    part : float64 array, shape (n_samples,), or None
        The part of each sample that arrives at a node, by which `weight` is multiplied already.  None: all of it.
    """

    table: Table
    target: npt.NDArray[Any]
    weight: Floats | None = None
    class_factor: Floats | None = None
    impurity: str = "squared_error"
    part: Floats | None = None

    @property
    def counts(self) -> Floats | None:
        """The weight of each sample times the factor of its class; None if all are 1."""
        if self.class_factor is None:
            return self.weight
        by_class: Floats = self.class_factor[self.target]
        return by_class if self.weight is None else self.weight * by_class


def shuffle(
    class_codes: npt.NDArray[np.integer[Any]] | None, n_samples: int, random: np.random.RandomState
) -> npt.NDArray[np.intp]:
    """Return a random order of the samples, sorted by class: every k-th sample is then a stratified part."""
    order = random.permutation(n_samples)
    return order if class_codes is None else order[np.argsort(class_codes[order], kind="stable")]


def total_weight(samples: Samples) -> float:
    return float(samples.table.n_samples) if samples.weight is None else sum_of_sizes(samples.weight)


def total_count(samples: Samples) -> float:
    """Return the weight of the samples with the factors of their classes."""
    return float(samples.table.n_samples) if samples.counts is None else sum_of_sizes(samples.counts)


def costs_of(samples: Samples, loss: NDArray[np.float64]) -> Costs:
    weight = total_by_class(samples.target, samples.counts, len(loss))
    return Costs(loss, float(weight @ loss.sum(axis=1) / weight.sum()))


def weighted_rows(samples: Samples) -> NDArray[np.intp]:
    return np.arange(samples.table.n_samples) if samples.weight is None else np.flatnonzero(samples.weight)


def divide(samples: Samples, split: Split) -> tuple[Samples, Samples]:
    """Return the samples to grow on and those to judge by: a row weighs as often as the split lists it."""
    n_samples = samples.table.n_samples
    weight = np.ones(n_samples) if samples.weight is None else samples.weight
    judges = np.bincount(split.test, minlength=n_samples)
    grows = judges == 0 if split.train is None else np.bincount(split.train, minlength=n_samples)
    return samples._replace(weight=weight * grows), samples._replace(weight=weight * judges)
