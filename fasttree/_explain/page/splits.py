"""Data of the competing splits in the page: their texts as Python, and how they divide the samples of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._explain.page.charts import figure, pairs_of
from fasttree._explain.pictures.charts import ChartSamples
from fasttree._learn.grow.competing import CompetingSplit
from fasttree._model.arrays import THRESHOLD
from fasttree._model.tree import Tree

__all__ = ["split_data"]


def split_data(tree: Tree, samples: ChartSamples, node: int, splits: Sequence[CompetingSplit]) -> dict[str, Any]:
    """Return the competing splits of a node.

    Returns
    -------
    dict
        `node` and `splits`.  Each split has `feature`, `gain`, whether it `isOwn`, the split of the tree, and `python`, feature
        and place as `split` takes them, or null if it takes no such place; `cuts` and their `texts`, or `codes` by branch;
        `sides`, the samples of each branch, and `lost`, those of no branch: pairs of class and number, or in regression number
        and mean.
    """
    rows = samples.rows(node)
    return {"node": node, "splits": [_split(tree, samples, node, rows, split) for split in splits]}


def _split(tree: Tree, samples: ChartSamples, node: int, rows: npt.NDArray[np.intp], split: CompetingSplit) -> dict[str, Any]:
    categories = samples.table.schema.features[split.feature].categories
    column = samples.table.column(split.feature)[rows]
    name = split.name if isinstance(split.name, str) else split.feature
    found: dict[str, Any] = {"feature": split.feature, "gain": figure(split.gain), "isOwn": int(_is_own(tree, node, split))}
    if split.categories is not None:
        code_of = {category: code for code, category in enumerate(categories or (), start=1)}
        codes = [[code_of[category] for category in branch] for branch in split.categories]
        branch_of = np.full(len(code_of) + 1, -1, np.intp)
        for branch, own in enumerate(codes):
            branch_of[own] = branch
        sides, n_sides = branch_of[column.astype(np.intp)], len(codes)
        place = [[_plain(category) for category in branch] for branch in split.categories]
        found |= {"codes": codes, "python": f"{name!r}, {place!r}" if all(place) else None}
    else:
        cuts = [float(cut) for cut in (split.cuts if split.threshold is None else (split.threshold,)) or ()]
        numbers = column.astype(np.float64)
        if np.isfinite(cuts).all():
            sides = np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers, side="left"))
            n_sides = len(cuts) + 1
            found |= {
                "cuts": cuts,
                "texts": [str(figure(cut)) for cut in cuts],
                "python": f"{name!r}, {cuts[0] if len(cuts) == 1 else cuts!r}",
            }
        else:  # it separates missing values
            sides, n_sides = np.isnan(numbers).astype(np.intp), 2
            found |= {"cuts": [], "texts": [], "python": None}
    found["sides"] = [_side(tree, samples.target[rows[sides == side]]) for side in range(n_sides)]
    found["lost"] = _side(tree, samples.target[rows[sides < 0]])
    return found


def _is_own(tree: Tree, node: int, split: CompetingSplit) -> bool:
    if tree.feature[node] != split.feature:
        return False
    return tree.kind[node] != THRESHOLD or split.threshold is None or bool(tree.threshold[node] == split.threshold)


def _side(tree: Tree, target: npt.NDArray[Any]) -> list[Any]:
    """Return pairs of class and number of samples, or number and mean; empty without samples."""
    if tree.task == "classification":
        return pairs_of(np.bincount(target, minlength=tree.n_values))
    return [target.size, figure(float(target.mean()))] if target.size else []


def _plain(category: Any) -> Any:
    """Return a category as a type whose representation is Python code."""
    return category.item() if isinstance(category, np.generic) else category
