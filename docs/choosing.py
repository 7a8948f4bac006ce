"""Times and picture of choosing.md: python docs/choosing.py, from the folder of the sources; needs the extra `test`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot, ticker

from fasttree import RECIPES, Recipe, TreeClassifier, TreeRegressor
from fasttree._learn.recipe import CHOICES
from fasttree.pruning import CAlpha, CostComplexity

REPEATS = 5
PICTURE = "docs/choosing.svg"
PLAIN = Recipe("cart")
CRITERIA = {
    "Gini": PLAIN,
    "entropy": Recipe(impurity="entropy"),
    "misclassification": Recipe(impurity="misclassification"),
    "gain ratio": Recipe(impurity="entropy", rank="gain_ratio"),
    "plain gain ratio": Recipe(impurity="entropy", rank="plain_gain_ratio"),
}
FORMS = {
    "one category against the rest": Recipe(nominal="one_vs_rest"),
    "a branch per category that occurs": Recipe(nominal="present", missing="fractional"),
    "a branch per declared category": Recipe(nominal="declared", missing="fractional"),
    "groups": replace(RECIPES["c45"], nominal="groups", ordinal="groups"),
}
MISSING = {word: Recipe(missing=word) for word in CHOICES["missing"] if word not in ("error", "direction")}
ALGORITHMS = {f'"{word}"': RECIPES[word] for word in ("c45", "c45_textbook")}
NUMBERS = {f'"{word}"': Recipe(impurity=word) for word in ("squared_error", "poisson", "absolute_error")}
PRUNINGS: dict[str, dict[str, Any]] = {
    "cost-complexity": {"ccp_alpha": "cv"},
    "cost-complexity, 1-SE": {"pruning": CostComplexity(alpha="cv", selection="1se")},
    "cost-complexity by error": {"pruning": CostComplexity(alpha="cv", risk="error")},
    "C_alpha, 6 bits": {"pruning": CAlpha(alpha=6)},
    "reduced-error": {"pruning": "reduced_error"},
    "error-based": {"pruning": "error_based"},
    "pessimistic": {"pruning": "pessimistic"},
    "critical-value": {"pruning": "critical_value"},
    "chi-square": {"pruning": "chi_square"},
    "minimum-error": {"pruning": "minimum_error"},
}
STOPS: dict[str, dict[str, Any]] = {
    "split_p_value=0.001": {"split_p_value": 0.001},
    "max_leaf_nodes=100": {"max_leaf_nodes": 100},
    "min_samples_leaf=20": {"min_samples_leaf": 20},
}


def adult() -> tuple[pd.DataFrame, pd.Series, pd.DataFrame, pd.Series]:
    """Return training and test samples: 32,561 and 16,281, with 14 features of two kinds and some missing values."""
    learn, test = (pd.read_csv(f"examples/{name}.csv.gz") for name in ("adult", "adult.test"))
    return learn.drop(columns="income"), learn["income"], test.drop(columns="income"), test["income"]


def seconds(action: Callable[[], object]) -> float:
    """Return the least processor time of a few runs."""
    took = []
    for _ in range(REPEATS):
        start = time.process_time()
        action()
        took.append(time.process_time() - start)
    return min(took)


def print_times() -> None:
    """Print relative time of a fit, leaves and test errors of each choice, as lines of Markdown."""
    X, y, X_test, y_test = adult()
    hours = X["hours-per-week"]
    plain = seconds(lambda: TreeClassifier().fit(X, y))
    plain_of_numbers = seconds(lambda: TreeRegressor().fit(X.drop(columns="hours-per-week"), hours))
    print(f"plain: {plain:.3f} s; of numbers: {plain_of_numbers:.3f} s")
    for name, recipe in {**CRITERIA, **FORMS, **MISSING, **ALGORITHMS}.items():
        try:
            model = TreeClassifier(recipe=recipe)
            took = seconds(lambda model=model: model.fit(X, y))
        except ValueError as error:
            print(f"| {name} | refused: {error}")
            continue
        pruned = TreeClassifier(recipe=recipe, pruning=CostComplexity(alpha="cv", selection="1se"), random_state=0).fit(X, y)
        errors = " | ".join(f"{1 - one.score(X_test, y_test):.1%}" for one in (model, pruned))
        print(f"| {name} | {took / plain:.1f} | {model.get_n_leaves():,} | {pruned.get_n_leaves():,} | {errors} |")
    for name, recipe in NUMBERS.items():
        model = TreeRegressor(recipe=recipe)
        took = seconds(lambda model=model: model.fit(X.drop(columns="hours-per-week"), hours))
        print(f"| {name} | {took / plain_of_numbers:.1f} |")
    for name, parameters in {**PRUNINGS, **STOPS}.items():
        took = seconds(lambda parameters=parameters: TreeClassifier(random_state=0, **parameters).fit(X, y))
        print(f"| {name} | {took / plain:.1f} |")


def draw() -> None:
    """Draw leaves against test errors of a CART and a C4.5 tree, pruned by every method."""
    X, y, X_test, y_test = adult()
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.6), sharey=True, layout="constrained")
    for ax, (word, title) in zip(axes, {"cart": "CART (Gini)", "c45": "C4.5 (gain ratio)"}.items(), strict=True):
        grown = TreeClassifier(recipe=word).fit(X, y)
        path = grown.cost_complexity_pruning_path(X, y)
        chosen = np.unique(np.geomspace(1, len(path.ccp_alphas), 60).astype(int) - 1)
        nested = [grown.prune(CostComplexity(alpha=alpha)) for alpha in path.ccp_alphas[::-1][chosen]]
        leaves, errors = zip(*((one.get_n_leaves(), 1 - one.score(X_test, y_test)) for one in nested), strict=True)
        ax.plot(leaves, 100 * np.array(errors), color="0.75", zorder=1, label="nested subtrees of cost-complexity")
        models = {
            "as grown": grown,
            **{name: TreeClassifier(recipe=word, random_state=0, **parameters) for name, parameters in PRUNINGS.items()},
        }
        for number, (name, model) in enumerate(models.items()):
            fitted = model if model is grown else model.fit(X, y)
            error = 100 * (1 - fitted.score(X_test, y_test))
            colour, marker = "black" if number == 0 else f"C{number - 1}", "os^DvP*X<>p"[number]
            ax.scatter(fitted.get_n_leaves(), error, color=colour, marker=marker, s=45, zorder=2, label=name)
        ax.set_xscale("log")
        ax.set_title(title)
        ax.set_xlabel("leaves")
        ax.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:,.0f}"))
    axes[0].set_ylim(13, 20)
    axes[0].set_ylabel("errors on the test table, %")
    axes[1].legend(fontsize="small", frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    pyplot.rcParams["svg.hashsalt"] = "fasttree"  # the same file each time
    draw()
    print_times()
