"""Trees by any recipe: those of the named algorithms, mixes of them, and what is refused."""

from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.utils import get_tags

import fasttree
from fasttree import (
    RECIPES,
    C45Classifier,
    C45Rules,
    CARTClassifier,
    CARTRegressor,
    ID3Classifier,
    Recipe,
    TreeClassifier,
    TreeRegressor,
)
from fasttree import _core as core
from fasttree._learn.recipe import CHOICES
from fasttree.pruning import CAlpha, CostComplexity

N = 60


def small_table(*, missing: bool, continuous: bool = True) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "size": pd.Categorical(rng.choice(["s", "m", "l"], N), ["s", "m", "l", "xl"], ordered=True),
            "color": pd.Categorical(rng.choice(list("abcd"), N), list("abcde")),
            "shape": rng.choice(["round", "flat", "tall"], N),
            "flag": rng.integers(0, 2, N).astype(bool).astype(object),
        }
    )
    if continuous:
        table["length"] = rng.normal(size=N).round(1)
    return table.where(rng.random(table.shape) > 0.15) if missing else table


TABLES = {
    (missing, continuous): small_table(missing=missing, continuous=continuous)
    for missing, continuous in itertools.product([False, True], repeat=2)
}
CLASSES = np.random.default_rng(1).choice(["one", "two", "three"], N)
VALUES = np.random.default_rng(2).poisson(2, N).astype(float)
NUMERIC = {"squared_error", "absolute_error", "poisson", "fifth_root"}


def table_for(recipe: Recipe) -> pd.DataFrame:
    return TABLES[recipe.missing != "error", recipe.continuous != "error"]


def model_for(recipe: Recipe, **parameters):
    return (TreeRegressor if recipe.impurity in NUMERIC else TreeClassifier)(recipe=recipe, **parameters)


def target_for(recipe: Recipe) -> np.ndarray:
    return VALUES if recipe.impurity in NUMERIC else CLASSES


# The named algorithms


@pytest.mark.parametrize("limits", [{}, {"max_depth": 3}, {"min_samples_leaf": 4, "min_gain": 0.05}, {"split_p_value": 0.1}])
@pytest.mark.parametrize(
    ("word", "named"),
    [
        ("cart", CARTClassifier()),
        ("id3", ID3Classifier()),
        ("c45", C45Classifier(pruning=None)),
        ("c45_textbook", C45Classifier(pruning=None, variant="textbook")),
    ],
)
def test_a_named_recipe_grows_the_tree_of_its_estimator(word, named, limits):
    X = table_for(RECIPES[word])
    own = {"epsilon" if name == "min_gain" and word == "id3" else name: value for name, value in limits.items()}
    ours = TreeClassifier(recipe=word, **limits).fit(X, CLASSES)
    theirs = clone(named).set_params(**own).fit(X, CLASSES)
    assert ours.tree_ == theirs.tree_
    assert ours.tree_unpruned_ == theirs.tree_unpruned_
    assert ours.recipe_ == theirs.recipe_ == RECIPES[word]
    assert (ours.predict(X) == theirs.predict(X)).all()


@pytest.mark.parametrize("variant", ["release8", "textbook"])
def test_pruning_by_error_raises_branches_as_c45_does(variant):
    X, y = load_breast_cancer(return_X_y=True)
    word = "c45" if variant == "release8" else "c45_textbook"
    assert TreeClassifier(recipe=word, pruning="error_based").fit(X, y).tree_ == C45Classifier(variant=variant).fit(X, y).tree_


@pytest.mark.parametrize(
    "parameters",
    [
        {"ccp_alpha": 0.01},
        {"pruning": "error_based"},
        {"pruning": CostComplexity(alpha="cv", selection="1se"), "random_state": 0},
    ],
)
def test_pruning_is_that_of_cart(parameters):
    X, y = load_breast_cancer(return_X_y=True)
    assert TreeClassifier(**parameters).fit(X, y).tree_ == CARTClassifier(**parameters).fit(X, y).tree_


@pytest.mark.parametrize("parameters", [{}, {"pruning": CAlpha(alpha=5e4)}, {"max_leaf_nodes": 9}, {"min_gain": 200.0}])
def test_the_regression_tree_of_cart(parameters):
    X, y = load_diabetes(return_X_y=True)
    assert TreeRegressor(**parameters).fit(X, y).tree_ == CARTRegressor(**parameters).fit(X, y).tree_


