"""From a table and a recipe to a tree: the only caller of the engine's growth, and of its walks.

Translates words into the engine's enums, weights and targets into fixed point, cuts back into thresholds.  Knows neither data
frames nor estimators.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree import _core
from fasttree._constraints import FREE, Constraints
from fasttree._independence import without_independent_splits
from fasttree._recipe import Limits, Recipe
from fasttree._surrogates import Surrogates
from fasttree._table import Kind, Schema, Table
from fasttree._tree import NOMINAL, THRESHOLD, Tree, best_classes

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

BLOCK_ROWS = 32_768  # samples up to which the engine works on private blocks: half of what 16 bits allow, so that less waits
MOST_CODES = 255  # of the features of large nodes, which are searched by histograms
BOUNDED_FROM = 8_192  # samples from which on nodes of private blocks are searched by bounds: below, their lists are as fast
MOST_CLASSES = 32  # a thread: histograms and bounds of more cost several times what lists do, whose glances tell as much
BYTES_AT_ONCE = 16  # of a row of a C-ordered table: little memory, and no cache line is read often
FEATURES_AT_ONCE = 8  # for a thread: their codes stand side by side, and two threads should not write to one place in the cache
ROWS_IN_CACHE = 4_096  # of those columns: what is read for the first of them is there for the others
ROWS_AT_ONCE = 16_384  # of a table with categories, converted to floats for the walk
CELLS_AT_ONCE = 2**24
EXACT_INTEGERS = 2.0**53
FIXED_POINT_BITS = 61  # sums of weights stay below 2**62
NEARLY_THE_GAP = 1.5e-5  # Quinlan's program does not separate single-precision values closer than 1e-5: look at all near that
RELEASE8_TOLERANCE = 1e-3

OF_NUMBERS = ("squared_error", "absolute_error", "poisson")  # impurities of numeric targets

Floats = npt.NDArray[np.float64]
AnyTable: TypeAlias = "Table | _Rows | OneFeature"


class Bins(NamedTuple):
    """The values of a continuous feature, a range of them per code."""

    least: Floats  # (n_bins,): the smallest of each
    most: Floats

    def gap(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """What a cut between the bins of `low` and of `high` separates: the largest value of these, the smallest of those."""
        below, above = (np.searchsorted(self.least, values, side="right") - 1 for values in (low, high))
        return self.most[below], self.least[above]


class Costs(NamedTuple):
    """What wrong classes cost: the trees of folds share `mean`, so that their risks have one unit."""

    loss: Floats  # (n_classes, n_classes): of answering the class of the column where that of the row is true
    mean: float  # over all samples, of the sum of the row of their class


def grow(
    table: Table | OneFeature,
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
    constraints: Constraints = FREE,
    bins_of: AnyTable | None = None,
    n_jobs: int = 1,
    block_rows: int = BLOCK_ROWS,
    most_codes: int = MOST_CODES,
    bounded_from: int = BOUNDED_FROM,
) -> Tree:
    """Grow the tree that `recipe` describes.

    Parameters
    ----------
    table : Table
    target : array of shape (n_samples,)
        Class codes 0, ..., n_classes - 1, or float64 targets.
    sample_weight : float64 array of shape (n_samples,) or None
        Not negative, not all 0; a sample of weight 0 is left out. None: every sample counts 1.
    recipe : Recipe
    limits : Limits
    n_classes : int
        0 for regression; of several targets all together.
    class_factor : float64 array of shape (n_classes,) or None
        What a sample of each class counts, besides its weight, so that the classes have their priors; surrogates agree by weights
        without it and without costs.
    outputs : tuple of int or None
        Several targets: their numbers of classes, or 1 each in regression; `target` has a column for each.
    costs : Costs or None
        Splits are then chosen with altered priors (Breiman et al. 1984, section 4.4): a sample counts as often as it would cost
        to miss its class.  The tree holds the weights as given, and impurities and gains such that weight times impurity is the
        risk by altered priors.  None: every wrong class costs 1.
    rows : intp array or None
        Samples to grow on, of positive weight; None: all.  Release 8 still looks at the whole table where it says so: thresholds
        are values that occur in it, and "very many" categories are many for all its samples.
    constraints : Constraints
        What predictions and paths must keep.
    bins_of : Table or None
        Where `limits.max_bins` counts the samples of a bin; None: on all samples of positive weight, also those not in `rows`.
    n_jobs : int
        Threads; the tree does not depend on it.
    block_rows : int
        Samples up to which the engine works on private blocks; the tree does not depend on it.
    most_codes : int
        Bins of a continuous feature in the bounded search, 2 to 255; the tree does not depend on it.  0: no such search.

    Raises
    ------
    ValueError
        If two choices of the recipe exclude each other.
    """
    check_recipe(recipe, n_classes, constraints, several=outputs is not None)
    case_weight = sample_weight
    if class_factor is not None:
        sample_weight = class_factor[target] if sample_weight is None else sample_weight * class_factor[target]
    case = 1.0  # what a sample of weight 1 weighs on average
    if costs is not None:
        if constraints.monotone is not None and n_classes > 2:
            raise ValueError(
                "monotonic_cst and a loss matrix of more than two classes exclude each other: growth goes by altered priors, and "
                "the mean class index may rise by these and fall by the others"
            )
        case, per_class = costs.mean, costs.loss.sum(axis=1)[target]
        sample_weight = per_class if sample_weight is None else sample_weight * per_class
    kept = None if sample_weight is None or sample_weight.all() else np.flatnonzero(sample_weight)
    whole = table if kept is None else _Rows(table, kept)
    source = whole if rows is None else _Rows(table, rows)
    chosen = kept if rows is None else rows
    n_cases = float(whole.n_samples if sample_weight is None else sample_weight.sum())
    if chosen is not None:
        target, sample_weight = target[chosen], None if sample_weight is None else sample_weight[chosen]
        case_weight = None if case_weight is None else case_weight[chosen]
    n_samples = source.n_samples
    weight, unit = fixed_point_weights(sample_weight)
    bounded = most_codes > 1 and _may_be_bounded(
        source, recipe, limits, constraints, n_classes, weight is not None, outputs is not None
    )
    if weight is None and n_classes > MOST_CLASSES * n_jobs and recipe.impurity in ("gini", "entropy"):
        bounded = False
    encoding, has_missing, bins = _encode(
        source, whole if bins_of is None else bins_of, recipe, limits, block_rows, most_codes if bounded else 0, n_jobs
    )
    if recipe.missing == "fractional" and has_missing and unit == 1.0:
        # samples will be divided: every weight becomes a multiple of a quantum far below a sample
        weight, unit = _fractional_weights(weight, n_samples)
    labels = values = sums = ranks = first_class = y_unit = y_centre = y_bound = deviation_bound = None
    if outputs is None and n_classes:
        first_class = np.array([0, n_classes], dtype=np.int32)
        labels = target.astype(np.uint16).reshape(n_samples, 1)
    elif outputs is not None and n_classes:
        first_class = np.cumsum([0, *outputs], dtype=np.int32)
        labels = (target + first_class[:-1]).astype(np.uint16)
    else:
        values = np.ascontiguousarray(target, dtype=np.float64).reshape(n_samples, -1)
        ranks = _ranks(values) if recipe.impurity == "absolute_error" else None
        divides = recipe.missing == "fractional" and has_missing
        sums, y_unit, y_centre, y_bound, deviation_bound = _fixed_point_targets(values, weight, unit, recipe.impurity, divides)
    cuts_intervals = "intervals" in (recipe.continuous, recipe.ordinal)
    grown = _core.grow(
        encoding,
        labels,
        values,
        sums,
        ranks,
        weight,
        first_class=first_class,
        unit=unit,
        y_unit=y_unit,
        y_centre=y_centre,
        y_bound=y_bound,
        deviation_bound=deviation_bound,
        impurity=_core.IMPURITY[recipe.impurity],
        nominal=_core.FORM[recipe.nominal],
        ordinal=_core.FORM[recipe.ordinal],
        continuous=_core.FORM[recipe.continuous],
        missing=_core.MISSING[recipe.missing],
        rank=_core.RANK[recipe.rank],
        release8=recipe.release8,
        max_depth=_deepest(limits, n_samples),
        min_samples_split=min(limits.min_samples_split, n_samples + 1),
        min_samples_leaf=min(limits.min_samples_leaf, n_samples + 1),
        min_weight_leaf=limits.min_weight_leaf * case,
        min_impurity_decrease=limits.min_impurity_decrease,
        min_impurity=limits.min_impurity,
        min_gain=limits.min_gain,
        min_ratio=limits.min_ratio,
        min_branch_weight=limits.min_branch_weight * case if recipe.release8 else 0.0,
        min_part_weight=limits.min_part_weight * case,
        min_node_weight=_least_of_parts(sample_weight, case) if has_missing and not recipe.release8 else 0.0,
        n_cases=n_cases,
        case_weight=fixed_point_weights(case_weight)[0] if recipe.missing == "surrogate" else None,
        max_surrogates=min(limits.max_surrogates, table.n_features),
        known_agreement=limits.surrogate_agreement == "known",
        to_heavier=limits.no_surrogate == "majority",
        critical_value=_critical_value(limits.merge_p_value, n_classes) if cuts_intervals else 0.0,
        max_intervals=n_samples if limits.max_intervals is None else limits.max_intervals,
        most_splits=_most_splits(limits, recipe, n_samples),
        max_features=table.n_features if limits.max_features is None else limits.max_features,
        seed=limits.seed,
        bounded_from=bounded_from,
        n_jobs=n_jobs,
        **constraints.for_engine(table.n_features),
    )
    del encoding
    by_threshold = (grown["kind"] == THRESHOLD).nonzero()[0]
    grown["threshold"] = _thresholds(grown, by_threshold, source, whole, recipe, bins)
    surrogates = _surrogates(grown, source, whole, recipe, bins) if recipe.missing == "surrogate" else None
    del grown["row_low"], grown["row_high"]
    cuts = _cuts(grown, source, whole, recipe, bins)
    if costs is not None:
        grown |= _with_weights_as_given(grown, costs)
    task = "classification" if n_classes else "regression"
    tree = _as_tree(grown, task, table.n_features, surrogates=surrogates, cuts=cuts, outputs=outputs)
    if limits.max_split_p_value is not None:
        tree = without_independent_splits(tree, limits.max_split_p_value)
    if recipe.release8:
        tree = _without_useless_splits(tree)
    if limits.max_leaf_nodes is not None:
        tree = _best_first(tree, limits.max_leaf_nodes)
    return tree if constraints.monotone is None else _in_bounds(tree, constraints.monotone)


def check_recipe(recipe: Recipe, n_classes: int, constraints: Constraints = FREE, *, several: bool = False) -> None:
    """Refuse choices that exclude each other, or several targets.

    Raises
    ------
    ValueError
        Naming the two choices.
    """
    forms = {recipe.nominal, recipe.ordinal}
    if "intervals" in (recipe.continuous, recipe.ordinal):
        _check_intervals(recipe, n_classes, constraints)
    if n_classes == 0 and recipe.impurity not in OF_NUMBERS:
        raise ValueError(f"impurity={recipe.impurity!r} needs classes; use impurity='squared_error' for numeric targets")
    if n_classes and recipe.impurity in OF_NUMBERS:
        raise ValueError(f"impurity={recipe.impurity!r} needs a numeric target; use 'gini', 'entropy' or 'misclassification'")
    if recipe.release8 and recipe.impurity != "entropy":
        raise ValueError(
            f"release8=True and impurity={recipe.impurity!r} exclude each other: Release 8 is about gains in bits; use "
            "impurity='entropy', or release8=False"
        )
    if recipe.release8 and (two_groups := forms & {"subset", "one_vs_rest"}):
        raise ValueError(
            f"release8=True and nominal={two_groups.pop()!r} exclude each other: Release 8 has no two groups of categories; use "
            "nominal='category' or 'groups', or release8=False"
        )
    if recipe.release8 and recipe.missing not in ("fractional", "error"):
        raise ValueError(
            f"release8=True and missing={recipe.missing!r} exclude each other: Release 8 shares samples out; use "
            "missing='fractional' or 'error', or release8=False"
        )
    if "groups" in forms and not (recipe.release8 and recipe.missing == "fractional"):
        raise ValueError(
            "groups of categories are a search of C4.5 Release 8: nominal='groups' needs release8=True and missing='fractional'"
        )
    for choice, is_chosen, instead in (
        ("continuous='intervals'", recipe.continuous == "intervals", "continuous='threshold'"),
        ("release8=True", recipe.release8, "release8=False"),
        ("missing='fractional'", recipe.missing == "fractional", "missing='direction'"),
    ):
        if several and is_chosen:
            raise ValueError(f"{choice} and several targets exclude each other: use {instead}, or fit a tree for each target")
    if several and constraints.monotone is not None:
        raise ValueError("monotonic_cst and several targets exclude each other: fit a tree for each target")
    if recipe.impurity == "absolute_error" and recipe.missing == "fractional":
        raise ValueError("impurity='absolute_error' and missing='fractional' exclude each other: use missing='direction'")
    if recipe.impurity == "absolute_error" and constraints.monotone is not None:
        raise ValueError(
            "impurity='absolute_error' and monotonic_cst exclude each other: medians are not bounded as means are; use"
            " 'squared_error'"
        )
    if constraints.monotone is not None and recipe.missing not in ("error", "direction"):
        raise ValueError(
            f"missing={recipe.missing!r} and monotonic_cst exclude each other: missing values could take predictions past its"
            " bounds; use missing='direction' or 'error'"
        )
    if recipe.missing == "direction" and forms & {"category", "present"}:
        raise ValueError(
            "missing='direction' and a branch per category exclude each other: it needs two branches; use missing='fractional'"
            " or nominal='subset', ordinal='threshold'"
        )
    if recipe.missing == "surrogate" and forms & {"category", "present", "groups"}:
        raise ValueError(
            "missing='surrogate' and a branch per category exclude each other: a surrogate imitates a split into two; use"
            " nominal='subset', ordinal='threshold' or missing='fractional'"
        )


def _check_intervals(recipe: Recipe, n_classes: int, constraints: Constraints) -> None:
    """Refuse what does not go with a branch per interval."""
    which = f"{'continuous' if recipe.continuous == 'intervals' else 'ordinal'}='intervals'"
    if n_classes == 0:
        raise ValueError(f"{which} and a numeric target exclude each other: intervals merge by their classes; use 'threshold'")
    if recipe.release8:
        raise ValueError(f"{which} and release8=True exclude each other: C4.5 splits at thresholds; use release8=False")
    if recipe.missing in ("direction", "branch", "surrogate"):
        raise ValueError(
            f"missing={recipe.missing!r} and {which} exclude each other: it needs a split into two; use missing='fractional',"
            " 'majority' or 'error'"
        )
    if constraints.monotone is not None:
        raise ValueError(f"{which} and monotonic_cst exclude each other: bounds are of two branches; use 'threshold'")


# --- into the engine


class _Rows:
    """Some rows of a table, read column by column."""

    matrix = None

    def __init__(self, table: Table | OneFeature, rows: npt.NDArray[np.intp]) -> None:
        self.schema = table.schema
        self.n_samples, self.n_features = len(rows), table.n_features
        self._table, self._rows = table, rows

    def column(self, j: int) -> npt.NDArray[Any]:
        return self._table.column(j)[self._rows]


class OneFeature:
    """A table that has one feature of another, and all its samples."""

    matrix = None

    def __init__(self, table: Table, feature: int) -> None:
        self.schema = Schema((table.schema.features[feature],), table.schema.has_names)
        self.n_samples, self.n_features = table.n_samples, 1
        self._table, self._feature = table, feature

    def column(self, j: int) -> npt.NDArray[Any]:
        return self._table.column(self._feature)


def columns(table: AnyTable, first: int = 0, last: int | None = None) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Columns first, ..., last - 1, each for use before the next; of a C-ordered matrix a few are copied at a time (cache)."""
    last = table.n_features if last is None else last
    matrix = table.matrix
    if matrix is None or matrix.strides[0] <= matrix.strides[1] or matrix.shape[0] < 1024:
        for feature in range(first, last):
            yield feature, table.column(feature)
        return
    width = BYTES_AT_ONCE // matrix.itemsize
    block = np.empty((width, matrix.shape[0]), dtype=matrix.dtype)
    for start in range(first, last, width):
        n_several = min(width, last - start)
        for row in range(0, len(matrix), ROWS_IN_CACHE):
            rows = slice(row, row + ROWS_IN_CACHE)
            block[:n_several, rows] = matrix[rows, start : start + n_several].T
        for offset in range(n_several):
            yield start + offset, block[offset]


