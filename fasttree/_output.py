"""Files that appear whole or not at all; models and the command line write theirs through this."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that appears whole when the block ends, and not at all when it fails.

    Raises
    ------
    OSError
        If it cannot be written; it names `path`.
    """
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as stream:  # a pipe or a terminal: nothing to replace, and a pipe has no other path
                yield stream
            return
        try:
            with open(temporary, "xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise
    except OSError as error:
        if isinstance(error, BrokenPipeError) or error.errno is None or error.filename not in (None, target, temporary):
            raise  # not about this file
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
