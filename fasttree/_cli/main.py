"""The command `fasttree`, which runs `commands`, or names the missing library of the extra ``cli``.

Importing this file needs only the libraries that fasttree requires.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

__all__ = ["main"]

EXTRA = ("click", "rich", "polars")


def main() -> NoReturn:
    """Run the command line; the exit code is 0 without error, 1 after a user's mistake, and 2 after a wrong command."""
    # A process that is terminated must remove its incomplete file.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed: files that are opened must not take its place
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show must not stop the command
            stream.reconfigure(errors="backslashreplace")
    try:
        from fasttree._cli import commands  # which imports the libraries that the command needs, and no others

        commands.fasttree(prog_name="fasttree")
    except ModuleNotFoundError as error:
        library = str(error.name).partition(".")[0]
        if library not in EXTRA:
            raise
        sys.exit(f"Error: the command line needs {library}, which is not installed: pip install 'fasttree[cli]'")
    sys.exit(0)


if __name__ == "__main__":
    main()
