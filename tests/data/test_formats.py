"""Files that declare their columns: what they say arrives, and what is wrong with them is said with file and line."""

import csv
import doctest
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fasttree import C45Classifier, formats
from fasttree._data.learn import learn_table
from fasttree._data.targets import encode_classes

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def write_c45(tmp_path):
    """Write a family of files and return its stem."""

    def write(names, data="", test=None):
        for part, text in ((".names", names), (".data", data), (".test", test)):
            if text is not None:
                (tmp_path / f"t{part}").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "t"

    return write


@pytest.fixture
def write_arff(tmp_path):
    def write(text):
        (tmp_path / "t.arff").write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / "t.arff"

    return write


def categories(column):
    return column.dtype.categories.to_list()


# C4.5: what the files say


def test_golf_is_the_table_of_the_book():
    X, y = formats.read_c45(EXAMPLES / "golf")
    assert X.columns == ["outlook", "temperature", "humidity", "windy"]
    assert X.schema["temperature"] == pl.Float64
    assert categories(X["outlook"]) == ["sunny", "overcast", "rain"]
    assert (y.name, categories(y)) == ("class", ["Play", "Don't Play"])
    assert X.row(0) == ("sunny", 85.0, 85.0, "false")
    assert (X.shape, y.value_counts(sort=True).rows()) == ((14, 4), [("Play", 9), ("Don't Play", 5)])


@pytest.mark.parametrize("name", ["golf", "golf.names", "golf.data"])
def test_stem_names_and_data_name_the_same_table(name):
    X, y = formats.read_c45(str(EXAMPLES / name))
    expected_X, expected_y = formats.read_c45(EXAMPLES / "golf")
    assert X.equals(expected_X)
    assert y.equals(expected_y)


def test_names_end_and_blanks_collapse_as_c45_has_it(write_c45):
    names = (
        "| a comment first, with: all, sorts. of | signs\n\n"
        "  first   class ,\n\tsecond\t \tclass,third. | names go on after a comma, and end at a period\n"
        "size:continuous. kind: 3.5, a\\,b, c\\: d, e\\|f, back\\\\slash, v1.0. free: ignore\n"
        "last: yes, no| no period"
    )
    data = (
        "1, 3.5, x, yes, first class\n"
        "2., a\\,b, x, no , second   class.\n"
        "\n| nothing\n"
        "3 : c\\: d : x : yes : third. | colons part, too\n"
        ".4,e\\|f,x,?,third\n"
        "?,back\\\\slash,,no,first\tclass\n"
        "  5e0  ,v1.0, x, yes, second class"
    )
    X, y = formats.read_c45(write_c45(names, data))
    assert X.columns == ["size", "kind", "last"]
    assert X["size"].to_list() == [1, 2, 3, 0.4, None, 5]
    assert X["kind"].to_list() == categories(X["kind"]) == ["3.5", "a,b", "c: d", "e|f", "back\\slash", "v1.0"]
    assert X["last"].to_list() == ["yes", "no", "yes", None, "no", "yes"]
    assert categories(y) == ["first class", "second class", "third"]
    assert y.to_list() == ["first class", "second class", "third", "third", "first class", "second class"]


def test_a_class_or_attribute_may_carry_any_name(write_c45):
    X, y = formats.read_c45(write_c45("a, b.\nclass: continuous.\nclass_: x, y.\n? : x, y.\n", "1,x,y,b\n"))
    assert X.columns == ["class", "class_", "?"]
    assert y.name == "class__"


def test_what_is_declared_reaches_the_estimator_even_if_it_does_not_occur(write_c45):
    X, y = formats.read_c45(
        write_c45("c, a, b.\nx: r, q, p.\ny: discrete 3.\nz: discrete 2.\n", "q,v,?,a\nq,u,?,a\np,v,?,b\n" * 4)
    )
    features = learn_table(X).schema.features
    assert [feature.categories for feature in features] == [("r", "q", "p"), ("v", "u"), ()]
    classes, codes = encode_classes(y)
    assert (classes.tolist(), codes.tolist()) == (["c", "a", "b"], [1, 1, 2] * 4)
    model = C45Classifier().fit(X, y)
    assert model.classes_.tolist() == ["c", "a", "b"]
    assert model.tree_.n_branches[0] == 3  # the absent value of x, too


