"""
Gini, entropy and misclassification error
=========================================

Three measures of the impurity of a node with two classes. All are 0 for a pure node and largest if both classes are
equally frequent. Gini and entropy are curved: they reward a split that makes one side purer even if the predictions do
not change. The misclassification error does not.
"""

import numpy as np
from matplotlib import pyplot

from fasttree import measures

share = np.linspace(0, 1, 201)
counts = np.column_stack([share, 1 - share])
curves = {
    "entropy, bits": [measures.entropy(row) for row in counts],
    "Gini": [measures.gini(row) for row in counts],
    "error": [measures.classification_error(row) for row in counts],
}

figure, (ax, parts) = pyplot.subplots(1, 2, figsize=(9.5, 4), layout="constrained", width_ratios=[1.25, 1])
for values in curves.values():
    ax.plot(share, values)
ax.plot(share, np.array(curves["entropy, bits"]) / 2, color="C0", linestyle=":")
for text, place, colour in (
    ("entropy, bits", (0.16, 0.72), "C0"),
    ("half of it", (0.11, 0.37), "C0"),
    ("Gini", (0.585, 0.5), "C1"),
    ("error", (0.64, 0.29), "C2"),
):
    ax.annotate(text, place, color=colour, ha="right" if place[0] < 0.5 else "left")
ax.set(xlabel="share of the first class", ylabel="impurity", xlim=(0, 1), ylim=(0, 1.02), title="Impurity of a node")

splits = {"A: 300/100, 100/300": [[300, 100], [100, 300]], "B: 200/400, 200/0": [[200, 400], [200, 0]]}
names = {"entropy": "entropy", "gini": "Gini", "misclassification": "error"}
for number, impurity in enumerate(names):
    for shift, split in zip((-0.19, 0.19), splits.values(), strict=True):
        gain = measures.gain(split, impurity=impurity)
        parts.bar(number + shift, gain, 0.34, color=f"C{number}", alpha=1 if shift > 0 else 0.45)
        parts.annotate(f"{gain:.3f}", (number + shift, gain), (0, 3), textcoords="offset points", ha="center", fontsize=8.5)
        parts.annotate("A" if shift < 0 else "B", (number + shift, 0.008), ha="center", color="white", fontweight="bold")
parts.set_xticks(range(3), names.values())
parts.set(ylabel="gain", title="Gain of two splits", ylim=(0, 0.36))
pyplot.show()

# %%
# The right panel shows the consequence for a split: of 400 and 400 samples, A makes sides of (300, 100) and (100, 300), B of
# (200, 400) and (200, 0). Both leave 200 errors. By Gini and entropy B is better, because one of its sides is pure.
