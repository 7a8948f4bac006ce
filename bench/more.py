"""Cases without a target, run on demand: smaller tables, C4.5's rules, C4.5 on tables of different sizes."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from fasttree import C45Classifier, C45Rules, CARTClassifier, ID3Classifier

from .cases import OURS, YARDSTICK, Answers, Case, Contest, Figures
from .checks import SKLEARN, same_predictions, same_scores
from .datasets import as_codes, c45_results, declare, matrix, one_hot, read_example, read_shared
from .targets import YARDSTICK_SECONDS, against_one_hot, against_sklearn, of_signal, one_hot_adult

RULE_ERRORS_APART = 0.02


def of_adult_codes(most_rows: int) -> Contest:
    frame, target = read_example("adult", most_rows)
    return against_sklearn(matrix(frame), as_codes(target))


def of_mushroom(most_rows: int) -> Contest:
    frame, target = read_example("mushroom", most_rows)
    frame = frame.dropna(axis="columns")  # ID3 allows no missing values
    return against_one_hot(frame, target, ID3Classifier(), DecisionTreeClassifier(criterion="entropy", random_state=0))


def of_nominal_codes(read: Callable[[str], tuple[pd.DataFrame, pd.Series]], name: str) -> Callable[[int], Contest]:
    """Return a case of a small table of codes, as categories for us and as numbers for scikit-learn."""

    def make(most_rows: int) -> Contest:
        frame, target = read(name)
        X, y = matrix(frame), as_codes(target)
        calls = {
            OURS: lambda: CARTClassifier(categorical_features=range(X.shape[1])).fit(X, y),
            SKLEARN: lambda: DecisionTreeClassifier(random_state=0).fit(X, y),
        }
        return Contest(calls=calls, check=same_scores(X, y), table=X.shape)

    return make


def predicting_iris(most_rows: int) -> Contest:
    X, y = load_iris(return_X_y=True)
    ours, peer = CARTClassifier().fit(X, y), DecisionTreeClassifier(random_state=0).fit(X, y)
    calls = {OURS: lambda: ours.predict(X), SKLEARN: lambda: peer.predict(X)}
    return Contest(calls=calls, check=same_predictions(y, apart=0.0), table=X.shape)


def predicting_adult(most_rows: int) -> Contest:
    frame, target = read_example("adult", most_rows)
    test, test_target = read_example("adult.test", most_rows)
    ours = CARTClassifier(max_depth=8).fit(frame, target)
    peer = one_hot(frame, DecisionTreeClassifier(max_depth=8, random_state=0)).fit(frame, target)
    calls = {OURS: lambda: ours.predict(test), SKLEARN: lambda: peer.predict(test)}
    return Contest(calls=calls, check=same_predictions(test_target.to_numpy()), table=test.shape)


def rules_of_c45(name: str) -> Callable[[int], Contest]:
    """Return a case of rules from a grown tree; with missing values, a few ties and thus rules may differ from C4.5's."""

    def make(most_rows: int) -> Contest:
        reference = c45_results()["datasets"][name]
        frame, target = read_shared(name)
        X = declare(frame, reference["attributes"])
        y = pd.Categorical(target.astype(str), categories=reference["classes"])
        recorded = next(run for run in reference["runs"] if run["run"] == "rules" and run["n_train"] == len(X))
        model = C45Classifier().fit(X, y)
        apart = RULE_ERRORS_APART if reference["missing_values"] else 0

        def check(answers: Answers) -> Figures:
            ours = answers[OURS]
            errors, its_errors = int((ours.predict(X) != np.asarray(y)).sum()), recorded["train_errors"]
            assert abs(errors - its_errors) <= apart * its_errors, f"training errors: {errors}, C4.5 {its_errors}"
            assert apart or len(ours.rules_) == recorded["n_rules"], f"rules: {len(ours.rules_)}, C4.5 {recorded['n_rules']}"
            return {"rules": len(ours.rules_), "recorded rules": recorded["n_rules"], "errors": errors}

        return Contest(
            calls={OURS: lambda: C45Rules.from_tree(model, X, y), YARDSTICK: one_hot_adult()},
            check=check,
            table=X.shape,
            recorded={"C4.5, recorded": recorded["cpu_seconds"]},
            yardstick_seconds=YARDSTICK_SECONDS,
        )

    return make


def c45_of_hflights(n: int, missing: float) -> Callable[[int], Contest]:
    """Return a case of flights drawn with replacement: delay above 15 minutes, with a share of the cells missing."""

    def make(most_rows: int) -> Contest:
        frame, delay = read_shared("hflights")
        rng = np.random.default_rng(0)
        rows = rng.choice(len(frame), min(n, most_rows))
        X, y = frame.iloc[rows].reset_index(drop=True), delay.to_numpy()[rows] > 15
        if missing:
            X = X.mask(rng.random(X.shape) < missing)

        def check(answers: Answers) -> Figures:
            ours = answers[OURS]
            ours.tree_.check()
            tree, score = ours.tree_unpruned_, float(ours.score(X, y))
            assert score > max(y.mean(), 1 - y.mean()), f"score on the training table: {score}"
            return {
                "nodes": tree.node_count,
                "visits a row": float(tree.n_samples[tree.feature >= 0].sum() / len(X)),
                "score": score,
            }

        return Contest(calls={OURS: lambda: C45Classifier().fit(X, y)}, check=check, table=X.shape)

    return make


CASES = [
    Case("signal-100000", "signal, classes, 100,000 rows", of_signal(100_000)),
    Case("signal-100000-regression", "signal, regression, 100,000 rows", of_signal(100_000, regression=True)),
    Case("adult-codes", "adult as numbers", of_adult_codes),
    Case("mushroom-id3", "mushroom by ID3; one-hot there", of_mushroom),
    Case("soybean-nominal", "soybean's codes as categories; as numbers there", of_nominal_codes(read_shared, "soybean")),
    Case("mushroom-nominal", "mushroom's codes as categories; as numbers there", of_nominal_codes(read_example, "mushroom")),
    Case("predict-iris", "predict, iris", predicting_iris),
    Case("predict-adult", "predict, adult from strings; one-hot there", predicting_adult),
    Case("rules-letter", "C4.5's rules of letter", rules_of_c45("letter")),
    Case("rules-adult", "C4.5's rules of adult", rules_of_c45("adult")),
    *(
        Case(f"c45-hflights-{n}{'-missing' if missing else ''}", f"C4.5, hflights, {n:,} rows{note}", c45_of_hflights(n, missing))
        for missing, note in ((0.0, ""), (0.2, ", 20 % missing"))
        for n in (10_000, 100_000, 1_000_000)
    ),
]
