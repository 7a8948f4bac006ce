"""Base of all fitted models: checks of parameters, saving and loading; and log probabilities of classifiers."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from operator import is_not
from typing import Any, BinaryIO, ClassVar, ParamSpec, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import on_a_line
from fasttree._data.schema import Schema
from fasttree._export.document import file, values
from fasttree._learn.parameters import ParameterRule, defaults_of, parameters_of, rules_of
from fasttree._learn.progress import verbosely
from fasttree.estimators.common.documents import from_document

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def all_or_nothing(fit: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Make a method restore the estimator if it raises any exception, including an interrupt.

    An estimator that keeps what is grown so far has its attributes with that in `_so_far`.
    """

    @functools.wraps(fit)
    def fit_or_restore(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        model: Any = args[0]
        before = dict(model.__dict__)
        try:
            return fit(*args, **kwargs)
        except BaseException:
            model.__dict__ = model.__dict__.get("_so_far", before)  # not by update, which fails where no memory is left
            raise

    return fit_or_restore


def with_bars(fit: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Make a method draw bars of progress as the parameter `verbose` asks."""

    @functools.wraps(fit)
    def fit_verbosely(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        model: Any = args[0]
        verbose = model.verbose
        if isinstance(verbose, int) and not verbose:  # small tables are fitted in less time than blocks of nothing cost
            return fit(*args, **kwargs)
        with verbosely(verbose):
            return fit(*args, **kwargs)

    return fit_verbosely


class FittedModel(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of trees and rules: checks of the parameters, columns of the fit, files."""

    _saves_verbose: ClassVar[bool] = False  # forests do, because their files always had it

    schema_: Schema
    n_features_in_: int
    target_names_: list[str]

    _attributes = {
        "schema_": ("Schema", "Names, kinds and categories of the features."),
        "n_features_in_": ("int", "Number of features."),
        "feature_names_in_": ("ndarray of shape (n_features_in_,)", "Names of the features, if the table had names."),
        "target_names_": (
            "list of str",
            'Names of the targets: the names of the columns of y.  Without names: "y", or "y0", "y1", ... if there are several.',
        ),
    }

    def _to_document(self) -> dict[str, Any]:
        raise NotImplementedError

    def _parameter_rules(self) -> Mapping[str, ParameterRule]:
        estimator: type = type(self)
        return rules_of(estimator)

    def _has_defaults(self) -> bool:
        """Whether each parameter is its default, which no check refuses."""
        estimator: type = type(self)
        read, defaults = parameters_of(estimator)
        try:
            return not any(map(is_not, read(self.__dict__), defaults))  # a loop would be noticed in small fits
        except KeyError:  # a model of an earlier version has fewer: the class has their defaults
            return False

    def _check_parameters(self) -> None:
        if self._has_defaults():
            return
        estimator: type = type(self)
        rules = self._parameter_rules()
        for name, default in defaults_of(estimator).items():
            value = getattr(self, name)
            rule = None if value is default else rules.get(name)
            if rule is not None and not rule.is_allowed(value):
                raise ValueError(f"{name}={on_a_line(value)}: must be {rule.allowed}")

    def _keep_schema(self, schema: Schema) -> None:
        self.schema_ = schema
        self.__dict__.pop("labels_", None)  # they belong to the columns of an earlier fit
        self.n_features_in_ = len(schema.features)
        if schema.has_names:
            self.feature_names_in_ = np.array([feature.name for feature in schema.features], dtype=object)
        else:  # an earlier fit may have had names
            self.__dict__.pop("feature_names_in_", None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # the tag `string` means raw text, such as documents
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as they are saved."""
        settings: dict[str, Any] = self.get_params(deep=False)
        if isinstance(settings["random_state"], np.random.RandomState):
            settings["random_state"] = None  # its state has changed since the fit
        if not self._saves_verbose:
            del settings["verbose"]
        return settings

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tree or the rules to a JSON file, for `load`.

        Parameters
        ----------
        path : path
            Name of the file; a file whose name ends in ``.gz`` is compressed.  An existing file is replaced.  The file appears
            whole or not at all.

        Raises
        ------
        ValueError
            If a category or class cannot be written, such as an infinite number.
        OSError
            If the file cannot be written.
        """
        check_is_fitted(self)
        file.save(path, self._to_document())

    def to_json(self) -> str:
        """Return the text that `save` writes, for `fasttree.from_json`.

        Returns
        -------
        str
            A JSON object with a newline at the end; the documentation describes the format.

        Raises
        ------
        ValueError
            If a category or class cannot be written, such as an infinite number or half a character.

        Examples
        --------
        >>> import json
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0]], ["no", "yes"])
        >>> json.loads(model.to_json())["tests"][0]["threshold"]
        1.5
        """
        check_is_fitted(self)
        return file.encoded(self._to_document()).decode()

    @classmethod
    def load(cls, source: str | os.PathLike[str] | BinaryIO) -> Self:
        """Read a fitted estimator of this class from a file that `save` wrote.

        Parameters
        ----------
        source : path or binary file
            JSON file, or compressed JSON file.

        Returns
        -------
        estimator
            Fitted estimator with the saved parameters and tree or rules; its predictions are those of the saved one, bit for bit.

        Raises
        ------
        ValueError
            If the file is not such a document, or holds another class; `fasttree.load` reads all classes.
        OSError
            If the file cannot be read.
        """
        with file.errors_in(source):
            model = from_document(file.load(source))
            if not isinstance(model, cls):
                raise values.DocumentError(f"holds a {type(model).__name__}, not a {cls.__name__}: read it by fasttree.load")
        return model


class LogProbability:
    """Classes of a model, and the logarithm of their probabilities."""

    _attributes = {
        "classes_": ("ndarray of shape (n_classes,)", "The classes."),
        "n_classes_": ("int", "Number of classes."),
    }

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> Any:
        """Return the natural logarithm of `predict_proba`; minus infinity for a class that does not occur.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            A list of such arrays if there are several targets.
        """
        probability = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(part) for part in probability] if isinstance(probability, list) else np.log(probability)
