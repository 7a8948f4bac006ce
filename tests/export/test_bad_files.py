"""A model file that is truncated, altered or hostile is refused with one clear error, or gives a model that is sound.

Mutations by the thousand, the same in every run.  Whatever loads is asked for all that it can do; what does not says why, in one
line that names the file; neither takes memory or time out of proportion to the file.
"""

import gzip
import json
import os
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from bad_files import damaged, models, mutated, use
from commands import mistake

import fasttree
from fasttree._export.document.file import load, loads, save
from fasttree._export.document.values import MAX_RATIO, DocumentError

MODELS = models()
DOCUMENTS = {name: json.loads(model.to_json()) for name, model in MODELS.items()}
TEXTS = {name: model.to_json().encode() for name, model in MODELS.items()}
MOST_WORDS = 600  # of a message, in characters


def try_to_use(read, given, random):
    """Whether what is given is read; then it must be sound, else refused by the one kind of error."""
    try:
        model = read(given)
    except DocumentError as error:
        message = str(error)
    else:
        use(model, random)
        return True
    assert len(message) < MOST_WORDS
    return False


@pytest.mark.parametrize("name", MODELS)
def test_what_is_saved_is_read_and_answers(name):
    assert try_to_use(fasttree.from_json, TEXTS[name], Random(name))


@pytest.mark.parametrize("name", MODELS)
def test_mutated_documents_are_refused_or_sound(name):
    random = Random(name)
    read = sum(try_to_use(fasttree.from_json, json.dumps(mutated(DOCUMENTS[name], random)), random) for _ in range(60))
    assert 0 < read < 60


@pytest.mark.parametrize("name", MODELS)
def test_damaged_texts_are_refused_or_sound(name):
    random = Random(name)
    for _ in range(60):
        try_to_use(fasttree.from_json, damaged(TEXTS[name], random), random)


@pytest.mark.parametrize("name", MODELS)
def test_damaged_compressed_files_are_refused_or_sound(name):
    random, packed = Random(name), gzip.compress(TEXTS[name], mtime=0)
    for _ in range(30):
        try_to_use(fasttree.from_json, damaged(packed, random), random)


@pytest.mark.parametrize("name", ["c45", "c45rules"])
def test_a_file_that_breaks_off_anywhere_is_refused(name):
    text = TEXTS[name].rstrip()
    packed = gzip.compress(text)
    for data in [text[:length] for length in range(0, len(text), 7)] + [packed[:length] for length in range(0, len(packed), 7)]:
        with pytest.raises(DocumentError):
            loads(data)


# Files made to harm

N = 20_000


def changed(name, **entries):
    return json.dumps(DOCUMENTS[name] | entries).encode()


def with_categories(categories):
    feature = {"name": "id", "kind": "nominal", "type": "int", "categories": categories}
    return changed("c45", features=[*DOCUMENTS["c45"]["features"], feature])


def with_classes(classes):
    return changed("c45rules", targets=[{"name": "y", "classes": classes}])


