"""Methods that show and export rules with linear models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fasttree._data.targets import encode_values
from fasttree._data.weights import check_same_length
from fasttree._model.committees.committee import Committee, ModelRule
from fasttree._model.words import counted
from fasttree.estimators.common.labelling import GivenLabels, LabelledModel, check_is_fitted

if TYPE_CHECKING:
    from fasttree._explain.committee_rules import CommitteeExplanation, CommitteeRules
    from fasttree._explain.pictures.committees.usage import Axes
    from fasttree._explain.pictures.style import Palette
    from fasttree._explain.rule_table import Backend
    from fasttree._explain.shap import ShapValues
    from fasttree._export.committees.subject import CommitteeSubject
    from fasttree._export.sql_dialect import DialectName

__all__ = ["CommitteeViews"]


class CommitteeViews(LabelledModel):
    """Methods that show fitted rules; each passes them to functions that know no estimator."""

    committee_: Committee
    rules_: tuple[tuple[ModelRule, ...], ...]
    unseen: str

    def to_rules(self, *, labels: GivenLabels = None) -> CommitteeRules:
        """Return the rules of all rule sets, to be exported and explained.

        Parameters
        ----------
        labels : mapping or None, default=None
            Labels of columns and categories to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        CommitteeRules
            Sequence of the rules, with methods that write them as a data frame, text or Markdown.
        """
        from fasttree._explain.committee_rules import CommitteeRules

        check_is_fitted(self)
        return CommitteeRules(self.committee_, self.schema_, self._in_words(labels)[0], self.unseen, type(self).__name__)

    def explain(self, x: Any, *, labels: GivenLabels = None) -> CommitteeExplanation:
        """Explain the prediction for one sample.

        Parameters
        ----------
        x : mapping of names to values, 1-D sequence, or table of one row
            The sample, such as ``{"width": 3.5, "colour": "red"}``, ``X.iloc[0]`` or ``X[0]``.  None and NaN are missing values.
        labels : mapping or None, default=None
            Labels of columns and categories to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        CommitteeExplanation
            Printed, it shows the rules that hold with what each predicts.

        Raises
        ------
        ValueError, TypeError
            If `x` is not one sample with the features of the fit.
        """
        return self.to_rules(labels=labels).explain(x)

    def export_text(self, *, labels: GivenLabels = None) -> str:
        """Write the rules as text, one per line, with numbers rounded.

        Parameters
        ----------
        labels : mapping or None, default=None
            Labels of columns and categories to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        str
            The lines, each with a newline at its end.
        """
        return self.to_rules(labels=labels).to_text()

    def to_markdown(self, *, labels: GivenLabels = None) -> str:
        """Write the rules as a Markdown table; see `CommitteeRules.to_markdown`."""
        return self.to_rules(labels=labels).to_markdown()

    def to_frame(self, *, backend: Backend = "pandas", labels: GivenLabels = None) -> Any:
        """Return the rules as a data frame; see `CommitteeRules.to_frame`."""
        return self.to_rules(labels=labels).to_frame(backend=backend)

    def export_html(
        self, *, title: str | None = None, X: Any = None, y: Any = None, max_rows: int = 200, labels: GivenLabels = None
    ) -> str:
        """Write an interactive web page of the rules, which needs no network and no other file.

        The page lists the rules with their formulas, to filter and sort.  For values that the reader enters, it marks the
        conditions and rules that hold, and shows what each rule, each rule set and the model predict.

        Parameters
        ----------
        title : str or None, default=None
            Title of the page; None: the name of the class.
        X : table of shape (n_samples, n_features), default=None
            Samples with the columns of the fit.  The page holds `max_rows` of them, at equal distances, to choose from.
        y : array-like of shape (n_samples,), default=None
            Targets of the samples, to compare with the predictions.
        max_rows : int, default=200
            Maximum number of samples in the page.
        labels : mapping or None, default=None
            Labels to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        str
            HTML document.  Its predictions have the bits of `predict`; if neighbours correct these, the page says so and has what
            the rules predict.

        Raises
        ------
        ValueError
            If `max_rows` is negative, y is given without X, or the samples do not match the fit.

        Examples
        --------
        >>> import numpy as np
        >>> from pathlib import Path
        >>> from fasttree import CubistRegressor
        >>> x = np.arange(40.0)
        >>> model = CubistRegressor().fit(x[:, None], np.where(x < 20, 3 * x, 200 - 2 * x))
        >>> Path("rules.html").write_text(model.export_html(title="Two lines"), encoding="utf-8")  # doctest: +SKIP
        """
        from fasttree._explain.page.committees.rules import export_committee_html

        check_is_fitted(self)
        shown, _, targets = self._in_words(labels)
        table, truth = self._samples_of_page(X, y, encode_values)
        title = type(self).__name__ if title is None else str(title)
        how = {"title": title, "target": targets[0], "table": table, "truth": truth, "max_rows": max_rows}
        return export_committee_html(self.committee_, self.schema_, shown, **how)

    def plot_usage(self, *, max_features: int = 15, ax: Axes | None = None, labels: GivenLabels = None) -> Axes:
        """Draw how much the rules use each feature, in conditions and in models, with matplotlib.

        A rule counts as many samples as it covers.  A bar is the part of these in rules that have a condition on the feature, or
        a term of it, as in the attribute usage that Cubist prints.

        Parameters
        ----------
        max_features : int, default=15
            Maximum number of features to draw, the most used ones.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        labels : mapping or None, default=None
            Labels of features to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If `max_features` is not an integer of at least 1.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> import numpy as np
        >>> from fasttree import CubistRegressor
        >>> x = np.arange(40.0)
        >>> model = CubistRegressor().fit(x[:, None], np.where(x < 20, 3 * x, 200 - 2 * x))
        >>> model.plot_usage().figure.savefig("usage.png")  # doctest: +SKIP
        """
        from fasttree._explain.pictures.committees.usage import plot_usage, usage_of

        check_is_fitted(self)
        names = [feature.name for feature in self._in_words(labels)[0].features]
        return plot_usage(*usage_of(self.committee_, len(names)), names, max_features, ax)

    def plot_regions(
        self,
        X: Any,
        y: Any,
        features: str | int | Sequence[str | int] | None = None,
        *,
        at: Any = None,
        ax: Axes | None = None,
        max_samples: int = 1000,
        palette: Palette = None,
        labels: GivenLabels = None,
    ) -> Axes:
        """Draw with matplotlib what the model predicts along one feature or two, and the samples.

        For one feature, the samples are dots with the prediction as a line.  For two, they are dots above the predictions as
        colours.  Dashed lines are where other rules hold, if the model has one rule set.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Samples, with the columns of the fit.  Those with a missing value in `features` are not drawn, but counted.
        y : array-like of shape (n_samples,)
            Their targets.
        features : str, int, sequence of one or two of them, or None, default=None
            Names or indices of the features across and up; None: those that the model uses, if they are one or two.
        at : mapping, 1-D sequence, table of one row, or None, default=None
            A sample, as in `explain`, whose values the other features have.  It may be None if the model uses no others.
            Neighbours use all features.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_samples : int, default=1000
            Maximum number of dots; of more samples, an evenly spaced part is drawn, with a note.
        palette : str, sequence of str or None, default=None
            A colour such as "#0072b2".
        labels : mapping or None, default=None
            Labels of columns and categories to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If a feature is unknown, or if the model uses others and `at` is None.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> import numpy as np
        >>> from fasttree import CubistRegressor
        >>> x = np.arange(40.0)
        >>> X, y = x[:, None], np.where(x < 20, 3 * x, 200 - 2 * x)
        >>> CubistRegressor().fit(X, y).plot_regions(X, y).figure.savefig("regions.png")  # doctest: +SKIP
        """
        from fasttree._explain.follow import row_at
        from fasttree._explain.pictures.committees import regions
        from fasttree._explain.pictures.space import painting
        from fasttree._explain.pictures.space.regions import MODEL_STEPS, axes_of, chosen_features
        from fasttree._explain.pictures.style import style_of
        from fasttree._model.words import check_count

        check_is_fitted(self)
        check_count("max_samples", max_samples, 0)
        committee, schema = self.committee_, self.schema_
        indices = chosen_features(regions.used_by(committee), schema, features, has_rest=at is not None)
        rest = row_at(at, schema, self.unseen, type(self).__name__)
        table, target = self._encode_table(X), encode_values(y)  # type: ignore[attr-defined]
        check_same_length(table.n_samples, len(target))
        columns = [table.column(j) for j in indices]
        shown, _, targets = self._in_words(labels)
        cuts = [regions.cuts_of(committee, j) for j in indices]
        found = regions.regions_of(committee, schema, axes_of(cuts, MODEL_STEPS, schema, shown, indices, columns), rest)
        names = [shown.features[j].name for j in indices]
        style = style_of(None, show="both", color_by=None, palette=palette)
        return painting.plot_regions(found, painting.Shown(columns, target, names, targets[0], None, style, max_samples), ax)

    def _subject(self) -> CommitteeSubject:
        from fasttree._export.committees.subject import CommitteeSubject

        check_is_fitted(self)
        return CommitteeSubject(self.committee_, self.schema_, self.unseen == "error")

    def export_sql(
        self,
        *,
        table: str | Sequence[str] | None = None,
        name: str | None = None,
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the rules as an SQL expression or query that predicts as the model does, bit for bit.

        Parameters
        ----------
        table : str or sequence of str or None, default=None
            Name of a table, or the names of its schema and the table.  The result is then a query of all its columns and the
            prediction.
        name : str or None, default=None
            Name of the result.
        dialect, cast, nan_as_missing
            See `CARTRegressor.export_sql`.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If neighbours correct the predictions, a name or category cannot be written, or a parameter is invalid.
        """
        from fasttree._export.committees.sql import export_committee_sql

        return export_committee_sql(
            self._subject(), table=table, name=name, dialect=dialect, cast=cast, nan_as_missing=nan_as_missing
        )

    def export_python(self, *, name: str = "rules") -> str:
        """Write the rules as a Python module without imports of other packages; its predictions have the bits of `predict`.

        Parameters
        ----------
        name : str, default="rules"
            Name of the rules in the docstring of the module.

        Returns
        -------
        str
            Source with a function `predict` for one row.

        Raises
        ------
        ValueError
            If neighbours correct the predictions, or the name is not a Python name.
        """
        from fasttree._export.committees.python import export_committee_python

        return export_committee_python(self._subject(), name)

    def export_c(self, *, name: str = "rules") -> str:
        """Write the rules as C source; its predictions have the bits of `predict`.

        Parameters
        ----------
        name : str, default="rules"
            Prefix of the names in the source.

        Returns
        -------
        str
            Source with a function `<name>_predict` for one row.

        Raises
        ------
        ValueError
            If neighbours correct the predictions, or the name is not a C name.
        """
        from fasttree._export.committees.c import export_committee_c

        return export_committee_c(self._subject(), name)

    def export_onnx(self, *, dtype: str = "float32") -> bytes:
        """Return the rules as an ONNX model, for onnxruntime and other programs that read ONNX.

        Inputs are those of a tree: ``X`` if all features are continuous, else one input per feature, of strings if its categories
        are text, with "" for a missing one.  The output is ``variable``.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            Type of the input and output numbers.  Models are computed as doubles in both.  "float32": thresholds are rounded
            down, so that the same rules hold for float32 inputs as in `predict`, and outputs are rounded.  "float64": numbers are
            those of `predict` bit for bit in runtimes that compute a cumulative sum from its beginning, such as onnxruntime.

        Returns
        -------
        bytes
            A model of operator sets 15 and ai.onnx.ml 3 (4 if categories are float64 inputs), checked by the package onnx.

        Raises
        ------
        ValueError
            If neighbours correct the predictions, the model is too large for ONNX, or a feature has numeric categories that the
            `dtype` cannot represent.
        ImportError
            If the package onnx is not installed: it comes with the extra `onnx`.
        """
        from fasttree._export.onnx import export_committee_onnx

        return export_committee_onnx(self._subject(), dtype=dtype)

    def export_pmml(self, *, name: str = "prediction") -> str:
        """Write the rules as a PMML 4.4 document, for scoring engines; its predictions have the bits of `predict`.

        Each rule is a `RegressionModel` with its bounds, in a segment whose predicate has the conditions.  Segments are averaged
        twice: those of a rule set that hold, and the rule sets.

        Parameters
        ----------
        name : str, default="prediction"
            Name of the output field.  Underscores are appended to a name that a feature has.

        Returns
        -------
        str
            The document, the same for the same rules.

        Raises
        ------
        ValueError
            If neighbours correct the predictions, or a name or category has a character that XML cannot represent.
        """
        from fasttree._export.committees.pmml import export_committee_pmml

        return export_committee_pmml(self._subject(), self._target_names()[0], name=name)

    def shap_values(self, X: Any, background: Any, *, labels: GivenLabels = None) -> ShapValues:
        """Return exact Shapley values of the rules: the contribution of each feature to each prediction.

        A prediction is divided among the features: each gets the change of the prediction when its value becomes known, averaged
        over all orders in which values may become known, and over the samples of a background, whose values replace the unknown
        ones (interventional).  Overlaps, bounds and rule sets of which no rule holds are taken into account.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.
        background : table of shape (n_background, n_features)
            Samples whose values replace unknown ones, such as a hundred rows of the training table.
        labels : mapping or None, default=None
            Labels of features to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        ShapValues
            Object with `values` of shape (n_samples, n_features), `base_values`, the mean prediction for the background, `data`
            and `feature_names`.  The base value and the values of a sample sum to its prediction.

        Raises
        ------
        ValueError
            If neighbours correct the predictions, X or the background does not have the columns of the fit or has no rows, or
            some sets of the terms of a rule pass a bound and these terms have more than 20 features.

        Notes
        -----
        The time grows with n_samples times n_background, and with how many sets of rules hold together when some of the features
        have the values of the background.  In the worst case that is exponential in the number of features of conditions.

        References
        ----------
        Shapley 1953, "A value for n-person games".  Lundberg et al. 2020, "From local explanations to global understanding with
        explainable AI for trees" (Nature Machine Intelligence 2).

        Examples
        --------
        >>> import numpy as np
        >>> from fasttree import CubistRegressor
        >>> x = np.arange(40.0)
        >>> X = np.column_stack([x, x % 2])
        >>> model = CubistRegressor().fit(X, np.where(x < 20, 3 * x, 200 - 2 * x))
        >>> found = model.shap_values(X[30:31], X)
        >>> found.base_values.round(2), found.values.round(2)
        (array([84.75]), array([[55.25,  0.  ]]))
        """
        from fasttree._explain.shap import committee_shap_values

        check_is_fitted(self)
        if self.committee_.neighbors is not None:
            raise ValueError(
                "neighbours correct the predictions of this model, so that they are no means of formulas: fit with neighbors=0 "
                "for SHAP values of the rules"
            )
        names = [feature.name for feature in self._in_words(labels)[0].features]
        table, others = self._encode_table(X), self._encode_table(background)  # type: ignore[attr-defined]
        return committee_shap_values(self.committee_, table, others, names)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return scikit-learn's repr of the parameters, followed by the first rules of a fitted model."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # of scikit-learn's base
        if "committee_" in self.__dict__:
            shown = repr(self.to_rules()).split("\n", 1)[1:]
            size = counted(len(self.to_rules()), "rule")
            bundle["text/plain"] += "\n".join(["", size, "", *shown])
        return bundle

    def _html_repr(self) -> str:
        """Return scikit-learn's HTML of the parameters, followed by the first rules of a fitted model."""
        html: str = super()._html_repr()  # type: ignore[misc]  # of scikit-learn's base
        return html + self.to_rules()._repr_html_() if "committee_" in self.__dict__ else html
