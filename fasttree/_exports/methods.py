"""The methods by which a fitted tree leaves for other programs.

Each is thin: it hands a `Subject` to a function that knows no estimator.  None writes a file: they return text, bytes or objects.
"""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from .._recipe import Recipe
from .._table import Schema
from .._tree import Tree
from .subject import Subject

__all__ = ["Exports"]


class Exports:
    """How a fitted tree is written for other programs."""

    tree_: Tree
    schema_: Schema
    recipe_: Recipe
    unseen: str

    def _subject(self) -> Subject:
        """What every export is told."""
        check_is_fitted(self)
        return Subject(
            self.tree_,
            self.schema_,
            getattr(self, "classes_", None),
            self._algorithm(),  # type: ignore[attr-defined]  # of the estimators
            refuses_missing=self.recipe_.missing == "error",
            refuses_unseen=self.unseen == "error",
        )
