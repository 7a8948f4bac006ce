"""Data of the significance tests in the page: texts for each node."""

from __future__ import annotations

from typing import Any

from fasttree._model.significance import branch_tests, merge_texts, reason_text, rival_cells
from fasttree._model.tested import TestedTree
from fasttree._model.words import Words

__all__ = ["significance_data"]

MOST_LISTED = 40  # features, and merges, of a node


def significance_data(words: Words) -> dict[str, list[dict[str, Any]]]:
    """Return the significance tests of each node.

    Returns
    -------
    dict
        Empty for a tree without tests, else `significance`, with a dict per node: `test`, two texts for the branches, or none
        with their `reason`.  `rivals` are the other features, the best first, as lists of cells, and `merges` are texts; `more`
        counts the features that are left out, `moreMerges` the merges.
    """
    if not isinstance(words.tree, TestedTree):
        return {}
    return {"significance": [_of_node(words, node) for node in range(words.tree.node_count)]}


def _of_node(words: Words, node: int) -> dict[str, Any]:
    rivals, merges = rival_cells(words, node), merge_texts(words, node)
    return {
        "test": branch_tests(words, node),
        "reason": reason_text(words, node),
        "rivals": rivals[:MOST_LISTED],
        "more": max(len(rivals) - MOST_LISTED, 0),
        "merges": merges[:MOST_LISTED],
        "moreMerges": max(len(merges) - MOST_LISTED, 0),
    }
