"""Evaluation of models on samples, and comparison of models on the same folds.

The functions take any fitted classifier or regressor of scikit-learn's conventions; leaves are shown for those of fasttree.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.special import stdtrit
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, check_cv, cross_validate
from sklearn.utils.validation import check_is_fitted

from fasttree._data.checks import is_integer
from fasttree._data.targets import encode_classes, encode_values
from fasttree._data.weights import check_same_length, check_sample_weight
from fasttree._explain.pictures.contributions import plot_leaves
from fasttree._explain.rule_table import Backend, frame
from fasttree._learn.progress import each, silence, verbosely

if TYPE_CHECKING:
    from fasttree._explain.pictures.contributions import Axes

__all__ = ["Comparison", "Difference", "Evaluation", "Interval", "compare", "evaluate"]

LEVEL = 0.95  # of confidence
LEAST_PROBABILITY = float(np.finfo(np.float64).eps)  # of a true class, as in scikit-learn's log loss
N_BINS = 10  # of predicted probabilities in a calibration table
MOST_SHOWN = 20  # classes and leaves of a text
CLASS_FIGURES, NUMBER_FIGURES = ("accuracy", "balanced_accuracy", "log_loss", "brier"), ("r2", "rmse", "mae")

Floats = npt.NDArray[np.float64]


class Interval(NamedTuple):
    """A figure and its confidence interval at the level 95 %.

    Attributes
    ----------
    value : float
        The figure.
    low, high : float
        Limits of the interval; NaN if there are too few samples for one.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """Figures of a model on samples; `str` gives them as text.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    weight : float
        Sum of their weights.
    figures : dict of str to Interval
        For classes: `accuracy`, `balanced_accuracy` (mean recall of the classes that occur), `log_loss` (mean of minus the
        logarithm of the probability of the true class, in nats) and `brier` (mean squared difference between probabilities and
        true classes, summed over the classes).  For numbers: `r2`, `rmse` and `mae`.
        Intervals are for other samples from the same source: Wilson's for the accuracy, by Student's t for means, by the delta
        method for others.
    baseline : Interval
        The accuracy of predicting the most frequent class of these samples always, or the root mean squared error of predicting
        their mean.
    classes : list of dict
        A dict for each class: `class`, `precision`, `recall`, `f1`, `weight`; a figure that cannot be computed is NaN.  Empty for
        numbers.
    confusion : float64 array of shape (n_classes, n_classes)
        Weight by true class (row) and predicted class (column), in the order of `classes`.  Empty for numbers.
    calibration : list of dict
        For each class and each tenth of predicted probabilities that has samples: `class`, `low`, `high`, `predicted` (mean
        probability), `observed` (share of the class), `weight`.  Empty for numbers.
    leaves : list of dict
        For trees of fasttree, a dict for each leaf that a sample reaches: `node`, `n_samples`, `share` (of the weight),
        `expected`, `observed`, and `low` and `high`, the interval of `observed`.  For classes, `expected` is the probability of
        the predicted class in the fit, and `observed` its share here; for numbers they are the prediction, or of a leaf with a
        linear model the mean of its predictions, and the mean.
    """

    n_samples: int
    weight: float
    figures: dict[str, Interval]
    baseline: Interval
    classes: list[dict[str, Any]] = field(default_factory=list)
    confusion: Floats = field(default_factory=lambda: np.empty((0, 0)))
    calibration: list[dict[str, Any]] = field(default_factory=list)
    leaves: list[dict[str, Any]] = field(default_factory=list)

    def __getattr__(self, name: str) -> float:
        figures = self.__dict__.get("figures", {})
        if name in figures:
            value: float = figures[name].value
            return value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}; its figures are {', '.join(figures)}")

    def to_frame(
        self, part: Literal["figures", "classes", "calibration", "leaves"] = "figures", *, backend: Backend = "pandas"
    ) -> Any:
        """Return a part as a data frame.

        Parameters
        ----------
        part : {"figures", "classes", "calibration", "leaves"}, default="figures"
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"

        Returns
        -------
        DataFrame or Table
        """
        if part not in ("figures", "classes", "calibration", "leaves"):
            raise ValueError(f"part={part!r}: must be 'figures', 'classes', 'calibration' or 'leaves'")
        if part == "figures":
            rows = [{"figure": name, **interval._asdict()} for name, interval in self.figures.items()]
        else:
            rows = getattr(self, part)
        return _frame(rows, backend)

    def plot_leaves(self, ax: Axes | None = None, *, max_leaves: int = 20) -> Axes:
        """Draw the expected and the observed figure of each leaf as bars side by side, with the interval of the observed one.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw in; None: a new figure.
        max_leaves : int, default=20
            Maximum number of leaves to draw, the heaviest first.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if not self.leaves:
            raise ValueError("there are no leaves to draw: the model is not a single tree of fasttree")
        return plot_leaves(self.leaves, max_leaves, bool(self.classes), ax)

    def __str__(self) -> str:
        lines = [f"{self.n_samples:,} samples" + ("" if self.weight == self.n_samples else f" of weight {self.weight:g}")]
        lines += _aligned([[f"  {name}", *_in_words(interval)] for name, interval in self.figures.items()])
        what = "always the most frequent class" if self.classes else "rmse of the mean"
        lines.append(f"  baseline: {self.baseline.value:.4f} ({what})")
        if self.classes:
            rows = [["class", "precision", "recall", "f1", "weight"]]
            rows += [
                [str(row["class"]), *(f"{row[name]:.4f}" for name in rows[0][1:4]), f"{row['weight']:,g}"] for row in self.classes
            ]
            lines += ["", *_aligned(_folded(rows))]
        if self.leaves:
            rows = [["leaf", "samples", "share", "expected", "observed", f"{LEVEL:.0%} interval"]]
            for row in sorted(self.leaves, key=lambda row: -row["share"]):
                figures = (f"{row[name]:.4g}" for name in ("expected", "observed"))
                outside = "" if row["low"] <= row["expected"] <= row["high"] or math.isnan(row["low"]) else " *"
                limits = f"{row['low']:.4g} to {row['high']:.4g}{outside}"
                rows.append([str(row["node"]), f"{row['n_samples']:,}", f"{row['share']:.1%}", *figures, limits])
            lines += ["", *_aligned(_folded(rows))]
            if any(line.endswith(" *") for line in lines):
                lines.append("* the expected figure is outside the interval")
        return "\n".join(lines) + "\n"


class Difference(NamedTuple):
    """Difference of a figure of two models on the same folds.

    Attributes
    ----------
    first, second : str
        Names of the models.
    figure : str
        Name of the figure.
    difference, low, high : float
        Mean over the folds of the first less the second, and its 95 % interval.
    """

    first: str
    second: str
    figure: str
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """Figures of models on the same folds; `str` gives them as text.

    Attributes
    ----------
    by_fold : dict of str to dict of str to float64 array
        For each model the figures of each fold: those of `Evaluation`, `leaves` and `depth` if the model has them, and
        `fit_seconds`.
    differences : list of Difference
        For each two models and each figure.
    test_share : float
        Number of test samples of a fold per training sample.
    """

    by_fold: dict[str, dict[str, Floats]]
    differences: list[Difference]
    test_share: float

    def to_frame(self, part: Literal["figures", "differences"] = "figures", *, backend: Backend = "pandas") -> Any:
        """Return the figures, with a row for each model and figure, or the differences as a data frame.

        Parameters
        ----------
        part : {"figures", "differences"}, default="figures"
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"

        Returns
        -------
        DataFrame or Table
        """
        if part not in ("figures", "differences"):
            raise ValueError(f"part={part!r}: must be 'figures' or 'differences'")
        if part == "differences":
            return _frame([difference._asdict() for difference in self.differences], backend)
        rows = [
            {"model": name, "figure": figure, "mean": float(values.mean()), "deviation": _deviation(values)}
            for name, figures in self.by_fold.items()
            for figure, values in figures.items()
        ]
        return _frame(rows, backend)

    def __str__(self) -> str:
        names = list(dict.fromkeys(figure for figures in self.by_fold.values() for figure in figures))
        rows = [["", *names]]
        for model, figures in self.by_fold.items():
            cells = (f"{figures[name].mean():.4g} ± {_deviation(figures[name]):.2g}" if name in figures else "" for name in names)
            rows.append([model, *cells])
        lines = [*_aligned(rows), "", f"Differences, with {LEVEL:.0%} intervals corrected for folds that share samples:"]
        found = [
            [f"  {figure}", f"{first} - {second}", f"{difference:+.4f}", f"({low:+.4f} to {high:+.4f})"]
            for first, second, figure, difference, low, high in self.differences
        ]
        return "\n".join([*lines, *_aligned(found)]) + "\n"


def evaluate(model: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Evaluation:
    """Measure a fitted model on samples.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor of one target.
    X : table of shape (n_samples, n_features)
        Samples, in general other ones than those of the fit.
    y : array-like of shape (n_samples,)
        Their true classes or numbers.  Classes that the model does not know count as errors.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights.  None: all are 1.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        If there is no sample, lengths differ, or the model has several targets.

    References
    ----------
    Wilson, E. B. (1927). Probable Inference, the Law of Succession, and Statistical Inference. Journal of the American
    Statistical Association, 22, 209-212.

    Examples
    --------
    >>> from fasttree import CARTClassifier, evaluation
    >>> model = CARTClassifier().fit([[1], [2], [3], [4]], ["no", "no", "yes", "yes"])
    >>> result = evaluation.evaluate(model, [[0], [2.4], [2.6], [5]], ["no", "yes", "yes", "yes"])
    >>> result.accuracy
    0.75
    >>> result.confusion
    array([[1., 0.],
           [1., 2.]])
    """
    check_is_fitted(model)
    if getattr(model, "n_outputs_", 1) != 1:
        raise ValueError("evaluate is for one target, and the model has several: evaluate a model of each target")
    of_classes = is_classifier(model)
    labels, truth = encode_classes(y) if of_classes else (np.empty(0), encode_values(y).astype(float))
    if not len(truth):
        raise ValueError("y has no samples to measure on")
    weight = np.ones(len(truth)) if sample_weight is None else check_sample_weight(sample_weight, len(truth))
    if not weight.any():
        raise ValueError("all weights are zero: there is nothing to measure on")
    return _of_classes(model, X, labels, truth, weight) if of_classes else _of_numbers(model, X, truth, weight)


def _of_classes(model: Any, X: Any, labels: npt.NDArray[Any], codes: npt.NDArray[Any], weight: Floats) -> Evaluation:
    names = model.classes_.tolist()
    index = {label: k for k, label in enumerate(names)}
    for label in labels.tolist():
        index.setdefault(label, len(index))
    names = list(index)
    truth = np.array([index[label] for label in labels.tolist()], dtype=np.intp)[codes]
    predicted = np.array([index[label] for label in model.predict(X).tolist()], dtype=np.intp)
    check_same_length(len(predicted), len(truth))
    probability = model.predict_proba(X)
    probability = np.pad(probability, ((0, 0), (0, len(names) - probability.shape[1])))  # unknown classes are never predicted
    right, everywhere = (predicted == truth).astype(float), np.arange(len(names))
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, predicted, labels=everywhere, sample_weight=weight, zero_division=np.nan
    )
    share = support / weight.sum()
    of_truth = np.clip(probability[np.arange(len(truth)), truth], LEAST_PROBABILITY, None)
    figures = {
        "accuracy": _share_interval(right, weight),
        "balanced_accuracy": _mean_interval(right / (share[truth] * np.count_nonzero(share)), weight),
        "log_loss": _mean_interval(-np.log(of_truth), weight),
        "brier": _mean_interval(((probability - np.eye(len(names))[truth]) ** 2).sum(axis=1), weight),
    }
    columns = {"precision": precision.tolist(), "recall": recall.tolist(), "f1": f1.tolist(), "weight": support.tolist()}
    return Evaluation(
        len(truth),
        float(weight.sum()),
        figures,
        _share_interval((truth == share.argmax()).astype(float), weight),
        [{"class": label, **{name: column[k] for name, column in columns.items()}} for k, label in enumerate(names)],
        np.asarray(confusion_matrix(truth, predicted, labels=everywhere, sample_weight=weight), dtype=np.float64),
        _calibration(names, probability, truth, weight),
        _leaves(model, X, truth, weight, predicted),
    )


def _of_numbers(model: Any, X: Any, truth: npt.NDArray[Any], weight: Floats) -> Evaluation:
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    check_same_length(len(predicted), len(truth))
    squares = (truth - predicted) ** 2
    around_mean = (truth - np.average(truth, weights=weight)) ** 2
    variance = float(np.average(around_mean, weights=weight)) or math.nan
    figures = {
        "r2": _mean_interval(1 - squares / variance, weight),
        "rmse": Interval(*(math.sqrt(max(limit, 0.0)) for limit in _mean_interval(squares, weight))),
        "mae": _mean_interval(np.abs(truth - predicted), weight),
    }
    baseline = Interval(*(math.sqrt(max(limit, 0.0)) for limit in _mean_interval(around_mean, weight)))
    return Evaluation(len(truth), float(weight.sum()), figures, baseline, leaves=_leaves(model, X, truth, weight, predicted))


def _leaves(model: Any, X: Any, truth: Any, weight: Floats, predicted: Any) -> list[dict[str, Any]]:
    """Return the figures of each leaf that a sample reaches, if the model is one tree."""
    tree = getattr(model, "tree_", None)
    if tree is None or not hasattr(tree, "predict_nodes"):
        return []
    reached = model.apply(X)
    nodes = np.unique(reached)
    if tree.task == "classification":
        expected, values = tree.predict_nodes(nodes), (truth == tree.predicted_class[reached]).astype(float)
        expected = expected[np.arange(nodes.size), tree.predicted_class[nodes]]
    else:
        expected, values = tree.value[nodes, 0], truth
    found = []
    for node, figure in zip(nodes.tolist(), expected.tolist(), strict=True):
        here = reached == node
        if not weight[here].any():
            continue
        if hasattr(tree, "models_by_target"):
            figure = float(np.average(predicted[here], weights=weight[here]))
        interval = (_share_interval if tree.task == "classification" else _mean_interval)(values[here], weight[here])
        row = {"node": node, "n_samples": int(here.sum()), "share": float(weight[here].sum() / weight.sum()), "expected": figure}
        found.append(row | {"observed": interval.value, "low": interval.low, "high": interval.high})
    return found


def _calibration(names: Sequence[Any], probability: Floats, truth: npt.NDArray[np.intp], weight: Floats) -> list[dict[str, Any]]:
    """Return the mean probability and the share of each class in each tenth of its probabilities."""
    found = []
    for k, label in enumerate(names):
        tenth = np.minimum((probability[:, k] * N_BINS).astype(np.intp), N_BINS - 1)
        total = np.bincount(tenth, weight, N_BINS)
        predicted = np.bincount(tenth, weight * probability[:, k], N_BINS)
        observed = np.bincount(tenth, weight * (truth == k), N_BINS)
        found += [
            {
                "class": label,
                "low": place / N_BINS,
                "high": (place + 1) / N_BINS,
                "predicted": float(predicted[place] / total[place]),
                "observed": float(observed[place] / total[place]),
                "weight": float(total[place]),
            }
            for place in np.flatnonzero(total).tolist()
        ]
    return found


def compare(
    models: Mapping[str, Any] | Iterable[Any],
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    repeats: int = 1,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Comparison:
    """Measure models by cross-validation on the same folds, with intervals of their differences.

    Parameters
    ----------
    models : dict of str to estimator, or sequence of estimators
        At least one classifier or regressor, which are cloned and fitted on each fold.  Without names, those of their classes are
        used.
    X : table of shape (n_samples, n_features)
        Samples that every model can be fitted on.
    y : array-like of shape (n_samples,)
        Their classes or numbers.
    cv : int, cross-validation generator or iterable, default=10
        Number of random folds, stratified for classification; or what scikit-learn's `check_cv` takes.
    repeats : int, default=1
        Number of cross-validations; for a number of folds only.
    random_state : int or None, default=0
        Seed of the folds.
    n_jobs : int or None, default=None
        Number of folds to work on at a time; see scikit-learn's glossary.
    verbose : int, default=0
        Whether to draw a bar of progress for each model, as `fasttree.progress` does: 0 draws none.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If there is no model, models have the same name, or a model cannot be fitted.

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003). Inference for the Generalization Error. Machine Learning, 52, 239-281.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fasttree import C45Classifier, CARTClassifier, evaluation
    >>> X, y = load_iris(return_X_y=True)
    >>> result = evaluation.compare([C45Classifier(), CARTClassifier()], X, y)
    >>> round(float(result.by_fold["C45Classifier"]["accuracy"].mean()), 3)
    0.927
    """
    named = _named(models)
    of_classes = is_classifier(next(iter(named.values())))
    if is_integer(cv):
        kind = RepeatedStratifiedKFold if of_classes else RepeatedKFold
        splitter = kind(n_splits=int(cv), n_repeats=repeats, random_state=random_state)
    else:
        splitter = check_cv(cv, y, classifier=of_classes)
    with warnings.catch_warnings():
        # a class may have fewer samples than there are folds: some folds are then without it, for all models
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        folds = list(splitter.split(X, y))
    with verbosely(verbose):
        by_fold = {
            name: _figures_by_fold(model, X, y, folds, n_jobs, f"model {k} of {len(named)}")
            for k, (name, model) in enumerate(named.items(), 1)
        }
    test_share = float(np.mean([len(test) / len(train) for train, test in folds]))
    differences = []
    for (first, ours), (second, theirs) in itertools.combinations(by_fold.items(), 2):
        for figure in CLASS_FIGURES if of_classes else NUMBER_FIGURES:
            interval = resampled_interval(ours[figure] - theirs[figure], test_share)
            differences.append(Difference(first, second, figure, *interval))
    return Comparison(by_fold, differences, test_share)


def _scores(model: Any, X: Any, y: Any) -> dict[str, float]:
    return {name: interval.value for name, interval in evaluate(model, X, y).figures.items()}


def _named(models: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    if isinstance(models, BaseEstimator) or not isinstance(models, Iterable):
        raise ValueError(f"models={models!r}: must be a list of estimators, or a dict {{name: estimator}}")
    pairs = list(models.items()) if isinstance(models, Mapping) else [(type(model).__name__, model) for model in models]
    if not pairs:
        raise ValueError("models is empty: give at least one estimator")
    if wrong := [model for _, model in pairs if isinstance(model, type) or not hasattr(model, "fit")]:
        raise ValueError(f"models holds {wrong[0]!r}: must be estimators, such as CARTClassifier()")
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("models: two have the same name; give a dict with a name for each")
    if len({is_classifier(model) for _, model in pairs}) > 1:
        raise ValueError("models: classifiers and regressors cannot be compared")
    return dict(pairs)


def _figures_by_fold(model: Any, X: Any, y: Any, folds: list[Any], n_jobs: int | None, step: str) -> dict[str, Floats]:
    """Return the figures of a model for each fold; the folds are reported as parts of a step, unless several run at a time."""
    found: dict[str, list[Any]] = {}
    for part in each(step, [[fold] for fold in folds] if effective_n_jobs(n_jobs) == 1 else [folds]):
        with silence():
            measured = cross_validate(
                clone(model), X, y, cv=part, scoring=_scores, n_jobs=n_jobs, return_estimator=True, error_score="raise"
            )
        for name, values in measured.items():
            found.setdefault(name, []).extend(values)
    figures = {name.removeprefix("test_"): np.array(scores) for name, scores in found.items() if name.startswith("test_")}
    for name, method in (("leaves", "get_n_leaves"), ("depth", "get_depth")):
        if all(hasattr(fitted, method) for fitted in found["estimator"]):
            figures[name] = np.array([float(getattr(fitted, method)()) for fitted in found["estimator"]])
    return figures | {"fit_seconds": np.array(found["fit_time"])}


def paired_interval(differences: Floats) -> Interval:
    """Return the interval of the mean of the differences of two models on the same samples, by Student's t."""
    return _mean_interval(differences, np.ones(len(differences)))


