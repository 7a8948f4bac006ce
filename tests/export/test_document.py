"""The JSON document of a tree: what it says, that it comes back bit for bit, and that nothing malformed gets in."""

import copy
import gzip
import json
import os

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from trees import SCHEMA, chain, flat, house_tree, leaf, play_tree, random_trees, split

from fasttree._data.schema import Feature, Kind, Schema
from fasttree._export.document.file import dumps, load, loads, save
from fasttree._export.document.read import from_document
from fasttree._export.document.values import DocumentError
from fasttree._export.document.write import to_document
from fasttree._model.arrays import SHARES, STOP
from fasttree._model.tree import Tree

CLASSES = np.array(["yes", "no", "perhaps"])


def document_of(tree, **changes):
    classes = CLASSES[: tree.n_values] if tree.task == "classification" else None
    entries = {
        "schema": SCHEMA,
        "classes": classes,
        "settings": {"max_depth": 3},
        "algorithm": "cart",
        "library_version": "1.2.3",
    }
    return to_document(tree, **(entries | changes))


def play_document(**changes):
    return json.loads(json.dumps(document_of(play_tree()))) | changes


# What it says


def test_a_document_reads_as_the_format_says():
    document = document_of(house_tree())
    assert document == {
        "format": "fasttree.tree",
        "version": "1.4",
        "library": "1.2.3",
        "algorithm": "cart",
        "task": "regression",
        "has_names": True,
        "features": [
            {"name": "age", "kind": "continuous"},
            {"name": "size", "kind": "ordinal", "categories": ["small", "medium", "large"]},
            {"name": "city", "kind": "nominal", "categories": ["Aachen", "Bonn", "Köln", "Ulm"]},
            {"name": "member", "kind": "nominal", "categories": [False, True], "type": "bool"},
        ],
        "targets": [{"name": "y"}],
        "settings": {"max_depth": 3},
        "nodes": {
            "parent": [-1, 0, 0, 1, 1],
            "first_child": [1, 3, -1, -1, -1],
            "n_branches": [2, 2, 0, 0, 0],
            "test": [0, 1, -1, -1, -1],
            "weight": [9.0, 4.0, 5.0, 3.0, 1.0],
            "n_samples": [9, 4, 5, 3, 1],
            "impurity": [0.5, 0.5, 0.0, 0.0, 0.0],
        },
        "values": [[15.0], [9.1875], [20.0], [12.25], [0.00125]],
        "tests": [
            {"kind": "threshold", "feature": 1, "threshold": 1.5, "missing": {"to": "child", "child": 1}, "gain": 0.25},
            {
                "kind": "threshold",
                "feature": 0,
                "threshold": 2.449999988079071,
                "missing": {"to": "child", "child": 1},
                "gain": 0.25,
            },
        ],
    }


def soft_tree():
    tree = play_tree()
    return tree.replace(estimated_errors=np.arange(10) / 4, lower=tree.threshold - 1.5, upper=tree.threshold)


def test_soft_thresholds_and_estimated_errors_are_written_where_a_tree_has_them():
    document = document_of(soft_tree())
    assert document["nodes"]["estimated_errors"] == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25]
    assert document["soft_thresholds"] is True
    threshold = document["tests"][1]
    assert (threshold["lower"], threshold["threshold"], threshold["upper"]) == (40.0, 41.5, 41.5)
    assert "soft_thresholds" not in play_document()
    assert "lower" not in play_document()["tests"][1]


def test_soft_thresholds_of_an_ordinal_feature_count_categories_from_0_too():
    tree = flat(split([leaf([1.0, 0.0]), leaf([0.0, 1.0])], feature=1, kind=1, value=[1.0, 1.0], threshold=1.5), "classification")
    tree = tree.replace(lower=tree.threshold - 0.25, upper=tree.threshold + 0.5)
    document = document_of(tree)
    assert (document["tests"][0]["lower"], document["tests"][0]["upper"]) == (0.25, 1.0)
    assert from_document(document).tree == tree


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_document_of_an_older_version_is_read(version):
    document = play_document(version=version)
    assert from_document(document).tree == play_tree()


