"""Significance tests of the nodes of a tree in a document: an object per node; null for an infinite number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fasttree._export.document.values import DocumentError, as_index, as_number, as_type, entry_of, short
from fasttree._model.tested import REASONS, MergeStep, NodeTest, PredictorTest

_MOST = 2**31 - 1  # categories


def written(tests: Sequence[NodeTest]) -> list[dict[str, Any]]:
    """Return the tests of all nodes for JSON."""
    return [
        {
            "reason": test.reason,
            **({} if test.split is None else {"split": _written_test(test.split)}),
            "predictors": [_written_test(each) for each in test.predictors],
            "merges": [
                {
                    "one": list(step.one),
                    "other": list(step.other),
                    "statistic": _written_number(step.statistic),
                    "log_p_value": _written_number(step.log_p_value),
                    **({"divides": True} if step.divides else {}),
                }
                for step in test.merges
            ],
            **({"bounds": list(test.bounds)} if test.bounds else {}),
        }
        for test in tests
    ]


def _written_test(test: PredictorTest) -> dict[str, Any]:
    return {
        "feature": test.feature,
        "n_categories": test.n_categories,
        "n_groups": test.n_groups,
        "statistic": _written_number(test.statistic),
        "df": list(test.df),
        "log_p_value": _written_number(test.log_p_value),
        "log_multiplier": test.log_multiplier,
    }


def _written_number(number: float) -> float | None:
    return number if math.isfinite(number) else None


def read(document: dict[str, Any], n_nodes: int, n_features: int) -> list[NodeTest] | None:
    """Return the tests of the nodes in the order of the document, or None if it has none.

    Raises
    ------
    DocumentError
        If an entry is malformed.
    """
    if "significance" not in document:
        return None
    entries = entry_of(document, "significance", list)
    if len(entries) != n_nodes:
        raise DocumentError(f"significance: must have an entry per node, {n_nodes}; got {len(entries)}")
    return [_read_node(entry, f"significance[{i}]", n_features) for i, entry in enumerate(entries)]


def _read_node(entry: Any, where: str, n_features: int) -> NodeTest:
    entry = as_type(entry, dict, where)
    reason = entry_of(entry, "reason", str, where)
    if reason not in REASONS:
        raise DocumentError(f"{where}.reason: must be one of {', '.join(map(repr, REASONS))}; got {short(reason)}")
    predictors = entry_of(entry, "predictors", list, where)
    merges = entry_of(entry, "merges", list, where)
    return NodeTest(
        reason,
        _read_test(entry["split"], f"{where}.split", n_features) if "split" in entry else None,
        tuple(_read_test(each, f"{where}.predictors[{i}]", n_features) for i, each in enumerate(predictors)),
        tuple(_read_step(each, f"{where}.merges[{i}]") for i, each in enumerate(merges)),
        _read_bounds(entry, where),
    )


def _read_bounds(entry: dict[str, Any], where: str) -> tuple[float, ...]:
    given = as_type(entry.get("bounds", []), list, f"{where}.bounds")
    bounds = tuple(as_number(each, f"{where}.bounds") for each in given)
    if any(low >= high for low, high in pairwise(bounds)):
        raise DocumentError(f"{where}.bounds: must increase")
    return bounds


def _read_test(entry: Any, where: str, n_features: int) -> PredictorTest:
    entry = as_type(entry, dict, where)
    df = tuple(as_number(each, f"{where}.df") for each in entry_of(entry, "df", list, where))
    if len(df) not in (1, 2) or min(df) < 0:
        raise DocumentError(f"{where}.df: must be one or two numbers that are not negative")
    return PredictorTest(
        as_index(entry.get("feature"), n_features, f"{where}.feature"),
        as_index(entry.get("n_categories"), _MOST, f"{where}.n_categories"),
        as_index(entry.get("n_groups"), _MOST, f"{where}.n_groups"),
        _read_number(entry, "statistic", where, math.inf),
        df,
        _read_log(entry, where),
        _not_negative(as_number(entry.get("log_multiplier"), f"{where}.log_multiplier"), f"{where}.log_multiplier"),
    )


def _read_step(entry: Any, where: str) -> MergeStep:
    entry = as_type(entry, dict, where)
    one, other = (
        tuple(as_index(code, _MOST, f"{where}.{name}") for code in entry_of(entry, name, list, where))
        for name in ("one", "other")
    )
    statistic = _read_number(entry, "statistic", where, math.inf)
    return MergeStep(one, other, statistic, _read_log(entry, where), as_type(entry.get("divides", False), bool, where))


def _read_number(entry: dict[str, Any], key: str, where: str, infinite: float) -> float:
    value = entry.get(key, "")
    return infinite if value is None else as_number(value, f"{where}.{key}")


def _read_log(entry: dict[str, Any], where: str) -> float:
    log = _read_number(entry, "log_p_value", where, -math.inf)
    _not_negative(-log, f"minus {where}.log_p_value")
    return log


def _not_negative(number: float, where: str) -> float:
    if number < 0:
        raise DocumentError(f"{where}: must not be negative; got {number:g}")
    return number
