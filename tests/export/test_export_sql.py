"""SQL is run by SQLite and DuckDB: labels and probabilities are those of the trees, bit for bit.

The dialects of other databases are read by sqlglot, which translates them for DuckDB.
"""

import math
import random
import sqlite3
from fractions import Fraction

import groves
import numpy as np
import pandas as pd
import pytest
from exports import cells, ends, inputs, model_of, models, of_first_target, table, told
from groves import followed, forests, rows_of
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from trees import chain, random_trees

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, RandomForestClassifier, RandomForestRegressor
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.sql import MOST_LEVELS, SQL
from fasttree._export.sql_dialect import DIALECTS, STANDARD

TABLE = 'the "rows"'
DIVIDING = ("fractional", "fractional regression", "C4.5", "soft thresholds", "intervals")
N_ROWS = {"sqlite": 4_000, "duckdb": 4_000}  # of each model: 100,000 in all; fewer in other settings
TRANSLATED = ("bigquery", "snowflake", "tsql", "spark")
identifier, literal, number = STANDARD.identifier, STANDARD.literal, STANDARD.number
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


def in_duckdb(model, X, query, *, has_nan=True):
    """Every other missing number is NaN, the rest and what is no number NULL; without `has_nan`, all are NULL."""
    duckdb = pytest.importorskip("duckdb")
    arrow = pytest.importorskip("pyarrow")
    columns = {"row_id": arrow.array(range(len(X)))}
    cells_of = X.T if isinstance(X, np.ndarray) else [X[name] for name in X]
    for feature, column in zip(model.schema_.features, cells_of, strict=True):
        values = [None if value is None or value != value else value for value in column]
        if has_nan and all(isinstance(value, float) for value in values if value is not None):
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


class Engine:
    """A way to write SQL and to run it."""

    def __init__(self, name, run, **options):
        self.name, self.options = name, options
        self._run = run

    def n_rows(self):
        return N_ROWS.get(self.name, 300)

    def write(self, model, **parameters):
        return model.export_sql(**self.options, **parameters)

    def run(self, model, X, query):
        return self._run(model, X, query)


def in_duckdb_without_nan(model, X, query):
    return in_duckdb(model, X, query, has_nan=False)


def translated(dialect):
    def run(model, X, query):
        return in_duckdb_without_nan(model, X, duckdb_of(query, dialect))

    return run


def duckdb_of(query, dialect):
    """Translate a query; sqlglot raises an error if the dialect has no such query."""
    sqlglot = pytest.importorskip("sqlglot")
    (text,) = sqlglot.transpile(query, read=NAMES.get(dialect, dialect), write="duckdb", error_level=sqlglot.ErrorLevel.RAISE)
    return text


NAMES = {"postgresql": "postgres"}  # of dialects in sqlglot
ENGINES = [
    Engine("sqlite", in_sqlite, dialect="sqlite"),
    Engine("duckdb", in_duckdb, dialect="duckdb", nan_as_missing=True),
    Engine("standard in sqlite", in_sqlite),
    Engine("standard in duckdb", in_duckdb_without_nan),
    Engine("standard with NaN", in_duckdb, nan_as_missing=True),
    *(Engine(dialect, translated(dialect), dialect=dialect) for dialect in TRANSLATED),
]
in_engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
in_own_engines = pytest.mark.parametrize("engine", ENGINES[:3], ids=lambda engine: engine.name)  # run as written


def assert_told(found, labels, shares, nodes, refused=None):
    answered = np.ones(len(labels), bool) if refused is None else ~refused
    assert found[["node", "prediction"]][~answered].isna().all(axis=None)
    assert found["node"][answered].tolist() == nodes[answered].tolist()
    wanted = [label for label, told in zip(labels, answered, strict=True) if told]
    assert found["prediction"][answered].tolist() == wanted
    fields = [name for name in found if name.startswith("probability_")]
    assert (found[fields][answered].to_numpy(float) == shares[answered]).all()


def expression_of(engine, text):
    dialect = DIALECTS[engine.options.get("dialect", "standard")]
    return f"SELECT {dialect.identifier('row_id')}, {text} FROM {dialect.identifier(TABLE)}"


