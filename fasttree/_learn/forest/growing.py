"""Growth of the trees of a forest, in threads that take a tree each, or parts of the last ones.

`Forest` has what all trees share.  `layout_of` chooses once for a forest how its trees are grown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from fasttree._data.cells import Floats
from fasttree._learn.forest.drawn import DrawnForest, may_be_drawn
from fasttree._learn.grow.encode import InOrder, KeptColumns
from fasttree._learn.grow.grower import Grower
from fasttree._learn.progress import steps
from fasttree._learn.recipe import Recipe
from fasttree._model.bags import Bags, seed_of_growth
from fasttree._model.packed.nodes import Packed, pack_tree, unpack_tree
from fasttree._model.threads import in_threads
from fasttree._model.tree import Tree

Trees: TypeAlias = "list[Tree | Packed | None]"
Growth: TypeAlias = "Callable[[Forest, int, int, int, Trees], Trees]"  # as `grow_forest`


class GrowTree(Protocol):
    """A function that grows a tree from the counts of its bag and a seed, perhaps in threads, on which it does not depend."""

    def __call__(self, counts: npt.NDArray[np.integer], seed: int, n_jobs: int = 1, /) -> Tree | Packed: ...


@dataclass(frozen=True)
class Forest:
    """Samples, recipe and bags of a forest.

    Parameters
    ----------
    grower : Grower
        Its samples are all samples; limits are for them, and its seed has no effect.
    bags : Bags
    balances_bags : bool, default False
        Whether the classes of each bag are weighted so that all have the same weight.
    prune : callable or None, default None
        Function of a grown tree that returns the pruned one.
    random_cuts : bool, default False
        Whether each drawn feature has one random threshold, as in extremely randomized trees (Geurts et al. 2006).
    """

    grower: Grower
    bags: Bags
    balances_bags: bool = False
    prune: Callable[[Tree], Tree] | None = None
    random_cuts: bool = False


def grow_forest(forest: Forest, first: int, last: int, n_jobs: int, found: Trees) -> Trees:
    """Grow the trees first, ..., last - 1, and report them as the step "trees".

    Parameters
    ----------
    forest : Forest
    first, last : int
        Numbers of trees, of which their random draws depend.
    n_jobs : int
        Threads; the trees do not depend on it.
    found : list
        Takes the trees; after an exception it has those that are grown, and None for the others.
    """
    grow = layout_of(forest, n_jobs)
    report = steps("trees", last - first)

    def grow_one(i: int) -> Tree | Packed:
        tree = first + i
        return grow(forest.bags.counts(tree), seed_of_growth(forest.bags.seed, tree), threads_of(i, last - first, n_jobs))

    report(0)
    return in_threads(grow_one, last - first, n_jobs, found=found, after=report)


def threads_of(tree: int, n_trees: int, n_jobs: int) -> int:
    """Return how many threads grow a tree: those that come last share the threads that would have no tree."""
    n_last = n_trees % n_jobs
    after = tree - (n_trees - n_last)
    return n_jobs // n_last + (after < n_jobs % n_last) if after >= 0 else 1


def layout_of(forest: Forest, n_jobs: int = 1) -> GrowTree:
    """Return the function that grows a tree of the forest from the counts of its bag and a seed.

    Columns are encoded in `n_jobs` threads.

    Raises
    ------
    ValueError
        If cuts are random, and the recipe has others.
    """
    if forest.random_cuts:
        _check_random(forest.grower.recipe)
    if grows_on_lists(forest):
        return _on_lists(forest)
    drawn, lists = DrawnForest(forest.grower, forest.random_cuts, n_jobs), list[GrowTree]()

    def grow(counts: npt.NDArray[np.integer], seed: int, n_jobs: int = 1) -> Tree | Packed:
        packed = drawn(counts, seed, n_jobs=n_jobs)
        if packed is None:  # a sample counts too often
            if not lists:
                lists.append(_on_lists(forest))
            return lists[0](counts, seed)
        return pruned(forest, packed)

    return grow


def pruned(forest: Forest, packed: Packed) -> Tree | Packed:
    """Return a tree after the pruning of the forest, if it has one."""
    if forest.prune is None:
        return packed
    grower = forest.grower
    task = "classification" if grower.n_classes else "regression"
    impurity = grower.recipe.impurity
    tree = forest.prune(unpack_tree(packed, 0, task, grower.samples.table.n_features, impurity))
    return pack_tree(tree, impurity) or tree


def grows_on_lists(forest: Forest) -> bool:
    """Whether trees grow on sorted lists of the samples, and not in the drawn layout."""
    return forest.balances_bags or not may_be_drawn(forest.grower, forest.random_cuts)


def may_share_rounds(forest: Forest) -> bool:
    """Whether trees of the drawn layout can grow from counts of shards: with all samples of weight 1, by the best cuts."""
    return not (grows_on_lists(forest) or forest.random_cuts) and forest.grower.samples.weight is None


def _check_random(recipe: Recipe) -> None:
    """Raise a ValueError if a recipe chooses thresholds by rules of its own, which random cuts do not obey."""
    if recipe.release8 or recipe.rank == "mdl_gain_ratio" or "intervals" in (recipe.continuous, recipe.ordinal):
        raise ValueError(
            f"recipe {recipe.name!r} chooses thresholds by rules of its own, which random cuts cannot follow: leave recipe= out, "
            f"choose another one, such as 'c45_textbook', or use a random forest"
        )


def _on_lists(forest: Forest) -> GrowTree:
    """Return a function that grows on sorted lists of the samples in the bag, which every recipe allows.

    With random cuts, each feature has one of them in a node.

    The search on lists gives ties to the first feature.  In small nodes, ties are frequent, and a forest would prefer the first
    columns of the table: each tree has the columns in an order of its own.
    """
    whole = forest.grower.samples
    grower = replace(forest.grower, n_jobs=1)
    bins_of = None if whole.weight is None else np.flatnonzero(whole.weight)  # all trees are cut between the same bins
    grower = replace(grower, limits=grower.limits._replace(random_cuts=forest.random_cuts))
    columns = KeptColumns(whole.table, grower.recipe, grower.limits, bins_of)

    def grow(counts: npt.NDArray[np.integer], seed: int, _: int = 1) -> Tree | Packed:
        weight = counts.astype(np.float64)
        if whole.weight is not None:
            weight *= whole.weight
        if forest.balances_bags:
            weight *= balanced(whole.target, counts)
        order = order_of_features(seed, columns.n_features)
        table: Any = InOrder(columns, order)
        of_tree = replace(
            grower,
            samples=whole._replace(table=table),
            limits=grower.limits._replace(seed=seed),
            constraints=grower.constraints.in_order(order),
        )
        return finished(forest, _with_features(of_tree(whole._replace(table=table, weight=weight)), order))

    return grow


def order_of_features(seed: int, n_features: int) -> npt.NDArray[np.intp]:
    """Return the order of the features for a tree that grows on lists."""
    return np.argsort(np.random.Philox(key=seed).random_raw(n_features), kind="stable")


def finished(forest: Forest, tree: Tree) -> Tree | Packed:
    """Return a tree that grew on lists after the pruning of the forest, packed if it can be."""
    tree = tree if forest.prune is None else forest.prune(tree)
    return pack_tree(tree, forest.grower.recipe.impurity) or tree


def _with_features(tree: Tree, order: npt.NDArray[np.intp]) -> Tree:
    """Return a tree whose features are numbered as in the table, not as in `order`."""
    surrogates = tree.surrogates
    if surrogates is not None:
        surrogates = replace(surrogates, feature=order[surrogates.feature].astype(np.int32))
    feature = np.where(tree.feature < 0, -1, order[tree.feature]).astype(np.int32)
    return tree.replace(feature=feature, surrogates=surrogates)


def balanced(target: npt.NDArray[np.integer[Any]], counts: npt.NDArray[np.integer]) -> Floats:
    """Return the weight of each sample that gives all classes in a bag the same weight; of several targets, the product."""
    product = np.ones(len(target))
    for codes in target.T if target.ndim > 1 else [target]:
        product *= factors_of_balance(np.bincount(codes, weights=counts).astype(np.float64))[codes]
    return product


def factors_of_balance(totals: Floats) -> Floats:
    """Return the factor of each class that gives classes of these totals the same weight, and leaves that of all as it is."""
    factors: Floats = totals.sum() / (np.count_nonzero(totals) * np.maximum(totals, 1))
    return factors
