"""
Decision surfaces, and what pruning does to them
================================================

With two numbers a tree cuts the plane into rectangles. Grown to the end it makes one around every stray sample; pruned
by cross-validation it keeps what is likely to be there next time.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot
from matplotlib.colors import ListedColormap
from sklearn.datasets import make_moons

from fasttree import CARTClassifier

iris = pd.read_csv("../../examples/iris.csv")
moons, side = make_moons(300, noise=0.28, random_state=1)
tables = {
    "iris": (iris[["sepal_length", "sepal_width"]].to_numpy(), iris["class"].str.removeprefix("Iris-").to_numpy()),
    "moons": (moons, np.array(["upper", "lower"])[side]),
}
labels = {"iris": ("sepal length, cm", "sepal width, cm"), "moons": ("x", "y")}


def draw(ax, model, points, classes):
    """Colour the plane by what the model answers, and the samples by what they are."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.05 * (high - low)
    columns, rows = (np.linspace(a - m, b + m, 350) for a, b, m in zip(low, high, margin, strict=True))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(columns, rows)])
    codes = np.searchsorted(model.classes_, model.predict(grid)).reshape(rows.size, columns.size)
    colours = ListedColormap([f"C{k}" for k in range(len(model.classes_))])
    last = len(model.classes_) - 1
    ax.pcolormesh(columns, rows, codes, cmap=colours, alpha=0.22, vmin=0, vmax=last, shading="nearest", rasterized=True)
    for k, name in enumerate(model.classes_):
        here = classes == name
        ax.scatter(*points[here].T, s=15, color=f"C{k}", marker="os^"[k], linewidths=0.3, edgecolors="white", label=name)


figure, axes = pyplot.subplots(2, 2, figsize=(9.5, 7.4), layout="constrained")
for row, (table, (points, classes)) in zip(axes, tables.items(), strict=True):
    grown = CARTClassifier(random_state=0).fit(points, classes)
    pruned = CARTClassifier(ccp_alpha="cv", rule="1se", random_state=0).fit(points, classes)
    for ax, model, title in zip(row, (grown, pruned), ("as grown", "pruned"), strict=True):
        draw(ax, model, points, classes)
        ax.set(title=f"{table}, {title}: {model.get_n_leaves()} leaves", xlabel=labels[table][0])
    row[0].set_ylabel(labels[table][1])
    row[1].legend(loc="best")
pyplot.show()
