"""The predictor of a forest predicts as the forest, bit for bit, and no file of one can do harm."""

import base64
import json
import pickle
import struct
import zlib

import numpy as np
import pytest
from exports import cells
from groves import forests, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from fasttree import CARTClassifier, Predictor
from fasttree._export.predictor.image import OF_TREES, image_of, parts_of

NAMES = list(forests())
EXTREME = [0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1]
N_SINGLE = 120
# of version 1, as written before forests had predictors
ONE_TREE = (
    "eNq9kr9OwzAQxuPCwGNEnju0KwvlOVAUXROntXDOkc+WgCoqKw/Ce7DyNkyoI/GfoFQMoIK45fx95/vpLN9TA2StESzLstf354fVWRaDxXSd8uMs5kUqvySd"
    "J52lvoskPzn/pE+NHQe10Ubabcsvc16BsXye8y1QidAKGswGFInBawRYZ4J1s+O+6jvuFv7+rcTaK9StRFDeqsAKT44NfK2c8LYRNS/6eT4hLKeESqOV6LSj"
    "LxB0SvXF4GKpne2c9ebS31JANA5W2/sucMkaj1CwFirOYGQXZnAYTkWAKU0jPIzXuAFVtpJI4mby/LHikITAsdD/yS+cr1hcubRthz07WsPDfvYjztvVcf4+"
    "2C8n/wAL9Hdf"
)


def outcome(call):
    try:
        return call()
    except (ValueError, TypeError) as error:
        return type(error), str(error)


def sealed(data):
    """With a checksum that is right: a file of somebody who knows the format."""
    struct.pack_into("<I", data, 12, zlib.crc32(data[16:]))
    return bytes(data)


def parts_of_targets(shares):
    return shares if isinstance(shares, list) else [shares]


@pytest.mark.parametrize("name", NAMES)
def test_tables_and_rows_are_predicted_as_by_the_forest(name):
    forest, X = forests()[name], rows_of(name)
    predictor = forest.to_predictor()
    expected = forest.predict(X)
    found = predictor.predict(X)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)
    rows = cells(X[:N_SINGLE])
    assert [predictor.predict_one(row) for row in rows] == expected[:N_SINGLE].tolist()
    if hasattr(forest, "predict_proba"):
        shares, ours = forest.predict_proba(X), predictor.predict_proba(X)
        assert isinstance(ours, list) == isinstance(shares, list)
        assert all(map(np.array_equal, parts_of_targets(ours), parts_of_targets(shares)))
        by_row = [[part[i].tolist() for part in shares] for i in range(N_SINGLE)] if isinstance(shares, list) else shares.tolist()
        assert [predictor.predict_proba_one(row) for row in rows] == by_row[:N_SINGLE]


def test_large_tables_and_float32_are_predicted_in_blocks():
    forest = forests()["numbers"]
    rng = np.random.default_rng(0)
    X = rng.normal(40, 12, size=(20_000, 2)).astype(np.float32)
    X[rng.random(X.shape) < 0.01] = np.nan
    predictor = forest.to_predictor()
    assert np.array_equal(predictor.predict_proba(X), forest.predict_proba(X))
    assert np.array_equal(predictor.predict(X[::-3]), forest.predict(X[::-3]))
    X[19_999] = np.inf
    with pytest.raises(ValueError, match="infinite"):
        predictor.predict(X)


def test_missing_and_unseen_values_are_refused_as_by_the_forest():
    forest, X = forests()["refuses both"], rows_of("refuses both")
    predictor = forest.to_predictor()
    row = X.iloc[0].to_dict()
    with pytest.raises(ValueError, match="Atlantis"):
        predictor.predict_one(row | {"city": "Atlantis"})
    with pytest.raises(ValueError, match=r"missing values.*which this model refuses"):
        predictor.predict(X.assign(income=np.nan))
    with pytest.raises(ValueError, match="no value for 'income'"):
        predictor.predict_one({name: value for name, value in row.items() if name != "income"})


def test_the_file_is_mapped_and_knows_the_forest(tmp_path):
    forest, X = forests()["all kinds"], rows_of("all kinds")
    predictor = forest.to_predictor()
    predictor.save(tmp_path / "forest.tree")
    mapped = Predictor.open(tmp_path / "forest.tree")
    assert type(mapped._image.base).__name__ in ("mmap", "memoryview")
    assert (mapped.n_trees, mapped.node_count) == (7, forest.ensemble_.node_count)
    assert (mapped.algorithm, mapped.task) == ("random_forest", "classification")
    assert mapped.classes_.tolist() == forest.classes_.tolist()
    assert repr(mapped) == (
        f"<Predictor: classification, 6 features, 7 trees, {mapped.node_count:,} nodes, {mapped.nbytes:,} bytes>"
    )
    for each in (mapped, pickle.loads(pickle.dumps(mapped)), Predictor(bytearray(predictor.to_bytes()))):
        assert np.array_equal(each.predict(X), forest.predict(X))


