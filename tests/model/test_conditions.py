"""Conditions: which values pass, how two of them join, and how they read."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fasttree._data.schema import Feature, Kind
from fasttree._model.conditions import Condition, SoftTest
from fasttree._model.conditions import Condition as Exported

WIDTH = Feature("width", Kind.CONTINUOUS)
SIZE = Feature("size", Kind.ORDINAL, ("small", "medium", "large", "huge"))
COLOUR = Feature("colour", Kind.NOMINAL, ("red", "green", "blue", "white", "black", "grey"))
NUMBERS = [-math.inf, -1.5, 0.0, 2.0, 2.5, 5.0, math.inf]
VALUES = [-2.0, -1.5, -1.0, 0.0, 1.0, 2.0, 2.25, 2.5, 3.0, 5.0, 7.0, math.nan]


def interval(low=-math.inf, high=math.inf, **other):
    return Condition.interval(WIDTH, 0, low, high, **other)


def among(*categories, feature=COLOUR, **other):
    return Condition.among(feature, 1, categories, **other)


def test_rules_of_both_kinds_share_one_class_of_conditions():
    assert Exported is Condition


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (interval(2, 5), "2 < width <= 5"),
        (interval(3), "width > 3"),
        (interval(high=0.25, missing=1.0), "width <= 0.25 or missing"),
        (interval(3, missing=0.357), "width > 3 or missing in part (36 %)"),
        (interval(3, surrogates=True), "width > 3 or missing, by surrogates"),
        (interval(), "width is known"),
        (interval(math.inf, missing=1.0), "width is missing"),
        (interval(math.inf), "width is impossible"),
        (interval(math.inf, missing=1.0, surrogates=True), "width is missing with all surrogates"),
        (interval(high=0.6, soft=(SoftTest(0.42, 0.6, 0.71, False),)), "width <= 0.6 [0.42, 0.71]"),
        (among("red"), "colour = red"),
        (among("red", "blue"), "colour in {red, blue}"),
        (among("red", "green", "blue", "white", "black"), "colour != grey"),
        (among("red", "green", "blue", "white", "black", missing=1.0), "colour != grey or missing"),
        (among("red", "green", "blue", "white"), "colour not in {black, grey}"),
        (among("red", "green", "blue"), "colour in {red, green, blue}"),
        (among(*COLOUR.categories), "colour is known"),
        (among(missing=1.0), "colour is missing"),
        (among("grey", missing=1.0), "colour = grey or missing"),
        (
            among("red", missing=0.4, parts=[("grey", 0.4), ("blue", 0.4)]),
            "colour = red or missing in part (40 %) or 2 others in part (40 %)",
        ),
        (among("red", surrogates=True, asked=["grey"]), "colour = red or missing or grey, by surrogates"),
        (among("small", "medium", feature=SIZE), "size <= medium"),
        (among("large", "huge", feature=SIZE), "size > medium"),
        (among("medium", "large", feature=SIZE), "small < size <= large"),
        (among("small", "huge", feature=SIZE), "size in {small, huge}"),
        (among("medium", feature=SIZE), "size = medium"),
    ],
)
def test_a_condition_reads_like_this(condition, text):
    assert str(condition) == text


def test_a_name_is_quoted_where_a_reader_could_not_tell_where_it_ends():
    feature = Feature("a, b", Kind.NOMINAL, ("x", "{", "c"))
    assert str(Condition.among(feature, 0, ["x", "{"])) == "'a, b' in {x, '{'}"


def test_long_sets_are_counted_on_request():
    feature = Feature("letter", Kind.NOMINAL, tuple("abcdefgh"))
    condition = Condition.among(feature, 0, list("abcd"))
    assert condition.words(max_categories=2) == "letter in {a, b, … 2 more}"
    assert Condition.among(feature, 0, list("abcdef"), missing=1.0).words(show_missing=False) == "letter not in {g, h}"


def test_the_shorter_side_of_a_set_is_written_and_a_missing_value_beside_it_if_it_passes():
    feature = Feature("letter", Kind.NOMINAL, tuple("abcdefgh"))
    for missing, text in ((0.0, "letter not in {g, h}"), (1.0, "letter not in {g, h} or missing")):
        condition = Condition.among(feature, 0, list("abcdef"), missing=missing)
        np.testing.assert_array_equal(condition.passes(["a", "g", None, "z"]), [1, 0, missing, missing])
        assert str(condition) == text


def test_limits_that_are_close_stay_apart_in_words():
    low, high = 1.23456789012, 1.23456789987
    low_text, high_text = (
        str(interval(low, high)).replace(" width", "").split(" < <= ")[0].split(" <")[0],
        str(interval(low, high)),
    )
    assert low_text != high_text.split("<= ")[1]
    assert float(low_text) < float(high_text.split("<= ")[1])


def test_operators_tell_what_passes():
    operators = [
        interval(2, 5),
        interval(3),
        interval(high=3),
        interval(),
        interval(math.inf),
        among("red"),
        among("red", "blue"),
    ]
    assert [condition.operator for condition in operators] == ["between", ">", "<=", "known", "missing", "=", "in"]
    assert interval(3).threshold == interval(3).low == 3
    assert Condition("width", 0, Kind.CONTINUOUS, "<=", 3.0).high == 3


def test_values_pass_as_the_condition_says():
    np.testing.assert_array_equal(interval(2, 5, missing=0.5).passes([2.0, 2.1, 5.0, 6.0, None, np.nan]), [0, 1, 1, 0, 0.5, 0.5])
    np.testing.assert_array_equal(
        among("red", missing=0.25, parts=[("grey", 0.5)]).passes(["red", "grey", "blue", "pink", None]), [1, 0.5, 0, 0.25, 0.25]
    )
    np.testing.assert_array_equal(among("red").passes(pd.Series(["red", "blue"], dtype="category")), [1, 0])


def test_values_of_another_type_are_refused():
    with pytest.raises((TypeError, ValueError), match="width"):
        interval(2).passes(["red"])
    with pytest.raises(ValueError, match="colour"):
        among("red").passes([1, 2])


def test_conditions_on_different_features_do_not_join():
    with pytest.raises(ValueError, match="only those on one feature"):
        interval(2) & among("red")
    assert interval(2).__and__("width") is NotImplemented


def test_joined_conditions_read_as_one():
    assert str(interval(2) & interval(high=5) & interval(high=7)) == "2 < width <= 5"
    assert str(among("red", "blue", "grey") & among("blue", "grey", "white")) == "colour in {blue, grey}"
    assert str(interval(2, missing=1.0) & interval(3)) == "width > 3"
    assert str(interval(2, missing=0.5) & interval(3, missing=0.5)) == "width > 3 or missing in part (25 %)"
    assert str(interval(2) & interval(3, surrogates=True)) == "width > 3"  # no missing value came so far
    assert (interval(high=2) & interval(3)).admits_nothing
    assert interval(missing=1.0).admits_all
    assert not interval().admits_all


def test_conditions_are_values():
    condition = among("red", "blue")
    assert pickle.loads(pickle.dumps(condition)) == condition
    assert len({condition, among("red", "blue"), among("red")}) == 2


@st.composite
def intervals(draw):
    low, high = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(NUMBERS))
    soft = ()
    if math.isfinite(high) and draw(st.booleans()):
        low = -math.inf
        soft = (SoftTest(high - draw(st.sampled_from([0.0, 1.0])), high, high + 2.0, False),)
    return interval(low, high, missing=draw(st.sampled_from([0.0, 0.25, 1.0])), soft=soft)


@st.composite
def sets(draw):
    part = st.sampled_from([0.0, 0.0, 0.5, 1.0])
    shares = {category: draw(part) for category in COLOUR.categories}
    return among(
        *(category for category, share in shares.items() if share == 1),
        missing=draw(part),
        parts=[(category, share) for category, share in shares.items() if 0 < share < 1],
    )


@given(intervals(), intervals())
def test_what_passes_joined_intervals_passes_both(a, b):
    np.testing.assert_array_equal((a & b).passes(VALUES), a.passes(VALUES) * b.passes(VALUES))
    assert str(a & b)


@given(sets(), sets())
def test_what_passes_joined_sets_passes_both(a, b):
    values = [*COLOUR.categories, None, "pink"]
    np.testing.assert_array_equal((a & b).passes(values), a.passes(values) * b.passes(values))
    assert str(a & b)
