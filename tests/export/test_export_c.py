"""C source gives the answers of the model, bit for bit, compiles without a warning as C and as C++, and needs no library."""

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from boosters import boosters, rule_sets
from exports import N_ROWS, inputs, model_of, models
from groves import forests, random_forests, random_rows, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import SCHEMA as TREES_SCHEMA
from trees import chain, flat, leaf, random_trees, split

from fasttree import C50Classifier, CARTClassifier, CARTRegressor, __version__
from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.c import export_c
from fasttree._export.subject import Subject
from fasttree._model.arrays import NOMINAL

STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wconversion"]
DIALECTS = {
    "gcc": ["gcc", "-std=c99"],
    "clang": ["clang", "-std=c99"],
    "g++": ["g++", "-std=c++98", "-x", "c++"],
    "clang++": ["clang++", "-std=c++17", "-x", "c++"],
}
NAMES = {name: f"model_{i}" for i, name in enumerate(models())}
NAMES_OF_FORESTS = {name: f"forest_{i}" for i, name in enumerate(forests())}
AWKWARD = (
    "*/",
    "???/",
    "/* a",
    "int",
    "",
    'quo"ted\\',
    "tree_nodes",
    "N FEATURES",
    "Ä",
    "a b",
    "a-b",
    "line\nbreak",
    "% {}",
)


def compiler():
    found = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if found is None or sys.platform == "win32":
        pytest.skip("needs a C compiler")
    return found


def tree_of(model):
    """The tree, or the first one of a forest, which has the same columns of values."""
    return model.tree_ if hasattr(model, "tree_") else model.ensemble_.tree(0)


def driver(model, name):
    """A loop over samples, which calls the functions of a model: classes, and probabilities or means."""
    tree = tree_of(model)
    x, classes = f"x + i * {tree.n_features}", f"classes + i * {tree.n_outputs}"
    out = f"out + i * {tree.value.shape[1]}"
    calls = f"{name}_predict_proba({x}, {out});"
    if tree.task == "regression":
        calls = f"classes[i] = {name}_predict({x}, {out});" if tree.n_outputs > 1 else f"out[i] = {name}_predict({x});"
    elif tree.n_outputs > 1:
        calls = f"status = {name}_predict({x}, {classes}); {calls}"
    else:
        calls = f"classes[i] = {name}_predict({x}); {calls}"
    return (
        f"void {name}_all(const {name.upper()}_INPUT *x, long n, int *classes, double *out);\n"
        f"void {name}_all(const {name.upper()}_INPUT *x, long n, int *classes, double *out)\n"
        f"{{ long i; int status = 0; for (i = 0; i < n; i++) {{ {calls} }} (void)classes; (void)status; }}\n"
    )


def written(model, name):
    if not hasattr(model, "tree_"):
        return model.export_c(name=name)
    return export_c(model._subject(), name, **{"most_nested": 0} if name.startswith("tables") else {})


def build(folder, named, *flags):
    """A shared library of the trees of some models, by name."""
    source = folder / "trees.c"
    source.write_text("".join(written(model, name) + driver(model, name) for name, model in named.items()), encoding="utf-8")
    # without any library: what the trees call they must have
    alone = ["-nostdlib", "-Wl,--no-undefined"] if sys.platform == "linux" else []
    command = [compiler(), "-std=c99", *STRICT, "-O1", "-shared", "-fPIC", *alone, *flags]
    subprocess.run([*command, "-o", str(folder / "trees.so"), str(source)], check=True)
    return ctypes.CDLL(str(folder / "trees.so"))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("models"), {NAMES[name]: model for name, model in models().items()})


def codes(library, name, j, feature, values):
    """The codes of categories as the library tells them; NaN where there is none."""
    text = isinstance(feature.categories[0], str)
    find = getattr(library, f"{name}_code" if text else f"{name}_code_of_number")
    find.argtypes = [ctypes.c_int, ctypes.c_char_p if text else ctypes.c_double]
    places, distinct = pd.factorize(pd.Series(list(values), dtype=object))
    given = (value.encode("utf-8", "surrogatepass") if text else float(value) for value in distinct)
    found = [float(find(j, value)) for value in given]
    return np.array([*found, np.nan])[places]


def numbers(library, name, model, X):
    """A table as C takes it."""
    columns = [X[column] for column in X] if isinstance(X, pd.DataFrame) else list(X.T)
    features = zip(model.schema_.features, columns, strict=True)
    return np.column_stack(
        [
            np.asarray(column, float) if feature.categories is None else codes(library, name, j, feature, column)
            for j, (feature, column) in enumerate(features)
        ]
    )