MERSENNE = 2**61 - 1  # Python's hash of an integer is its remainder by this
PLACES = [b'"%s": ' % key for key in (b"features", b"targets", b"settings", b"nodes", b"values", b"tests", b"parent", b"missing")]
HOSTILE = {
    **{f"deep {place.decode()}": changed("c45").replace(place, place + b"[" * N, 1) for place in PLACES},
    "empty": b"",
    "blank": b" \n" * N,
    "a mark": b"\xef\xbb\xbf" + changed("c45"),
    "utf-16": changed("c45").decode().encode("utf-16"),
    "utf-16 without a mark": changed("c45").decode().encode("utf-16-le"),
    "half a character": changed("c45", algorithm="\ud800"),
    "no number": changed("c45", library=float("nan")),
    "infinity": changed("c45", library=float("-inf")),
    "too large a number": changed("c45").replace(b'"weight": [', b'"weight": [1e999, '),
    "5,000 digits": b'{"format": ' + b"1" * 5000 + b"}",
    "many long integers": b'{"a": [' + b",".join([b"1" * 4299] * 100) + b"]}",
    "long fraction": b'{"format": 0.' + b"1" * 10**6 + b"}",
    "a key twice": b'{"format": "fasttree.tree", "format": "fasttree.tree"}',
    "lists": b'{"a": [' + b"[]," * N + b"[]]}",
    "objects": b'{"a": [' + b"{}," * N + b"{}]}",
    "small objects": b'{"a": [' + b'{"a":1},' * N + b"{}]}",
    "keys": json.dumps({str(i): i for i in range(N)}).encode(),
    "one wide character": '{"a": "\U0001f333'.encode() + b"a" * 10 * N + b'"}',
    "open text": b'{"a": "' + b"a" * 10 * N,
    "open escapes": b'{"a": "' + b"\\u0061" * N,
    "categories of one hash": with_categories([str((i + 2**20) * MERSENNE) for i in range(N)]),
    "settings of one hash": changed("c45", settings={"class_weight": {"items": [[(i + 1) * MERSENNE, 1] for i in range(N)]}}),
    "one long class": with_classes(["x" * 10**6, *map(str, range(N // 10))]),
    "features of one name": changed("c45", features=[{"name": "age", "kind": "continuous"}] * N),
    "deep settings": changed("c45", settings={"a": json.loads("[" * 500 + "]" * 500)}),
    "nodes by claim": changed("c45", nodes={"parent": 2**31, "first_child": 2**31}),
    "rubbish": bytes(range(256)) * 100,
}  # fmt: skip


@contextmanager
def peak_memory() -> Iterator[list[int]]:
    """The most bytes that Python held within, when it is left."""
    peak: list[int] = []
    tracemalloc.start()
    try:
        yield peak
        peak.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()  # also where a check fails: the tests after it measure their own


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_by_its_name_in_little_memory(kind, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(HOSTILE[kind])
    with peak_memory() as peak, pytest.raises(DocumentError, match=r"model\.json: ") as caught:
        fasttree.load(path)
    assert peak[0] < 40 * len(HOSTILE[kind]) + 2**21
    assert len(str(caught.value)) < MOST_WORDS


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused_in_little_time(kind):
    start = time.process_time()
    with pytest.raises(DocumentError):
        fasttree.from_json(HOSTILE[kind])
    assert time.process_time() - start < 5  # the slowest takes a third of a second


BOMBS = {
    "blanks": gzip.compress(b" " * 10**8, 9),
    "lists": gzip.compress(b'{"a":[' + b"[]," * 10**7, 9),
    "twice": gzip.compress(gzip.compress(b" " * 10**7)),
    "empty members": gzip.compress(b"") * 10_000,
    "rubbish behind": gzip.compress(TEXTS["c45"]) + b"rubbish",
    "no end": gzip.compress(TEXTS["c45"])[:-4],
    "wrong sum": gzip.compress(TEXTS["c45"])[:-8] + bytes(8),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_hostile_compressed_file_unpacks_to_a_multiple_of_its_size_at_most(kind, tmp_path):
    path = tmp_path / "model.json.gz"
    path.write_bytes(BOMBS[kind])
    with peak_memory() as peak, pytest.raises(DocumentError, match=r"model\.json\.gz: "):
        fasttree.load(path)
    assert peak[0] < 3 * MAX_RATIO * len(BOMBS[kind]) + 2**23


def test_several_members_are_one_text(tmp_path):
    half = len(TEXTS["c45"]) // 2
    model = fasttree.from_json(gzip.compress(TEXTS["c45"][:half]) + gzip.compress(TEXTS["c45"][half:]))
    assert model.tree_ == MODELS["c45"].tree_


def test_a_document_that_repeats_itself_is_compressed_so_that_it_is_read(tmp_path):
    document = {"format": "fasttree.tree", "zeros": [0.0] * 2**19}
    save(tmp_path / "zeros.json.gz", document)
    assert os.path.getsize(tmp_path / "zeros.json.gz") < 2**20
    assert load(tmp_path / "zeros.json.gz") == document


def test_who_trusts_a_file_may_allow_more(tmp_path):
    (tmp_path / "model.json.gz").write_bytes(gzip.compress(b" " * 10**7 + TEXTS["c45"]))
    with pytest.raises(DocumentError, match="if you trust it, allow more with max_bytes"):
        fasttree.load(tmp_path / "model.json.gz")
    assert fasttree.load(tmp_path / "model.json.gz", max_bytes=2 * 10**7).tree_ == MODELS["c45"].tree_


def test_what_begins_like_no_model_is_not_read_to_its_end():
    with pytest.raises(DocumentError, match=r"/dev/zero: the document is not JSON"):
        fasttree.load("/dev/zero")


@pytest.mark.parametrize("kind", ["lists", "empty", "utf-16", "half a character", "one long class", "rubbish"])
def test_the_command_line_refuses_a_hostile_file_by_one_line(kind, tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(HOSTILE[kind])
    assert str(path) in mistake("show", path)
    assert str(path) in mistake("predict", path, path)


def test_the_command_line_refuses_mutated_documents_by_one_line(tmp_path):
    random, path = Random(0), tmp_path / "model.json"
    refused = 0
    while refused < 20:
        path.write_text(json.dumps(mutated(DOCUMENTS["c45"], random)))
        try:
            fasttree.load(path)
        except DocumentError:
            refused += 1
            assert str(path) in mistake("show", path)
