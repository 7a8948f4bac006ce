"""Build of the compiled modules; everything else about the package is in pyproject.toml.

`FASTTREE_DEBUG=1` builds with checks: an index out of bounds or an uninitialised view raises instead of corrupting memory, and a
signed integer overflow stops the process.  Threads of one growth wait now and then where they release a lock, so that tests meet
more orders of their steps.  `FASTTREE_DEBUG=address` and `FASTTREE_DEBUG=thread` add a sanitizer.

`FASTTREE_DEBUG=coverage` builds without optimisation, with counts of lines and branches of the Cython sources: `.ci/coverage`.

`FASTTREE_PLAIN_C=1` builds without extensions of GCC and Clang and without system calls: standard C without arrays of variable
length, as for other compilers.  This build is for tests and hardly optimised; the trees are the same.

`FASTTREE_PROFILE=1` builds with clocks for the phases of growth, which `python -m bench --profile CASE` reads.

`CFLAGS=-g` keeps debug symbols.  Without them, the modules are a sixth as large, and a profiler still sees names.

`build/modules` caches compiled modules under the hash of their sources, flags and compiler.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Options
from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import CompileError

COVERAGE = os.environ.get("FASTTREE_DEBUG") == "coverage"
DEBUG = os.environ.get("FASTTREE_DEBUG", "0") not in ("", "0") and not COVERAGE
PLAIN_C = os.environ.get("FASTTREE_PLAIN_C", "0") not in ("", "0")
SANITIZER = [f"-fsanitize={kind}" for kind in ("address", "thread") if os.environ.get("FASTTREE_DEBUG") == kind]
PROFILE = os.environ.get("FASTTREE_PROFILE", "0") not in ("", "0")
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")  # free-threaded builds have no stable ABI

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,  # in the debug build, too, where a negative index must be an error
    "initializedcheck": DEBUG,
    "nonecheck": False,
    "cdivision": True,
    "embedsignature": True,
    "auto_pickle": False,  # records of the engine are made anew in each process
    "freethreading_compatible": True,  # globals are constants; state shared by threads is under a lock
    "show_performance_hints": not DEBUG,  # the hints would complain about the checks
}

# -ffp-contract=off: the same tree on every machine, with or without fused multiply-add.
# -fno-strict-aliasing: arenas hold records of different types one after another.
# The compiler checks overflow, because Cython's check includes unsigned arithmetic, where hashes wrap on purpose.
OVERFLOW = ["-fno-wrapv", "-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error"]
UNIX_FLAGS = ["-O1", "-g", *OVERFLOW] if DEBUG else ["-O1" if PLAIN_C else "-O3"]
UNIX_FLAGS += ["-fno-strict-aliasing", "-ffp-contract=off"]
UNIX_FLAGS += ["-std=c11", "-Werror=vla"] if PLAIN_C else ["-fno-trapping-math", "-fno-math-errno", "-fopenmp-simd"]
SYMBOLS = DEBUG or COVERAGE or "-g" in os.environ.get("CFLAGS", "").split()
if not SYMBOLS:
    # Python's own flags may include debug symbols.  Tables to unwind the stack are for debuggers, too: C raises no exceptions.
    UNIX_FLAGS += ["-g0", "-fno-asynchronous-unwind-tables"]
# GCC 12 may treat a function that stores the result of llrint as pure, and drop its calls.
GUARD_FLAGS = ["-fno-ipa-pure-const", "-fno-ipa-modref"]
# Functions of Python and the C library are called where the table of addresses says, without a stub for each: a smaller module.
WITHOUT_STUBS = ["-fno-plt"]
LINK_FLAGS = ["--coverage"] if COVERAGE else SANITIZER
UNIX_FLAGS += ["--coverage", "-O0", "-fprofile-update=atomic"] if COVERAGE else SANITIZER
if sys.platform == "linux" and not SYMBOLS:
    LINK_FLAGS += ["-Wl,-s"]  # a twentieth of the wheel; profilers need the names: build with CFLAGS=-g
    LINK_FLAGS += ["-Wl,--gc-sections"]  # see IN_ORDER
    LINK_FLAGS += ["-Wl,--build-id=none"]  # which finds debug symbols that are kept apart
MSVC_FLAGS = ["/Od"] if DEBUG else ["/O2"]


class BuildCore(build_ext):
    """Build in parallel with flags for the compiler, and cache compiled modules."""

    def finalize_options(self) -> None:
        """Use all processors by default."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self) -> None:
        """Build all extensions with the flags of this compiler."""
        self.force = True  # timestamps do not distinguish release from debug objects
        is_msvc = self.compiler.compiler_type == "msvc"
        if not is_msvc and shutil.which(self.compiler.compiler_so[0]) is None:
            raise CompileError(
                f"fasttree is compiled from C, and the compiler {self.compiler.compiler_so[0]!r} is not installed: install one, "
                "such as gcc or Clang, or a wheel of fasttree"
            )
        flags = MSVC_FLAGS if is_msvc else UNIX_FLAGS + self.accepted(GUARD_FLAGS + WITHOUT_STUBS)
        choices = sorted({flag for some in SMALLER.values() for flag in some})
        smaller = [] if is_msvc or DEBUG or COVERAGE or PLAIN_C else self.accepted(choices)
        for extension in self.extensions:
            extension.extra_compile_args = flags + [flag for flag in SMALLER.get(extension.name, []) if flag in smaller]
            extension.extra_link_args = [] if is_msvc else LINK_FLAGS
        super().build_extensions()

    def build_extension(self, extension: Extension) -> None:
        """Build a module, or copy it from the cache."""
        target = Path(self.get_ext_fullpath(extension.name))
        kept = self.place_of(extension, target.name)
        if kept is None or not kept.exists():
            super().build_extension(extension)
        if kept is None:
            return
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            part = kept.with_name(f"{kept.name}.{os.getpid()}")
            shutil.copy2(target, part)
            os.replace(part, kept)
            for old in sorted(Path("build", "modules").glob(f"*/{target.name}"), key=lambda path: path.stat().st_mtime)[:-8]:
                shutil.rmtree(old.parent)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(kept, target)

    def place_of(self, extension: Extension, name: str) -> Path | None:
        """Return the path of a module in the cache, by source, compiler, flags and Python; None where it cannot be kept."""
        if self.compiler.compiler_type != "unix" or COVERAGE:  # whose counts lie beside the objects
            return None
        compiler = self.compiler.compiler_so
        version = subprocess.run([compiler[0], "--version"], capture_output=True, check=False).stdout
        made_of = [compiler, self.compiler.linker_so, self.include_dirs, sysconfig.get_config_vars("VERSION", "SOABI")]
        made_of += [sorted(vars(extension).items())]
        sources = b"".join(Path(source).read_bytes() for source in extension.sources)
        digest = hashlib.sha256(repr((made_of, version)).encode() + sources).hexdigest()
        return Path("build", "modules", digest[:16], name)

    def accepted(self, flags: list[str]) -> list[str]:
        """Return the flags that this compiler accepts."""
        known = []
        with tempfile.TemporaryDirectory() as folder:
            empty = Path(folder, "empty.c")
            empty.write_text("int nothing;\n")
            for flag in flags:
                try:
                    self.compiler.compile([str(empty)], output_dir=folder, extra_postargs=["-Werror", flag])
                except CompileError:
                    continue
                known.append(flag)
        return known


