"""A tree as PMML 4.4: one `TreeModel` whose predicates decide on every value, missing ones included.

A forest is a `MiningModel` with a segment for each tree, whose predictions are averaged.

PMML has one strategy for missing values per model, but trees have a policy per node.  The strategy is therefore "none", where
predicates on missing values are not true.  A branch that takes missing values has a predicate for them: `isMissing`, or
`surrogate`, whose last predicate decides if no other does.  A sample that no branch takes stays in its node
(`returnLastPrediction`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Category, Feature, Kind, default_target_names
from fasttree._export.branches import REFUSED, Answers, Range, Test, answers, apart, destinations, surrogates_of, test_of
from fasttree._export.subject import Subject
from fasttree._export.substitutes import Adapted, Medium, adapt, adapt_forest
from fasttree._model.arrays import STOP
from fasttree._model.linear.model_tree import LinearModels, ModelTree
from fasttree._model.tree import EQUAL_LOSSES

__all__ = ["PMML", "export_forest_pmml", "export_pmml"]

PMML = Medium("PMML document", "gets no result", surrogates=True)
NAMESPACE = "http://www.dmg.org/PMML-4_4"

TRUE, FALSE = "<True/>", "<False/>"
ARRAY_TYPES = {"string": "string", "integer": "int", "double": "real", "boolean": "string"}
DEEPEST_INDENT = 24  # the document of a chain of thousands of nodes would be mostly blanks
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
        Version of the library.
    name : str, default "prediction"
        Name of the output field; underscores are added if a feature has the same name.
    target : int, default 0
        Number of the target.
    missing, soft : str or None
        Substitutes, as for `adapt`.

    Returns
    -------
    str
        The document, the same for the same tree.

    Raises
    ------
    ValueError
        If PMML cannot express the tree and no substitute is given, a text has a character that XML cannot hold, or a parameter
        is invalid.
    """
    _check_name(name)
    found = answers(subject, target)
    adapted = adapt(subject, PMML, missing=missing, soft=soft)
    writer = _Writer(subject, adapted, found, _target_name(subject, target), name, missing)
    model = writer.models(writer.tree) if isinstance(writer.tree, ModelTree) else writer.model()
    return "\n".join([*_document(writer, version, adapted.notes, "decision tree", model), ""])


def export_forest_pmml(
    subjects: Sequence[Subject],
    version: str,
    *,
    name: str = "prediction",
    target: int = 0,
    missing: str | None = None,
    soft: str | None = None,
) -> str:
    """Write the trees of a forest as a PMML 4.4 document; parameters are those of `export_pmml`."""
    _check_name(name)
    found = [answers(subject, target) for subject in subjects]
    adapted = list(adapt_forest(subjects, PMML, missing=missing, soft=soft))
    target_name = _target_name(subjects[0], target)
    writers = [_Writer(*of_tree, target_name, name, missing) for of_tree in zip(subjects, adapted, found, strict=True)]
    # a value that the whole model takes for missing could not be known as unseen in any tree
    keeps_unseen = any(writer.keeps_unseen for writer in writers)
    for writer in writers:
        writer.keep_unseen(keeps_unseen)
    notes = dict.fromkeys(note for one in adapted for note in one.notes)
    return "\n".join([*_document(writers[0], version, notes, f"mean of {len(writers)} decision trees", _segments(writers)), ""])


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r}: must be a string that is not empty")


def _target_name(subject: Subject, target: int) -> str:
    return (subject.target_names or default_target_names(subject.tree.n_outputs))[target]


