"""Texts for the nodes of a tree: tests, conditions, predictions and figures.

Exported text, pictures, rules and pages all take their texts from here; a test reads the same everywhere.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Kind, Schema, default_target_names
from fasttree._model.arrays import CATEGORY, INTERVALS, KNOWN, LARGEST_CUT, STOP, THRESHOLD
from fasttree._model.linear.model_tree import LinearModels, ModelTree
from fasttree._model.surrogates import Surrogates
from fasttree._model.tree import Tree

__all__ = [
    "Classes",
    "Words",
    "by_target",
    "check_count",
    "counted",
    "fixed",
    "grouped_mean",
    "interval_text",
    "is_shorter",
    "mean_text",
    "name_text",
    "others_text",
    "percent",
    "round_text",
    "set_of",
    "sum_text",
    "threshold_texts",
    "word",
]

# labels of the classes; a list for several targets, None for regression
Classes = npt.NDArray[Any] | list[npt.NDArray[Any]] | None

EXACT_DIGITS = 9  # thresholds of up to so many digits are written exactly
TINY = 1e-300
EIGHTHS_BELOW = 1e9  # larger ones may be any number
LARGE, MOST_DECIMALS = 1e12, 6  # of means written without an exponent
ROUGH_DIGITS = 6  # longer thresholds are midpoints: enough digits to distinguish them


class Words:
    """Texts for the nodes of a tree.

    Parameters
    ----------
    tree : Tree
    schema : Schema
        Names, kinds and categories of the features.
    classes : array, shape (k,), list of arrays, or None, default None
        Class labels; a list for several targets; None for regression.
    max_categories : int, default 12
        Largest number of categories in one condition, and of classes (the heaviest) with weights; the rest are counted.
    decimals : int, default 2
        Digits after the point of weights and means.
    ellipsis : str, default "…"
        Text for omitted entries.
    targets : sequence of str, default ()
        Names of the targets.

    Attributes
    ----------
    names : list of str
        Names of the features.
    categories : list of list of str
        Categories of each feature, in the order of their codes; none for a continuous one.
    labels : list of str
        Labels of the columns of the tree's values, the classes (of each target); none for regression.
    columns : list of slice
        Columns of the tree's values for each target.
    raw_names, raw_categories, raw_labels
        The same without quotes.
    targets : list of str
        Name of each target; empty if it has none, or the name "y" of an unnamed one.

    Raises
    ------
    ValueError
        If `max_categories` or `decimals` is out of range, or `schema` or `classes` does not fit the tree.
    """

    def __init__(
        self,
        tree: Tree,
        schema: Schema,
        classes: Classes = None,
        *,
        max_categories: int = 12,
        decimals: int = 2,
        ellipsis: str = "…",
        targets: Sequence[str] = (),
    ) -> None:
        check_count("max_categories", max_categories, 1)
        check_count("decimals", decimals, 0)
        each = by_target(classes)
        widths = tree.outputs or (tree.n_values,)
        if [len(labels) for labels in each] != (list(widths) if tree.task == "classification" else []):
            raise ValueError("classes: must have a label for each column of the tree's values; None for regression")
        if len(schema.features) != tree.n_features:
            raise ValueError(f"schema: has {len(schema.features)} features; the tree was grown on {tree.n_features}")
        self.tree = tree
        self.max_categories = int(max_categories)
        self.decimals = int(decimals)
        self.ellipsis = ellipsis
        self.weighs_little = bool(0 < tree.weight[0] < 0.5)
        names = list(map(word, targets)) or [""] * len(widths)
        self.targets = [""] if names == default_target_names(1) else names
        self.labels = [word(label) for column in each for label in column.tolist()]
        self.raw_labels = [str(label) for column in each for label in column.tolist()]
        self.raw_names = [str(feature.name) for feature in schema.features]
        self.raw_categories = [list(map(str, feature.categories or ())) for feature in schema.features]
        self.names = [name_text(feature.name) for feature in schema.features]
        self.categories = [[word(category) for category in feature.categories or ()] for feature in schema.features]
        self._ordinal = [feature.kind == Kind.ORDINAL for feature in schema.features]
        ends = np.cumsum([0, *widths]).tolist()
        self.columns = list(map(slice, ends[:-1], ends[1:]))
        # for each target, the column of the predicted class of each node
        self._answers = tree.predicted_classes.T + np.array(ends[:-1])[:, None] if self.labels else None
        self._thresholds = _threshold_texts_of(tree)

    # --- tests

    def test(self, node: int) -> str:
        """Return the name of the feature that an inner node tests."""
        return self.names[int(self.tree.feature[node])]

    def conditions(self, node: int) -> list[str]:
        """Write the condition of each branch: ``width <= 3``, ``colour in {red, blue}``, ``width is missing``."""
        name = self.test(node)
        if self.tree.kind[node] == INTERVALS:
            return self._intervals(node, name)
        return [f"{name} {branch}" for branch in self.branches(node)]

    def _intervals(self, node: int, name: str) -> list[str]:
        places = [self.threshold_text(int(self.tree.feature[node]), cut) for cut in self.tree.cuts_of(node).tolist()]
        has_own = bool(self.tree.cuts_of(node)[-1] == LARGEST_CUT)  # the last branch has the missing values alone
        if has_own:
            places.pop()
        between = [f"{low} < {name} <= {high}" for low, high in itertools.pairwise(places)]
        return [f"{name} <= {places[0]}", *between, f"{name} > {places[-1]}", *[f"{name} is missing"] * has_own]

    def branches(self, node: int) -> list[str]:
        """Write the condition of each branch without the name of the feature; between two cuts as ``2 < x <= 5``."""
        tree = self.tree
        feature, kind, n_branches = int(tree.feature[node]), int(tree.kind[node]), int(tree.n_branches[node])
        categories = self.categories[feature]
        if kind == KNOWN:
            return ["is known", "is missing"]
        if kind == THRESHOLD:
            text = self.threshold_text(feature, float(tree.threshold[node]))
            sides = [f"<= {text}{self._interval(node)}", f"> {text}"]
            return sides if n_branches == 2 else [*sides, "is missing"]
        if kind == INTERVALS:
            return [each.removeprefix("x ") for each in self._intervals(node, "x")]
        if kind == CATEGORY:
            return [*(f"= {category}" for category in categories), *["is missing"] * (n_branches - len(categories))]
        others = self.others(node)
        return [
            others_text([categories[i] for i in others[branch]], self.max_categories, self.ellipsis)
            if branch in others
            else self.group_text([categories[i] for i in group])
            if group or branch != tree.missing[node]
            else "is missing"
            for branch, group in enumerate(self.groups(node))
        ]

    def others(self, node: int) -> dict[int, list[int]]:
        """Return the categories that a branch of a `NOMINAL` node excludes, if they are its shorter description.

        They are so only if all categories that they do not include follow the branch, those that the node does not know too.
        """
        tree = self.tree
        groups = self.groups(node)
        sizes = list(map(len, groups))
        branch = max(range(len(groups)), key=sizes.__getitem__)
        knows_all = sum(sizes) == len(self.categories[tree.feature[node]])
        if not (knows_all or (branch == tree.missing[node] and tree.surrogates is None)):
            return {}
        excluded = sorted(code for other, group in enumerate(groups) if other != branch for code in group)
        return {branch: excluded} if excluded and is_shorter(len(excluded), sizes[branch]) else {}

    def groups(self, node: int) -> list[list[int]]:
        """Return the places of the categories of each branch of a `NOMINAL` node among those of its feature."""
        groups: list[list[int]] = [[] for _ in range(int(self.tree.n_branches[node]))]
        codes, branches = self.tree.categories_of(node)
        for code, branch in zip(codes.tolist(), branches.tolist(), strict=True):
            groups[branch].append(code - 1)
        return groups

    def threshold_text(self, feature: int, threshold: float) -> str:
        """Write a threshold of the tree or its surrogates; for an ordinal feature, the last category below it."""
        if self._ordinal[feature]:
            return self.categories[feature][math.floor(threshold) - 1]  # codes count from 1
        return self._thresholds[feature, threshold]

    def group_text(self, group: Sequence[str]) -> str:
        """Write ``= red`` or ``in {red, blue}``."""
        return f"= {group[0]}" if len(group) == 1 else f"in {self.set_of(group)}"

    def set_of(self, names: Sequence[str]) -> str:
        """Write at most `max_categories` names in braces."""
        return set_of(names, self.max_categories, self.ellipsis)

    def _interval(self, node: int) -> str:
        """Write the interval of a soft threshold to two digits of its length; empty if there is none."""
        if self.tree.lower is None or self.tree.upper is None or self._ordinal[self.tree.feature[node]]:
            return ""
        lower, upper = float(self.tree.lower[node]), float(self.tree.upper[node])
        if not lower < upper:
            return ""
        return f" {interval_text(lower, upper)}"

    # --- missing values

    def is_missing(self, node: int) -> str:
        """Write the condition that the tested value is missing."""
        return f"{self.test(node)} is missing"

    def with_surrogates(self, node: int) -> str:
        """Write that all surrogates must be missing too, if the node has any."""
        surrogates = self.tree.surrogates
        return " with all surrogates" if surrogates is not None and surrogates.start[node] < surrogates.start[node + 1] else ""

    def empty_leaves(self, node: int) -> list[int]:
        """Return the leaves of categories without samples, which all predict the same, if there are two or more."""
        if self.tree.kind[node] != CATEGORY:
            return []
        first = int(self.tree.first_child[node])
        stop = first + len(self.categories[self.tree.feature[node]])  # without the branch of missing values
        empty = [child for child in range(first, stop) if self.tree.weight[child] == 0]
        return empty if len(empty) > 1 else []

    def child_weights(self, node: int) -> list[float]:
        """Return the weights of the children."""
        first = int(self.tree.first_child[node])
        weights: list[float] = self.tree.weight[first : first + int(self.tree.n_branches[node])].tolist()
        return weights

    def has_own_branch(self, node: int) -> bool:
        """Return whether a branch of the node is for missing values alone."""
        missing = int(self.tree.missing[node])
        return missing >= 0 and self.branches(node)[missing] == "is missing"

    def tells_missing(self, node: int, asked: bool | None) -> bool:
        """Return whether a branch shared with missing values says so: `asked`, by default if it is not the heaviest."""
        missing = int(self.tree.missing[node])
        if missing < 0 or self.has_own_branch(node):
            return False
        if asked is not None:
            return asked
        weights = self.child_weights(node)
        return weights[missing] < max(weights)

    def missing_note(self, node: int) -> str:
        """Write where a missing value of the tested feature goes."""
        missing = int(self.tree.missing[node])
        condition = f"{self.is_missing(node)}{self.with_surrogates(node)}"
        if missing == STOP:
            return f"{condition}: {self.outcome(node)}"
        if missing < 0:
            return f"{condition}: every branch, as {' : '.join(map(self.number, self.child_weights(node)))}"
        return f"{condition}: as {self.conditions(node)[missing]}" if not self.has_own_branch(node) else condition

    def surrogate_notes(self, node: int) -> Iterator[str]:
        """Yield the conditions that replace that of the first branch if the tested value is missing, in order."""
        s = self.tree.surrogates
        if s is None:
            return
        condition = self.conditions(node)[0]
        for i in range(int(s.start[node]), int(s.start[node + 1])):
            figures = f"agreement {self.number(float(s.agreement[i]))}, adjusted {self.number(float(s.adjusted[i]))}"
            yield f"{self.is_missing(node)}: {condition} if {self.surrogate_condition(i)} ({figures})"

    def surrogate_condition(self, i: int) -> str:
        """Write the condition by which surrogate `i` of the tree sends a sample to the first branch."""
        s = self.tree.surrogates
        assert s is not None
        feature = int(s.feature[i])
        if s.kind[i] == THRESHOLD:
            sign = "<=" if s.low_branch[i] == 0 else ">"
            return f"{self.names[feature]} {sign} {self.threshold_text(feature, float(s.threshold[i]))}"
        codes, branches = s.categories_of(i)
        group = [self.categories[feature][code - 1] for code in codes[branches == 0].tolist()]
        return f"{self.names[feature]} {self.group_text(group)}"

    # --- predictions

    def answers(self, node: int) -> list[str]:
        """Write the prediction of the node for each target: ``yes``, ``2.4``, or the formula of a leaf with a model."""
        if isinstance(self.tree, ModelTree) and self.tree.n_branches[node] == 0:
            return [self.formula(models, node) for models in self.tree.models_by_target]
        if self._answers is None:
            return [mean_text(mean, self.decimals) for mean in self.tree.value[node].tolist()]
        return [self.labels[answers[node]] for answers in self._answers]

    def formula(self, models: LinearModels, node: int) -> str:
        """Write the model of a node, rounded, and its bounds: ``12.3 + 0.51 horsepower - 0.0062 weight, from 8.55 to 24.5``."""
        digits = self.decimals + 2
        lower, upper, intercept = (float(array[node]) for array in (models.lower, models.upper, models.intercept))
        if not (terms := models.terms(node)):
            return mean_text(min(max(intercept, lower), upper), self.decimals)
        text = self._sum(intercept, [(coefficient, self.column(models, column)) for column, coefficient in terms])
        bounds = [("from", lower), ("to", upper)]
        limits = " ".join(f"{name} {round_text(bound, digits)}" for name, bound in bounds if math.isfinite(bound))
        return f"{text}, {limits}" if limits else text

    def column(self, models: LinearModels, column: int) -> str:
        """Write a column of models: ``horsepower``, or ``[colour = red]`` for the indicator of a category."""
        feature, code = models.source(column)
        return f"[{self.names[feature]} = {self.categories[feature][code - 1]}]" if code else self.names[feature]

    def _sum(self, intercept: float, terms: Iterable[tuple[float, str]]) -> str:
        """Write a sum of an intercept and terms, rounded: ``12.3 + 0.51 horsepower``."""
        return sum_text(intercept, terms, self.decimals + 2)

    def calculations(self, tree: ModelTree, node: int, row: npt.NDArray[np.float64], predicted: Sequence[float]) -> str:
        """Write the models of a node with the values of a sample, as `calculation` does for each target; "" without terms."""
        pairs = list(zip(tree.models_by_target, predicted, strict=True))
        texts = [self.calculation(models, node, row, value) for models, value in pairs]
        if not any(texts):
            return ""
        return " | ".join(text or mean_text(value, self.decimals) for text, (_, value) in zip(texts, pairs, strict=True))

    def calculation(self, models: LinearModels, node: int, row: npt.NDArray[np.float64], predicted: float) -> str:
        """Write the model of a node with the values of a sample: ``200 - 2 * 90 = 20, bounded at 120.1``; "" without terms."""
        digits = self.decimals + 2
        value, factors, filled = float(models.intercept[node]), [], []
        if not (terms := models.terms(node)):
            return ""
        for column, coefficient in terms:
            given = row[models.source(column)[0]]
            x = float(models.values(column, np.array([given]))[0])
            if math.isnan(given):
                feature, name = self.names[models.source(column)[0]], self.column(models, column)
                whose = "its mean" if name == feature else f"the mean of {name}"
                filled.append(f"{feature} is missing, and {whose} is {round_text(x, digits)}")
            value += coefficient * x
            factors.append((coefficient, f"* {round_text(x, digits)}" if x >= 0 else f"* ({round_text(x, digits)})"))
        bounded = "" if value == predicted else f", bounded at {round_text(predicted, digits)}"
        text = f"{self._sum(float(models.intercept[node]), factors)} = {round_text(value, digits)}{bounded}"
        return "; ".join([text, *filled])

    def answer(self, node: int) -> str:
        """Write the prediction of the node: ``yes`` or ``2.4``; for several targets ``yes | red``."""
        return " | ".join(self.answers(node))

    def outcome(self, node: int) -> str:
        """Write the prediction of the node and its weight: ``yes (6 of 9)`` or ``2.4 (9)``."""
        if self._answers is None:
            return f"{self.answer(node)} ({self.number(float(self.tree.weight[node]))})"
        return " | ".join(
            self._outcome_of(node, columns, int(answers[node]))
            for columns, answers in zip(self.columns, self._answers, strict=True)
        )

    def _outcome_of(self, node: int, columns: slice, label: int) -> str:
        """Write the class `label` (a column) of one target and its weight."""
        total = float(self.tree.weight[node])
        row = self.tree.value[node]
        share, whole = self.number(float(row[label])), self.number(total)
        if total == 0 or not np.delete(row[columns], label - columns.start).any():
            return f"{self.labels[label]} ({whole})"
        cost = "" if self.tree.loss is None else f", cost {self.number(float(row @ self.tree.loss[:, label]))}"
        return f"{self.labels[label]} ({share} of {whole}{cost})"

    def by_class(self, node: int, *, shares: bool = False) -> list[str]:
        """Write the classes with weight of each target: ``{yes: 6, no: 3}``, or their shares ``{yes: 67 %, no: 33 %}``.

        In regression, and for a node without samples, write the weight of the node alone: ``(9)``.
        """
        total = float(self.tree.weight[node])
        if not self.labels:
            return [f"({self.number(total)})"]
        if total == 0:
            return [f"({self.number(total)})"] * len(self.columns)
        row = self.tree.predict_nodes(np.array([node]))[0] if shares else self.tree.value[node]
        written = percent if shares else self.number
        texts = []
        for columns in self.columns:
            present = columns.start + np.flatnonzero(row[columns])
            shown, more = present, ""
            if len(present) > self.max_categories + 1:
                heaviest = np.argsort(-row[present], kind="stable")[: self.max_categories]
                shown, more = present[np.sort(heaviest)], f", {self.ellipsis} {len(present) - self.max_categories} more"
            texts.append("{" + ", ".join(f"{self.labels[i]}: {written(float(row[i]))}" for i in shown.tolist()) + more + "}")
        return texts

    def number(self, weight: float) -> str:
        """Write a weight."""
        # if all samples together weigh very little, significant digits are needed
        return f"{weight:.{self.decimals + 1}g}" if self.weighs_little else fixed(weight, self.decimals)

    def grouped(self, weight: float) -> str:
        """Write a weight with separators of thousands."""
        text = self.number(weight)
        whole = text.split(".")[0]
        return text if not whole.isdigit() else f"{int(whole):,}{text.removeprefix(whole)}"

    @cached_property
    def mean_decimals(self) -> list[int]:
        """Decimals that distinguish the means of each target in a picture; about three digits of their range."""
        ranges = np.ptp(self.tree.value, axis=0).tolist()
        return [max(2 - math.floor(math.log10(size)) + self.decimals - 2, 0) if size > 0 else self.decimals for size in ranges]

    @property
    def has_formulas(self) -> bool:
        """Whether leaves predict by linear models."""
        return isinstance(self.tree, ModelTree)

    def predicted(self, node: int, target: int) -> str:
        """Write the mean of a target, as `mean` does, or the formula of a leaf with a model."""
        return self.answers(node)[target] if self.has_formulas and not self.tree.n_branches[node] else self.mean(node, target)

    def mean(self, node: int, target: int) -> str:
        """Write the mean of a target with the decimals of all means of a picture."""
        return grouped_mean(float(self.tree.value[node, target]), self.mean_decimals[target])


def grouped_mean(mean: float, decimals: int) -> str:
    """Write a mean with separators of thousands."""
    return f"{mean:,.{decimals}f}" if abs(mean) < LARGE and decimals <= MOST_DECIMALS else f"{mean:.4g}"


def _threshold_texts_of(tree: Tree) -> dict[tuple[int, float], str]:
    """Return the texts of all thresholds of a tree, which are kept with it: one tree may explain many samples."""
    if (known := tree.__dict__.get("_threshold_texts")) is None:
        pairs = set(_all_cuts(tree)) | _tested(tree)
        if tree.surrogates is not None:
            pairs |= _tested(tree.surrogates)
        known = tree.__dict__["_threshold_texts"] = threshold_texts(pairs)
    texts: dict[tuple[int, float], str] = known
    return texts


def _all_cuts(tree: Tree) -> Iterator[tuple[int, float]]:
    """Yield the features and cuts of the tests by intervals."""
    for node in np.flatnonzero(tree.kind == INTERVALS).tolist():
        for cut in tree.cuts_of(node).tolist():
            yield int(tree.feature[node]), cut


def _tested(tests: Tree | Surrogates) -> set[tuple[int, float]]:
    """Return the features and thresholds of the tests by threshold."""
    by_threshold = tests.kind == THRESHOLD
    return set(zip(tests.feature[by_threshold].tolist(), tests.threshold[by_threshold].tolist(), strict=True))


def check_count(name: str, number: object, least: int) -> None:
    """Raise a ValueError unless `number` is an integer of at least `least`."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
        raise ValueError(f"{name}={number!r}: must be an integer >= {least}")


