"""measures.py: every number of the textbook examples, and the behaviour around them.

Li Hang, Statistical Learning Methods, chapter 5 (loan table, regression exercise); J. R. Quinlan 1986 (tennis); P.-N. Tan,
M. Steinbach, V. Kumar, Introduction to Data Mining, chapter 4 (impurities, cuts of an income column).  Figures are recomputed to
ten digits.
"""

import csv
import doctest
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from fasttree import measures

EXACT = 1e-9


def close(expected):
    return pytest.approx(expected, rel=0, abs=EXACT)


def read(path):
    """Columns of a CSV file as lists of strings, None where a cell is empty."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] or None for row in rows] for name in rows[0]}


@pytest.fixture(scope="session")
def loan(data):
    return read(data / "loan15.csv")


@pytest.fixture(scope="session")
def loan_without_house(loan):
    rows = [i for i, house in enumerate(loan["owns_house"]) if house == "no"]
    return {name: [column[i] for i in rows] for name, column in loan.items()}


@pytest.fixture(scope="session")
def tennis(data):
    return read(data / "tennis14.csv")


@pytest.fixture(scope="session")
def missing(data):
    return read(data / "missing10.csv")


# Impurity


@pytest.mark.parametrize(
    ("counts", "gini", "bits", "nats", "error"),
    [
        ([0, 6], 0, 0, 0, 0),
        ([1, 5], 0.2777777778, 0.6500224216, 0.4505612089, 0.1666666667),
        ([3, 3], 0.5, 1, 0.6931471806, 0.5),
        ([9, 6], 0.48, 0.9709505945, 0.6730116670, 0.4),
        ([6, 3], 0.4444444444, 0.9182958341, 0.6365141683, 0.3333333333),
        ([9, 5], 0.4591836735, 0.9402859587, 0.6517565612, 0.3571428571),
    ],
)
def test_impurities_are_those_of_the_textbook(counts, gini, bits, nats, error):
    assert measures.gini(counts) == close(gini)
    assert measures.entropy(counts) == close(bits)
    assert measures.entropy(counts, base=math.e) == close(nats)
    assert measures.classification_error(counts) == close(error)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_impurities_are_largest_for_equal_shares(n_classes):
    counts = [4] * n_classes
    assert measures.gini(counts) == close(1 - 1 / n_classes)
    assert measures.entropy(counts) == close(math.log2(n_classes))
    assert measures.classification_error(counts) == close(1 - 1 / n_classes)
    assert measures.split_information(np.diag(counts)) == close(math.log2(n_classes))


def test_a_node_of_one_class_has_no_impurity_and_no_negative_zero():
    for impurity in (measures.entropy, measures.gini, measures.classification_error):
        assert math.copysign(1, impurity([7])) == 1
        assert impurity([7]) == 0


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=6).filter(any), st.floats(0.01, 100))
def test_impurity_depends_on_shares_alone(counts, factor):
    for impurity in (measures.entropy, measures.gini, measures.classification_error):
        assert impurity(np.array(counts) * factor) == pytest.approx(impurity(counts[::-1]), abs=1e-12)


# Gain and gain ratio


@pytest.mark.parametrize(
    ("feature", "after", "gain", "split_information", "ratio"),
    [
        ("age", 0.8879430946, 0.0830074999, 1.5849625007, 0.0523719014),
        ("has_job", 0.6473003963, 0.3236501982, 0.9182958341, 0.3524465495),
        ("owns_house", 0.5509775004, 0.4199730940, 0.9709505945, 0.4325380678),
        ("credit", 0.6079610319, 0.3629895625, 1.5655962304, 0.2318538813),
        ("id", 0, 0.9709505945, 3.9068905956, 0.2485225963),
    ],
)
def test_loan_table_at_the_root(loan, feature, after, gain, split_information, ratio):
    column, y = loan[feature], loan["approved"]
    assert measures.conditional_entropy(column, y) == close(after)
    assert measures.information_gain(column, y) == close(gain)
    assert measures.split_information(column, y) == close(split_information)
    assert measures.gain_ratio(column, y) == close(ratio)
    assert measures.gain_ratio(column, y, base=math.e) == close(ratio)
    assert measures.information_gain(column, y, base=math.e) == pytest.approx(gain * math.log(2), abs=1e-10)


def test_loan_table_mean_gain(loan):
    gains = [measures.information_gain(loan[name], loan["approved"]) for name in ("age", "has_job", "owns_house", "credit")]
    assert np.mean(gains) == close(0.2974050887)


@pytest.mark.parametrize(
    ("feature", "value", "entropy"),
    [
        ("age", "young", 0.9709505945),
        ("age", "middle", 0.9709505945),
        ("age", "old", 0.7219280949),
        ("has_job", "no", 0.9709505945),
        ("has_job", "yes", 0),
        ("owns_house", "no", 0.9182958341),
        ("owns_house", "yes", 0),
        ("credit", "fair", 0.7219280949),
        ("credit", "good", 0.9182958341),
        ("credit", "excellent", 0),
    ],
)
def test_loan_table_entropy_of_each_value(loan, feature, value, entropy):
    table = measures.contingency(loan[feature], loan["approved"])
    assert measures.entropy(table.counts[table.values.index(value)]) == close(entropy)


@pytest.mark.parametrize(
    ("feature", "after", "gain", "split_information", "ratio"),
    [
        ("age", 0.6666666667, 0.2516291674, 1.5304930568, 0.1644105253),
        ("has_job", 0, 0.9182958341, 0.9182958341, 1),
        ("credit", 0.4444444444, 0.4738513896, 1.3921472237, 0.3403744816),
    ],
)
def test_loan_table_below_the_root(loan_without_house, feature, after, gain, split_information, ratio):
    column, y = loan_without_house[feature], loan_without_house["approved"]
    assert measures.conditional_entropy(column, y) == close(after)
    assert measures.information_gain(column, y) == close(gain)
    assert measures.split_information(column, y) == close(split_information)
    assert measures.gain_ratio(column, y) == close(ratio)


@pytest.mark.parametrize(
    ("feature", "gain", "split_information", "ratio"),
    [
        ("outlook", 0.2467498198, 1.5774062829, 0.1564275624),
        ("temp", 0.0292225657, 1.5566567075, 0.0187726462),
        ("humidity", 0.1518355014, 1, 0.1518355014),
        ("wind", 0.0481270304, 0.9852281360, 0.0488486155),
    ],
)
def test_tennis(tennis, feature, gain, split_information, ratio):
    column, y = tennis[feature], tennis["play"]
    assert measures.information_gain(column, y) == close(gain)
    assert measures.split_information(column, y) == close(split_information)
    assert measures.gain_ratio(column, y) == close(ratio)


def test_three_intervals_of_the_income_column():
    table = [[0, 3], [3, 0], [0, 4]]
    assert measures.information_gain(table) == close(0.8812908992)
    assert measures.split_information(table) == close(1.5709505945)
    assert measures.gain_ratio(table) == close(0.5609921167)
    assert measures.gini_split(table) == 0


# Gini of a split


@pytest.mark.parametrize(
    ("feature", "value", "after"),
    [
        ("age", "young", 0.44),
        ("age", "middle", 0.48),
        ("age", "old", 0.44),
        ("has_job", "yes", 0.32),
        ("owns_house", "yes", 0.2666666667),
        ("credit", "excellent", 0.3636363636),
        ("credit", "good", 0.4740740741),
        ("credit", "fair", 0.32),
    ],
)
def test_loan_table_gini_of_one_value_against_the_rest(loan, feature, value, after):
    assert measures.gini_split(loan[feature], loan["approved"], value=value) == close(after)


@pytest.mark.parametrize(
    ("feature", "value", "after"),
    [
        ("age", "young", 0.4333333333),
        ("age", "middle", 0.3809523810),
        ("age", "old", 0.3333333333),
        ("has_job", "no", 0),
        ("credit", "fair", 0.2666666667),
        ("credit", "good", 0.4),
        ("credit", "excellent", 0.3333333333),
    ],
)
def test_loan_table_gini_below_the_root(loan_without_house, feature, value, after):
    assert measures.gini_split(loan_without_house[feature], loan_without_house["approved"], value=value) == close(after)


def test_loan_table_gini_decrease_at_the_root(loan):
    assert 15 * measures.gain(loan["owns_house"], loan["approved"], impurity="gini") == close(3.2)


def test_gini_of_a_split_with_a_branch_per_value_is_the_mean_over_the_rows():
    assert measures.gini_split([[4, 1], [2, 4], [0, 4]]) == close((5 * 0.32 + 6 * 4 / 9) / 15)


def test_gain_of_any_impurity_is_parent_less_children():
    table = [[6, 4], [0, 5]]
    assert measures.gain(table) == measures.information_gain(table)
    assert measures.gain(table, impurity="gini") == close(0.48 - measures.gini_split(table))
    assert measures.gain(table, impurity="misclassification") == close(6 / 15 - 4 / 15)


# Missing values


@pytest.mark.parametrize(
    ("feature", "after", "gain", "split_information", "ratio"),
    [
        ("a", 0.3605680553, 0.5019550009, 1.3609640474, 0.3688231161),
        ("b", 0.8464393447, 0.1245112498, 1, 0.1245112498),
        ("c", 0.9509775004, 0.0199730940, 0.9709505945, 0.0205706595),
    ],
)
def test_gain_counts_known_samples_times_their_share(missing, feature, after, gain, split_information, ratio):
    column, y = missing[feature], missing["y"]
    assert measures.conditional_entropy(column, y) == close(after)
    assert measures.information_gain(column, y) == close(gain)
    assert measures.split_information(column, y) == close(split_information)
    assert measures.gain_ratio(column, y) == close(ratio)


def test_a_table_with_unknown_weight_gives_what_the_columns_give():
    assert measures.information_gain([[5, 0], [1, 3]], unknown=1) == close(0.5019550009)
    assert measures.split_information([[5, 0], [1, 3]], unknown=1) == close(1.3609640474)
    assert measures.gain_ratio([[5, 0], [1, 3]], unknown=1) == close(0.3688231161)
    assert measures.split_information([[5, 0], [1, 3]]) == close(0.9910760598)


def test_fractions_of_a_sample_count_by_their_weight(missing):
    rows = [i for i, value in enumerate(missing["a"]) if value != "2"]
    weight = [1 if missing["a"][i] else 5 / 9 for i in rows]
    y = [missing["y"][i] for i in rows]
    of_node = measures.contingency(["same"] * len(rows), y, sample_weight=weight).counts[0]
    assert measures.entropy(of_node) == close(0.4689955936)
    assert of_node.sum() * measures.classification_error(of_node) == close(0.5555555556)
    b = measures.contingency([missing["b"][i] for i in rows], y, sample_weight=weight)
    assert measures.information_gain(b.counts) == close(0.1215229038)


def test_fractions_below_the_other_branch(missing):
    rows = [i for i, value in enumerate(missing["a"]) if value != "1"]
    weight = [1 if missing["a"][i] else 4 / 9 for i in rows]
    y = [missing["y"][i] for i in rows]
    b, c = (measures.contingency([missing[name][i] for i in rows], y, sample_weight=weight).counts for name in "bc")
    assert measures.entropy(b.sum(axis=0)) == close(0.7691928290)
    assert measures.information_gain(b) == close(0.3191928290)
    assert measures.gain_ratio(b) == close(0.3215159574)
    assert measures.information_gain(c) == close(0.1493431410)
    assert measures.gain_ratio(c) == close(0.1641609444)


@pytest.mark.parametrize(
    "column",
    [
        ["u", "v", None, "u"],
        ["u", "v", float("nan"), "u"],
        np.array(["u", "v", None, "u"], dtype=object),
        pd.Series(["u", "v", None, "u"]),
        pd.Series(["u", "v", None, "u"], dtype="category"),
        pd.Series(["u", "v", pd.NA, "u"], dtype="string"),
        pd.Series([1, 2, pd.NA, 1], dtype="Int64"),
        pl.Series(["u", "v", None, "u"]),
        pl.Series(["u", "v", None, "u"], dtype=pl.Categorical),
        pa.array(["u", "v", None, "u"]),
        [1.5, 2.5, math.nan, 1.5],
        np.array(["2020-01-01", "2021-01-01", "NaT", "2020-01-01"], dtype="datetime64[D]"),
        [True, False, None, True],
    ],
    ids=lambda column: f"{type(column).__module__}-{getattr(column, 'dtype', getattr(column, 'type', type(column[0])))}",
)
def test_columns_of_any_type_count_the_same(column):
    table = measures.contingency(column, ["no", "yes", "yes", "no"])
    assert sorted(table.counts.tolist()) == [[0, 1], [2, 0]]
    assert table.unknown == 1
    assert table.classes == ("no", "yes")


def test_a_feature_without_known_values_gains_nothing():
    column = [math.nan, math.nan]
    assert measures.information_gain(column, [0, 1]) == 0
    assert math.isnan(measures.gain_ratio(column, [0, 1]))
    with pytest.raises(ValueError, match="no sample has a known value"):
        measures.conditional_entropy(column, [0, 1])


def test_gain_ratio_of_a_feature_with_one_value_is_not_defined():
    assert math.isnan(measures.gain_ratio([[3, 2], [0, 0]]))
    assert math.isnan(measures.gain_ratio([[3, 2]], unknown=4))


def test_class_counts_feed_the_impurities(loan):
    assert measures.class_counts(loan["approved"]).tolist() == [6, 9]
    assert measures.entropy(measures.class_counts(loan["approved"])) == close(0.9709505945)


# Chi-square


def test_chi_square_of_neighbouring_income_intervals():
    assert measures.chi_square([[3, 0], [0, 3]]) == close(6)
    assert measures.chi_square([[0, 3], [4, 0]]) == close(7)
    assert measures.chi_square([[3, 3], [4, 0]]) == close(2.8571428571)


def test_chi_square_ignores_empty_rows_and_classes():
    assert measures.chi_square([[3, 0, 1], [0, 0, 0], [1, 0, 4]]) == measures.chi_square([[3, 1], [1, 4]])


def test_chi_square_is_nought_where_shares_are_equal():
    assert measures.chi_square([[2, 4], [3, 6]]) == pytest.approx(0, abs=1e-12)


# Cuts of a continuous feature


def test_income_column_cut_by_cut(data):
    income = read(data / "income10.csv")
    values, y = [float(value) for value in income["income"]], income["defaulted"]
    by_gini, by_entropy = measures.cuts(values, y), measures.cuts(values, y, impurity="entropy")
    assert by_gini.threshold.tolist() == [65, 72.5, 80, 87.5, 92.5, 97.5, 110, 122.5, 172.5]
    assert by_gini.impurity == close([0.4, 0.375, 0.3428571429, 0.4166666667, 0.4, 0.3, 0.3428571429, 0.375, 0.4])
    assert by_entropy.gain == close(
        [
            0.0548246486,
            0.1177436969,
            0.1916312040,
            0.0058021490,
            0.0348515546,
            0.2812908992,
            0.1916312040,
            0.1177436969,
            0.0548246486,
        ]
    )
    assert by_gini.threshold[by_gini.best] == by_entropy.threshold[by_entropy.best] == 97.5
    assert measures.gini(by_gini.left[0] + by_gini.right[0]) == close(0.42)
    best = by_entropy.best
    assert measures.gain_ratio([by_entropy.left[best], by_entropy.right[best]]) == pytest.approx(0.2897067, abs=5e-8)


def test_regression_exercise_cut_by_cut(data):
    table = read(data / "li_reg10.csv")
    x, y = ([float(value) for value in table[name]] for name in "xy")
    found = measures.cuts(x, y, impurity="squared_error")
    assert found.threshold.tolist() == [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]
    assert found.left == close([4.5, 4.625, 4.72, 4.875, 5.06, 5.3916666667, 5.75, 6.06, 6.3533333333])
    assert found.right == close([6.8533333333, 7.11625, 7.4314285714, 7.78, 8.176, 8.4575, 8.6433333333, 8.85, 9])
    assert found.risk == close([22.648, 17.7022375, 12.1934857143, 7.3787, 3.35872, 5.0739583333, 10.0524666667, 15.1778, 21.328])
    assert found.threshold[found.best] == 5.5
    assert found.gain == close((27.63236 - found.risk) / 10)


@pytest.mark.parametrize(
    ("rows", "threshold", "risk"),
    [
        (slice(0, 5), [1.5, 2.5, 3.5, 4.5], [0.6662, 0.42745, 0.1912, 0.3737]),
        (slice(0, 3), [1.5, 2.5], [0.0128, 0.03125]),
        (slice(1, 3), [2.5], [0]),
        (slice(3, 5), [4.5], [0]),
        (slice(5, 10), [6.5, 7.5, 8.5, 9.5], [0.715675, 0.6625166667, 0.7862666667, 1.4518]),
        (slice(5, 7), [6.5], [0]),
        (slice(7, 10), [8.5, 9.5], [0.045, 0.11045]),
        (slice(8, 10), [9.5], [0]),
    ],
)
def test_regression_exercise_node_by_node(data, rows, threshold, risk):
    table = read(data / "li_reg10.csv")
    x, y = (np.array(table[name], dtype=float)[rows] for name in "xy")
    found = measures.cuts(x, y, impurity="squared_error")
    assert found.threshold.tolist() == threshold
    assert found.risk == close(risk)


def test_missing_values_are_left_out_of_the_cuts_and_lessen_the_gain():
    complete = measures.cuts([1, 2, 3], [0, 0, 1])
    with_missing = measures.cuts([1, math.nan, 2, 3], [0, 1, 0, 1])
    assert with_missing.impurity.tolist() == complete.impurity.tolist()
    assert with_missing.gain == pytest.approx(complete.gain * 3 / 4)


def test_of_equal_gains_the_lowest_threshold_is_best():
    assert measures.cuts([1, 2, 3, 4], [0, 1, 1, 0]).best == 0


def test_neighbouring_floats_are_separated():
    lower = 1.0
    upper = math.nextafter(lower, 2)
    assert lower <= measures.cuts([upper, lower], [0, 1]).threshold[0] < upper


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=2, max_size=30))
def test_cuts_agree_with_splitting_by_hand(rows):
    x, y = np.array(rows).T
    if len(set(x)) < 2:
        with pytest.raises(ValueError, match="nothing to cut"):
            measures.cuts(x, y)
        return
    found = measures.cuts(x, y, impurity="entropy")
    error = measures.cuts(x, y, impurity="squared_error")
    for i, threshold in enumerate(found.threshold):
        left = x <= threshold
        assert found.gain[i] == pytest.approx(measures.information_gain(left, y), abs=1e-12)
        assert error.risk[i] == pytest.approx(y[left].var() * left.sum() + y[~left].var() * (~left).sum(), abs=1e-9)


# Scorers


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda table: list(zip(*table.values(), strict=True))])
def test_scorers_take_tables_of_strings(loan, make):
    X = make({name: loan[name] for name in ("age", "has_job", "owns_house", "credit")})
    y = loan["approved"]
    assert measures.information_gain_scores(X, y) == close([0.0830074999, 0.3236501982, 0.4199730940, 0.3629895625])
    assert measures.gain_ratio_scores(X, y) == close([0.0523719014, 0.3524465495, 0.4325380678, 0.2318538813])
    assert measures.gini_scores(X, y) == close([0.0533333333, 0.16, 0.2133333333, 0.48 - (5 * 0.32 + 6 * 4 / 9) / 15])


@pytest.mark.parametrize("score", [measures.information_gain_scores, measures.gain_ratio_scores, measures.gini_scores])
def test_scorers_choose_features_inside_a_pipeline(loan, score):
    X = pd.DataFrame({name: loan[name] for name in ("age", "has_job", "owns_house", "credit")})
    X["constant"] = "same"
    selection = make_pipeline(OrdinalEncoder(), SelectKBest(score, k=1)).fit(X, loan["approved"])
    assert selection[-1].get_support().tolist() == [False, False, True, False, False]
    assert (pickle.loads(pickle.dumps(selection)).transform(X) == selection.transform(X)).all()


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measures.entropy([]), "counts are empty or all zero"),
        (lambda: measures.gini([0, 0]), "counts are empty or all zero"),
        (lambda: measures.gini([3, -1]), r"counts holds -1\.0: only finite numbers >= 0"),
        (lambda: measures.classification_error([1, math.inf]), "counts holds inf"),
        (lambda: measures.entropy(["a", "b"]), "counts must hold numbers"),
        (lambda: measures.entropy([[1, 2], [3, 4]]), r"counts has 2 dimension\(s\): 1 needed"),
        (lambda: measures.entropy([1, 2], base=1), "base=1: must be a number > 1"),
        (lambda: measures.information_gain([3, 4]), r"contingency table has 1 dimension\(s\): 2 needed"),
        (lambda: measures.information_gain([[1, 2], [3]]), "contingency table must hold numbers"),
        (lambda: measures.information_gain([[0, 0]]), "contingency table is empty or all zero"),
        (lambda: measures.information_gain([[1, 2]], unknown=-1), "unknown=-1: must be a finite number >= 0"),
        (lambda: measures.information_gain(["a"], ["b"], unknown=1), "unknown=1 with columns"),
        (lambda: measures.gain([[1, 2]], impurity="variance"), "impurity='variance': must be one of 'entropy', 'gini'"),
        (lambda: measures.gini_split(["a", "b"], [0, 1], value="c"), "value='c' does not occur; values: 'a', 'b'"),
        (lambda: measures.contingency(["a", "b"], [1]), "the feature has 2 samples and y has 1"),
        (lambda: measures.contingency([], []), "the feature has no samples"),
        (lambda: measures.contingency(["a", "b"], [1, None]), "y has missing values in 1 samples"),
        (lambda: measures.contingency(["a"], [1], sample_weight=[-2]), r"sample_weight holds -2\.0"),
        (lambda: measures.contingency(["a"], [1], sample_weight=[2, 2]), "sample_weight has 2 entries for 1 samples"),
        (lambda: measures.cuts([1, 1, math.nan], [0, 1, 1]), "fewer than two distinct known values"),
        (lambda: measures.cuts([1, math.inf], [0, 1]), "the feature has infinite values"),
        (lambda: measures.cuts(["a", "b"], [0, 1]), "the feature must hold numbers"),
        (lambda: measures.cuts([1, 2], [0, math.nan], impurity="squared_error"), "y has missing or infinite values"),
        (lambda: measures.cuts([1, 2], [0, 1, 2]), "the feature has 2 samples and y has 3"),
        (lambda: measures.gini_scores([1, 2], [0, 1]), r"X has 1 dimension\(s\)"),
    ],
)
def test_wrong_input_gets_one_clear_error(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_arguments_are_not_modified():
    counts, x, y = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([2.0, 1.0, np.nan]), np.array(["b", "a", "b"], dtype=object)
    before = counts.copy(), x.copy(), y.copy()
    measures.gain_ratio(counts)
    measures.cuts(x, y)
    measures.contingency(x, y)
    for kept, now in zip(before, (counts, x, y), strict=True):
        np.testing.assert_array_equal(kept, now)


def test_examples_in_the_documentation_are_true():
    assert doctest.testmod(measures).failed == 0
