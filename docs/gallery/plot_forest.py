"""
Random forests: how many trees, and which features
==================================================

*Left*: the error on the samples out of the bags after each number of trees. If the line still falls at its end, more trees help.
*Right*: the share of each feature in the decrease of impurity.
"""

import pandas as pd
from matplotlib import pyplot

from fasttree import RandomForestRegressor

cars = pd.read_csv("../../examples/auto-mpg.csv")
X, y = cars.drop(columns="mpg"), cars["mpg"]

forest = RandomForestRegressor(n_estimators=300, max_features=1 / 3, oob_score=True, random_state=0).fit(X, y)
figure, axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
forest.plot_oob_curve(axes[0])
forest.plot_importances(axes[1])
pyplot.show()

# %%
# Conditions near the root that many trees share:
print(forest.shared_rules(X, y)[:6])