@in_engines
def test_every_model_is_followed_as_it_predicts(engine):
    for seed, (name, model) in enumerate(models().items()):
        if name in DIVIDING:
            continue
        X = inputs(model, engine.n_rows(), seed=seed)
        labels, shares = of_first_target(model, X)
        assert_told(engine.run(model, X, engine.write(model, table=TABLE)), labels, shares, np.asarray(model.apply(X)))


@in_engines
def test_an_answer_is_an_expression(engine):
    for name in ("two classes", "surrogates", "refuses missing", "refuses unseen", "regression", "two targets", "integer labels"):
        model = models()[name]
        X = inputs(model, 500)
        found = engine.run(model, X, expression_of(engine, engine.write(model, name="told")))
        assert found["told"].tolist() == of_first_target(model, X)[0]


@pytest.mark.parametrize(
    ("engine", "missing"),
    [
        *(pytest.param(engine, "majority", id=f"{engine.name}-majority") for engine in ENGINES),
        *(pytest.param(engine, "error", id=f"{engine.name}-error") for engine in ENGINES[:3]),
    ],
)
def test_trees_that_divide_samples_are_followed_by_the_substitute(engine, missing):
    for name in DIVIDING:
        model = models()[name]
        X = inputs(model, engine.n_rows() // 2)
        nodes, refused = ends(model, X, SQL, missing=missing, soft="hard")
        assert refused.any() == (missing == "error")
        found = engine.run(model, X, engine.write(model, table=TABLE, missing=missing, soft="hard"))
        assert_told(found, *told(model, nodes), nodes, refused)


@in_own_engines
@settings(max_examples=25)
@given(tree=random_trees(), missing=st.sampled_from(["majority", "error"]))
def test_random_trees_are_followed_as_they_walk(engine, tree, missing):
    model = model_of(tree)
    X = inputs(model, 100)
    nodes, refused = ends(model, X, SQL, missing=missing, soft="hard")
    found = engine.run(model, X, engine.write(model, table=TABLE, missing=missing, soft="hard"))
    assert_told(found, *told(model, nodes), nodes, refused)


@in_engines
def test_a_probability_is_an_expression(engine):
    for name in ("all kinds", "boolean labels", "two targets"):
        model = models()[name]
        X = inputs(model, 500)
        _, shares = of_first_target(model, X)
        labels = model.classes_[0] if model.tree_.outputs else model.classes_
        text = engine.write(model, probability_of=labels[1], name="share")
        assert engine.run(model, X, expression_of(engine, text))["share"].tolist() == shares[:, 1].tolist()


@in_engines
def test_each_of_several_targets_is_written(engine):
    model = models()["two numbers"]
    X = inputs(model, 500)
    found = engine.run(model, X, engine.write(model, table=TABLE, target=1))
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
    found = engine.run(model, X.mask(absent, None), engine.write(model, table=TABLE))
    assert_told(found, *told(model, nodes), nodes, (absent & tested).any(axis=1))


@in_engines
def test_a_model_that_refuses_unseen_categories_gives_null_where_it_asks_for_one(engine):
    X = pd.DataFrame({"size": [1.0, 1.0, 1.0, 5.0, 5.0, 5.0], "city": ["a", "b", "c", "a", "b", "c"]})
    model = CARTClassifier(unseen="error").fit(X, ["no", "no", "no", "yes", "yes", "it's"])
    X["city"] = ["a", "d", None, "d", "c", None]
    found = engine.run(model, X, engine.write(model, table=TABLE))["prediction"]
    assert model.tree_.feature.tolist() == [0, -1, 1, -1, -1]
    assert found[3] is None
    known = [0, 1, 2, 4, 5]
    assert found[known].tolist() == model.predict(X.replace("d", "a").iloc[known]).tolist()


@in_own_engines
@pytest.mark.parametrize("n_levels", [MOST_LEVELS, MOST_LEVELS + 1, 400])
def test_deep_trees_are_followed_in_steps(engine, n_levels):
    model = model_of(chain(n_levels), CHAIN)
    X = pd.DataFrame({"x": np.random.default_rng(0).uniform(-1, n_levels, 200)})
    X.iloc[::9] = np.nan
    query = engine.write(model, table=TABLE)
    assert engine.run(model, X, query)["prediction"].tolist() == model.predict(X).tolist()
    found = engine.run(model, X, expression_of(engine, engine.write(model, name="told")))
    assert found["told"].tolist() == model.predict(X).tolist()


@in_own_engines
def test_a_bushy_tree_with_surrogates_is_followed_in_steps(engine):
    X, y, _ = table()
    shuffled = np.random.default_rng(0).permutation(y)
    model = CARTClassifier(categorical_features=["city", "rooms", "member"], missing="surrogate").fit(
        X.drop(columns="grade"), shuffled
    )
    assert model.tree_.max_depth > 2 * MOST_LEVELS
    X = inputs(model, 1_000)
    query = engine.write(model, table=TABLE)
    assert "step_2" in query
    assert_told(engine.run(model, X, query), *of_first_target(model, X), np.asarray(model.apply(X)))


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


@in_own_engines
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
    found = engine.run(model, X, engine.write(model, table=TABLE))
    assert found["node"].tolist() == model.apply(X).tolist()


@pytest.mark.parametrize("unseen", ["error", "as_missing"])
@pytest.mark.parametrize("missing", ["branch", "surrogate", "error"])
def test_not_a_number_is_missing_where_categories_are_numbers_too(missing, unseen):
    X = pd.DataFrame({"rooms": [1.0, 2.0, 3.0] * 5, "age": np.arange(15.0)})
    model = CARTClassifier(categorical_features=["rooms"], missing=missing, unseen=unseen).fit(X, ["a", "b", "c"] * 5)
    X.loc[::4, "rooms"] = np.nan
    found = in_duckdb(model, X, model.export_sql(table=TABLE, nan_as_missing=True))["prediction"]
    if missing == "error":
        assert (found.isna() == X["rooms"].isna()).all()
    else:
        assert found.tolist() == model.predict(X).tolist()


IRIS = """CASE
  WHEN "petal_length" <= 2.45 THEN 'Iris-setosa'
  WHEN "petal_width" <= 1.75 OR "petal_width" IS NULL THEN 'Iris-versicolor'
  ELSE 'Iris-virginica'
END"""


def test_text_is_short_and_in_the_order_of_the_tree():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
    y = np.array(["Iris-setosa", "Iris-versicolor", "Iris-virginica"])[y]
    assert CARTClassifier(max_depth=2).fit(X, y).export_sql() == IRIS
    whole = CARTClassifier().fit(X, y).export_sql()
    assert "e+308" not in whole
    assert "ELSE CASE" not in whole


def test_equal_results_are_merged():
    X = [[1.0], [2.0], [3.0], [4.0]]
    model = CARTClassifier(max_depth=1, min_samples_leaf=2).fit(X, ["a", "b", "a", "a"])
    assert model.get_n_leaves() == 2
    assert model.export_sql(name="y") == "'a' AS \"y\""
    assert "THEN 1\n" in model.export_sql(table="t"), "a query gives the node, too"
    refusing = CARTClassifier(max_depth=1, min_samples_leaf=2, missing="error").fit(X, ["a", "b", "a", "a"])
    text = refusing.export_sql()
    assert text.endswith("WHEN \"x0\" IS NOT NULL THEN 'a'\n  ELSE NULL\nEND"), "a missing value gives NULL, another result"
    found = in_sqlite(refusing, np.array([[1.0], [4.0], [np.nan]]), expression_of(ENGINES[0], f"{text} AS y"))
    assert found["y"].tolist() == ["a", "a", None]


def test_categories_of_equal_results_share_a_case():
    X = pd.DataFrame({"city": ["a", "b", "c", "d"] * 5})
    model = C45Classifier(min_samples_branch=1).fit(X, ["x", "y", "y", "z"] * 5)
    assert (
        model.export_sql(missing="error")
        == """/* where the tree shares a sample out among several branches, a missing value gives NULL */
CASE
  WHEN "city" = 'a' THEN 'x'
  WHEN "city" IN ('b', 'c') THEN 'y'
  WHEN "city" = 'd' THEN 'z'
  ELSE NULL
END"""
    )
    assert model.export_sql(missing="majority").splitlines()[2:-2] == [
        "  WHEN \"city\" IN ('b', 'c') THEN 'y'",
        "  WHEN \"city\" = 'd' THEN 'z'",
    ]


def test_nan_is_missing_only_if_asked():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    model = CARTClassifier().fit(X, ["a", "a", "a", "b"])
    texts = {name: model.export_sql(dialect=name, nan_as_missing=True) for name in DIALECTS}
    assert {name for name, text in texts.items() if text == model.export_sql(dialect=name)} == {"sqlite", "tsql"}
    assert 'WHEN "x" <= 3.5 OR "x" IS NULL OR isnan("x") THEN' in texts["duckdb"]
    assert (
        in_duckdb(model, pd.DataFrame({"x": [np.nan] * 4}), f"SELECT row_id, {texts['duckdb']} AS y FROM {identifier(TABLE)}")[
            "y"
        ].tolist()
        == ["a"] * 4
    )


# --- dialects

HOSTILE = ["it's", "a\\b", "end\\", "back`tick", "]bracket[", 'quo"te', "two\nlines", "\\\n", "-- no", "*/", "${env:HOME}", "É"]


def parsed(text, dialect):
    sqlglot = pytest.importorskip("sqlglot")
    return sqlglot.parse_one(text, read=NAMES.get(dialect, dialect), error_level=sqlglot.ErrorLevel.RAISE)


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "standard"])
def test_names_and_texts_are_quoted_as_the_dialect_reads_them(dialect):
    exp = pytest.importorskip("sqlglot.expressions")
    for text in HOSTILE:
        if dialect == "tsql" and "\\\n" in text:
            continue  # sqlglot does not know that T-SQL continues such lines
        X = pd.DataFrame({"kind": [text, "b"] * 3, "x": [1.0] * 6}).rename(columns={"kind": f"n {text}".replace("\n", " ")})
        model = CARTClassifier().fit(X, [f"{text} 1", "2"] * 3)
        found = parsed(f"SELECT {model.export_sql(dialect=dialect)}", dialect)
        names = {column.name for column in found.find_all(exp.Column)}
        texts = {literal.name for literal in found.find_all(exp.Literal, exp.National)}
        assert names == {X.columns[0]}
        expected = {f"{text} 1", "2"}
        if dialect == "spark":
            texts = {found.replace("u0024", "$").replace("\\$", "$") for found in texts}
        assert texts - {text, "b"} == expected, dialect
        assert parsed(model.export_sql(dialect=dialect, table=["a schema", "t"]), dialect).find(exp.Table) is not None


