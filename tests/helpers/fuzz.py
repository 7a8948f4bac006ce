"""Try what no one would write: mutated documents, images of predictors, tables, files of C4.5, ARFF and Parquet, and parameters.

    python tests/helpers/fuzz.py --seconds 60 --seed 1 --corpus folder

Each input must be read and used, or be refused by an error that the interface promises, within seconds.  An input whose outcome
is new (another error, another shape of what was read) joins the corpus and is mutated further.  What fails is kept in the folder
as `failed-...`; the program prints figures for each kind of input, and ends with 1 if anything failed.
"""

import argparse
import contextlib
import hashlib
import re
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import bad_files
import fuzz_parquet
import numpy as np
from click.testing import CliRunner

import fasttree
from fasttree import formats
from fasttree._cli.commands import fasttree as command_line
from fasttree._learn import parameters
from fasttree.estimators.common.registry import ESTIMATORS

SECONDS_EACH = 10
NO_PREDICTOR = ("c45rules", "models in leaves", "models of two targets")
_FIGURES = re.compile(r"""[0-9]+|"[^"]*"|'[^']*'""")  # of an input, in the words of an error
WORDS = [
    b"?",
    b",",
    b"\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b"'",
    b":",
    b"|",
    b".",
    b"-1",
    b"1e999",
    b"nan",
    b"\x00",
    b"\xff",
    b"\xe2\x82",
]
WORDS += [
    b"18446744073709551616",
    b"0.1",
    b"null",
    b"true",
    b"%",
    b"@data",
    b"@attribute",
    b"continuous",
    b"ignore",
    b"discrete 3",
]
ODD = [
    None,
    True,
    -1,
    0,
    1,
    2,
    10**30,
    0.5,
    1.5,
    -0.5,
    float("nan"),
    float("inf"),
    "",
    "auto",
    "x",
    b"x",
    (),
    [0],
    {0: 1},
    object,
]
NAMES = b"a, b.\n\nx: continuous.\ncolour: red, green, blue.\nnote: ignore.\nsize: discrete 4.\n"
DATA = b"1.5, red, n, s, a\n2, green, m, t, b\n?, blue, k, s, a\n7e1, ?, k, u, b.\n"
ARFF = b"@relation r\n@attribute x numeric\n@attribute 'c d' {red, 'a b', \"q\"}\n@attribute y {n, p}\n"
ARFF += b"@data\n1, red, n\n?, 'a b', p\n{0 3, 2 p}\n"
CSV = b'age,pay,size,city,room\n1.5,2,small,Bonn,1\n,,large,"K\xc3\xb6ln",2\n30,-1e3,"me""dium",,\n'
OPEN_QUOTE = CSV + b'2,3,"small,Bonn,1\n'  # a quote that is not closed made Polars panic


class TooLong(Exception):
    """An input took longer than the limit."""


def mutated(data: bytes, random: Random) -> bytes:
    """Change some bytes, words or pieces of a text or an image."""
    changed = bytearray(data)
    for _ in range(1 + int(random.expovariate(0.7))):
        at = random.randrange(len(changed) + 1)
        to = min(len(changed), at + int(random.expovariate(0.1)))
        match random.randrange(6):
            case 0 if changed:
                changed[at % len(changed)] ^= 1 << random.randrange(8)
            case 1:
                changed[at:at] = random.choice(WORDS)
            case 2:
                del changed[at:to]
            case 3:
                changed[at:at] = changed[at:to] * random.choice([1, 2, 50])
            case 4:
                changed[at:to] = random.choice(WORDS)
            case _:
                other = random.randrange(len(changed) + 1)
                changed[at:to] = changed[other : other + to - at]
    return bytes(changed[:100_000])


class Kind:
    """A kind of input: examples, what reads them, and the errors that refuse them."""

    mutated = staticmethod(mutated)

    def __init__(self, examples: list[bytes], read: Callable[[bytes], Any], refuses: tuple[type[Exception], ...]) -> None:
        self.corpus, self.read, self.refuses = list(examples), read, refuses
        self.good = list(examples)  # what was read: most inputs are mutated from these, because few mutations mend an input
        self.known: set[str] = set()
        self.tried = self.refused = self.failed = 0

    def seconds(self) -> float:
        """Processor time so far, from any moment on."""
        return time.process_time()

    def close(self) -> None:
        """End what the kind started."""


class Parquet(Kind):
    """Files of Parquet, which a process of its own reads."""

    mutated = staticmethod(fuzz_parquet.mutated)

    def __init__(self, reader: str, folder: Path) -> None:
        self.apart = fuzz_parquet.Apart(reader, folder)
        super().__init__(fuzz_parquet.examples(), self.apart, (ValueError,))

    def seconds(self) -> float:
        """Processor time so far, of that process, too."""
        return time.process_time() + self.apart.seconds()

    def close(self) -> None:
        """End the process."""
        self.apart.close()