def test_a_node_takes_16_bytes_and_a_leaf_its_predictions():
    forest = forests()["whole numbers"]
    ensemble = forest.ensemble_
    n_leaves = sum(tree.n_leaves for tree in ensemble.trees())
    assert forest.to_predictor().nbytes <= 16 * ensemble.node_count + 8 * n_leaves + 56 * ensemble.n_trees + 1500


def test_a_tree_keeps_its_version_and_files_of_it_are_read():
    data = zlib.decompress(base64.b64decode(ONE_TREE))
    rows = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", None]]
    labels = ["ripe", "unripe", "unripe", "unripe"]
    assert Predictor(data).predict(rows).tolist() == labels
    assert Predictor(data).n_trees == 1
    assert CARTClassifier().fit(rows, labels).to_predictor().to_bytes() == data


SMALL = {name: forests()[name].to_predictor() for name in ("surrogates", "intervals", "divided losses", "two targets")}
ROWS = cells(rows_of("all kinds")[:10])


@settings(max_examples=150)
@given(
    name=st.sampled_from(list(SMALL)),
    changes=st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.sampled_from(["<B", "<I", "<Q"]),
            st.one_of(st.integers(0, 40), st.sampled_from(EXTREME), st.integers(0, 2**64 - 1)),
        ),
        min_size=1,
        max_size=2,
    ),
    where=st.sampled_from(["nodes", "trees", "anywhere"]),
)
def test_hostile_files_are_refused_or_harmless(name, changes, where):
    data = bytearray(SMALL[name].to_bytes())
    start, size = (16, len(data) - 16) if where == "anywhere" else parts_of(np.frombuffer(data, np.uint8))[where]
    for share, form, number in changes:
        width = struct.calcsize(form)
        place = (start + int(share * (size - width))) // width * width
        struct.pack_into(form, data, max(place, 16), number % 2 ** (8 * width))
    predictor = outcome(lambda: Predictor(sealed(data)))
    if isinstance(predictor, tuple):
        assert predictor[0] is ValueError
        assert "not a sound predictor" in predictor[1]
        return
    for row in ROWS:
        assert outcome(lambda: predictor.predict_proba_one(row)) is not None  # noqa: B023


def rewritten(change):
    """The file of a forest after a change of its arrays; the checksum is right."""
    image = np.frombuffer(SMALL["surrogates"].to_bytes(), np.uint8)
    arrays = {name: image[start : start + size] for name, (start, size) in parts_of(image).items()}
    arrays["trees"] = arrays["trees"].view(np.int64).reshape(-1, len(OF_TREES)).copy()
    change(arrays)
    return image_of(arrays).tobytes()


def moved(name, step):
    def change(arrays):
        arrays["trees"][:2, OF_TREES.index(name)] += [step, -step]

    return change


@pytest.mark.parametrize(
    "change",
    [
        moved("nodes", 1),
        moved("nodes", 2**40),
        moved("extras", 1),
        moved("tables", -1),
        moved("surrogates", 1),
        lambda arrays: arrays.update(trees=arrays["trees"][:0]),
        lambda arrays: arrays.update(trees=arrays["trees"][1:]),
        lambda arrays: arrays.update(trees=np.vstack([arrays["trees"], np.zeros((1, len(OF_TREES)), np.int64)])),
        lambda arrays: arrays.update(answers=np.zeros(4, np.uint8)),
        lambda arrays: arrays.update(about=with_entry(arrays, combined="median")),
        lambda arrays: arrays.pop("trees"),  # the text of a forest in a file of a tree
    ],
)
def test_trees_that_do_not_share_out_the_parts_are_refused(change):
    assert Predictor(rewritten(lambda arrays: None)).to_bytes() == SMALL["surrogates"].to_bytes()
    with pytest.raises(ValueError, match="not a sound predictor"):
        Predictor(rewritten(change))


def with_entry(arrays, **entries):
    about = json.loads(bytes(arrays["about"])) | entries
    return np.frombuffer(json.dumps(about).encode(), np.uint8)


def test_altered_and_truncated_files_are_noticed():
    data = SMALL["surrogates"].to_bytes()
    for length in range(0, len(data), max(len(data) // 97, 1)):
        with pytest.raises(ValueError, match="not a sound predictor"):
            Predictor(data[:length])
    for place in range(0, len(data), max(len(data) // 97, 1)):
        altered = bytearray(data)
        altered[place] ^= 1 << place % 8
        with pytest.raises(ValueError, match="not a sound predictor"):
            Predictor(altered)
