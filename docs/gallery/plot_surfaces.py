"""
Decision boundaries before and after pruning
============================================

With two numeric features a tree divides the plane into rectangles. The full tree overfits: it makes a rectangle around every
stray sample. Pruning by cross-validation keeps the parts that are likely to be there in new data.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot
from sklearn.datasets import make_moons

from fasttree import CARTClassifier
from fasttree.pruning import CostComplexity

iris = pd.read_csv("../../examples/iris.csv")
moons, side = make_moons(300, noise=0.28, random_state=1)
tables = {
    "iris": (iris[["sepal_length", "sepal_width"]].to_numpy(), iris["class"].str.removeprefix("Iris-").to_numpy()),
    "moons": (moons, np.array(["upper", "lower"])[side]),
}
labels = {"iris": ("sepal length, cm", "sepal width, cm"), "moons": ("x", "y")}


figure, axes = pyplot.subplots(2, 2, figsize=(9.5, 7.4), layout="constrained")
for row, (table, (points, classes)) in zip(axes, tables.items(), strict=True):
    grown = CARTClassifier(random_state=0).fit(points, classes)
    pruned = CARTClassifier(pruning=CostComplexity(alpha="cv", selection="1se"), random_state=0).fit(points, classes)
    for ax, model, title in zip(row, (grown, pruned), ("unpruned", "pruned"), strict=True):
        model.plot_regions(points, classes, [0, 1], ax=ax)
        ax.set(title=f"{table}, {title}: {model.get_n_leaves()} leaves", xlabel=labels[table][0], ylabel=labels[table][1])
    row[0].get_legend().remove()
pyplot.show()
