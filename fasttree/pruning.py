"""Pruning methods as values: each class is a method, and its parameters say how much it prunes.

A value is the parameter `pruning` of an estimator, or the argument of `prune`.  The word of a method is short for the value with
its defaults: ``pruning="reduced_error"`` is ``pruning=ReducedError()``.  Values have `get_params` and `set_params`, so that a
search can set ``pruning__alpha``; they are equal if their parameters are, and a saved model keeps them.

>>> from fasttree import CARTClassifier
>>> from fasttree.pruning import CostComplexity
>>> X, y = [[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1]
>>> model = CARTClassifier(pruning=CostComplexity(alpha=0.2)).fit(X, y)
>>> model.get_n_leaves()
1
>>> model.set_params(pruning__alpha=0.0).fit(X, y).get_n_leaves()
4
"""

from __future__ import annotations

from textwrap import fill
from typing import Any, ClassVar, Literal, NamedTuple

from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from fasttree._data.checks import is_amount, is_integer, is_number, on_a_line
from fasttree._learn.parameters import (
    AMOUNT,
    ParameterRule,
    gives_folds,
    one_of,
    parameter,
    parameters,
    probability_such_as,
    rules_of,
    share_such_as,
)
from fasttree._learn.prune import methods
from fasttree._learn.prune.basis import Basis
from fasttree._learn.prune.sequence import Choice, SubtreeSequence, by_critical_value, weakest_links
from fasttree._model.tree import Tree

METHODS: dict[str, type[PruningMethod]] = {}  # by word, in the order of this file


class Pruned(NamedTuple):
    """A pruned tree; if it was chosen by other samples, with the errors of all subtrees on them."""

    tree: Tree
    table: Bunch | None = None