def test_every_kind_of_test_has_its_form():
    document = document_of(play_tree())
    assert document["targets"] == [{"name": "y", "classes": ["yes", "no"]}]
    assert document["nodes"]["label"] == [0, 0, 0, 0, 0, 1, 0, 1, 1, 0]
    assert document["nodes"]["test"] == [0, 1, -1, 2, -1, -1, -1, 3, -1, -1]
    category, threshold, nominal, known = document["tests"]
    missing = {"to": "child", "child": 2}
    assert category == {"kind": "category", "feature": 1, "missing": missing, "unseen": "as_missing", "gain": 0.25}
    assert threshold["missing"] == {"to": "shares", "shares": [4 / 7, 3 / 7]}
    assert nominal["branches"] == [[0, 3], [1]]
    assert nominal["missing"] == {"to": "stop"}
    assert known == {"kind": "known", "feature": 3, "missing": {"to": "child", "child": 1}, "gain": 0.25}


def test_the_text_has_a_line_per_row_of_values_and_per_test():
    lines = dumps(document_of(play_tree())).splitlines()
    assert sum('"kind": ' in line and '"missing"' in line for line in lines) == 4
    assert lines[lines.index("  [4.5, 2.5],") + 1] == "  [7.5, 5.5],"
    assert any('["Aachen", "Bonn", "Köln", "Ulm"]' in line for line in lines)


def test_the_text_of_names_is_left_alone():
    trap = '}, {"kind": 1}], [2], [\n"'
    schema = Schema((Feature(trap, Kind.CONTINUOUS), *SCHEMA.features[1:]))
    document = document_of(house_tree(), schema=schema, algorithm=trap, settings={trap: trap})
    assert loads(dumps(document)) == document
    assert from_document(document).schema == schema


# Round trips


@given(random_trees())
def test_tree_to_document_to_tree_gives_the_same_arrays(tree):
    again = from_document(loads(dumps(document_of(tree))))
    assert again.tree == tree
    assert again.schema == SCHEMA
    assert again.algorithm == "cart"
    assert again.settings == {"max_depth": 3}


@given(random_trees())
def test_document_to_tree_to_document_gives_the_same_bytes(tree):
    text = dumps(document_of(tree))
    model = from_document(loads(text))
    assert dumps(to_document(*model, library_version="1.2.3")) == text


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5, max_size=5))
@example([5e-324, 1.7976931348623157e308, -0.0, 0.1 + 0.2, 1 / 3])
def test_every_finite_double_comes_back_bit_for_bit(numbers):
    tree = house_tree()
    arrays = tree.__getstate__() | {"value": np.array(numbers)[:, None]}
    arrays["threshold"] = np.where(np.isnan(tree.threshold), np.nan, [2.5, numbers[0], 0, 0, 0])
    tree = Tree(**arrays)
    assert from_document(loads(dumps(document_of(tree)))).tree == tree


@pytest.mark.parametrize(
    "classes",
    [
        np.array([3, -1]),
        np.array([2**62, 2**53 + 1]),
        np.array([2**64 - 1, 0], np.uint64),
        np.array([1, 2], np.int8),
        np.array([0.1, 2.0]),
        np.array([0.1, 2.0], np.float32),
        np.array([False, True]),
        np.array(["1", "2"]),
        np.array(["é", "a,b"], object),
        np.array([1, 2], object),
    ],
    ids=lambda classes: f"{classes.dtype}-{classes[0]}",
)
def test_classes_keep_their_values_and_their_type(classes):
    again = from_document(loads(dumps(document_of(play_tree(), classes=classes)))).classes
    assert again.dtype == classes.dtype
    assert again.tolist() == classes.tolist()
    assert [type(label) for label in again.tolist()] == [type(label) for label in classes.tolist()]


@pytest.mark.parametrize(
    "categories",
    [("1", "2"), (1, 2), (1.0, 2.5), (True, False), (np.int64(1), np.int64(2)), (np.str_("a"), np.str_("b")), (2**60, -(10**38))],
)
def test_categories_keep_their_values_and_their_type(categories):
    schema = Schema((*SCHEMA.features[:3], Feature("member", Kind.NOMINAL, categories)))
    again = from_document(loads(dumps(document_of(play_tree(), schema=schema)))).schema
    assert again == schema
    plain = [category.item() if isinstance(category, np.generic) else category for category in categories]
    assert [type(category) for category in again.features[3].categories] == [type(category) for category in plain]