def test_values_that_are_collected_come_from_data_and_not_from_test(write_c45):
    stem = write_c45("a, b.\nx: discrete 2.\ny: continuous.", "q,1,a\n?,2,b\np,3,b\nq,4,a\n", "p,5,b\nnew,6,a\n")
    X, _ = formats.read_c45(stem)
    assert (X["x"].to_list(), categories(X["x"])) == (["q", None, "p", "q"], ["q", "p"])
    X, y = formats.read_c45(f"{stem}.test")
    assert (X["x"].to_list(), categories(X["x"])) == (["p", None], ["q", "p"])
    assert (X["y"].to_list(), y.to_list()) == ([5, 6], ["b", "a"])
    with pytest.raises(ValueError, match=r"t\.data:3: 'x' is declared as discrete 1 but has another value, 'p'"):
        formats.read_c45(write_c45("a, b.\nx: discrete 1.\n", "q,a\nq,b\np,b\n"))


def test_undeclared_values_are_missing_and_undeclared_classes_the_first(write_c45):
    stem = write_c45("a, b.\nx: p, q.\ny: 1, 2.\n", "p,1,b\nr,3,b\n| comment\nq,2,c\nr,1,?\n")
    with pytest.warns(UserWarning, match="does not declare") as caught:
        X, y = formats.read_c45(stem)
    assert X.rows() == [("p", "1"), (None, None), ("q", "2"), (None, "1")]
    assert y.to_list() == ["b", "b", "a", "a"]
    values, labels = (str(warning.message).replace(str(stem), "t") for warning in caught)
    undeclared = "that t.names does not declare, read as"
    assert values == f"t.data has 3 values ('x' 'r' (line 2), 'y' '3' (line 2), 'x' 'r' (line 5)) {undeclared} missing"
    assert labels == f"t.data has 2 classes ('c' (line 4), '?' (line 5)) {undeclared} the first class, 'a'"
    assert {warning.filename for warning in caught} == {__file__}


def test_the_eleventh_undeclared_value_is_an_error(write_c45):
    stem = write_c45("a, b.\nx: p, q.\n", "r,a\n" * 6 + "p,c\n" * 4)
    with pytest.warns(UserWarning, match="does not declare"):
        formats.read_c45(stem)
    stem = write_c45("a, b.\nx: p, q.\n", "r,a\n" * 6 + "p,c\n" * 5)
    with pytest.raises(ValueError, match=r"6 values \('x' 'r' \(line 1\), .*, …\) and 5 classes \(.*\).*at most 10"):
        formats.read_c45(stem)
    with pytest.warns(UserWarning, match="does not declare"):
        assert formats.read_c45(stem, max_undeclared=None)[0]["x"].null_count() == 6
    with pytest.raises(ValueError, match="none is allowed"):
        formats.read_c45(stem, max_undeclared=0)
    for wrong in (-1, "5", 2.5):
        with pytest.raises(ValueError, match=f"max_undeclared={wrong!r}: must be an integer >= 0, or None"):
            formats.read_c45(stem, max_undeclared=wrong)


def test_minus_999_is_missing_in_a_continuous_attribute_only(write_c45):
    stem = write_c45("a, b.\nx: continuous.\ny: -999, 1.\nz: continuous.", "-999,-999,-998,a\n1,1,-999.0,b\n-9.99e2,1,0,b\n")
    with pytest.warns(UserWarning, match=r"-999 in continuous attributes is read as missing, as C4.5 does: 'x' \(2\), 'z' \(1\)"):
        X, _ = formats.read_c45(stem)
    assert X.rows() == [(None, "-999", -998), (1, "1", None), (None, "1", 0)]


