"""Linear models of leaves as an ONNX graph: doubles that are added in the order of `predict`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._export.onnx_parts.graph import Graph
from fasttree._export.subject import Formulas

__all__ = ["add_formulas"]


def add_formulas(graph: Graph, schema: Schema, formulas: Formulas, rows: NDArray[np.float64], row: str, node_name: str) -> str:
    """Add what the models of some rows predict, by a cumulative sum, which has an order, and within bounds; return its name.

    There is a column for each target.
    """
    n_terms = len(formulas.features)
    model = graph.add("Gather", [graph.constant("fasttree.models", rows), row], node_name=f"{node_name} (models)", axis=0)

    def part(name: str, columns: Sequence[int]) -> str:
        return graph.add("Gather", [model, graph.constant(f"fasttree.{name}", np.array(columns, np.int64))], axis=1)

    columns = _add_columns(graph, schema, formulas) if n_terms else ""
    values = []
    for first in range(0, formulas.n_targets * formulas.width, formulas.width):
        value = part("intercept", [first])
        if n_terms:
            terms = graph.add("Mul", [part("coefficients", range(first + 1, first + n_terms + 1)), columns])
            sums = graph.add(
                "CumSum", [graph.add("Concat", [value, terms], axis=1), graph.constant("fasttree.terms", np.array(1, np.int64))]
            )
            value = graph.add("Gather", [sums, graph.constant("fasttree.last", np.array([n_terms], np.int64))], axis=1)
        if formulas.is_bounded:
            value = graph.add("Max", [value, part("lower", [first + n_terms + 1])])
            value = graph.add("Min", [value, part("upper", [first + n_terms + 2])])
        values.append(value)
    return values[0] if len(values) == 1 else graph.add("Concat", values, axis=1)


def _add_columns(graph: Graph, schema: Schema, formulas: Formulas) -> str:
    """Add the columns that have terms, without missing values: those of numbers come first."""
    n_numbers = formulas.codes.count(0)
    parts = [_add_numbers(graph, schema, formulas.features[:n_numbers], formulas.filling[:n_numbers])] if n_numbers else []
    indicators = zip(formulas.features, formulas.codes, formulas.filling, strict=True)
    for feature, group in itertools.groupby(itertools.islice(indicators, n_numbers, None), lambda column: column[0]):
        own = [(code, mean) for _, code, mean in group]
        table = np.zeros((len(schema.features[feature].categories or ()) + 1, len(own)))
        for place, (code, mean) in enumerate(own):
            table[code - 1, place], table[-1, place] = 1.0, mean  # a missing value and an unseen category look up the last row
        flat = graph.add("Squeeze", [graph.codes[feature], graph.constant("fasttree.axis", np.array([1], np.int64))])
        parts.append(graph.add("Gather", [graph.constant("fasttree.indicators", table), flat], axis=0))
    return graph.add("Concat", parts, axis=1)


def _add_numbers(graph: Graph, schema: Schema, features: Sequence[int], filling: Sequence[float]) -> str:
    if schema.is_continuous:
        places = graph.constant("fasttree.features", np.array(features, np.int64))
        given = graph.add("Gather", [graph.inputs[0].name, places], axis=1)
    else:
        given = graph.add("Concat", [graph.inputs[j].name for j in features], axis=1)
    given = graph.cast(given, graph.onnx.TensorProto.DOUBLE)
    means = graph.constant("fasttree.filling", np.array([filling]))
    return graph.add("Where", [graph.add("IsNaN", [given]), means, given])
