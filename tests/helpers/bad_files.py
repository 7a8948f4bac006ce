"""Model files that went bad: fitted models of every kind, mutations of what they save, and what must hold of one that loads."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pandas as pd

from fasttree import (
    C45Classifier,
    C45Rules,
    CARTClassifier,
    CARTRegressor,
    ID3Classifier,
    M5Regressor,
    TreeClassifier,
    TreeRegressor,
)
from fasttree.estimators.common.documents import from_document

N_SAMPLES = 60
SIZES = ["small", "medium", "large"]


def table(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Two continuous features, an ordinal one, two nominal ones, of text and of integers, with gaps; and four classes."""
    random = np.random.default_rng(seed)
    age, pay = random.integers(20, 60, N_SAMPLES) / 2, random.normal(size=N_SAMPLES)
    size, city, room = (random.integers(0, n, N_SAMPLES) for n in (3, 4, 3))
    y = 1 * (age > 20) + (size == 1) * (pay > 0) + (city == 2)
    names = {"size": np.array(SIZES, object)[size], "city": np.array(["Aachen", "Bonn", "Köln", "Ulm"], object)[city]}
    X = pd.DataFrame({"age": age, "pay": pay, **names, "room": room.astype(object)})
    return X.mask(random.random(X.shape) < 0.1), y


def models() -> dict[str, Any]:
    """A fitted model of every kind that a file can hold, so small that a mutation hits something that counts."""
    X, y = table()
    text = np.array(["no", "perhaps", "well", "yes"])[y]
    number = y + X["pay"].fillna(0.0).to_numpy()
    known = X[["age", "pay"]].fillna(0.0)
    names = X[["size", "city"]].fillna({"size": "small", "city": "Ulm"})
    small: dict[str, Any] = {"ordinal_features": {"size": SIZES}, "categorical_features": ["room"], "max_depth": 3}
    intervals = {"continuous": "intervals", "ordinal": "intervals", "missing": "fractional"}
    return {
        "id3": ID3Classifier(ordinal_features={"size": SIZES}).fit(names, text),
        "c45": C45Classifier(**small).fit(X, text),
        "soft c45": C45Classifier(**small, soft_thresholds=True).fit(X, text),
        "c45rules": C45Rules(**small).fit(X, text),
        "cart": CARTClassifier(**small).fit(X, y > 0),
        "cart with a branch for missing values": CARTClassifier(**small, missing="branch").fit(X, y),
        "cart with surrogates": CARTClassifier(**small, missing="surrogate").fit(X, text),
        "cart with costs": CARTClassifier(**small, loss_matrix={"no": {"yes": 2.0}, "yes": {"no": 5.5}}).fit(X, text),
        "intervals": TreeClassifier(recipe=intervals, **small).fit(X, text),
        "regression": CARTRegressor(**small).fit(X, number),
        "models in leaves": M5Regressor(**small, indicators=True, pruning_factor=None).fit(X, number),
        "models of two targets": M5Regressor(max_depth=2).fit(X[["age", "pay", "size"]], np.column_stack([number, -number])),
        "regression that shares": TreeRegressor(recipe={"missing": "fractional"}, **small).fit(X, number),
        "two targets": CARTClassifier(max_depth=3).fit(known, np.column_stack([y > 0, y > 1])),
        "two numbers": CARTRegressor(max_depth=2).fit(known, np.column_stack([number, -number])),
    }  # fmt: skip


# Mutations

HUGE = 10**400
NUMBERS = (0, 1, -1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**64, HUGE, 0.5, -0.0, 1e-320)
EXTREMES = (1e308, -1e308, 1.7976931348623157e308, 5e-324, 1e16, float("inf"), float("-inf"), float("nan"))
WORDS = ("", "stop", "shares", "child", "as_missing", "nominal", "category", "known", "threshold", "intervals", "int", "float")
MORE_WORDS = ("bool", "str", "object", "int8", "uint64", "float16", "continuous", "ordinal", "regression", "classification")
ODD_WORDS = ("\ud800", "\x00", "\x1b[31m", "age", "9" * 25, "1.3", "2.0", "c45", "cart", "x" * 1000)
HOLDERS = ([], {}, [[]], [{}], [1.5], [0, 0], {"to": "stop"}, {"to": "shares"}, {"items": []}, {"items": [[0, 1]]}, {"a": [{}]})
HOSTILE: tuple[Any, ...] = (None, True, False, *NUMBERS, *EXTREMES, *WORDS, *MORE_WORDS, *ODD_WORDS, *HOLDERS)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry of a document: the list or dict that holds it, and its place there."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        for key in holder if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], (dict, list)):
                waiting.append(holder[key])


