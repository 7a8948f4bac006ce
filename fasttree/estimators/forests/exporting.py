"""Methods that export a forest to other languages, formats and libraries; the trees are one model in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from fasttree._export.subject import Subject
from fasttree.estimators.forests.judging import Judging

if TYPE_CHECKING:
    from fasttree._export.predictor.predictor import Predictor
    from fasttree._export.sql_dialect import DialectName


class ForestExports(Judging):
    """Methods that export a forest."""

    unseen: str

    def _subjects(self) -> Iterator[Subject]:
        """Yield the input of an export for each tree."""
        check_is_fitted(self)
        for tree in self.ensemble_.trees():
            yield Subject(
                tree,
                self.schema_,
                self.__dict__.get("classes_"),
                self._algorithm(),
                refuses_missing=self.recipe_.missing == "error",
                refuses_unseen=self.unseen == "error",
                target_names=tuple(self.target_names_),
            )

    def export_c(self, *, name: str = "tree") -> str:
        """Write the forest as C source without dependencies.

        Every forest can be written: the nodes of all trees are one table, and a loop adds the predictions of the trees in their
        order.  The results equal those of `predict` and `predict_proba` bit for bit.

        Parameters
        ----------
        name : str, default "tree"
            Prefix of the names of functions, tables and (in capitals) macros.

        Returns
        -------
        str
            A file to compile and to include, with the functions of `export_c` of a single tree.

        Raises
        ------
        ValueError
            If the name is not a C identifier, the text of a class or category contains the character of code 0, or a category is
            a number that a double cannot represent.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> source = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y).export_c(name="answer")
        >>> "int answer_predict(const ANSWER_INPUT *x);" in source, "#define ANSWER_N_TREES 20" in source
        (True, True)
        """
        from fasttree._export.c import export_forest_c

        return export_forest_c(self._subjects(), name)

    def export_python(self, *, name: str = "tree") -> str:
        """Write the forest as a Python module that imports nothing but `math`.

        Every forest can be written: the nodes of all trees are one table, and a loop adds the predictions of the trees in their
        order.  The results equal those of `predict` and `predict_proba` bit for bit.

        Parameters
        ----------
        name : str, default "tree"
            Name of the forest in the docstring of the module.

        Returns
        -------
        str
            Source for Python 3.8 and later, with the functions ``predict(row)`` and ``predict_proba(row)``, as from
            `export_python` of a single tree.

        Raises
        ------
        ValueError
            If the name is not a Python identifier.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> module = {}
        >>> exec(forest.export_python(), module)
        >>> module["predict"]([3.7]), module["predict_proba"]([3.7]) == forest.predict_proba([[3.7]])[0].tolist()
        ('yes', True)
        """
        from fasttree._export.python import export_forest_python

        return export_forest_python(self._subjects(), name)

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
        max_nodes: int = 10_000,
    ) -> str:
        """Write a small forest as an SQL expression or query that predicts as the forest does, bit for bit.

        The results of the trees are added in their order.  Columns, missing values and unseen categories are those of
        `export_sql` of a single tree.

        Parameters
        ----------
        table : str or sequence of str, optional
            Name of a table, or the names of its schema and the table.  The result is then a query of all its columns and, for
            each row, ``probability_<class>`` and ``prediction``.  By default it is an expression.
        name : str, optional
            Name of the result; by default an expression has none, and in a query it is "prediction".  Underscores are appended
            to a name that a feature has.
        target : int, default=0
            Index of the target to predict, if there are several.
        probability_of : object, optional
            Class whose probability the expression returns; by default it returns the predicted class or value.
        missing : {"majority", "error"}, optional
            Substitute for dividing samples with missing values, which SQL cannot do; see `export_sql` of a single tree.
        soft : {"hard"}, optional
            Treat soft thresholds as hard ones, and say so in a comment.
        dialect : str, default="standard"
            As in `export_sql` of a single tree.  An expression for one of more than two classes needs "standard", "sqlite",
            "duckdb" or "postgresql".
        cast, nan_as_missing
            As in `export_sql` of a single tree.
        max_nodes : int, default=10_000
            Largest number of nodes to write.  The nodes of all trees count once for each class, unless `probability_of` is given.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If the forest is larger than `max_nodes`, a tree needs a substitute that is not requested, a name or category cannot
            be written, or a parameter is invalid.

        Examples
        --------
        >>> from fasttree import RandomForestRegressor
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 1.0, 2.0, 2.0]
        >>> print(RandomForestRegressor(n_estimators=2, random_state=0).fit(X, y).export_sql(name="mean"))
        (CAST(CASE
          WHEN "x0" <= 2.5 THEN 1.0e0
          ELSE 2.0e0
        END AS DOUBLE PRECISION)
        + CAST(CASE
          WHEN "x0" <= 2.0 THEN 1.0e0
          ELSE 2.0e0
        END AS DOUBLE PRECISION)) / 2.0e0 AS "mean"
        """
        from fasttree._export.sql_forest import export_forest_sql

        return export_forest_sql(
            list(self._subjects()),
            table=table,
            name=name,
            target=target,
            probability_of=probability_of,
            missing=missing,
            soft=soft,
            dialect=dialect,
            cast=cast,
            nan_as_missing=nan_as_missing,
            max_nodes=max_nodes,
        )

    def export_pmml(
        self, *, name: str = "prediction", target: int = 0, missing: str | None = None, soft: str | None = None
    ) -> str:
        """Write the forest as a PMML 4.4 document: a `MiningModel` with a segment for each tree, whose results are averaged.

        Missing values, unseen categories and substitutes are those of `export_pmml` of a single tree.

        Parameters
        ----------
        name : str, default="prediction"
            Name of the output field with the predicted label or value.  The other fields are ``probability_<class>``.
            Underscores are appended to a name that a feature has.
        target : int, default=0
            Index of the target to predict, if there are several.
        missing : {"majority", "error"}, optional
            Substitute for dividing samples with missing values; see `export_pmml` of a single tree.
        soft : {"hard"}, optional
            Treat soft thresholds as hard ones.

        Returns
        -------
        str

        Raises
        ------
        ValueError
            If a tree needs a substitute that is not requested, a name or category has a character that XML cannot represent, or a
            parameter is invalid.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> document = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y).export_pmml()
        >>> document.count("<TreeModel "), 'multipleModelMethod="average"' in document
        (20, True)
        """
        from fasttree._export.pmml import export_forest_pmml
        from fasttree._version import __version__

        return export_forest_pmml(list(self._subjects()), __version__, name=name, target=target, missing=missing, soft=soft)

    def to_predictor(self) -> Predictor:
        """Return a compact predictor for servers, with the same predictions.

        Returns
        -------
        Predictor
            An immutable object that predicts a row without a table, and saves to a file that can be mapped into memory.  The
            trees are behind one another.

        Raises
        ------
        ValueError
            If categories or classes are not texts, numbers or booleans.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> predictor = forest.to_predictor()
        >>> predictor.n_trees, predictor.predict_one([3.7])
        (20, 'yes')
        """
        from fasttree._export.predictor.predictor import predictor_of

        return predictor_of(self._subjects(), is_forest=True)

    def to_sklearn(self, *, missing: str | None = None, soft: str | None = None) -> Any:
        """Return the forest as a fitted forest of scikit-learn, for programs such as shap and treelite.

        Its trees are those of `to_sklearn` of a single tree.  They convert X to float32, as all of scikit-learn's trees do; for
        float32 inputs, the predictions equal those of this forest bit for bit.

        Parameters
        ----------
        missing : {"majority"} or None, default=None
            Substitute for dividing samples, stopping them in a node, and surrogates.  "majority": missing values follow the
            branch of most training weight.  None: raise an error for such a tree.
        soft : {"hard"} or None, default=None
            "hard": treat soft thresholds as plain ones.  None: raise an error for a tree with soft thresholds.

        Returns
        -------
        RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier or ExtraTreesRegressor
            An estimator of scikit-learn, with default parameters but for `n_estimators` and `criterion`.

        Raises
        ------
        ValueError
            If scikit-learn cannot represent a tree: a feature has categories, a node has more than two branches, missing values
            need a substitute, or the forest was fitted with a loss matrix.

        Notes
        -----
        A forest with ``missing="error"`` raises for missing values.  scikit-learn's trees cannot: there they follow the branch of
        most training weight.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
        >>> theirs = forest.to_sklearn()
        >>> type(theirs).__module__, bool((theirs.predict(X) == forest.predict(X)).all())
        ('sklearn.ensemble._forest', True)
        """
        from fasttree._export.sklearn import forest_to_sklearn

        check_is_fitted(self)
        if self.ensemble_.loss is not None:
            raise ValueError(
                "by its loss matrix, the forest does not always predict the most probable class, as a forest of scikit-learn "
                "does: choose another format, such as export_onnx, or fit without loss_matrix"
            )
        return forest_to_sklearn(
            self._subjects(),
            impurity=self.recipe_.impurity,
            missing=missing,
            soft=soft,
            random_cuts=self._random_cuts,
        )

    def export_onnx(self, *, dtype: str = "float32", missing: str | None = None, soft: str | None = None) -> bytes:
        """Return the forest as an ONNX model, for onnxruntime and other programs that read ONNX.

        Inputs, outputs and substitutes are those of a single tree.  If all features are continuous, there is one input ``X``,
        else one per feature, of strings if its categories are text.  A classifier has the outputs ``label`` and
        ``probabilities``, a regressor ``variable``.

        Parameters
        ----------
        dtype : {"float32", "float64"}, default="float32"
            Type of the input and output numbers.  "float32" is what most programs expect.  Thresholds are rounded down, so that
            float32 inputs reach the same leaves as in `predict`; labels are equal, and probabilities and means are rounded.
            "float64": results are equal bit for bit in runtimes that compute a cumulative sum from its beginning, such as
            onnxruntime.
        missing : {"majority", "error"} or None, default=None
            Substitute for dividing samples with missing values and for surrogates, which ONNX does not support.  "majority":
            missing values follow the branch of most training weight; "error": the run fails.  None: raise an error for such a
            tree.
        soft : {"hard"} or None, default=None
            "hard": treat soft thresholds as plain ones.  None: raise an error for a tree with soft thresholds.

        Returns
        -------
        bytes
            A model of operator sets 15 and ai.onnx.ml 3 (4 if categories are float64 inputs), checked by the package onnx.

        Raises
        ------
        ValueError
            If a tree needs a substitute that is not requested, the forest is too large for ONNX, or a feature has numeric
            categories that the `dtype` cannot represent.
        ImportError
            If the package onnx is not installed: it comes with the extra `onnx`.

        Notes
        -----
        The trees are one `TreeEnsembleRegressor` with a target for each tree, whose predictions are added as double numbers in
        the order of the trees.  A run holds a number for each sample, tree and class: predict large tables in parts.

        Examples
        --------
        >>> import onnx
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> [output.name for output in onnx.load_from_string(forest.export_onnx()).graph.output]
        ['label', 'probabilities']
        """
        from fasttree._export.onnx import export_forest_onnx

        return export_forest_onnx(list(self._subjects()), dtype=dtype, missing=missing, soft=soft)
