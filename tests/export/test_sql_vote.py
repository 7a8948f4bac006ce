"""Boosted trees as SQL: SQLite gives the predictions and probabilities of the model, bit for bit."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from boosters import boosters

from fasttree import C50Classifier


def run(X, query):
    """The rows of a query of the table `t`, in the order of X."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t (row_id, {', '.join(X.columns)})")
        rows = [(i, *row) for i, row in enumerate(X.astype(object).where(X.notna(), None).values.tolist())]
        connection.executemany(f"INSERT INTO t VALUES (?{', ?' * X.shape[1]})", rows)
        cursor = connection.execute(f"SELECT * FROM ({query}) ORDER BY row_id")
        names = [column[0] for column in cursor.description]
        return {name: list(values) for name, values in zip(names, zip(*cursor.fetchall(), strict=True), strict=True)}


@pytest.mark.parametrize("name", ["holes", "complete", "many classes", "ties"])
def test_queries_and_expressions_predict_as_the_model(name):
    model, X = boosters()[name]
    X = X.dropna()  # others need a substitute
    expected, shares = model.predict(X).tolist(), model.predict_proba(X)
    found = run(X, model.export_sql(table="t", missing="majority"))
    assert found["prediction"] == expected
    of_class = model.export_sql(missing="majority", name="y")
    of_share = model.export_sql(missing="majority", name="p", probability_of=model.classes_[1])
    found |= run(X, f"SELECT *, {of_class}, {of_share} FROM t")
    assert found["y"] == expected
    assert np.array(found["p"]).tobytes() == shares[:, 1].tobytes()
    if model.n_trials_ > 1:
        votes = np.column_stack([found[f"votes_{label}"] for label in model.classes_])
        assert (votes / votes.cumsum(axis=1)[:, -1:]).tobytes() == shares.tobytes()
    for k, label in enumerate(model.classes_):
        assert np.array(found[f"probability_{label}"]).tobytes() == np.ascontiguousarray(shares[:, k]).tobytes()


def test_names_that_are_taken_get_underscores():
    model, X = boosters()["complete"]
    named = X.rename(columns={"a": "votes_no", "b": "prediction"})
    again = C50Classifier(trials=3).fit(named, model.predict(X))
    found = run(named, again.export_sql(table="t", missing="majority"))
    assert found["prediction_"] == again.predict(named).tolist()
    assert "votes_no_" in found


def test_what_cannot_be_written_is_refused():
    model, X = boosters()["complete"]
    y = model.predict(X)
    with pytest.raises(ValueError, match="missing='majority'"):
        model.export_sql(table="t")
    with pytest.raises(ValueError, match=r"an expression in .* cannot compare votes"):
        model.export_sql(missing="majority", dialect="bigquery")
    with pytest.raises(ValueError, match="target"):
        model.export_sql(table="t", missing="majority", target=1)
    with pytest.raises(ValueError, match="vote by costs, which SQL cannot do"):
        C50Classifier(trials=5, loss_matrix={"yes": {"no": 5}}).fit(X, y).export_sql(table="t", missing="majority")
    two = C50Classifier(trials=5).fit(X, y == "yes")
    assert "WITH" not in two.export_sql(missing="majority", dialect="bigquery", probability_of=True)
