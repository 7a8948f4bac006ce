"""
SHAP values: beeswarm and waterfall plots
=========================================

SHAP values divide a prediction among the features: the base value plus all SHAP values is the prediction. They are exact for
all trees, including multiway splits, groups of categories and missing values.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot

from fasttree import CARTRegressor

cars = pd.read_csv("../../examples/auto-mpg.csv")
X = cars.drop(columns="mpg")
model = CARTRegressor(ccp_alpha="cv", random_state=0).fit(X, cars["mpg"])
found = model.shap_values(X)

# %%
# All cars: a dot is a car, its position the contribution of the feature to the predicted miles per gallon, its colour the
# value of the feature. Large engines and weight decrease the prediction, later model years increase it.

order = np.argsort(np.abs(found.values).mean(axis=0))[::-1]
order = [j for j in order if np.abs(found.values[:, j]).max() > 0][:5]
random = np.random.default_rng(0)
figure, ax = pyplot.subplots(figsize=(8.6, 4.2), layout="constrained")
for row, j in enumerate(order):
    ranks = X.iloc[:, j].rank(pct=True)
    jitter = random.normal(0, 0.09, len(X)).clip(-0.3, 0.3)
    dots = ax.scatter(found.values[:, j], row + jitter, c=ranks, s=11, linewidths=0, vmin=0, vmax=1)
ax.axvline(0, color="0.5", linewidth=0.8, zorder=0)
ax.set_yticks(range(len(order)), [found.feature_names[j] for j in order])
ax.invert_yaxis()
ax.tick_params(axis="y", length=0)
ax.set_xlabel("SHAP value, miles per gallon")
bar = figure.colorbar(dots, ax=ax, ticks=[0, 1], pad=0.02, aspect=35)
bar.ax.set_yticklabels(["low", "high"])
bar.set_label("value of the feature", labelpad=-18)
bar.outline.set_visible(False)

# %%
# One car: from the mean prediction to its own.

car = 334  # a Mazda with a rotary engine
steps = [step for step in zip(found.values[car], X.columns, X.iloc[car], strict=True) if abs(step[0]) >= 0.05]
steps.sort(key=lambda step: -abs(step[0]))
figure, ax = pyplot.subplots(figsize=(8.6, 0.52 * len(steps) + 1.4), layout="constrained")
place = float(np.ravel(found.base_values)[0])
base = place
for row, (value, *_) in enumerate(steps):
    ax.barh(row, value, left=place, color="C0" if value > 0 else "C5", height=0.6)
    right = max(place, place + value)
    ax.annotate(f"{value:+.1f}", (right, row), (5, 0), textcoords="offset points", va="center", fontsize=9.5)
    place += value
    ax.plot([place, place], [row - 0.3, min(row + 1.3, len(steps) - 0.7)], color="0.6", linewidth=0.8)
ax.axvline(base, color="0.6", linewidth=0.8, linestyle=":")
ax.set_yticks(range(len(steps)), [f"{name} = {value}" for _, name, value in steps])
ax.invert_yaxis()
ax.tick_params(axis="y", length=0)
ax.use_sticky_edges = False
ax.margins(x=0.1)
ax.set_xlabel(f"miles per gallon: {base:.1f} on average, {place:.1f} predicted for this car")
pyplot.show()

print(f"sum {found.values[car].sum() + base:.4f}, prediction {model.predict(X.iloc[[car]])[0]:.4f}")
