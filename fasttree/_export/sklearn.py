"""Trees and forests as fitted ones of scikit-learn, for programs that read those."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from fasttree._data.errors import listing
from fasttree._data.schema import Kind
from fasttree._export.subject import Subject
from fasttree._export.substitutes import Medium, adapt, asks_surrogates, heaviest_branch
from fasttree._model.arrays import INTERVALS, KNOWN, LEAF, SHARES, STOP, THRESHOLD
from fasttree._model.linear.model_tree import check_constant_leaves
from fasttree._model.tree import Tree

__all__ = ["forest_to_sklearn", "to_sklearn"]

SKLEARN = Medium("tree of scikit-learn", "")
LEAF_FEATURE, LEAF_THRESHOLD = -2, -2.0  # of scikit-learn's leaves
CRITERIA = ("gini", "entropy", "squared_error", "absolute_error", "poisson")  # of scikit-learn, by the same words as ours
ESTIMATORS = {  # of a forest and of its trees: for classes or numbers, with random thresholds or not
    (True, False): (RandomForestClassifier, DecisionTreeClassifier),
    (False, False): (RandomForestRegressor, DecisionTreeRegressor),
    (True, True): (ExtraTreesClassifier, ExtraTreeClassifier),
    (False, True): (ExtraTreesRegressor, ExtraTreeRegressor),
}


def to_sklearn(
    subject: Subject, *, impurity: str, missing: str | None = None, soft: str | None = None, forest: bool = False
) -> Any:
    """Make a fitted estimator of scikit-learn, which `Exports.to_sklearn` describes.

    Parameters
    ----------
    subject : Subject
    impurity : str
        Impurity of the recipe, shown as the estimator's criterion if scikit-learn has it, else as the default.
    missing : {"majority"} or None, default None
    soft : {"hard"} or None, default None
        Substitutes, as for `adapt`.
    forest : bool, default False
        Whether to make a forest of this one tree.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If such an estimator cannot express the tree and no substitute is given.
    """
    _check_missing(missing)
    if forest:
        return forest_to_sklearn([subject], impurity=impurity, missing=missing, soft=soft)
    _check_numbers(subject, "shap_values, plot and export_svg")
    is_classifier = subject.classes is not None
    estimator = (DecisionTreeClassifier if is_classifier else DecisionTreeRegressor)(
        criterion=_criterion(impurity, is_classifier)
    )
    _fill(estimator, subject, _classes(subject))
    _set_tree(estimator, subject, missing, soft)
    _set_names(estimator, subject)
    return estimator


def forest_to_sklearn(
    subjects: Iterable[Subject],
    *,
    impurity: str,
    missing: str | None = None,
    soft: str | None = None,
    random_cuts: bool = False,
) -> Any:
    """Make a fitted forest of scikit-learn, which `ForestViews.to_sklearn` describes.

    Parameters
    ----------
    subjects : iterable of Subject
        The trees of one model, at least one.
    impurity, missing, soft
        As for `to_sklearn`.
    random_cuts : bool, default False
        Whether to make extra-trees, else a random forest.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If such a forest cannot express a tree and no substitute is given; the message names the tree if there are several.
    """
    _check_missing(missing)
    trees = list(subjects)
    subject = trees[0]
    _check_numbers(subject, "shap_values and export_onnx")
    is_classifier = subject.classes is not None
    of_forest, of_tree = ESTIMATORS[is_classifier, random_cuts]
    criterion = _criterion(impurity, is_classifier)
    forest = of_forest(len(trees), criterion=criterion)
    classes = _classes(subject)
    forest.estimator_, forest.estimators_ = of_tree(), []
    for i, each in enumerate(trees):
        single = of_tree(criterion=criterion)
        _fill(single, each, [np.arange(float(len(labels))) for labels in classes])
        _set_tree(single, each, missing, soft, f"tree {i}: " if len(trees) > 1 else "")
        forest.estimators_.append(single)
    _fill(forest, subject, classes)
    _set_names(forest, subject)
    return forest


def _check_missing(missing: str | None) -> None:
    if missing not in (None, "majority"):
        raise ValueError(f"missing={missing!r}: must be 'majority' or None; a tree of scikit-learn cannot reject missing values")


def _criterion(impurity: str, is_classifier: bool) -> str:
    return impurity if impurity in CRITERIA else "gini" if is_classifier else "squared_error"


def _set_tree(estimator: Any, subject: Subject, missing: str | None, soft: str | None, which: str = "") -> None:
    """Set the tree of an estimator; errors begin with `which`."""
    try:
        check_constant_leaves(subject.tree, "to_sklearn")
        tree = _as_scikit_learn_can(subject, missing, soft)
        # of the original tree: the shares of a tree that divides samples are rounded differently
        predictions = subject.tree.predict_nodes()
        if subject.classes is not None:
            _check_answers(subject.tree, predictions)
    except ValueError as error:
        raise ValueError(f"{which}{error}") from None
    estimator.max_features_ = tree.n_features
    estimator.tree_ = _flat_tree(tree, predictions)


def _set_names(estimator: Any, subject: Subject) -> None:
    if subject.schema.has_names:
        estimator.feature_names_in_ = np.array([feature.name for feature in subject.schema.features], dtype=object)


def _check_numbers(subject: Subject, others: str) -> None:
    """Check that no feature has categories; the error names other methods that support them."""
    of_categories = [feature.name for feature in subject.schema.features if feature.kind is not Kind.CONTINUOUS]
    if of_categories:
        has, them = ("feature {} has", "it") if len(of_categories) == 1 else ("features {} have", "them")
        raise ValueError(
            f"{has.format(listing(of_categories))} categories, but a tree of scikit-learn takes only numbers: encode {them} "
            f"before the fit, or choose another format; the model's own {others} support categories"
        )


def _as_scikit_learn_can(subject: Subject, missing: str | None, soft: str | None) -> Tree:
    """Return the tree with missing values sent to a child at every node."""
    tree = subject.tree
    several = np.flatnonzero((tree.kind == INTERVALS) | (tree.n_branches > 2))
    if several.size:
        node = int(several[0])
        raise ValueError(
            f"node {node} has {tree.n_branches[node]} branches{_of_missing(tree, node)}, but nodes of scikit-learn have two: fit "
            "with continuous='threshold' and without missing='branch'"
        )
    if missing is None and not subject.refuses_missing:
        asks = asks_surrogates(tree)
        kept = asks | ((tree.n_branches > 0) & (tree.missing < 0))
        if kept.any():
            node = int(kept.argmax())
            does = "asks surrogates" if asks[node] else "divides it" if tree.missing[node] == SHARES else "keeps it"
            raise ValueError(
                f"node {node} {does} where a value is missing, as no tree of scikit-learn can: choose missing='majority', by "
                "which the value follows the heaviest branch"
            )
    adapted = adapt(subject, SKLEARN, missing="majority", soft=soft).subject.tree
    stopped = (adapted.n_branches > 0) & (adapted.missing == STOP)
    return adapted.replace(missing=np.where(stopped, heaviest_branch(adapted), adapted.missing))


def _of_missing(tree: Tree, node: int) -> str:
    return ", one for missing values alone" if tree.kind[node] == THRESHOLD else ""


def _check_answers(tree: Tree, predictions: NDArray[np.float64]) -> None:
    if tree.loss is None:
        return
    other = np.flatnonzero((tree.n_branches == 0) & (tree.predicted_class != predictions.argmax(axis=1)))
    if other.size:
        raise ValueError(
            f"by its loss matrix, the tree does not always predict the most probable class (first at node {other[0]}), as a tree "
            "of scikit-learn does: choose another format"
        )


def _classes(subject: Subject) -> list[NDArray[Any]]:
    """Return the labels of each target, as objects if their dtypes differ, because scikit-learn puts them into one array."""
    if subject.classes is None:
        return []
    if subject.tree.outputs is None:
        return [np.asarray(subject.classes)]
    dtypes = {np.asarray(labels).dtype for labels in subject.classes}
    return [np.asarray(labels).astype(object if len(dtypes) > 1 else None) for labels in subject.classes]


def _fill(estimator: Any, subject: Subject, classes: list[NDArray[Any]]) -> None:
    """Set the attributes that a fit would set."""
    estimator.n_features_in_ = subject.tree.n_features
    estimator.n_outputs_ = subject.tree.n_outputs
    if classes:
        counts = list(map(len, classes))
        estimator.classes_, estimator.n_classes_ = (classes[0], counts[0]) if subject.tree.outputs is None else (classes, counts)


def _flat_tree(tree: Tree, predictions: NDArray[np.float64]) -> Any:
    """Return the tree in scikit-learn's own class, with nodes depth first: a left child follows its parent."""
    parts = tree.by_output(predictions)
    widths = np.array([part.shape[1] for part in parts], dtype=np.intp)
    value = np.zeros((tree.node_count, len(parts), int(widths.max())))
    for k, part in enumerate(parts):
        value[:, k, : part.shape[1]] = part

    place = _depth_first(tree)
    order = np.argsort(place)  # node at each position
    is_leaf = tree.kind == LEAF
    left = np.where(is_leaf, -1, place[tree.first_child])
    right = np.where(is_leaf, -1, place[np.minimum(tree.first_child + 1, tree.node_count - 1)])
    threshold = np.where(tree.kind == KNOWN, np.inf, tree.threshold)
    columns = {
        "left_child": left,
        "right_child": right,
        "feature": np.where(is_leaf, LEAF_FEATURE, tree.feature),
        "threshold": np.where(is_leaf, LEAF_THRESHOLD, threshold),
        "impurity": tree.impurity,
        "n_node_samples": tree.n_samples,
        "weighted_n_node_samples": tree.weight,
        "missing_go_to_left": tree.missing == 0,
    }
    # the fields of a node depend on the installed version
    small = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    nodes = np.zeros(tree.node_count, dtype=small.__getstate__()["nodes"].dtype)
    for name, column in columns.items():
        nodes[name] = column[order]
    theirs = type(small)(tree.n_features, widths, len(parts))
    theirs.__setstate__({"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": value[order]})
    return theirs


def _depth_first(tree: Tree) -> NDArray[np.intp]:
    """Return the number of each node in depth-first order, left subtrees first."""
    size = np.ones(tree.node_count, np.intp)
    inner = np.flatnonzero(tree.n_branches)
    first = tree.first_child
    for node in inner[::-1].tolist():
        size[node] += size[first[node]] + size[first[node] + 1]
    place = np.zeros(tree.node_count, np.intp)
    for node in inner.tolist():
        left = first[node]
        place[left] = place[node] + 1
        place[left + 1] = place[left] + size[left]
    return place
