"""Files of forests: what is read is what was written, and damaged or forged files raise one error."""

import base64
import copy
import gzip
import json
import struct

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

import fasttree
from fasttree import CARTClassifier, ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor, Recipe
from fasttree._export.document.values import DocumentError
from fasttree._model.packed.nodes import KNOWN, LEAF, NODE, SUBSET, THRESHOLD, pairs, with_byte_order

X, Y = load_iris(return_X_y=True)


def forest(**choices):
    return RandomForestClassifier(**{"n_estimators": 5, "random_state": 0, **choices}).fit(X, Y)


def document(**choices):
    return json.loads(forest(**choices).to_json())


def refused(changed, match):
    with pytest.raises(DocumentError, match=match):
        fasttree.from_json(json.dumps(changed))


@pytest.mark.parametrize("ending", [".json", ".json.gz"])
def test_a_file_has_the_whole_forest(tmp_path, ending):
    model = forest(max_depth=3, recipe=Recipe(impurity="entropy"), oob_score=False)
    model.save(tmp_path / f"forest{ending}")
    read = RandomForestClassifier.load(tmp_path / f"forest{ending}")
    assert read.get_params() == model.get_params()
    assert read.ensemble_ == model.ensemble_
    assert read.classes_.tolist() == [0, 1, 2]
    assert read.target_names_ == ["y"]
    assert (read.feature_importances_ == model.feature_importances_).all()
    assert (read.permutation_importances(X, Y).importances == model.permutation_importances(X, Y).importances).all()
    assert (read.predict_std(X[:5]) == model.predict_std(X[:5])).all()
    grown = read.set_params(warm_start=True, n_estimators=8).fit(X, Y)
    assert grown.ensemble_ == forest(max_depth=3, recipe=Recipe(impurity="entropy"), n_estimators=8).ensemble_
    with pytest.raises(ValueError, match="holds a RandomForestClassifier, not a CARTClassifier"):
        CARTClassifier.load(tmp_path / f"forest{ending}")


def test_every_forest_is_read_as_its_class():
    for model in (
        ExtraTreesClassifier(n_estimators=3, random_state=0).fit(X, Y),
        RandomForestRegressor(n_estimators=3, random_state=0).fit(X, Y),
    ):
        read = fasttree.from_json(model.to_json())
        assert type(read) is type(model)
        assert (read.predict(X) == model.predict(X)).all()


def test_a_file_of_the_first_version_is_read():
    first = document() | {"version": "1.0"}
    assert fasttree.from_json(json.dumps(first)).ensemble_ == forest().ensemble_


def test_nodes_have_the_same_numbers_in_either_order_of_bytes():
    """Operands are a threshold, or two numbers of 32 bits; a big-endian machine writes the documents of any other."""
    written = [
        (THRESHOLD, "d", (0.1,), (1, 3, 1)),
        (SUBSET, "II", (5, 2), (3, 70_000 % 65_536, 0)),
        (KNOWN, "d", (np.inf,), (5, 2, 1)),
        *((LEAF, "II", (value, 1_000_000 + value), (child, 0, 0)) for value, child in ((0, 3), (9, 4), (2**31, 5), (3, 6))),
    ]

    def nodes(order):
        rows = [struct.pack(f"{order}{form}IHBB", *operand, *rest[:2], kind, rest[2]) for kind, form, operand, rest in written]
        return np.frombuffer(b"".join(rows), dtype=NODE.newbyteorder(order))

    for one, other in ("<>", "><", "<<", ">>"):
        assert with_byte_order(nodes(one), other).tobytes() == nodes(other).tobytes()
    assert with_byte_order(nodes(">"), "=").dtype == NODE
    assert pairs(nodes(">"))[-2:].tolist() == pairs(nodes("<"))[-2:].tolist() == [[2**31, 1_000_000 + 2**31], [3, 1_000_003]]


def test_the_plan_of_the_bags_is_kept():
    weight = np.ones(150)
    weight[::4] = 0
    for choices in ({"bootstrap": "balanced"}, {"bootstrap": False, "max_samples": 0.5}):
        model = RandomForestClassifier(n_estimators=3, random_state=3, **choices).fit(X, Y, weight)
        read = fasttree.from_json(model.to_json())
        for i in range(3):
            assert (read.estimators_samples_[i] == model.estimators_samples_[i]).all()


def test_a_file_is_compact():
    X, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(n_estimators=50, random_state=0).fit(X, y)
    text = model.to_json()
    assert len(text) < 24 * model.ensemble_.node_count + 20_000
    assert len(gzip.compress(text.encode())) < 0.7 * len(text)


def test_the_out_of_bag_score_is_kept():
    numbers = RandomForestRegressor(n_estimators=20, oob_score=True, random_state=0).fit(X, Y)
    for model in (forest(n_estimators=20, oob_score=True), numbers):
        assert fasttree.from_json(model.to_json()).oob_score_ == model.oob_score_
    assert "oob_score" not in document()
    assert not hasattr(fasttree.from_json(forest().to_json()), "oob_score_")