@pytest.mark.parametrize(
    ("names", "data", "message"),
    [
        ("", "", "t.names declares no classes"),
        ("| nothing\n", "", "t.names declares no classes"),
        ("a, b.", "", "t.names declares no attribute that is not ignored"),
        ("a, b.\nx: ignore.", "", "t.names declares no attribute that is not ignored"),
        ("a, a.\nx: continuous.", "", "t.names:1: 'a' is declared twice"),
        (
            "a, b.\n\nx: p.\n",
            "",
            "t.names:3: 'x' has one value, 'p': list two or more, or write continuous, discrete N or ignore",
        ),
        ("a, b.\nx: Continuous.\n", "", "t.names:2: 'x' has one value, 'Continuous'"),
        ("a, b.\nx: discrete 0.\n", "", "t.names:2: 'x' has one value, 'discrete 0'"),
        ("a, b.\nx:", "", "t.names:2: 'x' has no values"),
        ("a, b.\nx: p, q, p.\n", "", "t.names:2: 'p' is declared twice"),
        ("a, b.\nx: p, q.\nx: p, r.\n", "", "t.names:3: attribute 'x' is declared twice"),
        ("a, b.\nx: p, , q.\n", "", "t.names:2: a name is empty before ','"),
        ("a, b.\nx: p, q: r.\n", "", "t.names:2: a colon after 'q'"),
        ("a, b.\nTitle of the data\nx: p, q.\n", "", "t.names:2: 'Title of the data' declares nothing"),
        ("x: p, q.\na, b.\n", "", "t.names:1: the attribute 'x' comes before the classes"),
        ("a, b.\nx: p, q\\", "", "t.names:2: a backslash escapes nothing"),
        ("a, b.\nx: p\0, q.", "", "t.names is neither UTF-8 nor Latin-1"),
        ("a, b.\nx: p, q.\n", "p,a\n\np,q,a\n", "t.data:3: a row of 3 comma-separated cells; 2 are declared"),
        ("a, b.\nx: p, q.\n", "p", "t.data:1: a row of 1 comma-separated cells; 2 are declared"),
        ("a, b.\nx: p, q.\n", "p,a\np,a\\", "t.data:2: a backslash at the end escapes nothing"),
        (
            "a, b.\nx: continuous.\n",
            "1,a\nmany,b\n",
            "t.data:2: 'x' is declared a number but has 'many'; write ? for a missing value",
        ),
        ("a, b.\nx: continuous.\n", "1,a\ninf,b\n", "t.data:2: 'x' is declared a number but has 'inf'"),
        ("a, b.\nx: continuous.\n", "nan,b\n", "t.data:1: 'x' is declared a number but has 'nan'"),
    ],
)
def test_mistakes_in_c45_files_are_named_with_file_and_line(names, data, message, write_c45):
    stem = write_c45(names, data)
    with pytest.raises(ValueError, match=f"^{re.escape(str(stem))}") as raised:
        formats.read_c45(stem)
    assert message in str(raised.value).replace(str(stem), "t")


@pytest.mark.parametrize("absent", [".names", ".data", ".test"])
def test_a_file_of_the_family_that_is_not_there_is_named(absent, write_c45):
    stem = write_c45("a, b.\nx: continuous.\n", "1,a\n", "1,a\n")
    stem.with_suffix(absent).unlink()
    with pytest.raises(FileNotFoundError, match=rf"t\{absent}"):
        formats.read_c45(stem.with_suffix(absent))


def test_no_cases_are_a_table_without_rows(write_c45):
    X, y = formats.read_c45(write_c45("a, b.\nx: p, q.\nz: continuous.", "\n| none\n"))
    assert (X.shape, X.dtypes, len(y), categories(y)) == ((0, 2), [pl.Enum(["p", "q"]), pl.Float64], 0, ["a", "b"])


# ARFF: what the file says


