"""The engine keeps its layout: who may cimport whom, and how large files and functions may become.

Layers are folders and modules of `fasttree/_engine`, and the door `fasttree/_core.pyx`.  The lists of exceptions may only get
shorter: a test fails where an entry is no longer needed, or allows more than there is.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fasttree"
ENGINE = FOLDER / "_engine"
SOURCES = {path.relative_to(FOLDER).as_posix(): path.read_text(encoding="utf-8") for path in sorted(FOLDER.rglob("*.p[xy][xd]"))}

FOLDERS = ["watch", "types", "memory", "arrays", "random", "columns", "risk", "scan", "bounds", "grow"]
MAY = {name: set(FOLDERS[:i]) for i, name in enumerate(FOLDERS)} | {
    "walk": {"watch", "types"},
    "drawn": {"watch", "types", "memory", "random", "columns", "bounds", "walk"},
    "forest": {"watch", "types", "memory", "arrays", "random", "columns", "drawn", "walk"},
    "prune": {"watch", "types", "memory", "columns", "risk", "walk"},
    "encoding": {"watch", "types", "memory", "arrays", "columns", "scan", "walk"},
    "passes": {"watch", "types", "memory", "arrays", "columns", "risk", "walk", "prune"},
    "rulesets": {"watch", "types", "memory", "arrays", "prune"},
    "merging": {"types", "scan"},
    "shards": {"types", "scan"},
    "rounds": {*FOLDERS, "shards"},
    "serving": {"watch", "types", "walk"},
    "levels": set(),
    "shapes": {"random"},
    "additive": {"random", "shapes"},
    "optimal": {"arrays", "levels"},
    "lines": {"watch", "types", "arrays"},
    "ahead": set(),
    "lookahead": {"arrays", "ahead"},
    "_core": {*FOLDERS, "walk", "encoding"},
}
STEPS = [  # of `grow`: a header may cimport those of its own step and of the steps before
    {"nodes", "partition", "team"},
    {"work"},
    {"search", "sides", "predictions", "surrogates", "scratch"},
    {"features", "totals"},
    {"split"},
    {"twigs", "private"},
    {"block"},
    {"queue"},
    {"workers", "setup"},
]
SHARED_CLASSES = {"Encoding"}  # whose fields another module reads
SHARED_NAMES = {"Block"}  # to be renamed, here or in Python

LINES = {".pyx": 750, ".pxd": 550}
LONG_FILES = {}
FUNCTION_LINES = 80  # without the docstring
PARAMETERS = 7
LONG_FUNCTIONS = {}
DOOR = "called from Python, with keywords; a record would only be unpacked"
LOOP = "called in an inner loop; a record would be filled for each call"
MANY_PARAMETERS = {
    "_core.pyx:grow": (9, DOOR),
    "_engine/walk/attribution.pyx:add_attributions": (9, DOOR),
    "_engine/bounds/screen.pxd:squares_along": (11, LOOP),
    "_engine/passes.pyx:arrivals": (10, DOOR),
    "_engine/walk/tree.pxd:class_from": (11, DOOR),
    "_engine/passes.pyx:error_based": (10, DOOR),
    "_engine/rulesets.pyx:select_rules": (9, DOOR),
    "_engine/rulesets.pyx:select_voting": (8, DOOR),
    "_engine/rulesets.pyx:simplify_rules": (10, DOOR),
    "_engine/scan/merged.pxd:estimate_pair": (9, LOOP),
    "_engine/serving.pyx:__cinit__": (9, DOOR),
    "_engine/walk/compact.pxd:predict_block": (8, LOOP),
    "_engine/walk/compact.pxd:walk_rows_of": (8, LOOP),
    "_engine/walk/steps.pxd:walk_block": (9, LOOP),
    "_engine/walk/tree.pxd:visit": (8, LOOP),
}


def without_strings(text: str) -> str:
    """Cython with strings and comments left out, line by line."""
    pattern = re.compile(r'"""(?:[^\\]|\\.)*?"""|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|#[^\n]*', re.DOTALL)
    return pattern.sub(lambda found: "\n" * found[0].count("\n"), text)


def cimports(text: str) -> Iterator[tuple[str, list[str]]]:
    """Module and names of each cimport of ours."""
    for found in re.finditer(r"^from (fasttree[\w.]*) cimport (\([^)]*\)|.*)$", without_strings(text), re.MULTILINE):
        yield found[1], re.findall(r"[\w*]+", found[2])


def layer(parts: list[str]) -> str:
    return parts[0] if parts[0] != "_engine" else parts[1]


def wrong_cimports(sources: dict[str, str]) -> list[str]:
    """Cimports that the layers do not allow."""
    found = []
    step = {name: i for i, names in enumerate(STEPS) for name in names}
    for source, text in sources.items():
        mine = source.rsplit(".", 1)[0].split("/")
        for module, names in cimports(text):
            its = module.split(".")[1:]
            here, there = layer(mine), layer(its)
            if "*" in names:
                found.append(f"{source} cimports all names of {module}")
            elif here != there and there not in MAY[here]:
                found.append(f"{source} cimports {module}, which is not below it")
            elif here == there == "grow" and step[its[-1]] > step[mine[-1]]:
                found.append(f"{source} cimports {module}, which is a later step")
    return found


def circles(sources: dict[str, str]) -> list[str]:
    """Headers that reach themselves by cimports."""
    below = {source.rsplit(".", 1)[0]: set() for source in sources}
    for source, text in sources.items():
        below[source.rsplit(".", 1)[0]] |= {"/".join(module.split(".")[1:]) for module, _ in cimports(text)}
    while True:
        ends = {name for name, others in below.items() if not others & set(below)}
        if not ends:
            return sorted(below)
        below = {name: others for name, others in below.items() if name not in ends}


def functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, lines without the docstring, and parameters of every function."""
    lines = without_strings(text).split("\n")
    raw = text.split("\n")
    for no, line in enumerate(lines):
        found = re.match(r"( *)(?:cdef|cpdef|def) [^=(]*?(\w+)\s*\(", line)
        if not found or line.rstrip().endswith(")") or re.match(r"\s*cdef (extern|class|struct)", line):
            continue
        depth, end = 0, no
        while True:
            depth += lines[end].count("(") - lines[end].count(")")
            if depth == 0:
                break
            end += 1
        head = " ".join(lines[no : end + 1])
        if not head.rstrip().endswith(":"):
            continue  # a declaration
        given = re.sub(r"[\[(][^\[\]()]*[\])]", "", head[head.index("(") + 1 : head.rindex(")")])
        count = len([part for part in given.split(",") if part.strip() and part.strip() not in ("self", "*")])
        last = end + 1
        while last < len(lines) and (not raw[last].strip() or raw[last].startswith(found[1] + " ")):
            last += 1
        pairs = zip(raw[no:last], lines[no:last], strict=True)
        yield found[2], sum(bool(plain.strip()) or entry.lstrip().startswith("#") for entry, plain in pairs), count


