"""Explanation of one prediction: the path of the sample, what decided each test, and what the other branches would predict.

The sample follows the rules of the compiled walks, one node at a time.  This file knows trees and schemas, but no estimators.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.encode import encode_table
from fasttree._data.schema import Kind, Schema, is_missing
from fasttree._data.table import Table
from fasttree._explain.explanation import Branch, Change, End, Explanation, Step
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, SHARES, STOP, THRESHOLD
from fasttree._model.conditions import Condition, left_part
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.paths import conditions_of, missing_shares
from fasttree._model.tested import merge_texts, split_text
from fasttree._model.tree import Tree
from fasttree._model.walks import predict_class, predict_value
from fasttree._model.words import EXACT_DIGITS, Classes, Words, by_target, mean_text, percent, round_text, word

__all__ = ["cells_of", "encoded_row", "explain", "row_at", "shares_text"]

MOST_CLASSES = 5  # probabilities in the text, the largest
MOST_CHANGES = 2  # features to change in search of another prediction


def explain(
    tree: Tree,
    schema: Schema,
    classes: Classes,
    x: Any,
    *,
    shown: tuple[Schema, Classes, Sequence[str]] | None = None,
    max_categories: int = 12,
    decimals: int = 2,
    unseen: str = "as_missing",
    refuses_missing: Callable[[], bool] = bool,
    estimator_name: str = "this tree",
) -> Explanation:
    """Explain the prediction of a tree for one sample.

    Parameters
    ----------
    tree : Tree
    schema : Schema
    classes : array, list of arrays, or None
        Class labels; a list if there are several targets; None for regression.
    x : mapping, 1-D sequence, or table of one row
        The sample, with values by name or in the order of the columns.  None and NaN are missing values.
    shown : tuple of (Schema, Classes, list of str), optional
        Schema, classes and names of targets to show in words; by default those of the tree.
    max_categories : int, default 12
        Maximum number of categories to list in one condition; the rest are counted.
    decimals : int, default 2
        Number of decimals of weights and means.
    unseen : {"as_missing", "error"}
        Treatment of a category that the fit did not see.
    refuses_missing : function, default bool
        Says whether a missing value is an error, as it is in `predict`.  It is called if a value is missing.
    estimator_name : str
        Name for messages.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError, TypeError
        If `x` is not one sample with the features of the tree, or a parameter is out of range.
    """
    shown_schema, shown_classes, _ = shown or (schema, classes, ())
    words = Words(tree, shown_schema, shown_classes, max_categories=max_categories, decimals=decimals)
    cells = cells_of(x, schema, estimator_name)
    table = encoded_row(cells, schema, unseen, estimator_name, refuses_missing=refuses_missing)
    return _Follower(tree, (schema, shown_schema), classes, words, cells, table).explanation()


# --- the sample


def encoded_row(
    cells: list[Any], schema: Schema, unseen: str, estimator_name: str, *, refuses_missing: Callable[[], bool] = bool
) -> Table:
    """Return a table of one sample, given by its values in the order of the columns."""
    lacking = [feature.name for feature, cell in zip(schema.features, cells, strict=True) if is_missing(cell)]
    if lacking and refuses_missing():
        raise ValueError(f"{lacking[0]!r} is missing, and this {estimator_name} refuses missing values: give a value")
    row = np.empty((1, len(cells)), dtype=object)
    row[0] = cells
    return encode_table(row, dataclasses.replace(schema, has_names=False), unseen=unseen, estimator_name=estimator_name)


def row_at(at: Any, schema: Schema, unseen: str, estimator_name: str) -> NDArray[np.float64]:
    """Return the values and codes of a sample, shape (n_features,); all are missing where `at` is None."""
    if at is None:
        return np.full(len(schema.features), np.nan)
    table = encoded_row(cells_of(at, schema, estimator_name), schema, unseen, estimator_name)
    row: NDArray[np.float64] = table.block(0, 1)[0].astype(np.float64)
    return row


def shares_text(labels: Sequence[str], shares: NDArray[np.float64]) -> str:
    """Write the largest of the probabilities of some classes."""
    order = [i for i in np.argsort(-shares, kind="stable").tolist() if shares[i] > 0]
    more = f", … {len(order) - MOST_CLASSES} more" if len(order) > MOST_CLASSES else ""
    return ", ".join(f"{labels[i]}: {percent(float(shares[i]))}" for i in order[:MOST_CLASSES]) + more


def cells_of(x: Any, schema: Schema, estimator_name: str) -> list[Any]:
    """Return the values of the sample in the order of the columns."""
    names = [feature.name for feature in schema.features]
    by_name = _by_name(x, schema.has_names)
    if by_name is not None:
        lacking = [name for name in names if name not in by_name]
        strange = list(map(str, by_name.keys() - set(names)))
        if lacking or strange:
            wrong = [f"lacks {', '.join(lacking[:5])}"] * bool(lacking)
            wrong += [f"also has {', '.join(sorted(strange)[:5])}"] * bool(strange)
            raise ValueError(
                f"x {' and '.join(wrong)}: it must have the features of the fit, {', '.join(names[:20])}; None where missing"
            )
        return [by_name[name] for name in names]
    if isinstance(x, (str, bytes)) or not (isinstance(x, Sequence) or hasattr(x, "__array__")):
        raise TypeError(
            f"x is a {type(x).__name__}: must be a mapping of names to values, a table of one row, or a list of values"
        )
    cells: list[Any] = list(x) if isinstance(x, Sequence) else np.atleast_1d(np.asarray(x)).tolist()
    if len(cells) == 1 and isinstance(cells[0], (list, tuple, np.ndarray)):  # a table of one row
        cells = list(cells[0])
    if any(isinstance(cell, (list, tuple, np.ndarray)) for cell in cells):
        raise ValueError(f"x has {len(cells)} rows: explain takes one sample at a time")
    if len(cells) != len(names):
        raise ValueError(f"x has {len(cells)} values: {estimator_name} was fitted to {len(names)} features")
    return cells


def _by_name(x: Any, has_names: bool) -> Mapping[Any, Any] | None:
    """Return the values of the sample by name, or None if it has no names."""
    if isinstance(x, Mapping):
        return x
    if hasattr(x, "to_dict") and hasattr(x, "index") and getattr(x, "ndim", 0) == 1:  # a row of a pandas frame
        row: dict[Any, Any] = x.to_dict()
        return row if has_names else None
    if isinstance(x, (Sequence, np.ndarray)):
        return None
    from fasttree._data.frames import open_frame  # not above: it imports narwhals

    frame = open_frame(x)
    if frame is None:
        return None
    if len(frame) != 1:
        raise ValueError(f"x has {len(frame)} rows: explain takes one sample at a time")
    return dict(zip(frame.columns, frame.rows()[0], strict=True)) if has_names else None


# --- the way down


@dataclass(frozen=True)
class _Decision:
    """Where a test sends a sample, and why."""

    reason: str
    state: str
    parts: dict[int, float]  # by branch; empty if the sample stops
    surrogate: int | None = None


class _Follower:
    """The walk of one sample down a tree."""

    def __init__(
        self, tree: Tree, schemas: tuple[Schema, Schema], classes: Classes, words: Words, cells: list[Any], table: Table
    ) -> None:
        self.tree = tree
        self.schema, self.shown = schemas  # of the fit; in words
        self.words = words
        self.table = table
        self.labels = [labels.tolist() for labels in by_target(classes)]
        self.cells = [None if is_missing(cell) else cell for cell in cells]
        self.row: NDArray[np.float64] = table.block(0, 1)[0].astype(np.float64)

    # --- a node

    def answers(self, values: NDArray[np.float64]) -> Any:
        """Return the predictions of several targets from the values of a node."""
        if not self.labels:
            return tuple(values.tolist())
        parts = self.tree.by_output(values)
        return tuple(labels[int(part.argmax())] for labels, part in zip(self.labels, parts, strict=True))

    def values_of(self, nodes: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values of some nodes; of a leaf with a model, what it predicts for the sample."""
        tree = self.tree
        if not isinstance(tree, ModelTree):
            return tree.predict_nodes(nodes)
        predicted = [tree.value[i] if tree.n_branches[i] else tree.predict(self.table, np.array([i])).ravel() for i in nodes]
        return np.array(predicted)

    def prediction(self, node: int, values: NDArray[np.float64]) -> Any:
        if self.tree.outputs is not None:
            return self.answers(values)
        return self.labels[0][int(self.tree.predicted_class[node])] if self.labels else float(values[0])

    def decide(self, node: int, row: NDArray[np.float64]) -> _Decision:
        """Decide a test as the compiled walk does."""
        tree = self.tree
        index = int(tree.feature[node])
        x = float(row[index])
        if tree.kind[node] == THRESHOLD and tree.lower is not None and tree.upper is not None and not math.isnan(x):
            left = float(left_part(tree.lower[node], tree.threshold[node], tree.upper[node], np.array(x)))
            if 0 < left < 1:
                return _Decision("soft", "known", {0: left, 1: 1 - left})
        state = "known"
        if math.isnan(x):
            state = "missing" if self.cells[index] is None else "new"
        branch = _known_branch(tree, node, x)
        if branch is not None:
            return _Decision("value", state, {branch: 1.0})
        state = "unknown" if state == "known" else state
        if tree.surrogates is not None:
            for i in range(int(tree.surrogates.start[node]), int(tree.surrogates.start[node + 1])):
                found = _surrogate_branch(tree, i, row)
                if found is not None:
                    return _Decision("surrogate", state, {found: 1.0}, i)
        missing = int(tree.missing[node])
        if missing == STOP:
            return _Decision("stop", state, {})
        if missing != SHARES:
            return _Decision("missing", state, {missing: 1.0})
        return _Decision("shares", state, {b: share for b, share in enumerate(missing_shares(tree, node)) if share > 0})

    # --- words

    def _texts(self, conditions: Sequence[Condition], x: float) -> tuple[dict[tuple[int, float], str], str]:
        """Write the limits of conditions on one feature and a value, so that the value is on the correct side of each."""
        texts = {}
        for index, limit in {pair for condition in conditions for pair in condition.thresholds()}:
            text = self.words.threshold_text(index, limit)
            if (float(text) < x) != (limit < x):
                text = repr(limit).removesuffix(".0")
            texts[index, limit] = text
        return texts, "" if math.isnan(x) else _value_text(x, [(limit, float(text)) for (_, limit), text in texts.items()])

    def _shown_value(self, index: int, text: str) -> str:
        """Return a value in words."""
        if self.schema.features[index].kind == Kind.CONTINUOUS and text:
            return text
        if math.isnan(self.row[index]):
            return word(self.cells[index])
        return self.words.categories[index][int(self.row[index]) - 1]

    def _conditions_text(self, conditions: Sequence[Condition], texts: Mapping[tuple[int, float], str]) -> list[str]:
        most = self.words.max_categories
        return [self._relabelled(condition).words(texts, max_categories=most, show_missing=False) for condition in conditions]

    def _relabelled(self, condition: Condition) -> Condition:
        index = condition.index
        return condition.relabelled(self.schema.features[index], self.shown.features[index])

    def step(self, node: int, depth: int, part: float) -> Step:
        """Describe one test."""
        tree = self.tree
        decision = self.decide(node, self.row)
        index, first = int(tree.feature[node]), int(tree.first_child[node])
        conditions, _ = conditions_of(tree, self.schema, node)
        x = float(self.row[index])
        is_number = self.schema.features[index].kind == Kind.CONTINUOUS and not math.isnan(x)
        texts, value = self._texts(conditions, x if is_number else math.nan)
        if not is_number and self.schema.features[index].kind == Kind.CONTINUOUS:
            texts = {pair: self.words.threshold_text(*pair) for condition in conditions for pair in condition.thresholds()}
        children = np.arange(first, first + int(tree.n_branches[node]))
        values = self.values_of(children)
        branches = tuple(
            Branch(
                condition,
                child,
                decision.parts.get(child - first, 0.0),
                self.prediction(child, row),
                tuple(row.tolist()),
                float(tree.weight[child]),
                self.words.outcome(child),
            )
            for condition, child, row in zip(self._conditions_text(conditions, texts), children.tolist(), values, strict=True)
        )
        distance = _distance(conditions, x) if is_number and tree.kind[node] != KNOWN else None
        surrogate = None if decision.surrogate is None else self._surrogate_text(decision.surrogate, next(iter(decision.parts)))
        said = None if x == 0 and distance else distance  # at 0, it is the threshold itself
        note = self._note(index, value, decision, said, surrogate, len(texts) > 1)
        return Step(
            node,
            depth,
            part,
            self.schema.features[index].name,
            index,
            self.cells[index],
            decision.state,
            decision.reason,
            distance,
            surrogate,
            branches,
            note,
            split_text(self.words, node),
            tuple(merge_texts(self.words, node)),
            self.words.names[index],
        )

    def _note(
        self,
        index: int,
        value: str,
        decision: _Decision,
        distance: float | None,
        surrogate: str | None,
        is_multiway: bool,
    ) -> str:
        """Write the value and the reason of the decision."""
        name = self.words.names[index]
        if decision.state == "missing":
            note = f"{name} is missing"
        else:
            note = f"{name} is {self._shown_value(index, value)}"
            note += {"new": ", which the fit never saw", "unknown": ", which no sample had here"}.get(decision.state, "")
        if distance is not None:
            which = "the nearest threshold" if is_multiway else "the threshold"
            side = (
                "at"
                if distance == 0
                else f"{mean_text(abs(distance), self.words.decimals)} {'above' if distance > 0 else 'below'}"
            )
            note += f", {side} {which}"
        if decision.reason == "soft":
            shares = " : ".join(percent(part) for part in decision.parts.values())
            return f"{note}, so near that it goes both ways, {shares}"
        if surrogate is not None:
            return f"{note} and {surrogate} stands in"
        return note

    def _surrogate_text(self, i: int, branch: int) -> str:
        condition = _surrogate_condition(self.tree, self.schema, i, branch)
        x = float(self.row[condition.index])
        texts, value = self._texts([condition], x if condition.kind == Kind.CONTINUOUS else math.nan)
        text = self._relabelled(condition).words(texts, max_categories=self.words.max_categories)
        shown = self._shown_value(condition.index, value)
        said = condition.operator == "=" or (condition.kind == Kind.CONTINUOUS and not value)
        return text if said else f"{text} ({self.words.names[condition.index]} is {shown})"

    # --- the whole

    def explanation(self) -> Explanation:
        tree = self.tree
        steps, ends = [], []
        waiting = [(0, 0, 1.0)]
        while waiting:
            node, depth, part = waiting.pop()
            if tree.n_branches[node]:
                step = self.step(node, depth, part)
                steps.append(step)
                if step.taken:
                    waiting += [(branch.node, depth + 1, part * branch.part) for branch in reversed(step.taken)]
                    continue
            ends.append(self._end(node, part))
        values = (
            self.values_of(np.array([ends[0].node]))[0] if isinstance(tree, ModelTree) else predict_value(tree, self.table)[0]
        )
        prediction = self._whole_prediction(values)
        return Explanation(
            {feature.name: cell for feature, cell in zip(self.schema.features, self.cells, strict=True)},
            prediction,
            tuple(values.tolist()),
            self._probabilities(values),
            tuple(steps),
            tuple(ends),
            self._change(prediction) if len(ends) == 1 else None,
            self._headline(prediction, values),
        )

    def _end(self, node: int, part: float) -> End:
        values = self.values_of(np.array([node]))[0]
        weight = float(self.tree.weight[node])
        return End(
            node,
            part,
            self.prediction(node, values),
            tuple(values.tolist()),
            weight,
            weight / float(self.tree.weight[0]),
            self.words.outcome(node),
            self.words.calculations(self.tree, node, self.row, values.tolist()) if isinstance(self.tree, ModelTree) else "",
        )

    def _whole_prediction(self, values: NDArray[np.float64]) -> Any:
        if self.tree.outputs is not None:
            return self.answers(values)
        return self.labels[0][int(predict_class(self.tree, self.table)[0])] if self.labels else float(values[0])

    def _probabilities(self, values: NDArray[np.float64]) -> Any:
        if not self.labels:
            return None
        parts = self.tree.by_output(values)
        found = tuple(dict(zip(labels, part.tolist(), strict=True)) for labels, part in zip(self.labels, parts, strict=True))
        return found if self.tree.outputs is not None else found[0]

    def _headline(self, prediction: Any, values: NDArray[np.float64]) -> str:
        several = prediction if isinstance(prediction, tuple) else (prediction,)
        if not self.labels:
            return f"prediction: {' | '.join(mean_text(mean, self.words.decimals) for mean in several)}"
        chosen = [self._class_word(target, label) for target, label in enumerate(several)]
        parts = zip(self.words.columns, self.tree.by_output(values), strict=True)
        shares = [shares_text(self.words.labels[columns], part) for columns, part in parts]
        return f"prediction: {' | '.join(chosen)}  ({' | '.join(shares)})"

    def _class_word(self, target: int, label: Any) -> str:
        text: str = self.words.labels[self.words.columns[target].start + self.labels[target].index(label)]
        return text

    # --- the smallest change

    def _change(self, prediction: Any) -> Change | None:
        """Return the smallest change of few features that leads to another prediction, for a single target."""
        tree = self.tree
        is_soft = tree.lower is not None and tree.upper is not None and (tree.lower < tree.upper).any()
        if len(self.labels) != 1 or tree.outputs is not None or is_soft:
            return None
        label = self.labels[0].index(prediction)
        for most in range(1, MOST_CHANGES + 1):
            found = sorted(self._reachable(label, most), key=lambda pair: (pair[0], -tree.weight[pair[1]], pair[1]))
            for _, leaf, changes in found:
                if self._ends_at(leaf, changes):
                    return self._change_to(leaf, changes)
        return None

    def _reachable(self, label: int, most: int) -> Iterator[tuple[float, int, dict[int, Condition]]]:
        """Yield the ends with another prediction that at most `most` changes reach: size of the changes, node, conditions."""
        tree = self.tree
        waiting: list[tuple[int, dict[int, Condition], frozenset[int]]] = [(0, {}, frozenset())]
        while waiting:
            node, path, changed = waiting.pop()
            own: dict[int, float] = {}
            if tree.n_branches[node]:
                index, first = int(tree.feature[node]), int(tree.first_child[node])
                free = index in changed
                if not free:
                    decision = self.decide(node, self.row)
                    own = decision.parts
                for branch, condition in enumerate(conditions_of(tree, self.schema, node)[0]):
                    joined = path[index] & condition if index in path else condition
                    if own.get(branch) == 1:
                        waiting.append((first + branch, {**path, index: joined}, changed))
                    elif _is_possible(joined) and (free or len(changed) < most):
                        waiting.append((first + branch, {**path, index: joined}, changed | {index}))
                if free or decision.reason != "stop":
                    continue
            if changed and tree.predicted_class[node] != label:
                changes = {index: path[index] for index in sorted(changed)}
                yield sum(self._size(condition) for condition in changes.values()), node, changes

    def _size(self, condition: Condition) -> float:
        """Return the distance of the value from a condition, in units of the range of the feature's thresholds."""
        x = float(self.row[condition.index])
        if condition.kind != Kind.CONTINUOUS or math.isnan(x):
            return 1.0
        away = max(condition.low - x, x - condition.high, 0.0)
        scale = self._ranges.get(condition.index, 0.0)
        return away / (scale or abs(condition.low if math.isfinite(condition.low) else condition.high) or 1.0)

    @cached_property
    def _ranges(self) -> dict[int, float]:
        """Range of the thresholds of each feature that is tested by a threshold."""
        tests = np.flatnonzero(self.tree.kind == THRESHOLD)
        order = tests[np.argsort(self.tree.feature[tests], kind="stable")]
        features, starts = np.unique(self.tree.feature[order], return_index=True)
        parts = np.split(self.tree.threshold[order], starts[1:])
        return {feature: float(np.ptp(part)) for feature, part in zip(features.tolist(), parts, strict=False)}

    def _ends_at(self, end: int, changes: Mapping[int, Condition]) -> bool:
        """Return whether the changed sample really ends there: surrogates may use a changed value."""
        row = self.row.copy()
        for index, condition in changes.items():
            row[index] = _nearest(condition, float(row[index]), self.schema)
        node = 0
        while self.tree.n_branches[node]:
            parts = self.decide(node, row).parts
            if len(parts) != 1:
                break
            node = int(self.tree.first_child[node]) + next(iter(parts))
        return node == end

    def _change_to(self, end: int, changes: Mapping[int, Condition]) -> Change:
        parts = []
        for index, condition in changes.items():
            x = float(self.row[index])
            is_number = condition.kind == Kind.CONTINUOUS
            texts, value = self._texts([condition], x if is_number else math.nan)
            required = self._relabelled(condition).words(texts, max_categories=self.words.max_categories, show_missing=False)
            now = "missing" if self.cells[index] is None else self._shown_value(index, value)
            parts.append(f"{required} (now {now})")
        prediction = self.labels[0][int(self.tree.predicted_class[end])]
        text = f"smallest change to get {self._class_word(0, prediction)}: {' and '.join(parts)}"
        return Change(prediction, end, tuple(changes.values()), text)


