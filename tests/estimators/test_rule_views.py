"""C4.5's rules as objects, tables, SQL and explanations."""

import numpy as np
import pandas as pd
import pytest
from exports import table
from test_export_sql import ENGINES, TABLE, expression_of, in_duckdb_without_nan, in_sqlite

import fasttree
from fasttree import C45Rules, OrderedRules
from fasttree._data.schema import Kind

KINDS = {"categorical_features": ["city", "rooms", "member"], "ordinal_features": {"grade": ["low", "mid", "high", "top"]}}


@pytest.fixture(scope="module")
def golf():
    X, y = fasttree.formats.read_c45("examples/golf")
    return X, y, C45Rules().fit(X, y)


@pytest.fixture(scope="module")
def mixed():
    X, y, _ = table()
    return C45Rules(**KINDS, subset=True, confidence=0.9).fit(X, y)


def rows_for(model, n_rows=2_000):
    """Rows on thresholds and beside them, missing, and of unseen categories."""
    cuts = [[] for _ in model.schema_.features]
    for rule in model.rules_:
        for condition in rule.conditions:
            if condition.threshold is not None:
                cuts[condition.index].append(condition.threshold)
    random = np.random.default_rng(3)
    columns = {}
    for feature, places in zip(model.schema_.features, cuts, strict=True):
        if feature.kind == Kind.CONTINUOUS:
            near = [x for t in places for x in (t, np.nextafter(t, -np.inf), np.nextafter(t, np.inf))]
            pool = np.array([*near, -1e30, 0.0, 1e30, 40.0, np.nan])
            columns[feature.name] = random.choice(pool, n_rows)
        else:
            strange = [] if type(feature.categories[0]) is bool else ["new"] if type(feature.categories[0]) is str else [99]
            pool = np.empty(len(feature.categories) + len(strange) + 1, object)
            pool[:] = [*feature.categories, *strange, None]
            columns[feature.name] = random.choice(pool, n_rows)
    return pd.DataFrame(columns)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_sql_gives_the_rule_the_class_and_the_probabilities(engine, mixed):
    X = rows_for(mixed)
    found = engine.run(mixed, X, mixed.export_sql(table=TABLE, **engine.options))
    assert len(set(mixed.apply(X).tolist())) > 10
    assert found["rule"].tolist() == mixed.apply(X).tolist()
    assert found["prediction"].tolist() == mixed.predict(X).tolist()
    shares = mixed.predict_proba(X)
    assert (found[[name for name in found if name.startswith("probability_")]].to_numpy(float) == shares).all()
    text = expression_of(engine, mixed.export_sql(name="y", **engine.options))
    assert engine.run(mixed, X, text)["y"].tolist() == mixed.predict(X).tolist()
    share = mixed.export_sql(name="p", probability_of="no", **engine.options)
    assert (
        engine.run(mixed, X, expression_of(engine, share))["p"].tolist() == shares[:, list(mixed.classes_).index("no")].tolist()
    )


@pytest.mark.parametrize("run", [in_sqlite, in_duckdb_without_nan])
def test_an_unseen_category_gives_null_if_the_model_raises(run):
    X = pd.DataFrame({"city": ["a", "b", "c", "d"] * 10, "x": np.arange(40.0)})
    model = C45Rules(unseen="error").fit(X, ["a", "b", "a", "b"] * 10)
    X.loc[:1, "city"] = "new"
    found = run(model, X, model.export_sql(table=TABLE))["prediction"]
    assert found[:2].tolist() == [None, None]
    assert found[2:].tolist() == model.predict(X[2:]).tolist()


def test_one_class_without_rules_is_written():
    model = C45Rules().fit([[1.0], [2.0]], ["a", "a"])
    assert model.export_sql(name="y") == "'a' AS \"y\""
    assert model.to_rules().matches([[1.0]]).shape == (1, 0)
    assert str(model.explain([1.0])).splitlines()[1].startswith("no rule fires, so that the class is the default")