def mutated(document: dict[str, Any], random: Random) -> dict[str, Any]:
    """A copy with one to three entries replaced, changed a little, deleted, repeated or exchanged."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 2, 3))):
        by_holder: dict[int, list[tuple[Any, Any]]] = {}
        for holder, key in places(document):  # each list is as likely as each other, however long
            by_holder.setdefault(id(holder), []).append((holder, key))
        if not by_holder:
            return document
        entries = random.choice(list(by_holder.values()))
        holder, key = random.choice(entries)
        value = holder[key]
        action = random.choice(("replace", "nudge", "nudge", "delete", "repeat", "swap", "nest", "column"))
        if action == "nudge" and type(value) in (int, float) and value != HUGE:
            holder[key] = random.choice((value + 1, value - 1, -value, value * 2, value / 3, float(value), 1e308 * value))
        elif action == "nudge" and isinstance(value, str):
            holder[key] = random.choice((value + "x", value[1:], value.upper(), random.choice(WORDS)))
        elif action == "delete":
            del holder[key]
        elif action == "repeat" and isinstance(holder, list):
            holder[key:key] = [copy.deepcopy(value)] * random.choice((1, 2, 50))
        elif action == "swap":
            other = random.choice(entries)[1]
            holder[key], holder[other] = holder[other], holder[key]
        elif action == "nest":
            holder[key] = [value]
        elif action == "column" and isinstance(holder, list):
            odd = random.choice(HOSTILE)
            holder[:] = [copy.deepcopy(odd) for _ in holder]
        else:
            holder[key] = copy.deepcopy(random.choice(HOSTILE))
    return document


PIECES = (
    b"",
    b"9",
    b"-",
    b"e999",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b"NaN",
    b"\x00",
    b"\xff",
    b"\\ud800",
    b"\xef\xbb\xbf",
)


def damaged(data: bytes, random: Random) -> bytes:
    """A copy with bytes changed, lost, put in, doubled, or cut off."""
    for _ in range(random.choice((1, 1, 1, 2, 5))):
        start = random.randrange(len(data) + 1)
        stop = min(len(data), start + random.choice((0, 1, 1, 2, 8, 100)))
        action = random.choice(("flip", "flip", "cut", "splice", "insert", "copy"))
        if action == "flip" and start < len(data):
            changed = bytes([data[start] ^ 1 << random.randrange(8)])
            data = data[:start] + changed + data[start + 1 :]
        elif action == "cut":
            data = data[:start]
        elif action == "splice":
            data = data[:start] + data[stop:]
        elif action == "copy":
            data = data[:stop] + data[start:]
        else:
            data = data[:start] + random.choice(PIECES) + data[stop:]
    return data


# What must hold of what loads


UNSEEN = {str: "unseen", int: 12345, float: 0.123, bool: True}


def rows_for(model: Any, random: Random, n_rows: int = 8) -> pd.DataFrame:
    """Rows of usual, extreme, unseen and missing values, as far as the model takes them."""
    strict = model.unseen == "error" or (hasattr(model, "recipe_") and model.recipe_.missing == "error")
    columns = {}
    for feature in model.schema_.features:
        if feature.categories is None:
            values = [-1e308, -0.0, 0.5, 3.0, 22.5, 1e308, *([] if strict else [np.nan])]
            columns[feature.name] = np.array([random.choice(values) for _ in range(n_rows)])
        else:
            unseen = [UNSEEN[type(label)] for label in feature.categories[:1]]
            labels = [*feature.categories, *([] if strict and feature.categories else [*unseen, None])]
            columns[feature.name] = np.array([random.choice(labels) for _ in range(n_rows)] + [None], object)[:-1]
    return pd.DataFrame(columns, index=range(n_rows))


def use(model: Any, random: Random) -> None:
    """Ask a model that was loaded for all that it can do; what it answers must be finite, and be saved as it was read."""

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="X has feature names")
        warnings.filterwarnings("ignore", category=pd.errors.PerformanceWarning)
        X = rows_for(model, random)
        answers = model.predict(X)
        assert len(answers) == len(X)
        text = model.export_text()
        assert isinstance(text, str)
        if hasattr(model, "tree_"):
            model.tree_.check()
            model.apply(X)
            model.decision_path(X)
            model.to_rules()
            model.explain(X[:1])
            assert np.isfinite(model.feature_importances_).all()
        if hasattr(model, "predict_proba"):
            parts = model.predict_proba(X)
            for part in parts if isinstance(parts, list) else [parts]:
                assert ((part >= 0) & (part <= 1 + 1e-9)).all(), "a probability is not one"
                assert np.abs(part.sum(axis=1) - 1).max() < 1e-9, "probabilities do not sum to 1"
        else:
            assert np.isfinite(answers).all()
        again = from_document(json.loads(json.dumps(model._to_document())))
        assert again._to_document() == model._to_document()
        if hasattr(model, "tree_"):
            assert again.tree_ == model.tree_
