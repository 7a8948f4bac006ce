"""A fitted tree in a few lines: its size, its training errors, what pruning chose among, and its importances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fasttree._model.linear.model_tree import ModelTree
from fasttree._model.tested import split_text
from fasttree._model.tree import Tree
from fasttree._model.words import Words, counted, percent

MOST_STEPS = 12  # of a table of subtrees
LEAST_IMPORTANCE = 0.005  # of a feature that is listed


def summary(
    tree: Tree,
    words: Words,
    importances: npt.NDArray[np.float64],
    *,
    grown: Tree | None = None,
    pruning: str = "",
    table: Any = None,
) -> str:
    """Describe a fitted tree.

    Parameters
    ----------
    tree : Tree
        The tree that predicts.
    words : Words
        Its names and labels.
    importances : float64 array, shape (n_features,)
        Importances by impurity.
    grown : Tree or None, default None
        The tree before pruning.
    pruning : str, default ""
        The pruning method in words; "" if there was none.
    table : Bunch or None, default None
        Subtrees that pruning chose among, with their errors on other samples.

    Returns
    -------
    str
        Lines, each with a newline at its end.
    """
    size = [counted(tree.node_count, "node"), counted(tree.n_leaves, "leaf", "leaves"), f"depth {tree.max_depth}"]
    lines = [f"{counted(int(tree.n_samples[0]), 'sample')}, {counted(tree.n_features, 'feature')}"]
    lines.append(f"Tree: {', '.join(size)}")
    if pruning:
        before = "" if grown is None else f" from {counted(grown.n_leaves, 'leaf', 'leaves')}"
        lines.append(f"Pruned by {pruning}{before}")
    lines += _training(tree, words)
    if isinstance(tree, ModelTree):
        n_terms = np.array([np.diff(models.start)[tree.leaves()] for models in tree.models_by_target])
        lines.append(f"Models: {counted(int(n_terms.sum()), 'term')} in the leaves, {int(n_terms.max())} at most in one")
    if note := split_text(words, 0):
        lines.append(f"Root: {words.test(0)}, {note}")
    if tree.by_hand is not None:
        lines.append(f"{counted(int(tree.by_hand.sum()), 'split')} set by hand")
    if table is not None:
        lines += ["", "Subtrees, with their errors on other samples in units of the root's:", *_steps(table)]
    order = np.argsort(-importances, kind="stable")
    listed = [(words.names[j], percent(float(importances[j]))) for j in order.tolist() if importances[j] >= LEAST_IMPORTANCE]
    if listed:
        width = max(len(name) for name, _ in listed)
        lines += ["", "Importances by impurity:", *(f"  {name:{width}}  {share:>6}" for name, share in listed)]
        n_left = int(np.count_nonzero(importances > 0)) - len(listed)
        if n_left:
            lines.append(f"  and {counted(n_left, 'feature')} below {percent(LEAST_IMPORTANCE)}")
    return "\n".join(lines) + "\n"


def _training(tree: Tree, words: Words) -> list[str]:
    """Return the error on the training samples beside that of the root."""
    leaves, weight = tree.leaves(), float(tree.weight[0])
    if tree.outputs is not None or not weight or isinstance(tree, ModelTree):  # impurities are those of constant leaves
        return []
    if tree.task == "regression":
        risk = tree.risk
        share = 1 - float(risk[leaves].sum()) / float(risk[0]) if risk[0] else 0.0
        return [f"Training: the leaves explain {percent(share)} of the impurity"]
    errors = tree.errors
    what = "error rate" if tree.loss is None else "mean cost"
    found, guess = float(errors[leaves].sum()) / weight, float(errors[0]) / weight
    return [f"Training {what}: {found:.4f} (always {words.answers(0)[0]}: {guess:.4f})"]


def _steps(table: Any) -> list[str]:
    """Return the rows of a table of subtrees around the chosen one."""
    name = "ccp_alphas" if "ccp_alphas" in table else "critical_values"
    head = ["", name.removesuffix("s").removeprefix("ccp_").replace("_", " "), "leaves", "error", "std. error"]
    n, chosen = len(table.n_leaves), int(table.chosen)
    first = min(max(chosen - MOST_STEPS // 2, 0), max(n - MOST_STEPS, 0))
    shown = range(first, min(first + MOST_STEPS, n))
    rows = [head] + [
        [
            "*" if i == chosen else "",
            f"{table[name][i]:.4g}",
            f"{table.n_leaves[i]:,}",
            f"{table.xerror[i]:.4f}",
            f"{table.xstd[i]:.4f}",
        ]
        for i in shown
    ]
    left = n - len(shown)
    return _columns(rows) + ([f"  and {counted(left, 'other subtree')}"] if left else [])


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
