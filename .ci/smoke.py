"""Smoke test of an installed fasttree: fit the loan table, export the tree in every way, predict.

It needs only fasttree's own requirements, so it runs wherever fasttree can be installed.
"""

import csv
from pathlib import Path

import numpy as np

import fasttree
from fasttree import C45Classifier, CARTClassifier, ID3Classifier

with Path(__file__).parents[1].joinpath("examples", "loan.csv").open(encoding="utf-8", newline="") as file:
    rows = [list(row.values()) for row in csv.DictReader(file)]
X, y = [row[:-1] for row in rows], np.array([row[-1] for row in rows])
for algorithm in (ID3Classifier, C45Classifier, CARTClassifier):
    tree = algorithm().fit(X, y)
    assert tree.get_n_leaves() == 3, algorithm
    assert (tree.predict(X) == y).all(), algorithm
    assert "x2 = no" in tree.export_text(), algorithm
    assert len(tree.to_rules().filter(min_support=0.01)) == 3, algorithm
    assert tree.explain(X[0]).prediction == y[0], algorithm
    found = tree.shap_values(X)
    assert abs(found.base_values + found.values.sum(axis=1) - tree.predict_proba(X)).max() < 1e-12, algorithm
    assert tree.export_svg().startswith("<svg"), algorithm
    assert tree.export_html().startswith("<!doctype html>"), algorithm
    assert (fasttree.from_json(tree.to_json()).predict(X) == y).all(), algorithm
    assert "double" in tree.export_c(), algorithm
    compile(tree.export_python(), "tree.py", "exec")
print(f"fasttree {fasttree.__version__} works: {Path(fasttree.__file__).parent}")
