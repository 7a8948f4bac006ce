"""Small CSV files without quotes: rows are those that polars reads, or are left to it."""

import gzip

import polars as pl
import pytest

from fasttree._data.files import plain
from fasttree._data.files.blocks import TableFile
from fasttree._data.files.plain import open_plain, plain_names

HEADER = "x,flag,code,word,other"
ROWS = ["0.5,true,9007199254740993,a,1", "-2,false,,b c,2", ",,9007199254740994,,?", "007,true,-3, é ,4"]
KINDS = {"code": "integer", "x": "number", "word": "text", "flag": "boolean"}
TYPES = {"number": pl.Float64(), "integer": pl.Int64(), "boolean": pl.Boolean(), "text": pl.String()}
FILES = ["{}", "{}\n", "{}\n\n", "\n{}", "{},", " {}", "{}\r\n", "\ufeff{}", "{}\n1,true,1,a", "{}\r1,true,1,a,1"]
CELLS = ["1e3", "+1", ".5", "1.", "-0", "1_0", "nan", "inf", "true", "True", "?", "-", "a", "a;b", "١", "1" * 20, "1" * 301]
CELLS += [" 1", "1 ", '"1"', '"', "\0", ""]


def by_polars(path, markers):
    try:
        blocks = TableFile(str(path), markers).blocks({name: TYPES[kind] for name, kind in KINDS.items()})
        table = pl.concat([block.asked for block in blocks])
    except ValueError:
        return None
    return [table.row(row, named=True) for row in (3, 0)]


@pytest.mark.parametrize("markers", [(), ("?",), ("1", "a", "true")], ids=str)
def test_rows_are_those_that_polars_reads(markers, tmp_path):
    whole = "\n".join([HEADER, *ROWS])
    texts = [form.format(whole) for form in FILES] + [
        whole.replace("\n", "\r\n"),
        whole.replace("other", "x"),
        whole.replace("other", "7"),
    ]
    for column in range(5):
        for cell in CELLS:
            cells = ROWS[3].split(",")
            cells[column] = cell
            texts.append("\n".join([HEADER, *ROWS[:3], ",".join(cells)]))
    path = tmp_path / "t.csv"
    n_read = 0
    for text in texts:
        path.write_bytes(text.encode())
        file = open_plain(str(path), ",")
        found = None if file is None else file.rows(KINDS, markers, [3, 0])
        if found is not None:
            n_read += 1
            assert repr(found) == repr(by_polars(path, markers)), text
    assert n_read > 35


def test_what_is_not_small_and_plain_is_left_to_polars(tmp_path, monkeypatch):
    text = "\n".join([HEADER, *ROWS]).encode()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
    file = open_plain(str(tmp_path / "t.csv.gz"), ",")
    assert file.rows(KINDS, (), [0])[0]["word"] == "a"
    assert file.rows(KINDS, (), [4]) is None
    assert file.rows({"absent": "text"}, (), [0]) is None
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(text)[:-9])
    (tmp_path / "latin.csv").write_bytes("ä,b\nö,1".encode("latin-1"))
    (tmp_path / "one.csv").write_bytes(b"a\n1\n")
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    for name in ["broken.csv.gz", "latin.csv", "one.csv", "t.parquet", "absent.csv"]:
        assert open_plain(str(tmp_path / name), ",") is None, name
    monkeypatch.setattr(plain, "MOST_BYTES", len(text) - 1)
    assert open_plain(str(tmp_path / "t.csv.gz"), ",") is None


@pytest.mark.parametrize("header", [HEADER, "a,b ,c d", "a,,b", "a,7", "a,a", "a", "", '"a",b', "a;b", "ä,b", " a,b"], ids=str)
def test_names_are_those_that_polars_reads(header, tmp_path):
    for rows in ("", "\n", "\n1,2\n", "\r\n1,2\r\n", '\n"1",2\n'):
        text = (header + rows).encode()
        (tmp_path / "t.csv").write_bytes(text)
        (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text))
        found = plain_names(str(tmp_path / "t.csv"), ",")
        assert found == plain_names(str(tmp_path / "t.csv.gz"), ",")
        if found is not None:
            assert found == TableFile(str(tmp_path / "t.csv")).names, text
    assert (found is None) == (header not in (HEADER, "a,b ,c d", "ä,b", " a,b"))


def test_a_header_that_is_not_plain_is_left_to_polars(tmp_path, monkeypatch):
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(b"a,b\n")[:12])
    (tmp_path / "latin.csv").write_bytes("ä,b\n".encode("latin-1"))
    (tmp_path / "marked.csv").write_bytes("\ufeffa,b\n".encode())
    (tmp_path / "old.csv").write_bytes(b"a,b\r1,2\r")
    (tmp_path / "t.parquet").write_bytes(b"PAR1,a\n")
    for name in ["broken.csv.gz", "latin.csv", "marked.csv", "old.csv", "t.parquet", "absent.csv"]:
        assert plain_names(str(tmp_path / name), ",") is None, name
    (tmp_path / "long.csv").write_bytes(b"a,b,c\n")
    monkeypatch.setattr(plain, "MOST_BYTES", 4)
    assert plain_names(str(tmp_path / "long.csv"), ",") is None
