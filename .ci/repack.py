"""Compress wheels again by Zopfli: smaller files that every ZIP reader reads; contents, times and permissions stay the same.

python .ci/repack.py folder

A wheel is downloaded often and written once, so the half minute that this takes is well spent.  It needs zopflipy.
"""

import sys
import zipfile
from pathlib import Path

import zopfli


def repack(path: Path) -> None:
    """Replace a wheel by one that takes less space."""
    smaller = path.with_suffix(".smaller")
    with zipfile.ZipFile(path) as old, zopfli.ZipFile(smaller, "w", iterations=15, block_splitting_max=0) as new:
        for member in old.infolist():
            new.writestr(member, old.read(member))
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(smaller) as again:
        changed = [name for name in old.namelist() if old.read(name) != again.read(name)]
        if changed or old.namelist() != again.namelist():
            sys.exit(f"{path.name} was not compressed correctly: {changed or 'its files differ'}")
    print(f"CI: {path.name} has {smaller.stat().st_size:,} bytes instead of {path.stat().st_size:,}")
    smaller.replace(path)


if __name__ == "__main__":
    for wheel in sorted(Path(sys.argv[1]).glob("*.whl")):
        repack(wheel)
