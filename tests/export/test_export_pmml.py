"""PMML documents are scored by another program, PMML4S on Java, as the trees predict."""

import json
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from exports import cells, ends, inputs, model_of, models, of_first_target, table, told
from groves import followed, forests, rows_of
from groves import of_first_target as of_forest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import SCHEMA, chain, play_tree, random_trees

from fasttree import CARTClassifier, CubistRegressor
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.pmml import PMML

N_ROWS = 4_000  # of each model: 100,000 in all
SPACE = "{http://www.dmg.org/PMML-4_4}"
DIVIDING = ("fractional", "fractional regression", "C4.5", "soft thresholds", "intervals")


@pytest.fixture(scope="module")
def score():
    """A function of a document and rows that gives, a column per output field, what PMML4S says."""
    if shutil.which("java") is None:
        pytest.skip("PMML4S runs on Java, which is not installed")
    model_class = pytest.importorskip("pypmml", reason="PMML4S comes with pypmml, which is not installed").Model

    def scored(document, X):
        names = list(X) if isinstance(X, pd.DataFrame) else [f"x{j}" for j in range(X.shape[1])]
        # a key that is not there is missing; PMML4S takes null in a field of truth values for false
        rows = [
            {name: cell for name, cell in zip(names, row, strict=True) if cell is not None and cell == cell} for row in cells(X)
        ]
        result = model_class.fromString(document).call("predict", json.dumps(rows))
        return pd.DataFrame(json.loads(result), dtype=object)

    with pytest.MonkeyPatch.context() as patch:  # compiled once, fast enough; and a stack for deep documents
        patch.setenv("JAVA_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512m")
        yield scored
        model_class.close()


def assert_told(scored, labels, shares, nodes=None, refused=None):
    """Whether labels and probabilities, a column per class in the order of classes, are those wanted, bit for bit."""
    answered = np.ones(len(labels), bool) if refused is None else ~refused
    assert scored["prediction"][~answered].isna().all()
    assert [label for label, told in zip(scored["prediction"], answered, strict=True) if told] == [
        label for label, told in zip(labels, answered, strict=True) if told
    ]
    if shares.shape[1]:
        fields = [name for name in scored if name.startswith("probability_")]
        assert len(fields) == shares.shape[1]
        assert (np.sort(scored[fields][answered].to_numpy(float)) == np.sort(shares[answered])).all()
    if nodes is not None:
        reached = [int(text.split(":")[0]) for text in scored["node"][answered]]
        assert (np.array(reached) == nodes[answered]).all()


def test_every_model_is_scored_as_it_predicts(score):
    for seed, (name, model) in enumerate(models().items()):
        if name in DIVIDING:
            continue
        X = inputs(model, N_ROWS, seed=seed)
        labels, shares = of_first_target(model, X)
        assert_told(score(model.export_pmml(), X), labels, shares, np.asarray(model.apply(X)))


