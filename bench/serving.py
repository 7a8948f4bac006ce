"""Prediction for servers: single rows and whole tables, beside the model of the predictor and scikit-learn."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

from fasttree import C45Classifier, CARTClassifier

from .cases import OURS, Answers, Case, Contest, Figures
from .checks import SKLEARN
from .datasets import matrix, read_example, read_shared

MODEL = "the model"
N_ROWS = 500  # predicted one by one in a call

Make = Callable[[int], Contest]


def iris(most_rows: int) -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X[:most_rows], y[:most_rows]


def letter(most_rows: int) -> tuple[Any, Any]:
    frame, target = read_shared("letter", most_rows)
    return matrix(frame, np.float64), target.to_numpy()


def adult(most_rows: int) -> tuple[Any, Any]:
    return read_example("adult", most_rows)


def as_model(predictor: Any) -> Callable[[Answers], Figures]:
    """Return a check that predictions equal the model's, with figures of the predictor's memory."""

    def check(answers: Answers) -> Figures:
        assert list(answers[OURS]) == list(answers[MODEL]), "the predictor answers otherwise than the model"
        if SKLEARN in answers:
            agree = float(np.mean(np.asarray(answers[SKLEARN]) == np.asarray(answers[OURS])))
            assert agree > 0.9, f"scikit-learn answers alike in {agree:.0%} only"
        return {"bytes": float(predictor.nbytes), "bytes_per_node": predictor.nbytes / predictor.node_count}

    return check


def whole_table(data: Callable[[int], tuple[Any, Any]], estimator: Any) -> Make:
    def make(most_rows: int) -> Contest:
        X, y = data(most_rows)
        model = estimator.fit(X, y)
        predictor = model.to_predictor()
        calls = {OURS: lambda: predictor.predict(X), MODEL: lambda: model.predict(X)}
        if isinstance(X, np.ndarray):
            peer = DecisionTreeClassifier(random_state=0).fit(X, y)
            calls[SKLEARN] = lambda: peer.predict(X)
        return Contest(calls=calls, check=as_model(predictor), table=X.shape)

    return make


def one_by_one(data: Callable[[int], tuple[Any, Any]], estimator: Any, form: str) -> Make:
    """Return a case of single rows as lists, dicts or arrays."""

    def make(most_rows: int) -> Contest:
        X, y = data(most_rows)
        model = estimator.fit(X, y)
        predictor = model.to_predictor()
        if isinstance(X, np.ndarray):
            tables: list[Any] = [X[[row]] for row in range(min(N_ROWS, len(X)))]
            lists = X[:N_ROWS].tolist()
            names = [f"x{j}" for j in range(X.shape[1])]
        else:
            tables = [X.iloc[[row]] for row in range(min(N_ROWS, len(X)))]
            lists = [list(row) for row in X.head(N_ROWS).itertuples(index=False, name=None)]
            names = list(X.columns)
        rows: list[Any] = {
            "list": lambda: lists,
            "dict": lambda: [dict(zip(names, row, strict=True)) for row in lists],
            "array": lambda: list(X[:N_ROWS]),
        }[form]()
        calls = {OURS: lambda: list(map(predictor.predict_one, rows)), MODEL: lambda: firsts(map(model.predict, tables))}
        if isinstance(X, np.ndarray):
            peer = DecisionTreeClassifier(random_state=0).fit(X, y)
            calls[SKLEARN] = lambda: firsts(map(peer.predict, tables))
        return Contest(calls=calls, check=as_model(predictor), table=(len(rows), X.shape[1]))

    return make


def firsts(answers: Iterable[Any]) -> list[Any]:
    return [answer[0] for answer in answers]


CASES = [
    Case("adult-list", "adult, CART, lists", one_by_one(adult, CARTClassifier(), "list")),
    Case("adult-dict", "adult, CART, dicts", one_by_one(adult, CARTClassifier(), "dict")),
    Case("adult-c45-dict", "adult, C4.5, dicts", one_by_one(adult, C45Classifier(), "dict")),
    Case("iris-array", "iris, arrays", one_by_one(iris, CARTClassifier(), "array")),
    Case("letter-list", "letter, lists", one_by_one(letter, CARTClassifier(), "list")),
    Case("letter-array", "letter, arrays", one_by_one(letter, CARTClassifier(), "array")),
    Case("adult-table", "adult, CART, a data frame", whole_table(adult, CARTClassifier())),
    Case("adult-c45-table", "adult, C4.5, a data frame", whole_table(adult, C45Classifier())),
    Case("letter-table", "letter, an array", whole_table(letter, CARTClassifier())),
]