def test_tree_estimators_have_the_parameters_of_cart_and_those_of_recipes():
    fixed = {"criterion", "nominal", "missing", "midpoint"}
    own = {"recipe", "min_samples_branch", "min_part_weight"}
    of_classes = {"merge_p_value", "max_intervals"}
    assert set(TreeClassifier().get_params()) == set(CARTClassifier().get_params()) - fixed | own | of_classes
    assert set(TreeRegressor().get_params()) == set(CARTRegressor().get_params()) - fixed | own


def test_several_targets_are_those_of_cart():
    X, classes = table_for(Recipe()), np.column_stack([CLASSES, np.roll(CLASSES, 1)])
    ours, theirs = TreeClassifier(max_depth=4).fit(X, classes), CARTClassifier(max_depth=4).fit(X, classes)
    assert ours.tree_ == theirs.tree_
    assert (ours.predict(X) == theirs.predict(X)).all()
    values = np.column_stack([VALUES, np.roll(VALUES, 1)])
    assert TreeRegressor(max_depth=4).fit(X, values).tree_ == CARTRegressor(max_depth=4).fit(X, values).tree_


# Recipes


def test_a_dict_says_what_differs_from_cart():
    changes = {"impurity": "entropy", "nominal": "one_vs_rest"}
    model = TreeClassifier(recipe=changes).fit(table_for(RECIPES["cart"]), CLASSES)
    assert model.recipe_ == Recipe(**changes)
    assert TreeRegressor(recipe={"nominal": "one_vs_rest"}).fit(table_for(Recipe()), VALUES).recipe_.impurity == "squared_error"


@pytest.mark.parametrize("choice", CHOICES)
def test_a_wrong_word_is_told_which_there_are(choice):
    with pytest.raises(ValueError, match=rf"{choice}='wrong': must be .*{CHOICES[choice][-1]!r}"):
        Recipe(**{choice: "wrong"})
    with pytest.raises(ValueError, match=rf"{choice}=None: must be"):
        Recipe(**{choice: None})


def test_fields_that_are_no_choice_of_words_are_checked_too():
    with pytest.raises(ValueError, match="release8=1: must be True or False"):
        Recipe(release8=1)
    with pytest.raises(ValueError, match="name=3: must be text"):
        Recipe(name=3)


def test_the_words_are_those_that_the_engine_knows():
    assert set(CHOICES["impurity"]) == set(core.IMPURITY)
    assert set(CHOICES["rank"]) == set(core.RANK)
    assert {*CHOICES["nominal"], *CHOICES["ordinal"], *CHOICES["continuous"]} == set(core.FORM)
    assert set(CHOICES["missing"]) == set(core.MISSING)
    assert {field.name for field in fields(Recipe)} == {"name", *CHOICES, "release8"}


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        ("cart4", r"recipe='cart4': must be one of 'cart', 'id3', 'c45', 'c45_textbook', a fasttree.Recipe, or a dict"),
        (None, r"recipe=None: must be one of"),
        ({"kriterium": "gini"}, r"a recipe has no 'kriterium'; its fields are name, impurity, rank,"),
        ({"missing": "shares"}, r"missing='shares': must be 'error',"),
        (Recipe(impurity="squared_error"), r"impurity='squared_error' and classes exclude each other: it needs a numeric target"),
        (Recipe(release8=True), r"release8=True and impurity='gini' exclude each other"),
        (
            replace(RECIPES["c45"], midpoint="high"),
            r"release8=True and midpoint='high' exclude each other: .*; use midpoint='low', or release8=False",
        ),
    ],
)
def test_what_is_no_recipe_is_refused_before_the_table_is_touched(recipe, message):
    with pytest.raises(ValueError, match=message):
        TreeClassifier(recipe=recipe).fit("no table at all", None)


def test_a_regressor_wants_a_recipe_for_numbers():
    with pytest.raises(ValueError, match=r"recipe='c45': must be one of 'cart', a fasttree\.Recipe"):
        TreeRegressor(recipe="c45").fit([[1.0], [2.0]], [0.5, 1.5])
    with pytest.raises(ValueError, match="impurity='gini' and a numeric target exclude each other: it needs classes"):
        TreeRegressor(recipe=Recipe()).fit([[1.0], [2.0]], [0.5, 1.5])


