"""The paths of a tree as rules: what they take, how they read, and what SQL makes of them."""

import importlib
import math
import pickle
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import SCHEMA, chain, flat, house_tree, leaf, play_tree, random_trees

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._data.encode import encode_table
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._explain.path_rule import PathRule
from fasttree._explain.rule_list import RuleList, rules_of
from fasttree._export.substitutes import heaviest_branch
from fasttree._model.arrays import KNOWN, SHARES, STOP
from fasttree._model.walks import predict_class, predict_value

CLASSES = np.array(["yes", "no"])
THREE = np.array(["yes", "no", "it's"])
AGES = [-41.0, -40.5, -1.0, 0.0, 0.1, 2.0, 7.25, 41.5, 42.0, 99.0, math.nan]


def classes_of(tree):
    return THREE[: tree.n_values] if tree.task == "classification" else None


def samples_for(tree, random):
    """Rows of all kinds: thresholds and their neighbours, missing values, categories that no fit saw."""
    tested = tree.threshold[(tree.kind == 1) & (tree.feature == 0)].tolist()
    ages = AGES + [near for t in tested for near in (t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf), t - 0.2, t + 2.0)]
    rows = [
        (random.choice(ages), *(random.choice([*feature.categories, None]) for feature in SCHEMA.features[1:])) for _ in range(40)
    ]
    rows += [(math.nan, "small", "Rom", True), (0.0, "giant", None, None), (math.nan, None, None, None)]
    return pd.DataFrame(rows, columns=[feature.name for feature in SCHEMA.features]).astype(
        dict.fromkeys(("size", "city", "member"), object)
    )


@given(random_trees(), st.randoms(use_true_random=False), st.booleans())
def test_the_rules_of_any_tree_divide_the_samples_among_them(tree, random, simplify):
    X = samples_for(tree, random)
    rules = rules_of(tree, SCHEMA, classes_of(tree), simplify=simplify)
    parts = rules.matches(X).toarray()
    np.testing.assert_allclose(parts.sum(axis=1), 1)
    np.testing.assert_allclose(parts @ rules.values, predict_value(tree, encode_table(X, SCHEMA)))
    if not tree.divides:
        np.testing.assert_array_equal((parts == 1).sum(axis=1), 1)


@given(random_trees(), st.randoms(use_true_random=False), st.booleans())
def test_a_rule_takes_of_a_sample_what_its_conditions_let_pass(tree, random, simplify):
    X = samples_for(tree, random)
    rules = rules_of(tree, SCHEMA, classes_of(tree), simplify=simplify)
    expected = np.ones((len(X), len(rules)))
    for j, rule in enumerate(rules):
        for condition in rule.conditions:
            expected[:, j] *= condition.passes(X[condition.feature])
    np.testing.assert_allclose(rules.matches(X).toarray(), expected, atol=1e-15)


@given(random_trees())
def test_simplified_rules_have_a_condition_per_feature(tree):
    simple, full = (rules_of(tree, SCHEMA, classes_of(tree), simplify=simplify) for simplify in (True, False))
    depth = tree.depth()
    for short, long in zip(simple, full, strict=True):
        features = [condition.index for condition in short.conditions]
        assert len(features) == len(set(features)) <= len(long.conditions)
        assert len(long.conditions) == depth[long.node] + (tree.n_branches[long.node] > 0)
        assert not any(condition.admits_all for condition in short.conditions)


@given(random_trees())
def test_the_figures_of_the_rules_are_those_of_the_training_samples(tree):
    rules = rules_of(tree, SCHEMA, classes_of(tree))
    leaves = [rule for rule in rules if tree.n_branches[rule.node] == 0]
    assert sorted(rule.node for rule in leaves) == tree.leaves().tolist()
    for rule in leaves:
        assert rule.weight == tree.weight[rule.node]
        assert rule.n_samples == tree.n_samples[rule.node]
    if not (tree.missing[tree.n_branches > 0] == STOP).any():
        assert math.isclose(sum(rule.support for rule in rules), 1)


def random_table(random, n=80):
    rng = np.random.default_rng(random.randrange(10**6))
    frame = pd.DataFrame(
        {
            "width": rng.normal(size=n).round(1),
            "height": rng.normal(size=n).astype(np.float32),
            "colour": rng.choice(["red", "green", "blue", "white", "black"], n).astype(object),
            "shape": rng.choice(["round", "flat"], n).astype(object),
        }
    )
    for name in frame:
        frame.loc[rng.random(n) < 0.15, name] = None
    y = np.where(frame["width"].fillna(0.3) + (frame["colour"] == "red") + rng.normal(size=n) / 2 > 0.3, "yes", "no")
    return frame, y


