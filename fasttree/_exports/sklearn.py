"""A tree as a fitted tree of scikit-learn, for all that reads those."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from .._checks import listing
from .._schema import Kind
from .._tree import INTERVALS, KNOWN, LEAF, SHARES, STOP, THRESHOLD, Tree
from .subject import Subject
from .substitutes import Medium, adapt, asks_surrogates, heaviest_branch

__all__ = ["to_sklearn"]

SKLEARN = Medium("tree of scikit-learn", "")
LEAF_FEATURE, LEAF_THRESHOLD = -2, -2.0  # scikit-learn's at leaves
# Impurities under scikit-learn's names; it has none for misclassification
CRITERIA = {name: name for name in ("gini", "entropy", "squared_error", "absolute_error", "poisson")} | {
    "misclassification": "gini"
}


def to_sklearn(
    subject: Subject, *, impurity: str, missing: str | None = None, soft: str | None = None, forest: bool = False
) -> Any:
    """Make a fitted estimator of scikit-learn; `Exports.to_sklearn` says what it is.

    Parameters
    ----------
    subject : Subject
    impurity : str
        Of the recipe: the estimator's criterion, for those who show it.
    missing : {"majority"} or None, default None
    soft : {"hard"} or None, default None
        Substitutes, as for `adapt`.
    forest : bool, default False
        Whether it is a forest of this one tree.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If such an estimator cannot express the tree and no substitute is named.
    """
    if missing not in (None, "majority"):
        raise ValueError(f"missing={missing!r}: must be 'majority' or None; a tree of scikit-learn cannot refuse a missing value")
    tree = _as_scikit_learn_can(subject, missing, soft)
    is_classifier = subject.classes is not None
    # not those of the tree as adapted: where samples divide, shares are rounded otherwise
    predictions = subject.tree.predictions()
    if is_classifier:
        _check_answers(subject.tree, predictions)
    several = subject.tree.outputs is not None
    classes = _classes(subject) if is_classifier else []
    estimator = (DecisionTreeClassifier if is_classifier else DecisionTreeRegressor)(criterion=CRITERIA[impurity])
    labels = [np.arange(float(len(labels))) for labels in classes] if forest else classes
    _fill(estimator, subject, labels, several=several)
    estimator.max_features_ = tree.n_features
    estimator.tree_ = _flat_tree(tree, predictions)
    if forest:
        single = estimator
        estimator = (RandomForestClassifier if is_classifier else RandomForestRegressor)(1, criterion=CRITERIA[impurity])
        estimator.estimator_, estimator.estimators_ = type(single)(), [single]
        _fill(estimator, subject, classes, several=several)
    if subject.schema.has_names:
        estimator.feature_names_in_ = np.array([feature.name for feature in subject.schema.features], dtype=object)
    return estimator


def _as_scikit_learn_can(subject: Subject, missing: str | None, soft: str | None) -> Tree:
    """The tree, with missing values sent to a child everywhere."""
    of_categories = [feature.name for feature in subject.schema.features if feature.kind is not Kind.CONTINUOUS]
    if of_categories:
        has, them = ("feature {} has", "it") if len(of_categories) == 1 else ("features {} have", "them")
        raise ValueError(
            f"{has.format(listing(of_categories))} categories, and a tree of scikit-learn takes numbers alone: encode {them} "
            "before the fit, or choose another format; the model's own shap_values, plot and export_svg know categories"
        )
    tree = subject.tree
    several = np.flatnonzero((tree.kind == INTERVALS) | (tree.n_branches > 2))
    if several.size:
        node = int(several[0])
        raise ValueError(
            f"node {node} has {tree.n_branches[node]} branches{_of_missing(tree, node)}; a tree of scikit-learn has two at each "
            "node: fit with continuous='threshold' and without missing='branch'"
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
    other = np.flatnonzero((tree.n_branches == 0) & (tree.answer != predictions.argmax(axis=1)))
    if other.size:
        raise ValueError(
            f"by its loss matrix the tree does not always answer the most probable class (first at node {other[0]}), as a tree "
            "of scikit-learn does: choose another format"
        )


def _classes(subject: Subject) -> list[NDArray[Any]]:
    """Labels of each target; as objects where targets differ, as scikit-learn makes one array of their predictions."""
    if subject.tree.outputs is None:
        return [np.asarray(subject.classes)]
    assert subject.classes is not None
    dtypes = {np.asarray(labels).dtype for labels in subject.classes}
    return [np.asarray(labels).astype(object if len(dtypes) > 1 else None) for labels in subject.classes]


def _fill(estimator: Any, subject: Subject, classes: list[NDArray[Any]], *, several: bool) -> None:
    """Set what a fit would have."""
    estimator.n_features_in_ = subject.tree.n_features
    estimator.n_outputs_ = subject.tree.n_outputs
    if classes:
        counts = list(map(len, classes))
        estimator.classes_, estimator.n_classes_ = (classes, counts) if several else (classes[0], counts[0])


def _flat_tree(tree: Tree, predictions: NDArray[np.float64]) -> Any:
    """The tree in scikit-learn's own class: nodes depth first, a left child right after its parent."""
    parts = tree.by_output(predictions)
    widths = np.array([part.shape[1] for part in parts], dtype=np.intp)
    value = np.zeros((tree.node_count, len(parts), int(widths.max())))
    for k, part in enumerate(parts):
        value[:, k, : part.shape[1]] = part

    place = _depth_first(tree)
    order = np.argsort(place)  # our node at each place
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
    # the fields of a node are those of the installed version
    small = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0]).tree_
    nodes = np.zeros(tree.node_count, dtype=small.__getstate__()["nodes"].dtype)
    for name, column in columns.items():
        nodes[name] = column[order]
    theirs = type(small)(tree.n_features, widths, len(parts))
    theirs.__setstate__({"max_depth": tree.max_depth, "node_count": tree.node_count, "nodes": nodes, "values": value[order]})
    return theirs


def _depth_first(tree: Tree) -> NDArray[np.intp]:
    """The number of each node when children follow their parent, first the whole of the left."""
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
