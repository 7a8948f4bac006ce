"""Docstrings of the estimators: every parameter and attribute is described once, in the source as in the help."""

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from sklearn.datasets import load_iris

from fasttree._learn import parameters
from fasttree._learn.parameters import parameter
from fasttree.estimators.common.registry import ESTIMATORS
from fasttree.pruning import METHODS, CostComplexity

ALL = [entry.load() for entry in ESTIMATORS]
PACKAGE = Path(parameters.__file__).parents[1]
SECTIONS = ["Parameters", "Attributes", "Notes", "References", "Examples"]
ENTRY = re.compile(r"^(\w+) : (.+), default=(.+)\n((?:    .*\n|\n(?=    ))+)", re.MULTILINE)


def documented(estimator):
    """Name, type, default and text of each parameter in the docstring."""
    section = inspect.getdoc(estimator).split("\nParameters\n----------\n")[1].split("\nAttributes\n")[0]
    assert "".join(found[0] for found in ENTRY.finditer(section)) == section  # nothing else
    return ENTRY.findall(section)


def attributes(estimator):
    """Name, type and text of each attribute in the docstring."""
    section = inspect.getdoc(estimator).split("\nAttributes\n----------\n")[1].split("\n\n")[0] + "\n"
    found = re.findall(r"^(\w+) : (.+)\n((?:    .*\n)+)", section, re.MULTILINE)
    assert "".join(f"{name} : {type_}\n{text}" for name, type_, text in found) == section  # nothing else
    return found


