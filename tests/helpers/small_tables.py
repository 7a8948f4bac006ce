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


def light_branches(seed: int) -> pd.DataFrame:
    """Two columns of numbers, three of up to ten categories, some cells missing, and a class that nothing tells."""
    random = np.random.default_rng(seed)
    n = int(random.integers(40, 120))
    frame = pd.DataFrame({f"n{j}": random.integers(0, 6, n).astype(float) for j in range(2)})
    for j in range(3):
        values = list("qrstuvwxyz")[: random.integers(2, 11)]
        frame[f"c{j}"] = pd.Categorical(random.choice(values, n), categories=values)
    frame = frame.mask(random.random(frame.shape) < (0, 0.1, 0.3)[seed % 3])
    classes = list("pqr")[: 2 + seed % 2]
    frame["class"] = pd.Categorical(random.choice(classes, n), categories=classes)
    return frame


def raised_categories(seed: int) -> pd.DataFrame:
    """Four columns of three categories, some cells missing, and a class that three tell together, now and then wrongly."""
    random = np.random.default_rng(seed)
    n = int(random.integers(60, 200))
    frame = pd.DataFrame({f"c{j}": pd.Categorical(random.choice(list("uvw"), n), categories=list("uvw")) for j in range(4)})
    y = (frame["c0"] == "u") ^ ((frame["c1"] == "v") & (frame["c2"] == "w"))
    frame = frame.mask(random.random(frame.shape) < 0.1)
    frame["class"] = pd.Categorical(np.where(random.random(n) < 0.15, ~y, y))
    return frame
