"""
Missing values, five ways
=========================

Nothing needs to be filled in. What a test does with a sample whose value is missing is a choice. Here values are taken
away at random, and then those that say something by being missing, and each way is judged on samples that lack as many.
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
    "direction": "to the side that gained most",
    "surrogate": "as other features say",
    "fractional": "to both, in parts",
    "majority": "to the heavier side",
    "branch": "to a branch of its own",
}


def without(table, share, secret, seed):
    """A share of the cells taken away: at random, or twice as often from those who earn more."""
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
    ax.set(xlabel="share of cells without a value", title="missing says something" if secret else "missing at random")
    ax.set_xticks(shares, [f"{share:.0%}" for share in shares])
axes[0].set_ylabel("errors on 16,281 others, %")
axes[0].legend(loc="upper left", fontsize="small")
pyplot.show()

# %%
# At random: parts of samples are the most careful way, as nothing is guessed. Where a missing value tells about the
# class, a direction that is learned, or a branch of its own, uses that; the others cannot.
