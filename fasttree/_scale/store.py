"""Arrays on disk, which no process outlives.

Every file belongs to a folder that only this process uses.  Where the system allows it, a file has no name from the moment it is
open: it is gone when the process ends, however it ends.  Folders of processes that are dead are removed at the next start.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

PREFIX = "fasttree-"
ALIGNED = 64  # bytes
REMEDY = "name a folder with more room by scratch="
NO_ROOM = {
    errno.ENOSPC: "the disk became full while a temporary file was written",
    errno.EDQUOT: "the quota of the disk was reached while a temporary file was written",
    errno.EFBIG: "a temporary file is larger than the limit for files of this process",
}


class Spot(NamedTuple):
    """Where an array is in a file."""

    start: int
    length: int
    dtype: np.dtype[Any]


class ArrayFile:
    """Arrays in one file.  They are read by mapping the file, and unmapped when nothing refers to them.

    Parameters
    ----------
    file : binary file
        Open for reading and writing.
    arrays : list of arrays
        Are written one after the other.
    """

    def __init__(self, file: BinaryIO, arrays: Sequence[Array]) -> None:
        self._file: BinaryIO = file
        _reserve(file, sum(array.nbytes + ALIGNED for array in arrays))
        self.places: list[Spot] = []
        end = 0
        for array in arrays:
            file.write(bytes(-end % ALIGNED))
            end += -end % ALIGNED
            self.places.append(Spot(end, len(array), array.dtype))
            file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
            end += array.nbytes
        file.flush()
        self.size = end
        file.truncate(end)  # of the room that was reserved

    @classmethod
    def of(cls, file: BinaryIO, places: Sequence[Spot]) -> Self:
        """Return arrays that are in a file already, open for reading."""
        found = cls.__new__(cls)
        found._file, found.places, found.size = file, list(places), os.fstat(file.fileno()).st_size
        return found

    @property
    def name(self) -> str:
        """Name in its folder, if the folder keeps names."""
        return os.path.basename(self._file.name)

    def read(self, *, writable: bool = False) -> list[Array]:
        """Return the arrays as views of the file; what is written to them stays in the file."""
        if self.size == 0:
            return [np.empty(0, place.dtype) for place in self.places]
        access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
        data = mmap.mmap(self._file.fileno(), self.size, access=access)
        return [np.frombuffer(data, place.dtype, place.length, place.start) for place in self.places]

    def close(self) -> None:
        """Give the space on disk back; views of the file stay valid."""
        self._file.close()


class GrowingFile:
    """Arrays of one length in one file, to which rows are added.

    Rows go to the disk as they come, so that no array needs memory of its own.

    Parameters
    ----------
    file : binary file
        Open for reading and writing.
    types : list of dtypes
    n_rows : int
        Most rows that are added.
    reserve : bool
        Whether all of them will come, so that the disk keeps room for them.
    aligned : int, default=64
        Bytes of which the start of each array is a multiple.
    """

    def __init__(
        self, file: BinaryIO, types: Sequence[np.dtype[Any]], n_rows: int, *, reserve: bool, aligned: int = ALIGNED
    ) -> None:
        self.file = file
        self.types, self.n_rows, self._most, self.is_reserved = list(types), 0, n_rows, reserve
        self._starts: list[int] = []
        end = 0
        for dtype in types:
            self._starts.append(end)
            end += -(-n_rows * dtype.itemsize // aligned) * aligned
        if reserve:
            _reserve(file, end)

    @property
    def room(self) -> int:
        """Rows that can be added."""
        return self._most - self.n_rows

    def add(self, arrays: Sequence[Array]) -> None:
        """Add the rows of some arrays, which have the types of the file."""
        for start, array in zip(self._starts, arrays, strict=True):
            self.file.seek(start + self.n_rows * array.itemsize)
            self.file.write(np.ascontiguousarray(array).data.cast("B") if array.size else b"")
        self.n_rows += len(arrays[0])

    def finished(self) -> ArrayFile:
        """Return the arrays of the rows that were added."""
        self.file.flush()
        spots = [Spot(start, self.n_rows, dtype) for start, dtype in zip(self._starts, self.types, strict=True)]
        self.file.truncate(spots[-1].start + self.n_rows * spots[-1].dtype.itemsize)
        return ArrayFile.of(self.file, spots)

    def close(self) -> None:
        """Give the space on disk back."""
        self.file.close()


def _reserve(file: BinaryIO, n_bytes: int) -> None:
    """Let the disk keep room for a file, where the system can do so."""
    if hasattr(os, "posix_fallocate") and n_bytes:
        try:
            os.posix_fallocate(file.fileno(), 0, n_bytes)
        except OSError as error:
            if error.errno in NO_ROOM:
                raise


class ScratchFolder:
    """A folder for files of this process.

    Parameters
    ----------
    folder : path or None
        Where the folder is made; None: where the system keeps temporary files.
    named : bool, default=False
        Whether files keep their names, so that `keep_as` can keep them.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, *, named: bool = False) -> None:
        parent = Path(tempfile.gettempdir() if folder is None else folder)
        remove_left_over(parent)
        try:
            self.path = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent))
        except OSError as error:
            raise OSError(error.errno, f"scratch={str(parent)!r}: no folder can be made there ({error.strerror})") from None
        self._named = named
        self._files: list[ArrayFile | GrowingFile] = []
        self._remove = weakref.finalize(self, _remove, self.path, self._files, _locked(self.path))

    @property
    def is_open(self) -> bool:
        """Whether files can be written."""
        return self._remove.alive

    def write(self, arrays: Sequence[Array]) -> ArrayFile:
        """Write arrays to a file of their own.

        Raises
        ------
        OSError
            If there is no room for them.
        """
        self.require(sum(array.nbytes for array in arrays))
        with self._file() as file:
            written = ArrayFile(file, arrays)
        self._files.append(written)
        return written

    def growing(self, types: Sequence[np.dtype[Any]], n_rows: int, *, reserve: bool, aligned: int = ALIGNED) -> GrowingFile:
        """Return a file for rows, as `GrowingFile` describes it."""
        self.require(sum(dtype.itemsize for dtype in types) * n_rows if reserve else 0)
        with self._file() as file:
            growing = GrowingFile(file, types, n_rows, reserve=reserve, aligned=aligned)
        self._files.append(growing)
        return growing

    def add(self, growing: GrowingFile, arrays: Sequence[Array]) -> None:
        """Add rows to a file.

        Raises
        ------
        OSError
            If there is no room for them.
        """
        if not growing.is_reserved:
            self.require(sum(array.nbytes for array in arrays))
        with self._ended(growing.file):
            growing.add(arrays)

    def finish(self, growing: GrowingFile, whole: np.dtype[Any] | None = None) -> ArrayFile:
        """Return the arrays of a file to which rows were added, or all of them as one of another type."""
        with self._ended(growing.file):
            finished = growing.finished()
            if whole is not None:
                finished = ArrayFile.of(growing.file, [Spot(0, finished.size // whole.itemsize, whole)])
        self._files[self._files.index(growing)] = finished
        return finished

    @contextlib.contextmanager
    def _file(self) -> Iterator[BinaryIO]:
        """Open a file, and close it if it cannot be written."""
        descriptor, path = tempfile.mkstemp(dir=self.path)
        file = open(path, "w+b", opener=lambda *_: descriptor)  # noqa: SIM115 - it is closed by `drop` and `close`
        if not self._named:
            with contextlib.suppress(OSError):  # a system that keeps the names of open files removes them with the folder
                os.unlink(path)
        with self._ended(file):
            yield file

    @contextlib.contextmanager
    def _ended(self, file: BinaryIO) -> Iterator[None]:
        """Close a file that cannot be written, and say where there is no room."""
        try:
            yield
        except BaseException as error:
            with contextlib.suppress(OSError):  # what is in its buffer has no room either
                file.close()
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise OSError(error.errno, f"{self.path.parent}: {NO_ROOM[error.errno]}: {REMEDY}") from None
            raise

    def drop(self, files: Sequence[ArrayFile]) -> None:
        """Close files that are no longer needed."""
        for file in files:
            file.close()
            self._files.remove(file)
            if self._named:
                (self.path / file.name).unlink()

    def require(self, n_bytes: int) -> None:
        """Raise an OSError unless the disk has room for this many bytes."""
        free = shutil.disk_usage(self.path).free
        if free < n_bytes:
            raise OSError(
                errno.ENOSPC,
                f"{self.path.parent} has {_gigabytes(free)} free, and {_gigabytes(n_bytes)} are needed: {REMEDY}",
            )

    def keep_as(self, path: Path) -> None:
        """Give the folder another name, under which it outlives the process."""
        self.path.rename(path)
        ended = self._remove.detach()
        lock = None if ended is None else ended[2][2]
        if lock is not None:
            os.close(lock)

    def close(self) -> None:
        """Remove the folder and its files."""
        self._remove()


def _remove(path: Path, files: list[ArrayFile | GrowingFile], lock: int | None) -> None:
    for file in files:
        with contextlib.suppress(OSError):  # what is in its buffer may have no room
            file.close()
    files.clear()
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)


def _locked(path: Path) -> int | None:
    """Lock a folder as long as the descriptor is open; None: another process has locked it, or the system has no such locks."""
    try:
        import fcntl

        lock = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def remove_left_over(parent: Path) -> None:
    """Remove the folders of processes that have ended without doing so."""
    for path in parent.glob(f"{PREFIX}*-*"):
        number = path.name.removeprefix(PREFIX).partition("-")[0]
        if not number.isdecimal() or _is_alive(int(number)):
            continue
        lock = _locked(path)  # a process of another container has its own numbers, but the same locks
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # a signal would end the process there
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:.3g} GB"