def test_a_dialect_has_its_own_forms():
    X = pd.DataFrame({"member": np.array([True, False] * 4, object), "x": [1.0, 2.0] * 4})
    model = CARTClassifier().fit(X[["member"]], np.array([True, False] * 4))
    texts = {name: model.export_sql(dialect=name) for name in DIALECTS}
    assert all(("TRUE" in text) == (name not in ("sqlite", "tsql")) for name, text in texts.items())
    number = CARTClassifier().fit(X[["x"]], ["a", "b"] * 4)
    assert number.export_sql(dialect="tsql").splitlines()[1] == "  WHEN [x] <= 1.5e0 THEN N'a'"
    assert number.export_sql(dialect="bigquery").splitlines()[1] == "  WHEN `x` <= 1.5 THEN 'a'"
    assert DIALECTS["tsql"].text("a\\\nb") == "N'a\\' + N'\nb'"
    assert DIALECTS["spark"].text("${x}\\") == "'\\u0024{x}\\\\'"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_forms_are_read_in_every_dialect(dialect):
    for name in ("surrogates", "regression", "boolean labels", "refuses unseen", "intervals"):
        substitutes = {"missing": "majority", "soft": "hard"} if name in DIVIDING else {}
        text = models()[name].export_sql(table=["s", "t"], dialect=dialect, cast=True, nan_as_missing=True, **substitutes)
        parsed(text, {"standard": "postgresql"}.get(dialect, dialect))


