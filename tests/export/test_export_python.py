"""Python source gives the answers of the model, bit for bit, for one row of any form, and needs nothing but `math`."""

import ast
import itertools
import math
import re
import sqlite3
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from boosters import boosters, rule_sets
from exports import cells, inputs, model_of, models
from groves import forests, random_forests, random_rows, rows_of
from hypothesis import given, settings
from trees import chain, flat, leaf, play_tree, random_trees, split

from fasttree import CARTClassifier, CARTRegressor, __version__
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.layout import lay_out
from fasttree._export.python import export_python
from fasttree._model.arrays import SHARES, THRESHOLD

AWKWARD = (
    '"""',
    "'''",
    "\\",
    'end"',
    "# a",
    "  # a",
    "{x}",
    "%s",
    "",
    "line\nbreak",
    "a\x00b",
    "Ä",
    "\u202e",
    "predict",
    "\\N{DASH}",
)


def load(model, **how):
    module = {}
    source = export_python(model._subject(), **how) if hasattr(model, "tree_") else model.export_python()
    exec(compile(source, "exported", "exec"), module)
    return module


def assert_same(model, X, **how):
    module, rows = load(model, **how), cells(X)
    given = model._predictions(X)
    if not hasattr(model, "predict_proba"):
        predicted = np.array([module["predict"](row) for row in rows]).reshape(given.shape)
        assert predicted.tobytes() == given.tobytes()
        return
    shares = [module["predict_proba"](row) for row in rows]
    if isinstance(model.classes_, list):
        shares = [list(itertools.chain(*row)) for row in shares]
    assert np.array(shares).tobytes() == given.tobytes()
    assert np.array([module["predict"](row) for row in rows], object).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("kind", models())
def test_answers_are_those_of_the_model(kind):
    model = models()[kind]
    assert_same(model, inputs(model, 400 if kind == "intervals" else 4_300))  # 100,000 in all


@given(tree=random_trees())
@settings(max_examples=40)
def test_random_trees_answer_as_their_models(tree):
    model = model_of(tree)
    X = inputs(model, 50)
    assert_same(model, X)
    assert_same(model, X, most_nested=0)


@pytest.mark.parametrize("kind", models())
def test_the_module_imports_nothing_but_math_and_speaks_the_python_of_3_8(kind):
    tree = ast.parse(models()[kind].export_python(), feature_version=(3, 8))
    imported = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert all(isinstance(node, ast.Import) and [name.name for name in node.names] == ["math"] for node in imported)


def test_a_row_is_a_sequence_or_a_mapping_by_name():
    model = models()["all kinds"]
    predict = load(model)["predict"]
    X = inputs(model, 20)
    wanted = model.predict(X).tolist()
    rows = cells(X)
    assert [predict(tuple(row)) for row in rows] == wanted
    assert [predict(np.array(row, object)) for row in rows] == wanted
    assert [predict(dict(zip(reversed(X.columns), reversed(row), strict=True))) for row in rows] == wanted
    assert [predict(row) for _, row in X.iterrows()] == wanted


@pytest.mark.parametrize("absent", [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT], ids=repr)
def test_all_that_the_model_takes_for_missing_is_missing(absent):
    model = models()["fractional"]
    row = [absent] * 6
    assert (
        load(model)["predict_proba"](row)
        == model.predict_proba(pd.DataFrame([[None] * 6], columns=model.feature_names_in_))[0].tolist()
    )


def test_categories_are_told_apart_as_the_model_does():
    X = pd.DataFrame({"n": [1, 2, 3] * 4, "b": [True, False] * 6, "s": ["1", "2", "3"] * 4})
    y = np.arange(12) % 6
    model = CARTClassifier(categorical_features=["n", "b", "s"]).fit(X, y)
    predict = load(model)["predict"]
    for row in (1, True, "1"), (1.0, 1, "1"), (np.int8(1), np.True_, np.str_("1")):
        assert predict(row) == 0
    assert predict((2, False, "2")) == 1
    assert predict(("2", "False", 2)) == predict((None, None, None))  # of another type: unseen


@pytest.mark.parametrize("unseen", ["as_missing", "error"])
def test_a_number_of_any_type_is_the_category_that_its_float_is(unseen):
    X = pd.DataFrame({"share": [0.1, 0.5, 1.3, 2.0] * 3, "size": range(12)})
    model = CARTRegressor(categorical_features=["share"], unseen=unseen).fit(X, [1.0, 2.0, 3.0, 4.0] * 3)
    predict = load(model)["predict"]
    for share in Decimal("0.1"), Decimal("1.30"), Fraction(13, 10), np.longdouble("0.1"), 2, Decimal("2"):
        assert predict([share, 1]) == model.predict(pd.DataFrame([[share, 1]], columns=list(X), dtype=object))[0]
    if unseen == "as_missing":
        for other in Decimal("0.2"), Fraction(10**400), 10**400, "0.1", None, pd.NA:
            assert predict([other, 1]) == predict([None, 1])