def _may_be_bounded(
    table: AnyTable, recipe: Recipe, limits: Limits, constraints: Constraints, n_classes: int, weighted: bool, several: bool
) -> bool:
    """May large nodes be searched by histograms and bounds?  Bounds are of two-way splits of all features, ranked by gain."""
    many = any(f.categories is not None and len(f.categories) > MOST_CODES for f in table.schema.features)
    return (
        recipe.rank == "gain"
        and not recipe.release8
        and not many
        and not several
        and recipe.impurity in ("gini", "entropy", "misclassification", "squared_error")
        and not (weighted and n_classes == 0)
        and {recipe.nominal, recipe.ordinal, recipe.continuous} <= {"subset", "one_vs_rest", "threshold", "refuse"}
        and recipe.missing in ("direction", "error")
        and limits.max_features is None
        and constraints == FREE
    )


def _encode(
    table: AnyTable, bins_of: AnyTable, recipe: Recipe, limits: Limits, block_rows: int, most_codes: int, n_jobs: int
) -> tuple[_core.Encoding, bool, dict[int, Bins]]:
    """The encoded features, whether a value is missing (asked only where samples may be divided), and the bins of features."""
    encoding = _core.Encoding(table.n_samples, table.n_features, block_rows, most_codes > 0, max(most_codes, 2))
    binning = None if limits.max_bins is None else _core.Binning(bins_of.n_samples, limits.max_bins)
    if n_jobs > 1 and encoding.bounded and binning is None:
        _encode_side_by_side(encoding, table, n_jobs)
        return encoding, False, {}
    gap = NEARLY_THE_GAP if recipe.release8 else -1.0
    has_missing = False
    bins: dict[int, Bins] = {}
    for feature, column in columns(table):
        described = table.schema.features[feature]
        if described.kind != Kind.CONTINUOUS:
            assert described.categories is not None
            encoding.add_codes(feature, column, len(described.categories), described.kind == Kind.ORDINAL)
        elif binning is not None:
            codes, edges, *bounds = binning.bin(column if bins_of is table else bins_of.column(feature))
            bins[feature] = Bins(*bounds)
            if bins_of is not table:
                codes = _core.bin_codes(column, edges)
            _add_bins(encoding, feature, codes, bins[feature], gap)
        elif encoding.add_continuous(feature, column, gap):
            encoding.keep_values(feature, table.column(feature))
        if recipe.missing == "fractional" and not has_missing:
            has_missing = bool(np.isnan(column).any() if described.kind == Kind.CONTINUOUS else not column.all())
    return encoding, has_missing, bins