def test_too_many_nested_cases_are_refused():
    X, y, _ = table()
    shuffled = np.random.default_rng(0).permutation(y)
    model = CARTClassifier(categorical_features=["city", "rooms", "member"]).fit(X.drop(columns="grade"), shuffled)
    message = r"levels, but tsql reads at most 10 CASEs inside one another: write to_rules\(\)\.to_sql\(dialect='tsql'\)"
    with pytest.raises(ValueError, match=message):
        model.export_sql(dialect="tsql")
    assert model.to_rules().to_sql(dialect="tsql").count("CASE") == 1
    with pytest.raises(ValueError, match="snowflake reads at most 100 CASEs"):
        model_of(chain(1_000), CHAIN).export_sql(dialect="snowflake")


# --- columns of text


@pytest.mark.parametrize("engine", [in_sqlite, in_duckdb])
def test_numbers_in_columns_of_text_are_converted_if_asked(engine):
    X = pd.DataFrame({"age": [9.0, 10.5, 101.0, np.nan] * 5, "rooms": [1.0, 2.0, 3.0, 2.0] * 5, "city": ["1", "2", "1", "2"] * 5})
    model = CARTClassifier(categorical_features=["rooms", "city"], missing="branch").fit(X, ["a", "b", "c", "d"] * 5)
    written = X.astype(object).where(X.notna(), "").astype({"age": str, "rooms": str})
    text = model.export_sql(table=TABLE, cast=True)
    assert 'NULLIF("city"' not in text
    reader = CARTClassifier(categorical_features=["age", "rooms", "city"]).fit(written, ["a", "b", "c", "d"] * 5)
    assert engine(reader, written, text)["prediction"].tolist() == model.predict(X).tolist()
    assert model.export_sql(cast=["age", "rooms"]) == model.export_sql(cast=True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cast": ["city"]}, "cast: 'city' is no feature of numbers; these are 'age in years', 'income', 'rooms'"),
        ({"cast": "age in years"}, "cast='age in years': must be True or False, or names of features"),
        ({"nan_as_missing": 1}, "nan_as_missing=1: must be True or False$"),
        ({"dialect": "oracle"}, "dialect='oracle': must be one of 'standard', 'sqlite', 'duckdb', 'postgresql', 'bigquery'"),
    ],
)
def test_wrong_forms_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        models()["all kinds"].export_sql(**parameters)


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
        ({"table": []}, r"table=\[\]: must be the name of a table, or the names of its schema and it"),
        ({"table": 1}, "table=1: must be the name of a table, or the names of its schema and it"),
        ({"table": {"t"}}, r"table=\{'t'\}: must be the name of a table, or the names of its schema and it"),
        ({"probability_of": np.array(["yes", "no"])}, r"probability_of=array\(.*: must be one of"),
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
    for farthest in (9, 30, 60, 307):
        values += [
            float(f"{draw.random() * 10.0 ** draw.randint(-farthest, farthest):.{draw.randint(1, 17)}g}") for _ in range(10_000)
        ]
    connection = sqlite3.connect(":memory:")
    for start in range(0, len(values), 1_000):
        part = values[start : start + 1_000]
        assert list(connection.execute(f"SELECT {', '.join(map(literal, part))}").fetchone()) == part
    connection.close()
    assert all(product(number(value)) == value for value in values)


