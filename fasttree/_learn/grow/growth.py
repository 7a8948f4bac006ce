"""Growth of a tree from a table and a recipe; the only caller of the engine's growth.

`encode` prepares the columns, `fixed_point` the weights and targets; the engine grows; `decode` turns its arrays into a `Tree`,
and `afterwards` does what needs the finished tree.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._data.cells import Floats
from fasttree._data.sums import sum_of_sizes
from fasttree._data.table import Table
from fasttree._engine.records import EngineLimits, Policy
from fasttree._learn import progress
from fasttree._learn.conflicts import check_recipe
from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.grow.afterwards import best_first, deepest, most_splits, with_values_in_bounds, without_useless_splits
from fasttree._learn.grow.decode import (
    as_tree,
    critical_value,
    decode_cuts,
    decode_surrogates,
    decode_thresholds,
    random_thresholds,
    with_weights_as_given,
)
from fasttree._learn.grow.drawn import counts_alone, grow_alone
from fasttree._learn.grow.encode import MOST_CODES, AnyTable, Bins, Encoded, InOrder, SomeRows, encode_columns, may_be_bounded
from fasttree._learn.grow.fixed_point import (
    fixed_point_targets,
    fixed_point_weights,
    fractional_weights,
    least_of_parts,
    ranks_of,
    with_squares,
)
from fasttree._learn.grow.independence import without_independent_splits
from fasttree._learn.grow.lookahead import check_lookahead, grow_ahead
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Costs
from fasttree._model.arrays import THRESHOLD
from fasttree._model.surrogates import Surrogates
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree

BLOCK_ROWS = 32_768  # most samples of a private block of the engine: half of what 16 bits allow, so that less work waits

BOUNDED_FROM = 8_192  # fewest samples of a private block's node that is searched by bounds; below, lists are as fast
MOST_CLASSES = 32  # per thread; with more classes, histograms cost several times as much as lists and prune no better
_LARGEST_WEIGHT = 2.0**62  # in fixed point
_ROUNDED = 1e-12  # more than the relative error of a product's quotient


Memory: TypeAlias = "dict[bool, _core.Workspace]"  # by whether growth consumes its encoding


class _Samples(NamedTuple):
    """Samples of a growth: rows of a table, their targets and weights."""

    source: AnyTable
    whole: AnyTable  # all samples of positive weight, of which `source` may have some
    target: npt.NDArray[Any]
    weight: Floats | None  # with class factors and costs
    case_weight: Floats | None  # without them
    case: float  # average weight, with class factors and costs, of a sample of weight 1
    all_weight: Floats | None  # of `whole`, whose samples are not divided
    part: Floats | None = None  # of each sample, that `weight` is for; None: all of it
    ranks: npt.NDArray[np.uint32] | None = None  # of the targets, for absolute error alone

    @property
    def undivided(self) -> Floats | None:
        """Weights before samples were divided: of the samples, or of all if these are parts."""
        return self.weight if self.part is None else self.all_weight

    def size(self, n_cases: float | None) -> Size:
        """Return the size of the table; `n_cases` is the weight of all its samples, None if that of `whole`."""
        if n_cases is None:
            n_cases = float(self.whole.n_samples) if self.all_weight is None else sum_of_sizes(self.all_weight)
        return Size(self.source.n_samples, self.source.n_features, self.case, n_cases)


def grow(
    table: AnyTable,
    target: npt.NDArray[Any],
    sample_weight: Floats | None,
    recipe: Recipe,
    limits: Limits,
    *,
    n_classes: int,
    class_factor: Floats | None = None,
    outputs: tuple[int, ...] | None = None,
    costs: Costs | None = None,
    rows: npt.NDArray[np.intp] | None = None,
    part: Floats | None = None,
    constraints: Constraints = FREE,
    bins_of: AnyTable | None = None,
    keeps_midpoints: bool = False,
    n_jobs: int = 1,
    block_rows: int = BLOCK_ROWS,
    most_codes: int = MOST_CODES,
    bounded_from: int = BOUNDED_FROM,
    drawn: bool = True,
    memory: Memory | None = None,
) -> Tree:
    """Grow the tree that `recipe` describes.

    Parameters
    ----------
    table : Table, or some rows of one
    target : array of shape (n_samples,)
        Class codes 0, ..., n_classes - 1, or float64 targets.
    sample_weight : float64 array of shape (n_samples,) or None
        Not negative, not all 0; a sample of weight 0 is left out. None: every sample counts 1.
    recipe : Recipe
    limits : Limits
    n_classes : int
        0 for regression; with several targets, of all together.
    class_factor : float64 array of shape (n_classes,) or None
        Factor of the weights of each class, by which the classes have their priors.  The agreement of surrogates is by weights
        without it and without costs.
    outputs : tuple of int or None
        Several targets: their numbers of classes, or 1 each in regression; `target` has a column for each.
    costs : Costs or None
        Splits are then chosen with altered priors (Breiman et al. 1984, section 4.4): the weight of a sample is multiplied by the
        cost of missing its class.  The tree holds the given weights, and impurities and gains such that weight times impurity is
        the risk with altered priors.  None: every wrong class costs 1.
    rows : intp array or None
        Samples to grow on, of positive weight; None: all.  Release 8 still uses the whole table in two places: thresholds are
        values that occur in it, and "very many" categories are many for the number of its samples.
    part : float64 array of shape (n_samples,) or None
        The part of each sample that arrives at the root, by which `sample_weight` is multiplied already; None: all of it.
    constraints : Constraints
        Constraints on predictions and paths.
    bins_of : Table or None
        Samples of which `limits.max_bins` makes bins; None: all samples of positive weight, including those not in `rows`.
    keeps_midpoints : bool
        Whether the thresholds of Release 8 stay midpoints, or numbers that divide the table as these do in single precision.
    n_jobs : int
        Threads; the tree does not depend on it.
    block_rows : int
        Samples up to which the engine works on private blocks; the tree does not depend on it.
    most_codes : int
        Bins of a continuous feature in the bounded search, 2 to 255; the tree does not depend on it.  0: no such search.
    drawn : bool
        Whether the drawn layout may serve, where it is faster; the tree does not depend on it.
    memory : dict or None
        Memory of growths before, which are over; the tree does not depend on it.

    Raises
    ------
    ValueError
        If two choices of the recipe exclude each other.
    """
    _check(recipe, limits, constraints, costs, n_classes, outputs)
    is_plain = rows is None and class_factor is None and outputs is None and costs is None and constraints == FREE
    if drawn and is_plain and limits.max_features is not None:
        alone = _grow_drawn(table, target, sample_weight, recipe, limits, n_classes, n_jobs)
        if alone is not None:
            return finish(alone, recipe, limits, constraints)
    samples = _choose_samples(table, target, sample_weight, class_factor, costs, rows, part)
    source, whole, size = samples.source, samples.whole, samples.size(limits.n_cases)
    weight, unit = fixed_point_weights(samples.weight)
    if limits.lookahead > 1:
        numbers, bins = engine_limits(size, recipe, limits, n_classes, 0.0, bounded_from), dict[int, Bins]()
        grown = grow_ahead(source, samples.target, weight, unit, recipe, numbers, n_classes)
    else:
        if (
            weight is None and n_classes > MOST_CLASSES * n_jobs and recipe.impurity in ("gini", "entropy")
        ) or not may_be_bounded(source, recipe, limits, constraints, n_classes, weight is not None, outputs is not None):
            most_codes = 0
        sizes = (block_rows, most_codes if most_codes > 1 else 0, n_jobs)
        (encoding, has_missing, bins), samples = _encode(samples, whole if bins_of is None else bins_of, recipe, limits, *sizes)
        divides = recipe.missing == "fractional" and has_missing
        if divides and unit == 1.0:  # weights become multiples of a unit far below one sample
            weight, unit = fractional_weights(weight, source.n_samples)
        least = least_of_parts(samples.undivided, samples.case) if has_missing and not recipe.release8 else 0.0
        grown = _core.grow(
            encoding,
            _targets(samples, weight, unit, recipe.impurity, divides, n_classes, outputs),
            _spec_of(recipe, _without_seed(limits), constraints, size, n_classes, least, bounded_from),
            weight=weight,
            case_weight=_case_weight(samples, weight, recipe, limits),
            seed=limits.seed,
            n_jobs=n_jobs,
            workspace=_workspace(not (isinstance(source, InOrder) and source.is_in_place), {} if memory is None else memory),
        )
        del encoding
    surrogates, cuts = _decode(grown, source, None if keeps_midpoints else whole, recipe, bins, limits, n_jobs)
    tree = _tree_of(grown, n_classes, table.n_features, costs, surrogates, cuts, outputs)
    return finish(tree, recipe, limits, constraints)


def _workspace(consume: bool, memory: Memory) -> _core.Workspace:
    """Return a workspace, the one of growths before if there is any."""
    if consume not in memory:
        memory[consume] = _core.Workspace(consume=consume, report=progress.share())
    return memory[consume]


def _grow_drawn(
    table: AnyTable,
    target: npt.NDArray[Any],
    sample_weight: Floats | None,
    recipe: Recipe,
    limits: Limits,
    n_classes: int,
    n_jobs: int,
) -> Tree | None:
    """Return the tree as the drawn layout grows it; None if lists are faster, or must report progress."""
    counts = counts_alone(table, sample_weight, recipe, limits) if progress.share() is None else None
    if counts is None:
        return None
    assert isinstance(table, Table)
    return grow_alone(table, target, counts, limits, n_classes, n_jobs)


def _tree_of(
    grown: dict[str, npt.NDArray[Any]],
    n_classes: int,
    n_features: int,
    costs: Costs | None,
    surrogates: Surrogates | None,
    cuts: dict[str, npt.NDArray[Any]],
    outputs: tuple[int, ...] | None,
) -> Tree:
    """Return the tree of the arrays that were grown."""
    if not n_classes:
        grown["value"] += 0.0  # no -0.0: which of two equal targets comes first must not show
    if costs is not None:
        grown |= with_weights_as_given(grown, costs)
    task = "classification" if n_classes else "regression"
    return as_tree(grown, task, n_features, surrogates=surrogates, cuts=cuts, outputs=outputs)


def _check(
    recipe: Recipe, limits: Limits, constraints: Constraints, costs: Costs | None, n_classes: int, outputs: tuple[int, ...] | None
) -> None:
    """Check that no two choices exclude each other."""
    check_recipe(recipe, n_classes, constraints, several=outputs is not None)
    if costs is not None and constraints.monotone is not None and n_classes > 2:
        raise ValueError(
            "monotonic_cst and a loss matrix of more than two classes exclude each other: growth uses altered priors, by which "
            "the mean class index may rise where it falls by the true ones"
        )
    if limits.lookahead > 1:
        check_lookahead(recipe, limits, constraints, several=outputs is not None)


def _choose_samples(
    table: AnyTable,
    target: npt.NDArray[Any],
    sample_weight: Floats | None,
    class_factor: Floats | None,
    costs: Costs | None,
    rows: npt.NDArray[np.intp] | None,
    part: Floats | None,
) -> _Samples:
    """Return the samples of positive weight, or those in `rows`, weighted by classes and costs."""
    case_weight = sample_weight
    if class_factor is not None:
        sample_weight = class_factor[target] if sample_weight is None else sample_weight * class_factor[target]
    case = 1.0
    if costs is not None:
        case, per_class = costs.mean, costs.loss.sum(axis=1)[target]
        sample_weight = per_class if sample_weight is None else sample_weight * per_class
    kept = None if sample_weight is None or sample_weight.all() else np.flatnonzero(sample_weight)
    whole = table if kept is None else SomeRows(table, kept)
    source = whole if rows is None else SomeRows(table, rows)
    chosen = kept if rows is None else rows
    all_weight = sample_weight if kept is None or sample_weight is None else sample_weight[kept]
    if part is not None and all_weight is not None:
        all_weight = _undivided(all_weight, part if kept is None else part[kept])
    if chosen is not None:
        target, sample_weight = target[chosen], None if sample_weight is None else sample_weight[chosen]
        case_weight = None if case_weight is None else case_weight[chosen]
        part = None if part is None else part[chosen]
    return _Samples(source, whole, target, sample_weight, case_weight, case, all_weight, part)


def _undivided(weight: Floats, part: Floats) -> Floats:
    """Return the weights of whole samples from those of their parts; whole numbers come out in spite of rounding."""
    found: Floats = weight / np.where(part > 0, part, 1.0)
    return np.where(np.abs(found - np.rint(found)) < _ROUNDED * found, np.rint(found), found)


def _case_weight(
    samples: _Samples, weight: npt.NDArray[np.int64] | None, recipe: Recipe, limits: Limits
) -> npt.NDArray[np.int64] | None:
    """Return fixed-point weights of whole samples if growth needs them besides `weight`, else None."""
    if recipe.missing == "fractional" and limits.min_part_share and samples.weight is not None and weight is not None:
        # `weight` becomes that of parts; where a part is so small that the whole overflows, it is light by any limit
        return weight.copy() if samples.part is None else np.minimum(weight / samples.part, _LARGEST_WEIGHT).astype(np.int64)
    return fixed_point_weights(samples.case_weight)[0] if recipe.missing == "surrogate" else None


def _encode(
    samples: _Samples, bins_of: AnyTable, recipe: Recipe, limits: Limits, block_rows: int, most_codes: int, n_jobs: int
) -> tuple[Encoded, _Samples]:
    """Return what `encode_columns` does, and the samples, for absolute error with ranks, which a thread finds meanwhile."""

    def encode() -> Encoded:
        return encode_columns(samples.source, bins_of, recipe, limits, block_rows, most_codes, n_jobs)

    def either(rank: int) -> Any:
        return ranks_of(_values_of(samples.target)) if rank else encode()

    if recipe.impurity != "absolute_error":
        return encode(), samples
    encoded, ranks = in_threads(either, 2, n_jobs)
    assert encoded is not None
    return encoded, samples._replace(ranks=ranks)


def _values_of(target: npt.NDArray[Any]) -> Floats:
    """Return the targets of regression, a row for each sample."""
    return np.ascontiguousarray(target, dtype=np.float64).reshape(len(target), -1)


def _targets(
    samples: _Samples,
    weight: npt.NDArray[np.int64] | None,
    unit: float,
    impurity: str,
    divides: bool,
    n_classes: int,
    outputs: tuple[int, ...] | None,
) -> _core.Targets:
    """Return labels or values for the engine; `divides` says whether samples may be divided."""
    target = samples.target
    if outputs is None and n_classes:
        labels = target.astype(np.uint16).reshape(len(target), 1)
        return _core.Targets(unit, labels=labels, first_class=np.array([0, n_classes], dtype=np.int32))
    if outputs is not None and n_classes:
        first_class = np.cumsum([0, *outputs], dtype=np.int32)
        return _core.Targets(unit, labels=(target + first_class[:-1]).astype(np.uint16), first_class=first_class)
    values = _values_of(target)
    if impurity == "fifth_root":
        values = with_squares(values)
    sums = fixed_point_targets(values, weight, unit, impurity, divides)
    return _core.Targets(unit, values=values, sums=sums, ranks=samples.ranks)


def policy_of(recipe: Recipe, limits: Limits) -> Policy:
    """Return the choices of a recipe as the engine's enums."""
    return Policy(
        impurity=_core.IMPURITY[recipe.impurity],
        nominal=_core.FORM[recipe.nominal],
        ordinal=_core.FORM[recipe.ordinal],
        continuous=_core.FORM[recipe.continuous],
        missing=_core.MISSING[recipe.missing],
        rank=_core.RANK[recipe.rank],
        release8=recipe.release8,
        known_agreement=limits.surrogate_agreement == "known",
        to_heavier=limits.no_surrogate == "majority",
        random_cuts=limits.random_cuts,
    )