ESTIMATORS = {
    "surrogates": CARTClassifier(missing="surrogate", min_samples_leaf=2),
    "surrogates, else stop": CARTClassifier(missing="surrogate", no_surrogate="stop", min_samples_leaf=2),
    "surrogates, else more samples": CARTClassifier(
        missing="surrogate", max_surrogates=1, no_surrogate="more_samples", midpoint="high", min_samples_leaf=2
    ),
    "direction": CARTClassifier(),
    "majority": CARTClassifier(missing="majority"),
    "branch": CARTClassifier(missing="branch"),
    "shares": CARTClassifier(missing="fractional", max_depth=4),
    "soft thresholds": C45Classifier(soft_thresholds=True, pruning=None),
    "groups and shares": C45Classifier(subset=True),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=20)
@given(random=st.randoms(use_true_random=False))
def test_the_rules_of_grown_trees_predict_what_the_tree_predicts(name, random):
    X, y = random_table(random)
    new, _ = random_table(random)
    new.loc[0, "colour"] = "pink"
    model = ESTIMATORS[name].fit(X, y)
    for simplify in (True, False):
        rules = model.to_rules(simplify=simplify)
        parts = rules.matches(new)
        np.testing.assert_allclose(np.asarray(parts.sum(axis=1)).ravel(), 1)
        np.testing.assert_allclose(parts @ rules.values, model.predict_proba(new))
        assert {rule.prediction for rule in rules} <= {"yes", "no"}


def test_rules_read_like_this():
    rules = rules_of(play_tree(), SCHEMA, CLASSES)
    assert rules.to_text().splitlines() == [
        "if size = small and age <= 41.5 then yes  (support 31 %, 4 samples, precision 100 %, lift 1.73)",
        "if size = small and age > 41.5 then no  (support 23 %, 4 samples, precision 83 %, lift 1.97)",
        "if size = medium then yes  (support 0 %, 0 samples)",
        "if (size = large or missing) and city in {Aachen, Ulm} then yes  (support 15 %, 2 samples, precision 100 %, lift 1.73)",
        "if (size = large or missing) and city = Bonn and member is known then no  "
        "(support 15 %, 2 samples, precision 100 %, lift 2.36)",
        "if (size = large or missing) and city = Bonn and member is missing then yes  "
        "(support 8 %, 1 sample, precision 100 %, lift 1.73)",
        "if (size = large or missing) and (city = Köln or missing) then yes  (support 8 %, 1 sample, precision 50 %, lift 0.87)",
    ]


def test_rules_say_of_missing_values_what_is_asked():
    first = rules_of(play_tree(), SCHEMA, CLASSES)[0]
    assert first.words(show_missing=True).startswith("if size = small and (age <= 41.5 or missing in part (57 %)) then yes")
    last = rules_of(play_tree(), SCHEMA, CLASSES)[-1]
    assert last.words(show_missing=False).startswith("if size = large and city = Köln then yes")


@pytest.fixture
def flowers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"length": rng.uniform(0, 8, 200).round(1), "width": rng.uniform(0, 3, 200).round(1)})
    X["colour"] = rng.choice(["red", "blue", "white"], 200)
    y = np.where(X["length"] <= 3, "rose", np.where((X["width"] > 1) & (X["colour"] != "red"), "lily", "iris"))
    return X, y


