"""A tree as PMML 4.4: one `TreeModel` whose predicates decide on every value, missing ones included.

A forest is a `MiningModel` with a segment for each tree, whose predictions are averaged.

PMML has one strategy for missing values per model, but trees have a policy per node.  The strategy is therefore "none", where
predicates on missing values are not true.  A branch that takes missing values has a predicate for them: `isMissing`, or
`surrogate`, whose last predicate decides if no other does.  A sample that no branch takes stays in its node
(`returnLastPrediction`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import default_target_names
from fasttree._export.branches import REFUSED, Answers, Range, Test, answers, apart, destinations, surrogates_of, test_of
from fasttree._export.pmml_parts.pieces import (
    FALSE,
    TRUE,
    attributes,
    check_fields,
    check_name,
    compound,
    data_type_of,
    dictionary_lines,
    document_lines,
    escaped,
    is_among,
    is_missing,
    names_of_columns,
    number_text,
    regression_lines,
    simple,
    text_of,
)
from fasttree._export.subject import Subject, of_one_target
from fasttree._export.substitutes import Adapted, Medium, adapt, adapt_forest
from fasttree._model.arrays import STOP
from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.tree import EQUAL_LOSSES

__all__ = ["PMML", "export_forest_pmml", "export_pmml"]

PMML = Medium("PMML document", "gets no result", surrogates=True)

DEEPEST_INDENT = 24  # the document of a chain of thousands of nodes would be mostly blanks


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
    check_name(name)
    subject, target = of_one_target(subject, target)
    found = answers(subject, target)
    adapted = adapt(subject, PMML, missing=missing, soft=soft)
    writer = _Writer(subject, adapted, found, _target_name(subject, target), name, missing)
    model = writer.models(writer.tree) if isinstance(writer.tree, ModelTree) else writer.model()
    return "\n".join([*writer.document(version, adapted.notes, "decision tree", model), ""])


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
    check_name(name)
    found = [answers(subject, target) for subject in subjects]
    adapted = list(adapt_forest(subjects, PMML, missing=missing, soft=soft))
    target_name = _target_name(subjects[0], target)
    writers = [_Writer(*of_tree, target_name, name, missing) for of_tree in zip(subjects, adapted, found, strict=True)]
    # a value that the whole model takes for missing could not be known as unseen in any tree
    keeps_unseen = any(writer.keeps_unseen for writer in writers)
    for writer in writers:
        writer.keep_unseen(keeps_unseen)
    notes = dict.fromkeys(note for one in adapted for note in one.notes)
    return "\n".join([*writers[0].document(version, notes, f"mean of {len(writers)} decision trees", _segments(writers)), ""])


def _target_name(subject: Subject, target: int) -> str:
    return (subject.target_names or default_target_names(subject.tree.n_outputs))[target]


def _segments(writers: Sequence[_Writer]) -> Iterator[str]:
    """Yield a model with a segment for each tree; if one gives no result, so does the model."""
    first = writers[0]
    yield f" <MiningModel{attributes(modelName='forest', functionName=first.tree.task, algorithmName=first.subject.algorithm)}>"
    yield from first.mining_schema()
    yield from first.output(has_node=False)
    yield f"  <Segmentation{attributes(multipleModelMethod='average', missingPredictionTreatment='returnMissing')}>"
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
        check_fields(self.features)
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
            self.probability_names.append(apart(f"probability_{text_of(label)}", taken))
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

    def document(self, version: str, notes: Iterable[str], what: str, model: Iterator[str]) -> Iterator[str]:
        """Yield the lines of the document."""
        described = f"{what} ({self.subject.algorithm})"
        return document_lines(described, version, notes, dictionary_lines(self.features, self.target, self.found.labels), model)

    def model(self, *, has_output: bool = True) -> Iterator[str]:
        """Yield the lines of the tree."""
        refused = bool(self.refused.any())
        binary = bool(np.isin(self.tree.n_branches, (0, 2)).all()) and not self.stays.any()
        given = {
            "modelName": "tree",
            "functionName": self.tree.task,
            "algorithmName": self.subject.algorithm,
            "missingValueStrategy": "none",
            "noTrueChildStrategy": "returnNullPrediction" if refused else "returnLastPrediction",
            "splitCharacteristic": "binarySplit" if binary else "multiSplit",
        }
        yield f" <TreeModel{attributes(**given)}>"
        yield from self.mining_schema()
        if has_output:
            yield from self.output()
        yield from self._nodes()
        yield " </TreeModel>"

    def models(self, tree: ModelTree) -> Iterator[str]:
        """Yield the lines of a tree whose leaves have linear models, of which the first is chosen whose path is true."""
        given = {"modelName": "tree", "functionName": "regression", "algorithmName": self.subject.algorithm}
        yield f" <MiningModel{attributes(**given)}>"
        yield from self.mining_schema()
        yield from self.output(has_node=False)
        yield '  <Segmentation multipleModelMethod="selectFirst">'
        names = names_of_columns(self.features, tree.models, [self.target, self.name, self.node_name])
        leaf = tree.n_branches == 0
        stops = np.flatnonzero(~leaf & (self.missing == STOP))[::-1]  # those below others first
        paths: list[list[str]] = [[] for _ in range(tree.node_count)]
        for node in np.flatnonzero(~leaf).tolist():
            for branch, predicate in enumerate(self._predicates(node)):
                paths[int(tree.first_child[node]) + branch] = [*paths[node], predicate]
        for node in [*np.flatnonzero(leaf).tolist(), *stops.tolist()]:
            yield f'   <Segment id="{node}">'
            yield f"    {compound('and', paths[node]) if paths[node] else TRUE}"
            yield from regression_lines(self.features, self.target, tree.models, node, names)
            yield "   </Segment>"
        yield "  </Segmentation>"
        yield " </MiningModel>"

    def mining_schema(self) -> Iterator[str]:
        """Yield the lines on the fields that the model reads."""
        yield "  <MiningSchema>"
        treatment = {"missingValueTreatment": "returnInvalid"} if self.refuses_missing else {}
        of_unseen = "returnInvalid" if self.subject.refuses_unseen else "asIs" if self.keeps_unseen else "asMissing"
        for feature in self.features:
            invalid = of_unseen if feature.categories is not None else "returnInvalid" if self.refuses_missing else "asMissing"
            yield f"   <MiningField{attributes(name=feature.name, invalidValueTreatment=invalid, **treatment)}/>"
        yield f"   <MiningField{attributes(name=self.target, usageType='target')}/>"
        yield "  </MiningSchema>"

    def output(self, *, has_node: bool = True) -> Iterator[str]:
        """Yield the lines on the fields that the model gives."""
        labels = self.found.labels
        optype, data_type = ("categorical", data_type_of(labels)) if labels else ("continuous", "double")
        by_loss = not has_node and self.tree.loss is not None  # leaves have labels; a mean of probabilities has none yet
        yield "  <Output>"
        if not by_loss:
            yield f"   <OutputField{attributes(name=self.name, optype=optype, dataType=data_type, feature='predictedValue')}/>"
        for label, name in zip(labels, self.probability_names, strict=True):
            given = {"optype": "continuous", "dataType": "double", "feature": "probability", "value": text_of(label)}
            yield f"   <OutputField{attributes(name=name, **given)}/>"
        if by_loss:
            yield from self._of_least_loss(optype, data_type)
        if has_node:
            given = {"optype": "categorical", "dataType": "string", "feature": "entityId"}
            yield f"   <OutputField{attributes(name=self.node_name, **given)}/>"
        yield "  </Output>"

    def _of_least_loss(self, optype: str, data_type: str) -> Iterator[str]:
        """Yield the lines on the class of least expected loss, the first of equal ones."""
        loss = self.tree.loss
        assert loss is not None
        probabilities = [f"<FieldRef{attributes(field=name)}/>" for name in self.probability_names]
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
        given = attributes(name=self.name, optype=optype, dataType=data_type, feature="transformedValue")
        yield f"   <OutputField{given}>{found}</OutputField>"

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
        score, weight = text_of(self.found.values[node]), number_text(self.tree.weight[node])
        yield f"{blanks}<Node{attributes(id=identity, score=score, recordCount=weight)}>"
        yield f"{blanks} {predicate}"
        for k, label in enumerate(self.found.labels):
            weight, probability = number_text(self.found.weights[node, k]), number_text(self.found.probabilities[node, k])
            given = attributes(value=text_of(label), recordCount=weight, probability=probability)
            yield f"{blanks} <ScoreDistribution{given}/>"

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
            parts.append(is_among(test.feature, others, "isNotIn") if others else simple(test.feature, "isNotMissing"))
        elif test.takes[branch] is not None:
            parts.append(_takes(test, branch))
        if takes_missing and not self.refuses_missing:
            parts.append(is_missing(test.feature))
        return compound("or", parts) if parts else FALSE

    def _in_turn(self, tests: Sequence[Test], branch: int, takes_undecided: bool) -> str:
        """Return a predicate: the first test that decides chooses the branch, or none decides and the branch takes the rest."""
        alternatives = [TRUE if takes_undecided else FALSE]
        for test in reversed(tests):
            if test.takes[branch] is not None and test.decides_all and not self.keeps_unseen:
                alternatives.insert(0, _takes(test, branch))
                continue
            # "surrogate" continues if a predicate is unknown: for a missing value, but not for a category without a branch
            rest = [self._is_undecided(test), compound("surrogate", alternatives)]
            own = [_takes(test, branch)] if test.takes[branch] is not None else []
            alternatives = [compound("or", [*own, compound("and", rest)])]
        return compound("surrogate", alternatives)

    def _is_undecided(self, test: Test) -> str:
        parts = [] if self.refuses_missing else [is_missing(test.feature)]
        if test.feature.categories is not None and (self.keeps_unseen or not test.decides_all):
            parts.append(is_among(test.feature, test.known, "isNotIn"))
        return compound("or", parts) if parts else FALSE


def _takes(test: Test, branch: int) -> str:
    part = test.takes[branch]
    assert part is not None
    if not isinstance(part, Range):
        return is_among(test.feature, part, "isIn")
    limits = []
    if math.isfinite(part.low):
        limits.append(simple(test.feature, "greaterThan", number_text(part.low)))
    if math.isfinite(part.high):
        limits.append(simple(test.feature, "lessOrEqual", number_text(part.high)))
    return compound("and", limits) if limits else simple(test.feature, "isNotMissing")


def _apply(function: str, parts: Sequence[str]) -> str:
    """Return a function of parts; a sum or conjunction of one part is this part, and of more than two is one of pairs."""
    if function in ("+", "and"):
        found = parts[0]
        for part in parts[1:]:
            found = f"<Apply{attributes(function=function)}>{found}{part}</Apply>"
        return found
    return f"<Apply{attributes(function=function)}>{''.join(parts)}</Apply>"


def _constant(value: Any, data_type: str) -> str:
    return f"<Constant{attributes(dataType=data_type)}>{escaped(text_of(value))}</Constant>"