def answers(library, name, model, x):
    """Classes, as places, and probabilities or means that C gives."""
    tree = tree_of(model)
    classes = np.full((len(x), tree.n_outputs), -7, np.int32)
    out = np.full((len(x), tree.value.shape[1]), -7.0)
    getattr(library, f"{name}_all")(x.ctypes, ctypes.c_long(len(x)), classes.ctypes, out.ctypes)
    return classes, out


def assert_same(library, name, model, X):
    classes, out = answers(library, name, model, np.ascontiguousarray(numbers(library, name, model, X)))
    assert out.tobytes() == model._predictions(X).tobytes()
    if tree_of(model).task == "classification":
        labels = model.classes_ if tree_of(model).n_outputs > 1 else [model.classes_]
        predicted = model.predict(X).reshape(len(X), -1)
        for some, places, wanted in zip(labels, classes.T, predicted.T, strict=True):
            np.testing.assert_array_equal(some[places], wanted)


@pytest.mark.parametrize("kind", models())
def test_answers_are_those_of_the_model(library, kind):
    model = models()[kind]
    assert_same(library, NAMES[kind], model, inputs(model, N_ROWS))


@settings(max_examples=2)
@given(trees=st.lists(random_trees(), min_size=15, max_size=15))
def test_random_trees_answer_as_their_models(trees, tmp_path_factory):
    named = {f"{form}_{i}": model_of(tree) for i, tree in enumerate(trees) for form in ("nested", "tables")}
    library = build(tmp_path_factory.mktemp("random"), named)
    for name, model in named.items():
        assert_same(library, name, model, inputs(model, 300))


def test_a_branch_without_categories_leaves_nothing_to_test(tmp_path):
    member = [feature.name for feature in TREES_SCHEMA.features].index("member")
    children = [leaf([3.0, 1.0]), leaf([3.0, 1.0])]
    tree = flat(split(children, feature=member, kind=NOMINAL, value=[6.0, 2.0], table=[(1, 0), (2, 0)]), "classification")
    model = model_of(tree)
    assert_same(build(tmp_path, {"nested": model}), "nested", model, inputs(model, 20))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_kind_of_tree_compiles_without_a_warning(dialect, tmp_path):
    if shutil.which(dialect) is None:
        pytest.skip(f"needs {dialect}")
    source = tmp_path / "trees.c"
    trees = [model.export_c(name=NAMES[kind]) for kind, model in models().items()]
    several = [forest.export_c(name=NAMES_OF_FORESTS[kind]) for kind, forest in forests().items()]
    source.write_text("".join([*trees, *several]), encoding="utf-8")
    subprocess.run([*DIALECTS[dialect], *STRICT, "-fsyntax-only", str(source)], check=True)


def test_a_missing_value_is_refused_where_the_model_refuses_it(library):
    model, name = models()["refuses missing"], NAMES["refuses missing"]
    x = np.ascontiguousarray(numbers(library, name, model, inputs(model, 2)))
    x[1, 0] = np.nan
    classes, out = answers(library, name, model, x)
    assert classes[0] >= 0
    assert out[0].sum() == pytest.approx(1)
    assert classes[1] == -1
    assert (out[1] == -7).all()


def test_an_unseen_category_is_refused_where_the_model_refuses_it_and_a_missing_one_is_not(library):
    model, name = models()["refuses unseen"], NAMES["refuses unseen"]
    x = np.ascontiguousarray(numbers(library, name, model, inputs(model, 3)))
    x[1, 3], x[2, 3] = 0, np.nan
    classes, _ = answers(library, name, model, x)
    assert (classes.ravel() >= 0).tolist() == [True, False, True]


def test_a_regression_tree_refuses_by_nan(tmp_path):
    model = CARTRegressor(missing="error").fit([[1.0], [2.0]], [3.0, 4.0])
    library = build(tmp_path, {"tree": model})
    _, out = answers(library, "tree", model, np.array([[1.0], [np.nan]]))
    assert out[0] == 3
    assert np.isnan(out[1])


def test_samples_may_be_an_array_of_float(tmp_path):
    model = models()["numbers"]
    library = build(tmp_path, {"tree": model}, "-DTREE_INPUT=float")
    X = inputs(model, 2000, single=True)
    classes, out = answers(library, "tree", model, X.astype(np.float32))
    assert out.tobytes() == model.predict_proba(X).tobytes()
    np.testing.assert_array_equal(model.classes_[classes.ravel()], model.predict(X))