def test_rules_are_a_sequence_that_can_be_sorted_and_filtered(flowers):
    rules = CARTClassifier(max_depth=3).fit(*flowers).to_rules()
    assert isinstance(rules[0], PathRule)
    assert isinstance(rules[:2], RuleList)
    assert list(rules[:2]) == [rules[0], rules[1]]
    supports = [rule.support for rule in rules.sort()]
    assert supports == sorted(supports, reverse=True)
    assert [rule.node for rule in rules.sort("node", descending=False)] == sorted(rule.node for rule in rules)
    lilies = rules.filter(label="lily")
    assert lilies
    assert {rule.prediction for rule in lilies} == {"lily"}
    assert all(rule.precision >= 0.9 and rule.support >= 0.1 for rule in rules.filter(min_precision=0.9, min_support=0.1))
    assert rules.filter(min_lift=0.0) == rules
    assert all(len(rule.conditions) <= 1 for rule in rules.filter(max_conditions=1))
    of_width = rules.filter(feature="width")
    assert of_width == rules.filter(feature=[1])
    assert all("width" in {condition.feature for condition in rule.conditions} for rule in of_width)
    assert len(rules.filter(feature=["width", "colour"])) < len(of_width)
    assert hash(rules) == hash(pickle.loads(pickle.dumps(rules)))
    assert pickle.loads(pickle.dumps(rules)) == rules


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"label": "tulip"}, "label='tulip': must be one of"),
        ({"feature": "depth"}, "the tree knows no such feature; it knows length, width, colour"),
        ({"label": np.array(["rose", "tulip"])}, r"label=array\(.*: must be one of"),
        ({"feature": 1.5}, r"feature=1.5: must be a name, or a column in \[0, 2\]"),
        ({"feature": True}, r"feature=True: must be a name, or a column in \[0, 2\]"),
        ({"feature": [None]}, r"feature=None: must be a name, or a column in \[0, 2\]"),
        ({"min_support": "all"}, r"min_support='all': must be a share in \[0, 1\]"),
        ({"feature": 3}, r"must be a name, or a column in \[0, 2\]"),
        ({"min_precision": 90}, r"min_precision=90: must be a share in \[0, 1\], such as 0.9 for 90 %"),
        ({"min_support": -0.1}, r"min_support=-0.1: must be a share in \[0, 1\]"),
    ],
)
def test_filters_that_no_rule_can_meet_are_refused(flowers, asked, message):
    rules = CARTClassifier().fit(*flowers).to_rules()
    with pytest.raises(ValueError, match=message):
        rules.filter(**asked)
    with pytest.raises(ValueError, match="by='size': must be one of"):
        rules.sort("size")
    with pytest.raises(ValueError, match=r"by=\['support'\]: must be one of"):
        rules.sort(["support"])


def test_a_rule_is_not_written_with_less_than_no_digits(flowers):
    rule = CARTClassifier().fit(*flowers).to_rules()[0]
    with pytest.raises(ValueError, match="decimals=-1: must be an integer >= 0"):
        rule.words(decimals=-1)
    with pytest.raises(ValueError, match="max_categories=0: must be an integer >= 1"):
        rule.words(max_categories=0)


def test_a_filtered_list_takes_what_its_rules_take(flowers):
    model = CARTClassifier(max_depth=3).fit(*flowers)
    rules = model.to_rules()
    some = rules.filter(label="lily").sort("n_conditions")
    whole, parts = rules.matches(flowers[0]).toarray(), some.matches(flowers[0]).toarray()
    np.testing.assert_array_equal(parts, whole[:, [list(rules).index(rule) for rule in some]])
    np.testing.assert_array_equal(parts.sum(axis=1) == 1, model.predict(flowers[0]) == "lily")


def test_rules_of_regression_tell_the_spread():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    rules = CARTRegressor(max_depth=1).fit(X, [1.0, 3.0, 10.0, 10.0]).to_rules()
    assert rules.to_text().splitlines() == [
        "if x <= 2.5 then 2  (support 50 %, 2 samples, spread 1)",
        "if x > 2.5 then 10  (support 50 %, 2 samples, spread 0)",
    ]
    assert CARTRegressor(criterion="poisson").fit(X, [1.0, 3.0, 10.0, 10.0]).to_rules()[0].spread is None
    with pytest.raises(ValueError, match="a regression tree has no classes"):
        rules.filter(label=2.0)


def test_rules_of_several_targets_predict_tuples(flowers):
    X, y = flowers
    targets = np.column_stack([y, np.where(X["width"] > 1, "wide", "thin")])
    model = CARTClassifier(max_depth=3).fit(X, targets)
    rules = model.to_rules()
    parts = rules.matches(X).toarray()
    predicted = [rules[i].prediction for i in parts.argmax(axis=1)]
    assert predicted == list(map(tuple, model.predict(X)))
    np.testing.assert_allclose(parts @ rules.values, np.hstack(model.predict_proba(X)))
    assert all(len(rule.precision) == 2 for rule in rules)
    assert " | " in rules.to_text()
    assert {"prediction_0", "prediction_1", "lift_1"} <= set(rules.to_frame().columns)
    assert rules.filter(label=("lily", "wide"), min_precision=0.5)
    with pytest.raises(ValueError, match="a tuple of a class of each of the 2 targets"):
        rules.filter(label="lily")


