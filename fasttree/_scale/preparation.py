"""What all shards of a table must agree on before a growth: bins, units of weights and of targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from fasttree._data.sums import nearest, units_of_sizes
from fasttree._engine.encoding import bin_codes, bin_edges
from fasttree._engine.records import Scale
from fasttree._engine.rounds import fixed_point, lay_codes, tile_bytes
from fasttree._learn.grow.encode import MOST_CODES
from fasttree._learn.grow.fixed_point import EXACT_INTEGERS, power_of_two_quantum
from fasttree._scale.messages import LAST_KEY, Keys
from fasttree._scale.shards import Arrays

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
T = TypeVar("T")

FEWEST_UNITS = 2**8  # of a weight; all weights together are 2**60 to 2**61
LAST_SINGLE_KEY = 2**32 - 1
MOST_SAMPLED = 2**15  # rows
LEAST_SAMPLED = 2**12
MOST_SQUARES = 4.6e18  # sum of the squares of coarse targets, as in `grow/scratch` of the engine


@dataclass(frozen=True)
class Portion:
    """Some rows of a table, as they are prepared once for all fits.

    Parameters
    ----------
    columns : list of arrays of shape (n,)
        float32 or float64 (NaN = missing) for continuous features, codes (0 = missing) for others.
    tiles : uint8 array
        Codes of all features, as the engine reads them.
    target : array of shape (n,)
        Class codes, or float64 targets.
    weight : float64 array of shape (n,) or None
    """

    columns: list[Array]
    tiles: npt.NDArray[np.uint8]
    target: Array
    weight: Floats | None


class Portions:
    """The parts of a table, each of which is mapped when it is needed.

    Parameters
    ----------
    opening : list of functions
        Each maps a part.
    """

    def __init__(self, opening: Sequence[Callable[[], Portion]]) -> None:
        self._opening = list(opening)

    def __len__(self) -> int:
        return len(self._opening)

    def __getitem__(self, i: int) -> Portion:
        return self._opening[i]()

    def __iter__(self) -> Iterator[Portion]:
        for opened in self._opening:
            yield opened()

    def outcomes(self, function: Callable[[Portion], T]) -> Iterable[T]:
        """Return the results of a function of each part."""
        return map(function, self)


def outcomes(function: Callable[[Portion], T], parts: Iterable[Portion]) -> Iterable[T]:
    """Return the results of a function of each part; parts on other machines are not brought here."""
    return parts.outcomes(function) if isinstance(parts, Portions) else map(function, parts)


# Bins


def edges_of(sample: Array) -> Keys:
    """Return the keys at the edges of bins from a sample of a column; where they lie has no influence on a tree."""
    single = sample.dtype == np.float32
    edges = bin_edges(np.ascontiguousarray(sample), MOST_CODES, True)
    if len(edges) < 2:
        edges = np.array([0, LAST_SINGLE_KEY], dtype=np.uint32)
    if not single and edges.dtype == np.uint32:  # the values of the sample alone are single precision
        edges = double_keys(edges.astype(np.uint32, copy=False))
    return edges.astype(np.uint64)


def keys_of(values: Array) -> Keys:
    """Return numbers as keys, which are in the same order."""
    n_bits = 8 * values.itemsize
    bits = (values + 0).view(f"u{values.itemsize}").astype(np.uint64)  # -0.0 becomes 0.0
    sign = np.uint64(1 << (n_bits - 1))
    return np.where(bits & sign, ~bits & np.uint64((1 << n_bits) - 1), bits | sign)


def double_keys(keys: npt.NDArray[np.uint32]) -> Keys:
    """Return keys of single-precision numbers as keys of the same numbers in double precision; the ends stay the ends."""
    sign = np.uint32(1 << 31)
    numbers = np.where(keys & sign, keys ^ sign, ~keys).view(np.float32)
    found: Keys = keys_of(numbers.astype(np.float64))
    found[keys == 0], found[keys == LAST_SINGLE_KEY] = 0, LAST_KEY
    return found


def sample_of(samples: Sequence[Array]) -> Array:
    """Return samples of all shards as one of limited size."""
    sample = np.concatenate(samples)
    return sample[:: max(len(sample) // (MOST_SAMPLED), 1)]


class RowSample:
    """Rows at equal distances in a table, of which there are never too many.

    Parameters
    ----------
    n_columns : int
    most : int
        Rows at most.
    """

    def __init__(self, n_columns: int, most: int) -> None:
        self._most = min(most, 2 * MOST_SAMPLED)
        self._parts: list[list[Array]] = [[] for _ in range(n_columns)]
        self._n_rows, self._n_sampled, self._step = 0, 0, 1

    def add(self, arrays: Sequence[Array]) -> None:
        """Take rows from the next ones of the table."""
        first = -self._n_rows % self._step
        for part, array in zip(self._parts, arrays, strict=True):
            part.append(array[first :: self._step].copy())
        self._n_rows += len(arrays[0])
        self._n_sampled += len(self._parts[0][-1])
        while self._n_sampled > self._most:
            self._parts = [[np.concatenate(part)[::2]] for part in self._parts]
            self._n_sampled, self._step = len(self._parts[0][0]), 2 * self._step

    def __iter__(self) -> Iterator[Array]:
        for part in self._parts:
            yield np.concatenate(part)


def as_type(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return numbers, or categories as they were numbered, in another type; one without a value has no kind yet."""
    if dtype.kind == "f":
        return values.astype(dtype, copy=False) if values.dtype.kind == "f" else np.full(len(values), np.nan, dtype)
    return np.nan_to_num(values).astype(dtype) if values.dtype.kind == "f" else values.astype(dtype, copy=False)


