"""Check of the distributions in a folder before publishing: small, complete, and without unintended files.

python .ci/check_distributions.py folder [git archive of the sources]
"""

import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

LARGEST = 2 * 2**20  # bytes
INSTALLED = (".py", ".typed", ".json", ".html", ".css", ".js")
PAGES = "fasttree/_explain/page/"
PARTS = f"{PAGES}parts.txt"  # of a wheel: the scripts, styles and markup of pages, as `lean.together` writes them
ROOT = Path(__file__).parents[1]
REGISTRY = (ROOT / "fasttree" / "estimators" / "common" / "registry.py").read_text(encoding="utf-8")
STUBS = {f"fasttree/estimators/{module}.pyi" for module in ["_stubs", *re.findall(r'Entry\("\w+", "(\w+)"', REGISTRY)]}
CHECKED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["check-manifest"]["ignore"]


def members(path: Path) -> set[str]:
    """Return the files of a distribution, relative to its top folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as file:
            return set(file.namelist())
    with tarfile.open(path) as file:
        names = [member.name for member in file if member.isfile()]
    return {name.split("/", 1)[1] for name in names} if path.name.endswith(".tar.gz") else set(names)


def parts_of_pages(path: Path) -> set[str]:
    """Return the names of the files that a wheel has in one."""
    with zipfile.ZipFile(path) as file:
        text = file.read(PARTS).decode() if PARTS in file.namelist() else ""
    return {f"{PAGES}{name}" for name in re.findall("\f(.*)\n", text)}


def mistakes_of_wheel(path: Path) -> list[str]:
    """Return the mistakes of a wheel."""
    names = members(path) | parts_of_pages(path)
    found = [
        f"holds {name}"
        for name in names
        if not name.startswith(("fasttree/", "fasttree-")) or name.endswith((".c", ".pyx", ".pxd"))
    ]
    modules = {path.relative_to(ROOT / "fasttree").with_suffix("").as_posix() for path in ROOT.glob("fasttree/**/*.pyx")}
    for module in modules:
        if f"fasttree/{module}.pyi" not in names:
            found.append(f"lacks the stub of {module}")
        if not any(name.startswith(f"fasttree/{module}.") and name.endswith((".so", ".pyd")) for name in names):
            found.append(f"lacks the compiled {module}")
    found += [f"lacks {name}, of .ci/write_stubs.py" for name in sorted(STUBS - names)]
    sources = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("fasttree/**/*") if path.suffix in INSTALLED}
    found += [f"lacks {name}" for name in sorted(sources - names)]
    if not any(name.endswith("licenses/LICENSE") for name in names):
        found.append("lacks the licence")
    if not any(name.endswith(".dist-info/sboms/fasttree.cdx.json") for name in names):
        found.append("lacks the bill of its materials")
    if path.stat().st_size >= LARGEST:
        found.append(f"has {path.stat().st_size:,} bytes, but must be below {LARGEST:,}")
    return found


def mistakes_of_sources(path: Path, archive: Path) -> list[str]:
    """Return the differences between a source distribution and an archive of the repository."""
    ignored = [pattern.removesuffix("**") for pattern in CHECKED]
    expected = {name for name in members(archive) if not any(name.startswith(start) for start in ignored)}
    made = {"PKG-INFO", "setup.cfg", *STUBS}
    names = {name for name in members(path) if name not in made and ".egg-info/" not in name}
    return [f"lacks {name}" for name in sorted(expected - names)] + [f"holds {name}" for name in sorted(names - expected)]


def main(folder: str, archive: str | None = None) -> None:
    """Print the size of each distribution in a folder, and exit with all mistakes."""
    mistakes = []
    distributions = sorted(path for path in Path(folder).iterdir() if path.name.endswith((".whl", ".tar.gz")))
    if not distributions:
        mistakes.append(f"{folder} holds no distribution")
    for path in distributions:
        print(f"{path.stat().st_size:>12,} bytes  {path.name}")
        if path.suffix == ".whl":
            mistakes += [f"{path.name} {mistake}" for mistake in mistakes_of_wheel(path)]
        elif archive:
            mistakes += [f"{path.name} {mistake}" for mistake in mistakes_of_sources(path, Path(archive))]
    if mistakes:
        sys.exit("\n".join(mistakes))


if __name__ == "__main__":
    main(*sys.argv[1:])
