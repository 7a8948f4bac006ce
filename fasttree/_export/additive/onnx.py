"""An additive model as an ONNX model: a tree for each term finds the row of its bin, and the rows are added in their order.

The first tree is a leaf, whose row is the intercept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fasttree._export.additive.subject import AdditiveSubject
from fasttree._export.onnx_parts.walk import Walk, rounded_down
from fasttree._model.additive.model import Axis, Term

__all__ = ["lower_additive", "rows_of_terms"]


def rows_of_terms(subject: AdditiveSubject) -> NDArray[np.float64]:
    """Return the intercept, then the scores of the bins of each term, shape (n_rows, n_scores)."""
    model = subject.model
    parts = [model.intercept[None], *(term.scores.reshape(model.n_scores, -1).T for term in model.terms)]
    return np.ascontiguousarray(np.concatenate(parts))


def lower_additive(walk: Walk, subject: AdditiveSubject, *, single: bool) -> None:
    """Add a tree for the intercept, and one for each term, to the walk."""
    walk.roots.append(~0)
    start = 1
    for term in subject.model.terms:
        walk.roots.append(_lowered(walk, term, start, single))
        start += term.weight.size


def _lowered(walk: Walk, term: Term, start: int, single: bool) -> int:
    rows = start + np.arange(term.weight.size).reshape(term.weight.shape)
    last = term.axes[-1]
    if len(term.axes) == 1:
        return _divided(walk, last, ~rows, single)
    across = np.array([_divided(walk, last, ~band, single) for band in rows])
    return _divided(walk, term.axes[0], across, single)


def _divided(walk: Walk, axis: Axis, ways: NDArray[np.int64], single: bool) -> int:
    """Add tests that send each bin along its way; bin 0 has the missing values."""
    if axis.cuts is None:
        return walk.by_category(axis.feature, np.append(ways[1:], ways[0])) if len(ways) > 1 else int(ways[0])
    cuts = rounded_down(axis.cuts, single=single).tolist()
    column = walk.columns.setdefault((axis.feature, b""), len(walk.columns))
    return walk.by_cuts(column, cuts, ways[1:].tolist(), int(ways[0]))
