"""The estimators: scikit-learn's interface, one file for each algorithm."""
