"""Parts of PMML documents that do not depend on what predicts: fields, predicates, linear models, and how XML is written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fasttree._data.schema import Category, Feature, Kind
from fasttree._export.branches import apart
from fasttree._model.linear.model_tree import LinearModels

NAMESPACE = "http://www.dmg.org/PMML-4_4"
TRUE, FALSE = "<True/>", "<False/>"
ARRAY_TYPES = {"string": "string", "integer": "int", "double": "real", "boolean": "string"}
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"})
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def check_name(name: Any) -> None:
    """Raise a ValueError unless the name of the output can be one."""
    if not isinstance(name, str) or not name:
        raise ValueError(f"name={name!r}: must be a string that is not empty")


def check_fields(features: Sequence[Feature]) -> None:
    """Raise a ValueError if a feature has no name."""
    if not all(feature.name for feature in features):
        raise ValueError("'' cannot be written in PMML: the name of a field must not be empty; rename it")


def document_lines(
    description: str, version: str, notes: Iterable[str], dictionary: Iterable[str], model: Iterable[str]
) -> Iterator[str]:
    """Yield the lines of a document."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<PMML version="4.4" xmlns="{NAMESPACE}">'
    yield f" <Header{attributes(description=description)}>"
    yield f"  <Application{attributes(name='fasttree', version=version)}/>"
    for note in notes:
        yield f"  <Annotation>{escaped(note)}</Annotation>"
    yield " </Header>"
    yield from dictionary
    yield from model
    yield "</PMML>"


def dictionary_lines(features: Sequence[Feature], target: str, labels: Sequence[Any] = ()) -> Iterator[str]:
    """Yield the lines on all fields; without labels, the target is a number."""
    yield f' <DataDictionary numberOfFields="{len(features) + 1}">'
    for feature in features:
        if feature.categories is None:
            yield f"  <DataField{attributes(name=feature.name, optype='continuous', dataType='double')}/>"
        else:
            optype = "ordinal" if feature.kind == Kind.ORDINAL else "categorical"
            yield from categorical_field(feature.name, optype, feature.categories)
    if labels:
        yield from categorical_field(target, "categorical", labels)
    else:
        yield f"  <DataField{attributes(name=target, optype='continuous', dataType='double')}/>"
    yield " </DataDictionary>"


def names_of_columns(features: Sequence[Feature], models: LinearModels, taken: Sequence[str]) -> list[str]:
    """Return the names of features and indicators, all different, and none of those taken."""
    names = [feature.name for feature in features]
    used = [*names, *taken]
    for feature, code in models.indicators.tolist():
        category = (features[feature].categories or ())[code - 1]
        names.append(apart(f"{features[feature].name} = {text_of(category)}", used))
        used.append(names[-1])
    return names


def regression_lines(
    features: Sequence[Feature], target: str, models: LinearModels, node: int, names: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a linear model within its bounds; `names` are those of its columns."""
    terms = models.terms(node)
    asked = dict.fromkeys(models.source(column)[0] for column, _ in terms)
    yield '    <RegressionModel functionName="regression">'
    yield "     <MiningSchema>"
    for feature in asked:
        treatment = {"invalidValueTreatment": "asMissing"}
        if features[feature].categories is None:
            filling = number_text(models.filling[feature])
            treatment = {"missingValueReplacement": filling, **treatment, "missingValueTreatment": "asMean"}
        yield f"      <MiningField{attributes(name=features[feature].name, **treatment)}/>"
    yield f"      <MiningField{attributes(name=target, usageType='target')}/>"
    yield "     </MiningSchema>"
    bounds = {"min": float(models.lower[node]), "max": float(models.upper[node])}
    if known := {name: number_text(bound) for name, bound in bounds.items() if math.isfinite(bound)}:
        yield f"     <Targets><Target{attributes(field=target, **known)}/></Targets>"
    yield from _indicators(features, models, [column for column, _ in terms], names)
    yield f"     <RegressionTable{attributes(intercept=number_text(models.intercept[node]))}>"
    for column, coefficient in terms:
        yield f"      <NumericPredictor{attributes(name=names[column], coefficient=number_text(coefficient))}/>"
    yield "     </RegressionTable>"
    yield "    </RegressionModel>"


def _indicators(features: Sequence[Feature], models: LinearModels, columns: Sequence[int], names: Sequence[str]) -> Iterator[str]:
    """Yield the lines that derive the indicators of a model; a missing value is mapped to the mean."""
    derived = [(column, *models.source(column)) for column in columns if column >= models.n_features]
    if derived:
        yield "     <LocalTransformations>"
        for column, feature, code in derived:
            value = text_of((features[feature].categories or ())[code - 1])
            norm = attributes(field=features[feature].name, value=value, mapMissingTo=number_text(models.filling[column]))
            field = attributes(name=names[column], optype="continuous", dataType="double")
            yield f"      <DerivedField{field}><NormDiscrete{norm}/></DerivedField>"
        yield "     </LocalTransformations>"


def categorical_field(name: str, optype: str, values: Sequence[Any]) -> Iterator[str]:
    yield f"  <DataField{attributes(name=name, optype=optype, dataType=data_type_of(values))}>"
    for value in values:
        yield f"   <Value{attributes(value=text_of(value))}/>"
    yield "  </DataField>"


def data_type_of(values: Iterable[Any]) -> str:
    types = {type(value) for value in values}
    if types == {bool}:
        return "boolean"
    if str in types:
        return "string"
    return "double" if float in types else "integer"


def is_among(feature: Feature, categories: tuple[Category, ...], operator: str) -> str:
    """Return `isIn` or `isNotIn`; category by category if an array would need escapes, on which readers disagree."""
    assert feature.categories is not None
    data_type = data_type_of(feature.categories)
    if data_type == "string" and any('"' in str(category) or "\\" in str(category) for category in categories):
        comparison, junction = ("equal", "or") if operator == "isIn" else ("notEqual", "and")
        return compound(junction, [simple(feature, comparison, text_of(category)) for category in categories])
    items = [f'"{category}"' if data_type == "string" else text_of(category) for category in categories]
    array = f'<Array n="{len(items)}" type="{ARRAY_TYPES[data_type]}">{escaped(" ".join(items))}</Array>'
    return f"<SimpleSetPredicate{attributes(field=feature.name, booleanOperator=operator)}>{array}</SimpleSetPredicate>"


def is_missing(feature: Feature) -> str:
    return simple(feature, "isMissing")


def simple(feature: Feature, operator: str, value: str | None = None) -> str:
    given = {} if value is None else {"value": value}
    return f"<SimplePredicate{attributes(field=feature.name, operator=operator, **given)}/>"


def compound(operator: str, parts: Sequence[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'


def text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, float) else str(value)


def number_text(value: Any) -> str:
    """Return the shortest decimal that is read as the same double."""
    return repr(float(value))


def attributes(**values: str) -> str:
    return "".join(f' {name}="{escaped(value)}"' for name, value in values.items())


def escaped(text: str) -> str:
    wrong = NOT_XML.search(text)
    if wrong is not None:
        raise ValueError(f"{text!r} cannot be written in PMML: XML 1.0 has no character {wrong.group()!r}; rename it")
    return text.translate(ESCAPES)
