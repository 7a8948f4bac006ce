"""Models as JSON: files of every version load and answer as then, documents are as the schema says, text and files agree."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fasttree

MODELS = Path(__file__).parent / "data" / "models"
KEPT = sorted(path for path in MODELS.glob("*/*.json*") if path.name != "answers.json")


# Files of earlier versions


def rows_of(table):
    given = json.loads((MODELS / "rows.json").read_text(encoding="utf-8"))[table]
    if table == "bare":
        return np.array(given)
    columns = {name: np.array(cells, float if name in ("age", "pay") else object) for name, cells in given.items()}
    return pd.DataFrame(columns)


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_file_of_an_earlier_version_answers_as_then(path):
    answers = json.loads((path.parent / "answers.json").read_text(encoding="utf-8"))[path.name]
    model = fasttree.load(path)
    X = rows_of(answers["table"])
    assert model.predict(X).tolist() == answers["predict"]
    if "predict_proba" in answers:
        last_digit = 4e-16 if path.parent.name == "1.0" else 0.0  # parts of samples were added in another order then
        for now, then in zip(model.predict_proba(X), answers["predict_proba"], strict=True):
            np.testing.assert_allclose(now, then, rtol=last_digit, atol=0.0)
