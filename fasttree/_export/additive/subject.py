"""What the writers of an additive model need, without its estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fasttree._data.schema import Schema
from fasttree._model.additive.model import AdditiveModel, Axis
from fasttree._model.words import counted

__all__ = ["AdditiveSubject", "runs_of"]


@dataclass(frozen=True)
class AdditiveSubject:
    """An additive model for the writers of all formats.

    Parameters
    ----------
    model : AdditiveModel
    schema : Schema
    classes : list or None
        None for regression.
    target : str
        Name of the target.
    refuses_unseen : bool
        Whether `predict` raises an error for a category not seen in fit; else it counts as missing.
    """

    model: AdditiveModel
    schema: Schema
    classes: list[Any] | None
    target: str
    refuses_unseen: bool
    refuses_missing: bool = False
    algorithm: str = "gam"

    def description(self) -> str:
        """Describe the model in a line, as the end of a sentence."""
        terms = self.model.terms
        changed = sum(bool(term.by_hand) for term in terms)
        by_hand = f", {changed} of them changed by hand" if changed else ""
        what = "regression" if self.classes is None else "classification"
        return f"additive model of {counted(len(terms), 'term')}{by_hand}, for {what} (gam)"


def runs_of(axis: Axis, values: NDArray[Any]) -> list[tuple[int, int]]:
    """Return first and last bin of each run of equal values (n_bins, ...), without bin 0; categories are runs of their own."""
    n_bins = len(values)
    if axis.cuts is None:
        return [(bin_, bin_) for bin_ in range(1, n_bins)]
    changes = [i for i in range(2, n_bins) if not np.array_equal(values[i], values[i - 1])]
    starts: Sequence[int] = [1, *changes]
    return list(zip(starts, [*(start - 1 for start in changes), n_bins - 1], strict=True))
