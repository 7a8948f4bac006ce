"""Tables of lines and branches of Cython sources that ran, from a build with FASTTREE_DEBUG=coverage.

python .ci/count_lines.py folder

`folder` is the root of that build.  A header is compiled into several modules, and once for each of its types.  A line ran
if it ran in any of these, and a branch was taken if it was in any.  The last lines say also how many were taken of those of each
type apart; among these are some that a type cannot take, where a condition asks what is known of the type.
"""

import json
import re
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from pathlib import Path

Counts = dict[int, int]


def reports(folder: Path) -> list[dict]:
    """Return what gcov says of each object."""
    found = []
    for path in sorted(folder.glob("build/temp*/**/*.gcda")):
        out = subprocess.run(["gcov", "-b", "-j", "-t", str(path)], cwd=folder, capture_output=True, text=True, check=True).stdout
        found += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return found


def is_code(text: str) -> bool:
    """Whether a line of a source has a statement: not a declaration without a value, a text or the signature of a function."""
    text = text.partition("#")[0].strip()
    if re.match(r"(cdef|cpdef|ctypedef|const|def|class|@|from|import|include|\"\"\"|\)|else:|try:|finally:)", text):
        return bool(re.match(r"cdef [^(]*=", text))
    return bool(text)


def types_of(functions: list[dict]) -> tuple[list[int], list[int]]:
    """Return the lines where functions start, ascending, and for how many types each is compiled."""
    types: dict[int, set[str]] = defaultdict(set)
    for function in functions:
        types[function["start_line"]].add("".join(re.findall(r"__pyx_fuse_\d+", function["name"])))
    starts = sorted(types)
    return starts, [len(types[start]) for start in starts]


def main(folder: str) -> None:
    """Print the tables."""
    root = Path(folder)
    ran: dict[str, Counts] = defaultdict(lambda: defaultdict(int))
    taken: dict[str, dict[int, Counts]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    of_each: dict[str, dict[int, Counts]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    for report in reports(root):
        for file in report["files"]:
            at = file["file"].rpartition("fasttree/")
            name = f"fasttree/{file['file'].partition('fasttree/')[2]}"
            if not at[1] or not name.endswith((".pyx", ".pxd")) or not (root / name).exists():  # or is Cython's own
                continue
            starts, types = types_of(file["functions"])
            for line in file["lines"]:
                number, branches = line["line_number"], line["branches"]
                ran[name][number] += line["count"]
                # gcov has the branches of one type behind those of another
                n_types = types[bisect_right(starts, number) - 1] if starts and number >= starts[0] else 1
                of_one = len(branches) // n_types if len(branches) % n_types == 0 else len(branches)
                for i, branch in enumerate(branches):
                    of_each[name][number][i] += branch["count"]
                    taken[name][number][i % of_one] += branch["count"]
    totals: dict[str, list[int]] = {".pxd": [0] * 6, ".pyx": [0] * 6}
    missed = []
    for name, lines in sorted(ran.items()):
        source = (root / name).read_text(encoding="utf-8").splitlines()
        asked = {number for number in lines if number <= len(source) and is_code(source[number - 1])}
        # what Cython adds to a line that calls Python, such as a way out for each error, is no branch of the source
        written = re.compile(r"\b(if|elif|while|for|and|or|else|min|max)\b")
        conditions = [number for number in asked if written.search(source[number - 1])]
        branches = [(number, count) for number in conditions for count in taken[name][number].values()]
        apart = [count for number in conditions for count in of_each[name][number].values()]
        figures = [len(asked), sum(lines[n] > 0 for n in asked), len(branches), sum(count > 0 for _, count in branches)]
        figures += [len(apart), sum(count > 0 for count in apart)]
        kind = totals[Path(name).suffix]
        kind[:] = [a + b for a, b in zip(kind, figures, strict=True)]
        print(f"{figures[1]:>5} of {figures[0]:>5} lines {figures[3]:>6} of {figures[2]:>6} branches  {name}")
        missed += [f"{name}:{n}: {source[n - 1].strip()}" for n in sorted(asked) if not lines[n]]
        missed += [
            f"{name}:{n}: never one way: {source[n - 1].strip()}" for n in sorted({n for n, c in branches if not c and lines[n]})
        ]
    print("\n".join(missed))
    for suffix, (lines, reached, branches, used, apart, used_apart) in totals.items():
        print(
            f"{suffix}: {reached / max(lines, 1):.1%} of {lines:,} lines, {used / max(branches, 1):.1%} of {branches:,} branches "
            f"({used_apart / max(apart, 1):.1%} of {apart:,} of each type)"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