def _known_branch(tree: Tree, node: int, x: float) -> int | None:
    """Return the branch of a value; None if it is missing, or a category that the node does not know."""
    kind = tree.kind[node]
    if kind == KNOWN:
        return int(math.isnan(x))
    if math.isnan(x):
        return None
    if kind == THRESHOLD:
        return int(x > tree.threshold[node])
    if kind == CATEGORY:
        return int(x) - 1
    if kind == INTERVALS:
        return int(np.searchsorted(tree.cuts_of(node), x))
    return _in_table(*tree.categories_of(node), x)


def _in_table(codes: NDArray[np.uint32], branches: NDArray[np.int32], x: float) -> int | None:
    """Return the branch of a category; None if it is not among the codes."""
    found = branches[codes == x]
    return int(found[0]) if found.size else None


def _surrogate_branch(tree: Tree, i: int, row: NDArray[np.float64]) -> int | None:
    """Return the branch that a surrogate chooses; None if it does not know the value."""
    s = tree.surrogates
    assert s is not None
    x = float(row[s.feature[i]])
    if math.isnan(x):
        return None
    if s.kind[i] == THRESHOLD:
        return int(s.low_branch[i]) ^ int(x > s.threshold[i])
    return _in_table(*s.categories_of(i), x)


def _surrogate_condition(tree: Tree, schema: Schema, i: int, branch: int) -> Condition:
    """Return the condition under which a surrogate chooses a branch."""
    s = tree.surrogates
    assert s is not None
    index = int(s.feature[i])
    feature = schema.features[index]
    low = branch == s.low_branch[i]
    if s.kind[i] != THRESHOLD:
        codes, branches = s.categories_of(i)
        declared = feature.categories or ()
        return Condition.among(feature, index, [declared[code - 1] for code in codes[branches == branch].tolist()])
    threshold = float(s.threshold[i])
    if feature.categories is not None:
        cut = math.floor(threshold)
        return Condition.among(feature, index, feature.categories[:cut] if low else feature.categories[cut:])
    return Condition.interval(feature, index, high=threshold) if low else Condition.interval(feature, index, low=threshold)