@pytest.mark.parametrize("missing", ["majority", "error"])
def test_trees_that_divide_samples_are_scored_by_the_substitute(score, missing):
    for name in DIVIDING:
        model = models()[name]
        X = inputs(model, N_ROWS // 2)
        nodes, refused = ends(model, X, PMML, missing=missing, soft="hard")
        assert refused.any() == (missing == "error")
        assert_told(score(model.export_pmml(missing=missing, soft="hard"), X), *told(model, nodes), nodes, refused)


@settings(max_examples=40)
@given(tree=random_trees(), missing=st.sampled_from(["majority", "error"]))
def test_random_trees_are_scored_as_they_walk(score, tree, missing):
    model = model_of(tree)
    X = inputs(model, 100)
    nodes, refused = ends(model, X, PMML, missing=missing, soft="hard")
    # an inner node that refuses what is missing has no other row that ends there
    assert_told(score(model.export_pmml(missing=missing, soft="hard"), X), *told(model, nodes), nodes, refused)


def test_each_of_several_targets_is_written(score):
    model = models()["two targets"]
    X = inputs(model, 500)
    scored = score(model.export_pmml(target=1), X)
    assert scored["prediction"].tolist() == model.predict(X)[:, 1].tolist()
    assert (scored[["probability_no", "probability_yes"]].to_numpy(float) == model.predict_proba(X)[1]).all()


def test_a_model_that_refuses_missing_values_gets_no_result_for_them(score):
    for name in ("refuses missing", "ID3"):
        model = models()[name]
        X = inputs(model, 1_000).astype(object)
        labels, shares = of_first_target(model, X)
        absent = np.random.default_rng(1).random(X.shape) < 0.1
        scored = score(model.export_pmml(), X.mask(absent, None))
        assert_told(scored, labels, shares, refused=absent.any(axis=1))


def test_a_model_that_refuses_unseen_categories_gets_no_result_for_them(score):
    model = models()["refuses unseen"]
    X = inputs(model, 1_000)
    labels, shares = of_first_target(model, X)
    strange = np.random.default_rng(1).random(len(X)) < 0.1
    X.loc[strange, "city"] = "Atlantis"
    assert_told(score(model.export_pmml(), X), labels, shares, refused=strange)


# Text that XML can hold; names and categories of it are quoted in attributes and arrays
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]) | st.sampled_from("\"'\\<>& \t\n"), min_size=1, max_size=6)


@settings(max_examples=40)
@given(
    names=st.lists(TEXTS, min_size=2, max_size=2, unique=True),
    texts=st.lists(TEXTS | st.just(""), min_size=4, max_size=4, unique=True),
)
def test_hostile_names_categories_and_classes_are_read_as_they_are(score, names, texts):
    random = np.random.default_rng(5)
    X = pd.DataFrame({names[0]: random.choice(texts, 40).astype(object), names[1]: random.normal(size=40)})
    y = np.array([f"{texts[0]}|{label}" for label in texts])[random.integers(0, 4, 40)]
    model = CARTClassifier(missing="surrogate").fit(X, y)
    X.loc[::7, names[0]] = None
    scored = score(model.export_pmml(), X)
    assert scored["prediction"].tolist() == model.predict(X).tolist()


def test_what_xml_cannot_hold_is_refused():
    X = pd.DataFrame({"a\x01": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"'a\\x01' cannot be written in PMML: XML 1.0 has no character '\\x01'; rename it"):
        CARTClassifier().fit(X, ["a", "b"]).export_pmml()


def test_a_column_without_a_name_is_refused():
    with pytest.raises(ValueError, match=r"'' cannot be written in PMML: .*; rename it"):
        CARTClassifier().fit(pd.DataFrame({"": [1.0, 2.0]}), ["a", "b"]).export_pmml()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"target": 1}, r"target=1: must be an integer in \[0, 0\]"),
        ({"name": ""}, "name='': must be a string that is not empty"),
        ({"missing": "shares"}, "missing='shares': must be one of 'majority', 'error', or None"),
        ({}, "shares a sample out .* as no PMML document can"),
    ],
)
def test_what_cannot_be_written_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        models()["fractional"].export_pmml(**parameters)


def test_the_document_says_what_was_substituted():
    root = ET.fromstring(models()["soft thresholds"].export_pmml(missing="majority", soft="hard"))
    notes = [note.text for note in root.iter(f"{SPACE}Annotation")]
    assert notes == [
        "soft thresholds are taken for hard ones",
        "where the tree shares a sample out among several branches, a missing value follows the heaviest branch",
    ]


def test_names_stay_apart_from_those_of_features():
    X = pd.DataFrame({"prediction": [1.0, 2.0], "target": [2.0, 1.0], "Node": [0.0, 0.0], "probability_a": [0.0, 0.0]})
    root = ET.fromstring(CARTClassifier().fit(X, pd.Series(["a", "b"], name="target")).export_pmml())
    assert [field.get("name") for field in root.iter(f"{SPACE}OutputField")] == [
        "prediction_", "probability_a_", "probability_b", "node_",
    ]  # fmt: skip
    assert [field.get("name") for field in root.iter(f"{SPACE}DataField")][-1] == "target_"


