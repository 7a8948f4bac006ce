"""Build of the compiled modules; everything else about the package stands in pyproject.toml.

`FASTTREE_DEBUG=1` builds the core with its checks on: an index out of bounds or an uninitialised view raises instead of
corrupting memory, and a signed integer overflow stops the process.

`FASTTREE_PLAIN_C=1` builds it without what only GCC and Clang know, and without calls of the system: standard C with no arrays
of variable length, as other compilers see it.  It is for tests and hardly optimised; the trees are the same.
"""

import os
import sysconfig
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

DEBUG = os.environ.get("FASTTREE_DEBUG", "0") not in ("", "0")
PLAIN_C = os.environ.get("FASTTREE_PLAIN_C", "0") not in ("", "0")
ADDRESS = os.environ.get("FASTTREE_DEBUG") == "address"
LIMITED_API = not sysconfig.get_config_var("Py_GIL_DISABLED")  # free-threaded builds have no stable ABI

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,  # also in the debug build, where a negative index must be an error
    "initializedcheck": DEBUG,
    "nonecheck": False,
    "cdivision": True,
    "embedsignature": True,
    "show_performance_hints": not DEBUG,  # the checks are what the hints would complain about
}

# -ffp-contract=off: the same tree on every machine, with or without fused multiply-add.
# -fno-strict-aliasing: arenas hold records of several types in turn.
# Overflow is checked by the compiler: Cython's own check covers unsigned arithmetic too, where hashes wrap on purpose.
OVERFLOW = ["-fno-wrapv", "-fsanitize=signed-integer-overflow", "-fsanitize-undefined-trap-on-error"]
UNIX_FLAGS = ["-O1", "-g", *OVERFLOW] if DEBUG else ["-O1" if PLAIN_C else "-O3"]
UNIX_FLAGS += ["-fno-strict-aliasing", "-ffp-contract=off"]
UNIX_FLAGS += ["-std=c11", "-Werror=vla"] if PLAIN_C else ["-fno-trapping-math", "-fno-math-errno", "-fopenmp-simd"]
# GCC 12 may take a function that stores what llrint returns for one without effect, and drop the calls of it.
GUARD_FLAGS = ["-fno-ipa-pure-const", "-fno-ipa-modref"]
LINK_FLAGS = ["-fsanitize=address"] if ADDRESS else []
UNIX_FLAGS += LINK_FLAGS
MSVC_FLAGS = ["/Od"] if DEBUG else ["/O2"]


class BuildCore(build_ext):
    """Choose flags by compiler, and never keep the other build's object file."""

    def build_extensions(self) -> None:
        """Build all extensions anew, with the flags of this compiler."""
        self.force = True  # a release and a debug object cannot be told apart by their age
        for extension in self.extensions:
            is_msvc = self.compiler.compiler_type == "msvc"
            extension.extra_compile_args = MSVC_FLAGS if is_msvc else UNIX_FLAGS + self.accepted(GUARD_FLAGS)
            extension.extra_link_args = [] if is_msvc else LINK_FLAGS
        super().build_extensions()

    def accepted(self, flags: list[str]) -> list[str]:
        """Those of the flags that this compiler knows."""
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


extensions = [
    Extension(
        f"fasttree.{name}",
        [f"fasttree/{name}.pyx"],
        define_macros=[("Py_LIMITED_API", "0x030B0000")] * LIMITED_API + [("FASTTREE_PLAIN_C", "1")] * PLAIN_C,
        py_limited_api=LIMITED_API,
    )
    for name in ("_core", "_attribution")
]

setup(
    # The headers (*.pxd) that the modules cimport are found by cythonize and become its dependencies.
    ext_modules=cythonize(
        extensions,
        compiler_directives=DIRECTIVES,
        build_dir="build/cython-debug" if DEBUG else "build/cython-release",
    ),
    cmdclass={"build_ext": BuildCore},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED_API else {},
)