def product(text):
    """The double of a number, or of two numbers in parentheses."""
    return math.prod(float(Fraction(factor)) for factor in text.strip("()").split(" * "))


# Forests

SUBSTITUTES = {"C4.5": "majority", "fractional regression": "majority", "intervals": "error", "divided losses": "error"}


def expected_of(name, X):
    """What a forest gives about the first target, as SQL can follow it, and which rows must not get NULL."""
    forest, missing = forests()[name], SUBSTITUTES.get(name)
    if missing is not None:
        return followed(forest, X, SQL, missing=missing, soft="hard")
    return *groves.of_first_target(forest, X), np.ones(len(X), bool)


def written_of(engine, kind, **parameters):
    if kind in SUBSTITUTES:
        parameters |= {"missing": SUBSTITUTES[kind], "soft": "hard"}
    return engine.write(forests()[kind], max_nodes=30_000, **parameters)


def assert_forest_followed(engine, name, n_rows):
    X = rows_of(name)[:n_rows]
    labels, shares, answered = expected_of(name, X)
    found = engine.run(forests()[name], X, written_of(engine, name, table=TABLE))
    wanted = [label if told else None for label, told in zip(labels, answered, strict=True)]
    given = [None if value is None or value != value else value for value in found["prediction"]]
    assert given == wanted
    fields = [column for column in found if column.startswith("probability_")]
    assert (found[fields][answered].to_numpy(float) == shares[answered]).all()


