"""A committee of rule sets, learned from a table, in the words of its columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._data.schema import Kind, Schema
from fasttree._data.table import Table
from fasttree._learn import progress
from fasttree._learn.cubist.problem import CommitteeChoices, CommitteeProblem, problem_of
from fasttree._learn.cubist.rules import RuleDraft, RuleTest, committee_of
from fasttree._model.committees.committee import Committee, ModelRule
from fasttree._model.committees.neighbors import WIDE, Neighbors, average_distance
from fasttree._model.conditions import Condition

__all__ = ["learn_committee"]


def learn_committee(
    table: Table, target: Floats, weight: Floats | None, rows: npt.NDArray[np.intp], choices: CommitteeChoices, neighbors: int
) -> Committee:
    """Learn rules from some rows of a table; with `neighbors`, predictions are corrected by so many of them."""
    problem = problem_of(table, target, weight, rows, choices)
    report, drafts = progress.steps("rule sets", choices.committees), list[list[RuleDraft]]()
    report(0)
    for draft in committee_of(problem):
        drafts.append(draft)
        report(len(drafts))
    filling = np.full(table.n_features, np.nan)
    continuous = problem.features[: problem.n_continuous]
    filling[continuous] = problem.filling[continuous]
    names = tuple(feature.name for feature in table.schema.features)
    parts = {part: None for member in drafts for draft in member for part in draft.parts}
    conditions = {part: _condition(problem, table.schema, part) for part in parts}
    members = tuple(tuple(_rule(problem, names, draft, conditions) for draft in member) for member in drafts)
    committee = Committee(members, filling, problem.mean, n_samples=problem.n)
    if not neighbors:
        return committee
    return replace(committee, neighbors=_neighbors(problem, committee, table, rows, neighbors))


def _rule(
    problem: CommitteeProblem, names: tuple[str, ...], draft: RuleDraft, conditions: dict[RuleTest, Condition]
) -> ModelRule:
    continuous = problem.features[: problem.n_continuous].tolist()
    scaled = zip(continuous, draft.model[1:], problem.scale.tolist(), strict=True)
    terms = [(feature, number * scale) for feature, number, scale in scaled if number]
    return ModelRule(
        tuple(conditions[part] for part in draft.parts),
        draft.model[0] + 0.0,
        tuple(sorted(terms)),
        *draft.bounds,
        draft.cover,
        draft.mean,
        draft.least,
        draft.largest,
        draft.estimate,
        names,
    )


def _condition(problem: CommitteeProblem, schema: Schema, part: RuleTest) -> Condition:
    index = int(problem.features[part.feature])
    feature, filling = schema.features[index], float(problem.filling[index])
    if feature.kind == Kind.CONTINUOUS:
        cut = float(part.cut / problem.scale[part.feature])
        missing = float((filling > cut) == part.above)
        low, high = (cut, np.inf) if part.above else (-np.inf, cut)
        return Condition.interval(feature, index, low, high, missing=missing)
    categories = feature.categories or ()
    missing = float(int(filling) in part.codes)
    return Condition.among(feature, index, [categories[code] for code in part.codes], missing=missing)


def _neighbors(problem: CommitteeProblem, committee: Committee, table: Table, rows: npt.NDArray[np.intp], n: int) -> Neighbors:
    d = problem.n_continuous
    scale = WIDE * problem.deviations
    steps = 2.0 / np.maximum(problem.sizes, 1)
    columns = [column / size if size else np.zeros(problem.n) for column, size in zip(problem.columns, scale, strict=True)]
    points = np.column_stack([*columns, *problem.codes.astype(np.float64)]).reshape(problem.n, -1)
    # in the problem's order of the rows, which depends on their values alone
    predicted = committee.predict_by_rules(table)[rows][problem.place]
    floor, ceiling = problem.bounds
    radius = average_distance(points, d, steps)
    return Neighbors(
        n, problem.features, points, scale / problem.scale, steps, problem.filling, problem.y, predicted, floor, ceiling, radius
    )  # fmt: skip