def _encode_side_by_side(encoding: _core.Encoding, table: AnyTable, n_jobs: int) -> None:
    """Several threads encode the features for a bounded search, each a part of them."""

    def encode(first: int) -> None:
        for feature, column in columns(table, first, min(first + FEATURES_AT_ONCE, table.n_features)):
            described = table.schema.features[feature]
            if described.categories is not None:
                encoding.add_codes(feature, column, len(described.categories), described.kind == Kind.ORDINAL)
            elif encoding.add_continuous(feature, column, -1.0):
                encoding.keep_values(feature, table.column(feature))

    with ThreadPoolExecutor(n_jobs) as pool:
        for _ in pool.map(encode, range(0, table.n_features, FEATURES_AT_ONCE)):
            pass


def _add_bins(encoding: _core.Encoding, feature: int, codes: npt.NDArray[Any], bins: Bins, gap: float) -> None:
    encoding.add_bins(feature, codes, len(bins.least))
    with np.errstate(over="ignore"):
        close = np.diff(bins.least) <= gap
    if close.any():
        # the gap rule goes by the first value of each bin: by code, or by sample where the codes are too many to be counted
        values = np.append(0.0, bins.least)
        encoding.keep_values(feature, values if codes.dtype == np.uint8 else values[codes])


def _power_of_two_quantum(total: float) -> float:
    """The smallest power of two q with total / q < 2**FIXED_POINT_BITS."""
    exponent = int(np.frexp(total)[1])
    return float(np.ldexp(1.0, exponent - FIXED_POINT_BITS))


