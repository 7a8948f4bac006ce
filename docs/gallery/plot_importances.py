"""
Feature importances: impurity, surrogates, permutation
======================================================

*Impurity*: the gains of a feature's tests on the training data. *With surrogates*: a feature also gets credit for tests
that it could replace. *Permutation*: the decrease of the accuracy on test data if the column of the feature is shuffled.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot
from sklearn.inspection import permutation_importance

from fasttree import CARTClassifier

adult, test = (pd.read_csv(f"../../examples/{name}.csv.gz") for name in ("adult", "adult.test"))
X, y = adult.drop(columns="income"), adult["income"]
test = test.sample(4000, random_state=0)

model = CARTClassifier(max_leaf_nodes=40, missing="surrogate").fit(X, y)
shuffled = permutation_importance(model, test[X.columns], test["income"], n_repeats=5, random_state=0)
answers = pd.DataFrame(
    {
        "impurity": model.feature_importances_,
        "impurity with surrogates": model.surrogate_importances(),
        "permutation, on other samples": np.maximum(shuffled.importances_mean, 0),
    },
    index=X.columns,
)
answers /= answers.sum()
answers = answers.loc[answers.max(axis=1).sort_values().index[-9:]]

figure, axes = pyplot.subplots(1, 3, figsize=(10, 4), sharey=True, sharex=True, layout="constrained")
for number, (ax, name) in enumerate(zip(axes, answers, strict=True)):
    bars = ax.barh(answers.index, answers[name], color=f"C{number}")
    ax.bar_label(bars, labels=[f"{value:.0%}" if value >= 0.005 else "" for value in answers[name]], padding=3, fontsize=8.5)
    ax.set_title(name)
    ax.set_xticks([])
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(axis="y", length=0)
axes[0].set_xlim(0, 1.15 * answers.to_numpy().max())
pyplot.show()

# %%
# Marital status and relationship contain nearly the same information. The tree tests one of them, and impurity and
# permutation importance see only that one. Surrogates show both. None of the three shows what *causes* an income.