@pytest.mark.parametrize("name", forests())
def test_every_forest_is_followed_as_it_predicts(name):
    assert_forest_followed(ENGINES[0], name, 400)


@pytest.mark.parametrize("engine", ENGINES[1:], ids=lambda engine: engine.name)
def test_forests_are_followed_in_every_dialect(engine):
    for name in ("numbers", "losses", "regression", "one tree"):
        assert_forest_followed(engine, name, 60)


@in_own_engines
def test_the_answer_of_a_forest_is_an_expression(engine):
    for name in ("numbers", "regression", "refuses missing", "losses", "two targets"):
        X = rows_of(name)[:100]
        found = engine.run(forests()[name], X, expression_of(engine, written_of(engine, name, name="told")))
        assert found["told"].tolist() == groves.of_first_target(forests()[name], X)[0]
    X = rows_of("numbers")[:100]
    text = written_of(engine, "numbers", probability_of="no", name="told")
    found = engine.run(forests()["numbers"], X, expression_of(engine, text))
    assert found["told"].tolist() == forests()["numbers"].predict_proba(X)[:, 1].tolist()


def test_expressions_of_two_classes_need_no_steps():
    X, y = table(200)[:2]
    numbers = X[["income", "age in years"]]
    for loss in (None, [[0, 1], [7, 0]]):
        forest = RandomForestClassifier(n_estimators=3, max_depth=3, loss_matrix=loss, random_state=0).fit(numbers, y == "no")
        for engine in ENGINES[5:]:
            found = engine.run(forest, numbers, expression_of(engine, engine.write(forest, name="told")))
            assert found["told"].tolist() == forest.predict(numbers).tolist()


def test_losses_decide_and_equal_ones_give_the_first_class():
    """Expected losses of 0.5 x 2 and 0.5 x 2 are equal; without losses, other rows have other predictions."""
    forest = forests()["losses"]
    X = rows_of("losses")[:200]
    assert (forest.predict(X) != forest.classes_[forest.predict_proba(X).argmax(axis=1)]).any()
    X, y = [[0.0], [0.0], [1.0]], ["a", "b", "c"]
    loss = [[0, 2, 3], [2, 0, 3], [1, 1, 0]]
    even = RandomForestClassifier(n_estimators=3, bootstrap=False, loss_matrix=loss, random_state=0).fit(X, y)
    text = even.export_sql(table=TABLE)
    found = ENGINES[0].run(even, pd.DataFrame(X, columns=["x0"]), text)
    assert found["prediction"].tolist() == even.predict(X).tolist() == ["a", "a", "c"]
    with pytest.raises(ValueError, match="an expression in tsql cannot compare the probabilities of 3 classes: write a query"):
        forests()["numbers"].export_sql(dialect="tsql")


def test_forests_that_are_too_large_are_refused_with_the_remedy():
    forest = forests()["numbers"]
    n_nodes = forest.ensemble_.node_count
    words = (
        rf"has {3 * n_nodes:,} nodes \(7 trees with {n_nodes} nodes, each written 3 times, once per class\), and max_nodes=100"
    )
    with pytest.raises(ValueError, match=words + r" allows 100: grow fewer or smaller trees .* raise max_nodes"):
        forest.export_sql(max_nodes=100)
    assert forest.export_sql(max_nodes=n_nodes, probability_of="no")
    with pytest.raises(ValueError, match="max_nodes=0: must be an integer of at least 1"):
        forest.export_sql(max_nodes=0)
    stumps = RandomForestClassifier(n_estimators=901, max_depth=1, random_state=0).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    with pytest.raises(ValueError, match="has 901 trees, and databases read sums of at most 900 terms"):
        stumps.export_sql()
    with pytest.raises(ValueError, match=r"tree 0: where a value is missing.*missing='majority'"):
        forests()["C4.5"].export_sql(max_nodes=10**5)


def test_sums_of_many_trees_are_read():
    X = np.linspace(0, 1, 30)[:, None]
    forest = RandomForestRegressor(n_estimators=900, max_depth=1, random_state=0).fit(X, X[:, 0])
    assert in_sqlite(forest, X, forest.export_sql(table=TABLE))["prediction"].tolist() == forest.predict(X).tolist()
