"""A tree as PMML 4.4: one `TreeModel` whose predicates say of every value, and of a missing one, where it goes.

PMML has one strategy for missing values per model, and trees a policy per node; so the strategy is "none", by which a predicate
on a missing value is not true, and every branch that takes missing values says so itself (`isMissing`, or `surrogate` with what
decides in the end as its last predicate).  A sample that no branch takes stays where it is (`returnLastPrediction`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._schema import Category, Feature, Kind, default_target_names
from .._tree import STOP
from .branches import REFUSED, Answers, Interval, Test, answers, apart, destinations, surrogates_of, test_of
from .subject import Subject
from .substitutes import Adapted, Medium, adapt

__all__ = ["PMML", "export_pmml"]

PMML = Medium("PMML document", "gets no result", surrogates=True)
NAMESPACE = "http://www.dmg.org/PMML-4_4"

TRUE, FALSE = "<True/>", "<False/>"
ARRAY_TYPES = {"string": "string", "integer": "int", "double": "real", "boolean": "string"}
DEEPEST_INDENT = 24  # a chain of thousands of nodes would be all blanks
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export_pmml(
    subject: Subject,
    version: str,
    *,
    name: str = "prediction",
    target: int = 0,
    missing: str | None = None,
    soft: str | None = None,
) -> str:
    """Write a tree as a PMML 4.4 document.

    Parameters
    ----------
    subject : Subject
    version : str
        Of the library.
    name : str, default "prediction"
        Name of the output field; underscores follow where a feature has it.
    target : int, default 0
        Which of several targets.
    missing, soft : str or None
        Substitutes, as for `adapt`.

    Returns
    -------
    str
        The same for the same tree.

    Raises
    ------
    ValueError
        If PMML cannot express the tree and no substitute is named, if a text has a character that XML cannot hold, or if a
        parameter is not as stated.
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r}: must be a string that is not empty")
    found = answers(subject, target)
    adapted = adapt(subject, PMML, missing=missing, soft=soft)
    names = subject.target_names or default_target_names(subject.tree.n_outputs)
    return "\n".join([*_Writer(subject, adapted, found, names[target], name, missing).document(version), ""])


