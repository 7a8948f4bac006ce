"""Rules with models as a Python module that imports only `math`."""

from __future__ import annotations

from collections.abc import Iterator

from fasttree._export.committees.subject import CommitteeSubject
from fasttree._export.python import reading
from fasttree._export.python_module import block, head_tables, module_source
from fasttree._model.committees.committee import ModelRule
from fasttree._version import __version__

__all__ = ["export_committee_python"]


def export_committee_python(subject: CommitteeSubject, name: str = "rules") -> str:
    """Write rules with models as the source of a Python module.

    Parameters
    ----------
    subject : CommitteeSubject
    name : str, default "rules"
        Name of the rules in the docstring of the module.

    Returns
    -------
    str
        Source for CPython 3.8 and later, with `predict` for one row.

    Raises
    ------
    ValueError
        If the name is not a Python name.
    """
    about = [
        subject.text(),
        f"Written by fasttree {__version__}; its results are those of the model's predict, to the last bit.",
    ]
    return module_source(name, "rules", about, subject, [_tables(subject), PREDICT, *reading(subject)])


def _tables(subject: CommitteeSubject) -> str:
    committee = subject.committee
    written = [*head_tables(subject.schema.features)]
    filling = ["None" if value != value else repr(value) for value in committee.filling.tolist()]
    written.append(block("FILLING", "what takes the place of a missing value in a model", filling))
    written.append(f"DEFAULT = {committee.default!r}  # what a rule set predicts of which no rule holds")
    comment = "of each rule set the rules: intercept, terms, bounds, conditions"
    written.append(block("MEMBERS", comment, (_member(subject, member) for member in committee.members)))
    return "\n".join(written)


def _member(subject: CommitteeSubject, member: tuple[ModelRule, ...]) -> str:
    rules = (f"        {_rule(subject, rule)}," for rule in member)
    return "(\n" + "".join(f"{rule}\n" for rule in rules) + "    )"


def _rule(subject: CommitteeSubject, rule: ModelRule) -> str:
    return f"({rule.intercept!r}, {rule.terms!r}, {rule.lower!r}, {rule.upper!r}, ({' '.join(_conditions(subject, rule))}))"


def _conditions(subject: CommitteeSubject, rule: ModelRule) -> Iterator[str]:
    for condition in rule.conditions:
        missing = bool(condition.missing)
        if condition.threshold is None:
            yield f'({condition.index}, "in", {tuple(subject.codes(condition))!r}, {missing}),'
        else:
            yield f'({condition.index}, "{condition.operator}", {float(condition.threshold)!r}, {missing}),'


PREDICT = '''
def predict(row):
    """Return the prediction for a row: the mean of the rule sets."""
    x = _sample(row)
    total = 0.0
    for member in MEMBERS:
        total += _mean(x, member)
    return total / len(MEMBERS)


def _mean(x, rules):
    """Return the mean of the rules that hold."""
    total = count = 0.0
    for value, terms, lower, upper, conditions in rules:
        if all(_holds(x[feature], operator, limit, missing) for feature, operator, limit, missing in conditions):
            for feature, coefficient in terms:
                x_j = x[feature]
                value += coefficient * (x_j if x_j == x_j else FILLING[feature])
            total += min(max(value, lower), upper)
            count += 1.0
    return total / count if count else DEFAULT


def _holds(x_j, operator, limit, missing):
    """Return whether a value passes a condition; `missing` says whether a missing value does."""
    if x_j != x_j or (operator == "in" and not x_j):
        return missing
    return x_j <= limit if operator == "<=" else x_j > limit if operator == ">" else x_j in limit
'''
