"""One prediction in words: what decided at each test, and what would have changed the answer."""

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_path_rules import ESTIMATORS, THREE, classes_of, random_table, samples_for
from trees import SCHEMA, chain, flat, leaf, play_tree, random_trees, split

from fasttree import C45Classifier, CARTClassifier, CARTRegressor, ID3Classifier
from fasttree._data.encode import encode_table
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._explain.follow import explain
from fasttree._model.arrays import THRESHOLD
from fasttree._model.paths import conditions_of
from fasttree._model.walks import decision_path, predict_class, predict_value

CLASSES = np.array(["yes", "no"])


def lines_of(explanation):
    return str(explanation).splitlines()


def sample(age=None, size=None, city=None, member=None):
    return {"age": age, "size": size, "city": city, "member": member}


def check(found, tree, table, row=0):
    """Steps and ends are those of the compiled walk."""
    visited = decision_path(tree, table)[row].indices
    assert sorted({step.node for step in found.steps} | {end.node for end in found.ends}) == sorted(visited)
    assert math.isclose(sum(end.part for end in found.ends), 1)
    values = predict_value(tree, table)[row]
    np.testing.assert_allclose(sum(end.part * np.array(end.values) for end in found.ends), values, atol=1e-12)
    np.testing.assert_array_equal(found.values, values)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["values"] == list(found.values)
    assert str(found).startswith("prediction: ")
    assert found._repr_html_().startswith("<div>")


@given(random_trees(), st.randoms(use_true_random=False))
def test_an_explanation_tells_the_path_that_the_tree_walks(tree, random):
    X = samples_for(tree, random)
    table = encode_table(X, SCHEMA)
    for row in random.sample(range(len(X)), 4):
        found = explain(tree, SCHEMA, classes_of(tree), X.iloc[row])
        check(found, tree, table, row)
        if tree.task == "classification":
            assert found.prediction == THREE[predict_class(tree, table)[row]]
            assert math.isclose(sum(found.probabilities.values()), 1)


@given(random_trees(), st.randoms(use_true_random=False))
def test_the_parts_of_a_step_are_what_its_conditions_let_pass(tree, random):
    X = samples_for(tree, random)
    for step in explain(tree, SCHEMA, classes_of(tree), X.iloc[random.randrange(len(X))]).steps:
        conditions, stays = conditions_of(tree, SCHEMA, step.node)
        values = np.array([step.value], dtype=object)
        np.testing.assert_allclose(
            [branch.part for branch in step.branches], [c.passes(values)[0] for c in conditions], atol=1e-12
        )
        assert (step.reason == "stop") == (stays is not None and stays.passes(values)[0] == 1)
        assert {*step.taken, *step.others} == set(step.branches)


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=20)
@given(random=st.randoms(use_true_random=False))
def test_explanations_of_grown_trees_tell_their_predictions(name, random):
    X, y = random_table(random)
    model = ESTIMATORS[name].fit(X, y)
    new, _ = random_table(random)
    table = encode_table(new, model.schema_)
    for row in range(3):
        found = model.explain(new.iloc[row])
        check(found, model.tree_, table, row)
        assert found.prediction == model.predict(new)[row]
        if found.change is not None:
            assert found.change.prediction != found.prediction


def test_an_explanation_reads_like_this():
    found = explain(play_tree(), SCHEMA, CLASSES, sample(40.0, "small"))
    assert lines_of(found) == [
        "prediction: yes  (yes: 100 %)",
        "size = small",
        "    else size = medium: yes (0)",
        "    else size = large: yes (3 of 6)",
        "age <= 41.5, as it is 40, 1.5 below the threshold",
        "    else age > 41.5: no (2.5 of 3)",
        "leaf 4: yes (4), 31 % of the training weight",
        "smallest change to get no: age > 41.5 (now 40)",
    ]


def test_the_distance_of_zero_from_a_threshold_is_not_written():
    model = CARTClassifier().fit([[0.0], [10.0]], ["a", "b"])
    found = model.explain([0.0])
    assert "x0 <= 5, as it is 0\n" in str(found)
    assert found.steps[0].distance == -5
    assert "x0 <= 5, as it is 1, 4 below the threshold" in str(model.explain([1.0]))
    assert ", at the threshold" in str(CARTClassifier().fit([[-1.0], [1.0]], ["a", "b"]).explain([0.0]))


