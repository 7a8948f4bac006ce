"""
Cubist: rules with linear models
================================

A rule of Cubist predicts by a formula where its conditions hold. Few rules follow a bent line, which takes a regression tree many
leaves.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot

from fasttree import CARTRegressor, CubistRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 200))[:, None]
y = np.where(x[:, 0] < 4, 2 * x[:, 0], 14 - 1.5 * x[:, 0]) + rng.normal(0, 0.5, 200)
rules = CubistRegressor().fit(x, y)
tree = CARTRegressor(max_leaf_nodes=4).fit(x, y)

grid = np.linspace(0, 10, 500)[:, None]
figure, ax = pyplot.subplots(layout="constrained")
ax.scatter(x, y, s=8, color="0.7")
ax.plot(grid, tree.predict(grid), label="regression tree of 4 leaves")
ax.plot(grid, rules.predict(grid), label=f"Cubist, {len(rules.to_rules())} rules")
ax.set(xlabel="x", ylabel="y")
ax.legend()
pyplot.show()

# %%
# These are the rules:

print(rules.export_text(), end="")

# %%
# The picture of the predictions with the samples comes with the model. A dashed line is where another rule holds.

rules.plot_regions(x, y)
pyplot.show()

# %%
# A committee has several rule sets, each of which corrects the one before. These are their errors on cars that the fit did not
# see.

cars = pd.read_csv("../../examples/auto-mpg.csv").sample(frac=1, random_state=0)
X, mpg = cars.drop(columns="mpg"), cars["mpg"]
sizes, errors = [1, 2, 3, 5, 10, 20], []
for size in sizes:
    model = CubistRegressor(committees=size).fit(X[:260], mpg[:260])
    errors.append(np.sqrt(np.mean((model.predict(X[260:]) - mpg[260:]) ** 2)))
figure, ax = pyplot.subplots(layout="constrained")
ax.plot(sizes, errors, marker="o")
ax.set(xlabel="committees", ylabel="root mean squared error, miles per gallon", ylim=(0, None))
pyplot.show()

# %%
# How much the twenty rule sets use each feature: a rule counts the samples that it covers.

model.plot_usage()
pyplot.show()

# %%
# Along one feature, the others have the values of a car: its predicted consumption, if its weight were another.

model.plot_regions(X, mpg, "weight", at=X.iloc[0])
pyplot.show()
