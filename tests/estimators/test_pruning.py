"""`fasttree.pruning`: methods as values, in estimators, searches and files, those of earlier versions too."""

import copy
import json
import pickle
from pathlib import Path

import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV, KFold

import fasttree
from fasttree import C45Classifier, C50Classifier, CARTClassifier, CARTRegressor, TreeClassifier
from fasttree.pruning import (
    METHODS,
    CAlpha,
    ChiSquare,
    CostComplexity,
    CriticalValue,
    ErrorBased,
    MinimumError,
    Pessimistic,
    ReducedError,
)

IRIS = load_iris(return_X_y=True)
OTHERS = [  # a value of each method that differs from its defaults
    CostComplexity(alpha="cv", risk="error", cv=3, selection="1se", validation_fraction=0.5),
    CAlpha(alpha=2.0, unit="nats"),
    ReducedError(max_error_increase=0.01, validation_fraction=0.4),
    Pessimistic(),
    ErrorBased(confidence=0.1),
    MinimumError(m="laplace"),
    CriticalValue(value=0.3, selection="1se"),
    ChiSquare(p_value=0.01),
]


def test_every_method_is_here():
    assert [type(value) for value in OTHERS] == list(METHODS.values())


@pytest.mark.parametrize("word", METHODS)
def test_a_word_is_short_for_the_value_with_its_defaults(word):
    word_tree, value_tree = (
        TreeClassifier(recipe="c45", pruning=pruning, random_state=0).fit(*IRIS).tree_ for pruning in (word, METHODS[word]())
    )
    assert word_tree == value_tree


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_values_are_equal_if_their_parameters_are(value):
    assert value == copy.deepcopy(value) == clone(value) == pickle.loads(pickle.dumps(value)) == type(value)(**value.get_params())
    assert (value != type(value)()) == bool(value.get_params())
    assert all(value != other for other in OTHERS if other is not value)
    assert value != value.word
    assert repr(value).startswith(type(value).__name__)
    rows = [([0, 1], [2]), ([1, 2], [0])]
    assert CostComplexity(cv=rows) == CostComplexity(cv=list(rows))
    assert CostComplexity(cv=KFold(3)) != CostComplexity(cv=KFold(3))  # a splitter may draw: it is equal to itself alone


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_a_model_file_keeps_the_value(value, tmp_path):
    model = CARTClassifier(pruning=value, random_state=0).fit(*IRIS)
    again = fasttree.from_json(model.to_json())
    assert again.pruning == value
    assert again.tree_ == model.tree_
    assert again.fit(*IRIS).tree_ == model.tree_


def test_a_search_sets_parameters_of_the_value():
    search = GridSearchCV(CARTClassifier(pruning=CostComplexity()), {"pruning__alpha": [0.0, 1e9]}, cv=3).fit(*IRIS)
    assert search.best_params_ == {"pruning__alpha": 0.0}
    assert search.best_estimator_.pruning == CostComplexity(alpha=0.0)
    search = GridSearchCV(CARTClassifier(), {"pruning": [None, CAlpha(alpha=1e9)]}, cv=3).fit(*IRIS)
    assert search.best_params_ == {"pruning": None}


def test_short_forms():
    short, value = CARTClassifier(ccp_alpha=0.02).fit(*IRIS), CARTClassifier(pruning=CostComplexity(alpha=0.02)).fit(*IRIS)
    assert short.tree_ == value.tree_ != CARTClassifier().fit(*IRIS).tree_
    short, value = C45Classifier(confidence=0.01).fit(*IRIS), C45Classifier(pruning=ErrorBased(confidence=0.01)).fit(*IRIS)
    assert short.tree_ == value.tree_ != C45Classifier(confidence=0.9).fit(*IRIS).tree_
    with pytest.raises(ValueError, match=r"ccp_alpha=0\.1 and pruning=CostComplexity\(alpha=0\.2\) exclude each other"):
        CARTClassifier(ccp_alpha=0.1, pruning=CostComplexity(alpha=0.2)).fit(*IRIS)