def fixed_point_weights(sample_weight: Floats | None) -> tuple[npt.NDArray[np.int64] | None, float]:
    """Weights as multiples of a unit: 1 if all are whole numbers, else a power of two that no sum can overflow."""
    if sample_weight is None:
        return None, 1.0
    total = float(sample_weight.sum())
    if total < EXACT_INTEGERS and np.array_equal(sample_weight, np.rint(sample_weight)):
        if (sample_weight == 1).all():
            return None, 1.0
        return sample_weight.astype(np.int64), 1.0
    unit = _power_of_two_quantum(total)
    return np.maximum(np.rint(sample_weight / unit), 1).astype(np.int64), unit


def _fractional_weights(weight: npt.NDArray[np.int64] | None, n_samples: int) -> tuple[npt.NDArray[np.int64], float]:
    total = n_samples if weight is None else int(weight.sum())
    unit = _power_of_two_quantum(float(total))
    if weight is None:
        weight = np.ones(n_samples, dtype=np.int64)
    return weight * int(1 / unit), unit


def _least_of_parts(sample_weight: Floats | None, case: float) -> float:
    """Weight below which a node is not split where samples are divided: a few of them could have any number of nodes.

    One sample; where weights are not whole numbers, which may count samples, one of average weight.
    """
    whole = sample_weight is None or np.array_equal(sample_weight / case, np.rint(sample_weight / case))
    return case if whole or sample_weight is None else float(sample_weight.mean())


