"""Rules with models as PMML 4.4: the mean of the members, each the mean of the linear models whose conditions hold.

A `RuleSetModel` has a constant for each rule.  A `MiningModel` averages segments whose predicates are true, and a segment may
hold a linear model with its bounds.  A mean of no segment would be missing, so a member first asks whether a rule holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fasttree._export.branches import apart
from fasttree._export.committees.subject import CommitteeSubject
from fasttree._export.pmml_parts.pieces import (
    TRUE,
    attributes,
    check_fields,
    check_name,
    compound,
    dictionary_lines,
    document_lines,
    is_among,
    is_missing,
    number_text,
    regression_lines,
    simple,
)
from fasttree._model.committees.committee import ModelRule
from fasttree._model.conditions import Condition
from fasttree._version import __version__

__all__ = ["export_committee_pmml"]


def export_committee_pmml(subject: CommitteeSubject, target: str, *, name: str = "prediction") -> str:
    """Write rules with models as a PMML 4.4 document.

    Parameters
    ----------
    subject : CommitteeSubject
    target : str
        Name of the target.
    name : str, default "prediction"
        Name of the output field; underscores are added if a feature has the same name.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If a text has a character that XML cannot hold, or a name is not one.
    """
    check_name(name)
    check_fields(subject.schema.features)
    return "\n".join([*_Writer(subject, target, name).document(), ""])


class _Writer:
    def __init__(self, subject: CommitteeSubject, target: str, name: str) -> None:
        self.subject, self.features = subject, subject.schema.features
        self.names = [feature.name for feature in self.features]
        self.target = apart(target, self.names)
        self.name = apart(name, [*self.names, self.target])
        self.models = subject.committee.models()

    def document(self) -> Iterator[str]:
        """Yield the lines of the document."""
        described = self.subject.text().rstrip(".")
        return document_lines(described, __version__, (), dictionary_lines(self.features, self.target), self.committee())

    def committee(self) -> Iterator[str]:
        given = {"modelName": "rules", "functionName": "regression", "algorithmName": self.subject.algorithm}
        yield f" <MiningModel{attributes(**given)}>"
        yield from self.schema(range(len(self.features)), "returnInvalid" if self.subject.refuses_unseen else "asMissing")
        yield "  <Output>"
        field = attributes(name=self.name, optype="continuous", dataType="double", feature="predictedValue")
        yield f"   <OutputField{field}/>"
        yield "  </Output>"
        yield '  <Segmentation multipleModelMethod="average">'
        start = 0
        for number, member in enumerate(self.subject.committee.members):
            yield from _segment(str(number), TRUE, self.member(member, start))
            start += len(member)
        yield "  </Segmentation>"
        yield " </MiningModel>"

    def schema(self, used: Iterable[int], of_unseen: str) -> Iterator[str]:
        yield "  <MiningSchema>"
        for feature in (self.features[index] for index in used):
            treatment = "asMissing" if feature.categories is None else of_unseen
            yield f"   <MiningField{attributes(name=feature.name, invalidValueTreatment=treatment)}/>"
        yield f"   <MiningField{attributes(name=self.target, usageType='target')}/>"
        yield "  </MiningSchema>"

    def member(self, rules: tuple[ModelRule, ...], start: int) -> Iterator[str]:
        """Yield the model of a member, whose rules have models from `start` on."""
        if len(rules) == 1 and not rules[0].conditions:
            yield from self.formula(start)
            return
        if not rules:
            yield from self.formula(-1)
            return
        used = {each.index for rule in rules for each in rule.conditions} | {j for rule in rules for j, _ in rule.terms}
        predicates = [self.predicate(rule) for rule in rules]
        held = self.segmentation("average", used, ((each, self.formula(start + i)) for i, each in enumerate(predicates)))
        if TRUE in predicates:
            yield from held
            return
        parts = [(compound("or", predicates), held), (TRUE, self.formula(-1))]
        yield from self.segmentation("selectFirst", used, iter(parts))

    def segmentation(self, method: str, used: Iterable[int], parts: Iterator[tuple[str, Iterator[str]]]) -> Iterator[str]:
        """Yield a model of models with their predicates; `used` are the features that they read."""
        yield ' <MiningModel functionName="regression">'
        yield from self.schema(sorted(used), "asMissing")
        yield f'  <Segmentation multipleModelMethod="{method}">'
        for place, (predicate, model) in enumerate(parts):
            yield from _segment(str(place), predicate, model)
        yield "  </Segmentation>"
        yield " </MiningModel>"

    def formula(self, node: int) -> Iterator[str]:
        """Yield a model; -1 is that of the default."""
        place = range(self.models.intercept.size)[node]
        return regression_lines(self.features, self.target, self.models, place, self.names)

    def predicate(self, rule: ModelRule) -> str:
        return compound("and", list(map(self.test, rule.conditions))) if rule.conditions else TRUE

    def test(self, condition: Condition) -> str:
        feature = self.features[condition.index]
        if condition.threshold is None:
            known = is_among(feature, condition.categories, "isIn")
        else:
            operator = "lessOrEqual" if condition.operator == "<=" else "greaterThan"
            known = simple(feature, operator, number_text(condition.threshold))
        return compound("or", [known, is_missing(feature)]) if condition.missing else known


def _segment(identity: str, predicate: str, model: Iterator[str]) -> Iterator[str]:
    yield f'<Segment id="{identity}">'
    yield predicate
    yield from model
    yield "</Segment>"