FOUND = {f"{source}:{name}": (lines, count) for source, text in SOURCES.items() for name, lines, count in functions(text)}


def test_cimports_point_down():
    assert wrong_cimports(SOURCES) == []


def test_there_is_no_circle_of_cimports():
    assert circles(SOURCES) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("_engine/scan/cut.pxd", "from fasttree._engine.grow.work cimport Work"),
        ("_engine/grow/nodes.pxd", "from fasttree._engine.grow.block cimport grow_block"),
        ("_engine/risk/sums.pxd", "from fasttree._engine.types cimport *"),
        ("_engine/passes.pyx", "from fasttree._core cimport Walker"),
    ],
)
def test_a_cimport_that_points_up_is_found(source, line):
    assert len(wrong_cimports(SOURCES | {source: f"{SOURCES[source]}\n{line}\n"})) == 1


def test_a_circle_is_found():
    line = "\nfrom fasttree._engine.scan.feature cimport scan_feature\n"
    more = {"_engine/scan/cut.pxd": SOURCES["_engine/scan/cut.pxd"] + line}
    assert {"_engine/scan/cut", "_engine/scan/feature"} <= set(circles(SOURCES | more))


def test_compiled_modules_share_no_class_but_encoding():
    classes = {name for text in SOURCES.values() for name in re.findall(r"^cdef class (\w+)", text, re.MULTILINE)}
    taken = {name for text in SOURCES.values() for _, names in cimports(text) for name in names}
    assert taken & classes == SHARED_CLASSES


def test_no_type_has_the_name_of_another():
    """Neither of a type of another header, nor of a class in Python."""
    types = [
        name
        for source, text in SOURCES.items()
        for name in re.findall(r"^cdef (?:struct|enum|class) (\w+)[^\n]*:", without_strings(text), re.MULTILINE)
        if source != "_engine/encoding.pxd"
    ]
    assert sorted(types) == sorted(set(types))
    python = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py"))
    classes = set(re.findall(r"^ *class (\w+)", python, re.MULTILINE))
    assert set(types) & classes == SHARED_NAMES


def test_folders_of_headers_alone_are_no_packages_that_are_installed():
    for folder in (path for path in ENGINE.rglob("*") if path.is_dir() and list(path.glob("*.pxd"))):
        modules = {path.suffix for path in folder.iterdir() if path.name != "__init__.py"} & {".py", ".pyx"}
        assert (folder / "__init__.py").exists() == bool(modules), folder


def test_packages_of_the_engine_hold_no_code():
    for path in ENGINE.rglob("__init__.py"):
        assert re.fullmatch(r'"""[^"]*"""\n', path.read_text(encoding="utf-8")), path


def test_files_stay_small():
    sizes = {source: text.count("\n") for source, text in SOURCES.items()}
    long = {source: n for source, n in sizes.items() if n > LINES[Path(source).suffix]}
    assert long == LONG_FILES


def test_functions_stay_short():
    assert {name: lines for name, (lines, _) in FOUND.items() if lines > FUNCTION_LINES} == LONG_FUNCTIONS


def test_functions_take_few_parameters():
    assert {name: count for name, (_, count) in FOUND.items() if count > PARAMETERS} == {
        name: count for name, (count, _) in MANY_PARAMETERS.items()
    }
