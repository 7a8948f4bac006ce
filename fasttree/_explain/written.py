"""An explanation that is data and lines of text: as a dict, as text, and in a notebook."""

from __future__ import annotations

from dataclasses import fields
from html import escape
from typing import Any

from fasttree._explain.explanation import plain

__all__ = ["WrittenExplanation"]


class WrittenExplanation:
    """Base of explanations, dataclasses with their lines in `_lines`, the first of which is the prediction."""

    _lines: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as dicts, lists, strings and finite numbers, which JSON can represent."""
        names = [field.name for field in fields(self) if not field.name.startswith("_")]  # type: ignore[arg-type]
        found: dict[str, Any] = plain({name: getattr(self, name) for name in names} | {"text": list(self._lines)})
        return found

    def __str__(self) -> str:
        return "\n".join(self._lines)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>\n{self}"

    def _repr_html_(self) -> str:
        return f"<p><b>{escape(self._lines[0])}</b></p>" + "".join(f"<p>{escape(line)}</p>" for line in self._lines[1:])