def resampled_interval(differences: Floats, test_share: float) -> Interval:
    """Return the interval of the mean of differences over folds, by the corrected resampled t of Nadeau and Bengio (2003).

    Folds share most of their training samples, so their variance divided by n underestimates the variance of their mean.  The
    factor is ``1 / n + n_test / n_train`` instead of ``1 / n``.

    Parameters
    ----------
    differences : float64 array, shape (n,)
        Differences of the figures of two models on the same folds.
    test_share : float
        Number of test samples of a fold per training sample.
    """
    return _t_interval(
        float(differences.mean()),
        float(np.var(differences, ddof=1)) if len(differences) > 1 else math.nan,
        len(differences),
        1 / len(differences) + test_share,
    )


def _mean_interval(values: Floats, weight: Floats) -> Interval:
    """Return the weighted mean and its interval by Student's t; Kish's effective number of samples counts."""
    total = weight.sum()
    mean = float(weight @ values / total)
    n = float(total**2 / (weight @ weight))
    variance = float(weight @ (values - mean) ** 2 / total) * n / (n - 1) if n > 1 else math.nan
    return _t_interval(mean, variance, n, 1 / n)


def _t_interval(mean: float, variance: float, n: float, factor: float) -> Interval:
    if n < 2 or math.isnan(variance):
        return Interval(mean, math.nan, math.nan)
    half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * math.sqrt(factor * variance)
    return Interval(mean, mean - half, mean + half)


