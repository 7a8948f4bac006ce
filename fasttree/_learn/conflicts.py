"""Table of the choices of a recipe that exclude each other, and its check."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from fasttree._data.checks import alternatives
from fasttree._learn.constraints import FREE, Constraints
from fasttree._learn.recipe import IMPURITIES, IMPURITIES_OF_MODELS, IMPURITIES_OF_NUMBERS, Recipe


class Conflict(NamedTuple):
    """Two choices that exclude each other, each a name and some of its values."""

    one: tuple[str, tuple[Any, ...]]
    other: tuple[str, tuple[Any, ...]]
    why: str
    remedy: str  # what to use instead


NUMBERS, CLASSES, SEVERAL = ("target", ("a numeric target",)), ("target", ("classes",)), ("targets", ("several targets",))
MONOTONE = ("constraint", ("monotonic_cst",))
RELEASE8 = ("release8", (True,))
MDL = ("rank", ("mdl_gain_ratio",))
PER_CATEGORY = ("form", ("nominal='declared'", "ordinal='declared'", "nominal='present'", "ordinal='present'"))
GROUPS = ("form", ("nominal='groups'", "ordinal='groups'"))
INTERVALS = ("form", ("continuous='intervals'", "ordinal='intervals'"))
TWO_GROUPS = ("form", ("nominal='subset'", "nominal='one_vs_rest'"))
ABSOLUTE = ("impurity", ("absolute_error",))
FIFTH_ROOT = ("impurity", ("fifth_root",))
A_TREE_EACH = "a tree for each target"

CONFLICTS = (
    Conflict(("impurity", IMPURITIES), NUMBERS, "it needs classes", "impurity='squared_error'"),
    Conflict(
        ("impurity", IMPURITIES_OF_NUMBERS + IMPURITIES_OF_MODELS), CLASSES, "it needs a numeric target", alternatives(IMPURITIES)
    ),
    Conflict(INTERVALS, NUMBERS, "intervals merge by their classes", "'threshold'"),
    Conflict(INTERVALS, RELEASE8, "C4.5 splits at thresholds", "release8=False"),
    Conflict(
        ("missing", ("direction", "branch", "surrogate")),
        INTERVALS,
        "it needs a split into two",
        "missing='fractional', 'majority' or 'error'",
    ),
    Conflict(INTERVALS, MONOTONE, "the bounds are for two branches", "'threshold'"),
    Conflict(
        RELEASE8,
        ("impurity", tuple(word for word in IMPURITIES + IMPURITIES_OF_NUMBERS + IMPURITIES_OF_MODELS if word != "entropy")),
        "Release 8 compares gains in bits",
        "impurity='entropy', or release8=False",
    ),
    Conflict(
        RELEASE8,
        TWO_GROUPS,
        "Release 8 has no two groups of categories",
        "nominal='declared' or 'groups', or release8=False",
    ),
    Conflict(
        RELEASE8,
        ("missing", ("direction", "majority", "branch", "surrogate")),
        "Release 8 divides samples",
        "missing='fractional' or 'error', or release8=False",
    ),
    Conflict(
        RELEASE8,
        ("midpoint", ("high",)),
        "Release 8 takes values of the table for thresholds",
        "midpoint='low', or release8=False",
    ),
    Conflict(MDL, ("release8", (False,)), "C5.0 shares the steps of Release 8", "release8=True"),
    Conflict(GROUPS, ("release8", (False,)), "groups are a search of C4.5 Release 8", "release8=True"),
    Conflict(GROUPS, ("missing", ("error",)), "groups are a search of C4.5 Release 8", "missing='fractional'"),
    Conflict(SEVERAL, ("form", ("continuous='intervals'",)), "intervals merge by one target", A_TREE_EACH),
    Conflict(SEVERAL, RELEASE8, "C4.5 knows one target", f"release8=False, or {A_TREE_EACH}"),
    Conflict(SEVERAL, ("missing", ("fractional",)), "samples are divided by one target", f"'direction', or {A_TREE_EACH}"),
    Conflict(SEVERAL, MONOTONE, "the bounds are for one prediction", A_TREE_EACH),
    Conflict(ABSOLUTE, ("missing", ("fractional",)), "medians of divided samples are not kept", "missing='direction'"),
    Conflict(ABSOLUTE, MONOTONE, "medians are not bounded as means are", "'squared_error'"),
    Conflict(FIFTH_ROOT, ("missing", ("fractional",)), "variances of divided samples are not kept", "missing='direction'"),
    Conflict(FIFTH_ROOT, MONOTONE, "the bounds are for means that predict", "'squared_error'"),
    Conflict(
        ("missing", ("fractional", "majority", "branch", "surrogate")),
        MONOTONE,
        "missing values could take predictions past the bounds",
        "missing='direction' or 'error'",
    ),
    Conflict(
        ("missing", ("direction",)),
        PER_CATEGORY,
        "it needs two branches",
        "missing='fractional', or nominal='subset' and ordinal='threshold'",
    ),
    Conflict(
        ("missing", ("surrogate",)),
        ("form", PER_CATEGORY[1] + GROUPS[1]),
        "a surrogate imitates a split into two",
        "nominal='subset' and ordinal='threshold', or missing='fractional'",
    ),
)


def check_recipe(recipe: Recipe, n_classes: int, constraints: Constraints = FREE, *, several: bool = False) -> None:
    """Check that no two choices exclude each other: those of a recipe, of the target and of the constraints.

    Parameters
    ----------
    recipe : Recipe
    n_classes : int
        0 for numeric targets.
    constraints : Constraints, default=FREE
    several : bool, default=False
        Whether there are several targets.

    Raises
    ------
    ValueError
        If two choices exclude each other; it names them, the reason and a remedy.
    """
    message = _first_conflict(recipe, n_classes > 0, constraints.monotone is not None, several)
    if message is not None:
        raise ValueError(message)


@lru_cache(maxsize=256)
def _first_conflict(recipe: Recipe, of_classes: bool, is_monotone: bool, several: bool) -> str | None:
    """Return the message of the first two choices that exclude each other, or None."""
    made = set(_choices(recipe, of_classes, is_monotone, several))
    for (one, its), (other, others), why, remedy in CONFLICTS:
        for value in its:
            for second in others:
                if {(one, value), (other, second)} <= made:
                    names = f"{_named(one, value)} and {_named(other, second)}"
                    return f"{names} exclude each other: {why}; use {remedy}"
    return None


def _choices(recipe: Recipe, of_classes: bool, is_monotone: bool, several: bool) -> Iterator[tuple[str, Any]]:
    """Yield all choices."""
    for name in ("impurity", "rank", "missing", "release8", "midpoint"):
        yield name, getattr(recipe, name)
    for name in ("nominal", "ordinal", "continuous"):
        yield "form", f"{name}={getattr(recipe, name)!r}"
    yield "target", "classes" if of_classes else "a numeric target"
    if several:
        yield "targets", "several targets"
    if is_monotone:
        yield "constraint", "monotonic_cst"


def _named(name: str, value: Any) -> str:
    return f"{name}={value!r}" if name in ("impurity", "rank", "missing", "release8", "midpoint") else str(value)