def test_parts_of_a_sample_are_told_below_one_another():
    assert lines_of(explain(play_tree(), SCHEMA, CLASSES, sample(None, "small"))) == [
        "prediction: yes  (yes: 64 %, no: 36 %)",
        "size = small",
        "    else size = medium: yes (0)",
        "    else size = large: yes (3 of 6)",
        "age is missing: shared out",
        "  57 % to age <= 41.5",
        "    leaf 4: yes (4), 57 % of the sample, 31 % of the training weight",
        "  43 % to age > 41.5",
        "    leaf 5: no (2.5 of 3), 43 % of the sample, 23 % of the training weight",
    ]


def test_what_a_test_does_not_know_is_told():
    told = lines_of(explain(play_tree(), SCHEMA, CLASSES, sample(1.0, "giant", "Köln")))
    assert told[1] == "size is giant, which the fit never saw: treated as size = large"
    assert told[4] == "city is Köln, which no sample had here: it stops here"
    assert told[5:7] == ["    else city in {Aachen, Ulm}: yes (2)", "    else city = Bonn: no (2 of 3)"]
    assert told[7] == "node 3: yes (3 of 6), 46 % of the training weight"
    told = lines_of(explain(play_tree(), SCHEMA, CLASSES, sample(1.0, "large", "Bonn")))
    assert "member is missing" in told
    told = lines_of(explain(play_tree(), SCHEMA, CLASSES, sample(1.0, "large", "Bonn", True)))
    assert "member is known, as it is True" in told


def test_a_branch_of_its_own_for_missing_values_needs_no_reason():
    X = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0, None, None]})
    told = lines_of(CARTClassifier(missing="branch").fit(X, ["a", "a", "b", "b", "c", "c"]).explain([None]))
    assert "width is missing" in told
    assert not any("such samples" in line for line in told)


def test_surrogates_that_decide_are_named():
    width = np.arange(20.0)
    X = pd.DataFrame({"width": width, "height": 40 - width, "colour": np.where(width < 9, "red", "blue")})
    y = np.where(width < 10, "a", "b")
    model = CARTClassifier(missing="surrogate").fit(X, y)
    by_height = lines_of(model.explain({"width": None, "height": 35.25, "colour": "red"}))
    assert "width <= 9.5, as it is missing and height > 30.5 (height is 35.25) stands in" in by_height
    by_colour = lines_of(model.explain({"width": None, "height": None, "colour": "blue"}))
    assert "width > 9.5, as it is missing and colour = blue stands in" in by_colour
    step = model.explain({"width": None, "height": 20.0, "colour": "red"}).steps[0]
    assert (step.reason, step.state, step.surrogate) == ("surrogate", "missing", "height <= 30.5 (height is 20)")


def test_soft_thresholds_are_told():
    tree = flat(
        split([leaf([4.0, 0.0]), leaf([0.0, 4.0])], feature=0, kind=THRESHOLD, threshold=0.6, value=[4.0, 4.0]), "classification"
    )
    tree = tree.replace(lower=np.array([0.4, np.nan, np.nan]), upper=np.array([0.8, np.nan, np.nan]))
    found = explain(tree, SCHEMA, CLASSES, sample(0.5))
    assert found.steps[0].reason == "soft"
    told = lines_of(found)
    assert told[1] == "age is 0.5, 0.1 below the threshold, so near that it goes both ways, 75 % : 25 %"
    assert told[2] == "  75 % to age <= 0.6 [0.4, 0.8]"
    assert explain(tree, SCHEMA, CLASSES, sample(0.3)).steps[0].reason == "value"


def test_regression_tells_values():
    model = CARTRegressor().fit([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], [0.5, 0.5, 8.0])
    found = model.explain([3.0, 5.0])
    assert lines_of(found) == [
        "prediction: 8",
        "x0 > 2.5, as it is 3, 0.5 above the threshold",
        "    else x0 <= 2.5: 0.5 (2)",
        "leaf 2: 8 (1), 33 % of the training weight",
    ]
    assert found.prediction == 8.0
    assert found.probabilities is None
    assert found.change is None


def test_several_targets_stand_side_by_side():
    X = [[1.0], [2.0], [3.0], [4.0]]
    model = CARTClassifier().fit(X, [["a", "u"], ["a", "v"], ["b", "v"], ["b", "v"]])
    found = model.explain([1.0])
    assert found.prediction == tuple(model.predict([[1.0]])[0]) == ("a", "u")
    assert found.probabilities == ({"a": 1.0, "b": 0.0}, {"u": 1.0, "v": 0.0})
    assert lines_of(found)[0] == "prediction: a | u  (a: 100 % | u: 100 %)"
    regression = CARTRegressor().fit(X, [[1.0, 10.0], [1.0, 20.0], [2.0, 20.0], [2.0, 20.0]])
    assert regression.explain([1.0]).prediction == (1.0, 10.0)