@pytest.mark.parametrize("kind", [C45Classifier, C50Classifier])
def test_a_confidence_is_given_once(kind):
    given_twice = r"confidence=0\.1 and pruning=ErrorBased\(confidence=0\.3\) exclude each other"
    with pytest.raises(ValueError, match=given_twice):
        kind(confidence=0.1, pruning=ErrorBased(confidence=0.3)).fit(*IRIS)


def test_numbers_have_the_methods_for_numbers():
    X, y = load_diabetes(return_X_y=True)
    for value in OTHERS:
        numeric = clone(value).set_params(**({"risk": "impurity"} if isinstance(value, CostComplexity) else {}))
        if value.for_numbers:
            assert CARTRegressor(pruning=numeric, random_state=0).fit(X, y).tree_.n_leaves > 0
            continue
        with pytest.raises(ValueError, match=rf"pruning={type(value).__name__}\(.*\) needs classes; CostComplexity, CAlpha, Red"):
            CARTRegressor(pruning=value).fit(X, y)
        with pytest.raises(ValueError, match=f"pruning='{value.word}': must be 'cost_complexity', 'c_alpha', 'reduced_error'"):
            CARTRegressor(pruning=value.word).fit(X, y)
    with pytest.raises(ValueError, match="risk='error' needs classes"):
        CARTRegressor(pruning=CostComplexity(risk="error")).fit(X, y)


@pytest.mark.parametrize(
    ("pruning", "message"),
    [
        ({"method": "by hand"}, "settings: pruning: method must be one of cost_complexity, .*; got 'by hand'"),
        ({"alpha": 1}, "pruning: method must be one of"),
        ({"method": ["c_alpha"]}, "pruning: method must be one of"),
        ({"method": "c_alpha", "m": 1}, "pruning: c_alpha has no 'm'; it has alpha, unit"),
        ({"method": "pessimistic", "m": 1}, "pruning: pessimistic has no 'm'; it has no parameters"),
        ({"method": "c_alpha", "alpha": "much"}, "alpha='much': must be a finite number >= 0"),
        (["c_alpha"], "pruning="),
    ],
)
def test_a_forged_file_is_one_error(pruning, message):
    document = json.loads(CARTClassifier().fit(*IRIS).to_json())
    document["settings"]["pruning"] = pruning
    with pytest.raises(ValueError, match=message):
        fasttree.from_json(json.dumps(document))


# The flat parameters of files up to version 1.2
FLAT = {
    "alpha": 0.0,
    "alpha_unit": "bits",
    "ccp_alpha": 0.0,
    "confidence": 0.25,
    "critical_value": None,
    "cv": 10,
    "m": 2.0,
    "max_p_value": 0.05,
    "pruning": None,
    "pruning_risk": "impurity",
    "rule": "best",
    "tolerance": 0.0,
    "validation_fraction": 0.3,
}


@pytest.mark.parametrize(
    ("given", "pruning", "ccp_alpha"),
    [
        ({}, None, 0.0),
        ({"ccp_alpha": 0.02}, None, 0.02),
        ({"ccp_alpha": "cv", "rule": "1se"}, CostComplexity(alpha="cv", selection="1se"), 0.0),
        ({"pruning": "cost_complexity", "ccp_alpha": 0.1, "pruning_risk": "error"}, CostComplexity(alpha=0.1, risk="error"), 0.0),
        ({"pruning": "cost_complexity"}, "cost_complexity", 0.0),
        ({"pruning": "c_alpha", "alpha": 3.0, "alpha_unit": "nats"}, CAlpha(alpha=3.0, unit="nats"), 0.0),
        ({"pruning": "c_alpha", "m": 9.0}, "c_alpha", 0.0),
        ({"pruning": "reduced_error", "tolerance": 0.1}, ReducedError(max_error_increase=0.1), 0.0),
        ({"pruning": "pessimistic"}, "pessimistic", 0.0),
        ({"pruning": "error_based", "confidence": 0.1}, ErrorBased(confidence=0.1), 0.0),
        ({"pruning": "minimum_error", "m": "laplace"}, MinimumError(m="laplace"), 0.0),
        ({"pruning": "critical_value", "critical_value": 0.1}, CriticalValue(value=0.1), 0.0),
        ({"pruning": "chi_square", "max_p_value": 0.1}, ChiSquare(p_value=0.1), 0.0),
    ],
)
def test_files_of_earlier_versions_have_their_pruning(given, pruning, ccp_alpha):
    document = json.loads(CARTClassifier().fit(*IRIS).to_json())
    settings = {name: value for name, value in document["settings"].items() if name != "split_p_value"}
    document["settings"] = settings | FLAT | given | {"max_split_p_value": 0.5}
    model = fasttree.from_json(json.dumps(document))
    assert (model.pruning, model.ccp_alpha, model.split_p_value) == (pruning, ccp_alpha, 0.5)


