"""
Additive models: a shape for each feature
=========================================

An additive model adds up one number for each feature. Each shape shows this number, with two standard deviations over the bags on
each side and bars of the samples.
"""

import pandas as pd
from matplotlib import pyplot

from fasttree import GAMRegressor

cars = pd.read_csv("../../examples/auto-mpg.csv")
X, y = cars.drop(columns="mpg"), cars["mpg"]
model = GAMRegressor(random_state=0).fit(X, y)
model.plot(max_terms=4)

# %%
# The prediction for one car is the mean, and what each feature adds to it.

model.explain(X.iloc[0]).plot()

# %%
# A heavier car does not use less fuel. A constraint in the fit makes the shape fall.

falling = GAMRegressor(random_state=0, monotonic_cst={"weight": -1}).fit(X, y)
figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, each, title in zip(axes, (model, falling), ("free", 'monotonic_cst={"weight": -1}'), strict=True):
    each.plot_shape("weight", ax)
    ax.set_title(title)
pyplot.show()
