"""Texts for the significance tests of a node: of its branches, of the features that compete, and of the merges."""

from __future__ import annotations

import math

from fasttree._model.tested import SPLIT, MergeStep, NodeTest, PredictorTest, TestedTree
from fasttree._model.words import Words, counted

__all__ = ["branch_tests", "competing_tests", "merge_texts", "p_text", "reason_text", "rival_cells", "split_text"]

BOUND_DIGITS = 6
REASON_TEXTS = {
    "pure": "all samples have the same target",
    "max_depth": "max_depth is reached",
    "min_samples_split": "fewer samples than min_samples_split",
    "min_samples_leaf": "the branches are too small",
    "not_significant": "no feature is significant",
    "no_predictor": "no feature has two categories",
}


def tests_of(words: Words, node: int) -> NodeTest | None:
    """Return the tests of a node, or None if the tree has none."""
    return words.tree.tests[node] if isinstance(words.tree, TestedTree) else None


def split_text(words: Words, node: int) -> str:
    """Write the test of the branches of a node: ``chi-square = 27, df = 2, p = 1.37e-06, adjusted 3.43e-05``, or ``""``."""
    return ", ".join(branch_tests(words, node))


def branch_tests(words: Words, node: int) -> list[str]:
    """Write statistic and p-values of the branches of a node as two texts; none if the branches have no test."""
    test = tests_of(words, node)
    return [] if test is None or test.split is None else list(_test_texts(words, test.split))


def competing_tests(words: Words, node: int) -> list[str]:
    """Write the tests of the features that lose against that of the split, the best first; at a leaf, of all features."""
    return [
        f"{words.names[each.feature]}: {', '.join((*_test_texts(words, each), _groups(each)))}" for each in _rivals(words, node)
    ]


def rival_cells(words: Words, node: int) -> list[list[str]]:
    """Write the same tests as cells of a table: feature, groups, statistic with degrees of freedom, p-value, adjusted p-value."""
    return [
        [
            words.names[each.feature],
            _groups(each),
            f"{each.statistic:.4g} ({_df(words, each)})",
            p_text(each.log_p_value),
            p_text(each.log_adjusted_p_value),
        ]
        for each in _rivals(words, node)
    ]


def _rivals(words: Words, node: int) -> list[PredictorTest]:
    test = tests_of(words, node)
    if test is None:
        return []
    return [each for each in test.predictors if test.split is None or each.feature != test.split.feature]


def merge_texts(words: Words, node: int) -> list[str]:
    """Write the merges of the best feature in their order: ``A with B, p = 0.685``, or ``divided again: A from B, p = 0.03``."""
    test = tests_of(words, node)
    if test is None or test.best is None:
        return []
    return [_step_text(words, test, step) for step in test.merges]


def reason_text(words: Words, node: int) -> str:
    """Write why a node was not split: ``not split: no feature is significant``, or ``""``."""
    test = tests_of(words, node)
    reason = "" if test is None or test.reason == SPLIT else REASON_TEXTS.get(test.reason, "")
    return f"not split: {reason}" if reason else ""


def _test_texts(words: Words, test: PredictorTest) -> tuple[str, str]:
    name = "chi-square" if len(test.df) == 1 else "F"
    adjusted = f", adjusted {p_text(test.log_adjusted_p_value)}" if test.log_multiplier else ""
    return f"{name} = {test.statistic:.4g}, df = {_df(words, test)}", f"p = {p_text(test.log_p_value)}{adjusted}"


def _df(words: Words, test: PredictorTest) -> str:
    return ", ".join(map(words.number, test.df))


def _groups(test: PredictorTest) -> str:
    return f"{counted(test.n_groups, 'group')} of {counted(test.n_categories, 'category', 'categories')}"


def _step_text(words: Words, test: NodeTest, step: MergeStep) -> str:
    one, other = (group_text(words, test, group) for group in (step.one, step.other))
    sides = f"divided again: {one} from {other}" if step.divides else f"{one} with {other}"
    return f"{sides}, p = {p_text(step.log_p_value)}"


def group_text(words: Words, test: NodeTest, codes: tuple[int, ...]) -> str:
    """Write a group of categories of the best feature, or the interval that they form; code 0 is that of missing values."""
    assert test.best is not None
    known = sorted(code for code in codes if code)
    names = words.categories[test.best.feature]
    if names:
        texts = [names[code - 1] if code <= len(names) else f"category {code}" for code in known]
    elif known:
        texts = [_interval(test.bounds, known[0], known[-1])]
    else:
        texts = []
    if len(known) < len(codes):
        texts.append("missing")
    return texts[0] if len(texts) == 1 else words.set_of(texts)


def _interval(bounds: tuple[float, ...], first: int, last: int) -> str:
    """Write the values from one interval to another one."""
    if last > len(bounds):  # files of earlier versions have no bounds
        return f"interval {first}" if first == last else f"intervals {first} to {last}"
    low, high = (f"{bounds[code - 1]:.{BOUND_DIGITS}g}" if code else "" for code in (first - 1, last))
    if last == len(bounds):
        return f"> {low}" if low else "known"
    return f"{low} < x <= {high}" if low else f"<= {high}"


def p_text(log: float) -> str:
    """Write a p-value, given as its logarithm, with three digits; it may be too small for a float."""
    if log == -math.inf:
        return "0"
    if log > -600:
        return f"{math.exp(log):.3g}"
    exponent = math.floor(log / math.log(10))
    return f"{math.exp(log - exponent * math.log(10)):.2f}e{exponent}"