class BuildLeanPage(build_py):
    """Copy scripts, styles and markup of pages as one file, without the comments and white space that each page drops anyway."""

    def run(self) -> None:
        """Build the package, and replace those files."""
        super().run()
        if self.editable_mode:
            return
        page = Path("fasttree", "_explain", "page")
        spec = spec_from_file_location("lean", page / "lean.py")
        lean = module_from_spec(spec)
        spec.loader.exec_module(lean)
        folder, parts = Path(self.build_lib, page), {}
        for suffix, shorter in {".js": lean.lean_script, ".css": lean.lean_style, ".html": lean.lean_markup}.items():
            for path in sorted(folder.rglob(f"*{suffix}")):
                parts[path.relative_to(folder).as_posix()] = shorter(path.read_text(encoding="utf-8"))
                path.unlink()
        (folder / "parts.txt").write_text(lean.together(parts), encoding="utf-8")


class WheelWithMaterials(bdist_wheel):
    """Write what a wheel is made of as CycloneDX into its metadata (PEP 770), the same bytes in each build."""

    def write_wheelfile(self, wheelfile_base: str, *arguments: str, **more: str) -> None:
        """Write the bill of materials beside the file WHEEL."""
        super().write_wheelfile(wheelfile_base, *arguments, **more)
        folder = Path(wheelfile_base, "sboms")
        folder.mkdir(exist_ok=True)
        text = json.dumps(self.materials(), indent=1)
        (folder / "fasttree.cdx.json").write_text(text + "\n", encoding="utf-8")

    def materials(self) -> dict[str, object]:
        """Return the bill: the package, and the code of others in it.  What it needs is in METADATA and not in the wheel."""

        def component(kind: str, name: str, release: str, licence: str) -> dict[str, object]:
            link = f"pkg:pypi/{name.lower()}@{release}"
            licences = [{"license": {"id": licence}}]
            return {"type": kind, "bom-ref": link, "name": name, "version": release, "purl": link, "licenses": licences}

        ours = component("library", "fasttree", self.distribution.get_version(), "BSD-3-Clause")
        cython = component("library", "Cython", version("Cython"), "Apache-2.0")
        cython["description"] = "its utility code is in each compiled module"
        depends = [{"ref": ours["bom-ref"], "dependsOn": [cython["bom-ref"]]}, {"ref": cython["bom-ref"]}]
        bill = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "metadata": {"component": ours}}
        return bill | {"components": [cython], "dependencies": depends}


# Cython's code for memoryviews is a module of its own, which the others share.
MEMORYVIEWS = "fasttree._engine._memoryviews"

