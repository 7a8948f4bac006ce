"""Rules with linear models as one self-contained web page, which predicts for values that the reader chooses.

The page holds conditions and models with all digits, so that its predictions have the bits of those of the rules.  This file
knows no estimators.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._data.schema import Feature, Schema
from fasttree._data.table import Table
from fasttree._explain.page.common.cells import features_data, numbers_of, rows_data
from fasttree._explain.page.common.document import assembled
from fasttree._model.committees.committee import Committee, ModelRule, condition_texts, formula_text, thresholds_in
from fasttree._model.conditions import Condition
from fasttree._model.words import check_count, name_text, threshold_texts, word

__all__ = ["committee_data", "export_committee_html"]

SCRIPTS = ("common/numbers", "common/elements", "common/fields", "committees/predictions", "committees/panels")
STYLES = ("page", "additive/additive", "committees/rules")  # the columns of the page of additive models


def export_committee_html(committee: Committee, schema: Schema, shown: Schema, **how: Any) -> str:
    """Write the page of rules; parameters are those of `committee_data`."""
    data = committee_data(committee, schema, shown, **how)
    return assembled(data["title"], data, template="committees/rules", scripts=SCRIPTS, styles=STYLES)


def committee_data(
    committee: Committee,
    schema: Schema,
    shown: Schema,
    *,
    title: str,
    target: str,
    table: Table | None = None,
    truth: npt.NDArray[Any] | None = None,
    max_rows: int = 200,
) -> dict[str, Any]:
    """Return the data of rules in their page.

    Parameters
    ----------
    committee : Committee
    schema, shown : Schema
        The columns of the fit, and the same in the words of the reader.
    title, target : str
    table : Table or None, default None
        Samples to choose from.
    truth : array, shape (n_samples,), or None, default None
        Targets of the samples.
    max_rows : int, default 200
        Maximum number of the samples to embed.

    Returns
    -------
    dict
        Each of the `members` is a list of rules: its `conditions`, those on one feature with one text and several `tests`, its
        model, and its figures.  `filling` is null for a feature without terms.
    """
    check_count("max_rows", max_rows, 0)
    thresholds = threshold_texts(thresholds_in(committee.rules()))
    names = [name_text(feature.name) for feature in shown.features]
    categories = [list(map(word, feature.categories or ())) for feature in shown.features]
    features = list(range(len(schema.features)))
    rows = None
    if table is not None:
        truth_of = None if truth is None else lambda chosen: numbers_of(truth[chosen])
        rows = rows_data(table, features, truth_of, int(max_rows))
    return {
        "title": title.encode("utf-8", "replace").decode("utf-8"),
        "target": target,
        "features": features_data(shown, names, categories),
        "filling": [None if number != number else number for number in committee.filling.tolist()],
        "default": committee.default,
        "hasNeighbors": committee.neighbors is not None,
        "members": [[_rule(rule, schema, shown, thresholds) for rule in member] for member in committee.members],
        "rows": rows,
    }


def _rule(rule: ModelRule, schema: Schema, shown: Schema, thresholds: Mapping[tuple[int, float], str]) -> dict[str, Any]:
    names = [feature.name for feature in shown.features]
    in_words = replace(
        rule,
        conditions=tuple(each.relabelled(schema.features[each.index], shown.features[each.index]) for each in rule.conditions),
    )
    return {
        "conditions": [
            {"text": text, "tests": _tests(rule.conditions, feature, schema.features[feature])}
            for feature, text in condition_texts(in_words, thresholds)
        ],
        "formula": formula_text(rule, names),
        "intercept": rule.intercept,
        "terms": [[feature, coefficient] for feature, coefficient in rule.terms],
        "lower": rule.lower,
        "upper": rule.upper,
        "cover": rule.cover,
        "mean": float(f"{rule.mean:.6g}"),
        "error": float(f"{rule.error:.6g}"),
    }


def _tests(conditions: Sequence[Condition], index: int, feature: Feature) -> list[dict[str, Any]]:
    """Return what a page tests of a feature: values up to `most`, those above `above`, or codes."""
    found = []
    for condition in conditions:
        if condition.index != index:
            continue
        test: dict[str, Any] = {"feature": index, "missing": bool(condition.missing)}
        if condition.threshold is None:
            codes = np.flatnonzero([category in condition.categories for category in feature.categories or ()]) + 1
            found.append(test | {"codes": codes.tolist()})
        else:
            found.append(test | {"most" if condition.operator == "<=" else "above": float(condition.threshold)})
    return found