def test_fields_say_their_kind_and_their_categories():
    root = ET.fromstring(models()["all kinds"].export_pmml())
    fields = {field.get("name"): (field.get("optype"), field.get("dataType")) for field in root.iter(f"{SPACE}DataField")}
    assert fields == {
        "age in years": ("continuous", "double"), "income": ("continuous", "double"), "grade": ("ordinal", "string"),
        "city": ("categorical", "string"), "rooms": ("categorical", "double"), "member": ("categorical", "boolean"),
        "y": ("categorical", "string"),
    }  # fmt: skip
    grades = [value.get("value") for value in root.find(f".//{SPACE}DataField[@name='grade']")]
    assert grades == ["low", "mid", "high", "top"]


def test_surrogates_are_written_as_such():
    document = models()["surrogates"].export_pmml()
    tree = models()["surrogates"].tree_
    asking = np.count_nonzero(np.diff(tree.surrogates.start))
    operators = [each.get("booleanOperator") for each in ET.fromstring(document).iter(f"{SPACE}CompoundPredicate")]
    assert operators.count("surrogate") >= 2 * asking > 0


def test_nodes_say_how_many_samples_they_saw():
    tree = play_tree()
    root = ET.fromstring(model_of(tree, SCHEMA).export_pmml(missing="majority"))
    nodes = {int(node.get("id")): node for node in root.iter(f"{SPACE}Node")}
    assert sorted(nodes) == list(range(tree.node_count))
    assert [float(nodes[i].get("recordCount")) for i in range(tree.node_count)] == tree.weight.tolist()
    counts = [float(part.get("recordCount")) for part in nodes[0].findall(f"{SPACE}ScoreDistribution")]
    assert counts == tree.value[0].tolist()


def test_a_tree_as_deep_as_its_samples_is_written(score):
    model = model_of(chain(5_000), Schema((Feature("x", Kind.CONTINUOUS),), has_names=True))
    document = model.export_pmml()
    assert len(document) < 600 * model.tree_.node_count
    X = pd.DataFrame({"x": np.random.default_rng(0).uniform(-1, 5_001, 100)})
    assert score(document, X)["prediction"].tolist() == model.predict(X).tolist()


def test_documents_of_one_tree_are_the_same():
    X, y, _ = table()
    first, second = (CARTClassifier(max_depth=4, categorical_features=["city"]).fit(X[["city"]], y) for _ in range(2))
    assert first.export_pmml() == second.export_pmml()


# Forests


def test_every_forest_is_scored_as_it_predicts(score):
    for name, forest in forests().items():
        if name in DIVIDING or name == "divided losses":
            continue
        X = rows_of(name)[:300]
        assert_told(score(forest.export_pmml(), X), *of_forest(forest, X))


def test_forests_that_divide_samples_are_scored_by_the_substitute(score):
    for name, missing in (
        ("C4.5", "majority"),
        ("fractional regression", "error"),
        ("intervals", "error"),
        ("divided losses", "error"),
    ):
        X = rows_of(name)[:300]
        labels, shares, answered = followed(forests()[name], X, PMML, missing=missing, soft="hard")
        assert answered.all() == (missing == "majority")
        assert_told(score(forests()[name].export_pmml(missing=missing, soft="hard"), X), labels, shares, refused=~answered)


def test_forests_that_refuse_values_get_no_result_for_them(score):
    forest = forests()["refuses both"]
    X = rows_of("refuses both")[:60].astype(object)
    labels, shares = of_forest(forest, X)
    X.loc[::3, "income"], X.loc[1::3, "city"] = None, "Atlantis"
    assert_told(score(forest.export_pmml(), X), labels, shares, refused=np.arange(60) % 3 < 2)