def fixed_point_parts(sample_weight: Floats | None, n_samples: int) -> tuple[npt.NDArray[np.int64] | None, float]:
    """Weights of samples that may be divided, as growth has them, and their unit; None: each is 1 / unit."""
    if sample_weight is None:
        return None, _power_of_two_quantum(float(n_samples))
    kept = sample_weight != 0
    of_kept, unit = fixed_point_weights(sample_weight[kept])
    if unit == 1.0:
        of_kept, unit = _fractional_weights(of_kept, int(kept.sum()))
    assert of_kept is not None
    weight = np.zeros(n_samples, dtype=np.int64)
    weight[kept] = of_kept
    return weight, unit


def _fixed_point_targets(
    values: Floats, weight: npt.NDArray[np.int64] | None, unit: float, impurity: str, divides: bool
) -> tuple[npt.NDArray[np.int64], Floats, Floats, Floats, Floats]:
    """weight x target as multiples of a power of two; those units; centres; bounds of weight x |target| and x deviation.

    All per target.  Targets are taken from their centre, the middle of their range, but for Poisson, where the sums themselves
    are compared.
    `divides`: parts of samples may be as light as one unit of weight.
    """
    n_outputs = values.shape[1]
    centre = np.zeros(n_outputs)
    sums = np.empty(values.shape, dtype=np.int64)
    y_unit, y_bound, deviation_bound = np.empty(n_outputs), np.empty(n_outputs), np.empty(n_outputs)
    weights = None if weight is None else weight * unit
    largest = 1.0 if weights is None else float(weights.max())
    for output in range(n_outputs):
        column = values[:, output]
        low, high = float(column.min()), float(column.max())
        if impurity != "poisson":
            centre[output] = 0.5 * low + 0.5 * high
        products = column - centre[output]
        if weights is not None:
            products *= weights
        total = float(np.abs(products).sum())
        y_unit[output] = _power_of_two_quantum(total) if total > 0 else 1.0
        sums[:, output] = np.rint(products / y_unit[output])
        y_bound[output] = largest * max(abs(low), abs(high))
        if impurity == "poisson":
            # what is not 0 stays so; and no mean is smaller than the lightest sample's share of the largest target
            sums[:, output] = np.maximum(sums[:, output], column > 0)
            lightest = 1 / len(column) if weights is None else float((unit if divides else weights.min()) / weights.sum())
            deviation_bound[output] = y_bound[output] * (1 - np.log(lightest))
        else:
            deviation_bound[output] = largest * (high - low) ** (1 if impurity == "absolute_error" else 2)
    return sums, y_unit, centre, y_bound, deviation_bound