def _share_interval(hits: Floats, weight: Floats) -> Interval:
    """Return a share and Wilson's interval of it; Kish's effective number of samples counts."""
    total = weight.sum()
    share, n = float(weight @ hits / total), float(total**2 / (weight @ weight))
    z2 = float(stdtrit(np.inf, (1 + LEVEL) / 2)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 / n * (share * (1 - share) + z2 / (4 * n))) / (1 + z2 / n)
    return Interval(share, max(centre - half, 0.0), min(centre + half, 1.0))


def _deviation(values: Floats) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else math.nan


def _frame(rows: Sequence[Mapping[str, Any]], backend: Backend) -> Any:
    return frame({name: [row[name] for row in rows] for name in (rows[0] if rows else ())}, backend)


def _in_words(interval: Interval) -> list[str]:
    limits = "" if math.isnan(interval.low) else f"({interval.low:.4f} to {interval.high:.4f})"
    return [f"{interval.value:.4f}", limits]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines of cells in columns, the first to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _folded(rows: list[list[str]]) -> list[list[str]]:
    """Return the head and the first rows, and a row that counts the others."""
    if len(rows) <= MOST_SHOWN + 1:
        return rows
    return [*rows[: MOST_SHOWN + 1], [f"... {len(rows) - 1 - MOST_SHOWN} more", *[""] * (len(rows[0]) - 1)]]
