"""The slow, readable twin of Cubist (GPL edition, release 2.07): rules with linear models, and committees of them.

It computes what the program computes, in code of its own, and shares nothing with the package.

| file | content |
|---|---|
| `problem` | samples in single precision, and what is known of all of them |
| `regressing` | the linear model of some samples |
| `growing` | the tree before pruning |
| `pruning` | models of nodes, smoothed and rounded; global pruning |
| `rules` | rules of the leaves, committees, predictions |
| `recorded` | the figures of the original, and their tables |
"""
