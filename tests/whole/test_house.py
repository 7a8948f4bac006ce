"""The order of the house: which folder may import which, how long a file and a function may be, which words are used.

The headers and modules of the engine are checked in `test_house_engine.py`.

The lists of exceptions can only get shorter: an entry that is no longer needed fails its test too.  `lint-imports` checks the
layers of all Python files with their indirect imports; here every import statement is checked by itself.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "fasttree"
pytestmark = pytest.mark.skipif(not (PACKAGE / "_data").is_dir(), reason="the sources are not here")

# From the top floor to the ground; folders on one floor do not import each other.
FLOORS = [
    {"__main__"},
    {"_cli"},
    {"evaluation"},
    {"estimators"},
    {"pruning"},
    {"_scale"},
    {"_explain"},
    {"_export", "_learn"},
    {"_model"},
    {"formats"},
    {"_data"},
    {"_core"},
    {"_engine"},
    {"_version", "measures"},
]
FURNITURE = {"__init__.py", "__main__.py", "_version.py", "_core.pyi", "model.schema.json", "py.typed"}
STORY = {
    "_core.pyx",
    "_engine",
    "_data",
    "_model",
    "_learn",
    "_scale",
    "_explain",
    "_export",
    "estimators",
    "evaluation.py",
    "_cli",
    "formats.py",
    "measures.py",
    "pruning.py",
}

# Other libraries, and the only places that import them.
HOMES = {
    "polars": ("_data/files/", "_cli/", "formats.py"),
    "narwhals": ("_data/",),
    "click": ("_cli/",),
    "rich": ("_cli/",),
    "matplotlib": ("_explain/pictures/", "estimators/common/picturing.py"),  # the latter names a type of its result
    "onnx": ("_export/onnx.py",),
    "tqdm": ("_learn/progress.py",),
}

LINES = {".py": 600, ".js": 500}
LONG_FILES = {
    "_export/c.py": (630, "templates of C"),
    "measures.py": (708, "two thirds are docstrings"),
}
FUNCTION_LINES, PARAMETERS, NESTING = 60, 7, 5
COMMAND = "a command: click takes an option by a decorator of one to five lines, and passes each as a parameter"
LONG_FUNCTIONS = {
    "_cli/comparing.py: compare": (81, COMMAND),
    "_cli/importances.py: importances": (62, COMMAND),
    "_cli/pruning.py: prune": (70, COMMAND),
    "_cli/showing.py: show": (116, COMMAND),
    "_cli/training.py: train": (96, COMMAND),
}
MANY_PARAMETERS = {
    "_cli/comparing.py: compare": (14, COMMAND),
    "_cli/importances.py: importances": (8, COMMAND),
    "_cli/pruning.py: prune": (9, COMMAND),
    "_cli/showing.py: show": (8, COMMAND),
    "_cli/training.py: train": (16, COMMAND),
}
DEEP_FUNCTIONS = {}

SHARED_NAMES: set[str] = set()

# Words of sentences that read as a translation, and how often they are still there.
WORDS = {
    r"\btold\b": 0,
    r"\btells\b": 0,
    r"\bstands?\b": 8,
    r"\bwants? to\b": 0,
    r"\bwho (wants|takes|asks)\b": 0,
    r"^\W*Of ": 15,
    r"becomes of": 0,
    r"goes by": 0,
}


def sources(*endings: str) -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*") if path.suffix in endings)


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def trees() -> list[tuple[str, ast.Module]]:
    return [(name_of(path), ast.parse(path.read_text(encoding="utf-8"))) for path in sources(".py")]


@cache
def functions() -> list[tuple[str, ast.FunctionDef]]:
    """Every function, by file and name, those in classes and functions too."""
    return list(_functions())


def _functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    for name, module in trees():
        waiting: list[tuple[str, ast.AST]] = [("", module)]
        while waiting:
            outer, node = waiting.pop()
            for child in ast.iter_child_nodes(node):
                inner = f"{outer}.{child.name}".strip(".") if isinstance(child, ast.FunctionDef | ast.ClassDef) else outer
                if isinstance(child, ast.FunctionDef):
                    yield f"{name}: {inner}", child
                waiting.append((inner, child))


def lines_of(function: ast.FunctionDef) -> int:
    """Lines without docstring."""
    docstring = function.body[0] if ast.get_docstring(function) is not None else None
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    return function.end_lineno - first + 1 - (docstring.end_lineno - docstring.lineno + 1 if docstring else 0)


def parameters_of(function: ast.FunctionDef) -> int:
    """Parameters besides `self`; keyword-only ones of public functions do not count: they are named where they are given."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args) if argument.arg not in ("self", "cls")]
    return len(names) + (len(given.kwonlyargs) if function.name.startswith("_") and function.name != "__init__" else 0)


BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Match, ast.FunctionDef)


def nesting_of(node: ast.AST, depth: int = 0) -> int:
    deepest = depth
    for child in ast.iter_child_nodes(node):
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse and len(node.orelse) == 1
        deepest = max(deepest, nesting_of(child, depth + (isinstance(child, BLOCKS) and not is_elif)))
    return deepest


def check(found: dict[str, int], limit: int, exceptions: dict[str, tuple[int, str]], what: str) -> None:
    excepted = {name: size for name, (size, _) in exceptions.items()}
    assert all(reason for _, reason in exceptions.values())
    over = {name: size for name, size in found.items() if size > excepted.get(name, limit)}
    assert not over, f"{what}, at most {limit} or what is listed: {over}"
    not_needed = {name: found.get(name, 0) for name, size in excepted.items() if found.get(name, 0) < max(size, limit + 1)}
    assert not not_needed, f"{what}: shorter than listed, lower or remove: {not_needed}"


def test_the_first_look_tells_the_story():
    found = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists() or path.is_file()}
    found = {name for name in found if not name.endswith((".so", ".pyd", ".c", ".html"))}
    assert found - FURNITURE == STORY
    for folder in (path.parent for path in PACKAGE.rglob("__init__.py")):
        files = [path for path in folder.iterdir() if path.suffix in (".py", ".pyx", ".pxd", ".js", ".css", ".html")]
        assert len(files) <= 19, folder  # with `__init__.py`


def test_a_file_imports_from_its_floor_and_those_below():
    floor_of = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    for name, module in trees():
        room = name.split("/")[0].removesuffix(".py")
        if room == "__init__":
            continue  # the lazy door, which names what is in every room
        for node in ast.walk(module):
            if isinstance(node, ast.Import):
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: imports name the whole package, as all others do"
                imported = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for target in imported:
                library, *rest = target.split(".")
                allowed = HOMES.get(library)
                assert allowed is None or name.startswith(allowed), f"{name} imports {library}: its home is {allowed}"
                if library != "fasttree":
                    continue
                assert rest, f"{name} imports the package as a whole"
                below = floor_of[rest[0]] > floor_of[room]
                assert below or rest[0] == room, f"{name} imports {target}, which is not on a lower floor"


def test_packages_hold_no_code():
    for path in PACKAGE.rglob("__init__.py"):
        if path.parent != PACKAGE:
            body = ast.parse(path.read_text(encoding="utf-8")).body
            assert len(body) == 1, f"{name_of(path)}: a docstring alone, so that importing a module loads nothing else"
            assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_files_are_short():
    for ending, limit in LINES.items():
        found = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources(ending)}
        check(found, limit, {name: why for name, why in LONG_FILES.items() if name.endswith(ending)}, "lines of a file")


def test_functions_are_short():
    check({name: lines_of(function) for name, function in functions()}, FUNCTION_LINES, LONG_FUNCTIONS, "lines of a function")


def test_functions_take_few_parameters():
    check({name: parameters_of(function) for name, function in functions()}, PARAMETERS, MANY_PARAMETERS, "parameters")


def test_functions_are_flat():
    check({name: nesting_of(function) for name, function in functions()}, NESTING, DEEP_FUNCTIONS, "levels of blocks")


def test_no_two_types_have_one_name():
    found = Counter(node.name for _, module in trees() for node in module.body if isinstance(node, ast.ClassDef))
    doubled = {name for name, times in found.items() if times > 1 and not name.startswith("_")}
    assert doubled == SHARED_NAMES


def test_prose_gets_better():
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources(".py", ".pyx", ".pxd", ".pyi", ".js"))
    found = {word: len(re.findall(word, text, re.MULTILINE | re.IGNORECASE)) for word in WORDS}
    more = {word: times for word, times in found.items() if times > WORDS[word]}
    assert not more, f"NumPy's documentation would say it otherwise: {more}"
    fewer = {word: times for word, times in found.items() if times < WORDS[word]}
    assert not fewer, f"fewer than listed, lower: {fewer}"
