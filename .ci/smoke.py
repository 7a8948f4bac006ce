"""The shortest way through an installed fasttree: fit the loan table, read the tree in every way, predict."""

import polars as pl

from fasttree import C45Classifier, CARTClassifier, ID3Classifier

loan = pl.read_csv("examples/loan.csv")
X, y = loan.drop("class"), loan["class"]
for algorithm in (ID3Classifier, C45Classifier, CARTClassifier):
    tree = algorithm().fit(X, y)
    assert tree.get_n_leaves() == 3, algorithm
    assert (tree.predict(X) == y.to_numpy()).all(), algorithm
    assert "owns_house" in tree.export_text(), algorithm
    assert len(tree.to_rules().filter(min_support=0.01)) == 3, algorithm
    assert tree.explain(X[0]).prediction == y[0], algorithm
    found = tree.shap_values(X)
    assert abs(found.base_values + found.values.sum(axis=1) - tree.predict_proba(X)).max() < 1e-12, algorithm
    assert tree.export_svg().startswith("<svg"), algorithm
    assert tree.export_html().startswith("<!doctype html>"), algorithm
