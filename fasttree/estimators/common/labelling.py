"""Labels of a fitted model, which its views show in place of names, categories and classes; and the check that it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from fasttree._data.schema import Schema, default_target_names
from fasttree._export.document import file
from fasttree._model.labels import Label, apply_labels, labels_from_plain, plain_labels, read_labels
from fasttree._model.tree import Tree
from fasttree._model.words import Classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fasttree._data.table import Table

__all__ = ["GivenLabels", "Labelled", "LabelledModel", "check_is_fitted"]

GivenLabels: TypeAlias = Mapping[str, str | Mapping[Any, str] | tuple[str | None, Mapping[Any, str]]] | None


def check_is_fitted(model: Any) -> None:
    """Raise scikit-learn's `NotFittedError` unless the model is fitted."""
    if "schema_" not in model.__dict__:
        from sklearn.utils.validation import check_is_fitted as check  # not above: a saved tree is shown without scikit-learn

        check(model)


class LabelledModel:
    """A fitted model whose views can show labels."""

    schema_: Schema
    target_names_: list[str]
    labels_: dict[str, Label]

    def set_labels(self, labels: GivenLabels) -> Self:
        """Keep labels that all views show in place of the names of columns, categories and classes.

        Texts, pictures, the page, rules and explanations show the labels.  Predictions, and exports for other programs, keep the
        values of the fit.  `save` writes the labels too.  Each view also takes `labels`, which then replace those of the same
        columns.  The next fit removes the labels.

        Parameters
        ----------
        labels : mapping or None
            From the name of a feature or target (`target_names_`) to its label, to a mapping of its categories or classes to
            labels, or to a pair of both.  Columns and values that are not mentioned keep their names.  None: no labels.

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            If labels have another form, belong to no column or value, or two names or values would read alike.

        Examples
        --------
        >>> import pandas as pd
        >>> from fasttree import CARTClassifier
        >>> X, y = pd.DataFrame({"pclass": [1, 3, 3], "sex": ["f", "m", "f"]}), pd.Series([1, 0, 1], name="survived")
        >>> model = CARTClassifier().fit(X, y)
        >>> labels = {"survived": {0: "died", 1: "survived"}, "sex": ("gender", {"f": "female", "m": "male"})}
        >>> print(model.set_labels(labels).export_text(), end="")
        ├── gender = female: survived (2)
        └── gender = male: died (1)
        """
        check_is_fitted(self)
        found = {} if labels is None else read_labels(labels, self.schema_, getattr(self, "classes_", None), self._target_names())
        self.__dict__.pop("labels_", None)
        if found:
            self.labels_ = found
        return self

    def _target_names(self) -> list[str]:
        """Return the names of the targets; pickles of earlier versions have none."""
        return getattr(self, "target_names_", None) or default_target_names(1)

    def _in_words(self, labels: GivenLabels = None) -> tuple[Schema, Classes, list[str]]:
        """Return schema, classes and names of targets as views show them; `labels` precede those of `set_labels`."""
        check_is_fitted(self)
        schema, classes = self.schema_, getattr(self, "classes_", None)
        names = self._target_names()
        kept = self.__dict__.get("labels_", {})
        shown = kept if labels is None else read_labels(labels, schema, classes, names, kept)
        return apply_labels(shown, schema, classes, names)

    def _samples_of_page(self, X: Any, y: Any, encode: Callable[[Any], NDArray[Any]]) -> tuple[Table | None, NDArray[Any] | None]:
        """Return samples that a page shows, and their targets as `encode` has them."""
        from fasttree._data.weights import check_same_length

        if X is None and y is not None:
            raise ValueError("y is given without X: give both or neither")
        if X is None:
            return None, None
        table = self._encode_table(X)  # type: ignore[attr-defined]
        if y is None:
            return table, None
        target = encode(y)
        check_same_length(table.n_samples, len(target))
        return table, target

    def _written_labels(self) -> dict[str, Any]:
        """Return the labels of `set_labels` as an entry of a document; none without labels."""
        labels = self.__dict__.get("labels_")
        if not labels:
            return {}
        return {"labels": plain_labels(labels, self.schema_, getattr(self, "classes_", None), self._target_names())}

    def _read_labels(self, document: Mapping[str, Any]) -> None:
        """Keep the labels of a document, if it has any; schema, classes and names of targets are read before."""
        if "labels" in document:
            with file.errors_of_settings():
                self.labels_ = labels_from_plain(
                    document["labels"], self.schema_, getattr(self, "classes_", None), self.target_names_
                )


class Labelled(LabelledModel):
    """A fitted tree whose views can show labels."""

    tree_: Tree

    def _target_names(self) -> list[str]:
        return getattr(self, "target_names_", None) or default_target_names(self.tree_.n_outputs)

    def _parts_to_show(self) -> tuple[Tree, Schema, Classes]:
        """Return the tree, its schema, and its classes if it has some."""
        check_is_fitted(self)
        return self.tree_, self.schema_, getattr(self, "classes_", None)

    def _labelled(self, labels: GivenLabels = None) -> tuple[Tree, Schema, Classes]:
        """Return tree, schema and classes as views show them."""
        return self._parts_to_show()[0], *self._in_words(labels)[:2]