def test_the_parts_of_an_arff_file(write_arff):
    path = write_arff(
        "% comment\n@RELATION 'a table'\n\n"
        "@attribute plain real\n"
        "@Attribute 'two words' {red, 'dark red', \"it's\", 50%, 'a,b', '?', 'x\\'y\\\\z', ''}  % colours\n"
        '@attribute "day" DATE\n'
        "@attribute month date \"dd.MM.yyyy 'at' HH:mm:ss.SSS\"\n"
        "@attribute text string\n"
        "@attribute n{1,2}\n"
        "@attribute count INTEGER\n"
        "@data % from here on\n"
        " 1.5 , 'dark red', 2020-01-31T23:59:58, 01.02.2003 at 01:02:03.004, 'free, text', 1, 7\n"
        "\n  % nothing\n"
        "?, red, ?, ?, ?, ?, ?\n"
        "-2e-3, \"it's\", '2021-02-28T00:00:00', '28.02.2021 at 00:00:00.000', don't, 2, +3 % a comment\n"
        ".5, 50%, ?, ?, 'tab\\tand \\\"quotes\\\"', 1, 4\n"
        "5., '?', ?, ?, '', 1, 5\n"
        "6, 'a,b', ?, ?, a  b, 1, 6\n"
        "7, 'x\\'y\\\\z', ?, ?, '?', 1, 7\n"
        "8, '', ?, ?, \\, 1, 8"
    )
    X, y = formats.read_arff(path)
    assert X.columns == ["plain", "two words", "day", "month", "text", "n"]
    assert y.name == "count"
    assert X["plain"].to_list() == [1.5, None, -0.002, 0.5, 5, 6, 7, 8]
    colours = ["red", "dark red", "it's", "50%", "a,b", "?", "x'y\\z", ""]
    assert categories(X["two words"]) == colours
    assert X["two words"].to_list() == [colours[k] for k in (1, 0, 2, 3, 5, 4, 6, 7)]
    assert X["day"].drop_nulls().dt.to_string("%d.%m. %H:%M:%S").to_list() == ["31.01. 23:59:58", "28.02. 00:00:00"]
    months = X["month"].drop_nulls().dt.to_string("%Y-%m-%d %H:%M:%S%.3f").to_list()
    assert months == ["2003-02-01 01:02:03.004", "2021-02-28 00:00:00.000"]
    assert X["text"].to_list() == ["free, text", None, "don't", 'tab\tand "quotes"', "", "a  b", "?", "\\"]
    assert categories(X["n"]) == ["1", "2"]
    assert y.to_list() == [7, None, 3, 4, 5, 6, 7, 8]


def test_sparse_rows_leave_out_what_is_zero(write_arff):
    header = "@attribute a numeric\n@attribute b {low, 'very high', mid}\n@attribute c string\n@attribute y {no, yes}\n@data\n"
    X, y = formats.read_arff(write_arff(header + "{1 'very high', 3 yes}\n{ }\n{0 2.5,1 ?, 2 'a } b'} % rest\n3,mid,x,yes\n"))
    assert X.rows() == [(0, "very high", None), (0, "low", None), (2.5, None, "a } b"), (3, "mid", "x")]
    assert y.to_list() == ["yes", "no", "no", "yes"]


def test_any_attribute_can_be_the_target(write_arff):
    path = write_arff("@attribute a numeric\n@attribute b {x, y}\n@data\n1,x\n2,y\n")
    X, y = formats.read_arff(path, "a")
    assert (X.columns, y.to_list()) == (["b"], [1, 2])
    with pytest.raises(ValueError, match=r"target='c': .* has no such attribute; it has 'a', 'b'"):
        formats.read_arff(path, "c")


HEADER = "@attribute x numeric\n@attribute y {a, b}\n@data\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is no ARFF file: it has no @data line"),
        ("@relation r\n@attribute x numeric\n", "is no ARFF file: it has no @data line"),
        ("x,y\n1,2\n", ":1: 'x,y' is not @relation, @attribute or @data"),
        ("@relation r\n@data\n", ":2: @data comes before any @attribute"),
        ("@attribute x numeric\n@attribute x real\n@data\n", ":3: attribute 'x' is declared twice"),
        ("@attribute x {a, b, a}\n", ":1: attribute 'x' declares the value 'a' twice"),
        ("@attribute x {}\n", ":1: attribute 'x' declares no values"),
        ("@attribute x {a, b\n", ":1: ends before a value or }"),
        ("@attribute x {a, 'b}\n", ':1: the quote of "\'b}" is not closed'),
        ("@attribute x {a} weight\n", ":1: cannot be read from 'weight' on"),
        ("@attribute 'x numeric\n", ':1: "@attribute \'x numeric" is no declaration'),
        ("@attribute x\n", ":1: attribute 'x' has type '': must be numeric, real"),
        ("@attribute x relational\n", ":1: attribute 'x' has type 'relational': must be numeric, real"),
        ("@attribute x real [0, 1]\n", ":1: attribute 'x' has type 'real [0, 1]'"),
        ("@attribute x date 'HH:mm'\n", ":1: date pattern 'HH:mm' lacks yyyy, MM or dd"),
        ("@attribute x date 'yyyy-MM-dd z'\n", ":1: date pattern 'yyyy-MM-dd z': z is not supported"),
        (
            "@attribute x date\n@attribute y real\n@data\n2020-01-01,1",
            ":4: 'x' has '2020-01-01', but is declared 'a date written as",
        ),
        ("@attribute x numeric\0\n@data\n", "is neither UTF-8 nor Latin-1"),
        (HEADER + "1,a\n\n1\n", ":6: a row of 1 comma-separated cells; 2 are declared"),
        (HEADER + "1,a,\n", ":4: a row of 3 comma-separated cells"),
        (HEADER + "1 a\n", ":4: a row of 1 comma-separated cells"),
        (HEADER + "one,a\n", ":4: 'x' is declared a number but has 'one'"),
        (HEADER + "1,a\n2,c\n", ":5: 'y' has 'c', but is declared 'a, b'"),
        (HEADER + "1,\n", ":4: 'y' has '', but is declared 'a, b'"),
        (HEADER + "1,'a\n", ':4: the quote of "\'a" is not closed'),
        (HEADER + "1,'a'b\n", ":4: cannot be read from 'b' on"),
        (HEADER + "1,a,{2}\n", ":4: "),
        (HEADER + "{0 1, 1 a}, {2}\n", ":4: ', {2}' follows a sparse row: weights of rows are not supported"),
        (HEADER + "{2 1}\n", ":4: a sparse row has the index 2; the last attribute is 1, counted from 0"),
        (HEADER + "{0 1, a}\n", ":4: a sparse row is {index value, ...}: cannot be read from 'a}' on"),
        (HEADER + "{0 1, 1 a\n", ":4: a sparse row is {index value, ...}"),
        ("@attribute y {a, b}\n@data\n", "has no attribute but the target, 'y'"),
    ],
)
def test_mistakes_in_arff_files_are_named_with_file_and_line(text, message, write_arff):
    path = write_arff(text)
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}") as raised:
        formats.read_arff(path)
    assert message in str(raised.value)


