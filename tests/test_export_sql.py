"""SQL is run by SQLite and DuckDB: labels and probabilities are those of the trees, bit for bit."""

import random
import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from exports import cells, ends, inputs, model_of, models, of_first_target, table, told
from hypothesis import example, given, settings
from hypothesis import strategies as st
from trees import chain, random_trees

from fasttree import CARTClassifier, CARTRegressor
from fasttree._exports.sql import MOST_LEVELS, SQL
from fasttree._sql import identifier, literal, number
from fasttree._table import Feature, Kind, Schema

TABLE = 'the "rows"'
DIVIDING = ("fractional", "fractional regression", "C4.5", "soft thresholds", "intervals")
N_ROWS = {"sqlite": 4_000, "duckdb": 4_000}  # of each model: 100,000 in all
CHAIN = Schema((Feature("x", Kind.CONTINUOUS),), has_names=True)


def in_sqlite(model, X, query):
    names = [feature.name for feature in model.schema_.features]
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE {identifier(TABLE)} (row_id, {', '.join(map(identifier, names))})")
        rows = [(i, *(None if cell is None or cell != cell else cell for cell in row)) for i, row in enumerate(cells(X))]
        connection.executemany(f"INSERT INTO {identifier(TABLE)} VALUES (?{', ?' * len(names)})", rows)
        cursor = connection.execute(query)
        return _frame(cursor.fetchall(), cursor.description)
    finally:
        connection.close()


def in_duckdb(model, X, query):
    """Every other missing number is NaN, the rest and what is no number NULL."""
    duckdb = pytest.importorskip("duckdb")
    arrow = pytest.importorskip("pyarrow")
    columns = {"row_id": arrow.array(range(len(X)))}
    cells_of = X.T if isinstance(X, np.ndarray) else [X[name] for name in X]
    for feature, column in zip(model.schema_.features, cells_of, strict=True):
        values = [None if value is None or value != value else value for value in column]
        if all(isinstance(value, float) for value in values if value is not None):
            values = [np.nan if value is None and i % 2 else value for i, value in enumerate(values)]
        columns[feature.name] = arrow.array(values, arrow.float64() if feature.categories is None else None)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("given", arrow.table(columns))
        connection.execute(f"CREATE TABLE {identifier(TABLE)} AS SELECT * FROM given")
        cursor = connection.execute(query)
        return _frame(cursor.fetchall(), cursor.description)


def _frame(rows, description):
    frame = pd.DataFrame(rows, columns=[column[0] for column in description], dtype=object)
    return frame.sort_values("row_id", ignore_index=True)


ENGINES = {"sqlite": in_sqlite, "duckdb": in_duckdb}
in_engines = pytest.mark.parametrize("engine", ENGINES)


def assert_told(found, labels, shares, nodes, refused=None):
    answered = np.ones(len(labels), bool) if refused is None else ~refused
    assert found[["node", "prediction"]][~answered].isna().all(axis=None)
    assert found["node"][answered].tolist() == nodes[answered].tolist()
    wanted = [label for label, told in zip(labels, answered, strict=True) if told]
    assert found["prediction"][answered].tolist() == wanted
    fields = [name for name in found if name.startswith("probability_")]
    assert (found[fields][answered].to_numpy(float) == shares[answered]).all()


def expression_of(text):
    return f"SELECT row_id, {text} FROM {identifier(TABLE)}"


@in_engines
def test_every_model_is_followed_as_it_predicts(engine):
    for seed, (name, model) in enumerate(models().items()):
        if name in DIVIDING:
            continue
        X = inputs(model, N_ROWS[engine], seed=seed)
        labels, shares = of_first_target(model, X)
        assert_told(ENGINES[engine](model, X, model.export_sql(table=TABLE)), labels, shares, np.asarray(model.apply(X)))


@in_engines
def test_an_answer_is_an_expression(engine):
    for name in ("two classes", "surrogates", "refuses unseen", "regression", "two targets", "integer labels"):
        model = models()[name]
        X = inputs(model, 500)
        found = ENGINES[engine](model, X, expression_of(model.export_sql(name="told")))
        assert found["told"].tolist() == of_first_target(model, X)[0]


