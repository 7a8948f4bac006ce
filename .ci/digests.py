"""Fit every estimator and print digests of documents with predictions: the same on every compiler, option and processor.

    python .ci/digests.py [most rows [words]] > here.txt

run in builds by other compilers or options gives files that do not differ.  On other processors, the second digest of each line
is the same, of numbers with 8 digits; the first, of all bits, depends on logarithms of the C library and NumPy in a few models,
which `.ci/other_processor` names.  Words choose the lines that have them.
"""

import hashlib
import json
import sys
from typing import Any

import numpy as np

import fasttree
from fasttree.estimators.common.registry import ESTIMATORS

MORE: dict[str, list[dict[str, Any]]] = {
    "CARTClassifier": [
        {"criterion": "entropy"},
        {"missing": "surrogate"},
        {"missing": "fractional"},
        {"max_bins": 16},
        {"max_leaf_nodes": 20},
        {"ccp_alpha": "cv", "random_state": 0},
        {"lookahead": 2, "max_depth": 4},
    ],
    "CARTRegressor": [{"criterion": "absolute_error"}, {"criterion": "poisson"}, {"ccp_alpha": "cv", "random_state": 0}],
    "C45Classifier": [{"subset": True}, {"soft_thresholds": True}, {"variant": "textbook"}],
    "C50Classifier": [{"trials": 5}, {"rules": True}],
}


def table(n: int, magnitude: float, numbers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of full precision, some missing, and a target that depends on them; integers alone are drawn."""
    whole = np.random.default_rng(n).integers(-(2**40), 2**40, size=(n, 6))
    X = whole / 2.0**38 * magnitude
    y = (whole[:, 0] // 2**36) * (whole[:, 1] > 0) + whole[:, 2] // 2**37
    X[whole[:, [1, 2, 3, 4, 5, 0]] % 19 == 0] = np.nan
    return X, np.abs(y) / 7.0 if numbers else np.digitize(y, [-4, 8]).astype(np.int64)


def digest(*parts: Any) -> str:
    """A short hash of texts and of arrays of numbers, whose bytes are taken in the same order everywhere."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else np.ascontiguousarray(part, dtype="<f8").tobytes())
    return found.hexdigest()[:16]


def rounded(value: Any) -> Any:
    """The numbers of a document with 8 digits."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return f"{value:.8g}" if isinstance(value, float) else value


def lines(most: int, words_of_name: str) -> Any:
    """Name what was fitted to tables of at most so many rows, and its digests, of all bits and of 8 digits."""
    for entry in ESTIMATORS:
        base: dict[str, Any] = {"n_estimators": 4, "random_state": 0} if entry.makes_forest else {}
        if entry.is_additive:
            base = {"random_state": 0}
        if "Optimal" in entry.name:
            base = {"max_depth": 2}
        for more in [{}, *MORE.get(entry.name, [])]:
            for n, magnitude in ((700, 1.0), (700, 1e300), (700, 1e-300), (40_000, 1.0)):
                slow = bool(more) or entry.makes_rules or entry.name.startswith(("Optimal", "ID3", "CHAID", "C50"))
                name = f"{entry.name} {more} {n} {magnitude}"
                if n > most or (n > 1000 and slow) or words_of_name not in name:
                    continue
                X, y = table(n, magnitude, entry.name.endswith("Regressor"))
                if "Optimal" in entry.name or "lookahead" in more:
                    X = np.nan_to_num(X)
                words: Any = X
                if entry.name == "ID3Classifier":
                    words = [[str(cell) for cell in row] for row in np.digitize(np.nan_to_num(X) / magnitude, [-2, 0, 2])]
                model = entry.load()(**base, **more)
                try:
                    model.fit(words, y)
                except (ValueError, OverflowError) as error:
                    yield f"{name}: {type(error).__name__} {digest(str(error))}"
                    continue
                document, found = model.to_json(), model.predict(words)
                few_digits = json.dumps(rounded([json.loads(document), np.asarray(found, np.float64).tolist()]))
                yield f"{name}: {digest(document, found)} {digest(few_digits)}"


if __name__ == "__main__":
    print(fasttree.__file__, file=sys.stderr)
    for line in lines(int((sys.argv[1:] or ["40000"])[0]), (sys.argv[2:] or [""])[0]):
        print(line, flush=True)