# Both: how the text is written


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("compress", [False, True])
def test_encodings_line_ends_and_compression_change_nothing(encoding, end, compress, tmp_path):
    def write(name, text):
        content = text.replace("\n", end).encode(encoding)
        path = tmp_path / (f"{name}.gz" if compress else name)
        path.write_bytes(gzip.compress(content) if compress else content)
        return path

    path = write("t.arff", "@attribute größe numeric\n@attribute y {naïve, à}\n@data\n1,naïve\n2,à")
    write("t.names", "naïve, à.\ngröße: continuous.\n")
    data = write("t.data", "1,naïve\n2,à")
    for X, y in (formats.read_arff(path), formats.read_c45(tmp_path / "t"), formats.read_c45(data)):
        assert X.to_dict(as_series=False) == {"größe": [1, 2]}
        assert (y.to_list(), categories(y)) == (["naïve", "à"], ["naïve", "à"])


def test_a_file_cut_short_in_compression_is_a_mistake(tmp_path):
    content = gzip.compress((EXAMPLES / "golf.data").read_bytes())
    (tmp_path / "t.names").write_bytes((EXAMPLES / "golf.names").read_bytes())
    for wrong in (content[:60], content[:30] + b"\0" * 60):
        (tmp_path / "t.data").write_bytes(wrong)
        with pytest.raises(ValueError, match=r"t\.data cannot be decompressed"):
            formats.read_c45(tmp_path / "t")


def test_long_lines_are_read_in_linear_time(write_c45, write_arff):
    # A pattern that tried every length of the same run would take hours here.
    n = 200_000
    for cell in (" " * n + "x", "x " * n, "\\" * n, "." * n, ". " * n, "x" + "|" * n):
        with pytest.raises(ValueError, match=r"t\.data:1: |declare"):
            formats.read_c45(write_c45("a, b.\nx: p, q.\n", cell), max_undeclared=0)
    for cell in (" " * n + "%", "x " * n, "'" * n, "'" + "\\" * n, "% " * n + "'", "x % " * n, "{" * n):
        with pytest.raises(ValueError, match=r"t\.arff:4: "):
            formats.read_arff(write_arff(HEADER + "x'" + cell))


