"""
A greedy tree and the best tree of its depth
============================================

A greedy tree chooses its first test by what that test alone gains. On a chessboard no first test gains much, and chance decides.
`OptimalTreeClassifier` searches all trees of the depth, and proves that none makes fewer errors on these samples.
"""

import numpy as np
from matplotlib import pyplot

from fasttree import CARTClassifier, OptimalTreeClassifier

random = np.random.default_rng(0)
points = random.uniform(0, 8, (300, 2))
is_dark = ((points > [4, 4]).sum(axis=1) == 1) ^ (random.random(300) < 0.08)
colours = np.where(is_dark, "dark", "light")

figure, axes = pyplot.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
for ax, model in zip(axes, (CARTClassifier(max_depth=2), OptimalTreeClassifier(max_depth=2)), strict=True):
    model.fit(points, colours)
    model.plot_regions(points, colours, [0, 1], ax=ax)
    n_errors = np.count_nonzero(model.predict(points) != colours)
    ax.set(title=f"{type(model).__name__}: {n_errors} errors", xlabel="x", ylabel="y")
axes[0].get_legend().remove()
pyplot.show()

# %%
# The text of the tree says that it is optimal.

print(model.export_text())
