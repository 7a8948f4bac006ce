"""Growth with pruning, in a fit and after it: folds, samples held out, and the methods of `fasttree.pruning`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._data.weights import check_same_length, check_sample_weight
from fasttree._learn import conflicts
from fasttree._learn.grow import afterwards
from fasttree._learn.grow.grower import Grower
from fasttree._learn.grow.soften import soften
from fasttree._learn.progress import in_percent
from fasttree._learn.prune import methods
from fasttree._learn.prune.basis import Basis, Folds, Raising
from fasttree._learn.prune.edits import read_edits
from fasttree._learn.prune.sequence import weakest_links
from fasttree._learn.recipe import Recipe
from fasttree._learn.samples import Samples, costs_of, divide, shuffle, total_weight, weighted_rows
from fasttree._learn.splits import Split, given_splits
from fasttree._model.arrays import STOP
from fasttree._model.tree import Tree
from fasttree.estimators.common.growing import BY_COUNT, GrowingTree
from fasttree.pruning import CostComplexity, ErrorBased, PruningMethod, method_of


class Training(NamedTuple):
    """Data of a fit.

    Parameters
    ----------
    recipe : Recipe
    samples : Samples
    X : table
        As given, for splitters that need it.
    n_classes : int
        Number of classes of all targets together; 0 for numbers.
    classes : ndarray or None, default=None
        The classes of a single target.
    outputs : tuple of int or None, default=None
        Several targets: their numbers of classes, or 1 each.
    loss : ndarray or None, default=None
        Cost of each wrong class.
    sample_weight : ndarray or None, default=None
        Weights of the samples as given, without those of their classes.
    """

    recipe: Recipe
    samples: Samples
    X: Any
    n_classes: int
    classes: NDArray[Any] | None = None
    outputs: tuple[int, ...] | None = None
    loss: NDArray[np.float64] | None = None
    sample_weight: NDArray[np.float64] | None = None


class PrunableTree(GrowingTree):
    """Base of trees that are grown and pruned."""

    _grows_by_recipe: ClassVar[bool] = True  # else a Dataset cannot be fitted

    pruning: Any
    ccp_alpha: float | str
    tree_unpruned_: Tree
    pruning_table_: Bunch

    _attributes = {
        "tree_": ("Tree", "The tree that predicts, as flat arrays."),
        "tree_unpruned_": ("Tree", "The tree as grown.  It is not saved: a loaded model has `tree_` alone."),
        "pruning_table_": (
            "Bunch",
            """If the pruning chose a subtree on other samples: `ccp_alphas` or `critical_values`, `n_leaves`, `xerror` and
            `xstd`, with an entry per subtree, and the index of the `chosen` one.  `xerror` is the weighted mean error of the
            samples that judge, in units of the root's error, and `xstd` its standard error.""",
        ),
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._recipe().missing != "error"
        tags.target_tags.multi_output = self._fits_several()
        return tags

    def _method_of(self, pruning: Any) -> PruningMethod | None:
        """Return the method for a word or a value of the parameters, checked."""
        method = method_of(pruning)
        if method is None:
            return None
        method.check(numbers=not isinstance(self, ClassifierMixin))
        if method.counts_errors and getattr(self, "loss_matrix", None) is not None:
            raise ValueError(
                f"loss_matrix and pruning={method!r} exclude each other, because the method takes errors as binomial: "
                f"use pruning=CostComplexity(risk='error', ...), or 'reduced_error'"
            )
        return method

    def _pruning_method(self) -> PruningMethod | None:
        """Return the method that the parameters ask for; `ccp_alpha` alone asks for cost-complexity pruning."""
        asked = self.pruning
        if not isinstance(self.ccp_alpha, str) and self.ccp_alpha == 0:
            return self._method_of(asked)
        if asked is not None and asked != CostComplexity.word:
            instead = f"CostComplexity(alpha={self.ccp_alpha!r}, ...)" if isinstance(asked, CostComplexity) else repr(asked)
            raise ValueError(
                f"ccp_alpha={self.ccp_alpha!r} and pruning={asked!r} exclude each other: use pruning={instead} and "
                f"ccp_alpha=0.0, or ccp_alpha={self.ccp_alpha!r} and pruning=None"
            )
        return self._method_of(CostComplexity(alpha=self.ccp_alpha))

    @property
    def _pruning_risk(self) -> str:
        """The risk of cost-complexity pruning that the parameters ask for."""
        method = self._pruning_method()
        return method.risk if isinstance(method, CostComplexity) else "impurity"

    def _fits_several(self) -> bool:
        """Whether the parameters allow several targets."""
        method = self._pruning_method()
        try:
            conflicts.check_recipe(self._recipe(), 2 if isinstance(self, ClassifierMixin) else 0, several=True)
        except ValueError:
            return False
        return self._takes_several and (method is None or method.uses_impurity_alone)

    def _check_pruning_of_several(self, method: PruningMethod | None) -> None:
        """Check that a method needs no errors: several targets have a common impurity, but no common error."""
        if method is not None and not method.uses_impurity_alone:
            raise ValueError(
                f"pruning={method!r} and several targets exclude each other, because the targets have no common error: "
                f"use CostComplexity with a number for alpha and risk='impurity', or fit a tree for each target"
            )

    def _grow(self, training: Training) -> None:
        """Grow and prune the tree, and keep it."""
        recipe, table = training.recipe, training.samples.table
        samples = self._checked_samples(training.samples)
        costs = None if training.loss is None else costs_of(samples, training.loss)
        n_samples, held_out = table.n_samples, None
        method = self._pruning_method()
        if training.outputs is not None:
            self._check_pruning_of_several(method)
            self._check_no_split_test()
        if method is not None and method.needs_samples:
            samples, held_out = self._hold_out(samples, training.n_classes, method)
            n_samples = weighted_rows(samples).size
        grower = self._by_its_growth(
            Grower(
                samples,
                recipe,
                self._limits(n_samples, table.n_features, total_weight(samples)),
                training.n_classes,
                training.outputs,
                costs,
                self._constraints(table.schema),
                self._threads(),
            )
        )
        folds = None
        if method is not None and method.needs_folds:  # checked before the growth, which may take long
            folds = Folds(samples, self._splits(method, samples, training), grower)
        basis = Basis(held_out, folds, self._raising(samples, recipe) if self._raises_branches() else None)
        self.__dict__.pop("pruning_table_", None)  # of an earlier fit
        tree = self._make_tree(grower, lambda grown: self._pruned(method, grown, basis))
        self._set_fitted(tree, recipe, table.schema)

    def _by_its_growth(self, grower: Grower) -> Grower:
        """Return the growth of the estimator, by default that of its recipe."""
        return grower

    def _make_tree(self, grower: Grower, prune: Callable[[Tree], Tree]) -> Tree:
        with in_percent("growth"):
            grown = grower()
        by_count = getattr(self, "no_surrogate", None) == BY_COUNT
        self.tree_unpruned_ = afterwards.with_missing_to_more_samples(grown) if by_count else grown
        return prune(self.tree_unpruned_)

    def _softened(self, tree: Tree, samples: Samples) -> Tree:
        """Return the tree with the soft thresholds of the algorithm, by default those of C4.5."""
        return soften(tree, samples.table, samples.target, samples.counts)

    def _pruned(self, method: PruningMethod | None, tree: Tree, basis: Basis) -> Tree:
        """Return the tree pruned by a method; keep the table of subtrees if it has one."""
        if method is None:
            return tree
        pruned, table = method.prune(tree, basis)
        if table is not None:
            self.pruning_table_ = table
        return pruned

    def _raising(self, samples: Samples, recipe: Recipe) -> Raising:
        return Raising(samples, recipe, self._min_part_weight(), self._min_part_share(), self._threads())

    def _hold_out(self, samples: Samples, n_classes: int, method: Any) -> tuple[Samples, Samples]:
        """Divide samples into those to grow on and a random part to judge by, with the same share of every class."""
        rows = weighted_rows(samples)
        if rows.size < 2:
            raise ValueError("pruning needs samples that are held out from the growth, and there is only 1 sample")
        n_held_out = min(max(round(method.validation_fraction * rows.size), 1), rows.size - 1)
        codes = samples.target[rows] if n_classes else None
        order = rows[shuffle(codes, rows.size, check_random_state(self.random_state))]
        turns = np.arange(rows.size) * n_held_out % rows.size < n_held_out
        return divide(samples, Split(order[turns]))

    def _splits(self, method: Any, samples: Samples, training: Training) -> list[Split]:
        """Return the folds of `cv`: those given, or random ones with the same share of every class."""
        cv, classes = method.cv, training.classes
        if not is_integer(cv):
            truth = samples.target if classes is None else classes[samples.target]
            return given_splits(cv, training.X, truth, samples.weight)
        rows = weighted_rows(samples)
        codes = None if classes is None else samples.target[rows]
        if rows.size < 2:
            raise ValueError(f"cv={cv}: folds need at least 2 samples, and there is only 1 sample; use a number for alpha")
        if cv > rows.size:
            n_classes = 0 if codes is None else np.unique(codes).size
            counted = f"{rows.size} of {n_classes} class{'es' if n_classes > 1 else ''}" if n_classes else f"{rows.size}"
            counted += "" if rows.size == samples.table.n_samples else " with a positive weight"
            raise ValueError(f"cv={cv}: must not exceed the number of samples, {counted}; use cv={rows.size} or less")
        order = rows[shuffle(codes, rows.size, check_random_state(self.random_state))]
        return [Split(order[first::cv]) for first in range(cv)]

    def prune(
        self,
        pruning: Any,
        X: Any = None,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        from_grown: bool = False,
    ) -> Self:
        """Return a model with this model's tree, pruned.  No tree is grown, and this model does not change.

        Parameters
        ----------
        pruning : str or value of `fasttree.pruning`
            The method, as for the parameter `pruning`.
        X : table of shape (n_samples, n_features), default=None
            Samples with the columns of the fit.  `ReducedError`, ``CostComplexity(alpha="validation")`` and
            ``CriticalValue(value=None)`` need samples, which should not be those of the fit.  With samples, in general those of
            the fit, `ErrorBased` also raises branches.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        from_grown : bool, default=False
            Whether to start from `tree_unpruned_`, as a fit does, instead of `tree_`, which may be pruned already.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.  `tree_` is pruned, `tree_unpruned_` is as it was grown.

        Raises
        ------
        ValueError
            If the method, a parameter or the samples do not fit, or `from_grown` is set and there is no tree as grown, as in a
            loaded model.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> from fasttree.pruning import CostComplexity
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
        >>> model.get_n_leaves(), model.prune(CostComplexity(alpha=0.2)).get_n_leaves()
        (4, 1)
        """
        check_is_fitted(self)
        if from_grown and "tree_unpruned_" not in self.__dict__:
            raise ValueError("from_grown=True: this model has no tree_unpruned_, which is not saved with a model; fit it again")
        start = self.tree_unpruned_ if from_grown else self.tree_
        method = self._method_to_prune_by(pruning)
        if self.tree_.outputs is not None:
            self._check_pruning_of_several(method)
        samples = self._pruning_samples(method, start, X, y, sample_weight)
        if samples is None:
            basis = Basis()
        else:
            basis = Basis(samples) if method.needs_samples else Basis(raising=self._raising(samples, self.recipe_))
        model = self._with_tree(self.tree_)
        model.tree_ = model._pruned(method, start, basis)
        if samples is not None and self.tree_.lower is not None and model.tree_.lower is None:
            model.tree_ = self._softened(model.tree_, samples)
        return model

    def collapse(self, node: int) -> Self:
        """Return a model in whose tree a node is a leaf.  This model does not change.

        Parameters
        ----------
        node : int
            Id of an inner node of `tree_`.  The nodes below it are removed, and the remaining nodes are renumbered.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.

        Raises
        ------
        ValueError
            If there is no such node, or it is a leaf already.
        """
        check_is_fitted(self)
        tree = self.tree_
        if not is_integer(node) or not 0 <= node < tree.node_count:
            raise ValueError(f"node={node!r}: must be an integer in [0, {tree.node_count - 1}], the id of a node of tree_")
        if tree.n_branches[node] == 0:
            raise ValueError(f"node={node!r} is a leaf already: inner nodes are those with tree_.n_branches > 0")
        return self._with_tree(tree.prune_at(np.arange(tree.node_count) == node))

    def apply_edits(self, edits: str | Mapping[str, Any]) -> Self:
        """Return a model with the subtree that was chosen in the page of `export_html`.  This model does not change.

        Parameters
        ----------
        edits : str or dict
            JSON that the page copies ("Copy as JSON"), or what `json.loads` makes of it: a step of cost-complexity pruning, and
            nodes that become leaves.

        Returns
        -------
        estimator
            A fitted model of the same class with the same parameters.

        Raises
        ------
        ValueError
            If this is no such JSON, or the page is of another tree.

        See Also
        --------
        prune : Pruning by any method.
        collapse : A single node becomes a leaf.

        Examples
        --------
        >>> from fasttree import CARTClassifier
        >>> model = CARTClassifier().fit([[1.0], [2.0], [3.0], [4.0]], [0, 1, 0, 1])
        >>> edits = [{"edit": "collapse", "node": 0}]  # as the page copies them:
        >>> chosen = {"format": "fasttree.edits", "version": 1, "nodes": 7, "leaves": 1, "edits": edits}
        >>> model.apply_edits(chosen).get_n_leaves()
        1
        """
        check_is_fitted(self)
        found = read_edits(edits)
        if found.n_nodes != self.tree_.node_count:
            raise ValueError(
                f"edits are for a tree of {found.n_nodes:,} nodes, and this one has {self.tree_.node_count:,}: use the model "
                "that wrote the page"
            )
        model = self
        for edit in found.edits:
            if isinstance(edit, int):
                model = model.collapse(edit)
            else:
                alpha, risk = edit
                model = model.prune(CostComplexity(alpha=alpha, risk=risk))
        if model.tree_.n_leaves != found.n_leaves:
            raise ValueError(
                f"edits lead to {found.n_leaves:,} leaves in the page, and here to {model.tree_.n_leaves:,}: use the model that "
                "wrote the page"
            )
        return model

    def _with_tree(self, tree: Tree) -> Self:
        model = copy.copy(self)
        model.tree_unpruned_ = getattr(self, "tree_unpruned_", self.tree_)  # a loaded model has one tree
        model.tree_ = tree
        model.__dict__.pop("pruning_table_", None)
        return model

    def _method_to_prune_by(self, pruning: Any) -> PruningMethod:
        """Return the method for the argument of `prune`, checked."""
        rule = self._parameter_rules()["pruning"]
        if pruning is None or not rule.is_allowed(pruning):
            raise ValueError(f"pruning={pruning!r}: must be {rule.allowed.removesuffix(', or None')}")
        method = self._method_of(pruning)
        assert method is not None
        if pruning == CostComplexity.word:  # its default prunes nothing
            raise ValueError(
                f"pruning={pruning!r} leaves the tree as it is: use CostComplexity with an alpha above 0, or with "
                f"alpha='validation', X and y"
            )
        if method.needs_folds:
            raise ValueError("alpha='cv' grows trees, which prune does not: use 'validation' with X and y, or a number")
        return method

    def _pruning_samples(
        self, method: PruningMethod, tree: Tree, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> Samples | None:
        """Return the samples given to prune by, or None; raise an error if they do not fit the method."""
        if X is None or y is None:
            if method.needs_samples or X is not None or y is not None or sample_weight is not None:
                raise ValueError(f"pruning={method!r} by samples needs both X and y")
            return None
        raises = isinstance(method, ErrorBased)
        if not method.needs_samples and not raises:
            raise ValueError(f"pruning={method!r} uses no samples: leave out X and y")
        if raises and (tree.missing[tree.n_branches > 0] == STOP).any():
            raise ValueError(
                "'error_based' pruning with samples raises branches, which cannot be where samples stop at inner nodes, as in "
                "ID3: leave out X and y"
            )
        table, target = self._encode_table(X), self._encode_target(y)
        check_same_length(table.n_samples, len(target))
        weight = None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)
        weight = self._weigh(target, weight)
        return self._checked_samples(Samples(table, target, weight, self._class_factor(target, weight), self.recipe_.impurity))

    def _unpruned(self) -> Self:
        """Return an estimator that grows the same tree and does not prune it."""
        other: Self = clone(self).set_params(pruning=None, ccp_alpha=0.0)
        return other

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Grow the tree without pruning, and return its nested subtrees of least risk plus alpha times leaves.

        They are the whole sequence of minimal cost-complexity pruning (Breiman et al. 1984, chapter 3).  The risk is that of
        ``pruning=CostComplexity(risk=...)``, or else the impurity.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            As for `fit`.
        y : array-like of shape (n_samples,)
            As for `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            As for `fit`.

        Returns
        -------
        sklearn.utils.Bunch
            Arrays with an entry for the tree as grown (alpha 0), then one per subtree.  ``ccp_alphas``: the smallest alpha for
            which the subtree is the best, ascending.  ``impurities`` and ``risks``: the sum over its leaves of impurity and of
            risk per unit weight.  ``n_leaves``.  ``collapsed``: a list with the ids of the nodes (of the tree as grown) that
            become leaves from the subtree before to this one.

        Raises
        ------
        ValueError
            If the model is not one tree whose leaves predict constants, or the samples do not fit.

        Notes
        -----
        Subtrees whose alphas differ by less than 1e-12 of the root's risk count as one; scikit-learn may list an alpha twice.
        """
        tree = self._unpruned().fit(X, y, sample_weight=sample_weight).tree_unpruned_
        risk = self._pruning_risk
        sequence = weakest_links(tree, risk=risk)
        first = sequence.steps if sequence.n_pruned(0.0) else sequence.steps[1:]
        at = np.append(-np.inf, first)
        collapsed = sequence.collapsed()
        return Bunch(
            ccp_alphas=np.maximum(at, 0.0),
            # sums of differences: rounding may leave a number below 0 if a tree has no impurity
            impurities=np.maximum(sequence.sums(methods.risk_per_weight(tree), at), 0.0),
            risks=np.maximum(sequence.sums(methods.risk_per_weight(tree, risk), at), 0.0),
            n_leaves=sequence.n_leaves(at),
            collapsed=[np.empty(0, np.intp), *collapsed[len(collapsed) - len(first) :]],
        )
