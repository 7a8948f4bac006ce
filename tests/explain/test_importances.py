"""Importances of features by other means than the tree's own: scikit-learn's permutations on tables as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance

from fasttree import C45Classifier, CARTClassifier, CARTRegressor

N = 400


def table(seed: int = 0) -> pd.DataFrame:
    """Strings, categories and numbers, all with missing values; the last two columns say nothing of the others."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], N),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], N), categories=["S", "M", "L"], ordered=True),
            "weight": rng.normal(size=N),
            "noise": rng.normal(size=N),
            "letter": rng.choice(list("abc"), N),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1)


def target(frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    return 2.0 * (frame["colour"] == "red") + (frame["weight"] > 0.3) + 0.5 * (frame["size"] == "S")


MODELS = [
    C45Classifier(),
    CARTClassifier(min_samples_leaf=10),
    CARTClassifier(missing="surrogate", min_samples_leaf=10),
    CARTClassifier(missing="fractional", min_samples_leaf=10),
    CARTRegressor(missing="branch", min_samples_leaf=10),
]


@pytest.mark.parametrize("as_given", [lambda frame: frame, lambda frame: frame.to_numpy(object)], ids=["pandas", "objects"])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_permutations_find_what_matters_in_tables_with_strings_and_missing_values(model: Any, as_given: Any) -> None:
    frame = table()
    y = target(frame)
    y = y.to_numpy() if isinstance(model, CARTRegressor) else np.where(y >= 2, "many", "few")
    X = as_given(frame)
    found = permutation_importance(model.fit(X, y), X, y, n_repeats=5, random_state=0).importances_mean
    assert found.argmax() == 0
    assert abs(found[3:]).max() < 0.2 * found[0]


def test_permutations_and_shap_values_agree_on_the_first_features_of_a_real_table() -> None:
    X = pd.read_csv(Path(__file__).parents[2] / "examples" / "adult.csv.gz", nrows=3000)
    y = X.pop("income")
    model = CARTClassifier(max_leaf_nodes=20).fit(X, y)
    permuted = permutation_importance(model, X, y, n_repeats=3, random_state=0).importances_mean
    explained = model.shap_values(X).importances()
    assert set(np.argsort(-permuted)[:2]) == set(np.argsort(-explained)[:2])
    assert not permuted[explained == 0].any()