def _ranks(values: Floats) -> npt.NDArray[np.uint32]:
    """Rank of every target among all of its column, equal ones alike."""
    ranks = np.empty(values.shape, dtype=np.uint32)
    for output in range(values.shape[1]):
        ranks[:, output] = np.unique(values[:, output], return_inverse=True)[1]
    return ranks


# --- out of the engine


def _surrogates(grown: dict[str, Any], table: AnyTable, whole: AnyTable, recipe: Recipe, bins: Mapping[int, Bins]) -> Surrogates:
    """The surrogates of all nodes, which the engine lists in the order of its growth."""
    found, codes, branches = (grown.pop(name) for name in ("surrogates", "surrogate_code", "surrogate_branch"))
    by_threshold = np.flatnonzero(found["low_branch"] >= 0)
    in_order_of_growth = Surrogates(
        start=np.arange(len(found) + 1),
        feature=found["feature"],
        kind=np.where(found["low_branch"] >= 0, THRESHOLD, NOMINAL),
        threshold=_thresholds(found, by_threshold, table, whole, recipe, bins),
        low_branch=found["low_branch"],
        table_start=np.append(0, found["table_stop"]),
        table_code=codes,
        table_branch=branches,
        agreement=found["agreement"],
        adjusted=found["adjusted"],
    )
    by_node = in_order_of_growth.of_nodes(np.argsort(found["node"], kind="stable"))
    sizes = np.bincount(found["node"], minlength=len(grown["kind"]))
    return replace(by_node, start=np.append(0, np.cumsum(sizes)))


def _critical_value(p_value: float, n_classes: int) -> float:
    """Of a chi-square statistic of two intervals and K classes: K - 1 degrees of freedom (one class alone has no test)."""
    from scipy.special import chdtri

    return float(chdtri(max(n_classes - 1, 1), p_value))


def _cuts(
    grown: dict[str, Any], table: AnyTable, whole: AnyTable, recipe: Recipe, bins: Mapping[int, Bins]
) -> dict[str, npt.NDArray[Any]]:
    """Where the intervals of nodes meet, as `Tree` has it; empty where there are none."""
    node, low, high = (grown.pop(name) for name in ("cut_node", "cut_low", "cut_high"))
    if not node.size:
        return {}
    in_order_of_growth = {"feature": grown["feature"][node], "row_low": low, "row_high": high}
    cut = _thresholds(in_order_of_growth, np.arange(node.size), table, whole, recipe, bins)
    sizes = np.bincount(node, minlength=len(grown["kind"]))
    return {"cut_start": np.append(0, np.cumsum(sizes)), "cut": cut[np.argsort(node, kind="stable")]}


def _thresholds(
    grown: Mapping[str, Any] | npt.NDArray[Any],
    by_threshold: npt.NDArray[np.intp],
    table: AnyTable,
    whole: AnyTable,
    recipe: Recipe,
    bins: Mapping[int, Bins],
) -> Floats:
    """Midpoints of the two values that each cut separates; C4.5: the largest value of the whole table up to the midpoint.

    Of a feature in bins the two are of the whole table too, so that every sample is on the side of its bin.
    `by_threshold`: the tests that have one; the others' is NaN.
    """
    thresholds = np.full(len(grown["feature"]), np.nan)
    if table.matrix is not None and not recipe.release8 and not bins:
        _core.thresholds(table.matrix, by_threshold, grown["feature"], grown["row_low"], grown["row_high"], thresholds)
        return thresholds
    features = grown["feature"][by_threshold]
    low, high = _cells(table, np.array([grown[side][by_threshold] for side in ("row_low", "row_high")]), features)
    for feature, at in _by_feature(features) if bins else ():
        if feature in bins:
            low[at], high[at] = bins[feature].gap(low[at], high[at])
    between = midpoints(low, high)
    for feature, at in _by_feature(features) if recipe.release8 else ():
        if table.schema.features[feature].kind == Kind.CONTINUOUS:
            between[at] = _values_up_to_midpoints(whole.column(feature), low[at], high[at])
    thresholds[by_threshold] = between
    return thresholds