def test_what_the_model_refuses_is_refused():
    of_missing, of_unseen = load(models()["refuses missing"])["predict"], load(models()["refuses unseen"])["predict"]
    row = [40.0, 20.0, "mid", "Köln", 3, True]
    assert of_missing(row)
    assert of_missing([*row[:3], "Rome", *row[4:]])
    assert of_unseen([None, None, None, None, None, None])
    for j, name in enumerate(models()["refuses missing"].feature_names_in_):
        with pytest.raises(ValueError, match=f"{name} is missing, which the tree refuses"):
            of_missing([*row[:j], None, *row[j + 1 :]])
    with pytest.raises(ValueError, match="city is 'Rome', a category that the fit did not see"):
        of_unseen([*row[:3], "Rome", *row[4:]])


def test_a_row_that_is_none_is_refused():
    predict = load(models()["all kinds"])["predict"]
    with pytest.raises(ValueError, match="a row must have 6 values, one per feature; got 2"):
        predict([1.0, 2.0])
    for infinite, told in (math.inf, "inf"), (10**5000, "inf"), (-(10**400), "-inf"), (np.float32("-inf"), "-inf"):
        with pytest.raises(ValueError, match=f"income takes finite numbers; got {told}$"):
            predict([40.0, infinite, "mid", "Köln", 3, True])
    for text in "25", "":
        with pytest.raises(ValueError, match=f"income is the text '{text}': give a number, as float.. reads it, or None"):
            predict([40.0, text, "mid", "Köln", 3, True])
    with pytest.raises(ValueError, match="the row has no value for 'grade': give it, or None if it is missing"):
        predict({"age in years": 40.0, "income": 20.0})


@pytest.mark.parametrize(
    "other", [None, 3.0, "abcdef", pd.DataFrame(np.zeros((6, 6))), np.zeros((1, 6)), np.array(1.0), set("abcdef")], ids=type
)
def test_what_is_no_row_is_told_from_one(other):
    predict = load(models()["all kinds"])["predict"]
    with pytest.raises(TypeError, match=f"a row is a sequence .* or a mapping by name; got {type(other).__name__}"):
        predict(other)


def test_rows_of_a_database_are_read_by_name():
    model = models()["numbers"]
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    row = database.execute("SELECT 20.0 AS x1, 40 AS x0").fetchone()
    lacking = database.execute("SELECT 20.0 AS x1").fetchone()
    database.close()
    predict = load(model)["predict"]
    assert predict(row) == model.predict([[40.0, 20.0]])[0]
    with pytest.raises(ValueError, match="no value for 'x0'"):
        predict(lacking)


def test_names_categories_and_classes_of_any_characters_are_written_as_they_are():
    X = pd.DataFrame(dict.fromkeys(AWKWARD, np.array(AWKWARD, object)))
    model = CARTClassifier(categorical_features=list(AWKWARD)).fit(X, list(AWKWARD))
    module = load(model)
    assert [module["predict"]([name] * len(AWKWARD)) for name in AWKWARD] == list(AWKWARD)
    assert module["predict"](dict.fromkeys(AWKWARD, "\\")) == "\\"


def test_numbers_keep_their_type_and_sign():
    zero = CARTRegressor(criterion="absolute_error").fit([[1.0], [2.0]], [-0.0, -0.0])
    assert math.copysign(1, load(zero)["predict"]([1.0])) == math.copysign(1, zero.predict([[1.0]])[0])
    assert load(models()["integer labels"])["predict"]([40.0, 20.0]) in (-5, 5, 15)
    assert load(models()["boolean labels"])["predict"]([40.0, 20.0]) in (True, False)


def test_the_docstring_tells_the_tree_its_columns_and_what_is_missing():
    told = load(model_of(play_tree()), name="play")["__doc__"]
    assert told.startswith("play: a decision tree for classification (cart), grown on 14 samples: 10 nodes, 6 leaves, depth 3.\n")
    assert "  2  city    one of {Aachen, Bonn, Köln, Ulm}\n" in told
    assert "|-- size = small\n" in told
    assert "None and NaN are missing values.\n" in told
    assert "An empty text for a category is one like any other" in told
    assert f"Written by fasttree {__version__};" in told


def test_what_a_list_of_categories_leaves_out_stands_in_codes():
    X = pd.DataFrame({"street": [f"street {i}" for i in range(40)]})
    module = load(CARTClassifier().fit(X, np.arange(40) % 2))
    assert "... 28 more" in module["__doc__"]
    assert "Where a list is cut, CODES has all categories." in module["__doc__"]
    assert list(module["CODES"][0]) == sorted(X["street"])