def test_the_prediction_of_a_rule_heeds_losses(flowers):
    X, y = flowers
    model = CARTClassifier(
        max_depth=1,
        loss_matrix={"lily": {"iris": 50, "rose": 50}, "iris": {"lily": 1, "rose": 1}, "rose": {"lily": 1, "iris": 1}},
    )
    model = model.fit(X, y)
    rules = model.to_rules()
    assert [rules[i].prediction for i in rules.matches(X).toarray().argmax(axis=1)] == model.predict(X).tolist()


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_rules_become_a_data_frame(flowers, backend):
    rules = CARTClassifier(max_depth=2).fit(*flowers).to_rules()
    frame = rules.to_frame(backend=backend)
    assert type(frame).__module__.split(".")[0] == backend
    expected = ["rule", "prediction", "support", "weight", "n_samples", "precision", "lift", "n_conditions", "node"]
    names = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert names == expected
    assert list(np.asarray(frame["node"])) == [rule.node for rule in rules]


def test_a_frame_library_that_is_missing_is_named(flowers, monkeypatch):
    rules = CARTClassifier(max_depth=2).fit(*flowers).to_rules()
    with pytest.raises(ValueError, match="backend='dask': must be one of"):
        rules.to_frame(backend="dask")

    def missing(*args, **kwargs):
        raise ModuleNotFoundError("no polars")

    monkeypatch.setattr(importlib.import_module("narwhals.stable.v2"), "from_dict", missing)
    with pytest.raises(ImportError, match=r"to_frame\(backend='polars'\) needs polars: install it"):
        rules.to_frame(backend="polars")


def test_markdown_cells_cannot_break_the_table():
    schema = Schema((Feature("a|b", Kind.NOMINAL, ("<x>", "*y*", "z")),))
    X = pd.DataFrame({"a|b": ["<x>", "*y*", "z"] * 4})
    model = CARTClassifier().fit(X, ["p|q", "r", "r"] * 4)
    assert model.schema_.features[0].name == schema.features[0].name
    lines = model.to_rules().to_markdown().splitlines()
    assert lines[0] == "| rule | prediction | support | samples | precision | lift |"
    assert all(line.replace("\\|", "").count("|") == 7 for line in lines)
    assert "&lt;x&gt;" in "".join(lines)
    html = model.to_rules()._repr_html_()
    assert "<x>" not in html
    assert "&lt;x&gt;" in html


def test_a_table_of_rules_scrolls_and_its_rules_have_room():
    model = CARTClassifier().fit([[1.0], [2.0]], ["a", "b"])
    for html, n_wide in ((model.to_rules()._repr_html_(), 1), (model.explain([1.0])._repr_html_(), 3)):
        assert '<div style="overflow-x: auto"><table>' in html
        assert html.count("min-width") == n_wide * (1 + html.count("<tr><td"))  # the head and each row
        assert html.count("padding") == html.count("<td") + html.count("<th ")


def test_long_lists_show_their_first_rules(flowers):
    rules = rules_of(chain(30), Schema((Feature("x", Kind.CONTINUOUS),)), None)
    assert repr(rules).splitlines()[0] == "<RuleList: 31 rules>"
    assert repr(rules).splitlines()[-1] == "… 11 more"
    assert "… 11 more rules" in rules._repr_html_()
    assert repr(rules[:1]).startswith("<RuleList: 1 rule>")


def test_a_tree_without_tests_is_one_rule():
    rules = rules_of(flat(leaf([1.0, 2.0]), "classification"), SCHEMA, CLASSES)
    assert rules.to_text() == "always no  (support 100 %, 3 samples, precision 67 %, lift 1)\n"
    assert rules.to_sql() == "'no'"


def test_very_deep_trees_take_memory_per_node():
    tree = chain(10_000)
    rules = rules_of(tree, Schema((Feature("x", Kind.CONTINUOUS),)), None)
    assert len(rules) == 10_001
    assert len(rules[5_000].conditions) == 1
    assert str(rules[5_000].conditions[0]) == "4999 < x <= 5000"
    assert len(rules_of(tree, Schema((Feature("x", Kind.CONTINUOUS),)), None, simplify=False)[5_000].conditions) == 5_001


# --- SQL


def by_sqlite(X, expression):
    """What SQLite makes of an expression on a table; None where it gives NULL."""
    with closing(sqlite3.connect(":memory:")) as connection:
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in X)
        connection.execute(f"CREATE TABLE samples ({names})")
        cells = X.astype(object).where(X.notna(), None)
        rows = [[cell.item() if hasattr(cell, "item") else cell for cell in row] for row in cells.itertuples(index=False)]
        connection.executemany(f"INSERT INTO samples VALUES ({', '.join('?' * X.shape[1])})", rows)
        return [row[0] for row in connection.execute(f"SELECT {expression} FROM samples ORDER BY rowid")]