def bins_of(edges: Keys, extremes: Floats, single: bool) -> Keys:
    """Return edges whose ends are those of the values, so that the parts of the outer bins are not empty."""
    if not extremes.size:
        return edges
    tight = edges.copy()
    low, high = keys_of(np.array([extremes.min(), extremes.max()], dtype=np.float32 if single else np.float64))
    tight[0], tight[-1] = low - np.uint64(1), high
    return tight


def tiles_of(columns: Sequence[Array], edges: Sequence[Keys | None]) -> npt.NDArray[np.uint8]:
    """Return the codes of all features of some rows, as the engine reads them."""
    n_rows = len(columns[0])
    tiles = np.zeros(n_rows * tile_bytes(len(columns)), dtype=np.uint8)
    width = tile_bytes(1)
    for first in range(0, len(columns), width):
        of_tile = zip(columns[first : first + width], edges[first : first + width], strict=True)
        lay_codes([_codes_of(column, bins) for column, bins in of_tile], first, tiles)
    return tiles


def _codes_of(column: Array, bins: Keys | None) -> npt.NDArray[np.uint8] | None:
    """Return the bin of each value, or the categories; None if there are too many for tiles, and those of the column are read."""
    if column.dtype == np.uint16:
        return None
    if bins is None:
        return np.ascontiguousarray(column, dtype=np.uint8)
    codes = bin_codes(column, bins.astype(np.uint32) if column.dtype == np.float32 else bins)
    return np.ascontiguousarray(codes, dtype=np.uint8)


# Units


class Weighing:
    """The weights of samples of classes in a fit: those of the table, times what the fit gives to each class.

    Parameters
    ----------
    factors : list of float64 arrays of shape (n_classes,)
        Are multiplied in this order.
    """

    def __init__(self, factors: Sequence[Floats]) -> None:
        self._factors = list(factors)

    def state(self) -> bytes:
        """Return what the weights depend on besides the table."""
        return b"".join(factor.tobytes() for factor in self._factors)

    def __call__(self, part: Portion) -> Floats | None:
        """Return the weight of each sample; None: all are 1."""
        weight = part.weight
        for factor in self._factors:
            of_class = factor[part.target]
            weight = of_class if weight is None else weight * of_class
        return weight


def scale_of_weights(parts: Iterable[Portion], weigh: Callable[[Portion], Floats | None]) -> tuple[Scale, bool, float]:
    """Return the constants of weighted samples, whether weights count, and the weight of all samples.

    The unit is that of `fixed_point_weights` for all samples together.
    """
    n_samples, units = 0, 0
    whole, ones = True, True
    for n_rows, more, are_whole, are_ones in outcomes(partial(_weights_of, weigh), parts):
        n_samples += n_rows
        units += more
        whole, ones = whole and are_whole, ones and are_ones
    cases = nearest(units)
    if ones:
        return Scale(n_samples, float(n_samples)), False, cases
    if whole and cases < EXACT_INTEGERS:
        return Scale(n_samples, cases), True, cases
    unit = power_of_two_quantum(cases)
    total = sum(outcomes(partial(_total_in_units, weigh, unit), parts))
    return Scale(n_samples, float(total) * unit, unit), True, cases


def _weights_of(weigh: Callable[[Portion], Floats | None], part: Portion) -> tuple[int, int, bool, bool]:
    """Return the number of positive weights, their exact sum in units, and whether all are integers, or 1."""
    weight = weigh(part)
    if weight is None:
        return len(part.target), units_of_sizes(np.ones(1), None, 1)[0] * len(part.target), True, True
    whole, ones = bool(np.array_equal(weight, np.rint(weight))), bool((weight[weight != 0] == 1).all())
    return int(np.count_nonzero(weight)), units_of_sizes(weight, None, 1)[0], whole, ones


def _total_in_units(weigh: Callable[[Portion], Floats | None], unit: float, part: Portion) -> int:
    return int(_in_units(weigh(part), part, unit).sum())