def constants():
    """The texts in the source of the estimators, and where they are; the pieces of an f-string one by one."""
    for path in sorted((PACKAGE / "estimators").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield inspect.cleandoc(node.value)


def sentences(text):
    """The sentences of a text, without those that are too short to be a repetition."""
    parts = re.split(r"\.(?:\s{2,}|\s*\n\s*- |$)|:\n\n", text)
    return [words for part in parts if len(words := " ".join(part.split())) > 60]


@pytest.mark.parametrize("estimator", ALL)
def test_every_parameter_is_described_once_in_the_order_of_the_signature(estimator):
    taken = inspect.signature(estimator).parameters
    assert {each.kind for each in taken.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert [(name, ast.literal_eval(default)) for name, _, default, _ in documented(estimator)] == [
        (name, each.default) for name, each in taken.items()
    ]


@pytest.mark.parametrize("estimator", ALL)
def test_help_and_the_reference_show_the_parameters_with_their_defaults(estimator):
    help_text = pydoc.plain(pydoc.render_doc(estimator))
    start = help_text.index(f" |  {estimator.__name__}(")
    head = help_text[start : help_text.index(") -> None\n", start) + 1]  # a line, or from CPython 3.13 on one for each parameter
    for name, each in inspect.signature(estimator).parameters.items():
        assert re.search(rf"\b{name}: [^=]+ = {re.escape(repr(each.default))}(,|[\s|]*\))", head), name
    configuration = (Path(__file__).parents[2] / "docs" / "conf.py").read_text(encoding="utf-8")
    assert "autodoc-process-signature" not in configuration  # which would shorten them


@pytest.mark.parametrize("estimator", ALL)
def test_the_type_of_a_parameter_fits_its_default_and_its_words(estimator):
    rules = parameters.rules_of(estimator)
    python_type = {"str": str, "int": int, "float": float, "bool": bool, "dict": dict}
    for name, type_, default, _ in documented(estimator):
        value = ast.literal_eval(default)
        words = re.findall(r'"(\w+)"', type_)
        assert all(rules[name].is_allowed(word) for word in words), name
        assert ("None" in type_) == (value is None) or rules[name].is_allowed(None), name
        if value is not None and value not in words:
            allowed = {python_type[word] for word in re.findall(r"\w+", type_) if word in python_type}
            assert type(value) in allowed | ({int} if float in allowed else set()), name


@pytest.mark.parametrize("estimator", ALL)
def test_the_sections_are_those_of_numpydoc_in_their_order(estimator):
    lines = inspect.getdoc(estimator).splitlines()
    found = [above for above, below in pairwise(lines) if below and set(below) == {"-"} and len(below) > 2]
    assert found == [name for name in SECTIONS if name in found]
    assert {"Parameters", "Attributes", "Examples"} <= set(found)
    assert lines[0].endswith(".")
    assert max(map(len, lines)) <= 130


@pytest.mark.parametrize("estimator", ALL)
def test_help_shows_all(estimator):
    shown = pydoc.render_doc(estimator, renderer=pydoc.plaintext)
    for name, type_, default, text in documented(estimator):
        assert f"{name} : {type_}, default={default}\n" in shown
        assert text.strip().splitlines()[0] in shown


def test_no_description_is_written_twice():
    described = {text for estimator in ALL for *_, text in documented(estimator)}
    wanted = {sentence for text in described for sentence in sentences(inspect.cleandoc(text))}
    assert len(wanted) > 80
    found = Counter(sentence for text in constants() for sentence in sentences(text) if sentence in wanted)
    assert {sentence: times for sentence, times in found.items() if times > 1} == {}


@pytest.mark.parametrize("estimator", ALL)
def test_the_attributes_are_those_of_a_fitted_model(estimator):
    chosen = {"pruning": CostComplexity(alpha="cv", cv=2)} if "pruning" in inspect.signature(estimator).parameters else {}
    chosen |= {"oob_score": True, "bootstrap": True} if hasattr(estimator, "oob_curve") else {}
    windowing = estimator.__name__ == "C45Classifier"
    X, y = pl.DataFrame({"a": list("xyxyxy"), "b": list("vvvwww")}), [0, 1, 0, 1, 0, 1]
    fitted = vars(estimator(**chosen).fit(X, y)) | (vars(estimator(windowing=True).fit(X, y)) if windowing else {})
    if hasattr(estimator, "trial_errors"):
        fitted |= vars(estimator(trials=3).fit(*load_iris(return_X_y=True)))
        fitted |= vars(estimator(rules=True).fit(*load_iris(return_X_y=True)))
    described = [name for name, *_ in attributes(estimator)]
    assert len(described) == len(set(described))
    assert set(described) == {name for name in fitted if name.endswith("_")}


def test_no_attribute_is_described_twice():
    source = Counter(constants())
    texts = {inspect.cleandoc(text) for estimator in ALL for *_, text in attributes(estimator)}
    assert len(texts) >= 20
    assert {text: source[text] for text in texts if source[text] != 1} == {}


def test_the_source_lists_no_parameters_or_attributes_of_a_class():
    for entry in ESTIMATORS:
        path = PACKAGE / "estimators" / f"{entry.module}.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                written = ast.get_docstring(node) or ""
                assert not re.search("(Parameters|Attributes)\n-", written), node.name


@pytest.mark.parametrize("estimator", ALL)
def test_a_class_describes_only_parameters_that_it_has(estimator):
    names = {found.name for found in fields(estimator)}
    taken_away = {name for name, type_ in vars(estimator).get("__annotations__", {}).items() if str(type_).startswith("ClassVar")}
    described = {name for base in estimator.__mro__ for name in vars(base).get("_descriptions", {})}
    assert described - taken_away <= names
    assert not taken_away & names


def test_a_class_may_describe_an_inherited_parameter_differently():
    @parameters.parameters
    class Group:
        depth: int = parameter(1, parameters.COUNT, "Number of tests.")
        word: str = parameter("a", parameters.one_of("a", "b", None), "First line.\n\n        - second")

    @parameters.parameters
    class Changed(Group):
        """Title.

        Notes
        -----
        A note.
        """

        depth: int = parameter(2, parameters.COUNT)
        own: float = parameter(0.5, parameters.AMOUNT, "An amount.")
        _descriptions = {"word": "Another word."}
        _attributes = {"x_": ("int", "A number.")}

    assert inspect.signature(Changed).parameters.keys() == {"depth", "word", "own"}
    assert Changed.__doc__ == (
        "Title.\n\nParameters\n----------\n"
        "depth : int, default=2\n    Number of tests.\n"
        'word : {"a", "b"} or None, default="a"\n    Another word.\n'
        "own : float, default=0.5\n    An amount.\n\n"
        "Attributes\n----------\nx_ : int\n    A number.\n\n"
        "Notes\n-----\nA note.\n"
    )

    with pytest.raises(KeyError, match="bare"):

        @parameters.parameters
        class Undescribed(Changed):
            """Title."""

            bare: int = parameter(1, parameters.COUNT)


@pytest.mark.parametrize("word", METHODS)
def test_a_pruning_method_describes_its_word(word):
    assert attributes(METHODS[word]) == [("word", "str", f'    "{word}".\n')]


def test_a_class_describes_an_inherited_attribute_in_the_place_of_its_own():
    class Base:
        _attributes = {"x_": ("int", "A number."), "y_": ("str", "A word.")}

    @parameters.parameters
    class Changed(Base):
        """Title."""

        _attributes = {"z_": ("int", "New."), "y_": ("str", "Two words,\n            or three.")}

    assert Changed.__doc__ == (
        "Title.\n\nAttributes\n----------\nz_ : int\n    New.\ny_ : str\n    Two words,\n    or three.\nx_ : int\n    A number.\n"
    )


def test_estimators_work_without_docstrings():
    names = ", ".join(entry.name for entry in ESTIMATORS)
    program = f"from fasttree import {names}\nprint(CARTClassifier().fit([[1.0], [2.0]], [0, 1]).predict([[2.0]]))"
    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[1]\n"
