"""Methods to export a fitted tree to other languages, formats and libraries.

Each method passes a `Subject` to a function that knows no estimator, and imports that function when it is called.  None writes
a file: they return text, bytes or objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fasttree._data.schema import Schema
from fasttree._export.subject import Subject
from fasttree._learn.recipe import Recipe
from fasttree._model.tree import Tree
from fasttree.estimators.common.labelling import check_is_fitted

if TYPE_CHECKING:
    from fasttree._export.predictor.predictor import Predictor
    from fasttree._export.sql_dialect import DialectName

__all__ = ["Exports"]


class Exports:
    """Methods that export a fitted tree."""

    tree_: Tree
    schema_: Schema
    recipe_: Recipe
    unseen: str

    def _name(self) -> str:
        """Return the name of the estimator, for titles and messages."""
        return type(self).__name__

    def _subject(self) -> Subject:
        """Return the input of every export."""
        check_is_fitted(self)
        return Subject(
            self.tree_,
            self.schema_,
            getattr(self, "classes_", None),
            self._algorithm(),  # type: ignore[attr-defined]  # of the estimators
            refuses_missing=self.recipe_.missing == "error",
            refuses_unseen=self.unseen == "error",
            target_names=tuple(getattr(self, "target_names_", ())),  # pickles of earlier versions have none
            labelled=self._in_words()[:2],  # type: ignore[attr-defined]  # of the views
        )

    def export_c(self, *, name: str = "tree") -> str:
        """Write the tree as C source without dependencies.

        Every tree can be written, with all forms of tests, all policies for missing values, surrogates and divided samples.  The
        results equal those of `predict` and `predict_proba` bit for bit.  The source is valid C99 and C++, allocates nothing,
        and calls no library function.

        Parameters
        ----------
        name : str, default "tree"
            Prefix of the names in the source; macros have it in capitals.

        Returns
        -------
        str
            One file to compile, and to include where it is called; a comment at its top explains how.  ``tree_predict(x)``
            returns the index of the class in ``tree_classes``, or the predicted number in regression, and
            ``tree_predict_proba(x, out)`` the probabilities.  Categories are passed as codes, which ``tree_code`` looks up; NaN
            is a missing value.  Where `predict` would raise, the result is -1, or NaN in regression.

        Raises
        ------
        ValueError
            If the name is not a C identifier, the text of a class or category contains the character of code 0, or a category is
            a number that a double cannot represent.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> source = model.export_c(name="answer")
        >>> "int answer_predict(const ANSWER_INPUT *x);" in source
        True
        """
        from fasttree._export.c import export_c

        return export_c(self._subject(), name)

    def export_python(self, *, name: str = "tree") -> str:
        """Write the tree as a Python module that imports nothing but `math`.

        Every tree can be written, with all forms of tests, all policies for missing values, surrogates and divided samples.  The
        results equal those of `predict` and `predict_proba` bit for bit.

        Parameters
        ----------
        name : str, default "tree"
            Name of the tree in the docstring of the module.

        Returns
        -------
        str
            Source for Python 3.8 and later.  ``predict(row)`` returns the class or number of one row, ``predict_proba(row)`` the
            probabilities.  A row is a sequence in the order of the columns or a mapping of their names to values.  Categories are
            the values of the training; None and NaN are missing.  Where the model raises, both functions raise a ValueError.

        Raises
        ------
        ValueError
            If the name is not a Python identifier.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> module = {}
        >>> exec(model.export_python(), module)
        >>> module["predict"]([2.4]), module["predict_proba"]([2.6])
        ('no', [0.0, 1.0])
        """
        from fasttree._export.python import export_python

        return export_python(self._subject(), name)

    def export_onnx(self, *, dtype: str = "float32", missing: str | None = None, soft: str | None = None) -> bytes:
        """Return the tree as an ONNX model, for onnxruntime and other programs that read ONNX.

        If all features are continuous, the model has one input ``X`` of shape (n, n_features).  Otherwise it has one input of
        shape (n, 1) per feature, with the name of the feature: strings if its categories are text, else numbers of the `dtype`,
        with booleans as 0 and 1.  NaN is a missing value, and so is any text or number that is not a category of the feature,
        such as the empty string.

        A classifier has the outputs ``label``, of shape (n,) and the type of the classes, and ``probabilities``, of shape
        (n, n_classes); with several targets ``label_0``, ``probabilities_0``, ``label_1`` and so on.  A regressor has
        ``variable``, of shape (n, n_outputs).  An underscore is appended to a name that a feature has already.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            Type of the input and output numbers.  "float32" is what most programs expect.  Thresholds are rounded down, so that
            float32 inputs reach the same leaf as in `predict`; labels are equal, and probabilities and means are rounded.
            "float64": all results are equal bit for bit.
        missing : {"majority", "error"} or None, default=None
            Substitute for dividing samples with missing values and for surrogates, which ONNX does not support.  "majority":
            missing values follow the branch of most training weight; "error": the run fails.  None: raise an error for such a
            tree.
        soft : {"hard"} or None, default=None
            "hard": treat soft thresholds as plain ones.  None: raise an error for a tree with soft thresholds.

        Returns
        -------
        bytes
            A model of operator sets 15 and ai.onnx.ml 3 (4 if categories are float64 inputs), checked by the package onnx.  Its
            properties hold the algorithm, the names of the features and the requested substitutes.

        Raises
        ------
        ValueError
            If the tree needs a substitute that is not requested, is too large for ONNX, or has numeric categories that the
            `dtype` cannot represent.
        ImportError
            If the package onnx is not installed: it comes with the extra `onnx`.

        Notes
        -----
        Where `predict` raises because of ``missing="error"`` or ``unseen="error"``, the run fails as well.

        Examples
        --------
        >>> import onnx
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "yes", "yes"])
        >>> [output.name for output in onnx.load_from_string(model.export_onnx()).graph.output]
        ['label', 'probabilities']
        """
        from fasttree._export.onnx import export_onnx

        return export_onnx(self._subject(), dtype=dtype, missing=missing, soft=soft)

    def to_sklearn(self, *, missing: str | None = None, soft: str | None = None, forest: bool = False) -> Any:
        """Return the tree as a fitted tree of scikit-learn, for programs such as dtreeviz, shap and treelite.

        Its `tree_` is of scikit-learn's own class, with nodes in depth-first order and class shares as values.  It converts X to
        float32, as all of scikit-learn's trees do; for float32 inputs, its predictions equal those of this model bit for bit.

        Parameters
        ----------
        missing : {"majority"} or None, default=None
            Substitute for dividing samples, stopping them in a node, and surrogates.  "majority": missing values follow the
            branch of most training weight.  None: raise an error for such a tree.
        soft : {"hard"} or None, default=None
            "hard": treat soft thresholds as plain ones.  None: raise an error for a tree with soft thresholds.
        forest : bool, default=False
            Whether to return a random forest of this one tree, for programs that support only forests, such as treelite.

        Returns
        -------
        DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier or RandomForestRegressor

        Raises
        ------
        ValueError
            If scikit-learn cannot represent the tree: a feature has categories, a node has more than two branches, missing values
            need a substitute, or a loss matrix makes the tree predict a class that is not the most probable.

        Notes
        -----
        A model with ``missing="error"`` raises for missing values.  scikit-learn's tree cannot: there they follow the branch of
        most training weight, as in a tree that scikit-learn grew without missing values.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from sklearn.tree import export_text
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "yes", "yes"])
        >>> print(export_text(model.to_sklearn(), feature_names=["age"]))
        |--- age <= 1.50
        |   |--- class: no
        |--- age >  1.50
        |   |--- class: yes
        <BLANKLINE>
        """
        from fasttree._export.sklearn import to_sklearn  # not above: it imports scikit-learn's trees and forests

        return to_sklearn(self._subject(), impurity=self.recipe_.impurity, missing=missing, soft=soft, forest=forest)

    def export_pmml(
        self, *, name: str = "prediction", target: int = 0, missing: str | None = None, soft: str | None = None
    ) -> str:
        """Write the tree as a PMML 4.4 document, which predicts as the tree does, bit for bit.

        Missing values, unseen categories and surrogates are handled as in the tree: the predicates of each node state it,
        independent of a reader's defaults.  Where the model raises, readers give no result.

        Parameters
        ----------
        name : str, default="prediction"
            Name of the output field with the predicted label or value.  The other fields are ``probability_<class>`` and
            ``node``, the index of the node as `apply` returns it.  Underscores are appended to a name that a feature has.
        target : int, default=0
            Index of the target to predict, if there are several: a tree in PMML has one.
        missing : {"majority", "error"}, optional
            Substitute for dividing samples with missing values, which PMML does not support reliably.  "majority": they follow
            the heaviest branch; "error": they get no result.  By default such a tree raises an error.
        soft : {"hard"}, optional
            Treat soft thresholds as hard ones; by default a tree with soft thresholds raises an error.

        Returns
        -------
        str
            The document, the same for the same tree.  Annotations in its header name the substitutes.

        Raises
        ------
        ValueError
            If the tree needs a substitute that is not requested, a name or category has a character that XML cannot represent, or
            a parameter is invalid.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier(missing="error").fit([[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> for line in model.export_pmml().splitlines():
        ...     if "<Simple" in line:
        ...         print(line.strip())
        <SimplePredicate field="x0" operator="lessOrEqual" value="2.5"/>
        <SimplePredicate field="x0" operator="greaterThan" value="2.5"/>
        """
        from fasttree._export.pmml import export_pmml
        from fasttree._version import __version__

        return export_pmml(self._subject(), __version__, name=name, target=target, missing=missing, soft=soft)

    def export_sql(
        self,
        *,
        table: str | Sequence[str] | None = None,
        name: str | None = None,
        target: int = 0,
        probability_of: Any = None,
        missing: str | None = None,
        soft: str | None = None,
        dialect: DialectName = "standard",
        cast: bool | Sequence[str] = False,
        nan_as_missing: bool = False,
    ) -> str:
        """Write the tree as an SQL expression or query that predicts as the tree does, bit for bit.

        Each feature is a column of the same name, of doubles or integers, texts or booleans.  NULL is missing; missing values,
        unseen categories and surrogates are handled as in the tree.  The result is NULL if the tree tests a value for which the
        model raises.  The length grows with the number of nodes, unlike that of ``to_rules().to_sql()``, which repeats the path
        to each leaf.

        Parameters
        ----------
        table : str or sequence of str, optional
            Name of a table, or the names of its schema and the table.  The result is then a query of all its columns and, for
            each row, ``node`` (the index of the node as `apply` returns it), ``prediction`` and ``probability_<class>``.  By
            default it is an expression.
        name : str, optional
            Name of the result; by default an expression has none, and in a query it is "prediction".  Underscores are appended
            to a name that a feature has.
        target : int, default=0
            Index of the target to predict, if there are several.
        probability_of : object, optional
            Class whose probability the expression returns; by default it returns the predicted class or value.
        missing : {"majority", "error"}, optional
            Substitute for dividing samples with missing values, which SQL cannot do.  "majority": they follow the heaviest
            branch; "error": they get NULL.  A comment says so.  By default such a tree raises an error.
        soft : {"hard"}, optional
            Treat soft thresholds as hard ones, and say so in a comment; by default a tree with soft thresholds raises an error.
        dialect : str, default="standard"
            "sqlite" (3.35 or later), "duckdb", "postgresql" (12 or later), "bigquery", "snowflake", "tsql" (SQL Server) or
            "spark" (also Databricks).  "standard" is for the first three alike.
        cast : bool or sequence of str, default=False
            Features of numbers whose columns hold text, which is then converted, empty text to NULL; True for all.
        nan_as_missing : bool, default=False
            Whether columns may hold NaN, which is then a missing value as NULL is.  SQLite and SQL Server hold no NaN.

        Returns
        -------
        str
            The expression of a tree of at most 10 levels is a ``CASE``, which is allowed in a generated column; that of a deeper
            tree is a scalar subquery, or, in the last four dialects, a ``CASE`` too.

        Raises
        ------
        ValueError
            If the tree needs a substitute that is not requested, a name or category cannot be written, a dialect does not allow
            as many nested ``CASE`` as the tree needs, or a parameter is invalid.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"])
        >>> print(model.export_sql(name="label"))
        CASE
          WHEN "x0" <= 1.5 THEN 'a'
          WHEN "x0" <= 3.5 OR "x0" IS NULL THEN 'b'
          ELSE 'a'
        END AS "label"
        """
        from fasttree._export.sql import export_sql

        return export_sql(
            self._subject(),
            table=table,
            name=name,
            target=target,
            probability_of=probability_of,
            missing=missing,
            soft=soft,
            dialect=dialect,
            cast=cast,
            nan_as_missing=nan_as_missing,
        )

    def to_predictor(self) -> Predictor:
        """Return a compact predictor for servers, with the same predictions.

        Returns
        -------
        Predictor
            An immutable object that predicts a row in about a microsecond, and saves to a file that can be mapped into memory.

        Raises
        ------
        ValueError
            If categories or classes are not texts, numbers or booleans.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "no"])
        >>> model.to_predictor().predict_one([2.7])
        'yes'
        """
        from fasttree._export.predictor.predictor import predictor_of

        return predictor_of([self._subject()])
