"""Progress of long steps, such as those of a fit, and the function that they are reported to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

from fasttree._data.checks import is_integer

__all__ = [
    "ALLOWED_VERBOSE",
    "Bounds",
    "Listener",
    "bounds",
    "each",
    "each_of_many",
    "in_percent",
    "is_verbose",
    "progress",
    "share",
    "silence",
    "steps",
    "verbosely",
]

T = TypeVar("T")

MANY = 1000  # items of a list that are a part
PERCENT = 100
ALLOWED_VERBOSE = "True, False or an integer >= 0"

Listener: TypeAlias = Callable[[str, int, int], object]
Bounds: TypeAlias = Callable[[float, float], object]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_bounds: ContextVar[Bounds | None] = ContextVar("bounds", default=None)
_share: ContextVar[Callable[[float], None] | None] = ContextVar("share", default=None)


@contextmanager
def progress(listener: Listener | None = None, *, bounds: Bounds | None = None) -> Iterator[None]:
    """Show the progress of the long steps in a ``with`` block, or report it to a function.

    Without the block, nothing is shown or reported.  The results are the same with and without it.

    Parameters
    ----------
    listener : callable or None, default=None
        None: draw a bar for each step with tqdm, on a terminal or in a notebook, and nothing in a pipe.  A function is called
        with the name of a step, the number of its parts that are done, and the number of all of them: before the first part and
        after each part, in the thread of the step.  An exception from the function ends the step.  These report:

        - `fit`: ``"growth"``, with a part for each percent of the samples that have reached a leaf, or, for optimal trees, each
          percent of the objective of the best tree that the lower bound has reached; ``"cross-validation"``, with a part for
          each fold; ``"windowing"``, with a part for each trial; ``"rules"`` of `C45Rules`, and ``"trees"`` of a forest, with a
          part for each tree; ``"bags"`` of an additive model, and ``"bags of pairs"``, with a part for each bag.  A fit to a
          `Dataset` reports ``"reading"``, if the number of rows is known, ``"large nodes"`` and
          ``"subtrees"``, with a part for each percent of the rows.
        - `permutation_importances` of a forest: ``"permutation"``, with a part for each tree.
        - `evaluation.compare`: ``"model 1 of 2"`` and so on, with a part for each fold, or with one part if `n_jobs` works on
          several folds at a time.  Its fits do not report steps of their own.
        - `to_rules` of a tree, and `to_text` and `to_markdown` of its rules: ``"finding rules"`` and ``"writing rules"``, with a
          part for each 1,000 rules.  Shorter lists are not reported.
    bounds : callable or None, default=None
        Called with the objective of the best tree and the lower bound of a search for an optimal tree: when one of them has
        changed, and at the end, in the thread of the step.  An exception from the function ends the search.  None: the bars
        show both.

    Returns
    -------
    context manager
        Blocks may be nested; the innermost listener is called.

    Raises
    ------
    ImportError
        If there is no listener, and tqdm is not installed: it comes with the extra `progress`.
    TypeError
        If `listener` or `bounds` is not a function.

    See Also
    --------
    CARTClassifier : The parameter `verbose` of every estimator draws the bars of `fit` without a block, as do the keywords
        `verbose` of `C45Rules.from_tree`, `permutation_importances`, `to_rules` and `evaluation.compare`.

    Notes
    -----
    The block holds for its own thread or task: fits in other threads or processes, such as those of a search with
    ``n_jobs=2``, do not report, unless a thread has the context of the block, as `asyncio.to_thread` gives it, and, in
    free-threaded CPython 3.14, `threading.Thread`.  Functions of scikit-learn, such as its `permutation_importance`, do not
    report.

    Examples
    --------
    >>> import fasttree
    >>> model = fasttree.CARTClassifier(ccp_alpha="cv", random_state=0)
    >>> X, y = [[k] for k in range(40)], ["low"] * 20 + ["high"] * 20
    >>> with fasttree.progress(lambda step, done, total: print(f"{step}: {done} of {total}") if done == total else None):
    ...     model = model.fit(X, y)
    growth: 100 of 100
    cross-validation: 10 of 10
    """
    if listener is not None and not callable(listener):
        raise TypeError(f"listener is a {type(listener).__name__}: must be a function of a step, parts done, and all parts")
    if bounds is not None and not callable(bounds):
        raise TypeError(f"bounds has the type {type(bounds).__name__}: must be a function of an objective and a lower bound")
    with ExitStack() as stack:
        if listener is None:
            listener, beside_bar = _bars(stack)
            bounds = beside_bar if bounds is None else bounds
        stack.callback(_listener.reset, _listener.set(listener))
        stack.callback(_bounds.reset, _bounds.set(bounds))
        yield


def _bars(stack: ExitStack) -> tuple[Listener, Bounds]:
    """Return functions that draw a bar for each step, and bounds beside the last bar; the stack closes bars that are not full."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:
        raise ImportError(
            "progress() and verbose draw bars with tqdm, which is not installed: pip install 'fasttree[progress]', or give "
            "progress() a function"
        ) from None
    hidden = None if "ipykernel" not in sys.modules else False  # None: unless the standard error is a terminal
    bars: dict[str, Any] = {}

    def draw(step: str, done: int, total: int) -> None:
        if done == 0:
            bars[step] = stack.enter_context(tqdm(desc=step, total=total, disable=hidden))
        bars[step].update(done - bars[step].n)
        if done == total:
            bars[step].close()

    def show(objective: float, lower_bound: float) -> None:
        if bars:
            [*bars.values()][-1].set_postfix_str(f"objective {objective:g}, lower bound {lower_bound:g}")

    return draw, show


