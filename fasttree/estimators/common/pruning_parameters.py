"""Groups of parameters for pruning."""

from __future__ import annotations

from typing import Any

from fasttree._data.checks import is_amount
from fasttree._learn.parameters import ParameterRule, parameter, parameters
from fasttree.pruning import ErrorBased, described, pruning_rule

ANY_PRUNING = pruning_rule()


def _text(*, numbers: bool, more: str = "") -> str:
    """Describe the parameter `pruning`."""
    return f"""Method of pruning: a value of `fasttree.pruning`, or a word, which is short for the value with its defaults:

{described(numbers=numbers)}
- None: the tree as grown.{more}"""


@parameters
class RegressionPruning:
    """Methods that also prune trees for numbers."""

    pruning: Any = parameter(
        None,
        pruning_rule(numbers=True),
        _text(
            numbers=True,
            more="""

Samples that judge a tree measure its error by the criterion of its growth, around its predictions: squared errors, absolute
errors, or half the Poisson deviance, in which a prediction of 0 counts as 1e-10 of the largest target.""",
        ),
    )
    ccp_alpha: float | str = parameter(
        0.0,
        ParameterRule(
            lambda value: is_amount(value) or (isinstance(value, str) and value in ("cv", "validation")),
            "a finite number >= 0, 'cv' or 'validation'",
            'float, "cv" or "validation"',
        ),
        """Short for ``pruning=CostComplexity(alpha=ccp_alpha)``, unless it is 0: the cost of a leaf, in impurity per unit weight,
        as in scikit-learn.""",
    )


@parameters
class Pruning(RegressionPruning):
    """All methods of pruning."""

    pruning: Any = parameter(None, ANY_PRUNING, _text(numbers=False))


def check_one_confidence(confidence: float, pruning: Any) -> None:
    """Raise a ValueError if the parameter `confidence` contradicts that of the method."""
    if isinstance(pruning, ErrorBased) and confidence not in (0.25, pruning.confidence):
        raise ValueError(f"confidence={confidence!r} and pruning={pruning!r} exclude each other: give the confidence once")
