"""The command `fasttree`: starts `_commands`, or says which library of the extra ``cli`` is not installed.

Importing this file needs no library beyond fasttree's own.
"""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

__all__ = ["main"]

EXTRA = ("click", "rich", "polars")


def main() -> NoReturn:
    """Run the command line: exit code 0 if all went well, 1 on a user's mistake, 2 if the command was not understood."""
    try:
        from . import _commands
    except ModuleNotFoundError as error:
        library = str(error.name).partition(".")[0]
        if library not in EXTRA:
            raise
        sys.exit(f"Error: the command line needs {library}, which is not installed: pip install 'fasttree[cli]'")
    # So that a file half written is taken away when the process is told to stop.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")
    _commands.fasttree(prog_name="fasttree")
    sys.exit(0)


if __name__ == "__main__":
    main()
