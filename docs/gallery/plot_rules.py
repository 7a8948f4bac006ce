"""
Decision rules, and rules as SQL
================================

The paths of a tree are rules. This example plots their support and precision, writes them as SQL, and runs them in a
database without Python.
"""

import sqlite3

import pandas as pd
from matplotlib import pyplot

from fasttree import CARTClassifier

adult, test = (pd.read_csv(f"../../examples/{name}.csv.gz") for name in ("adult", "adult.test"))
columns = ["age", "sex", "marital-status", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
model = CARTClassifier(max_leaf_nodes=24).fit(adult[columns], adult["income"])
rules = model.to_rules()

figure, ax = pyplot.subplots(figsize=(8.6, 4.6), layout="constrained")
for k, label in enumerate(model.classes_):
    chosen = rules.filter(label=label)
    support, precision = [100 * rule.support for rule in chosen], [100 * rule.precision for rule in chosen]
    ax.scatter(support, precision, s=46, color=f"C{k}", label=label, alpha=0.85, linewidths=0)
for rule in rules.filter(label=">50K", min_precision=0.9).sort("support")[:1]:
    text = "\nand ".join(str(condition) for condition in rule.conditions)
    place = (100 * rule.support, 100 * rule.precision)
    line = {"arrowstyle": "-", "color": "0.6", "shrinkB": 6}
    ax.annotate(text, place, (0.02, 0.8), textcoords="axes fraction", fontsize=8.5, va="top", color="0.25", arrowprops=line)
ax.set(xscale="log", xlabel="support, % of the people", ylabel="precision, %", ylim=(48, 102))
ax.set_xticks([0.1, 1, 10], ["0.1", "1", "10"])
ax.legend(title="prediction", loc="lower right")
pyplot.show()

# %%
# The most precise rules for high incomes:

print(rules.filter(label=">50K").sort("precision")[:4].to_text(max_categories=3))

# %%
# The same rules as an SQL expression, run on the test table. Python and the database agree on every row.

sql = rules.to_sql(name="answer")
print(*sql.splitlines()[:3], "  ...", *sql.splitlines()[-1:], sep="\n")
with sqlite3.connect(":memory:") as database:
    test[columns].to_sql("people", database, index=False)
    answers = pd.read_sql(f"SELECT {sql} FROM people", database)["answer"]
database.close()
print((answers == model.predict(test[columns])).all())
