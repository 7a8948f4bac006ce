"""Conditions: sets of values of one feature that follow a branch of a tree, or pass several tests on a path.

A value passes entirely, in part, or not at all: samples with a missing value may be divided among all branches, and a soft
threshold divides values near it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fasttree._data.encode import encode_table
from fasttree._data.schema import Category, Feature, Kind, Schema
from fasttree._model.words import interval_text, is_shorter, name_text, others_text, percent, set_of, threshold_texts, word

__all__ = ["Condition", "SoftTest", "left_part"]


class SoftTest(NamedTuple):
    """A threshold; values between `lower` and `upper` pass in part (a hard threshold if they are equal)."""

    lower: float
    threshold: float
    upper: float
    above: bool  # whether the larger values pass


@dataclass(frozen=True)
class Condition:
    """The values of one feature that pass: an interval ``low < x <= high`` or some categories, and missing values in part.

    An unseen category counts as missing.  ``a & b`` is exactly what passes both conditions; ``str()`` writes a condition.

    Attributes
    ----------
    feature : str
        Name of the tested feature.
    index : int
        Its column.
    kind : Kind
        Its kind.
    operator : {"<=", ">", "between", "=", "in", "known", "missing"}
        Form of the condition on known values: ``x <= threshold``, ``x > threshold``, ``low < x <= high``, ``x =
        categories[0]``, x is one of several `categories`, all values, or none.
    threshold : float or None
        Threshold of "<=" and ">", else None.
    categories : tuple
        Categories that pass entirely; empty for a continuous feature.
    low, high : float
        Limits for a continuous feature; infinite if there is no limit.
    missing : float, default 0.0
        Part of a sample that passes if its value is missing, from 0 to 1.
    parts : tuple of (category, float)
        Categories that pass in part, because a node that divides samples with a missing value did not know them.
    surrogates : bool, default False
        Whether other features decide on a missing value; `missing` then applies to samples that they leave undecided.
    asked : tuple
        Categories on which other features decide in the same way, because a node did not know them.
    soft : tuple of SoftTest
        All tests on the value, if one of them has a soft threshold.  The part that passes is the product of their parts; `low`
        and `high` are their thresholds.
    declared : tuple
        All categories of the feature, in their order.  If empty, the condition is written as a set.

    Examples
    --------
    >>> from fasttree import CARTClassifier
    >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"])
    >>> for rule in model.to_rules():
    ...     print(rule.conditions[0])
    x0 <= 1.5
    1.5 < x0 <= 3.5 or missing
    x0 > 3.5
    """

    feature: str
    index: int
    kind: Kind
    operator: str
    threshold: float | None = None
    categories: tuple[Category, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    missing: float = 0.0
    parts: tuple[tuple[Category, float], ...] = ()
    surrogates: bool = False
    asked: tuple[Category, ...] = ()
    soft: tuple[SoftTest, ...] = ()
    declared: tuple[Category, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.threshold is not None:  # the same as one limit
            object.__setattr__(self, "low" if self.operator == ">" else "high", self.threshold)

    @classmethod
    def interval(
        cls,
        feature: Feature,
        index: int,
        low: float = -math.inf,
        high: float = math.inf,
        *,
        missing: float = 0.0,
        surrogates: bool = False,
        soft: tuple[SoftTest, ...] = (),
    ) -> Condition:
        """Return the condition ``low < x <= high`` on a continuous feature; no value passes if `high` is not above `low`."""
        threshold = None
        if not (low < high or soft):  # a value may pass both of two soft tests in part
            operator, low, high = "missing", math.inf, -math.inf
        elif math.isfinite(low) and math.isfinite(high):
            operator = "between"
        elif math.isfinite(low):
            operator, threshold = ">", low
        elif math.isfinite(high):
            operator, threshold = "<=", high
        else:
            operator = "known"
        return cls(
            feature.name, index, feature.kind, operator, threshold, (), low, high, missing, (), surrogates, (), soft
        )  # fmt: skip

    @classmethod
    def among(
        cls,
        feature: Feature,
        index: int,
        categories: Sequence[Category],
        *,
        missing: float = 0.0,
        parts: Sequence[tuple[Category, float]] = (),
        surrogates: bool = False,
        asked: Sequence[Category] = (),
    ) -> Condition:
        """Return the condition that the value is one of some categories."""
        declared = feature.categories or ()
        if not categories:
            operator = "missing"
        elif len(categories) == len(declared):
            operator = "known"
        else:
            operator = "=" if len(categories) == 1 else "in"
        return cls(
            feature.name, index, feature.kind, operator, None, tuple(categories), -math.inf, math.inf, missing, tuple(parts),
            surrogates, tuple(asked), (), declared,
        )  # fmt: skip

    def __and__(self, other: object) -> Condition:
        """Return the condition that is true where both are; they must be on the same feature."""
        if not isinstance(other, Condition):
            return NotImplemented
        if self.index != other.index or self.kind != other.kind:
            raise ValueError(f"conditions on {self.feature!r} and {other.feature!r}: only those on one feature can be combined")
        feature = Feature(self.feature, self.kind, self.declared or other.declared or None)
        missing = self.missing * other.missing
        surrogates = (self.surrogates or other.surrogates) and self._admits_missing() and other._admits_missing()
        if self.kind == Kind.CONTINUOUS:
            low, high = max(self.low, other.low), min(self.high, other.high)
            is_soft = (self.soft or other.soft) and "missing" not in (self.operator, other.operator)
            soft = (*self._tests(), *other._tests()) if is_soft else ()
            return Condition.interval(feature, self.index, low, high, missing=missing, surrogates=surrogates, soft=soft)
        own, others = self._shares(), other._shares()
        both = [(category, share * others[category]) for category, share in own.items() if category in others]
        # if a test uses its surrogates for a category, the other must admit the category or use its own surrogates
        possible = [self._possible(), other._possible()]
        asked = [category for category in dict.fromkeys((*self.asked, *other.asked)) if all(category in one for one in possible)]
        return Condition.among(
            feature,
            self.index,
            [category for category, share in both if share == 1],
            missing=missing,
            parts=[(category, share) for category, share in both if share < 1],
            surrogates=surrogates,
            asked=asked,
        )

    def _tests(self) -> tuple[SoftTest, ...]:
        """Return the tests whose conjunction is the interval."""
        if self.soft:
            return self.soft
        hard = [(self.low, True), (self.high, False)]
        return tuple(SoftTest(limit, limit, limit, above) for limit, above in hard if math.isfinite(limit))

    def _shares(self) -> dict[Category, float]:
        return {**dict.fromkeys(self.categories, 1.0), **dict(self.parts)}

    def _possible(self) -> set[Category]:
        return {*self.categories, *self.asked, *(category for category, _ in self.parts)}

    def _admits_missing(self) -> bool:
        return self.missing > 0 or self.surrogates

    def relabelled(self, feature: Feature, shown: Feature) -> Condition:
        """Return the condition in the words of `shown`, a copy of its feature with other names."""
        words = dict(zip(feature.categories or (), shown.categories or (), strict=True))
        return replace(
            self,
            feature=shown.name,
            categories=tuple(words[category] for category in self.categories),
            parts=tuple((words[category], share) for category, share in self.parts),
            asked=tuple(words[category] for category in self.asked),
            declared=tuple(words[category] for category in self.declared),
        )

    @property
    def admits_nothing(self) -> bool:
        """Whether no value passes, even in part."""
        return self.operator == "missing" and not (self._admits_missing() or self.parts or self.asked)

    @property
    def admits_all(self) -> bool:
        """Whether every value passes entirely, missing ones included."""
        return self.operator == "known" and self.missing == 1 and not (self.surrogates or self.soft)

    def passes(self, values: Any) -> NDArray[np.float64]:
        """Return the part of each sample that passes.

        Parameters
        ----------
        values : array-like of shape (n_samples,)
            Values of the feature: numbers, NaN or None where missing, or categories.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Between 0 and 1; fractions only where samples are divided.  Where surrogates decide, the part if none of them does.

        Raises
        ------
        TypeError, ValueError
            If the values are not of the feature's type, or infinite.
        """
        column = np.asarray(values, dtype=object).reshape(-1, 1)
        categories = None if self.kind == Kind.CONTINUOUS else self.declared or tuple(self._shares())
        table = encode_table(column, Schema((Feature(self.feature, self.kind, categories),)))
        return self.passes_column(table.column(0), categories or ())

    def passes_column(self, column: NDArray[Any], categories: Sequence[Category]) -> NDArray[np.float64]:
        """Return the part of each sample that passes, for numbers, or for codes of these categories."""
        if self.kind == Kind.CONTINUOUS:
            numbers = column.astype(np.float64)
            return np.where(np.isnan(numbers), self.missing, self._part(numbers))
        shares = self._shares()
        by_code = np.array([self.missing, *(shares.get(category, 0.0) for category in categories)])
        parts: NDArray[np.float64] = by_code[column]
        return parts

    def _part(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        if not self.soft:
            return ((numbers > self.low) & (numbers <= self.high)).astype(np.float64)
        part = np.ones(len(numbers))
        for lower, threshold, upper, above in self.soft:
            left = left_part(lower, threshold, upper, numbers)
            part *= 1 - left if above else left
        return part

    def __str__(self) -> str:
        return self.words()

    def thresholds(self) -> set[tuple[int, float]]:
        """The column and each limit of the interval, whose texts `words` needs to be distinct."""
        return {(self.index, limit) for limit in (self.low, self.high) if math.isfinite(limit)}

    def words(
        self,
        thresholds: Mapping[tuple[int, float], str] | None = None,
        *,
        max_categories: int | None = None,
        show_missing: bool = True,
    ) -> str:
        """Write the condition.

        Parameters
        ----------
        thresholds : mapping of (int, float) to str, optional
            Texts for the limits, distinct over several conditions; by default they are distinct within this one.
        max_categories : int, optional
            Largest number of categories to name; the rest are counted.  By default all are named.
        show_missing : bool, default True
            Whether to write that a missing value passes, too; it is written anyway if no other value passes.

        Returns
        -------
        str
            For example ``2 < width <= 5``, ``colour in {red, blue} or missing`` or ``width is known``.
        """
        if thresholds is None:
            thresholds = threshold_texts(self.thresholds())
        name = name_text(self.feature)
        known = self._interval_words(name, thresholds) if self.kind == Kind.CONTINUOUS else self._set_words(name, max_categories)
        exceptions = self._exceptions()
        if known is not None:
            return " or ".join([known, *exceptions] if show_missing else [known])
        if not exceptions:
            return f"{name} is impossible"
        return f"{name} is {' or '.join(exceptions)}"

    def _interval_words(self, name: str, thresholds: Mapping[tuple[int, float], str]) -> str | None:
        if self.operator == "missing":
            return None
        if self.operator == "known":
            return f"{name} is known"
        low = f"{thresholds[self.index, self.low]}{self._softness(self.low, True)}" if math.isfinite(self.low) else None
        high = f"{thresholds[self.index, self.high]}{self._softness(self.high, False)}" if math.isfinite(self.high) else None
        if low is None:
            return f"{name} <= {high}"
        return f"{name} > {low}" if high is None else f"{low} < {name} <= {high}"

    def _softness(self, limit: float, above: bool) -> str:
        for lower, threshold, upper, larger in self.soft:
            if threshold == limit and larger == above and lower < upper:
                return f" {interval_text(lower, upper)}"
        return ""

    def _set_words(self, name: str, max_categories: int | None) -> str | None:
        plain = [category for category in self.categories if category not in self.asked] if self.asked else self.categories
        if not plain:
            return None
        if self.operator == "known" and len(plain) == len(self.categories):
            return f"{name} is known"
        if len(plain) == 1 and self.operator != "in":
            return f"{name} = {word(plain[0])}"
        if self.kind == Kind.ORDINAL and (text := self._range_words(name, tuple(plain))):
            return text
        named = set(plain) | self._possible()
        excluded = [category for category in self.declared if category not in named]
        if excluded and len(named) == len(plain) and is_shorter(len(excluded), len(plain)):
            return f"{name} {others_text(list(map(word, excluded)), max_categories)}"
        return f"{name} in {set_of(map(word, plain), max_categories)}"

    def _range_words(self, name: str, plain: tuple[Category, ...]) -> str | None:
        """Write consecutive ordered categories by the one before the first and by the last."""
        if not self.declared:
            return None
        first = self.declared.index(plain[0])
        last = first + len(plain)
        if self.declared[first:last] != plain:
            return None
        before = word(self.declared[first - 1]) if first else ""
        if last == len(self.declared):
            return f"{name} > {before}"
        return f"{before} < {name} <= {word(plain[-1])}" if before else f"{name} <= {word(plain[-1])}"

    def _exceptions(self) -> list[str]:
        """Write which missing values, and which categories unknown to a node, pass."""
        asked = ["missing"] * self.surrogates + [_counted(self.asked)] * bool(self.asked)
        # if no other value passes, samples stay in the node
        reason = " with all surrogates" if self.operator == "missing" or self._stays() else ", by surrogates"
        found = [" or ".join(asked) + reason] if asked else []
        if self.missing == 1 and not self.surrogates:
            found.append("missing")
        elif self.missing > 0 and not self.surrogates:
            found.append(f"missing in part ({percent(self.missing)})")
        parts = [(category, share) for category, share in self.parts if category not in self.asked]
        if parts:
            shares = {percent(share) for _, share in parts}
            common = f" ({''.join(shares)})" if len(shares) == 1 else ""
            found.append(f"{_counted([category for category, _ in parts])} in part{common}")
        return found

    def _stays(self) -> bool:
        return set(self.categories) <= set(self.asked) and self.kind != Kind.CONTINUOUS


def _counted(categories: Sequence[Category]) -> str:
    return word(categories[0]) if len(categories) == 1 else f"{len(categories)} others"


def left_part(
    lower: float | NDArray[np.float64],
    threshold: float | NDArray[np.float64],
    upper: float | NDArray[np.float64],
    x: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the part of each value that a soft threshold sends left, as in prediction (Quinlan 1993, chapter 8); 0 for NaN."""
    below = 1.0 - 0.5 * (0.5 * x - 0.5 * lower) / (0.5 * threshold - 0.5 * lower + 0.0005)
    above = 0.5 - 0.5 * (0.5 * x - 0.5 * threshold) / (0.5 * upper - 0.5 * threshold + 0.0005)
    return np.where(x <= lower, 1.0, np.where(x <= threshold, below, np.where(x < upper, above, 0.0)))
