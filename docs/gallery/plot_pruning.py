"""
Overfitting: the pruning path and its cross-validation
======================================================

Cost-complexity pruning gives a sequence of nested subtrees, one for every price per leaf. The training error only increases
when leaves are removed. The test error first decreases, then increases: the full tree is overfitted.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot

from fasttree import CARTClassifier
from fasttree.pruning import CostComplexity

adult, test = (pd.read_csv(f"../../examples/{name}.csv.gz") for name in ("adult", "adult.test"))
adult = adult.sample(6000, random_state=0)
X, y = adult.drop(columns="income"), adult["income"]

model = CARTClassifier(pruning=CostComplexity(alpha="cv", selection="1se"), random_state=0).fit(X, y)
whole = CARTClassifier().fit(X, y)

# %%
# The sequence on three sets: the training samples, the ten folds, and 16,281 test samples.

table = model.pruning_table_
shown = np.unique(np.geomspace(1, table.n_leaves.size, 45).astype(int)) - 1
subtrees = [whole.prune(CostComplexity(alpha=alpha)) for alpha in np.sort(table.ccp_alphas)[::-1][shown]]
leaves = [subtree.get_n_leaves() for subtree in subtrees]
errors = {
    "6,000 samples that grew it": [100 * (1 - subtree.score(X, y)) for subtree in subtrees],
    "16,281 others": [100 * (1 - subtree.score(test[X.columns], test["income"])) for subtree in subtrees],
}

figure, ax = pyplot.subplots(figsize=(8.5, 4.4), layout="constrained")
for colour, (name, values) in zip(("C1", "C0"), errors.items(), strict=True):
    ax.plot(leaves, values, color=colour, marker="o", markersize=3.5, label=name)
ax.axvline(model.get_n_leaves(), color="0.45", linestyle="--", linewidth=1)
ax.annotate(f" chosen by the folds:\n {model.get_n_leaves()} leaves", (model.get_n_leaves(), 1), color="0.3")
ax.set(xscale="log", xlabel="leaves", ylabel="errors, %", ylim=(0, None))
ax.set_xticks([1, 3, 10, 30, 100, 300, 1000], [1, 3, 10, 30, 100, 300, "1,000"])
ax.legend(loc="upper right")

# %%
# The cross-validation results. A dot is a subtree with the standard error of its estimate. ``selection="1se"`` selects the
# smallest subtree below the dashed line, which is one standard error above the best.

model.plot_pruning_table()
pyplot.show()