def test_c45_of_earlier_versions_has_its_confidence():
    document = json.loads(C45Classifier().fit(*IRIS).to_json())
    document["settings"] |= FLAT | {"pruning": "error_based", "confidence": 0.1}
    model = fasttree.from_json(json.dumps(document))
    assert (model.pruning, model.confidence) == ("error_based", 0.1)


def test_recipes_of_earlier_versions_have_todays_words():
    recipe = fasttree.Recipe(nominal="declared", ordinal="declared", continuous="error", missing="error")
    document = json.loads(TreeClassifier(recipe=recipe).fit([["a"], ["b"]], [0, 1]).to_json())
    assert document["settings"]["recipe"]["nominal"] == "declared"
    document["settings"]["recipe"] |= {"nominal": "category", "ordinal": "category", "continuous": "refuse"}
    assert fasttree.from_json(json.dumps(document)).recipe == recipe


def test_the_models_of_earlier_versions_keep_their_prunings():
    folder = Path(__file__).parents[1] / "tables" / "models"
    found = {path.name: fasttree.load(path) for path in sorted((folder / "1.2").glob("*.json")) if path.name != "answers.json"}
    assert found["cart-pruned.json"].ccp_alpha == 0.02
    assert found["cart-pruned.json"].pruning is None
    assert found["c45-soft.json"].pruning == "error_based"


def test_edits_of_a_page_are_applied_and_wrong_ones_are_errors():
    model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
    edits = {"format": "fasttree.edits", "version": 1, "nodes": 7, "leaves": 3, "edits": [{"edit": "collapse", "node": 2}]}
    assert model.tree_.n_branches[2]
    inner = [node for node in range(1, 7) if model.tree_.n_branches[node]][-1]
    edits["edits"][0]["node"] = inner
    leaves = model.collapse(inner).get_n_leaves()
    assert model.apply_edits(edits | {"leaves": leaves}).to_json() == model.collapse(inner).to_json()
    assert model.apply_edits(json.dumps(edits | {"leaves": 4, "edits": []})).to_json() == model.to_json()
    pruned = model.apply_edits(edits | {"leaves": 1, "edits": [{"edit": "prune", "alpha": 0.2, "risk": "impurity"}]})
    assert pruned.to_json() == model.prune(CostComplexity(alpha=0.2)).to_json()
    wrong = {
        "edits are no JSON": "{",
        "must be JSON that the page copies": "[]",
        r"the version 2: this fasttree reads version 1": edits | {"version": 2},
        "must have the numbers of 'nodes' and 'leaves'": edits | {"leaves": None},
        "'alpha': -1, .* is none; an edit is": edits | {"edits": [{"edit": "prune", "alpha": -1, "risk": "error"}]},
        "'grow'.* is none": edits | {"edits": [{"edit": "grow", "node": 1}]},
        "edits are for a tree of 9 nodes, and this one has 7": edits | {"nodes": 9},
        "edits lead to 2 leaves in the page": edits | {"leaves": 2, "edits": []},
        "node=6.*leaf already|node=7": edits | {"edits": [{"edit": "collapse", "node": 7}]},
    }
    for message, given in wrong.items():
        with pytest.raises(ValueError, match=message):
            model.apply_edits(given)
