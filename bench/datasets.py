"""Real tables: those in the sources, and those in the folder FASTTREE_SHARED."""

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from .cases import Skipped

EXAMPLES = Path(__file__).parent.parent / "examples"


def shared_folder() -> Path:
    folder = os.environ.get("FASTTREE_SHARED", "")
    if not Path(folder, "data").is_dir():
        raise Skipped("needs FASTTREE_SHARED, the folder that holds data/ and reference/")
    return Path(folder)


def read_shared(name: str, most_rows: int | None = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return a data set without its last column, and that column."""
    return read(shared_folder() / "data" / f"{name}.csv.gz", most_rows)


def read_example(name: str, most_rows: int | None = None) -> tuple[pd.DataFrame, pd.Series]:
    return read(EXAMPLES / f"{name}.csv.gz", most_rows)


@lru_cache(maxsize=4)
def read(path: Path, most_rows: int | None) -> tuple[pd.DataFrame, pd.Series]:
    # only empty cells are missing in these files
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], nrows=most_rows)
    return frame.iloc[:, :-1], frame.iloc[:, -1]


def as_codes(column: pd.Series) -> NDArray[Any]:
    """Return numbers unchanged, strings as codes, missing strings as -1."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy()
    return column.astype("category").cat.codes.to_numpy()


def matrix(frame: pd.DataFrame, dtype: type = np.float32) -> NDArray[Any]:
    return np.column_stack([as_codes(frame[name]) for name in frame]).astype(dtype)


def one_hot(frame: pd.DataFrame, estimator: Any) -> Any:
    """Return a pipeline for scikit-learn's trees: strings become a dense float32 table, which they take without a copy."""
    strings = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
    return make_pipeline(make_column_transformer((encoder, strings), remainder="passthrough"), estimator)


@lru_cache(maxsize=1)
def c45_results() -> dict[str, Any]:
    """Return recorded results and times of Quinlan's program."""
    return dict(json.loads((shared_folder() / "reference" / "c45_results.json").read_text()))


@lru_cache(maxsize=1)
def c50_results() -> dict[str, Any]:
    """Return recorded results and times of C5.0."""
    return dict(json.loads((shared_folder() / "reference" / "c50_results.json").read_text()))


def declare(frame: pd.DataFrame, attributes: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the table with categories as the reference declares them, and numbers as floats."""

    def column(name: str, attribute: dict[str, Any]) -> Any:
        if attribute["type"] == "continuous":
            return frame[name].astype(np.float64)
        cells = frame[name]
        return pd.Categorical(cells.where(cells.isna(), cells.astype(str)), categories=attribute["values"])

    named = zip(frame.columns, attributes, strict=True)
    return pd.DataFrame({name: column(name, attribute) for name, attribute in named}, index=frame.index)
