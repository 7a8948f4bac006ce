"""The documentation tells the truth: examples of docstrings, sessions and commands of the pages give what stands there."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shlex
from pathlib import Path

import matplotlib
import pytest
from click.testing import CliRunner
from matplotlib import pyplot

import fasttree
from fasttree._cli.commands import fasttree as command_line
from fasttree.estimators.common.registry import ESTIMATORS

matplotlib.use("agg")  # no windows

ROOT = Path(__file__).parents[2]
MODULES = sorted(module.name for module in pkgutil.walk_packages(fasttree.__path__, "fasttree.") if "__main__" not in module.name)
FOLDERS = ("tutorials", "guide", "algorithms", "shipping", "reference", "develop")
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


SESSIONS = [page for page in PAGES if blocks(page, "python")]
CONSOLES = [page for page in PAGES if blocks(page, "console")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of its own that has the examples, so that what a page saves goes nowhere else; its figures are closed."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", ["fasttree", *MODULES])
def test_examples_of_docstrings_give_what_stands_there(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_public_classes_show_an_example():
    public = [getattr(fasttree, name) for name in fasttree.__all__]
    assert not [each.__name__ for each in public if isinstance(each, type) and ">>>" not in (each.__doc__ or "")]


@pytest.mark.parametrize("page", SESSIONS, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_sessions_of_a_page_give_what_stands_there(page, folder):
    session = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(session, {}, page.name, str(page), 0)
    assert test.examples
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("page", CONSOLES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_commands_of_a_page_print_what_stands_there(page, folder):
    commands = re.findall(r"^\$ fasttree (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks(page, "console")), re.MULTILINE)
    assert commands
    checker = doctest.OutputChecker()
    for command, shown in commands:
        result = CliRunner().invoke(command_line, shlex.split(command))
        assert result.exit_code == 0, f"{command}\n{result.output}"
        assert checker.check_output(shown, result.output, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE), (
            f"{command}\n{result.output}"
        )


@pytest.mark.parametrize("entry", ESTIMATORS, ids=lambda entry: entry.name)
def test_every_estimator_has_a_reference_page_with_all_its_parameters_and_methods(entry):
    spec = importlib.util.spec_from_file_location("_reference", ROOT / "docs" / "_reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    estimator = entry.load()
    assert f"autoclass:: {entry.name}\n" in (ROOT / "docs" / "reference" / f"{entry.name}.md").read_text(encoding="utf-8")
    rest, described = reference.split_parameters(inspect.cleandoc(estimator.__doc__))
    assert set(described) == set(inspect.signature(estimator).parameters)
    assert "Attributes\n" in rest
    assert "Parameters\n" not in rest
    written = "\n".join(reference.grouped_parameters(described))
    assert all(written.count(f"**{name}** : ") == 1 for name in described)
    table = "\n".join(reference.table_of_methods(estimator))
    assert all(f"{entry.name}.{name}`" in table for name in reference.public_methods(estimator) - reference.HIDDEN)


@pytest.mark.parametrize(
    "word",
    [
        "overfitting",
        "cross-validation",
        "train/test split",
        "hyperparameter search",
        "GridSearchCV",
        "ColumnTransformer",
        "class imbalance",
        "misclassification costs",
        "missing values",
        "counterfactual",
        "feature importance",
        "feature selection",
        "calibration",
        "decision rules",
        "SHAP values",
    ],
)
def test_a_heading_has_each_word_that_people_search_for(word):
    pages = [*PAGES, *(ROOT / "docs").glob("*.md")]
    headings = [line for page in pages for line in re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)]
    assert any(word.lower() in heading.lower() for heading in headings)
