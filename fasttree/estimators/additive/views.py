"""Methods that show, export and change additive models."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from fasttree._data.targets import encode_values
from fasttree._explain import follow
from fasttree._explain.additive_explanation import AdditiveExplanation, explain_additive
from fasttree._explain.pictures import contributions
from fasttree._explain.pictures.additive import shapes
from fasttree._export.additive.subject import AdditiveSubject
from fasttree._learn.additive import editing
from fasttree._model.additive.model import AdditiveModel, Term, terms_named
from fasttree._model.words import check_count
from fasttree.estimators.common.labelling import GivenLabels, LabelledModel, check_is_fitted
from fasttree.estimators.common.tasks import codes_of

if TYPE_CHECKING:
    from fasttree._explain.pictures.additive.shapes import Figure
    from fasttree._explain.pictures.contributions import Axes
    from fasttree._export.sql_dialect import DialectName

__all__ = ["AdditiveViews"]


class AdditiveViews(LabelledModel):
    """Methods that show, export and change additive models."""

    additive_: AdditiveModel
    unseen: str

    def _keep_model(self, model: AdditiveModel) -> None:
        raise NotImplementedError

    def _subject(self) -> AdditiveSubject:
        check_is_fitted(self)
        classes = self.__dict__.get("classes_")
        labels = None if classes is None else classes.tolist()
        return AdditiveSubject(self.additive_, self.schema_, labels, self._target_names()[0], self.unseen == "error")

    def _term(self, term: Any) -> int:
        """Return the position of a term, given by name, or by index of its feature."""
        check_is_fitted(self)
        names = terms_named(self.additive_.terms, self.schema_)
        if isinstance(term, str) and term in names:
            return names.index(term)
        if isinstance(term, int | np.integer) and not isinstance(term, bool) and 0 <= term < len(names):
            return int(term)
        raise ValueError(f"term={term!r}: must be one of {', '.join(map(repr, names))}, or an index from 0 to {len(names) - 1}")

    # Reading

    def export_text(self, *, decimals: int = 3, max_lines: int | None = 12, labels: GivenLabels = None) -> str:
        """Write the intercept, and what each part of each shape adds, the most important term first.

        Parameters
        ----------
        decimals : int, default=3
            Digits after the point.
        max_lines : int or None, default=12
            Largest number of parts of a term to write; None: all.
        labels : mapping or None, default=None
            Labels of columns and categories to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        str
            A line for each part, with the standard deviation over the bags behind ±, and for each change by hand.

        Examples
        --------
        >>> from fasttree import GAMRegressor
        >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
        >>> print(GAMRegressor(random_state=0).fit(X, y).export_text(), end="")
        intercept: +2.000
        x0, importance 1.000
            <= 0.5: -1.000 ± 0.000
            > 0.5: +1.000 ± 0.000
        """
        from fasttree._export.additive.text import export_additive_text

        check_count("decimals", decimals, 0)
        if max_lines is not None:
            check_count("max_lines", max_lines, 2)
        subject, (schema, classes, _) = self._subject(), self._in_words(labels)
        names = None if classes is None else np.asarray(classes).tolist()
        shown = AdditiveSubject(subject.model, schema, names, subject.target, False)
        return export_additive_text(shown, decimals=int(decimals), max_lines=max_lines)

    def export_html(
        self,
        *,
        title: str | None = None,
        X: Any = None,
        y: Any = None,
        max_rows: int = 200,
        decimals: int = 3,
        labels: GivenLabels = None,
    ) -> str:
        """Write an interactive web page of the model, which needs no network and no other file.

        The page lists the terms by importance, and draws the shape of each with its band and the density of the training samples,
        and a pair as a map.  For values that the reader enters, or chooses by a click in a shape, it predicts, and draws how the
        terms lead from the intercept to the score.

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
        decimals : int, default=3
            Digits after the point of scores.
        labels : mapping or None, default=None
            Labels to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        str
            HTML document.  Its scores have the bits of `decision_function`, or of `predict` for numbers.

        Raises
        ------
        ValueError
            If a number is out of range, y is given without X, or the samples do not match the fit.

        Examples
        --------
        >>> from pathlib import Path
        >>> from fasttree import GAMRegressor
        >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
        >>> page = GAMRegressor(random_state=0).fit(X, y).export_html(title="Steps", X=X, y=y)
        >>> Path("steps.html").write_text(page, encoding="utf-8")  # doctest: +SKIP
        """
        from fasttree._explain.page.additive.shapes import PageSamples, PageWords, export_additive_html

        schema, classes, targets = self._in_words(labels)
        shown = PageWords(schema, None if classes is None else np.asarray(classes).tolist(), targets[0])
        title = type(self).__name__ if title is None else str(title)
        known = self.__dict__.get("classes_")
        table, target = self._samples_of_page(X, y, encode_values if known is None else lambda y: codes_of(y, known))
        given = None if table is None else PageSamples(table, target)
        return export_additive_html(self.additive_, shown, title=title, given=given, max_rows=max_rows, decimals=decimals)

    def explain(self, x: Any, *, decimals: int = 2, labels: GivenLabels = None) -> AdditiveExplanation:
        """Explain the prediction of one sample: the intercept, and what each term adds.

        Parameters
        ----------
        x : sequence, mapping or row of a table
            Values of the features, in their order or by their names.
        decimals : int, default=2
            Digits after the point in the text.
        labels : mapping or None, default=None
            Labels to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        AdditiveExplanation
            To be printed, read or drawn: its `plot` is a waterfall.
        """
        check_is_fitted(self)
        check_count("decimals", decimals, 0)
        cells = follow.cells_of(x, self.schema_, type(self).__name__)
        table = follow.encoded_row(cells, self.schema_, self.unseen, type(self).__name__)
        shown, classes, _ = self._in_words(labels)
        own = self.__dict__.get("classes_")
        return explain_additive(self.additive_, (table, cells), self.schema_, own, (shown, classes), int(decimals))

    def contributions(self, X: Any) -> NDArray[np.float64]:
        """Return what each term adds to the score of each sample.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_terms) or (n_samples, n_terms, n_classes)
            Their sum and the intercept are the score.  With three classes or more, there is a number for each class.
        """
        table = self._encode_table(X)  # type: ignore[attr-defined]
        found = self.additive_.contributions(table)
        return found if self.additive_.link == "softmax" else found[:, :, 0]

    def _score_text(self) -> str:
        if self.additive_.link == "identity":
            return f"added to {self._target_names()[0]}"
        return "log odds" if self.additive_.link == "logit" else "score"

    def _outputs(self, labels: GivenLabels = None) -> list[str]:
        classes = self._in_words(labels)[1]
        return [] if classes is None else [str(label) for label in np.asarray(classes).tolist()]

    def plot_shape(self, term: Any, ax: Axes | None = None, *, labels: GivenLabels = None) -> Axes:
        """Draw the shape of a feature with matplotlib, or the map of a pair.

        The band is two standard deviations over the bags on each side, and grey bars show where the training samples are.

        Parameters
        ----------
        term : str or int
            Name or index of the term.
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        labels : mapping or None, default=None
            Labels to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ValueError
            If there is no such term.
        ImportError
            If matplotlib is not installed: it comes with the extra `plot`.

        Examples
        --------
        >>> from fasttree import GAMRegressor
        >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
        >>> model = GAMRegressor(random_state=0).fit(X, y)
        >>> model.plot_shape("x0").figure.savefig("shape.png")  # doctest: +SKIP
        """
        i = self._term(term)
        found = self.additive_.terms[i]
        return shapes.plot_shape(found, self._in_words(labels)[0], self._outputs(labels), ax, self._score_text())

    def plot(self, *, max_terms: int = 12, labels: GivenLabels = None) -> Figure:
        """Draw the shapes of the most important terms with matplotlib, on one scale.

        Parameters
        ----------
        max_terms : int, default=12
            Largest number of terms.
        labels : mapping or None, default=None
            Labels to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        check_count("max_terms", max_terms, 1)
        schema = self._in_words(labels)[0]
        return shapes.plot_all_shapes(self.additive_, schema, self._outputs(labels), max_terms, self._score_text())

    def plot_importances(self, ax: Axes | None = None, *, max_features: int = 15, labels: GivenLabels = None) -> Axes:
        """Draw the importances of the terms as bars with matplotlib, the largest on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_features : int, default=15
            Largest number of terms to draw.
        labels : mapping or None, default=None
            Labels to write, in addition to those of `set_labels`, which describes them.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self)
        check_count("max_features", max_features, 1)
        names = terms_named(self.additive_.terms, self._in_words(labels)[0])
        sizes = [(name, np.array([term.importance])) for name, term in zip(names, self.additive_.terms, strict=True)]
        chosen = sorted(sizes, key=lambda each: -float(each[1][0]))[:max_features]
        return contributions.plot_bars(chosen, ax, "mean of the absolute score")

    # Changes by hand

    def set_scores(self, term: Any, where: Any, score: float, *, output: Any = None) -> Self:
        """Return a copy of the model in which a part of a shape has a score of the user's choice.

        Parameters
        ----------
        term : str or int
            Name or index of the term of a feature.
        where : tuple of two floats, list of categories, or None
            The bins to change: those between the two numbers, which may be cuts, and the first or the last bin if the range goes
            past its cut; those of the categories; or None for missing values.  A bin that reaches beyond the numbers stays as it
            is; the words of the change say which values have the new score.
        score : float
            Their new score.
        output : object, default=None
            With three classes or more, the class whose score it is.

        Returns
        -------
        estimator
            Model whose `additive_` describes the change, as do its file and its texts.  The intercept stays.

        Raises
        ------
        ValueError
            If the term is a pair, or `where` holds no bin.

        Examples
        --------
        >>> from fasttree import GAMRegressor
        >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
        >>> model = GAMRegressor(random_state=0).fit(X, y)
        >>> changed = model.set_scores("x0", (0.5, 9.0), 5.0)
        >>> changed.predict([[0.0], [1.0]]).round(3)
        array([1., 7.])
        >>> changed.additive_.terms[0].by_hand
        ('> 0.5: score 5.0',)
        """
        i = self._term(term)
        changed = editing.with_score(self._feature_term(i), self.schema_, where, float(score), self._output(output))
        return self._changed(i, changed)

    def make_monotone(self, term: Any, direction: int, where: tuple[float, float] | None = None, *, output: Any = None) -> Self:
        """Return a copy of the model in which a shape, or a part of it, does not fall or does not rise.

        The new scores are the nearest ones by weighted least squares (isotonic regression), the weights being those of the
        training samples.

        Parameters
        ----------
        term : str or int
            Name or index of the term of a continuous or ordinal feature.
        direction : {1, -1}
            1: scores do not fall; -1: they do not rise.
        where : tuple of two floats or None, default=None
            Values between which scores change; None: all.  Of an ordinal feature, None.
        output : object, default=None
            With three classes or more, the class whose score it is.

        Returns
        -------
        estimator
            Model whose `additive_` describes the change, as do its file and its texts.  The intercept stays.

        Raises
        ------
        ValueError
            If the term is a pair or of a nominal feature, or `where` holds no bin.
        """
        i = self._term(term)
        changed = editing.with_order(self._feature_term(i), self.schema_, direction, where, self._output(output))
        return self._changed(i, changed)

    def _feature_term(self, i: int) -> Term:
        term = self.additive_.terms[i]
        if len(term.axes) > 1:
            raise ValueError(f"term {i} is a pair: changes by hand are for the shapes of features")
        return term

    def _output(self, output: Any) -> editing.Output:
        if self.additive_.link != "softmax":
            if output is not None:
                raise ValueError(f"output={output!r}: the model has one score; leave it out")
            return editing.Output(0)
        classes = self.__dict__["classes_"].tolist()
        if output not in classes:
            raise ValueError(f"output={output!r}: must be one of {classes}")
        return editing.Output(classes.index(output), f", class {output}")

    def _changed(self, i: int, term: Term) -> Self:
        model = copy(self)
        model._keep_model(self.additive_.with_term(i, term))
        return model

    # Other programs

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
        """Write the model as an SQL expression or query: a sum of a `CASE` for each term.

        Databases that calculate in doubles find the scores of the model to the last bit.  Probabilities depend on their `EXP`.

        Parameters
        ----------
        table : str, sequence of str, or None, default=None
            Name of a table, or names of its schema and it, for a query with all its columns, scores, prediction and
            probabilities.  None: an expression of the prediction.
        name : str or None, default=None
            Name of the result.
        probability_of : object, default=None
            Class whose probability an expression gives, of two classes.
        dialect : {"standard", "sqlite", "duckdb", "postgresql", "bigquery", "snowflake", "tsql", "spark"}, default="standard"
            Dialect of SQL.
        cast : bool or sequence of str, default=False
            Features of numbers whose columns hold text; True for all.
        nan_as_missing : bool, default=False
            Whether NaN in a column counts as missing, as NULL does.  Otherwise columns are taken to hold no NaN.

        Returns
        -------
        str

        Examples
        --------
        >>> from fasttree import GAMRegressor
        >>> X, y = [[0.0], [0.0], [1.0], [1.0]] * 10, [1.0, 1.0, 3.0, 3.0] * 10
        >>> model = GAMRegressor(random_state=0, learning_rate=1.0).fit(X, y)
        >>> print(model.export_sql())
        2.0e0
        + CASE
          WHEN "x0" IS NULL THEN 0.0e0
          WHEN "x0" <= 0.5 THEN -1.0e0
          ELSE 1.0e0
        END
        """
        from fasttree._export.additive.sql import export_additive_sql

        options: dict[str, Any] = {"probability_of": probability_of, "dialect": dialect, "cast": cast}
        return export_additive_sql(self._subject(), table=table, name=name, nan_as_missing=nan_as_missing, **options)

    def export_python(self, *, name: str = "gam") -> str:
        """Write the model as a Python module that needs the standard library alone.

        Parameters
        ----------
        name : str, default="gam"
            Name of the model in the docstring of the module.

        Returns
        -------
        str
            Source with `predict`, and for classes `decision_function` and `predict_proba`, for one row.  Scores and predictions
            are those of the model to the last bit.
        """
        from fasttree._export.additive.python import export_additive_python

        return export_additive_python(self._subject(), name)

    def export_c(self, *, name: str = "gam") -> str:
        """Write the model as C source.

        Parameters
        ----------
        name : str, default="gam"
            Prefix of the names of functions and tables.

        Returns
        -------
        str
            Source with functions `<name>_predict`, `<name>_scores` and, for classes, `<name>_predict_proba`.  Scores and
            predictions are those of the model to the last bit.
        """
        from fasttree._export.additive.c import export_additive_c

        return export_additive_c(self._subject(), name)

    def export_onnx(self, *, dtype: str = "float32") -> bytes:
        """Return the model as an ONNX model, for onnxruntime and other programs that read ONNX.

        Inputs are those of a tree: ``X`` if all features are continuous, else one input per feature, of strings if its categories
        are text, with "" for a missing one.  A classifier has the outputs ``label`` and ``probabilities``, a regressor
        ``variable``.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            Type of the input and output numbers.  Scores are added as doubles in both.  "float32": cuts are rounded down, so that
            float32 inputs have the bins of `predict`, and outputs are rounded.  "float64": numbers and labels are those of
            `predict` bit for bit in runtimes that compute a cumulative sum from its beginning, such as onnxruntime; probabilities
            depend on the exponential function of the runtime.

        Returns
        -------
        bytes
            A model of operator sets 15 and ai.onnx.ml 3 (4 if categories are float64 inputs), checked by the package onnx.

        Raises
        ------
        ValueError
            If the model is too large for ONNX, or a feature has numeric categories that the `dtype` cannot represent.
        ImportError
            If the package onnx is not installed: it comes with the extra `onnx`.
        """
        from fasttree._export.onnx import export_additive_onnx

        return export_additive_onnx(self._subject(), dtype=dtype)
