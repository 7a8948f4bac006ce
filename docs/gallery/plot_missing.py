"""
Missing values: five methods without imputation
===============================================

No imputation is needed: each method decides where a sample goes if its tested value is missing. Here values are removed at
random, and then in a way that depends on the class; every method is tested on samples with as many missing values.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot

from fasttree import CARTClassifier

adult, test = (pd.read_csv(f"../../examples/{name}.csv.gz") for name in ("adult", "adult.test"))
adult = adult.sample(8000, random_state=0)
numbers = ["age", "education-num", "capital-gain", "hours-per-week"]
columns = [*numbers, "marital-status", "occupation"]
ways = {
    "direction": "the side with the larger gain",
    "surrogate": "by tests of other features",
    "fractional": "both sides, by shares",
    "majority": "the heavier side",
    "branch": "a separate branch",
}


def without(table, share, secret, seed):
    """Remove a share of the cells: at random, or more often for people who earn more."""
    random = np.random.default_rng(seed)
    rich = (table["income"] == ">50K").to_numpy()[:, None]
    chance = np.where(rich, 2 * share, share * 0.68) if secret else share
    return table[columns].mask(random.random((len(table), len(columns))) < chance)


shares = [0.0, 0.1, 0.2, 0.3]
figure, axes = pyplot.subplots(1, 2, figsize=(9.8, 4.3), sharey=True, layout="constrained")
for ax, secret in zip(axes, (False, True), strict=True):
    for number, way in enumerate(ways):
        model = CARTClassifier(missing=way, max_leaf_nodes=60)
        errors = []
        for share in shares:
            model.fit(without(adult, share, secret, seed=1), adult["income"])
            errors.append(100 * (1 - model.score(without(test, share, secret, seed=2), test["income"])))
        ax.plot(shares, errors, marker="os^Dv"[number], markersize=5, label=f'"{way}": {ways[way]}')
    ax.set(xlabel="share of cells without a value", title="informative" if secret else "missing at random")
    ax.set_xticks(shares, [f"{share:.0%}" for share in shares])
axes[0].set_ylabel("test error, %")
axes[0].legend(loc="upper left", fontsize="small")
pyplot.show()

# %%
# At random, fractional weights are the most accurate method, because they do not guess. If a missing value says something about
# the class, a learned direction or a separate branch can use this; the other methods cannot.
