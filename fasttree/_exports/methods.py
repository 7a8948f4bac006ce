"""The methods by which a fitted tree leaves for other programs.

Each is thin: it hands a `Subject` to a function that knows no estimator.  None writes a file: they return text, bytes or objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._predictor import Predictor, predictor_of
from .._recipe import Recipe
from .._schema import Schema
from .._tree import Tree
from .c import export_c
from .onnx import export_onnx
from .pmml import export_pmml
from .python import export_python
from .sql import export_sql
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
            target_names=tuple(getattr(self, "target_names_", ())),  # pickles of earlier versions have none
        )

    def export_c(self, *, name: str = "tree") -> str:
        """Write the tree as C source without dependencies.

        Every tree can be written: all tests, missing values by every policy, surrogates, samples that divide.  The answers are
        those of `predict` and `predict_proba`, to the last bit.  The source is C99 and C++, allocates nothing, and calls nothing.

        Parameters
        ----------
        name : str, default "tree"
            What the names in the source begin with, macros in capitals.

        Returns
        -------
        str
            One file, to be compiled, and to be included where it is called; its head says how.  ``tree_predict(x)`` gives the
            place of the class in ``tree_classes`` (or the number that a regression tree predicts),
            ``tree_predict_proba(x, out)`` the probabilities.  Categories are given as codes, which ``tree_code`` tells; NaN is a
            missing value.  What the model refuses gets -1, or NaN in regression.

        Raises
        ------
        ValueError
            If the name is not one of C; if the text of a class or category holds the character of code 0; if a category is a
            number that no double is.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> source = model.export_c(name="answer")
        >>> "int answer_predict(const ANSWER_INPUT *x);" in source
        True
        """
        return export_c(self._subject(), name)

    def export_python(self, *, name: str = "tree") -> str:
        """Write the tree as a Python module that imports nothing but `math`.

        Every tree can be written: all tests, missing values by every policy, surrogates, samples that divide.  The answers are
        those of `predict` and `predict_proba`, to the last bit.

        Parameters
        ----------
        name : str, default "tree"
            What the docstring of the module calls the tree.

        Returns
        -------
        str
            Source for Python 3.8 and later.  ``predict(row)`` gives the class (or the number) for one row, a sequence in the
            order of the columns or a mapping by their names; ``predict_proba(row)`` the probabilities.  Categories are given as
            they were in training; None and NaN are missing values.  What the model refuses raises a ValueError.

        Raises
        ------
        ValueError
            If the name is not one of Python.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
        >>> module = {}
        >>> exec(model.export_python(), module)
        >>> module["predict"]([2.4]), module["predict_proba"]([2.6])
        ('no', [0.0, 1.0])
        """
        return export_python(self._subject(), name)

    def export_onnx(self, *, dtype: str = "float32", missing: str | None = None, soft: str | None = None) -> bytes:
        """Return the tree as an ONNX model, for onnxruntime and whatever else reads ONNX.

        Where all features are continuous there is one input, ``X`` of shape (n, n_features); else one of shape (n, 1) per
        feature, under its name: strings if its categories are text, else numbers of the `dtype`, booleans as 0 and 1.  Missing
        are NaN and any text that is no category, such as the empty one; numbers that are no category are taken for missing, too.

        A classifier has the outputs ``label``, of shape (n,) and the type of the classes, and ``probabilities``, of shape
        (n, n_classes); with several targets ``label_0``, ``probabilities_0``, ``label_1`` and so on.  A regressor has
        ``variable``, of shape (n, n_outputs).  An underscore follows a name that a feature has already.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            Of the numbers that go in and come out.  "float32" is what most programs expect: thresholds are rounded down, so that
            float32 inputs end in the leaf where `predict` sees them end; labels are those of `predict`, and probabilities and
            means those of `predict_proba` and `predict`, rounded.  "float64": all are equal bit for bit.
        missing : {"majority", "error"} or None, default=None
            What becomes of a missing value that the tree would share out, or for which it would ask surrogates, as ONNX cannot:
            it follows the branch of most training weight, or the run fails.  None: such a tree is refused.
        soft : {"hard"} or None, default=None
            "hard": soft thresholds are taken for plain ones.  None: a tree that has some is refused.

        Returns
        -------
        bytes
            A model of operator sets 15 and ai.onnx.ml 3 (4 where float64 inputs are categories), checked by the package onnx.
            Its properties tell the algorithm, the names of the features and the substitutes that were asked for.

        Raises
        ------
        ValueError
            If the tree needs a substitute that is not named, is too large for ONNX, or has numbers as categories that the `dtype`
            cannot hold.
        ImportError
            If the package onnx is not installed: it comes with the extra `onnx`.

        Notes
        -----
        Where `predict` raises, because the fit was told that values must not be missing (`missing="error"`) or categories not
        unseen (`unseen="error"`), the run fails as well.

        Examples
        --------
        >>> import onnx
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0]], ["no", "yes", "yes"])
        >>> [output.name for output in onnx.load_from_string(model.export_onnx()).graph.output]
        ['label', 'probabilities']
        """
        return export_onnx(self._subject(), dtype=dtype, missing=missing, soft=soft)

    def to_sklearn(self, *, missing: str | None = None, soft: str | None = None, forest: bool = False) -> Any:
        """Return the tree as a fitted tree of scikit-learn, for programs that read those: dtreeviz, shap, treelite and others.

        Its `tree_` is of scikit-learn's own class: nodes depth first, shares of the classes as values.  It takes X as float32, as
        all of scikit-learn's trees do; on numbers of float32 its predictions are those of this model, bit for bit.

        Parameters
        ----------
        missing : {"majority"} or None, default=None
            "majority": a missing value that the tree would share out, keep in a node, or ask surrogates for, follows the branch
            of most training weight.  None: such a tree is refused.
        soft : {"hard"} or None, default=None
            "hard": soft thresholds are taken for plain ones.  None: a tree that has some is refused.
        forest : bool, default=False
            Return a random forest of this one tree, for programs that take forests alone, such as treelite.

        Returns
        -------
        DecisionTreeClassifier, DecisionTreeRegressor, RandomForestClassifier or RandomForestRegressor

        Raises
        ------
        ValueError
            If scikit-learn has no such tree: a feature has categories, a node has more than two branches, missing values need a
            substitute, or a loss matrix makes the tree answer what is not most probable.

        Notes
        -----
        A model whose fit was told that values must not be missing (`missing="error"`) refuses them; scikit-learn's cannot: there
        they follow the branch of most training weight, as in a tree that scikit-learn grew without missing values.

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
        from .sklearn import to_sklearn  # not above: it imports scikit-learn's trees and forests

        return to_sklearn(self._subject(), impurity=self.recipe_.impurity, missing=missing, soft=soft, forest=forest)

    def export_pmml(
        self, *, name: str = "prediction", target: int = 0, missing: str | None = None, soft: str | None = None
    ) -> str:
        """Write the tree as a PMML 4.4 document, which predicts as the tree does, bit for bit.

        Missing values, unseen categories and surrogates go the tree's way: every node says so in its predicates, whatever a
        reader's default.  Where the model refuses a value, readers give no result.

        Parameters
        ----------
        name : str, default="prediction"
            Name of the output field with the predicted label or value.  Others are ``probability_<class>`` and ``node``, the
            number of the node where a sample ends, as `apply` tells.  Underscores follow where a feature has the name.
        target : int, default=0
            Which of several targets: a tree in PMML has one.
        missing : {"majority", "error"}, optional
            What happens to missing values where the tree shares samples out among branches, which PMML cannot do reliably: they
            follow the heaviest branch, or get no result.  By default such a tree is refused.
        soft : {"hard"}, optional
            Take soft thresholds for hard ones; by default such a tree is refused.

        Returns
        -------
        str
            The same for the same tree.  Substitutes are told by annotations in its header.

        Raises
        ------
        ValueError
            If PMML cannot express the tree and no substitute is named, if a name or category has a character that XML cannot
            hold, or a parameter is not as stated.

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
        from .. import __version__

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
    ) -> str:
        """Write the tree as SQL that predicts as the tree does, bit for bit: an expression, or a query of a table.

        SQLite (from 3.35), DuckDB and PostgreSQL (from 12) read it alike.  It reads a column per feature, of its name: doubles
        or integers, texts, truth values.  NULL and NaN are missing; missing values, unseen categories and surrogates go the
        tree's way, and where it tests a value that the model refuses the answer is NULL.  The text grows with the nodes, unlike
        that of ``to_rules().to_sql()``, which repeats what leads to each leaf.

        Parameters
        ----------
        table : str or sequence of str, optional
            Name of a table, or names of its schema and it.  The result is then a query of all its columns and, for each row,
            ``node`` (the number of the node where it ends, as `apply` tells), ``prediction`` and ``probability_<class>``.  By
            default it is an expression.
        name : str, optional
            Name of the result; by default an expression has none, and in a query it is "prediction".  Underscores follow where a
            feature has the name of a result.
        target : int, default=0
            Which of several targets.
        probability_of : object, optional
            A class whose probability the expression is to give; by default it gives the predicted class, or the value.
        missing : {"majority", "error"}, optional
            What happens to missing values where the tree shares samples out among branches, which SQL cannot: they follow the
            heaviest branch, or give NULL.  A comment says so.  By default such a tree is refused.
        soft : {"hard"}, optional
            Take soft thresholds for hard ones, which a comment says; by default such a tree is refused.

        Returns
        -------
        str
            The expression of a tree of at most 10 levels is a ``CASE``, which a generated column can be; of a deeper one a scalar
            subquery.

        Raises
        ------
        ValueError
            If SQL cannot express the tree and no substitute is named, if a name or category cannot be written, or a parameter is
            not as stated.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["a", "b", "b", "a"])
        >>> print(model.export_sql(name="label"))
        CASE
          WHEN "x0" <= 1.5 THEN 'a'
          ELSE CASE
            WHEN "x0" > 3.5 AND "x0" <= 1.79769313486231571e+308 THEN 'a'
            ELSE 'b'
          END
        END AS "label"
        """
        return export_sql(
            self._subject(), table=table, name=name, target=target, probability_of=probability_of, missing=missing, soft=soft
        )

    def for_prediction(self) -> Predictor:
        """Return a compact predictor that answers alike, made for servers.

        Returns
        -------
        Predictor
            It never changes, answers a row in about a microsecond, and can be saved to a file that is mapped into memory.

        Raises
        ------
        ValueError
            If categories or classes are no texts, numbers or truth values.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "no"])
        >>> model.for_prediction().predict_one([2.7])
        'yes'
        """
        return predictor_of(self._subject())