@in_engines
@pytest.mark.parametrize("missing", ["majority", "error"])
def test_trees_that_divide_samples_are_followed_by_the_substitute(engine, missing):
    for name in DIVIDING:
        model = models()[name]
        X = inputs(model, N_ROWS[engine] // 2)
        nodes, refused = ends(model, X, SQL, missing=missing, soft="hard")
        assert refused.any() == (missing == "error")
        found = ENGINES[engine](model, X, model.export_sql(table=TABLE, missing=missing, soft="hard"))
        assert_told(found, *told(model, nodes), nodes, refused)


@in_engines
@settings(max_examples=25)
@given(tree=random_trees(), missing=st.sampled_from(["majority", "error"]))
def test_random_trees_are_followed_as_they_walk(engine, tree, missing):
    model = model_of(tree)
    X = inputs(model, 100)
    nodes, refused = ends(model, X, SQL, missing=missing, soft="hard")
    found = ENGINES[engine](model, X, model.export_sql(table=TABLE, missing=missing, soft="hard"))
    assert_told(found, *told(model, nodes), nodes, refused)


@in_engines
def test_a_probability_is_an_expression(engine):
    for name in ("all kinds", "boolean labels", "two targets"):
        model = models()[name]
        X = inputs(model, 500)
        _, shares = of_first_target(model, X)
        labels = model.classes_[0] if model.tree_.outputs else model.classes_
        text = model.export_sql(probability_of=labels[1], name="share")
        assert ENGINES[engine](model, X, expression_of(text))["share"].tolist() == shares[:, 1].tolist()


@in_engines
def test_each_of_several_targets_is_written(engine):
    model = models()["two numbers"]
    X = inputs(model, 500)
    found = ENGINES[engine](model, X, model.export_sql(table=TABLE, target=1))
    assert found["prediction"].tolist() == model.predict(X)[:, 1].tolist()


@in_engines
def test_a_model_that_refuses_missing_values_gives_null_where_it_asks_for_one(engine):
    model = models()["refuses missing"]
    X = inputs(model, 1_000).astype(object)
    absent = np.random.default_rng(1).random(X.shape) < 0.1
    nodes = np.asarray(model.apply(X))
    path = model.decision_path(X).toarray().astype(bool)
    tested = np.zeros(X.shape, bool)
    for node in np.flatnonzero(model.tree_.n_branches):
        tested[path[:, node], model.tree_.feature[node]] = True
    found = ENGINES[engine](model, X.mask(absent, None), model.export_sql(table=TABLE))
    assert_told(found, *told(model, nodes), nodes, (absent & tested).any(axis=1))


@in_engines
def test_a_model_that_refuses_unseen_categories_gives_null_where_it_asks_for_one(engine):
    X = pd.DataFrame({"size": [1.0, 1.0, 1.0, 5.0, 5.0, 5.0], "city": ["a", "b", "c", "a", "b", "c"]})
    model = CARTClassifier(unseen="error").fit(X, ["no", "no", "no", "yes", "yes", "it's"])
    X["city"] = ["a", "d", None, "d", "c", None]
    found = ENGINES[engine](model, X, model.export_sql(table=TABLE))["prediction"]
    assert model.tree_.feature.tolist() == [0, -1, 1, -1, -1]
    assert found[3] is None
    known = [0, 1, 2, 4, 5]
    assert found[known].tolist() == model.predict(X.replace("d", "a").iloc[known]).tolist()


@in_engines
@pytest.mark.parametrize("n_levels", [MOST_LEVELS, MOST_LEVELS + 1, 300])
def test_deep_trees_are_followed_in_steps(engine, n_levels):
    model = model_of(chain(n_levels), CHAIN)
    X = pd.DataFrame({"x": np.random.default_rng(0).uniform(-1, n_levels, 200)})
    X.iloc[::9] = np.nan
    query = model.export_sql(table=TABLE)
    assert ENGINES[engine](model, X, query)["prediction"].tolist() == model.predict(X).tolist()
    found = ENGINES[engine](model, X, expression_of(model.export_sql(name="told")))
    assert found["told"].tolist() == model.predict(X).tolist()


@in_engines
def test_a_bushy_tree_with_surrogates_is_followed_in_steps(engine):
    X, y, _ = table()
    shuffled = np.random.default_rng(0).permutation(y)
    model = CARTClassifier(categorical_features=["city", "rooms", "member"], missing="surrogate").fit(
        X.drop(columns="grade"), shuffled
    )
    assert model.tree_.max_depth > 2 * MOST_LEVELS
    X = inputs(model, 1_000)
    found = ENGINES[engine](model, X, model.export_sql(table=TABLE))
    assert_told(found, *of_first_target(model, X), np.asarray(model.apply(X)))


def test_text_grows_with_the_nodes():
    sizes = [len(model_of(chain(n), CHAIN).export_sql(table=TABLE)) for n in (1_000, 2_000)]
    assert sizes[1] < 2.2 * sizes[0]


def test_an_expression_of_few_levels_is_one_that_a_generated_column_takes():
    model = models()["two classes"]
    X = inputs(model, 200)
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE t (x0 REAL, x1 REAL, label GENERATED ALWAYS AS ({model.export_sql()}))")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)", [[None if cell != cell else cell for cell in row] for row in cells(X)]
        )
        assert [row[0] for row in connection.execute("SELECT label FROM t")] == model.predict(X).tolist()
    connection.close()