def percent(share: float) -> str:
    """Write a share in [0, 1] in percent; only 0 is written as 0 % and only 1 as 100 %."""
    if 0 < share < 0.001 or 0.999 < share < 1:
        return "<0.1 %" if share < 0.5 else ">99.9 %"
    return f"{fixed(100 * share, 1 if share < 0.01 or share > 0.99 else 0)} %"


def by_target(classes: Classes) -> list[npt.NDArray[Any]]:
    """Return the classes of each target; an empty list for regression."""
    return classes if isinstance(classes, list) else [] if classes is None else [classes]


def name_text(name: Any) -> str:
    """Write the name of a feature as a word, quoted also if it looks like part of a condition."""
    text = word(name)
    return repr(str(name)) if set(text) & set("<>=") and text == str(name) else text


def word(name: Any) -> str:
    """Write a name as it is, or quoted if its end would be unclear."""
    text = str(name)
    plain = text.isprintable() and text == text.strip() and text and not set(text) & set(",{}:")
    return text if plain else repr(text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write ``1 node`` or ``2,000 nodes``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def fixed(number: float, decimals: int) -> str:
    """Write at most `decimals` digits after the point, without trailing zeros."""
    if abs(number) >= 1e15:
        return f"{number:.6g}"
    text = f"{number:.{decimals}f}"
    if float(text) == 0:
        return f"{number:.1g}" if number else "0"  # a small number must not read as 0
    return text.rstrip("0").rstrip(".") if "." in text else text


def mean_text(number: float, decimals: int) -> str:
    """Write as `fixed`; below 1, where targets may be tiny, with significant digits."""
    return fixed(number, decimals) if abs(number) >= 1 or number == 0 else f"{number:.{max(decimals, 1)}g}"


def set_of(names: Iterable[str], most: int | None, ellipsis: str = "…") -> str:
    """Write at most `most` names in braces; count the rest."""
    names = list(names)
    # naming all but one saves nothing
    if most is None or len(names) <= most + 1:
        return f"{{{', '.join(names)}}}"
    return f"{{{', '.join(names[:most])}, {ellipsis} {len(names) - most} more}}"


def is_shorter(n_excluded: int, n_included: int) -> bool:
    """Return whether a set of categories is described better by those that it excludes."""
    return n_included > 2 and 2 * n_included > 3 * n_excluded


def others_text(names: Sequence[str], most: int | None, ellipsis: str = "…") -> str:
    """Write ``!= red`` or ``not in {red, blue}``."""
    return f"!= {names[0]}" if len(names) == 1 else f"not in {set_of(names, most, ellipsis)}"


def interval_text(lower: float, upper: float) -> str:
    """Write the interval of a soft threshold to two digits of its length."""
    decimals = min(max(1 - math.floor(math.log10(max(upper / 2 - lower / 2, TINY)) + math.log10(2)), 0), EXACT_DIGITS)
    return f"[{fixed(lower, decimals)}, {fixed(upper, decimals)}]"


def threshold_texts(pairs: Set[tuple[int, float]]) -> dict[tuple[int, float], str]:
    """Return the text of each (feature, threshold): exact if short, else rounded but distinct for each feature.

    The double just below 2.5 is exact, too: it is a threshold of ``midpoint="high"`` that 2.5 exceeds.
    """
    texts = {}
    long = []
    for feature, threshold in pairs:
        exact = repr(threshold).removesuffix(".0")
        mantissa = exact.split("e")[0].lstrip("-0.").replace(".", "")
        if len(mantissa) <= EXACT_DIGITS or _is_just_below_eighths(threshold):
            texts[feature, threshold] = exact
        else:
            long.append((feature, threshold))
    taken = {(feature, text) for (feature, _), text in texts.items()}
    digits = ROUGH_DIGITS
    while long:
        rounded = {pair: round_text(pair[1], digits) for pair in long}
        times = Counter((feature, text) for (feature, _), text in rounded.items())
        done = {
            (feature, threshold): text
            for (feature, threshold), text in rounded.items()
            if times[feature, text] == 1 and (feature, text) not in taken
        }
        texts |= done
        long = [pair for pair in long if pair not in done]
        digits += 1
    return texts


def _is_just_below_eighths(number: float) -> bool:
    """Return whether the next larger double is a multiple of 1/8; unlike decimal fractions, these are exact midpoints."""
    above = 8 * math.nextafter(number, math.inf)
    return abs(above) < EIGHTHS_BELOW and above.is_integer()


def sum_text(intercept: float, terms: Iterable[tuple[float, str]], digits: int) -> str:
    """Write a sum of an intercept and terms, rounded: ``12.3 + 0.51 horsepower``."""
    text = round_text(intercept, digits) if intercept else ""
    for coefficient, factor in terms:
        sign = " - " if coefficient < 0 else " + "
        text += f"{sign if text else sign.strip(' +')}{round_text(abs(coefficient), digits)} {factor}"
    return text


def round_text(number: float, digits: int) -> str:
    """Write `digits` significant digits, or more if needed for one after the point: 1234567.25 must not become 1234567."""
    before_point = len(str(int(abs(number)))) if abs(number) < 1e15 else 0
    return f"{number:.{max(digits, before_point + 1)}g}"