@pytest.mark.parametrize("score", [True, lambda truth, predicted: 3.7], ids=["score", "function"])
def test_a_forest_from_a_file_has_no_curve_of_errors(score):
    model = fasttree.from_json(forest(n_estimators=20, oob_score=score).to_json())
    for method in (model.oob_curve, model.plot_oob_curve):
        with pytest.raises(ValueError, match="was read from a file, which does not keep the curve; fit it with oob_score=True"):
            method()
    assert len(model.fit(X, Y).oob_curve()) == 20
    with pytest.raises(ValueError, match="was not judged out of its bags"):
        fasttree.from_json(forest().to_json()).oob_curve()


def test_an_out_of_bag_score_that_a_file_cannot_hold_is_left_out():
    by_function = forest(n_estimators=20, oob_score=lambda truth, predicted: 3.7)
    assert by_function.oob_score_ == 3.7
    assert "oob_score" not in json.loads(by_function.to_json())
    assert "oob_score" not in json.loads(by_function.set_params(oob_score=True).to_json())
    with pytest.warns(UserWarning, match="in every bag"):
        unknown = forest(bootstrap=False, max_samples=150, oob_score=True)
    assert np.isnan(unknown.oob_score_)
    assert "oob_score" not in json.loads(unknown.to_json())


@pytest.mark.parametrize(("score", "match"), [(1.5, "from 0 to 1"), (-0.1, "from 0 to 1"), ("0.5", "finite"), (None, "finite")])
def test_a_wrong_out_of_bag_score_is_refused(score, match):
    refused(document() | {"oob_score": score}, f"oob_score: must be .*{match}")


def test_a_wrong_out_of_bag_score_of_numbers_is_refused():
    numbers = json.loads(RandomForestRegressor(n_estimators=3, random_state=0).fit(X, Y).to_json())
    assert fasttree.from_json(json.dumps(numbers | {"oob_score": -4.0})).oob_score_ == -4
    refused(numbers | {"oob_score": 1.1}, "oob_score: must be an R², at most 1")


@pytest.mark.parametrize(
    ("path", "value", "match"),
    [
        (("version",), "2.0", "version"),
        (("algorithm",), "boosting", "this version knows forests by c50"),
        (("task",), "ranking", "this version knows forests"),
        (("targets",), [], "targets: must not be empty"),
        (("settings", "n_estimators"), 0, "n_estimators"),
        (("settings", "max_features"), 9, "max_features"),
        (("bags", "seed"), -1, r"bags\.seed"),
        (("bags", "n_drawn"), 10**9, r"bags\.n_drawn"),
        (("bags", "with_replacement"), 1, r"bags\.with_replacement"),
        (("bags", "rows"), base64.b64encode(np.array([3, 2])).decode(), r"bags\.rows"),
        (("bags", "classes"), "AAA=", r"bags\.classes"),
        (("packed", "nodes"), "", "start must begin"),
        (("packed", "nodes"), "not base64!", r"packed\.nodes"),
        (("packed", "nodes"), "AAAA", r"packed\.nodes: 3 bytes"),
        (("packed", "start"), base64.b64encode(np.array([0, 1])).decode(), "start"),
        (("packed", "value"), "", r"packed\.value"),
        (("packed", "value"), base64.b64encode(np.full(300, 0.5)).decode(), "shares"),
        (("packed", "bits"), 3, r"packed\.bits: must be text"),
        (("packed",), [], "packed: must be an object"),
        (("combine",), "vote", "combine: must be 'mean'"),
        (("weights",), [1.0, 1.0, 1.0, 1.0, 2.0], "weights must be left out"),
    ],
)
def test_a_wrong_entry_is_named(path, value, match):
    changed = document()
    entry = changed
    for name in path[:-1]:
        entry = entry[name]
    entry[path[-1]] = value
    refused(changed, match)


@pytest.mark.parametrize(
    "path", [("packed", "nodes"), ("packed", "start"), ("bags",), ("algorithm",), ("settings",), ("features",)]
)
def test_a_missing_entry_is_named(path):
    changed = document()
    entry = changed
    for name in path[:-1]:
        entry = entry[name]
    del entry[path[-1]]
    refused(changed, path[-1])


def test_trees_that_are_not_packed_are_checked_one_by_one():
    changed = document(class_weight="balanced_subsample")
    assert "packed" not in changed
    other = copy.deepcopy(changed)
    other["trees"][2]["nodes"]["first_child"][0] = 0
    refused(other, r"trees\[2\]: nodes.first_child")
    refused(changed | {"trees": []}, "trees: must not be empty")
    del changed["trees"]
    refused(changed, "trees: is missing")


def test_changed_bytes_are_refused_or_read_as_whole_trees():
    whole = document()
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(150):
        changed = copy.deepcopy(whole)
        name = rng.choice(["nodes", "start", "value"])
        data = bytearray(base64.b64decode(changed["packed"][name]))
        data[rng.integers(0, len(data))] = rng.integers(0, 256)
        changed["packed"][name] = base64.b64encode(bytes(data)).decode()
        try:
            model = fasttree.from_json(json.dumps(changed))
        except DocumentError:
            n_refused += 1
            continue
        model.predict(X)
        for tree in model.ensemble_.trees():
            tree.check()
    assert 60 < n_refused < 150
