"""
Plot a decision tree with the data in its nodes
===============================================

``plot`` uses only Matplotlib, not Graphviz. Tests are white, leaves have the colour of their class, and the width of a branch
shows its weight. With a table, every test shows its samples along the tested feature.
"""

import pandas as pd
from matplotlib import pyplot

from fasttree import CARTClassifier
from fasttree.pruning import CostComplexity

iris = pd.read_csv("../../examples/iris.csv")
X, y = iris.drop(columns="class"), iris["class"].str.removeprefix("Iris-")
CARTClassifier(max_depth=3).fit(X, y).plot(X=X, y=y)

# %%
# A larger tree: the census, pruned by cross-validation. The text is scaled with the available space. Here the 21 heaviest
# nodes are drawn; the others are counted.

adult = pd.read_csv("../../examples/adult.csv.gz")
columns = ["age", "marital-status", "occupation", "education-num", "capital-gain", "hours-per-week"]
model = CARTClassifier(pruning=CostComplexity(alpha="cv", selection="1se"), random_state=0).fit(adult[columns], adult["income"])
figure, ax = pyplot.subplots(figsize=(9.5, 8), layout="constrained")
model.plot(ax, max_nodes=21)
pyplot.show()