class PruningMethod(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Base of the methods; a method is a subclass with a `word`, parameters and `_prune`."""

    word: ClassVar[str]
    _attributes: ClassVar[dict[str, tuple[str, str]]]
    for_numbers: ClassVar[bool] = False  # whether it prunes regression trees too
    counts_errors: ClassVar[bool] = False  # whether it takes the errors of a node for those of a binomial

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        METHODS[cls.word] = cls
        cls._attributes = {"word": ("str", f'"{cls.word}".')}

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, its = self.get_params(deep=False), other.get_params(deep=False)
        return all(_is_equal(mine[name], its[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # its parameters can be set

    @property
    def needs_samples(self) -> bool:
        """Whether the method needs samples on which the tree was not grown."""
        return self._needs() == "samples"

    @property
    def needs_folds(self) -> bool:
        """Whether the method grows more trees, by cross-validation."""
        return self._needs() == "folds"

    @property
    def uses_impurity_alone(self) -> bool:
        """Whether the method uses only the impurity of nodes, and no errors."""
        return self._needs() is None and getattr(self, "risk", None) == "impurity"

    def check(self, *, numbers: bool = False) -> None:
        """Check the parameters.

        Parameters
        ----------
        numbers : bool, default=False
            Whether the tree to prune predicts numbers.

        Raises
        ------
        ValueError
            If a parameter has a value that is not allowed, or the method needs classes.
        """
        if numbers and not self.for_numbers:
            raise ValueError(f"pruning={self!r} needs classes; {_listed(numbers=True)} prune trees that predict numbers")
        method: type = type(self)
        for name, rule in rules_of(method).items():
            value = getattr(self, name)
            if not rule.is_allowed(value):
                raise ValueError(f"{name}={on_a_line(value)}: must be {rule.allowed}, in pruning={method.__name__}(...)")
        if numbers and getattr(self, "risk", None) == "error":
            raise ValueError("risk='error' needs classes, and the tree predicts numbers: use risk='impurity'")

    def prune(self, tree: Tree, basis: Basis) -> Pruned:
        """Return the pruned tree.  `basis` has the samples that the method needs."""
        found = self._prune(tree, basis)
        return Pruned(found) if isinstance(found, Tree) else found

    def _needs(self) -> Literal["samples", "folds"] | None:
        return None

    def _prune(self, tree: Tree, basis: Basis) -> Tree | Pruned:
        raise NotImplementedError


def method_of(pruning: Any) -> PruningMethod | None:
    """Return the value for which a word is short; None and values are returned as they are."""
    if pruning is None or isinstance(pruning, PruningMethod):
        return pruning
    return METHODS[pruning]()


def pruning_rule(*, numbers: bool = False) -> ParameterRule:
    """Accept the words and values of methods for classes or for numbers, and None."""
    words = [word for word, method in METHODS.items() if method.for_numbers or not numbers]

    def is_allowed(value: Any) -> bool:
        return value is None or isinstance(value, PruningMethod) or (isinstance(value, str) and value in words)

    listed = ", ".join(map(repr, words))
    allowed = f"{listed}, a value of fasttree.pruning such as CostComplexity(alpha=0.01), or None"
    return ParameterRule(is_allowed, allowed, "str, value of `fasttree.pruning` or None")


def described(*, numbers: bool = False) -> str:
    """Return a list of the methods: the word of each, and the first sentence of its docstring."""
    items = []
    for word, method in METHODS.items():
        if method.for_numbers or not numbers:
            summary = (method.__doc__ or "").partition("\n")[0]
            items.append(fill(f'- "{word}", `{method.__name__}`: {summary[0].lower()}{summary[1:]}', 116, subsequent_indent="  "))
    return "\n".join(items)


def _listed(*, numbers: bool) -> str:
    return ", ".join(method.__name__ for method in METHODS.values() if method.for_numbers or not numbers)


def _is_equal(mine: Any, its: Any) -> bool:
    """Whether two parameters are equal; folds given as arrays are equal if they are the same object."""
    if mine is its:
        return True
    try:
        return bool(mine == its)
    except ValueError:
        return False


def _table(title: str, choice: Choice) -> Bunch:
    columns = {"n_leaves": choice.n_leaves, "xerror": choice.errors, "xstd": choice.deviations, "chosen": choice.chosen}
    return Bunch(**{title: choice.steps}, **columns)


def _chosen(sequence: SubtreeSequence, title: str, choice: Choice) -> Pruned:
    return Pruned(sequence.subtree(float(choice.steps[choice.chosen])), _table(title, choice))


_CV = ParameterRule(
    lambda value: (is_integer(value) and value >= 2) or gives_folds(value),
    "an integer >= 2, a splitter of scikit-learn, or a list of pairs of rows (train, test)",
    "int, splitter or list of (train, test)",
)
_SELECTION = one_of("best", "1se")
_SELECTION_TEXT = """Choice among subtrees by other samples: the one of the smallest error, or the smallest one within one
    standard error of it."""
_SHARE_TEXT = "Share of the samples that a fit holds out from the growth, if the pruning needs such samples."


@parameters
class CostComplexity(PruningMethod):
    """The subtree of the smallest `risk + alpha x leaves` (Breiman et al. 1984, chapter 3).

    A number for `ccp_alpha` in an estimator is short for ``CostComplexity(alpha=number)``.

    References
    ----------
    Breiman, L., Friedman, J. H., Olshen, R. A. and Stone, C. J. (1984). Classification and Regression Trees. Wadsworth.
    """

    word = "cost_complexity"
    for_numbers = True

    alpha: float | str = parameter(
        0.0,
        ParameterRule(
            lambda value: is_amount(value) or (isinstance(value, str) and value in ("cv", "validation")),
            "a finite number >= 0, 'cv' or 'validation'",
            'float, "cv" or "validation"',
        ),
        """Cost of a leaf, in the unit of the risk per unit weight.  "cv" chooses it by cross-validation, "validation" on samples
        held out.""",
    )
    risk: str = parameter(
        "impurity",
        one_of("impurity", "error"),
        "Risk of a leaf: its impurity, as in scikit-learn, or its share of wrong classes or their cost, as in rpart.",
    )
    cv: Any = parameter(
        10,
        _CV,
        """Folds of ``alpha="cv"``.  A number makes random folds, for classifiers with the same share of every class; samples of
        weight 0 are in none.  A splitter, such as those of scikit-learn, or a list gives rows of X, as numbers from 0 or as
        masks; samples of weight 0 keep their numbers.  A tree grows on exactly the rows of `train` and is judged on exactly those
        of `test`.  A row may be in no fold or in several; a row that is listed twice has twice its weight.""",
    )
    selection: str = parameter("best", _SELECTION, _SELECTION_TEXT)
    validation_fraction: float = parameter(0.3, share_such_as(0.3), _SHARE_TEXT)

    def _needs(self) -> Literal["samples", "folds"] | None:
        words: dict[Any, Literal["samples", "folds"]] = {"validation": "samples", "cv": "folds"}
        return words.get(self.alpha)

    def _prune(self, tree: Tree, basis: Basis) -> Tree | Pruned:
        sequence = weakest_links(tree, risk=self.risk)
        if is_number(self.alpha):
            return sequence.subtree(float(self.alpha))
        if basis.folds is None:
            return _chosen(sequence, "ccp_alphas", basis.choose(sequence, self.selection))
        return _chosen(sequence, "ccp_alphas", basis.folds.choose(sequence, risk=self.risk, selection=self.selection))


@parameters
class CAlpha(PruningMethod):
    """The subtree of the smallest `weight x entropy, summed over leaves, + alpha x leaves` (Li 2012, section 5.4).

    For a tree that predicts numbers, the impurity of its criterion takes the place of the entropy.

    References
    ----------
    Li, H. (2012). Statistical Learning Methods. Tsinghua University Press.
    """

    word = "c_alpha"
    for_numbers = True

    alpha: float = parameter(0.0, AMOUNT, "Cost of a leaf, in `unit`, or for numbers in weight times impurity.")
    unit: str = parameter("bits", one_of("bits", "nats"), "Unit of the entropy and of `alpha`.  Numbers have none.")

    def _prune(self, tree: Tree, basis: Basis) -> Tree:
        return methods.c_alpha(tree, float(self.alpha), unit=self.unit)


@parameters
class ReducedError(PruningMethod):
    """The smallest of the subtrees with the least error on samples held out from the growth (Quinlan 1987).

    References
    ----------
    Quinlan, J. R. (1987). Simplifying Decision Trees. International Journal of Man-Machine Studies, 27, 221-234.
    """

    word = "reduced_error"
    for_numbers = True

    max_error_increase: float = parameter(
        0.0,
        AMOUNT,
        "Largest increase of the error per unit weight (for classes, of the share of errors) at a node that is pruned.",
    )
    validation_fraction: float = parameter(0.3, share_such_as(0.3), _SHARE_TEXT)

    def _needs(self) -> Literal["samples", "folds"] | None:
        return "samples"

    def _prune(self, tree: Tree, basis: Basis) -> Tree:
        assert basis.held_out is not None
        return methods.reduced_error(tree, basis.held_out, max_error_increase=float(self.max_error_increase))


@parameters
class Pessimistic(PruningMethod):
    """The subtree of few errors, with half an error more per leaf and one standard error (Quinlan 1987).

    References
    ----------
    Quinlan, J. R. (1987). Simplifying Decision Trees. International Journal of Man-Machine Studies, 27, 221-234.
    """

    word = "pessimistic"
    counts_errors = True

    def _prune(self, tree: Tree, basis: Basis) -> Tree:
        return methods.pessimistic(tree)


@parameters
class ErrorBased(PruningMethod):
    """The subtree of few errors as C4.5 predicts them (Quinlan 1993, chapter 4).

    A branch may also take the place of its node (it is raised) in `C45Classifier`, and in `TreeClassifier` if the recipe has
    ``missing="fractional"`` and either is `release8` or ranks splits by gain ratio.

    References
    ----------
    Quinlan, J. R. (1993). C4.5: Programs for Machine Learning. Morgan Kaufmann.
    """

    word = "error_based"
    counts_errors = True

    confidence: float = parameter(
        0.25,
        share_such_as(0.25),
        """Level, in (0, 1), of the upper confidence limit that is the predicted error of a leaf.  Smaller values prune more.
        C4.5 takes it in percent (option `-c`).""",
    )

    def _prune(self, tree: Tree, basis: Basis) -> Tree:
        return basis.prune_by_errors(tree, float(self.confidence))


@parameters
class MinimumError(PruningMethod):
    """The subtree of the smallest expected error with a prior (Niblett and Bratko 1986, Cestnik and Bratko 1991).

    References
    ----------
    Niblett, T. and Bratko, I. (1986). Learning Decision Rules in Noisy Domains. Expert Systems 86, 25-34.

    Cestnik, B. and Bratko, I. (1991). On Estimating Probabilities in Tree Pruning. EWSL-91, 138-150.
    """

    word = "minimum_error"
    counts_errors = True

    m: float | str = parameter(
        2.0,
        ParameterRule(
            lambda value: is_amount(value) or (isinstance(value, str) and value == "laplace"),
            "a finite number >= 0, or 'laplace'",
            'float or "laplace"',
        ),
        """Weight of the prior, which is the class distribution of all samples (the m-estimate).  "laplace": the prior is one
        sample of each class.""",
    )

    def _prune(self, tree: Tree, basis: Basis) -> Tree:
        return methods.minimum_error(tree, m=self.m)


@parameters
class CriticalValue(PruningMethod):
    """Tests of too little gain are removed, unless one below them stays (Mingers 1987).

    References
    ----------
    Mingers, J. (1987). Expert Systems: Rule Induction with Statistical Data. Journal of the Operational Research Society, 38,
    39-47.
    """

    word = "critical_value"

    value: float | None = parameter(
        None,
        ParameterRule(
            lambda value: value is None or is_amount(value),
            "a finite number >= 0, or None to choose it on samples held out",
            "float or None",
        ),
        "Smallest gain, in the unit of the tree's impurity.  None: it is chosen on samples held out.",
    )
    selection: str = parameter("best", _SELECTION, _SELECTION_TEXT)
    validation_fraction: float = parameter(0.3, share_such_as(0.3), _SHARE_TEXT)

    def _needs(self) -> Literal["samples", "folds"] | None:
        return "samples" if self.value is None else None

    def _prune(self, tree: Tree, basis: Basis) -> Tree | Pruned:
        if self.value is not None:
            return methods.critical_value(tree, float(self.value))
        sequence = by_critical_value(tree)
        return _chosen(sequence, "critical_values", basis.choose(sequence, self.selection))


@parameters
class ChiSquare(PruningMethod):
    """Tests on which the classes do not depend significantly are removed, unless one below them stays (Quinlan 1986).

    References
    ----------
    Quinlan, J. R. (1986). Induction of Decision Trees. Machine Learning, 1, 81-106.
    """

    word = "chi_square"

    p_value: float = parameter(
        0.05,
        probability_such_as(0.05),
        "Largest probability, under independence, of a statistic as large as that of a test that stays.",
    )

    def _prune(self, tree: Tree, basis: Basis) -> Tree:
        return methods.chi_square(tree, float(self.p_value))
