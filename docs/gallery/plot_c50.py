"""
C5.0: the vote of boosted trees
===============================

``C50Classifier(trials=20)`` grows a tree in each trial, on samples that earlier trees predict wrong. A later tree alone is worse,
the vote of all is better. The votes also say which predictions are uncertain.
"""

import numpy as np
from matplotlib import pyplot
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fasttree import C50Classifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = C50Classifier(trials=20).fit(X, y)

errors = 100 * model.trial_errors(X_test, y_test)
figure, ax = pyplot.subplots(figsize=(8.5, 3.8), layout="constrained")
trials = np.arange(1, len(errors) + 1)
ax.plot(trials, errors[:, 0], marker="o", color="C1", label="the tree of the trial")
ax.plot(trials, errors[:, 1], marker="o", color="C0", label="the vote of the trials so far")
ax.set(xlabel="trial", ylabel="test errors, %", ylim=(0, None), xticks=trials[::2])
ax.legend()

# %%
# The digits on whose class the trials agree least, with the prediction and its share of the votes.

votes = model.predict_proba(X_test)
order = np.argsort(votes.max(axis=1))[:10]
figure, axes = pyplot.subplots(2, 5, figsize=(8.5, 4), layout="constrained")
for i, ax in zip(order, axes.flat, strict=True):
    ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    guess = model.classes_[votes[i].argmax()]
    ax.set_title(f"{guess}, {100 * votes[i].max():.0f} % (true: {y_test[i]})", fontsize=9)
    ax.set_axis_off()

# %%
# How the trials vote on the first of them:

print(model.explain(X_test[order[0]]))
pyplot.show()