def _cells(table: AnyTable, rows: npt.NDArray[Any], features: npt.NDArray[np.int32]) -> Floats:
    """The values in some rows, shape (m, n), of a feature each, shape (n,)."""
    if table.matrix is not None:
        return np.asarray(table.matrix[rows, features], np.float64)
    cells = np.empty(rows.shape)
    for feature, at in _by_feature(features):
        cells[:, at] = table.column(feature)[rows[:, at]]
    return cells


def _by_feature(features: npt.NDArray[np.int32]) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Every feature that occurs, and where."""
    order = np.argsort(features, kind="stable")
    starts = np.flatnonzero(np.diff(features[order], prepend=-1))
    for at in np.split(order, starts[1:]):
        if at.size:
            yield int(features[at[0]]), at


def _values_up_to_midpoints(column: npt.NDArray[Any], low: Floats, high: Floats) -> Floats:
    """C4.5's thresholds: the largest value of the whole column up to the midpoint, which is taken in single precision."""
    with np.errstate(over="ignore", invalid="ignore"):  # values that single precision takes as infinite are not separable
        below, above = low.astype(np.float32), high.astype(np.float32)
        middle = (below + above) / np.float32(2)
    separable = (below <= middle) & (middle < above)  # else the two values are one in single precision
    ordered, inverse = np.unique(middle[separable], return_inverse=True)
    raised = np.empty(len(ordered))
    _core.raise_thresholds(column, ordered, raised)
    thresholds = low.copy()
    thresholds[separable] = raised[inverse]
    return thresholds + 0.0  # no -0.0, as of midpoints


def midpoints(low: Floats, high: Floats) -> Floats:
    """Doubles t with low <= t < high, halfway where there is one; not -0.0."""
    between = np.empty(len(low))
    _core.midpoints(low, high, between)
    return between


def _with_weights_as_given(grown: dict[str, Any], costs: Costs) -> dict[str, Any]:
    """What nodes hold, from altered priors back to the weights of the samples; risks stay."""
    value = grown["value"] / costs.loss.sum(axis=1)
    weight = np.where(grown["weight"] > 0, value.sum(axis=1), 0.0)
    risk_per_impurity = grown["weight"] / costs.mean
    per_weight = np.divide(risk_per_impurity, weight, out=np.ones_like(weight), where=weight > 0)
    return {
        "value": value,
        "weight": weight,
        "impurity": grown["impurity"] * per_weight,
        "gain": grown["gain"] * per_weight,
        "loss": costs.loss,
    }


def _as_tree(
    grown: dict[str, Any],
    task: str,
    n_features: int,
    *,
    surrogates: Surrogates | None,
    cuts: dict[str, npt.NDArray[Any]],
    outputs: tuple[int, ...] | None,
) -> Tree:
    owner = grown.pop("table_node")
    start = np.zeros(len(grown["kind"]) + 1, dtype=np.int64)
    if owner.size:
        by_node = np.argsort(owner, kind="stable")
        np.cumsum(np.bincount(owner, minlength=len(grown["kind"])), out=start[1:])
        grown["table_code"], grown["table_branch"] = grown["table_code"][by_node], grown["table_branch"][by_node]
    return Tree(task=task, n_features=n_features, table_start=start, surrogates=surrogates, outputs=outputs, **cuts, **grown)


def _deepest(limits: Limits, n_samples: int) -> int:
    """The level below which no node can be of use; -1: none."""
    by_leaves = None if limits.max_leaf_nodes is None else limits.max_leaf_nodes - 1
    given = [limit for limit in (limits.max_depth, by_leaves) if limit is not None]
    return min(*given, n_samples) if given else -1


def _most_splits(limits: Limits, recipe: Recipe, n_samples: int) -> int:
    """How many splits best-first growth makes, where all are into two and none is taken back before they are chosen; else 0."""
    into_two = recipe.nominal in ("subset", "one_vs_rest") and recipe.ordinal == "threshold" and recipe.continuous != "intervals"
    if limits.max_leaf_nodes is None or not into_two or recipe.missing == "branch":
        return 0
    taken_back = recipe.release8 or limits.max_split_p_value is not None
    return 0 if taken_back else min(limits.max_leaf_nodes - 1, n_samples)