def test_the_last_branch_says_when_it_takes_categories_that_no_sample_of_its_node_had():
    X = pd.DataFrame({"x": [1.0] * 6 + [2.0] * 9, "city": list("aaabbb" + "abcabcabc")})
    source = CARTClassifier().fit(X, [0, 0, 0, 1, 1, 1] + [2] * 9).export_python()
    assert re.search(r"else:  # city = [ab], or all else\n", source)
    whole = CARTClassifier().fit(X[:6], [0, 0, 0, 1, 1, 1]).export_python()
    assert re.search(r"else:  # city = [ab], or missing\n", whole)


def most_waiting(tree, rows):
    """The most parts of a sample that wait at once, as the source of Python divides it."""
    source = export_python(model_of(tree)._subject(), most_nested=0)
    module = {"waiting_now": [1]}
    loop = "    while waiting:\n"
    exec(source.replace(loop, f"{loop}        waiting_now.append(len(waiting))\n"), module)
    for row in rows:
        module["predict"](row)
    return max(module["waiting_now"])


@given(tree=random_trees())
@settings(max_examples=40)
def test_the_stack_of_parts_is_large_enough(tree):
    assert most_waiting(tree, cells(inputs(model_of(tree), 50))) <= lay_out(tree).waiting


@pytest.mark.parametrize(("deep_first", "waiting"), [(False, 2), (True, 41)])
def test_the_stack_of_parts_is_no_larger_than_need_be(deep_first, waiting):
    nodes = leaf([1.0, 0.0])
    for _ in range(40):
        children = [nodes, leaf([1.0, 2.0])] if deep_first else [leaf([1.0, 2.0]), nodes]
        value = [sum(child.fields["value"][k] for child in children) for k in range(2)]
        nodes = split(children, feature=0, kind=THRESHOLD, threshold=1.0, value=value, missing=SHARES)
    tree = flat(nodes, "classification")
    assert lay_out(tree).waiting == waiting
    assert most_waiting(tree, [[None] * tree.n_features]) == waiting


def test_a_tree_of_very_many_levels_answers_without_recursion():
    model = model_of(chain(2000), Schema((Feature("x", Kind.CONTINUOUS),), has_names=True))
    assert_same(model, inputs(model, 20))


@pytest.mark.parametrize("name", ["", "2", "a b", 1, None])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match=r"name=.*must be a name in Python"):
        models()["a leaf"].export_python(name=name)


# Forests


@pytest.mark.parametrize("kind", forests())
def test_forests_answer_as_their_models(kind):
    forest = forests()[kind]
    assert_same(forest, rows_of(kind)[:150])
    ast.parse(forest.export_python(), feature_version=(3, 8))


@given(forest=random_forests())
@settings(max_examples=15)
def test_random_forests_answer_as_their_models(forest):
    assert_same(forest, random_rows(forest, 30))


def test_forests_refuse_what_their_models_refuse():
    module, row = load(forests()["refuses both"]), cells(rows_of("refuses both")[:1])[0]
    with pytest.raises(ValueError, match="age in years is missing, which the tree refuses"):
        module["predict"]([None, *row[1:]])
    assert module["__doc__"].startswith("tree: the mean of 7 decision trees for regression (random_forest): ")
    with pytest.raises(ValueError, match="must be a name in Python"):
        forests()["numbers"].export_python(name="a b")


@pytest.mark.parametrize("name", ["holes", "complete", "many classes", "ties"])
def test_boosted_trees_answer_as_their_models(name):
    model, X = boosters()[name]
    module = {}
    exec(model.export_python(), module)
    rows = X.astype(object).where(X.notna(), None).values.tolist()
    assert [module["predict"](row) for row in rows] == model.predict(X).tolist()
    assert [module["predict_proba"](row) for row in rows] == model.predict_proba(X).tolist()
    if model.n_trials_ > 1:
        assert f"the vote of {model.n_trials_} decision trees" in module["__doc__"]


@pytest.mark.parametrize("name", rule_sets())
def test_rules_answer_as_their_models(name):
    model, X = rule_sets()[name]
    X = pd.concat([X, X.iloc[:5].assign(**{X.columns[-1]: np.nan}), X.iloc[:1].map(lambda _: np.nan)])
    module = {}
    exec(model.export_python(name="votes"), module)
    assert module["__doc__"].startswith(f"votes: {len(model.rules_)} rule")
    rows = X.astype(object).where(X.notna(), None).values.tolist()
    assert [module["predict"](row) for row in rows] == model.predict(X).tolist()
    assert [module["predict_proba"](row) for row in rows] == model.predict_proba(X).tolist()
    assert module["predict"](dict(zip(X.columns, rows[0], strict=True))) == model.predict(X[:1])[0]