def test_losses_decide_on_the_answer():
    X, y = [[0.0], [0.0], [0.0], [1.0]], ["a", "a", "b", "b"]
    model = CARTClassifier(loss_matrix=[[0, 1], [9, 0]]).fit(X, y)
    found = model.explain([0.0])
    assert found.prediction == model.predict([[0.0]])[0] == "b"
    assert found.ends[0].prediction == "b"


def test_samples_come_in_many_forms():
    X = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "red", "blue", "blue"]})
    model = CARTClassifier().fit(X, ["a", "a", "b", "b"])
    forms = [
        {"colour": "red", "width": 2.0},
        X.iloc[1],
        X.iloc[[1]],
        pl.from_pandas(X)[1],
        pl.from_pandas(X)[1].to_arrow(),
        pa.table({"colour": pa.array(["red"]).cast(pa.string_view()), "width": pc.run_end_encode(pa.array([2.0]))}),
        [2.0, "red"],
        (2.0, "red"),
        np.array([2.0, "red"], dtype=object),
        [[2.0, "red"]],
        np.array([[2.0, "red"]], dtype=object),
    ]
    told = {str(model.explain(form)) for form in forms}
    assert len(told) == 1
    plain = CARTClassifier().fit(X[["width"]].to_numpy(), ["a", "a", "b", "b"])
    assert str(plain.explain(np.array([2.0]))) == str(plain.explain([[2.0]])) == str(plain.explain({"x0": 2}))


def test_large_integers_beside_floats_keep_their_digits():
    X = pd.DataFrame({"code": [2**60 + 1, 3] * 20, "width": np.arange(40.0)})
    model = CARTClassifier(categorical_features=["code"]).fit(X, ["a", "b"] * 20)
    assert str(model.explain(X.iloc[[0]])) == str(model.explain({"code": 2**60 + 1, "width": 0.0}))


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ({"width": 1.0}, ValueError, "x lacks colour: it must have the features of the fit, width, colour"),
        ({"width": 1.0, "colour": "red", "depth": 2}, ValueError, "x also has depth"),
        ([1.0], ValueError, "x has 1 values: CARTClassifier was fitted to 2 features"),
        (np.array(1.0), ValueError, "x has 1 values: CARTClassifier was fitted to 2 features"),
        ([[1.0, "red"], [2.0, "red"]], ValueError, "x has 2 rows: explain takes one sample at a time"),
        (pd.DataFrame({"width": [1.0, 2.0], "colour": ["red", "red"]}), ValueError, "x has 2 rows"),
        ("red", TypeError, "x is a str: must be a mapping"),
        (3.0, TypeError, "x is a float: must be a mapping"),
        ({"width": "red", "colour": "red"}, TypeError, "width"),
        ({"width": math.inf, "colour": "red"}, ValueError, "width"),
    ],
)
def test_what_is_no_sample_is_refused(x, error, message):
    X = pd.DataFrame({"width": [1.0, 2.0, 3.0, 4.0], "colour": ["red", "red", "blue", "blue"]})
    with pytest.raises(error, match=message):
        CARTClassifier().fit(X, ["a", "a", "b", "b"]).explain(x)


def test_unseen_categories_are_refused_where_that_is_wished():
    X = pd.DataFrame({"colour": ["red", "red", "blue", "blue"]})
    model = CARTClassifier(unseen="error").fit(X, ["a", "a", "b", "b"])
    with pytest.raises(ValueError, match="pink"):
        model.explain({"colour": "pink"})


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=30, unique=True), st.data())
def test_values_are_written_on_the_right_side_of_the_written_thresholds(values, data):
    X = np.array(values)[:, None]
    model = CARTRegressor().fit(X, np.arange(len(values), dtype=float))
    thresholds = model.tree_.threshold[model.tree_.kind == THRESHOLD].tolist()
    x = data.draw(st.sampled_from(values + thresholds + [float(np.nextafter(t, np.inf)) for t in thresholds]))
    for step in model.explain([x]).steps:
        text, told = step.taken[0].condition, step.note.split(" is ")[1].split(",")[0]
        name, sign, threshold = text.split(" ")
        assert name == "x0"
        assert float(told) <= float(threshold) if sign == "<=" else float(told) > float(threshold)
        assert abs(float(told) - x) <= 1e-5 * abs(x)


