"""
Greedy, lookahead and the best tree on one plane
================================================

A greedy tree chooses its first test by what that test alone gains. On a board of six fields no first test gains much, and
chance decides.
A tree that looks ahead chooses each test as the root of the best tree of two levels, and comes close to the best tree.
`OptimalTreeClassifier` searches all trees of the depth, and proves that none makes fewer errors on these samples.
"""

import numpy as np
from matplotlib import pyplot

from fasttree import CARTClassifier, OptimalTreeClassifier

random = np.random.default_rng(0)
points = random.uniform(0, 8, (300, 2))
is_dark = ((points > [3, 5]).sum(axis=1) == 1) ^ (points[:, 0] > 6) ^ (random.random(300) < 0.08)
colours = np.where(is_dark, "dark", "light")

figure, axes = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")
models = {
    "greedy": CARTClassifier(max_depth=3),
    "lookahead": CARTClassifier(max_depth=3, lookahead=2),
    "optimal": OptimalTreeClassifier(max_depth=3),
}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(points, colours)
    model.plot_regions(points, colours, [0, 1], ax=ax)
    n_errors = np.count_nonzero(model.predict(points) != colours)
    ax.set(title=f"{name}: {n_errors} errors", xlabel="x", ylabel="y")
for ax in axes[:2]:
    ax.get_legend().remove()
pyplot.show()

# %%
# The text of the tree says that it is optimal.

print(model.export_text())
