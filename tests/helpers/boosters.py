"""Boosted trees for the tests of exports."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd

from fasttree import C50Classifier


@functools.cache
def boosters() -> dict[str, tuple[C50Classifier, pd.DataFrame]]:
    """Boosted models by what is special, each with rows to predict."""
    draw = np.random.default_rng(7)
    n = 300
    X = pd.DataFrame(draw.normal(size=(n, 3)).round(1), columns=list("abc"))
    X["d"] = pd.Categorical(draw.choice(list("uvwxyz"), n))
    y = np.where((X["a"] + X["b"] > 0) ^ X["d"].isin(["u", "w"]), "yes", "no")
    y = np.where(draw.random(n) < 0.1, "other", y)
    holes = X.mask(draw.random(X.shape) < 0.05)
    many = np.digitize(X["a"] + X["b"] + 0.3 * draw.normal(size=n), np.linspace(-2, 2, 11))  # NumPy adds 12 numbers in pairs
    ties = pd.DataFrame({"a": [0.0, 0, 0, 1, 1, 1, 2, 2]})
    models = {
        "holes": (C50Classifier(trials=6).fit(holes, y), holes),
        "complete": (C50Classifier(trials=5, subset=True).fit(X, y), X),
        "many classes": (C50Classifier(trials=7).fit(X[["a", "b"]], many), X[["a", "b"]]),
        "ties": (C50Classifier(trials=4, early_stopping=False).fit(ties, [1, 1, 0, 0, 0, 1, 1, 0]), ties),
    }
    assert all(model.n_trials_ > 1 for name, (model, _) in models.items() if name != "ties")
    return models


@functools.cache
def rule_sets() -> dict[str, tuple[C50Classifier, pd.DataFrame]]:
    """Rules that vote, by what is special, each with rows to predict."""
    models = {}
    for name, (model, X) in boosters().items():
        y = model.predict(X)
        if name != "ties":
            models[name] = C50Classifier(rules=True, subset=name == "complete").fit(X, y), X
        models[f"{name}, trials"] = C50Classifier(rules=True, trials=4, early_stopping=False).fit(X, y), X
    _, X = boosters()["complete"]
    models["sparse"] = (
        C50Classifier(rules=True, confidence=0.01).fit(X, np.where(X["a"] > 1.5, "few", np.where(X["d"] == "u", "u", "v"))),
        X,
    )
    return models
