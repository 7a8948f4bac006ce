"""Small tables for searches that a slow twin can repeat."""

import numpy as np
import pandas as pd


def table_of(random, n_rows, n_columns, n_codes, *, missing, nominal):
    """Return a table with ties and constants, and its columns as the twins take them; sizes are below the given ones."""
    n = int(random.integers(2, n_rows))
    frame, columns = {}, []
    for j in range(int(random.integers(1, n_columns))):
        codes = random.integers(1, 2 + int(random.integers(0, n_codes)), n)
        if missing and random.random() < 0.6:
            codes[random.random(n) < 0.3] = 0
        if not codes.any():
            codes[0] = 1
        is_nominal = nominal and random.random() < 0.6
        words = [None if code == 0 else f"c{code}" for code in codes]
        frame[f"x{j}"] = words if is_nominal else np.where(codes == 0, np.nan, codes**2 / 7)
        columns.append((codes.tolist(), is_nominal))
    return pd.DataFrame(frame), columns
