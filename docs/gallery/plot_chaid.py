"""
CHAID: categories that merge, and their p-values
================================================

CHAID has a branch for each group of categories that differ significantly. The boxes show the test of each split; a tooltip, and
the interactive page, also show the features that competed.
"""

import pandas as pd
from matplotlib import pyplot

from fasttree import CHAIDClassifier

adult = pd.read_csv("../../examples/adult.csv.gz")
columns = ["age", "marital-status", "occupation", "sex", "hours-per-week"]
X, y = adult[columns], adult["income"]
model = CHAIDClassifier(max_depth=2, min_samples_leaf=1500).fit(X, y)
figure, ax = pyplot.subplots(figsize=(11, 4.6), layout="constrained")
model.plot(ax)

# %%
# How the ages came into their groups at the root: ten intervals of nearly equal numbers of people, then the merges of the most
# similar neighbours. They stop where all neighbours differ with a p-value below 0.05.

by_age = CHAIDClassifier(max_depth=1).fit(adult[["age"]], y)
test = by_age.node_test(0)
intervals = pd.cut(adult["age"], [0, *test.bounds])
share = 100 * (y == ">50K").groupby(intervals, observed=True).mean()
joined = {code for step in test.merges for code in (*step.one, *step.other)}
figure, ax = pyplot.subplots(figsize=(8.5, 3.8), layout="constrained")
names = [f"{each.left + 1:.0f} to {each.right:.0f}" for each in share.index]
ax.bar(names, share, color=["C1" if code in joined else "C0" for code in range(1, len(share) + 1)])
ax.set(xlabel="age", ylabel="more than 50,000 dollars, %", title="Intervals in orange merged with a neighbour")
ax.tick_params(axis="x", rotation=30)

# %%
# The features that competed at the root of the first tree. A p-value is multiplied by the number of ways to merge the categories
# into so many groups, so that features with many categories have no advantage. The values are too small for a float; their
# logarithms are kept.

predictors = model.node_test(0).predictors
figure, ax = pyplot.subplots(figsize=(8.5, 3), layout="constrained")
names = [f"{columns[test.feature]} ({test.n_groups} of {test.n_categories})" for test in predictors]
ax.barh(names[::-1], [-test.log_adjusted_p_value / 2.302585 for test in predictors][::-1])
ax.set(xlabel="−log10 of the adjusted p-value", ylabel="feature (groups of categories)")
pyplot.show()