def test_another_file_that_declares_the_functions_calls_them(tmp_path):
    (tmp_path / "tree.c").write_text(models()["all kinds"].export_c(), encoding="utf-8")
    (tmp_path / "main.c").write_text(
        '#define TREE_DECLARE\n#include "tree.c"\n#include "tree.c"\n#include <stdio.h>\n'
        "int main(void) {\n    double x[TREE_N_FEATURES] = {0};\n    x[TREE_AGE_IN_YEARS] = 70;\n"
        '    x[TREE_CITY] = tree_code(TREE_CITY, "K\\303\\266ln");\n    puts(tree_classes[tree_predict(x)]);\n    return 0;\n}\n'
    )
    program = str(tmp_path / "program")
    subprocess.run(
        [compiler(), "-std=c99", *STRICT, str(tmp_path / "main.c"), str(tmp_path / "tree.c"), "-o", program], check=True
    )
    row = pd.DataFrame([[70.0, 0.0, None, "Köln", np.nan, None]], columns=models()["all kinds"].feature_names_in_)
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert said == f"{models()['all kinds'].predict(row)[0]}\n"


def test_fast_math_is_refused(tmp_path):
    (tmp_path / "tree.c").write_text(models()["numbers"].export_c())
    refused = subprocess.run(
        [compiler(), "-ffast-math", "-fsyntax-only", str(tmp_path / "tree.c")], capture_output=True, text=True, check=False
    )
    assert refused.returncode
    assert "missing values are NaN" in refused.stderr


def test_names_and_categories_of_any_characters_compile_and_are_found(tmp_path):
    X = pd.DataFrame(dict.fromkeys(AWKWARD, np.array(AWKWARD, object)))
    model = CARTClassifier(categorical_features=list(AWKWARD)).fit(X, list(AWKWARD))
    library = build(tmp_path, {"tree": model})
    assert_same(library, "tree", model, X)
    assert (numbers(library, "tree", model, X) > 0).all()


@pytest.mark.parametrize("feature", [-1, 6, 99, -(2**31), 2**31 - 1])
def test_a_feature_that_there_is_not_has_no_codes(library, feature):
    name = NAMES["all kinds"]
    assert getattr(library, f"{name}_code")(ctypes.c_int(feature), b"mid") == 0
    assert getattr(library, f"{name}_code_of_number")(ctypes.c_int(feature), ctypes.c_double(1)) == 0


def test_the_head_says_who_wrote_it_and_where_a_list_is_whole():
    X = pd.DataFrame({"street": [f"street {i}" for i in range(40)], "house": np.arange(40)})
    y = np.arange(40) % 2
    cut = CARTClassifier(categorical_features=["street", "house"]).fit(X, y).export_c(name="t").partition("*/")[0]
    assert f"Written by fasttree {__version__};" in cut
    assert "Where the list above is cut, t_texts or t_numbers below has all categories with their codes." in cut
    assert "is cut" not in models()["all kinds"].export_c()


def test_names_of_features_are_told_apart():
    names = ["a b", "a-b", "Ä", "ä", "", "N FEATURES", "follow", "7"]
    schema = Schema(tuple(Feature(name, Kind.CONTINUOUS) for name in names))
    source = export_c(Subject(chain(0).replace(n_features=len(names)), schema, None, "cart"), "t")
    features = source.partition("enum {")[2].partition("}")[0].partition("*/")[2].replace(",", "").split()
    assert features == ["T_A_B", "T_A_B_2", "T_A", "T_A_2", "T_FEATURE", "T_N_FEATURES_2", "T_FOLLOW", "T_7"]


def test_a_tree_of_very_many_levels_answers_without_recursion(tmp_path):
    model = model_of(chain(2000), Schema((Feature("x", Kind.CONTINUOUS),), has_names=True))
    library = build(tmp_path, {"tree": model})
    assert_same(library, "tree", model, inputs(model, 1000))


@pytest.mark.parametrize("name", ["", "2", "a b", "Ä", "_tree", "a;b", 1, None])
def test_a_name_that_is_none_of_c_is_refused(name):
    with pytest.raises(ValueError, match=r"name=.*must be a name in C"):
        models()["a leaf"].export_c(name=name)


def test_what_c_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="character of code 0"):
        CARTClassifier().fit([[1.0], [2.0]], ["a\0b", "c"]).export_c()
    ids = pd.DataFrame({"id": [2**53 + 1, 7]})
    with pytest.raises(ValueError, match=r"'id': its category 9007199254740993 is not exact"):
        CARTClassifier(categorical_features=["id"]).fit(ids, [0, 1]).export_c()


