"""The shortest way through an installed fasttree: fit the loan table, read the tree, predict."""

import polars as pl

from fasttree import C45Classifier, CARTClassifier, ID3Classifier

loan = pl.read_csv("examples/loan.csv")
X, y = loan.drop("class"), loan["class"]
for algorithm in (ID3Classifier, C45Classifier, CARTClassifier):
    tree = algorithm().fit(X, y)
    assert tree.get_n_leaves() == 3, algorithm
    assert (tree.predict(X) == y.to_numpy()).all(), algorithm
    assert "owns_house" in tree.export_text(), algorithm