@pytest.mark.parametrize("n_lines", [1, 2, 5])
def test_blocks_change_nothing(n_lines, monkeypatch, write_arff, write_c45):
    stem = write_c45(
        "a, b.\nx: continuous.\ny: discrete 9.\nz: p, q.\n", "".join(f"{k},v{k % 7}, p ,a\n" for k in range(9)) + "|\n9,?,r,b.\n"
    )
    path = write_arff(HEADER + "".join(f"{k}, 'b'\n{k},a\n\n" for k in range(9)))
    expected = formats.read_arff(path)
    with pytest.warns(UserWarning, match="line 11"):
        family = formats.read_c45(stem)
    monkeypatch.setattr("fasttree._data.files.columns.BLOCK_LINES", n_lines)
    assert all(found.equals(before) for found, before in zip(formats.read_arff(path), expected, strict=True))
    with pytest.warns(UserWarning, match="line 11"):
        assert all(found.equals(before) for found, before in zip(formats.read_c45(stem), family, strict=True))


# Any table, any text

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t\f\v\0"), min_size=1, max_size=6)
PLAIN = NAMES.map(lambda name: re.sub(" +", " ", name.strip(" "))).filter(lambda name: name not in ("", "?"))
NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: number != -999)


@st.composite
def tables(draw, names):
    """Columns that are either numbers or one of declared values, and a column of classes."""
    n_rows = draw(st.integers(0, 5))
    labels = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    columns = {}
    for label in labels:
        values = draw(st.none() | st.lists(names, min_size=2, max_size=4, unique=True))
        cells = NUMBERS if values is None else st.none() | st.sampled_from(values)
        dtype = pl.Float64() if values is None else pl.Enum(values)
        columns[label] = pl.Series(label, draw(st.lists(cells, min_size=n_rows, max_size=n_rows)), dtype=dtype)
    classes = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    target = draw(st.lists(st.sampled_from(classes), min_size=n_rows, max_size=n_rows))
    return pl.DataFrame(columns), pl.Series("class", target, dtype=pl.Enum(classes))


def c45_name(name):
    """Escape every character that may end a name."""
    return re.sub(r"([\\,:|.])", r"\\\1", name)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(PLAIN), separator=st.sampled_from([",", ", ", " ,  ", ":"]), period=st.sampled_from(["", "."]))
def test_a_table_written_as_c45_files_comes_back(table, separator, period, write_c45):
    X, y = table

    def declared(column):
        return "continuous" if column.dtype == pl.Float64 else ", ".join(map(c45_name, categories(column)))

    names = [", ".join(map(c45_name, categories(y)))]
    names += [f"{c45_name(column.name)}: {declared(column)}" for column in X]
    rows = X.with_columns(y.alias("the class, at last")).rows()
    cells = [["?" if cell is None else c45_name(cell) if isinstance(cell, str) else repr(cell) for cell in row] for row in rows]
    stem = write_c45(
        "".join(f"{line}{period}\n" for line in names), "".join(separator.join(row) + period + "\n" for row in cells)
    )
    found_X, found_y = formats.read_c45(stem)
    assert found_X.equals(X)
    assert found_X.schema == X.schema
    assert found_y.to_list() == y.to_list()
    assert found_y.dtype == y.dtype


def arff_value(value, quote):
    if value is None:
        return "?"
    return quote + re.sub(r"(['\"\\])", r"\\\1", value) + quote if isinstance(value, str) else repr(value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables(NAMES), quote=st.sampled_from("'\""), sparse=st.booleans())
def test_a_table_written_as_arff_comes_back(table, quote, sparse, write_arff):
    X, y = table
    y = y.alias(max(X.columns) + "y")
    lines = ["@relation r"]
    for column in [*X, y]:
        values = [arff_value(value, quote) for value in categories(column)] if column.dtype != pl.Float64 else None
        lines.append(f"@attribute {arff_value(column.name, quote)} " + ("real" if values is None else f"{{{','.join(values)}}}"))
    lines.append("@data")
    for row in X.with_columns(y).rows():
        cells = [arff_value(cell, quote) for cell in row]
        lines.append("{" + ", ".join(f"{j} {cell}" for j, cell in enumerate(cells)) + "}" if sparse else ",".join(cells))
    found_X, found_y = formats.read_arff(write_arff("\n".join(lines)))
    assert found_X.equals(X)
    assert found_X.schema == X.schema
    assert found_y.equals(y)
    assert (found_y.name, found_y.dtype) == (y.name, y.dtype)


