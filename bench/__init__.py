"""Benchmarks: growth and prediction beside scikit-learn's, in one process, every answer checked before its time counts."""
