"""The package says one thing everywhere: its version, its licence, its parts, what it needs, what its compiled modules take."""

import ast
import dataclasses
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import fasttree
from fasttree._explain.page.lean import together
from fasttree.estimators.common.registry import ESTIMATORS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
STUBS = sorted(path for path in (ROOT / "fasttree").rglob("*.pyi") if path.parent.name != "estimators")  # of compiled modules
INSTALLED = Path(fasttree.__file__).parent

# What may be missing where fasttree runs: each is an extra, or comes with a table of its kind.
OPTIONAL = [
    "click",
    "duckdb",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
    "shap",
    "tqdm",
    "treelite",
]


def said_in_citation(key: str) -> str | None:
    """Return the value of a key at the top of CITATION.cff, or None."""
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
    assert {path.with_suffix("") for path in STUBS} == {path.with_suffix("") for path in (ROOT / "fasttree").rglob("*.pyx")}


@pytest.mark.parametrize(
    ("module", "name"),
    [("_engine.encoding", "Encoding"), ("_engine.encoding", "Binning"), ("_engine.passes", "Columns"), ("_core", "Walker")],
)
def test_a_compiled_class_takes_what_its_stub_says(module, name):
    # the rest of the stubs is compared with the modules by mypy.stubtest, which cannot look into `__cinit__`
    path = (ROOT / "fasttree").joinpath(*module.split(".")).with_suffix(".pyi")
    stub = ast.parse(path.read_text(encoding="utf-8"))
    (made,) = (
        part
        for node in stub.body
        if isinstance(node, ast.ClassDef) and node.name == name
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name == "__new__"
    )
    values = {"int": 3, "bool": False, "Tree": fasttree.CARTClassifier().fit([[1.0], [2.0]], [0, 1]).tree_}
    taken = {given.arg: values[ast.unparse(given.annotation)] for given in made.args.args[1:]}
    getattr(importlib.import_module(f"fasttree.{module}"), name)(**taken)


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


def script(name):
    """A script of the repository, as a module."""
    path = ROOT / ".ci" / f"{name}.py"
    if not path.exists():
        pytest.skip("no part of what is published")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_for_editors_have_the_texts_and_defaults_of_the_classes(tmp_path):
    (tmp_path / "fasttree" / "estimators").mkdir(parents=True)
    script("write_stubs").main(str(tmp_path))
    classes, taken = {}, {}
    for path in tmp_path.glob("fasttree/estimators/*.pyi"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes |= {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}
        names = {each.names[0].name for each in tree.body if isinstance(each, ast.ImportFrom) and path.name != "_stubs.pyi"}
        taken |= dict.fromkeys(names, path.stem)
        for function in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
            assert all(isinstance(each, ast.Expr) for each in function.body), function.name
    for entry in ESTIMATORS:
        stub, made = classes[entry.name], entry.load()
        assert ast.get_docstring(stub) == inspect.getdoc(made)
        assert taken[entry.name] == entry.module  # from where the stub of the module takes it
        defaults = {each.name: each.default for each in dataclasses.fields(made)}
        own = [each for each in stub.body if isinstance(each, ast.AnnAssign)]
        found = {each.target.id: ast.literal_eval(each.value) for each in own if "ClassVar" not in ast.unparse(each.annotation)}
        assert found.items() <= defaults.items(), entry.name


@pytest.fixture(scope="module")
def checker():
    """The check of what is to be published."""
    return script("check_distributions")


@pytest.fixture
def wheel(checker, tmp_path):
    """A function that writes a wheel with everything it must have, and with more, or less."""

    def write(*more: str, without: str = "", size: int = 0) -> Path:
        suffixes = (*checker.INSTALLED, ".pyi")
        names = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("fasttree/**/*") if path.suffix in suffixes}
        names |= {path.relative_to(ROOT).with_suffix(".abi3.so").as_posix() for path in STUBS}
        names |= {"fasttree-1.dist-info/licenses/LICENSE", "fasttree-1.dist-info/sboms/fasttree.cdx.json", *checker.STUBS}
        names = (names | {*more}) - {without}
        parts = {name for name in names if name.endswith((".css", ".html", ".js"))}
        path = tmp_path / "fasttree-1-cp311-abi3-any.whl"
        with zipfile.ZipFile(path, "w") as file:
            for name in names - parts:
                file.writestr(name, "x" * size if name.endswith("_version.py") else "")
            file.writestr(checker.PARTS, together({name.removeprefix(checker.PAGES): "" for name in parts}))
        return path

    return write


