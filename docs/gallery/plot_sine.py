"""
Underfitting and overfitting: a sine curve by depth
===================================================

A regression tree predicts a step function: the mean of the samples in each leaf. Every level may double the number of steps.
Few steps underfit the curve; many overfit the noise.
"""

import numpy as np
from matplotlib import pyplot

from fasttree import CARTRegressor

random = np.random.default_rng(4)
x = np.sort(random.uniform(0, 2 * np.pi, 120))
y = np.sin(x) + random.normal(0, 0.2, x.size)
line = np.linspace(0, 2 * np.pi, 1000)

figure, axes = pyplot.subplots(2, 2, figsize=(9, 5.6), sharex=True, sharey=True, layout="constrained")
for ax, depth in zip(axes.flat, (1, 2, 4, None), strict=True):
    model = CARTRegressor(max_depth=depth).fit(x[:, None], y)
    ax.scatter(x, y, s=10, color="0.72", linewidths=0)
    ax.plot(line, np.sin(line), color="0.35", linewidth=1, linestyle="--")
    ax.step(line, model.predict(line[:, None]), color="C0", linewidth=1.8)
    leaves = model.get_n_leaves()
    error = np.sqrt(np.mean((model.predict(line[:, None]) - np.sin(line)) ** 2))
    ax.set_title(f"{'no limit' if depth is None else f'depth {depth}'}: {leaves} leaves, error {error:.2f}")
figure.supxlabel("x")
figure.supylabel("y")

# %%
# The dashed curve is the truth, the error is the root mean square distance to the steps. Depth 4 is near the best here.
# Pruning finds it without knowing the truth: it reduces the full tree to the size that predicts best in cross-validation.

pruned = CARTRegressor(ccp_alpha="cv", random_state=0).fit(x[:, None], y)
error = np.sqrt(np.mean((pruned.predict(line[:, None]) - np.sin(line)) ** 2))
print(f"{pruned.get_n_leaves()} leaves, error {error:.2f}")