def test_a_large_value_keeps_a_digit_after_its_point():
    model = CARTRegressor().fit([[1e9], [1e9 + 1]], [1.0, 2.0])
    assert "x0 > 1000000000.5, as it is 1000000000.7, 0.23 above the threshold" in str(model.explain([1e9 + 0.734375]))


@given(st.randoms(use_true_random=False), st.integers(1, 5))
def test_the_nearest_other_answer_is_the_nearest(random, depth):
    rng = np.random.default_rng(random.randrange(10**6))
    X, y = rng.integers(0, 8, (60, 3)).astype(float), rng.integers(0, 3, 60)
    model = CARTClassifier(max_depth=depth).fit(X, y)
    tree, x = model.tree_, X[0]
    found = model.explain(x)
    own = model.predict(x[None])[0]
    scale, single = {}, []
    for j in range(3):
        thresholds = tree.threshold[tree.feature == j]
        if not thresholds.size:
            continue
        scale[j] = float(np.ptp(thresholds)) or abs(float(thresholds[0])) or 1.0
        for value in np.concatenate([thresholds, np.nextafter(thresholds, np.inf)]):
            changed = x.copy()
            changed[j] = value
            if model.predict(changed[None])[0] != own:
                single.append(abs(value - x[j]) / scale[j])
    if single:
        (condition,) = found.change.conditions
        away = max(condition.low - x[condition.index], x[condition.index] - condition.high)
        assert math.isclose(away / scale[condition.index], min(single), abs_tol=1e-9)
    elif found.change is not None:
        assert len(found.change.conditions) == 2
    else:
        assert depth > 2 or tree.n_leaves == 1 or len(set(tree.predicted_class[tree.leaves()])) == 1


def test_many_parts_are_counted():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"c{j}": rng.choice(list("abcdefgh"), 500) for j in range(4)})
    model = C45Classifier(pruning=None).fit(X, rng.choice(["u", "v"], 500))
    found = model.explain(dict.fromkeys(X))
    assert len(found.ends) > 100
    assert "smaller parts" in lines_of(found)[-1]
    assert len(lines_of(found)) < 250


def test_many_branches_are_counted():
    X = pd.DataFrame({"letter": list("abcdefghij") * 2})
    told = lines_of(ID3Classifier().fit(X, list("uvuvuvuvuv") * 2).explain({"letter": "c"}))
    assert told[1] == "letter = c"
    assert told[-3] == "    else … 5 more branches"


@pytest.mark.parametrize("model", [CARTClassifier(missing="error", max_depth=2), ID3Classifier()])
def test_a_missing_value_is_refused_where_predict_refuses_it(model):
    X = pd.DataFrame({"a": list("uvw") * 4, "b": list("xy") * 6})
    model.fit(X, ["yes", "no", "no"] * 4)
    lacking = pd.DataFrame({"a": ["u"], "b": [None]}, dtype=object)
    for refuse in (model.explain, lambda x: model.export_svg(x=x)):
        with pytest.raises(ValueError, match=r"'b' is missing, and this .* refuses missing values: give a value"):
            refuse(lacking)
    with pytest.raises(ValueError, match=r"column 'b' has missing values \(first: row 0\), which this .* refuses: fill them in"):
        model.to_rules().matches(lacking)
    assert model.explain(X.iloc[0]).prediction == "yes"


def test_names_are_escaped_in_html():
    X = pd.DataFrame({"<b>": ["<i>", "<u>"] * 3})
    html = CARTClassifier().fit(X, ["<x>", "y"] * 3).explain({"<b>": "<i>"})._repr_html_()
    assert "<i>" not in html
    assert "&lt;i&gt;" in html
    assert "<x>" not in html


def test_a_notebook_shows_every_step_and_end_in_order():
    html = explain(play_tree(), SCHEMA, CLASSES, sample(None, "small"))._repr_html_()
    cells = ["size is small", "57 % to age &lt;= 41.5", "yes (4)", "no (2.5 of 3)"]
    places = [html.index(cell) for cell in cells]
    assert places == sorted(places)
    alone = explain(flat(leaf([1.0, 2.0]), "classification"), SCHEMA, CLASSES, sample())
    assert "<b>no (2 of 3)</b>" in alone._repr_html_()
    assert lines_of(alone) == ["prediction: no  (no: 67 %, yes: 33 %)", "leaf 0: no (2 of 3), 100 % of the training weight"]


def test_very_deep_paths_are_told():
    schema = Schema((Feature("x", Kind.CONTINUOUS),))
    found = explain(chain(3_000), schema, None, [1e9])
    assert len(found.steps) == 3_000
    assert len(str(found).splitlines()) == 6_002