def _best_first(tree: Tree, max_leaf_nodes: int) -> Tree:
    """The tree of best-first growth: the leaf of largest weight x gain is always split next.

    A node's split does not depend on when it is made, so the tree is grown in any order, but for what cannot be in it, and cut
    back.  A split with more branches than
    leaves are left is not made.  Ties go to the node that comes first, level by level.
    """
    if tree.n_leaves <= max_leaf_nodes:
        return tree
    worth = tree.weight * tree.gain
    kept = np.zeros(tree.node_count, dtype=bool)
    waiting, n_leaves = [(-float(worth[0]), 0)], 1
    while waiting and n_leaves < max_leaf_nodes:
        _, node = heapq.heappop(waiting)
        n_branches, first = int(tree.n_branches[node]), int(tree.first_child[node])
        if n_leaves + n_branches - 1 > max_leaf_nodes:
            continue
        kept[node] = True
        n_leaves += n_branches - 1
        for child in range(first, first + n_branches):
            if tree.n_branches[child]:
                heapq.heappush(waiting, (-float(worth[child]), child))
    return tree.prune_at(~kept)


def _in_bounds(tree: Tree, monotone: tuple[int, ...]) -> Tree:
    """The tree with no two predictions out of order: as in scikit-learn, values beyond a node's bounds become the bounds."""
    value = tree.value.copy()
    directions = np.array(monotone, dtype=np.int8)
    _core.clip_values(
        tree.first_child, tree.n_branches, tree.feature, tree.kind, directions, tree.task == "classification", value
    )
    return tree.replace(value=value)


def _without_useless_splits(tree: Tree) -> Tree:
    """C4.5's collapse: a split that does not reduce the training errors becomes a leaf (Quinlan 1993)."""
    useless = np.empty(tree.node_count, dtype=np.uint8)
    tolerance = np.full(tree.node_count, RELEASE8_TOLERANCE)
    _core.useless_splits(tree.parent, tree.first_child, tree.errors, tolerance, np.zeros(tree.node_count), useless)
    return tree.prune_at(useless.astype(bool)) if useless.any() else tree


# --- walks


def blocks(table: Table) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """The table as float blocks: whole where it is a float matrix, else a bounded number of rows at a time."""
    step = ROWS_AT_ONCE if table.n_features <= CELLS_AT_ONCE // ROWS_AT_ONCE else max(CELLS_AT_ONCE // table.n_features, 1)
    if table.matrix is not None:
        step = max(table.n_samples, 1)
    for start in range(0, table.n_samples, step):
        stop = min(start + step, table.n_samples)
        yield slice(start, stop), table.block(start, stop)


class _Divided(NamedTuple):
    """Samples that reach several leaves, and what these make of them."""

    samples: npt.NDArray[np.intp]
    values: Floats  # (n, k)


def _walk(tree: Tree, table: Table) -> tuple[npt.NDArray[np.int32], list[_Divided]]:
    """The node where each sample ends, of several leaves the one with the largest part of it; and the samples that do."""
    ends = np.empty(table.n_samples, dtype=np.int32)
    divided = []
    for rows, block in blocks(table):
        if _core.walk(tree, block, ends[rows]):
            marked = np.flatnonzero(ends[rows] == _core.DIVIDED)
            found, leaves = np.empty((marked.size, tree.value.shape[1])), np.empty(marked.size, dtype=np.int32)
            _core.walk_shares(tree, block[marked], tree.given, found, leaves)
            marked += rows.start
            ends[marked] = leaves
            divided.append(_Divided(marked, found))
    return ends, divided


def walk(tree: Tree, table: Table) -> npt.NDArray[np.int32]:
    """The node where each sample ends, int32 (n_samples,); of several leaves the one with the largest part of it."""
    return _walk(tree, table)[0]


def predict_value(tree: Tree, table: Table) -> Floats:
    """Class shares (rows sum to 1) or means, float64 (n_samples, k)."""
    ends, divided = _walk(tree, table)
    values = tree.predictions(ends)
    for some in divided:
        values[some.samples] = some.values
    return values


def predict_class(tree: Tree, table: Table) -> npt.NDArray[np.intp]:
    """Index of the class that is the answer for each sample, shape (n_samples,), of one target."""
    ends, divided = _walk(tree, table)
    answers: npt.NDArray[np.intp] = tree.answer.take(ends)
    for some in divided:
        answers[some.samples] = best_classes(some.values, tree.loss)
    return answers


def decision_path(tree: Tree, table: Table) -> csr_matrix:
    """Node indicator of every sample, a bool CSR matrix (n_samples, node_count)."""
    from scipy.sparse import csr_matrix

    starts = np.zeros(table.n_samples + 1, dtype=np.int64)
    for rows, block in blocks(table):
        _core.paths(tree, block, starts[rows.start : rows.stop + 1], None)
    np.cumsum(starts, out=starts)
    nodes = np.empty(starts[-1], dtype=np.int32)
    for rows, block in blocks(table):
        _core.paths(tree, block, starts[rows.start : rows.stop + 1], nodes)
    indicator = csr_matrix((np.ones(len(nodes), dtype=np.bool_), nodes, starts), shape=(table.n_samples, tree.node_count))
    indicator.sort_indices()
    return indicator