def test_what_a_recipe_refuses_names_the_choice():
    with pytest.raises(ValueError, match=r"'length' is continuous, which a recipe with continuous='error' cannot split"):
        TreeClassifier(recipe="id3").fit(TABLES[False, True], CLASSES)
    with pytest.raises(ValueError, match=r"has missing values .* which a recipe with missing='error' refuses"):
        TreeClassifier(recipe="id3").fit(TABLES[True, False], CLASSES)
    many = pd.DataFrame({"c": np.arange(1001).astype(str)})
    with pytest.raises(ValueError, match="column 'c' has 1001 categories: a recipe with 'groups' groups at most 1000"):
        TreeClassifier(recipe=replace(RECIPES["c45"], nominal="groups")).fit(many, np.arange(1001) % 2)


def test_tags_follow_the_recipe():
    assert get_tags(TreeClassifier()).input_tags.allow_nan
    assert not get_tags(TreeClassifier(recipe=Recipe(missing="error"))).input_tags.allow_nan
    assert get_tags(TreeClassifier()).target_tags.multi_output
    assert get_tags(CARTRegressor()).target_tags.multi_output
    for model in (
        TreeClassifier(recipe="c45"),
        CARTClassifier(missing="fractional"),
        CARTRegressor(ccp_alpha="cv"),
        ID3Classifier(),
    ):
        assert not get_tags(model).target_tags.multi_output


# Mixes

MIXES = {
    "gini, branch per category, shares": Recipe(nominal="present", missing="fractional"),
    "entropy, branch per category, shares": Recipe(impurity="entropy", nominal="present", missing="fractional"),
    "gain ratio, declared categories, complete": Recipe(
        impurity="entropy", rank="gain_ratio", nominal="declared", missing="error"
    ),
    "misclassification, one against the rest": Recipe(impurity="misclassification", nominal="one_vs_rest"),
    "release 8 with thresholds on ordinals": replace(RECIPES["c45"], ordinal="threshold"),
    "release 8 with groups": replace(RECIPES["c45"], nominal="groups", ordinal="groups"),
    "gain ratio, two groups, surrogates": Recipe(impurity="entropy", rank="gain_ratio", missing="surrogate"),
    "plain gain ratio, two groups, direction": Recipe(impurity="entropy", rank="plain_gain_ratio", nominal="one_vs_rest"),
    "poisson, surrogates": Recipe(impurity="poisson", missing="surrogate"),
    "absolute error": Recipe(impurity="absolute_error"),
    "squared error, one against the rest": Recipe(impurity="squared_error", nominal="one_vs_rest"),
}


@pytest.mark.parametrize("name", MIXES)
def test_a_mix_is_a_model_like_any_other(name, tmp_path):
    recipe = MIXES[name]
    X, y = table_for(recipe), target_for(recipe)
    model = model_for(recipe, min_samples_leaf=2, random_state=0).fit(X, y)
    model.tree_.check()
    assert model.get_n_leaves() > 2
    assert model.score(X, y) > 0.1
    assert model.export_text().count("\n") >= model.get_n_leaves()
    assert clone(model).get_params() == model.get_params()
    model.save(tmp_path / "model.json")
    for other in (pickle.loads(pickle.dumps(model)), fasttree.load(tmp_path / "model.json"), clone(model).fit(X, y)):
        assert type(other) is type(model)
        assert other.tree_ == model.tree_
        assert other.recipe_ == recipe
        assert other.get_params() == model.get_params()
        assert np.array_equal(other.predict(X), model.predict(X))
    assert model.prune(CostComplexity(alpha=1e9)).get_n_leaves() == 1
    assert model.prune(CAlpha(alpha=0.1)).get_n_leaves() <= model.get_n_leaves()
    path = model.cost_complexity_pruning_path(X, y)
    assert path.n_leaves[-1] == 1
    assert model.collapse(0).get_n_leaves() == 1


