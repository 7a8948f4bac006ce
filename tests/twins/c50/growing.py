"""Growing a tree: the candidates of each attribute, and the choice among them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .problem import NULL, UNKNOWN, Costs, Node, Options, Rows, Table, Test

LEAST_GAIN = 0.0001
NEARLY_ALL = 0.999
MANY_VALUES = 0.3  # of the cases: an attribute with so many values takes no part
LARGEST_SIDE = 25.0
SIDE_SLACK = 1e-5
LN2 = math.log(2)

single = np.float32


def lg(x: float) -> float:
    return math.log(x) / LN2 if x > 0 else 0.0


WHOLE = np.array([n * lg(n) for n in range(1 << 17)])
"""n lg n of whole numbers, from the C library's logarithm; NumPy's may round otherwise."""


def xlgx(x: NDArray[Any]) -> NDArray[np.float64]:
    """Return x lg x elementwise, 0 for x <= 0."""
    whole = x.astype(np.intp)
    if (whole == x).all() and whole.max(initial=0) < len(WHOLE):
        return WHOLE[np.maximum(whole, 0)]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(x > 0, x * (np.log(x) / LN2), 0.0)


def information(weights: NDArray[Any]) -> Any:
    """Return I(v) = S lg S - sum of v lg v along the last axis, in bits x cases."""
    part = total = np.zeros(weights.shape[:-1])
    terms = xlgx(weights)
    for k in range(weights.shape[-1]):
        part = part + terms[..., k]
        total = total + weights[..., k]
    return xlgx(np.asarray(total)) - part


@dataclass(frozen=True)
class Candidate:
    """The split with which an attribute competes."""

    test: Test
    gain: np.float32
    info: np.float32
    n_branches: int


@dataclass
class Growth:
    """What all nodes share.  `weight` holds the weights of all cases at the node in work."""

    table: Table
    options: Options
    weight: NDArray[np.float32]
    minimum: float
    leaf_ratio: float = math.inf  # leaves per case, in the later trials of boosting
    has_minimum_gain: bool = True  # not while winnowing
    compresses_leaves: bool = True  # not in later trials and for rules
    n_all: int = 0  # cases of the training set
    costs: Costs | None = None

    @classmethod
    def of(cls, table: Table, options: Options, weight: NDArray[Any] | None = None, **settings: Any) -> Growth:
        weight = np.ones(len(table), np.float32) if weight is None else weight.astype(np.float32)
        return cls(table, options, weight, options.minimum, n_all=len(table), **settings)

    def cases(self, rows: Rows) -> float:
        return float(self.weight[rows].astype(np.float64).sum())

    def by_class(self, rows: Rows) -> NDArray[np.float64]:
        return np.bincount(self.table.classes[rows], self.weight[rows], self.table.n_classes)

    def by_value(self, rows: Rows, attribute: int) -> NDArray[np.float64]:
        """Return the case weights per value (0 = missing) and class."""
        n_values, k = self.table.n_values[attribute] + 1, self.table.n_classes
        cells = self.table.columns[attribute][rows] * k + self.table.classes[rows]
        return np.bincount(cells, self.weight[rows], n_values * k).reshape(n_values, k)

    def has_many_values(self, attribute: int) -> bool:
        return self.table.n_values[attribute] >= MANY_VALUES * self.n_all


def grow(growth: Growth, rows: Rows, tested: frozenset[int] = frozenset(), keep: Test | None = None) -> Node:
    """Grow a tree on the cases `rows`.

    `tested` has the discrete attributes that a branch-per-value test above has used up.  `keep` is a test that the root keeps.
    """
    cases, frequencies = growth.cases(rows), growth.by_class(rows)
    label = int(frequencies.argmax())
    leaf = Node(label, cases, frequencies, float(single(cases - frequencies[label])))
    test = keep
    if test is None:
        if frequencies[label] >= NEARLY_ALL * cases or cases < 2 * growth.minimum:
            return leaf
        limit = leaf_limit(growth, cases)
        if limit < 2:
            return leaf
        candidates = [candidate_of(growth, rows, cases, tested, a, limit) for a in range(len(growth.table.n_values))]
        best = choose(growth, [c for c in candidates if c is not None], cases)
        if best is None:
            return leaf
        test = best.test
    node = Node(label, cases, frequencies, 0.0, test)
    below = tested | {test.attribute}
    for child_rows in divide(growth, node.test, rows, drops_light=True):
        child = grow(growth, child_rows, below) if child_rows is not None else null_leaf(node)
        node.children.append(child)
    node.errors = float(single(sum(child.errors for child in node.children)))
    return leaf if keep is None and node.errors >= NEARLY_ALL * leaf.errors else node


def leaf_limit(growth: Growth, cases: float) -> float:
    return math.inf if math.isinf(growth.leaf_ratio) else int(growth.leaf_ratio * cases + 0.5)


def null_leaf(node: Node) -> Node:
    return Node(node.label, 0.0, np.zeros_like(node.weights), 0.0)


def divide(growth: Growth, test: Test, rows: Rows, drops_light: bool = False) -> Any:
    """Yield the cases of each branch, or None for a null leaf, while `growth.weight` has their weights in it."""
    branch = test.branches(growth.table)[rows]
    unknown = rows[branch == UNKNOWN]
    known = growth.cases(rows) - growth.cases(unknown)
    n = test.n_branches(growth.table)
    before = growth.weight[unknown].copy()
    few = (
        drops_light
        and len(unknown)
        and growth.cases(rows) > 1000
        and growth.cases(unknown) > 0.5 * growth.cases(rows)
        and n >= 10
    )
    for b in range(n):
        here = rows[branch == b]
        weight = growth.cases(here)
        if not len(here):
            yield None
            continue
        factor = single(single(weight) / single(known)) if known > 0 else single(0)
        growth.weight[unknown] = (before.astype(np.float64) * factor).astype(np.float32)
        kept = unknown[growth.weight[unknown] >= 0.1] if few else unknown
        both = np.concatenate([kept, here])
        is_null = growth.cases(both) < NULL
        yield None if is_null else both
        if growth.options.drifts and not is_null:
            before = (growth.weight[unknown] / np.float64(factor)).astype(np.float32)
        growth.weight[unknown] = before


# The choice of a test


def choose(growth: Growth, candidates: list[Candidate], cases: float) -> Candidate | None:
    everyone = growth.options.subset or all(map(growth.has_many_values, range(len(growth.table.n_values))))
    possible = [c for c in candidates if c.gain >= LEAST_GAIN and (everyone or not growth.has_many_values(c.test.attribute))]
    if not possible:
        return None
    least = 0.0
    if growth.has_minimum_gain:
        q = growth.n_all // growth.table.n_classes
        f = min(max((q - 500) / 500, 0.0), 1.0)
        average = sum(float(c.gain) for c in possible) / len(possible)
        least = (1 - f) * average + 0.9 * f * lg(len(possible)) / cases
    best, best_ratio = None, 0.0
    for c in possible:
        if c.gain < NEARLY_ALL * least or c.info <= 0:
            continue
        ratio = float(single(c.gain / c.info))
        if (
            best is None
            or ratio > best_ratio
            or (
                ratio > NEARLY_ALL * best_ratio
                and (c.n_branches < best.n_branches or (c.n_branches == best.n_branches and c.gain > best.gain))
            )
        ):
            best, best_ratio = c, ratio
    return best


def candidate_of(
    growth: Growth, rows: Rows, cases: float, tested: frozenset[int], attribute: int, limit: float
) -> Candidate | None:
    n_values = growth.table.n_values[attribute]
    if n_values == 0:
        return threshold_candidate(growth, rows, cases, attribute)
    if growth.options.subset and n_values > 3:
        from .subsets import subset_candidate

        return subset_candidate(growth, rows, cases, attribute, limit)
    return None if attribute in tested else values_candidate(growth, rows, cases, attribute, limit)


def gain_of(table: NDArray[Any], cases: float) -> float:
    """Return the gain of a branch for each row of `table` after the first, which has the missing values."""
    unknown = float(table[0].sum())
    known = cases - unknown
    base = information(table[1:].sum(axis=0)) / known
    return max(0.0, float((1 - unknown / cases) * (base - information(table[1:]).sum() / known)))


def values_candidate(growth: Growth, rows: Rows, cases: float, attribute: int, limit: float) -> Candidate | None:
    table = growth.by_value(rows, attribute)
    sizes = table.sum(axis=1)
    if (sizes[1:] >= growth.minimum).sum() < 2 or (sizes[1:] > 0.5).sum() > limit + 1:
        return None
    n_values = growth.table.n_values[attribute]
    return Candidate(
        Test("values", attribute), single(gain_of(table, cases)), single(information(sizes) / cases), max(n_values, 3)
    )


def threshold_candidate(growth: Growth, rows: Rows, cases: float, attribute: int) -> Candidate | None:
    table = growth.table
    values = table.columns[attribute][rows]
    missing, inapplicable = np.isnan(values), values == -np.inf
    without = growth.by_class(rows[inapplicable])
    here = rows[np.isfinite(values)]
    unknown = growth.cases(rows[missing])
    known = cases - unknown
    applicable = known - without.sum()
    if applicable < 2 * growth.minimum or len(here) < 2:
        return None
    order = np.argsort(table.columns[attribute][here], kind="stable")
    here = here[order]
    values = table.columns[attribute][here]
    side = max(min(0.1 * known / table.n_classes, LARGEST_SIDE), growth.minimum)
    weight = growth.weight[here].astype(np.float64)
    low = np.cumsum(weight)[:-1]
    steps = np.zeros((len(here), table.n_classes))
    steps[np.arange(len(here)), table.classes[here]] = weight
    left = np.cumsum(steps, axis=0)
    total = left[-1]
    cuts = np.flatnonzero((values[:-1] < values[1:]) & (low >= side - SIDE_SLACK) & (applicable - low >= side))
    if not len(cuts):
        return None
    infos = information(left[cuts]) + information(total - left[cuts])
    at = int(infos.argmin())
    i = int(cuts[at])
    base = information(total + without) / known
    gain = (1 - unknown / cases) * (base - (information(without) + infos[at]) / known)
    interval = (values[-1] - values[0]) / (values[i + 1] - values[i])
    gain = single(gain - lg(min(interval, len(cuts))) / cases)
    if gain <= 0:
        return None
    parts = np.array([unknown, without.sum(), low[i], applicable - low[i]])
    info = single(information(parts) / cases)
    cut = (values[i] + values[i + 1]) / 2
    return Candidate(Test("threshold", attribute, float(values[i] if cut >= values[i + 1] else cut)), gain, info, 3)
