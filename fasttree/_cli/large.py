"""Training from tables larger than memory: folders, patterns and files, by a `Dataset`."""

from __future__ import annotations

import glob
import importlib.util
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from fasttree._cli.console import learning
from fasttree._cli.models import ALGORITHMS
from fasttree._cli.options import FILE, read_parameters
from fasttree._cli.tables import FEW, Asked, open_file

if TYPE_CHECKING:
    import polars as pl

    from fasttree._cli.models import Estimator
    from fasttree._scale.dataset import Dataset

__all__ = ["OnDisk", "Trained", "Wish", "disk_options", "is_large"]

MEMORY, SCRATCH, KEEP = "fasttree.memory", "fasttree.scratch", "fasttree.keep"
WORDS_ON_DISK = ("cart", "forest", "extra-trees")
ENDINGS = (".parquet", ".csv", ".csv.gz")
WAYS_OUT = "leave out --memory, --scratch and --keep to read one file into memory"


def _note(key: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def note(context: click.Context, _: click.Parameter, given: Any) -> None:
        context.meta[key] = given

    return note


def disk_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of tables larger than memory."""
    command = click.option(
        "--keep",
        is_flag=True,
        expose_value=False,
        callback=_note(KEEP),
        help="Keep the prepared table of Parquet files in --scratch: the next training on the same files starts from it.",
    )(command)
    command = click.option(
        "--scratch",
        metavar="DIR",
        type=FILE,
        expose_value=False,
        callback=_note(SCRATCH),
        help="Folder for temporary files of a table larger than memory, on a fast local disk.",
    )(command)
    return click.option(
        "--memory",
        metavar="SIZE",
        expose_value=False,
        callback=_note(MEMORY),
        help="Grow a cart tree or a forest without loading the table, within so much memory, such as 6GiB; with half of the free "
        "memory for a folder or a pattern of files.",
    )(command)


def is_large(data: str) -> bool:
    """Return whether the table is read in pieces: if it is a folder or a pattern, or if an option asks for that."""
    meta = click.get_current_context().meta
    return any(meta.get(key) for key in (MEMORY, SCRATCH, KEEP)) or os.path.isdir(data) or _is_pattern(data)


def _is_pattern(path: str) -> bool:
    return not os.path.exists(path) and glob.has_magic(path)


def _files_of(data: str) -> list[str]:
    """Return the files of a folder or a pattern, or the file itself; all of one form."""
    if os.path.isdir(data):
        found = sorted(os.path.join(data, name) for name in os.listdir(data) if name.endswith(ENDINGS))
        found = [path for path in found if os.path.isfile(path)]
        if not found:
            raise ValueError(f"{data} has no file that ends in {', '.join(ENDINGS)}")
    elif _is_pattern(data):
        found = sorted(glob.glob(data))
        if not found:
            raise ValueError(f"{data}: no file has such a name")
    else:
        found = [data]
    forms = {path.endswith(".parquet"): path for path in found}
    if len(forms) > 1:
        raise ValueError(f"{data} has Parquet files and others, such as {forms[True]} and {forms[False]}: name those of one form")
    return found


class Wish(NamedTuple):
    """What the user asks `train` for."""

    asked: Asked
    algorithm: str
    task: str
    seed: int
    common: Mapping[str, str | bool | None]  # parameters with an option of their own
    params: Sequence[str]


class Trained(NamedTuple):
    """A model, the task with its reason in words, and what is in memory of its table."""

    model: Estimator
    task: str
    reason: str
    table: pl.DataFrame | None = None
    held_out: pl.DataFrame | None = None
    notes: Mapping[str, str] = {}


class OnDisk:
    """A table of one or more files that is read in pieces.

    Parameters
    ----------
    data : str
        File, folder or pattern.
    markers, separator
        As for `open_file`.
    """

    def __init__(self, data: str, markers: Sequence[str], separator: str) -> None:
        from fasttree._data.files.blocks import DeclaredFile, TableFile

        self._data = data
        files = [open_file(path, markers, separator) for path in _files_of(data)]
        for file in files:
            if isinstance(file, DeclaredFile) or file.path == "the standard input":
                raise ValueError(f"{file.path} cannot be read in pieces, as Parquet and CSV files can: {WAYS_OUT}")
        self._files = [file for file in files if isinstance(file, TableFile)]
        self.first = self._files[0]
        for file in self._files[1:]:
            file.require(self.first.names)
            if file.is_csv != self.first.is_csv:
                raise ValueError(f"{file.path} and {self.first.path} are of different forms: name files of one form")

    def grow(self, wish: Wish) -> Trained:
        """Grow a tree; what a Dataset does not allow raises an error before the rows are read."""
        if wish.algorithm not in WORDS_ON_DISK:
            ways = ", ".join(WORDS_ON_DISK)
            raise click.UsageError(f"--algorithm {wish.algorithm} needs the table in memory: use {ways}, or {WAYS_OUT}")
        models = _models(wish)
        meta = click.get_current_context().meta
        given: dict[str, Any] = {"memory": meta.get(MEMORY) or "auto", "scratch": meta.get(SCRATCH)}
        if meta.get(KEEP):
            if self.first.is_csv:
                raise click.UsageError("--keep keeps the table of Parquet files: leave it out for CSV files")
            if not given["scratch"]:
                raise click.UsageError("--keep needs --scratch DIR, the folder in which the table is kept")
            given["keep"] = True
        with learning(os.path.basename(os.path.normpath(self._data))), self._dataset(wish.asked, given) as data:
            task, reason = _choose(data.prepare(), wish.task)
            model = (models.get(task) or _model(task, wish)).fit(data)  # the latter says why not
        return Trained(model, task, reason)

    def _dataset(self, asked: Asked, given: dict[str, Any]) -> Dataset:
        import polars as pl

        from fasttree._data.files.blocks import widest_type
        from fasttree._learn.progress import each
        from fasttree._scale.dataset import Dataset

        if importlib.util.find_spec("pyarrow") is None:
            raise ValueError("files are read in pieces with pyarrow, which is not installed: pip install 'fasttree[parquet]'")
        given["features"] = [name for name in self.first.names if name not in (asked.target, *asked.ignored)]
        if not self.first.is_csv:
            types = dict(pl.scan_parquet(self.first.path, glob=False, hive_partitioning=False).collect_schema())
            return Dataset.from_parquet([file.path for file in self._files], asked.target, **given, **_kinds(asked, types))
        texts = {name: pl.String() for name in (*asked.nominal, *asked.orders)}
        found = [file.find_types(texts) for file in each("types of columns", self._files)]
        types = {name: widest_type(set[Any]().union(*(seen[name] for seen, _ in found))) for name in self.first.names}
        return Dataset.from_batches(
            lambda: self._batches({name: types[name] for name in (*given["features"], asked.target)}),
            asked.target,
            **given,
            **_kinds(asked, types),
            n_rows=sum(n_rows for _, n_rows in found),
        )

    def _batches(self, types: Mapping[str, pl.DataType]) -> Iterator[Any]:
        """Yield the rows of CSV files as Arrow tables."""
        for file in self._files:
            for block in file.blocks(types):
                yield block.asked.to_arrow()


def _model(task: str, wish: Wish) -> Any:
    estimator: type[Estimator] = ALGORITHMS[wish.algorithm, task].load()
    return estimator(**read_parameters(estimator, wish.seed, {}, wish.common, wish.params))


def _models(wish: Wish) -> dict[str, Any]:
    """Return an estimator for each task that the parameters allow; an error if they allow none."""
    from fasttree._scale.estimating import check_fit

    models, errors = {}, []
    for task in ["classification", "regression"] if wish.task == "auto" else [wish.task]:
        try:
            models[task] = _model(task, wish)
            check_fit(models[task], None, None)
        except ValueError as error:
            models.pop(task, None)
            errors.append(error)
    if not models:
        raise next((error for error in errors if "Dataset" in str(error)), errors[0])
    return models


def _kinds(asked: Asked, types: Mapping[str, pl.DataType]) -> dict[str, Any]:
    import polars as pl

    return asked.kinds(pl.DataFrame(schema=dict(types)))


def _choose(data: Dataset, task: str) -> tuple[str, str]:
    """Return the task, and in words the reason and the remedy, as `Asked.choose_task` does for a table."""
    target = data.target
    if task != "auto" or not target.is_numeric:
        return ("classification" if task == "auto" else task), ""
    if target.has_fractions:
        return "regression", " (chosen because it has fractions)"
    if target.numbers is None or len(target.numbers) > FEW:
        count = f"more than {FEW}" if target.numbers is None else f"{len(target.numbers):,}"
        return "regression", f" (chosen because it has {count} distinct numbers; --task classification makes them classes)"
    return "classification", (
        f" (chosen because it has {len(target.numbers)} distinct numbers; --task regression predicts a number)"
    )