def _document(writer: _Writer, version: str, notes: Iterable[str], what: str, model: Iterator[str]) -> Iterator[str]:
    """Yield the lines of the document."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<PMML version="4.4" xmlns="{NAMESPACE}">'
    yield f" <Header{_attributes(description=f'{what} ({writer.subject.algorithm})')}>"
    yield f"  <Application{_attributes(name='fasttree', version=version)}/>"
    for note in notes:
        yield f"  <Annotation>{_escaped(note)}</Annotation>"
    yield " </Header>"
    yield from writer.dictionary()
    yield from model
    yield "</PMML>"


def _segments(writers: Sequence[_Writer]) -> Iterator[str]:
    """Yield a model with a segment for each tree; if one gives no result, so does the model."""
    first = writers[0]
    yield f" <MiningModel{_attributes(modelName='forest', functionName=first.tree.task, algorithmName=first.subject.algorithm)}>"
    yield from first.mining_schema()
    yield from first.output(has_node=False)
    yield f"  <Segmentation{_attributes(multipleModelMethod='average', missingPredictionTreatment='returnMissing')}>"
    for i, writer in enumerate(writers):
        yield f'   <Segment id="{i}">'
        yield f"    {TRUE}"
        yield from writer.model(has_output=False)
        yield "   </Segment>"
    yield "  </Segmentation>"
    yield " </MiningModel>"


class _Writer:
    """Writer of the parts of one tree."""

    def __init__(self, subject: Subject, adapted: Adapted, found: Answers, target: str, name: str, missing: str | None) -> None:
        self.subject, self.adapted, self.found = subject, adapted, found
        self.tree, self.features = adapted.subject.tree, subject.schema.features
        if not all(feature.name for feature in self.features):
            raise ValueError("'' cannot be written in PMML: the name of a field must not be empty; rename it")
        self.missing, self.unseen = destinations(subject, adapted)
        self.refuses_missing = subject.refuses_missing and missing != "majority"
        # Else an unseen category would be read as missing, which the model rejects or sends elsewhere.
        self.keep_unseen(not subject.refuses_unseen and bool((self.missing != self.unseen).any()))
        taken = [feature.name for feature in self.features]
        self.target = apart(target, taken)
        self.name = apart(name, [*taken, self.target])
        self.node_name = apart("node", [*taken, self.target, self.name])
        taken += [self.target, self.name, self.node_name]
        self.probability_names: list[str] = []
        for label in found.labels:
            self.probability_names.append(apart(f"probability_{_text(label)}", taken))
            taken.append(self.probability_names[-1])

    def keep_unseen(self, keeps_unseen: bool) -> None:
        """Set whether unseen categories reach the predicates as they are."""
        self.keeps_unseen = keeps_unseen
        refused = np.zeros(self.tree.node_count, bool)
        if not self.refuses_missing:
            refused |= self.missing == REFUSED
        self.refused: NDArray[np.bool_] = refused | (self.unseen == REFUSED) & self.keeps_unseen
        # Nodes with a branch for samples that stop there: without it they would have no true predicate and no result.
        stops = (self.tree.n_branches > 0) & ((self.missing == STOP) | (self.unseen == STOP))
        self.stays: NDArray[np.bool_] = stops & ~self.refused & self.refused.any()

    def dictionary(self) -> Iterator[str]:
        """Yield the lines on all fields."""
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

    def model(self, *, has_output: bool = True) -> Iterator[str]:
        """Yield the lines of the tree."""
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
        yield from self.mining_schema()
        if has_output:
            yield from self.output()
        yield from self._nodes()
        yield " </TreeModel>"

    def models(self, tree: ModelTree) -> Iterator[str]:
        """Yield the lines of a tree whose leaves have linear models, of which the first is chosen whose path is true."""
        attributes = {"modelName": "tree", "functionName": "regression", "algorithmName": self.subject.algorithm}
        yield f" <MiningModel{_attributes(**attributes)}>"
        yield from self.mining_schema()
        yield from self.output(has_node=False)
        yield '  <Segmentation multipleModelMethod="selectFirst">'
        leaf = tree.n_branches == 0
        stops = np.flatnonzero(~leaf & (self.missing == STOP))[::-1]  # those below others first
        paths: list[list[str]] = [[] for _ in range(tree.node_count)]
        for node in np.flatnonzero(~leaf).tolist():
            for branch, predicate in enumerate(self._predicates(node)):
                paths[int(tree.first_child[node]) + branch] = [*paths[node], predicate]
        for node in [*np.flatnonzero(leaf).tolist(), *stops.tolist()]:
            yield f'   <Segment id="{node}">'
            yield f"    {_compound('and', paths[node]) if paths[node] else TRUE}"
            yield from self._regression(tree, node)
            yield "   </Segment>"
        yield "  </Segmentation>"
        yield " </MiningModel>"

    def _regression(self, tree: ModelTree, node: int) -> Iterator[str]:
        models = tree.models
        terms = models.terms(node)
        asked = dict.fromkeys(models.source(column)[0] for column, _ in terms)
        yield '    <RegressionModel functionName="regression">'
        yield "     <MiningSchema>"
        for feature in asked:
            treatment = {"invalidValueTreatment": "asMissing"}
            if self.features[feature].categories is None:
                filling = _number(models.filling[feature])
                treatment = {"missingValueReplacement": filling, **treatment, "missingValueTreatment": "asMean"}
            yield f"      <MiningField{_attributes(name=self.features[feature].name, **treatment)}/>"
        yield f"      <MiningField{_attributes(name=self.target, usageType='target')}/>"
        yield "     </MiningSchema>"
        bounds = {"min": float(models.lower[node]), "max": float(models.upper[node])}
        if known := {name: _number(bound) for name, bound in bounds.items() if math.isfinite(bound)}:
            yield f"     <Targets><Target{_attributes(field=self.target, **known)}/></Targets>"
        names = self._names_of_columns(models)
        yield from self._indicators(models, [column for column, _ in terms], names)
        yield f"     <RegressionTable{_attributes(intercept=_number(models.intercept[node]))}>"
        for column, coefficient in terms:
            yield f"      <NumericPredictor{_attributes(name=names[column], coefficient=_number(coefficient))}/>"
        yield "     </RegressionTable>"
        yield "    </RegressionModel>"

    def _names_of_columns(self, models: LinearModels) -> list[str]:
        """Return the names of features and indicators, all different."""
        names = [feature.name for feature in self.features]
        taken = [*names, self.target, self.name, self.node_name]
        for feature, code in models.indicators.tolist():
            category = (self.features[feature].categories or ())[code - 1]
            names.append(apart(f"{self.features[feature].name} = {_text(category)}", taken))
            taken.append(names[-1])
        return names

    def _indicators(self, models: LinearModels, columns: Sequence[int], names: Sequence[str]) -> Iterator[str]:
        """Yield the lines that derive the indicators of a model; a missing value is mapped to the mean."""
        derived = [(column, *models.source(column)) for column in columns if column >= models.n_features]
        if derived:
            yield "     <LocalTransformations>"
            for column, feature, code in derived:
                value = _text((self.features[feature].categories or ())[code - 1])
                norm = _attributes(field=self.features[feature].name, value=value, mapMissingTo=_number(models.filling[column]))
                field = _attributes(name=names[column], optype="continuous", dataType="double")
                yield f"      <DerivedField{field}><NormDiscrete{norm}/></DerivedField>"
            yield "     </LocalTransformations>"

    def mining_schema(self) -> Iterator[str]:
        """Yield the lines on the fields that the model reads."""
        yield "  <MiningSchema>"
        treatment = {"missingValueTreatment": "returnInvalid"} if self.refuses_missing else {}
        of_unseen = "returnInvalid" if self.subject.refuses_unseen else "asIs" if self.keeps_unseen else "asMissing"
        for feature in self.features:
            invalid = of_unseen if feature.categories is not None else "returnInvalid" if self.refuses_missing else "asMissing"
            yield f"   <MiningField{_attributes(name=feature.name, invalidValueTreatment=invalid, **treatment)}/>"
        yield f"   <MiningField{_attributes(name=self.target, usageType='target')}/>"
        yield "  </MiningSchema>"

    def output(self, *, has_node: bool = True) -> Iterator[str]:
        """Yield the lines on the fields that the model gives."""
        labels = self.found.labels
        optype, data_type = ("categorical", _data_type(labels)) if labels else ("continuous", "double")
        by_loss = not has_node and self.tree.loss is not None  # leaves have labels; a mean of probabilities has none yet
        yield "  <Output>"
        if not by_loss:
            yield f"   <OutputField{_attributes(name=self.name, optype=optype, dataType=data_type, feature='predictedValue')}/>"
        for label, name in zip(labels, self.probability_names, strict=True):
            attributes = {"optype": "continuous", "dataType": "double", "feature": "probability", "value": _text(label)}
            yield f"   <OutputField{_attributes(name=name, **attributes)}/>"
        if by_loss:
            yield from self._of_least_loss(optype, data_type)
        if has_node:
            attributes = {"optype": "categorical", "dataType": "string", "feature": "entityId"}
            yield f"   <OutputField{_attributes(name=self.node_name, **attributes)}/>"
        yield "  </Output>"

    def _of_least_loss(self, optype: str, data_type: str) -> Iterator[str]:
        """Yield the lines on the class of least expected loss, the first of equal ones."""
        loss = self.tree.loss
        assert loss is not None
        probabilities = [f"<FieldRef{_attributes(field=name)}/>" for name in self.probability_names]
        costs = [
            _apply(
                "+", [_apply("*", [share, _constant(cost, "double")]) for share, cost in zip(probabilities, column, strict=True)]
            )
            for column in loss.T.tolist()
        ]
        found = _constant(self.found.labels[-1], data_type)
        for k in reversed(range(len(costs) - 1)):
            bounds = [_apply("*", [cost, _constant(1 + EQUAL_LOSSES, "double")]) for j, cost in enumerate(costs) if j != k]
            is_best = _apply("and", [_apply("lessOrEqual", [costs[k], bound]) for bound in bounds])
            found = _apply("if", [is_best, _constant(self.found.labels[k], data_type), found])
        attributes = _attributes(name=self.name, optype=optype, dataType=data_type, feature="transformedValue")
        yield f"   <OutputField{attributes}>{found}</OutputField>"

    def _nodes(self) -> Iterator[str]:
        """Yield the nodes depth first, with a stack, because a tree may be deeper than Python's recursion limit."""
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
        """Return the predicate of each branch."""
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
        """Return a predicate: the first test that decides chooses the branch, or none decides and the branch takes the rest."""
        alternatives = [TRUE if takes_undecided else FALSE]
        for test in reversed(tests):
            if test.takes[branch] is not None and test.decides_all and not self.keeps_unseen:
                alternatives.insert(0, _takes(test, branch))
                continue
            # "surrogate" continues if a predicate is unknown: for a missing value, but not for a category without a branch
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
    if not isinstance(part, Range):
        return _is_among(test.feature, part, "isIn")
    limits = []
    if math.isfinite(part.low):
        limits.append(_simple(test.feature, "greaterThan", _number(part.low)))
    if math.isfinite(part.high):
        limits.append(_simple(test.feature, "lessOrEqual", _number(part.high)))
    return _compound("and", limits) if limits else _simple(test.feature, "isNotMissing")


def _is_among(feature: Feature, categories: tuple[Category, ...], operator: str) -> str:
    """Return `isIn` or `isNotIn`; category by category if an array would need escapes, on which readers disagree."""
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


def _apply(function: str, parts: Sequence[str]) -> str:
    """Return a function of parts; a sum or conjunction of one part is this part, and of more than two is one of pairs."""
    if function in ("+", "and"):
        found = parts[0]
        for part in parts[1:]:
            found = f"<Apply{_attributes(function=function)}>{found}{part}</Apply>"
        return found
    return f"<Apply{_attributes(function=function)}>{''.join(parts)}</Apply>"


def _constant(value: Any, data_type: str) -> str:
    return f"<Constant{_attributes(dataType=data_type)}>{_escaped(_text(value))}</Constant>"


def _compound(operator: str, parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _number(value) if isinstance(value, float) else str(value)


def _number(value: Any) -> str:
    """Return the shortest decimal that is read as the same double."""
    return repr(float(value))


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(text: str) -> str:
    wrong = NOT_XML.search(text)
    if wrong is not None:
        raise ValueError(f"{text!r} cannot be written in PMML: XML 1.0 has no character {wrong.group()!r}; rename it")
    return text.translate(ESCAPES)
