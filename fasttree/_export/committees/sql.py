"""Rules with models as an SQL expression or query."""

from __future__ import annotations

from collections.abc import Sequence

from fasttree._export.branches import apart
from fasttree._export.committees.subject import CommitteeSubject
from fasttree._export.sql import check_names
from fasttree._export.sql_dialect import DialectName
from fasttree._export.sql_text import ColumnTexts, columns_of
from fasttree._model.committees.committee import ModelRule

__all__ = ["export_committee_sql"]


def export_committee_sql(
    subject: CommitteeSubject,
    *,
    table: str | Sequence[str] | None = None,
    name: str | None = None,
    dialect: DialectName = "standard",
    cast: bool | Sequence[str] = False,
    nan_as_missing: bool = False,
) -> str:
    """Write rules with models as an SQL expression or query that predicts as the model does, bit for bit.

    Each member is the sum of the formulas of its rules that hold, divided by their number.

    Parameters
    ----------
    subject : CommitteeSubject
    table : str or sequence of str, optional
        Name of a table, or the names of its schema and the table.  The result is then a query of all its columns and
        ``prediction``.
    name : str, optional
        Name of the result.
    dialect, cast, nan_as_missing
        See `CARTRegressor.export_sql`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a name or category cannot be written, or a parameter is invalid.
    """
    parts = check_names(name, table, None)
    columns = columns_of(subject.schema, dialect, cast, nan_as_missing)
    text = _expression(subject, columns)
    if not parts:
        return text if name is None else f"{text} AS {columns.dialect.identifier(name)}"
    taken = [feature.name for feature in subject.schema.features]
    label = columns.dialect.identifier(apart(name or "prediction", taken))
    source = ".".join(map(columns.dialect.identifier, parts))
    return f"SELECT {source}.*, {text} AS {label}\nFROM {source}"


def _expression(subject: CommitteeSubject, columns: ColumnTexts) -> str:
    dialect, committee, models = columns.dialect, subject.committee, subject.committee.models()
    members, node = [], 0
    for rules in committee.members:
        formulas = []
        for rule in rules:
            formulas.append((_predicate(rule, columns), columns.formula(subject.schema, models, node)))
            node += 1
        zero, one, default = (dialect.literal(number) for number in (0.0, 1.0, committee.default))
        if not formulas:
            members.append(default)
            continue
        if len(formulas) == 1 and not rules[0].conditions:
            members.append(formulas[0][1])
            continue
        total = "\n  + ".join(f"CASE WHEN {test} THEN {formula} ELSE {zero} END" for test, formula in formulas)
        count = "\n  + ".join(f"CASE WHEN {test} THEN {one} ELSE {zero} END" for test, _ in formulas)
        members.append(f"COALESCE((\n  {total}\n) / NULLIF(\n  {count}\n, {zero}), {default})")
    mean = f"({' + '.join(members)}) / {dialect.literal(float(len(members)))}"
    text = f"CAST({mean if len(members) > 1 else members[0]} AS {dialect.double})"
    if not subject.refuses_unseen:
        return text
    used = sorted({condition.index for rule in committee.rules() for condition in rule.conditions})
    features = [subject.schema.features[i] for i in used]
    tests = [columns.is_other(feature, feature.categories) for feature in features if feature.categories]
    return f"CASE WHEN {' OR '.join(f'({test})' for test in tests)} THEN NULL ELSE {text} END" if tests else text


def _predicate(rule: ModelRule, columns: ColumnTexts) -> str:
    return " AND ".join(map(columns.predicate, rule.conditions)) or "1 = 1"
