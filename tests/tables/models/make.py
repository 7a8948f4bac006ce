"""Fit a model of every kind that the installed fasttree knows, save it, and note what it answers: `python make.py FOLDER`.

Run it with the version whose files are to be kept, an old one from a checkout of it; kinds that it does not know are left out.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import fasttree

SIZES = ["small", "medium", "large"]
SMALL = {"ordinal_features": {"size": SIZES}, "categorical_features": ["room"], "max_depth": 3}
INTERVALS = {"continuous": "intervals", "ordinal": "intervals", "missing": "fractional"}
KINDS = {
    "id3": ("ID3Classifier", {"ordinal_features": {"size": SIZES}}, "names", "text"),
    "c45": ("C45Classifier", SMALL, "table", "text"),
    "c45-textbook": ("C45Classifier", {**SMALL, "variant": "textbook"}, "table", "text"),
    "c45-soft": ("C45Classifier", {**SMALL, "soft_thresholds": True}, "table", "text"),
    "c45-groups": ("C45Classifier", {**SMALL, "subset": True}, "table", "flags"),
    "c45rules": ("C45Rules", SMALL, "table", "text"),
    "cart": ("CARTClassifier", SMALL, "table", "integers"),
    "cart-pruned": ("CARTClassifier", {**SMALL, "ccp_alpha": 0.02}, "table", "text"),
    "cart-costs": ("CARTClassifier", {**SMALL, "loss_matrix": {"no": {"well": 2.0}, "well": {"no": 5.5}}}, "table", "text"),
    "cart-surrogates": ("CARTClassifier", {**SMALL, "missing": "surrogate"}, "table", "flags"),
    "cart-branch": ("CARTClassifier", {**SMALL, "missing": "branch"}, "table", "text"),
    "cart-two-targets": ("CARTClassifier", SMALL, "table", "pairs"),
    "regression": ("CARTRegressor", SMALL, "table", "numbers"),
    "regression-two-targets": ("CARTRegressor", {"max_depth": 3}, "bare", "two numbers"),
    "m5": ("M5Regressor", {**SMALL, "pruning_factor": None}, "table", "numbers"),
    "chaid": ("CHAIDClassifier", {**SMALL, "alpha_split": 0.5, "min_samples_split": 4}, "table", "text"),
    "intervals": ("TreeClassifier", {**SMALL, "recipe": INTERVALS}, "table", "text"),
}


def rows(n_rows=50, seed=0):
    """Two continuous features, an ordinal one, two nominal ones, of text and of integers, with gaps; and classes 0 to 3."""
    random = np.random.default_rng(seed)
    age, pay = random.integers(20, 60, n_rows) / 2, random.normal(size=n_rows)
    size, city, room = (random.integers(0, n, n_rows) for n in (3, 4, 3))
    y = 1 * (age > 20) + (size == 1) * (pay > 0) + (city == 2)
    names = {"size": np.array(SIZES, object)[size], "city": np.array(["Aachen", "Bonn", "Köln", "Ulm"], object)[city]}
    X = pd.DataFrame({"age": age, "pay": pay, **names, "room": room.astype(object)})
    return X.mask(random.random(X.shape) < 0.1), y


def main(folder):
    X, y = rows()
    full = X.fillna({"age": 20.0, "pay": 0.0, "size": "small", "city": "Ulm"})
    tables = {"table": X, "names": full[["size", "city"]], "bare": full[["age", "pay"]].to_numpy()}
    numbers = y + full["pay"].to_numpy()
    targets = {
        "text": np.array(["no", "perhaps", "well", "yes"])[y],
        "integers": y,
        "flags": y > 1,
        "numbers": numbers,
        "pairs": np.column_stack([y, y > 0]),
        "two numbers": np.column_stack([numbers, -numbers]),
    }
    folder.mkdir()
    answers = {}
    for name, (algorithm, parameters, table, target) in KINDS.items():
        try:
            model = getattr(fasttree, algorithm)(**parameters).fit(tables[table], targets[target])
        except (AttributeError, TypeError, ValueError) as error:
            print(f"{name}: not known: {error}")
            continue
        file = f"{name}.json.gz" if name == "c45" else f"{name}.json"
        model.save(folder / file)
        found = {"predict": model.predict(tables[table]).tolist()}
        if hasattr(model, "predict_proba"):
            parts = model.predict_proba(tables[table])
            found["predict_proba"] = [part.tolist() for part in parts] if isinstance(parts, list) else parts.tolist()
        answers[file] = {"table": table, **found}
    lines = ",\n".join(f" {json.dumps(file)}: {json.dumps(found)}" for file, found in answers.items())
    (folder / "answers.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    columns = {name: cells.tolist() for name, cells in tables.items() if name == "bare"}
    for name in ("table", "names"):
        columns[name] = {key: [None if pd.isna(cell) else cell for cell in column] for key, column in tables[name].items()}
    (folder.parent / "rows.json").write_text(json.dumps(columns, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