class _Writer:
    def __init__(self, subject: Subject, adapted: Adapted, found: Answers, target: str, name: str, missing: str | None) -> None:
        self.subject, self.adapted, self.found = subject, adapted, found
        self.tree, self.features = adapted.subject.tree, subject.schema.features
        if not all(feature.name for feature in self.features):
            raise ValueError("'' cannot be written in PMML: a field has a name that is not empty; rename it")
        self.missing, self.unseen = destinations(subject, adapted)
        self.refuses_missing = subject.refuses_missing and missing != "majority"
        # by field: else an unseen category would be told as missing, which the model refuses or sends elsewhere
        self.keeps_unseen = not subject.refuses_unseen and bool((self.missing != self.unseen).any())
        refused = np.zeros(self.tree.node_count, bool)
        if not self.refuses_missing:
            refused |= self.missing == REFUSED
        self.refused: NDArray[np.bool_] = refused | (self.unseen == REFUSED) & self.keeps_unseen
        # nodes that write a branch for what stays in them: there is no result where none is true
        stops = (self.tree.n_branches > 0) & ((self.missing == STOP) | (self.unseen == STOP))
        self.stays: NDArray[np.bool_] = stops & ~self.refused & self.refused.any()
        taken = [feature.name for feature in self.features]
        self.target = apart(target, taken)
        self.name = apart(name, [*taken, self.target])
        self.node_name = apart("node", [*taken, self.target, self.name])
        taken += [self.target, self.name, self.node_name]
        self.probability_names: list[str] = []
        for label in found.labels:
            self.probability_names.append(apart(f"probability_{_text(label)}", taken))
            taken.append(self.probability_names[-1])

    def document(self, version: str) -> Iterator[str]:
        """The lines of the document."""
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield f'<PMML version="4.4" xmlns="{NAMESPACE}">'
        yield f" <Header{_attributes(description=f'decision tree ({self.subject.algorithm})')}>"
        yield f"  <Application{_attributes(name='fasttree', version=version)}/>"
        for note in self.adapted.notes:
            yield f"  <Annotation>{_escaped(note)}</Annotation>"
        yield " </Header>"
        yield from self._dictionary()
        yield from self._model()
        yield "</PMML>"

    def _dictionary(self) -> Iterator[str]:
        yield f' <DataDictionary numberOfFields="{len(self.features) + 1}">'
        for feature in self.features:
            if feature.categories is None:
                yield f"  <DataField{_attributes(name=feature.name, optype='continuous', dataType='double')}/>"
            else:
                optype = "ordinal" if feature.kind == Kind.ORDINAL else "categorical"
                yield from _categorical_field(feature.name, optype, feature.categories)
        if self.found.labels:
            yield from _categorical_field(self.target, "categorical", self.found.labels)
        else:
            yield f"  <DataField{_attributes(name=self.target, optype='continuous', dataType='double')}/>"
        yield " </DataDictionary>"

    def _model(self) -> Iterator[str]:
        refused = bool(self.refused.any())
        binary = bool(np.isin(self.tree.n_branches, (0, 2)).all()) and not self.stays.any()
        attributes = {
            "modelName": "tree",
            "functionName": self.tree.task,
            "algorithmName": self.subject.algorithm,
            "missingValueStrategy": "none",
            "noTrueChildStrategy": "returnNullPrediction" if refused else "returnLastPrediction",
            "splitCharacteristic": "binarySplit" if binary else "multiSplit",
        }
        yield f" <TreeModel{_attributes(**attributes)}>"
        yield from self._mining_schema()
        yield from self._output()
        yield from self._nodes()
        yield " </TreeModel>"

    def _mining_schema(self) -> Iterator[str]:
        yield "  <MiningSchema>"
        treatment = {"missingValueTreatment": "returnInvalid"} if self.refuses_missing else {}
        of_unseen = "returnInvalid" if self.subject.refuses_unseen else "asIs" if self.keeps_unseen else "asMissing"
        for feature in self.features:
            invalid = of_unseen if feature.categories is not None else "returnInvalid" if self.refuses_missing else "asMissing"
            yield f"   <MiningField{_attributes(name=feature.name, invalidValueTreatment=invalid, **treatment)}/>"
        yield f"   <MiningField{_attributes(name=self.target, usageType='target')}/>"
        yield "  </MiningSchema>"

    def _output(self) -> Iterator[str]:
        labels = self.found.labels
        optype, data_type = ("categorical", _data_type(labels)) if labels else ("continuous", "double")
        yield "  <Output>"
        yield f"   <OutputField{_attributes(name=self.name, optype=optype, dataType=data_type, feature='predictedValue')}/>"
        for label, name in zip(labels, self.probability_names, strict=True):
            attributes = {"optype": "continuous", "dataType": "double", "feature": "probability", "value": _text(label)}
            yield f"   <OutputField{_attributes(name=name, **attributes)}/>"
        attributes = {"optype": "categorical", "dataType": "string", "feature": "entityId"}
        yield f"   <OutputField{_attributes(name=self.node_name, **attributes)}/>"
        yield "  </Output>"

    def _nodes(self) -> Iterator[str]:
        """The nodes depth first, with a stack of what is still to be written: a tree may be deeper than Python recurses."""
        waiting: list[tuple[int, int, str] | str] = [(0, 2, TRUE)]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                yield item
                continue
            node, depth, predicate = item
            blanks = " " * min(depth, DEEPEST_INDENT)
            yield from self._open(node, str(node), blanks, predicate)
            below = self._children(node, depth + 1, blanks) if self.tree.n_branches[node] else []
            waiting += [*below, f"{blanks}</Node>"][::-1]

    def _children(self, node: int, depth: int, blanks: str) -> list[tuple[int, int, str] | str]:
        first = int(self.tree.first_child[node])
        found: list[tuple[int, int, str] | str] = [
            (first + branch, depth, predicate) for branch, predicate in enumerate(self._predicates(node))
        ]
        if self.stays[node]:
            found += [*self._open(node, f"{node}:stay", f"{blanks} ", TRUE), f"{blanks} </Node>"]
        return found

    def _open(self, node: int, identity: str, blanks: str, predicate: str) -> Iterator[str]:
        score, weight = _text(self.found.values[node]), _number(self.tree.weight[node])
        yield f"{blanks}<Node{_attributes(id=identity, score=score, recordCount=weight)}>"
        yield f"{blanks} {predicate}"
        for k, label in enumerate(self.found.labels):
            weight, probability = _number(self.found.weights[node, k]), _number(self.found.probabilities[node, k])
            attributes = _attributes(value=_text(label), recordCount=weight, probability=probability)
            yield f"{blanks} <ScoreDistribution{attributes}/>"

    def _predicates(self, node: int) -> list[str]:
        """The predicate of each branch."""
        test = test_of(self.tree, self.subject.schema, node)
        surrogates = surrogates_of(self.tree, self.subject.schema, node)
        missing, unseen = int(self.missing[node]), int(self.unseen[node])
        branches = range(len(test.takes))
        if surrogates:
            last = unseen if self.refuses_missing else missing
            return [self._in_turn([test, *surrogates], branch, last == branch) for branch in branches]
        return [self._alone(test, branch, missing == branch, unseen == branch) for branch in branches]

    def _alone(self, test: Test, branch: int, takes_missing: bool, takes_unseen: bool) -> str:
        parts = []
        others = test.known_beside(branch)
        if takes_unseen and (self.keeps_unseen or not test.decides_all) and test.feature.categories is not None:
            parts.append(_is_among(test.feature, others, "isNotIn") if others else _simple(test.feature, "isNotMissing"))
        elif test.takes[branch] is not None:
            parts.append(_takes(test, branch))
        if takes_missing and not self.refuses_missing:
            parts.append(_is_missing(test.feature))
        return _compound("or", parts) if parts else FALSE

    def _in_turn(self, tests: Sequence[Test], branch: int, takes_undecided: bool) -> str:
        """True where the first test that decides says this branch, or none decides and the branch takes what is left."""
        alternatives = [TRUE if takes_undecided else FALSE]
        for test in reversed(tests):
            if test.takes[branch] is not None and test.decides_all and not self.keeps_unseen:
                alternatives.insert(0, _takes(test, branch))
                continue
            # "surrogate" goes on where a predicate is unknown: for a missing value, not for a category without a branch
            rest = [self._is_undecided(test), _compound("surrogate", alternatives)]
            own = [_takes(test, branch)] if test.takes[branch] is not None else []
            alternatives = [_compound("or", [*own, _compound("and", rest)])]
        return _compound("surrogate", alternatives)

    def _is_undecided(self, test: Test) -> str:
        parts = [] if self.refuses_missing else [_is_missing(test.feature)]
        if test.feature.categories is not None and (self.keeps_unseen or not test.decides_all):
            parts.append(_is_among(test.feature, test.known, "isNotIn"))
        return _compound("or", parts) if parts else FALSE