def is_verbose(value: Any) -> bool:
    """Whether a value is allowed as `verbose`."""
    return isinstance(value, bool) or (is_integer(value) and value >= 0)


def verbosely(verbose: int) -> AbstractContextManager[None]:
    """Return a block that draws bars unless `verbose` is 0.

    Raises
    ------
    ValueError
        If `verbose` is neither a bool nor an integer >= 0.
    ImportError
        If it is not 0, and tqdm is not installed.
    """
    if not is_verbose(verbose):
        raise ValueError(f"verbose={verbose!r}: must be {ALLOWED_VERBOSE}; all but 0 and False show bars")
    return progress() if verbose else nullcontext()


def in_percent(step: str) -> AbstractContextManager[None]:
    """Report the ``with`` block as a step with a part for each percent of what `share` in it is called with."""
    return nullcontext() if _listener.get() is None else _in_percent(step)


@contextmanager
def _in_percent(step: str) -> Iterator[None]:
    report = steps(step, PERCENT)
    report(0)
    token = _share.set(lambda share: report(min(int(share * PERCENT), PERCENT - 1)))
    try:
        yield
    finally:
        _share.reset(token)
    report(PERCENT)


def share() -> Callable[[float], None] | None:
    """Return a function that reports the share done of the step around it; None if nothing is reported."""
    return _share.get()


def bounds() -> Bounds | None:
    """Return the function that bounds are reported to; None if nothing is reported."""
    return _bounds.get()


@contextmanager
def silence() -> Iterator[None]:
    """Report no steps in a ``with`` block, because it is itself a part of a step."""
    token = _listener.set(None)
    of_step = _share.set(None)
    of_search = _bounds.set(None)
    try:
        yield
    finally:
        _bounds.reset(of_search)
        _share.reset(of_step)
        _listener.reset(token)


def each(step: str, parts: Sequence[T]) -> Iterator[T]:
    """Yield the parts of a step, and report how many are done."""
    listener = _listener.get()
    if listener is None:
        yield from parts
        return
    listener(step, 0, len(parts))
    for done, part in enumerate(parts, 1):
        yield part
        listener(step, done, len(parts))


def steps(step: str, n_parts: int) -> Callable[[int], None]:
    """Return a function of the number of parts done, which reports every part; its first call is with 0."""
    listener = _listener.get()
    last = -1

    def report(done: int) -> None:
        nonlocal last
        while listener is not None and last < done:
            last += 1
            listener(step, last, n_parts)

    return report


def each_of_many(step: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items of a list; if it is long, report a step whose parts are the thousands of items."""
    if len(items) <= MANY:
        yield from items
        return
    for start in each(step, range(0, len(items), MANY)):
        yield from items[start : start + MANY]
