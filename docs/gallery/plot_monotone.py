"""
Monotone constraints
====================

A tree that is fitted to few samples may predict that a heavier car uses less fuel. A monotone constraint excludes splits
that violate a known order, so the predictions are monotone along the feature.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot

from fasttree import CARTRegressor

cars = pd.read_csv("../../examples/auto-mpg.csv")
free = CARTRegressor(min_samples_leaf=8).fit(cars[["weight"]], cars["mpg"])
falling = CARTRegressor(min_samples_leaf=8, monotonic_cst={"weight": -1}).fit(cars[["weight"]], cars["mpg"])

weights = pd.DataFrame({"weight": np.arange(1600, 5150, 5.0)})
figure, ax = pyplot.subplots(figsize=(8.5, 4.4), layout="constrained")
ax.scatter(cars["weight"], cars["mpg"], s=11, color="0.75", linewidths=0, label="398 cars")
ax.step(weights["weight"], free.predict(weights), color="C1", linewidth=1.5, label=f"free: {free.get_n_leaves()} leaves")
ax.step(
    weights["weight"],
    falling.predict(weights),
    color="C0",
    linewidth=2.2,
    label=f'monotonic_cst={{"weight": -1}}: {falling.get_n_leaves()} leaves',
)
ax.set(xlabel="weight, pounds", ylabel="miles per gallon")
ax.legend()
pyplot.show()

# %%
# The constraint increases the training error only slightly, and improves predictions for other cars: the bumps were noise.

errors = {"free": [], "falling": []}
for seed in range(20):
    learn = cars.sample(frac=0.6, random_state=seed)
    rest = cars.drop(learn.index)
    for name, model in {"free": free, "falling": falling}.items():
        answer = model.fit(learn[["weight"]], learn["mpg"]).predict(rest[["weight"]])
        errors[name].append(np.sqrt(np.mean((answer - rest["mpg"]) ** 2)))
for name, found in errors.items():
    print(f"{name:<8} root mean square error on other cars {np.mean(found):.2f}")