def _categorical_field(name: str, optype: str, values: Sequence[Any]) -> Iterator[str]:
    yield f"  <DataField{_attributes(name=name, optype=optype, dataType=_data_type(values))}>"
    for value in values:
        yield f"   <Value{_attributes(value=_text(value))}/>"
    yield "  </DataField>"


def _data_type(values: Iterable[Any]) -> str:
    types = {type(value) for value in values}
    if types == {bool}:
        return "boolean"
    if str in types:
        return "string"
    return "double" if float in types else "integer"


def _takes(test: Test, branch: int) -> str:
    part = test.takes[branch]
    assert part is not None
    if not isinstance(part, Interval):
        return _is_among(test.feature, part, "isIn")
    limits = []
    if math.isfinite(part.low):
        limits.append(_simple(test.feature, "greaterThan", _number(part.low)))
    if math.isfinite(part.high):
        limits.append(_simple(test.feature, "lessOrEqual", _number(part.high)))
    return _compound("and", limits) if limits else _simple(test.feature, "isNotMissing")


def _is_among(feature: Feature, categories: tuple[Category, ...], operator: str) -> str:
    """`isIn` or `isNotIn`; category by category where an array would need escapes, which readers take in different ways."""
    assert feature.categories is not None
    data_type = _data_type(feature.categories)
    if data_type == "string" and any('"' in str(category) or "\\" in str(category) for category in categories):
        comparison, junction = ("equal", "or") if operator == "isIn" else ("notEqual", "and")
        return _compound(junction, [_simple(feature, comparison, _text(category)) for category in categories])
    items = [f'"{category}"' if data_type == "string" else _text(category) for category in categories]
    array = f'<Array n="{len(items)}" type="{ARRAY_TYPES[data_type]}">{_escaped(" ".join(items))}</Array>'
    return f"<SimpleSetPredicate{_attributes(field=feature.name, booleanOperator=operator)}>{array}</SimpleSetPredicate>"


def _is_missing(feature: Feature) -> str:
    return _simple(feature, "isMissing")


def _simple(feature: Feature, operator: str, value: str | None = None) -> str:
    given = {} if value is None else {"value": value}
    return f"<SimplePredicate{_attributes(field=feature.name, operator=operator, **given)}/>"


def _compound(operator: str, parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: Any) -> str:
    """The shortest decimal that is read as the same double."""
    return repr(float(value))


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(text: str) -> str:
    wrong = NOT_XML.search(text)
    if wrong is not None:
        raise ValueError(f"{text!r} cannot be written in PMML: XML 1.0 has no character {wrong.group()!r}; rename it")
    return text.translate(ESCAPES)