SCRAPS = st.sampled_from(
    [
        *",:|.\\\n\t'\"{}%?@ \r\0",
        *(". ", ".\n", "a", "b", "x", "1", "-999", "é", "p,b\n", "continuous", "ignore", "discrete 3", "a, b.\nx: p, q.\n"),
        *(
            "@attribute ",
            "@data\n",
            "numeric\n",
            "date ",
            "'yyyy-MM-dd' ",
            "string\n",
            "{a, 'b c'}\n",
            "{0 1}\n",
            HEADER,
            "1,a\n",
        ),
    ]
)
TEXTS = st.lists(SCRAPS, max_size=20).map("".join).map(str.encode) | st.binary(max_size=60)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=TEXTS | st.just(b"a, b.\nx: p, q.\ny: continuous.\nz: discrete 2.\n"), data=TEXTS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_any_c45_files_are_a_table_or_one_clear_mistake(names, data, write_c45):
    stem = write_c45(names, data)
    try:
        X, y = formats.read_c45(stem)
    except ValueError as error:
        mistake = str(error)
    else:
        mistake = None
        assert len(X) == len(y)
        assert X.width
        assert y.null_count() == 0
    assert mistake is None or mistake.startswith(str(stem))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS | TEXTS.map(lambda text: HEADER.encode() + text))
def test_any_arff_file_is_a_table_or_one_clear_mistake(text, write_arff):
    path = write_arff(text)
    try:
        X, y = formats.read_arff(path)
    except ValueError as error:
        mistake = str(error)
    else:
        mistake = None
        assert len(X) == len(y)
        assert X.width
    assert mistake is None or mistake.startswith(str(path))


# Real tables


def test_soybean_in_arff_is_soybean_in_csv(shared):
    X, y = formats.read_arff(shared / "data" / "soybean.arff")
    found = X.with_columns(y).cast(pl.String)
    parts = [pl.read_csv(shared / "data" / name, infer_schema=False) for name in ("soybean.csv.gz", "soybean.test.csv.gz")]
    expected = pl.concat(parts).with_columns(pl.col("germination").str.replace("%", "", literal=True))
    assert sorted(found.rows(), key=str) == sorted(expected.rows(), key=str)
    declared = next(entry for entry in json.loads((shared / "data" / "datasets.json").read_text()) if entry["name"] == "soybean")
    assert categories(y) == declared["columns"][-1]["values"]


@pytest.mark.parametrize("name", ["golf", "vote-c45", "credit-a-c45", "hypothyroid", "glass", "zoo"])
def test_a_table_written_as_quinlan_has_it_comes_back(name, shared, tmp_path):
    entries = json.loads((shared / "data" / "datasets.json").read_text())
    *columns, target = next(entry for entry in entries if entry["name"] == name)["columns"]
    lines = [", ".join(map(c45_name, target["values"])) + "."]
    for column in columns:
        declared = ", ".join(map(c45_name, column.get("values") or ["continuous"]))
        lines.append(f"{c45_name(column['name'])}: {declared}.")
    (tmp_path / "t.names").write_text("\n".join(lines))
    with gzip.open(shared / "data" / f"{name}.csv.gz", "rt", newline="") as file:
        _, *rows = csv.reader(file)
    (tmp_path / "t.data").write_text("".join(",".join(c45_name(cell) for cell in row) + "\n" for row in rows))
    X, y = formats.read_c45(tmp_path / "t")
    assert y.to_list() == [row[-1] for row in rows]
    for j, column in enumerate(columns):
        cells = [row[j] or None for row in rows]
        if column["type"] == "continuous":
            assert X[column["name"]].to_list() == [None if cell is None else float(cell) for cell in cells]
        else:
            assert X[column["name"]].to_list() == cells
            assert categories(X[column["name"]]) == column["values"]


def test_without_polars_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for read in (formats.read_c45, formats.read_arff):
        with pytest.raises(ImportError, match="needs polars, which is not installed: pip install polars"):
            read(EXAMPLES / "golf")


def test_importing_the_formats_does_not_load_polars():
    code = "import sys, fasttree.formats; assert 'polars' not in sys.modules"
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_the_table_of_the_book_gives_the_tree_of_the_book():
    X, y = formats.read_c45(EXAMPLES / "golf")
    model = C45Classifier().fit(X, y)
    assert model.export_text().splitlines()[0].endswith("outlook = sunny")
    assert np.array_equal(model.predict(X), y.to_list())


def test_the_examples_of_the_docstrings_are_true(monkeypatch):
    monkeypatch.chdir(EXAMPLES.parent)
    assert doctest.testmod(formats).failed == 0