@pytest.mark.parametrize("recipe", ["c45", {"impurity": "entropy", "missing": "error"}])
def test_a_recipe_is_saved_as_it_was_given(recipe, tmp_path):
    model = TreeClassifier(recipe=recipe).fit(TABLES[False, True], CLASSES)
    model.save(tmp_path / "model.json")
    again = TreeClassifier.load(tmp_path / "model.json")
    assert again.recipe == recipe
    assert again.recipe_ == model.recipe_


def test_a_file_with_a_recipe_that_is_none_is_refused(tmp_path):
    path = tmp_path / "model.json"
    TreeClassifier(recipe=Recipe()).fit(TABLES[False, True], CLASSES).save(path)
    path.write_text(path.read_text().replace('"subset"', '"sets"'))
    with pytest.raises(ValueError, match=r"model\.json: settings: nominal='sets': must be 'declared'"):
        fasttree.load(path)


def test_rules_are_made_of_a_tree_by_any_recipe():
    X, y = load_breast_cancer(return_X_y=True)
    model = TreeClassifier(recipe=Recipe(impurity="entropy")).fit(X, y)
    assert C45Rules.from_tree(model, X, y).score(X, y) > 0.95


NAMED = rf"\b(?:{'|'.join([*CHOICES, 'release8'])})=|a numeric target|a branch per category|two groups|several targets"
OTHERS = [name for name in CHOICES if name not in ("impurity", "missing")]


# One recipe in 7: no list of words is a multiple of 7 long, and every three words of three choices are together in some recipe.
# The nightly run takes them all.
STEPS = [7, pytest.param(1, marks=pytest.mark.nightly)]


def recipes(impurity: str, missing: str, step: int) -> Iterator[Recipe]:
    every = itertools.product(*(CHOICES[name] for name in OTHERS), [False, True])
    for words in itertools.islice(every, 0, None, step):
        yield Recipe(impurity=impurity, missing=missing, **dict(zip([*OTHERS, "release8"], words, strict=True)))


def assert_named(refusals: dict[str, Recipe]) -> None:
    for message, recipe in refusals.items():
        assert len(set(re.findall(NAMED, message))) >= 2, f"{recipe}: {message}"


@pytest.mark.parametrize("missing", CHOICES["missing"])
@pytest.mark.parametrize("impurity", CHOICES["impurity"])
@pytest.mark.parametrize("step", STEPS)
def test_every_combination_of_choices_grows_a_tree_or_names_two_of_them(impurity, missing, step):
    n_grown, refusals = 0, {}
    for recipe in recipes(impurity, missing, step):
        X, y = table_for(recipe), target_for(recipe)
        try:
            model = model_for(recipe, min_samples_branch=1).fit(X, y)
        except ValueError as error:
            refusals[str(error)] = recipe
            continue
        n_grown += 1
        model.tree_.check()
        assert model.tree_.node_count > 1, recipe
        predicted = model.predict(X)
        assert predicted.shape == y.shape
        assert model.score(X, y) > (0 if y is VALUES else 0.6), recipe
    assert_named(refusals)
    assert n_grown >= (impurity not in NUMERIC or missing != "fractional")


@pytest.mark.parametrize("missing", CHOICES["missing"])
@pytest.mark.parametrize("impurity", CHOICES["impurity"])
@pytest.mark.parametrize("step", STEPS)
def test_every_combination_grows_a_tree_of_two_targets_or_names_two_choices(impurity, missing, step):
    n_grown, refusals = 0, {}
    for recipe in recipes(impurity, missing, step):
        if recipe.midpoint == "high":
            continue  # it has nothing to do with the number of targets
        X, y = table_for(recipe), target_for(recipe)
        both = np.column_stack([y, np.roll(y, 1)])
        try:
            model = model_for(recipe, min_samples_branch=1).fit(X, both)
        except ValueError as error:
            refusals[str(error)] = recipe
            continue
        n_grown += 1
        model.tree_.check()
        assert model.n_outputs_ == 2
        assert model.tree_.node_count > 1, recipe
        assert model.predict(X).shape == both.shape
        assert model.score(X, both) > (0 if y is VALUES else 0.3), recipe
        if recipe.nominal != "subset":  # whose two groups may change places
            twice, once = (model_for(recipe).fit(X, target).tree_ for target in (np.column_stack([y, y]), y))
            assert np.array_equal(twice.feature, once.feature), recipe
    assert_named(refusals)
    assert n_grown > 0 or missing == "fractional"
