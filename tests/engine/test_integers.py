"""Columns of few integers that lie close together: codes without a search are those of the sorted distinct values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree._data.learn import learn_table
from fasttree._engine import encoding
from fasttree._learn.grow import encode, growth
from fasttree._learn.limits import Limits
from fasttree._learn.recipe import Recipe

FARTHEST = 2**23  # integers up to it are looked at
FAR = [-FARTHEST - 3, -FARTHEST, FARTHEST - 4, FARTHEST, 2**24, 2**31 - 2]
ROWS = st.sampled_from([1, 2, 63, 64, 65, 128, 2111, 2112, 2113, 5000])


def codes_of(column):
    """The slow twin: distinct values, ascending, and codes; None if they are more than 255."""
    known = ~np.isnan(column)
    values = np.unique(column[known] + 0.0)
    codes = np.zeros(len(column), np.uint8)
    codes[known] = np.searchsorted(values, column[known]) + 1
    return (values, codes) if len(values) <= 255 else None


@st.composite
def columns(draw, dtype=None):
    """A column of integers near one another, far from zero or not, with or without something else in it."""
    n, seed = draw(ROWS), draw(st.integers(0, 2**32 - 1))
    low = draw(
        st.one_of(st.integers(-300, 300), st.sampled_from([-FARTHEST - 3, -FARTHEST, FARTHEST - 4, FARTHEST, 2**24, 2**31 - 2]))
    )
    width = draw(st.sampled_from([1, 2, 5, 100, 254, 255, 256, 300]))
    rng = np.random.default_rng(seed)
    column = rng.integers(low, low + width, n).astype(dtype or draw(st.sampled_from([np.float32, np.float64])))
    at = draw(st.sampled_from([0, -1]))
    other = draw(st.sampled_from([None, None, np.nan, 0.5, -0.0, 1e30, -1e30, 2.0**31, 2.0**-149, low + width, low - 1]))
    if other is not None:
        column[at] = other
    return column * draw(st.sampled_from([1, 1, 2, 0.5, -1]))


@given(column=columns(), step=st.sampled_from([1, 1, 2, -1]))
def test_codes_are_those_of_the_sorted_values(column, step):
    column = np.repeat(column, abs(step))[::step]
    found, expected = encoding.code_values(column), codes_of(column)
    assert (found is None) == (expected is None)
    if found is not None:
        assert np.array(found[0]).tobytes() == expected[0].astype(float).tobytes()  # no -0.0
        assert np.array_equal(found[1], expected[1])


@given(
    table=st.lists(columns(np.float32), min_size=1, max_size=4),
    m=st.integers(16, 33),
    first=st.sampled_from([0, 8, 16]),
    bounded=st.booleans(),
    more=st.data(),
)
def test_columns_side_by_side_are_taken_where_they_have_few_integers(table, m, first, bounded, more):
    n = min(map(len, table))
    X = np.ascontiguousarray(np.column_stack([table[j % len(table)][:n] for j in range(first + m + 1)]), dtype=np.float32)
    wanted = np.array(more.draw(st.lists(st.booleans(), min_size=m, max_size=m)))
    n_codes, most_codes = wanted.astype(np.int32), more.draw(st.sampled_from([2, 100, 255]))
    encoding.Encoding(n, X.shape[1], 1, bounded, 255, False).code_integers(X, first, n_codes, most_codes)
    for j, column in enumerate(X.T[first : first + m]):
        integers = bool((np.abs(column) <= FARTHEST).all() and (column == np.rint(column)).all() and np.ptp(column) <= 254)
        n_values = len(np.unique(column))
        assert n_codes[j] == (n_values if integers and wanted[j] and n_values <= most_codes else 0)


@given(
    table=st.lists(columns(np.float32), min_size=1, max_size=4),
    d=st.integers(16, 40),
    most_codes=st.sampled_from([0, 40, 255]),
    n_jobs=st.sampled_from([1, 2]),
    seed=st.integers(0, 2**32 - 1),
)
def test_trees_of_rows_of_integers_are_those_of_columns(table, d, most_codes, n_jobs, seed):
    """All columns vary from row to row in ways of their own, so a wrong code shows in a split."""
    rng = np.random.default_rng(seed)
    n = max(min(map(len, table)), encode.LEAST_COPIED)
    X = np.column_stack([rng.permutation(np.resize(table[j % len(table)], n)) for j in range(d)]).astype(np.float32)
    X[np.isinf(X)] = 7
    y = rng.integers(0, 3, n)
    sizes = {"n_classes": 3, "block_rows": 300, "most_codes": most_codes, "n_jobs": n_jobs}
    by_rows, by_columns = (
        growth.grow(learn_table(of), y, None, Recipe(), Limits(max_depth=6), **sizes) for of in (X, np.asfortranarray(X))
    )
    assert by_rows == by_columns


@pytest.mark.parametrize(("block_rows", "most_codes"), [(32_768, 255), (500, 255), (500, 40), (500, 0)])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("n_classes", [0, 2])
def test_a_table_in_rows_grows_the_tree_of_its_columns(n_classes, n_jobs, block_rows, most_codes, monkeypatch):
    rng = np.random.default_rng(n_jobs)
    n, d = 3000, 50
    X = rng.integers(0, rng.integers(2, 250, d), (n, d)).astype(np.float32)
    X[:, ::7] += rng.normal(size=(n, 8)).astype(np.float32)
    X[:, 5] = rng.integers(0, 3, n) * 1000
    X[:, 6] *= 2
    X[rng.random(n) < 0.1, 8] = np.nan
    y = X[:, 1] * X[:, 2] + X[:, 6] * 9 + rng.normal(size=n) * 40
    y = (y > np.median(y)).astype(np.intp) if n_classes else y
    recipe, limits = Recipe(impurity="gini" if n_classes else "squared_error"), Limits(max_depth=8)
    sizes = {"n_classes": n_classes, "n_jobs": n_jobs, "block_rows": block_rows, "most_codes": most_codes}
    by_columns = growth.grow(learn_table(np.asfortranarray(X)), y, None, recipe, limits, **sizes)
    found, encode_integers = [], encode._encode_integers
    monkeypatch.setattr(encode, "_encode_integers", lambda *given: found.append(encode_integers(*given)) or found[-1])
    by_rows = growth.grow(learn_table(X), y, None, recipe, limits, **sizes)
    assert len(found[0]) > (5 if most_codes == 40 else 35)
    assert by_rows == by_columns
    assert set(by_rows.feature[by_rows.n_branches > 0].tolist()) > {1, 2, 6}
