"""The slow, readable twin of C5.0 (GPL edition, release 2.07): trees, pruning and classification.

It is written from a description of the program in words and shares nothing with the compiled engine.

| file | content |
|---|---|
| `problem` | options, tables, tests, nodes |
| `growing`, `subsets` | the tree before pruning |
| `pruning` | local and global pruning, compressing |
| `boosting`, `softening` | trials that vote; soft thresholds |
| `classifying` | classes and confidences |
| `recorded` | the figures that the original printed, and their tables |
"""