def test_a_whole_wheel_passes(checker, wheel):
    checker.main(str(wheel().parent))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"without": "fasttree/_export/c.py"}, "lacks fasttree/_export/c.py"),
        ({"without": "fasttree/_core.pyi"}, "lacks the stub of _core"),
        ({"without": "fasttree/estimators/cart.pyi"}, "lacks fasttree/estimators/cart.pyi"),
        ({"without": "fasttree/_engine/walk/attribution.abi3.so"}, "lacks the compiled _engine/walk/attribution"),
        ({"without": "fasttree/py.typed"}, "lacks fasttree/py.typed"),
        ({"without": "fasttree-1.dist-info/sboms/fasttree.cdx.json"}, "lacks the bill of its materials"),
        ({"without": "fasttree/_explain/page/page.css"}, "lacks fasttree/_explain/page/page.css"),
        ({"more": "tests/model/test_tree.py"}, "holds tests/model/test_tree.py"),
        ({"more": "fasttree/_core.c"}, "holds fasttree/_core.c"),
        ({"size": 2 * 2**20}, "must be below 2,097,152"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wheel_that_is_not_as_it_should_be_is_told(checker, wheel, made, message):
    more = [made.pop("more")] if "more" in made else []
    path = wheel(*more, **made)
    with pytest.raises(SystemExit, match=re.escape(message)):
        checker.main(str(path.parent))


def started_in(folder: Path, *options: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Import fasttree in a Python that is started in a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} if path is None else os.environ
    given = {} if path is None else {"PYTHONPATH": str(path)}
    program = "import fasttree.measures, fasttree; from fasttree import _core; print(fasttree.__file__, fasttree.Tree, sep='\\n')"
    command = [sys.executable, *options, "-c", program]
    return subprocess.run(command, cwd=folder, env={**environment, **given}, capture_output=True, text=True, check=False)


@pytest.fixture
def sources(tmp_path):
    """A folder with sources that are not compiled."""
    shutil.copytree(INSTALLED, tmp_path / "fasttree", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    return tmp_path


def test_sources_without_their_compiled_parts_say_how_to_get_them(sources):
    done = started_in(sources, "-S")  # without what is installed
    assert done.returncode == 1
    assert "ImportError: fasttree's compiled parts are not beside its sources" in done.stderr


def test_sources_without_their_compiled_parts_give_way_to_the_installed_package(sources):
    done = started_in(sources, path=INSTALLED.parent)
    assert done.stdout.splitlines() == [str(INSTALLED / "__init__.py"), "<class 'fasttree._model.tree.Tree'>"], done.stderr


def test_python_started_beside_a_clone_finds_the_installed_package(tmp_path):
    (tmp_path / "fasttree").mkdir()  # without `__init__.py`, as the folder of a clone
    done = started_in(tmp_path, path=os.environ.get("PYTHONPATH"))
    assert done.stdout.splitlines()[:1] == [str(INSTALLED / "__init__.py")], done.stderr
    assert SETUPTOOLS["package-dir"] == {"": "."}  # so that an editable install is a path too


# Instead of the compiler, it takes the modules that are built already.
COPYING_SETUP = """
import shutil
from pathlib import Path
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

BUILT = {built}

class Copying(build_ext):
    def build_extension(self, extension):
        target = Path(self.get_ext_fullpath(extension.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(BUILT[extension.name], target)

setup(ext_modules=[Extension(name, [], py_limited_api={limited}) for name in BUILT], cmdclass={{"build_ext": Copying}})
"""


@pytest.mark.skipif(sys.platform == "win32", reason="venvs have other folders")
@pytest.mark.parametrize("options", [[], ["-e"]], ids=["copied", "editable"])
def test_after_pip_install_every_folder_finds_the_package(options, tmp_path):
    versions = {found.name.lower(): found.version for found in importlib.metadata.distributions()}
    if "pip" not in versions or int(versions.get("setuptools", "0").partition(".")[0]) < 77:
        pytest.skip("needs pip and setuptools 77")
    free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # which has no stable ABI
    clone, environment = tmp_path / "fasttree", tmp_path / "venv"
    clone.mkdir()
    shutil.copytree(INSTALLED, clone / "fasttree", ignore=shutil.ignore_patterns("*.so", "*.c", "*.html", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    shutil.copy(ROOT / "fasttree/_explain/page/page.html", clone / "fasttree/_explain/page")
    suffix = re.compile(r"\.(abi3|cpython-\w+(-\w+)*)\.so$")
    built = {suffix.sub("", ".".join(path.relative_to(INSTALLED.parent).parts)): str(path) for path in INSTALLED.rglob("*.so")}
    (clone / "setup.py").write_text(COPYING_SETUP.format(built=repr(built), limited=not free_threaded))
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}{'t' * free_threaded}"
    borrowed = "".join(f"{path}\n" for path in sys.path if path.endswith("-packages"))
    (environment / "lib" / version / "site-packages" / "borrowed.pth").write_text(borrowed)

    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--no-build-isolation",
        "--no-deps",
        "--no-index",
        "--ignore-installed",
        "--no-compile",
        *options,
        clone,
    ]
    done = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    program = "from fasttree import CARTClassifier, __file__; print(__file__)"
    home = clone if options else environment / "lib" / version / "site-packages"
    for folder in (tmp_path, clone, clone / "fasttree" / "_model", environment):
        done = subprocess.run([python, "-c", program], cwd=folder, env=clean, capture_output=True, text=True, check=False)
        assert done.stdout.strip() == str(home / "fasttree" / "__init__.py"), (folder, done.stderr)
    extra = [python, "-m", "pip", "install", "--no-index", "fasttree[plot]"]  # in any folder: there is no build
    done = subprocess.run(extra, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "already satisfied: fasttree[plot]" in done.stdout
    assert "uilding" not in done.stdout
