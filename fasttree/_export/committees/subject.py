"""The subject of an export: a committee of rules with models, without its estimator."""

from __future__ import annotations

from dataclasses import dataclass

from fasttree._data.schema import Schema
from fasttree._model.committees.committee import Committee
from fasttree._model.conditions import Condition
from fasttree._model.words import counted

__all__ = ["CommitteeSubject"]


@dataclass(frozen=True)
class CommitteeSubject:
    """Rules with models for the writers of all formats.

    Parameters
    ----------
    committee : Committee
    schema : Schema
    refuses_unseen : bool

    Raises
    ------
    ValueError
        If neighbours correct the predictions, as no format has the samples of the fit.
    """

    committee: Committee
    schema: Schema
    refuses_unseen: bool
    refuses_missing: bool = False
    algorithm: str = "cubist"

    def __post_init__(self) -> None:
        if self.committee.neighbors is not None:
            raise ValueError(
                "neighbours correct the predictions of this model, and an export has no samples of the fit: fit with "
                "neighbors=0, or save the model"
            )

    def codes(self, condition: Condition) -> list[int]:
        """Return the codes of the categories of a condition."""
        categories = self.schema.features[condition.index].categories or ()
        return sorted(categories.index(category) + 1 for category in condition.categories)

    def text(self) -> str:
        """Describe the rules in a line."""
        members = self.committee.members
        n_rules = sum(map(len, members))
        several = f" in {len(members)} rule sets" if len(members) > 1 else ""
        return f"{counted(n_rules, 'rule')} with linear models{several}, for regression (cubist)."
