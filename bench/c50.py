"""C5.0's trees, trials and rules, beside recorded times of Quinlan's program."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from fasttree import C50Classifier

from .cases import OURS, YARDSTICK, Answers, Case, Contest, Figures
from .datasets import c45_results, c50_results, declare, read_shared
from .targets import YARDSTICK_SECONDS, one_hot_adult

ERRORS_APART = 0.005  # tolerated difference of the errors, as a share of the rows, and relative one of sizes, for ties
SIZES_APART = 0.05


def of_c50(name: str, run: str, **parameters: Any) -> Callable[[int], Contest]:
    """Return a case of the whole table, as the figures of the program are."""

    def make(most_rows: int) -> Contest:
        reference = c45_results()["datasets"][name]  # has the declarations
        frame, target = read_shared(name)
        X = declare(frame, reference["attributes"])
        y = pd.Categorical(target.astype(str), categories=reference["classes"])
        runs = c50_results()["datasets"][name]["runs"]
        recorded = next(each for each in runs if each["run"] == run and each["n_train"] == len(X))

        def check(answers: Answers) -> Figures:
            ours = answers[OURS]
            errors, its_errors = int((ours.predict(X) != np.asarray(y)).sum()), recorded["train_errors"]
            assert abs(errors - its_errors) <= ERRORS_APART * len(X), f"training errors: {errors}, C5.0 {its_errors}"
            figures = {"errors": errors, "recorded errors": its_errors}
            if "trials" in recorded:
                assert ours.n_trials_ == recorded["trials"]
                return figures | {"leaves": sum(tree.get_n_leaves() for tree in ours.estimators_)}
            if run == "rules":
                size, its_size = len(ours.rules_), recorded["size"]
                assert abs(size - its_size) <= SIZES_APART * its_size, f"rules: {size}, C5.0 {its_size}"
                return figures | {"rules": size, "recorded rules": its_size}
            ours.tree_.check()
            return figures | {"leaves": ours.get_n_leaves()}

        return Contest(
            calls={OURS: lambda: C50Classifier(**parameters).fit(X, y), YARDSTICK: one_hot_adult()},
            check=check,
            table=X.shape,
            recorded={"C5.0, recorded": recorded["cpu_seconds"]},
            yardstick_seconds=YARDSTICK_SECONDS,
        )

    return make


TABLES = ("adult", "letter", "covtype")
CASES = [
    *(Case(f"c50-{name}", f"C5.0, {name}", of_c50(name, "default"), 6, 10) for name in TABLES),
    *(Case(f"c50-boosted-{name}", f"C5.0, 10 trials, {name}", of_c50(name, "boost", trials=10), 8, 12) for name in TABLES),
    *(Case(f"c50-rules-{name}", f"C5.0, rules, {name}", of_c50(name, "rules", rules=True), 30, 40) for name in TABLES),
]
