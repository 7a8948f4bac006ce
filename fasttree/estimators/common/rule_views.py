"""Methods that show and export fitted rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fasttree._model.ruleset import Rule, TrialRules
from fasttree._model.words import counted
from fasttree.estimators.common.labelling import GivenLabels, LabelledModel, check_is_fitted

if TYPE_CHECKING:
    from fasttree._explain.ordered_rules import OrderedRules, RuleExplanation
    from fasttree._explain.rule_table import Backend
    from fasttree._export.sql_dialect import DialectName

__all__ = ["RuleViews"]


class RuleViews(LabelledModel):
    """Methods that show fitted rules; each passes them to `OrderedRules`, which knows no estimator."""

    rules_: tuple[Rule, ...]
    classes_: NDArray[Any]
    class_count_: NDArray[Any]
    default_class_: Any
    default_count_: NDArray[Any]
    unseen: str
    _rules_vote: bool = False  # else the first one that fires decides
    _trials: tuple[TrialRules, ...] = ()

    def _name(self) -> str:
        """Return the name of the estimator, as errors and pages show it."""
        return type(self).__name__

    def to_rules(self, *, labels: GivenLabels = None) -> OrderedRules:
        """Return the rules in their order with the default class, to be exported and explained.

        Parameters
        ----------
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        OrderedRules
            Sequence of the rules of `rules_`, with methods that write them as a data frame, text, Markdown, SQL or a web page.

        Examples
        --------
        >>> from fasttree import C45Rules
        >>> X = [["red", 3.0], ["red", 1.0], ["blue", 2.0], ["blue", 1.5]] * 5
        >>> print(C45Rules().fit(X, ["ripe", "unripe", "unripe", "unripe"] * 5).to_rules().to_markdown(), end="")
        |  | rule | prediction | cover | errors | estimate |
        | --- | --- | --- | ---: | ---: | ---: |
        | 0 | x1 &gt; 2 | ripe | 5 | 0 | 24.2 % |
        | 1 | x1 &lt;= 2 | unripe | 15 | 0 | 8.8 % |
        |  | else | unripe | 0 | 0 |  |
        """
        from fasttree._explain.boosted_rules import BoostedRules
        from fasttree._explain.ordered_rules import OrderedRules, RuleModel
        from fasttree._explain.voting_rules import VotingRules

        check_is_fitted(self)
        shown, shown_classes, _ = self._in_words(labels)
        classes = self.classes_.tolist()
        default = self.default_class_
        default = default.item() if hasattr(default, "item") else default
        form = VotingRules if self._rules_vote else OrderedRules
        model = RuleModel(
            self.schema_,
            classes,
            classes.index(default),
            self.class_count_,
            self.default_count_,
            self.unseen,
            self._name(),
            (shown, np.asarray(shown_classes).tolist()),
        )
        return BoostedRules(self._trials, model) if len(self._trials) > 1 else form(self.rules_, model)

    def explain(self, x: Any, *, labels: GivenLabels = None) -> RuleExplanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample, such as ``{"width": 3.5, "colour": "red"}``, ``X.iloc[0]`` or ``X[0]``.  None and NaN are missing values.
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        RuleExplanation
            Printed, it shows the rule that fires with the values that satisfy its conditions, and the later rules that would
            fire, too; or that the default class applies.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.
        """
        return self.to_rules(labels=labels).explain(x)

    def export_text(self, *, labels: GivenLabels = None) -> str:
        """Write the rules as text, one per line in the order in which they apply, followed by the default class.

        Parameters
        ----------
        labels : mapping or None, default=None
            Labels of columns, categories and classes to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        str
            The lines, each with a newline at its end.
        """
        return self.to_rules(labels=labels).to_text()

    def to_markdown(self, *, labels: GivenLabels = None) -> str:
        """Write the rules as a Markdown table; see `OrderedRules.to_markdown`."""
        return self.to_rules(labels=labels).to_markdown()

    def to_frame(self, *, backend: Backend = "pandas", labels: GivenLabels = None) -> Any:
        """Return the rules as a data frame; see `OrderedRules.to_frame`."""
        return self.to_rules(labels=labels).to_frame(backend=backend)

    def export_html(self, *, title: str | None = None, labels: GivenLabels = None) -> str:
        """Write the rules as a web page; see `OrderedRules.to_html`."""
        return self.to_rules(labels=labels).to_html(title=title)

    def export_sql(
        self,
        *,
        table: str | Sequence[str] | None = None,
        name: str | None = None,
        probability_of: Any = None,
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the rules as an SQL expression or query; see `OrderedRules.to_sql`."""
        return self.to_rules().to_sql(
            table=table,
            name=name,
            probability_of=probability_of,
            dialect=dialect,
            cast=cast,
            nan_as_missing=nan_as_missing,
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return scikit-learn's repr of the parameters, followed by the first rules of a fitted model."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # of scikit-learn's base
        if "rules_" in self.__dict__:
            shown = repr(self.to_rules()).split("\n", 1)[1]
            size = f"{counted(len(self.rules_), 'rule')}; learnt from {counted(int(self.class_count_.sum()), 'sample')}"
            bundle["text/plain"] += f"\n{size}\n\n{shown}"
        return bundle

    def _html_repr(self) -> str:
        """Return scikit-learn's HTML of the parameters, followed by the first rules of a fitted model."""
        html: str = super()._html_repr()  # type: ignore[misc]  # of scikit-learn's base
        return html + self.to_rules()._repr_html_() if "rules_" in self.__dict__ else html