# Forests


@pytest.fixture(scope="module")
def grove(tmp_path_factory):
    return build(tmp_path_factory.mktemp("forests"), {NAMES_OF_FORESTS[name]: forest for name, forest in forests().items()})


@pytest.mark.parametrize("kind", forests())
def test_forests_answer_as_their_models(grove, kind):
    assert_same(grove, NAMES_OF_FORESTS[kind], forests()[kind], rows_of(kind))


@settings(max_examples=1)
@given(some=st.lists(random_forests(), min_size=12, max_size=12))
def test_random_forests_answer_as_their_models(some, tmp_path_factory):
    named = {f"forest_{i}": forest for i, forest in enumerate(some)}
    library = build(tmp_path_factory.mktemp("random"), named)
    for name, forest in named.items():
        assert_same(library, name, forest, random_rows(forest, 100))


def test_forests_refuse_what_their_models_refuse(grove):
    name, forest = NAMES_OF_FORESTS["refuses missing"], forests()["refuses missing"]
    x = np.ascontiguousarray(numbers(grove, name, forest, rows_of("refuses missing")[:2]))
    x[1, 0] = np.nan
    classes, out = answers(grove, name, forest, x)
    assert (classes[0] >= 0, classes[1]) == (True, -1)
    assert (out[1] == -7).all()
    name, forest = NAMES_OF_FORESTS["refuses both"], forests()["refuses both"]
    x = np.ascontiguousarray(numbers(grove, name, forest, rows_of("refuses both")[:2]))
    x[1, 3] = 0
    assert np.isnan(answers(grove, name, forest, x)[1][:, 0]).tolist() == [False, True]


def test_the_source_of_a_forest_has_a_line_per_node_and_says_what_it_is():
    forest = forests()["numbers"]
    source = forest.export_c(name="grove")
    assert "grove: the mean of 7 decision trees for classification (random_forest): " in source
    assert "grove_answers" not in source  # they follow from the mean
    assert len(source.splitlines()) < forest.ensemble_.node_count + 250
    with pytest.raises(ValueError, match="must be a name in C"):
        forest.export_c(name="a b")


def test_boosted_trees_answer_as_their_models(tmp_path):
    named = {f"vote_{i}": found for i, found in enumerate(boosters().values())}
    library = build(tmp_path, {name: model for name, (model, _) in named.items()})
    for name, (model, X) in named.items():
        assert_same(library, name, model, X)


def test_votes_by_costs_are_refused():
    model, X = boosters()["complete"]
    costly = C50Classifier(trials=5, loss_matrix={"yes": {"no": 5}}).fit(X, model.predict(X))
    for export in (costly.export_c, costly.export_python):
        with pytest.raises(ValueError, match="vote by costs, which source code cannot do"):
            export()


def test_rules_answer_as_their_models(tmp_path):
    named = {f"rules_{i}": found for i, found in enumerate(rule_sets().values())}
    source = tmp_path / "trees.c"
    drivers = "".join(model.export_c(name=name) + driver_of(model, name) for name, (model, _) in named.items())
    source.write_text(drivers, encoding="utf-8")
    subprocess.run(
        [compiler(), "-std=c99", *STRICT, "-shared", "-fPIC", "-o", str(tmp_path / "trees.so"), str(source)], check=True
    )
    library = ctypes.CDLL(str(tmp_path / "trees.so"))
    for name, (model, X) in named.items():
        x = np.ascontiguousarray(numbers(library, name, model, pd.concat([X, X.iloc[:1].map(lambda _: np.nan)])))
        classes, out = np.full(len(x), -7, np.int32), np.full((len(x), len(model.classes_)), -7.0)
        getattr(library, f"{name}_all")(x.ctypes, ctypes.c_long(len(x)), classes.ctypes, out.ctypes)
        rows = pd.concat([X, X.iloc[:1].map(lambda _: np.nan)])
        assert out.tobytes() == model.predict_proba(rows).tobytes()
        assert model.classes_[classes].tolist() == model.predict(rows).tolist()


def driver_of(model, name):
    """A loop over samples, which calls the functions of rules."""
    call = f"classes[i] = {name}_predict(x + i * {model.n_features_in_}); "
    call += f"(void){name}_predict_proba(x + i * {model.n_features_in_}, out + i * {len(model.classes_)});"
    head = f"void {name}_all(const {name.upper()}_INPUT *x, long n, int *classes, double *out)"
    return f"{head};\n{head}\n{{ long i; for (i = 0; i < n; i++) {{ {call} }} }}\n"
