"""Edits of a tree as JSON, which the page of a tree writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fasttree._data.checks import is_amount, is_integer

__all__ = ["Edits", "read_edits"]

FORMAT, VERSION = "fasttree.edits", 1


class Edits(NamedTuple):
    """Edits in their order: ids of nodes that become leaves, or alpha and risk of cost-complexity pruning."""

    n_nodes: int
    n_leaves: int
    edits: Sequence[int | tuple[float, Any]]


def read_edits(given: Any) -> Edits:
    """Read edits, or raise a ValueError."""
    try:
        document = json.loads(given) if isinstance(given, str) else given
    except ValueError as error:
        raise ValueError(f"edits are no JSON, as the page copies it: {error}") from None
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ValueError(f"edits: must be JSON that the page copies, an object with the format {FORMAT!r}")
    if document.get("version") != VERSION:
        raise ValueError(f"edits have the version {document.get('version')!r}: this fasttree reads version {VERSION}")
    counts: list[Any] = [document.get(name) for name in ("nodes", "leaves")]
    listed = document.get("edits")
    if not all(is_integer(count) and count >= 1 for count in counts) or not isinstance(listed, list):
        raise ValueError("edits: must have the numbers of 'nodes' and 'leaves', and the list 'edits'")
    return Edits(int(counts[0]), int(counts[1]), [_read(edit) for edit in listed])


def _read(edit: Any) -> int | tuple[float, Any]:
    kind = edit.get("edit") if isinstance(edit, Mapping) else None
    if kind == "collapse" and is_integer(edit.get("node")):
        return int(edit["node"])
    if kind == "prune" and is_amount(edit.get("alpha")) and edit.get("risk") in ("impurity", "error"):
        return float(edit["alpha"]), edit["risk"]
    raise ValueError(
        f"edits: {edit!r} is none; an edit is {{'edit': 'collapse', 'node': 3}} or "
        "{'edit': 'prune', 'alpha': 0.01, 'risk': 'impurity'}"
    )