def test_the_document_of_a_forest_has_a_segment_for_each_tree():
    forest = forests()["two targets"]
    root = ET.fromstring(forest.export_pmml(target=1, name="age in years"))
    model = root.find(f"{SPACE}MiningModel")
    assert len(model.findall(f".//{SPACE}Segment/{SPACE}TreeModel")) == 7
    assert len(root.findall(f".//{SPACE}Node")) >= forest.ensemble_.node_count
    outputs = [field.get("name") for field in model.findall(f"{SPACE}Output/{SPACE}OutputField")]
    assert outputs == ["age in years_", "probability_False", "probability_True"]
    assert not model.findall(f".//{SPACE}TreeModel/{SPACE}Output")
    with_losses = ET.fromstring(forests()["losses"].export_pmml())
    fields = with_losses.findall(f"{SPACE}MiningModel/{SPACE}Output/{SPACE}OutputField")
    assert [field.get("feature") for field in fields] == ["probability"] * 3 + ["transformedValue"]
    with pytest.raises(ValueError, match=r"tree 0: where a value is missing.*missing='majority'"):
        forests()["C4.5"].export_pmml()
    with pytest.raises(ValueError, match=r"target=2: must be an integer in \[0, 1\]"):
        forest.export_pmml(target=2)


def of_lines(n=300):
    """A table with all kinds of columns and missing values, and a target that follows lines."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b < b": 10 * rng.normal(size=n), "c": rng.choice(['x"', "y", "z"], n)})
    codes = rng.integers(0, 3, n)
    X["o"] = pd.Categorical.from_codes(codes, ["lo", "mid", "hi"], ordered=True)
    X["prediction"] = rng.integers(0, 4, n)
    y = (
        np.where(X.c == "y", 3 * X.a, -X["b < b"])
        + 2.0 * codes
        + np.where(X.prediction == 2, 5.0, 0.0)
        + 0.1 * rng.normal(size=n)
    )
    X.loc[::7, "a"] = np.nan
    X.loc[::11, "c"] = None
    return X, y


def beyond(X):
    """Samples of the fit, some beyond the bounds of every rule, and some with a category that the fit did not see."""
    return pd.concat([X, X.assign(**{"b < b": 1e4}), X.assign(a=-3e3), X.assign(c="new", a=np.nan)])


@pytest.mark.parametrize("parameters", [{}, {"committees": 23}, {"committees": 23, "extrapolation": 0.0}, {"max_rules": 1}])
def test_rules_with_models_are_scored_as_they_predict(score, parameters):
    """Committees above 20 and bounds are what other translations forget."""
    X, y = of_lines()
    model = CubistRegressor(**parameters, categorical_features=["c", "prediction"]).fit(X, y)
    assert len(model.rules_) == parameters.get("committees", 1)
    rows = beyond(X)
    sums = [r.intercept + sum(b * rows.iloc[400, j] for j, b in r.terms) for r in model.to_rules()]
    assert any(not r.lower <= value <= r.upper for r, value in zip(model.to_rules(), sums, strict=True))
    scored = score(model.export_pmml(), rows)
    assert list(scored) == ["prediction_"]
    np.testing.assert_array_equal(scored["prediction_"].to_numpy(float), model.predict(rows))


def test_the_mean_of_the_fit_is_scored_where_no_rule_holds(score):
    X, y = of_lines()
    model = CubistRegressor(committees=3).fit(X, y)
    members = [model.rules_[0][:1], (), model.rules_[2]]
    model.committee_ = replace(model.committee_, members=tuple(members))
    predicted = model.predict(X)
    (held,) = replace(model.committee_, members=(members[0],)).firing(model._encode_table(X))
    assert 0 < held.size < len(X)
    np.testing.assert_array_equal(score(model.export_pmml(), X)["prediction_"].to_numpy(float), predicted)


def test_rules_with_models_that_refuse_unseen_categories_give_no_result(score):
    X, y = of_lines()
    model = CubistRegressor(committees=2, unseen="error").fit(X, y)
    found = score(model.export_pmml(name="mpg"), pd.concat([X[:5], X[:5].assign(c="new")]))["mpg"]
    np.testing.assert_array_equal(found[:5].to_numpy(float), model.predict(X[:5]))
    assert found[5:].isna().all()
