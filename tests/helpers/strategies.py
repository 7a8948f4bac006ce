"""Hypothesis strategies: small tables in the encoded form that the engine and its slow twin take.

Values are few and repeat, so ties, pure nodes and constant columns are frequent.  Continuous values, weights and targets are
multiples of small powers of two: their sums are exact, whatever the order, so equal gains are equal in every implementation up
to the rounding of a division.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fasttree._learn.limits import Limits

CONTINUOUS, ORDINAL, NOMINAL = 0, 1, 2
ALL_KINDS = (CONTINUOUS, ORDINAL, NOMINAL)


def share_of_examples(share: float) -> settings:
    """As many examples as this share of those of the profile, and at least one."""
    return settings(max_examples=max(1, round(share * settings.default.max_examples)))


# For a test that runs once a recipe, dozens of times: fewer examples of each than of a test that runs once.
FEWER_EACH = share_of_examples(0.4)
FEW_EACH = share_of_examples(0.2)  # where what differs between recipes is tested elsewhere


@dataclass(frozen=True)
class SmallTable:
    """An encoded table with its target; the fields are those of `naive.grow`."""

    columns: tuple[NDArray[Any], ...]
    kinds: tuple[int, ...]
    n_categories: tuple[int, ...]
    y: NDArray[Any]
    n_classes: int
    sample_weight: NDArray[np.float64] | None = None

    @property
    def n_samples(self) -> int:
        return len(self.y)

    def row(self, i: int) -> list[Any]:
        """Cells of one sample: floats (NaN = missing) and integer codes (0 = missing)."""
        return [column[i].item() for column in self.columns]

    def take(self, rows: Sequence[int] | NDArray[np.intp]) -> SmallTable:
        """The table of these rows, in this order, repeats allowed."""
        index = np.asarray(rows, dtype=np.intp)
        weight = None if self.sample_weight is None else self.sample_weight[index]
        return replace(self, columns=tuple(c[index] for c in self.columns), y=self.y[index], sample_weight=weight)

    def __repr__(self) -> str:
        """The call that makes this table, so that a failing example can be pasted."""
        columns = ", ".join(f"np.array({column.tolist()!r})".replace("nan", "np.nan") for column in self.columns)
        weight = "None" if self.sample_weight is None else f"np.array({self.sample_weight.tolist()!r})"
        return (
            f"SmallTable(({columns},), {self.kinds!r}, {self.n_categories!r}, "
            f"np.array({self.y.tolist()!r}), {self.n_classes}, {weight})"
        )


def continuous_columns(n_samples: int, *, missing: bool) -> st.SearchStrategy[NDArray[Any]]:
    """A handful of distinct values, now and then ones that lie closer than any tolerance for values."""
    value = st.one_of(
        st.integers(-3, 3).map(lambda k: k / 2),
        st.sampled_from([1.0, 1.0 + 2.0**-18, 1.0 + 2.0**-40, -1e6, 1e6]),
    )
    cell = st.one_of(value, value, value, st.just(np.nan)) if missing else value
    return st.lists(cell, min_size=n_samples, max_size=n_samples).map(lambda cells: np.array(cells, dtype=np.float64))


def code_columns(n_samples: int, n_categories: int, *, missing: bool) -> st.SearchStrategy[NDArray[Any]]:
    """Codes 1 to `n_categories`, not all of which need occur; 0 = missing."""
    return st.lists(st.integers(0 if missing else 1, n_categories), min_size=n_samples, max_size=n_samples).map(
        lambda codes: np.array(codes, dtype=np.uint8)
    )


def weights(n_samples: int) -> st.SearchStrategy[NDArray[np.float64]]:
    """Whole weights (0 included) or fractions, never all 0."""
    whole = st.integers(0, 3).map(float)
    fraction = st.sampled_from([0.0, 0.25, 0.5, 1.5, 2.75])
    lists = st.one_of(
        st.lists(whole, min_size=n_samples, max_size=n_samples), st.lists(fraction, min_size=n_samples, max_size=n_samples)
    )
    return lists.filter(lambda w: sum(w) > 0).map(lambda w: np.array(w, dtype=np.float64))


@st.composite
def tables(
    draw: st.DrawFn,
    *,
    task: str = "classification",
    kinds: Sequence[int] = ALL_KINDS,
    missing: bool = True,
    weighted: bool = True,
    min_samples: int = 1,
    max_samples: int = 30,
    max_features: int = 5,
    max_classes: int = 4,
    max_categories: int = 6,
) -> SmallTable:
    """A small table of mixed kinds.

    `missing` and `weighted` allow missing values and sample weights; they need not occur.  Regression targets are multiples of
    1/4.  Declared classes and categories need not occur either.
    """
    n_samples = draw(st.integers(min_samples, max_samples))
    with_missing = missing and draw(st.booleans())
    columns: list[NDArray[Any]] = []
    chosen = draw(st.lists(st.sampled_from(list(kinds)), min_size=1, max_size=max_features))
    n_categories = [0 if kind == CONTINUOUS else draw(st.integers(1, max_categories)) for kind in chosen]
    for kind, q in zip(chosen, n_categories, strict=True):
        columns.append(
            draw(
                continuous_columns(n_samples, missing=with_missing)
                if kind == CONTINUOUS
                else code_columns(n_samples, q, missing=with_missing)
            )
        )
    if task == "classification":
        n_classes = draw(st.integers(2, max_classes))
        y: NDArray[Any] = np.array(
            draw(st.lists(st.integers(0, n_classes - 1), min_size=n_samples, max_size=n_samples)), dtype=np.intp
        )
    else:
        n_classes = 1
        quarters = draw(st.lists(st.integers(-8, 8), min_size=n_samples, max_size=n_samples))
        y = np.array(quarters, dtype=np.float64) / 4
    weight = draw(st.one_of(st.none(), weights(n_samples))) if weighted else None
    return SmallTable(tuple(columns), tuple(chosen), tuple(n_categories), y, n_classes, weight)


@st.composite
def planted_tables(
    draw: st.DrawFn, *, kinds: Sequence[int] = ALL_KINDS, max_samples: int = 30, max_features: int = 5, max_leaves: int = 6
) -> SmallTable:
    """A table labelled by a random binary tree, one class per leaf: every impure node has a split with a positive gain.

    No missing values, no weights.  A greedy tree without limits must label every sample as the planted tree does.
    """
    table = draw(
        tables(kinds=kinds, missing=False, weighted=False, min_samples=2, max_samples=max_samples, max_features=max_features)
    )
    leaves = [np.arange(table.n_samples)]
    for _ in range(draw(st.integers(0, max_leaves - 1))):
        rows = leaves.pop(draw(st.integers(0, len(leaves) - 1)))
        feature = draw(st.integers(0, len(table.columns) - 1))
        column = table.columns[feature][rows]
        asked = column[draw(st.integers(0, len(rows) - 1))]
        yes = column == asked if table.kinds[feature] == NOMINAL else column <= asked
        leaves += [side for side in (rows[yes], rows[~yes]) if len(side)]
    y = np.empty(table.n_samples, dtype=np.intp)
    for label, rows in enumerate(leaves):
        y[rows] = label
    return replace(table, y=y, n_classes=max(2, len(leaves)))


@st.composite
def limits(draw: st.DrawFn, *, min_gain: float, min_branch_weight: bool = False) -> Limits:
    """Limits of growth, most often the defaults.  Thresholds on gains are numbers that no gain of a small table hits."""
    return Limits(
        max_depth=draw(st.one_of(st.none(), st.none(), st.integers(0, 4))),
        min_samples_split=draw(st.sampled_from([2, 2, 2, 4, 7])),
        min_samples_leaf=draw(st.sampled_from([1, 1, 1, 2, 4])),
        min_weight_leaf=draw(st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.25])),
        min_impurity_decrease=draw(st.sampled_from([0.0, 0.0, 0.0, 0.0123457, 0.0765433])),
        min_impurity=draw(st.sampled_from([0.0, 0.0, 0.0, 0.2345679])),
        min_gain=draw(st.sampled_from([min_gain, min_gain, 0.0234567])),
        min_branch_weight=draw(st.sampled_from([2.0, 2.0, 1.0, 3.0])) if min_branch_weight else 2.0,
    )
