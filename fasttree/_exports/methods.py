"""The methods by which a fitted tree leaves for other programs.

Each is thin: it hands a `Subject` to a function that knows no estimator.  None writes a file: they return text, bytes or objects.
"""

from __future__ import annotations

from sklearn.utils.validation import check_is_fitted

from .._recipe import Recipe
from .._table import Schema
from .._tree import Tree
from .c import export_c
from .python import export_python
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