def test_features_without_names_are_known_as_such():
    schema = Schema(SCHEMA.features, has_names=False)
    assert from_document(loads(dumps(document_of(play_tree(), schema=schema)))).schema == schema


def test_settings_come_back_as_plain_values():
    settings = {
        "max_depth": np.int64(3),
        "ratio": np.float64(0.1),
        "class_weight": {1: 2.0, "1": 3.0, None: 4.0},
        "ordinal_features": {"size": ("small", "large")},
        "items": {"items": [1]},
        "mask": np.array([True, False]),
        "random_state": np.random.RandomState,
        "limit": float("inf"),
        "nested": {(1, 2): "pair"},
    }
    again = from_document(loads(dumps(document_of(play_tree(), settings=settings)))).settings
    assert again == {
        "max_depth": 3,
        "ratio": 0.1,
        "class_weight": {1: 2.0, "1": 3.0, None: 4.0},
        "ordinal_features": {"size": ["small", "large"]},
        "items": {"items": [1]},
        "mask": [True, False],
        "random_state": repr(np.random.RandomState),
        "limit": "inf",
        "nested": {"(1, 2)": "pair"},
    }


def test_ordinal_thresholds_count_categories_from_0_in_the_document_and_from_1_in_the_tree():
    for threshold in (1.0, 1.5, 2.0, 2.5, 2.9999999999999996):
        tree = Tree(**house_tree().__getstate__() | {"threshold": [threshold, 0.1, np.nan, np.nan, np.nan]})
        document = document_of(tree)
        assert document["tests"][0]["threshold"] == threshold - 1
        assert from_document(document).tree == tree


def test_a_root_alone_makes_a_document():
    tree = flat(leaf([1.0, 2.0]), "classification")
    document = document_of(tree)
    assert document["tests"] == []
    assert from_document(loads(dumps(document))).tree == tree


def test_a_chain_of_100_000_levels_makes_a_document():
    tree = chain(100_000)
    text = dumps(document_of(tree, schema=Schema(SCHEMA.features[:1])))
    assert from_document(loads(text)).tree == tree


def depth_first(document):
    """The same document with its nodes numbered depth first, and its tests in the reverse order."""
    nodes = document["nodes"]
    order, waiting = [0], [0]
    while waiting:
        node = waiting.pop()
        children = range(nodes["first_child"][node], nodes["first_child"][node] + nodes["n_branches"][node])
        order.extend(children)
        waiting.extend(reversed(children))
    number = {old: new for new, old in enumerate(order)} | {-1: -1}
    moved = {name: [column[old] for old in order] for name, column in nodes.items()}
    for name in ("parent", "first_child"):
        moved[name] = [number[old] for old in moved[name]]
    n_tests = len(document["tests"])
    moved["test"] = [-1 if i == -1 else n_tests - 1 - i for i in moved["test"]]
    values = [document["values"][old] for old in order]
    return document | {"nodes": moved, "values": values, "tests": document["tests"][::-1]}


@given(random_trees())
def test_documents_of_other_orders_give_the_same_tree(tree):
    assert from_document(depth_first(document_of(tree))).tree == tree


def test_a_document_written_by_hand_is_read():
    text = """
    {"format": "fasttree.tree", "version": "1.7", "library": "x", "algorithm": "by hand", "task": "classification",
     "features": [{"name": "age", "kind": "continuous", "unit": "years"}],
     "targets": [{"name": "loan", "classes": ["no", "yes"]}],
     "settings": {}, "comment": "unknown keys are ignored",
     "nodes": {"parent": [-1, 0, 0], "first_child": [1, -1, -1], "n_branches": [2, 0, 0], "test": [0, -1, -1],
               "weight": [15, 6, 9], "n_samples": [15, 6, 9], "impurity": [0.48, 0, 0.4444444444444444], "label": [1, 1, 0]},
     "values": [[6, 9], [0, 6], [6, 3]],
     "tests": [{"kind": "threshold", "feature": 0, "threshold": 41.5, "missing": {"to": "stop"}, "p_value": 0.01}]}
    """
    tree, schema, classes, settings, algorithm, targets = from_document(loads(text))
    assert (tree.node_count, tree.threshold[0], tree.missing[0], tree.gain[0]) == (3, 41.5, STOP, 0.0)
    assert schema.has_names
    assert (classes.tolist(), settings, algorithm, targets) == (["no", "yes"], {}, "by hand", ["loan"])


