"""Fail requests for memory of Python's own objects, one after the other, in each operation of `out_of_memory.py`.

    python tests/helpers/out_of_objects.py [--most 200] [--only BEGINNING]

`most` requests of each operation, spread over all that it makes, fail in two ways: one alone, and 10,000 from it on.  That is
until the operation has ended, but for one that CPython 3.11 would never end: where there is no memory for the number of the
instruction that raised, in a function of some length, it tries again and again.  The operation must raise MemoryError, or give
what it gives with memory; a model keeps its attributes; and the operation works afterwards.  It runs in a process of its own, so
that a crash is seen and the rest goes on.  CPython's own `_testcapi` is
needed, which some distributions leave out.

Functions of NumPy and of CPython fail here, too.  Where one of theirs fails without setting an exception, CPython makes it a
SystemError; these are counted by themselves.
"""

import _testcapi
import argparse
import faulthandler
import os
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import out_of_memory

MANY = 10_000  # requests that fail together
BLOCK = 50  # operations between two looks at the result with memory


def ended(operation: Callable[[], Any], first: int, last: int) -> tuple[Any, BaseException | None]:
    """What an operation gives or raises while the requests from `first` to before `last` fail."""
    try:
        _testcapi.set_nomemory(first, last)
        value = operation()
    except BaseException as error:
        _testcapi.remove_mem_hooks()
        return None, error
    _testcapi.remove_mem_hooks()
    return value, None


def requests_of(operation: Callable[[], Any]) -> int:
    """About how many requests an operation makes: a power of two times 1.5 at most too many."""
    n = 64
    while ended(operation, n, n + MANY)[1] is not None:
        n = n * 3 // 2
    return n


def model_of(operation: Any) -> Any:
    """The model that an operation fits, if it fits one."""
    return getattr(getattr(operation, "func", None), "__self__", None)


def lost_elsewhere(error: BaseException) -> bool:
    """Whether code of NumPy or CPython failed and set no exception, or succeeded and set one; the engine has cyfunctions."""
    lost = "without" in str(error) or "with an exception set" in str(error)
    return isinstance(error, SystemError) and lost and "cyfunction" not in str(error)


def crashed(trace: Any) -> str:
    """Where a process was when it ended, from the notes of `faulthandler`, and whose code that is."""
    trace.seek(0)
    places = [line.strip() for line in trace.read().decode().splitlines() if line.strip().startswith("File ")]
    trace.truncate(0)
    ours = not places or f"{os.sep}fasttree{os.sep}" in places[0].split('"')[1]
    return f"{'wrong' if ours else 'elsewhere'} the process ended in {places[0] if places else 'an unknown place'}"


def tries(operation: Callable[[], Any], numbers: list[tuple[int, int]], expected: Any) -> Iterator[str]:
    """Say before each try which it is, and then how it ended."""
    for turn, (first, last) in enumerate(numbers):
        yield f"try {turn}"
        model = model_of(operation)
        before = dict(vars(model)) if model is not None else {}
        value, error = ended(operation, first, last)
        alone = "alone" if last == first + 1 else "and those that follow"
        if error is None:
            if out_of_memory.result_of(value) != expected:
                yield f"wrong request {first} {alone}: another result"
            yield "same"
        elif isinstance(error, MemoryError):
            yield "MemoryError"
        else:
            place = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__}: {str(error)[:100]}".replace("\n", " ")
            whose = "elsewhere" if lost_elsewhere(error) else "wrong"
            yield f"{whose} {said} in {place.name}, {Path(place.filename).name}:{place.lineno} (request {first} {alone})"
        del value
        if error is not None and model is not None:
            now = vars(model)
            if now.keys() != before.keys() or any(now[key] is not before[key] for key in before):
                yield f"wrong the model has other attributes (request {first} {alone})"
                now.clear()
                now.update(before)
        error = None
        if turn % BLOCK == 0 and out_of_memory.result_of(operation()) != expected:
            yield f"wrong afterwards, request {first} {alone}: another result"
    if out_of_memory.result_of(operation()) != expected:
        yield "wrong afterwards: another result"


def in_a_process(operation: Callable[[], Any], numbers: list[tuple[int, int]], expected: Any) -> Counter[str]:
    """How often tries of an operation ended how; a try that ends the process is counted, and another process goes on."""
    found: Counter[str] = Counter()
    done = 0
    trace = tempfile.TemporaryFile()  # noqa: SIM115  # of every child
    while done < len(numbers):
        reads, writes = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reads)
            with os.fdopen(writes, "w", buffering=1) as stream:
                faulthandler.enable(trace)
                for line in tries(operation, numbers[done:], expected):
                    print(line, file=stream)
                stream.flush()
            os._exit(0)
        os.close(writes)
        begun = 0
        with os.fdopen(reads) as stream:
            for line in stream:
                if line.startswith("try "):
                    begun = int(line.split()[1]) + 1
                else:
                    found[line.strip()] += 1
        _, status = os.waitpid(child, 0)
        if status == 0:
            break
        first, last = numbers[done + begun - 1]
        alone = "alone" if last == first + 1 else "and those that follow"
        found[f"{crashed(trace)} by {status} (request {first} {alone})"] += 1
        done += begun
    trace.close()
    return found


def main() -> int:
    """Run all operations; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    total: Counter[str] = Counter()
    sys.unraisablehook = lambda _: None  # what weak references and destructors meet has nobody to go to
    with tempfile.TemporaryDirectory() as folder:
        operations = [*out_of_memory.fits(), *out_of_memory.uses(Path(folder))]
        for name, operation in operations:
            if not name.startswith(given.only):
                continue
            operation()
            expected = out_of_memory.result_of(operation())
            n = requests_of(operation)
            each = sorted({n * k // given.most for k in range(given.most)})
            found = in_a_process(operation, [(first, last) for first in each for last in (first + 1, first + MANY)], expected)
            tried = sum(times for line, times in found.items() if not line.startswith("try"))
            bad = {line: times for line, times in found.items() if line.startswith(("wrong", "elsewhere"))}
            total.update(tried=tried, raised=found["MemoryError"])
            total.update(line.split()[0] for line, times in bad.items() for _ in range(times))
            print(f"{name}: {tried} tries among {n} requests, {found['MemoryError']} MemoryErrors, {found['same']} the same")
            for line, times in bad.items():
                print(f"    {times} times {line}")
            sys.stdout.flush()
    print(f"{total['tried']} tries, {total['raised']} MemoryErrors, {total['elsewhere']} lost by NumPy, {total['wrong']} wrong")
    return total["wrong"] > 0


if __name__ == "__main__":
    sys.exit(main())
