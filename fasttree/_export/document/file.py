"""Files and streams of documents: text or gzip, with limits on their size."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, NoReturn

from fasttree._data.files.whole import whole_file
from fasttree._export.document.values import (
    FIRST_KEYS,
    FREE_BYTES,
    GZIP,
    MAX_BYTES,
    MAX_RATIO,
    START,
    DocumentError,
    as_type,
    short,
)
from fasttree._export.predictor.image import MAGIC


@contextlib.contextmanager
def errors_in(source: str | os.PathLike[str] | BinaryIO | None) -> Iterator[None]:
    """Add the name of the file to the errors of its document."""
    try:
        yield
    except DocumentError as error:
        name = getattr(source, "name", None) if hasattr(source, "read") else source
        raise DocumentError(f"{os.fspath(name)}: {error}" if isinstance(name, (str, os.PathLike)) else str(error)) from None


@contextlib.contextmanager
def errors_of_settings() -> Iterator[None]:
    """Turn errors of parameters into errors of the document."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise DocumentError(f"settings: {error}") from None


def dumps(document: Mapping[str, Any]) -> str:
    """Write a document as JSON text: a line per entry, column of the nodes, row of the values, test and rule.

    Raises
    ------
    DocumentError
        If it holds anything but the dicts, lists, finite numbers and strings of JSON.
    """
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    try:
        lines = []
        for name, entry in document.items():
            if name == "nodes":
                text = "{\n  " + ",\n  ".join(f"{encode(key)}: {encode(column)}" for key, column in entry.items()) + "\n }"
            elif name == "values":
                text = encode(entry).replace("], [", "],\n  [")  # rows hold numbers alone
            elif name in FIRST_KEYS:
                first = encode(FIRST_KEYS[name])
                text = encode(entry).replace(f"}}, {{{first}:", f"}},\n  {{{first}:")  # the quote is escaped inside any text
            else:
                text = encode(entry)
            lines.append(f" {encode(name)}: {text}")
    except (TypeError, ValueError, RecursionError) as error:
        raise DocumentError(f"the document is not JSON: {error}") from None
    return "{\n" + ",\n".join(lines) + "\n}\n"


def save(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Write a document to a file, which appears whole or not at all.

    Parameters
    ----------
    path : path
        The file is compressed if the name ends in ``.gz``.  An existing file is replaced.
    document : mapping
        As returned by `to_document`.

    Raises
    ------
    DocumentError
        If the document is not JSON, or its text is not valid Unicode.
    OSError
        If the file cannot be written.
    """
    data = encoded(document)
    if os.path.realpath(path).endswith(".gz"):
        data = _compressed(data)
    with whole_file(path) as file:
        file.write(data)


def encoded(document: Mapping[str, Any]) -> bytes:
    """Write a document as `dumps` does, in UTF-8.

    Raises
    ------
    DocumentError
        As for `dumps`, and if its text is not valid Unicode.
    """
    try:
        return dumps(document).encode()
    except UnicodeEncodeError as error:
        raise DocumentError(f"the document has text that is not valid Unicode: {error}") from None


def _compressed(data: bytes) -> bytes:
    packed = gzip.compress(data, compresslevel=6, mtime=0)
    if len(data) <= _most_text(len(packed)):
        return packed
    # Zeros of hundreds of classes compress too well: without matching of repetitions the file passes the limits of `load`.
    compressor = zlib.compressobj(6, zlib.DEFLATED, 16 + zlib.MAX_WBITS, 8, zlib.Z_HUFFMAN_ONLY)
    return compressor.compress(data) + compressor.flush()


def _most_text(n_packed: int) -> int:
    """Return the largest size of text that is read from a compressed file of `n_packed` bytes."""
    return max(FREE_BYTES, MAX_RATIO * n_packed)


def loads(text: str | bytes, *, max_bytes: int | None = None) -> dict[str, Any]:
    """Parse the text of a document strictly, without NaN, infinity and repeated keys.

    Parameters
    ----------
    text : str or bytes
        Text; bytes may be compressed with gzip.
    max_bytes : int or None, default None
        As for `load`.

    Raises
    ------
    DocumentError
        If the text is not a JSON object in UTF-8, damaged, or too large.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise TypeError(f"a model is read from text or bytes; got {type(text).__name__}")
    try:
        was_text = isinstance(text, str)
        if not isinstance(text, str):
            text = _decoded(_unpacked(text, max_bytes) if text.startswith(GZIP) else text)
        document = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
        if "\\u" in text or (was_text and not text.isascii()):
            json.dumps(document, ensure_ascii=False).encode()  # fails on lone surrogates, which are not valid Unicode
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError("the document is nested too deeply") from None
    except ValueError as error:
        cut_off = isinstance(error, json.JSONDecodeError) and 0 < len(error.doc.rstrip()) <= error.pos
        raise DocumentError(f"the document {'breaks off' if cut_off else 'is not JSON in UTF-8'}: {error}") from None
    return as_type(document, dict, "the document")  # type: ignore[no-any-return]


def load(source: str | os.PathLike[str] | BinaryIO, *, max_bytes: int | None = None) -> dict[str, Any]:
    """Read a document from a file, compressed with gzip or not.

    Parameters
    ----------
    source : path or binary file
    max_bytes : int or None, default None
        Limit of the text after decompression.  None for 2**31, and for a compressed file also 200 times its size or 2**16,
        whichever is larger.

    Returns
    -------
    dict
        The document, for `from_document`.

    Raises
    ------
    DocumentError
        If the file is damaged, too large, or not a JSON object in UTF-8.
    OSError
        If the file cannot be read.
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return loads(_read_bytes(file, max_bytes), max_bytes=max_bytes)
    if not hasattr(source, "read"):
        raise TypeError(f"a model is read from a path or an open binary file; got {type(source).__name__}")
    return loads(_read_bytes(source, max_bytes), max_bytes=max_bytes)


def _read_bytes(file: BinaryIO | gzip.GzipFile, max_bytes: int | None) -> bytes:
    most = MAX_BYTES if max_bytes is None else max_bytes
    data = bytearray()
    begun = False
    while block := file.read(2**20):
        if not isinstance(block, bytes):
            raise TypeError(
                f"a model is read from a file that is open in binary mode ('rb'); this one gives {type(block).__name__}"
            )
        data += block
        if len(data) > most:
            raise DocumentError(f"has more than {most} bytes; if you trust it, allow more with max_bytes")
        if not begun and (begun := not block.isspace()) and not START.match(block):
            break  # not a model; the first bytes suffice for the message, and the rest may be endless
    return bytes(data)


def _unpacked(packed: bytes, max_bytes: int | None) -> bytes:
    most = min(MAX_BYTES, _most_text(len(packed))) if max_bytes is None else max_bytes
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            return _read_bytes(file, most)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DocumentError(f"is damaged: {error}") from None


def _decoded(data: bytes) -> str:
    if data.startswith(MAGIC):
        raise DocumentError("is the file of a predictor, not of a model: open it with fasttree.Predictor.open")
    marks = {codecs.BOM_UTF8: "a byte order mark", codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}
    for mark, name in marks.items():
        if data.startswith(mark):
            raise DocumentError(f"is text with {name}: save it as UTF-8 without a byte order mark")
    return data.decode()


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        seen: set[str] = set()
        repeated = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DocumentError(f"the key {short(repeated)} occurs twice in one object")
    return entries


def _refuse_constant(name: str) -> NoReturn:
    raise DocumentError(f"{name} is not a JSON number")