def _is_possible(condition: Condition) -> bool:
    """Return whether some known value passes as a whole."""
    if condition.operator == "missing" or condition.kind == Kind.CONTINUOUS:
        return condition.operator != "missing"
    return not set(condition.categories) <= set(condition.asked)


def _nearest(condition: Condition, x: float, schema: Schema) -> float:
    """Return the value nearest to `x` that passes; for categories the code of the first one."""
    if condition.kind != Kind.CONTINUOUS:
        categories = schema.features[condition.index].categories or ()
        return 1.0 + categories.index(next(c for c in condition.categories if c not in condition.asked))
    if x > condition.high or (math.isnan(x) and math.isfinite(condition.high)):
        return condition.high
    return math.nextafter(condition.low, math.inf) if not x > condition.low and math.isfinite(condition.low) else x


def _distance(conditions: Sequence[Condition], x: float) -> float | None:
    """Return the distance of a value from the nearest limit of some intervals, negative below."""
    limits = {limit for condition in conditions for _, limit in condition.thresholds()}
    return min((x - limit for limit in limits), key=abs, default=None)


def _value_text(x: float, limits: Sequence[tuple[float, float]]) -> str:
    """Write a value so that it is on the correct side of each limit, as the limit is written."""
    exact = repr(x).removesuffix(".0")
    if len(exact.split("e")[0].replace(".", "").lstrip("-0")) <= EXACT_DIGITS:
        return exact
    for digits in range(6, 17):
        text = round_text(x, digits)
        if all((float(text) > written) == (x > limit) for limit, written in limits):
            return text
    return exact