def _in_units(weight: Floats | None, part: Portion, unit: float) -> npt.NDArray[np.int64]:
    """Return weights as multiples of a unit; 0 stays 0."""
    if weight is None:
        weight = np.ones(len(part.target))
    if unit == 1.0:
        return weight.astype(np.int64)
    return np.where(weight == 0, 0, np.maximum(np.rint(weight / unit), 1)).astype(np.int64)


def scale_of_targets(parts: Iterable[Portion], weigh: Callable[[Portion], Floats | None]) -> tuple[Scale, bool, float]:
    """Return the constants of numeric targets, whether weights count, and the weight of all samples.

    They are those of `fixed_point_targets` for all samples together.  Weights that are a few units would leave sums of targets
    rounded by more than the bounds allow for, so they raise a ValueError.
    """
    weights, weighted, cases = scale_of_weights(parts, weigh)
    least, most, largest, lightest = np.inf, -np.inf, 0.0, np.inf
    for smallest, largest_target, heaviest, light in outcomes(partial(_extent_of_targets, weigh, weights.unit), parts):
        least, most, largest = min(least, smallest), max(most, largest_target), max(largest, heaviest)
        lightest = min(lightest, light)
    if weighted and weights.unit != 1 and lightest < FEWEST_UNITS * weights.unit:
        raise ValueError(
            f"the smallest positive weight is {lightest:.3g}, and all together are {cases:.3g}: trees of numbers from a Dataset "
            f"need weights of at least {FEWEST_UNITS * weights.unit:.3g} there; give such samples the weight 0, or fit in memory"
        )
    centre = 0.5 * least + 0.5 * most
    units = partial(_units_of_targets, weigh, weights.unit if weighted else None, centre)
    scale = scale_of_extent(weights.n_samples, least, most, nearest(sum(outcomes(units, parts))))
    if not weighted:
        return scale, False, cases
    return (
        scale._replace(
            total_weight=weights.total_weight,
            unit=weights.unit,
            y_bound=largest * scale.y_bound,
            deviation_bound=largest * scale.deviation_bound,
            square_unit=float(np.ldexp(scale.y_unit, int(np.frexp(most - least)[1]))),
        ),
        True,
        cases,
    )


def scale_of_extent(n_samples: int, least: float, most: float, total: float) -> Scale:
    """Return the constants of targets from `least` to `most`, whose distances from the middle have the sum `total`."""
    centre = 0.5 * least + 0.5 * most
    unit = power_of_two_quantum(total) if total > 0 else 1.0
    largest = max(abs(int(np.rint((extreme - centre) / unit))) for extreme in (least, most))
    shift = 0
    while float(largest >> shift) * float(largest >> shift) * n_samples > MOST_SQUARES:
        shift += 1
    return Scale(
        n_samples,
        float(n_samples),
        1.0,
        unit,
        centre,
        max(abs(least), abs(most)),
        (most - least) ** 2,
        shift,
    )


def _of_positive_weight(weight: Floats | None, part: Portion) -> tuple[Floats, Floats | None]:
    if weight is None or weight.all():
        return part.target, weight
    return part.target[weight != 0], weight[weight != 0]


def _extent_of_targets(
    weigh: Callable[[Portion], Floats | None], unit: float, part: Portion
) -> tuple[float, float, float, float]:
    """Return the smallest and the largest target of positive weight, the largest weight in whole units, and the smallest."""
    target, weight = _of_positive_weight(weigh(part), part)
    heaviest = float(_in_units(weight, part, unit).max(initial=0)) * unit
    lightest = np.inf if weight is None else float(weight.min(initial=np.inf))
    return float(target.min(initial=np.inf)), float(target.max(initial=-np.inf)), heaviest, lightest


def _units_of_targets(weigh: Callable[[Portion], Floats | None], unit: float | None, centre: float, part: Portion) -> int:
    """Return the exact sum of the distances from the centre, times the weights in multiples of `unit`; None: all are 1."""
    target, weight = _of_positive_weight(weigh(part), part)
    distances = target - centre
    if unit is not None:
        distances *= _in_units(weight, part, unit) * unit
    return units_of_sizes(distances, None, 1)[0]


def arrays_of(part: Portion, scale: Scale, weigh: Callable[[Portion], Floats | None] | None, weighted: bool) -> Arrays:
    """Return a part of the table as one fit needs it; `weigh` is None where all samples of numbers count 1."""
    given = None if weigh is None else weigh(part)
    kept = None if given is None or given.all() else given != 0
    weight = _in_units(given, part, scale.unit) if weighted else None
    if part.target.dtype.kind != "f" and weigh is not None:
        return Arrays(part.columns, part.tiles, part.target.astype(np.uint16, copy=False), weight, None, None, kept)
    sums = np.empty(len(part.target), dtype=np.int64)
    if weight is None:
        fixed_point(part.target, scale.y_centre, scale.y_unit, sums)
    else:
        sums[:] = np.rint((part.target - scale.y_centre) * (weight * scale.unit) / scale.y_unit)
    return Arrays(part.columns, part.tiles, None, weight, part.target, sums, kept)
