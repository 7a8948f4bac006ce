"""`C50Classifier`: single and boosted trees, and rules, of Quinlan's C5.0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from fasttree._data.schema import Feature
from fasttree._export.document.values import as_index, as_type
from fasttree._learn.boosting import Boosting, BoostingTrial, n_leaves
from fasttree._learn.grow.grower import Grower
from fasttree._learn.parameters import COUNT, FLAG, POSITIVE, ParameterRule, one_of, parameter, parameters, share_such_as
from fasttree._learn.prune.c50 import C50Pruning, PrunedTree, expected_errors, preorder
from fasttree._learn.prune.costs_c50 import CostGrower, cost_rules
from fasttree._learn.prune.soften_c50 import soften_c50
from fasttree._learn.recipe import C50, Recipe
from fasttree._learn.rules.voting import CLASS, UTILITY, ConditionBits, VotingInduction, WeighedSamples
from fasttree._learn.samples import Samples
from fasttree._learn.winnowing import winnow, without_features
from fasttree._model import walks
from fasttree._model.tree import Tree
from fasttree.estimators.common.growing import MOST_GROUPED
from fasttree.estimators.common.growth_parameters import LOSS_MATRIX, LeastGain
from fasttree.estimators.common.pruning_parameters import ANY_PRUNING, check_one_confidence
from fasttree.estimators.voting import LearnedRules, VotingRuleModel
from fasttree.pruning import ErrorBased, PruningMethod

OWN_PRUNING = "c50"


@parameters
class C50Classifier(VotingRuleModel, LeastGain):
    """Classification tree by C5.0, boosted trees or rules: C4.5's successor, with a bound of message length and smaller trees.

    The tree is that of the program C5.0, release 2.07, for its options `-c`, `-m`, `-g`, `-s`, `-w` and `-r`.  Three things
    differ from `C45Classifier`.  In growth, a threshold pays for naming it, and in large tables a split competes by gain ratio if
    its gain pays for naming its feature; in small tables the gain must be at least average.  In pruning, a branch that takes the
    place of its node is grown anew with all samples of the node.  Global pruning then removes the subtrees that reduce the
    training errors least, as long as the errors rise by at most one standard error.  Leaves of one class below the same test
    become one branch.

    Notes
    -----
    Nominal and ordinal features get a branch per declared category.  Each has one more value, "not applicable", in the program;
    here it is a category like others.  A sample whose value is missing goes down every branch with a share of its weight, in
    training and in prediction.  Sample weights count samples; the program divides them by their mean.  Probabilities are the
    shares of the classes in the leaf; `smoothed_proba` has those of the program's saved models.  With
    `max_depth`, `max_leaf_nodes` or `max_features`, branches that are raised are not grown anew.

    With `trials`, each trial grows a tree on other weights than the last one: the samples that the last tree predicts wrong
    become heavier, by an equal addition for each, and the others lighter by an equal factor.  Later trees are bounded in their
    leaves, their branches are not grown anew, and only their empty branches become one.  In the second half of the trials,
    samples whose class can no longer win are dropped.  With more than 4,001 samples, those that every trial predicts right are
    left out of the growth once they are light.  Boosting ends after a trial without errors, and before one whose tree is a leaf
    or is wrong on 49 % of the weight.  If fewer than three trials remain, the model is the first tree.  In prediction, each tree
    gives its class the share of this class in the leaf as a vote.  The class with the most votes is predicted, on ties that of
    the first tree's root.  Text, pictures and exports are those of the trees in `estimators_`.

    A sample of weight 2 counts as two, in boosting too, where the program adds the same to each sample whatever its weight.

    With `subset`, the greedy search for groups of categories is that of C4.5 but for its end: the groups are merged down to two,
    each division pays for the bits that name it, and the best of all is taken.

    With `winnow`, a tree is grown on every second sample of each class, and judged on the others.  A feature is removed if the
    tree predicts better where the feature is taken for missing, unless a tree without all such features predicts worse.  Features
    that the tree does not test before it is pruned are removed too.  This is the one option whose result depends on the order of
    the samples.

    With `rules`, the model is a set of rules, which are learned from the pruned tree.  Each of its nodes but the root is a rule.
    A rule drops conditions while its Laplace error, (errors + 1) / (cover + 2), does not grow, or while it does not pay: 0.23 of
    the bits that name its conditions exceed those that it saves in naming the classes.  Of all rules, the set is chosen whose
    bits, together with those of its errors, are fewest.  In prediction, each rule whose conditions all hold votes for its class
    with its confidence, 1 - `estimate`; the class with the most votes is predicted, on ties the default class.  `rules_` has the
    rules, and text, tables, SQL, explanations and files are those of rules.  With `trials`, the rules of a trial are learned from
    its tree and its weights.  The class that they predict gets the confidence of the rule that fires for it and covers the least
    weight, or 0.5 if none fires.  The class with the most votes of the trials is predicted, on ties the default class of the
    first trial.

    With `loss_matrix`, leaves and samples get the class of least expected cost, and global pruning is left out.  If there are two
    classes, the samples of each weigh in proportion to what it costs to miss them, in growth, pruning and rules;
    `min_samples_branch` is multiplied by the smaller weight, and `tree_` has the weights without costs.  The costs of more
    classes weigh no samples.  In boosting, a tree votes with 1 less the part of its class in the expected costs of all classes.
    Rules vote as they do without costs, and with more than two classes the default class is that of least cost.

    References
    ----------
    RuleQuest Research (2013). C5.0, GPL edition, release 2.07.

    Quinlan, J. R. (1996). Improved Use of Continuous Attributes in C4.5. Journal of Artificial Intelligence Research, 4, 77-90.

    Examples
    --------
    >>> from fasttree import C50Classifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C50Classifier().fit(X, y)
    >>> model.predict(X[[0, 60, 149]])
    array([0, 1, 2])
    >>> print(model.export_text(ascii=True), end="")
    |-- x2 <= 1.9: 0 (50)
    `-- x2 > 1.9
        |-- x3 <= 1.7
        |   |-- x2 <= 4.9: 1 (47 of 48)
        |   `-- x2 > 4.9: 2 (4 of 6)
        `-- x3 > 1.7: 2 (45 of 46)
    """

    trials: int = parameter(
        1,
        COUNT,
        """Number of trials of boosting (option `-t`; option `-b` of the original is 10).  1: a single tree.  With more trials,
        `pruning` must be "c50" or None.""",
    )
    pruning: Any = parameter(
        OWN_PRUNING,
        ParameterRule(
            lambda value: (isinstance(value, str) and value == OWN_PRUNING) or ANY_PRUNING.is_allowed(value),
            f"'{OWN_PRUNING}', {ANY_PRUNING.allowed}",
            f'"{OWN_PRUNING}", {ANY_PRUNING.type}',
        ),
        """Method of pruning.  "c50" prunes by the rules of C5.0, with the parameters `confidence` and `global_pruning`.  Other
        words and values of `fasttree.pruning` prune as they do in `CARTClassifier`.  None: the tree as grown.""",
    )
    confidence: float = parameter(
        0.25,
        share_such_as(0.25),
        """Level, in (0, 1), of the upper confidence limit that is the predicted error of a leaf, in ``pruning="c50"`` and in
        ``pruning="error_based"``.  Smaller values prune more.  The original takes it in percent (option `-c`).""",
    )
    global_pruning: bool = parameter(
        True,
        FLAG,
        """With ``pruning="c50"``: whether subtrees are removed while the training errors rise by at most one standard error.
        False is option `-g` of the original.""",
    )
    loss_matrix: Mapping[Any, Mapping[Any, float]] | ArrayLike | None = parameter(
        None,
        LOSS_MATRIX,
        """What each wrong prediction costs, `{true class: {predicted class: cost}}` or an array, as for `CARTClassifier`.
        `pruning` must be "c50" or None, and thresholds are not softened.  None: every cost is 1.""",
    )
    early_stopping: bool = parameter(
        True,
        FLAG,
        """Whether boosting ends before a trial that predicts one class or is wrong on 49 % of the weight.  A trial with less than
        0.1 wrong weight, or without right samples, always ends it.""",
    )
    soft_thresholds: bool = parameter(
        False,
        FLAG,
        """Whether values near a threshold go to both branches in part, in prediction (option `-p`), where the other
        branch makes hardly more errors.""",
    )
    min_samples_branch: float = parameter(
        2,
        POSITIVE,
        """Weight that at least two branches of a split have (option `-m`), in the unit of the sample weights, which count
        samples.""",
    )

    subset: bool = parameter(
        False,
        FLAG,
        """Whether the categories of a feature are divided into groups, each with a branch (option `-s`), if there are more than
        two.""",
    )

    winnow: bool = parameter(
        False,
        FLAG,
        """Whether features that do not help to predict one half of the samples from the other are removed before the growth
        (option `-w`).""",
    )

    rules: bool = parameter(
        False,
        FLAG,
        """Whether the model is a set of rules that vote, learned from the tree (option `-r`), or with `trials` a set in each
        trial.""",
    )

    rule_order: str = parameter(
        CLASS,
        one_of(CLASS, UTILITY),
        """Order of the rules, which has no effect on predictions.  "class": by class, the largest votes first.  "utility": the
        rule without which the fewest samples of the fit are predicted wrong comes last, and so on (option `-u`).""",
    )

    _attributes = {"winnowed_": ("tuple of str", "Names of the features that winnowing removed.")}

    def _recipe(self) -> Recipe:
        form = "groups" if self.subset else "declared"
        return C50.variant(nominal=form, ordinal=form)

    def smoothed_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities that the program gives for a saved tree: those of the leaf, and the root's as one sample more.

        A leaf of weight n with the share s of a class gives it (n s + p) / (n + 1), where p is its share in the root.  If a
        sample with missing values reaches several leaves, n and s are the means of theirs by their parts of the sample.  A leaf
        without samples of the fit is replaced by its parent.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Table with the columns of the fit.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_classes)
            Rows sum to 1.  The largest probability may be of another class than `predict` gives if shares are equal, or with
            costs.

        Raises
        ------
        AttributeError
            If the model has rules, or several trials: `predict_proba` has the shares of their votes.

        Examples
        --------
        >>> from fasttree import C50Classifier
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = C50Classifier().fit(X, y)
        >>> model.predict_proba(X[[0, 60]]).round(4), model.smoothed_proba(X[[0, 60]]).round(4)
        (array([[1.    , 0.    , 0.    ],
               [0.    , 0.9792, 0.0208]]), array([[0.9869, 0.0065, 0.0065],
               [0.0068, 0.966 , 0.0272]]))
        """
        check_is_fitted(self)
        tree = self.tree_
        empty = tree.weight <= 0
        above = np.where(empty, tree.parent, np.arange(tree.node_count))
        value, weight = tree.value[above], tree.weight[above]
        shares = value / value.sum(axis=1, keepdims=True)
        table = self._encode_table(X)
        both = tree.replace(task="regression", value=np.column_stack([shares, weight]), loss=None)
        found = walks.predict_value(both, table)
        share, n = found[:, :-1], found[:, -1:]
        return np.asarray((n * share + shares[0]) / (n + 1))

    def _refuses_many_categories(self, feature: Feature, n_categories: int) -> ValueError:
        return ValueError(
            f"column {feature.name!r} has {n_categories} categories: subset=True groups at most {MOST_GROUPED}; use subset=False"
        )

    def _min_branch_weight(self) -> float:
        return float(self.min_samples_branch)

    def _pruning_method(self) -> PruningMethod | None:
        check_one_confidence(self.confidence, self.pruning)
        return super()._pruning_method()

    def _method_of(self, pruning: Any) -> PruningMethod | None:
        if isinstance(pruning, str) and pruning in (OWN_PRUNING, ErrorBased.word):
            return None if pruning == OWN_PRUNING else ErrorBased(confidence=self.confidence)
        return super()._method_of(pruning)

    def _pruned_by(self, is_smaller: bool) -> str:
        return "C5.0" if is_smaller and self._prunes_by_own_rules() else super()._pruned_by(is_smaller)

    def _prunes_by_own_rules(self) -> bool:
        return isinstance(self.pruning, str) and self.pruning == OWN_PRUNING

    def _method_to_prune_by(self, pruning: Any) -> PruningMethod:
        if isinstance(pruning, str) and pruning == OWN_PRUNING:
            raise ValueError(f"pruning={pruning!r} grows branches anew, which prune does not: use it in the fit")
        return super()._method_to_prune_by(pruning)

    def _unpruned(self) -> Self:
        for name, default in {"trials": 1, "rules": False, "winnow": False}.items():
            if (given := getattr(self, name)) != default:
                raise ValueError(
                    f"{name}={given!r}: cost_complexity_pruning_path is for a single tree of all features; use {name}={default!r}"
                )
        return super()._unpruned()

    def _by_its_growth(self, grower: Grower) -> Grower:
        return CostGrower.of(grower)

    def _make_tree(self, grower: Grower, prune: Callable[[Tree], Tree]) -> Tree:
        self.winnowed_: tuple[str, ...] = ()
        grower.samples.table.keep(rows=self.trials > 1)  # branches that are grown anew, and trials, read them many times
        if self.winnow:
            grower = self._winnowed(grower)
        if self.trials > 1:
            boosting = Boosting[Any](grower, int(self.trials), self._trial(grower), bool(self.early_stopping))
            return self._boost_rules(boosting) if self.rules else self._boost(boosting)
        if self._prunes_by_own_rules() and self.max_bins is None:
            grower = grower.with_sorted_table()  # branches that are grown anew are cut out of it
        pruned = self._pruned_in_trial(grower, super()._make_tree(grower, prune), 0)
        self.tree_unpruned_ = _judged(grower, self.tree_unpruned_)
        if self.rules:
            self.__dict__["_learned"] = [self._learned_rules(self._bits_of_rules(grower, None), grower, pruned)]
            return pruned.tree
        return self._softened(pruned.tree, grower.samples) if self.soft_thresholds else pruned.tree

    def _trial(self, first: Grower) -> Callable[[Grower, Tree, int], BoostingTrial[Any]]:
        """Return the function that makes a trial of a grown tree; `first` is the growth of the first one."""
        tested: list[Tree] = []

        def learn(grower: Grower, grown: Tree, number: int) -> BoostingTrial[Any]:
            pruned = self._pruned_in_trial(grower, grown, number)
            if not number:
                self.tree_unpruned_ = _judged(grower, grown)  # as of a single tree, which the first trial may remain
            # those of the first trial bound the others
            size = 0 if number else n_leaves(pruned.tree, by_category=not self.subset and not self.rules)
            if not self.rules:
                return BoostingTrial.of_tree(pruned, grower.samples, size)
            tested.append(pruned.tree)
            model = self._learned_rules(self._bits_of_rules(first, tested[0]), grower, pruned)
            return model.trial(pruned.tree, size, first.samples.table.n_samples)

        return learn

    def _bits_of_rules(self, grower: Grower, first: Tree | None) -> ConditionBits:
        """Return the bits of conditions; thresholds of features that the first tree of several does not test have none."""
        samples, n_features = grower.samples, grower.samples.table.n_features
        tested = None if first is None else {*first.feature[first.n_branches > 0].tolist()}
        free = frozenset() if tested is None else frozenset(range(n_features)) - tested
        return ConditionBits(samples.table, samples.counts, n_features - len(self.winnowed_), free)

    def _learned_rules(self, bits: ConditionBits, grower: Grower, pruned: PrunedTree) -> LearnedRules:
        samples, costs = grower.samples, cost_rules(grower)
        places = preorder(pruned.before)[0][walks.walk(pruned.before, samples.table, pruned.ends)]
        induction = VotingInduction(
            pruned.tree,
            WeighedSamples(samples.target, grower.n_classes, samples.counts, places, grower.limits.n_cases),
            bits,
            expected_errors(pruned.before),
            grower.limits.min_branch_weight,
            self.rule_order,
            costs.loss if costs is not None and costs.class_weight is None else None,
        )
        conditions = induction.conditions()
        return LearnedRules(induction.run(conditions), conditions, induction.samples)

    def _softened(self, tree: Tree, samples: Samples) -> Tree:
        return soften_c50(tree, samples)

    def _pruned_in_trial(self, grower: Grower, tree: Tree, trial: int) -> PrunedTree:
        """Return the tree that C5.0's rules leave of that of a trial; the tree itself if it is pruned otherwise."""
        if self._prunes_by_own_rules():
            return self._own_pruning(grower, trial).with_ends(tree)
        tree = _judged(grower, tree)
        return PrunedTree(tree, tree, None)

    def _own_pruning(self, grower: Grower, trial: int) -> C50Pruning:
        is_limited = self.max_depth is not None or self.max_leaf_nodes is not None or self.max_features is not None
        return C50Pruning(
            grower,
            float(self.confidence),
            bool(self.global_pruning),
            grows_anew=not is_limited and not trial,
            merges_leaves=not trial and not self.rules,
        )

    def _winnowed(self, grower: Grower) -> Grower:
        """Return the growth without the features that winnowing removes."""

        def prune(half: Grower, tree: Tree) -> Tree:
            return replace(self._own_pruning(half, 0), global_pruning=False, whole=grower)(tree)

        hidden = winnow(grower, prune)
        features = grower.samples.table.schema.features
        self.winnowed_ = tuple(features[feature].name for feature in hidden)
        return without_features(grower, hidden)

    def _to_document(self) -> dict[str, Any]:
        document = super()._to_document()
        if self.winnow and "winnowed_" in self.__dict__:  # files of earlier versions have none
            names = [feature.name for feature in self.schema_.features]
            document["winnowed"] = [names.index(name) for name in self.winnowed_]
        return document

    def _read_labels(self, document: Mapping[str, Any]) -> None:
        """Keep the labels of a document, if it has any, and the features that winnowing removed."""
        super()._read_labels(document)
        if self.winnow and "winnowed" not in document:
            return
        features = self.schema_.features
        removed = as_type(document["winnowed"], list, "winnowed") if self.winnow else []
        self.winnowed_ = tuple(features[as_index(j, len(features), "winnowed")].name for j in removed)

    def _checked_recipe(self) -> Recipe:
        recipe = super()._checked_recipe()
        if self.winnow and not self._prunes_by_own_rules():
            raise ValueError(
                f"winnow=True and pruning={self.pruning!r} exclude each other, because winnowing judges trees that are pruned by "
                f"the rules of C5.0: use pruning='{OWN_PRUNING}', or winnow=False"
            )
        if self.loss_matrix is not None and self.soft_thresholds:
            raise ValueError("loss_matrix and soft_thresholds=True exclude each other: use hard thresholds, or loss_matrix=None")
        if self.loss_matrix is not None and self._pruning_method() is not None:
            raise ValueError(
                f"loss_matrix and {self._pruning_method()!r} exclude each other, because the tree grows by other weights than it "
                f"predicts by: use pruning='{OWN_PRUNING}' or None"
            )
        if self.rules and self.soft_thresholds:
            raise ValueError(
                "soft_thresholds=True and rules=True exclude each other, because a condition of a rule has one threshold: use "
                "soft_thresholds=False, or rules=False"
            )
        if self.trials > 1 and self.soft_thresholds:
            raise ValueError(
                f"trials={self.trials} and soft_thresholds=True exclude each other: use trials=1, or hard thresholds"
            )
        if self.trials > 1 and (method := self._pruning_method()) is not None:
            raise ValueError(
                f"trials={self.trials} and {method!r} exclude each other, because each trial prunes on its own weights: use "
                f"pruning='{OWN_PRUNING}' or None, or trials=1"
            )
        return recipe


def _judged(grower: Grower, tree: Tree) -> Tree:
    """Return a tree with the costs of mistakes, if there are any."""
    costs = cost_rules(grower)
    return tree if costs is None else costs.judged(tree)
