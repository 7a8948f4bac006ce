"""The package says one thing everywhere: its version, its licence, its parts, what it needs, what its compiled modules take."""

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import fasttree
from fasttree import _core

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
STUBS = sorted((ROOT / "fasttree").glob("_*.pyi"))
INSTALLED = Path(fasttree.__file__).parent

# What may be missing where fasttree runs: each is an extra, or comes with a table of its kind.
OPTIONAL = ["click", "duckdb", "matplotlib", "onnx", "onnxruntime", "pandas", "polars", "pyarrow", "rich", "shap", "treelite"]


def said_in_citation(key: str) -> str | None:
    """What stands behind a key at the top of CITATION.cff; None: nothing."""
    found = re.search(rf"^{key}: *(.*)$", CITATION, re.MULTILINE)
    return found and found[1].strip("\"'")


def test_citation_changelog_and_package_have_one_version_and_one_date():
    heading = re.search(r"^## (\S+) \((.+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert heading
    assert fasttree.__version__ == heading[1] == said_in_citation("version")
    released = None if heading[2] == "unreleased" else heading[2]
    assert said_in_citation("date-released") == released


def test_the_licence_is_the_one_that_is_declared():
    assert PROJECT["project"]["license"] == said_in_citation("license") == "BSD-3-Clause"
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License\n")


def test_every_folder_of_modules_is_a_package_that_is_installed():
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("fasttree/**/__init__.py")}
    assert set(SETUPTOOLS["packages"]) == folders


def test_what_is_no_module_is_installed_by_name_or_compiled():
    data = {f"{package}/{name}" for package, names in SETUPTOOLS["package-data"].items() for name in names}
    for path in ROOT.glob("fasttree/**/*"):
        if path.suffix in (".py", ".pyx", ".pxd", ".c", ".so", ".pyd", ".html", ".pyc") and path.name != "page.html":
            continue
        if path.is_file():
            package = ".".join(path.parent.relative_to(ROOT).parts)
            assert {f"{package}/{path.name}", f"{package}/*{path.suffix}"} & data, path


def test_the_oldest_requirements_that_are_tried_are_those_that_are_declared():
    listed = ROOT / ".ci" / "oldest.txt"
    if not listed.exists():
        pytest.skip("no part of what is published")
    tried = dict(re.findall(r"^([\w-]+)==([\d.]+?)(?:\.0)*$", listed.read_text(encoding="utf-8"), re.MULTILINE))
    extras = PROJECT["project"]["optional-dependencies"]
    declared = [*PROJECT["project"]["dependencies"], *extras["cli"], *extras["plot"]]
    assert tried == {name: re.sub(r"(\.0)+$", "", bound) for name, bound in (text.split(">=") for text in declared)}


def test_every_python_that_is_declared_gets_a_tried_wheel():
    declared = {name.rsplit(" ", 1)[1] for name in PROJECT["project"]["classifiers"] if re.search(r":: 3\.\d+$", name)}
    assert declared == {f"3.{minor}" for minor in re.findall(r"cp3(\d+)-", PROJECT["tool"]["cibuildwheel"]["build"])}
    assert f">={min(declared)}" == PROJECT["project"]["requires-python"]


def test_a_user_gets_the_types():
    assert (INSTALLED / "py.typed").exists()
    assert {path.stem for path in STUBS} == {path.stem for path in (ROOT / "fasttree").glob("*.pyx")}


@pytest.mark.parametrize("name", ["Encoding", "Binning", "Columns", "Walker"])
def test_a_compiled_class_takes_what_its_stub_says(name):
    # the rest of the stubs is compared with the modules by mypy.stubtest, which cannot look into `__cinit__`
    stub = ast.parse((ROOT / "fasttree" / "_core.pyi").read_text(encoding="utf-8"))
    (made,) = (
        part
        for node in stub.body
        if isinstance(node, ast.ClassDef) and node.name == name
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name == "__new__"
    )
    values = {"int": 3, "bool": False, "Tree": fasttree.CARTClassifier().fit([[1.0], [2.0]], [0, 1]).tree_}
    taken = {given.arg: values[ast.unparse(given.annotation)] for given in made.args.args[1:]}
    getattr(_core, name)(**taken)


def test_nothing_optional_is_asked_for_by_what_needs_it_not():
    program = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
import fasttree
model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["a", "b"])
assert list(model.predict([[1.0], [2.0]])) == ["a", "b"]
assert model.export_text() and model.export_svg() and model.to_rules()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md", "CHANGELOG.md"])
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target


@pytest.fixture(scope="module")
def checker():
    """The check of what is to be published."""
    path = ROOT / ".ci" / "check_distributions.py"
    if not path.exists():
        pytest.skip("no part of what is published")
    spec = importlib.util.spec_from_file_location("check_distributions", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def wheel(checker, tmp_path):
    """A function that writes a wheel with everything it must have, and with more, or less."""

    def write(*more: str, without: str = "", size: int = 0) -> Path:
        suffixes = (*checker.INSTALLED, ".pyi")
        names = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("fasttree/**/*") if path.suffix in suffixes}
        names |= {f"fasttree/{path.stem}.abi3.so" for path in STUBS} | {"fasttree-1.dist-info/licenses/LICENSE"}
        path = tmp_path / "fasttree-1-cp311-abi3-any.whl"
        with zipfile.ZipFile(path, "w") as file:
            for name in (names | {*more}) - {without}:
                file.writestr(name, "x" * size if name.endswith("page.js") else "")
        return path

    return write


def test_a_whole_wheel_passes(checker, wheel):
    checker.main(str(wheel().parent))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"without": "fasttree/_exports/c.py"}, "lacks fasttree/_exports/c.py"),
        ({"without": "fasttree/_core.pyi"}, "lacks the stub of _core"),
        ({"without": "fasttree/_attribution.abi3.so"}, "lacks the compiled _attribution"),
        ({"without": "fasttree/py.typed"}, "lacks fasttree/py.typed"),
        ({"without": "fasttree/_pictures/page.css"}, "lacks fasttree/_pictures/page.css"),
        ({"more": "tests/test_tree.py"}, "holds tests/test_tree.py"),
        ({"more": "fasttree/_core.c"}, "holds fasttree/_core.c"),
        ({"size": 2_000_000}, "must be below 2,000,000"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wheel_that_is_not_as_it_should_be_is_told(checker, wheel, made, message):
    more = [made.pop("more")] if "more" in made else []
    path = wheel(*more, **made)
    with pytest.raises(SystemExit, match=re.escape(message)):
        checker.main(str(path.parent))


def test_sources_without_their_compiled_parts_say_how_to_get_them(tmp_path):
    shutil.copytree(INSTALLED, tmp_path / "fasttree", ignore=shutil.ignore_patterns("*.so", "*.pyd"))
    command = [sys.executable, "-S", "-c", "import fasttree"]  # without what an editable install would find them by
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: fasttree's compiled parts are not beside its sources" in done.stderr