@in_engines
@settings(max_examples=20)
@given(
    names=st.lists(st.text(min_size=1, max_size=6), min_size=2, max_size=2, unique_by=str.casefold),
    texts=st.lists(st.text(max_size=6), min_size=4, max_size=4, unique=True),
)
@example(names=['a"; DROP TABLE x --', "*/ '"], texts=["'", "' OR 1 = 1 --", "", "\\"])
def test_hostile_names_categories_and_classes_are_quoted(engine, names, texts):
    if any("\0" in text for text in names + texts):
        return
    random_state = np.random.default_rng(5)
    X = pd.DataFrame({names[0]: random_state.choice(texts, 40).astype(object), names[1]: random_state.normal(size=40)})
    y = np.array([f"{texts[0]}|{label}" for label in texts])[random_state.integers(0, 4, 40)]
    model = CARTClassifier(missing="surrogate").fit(X, y)
    X.loc[::7, names[0]] = None
    found = ENGINES[engine](model, X, model.export_sql(table=TABLE))
    assert found["node"].tolist() == model.apply(X).tolist()


@pytest.mark.parametrize("unseen", ["error", "as_missing"])
@pytest.mark.parametrize("missing", ["branch", "surrogate", "error"])
def test_not_a_number_is_missing_where_categories_are_numbers_too(missing, unseen):
    X = pd.DataFrame({"rooms": [1.0, 2.0, 3.0] * 5, "age": np.arange(15.0)})
    model = CARTClassifier(categorical_features=["rooms"], missing=missing, unseen=unseen).fit(X, ["a", "b", "c"] * 5)
    X.loc[::4, "rooms"] = np.nan
    found = in_duckdb(model, X, model.export_sql(table=TABLE))["prediction"]
    if missing == "error":
        assert (found.isna() == X["rooms"].isna()).all()
    else:
        assert found.tolist() == model.predict(X).tolist()


def test_integers_beyond_64_bits_are_refused_as_sqlite_would_round_them():
    model = CARTClassifier().fit([[1.0], [2.0]], np.array([1, 2**64 - 1], np.uint64))
    with pytest.raises(ValueError, match="18446744073709551615 cannot be written in SQL"):
        model.export_sql()
    assert literal(-(2**63)) == "-9223372036854775808"


@pytest.mark.parametrize("text", ["a\0b", "a\ud800"])
def test_what_no_database_holds_is_refused(text):
    with pytest.raises(ValueError, match=r"cannot be written in SQL: .*; rename it"):
        literal(text)
    with pytest.raises(ValueError, match="cannot be written in SQL"):
        identifier(text)


def test_a_column_without_a_name_is_refused():
    with pytest.raises(ValueError, match=r"'' cannot be written in SQL: .*; rename it"):
        CARTClassifier().fit(pd.DataFrame({"": [1.0, 2.0]}), ["a", "b"]).export_sql()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target": True}, r"target=True: must be an integer in \[0, 0\]"),
        ({"name": ""}, "name='': must be a string that is not empty, or None"),
        ({"table": []}, r"table=\[\]: must be the name of a table, or those of its schema and it"),
        ({"probability_of": "maybe"}, r"probability_of='maybe': must be one of \[\"it's\", 'no', 'yes'\]"),
        ({"probability_of": "yes", "table": "t"}, "a query .* has the probabilities of all classes; leave it out"),
        ({"soft": True}, "soft=True: must be 'hard' or None"),
        ({}, "shares a sample out .* as no SQL expression can"),
    ],
)
def test_what_cannot_be_written_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        models()["fractional"].export_sql(**parameters)


def test_a_comment_says_what_was_substituted():
    text = models()["soft thresholds"].export_sql(missing="error", soft="hard")
    assert text.startswith(
        "/* soft thresholds are taken for hard ones */\n"
        "/* where the tree shares a sample out among several branches, a missing value gives NULL */\n"
    )


def test_names_stay_apart_from_those_of_features_and_of_the_table():
    X = pd.DataFrame({"prediction": [1.0, 2.0, 3.0], "Node": [0.0, 0.0, 0.0], "end": [2.0, 0.0, 0.0]})
    model = CARTRegressor(min_samples_leaf=1, min_samples_split=2).fit(X, [1.0, 2.0, 4.0])
    with sqlite3.connect(":memory:") as connection:
        for name in ("rows", "answers", "step_1"):
            X.to_sql(name, connection, index=False)
            cursor = connection.execute(model.export_sql(table=["main", name]))
            assert [column[0] for column in cursor.description] == ["prediction", "Node", "end", "node_", "prediction_"]
            assert sorted(row[-1] for row in cursor) == [1.0, 2.0, 4.0]
    connection.close()


def test_numbers_are_read_as_the_same_doubles():
    # with few digits too: these lie so near the middle of two doubles that rounding twice gives the other
    draw = random.Random(0)
    values = [0.770524299282281, 5e-324, 1.7976931348623157e308, 0.1, 1e22, 2.0**-20, -0.0]
    values += [float(f"{draw.random() * 10 ** draw.randint(-9, 9):.{draw.randint(1, 17)}g}") for _ in range(10_000)]
    connection = sqlite3.connect(":memory:")
    for start in range(0, len(values), 1_000):
        part = values[start : start + 1_000]
        assert list(connection.execute(f"SELECT {', '.join(map(literal, part))}").fetchone()) == part
    connection.close()
    assert all(float(Fraction(number(value))) == value for value in values)
