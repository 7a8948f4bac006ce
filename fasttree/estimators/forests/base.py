"""`BaseForest`: growth of a forest, its trees, and predictions that average over them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from itertools import takewhile
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_collection, is_integer
from fasttree._data.table import Table
from fasttree._data.weights import check_same_length, check_sample_weight
from fasttree._export.document import file, forests, read, write
from fasttree._export.document.values import DocumentError
from fasttree._learn import conflicts
from fasttree._learn.forest.growing import Forest, Growth, grow_forest
from fasttree._learn.grow import afterwards
from fasttree._learn.grow.grower import Grower
from fasttree._learn.parameters import defaults_of
from fasttree._learn.prune.basis import Basis
from fasttree._learn.recipe import CART_CLASSIFICATION, CART_REGRESSION, Recipe
from fasttree._learn.samples import Samples, costs_of, total_weight
from fasttree._model import walks
from fasttree._model.bags import Bags
from fasttree._model.ensemble import Ensemble
from fasttree._model.importances import impurity_importances
from fasttree._model.made import Made
from fasttree._model.packed.nodes import Packed
from fasttree._model.tree import Tree
from fasttree._version import __version__
from fasttree.estimators.by_recipe import TreeClassifier, TreeRegressor, least_gain, recipe_of
from fasttree.estimators.common.growing import BY_COUNT, Growing
from fasttree.estimators.common.labelling import LabelledModel
from fasttree.estimators.common.pruning import Training
from fasttree.estimators.common.registry import ESTIMATORS
from fasttree.estimators.forests.parameters import ForestChoices
from fasttree.pruning import CostComplexity, PruningMethod

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

ROWS_AT_ONCE = 32_768  # per thread, of a table that is read in blocks
_OF_CART = ("criterion", "nominal", "missing", "midpoint")
_C45_BRANCH = 2.0  # weight of a branch in Release 8, by default


class BaseForest(LabelledModel, Growing, ForestChoices):
    """Base of forests."""

    ensemble_: Ensemble
    oob_score_: Any
    classes_: Any
    criterion: str
    nominal: str
    missing: str
    midpoint: str
    _bags: Bags
    _oob_curve: NDArray[np.float64] | None
    _takes_several: ClassVar[bool] = True
    _saves_verbose: ClassVar[bool] = True
    _reads_bags: ClassVar[bool] = True  # of a Dataset, in passes
    _random_cuts: ClassVar[bool] = False  # whether each feature that a node draws has one random threshold

    _attributes = {
        "ensemble_": ("Ensemble", "The trees, as flat arrays behind one another."),
        "oob_score_": (
            "float",
            """With `oob_score`: the score of the out-of-bag predictions, by `score` or by the given function.  Samples that
            are in every bag do not count; others by their sample weights alone, without `class_weight`.""",
        ),
    }

    # Growth

    @property
    def _default(self) -> Recipe:
        return CART_CLASSIFICATION if isinstance(self, ClassifierMixin) else CART_REGRESSION

    def _recipe(self) -> Recipe:
        if self.recipe is None:
            return self._default.variant(
                impurity=self.criterion, nominal=self.nominal, missing=self.missing, midpoint=self.midpoint
            )
        of_class: type = type(self)
        defaults = defaults_of(of_class)
        for name in _OF_CART:
            if getattr(self, name) != defaults[name]:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} and recipe={self.recipe!r} exclude each other: the recipe has this choice; "
                    f"leave one of them out"
                )
        return recipe_of(self.recipe, self._default)

    def _min_gain(self) -> float:
        return super()._min_gain() if self.min_gain is not None else least_gain(self._recipe())

    def _min_branch_weight(self) -> float:
        return _C45_BRANCH

    def _pruning_method(self) -> PruningMethod | None:
        return CostComplexity(alpha=float(self.ccp_alpha)) if self.ccp_alpha else None

    def _checked_recipe(self) -> Recipe:
        recipe = super()._checked_recipe()
        if self.bootstrap is False and self.max_samples is None:
            of_bags = {"oob_score": self.oob_score is not False, "class_weight": _balances_bags(self)}
            for name in (name for name, is_of_bags in of_bags.items() if is_of_bags):
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is for bags, and bootstrap=False with max_samples=None gives every tree "
                    f"all samples: use bootstrap=True, or max_samples=0.632"
                )
        return recipe

    def _grow(self, training: Training, growth: Growth = grow_forest) -> None:
        """Grow the trees, and keep them."""
        samples = self._checked_samples(training.samples)
        if training.outputs is not None:
            self._check_no_split_test()
        earlier = self._trees_to_keep(training) if self.warm_start else None
        bags = self._plan(samples, None if earlier is None else self._bags.seed)
        table, loss = samples.table, training.loss
        if earlier is not None:
            _check_goes_on(earlier, self._bags, bags, loss)
        forest = Forest(
            Grower(
                samples,
                training.recipe,
                self._limits(table.n_samples, table.n_features, total_weight(samples)),
                training.n_classes,
                training.outputs,
                None if loss is None else costs_of(samples, loss),
                self._constraints(table.schema),
            ),
            bags,
            _balances_bags(self),
            self._after_growth(),
            self._random_cuts,
        )
        found: list[Tree | Packed | None] = []
        first = 0 if earlier is None else earlier.n_trees
        try:
            growth(forest, first, self.n_estimators, self._threads(), found)
        except BaseException:
            grown = list(takewhile(lambda tree: tree is not None, found))
            if self.warm_start and (grown or earlier is not None):
                self._keep(training, bags, earlier, grown)
                self.__dict__["_so_far"] = dict(self.__dict__)
            raise
        self._keep(training, bags, earlier, found)
        if self.oob_score is not False:
            self._judge(samples._replace(weight=training.sample_weight))

    def _keep(self, training: Training, bags: Bags, earlier: Ensemble | None, found: Sequence[Any]) -> None:
        """Keep the trees of an earlier fit and those that are found, whose list is emptied."""
        table, recipe = training.samples.table, training.recipe
        ensemble = earlier
        if found:
            task = "classification" if training.n_classes else "regression"
            impurity = recipe.impurity
            ensemble = Ensemble.pack(found, task=task, n_features=table.n_features, impurity=impurity, consume=True)
            ensemble = ensemble if earlier is None else earlier.joined(ensemble)
        assert ensemble is not None
        for name in [name for name in self.__dict__ if name.startswith("oob_") and name.endswith("_")]:
            del self.__dict__[name]  # of an earlier fit
        self.__dict__.pop("_oob_curve", None)
        self._set_fitted(ensemble, bags, recipe, table.schema)

    def _set_fitted(self, ensemble: Ensemble, bags: Bags, recipe: Recipe, schema: Any) -> None:
        self.ensemble_, self._bags, self.recipe_ = ensemble, bags, recipe
        self._classes_of_trees = self.__dict__.get("classes_")
        self.n_outputs_ = 1 if ensemble.outputs is None else len(ensemble.outputs)
        self._keep_schema(schema)
        self.max_features_ = self._count_features(self.n_features_in_)

    def _trees_to_keep(self, training: Training) -> Ensemble | None:
        """Return the trees of an earlier fit, which new ones join; None if there was none."""
        if "ensemble_" not in self.__dict__:
            return None
        schema, n_samples = training.samples.table.schema, training.samples.table.n_samples
        remedy = "set warm_start=False, or fit the same samples"
        if schema != self.schema_ or training.recipe != self.recipe_:
            raise ValueError(f"warm_start=True: the columns or the recipe differ from those of the trees so far; {remedy}")
        if n_samples != self._bags.n_samples:
            raise ValueError(f"warm_start=True: X has {n_samples} samples, and the trees so far {self._bags.n_samples}; {remedy}")
        if not _same_classes(self.__dict__.get("classes_"), self._classes_of_trees):
            raise ValueError(f"warm_start=True: the classes differ from those of the trees so far; {remedy}")
        n_trees = self.ensemble_.n_trees
        if self.n_estimators < n_trees:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be at least the {n_trees} trees of the fit before with warm_start=True"
            )
        if self.n_estimators == n_trees:
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=5)
        return self.ensemble_

    def _plan(self, samples: Samples, seed: int | None) -> Bags:
        """Return the plan of the bags."""
        n_samples = samples.table.n_samples
        rows = None if samples.weight is None or samples.weight.all() else np.flatnonzero(samples.weight)
        n_rows = n_samples if rows is None else len(rows)
        n_drawn = self._count_draws(n_rows)
        classes = None
        if self.bootstrap == "balanced":
            if not isinstance(self, ClassifierMixin) or samples.target.ndim > 1:
                raise ValueError("bootstrap='balanced' draws each class equally often: it needs classes, of one target")
            sizes = np.bincount(samples.target if rows is None else samples.target[rows])
            sizes = sizes[sizes > 0]
            n_drawn = int(sizes.min()) if n_drawn is None else max(1, n_drawn // len(sizes))
            classes = samples.target.astype(np.min_scalar_type(int(samples.target.max())))
        elif self.bootstrap and n_drawn is None:
            n_drawn = n_rows
        return Bags(self._seed() if seed is None else seed, n_samples, n_drawn, bool(self.bootstrap), rows, classes)

    def _count_draws(self, n_rows: int) -> int | None:
        """Return the number of samples that a tree draws; None: as many as there are."""
        if self.max_samples is None:
            return None
        if not is_integer(self.max_samples):
            return max(int(self.max_samples * n_rows), 1)
        if self.max_samples > n_rows:
            raise ValueError(f"max_samples={self.max_samples}: must not exceed the {n_rows} samples of positive weight")
        return int(self.max_samples)

    def _after_growth(self) -> Callable[[Tree], Tree] | None:
        """Return the function that finishes a grown tree: surrogates by count, and pruning."""
        method = self._pruning_method()
        by_count = getattr(self, "no_surrogate", None) == BY_COUNT
        if method is None and not by_count:
            return None

        def finish(tree: Tree) -> Tree:
            tree = afterwards.with_missing_to_more_samples(tree) if by_count else tree
            return tree if method is None else method.prune(tree, Basis())[0]

        return finish

    def _judge(self, samples: Samples) -> None:
        """Set what the samples out of the bags say."""
        raise NotImplementedError

    # Trees

    @property
    def estimators_(self) -> Sequence[TreeClassifier | TreeRegressor]:
        """The trees as fitted estimators: each is made when it is asked for, with the methods of a single tree.

        Examples
        --------
        >>> from fasttree import RandomForestClassifier
        >>> X, y = [[1.0], [2.0], [3.0], [4.0]], ["no", "no", "yes", "yes"]
        >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> len(forest.estimators_), forest.estimators_[0].get_depth()
        (5, 1)
        """
        check_is_fitted(self)
        return Made(self._estimator, self.ensemble_.n_trees)

    def _estimator(self, i: int) -> TreeClassifier | TreeRegressor:
        """Return a tree as an estimator with the parameters of the forest that it has."""
        of_tree = TreeClassifier if isinstance(self, ClassifierMixin) else TreeRegressor
        given = {name: getattr(self, name) for name in of_tree._get_param_names() if hasattr(self, name)}
        given |= {"recipe": self.recipe_, "random_state": None, "n_jobs": None, "verbose": 0}
        if given.get("class_weight") == "balanced_subsample":
            given["class_weight"] = None
        if given.get("min_part_weight") is None:
            given.pop("min_part_weight", None)
        model = of_tree(**given)
        model._set_fitted(self.ensemble_.tree(i), self.recipe_, self.schema_)
        if isinstance(model, TreeClassifier):
            model._keep_classes(self.classes_)
        model.target_names_ = self.target_names_
        if "labels_" in self.__dict__:
            model.labels_ = self.labels_
        return model

    @property
    def estimators_samples_(self) -> Sequence[NDArray[np.intp]]:
        """The samples in the bag of each tree, by position, ascending; a sample that was drawn several times is repeated."""
        check_is_fitted(self)

        def drawn(i: int) -> NDArray[np.intp]:
            return np.repeat(np.arange(self._bags.n_samples), self._bags.counts(i))

        return Made(drawn, self.ensemble_.n_trees)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each feature in the decrease of impurity: of each tree, averaged over the trees that test a feature."""
        check_is_fitted(self)
        each = [impurity_importances(tree) for tree in self.ensemble_.trees() if tree.node_count > 1]
        total = np.mean(each, axis=0) if each else np.zeros(self.n_features_in_)
        return np.asarray(total / total.sum() if total.sum() > 0 else total)

    # Predictions

    def _blocks(self, X: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the rows of a table, encoded as in the fit, as floats: all at once if they are floats already."""
        table: Table = self._encode_table(X)
        step = table.n_samples if table.matrix is not None else ROWS_AT_ONCE * self._threads()
        for start in range(0, table.n_samples, max(step, 1)):
            stop = min(start + step, table.n_samples)
            yield slice(start, stop), table.block(start, stop)

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        """Return the mean class shares (of all targets side by side) or means, shape (n_samples, k)."""
        check_is_fitted(self)
        n_jobs = self._threads()
        means = [self.ensemble_.predict(block, n_jobs=n_jobs) for _, block in self._blocks(X)]
        return np.concatenate(means) if len(means) != 1 else means[0]

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf that each sample reaches in each tree.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.  A Dask collection gives a lazy one.

        Returns
        -------
        ndarray of int32, shape (n_samples, n_estimators)
            Index of the leaf in its tree.  If a sample with missing values reaches several leaves, it is the heaviest.
        """
        if is_collection(X):
            return self._lazily("apply", X)
        check_is_fitted(self)
        n_jobs = self._threads()
        return np.concatenate([self.ensemble_.leaves(block, n_jobs=n_jobs) for _, block in self._blocks(X)])

    def decision_path(self, X: Any) -> tuple[csr_matrix, NDArray[np.int64]]:
        """Return the nodes of all trees that each sample passes.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        indicator : scipy.sparse.csr_matrix of shape (n_samples, n_nodes)
            Nonzero if the sample passes the node.  The nodes of all trees are side by side.
        n_nodes_ptr : ndarray of shape (n_estimators + 1,)
            The columns ``n_nodes_ptr[i]:n_nodes_ptr[i + 1]`` are those of tree ``i``.
        """
        from scipy.sparse import hstack

        check_is_fitted(self)
        table = self._encode_table(X)
        paths = hstack([walks.decision_path(tree, table) for tree in self.ensemble_.trees()], format="csr")
        return paths, np.append(0, np.cumsum(self.ensemble_.node_counts))

    def _samples_of_fit(
        self, X: Any, y: Any, sample_weight: ArrayLike | None
    ) -> tuple[Table, NDArray[Any], NDArray[np.float64] | None]:
        """Return the samples of the fit, which methods for the samples out of the bags need, encoded and counted."""
        check_is_fitted(self)
        table = self._encode_table(X)
        if table.n_samples != self._bags.n_samples:
            raise ValueError(
                f"X has {table.n_samples} samples, and the forest was fitted to {self._bags.n_samples}: give the samples of the "
                f"fit, in their order"
            )
        columns = self._several_targets(y)
        target = self._encode_target(y) if columns is None else self._encode_targets(columns)
        check_same_length(table.n_samples, len(target))
        return table, target, None if sample_weight is None else check_sample_weight(sample_weight, table.n_samples)

    def _encode_targets(self, columns: list[Any]) -> NDArray[Any]:
        """Encode several targets as in the fit."""
        raise NotImplementedError

    # Files

    def _algorithm(self) -> str:
        """Return the name of the algorithm in a file."""
        return next(entry.algorithm for entry in ESTIMATORS if entry.name == type(self).__name__)

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        if isinstance(self.recipe, Recipe):
            settings["recipe"] = asdict(self.recipe)
        settings["oob_score"] = self.oob_score is not False  # a function is not saved
        return settings

    def _to_document(self) -> dict[str, Any]:
        write.check_names(self.schema_)
        targets: list[dict[str, Any]] = [{"name": name} for name in self.target_names_]
        ensemble, classes = self.ensemble_, self.__dict__.get("classes_")
        if classes is not None:
            each = classes if isinstance(classes, list) else [classes]
            for target, labels in zip(targets, each, strict=True):
                target |= write.written_classes(labels, len(labels))
            if ensemble.loss is not None:
                targets[0]["loss"] = ensemble.loss.tolist()
        return {
            "format": forests.FORMAT,
            "version": forests.VERSION,
            "library": __version__,
            "algorithm": self._algorithm(),
            "task": ensemble.task,
            **write.written_table(self.schema_, targets, self._settings()),
            "bags": forests.written_bags(self._bags),
            **self._written_oob_score(),
            **self._written_labels(),
            **forests.written_ensemble(ensemble, self.schema_, classes),
        }

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        schema, targets, settings = read.read_table(document)
        classes = [read.read_classes(target) for target in targets] if issubclass(cls, ClassifierMixin) else None
        loss = None if classes is None or len(classes) > 1 else read.read_loss(targets[0], len(classes[0]))
        names = cls._get_param_names()
        given = {name: value for name, value in settings.items() if name in names}
        recipe = given.get("recipe")
        with file.errors_of_settings():
            if isinstance(recipe, dict) and recipe.keys() == {field.name for field in fields(Recipe)}:
                given["recipe"] = Recipe(**recipe)
            model = cls(**given)
            recipe = model._checked_recipe()
        outputs = (1,) * len(targets) if classes is None else tuple(map(len, classes))
        ensemble = forests.read_ensemble(document, schema, outputs, loss, recipe.impurity)
        if not ensemble.is_plain_mean:
            raise DocumentError("combine: must be 'mean', and weights must be left out, as a forest takes the mean of its trees")
        if classes is not None:
            model._keep_classes(classes if len(classes) > 1 else classes[0])
        with file.errors_of_settings():
            model._set_fitted(ensemble, forests.read_bags(document), recipe, schema)
        model.target_names_ = read.names_of(targets)
        model._read_labels(document)
        if (score := forests.read_oob_score(document)) is not None:
            model.oob_score_ = score
        if model.oob_score is not False:
            model._oob_curve = None  # is not saved
        return model

    def _written_oob_score(self) -> dict[str, float]:
        """Return the out-of-bag score as an entry of the document; a score by the user's function is not saved."""
        score = self.__dict__.get("oob_score_")
        if not isinstance(score, float) or callable(self.oob_score):
            return {}
        return forests.written_oob_score(float(score), self.ensemble_.task)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._recipe().missing != "error"
        tags.target_tags.multi_output = self._fits_several()
        return tags

    def _fits_several(self) -> bool:
        """Whether the parameters allow several targets."""
        try:
            conflicts.check_recipe(self._recipe(), 2 if isinstance(self, ClassifierMixin) else 0, several=True)
        except ValueError:
            return False
        return True


def _check_goes_on(earlier: Ensemble, bags: Bags, plan: Bags, loss: Any) -> None:
    """Raise a ValueError if new trees would have other bags or costs than those so far, by which all of them are judged."""
    if bags != plan:
        raise ValueError(
            "warm_start=True: bootstrap, max_samples, or which samples have weight 0 differ from those of the trees so far, "
            "whose bags would be unknown; set warm_start=False, or leave these as they were"
        )
    before = earlier.loss
    if before is not loss and (before is None or loss is None or not np.array_equal(before, loss)):
        raise ValueError(
            "warm_start=True: loss_matrix differs from that of the trees so far; set warm_start=False, or leave it as it was"
        )


def _balances_bags(forest: BaseForest) -> bool:
    given = getattr(forest, "class_weight", None)
    return isinstance(given, str) and given == "balanced_subsample"


def _same_classes(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(np.array_equal, one, other))
    return np.array_equal(one, other) if isinstance(one, np.ndarray) else one is other