# Files


@pytest.mark.parametrize("name", ["tree.json", "tree.json.gz"])
def test_a_file_gives_back_what_was_saved(tmp_path, name):
    document = document_of(play_tree())
    save(tmp_path / name, document)
    assert load(tmp_path / name) == document
    assert os.listdir(tmp_path) == [name]
    data = (tmp_path / name).read_bytes()
    save(tmp_path / name, document)
    assert (tmp_path / name).read_bytes() == data


def test_compression_is_recognised_without_the_name(tmp_path):
    document = document_of(play_tree())
    (tmp_path / "tree").write_bytes(gzip.compress(dumps(document).encode()))
    assert load(tmp_path / "tree") == document


def test_a_save_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "tree.json"
    path.write_text("old")

    def full_disk(file):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="no space left"):
        save(path, document_of(play_tree()))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["tree.json"]


def test_a_link_still_points_to_the_file_that_was_saved(tmp_path):
    save(tmp_path / "tree.json", {})
    (tmp_path / "link").symlink_to(tmp_path / "tree.json")
    document = document_of(play_tree())
    save(tmp_path / "link", document)
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "tree.json") == document


def test_saving_to_a_device_writes_into_it():
    save(os.devnull, document_of(play_tree()))
    assert not os.path.isfile(os.devnull)


def test_a_missing_file_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.json")


def test_a_file_larger_than_allowed_is_refused_after_decompression(tmp_path):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * 10**7))
    with pytest.raises(DocumentError, match="has more than 1000000 bytes"):
        load(tmp_path / "bomb.gz", max_bytes=10**6)


@pytest.mark.parametrize("cut", [3, 12, 100, -1, -5])
def test_a_damaged_compressed_file_is_refused(tmp_path, cut):
    path = tmp_path / "tree.json.gz"
    save(path, document_of(play_tree()))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DocumentError, match="damaged"):
        load(path)


# What is not written


