"""Atomic writing of files: a file appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing; it appears whole at the end of the block, or not at all if the block fails.

    Raises
    ------
    OSError
        If the file cannot be written; the error names `path`.
    """
    import secrets  # not above: reading needs none of the libraries that it imports

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