def test_matches_are_those_of_the_conditions(mixed):
    X = rows_for(mixed, 300)
    rules = mixed.to_rules()
    found = rules.matches(X).toarray().astype(bool)
    assert found.shape == (300, len(rules))
    first = np.where(found.any(axis=1), found.argmax(axis=1), -1)
    assert first.tolist() == mixed.apply(X).tolist()


def test_explanations_name_the_rule_that_fires_and_those_after_it(mixed):
    X = rows_for(mixed, 200)
    found, applied = mixed.to_rules().matches(X).toarray().astype(bool), mixed.apply(X)
    shares = mixed.predict_proba(X)
    for i in range(len(X)):
        explanation = mixed.explain(X.iloc[i])
        assert explanation.prediction == mixed.predict(X[i : i + 1])[0]
        assert list(explanation.probabilities.values()) == shares[i].tolist()
        assert (-1 if explanation.rule is None else explanation.rule) == applied[i]
        assert [explanation.rule, *explanation.others][: found[i].sum()] == np.flatnonzero(found[i]).tolist()


def test_an_explanation_reads_as_text(golf):
    X, _, model = golf
    assert str(model.explain(X[0])) == (
        "prediction: Don't Play  (Don't Play: 63 %, Play: 37 %)\n"
        "rule 2 is the first of 4 that fires: if outlook = sunny and humidity > 75 then Don't Play  "
        "(cover 3, errors 0, estimate 37.0 %)\n"
        "    outlook = sunny\n"
        "    humidity > 75, as it is 85"
    )
    nothing = model.explain([None] * 4)
    assert (nothing.rule, nothing.others, nothing.prediction) == (None, (), "Play")
    assert str(nothing).splitlines()[1] == (
        "no rule fires, so that the class is the default: of 2 training samples that no rule covers, 2 are of it"
    )
    assert nothing.to_dict()["sample"]["outlook"] is None
    with pytest.raises(ValueError, match="x has 2 values: C45Rules was fitted to 4 features"):
        model.explain(["sunny", 3.0])


def test_rules_are_a_sequence_and_become_tables(golf):
    _, _, model = golf
    rules = model.to_rules()
    assert isinstance(rules, OrderedRules)
    assert (list(rules), rules[:2], rules.default) == (list(model.rules_), model.rules_[:2], "Play")
    assert rules.to_text() == model.export_text()
    frame = model.to_frame()
    assert frame["rule"].tolist()[-2:] == ["outlook = rain and windy = true", "else"]
    assert frame["cover"].tolist() == [4, 3, 3, 2, 2]
    assert frame["estimate"].isna().tolist() == [False] * 4 + [True]
    for backend in ("polars", "pyarrow"):
        pytest.importorskip(backend)
        other = model.to_frame(backend=backend)
        assert list(other["prediction"].to_pylist() if backend == "pyarrow" else other["prediction"]) == list(frame["prediction"])
    with pytest.raises(ValueError, match="backend='arrow': must be one of 'pandas', 'polars', 'pyarrow'"):
        model.to_frame(backend="arrow")
    assert model.to_markdown().splitlines()[-1] == "|  | else | Play | 2 | 0 |  |"


def test_notebooks_and_pages_show_the_rules():
    X = pd.DataFrame({"<b>": ["<i>", "b"] * 10})
    model = C45Rules()
    assert "else" not in model._repr_mimebundle_()["text/plain"]
    model.fit(X, ["x", "y"] * 10)
    text = model._repr_mimebundle_()["text/plain"]
    assert text.endswith(model.export_text().rstrip())
    for html in (model._html_repr(), model.export_html(title="<Rules>"), model.explain(X.iloc[0])._repr_html_()):
        assert "&lt;i&gt;" in html
        assert "<i>" not in html
    assert "<h1>&lt;Rules&gt;</h1>" in model.export_html(title="<Rules>")