def schema_with(j, feature):
    return Schema((*SCHEMA.features[:j], feature, *SCHEMA.features[j + 1 :]), has_names=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": None}, "classes: must be 2 labels"),
        ({"classes": CLASSES}, "classes: must be 2 labels"),
        ({"classes": np.array(["a", 1], object)}, "classes: must be all str, all int, all float or all bool"),
        ({"classes": np.array(["a", "a"])}, "classes: must differ from one another"),
        ({"classes": np.array([0.0, np.inf])}, "classes: must be finite"),
        ({"classes": np.array(["2020", "2021"], "datetime64[Y]")}, "classes: must be all str.*got date"),
        ({"schema": Schema(SCHEMA.features[:3])}, "the tree knows 4 features, the schema 3"),
        ({"schema": Schema(SCHEMA.features[:3] + SCHEMA.features[:1])}, "features: more than one is called 'age'"),
        ({"schema": schema_with(0, Feature("age", Kind.ORDINAL, ("old", "young")))}, "node 1: a threshold on an ordinal feature"),
        ({"schema": schema_with(0, Feature("age", Kind.NOMINAL, ("old", "young")))}, "node 1: a threshold test needs"),
        ({"schema": schema_with(2, Feature("city", Kind.CONTINUOUS))}, "node 3: a test of categories needs"),
        ({"schema": schema_with(2, Feature("city", Kind.NOMINAL, ("a", "b", "c")))}, "node 3: the test has a category"),
        ({"schema": schema_with(1, Feature("size", Kind.ORDINAL, ("s",)))}, "node 0: a category test must have a branch"),
        ({"schema": schema_with(3, Feature("member", Kind.NOMINAL, (10**39, 1)))}, "'member': must have at most 39 digits"),
        ({"settings": {"deep": json.loads("[" * 50 + "]" * 50)}}, "nested more than 32 deep"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_not_written(changes, message):
    with pytest.raises(DocumentError, match=message):
        document_of(play_tree(), **changes)


def test_a_broken_tree_is_not_written():
    tree = Tree(**play_tree().__getstate__() | {"impurity": [-1.0] * 10})
    with pytest.raises(DocumentError, match="cannot be written: node 0: impurity must be finite"):
        document_of(tree)


def test_a_regression_tree_has_no_classes():
    with pytest.raises(DocumentError, match="classes: must be None"):
        document_of(house_tree(), classes=CLASSES[:1])


@pytest.mark.parametrize("entry", [float("nan"), {1, 2}, "\ud800"], ids=["NaN", "set", "half a character"])
def test_what_json_cannot_say_is_not_saved(tmp_path, entry):
    with pytest.raises(DocumentError):
        save(tmp_path / "tree.json", {"entry": entry})
    assert os.listdir(tmp_path) == []


# What is not read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("[]", "must be an object"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' occurs twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": ' + "[" * 100_000, "nested too deeply"),
        ('{"a": ' + "1" * 10_000 + "}", "not JSON"),
        (b'{"a": "\xff"}', "not JSON in UTF-8"),
        ('{"a": 1} ...', "not JSON"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_text_that_is_no_strict_json_object_is_refused(text, message):
    with pytest.raises(DocumentError, match=message):
        loads(text)


def without(key):
    return lambda document: document.pop(key)


def put(*path, to):
    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = to

    return change


MALFORMED = [
    (without("format"), "format: must be 'fasttree.tree'; got None"),
    (put("format", to="fasttree.forest"), "format: must be 'fasttree.tree'; got 'fasttree.forest'"),
    (put("version", to="2.0"), "version: this library reads 1.x; got '2.0'"),
    (put("version", to="1"), "version: this library reads 1.x"),
    (put("version", to=1.0), "version: must be text"),
    (put("task", to="ranking"), "task: must be one of classification, regression; got 'ranking'"),
    (without("nodes"), "nodes: is missing"),
    (put("has_names", to=1), "has_names: must be true or false"),
    (put("features", 0, "kind", to="cyclic"), r"features\[0\].kind: must be one of continuous, ordinal, nominal; got 'cyclic'"),
    (put("features", 0, "name", to="city"), "features: more than one is called 'city'"),
    (put("features", 1, "categories", to=["a", "b", 3]), r"features\[1\].categories\[2\]: must be of type str; got 3"),
    (put("features", 1, "categories", to=["a", "b", "a"]), r"features\[1\].categories: must differ"),
    (put("features", 1, "type", to="date"), "their type must be one of str, int, float, bool; got 'date'"),
    (put("targets", to=[]), "targets: must not be empty"),
    (put("targets", 0, "classes", to=[]), r"targets\[0\].classes: must not be empty"),
    (put("targets", 0, "classes", to=["a"]), r"values\[0\]: must be a list of 1 number"),
    (put("targets", 0, "dtype", to="V8"), r"targets\[0\].dtype: must be one of"),
    (put("targets", 0, "dtype", to="int8"), r"targets\[0\].classes: do not fit the dtype int8"),
    (put("settings", "limit", to=float("inf")), r"settings\['limit'\]: must be null, .*finite"),
    (put("settings", "limit", to={"items": [[1]]}), "items must be pairs"),
    (put("settings", "limit", to={"items": [[1, 2], [1, 3]]}), "a key occurs twice"),
    (put("nodes", "weight", to=[1.0]), "weight: has 1 entries; nodes.parent has 10"),
    (put("nodes", "weight", 0, to="13"), "nodes.weight: must hold finite numbers"),
    (put("nodes", "weight", 0, to=True), "nodes.weight: must hold finite numbers"),
    (put("nodes", "weight", 0, to=10**400), "nodes.weight: must hold finite numbers"),
    (put("nodes", "weight", 0, to=1e999), "nodes.weight: must hold finite numbers"),
    (put("nodes", "weight", 0, to=14.0), "node 0: value: the class weights must sum"),
    (put("nodes", "n_samples", 0, to=14.0), "nodes.n_samples: must hold integers"),
    (put("nodes", "n_samples", 0, to=2**64), "nodes.n_samples: must hold integers of 64 bits"),
    (put("nodes", "n_branches", 0, to=2**62), "nodes.n_branches: must not be negative, and must sum to 9"),
    (put("nodes", "first_child", 0, to=-5), "nodes.first_child: node 0: must be a later node"),
    (put("nodes", "first_child", 3, to=9), "nodes.first_child: node 3: must be a later node"),
    (put("nodes", "first_child", 3, to=3), "nodes.first_child: node 3: must be a later node"),
    (put("nodes", "first_child", 3, to=4), "nodes.parent: node"),
    (put("nodes", "parent", 6, to=1), "nodes.parent: node 6: must be the node whose child it is"),
    (put("nodes", "test", 0, to=1), "nodes.test: each of the 4 tests must belong to one inner node"),
    (put("nodes", "test", 4, to=0), "nodes.test: each of the 4 tests must belong to one inner node"),
    (put("nodes", "label", 0, to=1), "nodes.label: node 0 must have the heaviest class"),
    (put("values", 3, to=[1.0]), r"values\[3\]: must be a list of 2 number\(s\); got a list of 1"),
    (put("values", 3, 0, to=None), "values: must hold finite numbers"),
    (put("tests", 0, "feature", to=4), r"tests\[0\].feature: must be an integer from 0 to 3; got 4"),
    (put("tests", 0, "feature", to=True), r"tests\[0\].feature: must be an integer from 0 to 3; got True"),
    (put("tests", 0, "kind", to="oblique"), r"tests\[0\].kind: this version reads threshold, nominal, category, known, inter"),
    (put("tests", 0, "kind", to="threshold"), r"tests\[0\].threshold: must be a finite number; got None"),
    (put("tests", 0, "unseen", to="stop"), r"tests\[0\].unseen: must be 'as_missing' or equal to missing"),
    (put("tests", 0, "unseen", to={"child": 1}), r"tests\[0\].unseen: must be 'as_missing' or equal to missing"),
    (put("tests", 0, "missing", "child", to=3), r"tests\[0\].missing.child: must be an integer from 0 to 2; got 3"),
    (put("tests", 0, "missing", "to", to="surrogates"), r"tests\[0\].missing.to: this version reads child, shares, stop"),
    (put("tests", 1, "missing", "shares", to=[0.5, 0.5]), r"tests\[1\].missing.shares: must be the shares of the children"),
    (put("tests", 1, "missing", "shares", to=[1.0]), r"tests\[1\].missing.shares: must be the shares of the children"),
    (put("tests", 1, "threshold", to=float("nan")), r"tests\[1\].threshold: must be a finite number; got nan"),
    (put("tests", 1, "feature", to=1), "node 1: a threshold on an ordinal feature must lie between its categories"),
    (put("tests", 1, "gain", to="much"), r"tests\[1\].gain: must be a finite number; got 'much'"),
    (put("tests", 2, "branches", to=[[0, 3]]), r"tests\[2\].branches: has 1 branches, but its node has 2"),
    (put("tests", 2, "branches", 0, to=[0, 1]), "node 3: categories_code must hold codes from 1 on, ascending"),
    (put("tests", 2, "branches", 0, to=[4]), "node 3: the test has a category that its feature does not have"),
    (put("tests", 2, "branches", 0, to=[2**32]), "categories_code: must hold integers that fit uint32"),
    (put("tests", 2, "branches", 0, to=[-1]), r"tests\[2\].branches\[0\]: must hold indices of categories; got -1"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), MALFORMED, ids=[message[:40] for _, message in MALFORMED])
def test_a_malformed_document_is_refused_with_the_place_and_the_reason(change, message):
    document = play_document()
    change(document)
    before = copy.deepcopy(document)
    with pytest.raises(DocumentError, match=message):
        from_document(document)
    assert repr(document) == repr(before)


def test_a_tree_that_was_grown_on_nothing_is_refused():
    document = document_of(flat(leaf([1.5]), "regression"))
    document["nodes"] |= {"weight": [0.0], "n_samples": [0]}
    with pytest.raises(DocumentError, match="node 0: the root must have positive weight"):
        from_document(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("tests", 1, "gain", to=1e308), "weight times gain must sum to a finite number"),
        (put("nodes", "impurity", to=[1.5e308] * 10), "weight times impurity must sum to a finite number"),
        (put("nodes", "n_samples", 0, to=2**62), "nodes.n_samples: must be at most"),
        (put("targets", 0, "loss", to=[[0, 1e308], [1e308, 0]]), "the class weights times the loss must be finite"),
        (put("targets", 0, "name", to=3), r"targets\[0\].name: must be text"),
        (put("library", to=1), "library: must be text"),
    ],
)
def test_what_no_fit_could_have_written_is_refused(change, message):
    document = play_document()
    change(document)
    with pytest.raises(DocumentError, match=message):
        from_document(document)


def test_an_ordinal_threshold_that_codes_cannot_hold_is_refused():
    document = document_of(house_tree())
    document["tests"][0]["threshold"] = 0.1
    with pytest.raises(DocumentError, match=r"tests\[0\].threshold: 0.1 is too fine for an ordinal feature"):
        from_document(document)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("soft_thresholds", to=1), "soft_thresholds: must be true or false"),
        (lambda document: document["tests"][1].pop("upper"), r"tests\[1\].upper: must be a finite number; got None"),
        (put("tests", 1, "lower", to=42.0), "node 1: lower and upper must be finite, on their sides of the threshold"),
        (put("nodes", "estimated_errors", 2, to=-1), "node 2: estimated_errors must be finite and not negative"),
        (put("nodes", "estimated_errors", to=[1.0]), "estimated_errors: has 1 entries; nodes.parent has 10"),
    ],
)
def test_malformed_optional_entries_are_refused(change, message):
    document = document_of(soft_tree())
    change(document)
    with pytest.raises(DocumentError, match=message):
        from_document(document)


