"""The fit of an estimator to a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Schema
from fasttree._data.sums import nearest, units_of_sizes
from fasttree._engine.records import Scale
from fasttree._engine.rounds import Setting
from fasttree._learn.grow.encode import Bins
from fasttree._learn.grow.growth import Size, engine_limits, policy_of
from fasttree._learn.limits import Limits
from fasttree._learn.progress import steps
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Costs
from fasttree._model.tree import Tree
from fasttree._scale.binned import binned, check_memory
from fasttree._scale.cluster import Cluster
from fasttree._scale.dataset import PARTS, Dataset
from fasttree._scale.frontier import Budget, Features
from fasttree._scale.growing import grow
from fasttree._scale.kept import Recorded
from fasttree._scale.memory import rows_in_memory
from fasttree._scale.messages import N_CODES
from fasttree._scale.nodes import BYTES_OF_NODE
from fasttree._scale.out_of_core import OutOfCore
from fasttree._scale.preparation import Floats, Portion, Portions, Weighing, outcomes, scale_of_targets, scale_of_weights
from fasttree._scale.remote.dask_table import DaskShards
from fasttree._scale.store import ArrayFile, ScratchFolder
from fasttree._scale.subtree import Task
from fasttree._version import __version__

MOST_THREADS = 4  # that ask shards: their replies take an eighth of the memory each
IMPURITIES = ("gini", "entropy", "misclassification", "squared_error")


def refusal(recipe: Recipe, other: str = "CARTClassifier") -> str | None:
    """Return why a recipe is not grown from a Dataset, and what to do instead, such as `other`; None if it is."""
    instead = "or fit the table in memory"
    if recipe.rank != "gain" or recipe.release8:
        return f"splits that compete by gain ratio are not grown from a Dataset: use {other}, {instead}"
    if recipe.impurity not in IMPURITIES:
        return f"criterion={recipe.impurity!r} is not grown from a Dataset: use 'squared_error', {instead}"
    if recipe.missing not in ("direction", "error"):
        return f"missing={recipe.missing!r} is not grown from a Dataset: use missing='direction', {instead}"
    if recipe.nominal not in ("subset", "one_vs_rest") or (recipe.ordinal, recipe.continuous) != ("threshold", "threshold"):
        return f"splits into more than two branches are not grown from a Dataset: use {other}, {instead}"
    return None


def as_it_is(column: Floats) -> Floats:
    return column


class Counted:
    """The samples of a Dataset as classes: how many there are of each, and what they weigh.

    Parameters
    ----------
    data : Dataset

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    counts : float64 array of shape (n_classes,)
        Number of samples of positive weight of each class.
    weights : float64 array of shape (n_classes,)
        Weight of each class, with the factors so far.
    """

    def __init__(self, data: Dataset) -> None:
        self.data = data
        data.prepare()
        self.classes, self._codes = data.target.classes()
        self.factors: list[Floats] = []
        self._count()

    def _count(self) -> None:
        n_classes = len(self.classes)
        self.counts = np.zeros(n_classes)
        units = [0] * n_classes
        for found, more in outcomes(partial(_count_classes, Weighing(self.factors), n_classes), self.portions()):
            self.counts += found
            units = [one + other for one, other in zip(units, more, strict=True)]
        weighted = self.data.prepared.weighted or bool(self.factors)
        self.weights = np.array([nearest(total) for total in units]) if weighted else self.counts
        self.total = nearest(sum(units)) if weighted else float(self.counts.sum())

    def portions(self) -> Portions:
        """Return the parts of the table, with classes as codes."""
        return self.data.prepared.portions(_ClassCodes(self.data.target.is_text, self._codes))

    def weigh(self, factor: Floats) -> None:
        """Multiply the weights of the samples of each class."""
        self.factors.append(factor)
        self._count()


@dataclass(frozen=True)
class _ClassCodes:
    """Encodes classes.

    Parameters
    ----------
    is_text : bool
    codes : array
        Code of each label as they were numbered, or the numbers in their order.
    """

    is_text: bool
    codes: npt.NDArray[Any]

    def __call__(self, column: Floats) -> npt.NDArray[np.uint16]:
        if self.is_text:
            codes: npt.NDArray[np.uint16] = self.codes[column.astype(np.intp)]
            return codes
        if np.array_equal(self.codes, np.arange(len(self.codes))):
            return column.astype(np.uint16)
        return np.searchsorted(self.codes, column).astype(np.uint16)


def _count_classes(weigh: Weighing, n_classes: int, portion: Portion) -> tuple[Floats, list[int]]:
    """Return the number of weighted samples of each class, and their exact weight in units, which is 0 without weights."""
    weight = weigh(portion)
    counted = portion.target if weight is None else portion.target[weight > 0]
    found = np.bincount(counted, minlength=n_classes).astype(np.float64)
    if weight is None:
        return found, [0] * n_classes
    return found, units_of_sizes(weight, portion.target.astype(np.intp), n_classes)


class Fit(NamedTuple):
    """What is fitted to a Dataset, and how."""

    data: Dataset
    recipe: Recipe
    limits: Limits
    n_jobs: int


class Measures(NamedTuple):
    """What the samples of a fit weigh."""

    scale: Scale
    weighted: bool
    cases: float  # weight of all samples
    case: float = 1.0  # average weight of a sample of weight 1


def grow_classes(fit: Fit, counted: Counted, costs: Costs | None) -> Tree:
    """Grow a classification tree."""
    weigh = Weighing([*counted.factors] + ([] if costs is None else [costs.loss.sum(axis=1)]))
    portions = counted.portions()
    measures = Measures(*scale_of_weights(portions, weigh), case=1.0 if costs is None else costs.mean)
    return _grow(fit, portions, measures, len(counted.classes), weigh, costs)


def portions_of_numbers(data: Dataset, other: str) -> Portions:
    """Return the parts of a table of numeric targets; an error names what else to use for labels."""
    target = data.prepare().target
    if target.is_text:
        raise ValueError(f"the target {target.name!r} holds labels, which are not numeric: use {other}")
    return data.prepared.portions(as_it_is)


class WeighedNumbers:
    """The samples of a Dataset as numbers, and what they weigh.

    Parameters
    ----------
    data : Dataset

    Attributes
    ----------
    total : float
        Weight of all samples.
    """

    def __init__(self, data: Dataset) -> None:
        self.portions = portions_of_numbers(data, "CARTClassifier")
        self.weigh = Weighing([]) if data.prepared.weighted else None
        self.measures = Measures(*scale_of_targets(self.portions, self.weigh or Weighing([])))
        self.total = self.measures.cases


def grow_numbers(fit: Fit, numbers: WeighedNumbers) -> Tree:
    """Grow a regression tree."""
    return _grow(fit, numbers.portions, numbers.measures, 0, numbers.weigh)


def _grow(
    fit: Fit,
    portions: Portions,
    measures: Measures,
    n_classes: int,
    weigh: Weighing | None = None,
    costs: Costs | None = None,
) -> Tree:
    data, recipe, limits, n_jobs = fit
    scale, weighted, cases, case = measures
    prepared = data.prepared
    schema, features = prepared.schema, prepared.features
    numbers = engine_limits(Size(scale.n_samples, data.n_features, case, cases), recipe, limits, n_classes)
    policy = policy_of(recipe, limits)
    kinds = np.array([int(feature.kind) for feature in schema.features], dtype=np.uint8)
    reply_bytes = min(2**28, data.memory // 8)
    _check_histogram(schema, features, 8 * (n_classes + 2 if n_classes else 5), reply_bytes)
    columns = prepared.portions(as_it_is)
    bins: dict[int, Bins] = {}
    files: list[ArrayFile] = []
    scratch: ScratchFolder | None = None
    if limits.max_bins is not None:
        if isinstance(prepared, DaskShards):
            portions, features, bins = prepared.binned(portions, limits.max_bins, weigh)
        else:
            check_memory(limits.max_bins, data.n_samples, data.memory)
            scratch = prepared.scratch
            columns, features, bins, files = binned(columns, features, limits.max_bins, scratch, weigh, portions)
    terms = (policy, numbers, scale, kinds, np.array(features.n_codes, dtype=np.uint32), n_classes, weighted)
    setting = Setting(*terms)
    cluster: Cluster = prepared.cluster(terms, columns, portions, weigh)
    if isinstance(cluster, OutOfCore):
        cluster.n_jobs = min(n_jobs, MOST_THREADS)
        cluster.remember(data.memory // 16)
    task = Task(schema, recipe, limits, policy, numbers, scale, n_classes, n_jobs, bins)
    rows = prepared.largest_subtree(rows_in_memory(data.memory, data.n_features, n_jobs))
    budget = Budget(rows, reply_bytes=reply_bytes)
    if not data.is_remote:  # the nodes are in memory twice when the tree is put together
        budget = budget._replace(most_nodes=data.memory // 4 // (BYTES_OF_NODE + 8 * max(n_classes, 1)))
    if data.kept_in is not None and data.records_fits and not isinstance(prepared, DaskShards):
        factors = b"" if weigh is None else weigh.state()
        known = repr((__version__, recipe, limits, terms[:3], terms[5:])).encode() + factors
        cluster = Recorded(cluster, data.kept_in, known, prepared.scratch)
        budget = budget._replace(rows=_power(budget.rows), reply_bytes=_power(budget.reply_bytes))
    try:
        tree = grow(task, setting, features, cluster, budget, costs=costs, report=_reporter())
    finally:
        cluster.close()
        if scratch is not None:
            scratch.drop(files)
    if isinstance(cluster, Recorded):
        cluster.forget()
    return tree


def _power(number: int) -> int:
    """Return the largest power of two up to a number, so that a little more free memory asks for the same rounds."""
    return 1 << (number.bit_length() - 1)


def _check_histogram(schema: Schema, features: Features, cell_bytes: int, most: int) -> None:
    """Raise a ValueError if the counts of one node are too many for the memory."""
    n_bytes = sum(features.n_codes) * cell_bytes
    if n_bytes > most and max(features.n_codes) > N_CODES:
        largest = int(np.argmax(features.n_codes))
        raise ValueError(
            f"the counts of one node take {n_bytes / 2**20:.3g} MiB, and an eighth of memory= and at most 256 MiB are for them: "
            f"column {schema.features[largest].name!r} has {features.n_codes[largest] - 1:,} categories; leave it out by "
            f"features=, group its categories, or give more memory"
        )


def _reporter() -> Callable[[str, float], None]:
    """Return a function of a step and its share that is done, which reports the step."""
    reports: dict[str, Callable[[int], None]] = {}

    def report(step: str, share: float) -> None:
        if step not in reports:
            reports[step] = steps(step, PARTS)
            reports[step](0)
        reports[step](int(share * PARTS))

    return report
