"""
A drawn tree, with the samples in its nodes
===========================================

``plot`` draws with Matplotlib alone, no Graphviz. Tests are white, answers have the colour of their class; branches are
as wide as the weight that takes them. With a table every node shows its samples along the feature that it tests.
"""

import pandas as pd
from matplotlib import pyplot

from fasttree import CARTClassifier

iris = pd.read_csv("../../examples/iris.csv")
X, y = iris.drop(columns="class"), iris["class"].str.removeprefix("Iris-")
CARTClassifier(max_depth=3).fit(X, y).plot(X=X, y=y)

# %%
# A larger one: the census, pruned by cross-validation. In given axes the text is scaled with the room there is; here
# the 21 heaviest nodes are drawn, and the rest is counted.

adult = pd.read_csv("../../examples/adult.csv.gz")
columns = ["age", "marital-status", "occupation", "education-num", "capital-gain", "hours-per-week"]
model = CARTClassifier(ccp_alpha="cv", rule="1se", random_state=0).fit(adult[columns], adult["income"])
figure, ax = pyplot.subplots(figsize=(9.5, 8), layout="constrained")
model.plot(ax, max_nodes=21)
pyplot.show()