@pytest.mark.parametrize("unseen", ["as_missing", {"child": 2}])
def test_unseen_may_say_what_missing_says(unseen):
    document = play_document()
    document["tests"][0]["unseen"] = unseen
    assert from_document(document).tree == play_tree()


def places(value, path=()):
    """Every path into a document."""
    yield path
    if isinstance(value, (dict, list)):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**32, 2**53 + 1, 2**63, -(2**63), 2**64, 10**400, 1e308, -1e308, 5e-324, -0.0, 0.5]),
    st.sampled_from([float("nan"), float("inf"), "", "stop", "shares", "child", "nominal", "int", "float", "object", "\ud800"]),
    st.sampled_from([[], {}, [[]], [1.5], [0, 0], {"to": "stop"}, {"to": "shares"}, {"items": []}, {"items": 3}]),
    st.text(max_size=3),
)


@given(random_trees(), st.data())
def test_a_mutated_document_is_refused_cleanly_or_gives_a_sound_tree(tree, data):
    document = json.loads(json.dumps(document_of(tree)))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([path for path in places(document) if path]))
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        action = data.draw(st.sampled_from(["change", "change", "delete", "repeat"]))
        if action == "change":
            holder[path[-1]] = copy.deepcopy(data.draw(ODD_VALUES))  # which a later change must not change
        elif action == "delete":
            del holder[path[-1]]
        elif isinstance(holder, list):
            holder.append(holder[path[-1]])
    try:
        model = from_document(document)
    except DocumentError:
        return
    model.tree.check()
    again = from_document(to_document(*model, library_version="1"))
    assert again.tree == model.tree
    assert again.schema == model.schema


PLAY_TEXT = dumps(document_of(play_tree()))


@given(
    st.integers(0, len(PLAY_TEXT)),
    st.integers(0, 30),
    st.one_of(
        st.just(""), st.sampled_from(["9", "-", "e999", '"', "[", "}", ",", "1.5", "NaN", "\x00", "\\ud800"]), st.text(max_size=3)
    ),
)
def test_a_damaged_text_is_refused_cleanly_or_gives_a_sound_tree(start, length, inserted):
    text = PLAY_TEXT[:start] + inserted + PLAY_TEXT[start + length :]
    try:
        model = from_document(loads(text))
    except DocumentError:
        return
    model.tree.check()


@given(st.integers(0, len(PLAY_TEXT) - 3))
def test_a_text_that_breaks_off_is_refused(length):
    with pytest.raises(DocumentError):
        from_document(loads(PLAY_TEXT[:length]))


def test_shares_are_those_of_the_children():
    tree = play_tree()
    assert tree.missing[1] == SHARES
    document = document_of(tree)
    document["tests"][1]["missing"]["shares"] = [4 / 7 + 1e-12, 3 / 7]
    assert from_document(document).tree == tree
