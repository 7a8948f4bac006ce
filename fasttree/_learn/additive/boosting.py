"""The fit of an additive model: bags with validation parts of their own, rounds until the loss of these rises, and the mean.

Rows are first put into an order that follows from what they hold (`binning.canonical_order`).  The draws of a bag are positions
in this order, and follow from the seed and the number of the bag; sums are taken in this order.  So the model depends neither on
the order of the rows nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fasttree._engine.additive import Booster
from fasttree._learn import progress
from fasttree._learn.additive.turns import Turns
from fasttree._model.additive.model import AdditiveModel, Axis, Link, Term, importance_of
from fasttree._model.bags import seed_of_growth, stream
from fasttree._model.threads import in_threads

Floats: TypeAlias = NDArray[np.float64]

LOSSES: dict[Link, int] = {"identity": 0, "logit": 1, "softmax": 2}
ORDERED, UNORDERED, GRID = range(3)
TOLERANCE = 1e-5  # a loss is better if it is smaller by more than this share of the loss without features
CATEGORY_SMOOTHING = 10.0  # added to the curvature of a category when categories are ordered: rare ones come to the middle
LEAST_CURVATURE = 1e-4  # of a leaf, where samples weigh 1 on average: no Newton step divides by nearly nothing
CELLS_AT_ONCE = 2**24  # that rounds read between two checks for interrupts
ROUNDS_AT_ONCE = 32  # of a bag at most, before a thread looks which bag needs it most
OPEN_CELLS = 2**25  # of the bags that several threads have begun, unless each thread has one: their codes take 64 MB


@dataclass(frozen=True)
class Rounds:
    """How the rounds of a bag go; see the parameters of the estimators."""

    learning_rate: float
    max_leaves: int
    min_samples_leaf: int
    penalty: float
    max_rounds: int
    smoothing_rounds: int
    patience: int
    validation: float
    n_bags: int
    seed: int


class Binned(NamedTuple):
    """Rows of positive weight in canonical order: bins, targets, and weights whose mean is 1."""

    codes: NDArray[np.uint16]
    target: Floats
    weight: Floats
    n_scores: int  # 1, or the number of classes
    link: Link


class TermPlan(NamedTuple):
    """The terms of a stage: codes, and an entry for each as `Booster` describes it."""

    codes: NDArray[np.uint16]
    entries: NDArray[np.int64]


class Fitted(NamedTuple):
    """What a bag found: its first scores, the tables of all terms behind one another, and the number of rounds."""

    intercept: Floats
    tables: Floats
    n_rounds: int


def bag_of(rows: Binned, rounds: Rounds, bag: int) -> tuple[NDArray[np.intp], int]:
    """Return positions of rows, those of the fitted part first, and their number; each part keeps the canonical order.

    The validation part has nearly the same share of each class as all rows.
    """
    n_rows = len(rows.target)
    held_out = np.zeros(n_rows, dtype=bool)
    groups = [np.arange(n_rows)]
    if rows.link != "identity":
        groups = [np.flatnonzero(rows.target == k) for k in np.unique(rows.target)]
    numbers = stream(rounds.seed, bag, "bag").random_raw(n_rows)
    for group in groups:
        n_held = int(rounds.validation * len(group) + 0.5)
        if n_held:
            held_out[group[np.argsort(numbers[group], kind="stable")[:n_held]]] = True
    order = np.argsort(held_out, kind="stable")
    return order, n_rows - int(held_out.sum())


def first_scores(rows: Binned, order: NDArray[np.intp], n_fitted: int) -> Floats:
    """Return the scores without a feature, of the fitted part: the mean, or the log odds or logarithms of the classes."""
    target, weight = rows.target[order[:n_fitted]], rows.weight[order[:n_fitted]]
    if rows.link == "identity":
        return np.array([float(np.average(target, weights=weight))])
    share = np.bincount(target.astype(np.intp), weights=weight, minlength=2 if rows.link == "logit" else rows.n_scores)
    share = np.maximum(share / share.sum(), 1e-6)
    if rows.link == "logit":
        return np.array([float(np.log(share[1] / share[0]))])
    return np.asarray(np.log(share))


class BagRounds:
    """The rounds of one bag.

    Parameters
    ----------
    rows : Binned
    plan : TermPlan
    rounds : Rounds
    number : int
        Its number.
    start : ndarray of shape (n_scores, n_rows) or None
        Scores of the rows by an earlier stage.  None: the same for all rows.
    """

    def __init__(self, rows: Binned, plan: TermPlan, rounds: Rounds, number: int, start: Floats | None) -> None:
        order, n_fitted = bag_of(rows, rounds, number)
        if start is None:
            self.intercept = first_scores(rows, order, n_fitted)
            score = np.repeat(self.intercept[:, None], len(order), axis=1)
        else:
            self.intercept, score = np.zeros(rows.n_scores), np.ascontiguousarray(start[:, order])
        self.number, self.most_rounds, self.done, self.patience = number, rounds.max_rounds, 0, rounds.patience
        self.step = max(1, min(ROUNDS_AT_ONCE, CELLS_AT_ONCE // (plan.codes.size * rows.n_scores)))
        seed, smoothing = seed_of_growth(rounds.seed, number), CATEGORY_SMOOTHING
        self.booster = Booster(
            np.ascontiguousarray(plan.codes[:, order]),
            rows.target[order],
            rows.weight[order],
            score,
            plan.entries,
            (LOSSES[rows.link], n_fitted, rounds.max_leaves, rounds.smoothing_rounds, rounds.patience, seed),
            (rounds.learning_rate, float(rounds.min_samples_leaf), LEAST_CURVATURE, rounds.penalty, smoothing, TOLERANCE),
        )

    def advance(self) -> None:
        """Do some rounds."""
        step = min(self.step, self.most_rounds - self.done)
        self.patience = self.booster.run(step)
        self.done += step

    @property
    def is_over(self) -> bool:
        """Whether no more rounds are needed or allowed."""
        return self.patience <= 0 or self.done >= self.most_rounds

    def fitted(self) -> Fitted:
        """Return what the bag found."""
        tables, best_round, _, _ = self.booster.found()
        return Fitted(self.intercept, tables, best_round)


def entries_of(axes: Sequence[Axis], nominal: Sequence[bool], monotone: Sequence[int] | None) -> NDArray[np.int64]:
    """Return the entries of a plan for features."""
    entries = np.zeros((len(axes), 4), dtype=np.int64)
    entries[:, 0] = [UNORDERED if is_nominal else ORDERED for is_nominal in nominal]
    entries[:, 1] = [axis.n_bins for axis in axes]
    if monotone is not None:
        entries[:, 3] = monotone
    return entries


def fit_bags(
    rows: Binned, plan: TermPlan, rounds: Rounds, n_jobs: int, starts: Callable[[int], Floats] | None = None
) -> list[Fitted]:
    """Fit all bags, in threads; `starts` gives the scores that a bag starts from."""
    report = progress.steps("bags" if starts is None else "bags of pairs", rounds.n_bags)
    report(0)
    n_threads, caller = min(n_jobs, rounds.n_bags), get_ident()
    failures: list[BaseException] = []

    def begin(bag: int) -> BagRounds:
        return BagRounds(rows, plan, rounds, bag, None if starts is None else starts(bag))

    turns = Turns(begin, rounds.n_bags, n_threads if n_threads == 1 else max(n_threads, OPEN_CELLS // plan.codes.size))

    def work(_: int) -> None:
        while not failures and (bag := turns.take()) is not None:
            bag.advance()
            turns.give_back(bag)
            if get_ident() == caller:
                report(len(turns.found))

    in_threads(work, n_threads, n_threads, failures=failures)
    report(rounds.n_bags)
    return [turns.found[bag] for bag in range(rounds.n_bags)]


def scores_of(fitted: Fitted, plan: TermPlan) -> Floats:
    """Return the scores of all rows by the tables of a bag, shape (n_scores, n_rows)."""
    score = np.repeat(fitted.intercept[:, None], plan.codes.shape[1], axis=1)
    first = 0
    for codes, n_bins in zip(plan.codes, plan.entries[:, 1].tolist(), strict=True):
        score += fitted.tables[:, first + codes.astype(np.intp)]
        first += n_bins
    return score


def joined(mains: Sequence[Fitted], pairs: Sequence[Fitted]) -> list[Fitted]:
    """Return bags with the tables of both stages behind one another."""
    return [
        Fitted(one.intercept, np.concatenate([one.tables, other.tables], axis=1), one.n_rounds)
        for one, other in zip(mains, pairs, strict=True)
    ]


def mean_model(
    rows: Binned, axes: Sequence[tuple[Axis, ...]], codes: Iterable[NDArray[np.uint16]], bags: Sequence[Fitted], unit: float
) -> AdditiveModel:
    """Return the mean of the bags, each table centred: its mean over the training samples is 0.

    `unit` is the weight of a sample whose weight is 1 in `rows`.
    """
    total = float(rows.weight.sum())
    stacked = np.stack([bag.tables for bag in bags])
    intercept = np.mean([bag.intercept for bag in bags], axis=0)
    terms, first = [], 0
    for cells, column in zip(axes, codes, strict=True):
        shape = tuple(axis.n_bins for axis in cells)
        stop = first + int(np.prod(shape))
        weight = np.asarray(np.bincount(column, weights=rows.weight, minlength=stop - first), dtype=np.float64)
        part = stacked[:, :, first:stop]
        level = (part * weight).sum(axis=2, keepdims=True) / total  # of each bag; it belongs to the intercept
        intercept = intercept + level.mean(axis=0)[:, 0]
        part = part - level
        says_nothing = _says_nothing(cells, weight.reshape(shape))
        scores = np.where(says_nothing, 0.0, part.mean(axis=0).reshape(-1, *shape))
        deviations = np.where(says_nothing, 0.0, np.asarray(part.std(axis=0), dtype=np.float64).reshape(-1, *shape))
        weight = weight.reshape(shape)
        terms.append(Term(cells, scores, deviations, weight * unit, importance_of(scores, weight)))
        first = stop
    return AdditiveModel(rows.link, intercept, tuple(terms), len(bags))


def _says_nothing(cells: tuple[Axis, ...], weight: Floats) -> NDArray[np.bool_]:
    """Return which bins score 0: missing values and categories that no training sample had."""
    empty = np.zeros(weight.shape, dtype=bool)
    for i, axis in enumerate(cells):
        along = weight if weight.ndim == 1 else weight.sum(axis=1 - i)
        nothing = along == 0
        if axis.cuts is not None:
            nothing[1:] = False
        empty |= nothing if weight.ndim == 1 else (nothing[:, None] if i == 0 else nothing[None, :])
    return empty