class Size(NamedTuple):
    """Size of a table: samples, features, average weight of a sample of weight 1, and weight of all samples."""

    n_samples: int
    n_features: int
    case: float
    n_cases: float


def engine_limits(
    size: Size,
    recipe: Recipe,
    limits: Limits,
    n_classes: int,
    min_node_weight: float = 0.0,
    bounded_from: int = BOUNDED_FROM,
) -> EngineLimits:
    """Return the limits for a table; without `min_node_weight` for one where no sample is divided."""
    n_samples, n_features, case, n_cases = size
    cuts_intervals = "intervals" in (recipe.continuous, recipe.ordinal)
    return EngineLimits(
        max_depth=deepest(limits, n_samples),
        min_samples_split=min(limits.min_samples_split, n_samples + 1),
        min_samples_leaf=min(limits.min_samples_leaf, n_samples + 1),
        side_share=limits.side_share,
        min_weight_leaf=limits.min_weight_leaf * case,
        min_branch_weight=limits.min_branch_weight * case if recipe.release8 else 0.0,
        min_node_weight=min_node_weight,
        leaves_per_weight=limits.leaves_per_weight / case,
        bound_share=limits.bound_share,
        min_part_weight=limits.min_part_weight * case,
        min_part_share=limits.min_part_share,
        min_impurity_decrease=limits.min_impurity_decrease,
        min_impurity=limits.min_impurity,
        min_gain=limits.min_gain,
        min_ratio=limits.min_ratio,
        n_cases=n_cases if limits.n_cases is None else limits.n_cases,
        max_surrogates=min(limits.max_surrogates, n_features),
        max_features=n_features if limits.max_features is None else limits.max_features,
        critical_value=critical_value(limits.merge_p_value, n_classes) if cuts_intervals else 0.0,
        max_intervals=n_samples if limits.max_intervals is None else min(limits.max_intervals, n_samples),
        most_splits=most_splits(limits, recipe, n_samples),
        bounded_from=bounded_from,
    )