@given(random_trees(), st.randoms(use_true_random=False), st.booleans())
def test_sql_predicts_what_the_tree_predicts(tree, random, simplify):
    tree = tree.replace(missing=np.where(tree.missing == SHARES, heaviest_branch(tree), tree.missing), lower=None, upper=None)
    X = samples_for(tree, random)
    rules = rules_of(tree, SCHEMA, classes_of(tree), simplify=simplify)
    table = encode_table(X, SCHEMA)
    if tree.task == "regression":
        # SQLite reads numbers near the least that there are with an error in the last digit
        assert by_sqlite(X, rules.to_sql()) == pytest.approx(predict_value(tree, table)[:, 0].tolist(), rel=1e-15, abs=0)
    else:
        assert by_sqlite(X, rules.to_sql()) == THREE[predict_class(tree, table)].tolist()
        assert by_sqlite(X, rules.to_sql(probability_of="it's")) == predict_value(tree, table)[:, 2].tolist()


@given(random_trees(), st.randoms(use_true_random=False))
def test_what_sql_cannot_say_wants_a_substitute(tree, random):
    X = samples_for(tree, random)
    rules = rules_of(tree, SCHEMA, classes_of(tree))
    shares = (tree.missing == SHARES).any()
    if tree.divides:
        with pytest.raises(ValueError, match="as no SQL expression can: choose"):
            rules.to_sql()
    undivided = tree.replace(
        missing=np.where(tree.missing == SHARES, heaviest_branch(tree), tree.missing), lower=None, upper=None
    )
    expected = predict_value(undivided, encode_table(X, SCHEMA))
    if tree.task == "classification":
        expected = THREE[expected.argmax(axis=1)].reshape(-1, 1)
    majority = rules.to_sql(missing="majority", soft="hard")
    assert ("heaviest branch */" in majority) == shares
    if not tree.loss and tree.task == "regression":
        assert by_sqlite(X, majority) == pytest.approx(expected[:, 0].tolist(), rel=1e-15, abs=0)
    found = by_sqlite(X, rules.to_sql(missing="error", soft="hard"))
    assert all(a is None or a == b for a, b in zip(found, by_sqlite(X, majority), strict=True))
    assert shares or None not in found


def test_sql_of_regression_gives_doubles():
    sql = CARTRegressor().fit([[1.0], [2.0]], [0.5, 3.0]).to_rules().to_sql()
    assert sql.splitlines()[1:-1] == ['  WHEN "x0" <= 1.5 THEN 0.5e0', '  WHEN ("x0" > 1.5 OR "x0" IS NULL) THEN 3.0e0']


def test_rules_of_one_result_are_that_result_in_sql():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    rules = CARTClassifier(min_samples_leaf=1, loss_matrix=[[0, 1], [9, 0]]).fit(X, ["a", "b", "a", "a"]).to_rules()
    few = CARTClassifier(max_depth=1, min_samples_leaf=2).fit(X, ["a", "b", "a", "a"]).to_rules()
    assert len(few) == 2
    assert few.to_sql(name="y") == "'a' AS \"y\""
    assert few[:1].to_sql().startswith("CASE\n  WHEN "), "of a part of the rules, the others give NULL"
    assert rules.to_sql(dialect="tsql").splitlines()[1] == "  WHEN [x] <= 1.5e0 THEN N'a'"


def test_rules_are_written_in_a_dialect_and_for_columns_of_text():
    X = pd.DataFrame({"city": ["o'k", "o'k", "b", "b"], "x": [1.0, 2.0, 3.0, 4.0]})
    rules = CARTClassifier().fit(X, ["a", "b", "c", "c"]).to_rules()
    assert "WHEN (`city` IS NULL OR `city` <> 'b') AND `x` <= 1.5 THEN 'a'" in rules.to_sql(dialect="bigquery")
    text = rules.to_sql(cast=True)
    assert "CAST(NULLIF(\"x\", '') AS DOUBLE PRECISION) <= 1.5" in text
    written = X.astype({"x": str})
    assert by_sqlite(written, text) == ["a", "b", "c", "c"]
    with pytest.raises(ValueError, match="dialect='mysql': must be one of 'standard', 'sqlite'"):
        rules.to_sql(dialect="mysql")


