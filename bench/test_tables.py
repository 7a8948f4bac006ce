"""Tests that tables are the same on every machine and at every date, so that figures can be compared."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from . import tables


@pytest.mark.parametrize(
    ("make", "fingerprint", "class_counts"),
    [
        (tables.signal, -596.5484680611999, [1014, 986]),
        (tables.noise, -596.5484680611999, [1018, 982]),
        (tables.covtype_like, -728015.4996184662, [559, 1262, 120, 0, 12, 40, 7]),
        (tables.nominal, -8297.905495199058, [1017, 983]),
    ],
)
def test_a_table_holds_the_values_it_always_held(make: Callable[[int], Any], fingerprint: float, class_counts: list[int]) -> None:
    X, y = make(2000)[:2]
    by_place = np.sin(np.arange(len(X)))[:, None] * np.arange(1, X.shape[1] + 1)
    assert (X * by_place).sum() == pytest.approx(fingerprint, rel=1e-6)
    assert np.bincount(y).tolist() == class_counts


def test_the_regression_target_of_signal_is_what_it_always_was() -> None:
    assert tables.signal(2000)[2].sum() == pytest.approx(-10.163469711147243, rel=1e-6)


def test_every_value_of_a_column_of_signal_is_distinct() -> None:
    X, _, _ = tables.signal(2000)
    assert all(len(np.unique(column)) == len(column) for column in X.T)


def test_the_zero_one_columns_of_covtype_like_exclude_each_other() -> None:
    X, _ = tables.covtype_like(500)
    assert (X[:, 10:14].sum(axis=1) == 1).all()
    assert (X[:, 14:].sum(axis=1) == 1).all()