def _without_seed(limits: Limits) -> Limits:
    """Return the limits that trees of a forest have in common."""
    return limits._replace(seed=0) if limits.seed else limits


@lru_cache(maxsize=64)
def _spec_of(
    recipe: Recipe,
    limits: Limits,
    constraints: Constraints,
    size: Size,
    n_classes: int,
    min_node_weight: float,
    bounded_from: int,
) -> _core.Spec:
    """Return the choices as the engine reads them, found once for fits alike: small trees grow in little more time."""
    numbers = engine_limits(size, recipe, limits, n_classes, min_node_weight, bounded_from)
    return _core.Spec(policy_of(recipe, limits), numbers, constraints.for_engine(size.n_features))


def _decode(
    grown: dict[str, npt.NDArray[Any]],
    source: AnyTable,
    whole: AnyTable | None,
    recipe: Recipe,
    bins: dict[int, Bins],
    limits: Limits,
    n_jobs: int,
) -> tuple[Surrogates | None, dict[str, npt.NDArray[Any]]]:
    """Put thresholds into the grown arrays in place of rows; return the surrogates and the cuts of intervals."""
    if recipe.impurity == "fifth_root":
        grown["value"] = np.ascontiguousarray(grown["value"][:, :-1])  # without the means of the squares
    by_threshold = (grown["kind"] == THRESHOLD).nonzero()[0]
    if limits.random_cuts:
        grown["threshold"] = random_thresholds(grown, by_threshold, source, bins, limits.seed)
    else:
        grown["threshold"] = decode_thresholds(grown, by_threshold, source, whole, recipe, bins, n_jobs)
    surrogates = decode_surrogates(grown, source, whole, recipe, bins) if recipe.missing == "surrogate" else None
    del grown["row_low"], grown["row_high"]
    return surrogates, decode_cuts(grown, source, whole, recipe, bins)


def finish(tree: Tree, recipe: Recipe, limits: Limits, constraints: Constraints) -> Tree:
    """Apply the steps that need the finished tree."""
    if limits.split_p_value is not None:
        tree = without_independent_splits(tree, limits.split_p_value)
    if recipe.release8 and tree.node_count > 1:
        tree = without_useless_splits(tree, recipe.rank)
    if limits.max_leaf_nodes is not None:
        tree = best_first(tree, limits.max_leaf_nodes)
    return tree if constraints.monotone is None else with_values_in_bounds(tree, constraints.monotone)