def test_sql_quotes_names_and_strings():
    X = pd.DataFrame({'a"b; --': ["it's", "x", "y"] * 5, "select": [1.0, 2.0, 3.0] * 5})
    y = np.array(["o'k", "no", "no"] * 5)
    rules = CARTClassifier().fit(X, y).to_rules()
    assert by_sqlite(X, rules.to_sql(name='the "label"')) == y.tolist()
    assert "'it''s'" in rules.to_sql()
    assert rules.to_sql(name='the "label"').endswith('END AS "the ""label"""')


def test_a_column_that_is_called_true_does_not_decide():
    X = pd.DataFrame({"True": [None, 0.0, 1.0]})
    assert by_sqlite(X, CARTClassifier().fit(X, ["no", "no", "no"]).to_rules().to_sql()) == ["no", "no", "no"]


sizes = st.one_of(st.just(0.0), st.floats(1e-250, 1e50), st.floats(-1e50, -1e-250))


@given(st.lists(sizes, min_size=2, unique=True))
def test_thresholds_are_read_as_the_same_doubles(values):
    X = pd.DataFrame({"x": values})
    model = CARTRegressor().fit(X, np.arange(len(values), dtype=float))
    near = np.concatenate([model.tree_.threshold[model.tree_.n_branches > 0], values])
    near = pd.DataFrame({"x": np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)])})
    assert by_sqlite(near, model.to_rules().to_sql()) == model.predict(near).tolist()


def test_sql_of_surrogates_follows_the_majority_if_asked(flowers):
    X, y = flowers
    X = X.mask(np.random.default_rng(1).random(X.shape) < 0.1)
    model = CARTClassifier(missing="surrogate", max_depth=4).fit(X, y)
    rules = model.to_rules()
    with pytest.raises(ValueError, match="the tree asks surrogates"):
        rules.to_sql()
    known = X.notna().all(axis=1).to_numpy()
    for substitute in ("majority", "error"):
        found = by_sqlite(X, rules.to_sql(missing=substitute))
        assert [label for label, is_known in zip(found, known, strict=True) if is_known] == model.predict(X[known]).tolist()
        assert (None in found) == (substitute == "error")


@pytest.mark.parametrize("refuses", [{"missing": "error"}, {"unseen": "error"}, {"missing": "error", "unseen": "error"}])
def test_sql_gives_null_where_the_model_refuses_a_value_of_the_tree(flowers, refuses):
    model = CARTClassifier(max_depth=4, **refuses).fit(*flowers)
    X = pd.concat([flowers[0].head(12)] * 2, ignore_index=True).astype({"colour": object})
    X.loc[[1, 4], "width"], X.loc[[2, 5], "colour"], X.loc[[3, 5, 13], "colour"] = np.nan, None, "plaid"
    answers = []
    for i in range(len(X)):
        try:
            answers += model.predict(X.iloc[[i]]).tolist()
        except ValueError:
            answers.append(None)
    assert None in answers
    assert by_sqlite(X, model.to_rules().to_sql()) == answers
    if refuses == {"missing": "error"}:
        assert None not in by_sqlite(X, model.to_rules().to_sql(missing="majority"))


def test_sql_writes_the_rules_that_are_left(flowers):
    model = CARTClassifier(max_depth=3).fit(*flowers)
    found = by_sqlite(flowers[0], model.to_rules().filter(label="rose").to_sql())
    assert found == [label if label == "rose" else None for label in model.predict(flowers[0]).tolist()]
    assert model.to_rules()[:0].to_sql(name="label") == 'NULL AS "label"'


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"missing": "mean"}, "missing='mean': must be one of 'majority', 'error', or None"),
        ({"soft": True}, "soft=True: must be 'hard' or None"),
        ({"target": 1}, r"target=1: must be an integer in \[0, 0\]"),
        ({"probability_of": "tulip"}, "probability_of='tulip': must be one of"),
    ],
)
def test_wrong_choices_for_sql_are_named(flowers, asked, message):
    with pytest.raises(ValueError, match=message):
        CARTClassifier().fit(*flowers).to_rules().to_sql(**asked)


def test_categories_of_all_types_stand_in_sql():
    X = pd.DataFrame({"n": [1, 2, 3, 4] * 5, "b": [True, False, False, True] * 5})
    model = ID3Classifier().fit(X, ["a", "b", "b", "c"] * 5)
    assert by_sqlite(X, model.to_rules().to_sql()) == model.predict(X).tolist()
    assert not (model.tree_.kind == KNOWN).any()
    assert house_tree().task == "regression"