# Flags that make modules smaller at nearly the same speed, as measured: the shared one has no loops over samples, in others the
# compiler knows best what to inline, and in the largest it inlines what pays most.
AS_IT_SEES_FIT = ["-DCYTHON_INLINE=__attribute__((unused))"]
WHAT_PAYS_MOST = ["--param=inline-unit-growth=8"]
# What -O3 adds to -O2 beside vectors copies loops and functions.
VECTORS = ["-O2", "-fvect-cost-model=dynamic"]
# These -O3 inlines, too.
SHORT_FUNCTIONS = ["-finline-functions", "--param=max-inline-insns-auto=30"]
# Code is a fiftieth smaller where jumps need not end at round addresses.
UNALIGNED = ["-fno-align-functions", "-fno-align-jumps", "-fno-align-labels", "-fno-align-loops"]
# What is kept from one block of code for another fills registers that loops need: without it, encoding takes a sixth less time.
WITHOUT_KEPT_VALUES = ["-fno-gcse", "-fno-tree-pre", "-fno-code-hoisting"]
# Versions of a function for entries of two widths are compressed together where they lie side by side, as in the source.  The
# compiler keeps functions that nothing calls then; the linker drops them.
IN_ORDER = ["-fno-toplevel-reorder", "-ffunction-sections", "-fdata-sections"]
SMALLER = {MEMORYVIEWS: ["-Os"], "fasttree._core": [*WHAT_PAYS_MOST, *UNALIGNED, *IN_ORDER]} | {
    f"fasttree._engine.{name}": [*AS_IT_SEES_FIT, *UNALIGNED, *level]
    for level, names in (
        ([], ("additive",)),
        (IN_ORDER, ("forest",)),
        (VECTORS, ("lookahead",)),
        ([*VECTORS, *WITHOUT_KEPT_VALUES], ("lines.equations",)),
        ([*VECTORS, *IN_ORDER, *WITHOUT_KEPT_VALUES], ("rounds",)),
        ([*VECTORS, *SHORT_FUNCTIONS], ("serving",)),
        ([*VECTORS, *SHORT_FUNCTIONS, *IN_ORDER, *WITHOUT_KEPT_VALUES], ("encoding",)),
        (["-O2", *WITHOUT_KEPT_VALUES], ("merging", "passes", "rulesets")),
        (["-O2", *IN_ORDER], ("optimal",)),
        (["-Os"], ("walk.attribution",)),
    )
    for name in names
}

extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [source.as_posix()],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] * LIMITED_API
        + [("FASTTREE_PLAIN_C", "1")] * PLAIN_C
        + [("FASTTREE_PROFILE", "1")] * PROFILE
        + [("FASTTREE_PAUSES", "1")] * (DEBUG and os.name != "nt"),
        libraries=[] if os.name == "nt" else ["m"],  # not every Python links libm
        py_limited_api=LIMITED_API,
    )
    for source in [*sorted(Path("fasttree").rglob("*.pyx")), Path(*MEMORYVIEWS.split(".")).with_suffix(".c")]
]

TRANSLATIONS = f"build/cython-{'debug' if DEBUG else 'coverage' if COVERAGE else 'release'}"

# Only `Predictor` has users that see the docstrings of compiled code; without the others, a wheel is 22,000 bytes smaller.
SEEN = ("fasttree._engine.serving",)


def translated(some: list[Extension], docstrings: bool) -> list[Extension]:
    """Translate modules to C, with or without their docstrings."""
    Options.docstrings = docstrings
    found: list[Extension] = cythonize(  # which finds the headers (*.pxd) that modules cimport, as dependencies
        some,
        nthreads=(os.cpu_count() or 1) if sys.platform == "linux" else 0,  # elsewhere each process would run this file again
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=MEMORYVIEWS,
        build_dir=TRANSLATIONS,
        emit_linenums=COVERAGE,
    )
    return found


def all_translated() -> list[Extension]:
    """Translate all modules to C, but for those whose C was made by this Cython of the same sources.

    Cython compares times, also with those of its own headers.  They are new in each environment that pip makes for a build,
    and so it would translate everything again.
    """
    sources = [Path("setup.py"), *sorted(path for path in Path("fasttree").rglob("*.p*") if path.suffix in (".pyx", ".pxd"))]
    digest = hashlib.sha256(version("Cython").encode())
    for path in sources:
        text = path.read_bytes()
        digest.update(f"{path.as_posix()} {len(text)} ".encode() + text)
    made_of = Path(TRANSLATIONS, "made-of.txt")
    if made_of.exists() and made_of.read_text() == digest.hexdigest():
        for path in Path(TRANSLATIONS).rglob("*.c"):
            path.touch()
    made_of.unlink(missing_ok=True)  # what is translated in part is of no one state
    found = translated([each for each in extensions if each.name in SEEN], True)
    found += translated([each for each in extensions if each.name not in SEEN], False)
    made_of.parent.mkdir(parents=True, exist_ok=True)
    made_of.write_text(digest.hexdigest())
    return found


setup(
    ext_modules=all_translated(),
    cmdclass={"build_ext": BuildCore, "build_py": BuildLeanPage, "bdist_wheel": WheelWithMaterials},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED_API else {},
)