def kinds(folder: Path) -> Iterator[tuple[str, Kind]]:
    """All kinds of inputs."""
    models = bad_files.models()
    X = bad_files.table()[0]

    def document(data: bytes) -> Any:
        model = fasttree.from_json(data)
        with contextlib.suppress(ValueError, TypeError):  # a sound document may describe a model of other columns
            model.predict(X)
        return type(model).__name__

    yield "documents", Kind([model.to_json().encode() for model in models.values()], document, (ValueError,))

    def image(data: bytes) -> Any:
        image = bytearray(data)
        if len(image) > 16:
            struct.pack_into("<I", image, 12, zlib.crc32(image[16:]))  # as somebody does who knows the format
        predictor = fasttree.Predictor(bytes(image))
        with contextlib.suppress(ValueError, TypeError):
            predictor.predict(X)
        return predictor.task

    images = [
        model.to_predictor().to_bytes()
        for name, model in models.items()
        if hasattr(model, "to_predictor") and name not in NO_PREDICTOR
    ]
    yield "images of predictors", Kind(images, image, (ValueError,))

    def c45(data: bytes) -> Any:
        names, _, cases = data.partition(b"=====\n")
        (folder / "t.names").write_bytes(names)
        (folder / "t.data").write_bytes(cases)
        return formats.read_c45(folder / "t")[0].shape[1]

    yield "files of C4.5", Kind([NAMES + b"=====\n" + DATA], c45, (ValueError,))

    def arff(data: bytes) -> Any:
        (folder / "t.arff").write_bytes(data)
        return formats.read_arff(folder / "t.arff")[0].shape[1]

    yield "files of ARFF", Kind([ARFF], arff, (ValueError,))
    models["cart"].save(folder / "model.json")

    def csv(data: bytes) -> Any:
        (folder / "t.csv").write_bytes(data)
        ended = CliRunner().invoke(command_line, ["predict", str(folder / "model.json"), str(folder / "t.csv")])
        if ended.exception is not None and not isinstance(ended.exception, SystemExit):
            raise RuntimeError("the command ended with a traceback") from ended.exception
        if ended.exit_code:
            raise ValueError(ended.output)
        return ended.output.count("\n")

    yield "tables (CSV)", Kind([CSV, OPEN_QUOTE], csv, (ValueError,))
    for reader in fuzz_parquet.READERS:
        yield f"Parquet, by {reader}", Parquet(reader, folder)

    def parameter(data: bytes) -> Any:
        random = Random(data)
        entry = random.choice(ESTIMATORS)
        kind = entry.load()
        chosen = random.sample(sorted(parameters.rules_of(kind)), random.choice([1, 1, 2, 3]))
        given = {name: random.choice(ODD) for name in chosen} | ({"n_estimators": 2} if entry.makes_forest else {})
        rows = np.random.default_rng(0).integers(0, 3, (12, 2)).astype(random.choice([float, object]))
        y = rows[:, 0].astype(float) if entry.name.endswith("Regressor") else (rows[:, 0] > 1).astype(int)
        model = kind(**given).fit(rows, y)
        model.predict(rows)
        return fasttree.from_json(model.to_json()).to_json() == model.to_json() or str(given)

    yield "parameters", Kind([b"parameters"], parameter, (ValueError, TypeError))


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TooLong where the block takes longer, in processor time, or thirty times that on the clock."""

    def stop(*_: Any) -> None:
        raise TooLong(f"more than {seconds} s")

    clocks = {signal.ITIMER_PROF: (signal.SIGPROF, seconds), signal.ITIMER_REAL: (signal.SIGALRM, 30 * seconds)}
    before = {number: signal.signal(number, stop) for number, _ in clocks.values()}
    for clock, (_, limit) in clocks.items():
        signal.setitimer(clock, limit)
    try:
        yield
    finally:
        for clock in clocks:
            signal.setitimer(clock, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def outcome_of(kind: Kind, data: bytes) -> tuple[str, bool]:
    """What became of an input, in words without its own figures, and whether that is allowed."""
    try:
        with limited(SECONDS_EACH):
            found = f"read {kind.read(data)}"
    except kind.refuses as error:
        kind.refused += 1
        found = f"{type(error).__name__} {_FIGURES.sub('', str(error))[:60]}"
    except KeyboardInterrupt:
        raise
    except BaseException:  # such as a panic of a library in Rust, which is no Exception
        return traceback.format_exc(), False
    return found, True


def label_of(name: str) -> str:
    """The word that begins the names of a kind's inputs in the corpus; both readers of Parquet have the same."""
    return name.replace(",", "").split()[0]


def run(name: str, kind: Kind, seconds: float, random: Random, corpus: Path | None) -> None:
    """Try inputs of a kind for some seconds of processor time."""
    end = kind.seconds() + seconds
    todo = list(kind.corpus)
    while kind.seconds() < end:
        data = todo.pop() if todo else kind.mutated(random.choice(kind.corpus if random.random() < 0.2 else kind.good), random)
        outcome, allowed = outcome_of(kind, data)
        kind.tried += 1
        kind.failed += not allowed
        if outcome in kind.known:
            continue
        kind.known.add(outcome)
        (kind.good if outcome.startswith("read ") else kind.corpus).append(data)
        if not allowed:
            print(f"{name}: {outcome}\n    {data[:300]!r}", flush=True)
        if corpus is not None:
            label = f"{'' if allowed else 'failed-'}{label_of(name)}-{hashlib.sha256(data).hexdigest()[:12]}"
            (corpus / label).write_bytes(data)
    kind.close()


def main() -> int:
    """Run all kinds and print their figures; 1 if anything failed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=60, help="of processor time, in all")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--corpus", type=Path, help="folder with inputs of earlier runs, which grows")
    options.add_argument("--only", default="", help="words in the name of a kind of input")
    given = options.parse_args()
    if given.corpus:
        given.corpus.mkdir(exist_ok=True, parents=True)
    warnings.simplefilter("ignore")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        every = {name: kind for name, kind in kinds(Path(folder)) if given.only in name}
        for number, (name, kind) in enumerate(every.items()):
            if given.corpus:
                kind.corpus += [path.read_bytes() for path in sorted(given.corpus.glob(f"{label_of(name)}-*"))]
            run(name, kind, given.seconds / len(every), Random(f"{given.seed} {number}"), given.corpus)
            failed += kind.failed
            print(
                f"{name}: {kind.tried:,} tried, {kind.refused:,} refused, {len(kind.known):,} outcomes, {kind.failed} failed",
                flush=True,
            )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
